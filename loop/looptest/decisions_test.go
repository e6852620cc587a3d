package looptest_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop/explore"
	"github.com/looptape/looptape/loop/looptest"
)

// twoCalls is a script with a step of two calls.
func twoCalls() *fake.Script {
	return &fake.Script{
		Models: []fake.ModelScript{{Name: "main", Responses: []fake.Response{
			{Calls: []fake.Call{{ID: "c1", Name: "a", Arguments: `{"n":1}`}, {ID: "c2", Name: "a", Arguments: `{"n":2}`}}}, {Text: "done"},
		}}},
		Tools: []fake.Tool{{Name: "a"}}, Input: []llm.Message{llm.User("go")},
	}
}

// approving returns a small loop that asks before each call, and saves its history after each step.
func approving() *small {
	s := newSmall()
	s.tool = func(ctx context.Context, c *smallRun, call llm.ToolCall) llm.ToolResult {
		approved, err := c.in.Approve(ctx, call)
		switch {
		case err != nil:
			return failed(call, "not run: "+err.Error())
		case !approved:
			return failed(call, "not run: it is denied")
		}
		return tool(ctx, c, call)
	}
	s.batch = func(c *smallRun, calls []llm.ToolCall) ([]llm.ToolResult, error) {
		results, err := batch(c, calls)
		return results, errors.Join(err, save(c))
	}
	return s
}

func save(c *smallRun) error {
	got, err := c.in.Choose(c.ctx, "save", "saves", "fails", "loses its lock")
	if err == nil && got != "saves" {
		err = errors.New("the store " + got)
	}
	return err
}

// deniedFirst returns a loop that changes how the calls of a response are answered, if one of them is denied.
func deniedFirst(change func(calls []llm.ToolCall, results []llm.ToolResult) ([]llm.ToolResult, error)) *small {
	s := approving()
	s.batch = func(c *smallRun, calls []llm.ToolCall) ([]llm.ToolResult, error) {
		results, err := batch(c, calls)
		if err == nil && slices.ContainsFunc(results, func(r llm.ToolResult) bool { return strings.Contains(r.Text(), "denied") }) {
			return change(calls, results)
		}
		return results, err
	}
	return s
}

// TestExploreDecisions explores loops that ask for approvals and have a store: the answers, and the order in which they
// come, are choices.
func TestExploreDecisions(t *testing.T) {
	orders := looptest.Explore(t, approving(), &looptest.ExploreOptions{Script: twoCalls(), Faults: -1})
	if orders.Runs != 6 { // two sequences of an approval and a tool
		t.Errorf("got %d runs, want 6", orders.Runs)
	}
	looptest.Check(t, approving())
	for _, loop := range deciding() {
		looptest.Explore(t, loop, &looptest.ExploreOptions{Script: twoCalls()})
	}
	// A loop may ask for the first of two equal calls alone.
	looptest.Explore(t, looptest.LoopFunc(func(ctx context.Context, in *looptest.Input) (*looptest.Result, error) {
		asked := false
		return with(func(s *small) {
			s.batch = func(c *smallRun, calls []llm.ToolCall) ([]llm.ToolResult, error) {
				if asked {
					return batch(c, calls)
				}
				asked = true
				return askForFirst(c, calls)
			}
		}).Run(ctx, in)
	}), &looptest.ExploreOptions{Script: oneCall()})
}

// askForFirst asks for the first of the calls: the others need no approval.
func askForFirst(c *smallRun, calls []llm.ToolCall) ([]llm.ToolResult, error) {
	if approved, err := c.in.Approve(c.ctx, calls[0]); !approved || err != nil {
		results, err := batch(c, calls[1:])
		return append([]llm.ToolResult{failed(calls[0], "not run")}, results...), err
	}
	return batch(c, calls)
}

// deciding returns right loops that ask.
func deciding() []*small {
	apologizing, once := approving(), newSmall()
	apologizing.steps = func(c *smallRun) error {
		err := steps(c)
		if got, failure := c.in.Choose(c.ctx, "answer", "", "is not saved"); err == nil && failure == nil && got != "" {
			c.history[len(c.history)-1] = llm.Assistant(llm.Text{Text: "I could not save the answer."})
		}
		return err
	}
	once.batch = askForFirst
	return []*small{approving(), failing(), locking(), askingAgain(), apologizing, once}
}

// overHTTP returns the loop with a model over HTTP. Its answer is another one if that cannot be saved.
func overHTTP(s *small) func(context.Context, *http.Client, string, *looptest.Input) (string, error) {
	return func(ctx context.Context, client *http.Client, url string, in *looptest.Input) (string, error) {
		in.Model = modelOf("chat", client, url, "some-model")
		out, err := s.Run(ctx, in)
		if err != nil || len(out.Messages) == 0 {
			return "", err
		}
		if got, err := in.Choose(ctx, "answer", "", "is not saved"); got != "" || err != nil {
			return got, err
		}
		return answerOf(out, nil)
	}
}

