package llmtest_test

import (
	"testing"

	"github.com/looptape/looptape/llm/llmtest"
)

// A test of a model provides a function that returns a model with scripted responses, and the
// features that the model does not have. The test of the client of a provider starts a server
// with the protocol of the provider, such as fake/wire.
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
