package wire_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/looptape/looptape/fake/wire"
)

// Any forms can be shown together, in each protocol and response mode, for one response or
// for all: no handler panics, the loop ends, and every run is valid.
func TestQuirkSets(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		k := rapid.SampledFrom(protocols).Draw(rt, "protocol")
		mode := rapid.SampledFrom(modes).Draw(rt, "delivery")
		forms := slices.DeleteFunc(wire.Quirks(), func(f wire.Quirk) bool {
			return !slices.Contains(f.Protocols, k.name) || stalls(f)
		})
		names := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) string {
			f := rapid.SampledFrom(forms).Draw(rt, "form")
			turn := rapid.SampledFrom([]string{"", "@1", "@2", "@3"}).Draw(rt, "turn")
			return strings.TrimSuffix(f.ID+":"+f.Form, ":") + turn
		}), 1, 5).Draw(rt, "quirks")
		o := play(t, "sets/many", k.name, responseModes[mode], parseQuirks(t, strings.Join(names, " "))...)
		for _, problem := range o.problems() {
			rt.Error(problem)
		}
		for i, x := range o.exchanges {
			if resets := slices.ContainsFunc(names, func(s string) bool { return strings.HasPrefix(s, "QT-05") }); x.err != nil && !resets {
				rt.Errorf("response %d was interrupted: %v", i+1, x.err)
			}
		}
		if rt.Failed() {
			rt.Log(o.Trace())
		}
	})
}

// stalls reports whether the responses of a form do not end.
func stalls(f wire.Quirk) bool { return f.ID == "QT-10" || f.ID == "QT-11" }
