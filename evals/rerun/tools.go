package rerun

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/looptape/looptape/evals/scorers"
	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/trace"
	"github.com/looptape/looptape/trace/importer"
)

// ErrAsRecorded makes a tool use the recorded result.
var ErrAsRecorded = errors.New("the call is to be answered as recorded")

// Options configure the comparison of texts: results in [Tools], arguments in [Model]. The zero
// value compares JSON by value and other text byte by byte.
type Options struct {
	// Ignore are JSON pointers to ignored values, by tool. The tool * means every tool, and the
	// name * in a pointer all members or elements. The pointer "" ignores the whole text.
	Ignore map[string][]string
	// IgnoreSpace ignores differences in white space, also in strings of JSON.
	IgnoreSpace bool
}

// Defaults and results.
const (
	DefaultTimeout = 10 * time.Second // for a call of a program

	// Statuses of a call.
	Same       = "same"       // the result is the recorded one
	Differs    = "differs"    // the result differs
	Unrecorded = "unrecorded" // the recording has no result
	Failed     = "failed"     // the tool could not run
	AsRecorded = "recorded"   // the tool did not run

	// Results of a rerun with a model.
	PathSame     = "same"     // the run follows the recording to its end
	PathDiverged = "diverged" // the run diverges
	PathFailed   = "failed"   // the model or the rerun failed
)

// Call is a recorded call with its new result.
type Call struct {
	Step      int    `json:"step"`  // from 0
	Index     int    `json:"index"` // index among the calls of the step, from 0
	ID        string `json:"id"`    // as recorded
	Tool      string `json:"tool"`
	Arguments string `json:"arguments"` // unchanged
	Status    string `json:"status"`    // such as Same
	// Recorded and Now are the texts of the results, or JSON for other content; empty if missing.
	Recorded string `json:"recorded"`
	Now      string `json:"now"`
	// Differences are the places where two results that are JSON differ.
	Differences []scorers.Difference `json:"differences,omitempty"`
	// Note explains the status, for example a failure.
	Note string `json:"note,omitempty"`
}

// Differs reports whether the result differs from the recorded result or could not be determined.
func (c *Call) Differs() bool { return c.Status == Differs || c.Status == Failed }

// ToolsRerun is the result of a rerun with tools.
type ToolsRerun struct {
	Calls  []Call
	Events []trace.Event // of the rerun
}

// Tools repeats the recorded model responses and runs these tools, in recorded order; other tools
// use the recorded results. The options may be nil. Tools returns an error if the run cannot be
// repeated or ctx ends.
func Tools(ctx context.Context, run *importer.Run, o *Options, tools ...loop.Tool) (*ToolsRerun, error) {
	p, err := newPath(run)
	if err != nil {
		return nil, err
	}
	out, err := p.playTools(ctx, o, tools)
	return out, place(run, err)
}

func (p *path) playTools(ctx context.Context, o *Options, tools []loop.Tool) (*ToolsRerun, error) {
	x := &toolsRerun{path: p}
	if o != nil {
		x.options = *o
	}
	err := x.options.Check()
	if err != nil {
		return nil, err
	}
	for _, t := range tools {
		x.live = append(x.live, t.Name)
	}
	model := &fake.Model{DiscardRequests: true}
	for _, t := range p.turns {
		model.Responses = append(model.Responses, scripted(t.said))
	}
	cfg := loop.Config{Tools: p.loopTools(tools), MaxSteps: len(p.turns) + 1}
	hooks := loop.Hooks{BeforeStep: x.before, AfterModel: x.response, BeforeTools: x.batch, WrapTool: x.wrap, AfterStep: x.after}
	if x.out.Events, err = p.play(ctx, model, cfg, hooks); err != nil {
		return nil, err
	}
	return &x.out, nil
}

// scripted returns a recorded response for a scripted model. It removes the finish reason
// malformed_call, which would end the run.
func scripted(said trace.ModelResponse) fake.Response {
	if said.FinishReason == llm.FinishMalformedCall {
		said.FinishReason = ""
	}
	t := fake.Response{
		Usage: said.Usage, FinishReason: said.FinishReason, RawFinishReason: said.RawFinishReason, FinishMessage: said.FinishMessage,
		ResponseID: said.ResponseID, Model: said.Model, Opaque: said.Message.Opaque, Events: []llm.Event{},
	}
	for _, part := range said.Message.Parts {
		if c, ok := part.(llm.ToolCall); ok && c.IDGenerated { // the loop generates it again
			c.ID, c.ProviderID, c.IDGenerated = c.ProviderID, "", false
			part = c
		}
		t.Events = append(t.Events, llm.PartDone{Part: part})
	}
	return t
}

type toolsRerun struct {
	path    *path
	live    []string
	options Options
	out     ToolsRerun
}

// before adds the user messages that came during the calls of the previous step.
func (x *toolsRerun) before(_ context.Context, s *loop.StepInfo) (c loop.StepChange, _ error) {
	if s.Step == 0 || len(x.path.turns[s.Step-1].calls) == 0 {
		return c, nil
	}
	return addHeard(s, x.path.turns[s.Step-1].next), nil
}

// response continues the run after all but the last response.
func (x *toolsRerun) response(_ context.Context, s *loop.StepInfo, _ *llm.Response) (loop.Decision, error) {
	if s.Step == len(x.path.turns)-1 {
		return loop.Decision{}, nil
	}
	return next(x.path.turns[s.Step].next), nil
}

// batch answers the calls whose tools do not run.
func (x *toolsRerun) batch(_ context.Context, s *loop.StepInfo, calls []loop.PlannedCall) (decisions []loop.CallDecision, d loop.Decision, err error) {
	t := x.path.turns[s.Step]
	for i, c := range calls {
		call := Call{
			Step: s.Step, Index: i, ID: t.calls[i].ID, Tool: c.Call.Name, Arguments: c.Call.Arguments,
			Recorded: textOf(t.results[i]),
		}
		if !slices.Contains(x.live, c.Call.Name) {
			call.Status = AsRecorded
			decisions = append(decisions, answer(c, t.results[i]))
		}
		x.out.Calls = append(x.out.Calls, call)
	}
	return decisions, d, nil
}

func (x *toolsRerun) wrap(next loop.ToolFunc) loop.ToolFunc {
	return func(ctx context.Context, c loop.Call) (loop.Output, error) {
		out, err := next(ctx, c)
		t, call := x.path.turns[c.Step], x.call(c.Step, c.Index)
		if errors.Is(err, ErrAsRecorded) {
			call.Status = AsRecorded
			return recordedOutput(t.results[c.Index]), nil
		}
		if failed, ok := errors.AsType[*ProgramError](err); ok {
			call.Status, call.Note = Failed, failed.Error()
		}
		return out, err
	}
}

func (x *toolsRerun) call(step, index int) *Call {
	i := slices.IndexFunc(x.out.Calls, func(c Call) bool { return c.Step == step && c.Index == index })
	return &x.out.Calls[i]
}

// after compares the results of a step with the recording.
func (x *toolsRerun) after(_ context.Context, s *loop.StepInfo, step *loop.Step) (loop.Decision, error) {
	t := x.path.turns[s.Step]
	for i, now := range step.Results {
		call := x.call(s.Step, i)
		call.Now = textOf(&now)
		switch recorded := t.results[i]; {
		case call.Status != "":
		case recorded == nil:
			call.Status = Unrecorded
		default:
			x.options.compare(call, recorded, &now, x.path.plain)
		}
	}
	return x.path.end(s.Step), nil
}
