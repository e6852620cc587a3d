// Package rerun repeats recorded runs with changes, without a network:
//
//   - [Tools] repeats the recorded model responses and runs tools. It reports which results differ from the recorded ones.
//   - [Model] calls another model, or uses another prompt, and answers its calls with the recorded results. It reports where the model diverges from the recording.
//
// A rerun is a run of package loop on a virtual clock: the same recording, tools and model give
// the same result and the same trace, byte for byte. User messages are the recorded ones, as long
// as the rerun follows the recording.
//
// A rerun makes the calls of a run in sequence. A run that a call of another run started belongs
// to the result of that call and is not repeated by itself.
package rerun

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/trace"
	"github.com/looptape/looptape/trace/importer"
)

// follower returns the hooks that answer calls, add user messages, and end the run with the
// recording.
type follower interface {
	hooks() loop.Hooks
}

// play runs the loop and returns its events.
func play(ctx context.Context, model llm.Model, cfg loop.Config, begin []llm.Message, f follower) ([]trace.Event, error) {
	var events trace.Memory
	cfg.CheckLimitBeforeStep, cfg.Concurrency, cfg.MaxConsecutiveToolErrors = false, 1, loop.Disabled
	cfg.Continuations, cfg.Sink = loop.Disabled, &events
	cfg.Middleware = []loop.Middleware{{Name: "rerun", New: func(loop.RunInfo) loop.Hooks { return f.hooks() }}}
	if cfg.Clock == nil {
		cfg.Clock = fake.NewClock()
	}
	agent, err := loop.New(model, &cfg)
	if err != nil {
		return nil, err
	}
	_, err = agent.Run(ctx, loop.Input{Messages: begin})
	return events.Events(), err
}

// loopTools returns the tools of the rerun: those that run, and the recorded ones, which do not run.
// It omits tools with a name or schema that the loop rejects; their calls are answered all the
// same.
func (p *path) loopTools(live []loop.Tool) []loop.Tool {
	tools := slices.Clone(live)
	add := func(d llm.Tool) {
		if slices.ContainsFunc(tools, func(t loop.Tool) bool { return t.Name == d.Name }) {
			return
		}
		t, err := loop.RawTool(d.Name, d.Description, d.Parameters, notRun)
		if err != nil {
			t, err = loop.RawTool(d.Name, d.Description, nil, notRun)
		}
		if err == nil {
			t.Strict = d.Strict
			tools = append(tools, t)
		}
	}
	for _, d := range p.tools {
		add(d)
	}
	for _, name := range p.called() {
		add(llm.Tool{Name: name})
	}
	if len(tools) == 0 { // a loop without tools would leave calls to its caller
		add(llm.Tool{Name: "none"})
	}
	return tools
}

var errNotRun = errors.New("the tool does not run: its results are the recorded ones")

func notRun(context.Context, loop.Call) (loop.Output, error) { return loop.Output{}, errNotRun }

// reasonRecorded is the reason of a call with the recorded result, in the trace.
const reasonRecorded = "recorded"

// answer gives a call its recorded result.
func answer(c loop.PlannedCall, recorded *llm.ToolResult) loop.CallDecision {
	out := recordedOutput(recorded)
	return loop.CallDecision{Index: c.Index, Output: &out, Reason: reasonRecorded}
}

// recordedOutput returns a recorded result as the output of a tool.
func recordedOutput(r *llm.ToolResult) loop.Output {
	if r == nil {
		return loop.Output{Content: []llm.Part{llm.Text{Text: "the recording has no result of this call"}}, IsError: true}
	}
	return loop.Output{Content: r.Content, IsError: r.IsError}
}

// heardBefore adds the user messages that came during tool calls to the history.
func (p *path) heardBefore(s *loop.StepInfo) (c loop.StepChange) {
	if s.Step == 0 || len(p.turns[s.Step-1].calls) == 0 || len(p.turns[s.Step-1].next) == 0 {
		return c
	}
	c.Messages, c.Note = slices.Concat(s.History(), p.turns[s.Step-1].next), reasonRecorded
	return c
}

// next returns the decision after a response without calls: the next user messages.
func (p *path) next(step int) loop.Decision {
	if step == len(p.turns)-1 {
		return loop.Decision{}
	}
	return loop.Decision{Action: trace.Continue, Reason: trace.ReasonContinuedResponse, Messages: p.turns[step].next}
}

// end stops a run whose recording ends with calls.
func (p *path) end(step int) loop.Decision {
	if step == len(p.turns)-1 {
		return loop.Decision{Action: trace.Stop, Reason: "end_of_record"}
	}
	return loop.Decision{}
}

// place adds the name of the run to an error.
func place(run *importer.Run, err error) error {
	return fmt.Errorf("rerun: the run %q: %w", run.Name, err)
}
