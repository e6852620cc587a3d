package middleware

import (
	"context"
	"maps"
	"sync"
)

// Metric is something that a tool has measured.
type Metric struct {
	Value any    `json:"value"` // a number, a text or a truth value
	Type  string `json:"type"`  // what it is, such as latency
}

// metrics are what the tool of one call has measured.
type metrics struct {
	mu   sync.Mutex
	list map[string]Metric
}

type metricsKey struct{}

// SetMetric keeps what a tool has measured with its call, under a name. ctx is the
// tool's. It reports whether anybody keeps it: ToolHooks do.
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

// copy is what was measured until now.
func (m *metrics) copy() map[string]Metric {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.list)
}
