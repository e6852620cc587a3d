package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
)

// transports are the ways to a server of the SDK.
func transports(t *testing.T) map[string]Server {
	s := newServer(nil)
	return map[string]Server{
		"memory":         memory(t, s),
		"stdio":          childServer(t, "sdk"),
		"HTTP sessions":  overHTTP(t, s, nil),
		"HTTP stateless": overHTTP(t, s, &sdk.StreamableHTTPOptions{Stateless: true}),
		"HTTP JSON":      overHTTP(t, s, &sdk.StreamableHTTPOptions{Stateless: true, JSONResponse: true}),
	}
}

// Each kind of result comes over each transport in both versions of the protocol.
func TestResults(t *testing.T) {
	want := map[string]loop.Output{
		"greet":       loop.TextOutput("Hello Ada"),
		"image":       {Content: []llm.Part{llm.Media{MediaType: "image/png", Data: []byte("PNG")}}},
		"audio":       {Content: []llm.Part{llm.Media{MediaType: "audio/wav", Data: []byte("WAV")}}},
		"resource":    {Content: []llm.Part{llm.Text{Text: "the text"}, llm.Media{MediaType: "application/pdf", Name: "b.pdf", Data: []byte("PDF")}, llm.Text{Text: `{"type":"resource_link","uri":"file:///dir/c.txt","name":"c"}`}}},
		"structured":  {Content: []llm.Part{llm.Text{Text: `{"z":1,"id":12345678901234567890}`}}, Value: json.RawMessage(`{"z":1,"id":12345678901234567890}`)},
		"fails":       {Content: []llm.Part{llm.Text{Text: "no such city"}}, IsError: true},
		"dotted_name": loop.TextOutput("dotted"),
	}
	for name, server := range transports(t) {
		for _, version := range []string{"2025-11-25", "2026-07-28"} {
			t.Run(name+"/"+version, func(t *testing.T) {
				server.ProtocolVersion = version
				c := connect(t, &Config{Servers: []Server{server}, MaxResult: 1000})
				negotiated := version
				if name == "HTTP sessions" { // the SDK serves the new version without sessions only
					negotiated = "2025-11-25"
				}
				if got := c.ProtocolVersion("s"); got != negotiated {
					t.Errorf("got version %q, want %q", got, negotiated)
				}
				for tool, want := range want {
					tool = "s__" + tool
					if tool == "s__dotted_name" {
						tool = ToolName("s", "dotted.name")
					}
					got, err := run(t.Context(), c, tool, `{"name":"Ada"}`)
					if diff := cmp.Diff(want, got); diff != "" || err != nil {
						t.Errorf("%s (-want +got):\n%s%v", tool, diff, err)
					}
				}
				for arguments, want := range map[string]string{`{"size":1000}`: "<nil>", `{"size":1001}`: "the result has 1001 bytes, more than 1000 (Config.MaxResult): ask for less"} {
					if _, err := run(t.Context(), c, "s__big", arguments); !strings.HasSuffix(errorText(err), want) {
						t.Errorf("big %s: got the error %v, want %q", arguments, err, want)
					}
				}
				if _, err := run(t.Context(), c, "s__rejects", "{}"); !strings.Contains(errorText(err), "a protocol error") {
					t.Errorf("got the error %v", err)
				}
			})
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return "<nil>"
	}
	return err.Error()
}

// The version that both sides support is used. A server without such a version is an error.
func TestVersions(t *testing.T) {
	for _, test := range []struct {
		server []string
		client string
		want   string // the version or the error
	}{
		{nil, "", "2026-07-28"},
		{[]string{"2026-07-28"}, "", "2026-07-28"},
		{[]string{"2025-11-25"}, "", "2025-11-25"},
		{[]string{"2024-11-05"}, "", "2024-11-05"},
		{[]string{"2026-07-28", "2025-06-18"}, "2025-11-25", "2025-06-18"},
	} {
		s := sdk.NewServer(&sdk.Implementation{Name: "test"}, &sdk.ServerOptions{SupportedProtocolVersions: test.server, Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}}})
		for _, server := range []Server{memory(t, s), overHTTP(t, s, &sdk.StreamableHTTPOptions{Stateless: true})} {
			server.ProtocolVersion = test.client
			c := connect(t, &Config{Servers: []Server{server}})
			if got := c.ProtocolVersion("s"); got != test.want {
				t.Errorf("server %v, client %q: got %q, want %q", test.server, test.client, got, test.want)
			}
		}
	}
	// A server of the newest version only answers initialize with an older version. It then rejects what follows.
	s := newServer(nil)
	s.AddReceivingMiddleware(onlyNew)
	server := memory(t, s)
	if got := connect(t, &Config{Servers: []Server{server}}).ProtocolVersion("s"); got != "2026-07-28" {
		t.Errorf("got %q", got)
	}
	server.ProtocolVersion = "2025-11-25"
	if _, err := Connect(t.Context(), &Config{Servers: []Server{server}}); !strings.Contains(errorText(err), "this server supports 2026-07-28") {
		t.Errorf("got the error %v", err)
	}
}

