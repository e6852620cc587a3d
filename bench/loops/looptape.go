package loops

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"

	"github.com/looptape/looptape/bench/work"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/trace"
)

// looptapeModel returns the scripted responses in order.
type looptapeModel struct{ script[[]llm.Event] }

func newLooptapeModel(w *work.Work, stream bool) *looptapeModel {
	usage := llm.Usage{InputTokens: work.Input, OutputTokens: work.Output}
	m := &looptapeModel{}
	for _, calls := range w.Steps {
		var events []llm.Event
		for i, c := range calls {
			if !stream {
				events = append(events, llm.PartDone{Part: llm.ToolCall{ID: c.ID, Name: work.Tool, Arguments: c.Raw}})
				continue
			}
			args := work.Halves(c.Raw)
			events = append(events, llm.ToolCallStart{Index: i + 1, ID: c.ID, Name: work.Tool},
				llm.ToolCallDelta{Index: i + 1, Arguments: args[0]}, llm.ToolCallDelta{Index: i + 1, Arguments: args[1]}, llm.ToolCallEnd{Index: i + 1})
		}
		m.add(append(events, usage, llm.Finish{Reason: llm.FinishToolCalls}))
	}
	final := work.Halves(work.Final)
	m.add([]llm.Event{llm.TextDelta{Text: final[0]}, llm.TextDelta{Text: final[1]}, usage, llm.Finish{Reason: llm.FinishStop}})
	return m
}

// Stream implements llm.Model.
func (m *looptapeModel) Stream(context.Context, *llm.Request) iter.Seq2[llm.Event, error] {
	events := m.take()
	return func(yield func(llm.Event, error) bool) {
		for _, ev := range events {
			if !yield(ev, nil) {
				return
			}
		}
	}
}

func newLooptape(w *work.Work, o Options) (Run, func() error, error) {
	tool, err := looptapeTool(o)
	if err != nil {
		return nil, nil, err
	}
	model := newLooptapeModel(w, o.Stream)
	cfg := &loop.Config{Tools: []loop.Tool{tool}, MaxSteps: len(w.Steps) + 1}
	if !o.Stream {
		cfg.ResponseMode = llm.NonStreaming
	}
	agent, err := loop.New(model, cfg)
	if err != nil {
		return nil, nil, err
	}
	sink, flush, cleanup, err := looptapeSink(o)
	if err != nil {
		return nil, nil, err
	}
	return func(ctx context.Context) (string, error) {
		model.next = 0
		in := loop.Prompt(work.Prompt)
		in.Sink = sink()
		if o.Stream {
			text, err := looptapeEvents(agent.Start(ctx, in))
			return text, errors.Join(err, flush())
		}
		res, err := agent.Run(ctx, in)
		if err != nil {
			return "", err
		}
		return res.Text, flush()
	}, cleanup, nil
}

// looptapeEvents reads a run through its events.
func looptapeEvents(run *loop.Run) (text string, err error) {
	for ev, err := range run.Events() {
		if err != nil {
			return "", err
		}
		if d, ok := ev.Body.(trace.ModelDelta); ok && d.Type == trace.DeltaText {
			text += d.Text
		}
	}
	return text, nil
}

func looptapeTool(o Options) (loop.Tool, error) {
	if o.Typed {
		return loop.NewTool(work.Tool, work.About, func(_ context.Context, in work.Arguments) (string, error) {
			o.called(in.Day)
			return work.Answer, nil
		})
	}
	return loop.Tool{Name: work.Tool, Description: work.About, Run: func(_ context.Context, call loop.Call) (loop.Output, error) {
		o.rawCalled(call.Arguments)
		return loop.TextOutput(work.Answer), nil
	}}, nil
}

// looptapeSink returns functions that create the sink of a run, flush it after the run, and
// clean up at the end. In memory, each run has its own sink. On disk, all runs share a file.
func looptapeSink(o Options) (sink func() trace.Sink, flush, cleanup func() error, err error) {
	nothing := func() error { return nil }
	switch o.Sink {
	case SinkNone:
		return func() trace.Sink { return nil }, nothing, nil, nil
	case SinkMemory:
		return func() trace.Sink { return &trace.Memory{} }, nothing, nil, nil
	case SinkDisk:
		f, err := os.Create(filepath.Join(o.Dir, "trace.jsonl"))
		if err != nil {
			return nil, nil, nil, err
		}
		w := trace.NewWriter(&rewinding{f: f}, trace.Header{Writer: "bench"})
		return func() trace.Sink { return w }, w.Flush, f.Close, nil
	}
	return nil, nil, nil, fmt.Errorf("loops: unknown sink %q", o.Sink)
}

// rewinding writes to a file, and starts at its beginning again when the file is large, so that
// a long measurement does not fill the disk.
type rewinding struct {
	f *os.File
	n int
}

const rewindAt = 64 << 20

// Write implements io.Writer.
func (r *rewinding) Write(p []byte) (int, error) {
	if r.n > rewindAt {
		r.n = 0
		if _, err := r.f.Seek(0, io.SeekStart); err != nil {
			return 0, err
		}
	}
	r.n += len(p)
	return r.f.Write(p)
}
