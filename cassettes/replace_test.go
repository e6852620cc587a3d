package cassettes_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/cassettes"
)

// A replaced file keeps its mode and remains the target of a symbolic link.
func TestReplace(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "a.tape"), filepath.Join(dir, "link")
	if err := os.Symlink("a.tape", link); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path, text string
		mode, want fs.FileMode // before and after; 0 is to leave it
	}{
		{file, "one", 0, newMode(t)},
		{file, "two", 0o600, 0o600},
		{link, "three", 0o755, 0o755},
	} {
		if c.mode != 0 {
			if err := os.Chmod(file, c.mode); err != nil {
				t.Fatal(err)
			}
		}
		if err := cassettes.Replace(c.path, []byte(c.text)); err != nil {
			t.Fatal(err)
		}
		holds(t, file, c.text)
		if info, err := os.Stat(file); err != nil || info.Mode() != c.want {
			t.Errorf("%s has the mode %v, want %v, %v", c.text, info.Mode(), c.want, err)
		}
	}
	if to, err := os.Readlink(link); to != "a.tape" || err != nil {
		t.Errorf("the link leads to %q, %v", to, err)
	}
	if diff := cmp.Diff([]string{"a.tape", "link"}, names(t, dir)); diff != "" {
		t.Errorf("the folder (-want +got):\n%s", diff)
	}
	if err := cassettes.Replace(filepath.Join(dir, "none", "a.tape"), nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("in no folder: %v", err)
	}
}

// newMode returns the default mode of new files.
func newMode(t *testing.T) fs.FileMode {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(t.TempDir(), "new"), os.O_CREATE, 0o666)
	if err != nil {
		t.Fatal(err)
	}
	info, err := f.Stat()
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	return info.Mode()
}

// Replace rejects a cassette that is being recorded. The journal of an interrupted recording
// does not lock it.
func TestReplaceLocked(t *testing.T) {
	path := recorded(t, cassettes.Options{}, "1")
	c := open(t, path, cassettes.Options{Mode: cassettes.Record, Transport: echo{}})
	if err := cassettes.Replace(path, []byte("other")); !errors.Is(err, cassettes.ErrLocked) {
		t.Errorf("while it is recorded: %v", err)
	}
	if err := c.Abandon(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+".journal", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := cassettes.Replace(path, []byte("other")); err != nil {
		t.Fatal(err)
	}
	holds(t, path, "other")
}

// A cassette has one journal for all of its links, also before the file exists.
func TestLinks(t *testing.T) {
	dir := t.TempDir()
	file, links := filepath.Join(dir, "real", "a.tape"), filepath.Join(dir, "links")
	for _, name := range []string{filepath.Dir(file), filepath.Join(dir, "elsewhere")} {
		if err := os.Mkdir(name, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for from, to := range map[string]string{links: "elsewhere", "elsewhere/one": "../real/a.tape", "elsewhere/two": "one", "elsewhere/abs": file, "elsewhere/self": "self"} {
		if !filepath.IsAbs(from) {
			from = filepath.Join(dir, from)
		}
		if err := os.Symlink(to, from); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"one", "two", "abs"} {
		link := filepath.Join(links, name)
		c := open(t, link, cassettes.Options{Mode: cassettes.Record, Transport: echo{}})
		for _, other := range []string{file, filepath.Join(links, "one"), filepath.Join(dir, "elsewhere", "abs")} {
			if _, err := cassettes.Open(other, &cassettes.Options{Mode: cassettes.Record}); !errors.Is(err, cassettes.ErrLocked) {
				t.Errorf("%s while %s is recorded: %v", other, name, err)
			}
			if err := cassettes.Replace(other, nil); !errors.Is(err, cassettes.ErrLocked) {
				t.Errorf("%s is replaced while %s is recorded: %v", other, name, err)
			}
		}
		send(t, c, "POST", "http://example.com/", name)
		going, err := cassettes.Open(link, &cassettes.Options{AllowUnused: true})
		if err != nil || going.Incomplete() == nil {
			t.Errorf("%s is replayed while it is recorded: %v", name, err)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		send(t, open(t, file, cassettes.Options{}), "POST", "http://example.com/", name)
		if info, err := os.Lstat(link); err != nil || info.Mode()&fs.ModeSymlink == 0 {
			t.Errorf("%s is not a link any more: %v", name, err)
		}
	}
	if diff := cmp.Diff([]string{"a.tape"}, names(t, filepath.Dir(file))); diff != "" {
		t.Errorf("the folder (-want +got):\n%s", diff)
	}
	if _, err := cassettes.Open(filepath.Join(links, "self"), nil); err == nil {
		t.Error("a link to itself is opened")
	}
}

func holds(t *testing.T, path, want string) {
	t.Helper()
	if got, err := os.ReadFile(path); string(got) != want || err != nil {
		t.Errorf("%s holds %q, want %q, %v", path, got, want, err)
	}
}

// names returns the names of the files in a folder.
func names(t *testing.T, dir string) (names []string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}
