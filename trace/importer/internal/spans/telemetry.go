package spans

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/internal/ordered"
	"github.com/looptape/looptape/trace/importer/internal/format"
	"github.com/looptape/looptape/trace/importer/internal/message"
	"github.com/looptape/looptape/trace/importer/internal/tree"
)

// SniffTelemetry recognizes spans of OpenTelemetry, and its logs with events of model calls.
func SniffTelemetry(h *format.Head) (format.Layout, bool) {
	return format.Layout{Elements: true}, h.Has("resourceSpans", "batches") || (h.Has("trace") || h.HasValue("data", "[")) && h.Contains(`"spans"`) || h.Has("resourceLogs") && h.Contains(`"gen_ai.`)
}

// Telemetry collects model calls from spans. The spans of a trace may be anywhere in a
// recording, so it keeps all calls until the end. Its zero value is ready.
type Telemetry struct {
	traces []*spanTrace // in the order of the recording
	byID   map[string]*spanTrace
	// resources are the other members of objects with spans, each once; seen has them as well.
	resources tree.List
	seen      map[string]bool
	// unnamed is the number of traces without an id.
	unnamed int
	size    int // of the recording
}

type spanTrace struct {
	id    string
	line  int
	spans []recordedSpan
	byID  map[string]int // the index of the first span with an id
	// records are those of logs, until all spans are there.
	records []logRecord
	// unread are the model calls whose messages cannot be read.
	unread []format.Unknown
}

type spanEvent struct {
	name       string
	attributes map[string]json.RawMessage
	raw        json.RawMessage
}

// Read reads the spans of a document that begins on a line: a span of OpenInference, or TracesData of OTLP in JSON
// (https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding), as written or as Tempo
// exports it, or the export of the HTTP API of Jaeger. The function that it returns adds them. Several
// goroutines may call Read.
func (t *Telemetry) Read(raw json.RawMessage, line int) (add func() []format.Run) {
	var d spanDocument
	d.read(raw)
	spans := make([]readSpan, len(d.spans))
	ordered.Each(len(spans), len(raw), func(i int) {
		if d.forms[i] == nil {
			spans[i].readSingle(d.spans[i])
		} else {
			spans[i].read(d.spans[i], d.forms[i])
		}
	})
	return func() []format.Run {
		t.size += len(raw)
		for _, other := range d.others {
			t.other(other)
		}
		for i := range spans {
			t.trace(spans[i].trace, line).add(&spans[i])
		}
		for _, err := range d.unread {
			trace := t.trace("", line)
			trace.unread = append(trace.unread, format.Unknown{Line: line, Err: err})
		}
		for i := range d.records {
			t.trace(d.records[i].trace, line).addRecord(&d.records[i])
		}
		return nil
	}
}

// spanDocument has the spans of a document, with their forms; nil is that of OpenInference. Others are
// the members of objects with spans, such as the resource of the spans.
type spanDocument struct {
	spans   []json.RawMessage
	forms   []*spanForm
	others  []json.RawMessage
	records []logRecord // of logs
	unread  []error     // what is no list of objects
}

// objects yields the elements of a list in a member with this name that are objects.
func (d *spanDocument) objects(name string, list json.RawMessage) iter.Seq[json.RawMessage] {
	return func(yield func(json.RawMessage) bool) {
		if !message.IsEmpty(list) && list[0] != '[' {
			d.unread = append(d.unread, fmt.Errorf("%s: expected a list", name))
		}
		for n, element := range tree.Elements(list) {
			if !isObject(element) {
				d.unread = append(d.unread, fmt.Errorf("%s[%d]: expected an object", name, n))
			} else if !yield(element) {
				return
			}
		}
	}
}

func isObject(raw json.RawMessage) bool { return len(raw) > 0 && raw[0] == '{' }

func (d *spanDocument) read(raw json.RawMessage) {
	var x, trace tree.Index
	x.Read(raw)
	trace.Read(x.Member("trace"))
	for _, list := range []json.RawMessage{x.Member("resourceSpans"), x.Member("batches"), trace.Member("resourceSpans")} {
		for resource := range d.objects("resourceSpans", list) {
			var x tree.Index
			x.Read(resource)
			d.other(&x, "scopeSpans", "instrumentationLibrarySpans")
			d.reportWithout(&x, resource, "resource", "scopeSpans", "instrumentationLibrarySpans")
			for scope := range d.objects("scopeSpans", x.First("scopeSpans", "instrumentationLibrarySpans")) {
				d.list(scope, &otlp)
			}
		}
	}
	for trace := range d.objects("data", x.Member("data")) {
		d.list(trace, &jaeger)
	}
	d.logs(x.Member("resourceLogs"))
	if x.First("resourceSpans", "batches", "trace", "data", "resourceLogs") == nil {
		d.add(raw, nil)
		return
	}
	d.other(&x, "resourceSpans", "batches", "trace", "data", "resourceLogs")
	d.other(&trace, "resourceSpans")
}

