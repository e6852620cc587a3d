package rerun

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"time"

	"github.com/looptape/looptape/internal/child"
	"github.com/looptape/looptape/internal/jsonval"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/trace/importer"
)

// maxLine is the maximum length of a reply in bytes.
const maxLine = 16 << 20

// Program implements tools in any language. It reads one call per line from standard input, a JSON
// object with the members run, case, epoch (-1 if unknown), step, index, tool and arguments, and
// writes one line per call to standard output, an object with one of these members:
//
//	{"result": VALUE}    the result: a string, or any other JSON
//	{"error": "TEXT"}    the error that the model reads
//	{"recorded": true}   use the recorded result
//
// A process serves one run. The first call of the run starts it, and it may keep state. At the end
// of the run its standard input is closed, and it has the timeout to end. Then it is killed with its
// process group.
type Program struct {
	// Command is the command for a shell: sh, or cmd.exe on Windows.
	Command string
	Dir     string   // working folder; empty means the current one
	Env     []string // environment, as in os/exec: nil means that of this process
	// Stderr receives the standard error of the program; nil discards it.
	Stderr io.Writer
	// Timeout is the time for a call; 0 means DefaultTimeout.
	Timeout time.Duration
	Clock   loop.Clock // of the timeout; nil means loop.SystemClock
}

type programCall struct {
	Run       string          `json:"run"`   // the run's name
	Case      string          `json:"case"`  // as the row of the run has it
	Epoch     int             `json:"epoch"` // -1 if unknown
	Step      int             `json:"step"`  // from 0
	Index     int             `json:"index"` // index among the calls of the step, from 0
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"` // a JSON object
}

// ProgramError reports an invalid reply or end of a program.
type ProgramError struct {
	Command string
	Err     error

	tool string // the last called
}

// Error names the last called tool, and not the command, which may have a secret.
func (e *ProgramError) Error() string {
	if e.tool == "" {
		return "the program of a tool: " + e.Err.Error()
	}
	return fmt.Sprintf("the program of the tool %q: %v", e.tool, e.Err)
}

// Unwrap returns the cause.
func (e *ProgramError) Unwrap() error { return e.Err }

// serve returns a process for a run. The first call starts it; close ends it.
func (p Program) serve(run *importer.Run) *process {
	p.Timeout = cmp.Or(p.Timeout, DefaultTimeout)
	if p.Clock == nil {
		p.Clock = loop.SystemClock{}
	}
	return &process{program: p, run: run}
}

// process is a Program that serves a run. It is for one goroutine.
type process struct {
	program Program
	run     *importer.Run
	child   *child.Process // nil until the first call
	tool    string         // the last called
	broken  error
}

// call runs a tool. After an error, a *ProgramError, all calls return it.
func (p *process) call(ctx context.Context, c loop.Call) (loop.Output, error) {
	if p.broken != nil {
		return loop.Output{}, p.broken
	}
	p.tool = c.Name
	a, err := p.ask(ctx, &programCall{
		Run: p.run.Name, Case: p.run.CaseName(), Epoch: p.run.Epoch,
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

func (p *process) ask(ctx context.Context, call *programCall) (a reply, err error) {
	if p.child == nil {
		if p.child, err = p.program.start(); err != nil {
			return a, err
		}
	}
	ctx, cancel := p.program.Clock.WithTimeout(ctx, p.program.Timeout, fmt.Errorf("the program sent no reply within %v", p.program.Timeout))
	defer cancel()
	request, err := jsonval.Line(call)
	if err != nil {
		return a, err
	}
	text, err := p.child.Exchange(ctx, request)
	if err != nil {
		return a, err
	}
	return readReply(text)
}

func (p *Program) start() (*child.Process, error) {
	args := []string{"sh", "-c", p.Command}
	if runtime.GOOS == "windows" {
		args = []string{"cmd", "/C", p.Command}
	}
	c := child.Program{Args: args, Dir: p.Dir, Env: p.Env, MaxOutput: maxLine}
	return c.Start(p.Stderr)
}

// end kills the process and returns the error.
func (p *process) end(err error) error {
	if p.child != nil {
		err = p.child.Kill(err)
		p.child = nil
	}
	if err == nil {
		return nil
	}
	return &ProgramError{p.program.Command, err, p.tool}
}

// close closes the standard input of the process and waits for its end. It returns a
// *ProgramError for unexpected output and a failed exit, but not an error that a call has
// returned.
func (p *process) close() error {
	if p.child == nil {
		return nil
	}
	ctx, cancel := p.program.Clock.WithTimeout(context.Background(), p.program.Timeout, fmt.Errorf("the program still ran %v after its input was closed", p.program.Timeout))
	defer cancel()
	return p.end(p.child.Finish(ctx))
}

type reply struct {
	Result   json.RawMessage `json:"result"`
	Error    *string         `json:"error"`
	Recorded bool            `json:"recorded"`
}

func (a *reply) text() string {
	var text string
	if a.Result[0] != '"' || json.Unmarshal(a.Result, &text) != nil {
		return string(a.Result)
	}
	return text
}

func readReply(line []byte) (a reply, err error) {
	if err := json.Unmarshal(line, &a); err != nil {
		return a, fmt.Errorf("invalid reply of the program (%w): want a JSON object with a result: %.200q", err, line)
	}
	members := []bool{a.Result != nil, a.Error != nil, a.Recorded}
	members = slices.DeleteFunc(members, func(set bool) bool { return !set })
	if n := len(members); n != 1 {
		return a, fmt.Errorf("invalid reply of the program: %d of the members result, error and recorded: true: want one: %.200q", n, line)
	}
	return a, nil
}

// Programs are the programs that implement the tools of runs.
type Programs struct {
	// Tools are programs by tool name. Programs with the same command share a process.
	Tools map[string]Program
	// All implements the tools that Tools does not name; may be nil. Tools with names that the
	// loop rejects use the recorded results.
	All *Program
}

// Rerun is [Tools] with the programs as tools. It starts them for this run and ends them with it.
// It returns the result also with the error of a program.
func (ps *Programs) Rerun(ctx context.Context, run *importer.Run, o *Options) (*ToolsRerun, error) {
	p, err := newPath(run)
	if err != nil {
		return nil, err
	}
	started := map[string]*process{}
	var order []*process
	var tools []loop.Tool
	for _, name := range p.called() {
		program, ok := ps.Tools[name]
		if !ok && ps.All != nil {
			_, err := loop.RawTool(name, "", nil, nil)
			program, ok = *ps.All, err == nil
		}
		if !ok {
			continue
		}
		served := started[program.Command]
		if served == nil {
			served = program.serve(run)
			started[program.Command] = served
			order = append(order, served)
		}
		tools = append(tools, loop.Tool{Name: name, Run: served.call})
	}
	out, err := p.playTools(ctx, o, tools)
	for _, served := range slices.Backward(order) {
		err = errors.Join(err, served.close())
	}
	return out, place(run, err)
}
