package importer

import (
	"encoding/base64"
	"encoding/json"
	"strconv"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
)

// The attributes of https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-spans/ that
// hold messages, and those of ADK.
const (
	inputMessages      = "gen_ai.input.messages"
	outputMessages     = "gen_ai.output.messages"
	systemInstructions = "gen_ai.system_instructions"
	vertexRequest      = "gcp.vertex.agent.llm_request"
	vertexResponse     = "gcp.vertex.agent.llm_response"
)

// standard reads the attributes of the conventions of OpenTelemetry, of the span or of an
// event with the details of the call.
func (s *spoken) standard() (asked, output []llm.Message) {
	all := []map[string]json.RawMessage{s.attributes}
	for _, e := range s.events {
		all = append(all, e.attributes)
	}
	for _, a := range all {
		if system := s.parts(spelledOut(a[systemInstructions])); system != nil {
			asked = append(asked, llm.Message{Role: llm.RoleSystem, Parts: system})
		}
		asked = append(asked, s.messages(a[inputMessages])...)
		output = append(output, s.messages(a[outputMessages])...)
	}
	return asked, output
}

// spelledOut returns a value that may stand as the text of its JSON; nil if it is none.
func spelledOut(raw json.RawMessage) json.RawMessage {
	text, ok := textOf(raw)
	if !ok {
		return raw
	}
	if !jsonio.ValidText(text) {
		return nil
	}
	return json.RawMessage(text)
}

// messages reads a list of messages, those that have no parts as OpenAI spells them.
func (s *spoken) messages(raw json.RawMessage) (messages []llm.Message) {
	for _, message := range elementsOf(spelledOut(raw)) {
		if memberOf(message, "parts") == nil {
			messages = append(messages, s.message(message)...)
			continue
		}
		said, results := separate(s.parts(memberOf(message, "parts")))
		if results != nil {
			messages = append(messages, llm.Message{Role: llm.RoleTool, Parts: results})
		}
		if said != nil {
			messages = append(messages, llm.Message{Role: llm.Role(scalar(memberOf(message, "role"))), Parts: said, Opaque: without(message, "role", "parts")})
		}
	}
	return messages
}

// message reads a message as OpenAI spells it, if it is one.
func (s *spoken) message(raw json.RawMessage) []llm.Message {
	d := jsonio.NewDec(jsonio.View(raw))
	return s.conv.add(nil, &d)
}

// parts reads the parts of a message. One that llm has no word for is kept whole, as the
// "value" of an llm.Unknown whose own kind begins with "otel.".
func (s *spoken) parts(list json.RawMessage) (parts []llm.Part) {
	for _, part := range elementsOf(list) {
		parts = append(parts, s.part(part))
	}
	return parts
}

func (s *spoken) part(part json.RawMessage) llm.Part {
	kind := scalar(memberOf(part, "type"))
	text, isText := textOf(memberOf(part, "content"))
	id := scalar(memberOf(part, "id"))
	media := scalar(memberOf(part, "mime_type"))
	switch {
	case kind == "text" && isText:
		return llm.Text{Text: text, Opaque: without(part, "type", "content")}
	case kind == "reasoning" && isText:
		return llm.Reasoning{Text: text, Opaque: without(part, "type", "content")}
	case kind == "tool_call":
		return llm.ToolCall{ID: id, Name: scalar(memberOf(part, "name")), Arguments: asText(memberOf(part, "arguments")), Opaque: without(part, "type", "id", "name", "arguments")}
	case kind == "tool_call_response":
		return llm.ToolResult{ID: id, Content: texts(either(part, "response", "result")), Opaque: without(part, "type", "id", "response", "result")}
	case kind == "uri":
		return llm.Media{MediaType: media, URL: scalar(memberOf(part, "uri")), Opaque: without(part, "type", "mime_type", "uri")}
	case kind == "blob" && isText:
		if b, err := base64.StdEncoding.DecodeString(text); err == nil {
			return llm.Media{MediaType: media, Data: b, Opaque: without(part, "type", "mime_type", "content")}
		}
	}
	return unknown("otel."+kind, string(part))
}

// byEvents reads the events that the conventions had until version 1.36, a message each.
func (s *spoken) byEvents() (asked, output []llm.Message) {
	for _, e := range s.events {
		role, ok := map[string]string{
			"gen_ai.system.message": "system", "gen_ai.user.message": "user", "gen_ai.tool.message": "tool",
			"gen_ai.assistant.message": "assistant", "gen_ai.choice": "assistant",
		}[e.name]
		if !ok {
			continue
		}
		a := e.attributes
		if message := spelledOut(a["message"]); message != nil && message[0] == '{' {
			a = map[string]json.RawMessage{}
			for key, value := range membersOf(message) {
				a[key] = value
			}
		}
		content := a["content"]
		if content == nil && e.name == "gen_ai.choice" {
			content = e.attributes["message"]
		}
		message := s.message(spell(role, content, a["id"], spelledOut(a["tool_calls"])))
		if e.name == "gen_ai.choice" {
			output = append(output, message...)
		} else {
			asked = append(asked, message...)
		}
	}
	return asked, output
}

// spell writes a message as OpenAI does.
func spell(role string, content, callID, calls json.RawMessage) json.RawMessage {
	var m opaque
	m.text("role", role)
	if content != nil {
		m.raw("content", string(content))
	}
	if callID != nil {
		m.raw("tool_call_id", string(callID))
	}
	if calls != nil {
		m.raw("tool_calls", string(calls))
	}
	return m.json()
}

// indexed reads the attributes of OpenLLMetry (github.com/traceloop/openllmetry), of which
// each holds a piece of a message, counted from 0.
func (s *spoken) indexed() (asked, output []llm.Message) {
	read := func(what string) (messages []llm.Message) {
		for n := 0; ; n++ {
			at := what + "." + strconv.Itoa(n) + "."
			role := scalar(s.attributes[at+"role"])
			if role == "" {
				return messages
			}
			messages = append(messages, s.message(spell(role, s.attributes[at+"content"], s.attributes[at+"tool_call_id"], s.indexedCalls(at)))...)
		}
	}
	return read("gen_ai.prompt"), read("gen_ai.completion")
}

func (s *spoken) indexedCalls(at string) json.RawMessage {
	var calls []byte
	for n := 0; ; n++ {
		call := at + "tool_calls." + strconv.Itoa(n) + "."
		name := s.attributes[call+"name"]
		if name == nil {
			break
		}
		var c opaque
		c.raw("function", string(name))
		for _, key := range []string{"id", "arguments"} {
			if value := s.attributes[call+key]; value != nil {
				c.raw(key, string(value))
			}
		}
		calls = append(append(calls, ','), c.json()...)
	}
	if calls == nil {
		return nil
	}
	calls[0] = '['
	return append(calls, ']')
}

// vertex reads the attributes of ADK: a request and a response of the Gemini API.
func (s *spoken) vertex() (asked, output []llm.Message) {
	request, response := spelledOut(s.attributes[vertexRequest]), spelledOut(s.attributes[vertexResponse])
	system := field(field(request, "config"), "system_instruction")
	if text, ok := textOf(system); ok {
		asked = append(asked, llm.Message{Role: llm.RoleSystem, Parts: []llm.Part{llm.Text{Text: text}}})
	}
	for _, content := range elementsOf(field(request, "contents")) {
		asked = append(asked, s.conv.contents(content)...)
	}
	return asked, s.conv.contents(field(response, "content"))
}
