package looptest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop/explore"
	"github.com/looptape/looptape/loop/looptest"
)

// TestExploreHTTP explores another loop with the client of each protocol: no run violates an invariant.
func TestExploreHTTP(t *testing.T) {
	for client := range httpClients {
		t.Run(client, func(t *testing.T) {
			r := looptest.ExploreHTTP(t, httpLoop(client, llm.Streaming, ""), nil)
			if !r.Complete || r.Runs < 500 || r.Orders != 4 {
				t.Errorf("%s; want all runs, with the 2 × 2 orders of two steps of two calls", r.Summary())
			}
		})
	}
	looptest.ExploreHTTP(t, httpLoop("chat", llm.NonStreaming, ""), nil)
}

// TestExploreHTTPFaults explores faulty loops. Each violates its invariant.
func TestExploreHTTPFaults(t *testing.T) {
	short := &looptest.ExploreOptions{Script: &fake.Script{
		Models: []fake.ModelScript{{Name: "main", Responses: []fake.Response{
			{Calls: []fake.Call{{ID: "c1", Name: "a", Arguments: `{"n":1}`}, {ID: "c2", Name: "a", Arguments: `{"n":2}`}}},
			{Calls: []fake.Call{{ID: "c3", Name: "a", Arguments: `{"n":3}`}}},
			{Text: "done"},
		}}},
		Tools: []fake.Tool{{Name: "a"}}, Input: []llm.Message{llm.User("go")},
	}}
	for fault, want := range map[string]string{
		"drops": "INV-01", "reminds": "INV-02", "finished": "INV-03", "ids": "INV-04", "trims": "INV-05", "finish stop": "INV-07", "twice": "INV-08",
		"{} instead": "INV-09", "finish calls": "INV-11", "no wait": "INV-16", "asks on": "INV-17", "escapes": "INV-23", "panics": "INV-23", "deaf model": "INV-26",
	} {
		t.Run(fault, func(t *testing.T) {
			r := looptest.Explored(t, looptest.HTTPLoop(httpLoop("chat", llm.NonStreaming, fault)), short)
			if !slices.ContainsFunc(r.Failures, func(f *explore.Failure) bool { return f.Invariant == want }) {
				t.Errorf("got %v, want %s", r.Failures, want)
			}
		})
	}
	right := httpLoop("chat", llm.NonStreaming, "")
	for want, loop := range map[string]looptest.HTTPLoop{
		`INV-11: run explored: the run returned ""; the text of the last response is "done"`: func(ctx context.Context, client *http.Client, url string, in *looptest.Input) (string, error) {
			_, err := right(ctx, client, url, in)
			return "", err
		},
		`INV-01: run explored: request 2: the result of the call "c1" of a with {"n":1} is "ok"; the tool did not run`: func(ctx context.Context, client *http.Client, url string, in *looptest.Input) (string, error) {
			for i := range in.Tools {
				in.Tools[i].Run = func(context.Context, string) (string, error) { return "ok", nil }
			}
			return right(ctx, client, url, in)
		},
	} {
		r := looptest.Explored(t, loop, short)
		if !slices.ContainsFunc(r.Failures, func(f *explore.Failure) bool { return f.Violation.String() == want && len(f.Choices) == 0 }) {
			t.Errorf("got %v, want %s", r.Failures, want)
		}
	}
	if r := looptest.Explored(t, looptest.HTTPLoop(httpLoop("chat", llm.Streaming, "run number")), short); len(r.Unstable) == 0 {
		t.Error("a loop whose requests depend on the number of the run is not reported as unstable")
	}
}

// completion is a response of Chat Completions.
type completion struct {
	Choices []struct {
		Message json.RawMessage `json:"message"`
		Finish  string          `json:"finish_reason"`
	} `json:"choices"`
}

