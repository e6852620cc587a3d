package chat

import (
	"net/http"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/internal/wirejson"
	"github.com/looptape/looptape/providers/openai/internal/api"
	"github.com/looptape/looptape/providers/protocol"
)

// Chat is the protocol Chat Completions, as OpenAI serves it and as its many
// imitators do. Its zero value suits OpenAI; the fields are for servers that
// differ.
//
// What Request.Extra holds stands in the body as it is, instead of what the
// codec would write there; null leaves a member out. Opaque data are members
// of the object that they are on (cache_control, extra_content), with "chat:" before
// the names that this package does not know; for those of reasoning see below.
//
// What an answer tells beside what llm has fields for is in the opaque data of its
// message: "audio", "annotations", "images", "logprobs" and what is sent back (Google's
// "extra_content") under these names, and what is not known within a member
// "chat_answer", by the object it came on (message, choice, response), but for what
// quirks QO-19 and QO-24 call noise. Deltas are joined: arrays by their elements, or by
// the index of each, the data and transcript of a sound as texts; of all else the last
// word counts. All of it is written again in an answer. Of a sound only the id is sent
// back, of annotations those of files. The transcript of a sound is the text, where the
// content has none.
//
// The protocol knows one text and one list of calls a message, so an assistant
// message has its reasoning first, then its texts, then its calls. It has no
// mark for a failed result: the text has to say so. Results are texts. Media of
// users are images, sounds (WAV and MP3) and files.
//
// A history may have begun with another provider. What is that one's alone is not
// sent: members of opaque data, reasoning, parts of a kind that is not known (see
// protocol.Omits), calls that it ran itself with their results; and neither is a
// message of the assistant of which nothing is left.
//
// Reasoning is none of OpenAI's protocol, but of its imitators'. The Opaque of
// such a part is {"field": …}, the name of the field that it came in
// (reasoning_content, reasoning, or content, where Mistral has it among the
// texts), and "reasoning_details", OpenRouter's pieces, whole. It goes back where
// it came from (quirk QO-29); reasoning without a field or details is of
// another protocol and is not sent.
type Protocol struct {
	// MaxTokens sends the bound of the output as max_tokens, for servers that do
	// not know max_completion_tokens. OpenAI's reasoning models refuse it.
	MaxTokens bool
	// Developer sends the system prompt in a message of the role developer.
	Developer bool
	// LongIDs sends ids of calls as they are. OpenAI refuses those of over 40
	// characters, which are otherwise sent as their beginning and a digest; other
	// servers give such ids themselves.
	LongIDs bool
}

var _ protocol.Protocol = Protocol{}

// Name implements protocol.Protocol.
func (Protocol) Name() string { return protocolName }

const protocolName = "openai-chat"

// DecodeError implements protocol.Protocol. The code is the error's code or, if
// that is null, its type.
func (Protocol) DecodeError(status int, _ http.Header, body []byte) *llm.APIError {
	return api.DecodeError(status, body)
}

// EncodeError implements protocol.Protocol. For the error's param see Error.
func (Protocol) EncodeError(e *llm.APIError) []byte { return api.EncodeError(e) }

// NewDecoder implements protocol.Protocol.
func (Protocol) NewDecoder() protocol.Decoder { return &decoder{} }

// DecodeResponse implements protocol.Protocol: an answer in one piece is read like
// the one chunk of a stream.
func (Protocol) DecodeResponse(body []byte, emit func(llm.Event)) error {
	if !isResponse(body) {
		return wirejson.UnexpectedBody(body)
	}
	d := &decoder{done: true, reasoning: reasoningReader{whole: true}}
	if err := d.chunk(string(body), emit); err != nil {
		return err
	}
	return d.End(emit)
}

// isChatAnswer reports whether a body is an answer, or tells an error as one.
func isResponse(body []byte) (is bool) {
	wirejson.EachMember(body, func(key, raw string) {
		switch key {
		case "choices":
			is = is || raw[0] == '['
		case "error":
			is = is || raw != "null"
		case "object":
			is = is || raw == `"error"`
		}
	})
	return is
}
