package looptest_test

import (
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/looptape/looptape/loop/looptest"
	"github.com/looptape/looptape/trace/check"
)

func TestMain(m *testing.M) {
	const module = "github.com/looptape/looptape/"
	goleak.VerifyTestMain(m,
		// The goroutines of two faults and of two known bugs cannot end.
		goleak.IgnoreTopFunction(module+"loop/looptest_test.watch"),
		goleak.IgnoreTopFunction(module+"loop/looptest_test.send"),
		goleak.IgnoreTopFunction(module+"loop/looptest_test.coordinate"),
	)
}

func TestAnotherLoop(t *testing.T) { looptest.Check(t, &other{}) }

// faults names the invariant that each fault of the other loop breaks, and what
// it does.
var faults = []struct {
	id, fault string
	says      []string // prefixes of the messages, each "case: message"
}{
	{id: "INV-01", fault: "drops"},
	{"INV-01", "mixes", []string{`the last is fastest: wrong result of the call "c1"`}},
	{id: "INV-02", fault: "reminds"},
	{"INV-03", "finished", []string{`the last is fastest: request 1, message 2: the result of the call "c2" comes after the result of a later call`}},
	{id: "INV-04", fault: "ids"},
	{"INV-05", "trims", []string{"a long history: request 1 does not begin with the messages of the request before it"}},
	{id: "INV-05", fault: "mute"},
	{id: "INV-06", fault: "scratch"}, {id: "INV-06", fault: "array"},
	{"INV-06", "cache", []string{"exposed messages: two equal runs differ"}},
	{id: "INV-06", fault: "request"},
	{id: "INV-07", fault: "unanswered"},
	{id: "INV-08", fault: "twice"}, {id: "INV-08", fault: "guesses"},
	{id: "INV-09", fault: "encodes"}, {id: "INV-09", fault: "{} instead"},
	{id: "INV-11", fault: "finish stop"}, {id: "INV-11", fault: "finish calls"},
	{id: "INV-12", fault: "buffered"},
	{"INV-16", "no wait", []string{"a tool that ignores cancel: the run returned while 2 of its tools were running"}},
	{"INV-16", "watcher", []string{"both response modes: the run returned, but 1 of its goroutines have not ended"}},
	{id: "INV-17", fault: "starts on"}, {id: "INV-17", fault: "asks on"},
	{id: "INV-18", fault: "last usage"},
	{id: "INV-22", fault: "unsigned"},
	{"INV-23", "unmarked", []string{"truncated arguments: the result of a call with invalid arguments is not an error"}},
	{id: "INV-23", fault: "escapes"}, {id: "INV-23", fault: "panics"},
	{id: "INV-24", fault: "empty"},
	{"INV-26", "deaf model", []string{"the model waits: the run does not end; its context has ended, but something still waits"}},
	{"INV-26", "deaf tool", []string{"a tool waits: the run does not end; its context has ended, but the context of the tool has not"}},
	{"INV-26", "stuck", []string{"both response modes: the run does not end; nothing is left to wait for"}},
	{id: "INV-27", fault: "counter"},
}

// Each fault violates its invariant and no other, once per case.
func TestFaults(t *testing.T) {
	for _, f := range faults {
		t.Run(f.id+"/"+f.fault, func(t *testing.T) {
			found := looptest.Violations(t, &other{fault: f.fault})
			if len(found) == 0 {
				t.Errorf("got no violation, want %s", f.id)
			}
			var said []string
			for i, v := range found {
				if v.Invariant != f.id || v.Hint != hint(f.id) || v.Run == "" {
					t.Errorf("got %s in %q (%s), want %s:\n%s", v.Invariant, v.Run, v.Hint, f.id, v.Message)
				}
				if i > 0 && v.Run == found[i-1].Run {
					t.Errorf("%q is reported twice", v.Run)
				}
				_, name, _ := strings.Cut(v.Run, "/")
				said = append(said, name+": "+v.Message)
			}
			for _, want := range f.says {
				if !slices.ContainsFunc(said, func(s string) bool { return strings.HasPrefix(s, want) }) {
					t.Errorf("nothing begins with %q:\n%s", want, strings.Join(said, "\n"))
				}
			}
		})
	}
}

// hint is the text of the catalog about an invariant.
func hint(id string) string {
	for _, info := range check.Catalog() {
		if info.ID == id {
			return info.Hint
		}
	}
	return "no such invariant"
}
