package importer_test

import (
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/check"
	"github.com/looptape/looptape/trace/importer"
)

const (
	userContent  = `"user_content":{"role":"user","parts":[{"text":"hi","function_call":null}]}`
	agentContent = `"final_response":{"role":"model","parts":[{"text":"yo"}]}`
)

func TestADK(t *testing.T) {
	for name, c := range map[string]struct {
		in     string
		format string
		want   []string
	}{
		"a set": {
			`{"eval_set_id":"s","eval_cases":[{"eval_id":"a","conversation":[{` + userContent + `,"intermediate_data":{"tool_uses":[{"id":null,"name":"f","args":{"x":1}},{"name":"g"}],"tool_responses":[]},` + agentContent + `},{` + userContent + `}]},
{"eval_id":"b","conversation":[{` + userContent + `,"intermediate_data":{"tool_uses":[]},` + agentContent + `}]},
{"eval_id":"c","conversation":null,"conversation_scenario":{}}]}`,
			"adk-set",
			[]string{
				`a case="a" epoch=-1 replies=["yo" ""] calls=[0:f{"x":1} 0:g ]`, `b case="b" epoch=-1 want=["yo"] replies=["yo"] calls=[]`, `c case="c" epoch=-1`,
			},
		},
		"a set in camel case": {
			`{"evalSetId":"s","evalCases":[{"evalId":"a","conversation":[{"userContent":{"parts":[{"text":"hi"}]},"finalResponse":{"role":"model","parts":[{"text":"yo"}]},` +
				`"intermediateData":{"invocationEvents":[{"author":"x","content":{"role":"model","parts":[{"functionCall":{"id":"1","name":"f","args":{}}}]}},{"author":"x","content":{"role":"user","parts":[{"functionResponse":{"id":"1","name":"f"}}]}}]}}]}]}`,
			"adk-set",
			[]string{`a case="a" epoch=-1 want=["yo"] replies=["yo"] calls=[0:f{} ]`},
		},
		"a set of agentevals": {
			`{"eval_set_id":"s","eval_cases":[{"case_id":"a","conversation":[{` + userContent + `,"agent_content":{"role":"model","parts":[{"text":"yo"}]}},` +
				`{` + userContent + `,"agent_content":{"role":"model","parts":[{"function_call":{"name":"f","args":{}}}]},"intermediate_data":{"role":"model","parts":[{"function_call":{"name":"f","args":{}}}]}}]}]}`,
			"adk-set",
			[]string{`a case="a" epoch=-1 replies=["yo" ""] calls=[1:f{} ]`},
		},
		"a list of responses": {
			`[{"query":"hi","expected_tool_use":[],"reference":"yo"},{"query":"go","expected_tool_use":[{"tool_name":"f","tool_input":{"x":1}}]}]`,
			"adk-set",
			[]string{`run-1 case="" epoch=-1 replies=["yo" ""] calls=[1:f{"x":1} ]`},
		},
		"a list of responses without calls": {
			`[{"query":"hi","expected_tool_use":[],"reference":"yo"}]`,
			"adk-set",
			[]string{`run-1 case="" epoch=-1 want=["yo"] replies=["yo"] calls=[]`},
		},
		"a list of responses that begins with calls": {
			`[{"query":"hi","expected_tool_use":[{"tool_name":"f"}],"reference":"yo"},{"query":"hi","expected_tool_use":[]}]`,
			"adk-set",
			[]string{`run-1 case="" epoch=-1 replies=["yo" ""] calls=[0:f ]`},
		},
		"lists of responses": {
			`[{"name":"a","data":[{"query":"hi","reference":"yo"}],"initial_session":{}}]`,
			"adk-set",
			[]string{`a case="a" epoch=-1 want=["yo"] replies=["yo"]`},
		},
		"results": {
			`{"eval_set_result_id":"r","eval_case_results":[{"eval_id":"a","final_eval_status":1,"overall_eval_metric_results":[{"metric_name":"m","score":0.5},{"metric_name":"n","score":null}],` +
				`"eval_metric_result_per_invocation":[{"actual_invocation":{` + userContent + `,` + agentContent + `},"expected_invocation":{` + userContent + `,"final_response":{"role":"model","parts":[{"text":"oy"}]}}}]},` + "\n{",
			"adk-result",
			[]string{`a case="a" epoch=-1 want=["oy"] answer="yo" replies=["oy"] m=0.5`, "! file:2: eval_case_results[1]: the file ends within a value"},
		},
		"a session": {
			`{"id":"s1","appName":"a","userId":"u","state":{},"events":[]}`,
			"adk-session",
			[]string{`s1 case="" epoch=-1`},
		},
		"a broken result": {
			`{"eval_case_results":[[],{"eval_id":"a"}]}`,
			"adk-result",
			[]string{"! file:1: eval_case_results[0]: expected an object", `a case="a" epoch=-1`},
		},
		"sessions": {
			`[{"id":"s1","app_name":"a","events":[]},[]]`,
			"adk-session",
			[]string{`s1 case="" epoch=-1`, "! file:1: [1]: expected an object"},
		},
		"a broken case": {
			`{"eval_set_id":"s","eval_cases":[7,` + "\n" + `{"eval_id":"a","conversation":[{"user_content":}]}]}`,
			"adk-set",
			[]string{"! file:1: eval_cases[0]: expected an object", "! file:2: eval_cases[1].conversation[0].user_content: expected a value"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			src, err := importer.Open("file", strings.NewReader(c.in))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, describeRuns(src, nil)); diff != "" || src.Format.Name != c.format {
				t.Errorf("format %s, runs (-want +got):\n%s", src.Format.Name, diff)
			}
		})
	}
	for _, in := range []string{`{"app_name":"a","x":[]}`, `{"events":[]}`, `[{"query":"hi"}]`, `[{"data":[]}]`} {
		if src, err := importer.Open("file", strings.NewReader(in)); err == nil {
			t.Errorf("%s is read as %s", in, src.Format.Name)
		}
	}
}

