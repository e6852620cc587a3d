package importer_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// atifExample is a trajectory with an embedded subagent, a result for each way to name its call, and
// a step that another trajectory has as well.
const atifExample = `{"schema_version":"ATIF-v1.7","session_id":"s","agent":{"name":"a","version":"1","tool_definitions":[{"type":"function"}]},
"steps":[
{"step_id":1,"source":"system","message":"Be brief."},
{"step_id":2,"source":"user","message":[{"type":"text","text":"See"},{"type":"image","source":{"media_type":"image/png","path":"images/1.png"}}]},
{"step_id":3,"source":"agent","is_copied_context":true,"message":"Before","metrics":{"prompt_tokens":999,"completion_tokens":999}},
{"step_id":4,"source":"agent","model_name":"m","message":"","reasoning_content":"hm","tool_calls":[{"tool_call_id":"c1","function_name":"ls","arguments":{"path":"."}},{"tool_call_id":"c2","function_name":"ask","arguments":{}}],
 "observation":{"results":[{"source_call_id":"c1","content":"README"},{"source_call_id":"c2","content":[{"type":"text","text":"yes"}],"subagent_trajectory_ref":[{"session_id":"sub"}]}]},"metrics":{"prompt_tokens":10,"completion_tokens":4,"cached_tokens":6,"cost_usd":0.5}},
{"step_id":5,"source":"agent","message":"run","tool_calls":[{"tool_call_id":"c3","function_name":"sh","arguments":{"c":"pwd"}}],"observation":{"results":[{"content":"/w"}]},"metrics":{"prompt_tokens":20,"completion_tokens":3,"cost_usd":0.25}},
{"step_id":6,"source":"agent","message":"{\"keys\":1}","observation":{"results":[{"content":"screen"}]}},
{"step_id":7,"source":"system","message":"handed over","observation":{"results":[{"subagent_trajectory_ref":[{"session_id":"other"}]}]}}],
"subagent_trajectories":[{"schema_version":"ATIF-v1.7","session_id":"sub","agent":{"name":"b","version":"1"},"steps":[{"step_id":1,"source":"user","message":"ok?"}],"final_metrics":{"total_prompt_tokens":5,"total_completion_tokens":1}}],
"final_metrics":{"total_prompt_tokens":77,"total_completion_tokens":88,"total_cost_usd":3}}
`

func TestATIF(t *testing.T) {
	want := []string{
		`s system:(Be brief.) user:(See)<image/png> assistant:(Before) assistant:~hm~[c1 ls{"path":"."}][c2 ask{}] tool:[c1 ls=README] tool:[c2 ask=yes]` +
			` assistant:(run)[c3 sh{"c":"pwd"}] tool:[c3 sh=/w] assistant:({"keys":1}) user:(screen) system:(handed over) {"input_tokens":30,"output_tokens":7,"cache_read_input_tokens":6}`,
		`s/c2 user:(ok?) {"input_tokens":5,"output_tokens":1}`,
	}
	line := strings.ReplaceAll(atifExample, "\n", "")
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"plain": {atifExample, want}, "compressed": {string(zstandard(t, atifExample)), want},
		"lines":  {line + "\n" + line + "\n", append(want[:2:2], want...)},
		"a list": {"[" + line + "," + line + "]", append(want[:2:2], want...)},
	} {
		format, runs, failed, unknown := readAll(t, "file", []byte(c.text))
		if diff := cmp.Diff(c.want, outline(runs)); diff != "" || format != "atif" || failed != nil || unknown != nil {
			t.Errorf("%s: %s, errors %v %v, runs (-want +got):\n%s", name, format, failed, unknown, diff)
			continue
		}
		if cost := runs[0].Resources().Cost; cost != 0.75 {
			t.Errorf("%s: cost %v", name, cost)
		}
	}
}

