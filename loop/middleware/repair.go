package middleware

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/trace"
)

// Repair repairs arguments that the loop would reject because they are not a JSON object or do
// not match the tool's schema. Its zero value is ready to use.
type Repair struct {
	// Model repairs the arguments; nil means the model of the agent.
	Model llm.Model
	// ModelName is the provider's name of the model. If Model is nil and ModelName is empty,
	// the name is that of the step's request.
	ModelName string
	// Prompt returns the prompt for a repair; nil means that of the reference loop deepagents:
	// the tool, the arguments and the schema with an instruction.
	Prompt func(call llm.ToolCall, schema json.RawMessage) string
}

// Middleware calls a model once per rejected call, with [trace.PurposeRepair] and the tool's
// schema as the output schema. If the response matches the schema, it replaces the arguments
// (tool.arguments with the reason "repair"); otherwise the call keeps its error result.
//
// It skips calls of unknown tools and calls that the length limit truncated. A repair is not a
// step. Its usage is recorded with its purpose.
func (r Repair) Middleware() loop.Middleware {
	if r.Prompt == nil {
		r.Prompt = repairPrompt
	}
	repair := decideEach(r.repair)
	return loop.Middleware{Name: "repair", New: func(loop.RunInfo) loop.Hooks {
		truncated := -1 // the index of the call that the length limit truncated
		return loop.Hooks{
			AfterModel: func(_ context.Context, _ *loop.StepInfo, response *llm.Response) (d loop.Decision, err error) {
				truncated = -1
				if response.FinishReason == llm.FinishLength {
					truncated = len(response.Calls()) - 1
				}
				return d, nil
			},
			BeforeTools: func(ctx context.Context, s *loop.StepInfo, calls []loop.PlannedCall) ([]loop.CallDecision, loop.Decision, error) {
				calls = slices.DeleteFunc(calls, func(p loop.PlannedCall) bool { return p.Index == truncated })
				return repair(ctx, s, calls)
			},
		}
	}}
}

var repairable = []string{trace.SkipMalformedArguments, trace.SkipInvalidArguments, trace.SkipTruncated}

// repair repairs the arguments of a rejected call. A failed repair does not fail the run.
func (r Repair) repair(ctx context.Context, s *loop.StepInfo, p loop.PlannedCall) ([]loop.CallDecision, error) {
	if p.Output == nil || !slices.Contains(repairable, p.Reason) {
		return nil, nil
	}
	schema := json.RawMessage(`{"type":"object"}`) // a tool without a schema accepts any object
	tools := s.Tools()
	if i := slices.IndexFunc(tools, func(t loop.Tool) bool { return t.Name == p.Call.Name && t.Parameters != nil }); i >= 0 {
		schema = tools[i].Parameters
	}
	model, name := r.Model, r.ModelName
	if model == nil {
		model, name = s.Model, cmp.Or(name, s.Request.Model)
	}
	response, err := s.CallModel(ctx, loop.ModelCall{Purpose: trace.PurposeRepair, Model: model, Request: &llm.Request{
		Model: name, Messages: []llm.Message{llm.User(r.Prompt(p.Call, schema))}, Settings: llm.Settings{OutputSchema: schema},
	}})
	if err != nil {
		return nil, s.Warn(WarnRepair, fmt.Sprintf("the arguments of the call %s were not repaired: %v", p.Call.ID, err))
	}
	if args := unfenced(response.Text()); args != "" {
		return []loop.CallDecision{{Index: p.Index, Arguments: args, Reason: loop.ReasonRepair}}, nil
	}
	return nil, nil
}

// repairPrompt is the default prompt. Invalid JSON is encoded as a JSON string.
func repairPrompt(call llm.ToolCall, schema json.RawMessage) string {
	args := []byte(call.Arguments)
	if !jsonio.Valid(args) {
		args = jsonio.AppendString(nil, call.Arguments)
	}
	compact := func(b []byte) string {
		var out bytes.Buffer
		_ = json.Compact(&out, b) // both are valid JSON
		return out.String()
	}
	return strings.Join([]string{
		`The model tried to call "` + call.Name + `" with:`,
		compact(args),
		"The tool accepts:",
		compact(schema),
		"Please fix the inputs.",
	}, "\n")
}
