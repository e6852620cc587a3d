package looptape_test

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/fstest"
)

// places tells where rows may live: the Go files of a folder, and what each declares.
type places struct {
	root  fs.FS
	known map[string]map[string]bool // file → names, of those that were looked at
}

func newPlaces(root fs.FS) *places { return &places{root, map[string]map[string]bool{}} }

// check says what is wrong with where a row lives: a file, or two, each with what in
// it behind a #, as in loop/kernel.go#settle.
func (p *places) check(lives []string) error {
	switch {
	case len(lives) == 0:
		return errors.New("it does not say where the row lives; add the Go file that keeps the promise, such as loop/kernel.go#settle")
	case len(lives) > 2:
		return fmt.Errorf("it lives in %d places; name the one that keeps the promise, or two", len(lives))
	case len(lives) == 2 && lives[0] == lives[1]:
		return fmt.Errorf("it names %s twice", lives[0])
	}
	for _, place := range lives {
		if err := p.checkOne(place); err != nil {
			return err
		}
	}
	return nil
}

func (p *places) checkOne(place string) error {
	file, name, named := strings.Cut(place, "#")
	if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
		return fmt.Errorf("%s is no Go file that is built; tests are in the column before", place)
	}
	names := p.known[file]
	if names == nil {
		var err error
		if names, err = declared(p.root, file); err != nil {
			return err
		}
		p.known[file] = names
	}
	if named && !names[name] {
		return fmt.Errorf("%s declares no %q; name a function, a method, a type, a constant or a variable", file, name)
	}
	return nil
}

// declared are the names of a file's functions, methods, types, constants and
// variables. Methods stand by their own name, and fields and methods behind that of
// their type, as in Config.Tools.
func declared(root fs.FS, file string) (map[string]bool, error) {
	src, err := fs.ReadFile(root, file)
	if err != nil {
		return nil, err
	}
	parsed, err := parser.ParseFile(token.NewFileSet(), file, src, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for _, d := range parsed.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			names[d.Name.Name] = true
			names[receiver(d)+"."+d.Name.Name] = true
		case *ast.GenDecl:
			for _, s := range d.Specs {
				declare(names, s)
			}
		}
	}
	return names, nil
}

// receiver is the name of a method's type.
func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return ""
	}
	of := f.Recv.List[0].Type
	if p, ok := of.(*ast.StarExpr); ok {
		of = p.X
	}
	id, ok := of.(*ast.Ident)
	if !ok {
		return ""
	}
	return id.Name
}

func declare(names map[string]bool, s ast.Spec) {
	switch s := s.(type) {
	case *ast.ValueSpec:
		for _, n := range s.Names {
			names[n.Name] = true
		}
	case *ast.TypeSpec:
		names[s.Name.Name] = true
		if of, ok := s.Type.(*ast.StructType); ok {
			for _, f := range of.Fields.List {
				for _, n := range f.Names {
					names[s.Name.Name+"."+n.Name] = true
				}
			}
		}
	}
}

// showPlaces holds that each row says where it lives, and that this is there.
func showPlaces(t *testing.T, list []contract) {
	p := newPlaces(os.DirFS("."))
	for _, c := range list {
		for _, row := range c.table {
			if err := p.check(row.lives); err != nil {
				t.Errorf("%s, in %s/%s.tsv: %v", row.id, contractsDir, c.id, err)
			}
		}
	}
}

func livesIn(list []string) string {
	var out []string
	for _, place := range list {
		file, _, _ := strings.Cut(place, "#")
		out = append(out, "["+place+"](../"+file+")")
	}
	return strings.Join(out, ", ")
}

func TestPlaces(t *testing.T) {
	p := newPlaces(fstest.MapFS{
		"a/a.go": {Data: []byte(`package a
import "fmt"
type T struct{ field int }
func (t *T) Method() { local := 1; fmt.Println(local) }
func Func() {}
const One, Two = 1, 2
var V int
`)},
		"a/a_test.go": {Data: []byte("package a\nfunc Test() {}\n")},
		"a/broken.go": {Data: []byte("package a\nfunc {\n")},
		"a/notes.md":  {Data: []byte("# Func\n")},
	})
	for lives, want := range map[string]string{ // what the error says; empty is none
		"a/a.go":                    "",
		"a/a.go#T":                  "",
		"a/a.go#Method":             "",
		"a/a.go#Func a/a.go#Two":    "",
		"a/a.go a/a.go#V":           "",
		"":                          "does not say where the row lives",
		"a/a.go a/a.go#T a/a.go#V":  "lives in 3 places",
		"a/a.go#T a/a.go#T":         "names a/a.go#T twice",
		"a/a_test.go":               "no Go file that is built",
		"a/a_test.go#Test":          "no Go file that is built",
		"a/notes.md#Func":           "no Go file that is built",
		"a":                         "no Go file that is built",
		"a/b.go":                    "open a/b.go",
		"../a/a.go":                 "../a/a.go",
		"a/broken.go":               "a/broken.go:2",
		"a/a.go#":                   `a/a.go declares no ""`,
		"a/a.go#T.Method":           "",
		"a/a.go#T.Other":            `a/a.go declares no "T.Other"`,
		"a/a.go#field":              `a/a.go declares no "field"`,
		"a/a.go#local":              `a/a.go declares no "local"`,
		"a/a.go#fmt":                `a/a.go declares no "fmt"`,
		"a/a.go a/a.go#Func2":       `a/a.go declares no "Func2"`,
		"a/a.go#Func a/gone.go#Two": "open a/gone.go",
	} {
		err := p.check(strings.Fields(lives))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got the error %v, want %q", lives, err, want)
		}
	}
}

func TestLivesIn(t *testing.T) {
	got := livesIn([]string{"loop/stop.go", "loop/kernel.go#settle"})
	const want = "[loop/stop.go](../loop/stop.go), [loop/kernel.go#settle](../loop/kernel.go)"
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
