package chat

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/internal/wirejson"
)

// chatReasoning is the reasoning part that is open.
type reasoningReader struct {
	whole      bool // the answer comes in one piece, and so do its details
	open, ever bool
	field      string // empty if the text is in the details alone
	empty      string // a field that came without text
	details    []detail
	found      []wirejson.Member // of the detail at hand
}

// chatDetail is one of OpenRouter's reasoning_details. A stream brings it in
// pieces, which have its type and index again and add to its text; they go back as
// one.
type detail struct {
	raw     string // as it came, while it is in one piece
	text    []byte
	members []wirejson.Member
}

// reason emits reasoning that came in a field, or in the details alone.
func (d *decoder) reason(field, text string, emit func(llm.Event)) {
	r := &d.reasoning
	if r.open && r.field != "" && field != "" && r.field != field {
		d.endReasoning(emit)
	}
	r.open, r.ever = true, true
	if field != "" {
		r.field = field
	}
	if text != "" {
		emit(llm.ReasoningDelta{Text: text})
	}
}

// endReasoning ends the open part with what has to go back.
func (d *decoder) endReasoning(emit func(llm.Event)) {
	r := &d.reasoning
	if r.open {
		emit(llm.ReasoningDelta{Opaque: reasoningOpaque(r.field, r.details)})
		r.open, r.field, r.details = false, "", r.details[:0]
	}
}

// reasonForCall tells of a field of reasoning that stayed empty: with a call it
// has to go back all the same (SO-19).
func (d *decoder) reasonForCall(emit func(llm.Event)) {
	r := &d.reasoning
	if r.empty == "reasoning_content" && !r.ever {
		r.ever = true
		emit(llm.ReasoningDelta{Opaque: reasoningOpaque(r.empty, nil)})
	}
}

// reasoningOpaque is what goes back with a reasoning part.
func reasoningOpaque(field string, details []detail) json.RawMessage {
	out := []byte{'{'}
	if field != "" {
		out = jsonio.AppendString(append(out, `"field":`...), field)
	}
	for i := range details {
		switch {
		case i > 0:
			out = append(out, ',')
		case field != "":
			out = append(out, `,"reasoning_details":[`...)
		default:
			out = append(out, `"reasoning_details":[`...)
		}
		out = details[i].appendJSON(out)
	}
	if len(details) > 0 {
		out = append(out, ']')
	}
	return append(out, '}')
}

// addDetails reads an array of details, if there is one, and returns their text
// and whether there are any.
func (r *reasoningReader) addDetails(d *jsonio.Dec, there bool) (text string, some bool) {
	if !there || !wirejson.BeginArray(d) {
		return "", false
	}
	var said strings.Builder
	for first := true; d.More(&first); {
		if d.Peek() != '{' {
			d.Skip()
			continue
		}
		from := d.Offset()
		piece := r.readDetail(d)
		r.merge(d.Since(from), piece)
		said.WriteString(piece)
		some = true
	}
	return said.String(), some
}

// readDetail reads the members of a detail and returns its text.
func (r *reasoningReader) readDetail(d *jsonio.Dec) (text string) {
	r.found = r.found[:0]
	d.Object()
	for first := true; ; {
		key, ok := d.Key(&first)
		if !ok {
			return text
		}
		if (key == "text" || key == "summary") && d.Peek() == '"' {
			ahead := *d
			text = ahead.String()
		}
		r.found = append(r.found, wirejson.Member{Key: key, Raw: d.Raw()})
	}
}

// merge adds the detail that was read to the last one, if it goes on with it.
func (r *reasoningReader) merge(raw, text string) {
	if n := len(r.details); !r.whole && n > 0 && r.details[n-1].continues(r.found) {
		r.details[n-1].add(r.found, text)
		return
	}
	r.details = append(r.details, detail{raw: raw, text: []byte(text), members: slices.Clone(r.found)})
}

// maxDetail is how many members of details are put together.
const maxDetail = 64

// continues reports whether a detail with such members goes on with c.
func (c *detail) continues(next []wirejson.Member) bool {
	if len(c.members)+len(next) > maxDetail {
		return false
	}
	kind, id, nextID := find(c.members, "type"), find(c.members, "id"), find(next, "id")
	return textKey(kind) != "" && kind == find(next, "type") &&
		find(c.members, "index") == find(next, "index") && (id == nextID || id == "" || nextID == "")
}

// add takes a further piece. Of other members what was told last counts: the
// signature is empty until it comes.
func (c *detail) add(next []wirejson.Member, text string) {
	c.raw = ""
	c.text = append(c.text, text...)
	for _, m := range next {
		i := slices.IndexFunc(c.members, func(old wirejson.Member) bool { return old.Key == m.Key })
		switch {
		case i < 0:
			c.members = append(c.members, m)
		case m.Raw != "null" && m.Raw != `""`:
			c.members[i] = m
		}
	}
}

func (c *detail) appendJSON(dst []byte) []byte {
	if c.raw != "" {
		return jsonio.AppendRaw(dst, []byte(c.raw))
	}
	key := textKey(find(c.members, "type"))
	dst = append(dst, '{')
	for i, m := range c.members {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(jsonio.AppendString(dst, m.Key), ':')
		if m.Key == key {
			dst = jsonio.AppendString(dst, string(c.text))
			continue
		}
		dst = jsonio.AppendRaw(dst, []byte(m.Raw))
	}
	return append(dst, '}')
}

// textKey is the member of a detail that a stream adds to; kind is its type as
// JSON.
func textKey(kind string) string {
	switch kind {
	case `"reasoning.text"`:
		return "text"
	case `"reasoning.summary"`:
		return "summary"
	}
	return ""
}

// find returns the JSON of a member; null is none.
func find(list []wirejson.Member, key string) string {
	for _, m := range list {
		if m.Key == key && m.Raw != "null" {
			return m.Raw
		}
	}
	return ""
}
