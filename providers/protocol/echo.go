package protocol

import (
	"encoding/json"

	"github.com/looptape/looptape/llm"
)

// ReturnedOpaque returns the part of a response's opaque data that a request of p contains on
// the message. It is nil if there is none. Requests omit data about the response alone, such as
// logprobs, and contain some data elsewhere, such as the container of Anthropic.
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
