package otelloop_test

import (
	"context"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	oteltrace "go.opentelemetry.io/otel/trace"

	otelloop "github.com/looptape/looptape/contrib/otel"
	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/scenario"
	"github.com/looptape/looptape/trace"
)

// backend keeps what the SDK exports.
type backend struct {
	otelloop.Config

	exporter *tracetest.InMemoryExporter
	reader   *sdkmetric.ManualReader
	tracer   oteltrace.Tracer // of the application

	mu   sync.Mutex
	open map[oteltrace.SpanID]string
	ends map[oteltrace.SpanID]int
	ids  uint64
}

func newBackend(content otelloop.Content) *backend {
	b := &backend{exporter: tracetest.NewInMemoryExporter(), reader: sdkmetric.NewManualReader(), open: map[oteltrace.SpanID]string{}, ends: map[oteltrace.SpanID]int{}}
	tracers := sdktrace.NewTracerProvider(sdktrace.WithIDGenerator(b), sdktrace.WithSpanProcessor(b), sdktrace.WithSyncer(b.exporter))
	b.Config = otelloop.Config{
		TracerProvider: tracers, MeterProvider: sdkmetric.NewMeterProvider(sdkmetric.WithReader(b.reader)), Provider: "fake", Agent: "tester", Content: content,
	}
	b.tracer = tracers.Tracer("application")
	return b
}

// NewIDs implements [sdktrace.IDGenerator].
func (b *backend) NewIDs(ctx context.Context) (id oteltrace.TraceID, span oteltrace.SpanID) {
	span = b.NewSpanID(ctx, id)
	copy(id[8:], span[:])
	return id, span
}

// NewSpanID implements [sdktrace.IDGenerator].
func (b *backend) NewSpanID(context.Context, oteltrace.TraceID) (id oteltrace.SpanID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ids++
	binary.BigEndian.PutUint64(id[:], b.ids)
	return id
}

// OnStart implements [sdktrace.SpanProcessor].
func (b *backend) OnStart(_ context.Context, s sdktrace.ReadWriteSpan) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open[s.SpanContext().SpanID()] = s.Name()
}

// OnEnd implements [sdktrace.SpanProcessor].
func (b *backend) OnEnd(s sdktrace.ReadOnlySpan) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.open, s.SpanContext().SpanID())
	b.ends[s.SpanContext().SpanID()]++
}

// Shutdown implements [sdktrace.SpanProcessor].
func (b *backend) Shutdown(context.Context) error { return nil }

// ForceFlush implements [sdktrace.SpanProcessor].
func (b *backend) ForceFlush(context.Context) error { return nil }

// spans returns the ended spans, in the order of their starts.
func (b *backend) spans() tracetest.SpanStubs {
	list := b.exporter.GetSpans()
	byID := make(tracetest.SpanStubs, 0, len(list))
	for id := uint64(1); id <= b.ids; id++ {
		for _, s := range list {
			if n := s.SpanContext.SpanID(); binary.BigEndian.Uint64(n[:]) == id {
				byID = append(byID, s)
			}
		}
	}
	return byID
}

// histogram is the sum and the number of the recorded values, and the boundaries.
type histogram struct {
	sum    float64
	count  uint64
	bounds []float64
}

// metrics returns the histograms by their names and attributes.
func (b *backend) metrics(t *testing.T) map[string]map[attribute.Set]histogram {
	t.Helper()
	var data metricdata.ResourceMetrics
	if err := b.reader.Collect(context.Background(), &data); err != nil {
		t.Fatal(err)
	}
	all := map[string]map[attribute.Set]histogram{}
	for _, scope := range data.ScopeMetrics {
		for _, m := range scope.Metrics {
			all[m.Name] = map[attribute.Set]histogram{}
			switch d := m.Data.(type) {
			case metricdata.Histogram[int64]:
				for _, p := range d.DataPoints {
					all[m.Name][p.Attributes] = histogram{float64(p.Sum), p.Count, p.Bounds}
				}
			case metricdata.Histogram[float64]:
				for _, p := range d.DataPoints {
					all[m.Name][p.Attributes] = histogram{p.Sum, p.Count, p.Bounds}
				}
			default:
				t.Errorf("%s is a %T", m.Name, d)
			}
		}
	}
	return all
}

// attributeOf returns an attribute of a span; ok reports whether it has it.
func attributeOf(s *tracetest.SpanStub, name string) (v attribute.Value, ok bool) {
	for _, a := range s.Attributes {
		if string(a.Key) == name {
			v, ok = a.Value, true // the last one counts
		}
	}
	return v, ok
}

func text(s *tracetest.SpanStub, name string) string {
	v, _ := attributeOf(s, name)
	return v.AsString()
}

func number(s *tracetest.SpanStub, name string) int64 {
	v, _ := attributeOf(s, name)
	return v.AsInt64()
}

// scenarioFiles returns the scenarios of the project.
func scenarioFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "testdata", "*", "*.txtar"))
	if err != nil || len(files) < 100 {
		t.Fatalf("%d scenarios, error %v", len(files), err)
	}
	return files
}

func name(path string) string { return strings.TrimSuffix(filepath.Base(path), ".txtar") }

func parse(t *testing.T, path string) *scenario.File {
	t.Helper()
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := scenario.Parse(path, src)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// play runs a scenario with the middleware.
func (b *backend) play(ctx context.Context, t *testing.T, f *scenario.File) *scenario.Result {
	t.Helper()
	o, err := scenario.Run(ctx, f.Script, &scenario.Options{Adjust: func(cfg *loop.Config) {
		cfg.Middleware = append([]loop.Middleware{otelloop.Middleware(&b.Config)}, cfg.Middleware...)
	}})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// begin begins a span of the application that the run is to be below.
func (b *backend) begin(ctx context.Context) (context.Context, oteltrace.Span) {
	return b.tracer.Start(ctx, "caller", oteltrace.WithTimestamp(fake.NewClock().Now()))
}

// export exports recorded events at the start of the virtual clock.
func (b *backend) export(ctx context.Context, t *testing.T, events []trace.Event) {
	t.Helper()
	if err := otelloop.Export(ctx, all(events), fake.NewClock().Now(), &b.Config); err != nil {
		t.Fatal(err)
	}
}

func all(events []trace.Event) func(func(trace.Event, error) bool) {
	return func(yield func(trace.Event, error) bool) {
		for _, ev := range events {
			if !yield(ev, nil) {
				return
			}
		}
	}
}

func bodies[B trace.Body](events []trace.Event) (list []B) {
	for _, ev := range events {
		if b, ok := ev.Body.(B); ok {
			list = append(list, b)
		}
	}
	return list
}
