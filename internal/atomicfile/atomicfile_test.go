package tape

import (
	"path/filepath"
	"testing"
)

// existingFolder returns the nearest existing parent.
func TestExistingFolder(t *testing.T) {
	dir := t.TempDir()
	for _, below := range []string{"", "a", "a/b/c"} {
		if got := existingFolder(filepath.Join(dir, below)); got != dir {
			t.Errorf("above %q is %q, want %q", below, got, dir)
		}
	}
	if got := existingFolder("nowhere/at/all"); got != "." {
		t.Errorf("got %q here", got)
	}
	if err := syncFolders(filepath.Join(dir, "a"), dir); err == nil {
		t.Error("a folder that is not there can be synced")
	}
}
