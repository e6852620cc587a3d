package quirk

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/fake/wire/internal/reply"
)

var chatTextQuirks = []Form{
	chat.inStream("QO-19", "", "as from Azure: the first chunk has prompt filters only, without an id or a model, and a later choice has no delta", filtered),
	chat.inScript("QO-23", "tags", "calls are in the text, between <tool_call> and </tool_call>", func(t *fake.Response) bool {
		return leakCalls(t, t.Text+strings.Join(t.Chunks, ""), func(call string) string { return "<tool_call>" + call + "</tool_call>" })
	}),
	chat.inScript("QO-23", "bare", "calls are in the text, as JSON without other text", func(t *fake.Response) bool {
		return leakCalls(t, "", func(call string) string { return call })
	}),
	chat.inReply("QO-24", "noise", "there are unknown and null members", edited(noise)),
	chat.inScript("QO-24", "refusal", "the model refuses", refusal),
	chat.inScript("QO-28", "", "as from Mistral: the content is an array, which includes the reasoning", reasonIn("content")).and(edited(contentArray)),
	chat.inScript("QO-29", "reasoning_content", "the reasoning is in reasoning_content", reasonIn("reasoning_content")),
	chat.inScript("QO-29", "reasoning", "the reasoning is in reasoning", reasonIn("reasoning")),
	chat.inScript("QO-29", "reasoning_details", "the reasoning is in reasoning_details", func(t *fake.Response) bool {
		return setReasoning(t, `{"reasoning_details":[{"type":"reasoning.text","text":`+reply.Quote(t.Reasoning)+`,"signature":"c2lnbmVk","format":"unknown","index":0}]}`)
	}),
}

func filtered(r *reply.Reply) bool {
	const result = `{"hate":{"filtered":false,"severity":"safe"}}`
	at := finishAt(r)
	if at < 0 {
		return false
	}
	r.Frames = slices.Insert(r.Frames, at, reply.NewFrame("",
		`{"id":"","object":"","created":0,"model":"","choices":[{"index":0,"finish_reason":null,"content_filter_results":`+result+`,"content_filter_offsets":{"check_offset":44,"start_offset":44,"end_offset":198}}]}`,
	))
	r.Frames = slices.Insert(r.Frames, 0, reply.NewFrame("",
		`{"id":"","object":"","created":0,"model":"","choices":[],"prompt_filter_results":[{"prompt_index":0,"content_filter_results":`+result+`}]}`,
	))
	return true
}

func leakCalls(t *fake.Response, said string, mark func(call string) string) bool {
	calls := scriptedCalls(t)
	if len(calls) == 0 {
		return false
	}
	for _, c := range calls {
		said += mark(`{"name":` + reply.Quote(c.Name) + `,"arguments":` + wholeArguments(c) + `}`)
	}
	t.Text, t.Chunks, t.Calls, t.FinishReason, t.RawFinishReason = said, nil, nil, "", ""
	return true
}

func refusal(t *fake.Response) bool {
	if t.Events != nil {
		return false
	}
	t.Text, t.Chunks, t.Calls, t.Refusal = "I cannot help with that.", nil, nil, true
	t.FinishReason, t.RawFinishReason = "", ""
	return true
}

func noise(text string) string {
	at := deltaPath
	switch {
	case gjson.Get(text, messagePath).Exists():
		at = messagePath
	case !gjson.Get(text, deltaPath).Exists():
		return text
	}
	for _, m := range [][2]string{
		{at + ".content", "null"}, {at + ".refusal", "null"}, {choicePath + ".logprobs", "null"}, {choicePath + ".native_finish_reason", `"STOP"`},
		{"obfuscation", `"Kx9"`}, {"x_groq", `{"id":"req_01"}`}, {"provider", `"some-provider"`},
		{"timings", `{"prompt_n":7,"predicted_ms":12.5}`}, {"latency_checkpoint", `{"engine_ttft_ms":30}`},
	} {
		if !gjson.Get(text, m[0]).Exists() {
			text = reply.Put(text, m[0], m[1])
		}
	}
	return text
}

// reasonIn sends the reasoning in a member of a delta.
func reasonIn(field string) func(t *fake.Response) bool {
	return func(t *fake.Response) bool { return setReasoning(t, `{"field":"`+field+`"}`) }
}

func setReasoning(t *fake.Response, opaque string) bool {
	if t.Reasoning == "" || t.Events != nil {
		return false
	}
	t.ReasoningOpaque = json.RawMessage(opaque)
	return true
}

// contentArray makes content an array that also has an element of another type.
func contentArray(text string) string {
	for _, at := range []string{deltaPath + ".content", messagePath + ".content"} {
		if said := gjson.Get(text, at); said.Type == gjson.String && said.String() != "" {
			text = reply.Put(text, at, `[{"type":"text","text":`+said.Raw+`},{"type":"reference","reference_ids":[1]}]`)
		}
	}
	return text
}
