package importer_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/check"
	"github.com/looptape/looptape/trace/importer"
)

// claudeExample is a session with a response in three records and parallel calls, whose second
// result has another parent than the first; a subagent within the session, and data about one in
// another file; and a user message that the user wrote again in other words.
const claudeExample = `{"type":"summary","summary":"Refunds","leafUuid":"u9"}
{"type":"user","uuid":"u1","parentUuid":null,"sessionId":"s","isSidechain":false,"cwd":"/w","message":{"role":"user","content":"Refund 1 and 2"}}
{"type":"file-history-snapshot","messageId":"u1","snapshot":{"files":{}},"isSnapshotUpdate":false}
{"type":"assistant","uuid":"a1","parentUuid":"u1","sessionId":"s","message":{"id":"m1","role":"assistant","model":"c","content":[{"type":"thinking","thinking":"both","signature":"c2ln"}],"usage":{"input_tokens":10,"output_tokens":1,"cache_read_input_tokens":5}}}
{"type":"assistant","uuid":"a2","parentUuid":"a1","sessionId":"s","message":{"id":"m1","role":"assistant","model":"c","content":[{"type":"tool_use","id":"t1","name":"refund","input":{"id":1}}],"usage":{"input_tokens":10,"output_tokens":1,"cache_read_input_tokens":5}}}
{"type":"user","uuid":"r1","parentUuid":"a2","sessionId":"s","toolUseResult":{"stdout":"ok one"},"message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"ok 1"}]}}
{"type":"assistant","uuid":"a3","parentUuid":"a2","sessionId":"s","message":{"id":"m1","role":"assistant","model":"c","content":[{"type":"tool_use","id":"t2","name":"Task","input":{"prompt":"Look at 2"}}],"stop_reason":"tool_use","usage":{"input_tokens":10,"output_tokens":7,"cache_read_input_tokens":5}}}
{"type":"user","uuid":"x1","parentUuid":null,"sessionId":"s","isSidechain":true,"message":{"role":"user","content":"Look at 2"}}
{"type":"assistant","uuid":"x2","parentUuid":"x1","sessionId":"s","isSidechain":true,"message":{"id":"m2","role":"assistant","content":[{"type":"text","text":"2 is fine"}],"usage":{"input_tokens":3,"output_tokens":2}}}
{"type":"progress","uuid":"p1","parentUuid":"a3","sessionId":"s","parentToolUseID":"t3","data":{"type":"agent_progress","agentId":"ab12","prompt":"Other"}}
{"type":"user","uuid":"r2","parentUuid":"a3","sessionId":"s","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t2","content":[{"type":"text","text":"2 is fine"}],"is_error":false}]}}
{"type":"assistant","uuid":"a4","parentUuid":"r2","sessionId":"s","message":{"id":"m3","role":"assistant","content":[{"type":"text","text":"Done."}],"usage":{"input_tokens":20,"output_tokens":4}}}
{"type":"user","uuid":"y1","parentUuid":null,"sessionId":"s","isSidechain":true,"agentId":"ab12","message":{"role":"user","content":"Other"}}
{"type":"user","uuid":"u2","parentUuid":"a4","sessionId":"s","message":{"role":"user","content":"Thanx"}}
{"type":"assistant","uuid":"a5","parentUuid":"u2","sessionId":"s","message":{"id":"m4","role":"assistant","content":[{"type":"text","text":"Sure."}],"usage":{"input_tokens":30,"output_tokens":2}}}
{"type":"user","uuid":"u3","parentUuid":"a4","sessionId":"s","message":{"role":"user","content":[{"type":"text","text":"Thanks"}]}}
{"type":"assistant","uuid":"a6","parentUuid":"u3","sessionId":"s","message":{"id":"m5","role":"assistant","content":[{"type":"text","text":"Welcome."}],"usage":{"input_tokens":31,"output_tokens":3}}}
`

