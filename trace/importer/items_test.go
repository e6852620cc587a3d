package importer_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/cassettes"
	"github.com/looptape/looptape/cassettes/recording"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/check"
	"github.com/looptape/looptape/trace/importer"
)

// clientItems has calls of all tools of OpenAI that the program runs, and their results.
const clientItems = `[{"role":"user","content":"hi"},
{"type":"shell_call","id":"sh","call_id":"c1","action":{"commands":["ls"],"timeout_ms":9},"environment":{"type":"local"},"status":"completed"},
{"type":"apply_patch_call","id":"ap","call_id":"c2","operation":{"type":"create_file","path":"a","diff":"+x"},"status":"completed"},
{"type":"shell_call_output","call_id":"c1","output":[{"stdout":"x","stderr":"","outcome":{"type":"exit","exit_code":3}}],"max_output_length":5},
{"type":"apply_patch_call_output","call_id":"c2","status":"failed","output":"bad"},
{"type":"computer_call","id":"cc","call_id":"c3","action":{"type":"click","x":7}},
{"type":"computer_call_output","call_id":"c3","output":{"type":"computer_screenshot","image_url":"data:image/png;base64,AAAA"}},
{"type":"computer_call","id":"cd","call_id":"c4","actions":[{"type":"wait"}]},
{"type":"computer_call_output","call_id":"c4","output":{"type":"computer_screenshot","file_id":"f"}},
{"type":"local_shell_call","id":"ls","call_id":"c5","action":{"type":"exec","command":["ls"]}},
{"type":"local_shell_call_output","id":"c5","output":"ok"}]`

func TestClientItems(t *testing.T) {
	run := onlyRun(t, clientItems)
	want := []string{
		`user (hi)`, `assistant [c1 shell{"commands":["ls"],"timeout_ms":9}] [c2 apply_patch{"type":"create_file","path":"a","diff":"+x"}]`,
		`tool c1=[{"stdout":"x","stderr":"","outcome":{"type":"exit","exit_code":3}}] c2 failed=bad`,
		`assistant [c3 computer{"type":"click","x":7}]`, `tool c3=`, `assistant [c4 computer{"actions":[{"type":"wait"}]}]`, `tool c4={"type":"computer_screenshot","file_id":"f"}`,
		`assistant [c5 local_shell{"type":"exec","command":["ls"]}]`, `tool c5=ok`,
	}
	if diff := cmp.Diff(want, callsAndResults(run.Messages)); diff != "" || run.Unknown != nil {
		t.Errorf("not understood: %v, messages (-want +got):\n%s", run.Unknown, diff)
	}
	without := strings.Replace(clientItems, `"call_id":"c3",`, "", 1)
	if run := onlyRun(t, without); len(run.Unknown) != 1 || !strings.Contains(run.Unknown[0].Error(), `unknown kind "computer_call"`) {
		t.Errorf("a call without an id: %v", run.Unknown)
	}
}

// A search for tools by the client is a call; one by the provider is not.
func TestToolSearchItems(t *testing.T) {
	list := func(execution, id string) string {
		return `[{"role":"user","content":"q"},{"type":"tool_search_call","call_id":` + id + `,"execution":"` + execution + `","arguments":{"q":"x"}},` +
			`{"type":"tool_search_output","call_id":` + id + `,"execution":"` + execution + `","tools":[{"name":"f"}]},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"d"}]}]`
	}
	for name, c := range map[string]struct {
		in   string
		want []string
	}{
		"client":   {list("client", `"c1"`), []string{"user (q)", `assistant [c1 tool_search{"q":"x"}]`, `tool c1=[{"name":"f"}]`, "assistant (d)"}},
		"provider": {list("server", "null"), []string{"user (q)", "assistant tool_search_call tool_search_output (d)"}},
	} {
		sent := strings.Replace(c.in, `,{"type":"message","role":"assistant","content":[{"type":"output_text","text":"d"}]}`, "", 1)
		http := har(responses, `{"model":"m","input":`+sent+`}`, "application/json", `{"id":"r","object":"response","status":"completed","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"d"}]}]}`)
		for _, in := range []string{c.in, http} {
			src, err := importer.Open("file", strings.NewReader(in))
			if err != nil {
				t.Fatal(err)
			}
			for run, err := range src.Conversations() {
				got := strings.ReplaceAll(strings.Join(callsAndResults(run.Messages), "; "), "output (d)", "output; assistant (d)")
				want := strings.ReplaceAll(strings.Join(c.want, "; "), "output (d)", "output; assistant (d)")
				if diff := cmp.Diff(want, got); diff != "" || run.Unknown != nil || err != nil {
					t.Errorf("%s, %s: error %v, not understood: %v, messages (-want +got):\n%s", name, src.Format.Name, err, run.Unknown, diff)
				}
			}
		}
	}
	if run := onlyRun(t, list("client", "null")); len(run.Unknown) != 2 {
		t.Errorf("a search by the client without an id: %v", run.Unknown)
	}
	_, _, failed, _ := readAll(t, "file", []byte(`[{"role":"user","content":"q"},{"type":"new_item","call_id":"c"}]`))
	want := []string{`file:1: [1]: the message has no role, and its type "new_item" is not an item of Responses that looptape reads`}
	if diff := cmp.Diff(want, texts(failed)); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
}

