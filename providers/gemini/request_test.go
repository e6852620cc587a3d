package gemini_test

import (
	"encoding/json"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/gemini"
)

func ptr[T any](v T) *T { return &v }

// everything is a request with all members.
func everything() *llm.Request {
	return &llm.Request{
		Model:  "gemini-3-pro-preview",
		System: llm.SystemText("Be <brief> & kind."),
		Messages: []llm.Message{
			{Role: llm.RoleUser, Parts: []llm.Part{
				text("What is this?"),
				llm.Media{MediaType: "image/png", Data: []byte{1, 2, 255}, Opaque: opaque(`{"mediaResolution":{"level":"MEDIA_RESOLUTION_HIGH"}}`)},
				llm.Media{MediaType: "application/pdf", URL: "https://example.com/a.pdf"},
				llm.Media{URL: "https://youtu.be/x", Opaque: opaque(`{"videoMetadata":{"fps":2}}`)},
			}},
			{Role: llm.RoleAssistant, Parts: []llm.Part{
				llm.Reasoning{Text: "hm"},
				llm.Text{Text: "Let me see.", Opaque: opaque(`{"thoughtSignature":"A"}`)},
				llm.ToolCall{
					Name: "code_execution", Arguments: `{"language":"PYTHON","code":"1"}`, ProviderExecuted: true,
					Opaque: opaque(`{"executableCode":{"language":"PYTHON","code":"1"},"thoughtSignature":"B"}`),
				},
				llm.Unknown{Kind: "gemini_part", Raw: opaque(`{"type":"gemini_part","part":{"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"1"}}}`)},
				llm.ToolCall{ID: "c1", Name: "look", Arguments: `{"q":"<b>","n":1.50}`, Opaque: opaque(`{"thoughtSignature":"C"}`)},
				llm.ToolCall{ID: "loop_call_1", Name: "9lives", Arguments: `{}`, IDGenerated: true},
			}},
			{Role: llm.RoleTool, Parts: []llm.Part{
				llm.ToolResult{ID: "c1", Name: "look", Content: []llm.Part{text("a cat"), llm.Media{MediaType: "image/png", Data: []byte{7}}}},
				llm.ToolResult{ID: "loop_call_1", Name: "9lives", Content: []llm.Part{text("none left")}, IsError: true},
			}},
			llm.User("Thanks."),
		},
		Tools: []llm.Tool{
			{Name: "look", Description: "Looks.", Parameters: opaque(`{"type":"object","additionalProperties":false}`), Strict: ptr(true)},
			{Name: "9lives", Strict: ptr(true)},
		},
		Settings: llm.Settings{
			MaxTokens: 100, Temperature: ptr(0.5), TopP: ptr(1.0), Seed: ptr(int64(-7)), StopSequences: []string{"END", "\n"},
			ReasoningEffort: "HIGH", OutputSchema: opaque(`{"type":"object","$ref":"#/$defs/a"}`),
		},
		Extra: map[string]json.RawMessage{
			"safetySettings":   opaque(`[{"category":"HARM_CATEGORY_HARASSMENT","threshold":"OFF"}]`),
			"generationConfig": opaque(`{"thinkingConfig":{"includeThoughts":true},"topK":40}`),
			"tools":            opaque(`[{"functionDeclarations":[{"name":"look","behavior":"BLOCKING"}]},{"googleSearch":{}}]`),
			"toolConfig":       opaque(`{"retrievalConfig":{"languageCode":"pt"}}`),
		},
	}
}

