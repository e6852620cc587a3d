package check_test

import (
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
)

// stopping begins a run with stop conditions.
func stopping(when string) *script {
	return begin("r1", trace.Options{{Name: "stop_when", Value: when}})
}

// cleanStops are clean runs that are about what ends a run, or bounds it.
var cleanStops = map[string]func() *script{
	"cap": func() *script {
		s := begin("r1", trace.Options{{Name: "max_steps", Value: "1"}}).round(c1, good("c1"))
		return s.decide(trace.Stop, trace.ReasonMaxSteps, 0).done().end(trace.ReasonMaxSteps)
	},
	"a step limit of 0 makes one call": func() *script {
		s := begin("r1", trace.Options{{Name: "max_steps", Value: "0"}}).round(c1, good("c1"))
		return s.decide(trace.Stop, trace.ReasonMaxSteps, 0).done().end(trace.ReasonMaxSteps)
	},
	"step limit at the top with a forced response": func() *script {
		s := begin("r1", trace.Options{{Name: "max_steps", Value: "1"}}).round(c1, good("c1")).done()
		s.decide(trace.ForceFinal, trace.ReasonMaxSteps, 0)
		s.step++
		s.add(trace.StepStart{}).add(trace.ModelConfig{}).request(1).reply(llm.Assistant(text("so")))
		return s.decide(trace.Stop, trace.ReasonForced, 0).done().end(trace.ReasonForced)
	},
	"a forced response with calls": func() *script {
		s := begin("r1", trace.Options{{Name: "max_steps", Value: "1"}}).round(c1, good("c1")).done()
		s.decide(trace.ForceFinal, trace.ReasonMaxSteps, 0)
		s.step++
		s.add(trace.StepStart{}).add(trace.ModelConfig{Tools: []llm.Tool{{Name: "f"}}, ToolChoice: llm.ToolChoice{Mode: llm.ChooseNone}})
		s.request(1).reply(llm.Assistant(text("so"), c2))
		s.history[len(s.history)-1] = llm.Assistant(text("so"))
		return s.decide(trace.Stop, trace.ReasonForced, 0).done().end(trace.ReasonForced)
	},
	"guard": func() *script {
		s := begin("r1", declared).round(c1, bad("c1")).done().round(c3, bad("c3"))
		return s.decide(trace.Stop, trace.ReasonRunawayGuard, 0).done().end(trace.ReasonRunawayGuard)
	},
	"guard with a step between": func() *script {
		s := begin("r1", declared).round(c1, bad("c1")).done().round(c2, good("c2")).done().round(c3, bad("c3"))
		return s.decide(trace.Stop, trace.ReasonRunawayGuard, 0).done().end(trace.ReasonRunawayGuard)
	},
	"guard reset by success": func() *script {
		s := begin("r1", declared).round(c1, bad("c1")).done().round(call("d", "f"), good("d")).done()
		s.round(c3, bad("c3")).done()
		return s.ask().turn(text("a")).done().end(trace.ReasonEndTurn)
	},
	"guard reset by success in the same step": func() *script {
		s := begin("r1", declared).round(c1, bad("c1")).done()
		s.ask().turn(call("d", "f"), c3).starts(call("d", "f")).starts(c3).ends(good("d")).ends(bad("c3"))
		s.results(good("d"), bad("c3")).done()
		return s.ask().turn(text("a")).done().end(trace.ReasonEndTurn)
	},
	"guard reset by a success before the first failure": func() *script {
		s := begin("r1", declared).ask().turn(call("d", "f"), c1).starts(call("d", "f")).starts(c1).ends(good("d")).ends(bad("c1"))
		s.results(good("d"), bad("c1")).done().round(c3, bad("c3")).done()
		return s.ask().turn(text("a")).done().end(trace.ReasonEndTurn)
	},
	"guard counts steps and not calls": func() *script {
		s := begin("r1", declared).ask().turn(c1, c3).starts(c1).starts(c3).ends(bad("c1")).ends(bad("c3"))
		s.results(bad("c1"), bad("c3")).done()
		return s.ask().turn(text("a")).done().end(trace.ReasonEndTurn)
	},
	"guard reset by absence": func() *script {
		o := with()
		o[3].Value = "absence"
		s := begin("r1", o).round(c1, bad("c1")).done().round(c2, good("c2")).done().round(c3, bad("c3")).done()
		return s.ask().turn(text("a")).done().end(trace.ReasonEndTurn)
	},
	"guard does not count rejected calls": func() *script {
		s := begin("r1", declared).ask().turn(c1).skips(c1, "denied").results(bad("c1")).done()
		s.ask().turn(c3).skips(c3, "duplicate").results(bad("c3")).done()
		return s.ask().turn(text("a")).done().end(trace.ReasonEndTurn)
	},
	"guard off": func() *script {
		s := begin("r1", trace.Options{{Name: "same_tool_error_stop", Value: "0"}}).round(c1, bad("c1")).done().round(c3, bad("c3")).done()
		return s.ask().turn(text("a")).done().end(trace.ReasonEndTurn)
	},
	"cancel": func() *script {
		s := begin("r1", declared).ask().turn(c1, c2, c3).starts(c1).starts(c2).add(trace.Canceled{})
		s.add(trace.ToolEnd{ToolCallID: "c2", Outcome: trace.OutcomeCanceled, Result: bad("c2")}).ends(good("c1")).skips(c3, "cancelled")
		s.results(good("c1"), bad("c2"), bad("c3"))
		return s.decide(trace.Stop, trace.ReasonCancel, 0).done().end(trace.ReasonCancel)
	},
	"cancel within a model call": func() *script {
		s := begin("r1", declared).ask().add(trace.Canceled{})
		s.attempt(1, trace.ModelError{Error: trace.Error{Type: "cancelled"}})
		return s.decide(trace.Stop, trace.ReasonCancel, 0).done().end(trace.ReasonCancel)
	},
	"cancel before the first step": func() *script {
		s := begin("r1", declared).add(trace.Canceled{})
		return s.decide(trace.Stop, trace.ReasonCancel, 0).end(trace.ReasonCancel)
	},
	"budget": func() *script {
		s := begin("r1", trace.Options{{Name: "token_budget", Value: "15"}}).round(c1, good("c1")).done()
		return s.decide(trace.Stop, trace.ReasonBudget, 0).end(trace.ReasonBudget)
	},
	"a budget that leaves nothing for a repair": func() *script {
		s := begin("r1", trace.Options{{Name: "token_budget", Value: "15"}}).ask().reply(llm.Assistant(text("a")))
		return s.decide(trace.Stop, trace.ReasonBudget, 0).done().end(trace.ReasonBudget)
	},
	"budget of one more": func() *script {
		s := begin("r1", trace.Options{{Name: "token_budget", Value: "16"}}).round(c1, good("c1")).done()
		return s.ask().turn(text("a")).done().end(trace.ReasonEndTurn)
	},
	"stop condition": func() *script {
		s := begin("r1", declared).round(c1, good("c1"))
		return s.decide(trace.Stop, trace.ReasonStopCondition, 0).done().end(trace.ReasonStopCondition)
	},
	"stop conditions that never hold": func() *script {
		s := stopping("step_count:3,has_tool_call:h,total_tokens:31,never").round(c1, good("c1")).done().round(c2, good("c2")).done()
		return s.ask().turn(text("a")).done().end(trace.ReasonEndTurn)
	},
	"stop conditions that cannot be checked": func() *script {
		s := stopping("custom,cost:0.5,step_count:x,total_tokens:,has_tool_call:h").round(c1, good("c1"))
		return s.decide(trace.Stop, trace.ReasonStopCondition, 0).done().end(trace.ReasonStopCondition)
	},
	"a stop condition of a policy": func() *script {
		s := stopping("never").round(c1, good("c1")).add(trace.Decision{Action: trace.Stop, Reason: trace.ReasonStopCondition, By: "mine"})
		return s.done().end(trace.ReasonStopCondition)
	},
	"a number of steps": func() *script {
		s := stopping("step_count:2").round(c1, good("c1")).done().round(c2, good("c2"))
		return s.decide(trace.Stop, trace.ReasonStopCondition, 0).done().end(trace.ReasonStopCondition)
	},
	"a number of steps, the last without calls": func() *script {
		s := stopping("step_count:1").ask().reply(llm.Assistant(text("a"))).decide(trace.Continue, trace.ReasonContinuedResponse, 0).done()
		return s.ask().turn(text("b")).done().end(trace.ReasonEndTurn)
	},
	"a tool that ends the run": func() *script {
		s := stopping("never,has_tool_call:g").round(c1, good("c1")).done().ask().turn(c3, c2).starts(c3).starts(c2)
		s.ends(good("c3")).ends(good("c2")).results(good("c3"), good("c2"))
		return s.decide(trace.Stop, trace.ReasonStopCondition, 0).done().end(trace.ReasonStopCondition)
	},
	"a number of tokens": func() *script {
		s := stopping("total_tokens:30").round(c1, good("c1")).done().round(c2, good("c2"))
		return s.decide(trace.Stop, trace.ReasonStopCondition, 0).done().end(trace.ReasonStopCondition)
	},
	"a number of tokens that a grader has used": func() *script {
		s := stopping("total_tokens:16").round(c1, good("c1"))
		s.purpose(trace.PurposeGrade, trace.ModelRequest{NewMessages: []llm.Message{llm.User("good?")}})
		s.purpose(trace.PurposeGrade, trace.ModelResponse{Message: llm.Assistant(text("yes")), Usage: llm.Usage{InputTokens: 1}})
		e := s.done().ask().turn(text("a")).done().runEnd(trace.ReasonEndTurn)
		e.Usage.InputTokens++
		e.UsageBy = map[trace.Purpose]llm.Usage{trace.PurposeAnswer: s.used, trace.PurposeGrade: {InputTokens: 1}}
		return s.add(e)
	},
	"a step limit where a stop condition is true": func() *script {
		s := stopping("step_count:1").round(c1, good("c1")).decide(trace.ForceFinal, trace.ReasonMaxSteps, 0).done()
		s.step++
		s.add(trace.StepStart{}).add(trace.ModelConfig{}).request(1).reply(llm.Assistant(text("so")))
		return s.decide(trace.Stop, trace.ReasonForced, 0).done().end(trace.ReasonForced)
	},
	"stop conditions of a run that continues another": func() *script {
		s := stopping("step_count:2").add(trace.Resumed{Of: "elsewhere"}).round(c1, good("c1"))
		return s.decide(trace.Stop, trace.ReasonStopCondition, 0).done().end(trace.ReasonStopCondition)
	},
	"stop conditions of a run that continued another": func() *script {
		s := stopping("step_count:1").add(trace.Resumed{Of: "elsewhere"}).round(c1, good("c1")).done()
		return s.ask().turn(text("a")).done().end(trace.ReasonEndTurn)
	},
	"guard of a row": func() *script {
		o := with()
		o[3] = trace.Option{Name: "reset", Value: "absence"}
		s := begin("r1", o).round(c2, good("c2")).done().round(c1, bad("c1")).done().round(c3, bad("c3"))
		return s.decide(trace.Stop, trace.ReasonRunawayGuard, 0).done().end(trace.ReasonRunawayGuard)
	},
	"a stop at the step limit at a paused response": func() *script {
		s := begin("r1", trace.Options{{Name: "max_steps", Value: "1"}}).ask().reply(llm.Assistant(text("a")))
		return s.decide(trace.Stop, trace.ReasonMaxSteps, 0).done().end(trace.ReasonMaxSteps)
	},
	"a forced response that another call replaces": func() *script {
		s := begin("r1", trace.Options{{Name: "max_steps", Value: "1"}}).round(c1, good("c1")).done()
		s.decide(trace.ForceFinal, trace.ReasonMaxSteps, 0)
		s.step++
		s.add(trace.StepStart{}).purpose(trace.PurposeSummary, trace.ModelRequest{NewMessages: []llm.Message{llm.User("sum up")}})
		s.purpose(trace.PurposeSummary, trace.ModelResponse{Message: llm.Assistant(text("so"))})
		s.instead(text("so")).decide(trace.End, trace.ReasonForced, 0).done()
		return s.end(trace.ReasonForced)
	},
	"a guard against duplicate steps": func() *script {
		s := begin("r1", with(trace.Option{Name: "duplicate_round", Value: "stop"})).round(c1, good("c1"))
		return s.decide(trace.Stop, trace.ReasonRunawayGuard, 0).done().end(trace.ReasonRunawayGuard)
	},
	"a cancel that takes its time": func() *script {
		s := begin("r1", declared).ask().turn(c1, c2).starts(c1).starts(c2)
		s.at++
		s.add(trace.Canceled{})
		s.at++
		s.ends(good("c1"))
		s.at++
		s.ends(good("c2")).results(good("c1"), good("c2"))
		return s.decide(trace.Stop, trace.ReasonCancel, 0).done().end(trace.ReasonCancel)
	},
	"a cancel of a slow response": func() *script {
		s := begin("r1", declared).ask()
		s.at++
		s.add(trace.Canceled{})
		s.at++
		s.attempt(1, trace.ModelError{Error: trace.Error{Type: "cancelled"}})
		return s.decide(trace.Stop, trace.ReasonCancel, 0).done().end(trace.ReasonCancel)
	},
	"a cancel on a clock that is real": func() *script {
		s := begin("r1", declared).add(trace.Canceled{})
		s.events[0].Body = trace.RunStart{Clock: trace.ClockReal, Options: declared}
		s.at++
		return s.decide(trace.Stop, trace.ReasonCancel, 0).end(trace.ReasonCancel)
	},
	"choices of tools": func() *script {
		s := begin("r1", declared)
		s.step = 0
		s.add(trace.StepStart{})
		for _, c := range []llm.ToolChoice{{Mode: llm.ChooseTool, Name: "f"}, {Mode: llm.ChooseRequired}, {Mode: llm.ChooseNone}, {}} {
			s.add(trace.ModelConfig{Tools: []llm.Tool{{Name: "f"}}, ToolChoice: c})
		}
		s.add(trace.ModelConfig{ToolChoice: llm.ToolChoice{Mode: llm.ChooseNone}})
		return s.request(1).turn(text("a")).done().end(trace.ReasonEndTurn)
	},
}
