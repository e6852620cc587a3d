package chat_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/openai/chat"
)

// What is drawn is in the form that reading gives, so that it comes back as it is.

var chatWords = rapid.OneOf(rapid.StringN(1, 20, -1), rapid.SampledFrom([]string{"é", "\u2028", "\"\\\n", "</p>", "\x00", "data: x", "[DONE]", `\ud83d`}))

func chatDrawText(r *rapid.T) llm.Part { return llm.Text{Text: chatWords.Draw(r, "text")} }

func chatDrawOpaque(r *rapid.T) json.RawMessage {
	return rapid.SampledFrom([]json.RawMessage{nil, nil, chatOpaque(`{"cache_control":{"type":"ephemeral"}}`), chatOpaque(`{"chat:x":[1,"a"],"chat:y":{"z":null}}`)}).Draw(r, "opaque")
}

func chatDrawMedia(r *rapid.T) llm.Part {
	data := rapid.SliceOfN(rapid.Byte(), 0, 9).Draw(r, "data")
	switch rapid.IntRange(0, 3).Draw(r, "media") {
	case 0:
		return llm.Media{MediaType: "image/png", Data: data, Opaque: chatDrawOpaque(r)}
	case 1:
		return llm.Media{MediaType: rapid.SampledFrom([]string{"audio/wav", "audio/mpeg"}).Draw(r, "type"), Data: data}
	case 2:
		return llm.Media{MediaType: "application/pdf", Name: chatWords.Draw(r, "name"), Data: data}
	}
	return llm.Media{MediaType: "image/*", URL: "https://example.org/" + chatWords.Draw(r, "url"), Opaque: chatOpaque(`{"image_url":{"detail":"low"}}`)}
}

// chatDrawReasoning draws at most one part for each field.
func chatDrawReasoning(r *rapid.T) llm.Part {
	text := chatWords.Draw(r, "reasoning")
	written, _ := json.Marshal(text)
	return llm.Reasoning{Text: text, Opaque: rapid.SampledFrom([]json.RawMessage{
		chatOpaque(`{"field":"reasoning_content"}`), chatOpaque(`{"field":"reasoning"}`),
		chatOpaque(`{"field":"reasoning","reasoning_details":[{"type":"reasoning.encrypted","data":"d"}]}`),
		chatOpaque(`{"reasoning_details":[{"type":"reasoning.text","text":` + string(written) + `}]}`),
	}).Draw(r, "field")}
}

func chatDrawCalls(r *rapid.T, prefix string) (calls []llm.Part) {
	for i := range rapid.IntRange(0, 3).Draw(r, "calls") {
		calls = append(calls, llm.ToolCall{
			ID: fmt.Sprint(prefix, i), Name: rapid.StringMatching(`[a-zA-Z0-9_-]{1,9}`).Draw(r, "name"),
			Arguments: rapid.OneOf(rapid.Just(`{"a":1}`), rapid.Just(""), rapid.Just(`{"a":"\ufffd \ud83d\ude00"}`), rapid.StringMatching(`[^\\]*`)).Draw(r, "args"), Opaque: chatDrawOpaque(r),
		})
	}
	return calls
}

func chatDrawAssistant(r *rapid.T, prefix string) llm.Message {
	var p []llm.Part
	if rapid.Bool().Draw(r, "reasons") {
		p = append(p, chatDrawReasoning(r))
	}
	for range rapid.IntRange(0, 2).Draw(r, "texts") {
		p = append(p, rapid.Custom(func(r *rapid.T) llm.Part {
			return llm.Text{Text: chatWords.Draw(r, "text"), Refusal: rapid.Bool().Draw(r, "refusal"), Opaque: chatDrawOpaque(r)}
		}).Draw(r, "said"))
	}
	return llm.Message{Role: llm.RoleAssistant, Parts: append(p, chatDrawCalls(r, prefix)...), Opaque: chatDrawOpaque(r)}
}

