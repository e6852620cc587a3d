package explore_test

import (
	"fmt"
	"hash/fnv"
	"iter"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/loop/explore"
	"github.com/looptape/looptape/trace/check"
)

// toy returns a program that chooses an order of names and a fault at each, and fails by a rule.
func toy(names []string, fails func(order []string, faults map[string]string) bool) func() explore.Program {
	return func() explore.Program {
		return explore.ProgramFunc(func(c *explore.Choices) explore.Outcome {
			left, faults := slices.Clone(names), map[string]string{}
			var order []string
			for len(left) > 0 {
				i := 0
				if len(left) > 1 {
					i = c.Order("next", "", left)
				}
				name := left[i]
				left = slices.Delete(left, i, i+1)
				options := []string{"", "fails", "hangs"}
				if f := c.Fault("call", name, options); f > 0 {
					faults[name] = options[f]
				}
				order = append(order, name)
			}
			text := fmt.Sprintln(strings.Join(order, "\n"), faults)
			h := fnv.New64a()
			h.Write([]byte(text))
			o := explore.Outcome{Digest: h.Sum64(), Text: func() string { return text }}
			if fails(order, faults) {
				o.Violations = []check.Violation{{Invariant: "INV-01", Message: "lost"}}
			}
			return o
		})
	}
}

func never([]string, map[string]string) bool { return false }

// TestExhaust counts the runs: each order, and with each single fault of two kinds at each of n places.
func TestExhaust(t *testing.T) {
	for _, tt := range []struct {
		names  string
		faults int
		want   int
	}{
		{"a", 0, 1}, {"a", 1, 3}, {"abc", 0, 6}, {"abc", 1, 6 * (1 + 3*2)}, {"abc", 2, 6 * (1 + 3*2 + 3*4)}, {"abcd", 1, 24 * (1 + 4*2)}, {"abcdef", 0, 720},
	} {
		r := explore.Exhaust(toy(strings.Split(tt.names, ""), never), explore.Bounds{Faults: tt.faults})
		if r.Runs != tt.want || r.Traces != tt.want || !r.Complete || len(r.Unstable)+len(r.Failures) > 0 {
			t.Errorf("%s with %d faults: %s; want %d runs, all different", tt.names, tt.faults, r.Summary(), tt.want)
		}
	}
}

// TestPreemptions counts the runs of three points at which another goroutine can run.
func TestPreemptions(t *testing.T) {
	for preemptions, want := range []int{1, 4, 7, 8} {
		r := explore.Exhaust(func() explore.Program {
			return explore.ProgramFunc(func(c *explore.Choices) (o explore.Outcome) {
				for range 3 {
					o.Digest = o.Digest<<1 | uint64(c.Switch("next", "", []string{"a", "b"})) //nolint:gosec // 0 or 1
				}
				return o
			})
		}, explore.Bounds{Preemptions: preemptions})
		if r.Runs != want || r.Traces != want {
			t.Errorf("%s; want %d runs, all different", r.Summary(), want)
		}
	}
}

// TestExhaustRuns stops at the number of runs, and says so.
func TestExhaustRuns(t *testing.T) {
	r := explore.Exhaust(toy(strings.Split("abcd", ""), never), explore.Bounds{Faults: 1, Runs: 50})
	if want := []string{"the number of runs reached the highest one, 50"}; !slices.Equal(r.Unfinished, want) {
		t.Errorf("unfinished %q, want %q", r.Unfinished, want)
	}
	if r.Runs != 50 || r.Complete || !strings.Contains(r.Summary(), "50 runs, 50 different: not all runs with at most 1 fault and 0 preemptions") {
		t.Errorf("got %s, complete %v; want 50 runs, not complete", r.Summary(), r.Complete)
	}
}

// TestExhaustUntil: when the time is over, no other run is made. Failures have time of their own, and are reported without it.
func TestExhaustUntil(t *testing.T) {
	const why = "the time is over"
	bad := func(_ []string, faults map[string]string) bool { return faults["b"] == "hangs" }
	for name, tt := range map[string]struct {
		enough  int  // the calls for failures until the time is over
		ends    bool // a run passes when the time is over
		minimal bool
		text    string
	}{
		"time to shrink":            {1 << 20, false, true, "hangs"},
		"no time for all of it":     {6, false, false, "hangs"},
		"no time to repeat":         {0, false, false, "not repeated: the time is over\n"},
		"no time to repeat it more": {3, true, false, "not repeated: the time is over\n"},
	} {
		var runs atomic.Int64
		calls := 0
		program := toy(strings.Split("abcd", ""), func(order []string, faults map[string]string) bool {
			runs.Add(1)
			return bad(order, faults) && !(tt.ends && calls > tt.enough)
		})
		r := explore.ExhaustUntil(program, explore.Bounds{Faults: 3, Repeat: 5}, func(explored bool) string {
			if explored {
				calls++
			}
			if explored && calls <= tt.enough || !explored && runs.Load() < 300 {
				return ""
			}
			return why
		})
		if r.Complete || !slices.Equal(r.Unfinished, []string{why}) || r.Runs > 300 || len(r.Unstable) > 0 || len(r.Failures) != 1 {
			t.Errorf("%s: %s, unfinished %q, unstable %q; want at most 300 runs and one failure", name, r.Summary(), r.Unfinished, r.Unstable)
			continue
		}
		if f := r.Failures[0]; f.Minimal != tt.minimal || !strings.Contains(f.Text, tt.text) || f.Count == 0 || len(f.Choices) == 0 {
			t.Errorf("%s: minimal %v, want %v: %v", name, f.Minimal, tt.minimal, f)
		}
	}
}

