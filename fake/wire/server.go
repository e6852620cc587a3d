package wire

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/fake/wire/internal/quirk"
	"github.com/looptape/looptape/fake/wire/internal/reply"
	"github.com/looptape/looptape/fake/wire/internal/strict"
	"github.com/looptape/looptape/internal/access"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/watch"
)

// Config specifies what a [Server] serves.
type Config struct {
	// Model is the script. The server does not use its Clock.
	Model *fake.Model
	// Script is played if Model is nil. The session of a request is that of its URL, or
	// else its model. A session that is not in the script plays its first model.
	Script *fake.Script
	// Key is the only valid credential; empty means that any is valid.
	Key string
	// Models are the known models; empty means that any is known.
	Models []string
	// Quirks edit each response that they apply to, one after the other.
	Quirks []Quirk
	// Wait waits between the pings of a stall. It returns an error when ctx ends; nil
	// means not to wait. With Delays it also waits for the delays of the script. Gates
	// of the script are open.
	Wait   func(ctx context.Context, d time.Duration) error
	Delays bool
	// FindQuirks lists in [Report.Applicable] the quirks that would change a response.
	FindQuirks bool
	// AllowUnused accepts responses and attempts that no request selected.
	AllowUnused bool
	// MaxBody is the largest body in bytes of a request; 0 means 64 MiB. A longer one gets status
	// 413.
	MaxBody int64
	// Token is the first element of each path; empty means none. Another request gets status
	// 403.
	Token string
	// AllowOrigins are the origins of web pages that may send requests, such as
	// http://localhost:5173, or * for any. Others get status 403.
	AllowOrigins []string
	// Suppress maps invariants that clients may break to the reason: INV-05 for a
	// client that shortens its history.
	Suppress map[string]string
}

// Server is an [http.Handler] that plays the providers. It is safe for use by many
// goroutines.
//
// It keeps what its [Report] needs: some hundred bytes for each rejected request and
// each violation, and the responses of each conversation. A process that serves for long
// should create a new Server now and then.
type Server struct {
	cfg    Config
	quirks []quirk.Form
	strict strict.Config

	watch watch.Monitor

	explored *exploredRun // nil if the server is not of a World

	mu         sync.Mutex
	report     Report
	listed     int // requests that list models
	sent       map[sent]*repeats
	answered   map[string]*repeats // the last request of each session, if the client may have its complete response
	applicable map[string]bool     // the quirks, if FindQuirks
	unmatched  map[string]int      // index in the report, by method and path
	inputs     inputs
	pages      int      // refused requests of web pages
	page       string   // why the first one was refused
	models     []string // that have answered requests without a session; only appended to
}

// New returns a Server.
func New(cfg Config) *Server {
	if cfg.Model == nil && cfg.Script != nil {
		cfg.Model = newModel(cfg.Script)
	}
	s := &Server{
		cfg: cfg, watch: watch.Monitor{Rewrites: cfg.Suppress["INV-05"] != ""},
		strict: strict.Config{Script: cfg.Model, Key: cfg.Key, Models: cfg.Models},
		report: Report{Format: reportFormat, Version: ReportVersion, Shown: map[string]int{}}, sent: map[sent]*repeats{}, answered: map[string]*repeats{}, applicable: map[string]bool{},
		unmatched: map[string]int{}, inputs: inputs{values: map[string]string{}},
	}
	for _, q := range cfg.Quirks {
		s.quirks = append(s.quirks, quirk.Find(quirk.Info(q)))
		s.report.Shown[q.String()] = 0
	}
	s.strict.Render = func(p *reply.Response) []*reply.Reply {
		r, _ := quirk.Render(p, s.quirks)
		return []*reply.Reply{r}
	}
	if len(s.quirks) > 0 {
		s.strict.EditScript = func(p *reply.Response) { quirk.EditScript(p, s.quirks) }
	}
	return s
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	in, err := s.access().Admit(w, r)
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	if in == nil {
		return
	}
	r = in
	switch r.URL.Path {
	case "/health":
		w.WriteHeader(http.StatusNoContent)
		return
	case "/":
		writeJSON(w, s.Info("http://"+r.Host+s.access().Prefix()))
		_, _ = io.WriteString(w, "\n") // the client may have disconnected
		return
	}
	if e, name, ok := modelsAt(r.URL.Path); ok && r.Method == http.MethodGet {
		s.begin(w, e, "").list(r, name)
		return
	}
	session, e, ok := route(r.URL.Path)
	if !ok || r.Method != http.MethodPost {
		s.serveUnmatched(w, r, ok)
		return
	}
	s.begin(w, e, session).serve(r)
}

func (s *Server) access() access.Policy {
	return access.Policy{Token: s.cfg.Token, AllowOrigins: s.cfg.AllowOrigins}
}

// exchange is one request and its response.
type exchange struct {
	reply.Endpoint
	server  *Server
	session string // of the URL
	played  string // the session, if it is known: that of the URL, or the model
	number  int    // of the request, from 1
	key     reply.Key
	w       http.ResponseWriter
	body    []byte
	talk    *watch.Conversation // nil if the request cannot be decoded
	broke   bool                // a violation was reported
}

// begin counts a request.
func (s *Server) begin(w http.ResponseWriter, e reply.Endpoint, session string) *exchange {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.report.Requests++
	return &exchange{server: s, Endpoint: e, session: session, played: session, number: s.report.Requests, w: w}
}

// maxGrow limits the memory of a body that has not come yet.
const maxGrow = 64 << 10

