package looptest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/fake/wire"
	"github.com/looptape/looptape/internal/jsonval"
	"github.com/looptape/looptape/llm"
)

// HTTP runs the cases that HTTP can show against a loop that uses an SDK of a provider, as
// [Check] does. The loop calls run: it sends requests with this client to one of the base URLs
// of package wire, such as baseURL + "/openai/v1", with any key. It begins with the text of
// in.Messages[0], runs in.Tools, and returns the text of the last response. Model, ResponseMode
// and Step of in are not set.
//
// The server is a [wire.Server] in the process: it rejects what the provider rejects, and checks
// the requests. It skips cases that the protocol of the loop cannot show: arguments that are not
// JSON in responses of Gemini and in non-streaming responses of Anthropic. The loop must use the
// given client only, and must not keep goroutines of its own after it returns.
func HTTP(t *testing.T, run func(ctx context.Context, client *http.Client, baseURL string, in *Input) (answer string, err error), exceptions ...string) {
	t.Helper()
	initResolver()
	runSuite(t, httpCases(), HTTPLoop(run), exceptions, newRealTime(t))
}

// initResolver initializes what package net shares between lookups, for loops with a client of their own. If
// that happens in the bubble of a case, lookups elsewhere end the process.
func initResolver() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, _ = net.DefaultResolver.LookupHost(ctx, "localhost") // it was canceled
}

// HTTPLoop is a [Loop] that sends requests with a client to a server, as for [HTTP]. It runs in [HTTP], [ExploreHTTP] and [Explored]
// only.
type HTTPLoop func(ctx context.Context, client *http.Client, baseURL string, in *Input) (answer string, err error)

// Run implements [Loop].
func (l HTTPLoop) Run(ctx context.Context, in *Input) (*Result, error) {
	s, ok := in.Model.(interface{ httpClient() *http.Client })
	if !ok {
		return nil, errors.New("looptest: HTTPLoop: no server: call HTTP, ExploreHTTP or Explored")
	}
	answer, err := l(ctx, s.httpClient(), httpURL, &Input{Tools: in.Tools, Messages: in.Messages, Approve: in.Approve, Choose: in.Choose})
	return &Result{Messages: []llm.Message{llm.Assistant(llm.Text{Text: answer})}}, err
}

func (w *caseRun) httpClient() *http.Client { return w.http.client }

// httpURL is the URL of the server. Its client connects only to the server.
const httpURL = "http://looptape.invalid"

// notHTTP are the cases that HTTP does not show: what the loop exposes in the process, and opaque
// data, which is different in each protocol.
var notHTTP = []string{"exposed messages", "cancel during tools", "both response modes", "usage", "opaque data", "an empty response"}

// httpCases returns the cases for a loop that calls an HTTP server.
func httpCases() []*testcase {
	list := slices.DeleteFunc(cases(), func(c *testcase) bool { return slices.Contains(notHTTP, c.name) })
	for _, c := range list {
		c.http, c.input = true, user("go")
		if c.stall > 0 {
			c.responses[c.stall-1].Stall = true
		}
		if c.same != "" { // clients do not generate the same ids in each run
			for i, r := range c.responses {
				for j := range r.Calls {
					r.Calls[j].ID = "c" + string(rune('a'+i)) + string(rune('1'+j))
				}
			}
		}
	}
	return list
}

// httpRun is the server of a run. The methods of nil do nothing.
type httpRun struct {
	run    *caseRun
	server *wire.Server
	client *http.Client
	close  func()

	mu        sync.Mutex
	provider  string // of the first request
	elsewhere string // the first request that is not to the server
}

func newHTTPRun(w *caseRun) *httpRun {
	h := &httpRun{run: w, server: wire.New(wire.Config{Model: w.model})}
	client, stop := h.server.Pipe()
	h.close = stop
	h.client = &http.Client{Transport: &watchedTransport{client.Transport, h}}
	return h
}

// stop ends the connections and the server.
func (h *httpRun) stop() {
	if h != nil {
		h.client.CloseIdleConnections()
		h.close()
	}
}

// watchedTransport counts requests, and reports those after the run was canceled. It rejects those to
// another server.
type watchedTransport struct {
	http.RoundTripper
	run *httpRun
}

func (t *watchedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	t.run.run.countModelCall()
	if t.run.run.ctx.Err() != nil && r.Context().Err() == nil {
		t.run.run.report("INV-17", "the loop calls the model after the run was canceled")
	}
	if r.URL.Scheme+"://"+r.URL.Hostname() != httpURL {
		t.run.mu.Lock()
		t.run.elsewhere = cmp.Or(t.run.elsewhere, r.Method+" "+r.URL.Redacted())
		t.run.mu.Unlock()
		return nil, fmt.Errorf("looptest: not a request to the base URL %s", httpURL)
	}
	t.run.mu.Lock()
	provider, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	t.run.provider = cmp.Or(t.run.provider, provider)
	t.run.mu.Unlock()
	return t.RoundTripper.RoundTrip(r)
}