// TestExhaustNothing: an exploration that makes no run is not complete.
func TestExhaustNothing(t *testing.T) {
	program := toy(strings.Split("abcd", ""), func([]string, map[string]string) bool { return true })
	over := explore.ExhaustUntil(program, explore.Bounds{Faults: 1}, func(bool) string { return "the time is over" })
	for _, r := range []*explore.Result{over, explore.Exhaust(program, explore.Bounds{Faults: 1, Runs: -1})} {
		if r.Complete || len(r.Unfinished) != 1 || r.Runs != 0 {
			t.Errorf("%s: complete %v, unfinished %q; want an exploration that is not complete", r.Summary(), r.Complete, r.Unfinished)
		}
	}
}

// TestExhaustViolating skips orders after 1,000 runs with one fault that violate an invariant, and makes all others.
func TestExhaustViolating(t *testing.T) {
	const steps = 16
	start := func() explore.Program {
		return explore.ProgramFunc(func(c *explore.Choices) explore.Outcome {
			var o explore.Outcome
			var trace []int
			switch c.Fault("call", "a", []string{"", "repeats all steps", "fails"}) {
			case 1:
				o.Violations = []check.Violation{{Invariant: "INV-08"}}
				for range steps {
					trace = append(trace, c.Order("next", "", []string{"x", "y"}))
				}
			case 2:
				trace = append(trace, 2)
				o.Violations = []check.Violation{{Invariant: "INV-23"}, {Invariant: "INV-23"}} // one run
			default:
				trace = append(trace, 3+c.Order("next", "", []string{"x", "y"}))
			}
			h := fnv.New64a()
			h.Write([]byte(fmt.Sprint(trace)))
			o.Digest = h.Sum64()
			return o
		})
	}
	r := explore.Exhaust(start, explore.Bounds{Faults: 1})
	const want = "1000 runs with the same faults violate an invariant, and the other orders with these faults were skipped: [call: repeats all steps]"
	if r.Runs > 1<<steps/2 || r.Complete || !slices.Equal(r.Unfinished, []string{want}) || r.Orders != 2 || len(r.Failures) != 2 || r.Failures[1].Count != 1 {
		t.Errorf("%s: %q, failures %v; want fewer runs than the %d orders", r.Summary(), r.Unfinished, r.Failures, 1<<steps)
	}
	part := explore.Exhaust(start, explore.Bounds{Faults: 1, Runs: 500})
	if part.Runs != 500 || part.Complete {
		t.Errorf("%s; want 500 runs", part.Summary())
	}
	for _, n := range []int{1, 2, 4} {
		was := runtime.GOMAXPROCS(n)
		all, some := explore.Exhaust(start, explore.Bounds{Faults: 1}), explore.Exhaust(start, explore.Bounds{Faults: 1, Runs: 500})
		runtime.GOMAXPROCS(was)
		if diff := cmp.Diff([]string{r.Summary(), part.Summary()}, []string{all.Summary(), some.Summary()}); diff != "" {
			t.Errorf("with %d processors (-default +this):\n%s", n, diff)
		}
	}
}

// TestEqualNames: of two answers with one name, the second one is chosen by its number.
func TestEqualNames(t *testing.T) {
	start := func() explore.Program {
		return explore.ProgramFunc(func(c *explore.Choices) explore.Outcome {
			if c.Order("next", "", []string{"a", "b", "a"}) == 2 {
				return explore.Outcome{Digest: 1, Violations: []check.Violation{{Invariant: "INV-04"}}}
			}
			return explore.Outcome{}
		})
	}
	r := explore.Exhaust(start, explore.Bounds{})
	if len(r.Failures) != 1 || len(r.Unstable) > 0 || r.Failures[0].Choices[0].String() != "next: a #2" {
		t.Errorf("failures %v, unstable %q; want one with the choice of the second a", r.Failures, r.Unstable)
	}
}

