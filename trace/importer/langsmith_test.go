package importer_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/importer"
)

// langSmithExample is an upload with a chain of two calls of a model, the second of LangChain, and a
// tool. The changes of a call have no id.
const langSmithExample = `{"post":[
{"id":"00000000-0000-0000-0000-000000000001","trace_id":"00000000-0000-0000-0000-000000000001","dotted_order":"1Z00000000-0000-0000-0000-000000000001","name":"agent","run_type":"chain","inputs":{"q":"Weather?"},"outputs":{"a":"60F"},"feedback_stats":{"right":{"n":2,"avg":0.5}}},
{"id":"00000000-0000-0000-0000-000000000002","trace_id":"00000000-0000-0000-0000-000000000001","dotted_order":"1Z00000000-0000-0000-0000-000000000001.2Z00000000-0000-0000-0000-000000000002","name":"ChatOpenAI","run_type":"llm","inputs":{"model":"m","messages":[{"role":"user","content":"Weather?"}]},"outputs":{}},
{"id":"00000000-0000-0000-0000-000000000003","trace_id":"00000000-0000-0000-0000-000000000001","parent_run_id":"00000000-0000-0000-0000-000000000001","dotted_order":"1Z00000000-0000-0000-0000-000000000001.3Z00000000-0000-0000-0000-000000000003","name":"find","run_type":"tool","inputs":{"q":"sf"},"outputs":{"output":"60F"}},
{"id":"00000000-0000-0000-0000-000000000004","trace_id":"00000000-0000-0000-0000-000000000001","dotted_order":"1Z00000000-0000-0000-0000-000000000001.4Z00000000-0000-0000-0000-000000000004","name":"ChatOpenAI","run_type":"llm","inputs":{"messages":[[
 {"lc":1,"type":"constructor","id":["langchain","schema","messages","HumanMessage"],"kwargs":{"content":"Weather?"}},
 {"lc":1,"type":"constructor","id":["langchain","schema","messages","AIMessage"],"kwargs":{"content":"","tool_calls":[{"name":"find","args":{"q":"sf"},"id":"c1"}]}},
 {"lc":1,"type":"constructor","id":["langchain","schema","messages","ToolMessage"],"kwargs":{"content":"60F","tool_call_id":"c1"}}]]},
 "outputs":{"generations":[[{"text":"It is 60F","type":"ChatGeneration","message":{"lc":1,"type":"constructor","id":["langchain","schema","messages","AIMessage"],"kwargs":{"content":"It is 60F","usage_metadata":{"input_tokens":20,"output_tokens":5}}}}]]}}],
"patch":[
{"dotted_order":"1Z00000000-0000-0000-0000-000000000001.2Z00000000-0000-0000-0000-000000000002","trace_id":"00000000-0000-0000-0000-000000000001","end_time":5,"outputs":{"choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"find","arguments":"{\"q\":\"sf\"}"}}]}}],"usage_metadata":{"input_tokens":9,"output_tokens":4,"input_token_details":{"cache_read":2}}}}]}
`

func TestLangSmith(t *testing.T) {
	const trace = "00000000-0000-0000-0000-000000000001"
	want := []string{trace + ` user:(Weather?) assistant:[c1 find{"q":"sf"}] tool:[c1 =60F] assistant:(It is 60F) {"input_tokens":29,"output_tokens":9,"cache_read_input_tokens":2}`}
	lines := `{"id":"1","trace_id":"t","run_type":"llm","inputs":{"messages":[{"role":"user","content":"Hi"}]},"outputs":{"role":"assistant","content":"Ho"}}
{"id":"2","trace_id":"u","run_type":"tool","inputs":{"x":1},"outputs":{"y":2}}
`
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"an upload": {langSmithExample, want}, "compressed": {string(zstandard(t, langSmithExample)), want},
		"runs, one per line": {lines, []string{"t user:(Hi) assistant:(Ho)", "u"}},
		"a list of runs":     {"[" + strings.Replace(lines, "}\n{", "},\n{", 1) + "]", []string{"t user:(Hi) assistant:(Ho)", "u"}},
	} {
		format, runs, failed, unknown := readAll(t, "file", []byte(c.text))
		if diff := cmp.Diff(c.want, outline(runs)); diff != "" || format != "langsmith" || failed != nil || unknown != nil {
			t.Errorf("%s: %s, errors %v %v, runs (-want +got):\n%s", name, format, failed, unknown, diff)
			continue
		}
		if name == "an upload" && (len(runs[0].Scores) != 1 || runs[0].Scores[0].Value != 0.5) {
			t.Errorf("scores %+v", runs[0].Scores)
		}
	}
}

