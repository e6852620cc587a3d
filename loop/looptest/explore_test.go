package looptest_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/explore"
	"github.com/looptape/looptape/loop/looptest"
	"github.com/looptape/looptape/trace/check"
)

// kernel is the loop of this module.
func kernel(ctx context.Context, in *looptest.Input) (*looptest.Result, error) {
	var tools []loop.Tool
	for _, t := range in.Tools {
		tools = append(tools, loop.Tool{Name: t.Name, Parameters: t.Parameters, Run: func(ctx context.Context, c loop.Call) (loop.Output, error) {
			text, err := t.Run(ctx, c.Arguments)
			return loop.TextOutput(text), err
		}})
	}
	a, err := loop.New(in.Model, &loop.Config{Tools: tools, Concurrency: -1, MaxSteps: 10})
	if err != nil {
		return nil, err
	}
	res, err := a.Run(ctx, loop.Input{Messages: in.Messages})
	out := &looptest.Result{Messages: res.Messages, Usage: &res.Usage}
	for _, c := range res.Pending {
		out.Pending = append(out.Pending, c.ID)
	}
	return out, err
}

// plainLoop is a usual simple loop: one tool after another, without regard to faults.
func plainLoop(ctx context.Context, in *looptest.Input) (*looptest.Result, error) {
	messages, n := slices.Clone(in.Messages), len(in.Messages)
	for {
		response, err := llm.Collect(in.Model.Stream(ctx, &llm.Request{Messages: messages}))
		if err != nil {
			return &looptest.Result{Messages: messages[n:]}, err
		}
		messages = append(messages, response.Message())
		if response.FinishReason == llm.FinishStop {
			return &looptest.Result{Messages: messages[n:]}, nil
		}
		var results []llm.Part
		for _, c := range response.Calls() {
			for _, t := range in.Tools {
				if t.Name == c.Name {
					text, err := t.Run(ctx, c.Arguments)
					if err != nil {
						return nil, err
					}
					results = append(results, llm.ToolResult{ID: c.ID, Name: c.Name, Content: []llm.Part{llm.Text{Text: text}}})
				}
			}
		}
		messages = append(messages, llm.Message{Role: llm.RoleTool, Parts: results})
	}
}

// TestExplore explores the loop of this module: no run violates an invariant.
func TestExplore(t *testing.T) {
	r := looptest.Explore(t, looptest.LoopFunc(kernel), &looptest.ExploreOptions{Panics: true})
	if !r.Complete || r.Runs < 500 || r.Orders != 4 {
		t.Errorf("%s; want all runs, with the 2 × 2 orders of two steps of two calls", r.Summary())
	}
}

// TestExploreTwoFaults explores some runs with two faults.
func TestExploreTwoFaults(t *testing.T) {
	r := looptest.Explore(t, looptest.LoopFunc(kernel), &looptest.ExploreOptions{Faults: 2, Runs: 400})
	if r.Complete || r.Runs != 400 {
		t.Errorf("%s; want 400 runs, not all", r.Summary())
	}
}

// TestExploreFinds explores a loop with the usual faults. Each is found with at most two choices.
func TestExploreFinds(t *testing.T) {
	r := looptest.Explored(t, looptest.LoopFunc(plainLoop), nil)
	got := map[string]string{}
	for _, f := range r.Failures {
		var choices []string
		for _, c := range f.Choices {
			choices = append(choices, c.String())
		}
		got[f.Invariant] = strings.Join(choices, "; ")
		if !f.Minimal || f.Shrunk > 200 || f.Flipped == nil || f.Neighbor == "" {
			t.Errorf("%s: minimal %v after %d runs of shrinking, passing without %v", f.Invariant, f.Minimal, f.Shrunk, f.Flipped)
		}
	}
	want := map[string]string{
		"INV-01": "model call 2: call 1 has an empty name",
		"INV-04": "model call 2: call 1 has an empty id",
		"INV-07": "model call 2: finishes with stop",
		"INV-09": "model call 2: call 1 has arguments that are cut",
		"INV-11": "model call 2: finishes with stop",
		"INV-17": `before the answer a {"n":4}: the run is canceled; after the cancel, the answer a {"n":4}: comes all the same`,
		"INV-23": `tool call a {"n":4}: fails`,
		"INV-24": "model call 3: has no finish",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("failures (-want +got):\n%s", diff)
	}
	if len(r.Unstable) > 0 {
		t.Error(r.Unstable)
	}
}

