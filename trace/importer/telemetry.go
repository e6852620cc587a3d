package importer

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strconv"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
)

// telemetry gathers the calls of models from spans. Those of one trace may stand anywhere
// in a recording, so all are held until its end.
type telemetry struct {
	traces []*spanTrace // in the order of the recording
	byID   map[string]*spanTrace
}

// spanTrace is the calls of a trace.
type spanTrace struct {
	id    string
	line  int
	calls []modelCall
}

// modelCall is what a span says of a call of a model.
type modelCall struct {
	start         uint64 // in the recording's unit
	form          int    // in which it is said: several layers may say the same, in forms of their own
	asked, output []llm.Message
	attributes    map[string]json.RawMessage
	scores        []Score
}

// spans gives the conversations of traces, each a run. What a call was asked begins with
// what the one before it in its conversation was asked.
func (w *walker) spans() {
	w.in.keep(true)
	t := telemetry{byID: map[string]*spanTrace{}}
	yield, read := w.yield, false
	w.yield = func(r Run, err error) bool { return err == nil || yield(r, err) }
	w.read = func(d *jsonio.Dec, run *Run) {
		if raw := json.RawMessage(d.Raw()); d.Err() == nil {
			read = true
			t.document(raw, run.Line)
		}
	}
	if w.shape.lines {
		w.lines()
	} else {
		w.document()
	}
	w.yield = yield
	if t.traces == nil && read {
		w.give(Run{}, &Error{File: w.name, Err: errors.New("no span tells what a model was asked or answered, as gen_ai.input.messages does; have the recorder capture the content of messages")})
	}
	for _, trace := range t.traces {
		for i, c := range trace.conversations() {
			if w.stopped {
				return
			}
			w.give(c.run(trace, i), nil)
		}
	}
}

// document reads the spans of a document: TracesData of OTLP, in JSON
// (https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding), the same as Tempo
// gives it, or what the HTTP API of Jaeger gives.
func (t *telemetry) document(raw json.RawMessage, line int) {
	for _, list := range []json.RawMessage{memberOf(raw, "resourceSpans"), memberOf(raw, "batches"), memberOf(raw, "trace", "resourceSpans")} {
		for _, resource := range elementsOf(list) {
			for _, scope := range elementsOf(either(resource, "scopeSpans", "instrumentationLibrarySpans")) {
				for _, span := range elementsOf(memberOf(scope, "spans")) {
					t.otlp(span, line)
				}
			}
		}
	}
	for _, trace := range elementsOf(memberOf(raw, "data")) {
		for _, span := range elementsOf(memberOf(trace, "spans")) {
			t.jaeger(span, line)
		}
	}
}

func (t *telemetry) otlp(span json.RawMessage, line int) {
	var events []spanEvent
	for _, e := range elementsOf(memberOf(span, "events")) {
		events = append(events, spanEvent{scalar(memberOf(e, "name")), attributesOf(memberOf(e, "attributes"))})
	}
	t.add(scalar(memberOf(span, "traceId")), scalar(memberOf(span, "startTimeUnixNano")), line, attributesOf(memberOf(span, "attributes")), events)
}

func (t *telemetry) jaeger(span json.RawMessage, line int) {
	var events []spanEvent
	for _, e := range elementsOf(memberOf(span, "logs")) {
		attributes := tagsOf(memberOf(e, "fields"))
		events = append(events, spanEvent{scalar(attributes["event"]), attributes})
	}
	t.add(scalar(memberOf(span, "traceID")), scalar(memberOf(span, "startTime")), line, tagsOf(memberOf(span, "tags")), events)
}

// add keeps what a span says of a call of a model, if it does.
func (t *telemetry) add(id, start string, line int, attributes map[string]json.RawMessage, events []spanEvent) {
	call, ok := callOf(attributes, events)
	if !ok {
		return
	}
	call.start, _ = strconv.ParseUint(start, 10, 64)
	trace := t.byID[id]
	if trace == nil {
		trace = &spanTrace{id: id, line: line}
		t.byID[id] = trace
		t.traces = append(t.traces, trace)
	}
	trace.calls = append(trace.calls, call)
}

// conversations joins the calls of a trace. Only those in the best of the forms that are
// there count.
func (t *spanTrace) conversations() (joined []*modelCall) {
	best := slices.MinFunc(t.calls, func(a, b modelCall) int { return cmp.Compare(a.form, b.form) }).form
	slices.SortStableFunc(t.calls, func(a, b modelCall) int { return cmp.Compare(a.start, b.start) })
	for i := range t.calls {
		call := &t.calls[i]
		if call.form != best {
			continue
		}
		n := call.goesOn(joined)
		if n < 0 {
			joined = append(joined, call)
			continue
		}
		call.scores = append(joined[n].scores, call.scores...)
		joined[n] = call
	}
	return joined
}

// goesOn returns the place of the conversation that the call goes on with, or -1. It looks
// at the newest ones.
func (c *modelCall) goesOn(joined []*modelCall) int {
	const open = 100 // conversations that may go on at the same time
	for n := len(joined) - 1; n >= max(0, len(joined)-open); n-- {
		if before := joined[n].asked; len(before) > 0 && beginsWith(c.asked, before) {
			return n
		}
	}
	return -1
}

// beginsWith reports whether messages begin with others, as far as people see it: a
// recorder may spell calls in another way when it tells of them again.
func beginsWith(messages, others []llm.Message) bool {
	return len(messages) >= len(others) && slices.EqualFunc(messages[:len(others)], others, func(a, b llm.Message) bool {
		return a.Role == b.Role && a.Text() == b.Text() && len(a.Calls()) == len(b.Calls())
	})
}

// run is a conversation up to its last call, with the attributes of that one's span.
func (c *modelCall) run(t *spanTrace, n int) Run {
	r := Run{Name: t.id, Line: t.line, Epoch: NoEpoch, Messages: slices.Concat(c.asked, c.output), Scores: c.scores, Meta: c.attributes}
	if n > 0 {
		r.Name += "/conversation-" + strconv.Itoa(n+1)
	}
	for _, m := range c.output {
		r.Answer = m.Text()
	}
	return r
}
