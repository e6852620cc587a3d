package looptape_test

import (
	"cmp"
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/preset"
	"github.com/looptape/looptape/trace"
)

// option is a row in which reference loops differ.
type option struct {
	name string // in a trace, if the loop has the option
	here string // how looptape implements it, in addition to the field of the option
	// otherwise is the value of a preset whose runs do not declare the option, if the
	// option has no default word.
	otherwise string
	// own are the presets that implement it outside loop.Config.
	own map[string]string
	// open is true if looptape has no such option yet. Then otherwise and own are the values
	// that the reference loops require.
	open bool
}

// matrix are the options of the reference loops. The field, the default and the values come
// from loop.Options and from the options that the runs of a preset declare.
var matrix = []option{
	{name: "max_steps"},
	{name: "cap_at"},
	{name: "on_cap", here: "`Result.StopReason` reports it"},
	{name: "min_one_call", here: "`Config.MaxSteps` below 1; follows from `Config.CheckLimitBeforeStep` and `Config.OnStepLimit`", otherwise: "1 call", own: map[string]string{"agentier": "none", "reactagent": "the forced one"}},
	{name: "continue_on", here: "no option: calls alone decide ([INV-11](invariants.md))", otherwise: "tool_calls"},
	{name: "stop_when", otherwise: "-"},
	{name: "token_budget", otherwise: "-"},
	{name: "deadline", here: "`Config.DeadlineReturns`", otherwise: "-"},
	{name: "tool_timeout", otherwise: "-"},
	{name: "late_results"},
	{name: "concurrency"},
	{name: "result_order", here: "no option: that of the calls ([INV-03](invariants.md))", otherwise: "call"},
	{name: "tool_message"},
	{name: "assistant_append"},
	{name: "error_text", here: "`Config.OmitErrorFlag`", otherwise: "the error's", own: map[string]string{"agentier": "`Error: …`, no flag", "reactagent": "`{\"error\": …}`"}},
	{name: "bad_args", here: "`middleware.Repair`", own: map[string]string{"deepagents": "repair"}},
	{name: "unknown_tool"},
	{name: "same_tool_error_stop", here: "`Config.ResetByAbsence`", otherwise: "0"},
	{name: "duplicate_round", here: "`Config.MaxDuplicateSteps`"},
	{name: "client_tools", here: "a tool without `Tool.Run`"},
	{name: "gates", here: "the order of `Config.Middleware`: `Hooks.BeforeTools`, then the nest of `Hooks.WrapTool`", otherwise: "lookup, validate", own: map[string]string{"agentloop": "hook, lookup, policy, approval", "deepagents": "lookup, validate, repair", "reactagent": "lookup, validate, person, nest"}},
	{name: "approval", here: "`middleware.Approvals`, `middleware.HumanInTheLoop`", otherwise: "-", own: map[string]string{"agentloop": "suspends; denies", "reactagent": "asks and waits"}},
	{name: "guardrails", here: "`middleware.Guardrails`", otherwise: "-", own: map[string]string{"agentloop": "in, out"}},
	{name: "prepare_step", here: "`Hooks.BeforeStep`, `StepChange.Tools`, `middleware.Handoff`", otherwise: "-", own: map[string]string{"agentloop": "registry", "deepagents": "per step, handoff", "reactagent": "`BeforeStep`"}},
	{name: "end_hook", here: "`Hooks.AfterModel` with `trace.Continue`, `middleware.PrepareEnd`", otherwise: "-", own: map[string]string{"deepagents": "`PrepareEnd`"}},
	{name: "result_messages", here: "`Result.Messages`; the whole: `loop.Continue`", otherwise: "new", own: map[string]string{"agentier": "all", "agentloop": "its history", "reactagent": "its thread"}},
	{name: "failure", here: "the error of `Run.Wait`, the last of `Run.Events`", otherwise: "an error", own: map[string]string{"agentier": "an error with a code", "agentloop": "a report", "reactagent": "false, and an event"}},
	{name: "stop", here: "`Run.Stop`; cancel: the context", otherwise: "cancel", own: map[string]string{"agentloop": "stop, cancel"}},
	{name: "retry", here: "`Config.Retry`", otherwise: "-", own: map[string]string{"agentier": "`Retries(…)`"}},
	{name: "output_schema", here: "`middleware.NewOutput`, `middleware.OutputOf`; output_retries: the number of further model calls", otherwise: "-", own: map[string]string{"agentier": "`RunFor`", "deepagents": "`Output`"}},
	{name: "compaction", here: "`middleware.Summarizer`, `middleware.KeepLast`", otherwise: "-", own: map[string]string{"agentloop": "`SpliceRange`", "reactagent": "summaries, `Compact`"}},
	{name: "memory", here: "`middleware.Variables`, `history.Snapshot`; snapshot: `agentloop.Snapshot`", otherwise: "-", own: map[string]string{"agentloop": "dump, restore", "deepagents": "variables", "reactagent": "threads"}},
	{name: "message_log", here: "`middleware.LogMessages`", otherwise: "-", own: map[string]string{"reactagent": "`Log`"}},
	{name: "event_dialect", here: "a preset's own events, made of the run's", own: map[string]string{"deuz": "`deuz.Parts`", "agentier": "callbacks", "deepagents": "`Parts`, UI messages", "agentloop": "step events, hooks", "reactagent": "`Parts`"}},
	{name: "step_type_names", here: "`Step.Type`", otherwise: "-", own: map[string]string{"deuz": "initial, tool-result", "agentloop": "initial, tool_followup"}},
	{name: "running_guard", here: "`middleware.SingleRun`", otherwise: "no", own: map[string]string{"agentloop": "its own"}},
	{name: "call_order"},
	{name: "gate_mode", here: "with `Config.Concurrency` 1"},
	{name: "stop_default", here: "`deepagents.Fill` sets no `Config.MaxSteps` with `Config.StopWhen`", otherwise: "added", own: map[string]string{"deepagents": "replace"}},
	{name: "cache_mark", here: "`llm.SystemPart.CacheMark`, set by `Hooks.BeforeStep`; `agentloop.Settings.Cache`", otherwise: "none", own: map[string]string{"agentloop": "after_stable_prefix"}},
	{name: "model_session", here: "whether a session with the model lasts for a call or for a run", otherwise: "per call", own: map[string]string{"reactagent": "per run"}, open: true},
}

