package wire_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/fake/wire"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/openai"
	"github.com/looptape/looptape/providers/protocol"
)

// A shortened history breaks INV-05 unless that is suppressed.
func TestSuppress(t *testing.T) {
	for _, reason := range []string{"", "it shortens its history"} {
		cfg := wire.Config{Model: fake.NewModel(fake.Response{Text: "one"}, fake.Response{Text: "two"})}
		if reason != "" {
			cfg.Suppress = map[string]string{"INV-05": reason}
		}
		s, clients := pipe(t, cfg, "")
		for _, history := range [][]llm.Message{{llm.User("hi")}, {llm.User("hi"), llm.User("a summary of what was said")}} {
			if _, err := ask(clients["openai-chat"], request(llm.NonStreaming, history...)); err != nil {
				t.Fatal(err)
			}
		}
		r := s.Report()
		if len(r.Violations) != 1 || r.Violations[0].Suppressed != reason || r.OK() != (reason != "") || (r.Counts["INV-05"] == 1) != (reason == "") {
			t.Errorf("suppressed %q: the report is %+v", reason, r)
		}
	}
}

// A rejected request breaks the invariant of the rule, or INV-24 if it is invalid. A wrong
// key, an unknown model or a script without responses left breaks none.
func TestRejectedRequestBreaksInvariant(t *testing.T) {
	s, clients := pipe(t, wire.Config{Model: fake.NewModel(fake.Response{Text: "one"}), Models: []string{"some-model"}}, "")
	c := clients["openai-chat"]
	bad := request(llm.Streaming, llm.User("hi"))
	bad.Tools[0].Name = "no good"
	asks := []*llm.Request{
		bad,
		request(llm.Streaming, llm.User("hi")),
		request(llm.Streaming, llm.User("hi"), llm.Assistant(llm.Text{Text: "one"}), llm.User("more")), // beyond the script
		{Model: "another", Messages: []llm.Message{llm.User("hi")}},
		request(llm.Streaming, llm.User("hi"), llm.Assistant(llm.Text{Text: "one"}), llm.ToolResults(llm.ToolResult{ID: "call_9", Name: "weather", Content: []llm.Part{llm.Text{Text: "x"}}})),
	}
	for i, req := range asks {
		if _, err := ask(c, req); (err == nil) != (i == 1) {
			t.Errorf("request %d: %v", i+1, err)
		}
	}
	r := s.Report()
	if diff := cmp.Diff([]string{"1 INV-24", "5 INV-01"}, broke(r)); diff != "" {
		t.Errorf("violations (-want +got):\n%s\n%+v", diff, r)
	}
	if r.OK() || len(r.RejectedRequests) != 4 {
		t.Errorf("the report is %+v", r)
	}
}

// A repeated rejected request is a retry of the first one, and its violation is reported once.
// Another request, or another error, is not a retry.
func TestRejectedRequestRetried(t *testing.T) {
	const chat, gemini = "/openai/v1/chat/completions", "/gemini/v1beta/models/m:generateContent"
	const bad = `{"model":"m","messages":[{"role":"tool","tool_call_id":"call_1","content":"x"}]}`
	for name, c := range map[string]struct {
		path, body, again, againBody string
		want                         int // the request that the second is a retry of
	}{
		"the same":         {chat, bad, chat, bad, 1},
		"another body":     {chat, bad, chat, strings.Replace(bad, `"x"`, `"y"`, 1), 0},
		"another session":  {chat, bad, "/lane/a" + chat, bad, 0},
		"another protocol": {chat, bad, "/openai/v1/responses", bad, 0},
		"another model":    {gemini, bad, strings.Replace(gemini, "/m:", "/n:", 1), bad, 0},
	} {
		s := wire.New(wire.Config{Model: fake.NewModel(fake.Response{Text: "one"})})
		post(t, s, c.path, c.body)
		post(t, s, c.again, c.againBody)
		r := s.Report()
		if len(r.RejectedRequests) != 2 || r.RejectedRequests[0].RetryOf != 0 || r.RejectedRequests[1].RetryOf != c.want || r.RejectedRequests[1].Request != 2 {
			t.Errorf("%s: the refusals are %+v", name, r.RejectedRequests)
		}
		if len(r.Violations) != 2-c.want {
			t.Errorf("%s: the violations are %+v", name, r.Violations)
		}
	}
}

