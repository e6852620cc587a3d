package importer_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/looptape/looptape/cassettes"
	"github.com/looptape/looptape/cassettes/convert"
	"github.com/looptape/looptape/cassettes/recording"
	"github.com/looptape/looptape/internal/jsonval"
	"github.com/looptape/looptape/trace/importer"
)

// requests are requests with a history, by protocol.
func requests() map[string]string {
	list := func(name string) string {
		text := examples["messages/"+name]
		if i := strings.Index(text, `"messages":`); i >= 0 {
			text = strings.TrimSuffix(text[i+len(`"messages":`):], "}")
		}
		return text
	}
	tool := `{"name":"f","description":"finds","input_schema":{"type":"object","title":"F"}}`
	return map[string]string{
		"openai-chat":        `{"model":"m","temperature":0.5,"metadata":{"k":"v"},"tools":[{"type":"function","function":{"name":"f","description":"finds","parameters":{"title":"F"}}}],"messages":` + examples["messages"] + `}`,
		"openai-responses":   `{"model":"m","instructions":"be short","input":` + list("responses") + `}`,
		"anthropic-messages": `{"model":"m","max_tokens":9,"system":[{"type":"text","text":"be short"}],"tools":[` + tool + `],"messages":` + list("anthropic") + `}`,
		"gemini":             `{"systemInstruction":{"parts":[{"text":"be short"}]},"generationConfig":{"temperature":0.5},"contents":` + list("gemini") + `}`,
		"bedrock-converse":   `{"system":[{"text":"be short"}],"inferenceConfig":{"maxTokens":9},"messages":` + list("converse") + `}`,
		"cohere-chat":        `{"model":"m","messages":` + list("cohere") + `}`,
		"ollama-chat":        `{"model":"m","options":{"seed":3},"messages":` + list("ollama") + `}`,
	}
}

// Whatever is in the bodies of a request to a model and of its response is in the run or in the
// request of the exchange, or there is an error.
func TestConservedOverHTTP(t *testing.T) {
	for name, request := range requests() {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				count := map[string]int{}
				body := func(text string) string {
					v, err := jsonval.Decode([]byte(text))
					if err != nil {
						t.Fatal(err)
					}
					v = mutateMembers(t, v, false)
					leaves(count, "", v)
					line, err := jsonval.Line(v)
					if err != nil {
						t.Fatal(err)
					}
					return string(bytes.TrimSpace(line))
				}
				x := over("POST", "https://api.cohere.com"+bodies[name].path, body(request), body(bodies[name].response))
				format := rapid.SampledFrom(convert.Formats()).Draw(t, "format")
				file, _, err := convert.Write(format, recording.Metadata{}, []*recording.Interaction{x})
				if err != nil {
					t.Skip(err)
				}
				_, runs, failed, _ := readAll(t, "file", file)
				if len(failed) > 0 || len(runs) == 0 {
					return
				}
				content := contentOf(t, runs)
				src, err := importer.Open("file", bytes.NewReader(file))
				if err != nil {
					t.Fatal(err)
				}
				for e, err := range src.Exchanges() {
					if err != nil || e.Incomplete != nil {
						return
					}
					if slices.ContainsFunc(e.Unknown, func(err *importer.Error) bool { return strings.Contains(err.Error(), "alternatives") }) {
						return
					}
					leavesOf(t, content, e.Request.AppendJSON(nil))
				}
				names := slices.DeleteFunc(lostFrom("messages/ui-4", count, content), func(name string) bool {
					return joined(content, name) // a system prompt, or a text, of several parts
				})
				if len(names) > 0 {
					t.Fatalf("lost %s in\n%s\n%s", strings.Join(names, "\n"), x.Request.Body, x.Response.Body)
				}
			})
		})
	}
}

// joined reports whether a text of the content has the leaf that lost names.
func joined(content map[string]int, name string) bool {
	leaf, err := strconv.Unquote(name[:strings.LastIndex(name, ": ")])
	return err == nil && len(leaf) > 1 && slices.ContainsFunc(slices.Collect(maps.Keys(content)), func(text string) bool { return strings.Contains(text, leaf) })
}

// A run has the text, the calls and the usage of a streaming response, and events of an unknown kind
// are listed.
func TestConservedStreamsOverHTTP(t *testing.T) {
	for name, c := range map[string]struct{ request, stream, usage, unknown string }{
		"anthropic-messages": {
			`{"model":"m","max_tokens":9,"stream":true,"messages":[` + hi + `]}`,
			`{"type":"message_start","message":{"id":"r","role":"assistant","usage":{"input_tokens":5,"service_tier":"standard"}}}
{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}
{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"ok"}}
{"type":"content_block_stop","index":0}
{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"a","name":"f","input":{}}}
{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"x\":1}"}}
{"type":"content_block_stop","index":1}
{"type":"new_event","text":"?"}
{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":7}}
{"type":"message_stop"}`,
			`{"input_tokens":5,"service_tier":"standard","output_tokens":7}`, "new_event",
		},
		"openai-chat": {
			`{"model":"m","stream":true,"messages":[` + hi + `]}`,
			`{"id":"r","choices":[{"index":0,"delta":{"role":"assistant","content":"ok"}}]}
{"id":"r","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}}]},"finish_reason":"tool_calls"}]}
{"id":"r","choices":[],"usage":{"prompt_tokens":5,"completion_tokens":7,"cost":0.25}}`,
			`{"prompt_tokens":5,"completion_tokens":7,"cost":0.25}`, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var events strings.Builder
			for line := range strings.Lines(c.stream) {
				var event struct{ Type string }
				if err := json.Unmarshal([]byte(line), &event); err != nil {
					t.Fatal(err)
				}
				fmt.Fprintf(&events, "event: %s\ndata: %s\n\n", event.Type, strings.TrimSpace(line))
			}
			x := over("POST", "https://a.b"+bodies[name].path, c.request, strings.ReplaceAll(events.String(), "event: \n", "")+"data: [DONE]\n\n")
			x.Response.Header.Set("Content-Type", "text/event-stream")
			_, runs, failed, unknown := readAll(t, "file", cassettes.Encode(recording.Metadata{}, nil, []*recording.Interaction{x}))
			if len(runs) != 1 || failed != nil {
				t.Fatalf("%d runs, errors %v", len(runs), failed)
			}
			if got, want := summary(&runs[0]), `user "hi"`; !strings.HasPrefix(got, want) || !strings.Contains(got, `assistant "ok" a f{"x":1}`) {
				t.Errorf("run %s", got)
			}
			if got := string(runs[0].Meta["provider_usage"]); got != c.usage || runs[0].Resources().Usage.OutputTokens != 7 {
				t.Errorf("usage %s, %+v, want %s", got, runs[0].Resources().Usage, c.usage)
			}
			if got := fmt.Sprint(unknown); !strings.Contains(got, c.unknown) || (c.unknown == "") != (unknown == nil) {
				t.Errorf("not understood: %s, want %s", got, c.unknown)
			}
		})
	}
}
