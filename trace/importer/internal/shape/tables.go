package shape

// responses are the shapes of responses by protocol. They have the members that codecs read, and more of those
// that may be the only one of an object. Members of messages that a reader keeps as unknown are reported by it.
var responses = map[string]any{
	"openai-chat": chatShape, "openai-completions": chatShape,
	"gemini":             geminiShape,
	"anthropic-messages": anthropicShape,
	"openai-responses":   responsesShape,
	"bedrock-converse": object{
		"output": object{"message": object{"role": text, "content": list{converseBlock}}}, "stopReason": text, "usage": usage, open: nil,
	},
	"cohere-chat": object{
		"id": text, "finish_reason": text, "usage": usage, open: nil,
		"message": object{
			"role": text, "tool_plan": textOrUnknown, "citations": nil, "tool_calls": list{cohereCall},
			"content": either{text, list{object{"type": text, "text": text, "thinking": text}}},
		},
	},
	"ollama-chat": object{
		"model": text, "done": flag, "done_reason": text, "prompt_eval_count": count, "eval_count": count, open: nil,
		"message": object{"role": text, "content": text, "thinking": textOrUnknown, "tool_calls": list{object{"id": text, "function": object{"name": text, "arguments": nil}}}},
	},
}

// requests are the shapes of requests by protocol, if their codec reads more than the API has.
var requests = map[string]any{
	"openai-chat": object{open: nil, "messages": list{object{open: nil, "name": text,
		"tool_calls":    list{object{open: nil, "function": object{open: nil, "arguments": textOrObject}, "custom": object{open: nil, "input": textOrObject}}},
		"function_call": object{open: nil, "arguments": textOrObject},
	}}},
}

// events are the shapes of events by protocol and type. Events without types have the shape of a response.
var events = map[string]map[string]any{
	"anthropic-messages": {
		"message_start":       object{"message": must{anthropicShape}, open: nil},
		"content_block_start": object{"index": must{count}, "content_block": either{anthropicBlock, nil}, open: nil},
		"content_block_delta": object{"index": must{count}, "delta": object{"type": text, open: nil}, open: nil}, // package body looks at the others
		"content_block_stop":  object{"index": must{count}, open: nil},
		"message_delta":       object{"delta": object{"stop_reason": text, "stop_sequence": about{nil}, "stop_details": about{nil}, "container": about{nil}}, "usage": usage, open: nil},
	},
	"openai-responses": {
		"response.created":    object{"response": responsesShape, open: nil},
		"response.completed":  object{"response": must{responsesShape}, open: nil},
		"response.incomplete": object{"response": must{responsesShape}, open: nil},

		"response.output_item.added": object{"output_index": count, "item": must{responsesItem}, open: nil},
		"response.output_item.done":  object{"output_index": count, "item": must{responsesItem}, open: nil},

		"response.output_text.delta":             responsesDelta,
		"response.refusal.delta":                 responsesDelta,
		"response.reasoning_text.delta":          responsesDelta,
		"response.reasoning_summary_text.delta":  responsesDelta,
		"response.function_call_arguments.delta": responsesDelta,
		"response.custom_tool_call_input.delta":  responsesDelta,

		"response.output_text.done":             object{"output_index": count, "content_index": count, "text": must{text}, open: nil},
		"response.refusal.done":                 object{"output_index": count, "content_index": count, "refusal": must{text}, open: nil},
		"response.function_call_arguments.done": object{"output_index": count, "arguments": must{text}, open: nil},
		"response.custom_tool_call_input.done":  object{"output_index": count, "input": must{text}, open: nil},
	},
	"bedrock-converse": {
		"messageStart": object{"role": text, open: nil},
		"contentBlockStart": object{
			"contentBlockIndex": must{count}, open: nil,
			"start": must{object{
				"toolUse": some{object{"toolUseId": must{text}, "name": must{text}}}, "toolResult": some{object{"toolUseId": must{text}}}, "image": nil,
			}},
		},
		"contentBlockDelta": object{
			"contentBlockIndex": must{count}, open: nil,
			"delta": must{object{
				"text": some{text}, "toolUse": some{object{"input": must{text}}}, "toolResult": some{list{object{"text": text, "json": nil}}},
				"reasoningContent": some{object{"text": some{text}, "signature": some{text}, "redactedContent": some{text}}}, "citation": nil, "image": nil,
			}},
		},
		"contentBlockStop": object{"contentBlockIndex": must{count}, open: nil},
		"messageStop":      object{"stopReason": must{text}, open: nil},
		"metadata":         object{"usage": usage, open: nil},
	},
	"cohere-chat": {
		"message-start":   object{"id": text, open: nil},
		"content-start":   cohereEvent(object{"content": must{object{"type": must{text}, "text": text, "thinking": text}}}),
		"content-delta":   cohereEvent(object{"content": must{object{"type": text, "text": some{text}, "thinking": some{text}}}}),
		"tool-plan-delta": cohereEvent(object{"tool_plan": must{text}}),
		"tool-call-start": cohereEvent(object{"tool_calls": must{cohereCall}}),
		"tool-call-delta": cohereEvent(object{"tool_calls": must{object{"function": must{object{"arguments": must{text}}}}}}),
		"message-end":     object{"delta": must{object{"finish_reason": must{text}, "usage": usage, open: nil}}, open: nil},
	},
}