// failing returns a loop whose run fails if its approver fails or does not answer.
func failing() *small {
	s := approving()
	s.batch = func(c *smallRun, calls []llm.ToolCall) (results []llm.ToolResult, err error) {
		for _, call := range calls {
			ctx, cancel := context.WithTimeout(c.ctx, time.Minute) //nolint:forbidigo // virtual: it is a bubble's
			approved, failure := c.in.Approve(ctx, call)
			cancel()
			switch {
			case failure != nil:
				err = errors.Join(err, failure)
				results = append(results, failed(call, failure.Error()))
			case !approved:
				results = append(results, failed(call, "not run: it is denied"))
			default:
				results = append(results, tool(c.ctx, c, call))
			}
		}
		return results, err
	}
	return s
}

// locking returns a loop that needs a lock for the calls of a response, and runs none without it. If it loses the lock, their
// results do not count.
func locking() *small {
	s := newSmall()
	s.batch = func(c *smallRun, calls []llm.ToolCall) (results []llm.ToolResult, err error) {
		got, _ := c.in.Choose(c.ctx, "lock", "taken", "held by another process")
		if got == "taken" {
			if results, err = batch(c, calls); err != nil {
				return results, err
			}
			got, _ = c.in.Choose(c.ctx, "unlock", "released", "lost")
		}
		if got == "released" {
			return results, nil
		}
		results = nil
		for _, call := range calls {
			results = append(results, failed(call, "the lock is "+got))
		}
		return results, nil
	}
	return s
}

// askingAgain returns a loop that asks again if its approver fails.
func askingAgain() *small {
	s := approving()
	s.tool = func(ctx context.Context, c *smallRun, call llm.ToolCall) llm.ToolResult {
		approved, err := c.in.Approve(ctx, call)
		if err != nil {
			approved, err = c.in.Approve(ctx, call)
		}
		if err != nil || !approved {
			return failed(call, "not run: it is not approved")
		}
		return tool(ctx, c, call)
	}
	return s
}

func TestExploreDecisionsFinds(t *testing.T) {
	runsAll := approving()
	runsAll.tool = func(ctx context.Context, c *smallRun, call llm.ToolCall) llm.ToolResult {
		_, err := c.in.Approve(ctx, call)
		if err != nil {
			return failed(call, err.Error())
		}
		return tool(ctx, c, call)
	}
	runsUnasked := approving()
	runsUnasked.tool = func(ctx context.Context, c *smallRun, call llm.ToolCall) llm.ToolResult {
		if approved, err := c.in.Approve(ctx, call); !approved && err == nil || ctx.Err() != nil {
			return failed(call, "not run: it is denied")
		}
		return tool(ctx, c, call)
	}
	// The answers are taken as they come, whichever call they are for.
	mixed := approving()
	mixed.batch = func(c *smallRun, calls []llm.ToolCall) ([]llm.ToolResult, error) {
		answers := make(chan bool, len(calls))
		var asking sync.WaitGroup
		for _, call := range calls {
			asking.Go(func() {
				approved, err := c.in.Approve(c.ctx, call)
				answers <- approved && err == nil
			})
		}
		asking.Wait()
		var results []llm.ToolResult
		for _, call := range calls {
			if !<-answers {
				results = append(results, failed(call, "not run: it is denied"))
				continue
			}
			results = append(results, tool(c.ctx, c, call))
		}
		return results, nil
	}
	again := approving()
	again.batch = func(c *smallRun, calls []llm.ToolCall) ([]llm.ToolResult, error) {
		results, err := batch(c, calls)
		if err == nil && save(c) != nil {
			return batch(c, calls)
		}
		return results, err
	}
	forgets := approving()
	forgets.batch = func(c *smallRun, calls []llm.ToolCall) ([]llm.ToolResult, error) {
		results, err := batch(c, calls)
		if saved := save(c) == nil; err == nil && !saved {
			results = results[1:]
		}
		return results, err
	}
	for name, tt := range map[string]struct {
		loop              looptest.Loop
		invariant, choice string
	}{
		"a denied call runs":                         {runsAll, "INV-08", ": is denied"},
		"a call runs although its approver failed":   {runsUnasked, "INV-08", ": fails"},
		"answers are taken for those of other calls": {mixed, "INV-08", ": is denied"},
		"a denied call has no result": {deniedFirst(func(_ []llm.ToolCall, results []llm.ToolResult) ([]llm.ToolResult, error) {
			return slices.DeleteFunc(results, func(r llm.ToolResult) bool { return strings.Contains(r.Text(), "denied") }), nil
		}), "INV-01", ": is denied"},
		"the loop does not begin after a denial": {with(func(s *small) {
			s.steps = func(c *smallRun) error {
				if approved, err := c.in.Approve(c.ctx, llm.ToolCall{ID: "start", Name: "start", Arguments: "{}"}); !approved {
					return err
				}
				return steps(c)
			}
		}), "INV-11", ": is denied"},
		"a denied call fails the others": {deniedFirst(func(calls []llm.ToolCall, results []llm.ToolResult) ([]llm.ToolResult, error) {
			for i := range results {
				results[i] = failed(calls[i], "not run: one call is denied")
			}
			return results, nil
		}), "INV-23", ": is denied"},
		"the run fails although it was saved": {with(func(s *small) {
			s.steps = func(c *smallRun) error { return errors.Join(steps(c), save(c), errors.New("no")) }
		}), "INV-11", ""},
		"the answer is lost although it was saved": {with(func(s *small) {
			s.steps = func(c *smallRun) error {
				err := errors.Join(steps(c), save(c))
				if n := len(c.history) - 1; err == nil {
					c.history = c.history[:n]
				}
				return err
			}
		}), "INV-11", ""},
		"a denied call has the result of another": {deniedFirst(func(calls []llm.ToolCall, results []llm.ToolResult) ([]llm.ToolResult, error) {
			for i, r := range results {
				if strings.Contains(r.Text(), "denied") {
					results[i] = result(calls[i], results[(i+1)%len(results)].Text())
				}
			}
			return results, nil
		}), "INV-01", ": is denied"},
		"a denied call fails the run": {deniedFirst(func(_ []llm.ToolCall, results []llm.ToolResult) ([]llm.ToolResult, error) {
			return results, errors.New("denied")
		}), "INV-23", ": is denied"},
		"the calls run again if the store fails": {again, "INV-08", "choice save: fails"},
		"a result is lost if the store fails":    {forgets, "INV-01", "choice save: fails"},
	} {
		t.Run(name, func(t *testing.T) {
			r := looptest.Explored(t, tt.loop, &looptest.ExploreOptions{Script: twoCalls()})
			if !slices.ContainsFunc(r.Failures, func(f *explore.Failure) bool {
				return f.Invariant == tt.invariant && len(f.Choices) <= 2 && strings.Contains(f.Error(), tt.choice) && f.Shown == f.Repeated
			}) {
				t.Errorf("got %v, want %s with the choice %q", r.Failures, tt.invariant, tt.choice)
			}
		})
	}
}

