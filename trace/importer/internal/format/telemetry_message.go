package format

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"strconv"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/importer/internal/message"
	"github.com/looptape/looptape/trace/importer/internal/tree"
)

// The attributes with messages: those of
// https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-spans/ and those of ADK.
const (
	inputMessages      = "gen_ai.input.messages"
	outputMessages     = "gen_ai.output.messages"
	systemInstructions = "gen_ai.system_instructions"
	vertexRequest      = "gcp.vertex.agent.llm_request"
	vertexResponse     = "gcp.vertex.agent.llm_response"
)

// spanReader reads the messages of a span from its attributes or its events.
type spanReader struct {
	reader     message.Reader
	attributes map[string]json.RawMessage
	events     []spanEvent
}

// conventions are the forms of messages in spans, the best one first.
var conventions = []func(*spanReader) (input, output []llm.Message){
	(*spanReader).standard, (*spanReader).byEvents, (*spanReader).indexed, (*spanReader).vertex,
}

// standard reads the current conventions of OpenTelemetry: attributes of the span, or of an
// event with the details of the call.
func (s *spanReader) standard() (input, output []llm.Message) {
	all := []map[string]json.RawMessage{s.attributes}
	for _, e := range s.events {
		all = append(all, e.attributes)
	}
	for _, a := range all {
		if system := spanParts(tree.Embedded(a[systemInstructions])); system != nil {
			input = append(input, llm.Message{Role: llm.RoleSystem, Parts: system})
		}
		input = append(input, s.messages(a[inputMessages])...)
		output = append(output, s.messages(a[outputMessages])...)
	}
	return input, output
}

// messages reads a list of messages. A message without parts is in OpenAI's form.
func (s *spanReader) messages(raw json.RawMessage) (messages []llm.Message) {
	for _, m := range tree.Elements(tree.Embedded(raw)) {
		if tree.Member(m, "parts") == nil {
			messages = append(messages, s.openAI(m)...)
			continue
		}
		others, results := message.Separate(spanParts(tree.Member(m, "parts")))
		messages = message.AddStep(messages, llm.RoleTool, results)
		if others != nil {
			messages = append(messages, llm.Message{Role: llm.Role(tree.Scalar(m, "role")), Parts: others, Opaque: tree.Without(m, "role", "parts")})
		}
	}
	return messages
}

// openAI reads a message in OpenAI's form; nil if it is not one.
func (s *spanReader) openAI(raw json.RawMessage) []llm.Message {
	d := jsonio.NewDec(jsonio.View(raw))
	return s.reader.Add(nil, &d)
}

func spanParts(list json.RawMessage) (parts []llm.Part) {
	for _, part := range tree.Elements(list) {
		parts = append(parts, spanPart(part))
	}
	return parts
}

// spanPart reads a part of a message. A part of a kind that llm does not have is kept whole;
// see [message.Unknown].
func spanPart(part json.RawMessage) llm.Part {
	kind := tree.Scalar(part, "type")
	text, isText := tree.Text(part, "content")
	id := tree.Scalar(part, "id")
	media := tree.Scalar(part, "mime_type")
	switch {
	case kind == "text" && isText:
		return llm.Text{Text: text, Opaque: tree.Without(part, "type", "content")}
	case kind == "reasoning" && isText:
		return llm.Reasoning{Text: text, Opaque: tree.Without(part, "type", "content")}
	case kind == "tool_call":
		return llm.ToolCall{ID: id, Name: tree.Scalar(part, "name"), Arguments: tree.String(part, "arguments"), Opaque: tree.Without(part, "type", "id", "name", "arguments")}
	case kind == "tool_call_response":
		return llm.ToolResult{ID: id, Content: message.TextParts(tree.First(part, "response", "result")), Opaque: tree.Without(part, "type", "id", "response", "result")}
	case kind == "uri":
		return llm.Media{MediaType: media, URL: tree.Scalar(part, "uri"), Opaque: tree.Without(part, "type", "mime_type", "uri")}
	case kind == "blob" && isText:
		if b, err := base64.StdEncoding.DecodeString(text); err == nil {
			return llm.Media{MediaType: media, Data: b, Opaque: tree.Without(part, "type", "mime_type", "content")}
		}
	}
	return message.Unknown("otel."+kind, string(part))
}

// byEvents reads the conventions before version 1.37: an event for each message.
func (s *spanReader) byEvents() (input, output []llm.Message) {
	for _, e := range s.events {
		role, ok := map[string]string{
			"gen_ai.system.message": "system", "gen_ai.user.message": "user", "gen_ai.tool.message": "tool",
			"gen_ai.assistant.message": "assistant", "gen_ai.choice": "assistant",
		}[e.name]
		if !ok {
			continue
		}
		a := e.attributes
		if m := tree.Embedded(a["message"]); m != nil && m[0] == '{' {
			a = maps.Collect(tree.Members(m))
		}
		content := a["content"]
		if content == nil && e.name == "gen_ai.choice" {
			content = e.attributes["message"]
		}
		messages := s.openAI(openAIMessage(role, content, a["id"], tree.Embedded(a["tool_calls"])))
		if e.name == "gen_ai.choice" {
			output = append(output, messages...)
		} else {
			input = append(input, messages...)
		}
	}
	return input, output
}

// indexed reads the attributes of OpenLLMetry (github.com/traceloop/openllmetry). Each has a
// part of a message, with the index of the message in its name.
func (s *spanReader) indexed() (input, output []llm.Message) {
	read := func(prefix string) (messages []llm.Message) {
		for n := 0; ; n++ {
			at := prefix + "." + strconv.Itoa(n) + "."
			role := tree.Scalar(s.attributes[at+"role"])
			if role == "" {
				return messages
			}
			messages = append(messages, s.openAI(openAIMessage(role, s.attributes[at+"content"], s.attributes[at+"tool_call_id"], s.indexedCalls(at)))...)
		}
	}
	return read("gen_ai.prompt"), read("gen_ai.completion")
}

func (s *spanReader) indexedCalls(prefix string) json.RawMessage {
	var calls []byte
	for n := 0; ; n++ {
		at := prefix + "tool_calls." + strconv.Itoa(n) + "."
		name := s.attributes[at+"name"]
		if name == nil {
			break
		}
		var c tree.Object
		c.Add("function", name)
		for _, key := range []string{"id", "arguments"} {
			c.Add(key, s.attributes[at+key])
		}
		calls = append(append(calls, ','), c.JSON()...)
	}
	if calls == nil {
		return nil
	}
	calls[0] = '['
	return append(calls, ']')
}

// vertex reads the attributes of ADK: a request and a response of the Gemini API.
func (s *spanReader) vertex() (input, output []llm.Message) {
	request, response := tree.Embedded(s.attributes[vertexRequest]), tree.Embedded(s.attributes[vertexResponse])
	system := tree.Field(request, "config", "system_instruction")
	if text, ok := tree.Text(system); ok {
		input = append(input, llm.Message{Role: llm.RoleSystem, Parts: []llm.Part{llm.Text{Text: text}}})
	}
	for _, content := range tree.Elements(tree.Field(request, "contents")) {
		input = append(input, s.reader.Contents(content)...)
	}
	return input, s.reader.Contents(tree.Field(response, "content"))
}
