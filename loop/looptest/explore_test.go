package looptest_test

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/looptest"
)

// kernel is the loop of this module.
func kernel(ctx context.Context, in *looptest.Input) (*looptest.Result, error) {
	var tools []loop.Tool
	for _, t := range in.Tools {
		tools = append(tools, loop.Tool{Name: t.Name, Run: func(ctx context.Context, c loop.Call) (loop.Output, error) {
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
