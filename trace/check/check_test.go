package check_test

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
	"github.com/looptape/looptape/trace/check"
)

func TestCatalog(t *testing.T) {
	list := check.Catalog()
	if len(list) != 27 {
		t.Fatalf("%d invariants, want 27", len(list))
	}
	names, hints := map[string]bool{}, map[string]bool{}
	for i, x := range list {
		if want := fmt.Sprintf("INV-%02d", i+1); x.ID != want {
			t.Errorf("place %d has %s, want %s", i, x.ID, want)
		}
		if x.Name == "" || names[x.Name] || hints[x.Hint] || !strings.HasSuffix(x.What, ".") || !strings.HasSuffix(x.Hint, ".") {
			t.Errorf("%s lacks words, or has another's: %+v", x.ID, x)
		}
		names[x.Name], hints[x.Hint] = true, true
	}
	list[0].ID = "changed"
	if check.Catalog()[0].ID != "INV-01" {
		t.Error("the catalog can be changed by its callers")
	}
}

// TestEveryInvariantIsBroken compares the tables of this package's tests with
// the catalog.
func TestEveryInvariantIsBroken(t *testing.T) {
	seen := map[string]bool{}
	for _, b := range broken {
		seen[b.id] = true
	}
	for _, x := range check.Catalog() {
		want := x.Evidence == check.EvidenceMessages || x.Evidence == check.EvidenceTrace
		if seen[x.ID] != want {
			t.Errorf("%s (%s) has a broken run: %v", x.ID, x.Evidence, seen[x.ID])
		}
	}
	var pairs, probes []string
	for _, x := range check.Catalog() {
		switch x.Evidence {
		case check.EvidencePair:
			pairs = append(pairs, x.ID)
		case check.EvidenceLiveRun:
			probes = append(probes, x.ID)
		case check.EvidenceMessages, check.EvidenceTrace:
		}
	}
	if diff := cmp.Diff([]string{"INV-10", "INV-12", "INV-27"}, pairs); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"INV-06", "INV-16", "INV-26"}, probes); diff != "" {
		t.Error(diff)
	}
}

func sequence(events []trace.Event, last error) iter.Seq2[trace.Event, error] {
	return func(yield func(trace.Event, error) bool) {
		for _, ev := range events {
			if !yield(ev, nil) {
				return
			}
		}
		if last != nil {
			yield(trace.Event{}, last)
		}
	}
}

func TestTrace(t *testing.T) {
	s := plain()
	change(t, s, 0, func(b *trace.ToolStart) { b.Arguments = "{}" })
	vs, err := check.Trace(sequence(s.events, nil), nil)
	if err != nil {
		t.Fatal(err)
	}
	wantOne(t, vs, "INV-09")
	broken := errors.New("line 7 is broken")
	vs, err = check.Trace(sequence(s.events[:len(s.events)-1], broken), nil)
	if !errors.Is(err, broken) {
		t.Errorf("error %v, want %v", err, broken)
	}
	wantOne(t, vs, "INV-09")
}

// TestCanonicalForm checks that each clean run is clean in canonical form too,
// where the order in time is lost.
func TestCanonicalForm(t *testing.T) {
	for name, make := range clean {
		t.Run(name, func(t *testing.T) {
			c := check.New(&check.Options{Canonical: true})
			for _, ev := range trace.Canonical(make().events) {
				c.Add(ev)
			}
			wantNone(t, c.Done())
		})
	}
}

func TestSuppressed(t *testing.T) {
	s := plain()
	change(t, s, 0, func(b *trace.ToolStart) { b.Arguments = "{}" })
	change(t, s, 0, func(b *trace.RunStart) { b.Suppress = map[string]string{"INV-09": "known"} })
	vs := s.check()
	wantOne(t, vs, "INV-09")
	if vs[0].Suppressed != "known" {
		t.Errorf("suppressed is %q", vs[0].Suppressed)
	}
}

