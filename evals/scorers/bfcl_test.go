package scorers

import (
	"bufio"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/importer"
)

// bfclRun returns a run whose recording contains the functions and the accepted calls.
func bfclRun(function, truth, calls string) *importer.Run {
	run := callsOf(calls)
	run.Meta = map[string]json.RawMessage{"function": json.RawMessage(function)}
	if truth != "" {
		run.Meta["ground_truth"] = json.RawMessage(truth)
	}
	return run
}

// propertyJSON is a function f.g with the parameter x and the optional parameter y.
func propertyJSON(schema string) string {
	return `[{"name":"f.g","description":"d","parameters":{"type":"dict","properties":{"x":` + schema + `,"y":{"type":"integer"}},"required":["x"]}},{"name":"h","parameters":{"type":"dict","properties":{"x":{"type":"string"}},"required":[]}}]`
}

func TestBFCL(t *testing.T) {
	const integer, text = `{"type":"integer"}`, `{"type":"string"}`
	for _, c := range []struct{ schema, accepted, value, want string }{
		{integer, `[5]`, `5`, "1 all 1 calls are accepted"},
		{integer, `[5]`, `5.0`, `0 f.g: want x of [5], got 5.0`},
		{integer, `[5.0]`, `5.0`, "1 "}, // the type of what is accepted
		{integer, `[5]`, `6`, "0 "},
		{integer, `[5]`, `"5"`, "0 "},
		{integer, `["five",5]`, `"five"`, "1 "},
		{integer, `["five",5]`, `"Five"`, "0 "}, // a variable is compared as it is
		{integer, `[""]`, `5`, "0 "},
		{`{"type":"float"}`, `[5.0]`, `5`, "1 "},
		{`{"type":"float"}`, `[5]`, `5`, "1 "},
		{`{"type":"float"}`, `[5.5]`, `5`, "0 "},
		{`{"type":"float"}`, `[5.0]`, `true`, "0 "},
		{`{"type":"boolean"}`, `[true]`, `true`, "1 "},
		{`{"type":"boolean"}`, `[true]`, `false`, "0 "},
		{`{"type":"boolean"}`, `[true]`, `null`, "0 "},
		{text, `["April 1, 2024"]`, `"april 1 2024"`, "1 "},
		{text, `["it's"]`, `"it\"s"`, "1 "},
		{text, `["a","b"]`, `"B"`, "1 "},
		{text, `["a"]`, `"c"`, "0 "},
		{text, `[["a"],"b"]`, `"B"`, "0 "}, // of another type than what is accepted first
		{`{"type":"array","items":{"type":"array"}}`, `[[[{"a":1,"b":2}]]]`, `[[{"a":1}]]`, "0 "},
		{`{"type":"array","items":{"type":"array"}}`, `[[[{"a":1}]]]`, `[[{"a":1,"b":2}]]`, "0 "},
		{`{"type":"any"}`, `["a"]`, `"A"`, "1 "},
		{`{"type":"array","items":{"type":"string"}}`, `[["New York","x"]]`, `["new york","X"]`, "1 "},
		{`{"type":"array","items":{"type":"string"}}`, `[["a","b"]]`, `["b","a"]`, "0 "},
		{`{"type":"array","items":{"type":"string"}}`, `[["a"],["b"]]`, `["b"]`, "1 "},
		{`{"type":"array","items":{"type":"integer"}}`, `[[1,2]]`, `[1,2]`, "1 "},
		{`{"type":"array","items":{"type":"integer"}}`, `[[1,2]]`, `[1,2.5]`, "0 "},
		{`{"type":"array","items":{"type":"float"}}`, `[[1.0]]`, `[1]`, "0 "}, // integers are not floats inside
		{`{"type":"array","items":{"type":"array"}}`, `[[[1,{"a":"B"}]]]`, `[[1.0,{"a":"B"}]]`, "1 "},
		{`{"type":"array","items":{"type":"array"}}`, `[[[1,{"a":"B"}]]]`, `[[1.0,{"a":"b"}]]`, "0 "},
		{`{"type":"array","items":{"type":"array"}}`, `[[[1,{"a":"B"}]]]`, `[[1.0,{"c":"B"}]]`, "0 "},
		{`{"type":"tuple","items":{"type":"float"}}`, `[[1.5,2.5]]`, `[1.5,2.5]`, "1 "},
		{`{"type":"dict"}`, `[{"a":[1,2],"b":["x",""]}]`, `{"a":2}`, "1 "},
		{`{"type":"dict"}`, `["",{"a":[1]},{"a":["One"]}]`, `{"a":"one"}`, "1 "},
		{`{"type":"dict"}`, `[{"a":[1],"b":["x"]}]`, `{"a":1}`, "0 "},
		{`{"type":"dict"}`, `[{"a":[1]}]`, `{"a":1,"c":1}`, "0 "},
		{`{"type":"dict"}`, `[{"a":[1]}]`, `[1]`, "0 "},
		{`{"type":"array","items":{"type":"dict"}}`, `[[{"a":[1]},{"a":[2]}]]`, `[{"a":1},{"a":2}]`, "1 "},
		{`{"type":"array","items":{"type":"dict"}}`, `[[{"a":[1]},{"a":[2]}]]`, `[{"a":2},{"a":1}]`, "0 "},
		{`{"type":"array","items":{"type":"dict"}}`, `[[{"a":[1]},{"a":[2]}]]`, `[{"a":1}]`, "0 "},
		{`{"type":"array","items":{"type":"dict"}}`, `[[{"a":[1]}]]`, `[1]`, "0 "},
	} {
		run := bfclRun(propertyJSON(c.schema), `[{"f.g":{"x":`+c.accepted+`,"y":["",3]}}]`, `f_g {"x":`+c.value+`}`)
		wantPrefix(t, c.schema+" "+c.accepted+" "+c.value, scoreText(t, "bfcl", ``, run), c.want)
	}
}

