package importer_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/trace/importer"
)

// inspectLog is a log of these samples.
func inspectLog(samples ...string) string {
	return `{"version":2,"status":"success","eval":{"model":"m"},"results":{"stderr":NaN},"samples":[` + strings.Join(samples, ",\n") + `],"reductions":[]}`
}

func TestInspectSamples(t *testing.T) {
	const wrong = "invalid score: want a number, a boolean, or one of C, I, P and N"
	for name, c := range map[string]struct{ in, want string }{
		"scores": {
			`{"id":"a","epoch":1,"target":" Yes","scores":{"x":{"value":"C"},"y":{"value":"I"},"z":{"value":"P"},"w":{"value":"N"}}}`,
			`sample-a/epoch-1 case="a" epoch=1 want=[" Yes"] x=1 y=0 z=0.5 w=0`,
		},
		"words": {
			`{"id":7,"epoch":0,"target":["a","b"],"scores":{"a":{"value":"Yes"},"b":{"value":"no"},"c":{"value":"TRUE"},"d":{"value":"false"},"e":{"value":"2.5"}}}`,
			`sample-7/epoch-0 case="7" epoch=0 want=["a" "b"] a=1 b=0 c=1 d=0 e=2.5`,
		},
		"values": {
			`{"id":1,"target":"","scores":{"a":{"value":0.25},"b":{"value":true},"c":{"value":false},"d":{"value":null},"e":{}}}`,
			`sample-1 case="1" epoch=-1 a=0.25 b=1 c=0`,
		},
		"values by name": {
			`{"id":1,"scores":{"g":{"value":{"x":"C","y":0.5,"z":null,"w":"?"}}}}`,
			`sample-1 case="1" epoch=-1 g/x=1 g/y=0.5 g/w: ` + wrong,
		},
		"no values": {
			`{"id":1,"scores":{"a":{"value":NaN},"b":{"value":"good"},"c":{"value":[1,2]},"d":{"value":-Infinity,"explanation":"NaN \" NaN"},"e":{"value":"c"}}}`,
			`sample-1 case="1" epoch=-1 a: the score is NaN: it has no value b: ` + wrong + ` c: ` + wrong + ` d: ` + wrong + ` e: ` + wrong,
		},
		"a score without a name": {
			`{"id":1,"score":{"value":"C"}}`,
			`sample-1 case="1" epoch=-1 score=1`,
		},
		"an answer": {
			`{"id":1,"output":{"completion":"attachment://k","choices":[{"message":{"role":"assistant","content":"no"}}]},"messages":[{"role":"user","content":"attachment://k"}],"attachments":{"k":"yes"}}`,
			`sample-1 case="1" epoch=-1 answer="yes"`,
		},
		"a response with choices": {
			`{"id":1,"output":{"choices":[{"stop_reason":"stop","message":{"role":"assistant","content":[{"type":"text","text":"yes"}]}},{"message":{"role":"assistant","content":"no"}}]}}`,
			`sample-1 case="1" epoch=-1 answer="yes"`,
		},
		"no answer": {
			`{"id":1,"output":{"choices":[]},"messages":null,"target":{"a": 1}}`,
			`sample-1 case="1" epoch=-1 want=["{\"a\": 1}"]`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := readData(t, strings.NewReader(inspectLog(c.in)))
			if diff := cmp.Diff([]string{c.want}, got); diff != "" {
				t.Errorf("runs (-want +got):\n%s", diff)
			}
		})
	}
}

