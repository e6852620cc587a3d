package responses

import (
	"encoding/json"
	"strconv"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/internal/codec"
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
	if err := codec.CheckExtra(req.Extra); err != nil {
		return nil, err
	}
	w := writer{Writer: codec.Writer{Req: req, Dst: []byte{'{'}}, seen: map[string]bool{}, custom: map[string]bool{}}
	if req.Model != "" {
		w.put("model", quoted(req.Model))
	}
	if req.System != "" {
		w.put("instructions", quoted(req.System))
	}
	w.input()
	w.tools()
	w.settings(&req.Settings)
	w.put("store", []byte("false"))
	w.put("include", []byte(wantsEncrypted))
	if req.ResponseMode == llm.Streaming {
		w.put("stream", []byte("true"))
	}
	w.Extra(w.written...)
	if w.Err != nil {
		return nil, w.Err
	}
	return &protocol.Request{Path: "/responses", Body: append(w.Dst, '}')}, nil
}

// put writes a member. A member of Extra replaces it; null omits it.
func (w *writer) put(key string, value []byte) {
	if raw, ok := w.Req.Extra[key]; ok {
		w.written = append(w.written, key)
		if codec.IsNull(raw) {
			return
		}
		value = raw
	}
	w.Value(key, value)
}

// join writes a member that is an object. The members of the object in Extra replace its
// members, down to depth.
func (w *writer) join(key string, value []byte, depth int) {
	raw, ok := w.Req.Extra[key]
	if ok && jsonio.IsObject(jsonio.View(raw)) {
		w.written = append(w.written, key)
		w.Value(key, joinObjects(value, raw, depth))
		return
	}
	w.put(key, value)
}

// joinObjects returns the members of two objects as one. Those of over replace others.
func joinObjects(value, over json.RawMessage, depth int) []byte {
	var out codec.Members
	codec.EachMember(value, func(key, raw string) {
		switch o := codec.Get(over, key); {
		case o == nil:
			out.AddRaw(key, raw)
		case depth > 0 && jsonio.IsObject(jsonio.View(o)) && jsonio.IsObject(raw):
			out.AddRaw(key, string(joinObjects([]byte(raw), o, depth-1)))
		default:
			out.AddRaw(key, string(o))
		}
	})
	codec.EachMember(over, func(key, raw string) {
		if codec.Get(value, key) == nil {
			out.AddRaw(key, raw)
		}
	})
	return out.Object()
}

func (w *writer) settings(s *llm.Settings) {
	if s.Seed != nil {
		w.Fail("settings.seed: the Responses API has no seed: remove it")
	}
	if len(s.StopSequences) > 0 {
		w.Fail("settings.stop: the Responses API has no stop sequences: remove them")
	}
	if s.MaxTokens != 0 {
		w.put("max_output_tokens", jsonio.AppendInt(nil, int64(s.MaxTokens)))
	}
	w.number("temperature", s.Temperature)
	w.number("top_p", s.TopP)
	if s.ReasoningEffort != "" {
		w.join("reasoning", append(codec.AppendString([]byte("{"), "effort", s.ReasoningEffort), '}'), 0)
	}
	if s.OutputSchema == nil {
		return
	}
	if !jsonio.IsObject(jsonio.View(s.OutputSchema)) {
		w.Fail("settings.output_schema: not a JSON object: set a JSON Schema")
	}
	format := codec.AppendString([]byte(`{"format":{"type":"json_schema"`), "name", schemaName)
	format = codec.AppendRaw(format, "schema", s.OutputSchema)
	if api.FollowsStrict(s.OutputSchema) {
		format = append(format, `,"strict":true`...)
	}
	w.join("text", append(format, "}}"...), 1)
}

// number writes a setting, which a member of Extra replaces in its place.
func (w *writer) number(key string, value *float64) {
	if w.Float(key, value); value != nil && !w.Has(key) {
		w.put(key, nil)
	}
}

// tools writes the tools, and their options only if there are tools (SO-12, SO-18).
func (w *writer) tools() {
	extra := w.Req.Extra["tools"]
	tools := []byte{'['}
	if !codec.IsNull(extra) {
		tools = w.appendTools(tools, extra)
	}
	if len(tools) > 1 || codec.IsNull(extra) {
		w.written = append(w.written, "tools")
	}
	choice := w.Req.ToolChoice
	if len(tools) == 1 {
		if choice.Mode == llm.ChooseRequired || choice.Mode == llm.ChooseTool {
			w.Fail("tool_choice: %s without tools: add a tool", choice)
		}
		return
	}
	tools = append(tools, ']')
	w.Raw("tools", string(tools))
	switch choice.Mode {
	case llm.ChooseAuto:
	case llm.ChooseRequired, llm.ChooseNone:
		w.put("tool_choice", quoted(string(choice.Mode)))
	case llm.ChooseTool:
		if !namesTool(tools, choice.Name) {
			w.Fail("tool_choice: unknown tool %q", choice.Name)
		}
		w.put("tool_choice", append(codec.AppendString([]byte(`{"type":"function"`), "name", choice.Name), '}'))
	default:
		w.Fail("tool_choice: unknown mode %q", choice.Mode)
	}
	if parallel := w.Req.Settings.ParallelToolCalls; parallel != nil {
		w.put("parallel_tool_calls", strconv.AppendBool(nil, *parallel))
	}
}

// appendTools appends the tools to an open array. Those of Extra come last and replace tools of
// the same name.
func (w *writer) appendTools(dst []byte, extra json.RawMessage) []byte {
	if d := jsonio.NewDec(jsonio.View(extra)); extra != nil && d.Peek() != '[' {
		w.Fail("extra.tools: not a JSON array")
	}
	for i, t := range w.Req.Tools {
		if namesTool(extra, t.Name) {
			continue
		}
		if !protocol.IsName(t.Name) {
			w.Fail("tools[%d]: the name %q is invalid: use letters, digits, _ and -", i, t.Name)
		}
		if t.Parameters != nil && !jsonio.IsObject(jsonio.View(t.Parameters)) {
			w.Fail("tools[%d]: the parameters are not a JSON object: set a JSON Schema", i)
		}
		dst = appendTool(codec.AppendComma(dst), t)
	}
	codec.EachElement(extra, func(raw string) {
		dst = codec.AppendValue(codec.AppendComma(dst), raw)
	})
	return dst
}

// appendTool appends a tool. It writes strict unless the schema follows the strict rules:
// OpenAI defaults to true and then rejects other schemas (SR-16).
func appendTool(dst []byte, t llm.Tool) []byte {
	schema := t.Parameters
	if schema == nil {
		schema = json.RawMessage(`{}`)
	}
	schema = api.Parameters(schema)
	dst = codec.AppendString(append(dst, `{"type":"function"`...), "name", t.Name)
	if t.Description != "" {
		dst = codec.AppendString(dst, "description", t.Description)
	}
	dst = codec.AppendRaw(dst, "parameters", schema)
	switch {
	case t.Strict != nil:
		dst = strconv.AppendBool(codec.AppendKey(dst, "strict"), *t.Strict)
	case !api.FollowsStrict(schema):
		dst = append(dst, `,"strict":false`...)
	}
	return append(dst, '}')
}

func namesTool(tools json.RawMessage, name string) (found bool) {
	codec.EachElement(tools, func(raw string) {
		found = found || codec.GetString(json.RawMessage(raw), "name") == name
	})
	return found
}

func quoted(s string) []byte { return jsonio.AppendString(nil, s) }
