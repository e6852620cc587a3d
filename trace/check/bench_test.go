package check_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
	"github.com/looptape/looptape/trace/check"
)

// long is a run of many steps of some calls, without its end.
func long(steps, calls int) []trace.Event {
	s := begin("r1", trace.Options{{Name: "concurrency", Value: "8"}, {Name: "same_tool_error_stop", Value: "3"}})
	for n := range steps {
		var parts []llm.Part
		var results []llm.ToolResult
		for k := range calls {
			c := call(fmt.Sprintf("call_%06d_%02d", n, k), "f")
			parts, results = append(parts, c), append(results, good(c.ID))
		}
		s.ask().turn(parts...)
		for _, p := range parts {
			s.starts(p.(llm.ToolCall))
		}
		for _, r := range results {
			s.ends(r)
		}
		s.results(results...).done()
	}
	return s.events
}

func BenchmarkAdd(b *testing.B) {
	for _, k := range []int{1, 8} {
		events := long(1000, k)
		b.Run(fmt.Sprintf("calls=%d", k), func(b *testing.B) {
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				c := check.New(nil)
				for i := range events {
					c.Add(events[i])
				}
				n += len(events)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/event")
		})
	}
}

// TestMemory checks that what is kept of a run grows by the ids of its calls
// alone.
func TestMemory(t *testing.T) {
	const steps = 20_000
	events := long(steps, 1)
	c := check.New(nil)
	before := heap()
	for i := range events {
		c.Add(events[i])
	}
	if per := float64(heap()-before) / steps; per > 120 {
		t.Errorf("%.0f bytes are kept of each call, want 120 at most", per)
	}
	runtime.KeepAlive(events)
	wantOne(t, c.Done(), "INV-13")
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
