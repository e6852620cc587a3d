package strict

import (
	"slices"

	"github.com/looptape/looptape/fake/wire/internal/reply"
)

// Rule is a reason to reject a request, with the error that the client gets.
type Rule struct {
	ID          string // such as SO-01
	Description string // of the request
	Status      int
	Type        string // Gemini's status word
	Param       string // n is any index; empty if the provider reports no position
	Code        string // empty means null or none; for Gemini the reason in the details
}

// Rules returns the rules of the real providers: OpenAI Chat Completions (SO), OpenAI
// Responses (SR), Anthropic Messages (SA), Gemini (SG).
func Rules() []Rule {
	return slices.Concat(chatRules(), responsesRules(), messagesRules(), generateRules())
}

func chatRules() []Rule {
	return []Rule{
		{"SO-01", "calls without a result right after them", 400, reply.InvalidRequest, "messages.[n].role", ""},
		{"SO-02", "a tool message without a call before it", 400, reply.InvalidRequest, "messages.[n].role", ""},
		{"SO-03", "two tool messages for one call", 400, reply.InvalidRequest, "messages.[n].tool_call_id", ""},
		{"SO-04", "a tool message without `tool_call_id`", 400, reply.InvalidRequest, "messages.[n].tool_call_id", ""},
		{"SO-05", "`tool_calls: []` in the history", 400, reply.InvalidRequest, "messages[n].tool_calls", "empty_array"},
		{"SO-06", "`messages: []`", 400, reply.InvalidRequest, "messages", "empty_array"},
		{"SO-07", "`content: null` without calls", 400, reply.InvalidRequest, "messages.[n].content", ""},
		{"SO-08", "the name of a tool with characters other than letters, digits, `_` and `-`", 400, reply.InvalidRequest, "tools[n].function.name", "invalid_value"},
		{"SO-09", "an echoed call with an empty name", 400, reply.InvalidRequest, "messages[n].tool_calls[n].function.name", "empty_string"},
		{"SO-10", "a call id of over 40 characters (gateways take longer ones)", 400, reply.InvalidRequest, "messages[n].tool_calls[n].id", "string_above_max_length"},
		{"SO-11", "a schema that is not an object with properties, or breaks the rules of `strict: true`", 400, reply.InvalidRequest, "tools[n].function.parameters", "invalid_function_parameters"},
		{"SO-12", "`parallel_tool_calls` without `tools`", 400, reply.InvalidRequest, "parallel_tool_calls", ""},
		{"SO-13", "`max_tokens` for a reasoning model", 400, reply.InvalidRequest, "max_tokens", "unsupported_parameter"},
		{"SO-14", "a role that the model does not accept", 400, reply.InvalidRequest, "messages[n].role", "unsupported_value"},
		{"SO-15", "the description of a tool of over 1,024 characters", 400, reply.InvalidRequest, "tools[n].function.description", "string_above_max_length"},
		{"SO-16", "an unknown model (on Responses too)", 404, reply.InvalidRequest, "", "model_not_found"},
		{"SO-17", "a wrong or missing key (on Responses too)", 401, reply.InvalidRequest, "", "invalid_api_key"},
		{"SO-18", "`tool_choice` without `tools`", 400, reply.InvalidRequest, "tool_choice", ""},
		{"SO-19", "DeepSeek's thinking models: calls without the reasoning that led to them", 400, reply.InvalidRequest, "", reply.InvalidRequest},
		{"SO-20", "Mistral: more or fewer results than calls", 400, "invalid_request_message_order", "", "3230"},
	}
}

func responsesRules() []Rule {
	return []Rule{
		{"SR-01", "a call without its output", 400, reply.InvalidRequest, "input", ""},
		{"SR-02", "an output without its call", 400, reply.InvalidRequest, "input", ""},
		{"SR-03", "two outputs for one call", 400, reply.InvalidRequest, "input", ""},
		{"SR-04", "an item sent twice, or again with `previous_response_id`", 400, reply.InvalidRequest, "input", ""},
		{"SR-05", "an item with an id of another kind, such as a call with its `call_id`", 400, reply.InvalidRequest, "input[n].id", "invalid_value"},
		{"SR-06", "an id that is empty or has invalid characters", 400, reply.InvalidRequest, "input[n].id", ""},
		{"SR-07", "reasoning without the item after it", 400, reply.InvalidRequest, "input", ""},
		{"SR-08", "a call without the reasoning that led to it", 400, reply.InvalidRequest, "input", ""},
		{"SR-09", "encrypted content that was changed, or is from another session", 400, reply.InvalidRequest, "", "invalid_encrypted_content"},
		{"SR-10", "a reference to an item that was not stored", 404, reply.InvalidRequest, "input", ""},
		{"SR-11", "an unknown `previous_response_id`", 400, reply.InvalidRequest, "previous_response_id", "previous_response_not_found"},
		{"SR-12", "a message of the assistant with `input_text`", 400, reply.InvalidRequest, "input[n].content[n]", "invalid_value"},
		{"SR-13", "a tool without a name, such as in the form of Chat Completions", 400, reply.InvalidRequest, "tools[n].name", "missing_required_parameter"},
		{"SR-14", "the name of a tool with characters other than letters, digits, `_` and `-`", 400, reply.InvalidRequest, "tools[n].name", "invalid_value"},
		{"SR-15", "a `call_id` of over 64 characters", 400, reply.InvalidRequest, "input[n].call_id", "string_above_max_length"},
		{"SR-16", "a schema that breaks the rules of strict, which is the default here", 400, reply.InvalidRequest, "tools[n].parameters", "invalid_function_parameters"},
		{"SR-17", "an unknown member of an item", 400, reply.InvalidRequest, "input[n].status", "unknown_parameter"},
	}
}

