package scorers

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
	"github.com/looptape/looptape/trace/importer"
)

// callsOf is a run that made these calls, as in `find {"q":1}; read`.
func callsOf(text string) *importer.Run {
	m := llm.Assistant()
	for call := range strings.SplitSeq(text, "; ") {
		name, args, _ := strings.Cut(call, " ")
		if name != "" {
			m.Parts = append(m.Parts, llm.ToolCall{Name: name, Arguments: args})
		}
	}
	return &importer.Run{Messages: []llm.Message{llm.User("Go"), m}}
}

// expectCalls sets the expected calls of a run, in the same notation.
func expectCalls(run *importer.Run, text string) *importer.Run {
	run.Expected.Calls = []importer.Call{}
	for _, p := range callsOf(text).Messages[1].Parts {
		if c, ok := p.(llm.ToolCall); ok {
			run.Expected.Calls = append(run.Expected.Calls, importer.Call{Name: c.Name, Arguments: json.RawMessage(c.Arguments), Turn: importer.NoTurn})
			if c.Arguments == "" {
				run.Expected.Calls[len(run.Expected.Calls)-1].Arguments = nil
			}
		}
	}
	return run
}

func TestCalled(t *testing.T) {
	for _, c := range []struct{ kind, settings, calls, want string }{
		{"called", `{"tools":{"a":{}}}`, "a; b; a", "1 2 of a"},
		{"called", `{"tools":{"a":{},"c":{}}}`, "a; b; a", "0 want 1 or more of c, got 0"},
		{"called", `{"tools":{"a":{"max":1}}}`, "a; b; a", "0 want 1 of a, got 2"},
		{"called", `{"tools":{"a":{"min":2,"max":3}}}`, "a", "0 want 2 to 3 of a, got 1"},
		{"called", `{"tools":{"a":{"min":2,"max":3}}}`, "a; a; a", "1 "},
		{"called", `{"tools":{"a":{"max":0}}}`, "b", "1 0 of a"},
		{"called", `{"tools":{"a":{"max":0},"b":{"min":0,"max":0}}}`, "a; b", "0 want 0 of a, got 1; want 0 of b, got 1"},
		{"called", `{"tools":{"a":{"min":0},"b":{"max":2}}}`, "b; b", "1 0 of a, 2 of b"},
		{"not_called", `{"tools":["a","c"]}`, "b", "1 not called"},
		{"not_called", `{"tools":["a","c"]}`, "b; c; c", "0 want 0 of c, got 2"},
		{"not_called", ``, "", "1 "},
		{"not_called", ``, "b; a", "0 want 0 of a, got 1; want 0 of b, got 1"},
	} {
		wantPrefix(t, c.kind+" "+c.settings+" "+c.calls, scoreText(t, c.kind, c.settings, callsOf(c.calls)), c.want)
	}
}

func TestTrajectory(t *testing.T) {
	for _, c := range []struct{ want, calls, holds string }{
		{"a; b", "a; b", "exact in_order any_order superset subset unordered"},
		{"a; b", "b; a", "any_order superset subset unordered"},
		{"a; b", "a; x; b", "in_order any_order superset"},
		{"a; b", "b; x; a", "any_order superset"},
		{"a; b", "b", "subset"},
		{"a; b", "b; b", ""},
		{"b; b", "b", "subset"},
		{"", "", "exact in_order any_order superset subset unordered"},
		{"", "a", "in_order any_order superset"},
		{"a", "", "subset"},
		// The first call takes the only place of the second unless the best pairs are found.
		{`a; a {"x":1}`, `a {"x":1}; a {"x":2}`, "any_order superset subset unordered"},
	} {
		for _, order := range []string{"exact", "in_order", "any_order", "superset", "subset", "unordered"} {
			want := "0 "
			if strings.Contains(" "+c.holds+" ", " "+order+" ") {
				want = "1 "
			}
			run := expectCalls(callsOf(c.calls), c.want)
			wantPrefix(t, order+" of "+c.want+" and "+c.calls, scoreText(t, "trajectory", `{"order":"`+order+`"}`, run), want)
		}
		wantPrefix(t, "the usual order is exact", scoreText(t, "trajectory", ``, expectCalls(callsOf(c.calls), c.want)), scoreText(t, "trajectory", `{"order":"exact"}`, expectCalls(callsOf(c.calls), c.want)))
	}
}

