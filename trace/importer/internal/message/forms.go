package message

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/anthropic"
	"github.com/looptape/looptape/providers/openai/responses"
	"github.com/looptape/looptape/trace/importer/internal/tree"
)

// formOf returns the form of a message that has this part, which Chat Completions does not have.
// The parts of Bedrock Converse have no type, not even the first one.
func formOf(u llm.Unknown, first bool) form {
	kind := strings.TrimPrefix(u.Kind, "openai.")
	switch {
	case slices.Contains([]string{"tool_use", "tool_result", "thinking", "redacted_thinking"}, kind),
		strings.HasSuffix(kind, "_tool_use"), strings.HasSuffix(kind, "_tool_result"):
		return blocks
	case strings.HasPrefix(kind, "input_") && kind != "input_audio", kind == "output_text":
		return itemParts
	case first && kind == "" && isConverse(tree.Member(u.Raw, "value")):
		return converse
	}
	return openAI
}

// IsItem reports whether a type is that of an item of Responses other than a message.
func IsItem(kind string) bool {
	return strings.HasSuffix(kind, "_call") || strings.HasSuffix(kind, "_call_output") ||
		slices.Contains([]string{"reasoning", "item_reference", "compaction", "mcp_list_tools", "mcp_approval_request", "mcp_approval_response"}, kind)
}

// Flush appends the messages of the items of Responses that Add has kept. It must be called after
// the last message of a list.
func (r *Reader) Flush(messages []llm.Message) ([]llm.Message, error) {
	if len(r.items) == 0 {
		return messages, nil
	}
	req, err := responses.Protocol{}.DecodeRequest("/responses", []byte(`{"input":[`+strings.Join(r.items, ",")+`]}`))
	r.items = nil
	if err != nil {
		return messages, err
	}
	return append(messages, req.Messages...), nil
}

// other reads a message of Gemini, Bedrock Converse or Anthropic; nil if it is of none of them.
func (r *Reader) other(raw json.RawMessage, isContent bool) (messages []llm.Message) {
	switch {
	case isContent:
		messages, r.Protocol = r.Contents(raw), "gemini"
	case r.form == converse:
		messages, r.Protocol = Converse(raw), "bedrock-converse"
	case r.form == blocks:
		messages, r.Protocol = anthropicMessages(raw), "anthropic-messages"
	}
	if messages != nil && messages[0].Opaque == nil {
		messages[0].Opaque = tree.Without(raw, "role", "parts", "content")
	}
	return messages
}

// anthropicMessages reads a message of Anthropic; nil if it is not valid.
func anthropicMessages(raw json.RawMessage) []llm.Message {
	req, err := anthropic.Messages{}.DecodeRequest("/v1/messages", slices.Concat([]byte(`{"messages":[`), raw, []byte(`]}`)))
	if err != nil {
		return nil
	}
	return req.Messages
}

// isConverse reports whether a value is a ContentBlock of Bedrock Converse
// (https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ContentBlock.html).
func isConverse(part json.RawMessage) bool {
	for key := range tree.Members(part) {
		if slices.Contains(converseKinds, key) {
			return true
		}
	}
	return false
}

var converseKinds = []string{
	"text", "toolUse", "toolResult", "reasoningContent", "citationsContent", "image", "document", "video", "audio",
	"guardContent", "cachePoint", "searchResult",
}

// Converse reads a message of Bedrock Converse. Results of tools become a message of their own,
// before the other parts.
func Converse(raw json.RawMessage) []llm.Message {
	var parts []llm.Part
	for _, part := range tree.Elements(raw, "content") {
		parts = append(parts, conversePart(part))
	}
	others, results := Separate(parts)
	return AddStep(AddStep(nil, llm.RoleTool, results), llm.Role(tree.Scalar(raw, "role")), others)
}

// conversePart reads a ContentBlock. A block of a kind that llm does not have is kept whole; see
// [Unknown].
func conversePart(part json.RawMessage) llm.Part {
	var kind string
	var value json.RawMessage
	for key, raw := range tree.Members(part) {
		if slices.Contains(converseKinds, key) && !tree.IsNull(raw) {
			kind, value = key, raw
		}
	}
	rest := tree.Without(part, kind)
	switch kind {
	case "text":
		return llm.Text{Text: tree.String(value), Opaque: rest}
	case "toolUse":
		return llm.ToolCall{
			ID: tree.Scalar(value, "toolUseId"), Name: tree.Scalar(value, "name"), Arguments: tree.String(value, "input"),
			ProviderExecuted: tree.Scalar(value, "type") == "server_tool_use",
			Opaque:           tree.Without(value, "toolUseId", "name", "input"),
		}
	case "toolResult":
		if tree.Scalar(value, "type") == "" { // the provider's own tools have one
			return converseResult(value)
		}
	case "reasoningContent":
		return llm.Reasoning{Text: tree.Scalar(value, "reasoningText", "text"), Opaque: part}
	case "citationsContent":
		text := ""
		for _, c := range tree.Elements(value, "content") {
			text += tree.Scalar(c, "text")
		}
		return llm.Text{Text: text, Opaque: part}
	}
	return Unknown("converse."+kind, string(part))
}

func converseResult(value json.RawMessage) llm.ToolResult {
	r := llm.ToolResult{
		ID: tree.Scalar(value, "toolUseId"), IsError: tree.Scalar(value, "status") == "error",
		Opaque: tree.Without(value, "toolUseId", "content", "status"),
	}
	for _, part := range tree.Elements(value, "content") {
		if j := tree.Member(part, "json"); j != nil {
			r.Content = append(r.Content, llm.Text{Text: string(j)})
			continue
		}
		r.Content = append(r.Content, conversePart(part))
	}
	return r
}
