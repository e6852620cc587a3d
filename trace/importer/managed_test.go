package importer_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// managedExample is a session with calls of each kind: one is denied, one runs in the program. A second
// thread has a message.
const managedExample = `
["client.beta.sessions.create",{"id":"s1","agent":{"system":"Be brief.","name":"a","tools":[]}}]
["client.beta.sessions.events.send",["s1",{"events":[{"type":"user.message","content":[{"type":"text","text":"Stars?"}]}]}]]
["client.beta.sessions.events.stream",{"id":"e1","type":"session.status_running","processed_at":"t"}]
["client.beta.sessions.events.stream",{"id":"e2","type":"user.message","content":[{"type":"text","text":"Stars?"}],"processed_at":"t"}]
["client.beta.sessions.events.stream",{"id":"e3","type":"agent.thinking","processed_at":"t"}]
["client.beta.sessions.events.stream",{"id":"e4","type":"agent.message","content":[{"type":"text","text":"Let me look."}],"processed_at":"t"}]
["client.beta.sessions.events.stream",{"id":"e5","type":"agent.mcp_tool_use","mcp_server_name":"exa","name":"search","input":{"q":"x"},"processed_at":"t"}]
["client.beta.sessions.events.stream",{"id":"e6","type":"agent.custom_tool_use","name":"mine","input":{},"processed_at":"t"}]
["client.beta.sessions.events.stream",{"id":"e7","type":"span.model_request_end","model_usage":{"input_tokens":2,"output_tokens":9,"cache_read_input_tokens":5,"cache_creation_input_tokens":1},"processed_at":"t"}]
["client.beta.sessions.events.send",["s1",{"events":[{"type":"user.tool_confirmation","tool_use_id":"e5","result":"deny","deny_message":"no"}]}]]
["client.beta.sessions.events.stream",{"id":"e8","type":"user.tool_confirmation","tool_use_id":"e5","result":"deny","deny_message":"no","processed_at":"t"}]
["client.beta.sessions.events.stream",{"id":"e9","type":"agent.mcp_tool_result","mcp_tool_use_id":"e5","content":[{"type":"text","text":"rejected"}],"is_error":true,"processed_at":"t"}]
["client.beta.sessions.events.stream",{"id":"e10","type":"user.custom_tool_result","custom_tool_use_id":"e6","content":[{"type":"text","text":"7"}],"processed_at":"t"}]
["client.beta.sessions.events.stream",{"id":"e11","type":"agent.message","session_thread_id":"th2","content":[{"type":"text","text":"aside"}],"processed_at":"t"}]
["client.beta.sessions.events.stream",{"id":"e12","type":"agent.message","content":[{"type":"text","text":"7 stars"}],"processed_at":"t"}]
["client.beta.sessions.events.list",{"id":"e12","type":"agent.message","content":[{"type":"text","text":"7 stars"}],"processed_at":"t"}]
`

func TestManagedAgents(t *testing.T) {
	want := []string{
		`s1 system:(Be brief.) user:(Stars?) assistant:(Let me look.)[e5 search{"q":"x"}][e6 mine{}] tool:[e5 search failed=rejected] tool:[e6 mine=7] assistant:(7 stars)` +
			` {"input_tokens":8,"output_tokens":9,"cache_read_input_tokens":5,"cache_creation_input_tokens":1}`,
		"s1/th2 assistant:(aside)",
	}
	second := `["client.beta.sessions.create",{"id":"s2","agent":{"system":"Hi"}}]` + "\n"
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"plain": {managedExample, want}, "compressed": {string(zstandard(t, managedExample)), want},
		"two sessions": {managedExample + second, append(want[:2:2], "s2 system:(Hi)")},
		"events": {`{"id":"e1","type":"user.message","content":[{"type":"text","text":"Hi"}],"processed_at":"t"}
{"id":"e2","type":"agent.message","content":[{"type":"text","text":"Ho"}],"processed_at":"t"}
`, []string{"session user:(Hi) assistant:(Ho)"}},
	} {
		format, runs, failed, unknown := readAll(t, "file", []byte(c.text))
		if diff := cmp.Diff(c.want, outline(runs)); diff != "" || format != "managed-agents" || failed != nil || unknown != nil {
			t.Errorf("%s: %s, errors %v %v, runs (-want +got):\n%s", name, format, failed, unknown, diff)
		}
	}
}

func TestManagedAgentsBroken(t *testing.T) {
	for name, c := range map[string]struct{ old, new, want string }{
		"not JSON": {`{"id":"e9","type"`, `{"id":"e9,"type"`, "file:13: the line ends within a value"},
		"another event": {`"id":"e12","type":"agent.message","content":[{"type":"text","text":"7 stars"}],"processed_at":"t"}]
["client.beta.sessions.events.list"`, `"id":"e12","type":"agent.message","content":[{"type":"text","text":"8 stars"}],"processed_at":"u"}]
["client.beta.sessions.events.list"`, "file:17: [1]: the event differs from an earlier event with the same id (in s1)"},
		"unknown type":   {"agent.mcp_tool_result", "agent.result", `file:13: [1]: the event has the unknown type "agent.result" (in s1)`},
		"unknown method": {`"client.beta.sessions.events.list"`, `"client.beta.sessions.events.fetch"`, `file:17: [0]: the call has the unknown method "client.beta.sessions.events.fetch" (in s1)`},
		"no id":          {`"mcp_tool_use_id":"e5"`, `"call":"e5"`, "file:13: [1]: the event has no id of the call (in s1)"},
		"content":        {`"content":[{"type":"text","text":"rejected"}]`, `"content":[7]`, "file:13: [1].content[0]: expected an object (in s1)"},
		"no content":     {`"content":[{"type":"text","text":"aside"}],`, "", "file:15: [1]: the event has no content (in s1/th2)"},
		"not received":   {`"stream",{"id":"e2"`, `"stream",{"text":"?","id":"e2"`, ""},
		"lost":           {`{"id":"e2","type":"user.message","content":[{"type":"text","text":"Stars?"}]`, `{"id":"e2","type":"user.interrupt"`, `file:3: [1][1].events[0]: the event "user.message" was sent, but it is not in the stream (in s1)`},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, failed, unknown := readAll(t, "file", []byte(strings.Replace(managedExample, c.old, c.new, 1)))
			var want []string
			if c.want != "" {
				want = []string{c.want}
			}
			if diff := cmp.Diff(want, texts(append(failed, unknown...))); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
		})
	}
}
