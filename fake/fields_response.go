package fake

import (
	"encoding/json"
	"slices"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/looptape/looptape/llm"
)

func responseCodec() codec[Response] {
	expect := member("expect", "The expected request.", pointerTo(expectCodec()), func(t *Response) **Expect { return &t.Expect })
	attempt := object("attempt", "an attempt", append(attemptFields(), expect), checkResponse)
	return object("response", "a response", slices.Concat([]field[Response]{
		member("repeat", "The number of responses like this one; {n} in text, reasoning and calls is replaced by the number of the response, from 1.", repeatCodec, func(t *Response) *int { return &t.Repeat }),
		expect,
		member("attempts", "The responses to the first, second … attempt.", listOf("attempts", attempt), func(t *Response) *[]Response { return &t.Attempts }),
	}, attemptFields()), func(r *reader, n *yaml.Node, t *Response) {
		checkResponse(r, n, t)
		if t.Attempts != nil {
			exclude(r, n, "attempts", keysOf(attemptFields()))
		}
	})
}

// attemptFields returns the fields of a response and of an attempt.
func attemptFields() []field[Response] {
	return slices.Concat(
		[]field[Response]{
			member("delay", "The virtual time before the first event.", durationCodec, func(t *Response) *time.Duration { return &t.Delay }),
			member("gate", "The gate before the first event, after the delay.", textCodec, func(t *Response) *string { return &t.Gate }),
			member("event_interval", "The virtual time between events.", durationCodec, func(t *Response) *time.Duration { return &t.EventInterval }),
		},
		contentFields(),
		[]field[Response]{
			member("events", "The events, in place of reasoning, text and calls.", listOf("events", eventCodec), func(t *Response) *[]llm.Event { return &t.Events }),
			member("chunk_size", "The maximum number of bytes of a chunk of reasoning, text or arguments.", countCodec, func(t *Response) *int { return &t.ChunkSize }),
			member("warnings", "Warnings of the adapter.", listOf("warnings", warningCodec()), func(t *Response) *[]llm.Warning { return &t.Warnings }),
			member("usage", "The tokens of this response.", usageCodec(), func(t *Response) *llm.Usage { return &t.Usage }),
			member("finish_reason", "The finish reason; by default tool_calls if the response has calls, or else stop.", finishCodec, func(t *Response) *llm.FinishReason { return &t.FinishReason }),
			member("raw_finish_reason", "The finish reason of the provider.", textCodec, func(t *Response) *string { return &t.RawFinishReason }),
			member("finish_message", "The explanation of the provider.", textCodec, func(t *Response) *string { return &t.FinishMessage }),
			member("response_id", "The id of the response.", textCodec, func(t *Response) *string { return &t.ResponseID }),
			member("model", "The model name in the response.", textCodec, func(t *Response) *string { return &t.Model }),
			member("opaque", "Opaque provider data of the message.", jsonCodec, func(t *Response) *json.RawMessage { return &t.Opaque }),
			member("omit_finish", "Omits the finish.", boolCodec, func(t *Response) *bool { return &t.OmitFinish }),
			member("error", "The error that ends the response.", pointerTo(failureCodec()), func(t *Response) **Failure { return &t.Error }),
			member("stall", "Blocks after the events until the context ends.", boolCodec, func(t *Response) *bool { return &t.Stall }),
		},
	)
}

// contentFields returns the fields that events replace.
func contentFields() []field[Response] {
	return slices.Concat(
		bytesFields("reasoning", "The reasoning.", textCodec, func(t *Response) *string { return &t.Reasoning }),
		[]field[Response]{member("reasoning_opaque", "Opaque provider data of the reasoning.", jsonCodec, func(t *Response) *json.RawMessage { return &t.ReasoningOpaque })},
		bytesFields("text", "The text.", textCodec, func(t *Response) *string { return &t.Text }),
		[]field[Response]{
			member("chunks", "The text in given chunks.", listOf("strings", textCodec), func(t *Response) *[]string { return &t.Chunks }),
			member("text_opaque", "Opaque provider data of the text.", jsonCodec, func(t *Response) *json.RawMessage { return &t.TextOpaque }),
			member("refusal", "Whether the text is a refusal.", boolCodec, func(t *Response) *bool { return &t.Refusal }),
			member("calls", "The tool calls.", listOf("calls", callCodec()), func(t *Response) *[]Call { return &t.Calls }),
		},
	)
}

func checkResponse(r *reader, n *yaml.Node, t *Response) {
	if t.Chunks != nil {
		exclude(r, n, "chunks", []string{"text", "text_b64"})
	}
	if t.Events != nil {
		exclude(r, n, "events", keysOf(contentFields()))
	}
}

func keysOf[T any](fields []field[T]) []string {
	out := make([]string, len(fields))
	for i, f := range fields {
		out[i] = f.key
	}
	return out
}

// exclude reports the keys that key excludes.
func exclude(r *reader, n *yaml.Node, key string, others []string) {
	others = r.keys(others)
	for i := 0; i < len(n.Content); i += 2 {
		if k := n.Content[i]; slices.Contains(others, k.Value) {
			r.errorf(k, "%s and %s exclude each other: keep one", r.key(key), k.Value)
		}
	}
}

