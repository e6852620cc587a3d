package chat

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/internal/jsonval"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/internal/codec"
	"github.com/looptape/looptape/providers/openai/internal/api"
)

// DecodeRequest implements [protocol.Protocol]. It ignores the path.
//
// A first system message with one plain text becomes Request.System; other system and developer
// messages stay messages. Tool messages in a row become one. A function_call becomes a call
// with a generated id, and the following message with the role function becomes its result.
// EncodeRequest writes both in the current format. The result differs from the request that
// EncodeRequest encoded in what the protocol omits: the order of reasoning, text and calls,
// empty text, IsError, the media type of images at URLs, tool names on results (they are those
// of the calls), IDGenerated and ProviderID, and a tool choice without tools.
//
// Extra contains unknown members and known ones that Request cannot represent, so that
// EncodeRequest writes them again. A stream without usage has stream_options null there. Null
// members are omitted.
func (c Protocol) DecodeRequest(_ string, body []byte) (*llm.Request, error) {
	if !jsonio.ValidUTF8(body) {
		return nil, errors.New("the request is not UTF-8")
	}
	r := reader{Dec: jsonio.NewDec(string(body)), chat: c, req: &llm.Request{ResponseMode: llm.NonStreaming}}
	r.request()
	if err := r.End(); err != nil {
		return nil, fmt.Errorf("invalid Chat Completions request: %w", err)
	}
	return r.req, nil
}

type reader struct {
	jsonio.Dec
	chat Protocol
	req  *llm.Request
	// These members depend on others.
	choice, parallel, options string
	limit, otherLimit         int64 // of the output, by the codec's name for it and by the other
	otherLimitName            string
}

func (r *reader) keep(key, raw string) {
	if r.Err() == nil {
		codec.SetExtra(r.req, key, codec.Compact(raw))
	}
}

func (r *reader) request() {
	s := &r.req.Settings
	keep := func(key string) {
		if raw := r.Raw(); raw != "null" {
			r.keep(key, raw)
		}
	}
	limits := []string{"max_tokens", "max_completion_tokens"}
	r.otherLimitName = limits[1-slices.Index(limits, r.chat.maxTokens())]
	codec.ReadStrict(&r.Dec, keep,
		"model", &r.req.Model,
		"messages", func() {
			for range r.Elements() {
				r.message()
			}
		},
		"tools", r.tools,
		"tool_choice", func() { r.choice = r.Raw() },
		"parallel_tool_calls", func() { r.parallel = r.Raw() },
		r.chat.maxTokens(), &r.limit,
		r.otherLimitName, &r.otherLimit,
		"temperature", &s.Temperature,
		"top_p", &s.TopP,
		"seed", &s.Seed,
		"stop", r.stop,
		"reasoning_effort", &s.ReasoningEffort,
		"response_format", r.format,
		"stream", func() {
			if r.Bool() {
				r.req.ResponseMode = llm.Streaming
			}
		},
		"stream_options", func() { r.options = r.Raw() })
	r.settle()
}

func (r *reader) stop() {
	if r.Peek() == '"' {
		r.req.Settings.StopSequences = []string{r.String()}
		return
	}
	for range r.Elements() {
		r.req.Settings.StopSequences = append(r.req.Settings.StopSequences, r.String())
	}
}

// format reads the response format. Extra keeps it if this codec would write it differently.
func (r *reader) format() {
	raw := r.Raw()
	schema := codec.Get(raw, "json_schema", "schema")
	if schema != nil {
		r.req.Settings.OutputSchema = codec.Compact(schema)
		if jsonval.Canonical(format(schema)) == jsonval.Canonical(raw) {
			return
		}
	}
	r.keep("response_format", raw)
}

// tools reads the tools. Extra keeps all of them if Tool cannot represent one.
func (r *reader) tools() {
	from := r.Offset()
	exact := true
	r.req.Tools = nil
	for range r.Elements() {
		t, function, complete := r.tool()
		if function {
			r.req.Tools = append(r.req.Tools, t)
		}
		exact = exact && complete
	}
	if !exact || len(r.req.Tools) == 0 {
		r.keep("tools", r.Since(from))
	}
}

