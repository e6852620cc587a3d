package chat_test

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/openai/chat"
)

// chatShared is the folder of the recordings: LOOPTAPE_SHARED, or a folder
// "shared" next to this package or above it.
func chatShared(t testing.TB) string {
	t.Helper()
	if dir := os.Getenv("LOOPTAPE_SHARED"); dir != "" {
		return filepath.Join(dir, "data")
	}
	dir, err := os.Getwd()
	for err == nil {
		data := filepath.Join(dir, "shared", "data")
		if _, err := os.Stat(data); err == nil {
			return data
		}
		up := filepath.Dir(dir)
		if up == dir {
			break
		}
		dir = up
	}
	t.Skip("no recordings: no folder shared/data here or above, and LOOPTAPE_SHARED is not set")
	return ""
}

// chatFacts are the content of a response, read without the codec.
type chatFacts struct {
	Text, Reasoning, Finish string
	Calls                   []chatFactCall
	Usage                   llm.Usage
}

type chatFactCall struct{ ID, Name, Args string }

// chatRaw is a chunk or a response as encoding/json reads it.
type chatRaw struct {
	Choices []struct {
		Delta, Message *chatRawMessage
		Finish         *string `json:"finish_reason"`
	}
	Usage *struct {
		Prompt     int64 `json:"prompt_tokens"`
		Completion int64 `json:"completion_tokens"`
		Total      int64 `json:"total_tokens"`
		In         struct {
			Cached int64 `json:"cached_tokens"`
			Write  int64 `json:"cache_write_tokens"`
		} `json:"prompt_tokens_details"`
		Out struct {
			Reasoning int64 `json:"reasoning_tokens"`
		} `json:"completion_tokens_details"`
		Created int64 `json:"cache_creation_input_tokens"`
	}
}

type chatRawMessage struct {
	Content   *string
	Reasoning *string
	Thought   *string `json:"reasoning_content"`
	Calls     []struct {
		Index    int
		ID       string
		Function struct{ Name, Arguments string }
	} `json:"tool_calls"`
}

// add takes a chunk, or a complete response.
func (f *chatFacts) add(t *testing.T, data string, whole bool) {
	t.Helper()
	var raw chatRaw
	if err := json.Unmarshal([]byte(data), &raw); err != nil {
		t.Fatal(err)
	}
	for _, c := range raw.Choices {
		m := cmp.Or(c.Delta, c.Message, &chatRawMessage{})
		empty := ""
		f.Text += *cmp.Or(m.Content, &empty)
		f.Reasoning += *cmp.Or(m.Thought, m.Reasoning, &empty)
		f.Finish = *cmp.Or(c.Finish, &f.Finish)
		for i, call := range m.Calls {
			at := slices.IndexFunc(f.Calls, func(c chatFactCall) bool { return call.ID == "" || c.ID == call.ID })
			if call.ID == "" {
				at = len(f.Calls) - 1 // no recording has interleaved calls
			}
			if whole && i != len(f.Calls) {
				t.Fatal("calls of a response out of order")
			}
			if at < 0 {
				f.Calls = append(f.Calls, chatFactCall{ID: call.ID})
				at = len(f.Calls) - 1
			}
			f.Calls[at].Name += call.Function.Name
			f.Calls[at].Args += call.Function.Arguments
		}
	}
	if u := raw.Usage; u != nil {
		f.Usage = llm.Usage{InputTokens: u.Prompt, OutputTokens: u.Completion, CacheReadInputTokens: u.In.Cached, CacheCreationInputTokens: cmp.Or(u.In.Write, u.Created), ReasoningOutputTokens: u.Out.Reasoning}
		if u.Out.Reasoning > u.Completion || u.Total == u.Prompt+u.Completion+u.Out.Reasoning {
			f.Usage.OutputTokens += u.Out.Reasoning
		}
	}
}

