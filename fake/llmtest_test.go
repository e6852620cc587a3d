package fake_test

import (
	"testing"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/llm/llmtest"
)

// The scripted model satisfies the contract suite. The tests of the clock cover its stalls.
func TestContract(t *testing.T) {
	llmtest.Check(t, llmtest.Suite{
		New: func(_ testing.TB, s map[string]llmtest.Response) llmtest.Subject {
			m := &fake.Model{Sessions: map[string][]fake.Response{}}
			for name, a := range s {
				// Events that are not nil are all events, and other fields do not count.
				m.Sessions[name] = []fake.Response{{Events: append([]llm.Event{}, a.Events...), Error: fake.FailureOf(a.Err)}}
			}
			return llmtest.Subject{Model: m, Requests: m.Requests}
		},
		Unsupported:     []llmtest.Feature{llmtest.Stalls},
		OpaqueReasoning: raw(`{"signature":"c2lnbmVk"}`), OpaqueText: raw(`{"id":"msg_1"}`), OpaqueCall: raw(`{"id":"fc_1"}`),
	})
}
