package wire_test

import (
	"errors"
	"testing"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/trace"
)

var geminiShown = []shown{
	{quirk: "QG-01@1", ran: "call_1 call_2 call_3", more: finishes(llm.FinishStop, llm.FinishStop, llm.FinishStop)},
	{quirk: "QG-02@1", same: true},
	{quirk: "QG-03@1", ran: "loop_call_1 loop_call_2 call_3", more: all(sends(2, `{"functionCall":{"name":"weather"`, `{"functionResponse":{"name":"weather"`), sendsNot(2, `"id":`))},
	{quirk: "QG-03:id@1", ran: "8h11vsf 8h12vsf call_3", more: sends(2, `{"functionResponse":{"id":"8h11vsf"`, `{"functionResponse":{"id":"8h12vsf"`)},
	{quirk: "QG-04", ran: "call_1 call_2 call_3", more: all(
		sends(2, `"args":{"city":"Bern"}},"thoughtSignature":"dGhvdWdodCAwMDAwMDAwMTg1NWI5Njkx"}`, `"args":{"city":"Rome"}}}],"role":"model"}`),
		sends(3, `"args":{"text":"Bern: rain"}},"thoughtSignature":"dGhvdWdodCAwMDAxMDAwMTYyZTExMzU2"}`))},
	{quirk: "QG-04:text@1", ran: "call_1 call_2 call_3", more: sends(2, `{"text":"I will look.","thoughtSignature":"dGhvdWdodCAwMDAwMDAwMTg1NWI5Njkx"}`)},
	{quirk: "QG-05@2", ran: "call_1 call_2", requests: 2, stop: trace.ReasonError, more: fails(400, "INVALID_ARGUMENT")},
	{quirk: "QG-06@1", requests: 1, stop: trace.ReasonError, more: malformedCall},
	{quirk: "QG-06:text@1", requests: 1, stop: trace.ReasonError, more: all(malformedCall, received("I will look."))},
	{quirk: "QG-07@3", ran: "call_1 call_2 call_3", more: finishes(llm.FinishStop, llm.FinishStop, llm.FinishStop)},
	{quirk: "QG-07:noparts@3", ran: "call_1 call_2 call_3"},
	{quirk: "QG-08@3", ran: "call_1 call_2 call_3"},
	{quirk: "QG-08:blocked@1", requests: 1, stop: trace.ReasonError, more: fails(200, "PROHIBITED_CONTENT")},
	{quirk: "QG-09@1", same: true},
	{quirk: "QG-10@1", scenario: "nested", same: true},
	{quirk: "QG-10:noargs@1", scenario: "noargs", same: true},
	{quirk: "QG-11@1", requests: 1, stop: trace.ReasonError, more: malformedCall},
	{quirk: "QG-11:call@1", requests: 1, stop: trace.ReasonError, more: malformedCall},
	{quirk: "QG-12@1", requests: 1, stop: trace.ReasonError, more: all(fails(503, "UNAVAILABLE"), received("I will"))},
	{quirk: "QG-12:first@1", ran: "call_1 call_2 call_3", requests: 4},
	{quirk: "QG-12:bare@1", requests: 1, stop: trace.ReasonError, more: all(fails(503, "UNAVAILABLE"), received("I will"))},
	{quirk: "QG-12:barefirst@1", ran: "call_1 call_2 call_3", requests: 4},
}

func malformedCall(t *testing.T, o *played) {
	t.Helper()
	if !errors.Is(o.Err, loop.ErrMalformedCall) {
		t.Errorf("the run failed with %v, want %v", o.Err, loop.ErrMalformedCall)
	}
}
