package looptest

import (
	"bytes"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/loop/explore"
)

// replayed repeats a run.
func replayed(t *testing.T, loop Loop, opts *ExploreOptions) *explore.Result {
	t.Helper()
	x := newExploration(t, loop, opts)
	o, unused := explore.Replay(x.program(), opts.Choices)
	t.Logf("the run:\n%s", o.Text())
	x.accepted.log(t)
	for _, v := range o.Violations {
		t.Errorf("%s\n%s", v, v.Hint)
	}
	for _, c := range unused {
		t.Errorf("the run has no such choice: %q", c)
	}
	return &explore.Result{Runs: 1, Traces: 1}
}

// repeatTest returns a Go test that repeats a failure with a script that is as small as possible.
func (x *exploration) repeatTest(f *explore.Failure) string {
	script, f := explore.Reduce(f, x.script, (*fake.Script).Smaller, func(s *fake.Script) (explore.Program, error) {
		y := *x
		y.use(s)
		return y.program(), nil
	})
	y, err := script.YAML()
	if err != nil {
		return fmt.Sprintf("The script cannot be written as a scenario: %v", err)
	}
	yaml := "`" + string(y) + "`"
	if bytes.ContainsRune(y, '`') {
		yaml = strconv.Quote(string(y))
	}
	call, options := "Explore(t, loop", ""
	if x.served != nil {
		call = "ExploreHTTP(t, run"
	}
	if x.panics {
		options = "Panics: true, "
	}
	if list := x.exceptions(script, f.Choices); len(list) > 0 {
		options += fmt.Sprintf("Exceptions: %#v, ", list)
	}
	if len(f.Choices) > 0 {
		options += "Choices: " + strings.ReplaceAll(explore.Source(f.Choices), "\n", "\n\t")
	} else {
		options += "Faults: -1, Runs: 1"
	}
	return fmt.Sprintf(repeatSource, moduleVersion(), strings.ReplaceAll(f.Invariant, "-", ""), yaml, call, options)
}

// exceptions returns the exceptions that the run of a script with these choices needs.
func (x *exploration) exceptions(script *fake.Script, choices []explore.Choice) (list []string) {
	if len(x.accepted.reasons) == 0 {
		return nil
	}
	y := *x
	y.accepted = newAccepted(x.accepted.reasons)
	y.use(script)
	explore.Replay(y.program(), choices)
	for _, id := range slices.Sorted(maps.Keys(y.accepted.runs)) {
		list = append(list, id+"="+x.accepted.reasons[id])
	}
	return list
}

// repeatSource is the source of a test that repeats a failure.
const repeatSource = `A test that repeats this with a smaller scenario (looptape %s):

func TestExplored%s(t *testing.T) {
	script, err := fake.ParseScript("scenario", []byte(%s))
	if err != nil {
		t.Fatal(err)
	}
	looptest.%s, &looptest.ExploreOptions{Script: script, %s})
}
`

// moduleVersion returns the version of this module in the test.
func moduleVersion() string {
	const path = "github.com/looptape/looptape"
	if build, ok := debug.ReadBuildInfo(); ok {
		for _, m := range append(build.Deps, &build.Main) {
			if m.Path == path && m.Version != "" {
				return m.Version
			}
		}
	}
	return "(devel)"
}
