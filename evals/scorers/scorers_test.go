package scorers_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/evals/scorers"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/importer"
)

// answers is a run that answered a question, and should have given one of the others.
func answers(text string, want ...string) *importer.Run {
	return &importer.Run{Messages: []llm.Message{llm.User("Well?"), llm.Assistant(llm.Text{Text: text})}, Expected: importer.Expected{Answers: want}}
}

// says is what a scorer says of a run: its value and explanation, or its error.
func says(t *testing.T, kind, settings string, run *importer.Run) string {
	t.Helper()
	s, err := scorers.Parse(kind, "", json.RawMessage(settings))
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

// begin holds what scorers say against how it should begin.
func begin(t *testing.T, name, got, want string) {
	t.Helper()
	if !strings.HasPrefix(got, want) {
		t.Errorf("%s: got %q, want it to begin with %q", name, got, want)
	}
}

func TestParseErrors(t *testing.T) {
	for _, c := range []struct{ kind, settings, want string }{
		{"exat", ``, `scorer "m": there is no kind "exat"; there are exact, contains, `},
		{"exact", `{"wish":[]}`, `scorer "m": settings of "exact": json: unknown field "wish"`},
		{"exact", `{} 1`, `scorer "m": settings of "exact": something follows the value`},
		{"exact", `{"want":"x"}`, `scorer "m": settings of "exact": want: expected a list, found string`},
		{"regexp", `{}`, `scorer "m": there is no pattern`},
		{"regexp", `{"pattern":"("}`, `scorer "m": the pattern: error parsing regexp`},
		{"numeric", `{"absolute":-1}`, `scorer "m": the tolerance -1: it has to be 0 or more`},
		{"numeric", `{"relative":-0.1}`, `scorer "m": the tolerance -0.1`},
		{"json", `{"ignore":["a"]}`, `scorer "m": the JSON pointer "a" has to begin with /`},
		{"json", `{"ignore":["/a~2"]}`, `scorer "m": the JSON pointer "/a~2": behind ~`},
		{"contains", `{"want":["a",""]}`, `scorer "m": one of the texts wanted is empty`},
		{"normalized", `{"want":["a b","The!"]}`, `scorer "m": nothing is left of the text wanted, "The!"`},
		{"choice", `{"letters":"A-D"}`, `scorer "m": the letters "A-D"`},
		{"called", `{}`, `scorer "m": no tools are named`},
		{"called", `{"tools":{"a":{"min":-1}}}`, `scorer "m": the tool "a": no count is -1 or more`},
		{"called", `{"tools":{"a":{"min":3,"max":2}}}`, `scorer "m": the tool "a": no count is 3 to 2`},
		{"trajectory", `{"order":"any"}`, `scorer "m": order "any": give one of exact,`},
		{"trajectory", `{"args":"some"}`, `scorer "m": args "some": give "subset" or "ignore"`},
		{"trajectory", `{"ignore":{"a":["x"]}}`, `scorer "m": the JSON pointer "x" has`},
		{"trajectory", `{"ignore":{"a":[""]}}`, `scorer "m": ignore of the tool "a": the JSON pointer ""`},
		{"trajectory", `{"want":[{"name":"a","args":[]}]}`, `scorer "m": the arguments that the call of "a" should have`},
		{"call_match", `{"measure":"f2"}`, `scorer "m": measure "f2": give one of f1,`},
		{"call_match", `{"args":"some"}`, `scorer "m": args "some"`},
		{"bfcl", `{"cases":{"x":{"ground_truth":[{}]}}}`, `scorer "m": the case "x": ground_truth 0 has 0 functions`},
		{"bfcl", `{"cases":{"x":{"function":[{"name":"f"}],"ground_truth":[{"f":{}},{"g":{}}]}}}`, `scorer "m": the case "x": ground_truth 1 is a call of "g", which is not among`},
		{"steps", `{"at_most":-1}`, `scorer "m": at_most -1: nothing is less than 0`},
		{"cost", `{}`, `scorer "m": there are no prices`},
		{"cost", `{"prices":{"m":{}},"at_most":-1}`, `scorer "m": at_most -1`},
		{"refusal", `{"patterns":["("]}`, `scorer "m": the pattern: error parsing`},
		{"invariants", `{"ignore":["INV-99"]}`, `scorer "m": there is no invariant "INV-99" to ignore`},
		{"state", `{"want":1}`, `scorer "m": give one of at, event and result`},
		{"state", `{"result":"a","event":"b","want":1}`, `scorer "m": give one of at, event and result`},
		{"state", `{"at":"/a"}`, `scorer "m": give one of want and want_at`},
		{"state", `{"at":"/a","want":1,"want_at":"/b"}`, `scorer "m": give one of want and want_at`},
		{"state", `{"at":"a","want":1}`, `scorer "m": the JSON pointer "a"`},
		{"state", `{"at":"/a","want_at":"b"}`, `scorer "m": the JSON pointer "b"`},
		{"state", `{"at":"/a","want":1,"ignore":["c"]}`, `scorer "m": the JSON pointer "c"`},
		{"state_diff", `{"after":{"at":"/a"},"want":[]}`, `scorer "m": before: give one of at, event and result`},
		{"state_diff", `{"before":{"at":"/a"},"want":[]}`, `scorer "m": after: give one of at, event and result`},
		{"state_diff", `{"before":{"at":"/a"},"after":{"at":"a"},"want":[]}`, `scorer "m": after: the JSON pointer "a"`},
		{"state_diff", `{"before":{"at":"/a"},"after":{"at":"/a"},"want":[]}`, `scorer "m": before and after are the same`},
		{"state_diff", `{"before":{"at":"/a"},"after":{"at":"/b"}}`, `scorer "m": give one of want, want_at and goal`},
		{"state_diff", `{"before":{"at":"/a"},"after":{"at":"/b"},"want":[],"goal":{"at":"/c"}}`, `scorer "m": give one of want, want_at and goal`},
		{"state_diff", `{"before":{"at":"/a"},"after":{"at":"/b"},"want_at":"/c","goal":{"at":"/c"}}`, `scorer "m": give one of want, want_at and goal`},
		{"state_diff", `{"before":{"at":"/a"},"after":{"at":"/b"},"goal":{"at":"c"}}`, `scorer "m": goal: the JSON pointer "c"`},
		{"state_diff", `{"before":{"at":"/a"},"after":{"at":"/b"},"want_at":"c"}`, `scorer "m": the JSON pointer "c"`},
		{"state_diff", `{"before":{"at":"/a"},"after":{"at":"/b"},"want":[],"ignore":["c"]}`, `scorer "m": the JSON pointer "c"`},
		{"state_diff", `{"before":{"at":"/a"},"after":{"at":"/b"},"want":[{"op":"move","path":"/c"}]}`, `scorer "m": want: the operation "move" of "/c": give add, remove or replace`},
		{"state_diff", `{"before":{"at":"/a"},"after":{"at":"/b"},"want":[{"op":"add","path":"c","value":1}]}`, `scorer "m": want: the JSON pointer "c"`},
		{"state_diff", `{"before":{"at":"/a"},"after":{"at":"/b"},"want":[{"op":"add","path":"/c"}]}`, `scorer "m": want: the value of add "/c": there is nothing`},
		{"state_diff", `{"before":{"at":"/a"},"after":{"at":"/b"},"want":[{"op":"remove","path":"/c","value":1}]}`, `scorer "m": want: remove "/c" has a value`},
		{"program", `{}`, `scorer "m": there is no command`},
		{"program", `{"command":["",""]}`, `scorer "m": there is no command`},
		{"program", `{"command":["x"],"timeout":-1}`, `scorer "m": timeout -1: give seconds up to 86400`},
		{"program", `{"command":["x"],"timeout":86401}`, `scorer "m": timeout 86401: give`},
		{"program", `{"command":["x"],"metrics":["a","b","a"]}`, `scorer "m": metrics ["a" "b" "a"]: give each`},
		{"program", `{"command":["x"],"metrics":[""]}`, `scorer "m": metrics [""]: give each`},
		{"program", `{"command":["x"],"folder":"y"}`, `scorer "m": settings of "program": json: unknown field "folder"`},
		{"arg_schema", `{"schemas":{"a":{"type":7}}}`, `scorer "m": the schema of the tool "a": `},
		{"arg_schema", `{"schemas":{"a":{"$ref":"https://example.org/s"}}}`, `scorer "m": the schema of the tool "a": `},
	} {
		_, err := scorers.Parse(c.kind, "m", json.RawMessage(c.settings))
		begin(t, c.kind+" "+c.settings, fmt.Sprint(err), c.want)
	}
}

// What New is given and what Parse reads are the same.
func TestNew(t *testing.T) {
	s, err := scorers.New("m", scorers.Exact{Want: []string{"yes"}})
	if err != nil {
		t.Fatal(err)
	}
	scores := s.Score(t.Context(), answers("yes", "no"))
	if len(scores) != 1 || scores[0].Metric != "m" || scores[0].Value != 1 {
		t.Errorf("got %v, want m to be 1", scores)
	}
}

// Kinds have names of their own and say what they do.
func TestKinds(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range scorers.Kinds() {
		if seen[k.Name] || k.Name == "" || k.What == "" || strings.HasSuffix(k.What, ".") {
			t.Errorf("the kind %+v", k)
		}
		seen[k.Name] = true
	}
	scorers.Kinds()[0].Name = "changed"
	if diff := cmp.Diff("exact", scorers.Kinds()[0].Name); diff != "" {
		t.Error("the caller's slice is that of the package")
	}
}
