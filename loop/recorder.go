package loop

import (
	"bytes"
	"cmp"
	"runtime/debug"
	"slices"
	"time"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop/internal/conversation"
	"github.com/looptape/looptape/trace"
)

// recorder passes the events of a run to its consumer and its sinks. A run without
// either makes no events.
type recorder struct {
	name     string
	clock    Clock
	begun    time.Time
	sinks    []trace.Sink
	yield    func(trace.Event, error) bool // nil: no consumer, or it stopped the iteration
	observed bool                          // the run began with a consumer or a sink
	stopped  bool                          // the consumer stopped the iteration
	deltas   bool                          // the sinks get deltas
	err      error
	seq      int
	last     trace.Event // the terminal event

	requests map[trace.Purpose]*recordedRequest
}

// recordedRequest is the last request for a purpose, as the trace has it.
type recordedRequest struct {
	config   trace.ModelConfig
	messages []llm.Message
}

func newRecorder(a *Agent, in Input, yield func(trace.Event, error) bool) *recorder {
	rec := &recorder{name: in.ID, clock: a.cfg.Clock, yield: yield, deltas: a.cfg.Deltas}
	for _, s := range []trace.Sink{a.cfg.Sink, in.Sink} {
		if s != nil {
			rec.sinks = append(rec.sinks, s)
		}
	}
	rec.observe()
	return rec
}

// observe adds sinks before the first event.
func (rec *recorder) observe(sinks ...trace.Sink) {
	rec.sinks = append(rec.sinks, sinks...)
	if !rec.observed && rec.on() {
		rec.observed, rec.begun = true, rec.clock.Now()
	}
}

// on reports whether the run has a consumer or a sink.
func (rec *recorder) on() bool { return rec.yield != nil || len(rec.sinks) > 0 }

// live reports whether the consumer or a sink gets deltas.
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
		rec.yield = nil // stays nil if the consumer panics
		if rec.stopped = !deliver(yield, ev, err); !rec.stopped {
			rec.yield = yield
		}
	}
}

// consumerPanic carries a panic of the consumer of Events through the loop, which
// contains other panics.
type consumerPanic struct{ value any }

func deliver(yield func(trace.Event, error) bool, ev trace.Event, err error) bool {
	defer func() {
		if v := recover(); v != nil {
			panic(consumerPanic{v})
		}
	}()
	return yield(ev, err)
}

// contain turns a panic into an error. It is deferred. Its two strings are concatenated
// only for a panic.
func contain(kind, name string, err *error) {
	if v := recover(); v != nil {
		if c, is := v.(consumerPanic); is {
			panic(c)
		}
		*err = &PanicError{Where: kind + name, Value: v, Stack: debug.Stack()}
	}
}

// sink writes to the sinks. It removes a sink that fails.
func (rec *recorder) sink(ev trace.Event) {
	for i := 0; i < len(rec.sinks); i++ {
		if err := writeEvent(rec.sinks[i], ev); err != nil {
			if rec.err == nil {
				rec.err = &SinkError{err}
			}
			rec.sinks = append(rec.sinks[:i:i], rec.sinks[i+1:]...)
			i--
		}
	}
}

func writeEvent(s trace.Sink, ev trace.Event) (err error) {
	defer contain("the trace sink", "", &err)
	return s.Write(ev)
}

// emit records an event of a step, or of the run if step is trace.NoStep.
func (r *run) emit(step int, body trace.Body) {
	if r.rec.on() {
		r.record(trace.Event{Step: step, Body: body})
	}
}

// emitCall records an event of a model call.
func (r *run) emitCall(call *modelCall, body trace.Body) {
	if r.rec.on() {
		r.record(trace.Event{Step: call.Step, Attempt: call.attempt, Purpose: call.Purpose, Body: body})
	}
}

func (r *run) record(ev trace.Event) {
	r.rec.write(ev, nil)
	if r.rec.stopped {
		r.life.cancel(ErrIterationStopped)
	}
}

func (r *run) warn(step int, warnings []llm.Warning) {
	for _, w := range warnings {
		r.emit(step, trace.Warning{Code: w.Code, Message: w.Message})
	}
}

