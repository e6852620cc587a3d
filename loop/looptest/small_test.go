package looptest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop/explore"
	"github.com/looptape/looptape/loop/looptest"
)

// small is a small loop that is correct. Each known bug replaces one of its functions.
type small struct {
	steps  func(c *smallRun) error                                                  // has the conversation
	call   func(c *smallRun) (*llm.Response, error)                                 // calls the model
	accept func(c *smallRun, resp *llm.Response) []llm.ToolCall                     // appends a response and returns its calls
	batch  func(c *smallRun, calls []llm.ToolCall) ([]llm.ToolResult, error)        // runs the calls of a response
	tool   func(ctx context.Context, c *smallRun, call llm.ToolCall) llm.ToolResult // runs one call
}

func newSmall() *small {
	return &small{steps: steps, call: call, accept: accept, batch: batch, tool: tool}
}

// smallRun is one run of a small loop.
type smallRun struct {
	*small
	ctx     context.Context
	in      *looptest.Input
	history []llm.Message
	usage   llm.Usage
	ids     map[string]bool
	queue   chan llm.ToolResult // for loops with one queue in all steps
}

func (s *small) Run(ctx context.Context, in *looptest.Input) (*looptest.Result, error) {
	c := &smallRun{small: s, ctx: ctx, in: in, history: slices.Clone(in.Messages), ids: map[string]bool{}, queue: make(chan llm.ToolResult, 100)}
	err := c.steps(c)
	return &looptest.Result{Messages: c.history[len(in.Messages):], Usage: &c.usage}, err
}

func steps(c *smallRun) error {
	for {
		if err := c.ctx.Err(); err != nil {
			return err
		}
		resp, err := c.call(c)
		if err != nil {
			return err
		}
		calls := c.accept(c, resp)
		if len(calls) == 0 {
			return nil
		}
		results, err := c.batch(c, calls)
		if len(results) > 0 {
			c.history = append(c.history, llm.ToolResults(results...))
		}
		if err != nil {
			return err
		}
	}
}

func call(c *smallRun) (*llm.Response, error) {
	resp, err := llm.Collect(c.in.Model.Stream(c.ctx, &llm.Request{Messages: slices.Clone(c.history)}))
	c.usage = c.usage.Add(resp.Usage)
	return resp, err
}

// accept gives calls unique ids, and a name to those without one.
func accept(c *smallRun, resp *llm.Response) []llm.ToolCall {
	m := resp.Message()
	for i, p := range m.Parts {
		call, ok := p.(llm.ToolCall)
		if !ok {
			continue
		}
		for n := 1; call.ID == "" || c.ids[call.ID]; n++ {
			call.ID = fmt.Sprintf("call_%d_%d", len(c.ids), n)
		}
		if call.Name == "" {
			call.Name = "unnamed"
		}
		c.ids[call.ID] = true
		m.Parts[i] = call
	}
	if len(m.Parts) > 0 {
		c.history = append(c.history, m)
	}
	return m.Calls()
}

// batch runs calls concurrently and returns their results in the order of the calls.
func batch(c *smallRun, calls []llm.ToolCall) ([]llm.ToolResult, error) {
	results := make([]llm.ToolResult, len(calls))
	var wg sync.WaitGroup
	for i, call := range calls {
		results[i] = failed(call, "the tool ended its goroutine")
		wg.Go(func() { results[i] = c.tool(c.ctx, c, call) })
	}
	wg.Wait()
	return results, nil
}

func tool(ctx context.Context, c *smallRun, call llm.ToolCall) llm.ToolResult {
	if ctx.Err() != nil {
		return failed(call, "not run: the run was canceled")
	}
	if call.Arguments == "" {
		call.Arguments = "{}"
	}
	i := slices.IndexFunc(c.in.Tools, func(t looptest.Tool) bool { return t.Name == call.Name })
	if i < 0 || json.Unmarshal([]byte(call.Arguments), &map[string]any{}) != nil {
		return failed(call, "not run: unknown tool or invalid arguments")
	}
	return run(ctx, c.in.Tools[i], call)
}

