package looptape_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/evals"
	"github.com/looptape/looptape/evals/scorers"
	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/internal/docpage"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop/scenario"
	"github.com/looptape/looptape/trace/check"
)

var update = flag.Bool("update", false, "update the output of commands in the documents, their generated tables and the list of the public API")

// TestDocs runs the examples in the documents and compares their results with the text.
//
// Each page has its own folder. The blocks of a page run in order:
//
//   - A block after a line that ends in a name in backquotes and a colon is the file of that name.
//     A file in conformance or contrib contains the block.
//   - A block of yaml or txtar is a scenario, which is run, or a suite. An unnamed scenario may
//     omit keys; see complete.
//   - A block of console contains commands and their output.
//   - A block of text in docs/exploring.md that begins with INV- is a report; see exploreReport.
//   - Go files of all pages are compiled and tested together at the end.
//
// With -update, the test writes the output of commands, the traces of scenarios and the
// generated tables into the documents.
func TestDocs(t *testing.T) {
	b := newBook(t)
	for _, name := range pages(t) {
		t.Run(name, func(t *testing.T) { b.page(t, name) })
	}
	t.Run("go", b.goTest)
}

// pages returns the names of the documents for users.
func pages(t *testing.T) []string {
	t.Helper()
	docs, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	return append([]string{"README.md", "CONTRIBUTING.md", "CHANGELOG.md"}, docs...)
}

// book has the examples of all pages: dir is a module that uses this one, and bin a folder with
// the command.
type book struct{ dir, bin string }

func newBook(t *testing.T) *book {
	t.Helper()
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	b := &book{t.TempDir(), t.TempDir()}
	run(t, root, "go", "build", "-ldflags=-s -w", "-o", b.bin, "./cmd/looptape")
	// With the same version of Go and all requirements, the go command does not look at the
	// modules that no example uses.
	mod := "module example.com/docs\n\nrequire " + module + " v0.0.0\n\nreplace " + module + " => " + root + "\n"
	for _, require := range regexp.MustCompile(`(?ms)^go .*?\n|^require \(.*?^\)\n`).FindAllString(read(t, "go.mod"), -1) {
		mod += "\n" + require
	}
	write(t, filepath.Join(b.dir, "go.mod"), mod)
	write(t, filepath.Join(b.dir, "go.sum"), read(t, "go.sum"))
	return b
}

func run(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, out)
	}
}

// goTest runs the Go examples. They need no network, because they have the dependencies of
// this module.
func (b *book) goTest(t *testing.T) {
	cmd := b.command(t, b.dir, "go", "test", "-count=1", "-trimpath", "-ldflags=-s -w", "./...") // linking without debug information takes less time
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("the Go examples: %v\n%s", err, out)
	}
}

func (b *book) command(t *testing.T, dir, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PATH="+b.bin+string(os.PathListSeparator)+os.Getenv("PATH"),
		"GOFLAGS=-mod=readonly", "GOPROXY=off", "GOWORK=off", "NO_COLOR=1")
	return cmd
}

// page runs the examples of a page and compares the page with their results.
func (b *book) page(t *testing.T, name string) {
	dir := filepath.Join(b.dir, strings.ToLower(strings.TrimSuffix(filepath.Base(name), ".md")))
	is := read(t, name)
	is = strings.ReplaceAll(is, "\r\n", "\n")
	want := tables(t, is)
	var out strings.Builder
	rest := 0
	for _, bl := range blocks(name, want) {
		if slices.Contains(pagesOfPackages, name) {
			break
		}
		out.WriteString(want[rest:bl.From])
		rest = bl.To
		out.WriteString(b.block(t, dir, bl))
	}
	out.WriteString(want[rest:])
	if diff := cmp.Diff(strings.Split(is, "\n"), strings.Split(out.String(), "\n")); diff != "" {
		if *update {
			write(t, name, out.String())
			return
		}
		t.Errorf("%s is not current: read the difference and run go test . -run TestDocs -update (-page +results):\n%s", name, diff)
	}
}

// pagesOfPackages are the pages whose examples need a package. The tests of the module in the folder release run them.
var pagesOfPackages = []string{"docs/javascript.md", "docs/python.md"}

