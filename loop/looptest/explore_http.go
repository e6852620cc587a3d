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
// end: it may fail only if a model call fails, may be too slow, or has another finish reason than a stop or calls, and must not end without an
// error after a response that is an error or ends early. A request must have the text of the last message of the input.
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
	case report.Requests > 0 || r.mayStop():
	case s.elsewhere != "":
		r.report("INV-11", "the loop ignores the base URL %s: its first request is %s", httpURL, s.elsewhere)
	case len(report.UnmatchedRequests) == 0:
		r.report("INV-11", "the loop sent no request with the given client%s", map[bool]string{true: ", and returned an error: " + failed}[failed != ""])
	}
	for _, v := range s.server.Violations(wire.RunEnd{Failed: failed, Canceled: r.canceled, MayFail: r.mayTimeOut || r.chosen, FailedTool: r.toolFault || r.someDenied()}) {
		r.addViolation(v)
	}
	r.responses = s.server.Sent()
	requests := s.server.Received()
	for i, req := range requests {
		r.checkTexts(fmt.Sprintf("request %d", i+1), req.Messages)
	}
	if text := r.prompt(); len(requests) > 0 && !slices.ContainsFunc(requests, func(req *llm.Request) bool { return hasText(req, text) }) {
		r.report("INV-05", "no request has the text of the last message of the input, %q", text)
	}
	r.checkEntered()
	talk := s.server.Conversation()
	if longest, again := longestOf(talk, func(x wire.Exchange) []llm.Message { return x.Request.Messages }); again {
		r.checkRepeated(longest, talk[len(talk)-1].Response)
	}
	r.checkAnswer(talk)
}

// prompt returns the text of the last message of the input.
func (r *exploredRun) prompt() string {
	list := r.script.Input
	if len(list) == 0 {
		list = r.script.History
	}
	if len(list) == 0 {
		return ""
	}
	return strings.TrimSpace(list[len(list)-1].Text())
}

// hasText reports whether a message or the system prompt of a request contains a text.
func hasText(req *llm.Request, text string) bool {
	return slices.ContainsFunc(req.Messages, func(m llm.Message) bool { return strings.Contains(m.Text(), text) }) ||
		slices.ContainsFunc(req.System, func(p llm.SystemPart) bool { return strings.Contains(p.Text, text) })
}

func isRefusal(p llm.Part) bool {
	text, is := p.(llm.Text)
	return is && text.Refusal
}

// checkAnswer checks that the loop returned the text of the last response if it is complete and has a text, or of another response to the
// same request. If a run can have several conversations, it may be the text of any response.
func (r *exploredRun) checkAnswer(talk []wire.Exchange) {
	n := len(r.responses)
	if r.err != nil || r.canceled || r.mayTimeOut || r.chosen || r.result == nil || n == 0 {
		return
	}
	last, answer := r.responses[n-1], strings.TrimSpace(r.result.Messages[0].Text())
	if last == nil || last.FinishReason != llm.FinishStop || len(last.Calls()) > 0 || last.Text() == "" || slices.ContainsFunc(last.Parts, isRefusal) {
		return
	}
	right := r.responses
	if n := len(talk); n > 0 && talk[n-1].Response == last {
		right = nil
		for _, x := range talk {
			if len(x.Request.Messages) >= len(talk[n-1].Request.Messages) {
				right = append(right, x.Response)
			}
		}
	}
	if !slices.ContainsFunc(right, func(resp *llm.Response) bool {
		return resp != nil && strings.TrimSpace(resp.Text()) == answer && (answer != "" || len(resp.Calls()) == 0)
	}) {
		r.report("INV-11", "the run returned %q; the text of the last response is %q", answer, last.Text())
	}
}
