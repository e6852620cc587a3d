package quirk

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/looptape/looptape/fake/wire/internal/reply"
	"github.com/looptape/looptape/internal/jsonio"
)

// blocks returns the content blocks of a response, as they start.
func blocks(r *reply.Reply) []gjson.Result {
	if len(r.Frames) == 0 {
		return r.Body.At("content").Array()
	}
	var out []gjson.Result
	for _, f := range r.Frames {
		if f.Name == "content_block_start" {
			out = append(out, f.At("content_block"))
		}
	}
	return out
}

func toolUses(r *reply.Reply) (at []int) {
	for i, b := range blocks(r) {
		if b.Get("type").Str == "tool_use" {
			at = append(at, i)
		}
	}
	return at
}

func isEvent(f reply.Frame, event string, index int) bool {
	return f.Name == event && f.At("index").Int() == int64(index)
}

func isInputDelta(f reply.Frame, index int) bool {
	return isEvent(f, "content_block_delta", index) && f.At("delta.type").Str == "input_json_delta"
}

func isInput(f reply.Frame, index int) bool {
	return isInputDelta(f, index) && f.At(partialJSON).Str != ""
}

const partialJSON = "delta.partial_json"

func inputDeltas(r *reply.Reply, index int) (n int) {
	for _, f := range r.Frames {
		if isInput(f, index) {
			n++
		}
	}
	return n
}

func setInput(r *reply.Reply, index int, input string) {
	for i := range r.Frames {
		if f := &r.Frames[i]; isEvent(*f, "content_block_start", index) {
			f.Put("content_block.input", input)
		}
	}
}

func wholeInputs(r *reply.Reply) (changed bool) {
	for _, c := range toolUses(r) {
		var input strings.Builder
		for _, f := range r.Frames {
			if isInputDelta(f, c) {
				input.WriteString(f.At(partialJSON).Str)
			}
		}
		if jsonio.Valid([]byte(input.String())) {
			setInput(r, c, input.String())
			changed = r.Omit(func(f reply.Frame) bool { return isInputDelta(f, c) }) || changed
		}
	}
	return changed
}

func truncateInput(r *reply.Reply, call int) {
	left := inputDeltas(r, call)
	for i := range r.Frames {
		f := &r.Frames[i]
		if !isInput(*f, call) {
			continue
		}
		if left--; left == 0 {
			delta := f.At(partialJSON).Str
			f.Put(partialJSON, reply.Quote(delta[:len(delta)/2]))
		}
	}
}

func noInput(r *reply.Reply, call int) {
	r.Omit(func(f reply.Frame) bool { return isInput(f, call) })
	if len(r.Frames) == 0 {
		r.Body.Put(fmt.Sprintf("content.%d.input", call), "{}")
	}
}

func calledByCode(r *reply.Reply) bool {
	caller := `{"type":"code_execution_20250825","tool_id":"srvtoolu_` + r.Key.ID() + `"}`
	return r.Edit(func(text string) string {
		if gjson.Get(text, "content_block.type").Str == "tool_use" {
			return reply.Put(text, "content_block.caller", caller)
		}
		for i, b := range gjson.Get(text, "content").Array() {
			if b.Get("type").Str == "tool_use" {
				text = reply.Put(text, fmt.Sprintf("content.%d.caller", i), caller)
			}
		}
		return text
	})
}

func cites(r *reply.Reply) bool {
	const citation = `{"type":"web_search_result_location","cited_text":"rain","url":"https://weather.invalid/","title":"Weather","encrypted_index":"Eo8BCioIAhgB"}`
	for i, b := range blocks(r) {
		if b.Get("type").Str != "text" {
			continue
		}
		if len(r.Frames) == 0 {
			r.Body.Put(fmt.Sprintf("content.%d.citations", i), "["+citation+"]")
			return true
		}
		delta := fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":{"type":"citations_delta","citation":%s}}`, i, citation)
		return r.Spread(func(f reply.Frame) []reply.Frame {
			if isEvent(f, "content_block_stop", i) {
				return []reply.Frame{reply.NewFrame("content_block_delta", delta), f}
			}
			return nil
		})
	}
	return false
}