var (
	chatShape = object{
		"id": text, "object": nil, "created": nil, "model": text, "system_fingerprint": nil, "service_tier": nil,
		"usage": usage, "x_groq": object{"usage": usage, open: nil}, open: nil,
		"choices": list{object{
			"index": about{count}, "finish_reason": either{text, lastChoice}, "text": text, "delta": chatMessage, "message": chatMessage,
			"usage": usage, "logprobs": about{nil}, "stop_reason": about{nil}, "native_finish_reason": about{nil}, "matched_stop": about{nil}, "token_ids": about{nil},
			"content_filter_results": about{nil}, "content_filter_result": about{nil}, "content_filter_offsets": about{nil}, "raw_output": about{nil},
		}},
	}
	chatMessage = object{
		"role": text, "refusal": text, "reasoning_content": text, "reasoning": text, "reasoning_details": list{object{"type": text, "text": text, "summary": text, open: nil}},
		"content":       either{text, list{object{"type": text, "text": either{text, list{object{"type": text, "text": text}}}, open: nil}}},
		"tool_calls":    list{object{"id": text, "index": count, "type": text, "function": chatFunction, "custom": chatFunction, open: nil}},
		"function_call": chatFunction, "audio": object{"transcript": text, open: nil}, open: nil,
	}
	// lastChoice is the choice of the last event, which LangSmith for JavaScript has as the finish reason of a stream.
	lastChoice   = object{"index": about{count}, "delta": about{nil}, "logprobs": about{nil}, "finish_reason": some{text}}
	chatFunction = object{"name": text, "arguments": textOrObject, "input": textOrObject}
	textOrObject = either{text, object{open: nil}} // some servers have arguments as an object

	geminiShape = object{
		"candidates": list{object{
			"content": object{"role": text, "parts": list{geminiPart}}, "index": about{count}, "finishReason": label, "finishMessage": about{text},
			"safetyRatings": about{nil}, "groundingMetadata": about{nil}, "citationMetadata": about{nil}, "urlContextMetadata": about{nil},
			"tokenCount": about{nil}, "avgLogprobs": about{nil}, "logprobsResult": about{nil},
		}},
		"usageMetadata": usage, "modelVersion": text, "responseId": text, open: nil,
	}
	geminiPart = object{
		"text": text, "thought": flag, "thoughtSignature": text, open: nil,
		"functionCall": object{"id": text, "name": text, "args": nil, "partialArgs": list{nil}, "willContinue": flag},
	}

	anthropicShape = object{open: nil, "id": text, "model": text, "role": text, "stop_reason": text, "content": list{anthropicBlock}, "usage": usage}
	anthropicBlock = object{"type": must{text}, "text": text, "thinking": text, "signature": text, "data": text, "id": text, "name": text, "input": nil}

	responsesShape = object{open: nil, "id": text, "model": text, "status": text, "output": list{responsesItem}, "usage": usage}
	responsesItem  = object{
		"type": must{text}, "id": text, "role": text, "call_id": text, "name": text, "encrypted_content": text,
		"content": either{text, list{object{"type": text, "text": text, "refusal": text, open: nil}}},
		"summary": list{object{"type": text, "text": text}},
	}
	responsesDelta = object{"output_index": count, "content_index": count, "summary_index": count, "delta": must{text}, open: nil}

	converseBlock = object{
		"text": some{text}, "toolUse": nil, open: nil,
		"reasoningContent": some{object{"reasoningText": some{object{"text": some{text}, "signature": text}}, "redactedContent": some{text}}},
	}

	details = object{
		"cacheRead": count, "cacheCreation": count, "reasoning": count, "audio": count, "cache_read": count, "cache_creation": count, open: nil,
	}

	// An object or a list is kept as an unknown member of the message, which is reported.
	textOrUnknown = either{text, object{open: nil}, list{nil}}

	cohereCall = object{"id": text, "type": text, "function": object{"name": text, "arguments": nil}}
)

// cohereEvent returns the shape of an event with a part of a message.
func cohereEvent(message object) object {
	return object{"delta": must{object{"message": must{message}, open: nil}}, open: nil}
}