// A log has messages of all kinds, as Inspect encodes them.
func TestInspectMessages(t *testing.T) {
	in := inspectLog(`{"id":1,"epoch":1,"messages":[
{"id":"m1","role":"system","content":"Be brief."},
{"role":"user","source":"input","content":["look: ",{"type":"text","text":"attachment://k"},{"type":"image","image":"attachment://i","detail":"auto"},{"type":"audio","audio":"a.mp3","format":"mp3"}]},
{"role":"assistant","content":[{"type":"reasoning","reasoning":"hm","signature":"s"},{"type":"reasoning","reasoning":"c2VjcmV0","redacted":true},{"type":"text","text":"I will not","refusal":true},{"type":"text","text":"tc://k","refusal":false}],
 "tool_calls":[{"id":"c1","function":"f","arguments":{"x": 1.0},"type":"function"},{"id":"c2","function":"g","arguments":{},"parse_error":"bad"},{"id":"c3","function":"g","arguments":null}]},
{"role":"tool","tool_call_id":"c1","function":"f","content":"fine"},
{"role":"tool","tool_call_id":"c2","function":"g","content":"","error":{"type":"parsing","message":"no JSON"}},
{"role":"tool","tool_call_id":"c3","function":"g","content":"half","error":{"type":"timeout","message":"late"}},
{"role":"assistant","content":"attachment://gone","model":"m","function":"f"},
{"role":"assistant","reasoning":"as it was","content":"so"},
{"role":"tool","tool_call_id":"c4","content":"","tool_error":"as it was"}
],"transcript":{"content":{"k":"the text","i":"data:image/png;base64,AA=="}}}`)
	want := []string{
		`{"role":"system","parts":[{"type":"text","text":"Be brief."}],"opaque":{"id":"m1"}}`,
		`{"role":"user","parts":[{"type":"text","text":"look: "},{"type":"text","text":"the text"},{"type":"media","media_type":"image/png","data":"AA==","opaque":{"detail":"auto"}},{"type":"inspect.audio","value":{"type":"audio","audio":"a.mp3","format":"mp3"}}],"opaque":{"source":"input"}}`,
		`{"role":"assistant","parts":[{"type":"reasoning","text":"hm","opaque":{"signature":"s"}},{"type":"reasoning","text":"","opaque":{"type":"reasoning","reasoning":"c2VjcmV0","redacted":true}},{"type":"text","text":"I will not","refusal":true},{"type":"text","text":"the text"},` +
			`{"type":"tool_call","id":"c1","name":"f","arguments":"{\"x\": 1.0}"},{"type":"tool_call","id":"c2","name":"g","arguments":"{}","opaque":{"parse_error":"bad"}},{"type":"tool_call","id":"c3","name":"g","arguments":""}]}`,
		`{"role":"tool","parts":[{"type":"tool_result","tool_call_id":"c1","name":"f","content":[{"type":"text","text":"fine"}]}]}`,
		`{"role":"tool","parts":[{"type":"tool_result","tool_call_id":"c2","name":"g","content":[{"type":"text","text":"no JSON"}],"is_error":true}],"opaque":{"error":{"type":"parsing","message":"no JSON"}}}`,
		`{"role":"tool","parts":[{"type":"tool_result","tool_call_id":"c3","name":"g","content":[{"type":"text","text":"half"}],"is_error":true}],"opaque":{"error":{"type":"timeout","message":"late"}}}`,
		`{"role":"assistant","parts":[{"type":"text","text":"attachment://gone"}],"opaque":{"model":"m","name":"f"}}`,
		`{"role":"assistant","parts":[{"type":"reasoning","text":"as it was"},{"type":"text","text":"so"}]}`,
		`{"role":"tool","parts":[{"type":"tool_result","tool_call_id":"c4","content":[{"type":"text","text":"as it was"}],"is_error":true}],"opaque":{"tool_error":"as it was"}}`,
	}
	if diff := cmp.Diff(want, ownJSON(t, strings.NewReader(in))); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}

func TestInspectHead(t *testing.T) {
	src, err := importer.Open("file", strings.NewReader(inspectLog(`{"id":1}`, `{"id":2}`)))
	if err != nil {
		t.Fatal(err)
	}
	for run, err := range src.Runs() {
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for key, value := range run.Head {
			got[key] = string(value)
		}
		want := map[string]string{"version": "2", "status": `"success"`, "eval": `{"model":"m"}`, "results": `{"stderr":"NaN"}`}
		if run.Case == "2" {
			want["reductions"] = "[]" // after the runs
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: head (-want +got):\n%s", run.Name, diff)
		}
	}
}

