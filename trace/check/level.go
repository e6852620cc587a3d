package check

import (
	"slices"
	"strings"
)

// Fault is a way in which messages violate an invariant.
type Fault struct {
	Description string

	invariant invariant
	// rules has one rule for each of protocols: "-" means that the provider accepts the request, and "." that messages
	// of the protocol cannot show the fault. A rule in parentheses is for unknown protocols, because a list of messages
	// cannot show the fault: it has no request or response to compare with.
	rules string
}

// protocols are the names of the protocols that a Fault has rules for, as
// protocol.Protocol.Name returns them. The first is a list of messages, or an unknown protocol.
var protocols = [...]string{"", "openai-chat", "openai-responses", "anthropic-messages", "gemini", "bedrock-converse", "cohere-chat", "ollama-chat"}

// Rule returns the id of the rule in docs/strict-server.md by which a provider of the protocol
// rejects a request with the fault: "400" if that page has no such rule, and empty if the
// provider accepts the request or its answer is unknown. For an empty or unknown protocol, Rule returns "400" for what
// most providers reject.
func (f *Fault) Rule(protocol string) string {
	if rule := strings.Trim(f.rule(protocol), "()"); rule != "-" && rule != "." {
		return rule
	}
	return ""
}

// IsReported reports whether the check of messages of the protocol can report the fault; an empty protocol is a list
// of messages without requests and responses.
func (f *Fault) IsReported(protocol string) bool {
	rule := f.rule(protocol)
	return rule != "." && rule[0] != '('
}

func (f *Fault) rule(protocol string) string {
	return strings.Fields(f.rules)[max(0, slices.Index(protocols[:], protocol))]
}

// The facts are those of docs/strict-server.md. Others: Gemini rejects a changed signature with
// "Corrupted thought signature." (gemini-cli#13467, zerogravity#98), and gateways of Chat
// Completions pass the error of their provider on; Anthropic rejects an empty list ("messages:
// at least one message is required").
//
// Bedrock Converse rejects with a ValidationException: "Expected toolResult blocks at messages.2.content
// for the following Ids" (agno#6698), "The number of toolResult blocks at messages.2.content exceeds the
// number of toolUse blocks of previous turn." (strands-agents/sdk-python#1435, pydantic-ai#2327), "The
// content field in the Message object at messages.1 is empty." (earendil-works/pi#3443), "The text field
// in the ContentBlock object at messages.1.content.0 is blank." (earendil-works/pi#4975), "User messages
// cannot contain tool uses." (strands-agents/sdk-python#2214). An id of a call has at least one character
// ("ToolUseBlock"), and signed reasoning comes back unmodified ("ReasoningTextBlock"). Cohere requires a
// result for each call, directly after it (langchain-oracle#10, agentdojo#200), and has four roles
// ("Migrating From API v1 to API v2"). No rule is known for other faults, and none for Ollama.
var (
	faultUnanswered  = &Fault{"a call without a result", invPairing, "400 SO-01 SR-01 SA-01 SG-01 400 400 -"}
	faultFollowed    = &Fault{"a text (Responses) or a message of the assistant (Anthropic) after a call without a result, at the end of a list: it is unknown whether both are of one response", invPairing, ". . - - . . . ."}
	faultOrphan      = &Fault{"a result without its call", invPairing, "400 SO-02 SR-02 SA-02 SG-03 400 - -"}
	faultTwoResults  = &Fault{"two results for one call", invPairing, "400 SO-03 SR-03 SA-03 SG-01 400 - -"}
	faultDroppedCall = &Fault{"a response that is sent back without one of its calls", invPairing, "(-) - - - - - - -"}
	faultAddedCall   = &Fault{"a response that is sent back with a call that the model did not make", invPairing, "(-) - - - - - - -"}
	faultLate        = &Fault{"other messages between a call and its result", invAdjacency, "400 SO-01 - SA-01 SG-01 400 400 -"}
	faultOrder       = &Fault{"results in another order than their calls", invResultOrder, "- - - - - - - -"}
	faultSameID      = &Fault{"two calls of one message with the same id", invUniqueIDs, "400 SO-03 SR-03 SA-04 - - - -"}
	faultReusedID    = &Fault{"an id that is used again in a later message", invUniqueIDs, "- - SR-03 SA-04 - - - -"}
	faultNoID        = &Fault{"a call without an id", invUniqueIDs, "400 SO-04 400 SA-05 . 400 - -"}
	faultMissing     = &Fault{"a response that is missing (in a recording, its client may have omitted it on purpose: not reported)", invAppendOnly, "(-) - - - - - - -"}
	faultRebuilt     = &Fault{"a response that is sent back with another text, or with another id, tool or other arguments of a call", invAppendOnly, "(-) - - - - - - -"}
	faultChanged     = &Fault{"a signature or encrypted data that is sent back changed", invOpaqueEcho, "(400) 400 SR-09 SA-13 400 400 - -"}
	faultRequired    = &Fault{"a response without the data that the request needs: the first call of Gemini 3 and later without its signature; Anthropic's thinking, if it is enabled and calls follow; the reasoning item of a call that is sent back with its item id", invOpaqueEcho, "(400) - SR-08 SA-15 SG-04 - - -"}
	faultMoved       = &Fault{"signed or encrypted reasoning at another place", invOpaqueEcho, "(-) - SR-07 SA-14 - - - -"}
	faultOmitted     = &Fault{"a response that is sent back without other opaque data, with it at another place, or with more of it", invOpaqueEcho, "(-) - - - - - - -"}
	faultNoMessages  = &Fault{"a request without messages (Chat Completions: and without a system prompt)", invWellFormed, ". SO-06 400 400 SG-08 - - -"}
	faultNoParts     = &Fault{"a message without content, except a last one of the assistant", invWellFormed, "400 SO-07 - SA-12 SG-06 400 - -"}
	faultNoText      = &Fault{"an assistant message with empty text before other messages", invWellFormed, "- - - SA-11 - 400 - -"}
	faultNoOutput    = &Fault{"a result without content: a tool message of Chat Completions whose content is null, a function_call_output without output", invWellFormed, "400 SO-07 400 . . . - -"}
	faultBlank       = &Fault{"an empty text next to other parts, or of the user; in a request also a text of white space", invWellFormed, ". . . SA-11 . 400 . ."}
	faultArguments   = &Fault{"a call whose arguments are an object (Ollama and Mistral accept it)", invWellFormed, "- 400 . . . . . ."}
	faultServerCall  = &Fault{"a call of a tool that Anthropic's server runs, without its result, before other messages", invWellFormed, ". . . SA-19 . . . ."}
	faultMalformed   = &Fault{"a message with an unknown role, with a part that its role cannot have, with a call without a name or, in a body of Chat Completions, without arguments, or with data that is not JSON", invWellFormed, "400 400 400 400 400 400 400 -"}
)

var faults = [...]*Fault{
	faultUnanswered, faultFollowed, faultOrphan, faultTwoResults, faultDroppedCall, faultAddedCall, faultLate,
	faultOrder, faultSameID, faultReusedID, faultNoID, faultMissing, faultRebuilt, faultChanged,
	faultRequired, faultMoved, faultOmitted, faultNoMessages, faultNoParts, faultNoText,
	faultNoOutput, faultBlank, faultArguments, faultServerCall, faultMalformed,
}