// list adds a list of spans.
func (d *spanDocument) list(list json.RawMessage, form *spanForm) {
	var x tree.Index
	x.Read(list)
	d.other(&x, "spans")
	if form == &otlp {
		d.reportWithout(&x, list, "scope", "spans", "instrumentationLibrary")
	}
	for raw := range d.objects("spans", x.Member("spans")) {
		d.add(raw, form)
	}
}

func (d *spanDocument) add(span json.RawMessage, form *spanForm) {
	d.spans, d.forms = append(d.spans, span), append(d.forms, form)
}

// reportWithout reports an object that has none of the members that OTLP has, and others.
func (d *spanDocument) reportWithout(x *tree.Index, object json.RawMessage, names ...string) {
	if x.First(append(names, "schemaUrl")...) == nil && !message.IsEmpty(object) {
		d.unread = append(d.unread, fmt.Errorf("the object has no member %q; it has the members %s", names[1], tree.Names(object)))
	}
}

// other keeps the members of an object that are not spans.
func (d *spanDocument) other(object *tree.Index, spans ...string) {
	if rest := object.Without(spans...); rest != nil {
		d.others = append(d.others, rest)
	}
}

// spanForm has the names of the members of a span, and of the attributes of its events.
type spanForm struct{ trace, id, parent, start, attributes, events, details string }

var (
	otlp   = spanForm{"traceId", "spanId", "parentSpanId", "startTimeUnixNano", "attributes", "events", "attributes"}
	jaeger = spanForm{"traceID", "spanID", "references", "startTime", "tags", "logs", "fields"}
)

// parentOf returns the id of the parent of a span. Jaeger has it in the first of its references.
func (f *spanForm) parentOf(span *tree.Index) string {
	parent := span.Member(f.parent)
	if first := tree.Element(parent, "0"); first != nil {
		parent = tree.Member(first, f.id)
	}
	return tree.Scalar(parent)
}

// rest returns a span with the attributes and the events that are left in r.
func (f *spanForm) rest(span json.RawMessage, members *tree.Index, r *spanReader) json.RawMessage {
	if r.invalid {
		return span
	}
	var o tree.Object
	for key, value := range members.All() {
		switch key {
		case f.attributes:
			o.Add(key, objectOf(r.attributes))
		case f.events:
			var events tree.List
			for _, e := range r.events {
				events.Add(e.raw)
			}
			o.Add(key, events.JSON())
		default:
			o.Add(key, value)
		}
	}
	return o.JSON()
}

// objectOf returns an object with these members, in the order of their names.
func objectOf(members map[string]json.RawMessage) json.RawMessage {
	var o tree.Object
	for _, name := range slices.Sorted(maps.Keys(members)) {
		o.Add(name, members[name])
	}
	return o.JSON()
}

// other keeps members of objects with spans.
func (t *Telemetry) other(members json.RawMessage) {
	if t.seen[string(members)] {
		return
	}
	if t.seen == nil {
		t.seen = map[string]bool{}
	}
	t.seen[string(members)] = true
	t.resources.Add(members)
}

// readSpan is a span that is in no trace yet.
type readSpan struct {
	recordedSpan

	trace string
	err   error // the reason why the span cannot be read
}

// read reads a span of a list.
func (s *readSpan) read(raw json.RawMessage, form *spanForm) {
	r := spanReader{}
	var span tree.Index
	span.Read(raw)
	var wrong error
	r.attributes, r.invalid, wrong = attributesOf(form.attributes, span.Member(form.attributes))
	for n, e := range tree.Elements(span.Member(form.events)) {
		details, _, err := attributesOf(fmt.Sprintf("%s[%d].%s", form.events, n, form.details), tree.Member(e, form.details))
		if wrong = cmp.Or(wrong, err); !isObject(e) {
			wrong = fmt.Errorf("%s[%d]: expected an object", form.events, n)
		}
		name := cmp.Or(tree.Scalar(e, "name"), tree.Scalar(details["event"]))
		r.events = append(r.events, spanEvent{name, details, e})
	}
	s.recordedSpan = recordedSpan{raw: raw, id: tree.Scalar(span.Member(form.id)), parent: form.parentOf(&span)}
	s.trace = tree.Scalar(span.Member(form.trace))
	start, _ := strconv.ParseUint(tree.Scalar(span.Member(form.start)), 10, 64)
	s.readCall(start, &r, func() json.RawMessage { return form.rest(raw, &span, &r) })
	if n := dropped(&span, r.attributes); n > 0 && s.isOfModel() {
		s.err = cmp.Or(s.err, fmt.Errorf("the recorder dropped %d attributes or events: let it keep all of a span", n))
	}
	s.err = cmp.Or(wrong, s.err)
}

