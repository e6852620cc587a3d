package looptape_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/loop/preset"
	"github.com/looptape/looptape/loop/scenario"
)

// contract is what a documented loop promises, in a table of testdata/contracts.
type contract struct {
	id    string // of its table and its rows
	name  string // of its preset
	rows  int    // how many there are
	table []promise
}

// promise is a row: its id, its mark, what it says, what shows it, and where it lives.
// What shows it is a scenario of testdata/contracts, or a Go test: loop.TestName,
// loop.TestName/subtest. For where it lives see places.
type promise struct {
	id, mark, says string
	shown, lives   []string
}

const contractsDir = "testdata/contracts"

// contracts reads the tables.
func contracts(t *testing.T) []contract {
	t.Helper()
	list := []contract{
		{id: "DZ", name: "deuz", rows: 52}, {id: "AG", name: "agentier", rows: 46}, {id: "DA", name: "deepagents", rows: 50},
		{id: "AL", name: "agentloop", rows: 101}, {id: "RA", name: "reactagent", rows: 65},
	}
	for i := range list {
		c := &list[i]
		name := filepath.Join(contractsDir, c.id+".tsv")
		src := read(t, name)
		for n, line := range strings.Split(strings.TrimSuffix(src, "\n"), "\n") {
			f := strings.Split(line, "\t")
			if len(f) != 5 || f[2] == "" || !slices.Contains([]string{"D", "I", "U", "R"}, f[1]) {
				t.Fatalf("%s:%d: expected an id, a mark (D, I, U or R), a promise, what shows it and where it lives, with tabs between, got %q", name, n+1, line)
			}
			c.table = append(c.table, promise{f[0], f[1], f[2], strings.Fields(f[3]), strings.Fields(f[4])})
		}
	}
	return list
}

// open is how many rows nothing shows.
func (c contract) open() int {
	n := c.rows
	for _, p := range c.table {
		if len(p.shown) > 0 {
			n--
		}
	}
	return n
}

// TestContracts holds the tables of the contracts against what there is, and the
// page that is made of them; with -update it is written anew.
func TestContracts(t *testing.T) {
	list := contracts(t)
	t.Run("rows", func(t *testing.T) {
		var names []string
		for _, c := range list {
			names = append(names, c.name)
			if diff := cmp.Diff(c.ids(), rowIDs(c.table)); diff != "" {
				t.Errorf("the rows of %s (-contract +table):\n%s", c.id, diff)
			}
		}
		if diff := cmp.Diff(preset.Names(), names); diff != "" {
			t.Errorf("the presets (-there +with a contract):\n%s", diff)
		}
	})
	t.Run("scenarios", func(t *testing.T) { showScenarios(t, list) })
	t.Run("tests", func(t *testing.T) { showTests(t, list) })
	t.Run("places", func(t *testing.T) { showPlaces(t, list) })
	t.Run("documents", func(t *testing.T) { likeTheDocuments(t, list) })
	t.Run("page", func(t *testing.T) {
		const page = "docs/contracts.md"
		is := read(t, page)
		want := tables(t, is)
		if diff := cmp.Diff(is, want); diff != "" && *update {
			write(t, page, want)
		} else if diff != "" {
			t.Errorf("%s is not current; run go test . -run TestContracts -update (-is +has to be):\n%s", page, diff)
		}
	})
}

// ids are those that the rows have to have, in order.
func (c contract) ids() []string {
	var ids []string
	for n := range c.rows {
		ids = append(ids, fmt.Sprintf("%s-%02d", c.id, n+1))
	}
	return ids
}

func rowIDs(rows []promise) []string {
	var ids []string
	for _, p := range rows {
		ids = append(ids, p.id)
	}
	return ids
}

// showScenarios holds that the scenarios that rows name are there and expect
// something, and that each scenario is named.
func showScenarios(t *testing.T, list []contract) {
	named := map[string]bool{}
	for _, c := range list {
		for _, p := range c.table {
			for _, s := range p.shown {
				named[s] = true
			}
		}
	}
	files, err := filepath.Glob(contractsDir + "/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	for _, file := range files {
		base := filepath.Base(file)
		if !named[base] {
			t.Errorf("no row names the scenario %s; add it to what shows its row in %s/%s.tsv", base, contractsDir, base[:2])
		}
		delete(named, base)
		if f, err := scenario.Parse(file, []byte(read(t, file))); err != nil || f.Trace == "" {
			t.Errorf("%s expects no trace (%v)", file, err)
		}
	}
	for s := range named {
		if strings.HasSuffix(s, ".txtar") {
			t.Errorf("a row names the scenario %s, which is not in %s", s, contractsDir)
		}
	}
}

