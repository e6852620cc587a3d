package loop

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
)

// recorder hands the events of a run to its consumer and to the sinks. While
// nobody looks, no event is made.
type recorder struct {
	name   string
	clock  Clock
	begun  time.Time
	sinks  []trace.Sink
	yield  func(trace.Event, error) bool // nil: no consumer, or it has left
	left   bool
	deltas bool // the sinks want deltas
	err    error
	seq    int
	last   trace.Event // the terminal one

	shown map[trace.Purpose]*shown
}

// shown is what the trace has of the last request of a purpose.
type shown struct {
	setup    trace.ModelConfig
	messages []llm.Message
}

func newRecorder(a *Agent, in Input, yield func(trace.Event, error) bool) *recorder {
	rec := &recorder{name: in.ID, clock: a.cfg.Clock, yield: yield, deltas: a.cfg.Deltas}
	for _, s := range []trace.Sink{a.cfg.Sink, in.Sink} {
		if s != nil {
			rec.sinks = append(rec.sinks, s)
		}
	}
	if rec.on() {
		rec.begun = a.cfg.Clock.Now()
	}
	return rec
}

// on reports whether anybody looks.
func (rec *recorder) on() bool { return rec.yield != nil || len(rec.sinks) > 0 }

// live reports whether anybody wants deltas.
func (rec *recorder) live() bool { return rec.yield != nil || rec.deltas }

func (rec *recorder) write(ev trace.Event, err error) {
	ev.Seq, ev.Run = rec.seq, rec.name
	if rec.on() {
		ev.At = since(rec.clock, rec.begun)
	}
	rec.seq++
	if _, end := ev.Body.(trace.RunEnd); end {
		rec.last = ev
	}
	if _, delta := ev.Body.(trace.ModelDelta); !delta || rec.deltas {
		rec.sink(ev)
	}
	if yield := rec.yield; yield != nil {
		rec.yield = nil // so it stays if the consumer panics
		if rec.left = !hand(yield, ev, err); !rec.left {
			rec.yield = yield
		}
	}
}

// consumerPanic is a panic of who ranges over Events, on its way through the loop,
// which contains other panics.
type consumerPanic struct{ value any }

func hand(yield func(trace.Event, error) bool, ev trace.Event, err error) bool {
	defer func() {
		if v := recover(); v != nil {
			panic(consumerPanic{v})
		}
	}()
	return yield(ev, err)
}

// sink writes to the sinks; one that fails is not used again.
func (rec *recorder) sink(ev trace.Event) {
	for i := 0; i < len(rec.sinks); i++ {
		if err := rec.put(rec.sinks[i], ev); err != nil {
			if rec.err == nil {
				rec.err = &SinkError{err}
			}
			rec.sinks = append(rec.sinks[:i:i], rec.sinks[i+1:]...)
			i--
		}
	}
}

func (rec *recorder) put(s trace.Sink, ev trace.Event) (err error) {
	defer contain("the trace sink", "", &err)
	return s.Write(ev)
}

// emit records an event of a step, or of the run with trace.NoStep.
func (r *run) emit(step int, body trace.Body) {
	if r.rec.on() {
		r.record(trace.Event{Step: step, Body: body}, nil)
	}
}

// note records an event of a model call.
func (r *run) note(call *ModelCall, body trace.Body) {
	if r.rec.on() {
		r.record(trace.Event{Step: call.Step, Attempt: call.Attempt, Purpose: call.Purpose, Body: body}, nil)
	}
}

func (r *run) record(ev trace.Event, err error) {
	r.rec.write(ev, err)
	if r.rec.left {
		r.cancel(ErrIterationStopped)
	}
}

// noteSetup records what stands outside the messages of a request, if it has
// changed. It reports why the request is not to be sent after all: whoever looks on
// may have ended the run.
func (r *run) noteSetup(call *ModelCall) error {
	rec, req := r.rec, call.Request
	if !rec.on() {
		return nil
	}
	setup := trace.ModelConfig{Model: req.Model, System: req.System, Tools: req.Tools, ToolChoice: req.ToolChoice, Settings: req.Settings, Extra: req.Extra}
	was := rec.shown[call.Purpose]
	if was == nil || !sameSetup(&setup, &was.setup) {
		r.note(call, setup)
	}
	if was == nil {
		was = &shown{}
		if rec.shown == nil {
			rec.shown = map[trace.Purpose]*shown{}
		}
		rec.shown[call.Purpose] = was
	}
	was.setup = setup
	if r.ended(call.Step) {
		return context.Cause(r.ctx)
	}
	return nil
}

// noteRequest records the messages of a request that are new. From there on the call
// is under way.
func (r *run) noteRequest(call *ModelCall) {
	r.asked = call
	if !r.rec.on() {
		return
	}
	was, list := r.rec.shown[call.Purpose], call.Request.Messages
	kept := commonPrefix(was.messages, list)
	was.messages = list
	r.note(call, trace.ModelRequest{PrefixMessages: kept, NewMessages: list[kept:]})
}

