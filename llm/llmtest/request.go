package llmtest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/looptape/looptape/internal/jsonval"
	"github.com/looptape/looptape/llm"
)

// requestContentCases set each field of a request, and format it for comparison.
func requestContentCases() (all []*testcase) {
	add := func(name string, set func(r *llm.Request), show func(r *llm.Request) string, needs ...Feature) {
		all = append(all, &testcase{
			property: RequestContent, name: name, needs: needs, needsRequests: true, script: map[string]Response{modelA: content{parts: []llm.Part{someText}}.script(0)},
			do: func(w *caseRun) { w.checkRequest(set, show) },
		})
	}
	say := func(messages ...llm.Message) func(r *llm.Request) {
		return func(r *llm.Request) { r.Messages = messages }
	}
	add("the model", func(*llm.Request) {}, func(r *llm.Request) string { return r.Model })
	add("streaming", func(*llm.Request) {}, formatMode)
	add("non-streaming", func(r *llm.Request) { r.ResponseMode = llm.NonStreaming }, formatMode)
	add("the system prompt", func(r *llm.Request) { r.System = llm.SystemText(someText.Text) }, formatPrompt)
	parts := func(r *llm.Request) {
		r.System = llm.System{{Text: "Be brief.", CacheMark: true}, {Text: someText.Text}}
	}
	add("a system prompt in parts", parts, formatPrompt)
	add("a cache mark", parts, formatMarks, CacheMarks)
	add("a conversation", say(llm.User("Hi."), llm.Assistant(llm.Text{Text: "What is it?"}), llm.User(someText.Text)), formatHistory)
	add("an image", say(llm.Message{Role: llm.RoleUser, Parts: []llm.Part{llm.Text{Text: "What is this?"}, picture}}), formatHistory)
	file := say(llm.Message{Role: llm.RoleUser, Parts: []llm.Part{
		llm.Text{Text: "What is this?"}, llm.Media{MediaType: "application/pdf", Name: "paper.pdf", Data: []byte("%PDF-1.7\n\xff")},
	}})
	add("a file", file, formatFiles, Files)
	add("a file's name", file, formatHistory, Files, FileNames)
	add("a result that is an error", say(conversation(llm.ToolResult{IsError: true, Content: []llm.Part{llm.Text{Text: "no such city"}}})...), formatHistory, ErrorResults)
	add("an image in a result", say(conversation(llm.ToolResult{Content: []llm.Part{llm.Text{Text: "see"}, picture}})...), formatHistory, ImageResults)
	add("tools", func(r *llm.Request) {
		r.Tools = append(r.Tools, llm.Tool{Name: "find-it_2", Description: someText.Text, Parameters: weather.Parameters})
	}, formatTools)
	for _, choice := range []llm.ToolChoice{{Mode: llm.ChooseRequired}, {Mode: llm.ChooseNone}, {Mode: llm.ChooseTool, Name: weather.Name}} {
		add("tool choice "+choice.String(), func(r *llm.Request) { r.ToolChoice = choice }, func(r *llm.Request) string { return r.ToolChoice.String() })
	}
	settings := func(name string, set llm.Settings, needs ...Feature) {
		add(name, func(r *llm.Request) { r.Settings = set }, func(r *llm.Request) string { return formatSettings(r.Settings, set) }, needs...)
	}
	settings("the token limit", llm.Settings{MaxTokens: 321})
	settings("the temperature", llm.Settings{Temperature: new(0.25)})
	settings("a temperature of zero", llm.Settings{Temperature: new(0.0)})
	settings("top p", llm.Settings{TopP: new(0.75)})
	settings("a seed", llm.Settings{Seed: new(int64(0))}, Seed)
	settings("stop sequences", llm.Settings{StopSequences: []string{"END", "###"}}, StopSequences)
	settings("one call per response", llm.Settings{ParallelToolCalls: new(false)}, SingleCalls)
	settings("reasoning effort", llm.Settings{ReasoningEffort: "low"}, ReasoningEffort)
	settings("an output schema", llm.Settings{OutputSchema: weather.Parameters})
	return all
}

