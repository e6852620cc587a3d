package evals_test

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/looptape/looptape/evals"
)

// It holds what the map held, in the order of the names, also through JSON, which is that of
// the map.
func TestByName(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := []string{"", "a", "b<", "c", "é", "\u2028"}
		want := rapid.MapOf(rapid.SampledFrom(names), rapid.IntRange(0, 2)).Draw(t, "map")
		got := evals.NewByName(want)
		for _, name := range names {
			value, ok := got.Get(name)
			if was, has := want[name]; ok != has || value != was || got.Has(name) != has || got.Of(name) != was {
				t.Errorf("%q is %d, %v; want %d, %v", name, value, ok, was, has)
			}
		}
		if diff := cmp.Diff(want, maps.Collect(got.All())); diff != "" {
			t.Errorf("values (-want +got):\n%s", diff)
		}
		if !slices.IsSorted(namesOf(got)) {
			t.Errorf("not sorted: %v", got)
		}
		text := must(json.Marshal(got))(t)
		if diff := cmp.Diff(string(must(json.Marshal(want))(t)), string(text)); diff != "" {
			t.Errorf("JSON (-want +got):\n%s", diff)
		}
		var again evals.ByName[int]
		if err := json.Unmarshal(text, &again); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(got, again); diff != "" {
			t.Errorf("through JSON (-want +got):\n%s", diff)
		}
	})
}

// A value that is not an object of such values is not a ByName.
func TestByNameErrors(t *testing.T) {
	var b evals.ByName[int]
	if err := json.Unmarshal([]byte(`{"a":"1"}`), &b); err == nil {
		t.Errorf("got %v, want an error", b)
	}
	if _, err := json.Marshal(evals.NewByName(map[string]func(){"a": nil})); err == nil {
		t.Error("a function can be written, want an error")
	}
}

func namesOf(b evals.ByName[int]) (names []string) {
	for name := range b.All() {
		names = append(names, name)
	}
	return names
}