// dropped returns how many attributes and events the recorder dropped because of its limits.
func dropped(span *tree.Index, attributes map[string]json.RawMessage) (n int64) {
	for _, name := range []string{"droppedAttributesCount", "droppedEventsCount"} {
		n += tree.Count(span.Member(name))
	}
	for _, name := range []string{"otel.dropped_attributes_count", "otel.dropped_events_count"} { // of Jaeger
		n += tree.Count(attributes[name])
	}
	return n
}

// readCall reads the messages and the scores of a span. Rest returns the span with what is left in r.
func (s *readSpan) readCall(start uint64, r *spanReader, rest func() json.RawMessage) {
	s.scores = r.scores()
	silent, err := r.unread()
	if s.call = r.call(); s.call != nil {
		s.call.start = start
		if s.rest = s.raw; s.call.Errs == nil {
			s.rest = rest()
		}
		for _, e := range s.call.Errs {
			err = fmt.Errorf("the %s of the model call: %w", e.Member, e.Err)
		}
	}
	if s.err = err; s.call == nil && err == nil && silent != nil {
		s.silent, s.unused = silent, r.resources()
	}
	s.err = cmp.Or(s.err, r.wrongUsage)
}

// add adds a span to its trace, unless it is there. Of spans with one id and other content, only the first is read.
func (t *spanTrace) add(s *readSpan) {
	if i, isThere := t.byID[s.id]; isThere {
		first := &t.spans[i]
		if sameValue(jsonio.View(first.raw), jsonio.View(s.raw)) {
			return
		}
		if s.err == nil && (first.isOfModel() || s.isOfModel()) {
			s.err = errors.New("another span of the trace has the same id and other content, which is not read")
		}
		t.report(&s.recordedSpan, s.err)
		t.spans = append(t.spans, recordedSpan{raw: s.raw, parent: s.parent})
		return
	}
	if s.id != "" {
		if t.byID == nil {
			t.byID = map[string]int{}
		}
		t.byID[s.id] = len(t.spans)
	}
	t.report(&s.recordedSpan, s.err)
	t.spans = append(t.spans, s.recordedSpan)
}

// isOfModel reports whether a span has messages, usage or scores, or is one of a model call.
func (s *recordedSpan) isOfModel() bool {
	return s.call != nil || s.silent != nil || s.scores != nil || s.used != (resources{}) || s.unused != (resources{})
}

// report keeps the reason why a span cannot be read; nil if it can.
func (t *spanTrace) report(s *recordedSpan, err error) {
	if err != nil {
		name := cmp.Or(s.id, tree.Scalar(s.raw, "name"), s.parent)
		t.unread = append(t.unread, format.Unknown{Line: t.line, Err: fmt.Errorf("span %q: %w", name, err)})
	}
}

// trace returns the trace with this id. A span without one is a trace of its own.
func (t *Telemetry) trace(id string, line int) *spanTrace {
	if id == "" {
		t.unnamed++
		id = "span-" + strconv.Itoa(t.unnamed)
	}
	trace := t.byID[id]
	if trace == nil {
		trace = &spanTrace{id: id, line: line}
		if t.byID == nil {
			t.byID = map[string]*spanTrace{}
		}
		t.byID[id] = trace
		t.traces = append(t.traces, trace)
	}
	return trace
}

// IsEmpty reports whether no document was added.
func (t *Telemetry) IsEmpty() bool { return t.size == 0 }

// Runs returns the conversations of all traces. A run has the messages of its conversation, and
// the attributes of its last call. Head has the spans of traces without a conversation, and the
// resources and scopes of all spans. Unread are the model calls of these traces.
func (t *Telemetry) Runs() (runs []format.Run, head map[string]json.RawMessage, unread []format.Unknown) {
	var spans tree.List
	byTrace := make([][]format.Run, len(t.traces))
	ordered.Each(len(t.traces), t.size, func(i int) {
		trace := t.traces[i]
		trace.addLogs()
		byTrace[i] = spanRuns(trace.spans, trace.id, trace.line, "spans", nil)
		for n := range trace.spans {
			trace.report(&trace.spans[n], trace.spans[n].silent)
		}
	})
	for i, trace := range t.traces {
		if found := byTrace[i]; found != nil {
			found[0].Unknown = trace.unread
			runs = append(runs, found...)
			continue
		}
		unread = append(unread, trace.unread...)
		for _, s := range trace.spans {
			spans.Add(s.raw)
		}
	}
	return runs, map[string]json.RawMessage{"spans": spans.JSON(), "resources": t.resources.JSON()}, unread
}

