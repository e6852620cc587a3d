package atomicfile_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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

// Create writes a file with its folders, replaces nothing, leaves no other file, and follows no link out of the root.
func TestCreate(t *testing.T) {
	dir := t.TempDir()
	inside := filepath.Join(dir, "inside")
	if err := errors.Join(os.MkdirAll(filepath.Join(inside, "folder"), 0o700), os.Symlink("../..", filepath.Join(inside, "folder", "out")),
		os.Symlink("../new", filepath.Join(inside, "link")), os.WriteFile(filepath.Join(inside, "old"), []byte("old"), 0o600),
		os.WriteFile(filepath.Join(inside, "a.0.tmp"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(inside)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"a": "", "b/c/d": "", "folder": "file already exists", "old": "file already exists", "link": "file already exists", "folder/out/x": "path escapes from parent", "../x": "path escapes from parent", "old/x": "old is not a folder",
	} {
		err := atomicfile.Create(root, name, []byte("new"))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", name, err, want)
		}
		if (want == "file already exists") != errors.Is(err, os.ErrExist) {
			t.Errorf("%s: %v is not fs.ErrExist", name, err)
		}
	}
	if err := root.Close(); err != nil {
		t.Error(err)
	}
	got := map[string]string{}
	err = filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		got[strings.TrimPrefix(filepath.ToSlash(path), filepath.ToSlash(inside)+"/")] = string(text)
		return err
	})
	want := map[string]string{"a": "new", "a.0.tmp": "", "b/c/d": "new", "old": "old"}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("the files: %v (-want +got):\n%s", err, diff)
	}
}

// Of several processes that create a file, one writes it, and the others get an error.
func TestCreateConcurrently(t *testing.T) {
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	const writers = 8
	errs := make(chan error, writers)
	for i := range writers {
		go func() { errs <- atomicfile.Create(root, "f", bytes.Repeat([]byte{byte('0' + i)}, 10_000)) }()
	}
	written := 0
	for range writers {
		switch err := <-errs; {
		case err == nil:
			written++
		case !errors.Is(err, os.ErrExist):
			t.Error(err)
		}
	}
	text, err := root.ReadFile("f")
	if err != nil || written != 1 || !bytes.Equal(text, bytes.Repeat(text[:1], 10_000)) {
		t.Errorf("%d writers succeeded, %v", written, err)
	}
	if err := root.Close(); err != nil {
		t.Error(err)
	}
}