func callCodec() codec[Call] {
	return object("call", "a call", slices.Concat(
		[]field[Call]{
			member("id", "The id of the call; may be missing.", textCodec, func(c *Call) *string { return &c.ID }),
			member("name", "The tool's name.", textCodec, func(c *Call) *string { return &c.Name }),
		},
		bytesFields("arguments", "The arguments: a string, or a map.", argumentsCodec, func(c *Call) *string { return &c.Arguments }),
		[]field[Call]{
			member("chunks", "The arguments in given chunks.", listOf("strings", textCodec), func(c *Call) *[]string { return &c.Chunks }),
			member("index", "The index of the call; by default its position in the response, from 1.", countCodec, func(c *Call) *int { return &c.Index }),
			member("omit_index", "Omits the index.", boolCodec, func(c *Call) *bool { return &c.OmitIndex }),
			member("single_chunk", "Sends the call in a single chunk.", boolCodec, func(c *Call) *bool { return &c.SingleChunk }),
			member("omit_end", "Omits the end of the call.", boolCodec, func(c *Call) *bool { return &c.OmitEnd }),
			member("provider_executed", "Whether the provider ran the tool.", boolCodec, func(c *Call) *bool { return &c.ProviderExecuted }),
			member("opaque", "Opaque provider data of the call.", jsonCodec, func(c *Call) *json.RawMessage { return &c.Opaque }),
		},
	), func(r *reader, n *yaml.Node, c *Call) {
		if c.Chunks != nil {
			exclude(r, n, "chunks", []string{"arguments", "arguments_b64"})
		}
	})
}

var finishCodec = oneOf("finish reason", llm.FinishStop, llm.FinishToolCalls, llm.FinishLength, llm.FinishContentFilter,
	llm.FinishRefusal, llm.FinishPause, llm.FinishMalformedCall, llm.FinishError, llm.FinishUnknown)

var roleCodec = oneOf("role", llm.RoleSystem, llm.RoleUser, llm.RoleAssistant, llm.RoleTool)

func warningCodec() codec[llm.Warning] {
	return object("warning", "a warning", []field[llm.Warning]{
		member("code", "The code.", textCodec, func(w *llm.Warning) *string { return &w.Code }),
		member("message", "The anomaly.", textCodec, func(w *llm.Warning) *string { return &w.Message }),
	}, nil)
}

func usageCodec() codec[llm.Usage] {
	return object("usage", "a usage", []field[llm.Usage]{
		member("input_tokens", "All input tokens.", tokenCodec, func(u *llm.Usage) *int64 { return &u.InputTokens }),
		member("output_tokens", "All output tokens.", tokenCodec, func(u *llm.Usage) *int64 { return &u.OutputTokens }),
		member("cache_read_input_tokens", "Input tokens read from a cache.", tokenCodec, func(u *llm.Usage) *int64 { return &u.CacheReadInputTokens }),
		member("cache_creation_input_tokens", "Input tokens written to a cache.", tokenCodec, func(u *llm.Usage) *int64 { return &u.CacheCreationInputTokens }),
		member("reasoning_output_tokens", "Output tokens for reasoning.", tokenCodec, func(u *llm.Usage) *int64 { return &u.ReasoningOutputTokens }),
	}, nil)
}

func failureCodec() codec[Failure] {
	return object("error", "an error", []field[Failure]{
		member("status", "The HTTP status.", countCodec, func(f *Failure) *int { return &f.Status }),
		member("code", "The error code of the provider.", textCodec, func(f *Failure) *string { return &f.Code }),
		member("message", "The error message of the provider.", textCodec, func(f *Failure) *string { return &f.Message }),
		member("request_id", "The id of the request.", textCodec, func(f *Failure) *string { return &f.RequestID }),
		member("retry_after", "The delay that the provider requests.", durationCodec, func(f *Failure) *time.Duration { return &f.RetryAfter }),
		member("retryable", "Whether the loop may retry; by default, the status decides.", pointerTo(boolCodec), func(f *Failure) **bool { return &f.Retryable }),
		member("connection", "How the connection is interrupted.", oneOf("interruption of the connection", ConnectionReset, ConnectionClosed), func(f *Failure) *string { return &f.Connection }),
		member("after", "The number of events before the error; by default all.", countCodec, func(f *Failure) *int { return &f.After }),
	}, nil)
}

func expectCodec() codec[Expect] {
	texts := listOf("strings", textCodec)
	return object("expect", "an expectation", []field[Expect]{
		member("messages", "The number of messages.", countCodec, func(e *Expect) *int { return &e.Messages }),
		member("role", "The role of the last message.", roleCodec, func(e *Expect) *llm.Role { return &e.Role }),
		member("text", "Strings in the text of the last message.", texts, func(e *Expect) *[]string { return &e.Text }),
		member("results", "The results in the last message, in order.", listOf("results", expectResultCodec()), func(e *Expect) *[]ExpectResult { return &e.Results }),
		member("system", "Strings in the system prompt.", texts, func(e *Expect) *[]string { return &e.System }),
		member("tools", "The names of the tools, in order.", listOf("names", textCodec), func(e *Expect) *[]string { return &e.Tools }),
		member("tool_choice", "auto, required, none or tool:NAME.", textCodec, func(e *Expect) *string { return &e.ToolChoice }),
		member("request", "A part of the request as JSON.", membersCodec("request"), func(e *Expect) *json.RawMessage { return &e.Request }),
	}, nil)
}

func expectResultCodec() codec[ExpectResult] {
	return object("expect_result", "an expected result", []field[ExpectResult]{
		member("id", "The id of the call.", textCodec, func(e *ExpectResult) *string { return &e.ID }),
		member("text", "A string in the text of the result.", textCodec, func(e *ExpectResult) *string { return &e.Text }),
		member("is_error", "Whether the result is an error; not compared if the protocol has no error flag (OpenAI).", pointerTo(boolCodec), func(e *ExpectResult) **bool { return &e.IsError }),
	}, nil)
}
