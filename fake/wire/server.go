package wire

import (
	"context"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/check"
)

// Config says what a Server plays.
type Config struct {
	// Model is the script. Its Clock is not used.
	Model *fake.Model
	// Key is the only credential that is right; if it is empty, any is.
	Key string
	// Models are the models that there are; if it is empty, any is.
	Models []string
	// Quirks are shown one after the other in each answer that they apply to.
	Quirks []Quirk
	// Wait waits for the delays of the script and between the pings of a stall, and
	// returns early with an error when ctx ends. If it is nil, nothing waits.
	Wait func(ctx context.Context, d time.Duration) error
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
	// Shown is in how many answers each quirk was shown, by Quirk.String.
	Shown map[string]int
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
	r.Refusals, r.Violations, r.Shown = slices.Clone(r.Refusals), slices.Clone(r.Violations), maps.Clone(r.Shown)
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
	x := &exchange{server: s, endpoint: e, lane: lane, n: s.report.Requests, w: w, array: e.provider == Gemini && r.URL.Query().Get("alt") != "sse"}
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
	array  bool // a stream is one JSON array
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
	x.answer(ctx, req, turn)
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