func chatDrawConversation(r *rapid.T) (messages []llm.Message) {
	for i := range rapid.IntRange(0, 4).Draw(r, "messages") {
		if rapid.Bool().Draw(r, "user") {
			p := rapid.SliceOfN(rapid.Custom(func(r *rapid.T) llm.Part {
				if rapid.Bool().Draw(r, "is media") {
					return chatDrawMedia(r)
				}
				return llm.Text{Text: chatWords.Draw(r, "text"), Opaque: chatDrawOpaque(r)}
			}), 1, 3).Draw(r, "parts")
			messages = append(messages, llm.Message{Role: llm.RoleUser, Parts: p, Opaque: chatDrawOpaque(r)})
			continue
		}
		m := chatDrawAssistant(r, fmt.Sprint("call_", i, "_"))
		if m.Parts == nil && m.Opaque == nil {
			continue // an empty response is not sent
		}
		messages = append(messages, m)
		var results []llm.ToolResult
		for _, c := range m.Calls() {
			results = append(results, llm.ToolResult{ID: c.ID, Name: c.Name, Content: rapid.SliceOfN(rapid.Custom(chatDrawText), 1, 2).Draw(r, "result"), Opaque: chatDrawOpaque(r)})
		}
		if results != nil {
			messages = append(messages, llm.ToolResults(results...))
		}
	}
	return messages
}

func chatDrawRequest(r *rapid.T) *llm.Request {
	req := &llm.Request{
		Model: chatWords.Draw(r, "model"), System: llm.SystemText(rapid.OneOf(rapid.Just(""), chatWords).Draw(r, "system")), Messages: chatDrawConversation(r),
		ResponseMode: rapid.SampledFrom([]llm.ResponseMode{llm.Streaming, llm.NonStreaming}).Draw(r, "delivery"),
	}
	s := &req.Settings
	s.MaxTokens = rapid.IntRange(0, 1000).Draw(r, "max")
	if rapid.Bool().Draw(r, "knobs") {
		s.Temperature, s.TopP, s.Seed = new(rapid.Float64Range(0, 2).Draw(r, "t")), new(rapid.Float64Range(0, 1).Draw(r, "p")), new(rapid.Int64().Draw(r, "seed"))
		s.StopSequences, s.ReasoningEffort = rapid.SliceOfN(chatWords, 1, 3).Draw(r, "stop"), chatWords.Draw(r, "effort")
		s.OutputSchema = rapid.SampledFrom([]json.RawMessage{nil, chatOpaque(`{"type":"object"}`), chatOpaque(`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`)}).Draw(r, "schema")
		req.Extra = map[string]json.RawMessage{"user": chatOpaque(`"u"`)}
	}
	if rapid.Bool().Draw(r, "tools") {
		req.Tools = []llm.Tool{{Name: "f", Description: chatWords.Draw(r, "description"), Parameters: chatOpaque(`{"type":"object","properties":{}}`), Strict: new(rapid.Bool().Draw(r, "strict"))}, {Name: "g"}}
		req.ToolChoice = rapid.SampledFrom([]llm.ToolChoice{{}, {Mode: llm.ChooseRequired}, {Mode: llm.ChooseNone}, {Mode: llm.ChooseTool, Name: "g"}}).Draw(r, "choice")
		s.ParallelToolCalls = rapid.SampledFrom([]*bool{nil, new(true), new(false)}).Draw(r, "parallel")
	}
	return req
}

func TestChatRequestsComeBack(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		req := chatDrawRequest(r)
		chat := chat.Protocol{MaxTokens: rapid.Bool().Draw(r, "max_tokens"), Developer: rapid.Bool().Draw(r, "developer")}
		out, err := chat.EncodeRequest(req)
		if err != nil {
			r.Fatal(err)
		}
		got, err := chat.DecodeRequest(out.Path, out.Body)
		if err != nil {
			r.Fatal(err)
		}
		if diff := cmp.Diff(req, got); diff != "" {
			r.Fatalf("%s\n(-want +got):\n%s", out.Body, diff)
		}
	})
}

