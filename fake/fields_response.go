package fake

import (
	"encoding/json"
	"slices"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/looptape/looptape/fake/internal/yamlfile"
	"github.com/looptape/looptape/llm"
)

func responseCodec() yamlfile.Codec[Response] {
	expect := yamlfile.Member("expect", "The expected request.", yamlfile.PointerTo(expectCodec()), func(t *Response) **Expect { return &t.Expect })
	attempt := yamlfile.Object("attempt", "an attempt", append(attemptFields(), expect), checkResponse)
	return yamlfile.Object("response", "a response", slices.Concat([]yamlfile.Field[Response]{
		yamlfile.Member("repeat", "The number of responses like this one; {n} in text, reasoning and calls is replaced by the number of the response, from 1.", yamlfile.RepeatCodec, func(t *Response) *int { return &t.Repeat }),
		expect,
		yamlfile.Member("attempts", "The responses to the first, second … attempt.", yamlfile.ListOf("attempts", attempt), func(t *Response) *[]Response { return &t.Attempts }),
	}, attemptFields()), func(r *yamlfile.Reader, n *yaml.Node, t *Response) {
		checkResponse(r, n, t)
		if t.Attempts != nil {
			yamlfile.Exclude(r, n, "attempts", yamlfile.KeysOf(attemptFields()))
		}
	})
}

// attemptFields returns the fields of a response and of an attempt.
func attemptFields() []yamlfile.Field[Response] {
	return slices.Concat(
		[]yamlfile.Field[Response]{
			yamlfile.Member("delay", "The virtual time before the first event.", yamlfile.DurationCodec, func(t *Response) *time.Duration { return &t.Delay }),
			yamlfile.Member("gate", "The gate before the first event, after the delay.", yamlfile.TextCodec, func(t *Response) *string { return &t.Gate }),
			yamlfile.Member("event_interval", "The virtual time between events.", yamlfile.DurationCodec, func(t *Response) *time.Duration { return &t.EventInterval }),
		},
		contentFields(),
		[]yamlfile.Field[Response]{
			yamlfile.Member("events", "The events, in place of reasoning, text and calls.", yamlfile.ListOf("events", eventCodec), func(t *Response) *[]llm.Event { return &t.Events }),
			yamlfile.Member("chunk_size", "The maximum number of bytes of a chunk of reasoning, text or arguments.", yamlfile.CountCodec, func(t *Response) *int { return &t.ChunkSize }),
			yamlfile.Member("warnings", "Warnings of the adapter.", yamlfile.ListOf("warnings", warningCodec()), func(t *Response) *[]llm.Warning { return &t.Warnings }),
			yamlfile.Member("usage", "The tokens of this response.", usageCodec(), func(t *Response) *llm.Usage { return &t.Usage }),
			yamlfile.Member("finish_reason", "The finish reason; by default tool_calls if the response has calls, or else stop.", finishCodec, func(t *Response) *llm.FinishReason { return &t.FinishReason }),
			yamlfile.Member("raw_finish_reason", "The finish reason of the provider.", yamlfile.TextCodec, func(t *Response) *string { return &t.RawFinishReason }),
			yamlfile.Member("finish_message", "The explanation of the provider.", yamlfile.TextCodec, func(t *Response) *string { return &t.FinishMessage }),
			yamlfile.Member("response_id", "The id of the response.", yamlfile.TextCodec, func(t *Response) *string { return &t.ResponseID }),
			yamlfile.Member("model", "The model name in the response.", yamlfile.TextCodec, func(t *Response) *string { return &t.Model }),
			yamlfile.Member("opaque", "Opaque provider data of the message.", yamlfile.JSONCodec, func(t *Response) *json.RawMessage { return &t.Opaque }),
			yamlfile.Member("omit_finish", "Omits the finish.", yamlfile.BoolCodec, func(t *Response) *bool { return &t.OmitFinish }),
			yamlfile.Member("error", "The error that ends the response.", yamlfile.PointerTo(failureCodec()), func(t *Response) **Failure { return &t.Error }),
			yamlfile.Member("stall", "Blocks after the events until the context ends.", yamlfile.BoolCodec, func(t *Response) *bool { return &t.Stall }),
		},
	)
}

