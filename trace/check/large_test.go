package check_test

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
	"github.com/looptape/looptape/trace/check"
)

// ids are n ids, all different or all the same.
func ids(n int, same bool) []string {
	out := make([]string, n)
	for i := range out {
		if !same {
			out[i] = strconv.Itoa(i)
		}
	}
	return out
}

func callsOf(ids []string) llm.Message {
	m := llm.Assistant()
	for _, id := range ids {
		m.Parts = append(m.Parts, llm.ToolCall{ID: id, Name: "f", Arguments: "{}"})
	}
	return m
}

func resultsOf(ids []string) llm.Message {
	m := llm.ToolResults()
	for _, id := range ids {
		m.Parts = append(m.Parts, llm.ToolResult{ID: id})
	}
	return m
}

func reversed(ids []string) []string {
	out := slices.Clone(ids)
	slices.Reverse(out)
	return out
}

// large are runs that have much of one thing, in arbitrary order.
var large = map[string]func(n int) []trace.Event{
	"deltas of calls with one id": func(n int) []trace.Event {
		s := begin("r1", nil).ask()
		for _, what := range []string{trace.DeltaCall, trace.DeltaArguments, trace.DeltaCallEnd} {
			for range n / 3 {
				s.add(trace.ModelDelta{Type: what, ToolCallID: "c"})
			}
		}
		return s.reply(llm.Assistant(text("a"))).events
	},
	"deltas of many calls": func(n int) []trace.Event {
		s := begin("r1", nil).ask()
		for _, id := range ids(n, false) {
			s.add(trace.ModelDelta{Type: trace.DeltaCall, ToolCallID: id})
		}
		for _, id := range ids(n, false) {
			s.add(trace.ModelDelta{Type: trace.DeltaCallEnd, ToolCallID: id})
		}
		return s.reply(llm.Assistant(text("a"))).events
	},
	"calls of one id": func(n int) []trace.Event {
		s := begin("r1", nil).ask().reply(callsOf(ids(n, true)))
		for range n {
			s.add(trace.ToolStart{Name: "f", Arguments: "{}"})
		}
		for range n {
			s.add(trace.ToolEnd{Outcome: trace.OutcomeOK})
		}
		s.history = append(s.history, resultsOf(ids(n, true)))
		return s.done().ask().events
	},
	"calls of two ids": func(n int) []trace.Event {
		s := begin("r1", nil).ask()
		m := callsOf(append(slices.Repeat([]string{"a"}, n/2), slices.Repeat([]string{"b"}, n/2)...))
		s.reply(m).history = append(s.history, resultsOf(append(slices.Repeat([]string{"b"}, n/2), slices.Repeat([]string{"a"}, n/2)...)))
		return s.done().ask().events
	},
	"an echo in reverse": func(n int) []trace.Event {
		s := bare("r1").ask().reply(callsOf(ids(n, false)))
		s.history[1] = callsOf(reversed(ids(n, false)))
		return s.done().ask().events
	},
	"an echo of other calls": func(n int) []trace.Event {
		s := bare("r1").ask().reply(callsOf(ids(n, false)))
		s.history[1] = callsOf(reversed(ids(n+1, false))[:n])
		return s.done().ask().events
	},
	"results in reverse": func(n int) []trace.Event {
		s := bare("r1").ask().reply(callsOf(ids(n, false)))
		s.history = append(s.history, resultsOf(reversed(ids(n, false))))
		return s.done().ask().events
	},
	"late results in reverse": func(n int) []trace.Event {
		s := bare("r1").ask().reply(callsOf(ids(n, false)))
		s.history = append(s.history, llm.User("so?"), resultsOf(reversed(ids(n, false))))
		return s.done().ask().events
	},
	"results of calls that never ran": func(n int) []trace.Event {
		s := begin("r1", nil).ask().reply(callsOf(ids(n, false))).add(trace.Suspended{Pending: reversed(ids(n, false))})
		s.history = append(s.history, resultsOf(ids(n, false)))
		return s.done().ask().events
	},
	"calls without results after a cut": func(n int) []trace.Event {
		return rewritten([]llm.Message{llm.User("go"), callsOf(ids(n, false)), resultsOf(ids(n, false))}, 2, llm.User("so?")).events
	},
	"pending calls": func(n int) []trace.Event {
		s := begin("r1", nil).ask().reply(callsOf(ids(n, false))).decide(trace.Stop, trace.ReasonClientTools, 0).done()
		return s.end(trace.ReasonClientTools, reversed(ids(n, false))...).events
	},
	"calls that the provider ran": func(n int) []trace.Event {
		m := callsOf(ids(n, false))
		for i := range m.Parts {
			c := m.Parts[i].(llm.ToolCall)
			c.ProviderExecuted = true
			m.Parts[i] = c
		}
		m.Parts = append(m.Parts, resultsOf(ids(n, false)).Parts...)
		return bare("r1").ask().reply(m).done().ask().events
	},
	"tools that fail": func(n int) []trace.Event {
		s := begin("r1", declared).ask().reply(callsOf(ids(n, false)))
		for _, id := range ids(n, false) {
			s.add(trace.ToolSkip{ToolCallID: id, Name: id, Reason: "unknown_tool", Result: bad(id)})
		}
		return s.events
	},
	"steps with a tool each": func(n int) []trace.Event {
		s := begin("r1", trace.Options{{Name: "same_tool_error_stop", Value: "2"}})
		for _, id := range ids(n/4, false) {
			s.ask().reply(llm.Assistant(call(id, "tool"+id))).skips(call(id, "tool"+id), "unknown_tool").results(bad(id)).done()
		}
		return s.events
	},
	"responses for many purposes, without their deltas": func(n int) []trace.Event {
		s := begin("r1", nil)
		for _, id := range ids(n, false) {
			s.purpose(trace.Purpose(id), trace.ModelRequest{NewMessages: []llm.Message{llm.User("go")}})
		}
		for i, id := range ids(n, false) {
			s.purpose(trace.Purpose(id), trace.ModelResponse{Message: llm.Assistant(text("a"))})
			s.events[len(s.events)-1].Seq += i + 1
		}
		return s.events
	},
	"texts": func(n int) []trace.Event {
		m := llm.Assistant(slices.Repeat([]llm.Part{text("word ")}, n)...)
		return bare("r1").ask().reply(m).done().ask().events
	},
	"runs that end in reverse": func(n int) []trace.Event {
		var events []trace.Event
		for _, id := range ids(n, false) {
			events = append(events, trace.Event{Run: id, Step: trace.NoStep, Body: trace.RunStart{}})
		}
		for _, id := range reversed(ids(n, false)) {
			events = append(events, trace.Event{Run: id, Seq: 1, Step: trace.NoStep, Body: trace.RunEnd{}})
		}
		return events
	},
}

// TestLarge checks that sixteen times as much takes about as long as sixteen times
// a little, and not sixteen times as long.
func TestLarge(t *testing.T) {
	const n, times, most = 1_250, 16, 4
	for name, make := range large {
		t.Run(name, func(t *testing.T) {
			little, much := make(n), make(n*times)
			var a, b time.Duration
			for range 10 { // others may use the machine
				a, b = checked(little, times), checked(much, 1)
				if b <= most*a {
					return
				}
			}
			t.Errorf("%d times as much takes %v, and %d times a little %v: want %d times that at most", times, b, times, a, most)
		})
	}
}

// checked returns how long n checks of the events take.
func checked(events []trace.Event, times int) time.Duration {
	begun := time.Now() //nolint:forbidigo // only the ratio of two times counts
	for range times {
		c := check.New(nil)
		for _, ev := range events {
			c.Add(ev)
		}
		c.Done()
	}
	return time.Since(begun) //nolint:forbidigo // as above
}
