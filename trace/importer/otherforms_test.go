package importer_test

import (
	"strings"
	"testing"

	"github.com/looptape/looptape/trace/check"
	"github.com/looptape/looptape/trace/importer"
)

// Perplexity sends a whole response with an empty delta next to the message. A delta with anything else is reported.
func TestMessageWithDelta(t *testing.T) {
	body := func(reason, delta string) string {
		return `{"id":"x","model":"sonar","object":"chat.completion","choices":[{"index":0,"finish_reason":` + reason + `,"message":{"role":"assistant","content":"xy"},"delta":` + delta + `}]}`
	}
	for name, c := range map[string]struct{ body, want string }{
		"empty":        {body(`"stop"`, `{"role":"assistant","content":""}`), ""},
		"of the text":  {body(`"stop"`, `{"role":"assistant","content":"y"}`), ""},
		"another text": {body(`"stop"`, `{"role":"assistant","content":"lost"}`), "a message and a delta with other content"},
		"calls":        {body(`"stop"`, `{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}`), "a message and a delta with other content"},
	} {
		isReported(t, name, c.body, c.want)
	}
	if got := strings.Join(unknownIn(t, body("null", `{"role":"assistant","content":"y"}`)), "\n"); !strings.Contains(got, "the response has no end") {
		t.Errorf("without an end: reported %q", got)
	}
}

// A message with blocks that only Anthropic has is one of Anthropic.
func TestBlocksOfAnthropic(t *testing.T) {
	for _, block := range []string{`{"type":"container_upload","file_id":"f"}`, `{"type":"compaction","content":"s"}`} {
		list := `[{"role":"user","content":[{"type":"text","text":"q"},` + block + `]},{"role":"assistant","content":"a"}]`
		isReported(t, "list with "+block, list, "")
		isReported(t, "request with "+block, `{"model":"c","max_tokens":9,"messages":`+list+`}`, "")
		s, err := importer.Open("file", strings.NewReader(list))
		if err != nil {
			t.Fatal(err)
		}
		for run, err := range s.Runs() {
			if err != nil || run.Protocol != "anthropic-messages" || len(run.Messages[0].Parts) != 2 {
				t.Errorf("%s: protocol %q, messages %v, error %v", block, run.Protocol, run.Messages, err)
			}
		}
	}
}

// A string among the parts of Gemini is a text, as its SDK for Python has it. Another value that is not an object
// is reported.
func TestPartsOfGeminiThatAreStrings(t *testing.T) {
	list := func(parts string) string {
		return `[{"role":"user","parts":["Hi"]},{"role":"model","parts":` + parts + `}]`
	}
	adk := func(parts string) string {
		return `{"id":"s","app_name":"a","user_id":"u","events":[{"author":"agent","content":{"role":"model","parts":` + parts + `}}]}`
	}
	langfuse := func(parts string) string {
		return `[{"id":"o","parentObservationId":null,"traceId":"t","type":"GENERATION","startTime":"2026-01-01T00:00:00Z","input":` + list(parts) + `,"output":{"role":"assistant","content":"a"}}]`
	}
	for parts, want := range map[string]string{
		`["Hello"]`:                 "",
		`["Hello",{"text":"b"}]`:    "",
		`[{"text":"a"},"b"]`:        "",
		`[{"text":"a"},["lost"]]`:   "a part that is not an object",
		`[{"text":"a"},7]`:          "a part that is not an object",
		`["a",null]`:                "",
		`[{"text":"a"},{"lost":1}]`: `it has the members "lost"`,
	} {
		isReported(t, "list, "+parts, list(parts), want)
		isReported(t, "ADK, "+parts, adk(parts), want)
		if want == "" && !strings.Contains(parts, "null") {
			isReported(t, "Langfuse, "+parts, langfuse(parts), want)
		}
	}
	s, err := importer.Open("file", strings.NewReader(list(`["Hello"]`)))
	if err != nil {
		t.Fatal(err)
	}
	for run, err := range s.Runs() {
		if err != nil || run.Protocol != "gemini" || len(run.Messages) != 2 || run.Messages[0].Text() != "Hi" || run.Messages[1].Text() != "Hello" {
			t.Errorf("protocol %q, messages %v, error %v", run.Protocol, run.Messages, err)
		}
	}
}

// In the body of a response of Responses, a text after a call is of the same response. In a list of items it is
// unknown whether it is.
func TestTextAfterCallInOneResponse(t *testing.T) {
	const items = `{"type":"function_call","id":"i","call_id":"a","name":"f","arguments":"{}"},{"type":"message","id":"m","role":"assistant","content":[{"type":"output_text","text":"x"}]}`
	const body = `{"id":"r","object":"response","status":"completed","model":"m","output":[` + items + `]}`
	for name, c := range map[string]struct {
		file string
		want int
	}{
		"body":                {body, 0},
		"list":                {`[{"type":"message","role":"user","content":[{"type":"input_text","text":"q"}]},` + items + `]`, 1},
		"answer to a prompt":  {`{"prompt":[{"role":"user","content":"q"}],"answer":` + body + `}`, 0},
		"answer to responses": {`{"prompt":[{"type":"message","role":"user","content":[{"type":"input_text","text":"q"}]},` + items + `],"answer":` + body + `}`, 1},
	} {
		s, err := importer.Open("file", strings.NewReader(c.file))
		if err != nil {
			t.Fatal(err)
		}
		for run, err := range s.Runs() {
			list := check.List{Protocol: run.Protocol, Request: run.Sent, Response: run.Response}
			list.Add(run.Messages...)
			if found := list.Done(); err != nil || len(found) != c.want {
				t.Errorf("%s: found %v, error %v; want %d violations", name, found, err, c.want)
			}
		}
	}
}
