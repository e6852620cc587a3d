// Package chat encodes and decodes requests, responses, streams and errors of the Chat
// Completions API of OpenAI and OpenAI-compatible servers.
package chat

import (
	"net/http"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/internal/codec"
	"github.com/looptape/looptape/providers/openai/internal/api"
	"github.com/looptape/looptape/providers/protocol"
)

// Protocol is the Chat Completions protocol of OpenAI and OpenAI-compatible servers. The zero
// value suits OpenAI; the fields are for other servers. It is safe for concurrent use.
//
// The members of Request.Extra replace those that the codec would write. A null member is
// omitted. Opaque data contains the members of the object that it is on (cache_control,
// extra_content). Names that this package does not know have the prefix "chat:".
//
// Members of a response without a field in llm are in the opaque data of its message. "audio",
// "annotations", "images", "logprobs" and Google's "extra_content" have their own names.
// Unknown members are in "chat_answer", grouped by message, choice and response, except those
// that quirks QO-19 and QO-24 name. Deltas are joined: array elements by position or index, the
// data and transcript of audio as strings. Of other members the last value counts.
// EncodeResponse writes all of them. Requests contain the id of audio and the annotations of
// files only. The transcript of audio is the text if the content has none.
//
// The protocol has one text and one list of calls per message. So an assistant message contains
// its reasoning first, then its text, then its calls. The protocol has no error flag for
// results, and results contain only text. Media in user messages are images, audio (WAV and
// MP3) and files.
//
// The history may come from another provider. Requests omit what only that provider
// understands: opaque members, reasoning, parts of unknown kinds (see [protocol.Protocol]), and
// the calls that it ran with their results. They also omit assistant messages that are empty
// then.
//
// Only OpenAI-compatible servers send reasoning; the OpenAI API does not. The Opaque of such a
// part contains "field", the member that it came in (reasoning_content, reasoning, or content
// for Mistral), and "reasoning_details" of OpenRouter. Requests send it in the same member
// (quirk QO-29). Reasoning without either is omitted, because it belongs to another protocol.
type Protocol struct {
	// MaxTokens sends the token limit as max_tokens, for servers that do not know
	// max_completion_tokens. OpenAI's reasoning models reject it.
	MaxTokens bool
	// Developer sends the system prompt with the role developer.
	Developer bool
	// LongIDs sends call ids unchanged. By default, ids of more than 40 characters, which
	// OpenAI rejects, become their beginning and a digest.
	LongIDs bool
}

var _ protocol.Protocol = Protocol{}

// Name returns "openai-chat".
func (Protocol) Name() string { return protocolName }

const protocolName = "openai-chat"

// DecodeError implements [protocol.Protocol]. The code is the code of the error or, if that is
// null, its type.
func (Protocol) DecodeError(status int, _ http.Header, body []byte) *llm.APIError {
	return api.DecodeError(status, body)
}

// EncodeError implements [protocol.Protocol]. It writes no param.
func (Protocol) EncodeError(e *llm.APIError) []byte { return api.EncodeError(e) }

// NewDecoder implements [protocol.Protocol].
func (Protocol) NewDecoder() protocol.Decoder { return &decoder{} }

// DecodeResponse implements [protocol.Protocol]. It reads a non-streaming response like the
// only chunk of a stream.
func (Protocol) DecodeResponse(body []byte, emit func(llm.Event)) error {
	if !isResponse(body) {
		return codec.UnexpectedBody(body)
	}
	d := &decoder{done: true, emit: emit, reasoning: reasoningReader{nonStreaming: true}}
	if err := d.chunk(string(body)); err != nil {
		return err
	}
	return d.End(emit)
}

func isResponse(body []byte) bool {
	for key, raw := range codec.EachMember(body) {
		if key == "choices" && raw[0] == '[' || key == "error" && raw != "null" || key == "object" && raw == `"error"` {
			return true
		}
	}
	return false
}
