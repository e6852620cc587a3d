package rerun

import (
	"context"
	"errors"
	"slices"

	"github.com/looptape/looptape/evals/scorers"
	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/trace"
	"github.com/looptape/looptape/trace/importer"
)

// ErrAsRecorded is what a live tool returns to answer a call as it was answered in the
// recording.
var ErrAsRecorded = errors.New("the call is to be answered as recorded")

// Options change how texts are compared: the results of [Tools], and the arguments of calls
// in [Model]. The zero value takes only equal ones for the same: two texts that are JSON by
// their values, all else byte for byte.
type Options struct {
	// Ignore are JSON pointers into the texts, by tool, to what is not compared; the tool *
	// is every tool, and a name * in a pointer stands for all members or elements. The
	// pointer "" is all of a text.
	Ignore map[string][]string
	// IgnoreSpace takes texts for the same that differ in white space alone, strings in
	// JSON among them.
	IgnoreSpace bool
}

// Verdict is what became of a call whose tool was run again, or was not.
type CallStatus string

// The verdicts.
const (
	Same       CallStatus = "same"       // the result is the recorded one
	Differs    CallStatus = "differs"    // it is another
	Unrecorded CallStatus = "unrecorded" // the recording has no result to hold it against
	Failed     CallStatus = "failed"     // the tool could not be asked
	AsRecorded CallStatus = "recorded"   // the tool was not run
)

// Parts reports whether the verdict says that the rerun parts from the record, or that it
// could not be found out.
func (v CallStatus) Differs() bool { return v == Differs || v == Failed }

// Call is a recorded call and what came of it now.
type Call struct {
	Step      int        `json:"step"`  // the turn of the model, from 0
	Index     int        `json:"index"` // the place among its calls, from 0
	ID        string     `json:"id"`    // as recorded
	Tool      string     `json:"tool"`
	Arguments string     `json:"arguments"` // as the model sent them
	Status    CallStatus `json:"status"`
	// Recorded and Now are the texts of the results, Recorded "" where there is none;
	// content that is no text stands as JSON.
	Recorded string `json:"recorded"`
	Now      string `json:"now"`
	// Differences are the places where two results that are JSON differ.
	Differences []scorers.Difference `json:"differences,omitempty"`
	// Note says in words what else there is to say, such as why a tool could not be asked.
	Note string `json:"note,omitempty"`
}

// ToolsRerun is what came of a run whose tools were run again.
type ToolsRerun struct {
	Calls  []Call
	Events []trace.Event // of the rerun
}

// Tools plays the turns that a run recorded, and runs these tools; a tool that is not
// among them answers as recorded. The options may be nil. Tools are called in the order of
// the record, one after the other. The error says that the run cannot be rerun, or is that
// of a context that has ended.
func Tools(ctx context.Context, run *importer.Run, o *Options, tools ...loop.Tool) (*ToolsRerun, error) {
	p, err := newPath(run)
	if err != nil {
		return nil, place(run, err)
	}
	out, err := p.playTools(ctx, o, tools)
	if err != nil {
		return nil, place(run, err)
	}
	return out, nil
}

// playTools is Tools of a path.
func (p *path) playTools(ctx context.Context, o *Options, tools []loop.Tool) (*ToolsRerun, error) {
	if o == nil {
		o = &Options{}
	}
	compare, err := newComparison(o)
	if err != nil {
		return nil, err
	}
	x := &toolsRerun{path: p, compare: compare}
	for _, t := range tools {
		x.live = append(x.live, t.Name)
	}
	model := &fake.Model{DiscardRequests: true}
	for _, t := range p.turns {
		model.Responses = append(model.Responses, scripted(t.said))
	}
	x.out.Events, err = play(ctx, model, loop.Config{
		Model: p.model, System: p.system, Tools: p.offers(tools), MaxSteps: len(p.turns) + 1,
	}, p.begin, x)
	if err != nil {
		return nil, err
	}
	return &x.out, nil
}

// scripted is a recorded turn as a model says it again. A call that the provider found
// malformed would end the run here and now.
func scripted(said trace.ModelResponse) fake.Response {
	if said.FinishReason == llm.FinishMalformedCall {
		said.FinishReason = ""
	}
	t := fake.Response{
		Usage: said.Usage, FinishReason: said.FinishReason, RawFinishReason: said.RawFinishReason, FinishMessage: said.FinishMessage,
		ResponseID: said.ResponseID, Model: said.Model, Opaque: said.Message.Opaque, Events: []llm.Event{},
	}
	for _, part := range said.Message.Parts {
		if c, ok := part.(llm.ToolCall); ok && c.IDGenerated { // which it will be again
			c.ID, c.ProviderID, c.IDGenerated = c.ProviderID, "", false
			part = c
		}
		t.Events = append(t.Events, llm.PartDone{Part: part})
	}
	return t
}

// toolsRerun is a rerun with live tools under way.
type toolsRerun struct {
	path    *path
	live    []string
	compare *comparison
	out     ToolsRerun
}

func (x *toolsRerun) hooks() loop.Hooks {
	return loop.Hooks{
		BeforeStep: func(_ context.Context, s *loop.StepInfo) (loop.StepChange, error) { return x.path.heardBefore(s), nil },
		AfterModel: func(_ context.Context, s *loop.StepInfo, _ *llm.Response) (loop.Decision, error) {
			return x.path.goOn(s.Step), nil
		},
		BeforeTools: x.batch,
		WrapTool:    x.wrap,
		AfterStep:   x.after,
	}
}

// batch answers the calls whose tools are not run.
func (x *toolsRerun) batch(_ context.Context, s *loop.StepInfo, calls []loop.PlannedCall) (decisions []loop.CallDecision, d loop.Decision, err error) {
	t := x.path.turns[s.Step]
	for i, c := range calls {
		call := Call{Step: s.Step, Index: i, ID: t.calls[i].ID, Tool: c.Call.Name, Arguments: c.Call.Arguments, Recorded: textOf(t.results[i])}
		if !slices.Contains(x.live, c.Call.Name) {
			call.Status = AsRecorded
			decisions = append(decisions, answer(c, t.results[i]))
		}
		x.out.Calls = append(x.out.Calls, call)
	}
	return decisions, d, nil
}

// wrap goes around the tools that are run.
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

// call is the call of a step at this place.
func (x *toolsRerun) call(step, index int) *Call {
	i := slices.IndexFunc(x.out.Calls, func(c Call) bool { return c.Step == step && c.Index == index })
	return &x.out.Calls[i]
}

// after holds the results of a step against the record.
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
			x.compare.call(call, recorded, &now, x.path.plain)
		}
	}
	return x.path.end(s.Step), nil
}