func TestTrajectorySettings(t *testing.T) {
	for _, c := range []struct{ settings, want, calls, score string }{
		{``, `a {"x":1,"y":{"p":1,"q":2}}`, `a {"y":{"q":2.0,"p":1e0},"x":1}`, `1 a{"x":1,`},
		{``, `a {"x":1}`, `a {"x":1,"y":2}`, `0 a /y: want nothing, got 2; want a{"x":1}; got a{"x":1,"y":2}`},
		{``, `a {}`, `a`, `1 `},
		{``, `a {}`, `a [1]`, `0 missing a{}; unexpected a(no JSON object); want a{}; got a(no JSON object)`},
		{``, `a`, `a [1]`, `1 `},
		{``, `a {"x":1}`, `a {"x":`, `0 `},
		{``, `a [1]`, `a [1]`, `error: the expected arguments of "a" are not a JSON object: "[1]"`},
		{`{"arguments":"subset"}`, `a {"x":1}`, `a {"x":1,"y":2}`, `1 `},
		{`{"arguments":"subset"}`, `a {"x":1,"y":2}`, `a {"x":1}`, `0 `},
		{`{"arguments":"ignore"}`, `a {"x":1}`, `a {"x":`, `1 `},
		{`{"arguments":"ignore"}`, `a {"x":1}`, `b {"x":1}`, `0 `},
		{`{"ignore":{"a":["/x","/l/*/id"]}}`, `a {"x":1,"l":[{"id":1}]}`, `a {"l":[{"id":2}]}`, `1 `},
		{`{"ignore":{"a":["/x"]}}`, `b {"x":1}`, `b {"x":2}`, `0 `},
		{`{"ignore":{"*":["/x"]}}`, `b {"x":1}`, `b {"x":2}`, `1 `},
		{`{"defaults":{"a":{"x":1,"y":{"z":1}}},"ignore":{"a":["/y/z"]}}`, `a {"x":1.0,"y":{}}`, `a {}`, `1 `},
		{`{"defaults":{"a":{"x":1}}}`, `a {"x":2}`, `a {}`, `0 `},
		{`{"defaults":{"a":{"x":1}}}`, `a {"x":2}`, `a {"x":2}`, `1 `},
		{`{"expected":[{"name":"a"},{"name":"b","arguments":{"x":1}}]}`, `c`, `a {"y":1}; b {"x":1}`, `1 `},
		{`{"expected":[]}`, `c`, `c`, `0 unexpected c{}; want no calls; got c{}`},
		{`{"expected":[]}`, `c`, ``, `1 no calls`},
		{``, `a`, `a; b; b`, `0 unexpected b{}; unexpected b{}; want a; got a{}, b{}, b{}`},
		{``, `b`, strings.Repeat("a; ", 30) + "a", "0 missing b; " + strings.Repeat("unexpected a{}; ", 19) + "and 12 more; want b; got " + strings.Repeat("a{}, ", 30) + "and 1 more"},
		{``, `a; b`, strings.Repeat("a; ", 200) + "c", "0 want a, b; got " + strings.Repeat("a{}, ", 30) + "and 171 more"},
		{``, `a {}; b {"x":1}`, `b {"x":1}; a`, `0 a{} in another order; want a{}, b{"x":1}; got b{"x":1}, a{}`},
		{`{"order":"in_order"}`, `a {"x":1}`, `c; a {"x":2}`, `0 a /x: want 1, got 2; want a{"x":1}; got c{}, a{"x":2}`},
		{`{"arguments":"subset"}`, `a {"x":1}`, `a {"x":2,"y":2}`, `0 a /x: want 1, got 2; want`},
		{``, `a {"x":"` + strings.Repeat("l", 400) + `R"}`, `a {"x":"` + strings.Repeat("l", 400) + `S"}`, `0 a /x: want …` + strings.Repeat("l", 60) + `R", got …` + strings.Repeat("l", 60) + `S"; want a{"x":"`},
	} {
		wantPrefix(t, c.settings+" "+c.want+" and "+c.calls, scoreText(t, "trajectory", c.settings, expectCalls(callsOf(c.calls), c.want)), c.score)
	}
	wantPrefix(t, "no text", scoreText(t, "trajectory", ``, callsOf("a")), "error: expected calls missing")
	wantPrefix(t, "no text", scoreText(t, "call_match", ``, callsOf("a")), "error: expected calls missing")
}

func TestCallMatch(t *testing.T) {
	for _, c := range []struct{ settings, want, calls, score string }{
		{`{"measure":"precision"}`, "a; b; c", "a; x; c; a", "0.5 2 right of 4 calls, 3 expected; missing b; unexpected a{}; unexpected x{}"},
		{`{"measure":"recall"}`, "a; b; c; d", "a; x; c", "0.5 2 right of 3 calls, 4 expected; missing b; missing d"},
		{`{"measure":"f1"}`, "a; b; c", "a", "0.5 "},
		{``, "a; b; c", "a", "0.5 "},
		{``, "a; b", "b; a", "1 "},
		{`{"ordered":true}`, "a; b", "b; a", "0.5 1 right"},
		{`{"ordered":true}`, "a; b; c", "a; x; c; b; c", "0.75 3 right"},
		{``, "", "", "1 "},
		{`{"measure":"precision"}`, "a", "", "0 "},
		{`{"measure":"recall"}`, "", "a", "0 "},
		{`{"measure":"precision"}`, "", "a", "0 "},
		{`{"partial":true,"measure":"recall"}`, `a {"x":1,"y":2,"z":3}`, `a {"x":1,"y":2,"w":4}`, "0.5 0.5 right"},
		{`{"partial":true,"arguments":"subset"}`, `a {"x":1,"y":2,"z":3}`, `a {"x":1,"w":4}`, "0.3333333333333333 0.33 right of 1 calls, 1 expected; a /y: want 2, got nothing; /z: want 3, got nothing"},
		{``, `a {"x":1,"y":2}`, `a {"x":1}`, "0 "},
		// Taking the call that fits best for the first expected comes to 1 in all.
		{`{"partial":true,"measure":"recall"}`, `a {"x":1,"y":1,"z":1,"w":1}; a {"x":1,"y":1,"z":1,"w":2}`, `a {"x":1,"y":1,"z":1,"w":3}; a {"x":1,"y":2,"z":2,"w":1}`, "0.625 1.25 right"},
	} {
		wantPrefix(t, c.settings+" "+c.want+" and "+c.calls, scoreText(t, "call_match", c.settings, expectCalls(callsOf(c.calls), c.want)), c.score)
	}
}

