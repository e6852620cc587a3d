package child

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// TestKillMarkedWhileExec kills a process that replaces its program all the time. While it does, it shows no
// environment.
func TestKillMarkedWhileExec(t *testing.T) {
	file := filepath.Join(t.TempDir(), "again")
	if err := os.WriteFile(file, []byte("exec sh \"$0\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 30 {
		c := exec.CommandContext(t.Context(), "sh", file)
		Mark(c)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		KillMarked(c)
		_ = c.Process.Signal(syscall.SIGUSR1) // ends it if it was not found
		_ = c.Wait()
		if s, ok := c.ProcessState.Sys().(syscall.WaitStatus); !ok || s.Signal() != syscall.SIGKILL {
			t.Fatalf("the process ended with %v, want killed", c.ProcessState)
		}
	}
}