func TestInspectBroken(t *testing.T) {
	for name, c := range map[string]struct {
		in   string
		want []string
	}{
		"a sample":                  {inspectLog(`{"id":1}`, `{"id":}`, `{"id":3}`), []string{"sample-1@1", "! file:2: samples[1].id: expected a value", "sample-3@3"}},
		"a message":                 {inspectLog(`{"id":1,"messages":[` + hi + ",\n" + `{"role":7}],"x":1}`), []string{"sample-1@1 user:hi …! file:2: samples[0].messages[1].role: expected a string"}},
		"messages":                  {inspectLog(`{"id":1,"messages":7}`), []string{"! file:1: samples[0].messages: expected an array"}},
		"no id":                     {inspectLog(`{"messages":[]}`), []string{"! file:1: samples[0]: the sample has no id"}},
		"no sample":                 {inspectLog(`7`), []string{"! file:1: samples[0]: expected an object"}},
		"no samples":                {`{"eval":{},"version":2}`, []string{"! file:1: the array of runs at samples is missing"}},
		"invalid samples":           {`{"eval":{},"version":2,"samples":null}`, []string{"! file:1: the array of runs at samples is missing"}},
		"samples by name":           {`{"eval":{},"version":2,"samples":{"a":1}}`, []string{"! file:1: the array of runs at samples is missing"}},
		"a head":                    {`{"version":2,"eval":{"x":},"samples":[{"id":1}]}`, []string{"! file:1: eval.x: expected a value", "sample-1@1"}},
		"truncated":                 {inspectLog(`{"id":1}`)[:96], []string{"! file:1: samples[0]: the file ends within a value"}},
		"truncated after one":       {`{"eval":{},"version":2,"samples":[{"id":1},`, []string{"sample-1@1", "! file:1: samples[1]: the file ends within a value"}},
		"truncated in the metadata": {`{"eval":{},"version":2,"status":{`, []string{"! file:1: status: the file ends within a value"}},
		"truncated in a name":       {`{"eval":{},"version":2,"stat`, []string{"! file:1: the file ends within a value"}},
		"truncated before a colon":  {`{"eval":{},"version":2,"status"`, []string{"! file:1: the file ends within a value"}},
		"truncated after a colon":   {`{"eval":{},"version":2,"status":`, []string{"! file:1: status: the file ends within a value"}},
		"no comma":                  {`{"eval":{},"version":2 "x":1}`, []string{"! file:1: expected a comma or the end of the object; the rest of the file is not read"}},
		"no name":                   {`{"eval":{},"version":2,7}`, []string{"! file:1: expected a member's name in double quotes; the rest of the file is not read"}},
		"no colon":                  {`{"eval":{},"version":2,"x" 7}`, []string{"! file:1: expected a colon after the member's name; the rest of the file is not read"}},
		"no value":                  {`{"eval":{},"version":2,"x":}`, []string{"! file:1: x: expected a value; the rest of the file is not read"}},
		"two logs":                  {inspectLog(`{"id":1}`) + "\n" + inspectLog(`{"id":2}`), []string{"sample-1@1", "sample-2@2"}},
		"logs in lines":             {inspectLog(`{"id":1}`)[:96] + "\n" + inspectLog(`{"id":2}`) + "\n" + inspectLog(`{"id":3}`), []string{"! file:1: samples[0]: the line ends within a value", "sample-2@2", "sample-3@3"}},
		"words after it":            {inspectLog(`{"id":1}`) + "\nx", []string{"sample-1@1", "! file:2: expected an object; the rest of the file is not read"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, got := read(t, strings.NewReader(c.in))
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("runs (-want +got):\n%s", diff)
			}
		})
	}
}

// inspectSeeds are seeds of FuzzFormats.
var inspectSeeds = []string{
	inspectLog(`{"id":1,"epoch":1,"messages":[` + hi + `],"scores":{"m":{"value":"C"}},"target":"x","output":{"completion":"x"}}`),
	inspectLog(`{"id":1,"messages":[{"role":"user","content":[{"type":"text","text":"attachment://a"}]}],"attachments":{"a":"b"}}`),
	inspectLog(`{"id":1,"messages":[{"role":"tool","error":{"message":"x"},"function":"f"},{"role":"assistant","tool_calls":[{"function":"f","arguments":{}}]}],"score":{"value":NaN}}`),
	inspectLog(`{"id":1,"scores":{"m":{"value":{"a":1}}}}`, `{"id":`),
}