// addedBlock is a content block that a quirk adds to a response.
type addedBlock struct {
	start  string   // as a stream starts it
	deltas []string // of a stream
	whole  string   // in a non-streaming response; empty means start
}

// insertBlock inserts a block at an index. It reports whether r is a response.
func insertBlock(r *reply.Reply, at int, b addedBlock) bool {
	if b.whole == "" {
		b.whole = b.start
	}
	if content := r.Body.At("content"); content.IsArray() {
		var all []string
		for _, c := range content.Array() {
			all = append(all, c.Raw)
		}
		all = slices.Insert(all, min(at, len(all)), b.whole)
		r.Body.Put("content", "["+strings.Join(all, ",")+"]")
		return true
	}
	place := endAt(r)
	for i := range r.Frames {
		f := &r.Frames[i]
		index := f.At("index")
		if !index.Exists() || index.Int() < int64(at) {
			continue
		}
		if isEvent(*f, "content_block_start", at) {
			place = i
		}
		f.Put("index", fmt.Sprint(index.Int()+1))
	}
	if place < 0 {
		return false
	}
	r.Frames = slices.Insert(r.Frames, place, b.frames(at)...)
	return true
}

func (b addedBlock) frames(index int) []reply.Frame {
	event := func(kind, member, value string) reply.Frame {
		return reply.NewFrame(kind, fmt.Sprintf(`{"type":"%s","index":%d,"%s":%s}`, kind, index, member, value))
	}
	out := []reply.Frame{event("content_block_start", "content_block", b.start)}
	for _, d := range b.deltas {
		out = append(out, event("content_block_delta", "delta", d))
	}
	return append(out, reply.NewFrame("content_block_stop", fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, index)))
}

func signedThought(n int) addedBlock {
	thinking, signature := reply.Quote(fmt.Sprintf("Thought %d.", n)), reply.Quote(fmt.Sprintf("EqQBCkYIBxgC%dKkA=", n))
	return addedBlock{
		start:  `{"type":"thinking","thinking":"","signature":""}`,
		deltas: []string{`{"type":"thinking_delta","thinking":` + thinking + `}`, `{"type":"signature_delta","signature":` + signature + `}`},
		whole:  `{"type":"thinking","thinking":` + thinking + `,"signature":` + signature + `}`,
	}
}

func thinksFirst(thought addedBlock) edit {
	return func(r *reply.Reply) bool { return insertBlock(r, 0, thought) }
}

func ranItself(did func(id string) []addedBlock) edit {
	return func(r *reply.Reply) (changed bool) {
		for i, b := range did(r.Key.ID()) {
			changed = insertBlock(r, i, b)
		}
		return changed
	}
}

// ran returns a call of a tool that the provider runs.
func ran(kind, id, members, input string) addedBlock {
	head := `{"type":` + reply.Quote(kind) + `,"id":` + reply.Quote(id) + members + `,"input":`
	return addedBlock{
		start:  head + "{}}",
		deltas: []string{`{"type":"input_json_delta","partial_json":""}`, `{"type":"input_json_delta","partial_json":` + reply.Quote(input) + `}`},
		whole:  head + input + "}",
	}
}

func searched(id string) []addedBlock {
	id = "srvtoolu_" + id
	return []addedBlock{
		ran("server_tool_use", id, `,"name":"web_search"`, `{"query":"weather"}`),
		{start: `{"type":"web_search_tool_result","tool_use_id":"` + id + `","content":[{"type":"web_search_result","title":"Weather","url":"https://weather.invalid/","encrypted_content":"EpQBCioIAhgB","page_age":null}]}`},
	}
}

func calledMCP(id string) []addedBlock {
	id = "mcptoolu_" + id
	return []addedBlock{
		ran("mcp_tool_use", id, `,"name":"echo","server_name":"example"`, `{"word":"rain"}`),
		{start: `{"type":"mcp_tool_result","tool_use_id":"` + id + `","is_error":false,"content":[{"type":"text","text":"rain"}]}`},
	}
}