// TestFailure finds the failing run, and reduces it to the choices that it needs.
func TestFailure(t *testing.T) {
	bad := func(order []string, faults map[string]string) bool {
		return slices.Index(order, "c") < slices.Index(order, "a") && faults["b"] == "hangs"
	}
	names := strings.Split("abcd", "")
	for name, r := range map[string]*explore.Result{
		"exhaustive": explore.Exhaust(toy(names, bad), explore.Bounds{Faults: 2}),
		"random":     explore.Random(toy(names, bad), explore.RandomOptions{Seed: 7, Bounds: explore.Bounds{Faults: 3, Runs: 2000}}),
	} {
		if len(r.Failures) != 1 {
			t.Fatalf("%s: %d failures, want 1: %s", name, len(r.Failures), r.Summary())
		}
		f := r.Failures[0]
		want := []explore.Choice{{At: "next", Option: "c"}, {At: "call b", Option: "hangs"}}
		if diff := cmp.Diff(want, f.Choices); diff != "" || !f.Minimal || f.Shrunk > 200 {
			t.Errorf("%s: choices (-want +got):\n%sminimal %v, %d runs of shrinking", name, diff, f.Minimal, f.Shrunk)
		}
		if f.Flipped == nil || f.Flipped.String() != "call b: hangs" || !strings.Contains(f.Diff(), "- d map[b:hangs]\n+ d map[]") {
			t.Errorf("%s: the passing neighbor is without %v:\n%s", name, f.Flipped, f.Diff())
		}
		for range 1000 {
			o, unused := explore.Replay(toy(names, bad)(), f.Choices)
			if len(o.Violations) != 1 || unused != nil {
				t.Fatalf("%s: the choices give %v, unused %v", name, o.Violations, unused)
			}
		}
	}
}

// TestByFault: the runs of a failure are counted by their faults.
func TestByFault(t *testing.T) {
	bad := func(order []string, faults map[string]string) bool { return order[0] == "c" || faults["b"] == "hangs" }
	var first map[string]int
	for _, n := range []int{1, 2, 4} {
		was := runtime.GOMAXPROCS(n)
		f := explore.Exhaust(toy(strings.Split("abc", ""), bad), explore.Bounds{Faults: 2}).Failures[0]
		runtime.GOMAXPROCS(was)
		sum := 0
		for _, n := range f.ByFault {
			sum += n
		}
		// Of 6 orders, c is first in 2. A run without these fails with its only fault at b, or one of two.
		if f.ByFault[""] != 2 || f.ByFault["call: fails"] != 6 || f.ByFault["call: hangs"] != 6+4 || sum != f.Count {
			t.Errorf("got %v of %d runs", f.ByFault, f.Count)
		}
		if first == nil {
			first = f.ByFault
		} else if diff := cmp.Diff(first, f.ByFault); diff != "" {
			t.Errorf("with %d processors (-first +this):\n%s", n, diff)
		}
	}
}

// TestFirstFailure: the failure that is reported is the first one, and does not depend on the number of processors.
func TestFirstFailure(t *testing.T) {
	bad := func(order []string, _ map[string]string) bool { return order[0] == "c" }
	for range 20 {
		r := explore.Exhaust(toy(strings.Split("abcde", ""), bad), explore.Bounds{})
		if f := r.Failures[0]; f.Run != 49 || f.Count != 24 || r.Runs != 120 {
			t.Fatalf("run %d of %d, %d failures; want run 49 of 120, 24", f.Run, r.Runs, f.Count)
		}
	}
	for _, n := range []int{1, 2, 4} {
		was := runtime.GOMAXPROCS(n)
		r := explore.Random(toy(strings.Split("abcde", ""), bad), explore.RandomOptions{Seed: 1, Bounds: explore.Bounds{Runs: 100}})
		runtime.GOMAXPROCS(was)
		if f := r.Failures[0]; f.Run != 3 || f.Count != 27 {
			t.Errorf("random, with %d processors: run %d, %d failures; want run 3, 27", n, f.Run, f.Count)
		}
	}
}

// TestUnstable reports a program that is not a function of its choices.
func TestUnstable(t *testing.T) {
	var runs atomic.Uint64
	r := explore.Exhaust(func() explore.Program {
		return explore.ProgramFunc(func(c *explore.Choices) explore.Outcome {
			n := runs.Add(1)
			c.Order("next", "", []string{"a", "b"}[:1+n%2])
			return explore.Outcome{Digest: n}
		})
	}, explore.Bounds{Runs: 3})
	if len(r.Unstable) == 0 || !strings.HasPrefix(r.Unstable[0], "the same choices gave two runs: choice 1 was") {
		t.Errorf("unstable: %q", r.Unstable)
	}
}

