package store_test

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/looptape/looptape/internal/lockfile"
	"github.com/looptape/looptape/loop/store"
)

func save(t *testing.T, s store.Store, key, value string, version int64) {
	t.Helper()
	if _, err := s.Save(t.Context(), key, []byte(value), version); err != nil {
		t.Fatal(err)
	}
}

// A damaged file is an error of Load and Save that names the file, and Save does not replace it.
func TestDiskDamaged(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "folder")
	d := &store.Disk{Dir: dir}
	save(t, d, "k\n", "value", 0)
	names, err := filepath.Glob(filepath.Join(dir, "*.value"))
	if err != nil || len(names) != 1 {
		t.Fatalf("got the files %q, %v", names, err)
	}
	good, err := os.ReadFile(names[0])
	if err != nil || string(good) != "looptape-store 1 1 5 \"k\\n\"\nvalue" {
		t.Fatalf("the file has %q, %v", good, err)
	}
	for text, want := range map[string]string{
		"":                                      "has another first line than a value of this key",
		"looptape-store 1 1 5 \"k\\n\"":         "has another first line than a value of this key",
		"looptape-store 1 1 5 \"l\"\nvalue":     "has another first line than a value of this key",
		"looptape-store 2 1 5 \"k\\n\"\nx":      "has another first line than a value of this key",
		"looptape-store 1 0 5 \"k\\n\"\nx":      "has another first line than a value of this key",
		"looptape-store 1 x 5 \"k\\n\"\nx":      "has another first line than a value of this key",
		"looptape-store 1 1 5 \"k\\n\"\nvalu":   "has 4 bytes of the value, want 5",
		"looptape-store 1 1 5 \"k\\n\"\nvalues": "has 6 bytes of the value, want 5",
	} {
		if err := os.WriteFile(names[0], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, _, err := d.Load(t.Context(), "k\n")
		_, saveErr := d.Save(t.Context(), "k\n", nil, 0)
		for operation, err := range map[string]error{"loading": err, "saving": saveErr} {
			if err == nil || errors.Is(err, store.ErrConflict) || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "store: "+operation+" \"k\\n\": "+names[0]) {
				t.Errorf("%q: %s: got %v, want %s", text, operation, err, want)
			}
		}
		if got, err := os.ReadFile(names[0]); err != nil || string(got) != text {
			t.Errorf("%q: the file has %q, %v", text, got, err)
		}
	}
}

