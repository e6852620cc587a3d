package gemini_test

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/protocol"
)

// What is drawn below is what comes back as it is: see the package's comment for
// what does not.

var (
	words      = rapid.StringOf(rapid.RuneFrom([]rune("ab <&>\"\\\n\u2028é😀\x00")))
	someWords  = rapid.Custom(func(t *rapid.T) string { return "." + words.Draw(t, "text") })
	toolNames  = rapid.StringMatching(`[a-zA-Z0-9_-]{1,8}`)
	signatures = rapid.Custom(func(t *rapid.T) json.RawMessage {
		if !rapid.Bool().Draw(t, "signed") {
			return nil
		}
		return appendString([]byte(`{"thoughtSignature":`), words.Draw(t, "signature"), '}')
	})
	arguments = rapid.Custom(func(t *rapid.T) string {
		raw, err := json.Marshal(rapid.MapOf(words, rapid.OneOf(words.AsAny(), rapid.Float64Range(-9, 9).AsAny(), rapid.Just[any](nil))).Draw(t, "args"))
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	})
	schemas = rapid.SampledFrom([]json.RawMessage{nil, opaque(`{}`), opaque(`{"type":"object","properties":{"a":{"type":["string","null"]}},"additionalProperties":false}`)})
	images  = rapid.Custom(func(t *rapid.T) llm.Part {
		m := llm.Media{MediaType: rapid.SampledFrom([]string{"image/png", "audio/wav", "application/pdf"}).Draw(t, "kind"), Opaque: signatures.Draw(t, "opaque")}
		if rapid.Bool().Draw(t, "by URL") {
			m.URL = "https://example.com/" + words.Draw(t, "url")
		} else {
			m.Data = rapid.SliceOfN(rapid.Byte(), 1, 5).Draw(t, "data")
		}
		return m
	})
)

func appendString(dst []byte, s string, end byte) json.RawMessage {
	raw, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return append(append(dst, raw...), end)
}

// said draws a part of a model, except calls.
var said = rapid.Custom(func(t *rapid.T) llm.Part {
	switch rapid.IntRange(0, 4).Draw(t, "part") {
	case 0:
		return llm.Text{Text: someWords.Draw(t, "text"), Opaque: signatures.Draw(t, "opaque")}
	case 1:
		return llm.Reasoning{Text: someWords.Draw(t, "text"), Opaque: signatures.Draw(t, "opaque")}
	case 2:
		return llm.ToolCall{Name: "code_execution", Arguments: `{"code":"1"}`, ProviderExecuted: true, Opaque: opaque(`{"executableCode":{"code":"1"}}`)}
	case 3:
		return llm.Unknown{Kind: "gemini_part", Raw: opaque(`{"type":"gemini_part","part":{"codeExecutionResult":{"output":"1"}}}`)}
	}
	return images.Draw(t, "media")
})

// conversations draws messages for this model.
func conversation(t *rapid.T) []llm.Message {
	messages := []llm.Message{llm.User("hi")}
	used := map[string]bool{}
	minted := 0
	for range rapid.IntRange(0, 4).Draw(t, "turns") {
		if rapid.Bool().Draw(t, "user") {
			messages = append(messages, llm.Message{Role: llm.RoleUser, Parts: rapid.SliceOfN(rapid.OneOf(images, rapid.Just[llm.Part](text("x"))), 1, 3).Draw(t, "user parts")})
			continue
		}
		turn := llm.Message{Role: llm.RoleAssistant, Parts: rapid.SliceOfN(said, 1, 3).Draw(t, "said")}
		results := llm.Message{Role: llm.RoleTool}
		for range rapid.IntRange(0, 3).Draw(t, "calls") {
			c := llm.ToolCall{ID: rapid.SampledFrom([]string{"", "a", "b", "c"}).Draw(t, "id"), Name: toolNames.Draw(t, "name"), Arguments: arguments.Draw(t, "args"), Opaque: signatures.Draw(t, "opaque")}
			for given := c.ID; c.ID == "" || used[c.ID]; {
				minted++
				c.ID, c.IDGenerated, c.ProviderID = "loop_call_"+string(rune('0'+minted/10))+string(rune('0'+minted%10)), true, given
				if minted < 10 {
					c.ID = "loop_call_" + string(rune('0'+minted))
				}
			}
			used[c.ID] = true
			turn.Parts = append(turn.Parts, c)
			r := llm.ToolResult{ID: c.ID, Name: c.Name, IsError: rapid.Bool().Draw(t, "failed")}
			if s := words.Draw(t, "result"); s != "" {
				r.Content = append(r.Content, text(s))
			}
			r.Content = append(r.Content, rapid.SliceOfN(images, 0, 2).Draw(t, "images")...)
			results.Parts = append(results.Parts, r)
		}
		messages = append(messages, turn)
		if results.Parts != nil {
			messages = append(messages, results)
		}
	}
	return messages
}

