package llmtest_test

import (
	"cmp"
	"testing"

	"go.uber.org/goleak"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/llm/llmtest"
)

func TestMain(m *testing.M) {
	// The faults "watcher", "lost on leave" and "deaf" leave these goroutines running.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/looptape/looptape/llm/llmtest_test.watch"),
		goleak.IgnoreTopFunction("github.com/looptape/looptape/llm/llmtest_test.(*call).stall"))
}

func TestAnotherModel(t *testing.T) { llmtest.Check(t, suite("")) }

// faults are the faults of the test model, each with the property that it violates.
var faults = []struct {
	property llmtest.Property
	fault    string
}{
	{llmtest.Order, "no finish"}, {llmtest.Order, "two finishes"}, {llmtest.Order, "speaks on"}, {llmtest.Order, "no end"}, {llmtest.Order, "late start"}, {llmtest.Order, "ends twice"},
	{llmtest.OneEnd, "error twice"}, {llmtest.OneEnd, "beside an event"}, {llmtest.OneEnd, "nil event"}, {llmtest.OneEnd, "goes on"},
	{llmtest.ResponseContent, "plain text"}, {llmtest.ResponseContent, "no cached tokens"}, {llmtest.ResponseContent, "no private data"},
	{llmtest.Chunking, "lone letters"},
	{llmtest.ResponseModes, "buffered space"},
	{llmtest.EarlyStop, "rest"},
	{llmtest.Leaks, "watcher"}, {llmtest.Leaks, "lost on leave"},
	{llmtest.Liveness, "deaf"},
	{llmtest.Cancel, "hides the context"}, {llmtest.Cancel, "ends quietly"}, {llmtest.Cancel, "hides the deadline"}, {llmtest.Cancel, "starts on"},
	{llmtest.Immutable, "changes"}, {llmtest.Immutable, "appends"}, {llmtest.Immutable, "appends a tool"}, {llmtest.Immutable, "keeps"},
	{llmtest.Lazy, "asks at once"},
	{llmtest.Repeat, "counts"},
	{llmtest.Concurrency, "mixes"},
	{llmtest.Errors, "no status"}, {llmtest.Errors, "never again"}, {llmtest.Errors, "no wait"}, {llmtest.Errors, "no message"}, {llmtest.Errors, "plain error"}, {llmtest.Errors, "speaks first"},
	{llmtest.Echo, "unsigned"}, {llmtest.Echo, "reordered"},
	{llmtest.RequestContent, "no tools"}, {llmtest.RequestContent, "no system"}, {llmtest.RequestContent, "no marks"}, {llmtest.RequestContent, "no temperature"},
	{llmtest.NoPanic, "panics"},
}

// Each fault violates its property and no other.
func TestFaults(t *testing.T) {
	for _, f := range faults {
		t.Run(string(f.property)+"/"+f.fault, func(t *testing.T) {
			found := llmtest.Violations(t, suite(f.fault))
			if len(found) == 0 {
				t.Errorf("got no violation, want %s", f.property)
			}
			for _, v := range found {
				if v.Property != f.property || v.Hint == "" || v.Case == "" {
					t.Errorf("got %s in %q, want %s:\n%s", v.Property, v.Case, f.property, v.Message)
				}
			}
		})
	}
}

// Unsupported features and requests that are not recorded are skipped.
func TestUnsupported(t *testing.T) {
	lacking := suite("no cached tokens")
	lacking.Unsupported = []llmtest.Feature{llmtest.CachedUsage}
	hidden := suite("no tools")
	hidden.New = func(_ testing.TB, s map[string]llmtest.Response) llmtest.Subject {
		return llmtest.Subject{Model: newOther("no tools", s)}
	}
	for _, s := range []llmtest.Suite{lacking, hidden, suite("item ids")} {
		for _, v := range llmtest.Violations(t, s) {
			t.Error(v)
		}
	}
}

// Requests are completed before they are sent.
func TestPrepare(t *testing.T) {
	s := suite("needs a bound")
	if len(llmtest.Violations(t, s)) == 0 {
		t.Error("got no violation")
	}
	s.Prepare = func(r *llm.Request) { r.Settings.MaxTokens = cmp.Or(r.Settings.MaxTokens, 100) }
	for _, v := range llmtest.Violations(t, s) {
		t.Error(v)
	}
}

// Each property has a fault that violates it and a description.
func TestProperties(t *testing.T) {
	broken := map[llmtest.Property]bool{}
	for _, f := range faults {
		broken[f.property] = true
	}
	for _, p := range llmtest.Properties() {
		if !broken[p] || p.Description() == "" {
			t.Errorf("the property %q has no fault or no description: %q", p, p.Description())
		}
		delete(broken, p)
	}
	if len(broken) > 0 {
		t.Errorf("missing properties: %v", broken)
	}
}
