package check_test

import (
	"slices"
	"testing"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
)

// brokenFraming are runs whose events are not where they belong.
var brokenFraming = []brokenRun{
	{"INV-14", "plain", "a delta of another step", func(t *testing.T, s *script) {
		s.events[s.index(t, trace.KindModelDelta, 0)].Step = 1
		for i := s.index(t, trace.KindModelDelta, 0); i <= s.index(t, trace.KindStepEnd, 0); i++ {
			s.events[i].Step = 1
		}
		for i := s.index(t, trace.KindStepEnd, 0) + 1; i < len(s.events)-1; i++ {
			s.events[i].Step++
		}
	}},
	{"INV-13", "plain", "an event after the end", func(_ *testing.T, s *script) { s.add(trace.Warning{}).add(trace.Warning{}) }},
	{"INV-13", "plain", "no end", func(t *testing.T, s *script) { s.remove(t, trace.KindRunEnd, 0) }},
	{"INV-14", "plain", "no start", func(_ *testing.T, s *script) {
		*s = *begin("r1", nil).ask().turn(text("a")).done().end(trace.ReasonEndTurn)
		s.events = s.events[1:]
		s.number(0)
	}},
	{"INV-14", "plain", "a step does not start", func(t *testing.T, s *script) { s.remove(t, trace.KindStepStart, 1) }},
	{"INV-14", "plain", "a step does not end", func(t *testing.T, s *script) { s.remove(t, trace.KindStepEnd, 1) }},
	{"INV-14", "plain", "the last step does not end", func(t *testing.T, s *script) { s.remove(t, trace.KindStepEnd, 2) }},
	{"INV-14", "plain", "a step ends twice", func(t *testing.T, s *script) { s.insert(s.index(t, trace.KindStepEnd, 1)+1, trace.StepEnd{}) }},
	{"INV-14", "plain", "a step starts again", func(_ *testing.T, s *script) {
		*s = *begin("r1", nil).ask().turn(c1).starts(c1).ends(good("c1")).results(good("c1")).done()
		s.step--
		s.ask().turn(text("a")).done().end(trace.ReasonEndTurn)
	}},
	{"INV-14", "plain", "a step ends as another", func(t *testing.T, s *script) { s.events[s.index(t, trace.KindStepEnd, 1)].Step = 7 }},
	{"INV-14", "plain", "a turn of another step", func(t *testing.T, s *script) {
		s.events[s.index(t, trace.KindModelResponse, 2)].Step = 1
		s.events[s.index(t, trace.KindStepEnd, 2)].Step = 1
	}},
	{"INV-14", "plain", "a delta before the request", func(t *testing.T, s *script) {
		s.insert(s.index(t, trace.KindModelRequest, 0), trace.ModelDelta{Type: trace.DeltaText})
	}},
	{"INV-14", "plain", "a delta after the turn", func(t *testing.T, s *script) {
		s.insert(s.index(t, trace.KindDecision, 0), trace.ModelDelta{Type: trace.DeltaText})
	}},
	{"INV-14", "plain", "a call does not begin", func(t *testing.T, s *script) {
		s.remove(t, trace.KindModelDelta, 1).remove(t, trace.KindModelDelta, 1)
	}},
	{"INV-14", "plain", "a call begins twice", func(t *testing.T, s *script) {
		s.insert(s.index(t, trace.KindModelDelta, 2), trace.ModelDelta{Type: trace.DeltaCall, ToolCallID: "c1"})
	}},
	{"INV-14", "plain", "arguments after the call's end", func(t *testing.T, s *script) {
		s.insert(s.index(t, trace.KindModelResponse, 0), trace.ModelDelta{Type: trace.DeltaArguments, ToolCallID: "c1"})
	}},
	{"INV-14", "plain", "a turn that was not asked for", func(t *testing.T, s *script) {
		*s = *begin("r1", nil).add(trace.StepStart{})
		s.events[1].Step, s.step = 0, 0
		s.turn(text("a")).done().end(trace.ReasonEndTurn)
	}},
	{"INV-14", "plain", "a response is reported twice", func(t *testing.T, s *script) {
		i := s.index(t, trace.KindModelResponse, 0)
		b := s.events[i].Body.(trace.ModelResponse)
		b.Usage = llm.Usage{}
		s.insert(i+1, b)
	}},
	{"INV-14", "plain", "a response is reported twice, with its tokens", func(t *testing.T, s *script) {
		i := s.index(t, trace.KindModelResponse, 0)
		s.insert(i+1, s.events[i].Body)
	}},
	{"INV-14", "plain", "a response is reported again after the results", func(t *testing.T, s *script) {
		s.insert(s.index(t, trace.KindStepEnd, 0), s.events[s.index(t, trace.KindModelResponse, 0)].Body)
	}},
	{"INV-14", "usage by purpose", "a grader's response is reported twice", func(t *testing.T, s *script) {
		i := s.index(t, trace.KindModelResponse, 1)
		s.insert(i+1, s.events[i].Body)
	}},
	{"INV-14", "plain", "two requests in a row", func(t *testing.T, s *script) {
		s.insert(s.index(t, trace.KindModelRequest, 2)+1, trace.ModelRequest{PrefixMessages: 5})
	}},
	{"INV-14", "plain", "a step ends without its answer", func(_ *testing.T, s *script) {
		*s = *begin("r1", nil).ask().done().attempt(1, trace.ModelError{})
		i := len(s.events) - 1
		s.events[i].Purpose = trace.PurposeAnswer
		s.events = s.events[:i]
		s.add(trace.RunEnd{StopReason: trace.ReasonError})
	}},
	{"INV-14", "usage by purpose", "no answer of the judge", func(t *testing.T, s *script) {
		s.remove(t, trace.KindModelResponse, 2)
		change(t, s, 0, func(b *trace.RunEnd) {
			b.Usage.InputTokens--
			b.UsageBy = map[trace.Purpose]llm.Usage{trace.PurposeGrade: {InputTokens: 1}, trace.PurposeAnswer: perTurn}
		})
	}},
	{"INV-14", "plain", "a call that was not asked for", func(t *testing.T, s *script) {
		s.insert(s.index(t, trace.KindToolStart, 0), trace.ToolStart{ToolCallID: "zz", Name: "f"})
	}},
	{"INV-14", "plain", "a result before its start", func(t *testing.T, s *script) {
		s.remove(t, trace.KindToolStart, 3)
	}},
	{"INV-14", "plain", "a tool ends before its start, and others run", func(_ *testing.T, s *script) {
		*s = *begin("r1", declared).ask().turn(c1, c2, c3).ends(good("c1")).starts(c1).starts(c2).starts(c3).ends(good("c2")).ends(good("c3"))
		s.results(good("c1"), good("c2"), good("c3")).done().ask().turn(text("a")).done().end(trace.ReasonEndTurn)
	}},
	{"INV-14", "plain", "a step ends before its tool", func(t *testing.T, s *script) {
		i := s.index(t, trace.KindToolEnd, 3)
		s.events[i], s.events[i+1] = s.events[i+1], s.events[i]
		s.events = slices.Delete(s.events, i+1, i+2)
		s.number(i)
	}},
	{"INV-14", "skips", "skipped twice", func(t *testing.T, s *script) {
		i := s.index(t, trace.KindToolSkip, 0)
		s.insert(i, s.events[i].Body)
	}},
	{"INV-14", "skips", "a call that was skipped without a word", func(t *testing.T, s *script) { s.remove(t, trace.KindToolSkip, 0) }},
	{"INV-14", "cancel", "a call that was skipped without a word, at the end", func(t *testing.T, s *script) { s.remove(t, trace.KindToolSkip, 0) }},
	{"INV-14", "skips", "an unknown call is skipped", func(t *testing.T, s *script) {
		s.insert(s.index(t, trace.KindToolSkip, 0), trace.ToolSkip{ToolCallID: "zz"})
	}},
	{"INV-14", "resolved arguments", "after the start", func(t *testing.T, s *script) {
		s.insert(s.index(t, trace.KindToolEnd, 0), trace.ToolArguments{ToolCallID: "c1"})
	}},
	{"INV-14", "a tool that is not waited for", "of an unknown call", func(t *testing.T, s *script) {
		s.insert(s.index(t, trace.KindAbandoned, 0), trace.Abandoned{ToolCallID: "zz"})
	}},
}