// contentFields returns the fields that events replace.
func contentFields() []yamlfile.Field[Response] {
	return slices.Concat(
		yamlfile.BytesFields("reasoning", "The reasoning.", yamlfile.TextCodec, func(t *Response) *string { return &t.Reasoning }),
		[]yamlfile.Field[Response]{yamlfile.Member("reasoning_opaque", "Opaque provider data of the reasoning.", yamlfile.JSONCodec, func(t *Response) *json.RawMessage { return &t.ReasoningOpaque })},
		yamlfile.BytesFields("text", "The text.", yamlfile.TextCodec, func(t *Response) *string { return &t.Text }),
		[]yamlfile.Field[Response]{
			yamlfile.Member("chunks", "The text in given chunks.", yamlfile.ListOf("strings", yamlfile.TextCodec), func(t *Response) *[]string { return &t.Chunks }),
			yamlfile.Member("text_opaque", "Opaque provider data of the text.", yamlfile.JSONCodec, func(t *Response) *json.RawMessage { return &t.TextOpaque }),
			yamlfile.Member("refusal", "Whether the text is a refusal.", yamlfile.BoolCodec, func(t *Response) *bool { return &t.Refusal }),
			yamlfile.Member("calls", "The tool calls.", yamlfile.ListOf("calls", callCodec()), func(t *Response) *[]Call { return &t.Calls }),
		},
	)
}

func checkResponse(r *yamlfile.Reader, n *yaml.Node, t *Response) {
	if t.Chunks != nil {
		yamlfile.Exclude(r, n, "chunks", []string{"text", "text_b64"})
	}
	if t.Events != nil {
		yamlfile.Exclude(r, n, "events", yamlfile.KeysOf(contentFields()))
	}
}

func callCodec() yamlfile.Codec[Call] {
	return yamlfile.Object("call", "a call", slices.Concat(
		[]yamlfile.Field[Call]{
			yamlfile.Member("id", "The id of the call; may be missing.", yamlfile.TextCodec, func(c *Call) *string { return &c.ID }),
			yamlfile.Member("name", "The tool's name.", yamlfile.TextCodec, func(c *Call) *string { return &c.Name }),
		},
		yamlfile.BytesFields("arguments", "The arguments: a string, or a map.", yamlfile.ArgumentsCodec, func(c *Call) *string { return &c.Arguments }),
		[]yamlfile.Field[Call]{
			yamlfile.Member("chunks", "The arguments in given chunks.", yamlfile.ListOf("strings", yamlfile.TextCodec), func(c *Call) *[]string { return &c.Chunks }),
			yamlfile.Member("index", "The index of the call; by default its position in the response, from 1.", yamlfile.CountCodec, func(c *Call) *int { return &c.Index }),
			yamlfile.Member("omit_index", "Omits the index.", yamlfile.BoolCodec, func(c *Call) *bool { return &c.OmitIndex }),
			yamlfile.Member("single_chunk", "Sends the call in a single chunk.", yamlfile.BoolCodec, func(c *Call) *bool { return &c.SingleChunk }),
			yamlfile.Member("omit_end", "Omits the end of the call.", yamlfile.BoolCodec, func(c *Call) *bool { return &c.OmitEnd }),
			yamlfile.Member("provider_executed", "Whether the provider ran the tool.", yamlfile.BoolCodec, func(c *Call) *bool { return &c.ProviderExecuted }),
			yamlfile.Member("opaque", "Opaque provider data of the call.", yamlfile.JSONCodec, func(c *Call) *json.RawMessage { return &c.Opaque }),
		},
	), func(r *yamlfile.Reader, n *yaml.Node, c *Call) {
		if c.Chunks != nil {
			yamlfile.Exclude(r, n, "chunks", []string{"arguments", "arguments_b64"})
		}
	})
}

var finishCodec = yamlfile.OneOf("finish reason", llm.FinishStop, llm.FinishToolCalls, llm.FinishLength, llm.FinishContentFilter,
	llm.FinishRefusal, llm.FinishPause, llm.FinishMalformedCall, llm.FinishError, llm.FinishUnknown)

var roleCodec = yamlfile.OneOf("role", llm.RoleSystem, llm.RoleUser, llm.RoleAssistant, llm.RoleTool)

func warningCodec() yamlfile.Codec[llm.Warning] {
	return yamlfile.Object("warning", "a warning", []yamlfile.Field[llm.Warning]{
		yamlfile.Member("code", "The code.", yamlfile.TextCodec, func(w *llm.Warning) *string { return &w.Code }),
		yamlfile.Member("message", "The anomaly.", yamlfile.TextCodec, func(w *llm.Warning) *string { return &w.Message }),
	}, nil)
}

