package wire

import (
	"net/http"

	"github.com/looptape/looptape/llm"
)

var every = []string{chat, responses, messages, generate}

// anyQuirks are those of any protocol.
var anyQuirks = []quirkForm{
	{
		QuirkForm: QuirkForm{ID: "QT-01", Form: "crlf", Says: "lines end in CRLF", Protocols: every, Streamed: true},
		reply:     func(_ *play, r *reply) bool { r.style.eol = "\r\n"; return true },
	},
	{
		QuirkForm: QuirkForm{ID: "QT-04", Says: "one byte at a time", Protocols: every},
		reply:     func(_ *play, r *reply) bool { r.chunk = 1; return true },
	},
	{
		QuirkForm: QuirkForm{ID: "QT-06", Form: "429", Says: "the first try gets a 429 with Retry-After: 2", Protocols: every},
		reply:     firstTry(http.StatusTooManyRequests, "Retry-After", "2"),
	},
}

// firstTry answers the first try of a turn with a status and the given headers.
func firstTry(status int, headers ...string) func(*play, *reply) bool {
	return func(p *play, r *reply) bool {
		if p.place.Attempt > 1 {
			return false
		}
		p.fail(r, &llm.APIError{Status: status, Message: http.StatusText(status)})
		for i := 0; i < len(headers); i += 2 {
			r.header.Set(headers[i], headers[i+1])
		}
		return true
	}
}