func TestPlaceOfAViolation(t *testing.T) {
	s := plain()
	change(t, s, 0, func(b *trace.ToolStart) { b.Arguments = "{}" })
	vs := s.check()
	if want := s.index(t, trace.KindToolStart, 0); vs[0].Event != want || vs[0].Run != "r1" {
		t.Errorf("got %+v, want event %d of r1", vs[0], want)
	}
	if got := vs[0].String(); !strings.HasPrefix(got, "INV-09: run r1 event 10: the call \"c1\" ran with \"{}\"") {
		t.Errorf("got %s", got)
	}
	s = plain().remove(t, trace.KindRunEnd, 0)
	vs = s.check()
	if got := vs[0].String(); vs[0].Event != check.NoEvent || !strings.HasPrefix(got, "INV-13: run r1: the run has no run.end") {
		t.Errorf("got %s", got)
	}
}

// TestWords checks the amounts and positions in some messages.
func TestWords(t *testing.T) {
	for _, x := range []struct {
		clean, want string
		change      func(s *script)
	}{
		{"retry", "called again 999.999999ms after the failure, but the provider asked for 1s", func(s *script) {
			s.events[s.index(t, trace.KindModelRequest, 2)].At--
		}},
		{"usage by purpose", `{"input_tokens":1,"output_tokens":0} for grade, but its model calls add up to {"input_tokens":2,"output_tokens":0}`, func(s *script) {
			change(t, s, 0, func(b *trace.RunEnd) { b.UsageBy[trace.PurposeGrade] = llm.Usage{InputTokens: 1} })
		}},
		{"usage by purpose", `{"input_tokens":1,"output_tokens":0} for the answer, but`, func(s *script) {
			change(t, s, 0, func(b *trace.RunEnd) { b.UsageBy[trace.PurposeAnswer] = llm.Usage{InputTokens: 1} })
		}},
		{"plain", strings.Repeat("x", 80) + `", but`, func(s *script) {
			change(t, s, 0, func(b *trace.ToolStart) { b.Arguments = strings.Repeat("x", 80) })
		}},
		{"plain", strings.Repeat("x", 80) + `" …, but`, func(s *script) {
			change(t, s, 0, func(b *trace.ToolStart) { b.Arguments = strings.Repeat("x", 81) })
		}},
	} {
		s := clean[x.clean]()
		x.change(s)
		vs := s.check()
		if len(vs) != 1 || !strings.Contains(vs[0].Message, x.want) {
			t.Errorf("got %q, want %q in it", brief(vs), x.want)
		}
	}
}

// TestRunsAreTakenInOrder checks that runs without an end are reported by their
// first event, and that ended ones stay ended.
func TestRunsAreTakenInOrder(t *testing.T) {
	c := check.New(nil)
	for _, run := range []string{"b", "a", "c"} {
		c.Add(trace.Event{Run: run, Body: trace.RunStart{}})
	}
	c.Add(trace.Event{Run: "a", Seq: 1, Body: trace.Decision{Action: trace.Stop, Reason: trace.ReasonMiddleware}})
	c.Add(trace.Event{Run: "a", Seq: 2, Body: trace.RunEnd{StopReason: trace.ReasonMiddleware}})
	c.Add(trace.Event{Run: "a", Seq: 3})
	c.Add(trace.Event{Run: "a", Seq: 4})
	var got []string
	for _, v := range c.Done() {
		got = append(got, fmt.Sprint(v.Invariant, v.Run, v.Event))
	}
	if diff := cmp.Diff([]string{"INV-13a3", "INV-13b-1", "INV-13c-1"}, got); diff != "" {
		t.Error(diff)
	}
}

// TestForeignRuns checks what is not reported for a run that declares nothing.
func TestForeignRuns(t *testing.T) {
	for _, id := range []string{"INV-15", "INV-19", "INV-20", "INV-25"} {
		for _, b := range broken {
			if b.id != id || b.clean == "stop condition" {
				continue
			}
			s := clean[b.clean]()
			b.change(t, s)
			change(t, s, 0, func(b *trace.RunStart) { b.Options = nil })
			if slices.ContainsFunc(s.check(), func(v check.Violation) bool { return v.Invariant == id }) {
				t.Errorf("%s %q is reported of a run that declares nothing", id, b.what)
			}
		}
	}
	s := begin("r1", nil).add(trace.Warning{}).ask().reply(llm.Assistant(c1)).starts(c1).ends(good("c1")).results(good("c1")).done()
	wantNone(t, s.add(trace.RunEnd{StopReason: trace.ReasonMaxSteps, Usage: s.used, AppendedMessages: s.history[1:]}).check())
}
