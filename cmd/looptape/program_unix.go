//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

// inGroup puts a program into a group with what it starts, which is told to stop with it.
func inGroup(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGTERM) }
}
