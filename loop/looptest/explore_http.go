package looptest

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/fake/wire"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop/explore"
)

// ExploreHTTP explores a loop that uses an SDK of a provider, as [Explore] does. The loop calls run as for [HTTP]: it sends
// requests with this client to one of the base URLs of package wire, and returns the text of the last response. The
// client calls a [wire.Server] in the process, without a connection, so a retry of an SDK waits in virtual time.
//
// The choices of a response are those of [Explore], as far as the protocol of the loop shows them, the quirks of the
// provider, and a pause within the response. A run is checked by its requests, as [HTTP] does, by the tools that ran, and by its
// end: it may fail only if a model call fails or may be too slow, and must not end without an error after a response
// that is incomplete.
func ExploreHTTP(t *testing.T, run func(ctx context.Context, client *http.Client, baseURL string, in *Input) (answer string, err error), opts *ExploreOptions) *explore.Result {
	t.Helper()
	return Explore(t, HTTPLoop(run), opts)
}

// exploredServer is the server of a run. It is not a model that can be called.
type exploredServer struct {
	llm.Model

	run       *exploredRun
	server    *wire.Server
	transport http.RoundTripper
	client    *http.Client
	count     atomic.Int64
	elsewhere string // the first request that is not to the server
}

func newExploredServer(r *exploredRun) *exploredServer {
	s := &exploredServer{run: r, server: r.wire.Begin()}
	s.transport = s.server.Client().Transport
	s.client = &http.Client{Transport: s}
	return s
}

func (s *exploredServer) httpClient() *http.Client { return s.client }

// RoundTrip implements [http.RoundTripper].
func (s *exploredServer) RoundTrip(req *http.Request) (*http.Response, error) {
	r := s.run
	if r.over() {
		return nil, errReleased
	}
	if req.URL.Scheme+"://"+req.URL.Hostname() != httpURL {
		r.mu.Lock()
		if s.elsewhere == "" {
			s.elsewhere = req.Method + " " + req.URL.Redacted()
		}
		r.mu.Unlock()
		return nil, fmt.Errorf("looptest: not a request to the base URL %s", httpURL)
	}
	if r.wasCanceled() && req.Context().Err() == nil {
		r.report("INV-17", "the loop calls the model after the run was canceled")
	}
	r.limit(int(s.count.Add(1))-1, maxModelCalls, "model calls")
	return s.transport.RoundTrip(req)
}

// pending returns the answers that the loop waits for.
func (s *exploredServer) pending(w *fake.World) []*fake.Pending {
	if s == nil {
		return w.Pending()
	}
	return s.server.Pending()
}

// arrived logs the requests that have come.
func (s *exploredServer) arrived() {
	if s != nil {
		for _, line := range s.server.Arrived() {
			s.run.log("%s", line)
		}
	}
}

// release ends the responses that never end.
func (s *exploredServer) release() {
	if s != nil {
		s.server.Release()
	}
}

// check checks an ended run.
func (s *exploredServer) check() {
	r := s.run
	report := s.server.Report()
	failed := ""
	if r.err != nil {
		failed = r.err.Error()
	}
	switch {
	case report.Requests > 0 || r.canceled:
	case s.elsewhere != "":
		r.report("INV-11", "the loop ignores the base URL %s: its first request is %s", httpURL, s.elsewhere)
	case len(report.UnmatchedRequests) == 0:
		r.report("INV-11", "the loop sent no request with the given client%s", map[bool]string{true: ", and returned an error: " + failed}[failed != ""])
	}
	for _, v := range s.server.Violations(wire.RunEnd{Failed: failed, Canceled: r.canceled, MayFail: r.mayTimeOut || r.chosen, FailedTool: r.toolFault || r.someDenied()}) {
		r.addViolation(v)
	}
	r.responses = s.server.Sent()
	for i, req := range s.server.Received() {
		r.checkTexts(fmt.Sprintf("request %d", i+1), req.Messages)
	}
	r.checkEntered()
	r.checkAnswer()
}

func isRefusal(p llm.Part) bool {
	text, is := p.(llm.Text)
	return is && text.Refusal
}

// checkAnswer checks that the loop returned the text of a response, if the last one is complete and has a text. The last one
// may have been late.
func (r *exploredRun) checkAnswer() {
	n := len(r.responses)
	if r.err != nil || r.canceled || r.mayTimeOut || r.chosen || r.result == nil || n == 0 {
		return
	}
	last, answer := r.responses[n-1], strings.TrimSpace(r.result.Messages[0].Text())
	if last == nil || last.FinishReason != llm.FinishStop || len(last.Calls()) > 0 || last.Text() == "" || slices.ContainsFunc(last.Parts, isRefusal) {
		return
	}
	if answer == "" || !slices.ContainsFunc(r.responses, func(resp *llm.Response) bool { return resp != nil && strings.TrimSpace(resp.Text()) == answer }) {
		r.report("INV-11", "the run returned %q; the text of the last response is %q", answer, last.Text())
	}
}
