package responses

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/internal/wirejson"
	"github.com/looptape/looptape/providers/openai/internal/api"
	"github.com/looptape/looptape/providers/protocol"
)

// schemaName is the name of the output schema, which the protocol requires.
const schemaName = "answer"

// wantsEncrypted is the include that requests reasoning in encrypted form, because the provider
// stores nothing.
const wantsEncrypted = `["reasoning.encrypted_content"]`

// EncodeRequest implements [protocol.Protocol].
func (Protocol) EncodeRequest(req *llm.Request) (*protocol.Request, error) {
	b := bodyWriter{extra: req.Extra, dst: []byte{'{'}}
	for _, k := range slices.Sorted(maps.Keys(req.Extra)) {
		if !jsonio.Valid(req.Extra[k]) {
			return nil, fmt.Errorf("extra.%s: not JSON: set a JSON value", k)
		}
	}
	if req.Model != "" {
		b.put("model", quoted(req.Model))
	}
	if req.System != "" {
		b.put("instructions", quoted(req.System))
	}
	input, err := encodeInput(req.Messages)
	if err != nil {
		return nil, err
	}
	const around = 1 << 10 // bytes, at most usually, beside the input
	b.dst = slices.Grow(b.dst, len(input)+around)
	b.put("input", input)
	if err := b.tools(req); err != nil {
		return nil, err
	}
	if err := b.settings(&req.Settings); err != nil {
		return nil, err
	}
	b.put("store", []byte("false"))
	b.put("include", []byte(wantsEncrypted))
	if req.ResponseMode == llm.Streaming {
		b.put("stream", []byte("true"))
	}
	return &protocol.Request{Path: "/responses", Body: b.end()}, nil
}

// bodyWriter writes the body of a request.
type bodyWriter struct {
	dst     []byte
	extra   map[string]json.RawMessage
	written []string // what extra had for its members
}

// put writes a member. A member of Extra replaces it; null omits it.
func (b *bodyWriter) put(key string, value []byte) {
	if raw, ok := b.extra[key]; ok {
		b.written = append(b.written, key)
		if isNull(raw) {
			return
		}
		value = raw
	}
	b.dst = wirejson.AppendRaw(b.dst, key, value)
}

// join writes a member that is an object. The members of the object in Extra replace its
// members, down to depth.
func (b *bodyWriter) join(key string, value []byte, depth int) {
	raw, ok := b.extra[key]
	if ok && jsonio.IsObject(jsonio.View(raw)) {
		b.written = append(b.written, key)
		b.dst = wirejson.AppendRaw(b.dst, key, joinObjects(value, raw, depth))
		return
	}
	b.put(key, value)
}

// joinObjects returns the members of two objects as one. Those of over replace others.
func joinObjects(value, over json.RawMessage, depth int) []byte {
	var out wirejson.Members
	put := func(key string, raw []byte) {
		d := jsonio.NewDec(string(raw))
		out.Add(&d, key)
	}
	wirejson.EachMember(value, func(key, raw string) {
		switch o := wirejson.Get(over, key); {
		case o == nil:
			put(key, []byte(raw))
		case depth > 0 && jsonio.IsObject(jsonio.View(o)) && jsonio.IsObject(raw):
			put(key, joinObjects([]byte(raw), o, depth-1))
		default:
			put(key, o)
		}
	})
	wirejson.EachMember(over, func(key, raw string) {
		if wirejson.Get(value, key) == nil {
			put(key, []byte(raw))
		}
	})
	return out.Object()
}

// end writes the remaining members of Extra.
func (b *bodyWriter) end() []byte {
	for _, k := range slices.Sorted(maps.Keys(b.extra)) {
		if !slices.Contains(b.written, k) {
			b.dst = wirejson.AppendRaw(b.dst, k, b.extra[k])
		}
	}
	return append(b.dst, '}')
}

func (b *bodyWriter) settings(s *llm.Settings) error {
	if s.Seed != nil {
		return errors.New("settings.seed: the Responses API has no seed: remove it")
	}
	if len(s.StopSequences) > 0 {
		return errors.New("settings.stop: the Responses API has no stop sequences: remove them")
	}
	if s.MaxTokens != 0 {
		b.put("max_output_tokens", jsonio.AppendInt(nil, int64(s.MaxTokens)))
	}
	for _, k := range [...]struct {
		key string
		v   *float64
	}{{"temperature", s.Temperature}, {"top_p", s.TopP}} {
		if k.v == nil {
			continue
		}
		n := strconv.AppendFloat(nil, *k.v, 'g', -1, 64)
		if !jsonio.Valid(n) {
			return fmt.Errorf("settings.%s: %s is not a JSON number", k.key, n)
		}
		b.put(k.key, n)
	}
	if s.ReasoningEffort != "" {
		b.join("reasoning", append(wirejson.AppendString([]byte("{"), "effort", s.ReasoningEffort), '}'), 0)
	}
	if s.OutputSchema == nil {
		return nil
	}
	if !jsonio.IsObject(jsonio.View(s.OutputSchema)) {
		return errors.New("settings.output_schema: not a JSON object: set a JSON Schema")
	}
	format := wirejson.AppendString(wirejson.AppendString([]byte(`{"format":{`), "type", "json_schema"), "name", schemaName)
	format = wirejson.AppendRaw(format, "schema", s.OutputSchema)
	if api.FollowsStrict(s.OutputSchema) {
		format = append(format, `,"strict":true`...)
	}
	b.join("text", append(format, "}}"...), 1)
	return nil
}

