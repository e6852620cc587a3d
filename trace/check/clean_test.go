package check_test

import (
	"encoding/json"
	"maps"
	"testing"
	"time"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
	"github.com/looptape/looptape/trace/check"
)

func with(more ...trace.Option) trace.Options {
	return append(append(trace.Options{}, declared...), more...)
}

// clean are runs that keep every invariant.
var clean = func() map[string]func() *script {
	all := maps.Clone(cleanRuns)
	maps.Copy(all, cleanStops)
	maps.Copy(all, cleanWords)
	return all
}()

var cleanRuns = map[string]func() *script{
	"plain": plain,
	"no tools": func() *script {
		return begin("r1", nil).ask().turn(text("hi")).done().end(trace.ReasonEndTurn)
	},
	"nothing declared and nothing decided": func() *script {
		s := bare("r1").ask().reply(llm.Assistant(c1))
		s.results(good("c1")).done()
		return s.ask().reply(llm.Assistant(text("a"))).done().end(trace.ReasonEndTurn)
	},
	"skips": func() *script {
		s := begin("r1", declared).ask().turn(c1, c2, call("x", "none"))
		s.skips(c1, "invalid_arguments").starts(c2).skips(call("x", "none"), "unknown_tool").ends(good("c2"))
		s.results(bad("c1"), good("c2"), bad("x")).done()
		return s.ask().turn(text("a")).done().end(trace.ReasonEndTurn)
	},
	"client tools": func() *script {
		s := begin("r1", declared).ask().reply(llm.Assistant(c1, call("q", "ask")))
		return s.decide(trace.Stop, trace.ReasonClientTools, 0).done().end(trace.ReasonClientTools, "c1", "q")
	},
	"client tools, the rest run": func() *script {
		s := begin("r1", declared).ask().turn(c1, call("q", "ask")).starts(c1).ends(good("c1")).results(good("c1"))
		return s.decide(trace.Stop, trace.ReasonClientTools, 0).done().end(trace.ReasonClientTools, "q")
	},
	"a client tool that is answered within the run": func() *script {
		s := begin("r1", declared).ask().turn(call("q", "ask")).results(good("q")).done()
		return s.ask().turn(text("a")).done().end(trace.ReasonEndTurn)
	},
	"a call that waits is answered within the run": func() *script {
		s := begin("r1", declared).ask().turn(c1).decide(trace.Suspend, trace.ReasonApproval, 0).add(trace.Suspended{Pending: []string{"c1"}})
		s.decide(trace.Continue, trace.ReasonApproval, 0).results(good("c1")).done()
		return s.ask().turn(text("a")).done().end(trace.ReasonEndTurn)
	},
	"retry": func() *script {
		s := begin("r1", with(trace.Option{Name: "retry_max", Value: "2"})).ask()
		for n := 1; n <= 2; n++ {
			u := llm.Usage{InputTokens: 3}
			s.used = s.used.Add(u)
			s.attempt(n, trace.ModelError{Error: trace.Error{Retryable: true, RetryAfter: time.Second}, Usage: u})
			s.attempt(n, trace.ModelRetry{Wait: time.Second})
			s.at += time.Second
			s.request(n + 1)
		}
		return s.turn(text("a")).done().end(trace.ReasonEndTurn)
	},
	"model failure": func() *script {
		s := begin("r1", declared).ask().attempt(1, trace.ModelError{Error: trace.Error{Type: "api", Status: 400}})
		return s.decide(trace.Stop, trace.ReasonError, 0).done().add(trace.RunEnd{StopReason: trace.ReasonError, Error: &trace.Error{Type: "api"}})
	},
	"continued response and end hook": func() *script {
		s := begin("r1", declared).ask().reply(llm.Assistant(text("a"))).decide(trace.Continue, trace.ReasonContinuedResponse, 0).done()
		s.ask().reply(llm.Assistant(text("b"))).decide(trace.Continue, trace.ReasonEndHook, 0).done()
		s.history = append(s.history, llm.User("more"))
		return s.ask().turn(text("c")).done().end(trace.ReasonEndTurn)
	},
	"malformed call": func() *script {
		s := begin("r1", declared).ask().reply(llm.Assistant())
		s.history = s.history[:1]
		return s.decide(trace.Stop, trace.ReasonMalformedCall, 0).done().end(trace.ReasonMalformedCall)
	},
	"suspended": func() *script {
		s := begin("r1", declared).ask().turn(c1, c2).starts(c1).ends(good("c1")).results(good("c1"))
		s.decide(trace.Suspend, trace.ReasonApproval, 0).add(trace.Suspended{Pending: []string{"c2"}})
		return s.done().end(trace.ReasonApproval, "c2")
	},
	"rewrite": func() *script {
		s := begin("r1", declared).round(c1, good("c1")).done().round(c2, good("c2")).done()
		s.history = append([]llm.Message{llm.User("a summary")}, s.history[3:]...)
		s.sent = 0
		s.add(trace.HistoryRewrite{Reason: "compaction"})
		return s.ask().turn(text("a")).done().end(trace.ReasonEndTurn)
	},
	"a failure after a rewrite": func() *script {
		s := begin("r1", declared).round(c1, good("c1")).done()
		s.history, s.sent = []llm.Message{llm.User("a summary")}, 0
		s.add(trace.HistoryRewrite{Reason: "compaction"}).ask().attempt(1, trace.ModelError{Error: trace.Error{Status: 400}})
		e := s.decide(trace.Stop, trace.ReasonError, 0).done().runEnd(trace.ReasonError)
		e.Error = &trace.Error{Type: "api"}
		return s.add(e)
	},
	"a retry after a rewrite": func() *script {
		s := begin("r1", declared).round(c1, good("c1")).done()
		s.history, s.sent = []llm.Message{llm.User("a summary")}, 0
		s.add(trace.HistoryRewrite{Reason: "compaction"}).ask().attempt(1, trace.ModelError{Error: trace.Error{Retryable: true}})
		return s.attempt(1, trace.ModelRetry{}).request(2).turn(text("a")).done().end(trace.ReasonEndTurn)
	},
	"rewrite that keeps a part": func() *script {
		s := begin("r1", declared).round(c1, good("c1")).done().round(c2, good("c2")).done()
		s.sent = 2
		s.history = append(s.history[:2:2], llm.ToolResults(good("c1")), llm.User("so?"))
		s.add(trace.HistoryRewrite{Reason: "middleware"})
		return s.ask().turn(text("a")).done().end(trace.ReasonEndTurn)
	},
	"resolved arguments": func() *script {
		s := begin("r1", declared).ask().turn(c1).add(trace.ToolArguments{ToolCallID: "c1", Arguments: "{}", Reason: "empty_object"})
		s.add(trace.ToolArguments{ToolCallID: "c1", Arguments: `{"a":1}`, Reason: "defaults"}).add(trace.ToolStart{ToolCallID: "c1", Name: "f", Arguments: `{"a":1}`})
		s.ends(good("c1")).results(good("c1")).done()
		return s.ask().turn(text("a")).done().end(trace.ReasonEndTurn)
	},
	"repaired while another runs": func() *script {
		s := begin("r1", declared).ask().turn(c1, c2).starts(c1).ends(good("c1"))
		s.purpose(trace.PurposeRepair, trace.ModelRequest{NewMessages: []llm.Message{llm.User("repair")}})
		s.purpose(trace.PurposeRepair, trace.ModelResponse{Message: llm.Assistant(text("{}"))})
		s.add(trace.ToolArguments{ToolCallID: "c2", Arguments: "{}", Reason: "repair"}).add(trace.ToolStart{ToolCallID: "c2", Name: "g", Arguments: "{}"})
		s.ends(good("c2")).results(good("c1"), good("c2")).done()
		return s.ask().turn(text("a")).done().end(trace.ReasonEndTurn)
	},
	"a retry in each step": func() *script {
		s := begin("r1", with(trace.Option{Name: "retry_max", Value: "1"}))
		for range 2 {
			s.ask().attempt(1, trace.ModelError{Error: trace.Error{Retryable: true}}).attempt(1, trace.ModelRetry{}).request(2)
			s.reply(llm.Assistant(text("a"))).decide(trace.Continue, trace.ReasonContinuedResponse, 0).done()
		}
		return s.ask().turn(text("a")).done().end(trace.ReasonEndTurn)
	},
	"no message but the system prompt": func() *script {
		s := begin("r1", trace.Options{{Name: "max_steps", Value: "1"}})
		s.history = nil
		s.round(c1, good("c1"))
		return s.decide(trace.Stop, trace.ReasonMaxSteps, 0).done().end(trace.ReasonMaxSteps)
	},
	"an error not from a tool": func() *script {
		s := begin("r1", declared).round(c1, good("c1")).decide(trace.Stop, trace.ReasonError, 0).done()
		e := s.runEnd(trace.ReasonError)
		e.Error = &trace.Error{Type: "panic"}
		return s.add(e)
	},
	"an error after a tool's": func() *script {
		s := begin("r1", declared).round(c1, bad("c1")).decide(trace.Stop, trace.ReasonError, 0).done()
		e := s.runEnd(trace.ReasonError)
		e.Error = &trace.Error{Type: "api"}
		return s.add(e)
	},
	"a response that was continued too often": func() *script {
		s := begin("r1", declared).ask().reply(llm.Assistant(text("a")))
		return s.decide(trace.Stop, trace.ReasonContinuedResponse, 0).done().end(trace.ReasonContinuedResponse)
	},
	"a call of a replaced response has a result": func() *script {
		s := begin("r1", declared).ask().turn(c1).starts(c1).ends(good("c1")).results(good("c1")).done()
		s.history = append(s.history, llm.Assistant(c2), llm.ToolResults(good("c2")))
		s.add(trace.HistoryRewrite{Reason: "middleware"})
		return s.ask().turn(text("a")).done().end(trace.ReasonEndTurn)
	},
	"middleware substitutes the response": func() *script {
		s := begin("r1", declared)
		s.step = 0
		m := llm.Assistant(text("a"))
		s.history = append(s.history, m)
		s.add(trace.StepStart{}).add(trace.ModelResponse{Message: m}).decide(trace.End, trace.ReasonEndTurn, 0)
		return s.done().end(trace.ReasonEndTurn)
	},
	"middleware substitutes a response in a conversation": func() *script {
		s := inConversation().instead(text("as before")).decide(trace.Continue, trace.ReasonContinuedResponse, 0).done()
		return s.ask().turn(text("a")).done().end(trace.ReasonEndTurn)
	},
	"a policy calls in a conversation": func() *script {
		s := inConversation().instead(c1).decide(trace.Continue, trace.ReasonToolCalls, 1).starts(c1).ends(good("c1")).results(good("c1")).done()
		return s.ask().turn(text("a")).done().end(trace.ReasonEndTurn)
	},
	"middleware substitutes a response in a conversation, and adds text": func() *script {
		s := inConversation().instead(text("as before")).decide(trace.Continue, trace.ReasonEndHook, 0).done()
		s.history = append(s.history, llm.Assistant(text("or rather")), llm.User("go on"))
		return s.ask().turn(text("a")).done().end(trace.ReasonEndTurn)
	},
	"middleware substitutes a response, adds text, and substitutes again": func() *script {
		s := begin("r1", declared).ask().reply(llm.Assistant(text("a"))).decide(trace.Continue, trace.ReasonEndHook, 0).done()
		s.history = append(s.history, llm.Assistant(text("or rather")), llm.User("go on"))
		s.step++
		s.add(trace.StepStart{}).instead(text("as before")).decide(trace.Continue, trace.ReasonContinuedResponse, 0).done()
		return s.ask().turn(text("b")).done().end(trace.ReasonEndTurn)
	},
	"middleware answers a conversation": func() *script {
		s := inConversation()
		return s.instead(text("as before")).decide(trace.End, trace.ReasonEndTurn, 0).done().end(trace.ReasonEndTurn)
	},
	"middleware substitutes two responses": func() *script {
		s := begin("r1", declared).round(c1, good("c1")).done()
		for _, m := range []llm.Message{llm.Assistant(), llm.Assistant(text("x"), c2)} {
			s.step++
			s.add(trace.StepStart{}).add(trace.ModelResponse{Message: m})
			if len(m.Parts) == 0 {
				s.decide(trace.Continue, trace.ReasonContinuedResponse, 0).done()
				continue
			}
			s.history = append(s.history, m)
			s.decide(trace.Continue, trace.ReasonToolCalls, 1).starts(c2).ends(good("c2")).results(good("c2")).done()
		}
		return s.ask().turn(text("a")).done().end(trace.ReasonEndTurn)
	},
	"middleware changes the response": func() *script {
		s := begin("r1", declared).ask().reply(llm.Assistant(c1, c2))
		s.history[1] = llm.Assistant(c2)
		s.add(trace.ModelResponse{Message: s.history[1]}).decide(trace.Continue, trace.ReasonToolCalls, 1)
		s.starts(c2).ends(good("c2")).results(good("c2")).done()
		return s.ask().turn(text("a")).done().end(trace.ReasonEndTurn)
	},
	"another call replaces a failed one": func() *script {
		s := begin("r1", declared).ask().attempt(1, trace.ModelError{Error: trace.Error{Type: "api", Status: 400}})
		s.purpose(trace.PurposeRepair, trace.ModelRequest{NewMessages: []llm.Message{llm.User("repair")}})
		s.purpose(trace.PurposeRepair, trace.ModelResponse{Message: llm.Assistant(c1)})
		s.instead(c1).decide(trace.Continue, trace.ReasonToolCalls, 1).starts(c1).ends(good("c1")).results(good("c1")).done()
		return s.ask().turn(text("a")).done().end(trace.ReasonEndTurn)
	},
	"middleware answers a call": func() *script {
		s := begin("r1", declared).ask().turn(c1).add(trace.ToolSkip{ToolCallID: "c1", Name: "f", Reason: "answered", Result: good("c1")})
		return s.results(good("c1")).done().ask().turn(text("a")).done().end(trace.ReasonEndTurn)
	},
	"deltas of a grader's response": func() *script {
		s := begin("r1", declared).ask().turn(text("a")).done()
		s.step = trace.NoStep
		s.purpose(trace.PurposeGrade, trace.ModelRequest{NewMessages: []llm.Message{llm.User("good?")}})
		s.purpose(trace.PurposeGrade, trace.ModelDelta{Type: trace.DeltaText, Text: "y"})
		return s.purpose(trace.PurposeGrade, trace.ModelResponse{Message: llm.Assistant(text("y"))}).end(trace.ReasonEndTurn)
	},
	"usage by purpose": func() *script {
		s := begin("r1", declared).ask().turn(text("a"))
		for range 2 {
			s.purpose(trace.PurposeGrade, trace.ModelRequest{NewMessages: []llm.Message{llm.User("good?")}})
			s.purpose(trace.PurposeGrade, trace.ModelResponse{Message: llm.Assistant(text("yes")), Usage: llm.Usage{InputTokens: 1}})
		}
		e := s.done().runEnd(trace.ReasonEndTurn)
		e.Usage.InputTokens += 2
		e.UsageBy = map[trace.Purpose]llm.Usage{trace.PurposeAnswer: perTurn, trace.PurposeGrade: {InputTokens: 2}}
		return s.add(e)
	},
	"a run that continues for a while after its last tool": func() *script {
		s := begin("r1", declared).round(c1, good("c1"))
		s.at++
		return s.decide(trace.Stop, trace.ReasonMiddleware, 0).done().end(trace.ReasonMiddleware)
	},
	"a tool that is not waited for": func() *script {
		s := begin("r1", declared).ask().turn(c1).starts(c1).add(trace.Canceled{}).add(trace.Abandoned{ToolCallID: "c1"})
		s.results(bad("c1")).decide(trace.Stop, trace.ReasonCancel, 0).done()
		return s.end(trace.ReasonCancel)
	},
	"failures without a flag": func() *script {
		s := begin("r1", trace.Options{{Name: "error_flag", Value: "none"}}).ask().turn(c1).starts(c1)
		r := good("c1")
		s.add(trace.ToolEnd{ToolCallID: "c1", Outcome: trace.OutcomeError, Result: r}).results(r).done()
		return s.ask().turn(text("a")).done().end(trace.ReasonEndTurn)
	},
	"calls that the provider ran": func() *script {
		p := llm.ToolCall{ID: "srv", Name: "search", Arguments: "{}", ProviderExecuted: true}
		s := begin("r1", declared).ask().turn(p, llm.ToolResult{ID: "srv"}, text("found")).done()
		return s.end(trace.ReasonEndTurn)
	},
	"unbounded": func() *script {
		s := begin("r1", trace.Options{{Name: "concurrency", Value: "unbounded"}}).ask().turn(c1, c2, c3)
		s.starts(c1).starts(c2).starts(c3).ends(good("c3")).ends(good("c1")).ends(good("c2")).results(good("c1"), good("c2"), good("c3")).done()
		return s.ask().turn(text("a")).done().end(trace.ReasonEndTurn)
	},
	"one at a time": func() *script {
		s := begin("r1", trace.Options{{Name: "concurrency", Value: "1"}}).ask().turn(c1, c2)
		s.starts(c1).ends(good("c1")).starts(c2).ends(good("c2")).results(good("c1"), good("c2")).done()
		return s.ask().turn(text("a")).done().end(trace.ReasonEndTurn)
	},
	"a history with calls": func() *script {
		s := begin("r1", declared)
		s.history = append(s.history, llm.Assistant(call("h1", "old")), llm.ToolResults(good("h1")), llm.Assistant(text("so")), llm.User("and?"))
		return s.round(c1, good("c1")).done().ask().turn(text("a")).done().end(trace.ReasonEndTurn)
	},
	"one message for each result": func() *script {
		s := begin("r1", declared).ask().turn(c1, c2).starts(c1).starts(c2).ends(good("c1")).ends(good("c2"))
		s.results(good("c1")).results(good("c2")).done()
		return s.ask().turn(text("a")).done().end(trace.ReasonEndTurn)
	},
	"words of a newer version": func() *script {
		s := begin("r1", declared).add(trace.Custom{Name: "x"}).add(trace.Unknown{Name: "y", Raw: json.RawMessage("{}")}).add(trace.Warning{Code: "z"})
		return s.ask().turn(text("a")).done().end(trace.ReasonEndTurn)
	},
}

