package wire_test

import (
	"strings"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/openai/responses"
	"github.com/looptape/looptape/trace"
)

const (
	twoUnended   = llm.WarnNoCallEnd + " " + llm.WarnNoCallEnd
	twoConflicts = responses.WarnArguments + " " + responses.WarnArguments
)

var responsesShown = []shown{
	{quirk: "QR-01@1", same: true, more: sends(2, `"id":"fc_00000001855b9691_own0","call_id":"call_1"`, `{"type":"function_call_output","call_id":"call_2"`)},
	{
		quirk: "QR-02:encrypted@1", ran: three,
		more: sendsInOrder(2, `{"type":"reasoning","id":"rs_00000001855b9691_own0","encrypted_content":"gAAAAAB0","summary":[]}`, `"call_id":"call_1"`,
			`{"type":"reasoning","id":"rs_00000001855b9691_own1","encrypted_content":"gAAAAAB1","summary":[]}`, `"call_id":"call_2"`),
	},
	{
		quirk: "QR-02:summary@1", ran: three,
		more: sendsInOrder(2, `{"type":"reasoning","id":"rs_00000001855b9691_own0","summary":[{"type":"summary_text","text":"Now the call 0."}]}`, `"call_id":"call_1"`,
			`{"type":"reasoning","id":"rs_00000001855b9691_own1","summary":[{"type":"summary_text","text":"Now the call 1."}]}`, `"call_id":"call_2"`),
	},
	{quirk: "QR-03:incomplete@1", ran: "call_1 call_3", failed: "call_2", warnings: llm.WarnNoCallEnd, more: skipped("truncated")},
	{quirk: "QR-03:completed@1", ran: "call_1 call_3", failed: "call_2", warnings: llm.WarnNoCallEnd, more: skipped("truncated")},
	{quirk: "QR-04@1", ran: three, warnings: twoUnended, more: argsOfCalls},
	{quirk: "QR-05:delta@1", ran: three, warnings: twoConflicts, more: argsOfCalls},
	{quirk: "QR-05:completed@1", same: true},
	{quirk: "QR-05:none@1", ran: "call_3", failed: "call_1 call_2", more: skipped("malformed_arguments", "malformed_arguments")},
	{quirk: "QR-06:arguments@1", same: true},
	{quirk: "QR-06:item@1", same: true},
	{quirk: "QR-07:no-output@2", ran: "call_1 call_2", requests: 2, stop: trace.ReasonError, more: fails(400, "invalid_request_error")},
	{quirk: "QR-07:no-call@2", ran: "call_1 call_2", requests: 2, stop: trace.ReasonError, more: fails(400, "invalid_request_error")},
	{quirk: "QR-08:failed@1", requests: 1, stop: trace.ReasonError, more: all(fails(200, "server_error"), received("I will look."))},
	{quirk: "QR-08:error@1", requests: 1, stop: trace.ReasonError, more: all(fails(200, "insufficient_quota"), received("I will look."))},
	{quirk: "QR-09:item_id@1", same: true},
	{quirk: "QR-09:output_index@1", ran: three, warnings: llm.WarnNoCallEnd, more: argsOfCalls},
	{quirk: "QR-10@1", same: true},
	{quirk: "QR-parallel:parallel@1", ran: "call_3", failed: "call_1", more: skipped("unknown_tool")},
	{quirk: "QR-parallel:multi@1", ran: "call_3", failed: "call_1", more: all(skipped("unknown_tool"), sends(2, `"multi_tool_use_parallel"`))},
}

// sendsInOrder checks that the n-th request has these texts, one after the other.
func sendsInOrder(n int, texts ...string) fact {
	return equals("texts in order in the request", texts, func(o *played) (got []string) {
		if len(o.exchanges) < n {
			return nil
		}
		rest := string(anyTalk(o.exchanges[n-1].request))
		for _, text := range texts {
			_, after, ok := strings.Cut(rest, text)
			if ok {
				got, rest = append(got, text), after
			}
		}
		return got
	})
}
