// Package league explores loops of other projects, and the presets of looptape, with the same scripts, and writes
// docs/league.md.
package league

import (
	"encoding/json"
	"flag"
	"io"
	"log"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/loop/explore"
)

var (
	update = flag.Bool("update", false, "write the results and the page")
	times  = flag.Int("times", 1, "explore each loop this `number` of times; with more than 1, with each script; with -update, 4 times")
)

// pageTimes is the number of explorations of each loop for the page.
const pageTimes = 4

func TestMain(m *testing.M) {
	log.SetOutput(io.Discard) // ADK logs each error of a connection
	m.Run()
}

// TestExplorations explores each loop, and compares the results with the page's. Each failure has an explanation.
func TestExplorations(t *testing.T) {
	known, err := readResults()
	if err != nil && !*update {
		t.Fatal(err)
	}
	var results []result
	for i, s := range scripts() {
		for _, e := range entries() {
			k := slices.IndexFunc(known, func(r result) bool { return r.Loop == e.name && r.Script == s.name })
			ran := false
			t.Run(e.name+"/"+s.name, func(t *testing.T) {
				switch {
				case e.program && (i > 0 || !*withPrograms):
					t.Skip("a program is explored with -programs and the first script")
				case i > 0 && *times == 1 && !*update:
					t.Skip("the script is explored with -update, or more than once")
				}
				ran = true
				got := exploreTimes(t, &e, &s)
				results = append(results, got)
				if k < 0 || *update {
					return
				}
				got.Times = known[k].Times
				if diff := cmp.Diff(known[k], got); diff != "" {
					t.Errorf("the exploration differs from %s (-want +got); go test -update writes it:\n%s", resultsFile, diff)
				}
			})
			if !ran && k >= 0 {
				results = append(results, known[k])
			}
		}
	}
	if *update && !t.Failed() {
		data, err := json.MarshalIndent(results, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		write(t, resultsFile, append(data, '\n'))
		known = results
	}
	if want := (len(entries())-len(programs()))*len(scripts()) + len(programs()); len(known) != want {
		t.Errorf("%s has %d explorations, want %d: run go test -update", resultsFile, len(known), want)
	}
}

// exploreTimes explores a loop a number of times. All results must be equal.
func exploreTimes(t *testing.T, e *entry, s *script) (first result) {
	t.Helper()
	count := *times
	switch {
	case e.program:
		count = 1
	case *update:
		count = pageTimes
	}
	for n := range count {
		r := e.explore(t, s.fake)
		t.Log(r.Summary())
		got := result{Loop: e.name, Script: s.name, Runs: r.Runs, Orders: r.Orders, Complete: r.Complete, Times: count, Failures: failuresOf(t, e, r)}
		if len(r.Unstable) > 0 && e.unstable.text == "" {
			t.Errorf("the loop is unstable: %s", r.Unstable[0])
		}
		if n == 0 {
			first = got
		} else if diff := cmp.Diff(first, got); diff != "" {
			t.Errorf("exploration %d differs from the first (-first +this):\n%s", n+1, diff)
		}
	}
	return first
}

func failuresOf(t *testing.T, e *entry, r *explore.Result) []failure {
	t.Helper()
	list := []failure{}
	for _, f := range r.Failures {
		out := failure{Invariant: f.Invariant, Runs: f.Count, Faults: map[string]int{}, Choices: []string{}, Minimal: f.Minimal, Message: f.Message}
		for fault, n := range f.ByFault {
			fault = withoutNumbers(fault)
			out.Faults[fault] += n
			if _, ok := explained(e.family, f.Invariant, fault); !ok {
				t.Errorf("findings has no explanation for %s, %s, %q (%d runs); the smallest failure: %v", e.family, f.Invariant, fault, n, f)
			}
		}
		for _, c := range f.Choices {
			out.Choices = append(out.Choices, c.String())
		}
		list = append(list, out)
	}
	return list
}

// TestPage checks that the page shows the results, and that no explanation is left over.
func TestPage(t *testing.T) {
	results, err := readResults()
	if err != nil {
		t.Fatal(err)
	}
	versions, err := moduleVersions()
	if err != nil {
		t.Fatal(err)
	}
	if err := packageVersions(versions); err != nil {
		t.Fatal(err)
	}
	list := entries()
	used := map[int]bool{}
	for _, e := range list {
		for _, r := range results {
			for _, f := range r.Failures {
				for fault := range f.Faults {
					if i, ok := explained(e.family, f.Invariant, fault); ok && r.Loop == e.name {
						used[i] = true
					}
				}
			}
		}
	}
	for i, f := range findings {
		if !used[i] {
			t.Errorf("%s does not violate %s with the faults %q: remove the explanation", f.family, f.invariant, f.faults)
		}
	}
	want := page(list, results, versions)
	if *update {
		write(t, pageFile, []byte(want))
	}
	got, err := os.ReadFile(pageFile)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("%s is not current (-want +got); go test -update writes it:\n%s", pageFile, diff)
	}
}

func write(t *testing.T, file string, data []byte) {
	t.Helper()
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
