package wire_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/fake/wire"
)

const chatPath = "/openai/v1/chat/completions"

// userTurns returns a request whose messages are those of the user, with the text of a
// scripted response after each but the last.
func userTurns(texts ...string) string {
	var messages []string
	for i, text := range texts {
		if i > 0 {
			messages = append(messages, fmt.Sprintf(`{"role":"assistant","content":"response %d"}`, i))
		}
		messages = append(messages, fmt.Sprintf(`{"role":"user","content":%q}`, text))
	}
	return `{"model":"gpt-5","messages":[` + strings.Join(messages, ",") + `]}`
}

// textResponses returns n responses with the texts "response 1", "response 2" and so on.
func textResponses(n int) (out []fake.Response) {
	for i := range n {
		out = append(out, fake.Response{Text: fmt.Sprintf("response %d", i+1)})
	}
	return out
}

// TestDoneFailures checks the failures of runs that use less than the script, and the notes.
func TestDoneFailures(t *testing.T) {
	retried := fake.Response{Attempts: []fake.Response{{Error: &fake.Failure{Status: 429}}, {Error: &fake.Failure{Status: 429}}, {Text: "response 1"}}}
	main := fake.ModelScript{Name: "main", Responses: textResponses(4)}
	helper := fake.ModelScript{Name: "helper", Responses: textResponses(1)}
	const noRequest = "No request came: the client uses another base URL, or ended before its first request."
	for name, c := range map[string]struct {
		models   []fake.ModelScript
		requests []string // path and body
		want     []string
		again    []string // failures whether unused responses are accepted or not
		notes    []string
		rejected bool
	}{
		"no request":    {models: []fake.ModelScript{main}, want: []string{noRequest}},
		"an empty list": {models: []fake.ModelScript{{Name: "main"}}, want: []string{noRequest}},
		"another path": {
			models: []fake.ModelScript{main}, requests: []string{"/v1/chat/completions " + userTurns("a")},
			want: []string{"No request for a response came: the client has a wrong base URL."},
		},
		"models listed": {
			models: []fake.ModelScript{main}, requests: []string{"GET /openai/v1/models", "GET /anthropic/v1/models/main"},
			want: []string{"No request for a response came: the client only listed the models."},
		},
		"a request too few": {
			models: []fake.ModelScript{main}, requests: []string{chatPath + " " + userTurns("a"), chatPath + " " + userTurns("a", "b"), chatPath + " " + userTurns("a", "b", "c")},
			want: []string{"Response 4 of `main` was never requested."},
		},
		"one request": {
			models: []fake.ModelScript{main}, requests: []string{chatPath + " " + userTurns("a")},
			want: []string{"Responses 2 to 4 of `main` were never requested."},
		},
		"a history that skips responses": {
			models: []fake.ModelScript{main}, requests: []string{chatPath + " " + userTurns("a", "b", "c", "d")},
			want: []string{"Responses 1 to 3 of `main` were never requested."},
		},
		"one session of two": {
			models: []fake.ModelScript{helper, main}, requests: []string{chatPath + " " + userTurns("a")},
			want: []string{"No response of `main` was requested."},
		},
		"two sessions of one script": {
			models:   []fake.ModelScript{main},
			requests: []string{"/session/a" + chatPath + " " + userTurns("a"), "/session/b\"`" + chatPath + " " + userTurns("a", "b", "c", "d")},
			want:     []string{"Responses 2 to 4 of `main` in session `a` were never requested.", "Responses 1 to 3 of `main` in session \"b\\\"`\" were never requested."},
		},
		"an attempt too few": {
			models:   []fake.ModelScript{{Name: "main", Responses: []fake.Response{retried}}},
			requests: []string{chatPath + " " + userTurns("a"), chatPath + " " + userTurns("a")},
			want:     []string{"Attempt 3 at response 1 of `main` was never requested."},
		},
		"no retry": {
			models: []fake.ModelScript{{Name: "main", Responses: []fake.Response{retried}}}, requests: []string{chatPath + " " + userTurns("a")},
			want: []string{"Attempts 2 to 3 at response 1 of `main` were never requested."},
		},
		"all attempts": {
			models:   []fake.ModelScript{{Name: "main", Responses: []fake.Response{retried}}},
			requests: []string{chatPath + " " + userTurns("a"), chatPath + " " + userTurns("a"), chatPath + " " + userTurns("a")},
		},
		"the same request again and again": {
			models:   []fake.ModelScript{helper},
			requests: []string{chatPath + " " + userTurns("a"), chatPath + " " + userTurns("a"), chatPath + " " + userTurns("a")},
			again:    []string{"Request 1 came 3 times without a change, the last time as request 3, although it got a response."},
		},
		"the last request again and again": {
			models:   []fake.ModelScript{{Name: "main", Responses: textResponses(2)}},
			requests: []string{chatPath + " " + userTurns("a"), chatPath + " " + userTurns("a", "b"), chatPath + " " + userTurns("a", "b"), chatPath + " " + userTurns("a", "b"), chatPath + " " + userTurns("a", "b")},
			again:    []string{"Request 2 came 4 times without a change, the last time as request 5, although it got a response."},
		},
		"once more": {
			models: []fake.ModelScript{helper}, requests: []string{chatPath + " " + userTurns("a"), chatPath + " " + userTurns("a")},
			notes: []string{"Request 1 came 2 times without a change, the last time as request 2, although it got a response."},
		},
		"three equal conversations": {
			models:   []fake.ModelScript{{Name: "main", Responses: textResponses(2)}},
			requests: []string{chatPath + " " + userTurns("a"), chatPath + " " + userTurns("a", "b"), chatPath + " " + userTurns("a"), chatPath + " " + userTurns("a", "b"), chatPath + " " + userTurns("a"), chatPath + " " + userTurns("a", "b")},
			notes: []string{
				"Request 1 came 3 times without a change, the last time as request 5, although it got a response.",
				"Request 2 came 3 times without a change, the last time as request 6, although it got a response.",
			},
		},
		"with a rejected request": {
			models:   []fake.ModelScript{helper},
			requests: []string{chatPath + " " + userTurns("a"), chatPath + " " + userTurns("a"), chatPath + " " + userTurns("a", "b"), chatPath + " " + userTurns("a"), chatPath + " " + userTurns("a")},
			rejected: true,
			notes:    []string{"Request 1 came 4 times without a change, the last time as request 5, although it got a response."},
		},
		"an equal request in each session": {
			models:   []fake.ModelScript{helper},
			requests: []string{"/session/a" + chatPath + " " + userTurns("a"), "/session/b" + chatPath + " " + userTurns("a"), "/session/c" + chatPath + " " + userTurns("a")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, allow := range []bool{false, true} {
				s := wire.New(wire.Config{Script: &fake.Script{Models: c.models}, AllowUnused: allow})
				for _, request := range c.requests {
					if path, list := strings.CutPrefix(request, "GET "); list {
						r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
						r.Header.Set("Authorization", "Bearer any-key")
						s.ServeHTTP(httptest.NewRecorder(), r)
						continue
					}
					path, body, _ := strings.Cut(request, " ")
					post(t, s, path, body)
				}
				want := append([]string{}, c.want...)
				if allow && len(want) > 0 && !strings.HasPrefix(want[0], "No request") {
					want = []string{}
				}
				want = append(want, c.again...)
				r := s.Done()
				if diff := cmp.Diff(want, r.Failures); diff != "" || r.OK() != (len(want) == 0 && len(r.UnmatchedRequests) == 0 && !c.rejected) {
					t.Errorf("AllowUnused %t: OK is %t; failures (-want +got):\n%s", allow, r.OK(), diff)
				}
				if diff := cmp.Diff(append([]string{}, c.notes...), r.Notes); diff != "" {
					t.Errorf("notes (-want +got):\n%s", diff)
				}
				if now := s.Report(); len(now.Failures)+len(now.Notes) > 0 {
					t.Errorf("before the end: failures %q and notes %q, want none", now.Failures, now.Notes)
				}
			}
		})
	}
}

