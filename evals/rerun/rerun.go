// Package rerun repeats recorded runs with changes, without a network:
//
//   - [Tools] repeats the recorded model responses and runs tools. It reports which results differ
//     from the recorded ones.
//   - [Model] calls another model, or uses another prompt, and answers its calls with the recorded
//     results. It reports where the model diverges from the recording.
//
// A rerun is a run of package loop on a virtual clock: the same recording, tools and model give
// the same result and the same trace, byte for byte. User messages are the recorded ones, as long
// as the rerun follows the recording.
//
// A rerun makes the calls of a run in sequence. A run that a call of another run started belongs
// to the result of that call and is not repeated by itself.
package rerun

import (
	"cmp"
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

// play runs the loop and returns its events. The hooks answer calls, add user messages, and end
// the run with the recording.
func (p *path) play(ctx context.Context, model llm.Model, cfg loop.Config, hooks loop.Hooks) ([]trace.Event, error) {
	var events trace.Memory
	cfg.Model, cfg.System, cfg.Sink = p.model, p.system.Text(), &events
	cfg.CheckLimitBeforeStep, cfg.Concurrency = false, 1
	cfg.MaxConsecutiveToolErrors, cfg.Continuations = loop.Disabled, loop.Disabled
	if before := hooks.BeforeStep; !slices.Equal(p.system, llm.SystemText(cfg.System)) {
		hooks.BeforeStep = func(ctx context.Context, s *loop.StepInfo) (loop.StepChange, error) {
			s.Request.System = p.system // the loop has it without its parts
			c, err := before(ctx, s)
			c.Request = cmp.Or(c.Request, s.Request)
			return c, err
		}
	}
	cfg.Middleware = []loop.Middleware{{Name: "rerun", New: func(loop.RunInfo) loop.Hooks { return hooks }}}
	if cfg.Clock == nil {
		cfg.Clock = fake.NewClock()
	}
	agent, err := loop.New(model, &cfg)
	if err != nil {
		return nil, err
	}
	_, err = agent.Run(ctx, loop.Input{Messages: p.begin})
	return events.Events(), err
}

// loopTools returns the tools of the rerun: those that run, and the recorded ones, which do not run.
// It omits tools with a name that the loop rejects; their calls are answered all the same.
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

const reasonRecorded = "recorded"

func answer(c loop.PlannedCall, recorded *llm.ToolResult) loop.CallDecision {
	out := recordedOutput(recorded)
	return loop.CallDecision{Index: c.Index, Output: &out, Reason: reasonRecorded}
}

func recordedOutput(r *llm.ToolResult) loop.Output {
	if r == nil {
		return loop.Output{Content: []llm.Part{llm.Text{Text: "the recording has no result of this call"}}, IsError: true}
	}
	return loop.Output{Content: r.Content, IsError: r.IsError}
}

// addHeard adds user messages that came during tool calls to the history.
func addHeard(s *loop.StepInfo, heard []llm.Message) (c loop.StepChange) {
	if len(heard) > 0 {
		c.Messages, c.Note = slices.Concat(s.History(), heard), reasonRecorded
	}
	return c
}

// next continues the run, after a response without calls, with the next user messages.
func next(messages []llm.Message) loop.Decision {
	return loop.Decision{Action: trace.Continue, Reason: trace.ReasonContinuedResponse, Messages: messages}
}

// end stops a run whose recording ends with calls.
func (p *path) end(step int) loop.Decision {
	if step == len(p.turns)-1 {
		return loop.Decision{Action: trace.Stop, Reason: "end_of_record"}
	}
	return loop.Decision{}
}

// place adds the name of the run to an error, if any.
func place(run *importer.Run, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("rerun: the run %q: %w", run.Name, err)
}
