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

// A recording changes no file in the place of its journal or of its new cassette that looptape did not
// write, and no file that a link there names.
func TestRecordKeepsOtherFiles(t *testing.T) {
	const notJournal = "not the journal of a recording"
	for _, c := range []struct{ name, suffix, text, want string }{
		{"a file", ".journal", "my notes\n", notJournal},
		{"a link", ".journal", "my notes\n", "it is a symbolic link"},
		{"a file that begins as a frame", ".journal", "=== frame by frame: my notes of the film\n", notJournal},
		{"a file with the first line of a frame", ".journal", "=== frame 100 0123abcd\nmy notes\n", notJournal},
		{"a file with the start of a frame", ".journal", "=== ", notJournal},
		{"a file with the start of a frame and a space", ".journal", "=== frame ", notJournal},
		{"a new file", ".journal.new", "my notes\n", "not a cassette that a recording writes"},
		{"a link as the new file", ".journal.new", "my notes\n", "it is a symbolic link"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "x.tape")
			inPlace, file := path+c.suffix, filepath.Join(dir, "file")
			err := os.WriteFile(file, []byte(c.text), 0o600)
			if strings.HasPrefix(c.name, "a link") {
				err = errors.Join(err, os.Symlink(file, inPlace))
			} else {
				err = errors.Join(err, os.Rename(file, inPlace))
				file = inPlace
			}
			if err != nil {
				t.Fatal(err)
			}
			if _, err := Open(path, &Options{Mode: Record}); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %v, want %q", err, c.want)
			}
			if text, err := os.ReadFile(file); err != nil || string(text) != c.text {
				t.Errorf("the file has %q, %v", text, err)
			}
		})
	}
}

// A recording continues after one that was killed while it wrote its first frame or its new cassette.
func TestRecordAfterKilledStart(t *testing.T) {
	for suffix, texts := range map[string][]string{".journal": {"", "=== frame 1", "=== frame 100 0123abcd\n", "=== frame 100 0123abcd\nlooptape-cass"}, ".journal.new": {"", "loop", "looptape-cassette 2\n"}} {
		for _, text := range texts {
			path := filepath.Join(t.TempDir(), "x.tape")
			if err := os.WriteFile(path+suffix, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			c, err := Open(path, &Options{Mode: Record})
			if err != nil {
				t.Errorf("%s with %q: %v", suffix, text, err)
				continue
			}
			if err := c.Close(); err != nil {
				t.Errorf("%s with %q: %v", suffix, text, err)
			}
		}
	}
}
