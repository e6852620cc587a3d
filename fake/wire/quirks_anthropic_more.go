package wire

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
)

// addedBlock is a content block that a quirk adds to an answer.
type addedBlock struct {
	start  string   // as a stream starts it
	deltas []string // of a stream
	whole  string   // in one piece; empty if that is start
}

// insert puts a block before the one at an index, or last. It reports whether there
// is an answer to put it into.
func (r *reply) insert(at int, b addedBlock) bool {
	if b.whole == "" {
		b.whole = b.start
	}
	if content := gjson.GetBytes(r.body, "content"); content.IsArray() {
		var all []string
		for _, c := range content.Array() {
			all = append(all, c.Raw)
		}
		all = slices.Insert(all, min(at, len(all)), b.whole)
		r.body = []byte(put(string(r.body), "content", "["+strings.Join(all, ",")+"]"))
		return true
	}
	place := r.ending()
	for i := range r.frames {
		index := r.frames[i].at("index")
		if !index.Exists() || index.Int() < int64(at) {
			continue
		}
		if r.frames[i].of("content_block_start", at) {
			place = i
		}
		r.frames[i].put("index", strconv.Itoa(int(index.Int())+1))
	}
	if place < 0 {
		return false
	}
	r.frames = slices.Insert(r.frames, place, b.frames(at)...)
	return true
}

// frames are the events of a block.
func (b addedBlock) frames(index int) []frame {
	event := func(kind, member, value string) frame {
		return frame{kind, fmt.Appendf(nil, `{"type":"%s","index":%d,"%s":%s}`, kind, index, member, value)}
	}
	out := []frame{event("content_block_start", "content_block", b.start)}
	for _, d := range b.deltas {
		out = append(out, event("content_block_delta", "delta", d))
	}
	return append(out, frame{"content_block_stop", fmt.Appendf(nil, `{"type":"content_block_stop","index":%d}`, index)})
}

func unknownBlock(_ *play, r *reply) bool {
	return r.insert(max(0, len(r.blocks())-1), addedBlock{start: `{"type":"hologram","hue":[1,2.50]}`})
}

// signedThought is the n-th thought of a turn.
func signedThought(n int) addedBlock {
	thinking, signature := quoted(fmt.Sprintf("Thought %d.", n)), quoted(fmt.Sprintf("EqQBCkYIBxgC%dKkA=", n))
	return addedBlock{
		start:  `{"type":"thinking","thinking":"","signature":""}`,
		deltas: []string{`{"type":"thinking_delta","thinking":` + thinking + `}`, `{"type":"signature_delta","signature":` + signature + `}`},
		whole:  `{"type":"thinking","thinking":` + thinking + `,"signature":` + signature + `}`,
	}
}

func redactedThought(n int) addedBlock {
	return addedBlock{start: `{"type":"redacted_thinking","data":"EmwKAhgBEgy` + strconv.Itoa(n) + `"}`}
}

func thinksFirst(thought func(n int) addedBlock) func(*play, *reply) bool {
	return func(_ *play, r *reply) bool { return r.insert(0, thought(1)) }
}

// thinksBetween thinks at the beginning, and before each call but the first.
func thinksBetween(_ *play, r *reply) bool {
	calls := r.calls()
	if len(calls) < 2 {
		return false
	}
	for n, c := range slices.Backward(calls) {
		if n > 0 {
			r.insert(c, signedThought(n+1))
		}
	}
	return r.insert(0, signedThought(1))
}

// ranItself puts what the provider ran before all else.
func ranItself(did func(id string) []addedBlock) func(*play, *reply) bool {
	return func(p *play, r *reply) (changed bool) {
		for i, b := range did(p.place.name()) {
			changed = r.insert(i, b)
		}
		return changed
	}
}

// ran is a call of a provider's own tool: the input comes in deltas.
func ran(kind, id, members, input string) addedBlock {
	head := `{"type":` + quoted(kind) + `,"id":` + quoted(id) + members + `,"input":`
	return addedBlock{
		start:  head + "{}}",
		deltas: []string{`{"type":"input_json_delta","partial_json":""}`, `{"type":"input_json_delta","partial_json":` + quoted(input) + `}`},
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
