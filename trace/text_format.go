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
		f.put("prefix_messages", strconv.Itoa(b.PrefixMessages))
		f.messages(b.NewMessages)
	case ModelDelta:
		f.put(word(b.Type))
		if b.Text != "" {
			f.put(quoted(b.Text))
		}
		f.put("tool_call_id", b.ToolCallID, "name", b.Name)
	case ModelResponse:
		f.modelResponse(b)
	case ModelError:
		f.failure(b.Error)
		f.put("partial", b.Partial, "usage", b.Usage)
		if len(b.PartialContent) > 0 {
			f.put("partial_content", true)
			f.list(b.PartialContent, nil)
		}
	case ModelRetry:
		f.put(word(b.Reason), "wait", b.Wait)
	case Decision:
		f.decision(b)
	case ToolArguments:
		f.put(word(b.ToolCallID), value(b.Arguments), word(b.Reason))
	case ToolStart:
		f.names[b.ToolCallID] = b.Name
		f.put(word(b.ToolCallID), word(b.Name), value(b.Arguments))
	case ToolEnd:
		f.put(word(b.ToolCallID), word(b.Outcome))
		f.outcome(b.ToolCallID, b.Result)
	case ToolSkip:
		f.names[b.ToolCallID] = b.Name
		f.put(word(b.ToolCallID), word(b.Name), word(b.Reason))
		f.outcome(b.ToolCallID, b.Result)
	case Abandoned:
		f.put(word(b.ToolCallID))
	case HistoryRewrite:
		f.put(word(b.Reason), "by", b.By)
	case Canceled:
		f.put(word(b.Reason))
	case Suspended:
		f.put("pending", b.Pending, "digest", b.Digest)
	case Resumed:
		f.put(word(b.Of))
	case Warning:
		f.put(word(b.Code), quoted(b.Message), "tool_call_id", b.ToolCallID)
	case Custom:
		f.put(word(b.Name))
		if b.Data != nil {
			f.put(b.Data)
		}
	case RunEnd:
		f.runEnd(b)
	case Unknown:
		f.put(json.RawMessage(append(b.append(jsonio.Out(`{`)), '}')))
	case StepStart, StepEnd:
	}
}

// startMembers are the members of run.start that are not options.
var startMembers = []string{"parent", "clock", "tools", "suppress"}

func (f *formatter) runStart(b RunStart) {
	if b.Parent != nil {
		f.put("parent", word(b.Parent.Run))
		f.dst = append(f.dst, '/')
		f.bareOrQuoted(b.Parent.ToolCallID)
	}
	f.put("clock", b.Clock)
	for _, o := range b.Options {
		if slices.Contains(startMembers, o.Name) {
			f.put(quoted(o.Name))
		} else {
			f.put(word(o.Name))
		}
		f.dst = append(f.dst, '=')
		f.bareOrQuoted(o.Value)
	}
	for i, t := range b.Tools {
		if i == 0 {
			f.key("tools")
		} else {
			f.dst = append(f.dst, ',')
		}
		f.bareOrQuoted(t.Name)
		if t.Client {
			f.dst = append(f.dst, "(client)"...)
		}
	}
	if len(b.Suppress) > 0 {
		f.put("suppress", memberValue((*jsonio.Coder).OptionalTextMap, &b.Suppress))
	}
}

// memberValue returns the value of a member with an empty name.
func memberValue[T any](code func(*jsonio.Coder, jsonio.Out, string, *T) jsonio.Out, v *T) json.RawMessage {
	return json.RawMessage(code(jsonio.Encoder, jsonio.Out("{"), "", v)[len(`{"":`):])
}

func (f *formatter) modelConfig(b ModelConfig) {
	f.put("model", b.Model, "system", b.System)
	if b.ToolChoice != (llm.ToolChoice{}) {
		f.put("choice", b.ToolChoice.String())
	}
	if s := b.Settings.AppendJSON(nil); len(s) > len("{}") {
		if f.renamed != nil {
			for now, was := range v1Settings {
				s = bytes.Replace(s, []byte(`"`+now+`":`), []byte(`"`+was+`":`), 1)
			}
		}
		f.put("settings", json.RawMessage(s))
	}
	if len(b.Extra) > 0 {
		f.put("extra", memberValue((*jsonio.Coder).OptionalRawMap, &b.Extra))
	}
	for _, t := range b.Tools {
		f.put("tool", true, word(t.Name), "description", quoted(t.Description))
		if t.Strict != nil {
			f.put("strict", strconv.FormatBool(*t.Strict))
		}
		if t.Builtin != nil {
			f.put("builtin", t.Builtin)
			continue
		}
		if len(t.Parameters) > 0 && t.Parameters[0] == '{' {
			f.put(t.Parameters)
			continue
		}
		f.put("parameters", t.Parameters)
	}
}

