package looptape_test

import (
	"fmt"
	"go/ast"
	"go/build"
	"go/doc"
	"go/format"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// apiFile lists the declarations of the public packages, one package after the other.
const apiFile = "testdata/api.txt"

// maxAPINames limits the exported names of the public packages, counted as go doc -short lists
// them. It may only go down, or up by the names that a new feature needs: 623 instead of 600 with trace.Join,
// the parts of system prompts (llm.System, llm.SystemPart and llm.SystemText), and the statistics of
// gates and rates (stats.Within, Tango, UnpairedRates, DropTest, Simulator,
// PairedRates, PlannedRates, Sequential, evals.GatePlan,
// evals.CaseChange, evals.SequentialChange, evals.Rows, evals.NewRows, and stats.Totals and evals.Tally with their parts);
// 662 with package loop/explore, looptest.Explore, scenario.Program and fake.World; and 680 with looptest.Explored, and with reports of failures.
const maxAPINames = 680

// internalInAPI are the exported declarations that still use a type of an internal package. The
// list may only get shorter.
var internalInAPI = []string{}

// TestAPI compares the public API with its golden file, so that a change to it shows in a
// review. It limits the number of exported names and rejects exported declarations that use a
// type of an internal package.
func TestAPI(t *testing.T) {
	var out strings.Builder
	var internal []string
	names, packages := 0, publicPackages(t)
	for _, dir := range packages {
		p := parsePackage(t, dir)
		internal = append(internal, p.internalTypes()...)
		names += p.names(t)
		fmt.Fprintf(&out, "== %s: %d names\n\n%s\n", dir, p.names(t), p.declarations(t))
	}
	t.Logf("%d packages have %d exported names, as go doc -short counts them", len(packages), names)
	if len(packages) == 0 || names == 0 {
		t.Fatal("found no public package with exported names")
	}
	if names > maxAPINames {
		t.Errorf("got %d exported names, want at most %d: unexport what only the package or its tests use", names, maxAPINames)
	}
	if diff := cmp.Diff(internalInAPI, internal, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("exported declarations that use types of internal packages (-listed +found): remove the use, or the entry of internalInAPI without a use:\n%s", diff)
	}
	if *update {
		write(t, apiFile, out.String())
		return
	}
	if diff := cmp.Diff(read(t, apiFile), out.String()); diff != "" {
		t.Errorf("%s is not current; read the difference and run go test . -run TestAPI -update (-file +code):\n%s", apiFile, diff)
	}
}

// publicPackages lists the folders with packages that users can import.
func publicPackages(t *testing.T) (dirs []string) {
	t.Helper()
	for _, p := range list(t) {
		dir := strings.TrimPrefix(p.ImportPath, module+"/")
		if len(p.GoFiles) > 0 && p.Name != "main" && !slices.Contains(strings.Split(dir, "/"), "internal") {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// apiPackage is the parsed source of one package without its tests, as Linux builds it.
type apiPackage struct {
	dir   string
	fset  *token.FileSet
	files []*ast.File
	doc   *doc.Package
}

func parsePackage(t *testing.T, dir string) *apiPackage {
	t.Helper()
	system := build.Default
	system.GOOS, system.GOARCH = "linux", "amd64"
	pkg, err := system.ImportDir(filepath.FromSlash(dir), 0)
	if err != nil {
		t.Fatal(err)
	}
	p := &apiPackage{dir: dir, fset: token.NewFileSet()}
	for _, name := range pkg.GoFiles {
		file, err := parser.ParseFile(p.fset, filepath.Join(dir, name), nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		p.files = append(p.files, file)
	}
	return p
}

// symbols returns the exported symbols. It removes all others from the parsed files.
func (p *apiPackage) symbols(t *testing.T) *doc.Package {
	t.Helper()
	if p.doc == nil {
		d, err := doc.NewFromFiles(p.fset, p.files, module+"/"+p.dir)
		if err != nil {
			t.Fatal(err)
		}
		p.doc = d
	}
	return p.doc
}

// names counts the exported names as go doc -short lists them: a group of constants or
// variables counts as one name, and methods do not count.
func (p *apiPackage) names(t *testing.T) int {
	t.Helper()
	d := p.symbols(t)
	n := len(d.Consts) + len(d.Vars) + len(d.Funcs)
	for _, typ := range d.Types {
		n += 1 + len(typ.Consts) + len(typ.Vars) + len(typ.Funcs)
	}
	return n
}

// declarations prints the exported declarations without comments, function bodies and the
// values of variables.
func (p *apiPackage) declarations(t *testing.T) string {
	t.Helper()
	var out strings.Builder
	show := func(node ast.Node) {
		ast.Inspect(node, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				n.Doc, n.Body = nil, nil
			case *ast.GenDecl:
				n.Doc = nil
			case *ast.TypeSpec:
				n.Doc, n.Comment = nil, nil
			case *ast.ValueSpec:
				n.Doc, n.Comment = nil, nil
			case *ast.Field:
				n.Doc, n.Comment = nil, nil
			}
			return true
		})
		if d, ok := node.(*ast.GenDecl); ok && d.Tok == token.VAR {
			for _, s := range d.Specs {
				if s, ok := s.(*ast.ValueSpec); ok {
					s.Values = nil
				}
			}
		}
		var text strings.Builder
		if err := format.Node(&text, p.fset, node); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(text.String() + "\n") {
			if line != "\n" { // an empty line is where a comment was
				out.WriteString(line)
			}
		}
	}
	values := func(list []*doc.Value) {
		for _, v := range list {
			show(v.Decl)
		}
	}
	funcs := func(list []*doc.Func) {
		for _, f := range list {
			show(f.Decl)
		}
	}
	d := p.symbols(t)
	values(d.Consts)
	values(d.Vars)
	funcs(d.Funcs)
	for _, typ := range d.Types {
		show(typ.Decl)
		values(typ.Consts)
		values(typ.Vars)
		funcs(typ.Funcs)
		funcs(typ.Methods)
	}
	return out.String()
}

// internalTypes returns the exported declarations that use a type of an internal package, each
// with that type. An unexported alias does not hide the type.
func (p *apiPackage) internalTypes() []string {
	aliases := map[string]string{}
	for _, file := range p.files {
		internal := internalImports(file)
		for _, s := range typeSpecs(file) {
			if used := usedTypes(s.Type, internal, nil); s.Assign != 0 && !s.Name.IsExported() && len(used) > 0 {
				aliases[s.Name.Name] = used[0]
			}
		}
	}
	var found []string
	for _, file := range p.files {
		internal := internalImports(file)
		check := func(name string, nodes ...ast.Node) {
			for _, n := range nodes {
				for _, used := range usedTypes(n, internal, aliases) {
					found = append(found, fmt.Sprintf("%s.%s: %s", p.dir, name, used))
				}
			}
		}
		for _, d := range file.Decls {
			if d, ok := d.(*ast.FuncDecl); ok && d.Name.IsExported() {
				if recv := receiverName(d); recv == "" {
					check(d.Name.Name, d.Type)
				} else if ast.IsExported(recv) {
					check(recv+"."+d.Name.Name, d.Type)
				}
			}
		}
		for _, s := range typeSpecs(file) {
			if s.Name.IsExported() {
				check(s.Name.Name, visible(s)...)
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// internalImports returns the names by which a file uses internal packages of this module.
func internalImports(file *ast.File) map[string]bool {
	names := map[string]bool{}
	for _, spec := range file.Imports {
		path := strings.Trim(spec.Path.Value, `"`)
		if !strings.HasPrefix(path, module) || !strings.Contains(path, "/internal/") {
			continue
		}
		if spec.Name != nil {
			names[spec.Name.Name] = true
		} else {
			names[path[strings.LastIndexByte(path, '/')+1:]] = true
		}
	}
	return names
}

// usedTypes returns the types of internal packages that an expression names.
func usedTypes(node ast.Node, internal map[string]bool, aliases map[string]string) (used []string) {
	ast.Inspect(node, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field: // the names of fields and parameters are not types
			used = append(used, usedTypes(n.Type, internal, aliases)...)
			return false
		case *ast.SelectorExpr:
			if id, ok := n.X.(*ast.Ident); ok && internal[id.Name] {
				used = append(used, id.Name+"."+n.Sel.Name)
			}
			return false
		case *ast.Ident:
			if t := aliases[n.Name]; t != "" {
				used = append(used, t)
			}
		}
		return true
	})
	return used
}

func typeSpecs(file *ast.File) (specs []*ast.TypeSpec) {
	for _, d := range file.Decls {
		if d, ok := d.(*ast.GenDecl); ok && d.Tok == token.TYPE {
			for _, s := range d.Specs {
				specs = append(specs, s.(*ast.TypeSpec))
			}
		}
	}
	return specs
}

// visible returns what users see of a type: all of it, or the exported and embedded fields of
// a struct.
func visible(s *ast.TypeSpec) (nodes []ast.Node) {
	fields, ok := s.Type.(*ast.StructType)
	if !ok {
		return []ast.Node{s.Type}
	}
	for _, f := range fields.Fields.List {
		if len(f.Names) == 0 || slices.ContainsFunc(f.Names, (*ast.Ident).IsExported) {
			nodes = append(nodes, f)
		}
	}
	return nodes
}

// receiverName returns the receiver type of a method.
func receiverName(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return ""
	}
	typ := d.Recv.List[0].Type
	for {
		switch t := typ.(type) {
		case *ast.StarExpr:
			typ = t.X
		case *ast.IndexExpr:
			typ = t.X
		case *ast.IndexListExpr:
			typ = t.X
		case *ast.Ident:
			return t.Name
		default:
			return "?"
		}
	}
}

// TestAPIFindsInternalTypes checks that no form of use of an internal type is missed.
func TestAPIFindsInternalTypes(t *testing.T) {
	const src = `package p

import (
	"net/http"

	"` + module + `/internal/jsonio"
	other "` + module + `/x/internal/tape"
)

type hidden = jsonio.Dec

type (
	Alias = other.File
	Fields struct {
		Exported []map[string]*other.File
		jsonio.Buf
		private other.Secret
	}
	Iface interface{ M(hidden) }
	Plain struct{ http.Handler }
)

func F(dec func(*jsonio.Dec)) {}
func (f *Fields) M() (jsonio http.Handler, err error) { return nil, nil }
func (f Generic[T]) N(hidden) {}
func (f *unexported) F(jsonio.Dec) {}
func unexported2(jsonio.Dec) {}

type Generic[T any] struct{}
type unexported struct{}
`
	p := &apiPackage{dir: "p", fset: token.NewFileSet()}
	file, err := parser.ParseFile(p.fset, "p.go", src, 0)
	if err != nil {
		t.Fatal(err)
	}
	p.files = []*ast.File{file}
	want := []string{"p.Alias: other.File", "p.F: jsonio.Dec", "p.Fields: jsonio.Buf", "p.Fields: other.File", "p.Generic.N: jsonio.Dec", "p.Iface: jsonio.Dec"}
	if diff := cmp.Diff(want, p.internalTypes()); diff != "" {
		t.Errorf("uses of internal types (-want +got):\n%s", diff)
	}
}
