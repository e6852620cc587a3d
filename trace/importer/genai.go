package importer

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"unicode"

	"github.com/looptape/looptape/llm"
)

// field returns the member of an object that has a name in snake case, which may be
// spelled in camel case too, as Google's libraries do either; null is nil.
func field(raw json.RawMessage, name string) json.RawMessage {
	for key, value := range membersOf(raw) {
		if snake(key) == name && !isNull(value) {
			return value
		}
	}
	return nil
}

// snake turns a name in camel case into snake case.
func snake(name string) string {
	if !strings.ContainsFunc(name, unicode.IsUpper) {
		return name
	}
	var b strings.Builder
	for _, r := range name {
		if unicode.IsUpper(r) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// contents reads a Content of the Gemini API, which may have results of tools beside other
// parts: they are a message of their own, before it. A call without an id is answered by
// the next result of its name that has none.
func (c *conversation) contents(content json.RawMessage) (messages []llm.Message) {
	var parts []llm.Part
	for _, part := range elementsOf(field(content, "parts")) {
		if p := c.genaiPart(part); p != nil {
			parts = append(parts, p)
		}
	}
	said, results := separate(parts)
	if results != nil {
		messages = append(messages, llm.Message{Role: llm.RoleTool, Parts: results})
	}
	if said != nil {
		role := llm.RoleUser
		if text, _ := textOf(field(content, "role")); text == "model" {
			role = llm.RoleAssistant
		}
		messages = append(messages, llm.Message{Role: role, Parts: said})
	}
	return messages
}

// genaiPart reads a part; what is null in it is not there. It is nil if nothing is. One
// that llm has no word for is kept whole, as the "value" of an llm.Unknown whose own kind
// begins with "gemini.".
func (c *conversation) genaiPart(part json.RawMessage) llm.Part {
	var kind string
	var value json.RawMessage
	var thought bool
	var rest opaque
	for key, raw := range membersOf(part) {
		switch name := snake(key); {
		case isNull(raw):
		case name == "thought":
			thought = string(raw) == "true"
		case isKind(name) && value == nil:
			kind, value = name, raw
		default:
			rest.raw(key, string(raw))
		}
	}
	text, isText := textOf(value)
	switch {
	case kind == "text" && isText && thought:
		return llm.Reasoning{Text: text, Opaque: rest.json()}
	case kind == "text" && isText:
		return llm.Text{Text: text, Opaque: rest.json()}
	case kind == "function_call":
		return c.functionCall(value, rest.json())
	case kind == "function_response":
		return c.functionResponse(value, rest.json())
	case kind == "inline_data", kind == "file_data":
		return blob(value, rest.json())
	case kind == "" && rest == nil:
		return nil
	}
	return unknown("gemini."+kind, string(part))
}

// isKind reports whether a member of a part is what the part is.
func isKind(name string) bool {
	switch name {
	case "text", "function_call", "function_response", "inline_data", "file_data", "executable_code", "code_execution_result":
		return true
	}
	return false
}

// functionCall reads a FunctionCall.
func (c *conversation) functionCall(raw, rest json.RawMessage) llm.ToolCall {
	call := llm.ToolCall{
		ID:        scalar(field(raw, "id")),
		Name:      scalar(field(raw, "name")),
		Arguments: string(field(raw, "args")), Opaque: rest,
	}
	if call.ID == "" {
		c.mint(&call)
	}
	return call
}

// functionResponse reads a FunctionResponse. What the tool returned stands as its JSON.
func (c *conversation) functionResponse(raw, rest json.RawMessage) llm.ToolResult {
	r := llm.ToolResult{ID: scalar(field(raw, "id")), Name: scalar(field(raw, "name")), Opaque: rest}
	if r.ID == "" {
		r.ID = c.answered(r.Name, "")
	}
	if response := field(raw, "response"); response != nil {
		r.Content = []llm.Part{llm.Text{Text: string(response)}}
	}
	return r
}

// blob reads a Blob or a FileData.
func blob(raw, rest json.RawMessage) llm.Part {
	m := llm.Media{MediaType: scalar(field(raw, "mime_type")), Name: scalar(field(raw, "display_name")), URL: scalar(field(raw, "file_uri")), Opaque: rest}
	data := scalar(field(raw, "data"))
	if data == "" {
		return m
	}
	// Python writes the alphabet for URLs, the API the other one.
	b, err := base64.StdEncoding.DecodeString(strings.NewReplacer("-", "+", "_", "/").Replace(data))
	if err != nil {
		return unknown("gemini.inline_data", string(raw))
	}
	m.Data = b
	return m
}
