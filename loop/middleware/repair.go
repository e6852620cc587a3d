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

// RepairOptions say who mends arguments, and how.
type RepairOptions struct {
	// Model mends them; nil is the agent's own.
	Model llm.Model
	// ModelName is the provider's name of it. Where both are empty it is the one that
	// the step was asked of.
	ModelName string
	// Prompt words the question; nil is RepairPrompt.
	Prompt func(call llm.ToolCall, schema json.RawMessage) string
}

// WarnRepair is the code of the warning that arguments could not be mended.
const WarnRepair = "repair_failed"

// Repair has arguments mended that the loop would refuse, because they are no JSON
// object or because the tool's schema does not allow them. A model is asked once a
// call, for trace.PurposeRepair and with the tool's schema for its answer. What it
// says takes the place of the arguments if the schema allows it (tool.arguments with
// the cause "repair"); otherwise the call keeps its error result. The id, the name
// and the model's own message stay as they were.
//
// Never mended are calls of a tool that there is not, and a call within which the
// answer was cut off at its length limit: nobody knows what was to come. A question
// is no step; its usage counts, by its purpose.
func Repair(opts RepairOptions) loop.Middleware {
	if opts.Prompt == nil {
		opts.Prompt = RepairPrompt
	}
	return loop.Middleware{Name: "repair", New: func(loop.RunInfo) loop.Hooks {
		r := repairer{RepairOptions: opts}
		return loop.Hooks{AfterModel: r.note, BeforeTools: r.batch}
	}}
}

// RepairPrompt is the usual question: which tool was called and with what, the
// arguments, the schema, what to do, each on lines of their own. Arguments that are
// not JSON stand as a JSON string.
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
	finish llm.FinishReason // of the turn whose calls come next
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

// mend asks for the arguments of a call that was refused. That there is none is no
// failure of the run.
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

// schemaOf returns the schema of a tool's arguments; one without takes any object.
func schemaOf(tools []loop.Tool, name string) json.RawMessage {
	at := slices.IndexFunc(tools, func(t loop.Tool) bool { return t.Name == name })
	if p := tools[at].Parameters; p != nil {
		return p
	}
	return json.RawMessage(`{"type":"object"}`)
}
