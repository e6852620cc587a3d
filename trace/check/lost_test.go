package check_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
	"github.com/looptape/looptape/trace/check"
)

// lose checks events without some of them: those for which the function whose returns ok,
// with the run that it names. The position is that of the event, counted from 1.
func lose(events []trace.Event, whose func(i int) (run string, ok bool)) (*check.Checker, []check.Violation) {
	c := check.New(nil)
	for i, ev := range events {
		if run, ok := whose(i); ok {
			c.ReportMissing(run, i+1)
		} else {
			c.Add(ev)
		}
	}
	return c, c.Done()
}

func cuts(c *check.Checker) []string {
	out := []string{}
	for _, x := range c.PartialRuns() {
		out = append(out, fmt.Sprint(x.Run, " ", x.Place))
	}
	return out
}

// TestEachEventIsLost removes one event at a time from each clean run: that alone
// causes no violation, whether or not its run is known.
func TestEachEventIsLost(t *testing.T) {
	for name, make := range clean {
		events := make().events
		for i := range events {
			for _, run := range []string{"", "r1"} {
				c, vs := lose(events, func(at int) (string, bool) { return run, at == i })
				if len(vs) > 0 {
					t.Errorf("%s without event %d (%s) of %q: %q", name, i, events[i].Body.Kind(), run, brief(vs))
				}
				if diff := cmp.Diff([]string{fmt.Sprint("r1 ", i+1)}, cuts(c)); diff != "" {
					t.Errorf("%s without event %d of %q: cuts (-want +got):\n%s", name, i, run, diff)
				}
			}
		}
	}
}

// mayBeDeltas are the events whose numbers may be those of a response's deltas, by
// the clean run.
var mayBeDeltas = map[string]trace.Kind{
	"deltas of a grader's response": trace.KindModelDelta, "cancel within a model call": trace.KindCanceled,
	"a cancel of a slow response": trace.KindCanceled,
}

// TestEachEventIsMissing does the same without a report that an event is missing: its number
// shows it, unless it was the last one, or a delta, which a trace may omit. Events with new
// numbers do not show it.
func TestEachEventIsMissing(t *testing.T) {
	for name, make := range clean {
		events := make().events
		for i := range events[:len(events)-1] {
			c := check.New(nil)
			for at, ev := range events {
				if at != i {
					c.Add(ev)
				}
			}
			if vs := c.Done(); len(vs) > 0 {
				t.Errorf("%s without event %d (%s): %q", name, i, events[i].Body.Kind(), brief(vs))
			}
			want := []string{"r1 0"}
			if mayBeDeltas[name] == events[i].Body.Kind() {
				want = []string{}
			}
			if diff := cmp.Diff(want, cuts(c)); diff != "" {
				t.Errorf("%s without event %d (%s): cuts (-want +got):\n%s", name, i, events[i].Body.Kind(), diff)
			}
		}
	}
}

// TestMissingDeltasAreAccepted removes the deltas from each clean run, and leaves gaps in the numbers
// in their place: no event is missing then, and each other missing event is still found.
func TestMissingDeltasAreAccepted(t *testing.T) {
	for name, make := range clean {
		var events []trace.Event
		numbers := 0
		for _, ev := range make().events {
			switch ev.Body.(type) {
			case trace.ModelDelta:
				continue
			case trace.ModelResponse, trace.ModelError, trace.Canceled:
				if n := len(events); ev.Attempt > 0 || ev.Purpose != "" || events[n-1].Body.Kind() == trace.KindModelRequest {
					numbers += 7
				}
			default:
			}
			ev.Seq = numbers
			numbers++
			events = append(events, ev)
		}
		wantNone(t, (&script{events: events}).check())
		for i := range events[:len(events)-1] {
			c := check.New(nil)
			for at, ev := range events {
				if at != i {
					c.Add(ev)
				}
			}
			if vs := c.Done(); len(vs) > 0 || len(c.PartialRuns()) != 1 && mayBeDeltas[name] != events[i].Body.Kind() {
				t.Errorf("%s without event %d (%s): %q, cuts %v", name, i, events[i].Body.Kind(), brief(vs), c.PartialRuns())
			}
		}
	}
}

