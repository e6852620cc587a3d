package importer_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/trace/importer"
)

const (
	promptfooResult = `{"promptIdx":1,"testIdx":2,"testCase":{"assert":[{"type":"equals","value":"yo"},{"type":"contains","value":"x"}]},"provider":{"id":"p"},` +
		`"prompt":{"raw":"say hi","label":"l"},"vars":{"q":"hi"},"response":{"output":"yo","cost":0.1},"success":true,"score":0.5,"namedScores":{"tone":0.25,"x":null},"latencyMs":7,"failureReason":0}`
	promptfooError = `{"testIdx":3,"prompt":{"raw":"[{\"role\":\"user\",\"content\":\"hi\"}]"},"vars":{"b":2,"a":"x"},"error":"too late","success":false,"score":0,"failureReason":2}`
)

func TestTools(t *testing.T) {
	for name, c := range map[string]struct {
		in     string
		format string
		want   []string
	}{
		"SWE-agent": {
			`{"environment":"e","trajectory":[{"action":"ls","observation":"x"}],"history":[` + hi + `,` + yo + `],"info":{"submission":"the patch","exit_status":"submitted"},"replay_config":"{\"problem_statement\":{\"id\":\"i-1\"}}"}`,
			"swe-agent",
			[]string{`i-1 case="i-1" epoch=-1 answer="the patch"`},
		},
		"SWE-agent, with a long trajectory": {
			`{"trajectory":[{"observation":"` + strings.Repeat("x", 100_000) + `"}],"history":[],"replay_config":{"problem_statement":{"id":7}},"info":{"submission":null}}`,
			"swe-agent",
			[]string{`7 case="7" epoch=-1`},
		},
		"SWE-agent, without a name": {
			`{"trajectory":[],"history":[],"info":{},"replay_config":"{\"problem_statement\":","instance_id":"i"}`,
			"swe-agent",
			[]string{`run-1 case="i" epoch=-1`},
		},
		"SWE-agent, a list": {
			`[{"trajectory":[],"history":[],"info":{},"instance_id":"i"},` + "\n" + `{"trajectory":[],"info":{}},{"trajectory":[],"history":[],"info":{}}]`,
			"swe-agent",
			[]string{`run-1 case="i" epoch=-1`, "! file:2: [1]: the trajectory has no history", `run-3 case="" epoch=-1`},
		},
		"SWE-agent, without a history": {
			`{"trajectory":[],"info":{}}`,
			"swe-agent",
			[]string{"! file:1: the trajectory has no history"},
		},
		"promptfoo": {
			`{"evalId":"e","results":{"version":3,"prompts":[],"results":[` + promptfooResult + ",\n" + promptfooError + ",\n" + `{"prompt":"p","vars":{},"testIdx":4}],"stats":{}},"config":{}}`,
			"promptfoo",
			[]string{
				`test-2/prompt-1 case="hi" epoch=-1 want=["yo"] answer="yo" success=1 score=0.5 namedScores/tone=0.25`,
				`test-3 case="{\"a\":\"x\",\"b\":2}" epoch=-1 success: the test ended with an error: too late score: the test ended with an error: too late`,
				`test-4 case="4" epoch=-1`,
			},
		},
		"promptfoo, without an id":  {`{"results":{"version":2,"results":[{"vars":{"q":"x"},"score":1}]}}`, "promptfoo", []string{`run-1 case="x" epoch=-1 score=1`}},
		"promptfoo, in lines":       {promptfooResult + "\n{\n" + promptfooError + "\n", "promptfoo", []string{`test-2/prompt-1 case="hi" epoch=-1 want=["yo"] answer="yo" success=1 score=0.5 namedScores/tone=0.25`, "! file:2: the line ends within a value", `test-3 case="{\"a\":\"x\",\"b\":2}" epoch=-1 success: the test ended with an error: too late score: the test ended with an error: too late`}},
		"promptfoo, broken":         {`{"evalId":"e","results":{"prompts":[],"results":[7,{"vars":{"q":"x"}},{"vars":},[]]}}`, "promptfoo", []string{"! file:1: results.results[0]: expected an object", `run-2 case="x" epoch=-1`, "! file:1: results.results[2].vars: expected a value", "! file:1: results.results[3]: expected an object"}},
		"promptfoo, no results":     {`{"evalId":"e","results":{"prompts":[]}}`, "promptfoo", []string{"! file:1: the array of runs at results.results is missing"}},
		"the AI SDK":                {`{"id":"a","text":"yo","steps":[{"text":"yo","toolCalls":[],"finishReason":"stop"}],"score":1}`, "ai-sdk", []string{`a case="a" epoch=-1 answer="yo" score=1`}},
		"the AI SDK, version 5":     {`[{"steps":[{"content":[{"type":"text","text":"yo"}],"finishReason":"stop"}]}]`, "ai-sdk", []string{`run-1 case="" epoch=-1 answer="yo"`}},
		"the AI SDK, broken":        {`[{"steps":[],"finishReason":"stop"},[1]]`, "ai-sdk", []string{`run-1 case="" epoch=-1`, "! file:1: [1]: expected an object"}},
		"the AI SDK, one step":      {`{"text":"yo","toolCalls":[],"finishReason":"stop","task_id":"a","trial":1}`, "ai-sdk", []string{`task-a/trial-1 case="a" epoch=1 answer="yo"`}},
		"no calls":                  {`{"text":"yo","finishReason":"stop"}`, "ai-sdk", []string{`run-1 case="" epoch=-1 answer="yo"`}},
		"rows with a finish reason": {`{"prompt":"p","answer":"yo","text":"yo","finishReason":"stop"}`, "rows", []string{`run-1 case="" epoch=-1 answer="yo"`}},
		"the AI SDK, no steps":      {`{"steps":[],"finishReason":"stop"}`, "ai-sdk", []string{`run-1 case="" epoch=-1`}},
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
	for _, in := range []string{`{"trajectory":[]}`, `{"steps":[]}`, `{"results":{}}`, `{"success":true}`, `[{"eval_cases":[]}]`, `[{"eval_case_results":[]}]`} {
		if src, err := importer.Open("file", strings.NewReader(in)); err == nil {
			t.Errorf("%s is read as %s", in, src.Format.Name)
		}
	}
}

func TestToolsMessages(t *testing.T) {
	for name, c := range map[string]struct {
		in   string
		want []string
	}{
		"SWE-agent": {
			`{"trajectory":[],"info":{},"history":[{"role":"assistant","content":"so","thought":"so","action":"ls","agent":"main","tool_calls":[{"id":"c1","type":"function","function":{"name":"bash","arguments":"{}"}}]},` +
				`{"role":"tool","content":[{"type":"text","text":"x"}],"tool_call_ids":["c1"]},{"role":"tool","content":"y","tool_call_ids":["c2","c3"]},{"role":"tool","content":"z","tool_call_ids":[]}]}`,
			[]string{
				`{"role":"assistant","parts":[{"type":"text","text":"so"},{"type":"tool_call","id":"c1","name":"bash","arguments":"{}"}],"opaque":{"thought":"so","action":"ls","agent":"main"}}`,
				`{"role":"tool","parts":[{"type":"tool_result","tool_call_id":"c1","content":[{"type":"text","text":"x"}]}]}`,
				`{"role":"tool","parts":[{"type":"tool_result","tool_call_id":"c2","content":[{"type":"text","text":"y"}]}],"opaque":{"tool_call_ids":["c2","c3"]}}`,
				`{"role":"tool","parts":[{"type":"tool_result","tool_call_id":"","content":[{"type":"text","text":"z"}]}]}`,
			},
		},
		"promptfoo": {
			`{"evalId":"e","results":{"results":[` + promptfooResult + "," + promptfooError + `,{"prompt":{"raw":"[not JSON"}},{"response":{"output":[{"x":1}]}}]}}`,
			[]string{
				`{"role":"user","parts":[{"type":"text","text":"say hi"}]}`,
				`{"role":"assistant","parts":[{"type":"text","text":"yo"}]}`,
				`{"role":"user","parts":[{"type":"text","text":"hi"}]}`,
				`{"role":"user","parts":[{"type":"text","text":"[not JSON"}]}`,
				`{"role":"assistant","parts":[{"type":"text","text":"[{\"x\":1}]"}]}`,
			},
		},
		"the AI SDK": {
			`{"prompt":"hi","steps":[{"reasoning":"hm","text":"so","toolCalls":[{"type":"tool-call","toolCallId":"c1","toolName":"f","args":{"x": 1}}],"toolResults":[{"type":"tool-result","toolCallId":"c1","toolName":"f","args":{},"result":{"r": 2}}]},{"text":"yo"}]}`,
			[]string{
				`{"role":"user","parts":[{"type":"text","text":"hi"}]}`,
				`{"role":"assistant","parts":[{"type":"reasoning","text":"hm"},{"type":"text","text":"so"},{"type":"tool_call","id":"c1","name":"f","arguments":"{\"x\": 1}"}]}`,
				`{"role":"tool","parts":[{"type":"tool_result","tool_call_id":"c1","name":"f","content":[{"type":"text","text":"{\"r\": 2}"}]}]}`,
				`{"role":"assistant","parts":[{"type":"text","text":"yo"}]}`,
			},
		},
		"the AI SDK, version 5": {
			`{"steps":[{"content":[{"type":"reasoning","text":"hm","providerMetadata":{}},{"type":"text","text":"so"},{"type":"source","url":"u"},{"type":"tool-call","toolCallId":"c1","toolName":"f","input":{},"dynamic":true},{"type":"tool-call","toolCallId":"c2","toolName":"g","input":"{","providerExecuted":true},` +
				`{"type":"tool-result","toolCallId":"c1","toolName":"f","input":{},"output":"fine"},{"type":"tool-error","toolCallId":"c2","toolName":"g","input":{},"error":"bad"},{"type":"tool-result","toolCallId":"c3"}]}]}`,
			[]string{
				`{"role":"assistant","parts":[{"type":"reasoning","text":"hm","opaque":{"providerMetadata":{}}},{"type":"text","text":"so"},{"type":"ai-sdk.source","value":{"type":"source","url":"u"}},{"type":"tool_call","id":"c1","name":"f","arguments":"{}","opaque":{"dynamic":true}},{"type":"tool_call","id":"c2","name":"g","arguments":"{","provider_executed":true}]}`,
				`{"role":"tool","parts":[{"type":"tool_result","tool_call_id":"c1","name":"f","content":[{"type":"text","text":"fine"}]},{"type":"tool_result","tool_call_id":"c2","name":"g","content":[{"type":"text","text":"bad"}],"is_error":true},{"type":"tool_result","tool_call_id":"c3","content":[]}]}`,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, ownJSON(t, strings.NewReader(c.in))); diff != "" {
				t.Errorf("messages (-want +got):\n%s", diff)
			}
		})
	}
}

// toolSeeds are seeds of FuzzFormats.
var toolSeeds = []string{
	`{"results":{"results":[{"prompt":A"vars"}`,
	`{"trajectory":[{"observation":""}],"history":[{"role":"tool","tool_call_ids":["a"],"content":""}],"info":{"submission":"p"},"replay_config":"{}"}`,
	`{"evalId":"e","results":{"results":[` + promptfooResult + "," + promptfooError + `]}}`,
	`{"steps":[{"content":[{"type":"tool-call","toolCallId":"c","toolName":"f","input":{}},{"type":"tool-result","toolCallId":"c","output":1}]},{"text":"x","toolCalls":[],"toolResults":[],"reasoning":"y"}],"prompt":"p"}`,
	`[{"role":"assistant","content":[{"type":"tool-call","toolCallId":"c","input":{}}]},{"role":"tool","content":[{"type":"tool-result","toolCallId":"c"}]}]`,
}