// tool reads a tool, and reports whether it is a function and whether t represents all of it.
func (r *reader) tool() (t llm.Tool, function, complete bool) {
	complete = true
	other := func(string) { complete = r.Raw() == "null" && complete }
	codec.ReadStrict(&r.Dec, other,
		"type", codec.NotNull(func() { complete = r.String() == "function" && complete }),
		"function", codec.NotNull(func() {
			function = true
			codec.ReadStrict(&r.Dec, other, "name", &t.Name, "description", &t.Description, "parameters", &t.Parameters, "strict", &t.Strict)
		}))
	return t, function, complete && function
}

// settle handles the members that depend on others.
func (r *reader) settle() {
	s := &r.req.Settings
	s.MaxTokens = int(cmp.Or(r.limit, r.otherLimit))
	if r.otherLimit != 0 {
		r.keep(r.otherLimitName, strconv.FormatInt(r.otherLimit, 10))
		if r.limit != 0 {
			r.keep(r.chat.maxTokens(), strconv.FormatInt(r.limit, 10))
		}
	}
	tools := len(r.req.Tools) > 0
	if r.parallel != "" {
		switch {
		case tools && r.parallel == "true", tools && r.parallel == "false":
			s.ParallelToolCalls = new(r.parallel == "true")
		default:
			r.keep("parallel_tool_calls", r.parallel)
		}
	}
	if r.choice != "" {
		name := codec.GetString(r.choice, "function", "name")
		choice, ok := api.ToolChoice(r.choice, name)
		if ok && tools {
			r.req.ToolChoice = choice
		} else {
			r.keep("tool_choice", r.choice)
		}
	}
	streamed := r.req.ResponseMode == llm.Streaming
	switch {
	case streamed && r.options == "":
		r.keep("stream_options", "null")
	case r.options != "" && (!streamed || string(codec.Compact(r.options)) != usageInStream):
		r.keep("stream_options", r.options)
	}
}

type wireMessage struct {
	role           string
	content, calls []llm.Part
	hasContent     bool // the content is not null
	refusal        string
	reasoning      [2]string // reasoning_content, reasoning
	reasons        [2]bool   // which of them there are
	details        string    // JSON
	function       string    // function_call, JSON
	id, name       string
	opaque         codec.Members
}

func (r *reader) message() {
	m := wireMessage{role: r.role()}
	for key := range r.Members() {
		r.messageMember(&m, key)
	}
	if r.Err() == nil {
		r.add(&m)
	}
}

// role looks ahead for the role, because other members depend on it.
func (r *reader) role() (role string) {
	ahead := r.Dec
	for key := range ahead.Members() {
		if key == "role" {
			return codec.String(&ahead)
		}
		ahead.Skip()
	}
	return ""
}

func (r *reader) messageMember(m *wireMessage, key string) {
	assistant := m.role == "assistant"
	switch {
	case r.Null():
	case key == "role":
		r.Skip()
	case key == "content":
		m.hasContent = true
		m.content = r.content(m.role)
	case key == "tool_call_id" && m.role == "tool":
		m.id = r.String()
	case key == "refusal" && assistant:
		m.refusal = r.String()
	case key == "tool_calls" && assistant:
		for range r.Elements() {
			m.calls = append(m.calls, r.toolCall())
		}
	case key == functionCall && assistant && r.Peek() == '{':
		m.function = r.Raw()
	case key == reasoningContent && assistant && r.Peek() == '"':
		m.reasoning[0], m.reasons[0] = r.String(), true
	case key == reasoningField && assistant && r.Peek() == '"':
		m.reasoning[1], m.reasons[1] = r.String(), true
	case key == "reasoning_details" && assistant && r.Peek() == '[':
		m.details = r.Raw()
	case key == "name":
		m.opaque.Add(&r.Dec, key)
		m.name = codec.GetString(m.opaque.Object(), key)
	default:
		m.opaque.Add(&r.Dec, messageNames.Stored(key))
	}
}

