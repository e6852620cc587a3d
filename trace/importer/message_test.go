package importer_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/check"
	"github.com/looptape/looptape/trace/importer"
)

func raw(s string) json.RawMessage { return json.RawMessage(s) }

func text(s string) []llm.Part { return []llm.Part{llm.Text{Text: s}} }

func unknown(kind, value string) llm.Unknown {
	return llm.Unknown{Kind: "openai." + kind, Raw: raw(`{"type":"openai.` + kind + `","value":` + value + `}`)}
}

// A value of JSON may be a member of a message in several representations.
func TestMessages(t *testing.T) {
	for name, c := range map[string]struct {
		in   string
		want []llm.Message
	}{
		"roles": {
			`{"role":"system","content":"s"},{"role":"developer","content":"d"},{"role":"user","content":"u"},{"role":"model","content":"m"}`,
			[]llm.Message{
				{Role: llm.RoleSystem, Parts: text("s")},
				{Role: llm.RoleSystem, Parts: text("d"), Opaque: raw(`{"role":"developer"}`)},
				llm.User("u"),
				{Role: "model", Parts: text("m")},
			},
		},
		"content": {
			`{"role":"user","content":null},{"role":"user"},{"role":"user","content":""},{"role":"user","content":[]},{"role":"user","content":["a",{"type":"text","text":"b"}]}`,
			[]llm.Message{
				{Role: llm.RoleUser},
				{Role: llm.RoleUser},
				llm.User(""),
				{Role: llm.RoleUser},
				{Role: llm.RoleUser, Parts: []llm.Part{llm.Text{Text: "a"}, llm.Text{Text: "b"}}},
			},
		},
		"parts": {
			`{"role":"user","content":[` +
				`{"type":"text","text":"t","cache_control":{"type":"ephemeral"}},` +
				`{"type":"refusal","refusal":"no"},` +
				`{"type":"image_url","image_url":{"url":"https://example.org/a.png","detail":"low"}},` +
				`{"type":"image_url","image_url":{"url":"data:image/png;base64,AQI="}},` +
				`{"type":"image_url","image_url":{"url":"data:image/png;base64,A!"}},` +
				`{"type":"image_url","image_url":{"url":"data:,x"}},` +
				` {"type":"input_audio", "input_audio":{"data":"AA=="}},` +
				`{"type":"text","text":7},{"text":"x"},{"type":"text","text":"x","refusal":"y"}]}`,
			[]llm.Message{{Role: llm.RoleUser, Parts: []llm.Part{
				llm.Text{Text: "t", Opaque: raw(`{"cache_control":{"type":"ephemeral"}}`)},
				llm.Text{Text: "no", Refusal: true},
				llm.Media{URL: "https://example.org/a.png", Opaque: raw(`{"image_url":{"detail":"low"}}`)},
				llm.Media{MediaType: "image/png", Data: []byte{1, 2}},
				llm.Media{URL: "data:image/png;base64,A!"},
				llm.Media{URL: "data:,x"},
				unknown("input_audio", `{"type":"input_audio", "input_audio":{"data":"AA=="}}`),
				unknown("text", `{"type":"text","text":7}`),
				unknown("", `{"text":"x"}`),
				unknown("text", `{"type":"text","text":"x","refusal":"y"}`),
			}}},
		},
		"calls": {
			`{"role":"assistant","content":null,"tool_calls":[` +
				`{"id":"a","type":"function","function":{"name":"f","arguments":"{ \"x\" :1}"}},` +
				`{"id":null,"function":{"name":null,"arguments":{ "y": [1,  2]}}},` +
				`{"function":{"arguments":null}},` +
				`{"id":"c","index":2,"type":"custom","custom":{"name":"sh","input":"ls","x":1}}]},` +
				`{"role":"assistant","content":"","tool_calls":[{"id":"d","function":{"name":"f","arguments":"not JSON"}}]},` +
				`{"role":"assistant","content":"so","tool_calls":null},{"role":"assistant","content":"no","tool_calls":[]}`,
			[]llm.Message{
				llm.Assistant(
					llm.ToolCall{ID: "a", Name: "f", Arguments: `{ "x" :1}`},
					llm.ToolCall{Arguments: `{ "y": [1,  2]}`},
					llm.ToolCall{},
					llm.ToolCall{ID: "c", Name: "sh", Arguments: "ls", Opaque: raw(`{"index":2,"type":"custom","custom":{"x":1}}`)},
				),
				llm.Assistant(llm.ToolCall{ID: "d", Name: "f", Arguments: "not JSON"}),
				llm.Assistant(llm.Text{Text: "so"}),
				llm.Assistant(llm.Text{Text: "no"}),
			},
		},
		"a call with all around it": {
			`{"role":"assistant","content":"t","refusal":"r","reasoning_content":"why","tool_calls":[{"id":"a","function":{"name":"f","arguments":""}}],"function_call":{"name":"g","arguments":"{}","x":1},"annotations":[ ],"audio":null,"name":"bot"}`,
			[]llm.Message{{
				Role: llm.RoleAssistant,
				Parts: []llm.Part{
					llm.Reasoning{Text: "why"},
					llm.Text{Text: "t"},
					llm.Text{Text: "r", Refusal: true},
					llm.ToolCall{ID: "function_call_1", IDGenerated: true, Name: "g", Arguments: "{}", Opaque: raw(`{"x":1}`)},
					llm.ToolCall{ID: "a", Name: "f"},
				},
				Opaque: raw(`{"annotations":[ ],"name":"bot"}`),
			}},
		},
		"reasoning": {
			`{"role":"assistant","content":"a","reasoning":"r"},{"role":"assistant","reasoning":"r","reasoning_content":"c"},{"role":"assistant","content":"a","reasoning":{"effort":1}}`,
			[]llm.Message{
				llm.Assistant(llm.Reasoning{Text: "r"}, llm.Text{Text: "a"}),
				{Role: llm.RoleAssistant, Parts: []llm.Part{llm.Reasoning{Text: "r"}}, Opaque: raw(`{"reasoning_content":"c"}`)},
				{Role: llm.RoleAssistant, Parts: text("a"), Opaque: raw(`{"reasoning":{"effort":1}}`)},
			},
		},
		"invalid numbers": {
			`{"role":"assistant","content":"NaN","logprob":-Infinity}`,
			[]llm.Message{{Role: llm.RoleAssistant, Parts: text("NaN"), Opaque: raw(`{"logprob":"-Infinity"}`)}},
		},
		"results": {
			`{"role":"tool","tool_call_id":"a","name":"f","content":"ok"},{"role":"tool","tool_call_id":null,"content":null,"x":"y"},{"role":"tool","tool_call_id":"b","content":[{"type":"text","text":"t"}]}`,
			[]llm.Message{
				llm.ToolResults(llm.ToolResult{ID: "a", Name: "f", Content: text("ok")}),
				{Role: llm.RoleTool, Parts: []llm.Part{llm.ToolResult{}}, Opaque: raw(`{"x":"y","content":null}`)},
				llm.ToolResults(llm.ToolResult{ID: "b", Content: text("t")}),
			},
		},
		"a spoken answer": {
			`{"role":"assistant","content":null,"audio":{"id": "audio_1"}},` +
				`{"role":"assistant","content":"t","audio":{},"tool_calls":[{"id":"a","function":{"name":"f","arguments":""}}]},` +
				`{"role":"tool","tool_call_id":"a","content":"ok","audio":[ ]}`,
			[]llm.Message{
				llm.Assistant(unknown("message.audio", `{"id": "audio_1"}`)),
				llm.Assistant(llm.Text{Text: "t"}, unknown("message.audio", "{}"), llm.ToolCall{ID: "a", Name: "f"}),
				{Role: llm.RoleTool, Parts: []llm.Part{llm.ToolResult{ID: "a", Content: text("ok")}}, Opaque: raw(`{"audio":[ ]}`)},
			},
		},
		"the old form": {
			`{"role":"assistant","content":null,"function_call":{"name":"f","arguments":"1"}},{"role":"assistant","function_call":{"name":"g","arguments":"2"}},{"role":"assistant","function_call":{"name":"f","arguments":"3"}},` +
				`{"role":"function","name":"g","content":"2"},{"role":"function","name":"f","content":"1"},{"role":"function","name":"f","content":"3"},{"role":"function","name":"f","content":"4"}`,
			[]llm.Message{
				llm.Assistant(llm.ToolCall{ID: "function_call_1", IDGenerated: true, Name: "f", Arguments: "1"}),
				llm.Assistant(llm.ToolCall{ID: "function_call_2", IDGenerated: true, Name: "g", Arguments: "2"}),
				llm.Assistant(llm.ToolCall{ID: "function_call_3", IDGenerated: true, Name: "f", Arguments: "3"}),
				oldResult("function_call_2", "g", "2"), oldResult("function_call_3", "f", "1"), oldResult("function_call_1", "f", "3"), oldResult("", "f", "4"),
			},
		},
		"results without names": {
			`{"role":"assistant","content":"","tool_calls":[{"function":{"name":"g","arguments":{}}},{"function":{"name":"f","arguments":{}}}]},{"role":"tool","content":"1"},{"role":"tool","content":"2"},{"role":"tool","content":"3"}`,
			[]llm.Message{
				llm.Assistant(llm.ToolCall{ID: "function_call_1", IDGenerated: true, Name: "g", Arguments: "{}"}, llm.ToolCall{ID: "function_call_2", IDGenerated: true, Name: "f", Arguments: "{}"}),
				{Role: llm.RoleTool, Parts: []llm.Part{llm.ToolResult{ID: "function_call_1", Content: text("1")}}},
				{Role: llm.RoleTool, Parts: []llm.Part{llm.ToolResult{ID: "function_call_2", Content: text("2")}}},
				{Role: llm.RoleTool, Parts: []llm.Part{llm.ToolResult{Content: text("3")}}},
			},
		},
		"a result's id on another role": {
			`{"role":"user","content":"x","tool_call_id":"a"}`,
			[]llm.Message{{Role: llm.RoleUser, Parts: text("x"), Opaque: raw(`{"tool_call_id":"a"}`)}},
		},
		"bytes that are not UTF-8": {
			"{\"role\":\"user\",\"content\":\"\xff\"}",
			[]llm.Message{llm.User("\xff")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			src, err := importer.Open("file", strings.NewReader("["+c.in+"]"))
			if err != nil {
				t.Fatal(err)
			}
			reported := false
			for run, err := range src.Runs() {
				if err != nil && strings.Contains(c.in, "\xff") && strings.Contains(err.Error(), "the byte 0xff at offset 27 is not UTF-8") {
					reported = true
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(c.want, run.Messages); diff != "" {
					t.Errorf("messages (-want +got):\n%s", diff)
				}
				for _, m := range run.Messages {
					writeAndRead(t, m)
				}
			}
			if want := strings.Contains(c.in, "\xff"); reported != want {
				t.Errorf("the error for bytes that are not UTF-8: got %t, want %t", reported, want)
			}
		})
	}
}

func oldResult(id, name, content string) llm.Message {
	m := llm.ToolResults(llm.ToolResult{ID: id, Name: name, Content: text(content)})
	m.Opaque = raw(`{"role":"function"}`)
	return m
}

// Results of Gemini without ids belong to calls by the name, also if the calls have ids.
func TestResultsByName(t *testing.T) {
	t.Parallel()
	call := func(id string) string { return `{"functionCall":{` + id + `"name":"f","args":{}}}` }
	result := func(id string) string { return `{"functionResponse":{` + id + `"name":"f","response":{}}}` }
	turns := func(parts ...string) string {
		return `[{"role":"model","parts":[` + parts[0] + `]},{"role":"user","parts":[` + parts[1] + `]}]`
	}
	const c1, c2 = `"id":"c1",`, `"id":"c2",`
	for name, c := range map[string]struct{ in, want string }{
		"none of the results":     {turns(call(c1)+","+call(c2), result("")+","+result("")), "run-1 assistant:[c1 f{}][c2 f{}] tool:[c1 f={}][c2 f={}]"},
		"the second result":       {turns(call(c1)+","+call(c2), result(c1)+","+result("")), "run-1 assistant:[c1 f{}][c2 f{}] tool:[c1 f={}][c2 f={}]"},
		"the second call":         {turns(call(c1)+","+call(""), result(c1)+","+result("")), "run-1 assistant:[c1 f{}][function_call_1 f{}] tool:[c1 f={}][function_call_1 f={}]"},
		"a result without a call": {turns(call(c1), result("")+","+result("")), "run-1 assistant:[c1 f{}] tool:[c1 f={}][ f={}]"},
		"a result without a name": {turns(call(""), `{"functionResponse":{"response":{}}}`), "run-1 assistant:[function_call_1 f{}] tool:[ ={}]"},
	} {
		_, runs, failed, unknown := readAll(t, "file", []byte(c.in))
		if diff := cmp.Diff([]string{c.want}, outline(runs)); diff != "" || failed != nil || unknown != nil {
			t.Errorf("%s: errors %v %v, runs (-want +got):\n%s", name, failed, unknown, diff)
		}
	}
}

// Results of Ollama belong to calls by their ids if they have one, and else by the names of the tools.
func TestResultsOfOllama(t *testing.T) {
	t.Parallel()
	call := func(id string) string { return `{` + id + `"function":{"index":0,"name":"f","arguments":{}}}` }
	result := func(id, text string) string {
		return `{"role":"tool",` + id + `"tool_name":"f","content":"` + text + `"}`
	}
	turns := func(calls string, results ...string) string {
		return `{"model":"m","stream":false,"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"","tool_calls":[` + calls + `]},` + strings.Join(results, ",") + `]}`
	}
	const a, b, forA, forB = `"id":"a",`, `"id":"b",`, `"tool_call_id":"a",`, `"tool_call_id":"b",`
	for name, c := range map[string]struct{ in, want string }{
		"no ids":                      {turns(call("")+","+call(""), result("", "1"), result("", "2")), "[function_call_1 f{}][function_call_2 f{}] tool:[function_call_1 f=1] tool:[function_call_2 f=2]"},
		"ids of calls":                {turns(call(a)+","+call(b), result("", "1"), result("", "2")), "[a f{}][b f{}] tool:[a f=1] tool:[b f=2]"},
		"ids":                         {turns(call(a)+","+call(b), result(forB, "1"), result(forA, "2")), "[a f{}][b f{}] tool:[b f=1] tool:[a f=2]"},
		"an id of one result":         {turns(call(a)+","+call(b), result(forA, "1"), result("", "2")), "[a f{}][b f{}] tool:[a f=1] tool:[b f=2]"},
		"a result without a call":     {turns(call(a), result("", "1"), result("", "2")), "[a f{}] tool:[a f=1] tool:[ f=2]"},
		"not in Chat Completions":     {turns(`{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}`, result("", "1")), "[a f{}] tool:[ f=1]"},
		"not of strings as arguments": {turns(`{"id":"a","function":{"name":"f","arguments":"{}"}}`, result("", "1")), "[a f{}] tool:[ f=1]"},
	} {
		run := onlyRun(t, c.in)
		if diff := cmp.Diff([]string{"run-1 user:(q) assistant:" + c.want}, outline([]importer.Run{run})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		over := unknownIn(t, typed(ollama, c.in, `{"model":"m","message":{"role":"assistant","content":"a"},"done":true,"done_reason":"stop"}`))
		if over != nil {
			t.Errorf("%s, over HTTP: %v", name, over)
		}
	}
}

// Gemini refuses other roles than its own (SG-12), and requires objects as arguments and results.
func TestContentsOfGemini(t *testing.T) {
	t.Parallel()
	const unknownRole = "the message has the unknown role "
	for in, want := range map[string][]string{
		`{"role":"user","parts":[{"text":"a"}]}`:      nil,
		`{"role":"function","parts":[{"text":"a"}]}`:  nil,
		`{"role":"tool","parts":[{"text":"a"}]}`:      nil,
		`{"role":"assistant","parts":[{"text":"a"}]}`: {unknownRole + `"gemini:assistant"`, "INV-24 error"},
		`{"role":"system","parts":[{"text":"a"}]}`:    {unknownRole + `"gemini:system"`, "INV-24 error"},
		`{"role":"zzz","parts":[{"text":"a"}]}`:       {unknownRole + `"zzz"`, "INV-24 error"},
	} {
		contents := `{"contents":[{"role":"user","parts":[{"text":"q"}]},{"role":"model","parts":[{"text":"r"}]},` + in + `]}`
		const answer = `{"candidates":[{"content":{"role":"model","parts":[{"text":"a"}]},"finishReason":"STOP"}]}`
		for name, file := range map[string]string{
			"a list": strings.TrimSuffix(strings.TrimPrefix(contents, `{"contents":`), "}"), "a request": contents, "recorded HTTP": typed(gemini, contents, answer),
		} {
			var got []string
			for _, u := range unknownIn(t, file) {
				got = append(got, u[strings.Index(u, "the message"):strings.Index(u, " (in ")])
			}
			run := onlyRun(t, file)
			list := check.List{Protocol: "gemini"}
			list.Add(run.Messages...)
			if found := levels(list.Done()); found != "" {
				got = append(got, found)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", in, name, diff)
			}
		}
	}
	for in, want := range map[string]string{
		`{"functionCall":"zzz"}`:                           "?gemini.function_call",
		`{"functionCall":{"name":"f","args":"zzz"}}`:       "[function_call_1 f]", // reported; see TestMembersOfAnotherType
		`{"functionCall":{"name":"f","args":7}}`:           "[function_call_1 f]",
		`{"functionCall":{"name":"f","args":"{\"x\":1}"}}`: `[function_call_1 f{"x":1}]`, // not Google writes it
		`{"functionCall":{"name":"f","args":null}}`:        "[function_call_1 f]",
		`{"functionResponse":"zzz"}`:                       "?gemini.function_response",
	} {
		run := onlyRun(t, `[{"role":"user","parts":[{"text":"q"}]},{"role":"model","parts":[`+in+`]}]`)
		if got := outline([]importer.Run{run})[0]; !strings.HasSuffix(got, ":"+want) {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

// A message with an unknown role in a list that no provider saw may be a result. Neither it nor what follows is checked.
func TestUnknownRoleEndsChecks(t *testing.T) {
	t.Parallel()
	const called = `{"role":"user","content":"q"},{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}`
	for file, want := range map[string]int{
		"[" + called + `,{"role":"tool-response","content":"r"},{"role":"assistant","content":"d"}]`:                                2,
		`{"model":"m","tools":[],"messages":[` + called + `,{"role":"tool-response","content":"r"},{"role":"user","content":"d"}]}`: 4,
		`[{"role":"user","parts":[{"text":"q"}]},{"role":"model","parts":[{"text":"r"}]},{"role":"zzz","parts":[{"text":"a"}]}]`:    3,
	} {
		run := onlyRun(t, file)
		if n := len(run.Checkable()); n != want || len(run.Unknown) != 1 {
			t.Errorf("%s: %d messages can be checked, want %d; %v is unknown", file, n, want, run.Unknown)
		}
	}
}

// The function of a call is an object, except with the arguments next to it, as Inspect has them.
func TestFunctionAsString(t *testing.T) {
	t.Parallel()
	list := func(call string) string {
		return `[{"role":"user","content":"q"},{"role":"assistant","tool_calls":[` + call + `]}]`
	}
	got := unknownIn(t, list(`{"id":"a","type":"function","function":"f"}`))
	if want := []string{"file:1: [1].tool_calls[0]: the function of a call is a string, and the call has no arguments"}; !cmp.Equal(want, got) {
		t.Errorf("got %q, want %q", got, want)
	}
	run := onlyRun(t, list(`{"id":"a","type":"function","function":"f","arguments":{"x":1}}`))
	if got, want := outline([]importer.Run{run})[0], `run-1 user:(q) assistant:[a f{"x":1}]`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// Which of two members with the same name a provider reads is unknown.
func TestMemberTwice(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ message, want string }{
		{`{"role":"user","role":"tool","content":"a"}`, "role"},
		{`{"role":"user","content":"a","content":"b"}`, "content"},
		{`{"role":"assistant","tool_calls":[],"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]}`, "tool_calls"},
		{`{"role":"tool","tool_call_id":"c","content":"a","tool_call_id":"d"}`, "tool_call_id"},
		{`{"role":"model","parts":[{"text":"a"}],"parts":[{"text":"b"}]}`, "parts"},
	} {
		want := []string{`file:1: [1].` + c.want + `: the message has two members "` + c.want + `"`}
		if got := unknownIn(t, `[{"role":"user","content":"q"},`+c.message+`]`); !cmp.Equal(want, got) {
			t.Errorf("%s: got %q, want %q", c.message, got, want)
		}
	}
	if got := unknownIn(t, `[{"role":"user","content":null,"content":"q"}]`); len(got) != 0 {
		t.Errorf("a member that is null and one that is not: got %q", got)
	}
}

// A call of a kind that Chat Completions does not have yet is reported, and keeps its place.
func TestUnknownKindOfCall(t *testing.T) {
	t.Parallel()
	const call = `{"id":"c1","type":"grammar","grammar":{"rule":"x"}}`
	const list = `[{"role":"user","content":"q"},{"role":"assistant","content":null,"tool_calls":[` + call + `]},{"role":"tool","tool_call_id":"c1","content":"r"}]`
	const want = `the content has a call of the unknown kind "grammar" (in message 1 of `
	http := har("https://api.openai.com/v1/chat/completions", `{"model":"m","messages":`+list+`}`, "application/json", `{"id":"1","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"a"},"finish_reason":"stop"}]}`)
	without := strings.NewReplacer(`,"grammar":{"rule":"x"}`, "", `,\"grammar\":{\"rule\":\"x\"}`, "").Replace
	for name, file := range map[string]string{
		"a list":                      list,
		"a request":                   `{"model":"m","messages":` + list + `}`,
		"without data":                without(list),
		"a request without data":      `{"model":"m","messages":` + without(list) + `}`,
		"data as a string":            strings.Replace(list, `{"rule":"x"}`, `"x"`, 1),
		"recorded HTTP":               http,
		"recorded HTTP without data":  without(http),
		"recorded HTTP with a string": strings.Replace(http, `{\"rule\":\"x\"}`, `\"x\"`, 1),
	} {
		src, err := importer.Open("file", strings.NewReader(file))
		if err != nil {
			t.Fatal(err)
		}
		for run, err := range src.Conversations() {
			calls := run.Messages[1].Calls()
			if err != nil || len(run.Unknown) != 1 || !strings.Contains(run.Unknown[0].Error(), want) || len(calls) != 1 || calls[0].ID != "c1" || calls[0].Name != "grammar" {
				t.Errorf("%s: unknown %v, error %v, calls %v", name, run.Unknown, err, calls)
			}
		}
	}
	for _, call := range []string{`{"id":"c1","type":"grammar"}`, `{"id":"c1","type":"grammar","grammar":"x"}`} {
		response := `{"id":"1","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","tool_calls":[` + call + `]},"finish_reason":"tool_calls"}]}`
		http := har("https://api.openai.com/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"q"}]}`, "application/json", response)
		for _, file := range []string{response, http} {
			if got := unknownIn(t, file); len(got) != 1 || !strings.Contains(got[0], `the response has a call of the unknown kind "grammar"`) {
				t.Errorf("%s in a response: %q", call, got)
			}
		}
	}
	for kind, call := range map[string]string{
		"a function without a name": `{"id":"c1","type":"function","function":{"arguments":"{}"},"extra_content":{"google":{}}}`,
		"a tool named function":     `{"id":"c1","type":"function","function":{"name":"function","arguments":"{}","x":1}}`,
		"a custom tool":             `{"id":"c1","type":"custom","custom":{"name":"custom","input":"a","x":1}}`,
	} {
		if got := unknownIn(t, strings.Replace(list, `{"id":"c1","type":"grammar","grammar":{"rule":"x"}}`, call, 1)); got != nil {
			t.Errorf("%s: unknown %v", kind, got)
		}
	}
}
