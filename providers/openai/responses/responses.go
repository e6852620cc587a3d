package responses

import (
	"github.com/looptape/looptape/providers/protocol"
)

// Responses is the protocol of POST /responses, as the section "Responses" of
// the API reference (https://platform.openai.com/docs/api-reference/responses)
// has it, and the servers that imitate it. Its values are all alike.
//
// # Requests
//
// The system prompt is "instructions"; messages are items of "input", and so are
// calls, their outputs and reasoning. Nothing is kept by the provider: store is
// false, and encrypted reasoning is asked for and sent back. Request.Extra can say
// otherwise: its members stand in the body's top object, instead of what would
// stand there; null takes that away; the objects "reasoning" and "text", with the
// "format" in it, are joined member by member; "tools" are added to the tools of
// the request, and stand for those of the same name.
//
// What the protocol has no word for is an error: a seed, stop sequences, sound that
// is neither WAV nor MP3, media from an assistant. What it has no word for and can do
// without is left out: that a result is an error (its text says so), empty text, and
// what is another provider's alone: members of opaque data, reasoning, parts of a kind
// that is not known (see protocol.Omits), calls that it ran itself with their results.
//
// A call id of over 64 characters, which the provider refuses, is sent as its
// beginning and a digest.
//
// # Opaque data
//
// Each part carries the members of its item (or of its piece of content) that have
// no field of their own, by their names on the wire, or, if this package does not know
// them, with "responses:" before those of an item and "responses_content:" before those
// of a piece: {"id":"fc_…"} on a call,
// {"id":"rs_…","summary":[…],"encrypted_content":"…"} on reasoning,
// {"id":"msg_…","annotations":[…]} on text. Items of other kinds are calls with
// ProviderExecuted if the provider ran them, and Unknown if not, with the whole item;
// its Kind begins with "responses:" if nothing else tells that it is of this protocol.
// All of it is echoed where it stood, unless the provider would refuse it: an id that
// came twice or that none of its items has, reasoning with nothing behind it.
//
// Members of the response that the API does not document are in the opaque data of the
// message, within a member "responses_answer", but for what repeats the request, tells
// of the service or is over 32 KiB long. They are written again in an answer, and not
// sent back. Events of other kinds, and members of events, are passed over.
//
// # A request read back
//
// DecodeRequest(EncodeRequest(r)) is r, but for these: assistant messages in a row
// are one message, and so are tool messages; a result has the name of its call, and
// no IsError; media by URL has the type image/* or application/octet-stream, or
// application/pdf by its name; a tool that leaves Strict open and whose schema does not
// keep the rules of it is not strict (the provider would take it for strict, and refuse
// it); a schema without properties has an empty list of them; raw JSON is compact; the
// tool choice and ParallelToolCalls go where there are no tools; names of calls have only
// the characters that the provider allows.
type Protocol struct{}

var _ protocol.Protocol = Protocol{}

// Name returns openai-responses.
func (Protocol) Name() string { return protocolName }

const protocolName = "openai-responses"
