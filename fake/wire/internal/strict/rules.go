package strict

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"

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

// rule returns a rule with status 400. In at are the param and the code, if any.
func rule(id, description string, at ...string) Rule {
	at = append(at, "", "")
	kind := reply.InvalidRequest
	if strings.HasPrefix(id, "SG-") {
		kind = reply.InvalidArgument
	}
	return Rule{id, description, http.StatusBadRequest, kind, at[0], at[1]}
}

func (r Rule) with(status int, kind string) Rule {
	r.Status, r.Type = status, kind
	return r
}

// Rules returns the rules of the real providers: OpenAI Chat Completions (SO), OpenAI
// Responses (SR), Anthropic Messages (SA), Gemini (SG).
func Rules() []Rule { return rules }

var rules = []Rule{
	rule("SO-01", "calls without a result right after them", "messages.[n].role"),
	rule("SO-02", "a tool message without a call before it", "messages.[n].role"),
	rule("SO-03", "two tool messages for one call", "messages.[n].tool_call_id"),
	rule("SO-04", "a tool message without `tool_call_id`", "messages.[n].tool_call_id"),
	rule("SO-05", "`tool_calls: []` in the history", "messages[n].tool_calls", "empty_array"),
	rule("SO-06", "`messages: []`", "messages", "empty_array"),
	rule("SO-07", "`content: null` without calls", "messages.[n].content"),
	rule("SO-08", "the name of a tool with characters other than letters, digits, `_` and `-`", "tools[n].function.name", "invalid_value"),
	rule("SO-09", "an echoed call with an empty name", "messages[n].tool_calls[n].function.name", "empty_string"),
	rule("SO-10", "a call id of over 40 characters (gateways take longer ones)", "messages[n].tool_calls[n].id", "string_above_max_length"),
	rule("SO-11", "a schema that is not an object with properties, or breaks the rules of `strict: true`", "tools[n].function.parameters", "invalid_function_parameters"),
	rule("SO-12", "`parallel_tool_calls` without `tools`", "parallel_tool_calls"),
	rule("SO-13", "`max_tokens` for a reasoning model", "max_tokens", "unsupported_parameter"),
	rule("SO-14", "a role that the model does not accept", "messages[n].role", "unsupported_value"),
	rule("SO-15", "the description of a tool of over 1,024 characters", "tools[n].function.description", "string_above_max_length"),
	rule("SO-16", "an unknown model (on Responses too)", "", "model_not_found").with(404, reply.InvalidRequest),
	rule("SO-17", "a wrong or missing key (on Responses too)", "", "invalid_api_key").with(401, reply.InvalidRequest),
	rule("SO-18", "`tool_choice` without `tools`", "tool_choice"),
	rule("SO-19", "DeepSeek's thinking models: calls without the reasoning that led to them", "", reply.InvalidRequest),
	rule("SO-20", "Mistral: more or fewer results than calls", "", "3230").with(400, "invalid_request_message_order"),

	rule("SR-01", "a call without its output", "input"),
	rule("SR-02", "an output without its call", "input"),
	rule("SR-03", "two outputs for one call", "input"),
	rule("SR-04", "an item sent twice, or again with `previous_response_id`", "input"),
	rule("SR-05", "an item with an id of another kind, such as a call with its `call_id`", "input[n].id", "invalid_value"),
	rule("SR-06", "an id that is empty or has invalid characters", "input[n].id"),
	rule("SR-07", "reasoning without the item after it", "input"),
	rule("SR-08", "a call without the reasoning that led to it", "input"),
	rule("SR-09", "encrypted content that was changed, or is from another session", "", "invalid_encrypted_content"),
	rule("SR-10", "a reference to an item that was not stored", "input").with(404, reply.InvalidRequest),
	rule("SR-11", "an unknown `previous_response_id`", "previous_response_id", "previous_response_not_found"),
	rule("SR-12", "a message of the assistant with `input_text`", "input[n].content[n]", "invalid_value"),
	rule("SR-13", "a tool without a name, such as in the form of Chat Completions", "tools[n].name", "missing_required_parameter"),
	rule("SR-14", "the name of a tool with characters other than letters, digits, `_` and `-`", "tools[n].name", "invalid_value"),
	rule("SR-15", "a `call_id` of over 64 characters", "input[n].call_id", "string_above_max_length"),
	rule("SR-16", "a schema that breaks the rules of strict, which is the default here", "tools[n].parameters", "invalid_function_parameters"),
	rule("SR-17", "an unknown member of an item", "input[n].status", "unknown_parameter"),

	rule("SA-01", "a `tool_use` without a result in the next message"),
	rule("SA-02", "a result without its call in the message before"),
	rule("SA-03", "two results for one call"),
	rule("SA-04", "a `tool_use` id used twice"),
	rule("SA-05", "a `tool_use` id with characters other than letters, digits, `_` and `-`"),
	rule("SA-06", "`max_tokens` is missing"),
	rule("SA-07", "the name of a tool with invalid characters, or more than 128"),
	rule("SA-08", "two tools with the same name"),
	rule("SA-09", "a schema that is not JSON Schema 2020-12"),
	rule("SA-10", "`anyOf`, `oneOf` or `allOf` at the top of a schema"),
	rule("SA-11", "an empty text block"),
	rule("SA-12", "an empty message, except a last one of the assistant"),
	rule("SA-13", "thinking with a changed signature"),
	rule("SA-14", "thinking of the last assistant message that was changed or moved"),
	rule("SA-15", "thinking is enabled, and the message with calls does not begin with it"),
	rule("SA-16", "thinking is disabled, and the last assistant message has it"),
	rule("SA-17", "a first message of the assistant"),
	rule("SA-18", "a last message of the assistant, for models from 4.6 on"),
	rule("SA-19", "a `server_tool_use` without its result"),
	rule("SA-20", "a lone surrogate in the body"),
	rule("SA-21", "a wrong or missing key").with(401, "authentication_error"),

	rule("SG-01", "more or fewer function responses than calls"),
	rule("SG-02", "calls that follow text of the model, or come first"),
	rule("SG-03", "a function response without calls directly before it"),
	rule("SG-04", "Gemini 3: a call without its signature"),
	rule("SG-05", "the name of a function with invalid characters, or more than 64"),
	rule("SG-06", "`parts: []`"),
	rule("SG-07", "a part `{}`"),
	rule("SG-08", "`contents` is missing"),
	rule("SG-09", "a keyword that is unknown in Gemini's schemas"),
	rule("SG-10", "a list as the `type` of a schema"),
	rule("SG-11", "an unknown `type`"),
	rule("SG-12", "a role other than user or model, or `function`, as in the first versions"),
	rule("SG-13", "a function response without a name"),
	rule("SG-14", "an unknown member of a part"),
	rule("SG-15", "a `functionResponse.response` that is not an object"),
	rule("SG-16", "an unknown model, or an unknown method").with(404, "NOT_FOUND"),
	rule("SG-17", "a wrong or missing key", "", "API_KEY_INVALID"),
}

