package responses

import (
	"encoding/json"
	"slices"
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
		w.put("model", codec.Quote(req.Model))
	}
	if req.System != "" {
		w.put("instructions", codec.Quote(req.System))
	}
	w.input()
	w.tools()
	w.settings(&req.Settings)
	w.put("store", "false")
	w.put("include", wantsEncrypted)
	if req.ResponseMode == llm.Streaming {
		w.put("stream", "true")
	}
	w.Extra(w.written...)
	if w.Err != nil {
		return nil, w.Err
	}
	return &protocol.Request{Path: "/responses", Body: append(w.Dst, '}')}, nil
}

// put writes a member. A member of Extra replaces it; null omits it.
func (w *writer) put(key, value string) {
	if raw, ok := w.Req.Extra[key]; ok {
		w.written = append(w.written, key)
		if codec.IsNull(raw) {
			return
		}
		value = string(raw)
	}
	w.Value(key, []byte(value))
}

// join writes a member that is an object. The members of the object in Extra replace its
// members, down to depth.
func (w *writer) join(key, value string, depth int) {
	raw, ok := w.Req.Extra[key]
	if ok && jsonio.IsObject(jsonio.View(raw)) {
		w.written = append(w.written, key)
		w.Value(key, joinObjects(value, string(raw), depth))
		return
	}
	w.put(key, value)
}

func joinObjects(value, over string, depth int) []byte {
	own := codec.MembersOf(value)
	for key, raw := range codec.EachMember(over) {
		i := slices.IndexFunc(own, func(m codec.Member) bool { return m.Key == key })
		switch {
		case i < 0:
			own.AddRaw(key, raw)
		case depth > 0 && jsonio.IsObject(raw) && jsonio.IsObject(own[i].Raw):
			own[i].Raw = string(joinObjects(own[i].Raw, raw, depth-1))
		default:
			own[i].Raw = raw
		}
	}
	own = slices.DeleteFunc(own, func(m codec.Member) bool { return m.Raw == "null" })
	return own.Object()
}

func (w *writer) settings(s *llm.Settings) {
	if s.Seed != nil {
		w.Fail("settings.seed: the Responses API has no seed: remove it")
	}
	if len(s.StopSequences) > 0 {
		w.Fail("settings.stop: the Responses API has no stop sequences: remove them")
	}
	if s.MaxTokens != 0 {
		w.put("max_output_tokens", strconv.Itoa(s.MaxTokens))
	}
	w.number("temperature", s.Temperature)
	w.number("top_p", s.TopP)
	if s.ReasoningEffort != "" {
		w.join("reasoning", `{"effort":`+codec.Quote(s.ReasoningEffort)+`}`, 0)
	}
	if s.OutputSchema == nil {
		return
	}
	if !jsonio.IsObject(jsonio.View(s.OutputSchema)) {
		w.Fail("settings.output_schema: not a JSON object: set a JSON Schema")
	}
	strict := ""
	if api.FollowsStrict(s.OutputSchema) {
		strict = `,"strict":true`
	}
	schema := string(codec.AppendValue(nil, s.OutputSchema))
	format := `{"type":"json_schema","name":"` + schemaName + `","schema":` + schema + strict + `}`
	w.join("text", `{"format":`+format+`}`, 1)
}

// number writes a setting, which a member of Extra replaces in its place.
func (w *writer) number(key string, value *float64) {
	if w.Float(key, value); value != nil && !w.Has(key) {
		w.put(key, "")
	}
}

// tools writes the tools, and their options only if there are tools (SO-12, SO-18).
func (w *writer) tools() {
	extra := w.Req.Extra["tools"]
	from := len(w.Dst)
	w.Raw("tools", "[")
	start := len(w.Dst)
	if !codec.IsNull(extra) {
		w.listTools(extra)
	}
	tools := w.Dst[start-1:]
	if len(tools) > 1 || codec.IsNull(extra) {
		w.written = append(w.written, "tools")
	}
	choice := w.Req.ToolChoice
	if len(tools) == 1 {
		w.Dst = w.Dst[:from]
		if choice.Mode == llm.ChooseRequired || choice.Mode == llm.ChooseTool {
			w.Fail("tool_choice: %s without tools: add a tool", choice)
		}
		return
	}
	w.Add("]")
	switch choice.Mode {
	case llm.ChooseAuto:
	case llm.ChooseRequired, llm.ChooseNone:
		w.put("tool_choice", codec.Quote(string(choice.Mode)))
	case llm.ChooseTool:
		if !namesTool(w.Dst[start-1:], choice.Name) {
			w.Fail("tool_choice: unknown tool %q", choice.Name)
		}
		w.put("tool_choice", `{"type":"function","name":`+codec.Quote(choice.Name)+`}`)
	default:
		w.Fail("tool_choice: unknown mode %q", choice.Mode)
	}
	if parallel := w.Req.Settings.ParallelToolCalls; parallel != nil {
		w.put("parallel_tool_calls", strconv.FormatBool(*parallel))
	}
}

// listTools writes the tools. Those of Extra come last and replace tools of the same name.
func (w *writer) listTools(extra json.RawMessage) {
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
		w.tool(t)
	}
	for raw := range codec.EachElement(extra) {
		w.Next("")
		w.Dst = codec.AppendValue(w.Dst, raw)
	}
}

// tool writes a tool. It writes strict unless the schema follows the strict rules: OpenAI
// defaults to true and then rejects other schemas (SR-16).
func (w *writer) tool(t llm.Tool) {
	schema := t.Parameters
	if schema == nil {
		schema = json.RawMessage(`{}`)
	}
	schema = api.Parameters(schema)
	w.Next(`{"type":"function","name":%`, t.Name)
	w.OptionalText("description", t.Description)
	w.Value("parameters", schema)
	if w.Bool("strict", t.Strict); t.Strict == nil && !api.FollowsStrict(schema) {
		w.Raw("strict", "false")
	}
	w.Add("}")
}

func namesTool(tools json.RawMessage, name string) bool {
	for raw := range codec.EachElement(tools) {
		if codec.GetString(raw, "name") == name {
			return true
		}
	}
	return false
}
