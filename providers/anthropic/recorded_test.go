package anthropic_test

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/llm"
)

// facts are the content of a response, as encoding/json reads it from the raw bytes.
type facts struct {
	Text, Thinking string
	Signatures     []string
	Calls, Server  []fact
	Finish         string
	Usage          map[string]int64
	ID, Model      string
}

type fact struct{ ID, Name, Args string }

type rawBlock struct {
	Type, ID, Name, Text, Thinking, Signature string
	Input                                     json.RawMessage
}

type rawMessage struct {
	ID, Model  string
	Content    []rawBlock
	Usage      map[string]json.RawMessage
	StopReason string `json:"stop_reason"`
}

func (f *facts) count(usage map[string]json.RawMessage) {
	if f.Usage == nil {
		f.Usage = map[string]int64{}
	}
	for k, v := range usage {
		var n int64
		if json.Unmarshal(v, &n) == nil && strings.HasSuffix(k, "_tokens") {
			f.Usage[k] = n
		}
	}
}

func (f *facts) block(b rawBlock) {
	f.Text += b.Text
	f.Thinking += b.Thinking
	if b.Signature != "" {
		f.Signatures = append(f.Signatures, b.Signature)
	}
	switch b.Type {
	case "tool_use":
		f.Calls = append(f.Calls, fact{b.ID, b.Name, string(b.Input)})
	case "server_tool_use":
		f.Server = append(f.Server, fact{b.ID, b.Name, string(b.Input)})
	}
}

// readWhole finds the facts of a non-streaming response.
func readWhole(t *testing.T, body []byte) (f facts) {
	t.Helper()
	var m rawMessage
	if err := json.Unmarshal(body, &m); err != nil {
		t.Fatal(err)
	}
	for _, b := range m.Content {
		f.block(b)
	}
	f.count(m.Usage)
	f.Finish, f.ID, f.Model = m.StopReason, m.ID, m.Model
	return f
}

// readEvents finds the facts of a stream, given as the data of its events.
func readEvents(t *testing.T, data [][]byte) (f facts) {
	t.Helper()
	blocks := map[int]*rawBlock{}
	var order []int
	for _, d := range data {
		var ev struct {
			Type    string
			Index   int
			Message rawMessage
			Block   rawBlock `json:"content_block"`
			Delta   struct {
				Type, Text, Thinking, Signature string
				Partial                         string `json:"partial_json"`
				StopReason                      string `json:"stop_reason"`
			}
			Usage map[string]json.RawMessage
		}
		if err := json.Unmarshal(d, &ev); err != nil {
			t.Fatal(err)
		}
		switch ev.Type {
		case "message_start":
			f.ID, f.Model, f.Finish = ev.Message.ID, ev.Message.Model, ev.Message.StopReason
			f.count(ev.Message.Usage)
			for _, b := range ev.Message.Content {
				f.block(b)
			}
		case "content_block_start":
			blocks[ev.Index], order = &ev.Block, append(order, ev.Index)
			if bytes.Equal(ev.Block.Input, []byte("{}")) {
				ev.Block.Input = nil
			}
		case "content_block_delta":
			b := blocks[ev.Index]
			b.Text += ev.Delta.Text
			b.Thinking += ev.Delta.Thinking
			b.Signature += ev.Delta.Signature
			b.Input = append(b.Input, ev.Delta.Partial...)
		case "message_delta":
			f.Finish = cmp.Or(ev.Delta.StopReason, f.Finish)
			f.count(ev.Usage)
		}
	}
	for _, i := range order {
		f.block(*blocks[i])
	}
	return f
}

// factsOf returns the facts of a response.
func factsOf(turn *llm.Response, usage map[string]int64) (f facts) {
	f.Text = turn.Text()
	f.Thinking, _ = turn.Reasoning()
	for _, p := range turn.Parts {
		switch p := p.(type) {
		case llm.Reasoning:
			var o struct{ Signature string }
			_ = json.Unmarshal(p.Opaque, &o)
			f.Signatures = append(f.Signatures, o.Signature)
		case llm.ToolCall:
			if p.ProviderExecuted {
				f.Server = append(f.Server, fact{p.ID, p.Name, p.Arguments})
			} else {
				f.Calls = append(f.Calls, fact{p.ID, p.Name, p.Arguments})
			}
		}
	}
	f.Finish, f.ID, f.Model = turn.RawFinishReason, turn.ResponseID, turn.Model
	if turn.FinishReason == llm.FinishRefusal {
		f.Finish = "refusal"
	}
	f.Usage = map[string]int64{}
	for k, n := range map[string]int64{
		"input_tokens":            turn.Usage.InputTokens - turn.Usage.CacheReadInputTokens - turn.Usage.CacheCreationInputTokens,
		"cache_read_input_tokens": turn.Usage.CacheReadInputTokens, "cache_creation_input_tokens": turn.Usage.CacheCreationInputTokens, "output_tokens": turn.Usage.OutputTokens,
	} {
		if _, told := usage[k]; told || n != 0 {
			f.Usage[k] = n
		}
	}
	return f
}

