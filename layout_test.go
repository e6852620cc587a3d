package looptape_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const module = "github.com/looptape/looptape"

// room is a row of the import table. A room whose name ends in /... stands for
// itself and for every room below it.
type room struct {
	name string
	// rooms may be imported, the rooms below one that ends in /... too.
	rooms []string
	// modules are the paths of third-party packages that may be imported, with
	// all below them.
	modules []string
}

const (
	yaml        = "go.yaml.in/yaml/v3"
	jsonschema  = "github.com/google/jsonschema-go"
	goCmp       = "github.com/google/go-cmp"
	gonum       = "gonum.org/v1/gonum"
	tableWriter = "github.com/olekukonko/tablewriter"
	zstd        = "github.com/klauspost/compress/zstd"
)

// table says which room may import which: `all` where everything may be. What
// is not here must not be on disk, and an import that is not here must not be
// in the code.
var table = []room{
	{name: "internal/bubble"},
	{name: "internal/child"},
	{name: "internal/decompress", modules: []string{zstd}},
	{name: "internal/jsonio"},
	{name: "internal/lockfile", modules: []string{"golang.org/x/sys"}},
	{name: "internal/markdown"},
	{name: "internal/parquet"},
	{name: "internal/sse"},
	{name: "internal/slab"},
	{name: "internal/suggest"},
	{name: "llm", rooms: []string{"internal/jsonio", "internal/slab"}},
	{name: "llm/llmtest", rooms: []string{"internal/bubble", "llm"}},
	{name: "trace", rooms: []string{"internal/jsonio", "llm"}, modules: []string{"github.com/cespare/xxhash/v2"}},
	{name: "trace/check", rooms: []string{"internal/jsonio", "llm", "trace", "trace/check/internal/..."}},
	{name: "trace/check/internal/echo", rooms: []string{"internal/jsonio", "llm"}},
	{name: "trace/check/internal/idtable"},
	{name: "trace/importer", rooms: []string{"internal/decompress", "internal/jsonio", "llm", "trace", "providers/...", "cassettes/...", "trace/importer/internal/..."}, modules: []string{zstd}},
	{name: "trace/importer/internal/format", rooms: []string{"internal/jsonio", "llm", "trace/importer/internal/message", "trace/importer/internal/tree"}},
	{name: "trace/importer/internal/message", rooms: []string{"internal/jsonio", "llm", "trace/importer/internal/tree"}},
	{name: "trace/importer/internal/tree", rooms: []string{"internal/jsonio"}},
	{name: "trace/watch", rooms: []string{"internal/jsonio", "llm", "trace/check", "providers/..."}, modules: []string{"github.com/tidwall/gjson", "github.com/tidwall/sjson"}},
	{name: "loop", rooms: []string{"internal/jsonio", "internal/slab", "llm", "loop/internal/...", "trace"}, modules: []string{jsonschema}},
	{name: "loop/internal/...", rooms: []string{"internal/jsonio", "llm"}, modules: []string{jsonschema}},
	{name: "loop/layers", rooms: []string{"llm"}},
	{name: "loop/history", rooms: []string{"llm", "loop/layers"}},
	{name: "loop/orchestrate", rooms: []string{"llm", "loop", "loop/history", "loop/layers", "loop/middleware"}},
	{name: "loop/looptest", rooms: []string{"internal/bubble", "llm", "trace", "trace/check", "fake"}, modules: []string{goCmp}},
	{name: "loop/scenario", rooms: []string{"internal/jsonio", "internal/suggest", "llm", "trace", "loop", "loop/files", "loop/middleware/...", "loop/preset/...", "fake"}, modules: []string{yaml, "golang.org/x/tools/txtar"}},
	{name: "loop/files"},
	{name: "loop/middleware/...", rooms: []string{"internal/jsonio", "llm", "trace", "loop", "loop/files", "loop/history", "loop/middleware/..."}, modules: []string{jsonschema}},
	{name: "loop/uistream", rooms: []string{"llm", "trace", "loop/preset/dialect"}},
	{name: "loop/preset/...", rooms: []string{"internal/jsonio", "llm", "trace", "loop", "loop/files", "loop/history", "loop/layers", "loop/middleware/...", "loop/preset/...", "loop/uistream"}},
	{name: "providers/internal/wirejson", rooms: []string{"internal/jsonio"}},
	{name: "providers/protocol", rooms: []string{"internal/sse", "llm"}},
	{name: "providers/openai/...", rooms: []string{"internal/jsonio", "internal/sse", "llm", "providers/protocol", "providers/internal/wirejson", "providers/openai/..."}},
	{name: "providers/...", rooms: []string{"internal/jsonio", "internal/sse", "llm", "providers/protocol", "providers/internal/wirejson"}},
	{name: "fake", rooms: []string{"internal/jsonio", "internal/suggest", "llm"}, modules: []string{yaml, goCmp}},
	{name: "fake/wire", rooms: []string{"internal/sse", "llm", "trace/check", "trace/watch", "fake", "fake/wire/internal/...", "providers/..."}, modules: []string{"github.com/tidwall/gjson"}},
	{name: "fake/wire/internal/reply", rooms: []string{"internal/jsonio", "internal/sse", "llm", "fake", "providers/..."}, modules: []string{"github.com/tidwall/gjson", "github.com/tidwall/sjson"}},
	{name: "fake/wire/internal/quirk", rooms: []string{"internal/jsonio", "llm", "fake", "fake/wire/internal/reply", "providers/openai/..."}, modules: []string{"github.com/tidwall/gjson"}},
	{name: "fake/wire/internal/strict", rooms: []string{"internal/jsonio", "llm", "trace/watch", "fake", "fake/wire/internal/reply", "providers/..."}},
	{name: "cassettes/recording"},
	{name: "cassettes/internal/tape", rooms: []string{"internal/jsonio", "internal/lockfile", "cassettes/recording"}},
	{name: "cassettes/internal/match", rooms: []string{"internal/jsonio", "cassettes/recording", "cassettes/internal/tape"}, modules: []string{"github.com/cespare/xxhash/v2"}},
	{name: "cassettes/redact", rooms: []string{"internal/jsonio", "internal/slab", "cassettes/recording", "cassettes/internal/tape", "cassettes/internal/match"}},
	{name: "cassettes", rooms: []string{"cassettes/recording", "cassettes/internal/...", "cassettes/redact"}},
	{name: "cassettes/convert", rooms: []string{"internal/jsonio", "cassettes", "cassettes/redact", "cassettes/internal/..."}, modules: []string{yaml}},
	{name: "evals/stats", modules: []string{gonum}},
	{name: "evals/...", rooms: []string{"internal/child", "internal/decompress", "internal/jsonio", "internal/suggest", "internal/markdown", "internal/parquet", "llm", "trace", "trace/check", "trace/importer", "loop", "fake", "cassettes", "evals/..."}, modules: []string{gonum, jsonschema, yaml}},
	{name: "cmd/looptape/...", rooms: []string{all}, modules: []string{"github.com/spf13/cobra", "github.com/spf13/pflag", tableWriter, "github.com/mattn/go-isatty", yaml}},
}

