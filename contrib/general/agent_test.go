package general_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/contrib/general"
	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/fake/wire"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/files"
	"github.com/looptape/looptape/loop/middleware"
	"github.com/looptape/looptape/loop/preset/reactagent"
	"github.com/looptape/looptape/providers/openai"
	"github.com/looptape/looptape/providers/openai/chat"
	"github.com/looptape/looptape/providers/protocol"
)

// good has a call of each tool with good arguments, and a part of its result.
var good = map[string]struct {
	args args
	want string
}{
	"write_todos": {args{"todos": []string{"x"}}, "x"},
	"write_file":  {args{"path": "n", "content": "noted"}, "n"},
	"read_file":   {args{"path": "notes"}, "noted"},
	"edit_file":   {args{"path": "edited", "old_string": "a", "new_string": "b"}, "edited"},
	"ls":          {args{}, "notes"},
	"mkdir":       {args{"path": "m"}, "m"},

	"fetch":      {args{"url": "http://example.org/"}, "GET http://example.org/ 200 OK\nhello"},
	"curl":       {args{"url": "http://example.org/"}, "HTTP/1.1 200 OK\nContent-Type: text/plain\n\nhello"},
	"grep":       {args{"pattern": "t.o"}, "a.txt:2: two\n"},
	"glob":       {args{"pattern": "*.txt"}, "a.txt\nb.txt\n"},
	"tree":       {args{}, "./\n  a.txt\n"},
	"head":       {args{"path": "a.txt", "lines": 1}, "one\n"},
	"tail":       {args{"path": "a.txt", "lines": 1}, "two\n"},
	"diff":       {args{"a": "a.txt", "b": "b.txt"}, "--- a.txt\n+++ b.txt\n"},
	"git_status": {args{}, "branch: main\nmodified: b.txt\n"},
	"git_diff":   {args{}, "-b\n+changed\n"},
	"git_log":    {args{}, " 2026-01-02 A: the first commit\n"},
	"git_show":   {args{}, "\n    the first commit\n\ndiff --git a/a.txt b/a.txt\n"},
	"git_blame":  {args{"path": "a.txt"}, "1) one"},
	"shell":      {args{"command": "true"}, "ran true\n[no sandbox was used]"},
}