// A client may send a request again whose response was interrupted, failed by a quirk or is not there yet.
func TestRetriesAreNoFailure(t *testing.T) {
	const body = `{"model":"gpt-5","messages":[{"role":"user","content":"a"}],"stream":true}`
	for name, c := range map[string]struct {
		response fake.Response
		quirks   []wire.Quirk
		wait     func(context.Context, time.Duration) error
	}{
		"a first quirk":    {response: fake.Response{Text: "x"}, quirks: []wire.Quirk{{ID: "QT-06", Form: "429"}}},
		"a failure":        {response: fake.Response{Error: &fake.Failure{Status: 500}}},
		"no end of a wait": {response: fake.Response{Text: "x", Delay: time.Second}, wait: func(context.Context, time.Duration) error { return context.Canceled }},
	} {
		t.Run(name, func(t *testing.T) {
			s := wire.New(wire.Config{Script: &fake.Script{Models: []fake.ModelScript{{Name: "main", Responses: []fake.Response{c.response}}}}, Quirks: c.quirks, Wait: c.wait, Delays: c.wait != nil, AllowUnused: true})
			for range 3 {
				func() {
					defer func() {
						if err := recover(); err != nil && err != http.ErrAbortHandler {
							panic(err)
						}
					}()
					post(t, s, chatPath, body)
				}()
			}
			if r := s.Done(); !r.OK() {
				t.Errorf("got failures %q and rejected requests %v, want none", r.Failures, r.RejectedRequests)
			}
		})
	}
}

