package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/looptape/looptape/fake/wire"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/providers/anthropic"
	"github.com/looptape/looptape/providers/gemini"
	"github.com/looptape/looptape/providers/openai"
	"github.com/looptape/looptape/providers/openai/chat"
	"github.com/looptape/looptape/providers/openai/responses"
	"github.com/looptape/looptape/providers/protocol"

	"github.com/looptape/looptape/cmd/looptape/internal/cli"
	"github.com/looptape/looptape/cmd/looptape/internal/cli/clitest"
)

// agent is a program with an agent loop. The environment has the address of its
// provider. Usage: agent PROTOCOL [careless|once|again|idle], where careless drops the
// results of tools, once makes one request, again repeats it until it fails, and idle makes
// none.
func agent() {
	if err := runAgent(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "agent:", err)
		os.Exit(3)
	}
}

func runAgent(args []string) error {
	env := os.Getenv
	clients := map[string]*protocol.Client{
		"chat":      {Protocol: chat.Protocol{}, BaseURL: env("OPENAI_BASE_URL"), Authorize: openai.Key(env("OPENAI_API_KEY"))},
		"responses": {Protocol: responses.Protocol{}, BaseURL: env("OPENAI_BASE_URL"), Authorize: openai.Key(env("OPENAI_API_KEY"))},
		"anthropic": {Protocol: anthropic.Messages{}, BaseURL: env("ANTHROPIC_BASE_URL"), Authorize: anthropic.Key(env("ANTHROPIC_API_KEY"))},
		"gemini":    {Protocol: gemini.GenerateContent{}, BaseURL: env("GOOGLE_GEMINI_BASE_URL") + "/v1beta", Authorize: gemini.Key(env("GEMINI_API_KEY"))},
	}
	c := clients[args[0]]
	tool, err := loop.RawTool("weather", "", nil, func(context.Context, loop.Call) (loop.Output, error) {
		return loop.TextOutput("rain"), nil
	})
	if err != nil {
		return err
	}
	a, err := loop.New(c, &loop.Config{Model: "some-model", Tools: []loop.Tool{tool}})
	if err != nil {
		return err
	}
	if len(args) > 1 {
		req := &llm.Request{Model: "some-model", Messages: []llm.Message{llm.User("hi")}}
		if args[1] == "careless" {
			req.Messages = append(req.Messages, llm.Assistant(llm.ToolCall{ID: "call_1", Name: "weather", Arguments: "{}"}))
		}
		var err error
		for more := args[1] != "idle"; more; more = err == nil && args[1] == "again" {
			_, err = llm.Collect(c.Stream(context.Background(), req))
		}
		return err
	}
	res, err := a.Run(context.Background(), loop.Prompt("How is the weather in Bern?"))
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(os.Stdout, res.Messages[len(res.Messages)-1].Text())
	return err
}

const weather = `version: 1
models:
  main:
    - calls: [{id: call_1, name: weather, args: '{"city":"Bern"}'}]
    - text: It rains.
input: unused
`

