// Package project contains the command that writes the first tests, recordings and CI workflow of a project.
package project

import (
	"bufio"
	"bytes"
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/looptape/looptape/cmd/looptape/internal/cli"
	"github.com/looptape/looptape/internal/atomicfile"
)

// templates has the folder looptape-tests as it is written, and the jobs of the workflow. It has the test of each
// language; the tests of the module and of release run them.
//
//go:embed all:files
var templates embed.FS

const (
	testFolder   = "looptape-tests"
	workflowFile = ".github/workflows/looptape.yml"
)

// language is a language whose projects get a test.
type language struct {
	name, title string
	file        string // by which a project of the language is recognized
	test        string // the file with the test
	// install and run are the commands of a user. The version of looptape replaces RELEASE.
	install, run string
}

func languages() []language {
	return []language{
		{"go", "Go", "go.mod", "looptape_test.go", "go get github.com/looptape/looptape@RELEASE", "go test ./" + testFolder},
		{"javascript", "JavaScript", "package.json", "looptape.test.mjs", "", ""}, // see packageManager
		{"python", "Python", "pyproject.toml", "test_looptape.py", "python -m pip install looptape pytest", "python -m pytest " + testFolder},
	}
}

// packageManager is a package manager of JavaScript. ci installs what the lock file has.
type packageManager struct{ lock, add, ci, exec string }

// packageManagers are the package managers by their lock files. The last one is that of projects without a lock file.
func packageManagers() []packageManager {
	return []packageManager{
		{"pnpm-lock.yaml", "pnpm add --save-dev", "corepack enable && pnpm install --frozen-lockfile", "pnpm exec"},
		{"yarn.lock", "yarn add --dev", "corepack enable && yarn install", "yarn run"},
		{"package-lock.json", "npm install --save-dev", "npm ci", "npx"},
	}
}

// New returns the command init.
func New(w *cli.World) *cobra.Command {
	c := &cobra.Command{
		Use:   "init",
		Short: "Write a first scenario, tests, an eval suite and a CI workflow",
		Long: `init writes files into a project in Go (go.mod), JavaScript (package.json) or
Python (pyproject.toml):

  a scenario, and a test of an example agent with its responses
  a cassette, and a test of the agent with the recorded responses
  recorded runs, what is expected of them, a suite that scores them, and the
  baseline of its gate
  a workflow for GitHub Actions that runs all of these

The tests pass as they are. Replace the example agent in them with your own.

init lists the files first, and asks in a terminal; --yes writes without a
question. It keeps each file that exists, and writes nothing outside the folder,
also through links.

Exit status: 0 if each file was written or existed before, 1 if the answer was
not yes, 2 if the project is unknown or a file cannot be written.`,
		Example: "  looptape init\n  looptape init --print\n  looptape init --yes --language python --dir agent",
		Args:    cli.NoArguments,
	}
	var p plan
	c.Flags().StringVar(&p.dir, "dir", ".", "`folder` of the project")
	c.Flags().StringSliceVar(&p.names, "language", nil, "`language` of the tests: go, javascript, python (repeatable; default: those of the project)")
	c.Flags().BoolVar(&p.yes, "yes", false, "write the files without a question")
	c.Flags().BoolVar(&p.print, "print", false, "print the files instead of writing them")
	c.RunE = func(*cobra.Command, []string) error {
		root, err := os.OpenRoot(p.dir)
		if err != nil {
			return err
		}
		p.w, p.root = w, root
		return errors.Join(p.do(), root.Close())
	}
	return c
}

// plan is what the command is going to write.
type plan struct {
	dir        string
	names      []string // of languages
	yes, print bool

	w         *cli.World
	root      *os.Root
	languages []language
	files     []file
}

// file is a file of the project.
type file struct {
	name, purpose string
	text          []byte
	exists        bool
}

