package anthropic

import (
	"strings"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/internal/wirejson"
)

// ranElsewhere reports whether another provider ran a call.
func ranElsewhere(p llm.ToolCall) bool {
	if kind := wirejson.GetString(p.Opaque, "type"); kind != "" {
		return p.ProviderExecuted && !strings.HasSuffix(kind, "_tool_use")
	}
	return p.ProviderExecuted && (wirejson.Get(p.Opaque, "executableCode") != nil || wirejson.Get(p.Opaque, "toolCall") != nil)
}
