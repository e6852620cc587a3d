package chat

import (
	"cmp"
	"encoding/json"
	"strconv"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/internal/codec"
	"github.com/looptape/looptape/providers/openai/internal/api"
	"github.com/looptape/looptape/providers/protocol"
)

// EncodeRequest implements [protocol.Protocol].
//
// Tool names, descriptions and schemas that the provider may reject are sent unchanged, so that
// the caller sees the provider's error. Output of a model is repaired: a call without a name
// gets unnamed_tool, other characters in the name of an undeclared tool become "_", and invalid
// UTF-8 and lone surrogates in arguments become U+FFFD.
func (c Protocol) EncodeRequest(req *llm.Request) (*protocol.Request, error) {
	if err := codec.CheckExtra(req.Extra); err != nil {
		return nil, err
	}
	w := writer{codec.NewWriter(req), c}
	w.OmitNull = true
	w.request()
	if w.Err != nil {
		return nil, w.Err
	}
	codec.RepairSurrogates(w.Dst)
	return &protocol.Request{Path: "/chat/completions", Body: w.Dst}, nil
}

type writer struct {
	codec.Writer
	chat Protocol
}

func (w *writer) request() {
	s := &w.Req.Settings
	w.TextMember("model", w.Req.Model)
	w.messages()
	w.tools()
	if s.MaxTokens != 0 && w.Has("max_tokens") && w.Has("max_completion_tokens") {
		w.Int(w.chat.maxTokens(), int64(s.MaxTokens))
	}
	w.Float("temperature", s.Temperature)
	w.Float("top_p", s.TopP)
	if s.Seed != nil {
		w.Member("seed", strconv.FormatInt(*s.Seed, 10))
	}
	w.Strings("stop", s.StopSequences)
	w.TextMember("reasoning_effort", s.ReasoningEffort)
	w.output(s.OutputSchema)
	w.Extra()
	w.Add("}")
}

// tools writes the tools and their options, which OpenAI rejects without tools (SO-12, SO-18).
func (w *writer) tools() {
	if len(w.Req.Tools) > 0 && w.Has("tools") {
		w.Raw("tools", "[")
		for i, t := range w.Req.Tools {
			w.tool(i, t)
		}
		w.Add("]")
	}
	choice := w.Req.ToolChoice
	if len(w.Req.Tools) == 0 && len(w.Req.Extra["tools"]) == 0 {
		if choice.Mode == llm.ChooseRequired || choice.Mode == llm.ChooseTool {
			w.Fail("tool_choice: %s requires tools: add a tool", choice)
		}
		return
	}
	if w.Has("parallel_tool_calls") {
		w.Bool("parallel_tool_calls", w.Req.Settings.ParallelToolCalls)
	}
	switch choice.Mode {
	case llm.ChooseAuto: // the default
	case llm.ChooseRequired, llm.ChooseNone:
		w.TextMember("tool_choice", string(choice.Mode))
	case llm.ChooseTool:
		w.Member("tool_choice", `{"type":"function","function":{"name":`+codec.Quote(choice.Name)+`}}`)
	}
}

func (w *writer) tool(i int, t llm.Tool) {
	if w.Builtin(i, t) {
		return
	}
	w.Next(`{"type":"function","function":{"name":%`, t.Name)
	w.OptionalText("description", t.Description)
	if t.Parameters != nil {
		if !jsonio.Valid(t.Parameters) {
			w.Fail("tools[%d]: the parameters of %s are not JSON: set a JSON Schema", i, t.Name)
		}
		w.Value("parameters", api.Parameters(t.Parameters))
	}
	w.Bool("strict", t.Strict)
	w.Add("}}")
}

func (c Protocol) maxTokens() string {
	if c.MaxTokens {
		return "max_tokens"
	}
	return "max_completion_tokens"
}

// output writes the response format. A stream has usage only on request.
func (w *writer) output(schema json.RawMessage) {
	if schema != nil && w.Has("response_format") {
		if !jsonio.Valid(schema) {
			w.Fail("settings.output_schema: not JSON: set a JSON Schema")
		}
		w.Raw("response_format", format(schema))
	}
	if w.Req.ResponseMode == llm.Streaming {
		w.Member("stream", "true")
		w.Member("stream_options", usageInStream)
	}
}

const usageInStream = `{"include_usage":true}`

// format returns the response format of a schema, which is strict if the schema allows it.
func format(schema json.RawMessage) string {
	strict := strconv.FormatBool(api.FollowsStrict(schema))
	inner := `{"name":"answer","strict":` + strict + `,"schema":` + string(codec.Compact(schema)) + `}`
	return `{"type":"json_schema","json_schema":` + inner + `}`
}