func (f *formatter) modelResponse(b ModelResponse) {
	m := b.Message
	f.parts(m.Parts)
	from := len(f.dst)
	if m.Role != llm.RoleAssistant {
		f.put("role", word(m.Role))
	}
	f.put("opaque", m.Opaque,
		"finish_reason", string(b.FinishReason), "raw_finish_reason", b.RawFinishReason,
		"finish_message", quoted(b.FinishMessage),
		"response_id", b.ResponseID, "model", b.Model, "usage", b.Usage)
	if len(m.Parts) > 0 && len(f.dst) > from {
		f.dst = slices.Insert(f.dst, from, ';')
	}
}

func (f *formatter) failure(e Error) {
	f.put(word(e.Type), quoted(e.Message), "status", int64(e.Status), "code", e.Code,
		"retry_after", e.RetryAfter, "retryable", e.Retryable)
}

func (f *formatter) decision(b Decision) {
	f.put(word(b.Action))
	f.dst = append(f.dst, ':')
	switch calls := int64(b.ToolCalls); {
	case b.Reason == ReasonToolCalls:
		f.dst = strconv.AppendInt(append(f.dst, ' '), calls, 10)
		f.put("call", calls == 1, "calls", calls != 1)
	case b.Reason != "" && startsNumber(b.Reason[0]):
		f.put(quoted(b.Reason), "tool_calls", calls)
	default:
		f.put(word(b.Reason), "tool_calls", calls)
	}
	f.put("by", b.By, "note", quoted(b.Note))
}

func (f *formatter) runEnd(b RunEnd) {
	f.put(word(b.StopReason), "finish_reason", string(b.FinishReason),
		"steps", int64(b.Steps), "model_calls", int64(b.ModelCalls), "usage", b.Usage)
	if len(b.UsageBy) > 0 {
		f.key("usage_by")
		sep := byte('(')
		for _, p := range jsonio.SortedKeys(nil, b.UsageBy) {
			f.dst = append(f.dst, sep)
			f.put(word(p))
			f.dst = append(f.dst, ' ')
			f.usage(b.UsageBy[p])
			sep = ','
		}
		f.dst = append(f.dst, ')')
	}
	f.put("pending", b.Pending)
	if b.Error != nil {
		f.put("error(", true)
		f.failure(*b.Error)
		f.dst = append(f.dst, ')')
	}
	f.messages(b.AppendedMessages)
}

func (f *formatter) messages(list []llm.Message) {
	for _, m := range list {
		f.put("+", true)
		f.bareOrQuoted(string(m.Role))
		if s, ok := onlyText(m.Parts); ok && m.Opaque == nil {
			f.put(quoted(s))
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
	f.parts(parts)
	if opaque != nil && len(parts) > 0 {
		f.dst = append(f.dst, ';')
	}
	f.put("opaque", opaque)
	f.dst = append(f.dst, ')')
}

func (f *formatter) parts(list []llm.Part) {
	for i, p := range list {
		if i > 0 {
			f.dst = append(f.dst, ';')
		}
		f.part(p)
	}
}

// partWords are the words that parts begin with. A result begins with its id, which is quoted if
// it is one of them.
var partWords = []string{"text", "reasoning", "media", "call", "unknown"}

func (f *formatter) part(part llm.Part) {
	switch p := part.(type) {
	case llm.Text:
		f.put("text", true, quoted(p.Text), "refusal", p.Refusal, "opaque", p.Opaque)
	case llm.Reasoning:
		f.put("reasoning", true, quoted(p.Text), "opaque", p.Opaque)
	case llm.Media:
		f.put("media", true, word(p.MediaType), "name", p.Name, "data", p.Data,
			"url", p.URL, "digest", p.Digest, "size", p.Size, "opaque", p.Opaque)
	case llm.ToolCall:
		f.names[p.ID] = p.Name
		f.put("call", true, word(p.ID), word(p.Name), value(p.Arguments),
			"id_generated", p.IDGenerated, "provider_id", p.ProviderID,
			"provider_executed", p.ProviderExecuted, "opaque", p.Opaque)
	case llm.ToolResult:
		if slices.Contains(partWords, p.ID) {
			f.put(quoted(p.ID))
		} else {
			f.put(word(p.ID))
		}
		f.result(p)
	case llm.Unknown:
		f.put("unknown", true, json.RawMessage(llm.AppendPart(nil, p)))
	}
}

// outcome appends the result of the call that an event is about.
func (f *formatter) outcome(call string, r llm.ToolResult) {
	if r.ID != call {
		f.put("id", word(r.ID))
	}
	f.result(r)
}

// result appends all of a result but its id.
func (f *formatter) result(r llm.ToolResult) {
	if s, ok := onlyText(r.Content); ok {
		f.put(value(s))
	} else {
		f.sep()
		f.list(r.Content, nil)
	}
	f.put("error", r.IsError)
	if r.Name != f.names[r.ID] {
		f.put("name", word(r.Name))
	}
	f.put("opaque", r.Opaque)
}
