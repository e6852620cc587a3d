package looptape_test

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/scenario"
)

// ends has a run for each row of the table of stop reasons in docs/loop.md: the value of
// Result.StopReason, a fragment of a scenario, and a part of the error of the run.
var ends = []struct{ stop, scenario, err string }{
	{"end_turn", "models: {main: [{text: done}]}", ""},
	{"max_steps", "loop: {max_steps: 1}\ntools: {a: {text: A}}\nmodels: {main: [{calls: [{name: a, arguments: {}}]}]}", ""},
	{"max_steps", "loop: {max_steps: 1, on_step_limit: error}\ntools: {a: {text: A}}\nmodels: {main: [{calls: [{name: a, arguments: {}}]}]}", "the run reached its step limit"},
	{"forced", "loop: {max_steps: 1, on_step_limit: force_final}\ntools: {a: {text: A}}\nmodels: {main: [{calls: [{name: a, arguments: {}}]}, {text: done}]}", ""},
	{"stop_condition", "loop: {stop_when: [{step_count: 1}]}\ntools: {a: {text: A}}\nmodels: {main: [{calls: [{name: a, arguments: {}}]}]}", ""},
	{"runaway_guard", "loop: {max_consecutive_tool_errors: 1}\ntools: {a: {error: no}}\nmodels: {main: [{calls: [{name: a, arguments: {}}]}]}", ""},
	{"budget", "loop: {token_budget: 1}\ntools: {a: {text: A}}\nmodels: {main: [{calls: [{name: a, arguments: {}}], usage: {input_tokens: 1, output_tokens: 1}}]}", ""},
	{"client_tools", "tools: {a: {client: true}}\nmodels: {main: [{calls: [{name: a, arguments: {}}]}]}", ""},
	{"approval", "loop: {middleware: [{permissions: {a: {ask: suspend}}}]}\ntools: {a: {text: A}}\nmodels: {main: [{calls: [{name: a, arguments: {}}]}]}", ""},
	{"stopped", "", ""}, // see TestDocStopped
	{"middleware", "loop: {middleware: [{answer_tool: a}]}\nmodels: {main: [{calls: [{name: a, arguments: {}}]}]}", ""},
	{"continued_turn", "loop: {continuations: 1}\nmodels: {main: [{repeat: 2, text: 'well,', finish_reason: pause}]}", ""},
	{"deadline", "loop: {deadline: 1s}\nmodels: {main: [{text: done, delay: 2s}]}", "the run took longer than its deadline"},
	{"deadline", "loop: {stall_timeout: 1s}\nmodels: {main: [{stall: true}]}", "the model delivered no event"},
	{"cancel", "models: {main: [{text: done}]}\ncancel: {before: true}", "context canceled"},
	{"cancel", "models: {main: [{text: done}]}\nconsumer: {stop_after: 2}", "the iteration over the run's events was stopped"},
	{"error", "models: {main: [{error: {status: 500}}]}", "status 500"},
	{"error", "models: {main: [{finish_reason: malformed_call}]}", "the provider reports a malformed call"},
}

func TestDocEnds(t *testing.T) {
	var rows, tested []string
	_, table, _ := strings.Cut(read(t, "docs/loop.md"), "| stop reason | condition | error |")
	table, _, _ = strings.Cut(table, "\n\n")
	for _, m := range regexp.MustCompile("(?m)^\\| `(\\w+)` ").FindAllStringSubmatch(table, -1) {
		rows = append(rows, m[1])
	}
	for i, c := range ends {
		if i == 0 || ends[i-1].stop != c.stop {
			tested = append(tested, c.stop)
		}
		if c.scenario == "" {
			continue
		}
		s, err := fake.ParseScript(c.stop, []byte(complete(c.scenario+"\n")))
		if err != nil {
			t.Error(err)
			continue
		}
		o, err := scenario.Run(t.Context(), s, nil)
		if err != nil {
			t.Error(err)
			continue
		}
		if string(o.Run.StopReason) != c.stop || (o.Err != nil) != (c.err != "") || o.Err != nil && !strings.Contains(o.Err.Error(), c.err) {
			t.Errorf("%s: got %s and %v, want %s and %q", c.scenario, o.Run.StopReason, o.Err, c.stop, c.err)
		}
	}
	if diff := cmp.Diff(tested, rows); diff != "" {
		t.Errorf("the rows of the table of stop reasons in docs/loop.md (-tested +documented):\n%s", diff)
	}
}

// TestDocStopped checks the stop reasons that no scenario can show: Run.Stop, and a deadline of the
// context.
func TestDocStopped(t *testing.T) {
	clock := fake.NewClock()
	agent, err := loop.New(&fake.Model{Clock: clock, Responses: []fake.Response{{Text: "late", Delay: time.Hour}}}, &loop.Config{Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	run := agent.Start(t.Context(), loop.Prompt("go"))
	run.Stop()
	if res, err := run.Wait(); res.StopReason != "stopped" || err != nil {
		t.Errorf("got %s, %v", res.StopReason, err)
	}
	ctx, cancel := clock.WithTimeout(t.Context(), time.Second, context.DeadlineExceeded)
	defer cancel()
	if res, err := agent.Run(ctx, loop.Prompt("go")); res.StopReason != "deadline" || !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, loop.ErrDeadline) {
		t.Errorf("got %s, %v", res.StopReason, err)
	}
}
