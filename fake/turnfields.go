package fake

import (
	"encoding/json"
	"slices"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/looptape/looptape/llm"
)

func turnCodec() codec[Response] {
	expect := member("expect", "What the request must be like.", pointerTo(expectCodec()), func(t *Response) **Expect { return &t.Expect })
	attempt := object("attempt", "an attempt", append(answerFields(), expect), checkAnswer)
	return object("turn", "a turn", slices.Concat([]field[Response]{
		member("repeat", "So many turns like this one; {n} in its texts and calls stands for the number, from 1.", repeatCodec, func(t *Response) *int { return &t.Repeat }),
		expect,
		member("attempts", "What the first, the second … try is answered with.", listOf("attempts", attempt), func(t *Response) *[]Response { return &t.Attempts }),
	}, answerFields()), func(r *reader, n *yaml.Node, t *Response) {
		checkAnswer(r, n, t)
		if t.Attempts != nil {
			exclude(r, n, "attempts", keysOf(answerFields()))
		}
	})
}

// answerFields are those of an answer itself.
func answerFields() []field[Response] {
	return slices.Concat(
		[]field[Response]{
			member("delay", "The virtual time before the first event.", durationCodec, func(t *Response) *time.Duration { return &t.Delay }),
			member("gate", "The gate before the first event.", textCodec, func(t *Response) *string { return &t.Gate }),
			member("pace", "The virtual time between events.", durationCodec, func(t *Response) *time.Duration { return &t.EventInterval }),
		},
		saidFields(),
		[]field[Response]{
			member("events", "The events as they are sent, in place of reasoning, text and calls.", listOf("events", eventCodec), func(t *Response) *[]llm.Event { return &t.Events }),
			member("chunk", "Cuts reasoning, text and arguments into pieces of so many bytes.", countCodec, func(t *Response) *int { return &t.ChunkSize }),
			member("warnings", "Warnings of the adapter.", listOf("warnings", warningCodec()), func(t *Response) *[]llm.Warning { return &t.Warnings }),
			member("usage", "The tokens of this turn.", usageCodec(), func(t *Response) *llm.Usage { return &t.Usage }),
			member("finish", "The finish reason; by default tool_calls or stop, as there are calls or none.", finishCodec, func(t *Response) *llm.FinishReason { return &t.FinishReason }),
			member("raw_finish", "The provider's own word for it.", textCodec, func(t *Response) *string { return &t.RawFinishReason }),
			member("finish_message", "The provider's explanation.", textCodec, func(t *Response) *string { return &t.FinishMessage }),
			member("response_id", "What the provider calls the answer.", textCodec, func(t *Response) *string { return &t.ResponseID }),
			member("model", "What the model calls itself.", textCodec, func(t *Response) *string { return &t.Model }),
			member("opaque", "Private data of the provider, on the message.", jsonCodec, func(t *Response) *json.RawMessage { return &t.Opaque }),
			member("no_finish", "Leaves the finish out.", boolCodec, func(t *Response) *bool { return &t.OmitFinish }),
			member("error", "Ends the answer with an error.", pointerTo(failureCodec()), func(t *Response) **Failure { return &t.Error }),
			member("stall", "Never ends: waits until it is cancelled.", boolCodec, func(t *Response) *bool { return &t.Stall }),
		},
	)
}

// saidFields are what events stand in place of.
func saidFields() []field[Response] {
	return slices.Concat(
		raw("reasoning", "What the model thinks.", textCodec, func(t *Response) *string { return &t.Reasoning }),
		[]field[Response]{member("reasoning_opaque", "Private data of the provider, on the reasoning.", jsonCodec, func(t *Response) *json.RawMessage { return &t.ReasoningOpaque })},
		raw("text", "What the model says.", textCodec, func(t *Response) *string { return &t.Text }),
		[]field[Response]{
			member("pieces", "The same, cut as it is.", listOf("texts", textCodec), func(t *Response) *[]string { return &t.Chunks }),
			member("text_opaque", "Private data of the provider, on the text.", jsonCodec, func(t *Response) *json.RawMessage { return &t.TextOpaque }),
			member("refusal", "The text is a refusal.", boolCodec, func(t *Response) *bool { return &t.Refusal }),
			member("calls", "The tool calls.", listOf("calls", callCodec()), func(t *Response) *[]Call { return &t.Calls }),
		},
	)
}

func checkAnswer(r *reader, n *yaml.Node, t *Response) {
	if t.Chunks != nil {
		exclude(r, n, "pieces", []string{"text", "text_b64"})
	}
	if t.Events != nil {
		exclude(r, n, "events", keysOf(saidFields()))
	}
}

func keysOf[T any](fields []field[T]) []string {
	out := make([]string, len(fields))
	for i, f := range fields {
		out[i] = f.key
	}
	return out
}

// exclude reports the keys that can not stand beside key.
func exclude(r *reader, n *yaml.Node, key string, others []string) {
	for i := 0; i < len(n.Content); i += 2 {
		if k := n.Content[i]; slices.Contains(others, k.Value) {
			r.errorf(k, "%s and %s exclude each other; keep one", key, k.Value)
		}
	}
}

