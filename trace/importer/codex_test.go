package importer_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/trace/check"
)

// codexExample is a rollout of a subagent with calls of all kinds, a compaction, and the data of the
// session that it was forked from.
const codexExample = `{"timestamp":"t0","type":"session_meta","payload":{"id":"b","forked_from_id":"a","source":{"subagent":{"thread_spawn":{"parent_thread_id":"p","depth":1}}},"cli_version":"0.99.0"}}
{"timestamp":"t1","type":"session_meta","payload":{"id":"a","cwd":"/w"}}
{"timestamp":"t2","type":"turn_context","payload":{"model":"m","approval_policy":"never"}}
{"timestamp":"t3","type":"response_item","payload":{"type":"message","role":"developer","content":[{"type":"input_text","text":"Be brief."}]}}
{"timestamp":"t4","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"List."}]}}
{"timestamp":"t5","type":"event_msg","payload":{"type":"user_message","message":"List."}}
{"timestamp":"t6","type":"response_item","payload":{"type":"reasoning","id":"rs","summary":[{"type":"summary_text","text":"ls"}],"encrypted_content":"gAAA"}}
{"timestamp":"t7","type":"response_item","payload":{"type":"function_call","id":"f1","name":"shell","arguments":"{\"cmd\":\"ls\"}","call_id":"c1"}}
{"timestamp":"t8","type":"response_item","payload":{"type":"local_shell_call","call_id":"c2","status":"completed","action":{"type":"exec","command":["pwd"]}}}
{"timestamp":"t9","type":"response_item","payload":{"type":"custom_tool_call","call_id":"c3","name":"apply_patch","input":"*** End Patch"}}
{"timestamp":"t10","type":"response_item","payload":{"type":"ghost_snapshot","ghost_commit":{"id":"g"}}}
{"timestamp":"t11","type":"response_item","payload":{"type":"function_call_output","call_id":"c1","output":"README"}}
{"timestamp":"t12","type":"response_item","payload":{"type":"function_call_output","call_id":"c2","output":"/w"}}
{"timestamp":"t13","type":"response_item","payload":{"type":"custom_tool_call_output","call_id":"c3","output":"done"}}
{"timestamp":"t14","type":"event_msg","payload":{"type":"token_count","info":null}}
{"timestamp":"t15","type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":50,"cached_input_tokens":40,"output_tokens":9,"reasoning_output_tokens":3,"total_tokens":59}}}}
{"timestamp":"t16","type":"compacted","payload":{"message":"They listed.","replacement_history":[{"type":"message","role":"user","content":[{"type":"input_text","text":"summary"}]}]}}
{"timestamp":"t17","type":"response_item","payload":{"type":"message","role":"assistant","phase":"final","content":[{"type":"output_text","text":"README"}]}}
`

// rolloutOf returns a rollout of items of the assistant, and of counts of tokens.
func rolloutOf(items ...any) string {
	text := `{"timestamp":"t","type":"session_meta","payload":{"id":"s"}}` + "\n"
	for _, it := range items {
		switch it := it.(type) {
		case int:
			text += fmt.Sprintf(`{"timestamp":"t","type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":%d}}}}`+"\n", it)
		case string:
			payload := `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"message"}]}`
			if it == "call" {
				payload = `{"type":"function_call","name":"f","arguments":"{}","call_id":"a"}`
			}
			text += `{"timestamp":"t","type":"response_item","payload":` + payload + "}\n"
		}
	}
	return text
}

