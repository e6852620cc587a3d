package wire

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/fake/wire/internal/reply"
	"github.com/looptape/looptape/fake/wire/internal/strict"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/check"
)

// exploredRun is the state of a server in a run of a [World].
type exploredRun struct {
	world *World
	free  context.Context //nolint:containedctx // ends responses that never end
	end   context.CancelFunc

	mu        sync.Mutex
	names     names
	requests  []*awaited // in the order in which they came
	described int        // the number of requests that Arrived has described
	open      int        // the number of requests that wait
	parallel  bool       // a request came while another one waited
	delivered []delivery
	sent      map[reply.Place][]sentOption // with attempt 0
	effect    effect                       // the strongest one of the run
}

// delivery is a response that was sent.
type delivery struct {
	name, fault string
	effect
	response *llm.Response // nil if it is incomplete
}

// sentOption is an option with which a response was sent.
type sentOption struct {
	*option
	conversation string
	complete     bool
}

// sentAt returns the options with which a response was sent, in this conversation if the key has one: the last one is
// that of the last attempt. If there is none, it returns the response itself.
func (r *exploredRun) sentAt(p *reply.Response) []sentOption {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := p.Key.Place
	at.Attempt = 0
	all := r.sent[at]
	own := slices.DeleteFunc(slices.Clone(all), func(o sentOption) bool {
		return p.Key.Conversation != "" && o.conversation != p.Key.Conversation
	})
	switch {
	case len(own) > 0:
		return own
	case len(all) > 0:
		return all
	}
	return []sentOption{{option: &option{response: &p.Script}}}
}

// addOption adds an option with which a response was sent. It replaces the one of an attempt that was incomplete.
func (r *exploredRun) addOption(key reply.Key, o *option, complete bool) {
	at := key.Place
	at.Attempt = 0
	list := r.sent[at]
	if n := len(list); n > 0 && !list[n-1].complete && list[n-1].conversation == key.Conversation {
		list = list[:n-1]
	}
	r.sent[at] = append(list, sentOption{o, key.Conversation, complete})
}

// parsed is what a server finds out about a request from its content alone.
type parsed struct {
	expanded []byte // the body with the conversation before it
	request  *llm.Request
	err      error

	once     sync.Once
	rejected *strict.Error

	input func() string // of the expanded body; see [strict.Input]
}

// check returns why the provider rejects the request, or nil.
func (p *parsed) check(in strict.Request) *strict.Error {
	p.once.Do(func() { p.rejected = strict.Check(in) })
	if p.rejected == nil {
		return nil
	}
	e := *p.rejected // the caller may change it
	return &e
}

// maxKept is the highest number of requests, and of responses, that a world keeps.
const maxKept = 5_000

// parse decodes a request, or returns what is known about an equal one.
func (x *exchange) parse(in strict.Request) *parsed {
	p := &parsed{expanded: in.Expanded()}
	p.input = sync.OnceValue(func() string { return strict.Input(p.expanded) })
	r := x.server.explored
	if r == nil {
		p.decode(x)
		return p
	}
	h := sha256.New()
	_, _ = fmt.Fprintf(h, "%s %q %q %q %q %q %s\n%d ", x.Path, x.session, in.Key, in.Answered, in.Header["Anthropic-Version"], in.Header["Anthropic-Beta"], r.signature(), len(in.Body)) // a hash takes all
	_, _ = h.Write(in.Body)
	if !bytes.Equal(p.expanded, in.Body) { // it depends on other requests
		_, _ = h.Write(p.expanded)
	}
	key := [sha256.Size]byte(h.Sum(nil))
	w := r.world
	w.mu.Lock()
	known := w.parsed[key]
	w.mu.Unlock()
	if known != nil {
		return known
	}
	p.decode(x)
	w.mu.Lock()
	defer w.mu.Unlock()
	keep(w.parsed, key, p)
	return p
}

func (p *parsed) decode(x *exchange) { p.request, p.err = x.Protocol.DecodeRequest(x.Path, p.expanded) }

// keep adds a value to those that a world keeps, in place of all others if there are too many.
func keep[K comparable, V any](values map[K]V, key K, value V) {
	if len(values) >= maxKept {
		clear(values)
	}
	values[key] = value
}

