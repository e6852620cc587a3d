package check_test

import (
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
	"github.com/looptape/looptape/trace/check"
)

// TestManyCalls checks that many calls in a response give the same messages as few:
// numbers around those from which they are found by an index.
func TestManyCalls(t *testing.T) {
	for _, n := range []int{31, 32, 33, 34, 70} {
		for _, x := range manyCalls {
			t.Run(fmt.Sprint(x.name, " ", n), func(t *testing.T) {
				got := []string{}
				for _, v := range x.make(n).check() {
					got = append(got, v.Invariant)
				}
				if diff := cmp.Diff(x.want(n), slices.Compact(got)); diff != "" {
					t.Errorf("violations (-want +got):\n%s", diff)
				}
			})
		}
	}
}

func always(ids ...string) func(int) []string {
	return func(int) []string { return append([]string{}, ids...) }
}

// ran is a step whose n calls have run, each started in order and ended in
// reverse, and whose results are in order.
func ran(n int, change func(s *script)) *script {
	s := begin("r1", nil).ask().reply(callsOf(ids(n, false)))
	for _, id := range ids(n, false) {
		s.add(trace.ToolStart{ToolCallID: id, Name: "f", Arguments: "{}"})
	}
	for _, id := range reversed(ids(n, false)) {
		s.add(trace.ToolEnd{ToolCallID: id, Outcome: trace.OutcomeOK, Result: llm.ToolResult{ID: id}})
	}
	s.history = append(s.history, resultsOf(ids(n, false)))
	change(s)
	return s.done().ask().reply(llm.Assistant(text("a"))).done().end(trace.ReasonEndTurn)
}

// deltasOf returns a response of n calls, or of n times one, with these deltas.
func deltasOf(n int, same bool, deltas func(add func(what string, id string))) *script {
	s := bare("r1").ask()
	deltas(func(what string, id string) { s.add(trace.ModelDelta{Type: what, ToolCallID: id}) })
	s.reply(callsOf(ids(n, same))).history = append(s.history, resultsOf(ids(n, same)))
	return s.done().ask().reply(llm.Assistant(text("a"))).done().end(trace.ReasonEndTurn)
}