func request(t *rapid.T) *llm.Request {
	r := &llm.Request{
		Model: rapid.SampledFrom([]string{"gemini-2.5-pro", "gemini-3-pro-preview", "tunedModels/x y", "publishers/google/models/m"}).Draw(t, "model"), System: llm.SystemText(words.Draw(t, "system")), Messages: conversation(t),
		ResponseMode: rapid.SampledFrom([]llm.ResponseMode{llm.Streaming, llm.NonStreaming}).Draw(t, "delivery"),
	}
	strict := rapid.Bool().Draw(t, "strict")
	for _, name := range rapid.SliceOfNDistinct(toolNames, 0, 3, rapid.ID).Draw(t, "tools") {
		tool := llm.Tool{Name: name, Description: words.Draw(t, "description"), Parameters: schemas.Draw(t, "schema")}
		if tool.Strict = nil; strict {
			tool.Strict = &strict
		}
		r.Tools = append(r.Tools, tool)
	}
	if len(r.Tools) > 0 && !strict {
		r.ToolChoice.Mode = rapid.SampledFrom([]llm.ToolMode{llm.ChooseAuto, llm.ChooseNone, llm.ChooseRequired, llm.ChooseTool}).Draw(t, "choice")
		if r.ToolChoice.Mode == llm.ChooseTool {
			r.ToolChoice.Name = r.Tools[0].Name
		}
	}
	s := &r.Settings
	s.MaxTokens = int(rapid.Int32Range(0, math.MaxInt32).Draw(t, "max"))
	s.Temperature = rapid.Ptr(rapid.Float64Range(0, 2), true).Draw(t, "temperature")
	s.TopP = rapid.Ptr(rapid.Float64Range(0, 1), true).Draw(t, "top p")
	s.Seed = rapid.Ptr(rapid.Int64Range(math.MinInt32, math.MaxInt32), true).Draw(t, "seed")
	s.StopSequences = rapid.SliceOfN(words, 0, 2).Draw(t, "stop")
	s.ReasoningEffort = rapid.SampledFrom([]string{"", "LOW", "HIGH", "-1", "0", "2048", "01", "1.5"}).Draw(t, "reasoning")
	s.OutputSchema = schemas.Draw(t, "output")
	if rapid.Bool().Draw(t, "extra") {
		r.Extra = map[string]json.RawMessage{"safetySettings": opaque(`[]`), "generationConfig": opaque(`{"topK":1}`), "tools": opaque(`[{"googleSearch":{}}]`)}
	}
	return r
}

func TestRequestsComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := request(t)
		r, err := codec.EncodeRequest(want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := codec.DecodeRequest(r.Path, r.Body)
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" || err != nil {
			t.Fatalf("%v (-want +got):\n%s\n%s", err, diff, r.Body)
		}
		again, err := codec.EncodeRequest(got)
		if err != nil || string(again.Body) != string(r.Body) {
			t.Fatalf("written again, %v:\n%s\n%s", err, r.Body, again.Body)
		}
	})
}