func (r *reader) add(m *wireMessage) {
	req := r.req
	last := len(req.Messages) - 1
	if id := r.openFunction(); id != "" && m.role == "function" {
		m.role, m.id = "tool", id
	}
	out := llm.Message{Role: llm.Role(m.role), Parts: m.content}
	switch m.role {
	case "":
		r.Fail("expected a message with a role before here")
	case "assistant":
		m.callFunction(last + 1)
		out.Parts = slices.Concat(m.reasoningParts(), m.content)
		if m.refusal != "" {
			out.Parts = append(out.Parts, llm.Text{Text: m.refusal, Refusal: true})
		}
		out.Parts = append(out.Parts, m.calls...)
		if m.opaque == nil {
			out.Parts = m.orEmptyText(out.Parts)
		}
	case "tool":
		result := llm.ToolResult{ID: m.id, Name: r.calledName(m.id, m.name), Content: m.content, Opaque: m.opaque.Object()}
		if last >= 0 && req.Messages[last].Role == llm.RoleTool {
			req.Messages[last].Parts = append(req.Messages[last].Parts, result)
			return
		}
		out, m.opaque = llm.ToolResults(result), nil
	case "system", "developer":
		out.Role = llm.RoleSystem
		own := m.role == r.chat.systemRole()
		text, only := onlyText(m.content)
		if last < 0 && own && only && text != "" && m.opaque == nil && req.System == nil {
			req.System = llm.SystemText(text)
			return
		}
		if !own {
			m.opaque.AddString("role", m.role)
		}
		out.Parts = m.orEmptyText(out.Parts)
	case "user":
		out.Parts = m.orEmptyText(out.Parts)
	}
	out.Opaque = m.opaque.Object()
	req.Messages = append(req.Messages, out)
}

// orEmptyText returns the parts, or an empty text for the content "" or []: OpenAI accepts both
// (openai-python#1812), and rejects null.
func (m *wireMessage) orEmptyText(parts []llm.Part) []llm.Part {
	if m.hasContent && len(parts) == 0 {
		return []llm.Part{llm.Text{}}
	}
	return parts
}

// functionCall is the member of a message before tool_calls existed. A message with the role
// function is its result. It has no id.
const functionCall = "function_call"

// callFunction converts function_call to a call whose id contains the position of the message.
// It stays opaque if there are tool calls too or if it is invalid.
func (m *wireMessage) callFunction(at int) {
	if m.function == "" {
		return
	}
	c := llm.ToolCall{ID: functionCall + "_" + strconv.Itoa(at), IDGenerated: true}
	r := reader{Dec: jsonio.NewDec(m.function)}
	var rest codec.Members
	rest.AddObject("function", r.called(&c))
	if m.calls != nil || r.Err() != nil {
		m.opaque.AddRaw(messageNames.Stored(functionCall), m.function)
		return
	}
	c.Opaque = rest.Object()
	m.calls = []llm.Part{c}
}

// openFunction returns the id of the function_call in the last message, or "".
func (r *reader) openFunction() string {
	for _, m := range r.req.Messages[max(0, len(r.req.Messages)-1):] {
		for _, p := range m.Parts {
			if c, ok := p.(llm.ToolCall); ok && c.IDGenerated {
				return c.ID
			}
		}
	}
	return ""
}

// reasoningParts returns a part for each reasoning member. The last one has the details.
func (m *wireMessage) reasoningParts() (parts []llm.Part) {
	details := m.details
	for i := len(m.reasons) - 1; i >= 0; i-- {
		if m.reasons[i] {
			field := [...]string{reasoningContent, reasoningField}[i]
			parts = append(parts, llm.Reasoning{Text: m.reasoning[i], Opaque: opaqueReasoning(field, details)})
			details = ""
		}
	}
	slices.Reverse(parts)
	if details != "" {
		d := jsonio.NewDec(details)
		text, _ := (&reasoningReader{}).addDetails(&d)
		parts = append(parts, llm.Reasoning{Text: text, Opaque: opaqueReasoning("", details)})
	}
	return parts
}

