package scorers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/looptape/looptape/evals"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/importer"
)

// shell returns the settings of a program that is a script, with more arguments as $1 ….
func shell(t *testing.T, script string, metrics ...string) programSettings {
	t.Helper()
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("there is no sh: ", err)
	}
	return programSettings{Command: []string{"sh", "-c", script}, Metrics: metrics}
}

// programSays returns the scores of a program for a run, one per line.
func programText(t *testing.T, s programSettings, run *importer.Run) string {
	t.Helper()
	scorer, err := newScorer("m", s)
	if err != nil {
		t.Fatal(err)
	}
	return describeScores(scorer.Score(t.Context(), run))
}

// describeScores returns scores, one per line.
func describeScores(scores []evals.Score) string {
	var lines []string
	for _, s := range scores {
		text := fmt.Sprint(s.Metric, " ", s.Value, " ", s.Explanation)
		if s.Err != nil {
			text = s.Metric + " error: " + s.Err.Error()
		}
		lines = append(lines, strings.TrimSpace(text))
	}
	return strings.Join(lines, "\n")
}

func TestProgram(t *testing.T) {
	for answer, want := range map[string]string{
		`{"score":1}`:                             "m 1",
		`{"score":-0.5,"explanation":"why"}`:      "m -0.5 why",
		" {\n \"score\" : 1e3\n}\n\n":             "m 1000",
		`{"score":null}`:                          "",
		`{"score":0,"explanation":"<b>&é"}`:       "m 0 <b>&é",
		`{"score":0,"findings":["r2","r1","r2"]}`: "m 0",
		`{"score":0,"findings":{"m":["r1"]}}`:     `m error: invalid output of the program: findings of "m" without a score`,
		`{"score":0,"findings":"r1"}`:             "m error: invalid output of the program: want JSON",
		`{"error":"no key"}`:                      "m error: the program reported: no key",
		`{"error":"no key","score":1}`:            "m error: the program reported: no key",
		``:                                        `m error: invalid output of the program: want JSON such as {"score": 1}: there is nothing, in ""`,
		`NaN`:                                     `m error: invalid output of the program: want JSON such as {"score": 1}: invalid character 'N' looking for beginning of value, in "NaN"`,
		`{"score":NaN}`:                           `m error: invalid output of the program: want JSON such as {"score": 1}: invalid character 'N'`,
		`{"score":1} {"score":1}`:                 `m error: invalid output of the program: want JSON such as {"score": 1}: unexpected data after the value`,
		`{"score":1,"why":"x"}`:                   `m error: invalid output of the program: want JSON such as {"score": 1}: json: unknown field "why"`,
		`[1]`:                                     `m error: invalid output of the program: want JSON such as {"score": 1}: expected an object, found array`,
		`{"score":"1"}`:                           `m error: invalid output of the program: the score is not a number: "\"1\""`,
		`{"score":1e999}`:                         `m error: invalid output of the program: the score is not a number: "1e999"`,
		`{}`:                                      "m error: invalid output of the program: want a score or an error: scores by name need the setting metrics",
		`{"scores":{"m":1}}`:                      "m error: invalid output of the program: want a score or an error",
		`{"score":1,"scores":{}}`:                 "m error: invalid output of the program: want a score or an error",
		`{"score":1,"explanations":{"m":"x"}}`:    "m error: invalid output of the program: want a score or an error",
	} {
		s := shell(t, `cat >/dev/null; printf %s "$0"`)
		s.Command = append(s.Command, answer)
		wantPrefix(t, answer, programText(t, s, answerRun("x")), want)
		if want == "" && programText(t, s, answerRun("x")) != "" {
			t.Errorf("%s: there is a score", answer)
		}
	}
}

// TestProgramFindings checks that the rules are sorted, each once.
func TestProgramFindings(t *testing.T) {
	for answer, want := range map[string][]string{
		`{"score":0,"findings":["r2","r1","r2"]}`: {"r1", "r2"},
		`{"score":1}`: nil,
	} {
		s := shell(t, `cat >/dev/null; printf %s "$0"`)
		s.Command = append(s.Command, answer)
		scorer, err := newScorer("m", s)
		if err != nil {
			t.Fatal(err)
		}
		if got := scorer.Score(t.Context(), answerRun("x"))[0].Findings; !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", answer, got, want)
		}
	}
}