// A save replaces the new file of a process that was killed. It leaves no other file.
func TestDiskAfterKill(t *testing.T) {
	dir := t.TempDir()
	d := &store.Disk{Dir: dir}
	save(t, d, "k", "one", 0)
	names, err := filepath.Glob(filepath.Join(dir, "*.value"))
	if err != nil || len(names) != 1 {
		t.Fatalf("got the files %q, %v", names, err)
	}
	if err := os.WriteFile(names[0]+".new", []byte("half of"), 0o600); err != nil {
		t.Fatal(err)
	}
	save(t, d, "k", "two", 1)
	if got, version, err := d.Load(t.Context(), "k"); string(got) != "two" || version != 2 || err != nil {
		t.Errorf("Load = %q, version %d, %v", got, version, err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 2 {
		t.Errorf("the folder has %v, %v, want the lock and one value", left, err)
	}
}

// A value with the last version is loaded, but not replaced by one with an invalid version.
func TestDiskLastVersion(t *testing.T) {
	d := &store.Disk{Dir: t.TempDir()}
	save(t, d, "k", "", 0)
	names, err := filepath.Glob(filepath.Join(d.Dir, "*.value"))
	if err != nil || len(names) != 1 {
		t.Fatalf("got the files %q, %v", names, err)
	}
	if err := os.WriteFile(names[0], []byte("looptape-store 1 9223372036854775807 3 \"k\"\none"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = d.Save(t.Context(), "k", []byte("two"), math.MaxInt64)
	if want := `store: saving "k": the version is the last one: save the value under another key`; err == nil || err.Error() != want {
		t.Errorf("Save: got %v, want %s", err, want)
	}
	if value, version, err := d.Load(t.Context(), "k"); string(value) != "one" || version != math.MaxInt64 || err != nil {
		t.Errorf("Load = %q, version %d, %v", value, version, err)
	}
}

// The name of a file has the beginning of the key, without characters that some systems reject in a name.
func TestDiskNames(t *testing.T) {
	long := strings.Repeat("k", 41)
	for key, want := range map[string]string{
		"az-09/AZ": "az-09_az", "`{/:é\xff": "______", "": "", long: long[:40],
	} {
		d := &store.Disk{Dir: t.TempDir()}
		save(t, d, key, "", 0)
		names, err := filepath.Glob(filepath.Join(d.Dir, "*.value"))
		if err != nil || len(names) != 1 {
			t.Fatalf("got the files %q, %v", names, err)
		}
		name := filepath.Base(names[0])
		if at := strings.LastIndex(name, "-"); at < 0 || name[:at] != want || len(name[at:]) != len("-.value")+32 {
			t.Errorf("the file of %q is %s, want %s and a hash", key, name, want)
		}
	}
}

// Only the user may read the values, in a new folder and in one that others may read. A file that others
// could read is private after the next save.
func TestDiskPrivate(t *testing.T) {
	open := t.TempDir()
	if err := os.Chmod(open, 0o755); err != nil { //nolint:gosec // a folder that others may read is tested
		t.Fatal(err)
	}
	created := filepath.Join(open, "new", "folder")
	for _, dir := range []string{open, created} {
		d := &store.Disk{Dir: dir}
		save(t, d, "k", "one", 0)
		names, err := filepath.Glob(filepath.Join(dir, "*.value"))
		if err != nil || len(names) != 1 {
			t.Fatalf("got the files %q, %v", names, err)
		}
		for version := range int64(2) {
			for _, name := range []string{names[0], filepath.Join(dir, "lock")} {
				if info, err := os.Stat(name); err != nil || info.Mode() != 0o600 {
					t.Errorf("%s has the mode %v, %v, want 0600", name, info.Mode(), err)
				}
			}
			if err := os.Chmod(names[0], 0o644); err != nil { //nolint:gosec // as another program may
				t.Fatal(err)
			}
			save(t, d, "k", "two", version+1)
		}
	}
	for _, dir := range []string{created, filepath.Dir(created)} {
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s has the mode %v, %v, want 0700", dir, info.Mode(), err)
		}
	}
}

// An operation that waits for another process ends with its context. The store then works again.
func TestDiskCanceledWait(t *testing.T) {
	dir := t.TempDir()
	d := &store.Disk{Dir: dir}
	save(t, d, "k", "one", 0)
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := lockfile.Lock(lock); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, 2)
	for range 2 { // one waits for the other process, and one for the first
		go func() {
			_, err := d.Save(ctx, "k", []byte("two"), 1)
			failed <- err
		}()
	}
	cancel()
	for range 2 {
		if err := <-failed; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want context.Canceled", err)
		}
	}
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	save(t, d, "k", "two", 1)
}

// An error names the operation and the beginning of the key.
func TestDiskErrors(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("k", 1000)
	for _, dir := range []string{"", file, filepath.Join(file, "d")} {
		d := &store.Disk{Dir: dir}
		for range 2 {
			if _, err := d.Save(t.Context(), long, nil, 0); err == nil || !strings.HasPrefix(err.Error(), `store: saving "`+long[:200]+`…": `) {
				t.Errorf("Save in %q: %v", dir, err)
			}
			if _, _, err := d.Load(t.Context(), long[:200]); err == nil || !strings.HasPrefix(err.Error(), `store: loading "`+long[:200]+`": `) {
				t.Errorf("Load of a key that is shown as a whole: %v", err)
			}
			if _, _, err := d.Load(t.Context(), "k"); err == nil || !strings.HasPrefix(err.Error(), `store: loading "k": `) {
				t.Errorf("Load below a file: %v", err)
			}
		}
	}
}
