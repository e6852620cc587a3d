package loops

import (
	"context"
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

// looptapeModel answers with the script's turns, one after another.
type looptapeModel struct {
	turns [][]llm.Event
	next  int
}

func newLooptapeModel(w *work.Work) *looptapeModel {
	usage := llm.Usage{InputTokens: work.Input, OutputTokens: work.Output}
	m := &looptapeModel{}
	for _, calls := range w.Steps {
		var events []llm.Event
		for _, c := range calls {
			events = append(events, llm.PartDone{Part: llm.ToolCall{ID: c.ID, Name: work.Tool, Arguments: c.Raw}})
		}
		m.turns = append(m.turns, append(events, usage, llm.Finish{Reason: llm.FinishToolCalls}))
	}
	m.turns = append(m.turns, []llm.Event{llm.TextDelta{Text: work.Final}, usage, llm.Finish{Reason: llm.FinishStop}})
	return m
}

// Stream implements llm.Model.
func (m *looptapeModel) Stream(context.Context, *llm.Request) iter.Seq2[llm.Event, error] {
	events := m.turns[m.next]
	m.next++
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
	model := newLooptapeModel(w)
	agent, err := loop.New(model, &loop.Config{
		Tools:        []loop.Tool{tool},
		MaxSteps:     len(w.Steps) + 1,
		ResponseMode: llm.NonStreaming,
	})
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
		res, err := agent.Run(ctx, in)
		if err != nil {
			return "", err
		}
		return res.Text, flush()
	}, cleanup, nil
}

func looptapeTool(o Options) (loop.Tool, error) {
	if o.Typed {
		return loop.NewTool(work.Tool, work.About, func(_ context.Context, in work.Args) (string, error) {
			o.called(in.Day)
			return work.Answer, nil
		})
	}
	return loop.Tool{Name: work.Tool, Description: work.About, Run: func(_ context.Context, call loop.Call) (loop.Output, error) {
		o.rawCalled(call.Arguments)
		return loop.TextOutput(work.Answer), nil
	}}, nil
}

// looptapeSink returns how a run gets its sink, what is done after it, and what
// is done in the end. In memory, each run has a sink of its own; on disk, all
// runs share a file, as traces do, and each is flushed.
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
	return nil, nil, nil, fmt.Errorf("loops: there is no sink %q", o.Sink)
}

// rewinding writes to a file, and from its beginning again when it is large, so
// that a long measurement does not fill the disk.
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