func TestCodex(t *testing.T) {
	want := []string{`p/b system:(Be brief.) user:(List.) assistant:~ls~[c1 shell{"cmd":"ls"}][c2 local_shell{"type":"exec","command":["pwd"]}][c3 apply_patch*** End Patch]` +
		` tool:[c1 shell=README][c2 local_shell=/w][c3 apply_patch=done] assistant:(README) {"input_tokens":50,"output_tokens":9,"cache_read_input_tokens":40,"reasoning_output_tokens":3}`}
	second := `{"timestamp":"t18","type":"session_meta","payload":{"id":"z"}}` + "\n"
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"plain": {codexExample, want}, "zstd": {string(zstandard(t, codexExample)), want},
		// The count of the tokens ends a response, and a repeated one does not.
		"two responses": {rolloutOf("call", 1, "message", 1, "message", 2, "message"), []string{`s assistant:[a f{}] assistant:(message)(message) assistant:(message) {"input_tokens":2,"output_tokens":0}`}},
		"two rollouts":  {codexExample + second, append(want[:1:1], "z")},
		"the first versions": {`{"id":"o","timestamp":"t","instructions":null,"git":{}}
{"record_type":"state"}
{"type":"message","role":"user","content":[{"type":"input_text","text":"Hi"}]}
{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Ho"}]}
`, []string{"o user:(Hi) assistant:(Ho)"}},
	} {
		format, runs, failed, unknown := readAll(t, "file", []byte(c.text))
		if diff := cmp.Diff(c.want, outline(runs)); diff != "" || format != "codex" || failed != nil || unknown != nil {
			t.Errorf("%s: %s, errors %v %v, runs (-want +got):\n%s", name, format, failed, unknown, diff)
		}
	}
}

func TestCodexBroken(t *testing.T) {
	for name, c := range map[string]struct{ old, new, want string }{
		"not JSON":     {`{"timestamp":"t11"`, `{"timestamp:"t11"`, "file:12: the line ends within a value"},
		"no object":    {`{"timestamp":"t11"`, "null\n" + `{"timestamp":"t11"`, "file:12: the record is not an object (in p/b)"},
		"unknown type": {`"response_item","payload":{"type":"function_call_output","call_id":"c1"`, `"item","payload":{"type":"function_call_output","call_id":"c1"`, `file:12: the record has the unknown type "item" (in p/b)`},
		"unknown item": {`"type":"function_call_output","call_id":"c1"`, `"type":"function_output","call_id":"c1"`, `file:1: the content has a part of the unknown kind "function_output" (in message 2 of p/b)`},
		"no type":      {`"type":"function_call_output","call_id":"c1"`, `"call_id":"c1"`, "file:12: payload: the item has no type or no content (in p/b)"},
		"output":       {`"output":"README"`, `"output":{}`, "file:12: payload.output: expected an array (in p/b)"},
	} {
		t.Run(name, func(t *testing.T) {
			_, runs, failed, unknown := readAll(t, "file", []byte(strings.Replace(codexExample, c.old, c.new, 1)))
			if diff := cmp.Diff([]string{c.want}, texts(append(failed, unknown...))); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
			if n := len(runs[0].Checkable()); n != 3 && name != "unknown item" {
				t.Errorf("%d messages can be checked, want 3", n)
			}
		})
	}
}

// Records and events of newer versions that have no items are data of the run.
func TestCodexOtherRecords(t *testing.T) {
	_, want, _, _ := readAll(t, "file", []byte(codexExample))
	for _, record := range []string{
		`"type":"world_state","payload":{"full":true,"state":{"agents_md":{"directory":"/w","text":"Be brief."}}}`,
		`"type":"inter_agent_communication_metadata","payload":{"trigger_turn":false}`,
		`"type":"event_msg","payload":{"type":"thread_settings_applied","thread_settings":{"model":"m"}}`,
		`"type":"event_msg","payload":{"type":"sub_agent_activity","event_id":"c1","agent_thread_id":"d","kind":"started"}`,
	} {
		_, runs, failed, unknown := readAll(t, "file", []byte(strings.Replace(codexExample, `{"timestamp":"t11"`, `{"timestamp":"t10",`+record+"}\n"+`{"timestamp":"t11"`, 1)))
		if got := texts(append(failed, unknown...)); len(got) > 0 {
			t.Errorf("%s: errors %q", record, got)
		}
		if got := len(runs[0].Checkable()); got != len(want[0].Checkable()) {
			t.Errorf("%s: %d messages can be checked, want %d", record, got, len(want[0].Checkable()))
		}
	}
}

