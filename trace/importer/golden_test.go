package importer_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/importer"
	"github.com/looptape/looptape/trace/importer/internal/tree"
)

// goldenFile is a line of a golden.json of recordings of HTTP, which a program without code of
// this project has computed.
type goldenFile struct {
	File       string
	ModelCalls []goldenCall `json:"model_calls"`
}

type goldenCall struct {
	Protocol  string
	Status    int
	ToolCalls [][2]*string `json:"tool_calls"` // ids, null without one, and names
	Usage     struct {
		Input, Output, Thoughts int64
		CacheRead               int64 `json:"cache_read"`
		CacheWrite              int64 `json:"cache_write"`
	}
	TextChars int `json:"text_chars"`
	Request   struct{ Calls, Results int }
}

// values returns the values in the terms of looptape: input includes what the cache has, and
// output includes reasoning.
func (c *goldenCall) values() string {
	u := c.Usage
	switch c.Protocol {
	case "anthropic-messages", "bedrock-converse":
		u.Input += u.CacheRead + u.CacheWrite
	case "gemini":
		u.Output += u.Thoughts
	}
	calls := ""
	for _, call := range c.ToolCalls {
		id := "-"
		if call[0] != nil {
			id = *call[0]
		}
		calls += " " + id + " " + *call[1]
	}
	return fmt.Sprintf("%s tokens %d/%d, text %d, request %d/%d,%s", c.Protocol, u.Input, u.Output, c.TextChars, c.Request.Calls, c.Request.Results, calls)
}

// callValues returns the values of an exchange.
func callValues(e *importer.Exchange) string {
	g := goldenCall{Protocol: e.Protocol.Name()}
	for _, m := range e.Request.Messages {
		for _, part := range m.Parts {
			switch p := part.(type) {
			case llm.ToolCall:
				if !p.ProviderExecuted && !isSearch(p.Opaque) {
					g.Request.Calls++
				}
			case llm.ToolResult:
				if !isSearch(p.Opaque) {
					g.Request.Results++
				}
			}
		}
	}
	u := llm.Usage{}
	if r := e.Response; r != nil {
		g.TextChars = utf8.RuneCountInString(r.Text())
		for _, call := range r.Calls() {
			if isSearch(call.Opaque) {
				continue
			}
			id := &call.ID
			if call.IDGenerated || *id == "" {
				id = nil
			}
			g.ToolCalls = append(g.ToolCalls, [2]*string{id, &call.Name})
		}
		u = r.Usage
	}
	g.Usage.Input, g.Usage.Output = u.InputTokens, u.OutputTokens
	name := g.Protocol
	g.Protocol = "" // the sums are in the terms of looptape already
	return name + g.values()
}

// isSearch reports whether opaque data is that of a search for tools by the client. The golden file counts
// only calls of functions and of custom tools.
func isSearch(opaque json.RawMessage) bool {
	return strings.HasPrefix(tree.Scalar(opaque, "type"), "tool_search_")
}

func TestModelCallsOfRecordedHTTP(t *testing.T) {
	for _, set := range []string{"pydantic-ai-cassettes", "openinference-cassettes", "logfire-cassettes"} {
		dir := filepath.Join(sharedDir(t), "data", set)
		text, err := os.ReadFile(filepath.Join(dir, "golden.json"))
		if err != nil {
			t.Skip("the data set is not there: ", err)
		}
		var golden struct{ Files []goldenFile }
		if err := json.Unmarshal(text, &golden); err != nil {
			t.Fatal(err)
		}
		calls := 0
		for _, f := range golden.Files {
			calls += len(f.ModelCalls)
			t.Run(set+"/"+f.File, func(t *testing.T) { compareCalls(t, filepath.Join(dir, f.File), f.ModelCalls) })
		}
		t.Logf("%s: %d files, %d model calls", set, len(golden.Files), calls)
	}
}

// knownDifferences are the values that the golden file and looptape count differently in a
// recording with a text in its name or its content.
var knownDifferences = []struct {
	text  string
	value *regexp.Regexp
}{
	// looptape counts the prompt tokens of the provider's tools as input.
	{"toolUsePromptTokenCount", regexp.MustCompile(`^(gemini tokens) \d+`)},
	// The golden file counts a call that the provider runs.
	{"test_bedrock_model_code_execution_tool_stream", regexp.MustCompile(`tooluse_VQNZJRUFMoqZzszVsRd4og nova_code_interpreter ()`)},
	// The golden file has no values of a response in brotli, and of one of Bedrock's older API.
	{"agent_run_reasoning.yaml", regexp.MustCompile(`() tokens \d+/\d+, text \d+`)},
	{"TestNovaInvokeModel", regexp.MustCompile(`^bedrock-.* tokens \d+/\d+, text \d+()`)},
	// The golden file does not count calls in snake case, which Vertex AI accepts.
	{"function_call:", regexp.MustCompile(`^(gemini .*), request \d+/\d+`)},
}

// invalidResponses are recordings with a response of a program that is not a provider.
var invalidResponses = map[string]bool{"test_invalid_response.yaml": true, "test_text_response.yaml": true}

func compareCalls(t *testing.T, file string, golden []goldenCall) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for _, c := range golden {
		want = append(want, c.values())
	}
	src, err := importer.Open(filepath.Base(file), bytes.NewReader(text))
	if err != nil {
		if len(golden) > 0 {
			t.Error(err)
		}
		return
	}
	for e, err := range src.Exchanges() {
		switch {
		case err != nil && len(golden) > 0:
			t.Error(err)
		case err != nil: // the Interactions API of Gemini, which is not read
		case strings.HasPrefix(e.Title, "GET "): // a response that a client fetches later, which the golden file does not have
		case e.Request != nil:
			got = append(got, callValues(&e))
		}
		if e.Incomplete != nil && !invalidResponses[filepath.Base(file)] {
			t.Error(e.Incomplete)
		}
		for _, unknown := range e.Unknown {
			t.Error(unknown)
		}
	}
	for i := range min(len(want), len(got)) {
		for _, known := range knownDifferences {
			if strings.Contains(file, known.text) || bytes.Contains(text, []byte(known.text)) {
				want[i], got[i] = known.value.ReplaceAllString(want[i], "$1"), known.value.ReplaceAllString(got[i], "$1")
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("model calls (-want +got):\n%s", diff)
	}
}