// emitConfig records the parts of a request outside its messages, if they changed.
func (r *run) emitConfig(call *modelCall) {
	rec, req := r.rec, call.Request
	if !rec.on() {
		return
	}
	config := trace.ModelConfig{Model: req.Model, System: req.System, Tools: req.Tools, ToolChoice: req.ToolChoice, Settings: req.Settings, Extra: req.Extra}
	was := rec.requests[call.Purpose]
	if was == nil || !equalConfig(&config, &was.config) {
		r.emitCall(call, config)
	}
	if was == nil {
		was = &recordedRequest{}
		if rec.requests == nil {
			rec.requests = map[trace.Purpose]*recordedRequest{}
		}
		rec.requests[call.Purpose] = was
	}
	was.config = config
}

// emitRequest records the new messages of a request.
func (r *run) emitRequest(call *modelCall) {
	if !r.rec.on() {
		return
	}
	was, list := r.rec.requests[call.Purpose], call.Request.Messages
	kept := conversation.CommonPrefix(was.messages, list)
	was.messages = list
	r.emitCall(call, trace.ModelRequest{PrefixMessages: kept, NewMessages: list[kept:]})
}

// equalConfig compares by identity where it can.
func equalConfig(a, b *trace.ModelConfig) bool {
	if len(a.Tools) == len(b.Tools) && (len(a.Tools) == 0 || &a.Tools[0] == &b.Tools[0]) &&
		a.Model == b.Model && slices.Equal(a.System, b.System) && a.ToolChoice == b.ToolChoice &&
		len(a.Extra) == 0 && len(b.Extra) == 0 && equalSettings(&a.Settings, &b.Settings) {
		return true
	}
	return bytes.Equal(configJSON(a), configJSON(b))
}

// equalSettings compares pointers by identity: the requests of one agent share them.
func equalSettings(a, b *llm.Settings) bool {
	return a.MaxTokens == b.MaxTokens && a.Temperature == b.Temperature && a.TopP == b.TopP && a.Seed == b.Seed &&
		a.ParallelToolCalls == b.ParallelToolCalls && a.ReasoningEffort == b.ReasoningEffort && slices.Equal(a.StopSequences, b.StopSequences) &&
		bytes.Equal(a.OutputSchema, b.OutputSchema)
}

func configJSON(c *trace.ModelConfig) []byte {
	req := llm.Request{Model: c.Model, System: c.System, Tools: c.Tools, ToolChoice: c.ToolChoice, Settings: c.Settings, Extra: c.Extra}
	return req.AppendJSON(nil)
}

// emitDelta records an event of a stream as deltas. c is the call that it belongs to.
func (r *run) emitDelta(call *modelCall, ev llm.Event, c *llm.OpenCall) {
	emit := func(kind string, id, name, text string) {
		if text != "" || kind == trace.DeltaCall || kind == trace.DeltaCallEnd {
			r.emitCall(call, trace.ModelDelta{Type: kind, ToolCallID: id, Name: name, Text: text})
		}
	}
	start := func() { // with the arguments that came before the name (quirk QO-10)
		emit(trace.DeltaCall, c.ID, cmp.Or(c.Name, UnnamedTool), "")
		emit(trace.DeltaArguments, c.ID, "", c.Arguments())
	}
	switch e := ev.(type) {
	case llm.TextDelta:
		emit(trace.DeltaText, "", "", e.Text)
	case llm.ReasoningDelta:
		emit(trace.DeltaReasoning, "", "", e.Text)
	case llm.ToolCallStart:
		if c.Name != "" { // otherwise the call starts with its name, or at its end
			start()
		}
	case llm.ToolCallDelta:
		if c != nil && c.Name != "" {
			emit(trace.DeltaArguments, c.ID, "", e.Arguments)
		}
	case llm.ToolCallEnd:
		if c == nil {
			return
		}
		if c.Name == "" {
			start()
		}
		emit(trace.DeltaCallEnd, c.ID, "", "")
	case llm.PartDone:
		switch p := e.Part.(type) {
		case llm.Text:
			emit(trace.DeltaText, "", "", p.Text)
		case llm.Reasoning:
			emit(trace.DeltaReasoning, "", "", p.Text)
		case llm.ToolCall:
			if c != nil { // nil: the provider executed the call
				emit(trace.DeltaCall, c.ID, c.Name, "")
				emit(trace.DeltaArguments, c.ID, "", p.Arguments)
				emit(trace.DeltaCallEnd, c.ID, "", "")
			}
		case llm.Media, llm.ToolResult, llm.Unknown:
		}
	case llm.Usage, llm.Warning, llm.Finish, llm.Unknown:
	}
}
