package trace_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/trace"
)

// traceOf is a trace of runs of these names: one that ends, with a request, and the
// others without an end.
func traceOf(tb testing.TB, writer string, runs ...string) string {
	tb.Helper()
	var evs []trace.Event
	for i, run := range runs {
		ev := request(run, 0, writer)
		ev.Seq = 1
		evs = append(evs, trace.Event{Run: run, Body: trace.RunStart{}}, ev)
		if i == 0 {
			evs = append(evs, trace.Event{Run: run, Seq: 2, Body: trace.RunEnd{}})
		}
	}
	return string(write(tb, trace.Header{Writer: writer}, evs))
}

// cutTrace is a trace of run a that is truncated within its last line.
const cutTrace = `{"format":"looptape-trace","version":2,"writer":"w"}
{"seq":0,"run":"a","kind":"run.start"}
{"seq":1,"run":"a","step":0,"kind":"step.start"}
{"seq":`

// A header within a file begins a part, whose runs are other runs.
func TestParts(t *testing.T) {
	for _, c := range []struct {
		name string
		file string
		want []string // runs of run.start, each with the header's writer; errors
	}{
		{"one part", traceOf(t, "w", "a", "b"), []string{"a w", "b w"}},
		{"two parts", traceOf(t, "w", "a", "b") + traceOf(t, "v", "b", "c"), []string{"a w", "b w", "b#2 v", "c v"}},
		{"three parts", traceOf(t, "w", "a") + traceOf(t, "v", "a") + traceOf(t, "u", "b", "a"), []string{"a w", "a#2 v", "b u", "a#3 u"}},
		{"the new name is used already", traceOf(t, "w", "a", "a#2") + traceOf(t, "v", "a", "a#2", "a#3"), []string{"a w", "a#2 w", "a#3 v", "a#2#2 v", "a#3#2 v"}},
		{"no name", traceOf(t, "w", "", "b") + traceOf(t, "v", "", "b"), []string{" w", "b w", "#2 v", "b#2 v"}},
		{"a part without events", traceOf(t, "w", "a") + header + "\n" + traceOf(t, "v", "a"), []string{"a w", "a#3 v"}},
		{"a part of a newer version", traceOf(t, "w", "a") + `{"format":"looptape-trace","version":3}` + "\n" + traceOf(t, "v", "b"), []string{
			"a w", "trace: reading line 5: trace: the file has version 3 of the format, and this program reads up to 2: use a newer looptape",
		}},
		{"a header without a version", traceOf(t, "w", "a") + `{"format":"looptape-trace"}` + "\n" + traceOf(t, "v", "b"), []string{
			"a w", `line 5: the event has no "kind" at format (byte 11)`, "b v",
		}},
		{"after a truncated line", cutTrace + traceOf(t, "v", "a"), []string{
			"a w", "line 4: a trace ends within the line, and another begins there: expected a number at seq (byte 8)", "a#2 v",
		}},
		{"after a line without a line feed", strings.TrimSuffix(traceOf(t, "w", "a"), "\n") + traceOf(t, "v", "a"), []string{
			"a w", "line 4: a trace ends within the line, and another begins there: something follows the JSON value (byte 46)", "a#2 v",
		}},
		{"of a newer version, after a truncated line", cutTrace + `{"format":"looptape-trace","version":3}` + "\n" + traceOf(t, "v", "b"), []string{
			"a w", "trace: reading line 4: trace: the file has version 3 of the format, and this program reads up to 2: use a newer looptape",
		}},
		{"without a version, after a truncated line", cutTrace + `{"format":"looptape-trace"}` + "\n" + traceOf(t, "v", "b"), []string{
			"a w", "line 4: expected a number at seq (byte 8)", "b v",
		}},
		{"something like it within a broken event", traceOf(t, "w", "a") + `{"seq":"x","data":{"format":"looptape-trace","version":2}}` + "\n" + traceOf(t, "v", "a"), []string{
			"a w", "line 5: expected a number at seq (byte 8)", "a#2 v",
		}},
		{"a header that declares a format", traceOf(t, "w", "a") + `{"format":"looptape-trace","version":2,"writer":"v","declares":{"format":"looptape-trace"}}` + "\n" + traceOf(t, "u", "a"), []string{
			"a w", "a#3 u",
		}},
		{"a truncated header", traceOf(t, "w", "a") + `{"format":"looptape-trace","version":2` + "\n", []string{"a w", `line 5: the event has no "kind" at format (byte 11)`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := trace.NewReader(strings.NewReader(c.file))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for range 2 { // nothing comes after the last error
				for ev, err := range r.Events() {
					if err != nil {
						got = append(got, err.Error())
					} else if ev.Body.Kind() == trace.KindRunStart {
						got = append(got, ev.Run+" "+r.Header().Writer)
					}
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("runs (-want +got):\n%s", diff)
			}
		})
	}
}

// Runs that name others mean those of their own part, else those of a part before.
func TestPartsRefer(t *testing.T) {
	start := func(run, parent string) trace.Event {
		return trace.Event{Run: run, Body: trace.RunStart{Parent: &trace.Parent{Run: parent, ToolCallID: "c"}}}
	}
	resumed := func(run, of string) trace.Event { return trace.Event{Run: run, Seq: 1, Body: trace.Resumed{Of: of}} }
	file := slices.Concat(
		write(t, trace.Header{}, []trace.Event{start("a", "x"), start("b", "a")}),
		write(t, trace.Header{}, []trace.Event{start("c", "b"), resumed("c", "a"), start("a", "b"), start("b", "a"), resumed("b", "a")}),
	)
	evs, broken := read(t, string(file))
	var got []string
	for _, ev := range evs {
		switch b := ev.Body.(type) {
		case trace.RunStart:
			got = append(got, fmt.Sprintf("%s in %s %s", ev.Run, b.Parent.Run, b.Parent.ToolCallID))
		case trace.Resumed:
			got = append(got, ev.Run+" of "+b.Of)
		}
	}
	want := []string{"a in x c", "b in a c", "c in b c", "c of a", "a#2 in b c", "b#2 in a#2 c", "b#2 of a#2"}
	if diff := cmp.Diff(want, got); diff != "" || broken != nil {
		t.Errorf("errors %q; events (-want +got):\n%s", broken, diff)
	}
}

// The hashes restart in each part, also for a run that continues in it.
func TestPartsHashes(t *testing.T) {
	one := string(write(t, trace.Header{}, []trace.Event{request("r", 0, "one")}))
	two := string(write(t, trace.Header{}, []trace.Event{request("r", 0, "one"), request("r", 1, "two")}))
	evs, broken := read(t, one+two)
	if len(evs) != 3 || broken != nil {
		t.Errorf("got %d events and %q, want 3 and none", len(evs), broken)
	}
	_, tail, _ := strings.Cut(two, "\n")
	_, tail, _ = strings.Cut(tail, "\n")
	_, broken = read(t, one+header+tail)
	if diff := cmp.Diff([]string{"line 4: run r#2: the request keeps 1 messages of the 0 before it: a line is missing"}, broken); diff != "" {
		t.Errorf("broken lines (-want +got):\n%s", diff)
	}
}

// The error of a line contains the run if the line names it.
func TestLineErrorRun(t *testing.T) {
	whole := traceOf(t, "w", "a") + traceOf(t, "v", "a")
	for line, want := range map[string]string{
		`{"seq":1,"run":"a","step":x}`: "a#2", `{"seq":1,"run":"b","kind":7}`: "b", `{"seq":1,"run":b`: "", "\xff": "",
		`{"run":"b","kind":"model.request","prefix_messages":9,"hash":"0000000000000000"}`:                   "b",
		`{"run":"a","kind":"model.request","prefix_messages":0,"new_messages":[],"hash":"0000000000000001"}`: "a#2",
	} {
		r, err := trace.NewReader(strings.NewReader(whole + line))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for ev, err := range r.Events() {
			if line, ok := errors.AsType[*trace.LineError](err); ok {
				got = append(got, fmt.Sprint(line.Line, " ", line.Run, ev.Run))
			}
		}
		if diff := cmp.Diff([]string{"9 " + want}, got); diff != "" {
			t.Errorf("%s: (-want +got):\n%s", line, diff)
		}
	}
}