// tableRow returns the row with the name, the implementation and the default of loop.Options
// if the loop has the option, and the names of its values.
func (o option) tableRow() (row option, values map[string]string) {
	values = map[string]string{}
	if o.open {
		o.here = "*open*: " + o.here
	}
	for _, x := range loop.Options() {
		if x.Declared != o.name {
			continue
		}
		o.name = x.Name
		o.here = strings.TrimSuffix("`Config."+x.Field+"`, "+o.here, ", ")
		for _, v := range x.Values {
			values[v[1]] = v[0]
		}
		if len(x.Values) > 1 {
			o.otherwise = cmp.Or(o.otherwise, x.Values[0][0])
		}
	}
	return o, values
}

// matrixRows returns the table of the options.
func matrixRows(t *testing.T) string {
	t.Helper()
	names := preset.Names()
	declared := map[string]trace.Options{}
	for _, name := range names {
		declared[name] = declares(t, name)
	}
	var table [][]string
	for _, o := range matrix {
		row, values := o.tableRow()
		line := []string{"`" + row.name + "`", row.here}
		for _, name := range names {
			value, isDeclared := declared[name].Lookup(o.name)
			own := o.own[name]
			if isDeclared && own != "" {
				t.Errorf("%s: %s declares %s, and the matrix has %s", o.name, name, value, own)
			}
			cell := cmp.Or(values[value], value, own, row.otherwise)
			if cell == "" {
				t.Errorf("%s: missing value for %s", o.name, name)
			}
			line = append(line, cell)
		}
		table = append(table, line)
	}
	return markdown(append([]string{"option", "looptape"}, names...), table)
}

