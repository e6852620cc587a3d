package otelloop_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"

	otelloop "github.com/looptape/looptape/contrib/otel"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/trace"
	"github.com/looptape/looptape/trace/check"
	"github.com/looptape/looptape/trace/importer"
)

// otlp returns spans as OTLP in JSON. Ids are hexadecimal there, other than in the JSON of other protocols.
func otlp(t *testing.T, spans tracetest.SpanStubs) []byte {
	t.Helper()
	var list []*tracepb.Span
	ids := map[string]string{}
	for _, s := range spans {
		traceID, id, parent := s.SpanContext.TraceID(), s.SpanContext.SpanID(), s.Parent.SpanID()
		span := &tracepb.Span{
			TraceId: traceID[:], SpanId: id[:], Name: s.Name, Kind: tracepb.Span_SpanKind(s.SpanKind),
			StartTimeUnixNano: uint64(s.StartTime.UnixNano()), EndTimeUnixNano: uint64(s.EndTime.UnixNano()),
			Status: &tracepb.Status{Message: s.Status.Description},
		}
		if s.Parent.IsValid() {
			span.ParentSpanId = parent[:]
		}
		for _, a := range s.Attributes {
			span.Attributes = append(span.Attributes, &commonpb.KeyValue{Key: string(a.Key), Value: anyValue(t, a.Value)})
		}
		list = append(list, span)
		for _, id := range [][]byte{traceID[:], id[:]} {
			base64, err := json.Marshal(id)
			if err != nil {
				t.Fatal(err)
			}
			ids[string(base64)] = fmt.Sprintf("%q", fmt.Sprintf("%x", id))
		}
	}
	scope := &tracepb.ScopeSpans{Scope: &commonpb.InstrumentationScope{Name: otelloop.ScopeName}, Spans: list}
	raw, err := protojson.Marshal(&tracepb.TracesData{ResourceSpans: []*tracepb.ResourceSpans{{ScopeSpans: []*tracepb.ScopeSpans{scope}}}})
	if err != nil {
		t.Fatal(err)
	}
	for base64, hexadecimal := range ids {
		raw = bytes.ReplaceAll(raw, []byte(base64), []byte(hexadecimal))
	}
	return raw
}

func anyValue(t *testing.T, v attribute.Value) *commonpb.AnyValue {
	t.Helper()
	switch v.Type() {
	case attribute.BOOL:
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_BoolValue{BoolValue: v.AsBool()}}
	case attribute.INT64:
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_IntValue{IntValue: v.AsInt64()}}
	case attribute.FLOAT64:
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_DoubleValue{DoubleValue: v.AsFloat64()}}
	case attribute.STRING:
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: v.AsString()}}
	case attribute.STRINGSLICE, attribute.SLICE:
		list := &commonpb.ArrayValue{}
		for _, text := range v.AsStringSlice() {
			list.Values = append(list.Values, anyValue(t, attribute.StringValue(text)))
		}
		for _, e := range v.AsSlice() {
			list.Values = append(list.Values, anyValue(t, e))
		}
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_ArrayValue{ArrayValue: list}}
	case attribute.MAP:
		list := &commonpb.KeyValueList{}
		for _, e := range v.AsMap() {
			list.Values = append(list.Values, &commonpb.KeyValue{Key: string(e.Key), Value: anyValue(t, e.Value)})
		}
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_KvlistValue{KvlistValue: list}}
	default:
		t.Fatalf("unexpected attribute %s", v.String())
		return nil
	}
}

// readBack imports spans as a recording.
func readBack(t *testing.T, spans tracetest.SpanStubs) (runs []importer.Run) {
	t.Helper()
	src, err := importer.Open("spans.json", bytes.NewReader(otlp(t, spans)))
	if err != nil {
		t.Fatal(err)
	}
	for run, err := range src.Runs() {
		if err != nil {
			t.Error(err)
			continue
		}
		runs = append(runs, run)
	}
	return runs
}

// conversation returns the messages that a run sent and received: those of the last request of a step, and its
// response.
func conversation(events []trace.Event) (list []llm.Message) {
	var requests []llm.Message
	system := ""
	for _, ev := range events {
		if ev.Purpose != trace.PurposeAnswer {
			continue
		}
		switch body := ev.Body.(type) {
		case trace.ModelConfig:
			system = body.System.Text()
		case trace.ModelRequest:
			requests = append(requests[:body.PrefixMessages:body.PrefixMessages], body.NewMessages...)
			list = requests
		case trace.ModelResponse:
			list = append(requests[:len(requests):len(requests)], body.Message)
		}
	}
	if system != "" {
		list = append([]llm.Message{{Role: llm.RoleSystem, Parts: []llm.Part{llm.Text{Text: system}}}}, list...)
	}
	return list
}

