package gemini

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/internal/codec"
	"github.com/looptape/looptape/providers/protocol"
)

// Members of the body that are joined with those in Extra.
const (
	keyTools      = "tools"
	keyToolConfig = "toolConfig"
	keyConfig     = "generationConfig"
)

// EncodeRequest implements [protocol.Protocol]. Leading system messages are the end of the
// system prompt, separated by empty lines. Calls that another provider ran are omitted. It
// returns an error for what Gemini cannot represent: a system message within the conversation,
// other parts of another provider, media without content, and a limit of one call per step.
func (GenerateContent) EncodeRequest(req *llm.Request) (*protocol.Request, error) {
	path, query, err := requestPath(req)
	if err != nil {
		return nil, err
	}
	if err := codec.CheckExtra(req.Extra); err != nil {
		return nil, err
	}
	w := writer{Writer: codec.NewWriter(req), gemini3: SignsCalls(req.Model)}
	w.body()
	if w.Err != nil {
		return nil, w.Err
	}
	return &protocol.Request{Path: path, Query: query, Body: append(w.Dst, '}')}, nil
}

func (w *writer) body() {
	system, first := codec.SystemPrompt(w.Req)
	if w.Has("contents") {
		w.contents(first)
	}
	if prompt := system.Text(); prompt != "" && w.Has("systemInstruction") {
		w.Raw("systemInstruction", `{"parts":[{"text":`+codec.Quote(prompt)+`}]}`)
	}
	w.tools()
	w.toolConfig()
	w.overlay(keyConfig, w.settings(&w.Req.Settings), "thinkingConfig")
	w.Extra(keyTools, keyToolConfig, keyConfig)
}

func (w *writer) settings(s *llm.Settings) (own codec.Members) {
	value := func(key string, v any) {
		raw, err := json.Marshal(v)
		if err != nil {
			w.Fail("settings.%s: %w", key, err)
		}
		own.AddRaw(key, string(raw))
	}
	integer := func(name, key string, n *int64) {
		if n != nil && *n != int64(int32(*n)) {
			w.Fail("settings.%s: %d exceeds the 32 bits that Gemini reads", name, *n)
		}
		value(key, n)
	}
	if s.MaxTokens != 0 {
		integer("max_tokens", "maxOutputTokens", new(int64(s.MaxTokens)))
	}
	value("temperature", s.Temperature)
	value("topP", s.TopP)
	integer("seed", "seed", s.Seed)
	var stops codec.Elements
	for _, stop := range s.StopSequences {
		stops.Add(codec.Quote(stop))
	}
	own.AddRaw("stopSequences", string(stops.Array()))
	if s.ParallelToolCalls != nil && !*s.ParallelToolCalls {
		w.Fail("settings.parallel_tool_calls: Gemini cannot limit a step to one call: set nil")
	}
	if s.ReasoningEffort != "" {
		own.AddRaw("thinkingConfig", thinking(s.ReasoningEffort))
	}
	if s.OutputSchema != nil {
		if !jsonio.Valid(s.OutputSchema) {
			w.Fail("settings.output_schema: not JSON")
		}
		own.AddString(keyMIME, typeJSON)
		own.AddRaw(keySchema, string(s.OutputSchema))
	}
	return own
}

// Members for a response that follows a schema.
const (
	keyMIME   = "responseMimeType"
	keySchema = "responseJsonSchema"
	typeJSON  = "application/json"
)

func thinking(effort string) string {
	if n, err := strconv.ParseInt(effort, 10, 64); err == nil && strconv.FormatInt(n, 10) == effort {
		return `{"thinkingBudget":` + effort + `}`
	}
	return `{"thinkingLevel":` + codec.Quote(effort) + `}`
}

// overlay writes own members joined with the object in Extra. The member deep is joined too.
func (w *writer) overlay(key string, own codec.Members, deep string) {
	raw := w.Req.Extra[key]
	if raw != nil && !jsonio.IsObject(string(raw)) {
		w.Fail("extra.%s: expected an object", key)
	}
	extra := codec.MembersOf(raw)
	if len(own)+len(extra) == 0 {
		return
	}
	w.Raw(key, "{")
	w.joined(own, extra, deep)
	w.Add("}")
}

// joined writes own members that over does not have, and those of over. It joins the member
// deep if both are objects.
func (w *writer) joined(own, over codec.Members, deep string) {
	var done []string
	for _, m := range own {
		other := over.Find(m.Key)
		if other == "" {
			w.Value(m.Key, []byte(m.Raw))
		} else if m.Key == deep && jsonio.IsObject(other) {
			w.Raw(m.Key, "{")
			w.joined(codec.MembersOf(m.Raw), codec.MembersOf(other), "")
			w.Add("}")
			done = append(done, m.Key)
		}
	}
	w.Dst = over.Append(w.Dst, done...)
}

