package importer_test

import (
	"encoding/csv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/trace/importer"
)

// langfuseRows are observations of two traces, and a trace, as Langfuse's tables are exported.
const langfuseRows = `[{"id":"g1","traceId":"t1","type":"GENERATION","name":"first","parentObservationId":"s","startTime":"2026-01-01T00:00:01.000Z","input":[{"role":"user","content":"hi"}],"output":{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]},"usageDetails":{"input":10,"output":2},"totalCost":0.5,"traceTags":["a"],"good":[0.25,0.75],"label":["x"],"other":null},
{"id":"g2","traceId":"t2","type":"GENERATION","name":"only","parentObservationId":null,"startTime":"2026-01-01T00:00:02.000Z","input":"hi","output":"yo","usageDetails":{"input":3,"output":1}},
{"id":"s","traceId":"t1","type":"SPAN","name":"root","parentObservationId":null,"startTime":"2026-01-01T00:00:00.000Z","input":{"q":"hi"},"output":null},
{"id":"g3","traceId":"t1","type":"GENERATION","name":"last","parentObservationId":"s","startTime":"2026-01-01T00:00:03.000Z","input":[{"role":"user","content":"hi"},{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c1","content":"fine"}],"output":"yo","usageDetails":{"input":20,"output":4},"totalCost":0.25}]
`

// traceRow is a row of the table of traces.
const traceRow = `{"id":"t9","timestamp":"2026-01-01T00:00:00.000Z","name":"n","userId":null,"sessionId":null,"tags":["a"],"bookmarked":false,"public":false,"input":"hi","output":"yo","latency":1.5,"usage":{"promptTokens":3,"completionTokens":1},"totalCost":0.5,"scores":{},"good":[1]}`

// asCSV returns a list of objects as CSV, with JSON in fields that are neither strings nor null.
func asCSV(t *testing.T, columns []string, rows ...map[string]string) string {
	t.Helper()
	var b strings.Builder
	w := csv.NewWriter(&b)
	records := [][]string{columns}
	for _, row := range rows {
		var record []string
		for _, name := range columns {
			record = append(record, row[name])
		}
		records = append(records, record)
	}
	if err := w.WriteAll(records); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestLangfuseRows(t *testing.T) {
	const (
		first  = `t1 user:(hi) assistant:[c1 f{}] tool:[c1 =fine] assistant:(yo) {"input_tokens":30,"output_tokens":6}`
		second = `t2 user:(hi) assistant:(yo) {"input_tokens":3,"output_tokens":1}`
	)
	list := strings.Trim(langfuseRows, "[]\n")
	snake := strings.NewReplacer("traceId", "trace_id", "parentObservationId", "parent_observation_id", "startTime", "start_time", "usageDetails", "usage_details").Replace(list)
	columns := []string{"id", "traceId", "type", "parentObservationId", "startTime", "input", "output", "usageDetails", "good"}
	table := asCSV(t, columns,
		map[string]string{"id": "g1", "traceId": "t1", "type": "GENERATION", "startTime": "2026-01-01T00:00:01.000Z", "input": `[{"role":"user","content":"hi"}]`, "output": "yo", "usageDetails": `{"input":10,"output":2}`, "good": "[0.5]"},
		map[string]string{"id": "g2", "traceId": "t2", "type": "GENERATION", "startTime": "2026-01-01T00:00:02.000Z", "input": "hi", "output": "yo"})
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"a list":                {langfuseRows, []string{first, second}},
		"one per line":          {strings.ReplaceAll(list, ",\n", "\n") + "\n", []string{first, second}},
		"in snake case":         {strings.ReplaceAll(snake, ",\n", "\n") + "\n", []string{first, second}},
		"zstd":                  {string(zstandard(t, langfuseRows)), []string{first, second}},
		"CSV":                   {table, []string{`t1 user:(hi) assistant:(yo) {"input_tokens":10,"output_tokens":2}`, "t2 user:(hi) assistant:(yo)"}},
		"traces":                {"[" + traceRow + "]", []string{`t9 user:(hi) assistant:(yo) {"input_tokens":3,"output_tokens":1}`}},
		"without trace ids":     {`[{"id":"a","traceId":null,"type":"GENERATION","parentObservationId":null,"input":"hi","output":"yo"}]`, []string{"trace-1 user:(hi) assistant:(yo)"}},
		"a trace and its calls": {`{"id":"t1","timestamp":"x","bookmarked":false,"input":"a","output":"b"}` + "\n" + strings.ReplaceAll(list, ",\n", "\n") + "\n", []string{first, second}},
	} {
		format, runs, failed, unknown := readAll(t, "file", []byte(c.text))
		if diff := cmp.Diff(c.want, outline(runs)); diff != "" || format != "langfuse-rows" || failed != nil || unknown != nil {
			t.Errorf("%s: %s, errors %v %v, runs (-want +got):\n%s", name, format, failed, unknown, diff)
		}
	}
}

// The columns with lists of numbers are scores.
func TestLangfuseRowsScores(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want map[string]float64
		cost float64
	}{
		"observations": {langfuseRows, map[string]float64{"good": 0.5}, 0.75},
		"a trace":      {"[" + traceRow + "]", map[string]float64{"good": 1}, 0.5},
	} {
		_, runs, _, _ := readAll(t, "file", []byte(c.text))
		got := map[string]float64{}
		for _, s := range runs[0].Scores {
			got[s.Name] = s.Value
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: scores (-want +got):\n%s", name, diff)
		}
		if cost := runs[0].Resources().Cost; cost != c.cost {
			t.Errorf("%s: cost %v, want %v", name, cost, c.cost)
		}
	}
}

func TestLangfuseRowsBroken(t *testing.T) {
	for name, c := range map[string]struct {
		old, new, want string
	}{
		"not JSON":      {`"traceId":"t2"`, `"traceId":`, "file:2: [1].traceId: expected a value"},
		"no object":     {`{"id":"s"`, "7,\n" + `{"id":"s"`, "file:3: [2]: the row is not an object (in trace-3)"},
		"unknown type":  {`"type":"SPAN"`, `"type":"LOOP"`, `file:3: [2]: the observation "root" has the unknown type "LOOP" (in t1)`},
		"no messages":   {`"input":"hi","output":"yo","usage`, `"input":null,"output":null,"usage`, `file:2: [1]: the model call "only" has no messages: let the program send its input and output to Langfuse (in t2)`},
		"unknown form":  {`"input":"hi","output":"yo","usage`, `"input":{"x":1},"output":"yo","usage`, `file:2: [1].input: the messages of the model call "only" cannot be read: the messages are in an unknown form: its members are "x" (in t2)`},
		"a trace twice": {langfuseRows, "[" + traceRow + ",\n" + traceRow + "]", `file:2: [1]: the trace "t9" is in another row, too (in t9)`},
	} {
		_, _, failed, unknown := readAll(t, "file", []byte(strings.Replace(langfuseRows, c.old, c.new, 1)))
		if diff := cmp.Diff([]string{c.want}, texts(append(failed, unknown...))); diff != "" {
			t.Errorf("%s: errors (-want +got):\n%s", name, diff)
		}
	}
}

// A column of CSV with the name of another one is read.
func TestColumnsWithOneName(t *testing.T) {
	src, err := importer.Open("file", strings.NewReader("prompt,answer,note,note\nhi,yo,a,b\n"))
	if err != nil {
		t.Fatal(err)
	}
	for run, err := range src.Runs() {
		if got := string(run.Meta["note"]) + string(run.Meta["note (2)"]); err != nil || got != `"a""b"` {
			t.Errorf("got %s, error %v", got, err)
		}
	}
}
