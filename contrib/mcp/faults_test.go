//go:build unix

package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
)

// A call that ends the connection is an error that contains the reason. The next call starts the program again.
func TestStdioCallFails(t *testing.T) {
	for tool, want := range map[string]string{
		"die":      "the program ended with exit status 3; its standard error: out of cheese",
		"damaged":  `the program wrote a line that is not a JSON-RPC message: the message is not JSON: "{\"result\":{\"content\":[],\"jsonrpc\":\"2.0\",\"id\":`,
		"line":     "the program wrote a line of more than 1048576 bytes (Config.MaxMessage)",
		"requests": "the server sent more than 100 requests without waiting for responses",
		"old":      `calling "tools/call": unknown tool: old`,
	} {
		t.Run(tool, func(t *testing.T) {
			c := scriptedClient(t, nil)
			first := textOf(t, c, "s__pid")
			_, err := run(t.Context(), c, "s__"+tool, "{}")
			if err == nil || !strings.HasPrefix(err.Error(), fmt.Sprintf("mcp: server %q: tool %q: ", "s", tool)) || !strings.Contains(err.Error(), want) {
				t.Errorf("got the error %v, want %q", err, want)
			}
			if second := textOf(t, c, "s__pid"); (second == first) != (tool == "old") {
				t.Errorf("the process was %s, and is %s", first, second)
			}
		})
	}
}

// A program that ends is not used again, even if a process that it has left in another group keeps its input and
// output open.
func TestStdioLeftProcess(t *testing.T) {
	out := newOutput()
	c := scriptedClient(t, out)
	first := textOf(t, c, "s__pid")
	_, err := run(t.Context(), c, "s__leave", "{}")
	var left int
	if _, text, ok := strings.Cut(out.String(), "left "); ok {
		_, _ = fmt.Sscanf(text, "%d.", &left)
	}
	if left > 0 {
		_ = syscall.Kill(left, syscall.SIGKILL)
	}
	if want := "the program ended with exit status 3; its standard error: left"; left == 0 || err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got the error %v, want %q", err, want)
	}
	if textOf(t, c, "s__pid") == first {
		t.Error("the process that has ended is used again")
	}
}

// The other calls that wait for a program fail with it.
func TestStdioConcurrentCallsFail(t *testing.T) {
	out := newOutput()
	c := scriptedClient(t, out)
	errs := make(chan error)
	for range 3 {
		go func() {
			_, err := run(t.Context(), c, "s__hang", "{}")
			errs <- err
		}()
	}
	out.wait("begun\nbegun\nbegun\n")
	if _, err := run(t.Context(), c, "s__die", "{}"); err == nil {
		t.Error("the call of die has a result")
	}
	for range 3 {
		if err := <-errs; !strings.Contains(fmt.Sprint(err), "the program ended with exit status 3") {
			t.Errorf("got the error %v", err)
		}
	}
}

// A program that keeps its output closed or writes to it what is not a message.
func TestStdioOutput(t *testing.T) {
	out := newOutput()
	c := scriptedClient(t, out)
	if got := textOf(t, c, "s__noise"); got != "after noise" {
		t.Errorf("got %q", got)
	}
	if want := "Listening on stdio …\n\n[1,2]\n{\"level\":\"info\"}\n\"text\"\n"; out.String() != want {
		t.Errorf("got the standard error %q, want %q", out, want)
	}
	if _, err := run(t.Context(), c, "s__shut", "{}"); err == nil || !strings.Contains(err.Error(), "the program closed its standard output; its standard error: Listening") {
		t.Errorf("got the error %v", err)
	}
	if got := textOf(t, c, "s__pings"); got != "done" {
		t.Errorf("got %q", got)
	}
	if got := textOf(t, scriptedClient(t, io.Discard), "s__stderr"); got != "done" {
		t.Errorf("got %q", got)
	}
}

