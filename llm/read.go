package llm

import (
	"encoding/json"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
)

// The Read functions read the JSON forms from a decoder that may be in the
// middle of a line. They leave errors in it.

// ReadMessage reads a message.
func ReadMessage(d *jsonio.Dec) (m Message) {
	parts := false
	for key := range d.Members() {
		switch key {
		case "role", "role_b64":
			m.Role = role(d.Text(key))
		case "parts":
			m.Parts, parts = ReadParts(d), true
		case "opaque":
			m.Opaque = readRaw(d)
		default:
			d.Skip()
		}
	}
	if !parts {
		d.Fail(`a message has no "parts"`)
	}
	return m
}

// role returns the constant for a known role, so that the text it was read from
// need not be kept.
func role(s string) Role {
	switch r := Role(s); r {
	case RoleSystem:
		return RoleSystem
	case RoleUser:
		return RoleUser
	case RoleAssistant:
		return RoleAssistant
	case RoleTool:
		return RoleTool
	default:
		return r
	}
}

func readRaw(d *jsonio.Dec) json.RawMessage {
	raw := d.Raw()
	if d.Err() != nil {
		return nil
	}
	return json.RawMessage(raw)
}

// ReadUsage reads a usage.
func ReadUsage(d *jsonio.Dec) Usage {
	if !d.Object() {
		return Usage{}
	}
	return readUsage(d, true)
}

func readUsage(d *jsonio.Dec, first bool) (u Usage) {
	for key := range d.MembersAfter(first) {
		switch key = v1Usage.Name(d, key); key {
		case "input_tokens":
			u.InputTokens = d.Int()
		case "output_tokens":
			u.OutputTokens = d.Int()
		case "cache_read_input_tokens":
			u.CacheReadInputTokens = d.Int()
		case "cache_creation_input_tokens":
			u.CacheCreationInputTokens = d.Int()
		case "reasoning_output_tokens":
			u.ReasoningOutputTokens = d.Int()
		default:
			d.Skip()
		}
	}
	return u
}

// ReadTool reads a tool definition.
func ReadTool(d *jsonio.Dec) (t Tool) {
	for key := range d.Members() {
		switch key {
		case "name", "name_b64":
			t.Name = d.Text(key)
		case "description", "description_b64":
			t.Description = d.Text(key)
		case "parameters":
			t.Parameters = readRaw(d)
		case "strict":
			strict := d.Bool()
			t.Strict = &strict
		default:
			d.Skip()
		}
	}
	return t
}

// ReadToolChoice parses the form that [ToolChoice.String] returns.
func ReadToolChoice(s string) (ToolChoice, bool) {
	switch {
	case s == "auto":
		return ToolChoice{}, true
	case s == string(ChooseRequired), s == string(ChooseNone):
		return ToolChoice{Mode: ToolMode(s)}, true
	case strings.HasPrefix(s, "tool:"):
		return ToolChoice{Mode: ChooseTool, Name: s[len("tool:"):]}, true
	}
	return ToolChoice{}, false
}

// ReadRequest reads a request.
func ReadRequest(d *jsonio.Dec) (r Request) {
	for key := range d.Members() {
		switch key = v1Request.Name(d, key); key {
		case "model", "model_b64":
			r.Model = d.Text(key)
		case "system", "system_b64":
			r.System = d.Text(key)
		case "messages":
			for range d.Elements() {
				r.Messages = append(r.Messages, ReadMessage(d))
			}
		case "tools":
			r.Tools = ReadTools(d)
		case "tool_choice", "tool_choice_b64":
			var ok bool
			if r.ToolChoice, ok = ReadToolChoice(d.Text(key)); !ok {
				d.Fail("tool_choice is none of auto, required, none and tool:NAME")
			}
		case "response_mode":
			r.ResponseMode = ResponseMode(d.String())
		case "settings":
			r.Settings = ReadSettings(d)
		case "extra":
			r.Extra = readExtra(d)
		default:
			d.Skip()
		}
	}
	return r
}

// ReadTools reads an array of tool definitions.
func ReadTools(d *jsonio.Dec) []Tool {
	tools := []Tool{}
	for range d.Elements() {
		tools = append(tools, ReadTool(d))
	}
	return tools
}

func readExtra(d *jsonio.Dec) map[string]json.RawMessage {
	extra := map[string]json.RawMessage{}
	for key := range d.Members() {
		extra[key] = readRaw(d)
	}
	return extra
}

// ReadSettings reads settings.
func ReadSettings(d *jsonio.Dec) (s Settings) {
	for key := range d.Members() {
		switch key = v1Settings.Name(d, key); key {
		case "max_tokens":
			s.MaxTokens = int(d.Int())
		case "temperature":
			s.Temperature = new(d.Float())
		case "top_p":
			s.TopP = new(d.Float())
		case "seed":
			s.Seed = new(d.Int())
		case "stop_sequences":
			s.StopSequences = []string{}
			for range d.Elements() {
				s.StopSequences = append(s.StopSequences, d.String())
			}
		case "parallel_tool_calls":
			s.ParallelToolCalls = new(d.Bool())
		case "reasoning_effort", "reasoning_effort_b64":
			s.ReasoningEffort = d.Text(key)
		case "output_schema":
			s.OutputSchema = readRaw(d)
		default:
			d.Skip()
		}
	}
	return s
}
