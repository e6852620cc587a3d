package protocol

import (
	"encoding/json"

	"github.com/looptape/looptape/llm"
)

// ReturnedOpaque returns what comes back of the opaque data of an answer's message, in a
// request of the protocol, where that request's message has it. The rest tells of the
// answer alone (what is not known of it, why it ended, its logprobs), or has its place
// elsewhere in a request, as a container of Anthropic's. It is nil if nothing comes back.
func ReturnedOpaque(p Protocol, opaque json.RawMessage) json.RawMessage {
	if opaque == nil {
		return nil
	}
	turn := llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{llm.Text{Text: "x"}}, Opaque: opaque}
	sent, err := p.EncodeRequest(&llm.Request{Messages: []llm.Message{turn}})
	if err != nil {
		return nil
	}
	read, err := p.DecodeRequest(sent.Path, sent.Body)
	if err != nil || len(read.Messages) != 1 {
		return nil
	}
	return read.Messages[0].Opaque
}
