package evals_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/looptape/looptape/evals"
)

// What is set and deleted comes to the same as in a map, in the order of the names, also
// through JSON, which is that of the map.
func TestByName(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := map[string]int{}
		var got evals.ByName[int]
		for range rapid.IntRange(0, 20).Draw(t, "n") {
			name := rapid.SampledFrom([]string{"", "a", "b<", "c", "é", "\u2028"}).Draw(t, "name")
			if rapid.IntRange(0, 2).Draw(t, "delete") == 0 {
				delete(want, name)
				got.Delete(name)
			} else {
				want[name] = rapid.Int().Draw(t, "value")
				got.Set(name, want[name])
			}
			value, ok := got.Get(name)
			if was, has := want[name]; ok != has || value != was || got.Has(name) != has || got.Of(name) != was {
				t.Fatalf("%q is %d, %v; want %d, %v", name, value, ok, was, has)
			}
		}
		if diff := cmp.Diff(want, maps.Collect(got.All())); diff != "" {
			t.Fatalf("values (-want +got):\n%s", diff)
		}
		if !slices.IsSortedFunc(got, func(a, b evals.Item[int]) int { return strings.Compare(a.Name, b.Name) }) {
			t.Fatalf("not sorted: %v", got)
		}
		text, plain := must(json.Marshal(got))(t), must(json.Marshal(want))(t)
		if diff := cmp.Diff(string(plain), string(text)); diff != "" {
			t.Fatalf("JSON (-want +got):\n%s", diff)
		}
		var again evals.ByName[int]
		if err := json.Unmarshal(text, &again); err != nil || len(again) != len(got) || cmp.Diff(maps.Collect(got.All()), maps.Collect(again.All())) != "" {
			t.Fatalf("through JSON %v, %v; want %v", again, err, got)
		}
	})
}

// What is no object of such values is no ByName.
func TestByNameErrors(t *testing.T) {
	var b evals.ByName[int]
	if err := json.Unmarshal([]byte(`{"a":"1"}`), &b); err == nil {
		t.Errorf("got %v, want an error", b)
	}
	if _, err := json.Marshal(evals.NewByName(map[string]func(){"a": nil})); err == nil {
		t.Error("a function can be written, want an error")
	}
}