func usageCodec() yamlfile.Codec[llm.Usage] {
	return yamlfile.Object("usage", "a usage", []yamlfile.Field[llm.Usage]{
		yamlfile.Member("input_tokens", "All input tokens.", yamlfile.TokenCodec, func(u *llm.Usage) *int64 { return &u.InputTokens }),
		yamlfile.Member("output_tokens", "All output tokens.", yamlfile.TokenCodec, func(u *llm.Usage) *int64 { return &u.OutputTokens }),
		yamlfile.Member("cache_read_input_tokens", "Input tokens read from a cache.", yamlfile.TokenCodec, func(u *llm.Usage) *int64 { return &u.CacheReadInputTokens }),
		yamlfile.Member("cache_creation_input_tokens", "Input tokens written to a cache.", yamlfile.TokenCodec, func(u *llm.Usage) *int64 { return &u.CacheCreationInputTokens }),
		yamlfile.Member("reasoning_output_tokens", "Output tokens for reasoning.", yamlfile.TokenCodec, func(u *llm.Usage) *int64 { return &u.ReasoningOutputTokens }),
	}, nil)
}

func failureCodec() yamlfile.Codec[Failure] {
	return yamlfile.Object("error", "an error", []yamlfile.Field[Failure]{
		yamlfile.Member("status", "The HTTP status.", yamlfile.CountCodec, func(f *Failure) *int { return &f.Status }),
		yamlfile.Member("code", "The error code of the provider.", yamlfile.TextCodec, func(f *Failure) *string { return &f.Code }),
		yamlfile.Member("message", "The error message of the provider.", yamlfile.TextCodec, func(f *Failure) *string { return &f.Message }),
		yamlfile.Member("request_id", "The id of the request.", yamlfile.TextCodec, func(f *Failure) *string { return &f.RequestID }),
		yamlfile.Member("retry_after", "The delay that the provider requests.", yamlfile.DurationCodec, func(f *Failure) *time.Duration { return &f.RetryAfter }),
		yamlfile.Member("retryable", "Whether the loop may retry; by default, the status decides.", yamlfile.PointerTo(yamlfile.BoolCodec), func(f *Failure) **bool { return &f.Retryable }),
		yamlfile.Member("connection", "How the connection is interrupted.", yamlfile.OneOf("interruption of the connection", ConnectionReset, ConnectionClosed), func(f *Failure) *string { return &f.Connection }),
		yamlfile.Member("after", "The number of events before the error; by default all.", yamlfile.CountCodec, func(f *Failure) *int { return &f.After }),
	}, nil)
}

func expectCodec() yamlfile.Codec[Expect] {
	texts := yamlfile.ListOf("strings", yamlfile.TextCodec)
	return yamlfile.Object("expect", "an expectation", []yamlfile.Field[Expect]{
		yamlfile.Member("messages", "The number of messages.", yamlfile.CountCodec, func(e *Expect) *int { return &e.Messages }),
		yamlfile.Member("role", "The role of the last message.", roleCodec, func(e *Expect) *llm.Role { return &e.Role }),
		yamlfile.Member("text", "Strings in the text of the last message.", texts, func(e *Expect) *[]string { return &e.Text }),
		yamlfile.Member("results", "The results in the last message, in order.", yamlfile.ListOf("results", expectResultCodec()), func(e *Expect) *[]ExpectResult { return &e.Results }),
		yamlfile.Member("system", "Strings in the system prompt.", texts, func(e *Expect) *[]string { return &e.System }),
		yamlfile.Member("tools", "The names of the tools, in order.", yamlfile.ListOf("names", yamlfile.TextCodec), func(e *Expect) *[]string { return &e.Tools }),
		yamlfile.Member("tool_choice", "auto, required, none or tool:NAME.", yamlfile.TextCodec, func(e *Expect) *string { return &e.ToolChoice }),
		yamlfile.Member("request", "A part of the request as JSON.", membersCodec("request"), func(e *Expect) *json.RawMessage { return &e.Request }),
	}, nil)
}

func expectResultCodec() yamlfile.Codec[ExpectResult] {
	return yamlfile.Object("expect_result", "an expected result", []yamlfile.Field[ExpectResult]{
		yamlfile.Member("id", "The id of the call.", yamlfile.TextCodec, func(e *ExpectResult) *string { return &e.ID }),
		yamlfile.Member("text", "A string in the text of the result.", yamlfile.TextCodec, func(e *ExpectResult) *string { return &e.Text }),
		yamlfile.Member("is_error", "Whether the result is an error; not compared if the protocol has no error flag (OpenAI).", yamlfile.PointerTo(yamlfile.BoolCodec), func(e *ExpectResult) **bool { return &e.IsError }),
	}, nil)
}
