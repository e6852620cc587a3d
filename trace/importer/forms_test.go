package importer_test

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/check"
	"github.com/looptape/looptape/trace/importer"
)

// Each list has two calls, a and b, and a result of a only. The request that follows shows that
// the result of b is missing.
var incompleteLists = map[string]string{
	"Chat Completions": `{"role":"user","content":"hi"}
{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"b","type":"function","function":{"name":"g","arguments":"{}"}}]}
{"role":"tool","tool_call_id":"a","content":"1"}
{"role":"user","content":"go on"}`,
	"Anthropic": `{"role":"user","content":"hi"}
{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"x"},{"type":"text","text":"ok"},{"type":"tool_use","id":"a","name":"f","input":{}},{"type":"tool_use","id":"b","name":"g","input":{}}]}
{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"1"}]}
{"role":"user","content":"go on"}`,
	"Responses": `{"role":"user","content":[{"type":"input_text","text":"hi"}]}
{"type":"reasoning","id":"r","summary":[]}
{"type":"function_call","call_id":"a","name":"f","arguments":"{}"}
{"type":"function_call","call_id":"b","name":"g","arguments":"{}"}
{"type":"function_call_output","call_id":"a","output":"1"}
{"type":"message","role":"user","content":"go on"}`,
	"Gemini": `{"role":"user","parts":[{"text":"hi"}]}
{"role":"model","parts":[{"functionCall":{"name":"f","args":{}}},{"functionCall":{"name":"g","args":{}}}]}
{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"result":1}}}]}
{"role":"user","parts":[{"text":"go on"}]}`,
	"Bedrock Converse": `{"role":"user","content":[{"text":"hi"}]}
{"role":"assistant","content":[{"text":"ok"},{"toolUse":{"toolUseId":"a","name":"f","input":{}}},{"toolUse":{"toolUseId":"b","name":"g","input":{}}}]}
{"role":"user","content":[{"toolResult":{"toolUseId":"a","content":[{"text":"1"}],"status":"success"}},{"text":"go on"}]}`,
	"Cohere": `{"role":"user","content":"hi"}
{"role":"assistant","tool_plan":"both","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"b","type":"function","function":{"name":"g","arguments":"{}"}}]}
{"role":"tool","tool_call_id":"a","content":[{"type":"document","document":{"data":"1"}}]}
{"role":"user","content":"go on"}`,
	"Ollama": `{"role":"user","content":"hi"}
{"role":"assistant","content":"","thinking":"hm","tool_calls":[{"function":{"name":"f","arguments":{}}},{"function":{"name":"g","arguments":{}}}]}
{"role":"tool","tool_name":"f","content":"1"}
{"role":"user","content":"go on"}`,
	"Ollama, results without names": `{"role":"user","content":"hi"}
{"role":"assistant","content":"","tool_calls":[{"function":{"name":"g","arguments":{}}},{"function":{"name":"f","arguments":{}}}]}
{"role":"tool","content":"1"}
{"role":"user","content":"go on"}`,
	"function_call": `{"role":"user","content":"hi"}
{"role":"assistant","content":null,"function_call":{"name":"f","arguments":"{}"}}
{"role":"assistant","content":null,"function_call":{"name":"g","arguments":"{}"}}
{"role":"function","name":"g","content":"1"}
{"role":"user","content":"go on"}`,
}

func TestMissingResultReportedInAllForms(t *testing.T) {
	for name, lines := range incompleteLists {
		t.Run(name, func(t *testing.T) {
			list := "[" + strings.ReplaceAll(lines, "\n", ",") + "]"
			for form, in := range map[string]string{"list": list, "lines": lines, "object": `{"messages":` + list + `}`, "list of lists": "[" + list + "]"} {
				run := onlyRun(t, in)
				var calls, results int
				for _, m := range run.Messages {
					calls += len(m.Calls())
					if m.Role == llm.RoleTool {
						results += len(m.Parts)
					}
				}
				if diff := cmp.Diff([3]int{2, 1, 0}, [3]int{calls, results, len(run.Unknown)}); diff != "" {
					t.Errorf("%s: calls, results, parts that were not understood (-want +got):\n%s", form, diff)
				}
				list := check.List{Protocol: run.Protocol}
				list.Add(run.Messages...)
				if found := list.Done(); len(found) != 1 || found[0].Invariant != "INV-01" || found[0].Note {
					t.Errorf("%s: violations %+v, want an error of INV-01", form, found)
				}
			}
		})
	}
}