var manyCalls = []struct {
	name string
	make func(n int) *script
	want func(n int) []string
}{
	{"all is well", func(n int) *script { return ran(n, func(*script) {}) }, always()},
	{"the echo in reverse", func(n int) *script {
		return ran(n, func(s *script) {
			s.history[1], s.history[2] = callsOf(reversed(ids(n, false))), resultsOf(reversed(ids(n, false)))
		})
	}, always("INV-05")},
	{"the echo lacks the first", func(n int) *script {
		return ran(n, func(s *script) { s.history[1], s.history[2] = callsOf(ids(n, false)[1:]), resultsOf(ids(n, false)[1:]) })
	}, always("INV-01")},
	{"the echo lacks the last, in reverse", func(n int) *script {
		return ran(n, func(s *script) {
			s.history[1], s.history[2] = callsOf(reversed(ids(n-1, false))), resultsOf(reversed(ids(n-1, false)))
		})
	}, always("INV-01")},
	{"the echo has one too many", func(n int) *script {
		return ran(n, func(s *script) { s.history[1], s.history[2] = callsOf(ids(n+1, false)), resultsOf(ids(n+1, false)) })
	}, always("INV-01")},
	{"the echo has other arguments, in reverse", func(n int) *script {
		return ran(n, func(s *script) {
			s.history[1], s.history[2] = callsOf(reversed(ids(n, false))), resultsOf(reversed(ids(n, false)))
			s.history[1].Parts[n/2] = llm.ToolCall{ID: ids(n, false)[n-1-n/2], Name: "f", Arguments: `{"a":1}`}
		})
	}, always("INV-05")},
	{"an echo of texts between", func(n int) *script {
		return ran(n, func(s *script) {
			m := llm.Assistant(slices.Repeat([]llm.Part{text("")}, n)...)
			m.Parts = append(m.Parts, s.history[1].Parts...)
			s.history[1] = m
		})
	}, always()},
	{"results in reverse", func(n int) *script {
		return ran(n, func(s *script) { s.history[2] = resultsOf(reversed(ids(n, false))) })
	}, always("INV-03")},
	{"late results in reverse", func(n int) *script {
		return ran(n, func(s *script) {
			s.history = append(s.history[:2:2], llm.User("so?"), resultsOf(reversed(ids(n, false))))
		})
	}, always("INV-02")},
	{"late results, the first twice", func(n int) *script {
		return ran(n, func(s *script) {
			s.history = append(s.history[:2:2], llm.User("so?"), resultsOf(append(ids(n, false), "0")))
		})
	}, always("INV-02", "INV-01")},
	{"late results but for one", func(n int) *script {
		return ran(n, func(s *script) {
			s.history = append(s.history[:2:2], llm.User("so?"), resultsOf(ids(n, false)[1:]))
		})
	}, always("INV-02", "INV-01")},
	{"one of many has not run", func(n int) *script {
		s := ran(n, func(*script) {})
		s.events = slices.DeleteFunc(s.events, func(ev trace.Event) bool {
			b, ok := ev.Body.(trace.ToolStart)
			e, ended := ev.Body.(trace.ToolEnd)
			return ok && b.ToolCallID == "30" || ended && e.ToolCallID == "30"
		})
		return s.number(0)
	}, always("INV-09")},
	{"one that has not run waits", func(n int) *script {
		s := begin("r1", nil).ask().reply(callsOf(ids(n, false))).add(trace.Suspended{Pending: ids(n-1, false)})
		s.history = append(s.history, resultsOf(ids(n, false)))
		return s.done().ask().reply(llm.Assistant(text("a"))).done().end(trace.ReasonEndTurn)
	}, always("INV-09")},
	{"calls of one id", func(n int) *script {
		s := begin("r1", nil).ask().reply(callsOf(ids(n, true)))
		for range n {
			s.add(trace.ToolStart{Name: "f", Arguments: "{}"}).add(trace.ToolEnd{Outcome: trace.OutcomeOK})
		}
		s.history = append(s.history, resultsOf(ids(n, true)))
		return s.done().ask().reply(llm.Assistant(text("a"))).done().end(trace.ReasonEndTurn)
	}, always("INV-04")},
	{"calls of one id, side by side", func(n int) *script {
		s := begin("r1", nil).ask().reply(callsOf(ids(n, true)))
		for range n - 1 {
			s.add(trace.ToolStart{Name: "f", Arguments: "{}"})
		}
		s.add(trace.ToolEnd{Outcome: trace.OutcomeOK}).add(trace.ToolStart{Name: "f", Arguments: "{}"})
		for range n - 1 {
			s.add(trace.ToolEnd{Outcome: trace.OutcomeOK})
		}
		s.history = append(s.history, resultsOf(ids(n, true)))
		return s.done().ask().reply(llm.Assistant(text("a"))).done().end(trace.ReasonEndTurn)
	}, always("INV-04")},
	{"calls of one id, one too often", func(n int) *script {
		s := begin("r1", nil).ask().reply(callsOf(ids(n, true)))
		for range n + 1 {
			s.add(trace.ToolStart{Name: "f", Arguments: "{}"}).add(trace.ToolEnd{Outcome: trace.OutcomeOK})
		}
		s.history = append(s.history, resultsOf(ids(n, true)))
		return s.done().ask().reply(llm.Assistant(text("a"))).done().end(trace.ReasonEndTurn)
	}, always("INV-04", "INV-08")},
	{"calls of one id, an end too many", func(n int) *script {
		s := begin("r1", nil).ask().reply(callsOf(ids(n, true))).add(trace.ToolStart{Name: "f", Arguments: "{}"})
		s.add(trace.ToolEnd{Outcome: trace.OutcomeOK}).add(trace.ToolEnd{Outcome: trace.OutcomeOK})
		for range n - 1 {
			s.add(trace.ToolSkip{Name: "f", Reason: "denied"})
		}
		s.history = append(s.history, resultsOf(ids(n, true)))
		return s.done().ask().reply(llm.Assistant(text("a"))).done().end(trace.ReasonEndTurn)
	}, always("INV-04", "INV-14")},
	{"calls of two ids, another is reported", func(n int) *script {
		m := callsOf(append(ids(n-1, false), "0"))
		s := begin("r1", nil).ask().reply(m).add(trace.ToolStart{ToolCallID: "x", Name: "f", Arguments: "{}"})
		s.history = append(s.history, resultsOf(append(ids(n-1, false), "0")))
		return s.done().ask().reply(llm.Assistant(text("a"))).done().end(trace.ReasonEndTurn)
	}, always("INV-04", "INV-14")},
	{"pending calls", func(n int) *script {
		s := begin("r1", nil).ask().reply(callsOf(ids(n, false))).decide(trace.Stop, trace.ReasonClientTools, 0).done()
		return s.end(trace.ReasonClientTools, reversed(ids(n, false))...)
	}, always()},
	{"pending calls, one of them omitted", func(n int) *script {
		s := begin("r1", nil).ask().reply(callsOf(ids(n, false))).decide(trace.Stop, trace.ReasonClientTools, 0).done()
		s.history[1] = callsOf(ids(n, false)[1:])
		return s.end(trace.ReasonClientTools, ids(n, false)[1:]...)
	}, always("INV-07")},
	{"deltas of all", func(n int) *script {
		return deltasOf(n, false, func(add func(string, string)) {
			for _, what := range []string{trace.DeltaCall, trace.DeltaArguments, trace.DeltaCallEnd} {
				for _, id := range ids(n, false) {
					add(what, id)
				}
			}
		})
	}, always()},
	{"deltas of one after its end", func(n int) *script {
		return deltasOf(n, false, func(add func(string, string)) {
			for _, id := range ids(n, false) {
				add(trace.DeltaCall, id)
				add(trace.DeltaCallEnd, id)
			}
			add(trace.DeltaArguments, "0")
		})
	}, always("INV-14")},
	{"deltas of none", func(n int) *script {
		return deltasOf(n, false, func(add func(string, string)) {
			for _, id := range ids(n, false) {
				add(trace.DeltaCall, id)
			}
			add(trace.DeltaArguments, "x")
		})
	}, always("INV-14")},
	{"one begins twice", func(n int) *script {
		return deltasOf(n, false, func(add func(string, string)) {
			for _, id := range append(ids(n, false), "0") {
				add(trace.DeltaCall, id)
			}
		})
	}, always("INV-14")},
	{"deltas of calls with one id", func(n int) *script {
		return deltasOf(n, true, func(add func(string, string)) {
			for _, what := range []string{trace.DeltaCall, trace.DeltaArguments, trace.DeltaCallEnd} {
				for range n {
					add(what, "")
				}
			}
		})
	}, always("INV-04")},
	{"deltas of calls with one id, an end too many", func(n int) *script {
		return deltasOf(n, true, func(add func(string, string)) {
			for range n {
				add(trace.DeltaCall, "")
				add(trace.DeltaCallEnd, "")
			}
			add(trace.DeltaCallEnd, "")
		})
	}, always("INV-14", "INV-04")},
	{"tools that fail once", func(n int) *script { return failing(n, ids(n, false), []string{"x"}) }, always()},
	{"tools, one of which fails twice", func(n int) *script { return failing(n, ids(n, false), []string{"31"}) }, func(n int) []string {
		if n < 32 {
			return []string{} // unknown tool
		}
		return []string{"INV-20"}
	}},
	{"tools, the first of which fails twice", func(n int) *script { return failing(n, ids(n, false), []string{"0"}) }, always("INV-20")},
	{"a tool fails where others have not", func(n int) *script { return failing(n, []string{"x"}, []string{"x"}) }, always("INV-20")},
	{"calls that the provider ran", func(n int) *script {
		m := llm.Assistant()
		for _, id := range ids(n, false) {
			m.Parts = append(m.Parts, llm.ToolCall{ID: id, Name: "f", ProviderExecuted: true}, llm.ToolResult{ID: id})
		}
		return bare("r1").ask().reply(m).done().ask().reply(llm.Assistant(text("a"))).done().end(trace.ReasonEndTurn)
	}, always()},
	{"calls that the provider ran, and a result of none", func(n int) *script {
		m := llm.Assistant()
		for _, id := range ids(n, false) {
			m.Parts = append(m.Parts, llm.ToolCall{ID: id, Name: "f", ProviderExecuted: true}, llm.ToolResult{ID: id})
		}
		m.Parts = append(m.Parts, llm.ToolResult{ID: "x"})
		return bare("r1").ask().reply(m).done().ask().reply(llm.Assistant(text("a"))).done().end(trace.ReasonEndTurn)
	}, always("INV-24", "INV-01")},
}

