package cassettes

import (
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
	if _, err := Open(path, &Options{Mode: Record}); err == nil || !strings.Contains(err.Error(), "the path is a directory: name a file in it") {
		t.Errorf("the error is %v", err)
	}
	if list, err := os.ReadDir(dir); len(list) != 1 || err != nil {
		t.Errorf("files next to it: %v, %v", list, err)
	}
}
