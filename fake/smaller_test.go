package fake_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/fake"
)

// TestSmaller: each smaller script is a valid scenario with less in it, and scripts become as small as they can.
func TestSmaller(t *testing.T) {
	script, err := fake.ParseScript("s", []byte(`version: 2
doc: text
loop: {max_steps: 3, concurrency: 2}
gates: [g]
tools:
  a: {text: fine, gate: g, description: does it}
  b: {}
models:
  main:
    - {repeat: 3, calls: [{id: "c{n}", name: a, arguments: {}}]}
    - text: I call a.
      reasoning: twice
      usage: {input_tokens: 1, output_tokens: 2}
      model: m
      chunk_size: 2
      calls: [{id: d1, name: a, arguments: {}}, {id: d2, name: a, arguments: {}}]
      expect: {tools: [a]}
    - {text: done, delay: 1s}
  other: [{text: hi}]
system: be brief
history: [{user: hi}]
input: go
`))
	if err != nil {
		t.Fatal(err)
	}
	for steps := 0; ; steps++ {
		before := yamlOf(t, script)
		var next *fake.Script
		for s := range script.Smaller() {
			after := yamlOf(t, s)
			if after == before {
				t.Fatalf("a smaller script is the same:\n%s", after)
			}
			if next == nil {
				next = s
			}
		}
		if yamlOf(t, script) != before {
			t.Fatal("Smaller changes its script")
		}
		if next == nil {
			if want := "version: 2\ntools:\n  a: {}\nmodels:\n  main:\n    - calls:\n        - id: c1\n          name: a\n          arguments: '{}'\ninput: go\n"; before != want {
				t.Errorf("after %d steps:\n%s\nwant\n%s", steps, before, want)
			}
			return
		}
		script = next
	}
}

func yamlOf(t *testing.T, s *fake.Script) string {
	t.Helper()
	yaml, err := s.YAML()
	if err != nil {
		t.Fatal(err)
	}
	return string(yaml)
}

// TestSmallerRenames: the choices of a script without a response or a call have the numbers of the smaller script.
func TestSmallerRenames(t *testing.T) {
	call := func(id string) fake.Call { return fake.Call{ID: id, Name: "a", Arguments: "{}"} }
	script := &fake.Script{Models: []fake.ModelScript{
		{Name: "main", Responses: []fake.Response{{Calls: []fake.Call{call("c1"), call("c2"), call("c3")}}, {Text: "x"}}},
		{Name: "sub", Responses: []fake.Response{{Text: "y"}, {Text: "z"}}},
	}, Tools: []fake.Tool{{Name: "a"}}}
	seen := map[string]bool{}
	for s, rename := range script.Smaller() {
		var responses, calls []string
		for _, m := range s.Models {
			for i, r := range m.Responses {
				responses = append(responses, m.Name+" "+r.Text)
				if i == 0 {
					for _, c := range r.Calls {
						calls = append(calls, c.ID)
					}
				}
			}
		}
		for _, choice := range [][2]string{
			{"model call 2", "fails"}, {"model call 2, attempt 2 #2", "fails"}, {"model call sub 2", "fails"}, {"before the answer 2", "the run is canceled"},
			{"next answer 3", "sub 2"}, {"next answer 3 #2", "c3"}, {"model call 1", "call 3 has no end"}, {"after model.response of step 2", "the consumer stops"},
		} {
			at, option := rename(choice[0], choice[1])
			if at != choice[0] || option != choice[1] {
				seen[strings.Join(responses, ",")+" "+strings.Join(calls, " ")+": "+at+": "+option] = true
			}
		}
	}
	for _, want := range []string{
		"main x,sub y,sub z : model call 1: fails",
		"main x,sub y,sub z : model call 1, attempt 2 #2: fails",
		"main x,sub y,sub z : before the answer 1: the run is canceled",
		"main x,sub y,sub z : after model.response of step 1: the consumer stops",
		"main ,main x,sub z c1 c2 c3: model call sub 1: fails",
		"main ,main x,sub z c1 c2 c3: next answer 3: sub 1",
		"main ,main x,sub y,sub z c2 c3: model call 1: call 2 has no end",
		"main ,main x,sub y,sub z c2 c3: next answer 2 #2: c3",
	} {
		if !seen[want] {
			t.Errorf("no smaller script has %q", want)
		}
	}
	if t.Failed() {
		t.Log(slices.Sorted(func(yield func(string) bool) {
			for s := range seen {
				if !yield(s) {
					return
				}
			}
		}))
	}
}

// TestSmallerOccurrences: the number of a choice between answers falls with each omitted response, or call, that has an earlier choice between
// the same number of answers.
func TestSmallerOccurrences(t *testing.T) {
	call := fake.Call{Name: "a", Arguments: "{}"}
	script := &fake.Script{Models: []fake.ModelScript{{Name: "main", Responses: []fake.Response{
		{Calls: []fake.Call{call, call}}, {Calls: []fake.Call{call, call, call}}, {Calls: []fake.Call{call, call}}, {Text: "x"},
	}}}, Tools: []fake.Tool{{Name: "a"}}}
	var got []string
	for s, rename := range script.Smaller() {
		text := ""
		for _, r := range s.Models[0].Responses {
			text += strconv.Itoa(len(r.Calls))
		}
		for _, at := range []string{"next answer 2", "next answer 2 #2", "next answer 2 #3", "next answer 3"} {
			renamed, _ := rename(at, "a")
			text += ", " + strings.TrimPrefix(renamed, "next answer ")
		}
		got = append(got, text)
	}
	same, lower := ", 2, 2 #2, 2 #3, 3", ", 2, 2, 2 #2, 3"
	fewer := ", 1, 1 #2, 1 #3, 2"
	want := []string{
		"23" + same,                              // the first half
		"232" + same, "230" + same, "230" + same, // without response 4, without response 3
		"220" + same, "220, 2, 2 #2, 2 #2, 3", // without response 2
		"320" + same, "320" + lower, // without response 1
		"1320" + lower, "1320" + fewer, "1320" + lower, "1320" + fewer,
		"2220" + same, "2220" + fewer, "2220" + same, "2220" + fewer, "2220" + same, "2220" + fewer,
		"2310" + same, "2310" + fewer, "2310" + same, "2310" + fewer,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the calls of the responses and the choices (-want +got):\n%s", diff)
	}
}

// TestSmallerContents: each content of a response can be omitted alone.
func TestSmallerContents(t *testing.T) {
	script, err := fake.ParseScript("s", []byte(`version: 2
tools: {a: {}}
models:
  main:
    - {text: first, usage: {input_tokens: 1}, model: m, reasoning: r, chunk_size: 2, calls: [{id: c1, name: a, arguments: {}}]}
    - {text: done, usage: {input_tokens: 2}}
input: go
`))
	if err != nil {
		t.Fatal(err)
	}
	for omitted, want := range map[string]int{"text: first": 2, "model: m": 2, "reasoning: r": 2, "chunk_size: 2": 2, "input_tokens: 1": 3, "input_tokens: 2": 3, "text: done": 0} {
		got := 0
		for s := range script.Smaller() {
			if len(s.Models[0].Responses) == 2 && len(s.Models[0].Responses[0].Calls) == 1 && !strings.Contains(yamlOf(t, s), omitted) {
				got++
			}
		}
		if got != want {
			t.Errorf("%q is omitted in %d scripts, want %d", omitted, got, want)
		}
	}
}