func TestBFCLCalls(t *testing.T) {
	const one, both = `[{"f.g":{"x":[1],"y":["",3]}}]`, `[{"f.g":{"x":[1,2]}},{"f.g":{"x":[1]}}]`
	for _, c := range []struct{ truth, calls, want string }{
		{one, `f.g {"x":1}`, "1 "},
		{one, `f_g {"x":1,"y":3}`, "1 "},
		{one, `f_g {"x":1,"y":4}`, `0 f.g: want y of ["",3], got 4`},
		{one, `f_g {"x":1,"z":4}`, `0 f.g: want no z`},
		{one, `f_g {"y":3}`, `0 f.g: x is missing`},
		{one, `f_g [1]`, `0 f.g: the arguments are not a JSON object`},
		{one, `f_g {"x":1} 2`, `0 f.g: the arguments are not a JSON object`},
		{one, `h {"x":"1"}`, `0 want f.g, got h`},
		{one, `f.g {"x":1}; h {}`, `0 want 1 calls, got 2`},
		{one, ``, `0 want 1 calls, got 0`},
		{`[{"f.g":{"x":[1]}}]`, `f.g {"x":1,"y":3}`, `0 f.g: want no y`},
		{`[{"f.g":{"x":[1],"y":[3]}}]`, `f.g {"x":1}`, `0 f.g: y is missing`},
		{`[{"h":{"x":["a"]}},{"f.g":{"x":[1]}}]`, `f.g {"x":1}; h {"x":"a"}`, "1 all 2 calls"},
		// The first call fits the first answer, and then the second has none.
		{both, `f.g {"x":1}; f.g {"x":2}`, "1 "},
		{both, `f.g {"x":2}; f.g {"x":2}`, "0 f.g: want x of [1], got 2; f.g: want x of [1], got 2"},
		{`[{"f.g":{"x":[1]}},{"f.g":{"x":[1]}}]`, `f.g {"x":1}; f.g {"x":2}`, "0 two answers accept the same call alone"},
		{`[]`, ``, "1 all 0 calls"},
		{`[]`, `h {}`, "0 want 0 calls, got 1"},
		{``, ``, `error: accepted calls of the case ""`},
		{`7`, ``, `error: ground_truth of the recording: expected a list, found number`},
		{`[{"k":{}}]`, ``, `error: ground_truth 0 is a call of the unknown function "k"`},
	} {
		wantPrefix(t, c.truth+" "+c.calls, scoreText(t, "bfcl", ``, bfclRun(propertyJSON(`{"type":"integer"}`), c.truth, c.calls)), c.want)
	}
	wantPrefix(t, "irrelevance", scoreText(t, "bfcl", `{"irrelevance":true}`, bfclRun(propertyJSON(`{}`), ``, ``)), "1 ")
	wantPrefix(t, "irrelevance", scoreText(t, "bfcl", `{"irrelevance":true}`, bfclRun(propertyJSON(`{}`), ``, `h {}`)), "0 ")
	const cases = `{"cases":{"c":{"function":[{"name":"f","parameters":{"properties":{"x":{"type":"integer"}},"required":[]}}],"ground_truth":[{"f":{"x":[1]}}]}}}`
	run := bfclRun(`[]`, `[]`, `f {"x":1}`)
	run.Case = "c"
	wantPrefix(t, "of the settings", scoreText(t, "bfcl", cases, run), "1 ")
	run.Case = "d"
	wantPrefix(t, "of another case", scoreText(t, "bfcl", cases, run), "0 ")
}

