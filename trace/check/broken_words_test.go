package check_test

import (
	"testing"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
)

// brokenWords are runs that did what is right and say otherwise.
var brokenWords = []brokenRun{
	{"INV-09", "skips", "the name of another tool", func(t *testing.T, s *script) {
		change(t, s, 0, func(b *trace.ToolSkip) { b.Name = "g" })
	}},
	{"INV-11", "plain", "goes on for the cap", func(t *testing.T, s *script) {
		change(t, s, 0, func(b *trace.Decision) { b.Reason, b.ToolCalls = trace.ReasonMaxSteps, 0 })
	}},
	{"INV-11", "step limit at the top with a forced response", "ordered twice", func(t *testing.T, s *script) {
		i := s.index(t, trace.KindDecision, 1)
		s.insert(i, s.events[i].Body)
	}},
	{"INV-11", "step limit at the top with a forced response", "ordered again after it", func(t *testing.T, s *script) {
		i := s.index(t, trace.KindDecision, 2)
		s.insert(i+1, trace.Decision{Action: trace.ForceFinal, Reason: trace.ReasonMaxSteps}).insert(i+2, s.events[i].Body)
	}},
	{"INV-11", "step limit at the top with a forced response", "ordered while a call runs", func(t *testing.T, s *script) {
		i := s.index(t, trace.KindDecision, 1)
		order := s.events[i].Body
		s.remove(t, trace.KindDecision, 1).insert(s.index(t, trace.KindToolEnd, 0), order)
	}},
	{"INV-11", "plain", "another finish at the end", func(t *testing.T, s *script) {
		change(t, s, 0, func(b *trace.RunEnd) { b.FinishReason = llm.FinishLength })
	}},
	{"INV-14", "plain", "an answer of another attempt", func(t *testing.T, s *script) {
		s.events[s.index(t, trace.KindModelResponse, 1)].Attempt = 2
	}},
	{"INV-14", "retry", "a failure of another attempt", func(t *testing.T, s *script) {
		s.events[s.index(t, trace.KindModelError, 1)].Attempt = 1
	}},
	{"INV-14", "plain", "a decision of another step", func(t *testing.T, s *script) {
		s.events[s.index(t, trace.KindDecision, 1)].Step = 0
	}},
	{"INV-23", "plain", "a result of another tool", func(t *testing.T, s *script) {
		change(t, s, 0, func(b *trace.ToolEnd) { b.Result.Name = "f" })
	}},
	{"INV-23", "skips", "a result of another tool, of a call that was skipped", func(t *testing.T, s *script) {
		change(t, s, 0, func(b *trace.ToolSkip) { b.Result.Name = "g" })
	}},
	{"INV-23", "plain", "an error of a tool beside a natural end", func(t *testing.T, s *script) {
		change(t, s, 0, func(b *trace.RunEnd) { b.Error = &trace.Error{Type: "tool"} })
	}},
}

// cleanWords are runs that say less than they might, or what is not known better.
var cleanWords = map[string]func() *script{
	"names of results": func() *script {
		s := begin("r1", declared).ask().turn(c1, c2)
		ok, no := good("c1"), bad("c2")
		ok.Name, no.Name = "f", "g"
		s.starts(c1).ends(ok).add(trace.ToolSkip{ToolCallID: "c2", Reason: "denied", Result: no}).results(ok, no).done()
		return s.ask().turn(text("a")).done().end(trace.ReasonEndTurn)
	},
	"a call without a name": func() *script {
		s := begin("r1", declared).ask().turn(call("c1", ""))
		no := bad("c1")
		no.Name = "unnamed"
		s.add(trace.ToolSkip{ToolCallID: "c1", Name: "unnamed", Reason: "unknown_tool", Result: no})
		s.history[1] = llm.Assistant(call("c1", "unnamed"))
		return s.results(no).done().ask().turn(text("a")).done().end(trace.ReasonEndTurn)
	},
	"attempts and steps that are not reported": func() *script {
		s := plain()
		for i := range s.events {
			switch s.events[i].Body.(type) {
			case trace.ModelResponse:
				s.events[i].Attempt = 0
			case trace.Decision:
				s.events[i].Step = trace.NoStep
			default:
			}
		}
		return s
	},
	"a first attempt that is not reported": func() *script {
		s := begin("r1", declared)
		s.step = 0
		s.add(trace.StepStart{}).request(0)
		s.try = 1
		return s.turn(text("a")).done().end(trace.ReasonEndTurn)
	},
	"no finish": func() *script {
		s := plain()
		b := s.events[len(s.events)-1].Body.(trace.RunEnd)
		b.FinishReason = ""
		s.events[len(s.events)-1].Body = b
		return s
	},
	"the finish of a response before one that failed": func() *script {
		s := begin("r1", declared).ask().turn(text("a"))
		e := s.runEnd(trace.ReasonMiddleware)
		e.FinishReason, e.Error = llm.FinishToolCalls, &trace.Error{Type: "policy"}
		return s.decide(trace.Stop, trace.ReasonMiddleware, 0).done().add(e)
	},
	"a final answer after a tool that is not waited for": func() *script {
		s := begin("r1", trace.Options{{Name: "max_steps", Value: "1"}}).ask().turn(c1).starts(c1).add(trace.Abandoned{ToolCallID: "c1"})
		s.results(bad("c1")).decide(trace.ForceFinal, trace.ReasonMaxSteps, 0).done()
		s.step++
		s.add(trace.StepStart{}).add(trace.ModelConfig{}).request(1).reply(llm.Assistant(text("so")))
		return s.decide(trace.Stop, trace.ReasonForced, 0).done().end(trace.ReasonForced)
	},
	"an end hook fails after a tool did": func() *script {
		s := begin("r1", declared).round(c1, bad("c1")).decide(trace.Stop, trace.ReasonMiddleware, 0).done()
		e := s.runEnd(trace.ReasonMiddleware)
		e.Error = &trace.Error{Type: "panic"}
		return s.add(e)
	},
}
