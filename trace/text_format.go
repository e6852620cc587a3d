package trace

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
)

// How the text form shows each body and each part.

func (f *formatter) body(body Body) {
	switch b := body.(type) {
	case RunStart:
		f.runStart(b)
	case ModelConfig:
		f.modelConfig(b)
	case ModelRequest:
		f.key("prefix_messages")
		f.dst = strconv.AppendInt(f.dst, int64(b.PrefixMessages), 10)
		f.messages(b.NewMessages)
	case ModelDelta:
		f.word(b.Type)
		if b.Text != "" {
			f.text(b.Text)
		}
		f.members("tool_call_id", b.ToolCallID, "name", b.Name)
	case ModelResponse:
		f.modelResponse(b)
	case ModelError:
		f.failure(b.Error)
		f.members("partial", b.Partial, "usage", b.Usage)
		if len(b.PartialContent) > 0 {
			f.flag("partial_content", true)
			f.list(b.PartialContent, nil)
		}
	case ModelRetry:
		f.word(b.Reason)
		f.members("wait", b.Wait)
	case Decision:
		f.decision(b)
	case ToolArguments:
		f.word(b.ToolCallID)
		f.value(b.Arguments)
		f.word(b.Reason)
	case ToolStart:
		f.names[b.ToolCallID] = b.Name
		f.word(b.ToolCallID)
		f.word(b.Name)
		f.value(b.Arguments)
	case ToolEnd:
		f.word(b.ToolCallID)
		f.word(string(b.Outcome))
		f.outcome(b.ToolCallID, b.Result)
	case ToolSkip:
		f.names[b.ToolCallID] = b.Name
		f.word(b.ToolCallID)
		f.word(b.Name)
		f.word(b.Reason)
		f.outcome(b.ToolCallID, b.Result)
	case Abandoned:
		f.word(b.ToolCallID)
	case HistoryRewrite:
		f.word(b.Reason)
		f.members("by", b.By)
	case Canceled:
		f.word(b.Reason)
	case Suspended:
		f.members("pending", b.Pending, "digest", b.Digest)
	case Resumed:
		f.word(b.Of)
	case Warning:
		f.word(b.Code)
		f.text(b.Message)
		f.members("tool_call_id", b.ToolCallID)
	case Custom:
		f.word(b.Name)
		if b.Data != nil {
			f.sep()
			f.dst = jsonio.AppendRaw(f.dst, b.Data)
		}
	case RunEnd:
		f.runEnd(b)
	case Unknown:
		var c coder
		c.unknown(c.Element(), &b)
		f.sep()
		f.dst = append(f.dst, c.Dst...)
	case StepStart, StepEnd:
	}
}

// The members of run.start that are not options.
const (
	memberParent   = "parent"
	memberClock    = "clock"
	memberTools    = "tools"
	memberSuppress = "suppress"
)

func (f *formatter) runStart(b RunStart) {
	if b.Parent != nil {
		f.key(memberParent)
		f.bareOrQuoted(b.Parent.Run)
		f.dst = append(f.dst, '/')
		f.bareOrQuoted(b.Parent.ToolCallID)
	}
	f.members(memberClock, b.Clock)
	for _, o := range b.Options {
		switch o.Name {
		case memberParent, memberClock, memberTools, memberSuppress:
			f.text(o.Name)
		default:
			f.word(o.Name)
		}
		f.dst = append(f.dst, '=')
		f.bareOrQuoted(o.Value)
	}
	for i, t := range b.Tools {
		if i == 0 {
			f.key(memberTools)
		} else {
			f.dst = append(f.dst, ',')
		}
		f.bareOrQuoted(t.Name)
		if t.Client {
			f.dst = append(f.dst, "(client)"...)
		}
	}
	if len(b.Suppress) > 0 {
		f.members(memberSuppress, member(func(c *jsonio.Coder) { c.OptionalTextMap("", &b.Suppress) }))
	}
}