// uncounted is a loop with a wrong usage.
func uncounted(run looptest.LoopFunc) looptest.Loop {
	return looptest.LoopFunc(func(ctx context.Context, in *looptest.Input) (*looptest.Result, error) {
		r, err := run(ctx, in)
		if r != nil {
			r.Usage = &llm.Usage{InputTokens: 1}
		}
		return r, err
	})
}

// TestExploreExceptions: a run that violates an accepted invariant fails for the others that it violates.
func TestExploreExceptions(t *testing.T) {
	failures := func(loop looptest.Loop, exceptions ...string) (list []string) {
		for _, f := range looptest.Explored(t, loop, &looptest.ExploreOptions{Exceptions: exceptions}).Failures {
			list = append(list, fmt.Sprint(f.Violation, f.Choices, f.Count))
		}
		return list
	}
	if diff := cmp.Diff(failures(looptest.LoopFunc(plainLoop)), failures(uncounted(plainLoop), "INV-18=it does not count")); diff != "" {
		t.Errorf("failures (-without the accepted violation +with it):\n%s", diff)
	}
	exits := looptest.LoopFunc(func(ctx context.Context, in *looptest.Input) (*looptest.Result, error) {
		r, err := kernel(ctx, in)
		if ctx.Err() != nil {
			_, _ = in.Tools[0].Run(ctx, "{}")
			runtime.Goexit()
		}
		return r, err
	})
	unused := looptest.LoopFunc(func(context.Context, *looptest.Input) (*looptest.Result, error) { return &looptest.Result{}, nil })
	if got := failures(unused, "INV-11=x"); len(got) != 1 || !strings.HasPrefix(got[0], "INV-11: run explored: the run ends without an error, and called no model") {
		t.Errorf("failures %q, want INV-11 although it is accepted", got)
	}
	unusedHTTP := looptest.HTTPLoop(func(context.Context, *http.Client, string, *looptest.Input) (string, error) { return "", nil })
	if got := failures(unusedHTTP, "INV-11=x"); len(got) != 1 || !strings.HasPrefix(got[0], "INV-11: run explored: the loop sent no request with the given client") {
		t.Errorf("failures %q, want INV-11 although it is accepted", got)
	}
	if got := failures(exits, "INV-17=it cleans up"); len(got) != 1 || !strings.HasPrefix(got[0], "INV-23: run explored: the loop ended its goroutine without returning") {
		t.Errorf("failures %q, want INV-23", got)
	}
}

// TestExploreResults: a result must be what the tool did, and a tool that is called without an end violates INV-26.
func TestExploreResults(t *testing.T) {
	fails := func(_ string, _ error) (string, error) { return "timed out", errors.New("timed out") }
	for name, tt := range map[string]struct {
		change func(order *atomic.Int64, args string, run func() (string, error)) (string, error)
		want   string
	}{
		"a lost error": {func(_ *atomic.Int64, _ string, run func() (string, error)) (string, error) {
			text, _ := run()
			return text, nil
		}, `INV-23: request 3: the result of the call "c4" of a with {"n":4} is "", and no error; the tool failed [tool call a {"n":4}: fails]`},
		"an error in one order": {func(order *atomic.Int64, args string, run func() (string, error)) (string, error) {
			text, err := run()
			if order.Add(1) == 3 && args == `{"n":4}` {
				return fails(text, err)
			}
			return text, err
		}, `INV-23: request 3: the result of the call "c4" of a with {"n":4} is the error "timed out"; the tool returned "a got {\"n\":4}" [next answer 2 #2: a {"n":4}]`},
		"a poll": {func(_ *atomic.Int64, _ string, run func() (string, error)) (text string, err error) {
			for text != "done" {
				text, err = run()
			}
			return text, err
		}, `INV-26: the run does not end; it made 108 tool calls []`},
	} {
		loop := looptest.LoopFunc(func(ctx context.Context, in *looptest.Input) (*looptest.Result, error) {
			var order atomic.Int64
			for i, tool := range in.Tools {
				in.Tools[i].Run = func(ctx context.Context, args string) (string, error) {
					return tt.change(&order, args, func() (string, error) { return tool.Run(ctx, args) })
				}
			}
			return kernel(ctx, in)
		})
		opts := &looptest.ExploreOptions{}
		if name == "a poll" {
			opts = &looptest.ExploreOptions{Faults: -1, Runs: 1}
		}
		var got []string
		for _, f := range looptest.Explored(t, loop, opts).Failures {
			got = append(got, fmt.Sprint(f.Invariant, ": ", f.Message, " ", f.Choices))
		}
		if diff := cmp.Diff([]string{tt.want}, got); diff != "" {
			t.Errorf("%s: failures (-want +got):\n%s", name, diff)
		}
	}
}

