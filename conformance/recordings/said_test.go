package recordings

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/llm"
)

// said is the content of a response. One comes from the raw JSON through the readers of this package,
// which do not use the codecs. Another comes from the response of an adapter.
type said struct {
	ID, Model       string
	Text, Reasoning string
	Calls           []call
	Ran             []string // ids of the calls that the provider executed
	Signed          []string // signatures and encrypted data, which must be sent back
	Word            string   // the finish reason of the provider
	Finish          string   // and that of llm
	Usage           usage
}

// call is a tool call. Its arguments are a string if they are a string on the wire, otherwise a value.
type call struct {
	ID, Name string
	Args     any
}

type usage struct {
	InputTokens, OutputTokens, CacheReadInputTokens, CacheCreationInputTokens, ReasoningOutputTokens int64
}

// add appends the content of an item.
func (s *said) add(more said) {
	s.Text += more.Text
	s.Reasoning += more.Reasoning
	s.Calls = append(s.Calls, more.Calls...)
	s.Ran = append(s.Ran, more.Ran...)
	s.Signed = append(s.Signed, more.Signed...)
}

// hold compares the content of the raw JSON with a response.
func (s said) hold(t *testing.T, turn *llm.Response, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(s, heard(t, turn, s.Calls)); diff != "" {
		t.Errorf("(-bytes +response):\n%s", diff)
	}
	if len(turn.Warnings) > 0 {
		t.Errorf("warnings: %v", turn.Warnings)
	}
}

// heard returns the content of a response. Arguments are values if those of the other side are.
func heard(t *testing.T, turn *llm.Response, like []call) said {
	t.Helper()
	s := said{
		ID: turn.ResponseID, Model: turn.Model, Text: turn.Text(),
		Word: cmp.Or(turn.RawFinishReason, string(turn.FinishReason)), Finish: string(turn.FinishReason), Usage: usage(turn.Usage),
	}
	s.Reasoning, _ = turn.Reasoning()
	for _, p := range turn.Parts {
		switch p := p.(type) {
		case llm.Text:
			s.Signed = append(s.Signed, signed(opaque(t, p.Opaque))...)
		case llm.Reasoning:
			s.Signed = append(s.Signed, signed(opaque(t, p.Opaque))...)
		case llm.ToolCall:
			s.Signed = append(s.Signed, signed(opaque(t, p.Opaque))...)
			if p.ProviderExecuted {
				s.Ran = append(s.Ran, p.ID)
				continue
			}
			c := call{p.ID, p.Name, p.Arguments}
			if i := len(s.Calls); i < len(like) {
				if _, text := like[i].Args.(string); !text {
					c.Args = parse(t, []byte(p.Arguments))
				}
			}
			s.Calls = append(s.Calls, c)
		}
	}
	return s
}

// signed returns the signed and encrypted values, in the order of the names of the members.
func signed(v any) (out []string) {
	switch v := v.(type) {
	case []any:
		for _, x := range v {
			out = append(out, signed(x)...)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			x := v[key]
			switch s, _ := x.(string); {
			case s == "":
				out = append(out, signed(x)...)
			case key == "signature", key == "thoughtSignature", key == "encrypted_content", key == "data":
				out = append(out, s)
			}
		}
	}
	return out
}

func opaque(t *testing.T, raw json.RawMessage) any {
	t.Helper()
	if raw == nil {
		return nil
	}
	return parse(t, raw)
}

// parse reads one JSON value; numbers keep their digits.
func parse(t *testing.T, text []byte) (v any) {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if _, err := dec.Token(); err != io.EOF {
		t.Fatalf("more than one value: %s", text)
	}
	return v
}

// at returns the value at a path of names and indexes, or nil.
func at(v any, path ...any) any {
	for _, step := range path {
		switch step := step.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[step]
		case int:
			l, _ := v.([]any)
			if step >= len(l) {
				return nil
			}
			v = l[step]
		}
	}
	return v
}

func text(v any, path ...any) string {
	s, _ := at(v, path...).(string)
	return s
}

func number(v any, path ...any) int64 {
	n, _ := at(v, path...).(json.Number)
	i, _ := n.Int64()
	return i
}

func list(v any, path ...any) []any {
	l, _ := at(v, path...).([]any)
	return l
}

// documents returns the data of the events of a stream, or the non-streaming response.
func documents(t *testing.T, x exchange) (docs []any) {
	t.Helper()
	if !x.streamed() {
		return []any{parse(t, x.response)}
	}
	for line := range strings.Lines(string(x.response)) {
		data, ok := strings.CutPrefix(strings.TrimRight(line, "\r\n"), "data: ")
		if ok && data != "[DONE]" {
			docs = append(docs, parse(t, []byte(data)))
		}
	}
	return docs
}

func (x exchange) streamed() bool { return strings.HasPrefix(x.kind, "text/event-stream") }
