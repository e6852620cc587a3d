package format

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/importer/internal/message"
	"github.com/looptape/looptape/trace/importer/internal/tree"
)

// SniffAISDK recognizes results of the AI SDK.
func SniffAISDK(h *Head) (Layout, bool) {
	_, rows := SniffRows(h)
	return runsInArray, h.Has("steps") && h.Contains(`"toolCalls"`, `"tool-call"`, `"finishReason"`) ||
		h.Has("finishReason") && h.Has("text", "toolCalls") && !rows
}

// AISDK reads a result of generateText of the AI SDK: an object with StepResults as steps
// (packages/ai/src/generate-text in github.com/vercel/ai), or with the members of a single
// step. Since version 5 a step has a list of parts as content; before, it had text,
// toolCalls and toolResults. The prompt is not part of a result. If the recorder added a
// prompt or messages, they come first.
func AISDK(d *jsonio.Dec, run *Run) {
	raw := run.object(d)
	run.SetName()
	run.Describe()
	run.Ask(Value(run.Meta, nil, PromptNames))
	steps, listed := run.Meta["steps"], listed{run: run}
	var step tree.Index
	var others []Element // the steps that have more than their content
	for n, raw := range run.Objects("steps", steps) {
		step.Read(raw)
		run.Messages = message.AddStep(run.Messages, llm.RoleAssistant, stepParts(&step))
		if step.First(stepMembers...) != nil {
			others = append(others, Element{Raw: raw, Path: "steps[" + strconv.Itoa(n) + "]"})
		}
	}
	if steps == nil {
		step.Read(raw)
		run.Messages = message.AddStep(run.Messages, llm.RoleAssistant, stepParts(&step))
	}
	for _, e := range others {
		step.Read(e.Raw)
		listed.step(e.Path, step.Member, step.Member("content") == nil)
	}
	listed.step("", func(name string) json.RawMessage { return run.Meta[name] }, steps == nil && run.Meta["content"] == nil)
	run.Answer = tree.Scalar(run.Meta["text"])
	if n := len(run.Messages); run.Answer == "" && n > 0 && run.Messages[n-1].Role == llm.RoleAssistant {
		run.Answer = run.Messages[n-1].Text()
	}
}

// listed reports the calls, results and texts of results and steps of the AI SDK that the messages of a run do not have.
type listed struct {
	run  *Run
	keys map[string]bool // of the parts of the messages; nil until one is looked for
	text string          // of all parts
}

// The members of a result or a step that repeat parts of its content.
var (
	stepLists   = []string{"toolCalls", "staticToolCalls", "dynamicToolCalls", "toolResults", "staticToolResults", "dynamicToolResults"}
	stepTexts   = []string{"text", "reasoning", "reasoningText"}
	stepMembers = slices.Concat(stepLists, stepTexts, callNames, []string{"response"})
)

// step reports what is not among the messages of a result or a step, at a path. The lists were read if there is no
// content; the messages of a response are those of all steps so far.
func (l *listed) step(path string, member func(name string) json.RawMessage, wasRead bool) {
	for _, name := range stepLists {
		if !wasRead {
			l.parts(joinPath(path, name), member(name), message.SDKPart)
		}
	}
	for _, name := range callNames {
		if value := member(name); name != "toolCalls" && message.IsToolMember(name, value) && message.HasOtherCalls(value, l.run.Messages) {
			l.run.ReportUnknown(joinPath(path, name), "the member has calls that are not those of the run, and they are not read")
		}
	}
	for _, name := range stepTexts {
		if value := member(name); (path != "" || name != "text") && !message.IsEmpty(value) { // the text of a result is its answer
			l.parts(joinPath(path, name), value, message.SDKPart)
		}
	}
	path = joinPath(path, "response.messages")
	for n, m := range l.run.Objects(path, tree.Member(member("response"), "messages")) {
		l.parts(path+"["+strconv.Itoa(n)+"].content", tree.Member(m, "content"), func(part json.RawMessage) llm.Part {
			p := message.SDKPart(part)
			if r, ok := p.(llm.ToolResult); ok { // the output may be in another form for the model
				r.Content = nil
				return r
			}
			return p
		})
	}
}

// parts reports the parts of a list, or the text, if they are not among the messages.
func (l *listed) parts(path string, list json.RawMessage, read func(json.RawMessage) llm.Part) {
	if text, ok := tree.Text(list); ok {
		l.part(path, llm.Text{Text: text})
		return
	}
	for n, part := range l.run.Objects(path, list) {
		l.part(path+"["+strconv.Itoa(n)+"]", read(part))
	}
}

func (l *listed) part(path string, p llm.Part) {
	if l.keys == nil {
		l.read()
	}
	found := true
	switch p := p.(type) {
	case llm.Text:
		found = strings.Contains(l.text, p.Text)
	case llm.Reasoning:
		found = strings.Contains(l.text, p.Text)
	case llm.ToolCall, llm.ToolResult:
		found = l.keys[message.Key(p)]
	case llm.Unknown:
		kind := tree.Scalar(p.Raw, "value", "type")
		found = kind != "" && kind != "tool-result" && kind != "tool-error" || l.keys[outputKey(p)]
	default: // no content of the conversation, or a part whose form in the content is another
	}
	if !found {
		l.run.ReportUnknown(path, "the member has a text, a call or a result that is not among the content")
	}
}

func (l *listed) read() {
	l.keys = map[string]bool{}
	var text, reasoning strings.Builder
	for _, m := range l.run.Messages {
		for _, p := range m.Parts {
			switch p := p.(type) {
			case llm.Text:
				text.WriteString(p.Text)
			case llm.Reasoning:
				reasoning.WriteString(p.Text)
			case llm.ToolResult:
				l.keys[message.Key(p)], l.keys[message.Key(llm.ToolResult{ID: p.ID})] = true, true
			case llm.Unknown: // of a call that the provider runs
				l.keys[outputKey(p)] = true
			case llm.ToolCall:
				l.keys[message.Key(p)] = true
			case llm.Media:
			}
		}
	}
	l.text = text.String() + reasoning.String()
}

// outputKey returns the key of the output of a call that the provider runs.
func outputKey(u llm.Unknown) string {
	return message.Key(llm.ToolResult{ID: tree.Scalar(u.Raw, "value", "toolCallId")})
}

func stepParts(step *tree.Index) (parts []llm.Part) {
	content := step.Member("content")
	for _, part := range tree.Elements(content) {
		parts = append(parts, message.SDKPart(part))
	}
	if content != nil {
		return parts
	}
	if text := tree.Scalar(step.Member("reasoning")); text != "" {
		parts = append(parts, llm.Reasoning{Text: text})
	}
	if text := tree.Scalar(step.Member("text")); text != "" {
		parts = append(parts, llm.Text{Text: text})
	}
	for _, name := range []string{"toolCalls", "toolResults"} {
		for _, part := range tree.Elements(step.Member(name)) {
			parts = append(parts, message.SDKPart(part))
		}
	}
	return parts
}
