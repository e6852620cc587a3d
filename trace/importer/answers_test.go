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

// answered returns the roles, texts, calls and results of the only run of a file, its answer and what
// was not understood.
func answered(t *testing.T, file string) (lines []string) {
	t.Helper()
	run := onlyRun(t, file)
	for _, m := range run.Messages {
		line := string(m.Role)
		for _, p := range m.Parts {
			switch p := p.(type) {
			case llm.Text:
				line += " " + p.Text
			case llm.ToolCall:
				line += " call " + p.ID
			case llm.ToolResult:
				line += " result " + p.ID
			}
		}
		lines = append(lines, line)
	}
	lines = append(lines, "answer "+run.Answer)
	for _, expected := range run.Expected.Answers {
		lines = append(lines, "expected "+expected)
	}
	for _, u := range run.Unknown {
		lines = append(lines, "! "+u.Err.Error())
	}
	return lines
}

// An answer may be a list of messages or items, a message or a response.
func TestAnswersWithMessages(t *testing.T) {
	const question = `{"role":"user","content":"q"}`
	const called = `{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}`
	const response = `{"choices":[{"index":0,"message":` + called + `,"finish_reason":"tool_calls"}]}`
	for name, c := range map[string]struct {
		file string
		want []string
	}{
		"messages": {`{"prompt":[` + question + `],"completion":[` + called + `,{"role":"user","content":"z"},{"role":"assistant","content":"x"}]}`,
			[]string{"user q", "assistant call a", "user z", "assistant x", "answer x"}},
		"items": {`{"model":"m","input":[` + question + `],"output":[{"type":"function_call","call_id":"b","name":"g","arguments":"{}"}]}`,
			[]string{"user q", "assistant call b", "answer "}},
		"a message":          {`{"prompt":"q","answer":` + called + `}`, []string{"user q", "assistant call a", "answer "}},
		"a response":         {`{"messages":[` + question + `],"response":` + response + `}`, []string{"user q", "assistant call a", "answer "}},
		"a response to rows": {`{"input":"q","output":` + response + `}`, []string{"user q", "assistant call a", "answer "}},
		"two responses": {`{"input":"q","output":{"choices":[{"index":0,"message":` + called + `},{"index":1,"message":{"role":"assistant","content":"x"}}]}}`,
			[]string{"user q", "assistant call a", "answer ", "! the response has 2 alternatives, and only the first is read"}},
		"a request":             {`{"input":{"model":"m","messages":[` + question + `]},"output":` + response + `}`, []string{"user q", "assistant call a", "answer "}},
		"calls without ids":     {`{"prompt":[` + question + `,{"role":"assistant","function_call":{"name":"f","arguments":"{}"}},{"role":"function","name":"f","content":"r"}],"completion":[{"role":"assistant","function_call":{"name":"f","arguments":"{}"}}]}`, []string{"user q", "assistant call function_call_1", "tool result function_call_1", "assistant call function_call_2", "answer "}},
		"a repeated answer":     {`{"prompt":[` + question + `,` + called + `],"answer":[` + called + `]}`, []string{"user q", "assistant call a", "answer "}},
		"another answer":        {`{"prompt":[` + question + `,{"role":"assistant","content":"x"}],"answer":[` + called + `]}`, []string{"user q", "assistant x", "answer ", "! the prompt ends with a response, and the calls of the answer are not among its messages"}},
		"an answer with faults": {`{"prompt":"q","answer":[{"role":"assistant","content":7}]}`, []string{"user q", `assistant [{"role":"assistant","content":7}]`, `answer [{"role":"assistant","content":7}]`, "! the answer has messages that cannot be read: the content is neither a string nor a list of parts at [0].content (byte 32)"}},
		"calls":                 {`{"prompt":"q","answer":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}`, []string{"user q", "assistant call a", `answer [{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]`}},
		"a text to messages":    {`{"messages":[` + question + `],"response":"2","expected":"3"}`, []string{"user q", "assistant 2", "answer 2", "expected 3"}},
		"a text to a response":  {`{"messages":[` + question + `,{"role":"assistant","content":"it is 2"}],"output":"2"}`, []string{"user q", "assistant it is 2", "answer 2"}},
		"and a reference":       {`{"prompt":"q","answer":"t","completion":"a","reward":0}`, []string{"user q", "assistant a", "answer a", "expected t"}},
		"messages, a reference": {`{"prompt":[` + question + `],"completion":[{"role":"assistant","content":"a"}],"answer":5}`, []string{"user q", "assistant a", "answer a", "expected 5"}},
		"two other answers": {`{"prompt":"q","answer":"t","output":"a","response":"b","completion":"a","expected":"t"}`,
			[]string{"user q", "assistant a", "answer a", "expected t", "! the row has another answer, and this one is not read"}}, // b; t is read
		"a text and a response": {`{"messages":[` + question + `],"completion":"a","response":{"choices":[{"index":0,"message":{"role":"assistant","content":"a"},"finish_reason":"stop"}]}}`, []string{"user q", "assistant a", "answer a"}},
		"messages in a string":  {`{"prompt":"[` + strings.ReplaceAll(question+","+called, `"`, `\"`) + `]","response":"x"}`, []string{"user q", "assistant call a", "assistant x", "answer x"}},
		"in an answer":          {`{"prompt":"q","completion":"[` + strings.ReplaceAll(called, `"`, `\"`) + `]"}`, []string{"user q", "assistant call a", "answer "}},
		"a text like a message": {`{"prompt":"[` + strings.ReplaceAll(question, `"`, `\"`) + `,7]","response":"x"}`, []string{"user [" + question + ",7]", "assistant x", "answer x"}},
		"messages in CSV":       {"id,messages,score\na,\"[" + strings.ReplaceAll(question+","+called, `"`, `""`) + "]\",1\n", []string{"user q", "assistant call a", "answer "}},
		"calls in CSV": {"prompt,answer,tool_calls\nq,x,\"[" + strings.ReplaceAll(`{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}`, `"`, `""`) + "]\"\n",
			[]string{"user q", "assistant x", "answer x", "! the member has calls that are not those of the run, and they are not read"}},
		"of mini-swe-agent": {`{"info":{"exit_status":"Submitted","submission":"p"},"messages":[` + question + `,{"role":"assistant","content":"x"},{"role":"exit","content":"p","extra":{"submission":"p"}}],"trajectory_format":"mini-swe-agent-1.1"}`, []string{"user q", "assistant x", "answer p"}},
		"other values":      {`{"prompt":"q","answer":{"x":[1]}}`, []string{"user q", `assistant {"x":[1]}`, `answer {"x":[1]}`}},
	} {
		if diff := cmp.Diff(c.want, answered(t, c.file)); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", name, diff)
		}
	}
}