func TestRequestBody(t *testing.T) {
	got, err := codec.EncodeRequest(everything())
	if err != nil {
		t.Fatal(err)
	}
	want := `{"contents":[` +
		`{"parts":[{"text":"What is this?"},{"inlineData":{"mimeType":"image/png","data":"AQL/"},"mediaResolution":{"level":"MEDIA_RESOLUTION_HIGH"}},` +
		`{"fileData":{"mimeType":"application/pdf","fileUri":"https://example.com/a.pdf"}},{"fileData":{"fileUri":"https://youtu.be/x"},"videoMetadata":{"fps":2}}],"role":"user"},` +
		`{"parts":[{"text":"hm","thought":true},{"text":"Let me see.","thoughtSignature":"A"},{"executableCode":{"language":"PYTHON","code":"1"},"thoughtSignature":"B"},` +
		`{"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"1"}},{"functionCall":{"id":"c1","name":"look","args":{"q":"<b>","n":1.50}},"thoughtSignature":"C"},` +
		`{"functionCall":{"name":"_9lives","args":{}}}],"role":"model"},` +
		`{"parts":[{"functionResponse":{"id":"c1","name":"look","response":{"result":"a cat"},"parts":[{"inlineData":{"mimeType":"image/png","data":"Bw=="}}]}},` +
		`{"functionResponse":{"name":"_9lives","response":{"error":"none left"}}}],"role":"user"},` +
		`{"parts":[{"text":"Thanks."}],"role":"user"}],` +
		`"systemInstruction":{"parts":[{"text":"Be <brief> & kind."}]},` +
		`"tools":[{"functionDeclarations":[{"name":"look","description":"Looks.","parametersJsonSchema":{"type":"object","additionalProperties":false},"behavior":"BLOCKING"},{"name":"_9lives"}]},{"googleSearch":{}}],` +
		`"toolConfig":{"functionCallingConfig":{"mode":"VALIDATED"},"retrievalConfig":{"languageCode":"pt"}},` +
		`"generationConfig":{"maxOutputTokens":100,"temperature":0.5,"topP":1,"seed":-7,"stopSequences":["END","\n"],` +
		`"thinkingConfig":{"thinkingLevel":"HIGH","includeThoughts":true},"responseMimeType":"application/json","responseJsonSchema":{"type":"object","$ref":"#/$defs/a"},"topK":40},` +
		`"safetySettings":[{"category":"HARM_CATEGORY_HARASSMENT","threshold":"OFF"}]}`
	if diff := cmp.Diff(want, string(got.Body)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got.Path != "/models/gemini-3-pro-preview:streamGenerateContent" || got.Query != "alt=sse" || got.Header != nil {
		t.Errorf("got %s?%s, %v", got.Path, got.Query, got.Header)
	}
	back, err := codec.DecodeRequest(got.Path, got.Body)
	if diff := cmp.Diff(everything(), back); diff != "" || err != nil {
		t.Errorf("read again: %v (-want +got):\n%s", err, diff)
	}
}

// ask is a request with its settings.
func ask(change func(*llm.Request)) *llm.Request {
	r := &llm.Request{Model: "m", Messages: []llm.Message{llm.User("hi")}}
	change(r)
	return r
}

func TestRequestErrors(t *testing.T) {
	say := func(m llm.Message) func(*llm.Request) {
		return func(r *llm.Request) { r.Messages = append(r.Messages, m) }
	}
	user := func(p llm.Part) func(*llm.Request) {
		return say(llm.Message{Role: llm.RoleUser, Parts: []llm.Part{text("x"), p}})
	}
	extra := func(key, raw string) func(*llm.Request) {
		return func(r *llm.Request) { r.Extra = map[string]json.RawMessage{key: opaque(raw)} }
	}
	tool := func(tool llm.Tool) func(*llm.Request) {
		return func(r *llm.Request) { r.Tools = []llm.Tool{{Name: "a"}, tool} }
	}
	for want, change := range map[string]func(*llm.Request){
		"model: missing: set Request.Model":                       func(r *llm.Request) { r.Model = "" },
		`model: "a/../b" is invalid in a path`:                    func(r *llm.Request) { r.Model = "a/../b" },
		`model: "a//b" is invalid in a path`:                      func(r *llm.Request) { r.Model = "a//b" },
		`model: "." is invalid in a path`:                         func(r *llm.Request) { r.Model = "." },
		`response_mode: "slow" is unknown: want "" or "buffered"`: func(r *llm.Request) { r.ResponseMode = "slow" },
		"messages: no content: add a user message":                func(r *llm.Request) { r.Messages = []llm.Message{llm.User("")} },
		"messages[2]: the Gemini API has no system message within a conversation: move its text to Request.System": func(r *llm.Request) {
			r.Messages = append([]llm.Message{{Role: llm.RoleSystem}}, append(r.Messages, llm.Message{Role: llm.RoleSystem})...)
		},
		"messages[1]: the Gemini API has no system message within a conversation: move its text to Request.System":                                 say(llm.Message{Role: llm.RoleSystem}),
		`messages[1]: unknown role "critic": want "user", "tool" or "assistant"`:                                                                   say(llm.Message{Role: "critic"}),
		"messages[1].parts[1]: missing media type: set one, such as image/png":                                                                     user(llm.Media{Data: []byte{1}}),
		"messages[1].parts[1]: the media has neither data nor a URL":                                                                               user(llm.Media{MediaType: "image/png", Data: []byte{}}),
		"messages[1].parts[1]: the content of the media is stored elsewhere (sha256:0a): load it first":                                            user(llm.Media{MediaType: "image/png", Digest: "sha256:0a", Size: 1}),
		`messages[1].parts[1]: the part of the kind "compaction" belongs to another protocol and is unknown to gemini: remove it from the message`: user(llm.Unknown{Kind: "compaction", Raw: opaque(`{"type":"compaction"}`)}),
		`messages[1].parts[1]: the part of the kind "gemini_part" has no member part: keep it as it was read`:                                      user(llm.Unknown{Kind: "gemini_part", Raw: opaque(`{"type":"gemini_part"}`)}),
		`messages[1].parts[1]: the part of the kind "other" belongs to another protocol and is unknown to gemini: remove it from the message`:      user(llm.Unknown{Kind: "other", Raw: opaque(`{"part":{}}`)}),
		"messages[1].parts[1].content[1]: a result contains only text and media":                                                                   user(llm.ToolResult{Content: []llm.Part{text("a"), llm.Reasoning{}}}),
		"messages[2].parts[0].content[0]: the media has neither data nor a URL": func(r *llm.Request) {
			r.Messages = []llm.Message{llm.User("a"), llm.ToolResults(llm.ToolResult{}), llm.ToolResults(llm.ToolResult{Content: []llm.Part{llm.Media{}}})}
		},
		"messages[1].parts[1].content[0]: the media has neither data nor a URL":                                                                                              user(llm.ToolResult{Content: []llm.Part{llm.Media{}}}),
		`tools[1]: the name "a b" is invalid: Gemini accepts a letter or underscore, then letters, digits, _ . : and -, at most 64 characters`:                               tool(llm.Tool{Name: "a b"}),
		`tools[1]: the name "_9` + strings.Repeat("a", 63) + `" is invalid: Gemini accepts a letter or underscore, then letters, digits, _ . : and -, at most 64 characters`: tool(llm.Tool{Name: "9" + strings.Repeat("a", 63)}),
		"tools[1]: the parameters are not a JSON object":                                                                                                                     tool(llm.Tool{Name: "b", Parameters: opaque(`[]`)}),
		"tools[1]: the parameters are not a JSON object ":                                                                                                                    tool(llm.Tool{Name: "b", Parameters: opaque(`{`)}),
		"tool_choice: missing tool name: set ToolChoice.Name":                                                                                                                func(r *llm.Request) { r.ToolChoice.Mode = llm.ChooseTool; r.Tools = []llm.Tool{{Name: "a"}} },
		`tool_choice: "maybe" is unknown`:                                                                                                                                    func(r *llm.Request) { r.ToolChoice.Mode = "maybe" },
		"tool_choice: no tools: add a tool":                                                                                                                                  func(r *llm.Request) { r.ToolChoice.Mode = llm.ChooseRequired },
		"settings.temperature: json: unsupported value: NaN":                                                                                                                 func(r *llm.Request) { r.Settings.Temperature = ptr(math.NaN()) },
		"settings.topP: json: unsupported value: +Inf":                                                                                                                       func(r *llm.Request) { r.Settings.TopP = ptr(math.Inf(1)) },
		"settings.seed: 2147483648 exceeds the 32 bits that Gemini reads":                                                                                                    func(r *llm.Request) { r.Settings.Seed = ptr(int64(1 << 31)) },
		"settings.max_tokens: 4294967296 exceeds the 32 bits that Gemini reads":                                                                                              func(r *llm.Request) { r.Settings.MaxTokens = 1 << 32; r.Settings.Temperature = ptr(math.NaN()) },
		"settings.parallel_tool_calls: Gemini cannot limit a step to one call: set nil":                                                                                      func(r *llm.Request) { r.Settings.ParallelToolCalls = ptr(false) },
		"settings.output_schema: not JSON":                                                                                                                                   func(r *llm.Request) { r.Settings.OutputSchema = opaque("{") },
		"extra.x: not JSON: set a JSON value":                                                                                                                                extra("x", "{\xff}"),
		"extra.generationConfig: expected an object":                                                                                                                         extra("generationConfig", "[]"),
		"extra.toolConfig: expected an object":                                                                                                                               extra("toolConfig", "1"),
		"extra.tools: expected an object at [0] (byte 2)":                                                                                                                    extra("tools", "[1]"),
	} {
		_, err := codec.EncodeRequest(ask(change))
		if message(err) != strings.TrimSpace(want) {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

func TestRequestSettings(t *testing.T) {
	tools := []llm.Tool{{Name: "a"}, {Name: "-b"}}
	for name, c := range map[string]struct {
		req  llm.Request
		want string // after the contents
		back llm.Request
	}{
		"nothing":   {},
		"parallel":  {req: llm.Request{Settings: llm.Settings{ParallelToolCalls: ptr(true)}}},
		"a budget":  {req: llm.Request{Settings: llm.Settings{ReasoningEffort: "-1"}}, want: `,"generationConfig":{"thinkingConfig":{"thinkingBudget":-1}}`, back: llm.Request{Settings: llm.Settings{ReasoningEffort: "-1"}}},
		"a level":   {req: llm.Request{Settings: llm.Settings{ReasoningEffort: "007"}}, want: `,"generationConfig":{"thinkingConfig":{"thinkingLevel":"007"}}`, back: llm.Request{Settings: llm.Settings{ReasoningEffort: "007"}}},
		"most seed": {req: llm.Request{Settings: llm.Settings{Seed: ptr(int64(math.MaxInt32))}}, want: `,"generationConfig":{"seed":2147483647}`, back: llm.Request{Settings: llm.Settings{Seed: ptr(int64(math.MaxInt32))}}},
		"none, no tools": {
			req: llm.Request{ToolChoice: llm.ToolChoice{Mode: llm.ChooseNone}},
		},
		"none": {
			req:  llm.Request{Tools: tools, ToolChoice: llm.ToolChoice{Mode: llm.ChooseNone}},
			want: `,"tools":[{"functionDeclarations":[{"name":"a"},{"name":"_-b"}]}],"toolConfig":{"functionCallingConfig":{"mode":"NONE"}}`,
			back: llm.Request{Tools: tools, ToolChoice: llm.ToolChoice{Mode: llm.ChooseNone}},
		},
		"required": {
			req:  llm.Request{Tools: tools, ToolChoice: llm.ToolChoice{Mode: llm.ChooseRequired}},
			want: `,"tools":[{"functionDeclarations":[{"name":"a"},{"name":"_-b"}]}],"toolConfig":{"functionCallingConfig":{"mode":"ANY"}}`,
			back: llm.Request{Tools: tools, ToolChoice: llm.ToolChoice{Mode: llm.ChooseRequired}},
		},
		"one tool": {
			req:  llm.Request{Tools: tools, ToolChoice: llm.ToolChoice{Mode: llm.ChooseTool, Name: "-b"}},
			want: `,"tools":[{"functionDeclarations":[{"name":"a"},{"name":"_-b"}]}],"toolConfig":{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["_-b"]}}`,
			back: llm.Request{Tools: tools, ToolChoice: llm.ToolChoice{Mode: llm.ChooseTool, Name: "-b"}},
		},
		"not strict": {
			req:  llm.Request{Tools: []llm.Tool{{Name: "a", Strict: ptr(false)}}},
			want: `,"tools":[{"functionDeclarations":[{"name":"a"}]}]`,
			back: llm.Request{Tools: []llm.Tool{{Name: "a"}}},
		},
		"tools of the provider": {
			req:  llm.Request{ToolChoice: llm.ToolChoice{Mode: llm.ChooseRequired}, Extra: map[string]json.RawMessage{"tools": opaque(`[{"urlContext":{}}]`)}},
			want: `,"tools":[{"urlContext":{}}],"toolConfig":{"functionCallingConfig":{"mode":"ANY"}}`,
			back: llm.Request{ToolChoice: llm.ToolChoice{Mode: llm.ChooseRequired}, Extra: map[string]json.RawMessage{"tools": opaque(`[{"urlContext":{}}]`)}},
		},
		"a function of Extra": {
			req: llm.Request{Tools: tools[:1], Extra: map[string]json.RawMessage{
				"tools": opaque(`[{"functionDeclarations":[{"name":"z"},{"name":"a","description":"over","response":{"type":"STRING"}}],"codeExecution":{}}]`),
			}},
			want: `,"tools":[{"functionDeclarations":[{"name":"a","description":"over","response":{"type":"STRING"}},{"name":"z"}]},{"codeExecution":{}}]`,
			back: llm.Request{Tools: []llm.Tool{{Name: "a", Description: "over"}, {Name: "z"}}, Extra: map[string]json.RawMessage{
				"tools": opaque(`[{"functionDeclarations":[{"name":"a","response":{"type":"STRING"}}]},{"codeExecution":{}}]`),
			}},
		},
		"Extra wins": {
			req: llm.Request{System: llm.SystemText("mine"), Settings: llm.Settings{MaxTokens: 5, ReasoningEffort: "LOW"}, Extra: map[string]json.RawMessage{
				"systemInstruction": opaque(`{"parts":[{"text":"yours"}]}`),
				"generationConfig":  opaque(`{"maxOutputTokens":6, "thinkingConfig":{"thinkingLevel":"HIGH"}}`),
				"toolConfig":        opaque(`{}`),
			}},
			want: `,"generationConfig":{"thinkingConfig":{"thinkingLevel":"HIGH"},"maxOutputTokens":6},"systemInstruction":{"parts":[{"text":"yours"}]}`,
			back: llm.Request{System: llm.SystemText("yours"), Settings: llm.Settings{MaxTokens: 6, ReasoningEffort: "HIGH"}},
		},
		"Extra wins over an object": {
			req:  llm.Request{Settings: llm.Settings{ReasoningEffort: "LOW"}, Extra: map[string]json.RawMessage{"generationConfig": opaque(`{"thinkingConfig":7}`)}},
			want: `,"generationConfig":{"thinkingConfig":7}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			c.req.Model, c.req.ResponseMode, c.req.Messages = "tunedModels/a b", llm.NonStreaming, []llm.Message{llm.User("hi")}
			got, err := codec.EncodeRequest(&c.req)
			if err != nil {
				t.Fatal(err)
			}
			want := `{"contents":[{"parts":[{"text":"hi"}],"role":"user"}]` + c.want + `}`
			if diff := cmp.Diff(want, string(got.Body)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if got.Path != "/tunedModels/a%20b:generateContent" || got.Query != "" {
				t.Errorf("got %s?%s", got.Path, got.Query)
			}
			back, err := codec.DecodeRequest(got.Path, got.Body)
			if strings.HasSuffix(c.want, ":7}") {
				if message(err) != "the request body: expected an object at generationConfig.thinkingConfig (byte 92)" {
					t.Errorf("read again: %v", err)
				}
				return
			}
			c.back.Model, c.back.ResponseMode, c.back.Messages = c.req.Model, c.req.ResponseMode, c.req.Messages
			if diff := cmp.Diff(&c.back, back); diff != "" || err != nil {
				t.Errorf("read again: %v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestRequestContents(t *testing.T) {
	result := llm.ToolResult{ID: "1", Name: "a", Content: []llm.Part{text("x"), llm.Media{MediaType: "image/png", Data: []byte{7}}, text("y")}}
	asked := llm.Assistant(llm.ToolCall{ID: "1", Name: "a", Arguments: "{}", Opaque: opaque(`{"thoughtSignature":"s"}`)})
	const askedWire = `{"parts":[{"functionCall":{"id":"1","name":"a","args":{}},"thoughtSignature":"s"}],"role":"model"}`
	for name, c := range map[string]struct {
		model    string
		messages []llm.Message
		want     string
	}{
		"nothing to say": {"m", []llm.Message{llm.Assistant(), llm.Assistant(text(""), llm.Reasoning{Opaque: opaque(`{"signature":"x"}`)}), llm.User("a")}, `[{"parts":[{"text":"a"}],"role":"user"}]`},
		"an empty text with a signature": {"m", []llm.Message{llm.Assistant(llm.Text{Opaque: opaque(`{"thoughtSignature":"x"}`)}, llm.Reasoning{Opaque: opaque(`{"thoughtSignature":"y","thought":true}`)})},
			`[{"parts":[{"text":"","thoughtSignature":"x"},{"text":"","thought":true,"thoughtSignature":"y"}],"role":"model"}]`},
		"media in a result":         {"gemini-3-flash", []llm.Message{asked, llm.ToolResults(result)}, `[` + askedWire + `,{"parts":[{"functionResponse":{"id":"1","name":"a","response":{"result":"xy"},"parts":[{"inlineData":{"mimeType":"image/png","data":"Bw=="}}]}}],"role":"user"}]`},
		"media after a result":      {"gemini-2.5-pro", []llm.Message{asked, llm.ToolResults(result)}, `[` + askedWire + `,{"parts":[{"functionResponse":{"id":"1","name":"a","response":{"result":"xy"}}},{"inlineData":{"mimeType":"image/png","data":"Bw=="}}],"role":"user"}]`},
		"a result without its call": {"m", []llm.Message{llm.ToolResults(llm.ToolResult{ID: "9"})}, `[{"parts":[{"functionResponse":{"id":"9","name":"unnamed","response":{"result":""}}}],"role":"user"}]`},
		"a result under the name of its call": {"m", []llm.Message{asked, llm.ToolResults(llm.ToolResult{ID: "1", Name: "other"})},
			`[` + askedWire + `,{"parts":[{"functionResponse":{"id":"1","name":"a","response":{"result":""}}}],"role":"user"}]`},
		"the last call of an id": {"m", []llm.Message{llm.Assistant(call("1", "z", "{}")), asked, llm.ToolResults(llm.ToolResult{ID: "1"})},
			`[{"parts":[{"functionCall":{"id":"1","name":"z","args":{}}}],"role":"model"},` + askedWire + `,{"parts":[{"functionResponse":{"id":"1","name":"a","response":{"result":""}}}],"role":"user"}]`},
		"messages stay as they are": {"m", []llm.Message{llm.User("a"), llm.User("b"), llm.Assistant(text("c")), llm.Assistant(text("d"))},
			`[{"parts":[{"text":"a"}],"role":"user"},{"parts":[{"text":"b"}],"role":"user"},{"parts":[{"text":"c"}],"role":"model"},{"parts":[{"text":"d"}],"role":"model"}]`},
		"invalid names": {"m", []llm.Message{llm.Assistant(call("", "", "{}"), call("", "a b/é", "{}"), call("", "-x", "{}"), call("", strings.Repeat("x", 65), "{}"), call("", "functions.f:0", "{}"))},
			`[{"parts":[{"functionCall":{"name":"unnamed","args":{}}},{"functionCall":{"name":"a_b___","args":{}}},{"functionCall":{"name":"_-x","args":{}}},{"functionCall":{"name":"` + strings.Repeat("x", 64) + `","args":{}}},{"functionCall":{"name":"functions.f:0","args":{}}}],"role":"model"}]`},
		"URLs that hold the content": {"m", []llm.Message{{Role: llm.RoleUser, Parts: []llm.Part{
			llm.Media{URL: "data:image/png;base64,Bw=="}, llm.Media{MediaType: "image/webp", URL: "data:image/png;base64,Bw"}, llm.Media{URL: "data:,a%20b"},
			llm.Media{URL: "data:;base64,_-8="}, llm.Media{URL: "data:image/png;base64,*"}, llm.Media{URL: "data:image/png;base64,"}, llm.Media{URL: "data:"}, llm.Media{URL: "data:,%"}, llm.Media{URL: "date:,a"},
		}}}, `[{"parts":[{"inlineData":{"mimeType":"image/png","data":"Bw=="}},{"inlineData":{"mimeType":"image/webp","data":"Bw=="}},{"inlineData":{"mimeType":"text/plain","data":"YSBi"}},` +
			`{"inlineData":{"mimeType":"text/plain","data":"/+8="}},{"fileData":{"fileUri":"data:image/png;base64,*"}},{"fileData":{"fileUri":"data:image/png;base64,"}},{"fileData":{"fileUri":"data:"}},{"fileData":{"fileUri":"data:,%"}},{"fileData":{"fileUri":"date:,a"}}],"role":"user"}]`},
		"values that JSON cannot represent": {"m", []llm.Message{{Role: llm.RoleUser, Parts: []llm.Part{llm.Text{Text: "\xffa", Opaque: opaque(`{"partMetadata":{"x":"\udc00"},"gemini":{"new":"\ud800"},"cache_control":{}}`)}}, Opaque: opaque(`{"gemini":{"more":1},"container":"c"}`)}},
			`[{"parts":[{"text":"` + "\ufffd" + `a","partMetadata":{"x":"\ufffd"},"new":"\ufffd"}],"role":"user","more":1}]`},
		"invalid opaque data": {"m", []llm.Message{{Role: llm.RoleUser, Parts: []llm.Part{llm.Text{Text: "a", Opaque: opaque(`"x"`)}, llm.Text{Text: "b", Opaque: opaque(`{`)}}}}, `[{"parts":[{"text":"a"},{"text":"b"}],"role":"user"}]`},
	} {
		if got := contents(t, c.model, c.messages...); got != c.want {
			t.Errorf("%s (-want +got):\n%s", name, cmp.Diff(c.want, got))
		}
	}
}

func TestKey(t *testing.T) {
	r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, gemini.BaseURL, nil)
	if err := gemini.Key("AIza")(r); err != nil || r.Header.Get("x-goog-api-key") != "AIza" {
		t.Errorf("%v, %v", r.Header, err)
	}
	if codec.Name() != "gemini" {
		t.Errorf("the name is %q", codec.Name())
	}
}

func TestDecodeForeignRequest(t *testing.T) {
	got, err := codec.DecodeRequest("/publishers/google/models/gemini-2.5-pro:generateContent", []byte(`{
		"system_instruction": {"role": "user", "parts": [{"text": "Be "}, {"text": "brief."}]},
		"contents": [
			{"parts": [{"text": "hi", "thought": false}]},
			{"role": "model", "parts": [
				{"function_call": {"name": "a", "args": {"x": 1}}, "thought_signature": "s", "newField": {"b": [1, 2]}},
				{"functionCall": {"name": "b", "id": "i", "args": null, "willContinue": false}},
				{"functionCall": {"name": "a"}},
				{"toolCall": {"id": "t1", "toolType": "GOOGLE_SEARCH_WEB", "args": {"q": 1}}},
				{"toolResponse": {"id": "t1", "response": {}}},
				{"inlineData": {"mimeType": "image/png", "data": "_w", "displayName": "x.png"}, "thought": true},
				{}
			], "newToo": true},
			{"role": "function", "parts": [
				{"text": "here"},
				{"functionResponse": {"name": "a", "response": {"sum": 9}}},
				{"inlineData": {"mimeType": "image/png", "data": "Bw=="}},
				{"functionResponse": {"name": "b", "id": "i", "response": {"output": "o"}, "scheduling": "SILENT"}},
				{"functionResponse": {"name": "a", "response": {"name": "a", "content": "c"}}},
				{"functionResponse": {"name": "z", "id": "q", "response": {"error": "e"}}}
			]},
			{"role": "critic", "parts": [{"text": "no"}]}
		],
		"tools": [{"function_declarations": [{"name": "a", "parameters": {
			"type": "OBJECT", "properties": {"type": {"type": "STRING", "nullable": true, "enum": ["x"]}, "l": {"type": "ARRAY", "minItems": "1", "items": {"anyOf": [{"type": "INTEGER"}, {"type": "NULL"}]}}, "n": {"nullable": true}}, "required": ["type"]
		}}]}],
		"toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["a", "b"]}},
		"generationConfig": {"responseMimeType": "text/x.enum", "responseSchema": {"type": "STRING"}, "thinkingConfig": {"thinkingBudget": 128, "includeThoughts": true}, "topK": null},
		"cached_content": "cachedContents/x"
	}`))
	if err != nil {
		t.Fatal(err)
	}
	want := &llm.Request{
		Model: "publishers/google/models/gemini-2.5-pro", ResponseMode: llm.NonStreaming, System: llm.SystemText("Be brief."),
		Messages: []llm.Message{
			llm.User("hi"),
			{Role: llm.RoleAssistant, Parts: []llm.Part{
				llm.ToolCall{ID: "loop_call_1", Name: "a", Arguments: `{"x":1}`, IDGenerated: true, Opaque: opaque(`{"thoughtSignature":"s","gemini":{"newField":{"b":[1,2]}}}`)},
				llm.ToolCall{ID: "i", Name: "b", Arguments: `{}`, Opaque: opaque(`{"gemini":{"functionCall":{"willContinue":false}}}`)},
				llm.ToolCall{ID: "loop_call_2", Name: "a", Arguments: `{}`, IDGenerated: true},
				llm.ToolCall{ID: "t1", Name: "GOOGLE_SEARCH_WEB", Arguments: `{"q":1}`, ProviderExecuted: true, Opaque: opaque(`{"toolCall":{"id":"t1","toolType":"GOOGLE_SEARCH_WEB","args":{"q":1}}}`)},
				llm.Unknown{Kind: "gemini_part", Raw: opaque(`{"type":"gemini_part","part":{"toolResponse":{"id":"t1","response":{}}}}`)},
				llm.Media{MediaType: "image/png", Data: []byte{255}, Name: "x.png", Opaque: opaque(`{"thought":true,"gemini":{"inlineData":{"displayName":"x.png"}}}`)},
			}, Opaque: opaque(`{"gemini":{"newToo":true}}`)},
			{Role: llm.RoleTool, Parts: []llm.Part{
				llm.ToolResult{
					ID: "loop_call_1", Name: "a", Content: []llm.Part{text(`{"sum":9}`), llm.Media{MediaType: "image/png", Data: []byte{7}}},
					Opaque: opaque(`{"gemini":{"functionResponse":{"response":{"sum":9}}}}`),
				},
				llm.ToolResult{ID: "i", Name: "b", Content: []llm.Part{text("o")}, Opaque: opaque(`{"gemini":{"functionResponse":{"scheduling":"SILENT","response":{"output":"o"}}}}`)},
				llm.ToolResult{ID: "loop_call_2", Name: "a", Content: []llm.Part{text("c")}, Opaque: opaque(`{"gemini":{"functionResponse":{"response":{"name":"a","content":"c"}}}}`)},
				llm.ToolResult{ID: "q", Name: "z", Content: []llm.Part{text("e")}, IsError: true},
			}},
			llm.User("here"),
			{Role: "critic", Parts: []llm.Part{text("no")}},
		},
		Tools: []llm.Tool{{Name: "a", Parameters: opaque(`{"properties":{"type":{"enum":["x"],"type":["string","null"]},` +
			`"l":{"minItems":1,"items":{"anyOf":[{"type":"integer"},{"type":"null"}]},"type":"array"},"n":{}},"required":["type"],"type":"object"}`)}},
		ToolChoice: llm.ToolChoice{Mode: llm.ChooseRequired},
		Settings:   llm.Settings{ReasoningEffort: "128", OutputSchema: opaque(`{"type":"string"}`)},
		Extra: map[string]json.RawMessage{
			"cached_content":    opaque(`"cachedContents/x"`),
			"systemInstruction": opaque(`{"role": "user", "parts": [{"text": "Be "}, {"text": "brief."}]}`),
			"toolConfig":        opaque(`{"functionCallingConfig":{"allowedFunctionNames":["a", "b"]}}`),
			"generationConfig":  opaque(`{"thinkingConfig":{"includeThoughts":true},"responseMimeType":"text/x.enum"}`),
		},
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	got.Messages = got.Messages[:4]
	r, err := codec.EncodeRequest(got)
	if err != nil {
		t.Fatal(err)
	}
	back, err := codec.DecodeRequest(r.Path, r.Body)
	want.Messages = want.Messages[:4]
	for key, raw := range want.Extra {
		want.Extra[key] = opaque(strings.NewReplacer(": ", ":", ", ", ",").Replace(string(raw)))
	}
	if diff := cmp.Diff(want, back, cmpopts.EquateEmpty()); diff != "" || err != nil {
		t.Errorf("read again: %v (-want +got):\n%s\n%s", err, diff, r.Body)
	}
}

// Media keep their place: in the result, also in a request to a model that is not known to
// accept them there, or after it.
func TestMediaOfResults(t *testing.T) {
	const image = `{"inlineData":{"mimeType":"image/png","data":"Bw=="}}`
	call := func(id string) string {
		return `{"functionResponse":{"id":"` + id + `","name":"a","response":{"result":"x"}`
	}
	inside := call("1") + `,"parts":[` + image + `]}},` + call("2") + `}}`
	behind := call("1") + `}},` + image + `,` + call("2") + `}}`
	for _, c := range []struct{ model, parts, want string }{
		{"gemini-2.5-pro", inside, inside},
		{"gemini-2.5-pro", behind, behind},
		{"gemini-3-pro", inside, inside},
		{"gemini-3-pro", behind, inside},
	} {
		body := func(parts string) string { return `{"contents":[{"parts":[` + parts + `],"role":"user"}]}` }
		req, err := codec.DecodeRequest("/models/"+c.model+":generateContent", []byte(body(c.parts)))
		if err != nil {
			t.Fatal(err)
		}
		if r := req.Messages[0].Parts[0].(llm.ToolResult); strings.HasPrefix(c.model, "gemini-3") && r.Opaque != nil {
			t.Errorf("%s: %s is kept", c.model, r.Opaque)
		}
		got, err := codec.EncodeRequest(req)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(body(c.want), string(got.Body)); diff != "" {
			t.Errorf("%s: (-want +got):\n%s", c.model, diff)
		}
	}
}

// Settings that this package does not define stay in Extra.
func TestDecodeRequestExtra(t *testing.T) {
	for body, want := range map[string]string{
		`{"systemInstruction":{"parts":[{"text":"a"}],"role":"user"}}`:                                     ``,
		`{"systemInstruction":{"parts":[{"text":"a"}],"new":1}}`:                                           `{"systemInstruction":{"parts":[{"text":"a"}],"new":1}}`,
		`{"systemInstruction":{"parts":[{"text":"a","thought":true}]}}`:                                    `{"systemInstruction":{"parts":[{"text":"a","thought":true}]}}`,
		`{"systemInstruction":{"parts":[{"text":"a","new":true}]}}`:                                        `{"systemInstruction":{"parts":[{"text":"a","new":true}]}}`,
		`{"systemInstruction":{"parts":[{"inlineData":{}}]}}`:                                              `{"systemInstruction":{"parts":[{"inlineData":{}}]}}`,
		`{"toolConfig":{"functionCallingConfig":{"mode":"SOMETIMES","streamFunctionCallArguments":true}}}`: `{"toolConfig":{"functionCallingConfig":{"mode":"SOMETIMES","streamFunctionCallArguments":true}}}`,
		`{"toolConfig":{"functionCallingConfig":{"mode":"AUTO","allowedFunctionNames":["a"]}}}`:            `{"toolConfig":{"functionCallingConfig":{"allowedFunctionNames":["a"]}}}`,
		`{"toolConfig":{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":[]}}}`:                ``,
		`{"generationConfig":{"thinkingConfig":{"thinkingLevel":"LOW","thinkingBudget":5}}}`:               `{"generationConfig":{"thinkingConfig":{"thinkingBudget":5}}}`,
		`{"generationConfig":{"thinkingConfig":{}}}`:                                                       ``,
		`{"generationConfig":{"responseMimeType":"application/json"}}`:                                     `{"generationConfig":{"responseMimeType":"application/json"}}`,
		`{"generationConfig":{"responseMimeType":"application/json","responseJsonSchema":{}}}`:             ``,
		`{"tools":[{"functionDeclarations":[{"name":"9"},{"name":"9a","x":1}],"y":2},{"z":3}]}`:            `{"tools":[{"functionDeclarations":[{"name":"_9a","x":1}]},{"y":2},{"z":3}]}`,
		`{"contents":[],"new":{"a":null},"old":null}`:                                                      `{"new":{"a":null}}`,
	} {
		req, err := codec.DecodeRequest("/models/m:generateContent", []byte(body))
		if err != nil {
			t.Errorf("%s: %v", body, err)
			continue
		}
		got := ""
		if req.Extra != nil {
			raw, err := json.Marshal(req.Extra)
			if err != nil {
				t.Fatal(err)
			}
			got = string(raw)
		}
		if got != want {
			t.Errorf("%s\ngot  %s\nwant %s", body, got, want)
		}
	}
}

func TestDecodeRequestErrors(t *testing.T) {
	for _, c := range []struct{ path, body, want string }{
		{"models/m:generateContent", "{}", `the path "models/m:generateContent" is not /models/MODEL:METHOD`},
		{"/models/m", "{}", `the path "/models/m" is not /models/MODEL:METHOD`},
		{"/models/m:countTokens", "{}", `the path "/models/m:countTokens" has the unknown method "countTokens": want generateContent or streamGenerateContent`},
		{"/models/%:generateContent", "{}", `the path "/models/%:generateContent": invalid URL escape "%"`},
		{"/models/:generateContent", "{}", `the path "/models/:generateContent" has no model`},
		{"", "{\"a\":\"\xff\"}", "the request body is not UTF-8"},
		{"", "[]", "the request body: expected an object (byte 1)"},
		{"", `{"contents":1}`, "the request body: expected an array at contents (byte 13)"},
		{"", `{"contents":[{"parts":[{"text":1}]}]}`, "the request body: expected a string at contents[0].parts[0].text (byte 32)"},
		{"", `{"contents":[{"parts":[{"functionResponse":{"response":"x"}}]}]}`, "the request body: expected an object at contents[0].parts[0].functionResponse.response (byte 56)"},
		{"", `{"contents":[{"parts":[{"functionResponse":{"parts":[{"text":""}]}}]}]}`, "the request body: expected inlineData or fileData at contents[0].parts[0].functionResponse.parts[0] (byte 65)"},
		{"", `{"contents":[{"parts":[{"inlineData":{"data":"*"}}]}]}`, "the request body: expected base64 at contents[0].parts[0].inlineData.data (byte 49)"},
		{"", `{"generationConfig":{"seed":1.5}}`, "the request body: expected a whole number, not 1.5 at generationConfig.seed (byte 29)"},
		{"", `{} x`, "the request body: something follows the JSON value (byte 4)"},
	} {
		if c.path == "" {
			c.path = "/models/m:generateContent"
		}
		if _, err := codec.DecodeRequest(c.path, []byte(c.body)); message(err) != c.want {
			t.Errorf("got  %v\nwant %s", err, c.want)
		}
	}
}

// TestSecondResultOfID: a second result with the id of a call is that of this call, also if its name is that of another call.
func TestSecondResultOfID(t *testing.T) {
	const body = `{"contents":[{"role":"user","parts":[{"text":"go"}]},{"role":"model","parts":[{"functionCall":{"id":"c1","name":"a","args":{}}},{"functionCall":{"id":"c2","name":"b","args":{}}}]},` +
		`{"role":"user","parts":[{"functionResponse":{"id":"c1","name":"a","response":{}}},{"functionResponse":{"id":"c1","name":"b","response":{}}}]}]}`
	req, err := gemini.GenerateContent{}.DecodeRequest("/models/m:generateContent", []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, p := range req.Messages[2].Parts {
		if r, is := p.(llm.ToolResult); is {
			ids = append(ids, r.ID)
		}
	}
	if !slices.Equal(ids, []string{"c1", "c1"}) {
		t.Errorf("got the ids %q, want c1 twice", ids)
	}
}
