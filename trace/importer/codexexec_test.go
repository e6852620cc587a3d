package importer_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// codexExecExample has each type of event and of item.
const codexExecExample = `{"type":"thread.started","thread_id":"t1"}
{"type":"turn.started"}
{"type":"item.completed","item":{"id":"item_0","type":"reasoning","text":"hm"}}
{"type":"item.started","item":{"id":"item_1","type":"command_execution","command":"bash -lc ls","aggregated_output":"","exit_code":null,"status":"in_progress"}}
{"type":"item.completed","item":{"id":"item_1","type":"command_execution","command":"bash -lc ls","aggregated_output":"README\n","exit_code":0,"status":"completed"}}
{"type":"item.completed","item":{"id":"item_2","type":"command_execution","command":"false","aggregated_output":"no","exit_code":1,"status":"failed"}}
{"type":"item.completed","item":{"id":"item_3","type":"file_change","changes":[{"path":"a.md","kind":"add"}],"status":"completed"}}
{"type":"item.started","item":{"id":"item_4","type":"mcp_tool_call","server":"s","tool":"find","arguments":{"q":"x"},"status":"in_progress"}}
{"type":"item.completed","item":{"id":"item_4","type":"mcp_tool_call","server":"s","tool":"find","arguments":{"q":"x"},"result":{"content":[{"type":"text","text":"found"}],"structured_content":null},"error":null,"status":"completed"}}
{"type":"item.completed","item":{"id":"item_5","type":"mcp_tool_call","server":"s","tool":"get","arguments":null,"result":null,"error":{"message":"gone"},"status":"failed"}}
{"type":"item.completed","item":{"id":"item_6","type":"web_search","query":"weather","action":{"type":"search"}}}
{"type":"item.updated","item":{"id":"item_7","type":"todo_list","items":[{"text":"look","completed":false}]}}
{"type":"item.completed","item":{"id":"item_7","type":"todo_list","items":[{"text":"look","completed":true}]}}
{"type":"item.completed","item":{"id":"item_8","type":"error","message":"slow"}}
{"type":"item.completed","item":{"id":"item_9","type":"collab_tool_call","tool":"spawn_agent","sender_thread_id":"t1","receiver_thread_ids":["t2"],"prompt":"help","agents_states":{"t2":{"status":"running","message":null}},"status":"completed"}}
{"type":"item.completed","item":{"id":"item_10","type":"agent_message","text":"done"}}
{"type":"turn.completed","usage":{"input_tokens":50,"cached_input_tokens":40,"output_tokens":9}}
`

func TestCodexExec(t *testing.T) {
	want := `t1 assistant:~hm~[item_1 command_execution{"command":"bash -lc ls"}] tool:[item_1 command_execution=README
] assistant:[item_2 command_execution{"command":"false"}] tool:[item_2 command_execution failed=no]` +
		` assistant:[item_3 file_change{"changes":[{"path":"a.md","kind":"add"}]}] tool:[item_3 file_change=completed] assistant:[item_4 s__find{"q":"x"}] tool:[item_4 s__find=found]` +
		` assistant:[item_5 s__get{}] tool:[item_5 s__get failed=gone] assistant:[item_6 web_search{"query":"weather","action":{"type":"search"}}][item_9 spawn_agent{"prompt":"help","receiver_thread_ids":["t2"]}]` +
		` tool:[item_9 spawn_agent={"t2":{"status":"running","message":null}}] assistant:(done) {"input_tokens":50,"output_tokens":9,"cache_read_input_tokens":40}`
	second := strings.Replace(codexExecExample, `"t1"`, `"t3"`, 1)
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"plain": {codexExecExample, []string{want}}, "zstd": {string(zstandard(t, codexExecExample)), []string{want}},
		"two threads":     {codexExecExample + second, []string{want, strings.Replace(want, "t1", "t3", 1)}},
		"an unended call": {codexExecExample[:strings.Index(codexExecExample, `{"type":"item.completed","item":{"id":"item_1"`)], []string{`t1 assistant:~hm~[item_1 command_execution{"command":"bash -lc ls"}]`}},
		"a failed turn":   {`{"type":"thread.started","thread_id":"t1"}` + "\n" + `{"type":"turn.started"}` + "\n" + `{"type":"turn.failed","error":{"message":"no"}}` + "\n", []string{"t1"}},
		"without a start": {`{"type":"turn.started"}` + "\n" + `{"type":"item.completed","item":{"id":"i","type":"agent_message","text":"x"}}` + "\n", []string{"thread assistant:(x)"}},
	} {
		format, runs, failed, unknown := readAll(t, "file", []byte(c.text))
		if diff := cmp.Diff(c.want, outline(runs)); diff != "" || format != "codex-exec" || failed != nil || unknown != nil {
			t.Errorf("%s: %s, errors %v %v, runs (-want +got):\n%s", name, format, failed, unknown, diff)
		}
	}
}

func TestCodexExecBroken(t *testing.T) {
	for name, c := range map[string]struct{ old, new, want string }{
		"not JSON":         {`{"type":"item.completed","item":{"id":"item_2"`, `{"type:"item.completed","item":{"id":"item_2"`, "file:6: the line ends within a value"},
		"no object":        {`{"type":"item.completed","item":{"id":"item_2"`, "7\n" + `{"type":"item.completed","item":{"id":"item_2"`, "file:6: the record is not an object (in t1)"},
		"unknown type":     {`"item.completed","item":{"id":"item_2"`, `"item.done","item":{"id":"item_2"`, `file:6: the record has the unknown type "item.done" (in t1)`},
		"unknown item":     {`"id":"item_2","type":"command_execution"`, `"id":"item_2","type":"sleep"`, `file:6: item: the item has the unknown type "sleep" (in t1)`},
		"no id":            {`"id":"item_2",`, "", "file:6: item: the call has no id (in t1)"},
		"no end":           {`{"type":"item.completed","item":{"id":"item_1"`, `{"type":"item.updated","item":{"id":"item_1"`, "file:4: item: the item has begun and is not completed: its end is missing (in t1)"},
		"no end of MCP":    {`{"type":"item.completed","item":{"id":"item_4"`, `{"type":"item.updated","item":{"id":"item_4"`, "file:8: item: the item has begun and is not completed: its end is missing (in t1)"},
		"no end of a text": {`{"type":"item.completed","item":{"id":"item_10"`, `{"type":"item.started","item":{"id":"item_10"`, "file:16: item: the item has begun and is not completed: its end is missing (in t1)"},
		"no text":          {`"text":"done"`, `"text":7`, "file:16: item: the item has no text (in t1)"},
	} {
		t.Run(name, func(t *testing.T) {
			_, runs, failed, unknown := readAll(t, "file", []byte(strings.Replace(codexExecExample, c.old, c.new, 1)))
			if diff := cmp.Diff([]string{c.want}, texts(append(failed, unknown...))); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
			if n := len(runs[0].Checkable()); n >= len(runs[0].Messages) && name != "no text" && !strings.HasPrefix(name, "no end") {
				t.Errorf("%d messages can be checked of %d", n, len(runs[0].Messages))
			}
		})
	}
}
