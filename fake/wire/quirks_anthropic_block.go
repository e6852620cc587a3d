package wire

import (
	"fmt"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/looptape/looptape/internal/jsonio"
)

// blocks returns the content blocks of an answer, in order, as they start.
func (r *reply) blocks() []gjson.Result {
	if len(r.frames) == 0 {
		return gjson.GetBytes(r.body, "content").Array()
	}
	var out []gjson.Result
	for _, f := range r.frames {
		if f.name == "content_block_start" {
			out = append(out, f.at("content_block"))
		}
	}
	return out
}

// calls returns the indexes of the blocks that are calls.
func (r *reply) calls() (at []int) {
	for i, b := range r.blocks() {
		if b.Get("type").Str == "tool_use" {
			at = append(at, i)
		}
	}
	return at
}

// of reports whether a frame is an event of the block at an index.
func (f frame) of(event string, index int) bool {
	return f.name == event && f.at("index").Int() == int64(index)
}

// isDelta reports whether a frame is more of the input of the block at an index.
func (f frame) isDelta(index int) bool {
	return f.of("content_block_delta", index) && f.at("delta.type").Str == "input_json_delta"
}

// isInput is isDelta for one that is not empty.
func (f frame) isInput(index int) bool { return f.isDelta(index) && f.at(partialJSON).Str != "" }

const partialJSON = "delta.partial_json"

// inputs is how many deltas of an input there are for a block.
func (r *reply) inputs(index int) (n int) {
	for _, f := range r.frames {
		if f.isInput(index) {
			n++
		}
	}
	return n
}

// starts sets the input that a block starts with.
func (r *reply) starts(index int, input string) {
	for i := range r.frames {
		if f := &r.frames[i]; f.of("content_block_start", index) {
			f.put("content_block.input", input)
		}
	}
}

func hasDeltas(_ *play, r *reply) (has bool) {
	for _, c := range r.calls() {
		has = has || r.inputs(c) > 0
	}
	return has
}

func staleInputs(_ *play, r *reply) (changed bool) {
	for _, c := range r.calls() {
		if r.inputs(c) > 0 {
			r.starts(c, `{"stale":true}`)
			changed = true
		}
	}
	return changed
}

func wholeInputs(_ *play, r *reply) (changed bool) {
	for _, c := range r.calls() {
		var input strings.Builder
		for _, f := range r.frames {
			if f.isDelta(c) {
				input.WriteString(f.at(partialJSON).Str)
			}
		}
		if jsonio.Valid([]byte(input.String())) {
			r.starts(c, input.String())
			changed = r.omit(func(f frame) bool { return f.isDelta(c) }) || changed
		}
	}
	return changed
}

func sameInput(*reply, int) {}

// cutInput loses the second half of the last piece of an input.
func cutInput(r *reply, call int) {
	left := r.inputs(call)
	for i := range r.frames {
		f := &r.frames[i]
		if !f.isInput(call) {
			continue
		}
		if left--; left == 0 {
			piece := f.at(partialJSON).Str
			f.put(partialJSON, quoted(piece[:len(piece)/2]))
		}
	}
}

func noInput(r *reply, call int) {
	r.omit(func(f frame) bool { return f.isInput(call) })
	if len(r.frames) == 0 {
		r.body = []byte(put(string(r.body), fmt.Sprintf("content.%d.input", call), "{}"))
	}
}

func unknownDeltas(_ *play, r *reply) bool {
	return r.spread(func(f frame) []frame {
		if f.name != "content_block_delta" {
			return []frame{f}
		}
		more := f
		more.put("delta", `{"type":"hologram_delta","hue":3}`)
		return []frame{f, more}
	})
}

func emptyDeltas(_ *play, r *reply) bool {
	return r.spread(func(f frame) []frame {
		if f.at(partialJSON).Str == "" {
			return []frame{f}
		}
		empty := f
		empty.put(partialJSON, `""`)
		return []frame{empty, f}
	})
}

func lostOpening(_ *play, r *reply) bool {
	for i := range r.frames {
		f := &r.frames[i]
		if rest, ok := strings.CutPrefix(f.at(partialJSON).Str, `{"`); ok {
			f.put(partialJSON, quoted(rest))
			return true
		}
	}
	return false
}

func neverStopped(_ *play, r *reply) bool {
	calls := r.calls()
	return len(calls) > 0 && r.omit(func(f frame) bool { return f.of("content_block_stop", calls[len(calls)-1]) })
}

func calledByCode(p *play, r *reply) bool {
	caller := `{"type":"code_execution_20250825","tool_id":"srvtoolu_` + p.place.name() + `"}`
	return r.edit(func(text string) string {
		if gjson.Get(text, "content_block.type").Str == "tool_use" {
			return put(text, "content_block.caller", caller)
		}
		for i, b := range gjson.Get(text, "content").Array() {
			if b.Get("type").Str == "tool_use" {
				text = put(text, fmt.Sprintf("content.%d.caller", i), caller)
			}
		}
		return text
	})
}

// cites puts a citation at the end of the first text.
func cites(_ *play, r *reply) bool {
	const citation = `{"type":"web_search_result_location","cited_text":"rain","url":"https://weather.invalid/","title":"Weather","encrypted_index":"Eo8BCioIAhgB"}`
	for i, b := range r.blocks() {
		if b.Get("type").Str != "text" {
			continue
		}
		if len(r.frames) == 0 {
			r.body = []byte(put(string(r.body), fmt.Sprintf("content.%d.citations", i), "["+citation+"]"))
			return true
		}
		delta := fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":{"type":"citations_delta","citation":%s}}`, i, citation)
		return r.spread(func(f frame) []frame {
			if f.of("content_block_stop", i) {
				return []frame{{"content_block_delta", []byte(delta)}, f}
			}
			return []frame{f}
		})
	}
	return false
}