// outline describes the runs: roles, texts, calls and results, and the usage.
func outline(runs []importer.Run) (lines []string) {
	for _, run := range runs {
		var b strings.Builder
		b.WriteString(run.Name)
		for _, m := range run.Messages {
			b.WriteString(" " + string(m.Role) + ":")
			for _, p := range m.Parts {
				switch p := p.(type) {
				case llm.Text:
					b.WriteString("(" + p.Text + ")")
				case llm.Reasoning:
					b.WriteString("~" + p.Text + "~")
				case llm.ToolCall:
					b.WriteString("[" + p.ID + " " + p.Name + p.Arguments + "]")
				case llm.ToolResult:
					failed := ""
					if p.IsError {
						failed = " failed"
					}
					b.WriteString("[" + p.ID + " " + p.Name + failed + "=" + p.Text() + "]")
				case llm.Media:
					b.WriteString("<" + p.MediaType + ">")
				case llm.Unknown:
					b.WriteString("?" + p.Kind)
				}
			}
		}
		if u := run.Resources().Usage; u != (llm.Usage{}) {
			b.WriteString(" " + string(u.AppendJSON(nil)))
		}
		lines = append(lines, b.String())
	}
	return lines
}

func texts(errs []error) (list []string) {
	for _, err := range errs {
		list = append(list, err.Error())
	}
	return list
}

func TestClaudeCode(t *testing.T) {
	before := `s user:(Refund 1 and 2) assistant:~both~[t1 refund{"id":1}][t2 Task{"prompt":"Look at 2"}] tool:[t1 refund=ok 1] tool:[t2 Task=2 is fine] assistant:(Done.)`
	want := []string{
		before + ` user:(Thanx) assistant:(Sure.) {"input_tokens":65,"output_tokens":13,"cache_read_input_tokens":5}`,
		`s/t2 user:(Look at 2) assistant:(2 is fine) {"input_tokens":3,"output_tokens":2}`,
		`s/t3 user:(Other)`,
		strings.Replace(before, "s ", "s/branch-2 ", 1) + ` user:(Thanks) assistant:(Welcome.) {"input_tokens":31,"output_tokens":3}`,
	}
	plain := []byte(claudeExample)
	for name, b := range map[string][]byte{
		"plain": plain, "zstd": zstandard(t, claudeExample),
		"loglines": []byte(`{"loglines":[` + strings.Join(strings.Split(strings.TrimSpace(claudeExample), "\n"), ",\n") + `],"title":"x"}`),
	} {
		format, runs, failed, unknown := readAll(t, "file", b)
		if diff := cmp.Diff(want, outline(runs)); diff != "" || format != "claude-code" || failed != nil || unknown != nil {
			t.Errorf("%s: %s, errors %v %v, runs (-want +got):\n%s", name, format, failed, unknown, diff)
		}
	}
}

// A record that cannot be read is named. The messages after it are in the run, but a check of them
// could report what the record explains.
func TestClaudeCodeBroken(t *testing.T) {
	for name, c := range map[string]struct{ old, new, want string }{
		"not JSON":       {`{"type":"user","uuid":"r1"`, `{"type":"user,"uuid":"r1"`, `file:6: the line ends within a value`},
		"not an object":  {`{"type":"user","uuid":"r1"`, "7\n" + `{"type":"user","uuid":"r1"`, "file:6: the record is not an object (in s)"},
		"unknown type":   {`{"type":"user","uuid":"r1"`, `{"type":"tool","uuid":"r1"`, `file:6: the record has the unknown type "tool" (in s)`},
		"no content":     {`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1"`, `{"role":"user","contents":[{"type":"tool_result","tool_use_id":"t1"`, "file:6: the record has no message with content (in s)"},
		"invalid blocks": {`[{"type":"tool_result","tool_use_id":"t1","content":"ok 1"}]`, `["ok 1"]`, "file:6: message.content[0]: expected an object (in s)"},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Replace(claudeExample, c.old, c.new, 1)
			_, runs, failed, unknown := readAll(t, "file", []byte(text))
			if diff := cmp.Diff([]string{c.want}, texts(append(failed, unknown...))); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
			if n := len(runs[0].Checkable()); n != 2 || len(runs[0].Messages) < 5 {
				t.Errorf("%d messages can be checked, want 2 of %d", n, len(runs[0].Messages))
			}
		})
	}
}