// inConversation begins the first step of a run whose input already has messages.
func inConversation() *script {
	s := begin("r1", declared)
	s.history = append(s.history, llm.Assistant(call("h1", "f")), llm.ToolResults(good("h1")), llm.Assistant(text("so")), llm.User("and?"))
	s.step = 0
	return s.add(trace.StepStart{})
}

func TestCleanRuns(t *testing.T) {
	for name, make := range clean {
		t.Run(name, func(t *testing.T) { wantNone(t, make().check()) })
	}
}

func TestRunsInOneStream(t *testing.T) {
	a, b := plain(), plain()
	b.run = "r2"
	c := check.New(nil)
	for i := range a.events {
		c.Add(a.events[i])
		ev := b.events[i]
		ev.Run = "r2"
		c.Add(ev)
	}
	wantNone(t, c.Done())
}

func TestResumedRun(t *testing.T) {
	first := clean["suspended"]()
	resume := func(of string) *script {
		s := begin("r2", declared)
		s.add(trace.Resumed{Of: of}).starts(c2).ends(good("c2"))
		s.history = append(first.history[:3:3], llm.ToolResults(good("c2")))
		return s.add(trace.HistoryRewrite{Reason: "resume"}).ask().turn(text("a")).done().end(trace.ReasonEndTurn)
	}
	joined := &script{events: append(first.events, resume("r1").events...)}
	wantNone(t, joined.check())
	wantNone(t, resume("elsewhere").check())
	twice := resume("r1")
	twice.insert(twice.index(t, trace.KindToolStart, 0)+2, trace.ToolStart{ToolCallID: "c2", Name: "g", Arguments: c2.Arguments})
	wantOne(t, (&script{events: append(first.events, twice.events...)}).check(), "INV-08")
	answered := resume("r1") // by the caller, with the history as it was
	answered.remove(t, trace.KindToolStart, 0).remove(t, trace.KindToolEnd, 0).remove(t, trace.KindHistoryRewrite, 0)
	wantNone(t, (&script{events: append(first.events, answered.events...)}).check())
	other := resume("r1")
	change(t, other, 0, func(b *trace.ToolStart) { b.Arguments = "{}" })
	wantOne(t, (&script{events: append(first.events, other.events...)}).check(), "INV-09")
}
