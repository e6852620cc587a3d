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

func hasDeltas(r *reply.Reply) bool {
	return slices.ContainsFunc(toolUses(r), func(call int) bool { return inputDeltas(r, call) > 0 })
}

func staleInputs(r *reply.Reply) (changed bool) {
	for _, c := range toolUses(r) {
		if inputDeltas(r, c) > 0 {
			setInput(r, c, `{"stale":true}`)
			changed = true
		}
	}
	return changed
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

func unknownDeltas(r *reply.Reply) bool {
	return r.Spread(func(f reply.Frame) []reply.Frame {
		if f.Name != "content_block_delta" {
			return []reply.Frame{f}
		}
		more := f
		more.Put("delta", `{"type":"hologram_delta","hue":3}`)
		return []reply.Frame{f, more}
	})
}

func emptyDeltas(r *reply.Reply) bool {
	return r.Spread(func(f reply.Frame) []reply.Frame {
		if f.At(partialJSON).Str == "" {
			return []reply.Frame{f}
		}
		empty := f
		empty.Put(partialJSON, `""`)
		return []reply.Frame{empty, f}
	})
}

func lostOpening(r *reply.Reply) bool {
	for i := range r.Frames {
		f := &r.Frames[i]
		if rest, ok := strings.CutPrefix(f.At(partialJSON).Str, `{"`); ok {
			f.Put(partialJSON, reply.Quote(rest))
			return true
		}
	}
	return false
}

func neverStopped(r *reply.Reply) bool {
	calls := toolUses(r)
	return len(calls) > 0 && r.Omit(func(f reply.Frame) bool { return isEvent(f, "content_block_stop", calls[len(calls)-1]) })
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
			return []reply.Frame{f}
		})
	}
	return false
}