// Records of newer versions that are not messages are data of the run.
func TestClaudeCodeOtherRecords(t *testing.T) {
	_, want, _, _ := readAll(t, "file", []byte(claudeExample))
	for _, record := range []string{
		`{"type":"file-history-delta","messageId":"r1","snapshotMessageId":"u1","trackingPath":"a.go","backup":{"backupFileName":"b@v1","version":1},"timestamp":"t"}`,
		`{"type":"cost-state","sessionId":"s","totalCostUSD":0.5,"modelUsage":{"m":{"inputTokens":9,"costUSD":0.5}}}`,
		`{"type":"fork-context-ref","agentId":"a1","parentSessionId":"p","parentLastUuid":"u","contextLength":9}`,
		`{"type":"continued-in","sessionId":"s","continuedInSessionId":"s2","timestamp":"t"}`,
		`{"type":"relocated","sessionId":"s","relocatedCwd":"/b"}`,
		`{"type":"frame-link","sessionId":"s","path":"/a.html","frameUrl":"https://a.example","title":"A"}`,
		`{"type":"history-suppression","sessionId":"s","cause":"fork_inherit","ts":1}`,
		`{"type":"artifact-comment-monitor","sessionId":"s","v":1,"artifacts":{}}`,
		`{"type":"artifact-autoreact-ledger","sessionId":"s","v":1,"artifacts":[]}`,
		`{"type":"atis-latch","sessionId":"s","atis":""}`,
		`{"type":"observer-ref","observerTaskId":"o","observerAgentType":"b","timestamp":"t"}`,
	} {
		text := strings.Replace(claudeExample, `{"type":"user","uuid":"r1"`, record+"\n"+`{"type":"user","uuid":"r1"`, 1)
		_, runs, failed, unknown := readAll(t, "file", []byte(text))
		if got := texts(append(failed, unknown...)); len(got) > 0 {
			t.Errorf("%s: errors %q", record, got)
		}
		if got := len(runs[0].Checkable()); got != len(want[0].Checkable()) {
			t.Errorf("%s: %d messages can be checked, want %d", record, got, len(want[0].Checkable()))
		}
		if kind, _, _ := strings.Cut(strings.TrimPrefix(record, `{"type":"`), `"`); !strings.Contains(string(runs[0].Meta[kind]), record) {
			t.Errorf("%s: Meta[%q] is %s", record, kind, runs[0].Meta[kind])
		}
	}
}