// TestUnstableLater reports a program that is not a function of its choices where its first runs are.
func TestUnstableLater(t *testing.T) {
	var runs atomic.Uint64
	r := explore.Exhaust(func() explore.Program {
		return explore.ProgramFunc(func(c *explore.Choices) (o explore.Outcome) {
			for range 7 {
				o.Digest = o.Digest<<1 | uint64(c.Order("next", "", []string{"a", "b"})) //nolint:gosec // 0 or 1
			}
			o.Text = func() string { return "begin\nend\n" }
			if o.Digest == 1 {
				n := runs.Add(1)
				o.Digest, o.Text = 1000+n, func() string { return fmt.Sprintf("begin\nrun %d\nend\n", n) }
			}
			return o
		})
	}, explore.Bounds{})
	if want := []string{"the same choices gave two runs: [next #7: b]\n  begin\n- run 2\n+ run 3\n"}; !slices.Equal(r.Unstable, want) {
		t.Errorf("unstable: %q, want %q", r.Unstable, want)
	}
}

// TestUnstablePoint reports a program whose first point is another one after some runs, although these runs do not differ when
// they are made again.
func TestUnstablePoint(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // runs are made in order
	abc := []string{"a", "b", "c"}
	for want, other := range map[string]func(c *explore.Choices) int{
		`choice 1 was "next" with 3 options, and is "next" with 2`:   func(c *explore.Choices) int { return c.Order("next", "", abc[:2]) },
		`choice 1 was "next" with 3 options, and is "next x" with 3`: func(c *explore.Choices) int { return c.Order("next", "x", abc) },
		`choice 1 was "next" with 3 options, and is "call" with 3`:   func(c *explore.Choices) int { return c.Order("call", "", abc) },
		`choice 1 was "next" with 3 options, and is "next" with 3`:   func(c *explore.Choices) int { return c.Fault("next", "", abc) },
	} {
		changed := false
		r := explore.Exhaust(func() explore.Program {
			return explore.ProgramFunc(func(c *explore.Choices) (o explore.Outcome) {
				if changed {
					other(c)
				} else {
					c.Order("next", "", abc)
				}
				for range 6 {
					o.Digest = o.Digest*3 + uint64(c.Order("next", "", abc)) //nolint:gosec // not negative
				}
				changed = changed || o.Digest == 40 // a run in the middle of the first part
				return o
			})
		}, explore.Bounds{Faults: 1, Runs: 2187}) // 3^7, the runs of a program whose points do not change
		if len(r.Unstable) == 0 || r.Unstable[0] != "the same choices gave two runs: "+want || r.Complete || r.Unfinished != nil {
			t.Errorf("%s: unstable %q, unfinished %q; want %q", r.Summary(), r.Unstable, r.Unfinished, want)
		}
	}
}

// TestUnstableText: the report of runs that differ has the first difference of their texts.
func TestUnstableText(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // runs are numbered in order
	for name, tt := range map[string]struct {
		digest func(run int) int
		later  bool // they are not the first runs
		want   string
	}{
		"first runs":        {func(run int) int { return run }, false, "the same choices gave two runs: []\n- run 1\n+ run 2\n"},
		"once":              {func(run int) int { return min(run, 2) }, false, "the same choices gave two runs: []\n- run 1\n+ run 2\n"},
		"first runs, equal": {func(run int) int { return -run }, false, "the same choices gave two runs: []\nthe runs differ in content that the text does not show"},
		"later runs":        {func(run int) int { return run }, true, "the same choices gave two runs: [call: fails]\n- run 2\n+ run 3\n"},
		"later runs, once":  {func(run int) int { return min(run, 2) }, true, "the same choices gave two runs: [call: fails]\n5 more runs with these choices do not differ"},
		"later runs, equal": {func(run int) int { return -run }, true, "the same choices gave two runs: [call: fails]\nthe runs differ in content that the text does not show"},
	} {
		run := 0
		r := explore.Exhaust(func() explore.Program {
			return explore.ProgramFunc(func(c *explore.Choices) (o explore.Outcome) {
				digest := 0
				if c.Fault("call", "", []string{"", "fails"}) == 1 || !tt.later {
					run++
					digest = tt.digest(run)
				}
				return explore.Outcome{Digest: uint64(digest), Text: func() string { return fmt.Sprintf("run %d\n", max(digest, 0)) }} //nolint:gosec // any number
			})
		}, explore.Bounds{Faults: 1, Runs: 3})
		if len(r.Unstable) == 0 || r.Unstable[0] != tt.want {
			t.Errorf("%s: got %q, want %q", name, r.Unstable, tt.want)
		}
	}
}

