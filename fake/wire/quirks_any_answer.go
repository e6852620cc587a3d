package wire

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
)

// padded gives the first event, or the body, a member of so many bytes.
func padded(size int) func(*play, *reply) bool {
	return func(_ *play, r *reply) bool {
		done := false
		return r.edit(func(text string) string {
			if done {
				return text
			}
			done = true
			return put(text, "padding", `"`+strings.Repeat("x", size)+`"`)
		})
	}
}

func resetsLate(_ *play, r *reply) bool {
	n := len(r.frames) / 2
	r.frames, r.end = r.frames[:n], reset
	return n > 0
}

func resetsFirst(p *play, r *reply) bool {
	if p.place.Attempt > 1 {
		return false
	}
	r.frames, r.body, r.end = nil, r.body[:len(r.body)/2], reset
	return true
}

// eachTry answers with a status and the given headers.
func eachTry(status int, headers ...string) func(*play, *reply) bool {
	return func(p *play, r *reply) bool {
		p.fail(r, &llm.APIError{Status: status, Message: "The request fails: " + statusText(status) + "."})
		for i := 0; i < len(headers); i += 2 {
			r.header.Set(headers[i], headers[i+1])
		}
		return true
	}
}

func statusText(status int) string {
	if status == 529 { // of Anthropic alone
		return "Overloaded"
	}
	return http.StatusText(status)
}

// firstTry is eachTry for the first try of a turn.
func firstTry(status int, headers ...string) func(*play, *reply) bool {
	return onFirst(eachTry(status, headers...))
}

// onFirst does f to the answer to the first try of a turn.
func onFirst(f func(*play, *reply) bool) func(*play, *reply) bool {
	return func(p *play, r *reply) bool { return p.place.Attempt == 1 && f(p, r) }
}

func quotesKey(p *play, r *reply) bool {
	p.fail(r, &llm.APIError{Status: http.StatusUnauthorized, Message: "Incorrect API key provided: " + p.masked + ". You can find your API key in your account."})
	return true
}

// masked is a key as OpenAI quotes it: its beginning and its end.
func masked(key string) string {
	n := min(len(key)/3, 8)
	return key[:n] + "****" + key[len(key)-n:]
}

// otherBody answers with such a body, whatever was asked for.
func otherBody(status int, contentType, body string) func(*play, *reply) bool {
	return func(_ *play, r *reply) bool {
		r.json(status, []byte(body))
		r.header.Set("Content-Type", contentType)
		return true
	}
}

// unstreamed answers with the turn in one piece.
func unstreamed(p *play, r *reply) bool {
	asked := *p.request
	asked.ResponseMode = llm.NonStreaming
	whole := *p
	whole.request, whole.array = &asked, false
	*r = *whole.render()
	return true
}

// argued gives the first call other arguments. Long ones come in one piece.
func argued(args string) func(*play, *fake.Response) bool {
	return func(_ *play, t *fake.Response) bool {
		return eachCall(t, func(i int, c *fake.Call) {
			if i == 0 {
				c.Arguments, c.Chunks, c.SingleChunk = args, nil, len(args) > 1000
			}
		})
	}
}

// deep is an object that nests so deep.
func deep(n int) string {
	return fmt.Sprintf(`{"city":%s%s}`, strings.Repeat("[", n), strings.Repeat("]", n))
}

// silentAtOnce sends the headers, and then nothing.
func silentAtOnce(_ *play, r *reply) bool {
	r.frames, r.body, r.end = nil, nil, hang
	return true
}

// silentHalfway sends half of the events, and then nothing but the drip.
func silentHalfway(drip string) func(*play, *reply) bool {
	return func(_ *play, r *reply) bool {
		r.frames, r.end, r.drip = r.frames[:len(r.frames)/2], hang, []byte(drip)
		return true
	}
}

func staysOpen(_ *play, r *reply) bool {
	if len(r.frames) == 0 || r.end != endBody {
		return false
	}
	r.end = hang
	return true
}
