package agentloop_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/preset/agentloop"
	"github.com/looptape/looptape/providers/anthropic"
	"github.com/looptape/looptape/providers/openai"
	"github.com/looptape/looptape/providers/protocol"
	"github.com/looptape/looptape/trace"
)

// transport answers each request with one body, and keeps the tools of the requests.
type transport struct {
	body  string
	tools []any
}

func (s *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	var body struct{ Tools []any }
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		return nil, err
	}
	s.tools = append(s.tools, body.Tools)
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Request: r, Body: io.NopCloser(strings.NewReader(s.body)),
	}, nil
}

// builtin returns a builtin tool that counts its runs.
func builtin(definition string, runs *int) loop.Tool {
	return loop.Tool{Builtin: json.RawMessage(definition), Run: func(context.Context, loop.Call) (loop.Output, error) {
		*runs++
		return loop.TextOutput("ran"), nil
	}}
}

// AL-53: a builtin tool is sent in the form of the provider, and its key is its type: for the tools
// of the agent, for added tools, for those of a run, and in a snapshot. A call that the provider ran
// is not run.
func TestAL53BuiltinTool(t *testing.T) {
	for _, c := range []struct {
		name     string
		client   *protocol.Client
		function string // the tool a
		body     string
	}{
		{
			"responses", openai.NewResponses("key"), `{"type":"function","name":"a","parameters":{"type":"object","properties":{}},"strict":false}`,
			`{"id":"r","object":"response","status":"completed","model":"m","output":[
				{"type":"web_search_call","id":"ws_1","status":"completed","action":{"type":"search","query":"go"}},
				{"type":"message","id":"m_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"found","annotations":[]}]}]}`,
		},
		{
			"anthropic", anthropic.New("key"), `{"name":"a","input_schema":{"type":"object"}}`,
			`{"id":"m","type":"message","role":"assistant","model":"m","stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1},"content":[
				{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"go"}},
				{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[]},
				{"type":"text","text":"found"}]}`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			const first, second, third = `{"type":"web_search","max_uses":1}`, `{"type":"web_search","max_uses":2}`, `{"type":"web_search","max_uses":3}`
			runs := 0
			sent := &transport{body: c.body}
			c.client.HTTP = &http.Client{Transport: sent}
			w := newWorld(t)
			cfg := agentloop.Config{Model: "m", Tools: []loop.Tool{builtin(`{"type":"web_search"}`, &runs), text("a", "A"), builtin(first, &runs)}}
			w.dress(&cfg)
			l, err := agentloop.New(t.Context(), c.client, &cfg)
			if err != nil {
				t.Fatal(err)
			}
			complete := func(opts *agentloop.Options) {
				t.Helper()
				res, err := l.Complete(t.Context(), agentloop.Input{Text: "go"}, opts)
				if err != nil || res.Err != nil || res.Reason != agentloop.Done || res.Text() != "found" {
					t.Errorf("got %+v, %v", res, err)
				}
			}
			complete(nil)
			named := builtin(second, &runs)
			named.Name = "search" // the key is the type also for a tool with a name
			if err := l.AddTool(named); err != nil {
				t.Fatal(err)
			}
			complete(nil)
			complete(&agentloop.Options{Tools: []llm.Tool{{Name: "search", Builtin: json.RawMessage(third)}}})
			var want []any
			for _, tools := range []string{first + "," + c.function, second + "," + c.function, c.function + "," + third} {
				var list any
				if err := json.Unmarshal([]byte("["+tools+"]"), &list); err != nil {
					t.Fatal(err)
				}
				want = append(want, list)
			}
			if diff := gocmp.Diff(want, sent.tools); diff != "" {
				t.Errorf("tools of the requests (-want +got):\n%s", diff)
			}
			if runs != 0 {
				t.Errorf("%d calls of the provider were run", runs)
			}

			var keys []string
			for _, tool := range l.Tools() {
				keys = append(keys, tool.Name)
			}
			same(t, "tools", []string{"web_search", "a"}, keys)
			snapshot := l.Dump()
			same(t, "the snapshot", []string{"web_search", "a"}, snapshot.ToolNames)
			for _, restored := range []struct {
				tools []loop.Tool
				want  []string
			}{
				{[]loop.Tool{text("a", "A"), builtin(first, &runs)}, nil},
				{[]loop.Tool{text("a", "A")}, []string{agentloop.WarnToolRemoved}},
				{[]loop.Tool{text("a", "A"), builtin(first, &runs), builtin(`{"type":"code_interpreter"}`, &runs)}, []string{agentloop.WarnToolAdded}},
			} {
				var codes []string
				bus := new(agentloop.Bus)
				bus.Subscribe(func(_ context.Context, ev agentloop.Event) error {
					if w, ok := ev.Data.(trace.Warning); ok {
						codes = append(codes, w.Code)
					}
					return nil
				})
				if _, err := agentloop.Restore(t.Context(), c.client, snapshot, &agentloop.Config{Model: "m", Hooks: bus, Tools: restored.tools}); err != nil {
					t.Fatal(err)
				}
				same(t, "warnings", restored.want, codes)
			}
		})
	}
}

// AL-53: a call of a builtin tool that the caller runs finds it under its type. A tool that is added
// during a run is sent in the form of the provider from the next step on.
func TestAL53BuiltinCall(t *testing.T) {
	runs := 0
	w := newWorld(t, calls("", "local_shell"), says("x")).agent(agentloop.Config{Tools: []loop.Tool{builtin(`{"type":"local_shell"}`, &runs)}})
	w.hook = func(ev agentloop.Event) error {
		if ev.Name == agentloop.OnStepComplete && ev.Step == 0 {
			return w.AddTool(builtin(`{"type":"web_search"}`, &runs))
		}
		return nil
	}
	w.run("go")
	var sent []string
	for _, tool := range w.model.Requests()[1].Tools {
		sent = append(sent, fmt.Sprintf("%s %s", tool.Name, tool.Builtin))
	}
	same(t, "the tools of the next step", []string{`local_shell {"type":"local_shell"}`, `web_search {"type":"web_search"}`}, sent)
	if got := w.History().Messages()[2].Parts[0].(llm.ToolResult).Text(); got != "ran" || runs != 1 {
		t.Errorf("got %q after %d runs", got, runs)
	}
	for _, definition := range []string{`{"type":`, `[]`, `{}`, `{"type":7}`} {
		if err := w.AddTool(builtin(definition, &runs)); err == nil {
			t.Errorf("%s is a tool", definition)
		}
	}
}