const all = "..."

// Tests may use these rooms and modules too, in whatever room they stand.
var tests = room{
	rooms: []string{"internal/jsonio", "llm", "llm/llmtest", "trace", "trace/check", "trace/importer", "fake", "loop", "loop/looptest", "loop/history", "loop/layers", "loop/scenario", "loop/middleware/...", "loop/preset/..."},
	modules: []string{
		goCmp, jsonschema, yaml,
		"pgregory.net/rapid",
		"github.com/sebdah/goldie/v2",
		"go.uber.org/goleak",
		"github.com/rogpeppe/go-internal",
		"golang.org/x/tools/txtar",
		"github.com/dnaeon/go-vcr/v2",
	},
}

// listed is what `go list -json` says of a package.
type listed struct {
	ImportPath, Name                            string
	GoFiles, Imports, TestImports, XTestImports []string
}

func TestLayout(t *testing.T) {
	for _, p := range list(t) {
		if p.ImportPath == module {
			continue // tests of the whole, such as this one
		}
		name := strings.TrimPrefix(p.ImportPath, module+"/")
		row, ok := find(name)
		if !ok {
			t.Errorf("%s is not in the import table of layout_test.go: add a row that says what it may import", name)
			continue
		}
		for _, edge := range forbidden(row, name, p.Imports) {
			t.Error(edge)
		}
		row.rooms = slices.Concat(row.rooms, tests.rooms)
		row.modules = slices.Concat(row.modules, tests.modules)
		for _, edge := range forbidden(row, name, slices.Concat(p.TestImports, p.XTestImports)) {
			t.Error("in a test: " + edge)
		}
	}
}

