package middleware_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/middleware"
	"github.com/looptape/looptape/trace"
)

const (
	word  middleware.Var[string] = "name"
	total middleware.Var[int]    = "count"
)

// inTool returns a tool that uses the variables. It waits as long as its argument specifies,
// at the start and at the end.
func inTool(tool string, clock loop.Clock, f func(s *middleware.Vars, id string) string) loop.Tool {
	return loop.Tool{Name: tool, Run: func(ctx context.Context, c loop.Call) (loop.Output, error) {
		vars, ok := middleware.VarsFromContext(ctx)
		if !ok {
			return loop.TextOutput("no variables"), nil
		}
		var wait time.Duration
		if _, err := fmt.Sscanf(c.Arguments, `{"wait":%d}`, &wait); err != nil {
			return loop.Output{}, err
		}
		if err := clock.Sleep(ctx, wait); err != nil {
			return loop.Output{}, err
		}
		text := f(vars, fmt.Sprint("c", c.Index+1))
		return loop.TextOutput(text), clock.Sleep(ctx, wait)
	}}
}

func waiting(tool string, waits ...int) fake.Response {
	var t fake.Response
	for i, w := range waits {
		t.Calls = append(t.Calls, fake.Call{ID: fmt.Sprint("c", i+1), Name: tool, Arguments: fmt.Sprintf(`{"wait":%d}`, w)})
	}
	return t
}

// Writes take effect in the order of the calls when the step ends, in whatever order the tools
// end. Each call reads its own writes (DA-18, DA-21, DA-46).
func TestVariables(t *testing.T) {
	for seed, waits := range [][]int{{1, 2, 3}, {3, 2, 1}, {2, 3, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}} {
		clock := fake.NewClock()
		clock.Seed = uint64(seed) // determines which tool ends first
		given := map[string]any{"count": 10, "kept": true}
		vars := middleware.NewVars(given)
		write := inTool("write", clock, func(s *middleware.Vars, id string) string {
			before, _ := word.Get(s)
			word.Set(s, before+id)
			total.Update(s, func(n int) int { return n + 1 })
			n, _ := total.Get(s)
			after, _ := word.Get(s)
			return fmt.Sprint(before, ">", after, n)
		})
		var mem trace.Memory
		agent, err := loop.New(fake.NewModel(waiting("write", waits...), waiting("write", 1), fake.Response{Text: "done"}), &loop.Config{
			Clock: clock, Tools: []loop.Tool{write}, Middleware: []loop.Middleware{middleware.Variables(vars)}, Sink: &mem,
		})
		if err != nil {
			t.Fatal(err)
		}
		res, err := agent.Run(t.Context(), loop.Prompt("go"))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range res.Steps {
			for _, r := range s.Results {
				got = append(got, r.Text())
			}
		}
		if diff := cmp.Diff([]string{">c111", ">c211", ">c311", "c3>c3c114"}, got); diff != "" {
			t.Errorf("waits %v: results (-want +got):\n%s", waits, diff)
		}
		if diff := cmp.Diff(map[string]any{"name": "c3c1", "count": 14, "kept": true}, vars.Values()); diff != "" {
			t.Errorf("waits %v: values (-want +got):\n%s", waits, diff)
		}
		if diff := cmp.Diff(map[string]any{"count": 10, "kept": true}, given); diff != "" {
			t.Errorf("waits %v: the caller's values (-want +got):\n%s", waits, diff)
		}
		if diff := cmp.Diff([]string{`0 {"count":13,"name":"c3"}`, `1 {"count":14,"name":"c3c1"}`}, customs(mem.Events(), "variables")); diff != "" {
			t.Errorf("waits %v: events (-want +got):\n%s", waits, diff)
		}
	}
}

// customs returns the custom events of a name with their steps.
func customs(events []trace.Event, name string) (out []string) {
	for _, ev := range events {
		if c, ok := ev.Body.(trace.Custom); ok && c.Name == name {
			out = append(out, fmt.Sprintf("%d %s", ev.Step, c.Data))
		}
	}
	return out
}

