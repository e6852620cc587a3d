package trace

import (
	"slices"
	"strconv"

	"github.com/looptape/looptape/llm"
)

// Project returns the canonical form without the differences between providers that give equal
// responses. It omits raw finish reasons and their explanations, response ids, model names,
// provider-specific members, provider ids of calls, and opaque data. The ids of calls become c1, c2 …
// in each run, in the order of their first use. The finish reason tool_calls becomes stop, because
// Gemini has no finish reason for calls.
//
// Project does not change its input.
func Project(events []Event) []Event {
	out := Canonical(events)
	p := projector{calls: map[string]map[string]string{}}
	for i := range out {
		p.run = p.of(out[i].Run)
		out[i].Body = p.body(out[i].Body)
	}
	return out
}

type projector struct {
	calls map[string]map[string]string // run → call → its new id
	run   map[string]string
}

func (p *projector) of(run string) map[string]string {
	if p.calls[run] == nil {
		p.calls[run] = map[string]string{}
	}
	return p.calls[run]
}

func (p *projector) call(id string) string { return renumber(p.run, id) }

func renumber(calls map[string]string, id string) string {
	if id == "" {
		return ""
	}
	if _, ok := calls[id]; !ok {
		calls[id] = "c" + strconv.Itoa(len(calls)+1)
	}
	return calls[id]
}

func (p *projector) body(body Body) Body {
	switch b := body.(type) {
	case RunStart:
		if b.Parent != nil {
			b.Parent = &Parent{Run: b.Parent.Run, ToolCallID: renumber(p.of(b.Parent.Run), b.Parent.ToolCallID)}
		}
		return b
	case ModelConfig:
		b.Model, b.Extra = "", nil
		return b
	case ModelRequest:
		b.NewMessages = p.messages(b.NewMessages)
		return b
	case ModelResponse:
		b.Message = p.message(b.Message)
		b.RawFinishReason, b.FinishMessage, b.ResponseID, b.Model = "", "", "", ""
		b.FinishReason = finish(b.FinishReason)
		return b
	case ModelError:
		b.PartialContent = p.parts(b.PartialContent)
		return b
	case ToolArguments:
		b.ToolCallID = p.call(b.ToolCallID)
		return b
	case ToolStart:
		b.ToolCallID = p.call(b.ToolCallID)
		return b
	case ToolEnd:
		b.ToolCallID, b.Result = p.call(b.ToolCallID), p.result(b.Result)
		return b
	case ToolSkip:
		b.ToolCallID, b.Result = p.call(b.ToolCallID), p.result(b.Result)
		return b
	case Abandoned:
		b.ToolCallID = p.call(b.ToolCallID)
		return b
	case Suspended:
		b.Pending, b.Digest = p.pending(b.Pending), "" // of what a provider wants back, too
		return b
	case Warning:
		b.ToolCallID = p.call(b.ToolCallID)
		return b
	case RunEnd:
		b.Pending, b.AppendedMessages = p.pending(b.Pending), p.messages(b.AppendedMessages)
		b.FinishReason = finish(b.FinishReason)
		return b
	default:
		return body
	}
}

func finish(r llm.FinishReason) llm.FinishReason {
	if r == llm.FinishToolCalls {
		return llm.FinishStop
	}
	return r
}

func (p *projector) pending(calls []string) []string {
	calls = slices.Clone(calls)
	for i := range calls {
		calls[i] = p.call(calls[i])
	}
	return calls
}

func (p *projector) messages(list []llm.Message) []llm.Message {
	list = slices.Clone(list)
	for i := range list {
		list[i] = p.message(list[i])
	}
	return list
}

func (p *projector) message(m llm.Message) llm.Message {
	m.Parts, m.Opaque = p.parts(m.Parts), nil
	return m
}

func (p *projector) parts(list []llm.Part) []llm.Part {
	list = slices.Clone(list)
	for i := range list {
		list[i] = p.part(list[i])
	}
	return list
}

func (p *projector) part(part llm.Part) llm.Part {
	switch x := part.(type) {
	case llm.Text:
		x.Opaque = nil
		return x
	case llm.Reasoning:
		x.Opaque = nil
		return x
	case llm.Media:
		x.Opaque = nil
		return x
	case llm.ToolCall:
		x.ID, x.IDGenerated, x.ProviderID, x.Opaque = p.call(x.ID), false, "", nil
		return x
	case llm.ToolResult:
		return p.result(x)
	case llm.Unknown:
	}
	return part
}

func (p *projector) result(r llm.ToolResult) llm.ToolResult {
	r.ID, r.Content, r.Opaque = p.call(r.ID), p.parts(r.Content), nil
	return r
}