// The answers that BFCL accepts score 1, and changed ones 0.
func TestBFCLData(t *testing.T) {
	dir := filepath.Join(sharedDir(t), "data", "bfcl")
	cases := 0
	for _, category := range []string{"simple_python", "multiple", "parallel", "parallel_multiple"} {
		truths := readObjects(t, filepath.Join(dir, "possible_answer", "BFCL_v4_"+category+".json"))
		for i, q := range readObjects(t, filepath.Join(dir, "BFCL_v4_"+category+".json")) {
			cases++
			name, function, truth := string(q["id"]), q["function"], truths[i]["ground_truth"]
			fakeGrader := func(calls []llm.Part) string {
				return scoreText(t, "bfcl", ``, &importer.Run{
					Messages: []llm.Message{llm.Assistant(calls...)},
					Meta:     map[string]json.RawMessage{"function": function, "ground_truth": truth},
				})
			}
			calls := acceptedCalls(t, function, truth)
			wantPrefix(t, name, fakeGrader(calls), "1 ")
			slices.Reverse(calls)
			wantPrefix(t, name+" in another order", fakeGrader(calls), "1 ")
			wantPrefix(t, name+" without a call", fakeGrader(calls[1:]), "0 ")
			wantPrefix(t, name+" with a call twice", fakeGrader(append(calls[:1:1], calls...)), "0 ")
			for what, changed := range brokenCalls(t, calls[0]) {
				wantPrefix(t, name+" with "+what, fakeGrader(append([]llm.Part{changed}, calls[1:]...)), "0 ")
			}
		}
	}
	irrelevant := readObjects(t, filepath.Join(dir, "BFCL_v4_irrelevance.json"))
	for _, q := range irrelevant {
		wantPrefix(t, string(q["id"]), scoreText(t, "bfcl", `{"irrelevance":true}`, bfclRun(string(q["function"]), "", "")), "1 ")
		wantPrefix(t, string(q["id"]), scoreText(t, "bfcl", `{"irrelevance":true}`, bfclRun(string(q["function"]), "", "f {}")), "0 ")
	}
	t.Logf("%d cases with answers, %d without", cases, len(irrelevant))
}

