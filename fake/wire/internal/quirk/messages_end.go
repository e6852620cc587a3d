package quirk

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/looptape/looptape/fake/wire/internal/reply"
	"github.com/looptape/looptape/llm"
)

// endAt returns the index of the event with the stop_reason, or -1.
func endAt(r *reply.Reply) int {
	return slices.IndexFunc(r.Frames, func(f reply.Frame) bool {
		return f.Name == "message_delta" && f.At("delta.stop_reason").Type == gjson.String
	})
}

// setEnd sets a member next to the stop_reason. It reports whether there is one.
func setEnd(r *reply.Reply, name, value string) bool {
	if i := endAt(r); i >= 0 {
		r.Frames[i].Put("delta."+name, value)
		return true
	}
	if !r.Body.At("stop_reason").Exists() {
		return false
	}
	r.Body.Put(name, value)
	return true
}

func closesEarly(r *reply.Reply) bool {
	i := endAt(r)
	return i >= 0 && r.Cut(i, len(r.Frames))
}

func closesInCall(r *reply.Reply) bool {
	calls := toolUses(r)
	if len(r.Frames) == 0 || len(calls) == 0 {
		return false
	}
	last := calls[len(calls)-1]
	i := len(r.Frames) - 1
	for i > 0 && !isInput(r.Frames[i], last) {
		i--
	}
	return r.Cut(i, len(r.Frames))
}

func neverMarked(r *reply.Reply) bool {
	return r.Omit(func(f reply.Frame) bool { return f.Name == "message_stop" })
}

func overloaded(r *reply.Reply) reply.Frame {
	return r.ErrorFrame(&llm.APIError{Code: "overloaded_error", Message: "Overloaded"})
}

func failsLate(r *reply.Reply) bool {
	i := slices.IndexFunc(r.Frames, func(f reply.Frame) bool { return f.Name == "content_block_delta" })
	if i >= 0 {
		r.Frames = append(r.Frames[:i+1], overloaded(r))
	}
	return i >= 0
}

func failsFirst(r *reply.Reply) bool {
	if r.Key.Attempt > 1 || len(r.Frames) == 0 {
		return false
	}
	r.Frames = append(r.Frames[:1], overloaded(r))
	return true
}

func betweenEvents(name, data string) edit {
	return func(r *reply.Reply) bool {
		first := true
		return r.Spread(func(f reply.Frame) []reply.Frame {
			if first {
				first = false
				return []reply.Frame{f}
			}
			return []reply.Frame{reply.NewFrame(name, data), f}
		})
	}
}

// outputAlone moves the input counts from message_delta to message_start.
func outputAlone(r *reply.Reply) bool {
	i := endAt(r)
	if i < 0 || r.Frames[0].Name != "message_start" {
		return false
	}
	end := &r.Frames[i]
	for _, count := range []string{"input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"} {
		if body := end.At("usage." + count); body.Exists() {
			r.Frames[0].Put("message.usage."+count, body.Raw)
		}
	}
	end.Put("usage", `{"output_tokens":`+end.At("usage.output_tokens").Raw+`}`)
	return true
}

func growingUsage(r *reply.Reply) bool {
	so := 1
	return r.Spread(func(f reply.Frame) []reply.Frame {
		if f.Name != "content_block_stop" {
			return []reply.Frame{f}
		}
		so++
		data := `{"type":"message_delta","delta":{"stop_reason":null,"stop_sequence":null},"usage":{"output_tokens":` + strconv.Itoa(so) + `}}`
		return []reply.Frame{f, reply.NewFrame("message_delta", data)}
	})
}

func pauses(r *reply.Reply) bool {
	return !r.IsLast && len(toolUses(r)) == 0 && setEnd(r, "stop_reason", `"pause_turn"`)
}

func pausesInContainer(r *reply.Reply) bool {
	return pauses(r) && setEnd(r, "container", `{"id":"container_9","expires_at":"2000-01-01T01:00:00Z"}`)
}

// limited ends a response at a limit if its last block is a call. input, if not nil,
// changes the input of the call.
func limited(reason string, input func(r *reply.Reply, call int)) edit {
	return func(r *reply.Reply) bool {
		last := len(blocks(r)) - 1
		if !slices.Contains(toolUses(r), last) || !setEnd(r, "stop_reason", reply.Quote(reason)) {
			return false
		}
		if input != nil {
			input(r, last)
		}
		return true
	}
}

func refuses(r *reply.Reply) bool {
	if !setEnd(r, "stop_reason", `"refusal"`) {
		return false
	}
	r.Omit(func(f reply.Frame) bool { return strings.HasPrefix(f.Name, "content_block_") })
	if len(r.Frames) == 0 {
		r.Body.Put("content", "[]")
	}
	return true
}

func refusesUnanswered(r *reply.Reply) bool {
	at, ids := lastCalls(r.Response)
	if at < 0 {
		return false
	}
	r.Fail(&llm.APIError{Status: http.StatusBadRequest, Message: fmt.Sprintf(reply.UnansweredToolUses, at, strings.Join(ids, ", "))})
	return true
}
