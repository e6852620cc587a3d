package looptest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop/explore"
	"github.com/looptape/looptape/loop/looptest"
)

// with returns a changed small loop.
func with(change func(s *small)) looptest.Loop {
	s := newSmall()
	change(s)
	return s
}

// withTool returns a small loop that runs calls in another way.
func withTool(run func(ctx context.Context, c *smallRun, call llm.ToolCall) llm.ToolResult) looptest.Loop {
	return with(func(s *small) { s.tool = run })
}

// ending returns a small loop that changes how its runs end.
func ending(change func(ctx context.Context, r *looptest.Result)) looptest.Loop {
	return looptest.LoopFunc(func(ctx context.Context, in *looptest.Input) (*looptest.Result, error) {
		r, err := newSmall().Run(ctx, in)
		if err == nil || ctx.Err() != nil {
			change(ctx, r)
		}
		return r, err
	})
}

// TestExploreWrongResults: each loop makes results or an answer of its own, or ignores the end of its run.
func TestExploreWrongResults(t *testing.T) {
	answer := func(r *looptest.Result) (n int, is bool) {
		n = len(r.Messages) - 1
		return n, n >= 0 && r.Messages[n].Role == llm.RoleAssistant && len(r.Messages[n].Calls()) == 0
	}
	for name, tt := range map[string]struct {
		loop      looptest.Loop
		invariant string
	}{
		"an unknown tool is a success": {withTool(func(ctx context.Context, c *smallRun, call llm.ToolCall) llm.ToolResult {
			if call.Name == "unnamed" {
				return result(call, "ok")
			}
			return tool(ctx, c, call)
		}), "INV-23"},
		"arguments that are not JSON are a success": {withTool(func(ctx context.Context, c *smallRun, call llm.ToolCall) llm.ToolResult {
			if call.Arguments != "" && !json.Valid([]byte(call.Arguments)) {
				return result(call, "ok")
			}
			return tool(ctx, c, call)
		}), "INV-23"},
		"a timeout is a success": {withTool(func(ctx context.Context, c *smallRun, call llm.ToolCall) llm.ToolResult {
			limited, cancel := context.WithTimeout(ctx, time.Minute) //nolint:forbidigo // virtual: it is a bubble's
			defer cancel()
			if r := tool(limited, c, call); limited.Err() == nil || ctx.Err() != nil {
				return r
			}
			return result(call, "done")
		}), "INV-23"},
		"canceled calls are successes": {withTool(func(ctx context.Context, c *smallRun, call llm.ToolCall) llm.ToolResult {
			if r := tool(ctx, c, call); ctx.Err() == nil {
				return r
			}
			return result(call, "done")
		}), "INV-23"},
		"results have the texts of others": {with(func(s *small) {
			s.batch = func(c *smallRun, calls []llm.ToolCall) ([]llm.ToolResult, error) {
				results, err := batch(c, calls)
				all := ""
				for _, r := range results {
					all += r.Text() + "\n"
				}
				for i := range results {
					results[i].Content = []llm.Part{llm.Text{Text: all}}
				}
				return results, err
			}
		}), "INV-01"},
		"after a retry each result is an error": {looptest.LoopFunc(func(ctx context.Context, in *looptest.Input) (*looptest.Result, error) {
			var before error
			return with(func(s *small) {
				s.call = func(c *smallRun) (resp *llm.Response, err error) {
					for range 3 {
						if resp, err = call(c); err == nil || c.ctx.Err() != nil {
							break
						}
						before = err
					}
					return resp, err
				}
				s.tool = func(ctx context.Context, c *smallRun, call llm.ToolCall) llm.ToolResult {
					r := tool(ctx, c, call)
					r.IsError = r.IsError || before != nil
					return r
				}
			}).Run(ctx, in)
		}), "INV-23"},
		"a tool has another context": {withTool(func(ctx context.Context, c *smallRun, call llm.ToolCall) llm.ToolResult {
			other, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute) //nolint:forbidigo // virtual: it is a bubble's
			defer cancel()
			if ctx.Err() != nil {
				return failed(call, "canceled")
			}
			return tool(other, c, call)
		}), "INV-17"},
		"a step is repeated after a failed tool": {with(func(s *small) {
			s.steps = func(c *smallRun) error {
				for repeated := false; ; {
					if err := c.ctx.Err(); err != nil {
						return err
					}
					resp, err := c.call(c)
					if err != nil {
						return err
					}
					n := len(c.history)
					calls := c.accept(c, resp)
					if len(calls) == 0 {
						return nil
					}
					results, _ := c.batch(c, calls)
					if !repeated && c.ctx.Err() == nil && slices.ContainsFunc(results, func(r llm.ToolResult) bool { return r.IsError }) {
						repeated, c.history = true, c.history[:n]
						continue
					}
					c.history = append(c.history, llm.ToolResults(results...))
				}
			}
		}), "INV-08"},
		"half a call is kept": {with(func(s *small) {
			s.call = func(c *smallRun) (*llm.Response, error) {
				resp, err := call(c)
				if errors.Is(err, context.Canceled) && len(resp.Calls()) > 0 {
					c.history = append(c.history, resp.Message())
				}
				return resp, err
			}
		}), "INV-07"},
		"the goroutine ends after a cancel": {ending(func(ctx context.Context, _ *looptest.Result) {
			if ctx.Err() != nil {
				runtime.Goexit()
			}
		}), "INV-23"},
		"the answer is lost": {ending(func(_ context.Context, r *looptest.Result) {
			if n, is := answer(r); is {
				r.Messages = r.Messages[:n]
			}
		}), "INV-11"},
		"the answer is another one": {ending(func(_ context.Context, r *looptest.Result) {
			if n, is := answer(r); is {
				r.Messages[n] = llm.Assistant(llm.Text{Text: "other"})
			}
		}), "INV-11"},
		"the answer comes twice": {ending(func(_ context.Context, r *looptest.Result) {
			if n, is := answer(r); is {
				r.Messages = append(r.Messages, r.Messages[n])
			}
		}), "INV-11"},
		"results have the name of another tool": {withTool(func(ctx context.Context, c *smallRun, call llm.ToolCall) llm.ToolResult {
			r := tool(ctx, c, call)
			r.Name = "other"
			return r
		}), "INV-01"},
		"an unknown call is pending": {ending(func(_ context.Context, r *looptest.Result) { r.Pending = append(r.Pending, "x1") }), "INV-07"},
		"all messages are lost":      {ending(func(_ context.Context, r *looptest.Result) { r.Messages = nil }), "INV-11"},
		"there is no result": {looptest.LoopFunc(func(ctx context.Context, in *looptest.Input) (*looptest.Result, error) {
			r, err := newSmall().Run(ctx, in)
			if err == nil {
				r = nil
			}
			return r, err
		}), "INV-11"},
		"the last message of a request is changed": {with(func(s *small) {
			s.call = func(c *smallRun) (*llm.Response, error) {
				req := &llm.Request{Messages: slices.Clone(c.history)}
				resp, err := llm.Collect(c.in.Model.Stream(c.ctx, req))
				c.usage = c.usage.Add(resp.Usage)
				if n := len(req.Messages) - 1; n > 1 {
					req.Messages[n] = llm.User("changed")
				}
				return resp, err
			}
		}), "INV-06"},
		"a question in place of the answer": {with(func(s *small) {
			s.steps = func(c *smallRun) error {
				err := steps(c)
				if n := len(c.history) - 1; err == nil && c.ctx.Err() == nil && c.history[n].Role == llm.RoleAssistant {
					c.history[n] = llm.User("Please answer.")
					return steps(c)
				}
				return err
			}
		}), "INV-11"},
		"a run fails": {looptest.LoopFunc(func(ctx context.Context, in *looptest.Input) (*looptest.Result, error) {
			r, err := newSmall().Run(ctx, in)
			return r, errors.Join(err, errors.New("no"))
		}), "INV-11"},
		"no result after calls": {looptest.LoopFunc(func(ctx context.Context, in *looptest.Input) (*looptest.Result, error) {
			_, err := llm.Collect(in.Model.Stream(ctx, &llm.Request{Messages: in.Messages}))
			return nil, err
		}), "INV-11"},
		"an answer without a model": {looptest.LoopFunc(func(context.Context, *looptest.Input) (*looptest.Result, error) {
			return &looptest.Result{Messages: []llm.Message{llm.Assistant(llm.Text{Text: "hi"})}}, nil
		}), "INV-11"},
		"a result has the text of another twice": {with(func(s *small) {
			s.batch = func(c *smallRun, calls []llm.ToolCall) ([]llm.ToolResult, error) {
				results, err := batch(c, calls)
				if n := len(results) - 1; err == nil && n > 0 {
					other := results[0].Text()
					results[n].Content = append(slices.Clone(results[n].Content), llm.Text{Text: other + other})
				}
				return results, err
			}
		}), "INV-01"},
		"the input is not sent": {looptest.LoopFunc(func(ctx context.Context, in *looptest.Input) (*looptest.Result, error) {
			in.Messages = []llm.Message{llm.User("hello")}
			return newSmall().Run(ctx, in)
		}), "INV-05"},
	} {
		t.Run(name, func(t *testing.T) {
			opts := &looptest.ExploreOptions{}
			if name == "the last message of a request is changed" { // each run has too many calls
				opts.Faults, opts.Runs = -1, 1
			}
			r := looptest.Explored(t, tt.loop, opts)
			if !slices.ContainsFunc(r.Failures, func(f *explore.Failure) bool { return f.Invariant == tt.invariant }) {
				t.Errorf("%s: got %v, want %s", r.Summary(), r.Failures, tt.invariant)
			}
		})
	}
}

