package importer_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/looptape/looptape/trace/importer"
)

// The values of the streams are from a program without code of this project.
func TestStreamsOfProviders(t *testing.T) {
	dir := filepath.Join(sharedDir(t), "data", "wire")
	text, err := os.ReadFile(filepath.Join(dir, "golden.jsonl"))
	if err != nil {
		t.Skip("the data set wire is not there: ", err)
	}
	n := 0
	for line := range bytes.Lines(text) {
		var golden struct {
			File      string
			TextChars int `json:"text_chars"`
			ToolCalls []struct {
				Name      string
				Arguments json.RawMessage
			} `json:"tool_calls"`
		}
		if err := json.Unmarshal(line, &golden); err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprint("text ", golden.TextChars)
		for _, call := range golden.ToolCalls {
			want += fmt.Sprintf(", %s%s", call.Name, canonical(t, string(call.Arguments)))
		}
		stream, err := os.ReadFile(filepath.Join(dir, golden.File))
		if err != nil {
			t.Fatal(err)
		}
		run := onlyRun(t, string(stream))
		got := fmt.Sprint("text ", utf8.RuneCountInString(run.Messages[0].Text()))
		for _, call := range run.Messages[0].Calls() {
			got += fmt.Sprintf(", %s%s", call.Name, canonical(t, call.Arguments))
		}
		if got != want || len(run.Unknown) > 0 {
			t.Errorf("%s: %s, %v, want %s", golden.File, got, run.Unknown, want)
		}
		n++
	}
	if n != 108 {
		t.Errorf("%d streams, want 108", n)
	}
}

func canonical(t *testing.T, arguments string) string {
	t.Helper()
	var value any
	if err := json.Unmarshal([]byte(arguments), &value); err != nil {
		t.Fatalf("%s: %v", arguments, err)
	}
	if text, ok := value.(string); ok {
		return canonical(t, text)
	}
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestStreamForms(t *testing.T) {
	const (
		events = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"role\":\"assistant\",\"content\":[],\"usage\":{\"input_tokens\":5}}}\n\n" +
			"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"ok\"}}\n\n" +
			"event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n" +
			"event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":7}}\n\n" +
			"event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
		chunks = `{"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","content":"o"}}]}` + "\n" +
			`{"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"k"},"finish_reason":"stop"}]}` + "\n" +
			`{"object":"chat.completion.chunk","choices":[],"usage":{"prompt_tokens":5,"completion_tokens":7}}`
		contents = `{"candidates":[{"content":{"role":"model","parts":[{"text":"o"}]}}]}` + "\n" +
			`{"candidates":[{"content":{"role":"model","parts":[{"text":"k"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":5,"candidatesTokenCount":7}}`
	)
	for name, in := range map[string]string{"events": events, "comment first": ": ok\n\n" + events, "chunks": chunks, "contents": contents} {
		run := onlyRun(t, in)
		if want := `assistant "ok"; 5/7 tokens, 0 parts not understood`; summary(&run) != want {
			t.Errorf("%s: %s, want %s", name, summary(&run), want)
		}
	}
	for name, c := range map[string]struct{ in, want string }{
		"truncated":        {strings.Split(events, "event: message_delta")[0], "x:1: the response was truncated"},
		"another protocol": {"data: {\"x\":1}\n\n", "x:1: the events of the stream are of no known protocol"},
		"an invalid event": {strings.Replace(events, "content_block_start\",\"index\":0", "content_block_start\",\"index\"", 1), "x:1: event 2 of the stream: "},
	} {
		src, err := importer.Open("x", strings.NewReader(c.in))
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range src.Runs() {
			if err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("%s: error %v, want %s", name, err, c.want)
			}
		}
	}
}