// TestUnstableFault reports a program that is not a function of its choices in runs with one of many faults.
func TestUnstableFault(t *testing.T) {
	var runs atomic.Uint64
	var options []string
	for i := range 40 {
		options = append(options, fmt.Sprint("fault ", i))
	}
	r := explore.Exhaust(func() explore.Program {
		return explore.ProgramFunc(func(c *explore.Choices) (o explore.Outcome) {
			if o.Digest = uint64(c.Fault("call", "", options)); o.Digest == 30 { //nolint:gosec // not negative
				o.Digest = 1000 + runs.Add(1)
			}
			return o
		})
	}, explore.Bounds{Faults: 1})
	if want := []string{"the same choices gave two runs: [call: fault 30]\nthe runs differ in content that the text does not show"}; !slices.Equal(r.Unstable, want) {
		t.Errorf("unstable: %q, want %q", r.Unstable, want)
	}
}

// TestViolatingFaults: runs with different faults are not added up when the other orders with one are skipped.
func TestViolatingFaults(t *testing.T) {
	const orders = 600
	r := explore.Exhaust(func() explore.Program {
		return explore.ProgramFunc(func(c *explore.Choices) (o explore.Outcome) {
			part := c.Order("part", "", make([]string, 16))
			fault := c.Fault("call", "", []string{"", "fails", "hangs", "panics"})
			if part == 0 && fault > 0 {
				c.Order("next", "", make([]string, orders))
				o.Violations = []check.Violation{{Invariant: "INV-08"}}
			}
			return o
		})
	}, explore.Bounds{Faults: 1})
	if want := 16*4 - 3 + 3*orders; r.Runs != want || !r.Complete || r.Failures[0].Count != 3*orders {
		t.Errorf("%s, unfinished %q; want %d runs", r.Summary(), r.Unfinished, want)
	}
}

// TestPassingNeighbor: the run without one of the choices violates another invariant, so it is not the passing neighbor.
func TestPassingNeighbor(t *testing.T) {
	r := explore.Exhaust(func() explore.Program {
		return explore.ProgramFunc(func(c *explore.Choices) (o explore.Outcome) {
			one, two := c.Fault("call", "a", []string{"", "fails"}), c.Fault("call", "b", []string{"", "fails"})
			switch {
			case one+two == 2:
				o.Violations = []check.Violation{{Invariant: "INV-01"}}
			case one == 1:
				o.Violations = []check.Violation{{Invariant: "INV-02"}}
			}
			return o
		})
	}, explore.Bounds{Faults: 2})
	i := slices.IndexFunc(r.Failures, func(f *explore.Failure) bool { return f.Invariant == "INV-01" })
	if i < 0 || r.Failures[i].Flipped == nil || r.Failures[i].Flipped.String() != "call a: fails" {
		t.Errorf("got %+v; want the passing neighbor without the fault of a", r.Failures)
	}
}

// TestRandomUnstable reports a program that is not a function of its choices in runs with a fault.
func TestRandomUnstable(t *testing.T) {
	var runs atomic.Uint64
	r := explore.Random(func() explore.Program {
		return explore.ProgramFunc(func(c *explore.Choices) explore.Outcome {
			n := runs.Add(1)
			if c.Fault("call", "", []string{"", "fails"}) == 0 {
				n = 0
			}
			return explore.Outcome{Digest: n}
		})
	}, explore.RandomOptions{Bounds: explore.Bounds{Faults: 1, Runs: 40}})
	if want := []string{"the same choices gave two runs: [call: fails]\nthe runs differ in content that the text does not show"}; !slices.Equal(r.Unstable, want) {
		t.Errorf("unstable: %q, want %q", r.Unstable, want)
	}
}

