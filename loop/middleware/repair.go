package middleware

import (
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

// RepairOptions configures [Repair].
type RepairOptions struct {
	// Model repairs the arguments; nil means the model of the agent.
	Model llm.Model
	// ModelName is the provider's name of the model. If Model is nil and ModelName is empty,
	// the name is that of the step's request.
	ModelName string
	// Prompt returns the prompt for a repair; nil means [RepairPrompt].
	Prompt func(call llm.ToolCall, schema json.RawMessage) string
}

// WarnRepair is the code of the warning that a repair failed.
const WarnRepair = "repair_failed"

// Repair repairs arguments that the loop would reject because they are not a JSON object or do
// not match the tool's schema. It calls a model once per call, with trace.PurposeRepair and
// the tool's schema as the output schema. If the response matches the schema, it replaces the
// arguments (tool.arguments with the reason "repair"); otherwise the call keeps its error
// result. The id, the name and the original message do not change.
//
// Repair skips calls of unknown tools, and calls in a response that was truncated at its
// length limit. A repair is not a step. Its usage is recorded with its purpose.
func Repair(opts RepairOptions) loop.Middleware {
	if opts.Prompt == nil {
		opts.Prompt = RepairPrompt
	}
	return loop.Middleware{Name: "repair", New: func(loop.RunInfo) loop.Hooks {
		r := repairer{RepairOptions: opts}
		return loop.Hooks{AfterModel: r.note, BeforeTools: r.batch}
	}}
}

// RepairPrompt is the default prompt: the tool, the arguments, the schema and the instruction,
// each on separate lines. Invalid JSON is encoded as a JSON string.
func RepairPrompt(call llm.ToolCall, schema json.RawMessage) string {
	args := []byte(call.Arguments)
	if !jsonio.Valid(args) {
		args = jsonio.AppendString(nil, call.Arguments)
	}
	return strings.Join([]string{
		fmt.Sprintf("A model called the tool %q with these arguments, which it does not take:", call.Name),
		string(args),
		"The arguments have to follow this JSON Schema:",
		string(schema),
		"Answer with the arguments as the model meant them, mended, and with nothing else.",
	}, "\n")
}

type repairer struct {
	RepairOptions
	finish llm.FinishReason // of the response whose calls come next
}

func (r *repairer) note(_ context.Context, _ *loop.StepInfo, turn *llm.Response) (loop.Decision, error) {
	r.finish = turn.FinishReason
	return loop.Decision{}, nil
}

func (r *repairer) batch(ctx context.Context, s *loop.StepInfo, calls []loop.PlannedCall) (decisions []loop.CallDecision, d loop.Decision, err error) {
	for i, p := range calls {
		switch {
		case p.Output == nil || !slices.Contains([]string{trace.SkipMalformedArguments, trace.SkipInvalidArguments, trace.SkipTruncated}, p.Reason):
		case i == len(calls)-1 && r.finish == llm.FinishLength:
		default:
			repaired, err := r.mend(ctx, s, p)
			if err != nil {
				return nil, d, err
			}
			decisions = append(decisions, repaired...)
		}
	}
	return decisions, d, nil
}

// The model repairs the arguments of a rejected call. A failed repair does not fail the run.
func (r *repairer) mend(ctx context.Context, s *loop.StepInfo, p loop.PlannedCall) ([]loop.CallDecision, error) {
	schema := schemaOf(s.Tools(), p.Call.Name)
	req := &llm.Request{
		Model: r.ModelName, Messages: []llm.Message{llm.User(r.Prompt(p.Call, schema))},
		Settings: llm.Settings{OutputSchema: schema},
	}
	model := r.Model
	if model == nil {
		model = s.Model
	}
	if r.Model == nil && r.ModelName == "" {
		req.Model = s.Request.Model
	}
	turn, err := s.CallModel(ctx, loop.ModelCall{Purpose: trace.PurposeRepair, Model: model, Request: req})
	if err != nil {
		return nil, s.Warn(WarnRepair, fmt.Sprintf("the arguments of the call %s were not mended: %v", p.Call.ID, err))
	}
	if args := unfenced(turn.Text()); args != "" {
		return []loop.CallDecision{{Index: p.Index, Arguments: args, Reason: loop.ReasonRepair}}, nil
	}
	return nil, nil
}

// schemaOf returns the schema of a tool's arguments; a tool without a schema accepts any
// object.
func schemaOf(tools []loop.Tool, name string) json.RawMessage {
	at := slices.IndexFunc(tools, func(t loop.Tool) bool { return t.Name == name })
	if p := tools[at].Parameters; p != nil {
		return p
	}
	return json.RawMessage(`{"type":"object"}`)
}