func sameFacts(t *testing.T, want facts, turn *llm.Response, err error) {
	t.Helper()
	for i := range want.Calls {
		want.Calls[i].Args = orEmpty(want.Calls[i].Args)
	}
	for i := range want.Server {
		want.Server[i].Args = orEmpty(want.Server[i].Args)
	}
	if diff := gocmp.Diff(want, factsOf(turn, want.Usage)); diff != "" || err != nil {
		t.Errorf("error %v, facts (-in the bytes +decoded):\n%s", err, diff)
	}
	if w := codes(turn); w != "" {
		t.Errorf("warnings: %s", w)
	}
}

// orEmpty is the input of a call without deltas.
func orEmpty(args string) string {
	if args == "" {
		return "{}"
	}
	return args
}

func eventData(body []byte) (data [][]byte) {
	for line := range bytes.Lines(body) {
		if d, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("data: ")); ok {
			data = append(data, d)
		}
	}
	return data
}

type golden struct {
	File, Finish   string
	TextSHA256     string `json:"text_sha256"`
	ReasoningChars int    `json:"reasoning_chars"`
	Calls          []struct{ ID, Name, Arguments string }
	ToolCalls      []struct{ ID, Name, Arguments string } `json:"tool_calls"`
}

func goldens(t *testing.T, dir string) map[string]golden {
	t.Helper()
	all := map[string]golden{}
	f, err := os.Open(filepath.Join(dir, "golden.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var probe struct{ Protocol string }
		if err := json.Unmarshal(lines.Bytes(), &probe); err != nil {
			t.Fatal(err)
		}
		if probe.Protocol != "anthropic-messages" {
			continue
		}
		var g golden
		if err := json.Unmarshal(lines.Bytes(), &g); err != nil {
			t.Fatal(err)
		}
		all[g.File] = g
	}
	return all
}

func TestRecordedStreams(t *testing.T) {
	dir := shared(t, "wire")
	want := goldens(t, dir)
	files, _ := filepath.Glob(filepath.Join(dir, "anthropic-messages", "*.sse"))
	if len(files) != len(want) || len(files) == 0 {
		t.Fatalf("%d streams, %d goldens", len(files), len(want))
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			body, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			turn, err := decode(bytes.NewReader(body))
			sameFacts(t, readEvents(t, eventData(body)), turn, err)
			g := want["anthropic-messages/"+filepath.Base(file)]
			sum := sha256.Sum256([]byte(turn.Text()))
			thought, _ := turn.Reasoning()
			if turn.RawFinishReason != g.Finish || hex.EncodeToString(sum[:]) != g.TextSHA256 || len([]rune(thought)) != g.ReasoningChars {
				t.Errorf("finish %q, text %q, %d characters of reasoning; the golden is %+v", turn.RawFinishReason, turn.Text(), len([]rune(thought)), g)
			}
			got := slices.Collect(func(yield func(struct{ ID, Name, Arguments string }) bool) {
				for _, c := range turn.Calls() {
					if !yield(struct{ ID, Name, Arguments string }{c.ID, c.Name, c.Arguments}) {
						return
					}
				}
			})
			if !slices.Equal(got, g.ToolCalls) {
				t.Errorf("calls %v, the golden has %v", got, g.ToolCalls)
			}
		})
	}
}

func TestRecordedChunks(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join(shared(t, "wire"), "anthropic-messages", "vercel-ai", "*.txt"))
	if len(files) == 0 {
		t.Fatal("got no chunks")
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			body, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			// A file may contain several responses.
			for _, answer := range bytes.SplitAfter(bytes.TrimSpace(body), []byte(`{"type":"message_stop"}`)) {
				if len(answer) == 0 {
					continue
				}
				data := bytes.Split(bytes.TrimSpace(answer), []byte("\n"))
				var texts []string
				for _, d := range data {
					texts = append(texts, string(d))
				}
				turn, err := decode(strings.NewReader(stream(texts...)))
				sameFacts(t, readEvents(t, data), turn, err)
			}
		})
	}
}
