package bench_test

import (
	"context"
	"flag"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/bench/loops"
	"github.com/looptape/looptape/bench/work"
)

var slow = flag.Bool("slow", false, "also measure adk at 1,000 steps of 8 calls, which takes a minute per run")

// TestWork checks that each loop, in each variant, does the whole work: each call reaches the
// tool exactly once, and the run returns the final text.
func TestWork(t *testing.T) {
	each(func(name string, l loops.Loop, o loops.Options) {
		for _, k := range []int{1, 8} {
			t.Run(fmt.Sprintf("%s/stream=%t/K=%d", name, o.Stream, k), func(t *testing.T) {
				o.Dir = t.TempDir()
				check(t, l, work.New(12, k), o)
				check(t, l, work.New(1, k), o)
			})
		}
	})
}

// check runs the work twice, because a benchmark repeats it.
func check(tb testing.TB, l loops.Loop, w *work.Work, o loops.Options) {
	tb.Helper()
	var mu sync.Mutex
	var days []int
	o.OnCall = func(day int) {
		mu.Lock()
		days = append(days, day)
		mu.Unlock()
	}
	run, cleanup := prepare(tb, l, w, o)
	defer cleanup()
	for range 2 {
		days = nil
		if text, err := run(context.Background()); err != nil || text != work.Final {
			tb.Fatalf("%s returned %q, %v; want %q", l.Name, text, err, work.Final)
		}
		slices.Sort(days)
		want := make([]int, w.Calls())
		for i := range want {
			want[i] = i
		}
		if diff := cmp.Diff(want, days); diff != "" {
			tb.Fatalf("%s: the tool got these calls (-want +got):\n%s", l.Name, diff)
		}
	}
}

// BenchmarkStep measures the cost of a step in each loop and variant with non-streaming
// responses. The names are for benchstat: -col /loop, -row /tools,/sink,/N,/K.
func BenchmarkStep(b *testing.B) { measureAll(b, false) }

// BenchmarkStream measures the same work with streaming responses. The caller reads the run
// through the streaming API of each library, such as Run.Events.
func BenchmarkStream(b *testing.B) { measureAll(b, true) }

func measureAll(b *testing.B, stream bool) {
	for _, n := range []int{10, 100, 1000} {
		for _, k := range []int{1, 8} {
			each(func(name string, l loops.Loop, o loops.Options) {
				if o.Stream != stream {
					return
				}
				b.Run(fmt.Sprintf("%s/N=%d/K=%d", name, n, k), func(b *testing.B) {
					if l.Name == "adk" && n*k > 1000 && !*slow {
						b.Skip("a run takes about a minute: use -slow")
					}
					o.Dir = b.TempDir()
					measure(b, l, work.New(n, k), o)
				})
			})
		}
	}
}

func measure(b *testing.B, l loops.Loop, w *work.Work, o loops.Options) {
	if len(w.Steps) <= 100 { // longer runs take too long in some peers
		check(b, l, w, o)
	}
	run, cleanup := prepare(b, l, w, o)
	defer cleanup()
	ctx := context.Background()
	b.ReportAllocs()
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	cpu := processorTime()
	for b.Loop() {
		if text, err := run(ctx); err != nil || text != work.Final {
			b.Fatalf("%s returned %q, %v; want %q", l.Name, text, err, work.Final)
		}
	}
	steps := float64(b.N) * float64(len(w.Steps))
	elapsed := b.Elapsed()
	cpu = processorTime() - cpu
	runtime.ReadMemStats(&after)
	if cpu > 0 {
		b.ReportMetric(float64(cpu.Nanoseconds())/steps, "cpu-ns/step")
	}
	b.ReportMetric(float64(elapsed.Nanoseconds())/steps, "ns/step")
	b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/steps, "B/step")
	b.ReportMetric(float64(after.Mallocs-before.Mallocs)/steps, "allocs/step")
}

func prepare(tb testing.TB, l loops.Loop, w *work.Work, o loops.Options) (loops.Run, func()) {
	tb.Helper()
	run, cleanup, err := l.New(w, o)
	if err != nil {
		tb.Fatalf("%s: %v", l.Name, err)
	}
	return run, func() {
		if cleanup == nil {
			return
		}
		if err := cleanup(); err != nil {
			tb.Errorf("%s: %v", l.Name, err)
		}
	}
}

// each calls f for each loop in each variant.
func each(f func(name string, l loops.Loop, o loops.Options)) {
	for _, l := range loops.All() {
		for _, tools := range l.Tools {
			for _, sink := range l.Sinks {
				name := strings.Join([]string{"loop=" + l.Name, "tools=" + tools, "sink=" + sink}, "/")
				f(name, l, loops.Options{Typed: tools == "typed", Sink: sink})
				if l.Streams {
					f(name, l, loops.Options{Typed: tools == "typed", Sink: sink, Stream: true})
				}
			}
		}
	}
}
