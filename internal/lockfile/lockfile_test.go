package lockfile_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/looptape/looptape/internal/lockfile"
)

// A file is taken once, until it is closed.
func TestLock(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	open := func() *os.File {
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	first, second := open(), open()
	if err := lockfile.Lock(first); err != nil {
		t.Fatal(err)
	}
	if lockfile.Lock(second) == nil {
		t.Error("a file was taken twice")
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := lockfile.Lock(second); err != nil {
		t.Errorf("a closed file cannot be locked: %v", err)
	}
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
}

// Wait returns when the file is closed that was locked.
func TestWait(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	first, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	second, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := lockfile.Wait(first); err != nil {
		t.Fatal(err)
	}
	waited := make(chan error, 1)
	go func() { waited <- lockfile.Wait(second) }()
	select {
	case err := <-waited:
		t.Errorf("a locked file was locked again: %v", err)
	default:
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-waited; err != nil {
		t.Error(err)
	}
	if lockfile.Lock(first) == nil {
		t.Error("a closed file was locked")
	}
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
}