func TestProgramMetrics(t *testing.T) {
	for answer, want := range map[string]string{
		`{"scores":{"b":0,"a":1}}`:                          "a 1\nb 0",
		`{"scores":{"a":1},"explanations":{"a":"why"}}`:     "a 1 why",
		`{"scores":{"a":null,"b":2}}`:                       "b 2",
		`{"scores":{}}`:                                     "",
		`{"scores":{"a":1,"b":"x"}}`:                        "a 1\nb error: invalid output of the program: the score is not a number: \"\\\"x\\\"\"",
		`{"scores":{"a":1,"c":1}}`:                          "a error: invalid output of the program: the score \"c\" is not in the setting metrics\nb error: invalid output of the program: the score \"c\" is not in the setting metrics",
		`{"error":"x"}`:                                     "a error: the program reported: x\nb error: the program reported: x",
		`{"score":1}`:                                       "a error: invalid output of the program: want scores named [\"a\" \"b\"], or an error\nb error: invalid output of the program: want scores",
		`{"scores":{"a":1},"score":1}`:                      "a error: invalid output of the program: want scores named ",
		`{"scores":{"a":1},"explanation":"x"}`:              "a error: invalid output of the program: want scores named ",
		`{"scores":{"a":1,"b":1},"explanations":{"a":"",}}`: "a error: invalid output of the program: want JSON",
	} {
		s := shell(t, `cat >/dev/null; printf %s "$0"`, "a", "b")
		s.Command = append(s.Command, answer)
		got := programText(t, s, answerRun("x"))
		wantPrefix(t, answer, got, want)
		if want == "" && got != "" {
			t.Errorf("%s: got %q, want no score", answer, got)
		}
	}
}

// A program that fails or does not end is an error of all its scores, with its standard error.
func TestProgramFails(t *testing.T) {
	for script, want := range map[string]string{
		`echo '{"score":1}'; echo "no way" >&2; exit 3`: "a error: the program ended with exit status 3; its standard error: no way\nb error: the program ended",
		`trap '' TERM INT; while :; do :; done`:         "a error: the program took more than 0.3 seconds, the setting timeout",
		`yes`:                                           "a error: the program wrote more than 1048576 bytes to its standard output\nb error: ",
	} {
		s := shell(t, script, "a", "b")
		s.Timeout = 0.3
		if strings.HasPrefix(script, "yes") {
			s.Timeout = 0
		}
		wantPrefix(t, script, programText(t, s, answerRun("x")), want)
	}
	s := programSettings{Command: []string{"looptape-no-such-program"}}
	wantPrefix(t, "no program", programText(t, s, answerRun("x")), `m error: the program cannot be started: exec: "looptape-no-such-program": executable file not found`)
	bad := messagesRun(map[string]string{"bad": "{"}, llm.User("x"))
	wantPrefix(t, "no JSON", programText(t, shell(t, "cat"), bad), "m error: the run cannot be written as JSON: ")
}

// A program that waits ends with the context of the scoring.
func TestProgramStops(t *testing.T) {
	s := shell(t, `exec sleep 1000`)
	scorer, err := newScorer("m", s)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	wantPrefix(t, "stopped", describeScores(scorer.Score(ctx, answerRun("x"))), "m error: the program cannot be started: ")
}

// A path is looked for in the folder of the file that names it.
func TestProgramFolder(t *testing.T) {
	shell(t, "") // which is needed
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "judge.sh"), []byte("#!/bin/sh\necho '{\"score\":7}'\n"), 0o700); err != nil { //nolint:gosec // it is to be run
		t.Fatal(err)
	}
	scorer, err := (&Maker{Folder: dir, Environ: []string{}}).Parse("program", "m", json.RawMessage(`{"command":["./judge.sh"]}`))
	if err != nil {
		t.Fatal(err)
	}
	wantPrefix(t, "in a folder", describeScores(scorer.Score(t.Context(), answerRun("x"))), "m 7")
}