// TestRejectedRequestBeyondScript checks the message for a request beyond the last response or
// attempt.
func TestRejectedRequestBeyondScript(t *testing.T) {
	call := fake.Response{Calls: []fake.Call{{ID: "call_1", Name: "weather", Arguments: "{}"}}}
	attempts := fake.Response{Attempts: []fake.Response{{Text: "response 1"}}}
	const asked = "\nGot a request of 3 messages, the last: "
	for name, c := range map[string]struct {
		responses []fake.Response
		bodies    []string
		want      string
	}{
		"after the last text": {textResponses(1), []string{userTurns("a"), userTurns("a", "b")}, "The program requested response 2 of `main`; the scenario has 1 response. The last one has no calls: a loop ends there (INV-11)." + asked},
		"after the last call": {
			[]fake.Response{call}, []string{userTurns("a"), `{"model":"gpt-5","messages":[{"role":"user","content":"a"},{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"weather","arguments":"{}"}}]},{"role":"tool","tool_call_id":"call_1","content":"x"}]}`},
			"The program requested response 2 of `main`; the scenario has 1 response." + asked,
		},
		"an attempt":  {[]fake.Response{attempts}, []string{userTurns("a"), userTurns("a")}, "The program requested attempt 2 at response 1 of `main`; the scenario has 1 attempt.\nGot a request of 1 message"},
		"no response": {nil, []string{userTurns("a")}, "The program requested response 1 of `main`; the scenario has 0 responses.\nGot a request of 1 message"},
	} {
		s := wire.New(wire.Config{Script: &fake.Script{Models: []fake.ModelScript{{Name: "main", Responses: c.responses}}}})
		for _, body := range c.bodies {
			post(t, s, chatPath, body)
		}
		r := s.Done()
		if len(r.RejectedRequests) != 1 || !strings.HasPrefix(r.RejectedRequests[0].Message, c.want) || !r.RejectedRequests[0].BeyondScript {
			t.Errorf("%s: got %+v, want one beyond the script with the message %q", name, r.RejectedRequests, c.want)
		}
	}
}

// TestRejectedRequestNotBeyondScript: a request that the scenario does not expect is not beyond the script, whatever its text.
func TestRejectedRequestNotBeyondScript(t *testing.T) {
	other := fake.Response{Text: "yes", Expect: &fake.Expect{Text: []string{"hello"}}}
	s := wire.New(wire.Config{Script: &fake.Script{Models: []fake.ModelScript{{Name: "main", Responses: []fake.Response{other}}}}})
	post(t, s, chatPath, userTurns("The program requested response 2"))
	r := s.Done()
	if all := r.All(); len(all) != 1 || all[0].Invariant != "INV-24" || r.RejectedRequests[0].BeyondScript {
		t.Errorf("got %+v and %v, want INV-24", r.RejectedRequests, all)
	}
}
