package check_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
)

// broken are runs in which one thing is wrong: the clean run of that name, with
// one change. Each is reported as this invariant and as no other.
var broken = slices.Concat(brokenRules, brokenFraming, brokenRecords, brokenWords)

// brokenRun is one of them.
type brokenRun struct {
	id, clean, what string
	change          func(t *testing.T, s *script)
}

// brokenRules break the rule itself.
var brokenRules = []brokenRun{
	{"INV-01", "plain", "a result is dropped", func(t *testing.T, s *script) {
		request(t, s, 1, func(m []llm.Message) { m[1] = llm.ToolResults(good("c1"), good("c3")) })
	}},
	{"INV-01", "plain", "a result is doubled", func(t *testing.T, s *script) {
		request(t, s, 1, func(m []llm.Message) { m[1] = llm.ToolResults(good("c1"), good("c2"), good("c2"), good("c3")) })
	}},
	{"INV-01", "plain", "a result comes again in a later turn", func(t *testing.T, s *script) {
		request(t, s, 2, func(m []llm.Message) { m[1] = llm.ToolResults(bad("c4"), good("c1")) })
	}},
	{"INV-01", "plain", "a result has no call", func(t *testing.T, s *script) {
		request(t, s, 2, func(m []llm.Message) { m[1] = llm.ToolResults(bad("c4"), good("zz")) })
	}},
	{"INV-01", "cap", "the run goes on without the turn", func(t *testing.T, s *script) {
		*s = *begin("r1", nil).round(c1, good("c1")).done()
		s.history = append(s.history[:1:1], llm.Assistant(text("no calls")))
		s.ask().turn(text("a")).done().end(trace.ReasonEndTurn)
	}},
	{"INV-01", "a policy calls in a conversation", "the run goes on with another call", func(t *testing.T, s *script) {
		request(t, s, 0, func(m []llm.Message) { m[5], m[6] = llm.Assistant(c2), llm.ToolResults(good("c2")) })
	}},
	{"INV-02", "plain", "a message lies between", func(t *testing.T, s *script) {
		change(t, s, 1, func(b *trace.ModelRequest) {
			b.NewMessages = []llm.Message{b.NewMessages[0], llm.ToolResults(good("c1"), good("c2")), llm.User("hurry"), llm.ToolResults(good("c3"))}
		})
		change(t, s, 2, func(b *trace.ModelRequest) { b.PrefixMessages += 2 })
	}},
	{"INV-03", "plain", "results as they finished", func(t *testing.T, s *script) {
		request(t, s, 1, func(m []llm.Message) { m[1] = llm.ToolResults(good("c2"), good("c1"), good("c3")) })
	}},
	{"INV-03", "plain", "results in reverse are said once", func(t *testing.T, s *script) {
		request(t, s, 1, func(m []llm.Message) { m[1] = llm.ToolResults(good("c3"), good("c2"), good("c1")) })
	}},
	{"INV-04", "plain", "an id of an earlier turn", func(_ *testing.T, s *script) {
		d := call("c1", "g")
		*s = *begin("r1", declared).round(c1, good("c1")).done().round(d, good("c1")).done().round(d, good("c1")).done()
		s.ask().turn(text("a")).done().end(trace.ReasonEndTurn)
	}},
	{"INV-04", "plain", "an id twice in a response", func(_ *testing.T, s *script) {
		d := call("c1", "g")
		*s = *begin("r1", declared).ask().turn(c1, d)
		s.starts(c1).starts(d).ends(good("c1")).ends(good("c1")).results(good("c1"), good("c1")).done()
		s.ask().turn(text("a")).done().end(trace.ReasonEndTurn)
	}},
	{"INV-04", "plain", "an empty id", func(_ *testing.T, s *script) {
		d := call("", "f")
		*s = *begin("r1", declared).round(d, good("")).done().ask().turn(text("a")).done().end(trace.ReasonEndTurn)
	}},
	{"INV-04", "plain", "an id of the history", func(_ *testing.T, s *script) {
		*s = *begin("r1", declared)
		s.history = append(s.history, llm.Assistant(c1), llm.ToolResults(good("c1")), llm.User("again"))
		s.round(c1, good("c1")).done().ask().turn(text("a")).done().end(trace.ReasonEndTurn)
	}},
	{"INV-05", "rewrite", "without its event", func(t *testing.T, s *script) { s.remove(t, trace.KindHistoryRewrite, 0) }},
	{"INV-05", "plain", "more kept than there was", func(t *testing.T, s *script) {
		change(t, s, 1, func(b *trace.ModelRequest) { b.PrefixMessages++ })
	}},
	{"INV-05", "middleware substitutes a response in a conversation", "the answer is changed", func(t *testing.T, s *script) {
		request(t, s, 0, func(m []llm.Message) { m[5] = llm.Assistant(text("otherwise")) })
	}},
	{"INV-05", "usage by purpose", "more kept than a grader was sent", func(t *testing.T, s *script) {
		change(t, s, 2, func(b *trace.ModelRequest) { b.PrefixMessages = 2 })
	}},
	{"INV-07", "cancel", "a call without a result", func(t *testing.T, s *script) {
		s.remove(t, trace.KindToolSkip, 0)
		change(t, s, 0, func(b *trace.RunEnd) { b.AppendedMessages[1] = llm.ToolResults(good("c1"), bad("c2")) })
	}},
	{"INV-07", "client tools", "not reported pending", func(t *testing.T, s *script) {
		change(t, s, 0, func(b *trace.RunEnd) { b.Pending = b.Pending[:1] })
	}},
	{"INV-07", "client tools", "pending, but never asked for", func(t *testing.T, s *script) {
		change(t, s, 0, func(b *trace.RunEnd) { b.Pending = append(b.Pending, "zz") })
	}},
	{"INV-07", "client tools, the rest run", "pending, but answered", func(t *testing.T, s *script) {
		change(t, s, 0, func(b *trace.RunEnd) { b.Pending = append(b.Pending, "c1") })
	}},
	{"INV-07", "cap", "the turn is lost", func(t *testing.T, s *script) {
		change(t, s, 0, func(b *trace.RunEnd) { b.AppendedMessages = nil })
	}},
	{"INV-07", "a retry after a rewrite", "the turn after it is lost", func(_ *testing.T, s *script) {
		s.events, s.used = s.events[:len(s.events)-4], perTurn
		s.turn(c2).starts(c2).ends(good("c2"))
		s.history = s.history[:1]
		s.decide(trace.Stop, trace.ReasonMiddleware, 0).done().end(trace.ReasonMiddleware)
	}},
	{"INV-08", "plain", "started twice", func(t *testing.T, s *script) {
		s.insert(s.index(t, trace.KindToolStart, 0)+1, trace.ToolStart{ToolCallID: "c1", Name: "f", Arguments: c1.Arguments})
	}},
	{"INV-08", "skips", "skipped and started", func(t *testing.T, s *script) {
		i := s.index(t, trace.KindToolSkip, 0)
		s.insert(i+1, trace.ToolStart{ToolCallID: "c1", Name: "f", Arguments: c1.Arguments})
		s.insert(s.index(t, trace.KindToolEnd, 0), trace.ToolEnd{ToolCallID: "c1", Result: good("c1"), Outcome: trace.OutcomeOK})
		request(t, s, 1, func(m []llm.Message) { m[1].Parts[0] = good("c1") })
		for j := range s.events { // the result that counts is then the later one
			if b, ok := s.events[j].Body.(trace.ToolSkip); ok && b.ToolCallID == "c1" {
				b.Reason, b.Result = "duplicate", good("c1")
				s.events[j].Body = b
			}
		}
	}},
	{"INV-08", "plain", "started and skipped", func(t *testing.T, s *script) {
		s.insert(s.index(t, trace.KindToolStart, 0)+1, trace.ToolSkip{ToolCallID: "c1", Name: "f", Reason: "denied", Result: bad("c1")})
	}},
	{"INV-08", "plain", "a tool that is not declared", func(t *testing.T, s *script) {
		for i := range s.events {
			switch b := s.events[i].Body.(type) {
			case trace.RunStart:
				b.Tools = b.Tools[:1]
				s.events[i].Body = b
			case trace.ModelConfig:
				b.Tools = b.Tools[:1]
				s.events[i].Body = b
			}
		}
		s.events = slices.DeleteFunc(s.events, func(ev trace.Event) bool {
			b, ok := ev.Body.(trace.ToolStart)
			e, ended := ev.Body.(trace.ToolEnd)
			return ok && b.ToolCallID == "c4" || ended && e.ToolCallID == "c4"
		})
		s.insert(s.index(t, trace.KindStepEnd, 1), trace.ToolSkip{ToolCallID: "c4", Name: "g", Reason: "unknown_tool", Result: bad("c4")})
	}},
	{"INV-08", "client tools, the rest run", "a client tool is run", func(t *testing.T, s *script) {
		i := s.index(t, trace.KindToolStart, 0)
		s.insert(i, trace.ToolStart{ToolCallID: "q", Name: "ask", Arguments: call("q", "ask").Arguments}).insert(i+1, trace.ToolEnd{ToolCallID: "q", Outcome: trace.OutcomeOK, Result: good("q")})
		change(t, s, 0, func(b *trace.RunStart) { b.Options = trace.Options{{Name: "max_steps", Value: "3"}} })
	}},
	{"INV-09", "plain", "spaces in the arguments", func(t *testing.T, s *script) {
		change(t, s, 0, func(b *trace.ToolStart) { b.Arguments = `{"id": "c1"}` })
	}},
	{"INV-09", "plain", "another tool", func(t *testing.T, s *script) {
		change(t, s, 0, func(b *trace.ToolStart) { b.Name = "g" })
	}},
	{"INV-09", "resolved arguments", "the first resolution", func(t *testing.T, s *script) {
		change(t, s, 0, func(b *trace.ToolStart) { b.Arguments = "{}" })
	}},
	{"INV-09", "plain", "a result of a call that was not run", func(t *testing.T, s *script) {
		s.remove(t, trace.KindToolStart, 1).remove(t, trace.KindToolEnd, 0)
	}},
	{"INV-09", "plain", "no tools are declared, and it is seen that another ran", func(t *testing.T, s *script) {
		change(t, s, 0, func(b *trace.RunStart) { b.Tools = nil })
		s.remove(t, trace.KindToolStart, 1).remove(t, trace.KindToolEnd, 0)
	}},
	{"INV-09", "skips", "no tools are declared, and it is seen that another was skipped", func(t *testing.T, s *script) {
		change(t, s, 0, func(b *trace.RunStart) { b.Tools = nil })
		s.remove(t, trace.KindToolStart, 0).remove(t, trace.KindToolEnd, 0)
	}},
	{"INV-09", "cap", "a result of the only call, which was not run", func(t *testing.T, s *script) {
		s.remove(t, trace.KindToolStart, 0).remove(t, trace.KindToolEnd, 0)
	}},
	{"INV-09", "resolved arguments", "for no cause", func(t *testing.T, s *script) {
		change(t, s, 1, func(b *trace.ToolArguments) { b.Reason = "" })
	}},
	{"INV-11", "plain", "ends though the turn has calls", func(t *testing.T, s *script) {
		change(t, s, 0, func(b *trace.Decision) { b.Action, b.Reason, b.ToolCalls = trace.End, trace.ReasonEndTurn, 0 })
		s.insert(s.index(t, trace.KindDecision, 0)+1, trace.Decision{Action: trace.Continue, Reason: trace.ReasonMiddleware})
	}},
	{"INV-11", "plain", "no decision", func(t *testing.T, s *script) { s.remove(t, trace.KindDecision, 0) }},
	{"INV-11", "plain", "no decision at the end", func(t *testing.T, s *script) {
		*s = *begin("r1", declared).ask().reply(llm.Assistant(text("a"))).done()
		s.decide(trace.Stop, trace.ReasonMiddleware, 0).end(trace.ReasonMiddleware)
	}},
	{"INV-11", "plain", "another number of calls", func(t *testing.T, s *script) {
		change(t, s, 0, func(b *trace.Decision) { b.ToolCalls = 2 })
	}},
	{"INV-11", "plain", "goes on without calls", func(t *testing.T, s *script) {
		change(t, s, 2, func(b *trace.Decision) { b.Action, b.Reason = trace.Continue, trace.ReasonToolCalls })
		s.insert(s.index(t, trace.KindStepEnd, 2), trace.Decision{Action: trace.Stop, Reason: trace.ReasonMiddleware})
		change(t, s, 0, func(b *trace.RunEnd) { b.StopReason = trace.ReasonMiddleware })
	}},
	{"INV-11", "plain", "goes on without calls and without a middleware", func(t *testing.T, s *script) {
		change(t, s, 2, func(b *trace.Decision) { b.Action, b.Reason = trace.Continue, trace.ReasonMiddleware })
		s.insert(s.index(t, trace.KindStepEnd, 2), trace.Decision{Action: trace.Stop, Reason: trace.ReasonMiddleware})
		change(t, s, 0, func(b *trace.RunEnd) { b.StopReason = trace.ReasonMiddleware })
	}},
	{"INV-11", "plain", "a step after the end", func(_ *testing.T, s *script) {
		*s = *begin("r1", declared).ask().turn(text("a")).done().ask().turn(text("b")).done().end(trace.ReasonEndTurn)
	}},
	{"INV-11", "plain", "a model call after the end", func(_ *testing.T, s *script) {
		*s = *begin("r1", declared).ask().turn(text("a")).request(1).turn(text("b")).done().end(trace.ReasonEndTurn)
	}},
	{"INV-11", "a budget that leaves nothing for a repair", "but one token", func(t *testing.T, s *script) {
		change(t, s, 0, func(b *trace.RunStart) { b.Options = trace.Options{{Name: "token_budget", Value: "16"}} })
	}},
	{"INV-11", "a budget that leaves nothing for a repair", "and is another cause", func(t *testing.T, s *script) {
		change(t, s, 0, func(b *trace.Decision) { b.Reason = trace.ReasonHandoff })
		change(t, s, 0, func(b *trace.RunEnd) { b.StopReason = trace.ReasonHandoff })
	}},
	{"INV-11", "cap", "another reason at the end", func(t *testing.T, s *script) {
		change(t, s, 0, func(b *trace.RunEnd) { b.StopReason = trace.ReasonEndTurn })
	}},
	{"INV-11", "cap", "an end without a decision", func(t *testing.T, s *script) { s.remove(t, trace.KindDecision, 1) }},
	{"INV-11", "step limit at the top with a forced response", "with tools", func(t *testing.T, s *script) {
		change(t, s, 0, func(b *trace.ModelConfig) { b.Tools = []llm.Tool{{Name: "f"}} })
	}},
	{"INV-11", "step limit at the top with a forced response", "and another", func(_ *testing.T, s *script) {
		s.events = s.events[:len(s.events)-3]
		s.decide(trace.Stop, trace.ReasonForced, 0).request(1).reply(llm.Assistant(text("b")))
		s.decide(trace.Stop, trace.ReasonForced, 0).done().end(trace.ReasonForced)
	}},
	{"INV-11", "a forced response with calls", "and a tool runs", func(t *testing.T, s *script) {
		i := s.index(t, trace.KindDecision, 2)
		s.insert(i+1, trace.ToolStart{ToolCallID: "c2", Name: "g", Arguments: c2.Arguments}).insert(i+2, trace.ToolEnd{ToolCallID: "c2", Outcome: trace.OutcomeOK, Result: good("c2")})
	}},
	{"INV-11", "plain", "the loop goes on for no cause", func(t *testing.T, s *script) {
		change(t, s, 0, func(b *trace.Decision) { b.Action, b.Reason = trace.ForceFinal, trace.ReasonToolCalls })
		s.insert(s.index(t, trace.KindDecision, 0)+1, trace.Decision{Action: trace.Continue, Reason: trace.ReasonMiddleware})
		s.events = s.events[:s.index(t, trace.KindStepEnd, 0)+1]
		s.events = append(s.events, trace.Event{Run: "r1", Step: trace.NoStep, Body: trace.Decision{Action: trace.Stop, Reason: trace.ReasonMiddleware}})
		s.events = append(s.events, trace.Event{Run: "r1", Step: trace.NoStep, Body: trace.RunEnd{StopReason: trace.ReasonMiddleware, Usage: perTurn, AppendedMessages: s.history[1:3]}})
	}},
	{"INV-11", "suspended", "for no cause", func(t *testing.T, s *script) {
		*s = *begin("r1", declared).ask().reply(llm.Assistant(text("a"))).decide(trace.Suspend, trace.ReasonEndTurn, 0).done().end(trace.ReasonEndTurn)
	}},
	{"INV-11", "a stop at the step limit at a paused response", "before the cap", func(t *testing.T, s *script) {
		change(t, s, 0, func(b *trace.RunStart) { b.Options[0].Value = "2" })
	}},
	{"INV-11", "a response that was continued too often", "with calls", func(t *testing.T, s *script) {
		*s = *begin("r1", declared).ask().reply(llm.Assistant(c1)).decide(trace.Stop, trace.ReasonContinuedResponse, 0).done()
		s.end(trace.ReasonContinuedResponse, "c1")
	}},
	{"INV-11", "a forced response that another call replaces", "and it is asked for again", func(_ *testing.T, s *script) {
		s.insert(len(s.events)-2, trace.ModelRequest{PrefixMessages: 1, NewMessages: s.history[1:]})
		s.insert(len(s.events)-2, trace.ModelResponse{Message: llm.Assistant(text("b"))})
		s.insert(len(s.events)-2, trace.Decision{Action: trace.Stop, Reason: trace.ReasonForced})
		s.history, s.sent = append(s.history, llm.Assistant(text("b"))), len(s.history)
		s.events[len(s.events)-1].Body = s.runEnd(trace.ReasonForced)
	}},
	{"INV-20", "guard of a row", "the run goes on", func(_ *testing.T, s *script) {
		o := with()
		o[3].Value = "absence"
		*s = *begin("r1", o).round(c2, good("c2")).done().round(c1, bad("c1")).done().round(c3, bad("c3")).done().ask().turn(text("a")).done().end(trace.ReasonEndTurn)
	}},
	{"INV-22", "plain", "the last part is left out", func(t *testing.T, s *script) {
		signed := llm.Text{Text: "x", Opaque: secret}
		*s = *begin("r1", declared).ask().turn(c1, signed).starts(c1).ends(good("c1"))
		s.history[1] = llm.Assistant(c1)
		s.results(good("c1")).done().ask().turn(text("a")).done().end(trace.ReasonEndTurn)
	}},
	{"INV-23", "cap", "a tool's error ends the run", func(_ *testing.T, s *script) {
		*s = *begin("r1", declared).round(c1, bad("c1")).decide(trace.Stop, trace.ReasonError, 0).done()
		e := s.runEnd(trace.ReasonError)
		e.Error = &trace.Error{Type: "tool", Message: "boom"}
		s.add(e)
	}},
	{"INV-13", "plain", "two ends", func(_ *testing.T, s *script) { s.end(trace.ReasonEndTurn) }},
	{"INV-14", "plain", "two starts", func(_ *testing.T, s *script) { s.insert(3, trace.RunStart{}) }},
	{"INV-15", "plain", "more than the cap", func(t *testing.T, s *script) {
		i := s.index(t, trace.KindToolStart, 2)
		s.events[i], s.events[i-1] = s.events[i-1], s.events[i]
		s.number(i - 1)
	}},
	{"INV-15", "plain", "less than the cap", func(t *testing.T, s *script) {
		*s = *begin("r1", declared).ask().turn(c1, c2, c3).starts(c1).ends(good("c1")).starts(c2).starts(c3).ends(good("c2")).ends(good("c3"))
		s.results(good("c1"), good("c2"), good("c3")).done().ask().turn(text("a")).done().end(trace.ReasonEndTurn)
	}},
	{"INV-15", "unbounded", "one after the other", func(_ *testing.T, s *script) {
		*s = *begin("r1", trace.Options{{Name: "concurrency", Value: "unbounded"}}).ask().turn(c1, c2, c3)
		s.starts(c1).ends(good("c1")).starts(c2).ends(good("c2")).starts(c3).ends(good("c3"))
		s.results(good("c1"), good("c2"), good("c3")).done().ask().turn(text("a")).done().end(trace.ReasonEndTurn)
	}},
	{"INV-15", "one at a time", "two at a time", func(t *testing.T, s *script) {
		i := s.index(t, trace.KindToolStart, 1)
		s.events[i], s.events[i-1] = s.events[i-1], s.events[i]
		s.number(i - 1)
	}},
	{"INV-17", "cancel", "a tool starts", func(t *testing.T, s *script) {
		i := s.index(t, trace.KindCanceled, 0)
		s.events[i], s.events[i-1] = s.events[i-1], s.events[i]
		s.number(i - 1)
	}},
	{"INV-17", "plain", "the model is called", func(t *testing.T, s *script) {
		s.insert(s.index(t, trace.KindModelRequest, 2), trace.Canceled{})
	}},
	{"INV-17", "cancel before the first step", "a step begins", func(t *testing.T, s *script) {
		s.insert(2, trace.StepStart{}).insert(3, trace.StepEnd{})
		s.events[2].Step, s.events[3].Step = 0, 0
	}},
	{"INV-17", "retry", "a retry", func(t *testing.T, s *script) {
		s.insert(s.index(t, trace.KindModelRetry, 1), trace.Canceled{})
		i := s.index(t, trace.KindModelRetry, 1)
		s.events, s.at = s.events[:i+1], time.Second
		s.decide(trace.Stop, trace.ReasonCancel, 0).done()
		s.add(trace.RunEnd{StopReason: trace.ReasonCancel, Usage: llm.Usage{InputTokens: 6}})
	}},
	{"INV-17", "cancel", "the run ends late", func(_ *testing.T, s *script) { s.events[len(s.events)-1].At = time.Nanosecond }},
	{"INV-17", "cancel within a model call", "the run ends late", func(_ *testing.T, s *script) { s.events[len(s.events)-1].At = time.Nanosecond }},
	{"INV-17", "cancel before the first step", "the run ends late", func(_ *testing.T, s *script) { s.events[len(s.events)-1].At = time.Nanosecond }},
	{"INV-17", "a tool that is not waited for", "the run ends late", func(_ *testing.T, s *script) { s.events[len(s.events)-1].At = time.Nanosecond }},
	{"INV-18", "plain", "a step is left out", func(t *testing.T, s *script) {
		change(t, s, 0, func(b *trace.RunEnd) { b.Usage = perTurn })
	}},
	{"INV-18", "plain", "cached tokens are left out", func(t *testing.T, s *script) {
		change(t, s, 0, func(b *trace.RunEnd) { b.Usage.CacheReadInputTokens = 0 })
	}},
	{"INV-18", "retry", "a failed attempt is left out", func(t *testing.T, s *script) {
		change(t, s, 0, func(b *trace.RunEnd) { b.Usage.InputTokens -= 3 })
	}},
	{"INV-18", "usage by purpose", "of another purpose", func(t *testing.T, s *script) {
		change(t, s, 0, func(b *trace.RunEnd) { b.UsageBy[trace.PurposeGrade] = llm.Usage{InputTokens: 1} })
	}},
	{"INV-18", "usage by purpose", "of the answer", func(t *testing.T, s *script) {
		change(t, s, 0, func(b *trace.RunEnd) { b.UsageBy[trace.PurposeAnswer] = llm.Usage{InputTokens: 1} })
	}},
	{"INV-18", "usage by purpose", "not distinguished", func(t *testing.T, s *script) {
		change(t, s, 0, func(b *trace.RunEnd) { b.UsageBy = nil })
	}},
	{"INV-19", "budget of one more", "spent", func(t *testing.T, s *script) {
		change(t, s, 0, func(b *trace.RunStart) { b.Options[0].Value = "15" })
	}},
	{"INV-19", "budget", "a forced response", func(t *testing.T, s *script) {
		*s = *begin("r1", trace.Options{{Name: "token_budget", Value: "15"}}).round(c1, good("c1")).done()
		s.decide(trace.ForceFinal, trace.ReasonBudget, 0).ask().turn(text("a")).done().end(trace.ReasonEndTurn)
	}},
	{"INV-19", "budget", "asked after its own stop", func(_ *testing.T, s *script) {
		*s = *begin("r1", trace.Options{{Name: "token_budget", Value: "15"}}).round(c1, good("c1"))
		s.decide(trace.Stop, trace.ReasonBudget, 0).request(1).turn(text("a")).done().end(trace.ReasonEndTurn)
	}},
	{"INV-20", "guard", "the run goes on", func(_ *testing.T, s *script) {
		*s = *begin("r1", declared).round(c1, bad("c1")).done().round(c3, bad("c3")).done().ask().turn(text("a")).done().end(trace.ReasonEndTurn)
	}},
	{"INV-20", "guard", "calls that never ran count", func(_ *testing.T, s *script) {
		*s = *begin("r1", declared).round(c1, bad("c1")).done().ask().turn(c3).skips(c3, "invalid_arguments").results(bad("c3")).done()
		s.ask().turn(text("a")).done().end(trace.ReasonEndTurn)
	}},
	{"INV-20", "guard", "after its own stop", func(_ *testing.T, s *script) {
		*s = *begin("r1", declared).round(c1, bad("c1")).done().round(c3, bad("c3"))
		s.decide(trace.Stop, trace.ReasonRunawayGuard, 0).done().ask().turn(text("a")).done().end(trace.ReasonEndTurn)
		s.events[len(s.events)-1].Body = s.runEnd(trace.ReasonEndTurn)
	}},
	{"INV-20", "guard", "asked after its own stop", func(_ *testing.T, s *script) {
		*s = *begin("r1", declared).round(c1, bad("c1")).done().round(c3, bad("c3"))
		s.decide(trace.Stop, trace.ReasonRunawayGuard, 0).request(1).turn(text("a")).done().end(trace.ReasonEndTurn)
	}},
	{"INV-11", "guard", "asked after the stop of a guard that is not declared", func(_ *testing.T, s *script) {
		*s = *begin("r1", nil).round(c1, bad("c1")).done().round(c3, bad("c3"))
		s.decide(trace.Stop, trace.ReasonRunawayGuard, 0).request(1).turn(text("a")).done().end(trace.ReasonEndTurn)
	}},
	{"INV-20", "guard", "too early", func(_ *testing.T, s *script) {
		*s = *begin("r1", declared).round(c1, bad("c1")).decide(trace.Stop, trace.ReasonRunawayGuard, 0).done().end(trace.ReasonRunawayGuard)
	}},
	{"INV-20", "guard", "too early, where a round is not repeated", func(_ *testing.T, s *script) {
		*s = *begin("r1", with(trace.Option{Name: "duplicate_round", Value: "skip"})).round(c1, bad("c1"))
		s.decide(trace.Stop, trace.ReasonRunawayGuard, 0).done().end(trace.ReasonRunawayGuard)
	}},
	{"INV-20", "guard", "a success does not reset", func(_ *testing.T, s *script) {
		*s = *begin("r1", declared).round(c1, bad("c1")).done().round(call("d", "f"), good("d")).done()
		s.round(c3, bad("c3")).decide(trace.Stop, trace.ReasonRunawayGuard, 0).done().end(trace.ReasonRunawayGuard)
	}},
	{"INV-21", "retry", "not retryable", func(t *testing.T, s *script) {
		change(t, s, 0, func(b *trace.ModelError) { b.Error.Retryable = false })
	}},
	{"INV-21", "retry", "partial", func(t *testing.T, s *script) {
		change(t, s, 1, func(b *trace.ModelError) { b.Partial = true })
	}},
	{"INV-21", "retry", "a piece had come", func(t *testing.T, s *script) {
		s.insert(s.index(t, trace.KindModelError, 0), trace.ModelDelta{Type: trace.DeltaText})
	}},
	{"INV-21", "retry", "waits too little", func(t *testing.T, s *script) {
		change(t, s, 0, func(b *trace.ModelRetry) { b.Wait = time.Second - 1 })
	}},
	{"INV-21", "retry", "does not wait", func(t *testing.T, s *script) {
		s.events[s.index(t, trace.KindModelRequest, 1)].At = time.Second - 1
	}},
	{"INV-21", "retry", "too often", func(t *testing.T, s *script) {
		change(t, s, 0, func(b *trace.RunStart) { b.Options[len(b.Options)-1].Value = "1" })
	}},
	{"INV-21", "retry", "without its event", func(t *testing.T, s *script) { s.remove(t, trace.KindModelRetry, 1) }},
	{"INV-21", "retry", "without its event, as a first attempt", func(t *testing.T, s *script) {
		s.remove(t, trace.KindModelRetry, 1)
		s.events[s.index(t, trace.KindModelRequest, 2)].Attempt = 1
	}},
	{"INV-21", "another call replaces a failed one", "but is asked for as the answer", func(t *testing.T, s *script) {
		*s = *begin("r1", declared).ask().attempt(1, trace.ModelError{Error: trace.Error{Type: "api"}}).request(1)
		s.turn(text("a")).done().end(trace.ReasonEndTurn)
	}},
	{"INV-21", "plain", "nothing had failed", func(t *testing.T, s *script) {
		s.insert(s.index(t, trace.KindModelRequest, 1), trace.ModelRetry{})
	}},
	{"INV-22", "plain", "a signature is changed", func(t *testing.T, s *script) {
		request(t, s, 1, func(m []llm.Message) { m[0].Parts[0] = llm.Reasoning{Text: "hm", Opaque: json.RawMessage(`{}`)} })
	}},
	{"INV-22", "plain", "reasoning is changed", func(t *testing.T, s *script) {
		request(t, s, 1, func(m []llm.Message) { m[0].Parts[0] = llm.Reasoning{Text: "hmm", Opaque: secret} })
	}},
	{"INV-22", "plain", "reasoning is left out", func(t *testing.T, s *script) {
		request(t, s, 1, func(m []llm.Message) { m[0].Parts = m[0].Parts[1:] })
	}},
	{"INV-22", "plain", "reasoning is moved", func(t *testing.T, s *script) {
		request(t, s, 1, func(m []llm.Message) {
			p := m[0].Parts
			m[0].Parts = []llm.Part{p[1], p[2], p[0], p[3], p[4]}
		})
	}},
	{"INV-22", "plain", "words are moved around reasoning", func(t *testing.T, s *script) {
		request(t, s, 1, func(m []llm.Message) {
			p := m[0].Parts
			m[0].Parts = []llm.Part{p[1], p[0], p[2], p[3], p[4]}
		})
	}},
	{"INV-22", "plain", "something is added", func(t *testing.T, s *script) {
		request(t, s, 1, func(m []llm.Message) { m[0].Parts = append(m[0].Parts, llm.Text{Text: "x", Opaque: secret}) })
	}},
	{"INV-22", "plain", "of the message", func(t *testing.T, s *script) {
		change(t, s, 0, func(b *trace.ModelResponse) { b.Message.Opaque = secret })
	}},
	{"INV-22", "plain", "at the end of the run", func(t *testing.T, s *script) {
		change(t, s, 2, func(b *trace.ModelResponse) { b.Message.Opaque = secret })
	}},
	{"INV-23", "plain", "the result is not marked", func(t *testing.T, s *script) {
		change(t, s, 3, func(b *trace.ToolEnd) { b.Result.IsError = false })
	}},
	{"INV-23", "plain", "the model gets no error", func(t *testing.T, s *script) {
		request(t, s, 2, func(m []llm.Message) { m[1] = llm.ToolResults(good("c4")) })
	}},
	{"INV-23", "plain", "the model gets another error", func(t *testing.T, s *script) {
		request(t, s, 2, func(m []llm.Message) {
			m[1] = llm.ToolResults(llm.ToolResult{ID: "c4", IsError: true, Content: []llm.Part{text("x")}})
		})
	}},
	{"INV-23", "plain", "the result of another call", func(t *testing.T, s *script) {
		change(t, s, 0, func(b *trace.ToolEnd) { b.Result.ID = "c3" })
	}},
	{"INV-23", "skips", "an unknown tool without an error", func(t *testing.T, s *script) {
		change(t, s, 1, func(b *trace.ToolSkip) { b.Result.IsError = false })
	}},
	{"INV-23", "cap", "the run fails", func(_ *testing.T, s *script) {
		*s = *begin("r1", declared).round(c1, bad("c1")).decide(trace.Stop, trace.ReasonError, 0).done()
		e := s.runEnd(trace.ReasonError)
		e.Error = &trace.Error{Type: "panic", Message: "boom"}
		s.add(e)
	}},
	{"INV-24", "plain", "a role", func(t *testing.T, s *script) { request(t, s, 0, func(m []llm.Message) { m[0].Role = "human" }) }},
	{"INV-24", "plain", "a schema", func(t *testing.T, s *script) {
		change(t, s, 0, func(b *trace.ModelConfig) { b.Tools[1].Parameters = json.RawMessage(`[]`) })
	}},
	{"INV-24", "plain", "a broken schema", func(t *testing.T, s *script) {
		change(t, s, 0, func(b *trace.ModelConfig) { b.Tools[1].Parameters = json.RawMessage(`{`) })
	}},
	{"INV-24", "plain", "a broken builtin tool", func(t *testing.T, s *script) {
		change(t, s, 0, func(b *trace.ModelConfig) { b.Tools[1].Builtin = json.RawMessage(`[]`) })
	}},
	{"INV-24", "plain", "two tools of a name", func(t *testing.T, s *script) {
		change(t, s, 0, func(b *trace.ModelConfig) { b.Tools = append(b.Tools, b.Tools[0]) })
	}},
	{"INV-24", "plain", "a tool without a name", func(t *testing.T, s *script) {
		change(t, s, 0, func(b *trace.ModelConfig) { b.Tools = append(b.Tools, llm.Tool{}) })
	}},
	{"INV-24", "plain", "a choice of a tool that is not there", func(t *testing.T, s *script) {
		change(t, s, 0, func(b *trace.ModelConfig) { b.ToolChoice = llm.ToolChoice{Mode: llm.ChooseTool, Name: "h"} })
	}},
	{"INV-24", "no tools", "a call is required", func(_ *testing.T, s *script) {
		s.insert(2, trace.ModelConfig{ToolChoice: llm.ToolChoice{Mode: llm.ChooseRequired}})
	}},
	{"INV-24", "plain", "an output schema", func(t *testing.T, s *script) {
		change(t, s, 0, func(b *trace.ModelConfig) { b.Settings.OutputSchema = json.RawMessage(`1`) })
	}},
	{"INV-24", "plain", "an extra member", func(t *testing.T, s *script) {
		change(t, s, 0, func(b *trace.ModelConfig) { b.Extra = map[string]json.RawMessage{"a": []byte("x"), "b": []byte("y")} })
	}},
	{"INV-24", "malformed call", "an empty turn is sent", func(_ *testing.T, s *script) {
		*s = *begin("r1", declared).ask().reply(llm.Assistant()).decide(trace.Continue, trace.ReasonContinuedResponse, 0).done()
		s.ask().turn(text("a")).done().end(trace.ReasonEndTurn)
	}},
	{"INV-25", "cap", "a step beyond", func(_ *testing.T, s *script) {
		*s = *begin("r1", trace.Options{{Name: "max_steps", Value: "1"}}).round(c1, good("c1")).done().ask().turn(text("a")).done().end(trace.ReasonEndTurn)
	}},
	{"INV-25", "cap", "a step beyond its own stop", func(_ *testing.T, s *script) {
		*s = *begin("r1", trace.Options{{Name: "max_steps", Value: "1"}}).round(c1, good("c1")).decide(trace.Stop, trace.ReasonMaxSteps, 0).done()
		s.ask().turn(text("a")).done().end(trace.ReasonEndTurn)
	}},
	{"INV-25", "stop condition", "in a step without tools", func(_ *testing.T, s *script) {
		*s = *begin("r1", declared).ask().reply(llm.Assistant(text("a"))).decide(trace.Stop, trace.ReasonStopCondition, 0).done().end(trace.ReasonStopCondition)
	}},
	{"INV-25", "stop condition", "before the results", func(_ *testing.T, s *script) {
		*s = *begin("r1", declared).ask().turn(c1, c2).starts(c1).starts(c2).ends(good("c1")).decide(trace.Stop, trace.ReasonStopCondition, 0).ends(good("c2"))
		s.results(good("c1"), good("c2")).done().end(trace.ReasonStopCondition)
	}},
	{"INV-25", "stop condition", "none holds", func(_ *testing.T, s *script) {
		*s = *stopping("step_count:2,has_tool_call:g,total_tokens:16,never").round(c1, good("c1"))
		s.decide(trace.Stop, trace.ReasonStopCondition, 0).done().end(trace.ReasonStopCondition)
	}},
	{"INV-25", "stop condition", "never", func(_ *testing.T, s *script) {
		*s = *stopping("never").round(c1, good("c1")).decide(trace.Stop, trace.ReasonStopCondition, 0).done().end(trace.ReasonStopCondition)
	}},
	{"INV-25", "stop condition", "enough steps", func(_ *testing.T, s *script) { *s = *continuedRun("step_count:9,step_count:1") }},
	{"INV-25", "stop condition", "the tool was called", func(_ *testing.T, s *script) { *s = *continuedRun("custom,has_tool_call:f") }},
	{"INV-25", "stop condition", "enough tokens", func(_ *testing.T, s *script) { *s = *continuedRun("total_tokens:15,cost:9") }},
	{"INV-25", "stop condition", "twice", func(_ *testing.T, s *script) {
		*s = *begin("r1", declared).round(c1, good("c1")).decide(trace.Stop, trace.ReasonStopCondition, 0).decide(trace.Stop, trace.ReasonStopCondition, 0).done().end(trace.ReasonStopCondition)
	}},
}

// continuedRun is a run that continues after its first step.
func continuedRun(when string) *script {
	return stopping(when).round(c1, good("c1")).done().ask().turn(text("a")).done().end(trace.ReasonEndTurn)
}

// request changes the new messages of the n-th request, on copies.
func request(t *testing.T, s *script, n int, f func([]llm.Message)) {
	t.Helper()
	change(t, s, n, func(b *trace.ModelRequest) {
		b.NewMessages = slices.Clone(b.NewMessages)
		for i := range b.NewMessages {
			b.NewMessages[i].Parts = slices.Clone(b.NewMessages[i].Parts)
		}
		f(b.NewMessages)
	})
}

func TestBrokenRuns(t *testing.T) {
	for _, b := range broken {
		t.Run(b.id+" "+b.clean+": "+b.what, func(t *testing.T) {
			s := clean[b.clean]()
			b.change(t, s)
			wantOne(t, s.check(), b.id)
		})
	}
}
