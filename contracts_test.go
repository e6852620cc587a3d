package looptape_test

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/loop/preset"
	"github.com/looptape/looptape/loop/scenario"
)

// contractsDir contains two tables for each contract. NAME.md is the text of the
// contract, an unchanged copy. ID.tsv adds to each row the evidence of the requirement and the
// package that meets it.
const contractsDir = "testdata/contracts"

// contract is the list of requirements on one preset.
type contract struct {
	id   string // of its rows, such as DZ
	name string // of its preset
	rows []requirement
}

// requirement is one row of a contract. NAME.md has the id, the text and the mark, the
// first letter of the text (D, I, U or R). The other fields are columns of ID.tsv.
//
// Tests and scenarios are named as NAME.txtar (in testdata/contracts), loop.TestName or
// loop.TestName/subtest.
type requirement struct {
	id, text, mark string
	shownBy        []string // show the whole requirement
	partlyShownBy  []string // show a part of it
	packages       []string // meet the requirement, or the part that is shown
}

// evidence returns the tests and scenarios of the row.
func (r requirement) evidence() []string { return slices.Concat(r.shownBy, r.partlyShownBy) }

// status is shown, partial or open.
func (r requirement) status() string {
	switch {
	case len(r.shownBy) > 0:
		return "shown"
	case len(r.partlyShownBy) > 0:
		return "partial"
	}
	return "open"
}

// count returns the number of rows for which is reports true.
func (c contract) count(is func(requirement) bool) (n int) {
	for _, r := range c.rows {
		if is(r) {
			n++
		}
	}
	return n
}

// contracts reads the tables of all contracts, one for each preset.
func contracts(t *testing.T) (list []contract) {
	t.Helper()
	for _, name := range preset.Names() {
		c := contract{name: name, rows: requirements(t, filepath.Join(contractsDir, name+".md"))}
		c.id, _, _ = strings.Cut(c.rows[0].id, "-")
		addEvidence(t, filepath.Join(contractsDir, c.id+".tsv"), c.rows)
		list = append(list, c)
	}
	return list
}

// requirements reads the rows of a contract: the unchanged cells of its Markdown tables.
func requirements(t *testing.T, file string) (rows []requirement) {
	t.Helper()
	text := regexp.MustCompile(`^\[([DIUR])`)
	for n, line := range strings.Split(read(t, file), "\n") {
		if !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "| ID |") || strings.HasPrefix(line, "|---|") {
			continue
		}
		cells := strings.Split(strings.TrimSuffix(strings.TrimPrefix(line, "| "), " |"), " | ")
		if len(cells) != 4 || !text.MatchString(cells[1]) {
			t.Fatalf("%s:%d: got %q, want an id, a requirement that begins with its mark ([D], [I], [U] or [R]), a scripted test and an edge case", file, n+1, line)
		}
		rows = append(rows, requirement{id: cells[0], text: cells[1], mark: text.FindStringSubmatch(cells[1])[1]})
	}
	if len(rows) == 0 {
		t.Fatalf("%s: no requirements", file)
	}
	return rows
}