// TestExploreWaits: a run can be canceled while it waits for a retry.
func TestExploreWaits(t *testing.T) {
	loop := with(func(s *small) {
		s.call = func(c *smallRun) (resp *llm.Response, err error) {
			for range 2 {
				if resp, err = call(c); err == nil || c.ctx.Err() != nil {
					break
				}
				time.Sleep(time.Minute) //nolint:forbidigo // virtual: it is a bubble's
			}
			return resp, err
		}
	})
	script := &fake.Script{Models: []fake.ModelScript{{Name: "main", Responses: []fake.Response{{Text: "done"}}}}, Input: []llm.Message{llm.User("go")}}
	r := looptest.Explored(t, loop, &looptest.ExploreOptions{Script: script, Faults: 2})
	if !slices.ContainsFunc(r.Failures, func(f *explore.Failure) bool {
		return f.Invariant == "INV-17" && slices.ContainsFunc(f.Choices, func(c explore.Choice) bool { return c.At == "while the loop waits" })
	}) {
		t.Errorf("%s: got %v, want INV-17", r.Summary(), r.Failures)
	}
}

// TestExploreHidden: what a loop sends with its messages, its error and the messages that it exposes are compared, too.
func TestExploreHidden(t *testing.T) {
	request := func(change func(req *llm.Request)) looptest.Loop {
		return with(func(s *small) {
			s.call = func(c *smallRun) (*llm.Response, error) {
				req := &llm.Request{Messages: slices.Clone(c.history)}
				change(req)
				resp, err := llm.Collect(c.in.Model.Stream(c.ctx, req))
				c.usage = c.usage.Add(resp.Usage)
				return resp, err
			}
		})
	}
	var count atomic.Int64
	other := func() string { return fmt.Sprint(count.Add(1)) }
	for name, loop := range map[string]looptest.Loop{
		"tools":         request(func(req *llm.Request) { req.Tools = []llm.Tool{{Name: "a" + other()}} }),
		"system prompt": request(func(req *llm.Request) { req.System = llm.SystemText(other()) }),
		"temperature":   request(func(req *llm.Request) { req.Settings.Temperature = new(float64(count.Add(1))) }),
		"error": looptest.LoopFunc(func(ctx context.Context, in *looptest.Input) (*looptest.Result, error) {
			r, err := newSmall().Run(ctx, in)
			if err != nil {
				err = errors.New(other())
			}
			return r, err
		}),
		"messages of the result": ending(func(_ context.Context, r *looptest.Result) {
			if n := len(r.Messages) - 1; n >= 0 {
				r.Messages[n].Parts = append(slices.Clone(r.Messages[n].Parts), llm.Reasoning{Text: other()})
			}
		}),
		"usage": ending(func(_ context.Context, r *looptest.Result) {
			if count.Add(1)%2 == 0 {
				r.Usage = nil
			}
		}),
		"violations": looptest.LoopFunc(func(ctx context.Context, in *looptest.Input) (*looptest.Result, error) {
			if count.Add(1)%2 == 0 {
				defer func() { in.Messages[0] = llm.User("changed") }()
			}
			return newSmall().Run(ctx, in)
		}),
		"exposed messages": looptest.LoopFunc(func(ctx context.Context, in *looptest.Input) (*looptest.Result, error) {
			in.Step([]llm.Message{llm.User(other())})
			return newSmall().Run(ctx, in)
		}),
	} {
		if r := looptest.Explored(t, loop, &looptest.ExploreOptions{Script: oneCall()}); len(r.Unstable) == 0 {
			t.Errorf("%s: %s; want runs that are unstable", name, r.Summary())
		}
	}
}