// block runs a block and returns its current text.
func (b *book) block(t *testing.T, dir string, bl block) string {
	t.Helper()
	switch {
	case strings.HasPrefix(bl.File, "conformance/"), strings.HasPrefix(bl.File, "contrib/"): // other modules, whose tests run the files
		if !strings.Contains(read(t, bl.File), bl.Text) {
			t.Errorf("%s: %s does not contain this text:\n%s", bl.at, bl.File, bl.Text)
		}
	case bl.File != "":
		write(t, filepath.Join(dir, bl.File), bl.Text)
	}
	if strings.HasPrefix(bl.at, "docs/ci.md:") && bl.File != "" {
		return bl.Text // cmd/looptape.TestCIPage runs it
	}
	switch bl.Lang {
	case "console":
		return b.console(t, dir, bl)
	case "yaml", "txtar":
		if !evals.IsSuite([]byte(bl.Text)) {
			return play(t, bl)
		}
		maker := scorers.Maker{Files: os.DirFS(dir), Environ: []string{}, Grader: func(*scorers.Grader) (llm.Model, error) { return fake.NewModel(), nil }}
		if _, err := evals.ParseSuite(bl.at, []byte(bl.Text), maker.Parse); err != nil {
			t.Error(err)
		}
	case "json":
		for line := range strings.Lines(bl.Text) {
			if !json.Valid([]byte(line)) && !json.Valid([]byte(bl.Text)) {
				t.Errorf("%s: not JSON: %s", bl.at, line)
			}
		}
	case "go", "jsonl", "js", "python":
		if bl.File == "" {
			t.Errorf("%s: missing file name before a block of %s", bl.at, bl.Lang)
		}
	case "sh":
		for line := range strings.Lines(bl.Text) {
			if mod := filepath.Join(dir, "go.mod"); strings.TrimSpace(line) == goGet && isFile(mod) {
				write(t, mod, strings.Replace(read(t, filepath.Join(b.dir, "go.mod")), "module example.com/docs\n", "module example.com/agent\n", 1))
				write(t, filepath.Join(dir, "go.sum"), read(t, "go.sum"))
				continue
			}
			if !slices.Contains(notRun, strings.TrimSpace(line)) {
				t.Errorf("%s: nothing runs %q: make it a console block, or add it to notRun", bl.at, line)
			}
		}
	case "text":
		if strings.HasPrefix(bl.at, "docs/exploring.md:") && strings.HasPrefix(bl.Text, "INV-") {
			return b.exploreReport(t, dir, bl)
		}
	case "mermaid":
	default:
		t.Errorf("%s: unknown language %q of a block", bl.at, bl.Lang)
	}
	return bl.Text
}

// exploreReport returns the report of the test of docs/exploring.md if the loop of the page appends its results, without the time and the
// indentation of go test.
func (b *book) exploreReport(t *testing.T, dir string, bl block) string {
	t.Helper()
	appends := strings.NewReplacer("results := make([]llm.Part, len(calls))", "var results []llm.Part",
		"for i, call := range calls", "for _, call := range calls", "results[i] = answer(ctx, in.Tools, call)", "results = append(results, answer(ctx, in.Tools, call))")
	folder := filepath.Join(dir, "appends")
	defer func() { _ = os.RemoveAll(folder) }() // goTest tests what is left
	write(t, filepath.Join(folder, "agent_test.go"), appends.Replace(read(t, filepath.Join(dir, "agent_explore_test.go"))))
	out, err := b.command(t, folder, "go", "test", "-run", "TestOrders").CombinedOutput()
	_, report, found := strings.Cut(string(out), ": INV-")
	report, _, ended := strings.Cut(report, "\nFAIL\n")
	if err == nil || !found || !ended {
		t.Fatalf("%s: the loop that appends its results: %v\n%s", bl.at, err, out)
	}
	return shortened(strings.TrimSpace(strings.ReplaceAll("INV-"+report, "\n        ", "\n"))+"\n", bl.Text)
}

// goGet needs a network. On a page whose folder is a module, the module gets a requirement of this checkout.
const goGet = "go get github.com/looptape/looptape@latest"