const keyFunctions = "functionDeclarations"

func (w *writer) tools() {
	more := w.extraTools()
	if len(w.Req.Tools)+len(more.others)+len(more.functions) == 0 {
		return
	}
	w.Raw(keyTools, "[")
	builtin := 0
	for i, t := range w.Req.Tools {
		if w.Builtin(i, t) {
			builtin++
		}
	}
	if len(w.Req.Tools)-builtin+len(more.functions) > 0 {
		w.Next("{")
		w.Raw(keyFunctions, "[")
		for i := range w.Req.Tools {
			t := &w.Req.Tools[i]
			if t.Builtin != nil {
				continue
			}
			w.function(i, t, more.take(wireName(t.Name)))
		}
		w.objects(more.functions)
		w.Add("]}")
	}
	w.objects(more.others)
	w.Add("]")
}

func (w *writer) objects(list []codec.Members) {
	for _, members := range list {
		w.Next("{")
		w.end(members)
	}
}

func (w *writer) function(i int, t *llm.Tool, more codec.Members) {
	name := wireName(t.Name)
	if !functionName.MatchString(name) {
		w.Fail("tools[%d]: the name %q is invalid: Gemini accepts a letter or underscore, then letters, digits, _ . : and -, at most 64 characters", i, name)
	}
	own := codec.Members{{Key: "name", Raw: codec.Quote(name)}}
	if t.Description != "" {
		own.AddString("description", t.Description)
	}
	if t.Parameters != nil && !jsonio.IsObject(jsonio.View(t.Parameters)) {
		w.Fail("tools[%d]: the parameters are not a JSON object", i)
	}
	own.AddRaw(keyParameters, string(t.Parameters))
	w.Next("{")
	w.joined(own, more, "")
	w.Add("}")
}

const keyParameters = "parametersJsonSchema"

type more struct{ functions, others []codec.Members }

func (m *more) take(name string) codec.Members {
	for i, f := range m.functions {
		if f.Find("name") == codec.Quote(name) {
			m.functions = slices.Delete(m.functions, i, i+1)
			return f.Without("name")
		}
	}
	return nil
}

func (w *writer) extraTools() (out more) {
	raw := w.Req.Extra[keyTools]
	if raw == nil {
		return out
	}
	d := jsonio.NewDec(string(raw))
	eachElement(&d, func() {
		other := readObject(&d, keyFunctions, func() {
			eachElement(&d, func() { out.functions = append(out.functions, codec.MembersOf(d.Raw())) })
		})
		if other != nil {
			out.others = append(out.others, other)
		}
	})
	if err := d.End(); err != nil {
		w.Fail("extra.tools: %w", err)
	}
	return out
}

// Function calling modes.
const (
	modeAuto      = "AUTO"
	modeAny       = "ANY"
	modeNone      = "NONE"
	modeValidated = "VALIDATED" // as AUTO, but the schemas are enforced
)

const (
	keyCalling = "functionCallingConfig"
	keyAllowed = "allowedFunctionNames"
)

// modes are the modes of tool choices. The default is not written.
var modes = map[llm.ToolMode]string{
	llm.ChooseAuto: "", llm.ChooseNone: modeNone, llm.ChooseRequired: modeAny, llm.ChooseTool: modeAny,
}

func (w *writer) toolConfig() {
	var own codec.Members
	own.AddRaw(keyCalling, w.calling())
	w.overlay(keyToolConfig, own, keyCalling)
}

// calling returns the functionCallingConfig, or "" for the default.
func (w *writer) calling() string {
	c := w.Req.ToolChoice
	mode, known := modes[c.Mode]
	strict := func(t llm.Tool) bool { return t.Strict != nil && *t.Strict }
	switch {
	case !known:
		w.Fail("tool_choice: %q is unknown", c.Mode)
	case c.Mode == llm.ChooseAuto && slices.ContainsFunc(w.Req.Tools, strict):
		mode = modeValidated
	}
	if c.Mode == llm.ChooseTool && c.Name == "" {
		w.Fail("tool_choice: missing tool name: set ToolChoice.Name")
	}
	none := len(w.Req.Tools) == 0 && w.Has(keyTools)
	if none && mode == modeAny {
		w.Fail("tool_choice: no tools: add a tool")
	}
	if none || mode == "" {
		return "" // Gemini refuses a mode without functions
	}
	if c.Mode == llm.ChooseTool {
		return `{"mode":"` + mode + `","` + keyAllowed + `":[` + codec.Quote(wireName(c.Name)) + `]}`
	}
	return `{"mode":"` + mode + `"}`
}
