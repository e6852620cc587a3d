package otelloop

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
)

// The attributes with messages. Their schemas are in
// https://github.com/open-telemetry/semantic-conventions-genai/tree/main/docs/gen-ai.
const (
	inputMessages      = "gen_ai.input.messages"
	outputMessages     = "gen_ai.output.messages"
	systemInstructions = "gen_ai.system_instructions"
	toolDefinitions    = "gen_ai.tool.definitions"
)

// object is a JSON object.
type object = map[string]any

// configuration returns the system prompt and the tools of requests.
func (c Content) configuration(config *trace.ModelConfig) (list []attribute.KeyValue) {
	if len(config.System) > 0 {
		parts := make([]any, len(config.System))
		for i, p := range config.System {
			parts[i] = object{"type": "text", "content": p.Text}
		}
		list = append(list, c.attribute(systemInstructions, parts))
	}
	if len(config.Tools) > 0 {
		tools := make([]any, len(config.Tools))
		for i, t := range config.Tools {
			tool := object{"type": "function", "name": t.Name}
			if t.Description != "" {
				tool["description"] = t.Description
			}
			if t.Parameters != nil {
				tool["parameters"] = c.embed(string(t.Parameters))
			}
			tools[i] = tool
		}
		list = append(list, c.attribute(toolDefinitions, tools))
	}
	return list
}

// messages returns the messages of a request, each in the form of list.
func (c Content) messages(messages []llm.Message) []attribute.Value {
	list := make([]attribute.Value, len(messages))
	for i, m := range messages {
		list[i] = c.value(c.message(m))
	}
	return list
}

// list returns an attribute with a list of values.
func (c Content) list(name string, values []attribute.Value) attribute.KeyValue {
	if c == ContentStructured {
		return attribute.KeyValue{Key: attribute.Key(name), Value: attribute.SliceValue(values...)}
	}
	var b strings.Builder
	for i, v := range values {
		b.WriteByte("[,"[min(i, 1)])
		b.WriteString(v.AsString())
	}
	if len(values) == 0 {
		b.WriteByte('[')
	}
	b.WriteByte(']')
	return attribute.String(name, b.String())
}

// output returns the attribute with a response.
func (c Content) output(m llm.Message, reason string) attribute.KeyValue {
	message := c.message(m)
	message["finish_reason"] = reason
	return c.attribute(outputMessages, []any{message})
}

func (c Content) message(m llm.Message) object {
	parts := make([]any, len(m.Parts))
	for i, p := range m.Parts {
		parts[i] = c.part(p, m.Role == llm.RoleAssistant)
	}
	return object{"role": string(m.Role), "parts": parts}
}

// part returns a part of a message. Parts that the conventions do not have get a type of looptape.
// Opaque data of the provider is omitted. A result of an assistant is one of a tool that the provider ran.
func (c Content) part(part llm.Part, ofAssistant bool) object {
	switch p := part.(type) {
	case llm.Text:
		return object{"type": "text", "content": p.Text}
	case llm.Reasoning:
		return object{"type": "reasoning", "content": p.Text}
	case llm.Media:
		return media(&p)
	case llm.ToolCall:
		if p.ProviderExecuted {
			return object{"type": "server_tool_call", "id": p.ID, "name": p.Name, "server_tool_call": object{"type": p.Name, "arguments": c.embed(p.Arguments)}}
		}
		return object{"type": "tool_call", "id": p.ID, "name": p.Name, "arguments": c.embed(p.Arguments)}
	case llm.ToolResult:
		if ofAssistant {
			return object{"type": "server_tool_call_response", "id": p.ID, "server_tool_call_response": object{"type": p.Name, "content": c.response(&p)}}
		}
		return object{"type": "tool_call_response", "id": p.ID, "response": c.response(&p)}
	case llm.Unknown:
		return object{"type": "looptape.unknown", "kind": p.Kind, "value": c.embed(string(p.Raw))}
	}
	return object{"type": "looptape.unknown"}
}

func media(m *llm.Media) object {
	kind, _, _ := strings.Cut(m.MediaType, "/")
	if kind != "image" && kind != "audio" && kind != "video" {
		kind = "document"
	}
	o := object{"type": "blob", "modality": kind, "mime_type": m.MediaType}
	switch {
	case m.URL != "":
		o["type"], o["uri"] = "uri", m.URL
	case m.Data == nil && m.Digest != "": // stored outside the trace
		o["type"], o["digest"], o["size"] = "looptape.media", m.Digest, m.Size
	default:
		o["content"] = base64.StdEncoding.EncodeToString(m.Data)
	}
	return o
}

