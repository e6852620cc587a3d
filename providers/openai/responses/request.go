package responses

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/internal/codec"
	"github.com/looptape/looptape/providers/openai/internal/api"
	"github.com/looptape/looptape/providers/protocol"
)

// schemaName is the name of the output schema, which the protocol requires.
const schemaName = "answer"

// wantsEncrypted requests reasoning in encrypted form, because the provider stores nothing.
const wantsEncrypted = `["reasoning.encrypted_content"]`

// EncodeRequest implements [protocol.Protocol].
func (Protocol) EncodeRequest(req *llm.Request) (*protocol.Request, error) {
	if err := codec.CheckExtra(req.Extra); err != nil {
		return nil, err
	}
	w := writer{Writer: codec.NewWriter(req), seen: map[string]bool{}, custom: map[string]bool{}}
	if req.Model != "" {
		w.put("model", codec.Quote(req.Model))
	}
	if prompt := req.System.Text(); prompt != "" {
		w.put("instructions", codec.Quote(prompt))
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

// join writes an object. The members of the object in Extra replace its members, down to depth.
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
		if namesTool(extra, t.Name) || w.Builtin(i, t) {
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

type writer struct {
	codec.Writer
	written []string        // the members of Extra that were written in place of others
	seen    map[string]bool // item ids that the request contains (SR-04)
	custom  map[string]bool // call ids of custom calls
}

func (w *writer) input() {
	const each = 256 // bytes of most messages
	from := len(w.Dst)
	w.Dst = slices.Grow(w.Dst, each*(1+len(w.Req.Messages)))
	w.Raw("input", "[")
	for i := range w.Req.Messages {
		w.Message = i + 1
		w.message(&w.Req.Messages[i])
	}
	w.Message = 0
	w.Add("]")
	if !w.Has("input") {
		w.Dst = w.Dst[:from]
		w.put("input", "")
	}
}

func (w *writer) message(m *llm.Message) {
	switch m.Role {
	case llm.RoleUser, llm.RoleSystem:
		w.userMessage(m)
	case llm.RoleAssistant:
		w.assistant(m.Parts)
	case llm.RoleTool:
		for i, p := range m.Parts {
			if w.Part = i + 1; !codec.Omits(protocolName, m.Role, p) {
				w.toolPart(p)
			}
		}
		w.Part = 0
	default:
		w.Fail("unknown role %q", m.Role)
	}
}

func (w *writer) userMessage(m *llm.Message) {
	role := string(m.Role)
	if r := codec.GetString(m.Opaque, "role"); r == "developer" && m.Role == llm.RoleSystem {
		role = r
	}
	w.Next(`{"role":%`, role)
	w.itemID(m.Opaque, messageID)
	w.Dst = itemNames.Append(w.Dst, m.Opaque, "role", "id", "type", "content", "status")
	w.content("content", m.Parts, &w.Part)
	w.Add("}")
}

// itemID writes an id with this prefix (SR-05) unless the request has it (SR-04, SR-06).
func (w *writer) itemID(opaque json.RawMessage, prefix string) {
	if id := knownID(opaque, prefix); id != "" && !w.seen[id] {
		w.seen[id] = true
		w.Text("id", id)
	}
}

// Prefixes of item ids.
const (
	messageID   = "msg"
	reasoningID = "rs"
	callItemID  = "fc"
	customID    = "ct"
)

// knownID returns the id of an item if it has the prefix. OpenAI rejects the ids of others.
func knownID(opaque json.RawMessage, prefix string) string {
	if id := codec.GetString(opaque, "id"); strings.HasPrefix(id, prefix) {
		return id
	}
	return ""
}

func soleText(parts []llm.Part) (string, bool) {
	switch len(parts) {
	case 0:
		return "", true
	case 1:
		t, ok := parts[0].(llm.Text)
		return t.Text, ok && t.Opaque == nil
	}
	return "", false
}

// content writes text, media and unknown parts: at most one text as a string, others as an
// array. At is the index of the part for errors.
func (w *writer) content(key string, parts []llm.Part, at *int) {
	if t, ok := soleText(parts); ok {
		w.Text(key, t)
		return
	}
	w.Raw(key, "[")
	for i, p := range parts {
		*at = i + 1
		w.contentPart(p, at == &w.Part)
	}
	*at = 0
	w.Add("]")
}

func (w *writer) contentPart(p llm.Part, audio bool) {
	switch p := p.(type) {
	case llm.Text:
		w.Next(`{"type":"input_text","text":%`, p.Text)
		w.Dst = append(contentNames.Append(w.Dst, p.Opaque, partMembers...), '}')
	case llm.Media:
		w.media(&p, audio)
	case llm.Unknown:
		w.Next("")
		w.Unknown(protocolName, p)
	default:
		w.Fail("%s is not allowed here: use text or media", partName(p))
	}
}

// partMembers are the members of a content part that this package writes.
var partMembers = []string{"type", "text", "refusal", "image_url", "file_url", "file_data", "filename", "input_audio"}

func partName(p llm.Part) string {
	switch p.(type) {
	case llm.Text:
		return "a text"
	case llm.Reasoning:
		return "reasoning"
	case llm.Media:
		return "media"
	case llm.ToolCall:
		return "a tool call"
	case llm.ToolResult:
		return "a tool result"
	default:
		return "nothing"
	}
}

func (w *writer) media(m *llm.Media, audio bool) {
	if m.Data == nil && m.URL == "" && codec.GetString(m.Opaque, "file_id") == "" {
		w.Fail("the media has neither data nor a URL: load the content")
	}
	switch {
	case strings.HasPrefix(m.MediaType, "image/"):
		w.Next(`{"type":"input_image"`)
		w.source("image_url", "image_url", m)
	case strings.HasPrefix(m.MediaType, "audio/"):
		w.Next(`{"type":"input_audio"`)
		w.audio(m, audio)
	default:
		w.Next(`{"type":"input_file"`)
		name := m.Name
		if name == "" && m.Data != nil {
			name = fileName(m.MediaType)
		}
		w.OptionalText("filename", name)
		w.source("file_data", "file_url", m)
	}
	w.Dst = append(contentNames.Append(w.Dst, m.Opaque, partMembers...), '}')
}

func (w *writer) source(dataKey, urlKey string, m *llm.Media) {
	if m.Data != nil {
		w.Base64(dataKey, "data:"+m.MediaType+";base64,", m.Data)
		return
	}
	w.OptionalText(urlKey, m.URL)
}

func (w *writer) audio(m *llm.Media, allowed bool) {
	for _, f := range audioFormats {
		if f.mediaType == m.MediaType && m.Data != nil && allowed {
			w.Raw("input_audio", "{")
			w.Base64("data", "", m.Data)
			w.Add(`,"format":%}`, f.format)
			return
		}
	}
	w.Fail("the Responses API accepts audio only in user messages, as audio/wav or audio/mpeg data, not %s", m.MediaType)
}

func (w *writer) toolPart(p llm.Part) {
	switch p := p.(type) {
	case llm.ToolResult:
		w.result(&p)
	case llm.Unknown:
		w.Next("")
		w.Unknown(protocolName, p)
	default:
		w.Fail("%s is not allowed in a tool message: use results", partName(p))
	}
}

func (w *writer) result(r *llm.ToolResult) {
	kind := kindOutput
	if w.custom[r.ID] || codec.GetString(r.Opaque, "type") == kindCustomOutput {
		kind = kindCustomOutput
	}
	w.Next(`{"type":%`, kind)
	w.itemID(r.Opaque, "")
	w.Text("call_id", w.callID(r.ID))
	w.content("output", r.Content, &w.Content)
	w.endItem(r.Opaque)
}

// maxCallID is the length limit of call ids (SR-15).
const maxCallID = 64

func (w *writer) callID(id string) string {
	if id == "" {
		w.Fail("missing call id: set it on the call and its result")
	}
	return codec.ShortID(id, maxCallID)
}

// itemMembers are the members of an item that this package writes.
var itemMembers = []string{"type", "id", "call_id", "name", "arguments", "input", "output", "status", "role", "content"}