// call returns the messages and the usage of a span; nil if it has no messages. The messages of an
// agent's span are used only if no span of a model call has any. It deletes the attributes and
// events with messages.
func (s *spanReader) call() *modelCall {
	for n, c := range conventions {
		found := c.read(s)
		if len(found.Input) == 0 && len(found.Output) == 0 {
			continue
		}
		call := &modelCall{Call: found, rank: 2 * n, used: s.resources(), convention: true}
		if agentOperations[tree.Scalar(s.attributes["gen_ai.operation.name"])] || tree.Scalar(s.attributes[spanKind]) == "AGENT" {
			call.rank += 2 * len(conventions)
			call.agent, call.convention = true, false
		}
		maps.DeleteFunc(s.attributes, func(name string, _ json.RawMessage) bool { return c.isMessages(name) })
		s.events = slices.DeleteFunc(s.events, func(e spanEvent) bool { return c.isMessages(e.name) })
		call.attributes = s.attributes
		return call
	}
	return nil
}

// agentOperations are the operations whose spans repeat the messages of model calls.
var agentOperations = map[string]bool{"invoke_agent": true, "create_agent": true, "invoke_workflow": true, "execute_tool": true}

// attributesOf returns the attributes in a list at a path. Invalid reports whether one has no
// name of its own, or unknown members. The error is the reason why one cannot be read.
func attributesOf(path string, list json.RawMessage) (attributes map[string]json.RawMessage, invalid bool, err error) {
	attributes = map[string]json.RawMessage{}
	if !message.IsEmpty(list) && list[0] != '[' {
		return attributes, true, fmt.Errorf("%s: expected a list of attributes", path)
	}
	for n, a := range tree.Elements(list) {
		var x tree.Index
		x.Read(a)
		name, ok := tree.Text(x.Member("key"))
		if !ok {
			err = cmp.Or(err, fmt.Errorf("%s[%d]: the attribute has no key", path, n))
		}
		invalid = invalid || !ok || attributes[name] != nil || x.HasOthers("key", "value", "type")
		var wrong string
		if attributes[name], wrong = anyValue(x.Member("value")); wrong != "" {
			err = cmp.Or(err, fmt.Errorf("the attribute %q: %s", name, wrong))
		}
	}
	return attributes, invalid, err
}

// anyValue returns an AnyValue of OTLP, or a plain value, as plain JSON. Values at a greater depth
// than maxDepth stay as they are. The JSON mapping of OTLP writes an integer as a string; below an
// attribute it becomes a number again, because it may be one in the arguments of a call. Wrong is what
// is not read of a list or a map without values; empty if all is.
func anyValue(raw json.RawMessage) (plain json.RawMessage, wrong string) {
	return plainValue(raw, 0, &wrong), wrong
}

// plainValue is anyValue for a value at a depth.
func plainValue(raw json.RawMessage, depth int, wrong *string) json.RawMessage {
	const maxDepth = 32
	if tree.IsNull(raw) || depth > maxDepth {
		return json.RawMessage(cmp.Or(string(raw), "null"))
	}
	for kind, value := range tree.Members(raw) {
		if list := tree.Member(value, "values"); (kind == "arrayValue" || kind == "kvlistValue") && !message.IsEmpty(value) && (len(list) == 0 || list[0] != '[') {
			*wrong = "the " + kind + " has no list of values"
			return raw
		}
		switch kind {
		case "arrayValue":
			b := []byte("[")
			for n, element := range tree.Elements(value, "values") {
				if n > 0 {
					b = append(b, ',')
				}
				b = append(b, plainValue(element, depth+1, wrong)...)
			}
			return append(b, ']')
		case "kvlistValue":
			var object tree.Object
			for _, member := range tree.Elements(value, "values") {
				object.Raw(tree.Scalar(member, "key"), string(plainValue(tree.Member(member, "value"), depth+1, wrong)))
			}
			return json.RawMessage(cmp.Or(string(object.JSON()), "{}"))
		case "intValue":
			if digits := tree.Scalar(value); depth > 0 && json.Valid([]byte(digits)) {
				return json.RawMessage(digits)
			}
			return value
		default:
			return value
		}
	}
	return raw
}