func TestInspectVersions(t *testing.T) {
	for version, want := range map[string][]string{
		"1": {"sample-1@1 user:hi"}, "2": {"sample-1@1 user:hi"}, "3": {"sample-1@1 user:hi"},
		"4": {"! file:1: version: unknown version 4: looptape knows versions 1 to 3 and may not understand the runs", "sample-1@1 user:hi"},
	} {
		log := `{"version":` + version + `,"status":"success","eval":{},"samples":[{"id":1,"messages":[` + hi + `]}]}`
		if _, got := read(t, strings.NewReader(log)); cmp.Diff(want, got) != "" {
			t.Errorf("version %s: got %q, want %q", version, got, want)
		}
	}
	in := zipOf(t, entry{name: "header.json", text: `{"version":4}`}, entry{name: "samples/1_epoch_1.json", text: `{"id":1}`})
	want := []string{"! file: version: unknown version 4: looptape knows versions 1 to 3 and may not understand the runs", "sample-1@1"}
	if _, got := read(t, bytes.NewReader(in)); cmp.Diff(want, got) != "" {
		t.Errorf("a ZIP: got %q, want %q", got, want)
	}
}

// A log with fewer samples than its header requires is incomplete.
func TestInspectIncomplete(t *testing.T) {
	head := func(status, results, eval string) string {
		return `"version":2,"status":"` + status + `","eval":` + eval + `,"results":` + results
	}
	const all, ids = `{"total_samples":2,"completed_samples":2}`, `{"dataset":{"sample_ids":[1]}}`
	missing := func(named, has int) string {
		return fmt.Sprintf("! file: the file is incomplete: its header requires %d runs and it has %d", named, has)
	}
	for name, c := range map[string]struct{ head, want string }{
		"missing":             {head("success", all, "{}"), missing(2, 1)},
		"none completed":      {head("success", `{"total_samples":3,"completed_samples":1}`, "{}"), missing(3, 1)},
		"cancelled":           {head("cancelled", `{"total_samples":3,"completed_samples":1}`, "{}"), ""},
		"completed in error":  {head("error", all, "{}"), missing(2, 1)},
		"without results":     {head("started", "null", "{}"), ""},
		"all":                 {head("success", `{"total_samples":1,"completed_samples":1}`, `{"dataset":{"samples":100}}`), ""},
		"with ids of all":     {head("success", all, ids), ""},
		"with ids and epochs": {head("success", all, `{"dataset":{"sample_ids":[1]},"config":{"epochs":2}}`), missing(2, 1)},
	} {
		want := []string{"sample-1/epoch-1@1 user:hi"}
		if c.want != "" {
			want = append(want, c.want)
		}
		before, results, _ := strings.Cut(c.head, `,"results":`)
		header := entry{name: "header.json", text: "{" + c.head + "}"}
		sample := `"samples":[` + sampleOne.text + `]`
		for form, file := range map[string]string{
			"JSON":                `{` + c.head + `,` + sample + `}`,
			"JSON, results after": `{` + before + `,` + sample + `,"results":` + results + `}`,
			"ZIP":                 string(zipOf(t, header, sampleOne)),
			"chunked ZIP": string(zipOf(t, header, entry{name: "samples/1_epoch_1/sample.json", text: `{"id":1,"epoch":1,"message_refs":[[0,1]]}`},
				entry{name: "samples/1_epoch_1/messages/0.json", text: "[" + hi + "]"})),
		} {
			if _, got := read(t, strings.NewReader(file)); cmp.Diff(want, got) != "" {
				t.Errorf("%s, %s: got %q, want %q", name, form, got, want)
			}
		}
	}
	two := `{` + head("success", all, "{}") + `,"samples":[` + sampleOne.text + `,{"id":}]}`
	if _, got := read(t, strings.NewReader(two+"\n"+two)); len(got) != 4 {
		t.Errorf("logs with an invalid sample: got %q", got)
	}
}