// TestRandom: run n of a seed is the same whatever the number of runs is, and alone.
func TestRandom(t *testing.T) {
	bad := func(order []string, _ map[string]string) bool { return strings.Join(order, "") == "dcab" }
	start := toy(strings.Split("abcd", ""), bad)
	r := explore.Random(start, explore.RandomOptions{Seed: 3, Bounds: explore.Bounds{Runs: 500}})
	if len(r.Failures) != 1 || r.Failures[0].Seed != 3 {
		t.Fatalf("failures %v: %s", r.Failures, r.Summary())
	}
	f := r.Failures[0]
	again := explore.Random(start, explore.RandomOptions{Seed: 3, Only: f.Run})
	if len(again.Failures) != 1 || again.Runs != 1 || !slices.Equal(again.Failures[0].Found, f.Found) {
		t.Errorf("run %d alone: %v, want the choices %v", f.Run, again.Failures, f.Found)
	}
	one := explore.Random(toy([]string{"a"}, never), explore.RandomOptions{Bounds: explore.Bounds{Runs: 10, Faults: 1}})
	if got, want := one.Summary(), "\n  the run without a fault has only one order"; !strings.HasSuffix(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	steps := explore.Random(func() explore.Program {
		return explore.ProgramFunc(func(c *explore.Choices) (o explore.Outcome) {
			for _, answers := range []string{"ab", "cd", "ef"} {
				c.Order("next", "", strings.Split(answers, ""))
			}
			return o
		})
	}, explore.RandomOptions{})
	if steps.Runs != 1000 || steps.Complete {
		t.Errorf("made %d runs, complete %v; want 1,000 if no number is given, and never complete", steps.Runs, steps.Complete)
	}
	if steps.Random.Tasks != 6 || steps.Random.Points != 3 {
		t.Errorf("three steps of two answers have %d tasks and %d points, want 6 and 3", steps.Random.Tasks, steps.Random.Points)
	}
	if got, want := r.Random.Runs(.999), 246; r.Random.Tasks != 4 || r.Random.Points != 3 || got != want {
		t.Errorf("%+v needs %d runs, want %d", r.Random, got, want)
	}
}

// TestDraw: data choose the order and the faults of a run, no data choose what the script says, and each run can be
// reached.
func TestDraw(t *testing.T) {
	bad := func(order []string, faults map[string]string) bool { return order[0] == "c" && faults["b"] == "hangs" }
	p := toy(strings.Split("abc", ""), bad)()
	if _, choices := explore.Draw(p, nil, explore.Bounds{Faults: 2}); choices != nil {
		t.Errorf("no data give %v", choices)
	}
	seen := map[uint64]bool{}
	for seed := range uint64(20_000) {
		data := make([]byte, 12)
		if _, err := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8), byte(seed >> 16)}).Read(data); err != nil {
			t.Fatal(err)
		}
		o, choices := explore.Draw(p, data, explore.Bounds{Faults: 2})
		seen[o.Digest] = true
		if again, _ := explore.Replay(p, choices); again.Digest != o.Digest {
			t.Fatalf("%x: the choices %v give another run", data, choices)
		}
		if len(o.Violations) == 0 {
			continue
		}
		f, err := explore.Explain(p, o.Violations[0], choices)
		if err != nil || len(f.Choices) != 2 || !f.Minimal {
			t.Fatalf("%v, %v; want two choices of %v", f, err, choices)
		}
	}
	if all := explore.Exhaust(toy(strings.Split("abc", ""), bad), explore.Bounds{Faults: 2}); len(seen) != all.Traces {
		t.Errorf("drew %d different runs, want %d", len(seen), all.Traces)
	}
	if _, err := explore.Explain(p, check.Violation{Invariant: "INV-01"}, nil); err == nil {
		t.Error("a run without a violation is explained")
	}
}

// TestPCT: the order that shows a bug of depth 1 comes as often as the guarantee says, for each number of faults.
func TestPCT(t *testing.T) {
	bad := func(order []string, _ map[string]string) bool { return strings.Join(order[:4], "") == "dcba" }
	r := explore.Random(toy(strings.Split("abcdef", ""), bad), explore.RandomOptions{Seed: 1, Depth: 1, Bounds: explore.Bounds{Runs: 20000}})
	if len(r.Failures) != 1 {
		t.Fatal(r.Summary())
	}
	if share := float64(r.Failures[0].Count) / 20000; share < .8/360 || share > 1.2/360 {
		t.Errorf("an order of four of six came with frequency %.5f, want 1/360", share)
	}
	bad = func(order []string, faults map[string]string) bool { return order[0] == "f" && len(faults) == 0 }
	for _, faults := range []int{0, 1, 3} {
		r := explore.Random(toy(strings.Split("abcdef", ""), bad), explore.RandomOptions{Seed: 1, Depth: 1, Bounds: explore.Bounds{Faults: faults, Runs: 20000}})
		share, chance := float64(r.Failures[0].Count)/20000, r.Random.Chance()
		if want := 1 / float64(6*(faults+1)); chance != want || share < .9*chance || share > 1.1*chance {
			t.Errorf("one of six is first, without one of %d faults, with frequency %.5f, and Chance is %.5f; want %.5f", faults, share, chance, want)
		}
	}
}

// TestPCTChange: with one change of the priorities, each of four orders of two tasks of two steps comes as often as the guarantee says.
func TestPCTChange(t *testing.T) {
	const runs = 5000
	r := explore.Random(func() explore.Program {
		return explore.ProgramFunc(func(c *explore.Choices) explore.Outcome {
			left, order := map[string]int{"a": 2, "b": 2}, ""
			for left["a"] > 0 && left["b"] > 0 {
				next := []string{"a", "b"}[c.Order("next", "", []string{"a", "b"})]
				left[next]--
				order += next
			}
			order += strings.Repeat("a", left["a"]) + strings.Repeat("b", left["b"])
			return explore.Outcome{Violations: []check.Violation{{Invariant: order}}}
		})
	}, explore.RandomOptions{Seed: 1, Depth: 2, Bounds: explore.Bounds{Runs: runs}})
	count := map[string]int{}
	for _, f := range r.Failures {
		count[f.Invariant] = f.Count
	}
	for _, order := range []string{"aabb", "abba", "baab", "bbaa"} {
		if share, chance := float64(count[order])/runs, r.Random.Chance(); chance != .25 || share < .9*chance || share > 1.1*chance {
			t.Errorf("%s came with frequency %.4f, and Chance is %.4f; want 0.25", order, share, chance)
		}
	}
}