// run runs a call of a tool.
func run(ctx context.Context, t looptest.Tool, call llm.ToolCall) (r llm.ToolResult) {
	defer func() {
		if v := recover(); v != nil {
			r = failed(call, fmt.Sprint(v))
		}
	}()
	text, err := t.Run(ctx, call.Arguments)
	if err != nil {
		return failed(call, err.Error())
	}
	return result(call, text)
}

func result(call llm.ToolCall, text string) llm.ToolResult {
	return llm.ToolResult{ID: call.ID, Name: call.Name, Content: []llm.Part{llm.Text{Text: text}}}
}

func failed(call llm.ToolCall, text string) llm.ToolResult {
	r := result(call, text)
	r.IsError = true
	return r
}

// oneCall is a script with two steps of one call.
func oneCall() *fake.Script {
	a := func(id string) fake.Response {
		return fake.Response{Calls: []fake.Call{{ID: id, Name: "a", Arguments: `{"n":1}`}}}
	}
	return &fake.Script{
		Models: []fake.ModelScript{{Name: "main", Responses: []fake.Response{a("c1"), a("c2"), {Text: "done"}}}},
		Tools:  []fake.Tool{{Name: "a"}},
		Input:  []llm.Message{llm.User("go")},
	}
}

func TestExploreCorrectLoop(t *testing.T) {
	looptest.Explore(t, newSmall(), &looptest.ExploreOptions{Panics: true})
	looptest.Explore(t, newSmall(), &looptest.ExploreOptions{Faults: 2, Runs: 1000})
}

// TestExploreEndlessLoop explores a loop that ignores a cancel and repeats its model call without end.
func TestExploreEndlessLoop(t *testing.T) {
	endless := func(c *smallRun) (*llm.Response, error) {
		for {
			if resp, err := call(c); err == nil {
				return resp, nil
			}
		}
	}
	r := looptest.Explored(t, &small{steps: steps, call: endless, accept: accept, batch: batch, tool: tool}, &looptest.ExploreOptions{Script: oneCall(), Runs: 150})
	if !slices.ContainsFunc(r.Failures, func(f *explore.Failure) bool { return f.Invariant == "INV-26" }) {
		t.Errorf("got %v, want a violation of INV-26", r.Failures)
	}
}

// otherLoops are correct in other ways.
var otherLoops = map[string]func(s *small){
	"sequential tools": func(s *small) {
		s.batch = func(c *smallRun, calls []llm.ToolCall) (results []llm.ToolResult, err error) {
			for _, call := range calls {
				results = append(results, c.tool(c.ctx, c, call))
			}
			return results, nil
		}
	},
	"a retry of a failed model call": func(s *small) {
		s.call = func(c *smallRun) (resp *llm.Response, err error) {
			for range 3 {
				if resp, err = call(c); err == nil || c.ctx.Err() != nil {
					break
				}
			}
			return resp, err
		}
	},
	"a retry of an empty response": func(s *small) {
		s.call = func(c *smallRun) (resp *llm.Response, err error) {
			for range 3 {
				if resp, err = call(c); err != nil || len(resp.Parts) > 0 || c.ctx.Err() != nil {
					break
				}
			}
			return resp, err
		}
	},
	"a timeout of tools": func(s *small) {
		s.tool = func(ctx context.Context, c *smallRun, call llm.ToolCall) llm.ToolResult {
			ctx, cancel := context.WithTimeout(ctx, time.Minute) //nolint:forbidigo // virtual: it is a bubble's
			defer cancel()
			return tool(ctx, c, call)
		}
	},
	"calls of a truncated response are not run": func(s *small) {
		s.call = func(c *smallRun) (*llm.Response, error) {
			resp, err := call(c)
			if err == nil && resp.FinishReason == llm.FinishLength {
				return resp, errors.New("the response is truncated")
			}
			return resp, err
		}
	},
	"a response without a finish is a failure": func(s *small) {
		s.call = func(c *smallRun) (*llm.Response, error) {
			resp, err := call(c)
			if err == nil && resp.FinishReason == llm.FinishUnknown {
				return resp, errors.New("the response has no end")
			}
			return resp, err
		}
	},
	"calls without a name are dropped": func(s *small) {
		s.accept = func(c *smallRun, resp *llm.Response) []llm.ToolCall {
			resp.Parts = slices.DeleteFunc(resp.Parts, func(p llm.Part) bool {
				call, isCall := p.(llm.ToolCall)
				return isCall && call.Name == ""
			})
			return accept(c, resp)
		}
	},
	"arguments are repaired": func(s *small) {
		s.tool = func(ctx context.Context, c *smallRun, call llm.ToolCall) llm.ToolResult {
			if call.Arguments != "" && !json.Valid([]byte(call.Arguments)) {
				call.Arguments = `{"n":null}`
			}
			return tool(ctx, c, call)
		}
	},
	"one call at a time": func(s *small) {
		s.batch = func(c *smallRun, calls []llm.ToolCall) ([]llm.ToolResult, error) {
			results := make([]llm.ToolResult, len(calls))
			var wg sync.WaitGroup
			before := make(chan bool)
			close(before)
			for i, call := range calls {
				earlier, after := before, make(chan bool)
				wg.Go(func() {
					defer close(after)
					select {
					case <-earlier:
						results[i] = c.tool(c.ctx, c, call)
					case <-c.ctx.Done():
						results[i] = failed(call, "not run: the run was canceled")
					}
				})
				before = after
			}
			wg.Wait()
			return results, nil
		}
	},
}

