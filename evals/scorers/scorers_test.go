package scorers

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/importer"
)

// answers is a run with a final answer and several expected answers.
func answerRun(text string, want ...string) *importer.Run {
	return &importer.Run{Messages: []llm.Message{llm.User("Well?"), llm.Assistant(llm.Text{Text: text})}, Expected: importer.Expected{Answers: want}}
}

// says returns the result of a scorer for a run: its value and explanation, or its error.
func scoreText(t *testing.T, kind, settings string, run *importer.Run) string {
	t.Helper()
	s, err := Parse(kind, "", json.RawMessage(settings))
	if err != nil {
		t.Fatal(err)
	}
	scores := s.Score(t.Context(), run)
	if len(scores) != 1 || scores[0].Metric != kind {
		t.Fatalf("got the scores %v, want one of %q", scores, kind)
	}
	if scores[0].Err != nil {
		return "error: " + scores[0].Err.Error()
	}
	return fmt.Sprint(scores[0].Value, " ", scores[0].Explanation)
}

// begin checks the beginning of the results of scorers.
func wantPrefix(t *testing.T, name, got, want string) {
	t.Helper()
	if !strings.HasPrefix(got, want) {
		t.Errorf("%s: got %q, want it to begin with %q", name, got, want)
	}
}

func TestParseErrors(t *testing.T) {
	for _, c := range []struct{ kind, settings, want string }{
		{"exat", ``, `scorer "m": unknown kind "exat": want one of exact, contains, `},
		{"exact", `{"wish":[]}`, `scorer "m": settings of "exact": json: unknown field "wish"`},
		{"exact", `{} 1`, `scorer "m": settings of "exact": unexpected data after the value`},
		{"exact", `{"expected":"x"}`, `scorer "m": settings of "exact": expected: expected a list, found string`},
		{"regexp", `{}`, `scorer "m": missing pattern: set a regular expression`},
		{"regexp", `{"pattern":"("}`, `scorer "m": the pattern: error parsing regexp`},
		{"numeric", `{"absolute":-1}`, `scorer "m": the tolerance -1: want 0 or more`},
		{"numeric", `{"relative":-0.1}`, `scorer "m": the tolerance -0.1`},
		{"json", `{"ignore":["a"]}`, `scorer "m": the JSON pointer "a": missing / at the beginning`},
		{"json", `{"ignore":["/a~2"]}`, `scorer "m": the JSON pointer "/a~2": invalid escape`},
		{"contains", `{"expected":["a",""]}`, `scorer "m": an expected string is empty`},
		{"normalized", `{"expected":["a b","The!"]}`, `scorer "m": the expected text "The!" is empty without articles`},
		{"choice", `{"letters":"A-D"}`, `scorer "m": the letters "A-D"`},
		{"called", `{}`, `scorer "m": missing tools: name the tools to count`},
		{"called", `{"tools":{"a":{"min":-1}}}`, `scorer "m": the tool "a": invalid count -1 or more`},
		{"called", `{"tools":{"a":{"min":3,"max":2}}}`, `scorer "m": the tool "a": invalid count 3 to 2`},
		{"trajectory", `{"order":"any"}`, `scorer "m": order "any": want exact,`},
		{"trajectory", `{"arguments":"some"}`, `scorer "m": arguments "some": want "subset", "ignore" or none`},
		{"trajectory", `{"ignore":{"a":["x"]}}`, `scorer "m": the JSON pointer "x": missing`},
		{"trajectory", `{"ignore":{"a":[""]}}`, `scorer "m": ignore of the tool "a": the JSON pointer ""`},
		{"trajectory", `{"expected":[{"name":"a","arguments":[]}]}`, `scorer "m": the expected arguments of "a" are not a JSON object`},
		{"call_match", `{"measure":"f2"}`, `scorer "m": measure "f2": want f1,`},
		{"call_match", `{"arguments":"some"}`, `scorer "m": arguments "some"`},
		{"bfcl", `{"cases":{"x":{"ground_truth":[{}]}}}`, `scorer "m": the case "x": ground_truth 0 has 0 functions`},
		{"bfcl", `{"cases":{"x":{"function":[{"name":"f"}],"ground_truth":[{"f":{}},{"g":{}}]}}}`, `scorer "m": the case "x": ground_truth 1 is a call of the unknown function "g"`},
		{"steps", `{"at_most":-1}`, `scorer "m": at_most -1: nothing is less than 0`},
		{"cost", `{}`, `scorer "m": missing prices: set the prices of a million tokens by model`},
		{"cost", `{"prices":{"m":{}},"at_most":-1}`, `scorer "m": at_most -1`},
		{"refusal", `{"patterns":["("]}`, `scorer "m": the pattern: error parsing`},
		{"invariants", `{"ignore":["INV-99"]}`, `scorer "m": unknown invariant "INV-99" in ignore: want an id such as INV-01`},
		{"state", `{"expected":1}`, `scorer "m": want one of at, event and result`},
		{"state", `{"result":"a","event":"b","expected":1}`, `scorer "m": want one of at, event and result`},
		{"state", `{"at":"/a","expected":1,"expected_at":"/b"}`, `scorer "m": want at most one of expected and expected_at`},
		{"state", `{"at":"a","expected":1}`, `scorer "m": the JSON pointer "a"`},
		{"state", `{"at":"/a","expected_at":"b"}`, `scorer "m": the JSON pointer "b"`},
		{"state", `{"at":"/a","expected":1,"ignore":["c"]}`, `scorer "m": the JSON pointer "c"`},
		{"state_diff", `{"after":{"at":"/a"},"expected":[]}`, `scorer "m": before: want one of at, event and result`},
		{"state_diff", `{"before":{"at":"/a"},"expected":[]}`, `scorer "m": after: want one of at, event and result`},
		{"state_diff", `{"before":{"at":"/a"},"after":{"at":"a"},"expected":[]}`, `scorer "m": after: the JSON pointer "a"`},
		{"state_diff", `{"before":{"at":"/a"},"after":{"at":"/a"},"expected":[]}`, `scorer "m": before and after are the same`},
		{"state_diff", `{"before":{"at":"/a"},"after":{"at":"/b"},"expected":[],"goal":{"at":"/c"}}`, `scorer "m": want at most one of expected, expected_at and goal`},
		{"state_diff", `{"before":{"at":"/a"},"after":{"at":"/b"},"expected_at":"/c","goal":{"at":"/c"}}`, `scorer "m": want at most one of expected, expected_at and goal`},
		{"state_diff", `{"before":{"at":"/a"},"after":{"at":"/b"},"goal":{"at":"c"}}`, `scorer "m": goal: the JSON pointer "c"`},
		{"state_diff", `{"before":{"at":"/a"},"after":{"at":"/b"},"expected_at":"c"}`, `scorer "m": the JSON pointer "c"`},
		{"state_diff", `{"before":{"at":"/a"},"after":{"at":"/b"},"expected":[],"ignore":["c"]}`, `scorer "m": the JSON pointer "c"`},
		{"state_diff", `{"before":{"at":"/a"},"after":{"at":"/b"},"expected":[{"op":"move","path":"/c"}]}`, `scorer "m": expected: unknown operation "move" of "/c": want add, remove or replace`},
		{"state_diff", `{"before":{"at":"/a"},"after":{"at":"/b"},"expected":[{"op":"add","path":"c","value":1}]}`, `scorer "m": expected: the JSON pointer "c"`},
		{"state_diff", `{"before":{"at":"/a"},"after":{"at":"/b"},"expected":[{"op":"add","path":"/c"}]}`, `scorer "m": expected: the value of add "/c": there is nothing`},
		{"state_diff", `{"before":{"at":"/a"},"after":{"at":"/b"},"expected":[{"op":"remove","path":"/c","value":1}]}`, `scorer "m": expected: remove "/c" has a value`},
		{"program", `{}`, `scorer "m": missing command: set the program and its arguments`},
		{"program", `{"command":["",""]}`, `scorer "m": missing command: set the program and its arguments`},
		{"program", `{"command":["x"],"timeout":-1}`, `scorer "m": timeout -1: want seconds up to 86400`},
		{"program", `{"command":["x"],"timeout":86401}`, `scorer "m": timeout 86401: want`},
		{"program", `{"command":["x"],"metrics":["a","b","a"]}`, `scorer "m": metrics ["a" "b" "a"]: want unique names`},
		{"program", `{"command":["x"],"metrics":[""]}`, `scorer "m": metrics [""]: want unique names`},
		{"program", `{"command":["x"],"folder":"y"}`, `scorer "m": settings of "program": json: unknown field "folder"`},
		{"arg_schema", `{"schemas":{"a":{"type":7}}}`, `scorer "m": the schema of the tool "a": `},
		{"arg_schema", `{"schemas":{"a":{"$ref":"https://example.org/s"}}}`, `scorer "m": the schema of the tool "a": `},
	} {
		_, err := (&Maker{Environ: []string{}}).Parse(c.kind, "m", json.RawMessage(c.settings))
		wantPrefix(t, c.kind+" "+c.settings, fmt.Sprint(err), c.want)
	}
}