// sameSetup compares by identity where it can.
func sameSetup(a, b *trace.ModelConfig) bool {
	if len(a.Tools) == len(b.Tools) && (len(a.Tools) == 0 || &a.Tools[0] == &b.Tools[0]) &&
		a.Model == b.Model && a.System == b.System && a.ToolChoice == b.ToolChoice &&
		len(a.Extra) == 0 && len(b.Extra) == 0 && sameSettings(&a.Settings, &b.Settings) {
		return true
	}
	return bytes.Equal(setupJSON(a), setupJSON(b))
}

// sameSettings compares what a points to by identity, as the settings of one
// agent's requests have it.
func sameSettings(a, b *llm.Settings) bool {
	return a.MaxTokens == b.MaxTokens && a.Temperature == b.Temperature && a.TopP == b.TopP && a.Seed == b.Seed &&
		a.ParallelToolCalls == b.ParallelToolCalls && a.ReasoningEffort == b.ReasoningEffort && slices.Equal(a.StopSequences, b.StopSequences) &&
		bytes.Equal(a.OutputSchema, b.OutputSchema)
}

func setupJSON(s *trace.ModelConfig) []byte {
	req := llm.Request{Model: s.Model, System: s.System, Tools: s.Tools, ToolChoice: s.ToolChoice, Settings: s.Settings, Extra: s.Extra}
	return req.AppendJSON(nil)
}

// commonPrefix counts the messages that b begins with and that are a's.
func commonPrefix(a, b []llm.Message) int {
	n := min(len(a), len(b))
	if n == 0 || &a[0] == &b[0] {
		return n
	}
	for i := range n {
		if !sameMessage(&a[i], &b[i]) {
			return i
		}
	}
	return n
}

func sameMessage(a, b *llm.Message) bool {
	if len(a.Parts) == len(b.Parts) && len(a.Parts) > 0 && &a.Parts[0] == &b.Parts[0] {
		return a.Role == b.Role && bytes.Equal(a.Opaque, b.Opaque)
	}
	return bytes.Equal(a.AppendJSON(nil), b.AppendJSON(nil))
}

// delta records a piece of an answer, if anybody wants it.
func (r *run) delta(call *ModelCall, ev llm.Event, c *llm.OpenCall) {
	var d trace.ModelDelta
	switch e := ev.(type) {
	case llm.TextDelta:
		d = trace.ModelDelta{Type: trace.DeltaText, Text: e.Text}
	case llm.ReasoningDelta:
		d = trace.ModelDelta{Type: trace.DeltaReasoning, Text: e.Text}
	case llm.ToolCallStart:
		if c.Name != "" { // else it is announced when the name comes, or at its end
			r.announce(call, c)
		}
		return
	case llm.ToolCallDelta:
		if c == nil || c.Name == "" || e.Arguments == "" {
			return
		}
		d = trace.ModelDelta{Type: trace.DeltaArguments, ToolCallID: c.ID, Text: e.Arguments}
	case llm.ToolCallEnd:
		if c == nil {
			return
		}
		if c.Name == "" {
			r.announce(call, c)
		}
		d = trace.ModelDelta{Type: trace.DeltaCallEnd, ToolCallID: c.ID}
	case llm.PartDone:
		r.wholeDelta(call, e.Part, c)
		return
	case llm.Usage, llm.Warning, llm.Finish, llm.Unknown:
		return
	}
	if (d.Type == trace.DeltaText || d.Type == trace.DeltaReasoning) && d.Text == "" {
		return
	}
	r.note(call, d)
}

// announce records that a call begins, and what has come of it while it had no
// name (quirk QO-10).
func (r *run) announce(call *ModelCall, c *llm.OpenCall) {
	r.note(call, trace.ModelDelta{Type: trace.DeltaCall, ToolCallID: c.ID, Name: cmp.Or(c.Name, UnnamedTool)})
	if args := c.Arguments(); args != "" {
		r.note(call, trace.ModelDelta{Type: trace.DeltaArguments, ToolCallID: c.ID, Text: args})
	}
}

// wholeDelta shows a part that came in one piece as the deltas of that piece.
func (r *run) wholeDelta(call *ModelCall, p llm.Part, c *llm.OpenCall) {
	switch p := p.(type) {
	case llm.Text:
		if p.Text != "" {
			r.note(call, trace.ModelDelta{Type: trace.DeltaText, Text: p.Text})
		}
	case llm.Reasoning:
		if p.Text != "" {
			r.note(call, trace.ModelDelta{Type: trace.DeltaReasoning, Text: p.Text})
		}
	case llm.ToolCall:
		if c == nil {
			return // the provider ran it itself
		}
		id, name := c.ID, c.Name
		r.note(call, trace.ModelDelta{Type: trace.DeltaCall, ToolCallID: id, Name: name})
		if p.Arguments != "" {
			r.note(call, trace.ModelDelta{Type: trace.DeltaArguments, ToolCallID: id, Text: p.Arguments})
		}
		r.note(call, trace.ModelDelta{Type: trace.DeltaCallEnd, ToolCallID: id})
	case llm.Media, llm.ToolResult, llm.Unknown:
	}
}