// member returns the value that code encodes as a member with an empty name.
func member(code func(*jsonio.Coder)) json.RawMessage {
	c := jsonio.Coder{Dst: []byte("{")}
	code(&c)
	return c.Dst[len(`{"":`):]
}

func (f *formatter) modelConfig(b ModelConfig) {
	f.members("model", b.Model, "system", quoted(b.System))
	if b.ToolChoice != (llm.ToolChoice{}) {
		f.members("choice", b.ToolChoice.String())
	}
	if s := b.Settings.AppendJSON(nil); len(s) > len("{}") {
		if f.renamed != nil {
			for was, now := range v1Settings {
				s = bytes.Replace(s, []byte(`"`+now+`":`), []byte(`"`+was+`":`), 1)
			}
		}
		f.members("settings", json.RawMessage(s))
	}
	if len(b.Extra) > 0 {
		f.members("extra", member(func(c *jsonio.Coder) { c.OptionalRawMap("", &b.Extra) }))
	}
	for _, t := range b.Tools {
		f.flag("tool", true)
		f.word(t.Name)
		f.members("description", quoted(t.Description))
		if t.Strict != nil {
			f.key("strict")
			f.dst = strconv.AppendBool(f.dst, *t.Strict)
		}
		if len(t.Parameters) > 0 && t.Parameters[0] == '{' {
			f.sep()
			f.dst = jsonio.AppendRaw(f.dst, t.Parameters)
			continue
		}
		f.members("parameters", t.Parameters)
	}
}

func (f *formatter) modelResponse(b ModelResponse) {
	for i, p := range b.Message.Parts {
		if i > 0 {
			f.dst = append(f.dst, ';')
		}
		f.part(p)
	}
	from := len(f.dst)
	if b.Message.Role != llm.RoleAssistant {
		f.key("role")
		f.bareOrQuoted(string(b.Message.Role))
	}
	f.members("opaque", b.Message.Opaque, "finish_reason", string(b.FinishReason), "raw_finish_reason", b.RawFinishReason,
		"finish_message", quoted(b.FinishMessage), "response_id", b.ResponseID, "model", b.Model, "usage", b.Usage)
	if len(b.Message.Parts) > 0 && len(f.dst) > from {
		f.dst = slices.Insert(f.dst, from, ';')
	}
}

func (f *formatter) failure(e Error) {
	f.word(e.Type)
	f.text(e.Message)
	f.members("status", int64(e.Status), "code", e.Code, "retry_after", e.RetryAfter, "retryable", e.Retryable)
}

func (f *formatter) decision(b Decision) {
	f.word(string(b.Action))
	f.dst = append(f.dst, ':')
	switch {
	case b.Reason == ReasonToolCalls:
		f.dst = strconv.AppendInt(append(f.dst, ' '), int64(b.ToolCalls), 10)
		f.flag("call", b.ToolCalls == 1)
		f.flag("calls", b.ToolCalls != 1)
	case b.Reason != "" && startsNumber(b.Reason[0]):
		f.text(string(b.Reason))
	default:
		f.word(string(b.Reason))
	}
	if b.Reason != ReasonToolCalls {
		f.members("tool_calls", int64(b.ToolCalls))
	}
	f.members("by", b.By, "note", quoted(b.Note))
}

func (f *formatter) runEnd(b RunEnd) {
	f.word(string(b.StopReason))
	f.members("finish_reason", string(b.FinishReason), "steps", int64(b.Steps), "model_calls", int64(b.ModelCalls), "usage", b.Usage)
	if len(b.UsageBy) > 0 {
		f.key("usage_by")
		f.dst = append(f.dst, '(')
		for i, p := range jsonio.SortedKeys(nil, b.UsageBy) {
			if i > 0 {
				f.dst = append(f.dst, ',')
			}
			f.word(string(p))
			f.dst = append(f.dst, ' ')
			f.usage(b.UsageBy[p])
		}
		f.dst = append(f.dst, ')')
	}
	f.members("pending", b.Pending)
	if b.Error != nil {
		f.flag("error(", true)
		f.failure(*b.Error)
		f.dst = append(f.dst, ')')
	}
	f.messages(b.AppendedMessages)
}