func weatherFile(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "weather.yaml")
	if err := os.WriteFile(file, []byte(weather), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// Without a program, serve serves until a signal to stop or the end of standard input, and then reports.
func TestServeUntilStopped(t *testing.T) {
	t.Run("signal", func(t *testing.T) { testServeUntilStopped(t, false) })
	t.Run("end of input", func(t *testing.T) { testServeUntilStopped(t, true) })
}

func testServeUntilStopped(t *testing.T, byEOF bool) {
	t.Helper()
	w, _, words := clitest.Terminal(nil)
	w.OutTerminal = false
	stop := make(chan struct{})
	w.Interrupted = func(ctx context.Context) (context.Context, context.CancelFunc) {
		ctx, cancel := context.WithCancel(ctx)
		go func() {
			defer cancel()
			select {
			case <-stop:
			case <-ctx.Done():
			}
		}()
		return ctx, cancel
	}
	info, out := io.Pipe()
	w.Out = out
	report := filepath.Join(t.TempDir(), "report.json")
	ended := make(chan cli.Status, 1)
	input, end := io.Pipe()
	w.In = input
	args := []string{"serve", weatherFile(t), "--format", "json", "--report", report, "--quirk", "QO-22", "--suppress", "INV-07=one request is enough", "--allow-unused"}
	if byEOF {
		args = append(args, "--until-eof")
	}
	go func() { ended <- execute(args, w) }()
	lines := bufio.NewReader(info)
	var h wire.ServerInfo
	first, err := lines.ReadBytes('\n')
	if err != nil || json.Unmarshal(first, &h) != nil {
		t.Fatalf("the server info is %s, %v; %s", first, err, words)
	}
	c := &protocol.Client{Protocol: chat.Protocol{}, BaseURL: h.BaseURLs[wire.OpenAI], HTTP: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}, Authorize: openai.Key("k")}
	turn, err := llm.Collect(c.Stream(t.Context(), &llm.Request{Model: "m", Messages: []llm.Message{llm.User("hi")}}))
	if err != nil || len(turn.Calls()) != 1 {
		t.Errorf("the response is %v, %v", turn, err)
	}
	if byEOF {
		_ = end.Close() // it cannot fail
	} else {
		close(stop)
	}
	last, err := lines.ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	if got := <-ended; got != cli.OK {
		t.Errorf("exit status %d, want %d; %s", got, cli.OK, words)
	}
	written, err := os.ReadFile(report)
	var r wire.Report
	if err := errors.Join(err, json.Unmarshal(last, &r)); err != nil || string(written) != string(last) {
		t.Fatalf("the report is %s, and in the file %s, %v", last, written, err)
	}
	if r.Requests != 1 || !r.OK() || len(r.Violations) != 1 || r.Shown["QO-22"] != 1 || len(r.Unused) != 1 {
		t.Errorf("the report is %s", last)
	}
}

// full is a disk on which no byte is left.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

// What cannot be served, or written, is an error.
func TestServeErrors(t *testing.T) {
	file := weatherFile(t)
	for name, args := range map[string][]string{
		"address":        {"serve", file, "--addr", "127.0.0.1:99999"},
		"output":         {"serve", file},
		"report":         {"serve", file, "--report", filepath.Join(t.TempDir(), "no", "report.json"), "--", "true"},
		"help, output":   {"serve", "--quirk", "help"},
		"output, report": {"serve", file, "--", "true"},
	} {
		t.Run(name, func(t *testing.T) {
			w, _, words := clitest.Terminal(nil)
			if strings.Contains(name, "output") {
				w.Out, w.Err = full{}, io.MultiWriter(words, full{})
			}
			if name == "output, report" {
				w.Err = words
			}
			if got := execute(args, w); got != cli.Usage {
				t.Errorf("exit status %d, want %d", got, cli.Usage)
			}
			if words.Len() == 0 {
				t.Error("it is not reported")
			}
		})
	}
}

// A program that ignores the signal to stop is killed; its
// output is forwarded.
func TestServeProgram(t *testing.T) {
	w, out, words := clitest.Terminal(map[string]string{"NO_PROXY": "example.org"})
	w.Environ = func() []string { return []string{"PATH=" + os.Getenv("PATH")} }
	args := []string{"serve", weatherFile(t), "--key", "k1", "--", "sh", "-c", `echo "$OPENAI_API_KEY $NO_PROXY $no_proxy"`}
	if got := execute(args, w); got != cli.Failed {
		t.Errorf("exit status %d, want %d; %s", got, cli.Failed, words)
	}
	if !strings.HasPrefix(out.String(), "k1 example.org,127.0.0.1,localhost 127.0.0.1,localhost\n") || !strings.Contains(out.String(), "\x1b[31m0 requests served") {
		t.Errorf("the output is %q", out)
	}
	if !bytes.Contains(words.Bytes(), []byte("looptape serves ")) {
		t.Errorf("the words are %q", words)
	}
}

// A report that goes to where standard output goes takes nothing away.
func TestServeReportToOutput(t *testing.T) {
	w, _, words := clitest.Terminal(nil)
	name := filepath.Join(t.TempDir(), "out")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	w.Out = f
	w.Environ = os.Environ
	if got := execute([]string{"serve", weatherFile(t), "--format", "json", "--report", name, "--", "true"}, w); got != cli.Failed {
		t.Errorf("exit status %d, want %d; %s", got, cli.Failed, words)
	}
	written, err := os.ReadFile(name)
	if lines := strings.Split(string(written), "\n"); err != nil || len(lines) != 3 || !strings.HasPrefix(lines[0], `{"format":"looptape-serve","version":2,`) || lines[0] != lines[1] {
		t.Errorf("the output is %q, %v", written, err)
	}
}
