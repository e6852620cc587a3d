package wire

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/check"
	"github.com/looptape/looptape/trace/watch"
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
	// Wait waits between the pings of a stall, and returns early with an error when
	// ctx ends. If it is nil, nothing waits. With Delays it also waits for the delays
	// and the pace of the script; its gates are open.
	Wait   func(ctx context.Context, d time.Duration) error
	Delays bool
	// Suppress are invariants that clients may break, each with the reason why:
	// INV-05 for one that shortens its history.
	Suppress map[string]string
}

// Server is the fake provider. It is an http.Handler, safe for many requests at
// once.
//
// It forgets nothing that its Report is made of: each refusal and violation takes some
// hundred bytes, and each conversation as much as its answers, so a Server that serves
// for long grows. Where that matters, take a new one now and then.
type Server struct {
	cfg Config

	watch watch.Monitor

	mu      sync.Mutex
	report  Report
	refused map[try]int    // the first of its tries
	strays  map[string]int // where each is in the report, by method and path
	inputs  inputs
	models  []string // that have answered requests without a lane; only appended to
}

// New returns a Server.
func New(cfg Config) *Server {
	return &Server{cfg: cfg, watch: watch.Monitor{Rewrites: cfg.Suppress["INV-05"] != ""}}
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if share(w, r) {
		return
	}
	switch r.URL.Path {
	case "/health":
		w.WriteHeader(http.StatusNoContent)
		return
	case "/":
		s.greet(w, r)
		return
	}
	if e, name, ok := modelsAt(r.URL.Path); ok && r.Method == http.MethodGet {
		s.begin(w, e, "").list(r, name)
		return
	}
	lane, e, ok := route(r.URL.Path)
	if !ok || r.Method != http.MethodPost {
		s.stray(w, r, ok)
		return
	}
	s.begin(w, e, lane).serve(r)
}

// begin counts a request.
func (s *Server) begin(w http.ResponseWriter, e endpoint, lane string) *exchange {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.report.Requests++
	return &exchange{server: s, endpoint: e, lane: lane, played: lane, n: s.report.Requests, w: w}
}

// exchange is one request and its answer.
type exchange struct {
	endpoint
	server *Server
	lane   string // of the URL
	played string // the lane, as far as it is known: that of the URL, or the model
	n      int
	place  spot
	w      http.ResponseWriter
	body   []byte
	array  bool                // a stream is one JSON array
	masked string              // what may be told of the key
	talk   *watch.Conversation // nil if the request cannot be read
	broke  bool                // a violation was noted
}

// maxBody is how long a request may be.
const maxBody = 64 << 20

func (x *exchange) serve(r *http.Request) {
	x.array = x.provider == Gemini && r.URL.Query().Get("alt") != "sse"
	body, err := io.ReadAll(http.MaxBytesReader(x.w, r.Body, maxBody))
	x.body = body
	if err != nil {
		x.refuse(unreadable(err))
		return
	}
	in := inbound{endpoint: x.endpoint, lane: x.lane, cfg: &x.server.cfg, key: x.key(r), models: x.models(), asked: x.asked(body), header: r.Header, body: body}
	x.masked = masked(in.key)
	if e := in.unauthorized(); e != nil {
		x.refuse(e)
		return
	}
	spelled := in.spelled()
	req, err := x.proto.DecodeRequest(x.path, spelled)
	if err == nil {
		req = watch.Unmarked(req)
		x.played = cmp.Or(x.lane, req.Model, x.server.cfg.Model.Default)
		x.check(req)
	} else {
		x.server.watch.AddUnparsedRequest(x.lane, spelled)
	}
	in.req, in.err = req, err
	if e := strict(in); e != nil {
		x.refuse(e)
		return
	}
	ctx := r.Context()
	if x.lane != "" {
		ctx = fake.WithSession(ctx, x.lane)
	}
	if x.provider == OpenAI {
		ctx = fake.WithoutErrorFlags(ctx)
	}
	turn, place, err := x.server.cfg.Model.Respond(ctx, req)
	if err != nil { // the script has no answer: trying again does not help
		x.w.Header().Set("X-Should-Retry", "false")
		x.refuse(&refusal{status: http.StatusBadRequest, setup: true, message: err.Error()})
		return
	}
	x.place.Place = place
	if x.proto.Name() == responses {
		x.place.talk = talkOf(x.talk.Hash())
	}
	x.answeredBy(place.Session)
	x.keep(spelled, turn)
	x.answer(ctx, req, turn)
}

// check notes what is wrong with the messages that a client sends.
func (x *exchange) check(req *llm.Request) {
	var found []check.Violation
	x.talk, found, x.broke = x.server.watch.AddRequest(&watch.Request{
		Protocol: x.proto, Number: x.n, Session: x.lane, Model: x.played, Request: req,
	})
	x.violated(found...)
}

// models are those that have answered requests without a lane, for one that has none.
func (x *exchange) models() []string {
	if x.lane != "" {
		return nil
	}
	x.server.mu.Lock()
	defer x.server.mu.Unlock()
	return x.server.models
}

// answeredBy notes the model that answers a request, if it has no lane.
func (x *exchange) answeredBy(model string) {
	s := x.server
	s.mu.Lock()
	defer s.mu.Unlock()
	if x.lane != "" || slices.Contains(s.models, model) {
		return
	}
	s.models = append(s.models, model)
	s.models = s.models[max(0, len(s.models)-mostModels):]
}

// mostModels are as many as are kept in mind; the first are forgotten first.
const mostModels = 100
