// Package rerun asks of recorded runs what would have come of them if something had been
// otherwise, without a network:
//
//   - [Tools] says again what the model said, and runs tools: where do their results part
//     from those that were recorded?
//   - [Model] asks another model, or with another prompt, and answers its calls with the
//     recorded results: where does it leave the recorded path?
//
// A rerun is a run of package loop on a virtual clock, so that the same recording, tools
// and model give the same result and the same trace, byte for byte. What a rerun cannot
// know it does not make up: a user who is not there says what the recording says, as long
// as the path is the recorded one.
//
// Calls of a run are made one after the other. A run that a call of another run started is
// part of what came of that call, and is not rerun by itself.
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

// follower is what follows a path: the hooks that answer calls, say what users said, and
// end the run where the path does.
type follower interface {
	hooks() loop.Hooks
}

// play runs the loop with a model, tools and a follower, and returns its events.
func play(ctx context.Context, model llm.Model, cfg loop.Config, begin []llm.Message, f follower) ([]trace.Event, error) {
	var events trace.Memory
	cfg.StepLimitCheck, cfg.Concurrency, cfg.MaxConsecutiveToolErrors = loop.CheckAfterStep, 1, loop.Disabled
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

// offers are the tools that a model is offered: those that run, and those of the record
// that do not, which it was offered or called. What a loop does not take, a name or a
// schema, is left out; calls of it are answered all the same.
func (p *path) offers(live []loop.Tool) []loop.Tool {
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

var errNotRun = errors.New("the tool is not run: its results are those that were recorded")

func notRun(context.Context, loop.Call) (loop.Output, error) { return loop.Output{}, errNotRun }

// causeRecorded is the cause of a call that is answered as recorded, in the trace.
const causeRecorded = "recorded"

// answer answers a call as recorded.
func answer(c loop.PlannedCall, recorded *llm.ToolResult) loop.CallDecision {
	out := recordedOutput(recorded)
	return loop.CallDecision{Index: c.Index, Output: &out, Reason: causeRecorded}
}

// recordedOutput is a recorded result as a tool gives it.
func recordedOutput(r *llm.ToolResult) loop.Output {
	if r == nil {
		return loop.Output{Content: []llm.Part{llm.Text{Text: "the recording has no result of this call"}}, IsError: true}
	}
	return loop.Output{Content: r.Content, IsError: r.IsError}
}

// heardBefore adds to the history what users said while tools had the word.
func (p *path) heardBefore(s *loop.StepInfo) (c loop.StepChange) {
	if s.Step == 0 || len(p.turns[s.Step-1].calls) == 0 || len(p.turns[s.Step-1].next) == 0 {
		return c
	}
	c.Messages, c.Note = slices.Concat(s.History(), p.turns[s.Step-1].next), causeRecorded
	return c
}

// goOn is what follows a turn without calls: what users said next, if the model said
// anything behind it.
func (p *path) goOn(step int) loop.Decision {
	if step == len(p.turns)-1 {
		return loop.Decision{}
	}
	return loop.Decision{Action: trace.Continue, Reason: trace.ReasonContinuedResponse, Messages: p.turns[step].next}
}

// end stops a run whose path is over after calls.
func (p *path) end(step int) loop.Decision {
	if step == len(p.turns)-1 {
		return loop.Decision{Action: trace.Stop, Reason: "end_of_record"}
	}
	return loop.Decision{}
}

// place says which run an error is about.
func place(run *importer.Run, err error) error {
	return fmt.Errorf("rerun: the run %q: %w", run.Name, err)
}