// TestLayoutBites shows that the rules above refuse what they should.
func TestLayoutBites(t *testing.T) {
	row := room{name: "b/...", rooms: []string{"a", "c/..."}, modules: []string{"example.org/m"}}
	got := forbidden(row, "b/x", []string{
		"fmt", "net/http", "example.org/m", "example.org/m/sub", module + "/a", module + "/c", module + "/c/d", module + "/b/x",
		module + "/a/b", module + "/cc", module + "/b", module, "example.org/mm", "example.org",
	})
	want := []string{
		"b/x must not import a/b", "b/x must not import cc", "b/x must not import b",
		"b/x must not import " + module, "b/x must not import example.org/mm", "b/x must not import example.org",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("forbidden edges (-want +got):\n%s", diff)
	}
	for name, want := range map[string]bool{"llm": true, "llm/sub": false, "loop/preset": true, "loop/preset/deuz": true, "trace/checks": false} {
		if _, ok := find(name); ok != want {
			t.Errorf("find(%q) = %v, want %v", name, ok, want)
		}
	}
}

// forbidden returns a line for each import that the row does not allow. A
// room's own external tests import it.
func forbidden(row room, name string, imports []string) (edges []string) {
	for _, path := range imports {
		first, _, _ := strings.Cut(path, "/")
		ours, inside := strings.CutPrefix(path, module+"/")
		switch {
		case !strings.Contains(first, "."), // the standard library
			inside && (ours == name || slices.ContainsFunc(row.rooms, func(r string) bool { return covers(r, ours) })),
			!inside && slices.ContainsFunc(row.modules, func(m string) bool { return covers(m+"/...", path) }):
		default:
			edges = append(edges, fmt.Sprintf("%s must not import %s", name, ours))
		}
	}
	return edges
}

func find(name string) (room, bool) {
	i := slices.IndexFunc(table, func(r room) bool { return covers(r.name, name) })
	if i < 0 {
		return room{}, false
	}
	return table[i], true
}

// covers reports whether a pattern, a name or a name with /... at its end,
// covers a path.
func covers(pattern, path string) bool {
	if pattern == all {
		return true
	}
	base, open := strings.CutSuffix(pattern, "/...")
	return path == base || open && strings.HasPrefix(path, base+"/")
}

func list(t *testing.T) (packages []listed) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Name,GoFiles,Imports,TestImports,XTestImports", "./...")
	out, err := cmd.Output()
	if err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			t.Fatalf("%v: %v\n%s", cmd, err, exit.Stderr)
		}
		t.Fatalf("%v: %v", cmd, err)
	}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		switch err := dec.Decode(&p); {
		case errors.Is(err, io.EOF):
			return packages
		case err != nil:
			t.Fatalf("the output of %v: %v", cmd, err)
		}
		packages = append(packages, p)
	}
}