// notes returns files for the calls of good.
func notes(t *testing.T) *files.Memory {
	t.Helper()
	m := &files.Memory{}
	for name, text := range map[string]string{"notes": "noted", "edited": "a"} {
		if err := m.Write(name, text); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// request is the part of a request in Chat Completions that the test reads.
type request struct {
	Messages []struct{ Role, Content string }
	Tools    []struct{ Function struct{ Name string } }
}

// agentRun runs a deep agent over HTTP. The model calls each of the tools. It returns the first request, as it was
// sent, and the results by tool.
func agentRun(t *testing.T, cfg reactagent.DeepConfig, names []string) (sent string, results map[string]string) {
	t.Helper()
	var turn fake.Response
	for _, name := range names {
		data, err := json.Marshal(good[name].args)
		if err != nil {
			t.Fatal(err)
		}
		turn.Calls = append(turn.Calls, fake.Call{ID: "call_" + name, Name: name, Arguments: string(data)})
	}
	client, stop := wire.New(wire.Config{Model: fake.NewModel(turn, fake.Response{Text: "done"})}).Pipe()
	defer stop()
	to := client.Transport
	client.Transport = double(func(r *http.Request) (*http.Response, error) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		if sent == "" {
			sent = string(body)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		return to.RoundTrip(r)
	})
	model := &protocol.Client{Protocol: chat.Protocol{}, BaseURL: "http://example.org/openai/v1", HTTP: client, Authorize: openai.Key("some-key")}
	cfg.Model, cfg.System, cfg.Backend = "gpt", "be brief", notes(t)
	agent, err := reactagent.NewDeep(model, &cfg)
	if err != nil {
		t.Fatal(err)
	}
	results = map[string]string{}
	ok := agent.Run(t.Context(), []llm.Message{llm.User("go")}, "", func(e reactagent.Event) {
		switch e.Type {
		case "toolCompleted":
			if results[e.Name] = resultOf(t, e); e.IsError {
				t.Errorf("%s: the error %q", e.Name, e.Result)
			}
		case "failed":
			t.Error(e.Err)
		}
	})
	if !ok {
		t.Error("the run failed")
	}
	return sent, results
}

func resultOf(t *testing.T, e reactagent.Event) (text string) {
	t.Helper()
	if err := json.Unmarshal(e.Result, &text); err != nil {
		text = string(e.Result)
	}
	return text
}

// RA-08, RA-57 to RA-61, RA-83: each tool in the request of a deep agent gives its documented result, and there is
// no other general-purpose tool in it.
func TestDeepAgent(t *testing.T) {
	dir := repo(t)
	write(t, dir, "b.txt", "changed\n")
	everything := general.Config{
		Dir: dir, Hosts: []string{"example.org"},
		Transport: double(func(r *http.Request) (*http.Response, error) { return response(r, 200, "text/plain", "hello"), nil }),
		Shell: func(_ context.Context, c general.Command) (general.Outcome, error) {
			return general.Outcome{Stdout: "ran " + c.Script}, nil
		},
	}
	approve := func(context.Context, middleware.ApprovalRequest) (middleware.Approval, error) {
		return middleware.Approval{Decision: middleware.Approve}, nil
	}
	const stack, web, search, text, git = "write_todos ls read_file write_file edit_file mkdir", " fetch curl", " grep glob tree", " head tail diff", " git_status git_diff git_log git_show git_blame"
	for name, c := range map[string]struct {
		change func(*general.Config, *reactagent.DeepConfig)
		want   string
	}{
		"everything":        {func(*general.Config, *reactagent.DeepConfig) {}, stack + web + search + text + git + " shell"},
		"no approval":       {func(_ *general.Config, d *reactagent.DeepConfig) { d.Approve = nil }, stack + web + search + text + git},
		"no working folder": {func(g *general.Config, _ *reactagent.DeepConfig) { g.Dir = "" }, stack + web},
		"no repository": {func(g *general.Config, _ *reactagent.DeepConfig) {
			g.Dir = folder(t, map[string]string{"a.txt": "one\ntwo\n", "b.txt": ""})
		}, stack + web + search + text + " shell"},
		"no hosts":              {func(g *general.Config, _ *reactagent.DeepConfig) { g.Hosts = nil }, stack + search + text + git + " shell"},
		"no runner":             {func(g *general.Config, _ *reactagent.DeepConfig) { g.Shell = nil }, stack + web + search + text + git},
		"nothing permitted":     {func(g *general.Config, _ *reactagent.DeepConfig) { *g = general.Config{} }, stack},
		"no general purpose":    {func(_ *general.Config, d *reactagent.DeepConfig) { d.NoGeneralPurpose = true }, stack},
		"the defaults":          {func(_ *general.Config, d *reactagent.DeepConfig) { *d = reactagent.DeepConfig{} }, stack},
		"a name that is not on": {func(_ *general.Config, d *reactagent.DeepConfig) { d.DisabledTools = []string{"curl", "shell"} }, stack + " fetch" + search + text + git},
	} {
		t.Run(name, func(t *testing.T) {
			cfg, deep := everything, reactagent.DeepConfig{Approve: approve}
			c.change(&cfg, &deep)
			if name != "the defaults" {
				deep.GeneralPurpose = tools(t, &cfg).Middleware()
			}
			want := strings.Fields(c.want)
			sent, results := agentRun(t, deep, want)
			var req request
			if err := json.Unmarshal([]byte(sent), &req); err != nil {
				t.Fatal(err)
			}
			var offered []string
			for _, tool := range req.Tools {
				offered = append(offered, tool.Function.Name)
			}
			if diff := cmp.Diff(want, offered); diff != "" {
				t.Errorf("offered (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(slices.Sorted(slices.Values(want)), slices.Sorted(maps.Keys(results))); diff != "" {
				t.Errorf("results (-want +got):\n%s", diff)
			}
			for name, result := range results {
				if !strings.Contains(result, good[name].want) || strings.HasPrefix(result, "Error") || strings.Contains(result, "not built") {
					t.Errorf("%s: got %q, want a text with %q", name, result, good[name].want)
				}
			}
			for group, sign := range map[string]string{"git_status": "git", "shell": "shell", "fetch": "HTTP"} {
				if !slices.Contains(want, group) && strings.Contains(sent, sign) {
					t.Errorf("the request mentions %s: %s", sign, sent)
				}
			}
		})
	}
}

// RA-81: in a deep agent, the guard is before the approval and after it.
func TestDeepAgentGuard(t *testing.T) {
	var ran, asked []string
	made := tools(t, &general.Config{Dir: t.TempDir(), Shell: func(_ context.Context, c general.Command) (general.Outcome, error) {
		ran = append(ran, c.Script)
		return general.Outcome{}, nil
	}})
	var turn fake.Response
	for _, command := range []string{"sudo ls", "rm -r build", "edit me"} {
		data, err := json.Marshal(args{"command": command})
		if err != nil {
			t.Fatal(err)
		}
		turn.Calls = append(turn.Calls, fake.Call{Name: "shell", Arguments: string(data)})
	}
	agent, err := reactagent.NewDeep(fake.NewModel(turn, fake.Response{Text: "done"}), &reactagent.DeepConfig{
		Config: reactagent.Config{Config: loop.Config{Clock: fake.NewClock()}}, GeneralPurpose: made.Middleware(),
		InterruptOn: map[string]middleware.ApprovalRule{"shell": {Allowed: []middleware.ApprovalDecision{middleware.Approve, middleware.Edit}}},
		Approve: func(_ context.Context, r middleware.ApprovalRequest) (middleware.Approval, error) {
			if asked = append(asked, r.Call.Arguments); strings.Contains(r.Call.Arguments, "edit") {
				return middleware.Approval{Decision: middleware.Edit, Arguments: `{"command":"sudo rm x"}`}, nil
			}
			return middleware.Approval{Decision: middleware.Approve}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	var results []string
	agent.Run(t.Context(), []llm.Message{llm.User("go")}, "", func(e reactagent.Event) {
		if e.Type == "toolCompleted" {
			results = append(results, resultOf(t, e))
		}
	})
	const refused = "Error: this command is not permitted: it asks for the rights of another user. Do not try it again in another form."
	want := [][]string{{"rm -r build"}, {`{"command":"rm -r build"}`, `{"command":"edit me"}`}}
	if diff := cmp.Diff(want, [][]string{ran, asked}); diff != "" {
		t.Errorf("run and asked (-want +got):\n%s", diff)
	}
	slices.Sort(results)
	if diff := cmp.Diff([]string{refused, refused, "[it succeeded and printed nothing]\n[no sandbox was used]"}, results); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
}
