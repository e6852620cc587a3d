package fake_test

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"pgregory.net/rapid"
)

func raw(s string) json.RawMessage { return json.RawMessage(s) }

func TestStreamingEvents(t *testing.T) {
	usage := llm.Usage{InputTokens: 3, OutputTokens: 4}
	stop := llm.Finish{Reason: llm.FinishStop}
	calls := llm.Finish{Reason: llm.FinishToolCalls}
	for _, c := range []struct {
		name string
		turn fake.Response
		want []llm.Event
	}{
		{"empty", fake.Response{}, []llm.Event{stop}},
		{"all", fake.Response{
			Text: "hi", Reasoning: "hm", Calls: []fake.Call{{ID: "a", Name: "f", Arguments: "{}"}}, Usage: usage,
			Warnings: []llm.Warning{{Code: "w", Message: "m"}},
		}, []llm.Event{
			llm.ReasoningDelta{Text: "hm"}, llm.TextDelta{Text: "hi"},
			llm.ToolCallStart{Index: 1, ID: "a", Name: "f"}, llm.ToolCallDelta{Index: 1, ID: "a", Arguments: "{}"}, llm.ToolCallEnd{Index: 1, ID: "a"},
			llm.Warning{Code: "w", Message: "m"}, usage, calls,
		}},
		{"finish", fake.Response{
			Text: "x", FinishReason: llm.FinishLength, RawFinishReason: "max", FinishMessage: "m", ResponseID: "r", Model: "mo", Opaque: raw("1"),
		}, []llm.Event{
			llm.TextDelta{Text: "x"}, llm.Finish{Reason: llm.FinishLength, Raw: "max", Message: "m", ResponseID: "r", Model: "mo", Opaque: raw("1")},
		}},
		{"stop with calls", fake.Response{Calls: []fake.Call{{SingleChunk: true}}, FinishReason: llm.FinishStop}, []llm.Event{llm.PartDone{Part: llm.ToolCall{}}, stop}},
		{"no finish", fake.Response{Text: "x", OmitFinish: true}, []llm.Event{llm.TextDelta{Text: "x"}}},
		{"stall", fake.Response{Text: "x", Stall: true}, []llm.Event{llm.TextDelta{Text: "x"}}},
		{"err", fake.Response{Text: "x", Err: io.EOF}, []llm.Event{llm.TextDelta{Text: "x"}}},
		{"error", fake.Response{Text: "x", Usage: usage, Error: &fake.Failure{}}, []llm.Event{llm.TextDelta{Text: "x"}, usage}},
		{"error after 1", fake.Response{Chunks: []string{"x", "y"}, Error: &fake.Failure{After: 1}}, []llm.Event{llm.TextDelta{Text: "x"}}},
		{"error after 2", fake.Response{Chunks: []string{"x", "y"}, Error: &fake.Failure{After: 2}}, []llm.Event{llm.TextDelta{Text: "x"}, llm.TextDelta{Text: "y"}}},
		{"error after 3", fake.Response{Chunks: []string{"x", "y"}, Error: &fake.Failure{After: 3}}, []llm.Event{llm.TextDelta{Text: "x"}, llm.TextDelta{Text: "y"}}},
		{"events", fake.Response{Text: "not sent", Events: []llm.Event{llm.TextDelta{Text: "raw"}}, Usage: usage}, []llm.Event{llm.TextDelta{Text: "raw"}, usage, stop}},
		{"events with a call", fake.Response{Events: []llm.Event{llm.ToolCallStart{ID: "x"}}}, []llm.Event{llm.ToolCallStart{ID: "x"}, calls}},
		{"events with a finish", fake.Response{Events: []llm.Event{llm.Finish{Raw: "x"}}, FinishReason: llm.FinishStop}, []llm.Event{llm.Finish{Raw: "x"}}},
		{"refusal", fake.Response{Text: "no", Refusal: true}, []llm.Event{llm.TextDelta{Text: "no", Refusal: true}, stop}},
		{"chunks", fake.Response{Reasoning: "abcd", ReasoningOpaque: raw("1"), Text: "abcde", TextOpaque: raw("2"), ChunkSize: 2}, []llm.Event{
			llm.ReasoningDelta{Text: "ab"}, llm.ReasoningDelta{Text: "cd", Opaque: raw("1")},
			llm.TextDelta{Text: "ab"}, llm.TextDelta{Text: "cd"}, llm.TextDelta{Text: "e", Opaque: raw("2")}, stop,
		}},
		{"opaque alone", fake.Response{ReasoningOpaque: raw("1"), TextOpaque: raw("2")}, []llm.Event{
			llm.ReasoningDelta{Opaque: raw("1")}, llm.TextDelta{Opaque: raw("2")}, stop,
		}},
		{"pieces", fake.Response{Chunks: []string{"abc", "", "d"}, ChunkSize: 1}, []llm.Event{
			llm.TextDelta{Text: "abc"}, llm.TextDelta{}, llm.TextDelta{Text: "d"}, stop,
		}},
		{"characters stay whole", fake.Response{Text: "aäöb€", ChunkSize: 2}, []llm.Event{
			llm.TextDelta{Text: "a"}, llm.TextDelta{Text: "ä"}, llm.TextDelta{Text: "ö"}, llm.TextDelta{Text: "b"}, llm.TextDelta{Text: "€"}, stop,
		}},
		{"call in chunks", fake.Response{ChunkSize: 1, Calls: []fake.Call{{Name: "f", Arguments: "{}", Opaque: raw("1"), OmitEnd: true}, {Chunks: []string{"{", ""}}}}, []llm.Event{
			llm.ToolCallStart{Index: 1, Name: "f", Opaque: raw("1")}, llm.ToolCallDelta{Index: 1, Arguments: "{"}, llm.ToolCallDelta{Index: 1, Arguments: "}"},
			llm.ToolCallStart{Index: 2}, llm.ToolCallDelta{Index: 2, Arguments: "{"}, llm.ToolCallDelta{Index: 2}, llm.ToolCallEnd{Index: 2}, calls,
		}},
		{"indexes", fake.Response{Calls: []fake.Call{{Index: 7}, {OmitIndex: true, Index: 3}}}, []llm.Event{
			llm.ToolCallStart{Index: 7}, llm.ToolCallEnd{Index: 7}, llm.ToolCallStart{}, llm.ToolCallEnd{}, calls,
		}},
		{"whole", fake.Response{ChunkSize: 1, Calls: []fake.Call{{ID: "a", Name: "f", Chunks: []string{"{", "}"}, SingleChunk: true, Opaque: raw("1")}}}, []llm.Event{
			llm.PartDone{Part: llm.ToolCall{ID: "a", Name: "f", Arguments: "{}", Opaque: raw("1")}}, calls,
		}},
		{"provider executed", fake.Response{Calls: []fake.Call{{ID: "a", Arguments: "{}", ProviderExecuted: true}}}, []llm.Event{
			llm.PartDone{Part: llm.ToolCall{ID: "a", Arguments: "{}", ProviderExecuted: true}}, stop,
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, c.turn.StreamingEvents()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestNonStreamingEvents(t *testing.T) {
	turn := fake.Response{ChunkSize: 1, Events: []llm.Event{
		llm.Usage{InputTokens: 1},
		llm.TextDelta{Text: "a"}, llm.TextDelta{Text: "b"},
		llm.ToolCallStart{ID: "x", Name: "f"}, llm.ToolCallDelta{Arguments: "{"}, llm.ToolCallDelta{Arguments: "}"},
		llm.Warning{Code: "w"}, llm.ReasoningDelta{Text: "r"},
		llm.Unknown{Kind: "new", Raw: raw(`{"type":"new"}`)},
		llm.PartDone{Part: llm.Media{URL: "u"}},
		llm.Usage{OutputTokens: 2},
	}}
	want := []llm.Event{
		llm.PartDone{Part: llm.Text{Text: "ab"}}, llm.PartDone{Part: llm.ToolCall{ID: "x", Name: "f", Arguments: "{}"}},
		llm.PartDone{Part: llm.Reasoning{Text: "r"}}, llm.PartDone{Part: llm.Media{URL: "u"}},
		llm.Usage{InputTokens: 1}, llm.Warning{Code: "w"}, llm.Unknown{Kind: "new", Raw: raw(`{"type":"new"}`)}, llm.Usage{OutputTokens: 2},
		llm.Finish{Reason: llm.FinishToolCalls},
	}
	if diff := cmp.Diff(want, turn.NonStreamingEvents()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// The streaming and the non-streaming events of a response have the same content.
func TestResponseModesAgree(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		turn := drawTurn(r)
		whole := turn
		whole.ChunkSize = 0
		streamed, buffered, cut := assemble(turn.StreamingEvents()), assemble(turn.NonStreamingEvents()), assemble(whole.StreamingEvents())
		for _, x := range []*llm.Response{streamed, buffered, cut} {
			x.Warnings = nil // a missing end is only missed where there are ends
			x.Parts = append([]llm.Part{}, x.Parts...)
		}
		if diff := cmp.Diff(streamed, buffered); diff != "" {
			r.Errorf("non-streaming (-streaming +non-streaming):\n%s", diff)
		}
		if turn.Error == nil || turn.Error.After == 0 {
			if diff := cmp.Diff(streamed, cut); diff != "" {
				r.Errorf("chunking (-chunked +whole):\n%s", diff)
			}
		}
	})
}

func assemble(events []llm.Event) *llm.Response {
	var acc llm.Accumulator
	for _, ev := range events {
		acc.Add(ev)
	}
	return acc.Response()
}

func TestFailure(t *testing.T) {
	for _, c := range []struct {
		f    fake.Failure
		want llm.APIError
	}{
		{fake.Failure{}, llm.APIError{}},
		{fake.Failure{Status: 400, Code: "c", Message: "m", RequestID: "r", RetryAfter: 5}, llm.APIError{Status: 400, Code: "c", Message: "m", RequestID: "r", RetryAfter: 5}},
		{fake.Failure{Status: 429}, llm.APIError{Status: 429, Retryable: true}},
		{fake.Failure{Status: 408}, llm.APIError{Status: 408, Retryable: true}},
		{fake.Failure{Status: 409}, llm.APIError{Status: 409, Retryable: true}},
		{fake.Failure{Status: 499}, llm.APIError{Status: 499}},
		{fake.Failure{Status: 500}, llm.APIError{Status: 500, Retryable: true}},
		{fake.Failure{Status: 529, Retryable: new(false)}, llm.APIError{Status: 529}},
		{fake.Failure{Status: 401, Retryable: new(true)}, llm.APIError{Status: 401, Retryable: true}},
	} {
		c.want.Provider = "fake"
		if diff := cmp.Diff(&c.want, c.f.APIError()); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", c.f, diff)
		}
	}
	e := (&fake.Failure{Connection: fake.ConnectionReset}).APIError()
	if !e.Retryable || !strings.Contains(e.Error(), "connection reset") {
		t.Errorf("reset: got %+v", e)
	}
	e = (&fake.Failure{Connection: fake.ConnectionClosed, Retryable: new(false)}).APIError()
	if e.Retryable || !errors.Is(e, io.ErrUnexpectedEOF) {
		t.Errorf("closed: got %+v", e)
	}
}

// The failure of an error has the same error.
func TestFailureOf(t *testing.T) {
	if f := fake.FailureOf(nil); f != nil {
		t.Errorf("of nil came %+v", f)
	}
	for _, beneath := range []error{nil, io.ErrUnexpectedEOF, syscall.ECONNRESET} {
		want := &llm.APIError{Provider: "fake", Status: 429, Code: "c", Message: "m", RequestID: "r", RetryAfter: time.Second, Err: beneath}
		for _, want.Retryable = range []bool{false, true} {
			got := fake.FailureOf(want).APIError()
			if beneath != nil && (got.Err == nil || errors.Is(got.Err, io.ErrUnexpectedEOF) != errors.Is(beneath, io.ErrUnexpectedEOF)) {
				t.Errorf("beneath is %v, want %v", got.Err, beneath)
			}
			got.Err = beneath
			if diff := cmp.Diff(*want, *got, cmpopts.EquateErrors()); diff != "" {
				t.Errorf("the error (-want +got):\n%s", diff)
			}
		}
	}
}
