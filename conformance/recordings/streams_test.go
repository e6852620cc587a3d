package recordings

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/llm"
)

// urls are the URLs of the protocols.
var urls = map[string]string{
	"openai-chat":        "https://gateway.example/chat/completions",
	"openai-responses":   "https://api.openai.com/v1/responses",
	"anthropic-messages": "https://api.anthropic.com/v1/messages",
	"gemini":             "https://generativelanguage.googleapis.com/v1beta/models/gemini:streamGenerateContent",
}

// listen decodes a recorded stream with an adapter, and compares the response with that of the
// independent reader.
func listen(t *testing.T, name string, stream []byte) (want said, turn *llm.Response, err error) {
	t.Helper()
	x := exchange{name: name, url: urls[name], kind: "text/event-stream", response: stream}
	w, _ := dialectOf(t, x.url)
	turn, err = answer(t, w, &llm.Request{Model: "some-model", Messages: []llm.Message{llm.User("Go on.")}}, x)
	if err == nil {
		want = w.read(t, documents(t, x))
	}
	return want, turn, err
}

// TestStreams compares the responses of recorded streams with the raw JSON and with golden.jsonl.
func TestStreams(t *testing.T) {
	dir := shared("wire")(t)
	lines, err := os.ReadFile(filepath.Join(dir, "golden.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for line := range bytes.Lines(lines) {
		golden := parse(t, line)
		got[text(golden, "protocol")]++
		t.Run(text(golden, "file"), func(t *testing.T) {
			stream, err := os.ReadFile(filepath.Join(dir, text(golden, "file")))
			if err != nil {
				t.Fatal(err)
			}
			want, turn, err := listen(t, text(golden, "protocol"), stream)
			want.hold(t, turn, err)
			known := said{Word: text(golden, "finish"), Text: text(golden, "text_sha256")}
			for _, c := range list(golden, "tool_calls") {
				known.Calls = append(known.Calls, call{text(c, "id"), text(c, "name"), at(c, "arguments")})
			}
			sum := sha256.Sum256([]byte(turn.Text()))
			all := heard(t, turn, known.Calls)
			is := said{Word: all.Word, Text: hex.EncodeToString(sum[:]), Calls: all.Calls}
			if diff := gocmp.Diff(known, is); diff != "" {
				t.Errorf("(-golden.jsonl +response):\n%s", diff)
			}
		})
	}
	t.Logf("streams: %v", got)
	if diff := gocmp.Diff(map[string]int{"openai-chat": 64, "openai-responses": 14, "anthropic-messages": 15, "gemini": 15}, got); diff != "" {
		t.Errorf("streams (-want +got):\n%s", diff)
	}
}

// broken are the streams of vercel/ai without a complete response.
var broken = map[string]string{
	"openai__openai-error.1.chunks.txt":               "insufficient_quota",
	"openai__parallel-tool-call-wrapper.1.chunks.txt": "the text ends too early", // its first line lacks a brace
}

// TestForeignStreams compares the responses of the streams in the tests of vercel/ai with the raw JSON.
func TestForeignStreams(t *testing.T) {
	dir := shared("wire")(t)
	files := 0
	for _, name := range slices.Sorted(maps.Keys(urls)) {
		paths, err := filepath.Glob(filepath.Join(dir, name, "vercel-ai", "*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			files++
			t.Run(filepath.Base(path), func(t *testing.T) {
				for _, stream := range foreign(t, path) {
					want, turn, err := listen(t, name, stream)
					if why := broken[filepath.Base(path)]; why != "" {
						if err == nil || !strings.Contains(err.Error(), why) {
							t.Errorf("the error is %v, want one that contains %s", err, why)
						}
						continue
					}
					want.hold(t, turn, err)
				}
			})
		}
	}
	if files != 22 {
		t.Errorf("%d files were read, want 22", files)
	}
}

// foreign returns the streams of a file. One file has server-sent events. In the others, each line is
// the data of an event, and a message_stop ends a response.
func foreign(t *testing.T, path string) (streams [][]byte) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if filepath.Ext(path) == ".sse" {
		return [][]byte{data}
	}
	var stream bytes.Buffer
	for line := range bytes.Lines(bytes.TrimSpace(data)) {
		stream.WriteString("data: ")
		stream.Write(bytes.TrimSpace(line))
		stream.WriteString("\n\n")
		if bytes.Contains(line, []byte(`"type":"message_stop"`)) {
			streams = append(streams, bytes.Clone(stream.Bytes()))
			stream.Reset()
		}
	}
	if stream.Len() > 0 {
		streams = append(streams, stream.Bytes())
	}
	return streams
}
