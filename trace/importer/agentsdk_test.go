package importer_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// sdkExample is a query with a subagent, and the echo of the user's message.
const sdkExample = `{"type":"control_request","request_id":"q1","request":{"subtype":"initialize","hooks":null}}
{"type":"user","message":{"role":"user","content":"Count"},"parent_tool_use_id":null,"session_id":"default"}
{"type":"system","subtype":"init","session_id":"s1","tools":["Task"],"model":"c"}
{"type":"user","isReplay":true,"message":{"role":"user","content":[{"type":"text","text":"Count"}]},"parent_tool_use_id":null,"session_id":"s1"}
{"type":"stream_event","event":{"type":"content_block_delta","delta":{"text":"Wai"}},"session_id":"s1"}
{"type":"assistant","message":{"id":"m1","role":"assistant","content":[{"type":"text","text":"Wait"}],"usage":{"input_tokens":3,"output_tokens":0}},"parent_tool_use_id":null,"session_id":"s1","uuid":"a1"}
{"type":"assistant","message":{"id":"m1","role":"assistant","content":[{"type":"tool_use","id":"t1","name":"Task","input":{"prompt":"Look"},"caller":{"type":"direct"}}],"usage":{"input_tokens":3,"output_tokens":0}},"parent_tool_use_id":null,"session_id":"s1","uuid":"a2"}
{"type":"user","message":{"role":"user","content":[{"type":"text","text":"Look"}]},"parent_tool_use_id":"t1","session_id":"s1"}
{"type":"assistant","message":{"id":"m2","role":"assistant","content":[{"type":"text","text":"7"}],"usage":{"input_tokens":2,"output_tokens":1}},"parent_tool_use_id":"t1","session_id":"s1"}
{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"7"}]},"parent_tool_use_id":null,"session_id":"s1","tool_use_result":{"stdout":"7\n"}}
{"type":"assistant","message":{"id":"m3","role":"assistant","content":[{"type":"text","text":"It is 7"}],"usage":{"input_tokens":1,"output_tokens":1}},"parent_tool_use_id":null,"session_id":"s1"}
{"type":"result","subtype":"success","is_error":false,"duration_ms":1500,"num_turns":2,"result":"It is 7","total_cost_usd":0.25,"usage":{"input_tokens":6,"cache_creation_input_tokens":1,"cache_read_input_tokens":8,"output_tokens":90},"session_id":"s1"}
`

func TestAgentSDK(t *testing.T) {
	want := []string{
		`s1 user:(Count) assistant:(Wait)[t1 Task{"prompt":"Look"}] tool:[t1 Task=7] assistant:(It is 7) {"input_tokens":15,"output_tokens":90,"cache_read_input_tokens":8,"cache_creation_input_tokens":1}`,
		`s1/t1 user:(Look) assistant:(7) {"input_tokens":2,"output_tokens":1}`,
	}
	lines := strings.Split(strings.TrimSpace(sdkExample), "\n")
	both := `{"direction":"recv","message":` + strings.Join(lines, `},`+"\n"+`{"direction":"recv","message":`) + "}"
	for name, text := range map[string]string{
		"lines": sdkExample, "compressed": string(zstandard(t, sdkExample)),
		"a list":         "[" + strings.Join(lines, ",\n") + "]",
		"messages":       `{"metadata":{"cli_version":"1"},"messages":[` + strings.Join(lines, ",") + "]}",
		"directions":     `{"messages":[` + both + "]}",
		"YAML":           "messages:\n- " + strings.Join(lines, "\n- ") + "\n# parent_tool_use_id:",
		"YAML, metadata": "metadata: {}\nmessages:\n- " + strings.Join(lines, "\n- ") + "\n# parent_tool_use_id:",
	} {
		format, runs, failed, unknown := readAll(t, "file", []byte(text))
		if diff := cmp.Diff(want, outline(runs)); diff != "" || format != "claude-agent-sdk" || failed != nil || unknown != nil {
			t.Errorf("%s: %s, errors %v %v, runs (-want +got):\n%s", name, format, failed, unknown, diff)
			continue
		}
		if r := runs[0].Resources(); runs[0].Answer != "It is 7" || r.Cost != 0.25 || r.Latency != 1500*time.Millisecond {
			t.Errorf("%s: answer %q, resources %+v", name, runs[0].Answer, r)
		}
	}
}

func TestAgentSDKBroken(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"unknown type": {strings.Replace(sdkExample, `"type":"result"`, `"type":"outcome"`, 1), `file:12: the record has the unknown type "outcome" (in s1)`},
		"lost answer":  {strings.Replace(sdkExample, `"text":"It is 7"`, `"text":"I look"`, 1), `file:12: result: the text "It is 7" is in no message (in s1)`},
		"no message":   {`{"messages":[{"direction":"send","message":{"type":"control_request"}},` + "\n" + `{"direction":"recv"}]}`, "file:2: messages[1].message: the record is not an object (in session)"},
		"YAML":         {"messages:\n- type: control_request\n- type: user\n  message: {role: user, content: [7]}\n", "file:3: messages[1].message.content[0]: expected an object (in session)"},
		"invalid YAML": {"messages:\n- type: control_request\n- {", "file:3: yaml: line 3: did not find expected node content"},
		"a command":    {strings.NewReplacer(`"text":"It is 7"`, `"text":"I look"`, `"output_tokens":90`, `"output_tokens":0`).Replace(sdkExample), ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, failed, unknown := readAll(t, "file", []byte(c.text))
			if diff := cmp.Diff(c.want, strings.Join(texts(append(failed, unknown...)), "\n")); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
		})
	}
}
