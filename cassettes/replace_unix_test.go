//go:build linux || darwin

package cassettes_test

import (
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/cassettes"
)

// A file that cannot be written whole stays as it was, and nothing lies beside it.
func TestReplaceFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.tape")
	if err := cassettes.Replace(path, []byte("old")); err != nil {
		t.Fatal(err)
	}
	// The log that go test keeps has to go on below the limit.
	signal.Ignore(syscall.SIGXFSZ)
	defer signal.Reset(syscall.SIGXFSZ)
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 1 << 20, Max: was.Max}); err != nil {
		t.Fatal(err)
	}
	err := cassettes.Replace(path, []byte(strings.Repeat("new\n", 1<<19)))
	if failed := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &was); failed != nil {
		t.Fatal(failed)
	}
	if !errors.Is(err, syscall.EFBIG) {
		t.Errorf("the disk is full: %v", err)
	}
	holds(t, path, "old")
	if diff := cmp.Diff([]string{"a.tape"}, names(t, filepath.Dir(path))); diff != "" {
		t.Errorf("the folder (-want +got):\n%s", diff)
	}
}

// What is no file is written to.
func TestReplacePipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- cassettes.Replace(path, []byte("text")) }()
	holds(t, path, "text")
	if err := <-done; err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Type() != os.ModeNamedPipe {
		t.Errorf("the pipe is %v, %v", info.Mode(), err)
	}
}
