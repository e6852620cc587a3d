package otelloop

import (
	"context"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/looptape/looptape/llm"
)

// metrics are the histograms of
// https://github.com/open-telemetry/semantic-conventions-genai/blob/v0.1.0/docs/gen-ai/gen-ai-metrics.md.
type metrics struct {
	tokens, inferenceCalls, toolCalls         metric.Int64Histogram
	modelCall, firstChunk, toolCall, agentRun metric.Float64Histogram
}

// newMetrics passes an error of the meter to the error handler of OpenTelemetry.
func newMetrics(m metric.Meter) (all metrics) {
	counts := func(name, unit, description string, boundaries ...float64) metric.Int64Histogram {
		h, err := m.Int64Histogram(name, metric.WithUnit(unit), metric.WithDescription(description), metric.WithExplicitBucketBoundaries(boundaries...))
		if err != nil {
			otel.Handle(err)
		}
		return h
	}
	all.tokens = counts("gen_ai.client.token.usage", "{token}", "Number of input and output tokens used.",
		1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864)
	few := []float64{1, 2, 4, 8, 16, 32, 64, 128}
	all.inferenceCalls = counts("gen_ai.invoke_agent.inference_calls", "{inference_call}", "Number of model calls of an agent invocation.", few...)
	all.toolCalls = counts("gen_ai.invoke_agent.tool_calls", "{tool_call}", "Number of tool calls of an agent invocation.", few...)
	seconds := func(name, description string, boundaries ...float64) metric.Float64Histogram {
		h, err := m.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(description), metric.WithExplicitBucketBoundaries(boundaries...))
		if err != nil {
			otel.Handle(err)
		}
		return h
	}
	short := []float64{0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92}
	all.modelCall = seconds("gen_ai.client.operation.duration", "GenAI operation duration.", short...)
	all.firstChunk = seconds("gen_ai.client.operation.time_to_first_chunk", "Time from a streaming request to the first chunk of its response.", short...)
	all.toolCall = seconds("gen_ai.execute_tool.duration", "Duration of a tool execution.", short...)
	all.agentRun = seconds("gen_ai.invoke_agent.duration", "Duration of an agent invocation.", 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2, 102.4, 204.8, 409.6)
	return all
}

// usage records the tokens of a model call. A count of 0 is one that the provider did not send.
func (m *metrics) usage(ctx context.Context, u llm.Usage, attributes []attribute.KeyValue) {
	count := func(kind string, n int64) {
		if n > 0 {
			m.tokens.Record(ctx, n, metric.WithAttributes(attributes...), metric.WithAttributes(attribute.String("gen_ai.token.type", kind)))
		}
	}
	count("input", u.InputTokens)
	count("output", u.OutputTokens)
}

// record records a duration.
func record(ctx context.Context, h metric.Float64Histogram, d time.Duration, attributes []attribute.KeyValue) {
	h.Record(ctx, d.Seconds(), metric.WithAttributes(attributes...))
}
