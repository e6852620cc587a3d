package responses_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/openai/responses"
)

// What is read as a request, and can be sent, is the same request when it is read again.
func FuzzResponsesRequest(f *testing.F) {
	for _, body := range []string{
		`{"model":"m","instructions":"s","input":"hi","store":false,"stream":true}`,
		`{"input":[{"role":"developer","content":"d"},{"role":"user","content":[{"type":"input_text","text":"a"},{"type":"input_image","image_url":"data:image/png;base64,cG5n","detail":"low"},{"type":"input_file","file_id":"f"},{"type":"input_audio","input_audio":{"data":"eA==","format":"mp3"}}]}]}`,
		`{"input":[` + rs1 + `,` + item1(whole) + `,` + rs2 + `,{"type":"message","role":"assistant","id":"msg_1","content":[{"type":"output_text","text":"a","annotations":[1]},{"type":"refusal","refusal":"b"}]},{"type":"function_call_output","call_id":"call_1","output":[{"type":"input_text","text":"x"}]}]}`,
		`{"input":[{"type":"custom_tool_call","call_id":"c","name":"n","input":"x"},{"type":"custom_tool_call_output","call_id":"c","output":"y"},{"type":"web_search_call","id":"ws_1","action":{}},{"type":"item_reference","id":"x"}]}`,
		`{"tools":[{"type":"function","name":"f","parameters":` + looseSchema + `},{"type":"web_search"}],"tool_choice":"required","parallel_tool_calls":false,"reasoning":{"effort":"low","summary":"auto"},"text":{"format":{"type":"json_schema","name":"x","schema":` + strictSchema + `}},"temperature":0.5,"max_output_tokens":5,"include":["x"]}`,
		`{"input":[{"id":"rs","type":"reasoning","content":[{}]},{}]}`,
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		codec := responses.Protocol{}
		req, err := codec.DecodeRequest("/responses", body)
		if err != nil {
			return
		}
		sent, err := codec.EncodeRequest(req)
		if err != nil {
			return
		}
		if !jsonio.Valid(sent.Body) {
			t.Fatalf("not JSON: %s", sent.Body)
		}
		decoded, err := codec.DecodeRequest("/responses", sent.Body)
		if err != nil {
			t.Fatalf("%v: %s", err, sent.Body)
		}
		again, err := codec.EncodeRequest(decoded)
		if err != nil {
			t.Fatalf("%v: %s", err, sent.Body)
		}
		if diff := cmp.Diff(string(sent.Body), string(again.Body)); diff != "" {
			t.Fatalf("(-sent +sent again):\n%s", diff)
		}
	})
}

// A decoded response is the same after encoding and decoding.
func FuzzResponsesResponse(f *testing.F) {
	for _, q := range responsesQuirks {
		if q.body != "" {
			f.Add([]byte(q.body))
		}
	}
	f.Add([]byte(`{"id":"x","status":"completed","output":[` + rs2 + `,{"type":"message","content":[{"type":"output_text","text":"a","annotations":[1]},{"type":"refusal","refusal":"b"}],"phase":"x"},{"type":"image_generation_call","id":"ig_1","result":"eA=="},{"type":"custom_tool_call","call_id":"c","name":"n","input":"x"}],"novel":{"x":[1]}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		if turn, err := readAnswer(string(body)); err == nil {
			fixed(t, turn)
		}
	})
}

// The same of streams. A stream is never read without its end.
func FuzzResponsesStream(f *testing.F) {
	for _, q := range responsesQuirks {
		if q.wire != "" && len(q.wire) < 10<<10 {
			f.Add(q.wire)
		}
	}
	f.Add(stream(strings.Replace(completed, `"error":`, `"novel":{"x":[1]},"error":`, 1)))
	for _, name := range []string{"stream", "incomplete", "failed"} {
		text, err := os.ReadFile(filepath.Join("testdata", name+".txt"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Fuzz(func(t *testing.T, wire string) {
		if turn, err := readStream(strings.NewReader(wire)); err == nil {
			fixed(t, turn)
		}
	})
}

// fixed checks that what was read once is stable from then on: written and read, and
// again, it stays as it is.
func fixed(t *testing.T, turn *llm.Response) {
	t.Helper()
	body, err := responses.Protocol{}.EncodeResponse(nil, answer, turn)
	if err != nil {
		return
	}
	if !jsonio.Valid(body) {
		t.Fatalf("not JSON: %s", body)
	}
	once, err := readAnswer(string(body))
	if err != nil {
		if turn.FinishReason == llm.FinishError {
			return
		}
		t.Fatalf("%v: %s", err, body)
	}
	again, err := readAnswer(encodeAnswer(t, once))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(once, again); diff != "" {
		t.Fatalf("(-once +again):\n%s\n%s", diff, body)
	}
	if got, want := len(once.Calls()), len(turn.Calls()); got != want || once.Text() != turn.Text() {
		t.Fatalf("got %d calls and %q, want %d and %q", got, once.Text(), want, turn.Text())
	}
}

// An error is never without a word, whatever the body.
func FuzzResponsesError(f *testing.F) {
	f.Add(400, `{"error":{"message":"m","type":"invalid_request_error","param":"input","code":null}}`)
	f.Add(429, `{"error":{"message":"m","type":"insufficient_quota","code":"insufficient_quota"}}`)
	f.Add(200, `[{"error":{"code":503,"message":"m","status":"UNAVAILABLE"}}]`)
	f.Add(520, `<html>`)
	f.Fuzz(func(t *testing.T, status int, body string) {
		codec := responses.Protocol{}
		e := codec.DecodeError(status, nil, []byte(body))
		if e == nil {
			t.Fatal("no error")
		}
		again := codec.DecodeError(e.Status, nil, codec.EncodeError(e))
		if want := string([]rune(e.Message)); again.Message != want {
			t.Fatalf("got %q, want %q", again.Message, want)
		}
	})
}
