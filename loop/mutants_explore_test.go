package loop_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/explore"
	"github.com/looptape/looptape/loop/middleware"
	"github.com/looptape/looptape/loop/scenario"
)

// exploredConfigs are the configurations in which changed loops are explored, with plain scripts.
var exploredConfigs = []struct {
	name         string
	steps, calls int
	adjust       func(*loop.Config)
}{
	{"defaults", 2, 2, func(c *loop.Config) { c.Concurrency = -1 }},
	{"a limit, retries, a timeout and a grace period", 1, 3, func(c *loop.Config) {
		c.Concurrency, c.Retry.Max, c.ToolTimeout, c.Grace = 2, 1, time.Minute, time.Second
	}},
	{"limits", 2, 2, func(c *loop.Config) { c.Concurrency, c.MaxSteps, c.MaxConsecutiveToolErrors = 1, 2, 1 }},
	{"a budget", 2, 2, func(c *loop.Config) { c.TokenBudget = 12 }},
	{"a short history", 2, 2, func(c *loop.Config) {
		c.OneMessagePerResult, c.Middleware = true, []loop.Middleware{middleware.KeepLast(2, 3)}
	}},
	{"non-streaming", 2, 2, func(c *loop.Config) { c.ResponseMode = llm.NonStreaming }},
	{"tools that fail", 2, 2, func(c *loop.Config) {
		c.MaxConsecutiveToolErrors = 1
		for i := range c.Tools {
			c.Tools[i].Run = func(context.Context, loop.Call) (loop.Output, error) {
				return loop.Output{}, errors.New("no connection")
			}
		}
	}},
	{"a tool of the client", 1, 2, func(c *loop.Config) { c.Tools[0].Run = nil }},
}

// together are the invariants that no mutant violates alone in an exploration, with the reason.
var together = map[string]string{
	"INV-01": "a resumed run begins with the changed history",
	"INV-02": "a resumed run begins with the changed history",
	"INV-03": "a resumed run begins with the changed history",
	"INV-23": "the runaway guard does not count the result, which INV-20 reports",
}

// exploredScript is a plain script with usage and opaque data.
func exploredScript(steps, calls int) *fake.Script {
	s := &fake.Script{File: "plain", Input: []llm.Message{llm.User("go")}, Tools: []fake.Tool{{Name: "t", Behavior: fake.Behavior{Text: "fine"}}, {Name: "u", Behavior: fake.Behavior{Text: "good"}}}}
	var list []fake.Response
	for i := range steps {
		r := fake.Response{Opaque: []byte(`{"m":1}`), Usage: llm.Usage{InputTokens: 10, OutputTokens: 2, CacheReadInputTokens: 3}}
		for j := range calls {
			r.Calls = append(r.Calls, fake.Call{ID: fmt.Sprintf("c%d%d", i+1, j+1), Name: []string{"t", "u"}[j%2], Arguments: fmt.Sprintf(`{"n":%d}`, calls*i+j)})
		}
		list = append(list, r)
	}
	s.Models = []fake.ModelScript{{Name: "main", Responses: append(list, fake.Response{Text: "all done"})}}
	return s
}

// exploredInvariant is how an exploration finds an invariant violated.
type exploredInvariant struct {
	Runs    int    // the number of runs in all configurations until then, or 0 if runs were unstable
	Where   string // the configuration
	Choices string
}

// exploredInvariants explores the loop in each configuration, and returns the invariants that it violates.
func exploredInvariants(t *testing.T) map[string]exploredInvariant {
	t.Helper()
	found, before := map[string]exploredInvariant{}, 0
	for _, cfg := range exploredConfigs {
		start, err := scenario.Program(exploredScript(cfg.steps, cfg.calls), cfg.adjust)
		if err != nil {
			t.Fatal(err)
		}
		r := explore.Exhaust(start, explore.Bounds{Faults: 1})
		for _, f := range r.Failures {
			if _, again := found[f.Invariant]; !again {
				found[f.Invariant] = exploredInvariant{before + f.Run, cfg.name, fmt.Sprint(f.Choices)}
			}
		}
		if _, again := found["INV-27"]; len(r.Unstable) > 0 && !again {
			found["INV-27"] = exploredInvariant{0, cfg.name, r.Unstable[0]}
		}
		before += r.Runs
	}
	return found
}

// TestExploreConfigs explores the loop in each configuration of the mutants: no run violates an invariant.
func TestExploreConfigs(t *testing.T) {
	if found := exploredInvariants(t); len(found) > 0 {
		t.Errorf("violated: %v", found)
	}
}
