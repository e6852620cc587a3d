package format

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/importer/internal/tree"
)

// SniffAgentSDK recognizes the messages between the Claude Agent SDK and Claude Code: one per line,
// as claude --output-format stream-json writes them, or a list of them as messages, in JSON or YAML,
// with or without their direction.
func SniffAgentSDK(h *Head) (Layout, bool) {
	if h.CSV {
		isList := bytes.HasPrefix(h.Bytes, []byte("messages:")) || bytes.Contains(h.Bytes, []byte("\nmessages:"))
		return Layout{YAML: true}, isList && h.Contains("type: control_re", "parent_tool_use_id:", "apiKeySource:")
	}
	line := h.Has("type") && h.Has("session_id", "request_id", "response", "parent_tool_use_id")
	list := h.Object && h.Has("messages") && !h.Has("model")
	return Layout{Array: true}, (line || list || h.Has("direction")) &&
		h.Contains(`"control_request"`, `"control_response"`, `"parent_tool_use_id"`, `"apiKeySource"`)
}

// sdkRecords are the types of messages that are not part of the conversation, of SDKMessage in
// https://platform.claude.com/docs/en/agent-sdk/typescript and of the control protocol. A
// stream_event is a part of a message that follows as a whole.
var sdkRecords = []string{
	"system", "result", "stream_event", "control_request", "control_response", "control_cancel_request", "keep_alive",
	"tool_progress", "auth_status", "tool_use_summary", "rate_limit_event", "prompt_suggestion", "update_environment_variables",
}

// NewAgentSDK returns a reader of the messages of the Claude Agent SDK. A file is a conversation;
// each subagent is a run of its own.
func NewAgentSDK() Records {
	return &claude{kinds: sdkRecords, lists: []string{"messages"}, isSDK: true, places: map[string]claudePlace{}, ended: map[string]bool{}}
}

// unwrap returns the message of a record with a direction, and keeps the other members in a run.
func (c *claude) unwrap(r record) record {
	inner := newRecord(r.members.get("message"), r.line, joinPath(r.path, "message"))
	inner.decodeAnthropic()
	run := c.begin(&inner)
	if rest := tree.Without(r.raw, "direction", "message"); rest != nil {
		run.other.add("log", rest)
	}
	return inner
}

// repeats reports whether a record is the echo of the last message of the user.
func (r *claudeRun) repeats(rec *record, messages []llm.Message) bool {
	last := len(r.Messages) - 1
	return tree.IsTrue(rec.members.get("isReplay")) && last >= 0 && r.Messages[last].Role == llm.RoleUser && r.Messages[last].Text() == messages[0].Text()
}

// result reads the record at the end of a query. It reports a text that begins with a line which no message has: that of
// the last response. A command such as /context has a text without a response.
func (r *claudeRun) result(rec *record) {
	text := rec.text("result")
	if text != "" {
		r.Answer = text
	}
	usage := anthropicUsage(rec.members.get("usage"))
	first, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	isOther := tree.IsTrue(rec.members.get("is_error")) || !tree.IsNull(rec.members.get("structured_output")) || usage.OutputTokens == 0 || len(r.Messages) == 0 || r.Gap > 0
	if !isOther && !slices.ContainsFunc(r.Messages, func(m llm.Message) bool { return strings.Contains(m.Text(), first) }) {
		r.reportWithin(rec, "result", fmt.Sprintf("the text %.50q is in no message", text))
	}
	r.reportUsage(rec, "usage", rec.members.get("usage"))
	r.total = r.total.Add(usage)
	for _, name := range [][2]string{{"total_cost_usd", "cost"}, {"duration_ms", "latencyMs"}} {
		if value := rec.members.get(name[0]); value != nil {
			r.number(rec, name[0], value)
			r.SetMeta(name[1], value)
		}
	}
}
