package chat

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/internal/codec"
)

type reasoningReader struct {
	nonStreaming  bool // the response is non-streaming, and its details are complete
	open, emitted bool
	field         string // empty if the text is in the details alone
	empty         string // a field that came without text
	details       []detail
	members       codec.Members // of the detail at hand
}

// detail is an element of OpenRouter's reasoning_details. A stream sends it in deltas that
// repeat its type and index. Requests contain the joined detail.
type detail struct {
	raw     string // as it arrived, if it was a single chunk
	text    []byte
	members codec.Members
}

// reason emits reasoning from a member, or from the details alone.
func (d *decoder) reason(field, text string) {
	r := &d.reasoning
	if r.open && r.field != "" && field != "" && r.field != field {
		d.endReasoning()
	}
	r.open, r.emitted = true, true
	if field != "" {
		r.field = field
	}
	if text != "" {
		d.emit(llm.ReasoningDelta{Text: text})
	}
}

func (d *decoder) endReasoning() {
	r := &d.reasoning
	if r.open {
		d.emit(llm.ReasoningDelta{Opaque: r.opaque()})
		r.open, r.field, r.details = false, "", r.details[:0]
	}
}

// reasonForCall emits an empty reasoning member, which requests with a call need (SO-19).
func (d *decoder) reasonForCall() {
	r := &d.reasoning
	if r.empty == "reasoning_content" && !r.emitted {
		r.emitted = true
		d.emit(llm.ReasoningDelta{Opaque: opaqueReasoning(r.empty, "")})
	}
}

func (r *reasoningReader) opaque() json.RawMessage {
	var details codec.Elements
	for i := range r.details {
		details.Add(r.details[i].json())
	}
	return opaqueReasoning(r.field, string(details.Array()))
}

// addDetails reads an array of details, or nothing. It reports whether there are any.
func (r *reasoningReader) addDetails(d *jsonio.Dec) (text string, some bool) {
	if d.Peek() == 0 {
		return "", false
	}
	var joined strings.Builder
	for range codec.Items(d) {
		if d.Peek() != '{' {
			d.Skip()
			continue
		}
		from := d.Offset()
		part := r.readDetail(d)
		r.merge(d.Since(from), part)
		joined.WriteString(part)
		some = true
	}
	return joined.String(), some
}

func (r *reasoningReader) readDetail(d *jsonio.Dec) (text string) {
	r.members = r.members[:0]
	for key := range d.Members() {
		if key == "text" || key == "summary" {
			ahead := *d
			text = cmp.Or(codec.String(&ahead), text)
		}
		r.members = append(r.members, codec.Member{Key: key, Raw: d.Raw()})
	}
	return text
}

func (r *reasoningReader) merge(raw, text string) {
	if n := len(r.details); !r.nonStreaming && n > 0 && r.details[n-1].continues(r.members) {
		r.details[n-1].add(r.members, text)
		return
	}
	r.details = append(r.details, detail{raw: raw, text: []byte(text), members: slices.Clone(r.members)})
}

const maxDetail = 64

// continues reports whether a detail with these members continues c.
func (c *detail) continues(next codec.Members) bool {
	if len(c.members)+len(next) > maxDetail {
		return false
	}
	kind, id, nextID := c.members.Find("type"), c.members.Find("id"), next.Find("id")
	return textKey(kind) != "" && kind == next.Find("type") &&
		c.members.Find("index") == next.Find("index") && (id == nextID || id == "" || nextID == "")
}

// add joins a further delta. Of other members the last value that is not empty counts.
func (c *detail) add(next codec.Members, text string) {
	c.raw = ""
	c.text = append(c.text, text...)
	for _, m := range next {
		i := slices.IndexFunc(c.members, func(old codec.Member) bool { return old.Key == m.Key })
		switch {
		case i < 0:
			c.members = append(c.members, m)
		case m.Raw != "null" && m.Raw != `""`:
			c.members[i] = m
		}
	}
}

func (c *detail) json() string {
	if c.raw != "" {
		return c.raw
	}
	key := textKey(c.members.Find("type"))
	w := codec.Writer{Dst: []byte{'{'}}
	for _, m := range c.members {
		if m.Key == key {
			w.Text(key, string(c.text))
		} else {
			w.Raw(m.Key, string(codec.Compact(m.Raw)))
		}
	}
	return string(w.Dst) + "}"
}

func textKey(kind string) string {
	switch kind {
	case `"reasoning.text"`:
		return "text"
	case `"reasoning.summary"`:
		return "summary"
	}
	return ""
}