func messagesRules() []Rule {
	return []Rule{
		{"SA-01", "a `tool_use` without a result in the next message", 400, reply.InvalidRequest, "", ""},
		{"SA-02", "a result without its call in the message before", 400, reply.InvalidRequest, "", ""},
		{"SA-03", "two results for one call", 400, reply.InvalidRequest, "", ""},
		{"SA-04", "a `tool_use` id used twice", 400, reply.InvalidRequest, "", ""},
		{"SA-05", "a `tool_use` id with characters other than letters, digits, `_` and `-`", 400, reply.InvalidRequest, "", ""},
		{"SA-06", "`max_tokens` is missing", 400, reply.InvalidRequest, "", ""},
		{"SA-07", "the name of a tool with invalid characters, or more than 128", 400, reply.InvalidRequest, "", ""},
		{"SA-08", "two tools with the same name", 400, reply.InvalidRequest, "", ""},
		{"SA-09", "a schema that is not JSON Schema 2020-12", 400, reply.InvalidRequest, "", ""},
		{"SA-10", "`anyOf`, `oneOf` or `allOf` at the top of a schema", 400, reply.InvalidRequest, "", ""},
		{"SA-11", "an empty text block", 400, reply.InvalidRequest, "", ""},
		{"SA-12", "an empty message, except a last one of the assistant", 400, reply.InvalidRequest, "", ""},
		{"SA-13", "thinking with a changed signature", 400, reply.InvalidRequest, "", ""},
		{"SA-14", "thinking of the last assistant message that was changed or moved", 400, reply.InvalidRequest, "", ""},
		{"SA-15", "thinking is enabled, and the message with calls does not begin with it", 400, reply.InvalidRequest, "", ""},
		{"SA-16", "thinking is disabled, and the last assistant message has it", 400, reply.InvalidRequest, "", ""},
		{"SA-17", "a first message of the assistant", 400, reply.InvalidRequest, "", ""},
		{"SA-18", "a last message of the assistant, for models from 4.6 on", 400, reply.InvalidRequest, "", ""},
		{"SA-19", "a `server_tool_use` without its result", 400, reply.InvalidRequest, "", ""},
		{"SA-20", "a lone surrogate in the body", 400, reply.InvalidRequest, "", ""},
		{"SA-21", "a wrong or missing key", 401, "authentication_error", "", ""},
	}
}

func generateRules() []Rule {
	return []Rule{
		{"SG-01", "more or fewer function responses than calls", 400, reply.InvalidArgument, "", ""},
		{"SG-02", "calls that follow text of the model, or come first", 400, reply.InvalidArgument, "", ""},
		{"SG-03", "a function response without calls directly before it", 400, reply.InvalidArgument, "", ""},
		{"SG-04", "Gemini 3: a call without its signature", 400, reply.InvalidArgument, "", ""},
		{"SG-05", "the name of a function with invalid characters, or more than 64", 400, reply.InvalidArgument, "", ""},
		{"SG-06", "`parts: []`", 400, reply.InvalidArgument, "", ""},
		{"SG-07", "a part `{}`", 400, reply.InvalidArgument, "", ""},
		{"SG-08", "`contents` is missing", 400, reply.InvalidArgument, "", ""},
		{"SG-09", "a keyword that is unknown in Gemini's schemas", 400, reply.InvalidArgument, "", ""},
		{"SG-10", "a list as the `type` of a schema", 400, reply.InvalidArgument, "", ""},
		{"SG-11", "an unknown `type`", 400, reply.InvalidArgument, "", ""},
		{"SG-12", "a role other than user or model, or `function`, as in the first versions", 400, reply.InvalidArgument, "", ""},
		{"SG-13", "a function response without a name", 400, reply.InvalidArgument, "", ""},
		{"SG-14", "an unknown member of a part", 400, reply.InvalidArgument, "", ""},
		{"SG-15", "a `functionResponse.response` that is not an object", 400, reply.InvalidArgument, "", ""},
		{"SG-16", "an unknown model, or an unknown method", 404, "NOT_FOUND", "", ""},
		{"SG-17", "a wrong or missing key", 400, reply.InvalidArgument, "", "API_KEY_INVALID"},
	}
}

// Breaks returns the invariant that a request breaks if the rule with this id rejects
// it; empty means none. Requests that no rule rejects break INV-24.
func Breaks(id string) string {
	switch id {
	case "SO-16", "SO-17", "SA-21", "SG-16", "SG-17":
		return ""
	case "SO-01", "SO-02", "SO-03", "SO-04", "SO-20", "SR-01", "SR-02", "SR-03", "SA-01", "SA-02", "SA-03", "SG-01", "SG-03":
		return "INV-01"
	case "SG-02":
		return "INV-02"
	case "SA-04":
		return "INV-04"
	case "SO-19", "SR-07", "SR-08", "SR-09", "SA-13", "SA-14", "SG-04":
		return "INV-22"
	}
	return "INV-24"
}