// TestEndedGoroutine explores a program that ends its goroutine in one run, as FailNow of a test does.
func TestEndedGoroutine(t *testing.T) {
	start := toy(strings.Split("abcdef", ""), func(order []string, _ map[string]string) bool {
		if strings.Join(order, "") == "fedcba" {
			runtime.Goexit()
		}
		return false
	})
	for name, explored := range map[string]func() *explore.Result{
		"exhaustive": func() *explore.Result { return explore.Exhaust(start, explore.Bounds{}) },
		"random": func() *explore.Result {
			return explore.Random(start, explore.RandomOptions{Bounds: explore.Bounds{Runs: 20_000}})
		},
	} {
		done := make(chan struct{})
		go func() {
			defer close(done)
			r := explored()
			t.Errorf("%s: got %s, want no result", name, r.Summary())
		}()
		<-done
	}
}

// TestParseChoice reads what String writes.
func TestParseChoice(t *testing.T) {
	for _, c := range []explore.Choice{
		{"tool call c1", "fails"},
		{`tool call a {"n": 4} #3`, "fails"},
		{"model call 1", "fails after event 3 with status 500"},
		{"tool call c: 1", "fails"},
		{`tool call c: "1"`, "fails"},
		{"next answer 2", "c: 2"},
		{"next answer 2", `"c: 2" #2`},
		{"next answer 2", `1 of "A"`},
		{"next answer 2", `1 of "the names: \"A\""`},
		{"next answer 2", `"A"`},
	} {
		got, err := explore.ParseChoice(c.String())
		if err != nil || got != c {
			t.Errorf("%q: %+v, %v", c, got, err)
		}
	}
	for _, s := range []string{"", "x", "x: ", ": y"} {
		if c, err := explore.ParseChoice(s); err == nil {
			t.Errorf("%q: %+v, want an error", s, c)
		}
	}
}

// TestRepeat: a failure that not each run with its choices shows is reported with the number of those that do, and not shrunk. If
// none does, it is no failure, but reported.
func TestRepeat(t *testing.T) {
	const none = "INV-01 was violated with [next: b], and "
	for name, tt := range map[string]struct {
		fails    func(run int) bool
		repeat   int
		shown    int
		unstable []string
	}{
		"each run":       {func(int) bool { return true }, 6, 6, nil},
		"each second":    {func(run int) bool { return run%2 == 1 }, 6, 3, nil},
		"one":            {func(run int) bool { return run == 3 }, 6, 0, []string{none + "6 runs with the same choices do not violate it: lost"}},
		"one, no repeat": {func(run int) bool { return run == 3 }, 0, 0, []string{none + "the same choices do not violate it again"}},
	} {
		run := 0
		r := explore.Exhaust(func() explore.Program {
			return explore.ProgramFunc(func(c *explore.Choices) explore.Outcome {
				o := explore.Outcome{Text: func() string { return "the run\n" }}
				if c.Order("next", "", []string{"a", "b"}) == 1 {
					if run++; tt.fails(run) {
						o.Violations = []check.Violation{{Invariant: "INV-01", Message: "lost"}}
					}
				}
				return o
			})
		}, explore.Bounds{Repeat: tt.repeat})
		if diff := cmp.Diff(tt.unstable, r.Unstable); diff != "" || len(r.Failures) != 1-len(tt.unstable) {
			t.Errorf("%s: %d failures, unstable (-want +got):\n%s", name, len(r.Failures), diff)
			continue
		}
		for _, f := range r.Failures {
			all := tt.shown == tt.repeat
			if f.Shown != tt.shown || f.Repeated != 6 || f.Minimal != all || f.Text == "" || strings.Contains(f.Error(), "unstable: 3 of 6 runs") == all {
				t.Errorf("%s: %d of %d runs, minimal %v, want %d of 6: %s", name, f.Shown, f.Repeated, f.Minimal, tt.shown, f)
			}
		}
	}
}

