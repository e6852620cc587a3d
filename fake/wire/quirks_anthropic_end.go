package wire

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/looptape/looptape/llm"
)

// ending returns where the event with the stop_reason is; -1 if there is none.
func (r *reply) ending() int {
	return slices.IndexFunc(r.frames, func(f frame) bool {
		return f.name == "message_delta" && f.at("delta.stop_reason").Type == gjson.String
	})
}

// setEnd sets a member of how the answer ends, and reports whether it ends.
func (r *reply) setEnd(name, value string) bool {
	if i := r.ending(); i >= 0 {
		r.frames[i].put("delta."+name, value)
		return true
	}
	if !gjson.GetBytes(r.body, "stop_reason").Exists() {
		return false
	}
	r.body = []byte(put(string(r.body), name, value))
	return true
}

func closesEarly(_ *play, r *reply) bool {
	i := r.ending()
	if i >= 0 {
		r.frames = r.frames[:i]
	}
	return i >= 0
}

func closesInCall(_ *play, r *reply) bool {
	calls := r.calls()
	if len(r.frames) == 0 || len(calls) == 0 {
		return false
	}
	last := calls[len(calls)-1]
	i := len(r.frames) - 1
	for i > 0 && !r.frames[i].isInput(last) {
		i--
	}
	r.frames = r.frames[:i]
	return true
}

func neverMarked(_ *play, r *reply) bool {
	return r.omit(func(f frame) bool { return f.name == "message_stop" })
}

// overloaded is an error in a stream.
func (p *play) overloaded() frame {
	return p.tell(&llm.APIError{Code: "overloaded_error", Message: "Overloaded"})
}

func failsLate(p *play, r *reply) bool {
	i := slices.IndexFunc(r.frames, func(f frame) bool { return f.name == "content_block_delta" })
	if i >= 0 {
		r.frames = append(r.frames[:i+1], p.overloaded())
	}
	return i >= 0
}

func failsFirst(p *play, r *reply) bool {
	if p.place.Attempt > 1 || len(r.frames) == 0 {
		return false
	}
	r.frames = append(r.frames[:1], p.overloaded())
	return true
}

func ping() frame { return frame{"ping", []byte(`{"type": "ping"}`)} }

func unknownEvent() frame {
	return frame{"hologram", []byte(`{"type":"hologram","hue":[1,2.50]}`)}
}

// interspersed puts a frame between each two.
func interspersed(more func() frame) func(*play, *reply) bool {
	return func(_ *play, r *reply) bool {
		first := true
		return r.spread(func(f frame) []frame {
			if first {
				first = false
				return []frame{f}
			}
			return []frame{more(), f}
		})
	}
}

// outputAlone has message_start tell of the input, and message_delta not.
func outputAlone(_ *play, r *reply) bool {
	i := r.ending()
	if i < 0 || r.frames[0].name != "message_start" {
		return false
	}
	end := &r.frames[i]
	for _, count := range []string{"input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"} {
		if told := end.at("usage." + count); told.Exists() {
			r.frames[0].put("message.usage."+count, told.Raw)
		}
	}
	end.put("usage", `{"output_tokens":`+end.at("usage.output_tokens").Raw+`}`)
	return true
}

// growingUsage counts to what the ending tells, which comes last.
func growingUsage(_ *play, r *reply) bool {
	so := 1
	return r.spread(func(f frame) []frame {
		if f.name != "content_block_stop" {
			return []frame{f}
		}
		so++
		data := `{"type":"message_delta","delta":{"stop_reason":null,"stop_sequence":null},"usage":{"output_tokens":` + strconv.Itoa(so) + `}}`
		return []frame{f, {"message_delta", []byte(data)}}
	})
}

func pauses(p *play, r *reply) bool {
	return !p.last && len(r.calls()) == 0 && r.setEnd("stop_reason", `"pause_turn"`)
}

func pausesInContainer(p *play, r *reply) bool {
	return pauses(p, r) && r.setEnd("container", `{"id":"container_9","expires_at":"2000-01-01T01:00:00Z"}`)
}

// limited ends a turn whose last block is a call at a limit.
func limited(reason string, input func(r *reply, call int)) func(*play, *reply) bool {
	return func(_ *play, r *reply) bool {
		calls := r.calls()
		last := len(r.blocks()) - 1
		if !slices.Contains(calls, last) || !r.setEnd("stop_reason", quoted(reason)) {
			return false
		}
		input(r, last)
		return true
	}
}

// refuses takes all blocks away.
func refuses(_ *play, r *reply) bool {
	if !r.setEnd("stop_reason", `"refusal"`) {
		return false
	}
	r.omit(func(f frame) bool { return strings.HasPrefix(f.name, "content_block_") })
	if len(r.frames) == 0 {
		r.body = []byte(put(string(r.body), "content", "[]"))
	}
	return true
}

// refusesUnanswered answers as SA-01 does.
func refusesUnanswered(p *play, r *reply) bool {
	at, ids := p.called()
	if at < 0 {
		return false
	}
	p.fail(r, &llm.APIError{Status: http.StatusBadRequest, Message: fmt.Sprintf(unansweredUses, at, strings.Join(ids, ", "))})
	return true
}
