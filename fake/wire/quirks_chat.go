package wire

import (
	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
)

// chatQuirks are those of OpenAI Chat Completions and of what imitates it.
var chatQuirks = []quirkForm{
	{
		QuirkForm: QuirkForm{ID: "QO-01", Says: "the reason is stop, and there are calls", Protocols: []string{chat}},
		turn: func(_ *play, t *fake.Turn) bool {
			if len(t.Calls) == 0 {
				return false
			}
			t.Finish = llm.FinishStop
			return true
		},
	},
	{
		QuirkForm: QuirkForm{ID: "QO-22", Says: "the stream ends without [DONE]", Protocols: []string{chat}, Streamed: true},
		reply: func(_ *play, r *reply) bool {
			n := len(r.frames) - 1
			if n < 0 || string(r.frames[n].data) != "[DONE]" {
				return false
			}
			r.frames = r.frames[:n]
			return true
		},
	},
}
