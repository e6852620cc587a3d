package llmtest_test

import (
	"testing"

	"github.com/looptape/looptape/llm/llmtest"
)

// A test of a model says how to make one that answers by script, and what it cannot
// say. A client of a provider is made with a server behind it that speaks the
// provider's protocol, such as fake/wire.
func ExampleCheck() {
	_ = func(t *testing.T) { // TestModel in a file of tests
		llmtest.Check(t, llmtest.Suite{
			New: func(_ testing.TB, script map[string]llmtest.Response) llmtest.Subject {
				m := newOther("", script)
				return llmtest.Subject{Model: m, Requests: m.seen}
			},
			Unsupported: []llmtest.Feature{llmtest.ResponseMedia, llmtest.Seed},
		})
	}
}