func (p *plan) do() error {
	if err := p.detect(); err != nil {
		return err
	}
	if err := p.choose(); err != nil {
		return err
	}
	if p.print {
		for _, f := range p.files {
			p.w.Print(fmt.Appendf(nil, "==> %s <==\n%s\n", f.name, f.text))
		}
		return nil
	}
	missing := p.list()
	if missing > 0 {
		if err := p.confirm(missing); err != nil {
			return err
		}
		if err := p.write(); err != nil {
			return err
		}
	}
	p.next()
	return nil
}

// detect finds the languages of the project.
func (p *plan) detect() error {
	var known, files []string
	for _, l := range languages() {
		known, files = append(known, l.name), append(files, l.file)
		info, err := p.root.Stat(l.file)
		if slices.Contains(p.names, l.name) || len(p.names) == 0 && err == nil && info.Mode().IsRegular() {
			p.languages = append(p.languages, p.commandsOf(l))
		}
	}
	for _, name := range p.names {
		if !slices.Contains(known, name) {
			return fmt.Errorf("--language %q: unknown language: want one of %s", name, strings.Join(known, ", "))
		}
	}
	if len(p.languages) == 0 {
		return fmt.Errorf("%s: none of %s found: name the folder of a project with --dir, or a language with --language", p.dir, strings.Join(files, ", "))
	}
	return nil
}

// commandsOf returns the language with the commands of the project.
func (p *plan) commandsOf(l language) language {
	if m := p.packageManager(); l.name == "javascript" {
		l.install, l.run = m.add+" looptape vitest", m.exec+" vitest run "+testFolder
	}
	l.install = strings.ReplaceAll(l.install, "RELEASE", cmp.Or(p.release(), "latest"))
	return l
}

func (p *plan) packageManager() packageManager {
	list := packageManagers()
	for _, m := range list {
		if _, err := p.root.Stat(m.lock); err == nil {
			return m
		}
	}
	return list[len(list)-1]
}

// release matches the version of a release, unlike a pseudo-version.
var release = regexp.MustCompile(`^v\d+\.\d+\.\d+(-[a-z]+\.\d+)?$`)

// release returns the version of this build if it is a release.
func (p *plan) release() string {
	if b := p.w.Build; b != nil && release.MatchString(b.Main.Version) {
		return b.Main.Version
	}
	return ""
}

// choose collects the files.
func (p *plan) choose() error {
	purposes := map[string]string{
		"weather.txtar": "a scenario", "weather.tape": "a cassette",
		"runs.jsonl": "recorded runs", "cases.jsonl": "what is expected of the runs", "eval.yaml": "a suite with a gate",
		"baseline.json": "the baseline of the gate", ".gitattributes": "line ends of recordings",
	}
	for _, l := range p.languages {
		purposes[l.test] = "tests of an agent in " + l.title
	}
	folder := path.Join("files", testFolder)
	entries, err := templates.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, e := range entries {
		purpose, ok := purposes[e.Name()]
		if !ok {
			continue // the test of another language
		}
		text, err := templates.ReadFile(path.Join(folder, e.Name()))
		if err != nil {
			return err
		}
		p.files = append(p.files, file{name: path.Join(testFolder, e.Name()), purpose: purpose, text: text})
	}
	workflow, err := p.workflow()
	if err != nil {
		return err
	}
	p.files = append(p.files, file{name: workflowFile, purpose: "the workflow of GitHub Actions", text: workflow})
	for i, f := range p.files {
		_, err := p.root.Lstat(f.name)
		p.files[i].exists = err == nil
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s: %w", filepath.Join(p.dir, f.name), err)
		}
	}
	return nil
}

