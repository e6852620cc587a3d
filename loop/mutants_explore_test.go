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

// exploredInvariants explores the loop and returns the invariants that it violates, each with the configuration and
// the number of runs until it was found.
func exploredInvariants(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, cfg := range exploredConfigs {
		start, err := scenario.Program(exploredScript(cfg.steps, cfg.calls), cfg.adjust)
		if err != nil {
			t.Fatal(err)
		}
		r := explore.Exhaust(start, explore.Bounds{Faults: 1})
		for _, f := range r.Failures {
			if found[f.Invariant] == "" {
				found[f.Invariant] = fmt.Sprintf("run %d of %d with %s: %v", f.Run, r.Runs, cfg.name, f.Choices)
			}
		}
		if len(r.Unstable) > 0 && found["INV-27"] == "" {
			found["INV-27"] = "unstable with " + cfg.name
		}
	}
	return found
}

// TestExploreConfigs explores the loop in each configuration of the mutants: no run violates an invariant.
func TestExploreConfigs(t *testing.T) {
	if found := exploredInvariants(t); len(found) > 0 {
		t.Errorf("violated: %v", found)
	}
}