// TestExploreDeadline: the context of a run and the contexts of its tools end as at a deadline.
func TestExploreDeadline(t *testing.T) {
	loop := looptest.LoopFunc(func(ctx context.Context, in *looptest.Input) (*looptest.Result, error) {
		var inTool atomic.Bool
		for i, tool := range in.Tools {
			in.Tools[i].Run = func(ctx context.Context, args string) (string, error) {
				text, err := tool.Run(ctx, args)
				if errors.Is(ctx.Err(), context.DeadlineExceeded) {
					inTool.Store(true)
				}
				return text, err
			}
		}
		result, err := kernel(ctx, in)
		if inTool.Load() && errors.Is(ctx.Err(), context.DeadlineExceeded) {
			panic("the deadline has passed")
		}
		return result, err
	})
	r := looptest.Explored(t, loop, nil)
	if len(r.Failures) != 1 || !strings.Contains(r.Failures[0].Message, "the loop panicked: the deadline has passed") || fmt.Sprint(r.Failures[0].Choices) != `[before the answer a {"n":4}: the deadline of the run passes]` {
		t.Errorf("failures %v, want a panic after the deadline", r.Failures)
	}
}

// exploredLoop returns a loop that TestCheckOutput explores.
func exploredLoop(name string) (looptest.Loop, *looptest.ExploreOptions) {
	around := func(run func(args string, run func() (string, error)) (string, error)) looptest.Loop {
		return looptest.LoopFunc(func(ctx context.Context, in *looptest.Input) (*looptest.Result, error) {
			for i, tool := range in.Tools {
				in.Tools[i].Run = func(ctx context.Context, args string) (string, error) {
					return run(args, func() (string, error) { return tool.Run(ctx, args) })
				}
			}
			return kernel(ctx, in)
		})
	}
	switch name {
	case "mutex":
		var m sync.Mutex
		return around(func(_ string, run func() (string, error)) (string, error) {
			m.Lock()
			defer m.Unlock()
			return run()
		}), nil
	case "once":
		var once sync.Once
		return around(func(_ string, run func() (string, error)) (text string, err error) {
			once.Do(func() { text, err = run() })
			return text, err
		}), nil
	case "waits outside":
		return waitsOutside(), nil
	case "leaks":
		return uncounted(func(ctx context.Context, in *looptest.Input) (*looptest.Result, error) {
			go func() { select {} }()
			return kernel(ctx, in)
		}), &looptest.ExploreOptions{Faults: -1, Runs: 1, Exceptions: []string{"INV-18=it does not count"}}
	case "plain":
		return looptest.LoopFunc(plainLoop), nil
	case "slow":
		return looptest.LoopFunc(plainLoop), &looptest.ExploreOptions{Faults: 3}
	case "no response":
		return looptest.LoopFunc(plainLoop), &looptest.ExploreOptions{Script: &fake.Script{Models: []fake.ModelScript{{Name: "main"}}, Input: []llm.Message{llm.User("go")}}}
	case "repeated":
		return looptest.LoopFunc(plainLoop), &looptest.ExploreOptions{Choices: []explore.Choice{{At: "model call 1", Option: "call 1 has an empty id"}}}
	case "unknown choice":
		return looptest.LoopFunc(kernel), &looptest.ExploreOptions{Choices: []explore.Choice{{At: "next answer 9", Option: "c1"}}}
	case "negative runs":
		return looptest.LoopFunc(plainLoop), &looptest.ExploreOptions{Runs: -5}
	case "in part with an exception":
		return looptest.LoopFunc(kernel), &looptest.ExploreOptions{Runs: 5, Exceptions: []string{"INV-05=other runs may"}}
	case "in part":
		return looptest.LoopFunc(kernel), &looptest.ExploreOptions{Runs: 5}
	case "random error":
		var n atomic.Int64
		return looptest.LoopFunc(func(ctx context.Context, in *looptest.Input) (*looptest.Result, error) {
			r, err := kernel(ctx, in)
			if n.Add(1)%3 == 0 && ctx.Err() == nil {
				err = nil
			}
			return r, err
		}), nil
	}
	panic(name)
}