// ADK writes results as a JSON string that contains JSON.
func TestADKWrapped(t *testing.T) {
	for in, want := range map[string]string{
		` "{\"eval_case_results\":[{\"eval_id\":\"a\"}]}"` + "\n": `a case="a" epoch=-1`,
		`"{\"eval_case_results\":[{\"eval_id\":}]}"`:              "! file:1: eval_case_results[0].eval_id: expected a value",
		`"{\"eval_case_results\":[{\"eval_id\":\"a\"}]}" x`:       "! file: " + importer.ErrFormat.Error(),
		`"{\"eval_case_results\":[{\"eval_id\":\"a\"}]}`:          "! file: " + importer.ErrFormat.Error(),
		"\"{prompt\",prompt,answer\n,p,a\n":                       `run-1 case="" epoch=-1 answer="a"`,
	} {
		if got := readData(t, strings.NewReader(in)); len(got) != 1 || !strings.HasPrefix(got[0], want) {
			t.Errorf("%s: runs %q, want %q", in, got, want)
		}
	}
}

// A session has contents of all kinds, in both representations.
func TestADKMessages(t *testing.T) {
	in := `{"id":"s","app_name":"a","events":[
{"author":"user","content":{"role":"user","parts":[{"text":"look","thought":null},{"inline_data":{"mime_type":"image/png","data":"_-8="}},{"file_data":{"file_uri":"gs://x","mime_type":"a/b"}},{"inline_data":{"data":"?"}}]}},
{"author":"a","partial":true,"content":{"role":"model","parts":[{"text":"no"}]}},
{"author":"a","content":{"role":"model","parts":[{"text":"hm","thought":true,"thought_signature":"s"},{"text":"so"},{"functionCall":{"name":"f","args":{"x": 1}}},{"function_call":{"id":"c2","name":"f","args":{}}},{"function_call":{"name":"g"}}]}},
{"author":"a","content":{"role":"user","parts":[{"function_response":{"name":"g","response":{"r":1}}},{"functionResponse":{"id":"c2","name":"f","response":{}}},{"function_response":{"name":"f"}},{"function_response":{"name":"f"}},{"text":"and"}]}},
{"author":"a","content":{"role":"model","parts":[{"executable_code":{"code":"1"}},{"text":7},{"video_metadata":{}},{"text":null}]}},
{"author":"a","content":null},
{"author":"a","error_code":"x"}]}`
	want := []string{
		`{"role":"user","parts":[{"type":"text","text":"look"},{"type":"media","media_type":"image/png","data":"/+8="},{"type":"media","media_type":"a/b","url":"gs://x"},{"type":"gemini.inline_data","value":{"inline_data":{"data":"?"}}}]}`,
		`{"role":"assistant","parts":[{"type":"reasoning","text":"hm","opaque":{"thought_signature":"s"}},{"type":"text","text":"so"},{"type":"tool_call","id":"function_call_1","name":"f","arguments":"{\"x\": 1}","id_generated":true},{"type":"tool_call","id":"c2","name":"f","arguments":"{}"},{"type":"tool_call","id":"function_call_2","name":"g","arguments":"","id_generated":true}]}`,
		`{"role":"tool","parts":[{"type":"tool_result","tool_call_id":"function_call_2","name":"g","content":[{"type":"text","text":"{\"r\":1}"}]},{"type":"tool_result","tool_call_id":"c2","name":"f","content":[{"type":"text","text":"{}"}]},{"type":"tool_result","tool_call_id":"function_call_1","name":"f","content":[]},{"type":"tool_result","tool_call_id":"","name":"f","content":[]}]}`,
		`{"role":"user","parts":[{"type":"text","text":"and"}]}`,
		`{"role":"assistant","parts":[{"type":"gemini.executable_code","value":{"executable_code":{"code":"1"}}},{"type":"gemini.text","value":{"text":7}},{"type":"gemini.","value":{"video_metadata":{}}}]}`,
	}
	if diff := cmp.Diff(want, ownJSON(t, strings.NewReader(in))); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}