// broken are changes of a call that is accepted.
func brokenCalls(t *testing.T, part llm.Part) map[string]llm.Part {
	t.Helper()
	call, ok := part.(llm.ToolCall)
	if !ok {
		t.Fatalf("a %T is not a call", part)
	}
	with := func(change func(args map[string]any)) llm.Part {
		var args map[string]any
		if err := json.Unmarshal([]byte(call.Arguments), &args); err != nil {
			t.Fatal(err)
		}
		change(args)
		raw, err := json.Marshal(args)
		if err != nil {
			t.Fatal(err)
		}
		return llm.ToolCall{Name: call.Name, Arguments: string(raw)}
	}
	all := map[string]llm.Part{
		"another name":   llm.ToolCall{Name: call.Name + "x", Arguments: call.Arguments},
		"an unknown one": with(func(args map[string]any) { args["unknown parameter"] = 1 }),
		"no JSON":        llm.ToolCall{Name: call.Name, Arguments: call.Arguments + "}"},
	}
	with(func(args map[string]any) {
		for name := range args {
			all["another "+name] = with(func(args map[string]any) { args[name] = "no such value" })
			all["a list for "+name] = with(func(args map[string]any) { args[name] = []any{[]any{}} })
		}
	})
	return all
}

// acceptedCalls are the calls of an answer, each with the first values accepted. Two of the
// answers accept an optional parameter that the function does not have.
func acceptedCalls(t *testing.T, function, truth json.RawMessage) (calls []llm.Part) {
	t.Helper()
	var functions []bfclFunction
	if err := json.Unmarshal(function, &functions); err != nil {
		t.Fatal(err)
	}
	var answers []map[string]map[string][]json.RawMessage
	if err := json.Unmarshal(truth, &answers); err != nil {
		t.Fatal(err)
	}
	for _, answer := range answers {
		for name, params := range answer {
			f := functions[slices.IndexFunc(functions, func(f bfclFunction) bool { return f.Name == name })]
			maps.DeleteFunc(params, func(name string, _ []json.RawMessage) bool {
				_, known := f.Parameters.Properties[name]
				return !known
			})
			raw, err := json.Marshal(firsts(params))
			if err != nil {
				t.Fatal(err)
			}
			calls = append(calls, llm.ToolCall{Name: name, Arguments: string(raw)})
		}
	}
	return calls
}

// firsts returns the first values of parameters or of the members of a dict, without omitted ones.
func firsts(values map[string][]json.RawMessage) map[string]json.RawMessage {
	chosen := map[string]json.RawMessage{}
	for name, list := range values {
		for _, raw := range slices.Backward(list) {
			if string(raw) != `""` {
				chosen[name] = plainJSON(raw)
			}
		}
	}
	return chosen
}

// plain is a value accepted, with the first of those of the members of dicts.
func plainJSON(raw json.RawMessage) json.RawMessage {
	var dict map[string][]json.RawMessage
	var dicts []map[string][]json.RawMessage
	var v any
	switch {
	case string(raw) == "null":
		return raw
	case json.Unmarshal(raw, &dict) == nil:
		v = firsts(dict)
	case json.Unmarshal(raw, &dicts) == nil:
		var all []map[string]json.RawMessage
		for _, d := range dicts {
			all = append(all, firsts(d))
		}
		v = all
	default:
		return raw
	}
	text, err := json.Marshal(v)
	if err != nil || len(dicts)+len(dict) == 0 {
		return raw
	}
	return text
}

// readObjects reads the objects of a file, one per line.
func readObjects(t *testing.T, name string) (all []map[string]json.RawMessage) {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	for s := bufio.NewScanner(f); s.Scan(); {
		object := map[string]json.RawMessage{}
		if err := json.Unmarshal(s.Bytes(), &object); err != nil {
			t.Fatal(err)
		}
		all = append(all, object)
	}
	return all
}