// chatDrawAnswer draws a response with at most one reasoning, one text and one refusal.
func chatDrawAnswer(r *rapid.T) *llm.Response {
	t := &llm.Response{ResponseID: chatAnswered.ID, Model: chatAnswered.Model, Usage: llm.Usage{InputTokens: 7, OutputTokens: 5, CacheReadInputTokens: 3, ReasoningOutputTokens: 2}}
	if rapid.Bool().Draw(r, "reasons") {
		t.Parts = append(t.Parts, chatDrawReasoning(r))
	}
	if rapid.Bool().Draw(r, "speaks") {
		t.Parts = append(t.Parts, chatDrawText(r))
	}
	if rapid.Bool().Draw(r, "refuses") {
		t.Parts = append(t.Parts, llm.Text{Text: chatWords.Draw(r, "refusal"), Refusal: true})
	}
	t.Parts = append(t.Parts, chatDrawCalls(r, "call_")...)
	t.FinishReason = rapid.SampledFrom([]llm.FinishReason{llm.FinishStop, llm.FinishToolCalls, llm.FinishLength, llm.FinishContentFilter, llm.FinishUnknown}).Draw(r, "finish")
	if t.FinishReason == llm.FinishUnknown {
		t.RawFinishReason = "new"
	}
	t.Opaque = rapid.SampledFrom([]json.RawMessage{
		nil, chatOpaque(`{"audio":{"id":"a"}}`), chatOpaque(`{"images":[1],"logprobs":{"content":[2]},"chat_answer":{"message":{"x":1},"choice":{"y":2},"response":{"z":3}}}`),
	}).Draw(r, "opaque of the message")
	return t
}

// chatPlayed returns events of a response, its texts in deltas and its calls interleaved.
func chatPlayed(r *rapid.T, t *llm.Response) (events []llm.Event) {
	var starts, pieces, ends []llm.Event
	for _, p := range t.Parts {
		switch p := p.(type) {
		case llm.Text:
			for _, s := range chatPieces(r, p.Text) {
				events = append(events, llm.TextDelta{Text: s, Refusal: p.Refusal})
			}
		case llm.Reasoning:
			for _, s := range chatPieces(r, p.Text) {
				events = append(events, llm.ReasoningDelta{Text: s})
			}
			events = append(events, llm.ReasoningDelta{Opaque: p.Opaque})
		case llm.ToolCall:
			n := len(starts) + 1
			starts = append(starts, llm.ToolCallStart{Index: n, ID: p.ID, Name: p.Name, Opaque: p.Opaque})
			for _, s := range chatPieces(r, p.Arguments) {
				pieces = append(pieces, llm.ToolCallDelta{Index: n, Arguments: s})
			}
			ends = append(ends, llm.ToolCallEnd{Index: n})
		}
	}
	for _, list := range [][]llm.Event{starts, pieces, ends} {
		events = append(events, list...)
	}
	return append(events, t.Usage, llm.Finish{Reason: t.FinishReason, Raw: t.RawFinishReason, Opaque: t.Opaque})
}

func chatPieces(r *rapid.T, text string) []string {
	at := rapid.IntRange(0, len(text)).Draw(r, "cut")
	for at > 0 && !strings.HasPrefix(strings.ToValidUTF8(text[at:], "?"), text[at:]) {
		at--
	}
	return []string{text[:at], text[at:]}
}

func TestChatResponsesComeBack(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		want := chatDrawAnswer(r)
		body, err := chat.Protocol{}.EncodeResponse(nil, chatAnswered, want)
		if err != nil {
			r.Fatal(err)
		}
		got, err := chatAnswer(string(body))
		chatSameTurn(r, string(body), want, got, err)
		// Opaque data of calls is the same in a stream and in a response; details are a single
		// chunk.
		wire := chatStream(chatWritten(r, chatPlayed(r, want)...)...)
		got, err = chatTurn(strings.NewReader(wire))
		chatSameTurn(r, wire, want, got, err)
	})
}

func chatSameTurn(r rapid.TB, wire string, want, got *llm.Response, err error) {
	if err != nil {
		r.Fatalf("%v: %s", err, wire)
	}
	got.Warnings = nil
	if diff := cmp.Diff(want, got); diff != "" {
		r.Fatalf("%s\n(-want +got):\n%s", wire, diff)
	}
}
