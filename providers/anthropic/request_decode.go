package anthropic

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/internal/codec"
)

// DecodeRequest implements [protocol.Protocol]. It also reads requests that the API would
// reject. It normalizes them:
//
//   - A system prompt of plain blocks, also with cache marks of the default lifetime, becomes
//     Request.System. Of other prompts, System contains the texts, and Extra the blocks.
//   - A content that is a string becomes one text. Results become messages with [llm.RoleTool]
//     and the names of their calls, separate from other blocks.
//   - Extra contains tools and tool choices that Request cannot represent.
//   - A plain tool choice "auto" is omitted.
//   - Null members of blocks, empty citations and direct callers are omitted.
//   - Media at a URL are image/* or application/pdf.
//   - A container is in Extra.
func (Messages) DecodeRequest(_ string, raw []byte) (*llm.Request, error) {
	if !jsonio.ValidUTF8(raw) {
		return nil, errors.New("the request body is not UTF-8")
	}
	d := jsonio.NewDec(string(raw))
	req := &llm.Request{ResponseMode: llm.NonStreaming}
	readBody(&d, req)
	if err := d.End(); err != nil {
		return nil, fmt.Errorf("the request body: %w", err)
	}
	return req, nil
}

func readBody(d *jsonio.Dec, req *llm.Request) {
	s := &req.Settings
	// kept reads a member. If read returns false, Extra keeps the member.
	kept := func(key string, read func(*jsonio.Dec, *llm.Request) (complete bool)) {
		from := d.Offset()
		if read(d, req) || d.Err() != nil {
			return
		}
		codec.SetExtra(req, key, codec.Compact(d.Since(from)))
	}
	codec.ReadStrict(d,
		func(key string) { kept(key, func(d *jsonio.Dec, _ *llm.Request) bool { d.Skip(); return false }) },
		"model", &req.Model,
		"messages", func() { req.Messages = readMessages(d) },
		"max_tokens", &s.MaxTokens,
		"temperature", &s.Temperature,
		"top_p", &s.TopP,
		"stop_sequences", &s.StopSequences,
		"stream", func() {
			if d.Bool() {
				req.ResponseMode = llm.Streaming
			}
		},
		"system", func() { kept("system", readSystem) },
		"tools", func() { kept("tools", readTools) },
		"tool_choice", func() { kept("tool_choice", readToolChoice) },
		"output_config", func() { kept("output_config", readOutputConfig) })
}

func readSystem(d *jsonio.Dec, req *llm.Request) (complete bool) {
	if d.Peek() == '"' {
		req.System = llm.SystemText(d.String())
		return true
	}
	blocks, marks := readContent(d, false), 0
	complete = true
	for _, b := range blocks {
		t, ok := b.(llm.Text)
		p := llm.SystemPart{Text: t.Text, CacheMark: string(t.Opaque) == cacheMark}
		if p.CacheMark {
			marks++
		}
		plain := p.CacheMark || t.Opaque == nil
		blank := strings.TrimSpace(t.Text) == "" && (p.CacheMark || len(blocks) > 1)
		complete = complete && ok && plain && !blank
		if p != (llm.SystemPart{}) {
			req.System = append(req.System, p)
		}
	}
	return complete && marks <= maxCacheMarks
}

func readMessages(d *jsonio.Dec) (messages []llm.Message) {
	var calls []llm.ToolCall // of the last assistant message
	for range d.Elements() {
		m := readMessage(d)
		if m.Role == llm.RoleAssistant {
			calls = m.Calls()
		}
		messages = split(messages, m, calls)
	}
	return messages
}

func readMessage(d *jsonio.Dec) (m llm.Message) {
	var rest opaqueReader
	m.Opaque = rest.read(d,
		"role", codec.NotNull(func() {
			switch m.Role = llm.Role(d.String()); m.Role {
			case llm.RoleUser, llm.RoleAssistant, llm.RoleSystem:
			default:
				d.Fail("unknown role: want user or assistant, got " + string(m.Role))
			}
		}),
		"content", func() { m.Parts = readContent(d, false) })
	return m
}

// split appends a message. A user message with results becomes several messages.
func split(to []llm.Message, m llm.Message, calls []llm.ToolCall) []llm.Message {
	if m.Role != llm.RoleUser || len(m.Parts) == 0 {
		return append(to, m)
	}
	from := 0
	for i, part := range m.Parts {
		role := llm.RoleUser
		if r, ok := part.(llm.ToolResult); ok {
			role = llm.RoleTool
			if i := slices.IndexFunc(calls, func(c llm.ToolCall) bool { return c.ID == r.ID }); i >= 0 {
				r.Name = calls[i].Name
			}
			m.Parts[i] = r
		}
		if next := i + 1; next == len(m.Parts) || isResult(m.Parts[next]) != isResult(part) {
			to = append(to, llm.Message{Role: role, Parts: m.Parts[from:next:next], Opaque: m.Opaque})
			from = next
		}
	}
	return to
}

func isResult(p llm.Part) bool {
	_, ok := p.(llm.ToolResult)
	return ok
}

func readTools(d *jsonio.Dec, req *llm.Request) (complete bool) {
	complete = true
	for range d.Elements() {
		t, custom, known := readTool(d)
		if custom {
			req.Tools = append(req.Tools, t)
		}
		complete = complete && custom && known
	}
	return complete
}

// readTool reads a tool. Custom is false for tools of the provider. Known reports whether t
// represents all of it.
func readTool(d *jsonio.Dec) (t llm.Tool, custom, known bool) {
	kind := "custom"
	known = true
	codec.ReadStrict(d,
		func(string) { known = d.Raw() == "null" && known },
		"type", &kind,
		"name", &t.Name,
		"description", &t.Description,
		"input_schema", &t.Parameters,
		"strict", &t.Strict)
	return t, kind == "" || kind == "custom", known
}

func readToolChoice(d *jsonio.Dec, req *llm.Request) (complete bool) {
	complete = true
	var kind, name string
	codec.ReadStrict(d,
		func(string) { complete = false; d.Skip() },
		"type", &kind,
		"name", &name,
		"disable_parallel_tool_use", func() { req.Settings.ParallelToolCalls = new(!d.Bool()) })
	mode, known := llm.ChooseAuto, false
	for m, raw := range choices {
		if raw == kind {
			mode, known = m, true
		}
	}
	if req.ToolChoice.Mode = mode; mode == llm.ChooseTool {
		req.ToolChoice.Name = name
	}
	return complete && known
}

func readOutputConfig(d *jsonio.Dec, req *llm.Request) (complete bool) {
	complete = true
	codec.ReadStrict(d,
		func(string) { complete = d.Raw() == "null" && complete },
		"effort", &req.Settings.ReasoningEffort,
		"format", func() { complete = readFormat(d.Raw(), req) && complete })
	return complete
}

func readFormat(format string, req *llm.Request) (complete bool) {
	if codec.GetString(format, "type") != "json_schema" {
		return false
	}
	if schema := codec.Get(format, "schema"); schema != nil {
		req.Settings.OutputSchema = codec.Compact(schema)
	}
	return len(codec.MembersOf(format).Without("type", "schema")) == 0
}
