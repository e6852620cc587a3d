package body

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/trace/importer/internal/message"
	"github.com/looptape/looptape/trace/importer/internal/tree"
)

// readOfEvents are the members of events, by protocol, that have content, usage or an error. Other functions look into them.
// The streams of Ollama have a message in each event.
var readOfEvents = map[string][]string{
	"openai-chat":        chatEvents,
	"openai-completions": chatEvents,
	"gemini":             {"candidates", "usageMetadata", "usage_metadata", "promptFeedback", "prompt_feedback", "error"},
	"anthropic-messages": {"message", "content_block", "delta", "usage", "error"},
	"openai-responses":   {"response", "item", "part", "delta", "text", "refusal", "arguments", "input", "code", "annotation", "command", "diff", "partial_image_b64", "error", "message"},
	"bedrock-converse":   {"role", "start", "delta", "stopReason", "usage", "message"},
	"cohere-chat":        {"delta"},
}

var chatEvents = []string{"choices", "usage", "error", "code", "errorType"}

// eventMetadata are the members of events that are no content: positions, names and data about the service. OpenAI,
// Mistral and Bedrock pad events (obfuscation, p); Azure sends the results of its filters in events without choices. So do
// others with bills, warnings and the sources of searches.
var eventMetadata = tree.Set(
	"type", "object", "id", "created", "created_at", "createTime", "model", "modelVersion", "modelStatus", "responseId", "response_id", "request_id", "item_id", "call_id", "trace_id",
	"sequence_number", "index", "output_index", "content_index", "summary_index", "annotation_index", "command_index", "partial_image_index", "contentBlockIndex",
	"obfuscation", "p", "status", "event", "event_id", "provider", "system_fingerprint", "service_tier", "serviceTier", "region", "metadata", "headers",
	"prompt_filter_results", "prompt_annotations", "content_filter_results", "content_filter_offsets", "content_filters", "moderation",
	"x_groq", "timings", "time_info", "prompt_progress", "latency_checkpoint", "metrics", "perf_metrics", "stats", "nvext", "kv_transfer_params", "prompt_token_ids", "prompt_logprobs",
	"cost", "rate_limits", "citations", "search_results", "trace", "performanceConfig", "additionalModelResponseFields", "amazon-bedrock-invocationMetrics", "context_management",
	"copilot_usage", "copilot_references", "copilot_confirmation", "copilot_errors", "plan_type", "credits", "promo", // GitHub Copilot, Codex
	"usage_breakdown", "base_resp", "model_id", "model_version", "system", "bot_usage", "warnings", "databricks_output", // Groq, MiniMax, watsonx, Volcengine, Together, Databricks
	"debug", "openrouter_metadata", "hook_results", "generationId", "provider_metadata", "providerMetadata", // OpenRouter, Portkey, Vercel
	"web_search", "search_info", "references", "sources", "selected_model_id", // Zhipu, DashScope, Volcengine, Open WebUI
	"__verbose", "sglext", "model_info", "runtime", // llama.cpp, SGLang, LM Studio
	"background", "output_format", "quality", "size", "revised_prompt", // pictures
	"note", "user_tier", "venice_parameters", "debug_output", "content_filter", "related_questions", // Hunyuan, Pollinations, Venice, xAI, Zhipu, Perplexity
	"traceId", "sdkHttpResponse", "sdk_http_response", "start_timestamp", "stop_timestamp", "timestamp", "session_id", "conversation_id", "thread_id", "name",
)

// readOfDelta are the members of a delta of Chat Completions with content, and deltaMetadata those that are no content. The
// message keeps its other members.
var (
	readOfDelta = []string{
		"content", "refusal", "reasoning_content", "reasoning", "reasoning_details", "reasoning_text", "thinking", "tool_plan", "tool_calls", "function_call", "audio", "images",
	}
	deltaMetadata = tree.Set(
		"role", "name", "id", "index", "type", "object", "created", "status", "usage", "metadata", "annotations", "citations", "context", "end_turn", "weight", "channel", "recipient", "logprobs", "token_ids", "matched_stop",
		"cache_control", "extra_content", "provider", "provider_metadata", "provider_specific_fields", "executed_tools", "content_filter_results", "obfuscation",
		"thinking_blocks", "thinking_signature", "reasoning_opaque", "reasoning_signature", "signature", "encrypted_content", "cot_id", "cot_summary",
		"padding", "phase", "copilot_annotations", "copilot_references", "hidden_states", "databricks_output",
		"reasoning_steps", "graph_data", "processes", "chat_id", "message_id", // Perplexity, Writer, Hunyuan, others
	)
)

// unreadEvent adds the content of an event that has no alternative. An error is reported as such.
func unreadEvent(protocol string, data json.RawMessage, add func(format string, args ...any)) {
	if tree.First(data, "error", "code", "errorType") != nil || tree.Scalar(data, "object") == "error" {
		return
	}
	nothing := func() string { return "" }
	found := false
	for name, value := range tree.Members(data) {
		isContent := (name == "content" || name == "delta") && !message.IsEmpty(value)
		if isContent || message.IsTextMember(name, value, nothing) || message.IsToolMember(name, value) {
			add("the stream has an event with data that is not read, as %q", name)
			found = true
		}
	}
	if !found {
		unreadMembers(protocol, data, add)
	}
}

// unreadMembers adds the members of an event that has only members that the protocol does not have.
func unreadMembers(protocol string, data json.RawMessage, add func(format string, args ...any)) {
	if names := otherMembers(data, readOfEvents[protocol], eventMetadata); names != "" {
		add("the stream has an event without a member that is read; it has %s", names)
	}
}

// unreadDelta adds the members of a delta of Chat Completions that has only members that the protocol does not have.
func unreadDelta(delta json.RawMessage, add func(format string, args ...any)) {
	if names := otherMembers(delta, readOfDelta, deltaMetadata); names != "" {
		add("the stream has a delta without a member that is read; it has %s", names)
	}
}

// otherMembers returns the names of the members of an object that may have content: those that are not about it and have
// data. It returns "" if one that is read is not empty.
func otherMembers(data json.RawMessage, read []string, about map[string]bool) string {
	var names []string
	for name, value := range tree.Members(data) {
		switch {
		case about[name] || message.IsEmpty(value):
		case slices.Contains(read, name):
			return ""
		case hasData(value):
			names = append(names, strconv.Quote(name))
		}
	}
	return strings.Join(names, ", ")
}

// hasOtherData reports whether the data of an event of an unknown kind is no object, or has a member with data that is not
// about it.
func hasOtherData(data json.RawMessage) bool {
	if !jsonio.ValidSyntax(data) || bytes.TrimSpace(data)[0] != '{' {
		return true
	}
	for name, value := range tree.Members(data) {
		if !eventMetadata[name] && hasData(value) {
			return true
		}
	}
	return false
}

// hasData reports whether a value has a text or counts of tokens. Other numbers and booleans, such as token_id of Together, are
// no content, and neither is an object without values, such as graph_data of Writer.
func hasData(value json.RawMessage) bool {
	for name, inner := range tree.Members(value) {
		if strings.HasSuffix(tree.Snake(name), "_tokens") && !tree.IsNull(inner) || hasData(inner) {
			return true
		}
	}
	for _, inner := range tree.Elements(value) {
		if hasData(inner) {
			return true
		}
	}
	return isString(value) && !message.IsEmpty(value)
}
