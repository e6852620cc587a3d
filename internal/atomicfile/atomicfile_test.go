package atomicfile_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/looptape/looptape/internal/atomicfile"
)

// ExistingFolder returns the nearest existing parent.
func TestExistingFolder(t *testing.T) {
	dir := t.TempDir()
	for _, below := range []string{"", "a", "a/b/c"} {
		if got := atomicfile.ExistingFolder(filepath.Join(dir, below)); got != dir {
			t.Errorf("above %q is %q, want %q", below, got, dir)
		}
	}
	if got := atomicfile.ExistingFolder("nowhere/at/all"); got != "." {
		t.Errorf("got %q here", got)
	}
	if err := atomicfile.SyncFolders(filepath.Join(dir, "a"), dir); err == nil {
		t.Error("a folder that is not there can be synced")
	}
}

// Replace keeps the old file and removes the new one if the new one cannot be written. Otherwise the
// file at the end of a link is replaced and keeps its permissions.
func TestReplace(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "f"), filepath.Join(dir, "l")
	if err := errors.Join(os.WriteFile(path, []byte("old"), 0o640), os.Symlink("f", link)); err != nil {
		t.Fatal(err)
	}
	boom := errors.New("boom")
	for _, failure := range []error{boom, nil} {
		want := "new"
		if failure != nil {
			want = "old"
		}
		err := atomicfile.Replace(link, 0, atomicfile.RandomName, func(w io.Writer) error {
			_, err := io.WriteString(w, "new")
			return errors.Join(err, failure)
		})
		if !errors.Is(err, failure) {
			t.Errorf("got %v, want %v", err, failure)
		}
		text, err := os.ReadFile(path)
		if err != nil || string(text) != want {
			t.Errorf("the file has %q, %v, want %q", text, err, want)
		}
		if names, _ := filepath.Glob(filepath.Join(dir, "*")); len(names) != 2 {
			t.Errorf("the folder has %q", names)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("the permissions: %v, %v", info.Mode(), err)
	}
}

// A mode applies to a new file and to one that replaces a file with another mode.
func TestReplacePrivate(t *testing.T) {
	dir := t.TempDir()
	old := filepath.Join(dir, "old")
	if err := os.WriteFile(old, nil, 0o644); err != nil { //nolint:gosec // a file that others may read is tested
		t.Fatal(err)
	}
	for _, path := range []string{old, filepath.Join(dir, "new")} {
		if err := atomicfile.Replace(path, atomicfile.Private, atomicfile.RandomName, func(io.Writer) error { return nil }); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode() != 0o600 {
			t.Errorf("%s: the mode %v, %v", path, info.Mode(), err)
		}
	}
}