func (f *formatter) messages(list []llm.Message) {
	for _, m := range list {
		f.flag("+", true)
		f.bareOrQuoted(string(m.Role))
		if s, ok := onlyText(m.Parts); ok && m.Opaque == nil {
			f.text(s)
			continue
		}
		f.list(m.Parts, m.Opaque)
	}
}

// onlyText returns the text of parts that are nothing but one.
func onlyText(parts []llm.Part) (text string, ok bool) {
	if len(parts) != 1 {
		return "", false
	}
	t, ok := parts[0].(llm.Text)
	return t.Text, ok && !t.Refusal && t.Opaque == nil
}

// list appends parts in parentheses, and the opaque data of their message.
func (f *formatter) list(parts []llm.Part, opaque json.RawMessage) {
	f.dst = append(f.dst, '(')
	for i, p := range parts {
		if i > 0 {
			f.dst = append(f.dst, ';')
		}
		f.part(p)
	}
	if opaque != nil && len(parts) > 0 {
		f.dst = append(f.dst, ';')
	}
	f.members("opaque", opaque)
	f.dst = append(f.dst, ')')
}

// The words that parts begin with. A result begins with its id, which is quoted
// if it is one of them.
const (
	partText      = "text"
	partReasoning = "reasoning"
	partMedia     = "media"
	partCall      = "call"
	partUnknown   = "unknown"
)

func isPartWord(s string) bool {
	switch s {
	case partText, partReasoning, partMedia, partCall, partUnknown:
		return true
	}
	return false
}

func (f *formatter) part(part llm.Part) {
	switch p := part.(type) {
	case llm.Text:
		f.flag(partText, true)
		f.text(p.Text)
		f.members("refusal", p.Refusal, "opaque", p.Opaque)
	case llm.Reasoning:
		f.flag(partReasoning, true)
		f.text(p.Text)
		f.members("opaque", p.Opaque)
	case llm.Media:
		f.flag(partMedia, true)
		f.word(p.MediaType)
		f.members("name", p.Name)
		if p.Data != nil {
			f.key("data")
			f.base64(p.Data)
		}
		f.members("url", p.URL, "digest", p.Digest, "size", p.Size, "opaque", p.Opaque)
	case llm.ToolCall:
		f.names[p.ID] = p.Name
		f.flag(partCall, true)
		f.word(p.ID)
		f.word(p.Name)
		f.value(p.Arguments)
		f.members("id_generated", p.IDGenerated, "provider_id", p.ProviderID, "provider_executed", p.ProviderExecuted, "opaque", p.Opaque)
	case llm.ToolResult:
		if isPartWord(p.ID) {
			f.text(p.ID)
		} else {
			f.word(p.ID)
		}
		f.result(p)
	case llm.Unknown:
		f.flag(partUnknown, true)
		f.sep()
		f.dst = llm.AppendPart(f.dst, p)
	}
}

// outcome appends the result of the call that an event is about.
func (f *formatter) outcome(call string, r llm.ToolResult) {
	if r.ID != call {
		f.key("id")
		f.bareOrQuoted(r.ID)
	}
	f.result(r)
}

// result appends all of a result but its id.
func (f *formatter) result(r llm.ToolResult) {
	if s, ok := onlyText(r.Content); ok {
		f.value(s)
	} else {
		f.sep()
		f.list(r.Content, nil)
	}
	f.flag("error", r.IsError)
	if r.Name != f.names[r.ID] {
		f.key("name")
		f.bareOrQuoted(r.Name)
	}
	f.members("opaque", r.Opaque)
}