// CloseIdleConnections is called by [http.Client.CloseIdleConnections].
func (t *watchedTransport) CloseIdleConnections() {
	if c, ok := t.RoundTripper.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// unused returns why no request came to the server; empty if one did.
func (h *httpRun) unused() string {
	r := h.server.Report()
	switch {
	case r.Requests > 0:
		return ""
	case h.elsewhere != "":
		return fmt.Sprintf("the loop ignores the base URL %s: its first request is %s", httpURL, h.elsewhere)
	case len(r.UnmatchedRequests) > 0:
		x := r.UnmatchedRequests[0]
		return fmt.Sprintf("the server does not have the path of the first request, %s %s: it has %s", x.Method, x.Path, x.Served)
	case h.run.err != nil:
		return fmt.Sprintf("the loop sent no request with the given client, and returned an error: %v", h.run.err)
	}
	return "the loop sent no request with the given client"
}

// check checks an ended run by the requests that the server received, and by the tools.
func (h *httpRun) check() {
	w := h.run
	r := h.server.Done()
	if w.skipped = h.notShown(); w.skipped != "" {
		return
	}
	h.checkRequests(&r)
	if w.c.when == never {
		h.checkEnd(&r)
	}
	for _, e := range w.started() {
		h.checkArguments(e)
	}
	if w.c.name == "once per call" {
		onceEach(w)
	}
	if slices.Contains([]string{"two calls", "the last is fastest"}, w.c.name) {
		resultsMatchCalls(w)
	}
}

// notShown returns the reason why the protocol of the loop cannot show the case: it has arguments that
// are not JSON. In Anthropic they are an object, except in the deltas of a stream. In Gemini they are
// an object, and only Vertex AI sends them in parts.
func (h *httpRun) notShown() string {
	if !slices.ContainsFunc(h.run.c.responses, func(r fake.Response) bool {
		return slices.ContainsFunc(r.Calls, func(c fake.Call) bool { return !json.Valid([]byte(c.Arguments)) })
	}) {
		return ""
	}
	requests := h.run.model.RecordedRequests()
	switch {
	case h.provider == wire.Gemini:
		return "Gemini's responses cannot contain arguments that are not JSON"
	case h.provider == wire.Anthropic && len(requests) > 0 && requests[0].Request.ResponseMode == llm.NonStreaming:
		return "Anthropic's non-streaming responses cannot contain arguments that are not JSON"
	}
	return ""
}

// checkRequests reports what the server rejects, and the invariants that requests violate.
func (h *httpRun) checkRequests(r *wire.Report) {
	w, rejected, beyond := h.run, map[int]string{}, map[int]bool{}
	for _, x := range r.RejectedRequests {
		beyond[x.Request] = x.BeyondScript
		rejected[x.Request] = fmt.Sprintf("; status %d: %s", x.Status, x.Message)
	}
	for _, v := range r.Violations {
		if v.Invariant != "INV-07" || w.c.when == never {
			w.report(v.Invariant, "request %d: %s%s", v.Request, v.Message, rejected[v.Request])
		}
		delete(rejected, v.Request)
	}
	for _, n := range slices.Sorted(maps.Keys(rejected)) {
		id := "INV-24"
		if beyond[n] {
			id = "INV-11"
		}
		w.report(id, "request %d is rejected%s", n, rejected[n])
	}
	for _, x := range r.UnmatchedRequests {
		w.report("INV-24", "%s %s: unknown path; the server has %s", x.Method, x.Path, x.Served)
	}
}

// checkEnd reports a run that ends early, with an error or with another answer.
func (h *httpRun) checkEnd(r *wire.Report) {
	w := h.run
	last := w.c.responses[len(w.c.responses)-1].Text
	answer := w.result.Messages[0].Text()
	switch {
	case w.err != nil && len(r.RejectedRequests) > 0: // which is reported
	case w.err != nil && w.c.hasFailedCalls:
		w.report("INV-23", "the run fails because a call failed: %v", w.err)
	case w.err != nil:
		w.report("INV-11", "the run fails without a cause: %v", w.err)
	case len(r.Unused) > 0:
		w.report("INV-11", "the run ends early: %s", strings.Join(r.Unused, " "))
	case strings.TrimSpace(answer) != last:
		w.report("INV-11", "the loop returned %q, want the text of the last response %q", answer, last)
	}
}

// checkArguments reports a tool that ran with other arguments than those of a call. A protocol
// without strings of arguments sends {} for arguments that are not JSON.
func (h *httpRun) checkArguments(e entry) {
	known := slices.ContainsFunc(h.run.c.responses, func(r fake.Response) bool {
		return slices.ContainsFunc(r.Calls, func(c fake.Call) bool {
			invalid := !json.Valid([]byte(c.Arguments))
			return c.Name == e.name && (!invalid && jsonval.EqualDecoded(c.Arguments, e.args) || invalid && e.args == "{}" && h.provider != wire.OpenAI)
		})
	})
	if !known {
		h.run.report("INV-09", "the tool %s ran with %q, which are not the arguments of a call", e.name, e.args)
	}
}
