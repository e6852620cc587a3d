package wire

import (
	"fmt"
	"hash/fnv"
	"io"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/internal/sse"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/anthropic"
	"github.com/looptape/looptape/providers/openai"
	"github.com/looptape/looptape/providers/protocol"
	"github.com/looptape/looptape/trace/check"
)

// Config says what a Server plays.
type Config struct {
	// Model is the script. Its Clock is not used: nothing waits.
	Model *fake.Model
	// Key is the only credential that is right; if it is empty, any is.
	Key string
	// Models are the models that there are; if it is empty, any is.
	Models []string
}

// Server is the fake provider. It is an http.Handler, safe for many requests at
// once.
type Server struct {
	cfg Config

	mu     sync.Mutex
	report Report
}

// Report is what a Server has seen.
type Report struct {
	Requests int       // to a path that a provider has
	Refusals []Refusal // in the order in which they were given
	// Violations are the invariants that the messages of requests broke, by the
	// number of the request, counted from 1.
	Violations []Violation
}

// Refusal is a request that got an error because of what it was.
type Refusal struct {
	Request  int // counted from 1
	Protocol string
	Lane     string
	// ID is that of the rule that the request broke, such as SO-01; empty if it is
	// none of those.
	ID      string
	Status  int
	Type    string // as the provider calls it; Gemini's status word
	Param   string // where in the request
	Code    string
	Message string
}

// Violation is a broken invariant.
type Violation struct {
	Request int
	check.Violation
}

// New returns a Server.
func New(cfg Config) *Server { return &Server{cfg: cfg} }

// Report returns what the Server has seen until now.
func (s *Server) Report() Report {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.report
	r.Refusals, r.Violations = slices.Clone(r.Refusals), slices.Clone(r.Violations)
	return r
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/health" {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	lane, e, ok := route(r.URL.Path)
	if !ok {
		http.Error(w, "there is no such path; base URLs are /openai/v1, /anthropic and /gemini/v1beta, with /lane/NAME in front of them or without", http.StatusNotFound)
		return
	}
	s.mu.Lock()
	s.report.Requests++
	x := &exchange{server: s, endpoint: e, lane: lane, n: s.report.Requests, w: w}
	s.mu.Unlock()
	x.serve(r)
}

// exchange is one request and its answer.
type exchange struct {
	endpoint
	server *Server
	lane   string
	n      int
	place  fake.Place
	w      http.ResponseWriter
}

// maxBody is how long a request may be.
const maxBody = 64 << 20

func (x *exchange) serve(r *http.Request) {
	if r.Method != http.MethodPost {
		x.refuse(&refusal{status: http.StatusMethodNotAllowed, message: "the method has to be POST"})
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(x.w, r.Body, maxBody))
	if err != nil {
		x.refuse(unreadable(err))
		return
	}
	in := inbound{endpoint: x.endpoint, lane: x.lane, cfg: &x.server.cfg, header: r.Header, key: x.key(r), body: body}
	if e := in.unauthorized(); e != nil {
		x.refuse(e)
		return
	}
	req, err := x.proto.DecodeRequest(x.path, body)
	if err == nil {
		x.check(req)
	}
	in.req, in.err = req, err
	if e := strict(in); e != nil {
		x.refuse(e)
		return
	}
	ctx := r.Context()
	if x.lane != "" {
		ctx = fake.WithLane(ctx, x.lane)
	}
	turn, place, err := x.server.cfg.Model.Answer(ctx, req)
	if err != nil { // the script has no answer: trying again does not help
		x.w.Header().Set("X-Should-Retry", "false")
		x.refuse(&refusal{status: http.StatusBadRequest, message: err.Error()})
		return
	}
	x.place = place
	x.play(req, turn)
}

// check notes what is wrong with the messages that a client sends.
func (x *exchange) check(req *llm.Request) {
	found := check.Messages("request "+strconv.Itoa(x.n), req.Messages)
	if len(found) == 0 {
		return
	}
	x.server.mu.Lock()
	defer x.server.mu.Unlock()
	for _, v := range found {
		x.server.report.Violations = append(x.server.report.Violations, Violation{x.n, v})
	}
}

// fail answers with an error.
func (x *exchange) fail(e *llm.APIError) {
	h := x.w.Header()
	h.Set("Content-Type", "application/json")
	if e.RetryAfter > 0 {
		h.Set("Retry-After", strconv.FormatInt(int64((e.RetryAfter+time.Second-1)/time.Second), 10))
	}
	x.id(e.RequestID)
	x.w.WriteHeader(e.Status)
	_, _ = x.w.Write(x.proto.EncodeError(e)) // the client may be gone
}

