package gemini_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/looptape/looptape/internal/sse"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/protocol"
)

func answerOf(t *llm.Response) protocol.ResponseMeta {
	return protocol.ResponseMeta{ID: t.ResponseID, Model: t.Model, Input: t.Usage.InputTokens}
}

// written is the stream that the encoder makes of events.
func written(t *testing.T, a protocol.ResponseMeta, events []llm.Event) string {
	t.Helper()
	body, err := write(a, events)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func write(a protocol.ResponseMeta, events []llm.Event) (string, error) {
	var out []byte
	to := func(name string, data []byte) { out = sse.Append(out, name, data) }
	enc := codec.NewEncoder(a)
	for _, ev := range events {
		if err := enc.Event(ev, to); err != nil {
			return string(out), err
		}
	}
	err := enc.End(to)
	return string(out), err
}

func start(index int, id, name string) llm.Event {
	return llm.ToolCallStart{Index: index, ID: id, Name: name}
}

func delta(index int, args string) llm.Event { return llm.ToolCallDelta{Index: index, Arguments: args} }

func end(index int) llm.Event { return llm.ToolCallEnd{Index: index} }

var finish = llm.Finish{Reason: llm.FinishStop}

func TestEncoderChunks(t *testing.T) {
	const tail = `,"modelVersion":"m","responseId":"r"}`
	usage := func(in, out string) string {
		return `,"usageMetadata":{"promptTokenCount":` + in + out + `,"promptTokensDetails":[{"modality":"TEXT","tokenCount":` + in + `}]`
	}
	chunk := func(part, usage string) string {
		return `data: {"candidates":[{"content":{"parts":[` + part + `],"role":"model"},"index":0}]` + usage + tail + "\n\n"
	}
	four := usage("4", `,"totalTokenCount":4`) + "}"
	ended := func(usage string) string {
		return `data: {"candidates":[{"content":{"parts":[{"text":""}],"role":"model"},"finishReason":"STOP","index":0}]` + usage + tail + "\n\n"
	}
	for name, c := range map[string]struct {
		events []llm.Event
		want   string
	}{
		"text": {
			[]llm.Event{llm.TextDelta{Text: "<a"}, llm.TextDelta{}, llm.Usage{InputTokens: 5, OutputTokens: 7, ReasoningOutputTokens: 3, CacheReadInputTokens: 2}, llm.ReasoningDelta{Text: "b", Opaque: opaque(`{"thoughtSignature":"s"}`)}, finish, llm.Warning{}, llm.Unknown{}},
			chunk(`{"text":"<a"}`, four) +
				chunk(`{"text":"b","thought":true,"thoughtSignature":"s"}`, usage("5", `,"cachedContentTokenCount":2,"candidatesTokenCount":4,"totalTokenCount":12`)+`,"thoughtsTokenCount":3}`) +
				ended(usage("5", `,"cachedContentTokenCount":2,"candidatesTokenCount":4,"totalTokenCount":12`)+`,"thoughtsTokenCount":3}`),
		},
		"a call in deltas": {
			[]llm.Event{start(1, "i", "2a"), delta(1, `{"x": `), delta(1, `1}`), llm.ToolCallEnd{Index: 1, Opaque: opaque(`{"thoughtSignature":"s"}`)}, llm.TextDelta{Text: "z"}, finish},
			chunk(`{"functionCall":{"id":"i","name":"_2a","args":{"x":1}},"thoughtSignature":"s"}`, four) + chunk(`{"text":"z"}`, four) + ended(four),
		},
		"what waits for a call": {
			[]llm.Event{start(1, "", "a"), start(2, "", "b"), llm.TextDelta{Text: "t"}, llm.ReasoningDelta{Text: "r"}, end(2), llm.PartDone{Part: call("", "c", "")}, end(1), end(1), delta(1, "x"), finish},
			chunk(`{"functionCall":{"name":"a"}}`, four) + chunk(`{"functionCall":{"name":"b"}}`, four) + chunk(`{"text":"t"}`, four) + chunk(`{"text":"r","thought":true}`, four) + chunk(`{"functionCall":{"name":"c"}}`, four) + ended(four),
		},
		"a name that comes late": {
			[]llm.Event{start(1, "", ""), start(2, "", ""), delta(1, `{}`), start(1, "", "a"), end(1), llm.TextDelta{Text: "t"}, start(2, "", "b"), start(2, "", "c"), end(2), end(2), llm.TextDelta{Text: "u"}},
			chunk(`{"functionCall":{"name":"a","args":{}}}`, four) + chunk(`{"functionCall":{"name":"b"}}`, four) + chunk(`{"text":"t"}`, four) + chunk(`{"functionCall":{"name":"c"}}`, four) + chunk(`{"text":"u"}`, four),
		},
		"a name that never comes": {
			[]llm.Event{start(1, "", ""), end(1), start(1, "", "a"), end(1), start(0, "", ""), start(0, "", "b"), end(0), end(0), llm.TextDelta{Text: "u"}},
			chunk(`{"functionCall":{"name":""}}`, four) + chunk(`{"functionCall":{"name":"a"}}`, four) + chunk(`{"functionCall":{"name":""}}`, four) + chunk(`{"functionCall":{"name":"b"}}`, four) + chunk(`{"text":"u"}`, four),
		},
		"a call that does not end": {
			[]llm.Event{start(1, "i", "a"), delta(1, `{"x":1`), finish},
			chunk(`{"functionCall":{"id":"i","name":"a","willContinue":true}}`, four) + ended(four),
		},
		"arguments that are not an object": {
			[]llm.Event{llm.PartDone{Part: call("", "a", "[ 1 ]")}, llm.PartDone{Part: call("", "b", `"x"`)}, llm.PartDone{Part: call("", "c", `{"s":"\ud83d"}`)}},
			chunk(`{"functionCall":{"name":"a","args":[1]}}`, four) + chunk(`{"functionCall":{"name":"b","willContinue":true}}`, four) + chunk(`{"functionCall":{"name":"c","args":{"s":"\ud83d"}}}`, four),
		},
		"an end without content": {
			[]llm.Event{llm.Finish{Reason: llm.FinishLength}, llm.Finish{Message: "long"}, llm.Usage{OutputTokens: 1, CacheCreationInputTokens: 3}},
			`data: {"candidates":[{"finishReason":"MAX_TOKENS","index":0,"finishMessage":"long"}]` + usage("4", `,"candidatesTokenCount":1,"totalTokenCount":5`) + "}" + tail + "\n\n",
		},
		"a second finish": {
			[]llm.Event{llm.Finish{Reason: llm.FinishLength, Message: "long"}, finish},
			`data: {"candidates":[{"content":{"parts":[{"text":""}],"role":"model"},"finishReason":"STOP","index":0,"finishMessage":"long"}]` + four + tail + "\n\n",
		},
		"usage and no finish": {
			[]llm.Event{llm.TextDelta{Text: "a"}, llm.Usage{OutputTokens: 1}},
			chunk(`{"text":"a"}`, four) + `data: {` + usage("4", `,"candidatesTokenCount":1,"totalTokenCount":5`)[1:] + "}" + tail + "\n\n",
		},
		"no finish": {[]llm.Event{llm.TextDelta{Text: "a"}}, chunk(`{"text":"a"}`, four)},
	} {
		got := written(t, protocol.ResponseMeta{ID: "r", Model: "m", Input: 4}, c.events)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestEncoderErrors(t *testing.T) {
	for want, events := range map[string][]llm.Event{
		"the media has neither data nor a URL": {llm.PartDone{Part: llm.Media{}}},
		"a response contains no tool result":   {llm.PartDone{Part: llm.ToolResult{}}},
		"missing part":                         {llm.PartDone{}},
		`the part of the kind "x" is not a JSON object: use the whole object`:  {start(1, "", "a"), llm.PartDone{Part: llm.Unknown{Kind: "x"}}, end(1)},
		`the part of the kind "x" is not a JSON object: use the whole object `: {start(1, "", "a"), llm.PartDone{Part: llm.Unknown{Kind: "x"}}},
		`the call "a" belongs to another provider, which ran it`:               {llm.PartDone{Part: llm.ToolCall{Name: "a", ProviderExecuted: true}}},
		`the call "a" belongs to another provider, which ran it `:              {start(1, "", "a"), llm.PartDone{Part: llm.ToolCall{Name: "a", ProviderExecuted: true}}, finish},
	} {
		if _, err := write(protocol.ResponseMeta{}, events); message(err) != strings.TrimSpace(want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if _, err := codec.EncodeResponse(nil, protocol.ResponseMeta{}, &llm.Response{Parts: []llm.Part{llm.Media{}}}); message(err) != "the media has neither data nor a URL" {
		t.Errorf("got %v", err)
	}
}

func TestEncodeResponse(t *testing.T) {
	turn := &llm.Response{
		Parts: []llm.Part{
			llm.Reasoning{Text: "hm"}, text("a"), text(""),
			llm.ToolCall{ID: "loop_call_1", Name: "f", Arguments: "{}", IDGenerated: true}, llm.ToolCall{ID: "loop_call_2", Name: "f", IDGenerated: true, ProviderID: "x"},
			llm.ToolCall{Name: "code_execution", Arguments: "{}", ProviderExecuted: true, Opaque: opaque(`{"executableCode":{}}`)},
			llm.Media{MediaType: "image/png", Data: []byte{7}, Opaque: opaque(`{"thought":true}`)},
		},
		FinishReason: llm.FinishContentFilter, RawFinishReason: "SPII", FinishMessage: "no",
		Usage: llm.Usage{OutputTokens: 2},
	}
	got, err := codec.EncodeResponse([]byte("x"), protocol.ResponseMeta{ID: "r", Model: "m", Input: 3}, turn)
	want := `x{"candidates":[{"content":{"parts":[{"text":"hm","thought":true},{"text":"a"},{"functionCall":{"name":"f","args":{}}},{"functionCall":{"id":"x","name":"f"}},{"executableCode":{}},` +
		`{"inlineData":{"mimeType":"image/png","data":"Bw=="},"thought":true}],"role":"model"},"finishReason":"SPII","index":0,"finishMessage":"no"}],` +
		`"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":2,"totalTokenCount":5,"promptTokensDetails":[{"modality":"TEXT","tokenCount":3}]},"modelVersion":"m","responseId":"r"}`
	if diff := cmp.Diff(want, string(got)); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	back, err := whole(got[1:])
	turn.ResponseID, turn.Model, turn.Usage.InputTokens = "r", "m", 3
	turn.Parts = append(turn.Parts[:2:2], call("", "f", "{}"), call("x", "f", "{}"), turn.Parts[5], turn.Parts[6])
	if diff := cmp.Diff(turn, back, cmpopts.EquateEmpty()); diff != "" || err != nil {
		t.Errorf("read again: %v (-want +got):\n%s", err, diff)
	}
	got, err = codec.EncodeResponse(nil, protocol.ResponseMeta{}, &llm.Response{})
	if want := `{"candidates":[{"finishReason":"OTHER","index":0}],"usageMetadata":{"promptTokenCount":0,"totalTokenCount":0,"promptTokensDetails":[{"modality":"TEXT","tokenCount":0}]}}`; string(got) != want || err != nil {
		t.Errorf("an empty response: %s, %v", got, err)
	}
}

func TestFinishReasons(t *testing.T) {
	words := map[string]llm.FinishReason{
		"STOP": llm.FinishStop, "MAX_TOKENS": llm.FinishLength, "SAFETY": llm.FinishContentFilter, "RECITATION": llm.FinishContentFilter,
		"BLOCKLIST": llm.FinishContentFilter, "PROHIBITED_CONTENT": llm.FinishContentFilter, "SPII": llm.FinishContentFilter, "MODEL_ARMOR": llm.FinishContentFilter,
		"IMAGE_SAFETY": llm.FinishContentFilter, "IMAGE_PROHIBITED_CONTENT": llm.FinishContentFilter, "IMAGE_RECITATION": llm.FinishContentFilter,
		"MALFORMED_FUNCTION_CALL": llm.FinishMalformedCall, "UNEXPECTED_TOOL_CALL": llm.FinishMalformedCall,
		"MALFORMED_RESPONSE": llm.FinishError, "MISSING_THOUGHT_SIGNATURE": llm.FinishError,
		"OTHER": llm.FinishUnknown, "LANGUAGE": llm.FinishUnknown,
	}
	encode := func(reason llm.FinishReason, raw string) *llm.Response {
		body, err := codec.EncodeResponse(nil, protocol.ResponseMeta{}, &llm.Response{FinishReason: reason, RawFinishReason: raw})
		if err != nil {
			t.Fatal(err)
		}
		turn, err := whole(body)
		if err != nil {
			t.Fatal(err)
		}
		return turn
	}
	for word, want := range words {
		got, err := whole([]byte(`{"candidates":[{"finishReason":"` + word + `"}]}`))
		if err != nil || got.FinishReason != want || got.RawFinishReason != word {
			t.Errorf("%s: %s, %v", word, got.FinishReason, err)
		}
		if got := encode(want, word); got.RawFinishReason != word {
			t.Errorf("%s is written as %s", word, got.RawFinishReason)
		}
	}
	const unspecified = "FINISH_REASON_UNSPECIFIED"
	if got := encode(llm.FinishUnknown, unspecified); got.RawFinishReason != "OTHER" {
		t.Errorf("%s is written as %s", unspecified, got.RawFinishReason)
	}
	for reason, word := range map[llm.FinishReason]string{
		llm.FinishStop: "STOP", llm.FinishToolCalls: "STOP", llm.FinishLength: "MAX_TOKENS", llm.FinishContentFilter: "SAFETY", llm.FinishRefusal: "SAFETY",
		llm.FinishMalformedCall: "MALFORMED_FUNCTION_CALL", llm.FinishError: "MALFORMED_RESPONSE", llm.FinishUnknown: "OTHER", llm.FinishPause: "OTHER", "": "OTHER",
	} {
		for _, raw := range []string{"", "end_turn", "MAX_TOKENS"} {
			if raw == "MAX_TOKENS" && reason == llm.FinishLength {
				continue
			}
			want := word
			if raw == "end_turn" && (reason == llm.FinishUnknown) {
				want = raw // as unknown as ours
			}
			if got := encode(reason, raw); got.RawFinishReason != want {
				t.Errorf("%s (%s) is written as %s, want %s", reason, raw, got.RawFinishReason, want)
			}
		}
	}
}