// The data about the calls of a result is part of its messages.
func TestADKResultMessages(t *testing.T) {
	in := `{"evalSetResultId":"r","evalCaseResults":[{"evalId":"a","evalMetricResultPerInvocation":[{"actualInvocation":{` + userContent + `,"intermediateData":{"toolUses":[{"name":"f","args":{}}],"toolResponses":[{"name":"f","response":{}}]},` + agentContent + `}}]}]}`
	want := []string{
		`{"role":"user","parts":[{"type":"text","text":"hi"}]}`,
		`{"role":"assistant","parts":[{"type":"tool_call","id":"function_call_1","name":"f","arguments":"{}","id_generated":true}]}`,
		`{"role":"tool","parts":[{"type":"tool_result","tool_call_id":"function_call_1","name":"f","content":[{"type":"text","text":"{}"}]}]}`,
		`{"role":"assistant","parts":[{"type":"text","text":"yo"}]}`,
	}
	if diff := cmp.Diff(want, ownJSON(t, strings.NewReader(in))); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}

// Sessions of ADK before version 0.1 have no name of an app, and options of an event.
func TestADKOlderSession(t *testing.T) {
	event := func(rest string) string { return `{"invocation_id":"i","author":"a","options":{},` + rest + `}` }
	in := `{"id":"s","context":{"_time":"2024"},"events":[` + strings.Join([]string{
		event(`"content":{"role":"user","parts":[{"text":"hi"}]}`),
		`{"author":"a","options":{"partial":true},"content":{"role":"model","parts":[{"text":"y"}]}}`,
		event(`"usage_metadata":{"prompt_token_count":7,"candidates_token_count":2,"thoughts_token_count":3},"content":{"role":"model","parts":[{"function_call":{"name":"f","args":{"x":1}}}]}`),
		event(`"content":{"role":"user","parts":[{"function_response":{"name":"f","response":{"r":1}}}]}`),
		event(`"usageMetadata":{"promptTokenCount":9,"candidatesTokenCount":1},"content":{"role":"model","parts":[{"text":"yo"}]}`),
	}, ",\n") + `],"past_events":[],"pending_events":{},"artifacts":{},"event_logs":[]}`
	for _, in := range []io.Reader{strings.NewReader(in), zipped(t, in)} {
		want := []string{
			`{"role":"user","parts":[{"type":"text","text":"hi"}]}`,
			`{"role":"assistant","parts":[{"type":"tool_call","id":"function_call_1","name":"f","arguments":"{\"x\":1}","id_generated":true}]}`,
			`{"role":"tool","parts":[{"type":"tool_result","tool_call_id":"function_call_1","name":"f","content":[{"type":"text","text":"{\"r\":1}"}]}]}`,
			`{"role":"assistant","parts":[{"type":"text","text":"yo"}]}`,
		}
		if diff := cmp.Diff(want, ownJSON(t, in)); diff != "" {
			t.Errorf("messages (-want +got):\n%s", diff)
		}
	}
	format, runs, failed, unknown := readAll(t, "file", []byte(in))
	if format != "adk-session" || len(runs) != 1 || failed != nil || unknown != nil {
		t.Fatalf("format %s, %d runs, errors %v, unknown %v", format, len(runs), failed, unknown)
	}
	if got, want := runs[0].Resources().Usage, (llm.Usage{InputTokens: 16, OutputTokens: 6, ReasoningOutputTokens: 3}); got != want {
		t.Errorf("usage %+v, want %+v", got, want)
	}
}

