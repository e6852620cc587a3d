package quirk

import (
	"github.com/looptape/looptape/fake/wire/internal/reply"
)

func onMessages(id, form, description string) Info {
	return Info{ID: id, Form: form, Description: description, Protocols: []string{reply.Messages}}
}

var messagesQuirks = []Form{
	{Info: inStream(onMessages("QA-01", "", "the block of a call starts with an empty input, and the input comes in deltas; this server always does so")), edit: hasDeltas},
	{Info: inStream(onMessages("QA-01", "stale", "the block of a call starts with an input, and deltas bring another one")), edit: staleInputs},
	{Info: inStream(onMessages("QA-02", "", "the block of a call starts with its complete input, and no deltas come")), edit: wholeInputs},
	{Info: inStream(onMessages("QA-03", "", "the connection closes without an error before a stop_reason came")), edit: closesEarly},
	{Info: inStream(onMessages("QA-03", "call", "the connection closes without an error within the last call")), edit: closesInCall},
	{Info: inStream(onMessages("QA-04", "", "an error event comes after the first text, with status 200")), edit: failsLate},
	{Info: inStream(onMessages("QA-04", "first", "the first attempt gets an error event before the response begins, with status 200")), edit: failsFirst},
	{Info: inStream(onMessages("QA-05", "ping", "a ping comes between each two events")), edit: betweenEvents(ping)},
	{Info: inStream(onMessages("QA-05", "event", "an event of an unknown type comes between each two events")), edit: betweenEvents(unknownEvent)},
	{Info: inStream(onMessages("QA-05", "delta", "a delta of an unknown type comes after each delta")), edit: unknownDeltas},
	{Info: onMessages("QA-05", "block", "a block of an unknown type is before the last one"), edit: unknownBlock},
	{Info: inStream(onMessages("QA-06", "", "the usage of message_delta has the output only")), edit: outputAlone},
	{Info: inStream(onMessages("QA-06", "growing", "a message_delta with the output until then comes after each block")), edit: growingUsage},
	{Info: onMessages("QA-07", "", "a response without calls is paused, unless it is the last"), edit: pauses},
	{Info: onMessages("QA-07", "container", "a response without calls is paused, unless it is the last, and names its container"), edit: pausesInContainer},
	{Info: inStream(onMessages("QA-08", "", "the token limit ends the response within the input of the call that is its last block")), edit: limited("max_tokens", truncateInput)},
	{Info: onMessages("QA-08", "whole", "the token limit ends the response, and the call that is its last block looks complete"), edit: limited("max_tokens", sameInput)},
	{Info: onMessages("QA-08", "empty", "the token limit ends the response, and the call that is its last block has the input {}"), edit: limited("max_tokens", noInput)},
	{Info: onMessages("QA-08", "context", "the full context window ends the response, and the call that is its last block looks complete"), edit: limited("model_context_window_exceeded", sameInput)},
	{Info: onMessages("QA-09", "", "the request is rejected as if it left a tool_use unanswered (SA-01)"), edit: refusesUnanswered},
	{Info: inStream(onMessages("QA-10", "", "an empty delta comes before each of an input")), edit: emptyDeltas},
	{Info: inStream(onMessages("QA-10", "lost", "the opening of the first input is lost")), edit: lostOpening},
	{Info: inStream(onMessages("QA-11", "", "the last block of a call is never stopped")), edit: neverStopped},
	{Info: onMessages("QA-12", "", "the response begins with a thought that is signed"), edit: thinksFirst(signedThought)},
	{Info: onMessages("QA-12", "redacted", "the response begins with a thought that is redacted"), edit: thinksFirst(redactedThought)},
	{Info: onMessages("QA-12", "interleaved", "a thought that is signed begins the response, and another is between each two calls"), edit: thinksBetween},
	{Info: inStream(onMessages("QA-13", "", "the stream ends after its stop_reason, without message_stop")), edit: neverMarked},
	{Info: onMessages("QA-14", "search", "the provider has searched the web itself"), edit: ranItself(searched)},
	{Info: onMessages("QA-14", "mcp", "the provider has called a tool of an MCP server itself"), edit: ranItself(calledMCP)},
	{Info: onMessages("QA-14", "caller", "the calls say that they come from code which the provider runs"), edit: calledByCode},
	{Info: onMessages("QA-14", "citations", "the first text has a citation"), edit: cites},
	{Info: onMessages("QA-refusal", "", "the model refuses without text"), edit: refuses},
}
