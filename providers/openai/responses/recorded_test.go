package responses_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/openai/responses"
)

// facts are the content of a recorded response.
type facts struct {
	Text, Reasoning string
	Calls           []string // id name arguments
	Items           []string // the kinds and ids of all items, in order
	Usage           llm.Usage
	Finish          string
}

// wireUsage is usage by encoding/json.
type wireUsage struct {
	Input  int64 `json:"input_tokens"`
	Output int64 `json:"output_tokens"`
	In     struct {
		Cached int64 `json:"cached_tokens"`
	} `json:"input_tokens_details"`
	Out struct {
		Reasoning int64 `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
}

// wireResponse is a response object by encoding/json.
type wireResponse struct {
	ID, Status, Model string
	Output            []struct {
		Type, ID, Name, Arguments string
		CallID                    string `json:"call_id"`
		Content                   []struct{ Type, Text string }
		Summary                   []struct{ Text string }
	}
	Usage wireUsage
}

func (r *wireResponse) facts() (f facts) {
	for _, it := range r.Output {
		f.Items = append(f.Items, it.Type+" "+it.ID)
		switch it.Type {
		case "message":
			for _, c := range it.Content {
				f.Text += c.Text
			}
		case "reasoning":
			for i, c := range it.Summary {
				f.Reasoning += strings.Repeat("\n\n", min(i, 1)) + c.Text
			}
		case "function_call":
			f.Calls = append(f.Calls, it.CallID+" "+it.Name+" "+it.Arguments)
		}
	}
	f.Usage = llm.Usage{InputTokens: r.Usage.Input, OutputTokens: r.Usage.Output, CacheReadInputTokens: r.Usage.In.Cached, ReasoningOutputTokens: r.Usage.Out.Reasoning}
	f.Finish = r.Status
	return f
}

// rawFacts reads a recorded body by encoding/json alone: the last event of a stream,
// its joined deltas, or the response.
func rawFacts(t *testing.T, body string) facts {
	t.Helper()
	if !strings.Contains(body, "data: ") {
		var r wireResponse
		if err := json.Unmarshal([]byte(body), &r); err != nil {
			t.Fatal(err)
		}
		return r.facts()
	}
	var f facts
	var text, thought string
	for line := range strings.Lines(body) {
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok {
			continue
		}
		var ev struct {
			Type, Delta string
			Response    wireResponse
		}
		if err := json.Unmarshal([]byte(data), &ev); err != nil {
			t.Fatal(err)
		}
		switch ev.Type {
		case "response.output_text.delta":
			text += ev.Delta
		case "response.reasoning_summary_text.delta":
			thought += ev.Delta
		case "response.completed", "response.incomplete":
			f = ev.Response.facts()
		}
	}
	if text != f.Text || thought != f.Reasoning && strings.ReplaceAll(thought, "\n\n", "") != strings.ReplaceAll(f.Reasoning, "\n\n", "") {
		t.Fatalf("the deltas %q and %q are not the text %q and %q", text, thought, f.Text, f.Reasoning)
	}
	return f
}

// turnFacts returns the facts of a response.
func turnFacts(turn *llm.Response) (f facts) {
	for _, p := range turn.Parts {
		kind, opaque := "", json.RawMessage(nil)
		switch p := p.(type) {
		case llm.Text:
			f.Text += p.Text
			kind, opaque = "message", p.Opaque
		case llm.Reasoning:
			f.Reasoning += p.Text
			kind, opaque = "reasoning", p.Opaque
		case llm.ToolCall:
			if !p.ProviderExecuted {
				f.Calls = append(f.Calls, p.ID+" "+p.Name+" "+p.Arguments)
			}
			kind, opaque = "function_call", p.Opaque
		case llm.Unknown:
			kind, opaque = p.Kind, p.Raw
		}
		var o struct{ Type, ID string }
		_ = json.Unmarshal(opaque, &o)
		if o.Type != "" {
			kind = o.Type
		}
		f.Items = append(f.Items, kind+" "+o.ID)
	}
	f.Usage, f.Finish = turn.Usage, turn.RawFinishReason
	return f
}

// holdRecorded checks that a recorded response gives its own content, and that its
// encoded form does again.
func holdRecorded(t *testing.T, body string) *llm.Response {
	t.Helper()
	var turn *llm.Response
	var err error
	if strings.Contains(body, "data: ") {
		turn, err = readStream(strings.NewReader(body))
	} else {
		turn, err = readAnswer(body)
	}
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(rawFacts(t, body), turnFacts(turn)); diff != "" {
		t.Errorf("(-encoding/json +ours):\n%s", diff)
	}
	if len(turn.Warnings) > 0 {
		t.Errorf("warnings: %v", turn.Warnings)
	}
	holdEncoded(t, turn)
	return turn
}

// golden is a line of golden.jsonl.
type golden struct {
	File, Protocol, Finish string
	TextChars              int                                    `json:"text_chars"`
	TextSHA                string                                 `json:"text_sha256"`
	ReasoningChars         int                                    `json:"reasoning_chars"`
	Calls                  []struct{ ID, Name, Arguments string } `json:"tool_calls"`
	Usage                  wireUsage
}

func TestResponsesRecordedStreams(t *testing.T) {
	dir := sharedData(t, "wire")
	text, err := os.ReadFile(filepath.Join(dir, "golden.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(text)) {
		if !strings.Contains(line, `"protocol": "openai-responses"`) {
			continue
		}
		n++
		var g golden
		if err := json.Unmarshal([]byte(line), &g); err != nil {
			t.Fatal(err)
		}
		t.Run(filepath.Base(g.File), func(t *testing.T) {
			body, err := os.ReadFile(filepath.Join(dir, g.File))
			if err != nil {
				t.Fatal(err)
			}
			turn := holdRecorded(t, string(body))
			thought, _ := turn.Reasoning()
			sum := sha256.Sum256([]byte(turn.Text()))
			got := golden{File: g.File, Protocol: g.Protocol, Finish: turn.RawFinishReason, TextChars: utf8.RuneCountInString(turn.Text()), TextSHA: hex.EncodeToString(sum[:]), ReasoningChars: utf8.RuneCountInString(thought), Usage: g.Usage}
			for _, c := range turn.Calls() {
				got.Calls = append(got.Calls, struct{ ID, Name, Arguments string }{c.ID, c.Name, c.Arguments})
			}
			if g.Calls = g.Calls[:len(g.Calls):len(g.Calls)]; len(g.Calls) == 0 {
				g.Calls = nil
			}
			if diff := cmp.Diff(g, got); diff != "" {
				t.Errorf("(-golden.jsonl +ours):\n%s", diff)
			}
			if want := (llm.Usage{InputTokens: g.Usage.Input, OutputTokens: g.Usage.Output, CacheReadInputTokens: g.Usage.In.Cached, ReasoningOutputTokens: g.Usage.Out.Reasoning}); turn.Usage != want {
				t.Errorf("got usage %+v, want %+v", turn.Usage, want)
			}
		})
	}
	if n != 14 {
		t.Errorf("golden.jsonl has %d streams of this protocol, not 14", n)
	}
}

// Streams of another project's tests, one event's data a line.
func TestResponsesForeignStreams(t *testing.T) {
	dir := filepath.Join(sharedData(t, "wire"), "openai-responses", "vercel-ai")
	read := func(t *testing.T, name string) (*llm.Response, error) {
		body, err := os.ReadFile(filepath.Join(dir, name+".1.chunks.txt"))
		if err != nil {
			t.Fatal(err)
		}
		return readStream(strings.NewReader(stream(strings.Split(strings.TrimSpace(string(body)), "\n")...)))
	}
	for name, want := range map[string]string{
		"open-responses__lmstudio-tool-call":   "reasoning message function_call",
		"openai__openai-apply-patch-tool":      "apply_patch_call",
		"openai__openai-custom-tool":           "custom_tool_call",
		"openai__openai-shell-local-multiturn": "message",
	} {
		t.Run(name, func(t *testing.T) {
			turn, err := read(t, name)
			if err != nil {
				t.Fatal(err)
			}
			var kinds []string
			for _, it := range turnFacts(turn).Items {
				kind, _, _ := strings.Cut(it, " ")
				kinds = append(kinds, kind)
			}
			if got := strings.Join(kinds, " "); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
			if len(turn.Warnings) > 0 || turn.RawFinishReason != "completed" {
				t.Errorf("got %v and %s", turn.Warnings, turn.RawFinishReason)
			}
		})
	}
	if _, err := read(t, "openai__openai-error"); err == nil || !strings.Contains(err.Error(), "insufficient_quota") {
		t.Errorf("openai-error: got %v", err)
	}
	if _, err := read(t, "openai__parallel-tool-call-wrapper"); err == nil { // its first line is not JSON
		t.Error("a line that is not JSON was read")
	}
}

// cassette is a recording in the format of go-vcr.
type cassette struct {
	Interactions []struct {
		Request  struct{ URL, Body string }
		Response struct{ Body string }
	}
}

func TestResponsesCassettes(t *testing.T) {
	dir := sharedData(t, "fantasy-cassettes")
	n := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".yaml" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(text), "/responses") {
			return err
		}
		var c cassette
		if err := yaml.Unmarshal(text, &c); err != nil {
			return err
		}
		for i, it := range c.Interactions {
			if !strings.HasSuffix(it.Request.URL, "/responses") {
				continue
			}
			n++
			rel, _ := filepath.Rel(dir, path)
			t.Run(fmt.Sprint(rel, " ", i), func(t *testing.T) {
				holdRecorded(t, it.Response.Body)
				holdRequest(t, it.Request.Body)
			})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if n != 78 {
		t.Errorf("there are %d interactions of this protocol, not 78", n)
	}
}

// holdRequest checks that a recorded request means the same after decoding and encoding. These
// differences mean the same: the type of a message is omitted, one text replaces a list of one,
// and the tool choice auto and a format that is not strict are omitted.
func holdRequest(t *testing.T, body string) {
	t.Helper()
	req, err := responses.Protocol{}.DecodeRequest("/responses", []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	again, err := responses.Protocol{}.EncodeRequest(req)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(meaning(t, body), meaning(t, string(again.Body))); diff != "" {
		t.Errorf("(-recorded +encoded again):\n%s", diff)
	}
}

func meaning(t *testing.T, body string) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		t.Fatal(err)
	}
	if v["tool_choice"] == "auto" {
		delete(v, "tool_choice")
	}
	words, _ := v["text"].(map[string]any)
	if format, _ := words["format"].(map[string]any); format["strict"] == false {
		delete(format, "strict")
	}
	input, _ := v["input"].([]any)
	for _, it := range input {
		it, _ := it.(map[string]any)
		if it["type"] == "message" {
			delete(it, "type")
		}
		list, _ := it["content"].([]any)
		if len(list) != 1 {
			continue
		}
		if c, _ := list[0].(map[string]any); c["type"] == "input_text" && len(c) == 2 {
			it["content"] = c["text"]
		}
	}
	return v
}
