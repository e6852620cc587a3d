package general

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/looptape/looptape/loop"
)

// Runner runs a shell command. It must end it, with all processes that it started, when ctx ends, and
// return what it has printed until then, with the error of ctx. An error means that the command did not run
// or did not end.
type Runner func(ctx context.Context, c Command) (Outcome, error)

// whyNoRunner returns why there is no tool for a runner, or "". hasLocal is false if [Local] cannot work.
func whyNoRunner(run Runner, hasLocal bool) string {
	switch {
	case run == nil:
		return "no runner of commands (Config.Shell)"
	case !hasLocal && reflect.ValueOf(run).Pointer() == reflect.ValueOf(Local).Pointer():
		return errNoLocal.Error()
	}
	return ""
}

var errNoLocal = errors.New("Local needs /bin/sh, which this system does not have: set Config.Shell to another Runner")

// Command is a shell command.
type Command struct {
	Script string // for /bin/sh -c
	Stdin  string
	Dir    string // where it starts: the working folder
}

// Outcome is the result of a command.
type Outcome struct {
	Stdout, Stderr string
	Status         int // the exit status; 128 and the number of the signal that ended it
	// Sandbox describes the sandbox in which the command ran; empty means that there was none.
	Sandbox string
}

// Limits of a command.
const (
	shellTimeout = 60 // seconds
	maxTimeout   = 900
)

type shellArguments struct {
	Command string `json:"command"`
	Stdin   string `json:"stdin,omitempty"`
	Timeout *int   `json:"timeout,omitempty" jsonschema:"in seconds; 60 if missing, 900 at most"`
}

func shellGroup(run Runner, dir string) group {
	t := tool("shell", "Runs a command with /bin/sh in the working folder. Returns what it prints, and a note if it fails or takes too long. "+
		"Commands that are obviously destructive are refused. That is no sandbox: the command may do what its user may do.",
		func(ctx context.Context, a shellArguments) (string, error) {
			if why := dangerous(a.Command); why != "" { // an approval may have changed it
				return "", refused(why)
			}
			return runShell(ctx, run, dir, a)
		})
	return group{tools: []loop.Tool{t}, wrap: guarded}
}

// refused is the fixed text of a refusal.
func refused(why string) error {
	return errors.New("this command is not permitted: " + why + ". Do not try it again in another form.")
}

// guarded refuses dangerous commands before later middleware, such as that which asks a person.
func guarded(next loop.ToolFunc) loop.ToolFunc {
	return func(ctx context.Context, call loop.Call) (loop.Output, error) {
		if call.Name == "shell" {
			if why := dangerous(argument(call.Arguments, "command")); why != "" {
				call.InOrder(nil)
				return failed(refused(why).Error()), nil
			}
		}
		return next(ctx, call)
	}
}

func runShell(ctx context.Context, run Runner, dir string, a shellArguments) (string, error) {
	seconds := limited(a.Timeout, shellTimeout, maxTimeout)
	limit, cancel := context.WithTimeoutCause(ctx, time.Duration(seconds)*time.Second, errTimeout) //nolint:forbidigo // a process runs in real time
	defer cancel()
	out, err := run(limit, Command{Script: a.Command, Stdin: a.Stdin, Dir: dir})
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	stopped := err != nil && errors.Is(context.Cause(limit), errTimeout)
	if err != nil && !stopped {
		return "", err
	}
	text := joined(cut(out.Stdout), cut(out.Stderr))
	switch {
	case stopped:
		text = joined(text, fmt.Sprintf("[stopped: it took more than %d seconds]", seconds))
	case out.Status != 0:
		text = joined(text, fmt.Sprintf("[exit status %d]", out.Status))
	case text == "":
		text = "[it succeeded and printed nothing]"
	}
	note := "[no sandbox was used]"
	if out.Sandbox != "" {
		note = "[sandbox: " + out.Sandbox + "]"
	}
	return joined(text, note), nil
}

var errTimeout = errors.New("the time of the command is over")

// joined returns two texts, the second one on a line of its own.
func joined(a, b string) string {
	if a != "" && b != "" && !strings.HasSuffix(a, "\n") {
		a += "\n"
	}
	return a + b
}