// addEvidence reads the other columns of the rows.
func addEvidence(t *testing.T, file string, rows []requirement) {
	t.Helper()
	const header = "id\tshown by\tpartly shown by\tpackage"
	lines := strings.Split(strings.TrimSuffix(read(t, file), "\n"), "\n")
	if lines[0] != header {
		t.Fatalf("%s:1: got the header %q, want %q", file, lines[0], header)
	}
	var want, got []string
	columns := map[string][]string{}
	for n, line := range lines[1:] {
		cells := strings.Split(line, "\t")
		if len(cells) != 4 {
			t.Fatalf("%s:%d: got %q, want 4 cells separated by tabs: %s", file, n+2, line, strings.ReplaceAll(header, "\t", ", "))
		}
		got = append(got, cells[0])
		columns[cells[0]] = cells
	}
	for i := range rows {
		r := &rows[i]
		want = append(want, r.id)
		if cells := columns[r.id]; cells != nil {
			r.shownBy, r.partlyShownBy, r.packages = strings.Fields(cells[1]), strings.Fields(cells[2]), strings.Fields(cells[3])
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("%s: the ids differ from those of the contract (-contract +%s):\n%s", file, filepath.Base(file), diff)
	}
}

// TestContracts compares the tables of the contracts with the tests, scenarios and
// packages that they name, with the contracts of the project's guidance, and with
// docs/contracts.md, which -update writes.
func TestContracts(t *testing.T) {
	list := contracts(t)
	t.Run("rows", func(t *testing.T) { checkRows(t, list) })
	t.Run("scenarios", func(t *testing.T) { checkScenarios(t, list) })
	t.Run("tests", func(t *testing.T) { checkTests(t, list) })
	t.Run("comments", func(t *testing.T) { checkComments(t, list) })
	t.Run("packages", func(t *testing.T) {
		for _, c := range list {
			for _, r := range c.rows {
				if err := checkPackages(os.DirFS("."), r); err != nil {
					t.Errorf("%s/%s.tsv: %s: %v", contractsDir, c.id, r.id, err)
				}
			}
		}
	})
	t.Run("copies", checkCopies)
	t.Run("page", func(t *testing.T) {
		const page = "docs/contracts.md"
		got := read(t, page)
		want := tables(t, got)
		if diff := cmp.Diff(want, got); diff != "" && *update {
			write(t, page, want)
		} else if diff != "" {
			t.Errorf("%s is not current: run go test . -run TestContracts -update (-want +got):\n%s", page, diff)
		}
	})
}

// checkRows checks that the ids of a contract are consecutive, that the sums in the
// README of the contracts are those of the rows, and that a row is shown either in
// whole or in part.
func checkRows(t *testing.T, list []contract) {
	want := []string{"README.md"}
	readme := read(t, filepath.Join(contractsDir, "README.md"))
	for _, c := range list {
		want = append(want, c.name+".md")
		sums := fmt.Sprintf("| %s.md (%s) | %d |", c.name, c.id, len(c.rows))
		for _, mark := range []string{"D", "I", "U", "R"} {
			sums += fmt.Sprintf(" %d |", c.count(func(r requirement) bool { return r.mark == mark }))
		}
		if !strings.Contains(readme, "\n"+sums) {
			t.Errorf("%s/README.md: missing %q, the number of rows of %s.md and of each mark", contractsDir, sums, c.name)
		}
		for i, r := range c.rows {
			if id := fmt.Sprintf("%s-%02d", c.id, i+1); r.id != id {
				t.Errorf("%s/%s.md: row %d has the id %q, want %q", contractsDir, c.name, i+1, r.id, id)
			}
			if len(r.shownBy) > 0 && len(r.partlyShownBy) > 0 {
				t.Errorf("%s/%s.tsv: %s is shown both in whole and in part: put all names into one of the two columns", contractsDir, c.id, r.id)
			}
		}
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, baseNames(t, "*.md")); diff != "" {
		t.Errorf("%s has other contracts than there are presets (-want +got):\n%s", contractsDir, diff)
	}
}

// baseNames returns the sorted names of the files of contractsDir that match a pattern.
func baseNames(t *testing.T, pattern string) (names []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(contractsDir, pattern))
	if err != nil || len(files) == 0 {
		t.Fatalf("no %s in %s: %v", pattern, contractsDir, err)
	}
	for _, file := range files {
		names = append(names, filepath.Base(file))
	}
	return names
}