type assistant struct {
	Content string `json:"content"`
	Calls   []struct {
		ID       string `json:"id"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

// rawLoop is a loop without an SDK. read reads a body; complete returns an error unless the status and the body are those of a
// complete response.
func rawLoop(read func(io.Reader) ([]byte, error), complete func(status int, c *completion) error) func(context.Context, *http.Client, string, *looptest.Input) (string, error) {
	return func(ctx context.Context, client *http.Client, url string, in *looptest.Input) (string, error) {
		messages := []any{map[string]any{"role": "user", "content": "go"}}
		for {
			body, err := json.Marshal(map[string]any{"model": "some-model", "messages": messages})
			if err != nil {
				return "", err
			}
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/openai/v1/chat/completions", bytes.NewReader(body))
			if err != nil {
				return "", err
			}
			r.Header.Set("Authorization", "Bearer any-key")
			response, err := client.Do(r)
			if err != nil {
				return "", err
			}
			text, err := read(response.Body)
			_ = response.Body.Close()
			if err != nil {
				return "", err
			}
			var c completion
			_ = json.Unmarshal(text, &c) // complete reports what is missing
			if err := complete(response.StatusCode, &c); err != nil {
				return "", err
			}
			if len(c.Choices) == 0 {
				return "", nil
			}
			var m assistant
			if err := json.Unmarshal(c.Choices[0].Message, &m); err != nil {
				return "", err
			}
			if len(m.Calls) == 0 {
				return m.Content, ctx.Err()
			}
			messages = append(messages, c.Choices[0].Message)
			for _, call := range m.Calls {
				text := "unknown tool"
				for _, tool := range in.Tools {
					if tool.Name == call.Function.Name && json.Valid([]byte(call.Function.Arguments)) && ctx.Err() == nil {
						if text, err = tool.Run(ctx, call.Function.Arguments); err != nil {
							text = err.Error()
						}
					}
				}
				messages = append(messages, map[string]any{"role": "tool", "tool_call_id": call.ID, "content": text})
			}
			if ctx.Err() != nil {
				return "", ctx.Err()
			}
		}
	}
}

// TestExploreHTTPRaw finds bugs of loops that read HTTP themselves.
func TestExploreHTTPRaw(t *testing.T) {
	oneRead := func(r io.Reader) ([]byte, error) {
		b := make([]byte, 1<<20)
		n, err := r.Read(b)
		if errors.Is(err, io.EOF) {
			err = nil
		}
		return b[:n], err
	}
	strict := func(status int, c *completion) error {
		if status != http.StatusOK || len(c.Choices) == 0 {
			return fmt.Errorf("status %d", status)
		}
		return nil
	}
	lax := func(int, *completion) error { return nil }
	known := func(status int, c *completion) error { // it may reject other finish reasons
		if err := strict(status, c); err != nil {
			return err
		}
		if f := c.Choices[0].Finish; !slices.Contains([]string{"", "stop", "length", "tool_calls", "function_call", "content_filter"}, f) {
			return fmt.Errorf("the finish reason is %q", f)
		}
		return nil
	}
	for name, c := range map[string]struct {
		read     func(io.Reader) ([]byte, error)
		complete func(int, *completion) error
		want     string
	}{
		"reads a chunk":      {oneRead, strict, "INV-11: the run fails, although the response to model call 3 is complete (it comes in two parts): status 200 [model call 3: comes in two parts]"},
		"reads a string":     {io.ReadAll, known, "INV-11: the run fails, although the response to model call 3 is complete (it shows QO-28): json: cannot unmarshal array into Go struct field assistant.content of type string [model call 3: shows QO-28]"},
		"ignores the status": {io.ReadAll, lax, "INV-11: the run ends without an error, and model call 3 failed (it fails before the first event with status 400) [model call 3: fails before the first event with status 400]"},
	} {
		t.Run(name, func(t *testing.T) {
			r := looptest.Explored(t, looptest.HTTPLoop(rawLoop(c.read, c.complete)), nil)
			got := ""
			for _, f := range r.Failures {
				if f.Invariant == "INV-11" {
					got += fmt.Sprint(f.Invariant, ": ", f.Message, " ", f.Choices)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("failures of INV-11 (-want +got):\n%s", diff)
			}
		})
	}
}

// TestExploreHTTPWithoutRequest reports a loop that uses another client or URL.
func TestExploreHTTPWithoutRequest(t *testing.T) {
	for _, url := range []string{"", "https://api.openai.com/v1/responses"} {
		r := looptest.Explored(t, looptest.HTTPLoop(func(ctx context.Context, client *http.Client, _ string, _ *looptest.Input) (string, error) {
			if url == "" {
				return "done", nil
			}
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, http.NoBody)
			if err != nil {
				return "", err
			}
			response, err := client.Do(r)
			if err == nil {
				_ = response.Body.Close()
			}
			return "done", nil
		}), nil)
		want := "the loop sent no request with the given client"
		if url != "" {
			want = "the loop ignores the base URL http://looptape.invalid: its first request is POST https://api.openai.com/v1/responses"
		}
		if len(r.Failures) != 1 || r.Failures[0].Invariant != "INV-11" || r.Failures[0].Message != want {
			t.Errorf("got %v, want INV-11: %s", r.Failures, want)
		}
	}
}

// TestExploreHTTPConversation finds loops whose requests, tools and answer do not belong to one conversation.
func TestExploreHTTPConversation(t *testing.T) {
	right := httpLoop("chat", llm.NonStreaming, "")
	again := func(failed func(in *looptest.Input) func(error) bool) looptest.HTTPLoop {
		return func(ctx context.Context, client *http.Client, url string, in *looptest.Input) (string, error) {
			again := failed(in)
			answer, err := right(ctx, client, url, in)
			if again(err) && ctx.Err() == nil {
				return right(ctx, client, url, in)
			}
			return answer, err
		}
	}
	for name, c := range map[string]struct {
		loop looptest.HTTPLoop
		want string
	}{
		"an earlier answer": {func(ctx context.Context, client *http.Client, url string, in *looptest.Input) (string, error) {
			_, err := right(ctx, client, url, in)
			return "I call a again.", err
		}, `INV-11: run explored: the run returned "I call a again."; the text of the last response is "done" []`},
		"another prompt": {func(ctx context.Context, client *http.Client, url string, in *looptest.Input) (string, error) {
			in.Messages = []llm.Message{llm.User("something else")}
			return right(ctx, client, url, in)
		}, `INV-05: run explored: no request has the text of the last message of the input, "go" []`},
		"another prompt and a system prompt": {changing(func(req *llm.Request) {
			req.System, req.Messages[0] = llm.SystemText("Be brief."), llm.User("something else")
		}), `INV-05: run explored: no request has the text of the last message of the input, "go" []`},
		"no answer of two conversations": {func(ctx context.Context, client *http.Client, url string, in *looptest.Input) (string, error) {
			_, err := right(ctx, client, url, in)
			_, otherErr := right(ctx, client, url, &looptest.Input{Tools: in.Tools, Messages: []llm.Message{llm.User("go on")}})
			return "", errors.Join(err, otherErr)
		}, `INV-11: run explored: the run returned ""; the text of the last response is "done" []`},
		"an unknown path": {func(ctx context.Context, client *http.Client, url string, in *looptest.Input) (string, error) {
			answer, err := right(ctx, client, url, in)
			_, failed := ask(ctx, modelOf("chat", client, url+"/other", "some-model"), in.Messages)
			if failed == nil {
				return "", errors.New("a request to an unknown path has a response")
			}
			return answer, err
		}, "INV-24: run explored: POST /other/openai/v1/chat/completions: unknown path; the server has "},
		"again after a failed model call": {again(func(*looptest.Input) func(error) bool {
			return func(err error) bool { return err != nil }
		}), `INV-08: run explored: the tool a ran 2 times with {"n":1}, and the conversation has 1 of these calls: others were discarded after their tools had run [model call 3: fails before the first event with status 400]`},
		"again after a failed tool": {again(func(in *looptest.Input) func(error) bool {
			var failed atomic.Bool
			for i, tool := range in.Tools {
				in.Tools[i].Run = func(ctx context.Context, args string) (string, error) {
					text, err := tool.Run(ctx, args)
					failed.Store(failed.Load() || err != nil)
					return text, err
				}
			}
			return func(error) bool { return failed.Load() }
		}), `INV-08: run explored: the tool a ran 2 times with {"n":1}, and the conversation has 1 of these calls: others were discarded after their tools had run [tool call a {"n":4}: fails]`},
	} {
		t.Run(name, func(t *testing.T) {
			opts := &looptest.ExploreOptions{}
			if name == "no answer of two conversations" {
				opts.Script = oneStep() // its call has no text
			}
			r := looptest.Explored(t, c.loop, opts)
			if !slices.ContainsFunc(r.Failures, func(f *explore.Failure) bool {
				return strings.HasPrefix(fmt.Sprint(f.Violation, " ", f.Choices), c.want)
			}) {
				t.Errorf("got %v, want %s", r.Failures, c.want)
			}
		})
	}
	for name, loop := range map[string]looptest.HTTPLoop{
		"the prompt is in the system prompt": changing(func(req *llm.Request) {
			req.System, req.Messages[0] = llm.SystemText("You do: "+req.Messages[0].Text()), llm.User("Begin.")
		}),
		"it loads before its first request": func(ctx context.Context, client *http.Client, url string, in *looptest.Input) (string, error) {
			if got, err := in.Choose(ctx, "load", "", "fails"); got != "" || err != nil {
				return "", errors.Join(errors.New("nothing is loaded"), err)
			}
			return changing(func(*llm.Request) {})(ctx, client, url, in)
		},
		"a new line after the answer": func(ctx context.Context, client *http.Client, url string, in *looptest.Input) (string, error) {
			answer, err := changing(func(*llm.Request) {})(ctx, client, url, in)
			return answer + "\n", err
		},
	} {
		t.Run(name, func(t *testing.T) {
			looptest.ExploreHTTP(t, loop, &looptest.ExploreOptions{Script: oneStep()})
		})
	}
	// Another conversation may have fewer messages, or only another system prompt.
	two := oneStep()
	two.Input = []llm.Message{llm.User("hello"), llm.User("go")}
	two.Models = append(two.Models, fake.ModelScript{Name: "other", Responses: []fake.Response{{Text: "yes"}}})
	looptest.ExploreHTTP(t, func(ctx context.Context, client *http.Client, url string, in *looptest.Input) (string, error) {
		answer, err := right(ctx, client, url, in)
		_, failed := ask(ctx, modelOf("chat", client, url, "other"), []llm.Message{llm.User("Is that right?")})
		return answer, errors.Join(err, failed)
	}, &looptest.ExploreOptions{Script: two, Faults: -1})
	// Several conversations may run the same calls.
	orders := &looptest.ExploreOptions{Script: twoCalls(), Faults: -1}
	looptest.ExploreHTTP(t, func(ctx context.Context, client *http.Client, url string, in *looptest.Input) (string, error) {
		answer, err := right(ctx, client, url, in)
		other := &looptest.Input{Tools: in.Tools, Messages: []llm.Message{llm.User("Check the answer " + answer)}}
		_, otherErr := right(ctx, client, url, other)
		return answer, errors.Join(err, otherErr)
	}, orders)
	looptest.ExploreHTTP(t, func(ctx context.Context, client *http.Client, url string, in *looptest.Input) (answer string, err error) {
		ended, other := make(chan error), *in
		go func() {
			_, err := right(ctx, client, url, &other)
			ended <- err
		}()
		answer, err = right(ctx, client, url, in)
		return answer, errors.Join(err, <-ended)
	}, orders)
	// Each of several concurrent conversations has its own response from the same place of the script, or none.
	for client, choice := range map[string]explore.Choice{
		"anthropic": {At: `model call 1 of "go a"`, Option: "shows QA-12"},
		"responses": {At: `model call 1 of "go a"`, Option: "shows QR-02:summary"},
		"chat":      {At: `model call 2 of "go a"`, Option: "is empty"},
	} {
		one := httpLoop(client, llm.Streaming, "")
		looptest.ExploreHTTP(t, func(ctx context.Context, client *http.Client, url string, in *looptest.Input) (string, error) {
			var answers [2]string
			var errs [2]error
			var running sync.WaitGroup
			for i, text := range []string{"go a", "go b"} {
				running.Go(func() {
					answers[i], errs[i] = one(ctx, client, url, &looptest.Input{Tools: in.Tools, Messages: []llm.Message{llm.User(text)}})
				})
			}
			running.Wait()
			return answers[0], errors.Join(errs[:]...)
		}, &looptest.ExploreOptions{Script: oneStep(), Choices: []explore.Choice{choice}})
	}
}

// TestExploreHTTPScripts: right loops pass with a response that is cut, and with a sub-agent that a quirk of its call prevents.
func TestExploreHTTPScripts(t *testing.T) {
	cut := &fake.Script{Models: []fake.ModelScript{{Name: "main", Responses: []fake.Response{{Text: "cut", FinishReason: llm.FinishLength}}}}, Input: []llm.Message{llm.User("go")}}
	right := httpLoop("chat", llm.NonStreaming, "")
	looptest.ExploreHTTP(t, func(ctx context.Context, client *http.Client, url string, in *looptest.Input) (string, error) {
		answer, err := right(ctx, client, url, in)
		if answer == "cut" {
			return "", errors.New("the answer is cut")
		}
		return answer, err
	}, &looptest.ExploreOptions{Script: cut, Faults: -1})
	// Another model continues the conversation.
	handover := &fake.Script{
		Models: []fake.ModelScript{{Name: "planner", Responses: []fake.Response{{Calls: []fake.Call{{ID: "c1", Name: "a", Arguments: `{"n":1}`}}}}}, {Name: "worker", Responses: []fake.Response{{Text: "done"}}}},
		Tools:  []fake.Tool{{Name: "a"}},
		Input:  []llm.Message{llm.User("go")},
	}
	for client := range httpClients {
		t.Run(client, func(t *testing.T) {
			looptest.ExploreHTTP(t, func(ctx context.Context, h *http.Client, url string, in *looptest.Input) (string, error) {
				s := newSmall()
				s.call = func(c *smallRun) (*llm.Response, error) {
					name := "planner"
					if len(c.history) > 1 {
						name = "worker"
					}
					return ask(c.ctx, modelOf(client, h, url, name), c.history)
				}
				return answerOf(s.Run(ctx, in))
			}, &looptest.ExploreOptions{Script: handover, Faults: -1})
		})
	}
	texts := &fake.Script{Models: []fake.ModelScript{{Name: "main", Responses: []fake.Response{{Text: "one"}, {Text: "two"}}}}, Input: []llm.Message{llm.User("go")}}
	early := looptest.Explored(t, looptest.HTTPLoop(func(ctx context.Context, client *http.Client, url string, in *looptest.Input) (string, error) {
		response, err := ask(ctx, modelOf("chat", client, url, "some-model"), in.Messages)
		return response.Text(), err
	}), &looptest.ExploreOptions{Script: texts, Faults: -1})
	if len(early.Failures) != 1 || early.Failures[0].Message != "the run ends early: Response 2 of `main` was never requested." {
		t.Errorf("got %v, want that the run ends early", early.Failures)
	}
	sub := &fake.Script{
		Models: []fake.ModelScript{
			{Name: "main", Responses: []fake.Response{{Calls: []fake.Call{{ID: "c1", Name: "ask", Arguments: `{"n":1}`}}}, {Text: "done"}}},
			{Name: "sub", Responses: []fake.Response{{Text: "rain"}}},
		},
		Input: []llm.Message{llm.User("go")},
	}
	looptest.ExploreHTTP(t, func(ctx context.Context, client *http.Client, url string, in *looptest.Input) (string, error) {
		in.Tools = append(in.Tools, looptest.Tool{Name: "ask", Run: func(ctx context.Context, args string) (string, error) {
			response, err := ask(ctx, modelOf("chat", client, url, "sub"), []llm.Message{llm.User("sub " + args)})
			return response.Text(), err
		}})
		return right(ctx, client, url, in)
	}, &looptest.ExploreOptions{Script: sub})
}

// ask sends one request.
func ask(ctx context.Context, model llm.Model, messages []llm.Message) (*llm.Response, error) {
	return llm.Collect(model.Stream(ctx, &llm.Request{Messages: slices.Clone(messages)}))
}

// changing returns a right loop that changes its requests.
func changing(change func(req *llm.Request)) looptest.HTTPLoop {
	return func(ctx context.Context, client *http.Client, url string, in *looptest.Input) (string, error) {
		s := newSmall()
		s.call = func(c *smallRun) (*llm.Response, error) {
			req := &llm.Request{Messages: slices.Clone(c.history)}
			change(req)
			return llm.Collect(c.in.Model.Stream(c.ctx, req))
		}
		in.Model = modelOf("chat", client, url, "some-model")
		return answerOf(s.Run(ctx, in))
	}
}

// oneStep is a script with one call.
func oneStep() *fake.Script {
	return &fake.Script{
		Models: []fake.ModelScript{{Name: "main", Responses: []fake.Response{{Calls: []fake.Call{{ID: "c1", Name: "a", Arguments: `{"n":1}`}}}, {Text: "done"}}}},
		Tools:  []fake.Tool{{Name: "a"}},
		Input:  []llm.Message{llm.User("go")},
	}
}

// TestExploreHTTPUnstable: a loop whose requests differ from run to run in their settings, system prompt or tools is not deterministic.
func TestExploreHTTPUnstable(t *testing.T) {
	right := httpLoop("responses", llm.NonStreaming, "")
	for _, part := range []string{`"temperature":0.%d`, `"instructions":"This is run %d."`, `"tools":[{"type":"function","name":"tool_%d"}]`} {
		var runs atomic.Int64
		r := looptest.Explored(t, looptest.HTTPLoop(func(ctx context.Context, client *http.Client, url string, in *looptest.Input) (string, error) {
			added := &adding{client.Transport, fmt.Sprintf("{"+part+",", runs.Add(1))}
			return right(ctx, &http.Client{Transport: added}, url, in)
		}), &looptest.ExploreOptions{Faults: -1})
		if len(r.Failures) > 0 || len(r.Unstable) == 0 {
			t.Errorf("%s: got the failures %v and the unstable runs %v, want only unstable runs", part, r.Failures, r.Unstable)
		}
	}
}

// adding adds to the beginning of the body of each request.
type adding struct {
	http.RoundTripper
	begin string
}

func (a *adding) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r = r.Clone(r.Context())
	r.Body = io.NopCloser(strings.NewReader(a.begin + strings.TrimPrefix(string(body), "{")))
	r.ContentLength = -1
	return a.RoundTripper.RoundTrip(r)
}

// BenchmarkExploreHTTP measures runs of three steps of four calls, in each order and with each single fault. runs/s is the rate of one
// core with -cpu 1.
func BenchmarkExploreHTTP(b *testing.B) {
	s := &fake.Script{Tools: []fake.Tool{{Name: "a"}}, Input: []llm.Message{llm.User("go")}}
	var list []fake.Response
	for i := range 3 {
		var calls []fake.Call
		for j := range 4 {
			calls = append(calls, fake.Call{ID: fmt.Sprintf("c%d%d", i, j), Name: "a", Arguments: fmt.Sprintf(`{"n":%d}`, 10*i+j)})
		}
		list = append(list, fake.Response{Calls: calls})
	}
	s.Models = []fake.ModelScript{{Name: "main", Responses: append(list, fake.Response{Text: "done"})}}
	for client := range httpClients {
		b.Run(client, func(b *testing.B) {
			b.ReportAllocs()
			testing.RunTests(func(_, _ string) (bool, error) { return true, nil }, []testing.InternalTest{{Name: "explore", F: func(t *testing.T) {
				looptest.ExploreHTTP(t, httpLoop(client, llm.Streaming, ""), &looptest.ExploreOptions{Script: s, Runs: b.N})
			}}})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "runs/s")
		})
	}
}
