package files_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/loop/files"
)

func mkdirAll(dir string) error { return os.MkdirAll(dir, 0o777) }

// walled returns a Disk, its directory, and a directory outside of it with a secret.
func walled(t *testing.T) (d *files.Disk, root, outside string) {
	t.Helper()
	top := t.TempDir()
	root, outside = filepath.Join(top, "root"), filepath.Join(top, "outside")
	must(t, os.Mkdir(root, 0o777))
	must(t, os.Mkdir(outside, 0o777))
	must(t, os.WriteFile(filepath.Join(outside, "secret"), []byte("secret"), 0o666))
	return disk(t, root), root, outside
}

// everything performs all operations with a path. It returns the text that was read.
func everything(d *files.Disk, p string) (seen string) {
	text, _ := d.Read(p)
	seen += text
	list, _ := d.List(p)
	for _, e := range list {
		seen += e.Name
	}
	_ = d.Write(p, "mine")
	_ = d.Write(p+"/new", "mine")
	_ = d.Edit(p, func(text string) (string, error) { seen += text; return "mine", nil })
	_ = d.Mkdir(p)
	_ = d.Mkdir(p + "/newdir")
	return seen
}

// untouched fails the test if a file outside the directory has changed.
func untouched(t *testing.T, outside string) {
	t.Helper()
	list, err := os.ReadDir(outside)
	must(t, err)
	text, err := os.ReadFile(filepath.Join(outside, "secret"))
	if len(list) != 1 || string(text) != "secret" || err != nil {
		t.Errorf("outside are %v, the secret is %q, %v", list, text, err)
	}
}

// No path and no link leads out.
func TestDiskStaysInRoot(t *testing.T) {
	d, root, outside := walled(t)
	links := map[string]string{
		"abs": outside, "absfile": filepath.Join(outside, "secret"), "up": "../outside", "upfile": "../outside/secret",
		"loop": "loop", "slash": "/", "dots": "..", "self": ".", "dangling": "../outside/new", "chain": "up/secret",
	}
	for name, to := range links {
		must(t, os.Symlink(to, filepath.Join(root, name)))
	}
	paths := []string{
		"../outside/secret", "/../outside/secret", "./../outside", "a/../../outside/secret", "..", "../", `..\outside\secret`,
		filepath.Join(outside, "secret"), "//" + outside + "/secret", "self/../../outside/secret", "dots/outside/secret", "slash" + outside + "/secret",
		"up/secret", "abs/secret", "secret/../up/secret",
	}
	for name := range links {
		paths = append(paths, name)
	}
	for _, p := range paths {
		if seen := everything(d, p); strings.Contains(seen, "secret") {
			t.Errorf("%q: saw %q", p, seen)
		}
		untouched(t, outside)
	}
}

// A link below the directory is followed for reading and as a directory; a file is
// not written through one.
func TestDiskLinksWithinRoot(t *testing.T) {
	d, root, _ := walled(t)
	must(t, d.Write("real/f", "text"))
	must(t, os.Symlink("real", filepath.Join(root, "dir")))
	must(t, os.Symlink("real/f", filepath.Join(root, "file")))
	must(t, os.Symlink("nowhere", filepath.Join(root, "dangling")))
	if text, err := d.Read("file"); text != "text" || err != nil {
		t.Errorf("got %q, %v", text, err)
	}
	must(t, d.Write("dir/g", "other"))
	if text, err := d.Read("real/g"); text != "other" || err != nil {
		t.Errorf("got %q, %v", text, err)
	}
	for _, err := range []error{d.Write("file", "x"), d.Edit("file", upper), d.Write("dangling", "x")} {
		if !errors.Is(err, files.ErrNotFile) {
			t.Errorf("got %v", err)
		}
	}
	got, err := d.List("/")
	want := []files.Entry{{Name: "dir", Dir: true}, {Name: "file", Size: 4}, {Name: "real", Dir: true}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// While files below a directory are written and read, another goroutine repeatedly swaps the
// directory for a link that leads outside. Nothing outside is read or written.
func TestDiskLinksSwapped(t *testing.T) {
	d, root, outside := walled(t)
	must(t, os.Mkdir(filepath.Join(root, "real"), 0o777))
	must(t, os.WriteFile(filepath.Join(root, "real", "secret"), []byte("bait"), 0o666))
	name := filepath.Join(root, "x")
	stop := make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-stop:
				return
			default:
			}
			to := []string{"real", "../outside", outside}[n%3]
			if os.Symlink(to, name+"+") == nil {
				_ = os.Rename(name+"+", name)
			}
		}
	})
	for range 300 {
		if text, err := d.Read("x/secret"); err == nil && text == "secret" {
			t.Error("the secret was read")
		}
		_ = d.Edit("x/secret", func(text string) (string, error) {
			if text == "secret" {
				t.Error("the secret was edited")
			}
			return "bait", nil
		})
		_ = d.Write("x/new", "mine")
		_ = d.Mkdir("x/newdir")
	}
	close(stop)
	all.Wait()
	untouched(t, outside)
}

