package wire_test

import (
	"errors"
	"testing"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/protocol"
	"github.com/looptape/looptape/trace"
)

var messagesShown = []shown{
	{quirk: "QA-01@1", same: true},
	{quirk: "QA-01:stale@1", same: true},
	{quirk: "QA-02@1", same: true},
	{quirk: "QA-03@1", requests: 1, stop: trace.ReasonError, more: all(truncated, received("I will look."))},
	{quirk: "QA-03:call@1", requests: 1, stop: trace.ReasonError, more: all(truncated, received("I will look."))},
	{quirk: "QA-04@1", requests: 1, stop: trace.ReasonError, more: all(fails(200, "overloaded_error"), received("I will"))},
	{quirk: "QA-04:first@1", ran: "call_1 call_2 call_3", requests: 4},
	{quirk: "QA-05:ping@1", same: true},
	{quirk: "QA-05:event@1", same: true},
	{quirk: "QA-05:delta@1", same: true},
	{quirk: "QA-05:block@1", ran: "call_1 call_2 call_3", more: sends(2, `{"type":"hologram","hue":[1,2.50]}`)},
	{quirk: "QA-06@1", scenario: "anthropic/usage", same: true, more: cachedUsage},
	{quirk: "QA-06:growing@1", scenario: "anthropic/usage", same: true, more: cachedUsage},
	{quirk: "QA-07@1", scenario: "anthropic/pause", requests: 2, more: finishes(llm.FinishPause, llm.FinishStop)},
	{quirk: "QA-07", scenario: "anthropic/pause", requests: 3, stop: trace.ReasonContinuedResponse},
	{quirk: "QA-07:container@1", scenario: "anthropic/pause", requests: 2, more: sends(2, `"container":"container_9"`)},
	{quirk: "QA-08@1", ran: "call_1 call_3", failed: "call_2", more: skipped("truncated")},
	{quirk: "QA-08:whole@1", ran: "call_1 call_3", failed: "call_2", more: skipped("truncated")},
	{quirk: "QA-08:empty@1", ran: "call_1 call_3", failed: "call_2", more: skipped("truncated")},
	{quirk: "QA-08:context@1", ran: "call_1 call_3", failed: "call_2", more: skipped("truncated")},
	{quirk: "QA-09@2", ran: "call_1 call_2", requests: 2, stop: trace.ReasonError, more: fails(400, "invalid_request_error")},
	{quirk: "QA-10@1", same: true},
	{quirk: "QA-10:lost@1", ran: "call_2 call_3", failed: "call_1", more: skipped("malformed_arguments")},
	{quirk: "QA-11@1", ran: "call_1 call_2 call_3", warnings: llm.WarnNoCallEnd},
	{quirk: "QA-12@1", ran: "call_1 call_2 call_3", more: echoesThoughts(`"thinking","thinking":"Thought 1.","signature":"EqQBCkYIBxgC1KkA="`)},
	{quirk: "QA-12:redacted@1", ran: "call_1 call_2 call_3", more: echoesThoughts(`"redacted_thinking","data":"EmwKAhgBEgy1"`)},
	{quirk: "QA-12:interleaved@1", ran: "call_1 call_2 call_3", more: sends(2,
		`"id":"call_1","name":"weather","input":{"city":"Bern"}},{"type":"thinking","thinking":"Thought 2.","signature":"EqQBCkYIBxgC2KkA="},{"type":"tool_use","id":"call_2"`)},
	{quirk: "QA-13@1", ran: "call_1 call_2 call_3", warnings: "missing_message_stop"},
	{quirk: "QA-14:search@1", ran: "call_1 call_2 call_3", more: sends(2, `"type":"server_tool_use","id":"srvtoolu_`, `"input":{"query":"weather"}`, `"encrypted_content":"EpQBCioIAhgB"`)},
	{quirk: "QA-14:mcp@1", ran: "call_1 call_2 call_3", more: sends(2, `"type":"mcp_tool_use","id":"mcptoolu_`, `"input":{"word":"rain"}`, `"type":"mcp_tool_result"`)},
	{quirk: "QA-14:caller@1", ran: "call_1 call_2 call_3", more: sends(2, `"caller":{"type":"code_execution_20250825","tool_id":"srvtoolu_`)},
	{quirk: "QA-14:citations@1", ran: "call_1 call_2 call_3", more: sends(2, `"citations":[{"type":"web_search_result_location"`)},
	{quirk: "QA-refusal@1", requests: 1, more: finishes(llm.FinishRefusal)},
}

// cachedUsage is the usage of the scenario usage, whatever the response omits.
var cachedUsage = uses(llm.Usage{InputTokens: 250, OutputTokens: 60, CacheReadInputTokens: 150, CacheCreationInputTokens: 30})

// echoesThoughts checks that the assistant message of the next request begins with such a
// block.
func echoesThoughts(block string) fact {
	return sends(2, `{"role":"assistant","content":[{"type":`+block+`},{"type":"text","text":"I will look."}`)
}

// truncated checks that the run failed because a response was interrupted.
func truncated(t *testing.T, o *played) {
	t.Helper()
	if !errors.Is(o.Err, protocol.ErrTruncated) {
		t.Errorf("the run failed with %v, want %v", o.Err, protocol.ErrTruncated)
	}
}
