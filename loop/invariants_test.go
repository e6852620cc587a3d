package loop_test

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/internal/jsonval"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/scenario"
	"github.com/looptape/looptape/trace"
	"github.com/looptape/looptape/trace/check"
)

// negatives contains the tests that break an invariant and check that only it is
// reported, by evidence, and the beginning of an entry there.
var negatives = map[string][2]string{
	check.EvidenceMessages: {"../trace/check/broken*_test.go", `{"ID", "`},
	check.EvidenceTrace:    {"../trace/check/broken*_test.go", `{"ID", "`},
	check.EvidencePair:     {"invariants_test.go", `{"ID", check.`},
	check.EvidenceLiveRun:  {"looptest/looptest_test.go", `{"ID", "`},
}

// TestInvariantsHaveScenarios checks that each invariant has a scenario
// (testdata/invariants), a negative case and a mutant of the loop (mutants_test.go).
func TestInvariantsHaveScenarios(t *testing.T) {
	for _, inv := range check.Catalog() {
		if len(positives(t, inv.ID)) == 0 {
			t.Errorf("%s (%s) has no scenario: add testdata/invariants/%[1]s.txtar", inv.ID, inv.Name)
		}
		where := negatives[inv.Evidence]
		if !strings.Contains(sources(t, where[0]), strings.ReplaceAll(where[1], "ID", inv.ID)) {
			t.Errorf("%s (%s) has the evidence %s and no negative case in %s", inv.ID, inv.Name, inv.Evidence, where[0])
		}
		if !slices.ContainsFunc(mutants, func(m mutant) bool { return m.id == inv.ID }) {
			t.Errorf("%s (%s) has no mutant: add one to the table in mutants_test.go", inv.ID, inv.Name)
		}
	}
}

// sources returns the text of the files that match a pattern.
func sources(t *testing.T, pattern string) string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	text := ""
	for _, f := range files {
		src, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		text += string(src)
	}
	return text
}