// During a model call of a grader, numbers of its deltas may be missing before other events;
// after its response, they may not.
func TestDeltasWhileOthersContinue(t *testing.T) {
	const asked, started, answered, ended = 5, 6, 7, 8 // the events' places
	for at, want := range map[int]int{asked: 1, started: 0, answered: 0, ended: 1} {
		s := begin("r1", declared).ask().turn(c1)
		s.purpose(trace.PurposeGrade, trace.ModelRequest{NewMessages: []llm.Message{llm.User("good?")}})
		s.starts(c1)
		s.purpose(trace.PurposeGrade, trace.ModelResponse{Message: llm.Assistant(text("yes"))})
		s.ends(good("c1")).results(good("c1")).done().ask().turn(text("a")).done().end(trace.ReasonEndTurn)
		for i := at; i < len(s.events); i++ {
			s.events[i].Seq += 3
		}
		c := check.New(nil)
		for _, ev := range s.events {
			c.Add(ev)
		}
		if vs := c.Done(); len(vs) > 0 || len(c.PartialRuns()) != want {
			t.Errorf("numbers omitted before %s: %q, cuts %v, want %d", s.events[at].Body.Kind(), brief(vs), c.PartialRuns(), want)
		}
	}
}

// Numbers that are missing before a request of the answer are not those of its deltas: after the
// response of the grader, none is missing.
func TestDeltasOfTheOtherCall(t *testing.T) {
	s := begin("r1", declared).ask().turn(c1)
	s.purpose(trace.PurposeGrade, trace.ModelRequest{NewMessages: []llm.Message{llm.User("good?")}})
	gap := len(s.events)
	s.starts(c1).ends(good("c1")).results(good("c1")).done().ask()
	s.purpose(trace.PurposeGrade, trace.ModelResponse{Message: llm.Assistant(text("yes"))})
	s.attempt(1, trace.ModelDelta{Type: trace.DeltaText, Text: "a"}).turn(text("a")).done().end(trace.ReasonEndTurn)
	for i := gap; i < len(s.events); i++ {
		s.events[i].Seq += 3
	}
	c := check.New(nil)
	for _, ev := range s.events {
		c.Add(ev)
	}
	if vs := c.Done(); len(vs) > 0 || len(c.PartialRuns()) > 0 {
		t.Errorf("%q, cuts %v", brief(vs), c.PartialRuns())
	}
}

