//go:build unix

package general

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Local runs commands on this machine with /bin/sh, with PATH, HOME, LANG and TMPDIR of the environment of
// this process and nothing else of it. On Linux it uses bubblewrap (the program bwrap) where that works: the command
// can then write to its folder and to a /tmp of its own only, has no network, and sees no other
// processes. [Outcome.Sandbox] says whether it was used.
func Local(ctx context.Context, c Command) (Outcome, error) {
	args, sandbox := []string{"/bin/sh", "-c", c.Script}, ""
	if bwrap := bubblewrap(); bwrap != "" {
		args = append(bubblewrapArgs(bwrap, c.Dir), args...)
		sandbox = "bubblewrap, without network, with write access to the working folder only"
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir, cmd.Stdin, cmd.Env = c.Dir, strings.NewReader(c.Stdin), environment()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	stdout, stderr := &limitedBuffer{}, &limitedBuffer{}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	err := cmd.Run()
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what it left in the background, if anything
	}
	out := Outcome{Stdout: stdout.text(), Stderr: stderr.text(), Sandbox: sandbox}
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

// bubblewrap returns the path of bwrap, if it is there and may create a sandbox.
var bubblewrap = sync.OnceValue(func() string {
	bwrap, err := exec.LookPath("bwrap")
	if err != nil {
		return ""
	}
	args := append(bubblewrapArgs(bwrap, os.TempDir()), "/bin/sh", "-c", ":")
	if exec.Command(args[0], args[1:]...).Run() != nil {
		return ""
	}
	return bwrap
})

func bubblewrapArgs(bwrap, dir string) []string {
	return []string{
		bwrap, "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL",
		"--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", "--tmpfs", "/run", "--bind", dir, dir, "--chdir", dir, "--",
	}
}
