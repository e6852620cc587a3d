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

var messagesQuirks = []*Form{
	messages.inStream("QA-01", "", "the block of a call starts with an empty input, and the input comes in deltas; this server always does so", func(r *reply.Reply) bool {
		return slices.ContainsFunc(toolUses(r), func(call int) bool { return inputDeltas(r, call) > 0 })
	}),
	messages.inStream("QA-01", "stale", "the block of a call starts with an input, and deltas bring another one", func(r *reply.Reply) (changed bool) {
		for _, c := range toolUses(r) {
			if inputDeltas(r, c) > 0 {
				setInput(r, c, `{"stale":true}`)
				changed = true
			}
		}
		return changed
	}),
	messages.inStream("QA-02", "", "the block of a call starts with its complete input, and no deltas come", wholeInputs),
	messages.inStream("QA-03", "", "the connection closes without an error before a stop_reason came", func(r *reply.Reply) bool {
		i := endAt(r)
		return i >= 0 && r.Cut(i, len(r.Frames))
	}),
	messages.inStream("QA-03", "call", "the connection closes without an error within the last call", func(r *reply.Reply) bool {
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
	}),
	messages.inStream("QA-04", "", "an error event comes after the first text, with status 200", func(r *reply.Reply) bool {
		i := slices.IndexFunc(r.Frames, func(f reply.Frame) bool { return f.Name == "content_block_delta" })
		if i >= 0 {
			r.Frames = append(r.Frames[:i+1], overloaded(r))
		}
		return i >= 0
	}),
	messages.inStream("QA-04", "first", "the first attempt gets an error event before the response begins, with status 200", func(r *reply.Reply) bool {
		if r.Key.Attempt > 1 || len(r.Frames) == 0 {
			return false
		}
		r.Frames = append(r.Frames[:1], overloaded(r))
		return true
	}),
	messages.inStream("QA-05", "ping", "a ping comes between each two events", betweenEvents("ping", `{"type": "ping"}`)),
	messages.inStream("QA-05", "event", "an event of an unknown type comes between each two events", betweenEvents("hologram", `{"type":"hologram","hue":[1,2.50]}`)),
	messages.inStream("QA-05", "delta", "a delta of an unknown type comes after each delta", func(r *reply.Reply) bool {
		return r.Spread(func(f reply.Frame) []reply.Frame {
			if f.Name != "content_block_delta" {
				return nil
			}
			more := f
			more.Put("delta", `{"type":"hologram_delta","hue":3}`)
			return []reply.Frame{f, more}
		})
	}),
	messages.inReply("QA-05", "block", "a block of an unknown type is before the last one", func(r *reply.Reply) bool {
		return insertBlock(r, max(0, len(blocks(r))-1), addedBlock{start: `{"type":"hologram","hue":[1,2.50]}`})
	}),
	messages.inStream("QA-06", "", "the usage of message_delta has the output only", outputAlone),
	messages.inStream("QA-06", "growing", "a message_delta with the output until then comes after each block", func(r *reply.Reply) bool {
		so := 1
		return r.Spread(func(f reply.Frame) []reply.Frame {
			if f.Name != "content_block_stop" {
				return nil
			}
			so++
			data := `{"type":"message_delta","delta":{"stop_reason":null,"stop_sequence":null},"usage":{"output_tokens":` + strconv.Itoa(so) + `}}`
			return []reply.Frame{f, reply.NewFrame("message_delta", data)}
		})
	}),
	messages.inReply("QA-07", "", "a response without calls is paused, unless it is the last", pauses),
	messages.inReply("QA-07", "container", "a response without calls is paused, unless it is the last, and names its container", func(r *reply.Reply) bool {
		return pauses(r) && setEnd(r, "container", `{"id":"container_9","expires_at":"2000-01-01T01:00:00Z"}`)
	}),
	messages.inStream("QA-08", "", "the token limit ends the response within the input of the call that is its last block", limited("max_tokens", truncateInput)),
	messages.inReply("QA-08", "whole", "the token limit ends the response, and the call that is its last block looks complete", limited("max_tokens", nil)),
	messages.inReply("QA-08", "empty", "the token limit ends the response, and the call that is its last block has the input {}", limited("max_tokens", noInput)),
	messages.inReply("QA-08", "context", "the full context window ends the response, and the call that is its last block looks complete", limited("model_context_window_exceeded", nil)),
	messages.inReply("QA-09", "", "the request is rejected as if it left a tool_use unanswered (SA-01)", func(r *reply.Reply) bool {
		at, ids := lastCalls(r.Response)
		if at < 0 {
			return false
		}
		r.Fail(&llm.APIError{Status: http.StatusBadRequest, Message: fmt.Sprintf(reply.UnansweredToolUses, at, strings.Join(ids, ", "))})
		return true
	}),
	messages.inStream("QA-10", "", "an empty delta comes before each of an input", func(r *reply.Reply) bool {
		return r.Spread(func(f reply.Frame) []reply.Frame {
			if f.At(partialJSON).Str == "" {
				return nil
			}
			empty := f
			empty.Put(partialJSON, `""`)
			return []reply.Frame{empty, f}
		})
	}),
	messages.inStream("QA-10", "lost", "the opening of the first input is lost", func(r *reply.Reply) bool {
		for i := range r.Frames {
			f := &r.Frames[i]
			if rest, ok := strings.CutPrefix(f.At(partialJSON).Str, `{"`); ok {
				f.Put(partialJSON, reply.Quote(rest))
				return true
			}
		}
		return false
	}),
	messages.inStream("QA-11", "", "the last block of a call is never stopped", func(r *reply.Reply) bool {
		calls := toolUses(r)
		return len(calls) > 0 && r.Omit(func(f reply.Frame) bool { return isEvent(f, "content_block_stop", calls[len(calls)-1]) })
	}),
	messages.inReply("QA-12", "", "the response begins with a thought that is signed", thinksFirst(signedThought(1))),
	messages.inReply("QA-12", "redacted", "the response begins with a thought that is redacted", thinksFirst(addedBlock{start: `{"type":"redacted_thinking","data":"EmwKAhgBEgy1"}`})),
	messages.inReply("QA-12", "interleaved", "a thought that is signed begins the response, and another is between each two calls", func(r *reply.Reply) bool {
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
	}),
	messages.inStream("QA-13", "", "the stream ends after its stop_reason, without message_stop", func(r *reply.Reply) bool {
		return r.Omit(func(f reply.Frame) bool { return f.Name == "message_stop" })
	}),
	messages.inReply("QA-14", "search", "the provider has searched the web itself", ranItself(searched)),
	messages.inReply("QA-14", "mcp", "the provider has called a tool of an MCP server itself", ranItself(calledMCP)),
	messages.inReply("QA-14", "caller", "the calls say that they come from code which the provider runs", calledByCode),
	messages.inReply("QA-14", "citations", "the first text has a citation", cites),
	messages.inReply("QA-refusal", "", "the model refuses without text", refuses),
}

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

func overloaded(r *reply.Reply) reply.Frame {
	return r.ErrorFrame(&llm.APIError{Code: "overloaded_error", Message: "Overloaded"})
}

func betweenEvents(name, data string) edit {
	return func(r *reply.Reply) bool {
		first := true
		return r.Spread(func(f reply.Frame) []reply.Frame {
			if first {
				first = false
				return nil
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

func pauses(r *reply.Reply) bool {
	return !r.IsLast && len(toolUses(r)) == 0 && setEnd(r, "stop_reason", `"pause_turn"`)
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
