package scenario_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/loop/scenario"
	"github.com/looptape/looptape/trace"
)

// kinds are those of the events, up to the cancel.
func kinds(events []trace.Event) string {
	var list []string
	for _, ev := range events {
		if ev.Body.Kind() == trace.KindCanceled {
			break
		}
		list = append(list, string(ev.Body.Kind()))
	}
	return strings.Join(list, " ")
}

// A consumer stops the iteration after the number of events in the script.
func TestConsumer(t *testing.T) {
	for consumer, want := range map[string]string{
		"":                           "run.start step.start model.config model.request model.delta model.response decision step.end run.end",
		"consumer: {leave_after: 1}": "run.start",
		"consumer: {leave_after: 4}": "run.start step.start model.config model.request",
		"consumer: {leave_after: 5}": "run.start step.start model.config model.request model.delta",
	} {
		o := record(t, "models: {main: [{text: hi, delay: 1ms}]}\n"+consumer)
		if diff := cmp.Diff(want, kinds(o.Events)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", consumer, diff)
		}
	}
}

// The size of the chunks, of the script or of the caller, does not change the result.
func TestChunks(t *testing.T) {
	f, err := scenario.Parse("f", []byte("version: 1\nloop: {retry: {max: 1}}\nmodels: {main: [{attempts: [{error: {status: 500}}, {text: abcdef, chunk: 2}]}]}\ninput: go\n"))
	if err != nil {
		t.Fatal(err)
	}
	traces := map[string]bool{}
	for chunk, want := range map[int]string{0: "ab cd ef", 1: "a b c d e f", 4: "abcd ef", 9: "abcdef"} {
		o, err := scenario.Run(t.Context(), f.Script, &scenario.Options{Chunk: chunk})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, ev := range o.Events {
			if d, ok := ev.Body.(trace.ModelDelta); ok {
				got = append(got, d.Text)
			}
		}
		if diff := cmp.Diff(want, strings.Join(got, " ")); diff != "" {
			t.Errorf("chunks of %d (-want +got):\n%s", chunk, diff)
		}
		traces[o.Trace()] = true
	}
	if len(traces) != 1 {
		t.Errorf("got %d traces, want one: %v", len(traces), traces)
	}
}

// A run stops once it has cost the limit: what its usage comes to at the prices.
func TestStopAtCost(t *testing.T) {
	const turn = "{calls: [{id: c1, name: t, args: {}}], usage: {input: 5, output: 7}}" // costs 31
	for limit, want := range map[string]int{"31": 1, "31.5": 2, "62": 2, "62.5": 3} {
		o := record(t, "loop: {max_steps: 3, stop_when: [{cost: {limit: "+limit+", input: 2, output: 3}}]}\ntools: {t: {text: a}}\nmodels: {main: ["+turn+", "+turn+", "+turn+"]}")
		if got := len(o.Run.Steps); got != want {
			t.Errorf("limit %s: got %d steps, want %d", limit, got, want)
		}
	}
}

// People decide as they are listed, one decision a call.
func TestHumanDecisions(t *testing.T) {
	const left = "not run: no decision could be had: no decision left in the script: add one per call"
	for decisions, want := range map[string][]string{
		"[approve, {respond: hi}]":              {"ran", "hi"},
		"[{reject: no}, approve]":               {"not run: the user rejected the call: no", "ran"},
		"[approve]":                             {"ran", left},
		"[]":                                    {left, left},
		"[approve, approve, {reject: unasked}]": {"ran", "ran"},
	} {
		o := record(t, twice+"loop: {policies: [human_in_the_loop: "+decisions+"]}\ntools: {t: {text: ran}}")
		var got []string
		for _, r := range o.Run.Steps[0].Results {
			got = append(got, r.Text())
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", decisions, diff)
		}
	}
}

// A tool that ends the goroutine of the run ends the run, and not the caller of Run.
func TestRunToolExits(t *testing.T) {
	o := record(t, "tools: {f: {exit: true}}\nmodels: {main: [{calls: [{id: a, name: f, args: {}}]}, {text: hi}]}")
	if o.Err == nil || !strings.Contains(o.Err.Error(), "runtime.Goexit") {
		t.Errorf("the error of the run is %v, want that of an ended goroutine", o.Err)
	}
	if want := `tool.end        0   a panic "the tool ended its goroutine instead of returning" error`; !strings.Contains(o.Trace(), want) {
		t.Errorf("the trace has no line %q:\n%s", want, o.Trace())
	}
}

// The error of a deadlock names the gate and the calls that wait.
func TestRunDeadlockNamesCalls(t *testing.T) {
	f, err := scenario.Parse("f", []byte("version: 1\nname: n\ntools: {f: {gate: one}, g: {stall: true}}\ninput: go\n"+
		"models: {main: [{calls: [{id: a, name: f, args: {}}, {id: b, name: g, args: {}}]}, {text: hi}]}\n"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = scenario.Run(t.Context(), f.Script, nil)
	want := "f: fake: deadlock: all tasks wait, for a signal, gate one, the end of a context: open the gates in order, or end the context " +
		"(calls that wait: a of the tool f, b of the tool g)"
	if err == nil || err.Error() != want {
		t.Errorf("got the error %v, want %s", err, want)
	}
}
