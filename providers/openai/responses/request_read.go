package responses

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/internal/codec"
	"github.com/looptape/looptape/providers/openai/internal/api"
)

// DecodeRequest implements [protocol.Protocol]. It ignores the path.
func (Protocol) DecodeRequest(_ string, body []byte) (*llm.Request, error) {
	d, err := newDec(body)
	if err != nil {
		return nil, fmt.Errorf("openai-responses: the request: %w", err)
	}
	r := requestReader{req: &llm.Request{ResponseMode: llm.NonStreaming}}
	r.body(&d)
	if err := errors.Join(d.End(), r.err); err != nil {
		return nil, fmt.Errorf("openai-responses: the request: %w", err)
	}
	return r.req, nil
}

type requestReader struct {
	req *llm.Request
	err error
}

func (r *requestReader) extra(key, raw string) {
	if raw != "null" && raw != "" {
		codec.SetExtra(r.req, key, codec.Compact(raw))
	}
}

func (r *requestReader) body(d *jsonio.Dec) {
	s := &r.req.Settings
	store, include := "null", "null"
	codec.ReadStrict(d,
		func(key string) { r.extra(key, d.Raw()) },
		"model", &r.req.Model,
		"instructions", func() {
			if d.Peek() != '"' {
				r.extra("instructions", d.Raw())
				return
			}
			r.req.System = llm.SystemText(d.String())
		},
		"input", func() { r.input(d) },
		"tools", func() { r.tools(d) },
		"tool_choice", func() { r.toolChoice(d.Raw()) },
		"parallel_tool_calls", &s.ParallelToolCalls,
		"max_output_tokens", &s.MaxTokens,
		"temperature", &s.Temperature,
		"top_p", &s.TopP,
		"stream", func() {
			if d.Bool() {
				r.req.ResponseMode = llm.Streaming
			}
		},
		"reasoning", func() { r.reasoning(d) },
		"text", func() { r.text(d) },
		"store", func() { store = d.Raw() },
		"include", func() { include = d.Raw() })
	// EncodeRequest always writes these, so Extra contains what they differ in.
	if store != "false" {
		codec.SetExtra(r.req, "store", json.RawMessage(store))
	}
	if string(codec.Compact(include)) != wantsEncrypted {
		codec.SetExtra(r.req, "include", codec.Compact(include))
	}
}

func (r *requestReader) toolChoice(raw string) {
	if choice, ok := api.ToolChoice(raw, codec.GetString(raw, "name")); ok {
		r.req.ToolChoice = choice
		return
	}
	r.extra("tool_choice", raw)
}

// reasoning reads the effort. The rest goes to Extra.
func (r *requestReader) reasoning(d *jsonio.Dec) {
	var rest codec.Members
	codec.ReadStrict(d, func(key string) { rest.Add(d, key) },
		"effort", func() {
			if d.Peek() == '"' {
				r.req.Settings.ReasoningEffort = d.String()
				return
			}
			rest.Add(d, "effort")
		})
	r.extra("reasoning", string(rest.Object()))
}

// text reads the output schema. The rest goes to Extra.
func (r *requestReader) text(d *jsonio.Dec) {
	var rest codec.Members
	codec.ReadStrict(d, func(key string) { rest.Add(d, key) },
		"format", func() { rest.AddRaw("format", string(r.format(d.Raw()))) })
	r.extra("text", string(rest.Object()))
}

// format reads the schema, and returns the members that EncodeRequest would not write.
func (r *requestReader) format(raw string) json.RawMessage {
	schema := codec.Get(raw, "schema")
	if codec.GetString(raw, "type") != "json_schema" || !jsonio.IsObject(jsonio.View(schema)) {
		return json.RawMessage(raw)
	}
	r.req.Settings.OutputSchema = codec.Compact(schema)
	rest := codec.MembersOf(raw).Without("type", "schema")
	if rest.Find("name") == codec.Quote(schemaName) {
		rest = rest.Without("name")
	}
	if api.FollowsStrict(schema) {
		switch string(codec.Get(raw, "strict")) {
		case "true":
			rest = rest.Without("strict")
		case "":
			rest.AddRaw("strict", "false")
		}
	}
	return rest.Object()
}

// tools reads the functions. Other tools, and those that Tool cannot represent, go to Extra.
func (r *requestReader) tools(d *jsonio.Dec) {
	var others codec.Elements
	for range d.Elements() {
		from := d.Offset()
		t, complete := readTool(d)
		if t.Name != "" {
			r.req.Tools = append(r.req.Tools, t)
		}
		if !complete && d.Err() == nil {
			others.Add(d.Since(from))
		}
	}
	r.extra("tools", string(others.Array()))
}

