package strict

import (
	"fmt"
	"slices"
	"strings"
)

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

func unknownSetting(body object, known []string) (name string, ok bool) {
	i := slices.IndexFunc(body, func(m member) bool { return !hasName(known, m.key) })
	if i < 0 {
		return "", false
	}
	return body[i].key, true
}

// unknownChatSetting rejects members that OpenAI's own models do not have. OpenAI-
// compatible servers accept more.
func unknownChatSetting(body object, model string) *Error {
	name, ok := unknownSetting(body, chatSettings)
	if !ok || !isOpenAIs(model) {
		return nil
	}
	return reject("", "Unrecognized request argument supplied: %s", name)
}

// isOpenAIs reports whether OpenAI serves the model itself.
func isOpenAIs(model string) bool {
	return !strings.HasPrefix(model, "gpt-oss") && hasPrefix(model, "gpt-", "chatgpt-", "o1", "o3", "o4", "ft:gpt-")
}

func unknownResponsesSetting(body object) *Error {
	name, ok := unknownSetting(body, responsesSettings)
	if !ok {
		return nil
	}
	return reject("", "Unknown parameter: '%s'.", name).at(name, "unknown_parameter")
}

func unknownMessagesSetting(body object) *Error {
	name, ok := unknownSetting(body, messagesSettings)
	if !ok {
		return nil
	}
	return reject("", "%s: Extra inputs are not permitted", name)
}

func unknownGenerateSetting(body object) *Error {
	if name, ok := unknownSetting(body, generateSettings); ok {
		return reject("", "Invalid JSON payload received. Unknown name \"%s\": Cannot find field.", name)
	}
	if name, ok := unknownSetting(body.either("generationConfig").object(), generationSettings); ok {
		return unknownName("", name, "generation_config", "Cannot find field.")
	}
	return asArray(body.get("contents")).first(func(i int, c value) *Error {
		if name, ok := unknownSetting(c.object(), []string{"role", "parts"}); ok {
			return unknownName("", name, fmt.Sprintf("contents[%d]", i), "Cannot find field.")
		}
		return nil
	})
}
