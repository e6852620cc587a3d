// Command sizes prints the size of each package of a checkout as a Markdown table: files,
// lines, functions, mean lengths and exported names, all without tests.
//
//	go run ./cmd/sizes ..
package main

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
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

func (f *size) appendRow(out []byte, name string) []byte {
	return fmt.Appendf(out, "| %s | %d | %d | %d | %.1f | %.1f | %d |\n", name, f.files, f.lines, f.funcs,
		float64(f.funcLines)/float64(max(f.funcs, 1)), float64(f.bytes)/float64(max(f.lines, 1)), f.exported)
}

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("usage: sizes CHECKOUT")
	}
	if err := run(context.Background(), os.Args[1], os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, root string, stdout io.Writer) error {
	list, err := exec.CommandContext(ctx, "git", "-C", root, "ls-files", "*.go").Output()
	if err != nil {
		return fmt.Errorf("list files: %w", err)
	}
	packages := map[string]size{}
	for name := range strings.FieldsSeq(string(list)) {
		if strings.HasSuffix(name, "_test.go") || strings.Contains(name, "testdata/") {
			continue
		}
		f, err := measure(filepath.Join(root, name))
		if err != nil {
			return err
		}
		sum := packages[filepath.Dir(name)]
		sum.add(f)
		packages[filepath.Dir(name)] = sum
	}
	out := []byte("| package | files | lines | functions | lines per function | bytes per line | exported names |\n" +
		"| --- | --- | --- | --- | --- | --- | --- |\n")
	var all size
	for _, name := range slices.Sorted(maps.Keys(packages)) {
		f := packages[name]
		f.exported = exported(ctx, root, name)
		out = f.appendRow(out, name)
		all.add(f)
	}
	_, err = stdout.Write(all.appendRow(out, "all"))
	return err
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
func exported(ctx context.Context, root, dir string) int {
	for _, part := range []string{"internal", "cmd", "bench", "conformance", "contrib"} {
		if slices.Contains(strings.Split(dir, "/"), part) {
			return 0
		}
	}
	doc := exec.CommandContext(ctx, "go", "doc", "-short", "./"+dir)
	doc.Dir = root
	out, err := doc.Output()
	if err != nil {
		return 0
	}
	return strings.Count(string(out), "\n")
}
