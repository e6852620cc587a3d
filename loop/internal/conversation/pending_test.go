package conversation

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/looptape/looptape/llm"
)

// A result is assigned to the same call with few and with many calls.
func TestPendingResult(t *testing.T) {
	names := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
	rapid.Check(t, func(t *rapid.T) {
		var w pending
		for range rapid.IntRange(1, 3).Draw(t, "responses") {
			n := rapid.SampledFrom([]int{1, 5, few, few + 1, 2 * few}).Draw(t, "calls")
			ids := rapid.SliceOfN(rapid.SampledFrom(names), n, n).Draw(t, "ids")
			for _, id := range ids {
				w.call(id)
			}
			left := slices.Clone(ids) // empty where the call has its result
			for n > 0 {
				id := rapid.SampledFrom(names).Draw(t, "result")
				want := slices.Index(left, id)
				if want >= 0 {
					left[want] = ""
					n--
				}
				if got := w.result(id); got != want {
					t.Fatalf("the result of %s belongs to call %d, want %d", id, got, want)
				}
				first := slices.IndexFunc(left, func(id string) bool { return id != "" })
				if w.left != n || n > 0 && w.first != first {
					t.Fatalf("%d calls are open from %d on, want %d from %d on", w.left, w.first, n, first)
				}
			}
		}
	})
}

// responseOf is a history of one response with n calls and their results.
func responseOf(n int, id func(i int) string, result func(i int) int) []llm.Message {
	calls, results := llm.Assistant(), llm.ToolResults()
	for i := range n {
		calls.Parts = append(calls.Parts, llm.ToolCall{ID: id(i), Name: "a", Arguments: "{}"})
		results.Parts = append(results.Parts, llm.ToolResult{ID: id(result(i)), Name: "a"})
	}
	return []llm.Message{llm.User("go"), calls, results}
}

// TestLargeResponses checks that a response with sixteen times the calls takes about as long as
// sixteen times a few, and not sixteen times as long.
func TestLargeResponses(t *testing.T) {
	const n, times, most = 1_250, 16, 4
	each := func(i int) string { return fmt.Sprint("c", i) }
	one := func(int) string { return "c" }
	itself := func(i int) int { return i }
	for name, prepare := range map[string]func(n int) (check func()){
		"results in order": func(n int) func() { return repairing(responseOf(n, each, itself)) },
		"results in reverse": func(n int) func() {
			return repairing(responseOf(n, each, func(i int) int { return n - 1 - i }))
		},
		"calls of one id": func(n int) func() { return repairing(responseOf(n, one, itself)) },
		"calls that the provider executed, in a history": func(n int) func() {
			return repairing([]llm.Message{llm.User("go"), llm.Assistant(providers(n)...)})
		},
		"calls that the provider executed": func(n int) func() {
			parts := providers(n)
			return func() { RepairResponse(&llm.Response{Parts: slices.Clone(parts)}) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			little, much := prepare(n), prepare(n*times)
			var a, b time.Duration
			for range 10 { // others may use the machine
				if a, b = taken(little, times), taken(much, 1); b <= most*a {
					return
				}
			}
			t.Errorf("%d times as much takes %v, and %d times a little %v: want %d times that at most", times, b, times, a, most)
		})
	}
}

// repairing checks and repairs a history, as the start of a run does.
func repairing(messages []llm.Message) func() {
	return func() {
		if repairable, fatal := Check(messages, false); fatal != nil {
			panic(fatal.Text)
		} else if repairable != nil {
			ids := NewIDs(messages)
			Repair(messages, &ids)
		}
	}
}

// providers returns n calls that the provider executed, and then their results.
func providers(n int) (parts []llm.Part) {
	for i := range n {
		parts = append(parts, llm.ToolCall{ID: fmt.Sprint(i), Name: "search", Arguments: "{}", ProviderExecuted: true})
	}
	for i := range n {
		parts = append(parts, llm.ToolResult{ID: fmt.Sprint(i)})
	}
	return parts
}

func taken(f func(), times int) time.Duration {
	begun := time.Now() //nolint:forbidigo // only the ratio of two times counts
	for range times {
		f()
	}
	return time.Since(begun) //nolint:forbidigo // as above
}
