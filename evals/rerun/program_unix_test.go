//go:build unix

package rerun_test

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/looptape/looptape/evals/rerun"
)

// A program that does not end when its input does is killed, with what it has started.
func TestProgramIsKilled(t *testing.T) {
	name := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() { // which ends when no process has the pipe open any more
		f, err := os.Open(name)
		if err == nil {
			_, err = io.Copy(io.Discard, f)
			_ = f.Close() // it was only read
		}
		ended <- err
	}()
	_, err := ofProgram(t, rerun.Program{
		Command: `sleep 1000 >` + name + ` & read a; echo '{"result":"x"}'; read b; echo '{"result":"x"}'; sleep 1000`,
		Timeout: 500 * time.Millisecond,
	})
	if err == nil || !strings.Contains(err.Error(), "the program still ran 500ms after its input was closed") {
		t.Errorf("got the error %v", err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
