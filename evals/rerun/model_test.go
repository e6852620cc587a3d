package rerun_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sebdah/goldie/v2"
	"pgregory.net/rapid"

	"github.com/looptape/looptape/evals/rerun"
	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
	"github.com/looptape/looptape/trace/importer"
)

// replies returns a model with these responses: each a text, or calls as NAME{JSON} separated by spaces.
func replies(turns ...string) *fake.Model {
	m := fake.NewModel()
	for i, text := range turns {
		t := fake.Response{Text: text}
		if strings.Contains(text, "{") {
			t.Text = ""
			for j, call := range strings.Split(text, " ") {
				name, args, _ := strings.Cut(call, "{")
				t.Calls = append(t.Calls, fake.Call{ID: fmt.Sprintf("n%d.%d", i, j), Name: name, Arguments: "{" + args})
			}
		}
		m.Responses = append(m.Responses, t)
	}
	return m
}

// errands is a conversation of two stages: in the first the model calls a, then b and a
// again, and responds with text; in the second it sends text, calls c, and the user message
// follows immediately; then it responds with text.
const errands = `{"id":"e","messages":[
{"role":"system","content":"Be kind."},
{"role":"user","content":"Run my errands."},
{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"a","arguments":"{\"n\": 1, \"m\": [2.0]}"}}]},
{"role":"tool","tool_call_id":"1","content":"one"},
{"role":"assistant","content":null,"tool_calls":[{"id":"2","type":"function","function":{"name":"b","arguments":""}},{"id":"3","type":"function","function":{"name":"a","arguments":"{\"n\": 1, \"m\": [2.0]}"}}]},
{"role":"tool","tool_call_id":"2","content":"two"},
{"role":"tool","tool_call_id":"3","content":"three"},
{"role":"assistant","content":"Done."},
{"role":"user","content":"And the last one?"},
{"role":"assistant","content":"A moment."},
{"role":"assistant","content":null,"tool_calls":[{"id":"4","type":"function","function":{"name":"c","arguments":"{\"why\":\"so\"}"}}]},
{"role":"tool","tool_call_id":"4","content":"four"},
{"role":"user","content":"Hurry!"},
{"role":"assistant","content":"All done."},
{"role":"user","content":"Bye."}
]}`

// went is how a rerun went.
func went(out *rerun.ModelRerun) string {
	text := fmt.Sprintf("%d turns, %d reworded", out.Steps, out.Reworded)
	if out.Err != nil {
		text += ", failed: " + strings.SplitN(out.Err.Error(), "\n", 2)[0]
	}
	if l := out.Divergence; l != nil {
		text += fmt.Sprintf("; left at %d for %d: %s: was %s, is %s", l.Step, l.RecordedStep, l.Why, l.Recorded, l.Now)
	}
	return text
}

