package wire_test

import (
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/middleware"
	"github.com/looptape/looptape/trace"
)

const (
	three    = "call_1 call_2 call_3"
	twoMinds = llm.WarnRepeatedArguments + " " + llm.WarnRepeatedArguments
)

var (
	usageOfCalls  = uses(llm.Usage{InputTokens: 120, OutputTokens: 30})
	argsOfCalls   = entered(`{"city":"Bern"}`, `{"city":"Rome"}`, `{"text":"Bern: rain"}`)
	firstAnswerID = equals("id and model of the first answer", []string{"chatcmpl-", "some-model"}, func(o *played) []string {
		for _, ev := range o.Events {
			if turn, ok := ev.Body.(trace.ModelResponse); ok {
				return []string{turn.ResponseID[:min(9, len(turn.ResponseID))], turn.Model}
			}
		}
		return nil
	})
)

var chatShown = []shown{
	{quirk: "QO-01@1", ran: three, more: finishes(llm.FinishStop, llm.FinishToolCalls, llm.FinishStop)},
	{quirk: "QO-02:absent@3", ran: three, warnings: llm.WarnNoCalls, more: finishes(llm.FinishToolCalls, llm.FinishToolCalls, llm.FinishToolCalls)},
	{quirk: "QO-02:empty@3", ran: three, warnings: llm.WarnNoCalls, more: finishes(llm.FinishToolCalls, llm.FinishToolCalls, llm.FinishToolCalls)},
	{quirk: "QO-03:length@1", ran: "call_1 call_3", failed: "call_2", more: skipped("truncated")},
	{quirk: "QO-03:tool_calls@1", ran: "call_1 call_3", failed: "call_2", more: skipped("truncated")},
	{quirk: "QO-03:whole@1", ran: "call_1 call_3", failed: "call_2", more: skipped("truncated")},
	{quirk: "QO-04@1", same: true},
	{quirk: "QO-04:ids@1", same: true},
	{quirk: "QO-05@1", same: true},
	{quirk: "QO-06:gaps@1", same: true},
	{quirk: "QO-06:late@1", same: true},
	{quirk: "QO-07:empty@1", ran: "loop_call_1 loop_call_2 call_3", more: sends(2, `"id":"loop_call_1"`, `"tool_call_id":"loop_call_2"`)},
	{quirk: "QO-07:absent@1", ran: "loop_call_1 loop_call_2 call_3", more: sends(2, `"id":"loop_call_1"`, `"tool_call_id":"loop_call_2"`)},
	{quirk: "QO-08:counted", ran: "call_0 call_1 loop_call_1", more: argsOfCalls},
	{
		quirk: "QO-08:functions", scenario: "again", ran: "functions.weather:0 functions.weather:1 loop_call_1",
		more: sends(3, `"tool_call_id":"functions.weather:0","content":"rain"`, `"tool_call_id":"loop_call_1","content":"snow"`),
	},
	{quirk: "QO-09@1", ran: "call_1 loop_call_1 call_3", more: all(argsOfCalls, sends(2, `"tool_call_id":"call_1","content":"rain"`, `"tool_call_id":"loop_call_1","content":"sun"`))},
	{quirk: "QO-10:null@1", same: true},
	{quirk: "QO-10:empty@1", same: true},
	{quirk: "QO-10:absent@1", same: true},
	{quirk: "QO-10:last@1", same: true},
	{quirk: "QO-11@1", same: true},
	{quirk: "QO-12@1", ran: three, warnings: twoMinds, more: argsOfCalls},
	{quirk: "QO-13:equal@1", ran: three, warnings: twoMinds, more: argsOfCalls},
	{quirk: "QO-13:unequal@1", ran: "call_3", failed: "call_1 call_2", more: skipped("malformed_arguments", "malformed_arguments")},
	{quirk: "QO-14:placeholder@1", ran: three, warnings: twoMinds, more: argsOfCalls},
	{quirk: "QO-14:space@1", ran: three, more: entered("{\"city\":\"Bern\"} \n", "{\"city\":\"Rome\"} \n", `{"text":"Bern: rain"}`)},
	{quirk: "QO-14:scalar@1", ran: "call_3", failed: "call_1 call_2", more: skipped("malformed_arguments", "malformed_arguments")},
	{quirk: "QO-15@1", scenario: "noargs", ran: "call_1 call_2", more: entered(`{}`, `{}`)},
	{quirk: "QO-16@1", same: true},
	{quirk: "QO-17@1", same: true},
	{quirk: "QO-18:after@1", same: true, more: usageOfCalls},
	{quirk: "QO-18:beside@1", same: true, more: usageOfCalls},
	{quirk: "QO-18:twice@1", same: true, more: usageOfCalls},
	{quirk: "QO-19@1", same: true, more: firstAnswerID},
	{quirk: "QO-20:choices@1", requests: 1, stop: trace.ReasonError, more: all(fails(502, "502"), received("I will look."))},
	{quirk: "QO-20:no-choices@1", requests: 1, stop: trace.ReasonError, more: all(fails(500, "server_error"), received("I will look."))},
	{quirk: "QO-20:object@1", requests: 1, stop: trace.ReasonError, more: all(fails(400, "BadRequestError"), received("I will look."))},
	{quirk: "QO-21@1", requests: 1, stop: trace.ReasonError, more: all(fails(200, ""), received("I will look."))},
	{quirk: "QO-22@1", same: true},
	{quirk: "QO-23:tags@1", scenario: "leak", warnings: middleware.WarnLeakedCall},
	{quirk: "QO-23:bare@1", scenario: "leak", warnings: middleware.WarnLeakedCall},
	{quirk: "QO-24:noise@1", same: true},
	{quirk: "QO-24:refusal@1", requests: 1, more: refuses},
	{quirk: "QO-25@1", ran: three, warnings: llm.WarnNoFinish, more: finishes(llm.FinishUnknown, llm.FinishToolCalls, llm.FinishStop)},
	{
		quirk: "QO-25:cut@1", ran: "call_1 call_3", failed: "call_2", warnings: llm.WarnNoFinish,
		more: all(skipped("truncated"), finishes(llm.FinishUnknown, llm.FinishToolCalls, llm.FinishStop)),
	},
	{quirk: "QO-26@1", same: true, more: usageOfCalls},
	{quirk: "QO-27@1", same: true},
	{
		quirk: "QO-28@1", scenario: "thinking", same: true,
		more: sends(2, `"content":[{"type":"thinking","thinking":[{"type":"text","text":"I need the weather."}]},{"type":"text","text":"I will look."}]`),
	},
	{quirk: "QO-29:reasoning_content@1", scenario: "thinking", same: true, more: sends(2, `"reasoning_content":"I need the weather."`)},
	{quirk: "QO-29:reasoning@1", scenario: "thinking", same: true, more: sends(2, `"reasoning":"I need the weather."`)},
	{
		quirk: "QO-29:reasoning_details@1", scenario: "thinking", same: true,
		more: sends(2, `"reasoning_details":[{"type":"reasoning.text","text":"I need the weather.","signature":"c2lnbmVk","format":"unknown","index":0}]`),
	},
	{
		quirk: "QO-30@1", ran: "call_2 call_3", failed: "call_1", warnings: loop.WarnNoName,
		more: all(skipped("unknown_tool"), sends(2, `{"id":"call_1","type":"function","function":{"name":"unnamed_tool",`)),
	},
	{quirk: "QO-31@1", scenario: "openai/one", ran: "call_1 call_1_again", more: oneByOne},
}
