package middleware

import (
	"context"
	"maps"
	"sync"
)

// Metric is a measurement of a tool.
type Metric struct {
	Value any    `json:"value"` // a number, a string or a boolean
	Type  string `json:"type"`  // the kind of measurement, such as latency
}

// metrics are the measurements of one call.
type metrics struct {
	mu   sync.Mutex
	list map[string]Metric
}

type metricsKey struct{}

// SetMetric stores a measurement of a tool under a name. ctx is the context of the tool.
// SetMetric reports whether the measurement is used; this requires [ToolHooks].
func SetMetric(ctx context.Context, name string, m Metric) bool {
	all, ok := ctx.Value(metricsKey{}).(*metrics)
	if !ok {
		return false
	}
	all.mu.Lock()
	defer all.mu.Unlock()
	all.list[name] = m
	return true
}

func withMetrics(ctx context.Context) (context.Context, *metrics) {
	m := &metrics{list: map[string]Metric{}}
	return context.WithValue(ctx, metricsKey{}, m), m
}

// copy returns a copy of the measurements.
func (m *metrics) copy() map[string]Metric {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.list)
}
