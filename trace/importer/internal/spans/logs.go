package spans

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/looptape/looptape/trace/importer/internal/format"
	"github.com/looptape/looptape/trace/importer/internal/tree"
)

// detailsEvent is the event with all messages of a call:
// https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-events/
const detailsEvent = "gen_ai.client.inference.operation.details"

// scoreEvent is the event with a score.
const scoreEvent = "gen_ai.evaluation.result"

// otherEvents are the other events of generative AI. They have no messages.
var otherEvents = []string{scoreEvent, "gen_ai.client.operation.exception"}

// logRecord is a record of a log with its event. The attributes also have the members of the body.
type logRecord struct {
	spanEvent

	trace, span string
	time        uint64
	err         error // the reason why a part of the record cannot be read
}

// logs keeps the records of LogsData of OTLP in JSON
// (https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding).
func (d *spanDocument) logs(list json.RawMessage) {
	var x tree.Index
	for resource := range d.objects("resourceLogs", list) {
		x.Read(resource)
		d.other(&x, "scopeLogs")
		for scope := range d.objects("scopeLogs", x.Member("scopeLogs")) {
			var x tree.Index
			x.Read(scope)
			d.other(&x, "logRecords")
			for raw := range d.objects("logRecords", x.Member("logRecords")) {
				d.records = append(d.records, newLogRecord(raw))
			}
		}
	}
}

func newLogRecord(raw json.RawMessage) logRecord {
	r := logRecord{spanEvent: spanEvent{raw: raw}, trace: tree.Scalar(raw, "traceId"), span: tree.Scalar(raw, "spanId")}
	r.time, _ = strconv.ParseUint(tree.Scalar(tree.First(raw, "timeUnixNano", "observedTimeUnixNano")), 10, 64)
	r.attributes, _, r.err = attributesOf("attributes", tree.Member(raw, "attributes"))
	r.name = cmp.Or(tree.Scalar(raw, "eventName"), tree.Scalar(r.attributes["event.name"]))
	body, wrong := anyValue(tree.Member(raw, "body"))
	if wrong != "" {
		r.err = cmp.Or(r.err, errors.New("body: "+wrong))
	}
	if inner := tree.Embedded(body); len(inner) > 0 && inner[0] == '{' {
		maps.Insert(r.attributes, tree.Members(inner))
	} else if messageEvents[r.name] != "" && r.attributes["content"] == nil {
		r.attributes["content"] = body
	}
	return r
}

// addRecord adds a record to its trace.
func (t *spanTrace) addRecord(r *logRecord) {
	isEvent := strings.HasPrefix(r.name, "gen_ai.")
	known := messageEvents[r.name] != "" || r.name == detailsEvent || slices.Contains(otherEvents, r.name)
	switch {
	case r.err != nil:
		t.reportRecord(r, r.err.Error())
	case isEvent && !known:
		t.reportRecord(r, "the event is unknown")
	case r.trace == "" && isEvent && r.name != detailsEvent:
		t.reportRecord(r, "the record has no traceId, which shows its model call")
	}
	t.records = append(t.records, *r)
}

func (t *spanTrace) reportRecord(r *logRecord, what string) {
	t.unread = append(t.unread, format.Unknown{Line: t.line, Err: fmt.Errorf("log record %q: %s", r.name, what)})
}

// addLogs adds the model calls in the records of a trace. Those of a span with messages of its own are
// another form of these.
func (t *spanTrace) addLogs() {
	sort.SliceStable(t.records, func(i, j int) bool { return t.records[i].time < t.records[j].time })
	spans := map[string]int{}
	for i := range t.spans {
		spans[t.spans[i].id] = i
	}
	last := map[string]*logCall{} // by span
	var order []*logCall
	for _, r := range t.records {
		call := last[r.span]
		if call == nil {
			call = &logCall{span: -1}
			if i, ok := spans[r.span]; ok && r.span != "" {
				call.span = i
			}
			last[r.span], order = call, append(order, call)
		}
		isMessage := messageEvents[r.name] != ""
		isWhole := r.name == detailsEvent
		if call.records != nil && isWhole || isMessage && r.name != choiceEvent && call.isAnswered {
			t.addCall(call)
			*call = logCall{span: call.span}
		}
		call.records = append(call.records, r)
		call.isAnswered = call.isAnswered || isWhole || r.name == choiceEvent
	}
	for _, call := range order {
		t.addCall(call)
	}
	t.records = nil
}

// logCall has the records of a model call. A new one begins with a record that has all messages of a
// call, and with a message after a response.
type logCall struct {
	records    []logRecord
	span       int // the index of the span; -1 if it is not in the recording
	isAnswered bool
}

// addCall adds the records of a call as a span below their span.
func (t *spanTrace) addCall(c *logCall) {
	records, span := c.records, c.records[0].span
	s := readSpan{recordedSpan: recordedSpan{raw: recordsOf(t.id, span, records), parent: span}}
	isRead := c.span >= 0 && t.spans[c.span].call != nil
	r := spanReader{attributes: map[string]json.RawMessage{}}
	for _, record := range records {
		isMessage := messageEvents[record.name] != "" || record.name == detailsEvent
		switch {
		case isMessage && isRead: // in another form
			continue
		case record.name == detailsEvent:
			maps.Copy(r.attributes, record.attributes)
		default:
			r.events = append(r.events, record.spanEvent)
		}
	}
	s.readCall(records[0].time, &r, func() json.RawMessage { return s.raw })
	if s.call == nil && s.err == nil && records[0].name == detailsEvent && !isRead {
		s.silent = errSilent
	}
	if s.call != nil && !s.call.agent {
		s.call.rank = 0 // the only form of the call
		if c.span >= 0 && s.call.used == (resources{}) {
			s.call.used, t.spans[c.span].unused = t.spans[c.span].unused, resources{}
		}
	}
	t.add(&s)
}

// recordsOf returns the records of a call as a value of the metadata.
func recordsOf(trace, span string, records []logRecord) json.RawMessage {
	var list tree.List
	for _, record := range records {
		list.Add(record.raw)
	}
	var o tree.Object
	o.Text("traceId", trace)
	o.Text("spanId", span)
	o.Add("logRecords", list.JSON())
	return o.JSON()
}

// errSilent is the reason why a model call cannot be read if no form of its messages was recorded.
var errSilent = errors.New("the model call has no messages, as gen_ai.input.messages: let the recorder capture message content")
