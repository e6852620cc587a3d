// Command sizes prints the size of each package of a checkout as a Markdown table: files,
// lines, functions, mean lengths and exported names, all without tests.
//
//	go run ./cmd/sizes ..
package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"log"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// size has the sums of one package.
type size struct{ files, lines, bytes, funcs, funcLines, exported int }

func (f *size) add(g size) {
	f.files, f.lines, f.bytes = f.files+g.files, f.lines+g.lines, f.bytes+g.bytes
	f.funcs, f.funcLines, f.exported = f.funcs+g.funcs, f.funcLines+g.funcLines, f.exported+g.exported
}

func (f *size) print(name string) {
	fmt.Printf("| %s | %d | %d | %d | %.1f | %.1f | %d |\n", name, f.files, f.lines, f.funcs,
		float64(f.funcLines)/float64(max(f.funcs, 1)), float64(f.bytes)/float64(max(f.lines, 1)), f.exported)
}

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("usage: sizes CHECKOUT")
	}
	root := os.Args[1]
	out, err := exec.Command("git", "-C", root, "ls-files", "*.go").Output()
	if err != nil {
		log.Fatalf("list files: %v", err)
	}
	packages := map[string]size{}
	for _, name := range strings.Fields(string(out)) {
		if strings.HasSuffix(name, "_test.go") || strings.Contains(name, "testdata/") {
			continue
		}
		f, err := measure(filepath.Join(root, name))
		if err != nil {
			log.Fatal(err)
		}
		sum := packages[filepath.Dir(name)]
		sum.add(f)
		packages[filepath.Dir(name)] = sum
	}
	fmt.Println("| package | files | lines | functions | lines per function | bytes per line | exported names |")
	fmt.Println("| --- | --- | --- | --- | --- | --- | --- |")
	var all size
	for _, name := range slices.Sorted(maps.Keys(packages)) {
		f := packages[name]
		f.exported = exported(root, name)
		f.print(name)
		all.add(f)
	}
	all.print("all")
}

// measure counts the lines and functions of one file.
func measure(name string) (size, error) {
	src, err := os.ReadFile(name)
	if err != nil {
		return size{}, err
	}
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, src, parser.SkipObjectResolution)
	if err != nil {
		return size{}, err
	}
	f := size{files: 1, lines: strings.Count(string(src), "\n"), bytes: len(src)}
	for _, d := range file.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok {
			f.funcs++
			f.funcLines += files.Position(fn.End()).Line - files.Position(fn.Pos()).Line + 1
		}
	}
	return f, nil
}

// exported counts the lines of `go doc -short`; commands, internal packages and
// nested modules have no public names.
func exported(root, dir string) int {
	for _, part := range []string{"internal", "cmd", "bench", "conformance", "contrib"} {
		if slices.Contains(strings.Split(dir, "/"), part) {
			return 0
		}
	}
	doc := exec.Command("go", "doc", "-short", "./"+dir)
	doc.Dir = root
	out, err := doc.Output()
	if err != nil {
		return 0
	}
	return strings.Count(string(out), "\n")
}
