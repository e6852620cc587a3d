package scorers

import (
	"encoding/json"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
	"github.com/looptape/looptape/trace/importer"
)

// looked is a run whose tool returned these texts; those that begin with ! are errors.
func lookupRun(texts ...string) *importer.Run {
	run := &importer.Run{}
	for i, text := range texts {
		id := fmt.Sprint(i)
		failed := text[0] == '!'
		run.Messages = append(run.Messages, llm.Assistant(llm.ToolCall{ID: id, Name: "look"}),
			llm.ToolResults(llm.ToolResult{ID: id, Content: []llm.Part{llm.Text{Text: text}}, IsError: failed}))
	}
	return run
}

// A state is in the metadata, in an event or in a tool result; the last one counts.
func TestStatePlaces(t *testing.T) {
	open := lookupRun(`{"db":{"n":1}}`, `{"db":{"n":2}}`, "!no")
	open.Messages = append(open.Messages, llm.Assistant(llm.ToolCall{ID: "x", Name: "look"}, llm.ToolCall{ID: "y", Name: "other"}),
		llm.ToolResults(llm.ToolResult{ID: "y", Content: []llm.Part{llm.Text{Text: "9"}}}))
	event := traceRun(trace.Custom{Name: "state", Data: json.RawMessage(`{"n":2}`)})
	for _, c := range []struct {
		settings string
		run      *importer.Run
		want     string
	}{
		{`{"result":"look","expected":{"db":{"n":2}}}`, open, "1 "},
		{`{"result":"look","at":"/db/n","expected":2}`, open, "1 "},
		{`{"result":"look","at":"/db/m","expected":2}`, open, `error: no value found at /db/m of the state in a result of the tool "look"`},
		{`{"result":"see","expected":2}`, open, `error: the recording has no state in a result of the tool "see"`},
		{`{"result":"look","expected":2}`, lookupRun("1", "nothing"), `error: the state in a result of the tool "look" is not JSON: invalid character`},
		{`{"event":"state","at":"/n","expected":2}`, event, "1 "},
		{`{"event":"state","at":"/m","expected":2}`, event, `error: no value found at /m of the state in an event "state"`},
	} {
		wantPrefix(t, c.settings, scoreText(t, "state", c.settings, c.run), c.want)
	}
}

// diffSays returns the result of state_diff for a change from one state to another; more are
// its settings.
func diffText(t *testing.T, before, after, more string) string {
	t.Helper()
	run := messagesRun(map[string]string{"before": before, "after": after, "goal": `{"a":[1,3],"b":{"c":"x"}}`,
		"patch": `[{"op":"remove","path":"/a/1"}]`, "bad": `[{"op":"remove","path":1}]`, "odd": `[{"op":"move","path":""}]`})
	return scoreText(t, "state_diff", `{"before":{"at":"/before"},"after":{"at":"/after"},`+more+`}`, run)
}