// TestProtocolOfLists reads lists that only the protocol of their form accepts.
func TestProtocolOfLists(t *testing.T) {
	for name, c := range map[string]struct{ in, protocol, want string }{
		"Anthropic, messages that the provider joins": {`[{"role":"user","content":"Go."},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]},{"role":"assistant","content":[{"type":"tool_use","id":"b","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"1"},{"type":"tool_result","tool_use_id":"b","content":"2"}]}]`, "anthropic-messages", ""},
		"Anthropic, an id again":                      {`[{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"1"}]},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"2"}]}]`, "anthropic-messages", "INV-04 false"},
		"Mistral, thinking and an id again":           {`[{"role":"user","content":"Go."},` + strings.Repeat(`{"role":"assistant","content":[{"type":"thinking","thinking":"h"}],"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"a","content":"1"},`, 2) + `{"role":"assistant","content":[{"type":"thinking","thinking":"h"},{"type":"text","text":"k"}]}]`, "", "INV-04 true"},
		"Responses, a message before an output":       {`[{"role":"user","content":"Go."},{"type":"function_call","call_id":"a","name":"f","arguments":"{}"},{"role":"user","content":"Wait."},{"type":"function_call_output","call_id":"a","output":"1"}]`, "openai-responses", "INV-02 true"},
		"Gemini, a call without an id":                {`[{"role":"user","parts":[{"text":"Go."}]},{"role":"model","parts":[{"functionCall":{"name":"f"}}]},{"role":"user","parts":[{"functionResponse":{"name":"f"}}]}]`, "gemini", ""},
		"a request of Anthropic":                      {`{"model":"m","max_tokens":9,"system":"Help.","messages":[{"role":"user","content":"Go."},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]},{"role":"assistant","content":"So."},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"1"}]}]}`, "anthropic-messages", ""},
		"a response of Gemini with a call without id": {`{"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"name":"f"}}]},"finishReason":"STOP"}]}`, "gemini", ""},
		"Chat Completions, a message before a result": {`[{"role":"user","content":"Go."},{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}}]},{"role":"user","content":"Wait."},{"role":"tool","tool_call_id":"a","content":"1"}]`, "", "INV-02 false"},
	} {
		t.Run(name, func(t *testing.T) {
			run := onlyRun(t, c.in)
			list := check.List{Protocol: run.Protocol}
			list.Add(run.Messages...)
			got := ""
			for _, v := range list.Done() {
				got += fmt.Sprint(v.Invariant, " ", v.Note)
			}
			if run.Protocol != c.protocol || got != c.want {
				t.Errorf("got the protocol %q and the violations %q, want %q and %q", run.Protocol, got, c.protocol, c.want)
			}
		})
	}
}