// checkScenarios checks that each scenario that a row names exists and expects a trace,
// and that a row names each scenario.
func checkScenarios(t *testing.T, list []contract) {
	found := map[string]bool{} // whether a row names it
	for _, name := range baseNames(t, "*.txtar") {
		found[name] = false
		file := filepath.Join(contractsDir, name)
		if f, err := scenario.Parse(file, []byte(read(t, file))); err != nil || f.Trace == "" {
			t.Errorf("%s expects no trace (%v)", file, err)
		}
	}
	for _, c := range list {
		for _, r := range c.rows {
			for _, name := range r.evidence() {
				if _, ok := found[name]; ok {
					found[name] = true
				} else if strings.HasSuffix(name, ".txtar") {
					t.Errorf("%s/%s.tsv: %s names the scenario %s, which is not in %s", contractsDir, c.id, r.id, name, contractsDir)
				}
			}
		}
	}
	for name, named := range found {
		if !named {
			t.Errorf("no row names the scenario %s: add it to its row in %s/%s.tsv", name, contractsDir, name[:2])
		}
	}
}

// checkTests checks that each Go test that a row names exists.
func checkTests(t *testing.T, list []contract) {
	dirs := map[string]*testNames{}
	for _, c := range list {
		for _, r := range c.rows {
			for _, s := range r.evidence() {
				if strings.HasSuffix(s, ".txtar") {
					continue
				}
				dir, name, ok := strings.Cut(s, ".Test")
				if !ok {
					t.Errorf("%s/%s.tsv: %s: %q is neither a scenario (NAME.txtar) nor a test (loop.TestName)", contractsDir, c.id, r.id, s)
					continue
				}
				if dirs[dir] == nil {
					dirs[dir] = testsIn(t, dir)
				}
				if !dirs[dir].has("Test" + name) {
					t.Errorf("%s/%s.tsv: %s names the test %s, which does not exist", contractsDir, c.id, r.id, s)
				}
			}
		}
	}
}

// checkComments checks that a row names each test whose comment has the row's id.
func checkComments(t *testing.T, list []contract) {
	rows := map[string]requirement{}
	for _, c := range list {
		for _, r := range c.rows {
			rows[r.id] = r
		}
	}
	ids := regexp.MustCompile(`\b([A-Z]{2})-(\d{2,3})(?: to [A-Z]{2}-(\d{2,3}))?`)
	for _, name := range sources(t) {
		if !strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || !strings.HasPrefix(f.Name.Name, "Test") {
				continue
			}
			test := strings.TrimPrefix(path.Dir(name), "./") + "." + f.Name.Name
			for _, m := range ids.FindAllStringSubmatch(f.Doc.Text(), -1) {
				first, _ := strconv.Atoi(m[2])
				last, err := strconv.Atoi(m[3])
				if err != nil { // no range
					last = first
				}
				for n := first; n <= last; n++ {
					r, ok := rows[fmt.Sprintf("%s-%02d", m[1], n)]
					if ok && !slices.ContainsFunc(r.evidence(), func(s string) bool { return s == test || strings.HasPrefix(s, test+"/") }) {
						t.Errorf("%s: the comment of %s has the id %s: add %s to this row in %s/%s.tsv, or change the comment", name, f.Name.Name, r.id, test, contractsDir, m[1])
					}
				}
			}
		}
	}
}

// testNames are the test functions of a folder and the strings in its test files. The
// names of subtests are among the strings.
type testNames struct{ funcs, strings map[string]bool }

func (n *testNames) has(test string) bool {
	name, sub, ok := strings.Cut(test, "/")
	return n.funcs[name] && (!ok || n.strings[sub])
}

func testsIn(t *testing.T, dir string) *testNames {
	t.Helper()
	names := &testNames{map[string]bool{}, map[string]bool{}}
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Recv == nil && strings.HasPrefix(n.Name.Name, "Test") {
					names.funcs[n.Name.Name] = true
				}
			case *ast.BasicLit:
				if s, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING {
					names.strings[strings.ReplaceAll(s, " ", "_")] = true
				}
			}
			return true
		})
	}
	return names
}

