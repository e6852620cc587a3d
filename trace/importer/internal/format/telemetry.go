package format

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/importer/internal/tree"
)

// SniffTelemetry recognizes spans of OpenTelemetry.
func SniffTelemetry(h *Head) (Layout, bool) {
	return runsInArray, h.Has("resourceSpans", "batches") || h.Has("trace", "data") && h.Contains(`"spans"`)
}

// Telemetry collects model calls from spans. The spans of a trace may be anywhere in a
// recording, so it keeps all calls until the end. Its zero value is ready.
type Telemetry struct {
	traces []*spanTrace // in the order of the recording
	byID   map[string]*spanTrace
}

type spanTrace struct {
	id    string
	line  int
	calls []spanCall
}

type spanCall struct {
	start         uint64 // in the recording's unit
	convention    int    // several layers may record the same call, each in its own convention
	input, output []llm.Message
	attributes    map[string]json.RawMessage
	events        []spanEvent
	scores        []Score
}

type spanEvent struct {
	name       string
	attributes map[string]json.RawMessage
}

// Add reads the spans of a document that begins on a line: TracesData of OTLP in JSON
// (https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding), as written or as Tempo
// exports it, or the export of the HTTP API of Jaeger.
func (t *Telemetry) Add(raw json.RawMessage, line int) {
	for _, names := range [][]string{{"resourceSpans"}, {"batches"}, {"trace", "resourceSpans"}} {
		for _, resource := range tree.Elements(raw, names...) {
			scopes := tree.First(resource, "scopeSpans", "instrumentationLibrarySpans")
			for _, scope := range tree.Elements(scopes) {
				t.spans(scope, &otlp, line)
			}
		}
	}
	for _, trace := range tree.Elements(raw, "data") {
		t.spans(trace, &jaeger, line)
	}
}

// spanForm has the names of the members of a span, and of the attributes of its events.
type spanForm struct{ trace, start, attributes, events, details string }

var (
	otlp   = spanForm{"traceId", "startTimeUnixNano", "attributes", "events", "attributes"}
	jaeger = spanForm{"traceID", "startTime", "tags", "logs", "fields"}
)

// spans keeps the model calls of a list of spans.
func (t *Telemetry) spans(list json.RawMessage, form *spanForm, line int) {
	for _, span := range tree.Elements(list, "spans") {
		call := spanCall{attributes: attributesOf(tree.Member(span, form.attributes))}
		for _, e := range tree.Elements(span, form.events) {
			details := attributesOf(tree.Member(e, form.details))
			name := cmp.Or(tree.Scalar(e, "name"), tree.Scalar(details["event"]))
			call.events = append(call.events, spanEvent{name, details})
		}
		if !call.read() {
			continue
		}
		call.start, _ = strconv.ParseUint(tree.Scalar(span, form.start), 10, 64)
		id := tree.Scalar(span, form.trace)
		trace := t.byID[id]
		if trace == nil {
			trace = &spanTrace{id: id, line: line}
			if t.byID == nil {
				t.byID = map[string]*spanTrace{}
			}
			t.byID[id] = trace
			t.traces = append(t.traces, trace)
		}
		trace.calls = append(trace.calls, call)
	}
}

// Runs returns the conversations of all traces. A run has the messages and the attributes of
// the last call of its conversation.
func (t *Telemetry) Runs() (runs []Run) {
	for _, trace := range t.traces {
		for n, c := range trace.conversations() {
			r := Run{Name: trace.id, Line: trace.line, Epoch: NoEpoch, Scores: c.scores, Meta: c.attributes}
			r.Messages = slices.Concat(c.input, c.output)
			if n > 0 {
				r.Name += "/conversation-" + strconv.Itoa(n+1)
			}
			for _, m := range c.output {
				r.Answer = m.Text()
			}
			runs = append(runs, r)
		}
	}
	return runs
}