// checkRequest sends a request and compares it with the recorded one.
func (w *caseRun) checkRequest(set func(r *llm.Request), show func(r *llm.Request) string) {
	req := w.request(modelA)
	set(req)
	w.prepare(req)
	if !w.succeeds(RequestContent, req) {
		return
	}
	if want, got := show(req), show(w.lastRequest()); got != want {
		w.report(RequestContent, "want:\n%s\ngot:\n%s", want, got)
	}
}

// conversation returns messages with a call and this result.
func conversation(r llm.ToolResult) []llm.Message {
	r.ID, r.Name = oneCall.ID, oneCall.Name
	return []llm.Message{llm.User("What is the weather?"), llm.Assistant(oneCall), llm.ToolResults(r)}
}

// formatSettings formats the members of s that are also in another one.
func formatSettings(s, in llm.Settings) string {
	var all, wanted map[string]json.RawMessage
	_ = json.Unmarshal(s.AppendJSON(nil), &all)
	_ = json.Unmarshal(in.AppendJSON(nil), &wanted)
	maps.DeleteFunc(all, func(key string, _ json.RawMessage) bool { return wanted[key] == nil })
	text, _ := json.Marshal(all)
	return jsonval.Canonical(string(text))
}

func formatMode(r *llm.Request) string { return fmt.Sprintf("%q", r.ResponseMode) }

func formatPrompt(r *llm.Request) string { return r.System.Text() }

// formatMarks formats the parts of a system prompt with their marks.
func formatMarks(r *llm.Request) string { return fmt.Sprintf("%+v", r.System) }

func formatHistory(r *llm.Request) string { return history(r.Messages) }

// formatFiles formats the content of files.
func formatFiles(r *llm.Request) string {
	var b strings.Builder
	for _, m := range r.Messages {
		for _, p := range m.Parts {
			if media, ok := p.(llm.Media); ok {
				fmt.Fprintf(&b, "%s %q\n", media.MediaType, media.Data)
			}
		}
	}
	return b.String()
}

func formatTools(r *llm.Request) string {
	var b strings.Builder
	for _, t := range r.Tools {
		fmt.Fprintf(&b, "%s: %q, %s\n", t.Name, t.Description, jsonval.Canonical(string(t.Parameters)))
	}
	return b.String()
}

// echoCases send back a response with the results of its calls. They include reasoning only
// with opaque data, since not every provider accepts it without.
func echoCases(s *Suite) (all []*testcase) {
	text, call := someText, oneCall
	text.Opaque, call.Opaque = s.OpaqueText, s.OpaqueCall
	signed := content{parts: []llm.Part{text, call, twoCalls[1]}}
	if s.OpaqueReasoning != nil {
		signed.parts = slices.Insert(signed.parts, 0, s.reasoned())
	}
	add := func(name string, what content) {
		script := map[string]Response{modelA: what.script(7), modelB: content{parts: []llm.Part{someText}}.script(0)}
		all = append(all,
			&testcase{property: Echo, name: name, needsRequests: true, script: script, do: func(w *caseRun) { w.checkEcho(w.request(modelA)) }},
			&testcase{property: Echo, name: name + ", non-streaming", needsRequests: true, script: script, do: func(w *caseRun) { w.checkEcho(w.nonStreaming(modelA)) }},
		)
	}
	add("calls and results", content{parts: twoCalls})
	add("opaque data", signed)
	return all
}

func (w *caseRun) checkEcho(req *llm.Request) {
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
	w.compare(Echo, history(next.Messages), history(w.lastRequest().Messages), "the history was changed")
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
	all := append([]*llm.Request{{}}, w.subject.Requests()...)
	return all[len(all)-1]
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
