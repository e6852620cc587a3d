package looptest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/looptape/looptape/loop/explore"
	"github.com/looptape/looptape/trace/check"
)

// accepted are the violations of an exploration that its exceptions accept.
type accepted struct {
	reasons map[string]string // by invariant

	mu   sync.Mutex
	runs map[string]acceptedRun // by invariant, the one with the fewest choices
}

type acceptedRun struct {
	violation check.Violation
	choices   []explore.Choice
}

func newAccepted(reasons map[string]string) *accepted {
	return &accepted{reasons: reasons, runs: map[string]acceptedRun{}}
}

// all reports whether all violations are accepted.
func (a *accepted) all(found []check.Violation) bool {
	return !slices.ContainsFunc(found, func(v check.Violation) bool { return a.reasons[v.Invariant] == "" })
}

// others returns the violations of a run that are not accepted. None is if the loop did not call the model.
func (r *exploredRun) others() (list []check.Violation) {
	if len(r.accepted.reasons) == 0 || r.unused {
		return r.found
	}
	for _, v := range r.found {
		if r.accepted.reasons[v.Invariant] == "" {
			list = append(list, v)
		} else {
			r.accepted.add(acceptedRun{v, r.c.Taken()})
		}
	}
	return list
}

func (a *accepted) add(r acceptedRun) {
	a.mu.Lock()
	defer a.mu.Unlock()
	was, found := a.runs[r.violation.Invariant]
	if !found || cmp.Or(cmp.Compare(len(r.choices), len(was.choices)), cmp.Compare(fmt.Sprint(r.choices), fmt.Sprint(was.choices))) < 0 {
		a.runs[r.violation.Invariant] = r
	}
}

// log logs the accepted violations.
func (a *accepted) log(t *testing.T) {
	t.Helper()
	for _, id := range slices.Sorted(maps.Keys(a.runs)) {
		r := a.runs[id]
		text := r.violation.String()
		for _, c := range r.choices {
			text += "\n  " + c.String()
		}
		t.Logf("%s\naccepted: %s", text, a.reasons[id])
	}
}