func TestExploreOtherCorrectLoops(t *testing.T) {
	for name, change := range otherLoops {
		t.Run(name, func(t *testing.T) {
			s := newSmall()
			change(s)
			looptest.Explore(t, s, nil)
		})
	}
}

// TestExploreImmutability explores loops that expose messages and share an array with their caller.
func TestExploreImmutability(t *testing.T) {
	for fault, want := range map[string]bool{"": false, "array": true, "scratch": true} {
		r := looptest.Explored(t, &other{fault: fault}, &looptest.ExploreOptions{Script: oneCall()})
		reported := func(id string) bool {
			return slices.ContainsFunc(r.Failures, func(f *explore.Failure) bool { return f.Invariant == id })
		}
		if got := reported("INV-06"); got != want || reported("INV-23") {
			t.Errorf("the fault %q: got %v, want a violation of INV-06 %t, and none of INV-23", fault, r.Failures, want)
		}
	}
}

// TestExploreNothing explores loops that do nothing, or nothing more after a result, without an error.
func TestExploreNothing(t *testing.T) {
	for name, tt := range map[string]struct {
		loop looptest.Loop
		want string
	}{
		"no model call": {looptest.LoopFunc(func(context.Context, *looptest.Input) (*looptest.Result, error) { return &looptest.Result{}, nil }), "INV-11"},
		"waits for the end of its context": {looptest.LoopFunc(func(ctx context.Context, in *looptest.Input) (*looptest.Result, error) {
			out, err := newSmall().Run(ctx, in)
			<-ctx.Done()
			return out, err
		}), "INV-26"},
		"waits for its context after a failure": {looptest.LoopFunc(func(ctx context.Context, in *looptest.Input) (*looptest.Result, error) {
			out, err := newSmall().Run(ctx, in)
			if err != nil {
				<-ctx.Done()
			}
			return out, err
		}), "INV-26"},
	} {
		r := looptest.Explored(t, tt.loop, &looptest.ExploreOptions{Script: oneCall()})
		if len(r.Failures) == 0 || !slices.ContainsFunc(r.Failures, func(f *explore.Failure) bool { return f.Invariant == tt.want }) {
			t.Errorf("%s: got %v, want a violation of %s", name, r.Failures, tt.want)
		}
	}
}

// TestExploreRepeatedIDs explores a loop that keeps the ids of the provider. Two calls of one message may have one id:
// the result of each is no result of the other.
func TestExploreRepeatedIDs(t *testing.T) {
	s := newSmall()
	s.accept = keepIDs
	var got []string
	for _, f := range looptest.Explored(t, s, nil).Failures {
		got = append(got, f.Invariant)
	}
	if !slices.Contains(got, "INV-04") || slices.Contains(got, "INV-01") {
		t.Errorf("got %q, want INV-04, and not INV-01", got)
	}
}

// FuzzCorrectLoop explores a correct loop, guided by coverage.
func FuzzCorrectLoop(f *testing.F) {
	f.Add([]byte("\x00\xff\x01\x02\x01\xff\x00\x03"))
	looptest.Fuzz(f, newSmall(), &looptest.ExploreOptions{Faults: 3, Panics: true})
}
