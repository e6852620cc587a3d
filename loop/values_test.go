package loop_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/trace"
)

// A caller gets the Go values of results: from the steps, and from a run whose events it reads.
func TestValues(t *testing.T) {
	type weather struct{ TempC int }
	good, err := loop.NewTool("good", "", func(context.Context, struct{}) (weather, error) { return weather{20}, nil })
	if err != nil {
		t.Fatal(err)
	}
	null := loop.Tool{Name: "null", Run: func(context.Context, loop.Call) (loop.Output, error) { return loop.JSONOutput(nil) }}
	bad := tool("bad", func(context.Context) (string, error) { return "", errors.New("no connection") })
	cfg := loop.Config{Tools: []loop.Tool{good, null, bad, echo("plain")}}
	step := calls("good", "null", "bad", "plain")
	want := map[string]any{"c1": weather{20}, "c2": json.RawMessage("null")}
	inStep := []any{weather{20}, json.RawMessage("null"), "no connection", "{}"}

	for _, read := range []bool{true, false} {
		run := newAgent(t, model(step, calls("plain#p"), text("done")), cfg).Start(t.Context(), loop.Prompt("go"))
		values := func() map[string]any {
			got := map[string]any{}
			for _, id := range []string{"c1", "c2", "c3", "c4", "c5"} {
				if v := run.Value(id); v != nil {
					got[id] = v
				}
			}
			return got
		}
		if read {
			for ev, err := range run.Events() {
				if err != nil {
					t.Error(err)
				}
				if _, ends := ev.Body.(trace.StepEnd); ends {
					if diff := cmp.Diff(want, values()); diff != "" {
						t.Errorf("values at the end of step %d (-want +got):\n%s", ev.Step, diff)
					}
				}
			}
		}
		res, err := run.Wait()
		if err != nil {
			t.Fatal(err)
		}
		if got := values(); read != cmp.Equal(want, got) || !read && len(got) > 0 {
			t.Errorf("events read %t: values after the end %v", read, got)
		}
		for i := range inStep {
			if diff := cmp.Diff(inStep[i], res.Steps[0].Value(i)); diff != "" {
				t.Errorf("events read %t: value %d of the step (-want +got):\n%s", read, i, diff)
			}
		}
		if got := res.Steps[1].Value(0); got != "{}" {
			t.Errorf("value of a step without values: %v", got)
		}
	}
}