// lines describes the text, the reasoning, the calls and the results of messages. Arguments and results that are JSON
// may have another form. Calls that the provider ran are parts that the importer does not read.
func lines(messages []llm.Message) (list []string) {
	for _, m := range messages {
		for _, p := range m.Parts {
			switch p := p.(type) {
			case llm.Text:
				list = append(list, fmt.Sprintf("%s text %s", m.Role, p.Text))
			case llm.Reasoning:
				list = append(list, fmt.Sprintf("%s reasoning %s", m.Role, p.Text))
			case llm.ToolCall:
				if p.ProviderExecuted {
					list = append(list, fmt.Sprintf("%s other part", m.Role))
					continue
				}
				list = append(list, fmt.Sprintf("%s call %s %s %s", m.Role, p.ID, p.Name, canonical(p.Arguments)))
			case llm.ToolResult:
				if m.Role == llm.RoleAssistant {
					list = append(list, fmt.Sprintf("%s other part", m.Role))
					continue
				}
				list = append(list, fmt.Sprintf("%s result %s %s", m.Role, p.ID, canonical(p.Text())))
			case llm.Media:
				list = append(list, fmt.Sprintf("%s media %s %x %s", m.Role, p.MediaType, p.Data, p.URL))
			case llm.Unknown:
				list = append(list, fmt.Sprintf("%s other part", m.Role))
			}
		}
	}
	return list
}

// hasUnknown reports whether a message has a part of a kind that looptape does not know.
func hasUnknown(messages []llm.Message) bool {
	return slices.ContainsFunc(messages, func(m llm.Message) bool {
		return slices.ContainsFunc(m.Parts, func(p llm.Part) bool { _, is := p.(llm.Unknown); return is })
	})
}

func canonical(text string) string {
	var v any
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if d.Decode(&v) != nil || d.More() {
		return text
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return text
	}
	return string(raw)
}

// TestReadBack imports the spans of all scenarios. The recording has the conversation and the usage of the run, and no
// violation that the run does not have.
func TestReadBack(t *testing.T) {
	for _, path := range scenarioFiles(t) {
		t.Run(name(path), func(t *testing.T) {
			for _, content := range []otelloop.Content{otelloop.ContentStructured, otelloop.ContentJSON} {
				b := newBackend(content)
				o := b.play(t.Context(), t, parse(t, path))
				want := conversation(o.Events)
				if len(want) == 0 {
					continue
				}
				runs := readBack(t, b.spans())
				var usage llm.Usage
				for i := range runs {
					usage = usage.Add(runs[i].Resources().Usage)
					for _, u := range runs[i].Unknown {
						if !hasUnknown(want) {
							t.Errorf("unread: %v", u)
						}
					}
					for _, v := range check.Messages(runs[i].Name, runs[i].Messages) {
						t.Errorf("%s", v)
					}
				}
				if diff := gocmp.Diff(bodies[trace.RunEnd](o.Events)[0].Usage, usage); diff != "" {
					t.Errorf("usage (-run +recording):\n%s", diff)
				}
				found := slices.ContainsFunc(runs, func(r importer.Run) bool { return slices.Equal(lines(want), lines(r.Messages)) })
				if !found {
					closest := slices.MaxFunc(runs, func(a, b importer.Run) int { return cmp.Compare(len(a.Messages), len(b.Messages)) })
					t.Errorf("%s, %d runs (-run +recording):\n%s", content, len(runs), gocmp.Diff(lines(want), lines(closest.Messages)))
				}
			}
		})
	}
}

// TestReadBackSubAgents imports a run with a retry, failed tools and a sub-agent: each of both runs is a run of the
// recording.
func TestReadBackSubAgents(t *testing.T) {
	b := newBackend(otelloop.ContentStructured)
	agent, _ := world(t, b)
	res, err := agent.Run(t.Context(), loop.Prompt("Go."))
	if err != nil {
		t.Fatal(err)
	}
	runs := readBack(t, b.spans())
	var got [][]string
	var usage llm.Usage
	for i := range runs {
		got = append(got, lines(runs[i].Messages))
		usage = usage.Add(runs[i].Resources().Usage)
		for _, v := range check.Messages(runs[i].Name, runs[i].Messages) {
			t.Error(v)
		}
	}
	outer := append([]llm.Message{{Role: llm.RoleSystem, Parts: []llm.Part{llm.Text{Text: "be brief"}}}, llm.User("Go.")}, res.Messages...)
	want := [][]string{
		lines(outer),
		{"user text What is it?", `assistant call query-0 query {"n":0}`, "tool result query-0 rows", "assistant text 42"},
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
	if want := res.Usage.Add(llm.Usage{InputTokens: 50, OutputTokens: 9}); usage != want {
		t.Errorf("usage %+v, want %+v", usage, want)
	}
}