// A program gets of the environment what interpreters need and what is named, and no key.
func TestProgramEnvironment(t *testing.T) {
	shell(t, "") // which is needed
	m := &Maker{Environ: []string{"PATH=" + os.Getenv("PATH"), "OPENAI_API_KEY=k", "MY_TOKEN=t", "LC_ALL=C", "MORE=m"}, Variables: []string{"MORE"}}
	scorer, err := m.Parse("program", "m", json.RawMessage(`{"command":["sh","-c","echo \"{\\\"score\\\":1,\\\"explanation\\\":\\\"$OPENAI_API_KEY,$MY_TOKEN,$LC_ALL,$MORE\\\"}\""]}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := scorer.Score(t.Context(), answerRun("x")); len(got) != 1 || got[0].Explanation != ",,C,m" {
		t.Errorf("got %+v", got)
	}
	if _, err := Parse("program", "m", json.RawMessage(`{"command":["sh"]}`)); err == nil || !strings.Contains(err.Error(), `the suite starts the program ["sh"]: allow it with --allow-programs`) {
		t.Errorf("without an environment: %v", err)
	}
}

// resolved is one of the published schemas.
func resolveSchema(t *testing.T, name string) *jsonschema.Resolved {
	t.Helper()
	read := func(file string) *jsonschema.Schema {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		s := &jsonschema.Schema{}
		if err := json.Unmarshal(text, s); err != nil {
			t.Fatal(err)
		}
		return s
	}
	r, err := read("schema/" + name + ".schema.json").Resolve(&jsonschema.ResolveOptions{Loader: func(*url.URL) (*jsonschema.Schema, error) {
		return read("../../trace/schema/trace-v2.schema.json"), nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The input of a program matches the published schema, for a list of messages and for a
// trace.
func TestProgramDocument(t *testing.T) {
	list := messagesRun(map[string]string{"reward": "1"},
		llm.User("Is <it>?"), llm.Assistant(llm.ToolCall{ID: "1", Name: "look", Arguments: `{"at":1}`}),
		llm.ToolResults(llm.ToolResult{ID: "1", Content: []llm.Part{llm.Text{Text: "gone"}}, IsError: true}),
		llm.Assistant(llm.Text{Text: "No."}))
	list.Case, list.Epoch, list.Cluster = "is it", 3, "its"
	list.Expected = importer.Expected{Answers: []string{"No"}, Replies: []string{"", "No"}, Calls: []importer.Call{{Name: "look", Arguments: json.RawMessage(`{"at":1}`), Turn: 3}, {Name: "see", Turn: importer.NoTurn}}}
	list.Head = map[string]json.RawMessage{"version": json.RawMessage("2")}
	none := traceRun(response("Yes.", llm.FinishStop))
	none.Epoch, none.Expected.Calls = importer.NoEpoch, []importer.Call{}
	schema := resolveSchema(t, "run-v2")
	for name, c := range map[string]struct {
		run  *importer.Run
		want string
	}{
		"list": {list, `{"format":"looptape-run","version":2,"name":"run-1","case":"is it","epoch":3,"cluster":"its","answer":"No.",` +
			`"calls":[{"id":"1","name":"look","arguments":"{\"at\":1}","answered":true,"failed":true,"result":"gone"}],` +
			`"expected":{"answers":["No"],"replies":["","No"],"calls":[{"name":"look","args":{"at":1},"turn":3},{"name":"see"}]},` +
			`"messages":[{"role":"user","parts":[{"type":"text","text":"Is <it>?"}]},`},
		"trace": {none, `{"format":"looptape-run","version":2,"name":"r1","case":"r1","epoch":null,"answer":"Yes.","calls":[],"expected":{"calls":[]},` +
			`"events":[{"seq":0,"run":"r1",`},
	} {
		file := filepath.Join(t.TempDir(), "run.json")
		s := shell(t, `cat >"$0"; echo '{"score":1}'`)
		s.Command = append(s.Command, file)
		wantPrefix(t, name, programText(t, s, c.run), "m 1")
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		wantPrefix(t, name, string(text), c.want)
		if strings.Count(string(text), "\n") != 1 || !strings.HasSuffix(string(text), "}\n") {
			t.Errorf("%s: it is not one line: %s", name, text)
		}
		var v any
		if err := json.Unmarshal(text, &v); err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(v); err != nil {
			t.Errorf("%s does not match the schema: %v", name, err)
		}
	}
}

// The schema of the output accepts what the scorer accepts.
func TestOutputSchema(t *testing.T) {
	schema := resolveSchema(t, "answer-v1")
	for text, want := range map[string]bool{
		`{"score":1}`: true, `{"score":null,"explanation":"x"}`: true, `{"score":0,"findings":["x"]}`: true, `{"scores":{"a":1},"findings":{"a":["x"]}}`: true, `{"score":0,"findings":["x",1]}`: false, `{"scores":{"a":1,"b":null},"explanations":{"a":"x"}}`: true, `{"error":"x"}`: true,
		`{}`: false, `{"score":"1"}`: false, `{"scores":{"a":"1"}}`: false, `{"score":1,"scores":{}}`: false, `{"error":""}`: false, `{"score":1,"why":"x"}`: false,
	} {
		var v any
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(v); (err == nil) != want {
			t.Errorf("%s: got the error %v", text, err)
		}
	}
}

// Programs run concurrently, and each scores its own run.
func TestProgramsConcurrent(t *testing.T) {
	scorer, err := newScorer("m", shell(t, `sed -E 's/.*"answer":"([0-9]+)".*/{"score":\1}/'`))
	if err != nil {
		t.Fatal(err)
	}
	got, want := make([]string, 40), make([]string, 40)
	var all sync.WaitGroup
	for i := range got {
		want[i] = fmt.Sprint("m ", i)
		all.Go(func() { got[i] = describeScores(scorer.Score(t.Context(), answerRun(fmt.Sprint(i)))) })
	}
	all.Wait()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the scores (-want +got):\n%s", diff)
	}
}