// positives returns the scenarios of an invariant: INV-01.txtar, INV-01-more.txtar.
func positives(t testing.TB, id string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(testdata, "invariants", id+"*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestPositiveScenarios checks each scenario of an invariant with all invariants: its trace,
// its pairs, and the live run.
func TestPositiveScenarios(t *testing.T) {
	each(t, positives(t, "INV-"), func(t *testing.T, path string) {
		for _, v := range broken(t, path) {
			t.Errorf("%s: %s", v.Invariant, v.Message)
		}
		play(t, parse(t, path).Script, nil)
	})
}

// deliver returns options with this response mode.
func deliver(d llm.ResponseMode) *scenario.Options {
	return &scenario.Options{Adjust: func(c *loop.Config) { c.ResponseMode = d }}
}

// broken runs a scenario in all ways that must have the same result, and returns the
// violations. It ignores errors of the script.
func broken(t testing.TB, path string) []check.Violation {
	t.Helper()
	f := parse(t, path)
	again := func(opts *scenario.Options) *scenario.Result {
		o, err := scenario.Run(t.Context(), f.Script, opts)
		if o == nil {
			return &scenario.Result{Err: err}
		}
		return o
	}
	first := again(nil)
	found := append(violations(first.Events), probed(first)...)
	for _, n := range []int{1, 3} {
		found = append(found, check.Pair(first.Events, again(&scenario.Options{Chunk: n}).Events, check.Chunking)...)
	}
	streamed := again(deliver(llm.Streaming))
	found = append(found, check.Pair(streamed.Events, again(deliver(llm.NonStreaming)).Events, check.ResponseMode)...)
	for range 30 {
		found = append(found, check.Pair(first.Events, again(nil).Events, check.Repeat)...)
	}
	return found
}

func violations(events []trace.Event) []check.Violation {
	c := check.New(nil)
	for _, ev := range events {
		c.Add(ev)
	}
	return c.Done()
}

// probed returns the violations that only a live run shows.
func probed(o *scenario.Result) (found []check.Violation) {
	add := func(id, message string) {
		found = append(found, check.Violation{Invariant: id, Event: check.NoEvent, Message: message})
	}
	for _, line := range o.MutatedRequests {
		add("INV-06", line)
	}
	if o.Live != len(abandoned(o.Events)) {
		add("INV-16", "tasks live after the run that were not abandoned")
	}
	stuck := isDeadlock(o.Err)
	for _, e := range o.Tools {
		stuck = stuck || isDeadlock(e.Err)
	}
	if stuck {
		add("INV-26", "nothing could ever go on")
	}
	return found
}

// idsOf returns the invariants of violations, each once, sorted.
func idsOf(found []check.Violation) []string {
	ids := map[string]bool{}
	for _, v := range found {
		ids[v.Invariant] = true
	}
	return slices.Sorted(maps.Keys(ids))
}

// pairs are the invariants that two runs show: the runs of the scenario that
// must be the same, and a change that makes them differ in what the kind
// compares.
var pairs = []struct {
	id     string
	kind   check.PairKind
	opts   *scenario.Options
	change func(b trace.Body) trace.Body
}{
	{"INV-10", check.Chunking, &scenario.Options{Chunk: 1}, func(b trace.Body) trace.Body {
		response, ok := b.(trace.ModelResponse)
		if !ok {
			return b
		}
		response.Message.Parts = response.Message.Parts[:len(response.Message.Parts)-1]
		return response
	}},
	{"INV-12", check.ResponseMode, deliver(llm.NonStreaming), func(b trace.Body) trace.Body {
		end, ok := b.(trace.RunEnd)
		if !ok {
			return b
		}
		end.Usage.CacheReadInputTokens = 0
		return end
	}},
	{"INV-27", check.Repeat, nil, func(b trace.Body) trace.Body {
		d, ok := b.(trace.Decision)
		if !ok {
			return b
		}
		d.Note = strings.Replace(d.Note, "d failed", "a failed", 1)
		return d
	}},
}

func TestPairScenarios(t *testing.T) {
	for _, p := range pairs {
		t.Run(p.id, func(t *testing.T) {
			f := parse(t, filepath.Join(testdata, "invariants", p.id+".txtar"))
			a, b := play(t, f.Script, nil), play(t, f.Script, p.opts)
			if found := check.Pair(a.Events, b.Events, p.kind); len(found) > 0 {
				t.Errorf("the pair must agree: %v", found)
			}
			if diff := cmp.Diff([]string{p.id}, idsOf(check.Pair(a.Events, changed(b.Events, p.change), p.kind))); diff != "" {
				t.Errorf("reported of the changed run (-want +got):\n%s", diff)
			}
		})
	}
}

// changed returns events with other bodies.
func changed(events []trace.Event, change func(trace.Body) trace.Body) []trace.Event {
	out := slices.Clone(events)
	for i := range out {
		out[i].Body = change(out[i].Body)
	}
	return out
}

// TestChangedRuns changes the events of real runs as a broken loop would. Package check tests
// the other invariants.
func TestChangedRuns(t *testing.T) {
	for id, change := range map[string]func(trace.Body) trace.Body{
		"INV-01": func(b trace.Body) trace.Body { // a result is lost
			r, ok := b.(trace.ModelRequest)
			if !ok || len(r.NewMessages) < 2 {
				return b
			}
			r.NewMessages = slices.Clone(r.NewMessages)
			r.NewMessages[1].Parts = r.NewMessages[1].Parts[1:]
			return r
		},
		"INV-09": func(b trace.Body) trace.Body { // the arguments are encoded again
			s, ok := b.(trace.ToolStart)
			if !ok || s.ToolCallID != "c1" {
				return b
			}
			s.Arguments = jsonval.Canonical(s.Arguments)
			return s
		},
	} {
		o := play(t, parse(t, filepath.Join(testdata, "invariants", id+".txtar")).Script, nil)
		if diff := cmp.Diff([]string{id}, idsOf(violations(changed(o.Events, change)))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", id, diff)
		}
	}
}

func isDeadlock(err error) bool {
	_, ok := errors.AsType[*fake.DeadlockError](err)
	return ok
}
