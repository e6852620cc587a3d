package otelloop_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	oteltrace "go.opentelemetry.io/otel/trace"

	otelloop "github.com/looptape/looptape/contrib/otel"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
)

// TestScenarios runs all scenarios with the middleware. Their traces are unchanged, their spans are well
// formed and have the data of the events, and the trace of the run exports to the same spans.
func TestScenarios(t *testing.T) {
	for _, path := range scenarioFiles(t) {
		t.Run(name(path), func(t *testing.T) {
			f := parse(t, path)
			b := newBackend(otelloop.ContentStructured)
			ctx, caller := b.begin(t.Context())
			o := b.play(ctx, t, f)
			caller.End(oteltrace.WithTimestamp(endOf(b.spans())))
			if diff := f.Compare(o); diff != "" {
				t.Errorf("the trace has changed:\n%s", diff)
			}
			checkTree(t, b, caller)
			checkCounts(t, b.spans(), o.Events)
			checkUsage(t, b, o.Events)
			checkStatus(t, b.spans(), o.Events)

			again := newBackend(otelloop.ContentStructured)
			ctx, caller = again.begin(t.Context())
			again.export(ctx, t, o.Events)
			caller.End(oteltrace.WithTimestamp(endOf(again.spans())))
			checkTree(t, again, caller)
			if diff := cmp.Diff(describe(b.spans(), false), describe(again.spans(), false)); diff != "" {
				t.Errorf("the exported trace differs (-live +exported):\n%s", diff)
			}
			if diff := cmp.Diff(describeMetrics(b.metrics(t)), describeMetrics(again.metrics(t))); diff != "" {
				t.Errorf("the metrics of the exported trace differ (-live +exported):\n%s", diff)
			}
		})
	}
}

// checkTree checks that each span ended once, has its parent in the same trace, and lies in its time.
func checkTree(t *testing.T, b *backend, caller oteltrace.Span) {
	t.Helper()
	for id, n := range b.ends {
		if n != 1 {
			t.Errorf("the span %s ended %d times", id, n)
		}
	}
	for id, name := range b.open {
		t.Errorf("the span %s (%s) did not end", name, id)
	}
	spans := b.spans()
	byID := map[oteltrace.SpanID]*tracetest.SpanStub{}
	for i := range spans {
		byID[spans[i].SpanContext.SpanID()] = &spans[i]
	}
	for i := range spans {
		s := &spans[i]
		operation, of, _ := strings.Cut(s.Name, " ")
		if s.Name == "caller" {
			continue
		}
		parent := byID[s.Parent.SpanID()]
		if parent == nil || s.SpanContext.TraceID() != caller.SpanContext().TraceID() {
			t.Fatalf("%s: parent %s, trace %s: not below the caller", s.Name, s.Parent.SpanID(), s.SpanContext.TraceID())
		}
		parentOperation, _, _ := strings.Cut(parent.Name, " ")
		want := map[string]string{"chat": "invoke_agent", "execute_tool": "invoke_agent"}
		if w := want[operation]; w != "" && w != parentOperation || w == "" && parentOperation != "caller" && parentOperation != "execute_tool" {
			t.Errorf("%s is below %s", s.Name, parent.Name)
		}
		if s.StartTime.Before(parent.StartTime) || s.EndTime.After(parent.EndTime) || s.EndTime.Before(s.StartTime) {
			t.Errorf("%s has the times %v to %v, its parent %s %v to %v", s.Name, s.StartTime, s.EndTime, parent.Name, parent.StartTime, parent.EndTime)
		}
		kind := oteltrace.SpanKindInternal
		names := map[string]string{"invoke_agent": "gen_ai.agent.name", "chat": "gen_ai.request.model", "execute_tool": "gen_ai.tool.name"}
		if operation == "chat" {
			kind = oteltrace.SpanKindClient
		}
		if s.SpanKind != kind || text(s, "gen_ai.operation.name") != operation || text(s, names[operation]) != of {
			t.Errorf("%s: kind %s, operation %q, %s = %q", s.Name, s.SpanKind, text(s, "gen_ai.operation.name"), names[operation], text(s, names[operation]))
		}
		if provider := text(s, "gen_ai.provider.name"); operation != "execute_tool" && provider != "fake" {
			t.Errorf("%s: provider %q", s.Name, provider)
		}
	}
}

