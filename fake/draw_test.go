package fake_test

import (
	"encoding/json"
	"time"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"pgregory.net/rapid"
)

// The generators draw anything that a script can say.

func drawText(r *rapid.T, label string) string {
	return rapid.OneOf(rapid.Just(""), rapid.String(), rapid.SampledFrom([]string{
		"~", "yes", "123", "a: b", "- x", "line\nline\n", " space ", "\t", "{n}", "naïve €", "\x00\r", "# no", "'\"", "|", "2001-01-01", "\u2028\ufeff",
	})).Draw(r, label)
}

func drawBytes(r *rapid.T, label string) string {
	return rapid.OneOf(rapid.Just(""), rapid.SampledFrom([]string{`{"a":1}`, "\xff\xfe", "{"}), rapid.String()).Draw(r, label)
}

func drawJSON(r *rapid.T, label string) json.RawMessage {
	v := rapid.SampledFrom([]string{
		"", "null", "1", "1.50", "1e9", "-0", "12345678901234567890123", `"x"`, `"\u00e9\ud83d\ude00\n"`, "true", "[]", "{}", `[1,[2,{"b":1,"a":[]}],"no"]`,
		`{"z":1,"a":{"":null},"1":"~"}`, `"2001-01-01"`, `"<<"`,
	}).Draw(r, label)
	if v == "" {
		return nil
	}
	return json.RawMessage(v)
}

func drawDuration(r *rapid.T, label string) time.Duration {
	return time.Duration(rapid.SampledFrom([]int64{0, 1, 1e6, 30e6, 90e9, 1 << 50}).Draw(r, label))
}

func maybe[T any](r *rapid.T, label string, draw func() T) *T {
	if !rapid.Bool().Draw(r, label) {
		return nil
	}
	v := draw()
	return &v
}

func list[T any](r *rapid.T, label string, draw func() T) []T {
	n := rapid.IntRange(-1, 2).Draw(r, label)
	if n < 0 {
		return nil
	}
	out := make([]T, n)
	for i := range out {
		out[i] = draw()
	}
	return out
}

func flag(r *rapid.T, label string) bool {
	return rapid.SampledFrom([]bool{false, false, true}).Draw(r, label)
}

func drawPieces(r *rapid.T, label string) []string {
	return list(r, label, func() string { return drawText(r, label) })
}

func drawCall(r *rapid.T) fake.Call {
	c := fake.Call{
		ID: drawText(r, "id"), Name: drawText(r, "name"), Index: rapid.IntRange(0, 2).Draw(r, "index"), NoIndex: flag(r, "no_index"),
		Whole: flag(r, "whole"), NoEnd: flag(r, "no_end"), ProviderExecuted: flag(r, "provider_executed"), Opaque: drawJSON(r, "opaque"),
	}
	if c.Args = drawBytes(r, "args"); c.Args == "" {
		c.Pieces = drawPieces(r, "pieces")
	}
	return c
}

func drawEvent(r *rapid.T) llm.Event {
	return rapid.SampledFrom([]llm.Event{
		llm.TextDelta{Text: "a"}, llm.TextDelta{Text: "a\xff", Refusal: true, Opaque: raw(`{"a":1}`)}, llm.ReasoningDelta{Text: "r"}, llm.ReasoningDelta{Opaque: raw("1")},
		llm.ToolCallStart{Index: 1, ID: "a", Name: "f"}, llm.ToolCallStart{}, llm.ToolCallDelta{Index: 1, Args: "{}"}, llm.ToolCallEnd{ID: "a"},
		llm.PartDone{Part: llm.Media{MediaType: "image/png", Data: []byte{1}}}, llm.Usage{Input: 1}, llm.Usage{Cached: 2}, llm.Warning{Code: "c", Message: "m"},
		llm.Finish{Reason: llm.FinishStop, Raw: "x"}, llm.Finish{}, llm.Unknown{Kind: "new", Raw: raw(`{"type":"new","x":[1,{"b":2}]}`)},
	}).Draw(r, "event")
}

func drawTurn(r *rapid.T) fake.Turn {
	t := fake.Turn{
		Delay: drawDuration(r, "delay"), Gate: drawText(r, "gate"), Pace: drawDuration(r, "pace"),
		Chunk: rapid.IntRange(0, 3).Draw(r, "chunk"), NoFinish: flag(r, "no_finish"), Stall: flag(r, "stall"),
		Usage:     llm.Usage{Input: rapid.Int64Range(0, 9).Draw(r, "input"), Reasoning: rapid.Int64Range(0, 9).Draw(r, "reasoning")},
		Finish:    rapid.SampledFrom([]llm.FinishReason{"", llm.FinishStop, llm.FinishLength}).Draw(r, "finish"),
		RawFinish: drawText(r, "raw_finish"), FinishMessage: drawText(r, "finish_message"), ResponseID: drawText(r, "response_id"), Model: drawText(r, "model"),
		Opaque:   drawJSON(r, "opaque"),
		Warnings: list(r, "warnings", func() llm.Warning { return llm.Warning{Code: drawText(r, "code"), Message: drawText(r, "message")} }),
		Expect:   maybe(r, "expect", func() fake.Expect { return drawExpect(r) }),
		Error: maybe(r, "error", func() fake.Failure {
			return fake.Failure{
				Status: rapid.IntRange(0, 599).Draw(r, "status"), Code: drawText(r, "code"), Message: drawText(r, "message"), RequestID: drawText(r, "request_id"),
				RetryAfter: drawDuration(r, "retry_after"), Retryable: maybe(r, "retryable", func() bool { return flag(r, "retryable") }),
				Connection: rapid.SampledFrom([]string{"", fake.ConnectionReset, fake.ConnectionClosed}).Draw(r, "connection"), After: rapid.IntRange(0, 3).Draw(r, "after"),
			}
		}),
	}
	if flag(r, "events") {
		t.Events = list(r, "events", func() llm.Event { return drawEvent(r) })
	}
	if t.Events == nil {
		t.Reasoning, t.ReasoningOpaque = drawBytes(r, "reasoning"), drawJSON(r, "reasoning_opaque")
		t.TextOpaque, t.Refusal = drawJSON(r, "text_opaque"), flag(r, "refusal")
		if t.Text = drawBytes(r, "text"); t.Text == "" {
			t.Pieces = drawPieces(r, "pieces")
		}
		t.Calls = list(r, "calls", func() fake.Call { return drawCall(r) })
	}
	return t
}

func drawExpect(r *rapid.T) fake.Expect {
	return fake.Expect{
		Messages: rapid.IntRange(0, 2).Draw(r, "messages"), Role: rapid.SampledFrom([]llm.Role{"", llm.RoleUser, llm.RoleTool}).Draw(r, "role"),
		Text: drawPieces(r, "text"), System: drawPieces(r, "system"), Tools: drawPieces(r, "tools"),
		ToolChoice: rapid.SampledFrom([]string{"", "auto", "none", "tool:x"}).Draw(r, "tool_choice"), Request: drawJSON(r, "request"),
		Results: list(r, "results", func() fake.ExpectResult {
			return fake.ExpectResult{ID: drawText(r, "id"), Text: drawText(r, "text"), IsError: maybe(r, "is_error", func() bool { return flag(r, "is_error") })}
		}),
	}
}
