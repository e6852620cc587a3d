//go:build unix

package general

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// hasLocal says whether Local can work.
const hasLocal = true

// Local runs commands on this machine with /bin/sh, with PATH, HOME, LANG and TMPDIR of the environment of
// this process and nothing else of it. On Linux it uses a sandbox where one works:
//
//   - bubblewrap (the program bwrap): the command can write to its folder and to a /tmp of its own only, has no
//     network, and sees no other processes.
//   - Landlock (a part of Linux): the command can change the content of its folder and of a temporary folder
//     only. It has no TCP since Linux 6.7, and sends no signals to others since Linux 6.12. Root keeps the
//     capabilities for files only.
//
// In both it can read all files that this process can read, but not its environment or memory.
// [Outcome.Sandbox] describes the one that was used, with what it does not prevent. Without bubblewrap, a process
// that leaves its process group and clears its environment outlives the command.
func Local(ctx context.Context, c Command) (Outcome, error) {
	return runIn(ctx, append(slices.Clip(sandboxes()), noSandbox)[0], c)
}

// sandbox is a way to start a command.
type sandbox struct {
	name string // for Outcome.Sandbox
	// start starts a command, which may write below a folder only. clean removes what start has created.
	start func(cmd *exec.Cmd, dir string) (clean func(), err error)
}

// noSandbox starts a command as it is.
var noSandbox = sandbox{start: func(cmd *exec.Cmd, _ string) (func(), error) { return func() {}, cmd.Start() }}

// commands is the number of commands that this process has run.
var commands atomic.Int64

// markName is the environment variable by which the processes of a command are found.
const markName = "LOOPTAPE_COMMAND"

func runIn(ctx context.Context, s sandbox, c Command) (Outcome, error) {
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", c.Script)
	mark := fmt.Sprintf("%s=%d-%d", markName, os.Getpid(), commands.Add(1))
	cmd.Dir, cmd.Stdin, cmd.Env = c.Dir, strings.NewReader(c.Stdin), append(environment(), mark)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // a process group of its own, without the terminal
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	stdout, stderr := &limitedBuffer{}, &limitedBuffer{}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	clean, err := s.start(cmd, c.Dir)
	if err == nil {
		defer clean()
		err = cmd.Wait()
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what it left in the background, if anything
		killMarked(mark)
	}
	out := Outcome{Stdout: stdout.text(), Stderr: stderr.text(), Sandbox: s.name}
	if ctx.Err() != nil {
		return out, context.Cause(ctx)
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		if out.Status = exit.ExitCode(); out.Status < 0 {
			if s, ok := exit.Sys().(syscall.WaitStatus); ok && s.Signaled() {
				out.Status = 128 + int(s.Signal())
			}
		}
		return out, nil
	}
	if err != nil && !errors.Is(err, exec.ErrWaitDelay) { // a process in the background kept its output open
		return out, fmt.Errorf("the command was not run: %w", err)
	}
	return out, nil
}

func environment() (env []string) {
	for _, key := range []string{"PATH", "HOME", "LANG", "TMPDIR"} {
		if v, ok := os.LookupEnv(key); ok { //nolint:forbidigo // of the programs that a command runs
			env = append(env, key+"="+v)
		}
	}
	return env
}
