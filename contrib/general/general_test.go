package general_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sebdah/goldie/v2"

	"github.com/looptape/looptape/contrib/general"
	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
)

// folder creates files below a new working folder. A name that ends with / is a folder.
func folder(t *testing.T, files map[string]string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, content := range files {
		p := filepath.Join(dir, filepath.FromSlash(name))
		err := os.MkdirAll(filepath.Dir(p), 0o755)
		if err == nil && strings.HasSuffix(name, "/") {
			err = os.MkdirAll(p, 0o755)
		} else if err == nil {
			err = os.WriteFile(p, []byte(content), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func tools(t *testing.T, cfg *general.Config) *general.Tools {
	t.Helper()
	made, err := general.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := made.Close(); err != nil {
			t.Error(err)
		}
	})
	return made
}

// call runs a loop in which the model calls one tool, and returns the result.
func call(t *testing.T, made *general.Tools, name string, arguments any, more ...loop.Middleware) string {
	t.Helper()
	sent, err := json.Marshal(arguments)
	if err != nil {
		t.Fatal(err)
	}
	model := fake.NewModel(fake.Response{Calls: []fake.Call{{Name: name, Arguments: string(sent)}}}, fake.Response{Text: "done"})
	agent, err := loop.New(model, &loop.Config{Middleware: append(made.Middleware(), more...)})
	if err != nil {
		t.Fatal(err)
	}
	res, err := agent.Run(t.Context(), loop.Input{Messages: []llm.Message{llm.User("go")}})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range res.Messages {
		for _, p := range m.Parts {
			if r, ok := p.(llm.ToolResult); ok {
				text := r.Text()
				if r.IsError != strings.HasPrefix(text, "Error:") {
					t.Errorf("the result %q has IsError %v", text, r.IsError)
				}
				return text
			}
		}
	}
	t.Fatal("no result")
	return ""
}

type args map[string]any

// row is a call and its result. A want that begins with ~ is a part of the result.
type row struct {
	tool string
	args args
	want string
}

func check(t *testing.T, made *general.Tools, rows ...row) {
	t.Helper()
	for _, r := range rows {
		got := call(t, made, r.tool, r.args)
		if part, ok := strings.CutPrefix(r.want, "~"); ok {
			if !strings.Contains(got, part) {
				t.Errorf("%s %v: got %q, want a text with %q", r.tool, r.args, got, part)
			}
			continue
		}
		if diff := cmp.Diff(r.want, got); diff != "" {
			t.Errorf("%s %v (-want +got):\n%s", r.tool, r.args, diff)
		}
	}
}

// RA-83: the request has a tool only if it can work, and Missing says why the others are not.
func TestGroups(t *testing.T) {
	repo := folder(t, map[string]string{".git/HEAD": "ref: refs/heads/main\n", ".git/objects/": "", ".git/refs/": ""})
	linked := folder(t, map[string]string{".git": "gitdir: /elsewhere"})
	for name, c := range map[string]struct {
		cfg            general.Config
		tools, missing string
	}{
		"nothing":                 {general.Config{}, "", "web search text git shell"},
		"a folder":                {general.Config{Dir: t.TempDir()}, "grep glob tree head tail diff", "web git shell"},
		"a linked repository":     {general.Config{Dir: linked}, "grep glob tree head tail diff", "web git shell"},
		"a runner without folder": {general.Config{Shell: general.Local}, "", "web search text git shell"},
		"hosts":                   {general.Config{Hosts: []string{"example.org"}}, "fetch curl", "search text git shell"},
		"all":                     {general.Config{Dir: repo, Hosts: []string{"*"}, Shell: general.Local}, "fetch curl grep glob tree head tail diff git_status git_diff git_log git_show git_blame shell", ""},
	} {
		made := tools(t, &c.cfg)
		model := fake.NewModel(fake.Response{Text: "done"})
		agent, err := loop.New(model, &loop.Config{Middleware: made.Middleware()})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := agent.Run(t.Context(), loop.Input{Messages: []llm.Message{llm.User("go")}}); err != nil {
			t.Fatal(err)
		}
		var offered, missing []string
		for _, tool := range model.Requests()[0].Tools {
			offered = append(offered, tool.Name)
		}
		for _, m := range made.Missing() {
			group, why, _ := strings.Cut(m, ": ")
			if missing = append(missing, group); why == "" {
				t.Errorf("%s: %s has no reason", name, group)
			}
		}
		if got := strings.Join(offered, " "); got != c.tools {
			t.Errorf("%s: got the tools %q, want %q", name, got, c.tools)
		}
		if got := strings.Join(missing, " "); got != c.missing {
			t.Errorf("%s: missing %q, want %q", name, got, c.missing)
		}
	}
	if _, err := general.New(&general.Config{Dir: filepath.Join(t.TempDir(), "none")}); err == nil {
		t.Error("want an error for a working folder that does not exist")
	}
}

var tree = map[string]string{
	"a.txt": "one\nTwo\nthree two\n", "README.md": "# Title\n", "src/b.go": "package two\n", "src/x.txt": "x", "src/deep/er/est/c.go": "two\n",
	".hidden": "two", ".git2/two": "two", "bin.dat": "two\x00", "empty": "",
}

// RA-70, RA-71, RA-72.
func TestSearch(t *testing.T) {
	files := map[string]string{"many": strings.Repeat("hit\n", 150), "more": strings.Repeat("hit\n", 51)}
	for k, v := range tree {
		files[k] = v
	}
	sorted := tools(t, &general.Config{Dir: folder(t, map[string]string{"a/b": "", "a.txt": ""})}) // by path: "." comes before "/"
	check(t, sorted, row{"glob", args{"pattern": "**"}, "a.txt\na/b\n"})
	spaced := tools(t, &general.Config{Dir: folder(t, map[string]string{"crlf": "\t a \r\nend\r\n", "1/2/3/4/5/f": ""})}) // only the end of a line is removed
	check(t, spaced, row{"grep", args{"pattern": "a"}, "crlf:1: \t a \n"}, row{"grep", args{"pattern": "end$"}, "crlf:2: end\n"},
		row{"tree", args{"max_depth": 5, "path": "1"}, "1/\n  2/\n    3/\n      4/\n        5/\n          f\n"})
	made := tools(t, &general.Config{Dir: folder(t, files)})
	check(
		t, made,
		row{"grep", args{"pattern": "two"}, "a.txt:3: three two\nsrc/b.go:1: package two\nsrc/deep/er/est/c.go:1: two\n"},
		row{"grep", args{"pattern": "two", "include": "*.go"}, "src/b.go:1: package two\nsrc/deep/er/est/c.go:1: two\n"},
		row{"grep", args{"pattern": "two", "include": "src/*.go"}, "src/b.go:1: package two\n"},
		row{"grep", args{"pattern": "^two", "ignore_case": true, "path": "a.txt"}, "a.txt:2: Two\n"},
		row{"grep", args{"pattern": "two", "path": "src/deep"}, "src/deep/er/est/c.go:1: two\n"},
		row{"grep", args{"pattern": "two", "include": "b.*", "path": "src"}, "src/b.go:1: package two\n"},
		row{"grep", args{"pattern": "none"}, `No line matches "none".`},
		row{"grep", args{"pattern": "("}, "~Error: the pattern is not a regular expression: "},
		row{"grep", args{"pattern": "hit"}, "~many:150: hit\nmore:1: hit\n"},
		row{"grep", args{"pattern": "hit"}, "~more:50: hit\n[cut: there are more than 200 matches]\n"},
		row{"grep", args{"pattern": "[Tt]", "path": "a.txt"}, "a.txt:2: Two\na.txt:3: three two\n"},
		row{"grep", args{"pattern": "x", "path": "nowhere"}, `Error: there is no "nowhere"`},
		row{"glob", args{"pattern": "**/*.go"}, "src/b.go\nsrc/deep/er/est/c.go\n"},
		row{"glob", args{"pattern": "*.md"}, "README.md\n"},
		row{"glob", args{"pattern": "*.go"}, "src/b.go\nsrc/deep/er/est/c.go\n"},
		row{"glob", args{"pattern": "src/?.txt"}, "src/x.txt\n"},
		row{"glob", args{"pattern": "?.txt", "path": "src"}, "src/x.txt\n"},
		row{"glob", args{"pattern": "src/x?.txt"}, `No file matches "src/x?.txt".`},
		row{"glob", args{"pattern": "src/**/*.go"}, "src/b.go\nsrc/deep/er/est/c.go\n"},
		row{"glob", args{"pattern": "src/**"}, "src/b.go\nsrc/deep/er/est/c.go\nsrc/x.txt\n"},
		row{"glob", args{"pattern": "?.md"}, `No file matches "?.md".`},
		row{"glob", args{"pattern": "deep/**/*.go", "path": "src"}, "src/deep/er/est/c.go\n"},
		row{"glob", args{"pattern": "*.txt", "path": "a.txt"}, `Error: "a.txt" is a file, not a folder`},
		row{"glob", args{"pattern": "*.py"}, `No file matches "*.py".`},
		row{"glob", args{"pattern": "src"}, `No file matches "src".`}, // it is a folder
		row{"glob", args{"pattern": "["}, `Error: "[" is not a glob`},
		row{"tree", args{"max_depth": 1, "path": "src"}, "src/\n  b.go\n  deep/\n  x.txt\n"},
		row{"tree", args{"max_depth": 4, "path": "src"}, "src/\n  b.go\n  deep/\n    er/\n      est/\n        c.go\n  x.txt\n"},
		row{"tree", args{"max_depth": 0, "path": "src"}, "src/\n  b.go\n  deep/\n  x.txt\n"},
		row{"tree", args{"path": "a.txt"}, `"a.txt" is a file, not a folder.`},
		row{"tree", args{"path": "nowhere"}, `Error: there is no "nowhere"`},
	)
	goldie.New(t).Assert(t, "tree", []byte(call(t, made, "tree", args{})))
}

// RA-70, RA-71, RA-72: the search tools report what they omit.
func TestSearchLimits(t *testing.T) {
	files := map[string]string{"long": strings.Repeat("x", 2000), "large": strings.Repeat("x\n", 3<<20), "many": strings.Repeat("y\n", 201), "d/0000/x": "deep x"}
	for i := range 600 {
		files[fmt.Sprintf("d/%04d/", i)] = ""
		files[fmt.Sprintf("d/f%04d", i)] = ""
	}
	dir := folder(t, files)
	if err := os.Mkdir(filepath.Join(dir, "e"), 0o700); err != nil {
		t.Fatal(err)
	}
	for i := range 5001 {
		write(t, dir, fmt.Sprintf("e/%04d", i), map[int]string{4999: "in the first 5000", 5000: "not in the first 5000"}[i])
	}
	made := tools(t, &general.Config{Dir: dir})
	list := strings.Split(call(t, made, "glob", args{"pattern": "f*"}), "\n")
	if len(list) != 502 || list[0] != "d/f0000" || list[499] != "d/f0499" || list[500] != "[cut: there are more than 500]" {
		t.Errorf("got %d lines: %q", len(list), list)
	}
	layout := strings.Split(call(t, made, "tree", args{}), "\n")
	if len(layout) != 503 || layout[501] != "[cut: there are more than 500]" { // the first one is the folder itself
		t.Errorf("got %d lines: %q", len(layout), layout)
	}
	var many strings.Builder
	for i := range 200 {
		fmt.Fprintf(&many, "many:%d: y\n", i+1)
	}
	check(
		t, made,
		row{"grep", args{"pattern": "y", "path": "many"}, many.String() + "[cut: there are more than 200 matches]\n"},
		row{"grep", args{"pattern": "x", "path": "long"}, "long:1: " + strings.Repeat("x", 1000) + " [cut]\n"},
		row{"grep", args{"pattern": "x", "path": "large"}, `No line matches "x".`},
		row{"grep", args{"pattern": "5000", "path": "e"}, "e/4999:1: in the first 5000\n[incomplete: only the first 5000 files and folders were searched]\n"},
		row{"glob", args{"pattern": "none"}, "[incomplete: only the first 5000 files and folders were searched]\n"},
	)
}

// The name of a file cannot forge a line of a result: it is quoted, as git does it.
func TestSearchNames(t *testing.T) {
	names := []string{"a\nb.txt:1: forged", "c\u2028d", "e\x1b[2Jf", "g\u202eh", "i\xffj", " k", `"l"`, "[cut: m]", "[n].txt", `o"p\q`, "r s é", "[incomplete: t]", "u\rv\tw"}
	files := map[string]string{"x\ny/z": "hit"}
	for _, name := range names {
		files[name] = "hit"
	}
	made := tools(t, &general.Config{Dir: folder(t, files)})
	shown := []string{
		`" k"`, `"\"l\""`, `"[cut: m]"`, `"[incomplete: t]"`, `[n].txt`, `"a\nb.txt:1: forged"`, `"c\u2028d"`, `"e\x1b[2Jf"`, `"g\u202eh"`, `"i\xffj"`, `o"p\q`, `r s é`, `"u\rv\tw"`,
	}
	var hits, list, layout string
	for _, name := range shown {
		hits += name + ":1: hit\n"
		list += name + "\n"
		layout += "  " + name + "\n"
	}
	check(
		t, made,
		row{"grep", args{"pattern": "hit"}, hits + `"x\ny/z":1: hit` + "\n"},
		row{"glob", args{"pattern": "*"}, list + `"x\ny/z"` + "\n"},
		row{"tree", args{}, "./\n" + layout + `  "x\ny"/` + "\n    z\n"},
		row{"tree", args{"path": "x\ny"}, `"x\ny"/` + "\n  z\n"},
		row{"grep", args{"pattern": "hit", "path": "x\ny/z"}, `"x\ny/z":1: hit` + "\n"},
		row{"diff", args{"a": "x\ny/z", "b": "x\ny/z"}, `"x\ny/z" and "x\ny/z" are equal.`},
	)
}

// RA-70, RA-71, RA-72: a glob with many alternatives is refused, because comparing would take years, and lists of long
// names are limited in size.
func TestSearchOfAttackers(t *testing.T) {
	name := strings.Repeat("a", 200)
	made := tools(t, &general.Config{Dir: folder(t, map[string]string{name: "x"})})
	const refused = "Error: the glob has more than 1000 alternatives in braces: use fewer"
	for _, glob := range []string{strings.Repeat("{a,aa}", 60) + "b", strings.Repeat("{*,?}", 60) + "b", strings.Repeat("{a,{aa,a}}", 30) + "b", "{" + strings.Repeat("a,", 1000) + "b}"} {
		check(t, made, row{"glob", args{"pattern": glob}, refused}, row{"grep", args{"pattern": "x", "include": glob}, refused})
	}
	check(
		t, made,
		row{"glob", args{"pattern": "{b,a*,*.{go,mod,sum}}"}, name + "\n"},
		row{"glob", args{"pattern": strings.Repeat("{a,aa}", 9) + "*"}, name + "\n"},
		row{"glob", args{"pattern": strings.Repeat("**/", 100) + strings.Repeat("*a", 90)}, name + "\n"},
	)
	files, deep := map[string]string{}, strings.Repeat(name+"/", 10)
	for i := range 100 {
		files[fmt.Sprintf("%s%0200d", deep, i)] = ""
	}
	made = tools(t, &general.Config{Dir: folder(t, files)})
	if got := call(t, made, "glob", args{"pattern": "*0*"}); len(got) > 200_100 || !strings.HasSuffix(got, "\n[cut: only the first 200000 bytes are here]") {
		t.Errorf("got %d bytes that end with %q", len(got), got[max(0, len(got)-100):])
	}
}

// RA-73, RA-74: a program for diff is not necessary.
func TestText(t *testing.T) {
	var lines []string
	for i := range 25 {
		lines = append(lines, fmt.Sprintf("line %d\n", i))
	}
	long := strings.Join(lines, "")
	t.Setenv("PATH", "")
	made := tools(t, &general.Config{Dir: folder(t, map[string]string{
		"lower": "a\n", "upper": "A\n", "line": "a\n\n", "ends": "first\n" + long + "last\n", "longer": strings.Repeat(long, 20),
		"long": long, "changed": strings.Replace(long, "line 12\n", "line twelve\n", 1), "empty": "", "open": "a\nb", "bin": "\x00", "large": strings.Repeat("x", 5<<20), "dir/": "",
	})})
	check(
		t, made,
		row{"head", args{"path": "long"}, strings.Join(lines[:10], "")},
		row{"tail", args{"path": "long"}, strings.Join(lines[15:], "")},
		row{"head", args{"path": "long", "lines": 3}, strings.Join(lines[:3], "")},
		row{"tail", args{"path": "long", "lines": 0}, lines[24]},
		row{"tail", args{"path": "long", "lines": 24}, strings.Join(lines[1:], "")},
		row{"head", args{"path": "longer", "lines": 475}, strings.Repeat(long, 19)},
		row{"tail", args{"path": "open", "lines": 1}, "b"},
		row{"head", args{"path": "long", "lines": 0}, lines[0]},
		row{"head", args{"path": "empty"}, `"empty" is empty.`},
		row{"tail", args{"path": "empty"}, `"empty" is empty.`},
		row{"head", args{"path": "dir"}, `Error: "dir" is a folder, not a file`},
		row{"head", args{"path": "none"}, `Error: there is no "none"`},
		row{"head", args{"path": "bin"}, `Error: "bin" is not text`},
		row{"tail", args{"path": "large"}, `Error: "large" has more than 4194304 bytes`},
		row{"diff", args{"a": "long", "b": "long"}, `"long" and "long" are equal.`},
		row{"diff", args{"a": "lower", "b": "upper"}, "diff lower upper\n--- lower\n+++ upper\n@@ -1,1 +1,1 @@\n-a\n+A\n"},
		row{"diff", args{"a": "lower", "b": "line"}, "diff lower line\n--- lower\n+++ line\n@@ -1,1 +1,2 @@\n a\n+\n"},
		row{"diff", args{"a": "long", "b": "ends"}, "diff long ends\n--- long\n+++ ends\n@@ -1,3 +1,4 @@\n+first\n line 0\n line 1\n line 2\n@@ -23,3 +24,4 @@\n line 22\n line 23\n line 24\n+last\n"},
		row{"diff", args{"a": "long", "b": "none"}, `Error: there is no "none"`},
		row{"diff", args{"a": "none", "b": "long"}, `Error: there is no "none"`},
		row{"diff", args{"a": "bin", "b": "long"}, `Error: "bin" is not text`},
		row{"diff", args{"a": "long", "b": "bin"}, `Error: "bin" is not text`},
		row{"diff", args{"a": "long", "b": "dir"}, `Error: "dir" is a folder, not a file`},
	)
	for _, name := range []string{"dir", "none", "bin", "large"} { // the same for both tools
		if head, tail := call(t, made, "head", args{"path": name}), call(t, made, "tail", args{"path": name}); head != tail || !strings.HasPrefix(head, "Error: ") {
			t.Errorf("%s: got %q and %q", name, head, tail)
		}
	}
	goldie.New(t).Assert(t, "diff", []byte(call(t, made, "diff", args{"a": "long", "b": "changed"})))
}

// RA-82: each tool with each path that leads out.
func TestPathsThatLeadOut(t *testing.T) {
	outside := folder(t, map[string]string{"secret": "secret\n", "d/secret": "secret\n"})
	dir := repo(t)
	for name, target := range map[string]string{"link": filepath.Join(outside, "secret"), "dlink": outside, "up": "../" + filepath.Base(outside)} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	made := tools(t, &general.Config{Dir: dir})
	for _, p := range []string{"../" + filepath.Base(outside) + "/secret", "..", "a/../..", filepath.Join(outside, "secret"), "/", "link", "dlink", "dlink/secret", "up", "dlink/d", "\x00"} {
		for name, a := range map[string]args{
			"grep": {"pattern": "secret", "path": p}, "glob": {"pattern": "*", "path": p}, "tree": {"path": p}, "head": {"path": p}, "tail": {"path": p}, "diff": {"a": "a.txt", "b": p},
			"git_blame": {"path": p}, "git_diff": {"path": p}, "git_log": {"path": p},
		} {
			got := call(t, made, name, a)
			if strings.HasPrefix(name, "git_") && (p == "link" || p == "dlink" || p == "up") && !strings.Contains(got, "secret") {
				continue // git sees the link itself
			}
			if !strings.HasPrefix(got, "Error: ") || strings.Contains(got, outside) && !strings.Contains(p, outside) || strings.Contains(got, "secret\n") {
				t.Errorf("%s %q: got %q", name, p, got)
			}
		}
	}
	for name, a := range map[string]args{"grep": {"pattern": "secret"}, "glob": {"pattern": "**/secret"}, "tree": {"max_depth": 9}} {
		if got := call(t, made, name, a); strings.Contains(got, "secret") && !strings.HasPrefix(got, "No ") {
			t.Errorf("%s: got %q", name, got)
		}
	}
}

// A link, or a folder that becomes a link, is never followed out of the folder, even if another program changes
// it all the time.
func TestLinkRace(t *testing.T) {
	for name, swap := range map[string]func(dir, outside string) error{
		"two links": func(dir, outside string) error {
			link, next := filepath.Join(dir, "l"), filepath.Join(dir, "next")
			for _, target := range []string{outside, "in"} {
				if err := errors.Join(os.Symlink(target, next), os.Rename(next, link)); err != nil {
					return err
				}
			}
			return nil
		},
		"a folder and a link": func(dir, outside string) error {
			place, in := filepath.Join(dir, "l"), filepath.Join(dir, "in")
			err := os.Rename(in, place)
			return errors.Join(err, os.Rename(place, in), os.Symlink(outside, place), os.Remove(place))
		},
	} {
		outside := folder(t, map[string]string{"f": "secret", "secret name": "", "deep/f": "secret"})
		dir := folder(t, map[string]string{"in/f": "inside", "in/deep/f": "inside"})
		made := tools(t, &general.Config{Dir: dir})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() {
			var err error
			for ctx.Err() == nil && err == nil {
				err = swap(dir, outside)
			}
			ended <- err
		}()
		for range 300 {
			for tool, a := range map[string]args{
				"head": {"path": "l/f"}, "tail": {"path": "l/deep/f"}, "diff": {"a": "l/f", "b": "l/deep/f"}, "grep": {"pattern": "s"}, "glob": {"pattern": "*", "path": "l"}, "tree": {"path": "l"},
			} {
				if got := call(t, made, tool, a); strings.Contains(got, "secret") {
					t.Errorf("%s: %s: got %q", name, tool, got)
				}
			}
		}
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

type double func(*http.Request) (*http.Response, error)

func (d double) RoundTrip(r *http.Request) (*http.Response, error) { return d(r) }

func response(r *http.Request, status int, kind, body string, headers ...string) *http.Response {
	h := http.Header{"Content-Type": {kind}}
	for i := 0; i < len(headers); i += 2 {
		h.Add(headers[i], headers[i+1])
	}
	return &http.Response{Status: fmt.Sprint(status, " ", http.StatusText(status)), StatusCode: status, Proto: "HTTP/1.1", Header: h, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)), Request: r}
}

// RA-68, RA-69.
func TestWeb(t *testing.T) {
	var asked []string
	made := tools(t, &general.Config{Hosts: []string{"example.org", "*.example.net"}, Transport: double(func(r *http.Request) (*http.Response, error) {
		var sent []byte
		if r.Body != nil {
			sent, _ = io.ReadAll(r.Body)
		}
		asked = append(asked, fmt.Sprint(r.Method, " ", r.URL, " ", r.Header.Get("X-A"), string(sent)))
		switch r.URL.Path {
		case "/page":
			return response(r, 200, "text/html; charset=utf-8", "<html><head><title>T</title><script>var x</script><style>y{}</style></head><body><h1>Head</h1><p>Some &amp; <b>words</b></p></body></html>"), nil
		case "/moved":
			return response(r, 302, "", "", "Location", "/text"), nil
		case "/away":
			return response(r, 302, "", "", "Location", "http://elsewhere.org/"), nil
		case "/inside":
			return response(r, 302, "", "", "Location", "http://127.0.0.1/"), nil
		case "/round":
			return response(r, 302, "", "", "Location", "/round"), nil
		case "/text":
			return response(r, 200, "text/plain", "<b>as it is</b>"), nil
		case "/none":
			return response(r, 404, "text/plain", "not here"), nil
		case "/image":
			return response(r, 200, "image/png; q=1", "\x89PNG\x00"), nil
		case "/large":
			return response(r, 200, "image/png", "\x89PNG\x00"+strings.Repeat("x", 300_000)), nil
		case "/data":
			return response(r, 200, "application/json", " {\"a\": \"<b>\"}\n", "A", "1", "A", "2"), nil
		case "/long":
			return response(r, 200, "text/plain", "x"+strings.Repeat("é", 200_000)), nil
		case "/refused":
			return nil, fmt.Errorf("connection refused")
		}
		return response(r, 200, "text/plain", "ok", "B", "2", "A", "1"), nil
	})})
	check(
		t, made,
		row{"fetch", args{"url": "http://example.org/page"}, "~GET http://example.org/page 200 OK\n"},
		row{"fetch", args{"url": "http://example.org/moved"}, "GET http://example.org/text 200 OK\n<b>as it is</b>"},
		row{"fetch", args{"url": "https://a.example.net/none"}, "GET https://a.example.net/none 404 Not Found\nnot here"},
		row{"fetch", args{"url": "http://example.org/image"}, "GET http://example.org/image 200 OK\n[binary: image/png, 5 bytes]"},
		row{"fetch", args{"url": "http://example.org/long"}, "GET http://example.org/long 200 OK\nx" + strings.Repeat("é", 99_999) + "\n[cut: only the first 199999 bytes are here]"},
		row{"fetch", args{"url": "http://example.org/refused"}, "~Error: "},
		row{"curl", args{"url": "http://example.org/refused"}, "~Error: "},
		row{"fetch", args{"url": "http://example.org/away"}, "~Error: "},
		row{"fetch", args{"url": "http://example.org/inside"}, "~Error: "},
		row{"fetch", args{"url": "http://example.org/round"}, "~more than 10 redirects"},
		row{"curl", args{"url": "http://example.org/a", "method": "post", "headers": args{"X-A": "b"}, "body": "c"}, "HTTP/1.1 200 OK\nA: 1\nB: 2\nContent-Type: text/plain\n\nok"},
		row{"curl", args{"url": "http://example.org/page"}, "~\n\n<html><head><title>T</title><script>var x</script>"}, // the body as it is
		row{"curl", args{"url": "http://example.org/image"}, "HTTP/1.1 200 OK\nContent-Type: image/png; q=1\n\n[binary: 5 bytes]"},
		row{"fetch", args{"url": "http://example.org/large"}, "GET http://example.org/large 200 OK\n[binary: image/png, 300005 bytes]"},
		row{"curl", args{"url": "http://example.org/large"}, "HTTP/1.1 200 OK\nContent-Type: image/png\n\n[binary: 300005 bytes]"},
		row{"fetch", args{"url": "http://example.org/data"}, "GET http://example.org/data 200 OK\n {\"a\": \"<b>\"}\n"},
		row{"curl", args{"url": "http://example.org/data"}, "HTTP/1.1 200 OK\nA: 1\nA: 2\nContent-Type: application/json\n\n {\"a\": \"<b>\"}\n"},
	)
	page := call(t, made, "fetch", args{"url": "http://example.org/page"})
	if !strings.Contains(page, "Some & words") || strings.ContainsAny(page, "<>{}") || strings.Contains(page, "var x") {
		t.Errorf("got %q", page)
	}
	if asked[0] != "GET http://example.org/page " || !slices.Contains(asked, "POST http://example.org/a bc") || slices.ContainsFunc(asked, func(s string) bool { return strings.Contains(s, "elsewhere") || strings.Contains(s, "127.0.0.1") }) {
		t.Errorf("asked %q", asked)
	}
	asked = nil
	check(
		t, made,
		row{"fetch", args{"url": "file:///etc/passwd"}, `Error: the scheme of "file:///etc/passwd" is not http or https`},
		row{"fetch", args{"url": "ftp://example.org/"}, "~Error: the scheme of "},
		row{"fetch", args{"url": "http:///x"}, `Error: "http:///x" has no host`},
		row{"fetch", args{"url": "http://example.net/"}, `Error: the host "example.net" is not one of those that may be asked: example.org, *.example.net`},
		row{"fetch", args{"url": "http://badexample.org/"}, `~is not one of those`},
		row{"curl", args{"url": "http://example.org/", "method": "TRACE"}, "~Error: the method "},
		row{"curl", args{"url": "file:///etc/passwd"}, `Error: the scheme of "file:///etc/passwd" is not http or https`},
		row{"curl", args{"url": "http://example.org/", "headers": args{"host": "x"}}, "~Error: the header Host"},
	)
	if asked != nil {
		t.Errorf("asked %q", asked)
	}
}

// Private addresses are refused: as a number in any form, as a name, and after a redirect.
func TestPrivateAddresses(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("inside")) })
	_, port, _ := strings.Cut(strings.TrimPrefix(server, "http://"), ":")
	made := tools(t, &general.Config{Hosts: []string{"*"}})
	for _, host := range []string{"127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "127.1", "2130706433", "10.0.0.1", "192.168.1.1", "169.254.169.254", "[fe80::1]", "[fd00::1]", "100.64.0.1", "[64:ff9b::7f00:1]", "168.63.129.16", "0xa83f8110", "100.100.100.200", "192.0.0.192", "[fd00:ec2::254]", "[fd20:ce::254]", "[::ffff:168.63.129.16]"} {
		got := call(t, made, "fetch", args{"url": "http://" + host + ":" + port})
		if !strings.HasPrefix(got, "Error: ") || !strings.Contains(got, "is not public") && !strings.Contains(got, "is a number") && host != "localhost" {
			t.Errorf("%s: got %q", host, got)
		}
	}
	if got := call(t, made, "fetch", args{"url": server}); !strings.Contains(got, "is not public") {
		t.Errorf("got %q", got)
	}
	check(t, tools(t, &general.Config{Hosts: []string{"127.0.0.1"}, PrivateHosts: true}), row{"fetch", args{"url": server}, "GET " + server + " 200 OK\ninside"})
}