func TestModel(t *testing.T) {
	const a, first = `a{"m":[2],"n":1.0}`, "Done."
	for name, c := range map[string]struct {
		model   *fake.Model
		options *rerun.ModelOptions
		want    string
	}{
		"the same":          {replies(a, "b{} "+a, first, "A moment.", `c{"why":"so"}`, "All done."), nil, "6 turns, 0 reworded"},
		"other words":       {replies(a, "b{} "+a, "Ready.", `c{"why":"so"}`, "Fine."), nil, "5 turns, 2 reworded"},
		"another order":     {replies("b{} "+a+" "+a, first, `c{"why":"so"}`, " All done.\n"), nil, "4 turns, 0 reworded"},
		"another call":      {replies(a, "d{}"), nil, "2 turns, 0 reworded; left at 1 for 1: the call of d {} is not recorded here, or not that often: was b; a {\"n\": 1, \"m\": [2.0]}, is d {}"},
		"other arguments":   {replies(`b{} a{"n":2}`), nil, `1 turns, 0 reworded; left at 0 for 0: the call of a {"n":2} is not recorded here, or not that often: was a {"n": 1, "m": [2.0]}, is b {}; a {"n":2}`},
		"too often":         {replies("b{}", "b{}"), nil, `2 turns, 0 reworded; left at 1 for 0: the call of b {} is not recorded here, or not that often: was a {"n": 1, "m": [2.0]}, is b {}`},
		"too early":         {replies(`c{"why":"so"}`), nil, `1 turns, 0 reworded; left at 0 for 0: the call of c {"why":"so"} is not recorded here, or not that often: was a {"n": 1, "m": [2.0]}, is c {"why":"so"}`},
		"one more":          {replies("b{} "+a+" "+a, a), nil, `2 turns, 0 reworded; left at 1 for 2: the call of a {"m":[2],"n":1.0} is not recorded here, or not that often: was "Done.", is a {"m":[2],"n":1.0}`},
		"an answer":         {replies(a, "Hm."), nil, `2 turns, 0 reworded; left at 1 for 1: the response has no calls; the recorded run called b before: was b; a {"n": 1, "m": [2.0]}, is "Hm."`},
		"a second response": {replies("b{} "+a+" "+a, first, "A moment.", "Another."), nil, `4 turns, 0 reworded; left at 3 for 4: the response has no calls; the recorded run called c {"why":"so"} before: was c {"why":"so"}, is "Another."`},
		"no more":           {replies(a), nil, `1 turns, 0 reworded, failed: loop: step 1: fake: session "", response 2, attempt 1: no response left: the script has 1 response (-want +got):`},
		"continued": {
			replies(a, "d{} b{}", a, "Done."), &rerun.ModelOptions{ContinueOnUnknown: true},
			"4 turns, 0 reworded; left at 1 for 1: the call of d {} is not recorded here, or not that often: was b; a {\"n\": 1, \"m\": [2.0]}, is d {}; b {}",
		},
		"for ever": {
			&fake.Model{Responses: []fake.Response{{Repeat: 100, Calls: []fake.Call{{ID: "x{n}", Name: "d", Arguments: "{}"}}}}}, &rerun.ModelOptions{ContinueOnUnknown: true},
			"22 turns, 0 reworded; left at 0 for 0: the call of d {} is not recorded here, or not that often: was a {\"n\": 1, \"m\": [2.0]}, is d {}",
		},
		"arguments that do not count": {
			replies(a, "b{} "+a, first, `c{"why":"no"}`, "All done."),
			&rerun.ModelOptions{Compare: rerun.Options{Ignore: map[string][]string{"c": {"/why"}}}}, "5 turns, 0 reworded",
		},
	} {
		t.Run(name, func(t *testing.T) {
			run := runs(t, oneLine(errands))[0]
			out, err := rerun.Model(t.Context(), &run, c.model, c.options)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, went(out)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// What the model gets on its way, with other prompts and tools, in the trace.
func TestModelTrace(t *testing.T) {
	run := runs(t, oneLine(errands))[0]
	out, err := rerun.Model(t.Context(), &run, replies(`b{} a{"n":1,"m":[2]} a{"n":1,"m":[2]} x{}`, "d{}", "Ready.", "never said"), &rerun.ModelOptions{
		Name: "m", System: "Be brief. {recorded} {recorded}", Prompt: "Quick: {recorded}", ContinueOnUnknown: true,
		Tools: []llm.Tool{{Name: "a", Description: "Does a.", Parameters: []byte(`{"type":"object","required":["z"]}`)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	goldie.New(t).Assert(t, "left", []byte(trace.FormatText(out.Events)))

	out, err = rerun.Model(t.Context(), &run, replies(`b{} a{"n":1,"m":[2]} a{"n":1,"m":[2]}`, "Ready.", `c{"why":"so"}`, "Well."), nil)
	if err != nil {
		t.Fatal(err)
	}
	goldie.New(t).Assert(t, "kept", []byte(trace.FormatText(out.Events)))
	again, err := rerun.Model(t.Context(), &importer.Run{Name: "again", Events: out.Events}, replies(`b{} a{"n":1,"m":[2]} a{"n":1,"m":[2]}`, "Ready.", `c{"why":"so"}`, "Other."), nil)
	if err != nil || went(again) != "4 turns, 1 reworded" {
		t.Errorf("the rerun of the rerun: %v, %v", went(again), err)
	}
}

// A recording that ends with calls, or with a call without a result, ends there.
func TestModelEndsWithCalls(t *testing.T) {
	const messages = `{"messages":[{"role":"user","content":"Go."},{"role":"assistant","content":"Well,","tool_calls":[{"id":"1","type":"function","function":{"name":"a","arguments":"{}"}}]}%s]}`
	for name, results := range map[string]string{"answered": `,{"role":"tool","tool_call_id":"1","content":"one"},{"role":"user","content":"Thanks."}`, "not answered": ""} {
		run := runs(t, fmt.Sprintf(messages, results))[0]
		out, err := rerun.Model(t.Context(), &run, replies("a{}", "never said"), nil)
		if err != nil || went(out) != "1 turns, 0 reworded" {
			t.Errorf("%s: %s, %v", name, went(out), err)
		}
	}
}

// conversation is a conversation with calls of a tool a and texts in the order of a
// string: a is a call, - a text, and u a user message.
func conversation(t *testing.T, text string) *importer.Run {
	t.Helper()
	messages := []string{`{"role":"user","content":"go"}`}
	for i, r := range text {
		switch r {
		case 'a':
			messages = append(messages, fmt.Sprintf(`{"role":"assistant","content":null,"tool_calls":[{"id":"c%d","type":"function","function":{"name":"a","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c%d","content":"%d"}`, i, i, i))
		case '-':
			messages = append(messages, `{"role":"assistant","content":"-"}`)
		case 'u':
			messages = append(messages, `{"role":"user","content":"more"}`)
		}
	}
	return &runs(t, `{"messages":[`+strings.Join(messages, ",")+`]}`)[0]
}

// Text before the last call of a stage is allowed as often as it was recorded.
func TestModelRespondsEarly(t *testing.T) {
	for _, c := range []struct {
		recorded, model string
		want            string
	}{
		{"-a-u-a-", "-a--a-", "6 turns, 0 reworded"},
		{"-a-u-a-", "a-a-", "4 turns, 0 reworded"},
		{"-a-u-a-", "--", "2 turns, 0 reworded; left at 1 for 1: the response has no calls; the recorded run called a {} before: was a {}, is \"-\""},
		{"a-", "-", "1 turns, 0 reworded; left at 0 for 0: the response has no calls; the recorded run called a {} before: was a {}, is \"-\""},
		{"auaa-", "aaa-", "4 turns, 0 reworded"},
	} {
		var turns []string
		for _, r := range c.model {
			turns = append(turns, strings.Replace(string(r), "a", "a{}", 1))
		}
		out, err := rerun.Model(t.Context(), conversation(t, c.recorded), replies(turns...), nil)
		if err != nil || went(out) != c.want {
			t.Errorf("%s as %s: got %s and %v, want %s", c.model, c.recorded, went(out), err, c.want)
		}
		said := 0
		for _, ev := range out.Events {
			if _, ok := ev.Body.(trace.HistoryRewrite); ok {
				said++
			}
		}
		if want := strings.Count(c.recorded, "au"); said != want {
			t.Errorf("%s: got %d user messages after results, want %d", c.recorded, said, want)
		}
	}
}

// A report counts runs by how they went, and lists of calls those that part.
func TestReports(t *testing.T) {
	at := &rerun.Recorded{File: "f", Run: *conversation(t, "a-")}
	m := rerun.NewModelReport()
	for _, turns := range [][]string{{"a{}", "-"}, {"b{}"}, {"a{}"}} {
		m.Add(at, must(rerun.Model(t.Context(), &at.Run, replies(turns...), nil)), nil)
	}
	m.Add(at, nil, errors.New("no"))
	var paths []string
	for _, l := range m.Runs {
		paths = append(paths, fmt.Sprint(l.Path, " ", l.Steps, " ", l.Error != ""))
	}
	if diff := cmp.Diff([]string{"same 2 false", "diverged 1 false", "failed 1 true", "failed 0 true"}, paths); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int{rerun.PathSame: 1, rerun.PathDiverged: 1, rerun.PathFailed: 2}, m.Paths); diff != "" || !m.Diverged() {
		t.Errorf("paths (-want +got):\n%s", diff)
	}
	r := rerun.NewToolsReport()
	r.Add(at, must(rerun.Tools(t.Context(), &at.Run, nil)), nil)
	if r.Differs() || len(r.Runs[0].Calls) > 0 {
		t.Errorf("of a run without tools: %+v", r)
	}
	r.Add(at, nil, errors.New("no"))
	r.Unread(&importer.Error{File: "g", Line: 7, Err: errors.New("broken")})
	if !r.Differs() || r.Runs[1].Error != "no" || r.Unreadable[0].File != "g" || r.Unreadable[0].Line != 7 {
		t.Errorf("of a run that cannot be rerun: %+v", r)
	}
}

// A case that is named by its user message keeps its name with another prompt.
func TestWriteCase(t *testing.T) {
	run := conversation(t, "a-")
	out := must(rerun.Model(t.Context(), run, replies("a{}", "-"), &rerun.ModelOptions{Prompt: "Quick!"}))
	var file strings.Builder
	sink := trace.NewWriter(&file, trace.Header{})
	if err := errors.Join((&rerun.Recorded{Run: *run}).Write(sink, 1, out.Events), sink.Close()); err != nil {
		t.Fatal(err)
	}
	if back := runs(t, file.String())[0]; back.Case != "go" || back.Epoch != importer.NoEpoch {
		t.Errorf("read back: case %q, epoch %d", back.Case, back.Epoch)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestModelErrors(t *testing.T) {
	silent := runs(t, `{"messages":[{"role":"user","content":"a"}]}`)[0]
	if _, err := rerun.Model(t.Context(), &silent, replies(), nil); err == nil || !strings.Contains(err.Error(), "has no model response") {
		t.Errorf("a run without a response: got the error %v", err)
	}
	run := runs(t, oneLine(errands))[0]
	if _, err := rerun.Model(t.Context(), &run, replies(), &rerun.ModelOptions{Compare: rerun.Options{Ignore: map[string][]string{"*": {"x"}}}}); err == nil {
		t.Error("an invalid pointer is accepted")
	}
	if _, err := rerun.Model(t.Context(), &run, nil, nil); err == nil || !strings.Contains(err.Error(), "New needs a model") {
		t.Errorf("without a model: got the error %v", err)
	}
	run.Messages[1].Parts = []llm.Part{llm.ToolResult{ID: "x"}}
	if _, err := rerun.Model(t.Context(), &run, replies("x"), nil); err == nil || !strings.Contains(err.Error(), "put it into a tool message") {
		t.Errorf("of a history that cannot be sent: got the error %v", err)
	}
	run = runs(t, oneLine(errands))[0]
	ctx, stop := context.WithCancel(t.Context())
	model := llm.ModelFunc(func(ctx context.Context, _ *llm.Request) iter.Seq2[llm.Event, error] {
		return func(yield func(llm.Event, error) bool) { stop(); yield(nil, context.Cause(ctx)) }
	})
	if _, err := rerun.Model(ctx, &run, model, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("of a context that has ended: got the error %v", err)
	}
}

// TestModelProperty checks that a model with the recorded responses never diverges.
func TestModelProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		messages := []string{`{"role":"user","content":"go"}`}
		var turns []string
		for n := range rapid.IntRange(1, 8).Draw(t, "turns") {
			var calls, results []string
			turn := "said"
			for i := range rapid.IntRange(0, 3).Draw(t, "calls") {
				name, arg := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "name"), rapid.IntRange(0, 1).Draw(t, "arg")
				calls = append(calls, fmt.Sprintf(`{"id":"c%d","type":"function","function":{"name":%q,"arguments":"{\"n\": %d}"}}`, i, name, arg))
				results = append(results, fmt.Sprintf(`{"role":"tool","tool_call_id":"c%d","content":"%d.%d"}`, i, n, i))
				turn += fmt.Sprintf(` %s{"n":%d}`, name, arg)
			}
			turns = append(turns, strings.TrimPrefix(turn, "said "))
			messages = append(messages, fmt.Sprintf(`{"role":"assistant","content":"said","tool_calls":[%s]}`, strings.Join(calls, ",")))
			messages = append(messages, results...)
			if turn == "said" || rapid.Bool().Draw(t, "user") {
				messages = append(messages, `{"role":"user","content":"more"}`)
			}
		}
		src, err := importer.Open("f", strings.NewReader(`{"messages":[`+strings.Join(messages, ",")+`]}`))
		if err != nil {
			t.Fatal(err)
		}
		for run, err := range src.Runs() {
			if err != nil {
				t.Fatal(err)
			}
			out, err := rerun.Model(t.Context(), &run, replies(turns...), nil)
			if err != nil || went(out) != fmt.Sprintf("%d turns, 0 reworded", len(turns)) {
				t.Fatalf("%v: %s of %q", err, went(out), turns)
			}
			live, err := rerun.Tools(t.Context(), &run, nil)
			if err != nil || len(live.Calls) != strings.Count(strings.Join(turns, " "), "{") {
				t.Fatalf("%v: %d calls of %q", err, len(live.Calls), turns)
			}
		}
	})
}

func TestReadTools(t *testing.T) {
	strict := true
	var o rerun.ModelOptions
	err := o.ReadTools([]byte(`[{"type":"function","function":{"name":"a","description":"A.","parameters":{"type":"object"},"strict":true}},{"name":"b","input_schema":{}}]`))
	want := []llm.Tool{{Name: "a", Description: "A.", Parameters: []byte(`{"type":"object"}`), Strict: &strict}, {Name: "b", Parameters: []byte(`{}`)}}
	if diff := cmp.Diff(want, o.Tools); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for text, want := range map[string]string{`{}`: "want an array of tool definitions: ", `[{"name":"a"},{}]`: "tool 1: missing name"} {
		if err := new(rerun.ModelOptions).ReadTools([]byte(text)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got the error %v", text, err)
		}
	}
}