// tools writes the tools, and their options only if there are tools (SO-12, SO-18).
func (b *bodyWriter) tools(req *llm.Request) error {
	var tools []byte
	if extra := b.extra["tools"]; isNull(extra) {
		b.written = append(b.written, "tools")
	} else {
		var err error
		if tools, err = encodeTools(req.Tools, extra); err != nil {
			return err
		}
	}
	choice := req.ToolChoice
	if tools == nil {
		if choice.Mode == llm.ChooseRequired || choice.Mode == llm.ChooseTool {
			return fmt.Errorf("tool_choice: %s without tools: add a tool", choice)
		}
		return nil
	}
	b.dst = append(wirejson.AppendKey(b.dst, "tools"), tools...)
	b.written = append(b.written, "tools")
	switch choice.Mode {
	case llm.ChooseAuto:
	case llm.ChooseRequired, llm.ChooseNone:
		b.put("tool_choice", quoted(string(choice.Mode)))
	case llm.ChooseTool:
		if !namesTool(tools, choice.Name) {
			return fmt.Errorf("tool_choice: unknown tool %q", choice.Name)
		}
		b.put("tool_choice", append(wirejson.AppendString(wirejson.AppendString([]byte("{"), "type", "function"), "name", choice.Name), '}'))
	default:
		return fmt.Errorf("tool_choice: unknown mode %q", choice.Mode)
	}
	if req.Settings.ParallelToolCalls != nil {
		b.put("parallel_tool_calls", strconv.AppendBool(nil, *req.Settings.ParallelToolCalls))
	}
	return nil
}

// encodeTools returns the array of tools, or nil. Those of Extra come last and replace tools of
// the same name.
func encodeTools(tools []llm.Tool, extra json.RawMessage) ([]byte, error) {
	if d := jsonio.NewDec(string(extra)); extra != nil && d.Peek() != '[' {
		return nil, errors.New("extra.tools: not a JSON array")
	}
	dst := []byte{'['}
	for i, t := range tools {
		if namesTool(extra, t.Name) {
			continue
		}
		if !protocol.IsName(t.Name) {
			return nil, fmt.Errorf("tools[%d]: the name %q is invalid: use letters, digits, _ and -", i, t.Name)
		}
		var err error
		if dst, err = appendTool(wirejson.AppendComma(dst), t); err != nil {
			return nil, fmt.Errorf("tools[%d]: %w", i, err)
		}
	}
	wirejson.EachElement(extra, func(raw string) {
		dst = wirejson.AppendValue(wirejson.AppendComma(dst), raw)
	})
	if len(dst) == 1 {
		return nil, nil
	}
	return append(dst, ']'), nil
}

// appendTool appends a tool. It writes strict unless the schema follows the strict rules:
// OpenAI defaults to true and then rejects other schemas (SR-16).
func appendTool(dst []byte, t llm.Tool) ([]byte, error) {
	schema := t.Parameters
	if schema == nil {
		schema = json.RawMessage(`{}`)
	}
	if !jsonio.IsObject(jsonio.View(schema)) {
		return nil, errors.New("the parameters are not a JSON object: set a JSON Schema")
	}
	schema = api.Parameters(schema)
	dst = wirejson.AppendString(wirejson.AppendString(append(dst, '{'), "type", "function"), "name", t.Name)
	if t.Description != "" {
		dst = wirejson.AppendString(dst, "description", t.Description)
	}
	dst = wirejson.AppendRaw(dst, "parameters", schema)
	switch {
	case t.Strict != nil:
		dst = strconv.AppendBool(wirejson.AppendKey(dst, "strict"), *t.Strict)
	case !api.FollowsStrict(schema):
		dst = append(dst, `,"strict":false`...)
	}
	return append(dst, '}'), nil
}

// namesTool reports whether an array of tools has a function of this name.
func namesTool(tools json.RawMessage, name string) (found bool) {
	wirejson.EachElement(tools, func(raw string) {
		found = found || wirejson.GetString(json.RawMessage(raw), "name") == name
	})
	return found
}

func isNull(raw json.RawMessage) bool { return string(bytes.TrimSpace(raw)) == "null" }

// quoted returns a JSON string.
func quoted(s string) []byte { return jsonio.AppendString(nil, s) }
