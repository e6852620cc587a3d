package anthropic_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/anthropic"
)

func hello(more ...llm.Message) []llm.Message { return append([]llm.Message{llm.User("hi")}, more...) }

func userText(parts ...llm.Part) *llm.Request {
	return &llm.Request{ResponseMode: llm.NonStreaming, Messages: []llm.Message{{Role: llm.RoleUser, Parts: parts}}}
}

func assistantText(parts ...llm.Part) *llm.Request {
	return &llm.Request{ResponseMode: llm.NonStreaming, Messages: hello(llm.Assistant(parts...))}
}

func answers(results ...llm.ToolResult) *llm.Request {
	return &llm.Request{ResponseMode: llm.NonStreaming, Messages: hello(llm.ToolResults(results...))}
}

func settings(s llm.Settings) *llm.Request {
	return &llm.Request{ResponseMode: llm.NonStreaming, Messages: hello(), Settings: s}
}

func tools(tools ...llm.Tool) *llm.Request {
	return &llm.Request{ResponseMode: llm.NonStreaming, Messages: hello(), Tools: tools}
}

// prompted is a request with a system prompt and messages before a question.
func prompted(system llm.System, before ...llm.Message) *llm.Request {
	return &llm.Request{ResponseMode: llm.NonStreaming, System: system, Messages: append(before, hello()...)}
}

// with adds a member to Extra.
func with(r *llm.Request, key, value string) *llm.Request {
	r.Extra = map[string]json.RawMessage{key: raw(value)}
	return r
}

// block is a text block of a request.
func block(text string, mark bool) string {
	if mark {
		return `{"type":"text","text":"` + text + `","cache_control":{"type":"ephemeral"}}`
	}
	return `{"type":"text","text":"` + text + `"}`
}

const userHi = `{"role":"user","content":[{"type":"text","text":"hi"}]}`

