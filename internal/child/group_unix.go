//go:build unix

package child

import (
	"os/exec"
	"syscall"
)

// CanSignal reports whether programs can get other signals than SIGKILL.
const CanSignal = true

// Group puts a program that is going to be started into a process group with what it
// starts.
func Group(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// Signal sends a signal to the group of a program that was started.
func Signal(c *exec.Cmd, s syscall.Signal) error { return syscall.Kill(-c.Process.Pid, s) }