func isFile(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// notRun are the commands that this test cannot run.
var notRun = []string{
	"go test ./...", // runs this test; .ci/run takes it from README
	"go install github.com/looptape/looptape/cmd/looptape@latest",
	"npm install --save-dev looptape",
	"python -m pip install looptape",
	goGet,
	"jq -c '{id: .name, messages: [.turns[] | {role: .speaker, content: .text}]}' run.json > run.jsonl", // jq is not installed everywhere
	"jq -c -f pydantic-ai.jq messages.json > run.jsonl",
	"looptape eval rerun --record --model cassette:new.tape --provider openai --name gpt-5 --tool-defs tools.json shop.jsonl", // calls a provider
}

// console runs the commands of a block and returns them with their output.
func (b *book) console(t *testing.T, dir string, bl block) string {
	t.Helper()
	var out strings.Builder
	for _, c := range docpage.Commands(bl.Text) {
		text := c.Text
		out.WriteString("$ " + text + "\n")
		if strings.Contains(text, "python3 ") {
			if _, err := exec.LookPath("python3"); err != nil {
				t.Skipf("%s: the page needs python3", bl.at)
			}
		}
		text = strings.ReplaceAll(text, "go run ./cmd/looptape", "looptape")
		cmd := b.command(t, dir, "sh", "-c", strings.TrimSpace(text))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		printed, err := cmd.CombinedOutput()
		if _, exited := errors.AsType[*exec.ExitError](err); err != nil && (!exited || !strings.Contains(text, "echo")) {
			t.Errorf("%s: %s: %v; show the status of a command that fails (; echo \"exit status $?\"); output:\n%s", bl.at, text, err, printed)
		}
		out.WriteString(shortened(steady(string(printed)), c.Output))
	}
	return out.String()
}

// shortened omits the lines of printed that shown omits with a line that is only ….
func shortened(printed, shown string) string {
	before, after, ok := strings.Cut("\n"+shown, "\n…\n")
	lines := strings.SplitAfter(strings.TrimSuffix(printed, "\n"), "\n")
	n, m := strings.Count(before, "\n"), strings.Count(after, "\n")
	if !ok || n+m >= len(lines) {
		return printed
	}
	lines[len(lines)-1] += "\n"
	return strings.Join(lines[:n], "") + "…\n" + strings.Join(lines[len(lines)-m:], "")
}

func TestShortened(t *testing.T) {
	for shown, want := range map[string]string{
		"…\n": "…\n", "x\n…\ny\nz\n": "1\n…\n3\n4\n", "x\n": "1\n2\n3\n4\n", "x …\n": "1\n2\n3\n4\n", "": "1\n2\n3\n4\n", "…\ny\n": "…\n4\n", "x\nx\n…\nx\nx\n": "1\n2\n3\n4\n",
	} {
		if got := shortened("1\n2\n3\n4\n", shown); got != want {
			t.Errorf("as %q: got %q, want %q", shown, got, want)
		}
	}
}

// steady replaces what differs each time in printed: the times of go test, ports, and tokens of URLs.
func steady(printed string) string {
	return port.ReplaceAllString(urlToken.ReplaceAllString(took.ReplaceAllString(printed, "0.00s"), "$1/TOKEN"), "127.0.0.1:8917")
}

var (
	took = regexp.MustCompile(`\b\d+\.\d+s\b`)
	port = regexp.MustCompile(`\b127\.0\.0\.1:\d+`)
	// urlToken is that of a server's URL.
	urlToken = regexp.MustCompile(`(\b127\.0\.0\.1:\d+)/[a-z2-7]{26}\b`)
)

// play runs a scenario and returns its text, with the new trace if it expects one.
func play(t *testing.T, bl block) string {
	t.Helper()
	text := bl.Text
	if bl.File == "" && bl.Lang == "yaml" {
		text = complete(text)
	}
	f, err := scenario.Parse(bl.at, []byte(text))
	if err != nil {
		t.Error(err)
		return bl.Text
	}
	o, err := scenario.Run(t.Context(), f.Script, nil)
	if err != nil {
		t.Error(err)
		return bl.Text
	}
	c := check.New(nil)
	for _, ev := range o.Events {
		c.Add(ev)
	}
	for _, v := range c.Done() {
		t.Errorf("%s: %v", bl.at, v)
	}
	if !f.HasTrace {
		return bl.Text
	}
	return string(f.With(o))
}

// complete adds the required keys to a fragment of a scenario.
func complete(text string) string {
	for _, c := range []struct{ key, text string }{
		{"version", "version: 2\n"},
		{"models", "models: {main: [{text: done}]}\n"},
		{"input", "input: go\n"},
	} {
		if !regexp.MustCompile(`(?m)^` + c.key + `:`).MatchString(text) {
			text = text + c.text
		}
	}
	return text
}

// block is a block of a page.
type block struct {
	docpage.Block

	at string // page:line, for errors
}

func blocks(page, text string) (list []block) {
	for _, b := range docpage.Blocks(text) {
		list = append(list, block{b, fmt.Sprintf("%s:%d", page, b.Line)})
	}
	return list
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
