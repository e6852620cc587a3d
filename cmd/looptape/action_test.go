//go:build linux

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"go.yaml.in/yaml/v3"
)

// action is action.yml.
type action struct {
	Inputs  map[string]struct{ Description, Default string }
	Outputs map[string]struct{ Description, Value string }
	Runs    struct {
		Using string
		Steps []struct {
			ID, Shell, Run string
			Env            map[string]string
		}
	}
}

func readAction(t *testing.T) (a action, root string) {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "action.yml"))
	if err != nil {
		t.Fatal(err)
	}
	d := yaml.NewDecoder(bytes.NewReader(text))
	if err := d.Decode(&a); err != nil {
		t.Fatal(err)
	}
	return a, root
}

// expression is an expression of a workflow. Those of the action name a value only.
var expression = regexp.MustCompile(`\$\{\{ *([a-z0-9_.-]+) *\}\}`)

// runner runs the action as the runner of GitHub does: with the environment files of each step.
type runner struct {
	t       *testing.T
	folder  string // of the repository of the user
	context map[string]string
	environ map[string]string
	path    []string // from GITHUB_PATH

	log     bytes.Buffer
	summary string // of all steps
	failed  string // the step that failed
}

func newRunner(t *testing.T, with map[string]string) *runner {
	t.Helper()
	r := &runner{t: t, folder: t.TempDir(), context: map[string]string{"github.token": "ghs_Secret123"}}
	event := filepath.Join(t.TempDir(), "event.json")
	if err := os.WriteFile(event, []byte(`{"pull_request":{"number":7}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	r.environ = map[string]string{
		"RUNNER_OS": "Linux", "RUNNER_ARCH": "X64", "RUNNER_TEMP": t.TempDir(), "GITHUB_REPOSITORY": "owner/repo", "GITHUB_EVENT_PATH": event,
		"LOOPTAPE_RETRIES": "0", "HOME": t.TempDir(), "GITHUB_API_URL": "http://127.0.0.1:9",
	}
	for name, value := range with {
		r.context["inputs."+name] = value
	}
	return r
}

// write writes a file of the repository of the user.
func (r *runner) write(name, text string) {
	r.t.Helper()
	if text == "" {
		return
	}
	path := filepath.Join(r.folder, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		r.t.Fatal(err)
	}
}

// value replaces the expressions in a value.
func (r *runner) value(text string) string {
	return expression.ReplaceAllStringFunc(text, func(e string) string { return r.context[expression.FindStringSubmatch(e)[1]] })
}

// run runs all steps up to the first one that fails.
func (r *runner) run() *runner {
	r.t.Helper()
	a, root := readAction(r.t)
	for name, input := range a.Inputs {
		if _, ok := r.context["inputs."+name]; !ok {
			r.context["inputs."+name] = r.value(input.Default)
		}
	}
	var event struct {
		PullRequest *struct{ Number int } `json:"pull_request"`
	}
	text, err := os.ReadFile(r.environ["GITHUB_EVENT_PATH"])
	if err := errors.Join(err, json.Unmarshal(text, &event)); err != nil {
		r.t.Fatal(err)
	}
	if event.PullRequest != nil {
		r.context["github.event.pull_request.number"] = strconv.Itoa(event.PullRequest.Number)
	}
	for _, s := range a.Runs.Steps {
		if s.Shell != "bash" {
			r.t.Fatalf("step %s: shell %q", s.ID, s.Shell)
		}
		env := map[string]string{"GITHUB_ACTION_PATH": root}
		maps.Copy(env, r.environ)
		for name, value := range s.Env {
			env[name] = r.value(value)
		}
		if !r.step(s.ID, s.Run, env) {
			r.failed = s.ID
			break
		}
	}
	return r
}

func (r *runner) step(id, script string, env map[string]string) (ok bool) {
	r.t.Helper()
	temp := r.t.TempDir()
	for _, name := range []string{"GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY", "GITHUB_ENV", "GITHUB_PATH"} {
		env[name] = filepath.Join(temp, name)
		if err := os.WriteFile(env[name], nil, 0o600); err != nil {
			r.t.Fatal(err)
		}
	}
	file := filepath.Join(temp, "step.sh")
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
		r.t.Fatal(err)
	}
	c := exec.CommandContext(r.t.Context(), "bash", "--noprofile", "--norc", "-e", "-o", "pipefail", file)
	c.Dir = r.folder
	c.Stdout, c.Stderr = &r.log, &r.log
	c.Env = []string{"PATH=" + strings.Join(append(slices.Clone(r.path), os.Getenv("PATH")), ":")}
	for name, value := range env {
		c.Env = append(c.Env, name+"="+value)
	}
	err := c.Run()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		r.t.Fatal(err)
	}
	read := func(name string) string {
		text, err := os.ReadFile(env[name])
		if err != nil {
			r.t.Fatal(err)
		}
		return string(text)
	}
	for line := range strings.Lines(read("GITHUB_OUTPUT")) {
		name, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		if !ok {
			r.t.Errorf("step %s: invalid output %q", id, line)
		}
		r.context["steps."+id+".outputs."+name] = value
	}
	if list := strings.Fields(read("GITHUB_PATH")); len(list) > 0 {
		r.path = append(list, r.path...)
	}
	if text := read("GITHUB_STEP_SUMMARY"); len(text) > 1<<20 {
		r.t.Errorf("step %s: GitHub drops a summary of %d bytes", id, len(text))
	} else {
		r.summary += text
	}
	if text := read("GITHUB_ENV"); text != "" {
		r.t.Errorf("step %s sets the environment: %q", id, text)
	}
	return err == nil
}

// want checks the step that failed, empty for none, and words of the log.
func (r *runner) want(step string, words ...string) {
	r.t.Helper()
	if r.failed != step {
		r.t.Errorf("the step %q failed, want %q", r.failed, step)
	}
	for _, word := range words {
		if !strings.Contains(r.log.String(), word) {
			r.t.Errorf("the log does not have %q", word)
		}
	}
	if strings.Contains(r.log.String()+r.summary, "Secret123") {
		r.t.Error("the token was printed")
	}
	if r.t.Failed() {
		r.t.Logf("log:\n%s\nsummary:\n%.2000s", &r.log, r.summary)
	}
}

// annotations returns the workflow commands of the log.
func (r *runner) annotations() (list []string) {
	for line := range strings.Lines(r.log.String()) {
		if strings.HasPrefix(line, "::") {
			list = append(list, strings.TrimSuffix(line, "\n"))
		}
	}
	return list
}

// archived returns a release of looptape in a .tar.gz with more files, and its checksum. Its binary starts the
// command of this test.
func archived(t *testing.T, more ...*tar.Header) (archive []byte, sum string) {
	t.Helper()
	command, err := exec.LookPath("looptape")
	if err != nil {
		t.Fatal(err)
	}
	script := "#!/bin/sh\nexec " + command + ` "$@"` + "\n"
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	w := tar.NewWriter(z)
	for _, h := range append(more, &tar.Header{Name: "looptape_1.2.3_linux_amd64/LICENSE", Mode: 0o644}, &tar.Header{Name: "looptape_1.2.3_linux_amd64/looptape", Mode: 0o755}) {
		text := ""
		if strings.HasSuffix(h.Name, "looptape") && h.Linkname == "" {
			text = script
		}
		h.Size = int64(len(text))
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, text); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), fmt.Sprintf("%x", sha256.Sum256(out.Bytes()))
}

// serveFiles is a server of files by their paths. It notes the paths of requests.
func serveFiles(t *testing.T, files map[string]string) (url string, requested func() []string) {
	t.Helper()
	var mu sync.Mutex
	var paths []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		paths = append(paths, r.URL.Path)
		mu.Unlock()
		if text, ok := files[r.URL.Path]; ok {
			_, _ = io.WriteString(w, text) // the client may be gone
			return
		}
		w.WriteHeader(http.StatusInternalServerError)
	}))
	t.Cleanup(s.Close)
	return s.URL, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(paths)
	}
}

// goodFiles are files on which all parts pass: those of looptape init.
func (r *runner) goodFiles() {
	r.t.Helper()
	files := os.DirFS(filepath.Join("internal", "project", "files"))
	err := fs.WalkDir(files, "looptape-tests", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := fs.ReadFile(files, path)
		r.write(path, string(text))
		return err
	})
	if err != nil {
		r.t.Fatal(err)
	}
}

// inputs are inputs with a release of a loopback server.
func inputs(t *testing.T, more map[string]string) map[string]string {
	t.Helper()
	archive, sum := archived(t)
	url, _ := serveFiles(t, map[string]string{"/a.tar.gz": string(archive)})
	with := map[string]string{"url": url + "/a.tar.gz", "sha256": sum}
	maps.Copy(with, more)
	return with
}

// The scripts get inputs by the environment only, and each input and variable is used.
func TestActionFile(t *testing.T) {
	a, root := readAction(t)
	if a.Runs.Using != "composite" || len(a.Runs.Steps) == 0 {
		t.Fatalf("using %q, %d steps", a.Runs.Using, len(a.Runs.Steps))
	}
	known := map[string]bool{"github.token": true, "github.action_ref": true, "github.event.pull_request.number": true}
	for name, input := range a.Inputs {
		known["inputs."+name] = true
		if input.Description == "" {
			t.Errorf("the input %s has no description", name)
		}
	}
	scripts := ""
	files, err := filepath.Glob(filepath.Join(root, ".github", "action", "*.*")) // all, so that go test knows when to run again
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		scripts += string(text)
	}
	used := map[string]bool{}
	for _, s := range a.Runs.Steps {
		if strings.Contains(s.Run, "${{") {
			t.Errorf("step %s: an expression in a script can become a command: %s", s.ID, s.Run)
		}
		for name, value := range s.Env {
			m := expression.FindStringSubmatch(value)
			if m == nil || m[0] != value {
				t.Errorf("step %s: %s: %q is not one expression", s.ID, name, value)
				continue
			}
			used[m[1]] = true
			if !known[m[1]] && !strings.HasPrefix(m[1], "steps.") {
				t.Errorf("step %s: %s: unknown value %s", s.ID, name, m[1])
			}
			if !strings.Contains(scripts+s.Run, "$"+name) {
				t.Errorf("step %s: no script uses %s", s.ID, name)
			}
		}
	}
	for name := range known {
		if !used[name] && name != "github.token" {
			t.Errorf("no step uses %s", name)
		}
	}
	if strings.Contains(scripts, "set -x") {
		t.Error("set -x prints the token")
	}
}

// All parts pass, with a release by its version: the summary, the reports and the outputs.
func TestAction(t *testing.T) {
	archive, sum := archived(t)
	const name = "looptape_1.2.3_linux_amd64.tar.gz"
	url, _ := serveFiles(t, map[string]string{
		"/v1.2.3/" + name: string(archive), "/v1.2.3/SHA256SUMS": strings.Repeat("0", 64) + "  other.tar.gz\n" + sum + "  " + name + "\n",
	})
	r := newRunner(t, map[string]string{
		"scenarios": "looptape-tests/*.txtar\n\n", "cassettes": "looptape-tests\r\n", "check": "looptape-tests/runs.jsonl\nlooptape-tests/weather.tape",
		"suites": "looptape-tests/eval.yaml", "strict": "true", "comment": "false",
	})
	r.goodFiles()
	r.context["github.action_ref"] = "v1.2.3"
	r.environ["LOOPTAPE_RELEASES"] = url
	r.run().want("", "checksum "+sum, "::warning title=looptape eval gate::")
	for _, want := range []string{
		"## looptape: passed\n", "| run | 1 | passed |\n", "| cassette-verify | 1 | passed |\n", "| check | 2 | passed |\n", "| eval-gate-1 | 1 | passed |\n",
		"### looptape run: passed\n", "### looptape cassette verify: passed\n", "### looptape check: passed\n", "### looptape eval gate: passed\n",
	} {
		if !strings.Contains(r.summary, want) {
			t.Errorf("the summary does not have %q:\n%s", want, r.summary)
		}
	}
	if got := r.context["steps.check.outputs.result"]; got != "passed" {
		t.Errorf("result %q", got)
	}
	if got := r.context["steps.install.outputs.version"]; !strings.HasPrefix(got, "looptape version ") {
		t.Errorf("version %q", got)
	}
	r.wantReports("check", "cassette-verify", "eval-gate-1", "run")
}

// wantReports checks that the reports are XML, and of these parts.
func (r *runner) wantReports(parts ...string) {
	r.t.Helper()
	found, err := filepath.Glob(filepath.Join(r.context["steps.check.outputs.reports"], "*.xml"))
	if err != nil {
		r.t.Fatal(err)
	}
	var names []string
	for _, name := range found {
		text, err := os.ReadFile(name)
		if err != nil {
			r.t.Fatal(err)
		}
		var suite struct {
			XMLName xml.Name `xml:"testsuite"`
			Tests   int      `xml:"tests,attr"`
		}
		if err := xml.Unmarshal(text, &suite); err != nil || suite.Tests == 0 {
			r.t.Errorf("%s: %v, %d tests:\n%s", name, err, suite.Tests, text)
		}
		names = append(names, strings.TrimSuffix(filepath.Base(name), ".xml"))
	}
	slices.Sort(names)
	slices.Sort(parts)
	if !slices.Equal(names, parts) {
		r.t.Errorf("reports %q, want %q", names, parts)
	}
}

// Nothing of an archive is run unless it has the checksum and one binary.
func TestActionInstall(t *testing.T) {
	archive, sum := archived(t)
	link, linkSum := archived(t, &tar.Header{Name: "other/looptape", Typeflag: tar.TypeSymlink, Linkname: "/bin/sh", Mode: 0o755})
	escape, escapeSum := archived(t, &tar.Header{Name: "../../../looptape-escape", Mode: 0o644}, &tar.Header{Name: "/looptape-escape", Mode: 0o644},
		&tar.Header{Name: "looptape_1.2.3_linux_amd64", Typeflag: tar.TypeSymlink, Linkname: "/", Mode: 0o755})
	url, requested := serveFiles(t, map[string]string{
		"/a.tar.gz": string(archive), "/link.tar.gz": string(link), "/escape.tar.gz": string(escape), "/text": "no archive", "/v2.0.0/SHA256SUMS": "0000  looptape\n",
		"/v3.0.0/SHA256SUMS": strings.Repeat("0", 64) + "  looptape_3.0.0_linux_amd64.tar.gz\n", "/v3.0.0/looptape_3.0.0_linux_amd64.tar.gz": string(archive),
	})
	textSum := fmt.Sprintf("%x", sha256.Sum256([]byte("no archive")))
	wrong := strings.Repeat("0", 64)
	for name, c := range map[string]struct {
		with map[string]string
		want string
	}{
		"checksum wrong":           {map[string]string{"url": url + "/a.tar.gz", "sha256": wrong}, "has the SHA-256 checksum " + sum + ", want " + wrong},
		"checksum of release":      {map[string]string{"version": "v3.0.0"}, "has the SHA-256 checksum " + sum + ", want " + wrong},
		"checksum input wins":      {map[string]string{"version": "v3.0.0", "sha256": strings.Repeat("1", 64)}, ", want " + strings.Repeat("1", 64)},
		"checksum invalid":         {map[string]string{"url": url + "/a.tar.gz", "sha256": "abc$(touch x)"}, `sha256 "abc$(touch x)": want 64 hexadecimal digits`},
		"no checksum":              {map[string]string{"url": url + "/a.tar.gz"}, "the input url needs the input sha256"},
		"no checksum in release":   {map[string]string{"version": "v2.0.0"}, "SHA256SUMS has no checksum of looptape_2.0.0_linux_amd64.tar.gz"},
		"server error":             {map[string]string{"version": "v9.9.9"}, "500"},
		"no version":               {map[string]string{}, `version "": set the input version to a release`},
		"branch":                   {map[string]string{"version": "main"}, `version "main": set`},
		"path in version":          {map[string]string{"version": "v1.2.3/../.."}, `version "v1.2.3/../..": set`},
		"line feed in version":     {map[string]string{"version": "v1.2.3\n::error::x"}, "version \"v1.2.3%0A::error::x\""},
		"url and version":          {map[string]string{"url": url + "/a.tar.gz", "sha256": sum, "version": "v1.2.3"}, "url and version exclude each other"},
		"plain http":               {map[string]string{"url": "http://example.com/a.tar.gz", "sha256": sum}, "want a URL that begins with https://"},
		"file":                     {map[string]string{"url": "file:///etc/passwd", "sha256": sum}, "want a URL that begins with https://"},
		"flag":                     {map[string]string{"url": "--config", "sha256": sum}, "want a URL that begins with https://"},
		"no archive":               {map[string]string{"url": url + "/text", "sha256": textSum}, "is not an archive that tar can read"},
		"two binaries, one a link": {map[string]string{"url": url + "/link.tar.gz", "sha256": linkSum}, "contains several files with the name looptape"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRunner(t, c.with)
			r.environ["LOOPTAPE_RELEASES"] = url
			r.run().want("install", c.want)
			if len(r.path) > 0 {
				t.Errorf("PATH got %q", r.path)
			}
			if list := r.annotations(); len(list) != 1 || !strings.HasPrefix(list[0], "::error title=looptape::") {
				t.Errorf("annotations %q", list)
			}
		})
	}
	t.Run("platforms", func(t *testing.T) {
		for _, c := range [][3]string{
			{"Linux", "ARM64", "linux_arm64.tar.gz"}, {"macOS", "X64", "darwin_amd64.tar.gz"}, {"macOS", "ARM64", "darwin_arm64.tar.gz"},
			{"Windows", "X64", "windows_amd64.zip"}, {"Windows", "ARM64", "windows_arm64.zip"}, {"Linux", "X86", ""}, {"Solaris", "X64", ""},
		} {
			r := newRunner(t, map[string]string{"version": "v1.2.3-rc.1", "sha256": sum})
			r.environ["LOOPTAPE_RELEASES"], r.environ["RUNNER_OS"], r.environ["RUNNER_ARCH"] = url, c[0], c[1]
			want := "cannot download " + url + "/v1.2.3-rc.1/looptape_1.2.3-rc.1_" + c[2]
			if c[2] == "" {
				want = "there is no release for the "
			}
			r.run().want("install", want)
		}
	})
	t.Run("paths and links in archive", func(t *testing.T) {
		r := newRunner(t, map[string]string{"url": url + "/escape.tar.gz", "sha256": strings.ToUpper(escapeSum), "comment": "false", "check": "runs.jsonl"})
		r.write("runs.jsonl", `{"messages":[{"role":"user","content":"Hi."},{"role":"assistant","content":"Hello."}]}`)
		r.run().want("")
		for _, name := range []string{"/looptape-escape", filepath.Join(r.environ["RUNNER_TEMP"], "looptape-escape"), filepath.Join(r.folder, "looptape-escape")} {
			if _, err := os.Lstat(name); err == nil {
				t.Errorf("%s was written", name)
			}
		}
	})
	if len(requested()) == 0 {
		t.Error("nothing was downloaded")
	}
}

// The result is red if a part fails, if a pattern matches nothing, and if nothing was checked. Names cannot become
// commands, annotations or markup.
func TestActionFails(t *testing.T) {
	const bad = `{"messages":[{"role":"user","content":"Hi."},{"role":"assistant","content":null,"tool_calls":[{"id":"x","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"user","content":"Well?"}]}`
	const name = "a \"b' $(touch injected) `touch injected` %0A::error::evil *\n::warning::evil @all <img>.jsonl"
	for test, c := range map[string]struct {
		files   map[string]string
		with    map[string]string
		words   []string // of the log
		summary []string
		reports []string
	}{
		"nothing": {with: map[string]string{}, words: []string{"nothing was checked"}, summary: []string{"## looptape: failed\n", "| nothing was checked | 0 | failed |"}},
		"no match": {
			files: map[string]string{"good.jsonl": `{"messages":[{"role":"user","content":"Hi."},{"role":"assistant","content":"Hello."}]}`},
			with:  map[string]string{"check": "good.jsonl", "scenarios": "*.txtar"},
			words: []string{`::error title=looptape::scenarios: no file matches "*.txtar"`}, summary: []string{"## looptape: failed\n", "| check | 1 | passed |"}, reports: []string{"check"},
		},
		"violation": {
			files: map[string]string{name: bad}, with: map[string]string{"check": "a *.jsonl"},
			words: []string{"::error title=looptape check::INV-01: "}, summary: []string{"| check | 1 | failed, exit status 1 |", "### looptape check: failed (1)"}, reports: []string{"check"},
		},
		"hostile pattern": {
			with:  map[string]string{"check": name},
			words: []string{"no file matches"}, summary: []string{"| check | a pattern without a file | failed |"},
		},
		"flag as file": {
			files: map[string]string{"--help": bad, "-": bad}, with: map[string]string{"check": "-*"},
			words: []string{"::error title=looptape check::INV-01: "}, summary: []string{"| check | 2 | failed, exit status 1 |"}, reports: []string{"check"},
		},
		"space in pattern": {
			files: map[string]string{"a b.jsonl": bad, "b.jsonl": `{"messages":[{"role":"user","content":"Hi."},{"role":"assistant","content":"Hello."}]}`}, with: map[string]string{"check": "a b*.jsonl"},
			summary: []string{"| check | 1 | failed, exit status 1 |"}, reports: []string{"check"},
		},
		"missing baseline": {
			files:   map[string]string{"eval.yaml": "suite: 2\nruns: [runs.jsonl]\nbaseline: \"%0A<b>`.json\"\n", "runs.jsonl": `{"task_id":"a","reward":1,"messages":[{"role":"user","content":"Hi."}]}`},
			with:    map[string]string{"suites": "*.yaml"},
			words:   []string{"::error title=looptape::eval-gate-1: exit status 2: looptape: open %250A<b>`.json: no such file or directory: create the baseline with --update"},
			summary: []string{"| eval-gate-1 | 1 | failed, exit status 2 |", "### looptape eval-gate-1: exit status 2\n\n    looptape: open %0A<b>`.json: no such file"}, reports: []string{"eval-gate-1"},
		},
		"empty recording": {
			files: map[string]string{"runs.jsonl": `{"messages":[{"role":"user","content":"Hi."}]}`}, with: map[string]string{"check": "runs.jsonl"},
			words: []string{"::error file=runs.jsonl,line=1,title=looptape check::unreadable: "}, summary: []string{"| check | 1 | failed, exit status 2 |"}, reports: []string{"check"},
		},
		"folder without cassettes": {
			files: map[string]string{"folder/x": "x"}, with: map[string]string{"cassettes": "folder"},
			words: []string{"no cassette (*.tape) found in this folder"}, summary: []string{"| cassette-verify | 1 | failed, exit status 2 |"}, reports: []string{"cassette-verify"},
		},
		"one of several": {
			files: map[string]string{"1.jsonl": bad, "s.yaml": "version: 2\nmodels: {main: [{text: Hello.}]}\ninput: Hi.\n"}, with: map[string]string{"check": "1.jsonl", "scenarios": "s.yaml"},
			words: []string{"::error title=looptape check::INV-01: "}, summary: []string{"| run | 1 | passed |", "| check | 1 | failed, exit status 1 |"}, reports: []string{"check", "run"},
		},
		"working directory": {
			files: map[string]string{"-s:u,b%/1.jsonl": bad + "\n{"}, with: map[string]string{"check": "*.jsonl", "working-directory": "-s:u,b%/"},
			words:   []string{"::error title=looptape check::INV-01: ", "::error file=-s%3Au%2Cb%25/1.jsonl,line=2,title=looptape check::unreadable: 1.jsonl:2: the file ends within a value\n"},
			reports: []string{"check"},
		},
	} {
		t.Run(test, func(t *testing.T) {
			with := inputs(t, map[string]string{"comment": "false"})
			maps.Copy(with, c.with)
			r := newRunner(t, with)
			for name, text := range c.files {
				r.write(name, text)
			}
			r.run().want("result", c.words...)
			for _, want := range c.summary {
				if !strings.Contains(r.summary, want) {
					t.Errorf("the summary does not have %q:\n%s", want, r.summary)
				}
			}
			if found, _ := filepath.Glob(filepath.Join(r.folder, "injected")); found != nil {
				t.Error("a name was run as a command")
			}
			for _, a := range r.annotations() {
				if strings.HasPrefix(a, "::error::") || strings.HasPrefix(a, "::warning::") {
					t.Errorf("a name became an annotation: %q", a)
				}
			}
			if strings.Contains(r.summary, "<img>") || strings.Contains(r.summary, " @all") {
				t.Errorf("a name became markup:\n%s", r.summary)
			}
			r.wantReports(c.reports...)
		})
	}
	t.Run("invalid inputs", func(t *testing.T) {
		for _, c := range [][3]string{{"strict", "yes", `the input strict is "yes": want true or false`}, {"working-directory", "none", `working-directory "none": no such folder`}, {"summary", "", `the input summary is "": want true or false`}} {
			newRunner(t, inputs(t, map[string]string{c[0]: c[1]})).run().want("check", c[2])
		}
	})
}

// comments are the comments of a pull request, as the REST API of GitHub serves them.
type comments struct {
	mu     sync.Mutex
	t      *testing.T
	list   []map[string]any
	status map[string]int // of requests, by method
	calls  []string
}

func (c *comments) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls = append(c.calls, r.Method+" "+r.URL.RequestURI())
	if got := r.Header.Get("Authorization"); got != "Bearer ghs_Secret123" {
		c.t.Errorf("authorization %q", got)
	}
	if status := c.status[r.Method]; status != 0 {
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, `{"message":"no: %s"}`, r.Header.Get("Authorization")) // the client may be gone
		return
	}
	var in struct{ Body string }
	if r.Method != http.MethodGet {
		text, err := io.ReadAll(r.Body)
		if err := errors.Join(err, json.Unmarshal(text, &in)); err != nil {
			c.t.Errorf("%s: %v: %.500q", r.Method, err, text)
		}
		if n := len([]rune(in.Body)); n > 65_536 {
			c.t.Errorf("GitHub rejects a comment of %d characters", n)
		}
	}
	var out any
	switch id, isComment := strings.CutPrefix(r.URL.Path, "/repos/owner/repo/issues/comments/"); {
	case r.Method == http.MethodGet && r.URL.Path == "/repos/owner/repo/issues/7/comments":
		page, err := strconv.Atoi(r.URL.Query().Get("page"))
		if err != nil || r.URL.Query().Get("per_page") != "100" {
			c.t.Errorf("%v: %s", err, r.URL)
		}
		from := min((page-1)*100, len(c.list))
		out = append([]map[string]any{}, c.list[from:min(from+100, len(c.list))]...)
	case r.Method == http.MethodPost && r.URL.Path == "/repos/owner/repo/issues/7/comments":
		w.WriteHeader(http.StatusCreated)
		out = c.add("github-actions[bot]", in.Body)
	case r.Method == http.MethodPatch && isComment:
		i := slices.IndexFunc(c.list, func(m map[string]any) bool { return fmt.Sprint(m["id"]) == id })
		if i < 0 {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		c.list[i]["body"] = in.Body
		out = c.list[i]
	default:
		c.t.Errorf("unexpected request %s %s", r.Method, r.URL)
		w.WriteHeader(http.StatusNotFound)
		return
	}
	if err := json.NewEncoder(w).Encode(out); err != nil {
		c.t.Error(err)
	}
}

// add adds a comment with the members that GitHub sends.
func (c *comments) add(login, body string) map[string]any {
	m := map[string]any{
		"id": 1_000_000_000_000 + len(c.list), "body": body, "url": "https://api.github.com/{", "user": map[string]any{"login": login, "id": 41898282, "type": "Bot"},
		"reactions": map[string]any{"total_count": 0, "+1": 0, "url": "x"}, "performed_via_github_app": map[string]any{"id": 15368, "owner": map[string]any{"login": "github"}}, "labels": []any{[]any{map[string]any{"id": 3, "body": "x"}}},
	}
	c.list = append(c.list, m)
	return m
}

// bodies returns the bodies of the comments by this author that have the marker.
func (c *comments) bodies(login string) (list []string) {
	for _, m := range c.list {
		if body := m["body"].(string); m["user"].(map[string]any)["login"] == login && strings.HasPrefix(body, "<!-- looptape: ") {
			list = append(list, body)
		}
	}
	return list
}

const commented = "<!-- looptape: looptape -->"

// There is one comment, which later runs edit, on any page and among comments of others with the same marker.
func TestActionComments(t *testing.T) {
	c := &comments{t: t}
	server := httptest.NewServer(c)
	defer server.Close()
	for i := range 149 {
		c.add("someone", fmt.Sprintf("%s forged \\ \" \"id\":5,{[ \u2028 %d \\\\\"", commented, i))
	}
	c.add("someone", `It ends in \`)
	c.add("github-actions[bot]", "<!-- looptape: other -->\n")
	c.add("github-actions[bot]", "About "+commented)
	curl, err := exec.LookPath("curl")
	if err != nil {
		t.Fatal(err)
	}
	tools := t.TempDir()
	if err := os.WriteFile(filepath.Join(tools, "curl"), []byte("#!/bin/sh\nprintf '%s\\n' \"$@\" >>"+tools+"/arguments\nexec "+curl+" \"$@\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	run := func(check, step string) {
		t.Helper()
		r := newRunner(t, inputs(t, map[string]string{"check": "*.jsonl"}))
		r.environ["GITHUB_API_URL"] = server.URL
		r.path = []string{tools}
		r.write("1.jsonl", check)
		r.run().want(step)
	}
	run(`{"messages":[{"role":"user","content":"Hi."},{"role":"assistant","content":"Hello."}]}`, "")
	got := c.bodies("github-actions[bot]")
	if len(got) != 2 || !strings.HasPrefix(got[1], commented+"\n## looptape: passed\n\n| part | files | result |\n") {
		t.Fatalf("comments %q", got)
	}
	for range 60 { // the comment stays on the second page
		c.add("someone", `Thanks. \`)
	}
	run(`{"messages":[{"role":"user","content":"Hi."},{"role":"assistant","content":null,"tool_calls":[{"id":"\\\"\t|x","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"user","content":"Well?"}]}`, "result")
	got = c.bodies("github-actions[bot]")
	if len(got) != 2 || !strings.HasPrefix(got[1], commented+"\n## looptape: failed\n") || !strings.Contains(got[1], `the call "\\\\\\"\\t\|x" has no result`) {
		t.Fatalf("comments %q", got)
	}
	for _, body := range c.bodies("someone") {
		if !strings.Contains(body, "forged") {
			t.Errorf("the comment of another user was edited: %q", body)
		}
	}
	arguments, err := os.ReadFile(filepath.Join(tools, "arguments"))
	if err != nil || strings.Contains(string(arguments), "Secret123") || !strings.Contains(string(arguments), "PATCH\n") {
		t.Errorf("the arguments of curl: %v\n%s", err, arguments)
	}
	want := []string{
		"GET /repos/owner/repo/issues/7/comments?per_page=100&page=1", "GET /repos/owner/repo/issues/7/comments?per_page=100&page=2", "POST /repos/owner/repo/issues/7/comments",
		"GET /repos/owner/repo/issues/7/comments?per_page=100&page=1", "GET /repos/owner/repo/issues/7/comments?per_page=100&page=2", "PATCH /repos/owner/repo/issues/comments/1000000000152",
	}
	if !slices.Equal(c.calls, want) {
		t.Errorf("requests %q, want %q", c.calls, want)
	}
}

// Without a comment, the result is that of the checks, and the log has the reason.
func TestActionWithoutComment(t *testing.T) {
	for name, c := range map[string]struct {
		status map[string]int
		with   map[string]string
		event  string
		words  string
		calls  int
	}{
		"fork":               {with: map[string]string{"token": ""}, words: "::notice title=looptape::no comment on the pull request: there is no token, as for a pull request of a fork"},
		"read-only token":    {status: map[string]int{"POST": 403}, words: "::warning title=looptape::no comment on the pull request: status 403: the token does not permit it", calls: 2},
		"rate limit":         {status: map[string]int{"GET": 403}, words: "or the limit of requests is reached", calls: 1},
		"server error":       {status: map[string]int{"GET": 500}, words: "::warning title=looptape::no comment on the pull request: status 500", calls: 1},
		"server error later": {status: map[string]int{"POST": 502}, words: "status 502", calls: 2},
		"redirect":           {status: map[string]int{"GET": 302}, words: "status 302", calls: 1},
		"no pull request":    {event: `{"ref":"refs/heads/main"}`, words: "no pull request: no comment"},
		"disabled":           {with: map[string]string{"comment": "false"}},
	} {
		t.Run(name, func(t *testing.T) {
			api := &comments{t: t, status: c.status}
			server := httptest.NewServer(api)
			defer server.Close()
			with := inputs(t, map[string]string{"scenarios": "s.yaml"})
			maps.Copy(with, c.with)
			r := newRunner(t, with)
			r.environ["GITHUB_API_URL"] = server.URL
			r.write("s.yaml", "version: 2\nmodels: {main: [{text: Hello.}]}\ninput: Hi.\n")
			if c.event != "" {
				if err := os.WriteFile(r.environ["GITHUB_EVENT_PATH"], []byte(c.event), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			r.run().want("", c.words)
			if len(api.calls) != c.calls {
				t.Errorf("requests %q, want %d", api.calls, c.calls)
			}
		})
	}
	t.Run("no server", func(t *testing.T) {
		r := newRunner(t, inputs(t, map[string]string{"scenarios": "s.yaml"}))
		r.write("s.yaml", "version: 2\nmodels: {main: [{text: Hello.}]}\ninput: Hi.\n")
		r.run().want("", "the server cannot be reached")
	})
	t.Run("hostile", func(t *testing.T) {
		for name, value := range map[string]string{"token": "a\"\nurl = \"http://evil", "comment-key": "x --> <!--", "comment": "maybe"} {
			r := newRunner(t, inputs(t, map[string]string{"scenarios": "s.yaml", name: value}))
			r.write("s.yaml", "version: 2\nmodels: {main: [{text: Hello.}]}\ninput: Hi.\n")
			r.run().want("comment")
		}
	})
}

// A comment that was deleted since the list is written again.
func TestActionCommentDeleted(t *testing.T) {
	c := &comments{t: t, status: map[string]int{"PATCH": 404}}
	c.add("github-actions[bot]", commented)
	server := httptest.NewServer(c)
	defer server.Close()
	r := newRunner(t, inputs(t, map[string]string{"scenarios": "s.yaml"}))
	r.environ["GITHUB_API_URL"] = server.URL
	r.write("s.yaml", "version: 2\nmodels: {main: [{text: Hello.}]}\ninput: Hi.\n")
	r.run().want("", "a comment was written")
	if len(c.list) != 2 {
		t.Errorf("comments %q", c.list)
	}
}

// A summary beyond 1 MiB and a comment beyond 65,536 characters are shortened, and say so.
func TestActionLongSummary(t *testing.T) {
	c := &comments{t: t}
	server := httptest.NewServer(c)
	defer server.Close()
	r := newRunner(t, inputs(t, map[string]string{"check": "*.jsonl", "suites": "*.yaml"}))
	r.environ["GITHUB_API_URL"] = server.URL
	long := strings.Repeat("ü|", 5000)
	for i := range 120 { // each is a case that must pass and fails
		r.write(fmt.Sprintf("runs/%d.jsonl", i), fmt.Sprintf(`{"task_id":"%d %s","reward":0,"messages":[{"role":"user","content":"Hi."}]}`, i, long))
		r.write("base.jsonl", `{"task_id":"a","reward":1,"messages":[{"role":"user","content":"Hi."},{"role":"assistant","content":"Hello."}]}`)
	}
	var baseline strings.Builder
	baseline.WriteString("{\n\"format\": \"looptape-baseline\",\n\"version\": 1,\n\"scorers\": [\"recorded\"],\n\"metrics\": {\"reward\": 1},\n\"cases\": [\n")
	for i := range 120 {
		if i > 0 {
			baseline.WriteString(",\n")
		}
		fmt.Fprintf(&baseline, `{"case":"%d %s","must_pass":true,"scores":{"reward":[1]}}`, i, long)
	}
	r.write("baseline.json", baseline.String()+"\n]\n}\n")
	r.write("eval.yaml", "suite: 2\nruns: [runs]\nbaseline: baseline.json\n")
	r.run().want("result")
	const shortened = "This summary is shortened: it has "
	if len(r.summary) < 900_000 || !strings.Contains(r.summary, shortened) {
		t.Errorf("a summary of %d bytes ends in %q", len(r.summary), r.summary[max(0, len(r.summary)-300):])
	}
	got := c.bodies("github-actions[bot]")
	if len(got) != 1 || !strings.Contains(got[0], shortened) || len(got[0]) < 30_000 {
		t.Errorf("%d comments", len(got))
	}
}
