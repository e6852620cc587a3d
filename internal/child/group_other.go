//go:build !unix

package child

import (
	"os/exec"
	"syscall"
)

// CanSignal reports whether programs can get other signals than SIGKILL.
const CanSignal = false

// Group leaves a program by itself: there are no groups.
func Group(*exec.Cmd) {}

// Signal sends a signal to a program that was started.
func Signal(c *exec.Cmd, s syscall.Signal) error { return c.Process.Signal(s) }
