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

// The room of a Memory begins with 16 events, and doubles.
func TestMemory(t *testing.T) {
	want := sample(40)
	var m trace.Memory
	rooms := []int{0}
	for _, ev := range want {
		if err := m.Write(ev); err != nil {
			t.Fatal(err)
		}
		if room := cap(m.Events); room != rooms[len(rooms)-1] {
			rooms = append(rooms, room)
		}
	}
	if diff := cmp.Diff(want, m.Events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	for i, room := range rooms[1:] {
		if least := max(16, 2*rooms[i]); room < least {
			t.Errorf("the room grew through %v, want at least %d after %d", rooms, least, rooms[i])
		}
	}
}
