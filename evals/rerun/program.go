package rerun

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"time"

	"github.com/looptape/looptape/evals"
	"github.com/looptape/looptape/internal/child"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/trace/importer"
)

// maxLine is how long an answer of a program may be.
const maxLine = 16 << 20

// DefaultTimeout is how long a program has for a call.
const DefaultTimeout = 10 * time.Second

// Program is a program, in any language, that stands for tools. It reads a call a line on
// standard input, a JSON object (see [ProgramCall]), and answers each with a line on
// standard output, an object with one of these members:
//
//	{"result": VALUE}    the result: a text, or any other JSON
//	{"error": "TEXT"}    the tool failed, and says this to the model
//	{"recorded": true}   the call is to be answered as it was in the recording
//
// A process serves one run: it is started at the first call of the run and may keep what
// state it likes; when the run is over its standard input is closed, and it has the
// timeout to end. It and what it has started, in its group where there are such, are then
// killed.
type Program struct {
	// Command is what a shell runs: sh, or cmd.exe where there is none.
	Command string
	Dir     string   // where it runs; empty is the current folder
	Env     []string // its environment, as of os/exec: nil is that of this process
	// Stderr gets what the program writes there; nil drops it.
	Stderr io.Writer
	// Timeout is how long the program has for a call; 0 means DefaultTimeout.
	Timeout time.Duration
	Clock   loop.Clock // of the timeout; nil means loop.SystemClock
}

// ProgramCall is what a program reads of a call.
type ProgramCall struct {
	Run       string          `json:"run"`   // the run's name
	Case      string          `json:"case"`  // as the row of the run has it
	Epoch     int             `json:"epoch"` // -1 if the recording does not say it
	Step      int             `json:"step"`  // the turn of the model, from 0
	Index     int             `json:"index"` // the place among its calls, from 0
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"` // a JSON object
}

// ProgramError says that a program did not answer a call as it should.
type ProgramError struct {
	Command string
	Err     error
}

func (e *ProgramError) Error() string { return fmt.Sprintf("%q: %v", e.Command, e.Err) }

// Unwrap returns what is wrong.
func (e *ProgramError) Unwrap() error { return e.Err }

// Serve returns a process for a run. Nothing is started yet. Close ends what is.
func (p Program) Serve(run *importer.Run) *Process {
	p.Timeout = cmp.Or(p.Timeout, DefaultTimeout)
	if p.Clock == nil {
		p.Clock = loop.SystemClock{}
	}
	return &Process{program: p, run: run}
}

// Process is a Program that serves a run. It is for one goroutine.
type Process struct {
	program Program
	run     *importer.Run
	child   *child.Talker // nil until the first call
	broken  error
}

// Tool returns a tool that the process answers. What the program does wrong is a
// *ProgramError, and that of all later calls, too: one that was wrong is not asked again.
func (p *Process) Tool(name string) loop.Tool {
	return loop.Tool{Name: name, Run: p.call}
}

func (p *Process) call(ctx context.Context, c loop.Call) (loop.Output, error) {
	if p.broken != nil {
		return loop.Output{}, p.broken
	}
	a, err := p.ask(ctx, &ProgramCall{
		Run: p.run.Name, Case: evals.CaseOf(p.run), Epoch: p.run.Epoch,
		Step: c.Step, Index: c.Index, Tool: c.Name, Arguments: json.RawMessage(c.Arguments),
	})
	if err != nil {
		p.broken = p.end(err)
		return loop.Output{}, p.broken
	}
	switch {
	case a.Recorded:
		return loop.Output{}, ErrAsRecorded
	case a.Error != nil:
		return loop.Output{Content: []llm.Part{llm.Text{Text: *a.Error}}, IsError: true}, nil
	}
	return loop.TextOutput(a.text()), nil
}

// ask asks for what a call comes to.
func (p *Process) ask(ctx context.Context, call *ProgramCall) (a answered, err error) {
	if p.child == nil {
		if p.child, err = p.program.start(); err != nil {
			return a, err
		}
	}
	ctx, cancel := p.program.Clock.WithTimeout(ctx, p.program.Timeout, fmt.Errorf("the program gave no answer within %v", p.program.Timeout))
	defer cancel()
	var asks bytes.Buffer
	enc := json.NewEncoder(&asks)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(call); err != nil {
		return a, err
	}
	text, err := p.child.Ask(ctx, asks.Bytes())
	if err != nil {
		return a, err
	}
	return readAnswer(text)
}

// start starts the program, by a shell.
func (p *Program) start() (*child.Talker, error) {
	args := []string{"sh", "-c", p.Command}
	if runtime.GOOS == "windows" {
		args = []string{"cmd", "/C", p.Command}
	}
	c := child.Program{Args: args, Dir: p.Dir, Env: p.Env, Most: maxLine}
	return c.Talk(p.Stderr)
}

// end kills what was started, and makes the error of it.
func (p *Process) end(err error) error {
	if p.child != nil {
		err = p.child.Kill(err)
		p.child = nil
	}
	if err == nil {
		return nil
	}
	return &ProgramError{p.program.Command, err}
}

// Close closes the standard input of the process, and waits for its end. The error, a
// *ProgramError, says that it wrote more than it was asked for, or did not end as it
// should; what was returned by a call is not returned again.
func (p *Process) Close() error {
	if p.child == nil {
		return nil
	}
	ctx, cancel := p.program.Clock.WithTimeout(context.Background(), p.program.Timeout, fmt.Errorf("the program still ran %v after its input was closed", p.program.Timeout))
	defer cancel()
	return p.end(p.child.Finish(ctx))
}

// answered is what a program answers.
type answered struct {
	Result   json.RawMessage `json:"result"`
	Error    *string         `json:"error"`
	Recorded bool            `json:"recorded"`
}

// text is the result as a model reads it.
func (a *answered) text() string {
	var text string
	if a.Result[0] != '"' || json.Unmarshal(a.Result, &text) != nil {
		return string(a.Result)
	}
	return text
}

// readAnswer reads a line of a program.
func readAnswer(line []byte) (a answered, err error) {
	if err := json.Unmarshal(line, &a); err != nil {
		return a, fmt.Errorf("the answer of the program is no JSON object with a result (%w): %.200q", err, line)
	}
	n := 0
	for _, there := range []bool{a.Result != nil, a.Error != nil, a.Recorded} {
		if there {
			n++
		}
	}
	if n != 1 {
		return a, fmt.Errorf("the answer of the program has %d of the members result, error and recorded: true, and needs one: %.200q", n, line)
	}
	return a, nil
}
