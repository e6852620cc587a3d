package quirk

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/fake/wire/internal/reply"
	"github.com/looptape/looptape/llm"
)

// padded adds a member of this size to the first event, or to the body.
func padded(size int) edit {
	return func(r *reply.Reply) bool {
		done := false
		return r.Edit(func(text string) string {
			if done {
				return text
			}
			done = true
			return reply.Put(text, "padding", `"`+strings.Repeat("x", size)+`"`)
		})
	}
}

func resetsLate(r *reply.Reply) bool {
	n := len(r.Frames) / 2
	r.Frames, r.End = r.Frames[:n], reply.Reset
	return n > 0
}

func resetsFirst(r *reply.Reply) bool {
	if r.Key.Attempt > 1 {
		return false
	}
	r.Frames, r.Body, r.End = nil, r.Body[:len(r.Body)/2], reply.Reset
	return true
}

// eachAttempt replaces the response by an error with headers, as name and value.
func eachAttempt(status int, headers ...string) edit {
	text := http.StatusText(status)
	if status == 529 { // Anthropic only
		text = "Overloaded"
	}
	return func(r *reply.Reply) bool {
		r.Fail(&llm.APIError{Status: status, Message: "The request fails: " + text + "."})
		for h := range slices.Chunk(headers, 2) {
			r.Header.Set(h[0], h[1])
		}
		return true
	}
}

func firstAttempt(status int, headers ...string) edit {
	return onFirstAttempt(eachAttempt(status, headers...))
}

func onFirstAttempt(f edit) edit {
	return func(r *reply.Reply) bool { return r.Key.Attempt == 1 && f(r) }
}

func quoteKey(r *reply.Reply) bool {
	r.Fail(&llm.APIError{Status: http.StatusUnauthorized, Message: "Incorrect API key provided: " + r.MaskedKey + ". You can find your API key in your account."})
	return true
}

func replaceBody(status int, contentType, body string) edit {
	return func(r *reply.Reply) bool {
		r.SetJSON(status, []byte(body))
		r.Header.Set("Content-Type", contentType)
		return true
	}
}

// nonStreaming replaces a stream by a non-streaming response.
func nonStreaming(r *reply.Reply) bool {
	asked, whole := *r.Request, *r.Response
	asked.ResponseMode = llm.NonStreaming
	whole.Request, whole.Array = &asked, false
	*r = *whole.Render()
	return true
}

// setArguments replaces the arguments of the first call. Long ones come in a single
// chunk.
func setArguments(args string) func(t *fake.Response) bool {
	return func(t *fake.Response) bool {
		return eachCall(t, func(i int, c *fake.Call) {
			if i == 0 {
				c.Arguments, c.Chunks, c.SingleChunk = args, nil, len(args) > 1000
			}
		})
	}
}

func nestedArguments(n int) string {
	return fmt.Sprintf(`{"city":%s%s}`, strings.Repeat("[", n), strings.Repeat("]", n))
}

func stallAtStart(r *reply.Reply) bool {
	r.Frames, r.Body, r.End = nil, nil, reply.Hang
	return true
}

func stallHalfway(drip string) edit {
	return func(r *reply.Reply) bool {
		r.Frames, r.End, r.Repeat = r.Frames[:len(r.Frames)/2], reply.Hang, []byte(drip)
		return true
	}
}

func neverCloses(r *reply.Reply) bool {
	if len(r.Frames) == 0 || r.End != reply.EndBody {
		return false
	}
	r.End = reply.Hang
	return true
}