// Gemini pairs by the ids if all calls and results of a request have one, and else by the names.
func TestIDsOfGemini(t *testing.T) {
	contents := func(calls, results []string) string {
		part := func(kind, rest string, ids []string) string {
			var parts []string
			for _, id := range ids {
				parts = append(parts, fmt.Sprintf(`{"%s":{%s"name":"f",%s}}`, kind, id, rest))
			}
			return strings.Join(parts, ",")
		}
		return `{"contents":[{"role":"user","parts":[{"text":"q"}]},{"role":"model","parts":[` + part("functionCall", `"args":{}`, calls) + `]},` +
			`{"role":"user","parts":[` + part("functionResponse", `"response":{"r":1}`, results) + `]},{"role":"model","parts":[{"text":"d"}]}]}`
	}
	const one, two, three, none = `"id":"1",`, `"id":"2",`, `"id":"3",`, ""
	for name, c := range map[string]struct {
		calls, results []string
		want           string
	}{
		"ids":                    {[]string{one, two}, []string{one, two}, ""},
		"in another order":       {[]string{one, two}, []string{two, one}, "INV-03 note"},
		"two results":            {[]string{one, two}, []string{one, one}, "INV-01 error, INV-01 error"},
		"another id":             {[]string{one}, []string{two}, "INV-01 error, INV-01 error"},
		"one id twice":           {[]string{one, one}, []string{one, one}, "INV-04 note"},
		"no ids":                 {[]string{none, none}, []string{none, none}, ""},
		"results without ids":    {[]string{one, two}, []string{none, none}, ""},
		"calls without ids":      {[]string{none, none}, []string{one, two}, ""},
		"no ids and no result":   {[]string{none, none}, []string{none}, "INV-01 error"},
		"some of them with ids":  {[]string{one, none}, []string{one, none}, ""},
		"an id of no other call": {[]string{one, two}, []string{one, two, three}, "INV-01 error"},
	} {
		text := contents(c.calls, c.results)
		run := onlyRun(t, text)
		list := check.List{Protocol: run.Protocol}
		list.Add(run.Messages...)
		if got := levels(list.Done()); got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
		src, err := importer.Open("x", strings.NewReader(typed(gemini, text, `{"candidates":[{"content":{"role":"model","parts":[{"text":"a"}]},"finishReason":"STOP"}]}`)))
		if err != nil {
			t.Fatal(err)
		}
		for x, err := range src.Exchanges() {
			if err != nil {
				t.Fatal(err)
			}
			list := check.List{Protocol: run.Protocol}
			list.Add(x.Request.Messages...)
			if got := levels(list.Sent()); got != c.want {
				t.Errorf("%s, over HTTP: got %s, want %s", name, got, c.want)
			}
		}
	}
}

func levels(found []check.Violation) string {
	var list []string
	for _, v := range found {
		level := "error"
		if v.Note {
			level = "note"
		}
		list = append(list, v.Invariant+" "+level)
	}
	return strings.Join(list, ", ")
}