// callsAndResults describes messages with their calls and results.
func callsAndResults(messages []llm.Message) (lines []string) {
	for _, m := range messages {
		line := string(m.Role)
		for _, p := range m.Parts {
			switch p := p.(type) {
			case llm.Text:
				line += " (" + p.Text + ")"
			case llm.ToolCall:
				line += " [" + strings.TrimSuffix(p.ID+" "+p.Name+p.Arguments, " ") + "]"
				if p.ProviderExecuted {
					line += "!"
				}
			case llm.ToolResult:
				line += " " + p.ID
				if p.IsError {
					line += " failed"
				}
				line += "=" + p.Text()
			case llm.Unknown:
				line += " " + p.Kind
			default:
				line += fmt.Sprintf(" %T", p)
			}
		}
		lines = append(lines, line)
	}
	return lines
}

// The provider runs a call of the shell in a container, and its output is in the response, too. That
// the client sends both back is no violation.
func TestClientItemsOverHTTP(t *testing.T) {
	const (
		local  = `{"type":"shell_call","id":"s1","call_id":"c1","action":{"commands":["ls"]},"status":"completed"}`
		remote = `{"type":"shell_call","id":"s2","call_id":"c2","action":{"commands":["id"]},"environment":{"type":"container_reference","container_id":"k"},"status":"completed"},{"type":"shell_call_output","id":"o2","call_id":"c2","output":[{"stdout":"me"}]}`
		result = `{"type":"shell_call_output","call_id":"c1","output":[{"stdout":"x"}]}`
	)
	const url = "https://api.openai.com/v1/responses"
	response := func(output string) string {
		return `{"id":"r","object":"response","status":"completed","output":[` + output + `]}`
	}
	user := `{"role":"user","content":"hi"}`
	file := cassettes.Encode(recording.Metadata{}, nil, []*recording.Interaction{
		over("POST", url, `{"model":"m","input":[`+user+`]}`, response(remote+","+local)),
		over("POST", url, `{"model":"m","input":[`+user+","+remote+","+local+","+result+`]}`, response(`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"yo"}]}`)),
	})
	_, runs, failed, unknown := readAll(t, "file", file)
	if failed != nil || unknown != nil || len(runs) != 2 {
		t.Fatalf("%d runs, errors %v, not understood: %v", len(runs), failed, unknown)
	}
	first, last := runs[0].Messages, runs[1].Messages
	want := []string{"user (hi)", `assistant [c2 shell{"commands":["id"]}]! server_tool_call_response [c1 shell{"commands":["ls"]}]`}
	if diff := cmp.Diff(want, callsAndResults(first)); diff != "" {
		t.Errorf("the first request and its response (-want +got):\n%s", diff)
	}
	list := check.List{Protocol: runs[1].Protocol}
	list.Add(last...)
	for _, v := range append(list.Done(), list.Follow(1, first[len(first)-1], last[1:])...) {
		t.Errorf("violation %s", v)
	}
}
