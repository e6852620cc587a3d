package deuz_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/looptape/looptape/cassettes"
	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/preset/deuz"
	"github.com/looptape/looptape/providers/anthropic"
	"github.com/looptape/looptape/providers/openai"
	"github.com/looptape/looptape/trace"
)

type weather struct {
	City  string `json:"city"`
	TempC int    `json:"tempC"`
}

type city struct {
	City string `json:"city"`
}

func typed[In, Out any](t *testing.T, name string, fn func(context.Context, In) (Out, error)) loop.Tool {
	t.Helper()
	tool, err := loop.NewTool(name, "", fn)
	if err != nil {
		t.Fatal(err)
	}
	return tool
}

func getWeather(t *testing.T) loop.Tool {
	t.Helper()
	return typed(t, "getWeather", func(_ context.Context, in city) (weather, error) {
		if in.City == "" {
			return weather{}, errors.New("missing city")
		}
		return weather{in.City, 22}, nil
	})
}

func asks(cities ...string) (r fake.Response) {
	for _, c := range cities {
		r.Calls = append(r.Calls, fake.Call{ID: "call_" + c, Name: "getWeather", Arguments: `{"city":"` + c + `"}`})
	}
	return r
}

// DZ-56: a step record has the values that the tools returned. The stream has the same values.
func TestToolValuesDZ56(t *testing.T) {
	first := calls("", "object", "text", "raw", "bad", "nothing")
	tools := []loop.Tool{
		typed(t, "object", func(context.Context, map[string]int) (weather, error) { return weather{"Paris", 22}, nil }),
		typed(t, "text", func(context.Context, map[string]int) (string, error) { return "22", nil }),
		typed(t, "nothing", func(context.Context, map[string]int) (any, error) { return nil, nil }),
		{Name: "raw", Run: func(context.Context, loop.Call) (loop.Output, error) { return loop.TextOutput("22"), nil }},
		{Name: "bad", Run: func(context.Context, loop.Call) (loop.Output, error) { return loop.Output{}, errors.New("7") }},
	}
	for i := range first.Calls {
		first.Calls[i].Arguments = fmt.Sprintf(`{"of":%d}`, i)
	}
	first.Calls[3].Arguments = ""
	opts := deuz.Options{Model: &fake.Model{Responses: []fake.Response{first, says("x")}, IsolateConversations: true}, Messages: messages(), Loop: loop.Config{Tools: tools, MaxSteps: 5}}
	res, err := deuz.GenerateText(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	var got []any
	for i := range res.Steps[0].Results {
		got = append(got, res.Steps[0].Value(i))
	}
	if diff := cmp.Diff([]any{weather{"Paris", 22}, "22", "22", "7", json.RawMessage("null")}, got); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	line, err := json.Marshal(res)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(line), `"isError"`); n != 1 {
		t.Errorf("%d results have the member isError, want only that of the error: %s", n, line)
	}
	type record struct {
		ToolCallID string          `json:"toolCallId"`
		ToolName   string          `json:"toolName"`
		Args       json.RawMessage `json:"args,omitempty"`
		Result     json.RawMessage `json:"result,omitempty"`
		IsError    bool            `json:"isError,omitempty"`
	}
	var records struct {
		Steps []struct{ ToolCalls, ToolResults []record }
	}
	if err := json.Unmarshal(line, &records); err != nil {
		t.Fatal(err)
	}
	var wantCalls, wantResults []record
	for i, c := range first.Calls {
		if c.Arguments == "" {
			c.Arguments = "{}"
		}
		wantCalls = append(wantCalls, record{c.ID, c.Name, json.RawMessage(c.Arguments), nil, false})
		wantResults = append(wantResults, record{c.ID, c.Name, nil, json.RawMessage([]string{`{"city":"Paris","tempC":22}`, `"22"`, `"22"`, `"7"`, "null"}[i]), i == 3})
	}
	if diff := cmp.Diff([][]record{wantCalls, wantResults}, [][]record{records.Steps[0].ToolCalls, records.Steps[0].ToolResults}); diff != "" {
		t.Errorf("JSON of the step (-want +got):\n%s", diff)
	}
	var streamed [2][]record
	for p := range deuz.StreamChat(t.Context(), opts).Full() {
		switch p.Type {
		case "tool-call":
			streamed[0] = append(streamed[0], record{p.ToolCallID, p.ToolName, p.Input, nil, p.IsError})
		case "tool-result":
			streamed[1] = append(streamed[1], record{p.ToolCallID, p.ToolName, nil, p.Output, p.IsError})
		}
	}
	if diff := cmp.Diff([2][]record{wantCalls, wantResults}, streamed); diff != "" {
		t.Errorf("parts (-step +stream):\n%s", diff)
	}
}