// A search within one long line ends with its context. Without that it takes minutes.
func TestGrepCanceled(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "long", strings.Repeat("a", 4<<20))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond) //nolint:forbidigo // a search runs in real time
	defer cancel()
	for _, m := range tools(t, &general.Config{Dir: dir}).Middleware() {
		for _, tool := range m.New(loop.RunInfo{}).Tools {
			if tool.Name != "grep" {
				continue
			}
			_, err := tool.Run(ctx, loop.Call{Arguments: `{"pattern":"a{0,900}b"}`})
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got the error %v, want that of the context", err)
			}
			return
		}
	}
	t.Error("no tool grep")
}

// RA-70: a pattern is limited by the instructions that it becomes, because the time of a search depends on them. A
// search checks its context between short lines, too.
func TestGrepPatterns(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "lines", strings.Repeat(strings.Repeat("a", 4000)+"\n", 1000))
	made := tools(t, &general.Config{Dir: dir})
	for _, pattern := range []string{strings.Repeat("(a?){1000}", 150) + "b", "(a?){1000}(a?){1000}b", strings.Repeat("(?:a|b){500}", 5), "(([ab]{0,90}){9}[ab]{0,900}c)*d"} {
		for _, ignoreCase := range []bool{false, true} {
			got := call(t, made, "grep", args{"pattern": pattern, "ignore_case": ignoreCase})
			if !strings.HasPrefix(got, "Error: the pattern has ") || !strings.HasSuffix(got, "more than 2000: use smaller numbers of repetitions, such as {1,9}, or fewer of them") {
				t.Errorf("%.40q: got %q", pattern, got)
			}
		}
	}
	check(
		t, made,
		row{"grep", args{"pattern": strings.Repeat("x", 4097)}, "Error: the pattern has more than 4096 bytes: use a shorter one"},
		row{"grep", args{"pattern": strings.Repeat("x", 1900)}, "~No line matches"},
		row{"grep", args{"pattern": "x", "include": strings.Repeat("a", 4097)}, "Error: the glob has more than 4096 bytes: use a shorter one"},
		row{"glob", args{"pattern": strings.Repeat("a", 4097)}, "Error: the glob has more than 4096 bytes: use a shorter one"},
	)
	for _, a := range []string{`{"pattern":"(a?){450}b"}`, `{"pattern":"x","include":"none"}`} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond) //nolint:forbidigo // a search runs in real time
		<-ctx.Done()
		for _, m := range made.Middleware() {
			for _, tool := range m.New(loop.RunInfo{}).Tools {
				if _, err := tool.Run(ctx, loop.Call{Arguments: a}); tool.Name == "grep" && !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%s: got the error %v, want that of the context", a, err)
				}
			}
		}
		cancel()
	}
}