// checkPackages returns an error if the packages of a row do not exist below root. A row
// that is shown, in whole or in part, names one package or two.
func checkPackages(root fs.FS, r requirement) error {
	switch n := len(r.packages); {
	case n == 0 && len(r.evidence()) > 0:
		return errors.New("missing package: name the package that meets the requirement, such as loop/middleware")
	case n > 2:
		return fmt.Errorf("got %d packages, want the one that meets the requirement, or two", n)
	case n == 2 && r.packages[0] == r.packages[1]:
		return fmt.Errorf("duplicate package %q", r.packages[0])
	}
	for _, dir := range r.packages {
		files, _ := fs.ReadDir(root, dir) // a folder that cannot be read has no Go files
		if !slices.ContainsFunc(files, func(f fs.DirEntry) bool {
			return strings.HasSuffix(f.Name(), ".go") && !strings.HasSuffix(f.Name(), "_test.go")
		}) {
			return fmt.Errorf("unknown package %q: want a folder with Go files, such as loop/middleware", dir)
		}
	}
	return nil
}

func TestCheckPackages(t *testing.T) {
	root := fstest.MapFS{"a/a.go": {}, "a/b/b.go": {}, "tests/a_test.go": {}, "notes/a.md": {}}
	shown := []string{"DZ-01.txtar"}
	for packages, want := range map[string]string{ // part of the error; empty means none
		"a":        "",
		"a a/b":    "",
		"":         "missing package",
		"a a/b a":  "got 3 packages",
		"a a":      `duplicate package "a"`,
		"c":        `unknown package "c"`,
		"a c":      `unknown package "c"`,
		"a/a.go":   `unknown package "a/a.go"`,
		"../a":     `unknown package "../a"`,
		"tests":    `unknown package "tests"`,
		"notes":    `unknown package "notes"`,
		"a#Symbol": `unknown package "a#Symbol"`,
	} {
		err := checkPackages(root, requirement{shownBy: shown, packages: strings.Fields(packages)})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("checkPackages(%q) = %v, want %q", packages, err, want)
		}
	}
	if err := checkPackages(root, requirement{partlyShownBy: shown}); err == nil {
		t.Error("checkPackages accepts a row that is shown in part and names no package")
	}
	if err := checkPackages(root, requirement{}); err != nil {
		t.Errorf("checkPackages of an open row = %v, want nil", err)
	}
}

// checkCopies compares the contracts byte for byte with those of the project's guidance,
// in the folder shared next to the repository. The environment variable LOOPTAPE_SHARED
// names another folder.
func checkCopies(t *testing.T) {
	shared := os.Getenv("LOOPTAPE_SHARED")
	if shared == "" {
		shared = "../shared"
	}
	shared = filepath.Join(shared, "contracts")
	if _, err := os.Stat(shared); err != nil {
		t.Skipf("no contracts to compare with: set LOOPTAPE_SHARED to the folder of the guidance: %v", err)
	}
	for _, name := range baseNames(t, "*.md") {
		want, err := os.ReadFile(filepath.Join(shared, name))
		if err != nil {
			t.Error(err)
			continue
		}
		got := []byte(read(t, filepath.Join(contractsDir, name)))
		if bytes.Equal(got, want) {
			continue
		}
		gotLines, wantLines := bytes.Split(got, []byte("\n")), bytes.Split(want, []byte("\n"))
		n := 0
		for n < len(gotLines) && n < len(wantLines) && bytes.Equal(gotLines[n], wantLines[n]) {
			n++
		}
		t.Errorf("%s/%s:%d is not word for word that of the guidance: copy the file unchanged (%d lines, want %d)\ngot  %q\nwant %q",
			contractsDir, name, n+1, len(gotLines)-1, len(wantLines)-1, at(gotLines, n), at(wantLines, n))
	}
}

// at returns the line with index n, or nil after the last.
func at(lines [][]byte, n int) []byte {
	if n < len(lines) {
		return lines[n]
	}
	return nil
}
