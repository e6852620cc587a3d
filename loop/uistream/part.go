package uistream

import (
	"encoding/json"

	"github.com/looptape/looptape/loop/preset/dialect"
)

// Part is a part of the stream. Type determines which fields are set; the JSON contains only
// those fields.
type Part struct {
	// Type is start, start-step, text-start, text-delta, text-end, reasoning-start,
	// reasoning-delta, reasoning-end, tool-input-start, tool-input-delta,
	// tool-input-available, tool-input-error, tool-output-available, tool-output-error,
	// file, message-metadata, finish-step, error, abort or finish.
	Type         string
	ID           string          // text-*, reasoning-*
	Delta        string          // text-delta, reasoning-delta, tool-input-delta
	ToolCallID   string          // tool-*
	ToolName     string          // tool-input-*, except tool-input-delta
	Input        json.RawMessage // tool-input-available, tool-input-error; invalid JSON is a string
	Output       json.RawMessage // tool-output-available: a value, or text as a string
	ErrorText    string          // tool-input-error, tool-output-error, error
	URL          string          // file
	MediaType    string          // file
	MessageID    string          // start; may be empty
	Metadata     json.RawMessage // start, message-metadata, finish; may be nil
	FinishReason string          // finish; may be empty
	// ProviderExecuted is true for calls that the provider executed, and for their results.
	ProviderExecuted bool
}

// MarshalJSON encodes the part as the protocol specifies. It returns an error if Metadata is
// not JSON.
func (p Part) MarshalJSON() ([]byte, error) {
	members := []dialect.Member{{Key: "type", Value: p.Type}}
	add := func(key string, value any) { members = append(members, dialect.Member{Key: key, Value: value}) }
	text := func(key, value string) {
		if value != "" {
			add(key, value)
		}
	}
	switch p.Type {
	case "start":
		text("messageId", p.MessageID)
	case "text-start", "text-end", "reasoning-start", "reasoning-end":
		add("id", p.ID)
	case "text-delta", "reasoning-delta":
		add("id", p.ID)
		add("delta", p.Delta)
	case "tool-input-start":
		add("toolCallId", p.ToolCallID)
		add("toolName", p.ToolName)
	case "tool-input-delta":
		add("toolCallId", p.ToolCallID)
		add("inputTextDelta", p.Delta)
	case "tool-input-available", "tool-input-error":
		add("toolCallId", p.ToolCallID)
		add("toolName", p.ToolName)
		add("input", p.Input)
	case "tool-output-available":
		add("toolCallId", p.ToolCallID)
		add("output", p.Output)
	case "tool-output-error":
		add("toolCallId", p.ToolCallID)
	case "file":
		add("url", p.URL)
		add("mediaType", p.MediaType)
	case "finish":
		text("finishReason", p.FinishReason)
	}
	switch p.Type {
	case "tool-input-error", "tool-output-error", "error":
		add("errorText", p.ErrorText)
	case "start", "message-metadata", "finish":
		if p.Metadata != nil {
			add("messageMetadata", p.Metadata)
		}
	}
	if p.ProviderExecuted {
		add("providerExecuted", true)
	}
	return dialect.Object(members...)
}
