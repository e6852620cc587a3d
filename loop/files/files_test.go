package files_test

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/looptape/looptape/loop/files"
)

// backends returns one empty Backend of each kind.
func backends(t *testing.T) map[string]files.Backend {
	t.Helper()
	return map[string]files.Backend{"memory": &files.Memory{}, "disk": disk(t, t.TempDir())}
}

func disk(t *testing.T, dir string) *files.Disk {
	t.Helper()
	d, err := files.OpenDisk(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// must fails the test if err is not nil.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func upper(text string) (string, error) { return strings.ToUpper(text), nil }

// Each operation has the same result with either kind of Backend.
func TestBackends(t *testing.T) {
	for name, b := range backends(t) {
		t.Run(name, func(t *testing.T) {
			must(t, b.Write("/notes/a.md", "one\n"))
			must(t, b.Write("notes/b.md", ""))
			must(t, b.Write("notes/b.md", "zwö"))
			must(t, b.Mkdir("notes/deep/er/"))
			must(t, b.Mkdir("notes"))
			must(t, b.Edit("./notes//a.md", upper))
			for path, want := range map[string]string{"notes/a.md": "ONE\n", "/notes/b.md": "zwö"} {
				if got, err := b.Read(path); got != want || err != nil {
					t.Errorf("%s: got %q, %v, want %q", path, got, err, want)
				}
			}
			for dir, want := range map[string][]files.Entry{
				"":              {{Name: "notes", Dir: true}},
				"/":             {{Name: "notes", Dir: true}},
				".":             {{Name: "notes", Dir: true}},
				"/notes":        {{Name: "a.md", Size: 4}, {Name: "b.md", Size: 4}, {Name: "deep", Dir: true}},
				"notes/deep/":   {{Name: "er", Dir: true}},
				"notes/deep/er": nil,
			} {
				got, err := b.List(dir)
				if diff := cmp.Diff(want, got); diff != "" || err != nil {
					t.Errorf("%q: %v (-want +got):\n%s", dir, err, diff)
				}
			}
			large := strings.Repeat("line\n", 10_000)
			must(t, b.Write("notes/b.md", large))
			if got, err := b.Read("notes/b.md"); got != large || err != nil {
				t.Errorf("a large file: got %d bytes, %v, want %d", len(got), err, len(large))
			}
		})
	}
}

// Each failed operation returns the same error with either kind of Backend and changes
// nothing.
func TestErrors(t *testing.T) {
	own := errors.New("the text does not suit me")
	for name, b := range backends(t) {
		t.Run(name, func(t *testing.T) {
			must(t, b.Write("d/f", "text"))
			big := strings.Repeat("x", files.MaxFile)
			must(t, b.Write("d/big", big))
			list := func(p string) func() error { return func() error { _, err := b.List(p); return err } }
			read := func(p string) func() error { return func() error { _, err := b.Read(p); return err } }
			write := func(p, text string) func() error { return func() error { return b.Write(p, text) } }
			edit := func(p string, f func(string) (string, error)) func() error {
				return func() error { return b.Edit(p, f) }
			}
			mkdir := func(p string) func() error { return func() error { return b.Mkdir(p) } }
			long := strings.Repeat("d/", files.MaxPath/2) + "e"
			for i, c := range []struct {
				op, path string
				do       func() error
				want     error
			}{
				{"list", "x", list("x"), fs.ErrNotExist},
				{"list", "d/f", list("d/f"), files.ErrNotDir},
				{"list", "d/f/g", list("d/f/g"), files.ErrNotDir},
				{"list", "../d", list("../d"), files.ErrPath},
				{"read", "d/x", read("d/x"), fs.ErrNotExist},
				{"read", "x/y", read("x/y"), fs.ErrNotExist},
				{"read", "d", read("d"), files.ErrIsDir},
				{"read", "/", read("/"), files.ErrIsDir},
				{"read", "d/f/g", read("d/f/g"), files.ErrNotDir},
				{"read", "d/..", read("d/.."), files.ErrPath},
				{"write", "", write("", "x"), files.ErrIsDir},
				{"write", "d", write("d", "x"), files.ErrIsDir},
				{"write", "d/f/g", write("d/f/g", "x"), files.ErrNotDir},
				{"write", "d/f/g/h", write("d/f/g/h", "x"), files.ErrNotDir},
				{"write", "d/../../f", write("d/../../f", "x"), files.ErrPath},
				{"write", `d\f`, write(`d\f`, "x"), files.ErrPath},
				{"write", "d/\x00", write("d/\x00", "x"), files.ErrPath},
				{"write", "d/\xff", write("d/\xff", "x"), files.ErrPath},
				{"write", "d/f", write("d/f", "\xff"), files.ErrNotText},
				{"write", "d/f", write("d/f", big+"x"), files.ErrTooLarge},
				{"edit", "x", edit("x", upper), fs.ErrNotExist},
				{"edit", "..", edit("..", upper), files.ErrPath},
				{"edit", "d", edit("d", upper), files.ErrIsDir},
				{"edit", "d/f", edit("d/f", func(string) (string, error) { return "other", own }), own},
				{"edit", "d/f", edit("d/f", func(string) (string, error) { return "\xff", nil }), files.ErrNotText},
				{"mkdir", "d/f", mkdir("d/f"), files.ErrNotDir},
				{"mkdir", "d/f/g", mkdir("d/f/g"), files.ErrNotDir},
				{"mkdir", "/../e", mkdir("/../e"), files.ErrPath},
				{"list", long, list(long), files.ErrLongPath},
				{"read", long, read(long), files.ErrLongPath},
				{"write", long, write(long, "x"), files.ErrLongPath},
				{"mkdir", long, mkdir(long), files.ErrLongPath},
			} {
				err := c.do()
				e, ok := errors.AsType[*files.Error](err)
				if !ok || e.Op != c.op || e.Path != c.path || e.Err != c.want {
					t.Errorf("%d, %s %q: got %v, want %v", i, c.op, c.path, err, c.want)
				}
			}
			if text, err := b.Read("d/f"); text != "text" || err != nil {
				t.Errorf("the file is %q, %v", text, err)
			}
			if got, err := b.List("d"); len(got) != 2 || err != nil {
				t.Errorf("there are %v, %v", got, err)
			}
		})
	}
	err := (&files.Memory{}).Edit("/a", upper)
	if err.Error() != `cannot edit "/a": file does not exist` {
		t.Errorf("got %q", err)
	}
	err = (&files.Memory{}).Mkdir(strings.Repeat("é", files.MaxPath))
	if want := fmt.Sprintf(`cannot mkdir "%s…": the path has more than 1024 bytes`, strings.Repeat("é", files.MaxPath/2)); err.Error() != want {
		t.Errorf("got %q", err)
	}
}

// A path of the maximum length works, also one with the maximum number of directories.
func TestLongestPath(t *testing.T) {
	name := "f" + strings.Repeat("/f", (files.MaxPath-1)/2)
	for kind, b := range backends(t) {
		if err := b.Write(name, "x"); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

// Concurrent edits are applied one after another, and none is lost.
func TestBackendConcurrentEdits(t *testing.T) {
	const n = 30
	for name, b := range backends(t) {
		t.Run(name, func(t *testing.T) {
			must(t, b.Write("f", ""))
			var all sync.WaitGroup
			for range n {
				all.Go(func() {
					if err := b.Edit("f", func(text string) (string, error) { return text + "x", nil }); err != nil {
						t.Error(err)
					}
					if err := b.Write("g", "y"); err != nil {
						t.Error(err)
					}
					if _, err := b.List("/"); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
			if text, err := b.Read("f"); len(text) != n || err != nil {
				t.Errorf("got %d edits, %v", len(text), err)
			}
			if list, err := b.List("/"); len(list) != 2 || err != nil {
				t.Errorf("got %v, %v", list, err)
			}
		})
	}
}

// After the same operations, files in memory and on disk are equal, and a State contains all
// of them.
func TestBackendsAgree(t *testing.T) {
	root := t.TempDir()
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		top := disk2(t, root, n)
		mem := &files.Memory{}
		name := rapid.StringMatching(`/?[ab](/[ab]){0,2}`)
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			p := name.Draw(t, "path")
			op := rapid.SampledFrom([]string{"write", "edit", "mkdir", "read", "list"}).Draw(t, "op")
			a, b := apply(mem, op, p), apply(top, op, p)
			if a != b {
				t.Fatalf("%s %s: in memory %s, on disk %s", op, p, a, b)
			}
		}
		if diff := cmp.Diff(tree(t, mem, "/"), tree(t, top, "/")); diff != "" {
			t.Fatalf("the files (-memory +disk):\n%s", diff)
		}
		again, err := files.NewMemory(mem.State())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tree(t, mem, "/"), tree(t, again, "/")); diff != "" {
			t.Fatalf("the files of the state (-before +after):\n%s", diff)
		}
		if diff := cmp.Diff(mem.State(), again.State()); diff != "" {
			t.Fatalf("the state of the state (-before +after):\n%s", diff)
		}
	})
}

func disk2(t *rapid.T, root string, n int) *files.Disk {
	dir := fmt.Sprintf("%s/%d", root, n)
	if err := mkdirAll(dir); err != nil {
		t.Fatal(err)
	}
	d, err := files.OpenDisk(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// apply performs one operation and returns its result as a string.
func apply(b files.Backend, op, p string) string {
	var out any
	var err error
	switch op {
	case "write":
		err = b.Write(p, op+p)
	case "edit":
		err = b.Edit(p, func(text string) (string, error) { return text + "+", nil })
	case "mkdir":
		err = b.Mkdir(p)
	case "read":
		out, err = b.Read(p)
	case "list":
		out, err = b.List(p)
	}
	return fmt.Sprint(out, err)
}

// tree returns all files below a directory.
func tree(t *rapid.T, b files.Backend, dir string) []string {
	list, err := b.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range list {
		p := dir + e.Name
		if e.Dir {
			out = append(out, p+"/")
			out = append(out, tree(t, b, p+"/")...)
			continue
		}
		text, err := b.Read(p)
		out = append(out, fmt.Sprintf("%s %d %q %v", p, e.Size, text, err))
	}
	return out
}

// A State shares no memory with its Memory. An invalid State is an error that contains the
// path.
func TestState(t *testing.T) {
	in := files.State{Files: map[string]string{"a/b": "1", "/c": "2"}, Dirs: []string{"a/e", "f/g"}}
	m, err := files.NewMemory(in)
	must(t, err)
	s := m.State()
	want := files.State{Files: map[string]string{"a/b": "1", "c": "2"}, Dirs: []string{"a/e", "f/g"}}
	if diff := cmp.Diff(want, s); diff != "" {
		t.Errorf("state (-want +got):\n%s", diff)
	}
	s.Files["a/b"] = "changed"
	in.Files["a/b"] = "changed"
	if text, err := m.Read("a/b"); text != "1" || err != nil {
		t.Errorf("the file is %q, %v", text, err)
	}
	for _, c := range []struct {
		s    files.State
		want string
	}{
		{files.State{Files: map[string]string{"../a": ""}}, "cannot write \"../a\": " + files.ErrPath.Error()},
		{files.State{Files: map[string]string{"a": "", "a/b": ""}}, "cannot write \"a/b\": " + files.ErrNotDir.Error()},
		{files.State{Files: map[string]string{"a": ""}, Dirs: []string{"a"}}, "cannot mkdir \"a\": " + files.ErrNotDir.Error()},
	} {
		if _, err := files.NewMemory(c.s); err == nil || err.Error() != c.want {
			t.Errorf("%+v: got %v, want %s", c.s, err, c.want)
		}
	}
}