// A call of a tool that does not answer, or that writes notifications without end, ends with its
// context. The server gets a notification, and continues.
func TestStdioCallCanceled(t *testing.T) {
	reason := errors.New("the reason")
	for _, tool := range []string{"hang", "notify"} {
		out := newOutput()
		c := scriptedClient(t, out)
		first := textOf(t, c, "s__pid")
		ctx, cancel := context.WithCancelCause(t.Context())
		done := make(chan error)
		go func() {
			_, err := run(ctx, c, "s__"+tool, "{}")
			done <- err
		}()
		out.wait("begun")
		cancel(reason)
		if err := <-done; !errors.Is(err, reason) {
			t.Errorf("%s: got the error %v", tool, err)
		}
		if tool == "hang" && textOf(t, c, "s__pid") != first {
			t.Error("another process")
		}
	}
}

// The server gets the id of the call that was canceled.
func TestStdioCancelNotification(t *testing.T) {
	out := newOutput()
	c := scriptedClient(t, out)
	agent, err := loop.New(callsOf("s__hang"), &loop.Config{Tools: c.Tools(), ToolTimeout: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	res, err := agent.Run(t.Context(), loop.Prompt("go"))
	if err != nil || !res.Steps[0].Results[0].IsError || !strings.Contains(res.Steps[0].Results[0].Text(), loop.ErrToolTimeout.Error()) {
		t.Errorf("got %+v and the error %v", res, err)
	}
	out.wait("cancelled ")
}

// A program that stops reading does not block a call, nor Close.
func TestStdioUnreadInput(t *testing.T) {
	out := newOutput()
	c := scriptedClient(t, out)
	first := textOf(t, c, "s__pid")
	conn := c.servers[0].session.conn().(*gated).Connection.(*stdio)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 2)
	start := func(ctx context.Context, tool, arguments string) {
		_, err := run(ctx, c, tool, arguments)
		done <- err
	}
	go start(ctx, "s__deaf", "{}")
	out.wait("deaf")
	for ended := false; !ended; { // a call that is canceled before it writes does not end the program
		big, stop := context.WithCancel(ctx)
		go start(big, "s__raw", `{"content":[{"type":"text","text":"`+strings.Repeat("x", 1<<18)+`"}]}`)
		for len(conn.writing) == 0 { // the call holds the element until its message is written
			runtime.Gosched()
		}
		stop()
		// The call of deaf fails with the program.
		if err := <-done; !errors.Is(err, context.Canceled) && !strings.Contains(fmt.Sprint(err), "the program") {
			t.Errorf("got the error %v", err)
		}
		select {
		case <-conn.exited:
			ended = true
		default:
		}
	}
	cancel()
	if err := <-done; err == nil {
		t.Error("a call that was not answered has a result")
	}
	if textOf(t, c, "s__pid") == first {
		t.Error("the process that does not read is used again")
	}
}

// The child processes of a program end with it: with Close, even if the program ignores it, and if the
// program ends by itself.
func TestChildProcessesEnd(t *testing.T) {
	for _, tool := range []string{"stay", "die"} {
		name := filepath.Join(t.TempDir(), "pipe")
		if err := syscall.Mkfifo(name, 0o600); err != nil {
			t.Fatal(err)
		}
		all := make(chan string)
		go func() {
			data, err := os.ReadFile(name)
			all <- fmt.Sprint(string(data), err)
		}()
		c := scriptedClient(t, nil)
		if out, err := run(t.Context(), c, "s__child", fmt.Sprintf(`{"pipe":%q}`, name)); err != nil || out.Content[0].(llm.Text).Text != "<nil>" {
			t.Fatal(out, err)
		}
		if _, err := run(t.Context(), c, "s__"+tool, "{}"); (err == nil) != (tool == "stay") {
			t.Errorf("%s: got the error %v", tool, err)
		}
		if tool == "stay" {
			c.Close()
		}
		if got := <-all; got != "x\n<nil>" { // returns when no process has the pipe open
			t.Errorf("%s: the child wrote %q", tool, got)
		}
	}
}

// After Close a call is an error.
func TestCallAfterClose(t *testing.T) {
	c := scriptedClient(t, nil)
	c.Close()
	if _, err := run(t.Context(), c, "s__pid", "{}"); !errors.Is(err, errClosed) {
		t.Errorf("got the error %v", err)
	}
	if err := c.Refresh(t.Context()); !errors.Is(err, errClosed) {
		t.Errorf("Refresh: got the error %v", err)
	}
	c.Close()
}

// A call that runs ends with Close.
func TestCloseEndsCalls(t *testing.T) {
	canceled := make(chan string, 2)
	for _, s := range []Server{memory(t, newServer(canceled)), overHTTP(t, newServer(canceled), nil)} {
		c := connect(t, &Config{Servers: []Server{s}})
		done := make(chan error)
		go func() {
			_, err := run(t.Context(), c, "s__hang", "{}")
			done <- err
		}()
		<-canceled // the call has begun
		c.Close()
		if err := <-done; !errors.Is(err, errClosed) {
			t.Errorf("got the error %v", err)
		}
		<-canceled
	}
}

// Servers that cannot be used are errors of Connect.
func TestConnectFails(t *testing.T) {
	same := strings.TrimPrefix(ToolName("s", "a.b"), "s__") // its own name for the model is the same
	for want, env := range map[string]string{
		`unsupported protocol version: "2099-01-01"`:                         "VERSION=2099-01-01",
		`the server did not answer within Config.ConnectTimeout`:             "SILENT=initialize",
		`tools/list: the server did not answer within Config.ConnectTimeout`: "SILENT=tools/list",
		`two tools have the name "a": exclude it with Server.Select`:         `LIST={"tools":[{"name":"a","inputSchema":{"type":"object"}},{"name":"a","inputSchema":{"type":"object"}}]}`,
		`have the same name for the model: exclude one with Server.Select`:   `LIST={"tools":[{"name":"a.b","inputSchema":{"type":"object"}},{"name":"` + same + `","inputSchema":{"type":"object"}}]}`,
		`tools/list: a tool has no name`:                                     `LIST={"tools":[{"inputSchema":{"type":"object"}}]}`,
		`the tool "a": loop: the tool "s__a":`:                               `LIST={"tools":[{"name":"a","inputSchema":{"type":"array"}}]}`,
		`the tool "b": loop: the tool "s__b":`:                               `LIST={"tools":[{"name":"b","inputSchema":{"type":"object","properties":{"x":{"pattern":"("}}}}]}`,
		`tools/list: more than 1000 pages`:                                   `LIST={"tools":[],"nextCursor":"CURSOR."}`,
		`tools/list: more than 1000 tools: choose some`:                      `LIST={"tools":[{"name":"aCURSOR","inputSchema":{"type":"object"}},{"name":"bCURSOR","inputSchema":{"type":"object"}}],"nextCursor":"CURSORx"}`,
		`tools/list: the tool "h" has an invalid x-mcp-header`:               `LIST={"tools":[{"name":"h","inputSchema":{"type":"object","properties":{"x":{"type":"object","x-mcp-header":"X"}}}}]}`,
		`tools/list: calling "tools/list": `:                                 `LIST={"tools":"none"}`,
	} {
		timeout := DefaultConnectTimeout
		if strings.HasPrefix(env, "SILENT") {
			timeout = 200 * time.Millisecond
		}
		_, err := Connect(t.Context(), &Config{Servers: []Server{childServer(t, "scripted", env)}, ConnectTimeout: timeout, Grace: testGrace})
		if err == nil || !strings.HasPrefix(err.Error(), `mcp: server "s": `) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got the error %v, want %q", env, err, want)
		}
	}
}

// A Transport that returns none is an error of Connect, and not a panic.
func TestNoTransport(t *testing.T) {
	for name, transport := range map[string]sdk.Transport{"nil": nil, "a nil pointer": (*sdk.StreamableClientTransport)(nil)} {
		_, err := Connect(t.Context(), &Config{Servers: []Server{{Namespace: "s", Transport: func() (sdk.Transport, error) { return transport, nil }}}})
		if err == nil || !strings.Contains(err.Error(), `connecting: Server.Transport returned nil`) {
			t.Errorf("%s: got the error %v", name, err)
		}
	}
}
