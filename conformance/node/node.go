// Package node runs the programs of conformance/npm: tool loops with libraries from npm. It starts
// no server and installs nothing; see [Dir].
package node

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// Client is a program.
type Client struct {
	Name        string // of its file
	Description string
	// Packages are its packages from npm, the package of the loop first.
	Packages []string
	// Protocols are the names of its protocols, as in protocol.Protocol.
	Protocols []string
}

// The protocols of the programs.
var (
	openAI    = []string{"openai-chat", "openai-responses"}
	anthropic = []string{"anthropic-messages"}
	google    = []string{"gemini"}
	all       = []string{"openai-chat", "openai-responses", "anthropic-messages", "gemini"}
)

// Clients returns all programs.
func Clients() []Client {
	return []Client{
		{"openai", "a manual loop with OpenAI's SDK", []string{"openai"}, openAI},
		{"openai-runner", "the runners of OpenAI's SDK", []string{"openai"}, openAI},
		{"anthropic", "a manual loop with Anthropic's SDK", []string{"@anthropic-ai/sdk"}, anthropic},
		{"anthropic-runner", "the runner of Anthropic's SDK", []string{"@anthropic-ai/sdk"}, anthropic},
		{"google", "a manual loop with Google's SDK", []string{"@google/genai"}, google},
		{"google-chat", "the chat of Google's SDK", []string{"@google/genai"}, google},
		{"ai", "Vercel's AI SDK", []string{"ai", "@ai-sdk/openai", "@ai-sdk/anthropic", "@ai-sdk/google"}, all},
		{"agents", "OpenAI's Agents SDK", []string{"@openai/agents", "openai"}, openAI},
		{"langgraph", "LangGraph's ready-made agent", []string{"@langchain/langgraph", "@langchain/core", "@langchain/openai", "@langchain/anthropic", "@langchain/google-genai"}, all},
	}
}

// File returns the path of a program below [Dir].
func (c Client) File() string { return filepath.Join("clients", c.Name+".mjs") }

// Dir returns the folder of the programs: npm or conformance/npm in the current folder or above. The
// error names what must be installed before they can run.
func Dir() (string, error) {
	here, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for at := here; ; at = filepath.Dir(at) {
		for _, dir := range []string{filepath.Join(at, "npm"), filepath.Join(at, "conformance", "npm")} {
			if _, err := os.Stat(filepath.Join(dir, "clients", "case.mjs")); err == nil {
				return dir, ready(dir)
			}
		}
		if at == filepath.Dir(at) {
			return "", fmt.Errorf("missing folder conformance/npm in %s and above", here)
		}
	}
}

// ready returns an error if the programs of a folder cannot run.
func ready(dir string) error {
	if _, err := exec.LookPath("node"); err != nil {
		return errors.New("missing command node: install Node.js 20 or later")
	}
	if _, err := os.Stat(filepath.Join(dir, "node_modules")); err != nil {
		return errors.New("the packages from npm are not installed: run npm ci in conformance/npm")
	}
	return nil
}

// Case is one run of a tool loop.
type Case struct {
	ID        string `json:"id"`
	Protocol  string `json:"protocol"`
	Streaming bool   `json:"streaming"`
	// Input is the prompt; empty means a question about the weather.
	Input string `json:"input,omitempty"`
	// Env is added to the environment of the program, in which the libraries find base URLs and
	// keys (see wire.ServerInfo.Env).
	Env map[string]string `json:"env"`
}

// Result is the result of a [Case]: the final text, or the error of the loop.
type Result struct {
	ID    string `json:"id"`
	Text  string `json:"text"`
	Error string `json:"error"`
}

// Worker keeps a program running for many cases. It is for use by one goroutine.
type Worker struct {
	Dir    string // see [Dir]
	Client Client
	// Env is the environment of the program; nil means that of this process.
	Env []string
	// Stderr gets the standard error of the program; nil discards it.
	Stderr io.Writer

	cmd *exec.Cmd // nil if the program is not running
	in  io.WriteCloser
	out *bufio.Reader
}

// Run runs a case. If ctx ends first, Run kills the program and returns the cause of ctx. The next
// case starts the program again.
func (w *Worker) Run(ctx context.Context, c Case) (Result, error) {
	if w.cmd == nil {
		if err := w.start(); err != nil {
			return Result{}, fmt.Errorf("starting %s: %w", w.Client.File(), err)
		}
	}
	done := make(chan response, 1)
	go func() { done <- w.send(c) }()
	select {
	case r := <-done:
		if r.err != nil {
			return Result{}, errors.Join(fmt.Errorf("%s, case %s: %w", w.Client.File(), c.ID, r.err), w.kill())
		}
		return r.Result, nil
	case <-ctx.Done():
		err := w.kill()
		<-done // the output has ended with the program
		return Result{}, errors.Join(context.Cause(ctx), err)
	}
}

// Close ends the program.
func (w *Worker) Close() error {
	if w.cmd == nil {
		return nil
	}
	return w.kill()
}

func (w *Worker) start() error {
	cmd := exec.Command("node", w.Client.File()) //nolint:noctx // it runs longer than a case
	cmd.Dir, cmd.Env, cmd.Stderr = w.Dir, w.Env, w.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	w.cmd, w.in, w.out = cmd, in, bufio.NewReader(out)
	return nil
}

// response is the response of the program.
type response struct {
	Result
	err error
}

func (w *Worker) send(c Case) (r response) {
	line, err := json.Marshal(c)
	if err == nil {
		_, err = w.in.Write(append(line, '\n'))
	}
	if err == nil {
		line, err = w.out.ReadBytes('\n')
	}
	if err != nil {
		return response{err: err}
	}
	if err := json.Unmarshal(line, &r.Result); err != nil || r.ID != c.ID {
		r.err = fmt.Errorf("invalid response %q: want the id and the result in JSON", bytes.TrimSpace(line))
	}
	return r
}

// kill ends the program and waits for it.
func (w *Worker) kill() error {
	err := w.cmd.Process.Kill()
	_ = w.cmd.Wait() // it was killed
	w.cmd = nil
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}
