package llm

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
)

// The Read functions read the JSON forms from a decoder that may be in the
// middle of a line. They leave errors in it.

// ReadMessage reads a message.
func ReadMessage(d *jsonio.Dec) (m Message) {
	if !d.Object() {
		return m
	}
	for first := true; ; {
		key, ok := d.Key(&first)
		if !ok {
			return m
		}
		switch key {
		case "role", "role_b64":
			m.Role = role(d.Text(key))
		case "parts":
			m.Parts = ReadParts(d)
		case "opaque":
			m.Opaque = readRaw(d)
		default:
			d.Skip()
		}
	}
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

// ReadParts reads an array of parts; null is none.
func ReadParts(d *jsonio.Dec) []Part {
	if d.Null() || !d.Array() {
		return nil
	}
	var parts []Part
	for first := true; d.More(&first); {
		if parts == nil {
			parts = make([]Part, 0, 2)
		}
		if p := ReadPart(d); p != nil {
			parts = append(parts, p)
		}
	}
	return parts
}

// all holds the members of every kind of part and event: one reader for all of
// them, since the "type" may come last.
type all struct {
	kind                                                string
	text, id, name, args, providerID, mediaType, url    string
	digest, code, message, reason, raw, response, model string
	data                                                []byte
	size                                                int64
	index                                               int
	refusal, minted, providerExecuted, isError          bool
	content                                             []Part
	part                                                Part
	usage                                               Usage
	opaque                                              json.RawMessage
}

// ReadPart reads a part; one of unknown type becomes Unknown.
func ReadPart(d *jsonio.Dec) Part {
	from := d.Offset()
	var a all
	if !a.read(d, isPart) {
		return nil
	}
	switch a.kind {
	case "text":
		return Text{a.text, a.refusal, a.opaque}
	case "reasoning":
		return Reasoning{a.text, a.opaque}
	case "media":
		return Media{a.mediaType, a.name, a.data, a.url, a.digest, a.size, a.opaque}
	case "tool_call":
		return ToolCall{a.id, a.name, a.args, a.minted, a.providerID, a.providerExecuted, a.opaque}
	case "tool_result":
		return ToolResult{a.id, a.name, a.content, a.isError, a.opaque}
	}
	return unknown(d, a.kind, from)
}

func unknown(d *jsonio.Dec, kind string, from int) Unknown {
	return Unknown{Kind: kind, Raw: jsonio.AppendRaw(nil, []byte(d.Since(from)))}
}

// ReadEvent reads an event; one of unknown type becomes Unknown.
func ReadEvent(d *jsonio.Dec) Event {
	from := d.Offset()
	var a all
	if !a.read(d, isEvent) {
		return nil
	}
	switch a.kind {
	case "text_delta":
		return TextDelta{a.text, a.refusal, a.opaque}
	case "reasoning_delta":
		return ReasoningDelta{a.text, a.opaque}
	case "tool_call_start":
		return ToolCallStart{a.index, a.id, a.name, a.opaque}
	case "tool_call_delta":
		return ToolCallDelta{a.index, a.id, a.args}
	case "tool_call_end":
		return ToolCallEnd{a.index, a.id, a.opaque}
	case "part":
		if a.part == nil {
			d.Fail("an event of type part needs a part")
			return nil
		}
		return PartDone{a.part}
	case "usage":
		return a.usage
	case "warning":
		return Warning{a.code, a.message}
	case "finish":
		return Finish{FinishReason(a.reason), a.raw, a.message, a.response, a.model, a.opaque}
	}
	return unknown(d, a.kind, from)
}

func isPart(kind string) bool {
	switch kind {
	case "text", "reasoning", "media", "tool_call", "tool_result":
		return true
	}
	return false
}

func isEvent(kind string) bool {
	switch kind {
	case "text_delta", "reasoning_delta", "tool_call_start", "tool_call_delta", "tool_call_end", "part", "usage", "warning", "finish":
		return true
	}
	return false
}

// typeOf looks ahead for the type of an object that d is before; it is empty if
// there is none.
func typeOf(d jsonio.Dec) string {
	d.Object()
	for first := true; ; {
		key, ok := d.Key(&first)
		if !ok {
			return ""
		}
		if key == "type" {
			return d.String()
		}
		d.Skip()
	}
}

// read reads the members of a type that is known, and passes over those of
// another, which may mean anything.
func (a *all) read(d *jsonio.Dec, isKnown func(string) bool) bool {
	start := *d
	if !d.Object() {
		return false
	}
	typed, known := false, false
	for first := true; ; {
		key, ok := d.Key(&first)
		if !ok {
			return d.Err() == nil
		}
		switch {
		case typed:
		case key == "type":
			a.kind = d.String()
			typed, known = true, isKnown(a.kind)
			continue
		default:
			a.kind = typeOf(start)
			typed, known = true, isKnown(a.kind)
		}
		if !known {
			d.Skip()
			continue
		}
		a.member(d, key)
	}
}

func (a *all) member(d *jsonio.Dec, key string) {
	switch name := strings.TrimSuffix(key, "_b64"); name {
	case "text":
		a.text = d.Text(key)
	case "id":
		a.id = d.Text(key)
	case "name":
		a.name = d.Text(key)
	case "args":
		a.args = d.Text(key)
	case "content":
		a.content = ReadParts(d)
	case "is_error":
		a.isError = d.Bool()
	case "opaque":
		a.opaque = readRaw(d)
	case "refusal":
		a.refusal = a.flag(d)
	case "minted":
		a.minted = a.flag(d)
	case "provider_executed":
		a.providerExecuted = a.flag(d)
	case "index":
		a.index = int(a.count(d))
	case "size":
		a.size = a.count(d)
	case "part":
		a.part = ReadPart(d)
	case "data":
		a.data = a.bytes(d)
	default:
		if !a.text2(name, key, d) && !a.usage.member(name, d) {
			d.Skip()
		}
	}
}

// The members below are in parts and events that are rare; another type may use
// their names otherwise, so a value of another JSON type is passed over.

func (a *all) text2(name, key string, d *jsonio.Dec) bool {
	var to *string
	switch name {
	case "provider_id":
		to = &a.providerID
	case "media_type":
		to = &a.mediaType
	case "url":
		to = &a.url
	case "digest":
		to = &a.digest
	case "code":
		to = &a.code
	case "message":
		to = &a.message
	case "reason":
		to = &a.reason
	case "raw":
		to = &a.raw
	case "response_id":
		to = &a.response
	case "model":
		to = &a.model
	}
	if to == nil || d.Peek() != '"' {
		return false
	}
	*to = d.Text(key)
	return true
}

func (a *all) flag(d *jsonio.Dec) bool {
	if c := d.Peek(); c != 't' && c != 'f' {
		d.Skip()
		return false
	}
	return d.Bool()
}

func (a *all) count(d *jsonio.Dec) int64 {
	if c := d.Peek(); c != '-' && (c < '0' || c > '9') {
		d.Skip()
		return 0
	}
	return d.Int()
}

func (a *all) bytes(d *jsonio.Dec) []byte {
	if d.Peek() != '"' {
		d.Skip()
		return nil
	}
	b, err := base64.StdEncoding.DecodeString(d.String())
	if err != nil {
		d.Fail("not base64: data")
		return nil
	}
	return b
}

func (u *Usage) member(name string, d *jsonio.Dec) bool {
	var to *int64
	switch name {
	case "input":
		to = &u.Input
	case "output":
		to = &u.Output
	case "cached":
		to = &u.Cached
	case "cache_write":
		to = &u.CacheWrite
	case "reasoning":
		to = &u.Reasoning
	}
	if c := d.Peek(); to == nil || c != '-' && (c < '0' || c > '9') {
		return false
	}
	*to = d.Int()
	return true
}

// ReadUsage reads a usage.
func ReadUsage(d *jsonio.Dec) (u Usage) {
	if !d.Object() {
		return u
	}
	for first := true; ; {
		key, ok := d.Key(&first)
		if !ok {
			return u
		}
		if !u.member(key, d) {
			d.Skip()
		}
	}
}

// ReadTool reads a tool definition.
func ReadTool(d *jsonio.Dec) (t Tool) {
	if !d.Object() {
		return t
	}
	for first := true; ; {
		key, ok := d.Key(&first)
		if !ok {
			return t
		}
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
}

// ReadToolChoice reads the spelling of ToolChoice.String.
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
	if !d.Object() {
		return r
	}
	for first := true; ; {
		key, ok := d.Key(&first)
		if !ok {
			return r
		}
		switch key {
		case "model", "model_b64":
			r.Model = d.Text(key)
		case "system", "system_b64":
			r.System = d.Text(key)
		case "messages":
			if !d.Array() {
				return r
			}
			for first := true; d.More(&first); {
				r.Messages = append(r.Messages, ReadMessage(d))
			}
		case "tools":
			r.Tools = ReadTools(d)
		case "tool_choice", "tool_choice_b64":
			var ok bool
			if r.ToolChoice, ok = ReadToolChoice(d.Text(key)); !ok {
				d.Fail("tool_choice is none of auto, required, none and tool:NAME")
			}
		case "delivery":
			r.Delivery = Delivery(d.String())
		case "settings":
			r.Settings = ReadSettings(d)
		case "extra":
			r.Extra = readExtra(d)
		default:
			d.Skip()
		}
	}
}

// ReadTools reads an array of tool definitions.
func ReadTools(d *jsonio.Dec) []Tool {
	if !d.Array() {
		return nil
	}
	tools := []Tool{}
	for first := true; d.More(&first); {
		tools = append(tools, ReadTool(d))
	}
	return tools
}

func readExtra(d *jsonio.Dec) map[string]json.RawMessage {
	if !d.Object() {
		return nil
	}
	extra := map[string]json.RawMessage{}
	for first := true; ; {
		key, ok := d.Key(&first)
		if !ok {
			return extra
		}
		extra[key] = readRaw(d)
	}
}

// ReadSettings reads settings.
func ReadSettings(d *jsonio.Dec) (s Settings) {
	if !d.Object() {
		return s
	}
	for first := true; ; {
		key, ok := d.Key(&first)
		if !ok {
			return s
		}
		switch key {
		case "max_tokens":
			s.MaxTokens = int(d.Int())
		case "temperature":
			s.Temperature = new(d.Float())
		case "top_p":
			s.TopP = new(d.Float())
		case "seed":
			s.Seed = new(d.Int())
		case "stop":
			s.Stop = []string{}
			if d.Array() {
				for first := true; d.More(&first); {
					s.Stop = append(s.Stop, d.String())
				}
			}
		case "parallel_calls":
			s.ParallelCalls = new(d.Bool())
		case "reasoning", "reasoning_b64":
			s.Reasoning = d.Text(key)
		case "output_schema":
			s.OutputSchema = readRaw(d)
		default:
			d.Skip()
		}
	}
}