// TestExploreDecisionsHTTP: over HTTP, right loops pass, and a denied call that fails the run is a failure, too.
func TestExploreDecisionsHTTP(t *testing.T) {
	looptest.HTTP(t, overHTTP(approving()))
	for _, loop := range deciding() {
		looptest.ExploreHTTP(t, overHTTP(loop), &looptest.ExploreOptions{Script: twoCalls()})
	}
	s := deniedFirst(func(_ []llm.ToolCall, results []llm.ToolResult) ([]llm.ToolResult, error) {
		return results, errors.New("denied")
	})
	r := looptest.Explored(t, looptest.HTTPLoop(overHTTP(s)), &looptest.ExploreOptions{Script: oneCall()})
	if !slices.ContainsFunc(r.Failures, func(f *explore.Failure) bool {
		return f.Invariant == "INV-23" && strings.Contains(f.Message, "the run fails because of a call: denied")
	}) {
		t.Errorf("got %v, want INV-23", r.Failures)
	}
}

// TestExploreEndlessQuestions: a run that asks without an end is canceled, and a goroutine that asks after its run has ended
// is ended.
func TestExploreEndlessQuestions(t *testing.T) {
	ask := func(ctx context.Context, in *looptest.Input) {
		for {
			_, _ = in.Choose(ctx, "poll", "")
		}
	}
	inRun := newSmall()
	inRun.tool = func(ctx context.Context, c *smallRun, call llm.ToolCall) llm.ToolResult {
		ask(ctx, c.in)
		return tool(ctx, c, call)
	}
	afterRun := newSmall()
	afterRun.tool = func(ctx context.Context, c *smallRun, call llm.ToolCall) llm.ToolResult {
		go ask(ctx, c.in)
		return tool(ctx, c, call)
	}
	for _, loop := range []*small{inRun, afterRun} {
		r := looptest.Explored(t, loop, &looptest.ExploreOptions{Script: oneCall(), Faults: -1, Runs: 20})
		if !slices.ContainsFunc(r.Failures, func(f *explore.Failure) bool {
			return f.Invariant == "INV-26" && strings.Contains(f.Message, "calls of Input.Approve and Input.Choose")
		}) {
			t.Errorf("got %v, want INV-26", r.Failures)
		}
	}
}

// TestChooseOptions: options that a report cannot name are an error, in explorations and in the cases of Check.
func TestChooseOptions(t *testing.T) {
	for _, options := range [][]string{nil, {"a", ""}, {"a", "b", "b"}} {
		var got error
		loop := looptest.LoopFunc(func(ctx context.Context, in *looptest.Input) (*looptest.Result, error) {
			_, got = in.Choose(ctx, "save", options...)
			return nil, got
		})
		for suite, run := range map[string]func(){
			"Explored":   func() { looptest.Explored(t, loop, &looptest.ExploreOptions{Faults: -1}) },
			"Violations": func() { looptest.Violations(t, loop) },
		} {
			got = nil
			if run(); got == nil || !strings.Contains(got.Error(), `looptest: Input.Choose "save"`) {
				t.Errorf("%s, %q: got %v, want an error of Input.Choose", suite, options, got)
			}
		}
	}
}
