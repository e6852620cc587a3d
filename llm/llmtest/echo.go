package llmtest

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/looptape/looptape/llm"
)

// echoCases send back what a turn said, with the results of its calls. Reasoning
// goes back where it has private data: without them, not every provider takes it.
func echoCases(s *Suite) (all []*testcase) {
	text, call := someText, oneCall
	text.Opaque, call.Opaque = s.Private.Text, s.Private.Call
	signed := content{parts: []llm.Part{text, call, twoCalls[1]}}
	if s.Private.Reasoning != nil {
		signed.parts = slices.Insert(signed.parts, 0, s.reasoned())
	}
	for _, c := range []struct {
		name     string
		what     content
		delivery llm.ResponseMode
	}{
		{"calls and results", content{parts: twoCalls}, llm.Streaming},
		{"calls and results, buffered", content{parts: twoCalls}, llm.NonStreaming},
		{"private data", signed, llm.Streaming},
		{"private data, buffered", signed, llm.NonStreaming},
	} {
		all = append(all, &testcase{property: Echo, name: c.name, needsRequests: true, script: Script{modelA: c.what.script(7), modelB: content{parts: []llm.Part{someText}}.script(0)}, do: func(w *caseRun) {
			w.checkEcho(c.delivery)
		}})
	}
	return all
}

func (w *caseRun) checkEcho(delivery llm.ResponseMode) {
	req := w.request(modelA)
	req.ResponseMode = delivery
	a := w.complete(req)
	if a == nil {
		return
	}
	turn := a.response()
	var results []llm.ToolResult
	for _, c := range turn.Calls() {
		results = append(results, llm.ToolResult{ID: c.ID, Name: c.Name, Content: []llm.Part{llm.Text{Text: "the result of " + c.ID}}})
	}
	next := w.request(modelB, req.Messages[0], turn.Message(), llm.ToolResults(results...))
	if !w.succeeds(Echo, next) {
		return
	}
	if diff := differ(history(next.Messages), history(w.lastRequest().Messages)); diff != "" {
		w.report(Echo, "the history did not come back as it was; %s", diff)
	}
}

// goesThrough reports a request that is answered with an error, as what law says.
func (w *caseRun) succeeds(law Property, req *llm.Request) bool {
	a := w.stream(context.Background(), req, nil)
	if a.err != nil {
		w.report(law, "the request fails: %v", a.err)
	}
	return a.err == nil
}

// last is the last request that the other side got.
func (w *caseRun) lastRequest() *llm.Request {
	asked := w.subject.Requests()
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
			if raw := llm.PartOpaque(p); raw != nil {
				fmt.Fprintf(&b, "  with %s\n", llm.Canonical(string(raw)))
			}
		}
	}
	return b.String()
}