// What was found before the event was lost stays, and what comes after in the
// runs that have lost nothing is found.
func TestFoundAroundALostEvent(t *testing.T) {
	a, b, d := plain(), plain(), plain()
	b.run, d.run = "b", "d"
	for _, s := range []*script{a, b, d} {
		for i := range s.events {
			s.events[i].Run = s.run
		}
	}
	change(t, a, 0, func(b *trace.ToolStart) { b.Arguments = "{}" })
	change(t, b, 3, func(b *trace.ToolStart) { b.Arguments = "{}" })
	var events []trace.Event
	for i := range a.events {
		events = append(events, a.events[i], b.events[i])
	}
	events = append(events, d.events[:len(d.events)-1]...)
	at := 2 * (a.index(t, trace.KindStepEnd, 0) + 1)
	for name, x := range map[string]struct {
		lost       []int // events of run r1, by their places
		run        string
		want, cuts []string
	}{
		"of an unknown call":           {[]int{at}, "", []string{"INV-09 r1", "INV-09 b", "INV-13 d"}, []string{fmt.Sprint("r1 ", at+1)}},
		"of the run":                   {[]int{at}, "r1", []string{"INV-09 r1", "INV-09 b", "INV-13 d"}, []string{fmt.Sprint("r1 ", at+1)}},
		"of an unknown run":            {[]int{at}, "x", []string{"INV-09 r1", "INV-09 b", "INV-13 d"}, []string{fmt.Sprint("r1 ", at+1)}},
		"two":                          {[]int{at, at + 2}, "", []string{"INV-09 r1", "INV-09 b", "INV-13 d"}, []string{fmt.Sprint("r1 ", at+1)}},
		"two of the run":               {[]int{at, at + 2}, "r1", []string{"INV-09 r1", "INV-09 b", "INV-13 d"}, []string{fmt.Sprint("r1 ", at+1)}},
		"of a run that is not there":   {[]int{at}, "b", []string{"INV-09 r1", "INV-13 d"}, []string{fmt.Sprint("b ", at+1), "r1 0"}},
		"the last, of an unknown call": {[]int{len(events) - 1}, "", []string{"INV-09 r1", "INV-09 b"}, []string{fmt.Sprint("d ", len(events))}},
		"the last":                     {[]int{len(events) - 1}, "d", []string{"INV-09 r1", "INV-09 b"}, []string{fmt.Sprint("d ", len(events))}},
		"before all":                   {[]int{0}, "", []string{"INV-09 b", "INV-13 d"}, []string{"r1 1"}},
	} {
		t.Run(name, func(t *testing.T) {
			c, vs := lose(events, func(i int) (string, bool) { return x.run, slices.Contains(x.lost, i) })
			got := []string{}
			for _, v := range vs {
				if line := v.Invariant + " " + v.Run; !slices.Contains(got, line) {
					got = append(got, line)
				}
			}
			if diff := cmp.Diff(x.want, got); diff != "" {
				t.Errorf("violations (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(x.cuts, cuts(c)); diff != "" {
				t.Errorf("cuts (-want +got):\n%s", diff)
			}
		})
	}
}

// A partially checked run stays so up to its end, and nothing is reported about what comes
// after it; the run that resumes it does not have its pending calls.
func TestPartialRunEnds(t *testing.T) {
	s := clean["suspended"]()
	c := check.New(nil)
	for i, ev := range s.events {
		if i == 3 {
			c.ReportMissing("r1", 4)
		}
		c.Add(ev)
	}
	c.Add(trace.Event{Run: "r1", Seq: 99, Body: trace.Warning{}})
	r := begin("r2", declared)
	r.add(trace.Resumed{Of: "r1"}).starts(c2).ends(good("c2"))
	r.history = append(s.history[:3:3], llm.ToolResults(good("c2")))
	r.add(trace.HistoryRewrite{Reason: "resume"}).ask().turn(text("a")).done().end(trace.ReasonEndTurn)
	for _, ev := range r.events {
		c.Add(ev)
	}
	c.ReportMissing("", 100) // of no run: all have ended
	wantNone(t, c.Done())
	if diff := cmp.Diff([]string{"r1 4"}, cuts(c)); diff != "" {
		t.Errorf("cuts (-want +got):\n%s", diff)
	}
	c.PartialRuns()[0].Run = "changed"
	if diff := cmp.Diff([]string{"r1 4"}, cuts(c)); diff != "" {
		t.Errorf("the cuts can be changed by their callers:\n%s", diff)
	}
}

// A run that begins after a lost event is complete if it begins with its run.start;
// without it the run may have lost the event, whatever its numbers are.
func TestRunsAfterALostEvent(t *testing.T) {
	for _, x := range []struct {
		drop int
		want []string
	}{{0, []string{}}, {1, []string{"r1 7"}}} {
		c := check.New(nil)
		c.ReportMissing("", 7)
		s := plain()
		s.events = s.events[x.drop:]
		s.number(0)
		for _, ev := range s.events {
			c.Add(ev)
		}
		wantNone(t, c.Done())
		if diff := cmp.Diff(x.want, cuts(c)); diff != "" {
			t.Errorf("cuts (-want +got):\n%s", diff)
		}
	}
	// A second run.start does not begin the run.
	c, s := check.New(nil), plain()
	c.Add(s.events[0])
	c.ReportMissing("", 2)
	c.Add(trace.Event{Run: "r1", Seq: 9, Body: trace.RunStart{}})
	wantNone(t, c.Done())
	if diff := cmp.Diff([]string{"r1 2"}, cuts(c)); diff != "" {
		t.Errorf("cuts (-want +got):\n%s", diff)
	}
}

// TestRunsThatBeginAgain checks that a run.start with the number 0 after a missing
// event begins another run, and nowhere else.
func TestRunsThatBeginAgain(t *testing.T) {
	whole := func() []trace.Event {
		s := plain()
		change(t, s, 0, func(b *trace.ToolStart) { b.Arguments = "{}" })
		return s.events
	}
	at := func(n int) func(c *check.Checker) { return func(c *check.Checker) { c.ReportMissing("", n) } }
	for name, x := range map[string]struct {
		before     []trace.Event
		lost       func(c *check.Checker)
		want, cuts []string
	}{
		"within a run":              {plain().events[:9], at(10), []string{"INV-09"}, []string{"r1 10"}},
		"of the run":                {plain().events[:9], func(c *check.Checker) { c.ReportMissing("r1", 10) }, []string{"INV-09"}, []string{"r1 10"}},
		"at a run's end":            {whole(), at(31), []string{"INV-09", "INV-09"}, []string{}},
		"at the end of another":     {whole(), func(c *check.Checker) { c.ReportMissing("r2", 31) }, []string{"INV-09", "INV-09"}, []string{}},
		"an event is missing":       {append(whole()[:3:3], whole()[4:9]...), func(*check.Checker) {}, []string{"INV-09"}, []string{"r1 0"}},
		"nothing is lost, in a run": {plain().events[:9], func(*check.Checker) {}, []string{"INV-14"}, []string{}},
		"nothing is lost, after":    {plain().events, func(*check.Checker) {}, []string{"INV-13"}, []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			c := check.New(nil)
			for _, ev := range x.before {
				c.Add(ev)
			}
			x.lost(c)
			for i, ev := range whole() {
				if c.Add(ev); i == 0 && (x.want[0] == "INV-14" || x.want[0] == "INV-13") {
					break
				}
			}
			got := []string{}
			for _, v := range c.Done() {
				if v.Event != check.NoEvent {
					got = append(got, v.Invariant)
				}
			}
			if diff := cmp.Diff(x.want, got); diff != "" {
				t.Errorf("violations (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(x.cuts, cuts(c)); diff != "" {
				t.Errorf("cuts (-want +got):\n%s", diff)
			}
		})
	}
}

// TestTraceOfRunsThatLackEvents checks that such a run is not reported as clean.
func TestTraceOfRunsThatLackEvents(t *testing.T) {
	s := plain()
	s.events = slices.Delete(s.events, 20, 21)
	vs, err := check.Trace(sequence(s.events, nil), nil)
	wantNone(t, vs)
	if want := `check: an event is missing before event 21: the run "r1" is checked up to there only`; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	c, _ := lose(plain().events, func(i int) (string, bool) { return "", i == 4 })
	if got, want := c.PartialRuns()[0].String(), `an event is missing at 5: the run "r1" is checked up to there only`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestAnyEventsAreLost checks that no order of events and losses panics, that a
// loss never makes more to be found in a run that is cut, and that of the others
// all is found.
func TestAnyEventsAreLost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events := drawEvents.Draw(t, "events")
		lost := rapid.SliceOfN(rapid.SampledFrom([]string{"no", "no", "no", "", "r1", "r3"}), len(events), len(events)).Draw(t, "lost")
		c, vs := lose(events, func(i int) (string, bool) { return lost[i], lost[i] != "no" })
		runs, begun := map[string]int{}, map[string]int{}
		for _, ev := range events {
			if _, ok := ev.Body.(trace.RunStart); ok && ev.Seq == 0 {
				begun[ev.Run]++ // it may begin another run of this name
			}
		}
		for _, x := range c.PartialRuns() {
			if x.Place > len(events) || x.Place > 0 && lost[x.Place-1] == "no" || runs[x.Run] > begun[x.Run] {
				t.Fatalf("cuts %v", c.PartialRuns())
			}
			runs[x.Run]++
		}
		for _, v := range vs {
			if v.Event == check.NoEvent && v.Invariant == "INV-13" && runs[v.Run] > 0 && begun[v.Run] == 0 {
				t.Errorf("of a run that is cut: %s", v)
			}
		}
	})
}
