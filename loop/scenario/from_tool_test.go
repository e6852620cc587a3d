package scenario_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/loop/scenario"
	"github.com/looptape/looptape/trace"
)

// record runs a scenario without its version and input.
func record(t *testing.T, src string) *scenario.Result {
	t.Helper()
	path := filepath.Join(t.TempDir(), "f.yaml")
	if err := os.WriteFile(path, []byte("version: 1\ninput: go\n"+src+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return played(t, path)
}

// repeated makes a scenario of events, which gives the trace that it expects.
func repeated(t *testing.T, events []trace.Event) (made string, f *scenario.File) {
	t.Helper()
	src, err := scenario.FromTrace(events)
	if err != nil {
		t.Fatal(err)
	}
	f, err = scenario.Parse("made", src)
	if err != nil {
		t.Fatalf("%v\n%s", err, src)
	}
	o, err := scenario.Run(t.Context(), f.Script, nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, src)
	}
	if diff := f.Compare(o); diff != "" || strings.Contains(f.Comment, "Omitted: ") {
		t.Errorf("not repeated: %s\n%s", diff, src)
	}
	return string(src), f
}

const twice = "models: {main: [{calls: [{id: c1, name: t, args: {n: 1}}, {id: c2, name: t, args: {n: 2}}]}, {text: done}]}\n"

// A scenario made of a run repeats tools that ignore the end of their context.
func TestFromTraceTools(t *testing.T) {
	for _, c := range []struct{ name, src, want string }{
		{"late", twice + "tools: {t: {text: late, delay: 20ms, ignores_cancel: true}}\ncancel: {at: 10ms}", `
      - text: late
        delay: 20ms
        ignores_cancel: true
      - text: late
        delay: 20ms
        ignores_cancel: true
`},
		{"late, alone", "models: {main: [{calls: [{id: c1, name: t, args: {}}]}]}\ntools: {t: {text: late, delay: 20ms, ignores_cancel: true}}\ncancel: {at: 10ms}", `
      - text: late
        delay: 20ms
        ignores_cancel: true
`},
		{"one after another", twice + "loop: {concurrency: 1}\ntools: {t: {by_args: [{args: {n: 1}, text: a, delay: 2ms}, {args: {n: 2}, text: b, delay: 20ms, ignores_cancel: true}]}}\ncancel: {at: 10ms}", `
      - text: a
        delay: 2ms
      - text: b
        delay: 20ms
        ignores_cancel: true
`},
		{"one in time", twice + "tools: {t: {by_args: [{args: {n: 1}, error: late, delay: 11ms, ignores_cancel: true}, {args: {n: 2}, text: early, delay: 9ms}]}}\ncancel: {at: 10ms}", `
      - error: late
        delay: 11ms
        ignores_cancel: true
      - text: early
        delay: 9ms
`},
		{"at the same time", twice + "tools: {t: {by_args: [{args: {n: 1}, panic: oh, delay: 10ms, ignores_cancel: true}, {args: {n: 2}, stall: true}]}}\ncancel: {at: 10ms}", `
      - panic: oh
        delay: 10ms
        ignores_cancel: true
      - stall: true
`},
		{"abandoned", twice + "loop: {grace: 5ms}\ntools: {t: {by_args: [{args: {n: 1}, text: a, delay: 2h, ignores_cancel: true}, {args: {n: 2}, text: b, delay: 14ms, ignores_cancel: true}]}}\ncancel: {at: 10ms}", `
      - delay: 1h0m0.015s
        ignores_cancel: true
      - text: b
        delay: 14ms
        ignores_cancel: true
`},
		{"after its own time", twice + "loop: {tool_timeout: 10ms, max_steps: 1}\ntools: {t: {by_args: [{args: {n: 1}, text: a, delay: 11ms, ignores_cancel: true}, {args: {n: 2}, text: b, delay: 9ms}]}}", `
      - delay: 11ms
        ignores_cancel: true
      - text: b
        delay: 9ms
`},
		{"at the end of its own time", twice + "loop: {tool_timeout: 10ms, max_steps: 1}\ntools: {t: {by_args: [{args: {n: 1}, text: a, delay: 10ms, ignores_cancel: true}, {args: {n: 2}, stall: true}]}}", `
      - stall: true
      - stall: true
`},
		{"at once", twice + "loop: {max_steps: 1}\ntools: {t: {by_args: [{args: {n: 1}, text: a}, {args: {n: 2}, exit: true}]}}", `
      - text: a
      - exit: true
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			made, _ := repeated(t, record(t, c.src).Events)
			if diff := cmp.Diff(strings.TrimPrefix(c.want, "\n"), behaviors(made)); diff != "" {
				t.Errorf("behaviors (-want +got):\n%s", diff)
			}
		})
	}
}

// behaviors returns the calls of the only tool of a scenario.
func behaviors(made string) string {
	_, tools, _ := strings.Cut(made, "    calls:\n")
	tools, _, _ = strings.Cut(tools, "models:\n")
	return tools
}

// onRealClock makes the events those of a run whose clock began at 77 ns.
func onRealClock(events []trace.Event) {
	start := events[0].Body.(trace.RunStart)
	start.Clock = trace.ClockReal
	events[0].Body = start
	for i := range events {
		events[i].At += 77
	}
}

// A run on a real clock is expected with virtual times.
func TestFromTraceRealClock(t *testing.T) {
	o := record(t, "tools: {t: {text: a, delay: 5ms}}\nloop: {retry: {max: 1}}\nmodels: {main: [{calls: [{id: c1, name: t, args: {}}]}, {attempts: [{error: {status: 500}}, {text: done}]}]}")
	onRealClock(o.Events)
	_, f := repeated(t, o.Events)
	if !strings.Contains(f.Trace, "clock=virtual") || !strings.Contains(f.Trace, "@500ms") || strings.Contains(f.Trace, "77ns") {
		t.Errorf("got\n%s", f.Trace)
	}
}

// What took its time on a real clock takes none: there is nothing in it to cancel.
func TestFromTraceRealTools(t *testing.T) {
	for _, c := range []struct{ name, src, want string }{
		{"after the cancel", "tools: {t: {text: late, delay: 20ms, ignores_cancel: true}}\ncancel: {at: 10ms}", "      - text: late\n      - text: late\n"},
		{"as it comes", "loop: {concurrency: 1}\ntools: {t: {text: a, delay: 10ms, ignores_cancel: true}}\ncancel: {at: 10ms}", "      - text: a\n"},
	} {
		o := record(t, twice+c.src)
		onRealClock(o.Events)
		made, err := scenario.FromTrace(o.Events)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, behaviors(string(made))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// The comment of the scenario reports what prevents a repetition of the run.
func TestFromTraceReportsDifference(t *testing.T) {
	whole := record(t, twice+"tools: {t: {text: a}}").Events
	without := func(kind trace.Kind) (events []trace.Event) {
		for _, ev := range whole {
			if ev.Body.Kind() != kind {
				events = append(events, ev)
			}
		}
		return events
	}
	unnamed := append([]trace.Event(nil), whole...)
	start := unnamed[0].Body.(trace.RunStart)
	start.Tools = []trace.ToolInfo{{Name: "a b"}}
	unnamed[0].Body = start
	for _, c := range []struct {
		name   string
		events []trace.Event
		want   string
	}{
		{"cancelled in a tool", record(t, twice+"tools: {t: {text: a, delay: 5ms}}\nloop: {concurrency: 1}\ncancel: {in_tool: t}").Events, "the cancellation, whose time is unknown."},
		{"cut off", whole[:len(whole)-1], "the cause of a difference from line 17 of the trace."},
		{"no end of tools", without(trace.KindToolEnd), "the cause of a difference from line 8 of the trace."},
		{"no start of tools", without(trace.KindToolStart), "the cause of a difference from line 7 of the trace."},
		{"a tool that no loop takes", unnamed, `the cause of an error: the tool name "a b" is not one that providers take: letters, digits, _ and -, 64 characters at most.`},
	} {
		src, err := scenario.FromTrace(c.events)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		_, got, _ := strings.Cut(string(src), "Omitted: ")
		got, _, _ = strings.Cut(got, "\n")
		if got != c.want {
			t.Errorf("%s: got %q, want %q\n%s", c.name, got, c.want, src)
		}
	}
}

// A scenario repeats the errors of providers.
func TestFromTraceFailures(t *testing.T) {
	for _, c := range []struct{ failure, want string }{
		{"{connection: reset}", "connection: reset"},
		{"{connection: closed, code: x, message: 'a: b'}", "message: 'a: b'"},
		{"{status: 500, connection: reset, message: oh}", "connection: reset"},
		{"{status: 429, code: slow, message: 'wait, no response', retry_after: 2s}", "message: 'wait, no response'"},
		{"{message: the connection}", "message: the connection"},
		{"{message: unexpected EOF}", "message: unexpected EOF"},
		{"{status: 500, message: unexpected EOF}", "connection: closed"}, // the same error
		{"{status: 503}", "status: 503"},
		{"{}", "retryable: false"},
		{"{code: c, request_id: q}", "request_id: q"},
		{"{message: 'a (request b'}", "message: a (request b\n"},
	} {
		made, _ := repeated(t, record(t, "models: {main: [{text: x, error: "+c.failure+"}]}").Events)
		if !strings.Contains(made, c.want) {
			t.Errorf("%s: want %q in\n%s", c.failure, c.want, made)
		}
	}
	o := record(t, "models: {main: [{error: {status: 503}}]}")
	for i, ev := range o.Events {
		if e, ok := ev.Body.(trace.ModelError); ok {
			e.Error.Message = "busy"
			o.Events[i].Body = e
		}
	}
	made, err := scenario.FromTrace(o.Events)
	if err != nil || !strings.Contains(string(made), "message: busy\n") || !strings.Contains(string(made), "Omitted: the cause of a difference") {
		t.Errorf("words of another kind: %v\n%s", err, made)
	}
}
