// Package otelloop exports runs to OpenTelemetry, by its semantic conventions for generative AI.
//
// [Middleware] observes the runs of an agent while they run, and [Export] reads recorded traces. Both
// turn the same events (package trace) into the same telemetry: a span invoke_agent for each run, below
// it a span chat for each attempt of a model call and a span execute_tool for each tool call, and
// histograms of tokens and durations. A run that a tool starts is below the span of its call.
//
// Messages, arguments, results and error messages are content. Spans have content only if
// [Config.Content] requests it, and metrics never have any. The package configures no exporter and no
// sampling: the application passes its providers.
package otelloop

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"time"

	"go.opentelemetry.io/otel/metric"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	oteltrace "go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/trace"
)

// ScopeName is the name of the instrumentation scope of all spans and metrics.
const ScopeName = "github.com/looptape/looptape/contrib/otel"

// Config specifies which telemetry the runs of one agent give. Its zero value gives none. It must not be
// changed after its first use.
type Config struct {
	TracerProvider oteltrace.TracerProvider // gets the spans; nil means no spans
	MeterProvider  metric.MeterProvider     // gets the metrics; nil means no metrics
	// Provider is the name of the model's provider by the conventions, such as openai, anthropic or
	// gcp.gemini (gen_ai.provider.name, which they require). Empty omits it.
	Provider string
	// Agent is the name of the agent (gen_ai.agent.name). Empty omits it.
	Agent   string
	Content Content // whether spans contain messages, and in which form
}

// Content is the form of the content of spans.
type Content string

// The forms of content.
const (
	// ContentOff omits system prompts, messages, definitions of tools, arguments, results and error messages.
	// So does any other value than those below.
	ContentOff Content = ""
	// ContentStructured writes structured attributes, which the conventions recommend. Limits of the
	// length of values apply to each text. JSON that the values of OpenTelemetry cannot represent
	// exactly, such as null or a number of many digits, is written as a text.
	ContentStructured Content = "structured"
	// ContentJSON writes each attribute as a JSON text, for backends that do not read structured ones.
	ContentJSON Content = "json"
)

// Middleware returns the middleware that observes the runs of an agent. Give it to sub-agents as well,
// with their names. Put it first in the list, so that the context of all other middleware has the
// spans: the context of a model call has its span chat, and that of a tool its span execute_tool. Spans
// have the time of the clock of the run. Without a provider in cfg, it does nothing and costs nothing.
//
// The time to the first chunk is known only if loop.Config.Deltas is true.
func Middleware(cfg *Config) loop.Middleware {
	m := loop.Middleware{Name: "opentelemetry", New: func(loop.RunInfo) loop.Hooks { return loop.Hooks{} }}
	if t := newTelemetry(cfg); t != nil {
		m.New = func(info loop.RunInfo) loop.Hooks {
			now := func(time.Duration) time.Time { return info.Clock.Now() }
			r := &run{telemetry: t, live: true, outer: info.Context, at: now}
			sink := trace.SinkFunc(func(ev trace.Event) error {
				r.add(&ev)
				return nil
			})
			return loop.Hooks{Sink: sink, Start: r.start, WrapTool: r.wrapTool}
		}
	}
	return m
}

// Export exports the runs of a recorded trace, such as those of trace.Reader.Events. A trace has only
// times since the start of its runs: start is when its runs began. A run that a call of the trace
// started begins after the last event of the outer run before it. The spans are below the span of ctx,
// if it has one. Export ends the spans of a run without its end, with the error type incomplete.
//
// It exports all that it can read, and returns the errors of the others. It returns an error if events is nil.
func Export(ctx context.Context, events iter.Seq2[trace.Event, error], start time.Time, cfg *Config) error {
	t := newTelemetry(cfg)
	if t == nil {
		return nil
	}
	if events == nil {
		return errors.New("otelloop: export a trace: the events are nil: pass those of a trace, such as trace.Reader.Events")
	}
	var errs []error
	var open []*run // in the order of their first events
	byName := map[string]*run{}
	for ev, err := range events {
		if err != nil {
			errs = append(errs, err)
			continue
		}
		r := byName[ev.Run]
		if r == nil {
			r = &run{telemetry: t, outer: ctx}
			begin := start
			if s, ok := ev.Body.(trace.RunStart); ok && s.Parent != nil && byName[s.Parent.Run] != nil {
				parent := byName[s.Parent.Run]
				r.outer, begin = cmp.Or(parent.toolContext(s.Parent.ToolCallID), parent.ctx), parent.last
			}
			r.at = begin.Add
			byName[ev.Run] = r
			open = append(open, r)
		}
		if r.add(&ev); r.ended {
			delete(byName, ev.Run)
		}
	}
	for i := len(open) - 1; i >= 0; i-- { // nested runs first
		open[i].end(&trace.RunEnd{Error: &trace.Error{Type: "incomplete"}})
	}
	return errors.Join(errs...)
}

// telemetry is what all runs of a configuration share.
type telemetry struct {
	cfg     Config
	tracer  oteltrace.Tracer
	metrics metrics
}

// newTelemetry returns nil if cfg has no provider.
func newTelemetry(cfg *Config) *telemetry {
	if cfg == nil || cfg.TracerProvider == nil && cfg.MeterProvider == nil {
		return nil
	}
	t := &telemetry{cfg: *cfg}
	if c := cfg.Content; c != ContentStructured && c != ContentJSON {
		t.cfg.Content = ContentOff
	}
	var spans oteltrace.TracerProvider = tracenoop.NewTracerProvider()
	if cfg.TracerProvider != nil {
		spans = cfg.TracerProvider
	}
	t.tracer = spans.Tracer(ScopeName)
	var meters metric.MeterProvider = metricnoop.NewMeterProvider()
	if cfg.MeterProvider != nil {
		meters = cfg.MeterProvider
	}
	t.metrics = newMetrics(meters.Meter(ScopeName))
	return t
}