// A call without a result before another response, at the end of a recording, is an error if the recording shows the
// ends of responses, and a note if both may be of one response.
func TestCallBeforeLastResponse(t *testing.T) {
	const use, said = `{"type":"tool_use","id":"t","name":"f","input":{}}`, `{"type":"text","text":"k"}`
	record := func(kind, id, model, block string) string {
		return `{"type":"` + kind + `","sessionId":"s","session_id":"s","parent_tool_use_id":null,"message":{"role":"` + kind + `","id":"` + id + `","model":"` + model + `","content":[` + block + `]}}` + "\n"
	}
	session := func(id, model string) string {
		return record("user", "", "", said) + record("assistant", "m1", "c", use) + record("assistant", id, model, said)
	}
	event := func(n int, kind, rest string) string {
		return `{"type":"` + kind + `","id":"e` + strconv.Itoa(n) + `","processed_at":"t"` + rest + "}\n"
	}
	asked := event(1, "user.message", `,"content":[`+said+`]`) + event(2, "span.model_request_start", "") + event(3, "agent.tool_use", `,"name":"f","input":{}`)
	answered := event(5, "agent.message", `,"content":[`+said+`]`)
	const list = `[{"role":"user","content":"x"},{"role":"assistant","content":[` + use + `]}`
	for name, c := range map[string]struct{ in, want string }{
		"Claude Code, two responses":      {session("m2", "c"), "INV-01 false"},
		"Claude Code, one response":       {session("m1", "c"), ""},
		"Claude Code, its own message":    {session("m2", "<synthetic>"), "INV-01 true"},
		"Claude Code, no id":              {session("", "c"), "INV-01 true"},
		"Agent SDK, two responses":        {`{"type":"system","subtype":"init","session_id":"s","apiKeySource":"x"}` + "\n" + session("m2", "c"), "INV-01 false"},
		"managed agents, two requests":    {asked + event(4, "span.model_request_start", "") + answered, "INV-01 false"},
		"managed agents, one request":     {asked + answered, ""},
		"managed agents, idle between":    {asked + event(4, "session.status_idle", `,"stop_reason":{"type":"requires_action","event_ids":["e3"]}`) + answered, "INV-01 false"},
		"a list of Anthropic":             {list + `,{"role":"assistant","content":[` + said + `]}]`, "INV-01 true"},
		"a list that ends with a call":    {list + `]`, ""},
		"a row with an answer":            {`{"prompt":` + list + `],"answer":"k"}`, "INV-01 false"},
		"a row that has its last message": {`{"prompt":[{"role":"user","content":"x"},{"role":"assistant","content":[` + said + "," + use + `]}],"answer":"k"}`, ""},
		"a row whose answer is its call":  {`{"prompt":` + list + `],"answer":"{\"name\":\"f\"}"}`, ""},
	} {
		run := onlyRun(t, c.in)
		list := check.List{Protocol: run.Protocol, Request: run.Sent, Response: run.Response}
		list.Add(run.Messages...)
		got := ""
		for _, v := range list.Done() {
			got += fmt.Sprint(v.Invariant, " ", v.Note)
		}
		if got != c.want || run.Unknown != nil {
			t.Errorf("%s: violations %q, want %q; not understood %v", name, got, c.want, run.Unknown)
		}
	}
}

func onlyRun(t *testing.T, in string) (only importer.Run) {
	t.Helper()
	src, err := importer.Open("x", strings.NewReader(in))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for run, err := range src.Runs() {
		if err != nil {
			t.Fatal(err)
		}
		only = run
		n++
	}
	if n != 1 {
		t.Fatalf("%d runs, want 1", n)
	}
	return only
}

// A message that is read again, because the buffer ended within it, has the same ids.
func TestGeneratedIDsAtAnyEndOfBuffer(t *testing.T) {
	const head = 64 << 10 // how much Open reads
	for _, name := range []string{"Ollama", "function_call", "Gemini", "Responses"} {
		list := strings.ReplaceAll(incompleteLists[name], "\n", ",")
		text := `[{"role":"user","parts":[{"text":"` + strings.Repeat("x", head) + `"}]},` + list + "]"
		want := ownJSON(t, strings.NewReader(text))
		for n := len(text) - len(list); n < len(text); n++ {
			got := ownJSON(t, io.MultiReader(strings.NewReader(text[:n]), strings.NewReader(text[n:])))
			if diff := cmp.Diff(want[1:], got[1:]); diff != "" {
				t.Fatalf("%s, with an end of the buffer after %q (-want +got):\n%s", name, text[max(0, n-20):n], diff)
			}
		}
	}
}

// A call of a server's tool without a result is reported in a bare list, and not at its end, where the response may
// be paused.
func TestServerToolWithoutResult(t *testing.T) {
	const paused = `[{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"x"}}RESULT]}`
	const more = `,{"role":"user","content":"q"}`
	const found = `,{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[]}`
	for file, want := range map[string]int{paused: 0, paused + more: 1, strings.Replace(paused, "RESULT", found, 1) + more: 0} {
		run := onlyRun(t, strings.Replace(file, "RESULT", "", 1)+"]")
		list := check.List{Run: run.Name, Protocol: run.Protocol, Request: run.Sent}
		list.Add(run.Messages...)
		if got := list.Done(); len(got) != want || want > 0 && got[0].Note {
			t.Errorf("%s: violations %v, want %d", file, got, want)
		}
	}
}
