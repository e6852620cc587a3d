package importer_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/trace"
	"github.com/looptape/looptape/trace/importer"
)

// recorded is a trace of two interleaved runs, b without an end.
func recorded(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	w := trace.NewWriter(&b, trace.Header{
		Declares: trace.Options{{Name: "max_steps", Value: "7"}, {Name: "concurrency", Value: "2"}},
		Suppress: map[string]string{"INV-04": "all", "INV-05": "all"},
	})
	for _, ev := range []trace.Event{
		{Run: "a", Step: trace.NoStep, Body: trace.RunStart{
			Options:  trace.Options{{Name: "max_steps", Value: "3"}},
			Suppress: map[string]string{"INV-04": "own"},
		}},
		{Run: "b", Step: trace.NoStep, Body: trace.RunStart{}},
		{Run: "a", Seq: 1, Step: trace.NoStep, Body: trace.RunEnd{}},
	} {
		if err := w.Write(ev); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func openTrace(t testing.TB, b []byte) *importer.Source {
	t.Helper()
	src, err := importer.Open("file", bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	if src.Format.Name != "trace" {
		t.Fatalf("the format is %s, want %s", src.Format.Name, "trace")
	}
	return src
}

func TestTraceEvents(t *testing.T) {
	broken := bytes.Replace(recorded(t), []byte(`"run":"b"`), []byte(`"run":b`), 1)
	for name, c := range map[string]struct {
		in   []byte
		want []string
	}{
		"whole": {recorded(t), []string{"a 0 run.start", "b 0 run.start", "a 1 run.end"}},
		"a broken line": {
			broken, []string{"a 0 run.start", "! 3", "a 1 run.end"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for ev, err := range openTrace(t, c.in).Events() {
				if e, ok := errors.AsType[*importer.Error](err); ok {
					got = append(got, fmt.Sprint("! ", e.Line))
					continue
				}
				got = append(got, fmt.Sprint(ev.Run, " ", ev.Seq, " ", ev.Body.Kind()))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}

// The runs of consecutive traces are isolated: each has the data of its own header, and the
// error of a line names its run.
func TestTraceParts(t *testing.T) {
	var second bytes.Buffer
	w := trace.NewWriter(&second, trace.Header{Declares: trace.Options{{Name: "max_steps", Value: "9"}}})
	if err := errors.Join(w.Write(trace.Event{Run: "b", Step: trace.NoStep, Body: trace.RunStart{}}), w.Close()); err != nil {
		t.Fatal(err)
	}
	second.WriteString(`{"seq":1,"run":"b","kind":7}`)
	var got []string
	for ev, err := range openTrace(t, append(recorded(t), second.Bytes()...)).Events() {
		start, ok := ev.Body.(trace.RunStart)
		if e, broken := errors.AsType[*importer.Error](err); broken {
			got = append(got, fmt.Sprint(e.Line, " ", e.Run))
		} else if ok {
			steps, _ := start.Options.Lookup("max_steps")
			got = append(got, ev.Run+" "+steps)
		}
	}
	if diff := cmp.Diff([]string{"a 3", "b 7", "b#2 9", "7 b#2"}, got); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
}

// The start of each run has the data that the header has for every run, after the data of the
// run itself.
func TestTraceHeader(t *testing.T) {
	var got []trace.RunStart
	for ev, err := range openTrace(t, recorded(t)).Events() {
		if err != nil {
			t.Fatal(err)
		}
		if start, ok := ev.Body.(trace.RunStart); ok {
			got = append(got, start)
		}
	}
	all := trace.Options{{Name: "max_steps", Value: "7"}, {Name: "concurrency", Value: "2"}}
	want := []trace.RunStart{
		{
			Options:  append(trace.Options{{Name: "max_steps", Value: "3"}}, all...),
			Suppress: map[string]string{"INV-04": "own", "INV-05": "all"},
		},
		{Options: all, Suppress: map[string]string{"INV-04": "all", "INV-05": "all"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("starts (-want +got):\n%s", diff)
	}
}

func TestTraceRuns(t *testing.T) {
	whole := recorded(t)
	broken := append(bytes.TrimSuffix(whole, []byte("\n")), "\nnonsense\n"...)
	for name, c := range map[string]struct {
		in   []byte
		want []string
	}{
		"whole":         {whole, []string{"a@2 2", "b@3 1"}},
		"a broken line": {broken, []string{"a@2 2", "!", "b@3 1 …"}},
		"no header":     {[]byte(`{"format":"looptape-trace","version":99}` + "\n"), []string{"!"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for run, err := range openTrace(t, c.in).Runs() {
				if err != nil {
					got = append(got, "!")
					continue
				}
				item := fmt.Sprintf("%s@%d %d", run.Name, run.Line, len(run.Events))
				if run.Partial {
					item += " …"
				}
				got = append(got, item)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("runs (-want +got):\n%s", diff)
			}
		})
	}
	for n := 1; n <= 3; n++ {
		t.Run(fmt.Sprint("left after ", n), func(t *testing.T) {
			got := 0
			for run, err := range openTrace(t, broken).Runs() {
				t.Log(run.Name, err)
				if got++; got == n {
					break
				}
			}
			if got != n {
				t.Errorf("got %d items, want %d", got, n)
			}
		})
	}
}

func TestEventsOfAList(t *testing.T) {
	src, err := importer.Open("file", strings.NewReader("["+hi+"]"))
	if err != nil {
		t.Fatal(err)
	}
	for ev, err := range src.Events() {
		t.Errorf("a list of messages has the event %v, %v", ev, err)
	}
}

func TestErrorText(t *testing.T) {
	fault := errors.New("fault")
	for want, e := range map[string]*importer.Error{
		"f: fault":           {File: "f", Err: fault},
		"f:3: fault":         {File: "f", Line: 3, Err: fault},
		"f: [1].role: fault": {File: "f", Path: "[1].role", Err: fault},
	} {
		if got := e.Error(); got != want || !errors.Is(e, fault) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
