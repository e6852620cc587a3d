package fake

import (
	"go.yaml.in/yaml/v3"

	"github.com/looptape/looptape/fake/internal/yamlfile"
	"github.com/looptape/looptape/llm"
)

func responseCodec() yamlfile.Codec[Response] {
	codecs := yamlfile.Codecs{
		"repeat":        yamlfile.RepeatCodec,
		"calls":         yamlfile.ListOf("calls", callCodec()),
		"events":        yamlfile.ListOf("events", eventCodec),
		"expect":        yamlfile.PointerTo(expectCodec()),
		"warnings":      yamlfile.ListOf("warnings", warningCodec()),
		"usage":         usageCodec(),
		"finish_reason": finishCodec,
		"error":         yamlfile.PointerTo(failureCodec()),
	}
	attempt := yamlfile.Object("attempt", "an attempt", attemptFields+`
		expect             The expected request.`, codecs, checkResponse)
	codecs["attempts"] = yamlfile.ListOf("attempts", attempt)
	return yamlfile.Object("response", "a response", `
		repeat             The number of responses like this one; {n} in text, reasoning and calls is replaced by the number of the response, from 1.
		expect             The expected request.
		attempts           The responses to the first, second … attempt.`+attemptFields, codecs, checkResponse)
}

// attemptFields are the fields of a response and of an attempt.
const attemptFields = `
		delay              The virtual time before the first event.
		gate               The gate before the first event, after the delay.
		event_interval     The virtual time between events.` + contentFields + `
		events             The events, in place of reasoning, text and calls.
		chunk_size         The maximum number of bytes of a chunk of reasoning, text or arguments.
		warnings           Warnings of the adapter.
		usage              The tokens of this response.
		finish_reason      The finish reason; by default tool_calls if the response has calls, or else stop.
		raw_finish_reason  The finish reason of the provider.
		finish_message     The explanation of the provider.
		response_id        The id of the response.
		model              The model name in the response.
		opaque             Opaque provider data of the message.
		omit_finish        Omits the finish.
		error              The error that ends the response.
		stall              Blocks after the events until the context ends.`

// contentFields are those that events replace.
const contentFields = `
		reasoning(_b64)    The reasoning.
		reasoning_opaque   Opaque provider data of the reasoning.
		text(_b64)         The text.
		chunks             The text in given chunks.
		text_opaque        Opaque provider data of the text.
		refusal            Whether the text is a refusal.
		calls              The tool calls.`

func checkResponse(r *yamlfile.Reader, n *yaml.Node, t *Response) {
	if t.Chunks != nil {
		yamlfile.Exclude(r, n, "chunks", "text", "text_b64")
	}
	if t.Events != nil {
		yamlfile.Exclude(r, n, "events", yamlfile.KeysOf[Response](contentFields)...)
	}
	if t.Attempts != nil {
		yamlfile.Exclude(r, n, "attempts", yamlfile.KeysOf[Response](attemptFields)...)
	}
}

func callCodec() yamlfile.Codec[Call] {
	return yamlfile.Object("call", "a call", `
		id                 The id of the call; may be missing.
		name               The tool's name.
		arguments(_b64)    The arguments: a string, or a map.
		chunks             The arguments in given chunks.
		index              The index of the call; by default its position in the response, from 1.
		omit_index         Omits the index.
		single_chunk       Sends the call in a single chunk.
		omit_end           Omits the end of the call.
		provider_executed  Whether the provider ran the tool.
		opaque             Opaque provider data of the call.`,
		argumentsCodecs, func(r *yamlfile.Reader, n *yaml.Node, c *Call) {
			if c.Chunks != nil {
				yamlfile.Exclude(r, n, "chunks", "arguments", "arguments_b64")
			}
		})
}

var argumentsCodecs = yamlfile.Codecs{"arguments": yamlfile.ArgumentsCodec}

var finishCodec = yamlfile.OneOf("finish reason", llm.FinishStop, llm.FinishToolCalls, llm.FinishLength, llm.FinishContentFilter,
	llm.FinishRefusal, llm.FinishPause, llm.FinishMalformedCall, llm.FinishError, llm.FinishUnknown)

var roleCodec = yamlfile.OneOf("role", llm.RoleSystem, llm.RoleUser, llm.RoleAssistant, llm.RoleTool)

func warningCodec() yamlfile.Codec[llm.Warning] {
	return yamlfile.Object[llm.Warning]("warning", "a warning", `
		code     The code.
		message  The anomaly.`, nil, nil)
}

func usageCodec() yamlfile.Codec[llm.Usage] {
	return yamlfile.Object[llm.Usage]("usage", "a usage", `
		input_tokens                 All input tokens.
		output_tokens                All output tokens.
		cache_read_input_tokens      Input tokens read from a cache.
		cache_creation_input_tokens  Input tokens written to a cache.
		reasoning_output_tokens      Output tokens for reasoning.`, nil, nil)
}

func failureCodec() yamlfile.Codec[Failure] {
	return yamlfile.Object[Failure]("error", "an error", `
		status       The HTTP status.
		code         The error code of the provider.
		message      The error message of the provider.
		request_id   The id of the request.
		retry_after  The delay that the provider requests.
		retryable    Whether the loop may retry; by default, the status decides.
		connection   How the connection is interrupted.
		after        The number of events before the error; by default all.`, yamlfile.Codecs{
		"connection": yamlfile.OneOf("interruption of the connection", ConnectionReset, ConnectionClosed),
	}, nil)
}

func expectCodec() yamlfile.Codec[Expect] {
	result := yamlfile.Object[ExpectResult]("expect_result", "an expected result", `
		id        The id of the call.
		text      A string in the text of the result.
		is_error  Whether the result is an error; not compared if the protocol has no error flag (OpenAI).`, nil, nil)
	return yamlfile.Object[Expect]("expect", "an expectation", `
		messages     The number of messages.
		role         The role of the last message.
		text         Strings in the text of the last message.
		results      The results in the last message, in order.
		system       Strings in the system prompt.
		tools        The names of the tools, in order.
		tool_choice  auto, required, none or tool:NAME.
		request      A part of the request as JSON.`, yamlfile.Codecs{
		"role":    roleCodec,
		"results": yamlfile.ListOf("results", result),
		"tools":   yamlfile.ListOf("names", yamlfile.TextCodec),
		"request": membersCodec("request"),
	}, nil)
}