func TestADKSessionUnknown(t *testing.T) {
	in := `{"id":"s","app_name":"a","past_events":[{}],"events":[{"content":"hi"},{"content":{"role":"robot","parts":[{"text":"x"}]}},{"content":{"role":"user","parts":"x"}},{"content":{"role":"user","parts":[]}},{"content":{}},
{"content":{"role":"model","parts":[{"functionCall":7}]}},{"content":{"role":"model","parts":[{"function_call":{"name":"f","args":{},"will_continue":true}}]}}]}`
	_, runs, failed, unknown := readAll(t, "file", []byte(in))
	var got []string
	for _, err := range unknown {
		got = append(got, err.Error())
	}
	want := []string{
		`file:1: the message has the unknown role "robot" (in message 0 of s)`,
		`file:1: the content has a part of the unknown kind "gemini.function_call" (in message 1 of s)`,
		`file:1: events[0].content: the content has no list of parts (in s)`,
		`file:1: events[2].content: the content has no list of parts (in s)`,
		`file:1: past_events: the messages of past_events are not read (in s)`,
	}
	if diff := cmp.Diff(want, got); diff != "" || failed != nil || len(runs) != 1 {
		t.Fatalf("%d runs, errors %v, unknown (-want +got):\n%s", len(runs), failed, diff)
	}
	if got, want := string(runs[0].Messages[2].AppendJSON(nil)), `"opaque":{"function_call":{"will_continue":true}}`; !strings.Contains(got, want) {
		t.Errorf("message %s, want %s in it", got, want)
	}
}

