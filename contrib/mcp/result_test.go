package mcp

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
)

// Results become outputs. Invalid ones, those that are too large and those that ask for input are errors.
func TestOutput(t *testing.T) {
	for _, test := range []struct {
		raw  string
		want loop.Output
		err  string
	}{
		{raw: `{"content":[]}`},
		{raw: `{"content":[{"type":"text","text":"a","annotations":{"priority":1}},{"type":"text","text":""}],"resultType":"complete"}`, want: loop.Output{Content: []llm.Part{llm.Text{Text: "a"}, llm.Text{}}}},
		{raw: `{"content":[],"isError":true}`, want: loop.Output{Content: []llm.Part{llm.Text{Text: noText}}, IsError: true}},
		{raw: `{"content":[{"type":"text","text":"t"}],"structuredContent":[1, 2]}`, want: loop.Output{Content: []llm.Part{llm.Text{Text: "t"}}, Value: json.RawMessage(`[1, 2]`)}},
		{raw: `{"structuredContent":0}`, want: loop.Output{Content: []llm.Part{llm.Text{Text: "0"}}, Value: json.RawMessage(`0`)}},
		{raw: `{"content":[],"structuredContent":null}`},
		{raw: `{"content":[{"type":"hologram","x":1}]}`, want: loop.TextOutput(`{"type":"hologram","x":1}`)},
		{raw: `{"content":[{"type":"resource","resource":{"uri":"a","text":""}}]}`, want: loop.Output{Content: []llm.Part{llm.Text{}}}},
		{raw: `{"content":[{"type":"text","text":"` + strings.Repeat("x", 60) + `"}],"structuredContent":"` + strings.Repeat("x", 39) + `"}`, err: "the result has 101 bytes, more than 100 (Config.MaxResult): ask for less"},
		{raw: `{"content":[{"type":"image","mimeType":"image/png","data":"` + strings.Repeat("AAAA", 34) + `"}]}`, err: "the result has 111 bytes, more than 100 (Config.MaxResult): ask for less"},
		{raw: `{"content":[{"type":"image","mimeType":"` + strings.Repeat("x", 101) + `","data":""}]}`, err: "the result has 101 bytes, more than 100 (Config.MaxResult): ask for less"},
		{raw: `{"content":[` + strings.Repeat(`{"type":"text","text":""},`, 10_000) + `{"type":"text","text":""}]}`, err: "the result has 10001 content blocks, more than 10000: ask for less"},
		{raw: `{"content":[{"type":"text"},{"type":"image","data":"?"}]}`, err: "the result is invalid: content[1]: illegal base64 data at input byte 0"},
		{raw: `{"content":"text"}`, err: "the result is invalid: json: cannot unmarshal string into Go struct field .content of type []json.RawMessage"},
		{raw: `{"resultType":"input_required","requestState":"x"}`, err: "the tool asks for input of a person or a model, which this client does not give"},
		{raw: `{"resultType":"task"}`, err: `the result has the unknown type "task"`},
	} {
		got, err := output(json.RawMessage(test.raw), 100)
		if test.err == "" {
			test.err = "<nil>"
		}
		if diff := cmp.Diff(test.want, got); diff != "" || errorText(err) != test.err {
			t.Errorf("%s: got the error %v, want %s (-want +got):\n%s", test.raw, err, test.err, diff)
		}
	}
}

// A result with content that the SDK does not know, and one that asks for input, come through a
// connection as they are.
func TestResultsUnknownToSDK(t *testing.T) {
	c := scriptedClient(t, nil)
	for raw, want := range map[string]string{
		`{"content":[{"type":"hologram"}]}`:                        `[{{"type":"hologram"} false []}] <nil>`,
		`{"resultType":"input_required","requestState":"x"}`:       `[] mcp: server "s": tool "raw": the tool asks for input of a person or a model, which this client does not give`,
		`{"content":[{"type":"text","text":"\ud83d\ude00"}]}`:      `[{😀 false []}] <nil>`,
		`{"content":[{"type":"text","text":"<&> \u2028 \u0000"}]}`: "[{<&> \u2028 \x00 false []}] <nil>",
	} {
		out, err := run(t.Context(), c, "s__raw", raw)
		if got := strings.TrimSpace(sprint(out.Content, err)); got != want {
			t.Errorf("%s: got %s, want %s", raw, got, want)
		}
	}
}