func TestLangSmithBroken(t *testing.T) {
	const in = " (in 00000000-0000-0000-0000-000000000001)"
	for name, c := range map[string]struct{ old, new, want string }{
		"not JSON":     {`"end_time":5`, `"end_time":`, "file:11: patch[0].end_time: expected a value"},
		"unknown type": {`"run_type":"tool"`, `"run_type":"agent"`, `file:4: post[2]: the run has the unknown run_type "agent"` + in},
		"no type":      {`"run_type":"tool"`, `"type":"tool"`, "file:4: post[2]: the run has no run_type: its beginning is missing" + in},
		"inputs":       {`"inputs":{"model":"m","messages":[{"role":"user","content":"Weather?"}]}`, `"inputs":{"x":"Weather?"}`, `file:3: post[1].inputs: the messages of the call of a model cannot be read: the messages are in an unknown form: its members are "x"` + in},
	} {
		t.Run(name, func(t *testing.T) {
			_, runs, failed, unknown := readAll(t, "file", []byte(strings.Replace(langSmithExample, c.old, c.new, 1)))
			if diff := cmp.Diff([]string{c.want}, texts(append(failed, unknown...))); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
			if len(runs) > 0 && len(runs[0].Checkable()) > 0 {
				t.Error("messages can be checked although some may be missing")
			}
		})
	}
}

// An output that has the response in a member of another name is read; one with calls in an unknown form is
// reported.
func TestLangSmithNestedOutput(t *testing.T) {
	const call = `[{"id":"a","type":"function","function":{"name":"weather","arguments":"{}"}}]`
	const message = `{"role":"assistant","content":null,"tool_calls":` + call + `}`
	for name, c := range map[string]struct{ outputs, want string }{
		"body":             {`{"response":{"id":"x","object":"chat.completion","model":"m","choices":[{"index":0,"message":` + message + `,"finish_reason":"tool_calls"}]}}`, "weather"},
		"message":          {`{"result":` + message + `,"seconds":2}`, "weather"},
		"two levels":       {`{"data":{"result":` + message + `}}`, "weather"},
		"in a string":      {`{"output":` + strconv.Quote(`{"result":`+message+`}`) + `}`, "weather"},
		"list":             {`{"steps":[` + message + `]}`, `"steps" has calls`},
		"two members":      {`{"a":` + message + `,"b":` + message + `}`, `"b" has calls`},
		"unknown call":     {`{"result":{"step":{"type":"tool_use","name":"weather"}}}`, "unknown form"},
		"unknown member":   {`{"result":{"toolInvocations":[{"name":"weather"}]}}`, "unknown form"},
		"too many levels":  {strings.Repeat(`{"a":`, 40) + `"x"` + strings.Repeat(`}`, 40), "unknown form"},
		"answer with JSON": {`{"result":{"city":"Bern","choices":["a"],"type":"city"}}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			file := `{"id":"1","trace_id":"t","dotted_order":"1Z1","run_type":"llm","inputs":{"messages":[{"role":"user","content":"q"}]},"outputs":` + c.outputs + `}`
			s, err := importer.Open("file", strings.NewReader(file))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for run, err := range s.Runs() {
				if err != nil {
					t.Fatal(err)
				}
				for _, u := range run.Unknown {
					got = append(got, u.Error())
				}
				for _, m := range run.Messages {
					for _, p := range m.Parts {
						if call, ok := p.(llm.ToolCall); ok {
							got = append(got, call.Name)
						}
					}
				}
			}
			if c.want == "" && got != nil || c.want != "" && (len(got) != 1 || !strings.Contains(got[0], c.want)) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
