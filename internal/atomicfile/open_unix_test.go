//go:build unix

package atomicfile_test

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/looptape/looptape/internal/atomicfile"
)

// irregular creates a path of each kind other than regular files. The keys are the words of its error.
func irregular(t *testing.T) map[string]string {
	t.Helper()
	dir := t.TempDir()
	paths := map[string]string{
		"a folder": dir, "a named pipe": filepath.Join(dir, "pipe"), "a device": os.DevNull, "a socket": filepath.Join(dir, "socket"),
	}
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", paths["a socket"])
	if err := errors.Join(err, syscall.Mkfifo(paths["a named pipe"], 0o600)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return paths
}

// Only regular files are opened or replaced. A pipe does not block.
func TestOnlyRegularFiles(t *testing.T) {
	for kind, path := range irregular(t) {
		_, opened := atomicfile.Open(path, os.O_CREATE, 0)
		for name, err := range map[string]error{
			"Open":  opened,
			"Check": atomicfile.Check(path),
			"Replace": atomicfile.Replace(path, 0, atomicfile.RandomName, func(io.Writer) error {
				t.Errorf("Replace writes to %s", kind)
				return nil
			}),
		} {
			if err == nil || !strings.Contains(err.Error(), "it is "+kind+": name a regular file") {
				t.Errorf("%s of %s: %v", name, kind, err)
			}
		}
	}
}

// Open follows no link, and creates no file at the end of one.
func TestOpenFollowsNoLink(t *testing.T) {
	dir := t.TempDir()
	file, none := filepath.Join(dir, "file"), filepath.Join(dir, "none")
	if err := os.WriteFile(file, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, target := range []string{file, none} {
		link := target + ".link"
		if err := os.Symlink(target, link); err != nil {
			t.Fatal(err)
		}
		if _, err := atomicfile.Open(link, os.O_CREATE, 0); err == nil || !strings.Contains(err.Error(), "it is a symbolic link") {
			t.Errorf("the link to %s: %v", filepath.Base(target), err)
		}
	}
	if _, err := os.Lstat(none); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the target of a link was created: %v", err)
	}
}

// A link that takes the place of the file at any moment is not followed.
func TestOpenWhileReplaced(t *testing.T) {
	dir := t.TempDir()
	path, other := filepath.Join(dir, "file"), filepath.Join(dir, "other")
	if err := os.WriteFile(other, []byte("other"), 0o600); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	replaced := make(chan error, 1)
	go func() {
		link, file := filepath.Join(dir, "l"), filepath.Join(dir, "f")
		for {
			select {
			case <-done:
				replaced <- nil
				return
			default:
			}
			err := errors.Join(os.Symlink(other, link), os.Rename(link, path), os.WriteFile(file, nil, 0o600), os.Rename(file, path), os.Remove(path))
			if err != nil {
				replaced <- err
				return
			}
		}
	}()
	for range 2000 {
		f, err := atomicfile.Open(path, os.O_CREATE, 0)
		if err != nil {
			continue // it was a link, or changed too often
		}
		if text, err := io.ReadAll(f); err != nil || len(text) > 0 {
			t.Fatalf("opened a file with %q, %v", text, err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	close(done)
	// The file that Open created may be in the way of the last link.
	if err := <-replaced; err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
}

// Open opens a file for reading and writing, appends, and creates a file only if asked to.
func TestOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if _, err := atomicfile.Open(path, 0, 0); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that does not exist: %v", err)
	}
	for _, text := range []string{"one", "two"} {
		f, err := atomicfile.Open(path, os.O_CREATE|os.O_APPEND, 0)
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.WriteString(f, text)
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	f, err := atomicfile.Open(path, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(f)
	if err := errors.Join(err, f.Close()); err != nil || string(text) != "onetwo" {
		t.Errorf("the file has %q, %v", text, err)
	}
}
