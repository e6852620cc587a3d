package llmtest

import (
	"fmt"
	"strings"

	"github.com/looptape/looptape/llm"
)

// echoCases send back what a turn said, with the results of its calls.
func echoCases(s *Suite) []*testcase {
	text, call := someText, oneCall
	text.Opaque, call.Opaque = s.Private.Text, s.Private.Call
	signed := rich(s)
	n := len(signed.parts) // the last three are a text and two calls
	signed.parts[n-3], signed.parts[n-2] = text, call
	plain := speech{parts: twoCalls}
	return []*testcase{
		{law: Echo, name: "calls and results", sees: true, script: Script{modelA: plain.answer(7), modelB: speech{parts: []llm.Part{someText}}.answer(0)}, play: echoed},
		{law: Echo, name: "private data", sees: true, script: Script{modelA: signed.answer(7), modelB: speech{parts: []llm.Part{someText}}.answer(0)}, play: echoed},
	}
}

func echoed(w *world) {
	for _, delivery := range []llm.Delivery{llm.Streamed, llm.Buffered} {
		req := w.request(modelA)
		req.Delivery = delivery
		a := w.whole(req)
		if a == nil {
			return
		}
		turn := a.turn()
		var results []llm.ToolResult
		for _, c := range turn.Calls() {
			results = append(results, llm.ToolResult{ID: c.ID, Name: c.Name, Content: []llm.Part{llm.Text{Text: "the result of " + c.ID}}})
		}
		next := w.request(modelB, req.Messages[0], turn.Message(), llm.ToolResults(results...))
		if w.whole(next) == nil {
			return
		}
		if diff := differ(history(next.Messages), history(w.last().Messages)); diff != "" {
			w.report(Echo, "the history did not come back as it was; %s", diff)
		}
	}
}

// last is the last request that the other side got.
func (w *world) last() *llm.Request {
	asked := w.subject.Asked()
	if len(asked) == 0 {
		return &llm.Request{}
	}
	return asked[len(asked)-1]
}

// history writes messages for comparison, private data of what was answered
// included. Messages of one role in a row are as good as one.
func history(messages []llm.Message) string {
	var b strings.Builder
	var role llm.Role
	for _, m := range messages {
		if m.Role != role {
			role = m.Role
			fmt.Fprintf(&b, "%s:\n", role)
		}
		for _, p := range m.Parts {
			b.WriteString(describePart(p))
			if raw := opaque(p); raw != nil {
				fmt.Fprintf(&b, "  with %s\n", llm.Canonical(string(raw)))
			}
		}
	}
	return b.String()
}
