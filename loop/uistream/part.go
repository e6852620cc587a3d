package uistream

import (
	"encoding/json"

	"github.com/looptape/looptape/loop/internal/dialect"
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
	var members []any
	switch p.Type {
	case "start":
		members = []any{"messageId,omitzero", p.MessageID, "messageMetadata,omitzero", p.Metadata}
	case "message-metadata":
		members = []any{"messageMetadata,omitzero", p.Metadata}
	case "text-start", "text-end", "reasoning-start", "reasoning-end":
		members = []any{"id", p.ID}
	case "text-delta", "reasoning-delta":
		members = []any{"id", p.ID, "delta", p.Delta}
	case "tool-input-start":
		members = []any{"toolCallId", p.ToolCallID, "toolName", p.ToolName}
	case "tool-input-delta":
		members = []any{"toolCallId", p.ToolCallID, "inputTextDelta", p.Delta}
	case "tool-input-available":
		members = []any{"toolCallId", p.ToolCallID, "toolName", p.ToolName, "input", p.Input}
	case "tool-input-error":
		members = []any{"toolCallId", p.ToolCallID, "toolName", p.ToolName, "input", p.Input, "errorText", p.ErrorText}
	case "tool-output-available":
		members = []any{"toolCallId", p.ToolCallID, "output", p.Output}
	case "tool-output-error":
		members = []any{"toolCallId", p.ToolCallID, "errorText", p.ErrorText}
	case "error":
		members = []any{"errorText", p.ErrorText}
	case "file":
		members = []any{"url", p.URL, "mediaType", p.MediaType}
	case "finish":
		members = []any{"finishReason,omitzero", p.FinishReason, "messageMetadata,omitzero", p.Metadata}
	}
	members = append(members, "providerExecuted,omitzero", p.ProviderExecuted)
	return dialect.Object(append([]any{"type", p.Type}, members...)...)
}