// showTests holds that the Go tests that rows name are there.
func showTests(t *testing.T, list []contract) {
	rooms := map[string]*testRoom{}
	for _, c := range list {
		for _, p := range c.table {
			for _, s := range p.shown {
				if strings.HasSuffix(s, ".txtar") {
					continue
				}
				dir, name, is := strings.Cut(s, ".Test")
				if !is {
					t.Errorf("%s: %q is neither a scenario (NAME.txtar) nor a test (loop.TestName)", p.id, s)
					continue
				}
				if rooms[dir] == nil {
					rooms[dir] = testsIn(t, dir)
				}
				if !rooms[dir].has("Test" + name) {
					t.Errorf("%s: there is no test %s", p.id, s)
				}
			}
		}
	}
}

// testRoom is what the tests of a folder are called, and the texts in them, among
// which are the names of subtests.
type testRoom struct{ funcs, texts map[string]bool }

func (r *testRoom) has(test string) bool {
	name, sub, is := strings.Cut(test, "/")
	return r.funcs[name] && (!is || r.texts[sub])
}

func testsIn(t *testing.T, dir string) *testRoom {
	t.Helper()
	r := &testRoom{map[string]bool{}, map[string]bool{}}
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
					r.funcs[n.Name.Name] = true
				}
			case *ast.BasicLit:
				if text, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING {
					r.texts[strings.ReplaceAll(text, " ", "_")] = true
				}
			}
			return true
		})
	}
	return r
}

// likeTheDocuments holds the ids and marks of the tables against the contracts
// themselves, where they are.
func likeTheDocuments(t *testing.T, list []contract) {
	shared := os.Getenv("LOOPTAPE_SHARED")
	if shared == "" {
		shared = "../shared"
	}
	row := regexp.MustCompile(`(?m)^\| ([A-Z]{2}-\d+) \| \[([DIUR])`)
	for _, c := range list {
		doc, err := os.ReadFile(filepath.Join(shared, "contracts", c.name+".md"))
		if err != nil {
			t.Skipf("the contracts themselves are not here to compare with; LOOPTAPE_SHARED can name their folder: %v", err)
		}
		var want, got []string
		for _, m := range row.FindAllSubmatch(doc, -1) {
			want = append(want, string(m[1])+" "+string(m[2]))
		}
		for _, p := range c.table {
			got = append(got, p.id+" "+p.mark)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the rows of %s and their marks (-contract +table):\n%s", c.id, diff)
		}
	}
}

// contractRows is the table of one contract for the page, or with an empty id the
// sums of all.
func contractRows(t *testing.T, id string) string {
	t.Helper()
	var rows [][]string
	all, left := 0, 0
	for _, c := range contracts(t) {
		all, left = all+c.rows, left+c.open()
		if id == "" {
			rows = append(rows, []string{c.id, "`" + c.name + "`", strconv.Itoa(c.rows), strconv.Itoa(c.rows - c.open()), strconv.Itoa(c.open())})
		}
		if c.id != id {
			continue
		}
		for _, p := range c.table {
			rows = append(rows, []string{p.id, p.says, p.mark, shownBy(p.shown), status(p), livesIn(p.lives)})
		}
	}
	if id == "" {
		rows = append(rows, []string{"all", "", strconv.Itoa(all), strconv.Itoa(all - left), strconv.Itoa(left)})
		return markdown([]string{"contract", "preset", "rows", "shown", "open"}, rows)
	}
	return markdown([]string{"id", "promise", "mark", "shown by", "status", "lives in"}, rows)
}

func shownBy(list []string) string {
	var out []string
	for _, s := range list {
		if name, is := strings.CutSuffix(s, ".txtar"); is {
			out = append(out, "["+name+"](../"+contractsDir+"/"+s+")")
		} else {
			out = append(out, "`"+s+"`")
		}
	}
	return strings.Join(out, ", ")
}

func status(p promise) string {
	if len(p.shown) == 0 {
		return "open"
	}
	return "shown"
}
