package trace

import (
	"bytes"
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
		f.modelSetup(b)
	case ModelRequest:
		f.key("prefix_messages")
		f.dst = strconv.AppendInt(f.dst, int64(b.PrefixMessages), 10)
		f.messages(b.NewMessages)
	case ModelDelta:
		f.word(string(b.Type))
		if b.Text != "" {
			f.text(b.Text)
		}
		f.wordAt("tool_call_id", b.ToolCallID)
		f.wordAt("name", b.Name)
	case ModelResponse:
		f.modelTurn(b)
	case ModelError:
		f.failure(b.Error)
		f.flag("partial", b.Partial)
		f.usageAt("usage", b.Usage)
		if len(b.PartialContent) > 0 {
			f.flag("partial_content", true)
			f.list(b.PartialContent, nil)
		}
	case ModelRetry:
		f.word(b.Reason)
		if b.Wait != 0 {
			f.key("wait")
			f.dst = append(f.dst, b.Wait.String()...)
		}
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
		f.wordAt("by", b.By)
	case Canceled:
		f.word(b.Reason)
	case Suspended:
		f.wordsAt("pending", b.Pending)
		f.wordAt("digest", b.Digest)
	case Resumed:
		f.word(b.Of)
	case Warning:
		f.word(b.Code)
		f.text(b.Message)
		f.wordAt("tool_call_id", b.ToolCallID)
	case Custom:
		f.custom(b)
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
	f.wordAt(memberClock, b.Clock)
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
		f.rawAt(memberSuppress, member(func(c *jsonio.Coder) { c.OptionalTextMap("", &b.Suppress) }))
	}
}

// member returns the value that code encodes as a member with an empty name.
func member(code func(*jsonio.Coder)) []byte {
	c := jsonio.Coder{Dst: []byte("{")}
	code(&c)
	return c.Dst[len(`{"":`):]
}

func (f *formatter) modelSetup(b ModelConfig) {
	f.wordAt("model", b.Model)
	f.textAt("system", b.System)
	if b.ToolChoice != (llm.ToolChoice{}) {
		f.wordAt("choice", b.ToolChoice.String())
	}
	if s := b.Settings.AppendJSON(nil); len(s) > len("{}") {
		if f.renamed != nil {
			for was, now := range v1Settings {
				s = bytes.Replace(s, []byte(`"`+now+`":`), []byte(`"`+was+`":`), 1)
			}
		}
		f.rawAt("settings", s)
	}
	if len(b.Extra) > 0 {
		f.rawAt("extra", member(func(c *jsonio.Coder) { c.OptionalRawMap("", &b.Extra) }))
	}
	for _, t := range b.Tools {
		f.flag("tool", true)
		f.word(t.Name)
		f.textAt("description", t.Description)
		if t.Strict != nil {
			f.key("strict")
			f.dst = strconv.AppendBool(f.dst, *t.Strict)
		}
		if len(t.Parameters) > 0 && t.Parameters[0] == '{' {
			f.sep()
			f.dst = jsonio.AppendRaw(f.dst, t.Parameters)
			continue
		}
		f.rawAt("parameters", t.Parameters)
	}
}

func (f *formatter) modelTurn(b ModelResponse) {
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
	f.rawAt("opaque", b.Message.Opaque)
	f.wordAt("finish_reason", string(b.FinishReason))
	f.wordAt("raw_finish_reason", b.RawFinishReason)
	f.textAt("finish_message", b.FinishMessage)
	f.wordAt("response_id", b.ResponseID)
	f.wordAt("model", b.Model)
	f.usageAt("usage", b.Usage)
	if len(b.Message.Parts) > 0 && len(f.dst) > from {
		f.dst = slices.Insert(f.dst, from, ';')
	}
}

func (f *formatter) failure(e Error) {
	f.word(e.Type)
	f.text(e.Message)
	f.intAt("status", int64(e.Status))
	f.wordAt("code", e.Code)
	if e.RetryAfter != 0 {
		f.key("retry_after")
		f.dst = append(f.dst, e.RetryAfter.String()...)
	}
	f.flag("retryable", e.Retryable)
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
		f.intAt("tool_calls", int64(b.ToolCalls))
	}
	f.wordAt("by", b.By)
	f.textAt("note", b.Note)
}

func (f *formatter) custom(b Custom) {
	f.word(b.Name)
	if b.Data != nil {
		f.sep()
		f.dst = jsonio.AppendRaw(f.dst, b.Data)
	}
}

func (f *formatter) runEnd(b RunEnd) {
	f.word(string(b.StopReason))
	f.wordAt("finish_reason", string(b.FinishReason))
	f.intAt("steps", int64(b.Steps))
	f.intAt("model_calls", int64(b.ModelCalls))
	f.usageAt("usage", b.Usage)
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
	f.wordsAt("pending", b.Pending)
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
func (f *formatter) list(parts []llm.Part, opaque []byte) {
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
	f.rawAt("opaque", opaque)
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
		f.flag("refusal", p.Refusal)
		f.rawAt("opaque", p.Opaque)
	case llm.Reasoning:
		f.flag(partReasoning, true)
		f.text(p.Text)
		f.rawAt("opaque", p.Opaque)
	case llm.Media:
		f.media(p)
	case llm.ToolCall:
		f.names[p.ID] = p.Name
		f.flag(partCall, true)
		f.word(p.ID)
		f.word(p.Name)
		f.value(p.Arguments)
		f.flag("id_generated", p.IDGenerated)
		f.wordAt("provider_id", p.ProviderID)
		f.flag("provider_executed", p.ProviderExecuted)
		f.rawAt("opaque", p.Opaque)
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

func (f *formatter) media(p llm.Media) {
	f.flag(partMedia, true)
	f.word(p.MediaType)
	f.wordAt("name", p.Name)
	if p.Data != nil {
		f.key("data")
		f.base64(p.Data)
	}
	f.wordAt("url", p.URL)
	f.wordAt("digest", p.Digest)
	f.intAt("size", p.Size)
	f.rawAt("opaque", p.Opaque)
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
	f.rawAt("opaque", r.Opaque)
}
