package wire

// onMessages describes a form of Anthropic Messages.
func onMessages(id, form, says string) QuirkForm {
	return QuirkForm{ID: id, Form: form, Description: says, Protocols: []string{messages}}
}

// inStream says that only streams can show a form.
func inStream(f QuirkForm) QuirkForm {
	f.Streaming = true
	return f
}

// messagesQuirks are those of Anthropic Messages.
var messagesQuirks = []quirkForm{
	{QuirkForm: inStream(onMessages("QA-01", "", "the block of a call starts with an empty input, and the input comes in deltas; this server always does so")), reply: hasDeltas},
	{QuirkForm: inStream(onMessages("QA-01", "stale", "the block of a call starts with an input, and deltas bring another one")), reply: staleInputs},
	{QuirkForm: inStream(onMessages("QA-02", "", "the block of a call starts with its whole input, and no deltas come")), reply: wholeInputs},
	{QuirkForm: inStream(onMessages("QA-03", "", "the connection closes in good order before a stop_reason came")), reply: closesEarly},
	{QuirkForm: inStream(onMessages("QA-03", "call", "the connection closes in good order within the last call")), reply: closesInCall},
	{QuirkForm: inStream(onMessages("QA-04", "", "an error event comes after the first words, with status 200")), reply: failsLate},
	{QuirkForm: inStream(onMessages("QA-04", "first", "the first try gets an error event before anything of the answer, with status 200")), reply: failsFirst},
	{QuirkForm: inStream(onMessages("QA-05", "ping", "a ping comes between each two events")), reply: interspersed(ping)},
	{QuirkForm: inStream(onMessages("QA-05", "event", "an event of an unknown type comes between each two events")), reply: interspersed(unknownEvent)},
	{QuirkForm: inStream(onMessages("QA-05", "delta", "a delta of an unknown type comes after each delta")), reply: unknownDeltas},
	{QuirkForm: onMessages("QA-05", "block", "a block of an unknown type stands before the last one"), reply: unknownBlock},
	{QuirkForm: inStream(onMessages("QA-06", "", "the usage of message_delta has the output alone")), reply: outputAlone},
	{QuirkForm: inStream(onMessages("QA-06", "growing", "a message_delta with the output so far comes after each block")), reply: growingUsage},
	{QuirkForm: onMessages("QA-07", "", "a turn without calls is paused, unless it is the last"), reply: pauses},
	{QuirkForm: onMessages("QA-07", "container", "a turn without calls is paused, unless it is the last, and names its container"), reply: pausesInContainer},
	{QuirkForm: inStream(onMessages("QA-08", "", "the limit of tokens ends the turn within the input of the call that is its last block")), reply: limited("max_tokens", cutInput)},
	{QuirkForm: onMessages("QA-08", "whole", "the limit of tokens ends the turn, and the call that is its last block looks whole"), reply: limited("max_tokens", sameInput)},
	{QuirkForm: onMessages("QA-08", "empty", "the limit of tokens ends the turn, and the call that is its last block has the input {}"), reply: limited("max_tokens", noInput)},
	{QuirkForm: onMessages("QA-08", "context", "the full context window ends the turn, and the call that is its last block looks whole"), reply: limited("model_context_window_exceeded", sameInput)},
	{QuirkForm: onMessages("QA-09", "", "the request is refused as if it left a tool_use unanswered (SA-01)"), reply: refusesUnanswered},
	{QuirkForm: inStream(onMessages("QA-10", "", "an empty delta comes before each of an input")), reply: emptyDeltas},
	{QuirkForm: inStream(onMessages("QA-10", "lost", "the opening of the first input is lost")), reply: lostOpening},
	{QuirkForm: inStream(onMessages("QA-11", "", "the last block of a call is never stopped")), reply: neverStopped},
	{QuirkForm: onMessages("QA-12", "", "the turn begins with a thought that is signed"), reply: thinksFirst(signedThought)},
	{QuirkForm: onMessages("QA-12", "redacted", "the turn begins with a thought that is redacted"), reply: thinksFirst(redactedThought)},
	{QuirkForm: onMessages("QA-12", "interleaved", "a thought that is signed begins the turn, and another stands between each two calls"), reply: thinksBetween},
	{QuirkForm: inStream(onMessages("QA-13", "", "the stream ends after its stop_reason, without message_stop")), reply: neverMarked},
	{QuirkForm: onMessages("QA-14", "search", "the provider has searched the web itself"), reply: ranItself(searched)},
	{QuirkForm: onMessages("QA-14", "mcp", "the provider has called a tool of an MCP server itself"), reply: ranItself(calledMCP)},
	{QuirkForm: onMessages("QA-14", "caller", "the calls say that they come from code which the provider runs"), reply: calledByCode},
	{QuirkForm: onMessages("QA-14", "citations", "the first text has a citation"), reply: cites},
	{QuirkForm: onMessages("QA-refusal", "", "the model refuses, without a word"), reply: refuses},
}