// TestExploreUnstable reports a loop that depends on more than the order of answers.
func TestExploreUnstable(t *testing.T) {
	var n atomic.Int64
	loop := looptest.LoopFunc(func(ctx context.Context, in *looptest.Input) (*looptest.Result, error) {
		if n.Add(1)%3 == 0 {
			in.Tools = in.Tools[:1]
		}
		return kernel(ctx, in)
	})
	if r := looptest.Explored(t, loop, &looptest.ExploreOptions{Runs: 20}); len(r.Unstable) == 0 {
		t.Error("no run is reported as unstable")
	}
}

// TestExploreRepeats: the test that a report has repeats the failure, with a script that is not larger.
func TestExploreRepeats(t *testing.T) {
	r := looptest.Explored(t, looptest.LoopFunc(plainLoop), nil)
	for _, f := range r.Failures {
		exceptions := &looptest.ExploreOptions{Exceptions: []string{"INV-08=x", "INV-24=it sends empty texts"}}
		if needed := strings.Contains(looptest.RepeatTest(t, looptest.LoopFunc(plainLoop), exceptions, f), `Exceptions: []string{"INV-24=it sends empty texts"}, Choices: `); needed != strings.Contains(f.Text, "^ INV-24") {
			t.Errorf("%s: the test has the exception: %v", f.Invariant, needed)
		}
		source := looptest.RepeatTest(t, looptest.LoopFunc(plainLoop), nil, f)
		yaml := between(source, "[]byte(`", "`))")
		script, err := fake.ParseScript("scenario", []byte(yaml))
		if err != nil {
			t.Fatal(err)
		}
		calls := 0
		for _, r := range script.Models[0].Responses {
			calls += len(r.Calls)
		}
		if calls > 2 || len(script.Models[0].Responses) > 2 {
			t.Errorf("%s: the scenario is not small:\n%s", f.Invariant, source)
		}
		opts := &looptest.ExploreOptions{Script: script, Choices: parseSource(t, source)}
		if !slices.ContainsFunc(looptest.Replayed(t, looptest.LoopFunc(plainLoop), opts), func(v check.Violation) bool { return v.Invariant == f.Invariant }) {
			t.Errorf("%s is not violated again by\n%s", f.Invariant, source)
		}
	}
}

// TestExploreRepeatSource: the test that a report has calls the function that explored the loop, with its options and any script.
func TestExploreRepeatSource(t *testing.T) {
	f := &explore.Failure{Violation: check.Violation{Invariant: "INV-01"}}
	quoted := twoCalls()
	quoted.Input = []llm.Message{llm.User("a `b`")}
	unwritable := twoCalls()
	unwritable.Models[0].Responses[1].Err = errors.New("no")
	http := looptest.HTTPLoop(httpLoop("chat", llm.Streaming, ""))
	for name, tt := range map[string]struct {
		loop looptest.Loop
		opts *looptest.ExploreOptions
		want string
	}{
		"a loop":             {looptest.LoopFunc(kernel), &looptest.ExploreOptions{}, "looptest.Explore(t, loop, &looptest.ExploreOptions{Script: script, Faults: -1, Runs: 1})"},
		"a loop over HTTP":   {http, &looptest.ExploreOptions{}, "looptest.ExploreHTTP(t, run, &looptest.ExploreOptions{Script: script, Faults: -1, Runs: 1})"},
		"tools that panic":   {looptest.LoopFunc(kernel), &looptest.ExploreOptions{Panics: true}, "&looptest.ExploreOptions{Script: script, Panics: true, Faults: -1, Runs: 1})"},
		"a backquote":        {looptest.LoopFunc(kernel), &looptest.ExploreOptions{Script: quoted}, `[]byte("version: 2\n`},
		"no scenario for it": {looptest.LoopFunc(kernel), &looptest.ExploreOptions{Script: unwritable}, "The script cannot be written as a scenario: "},
	} {
		if source := looptest.RepeatTest(t, tt.loop, tt.opts, f); !strings.Contains(source, tt.want) {
			t.Errorf("%s: want %s in\n%s", name, tt.want, source)
		}
	}
}

func between(s, begin, end string) string {
	_, s, _ = strings.Cut(s, begin)
	s, _, _ = strings.Cut(s, end)
	return s
}

// parseSource reads the choices of a Go source.
func parseSource(t *testing.T, source string) (list []explore.Choice) {
	t.Helper()
	for line := range strings.Lines(source) {
		var c explore.Choice
		if n, _ := fmt.Sscanf(strings.TrimSpace(line), "{At: %q, Option: %q},", &c.At, &c.Option); n == 2 {
			list = append(list, c)
		}
	}
	return list
}