// failing is a run in which these tools fail, then those, and which then continues.
func failing(n int, first, then []string) *script {
	s := begin("r1", trace.Options{{Name: "same_tool_error_stop", Value: "2"}})
	for round, names := range [][]string{first, then} {
		m, results := llm.Assistant(), llm.ToolResults()
		for i, name := range names {
			c := call(strconv.Itoa(round*n+i), name)
			m.Parts, results.Parts = append(m.Parts, c), append(results.Parts, bad(c.ID))
		}
		s.ask().turn(m.Parts...)
		for i := range m.Parts {
			s.skips(m.Parts[i].(llm.ToolCall), "unknown_tool")
		}
		s.history = append(s.history, results)
		s.done()
	}
	return s.ask().turn(text("a")).done().end(trace.ReasonEndTurn)
}

// TestCallsAfterTruncatedHistory checks how the calls of a response are distinguished after
// the history was truncated after them.
func TestCallsAfterTruncatedHistory(t *testing.T) {
	s := rewritten([]llm.Message{llm.User("go"), callsOf([]string{"a", "b", "a"}), resultsOf([]string{"a", "b", "a"})}, 2, resultsOf([]string{"a", "b"}))
	got := brief(s.check())
	want := []string{`INV-04: the id "a" is already the id of an earlier call of the run`, "INV-01: the request was sent without a result of the call number 3 of message 1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("violations (-want +got):\n%s", diff)
	}
	vs := check.Messages("r", []llm.Message{llm.User("go"), callsOf([]string{"x", "", ""}), resultsOf([]string{"x", ""}), llm.User("so?")})
	if got, want := vs[len(vs)-1].Message, "the call number 3 of message 1 has no result, and other messages follow"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