// TestShrink omits each choice that can be, also after a round that only found an earlier option of others, and makes at most 200 runs.
func TestShrink(t *testing.T) {
	names := strings.Split("abcdefghijklmnopqrst", "")
	all := strings.Join(names, ":hangs ") + ":hangs"
	for _, tt := range []struct {
		found, want string
		between     []string // other runs that violate the invariant
	}{
		{"a:fails b:fails c:fails d:fails", "b:fails c:fails d:fails", nil},
		{"a:hangs b:hangs c:hangs", "a:fails b:fails", []string{"a:fails b:hangs c:hangs", "a:fails b:fails c:hangs"}},
		{all, all, nil},
	} {
		var got string
		p := toy(names, func(_ []string, faults map[string]string) bool {
			got = strings.TrimSuffix(strings.TrimPrefix(fmt.Sprint(faults), "map["), "]")
			return got == tt.found || got == tt.want || slices.Contains(tt.between, got)
		})()
		var choices []explore.Choice
		for _, c := range strings.Fields(tt.found) {
			name, fault, _ := strings.Cut(c, ":")
			choices = append(choices, explore.Choice{At: "call " + name, Option: fault})
		}
		f, err := explore.Explain(p, check.Violation{Invariant: "INV-01"}, choices)
		if err != nil {
			t.Fatal(err)
		}
		if explore.Replay(p, f.Choices); got != tt.want || f.Minimal != (f.Shrunk < 200) || f.Minimal != (tt.found != all) || f.Shrunk > 200 {
			t.Errorf("%s became %s after %d runs, minimal %v; want %s", tt.found, got, f.Shrunk, f.Minimal, tt.want)
		}
	}
}

// TestReduce: with a smaller script, the failure is the same one, although the run without its fault violates the invariant, too.
// The choices that only the larger script needs are omitted.
func TestReduce(t *testing.T) {
	start := func(calls int) (explore.Program, error) {
		return explore.ProgramFunc(func(c *explore.Choices) (o explore.Outcome) {
			first, second := c.Order("first", "", []string{"a", "b"}) == 1, c.Order("second", "", []string{"a", "b"}) == 1
			fails := c.Fault("call", fmt.Sprint(calls), []string{"", "fails"}) == 1
			if fails && (first && second || calls < 3 && !second) {
				o.Violations = []check.Violation{{Invariant: "INV-11", Message: fmt.Sprintf(`the run fails after {"calls":%d}: "%d"`, calls, calls)}}
			} else if calls < 3 {
				o.Violations = []check.Violation{{Invariant: "INV-11", Message: "the run ends early"}}
			}
			return o
		}), nil
	}
	smaller := func(calls int) iter.Seq2[int, func(at, option string) (string, string)] {
		return func(yield func(int, func(at, option string) (string, string)) bool) {
			lost := func(_, option string) (string, string) { return "lost", option }
			fewer := func(at, option string) (string, string) {
				return strings.Replace(at, fmt.Sprint(calls), fmt.Sprint(calls-1), 1), option
			}
			_ = calls > 1 && yield(0, lost) && yield(calls-1, fewer)
		}
	}
	noTime := func(explored bool) string { return map[bool]string{true: "no time to shrink"}[explored] }
	r := explore.ExhaustUntil(func() explore.Program { p, _ := start(5); return p }, explore.Bounds{Faults: 1}, noTime)
	calls, f := explore.Reduce(r.Failures[0], 5, smaller, start)
	if calls != 1 || f.Message != `the run fails after {"calls":1}: "1"` || fmt.Sprint(f.Choices) != "[call 1: fails]" || !f.Minimal {
		t.Errorf("got %d calls, %q with %v, minimal %v; want 1 call, and the fault", calls, f.Message, f.Choices, f.Minimal)
	}
}

// TestReport: what people read of a failure and of an exploration.
func TestReport(t *testing.T) {
	v := check.Violation{Invariant: "INV-01", Message: "lost", Hint: "keep it"}
	fails := explore.Choice{At: "call a", Option: "fails"}
	for want, f := range map[string]*explore.Failure{
		"in the run without a fault, in the order of the script\nfirst\nsecond\n": {},
		"with these choices:\n  call a: fails\nfirst\nsecond\n":                   {Choices: []explore.Choice{fails}},
		"with these choices:\n  call a: fails\nunstable: 1 of 6 runs with these choices showed it; the last one that did:\nfirst\nsecond\n": {
			Choices: []explore.Choice{fails}, Shown: 1, Repeated: 6},
		"with these choices:\n  call a: fails\nwithout \"call a: fails\" the run passes; the failing run (-) and the passing one (+):\n  first\n- second\n+ end\n": {
			Choices: []explore.Choice{fails}, Shown: 6, Repeated: 6, Flipped: &fails, Neighbor: "first\nend\n"},
	} {
		f.Violation, f.Text = v, "first\nsecond\n"
		if diff := cmp.Diff(fmt.Sprintf("%s\nkeep it\n%s", v, want), f.Error()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	for want, list := range map[string][]explore.Choice{
		"[]explore.Choice{}": nil,
		"[]explore.Choice{\n\t{At: \"call a\", Option: \"fails\"},\n}": {fails},
	} {
		if got := explore.Source(list); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	for interleavings, want := range []string{"all of 1 order, with", "all of 1 order (of 1 interleaving), with"} {
		r := explore.Result{Complete: true, Orders: 1, Interleavings: interleavings}
		if got := r.Summary(); !strings.Contains(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