// signature identifies the options of the responses that were sent.
func (r *exploredRun) signature() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []string
	for at, sent := range r.sent {
		for _, o := range sent {
			if o.name != "" || len(sent) > 1 {
				list = append(list, fmt.Sprintf("%s %d %s %s", at.Session, at.Response, o.conversation, o.name))
			}
		}
	}
	slices.Sort(list)
	return strings.Join(list, "\n")
}

// beyond returns the response to a request beyond the script, if a fault may be the cause of the request.
func (x *exchange) beyond() *fake.Response {
	r := x.server.explored
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.effect < endsEarly {
		return nil
	}
	return &fake.Response{Text: "(the script has no response left)"}
}

// explore sends a response when it is delivered.
func (x *exchange) explore(ctx context.Context, p *reply.Response) {
	r := x.server.explored
	o := r.world.options(p)
	request, key := r.arrive(p, x.body)
	i, late, err := r.world.Await(ctx, "model call", key, o.names)
	r.close()
	if err != nil {
		x.send(ctx, &exploredAnswer{err: err})
		return
	}
	a := r.world.answer(o.list[i], p)
	out := &exploredAnswer{answer: a, late: late, hang: r.hang}
	name := r.deliver(request, o.list[i], a)
	out.sent = func() {
		var counted *repeats // nil if the client may retry
		if i == 0 && p.Script.Error == nil {
			counted = x.addSent(0, "")
		}
		x.setAnswered(counted)
		if a.response != nil {
			x.server.watch.AddResponse(x.talk, a.response.Message())
		}
	}
	out.rest = func() error {
		_, late, err := r.world.Await(ctx, "second part of model call", name, []string{""})
		out.late = out.late || late
		return err
	}
	x.send(ctx, out)
}

func (r *exploredRun) arrive(p *reply.Response, body []byte) (x *awaited, key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	x, key = r.names.add(p, body)
	r.requests = append(r.requests, x)
	r.open++
	r.parallel = r.parallel || r.open > 1
	return x, key
}

// close counts a request that does not wait any more.
func (r *exploredRun) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open--
}

// deliver adds a response, and returns the name of its request.
func (r *exploredRun) deliver(x *awaited, o *option, a *answer) (name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.names.set() // the run may be over
	r.addOption(x.key, o, a.response != nil)
	r.effect = max(r.effect, o.effect)
	x.response = a.response
	r.delivered = append(r.delivered, delivery{x.name, o.name, o.effect, a.response})
	return x.name
}

// describeMessages describes the messages of a request: their number, and what follows the last one of the assistant.
func describeMessages(list []llm.Message) string {
	i := len(list)
	for i > 0 && list[i-1].Role != llm.RoleAssistant {
		i--
	}
	text := append([]byte(counted(i, "message")), ", then"...)
	if i == 0 {
		text = append([]byte(counted(len(list), "message")), ':')
	}
	for _, m := range list[i:] {
		text = append(append(text, ' '), m.Role...)
		for _, p := range m.Parts {
			switch p := p.(type) {
			case llm.ToolResult:
				text = strconv.AppendQuote(append(append(append(text, ' '), p.ID...), '='), shortened(p.Text()))
			case llm.Text:
				text = strconv.AppendQuote(append(text, ' '), shortened(p.Text))
			default:
			}
		}
	}
	return string(text)
}

// exploredAnswer is an answer on its way to a client.
type exploredAnswer struct {
	*answer
	err  error        // in place of the answer
	sent func()       // is called when the client may have the complete answer
	rest func() error // waits for the second part
	hang func(ctx context.Context)
	late bool // the answer comes although its context has ended
}

