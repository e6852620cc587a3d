package wire_test

import (
	"cmp"
	"testing"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/fake/wire"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/check"
	"github.com/looptape/looptape/trace/watch"
)

// TestFaultRules sends each fault of a list of messages to the strict server in each protocol. The
// server rejects the request by the rule that check.Catalog names, and accepts it without a rule.
func TestFaultRules(t *testing.T) {
	call := func(id string) llm.ToolCall { return llm.ToolCall{ID: id, Name: "weather", Arguments: "{}"} }
	result := func(ids ...string) llm.Message {
		m := llm.Message{Role: llm.RoleTool}
		for _, id := range ids {
			m.Parts = append(m.Parts, llm.ToolResult{ID: id, Name: "weather", Content: []llm.Part{llm.Text{Text: "rain"}}})
		}
		return m
	}
	hi, both := llm.User("hi"), llm.Assistant(call("a"), call("b"))
	for description, messages := range map[string][]llm.Message{
		"a call without a result":                      {hi, both, result("a")},
		"a result without its call":                    {hi, result("a")},
		"two results for one call":                     {hi, both, result("a", "b", "b")},
		"other messages between a call and its result": {hi, llm.Assistant(call("a")), llm.User("and?"), result("a")},
		"results in another order than their calls":    {hi, both, result("b", "a")},
		"two calls of one message with the same id":    {hi, llm.Assistant(call("a"), call("a")), result("a", "a")},
		"an id that is used again in a later message":  {hi, llm.Assistant(call("a")), result("a"), llm.Assistant(call("a")), result("a")},
	} {
		for i, k := range protocols {
			t.Run(description+"/"+k.name, func(t *testing.T) {
				req, err := k.proto.EncodeRequest(request(llm.NonStreaming, messages...))
				if err != nil {
					t.Fatal(err)
				}
				wantRule(t, i, req.Path, string(req.Body), description)
			})
		}
	}
	for i, c := range []struct{ name, path, none, noParts, noText string }{
		{"openai-chat", "/chat/completions", `"messages":[]`, `"messages":[{"role":"user","content":"a"},{"role":"assistant","content":null},{"role":"user","content":"b"}]`, `"messages":[{"role":"user","content":"a"},{"role":"assistant","content":""},{"role":"user","content":"b"}]`},
		{"openai-responses", "/responses", `"input":[]`, `"input":[{"role":"user","content":"a"},{"role":"assistant","content":[]},{"role":"user","content":"b"}]`, `"input":[{"role":"user","content":"a"},{"role":"assistant","content":""},{"role":"user","content":"b"}]`},
		{"anthropic-messages", "/v1/messages", `"max_tokens":9,"messages":[]`, `"max_tokens":9,"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[]},{"role":"user","content":"b"}]`, `"max_tokens":9,"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"text","text":""}]},{"role":"user","content":"b"}]`},
		{"gemini", "/models/some-model:generateContent", `"contents":[]`, `"contents":[{"role":"user","parts":[{"text":"a"}]},{"role":"model","parts":[]},{"role":"user","parts":[{"text":"b"}]}]`, `"contents":[{"role":"user","parts":[{"text":"a"}]},{"role":"model","parts":[{"text":""}]},{"role":"user","parts":[{"text":"b"}]}]`},
	} {
		for description, members := range map[string]string{
			"a request without messages (Chat Completions: and without a system prompt)": c.none,
			"a message without content, except a last one of the assistant":              c.noParts,
			"an assistant message with empty text before other messages":                 c.noText,
		} {
			t.Run(description+"/"+c.name, func(t *testing.T) {
				model := `{"model":"some-model",`
				if c.name == "gemini" {
					model = "{"
				}
				wantRule(t, i, c.path, model+members+"}", description)
			})
		}
	}
}

// wantRule posts a body to the strict server, in the protocol at an index of protocols. It
// compares the rule that rejects it with the rule of the fault, and the level with what a
// recording of the request shows.
func wantRule(t *testing.T, proto int, path, body, description string) {
	t.Helper()
	var invariant string
	var fault check.Fault
	for _, info := range check.Catalog() {
		for _, f := range info.Faults {
			if f.Description == description {
				invariant, fault = info.ID, f
			}
		}
	}
	if invariant == "" {
		t.Fatalf("no fault %q", description)
	}
	k := protocols[proto]
	s := wire.New(wire.Config{Model: fake.NewModel(fake.Response{Text: "Done."})})
	base := wire.ServerInfo{}.BaseURL(k.provider, "")
	if k.provider == wire.Gemini {
		base += "/v1beta"
	}
	w := asked(t, s, base+path, "key", body)
	rule := ""
	if list := s.Report().RejectedRequests; len(list) > 0 {
		rule = cmp.Or(list[0].ID, "400")
	}
	if want := fault.Rule(k.name); rule != want {
		t.Errorf("rejected by the rule %q, want %q: %s", rule, want, w.Body)
	}
	req, err := k.proto.DecodeRequest(path, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	var rec watch.Recording
	found, err := rec.Add(watch.Interaction{Number: 1, Protocol: k.proto, Request: req})
	if rule == "" && len(found) == 0 {
		return // the protocol cannot show it
	}
	if err != nil || len(found) != 1 || found[0].Invariant != invariant || found[0].Note != (rule == "") {
		t.Errorf("found %+v; %v; want one %s, a note: %v", found, err, invariant, rule == "")
	}
}