// The protocol of a rollout is that of its items, which do not show where a response ends. A count of tokens
// does, also one without the tokens.
func TestCodexTextAfterCall(t *testing.T) {
	const rollout = `{"timestamp":"t","type":"session_meta","payload":{"id":"s"}}
{"timestamp":"t","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"q"}]}}
{"timestamp":"t","type":"response_item","payload":{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}}
`
	const count = `{"timestamp":"t","type":"event_msg","payload":{"type":"token_count","info":null}}` + "\n"
	const text = `{"timestamp":"t","type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"d"}]}}`
	for file, want := range map[string]string{
		rollout: "", rollout + text: "INV-01 note: true",
		rollout + count: "", rollout + count + text: "INV-01 note: false", strings.Replace(rollout, "\n", "\n"+count, 2) + text: "INV-01 note: true",
	} {
		run := onlyRun(t, file)
		list := check.List{Run: run.Name, Protocol: run.Protocol, Request: run.Sent}
		for _, m := range run.Messages {
			list.Add(m)
		}
		got := ""
		for _, v := range list.Done() {
			got += fmt.Sprint(v.Invariant, " note: ", v.Note)
		}
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// Codex adds the results of interrupted calls when it sends them, and removes turns that the user went back from.
func TestCodexInterrupted(t *testing.T) {
	record := func(kind, payload string) string {
		return `{"timestamp":"t","type":"` + kind + `","payload":` + payload + "}\n"
	}
	say := func(role, text string) string {
		return record("response_item", `{"type":"message","role":"`+role+`","content":[{"type":"input_text","text":"`+text+`"}]}`)
	}
	call := func(id string) string {
		return record("response_item", `{"type":"function_call","name":"f","arguments":"{}","call_id":"`+id+`"}`)
	}
	back := func(n int) string {
		return record("event_msg", fmt.Sprintf(`{"type":"thread_rolled_back","num_turns":%d}`, n))
	}
	result := record("response_item", `{"type":"function_call_output","call_id":"a","output":"r"}`)
	said := record("event_msg", `{"type":"agent_message","message":"x"}`)
	start := record("session_meta", `{"id":"s"}`) + say("user", "<environment_context>") + say("user", "q")
	for name, c := range map[string]struct{ file, want string }{
		"an interrupted call":       {call("a") + record("event_msg", `{"type":"turn_aborted","reason":"interrupted"}`) + say("user", "<turn_aborted>"), "(q) assistant:[a f{}] tool:[a f=aborted] user:(<turn_aborted>)"},
		"after a kill":              {call("a") + say("user", "z") + say("assistant", "d"), "(q) assistant:[a f{}] tool:[a f=aborted] user:(z) assistant:(d)"},
		"one of two calls":          {call("a") + call("b") + result + say("user", "z"), "(q) assistant:[a f{}][b f{}] tool:[a f=r][b f=aborted] user:(z)"},
		"a late result":             {call("a") + say("user", "z") + result, "(q) assistant:[a f{}] user:(z) tool:[a f=r]"},
		"before the assistant":      {call("a") + record("event_msg", `{"type":"token_count","info":null}`) + say("assistant", "d"), "(q) assistant:[a f{}] assistant:(d)"},
		"the end":                   {call("a"), "(q) assistant:[a f{}]"},
		"turns rolled back":         {say("assistant", "x") + say("user", "y") + say("assistant", "x") + say("user", "<turn_aborted>") + said + back(1) + say("user", "z"), "(q) assistant:(x) user:(z)"},
		"with an open call":         {say("user", "y") + call("a") + back(1) + say("user", "z"), "(q) user:(z)"},
		"more turns than there are": {say("assistant", "x") + said + back(7) + say("user", "z"), "(z)"},
	} {
		_, runs, failed, unknown := readAll(t, "file", []byte(start+c.file))
		want := []string{"s user:(<environment_context>) user:" + c.want}
		if diff := cmp.Diff(want, outline(runs)); diff != "" || failed != nil || unknown != nil {
			t.Errorf("%s: errors %v %v, runs (-want +got):\n%s", name, failed, unknown, diff)
		}
	}
	_, _, _, unknown := readAll(t, "file", []byte(start+back(0)))
	if diff := cmp.Diff([]string{"file:4: the event has no number of turns in num_turns (in s)"}, texts(unknown)); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
}