func (x *exchange) serve(r *http.Request) {
	var read bytes.Buffer
	read.Grow(bytes.MinRead + int(min(max(r.ContentLength, 0), maxGrow)))
	_, err := read.ReadFrom(http.MaxBytesReader(x.w, r.Body, cmp.Or(x.server.cfg.MaxBody, access.MaxBody)))
	body := read.Bytes()
	x.body = body
	if err != nil {
		x.reject(strict.Unreadable(err))
		return
	}
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		x.reject(strict.Encoded(encoding))
		return
	}
	in := strict.Request{
		Endpoint: x.Endpoint, Config: &x.server.strict, Session: x.session, Key: credential(x.Provider, r),
		Answered: x.answeredModels(), Input: x.input, Header: r.Header, Body: body,
	}
	if e := in.Unauthorized(); e != nil {
		x.reject(e)
		return
	}
	parsed := x.parse(in)
	expanded, req, err := parsed.expanded, parsed.request, parsed.err
	if err == nil {
		x.played = cmp.Or(x.session, req.Model, x.server.cfg.Model.Default)
		req = x.check(req)
	} else {
		x.server.watch.AddUnparsedRequest(x.session, expanded)
	}
	in.Decoded, in.Err = req, err
	if e := parsed.check(in); e != nil {
		x.reject(e)
		return
	}
	ctx := r.Context()
	if x.session != "" {
		ctx = fake.WithSession(ctx, x.session)
	}
	script, place, err := x.server.cfg.Model.Respond(ctx, req, x.Provider != reply.OpenAI)
	if more := x.beyond(); err != nil && more != nil {
		script, err = more, nil
	}
	if err != nil { // a retry fails as well
		x.w.Header().Set("X-Should-Retry", "false")
		x.reject(x.server.scriptError(err, place))
		return
	}
	x.key.Place = reply.Place{Session: place.Session, Response: place.Response, Attempt: place.Attempt}
	if x.Protocol.Name() == reply.Responses {
		x.key.Conversation = reply.ConversationID(x.talk.Hash())
		x.keepInput(cmp.Or(script.ResponseID, "resp_"+x.key.ID()), parsed.input())
	}
	x.addModel(place.Session)
	x.respond(ctx, &reply.Response{
		Endpoint: x.Endpoint, Key: x.key, Request: req, Script: *script, MaskedKey: mask(in.Key),
		IsLast: place.Response == len(x.server.cfg.Model.Script(place.Session))-1,
		Array:  x.Provider == reply.Gemini && r.URL.Query().Get("alt") != "sse",
	})
}

// respond writes a scripted response.
func (x *exchange) respond(ctx context.Context, p *reply.Response) {
	s := x.server
	if s.explored != nil {
		x.explore(ctx, p)
		return
	}
	if s.cfg.FindQuirks {
		s.findQuirks(p)
	}
	r, shown := quirk.Render(p, s.quirks)
	s.countQuirks(shown)
	var counted *repeats // nil if the client may retry, because of a quirk, an error or the script
	if !slices.Contains(shown, true) && p.Script.Error == nil && !x.hasAttempts(p.Key.Place) {
		counted = x.addSent(0, "")
	} else {
		x.setAnswered(nil)
	}
	r.Complete = func() {
		if m, ok := r.Message(); ok {
			s.watch.AddResponse(x.talk, m)
			if r.End == reply.EndBody {
				x.setAnswered(counted)
			}
		}
	}
	if s.cfg.Wait != nil {
		r.Wait = func(d time.Duration) error { return s.cfg.Wait(ctx, d) }
	}
	if !s.cfg.Delays {
		r.Delay, r.Interval = 0, 0
	}
	r.Write(ctx, x.w)
}

// hasAttempts reports whether the script has a response for each attempt.
func (x *exchange) hasAttempts(at reply.Place) bool {
	return len(x.server.cfg.Model.Script(at.Session)[at.Response].Attempts) > 0
}

// check reports the invariants that the messages of a request break. It returns the request
// without cache marks.
func (x *exchange) check(req *llm.Request) *llm.Request {
	q := &watch.Request{Protocol: x.Protocol, Number: x.number, Session: x.session, Model: x.played, Request: req}
	talk, found, broke := x.server.watch.AddRequest(q)
	x.talk, x.broke = talk, broke
	x.addViolations(found...)
	return q.Request
}

// maxModels and maxInputs limit what a server keeps. It drops the oldest first.
const (
	maxModels = 100
	maxInputs = 1000
)

// answeredModels returns the models that have answered requests without a session.
func (x *exchange) answeredModels() []string {
	if x.session != "" {
		return nil
	}
	x.server.mu.Lock()
	defer x.server.mu.Unlock()
	return x.server.models
}

// addModel records the model that answers a request without a session.
func (x *exchange) addModel(model string) {
	s := x.server
	s.mu.Lock()
	defer s.mu.Unlock()
	if x.session != "" || slices.Contains(s.models, model) {
		return
	}
	s.models = append(s.models, model)
	s.models = s.models[max(0, len(s.models)-maxModels):]
}

// inputs holds the inputs of answered requests to Responses, by session and response.
type inputs struct {
	values map[string]string
	order  []string
}

// input returns the input that a response of this session answers.
func (x *exchange) input(responseID string) string {
	x.server.mu.Lock()
	defer x.server.mu.Unlock()
	return x.server.inputs.values[x.session+" "+responseID]
}

func (x *exchange) keepInput(responseID, input string) {
	x.server.mu.Lock()
	defer x.server.mu.Unlock()
	in, key := &x.server.inputs, x.session+" "+responseID
	if _, known := in.values[key]; !known {
		in.order = append(in.order, key)
	}
	in.values[key] = input
	if len(in.order) > maxInputs {
		delete(in.values, in.order[0])
		in.order = in.order[1:]
	}
}