// checkCounts checks that each attempt of a model call and each tool call has its span.
func checkCounts(t *testing.T, spans tracetest.SpanStubs, events []trace.Event) {
	t.Helper()
	var want, got []string
	purposes := map[trace.Purpose]string{}
	for _, ev := range events {
		switch body := ev.Body.(type) {
		case trace.RunStart:
			want = append(want, "run "+ev.Run)
		case trace.ModelConfig:
			purposes[ev.Purpose] = body.Model
		case trace.ModelRequest:
			want = append(want, fmt.Sprintf("chat %s %d %d %s", purposes[ev.Purpose], ev.Step, ev.Attempt, ev.Purpose))
		case trace.ToolStart:
			want = append(want, "tool "+body.Name+" "+body.ToolCallID)
		case trace.ToolSkip:
			want = append(want, "tool "+body.Name+" "+body.ToolCallID)
		}
	}
	for i := range spans {
		switch s := &spans[i]; text(s, "gen_ai.operation.name") {
		case "invoke_agent":
			got = append(got, "run "+text(s, "looptape.run"))
		case "chat":
			got = append(got, fmt.Sprintf("chat %s %d %d %s", text(s, "gen_ai.request.model"), number(s, "looptape.step"), number(s, "looptape.attempt"), text(s, "looptape.purpose")))
		case "execute_tool":
			got = append(got, "tool "+text(s, "gen_ai.tool.name")+" "+text(s, "gen_ai.tool.call.id"))
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("spans (-events +spans):\n%s", diff)
	}
}

// checkUsage compares the usage of the run with the spans of its model calls, its own span, and the metric.
func checkUsage(t *testing.T, b *backend, events []trace.Event) {
	t.Helper()
	end := bodies[trace.RunEnd](events)[0]
	var calls, run llm.Usage
	spans := b.spans()
	for i := range spans {
		s := &spans[i]
		u := llm.Usage{
			InputTokens: number(s, "gen_ai.usage.input_tokens"), OutputTokens: number(s, "gen_ai.usage.output_tokens"),
			CacheReadInputTokens: number(s, "gen_ai.usage.cache_read.input_tokens"), CacheCreationInputTokens: number(s, "gen_ai.usage.cache_creation.input_tokens"),
			ReasoningOutputTokens: number(s, "gen_ai.usage.reasoning.output_tokens"),
		}
		if text(s, "gen_ai.operation.name") == "chat" {
			calls = calls.Add(u)
		} else {
			run = run.Add(u)
		}
	}
	var metric llm.Usage
	for set, h := range b.metrics(t)["gen_ai.client.token.usage"] {
		if kind, _ := set.Value("gen_ai.token.type"); kind.AsString() == "input" {
			metric.InputTokens += int64(h.sum)
		} else {
			metric.OutputTokens += int64(h.sum)
		}
	}
	if calls != end.Usage || run != end.Usage || metric != (llm.Usage{InputTokens: end.Usage.InputTokens, OutputTokens: end.Usage.OutputTokens}) {
		t.Errorf("usage: chat %+v, invoke_agent %+v, metric %+v; want %+v", calls, run, metric, end.Usage)
	}
}

// checkStatus checks that exactly the failed operations have the status of an error, and an error type.
func checkStatus(t *testing.T, spans tracetest.SpanStubs, events []trace.Event) {
	t.Helper()
	var want, got []bool
	runs := []bool{bodies[trace.RunEnd](events)[0].Error != nil}
	open := map[string]int{} // the index of the outcome of a call
	for _, ev := range events {
		switch body := ev.Body.(type) {
		case trace.RunStart:
			want = append(want, runs[0])
		case trace.ModelRequest:
			want = append(want, false)
			open["model"] = len(want) - 1
		case trace.ModelError:
			want[open["model"]] = true
		case trace.ToolStart:
			want = append(want, false)
			open["tool "+body.ToolCallID] = len(want) - 1
		case trace.ToolEnd:
			want[open["tool "+body.ToolCallID]] = body.Result.IsError
		case trace.ToolSkip:
			want = append(want, body.Result.IsError)
		}
	}
	for i := range spans {
		if s := &spans[i]; s.Name != "caller" {
			isError := s.Status.Code == codes.Error
			got = append(got, isError)
			if _, has := attributeOf(s, "error.type"); has != isError {
				t.Errorf("%s: status %v, error.type %q", s.Name, s.Status.Code, text(s, "error.type"))
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("status, for each span (-want +got):\n%s", diff)
	}
}

// describe describes spans without their ids. Stream is false to omit whether a request was streaming, which a
// trace shows only by its deltas.
func describe(spans tracetest.SpanStubs, stream bool) (list []string) {
	for _, s := range spans {
		line := fmt.Sprintf("%s %s %d-%d %v %q", s.Name, s.SpanKind, s.StartTime.UnixNano(), s.EndTime.UnixNano(), s.Status.Code, s.Status.Description)
		attributes := slices.Clone(s.Attributes)
		slices.SortFunc(attributes, func(a, b attribute.KeyValue) int { return strings.Compare(string(a.Key), string(b.Key)) })
		for _, a := range attributes {
			if stream || a.Key != "gen_ai.request.stream" {
				line += fmt.Sprintf("\n  %s=%s", a.Key, a.Value.String())
			}
		}
		list = append(list, line)
	}
	return list
}

func describeMetrics(all map[string]map[attribute.Set]histogram) (list []string) {
	for name, points := range all {
		for set, h := range points {
			list = append(list, fmt.Sprintf("%s %s sum=%g count=%d", name, set.Encoded(attribute.DefaultEncoder()), math.Round(h.sum*1e9)/1e9, h.count))
		}
	}
	slices.Sort(list)
	return list
}

// endOf returns the time of the last span, for the end of the caller.
func endOf(spans tracetest.SpanStubs) (end time.Time) {
	for _, s := range spans {
		if s.EndTime.After(end) {
			end = s.EndTime
		}
	}
	return end
}
