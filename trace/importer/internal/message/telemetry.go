package message

import (
	"encoding/base64"
	"encoding/json"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/internal/jsonval"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/importer/internal/tree"
)

// Telemetry reads a list of messages of OpenTelemetry's conventions for generative AI
// (gen_ai.input.messages). A message without a list of parts is in OpenAI's form; invalid ones are
// skipped.
func (r *Reader) Telemetry(list json.RawMessage) (messages []llm.Message) {
	for _, m := range tree.Elements(list) {
		var x tree.Index
		x.Read(m)
		list := x.Member("parts")
		if tree.IsNull(list) || list[0] != '[' || !x.AreStrings("role") {
			d := jsonio.NewDec(jsonio.View(m))
			messages = r.Add(messages, &d)
			continue
		}
		role := tree.Scalar(x.Member("role"))
		others, results := Separate(TelemetryParts(list))
		messages = AddStep(messages, llm.RoleTool, results)
		if others != nil || results == nil {
			messages = append(messages, llm.Message{Role: llm.Role(role), Parts: others})
		}
		names := []string{"role", "parts"}
		if others == nil && results != nil && role != "tool" && role != "user" {
			names = names[1:]
		}
		messages[len(messages)-1].Opaque = x.Without(names...)
	}
	return messages
}

// TelemetryParts reads a list of parts of OpenTelemetry's conventions.
func TelemetryParts(list json.RawMessage) (parts []llm.Part) {
	for _, part := range tree.Elements(list) {
		parts = append(parts, telemetryPart(part))
	}
	return parts
}

// telemetryPart reads a part of a message. A part of a kind that llm does not have is kept whole;
// see [Unknown].
func telemetryPart(part json.RawMessage) llm.Part {
	var x tree.Index
	x.Read(part)
	kind, content := tree.Scalar(x.Member("type")), x.Member("content")
	if !x.AreStrings("type", "name", "mime_type", "uri") {
		kind = "" // of no known kind
	}
	media := tree.Scalar(x.Member("mime_type"))
	switch {
	case kind == "text" && tree.IsText(content):
		return llm.Text{Text: tree.String(content), Opaque: x.Without("type", "content")}
	case kind == "reasoning" && tree.IsText(content):
		return llm.Reasoning{Text: tree.String(content), Opaque: x.Without("type", "content")}
	case kind == "tool_call":
		// The conventions allow any JSON as arguments.
		return llm.ToolCall{ID: idOf(x.Member("id")), Name: tree.Scalar(x.Member("name")), Arguments: tree.String(x.Member("arguments")), Opaque: x.Without("type", "id", "name", "arguments")}
	case kind == "tool_call_response":
		return llm.ToolResult{ID: idOf(x.Member("id")), Content: TextParts(x.First("response", "result")), Opaque: x.Without("type", "id", "response", "result")}
	case kind == "uri":
		return llm.Media{MediaType: media, URL: tree.Scalar(x.Member("uri")), Opaque: x.Without("type", "mime_type", "uri")}
	case kind == "blob" && tree.IsText(content):
		if b, err := base64.StdEncoding.DecodeString(tree.String(content)); err == nil {
			return llm.Media{MediaType: media, Data: b, Opaque: x.Without("type", "mime_type", "content")}
		}
	}
	return Unknown("otel."+kind, string(part))
}

// AreStrings reports whether each of the members is a string, null or missing.
func AreStrings(object json.RawMessage, names ...string) bool {
	var x tree.Index
	x.Read(object)
	return x.AreStrings(names...)
}

// idOf returns the id of a call: a string or, as the JSON of it, another value.
func idOf(raw json.RawMessage) string {
	if tree.IsNull(raw) {
		return ""
	}
	if text, ok := tree.Text(raw); ok {
		return text
	}
	return jsonval.Canonical(string(raw))
}