// The writes of the last step take effect even if the run ends with it. A value that is not
// JSON is not an error.
func TestVariablesOfTheLastStep(t *testing.T) {
	clock := fake.NewClock()
	for steps, events := range map[int][]string{1: nil, 2: {`0 {"name":"float64"}`}} {
		vars := &middleware.Vars{}
		odd := inTool("odd", clock, func(s *middleware.Vars, _ string) string {
			middleware.Var[float64]("name").Set(s, math.Inf(1))
			return ""
		})
		var mem trace.Memory
		agent, err := loop.New(fake.NewModel(waiting("odd", 1), fake.Response{Text: "done"}), &loop.Config{
			Clock: clock, Tools: []loop.Tool{odd}, MaxSteps: steps, Middleware: []loop.Middleware{middleware.Variables(vars)}, Sink: &mem,
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := agent.Run(t.Context(), loop.Prompt("go")); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(map[string]any{"name": math.Inf(1)}, vars.Values()); diff != "" {
			t.Errorf("%d steps: values (-want +got):\n%s", steps, diff)
		}
		if diff := cmp.Diff(events, customs(mem.Events(), "variables")); diff != "" {
			t.Errorf("%d steps: events (-want +got):\n%s", steps, diff)
		}
		if _, ok := word.Get(vars); ok {
			t.Error("a value of another type was accepted as a string")
		}
	}
}

// A step without writes causes no event. Without the middleware there are no variables. Writes
// after the end of a step are dropped.
func TestVariablesUnused(t *testing.T) {
	clock := fake.NewClock()
	vars := middleware.NewVars(nil)
	var kept *middleware.Vars
	read := inTool("read", clock, func(s *middleware.Vars, _ string) string {
		kept = s
		_, ok := word.Get(s)
		return fmt.Sprint(ok)
	})
	for _, policies := range [][]loop.Middleware{{middleware.Variables(vars)}, nil} {
		var mem trace.Memory
		agent, err := loop.New(fake.NewModel(waiting("read", 1), fake.Response{Text: "done"}), &loop.Config{Clock: clock, Tools: []loop.Tool{read}, Middleware: policies, Sink: &mem})
		if err != nil {
			t.Fatal(err)
		}
		res, err := agent.Run(t.Context(), loop.Prompt("go"))
		if err != nil {
			t.Fatal(err)
		}
		want := "false"
		if policies == nil {
			want = "no variables"
		}
		if got := res.Steps[0].Results[0].Text(); got != want || customs(mem.Events(), "variables") != nil {
			t.Errorf("got %q, events %q", got, customs(mem.Events(), "variables"))
		}
	}
	word.Set(kept, "late")
	if got := vars.Values(); len(got) != 0 {
		t.Errorf("written after the step: %v", got)
	}
}

// A nested run uses the variables of the tool that started it: its writes take effect in the
// order of that tool's calls.
func TestVariablesOfNestedRuns(t *testing.T) {
	clock := fake.NewClock()
	vars := middleware.NewVars(map[string]any{"name": "x"})
	add := inTool("add", clock, func(s *middleware.Vars, id string) string {
		word.Update(s, func(old string) string { return old + id })
		return ""
	})
	nest := loop.Tool{Name: "nest", Run: func(ctx context.Context, c loop.Call) (loop.Output, error) {
		mine, _ := middleware.VarsFromContext(ctx)
		if c.Index == 0 {
			if err := clock.Sleep(ctx, time.Second); err != nil {
				return loop.Output{}, err
			}
		}
		inner, err := loop.New(fake.NewModel(waiting("add", 1), fake.Response{Text: "done"}), &loop.Config{Clock: clock, Tools: []loop.Tool{add}, Middleware: []loop.Middleware{middleware.Variables(mine)}})
		if err != nil {
			return loop.Output{}, err
		}
		_, err = inner.Run(ctx, loop.Prompt("go"))
		word.Update(mine, func(old string) string { return old + "-" + c.ID })
		got, _ := word.Get(mine)
		return loop.TextOutput(got), err
	}}
	agent, err := loop.New(fake.NewModel(waiting("nest", 1, 2), fake.Response{Text: "done"}), &loop.Config{Clock: clock, Tools: []loop.Tool{nest}, Middleware: []loop.Middleware{middleware.Variables(vars)}})
	if err != nil {
		t.Fatal(err)
	}
	res, err := agent.Run(t.Context(), loop.Prompt("go"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range res.Steps[0].Results {
		got = append(got, r.Text())
	}
	if diff := cmp.Diff("xc1-c1 xc1-c2", strings.Join(got, " ")); diff != "" {
		t.Errorf("values in the tools (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]any{"name": "xc1-c1c1-c2"}, vars.Values()); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
}

// Isolated variables are not shared, and all others are.
func TestVarsIsolate(t *testing.T) {
	vars := middleware.NewVars(map[string]any{"name": "x", "count": 1})
	s := vars.Isolate("name")
	if got, ok := word.Get(s); ok {
		t.Errorf("got %q of another scope", got)
	}
	word.Set(s, "y")
	total.Set(s, 2)
	got, _ := word.Get(s)
	if diff := cmp.Diff(map[string]any{"name": "x", "count": 2}, vars.Values()); diff != "" || got != "y" {
		t.Errorf("got %q, and around it (-want +got):\n%s", got, diff)
	}
}