func TestArgSchema(t *testing.T) {
	const schemas = `{"schemas":{"a":{"type":"object","properties":{"x":{"type":"integer"}},"required":["x"]}}}`
	for _, c := range []struct{ calls, want string }{
		{`a {"x":1}; b {"y":2}`, "1 1 of 2 calls follow their schema"},
		{`a {"x":"1"}; a {"x":1}; a`, "0 a: validating"},
		{`a {"x":`, "0 a: unexpected end of JSON input"},
		{``, "1 0 of 0 calls"},
		{`b`, "error: no schema for any called tool"},
	} {
		wantPrefix(t, c.calls, scoreText(t, "arg_schema", schemas, callsOf(c.calls)), c.want)
	}
	traced := &importer.Run{Events: []trace.Event{
		{Body: trace.ModelConfig{Tools: []llm.Tool{{Name: "a", Parameters: json.RawMessage(`{"required":["y"]}`)}, {Name: "b"}}}},
		{Body: trace.ModelResponse{Message: callsOf(`a {"x":1}; b {}`).Messages[1]}},
	}}
	wantPrefix(t, "of the trace", scoreText(t, "arg_schema", ``, traced), "0 a: validating")
	wantPrefix(t, "of the settings first", scoreText(t, "arg_schema", schemas, traced), "1 1 of 2")
	traced.Events[0].Body = trace.ModelConfig{Tools: []llm.Tool{{Name: "a", Parameters: json.RawMessage(`{"type":7}`)}}}
	wantPrefix(t, "no schema", scoreText(t, "arg_schema", ``, traced), `error: the schema of the tool "a"`)
}

// Sets of ADK and of agentevals contain the expected calls: a run that makes them
// scores 1 by each order, and one that omits the first scores 1 only by subset.
func TestSetsOfADK(t *testing.T) {
	var files []string
	for _, pattern := range []string{"adk-eval/*/*.test.json", "adk-eval/*/test_files/*.test.json", "agentevals/eval_set*.json", "agentevals/evalset*.json", "agentevals/examples/*/eval_set.json"} {
		found, err := filepath.Glob(filepath.Join(sharedDir(t), "data", pattern))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	cases := 0
	for _, name := range files {
		for _, run := range readRuns(t, name) {
			if len(run.Expected.Calls) == 0 {
				continue
			}
			cases++
			made := llm.Assistant()
			for _, c := range run.Expected.Calls {
				made.Parts = append(made.Parts, llm.ToolCall{Name: c.Name, Arguments: string(c.Arguments)})
			}
			for _, order := range []string{"exact", "in_order", "any_order", "subset", "unordered"} {
				run.Messages = []llm.Message{made}
				wantPrefix(t, name+" "+order, scoreText(t, "trajectory", `{"order":"`+order+`"}`, &run), "1 ")
				run.Messages = []llm.Message{llm.Assistant(made.Parts[1:]...)}
				want := "0 "
				if order == "subset" {
					want = "1 "
				}
				wantPrefix(t, name+" "+order+" without a call", scoreText(t, "trajectory", `{"order":"`+order+`"}`, &run), want)
			}
		}
	}
	t.Logf("%d files, %d cases with calls", len(files), cases)
	if cases == 0 {
		t.Error("no case with calls was found")
	}
}

// read returns the runs of a recording.
func readRuns(t *testing.T, name string) (runs []importer.Run) {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	src, err := importer.Open(name, f)
	if err != nil {
		t.Fatal(err)
	}
	for run, err := range src.Runs() {
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, run)
	}
	return runs
}

// sharedDir is where the data sets are; without them the test is skipped.
func sharedDir(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("LOOPTAPE_SHARED")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared")
	}
	if _, err := os.Stat(filepath.Join(dir, "data")); err != nil {
		t.Skip("no folder shared next to the repository; set LOOPTAPE_SHARED to its path")
	}
	return dir
}
