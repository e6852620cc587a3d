package llmtest

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/looptape/looptape/internal/jsonval"
	"github.com/looptape/looptape/llm"
)

// echoCases send back a response with the results of its calls. They include reasoning only
// with opaque data, since not every provider accepts it without.
func echoCases(s *Suite) (all []*testcase) {
	text, call := someText, oneCall
	text.Opaque, call.Opaque = s.OpaqueText, s.OpaqueCall
	signed := content{parts: []llm.Part{text, call, twoCalls[1]}}
	if s.OpaqueReasoning != nil {
		signed.parts = slices.Insert(signed.parts, 0, s.reasoned())
	}
	for _, c := range []struct {
		name     string
		what     content
		delivery llm.ResponseMode
	}{
		{"calls and results", content{parts: twoCalls}, llm.Streaming},
		{"calls and results, non-streaming", content{parts: twoCalls}, llm.NonStreaming},
		{"opaque data", signed, llm.Streaming},
		{"opaque data, non-streaming", signed, llm.NonStreaming},
	} {
		all = append(all, &testcase{property: Echo, name: c.name, needsRequests: true, script: map[string]Response{modelA: c.what.script(7), modelB: content{parts: []llm.Part{someText}}.script(0)}, do: func(w *caseRun) {
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
		w.report(Echo, "the history was changed; %s", diff)
	}
}

// succeeds reports a request that fails as a violation of the property.
func (w *caseRun) succeeds(law Property, req *llm.Request) bool {
	a := w.stream(context.Background(), req, nil)
	if a.err != nil {
		w.report(law, "the request fails: %v", a.err)
	}
	return a.err == nil
}

// lastRequest returns the last recorded request.
func (w *caseRun) lastRequest() *llm.Request {
	asked := w.subject.Requests()
	if len(asked) == 0 {
		return &llm.Request{}
	}
	return asked[len(asked)-1]
}

// history formats messages for comparison, with opaque data. Consecutive messages of one
// role count as one.
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
				fmt.Fprintf(&b, "  with %s\n", jsonval.Canonical(string(raw)))
			}
		}
	}
	return b.String()
}