func TestStateDiff(t *testing.T) {
	const was = `{"a":[1,2,3],"b":{"c":"x"}}`
	for _, c := range []struct{ after, more, want string }{
		{was, `"expected":[]`, "1 0 changes, as expected"},
		{`{"b":{"c":"x"},"a":[1.0,2,3]}`, `"expected":[]`, "1 0 changes"},
		{`{"a":[1,2,3],"b":{"c":"y"}}`, `"expected":[]`, `0 extra: replace /b/c = "y"`},
		{`{"a":[1,2,3],"b":{"c":"y"}}`, `"expected":[{"op":"replace","path":"/b/c","value":"y"}]`, "1 1 changes, as expected"},
		{`{"a":[1,2,3],"b":{"c":"z"}}`, `"expected":[{"op":"replace","path":"/b/c","value":"y"}]`, `0 wrong: replace /b/c = "y", got "z"`},
		{was, `"expected":[{"op":"replace","path":"/b/c","value":"y"}]`, `0 missing: replace /b/c = "y"`},
		{`{"a":[1,2,3],"b":{}}`, `"expected":[{"op":"replace","path":"/b/c","value":"y"}]`, `0 wrong: replace /b/c = "y", got nothing`},
		{`{"a":[1,2,3],"b":{}}`, `"expected":[{"op":"remove","path":"/b/c"}]`, "1 1 changes"},
		{`{"a":[1,2,3],"b":{"c":"x","d/e":null}}`, `"expected":[{"op":"add","path":"/b/d~1e","value":null}]`, "1 1 changes"},
		{`{"a":[1,2,3],"b":{"c":"x","d/e":1}}`, `"expected":[]`, "0 extra: add /b/d~1e = 1"},
		{`{"a":[1,2,3],"b":{"c":"x","d":1}}`, `"expected":[],"ignore":["/b/d"]`, "1 0 changes"},
		{`{"a":[1,2,3],"b":{"c":"y"}}`, `"expected":[],"ignore":["/*/c"]`, "1 0 changes"},
		{`{"a":[1,3],"b":{"c":"x"}}`, `"expected_at":"/patch"`, "1 1 changes"},
		{`{"a":[1,3],"b":{"c":"x"}}`, `"goal":{"at":"/goal"}`, "1 1 changes"},
		{`{"a":[1,2,3,4],"b":{"c":"x"}}`, `"expected":[{"op":"add","path":"/a/-","value":4}]`, "1 1 changes"},
		{`{"a":[0,1,2,3],"b":{"c":"x"}}`, `"expected":[{"op":"add","path":"/a/0","value":0}]`, "1 1 changes"},
		{`{"a":[1,2,3,4],"b":{"c":"x"}}`, `"expected":[{"op":"add","path":"/a/3","value":4}]`, "1 1 changes"},
		{`{"a":[1,2,3,4,5],"b":{"c":"x"}}`, `"expected":[{"op":"add","path":"/a/-","value":4}]`, "0 extra: add /a/4 = 5"},
		{`{"a":[1,5,3],"b":{"c":"x"}}`, `"expected":[{"op":"replace","path":"/a/1","value":4}]`, "0 wrong: replace /a/1 = 4, got 5"},
		{`{"a":[1],"b":{"c":"x"}}`, `"expected":[]`, "0 extra: remove /a/1; extra: remove /a/2"},
		{`{"a":[3],"b":{"c":"x"}}`, `"expected":[]`, "0 extra: remove /a/0; extra: remove /a/1"},
		{`{"a":{"x":1},"b":{"c":"x"}}`, `"expected":[]`, `0 extra: replace /a = {"x":1}`},
		{`1`, `"expected":[{"op":"replace","path":"","value":1}]`, "1 1 changes"},
		{`{"a":[1,2,3],"b":{"c":{"d":[4]}}}`, `"expected":[{"op":"add","path":"/b/c","value":{"d":[]}},{"op":"add","path":"/b/c/d/0","value":4}]`, "1 1 changes"},
		{was, `"expected":[{"op":"remove","path":"/b/d"}]`, `error: what is expected: remove "/b/d": no value exists there`},
		{was, `"expected":[{"op":"replace","path":"/b/d","value":1}]`, `error: what is expected: replace "/b/d": no value exists there`},
		{was, `"expected":[{"op":"add","path":"/b/d/e","value":1}]`, `error: what is expected: add "/b/d/e": the parent is neither an object nor an array`},
		{was, `"expected":[{"op":"add","path":"/a/4","value":1}]`, `error: what is expected: add "/a/4": the array has no element 4`},
		{was, `"expected":[{"op":"replace","path":"/a/3","value":1}]`, `error: what is expected: replace "/a/3": the array has no element 3`},
		{was, `"expected":[{"op":"add","path":"/a/3/b","value":1}]`, `error: what is expected: add "/a/3/b": the array has no element 3`},
		{was, `"expected":[{"op":"remove","path":"/a/-"}]`, `error: what is expected: remove "/a/-": the array has no element -`},
		{was, `"expected":[{"op":"remove","path":"/a/01"}]`, `error: what is expected: remove "/a/01": the array has no element 01`},
		{was, `"expected_at":"/none"`, "error: what is expected: the recording has nothing at /none"},
		{was, `"expected_at":"/bad"`, "error: what is expected: /bad is not a list of operations: "},
		{was, `"expected_at":"/odd"`, `error: what is expected: unknown operation "move" of ""`},
		{was, `"goal":{"at":"/none"}`, "error: what is expected: the recording has nothing at /none"},
	} {
		wantPrefix(t, c.after+" "+c.more, diffText(t, was, c.after, c.more), c.want)
	}
}

// With partial credit, the score is the share of right changes.
func TestStateDiffPartial(t *testing.T) {
	const was, more = `{"a":1,"b":2}`, `"partial":true,"expected":[{"op":"replace","path":"/a","value":5},{"op":"remove","path":"/b"},{"op":"add","path":"/c","value":1}]`
	for after, want := range map[string]string{
		`{"a":5,"c":1}`:             "1 3 changes, as expected",
		`{"a":5,"b":2,"d":1,"c":0}`: `0.25 missing: remove /b; wrong: add /c = 1, got 0; extra: add /d = 1`,
		was:                         "0 missing: replace /a = 5; missing: remove /b; missing: add /c = 1",
		`{"e":1,"f":2}`:             "0.2 wrong: replace /a = 5, got nothing; missing: add /c = 1; extra: add /e = 1; extra: add /f = 2",
	} {
		wantPrefix(t, after, diffText(t, was, after, more), want)
	}
	wantPrefix(t, "none", diffText(t, was, was, `"partial":true,"expected":[]`), "1 0 changes")
}

