package fake_test

import (
	"testing"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/llm/llmtest"
)

// The scripted model is a model like others. Its stalls wait on its own clock, and
// are tested with it.
func TestContract(t *testing.T) {
	raw := func(s string) []byte { return []byte(s) }
	llmtest.Check(t, llmtest.Suite{
		New: func(_ testing.TB, s llmtest.Script) llmtest.Subject {
			m := &fake.Model{Lanes: map[string][]fake.Turn{}}
			for name, a := range s {
				m.Lanes[name] = []fake.Turn{scripted(a)}
			}
			return llmtest.Subject{Model: m, Asked: func() (asked []*llm.Request) {
				for _, r := range m.Requests() {
					asked = append(asked, r.Request)
				}
				return asked
			}}
		},
		Lacks:   []llmtest.Feature{llmtest.Stalls},
		Private: llmtest.Private{Reasoning: raw(`{"signature":"c2lnbmVk"}`), Text: raw(`{"id":"msg_1"}`), Call: raw(`{"id":"fc_1"}`)},
	})
}

// scripted is an answer as a turn.
func scripted(a llmtest.Answer) fake.Turn {
	t := fake.Turn{Events: a.Events, Stall: a.Stall}
	if e := a.Err; e != nil {
		t.Error = &fake.Failure{Status: e.Status, Message: e.Message, RetryAfter: e.RetryAfter}
		if e.Err != nil {
			t.Error.Connection = fake.ConnectionClosed
		}
	}
	if t.Events == nil { // nothing, rather than what the other fields say
		t.Events = []llm.Event{}
	}
	return t
}