// Sessions are kept until they have ended, not until the end of the file.
func TestClaudeCodeManySessions(t *testing.T) {
	record := func(session, text string) string {
		return `{"type":"user","sessionId":"` + session + `","message":{"role":"user","content":"` + text + `"}}` + "\n"
	}
	text := record("a", "x") + strings.Repeat(record("b", "y"), 1500) + record("a", "z")
	_, runs, failed, unknown := readAll(t, "file", []byte(text))
	var got []string
	for _, run := range runs {
		got = append(got, run.Name+" "+run.Messages[0].Text())
	}
	if diff := cmp.Diff([]string{"a x", "b y", "a z"}, got); diff != "" || failed != nil {
		t.Errorf("errors %v, runs (-want +got):\n%s", failed, diff)
	}
	want := []string{"file:1502: the session continues after 1000 records of other sessions: its beginning is another run (in a)"}
	if diff := cmp.Diff(want, texts(unknown)); diff != "" || len(runs[2].Checkable()) > 0 {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
}

// Newer versions write the records of a subagent to another file.
func TestClaudeCodeSubagentFiles(t *testing.T) {
	const (
		session = `{"type":"assistant","uuid":"1","sessionId":"s","message":{"id":"m","role":"assistant","content":[{"type":"tool_use","id":"t1","name":"Task","input":{"prompt":"Look."}}]}}
{"type":"user","uuid":"2","parentUuid":"1","sessionId":"s","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"ok"}]},"toolUseResult":{"agentId":"a1"}}
`
		agent = `{"type":"user","uuid":"3","isSidechain":true,"agentId":"a1","sessionId":"s","message":{"role":"user","content":"Look."}}
`
		older = `{"type":"user","uuid":"3","isSidechain":true,"sessionId":"s","message":{"role":"user","content":"Look."}}
`
	)
	for name, c := range map[string]struct {
		text, subagents string
		names           []string
	}{
		"the session":             {session, `{"a1":"t1"}`, []string{"s"}},
		"the subagent":            {agent, "", []string{"s/agent-a1"}},
		"both":                    {session + agent, "", []string{"s", "s/t1"}},
		"both, the session last":  {agent + session, "", []string{"s/t1", "s"}},
		"a subagent without name": {session + older, `{"a1":"t1"}`, []string{"s", "s/t1"}},
	} {
		_, runs, failed, unknown := readAll(t, "file", []byte(c.text))
		var names []string
		for _, run := range runs {
			names = append(names, run.Name)
		}
		if diff := cmp.Diff(c.names, names); diff != "" || failed != nil || unknown != nil {
			t.Errorf("%s: errors %v %v, names (-want +got):\n%s", name, failed, unknown, diff)
		}
		if got := string(runs[0].Meta["subagents"]); got != c.subagents {
			t.Errorf("%s: subagents %s, want %s", name, got, c.subagents)
		}
	}
}

// A resumed session may have records twice. Each counts once, but not in another session.
func TestClaudeCodeRepeatedRecords(t *testing.T) {
	lines := strings.SplitAfter(claudeExample, "\n")
	_, want, _, _ := readAll(t, "file", []byte(claudeExample))
	for name, text := range map[string]string{
		"the beginning":    strings.Join(lines[:6], "") + claudeExample,
		"each record":      strings.ReplaceAll(claudeExample, "\n", "\n\n") + strings.Join(lines[1:], ""),
		"the last records": claudeExample + strings.Join(lines[12:], ""),
	} {
		_, got, failed, unknown := readAll(t, "file", []byte(text))
		if failed != nil || unknown != nil {
			t.Errorf("%s: %v, %v", name, failed, unknown)
		}
		if diff := cmp.Diff(outline(want), outline(got)); diff != "" {
			t.Errorf("%s: runs (-once +repeated):\n%s", name, diff)
		}
	}
	other := strings.ReplaceAll(claudeExample, `"sessionId":"s"`, `"sessionId":"s2"`)
	if _, got, _, _ := readAll(t, "file", []byte(claudeExample+other)); len(got) != 2*len(want) {
		t.Errorf("another session with the same records: %d runs, want %d", len(got), 2*len(want))
	}
	changed := strings.ReplaceAll(lines[1], "Refund 1 and 2", "Refund 3")
	if _, got, _, _ := readAll(t, "file", []byte(claudeExample+changed)); strings.Contains(strings.Join(outline(got), ""), "Refund 3") == false {
		t.Errorf("another message with the same uuid is lost: %v", outline(got))
	}
}

// The messages of a session are those of the Anthropic API, with its rules.
func TestClaudeCodeHasRulesOfAnthropic(t *testing.T) {
	line := func(id, parent, role, content string) string {
		return fmt.Sprintf(`{"type":%q,"uuid":%q,"parentUuid":%q,"sessionId":"s","message":{"id":%q,"role":%[1]q,"content":[%[5]s]}}`+"\n", role, id, parent, id, content)
	}
	session := func(content string, results ...string) string {
		file := line("u1", "", "user", `{"type":"text","text":"q"}`) + line("a1", "u1", "assistant", content)
		parent := "a1"
		for _, r := range results {
			file += line("r"+parent, parent, "user", r)
			parent = "r" + parent
		}
		return file + line("u2", parent, "user", `{"type":"text","text":"next"}`) + line("a2", "u2", "assistant", `{"type":"text","text":"a"}`)
	}
	const search = `{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}`
	const result = `{"type":"tool_result","tool_use_id":"t1","content":"r"}`
	use := func(input string) string { return `{"type":"tool_use","id":"t1","name":"f"` + input + `}` }
	for name, c := range map[string]struct {
		file, unread, violations string
	}{
		"a call of the server":         {session(search), "", `INV-24 error`},
		"a call of the server, answer": {session(search + `,{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[]},{"type":"text","text":"a"}`), "", ""},
		"an object":                    {session(use(`,"input":{}`), result), "", ""},
		"a text":                       {session(use(`,"input":"x"`), result), `x:2: message: the arguments of the call of "f" are not an object (in s)`, ""},
		"an object in a text":          {session(use(`,"input":"{}"`), result), `x:2: message: the arguments of the call of "f" are not an object (in s)`, ""},
		"no input, no result":          {session(use("")), `x:2: message: the arguments of the call of "f" are not an object (in s)`, "INV-01 error"},
	} {
		run := onlyRun(t, c.file)
		list := check.List{Run: run.Name, Protocol: run.Protocol}
		list.Add(run.Checkable()...)
		if got := levels(list.Done()); got != c.violations {
			t.Errorf("%s: violations %q, want %q", name, got, c.violations)
		}
		unread := ""
		for _, u := range run.Unknown {
			unread += u.Error()
		}
		if unread != c.unread {
			t.Errorf("%s: listed %q, want %q", name, unread, c.unread)
		}
	}
	managed := strings.Replace(managedExample, `"name":"mine","input":{}`, `"name":"mine","input":"x"`, 1)
	if got := unknownIn(t, managed); len(got) != 1 || !strings.Contains(got[0], `the arguments of the call of "mine" are not an object`) {
		t.Errorf("managed agents: listed %q", got)
	}
}