// The runs of a session have what ADK sends to a model.
func TestADKSessionAsSent(t *testing.T) {
	event := func(role, rest, parts string) string {
		return `{"author":"x",` + rest + `"content":{"role":"` + role + `","parts":[` + parts + `]}}`
	}
	text := func(role, branch, text string) string {
		return event(role, branch, `{"text":"`+text+`"}`)
	}
	call := func(id, name, rest string) string {
		return event("model", rest, `{"functionCall":{"id":"`+id+`","name":"`+name+`","args":{}}}`)
	}
	result := func(id, name, rest, value string) string {
		return event("user", rest, `{"functionResponse":{"id":"`+id+`","name":"`+name+`","response":{"r":"`+value+`"}}}`)
	}
	const a, b = `"branch":"p.a",`, `"branch":"p.b",`
	for name, c := range map[string]struct {
		events []string
		want   []string
		meta   map[string]int // the lengths of lists
	}{
		"a long-running tool": {
			[]string{
				text("user", "", "q"), call("1", "f", `"longRunningToolIds":["1"],`), result("1", "f", "", "pending"), text("model", "", "wait"),
				result("1", "f", "", "done"), text("model", "", "d"),
			},
			[]string{`s user:(q) assistant:[1 f{}] tool:[1 f={"r":"done"}] assistant:(wait) assistant:(d)`},
			map[string]int{"replaced_responses": 1},
		},
		"a late result of one of two calls": {
			[]string{
				event("model", "", `{"functionCall":{"id":"1","name":"f","args":{}}},{"functionCall":{"id":"2","name":"g","args":{}}}`), result("1", "f", "", "x"),
				text("model", "", "wait"), result("2", "g", "", "y"), text("model", "", "d"),
			},
			[]string{`s assistant:[1 f{}][2 g{}] tool:[1 f={"r":"x"}] tool:[2 g={"r":"y"}] assistant:(wait) assistant:(d)`}, nil,
		},
		"credentials and a confirmation": {
			[]string{
				text("user", "", "q"), call("1", "f", ""), call("2", "adk_request_credential", ""), result("1", "f", "", "pending"), result("2", "adk_request_credential", "", "key"),
				result("1", "f", "", "x"), call("3", "g", ""), call("4", "adk_request_confirmation", ""), result("4", "adk_request_confirmation", "", "yes"), result("3", "g", "", "y"), text("model", "", "d"),
			},
			[]string{`s user:(q) assistant:[1 f{}] tool:[1 f={"r":"x"}] assistant:[3 g{}] tool:[3 g={"r":"y"}] assistant:(d)`},
			map[string]int{"replaced_responses": 1, "adk_request_credential": 2, "adk_request_confirmation": 2},
		},
		"parallel agents": {
			[]string{
				text("user", "", "q"), call("1", "f", a), call("2", "g", b), result("1", "f", a, "x"), result("2", "g", "", "y"),
				text("model", b, "B"), text("model", a, "A"), text("model", "", "both"), text("user", "", "thanks"),
			},
			[]string{
				`s user:(q) assistant:(both) user:(thanks)`,
				`s/p.a user:(q) assistant:[1 f{}] tool:[1 f={"r":"x"}] assistant:(A)`,
				`s/p.b user:(q) assistant:[2 g{}] tool:[2 g={"r":"y"}] assistant:(B)`,
			},
			nil,
		},
		"branches only": {
			[]string{text("model", a, "A"), text("model", b, "B")},
			[]string{`s/p.a assistant:(A)`, `s/p.b assistant:(B)`}, nil,
		},
		"one agent after another": {
			[]string{text("user", "", "q"), call("1", "f", `"branch":"p",`), result("1", "f", `"branch":"p",`, "x"), text("model", a, "A"), text("user", "", "more")},
			[]string{`s user:(q) assistant:[1 f{}] tool:[1 f={"r":"x"}] assistant:(A) user:(more)`}, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			format, runs, failed, unknown := readAll(t, "file", []byte(`{"id":"s","appName":"a","events":[`+strings.Join(c.events, ",")+`]}`))
			if diff := cmp.Diff(c.want, outline(runs)); diff != "" || format != "adk-session" || failed != nil || unknown != nil {
				t.Fatalf("%s, errors %v %v, runs (-want +got):\n%s", format, failed, unknown, diff)
			}
			for _, run := range runs {
				if v := check.Messages(run.Name, run.Messages); v != nil {
					t.Errorf("violations %v, want none", v)
				}
			}
			for _, list := range []string{"replaced_responses", "adk_request_credential", "adk_request_confirmation"} {
				var elements []any
				if raw := runs[0].Meta[list]; raw != nil {
					_ = json.Unmarshal(raw, &elements)
				}
				if len(elements) != c.meta[list] {
					t.Errorf("%s: %d elements, want %d", list, len(elements), c.meta[list])
				}
			}
		})
	}
}

// A result before its call, or without a call, and a call without a result stay what they are.
func TestADKSessionBroken(t *testing.T) {
	part := func(role, part string) string { return `{"content":{"role":"` + role + `","parts":[` + part + `]}}` }
	user, answer := part("user", `{"text":"q"}`), part("model", `{"text":"d"}`)
	call := part("model", `{"functionCall":{"id":"1","name":"f","args":{}}}`)
	result := part("user", `{"functionResponse":{"id":"1","name":"f","response":{}}}`)
	for name, events := range map[string][]string{
		"no call": {user, result, answer}, "no result": {user, call, user, answer}, "a result before its call": {user, result, call, user, answer},
	} {
		run := onlyRun(t, `{"id":"s","appName":"a","events":[`+strings.Join(events, ",")+`]}`)
		if v := check.Messages(run.Name, run.Messages); len(v) == 0 || v[0].Invariant != "INV-01" {
			t.Errorf("%s: violations %v, want INV-01", name, v)
		}
	}
}

