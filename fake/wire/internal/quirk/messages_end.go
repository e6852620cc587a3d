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
	if !gjson.GetBytes(r.Body, "stop_reason").Exists() {
		return false
	}
	r.Body = []byte(reply.Put(string(r.Body), name, value))
	return true
}

func closesEarly(_ *reply.Response, r *reply.Reply) bool {
	i := endAt(r)
	if i >= 0 {
		r.Frames = r.Frames[:i]
	}
	return i >= 0
}

func closesInCall(_ *reply.Response, r *reply.Reply) bool {
	calls := toolUses(r)
	if len(r.Frames) == 0 || len(calls) == 0 {
		return false
	}
	last := calls[len(calls)-1]
	i := len(r.Frames) - 1
	for i > 0 && !isInput(r.Frames[i], last) {
		i--
	}
	r.Frames = r.Frames[:i]
	return true
}

func neverMarked(_ *reply.Response, r *reply.Reply) bool {
	return r.Omit(func(f reply.Frame) bool { return f.Name == "message_stop" })
}

func overloaded(p *reply.Response) reply.Frame {
	return p.ErrorFrame(&llm.APIError{Code: "overloaded_error", Message: "Overloaded"})
}

func failsLate(p *reply.Response, r *reply.Reply) bool {
	i := slices.IndexFunc(r.Frames, func(f reply.Frame) bool { return f.Name == "content_block_delta" })
	if i >= 0 {
		r.Frames = append(r.Frames[:i+1], overloaded(p))
	}
	return i >= 0
}

func failsFirst(p *reply.Response, r *reply.Reply) bool {
	if p.Key.Attempt > 1 || len(r.Frames) == 0 {
		return false
	}
	r.Frames = append(r.Frames[:1], overloaded(p))
	return true
}

func ping() reply.Frame { return reply.NewFrame("ping", `{"type": "ping"}`) }

func unknownEvent() reply.Frame {
	return reply.NewFrame("hologram", `{"type":"hologram","hue":[1,2.50]}`)
}

func betweenEvents(more func() reply.Frame) edit {
	return func(_ *reply.Response, r *reply.Reply) bool {
		first := true
		return r.Spread(func(f reply.Frame) []reply.Frame {
			if first {
				first = false
				return []reply.Frame{f}
			}
			return []reply.Frame{more(), f}
		})
	}
}

// outputAlone moves the input counts from message_delta to message_start.
func outputAlone(_ *reply.Response, r *reply.Reply) bool {
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

func growingUsage(_ *reply.Response, r *reply.Reply) bool {
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

func pauses(p *reply.Response, r *reply.Reply) bool {
	return !p.IsLast && len(toolUses(r)) == 0 && setEnd(r, "stop_reason", `"pause_turn"`)
}

func pausesInContainer(p *reply.Response, r *reply.Reply) bool {
	return pauses(p, r) && setEnd(r, "container", `{"id":"container_9","expires_at":"2000-01-01T01:00:00Z"}`)
}

// limited ends a response at a limit if its last block is a call.
func limited(reason string, input func(r *reply.Reply, call int)) edit {
	return func(_ *reply.Response, r *reply.Reply) bool {
		calls := toolUses(r)
		last := len(blocks(r)) - 1
		if !slices.Contains(calls, last) || !setEnd(r, "stop_reason", reply.Quote(reason)) {
			return false
		}
		input(r, last)
		return true
	}
}

func refuses(_ *reply.Response, r *reply.Reply) bool {
	if !setEnd(r, "stop_reason", `"refusal"`) {
		return false
	}
	r.Omit(func(f reply.Frame) bool { return strings.HasPrefix(f.Name, "content_block_") })
	if len(r.Frames) == 0 {
		r.Body = []byte(reply.Put(string(r.Body), "content", "[]"))
	}
	return true
}

func refusesUnanswered(p *reply.Response, r *reply.Reply) bool {
	at, ids := lastCalls(p)
	if at < 0 {
		return false
	}
	p.Fail(r, &llm.APIError{Status: http.StatusBadRequest, Message: fmt.Sprintf(reply.UnansweredToolUses, at, strings.Join(ids, ", "))})
	return true
}
