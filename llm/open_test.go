package llm

import (
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// Of many calls the same is found as by looking through all.
func TestManyCalls(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var a Accumulator
		index := rapid.IntRange(0, 5)
		id := rapid.SampledFrom([]string{"", "a", "b", "c"})
		name := rapid.SampledFrom([]string{"", "f", "g"})
		for range rapid.IntRange(fewCalls, 5*fewCalls).Draw(t, "events") {
			at, called := index.Draw(t, "index"), id.Draw(t, "id")
			for _, last := range []bool{false, true} {
				if got, want := a.find(at, called, last), a.scan(at, called, last); got != want {
					t.Fatalf("%d, %q, %t of %+v is %+v, want %+v", at, called, last, a.calls, got, want)
				}
			}
			if at != 0 && a.nameless(at) != a.scanNameless(at) {
				t.Fatalf("%d without a name of %+v is %+v", at, a.calls, a.nameless(at))
			}
			switch rapid.IntRange(0, 4).Draw(t, "event") {
			case 0:
				a.Add(ToolCallEnd{Index: at, ID: called})
			case 1:
				a.Add(PartDone{ToolCall{ID: called}})
			default:
				a.Add(ToolCallStart{Index: at, ID: called, Name: name.Draw(t, "name")})
			}
		}
	})
}

// BenchmarkManyCalls opens calls and ends them from the first to the last; the time of one
// does not grow with their number.
func BenchmarkManyCalls(b *testing.B) {
	for _, n := range []int{8, 100, 10000} {
		b.Run("N="+strconv.Itoa(n), func(b *testing.B) {
			for b.Loop() {
				var a Accumulator
				for i := range n {
					a.Add(ToolCallStart{Index: 1, Name: "f"})
					a.Add(ToolCallStart{Index: i + 2, ID: "c"})
				}
				for range n {
					a.Add(ToolCallEnd{})
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/call")
		})
	}
}