// TestEncodeRequest shows what is made of what the API would refuse, and what wins.
func TestEncodeRequest(t *testing.T) {
	hi := `"max_tokens":4096,"messages":[` + userHi + `]`
	name128 := strings.Repeat("n", 128)
	for _, c := range []struct {
		name string
		req  *llm.Request
		want string
	}{
		{"nothing but a question", settings(llm.Settings{}), `{` + hi + `}`},
		{"a stream", &llm.Request{Model: "m", Messages: hello()}, `{"model":"m",` + hi + `,"stream":true}`},
		{"settings", settings(llm.Settings{MaxTokens: 1, Temperature: new(0.0), TopP: new(1.0), StopSequences: []string{"a", "b"}, ReasoningEffort: "high", OutputSchema: raw(`{"type": "object"}`)}),
			`{"max_tokens":1,"messages":[` + userHi + `],"temperature":0,"top_p":1,"stop_sequences":["a","b"],"output_config":{"effort":"high","format":{"type":"json_schema","schema":{"type":"object"}}}}`},
		{"a schema alone", settings(llm.Settings{OutputSchema: raw(`{}`)}), `{` + hi + `,"output_config":{"format":{"type":"json_schema","schema":{}}}}`},
		{"what goes with tools, without any", &llm.Request{ResponseMode: llm.NonStreaming, Messages: hello(), ToolChoice: llm.ToolChoice{Mode: llm.ChooseNone}, Settings: llm.Settings{ParallelToolCalls: new(false), StopSequences: []string{}}}, `{` + hi + `}`},
		{"no choice of tools", &llm.Request{ResponseMode: llm.NonStreaming, Messages: hello(), Tools: []llm.Tool{{Name: name128}}, ToolChoice: llm.ToolChoice{Mode: llm.ChooseNone}, Settings: llm.Settings{ParallelToolCalls: new(true)}},
			`{` + hi + `,"tools":[{"name":"` + name128 + `","input_schema":{"type":"object"}}],"tool_choice":{"type":"none"}}`},
		{"one call at a time", &llm.Request{ResponseMode: llm.NonStreaming, Messages: hello(), Tools: []llm.Tool{{Name: "zZ09_-", Parameters: raw(`{}`)}}, Settings: llm.Settings{ParallelToolCalls: new(false)}},
			`{` + hi + `,"tools":[{"name":"zZ09_-","input_schema":{"type":"object"}}],"tool_choice":{"type":"auto","disable_parallel_tool_use":true}}`},
		{"a schema without a type", tools(llm.Tool{Name: "f", Description: "d", Parameters: raw(`{"properties":{"oneOf":{}}}`), Strict: new(true)}),
			`{` + hi + `,"tools":[{"name":"f","description":"d","input_schema":{"type":"object","properties":{"oneOf":{}}},"strict":true}]}`},
		{"system messages that come first", &llm.Request{ResponseMode: llm.NonStreaming, System: llm.SystemText("A"), Messages: []llm.Message{
			{Role: llm.RoleSystem, Parts: []llm.Part{llm.Text{Text: "B"}}}, {Role: llm.RoleSystem}, llm.User("hi"), {Role: llm.RoleSystem, Parts: []llm.Part{llm.Text{Text: "C"}}}}},
			`{"max_tokens":4096,"system":"A\n\nB","messages":[` + userHi + `,{"role":"system","content":[{"type":"text","text":"C"}]}]}`},
		{"a system message alone", &llm.Request{ResponseMode: llm.NonStreaming, Messages: []llm.Message{{Role: llm.RoleSystem, Parts: []llm.Part{llm.Text{Text: "B"}}}, llm.User("hi")}},
			`{"max_tokens":4096,"system":"B","messages":[` + userHi + `]}`},
		{"a system prompt of space", &llm.Request{ResponseMode: llm.NonStreaming, System: llm.SystemText(" \n"), Messages: hello()}, `{` + hi + `}`},
		{"a system prompt with a mark", prompted(marked("A")), `{"max_tokens":4096,"system":[` + block("A", true) + `],"messages":[` + userHi + `]}`},
		{"parts after a mark", prompted(llm.System{{Text: "A", CacheMark: true}, {Text: "B"}, {Text: "C"}}),
			`{"max_tokens":4096,"system":[` + block("A", true) + `,` + block("B", false) + `,` + block("C", false) + `],"messages":[` + userHi + `]}`},
		{"parts without a mark", prompted(llm.System{{Text: "A"}, {Text: "B"}}), `{"max_tokens":4096,"system":[` + block("A", false) + `,` + block("B", false) + `],"messages":[` + userHi + `]}`},
		{"a mark on a blank part", prompted(llm.System{{Text: "A"}, {Text: " ", CacheMark: true}, {Text: "B"}}), `{"max_tokens":4096,"system":[` + block("A", true) + `,` + block("B", false) + `],"messages":[` + userHi + `]}`},
		{"a mark on a blank part that is the first", prompted(llm.System{{CacheMark: true}, {Text: "B"}}), `{"max_tokens":4096,"system":"B","messages":[` + userHi + `]}`},
		{"blank parts alone", prompted(marked("", "\n")), `{` + hi + `}`},
		{"a system message after a mark", prompted(marked("A"), llm.Message{Role: llm.RoleSystem, Parts: []llm.Part{llm.Text{Text: "B"}}}, llm.Message{Role: llm.RoleSystem, Parts: []llm.Part{llm.Text{Text: "C"}}}),
			`{"max_tokens":4096,"system":[` + block("A", true) + `,` + block("B\\n\\nC", false) + `],"messages":[` + userHi + `]}`},
		{"a system message after a part without a mark", prompted(llm.System{{Text: "A", CacheMark: true}, {Text: "B"}}, llm.Message{Role: llm.RoleSystem, Parts: []llm.Part{llm.Text{Text: "C"}}}),
			`{"max_tokens":4096,"system":[` + block("A", true) + `,` + block("B\\n\\nC", false) + `],"messages":[` + userHi + `]}`},
		{"five marks", prompted(marked("A", "B", "C", "D", "E")),
			`{"max_tokens":4096,"system":[` + block("A", false) + `,` + block("B", true) + `,` + block("C", true) + `,` + block("D", true) + `,` + block("E", true) + `],"messages":[` + userHi + `]}`},
		{"four marks and that of the whole request", with(prompted(marked("A", "B", "C", "D")), "cache_control", `{"type":"ephemeral"}`),
			`{"max_tokens":4096,"system":[` + block("A", false) + `,` + block("B", true) + `,` + block("C", true) + `,` + block("D", true) + `],"messages":[` + userHi + `],"cache_control":{"type":"ephemeral"}}`},
		{"a mark of the messages and one of each tool", with(prompted(marked("A", "B"), llm.Message{Role: llm.RoleUser, Parts: []llm.Part{llm.Text{Text: "q", Opaque: raw(`{"cache_control":{"type":"ephemeral"}}`)}}}),
			"tools", `[{"name":"f","cache_control":{"type":"ephemeral"}},{"name":"g","cache_control":null},{"name":"h","cache_control":{"type":"ephemeral"}}]`),
			`{"max_tokens":4096,"system":[` + block("A", false) + `,` + block("B", true) + `],"messages":[{"role":"user","content":[` + block("q", true) + `]},` + userHi +
				`],"tools":[{"name":"f","cache_control":{"type":"ephemeral"}},{"name":"g","cache_control":null},{"name":"h","cache_control":{"type":"ephemeral"}}]}`},
		{"marks in a result, and that of the whole request", with(&llm.Request{ResponseMode: llm.NonStreaming, System: marked("A"), Messages: hello(llm.ToolResults(llm.ToolResult{ID: "a", Opaque: raw(`{"cache_control":{"type":"ephemeral"}}`), Content: []llm.Part{
			llm.Text{Text: "x", Opaque: raw(`{"cache_control":{"type":"ephemeral"}}`)}, llm.Text{Text: " ", Opaque: raw(`{"cache_control":{"type":"ephemeral"}}`)},
			llm.Text{Text: "z", Opaque: raw(`{"cache_control":{"type":"ephemeral"}}`)},
		}}))}, "cache_control", `{"type":"ephemeral"}`),
			`{"max_tokens":4096,"system":"A","messages":[` + userHi + `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[` + block("x", true) + `,` + block("z", true) + `],"cache_control":{"type":"ephemeral"}}]}],"cache_control":{"type":"ephemeral"}}`},
		{"a system prompt of Extra", with(prompted(marked("A")), "system", `"B"`), `{` + hi + `,"system":"B"}`},
		{"what Extra has", &llm.Request{Model: "m", System: llm.SystemText("s"), Messages: hello(), Tools: []llm.Tool{{Name: "f"}}, ToolChoice: llm.ToolChoice{Mode: llm.ChooseRequired},
			Settings: llm.Settings{MaxTokens: 5, Temperature: new(0.5), TopP: new(0.5), StopSequences: []string{"x"}, ReasoningEffort: "low"},
			Extra: map[string]json.RawMessage{"model": raw(`"n"`), "max_tokens": raw(`9`), "system": raw(`[ ]`), "messages": raw(`[]`), "tools": raw(`[]`), "tool_choice": raw(`{}`), "temperature": raw(`1`),
				"top_p": raw(`1`), "stop_sequences": raw(`[]`), "output_config": raw(`{"s":"\ud83d"}`), "stream": raw(`false`), "container": raw(`"c"`), "x\"": nil}},
			`{"container":"c","max_tokens":9,"messages":[],"model":"n","output_config":{"s":"\ufffd"},"stop_sequences":[],"stream":false,"system":[],"temperature":1,"tool_choice":{},"tools":[],"top_p":1,"x\"":null}`},
		{"a choice of tools that Extra has", &llm.Request{ResponseMode: llm.NonStreaming, Messages: hello(), ToolChoice: llm.ToolChoice{Mode: llm.ChooseRequired}, Extra: map[string]json.RawMessage{"tools": raw(`[{"type":"x"}]`)}},
			`{` + hi + `,"tool_choice":{"type":"any"},"tools":[{"type":"x"}]}`},

		{"blank texts next to others", userText(llm.Text{}, llm.Text{Text: "hi"}, llm.Text{Text: " "}), said(`{"type":"text","text":"hi"}`)},
		{"texts without a word, alone", assistantText(llm.Text{Text: "\n"}, call("t", "f", "{}")), replied(`{"type":"tool_use","id":"t","name":"f","input":{}}`)},
		{"an answer with nothing in it", assistantText(llm.Text{Text: "\n"}, llm.Reasoning{Text: "hm"}, llm.Reasoning{Opaque: raw(`{"thoughtSignature":"x"}`)}), `{` + hi + `}`},
		{"results of nothing", answers(), `{` + hi + `}`},
		{"an empty answer first", &llm.Request{ResponseMode: llm.NonStreaming, Messages: append([]llm.Message{llm.Assistant()}, hello()...)}, `{` + hi + `}`},
		{"text that is not UTF-8", userText(llm.Text{Text: "a\xffb"}), said("{\"type\":\"text\",\"text\":\"a\ufffdb\"}")},
		{"opaque data", userText(llm.Text{Text: "hi", Opaque: raw(`{"type":"x","text":"y","cache_control":{"type":"ephemeral"},"b":1,"anthropic":{"a":"\ud83d"}}`)}), said(`{"type":"text","text":"hi","cache_control":{"type":"ephemeral"},"a":"\ufffd"}`)},
		{"opaque data of others", assistantText(llm.Text{Text: "hi", Opaque: raw(`{"thoughtSignature":"x"}`)}, llm.Text{Text: "hi", Opaque: raw(`[1]`)}, llm.Text{Text: "hi", Opaque: raw(`{`)}), replied(`{"type":"text","text":"hi"},{"type":"text","text":"hi"},{"type":"text","text":"hi"}`)},
		{"a refusal", assistantText(llm.Text{Text: "no", Refusal: true}), replied(`{"type":"text","text":"no"}`)},
		{"a signature that is empty", assistantText(llm.Reasoning{Text: "a", Opaque: raw(`{"signature":"","anthropic":{"x":1}}`)}), replied(`{"type":"thinking","thinking":"a","signature":"","x":1}`)},
		{"names of calls", assistantText(call("a", "", "{}"), call("b", "x.y:é", "{}"), call("c", name128+"n", "{}"), call("d", name128, "{}")),
			replied(`{"type":"tool_use","id":"a","name":"unnamed","input":{}},{"type":"tool_use","id":"b","name":"x_y___","input":{}},{"type":"tool_use","id":"c","name":"` + name128 + `","input":{}},{"type":"tool_use","id":"d","name":"` + name128 + `","input":{}}`)},
		{"a call whose id the loop made", assistantText(llm.ToolCall{ID: "loop_1", ProviderID: "x", IDGenerated: true, Name: "f"}), replied(`{"type":"tool_use","id":"loop_1","name":"f","input":{}}`)},
		{"an opaque type of an ordinary call", assistantText(llm.ToolCall{ID: "a", Name: "f", Opaque: raw(`{"type":"function_call"}`)}), replied(`{"type":"tool_use","id":"a","name":"f","input":{}}`)},
		{"results", answers(llm.ToolResult{ID: "a"}, llm.ToolResult{ID: "b", IsError: true, Content: []llm.Part{llm.Text{Text: " "}}}, llm.ToolResult{ID: "c", Content: []llm.Part{llm.Text{}, llm.Text{Text: "x"}, llm.Unknown{Raw: raw(` {"type": "y"}`)}}}),
			said3(`{"type":"tool_result","tool_use_id":"a"},{"type":"tool_result","tool_use_id":"b","content":[{"type":"text","text":"The tool failed without a message."}],"is_error":true},` +
				`{"type":"tool_result","tool_use_id":"c","content":[{"type":"text","text":"x"},{"type":"y"}]}`)},
		{"media", userText(llm.Media{MediaType: "image/gif", Data: []byte{1}}, llm.Media{MediaType: "image/jpeg", Data: []byte{}, Name: "n"}, llm.Media{MediaType: "image/webp", URL: "u", Data: []byte{2}}, llm.Media{MediaType: "image/tiff", URL: "u"}),
			said(`{"type":"image","source":{"type":"base64","media_type":"image/gif","data":"AQ=="}},{"type":"image","source":{"type":"base64","media_type":"image/jpeg","data":""}},` +
				`{"type":"image","source":{"type":"base64","media_type":"image/webp","data":"Ag=="}},{"type":"image","source":{"type":"url","url":"u"}}`)},
		{"a container by its id", &llm.Request{ResponseMode: llm.NonStreaming, Messages: []llm.Message{llm.User("hi"), {Role: llm.RoleAssistant, Opaque: raw(`{"container":"c1"}`)}, {Role: llm.RoleAssistant, Opaque: raw(`{"container":{"id":7}}`)}}},
			`{` + hi + `,"container":"c1"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, encodeRequest(t, c.req)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func said(blocks string) string {
	return `{"max_tokens":4096,"messages":[{"role":"user","content":[` + blocks + `]}]}`
}

func replied(blocks string) string {
	return `{"max_tokens":4096,"messages":[` + userHi + `,{"role":"assistant","content":[` + blocks + `]}]}`
}

func said3(blocks string) string {
	return `{"max_tokens":4096,"messages":[` + userHi + `,{"role":"user","content":[` + blocks + `]}]}`
}

// TestEncodeRequestErrors checks the errors for data that Anthropic Messages cannot represent, and
// their position.
func TestEncodeRequestErrors(t *testing.T) {
	deep := raw(strings.Repeat(`{"a":`, 500) + `{}` + strings.Repeat(`}`, 500))
	for _, c := range []struct {
		name string
		req  *llm.Request
		want string
	}{
		{"no message", &llm.Request{}, "messages: no content: add a user message"},
		{"max_tokens", settings(llm.Settings{MaxTokens: -1}), "settings.max_tokens: -1 is below 0"},
		{"temperature", settings(llm.Settings{Temperature: new(1.1)}), "settings.temperature: Anthropic Messages accepts 0 to 1, not 1.1"},
		{"temperature", settings(llm.Settings{Temperature: new(math.NaN())}), "settings.temperature: Anthropic Messages accepts 0 to 1, not NaN"},
		{"top_p", settings(llm.Settings{TopP: new(-0.1)}), "settings.top_p: Anthropic Messages accepts 0 to 1, not -0.1"},
		{"seed", settings(llm.Settings{Seed: new(int64(0))}), "settings.seed: Anthropic Messages has no seed: remove it"},
		{"stop", settings(llm.Settings{StopSequences: []string{"a", "\n"}}), "settings.stop[1]: Anthropic Messages does not accept blank stop sequences"},
		{"schema", settings(llm.Settings{OutputSchema: raw(`[]`)}), "settings.output_schema: invalid: want a JSON object, nested at most 500 deep"},
		{"schema", settings(llm.Settings{OutputSchema: deep}), "settings.output_schema: invalid: want a JSON object, nested at most 500 deep"},
		{"extra", &llm.Request{Messages: hello(), Extra: map[string]json.RawMessage{"a": raw(`{`)}}, "extra.a: not JSON, or nested more than 500 deep"},
		{"tool name", tools(llm.Tool{Name: "f"}, llm.Tool{Name: "a.b"}), `tools[1]: Anthropic Messages accepts a name of 1 to 128 letters, digits, _ and -, not "a.b"`},
		{"tool name", tools(llm.Tool{}), `tools[0]: Anthropic Messages accepts a name of 1 to 128 letters, digits, _ and -, not ""`},
		{"tool name", tools(llm.Tool{Name: strings.Repeat("n", 129)}), `tools[0]: Anthropic Messages accepts a name of 1 to 128 letters, digits, _ and -, not "` + strings.Repeat("n", 129) + `"`},
		{"tools of one name", tools(llm.Tool{Name: "f"}, llm.Tool{Name: "g"}, llm.Tool{Name: "f"}), `tools[2]: duplicate tool name "f"`},
		{"parameters", tools(llm.Tool{Name: "f", Parameters: raw(`"x"`)}), "tools[0].parameters: invalid: want a JSON object, nested at most 500 deep"},
		{"parameters", tools(llm.Tool{Name: "f", Parameters: raw(`{"anyOf":[]}`)}), "tools[0].parameters: Anthropic Messages does not accept anyOf at the top of a schema: move it into a property"},
		{"parameters", tools(llm.Tool{Name: "f", Parameters: raw(`{"oneOf":[]}`)}), "tools[0].parameters: Anthropic Messages does not accept oneOf at the top of a schema: move it into a property"},
		{"parameters", tools(llm.Tool{Name: "f", Parameters: raw(`{"allOf":[]}`)}), "tools[0].parameters: Anthropic Messages does not accept allOf at the top of a schema: move it into a property"},
		{"choice", &llm.Request{Messages: hello(), ToolChoice: llm.ToolChoice{Mode: llm.ChooseRequired}}, "tool_choice: required without tools: add a tool"},
		{"choice", &llm.Request{Messages: hello(), ToolChoice: llm.ToolChoice{Mode: llm.ChooseTool, Name: "f"}}, "tool_choice: tool:f without tools: add a tool"},
		{"choice", &llm.Request{Messages: hello(), Tools: []llm.Tool{{Name: "f"}}, ToolChoice: llm.ToolChoice{Mode: "some"}}, `tool_choice: Anthropic Messages has no mode "some"`},
		{"role", &llm.Request{Messages: hello(llm.Message{Role: "bot"})}, `messages[1]: Anthropic Messages has no role "bot"`},
		{"first role", &llm.Request{Messages: []llm.Message{llm.Assistant(llm.Text{Text: "x"}), llm.User("y")}}, `messages[0]: the first message must have the role user, not "assistant"`},
		{"an empty prompt", &llm.Request{Messages: hello(llm.User(" "))}, "messages[1]: empty user message: add content"},
		{"reasoning of the user", userText(llm.Text{Text: "x"}, llm.Reasoning{Opaque: raw(`{"signature":"x"}`)}), `messages[0].parts[1]: only an assistant message contains reasoning, not one with the role "user"`},
		{"a call of the user", userText(call("a", "f", "{}")), `messages[0].parts[0]: only an assistant message contains calls, not one with the role "user"`},
		{"an image of the assistant", assistantText(llm.Media{MediaType: "image/png", URL: "u"}), "messages[1].parts[0]: an assistant message contains no image/png in Anthropic Messages"},
		{"a result of the assistant", assistantText(llm.ToolResult{ID: "a"}), "messages[1].parts[0]: an assistant message contains no tool result: use llm.Unknown for a result of the provider"},
		{"a call without an id", assistantText(call("", "f", "{}")), "messages[1].parts[0]: missing call id: set ToolCall.ID"},
		{"a result without an id", answers(llm.ToolResult{}), "messages[1].parts[0]: missing call id: set ToolCall.ID"},
		{"unknown", userText(llm.Unknown{Kind: "x", Raw: raw(`[]`)}), `messages[0].parts[0]: the part of the kind "x" is not a JSON object: use the whole object`},
		{"unknown", userText(llm.Unknown{Kind: "x"}), `messages[0].parts[0]: the part of the kind "x" is not a JSON object: use the whole object`},
		{"unknown", userText(llm.Unknown{Kind: "x", Raw: raw(`{"x":` + strings.Repeat("[", 500) + strings.Repeat("]", 500) + `}`)}), `messages[0].parts[0]: the block of type "x" nests more than 500 deep, or is not UTF-8`},
		{"of Gemini", userText(llm.Unknown{Kind: "gemini_part", Raw: raw(`{"part":{}}`)}), `messages[0].parts[0]: the part of the kind "gemini_part" belongs to another protocol and is unknown to anthropic-messages: remove it from the message`},
		{"media elsewhere", userText(llm.Media{MediaType: "image/png", Digest: "sha256:00"}), `messages[0].parts[0]: image/png has neither data nor a URL (digest "sha256:00"): load the content`},
		{"a data URL", userText(llm.Media{MediaType: "image/png", URL: "data:image/png;base64,AQ=="}), "messages[0].parts[0]: Anthropic Messages does not accept data URLs: put the bytes of the image/png into Data"},
		{"audio", userText(llm.Media{MediaType: "audio/wav", Data: []byte{1}}), "messages[0].parts[0]: Anthropic Messages accepts images, PDF and plain text, not audio/wav"},
		{"plain text at a URL", userText(llm.Media{MediaType: "text/plain", URL: "u"}), "messages[0].parts[0]: Anthropic Messages accepts images, PDF and plain text, not text/plain at a URL"},
		{"invalid plain text", userText(llm.Media{MediaType: "text/plain", Data: []byte{0xff}}), "messages[0].parts[0]: the text of a document is not UTF-8"},
		{"a bitmap", userText(llm.Media{MediaType: "image/bmp", Data: []byte{1}}), "messages[0].parts[0]: Anthropic Messages accepts image/jpeg, image/png, image/gif and image/webp, not image/bmp"},
		{"a call in a result", answers(llm.ToolResult{ID: "a", Content: []llm.Part{call("b", "f", "")}}), "messages[1].parts[0].content[0]: a tool result contains only text, images, documents and llm.Unknown blocks, not llm.ToolCall"},
		{"the first of two", &llm.Request{Messages: hello(llm.Message{Role: "bot"}), Settings: llm.Settings{MaxTokens: -1}}, "settings.max_tokens: -1 is below 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := anthropic.Messages{}.EncodeRequest(c.req)
			if err == nil || err.Error() != c.want || r != nil {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}
