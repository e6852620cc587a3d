package importer_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/trace/importer"
)

// A response that has no place for content, or neither content nor a finish reason, is reported. A finish
// reason alone is a response without content.
func TestResponsesWithoutMessage(t *testing.T) {
	t.Parallel()
	const done = `"finish_reason":"stop"`
	for url, c := range map[string]struct {
		sent            string
		reported, valid []string
	}{
		"https://api.openai.com/v1/chat/completions": {
			chatSent,
			[]string{
				`{"choices":[]}`, `{"choices":["x"]}`, `{"choices":[{}]}`, `{"choices":[null]}`, `{"choices":[{` + done + `}]}`, `{"choices":[{"message":null,` + done + `}]}`, `{"choices":[{"message":"x",` + done + `}]}`,
				"data: {\"choices\":[],\"prompt_filter_results\":[]}\n\ndata: [DONE]\n\n",
			},
			[]string{
				`{"choices":[{"message":{"role":"assistant","content":null},` + done + `}]}`, `{"choices":[{"message":{"role":"assistant"},` + done + `}]}`,
				// Azure begins a stream with a chunk without choices.
				"data: {\"choices\":[],\"prompt_filter_results\":[]}\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
			},
		},
		responses: {
			`{"model":"m","input":"q"}`,
			[]string{
				`{"id":"r","object":"response","status":"completed"}`, `{"id":"r","object":"response","status":"completed","output":null}`,
				`{"id":"r","object":"response","status":"queued","output":[]}`, `{"id":"r","object":"response","status":"in_progress","output":[]}`,
			},
			[]string{`{"id":"r","object":"response","status":"completed","output":[]}`, `{"id":"r","object":"response","status":"incomplete","output":[]}`, `{"id":"r","object":"response","status":"cancelled","output":[]}`},
		},
		anthropic: {
			`{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"q"}]}`,
			[]string{`{"type":"message","role":"assistant","stop_reason":"end_turn"}`, `{"type":"message","role":"assistant","stop_reason":"end_turn","content":null}`},
			[]string{`{"type":"message","role":"assistant","stop_reason":"end_turn","content":[]}`},
		},
		gemini: {
			`{"contents":[{"role":"user","parts":[{"text":"q"}]}]}`,
			[]string{`{"candidates":[]}`, `{"candidates":[{}]}`, `{"usageMetadata":{"totalTokenCount":1}}`},
			[]string{`{"candidates":[{"finishReason":"STOP"}]}`, `{"candidates":[{"content":{},"finishReason":"MALFORMED_FUNCTION_CALL"}]}`},
		},
		converse: {
			`{"messages":[{"role":"user","content":[{"text":"q"}]}]}`,
			[]string{`{"output":{},"stopReason":"end_turn"}`, `{"output":{"message":null},"stopReason":"end_turn"}`, `{"output":{"message":{"role":"assistant","content":"x"}},"stopReason":"end_turn"}`},
			[]string{`{"output":{"message":{"role":"assistant","content":[]}},"stopReason":"end_turn"}`},
		},
		"https://api.openai.com/v1/completions": {
			`{"model":"m","prompt":"q"}`,
			[]string{`{"object":"text_completion","choices":[]}`, `{"object":"text_completion","choices":["x"]}`, `{"object":"text_completion","choices":[{"text":null}]}`},
			[]string{`{"object":"text_completion","choices":[{"text":"","finish_reason":"stop"}]}`},
		},
	} {
		for _, body := range slices.Concat(c.reported, c.valid) {
			want := slices.Contains(c.reported, body)
			got := unknownIn(t, typed(url, c.sent, body))
			if (got != nil) != want {
				t.Errorf("%s, over HTTP: reported %v, want one: %t", body, got, want)
			}
			src, err := importer.Open("file", strings.NewReader(body))
			if err != nil && want {
				continue // the file is refused
			} else if err != nil {
				t.Fatal(err)
			}
			err = nil
			for _, failed := range src.Runs() {
				err = failed
			}
			if (err != nil) != want {
				t.Errorf("%s: error %v, want one: %t", body, err, want)
			}
		}
	}
}

// The response of Completions alone has its text, as JSON; as a stream it is an error. That of Mistral's
// completions with a suffix has a message.
func TestResponsesOfCompletions(t *testing.T) {
	t.Parallel()
	const text = `{"id":"c","object":"text_completion","choices":[{"index":0,"text":"done","finish_reason":"stop"}]}`
	run := onlyRun(t, text)
	if diff := cmp.Diff([]string{"c assistant:(done)"}, outline([]importer.Run{run})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	const want = "file:1: openai-completions: the response is not JSON, and streams of this protocol are not read"
	if got := unknownIn(t, "data: "+text+"\n\ndata: [DONE]\n\n"); !cmp.Equal([]string{want}, got) {
		t.Errorf("a stream: got %q, want %q", got, want)
	}
	const fim = `{"id":"c","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"done"},"finish_reason":"stop"}]}`
	run = onlyRun(t, typed("https://api.mistral.ai/v1/fim/completions", `{"model":"codestral","prompt":"q","suffix":"s"}`, fim))
	if diff := cmp.Diff([]string{"interaction-1 user:(q) assistant:(done)"}, outline([]importer.Run{run})); diff != "" {
		t.Errorf("Mistral (-want +got):\n%s", diff)
	}
}

// Messages that the provider stores are reported, and the messages after them are not checked.
func TestStoredConversations(t *testing.T) {
	t.Parallel()
	const output = `{"type":"function_call_output","call_id":"a","output":"x"}`
	const call, reference = `{"type":"function_call","call_id":"a","name":"f","arguments":"{}"}`, `{"type":"item_reference","id":"fc_1"}`
	for name, c := range map[string]struct {
		in, want string
		checked  int
	}{
		"a response":              {`{"model":"m","previous_response_id":"resp_1","input":[` + output + `]}`, `the request continues the response "resp_1", which it does not have`, 0},
		"a conversation":          {`{"model":"m","conversation":{"id":"c"},"input":[` + output + `]}`, "the request continues a conversation that the provider stores", 0},
		"a batch":                 {`{"custom_id":"run-1","method":"POST","url":"/v1/responses","body":{"model":"m","previous_response_id":"resp_1","input":[` + output + `]}}`, `the request continues the response "resp_1", which it does not have`, 0},
		"a row":                   {`{"prompt":{"model":"m","previous_response_id":"resp_1","input":[` + output + `]},"answer":"x"}`, `the request continues the response "resp_1", which it does not have`, 0},
		"an item":                 {`{"model":"m","input":[{"role":"user","content":"q"},` + reference + `,` + output + `]}`, `the input refers to the item "fc_1", which it does not have`, 1},
		"an item of a list":       {`[{"role":"user","content":[{"type":"input_text","text":"q"}]},` + reference + `,` + output + `]`, `the input refers to the item "fc_1", which it does not have`, 1},
		"an item alone":           {`{"model":"m","input":[` + reference + `,{"role":"user","content":"q"}]}`, `the input refers to the item "fc_1", which it does not have`, 2},
		"an item before the call": {`{"model":"m","input":[{"role":"user","content":"q"},` + reference + `,` + call + `,` + output + `]}`, `the input refers to the item "fc_1", which it does not have`, 3},
	} {
		if diff := cmp.Diff([]string{"file:1: " + c.want + " (in run-1)"}, unknownIn(t, c.in)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if run := onlyRun(t, c.in); len(run.Checkable()) != c.checked {
			t.Errorf("%s: %d messages are checked, want %d", name, len(run.Checkable()), c.checked)
		}
	}
}