// id tells the client what the request is called.
func (x *exchange) id(id string) {
	if id == "" {
		id = "req_" + x.name()
	}
	switch x.provider {
	case Anthropic:
		x.w.Header().Set("Request-Id", id)
	case OpenAI:
		x.w.Header().Set("X-Request-Id", id)
	case Gemini:
	}
}

// epoch is when all answers were made.
const epoch = 946684800 // the first second of 2000

// play answers with a turn.
func (x *exchange) play(req *llm.Request, t *fake.Turn) {
	events := t.StreamedEvents()
	var end *llm.APIError
	switch {
	case t.Error != nil:
		end = t.Error.APIError()
	case t.Err != nil:
		end = &llm.APIError{Message: t.Err.Error()}
	}
	switch {
	case end != nil && end.Err != nil && len(events) == 0:
		panic(http.ErrAbortHandler) // the connection breaks before there is an answer
	case end != nil && len(events) == 0 && end.Status >= http.StatusBadRequest:
		x.fail(end)
		return
	}
	a := protocol.Answer{ID: t.ResponseID, Model: t.Model, Created: epoch, Input: t.Usage.Input}
	if a.ID == "" {
		a.ID = x.answerID()
	}
	if a.Model == "" {
		a.Model = req.Model
	}
	x.id("")
	if req.Delivery == llm.Buffered {
		x.buffered(a, events, end)
		return
	}
	x.streamed(a, events, end, t)
}

// answerID is the name of an answer that the script gives none.
func (x *exchange) answerID() string {
	prefix := ""
	switch x.proto.(type) {
	case openai.Chat:
		prefix = "chatcmpl-"
	case openai.Responses:
		prefix = "resp_"
	case anthropic.Messages:
		prefix = "msg_"
	}
	return prefix + x.name()
}

// name tells the answers of a script apart.
func (x *exchange) name() string {
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%q %d %d", x.place.Lane, x.place.Turn, x.place.Attempt) // a hash takes all
	return fmt.Sprintf("%016x", h.Sum64())
}

func (x *exchange) buffered(a protocol.Answer, events []llm.Event, end *llm.APIError) {
	if end != nil {
		if end.Err != nil {
			panic(http.ErrAbortHandler)
		}
		x.fail(end)
		return
	}
	var acc llm.Accumulator
	for _, ev := range events {
		acc.Add(ev)
	}
	body, err := x.proto.EncodeAnswer(nil, a, acc.Turn())
	if err != nil {
		x.cannot(err)
		return
	}
	x.w.Header().Set("Content-Type", "application/json")
	_, _ = x.w.Write(body)
}

// cannot answers that the script wants what the protocol cannot say.
func (x *exchange) cannot(err error) {
	x.w.Header().Set("X-Should-Retry", "false")
	x.fail(&llm.APIError{Status: http.StatusNotImplemented, Message: x.proto.Name() + " cannot say what the script wants: " + err.Error()})
}

func (x *exchange) streamed(a protocol.Answer, events []llm.Event, end *llm.APIError, t *fake.Turn) {
	var out []byte
	write := func(name string, data []byte) { out = sse.Append(out, name, data) }
	enc := x.proto.NewEncoder(a)
	flush := http.NewResponseController(x.w)
	begun := false
	send := func() {
		if !begun {
			x.w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
			begun = true
		}
		_, _ = x.w.Write(out)
		_ = flush.Flush() // some writers cannot
		out = out[:0]
	}
	for _, ev := range events {
		if err := enc.Event(ev, write); err != nil {
			if begun {
				panic(http.ErrAbortHandler)
			}
			x.cannot(err)
			return
		}
		if len(out) > 0 {
			send()
		}
	}
	switch {
	case end == nil && !t.Stall:
		if err := enc.End(write); err != nil {
			panic(http.ErrAbortHandler)
		}
		send()
	case end == nil: // a stall: nothing comes any more
		send()
	case end.Err != nil && t.Error.Connection == fake.ConnectionReset:
		panic(http.ErrAbortHandler)
	case end.Err != nil: // closed too early
		send()
	default:
		x.tell(end, write)
		send()
	}
}

// tell writes an error into a stream.
func (x *exchange) tell(e *llm.APIError, write func(name string, data []byte)) {
	body := x.proto.EncodeError(e)
	switch x.proto.(type) {
	case openai.Responses:
		write("error", append([]byte(`{"type":"error",`), body[1:]...))
	default:
		name := ""
		if x.provider == Anthropic {
			name = "error"
		}
		write(name, body)
	}
}