// opaqueReasoning returns the Opaque of reasoning. Field and details, as JSON, may be empty.
func opaqueReasoning(field, details string) json.RawMessage {
	var out codec.Members
	if field != "" {
		out.AddString("field", field)
	}
	out.AddRaw("reasoning_details", details)
	return out.Object()
}

func (r *reader) calledName(id, own string) string {
	for _, m := range slices.Backward(r.req.Messages) {
		for _, p := range m.Parts {
			if c, ok := p.(llm.ToolCall); ok && c.ID == id {
				return c.Name
			}
		}
	}
	return own
}

func (r *reader) content(role string) (parts []llm.Part) {
	if r.Peek() != '[' {
		if s := r.String(); s != "" {
			parts = append(parts, llm.Text{Text: s})
		}
		return parts
	}
	for range r.Elements() {
		parts = append(parts, r.element(role))
	}
	return parts
}

func (r *reader) element(role string) llm.Part {
	kind := r.kind()
	switch {
	case kind == "text":
		return r.textElement(kind)
	case kind == "refusal" && role == "assistant":
		return r.textElement(kind)
	case kind == "thinking" && role == "assistant":
		return r.thinking()
	case (kind == "image_url" || kind == "input_audio" || kind == "file") && role == "user":
		return readMedia(&r.Dec, kind)
	}
	return unknownPart(kind, r.Raw())
}

// kind looks ahead for the type of an object.
func (r *reader) kind() (kind string) {
	if r.Peek() != '{' {
		r.Fail("expected an object with a type")
		return ""
	}
	ahead := r.Dec
	return codec.GetString(ahead.Raw(), "type")
}

func (r *reader) textElement(kind string) llm.Part {
	var rest codec.Members
	t := llm.Text{Refusal: kind == "refusal"}
	codec.ReadStrict(&r.Dec,
		func(key string) { rest.Add(&r.Dec, messageNames.Stored(key)) },
		"type", nil,
		kind, codec.NotNull(func() { t.Text = r.String() }))
	t.Opaque = rest.Object()
	return t
}

// thinking reads Mistral's reasoning in a content, if this codec would write it the same way.
func (r *reader) thinking() llm.Part {
	ahead := r.Dec
	part, _ := readPart(&ahead, joinedText)
	raw := r.Raw()
	if jsonval.Canonical(raw) != jsonval.Canonical(thinking(part.text)) {
		return unknownPart("thinking", raw)
	}
	return llm.Reasoning{Text: part.text, Opaque: opaqueReasoning(contentField, "")}
}

func (r *reader) toolCall() llm.Part {
	var c llm.ToolCall
	var rest, inner codec.Members
	kind := "function"
	codec.ReadStrict(&r.Dec,
		func(key string) { rest.Add(&r.Dec, messageNames.Stored(key)) },
		"id", &c.ID,
		"index", nil,
		"type", func() {
			if kind := r.String(); kind != "" && kind != "function" {
				rest.AddString("type", kind)
			}
		},
		"function", func() { kind, inner = "function", r.called(&c) },
		"custom", func() { kind, inner = "custom", r.called(&c) })
	rest.AddObject(kind, inner)
	c.Opaque = rest.Object()
	return c
}

func (r *reader) called(c *llm.ToolCall) (rest codec.Members) {
	arguments := func() { c.Arguments = codec.Text(&r.Dec) }
	codec.ReadStrict(&r.Dec,
		func(key string) { rest.Add(&r.Dec, key) },
		"name", &c.Name,
		"arguments", arguments,
		"input", arguments)
	return rest
}