// Tools have the description and the schema of the server, byte for byte, in the order of the list.
func TestTools(t *testing.T) {
	c := scriptedClient(t, nil)
	got := c.Tools()[0].Definition()
	want := llm.Tool{Name: "s__pid", Description: "Returns the process.", Parameters: json.RawMessage(`{"type":"object","properties":{"zebra":{"type":"integer","maximum":9007199254740993},"apple":{"type":"string"}}}`)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	first, second := memory(t, newServer(nil)), childServer(t, "sdk")
	first.Namespace, second.Namespace = "a", "b"
	second.Select = func(name string) bool { return name == "greet" || name == "audio" }
	c = connect(t, &Config{Servers: []Server{first, second}})
	var names []string
	for _, tool := range c.Tools() {
		names = append(names, tool.Name)
	}
	// The list of the SDK's server is sorted, in pages of three.
	wantNames := []string{"a__audio", "a__big", ToolName("a", "dotted.name"), "a__fails", "a__greet", "a__image", "a__rejects", "a__resource", "a__structured", "b__audio", "b__greet"}
	if diff := cmp.Diff(wantNames, names); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := c.Tools()[4].Description; got != "Greets" {
		t.Errorf("got the description %q, want the title", got)
	}
}

// AL-53: the name of a tool is namespace__name. The names that do not fit are shortened and stay different.
func TestToolName(t *testing.T) {
	for name, want := range map[string]string{
		"read_file":                   "files__read_file",
		strings.Repeat("x", 57):       "files__" + strings.Repeat("x", 57),
		strings.Repeat("x", 58):       "files__" + strings.Repeat("x", 48) + "_efd8a93d",
		strings.Repeat("x", 57) + "y": "files__" + strings.Repeat("x", 48) + "_cba44fe6",
		"a.b":                         "files__a_b_9640ca39",
		"a b":                         "files__a_b_2d9da918",
		"Größe":                       "files__Gr__e_9379054e",
	} {
		got := ToolName("files", name)
		if got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
}

// Invalid configurations are errors before a server is started.
func TestConnectInvalid(t *testing.T) {
	ok := Server{Namespace: "a", URL: "http://127.0.0.1:1"}
	for want, servers := range map[string][]Server{
		`mcp: two servers have the namespace "a": change one`:                                  {ok, ok},
		`mcp: server "a": set exactly one of Command, URL and Transport`:                       {{Namespace: "a"}},
		`mcp: server "b": set exactly one of Command, URL and Transport`:                       {{Namespace: "b", URL: "x", Command: []string{"x"}}},
		`mcp: the namespace "": want 1 to 32 letters, digits, - and single _ between them`:     {{URL: "x"}},
		`mcp: the namespace "a__b": want 1 to 32 letters, digits, - and single _ between them`: {{Namespace: "a__b", URL: "x"}},
		`mcp: the namespace "a_": want 1 to 32 letters, digits, - and single _ between them`:   {{Namespace: "a_", URL: "x"}},
		`mcp: the namespace "ä": want 1 to 32 letters, digits, - and single _ between them`:    {{Namespace: "ä", URL: "x"}},
	} {
		if _, err := Connect(t.Context(), &Config{Servers: servers}); errorText(err) != want {
			t.Errorf("got the error %v, want %s", err, want)
		}
	}
	_, err := Connect(t.Context(), &Config{Servers: []Server{ok, {Namespace: "b", Command: []string{"/none"}}}})
	for _, want := range []string{"mcp: server \"a\": tools/list: connecting: ", "mcp: server \"b\": tools/list: connecting: the program cannot be started: fork/exec /none: no such file or directory"} {
		if !strings.Contains(errorText(err), want) {
			t.Errorf("got the error %v, want %q", err, want)
		}
	}
}

// A run has the tools of its start. The call of a tool that was removed is an error result. A run after
// Refresh has the new tools.
func TestToolsChange(t *testing.T) {
	c := scriptedClient(t, nil)
	cfg := loop.Config{Middleware: []loop.Middleware{c.Middleware()}, MaxConsecutiveToolErrors: loop.Disabled}
	results := func(tools ...string) (texts []string) {
		for _, step := range runLoop(t, callsOf(tools...), cfg).Steps {
			for _, r := range step.Results {
				texts = append(texts, r.Text())
			}
		}
		return texts
	}
	got := results("s__change", "s__old", "s__new")
	if got[0] != "changed" || !strings.Contains(got[1], "unknown tool: old") || !strings.Contains(got[2], "s__pid") { // the loop lists the tools
		t.Errorf("got %q", got)
	}
	if !c.Changed() {
		t.Error("the change was not reported")
	}
	if err := c.Refresh(t.Context()); err != nil || c.Changed() {
		t.Errorf("got the error %v and the change %v", err, c.Changed())
	}
	if got := results("s__new", "s__change"); got[0] != "new" || !strings.Contains(got[1], "s__pid") {
		t.Errorf("got %q", got)
	}
}

// Servers in this process and over HTTP report changes, too, in both versions of the protocol.
func TestChangedReported(t *testing.T) {
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		s := newServer(nil)
		for name, server := range map[string]Server{
			"memory": memory(t, s),
			"HTTP":   overHTTP(t, s, &sdk.StreamableHTTPOptions{Stateless: version == "2026-07-28"}),
		} {
			server.ProtocolVersion = version
			c := connect(t, &Config{Servers: []Server{server}})
			n := len(c.Tools())
			s.AddTool(&sdk.Tool{Name: "added to " + name, InputSchema: object}, nil)
			for !c.Changed() {
				if t.Context().Err() != nil {
					t.Fatal(name)
				}
				runtime.Gosched()
			}
			if err := c.Refresh(t.Context()); err != nil || len(c.Tools()) != n+1 {
				t.Errorf("%s: got %d tools and the error %v, want %d", name, len(c.Tools()), err, n+1)
			}
		}
	}
}

// A change of one server is still reported after a Refresh that another server made fail.
func TestChangedAfterFailedRefresh(t *testing.T) {
	first, down := newServer(nil), false
	a, b := memory(t, first), memory(t, newServer(nil))
	a.Namespace, b.Namespace = "a", "b"
	var ended []func() error
	transport := b.Transport
	b.Transport = func() (sdk.Transport, error) {
		if down {
			return nil, errors.New("down")
		}
		tr, err := transport()
		return transportFunc(func(ctx context.Context) (sdk.Connection, error) {
			conn, err := tr.Connect(ctx)
			if err == nil {
				ended = append(ended, conn.Close)
			}
			return conn, err
		}), err
	}
	c := connect(t, &Config{Servers: []Server{a, b}})
	n := len(c.Tools())
	first.AddTool(&sdk.Tool{Name: "added", InputSchema: object}, nil)
	for !c.Changed() {
		if t.Context().Err() != nil {
			t.Fatal("no change")
		}
		runtime.Gosched()
	}
	down = true
	for _, end := range ended {
		_ = end() // the server of b ends
	}
	if err := c.Refresh(t.Context()); err == nil || !c.Changed() || len(c.Tools()) != n {
		t.Errorf("after a failed Refresh: error %v, changed %t, %d tools, want an error, true, %d", err, c.Changed(), len(c.Tools()), n)
	}
	down = false
	if err := c.Refresh(t.Context()); err != nil || c.Changed() || len(c.Tools()) != n+1 {
		t.Errorf("after Refresh: error %v, changed %t, %d tools, want none, false, %d", err, c.Changed(), len(c.Tools()), n+1)
	}
}

type transportFunc func(context.Context) (sdk.Connection, error)

func (f transportFunc) Connect(ctx context.Context) (sdk.Connection, error) { return f(ctx) }

// AL-53: a real loop calls tools of two servers with the same name, and one that dies. The trace satisfies the
// invariants.
func TestLoop(t *testing.T) {
	first, second, third := memory(t, newServer(nil)), childServer(t, "sdk"), childServer(t, "scripted")
	first.Namespace, second.Namespace, third.Namespace = "a", "b", "c"
	c := connect(t, &Config{Servers: []Server{first, second, third}, Grace: testGrace})
	model := fake.NewModel(
		fake.Response{Calls: []fake.Call{
			{Name: "a__greet", Arguments: `{"name":"Ada"}`}, {Name: "c__die", Arguments: `{}`}, {Name: "b__greet", Arguments: `{"name":"Bob"}`},
			{Name: "a__greet", Arguments: `{"name":1}`}, {Name: "b__fails", Arguments: `{}`},
		}},
		fake.Response{Calls: []fake.Call{{Name: "c__noise", Arguments: `{}`}}},
		fake.Response{Text: "done"},
	)
	res := runLoop(t, model, loop.Config{Tools: c.Tools()})
	type result struct {
		Text    string
		IsError bool
	}
	var got []result
	for _, step := range res.Steps {
		for _, r := range step.Results {
			text, _, _ := strings.Cut(r.Text(), "\n")
			got = append(got, result{text, r.IsError})
		}
	}
	want := []result{
		{"Hello Ada", false},
		{`mcp: server "c": tool "die": calling "tools/call": the program ended with exit status 3; its standard error: out of cheese`, true},
		{"Hello Bob", false}, {"", true}, {"no such city", true}, {"after noise", false},
	}
	want[3].Text = got[3].Text // of the loop
	if diff := cmp.Diff(want, got); diff != "" || res.Text != "done" {
		t.Errorf("%q (-want +got):\n%s", res.Text, diff)
	}
}
