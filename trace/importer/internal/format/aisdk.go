package format

import (
	"encoding/json"

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
	if steps := run.Meta["steps"]; steps != nil {
		for _, step := range tree.Elements(steps) {
			run.Messages = message.AddStep(run.Messages, llm.RoleAssistant, stepParts(step))
		}
	} else {
		run.Messages = message.AddStep(run.Messages, llm.RoleAssistant, stepParts(raw))
	}
	run.Answer = tree.Scalar(run.Meta["text"])
	if n := len(run.Messages); run.Answer == "" && n > 0 && run.Messages[n-1].Role == llm.RoleAssistant {
		run.Answer = run.Messages[n-1].Text()
	}
}

func stepParts(step json.RawMessage) (parts []llm.Part) {
	content := tree.Member(step, "content")
	for _, part := range tree.Elements(content) {
		parts = append(parts, message.SDKPart(part))
	}
	if content != nil {
		return parts
	}
	if text := tree.Scalar(step, "reasoning"); text != "" {
		parts = append(parts, llm.Reasoning{Text: text})
	}
	if text := tree.Scalar(step, "text"); text != "" {
		parts = append(parts, llm.Text{Text: text})
	}
	for _, name := range []string{"toolCalls", "toolResults"} {
		for _, part := range tree.Elements(step, name) {
			parts = append(parts, message.SDKPart(part))
		}
	}
	return parts
}
