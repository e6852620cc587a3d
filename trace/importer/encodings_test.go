package importer_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/importer"
)

// encodings are encodings of a JSON value in compact form. A nil one is not possible on a line.
var encodings = map[string]func(compact []byte) []byte{
	"compact": func(compact []byte) []byte { return compact },
	"spaces":  withSpaces,
	"sorted": func(compact []byte) []byte {
		var value any
		d := json.NewDecoder(bytes.NewReader(compact))
		d.UseNumber()
		_ = d.Decode(&value) // the value is valid
		var sorted bytes.Buffer
		e := json.NewEncoder(&sorted)
		e.SetEscapeHTML(false)
		_ = e.Encode(value)
		return withSpaces(bytes.TrimSpace(sorted.Bytes()))
	},
	"indented": func(compact []byte) []byte {
		var indented bytes.Buffer
		_ = json.Indent(&indented, compact, "", "  ")
		return indented.Bytes()
	},
}

// withSpaces returns a value as json.dumps of Python encodes it.
func withSpaces(compact []byte) (spaced []byte) {
	inString, escaped := false, false
	for _, c := range compact {
		spaced = append(spaced, c)
		switch {
		case escaped:
			escaped = false
		case inString && c == '\\':
			escaped = true
		case c == '"':
			inString = !inString
		case !inString && (c == ',' || c == ':'):
			spaced = append(spaced, ' ')
		}
	}
	return spaced
}

// compactValues returns the JSON values of a file in compact form; ok is false if it has anything else.
func compactValues(file string) (values [][]byte, ok bool) {
	d := json.NewDecoder(strings.NewReader(file))
	for {
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return values, err == io.EOF && len(values) > 0
		}
		var compact bytes.Buffer
		_ = json.Compact(&compact, value)
		values = append(values, compact.Bytes())
	}
}

// encoded returns the values in an encoding, one per line.
func encoded(values [][]byte, encode func([]byte) []byte) string {
	var lines []string
	for _, value := range values {
		lines = append(lines, string(encode(value)))
	}
	return strings.Join(lines, "\n") + "\n"
}

// runsIn describes a recording independent of the encoding of its JSON: texts and arguments, which
// may be JSON, by the characters in them.
func runsIn(file string) (format string, lines []string) {
	src, err := importer.Open("x", strings.NewReader(file))
	if err != nil {
		return "", nil
	}
	for run, err := range src.Runs() {
		line := fmt.Sprint(run.Name, " ", err == nil, " ", len(run.Unknown), " ", len(run.Scores))
		for _, m := range run.Messages {
			text := m.Text()
			line += "; " + string(m.Role)
			for _, c := range m.Calls() {
				line += fmt.Sprintf(" %s %s", c.ID, c.Name)
				text += c.Arguments
			}
			for _, part := range m.Parts {
				if r, ok := part.(llm.ToolResult); ok {
					line += " " + r.ID
					text += r.Text()
				}
			}
			characters := []rune(strings.Map(func(r rune) rune {
				if unicode.IsSpace(r) {
					return -1
				}
				return r
			}, text))
			slices.Sort(characters)
			line += " " + string(characters)
		}
		lines = append(lines, line)
	}
	return src.Format.Name, slices.Compact(lines) // members that follow an invalid run are more errors
}