// DZ-58: each example of the reference documentation prints what the document says.
func TestReferenceExamplesDZ58(t *testing.T) {
	for _, c := range []struct {
		name    string
		example func(*testing.T, *strings.Builder, *fake.Model)
		model   []fake.Response
		want    string
	}{
		{"weather", weatherExample, []fake.Response{asks("Paris"), says("22 °C and sunny in Paris.")}, `tool got Paris
22 °C and sunny in Paris.
2
`},
		{"finalize", stopExample, []fake.Response{calls("1", "a"), finalizes(), says("no")}, "2 model calls, summary: all of it\n"},
		{"three steps", stopExample, []fake.Response{calls("1", "a"), calls("2", "a"), calls("3", "a"), calls("4", "a"), calls("5", "a")}, "3 model calls, summary: \n"},
		{"onStepFinish", stepsExample, []fake.Response{asks("Paris", "Berlin"), says("Both 22 °C.")}, `[initial] 2 tool call(s)
[tool-result] 0 tool call(s)
called getWeather {"city":"Paris"}
called getWeather {"city":"Berlin"}
result getWeather  {Paris 22}
result getWeather  {Berlin 22}
`},
		{"failing tool", stepsExample, []fake.Response{asks(""), says("No city.")}, `[initial] 1 tool call(s)
[tool-result] 0 tool call(s)
called getWeather {"city":""}
result getWeather (error) missing city
`},
		{"stream", streamExample, []fake.Response{withUsage(asks("Paris"), 10, 5), withUsage(says("Sunny."), 20, 7)}, `--- step 0 ---

step 0 done (tool_calls)

calling getWeather {"city":"Paris"}
result getWeather {"city":"Paris","tempC":22}
--- step 1 ---
Sunny.
step 1 done (stop)
total tokens: 42
`},
		{"chaining", chainExample, []fake.Response{asks("Paris"), says("Sunny."), says("Still sunny.")}, `user Weather in Paris?
assistant getWeather {"city":"Paris"}
tool {"city":"Paris","tempC":22}
assistant Sunny.
user And now?
-> Still sunny.
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out strings.Builder
			c.example(t, &out, fake.NewModel(c.model...))
			if diff := cmp.Diff(c.want, out.String()); diff != "" {
				t.Errorf("output (-want +got):\n%s", diff)
			}
		})
	}
}

func finalizes() fake.Response {
	return fake.Response{Calls: []fake.Call{{ID: "f", Name: "finalize", Arguments: `{"summary":"all of it"}`}}}
}

func withUsage(r fake.Response, input, output int64) fake.Response {
	r.Usage = llm.Usage{InputTokens: input, OutputTokens: output}
	return r
}

func generate(t *testing.T, opts deuz.Options) *deuz.Result {
	t.Helper()
	res, err := deuz.GenerateText(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func weatherExample(t *testing.T, out *strings.Builder, model *fake.Model) {
	type answer struct {
		weather
		Sky string `json:"sky"`
	}
	res := generate(t, deuz.Options{
		Model:    model,
		Messages: []llm.Message{llm.User("What is the weather in Paris?")},
		Loop: loop.Config{MaxSteps: 5, Tools: []loop.Tool{typed(t, "getWeather", func(_ context.Context, in city) (answer, error) {
			fmt.Fprintln(out, "tool got", in.City)
			return answer{weather{in.City, 22}, "sunny"}, nil
		})}},
	})
	fmt.Fprintln(out, res.Text)
	fmt.Fprintln(out, len(res.Steps))
}

func stopExample(t *testing.T, out *strings.Builder, model *fake.Model) {
	summary := ""
	afterFinalize := loop.StopCondition{Stop: func(_ context.Context, s *loop.StepInfo) (bool, error) {
		last := s.Steps[len(s.Steps)-1]
		return slices.ContainsFunc(last.Calls, func(c llm.ToolCall) bool { return c.Name == "finalize" }), nil
	}}
	afterThreeSteps := loop.StopCondition{Stop: func(_ context.Context, s *loop.StepInfo) (bool, error) { return len(s.Steps) >= 3, nil }}
	generate(t, deuz.Options{
		Model:    model,
		Messages: []llm.Message{llm.User("Research and summarize.")},
		Loop: loop.Config{
			MaxSteps: 10,
			StopWhen: []loop.StopCondition{afterFinalize, afterThreeSteps},
			Tools: append(tools(nil), typed(t, "finalize", func(_ context.Context, in struct {
				Summary string `json:"summary"`
			}) (map[string]any, error) {
				summary = in.Summary
				return map[string]any{"ok": true, "summary": in.Summary}, nil
			})),
		},
	})
	fmt.Fprintf(out, "%d model calls, summary: %s\n", len(model.RecordedRequests()), summary)
}

func stepsExample(t *testing.T, out *strings.Builder, model *fake.Model) {
	res := generate(t, deuz.Options{
		Model:    model,
		Messages: []llm.Message{llm.User("Weather in Paris and Berlin?")},
		Loop: loop.Config{MaxSteps: 5, Tools: []loop.Tool{getWeather(t)}, OnStep: func(step loop.Step) {
			fmt.Fprintf(out, "[%s] %d tool call(s)\n", step.Type, len(step.Calls))
		}},
	})
	for _, step := range res.Steps {
		for _, call := range step.Calls {
			fmt.Fprintln(out, "called", call.Name, call.Arguments)
		}
		for i, r := range step.Results {
			fmt.Fprintln(out, "result", r.Name, map[bool]string{true: "(error)"}[r.IsError], step.Value(i))
		}
	}
}

func streamExample(t *testing.T, out *strings.Builder, model *fake.Model) {
	stream := deuz.StreamChat(t.Context(), deuz.Options{
		Model:    model,
		Messages: []llm.Message{llm.User("Weather in Paris?")},
		Loop:     loop.Config{MaxSteps: 5, Tools: []loop.Tool{getWeather(t)}},
	})
	for part := range stream.Full() {
		switch part.Type {
		case "step-start":
			fmt.Fprintf(out, "--- step %d ---\n", part.StepIndex)
		case "text-delta":
			fmt.Fprint(out, part.Text)
		case "tool-call":
			fmt.Fprintf(out, "\ncalling %s %s\n", part.ToolName, part.Input)
		case "tool-result":
			fmt.Fprintf(out, "result %s %s\n", part.ToolName, part.Output)
		case "step-finish":
			fmt.Fprintf(out, "\nstep %d done (%s)\n", part.StepIndex, part.FinishReason)
		default:
		}
	}
	usage, err := stream.Usage()
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(out, "total tokens:", usage.Total())
}

func chainExample(t *testing.T, out *strings.Builder, model *fake.Model) {
	opts := deuz.Options{
		Model:    model,
		Messages: []llm.Message{llm.User("Weather in Paris?")},
		Loop:     loop.Config{MaxSteps: 5, Tools: []loop.Tool{getWeather(t)}},
	}
	first := generate(t, opts)
	opts.Messages = append(opts.Messages, first.Messages...)
	opts.Messages = append(opts.Messages, llm.User("And now?"))
	second := generate(t, opts)
	for _, m := range model.RecordedRequests()[2].Request.Messages {
		fmt.Fprint(out, m.Role)
		for _, p := range m.Parts {
			switch p := p.(type) {
			case llm.ToolCall:
				fmt.Fprint(out, " ", p.Name, " ", p.Arguments)
			case llm.ToolResult:
				fmt.Fprint(out, " ", p.Text())
			case llm.Text:
				fmt.Fprint(out, " ", p.Text)
			default:
				t.Errorf("a part of the type %T", p)
			}
		}
		fmt.Fprintln(out)
	}
	fmt.Fprintln(out, "->", second.Text)
}

// DZ-59: a provider's factory gives a function from model ids to models. The requests have the key
// and the id. The key is in no trace, recording or error. Models of other providers fit, too.
func TestProviderDZ59(t *testing.T) {
	const key = "sk-ant-a-very-secret-key"
	var got []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct{ Model string }
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		got = append(got, strings.TrimSpace(fmt.Sprint(r.URL.Path, " ", r.Header.Get("X-Api-Key"), r.Header.Get("Authorization"), " ", body.Model)))
		w.Header().Set("Content-Type", "application/json")
		switch {
		case len(got) == 2:
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key `+key+`"}}`)
		case strings.HasPrefix(r.URL.Path, "/v1/messages"):
			_, _ = io.WriteString(w, `{"id":"m","type":"message","role":"assistant","model":"claude-opus-4-8","content":[{"type":"text","text":"hello"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}`)
		default:
			_, _ = io.WriteString(w, `{"id":"x","object":"chat.completion","model":"gpt-4o","choices":[{"index":0,"message":{"role":"assistant","content":"hello"},"finish_reason":"stop"}]}`)
		}
	}))
	defer server.Close()
	file := filepath.Join(t.TempDir(), "provider.tape")
	tape, err := cassettes.Open(file, &cassettes.Options{Mode: cassettes.Record})
	if err != nil {
		t.Fatal(err)
	}
	client, other := anthropic.New(key), openai.NewChat(key)
	if client.BaseURL != "https://api.anthropic.com" {
		t.Errorf("the base URL is %s", client.BaseURL)
	}
	client.BaseURL, client.HTTP = server.URL, tape.Client()
	other.BaseURL, other.HTTP = server.URL+"/v1", tape.Client()
	var mem trace.Memory
	all := ""
	createModel := client.Model
	for i, model := range []llm.Model{createModel("claude-opus-4-8"), createModel("claude-opus-4-8"), other.Model("gpt-4o"), fake.NewModel(says("hello"))} {
		res, err := deuz.GenerateText(t.Context(), deuz.Options{Model: model, Messages: messages(), Loop: loop.Config{Sink: &mem}})
		if (err != nil) != (i == 1) || i != 1 && res.Text != "hello" {
			t.Errorf("model %d: got %+v, %v", i, res, err)
		}
		all += fmt.Sprintf("%+v", err)
	}
	want := []string{"/v1/messages " + key + " claude-opus-4-8", "/v1/messages " + key + " claude-opus-4-8", "/v1/chat/completions Bearer " + key + " gpt-4o"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	if err := tape.Close(); err != nil {
		t.Fatal(err)
	}
	recorded, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, ev := range mem.Events() {
		all += string(ev.AppendJSON(nil))
	}
	if all += string(recorded); strings.Contains(all, key) || !strings.Contains(all, `"model":"claude-opus-4-8"`) || !strings.Contains(all, "hello") {
		t.Errorf("the key is in a trace, a recording or an error, or these are empty: %s", all)
	}
}

