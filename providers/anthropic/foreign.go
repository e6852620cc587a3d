package anthropic

import (
	"strings"

	"github.com/looptape/looptape/llm"
)

// ranElsewhere reports whether another provider ran a call itself.
func ranElsewhere(p llm.ToolCall) bool {
	if kind, ok := memberText(p.Opaque, "type"); ok {
		return p.ProviderExecuted && !strings.HasSuffix(kind, "_tool_use")
	}
	return p.ProviderExecuted && (member(p.Opaque, "executableCode") != nil || member(p.Opaque, "toolCall") != nil)
}
