// Package responses encodes and decodes requests, responses, streams and errors of the
// Responses API of OpenAI.
package responses

import (
	"unicode/utf8"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/providers/internal/codec"
	"github.com/looptape/looptape/providers/protocol"
)

// Protocol is the protocol of POST /responses of OpenAI and OpenAI-compatible servers
// (https://platform.openai.com/docs/api-reference/responses). It is safe for concurrent use.
//
// # Requests
//
// The system prompt is "instructions". Messages, calls, their results and reasoning are items
// of "input". The provider stores nothing: store is false, and requests ask for encrypted
// reasoning and send it back. Members of Request.Extra replace those of the body; null omits
// one. The objects "reasoning" and "text", with the "format" in it, are joined member by
// member. "tools" are added to the tools of the request and replace those of the same name.
//
// EncodeRequest returns an error for what the protocol cannot represent: a seed, stop
// sequences, audio other than WAV and MP3, media from an assistant. It omits the error flag of
// results, empty text, and what only another provider understands: opaque members, reasoning,
// parts of unknown kinds (see [protocol.Protocol]), and the calls that it ran with their results.
// A call id of more than 64 characters, which OpenAI rejects, becomes its beginning and a
// digest.
//
// # Opaque data
//
// Each part carries the members of its item or content part without a field in llm:
// {"id":"fc_…"} on a call, {"id":"rs_…","summary":[…],"encrypted_content":"…"} on reasoning,
// {"id":"msg_…","annotations":[…]} on text. Names that this package does not know have the
// prefix "responses:" for an item and "responses_content:" for a content part. An item of
// another kind is a call with ProviderExecuted if the provider ran it, or else Unknown with the
// whole item. The kind has the prefix "responses:" if another protocol would claim it. Requests
// contain all of it in place, except what the provider would reject: a duplicate or foreign id,
// and reasoning at the end.
//
// Undocumented members of the response are in the member "responses_answer" of the message's
// opaque data, up to 32 KiB each. EncodeResponse writes them; requests omit them. Unknown
// events and members of events are skipped.
//
// # Round trips
//
// DecodeRequest(EncodeRequest(r)) equals r with these exceptions. Assistant messages in a row
// are one message, and so are tool messages. A result has the name of its call and no IsError.
// Media at a URL has the type image/*, application/octet-stream, or application/pdf by its
// name. A tool without Strict whose schema breaks the strict rules is not strict. A schema
// without properties has an empty list of them. Raw JSON is compact. Without tools, the tool
// choice and ParallelToolCalls are omitted. Names of calls contain only letters, digits, _ and
// -.
type Protocol struct{}

var _ protocol.Protocol = Protocol{}

// Name returns "openai-responses".
func (Protocol) Name() string { return protocolName }

const protocolName = "openai-responses"

func newDec(body []byte) (jsonio.Dec, error) {
	if jsonio.ValidUTF8(body) {
		return jsonio.NewDec(string(body)), nil
	}
	at := 0
	for {
		r, n := utf8.DecodeRune(body[at:])
		if r == utf8.RuneError && n == 1 {
			return jsonio.Dec{}, &jsonio.SyntaxError{Msg: "the text is not UTF-8", Offset: at}
		}
		at += n
	}
}

var itemNames = codec.MemberNames{Prefix: "responses:", Known: []string{"action", "content", "encrypted_content", "id", "namespace", "phase", "summary"}}

// contentNames are the known opaque members of content parts.
var contentNames = codec.MemberNames{Prefix: "responses_content:", Known: []string{"annotations", "detail", "file_id", "logprobs"}}