// Breaks returns the invariant that a request breaks if the rule with this id rejects
// it; empty means none. Requests that no rule rejects break INV-24.
func Breaks(id string) string {
	for invariant, ids := range map[string]string{
		"":       "SO-16 SO-17 SA-21 SG-16 SG-17",
		"INV-01": "SO-01 SO-02 SO-03 SO-04 SO-20 SR-01 SR-02 SR-03 SA-01 SA-02 SA-03 SG-01 SG-03",
		"INV-02": "SG-02",
		"INV-04": "SA-04",
		"INV-22": "SO-19 SR-07 SR-08 SR-09 SA-13 SA-14 SG-04",
	} {
		if id != "" && strings.Contains(ids, id) {
			return invariant
		}
	}
	return "INV-24"
}

// These are the members of requests that the providers' references name, including beta
// members.

var chatSettings = strings.Fields(`
	audio frequency_penalty function_call functions logit_bias logprobs max_completion_tokens max_tokens messages
	metadata modalities model moderation n parallel_tool_calls prediction presence_penalty prompt_cache_key
	prompt_cache_options prompt_cache_retention reasoning_effort response_format safety_identifier seed service_tier stop
	store stream stream_options temperature tool_choice tools top_logprobs top_p user verbosity web_search_options`)

var responsesSettings = strings.Fields(`
	access_programs background context_management conversation include input instructions max_output_tokens
	max_tool_calls metadata model moderation parallel_tool_calls previous_response_id prompt prompt_cache_key
	prompt_cache_options prompt_cache_retention reasoning safety_identifier service_tier store stream stream_options
	temperature text tool_choice tools top_logprobs top_p truncation user`)

var messagesSettings = strings.Fields(`
	anthropic_beta anthropic_version cache_control compaction container context_management diagnostics
	fallback_credit_token fallbacks inference_geo max_tokens mcp_servers messages metadata model output_config
	output_format service_tier speed stop_sequences stream system temperature thinking tool_choice tools top_k top_p`)

var generateSettings = strings.Fields(`
	cachedContent contents continuationToken generationConfig labels model safetySettings serviceTier store
	systemInstruction toolConfig tools`)

var generationSettings = strings.Fields(`
	audioTimestamp audioTranscriptionConfig candidateCount enableAffectiveDialog enableEnhancedCivicAnswers
	frequencyPenalty imageConfig logprobs maxOutputTokens mediaResolution modelSelectionConfig presencePenalty
	responseFormat responseJsonSchema _responseJsonSchema responseLogprobs responseMimeType responseModalities
	responseSchema routingConfig seed speechConfig stopSequences temperature thinkingConfig topK topP translationConfig`)

// unknownSetting returns an error with the first member of an unknown name. The message
// takes the name.
func unknownSetting(body object, known []string, message string) *Error {
	return first(body, func(_ int, m member) *Error {
		if hasName(known, m.key) {
			return nil
		}
		return reject("", message, m.key)
	})
}

// unknownChatSetting rejects members that OpenAI's own models do not have. OpenAI-
// compatible servers accept more.
func unknownChatSetting(body object, model string) *Error {
	if !isOpenAIs(model) {
		return nil
	}
	return unknownSetting(body, chatSettings, "Unrecognized request argument supplied: %s")
}

// isOpenAIs reports whether OpenAI serves the model itself.
func isOpenAIs(model string) bool {
	return !strings.HasPrefix(model, "gpt-oss") && hasPrefix(model, "gpt-", "chatgpt-", "o1", "o3", "o4", "ft:gpt-")
}

func unknownGenerateSetting(body object) *Error {
	const unknown = "Invalid JSON payload received. Unknown name \"%s\""
	config := body.either("generationConfig").object()
	return cmp.Or(
		unknownSetting(body, generateSettings, unknown+": Cannot find field."),
		unknownSetting(config, generationSettings, unknown+" at 'generation_config': Cannot find field."),
		asArray(body.get("contents")).first(func(i int, c value) *Error {
			at := fmt.Sprintf(" at 'contents[%d]': Cannot find field.", i)
			return unknownSetting(c.object(), []string{"role", "parts"}, unknown+at)
		}),
	)
}