// send sends an answer to the client.
func (x *exchange) send(ctx context.Context, a *exploredAnswer) {
	if w, ok := x.w.(*directWriter); ok {
		w.answer = a
		return
	}
	if a.err != nil {
		panic(http.ErrAbortHandler) // the client has disconnected
	}
	if a.Status == 0 {
		a.sent()
		panic(http.ErrAbortHandler)
	}
	maps.Copy(x.w.Header(), a.Header)
	if a.Status >= http.StatusBadRequest && x.server.explored.world.Stall != nil {
		x.w.Header().Set(soon, "1")
	}
	x.w.WriteHeader(a.Status)
	flush := http.NewResponseController(x.w)
	begin := 0
	if a.pause == 0 {
		a.sent()
	}
	for _, end := range a.ends {
		if _, err := x.w.Write(a.body[begin:end]); err != nil || flush.Flush() != nil {
			return // the client has disconnected
		}
		if end == a.pause {
			if a.rest() != nil {
				return
			}
			a.sent()
		}
		begin = end
	}
	switch a.End {
	case reply.EndBody:
	case reply.Reset:
		_ = flush.Flush() // the headers, if there was no chunk
		panic(http.ErrAbortHandler)
	case reply.Hang:
		_ = flush.Flush()
		a.hang(ctx)
		panic(http.ErrAbortHandler)
	}
}

// hang waits until ctx or the run ends.
func (r *exploredRun) hang(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(r.free, cancel)()
	if r.world.Stall != nil {
		r.world.Stall(ctx)
		return
	}
	_ = r.world.Hang(ctx) // its error is that of ctx
}

// Release ends the responses that never end.
func (s *Server) Release() { s.explored.end() }

// Arrived describes the requests since the last call, sorted.
func (s *Server) Arrived() (list []string) {
	r := s.explored
	r.mu.Lock()
	defer r.mu.Unlock()
	r.names.set()
	for _, x := range r.requests[r.described:] {
		list = append(list, fmt.Sprintf("request for model call %s: %s", x.name, describeMessages(x.request.Messages)))
	}
	r.described = len(r.requests)
	slices.Sort(list)
	return list
}

// Received returns the requests that the server has accepted in the run of a [World].
func (s *Server) Received() []*llm.Request {
	s.explored.mu.Lock()
	defer s.explored.mu.Unlock()
	list := make([]*llm.Request, 0, len(s.explored.requests))
	for _, x := range s.explored.requests {
		list = append(list, x.request)
	}
	return list
}

// Bodies returns the bodies of the requests that the server has accepted in the run of a [World], sorted: they may come
// concurrently.
func (s *Server) Bodies() [][]byte {
	s.explored.mu.Lock()
	defer s.explored.mu.Unlock()
	list := make([][]byte, 0, len(s.explored.requests))
	for _, x := range s.explored.requests {
		list = append(list, x.body)
	}
	slices.SortFunc(list, bytes.Compare)
	return list
}

// Sent returns the responses of the run of a [World], as a client decodes them; nil if a response was incomplete.
func (s *Server) Sent() (list []*llm.Response) {
	s.explored.mu.Lock()
	defer s.explored.mu.Unlock()
	for _, d := range s.explored.delivered {
		list = append(list, d.response)
	}
	return list
}

// Exchange is a request of a run of a [World] with its response, as a client decodes it: nil if it was incomplete, or did not come.
type Exchange struct {
	Request  *llm.Request
	Response *llm.Response
}

// Conversation returns the exchanges of the run of a [World], in order. It returns nil if they can be more than one conversation: two
// requests were concurrent, or one begins with another system prompt or another message than the first one.
func (s *Server) Conversation() []Exchange {
	r := s.explored
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.parallel {
		return nil
	}
	list := make([]Exchange, 0, len(r.requests))
	for i, x := range r.requests {
		if i > 0 && !sameBegin(list[0].Request, x.request) {
			return nil
		}
		list = append(list, Exchange{x.request, x.response})
	}
	return list
}

// sameBegin reports whether b begins with the system prompt and the messages of a.
func sameBegin(a, b *llm.Request) bool {
	n := len(a.Messages)
	return len(b.Messages) >= n && slices.Equal(a.System, b.System) && slices.EqualFunc(a.Messages, b.Messages[:n], func(x, y llm.Message) bool {
		return x.Role == y.Role && slices.EqualFunc(x.Parts, y.Parts, samePart)
	})
}

func samePart(a, b llm.Part) bool {
	if x, is := a.(llm.Text); is {
		y, is := b.(llm.Text)
		return is && x.Text == y.Text
	}
	return reflect.DeepEqual(a, b)
}

