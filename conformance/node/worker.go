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
)

// Case is one tool loop to play.
type Case struct {
	ID       string `json:"id"`
	Protocol string `json:"protocol"`
	Streamed bool   `json:"streamed"`
	// Input is what the model is asked; empty is a question for the weather.
	Input string `json:"input,omitempty"`
	// Env is put into the program's environment, where the libraries look for base
	// URLs and keys (see wire.ServerInfo.Env).
	Env map[string]string `json:"env"`
}

// Outcome is what came of a Case: the last text, or the error of the loop.
type Outcome struct {
	ID    string `json:"id"`
	Text  string `json:"text"`
	Error string `json:"error"`
}

// Worker keeps a program running over many cases. It is not for use by several
// goroutines at once.
type Worker struct {
	Dir    string // see Dir
	Client Client
	// Env is the environment of the program; nil is that of this process.
	Env []string
	// Stderr gets what the program says; if it is nil, nobody does.
	Stderr io.Writer

	cmd *exec.Cmd // nil if the program does not run
	in  io.WriteCloser
	out *bufio.Reader
}

// Play has the program play a case. If ctx ends first, the program is ended and the
// error is that of ctx; the next case starts it anew.
func (w *Worker) Play(ctx context.Context, c Case) (Outcome, error) {
	if w.cmd == nil {
		if err := w.start(); err != nil {
			return Outcome{}, fmt.Errorf("starting %s: %w", w.Client.File(), err)
		}
	}
	answered := make(chan result, 1)
	go func() { answered <- w.ask(c) }()
	select {
	case r := <-answered:
		if r.err != nil {
			return Outcome{}, errors.Join(fmt.Errorf("%s, case %s: %w", w.Client.File(), c.ID, r.err), w.kill())
		}
		return r.Outcome, nil
	case <-ctx.Done():
		err := w.kill()
		<-answered // the output has ended with the program
		return Outcome{}, errors.Join(context.Cause(ctx), err)
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
	cmd := exec.Command("node", w.Client.File()) //nolint:noctx // it lives longer than a case
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

// result is an answer of the program.
type result struct {
	Outcome
	err error
}

func (w *Worker) ask(c Case) (r result) {
	line, err := json.Marshal(c)
	if err == nil {
		_, err = w.in.Write(append(line, '\n'))
	}
	if err == nil {
		line, err = w.out.ReadBytes('\n')
	}
	if err != nil {
		return result{err: err}
	}
	if err := json.Unmarshal(line, &r.Outcome); err != nil || r.ID != c.ID {
		r.err = fmt.Errorf("it has to answer with the id and the outcome in JSON, and says %q", bytes.TrimSpace(line))
	}
	return r
}

// kill ends the program and waits for it. That it was killed is no error.
func (w *Worker) kill() error {
	err := w.cmd.Process.Kill()
	_ = w.cmd.Wait() // it was killed
	w.cmd = nil
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}