// readTool reads a tool. It has no name unless it is a function. Complete reports whether Tool
// represents all of it.
func readTool(d *jsonio.Dec) (t llm.Tool, complete bool) {
	kind := ""
	complete = true
	for key := range d.Members() {
		switch {
		case key == "type":
			kind = codec.String(d)
		case key == "name":
			t.Name = codec.String(d)
		case key == "description" && d.Peek() == '"':
			t.Description = d.String()
		case key == "parameters" && d.Peek() == '{':
			t.Parameters = codec.Compact(d.Raw())
		case key == "strict" && d.Peek() != 'n':
			t.Strict = new(d.Bool())
		default:
			complete = d.Raw() == "null" && complete
		}
	}
	if kind != "function" {
		return llm.Tool{}, false
	}
	return t, complete && t.Name != ""
}

func (r *requestReader) input(d *jsonio.Dec) {
	if d.Peek() == '"' {
		r.req.Messages = []llm.Message{llm.User(d.String())}
		return
	}
	calls := map[string]*item{}
	for range d.Elements() {
		it := readItem(d)
		if d.Err() != nil {
			return
		}
		r.item(&it, calls)
		r.err = cmp.Or(r.err, it.err)
	}
}

// item adds an item to the messages. Calls contains the earlier calls by id.
func (r *requestReader) item(it *item, calls map[string]*item) {
	switch it.kind {
	case kindMessage:
		r.message(it)
	case kindReasoning:
		r.add(llm.RoleAssistant, it.reasoning())
	case kindCall, kindCustomCall:
		calls[it.callID] = it
		r.add(llm.RoleAssistant, it.call())
	case kindOutput, kindCustomOutput:
		r.result(it, calls[it.callID])
	default:
		role := llm.RoleAssistant
		if it.isClients() {
			role = llm.RoleTool
		}
		r.add(role, it.other())
	}
}

// isClients reports whether the client made an item that this package does not interpret: the
// result of a tool that it ran, or an item with a role, such as additional_tools of the developer.
func (it *item) isClients() bool {
	switch it.kind {
	case "computer_call_output", "local_shell_call_output", "shell_call_output", "apply_patch_call_output", "mcp_approval_response":
		return true
	case "tool_search_output":
		return string(codec.Get(it.raw, "execution")) == `"client"`
	}
	return it.role != "" && it.role != "assistant"
}

func (r *requestReader) add(role llm.Role, parts ...llm.Part) {
	list := r.req.Messages
	switch last := len(list) - 1; {
	case len(parts) == 0:
	case last >= 0 && list[last].Role == role:
		list[last].Parts = append(list[last].Parts, parts...)
	default:
		r.req.Messages = append(list, llm.Message{Role: role, Parts: parts})
	}
}

func (r *requestReader) message(it *item) {
	role := llm.Role(it.role)
	switch it.role {
	case "assistant":
		r.add(role, it.assistantParts()...)
		return
	case "developer":
		role = llm.RoleSystem
		it.opaque.AddString("role", it.role)
	case "user", "system":
	default:
		at := it.content
		at.Fail("a message has the role " + codec.Quote(it.role) + ": want user, assistant, system or developer")
		it.err = at.Err()
		return
	}
	m := llm.Message{Role: role, Parts: it.parts(it.content), Opaque: it.opaque.Object()}
	if len(m.Parts) == 0 && it.content.Peek() == '"' {
		m.Parts = []llm.Part{llm.Text{}}
	}
	r.req.Messages = append(r.req.Messages, m)
}

func (it *item) parts(content jsonio.Dec) (parts []llm.Part) {
	if content.Peek() == '"' {
		if t := content.String(); t != "" {
			parts = []llm.Part{llm.Text{Text: t}}
		}
		return parts
	}
	for _, p := range it.elements(content) {
		parts = append(parts, markUnknown(p.part()))
	}
	return parts
}

// assistantParts returns the parts of an assistant message. Texts have its opaque data too.
func (it *item) assistantParts() (parts []llm.Part) {
	if it.content.Peek() == '"' {
		parts = it.parts(it.content)
		if len(parts) == 1 {
			parts[0] = llm.Text{Text: parts[0].(llm.Text).Text, Opaque: it.opaque.Object()}
		}
		return parts
	}
	for _, p := range it.elements(it.content) {
		part := p.part()
		if t, ok := part.(llm.Text); ok {
			t.Opaque = slices.Concat(it.opaque, p.opaque).Object()
			part = t
		}
		parts = append(parts, part)
	}
	return parts
}

func (r *requestReader) result(it, call *item) {
	result := llm.ToolResult{ID: it.callID, Content: it.parts(it.output)}
	if call != nil {
		result.Name = call.name
	}
	if it.kind == kindCustomOutput && (call == nil || call.kind != kindCustomCall) {
		it.opaque.AddString("type", kindCustomOutput)
	}
	result.Opaque = it.opaque.Object()
	r.add(llm.RoleTool, result)
}