// RunEnd is how a run of a [World] ended.
type RunEnd struct {
	// Failed describes the error with which the run ended; empty means that it had none.
	Failed string
	// Canceled is true if the run was canceled, and MayFail if it may fail for a reason that the server does not know.
	Canceled, MayFail bool
	// Unknown is true if it is unknown whether the run failed.
	Unknown bool
	// FailedTool is true if a tool failed.
	FailedTool bool
}

// Violations returns what a run of a [World] violated that has ended: what the requests show, and an end that does not
// follow from the responses.
func (s *Server) Violations(end RunEnd) (list []check.Violation) {
	r := s.explored
	report := s.Done()
	r.mu.Lock()
	delivered, worst, unused := slices.Clone(r.delivered), r.effect, s.cfg.Model.UnusedResponses()
	if worst == wrongCall { // the call of a sub-agent may be missing
		unused = slices.DeleteFunc(unused, func(u fake.Recorded) bool {
			return !slices.ContainsFunc(r.requests, func(x *awaited) bool { return x.key.Session == u.Session })
		})
	}
	r.mu.Unlock()
	mayEnd := end.Canceled || end.MayFail || worst >= endsEarly
	if mayEnd || end.Failed != "" {
		report.Violations = slices.DeleteFunc(report.Violations, func(v Violation) bool { return v.Invariant == "INV-07" })
	}
	list = report.All()
	add := func(id, format string, args ...any) {
		list = append(list, check.Violation{Invariant: id, Event: check.NoEvent, Message: fmt.Sprintf(format, args...)}.WithHint())
	}
	fault := ""
	for _, d := range delivered {
		if d.fault != "" {
			fault = fmt.Sprintf(", although the response to model call %s is complete (%s)", d.name, faultText(d.fault))
		}
	}
	switch n := len(delivered); {
	case end.Canceled || len(report.RejectedRequests) > 0:
	case end.Failed != "" && !mayEnd && (end.FailedTool || worst == wrongCall):
		add("INV-23", "the run fails because of a call: %s", end.Failed)
	case end.Failed != "" && !mayEnd:
		add("INV-11", "the run fails%s: %s", fault, end.Failed)
	case end.Failed != "":
	case n > 0 && !end.Unknown && delivered[n-1].effect == failsCall && delivered[n-1].response == nil:
		add("INV-11", "the run ends without an error, and model call %s failed (%s)", delivered[n-1].name, faultText(cmp.Or(delivered[n-1].fault, "has an error in the script")))
	case !mayEnd && !s.cfg.AllowUnused && len(unused) > 0 && len(list) == 0:
		add("INV-11", "the run ends early: %s", strings.Join(s.describeUnused(unused), " "))
	}
	return list
}

// faultText returns a fault of a response as a clause.
func faultText(fault string) string {
	if strings.HasPrefix(fault, "call ") {
		return "its " + fault
	}
	return "it " + fault
}

// All returns the violations that are not suppressed, and one for each request that was rejected or unmatched
// without a violation.
func (r *Report) All() (list []check.Violation) {
	add := func(id, hint, format string, args ...any) {
		v := check.Violation{Invariant: id, Event: check.NoEvent, Message: fmt.Sprintf(format, args...)}.WithHint()
		if hint != "" {
			v.Hint = hint
		}
		list = append(list, v)
	}
	rejected := map[int]RejectedRequest{}
	for _, x := range r.RejectedRequests {
		rejected[x.Request] = x
	}
	why := func(number int) string {
		x, is := rejected[number]
		if !is {
			return ""
		}
		return fmt.Sprintf("; status %d: %s", x.Status, x.Message)
	}
	for _, v := range r.Violations {
		if v.Suppressed == "" {
			add(v.Invariant, v.Hint, "request %d: %s%s", v.Request, v.Message, why(v.Request))
		}
		delete(rejected, v.Request)
	}
	for _, n := range slices.Sorted(maps.Keys(rejected)) {
		id := "INV-24"
		if rejected[n].BeyondScript {
			id = "INV-11"
		}
		add(id, "", "request %d is rejected%s", n, why(n))
	}
	for _, x := range r.UnmatchedRequests {
		if x.isFailure() {
			add("INV-24", "", "%s %s: unknown path; the server has %s", x.Method, x.Path, x.Served)
		}
	}
	return list
}