// workflow returns the workflow with a job for each language.
func (p *plan) workflow() ([]byte, error) {
	var out bytes.Buffer
	names := []string{"start"}
	for _, l := range p.languages {
		names = append(names, l.name)
	}
	for _, name := range names {
		text, err := templates.ReadFile("files/workflow/" + name + ".yml")
		if err != nil {
			return nil, err
		}
		out.Write(text)
	}
	m := p.packageManager()
	replacer := strings.NewReplacer("RELEASE", cmp.Or(p.release(), "RELEASE"), "INSTALL", m.ci, "TEST", m.exec+" vitest run "+testFolder)
	return []byte(replacer.Replace(out.String())), nil
}

// list prints the files and returns the number of those that do not exist.
func (p *plan) list() (missing int) {
	var titles []string
	for _, l := range p.languages {
		titles = append(titles, l.title)
	}
	p.w.Printf("Project: %s\n\n", strings.Join(titles, ", "))
	var rows [][]string
	for _, f := range p.files {
		action := "write"
		if f.exists {
			action = "keep"
		} else {
			missing++
		}
		rows = append(rows, []string{action, f.name, fmt.Sprint(len(f.text)), f.purpose})
	}
	p.w.Table([]string{"action", "file", "bytes", "content"}, rows)
	return missing
}

// confirm asks for permission to write, unless --yes gives it.
func (p *plan) confirm(missing int) error {
	if p.yes {
		return nil
	}
	if !p.w.InTerminal {
		return errors.New("standard input is not a terminal: write the files with --yes, or print them with --print")
	}
	if err := p.w.Message("Write %s into %s? [y/N] ", cli.Count(missing, "file"), p.dir); err != nil {
		return err
	}
	answer, err := bufio.NewReader(p.w.In).ReadString('\n')
	if answer = strings.ToLower(strings.TrimSpace(answer)); answer != "y" && answer != "yes" {
		if err != nil {
			p.w.Printf("\n")
		}
		p.w.Printf("nothing written\n")
		return cli.Failed
	}
	return nil
}

// write creates the missing files.
func (p *plan) write() error {
	written, kept := 0, 0
	for i := range p.files {
		f := &p.files[i]
		if f.exists {
			kept++
			continue
		}
		switch err := atomicfile.Create(p.root, f.name, f.text); {
		case errors.Is(err, fs.ErrExist):
			p.w.Printf("%s exists now: kept\n", f.name)
			kept++
		case err != nil:
			return fmt.Errorf("%s: %w", filepath.Join(p.dir, f.name), err)
		default:
			written++
		}
	}
	p.w.Printf("%s written, %d kept\n", cli.Count(written, "file"), kept)
	return nil
}

// next prints the commands that come next.
func (p *plan) next() {
	p.w.Printf("\nNext:\n")
	for _, l := range p.languages {
		p.w.Printf("  %s\n  %s\n", l.install, l.run)
	}
	p.w.Printf("  looptape run %s/weather.txtar\n  looptape eval gate %s/eval.yaml\n", testFolder, testFolder)
	if name := p.includes(); name != "" {
		p.w.Printf("If include in %s selects the tests, add %s/*.test.mjs to it.\n", name, testFolder)
	}
	if p.release() == "" && !p.files[len(p.files)-1].exists {
		p.w.Printf("This build of looptape has no release version: set RELEASE in %s.\n", workflowFile)
	}
	if _, err := p.root.Stat(".git"); err != nil {
		p.w.Printf("GitHub reads workflows in the top folder of a repository only: if this is another folder, move %s there and set working-directory in it.\n", workflowFile)
	}
}

// includes returns the name of a configuration of vitest that may not include the test.
func (p *plan) includes() string {
	if !slices.ContainsFunc(p.languages, func(l language) bool { return l.name == "javascript" }) {
		return ""
	}
	for _, pattern := range []string{"vitest.config.*", "vite.config.*"} { // in the order in which vitest reads them
		names, _ := fs.Glob(p.root.FS(), pattern) // an error is one in the pattern
		for _, name := range names {
			if text, err := fs.ReadFile(p.root.FS(), name); err == nil && bytes.Contains(text, []byte("include")) {
				return name
			}
		}
	}
	return ""
}
