package quirk

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/looptape/looptape/fake/wire/internal/reply"
)

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

func unknownBlock(r *reply.Reply) bool {
	return insertBlock(r, max(0, len(blocks(r))-1), addedBlock{start: `{"type":"hologram","hue":[1,2.50]}`})
}

func signedThought(n int) addedBlock {
	thinking, signature := reply.Quote(fmt.Sprintf("Thought %d.", n)), reply.Quote(fmt.Sprintf("EqQBCkYIBxgC%dKkA=", n))
	return addedBlock{
		start:  `{"type":"thinking","thinking":"","signature":""}`,
		deltas: []string{`{"type":"thinking_delta","thinking":` + thinking + `}`, `{"type":"signature_delta","signature":` + signature + `}`},
		whole:  `{"type":"thinking","thinking":` + thinking + `,"signature":` + signature + `}`,
	}
}

func redactedThought(n int) addedBlock {
	return addedBlock{start: `{"type":"redacted_thinking","data":"EmwKAhgBEgy` + strconv.Itoa(n) + `"}`}
}

func thinksFirst(thought func(n int) addedBlock) edit {
	return func(r *reply.Reply) bool { return insertBlock(r, 0, thought(1)) }
}

func thinksBetween(r *reply.Reply) bool {
	calls := toolUses(r)
	if len(calls) < 2 {
		return false
	}
	for n, c := range slices.Backward(calls) {
		if n > 0 {
			insertBlock(r, c, signedThought(n+1))
		}
	}
	return insertBlock(r, 0, signedThought(1))
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
