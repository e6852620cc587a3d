package wire

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"net/http"
	"strings"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/openai"
)

// refusal is an error that the client is to blame for.
type refusal struct {
	id      string // of the rule; may be empty
	status  int
	kind    string // the type; empty for the one of an invalid request
	param   string // where in the request; only OpenAI tells it
	code    string
	message string
	setup   bool // nothing is wrong with the loop: the script has no answer, or there is no such model
}

// refused is a refusal with status 400.
func refused(id, format string, args ...any) *refusal {
	return &refusal{id: id, status: http.StatusBadRequest, message: fmt.Sprintf(format, args...)}
}

// at says where in the request the mistake is, and its code.
func (e *refusal) at(param, code string) *refusal {
	e.param, e.code = param, code
	return e
}

// refuse answers with a refusal, and notes it.
func (x *exchange) refuse(e *refusal) {
	if e.kind == "" {
		e.kind = x.invalidKind()
	}
	id := "req_" + x.place.name()
	first := x.tries(e)
	if first == 0 {
		x.invalid(e)
	}
	x.server.mu.Lock()
	x.server.report.RejectedRequests = append(x.server.report.RejectedRequests, RejectedRequest{
		Request: x.n, RetryOf: first, Protocol: x.proto.Name(), Session: x.played, ID: e.id,
		Status: e.status, Type: e.kind, Param: e.param, Code: e.code, Message: strings.TrimSuffix(e.message, "\n"),
	})
	x.server.mu.Unlock()
	h := x.w.Header()
	h.Set("Content-Type", "application/json")
	if name := x.idHeader(); name != "" {
		h.Set(name, id)
	}
	x.w.WriteHeader(e.status)
	_, _ = x.w.Write(e.body(x.endpoint, id)) // the client may be gone
}

// invalidKind is what the provider calls an invalid request.
func (e endpoint) invalidKind() string {
	if e.provider == Gemini {
		return invalidArgument
	}
	return invalidRequest
}

// try is what the tries of one refused request have in common.
type try struct {
	lane, path, rule string
	status           int
	body             uint64 // its hash
}

// tries returns the first request that was just this one, and refused alike; 0 if this
// is the first.
func (x *exchange) tries(e *refusal) (first int) {
	h := fnv.New64a()
	_, _ = h.Write(x.body) // a hash takes all
	t := try{x.lane, x.path, e.id, e.status, h.Sum64()}
	s := x.server
	s.mu.Lock()
	defer s.mu.Unlock()
	if first = s.refused[t]; first > 0 {
		return first
	}
	if s.refused == nil {
		s.refused = map[try]int{}
	}
	s.refused[t] = x.n
	return 0
}

// body returns the refusal in the provider's envelope.
func (e *refusal) body(to endpoint, id string) []byte {
	if to.provider == OpenAI {
		return openai.Error{Message: e.message, Type: e.kind, Param: e.param, Code: e.code}.AppendJSON(nil)
	}
	told := &llm.APIError{Status: e.status, Code: cmp.Or(e.code, e.kind), Message: e.message}
	if to.provider == Anthropic {
		told.RequestID = id
	}
	return to.proto.EncodeError(told)
}