func TestADKSessions(t *testing.T) {
	golden := goldenFiles(t, "adk-sessions")
	sharedFiles(t, "adk-sessions", func(name string, b []byte) {
		format, runs, failed, unknown := readAll(t, name, b)
		if format != "adk-session" || len(runs) != 1 || failed != nil || unknown != nil {
			t.Fatalf("%s: format %s, %d runs, errors %v, unknown %v", name, format, len(runs), failed, unknown)
		}
		got := map[string]int{"parts": 0}
		for _, m := range runs[0].Messages {
			for _, p := range m.Parts {
				got["parts"]++
				switch p.(type) {
				case llm.ToolCall:
					got["function_calls"]++
				case llm.ToolResult:
					got["function_responses"]++
				default:
				}
			}
		}
		compareValues(t, name, golden[name], got, "parts", "function_calls", "function_responses")
		if v := check.Messages(name, runs[0].Messages); v != nil {
			t.Errorf("%s: violations %v", name, v)
		}
	})
}

// adkSeeds are seeds of FuzzFormats.
var adkSeeds = []string{
	`{"eval_set_id":"s","eval_cases":[{"eval_id":"a","conversation":[{` + userContent + `,"intermediate_data":{"tool_uses":[{"name":"f","args":{"x":1}}]},` + agentContent + `}]}]}`,
	`{"id":"s1","appName":"a","events":[{"content":{"role":"model","parts":[{"functionCall":{"name":"f"}},{"inlineData":{"data":"AA=="}}]}},{"content":{"parts":[{"functionResponse":{"name":"f","response":{}}}]}}]}`,
	`[{"query":"hi","expected_tool_use":[{"tool_name":"f"}],"reference":"yo"}]`, `"{\"eval_case_results\":[{\"eval_id\":\"a\"}]}"`,
	`{"evalCaseResults":[{"evalId":"a","overallEvalMetricResults":[{"metricName":"m","score":1}],"evalMetricResultPerInvocation":[{"actualInvocation":{` + userContent + `}}]}]}`,
}

// The models are not sent what the user went back from. A summary that replaces events is reported.
func TestADKRewind(t *testing.T) {
	t.Parallel()
	event := func(invocation, role, text, actions string) string {
		return `{"invocation_id":"` + invocation + `","actions":` + actions + `,"content":{"role":"` + role + `","parts":[{"text":"` + text + `"}]}}`
	}
	session := func(events ...string) string {
		return `{"id":"s","app_name":"a","events":[` + strings.Join(events, ",") + `]}`
	}
	const call = `{"invocation_id":"i2","content":{"role":"model","parts":[{"function_call":{"id":"c","name":"f","args":{}}}]}}`
	const rewind = `{"invocation_id":"i3","actions":{"rewind_before_invocation_id":"i2"}}`
	one, two, four := event("i1", "user", "one", "{}"), event("i2", "user", "two", "{}"), event("i4", "user", "four", "null")
	for name, c := range map[string]struct {
		in, want string
		unknown  []string
	}{
		"to an invocation":      {session(one, two, call, rewind, four), "s user:(one) user:(four)", nil},
		"to none":               {session(one, strings.Replace(rewind, `"i2"`, `"i9"`, 1), four), "s user:(one) user:(four)", nil},
		"again, in camel case":  {session(one, two, rewind, two, strings.Replace(rewind, "rewind_before_invocation_id", "rewindBeforeInvocationId", 1), four), "s user:(one) user:(four)", nil},
		"null is not a rewind":  {session(event("i1", "user", "one", `{"rewind_before_invocation_id":null,"compaction":null}`), four), "s user:(one) user:(four)", nil},
		"a summary of the past": {session(one, event("i2", "model", "so", `{"compaction":{"start_timestamp":1}}`)), "s user:(one) assistant:(so)", []string{"file:1: events[1].actions.compaction: the summary that replaces earlier events is not read (in s)"}},
	} {
		_, runs, failed, unknown := readAll(t, "file", []byte(c.in))
		if diff := cmp.Diff([]string{c.want}, outline(runs)); diff != "" {
			t.Errorf("%s: runs (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(c.unknown, texts(append(failed, unknown...))); diff != "" {
			t.Errorf("%s: errors (-want +got):\n%s", name, diff)
		}
	}
}