// A write to a hard link does not change the file outside.
func TestDiskHardLink(t *testing.T) {
	d, root, outside := walled(t)
	must(t, os.Link(filepath.Join(outside, "secret"), filepath.Join(root, "hard")))
	must(t, d.Write("hard", "mine"))
	untouched(t, outside)
	if text, err := d.Read("hard"); text != "mine" || err != nil {
		t.Errorf("got %q, %v", text, err)
	}
}

// A pipe is neither read nor written, and no operation blocks on it.
func TestDiskPipe(t *testing.T) {
	d, root, _ := walled(t)
	if err := mkfifo(filepath.Join(root, "pipe")); err != nil {
		t.Skip("no pipes here:", err)
	}
	_, read := d.Read("pipe")
	_, list := d.List("pipe")
	for what, c := range map[string]struct{ got, want error }{
		"read": {read, files.ErrNotFile}, "list": {list, files.ErrNotDir}, "mkdir": {d.Mkdir("pipe"), files.ErrNotDir},
		"write": {d.Write("pipe", "x"), files.ErrNotFile}, "below": {d.Write("pipe/x", "x"), files.ErrNotDir}, "edit": {d.Edit("pipe", upper), files.ErrNotFile},
	} {
		if !errors.Is(c.got, c.want) {
			t.Errorf("%s: got %v, want %v", what, c.got, c.want)
		}
	}
	if got, err := d.List("/"); got != nil || err != nil {
		t.Errorf("got %v, %v", got, err)
	}
}

// A file keeps its permissions, and a failed write leaves no temporary file.
func TestDiskReplaces(t *testing.T) {
	d, root, _ := walled(t)
	script := filepath.Join(root, "run.sh")
	must(t, os.WriteFile(script, []byte("a"), 0o600))
	must(t, os.Chmod(script, 0o751))
	must(t, os.WriteFile(filepath.Join(root, ".looptape-1.tmp"), []byte("somebody's"), 0o666))
	must(t, d.Edit("run.sh", upper))
	info, err := os.Stat(script)
	if must(t, err); info.Mode().Perm() != 0o751 {
		t.Errorf("got the mode %v", info.Mode())
	}
	must(t, d.Write("new", "b"))
	long := strings.Repeat("n", 300)
	if err := d.Write(long, "x"); !errors.Is(err, syscall.ENAMETOOLONG) {
		t.Errorf("got %v", err)
	}
	list, err := os.ReadDir(root)
	var names []string
	for _, e := range list {
		names = append(names, e.Name())
	}
	if diff := cmp.Diff([]string{".looptape-1.tmp", "new", "run.sh"}, names); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// The new text of a file is never readable by more users than the old text.
func TestDiskReplaceKeepsPermissions(t *testing.T) {
	d, root, _ := walled(t)
	must(t, d.Write("secret", ""))
	must(t, os.Chmod(filepath.Join(root, "secret"), 0o600))
	stop := make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			list, _ := filepath.Glob(filepath.Join(root, ".looptape-*.tmp"))
			for _, name := range list {
				if info, err := os.Stat(name); err == nil && info.Mode().Perm()&^0o600 != 0 {
					t.Errorf("%s has the mode %v", name, info.Mode())
					return
				}
			}
		}
	})
	text := strings.Repeat("s", files.MaxFile/4)
	for range 20 {
		must(t, d.Write("secret", text))
	}
	close(stop)
	all.Wait()
}

// Files that are not text, or are too long, are not read.
func TestDiskReadSpecialFiles(t *testing.T) {
	d, root, _ := walled(t)
	must(t, os.WriteFile(filepath.Join(root, "binary"), []byte{0xff, 0}, 0o666))
	must(t, os.WriteFile(filepath.Join(root, "long"), []byte(strings.Repeat("x", files.MaxFile+1)), 0o666))
	for name, want := range map[string]error{"binary": files.ErrNotText, "long": files.ErrTooLarge} {
		if text, err := d.Read(name); text != "" || !errors.Is(err, want) {
			t.Errorf("%s: got %d bytes, %v", name, len(text), err)
		}
	}
}

// Errors do not contain the root directory.
func TestDiskErrorsHideRoot(t *testing.T) {
	d, root, _ := walled(t)
	must(t, os.Symlink("/", filepath.Join(root, "out")))
	must(t, os.Mkdir(filepath.Join(root, "shut"), 0))
	must(t, d.Write("f", ""))
	_, a := d.Read("out/etc")
	_, b := d.List("out")
	c := d.Write("f/x", "")
	e := d.Write("out/x", "")
	g := d.Mkdir("out/x")
	for _, err := range []error{a, b, c, e, g} {
		if err == nil || strings.Contains(err.Error(), root) {
			t.Errorf("got %v", err)
		}
	}
	for op, err := range map[string]error{"write": e, "mkdir": g} {
		if want := `cannot ` + op + ` "out/x": path escapes from parent`; err.Error() != want {
			t.Errorf("got %q, want %q", err, want)
		}
	}
	if _, err := files.OpenDisk(filepath.Join(root, "nowhere")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}