func callCodec() codec[Call] {
	return object("call", "a call", slices.Concat(
		[]field[Call]{
			member("id", "The provider's id, as it is sent; may be missing.", textCodec, func(c *Call) *string { return &c.ID }),
			member("name", "The tool's name.", textCodec, func(c *Call) *string { return &c.Name }),
		},
		raw("args", "The arguments: a text as it is sent, or a map.", argsCodec, func(c *Call) *string { return &c.Arguments }),
		[]field[Call]{
			member("pieces", "The arguments, cut as they are sent.", listOf("texts", textCodec), func(c *Call) *[]string { return &c.Chunks }),
			member("index", "The index, if it is not the place in the turn, from 1.", countCodec, func(c *Call) *int { return &c.Index }),
			member("no_index", "Sends no index.", boolCodec, func(c *Call) *bool { return &c.OmitIndex }),
			member("whole", "Sends the call in one piece.", boolCodec, func(c *Call) *bool { return &c.SingleChunk }),
			member("no_end", "Leaves the call's end out.", boolCodec, func(c *Call) *bool { return &c.OmitEnd }),
			member("provider_executed", "The provider ran it itself.", boolCodec, func(c *Call) *bool { return &c.ProviderExecuted }),
			member("opaque", "Private data of the provider, on the call.", jsonCodec, func(c *Call) *json.RawMessage { return &c.Opaque }),
		},
	), func(r *reader, n *yaml.Node, c *Call) {
		if c.Chunks != nil {
			exclude(r, n, "pieces", []string{"args", "args_b64"})
		}
	})
}

var finishCodec = oneOf("finish reason", llm.FinishStop, llm.FinishToolCalls, llm.FinishLength, llm.FinishContentFilter,
	llm.FinishRefusal, llm.FinishPause, llm.FinishMalformedCall, llm.FinishError, llm.FinishUnknown)

var roleCodec = oneOf("role", llm.RoleSystem, llm.RoleUser, llm.RoleAssistant, llm.RoleTool)

func warningCodec() codec[llm.Warning] {
	return object("warning", "a warning", []field[llm.Warning]{
		member("code", "A short fixed name.", textCodec, func(w *llm.Warning) *string { return &w.Code }),
		member("message", "What is odd.", textCodec, func(w *llm.Warning) *string { return &w.Message }),
	}, nil)
}

func usageCodec() codec[llm.Usage] {
	return object("usage", "a usage", []field[llm.Usage]{
		member("input", "All input tokens.", tokenCodec, func(u *llm.Usage) *int64 { return &u.InputTokens }),
		member("output", "All output tokens.", tokenCodec, func(u *llm.Usage) *int64 { return &u.OutputTokens }),
		member("cached", "Input tokens read from a cache.", tokenCodec, func(u *llm.Usage) *int64 { return &u.CacheReadInputTokens }),
		member("cache_write", "Input tokens written to a cache.", tokenCodec, func(u *llm.Usage) *int64 { return &u.CacheCreationInputTokens }),
		member("reasoning", "Output tokens spent on reasoning.", tokenCodec, func(u *llm.Usage) *int64 { return &u.ReasoningOutputTokens }),
	}, nil)
}

func failureCodec() codec[Failure] {
	return object("error", "an error", []field[Failure]{
		member("status", "The HTTP status.", countCodec, func(f *Failure) *int { return &f.Status }),
		member("code", "The provider's code.", textCodec, func(f *Failure) *string { return &f.Code }),
		member("message", "The provider's words.", textCodec, func(f *Failure) *string { return &f.Message }),
		member("request_id", "The provider's name for the request.", textCodec, func(f *Failure) *string { return &f.RequestID }),
		member("retry_after", "How long the provider asks to wait.", durationCodec, func(f *Failure) *time.Duration { return &f.RetryAfter }),
		member("retryable", "Whether trying again may help; by default as the status says.", pointerTo(boolCodec), func(f *Failure) **bool { return &f.Retryable }),
		member("connection", "How the connection breaks.", oneOf("way in which a connection breaks", ConnectionReset, ConnectionClosed), func(f *Failure) *string { return &f.Connection }),
		member("after", "How many events come before; by default all.", countCodec, func(f *Failure) *int { return &f.After }),
	}, nil)
}

func expectCodec() codec[Expect] {
	texts := listOf("texts", textCodec)
	return object("expect", "an expectation", []field[Expect]{
		member("messages", "How many messages there are.", countCodec, func(e *Expect) *int { return &e.Messages }),
		member("role", "The last message's role.", roleCodec, func(e *Expect) *llm.Role { return &e.Role }),
		member("text", "Each is in the last message's text.", texts, func(e *Expect) *[]string { return &e.Text }),
		member("results", "The results in the last message, in order.", listOf("results", expectResultCodec()), func(e *Expect) *[]ExpectResult { return &e.Results }),
		member("system", "Each is in the system prompt.", texts, func(e *Expect) *[]string { return &e.System }),
		member("tools", "The names of the tools that are offered.", listOf("names", textCodec), func(e *Expect) *[]string { return &e.Tools }),
		member("tool_choice", "auto, required, none or tool:NAME.", textCodec, func(e *Expect) *string { return &e.ToolChoice }),
		member("request", "A part of the request's JSON.", jsonCodec, func(e *Expect) *json.RawMessage { return &e.Request }),
	}, nil)
}

func expectResultCodec() codec[ExpectResult] {
	return object("expect_result", "an expected result", []field[ExpectResult]{
		member("id", "The id of the call.", textCodec, func(e *ExpectResult) *string { return &e.ID }),
		member("text", "Is in the result's text.", textCodec, func(e *ExpectResult) *string { return &e.Text }),
		member("is_error", "Whether the result is an error; not looked at where OpenAI's protocols are served, which do not say.", pointerTo(boolCodec), func(e *ExpectResult) **bool { return &e.IsError }),
	}, nil)
}