func turn(t *rapid.T) *llm.Response {
	out := &llm.Response{ResponseID: someWords.Draw(t, "id"), Model: someWords.Draw(t, "model"), FinishMessage: words.Draw(t, "message")}
	for range rapid.IntRange(0, 6).Draw(t, "parts") {
		p := said.Draw(t, "part")
		if rapid.Bool().Draw(t, "call") {
			p = llm.ToolCall{ID: words.Draw(t, "id"), Name: someWords.Draw(t, "name"), Arguments: arguments.Draw(t, "args"), Opaque: signatures.Draw(t, "opaque")}
		}
		// Texts in a row would be one.
		if n := len(out.Parts); n == 0 || reflect.TypeOf(out.Parts[n-1]) != reflect.TypeOf(p) {
			out.Parts = append(out.Parts, p)
		}
	}
	out.RawFinishReason = rapid.SampledFrom([]string{"STOP", "MAX_TOKENS", "SAFETY", "MALFORMED_FUNCTION_CALL", "OTHER"}).Draw(t, "finish")
	out.FinishReason = map[string]llm.FinishReason{
		"STOP": llm.FinishStop, "MAX_TOKENS": llm.FinishLength, "SAFETY": llm.FinishContentFilter,
		"MALFORMED_FUNCTION_CALL": llm.FinishMalformedCall, "OTHER": llm.FinishUnknown,
	}[out.RawFinishReason]
	n := rapid.Int64Range(0, 1000)
	out.Usage = llm.Usage{InputTokens: n.Draw(t, "input"), CacheReadInputTokens: n.Draw(t, "cached"), ReasoningOutputTokens: n.Draw(t, "reasoning")}
	out.Usage.OutputTokens = out.Usage.ReasoningOutputTokens + n.Draw(t, "output")
	return out
}

func TestResponsesComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := turn(t)
		body, err := codec.EncodeResponse(nil, answerOf(want), want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := whole(body)
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" || err != nil {
			t.Fatalf("non-streaming: %v (-want +got):\n%s\n%s", err, diff, body)
		}
		streamed, err := write(answerOf(want), drawEvents(t, want))
		if err != nil {
			t.Fatal(err)
		}
		got, _, err = stream(strings.NewReader(streamed))
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" || err != nil {
			t.Fatalf("streaming: %v (-want +got):\n%s\n%s", err, diff, streamed)
		}
	})
}

// drawEvents draws events that make a response: texts and calls in deltas, several open calls, and
// ends anywhere after them.
func drawEvents(t *rapid.T, turn *llm.Response) (out []llm.Event) {
	var ends []llm.Event
	index := 0
	for _, p := range turn.Parts {
		if rapid.Bool().Draw(t, "end calls") {
			out, ends = append(out, ends...), nil
		}
		switch p := p.(type) {
		case llm.Text:
			cut := rapid.IntRange(0, len(p.Text)).Draw(t, "cut")
			for cut < len(p.Text) && p.Text[cut]&0xc0 == 0x80 {
				cut++
			}
			out = append(out, llm.TextDelta{Text: p.Text[:cut]}, llm.TextDelta{Text: p.Text[cut:], Opaque: p.Opaque})
		case llm.Reasoning:
			out = append(out, llm.ReasoningDelta(p))
		case llm.ToolCall:
			if p.ProviderExecuted || rapid.Bool().Draw(t, "whole") {
				out = append(out, llm.PartDone{Part: p})
				continue
			}
			index++
			cut := rapid.IntRange(0, len(p.Arguments)).Draw(t, "cut")
			out = append(out, llm.ToolCallStart{Index: index, ID: p.ID, Name: p.Name}, llm.ToolCallDelta{Index: index, Arguments: p.Arguments[:cut]}, llm.ToolCallDelta{Index: index, Arguments: p.Arguments[cut:]})
			ends = append(ends, llm.ToolCallEnd{Index: index, Opaque: p.Opaque})
		default:
			out = append(out, llm.PartDone{Part: p})
		}
	}
	out = append(out, ends...)
	return append(out, turn.Usage, llm.Finish{Reason: turn.FinishReason, Raw: turn.RawFinishReason, Message: turn.FinishMessage})
}

// Any cut of any stream gives the same.
func TestCutsGiveTheSame(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		want := turn(rt)
		body, err := write(protocol.ResponseMeta{ID: "r"}, drawEvents(rt, want))
		if err != nil {
			rt.Fatal(err)
		}
		if len(body) < 3000 {
			cuts(t, body)
		}
	})
}