// Terminus-2 has one result for all calls of a step. A result with a reference to the trajectory of a subagent may have
// no content.
func TestATIFResults(t *testing.T) {
	const calls = `[{"tool_call_id":"c1","function_name":"f","arguments":{}},{"tool_call_id":"c2","function_name":"g","arguments":{}}]`
	for results, want := range map[string]string{
		`{"content":"r"}`:                       "s assistant:[c1 f{}][c2 g{}] tool:[c1 f=r][c2 g=r] assistant:(d)",
		`{"content":"r"},{"content":"q"}`:       "s assistant:[c1 f{}][c2 g{}] tool:[c1 f=r] tool:[c2 g=q] assistant:(d)",
		`{"source_call_id":"c1","content":"r"}`: "s assistant:[c1 f{}][c2 g{}] tool:[c1 f=r] assistant:(d)",
		`{"source_call_id":"c1","content":"r"},{"source_call_id":"c2","subagent_trajectory_ref":[{"trajectory_id":"x"}]}`: "s assistant:[c1 f{}][c2 g{}] tool:[c1 f=r] tool:[c2 g=] assistant:(d)",
	} {
		file := `{"schema_version":"ATIF-v1.6","session_id":"s","steps":[{"step_id":1,"source":"agent","message":"","tool_calls":` + calls + `,"observation":{"results":[` + results + `]}},{"step_id":2,"source":"agent","message":"d"}]}`
		_, runs, failed, unknown := readAll(t, "file", []byte(file))
		if diff := cmp.Diff([]string{want}, outline(runs)); diff != "" || failed != nil || unknown != nil {
			t.Errorf("%s: errors %v %v, runs (-want +got):\n%s", results, failed, unknown, diff)
		}
	}
}

func TestATIFBroken(t *testing.T) {
	for name, c := range map[string]struct{ old, new, want string }{
		"a newer version": {`"ATIF-v1.7"`, `"ATIF-v2.0"`, `file:1: unknown version "ATIF-v2.0": looptape reads ATIF-v1.0 to ATIF-v1.8`},
		"no steps":        {`"steps":[`, `"step":[`, "file:1: the trajectory has no steps"},
		"not JSON":        {`"step_id":2`, `"step_id":`, "file:4: steps[1].step_id: expected a value"},
		"no object":       {`{"step_id":2`, "2,\n" + `{"step_id":2`, "file:4: steps[1]: the step is not an object (in s)"},
		"unknown source":  {`"source":"user"`, `"source":"tool"`, "file:4: steps[1]: the step has an unknown source: want system, user or agent (in s)"},
		"unknown content": {`"type":"text","text":"See"`, `"type":"table","text":"See"`, `file:1: the content has a part of the unknown kind "atif.table" (in message 1 of s)`},
		"no message":      {`"message":"Before"`, `"message":7`, "file:5: steps[2].message: expected a string or a list of parts (in s)"},
		"without message": {`"message":"{\"keys\":1}",`, "", "file:9: steps[5]: the step has no message (in s)"},
		"thoughts only":   {`"message":"{\"keys\":1}",`, `"message":"","thoughts":"hm",`, `file:1: the message has no content that looptape reads; it has the members "thoughts" (in message 8 of s)`},
		"reasoning":       {`"message":"{\"keys\":1}",`, `"message":"x","reasoning_content":["hm"],`, "file:9: steps[5].reasoning_content: expected a string (in s)"},
		"no name":         {`"function_name":"ls"`, `"function":"ls"`, "file:6: steps[3].tool_calls[0]: expected a call with a tool_call_id and a function_name (in s)"},
		"results":         {`"observation":{"results":[{"content":"screen"`, `"observation":[],"tool_results":{"x":[{"content":"screen"`, `file:1: the message has the unknown member "tool_results" (in message 8 of s)`},
		"subagent":        {`"steps":[{"step_id":1,"source":"user","message":"ok?"}]`, `"steps":7`, "file:1: subagent_trajectories[0]: the trajectory has no steps (in s)"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, failed, unknown := readAll(t, "file", []byte(strings.Replace(atifExample, c.old, c.new, 1)))
			if diff := cmp.Diff([]string{c.want}, texts(append(failed, unknown...))); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
		})
	}
}
