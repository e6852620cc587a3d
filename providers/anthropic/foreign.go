package anthropic

import (
	"strings"

	"github.com/looptape/looptape/llm"
)

// A history may have begun with another provider. What only that one can use is
// left out where the rest means the same without it, and else it is an error.

// ranElsewhere reports whether another provider ran a call itself.
func ranElsewhere(p llm.ToolCall) bool {
	if kind, ok := memberText(p.Opaque, "type"); ok {
		return p.ProviderExecuted && !strings.HasSuffix(kind, "_tool_use")
	}
	return p.ProviderExecuted && (member(p.Opaque, "executableCode") != nil || member(p.Opaque, "toolCall") != nil)
}

// resultElsewhere reports whether a part is what a tool that another provider ran
// was asked for or gave.
func resultElsewhere(p llm.Unknown) bool {
	switch p.Kind {
	case "mcp_list_tools", "mcp_approval_request", "mcp_approval_response":
		return true
	case geminiPart:
		part := member(p.Raw, "part")
		return member(part, "codeExecutionResult") != nil || member(part, "toolResponse") != nil
	}
	return strings.HasSuffix(p.Kind, "_call") || strings.HasSuffix(p.Kind, "_call_output")
}

// geminiPart is the kind of a part of Gemini's that package gemini does not know.
const geminiPart = "gemini_part"

// ofOther names the protocol that a part belongs to, if it is another one. A type of
// block that none of them has may be a new one of Anthropic's.
func ofOther(p llm.Unknown) (protocol string) {
	switch p.Kind {
	case geminiPart:
		return "Gemini"
	case "compaction": // Anthropic's own blocks of this type have no id
		if member(p.Raw, "id") == nil {
			return ""
		}
		return "OpenAI Responses"
	case "item_reference", "message", "reasoning", "input_text", "input_image", "input_file", "output_text",
		"reasoning_text", "summary_text":
		return "OpenAI Responses"
	case "refusal", "image_url", "input_audio", "file":
		return "OpenAI"
	}
	return ""
}