// response returns the content of a result: its text, or a list of parts if it is not only text.
func (c Content) response(r *llm.ToolResult) any {
	parts := make([]any, len(r.Content))
	isText := true
	for i, p := range r.Content {
		_, text := p.(llm.Text)
		isText = isText && text
		parts[i] = c.part(p, false)
	}
	if isText {
		return r.Text()
	}
	return parts
}

// resultValue returns the result of a tool for its span. Unlike in messages, text that is JSON is
// structured.
func (c Content) resultValue(r *llm.ToolResult) any {
	response := c.response(r)
	if text, ok := response.(string); ok {
		return c.embed(text)
	}
	return response
}

// embed returns a text as the JSON object or array that it is. Any other text, and JSON that the form
// cannot represent exactly, stays a text.
func (c Content) embed(text string) any {
	raw := json.RawMessage(strings.TrimSpace(text))
	if len(raw) == 0 || raw[0] != '{' && raw[0] != '[' || !utf8.ValidString(text) || !json.Valid(raw) {
		return text
	}
	if c == ContentStructured {
		if _, exact := structured(raw); !exact {
			return text
		}
	}
	return raw
}

// attribute returns an attribute with a value.
func (c Content) attribute(name string, value any) attribute.KeyValue {
	if text, ok := value.(string); ok {
		return attribute.String(name, strings.ToValidUTF8(text, "\uFFFD"))
	}
	return attribute.KeyValue{Key: attribute.Key(name), Value: c.value(value)}
}

// value returns a value that can be encoded as JSON.
func (c Content) value(value any) attribute.Value {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil { // impossible: texts, numbers, and JSON that is valid
		return attribute.StringValue(err.Error())
	}
	raw := bytes.TrimSpace(b.Bytes())
	if c == ContentStructured {
		v, _ := structured(raw)
		return v
	}
	return attribute.StringValue(string(raw))
}

// structured returns a JSON value as one of OpenTelemetry. Exact reports whether it is the same value.
func structured(raw []byte) (v attribute.Value, exact bool) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	exact = true
	return decode(d, &exact), exact
}

func decode(d *json.Decoder, exact *bool) attribute.Value {
	token, err := d.Token()
	if err != nil {
		*exact = false
		return attribute.Value{}
	}
	switch t := token.(type) {
	case json.Delim:
		if t == '[' {
			list := []attribute.Value{}
			for d.More() {
				list = append(list, decode(d, exact))
			}
			_, _ = d.Token() // the end, of valid JSON
			return attribute.SliceValue(list...)
		}
		members, names := []attribute.KeyValue{}, map[string]bool{}
		for d.More() {
			key, _ := d.Token()
			name, _ := key.(string)
			*exact = *exact && !names[name]
			names[name] = true
			members = append(members, attribute.KeyValue{Key: attribute.Key(name), Value: decode(d, exact)})
		}
		_, _ = d.Token()
		return attribute.MapValue(members...)
	case string:
		return attribute.StringValue(t)
	case bool:
		return attribute.BoolValue(t)
	case json.Number:
		return number(string(t), exact)
	}
	*exact = false // null: receivers read an empty value in different ways
	return attribute.Value{}
}

func number(digits string, exact *bool) attribute.Value {
	if n, err := strconv.ParseInt(digits, 10, 64); err == nil && digits != "-0" {
		return attribute.Int64Value(n)
	}
	const maxDigits = 40 // of numbers that can be exact, in any usual form
	f, err := strconv.ParseFloat(digits, 64)
	same := err == nil && len(digits) <= maxDigits
	if same && f == 0 {
		mantissa, _, _ := strings.Cut(strings.ToLower(digits), "e")
		same = !strings.ContainsAny(mantissa, "123456789")
	} else if same {
		want, ok := new(big.Rat).SetString(digits)
		got, _ := new(big.Rat).SetString(strconv.FormatFloat(f, 'g', -1, 64))
		same = ok && want.Cmp(got) == 0
	}
	*exact = *exact && same
	return attribute.Float64Value(f)
}