// conversations joins the calls of a trace. It uses only those in the best convention.
func (t *spanTrace) conversations() (joined []*spanCall) {
	best := slices.MinFunc(t.calls, func(a, b spanCall) int { return cmp.Compare(a.convention, b.convention) }).convention
	slices.SortStableFunc(t.calls, func(a, b spanCall) int { return cmp.Compare(a.start, b.start) })
	for i := range t.calls {
		call := &t.calls[i]
		if call.convention != best {
			continue
		}
		n := call.continued(joined)
		if n < 0 {
			joined = append(joined, call)
			continue
		}
		call.scores = append(joined[n].scores, call.scores...)
		joined[n] = call
	}
	return joined
}

// continued returns the index of the conversation that the call continues, or -1. It looks at the
// newest conversations. It compares roles, texts and the numbers of calls: a recorder may write a
// call in another form when it repeats the call.
func (c *spanCall) continued(joined []*spanCall) int {
	const open = 100 // conversations at the same time
	for n := len(joined) - 1; n >= max(0, len(joined)-open); n-- {
		before := joined[n].input
		if len(before) == 0 || len(c.input) < len(before) {
			continue
		}
		if slices.EqualFunc(c.input[:len(before)], before, func(a, b llm.Message) bool {
			return a.Role == b.Role && a.Text() == b.Text() && len(a.Calls()) == len(b.Calls())
		}) {
			return n
		}
	}
	return -1
}

// read sets the messages and scores of a call; false if the span has no messages. The
// messages of an agent's span are used only if no span of a model call has any.
func (c *spanCall) read() bool {
	for n, messages := range conventions {
		r := spanReader{attributes: c.attributes, events: c.events}
		c.input, c.output = messages(&r)
		if len(c.input) == 0 && len(c.output) == 0 {
			continue
		}
		c.convention = n
		switch tree.Scalar(c.attributes["gen_ai.operation.name"]) {
		case "invoke_agent", "create_agent", "invoke_workflow", "execute_tool":
			c.convention += len(conventions)
		}
		// https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-events/
		for _, e := range c.events {
			if value := e.attributes["gen_ai.evaluation.score.value"]; e.name == "gen_ai.evaluation.result" && !tree.IsNull(value) {
				c.scores = append(c.scores, ScoreOf(tree.Scalar(e.attributes["gen_ai.evaluation.name"]), value))
			}
		}
		maps.DeleteFunc(c.attributes, func(name string, _ json.RawMessage) bool { return isMessages(name) })
		c.events = nil
		return true
	}
	return false
}

// isMessages reports whether an attribute has messages or a part of one.
func isMessages(name string) bool {
	indexed := strings.HasPrefix(name, "gen_ai.prompt.") || strings.HasPrefix(name, "gen_ai.completion.")
	return indexed && !strings.HasSuffix(name, ".finish_reason") || slices.Contains([]string{
		inputMessages, outputMessages, systemInstructions, vertexRequest, vertexResponse,
	}, name)
}

// attributesOf returns the attributes in a list.
func attributesOf(list json.RawMessage) map[string]json.RawMessage {
	attributes := map[string]json.RawMessage{}
	for _, a := range tree.Elements(list) {
		attributes[tree.Scalar(a, "key")] = anyValue(tree.Member(a, "value"), 0)
	}
	return attributes
}

// anyValue returns an AnyValue of OTLP, or a plain value, as plain JSON. Values at a greater depth
// than maxDepth stay as they are.
func anyValue(raw json.RawMessage, depth int) json.RawMessage {
	const maxDepth = 32
	if tree.IsNull(raw) || depth > maxDepth {
		return json.RawMessage(cmp.Or(string(raw), "null"))
	}
	for kind, value := range tree.Members(raw) {
		switch kind {
		case "arrayValue":
			b := []byte("[")
			for n, element := range tree.Elements(value, "values") {
				if n > 0 {
					b = append(b, ',')
				}
				b = append(b, anyValue(element, depth+1)...)
			}
			return append(b, ']')
		case "kvlistValue":
			var object tree.Object
			for _, member := range tree.Elements(value, "values") {
				object.Raw(tree.Scalar(member, "key"), string(anyValue(tree.Member(member, "value"), depth+1)))
			}
			return json.RawMessage(cmp.Or(string(object.JSON()), "{}"))
		default:
			return value
		}
	}
	return raw
}