// A format is recognized, and its runs are the same, with any spaces, line breaks and order of members.
func TestEncodingsOfJSON(t *testing.T) {
	read := map[string]bool{}
	seeds := slices.Concat(fuzzSeeds(t), streams, []string{`{"version":1,"interactions":[{"request":{"method":"POST","uri":"` + chatURL + `","body":"{\"messages\":[` + strings.ReplaceAll(hi, `"`, `\"`) + `]}"},"response":{"status":{"code":200},"body":{"string":"{\"choices\":[{\"message\":{\"role\":\"assistant\",\"content\":\"yo\"},\"finish_reason\":\"stop\"}]}"}}}]}`})
	for _, seed := range seeds {
		format, want := runsIn(seed)
		values, ok := compactValues(seed)
		if !ok || format == "" {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(encodings)) {
			if name == "indented" && (len(values) > 1 || format == "trace") {
				continue // the format has lines
			}
			file := encoded(values, encodings[name])
			got, lines := runsIn(file)
			if diff := cmp.Diff(want, lines); diff != "" || got != format {
				t.Errorf("%s, %s: read as %q (-want +got):\n%s\n%s", format, name, got, diff, file)
			}
		}
		read[format] = true
	}
	for _, name := range importer.FormatNames() {
		if !read[name] && !slices.Contains([]string{"cassette", "httprr", "go-vcr1", "go-vcr2"}, name) { // not JSON
			t.Errorf("the format %s has no seed in JSON", name)
		}
	}
}

// streams are streaming responses in each protocol, one event per line.
var streams = []string{
	`{"type":"message_start","message":{"id":"m","role":"assistant","content":[],"usage":{"input_tokens":5}}}
{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"f","input":{}}}
{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"x\":1}"}}
{"type":"content_block_stop","index":0}
{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":7}}
{"type":"message_stop"}
`,
	`{"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":"{\"x\""}}]}}]}
{"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]}}]}
{"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}
{"id":"c","object":"chat.completion.chunk","choices":[],"usage":{"prompt_tokens":5,"completion_tokens":7}}
`,
	`{"type":"response.created","response":{"id":"r","object":"response","status":"in_progress","output":[]}}
{"type":"response.output_item.added","output_index":0,"item":{"id":"i","type":"function_call","call_id":"a","name":"f","arguments":"","status":"in_progress"}}
{"type":"response.function_call_arguments.delta","item_id":"i","output_index":0,"delta":"{\"x\":1}"}
{"type":"response.function_call_arguments.done","item_id":"i","output_index":0,"arguments":"{\"x\":1}"}
{"type":"response.output_item.done","output_index":0,"item":{"id":"i","type":"function_call","call_id":"a","name":"f","arguments":"{\"x\":1}","status":"completed"}}
{"type":"response.completed","response":{"id":"r","object":"response","status":"completed","output":[{"id":"i","type":"function_call","call_id":"a","name":"f","arguments":"{\"x\":1}","status":"completed"}],"usage":{"input_tokens":5,"output_tokens":7,"total_tokens":12}}}
`,
	`{"candidates":[{"content":{"role":"model","parts":[{"text":"o"}]}}],"responseId":"g"}
{"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"id":"a","name":"f","args":{"x":1}}}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":5,"candidatesTokenCount":7},"responseId":"g"}
`,
	strings.Replace(cohereLines, `{"type":"new-event","text":"?"}`+"\n", "", 1) + "\n",
	`{"model":"m","message":{"role":"assistant","content":"o"},"done":false}
{"model":"m","message":{"role":"assistant","content":"","tool_calls":[{"id":"a","function":{"name":"f","arguments":{"x":1}}}]},"done":false}
{"model":"m","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","prompt_eval_count":5,"eval_count":7}
`,
	`{"messageStart":{"role":"assistant"}}
{"contentBlockDelta":{"contentBlockIndex":0,"delta":{"text":"o"}}}
{"contentBlockStop":{"contentBlockIndex":0}}
{"contentBlockStart":{"contentBlockIndex":1,"start":{"toolUse":{"toolUseId":"a","name":"f"}}}}
{"contentBlockDelta":{"contentBlockIndex":1,"delta":{"toolUse":{"input":"{\"x\":1}"}}}}
{"contentBlockStop":{"contentBlockIndex":1}}
{"messageStop":{"stopReason":"tool_use"}}
{"metadata":{"usage":{"inputTokens":5,"outputTokens":7,"totalTokens":12}}}
`,
}