// What New is given and what Parse reads are the same.
func TestNew(t *testing.T) {
	s, err := newScorer("m", exactSettings{Expected: []string{"yes"}})
	if err != nil {
		t.Fatal(err)
	}
	scores := s.Score(t.Context(), answerRun("yes", "no"))
	if len(scores) != 1 || scores[0].Metric != "m" || scores[0].Value != 1 {
		t.Errorf("got %v, want m to be 1", scores)
	}
}

// Kinds have unique names and a description.
func TestKinds(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range Kinds() {
		if seen[k.Name] || k.Name == "" || k.Description == "" || strings.HasSuffix(k.Description, ".") {
			t.Errorf("the kind %+v", k)
		}
		seen[k.Name] = true
	}
	Kinds()[0].Name = "changed"
	if diff := cmp.Diff("exact", Kinds()[0].Name); diff != "" {
		t.Error("the caller's slice is that of the package")
	}
}

func TestParseVersion1Names(t *testing.T) {
	for _, c := range []struct{ kind, settings, want string }{
		{"exact", `{"want":["B"]}`, `1 `},
		{"exact", `{"want":["A"]}`, `0 want "A"`},
		{"exact", `{"want":["B"],"expected":["A"]}`, ``},
		{"json", `{"want":{"want":1,"args":2}}`, `0 want "{\"want\":1,\"args\":2}", got no JSON`},
	} {
		if c.want == "" {
			if _, err := Parse(c.kind, "", json.RawMessage(c.settings)); err == nil {
				t.Errorf("Parse(%s) returned no error", c.settings)
			}
			continue
		}
		wantPrefix(t, c.settings, scoreText(t, c.kind, c.settings, answerRun("B")), c.want)
	}
	calls := callsOf(`a {"x":1}`)
	wantPrefix(t, "calls", scoreText(t, "trajectory", `{"want":[{"name":"a","args":{"x":1,"y":2}}],"args":"ignore"}`, calls), "1 ")
	wantPrefix(t, "calls", scoreText(t, "trajectory", `{"want":[{"name":"a","args":{"args":1}}]}`, calls), `0 a /args: want 1, got nothing; /x: want nothing, got 1; want a{"args":1}; got a{"x":1}`)
}