// A third attempt is a retry of the first one. Another error starts again.
func TestRejectedRequestRetriedTwice(t *testing.T) {
	s, clients := pipe(t, wire.Config{Model: fake.NewModel(), Key: "right"}, "")
	client, right := clients["openai-chat"], *clients["openai-chat"]
	right.Authorize = openai.Key("right")
	for _, c := range []*protocol.Client{client, client, client, &right, &right, client} {
		if _, err := ask(c, request(llm.Streaming, llm.User("hi"))); err == nil {
			t.Error("got a response, want none")
		}
	}
	var got []int
	for _, x := range s.Report().RejectedRequests {
		got = append(got, x.RetryOf)
	}
	if diff := cmp.Diff([]int{0, 1, 1, 0, 4, 1}, got); diff != "" {
		t.Errorf("retries of (-want +got):\n%s", diff)
	}
}

// The hint of a request that no rule rejects refers to the error message.
func TestRejectedRequestWithoutRule(t *testing.T) {
	for body, fits := range map[string]bool{
		`{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"hi"}],"temperature":7}`: true,
		`{"model":"m"`: true,
		`{"model":"m","max_tokens":9,"messages":[{"role":"user","content":""}]}`: false, // SA-11
	} {
		s := wire.New(wire.Config{Model: fake.NewModel(fake.Response{Text: "one"})})
		post(t, s, "/anthropic/v1/messages", body)
		r := s.Report()
		if diff := cmp.Diff([]string{"1 INV-24"}, broke(r)); diff != "" || strings.HasPrefix(r.Violations[0].Hint, "The error message names") != fits {
			t.Errorf("%s: %+v; violations (-want +got):\n%s", body, r, diff)
		}
	}
}

// An unknown model breaks no invariant, in any protocol.
func TestReportUnknownModel(t *testing.T) {
	for _, k := range protocols {
		s, clients := pipe(t, wire.Config{Model: fake.NewModel(fake.Response{Text: "one"}), Models: []string{"another"}}, "")
		if _, err := ask(clients[k.name], request(llm.Streaming, llm.User("hi"))); err == nil {
			t.Errorf("%s: got a response, want none", k.name)
		}
		if r := s.Report(); len(r.RejectedRequests) != 1 || len(r.Violations) > 0 {
			t.Errorf("%s: the report is %+v", k.name, r)
		}
	}
}

// Calls from which no request continued are a violation after the clients have ended.
// Continuing from one of two attempts is enough.
func TestDone(t *testing.T) {
	call := []fake.Call{{ID: "call_1", Name: "weather", Arguments: `{}`}, {ID: "call_2", Name: "note", Arguments: `{}`}}
	s, clients := pipe(t, wire.Config{Model: fake.NewModel(fake.Response{Calls: call}, fake.Response{Text: "two"})}, "a")
	c := clients["openai-chat"]
	for range 2 {
		if _, err := ask(c, request(llm.Streaming, llm.User("hi"))); err != nil {
			t.Fatal(err)
		}
	}
	if r := s.Report(); !r.OK() {
		t.Errorf("the report is %+v", r)
	}
	r := s.Done()
	if len(r.Violations) != 1 || r.OK() || r.Counts["INV-07"] != 1 || r.Violations[0].Session != "a" || r.Violations[0].Request != 1 ||
		r.Violations[0].Message != "the response requested weather, note, and no request continued from it" || r.Violations[0].Hint == "" {
		t.Errorf("the report is %+v", r)
	}
	turn := llm.Assistant(llm.ToolCall{ID: "call_1", Name: "weather", Arguments: "{}"}, llm.ToolCall{ID: "call_2", Name: "note", Arguments: "{}"})
	results := llm.ToolResults(llm.ToolResult{ID: "call_1", Content: []llm.Part{llm.Text{Text: "x"}}}, llm.ToolResult{ID: "call_2", Content: []llm.Part{llm.Text{Text: "x"}}})
	if _, err := ask(c, request(llm.Streaming, llm.User("hi"), turn, results)); err != nil {
		t.Fatal(err)
	}
	if r := s.Done(); !r.OK() {
		t.Errorf("the report is %+v", r)
	}
}

