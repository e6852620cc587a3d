package trace_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/trace"
)

func TestOptions(t *testing.T) {
	var none trace.Options
	one := none.With("a", "1")
	two := one.With("b", "")
	changed := two.With("a", "2")
	for _, c := range []struct {
		name      string
		got, want trace.Options
	}{
		{"none", none, nil},
		{"one", one, trace.Options{{"a", "1"}}},
		{"two", two, trace.Options{{"a", "1"}, {"b", ""}}},
		{"one of two changed", changed, trace.Options{{"b", ""}, {"a", "2"}}},
	} {
		if diff := cmp.Diff(c.want, c.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
	for _, c := range []struct {
		options trace.Options
		name    string
		value   string
		ok      bool
	}{
		{none, "a", "", false}, {one, "a", "1", true}, {two, "a", "1", true}, {two, "b", "", true}, {two, "c", "", false}, {changed, "a", "2", true},
	} {
		if value, ok := c.options.Lookup(c.name); value != c.value || ok != c.ok {
			t.Errorf("%v: %s is %q, %v, want %q, %v", c.options, c.name, value, ok, c.value, c.ok)
		}
	}
}

// A Memory has all events at any time, and what it gave away stays as it was.
func TestMemory(t *testing.T) {
	want := sample(2000)
	var m trace.Memory
	if got := m.Events(); len(got) != 0 {
		t.Errorf("new, it has %v", got)
	}
	before := []trace.Event{}
	for i, ev := range want {
		if err := m.Write(ev); err != nil {
			t.Fatal(err)
		}
		if n := i + 1; n == 1 || n == 16 || n == 17 || n == 300 || n == 301 || n == 2000 {
			got := m.Events()
			if diff := cmp.Diff(want[:n], got); diff != "" {
				t.Errorf("%d events (-want +got):\n%s", n, diff)
			}
			if diff := cmp.Diff(want[:len(before)], before); diff != "" {
				t.Errorf("%d events, after %d (-want +got):\n%s", len(before), n, diff)
			}
			before = append(got[:n:n], trace.Event{Seq: -1})[:n]
		}
	}
}

// The memory for kept events is their own size and less than two blocks, for any number of
// events.
func TestMemoryGrowth(t *testing.T) {
	events := sample(1200)[:10_000]
	allocs := testing.AllocsPerRun(5, func() {
		var m trace.Memory
		for _, ev := range events {
			_ = m.Write(ev)
		}
	})
	if allocs > 60 { // 16, 32, 64, 128, then one each 256, and the lists of them
		t.Errorf("10,000 events took %.0f allocations", allocs)
	}
}

// A Memory allocates a block when it is full, and joins its blocks once.
func TestMemoryCapacity(t *testing.T) {
	events := sample(40)
	allocations := func(writes, reads int) float64 {
		return testing.AllocsPerRun(5, func() {
			var m trace.Memory
			for _, ev := range events[:writes] {
				_ = m.Write(ev)
			}
			for range reads {
				m.Events()
			}
		})
	}
	for _, c := range []struct {
		name string
		got  float64
		want float64
	}{
		{"a first event", allocations(1, 0), 1},
		{"content of a first chunk", allocations(16, 0), 1},
		{"reading one chunk", allocations(16, 9), 1},
		{"reading several chunks", allocations(300, 1) - allocations(300, 0), 1},
		{"reading them again", allocations(300, 9) - allocations(300, 0), 1},
	} {
		if c.got != c.want {
			t.Errorf("%s: %v allocations, want %v", c.name, c.got, c.want)
		}
	}
}
