package anthropic

import (
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/internal/wirejson"
	"github.com/looptape/looptape/providers/protocol"
)

// responseHead writes the members of a response up to its content, and opens that array.
func (w *writer) responseHead(a protocol.ResponseMeta) {
	w.dst = jsonio.AppendString(append(w.dst, `"model":`...), a.Model)
	w.dst = jsonio.AppendString(append(w.dst, `,"id":`...), a.ID)
	w.dst = append(w.dst, `,"type":"message","role":"assistant","content":[`...)
}

// usageOf returns the usage of a response, with the input tokens of a if u has none.
func usageOf(a protocol.ResponseMeta, u llm.Usage) llm.Usage {
	if u.InputTokens == 0 {
		u.InputTokens = a.Input
	}
	return u
}

// responseBlock writes a part of a response.
func (w *writer) responseBlock(part llm.Part) {
	switch p := part.(type) {
	case llm.Text:
		w.text(p)
	case llm.Reasoning:
		w.thinking(p)
	case llm.ToolCall:
		w.call(withCaller(p), p.Name, appendInput(nil, p.Arguments))
	case llm.Unknown:
		w.unknown(p)
	case llm.Media:
		w.fail("a response of Anthropic Messages contains no %s", p.MediaType)
	case llm.ToolResult:
		w.fail("a response of Anthropic Messages contains no tool result: use llm.Unknown for a result of the provider")
	}
}

// withCaller sets the direct caller on a call without a caller.
func withCaller(p llm.ToolCall) llm.ToolCall {
	if kind := wirejson.GetString(p.Opaque, "type"); kind != "" && kind != blockServer || wirejson.Get(p.Opaque, "caller") != nil {
		return p
	}
	var m wirejson.Members
	eachMember(p.Opaque, m.AddRaw)
	m.AddRaw("caller", `{"type":"direct"}`)
	p.Opaque = m.Object()
	return p
}

// appendInput appends the arguments of a call: JSON unchanged, other text as a string.
func appendInput(dst []byte, args string) []byte {
	args = strings.Trim(args, " \t\r\n")
	switch {
	case args == "":
		return append(dst, "{}"...)
	case args[0] == '"' || !sane([]byte(args)):
		return jsonio.AppendString(dst, args)
	}
	return append(dst, args...)
}
