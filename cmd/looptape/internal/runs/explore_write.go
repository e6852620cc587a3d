package runs

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"

	"github.com/looptape/looptape/cmd/looptape/internal/cli"
	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/loop/explore"
	"github.com/looptape/looptape/loop/scenario"
)

// makeFolder creates the folder of --write. Scenarios with one base name are an error: their files would have one name.
func (x *explorer) makeFolder(scenarios []string) error {
	if x.folder == "" {
		return nil
	}
	first := map[string]string{}
	for _, name := range scenarios {
		base := baseName(name)
		if other, is := first[base]; is {
			return cli.UsageError(x.c, "--write: the files of %s and %s would have the same names: explore them one at a time", other, name)
		}
		first[base] = name
	}
	if err := os.MkdirAll(x.folder, 0o755); err != nil {
		return fmt.Errorf("--write: %w", err)
	}
	return nil
}

func baseName(name string) string { return strings.TrimSuffix(filepath.Base(name), filepath.Ext(name)) }

// write writes a scenario that is as small as a failure permits, and a Go test that repeats it unless it is of a program.
func (x *explorer) write(ctx context.Context, name string, script *fake.Script, f *explore.Failure) (files []string, err error) {
	ofLoop := len(x.program.args) == 0
	if ofLoop {
		script, f = scenario.Reduce(script, x.adjust, f)
	} else {
		script, f = x.reduceProgram(ctx, script, f)
	}
	yaml, err := script.YAML()
	if err != nil {
		return nil, err
	}
	base := baseName(name) + "-" + strings.ToLower(f.Invariant)
	yamlName := base + ".yaml"
	from := yamlName
	if !ofLoop { // the paths of its command are relative to this folder
		from = filepath.Join(x.folder, yamlName)
	}
	// Only quoted arguments of the command have characters that a comment cannot have.
	comment := fmt.Sprintf("# %s\n# %s\n", printable(f.Violation.String(), "", ""), printable(repeatCommand(x.program.command(from), f.Choices), "'$'", "''"))
	type file struct {
		name string
		data []byte
	}
	list := []file{{yamlName, append([]byte(comment), yaml...)}}
	if ofLoop {
		list = append(list, file{strings.ReplaceAll(base, "-", "_") + "_test.go", testSource(base, yamlName, f)})
	}
	for _, out := range list {
		path := filepath.Join(x.folder, out.name)
		if err := x.w.Output(path, func(w io.Writer) error {
			_, err := w.Write(out.data)
			return err
		}); err != nil {
			return files, err
		}
		files = append(files, path)
	}
	return files, nil
}

// printable escapes the characters that are not printable, each between two strings.
func printable(s, before, after string) string {
	var b strings.Builder
	for _, r := range s {
		if unicode.IsPrint(r) {
			b.WriteRune(r)
		} else {
			b.WriteString(before + strings.Trim(strconv.QuoteRune(r), "'") + after)
		}
	}
	return b.String()
}

// testFormat is the test: its arguments are its name, the invariant, the name of the scenario and the choices. It is no
// template because text/template keeps all methods of all types in the program.
const testFormat = `package explored_test

import (
	"os"
	"testing"

	"github.com/looptape/looptape/loop/explore"
	"github.com/looptape/looptape/loop/scenario"
)

// %[1]s repeats a run that violated %[2]s.
func %[1]s(t *testing.T) {
	source, err := os.ReadFile(%[3]q)
	if err != nil {
		t.Fatal(err)
	}
	file, err := scenario.Parse(%[3]q, source)
	if err != nil {
		t.Fatal(err)
	}
	start, err := scenario.Program(file.Script, nil)
	if err != nil {
		t.Fatal(err)
	}
	program := start()
	defer program.Close()
	run, unused := explore.Replay(program, %[4]s)
	for _, v := range run.Violations {
		t.Errorf("%%s\n%%s", v, v.Hint)
	}
	if len(unused) > 0 {
		t.Errorf("the run has no such choices: %%v", unused)
	}
}
`

// testSource returns the Go test of a failure, formatted as gofmt does.
func testSource(base, file string, f *explore.Failure) []byte {
	name := "TestExplored_" + strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return '_'
	}, base)
	choices := strings.ReplaceAll(explore.Source(f.Choices), "\n", "\n\t")
	return fmt.Appendf(nil, testFormat, name, f.Invariant, file, choices)
}
