//go:build unix

package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
)

// npmServer returns the program of a server from npm, see conformance/npm. If it is not installed, the
// test is skipped, or fails if LOOPTAPE_NPM is set.
func npmServer(t *testing.T, name string) string {
	t.Helper()
	_, err := exec.LookPath("node")
	program := filepath.Join("..", "..", "conformance", "npm", "node_modules", "@modelcontextprotocol", name, "dist", "index.js")
	if err == nil {
		_, err = os.Stat(program)
	}
	switch {
	case err == nil:
	case os.Getenv("LOOPTAPE_NPM") != "":
		t.Fatal(err)
	default:
		t.Skipf("%v: run npm ci in conformance/npm", err)
	}
	program, err = filepath.Abs(program)
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// onLoopback makes a Node.js program listen on a free port of the loopback interface, and print it.
const onLoopback = `data:text/javascript,
import net from "node:net";
const listen = net.Server.prototype.listen;
net.Server.prototype.listen = function (port, ...rest) {
	this.once("listening", () => console.error("port " + this.address().port));
	return listen.call(this, { port: 0, host: "127.0.0.1" }, ...rest.filter((f) => typeof f === "function"));
};`

// everything returns the server server-everything over a transport.
func everything(t *testing.T, transport string) Server {
	program := npmServer(t, "server-everything")
	if transport == "stdio" {
		return Server{Namespace: "all", Command: []string{"node", program}}
	}
	cmd := exec.CommandContext(t.Context(), "node", "--import", onLoopback, program, "streamableHttp")
	stderr, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines, port := bufio.NewScanner(stderr), ""
	for port == "" && lines.Scan() {
		port, _ = strings.CutPrefix(lines.Text(), "port ")
	}
	if port == "" {
		t.Fatal("the server printed no port")
	}
	drained := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, stderr)
		close(drained)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-drained
		_ = cmd.Wait() // it was killed
	})
	return Server{Namespace: "all", URL: "http://127.0.0.1:" + port + "/mcp"}
}

// The tools of server-everything have the names of their lists, and their results come over both
// transports. A call that runs is canceled.
func TestNPMEverything(t *testing.T) {
	for _, transport := range []string{"stdio", "streamableHttp"} {
		t.Run(transport, func(t *testing.T) {
			c := connect(t, &Config{Servers: []Server{everything(t, transport)}})
			if got := c.ProtocolVersion("all"); got != "2025-11-25" {
				t.Errorf("got version %q", got)
			}
			for tool, arguments := range map[string]string{"echo": `{"message":"Grüße"}`, "get-sum": `{"a":2,"b":40}`} {
				want := map[string]string{"echo": "Echo: Grüße", "get-sum": "The sum of 2 and 40 is 42."}[tool]
				got, err := run(t.Context(), c, "all__"+tool, arguments)
				if diff := cmp.Diff(loop.TextOutput(want), got); diff != "" || err != nil {
					t.Errorf("%s: the error %v (-want +got):\n%s", tool, err, diff)
				}
			}
			got, err := run(t.Context(), c, "all__get-structured-content", `{"location":"Chicago"}`)
			weather := `{"temperature":36,"conditions":"Light rain / drizzle","humidity":82}`
			want := loop.TextOutput(weather)
			want.Value = json.RawMessage(weather)
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("the error %v (-want +got):\n%s", err, diff)
			}
			kinds := map[string][]string{"get-tiny-image": {"text", "image/png", "text"}, "get-resource-links": {"text", "text", "text", "text"}, "get-resource-reference": {"text", "text", "text"}}
			arguments := map[string]string{"get-tiny-image": `{}`, "get-resource-links": `{"count":3}`, "get-resource-reference": `{"resourceType":"Text","resourceId":1}`}
			for tool, want := range kinds {
				got, err := run(t.Context(), c, "all__"+tool, arguments[tool])
				var kinds []string
				for _, p := range got.Content {
					if media, ok := p.(llm.Media); ok {
						kinds = append(kinds, media.MediaType)
						if !strings.HasPrefix(string(media.Data), "\x89PNG") {
							t.Errorf("%s: got the data %.20q", tool, media.Data)
						}
					} else {
						kinds = append(kinds, "text")
					}
				}
				if !slices.Equal(kinds, want) || err != nil {
					t.Errorf("%s: got %v and the error %v, want %v", tool, kinds, err, want)
				}
			}
			if out, err := run(t.Context(), c, "all__get-sum", `{"a":"x"}`); !out.IsError || err != nil {
				t.Errorf("invalid arguments: got %v and the error %v", out, err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error)
			go func() {
				_, err := run(ctx, c, "all__trigger-long-running-operation", `{"duration":3600,"steps":1}`)
				done <- err
			}()
			cancel()
			if err := <-done; !errors.Is(err, context.Canceled) {
				t.Errorf("got the error %v", err)
			}
		})
	}
}

// A loop reads and writes files with server-filesystem, next to server-everything. The trace satisfies
// the invariants.
func TestNPMLoop(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "note.txt")
	c := connect(t, &Config{Servers: []Server{
		{Namespace: "files", Command: []string{"node", npmServer(t, "server-filesystem"), dir}},
		everything(t, "stdio"),
	}})
	arguments := func(v any) string {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	model := fake.NewModel(
		fake.Response{Calls: []fake.Call{{Name: "files__write_file", Arguments: arguments(map[string]string{"path": file, "content": "hello\n"})}, {Name: "all__echo", Arguments: `{"message":"hi"}`}}},
		fake.Response{Calls: []fake.Call{{Name: "files__read_text_file", Arguments: arguments(map[string]string{"path": file})}, {Name: "files__read_text_file", Arguments: arguments(map[string]string{"path": "/none/x"})}}},
		fake.Response{Text: "done"},
	)
	res := runLoop(t, model, loop.Config{Tools: c.Tools()})
	var got []string
	for _, step := range res.Steps {
		for _, r := range step.Results {
			text, _, _ := strings.Cut(r.Text(), " - path outside")
			got = append(got, strings.ReplaceAll(text, dir, "DIR"))
			if r.IsError != strings.HasPrefix(text, "Access denied") {
				t.Errorf("%q: is an error: %v", text, r.IsError)
			}
		}
	}
	want := []string{"Successfully wrote to DIR/note.txt", "Echo: hi", "hello\n", "Access denied"}
	if diff := cmp.Diff(want, got); diff != "" || res.Text != "done" {
		t.Errorf("%q (-want +got):\n%s", res.Text, diff)
	}
	if data, err := os.ReadFile(file); string(data) != "hello\n" || err != nil {
		t.Errorf("got %q and the error %v", data, err)
	}
}

// Each tool of the servers has a schema that the loop accepts.
func TestNPMTools(t *testing.T) {
	c := connect(t, &Config{Servers: []Server{{Namespace: "files", Command: []string{"node", npmServer(t, "server-filesystem"), t.TempDir()}}, everything(t, "stdio")}})
	if _, err := loop.New(fake.NewModel(), &loop.Config{Tools: c.Tools()}); err != nil {
		t.Error(err)
	}
	if n := len(c.Tools()); n < 20 {
		t.Errorf("got %d tools", n)
	}
}