// declares returns the options that a run of a preset declares in its trace.
func declares(t *testing.T, name string) trace.Options {
	t.Helper()
	cfg, err := preset.Apply(name, loop.Config{})
	if err != nil {
		t.Fatal(err)
	}
	var mem trace.Memory
	cfg.Sink = &mem
	agent, err := loop.New(fake.NewModel(fake.Response{Text: "x"}), &cfg)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := agent.Run(context.Background(), loop.Prompt("go")); err != nil {
		t.Fatal(err)
	}
	return mem.Events()[0].Body.(trace.RunStart).Options
}

var goName = regexp.MustCompile("`([A-Za-z]+)\\.([A-Z][A-Za-z]*)`")

// TestMatrix checks that the matrix has all 40 options of the contract files, one of which has two rows, that open options
// do not exist and that the Go names in it do.
func TestMatrix(t *testing.T) {
	if len(matrix) != 41 {
		t.Errorf("got %d rows, want 41", len(matrix))
	}
	for _, o := range matrix {
		if row, values := o.tableRow(); o.open && (row.name != o.name || len(values) > 0) {
			t.Errorf("%s: the loop has this option: remove open", o.name)
		}
	}
	packages := map[string]map[string]bool{}
	for name, dir := range map[string]string{"loop": "loop", "middleware": "loop/middleware", "history": "loop/history", "agentloop": "loop/preset/agentloop", "deepagents": "loop/preset/deepagents", "trace": "trace"} {
		packages[name] = declaredIn(t, os.DirFS("."), dir)
	}
	for _, o := range matrix {
		row, _ := o.tableRow()
		for _, m := range goName.FindAllStringSubmatch(row.here, -1) {
			in, name := packages[m[1]], m[2]
			if in == nil {
				in, name = packages["loop"], m[1]+"."+m[2]
			}
			if !in[name] {
				t.Errorf("%s: unknown name %s.%s", o.name, m[1], m[2])
			}
		}
	}
}

// declaredIn returns the names that the packages of a folder declare, without those of
// test files: see declared.
func declaredIn(t *testing.T, root fs.FS, dir string) map[string]bool {
	t.Helper()
	files, err := fs.Glob(root, dir+"/*.go")
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		src, err := fs.ReadFile(root, name)
		if err != nil {
			t.Fatal(err)
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, src, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		addDeclared(names, file)
	}
	return names
}

// addDeclared adds the names of the file's functions, methods, types, constants and
// variables. It adds a method as Method and as Type.Method, and a field as Type.Field.
func addDeclared(names map[string]bool, file *ast.File) {
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			names[d.Name.Name] = true
			names[receiverName(d)+"."+d.Name.Name] = true
		case *ast.GenDecl:
			for _, s := range d.Specs {
				addSpec(names, s)
			}
		}
	}
}

func addSpec(names map[string]bool, s ast.Spec) {
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

func TestDeclaredIn(t *testing.T) {
	names := declaredIn(t, fstest.MapFS{
		"a/a.go": {Data: []byte(`package a
import "fmt"
type T struct{ field int }
func (t *T) Method() { local := 1; fmt.Println(local) }
func Func() {}
const One, Two = 1, 2
var V int
`)},
		"a/a_test.go": {Data: []byte("package a\nfunc Test() {}\n")},
		"a/notes.md":  {Data: []byte("# Notes\n")},
		"b/b.go":      {Data: []byte("package b\nfunc Other() {}\n")},
	}, "a")
	for _, name := range []string{"T", "T.field", "Method", "T.Method", "Func", "One", "Two", "V"} {
		if !names[name] {
			t.Errorf("declaredIn misses %q", name)
		}
	}
	for _, name := range []string{"", "field", "local", "fmt", "Test", "Other", "T.Other"} {
		if names[name] {
			t.Errorf("declaredIn returns %q", name)
		}
	}
}
