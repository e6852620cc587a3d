package responses

import (
	"encoding/json"
	"errors"
	"fmt"

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
	// EncodeRequest always writes these, so Extra contains null if they are missing.
	r.extra("store", "null")
	r.extra("include", "null")
	r.body(&d)
	if err := errors.Join(d.End(), r.err); err != nil {
		return nil, fmt.Errorf("openai-responses: the request: %w", err)
	}
	if len(r.req.Extra) == 0 {
		r.req.Extra = nil
	}
	return r.req, nil
}

type requestReader struct {
	req *llm.Request
	err error
}

func (r *requestReader) extra(key, raw string) {
	if r.req.Extra == nil {
		r.req.Extra = map[string]json.RawMessage{}
	}
	r.req.Extra[key] = codec.Compact(raw)
}

func (r *requestReader) body(d *jsonio.Dec) {
	s := &r.req.Settings
	codec.ReadStrict(d,
		func(key string) {
			if raw := d.Raw(); raw != "null" {
				r.extra(key, raw)
			}
		},
		"model", &r.req.Model,
		"instructions", func() {
			if d.Peek() != '"' {
				r.extra("instructions", d.Raw())
				return
			}
			r.req.System = d.String()
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
		"store", func() { r.standing("store", d.Raw(), "false") },
		"include", func() { r.standing("include", d.Raw(), wantsEncrypted) })
}

// standing handles a member that EncodeRequest always writes with this value.
func (r *requestReader) standing(key, raw, always string) {
	if string(codec.Compact(raw)) == always {
		delete(r.req.Extra, key)
		return
	}
	r.extra(key, raw)
}

func (r *requestReader) toolChoice(raw string) {
	v := codec.Compact(raw)
	name := codec.GetString(v, "name")
	switch to := &r.req.ToolChoice; {
	case string(v) == `"auto"`:
	case string(v) == `"required"`:
		to.Mode = llm.ChooseRequired
	case string(v) == `"none"`:
		to.Mode = llm.ChooseNone
	case codec.GetString(v, "type") == "function" && name != "":
		*to = llm.ToolChoice{Mode: llm.ChooseTool, Name: name}
	default:
		r.extra("tool_choice", raw)
	}
}

// reasoning reads the effort. The rest goes to Extra.
func (r *requestReader) reasoning(d *jsonio.Dec) {
	var rest codec.Members
	for key := range d.Members() {
		if key == "effort" && d.Peek() == '"' {
			r.req.Settings.ReasoningEffort = d.String()
			continue
		}
		rest.Add(d, key)
	}
	if rest != nil {
		r.extra("reasoning", string(rest.Object()))
	}
}

// text reads the output schema. The rest goes to Extra.
func (r *requestReader) text(d *jsonio.Dec) {
	var rest codec.Members
	for key := range d.Members() {
		if raw := d.Raw(); key == "format" {
			rest.AddRaw(key, string(r.format(json.RawMessage(raw))))
		} else {
			rest.AddRaw(key, raw)
		}
	}
	if rest != nil {
		r.extra("text", string(rest.Object()))
	}
}

// format reads the schema, and returns the members that EncodeRequest would not write.
func (r *requestReader) format(raw json.RawMessage) json.RawMessage {
	schema := codec.Get(raw, "schema")
	if codec.GetString(raw, "type") != "json_schema" || !jsonio.IsObject(jsonio.View(schema)) {
		return raw
	}
	r.req.Settings.OutputSchema = codec.Compact(string(schema))
	var rest codec.Members
	strict := false
	codec.EachMember(raw, func(key, value string) {
		switch {
		case key == "type" || key == "schema" || key == "name" && value == `"`+schemaName+`"`:
			return
		case key == "strict":
			strict = true
			if value == "true" && api.FollowsStrict(schema) {
				return
			}
		}
		rest.AddRaw(key, value)
	})
	if !strict && api.FollowsStrict(schema) {
		rest.AddRaw("strict", "false")
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
	if others != nil {
		r.extra("tools", string(others.Array()))
	}
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

// input reads the input: one user message as a string, or items.
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
		if err := r.item(&it, calls); err != nil && r.err == nil {
			r.err = err
		}
	}
}

// item adds an item to the messages. Calls contains the earlier calls by id.
func (r *requestReader) item(it *item, calls map[string]*item) error {
	switch it.kind {
	case kindMessage:
		return r.message(it)
	case kindReasoning:
		p, err := it.reasoning()
		r.add(llm.RoleAssistant, p)
		return err
	case kindCall, kindCustomCall:
		calls[it.callID] = it
		r.add(llm.RoleAssistant, it.call())
		return nil
	case kindOutput, kindCustomOutput:
		return r.result(it, calls[it.callID])
	}
	r.add(roleOf(it.kind), it.other())
	return nil
}

// roleOf returns the role for an item of an unknown kind.
func roleOf(kind string) llm.Role {
	switch kind {
	case "computer_call_output", "local_shell_call_output", "shell_call_output", "apply_patch_call_output", "mcp_approval_response":
		return llm.RoleTool
	}
	return llm.RoleAssistant
}

// add adds a part to the last message if it has the role, or to a new one.
func (r *requestReader) add(role llm.Role, p llm.Part) {
	list := &r.req.Messages
	if n := len(*list); n == 0 || (*list)[n-1].Role != role {
		*list = append(*list, llm.Message{Role: role})
	}
	m := &(*list)[len(*list)-1]
	m.Parts = append(m.Parts, p)
}

func (r *requestReader) message(it *item) error {
	switch it.role {
	case "user", "system", "developer":
		parts, err := it.parts()
		role := llm.Role(it.role)
		if it.role == "developer" {
			role = llm.RoleSystem
			it.opaque.AddString("role", it.role)
		}
		r.req.Messages = append(r.req.Messages, llm.Message{Role: role, Parts: parts, Opaque: it.opaque.Object()})
		return err
	case "assistant":
		parts, err := it.assistantParts()
		for _, p := range parts {
			r.add(llm.RoleAssistant, p)
		}
		return err
	}
	at := it.content
	at.Fail("a message has the role " + string(quoted(it.role)) + ": want user, assistant, system or developer")
	return at.Err()
}

// parts returns the content of a user or system message.
func (it *item) parts() ([]llm.Part, error) { return readContent(&it.content, it.has.content) }

func readContent(d *jsonio.Dec, has bool) (parts []llm.Part, err error) {
	if !has {
		return nil, nil
	}
	if d.Peek() == '"' {
		if t := d.String(); t != "" {
			parts = []llm.Part{llm.Text{Text: t}}
		}
		return parts, nil
	}
	for range d.Elements() {
		p := readContentPart(d)
		parts = append(parts, markUnknown(p.part()))
	}
	return parts, d.Err()
}

// assistantParts returns the parts of an assistant message. Each text has the opaque data of
// the item and its own.
func (it *item) assistantParts() ([]llm.Part, error) {
	if !it.has.content || it.content.Peek() == '"' {
		parts, err := it.parts()
		if len(parts) == 1 {
			parts[0] = llm.Text{Text: parts[0].(llm.Text).Text, Opaque: it.opaque.Object()}
		}
		return parts, err
	}
	contents, err := it.contentParts()
	var parts []llm.Part
	for i := range contents {
		part := contents[i].part()
		if t, ok := part.(llm.Text); ok {
			t.Opaque = joinMembers(it.opaque, contents[i].opaque)
			part = t
		}
		parts = append(parts, part)
	}
	return parts, err
}

// contentParts returns the content of a message. A string has none.
func (it *item) contentParts() (out []contentPart, err error) {
	d := it.content
	if !it.has.content || d.Peek() == '"' {
		return nil, nil
	}
	for range d.Elements() {
		out = append(out, readContentPart(&d))
	}
	return out, d.Err()
}

// joinMembers returns an object with the members of both, or nil.
func joinMembers(a, b codec.Members) json.RawMessage {
	o := append(codec.Members(nil), a...)
	if len(a) > 0 && len(b) > 0 {
		o = append(o, ',')
		b = b[1:]
	}
	return append(o, b...).Object()
}

func (r *requestReader) result(it, call *item) error {
	content, err := readContent(&it.output, it.has.output)
	out := llm.ToolResult{ID: it.callID, Content: content}
	o := it.opaque
	if call != nil {
		out.Name = call.name
	}
	if it.kind == kindCustomOutput && (call == nil || call.kind != kindCustomCall) {
		o.AddString("type", kindCustomOutput)
	}
	out.Opaque = o.Object()
	r.add(llm.RoleTool, out)
	return err
}