// messages writes the conversation, with a tool message for each result.
func (w *writer) messages() {
	if !w.Has("messages") {
		return
	}
	w.Raw("messages", "[")
	if prompt := w.Req.System.Text(); prompt != "" {
		w.begin(w.chat.systemRole())
		w.Text("content", prompt)
		w.Add("}")
	}
	for i := range w.Req.Messages {
		w.Message = i + 1
		w.message(&w.Req.Messages[i])
	}
	w.Message = 0
	w.Add("]")
}

func (c Protocol) systemRole() string {
	if c.Developer {
		return "developer"
	}
	return "system"
}

func (w *writer) message(m *llm.Message) {
	role := string(m.Role)
	switch m.Role {
	case llm.RoleAssistant:
		w.assistantMessage(m)
		return
	case llm.RoleTool:
		w.results(m)
		return
	case llm.RoleSystem:
		role = cmp.Or(codec.GetString(m.Opaque, "role"), w.chat.systemRole())
	case llm.RoleUser:
	}
	w.begin(role)
	w.parts(m.Parts, &w.Part, "a Chat Completions "+string(m.Role)+" message cannot contain ", true)
	w.end(m.Opaque)
}

// assistantMessage writes an assistant message, unless it is empty for this protocol.
func (w *writer) assistantMessage(m *llm.Message) {
	before := len(w.Dst)
	w.Next("{")
	at := len(w.Dst)
	if w.assistant(m); string(w.Dst[at:]) == emptyMessage {
		w.Dst = w.Dst[:before]
	}
}

// emptyMessage is an empty assistant message after its opening brace.
const emptyMessage = `"role":"assistant","content":""}`

func (w *writer) begin(role string) { w.Next(`{"role":%`, role) }

func (w *writer) end(opaque json.RawMessage, own ...string) {
	w.own(opaque, append(own, "role", "content")...)
	w.Add("}")
}

// results writes a message for each result. The last one may have the message's opaque data.
func (w *writer) results(m *llm.Message) {
	for i, p := range m.Parts {
		if codec.Omits(protocolName, m.Role, p) {
			continue
		}
		w.Part = i + 1
		r, ok := p.(llm.ToolResult)
		if !ok {
			w.Fail("a Chat Completions tool message contains only results, not %s", kind(p))
		}
		w.begin("tool")
		w.Text("tool_call_id", w.id(r.ID))
		w.parts(r.Content, &w.Content, "a Chat Completions tool message contains only text, not ", false)
		opaque := r.Opaque
		if opaque == nil && i == len(m.Parts)-1 {
			opaque = m.Opaque
		}
		w.end(opaque, "tool_call_id")
	}
	w.Part = 0
}

// parts writes a content of text, media and unknown parts: at most one plain text as a string,
// others as an array. It omits empty text. At is the index of the part for errors.
func (w *writer) parts(parts []llm.Part, at *int, refusal string, media bool) {
	w.Key("content")
	if t, ok := onlyText(parts); ok {
		w.Dst = jsonio.AppendString(w.Dst, t)
		return
	}
	w.Add("[")
	for i, p := range parts {
		*at = i + 1
		switch p := p.(type) {
		case llm.Text:
			w.textPart(p)
			continue
		case llm.Unknown:
			w.Next("")
			w.Unknown(protocolName, p)
			continue
		case llm.Media:
			if media {
				w.media(p)
				continue
			}
		case llm.Reasoning, llm.ToolCall, llm.ToolResult:
		}
		w.Fail("%s%s", refusal, kind(p))
	}
	*at = 0
	w.Add("]")
}

func (w *writer) textPart(p llm.Text) {
	if p.Text == "" {
		return
	}
	key := "text"
	if p.Refusal {
		key = "refusal"
	}
	w.Next(`{"type":%`, key)
	w.Text(key, p.Text)
	w.own(p.Opaque, "type", key)
	w.Add("}")
}

func onlyText(parts []llm.Part) (only string, ok bool) {
	for _, p := range parts {
		t, isText := p.(llm.Text)
		switch {
		case isText && t.Text == "":
		case !isText || t.Opaque != nil || t.Refusal || only != "":
			return "", false
		default:
			only = t.Text
		}
	}
	return only, true
}

func kind(p llm.Part) string {
	switch p := p.(type) {
	case llm.Text:
		return "text"
	case llm.Reasoning:
		return "reasoning"
	case llm.Media:
		return cmp.Or(p.MediaType, "media without a type")
	case llm.ToolCall:
		if p.ProviderExecuted {
			return "a call that the provider ran"
		}
		return "a tool call"
	case llm.ToolResult:
		return "a tool result"
	case llm.Unknown:
		return "a part of the type " + p.Kind
	}
	return "nothing"
}

// maxID is the length limit of OpenAI for call ids (SO-10).
const maxID = 40

// id returns the id of a call in a request, equal for the call and its result.
func (w *writer) id(id string) string {
	if w.Req == nil || w.chat.LongIDs {
		return id
	}
	return codec.ShortID(id, maxID)
}