// hold compares the facts with a response.
func (f *chatFacts) hold(t *testing.T, turn *llm.Response, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	reasoning, _ := turn.Reasoning()
	got := chatFacts{Text: turn.Text(), Reasoning: reasoning, Finish: cmp.Or(turn.RawFinishReason, string(turn.FinishReason)), Usage: turn.Usage}
	for _, c := range turn.Calls() {
		got.Calls = append(got.Calls, chatFactCall{c.ID, c.Name, c.Arguments})
	}
	if diff := gocmp.Diff(*f, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(turn.Warnings) > 0 || turn.ResponseID == "" || turn.Model == "" {
		t.Errorf("warnings %v, id %q, model %q", turn.Warnings, turn.ResponseID, turn.Model)
	}
}

// chatData splits a recorded stream into its data, in this test's own way.
func chatData(wire string) (data []string) {
	for line := range strings.Lines(wire) {
		if d, ok := strings.CutPrefix(strings.TrimRight(line, "\r\n"), "data: "); ok && d != "[DONE]" {
			data = append(data, d)
		}
	}
	return data
}

// chatGolden is a line of golden.jsonl.
type chatGolden struct {
	File, Protocol, Finish string
	TextSum                string         `json:"text_sha256"`
	Calls                  []chatRawCalls `json:"tool_calls"`
}

type chatRawCalls struct{ ID, Name, Arguments string }

func TestChatRecordedStreams(t *testing.T) {
	shared := chatShared(t)
	list, err := os.Open(filepath.Join(shared, "wire", "golden.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = list.Close() }()
	n := 0
	lines := bufio.NewScanner(list)
	for lines.Buffer(nil, 1<<20); lines.Scan(); {
		var want chatGolden
		if err := json.Unmarshal(lines.Bytes(), &want); err != nil {
			// Of other protocols the arguments may be objects.
			continue
		}
		if want.Protocol != "openai-chat" {
			continue
		}
		n++
		t.Run(strings.TrimPrefix(want.File, "openai-chat/"), func(t *testing.T) {
			wire, err := os.ReadFile(filepath.Join(shared, "wire", want.File))
			if err != nil {
				t.Fatal(err)
			}
			var facts chatFacts
			for _, data := range chatData(string(wire)) {
				facts.add(t, data, false)
			}
			turn, err := chatTurn(bytes.NewReader(wire))
			facts.hold(t, turn, err)
			got := chatGolden{File: want.File, Protocol: want.Protocol, Finish: facts.Finish, TextSum: fmt.Sprintf("%x", sha256.Sum256([]byte(turn.Text())))}
			for _, c := range turn.Calls() {
				got.Calls = append(got.Calls, chatRawCalls{c.ID, c.Name, c.Arguments})
			}
			if diff := gocmp.Diff(want, got, gocmp.Transformer("none", func(c []chatRawCalls) string { return fmt.Sprint(c) })); diff != "" {
				t.Errorf("golden.jsonl (-want +got):\n%s", diff)
			}
		})
	}
	if n != 64 {
		t.Errorf("golden.jsonl has %d streams of Chat Completions, want 64", n)
	}
}

func TestChatForeignStreams(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join(chatShared(t), "wire", "openai-chat", "vercel-ai", "*"))
	if len(files) != 5 {
		t.Errorf("%d files, want 5", len(files))
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			data := chatData(string(text))
			if len(data) == 0 {
				data = strings.Split(strings.TrimSpace(string(text)), "\n")
			}
			var facts chatFacts
			for _, d := range data {
				facts.add(t, d, false)
			}
			turn, err := chatTurn(strings.NewReader(chatStream(data...)))
			facts.hold(t, turn, err)
		})
	}
}

// chatCassette is a cassette of go-vcr.
type chatCassette struct {
	Interactions []struct {
		Request  struct{ URL, Body string }
		Response struct{ Body string }
	}
}

func TestChatCassettes(t *testing.T) {
	root := filepath.Join(chatShared(t), "fantasy-cassettes")
	answers, streams := 0, 0
	err := filepath.WalkDir(root, func(path string, _ os.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".yaml" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(text, []byte("/chat/completions")) {
			return err
		}
		var c chatCassette
		if err := yaml.Unmarshal(text, &c); err != nil {
			return err
		}
		name, _ := filepath.Rel(root, path)
		for i, x := range c.Interactions {
			t.Run(fmt.Sprint(name, ".", i), func(t *testing.T) {
				chatSameRequest(t, x.Request.Body)
				var facts chatFacts
				if body := strings.TrimSpace(x.Response.Body); strings.HasPrefix(body, "{") {
					answers++
					facts.add(t, body, true)
					turn, err := chatAnswer(body)
					facts.hold(t, turn, err)
					return
				}
				streams++
				for _, data := range chatData(x.Response.Body) {
					facts.add(t, data, false)
				}
				turn, err := chatTurn(strings.NewReader(x.Response.Body))
				facts.hold(t, turn, err)
			})
		}
		return nil
	})
	if err != nil || answers != 145 || streams != 152 {
		t.Errorf("%d responses and %d streams, want 145 and 152; %v", answers, streams, err)
	}
}

// chatSameRequest reads a request body and writes it again.
func chatSameRequest(t *testing.T, body string) {
	t.Helper()
	chat := chat.Protocol{}
	req, err := chat.DecodeRequest("/chat/completions", []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	again, err := chat.EncodeRequest(req)
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(chatMeaning(t, body), chatMeaning(t, string(again.Body))); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
}

// chatMeaning is a request body as a value, without the differences that mean
// nothing: the choice auto, which is the default; stream: false; a content that is
// null, absent or empty next to calls; a content of one plain text, as an array or
// not.
func chatMeaning(t *testing.T, body string) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		t.Fatal(err)
	}
	if v["tool_choice"] == "auto" {
		delete(v, "tool_choice")
	}
	if v["stream"] == false {
		delete(v, "stream")
	}
	messages, _ := v["messages"].([]any)
	for _, m := range messages {
		m := m.(map[string]any)
		if parts, ok := m["content"].([]any); ok && len(parts) == 1 {
			if p := parts[0].(map[string]any); p["type"] == "text" && len(p) == 2 {
				m["content"] = p["text"]
			}
		}
		if m["content"] == nil || m["content"] == "" {
			delete(m, "content")
		}
	}
	return v
}