// DZ-13 to DZ-18, DZ-22 to DZ-24: the JSON of a result has a record of each step with its own
// text, its reasoning if it has any, all its calls, all its results and its messages. It has all new messages and all pending calls.
func TestRecordsDZ13(t *testing.T) {
	client, err := loop.ClientTool("client", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	tool := func(name string) loop.Tool {
		return typed(t, name, func(context.Context, map[string]string) (string, error) { return "of " + name, nil })
	}
	first, last := calls("1", "a", "b"), calls("3", "a", "client")
	first.Text, first.Reasoning, last.Text = "one", "hm", "three"
	type record struct {
		ToolName, Result string
		Args             struct{ Of string }
	}
	type response struct{ Messages []struct{ Role llm.Role } }
	type step struct {
		StepType, Text         string
		ReasoningText          *string
		ToolCalls, ToolResults []record
		Response               response
	}
	type result struct {
		Text      string
		Steps     []step
		ToolCalls []record
		Response  response
	}
	var clientCalls loop.ClientCalls
	run := func(limit int, responses ...fake.Response) (got result) {
		res, err := deuz.GenerateText(t.Context(), deuz.Options{
			Model: &fake.Model{Responses: responses}, Messages: []llm.Message{llm.User("hi"), llm.Assistant(llm.Text{Text: "hello"}), llm.User("go")},
			Loop: loop.Config{Tools: []loop.Tool{tool("a"), tool("b"), client}, MaxSteps: limit, ClientCalls: clientCalls},
		})
		if err != nil {
			t.Fatal(err)
		}
		line := encoded(t, res)
		if err := json.Unmarshal(line, &got); err != nil {
			t.Fatal(err)
		}
		type whole struct {
			Response struct{ Messages []llm.Message }
		}
		var all struct {
			whole
			Steps []whole
		}
		if err := json.Unmarshal(line, &all); err != nil {
			t.Fatal(err)
		}
		lists, wantLists := [][]llm.Message{all.Response.Messages}, [][]llm.Message{res.Messages}
		for i, s := range all.Steps {
			lists, wantLists = append(lists, s.Response.Messages), append(wantLists, res.Steps[i].Messages)
		}
		if diff := cmp.Diff(wantLists, lists, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("messages in the JSON (-want +got):\n%s", diff)
		}
		return got
	}
	call := func(name string) record { return record{name, "", struct{ Of string }{name}} }
	of := func(name string) record { return record{ToolName: name, Result: "of " + name} }
	roles := func(roles ...llm.Role) (r response) {
		for _, role := range roles {
			r.Messages = append(r.Messages, struct{ Role llm.Role }{role})
		}
		return r
	}
	thought := "hm"
	pending := []record{call("a"), call("client")}
	want := result{
		Text: "three", ToolCalls: pending, Response: roles(llm.RoleAssistant, llm.RoleTool, llm.RoleAssistant, llm.RoleTool, llm.RoleAssistant),
		Steps: []step{
			{"initial", "one", &thought, []record{call("a"), call("b")}, []record{of("a"), of("b")}, roles(llm.RoleAssistant, llm.RoleTool)},
			{"tool-result", "", &thought, []record{call("b")}, []record{of("b")}, roles(llm.RoleAssistant, llm.RoleTool)},
			{"tool-result", "three", nil, pending, []record{}, roles(llm.RoleAssistant)},
		},
	}
	second := calls("2", "b")
	second.Reasoning = thought
	if diff := cmp.Diff(want, run(5, first, second, last)); diff != "" {
		t.Errorf("pending calls (-want +got):\n%s", diff)
	}
	// At the step limit, the text is that of the last step, and no call is pending.
	want.Text, want.ToolCalls, want.Steps, want.Response.Messages = "", nil, want.Steps[:2], want.Response.Messages[:4]
	if diff := cmp.Diff(want, run(2, first, second)); diff != "" {
		t.Errorf("step limit (-want +got):\n%s", diff)
	}
	// A last step with text has empty lists, not null.
	want = result{
		Text: "x", Response: roles(llm.RoleAssistant),
		Steps: []step{{"initial", "x", nil, []record{}, []record{}, roles(llm.RoleAssistant)}},
	}
	if diff := cmp.Diff(want, run(5, says("x"))); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
	// A step without text and calls has a record, too.
	none := response{Messages: []struct{ Role llm.Role }{}}
	want = result{Response: none, Steps: []step{{"initial", "", nil, []record{}, []record{}, none}}}
	if diff := cmp.Diff(want, run(5, fake.Response{})); diff != "" {
		t.Errorf("empty response (-want +got):\n%s", diff)
	}
	// A call of a client tool has no result, even if the other calls of its step run.
	clientCalls = loop.ClientRest
	want = result{
		Text: "three", ToolCalls: pending[1:], Response: roles(llm.RoleAssistant, llm.RoleTool),
		Steps: []step{{"initial", "three", nil, pending, []record{of("a")}, roles(llm.RoleAssistant, llm.RoleTool)}},
	}
	if diff := cmp.Diff(want, run(5, last)); diff != "" {
		t.Errorf("the other calls run (-want +got):\n%s", diff)
	}
}