// TestExploreScripts: right loops pass with scripts that have faults, equal calls or a history of their own.
func TestExploreScripts(t *testing.T) {
	text := func(text string) []llm.Part { return []llm.Part{llm.Text{Text: text}} }
	script := func(tool fake.Tool, responses ...fake.Response) *fake.Script {
		return &fake.Script{Tools: []fake.Tool{tool}, Input: []llm.Message{llm.User("go")}, Models: []fake.ModelScript{{Name: "main", Responses: append(responses, fake.Response{Text: "done"})}}}
	}
	call := func(id, args string) fake.Response {
		return fake.Response{Calls: []fake.Call{{ID: id, Name: "a", Arguments: args}}}
	}
	cut := call("c1", `{"n":1`)
	cut.FinishReason = llm.FinishLength
	a := fake.Tool{Name: "a"}
	history := script(a, call("c1", `{"n":1}`))
	history.History = []llm.Message{llm.User("before"), llm.Assistant(llm.ToolCall{ID: "h1", Name: "a", Arguments: `{"n":0}`}), llm.ToolResults(llm.ToolResult{ID: "h1", Name: "a", Content: text("old")}), llm.Assistant(llm.Text{Text: "ok"})}
	scripts := map[string]*fake.Script{
		"equal calls in two steps":         script(a, call("c1", `{"n":1}`), call("c2", `{"n":1}`)),
		"equal calls in a step":            script(a, fake.Response{Calls: []fake.Call{{ID: "c1", Name: "a", Arguments: `{"n":1}`}, {ID: "c2", Name: "a", Arguments: `{"n":1}`}}}),
		"the first of equal calls fails":   script(fake.Tool{Name: "a", Calls: []fake.Behavior{{Error: "not yet"}, {Text: "rain"}}}, call("c1", `{"n":1}`), call("c2", `{"n":1}`)),
		"equal calls have other results":   script(fake.Tool{Name: "a", Calls: []fake.Behavior{{Text: "rain"}, {Text: "sun"}}}, call("c1", `{"n":1}`), call("c2", `{"n":1}`)),
		"a history with a call":            history,
		"an error":                         script(a, call("c1", `{"n":1}`), fake.Response{Error: &fake.Failure{Status: 400, Message: "no"}}),
		"an error before the answer":       script(a, call("c1", `{"n":1}`), fake.Response{Error: &fake.Failure{Status: 503, Message: "no"}}),
		"a call without arguments":         script(a, call("c1", "")),
		"a missing member":                 script(fake.Tool{Name: "a", Parameters: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`)}, call("c1", `{"n":1}`)),
		"a default":                        script(fake.Tool{Name: "a", Parameters: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"},"city":{"type":"string","default":"Bern"}}}`)}, call("c1", `{"n":1}`)),
		"a key twice":                      script(a, call("c1", `{"n":1,"n":2}`)),
		"arguments that are not an object": script(a, call("c1", "[1]"), call("c2", "12")),
		"a cut call":                       script(a, cut),
		"a tool that never answers":        script(fake.Tool{Name: "a", Behavior: fake.Behavior{Stall: true}}, call("c1", `{"n":1}`)),
		"a model that never answers":       script(a, call("c1", `{"n":1}`), fake.Response{Stall: true}),
		"a result is an argument": {
			Tools: []fake.Tool{{Name: "cities", Behavior: fake.Behavior{Text: "Bern"}}, {Name: "weather", Behavior: fake.Behavior{Text: "rain"}}}, Input: []llm.Message{llm.User("go")},
			Models: []fake.ModelScript{{Name: "main", Responses: []fake.Response{{Calls: []fake.Call{{ID: "c1", Name: "cities", Arguments: "{}"}}}, {Calls: []fake.Call{{ID: "c2", Name: "weather", Arguments: `{"city":"Bern"}`}}}, {Text: "done"}}}},
		},
		"a result has a usual word": {
			Tools: []fake.Tool{{Name: "weather", Behavior: fake.Behavior{Text: "rain"}}, {Name: "deploy", Behavior: fake.Behavior{Text: "success"}}}, Input: []llm.Message{llm.User("go")},
			Models: []fake.ModelScript{{Name: "main", Responses: []fake.Response{{Calls: []fake.Call{{ID: "c1", Name: "weather", Arguments: "{}"}, {ID: "c2", Name: "deploy", Arguments: "{}"}}}, {Text: "done"}}}},
		},
		"a text and a call": {
			Tools: []fake.Tool{a}, Input: []llm.Message{llm.User("go")},
			Models: []fake.ModelScript{{Name: "main", Responses: []fake.Response{{Text: "I call a. ", Calls: []fake.Call{{ID: "c1", Name: "a", Arguments: `{"n":1}`}}}, {Text: " done\n"}}}},
		},
		"a schema":                     script(fake.Tool{Name: "a", Parameters: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`)}, call("c1", `{"n":1}`)),
		"a text with space at its end": script(fake.Tool{Name: "a", Behavior: fake.Behavior{Text: "rain \n"}}, call("c1", `{"n":1}`)),
		"a text with quotes":           script(fake.Tool{Name: "a", Behavior: fake.Behavior{Text: `"rain" <b>`}}, call("c1", `{"n":1}`)),
	}
	changing := func(change func(call llm.ToolCall, text string) string) looptest.Loop {
		return withTool(func(ctx context.Context, c *smallRun, call llm.ToolCall) llm.ToolResult {
			r := tool(ctx, c, call)
			r.Content = text(change(call, r.Text()))
			return r
		})
	}
	for name, loop := range map[string]looptest.Loop{
		"small":              newSmall(),
		"of this module":     looptest.LoopFunc(kernel),
		"a timeout of tools": with(otherLoops["a timeout of tools"]),
		"a timeout of models": with(func(s *small) {
			s.call = func(c *smallRun) (*llm.Response, error) {
				limited := *c
				ctx, cancel := context.WithTimeout(c.ctx, time.Minute) //nolint:forbidigo // virtual: it is a bubble's
				defer cancel()
				limited.ctx = ctx
				resp, err := newSmall().call(&limited)
				c.usage = limited.usage
				return resp, err
			}
		}),
		"results in JSON": changing(func(call llm.ToolCall, text string) string {
			object, _ := json.Marshal(map[string]string{"tool": call.Name, "input": call.Arguments, "output": text})
			return string(object)
		}),
		"results with a status": changing(func(_ llm.ToolCall, text string) string { return "<result status=success>" + text + "</result>" }),
		"trims results":         changing(func(_ llm.ToolCall, text string) string { return strings.TrimSpace(text) }),
		"asks again": with(func(s *small) {
			s.steps = func(c *smallRun) error {
				n := len(c.history)
				if err := steps(c); err != nil || len(c.history) > n && c.history[len(c.history)-1].Role == llm.RoleAssistant {
					return err
				}
				c.history = append(c.history, llm.User("Please answer."))
				return steps(c)
			}
		}),
		"saves without the context of its run": with(func(s *small) {
			s.steps = func(c *smallRun) error {
				err := steps(c)
				ctx, cancel := context.WithTimeout(context.WithoutCancel(c.ctx), time.Minute) //nolint:forbidigo // virtual: it is a bubble's
				defer cancel()
				_, _ = c.in.Choose(ctx, "save", "saves", "fails")
				return err
			}
		}),
		"loads before its first request": looptest.LoopFunc(func(ctx context.Context, in *looptest.Input) (*looptest.Result, error) {
			if got, err := in.Choose(ctx, "load", "", "fails"); got != "" || err != nil {
				return nil, errors.Join(errors.New("nothing is loaded"), err)
			}
			return newSmall().Run(ctx, in)
		}),
		"one array for all requests": with(func(s *small) {
			s.call = func(c *smallRun) (*llm.Response, error) {
				if cap(c.history) < 100 {
					c.history = append(make([]llm.Message, 0, 100), c.history...)
				}
				resp, err := llm.Collect(c.in.Model.Stream(c.ctx, &llm.Request{Messages: c.history}))
				c.usage = c.usage.Add(resp.Usage)
				return resp, err
			}
		}),
		"trims texts": with(func(s *small) {
			s.call = func(c *smallRun) (*llm.Response, error) {
				resp, err := newSmall().call(c)
				for i, p := range resp.Parts {
					if text, is := p.(llm.Text); is {
						text.Text = strings.TrimSpace(text.Text)
						resp.Parts[i] = text
					}
				}
				return resp, err
			}
		}),
		"stops at the finish": with(func(s *small) {
			s.call = func(c *smallRun) (*llm.Response, error) {
				var acc llm.Accumulator
				for ev, err := range c.in.Model.Stream(c.ctx, &llm.Request{Messages: slices.Clone(c.history)}) {
					if err != nil {
						c.usage = c.usage.Add(acc.Response().Usage)
						return acc.Response(), err
					}
					acc.Add(ev)
					if _, is := ev.(llm.Finish); is {
						break
					}
				}
				c.usage = c.usage.Add(acc.Response().Usage)
				return acc.Response(), nil
			}
		}),
	} {
		for kind, s := range scripts {
			t.Run(name+"/"+kind, func(t *testing.T) {
				r := looptest.Explored(t, loop, scriptOptions(kind, s))
				if len(r.Failures)+len(r.Unstable) > 0 {
					t.Errorf("got %v, %v", r.Failures, r.Unstable)
				}
			})
		}
	}
	for client := range httpClients {
		for kind, s := range scripts {
			isArray := kind == "arguments that are not an object" && (client == "anthropic" || client == "gemini") // their protocols have objects only
			if isArray {
				continue
			}
			t.Run(client+"/"+kind, func(t *testing.T) {
				r := looptest.Explored(t, looptest.HTTPLoop(httpLoop(client, llm.Streaming, "")), scriptOptions(kind, s))
				if len(r.Failures)+len(r.Unstable) > 0 {
					t.Errorf("got %v, %v", r.Failures, r.Unstable)
				}
			})
		}
	}
}

// TestExploreModels: a loop that hands over to a second model passes, and one that does not is found.
func TestExploreModels(t *testing.T) {
	script := &fake.Script{
		Models: []fake.ModelScript{{Name: "planner", Responses: []fake.Response{{Text: "plan"}}}, {Name: "worker", Responses: []fake.Response{{Text: "done"}}}},
		Input:  []llm.Message{llm.User("go")},
	}
	for _, models := range [][]string{{"planner", "worker"}, {"planner"}} {
		loop := looptest.LoopFunc(func(ctx context.Context, in *looptest.Input) (*looptest.Result, error) {
			history := slices.Clone(in.Messages)
			for i, name := range models {
				if i > 0 {
					history = append(history, llm.User("Go on."))
				}
				response, err := llm.Collect(in.Model.Stream(ctx, &llm.Request{Model: name, Messages: slices.Clone(history)}))
				if err != nil {
					return nil, err
				}
				history = append(history, response.Message())
			}
			return &looptest.Result{Messages: history[len(in.Messages):]}, nil
		})
		var got []string
		for _, f := range looptest.Explored(t, loop, &looptest.ExploreOptions{Script: script, Faults: -1}).Failures {
			got = append(got, f.Invariant+": "+f.Message)
		}
		if wrong := "INV-11: the run ends early: response 1 of worker was never requested"; len(models) == 1 && !slices.Equal(got, []string{wrong}) || len(models) > 1 && len(got) > 0 {
			t.Errorf("%q: got %q", models, got)
		}
	}
}

// TestExploreHedged: a loop that calls a model twice concurrently, and cancels the call that is not the first to end, passes.
func TestExploreHedged(t *testing.T) {
	looptest.Explore(t, with(func(s *small) {
		s.call = func(c *smallRun) (*llm.Response, error) {
			ctx, cancel := context.WithCancel(c.ctx)
			defer cancel()
			type answer struct {
				*llm.Response
				err error
			}
			answers := make(chan answer, 2)
			for range 2 {
				go func() {
					response, err := llm.Collect(c.in.Model.Stream(ctx, &llm.Request{Messages: slices.Clone(c.history)}))
					answers <- answer{response, err}
				}()
			}
			first := <-answers
			cancel()
			c.usage = c.usage.Add(first.Usage).Add((<-answers).Usage)
			return first.Response, first.err
		}
	}), &looptest.ExploreOptions{Faults: -1})
}

// TestExploreSchema: an error that a loop makes up for a call that fits the schema of its tool is found.
func TestExploreSchema(t *testing.T) {
	script := oneStep()
	script.Tools[0].Parameters = json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`)
	refuses := withTool(func(_ context.Context, _ *smallRun, call llm.ToolCall) llm.ToolResult { return failed(call, "no") })
	r := looptest.Explored(t, refuses, &looptest.ExploreOptions{Script: script, Faults: -1})
	if len(r.Failures) != 1 || r.Failures[0].Invariant != "INV-23" {
		t.Errorf("got %v, want INV-23", r.Failures)
	}
}

// scriptOptions are the options for a script. It is not known for which of two equal calls of a step an answer is.
func scriptOptions(kind string, s *fake.Script) *looptest.ExploreOptions {
	if kind == "equal calls in a step" {
		return &looptest.ExploreOptions{Script: s, Faults: -1}
	}
	return &looptest.ExploreOptions{Script: s}
}

// TestExplorePending: a loop that leaves all calls to its caller passes, also with ids that it generates.
func TestExplorePending(t *testing.T) {
	looptest.Explore(t, looptest.LoopFunc(func(ctx context.Context, in *looptest.Input) (*looptest.Result, error) {
		c := &smallRun{small: newSmall(), ctx: ctx, in: in, history: slices.Clone(in.Messages), ids: map[string]bool{}}
		response, err := c.call(c)
		if err != nil {
			return &looptest.Result{Usage: &c.usage}, err
		}
		r := &looptest.Result{Usage: &c.usage}
		for _, call := range c.accept(c, response) {
			r.Pending = append(r.Pending, call.ID)
		}
		r.Messages = c.history[len(in.Messages):]
		return r, nil
	}), nil)
}