// The states before and after may be the first and the last at one place.
func TestStateDiffPlaces(t *testing.T) {
	const settings = `{"before":{"result":"look","at":"/n"},"after":{"result":"look","at":"/n"},"expected":[{"op":"replace","path":"","value":3}]}`
	wantPrefix(t, "first and last", scoreText(t, "state_diff", settings, lookupRun(`{"n":1}`, `{"n":2}`, `{"n":3}`)), "1 ")
	wantPrefix(t, "one", scoreText(t, "state_diff", settings, lookupRun(`{"n":1}`)), "error: the recording contains the state once")
	wantPrefix(t, "none", scoreText(t, "state_diff", settings, lookupRun()), "error: before: the recording has no state in a result")
	const apart = `{"before":{"at":"/n"},"after":{"result":"look"},"expected":[]}`
	run := lookupRun("1", "7")
	wantPrefix(t, "no before", scoreText(t, "state_diff", apart, run), "error: before: the recording has nothing at /n")
	run.Meta = map[string]json.RawMessage{"n": json.RawMessage("7")}
	wantPrefix(t, "apart", scoreText(t, "state_diff", apart, run), "1 ")
	run.Messages = nil
	wantPrefix(t, "no after", scoreText(t, "state_diff", apart, run), "error: after: the recording has no state")
}

// TestStateDiffIndependentRuns checks that one run does not change the expected state of the next.
func TestStateDiffIndependentRuns(t *testing.T) {
	s, err := Parse("state_diff", "m", json.RawMessage(`{"before":{"at":"/b"},"after":{"at":"/a"},"expected":[
		{"op":"add","path":"/x","value":{"d":[]}},{"op":"add","path":"/x/d/0","value":1},
		{"op":"add","path":"/l/0","value":{"e":2,"f":3}},{"op":"remove","path":"/l/0/f"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	run := messagesRun(map[string]string{"b": `{"l":[]}`, "a": `{"l":[{"e":2}],"x":{"d":[1]}}`})
	for range 2 {
		wantPrefix(t, "again", describeScores(s.Score(t.Context(), run)), "m 1 ")
	}
}

// A patch scores as the state that it gives, and each state matches only itself.
func TestStateDiffGoal(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		before, after, other := genValue(3).Draw(r, "before"), genValue(3).Draw(r, "after"), genValue(3).Draw(r, "other")
		run := messagesRun(map[string]string{"b": before, "a": after, "o": other})
		whole := scoreText(t, "state_diff", `{"before":{"at":"/b"},"after":{"at":"/a"},"expected":[{"op":"replace","path":"","value":`+after+`}]}`, run)
		goal := scoreText(t, "state_diff", `{"before":{"at":"/b"},"after":{"at":"/a"},"goal":{"at":"/a"}}`, run)
		if whole != goal || goal[0] != '1' {
			r.Errorf("the whole state returned %q, the goal %q", whole, goal)
		}
		same := scoreText(t, "state", `{"at":"/a","expected_at":"/o"}`, run)
		if got := scoreText(t, "state_diff", `{"before":{"at":"/b"},"after":{"at":"/a"},"goal":{"at":"/o"}}`, run); got[0] != same[0] {
			r.Errorf("the state returned %q, the changes %q", same, got)
		}
	})
}

// genValue draws JSON from a few values, so that many are equal.
func genValue(depth int) *rapid.Generator[string] {
	return rapid.Custom(func(r *rapid.T) string {
		switch n := rapid.IntRange(0, 5).Draw(r, "kind"); {
		case n == 0 && depth > 0:
			return "{" + joinMembers(r, func(i int) string { return fmt.Sprintf("%q:", string(rune('a'+i))) }, depth) + "}"
		case n < 3 && depth > 0:
			return "[" + joinMembers(r, func(int) string { return "" }, depth) + "]"
		}
		return rapid.SampledFrom([]string{"1", "2", "1.0", `"x"`, "null", "{}"}).Draw(r, "leaf")
	})
}

// joined draws the members of an object or an array.
func joinMembers(r *rapid.T, name func(i int) string, depth int) (text string) {
	for i := range rapid.IntRange(0, 4).Draw(r, "length") {
		if i > 0 {
			text += ","
		}
		text += name(i) + genValue(depth-1).Draw(r, "value")
	}
	return text
}
