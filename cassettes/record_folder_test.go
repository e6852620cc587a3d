package cassettes

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Open rejects a path that is a folder and creates no file.
func TestRecordToFolder(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x.tape")
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path, &Options{Mode: Record}); err == nil || !strings.Contains(err.Error(), "it is a folder: name a regular file") {
		t.Errorf("the error is %v", err)
	}
	if list, err := os.ReadDir(dir); len(list) != 1 || err != nil {
		t.Errorf("files next to it: %v, %v", list, err)
	}
}

// A recording changes no file in the place of its journal that is not a journal, and no file that a
// link there names.
func TestRecordKeepsOtherFiles(t *testing.T) {
	for name, want := range map[string]string{"a file": "not the journal of a recording", "a link": "it is a symbolic link"} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "x.tape")
			journal, file := path+".journal", filepath.Join(dir, "file")
			err := os.WriteFile(file, []byte("my notes\n"), 0o600)
			if name == "a link" {
				err = errors.Join(err, os.Symlink(file, journal))
			} else {
				err = errors.Join(err, os.Rename(file, journal))
				file = journal
			}
			if err != nil {
				t.Fatal(err)
			}
			if _, err := Open(path, &Options{Mode: Record}); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("the error is %v, want %q", err, want)
			}
			if text, err := os.ReadFile(file); err != nil || string(text) != "my notes\n" {
				t.Errorf("the file has %q, %v", text, err)
			}
		})
	}
}