// A request that cannot be decoded continues from the response whose calls it names.
func TestDoneUnreadable(t *testing.T) {
	const path, ask = "/openai/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"hi"}]}`
	for name, c := range map[string]struct {
		path, ask, again string
		call             fake.Call
		want             []string
	}{
		"its call":        {path, ask, `{"model":"m","messages":[{"role":"tool","tool_call_id":"call_1","content":`, fake.Call{ID: "call_1"}, []string{"2 INV-24"}},
		"no message":      {path, ask, `{"model":"m","messages":[{"role":"user","content":"hi"},{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"weather","arguments":"{}"}}]},{"role":"tool","tool_call_id":"call_1","content":7}]}`, fake.Call{ID: "call_1"}, []string{"2 INV-24"}},
		"another call":    {path, ask, `{"model":"m","messages":[{"role":"tool","tool_call_id":"call_11","content":`, fake.Call{ID: "call_1"}, []string{"1 INV-07", "2 INV-24"}},
		"another session": {"/lane/a" + path, ask, `{"model":"m","messages":[{"role":"tool","tool_call_id":"call_1","content":`, fake.Call{ID: "call_1"}, []string{"1 INV-07", "2 INV-24"}},
		"no id": {
			"/gemini/v1beta/models/m:generateContent", `{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}`,
			`{"contents":[{"role":"user","parts":[{"functionResponse":{"name":"weather","response":`, fake.Call{}, []string{"2 INV-24"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c.call.Name, c.call.Arguments = "weather", "{}"
			s := wire.New(wire.Config{Model: fake.NewModel(fake.Response{Calls: []fake.Call{c.call}}, fake.Response{Text: "two"})})
			post(t, s, c.path, c.ask)
			post(t, s, strings.TrimPrefix(c.path, "/lane/a"), c.again)
			if diff := cmp.Diff(c.want, broke(s.Done())); diff != "" {
				t.Errorf("violations (-want +got):\n%s", diff)
			}
		})
	}
}

// The session is that of the URL, or else the model.
func TestReportSessions(t *testing.T) {
	s := wire.New(wire.Config{Model: fake.NewModel(fake.Response{Calls: []fake.Call{{ID: "call_1", Name: "weather", Arguments: "{}"}}})})
	const hi, result = `{"role":"user","content":"hi"}`, `{"role":"tool","tool_call_id":"call_1","content":"x"}`
	body := func(message string) string { return `{"model":"m","messages":[` + message + `]}` }
	for _, session := range []string{"", "/lane/b"} {
		post(t, s, session+"/openai/v1/chat/completions", body(hi))
		post(t, s, session+"/openai/v1/chat/completions", body(result))
		post(t, s, session+"/openai/v1/chat/completions", body("no JSON"))
	}
	r := s.Done()
	var got []string
	for _, x := range r.RejectedRequests {
		got = append(got, x.Session)
	}
	for _, x := range r.Violations {
		got = append(got, x.Invariant+" "+x.Session)
	}
	want := []string{"m", "", "b", "b", "INV-07 m", "INV-01 m", "INV-24 ", "INV-07 b", "INV-01 b", "INV-24 b"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("sessions (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"b", "m"}, r.Sessions); diff != "" {
		t.Errorf("all sessions (-want +got):\n%s", diff)
	}
}

// Any unknown session uses the responses of the first model.
func TestUnused(t *testing.T) {
	models := []fake.ModelScript{{Name: "main", Responses: []fake.Response{{Text: "one"}}}, {Name: "helper", Responses: []fake.Response{{Text: "two"}}}}
	for model, want := range map[string][]string{
		"gpt-5":  {"No response of `helper` was requested."},
		"main":   {"No response of `helper` was requested."},
		"helper": {"No response of `main` was requested."},
	} {
		s, clients := pipe(t, wire.Config{Script: &fake.Script{Models: models}}, "")
		if _, err := ask(clients["openai-chat"], &llm.Request{Model: model, Messages: []llm.Message{llm.User("hi")}}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, s.Report().Unused); diff != "" {
			t.Errorf("%s: unused (-want +got):\n%s", model, diff)
		}
	}
}

// The JSON form of the report contains no null.
func TestReportJSON(t *testing.T) {
	q, err := wire.ParseQuirk("QO-22")
	if err != nil {
		t.Fatal(err)
	}
	s, clients := pipe(t, wire.Config{Model: fake.NewModel(fake.Response{Text: "one"}, fake.Response{Text: "two"}), Quirks: []wire.Quirk{q}}, "")
	text, err := json.Marshal(s.Report())
	const empty = `{"format":"looptape-serve","version":2,"requests":0,"rejected_requests":[],"violations":[],"counts":{},"quirks":{"QO-22":0},"unmatched_requests":[],"sessions":[],"unused":["No response was requested."],"failures":[],"notes":[]}`
	if string(text) != empty || err != nil {
		t.Errorf("an empty report is %s, %v", text, err)
	}
	if _, err := ask(clients["openai-chat"], request(llm.Streaming, llm.User("hi"))); err != nil {
		t.Fatal(err)
	}
	text, err = json.Marshal(s.Report())
	if want := `{"format":"looptape-serve","version":2,"requests":1,"rejected_requests":[],"violations":[],"counts":{},"quirks":{"QO-22":1},"unmatched_requests":[],"sessions":["some-model"],"unused":["Response 2 was never requested."],"failures":[],"notes":[]}`; string(text) != want || err != nil {
		t.Errorf("the report is %s, %v", text, err)
	}
}
