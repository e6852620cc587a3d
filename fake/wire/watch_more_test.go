package wire_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/fake/wire"
	"github.com/looptape/looptape/llm"
)

// A replaced history breaks INV-05, and its calls are answered. A conversation with an equal
// beginning, and ids of the client's own, break nothing.
func TestWatchRewritten(t *testing.T) {
	u, text := llm.User, func(s string) llm.Message { return llm.Assistant(llm.Text{Text: s}) }
	call := func(id, name string) llm.Message {
		return llm.Assistant(llm.ToolCall{ID: id, Name: name, Arguments: "{}"})
	}
	result := func(id, s string) llm.Message {
		return llm.ToolResults(llm.ToolResult{ID: id, Name: "weather", Content: []llm.Part{llm.Text{Text: s}}})
	}
	texts := []fake.Response{{Text: "one"}, {Text: "two"}, {Text: "three"}}
	calls := []fake.Response{
		{Calls: []fake.Call{{ID: "c1", Name: "weather", Arguments: "{}"}}}, {Calls: []fake.Call{{ID: "c2", Name: "weather", Arguments: "{}"}}}, {Text: "done"},
	}
	type list = []llm.Message
	long := list{u("A"), call("c1", "weather"), result("c1", "x"), call("c2", "weather"), result("c2", "y")}
	for name, c := range map[string]struct {
		turns   []fake.Response
		asks    []list
		want    []string
		accept  bool // INV-05
		answers []string
	}{
		"appended":                        {turns: texts, asks: []list{{u("A")}, {u("A"), text("one"), u("B")}, {u("A"), text("one"), u("B"), text("two"), u("C")}}, answers: []string{"one", "two", "three"}},
		"the head changed":                {turns: texts, asks: []list{{u("A")}, {u("A"), text("one"), u("B")}, {u("Z"), text("one"), u("B"), text("two"), u("C")}}, want: []string{"3 INV-05"}, answers: []string{"one", "two", "three"}},
		"a window":                        {turns: texts, asks: []list{{u("A")}, {u("A"), text("one"), u("B")}, {u("B"), text("two"), u("C")}}, want: []string{"3 INV-05"}, answers: []string{"one", "two", "three"}},
		"an old result":                   {turns: calls, asks: []list{long[:1], long[:3], {long[0], long[1], result("c1", "cleared"), long[3], long[4]}}, want: []string{"3 INV-05"}, answers: []string{"", "", "done"}},
		"an old result, accepted":         {turns: calls, accept: true, asks: []list{long[:1], long[:3], {long[0], long[1], result("c1", "cleared"), long[3], long[4]}}, want: []string{"3 INV-05"}, answers: []string{"", "", "done"}},
		"a summary, accepted":             {turns: calls, accept: true, asks: []list{long[:1], long[:3], {u("A"), u("c1 and c2 were x and y")}}, want: []string{"3 INV-05"}, answers: []string{"", "", "done"}},
		"a summary alone, accepted":       {turns: calls, accept: true, asks: []list{long[:1], long[:3], {u("c1 and c2 were x and y"), call("c9", "weather"), result("c9", "z")}}, answers: []string{"", "", ""}},
		"another with the same beginning": {turns: texts, asks: []list{{u("A")}, {u("A"), text("an example of mine"), u("B")}}, answers: []string{"one", "two"}},
		"wrong twice":                     {turns: calls, asks: []list{long[:1], {u("A"), llm.Assistant(llm.Text{Text: "hm"}, llm.ToolCall{ID: "c1", Name: "weather", Arguments: "{}"}), long[2]}, {u("A"), llm.Assistant(llm.Text{Text: "hm"}, llm.ToolCall{ID: "c1", Name: "weather", Arguments: "{}"}), long[2]}}, want: []string{"2 INV-05"}, answers: []string{"", "", ""}},
		"ids of its own":                  {turns: calls, asks: []list{long[:1], {u("A"), call("mine", "weather"), result("mine", "x")}}, answers: []string{"", ""}},
		"a word after the results":        {turns: calls, asks: []list{long[:1], append(long[:3:3], u("No, stop."))}, answers: []string{"", ""}},
		"ids of another's":                {turns: calls, asks: []list{long[:1], long[:3], {u("B")}, {u("B"), call("c2", "weather"), result("c2", "x")}}, answers: []string{"", "", "", ""}},
		"another tool":                    {turns: calls, asks: []list{long[:1], {u("A"), call("mine", "note"), result("mine", "x")}}, answers: []string{"", ""}},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := wire.Config{Model: fake.NewModel(c.turns...)}
			cfg.Model.IsolateConversations = true
			if c.accept {
				cfg.Suppress = map[string]string{"INV-05": "it does so"}
			}
			s, clients := pipe(t, cfg, "")
			for i, ask1 := range c.asks {
				turn, err := ask(clients["openai-chat"], request(llm.NonStreaming, ask1...))
				if err != nil {
					t.Fatal(err)
				}
				if got := turn.Text(); got != c.answers[i] {
					t.Errorf("response %d is %q, want %q", i+1, got, c.answers[i])
				}
			}
			if diff := cmp.Diff(c.want, broke(s.Report())); diff != "" {
				t.Errorf("violations (-want +got):\n%s\n%+v", diff, s.Report().Violations)
			}
			done := s.Done()
			if c.accept && name != "a summary alone, accepted" && !done.OK() {
				t.Errorf("the report is %+v", done)
			}
		})
	}
}

// A client may omit the thinking of earlier responses.
func TestWatchOldThinking(t *testing.T) {
	m := fake.NewModel(
		fake.Response{Reasoning: "hm", ReasoningOpaque: json.RawMessage(`{"signature":"s1"}`), Text: "one"}, fake.Response{Text: "two"}, fake.Response{Text: "three"},
	)
	s, clients := pipe(t, wire.Config{Model: m}, "")
	c := clients["anthropic-messages"]
	history := []llm.Message{llm.User("A")}
	for range 3 {
		turn, err := ask(c, request(llm.Streaming, history...))
		if err != nil {
			t.Fatal(err)
		}
		if len(history) == 3 { // the response before the last
			history[1].Parts = slices.DeleteFunc(slices.Clone(history[1].Parts), func(p llm.Part) bool { _, ok := p.(llm.Reasoning); return ok })
		}
		history = append(slices.Clone(history), turn.Message(), llm.User("more"))
	}
	if r := s.Report(); !r.OK() {
		t.Errorf("the report is %+v", r)
	}
}

// A call that the provider executed may come back in another encoding.
func TestWatchProviderCallEncoding(t *testing.T) {
	for _, form := range []string{"QA-14:search", "QA-14:mcp", "QA-14", "QA-14:citations", "QA-14:caller"} {
		q, err := wire.ParseQuirk(form)
		if err != nil {
			if form == "QA-14" {
				continue
			}
			t.Fatal(err)
		}
		cfg := wire.Config{Model: fake.NewModel(fake.Response{Text: "I will look.", Calls: []fake.Call{{ID: "toolu_1", Name: "weather", Arguments: `{"city":"Bern"}`}}}, fake.Response{Text: "Rain."}), Quirks: []wire.Quirk{q}}
		s := wire.New(cfg)
		first := post(t, s, "/anthropic/v1/messages", `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}`)
		var answer struct{ Content []any }
		if err := json.Unmarshal(first.Body.Bytes(), &answer); err != nil {
			t.Fatal(err)
		}
		echo, err := json.MarshalIndent(answer.Content, "", "  ") // members sorted, and spaces
		if err != nil {
			t.Fatal(err)
		}
		post(t, s, "/anthropic/v1/messages", `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":`+string(echo)+`},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"rain"}]}]}`)
		if r := s.Report(); !r.OK() || r.Shown[q.String()] == 0 {
			t.Errorf("%s: the report is %+v", form, r)
		}
	}
}

// A call that the provider executed is compared with the call of the same id, even if another
// one has the same content in another encoding.
func TestWatchProviderCallTwice(t *testing.T) {
	ran := func(id, args string) fake.Call {
		return fake.Call{ID: id, Name: "web_search", Arguments: args, ProviderExecuted: true, Opaque: json.RawMessage(`{"type":"server_tool_use"}`)}
	}
	m := fake.NewModel(fake.Response{Text: "I look.", Calls: []fake.Call{ran("srvtoolu_1", `{"n":1}`), ran("srvtoolu_2", `{"n":1.0}`)}}, fake.Response{Text: "Rain."})
	s, clients := pipe(t, wire.Config{Model: m}, "")
	first, err := ask(clients["anthropic-messages"], request(llm.NonStreaming, llm.User("hi")))
	if err != nil {
		t.Fatal(err)
	}
	echo := first.Message()
	for _, id := range []string{"srvtoolu_1", "srvtoolu_2"} { // the server requires them, and the script cannot express them
		echo.Parts = append(echo.Parts, llm.Unknown{Kind: "web_search_tool_result", Raw: json.RawMessage(`{"type":"web_search_tool_result","tool_use_id":"` + id + `","content":[]}`)})
	}
	if _, err := ask(clients["anthropic-messages"], request(llm.NonStreaming, llm.User("hi"), echo, llm.User("well?"))); err != nil {
		t.Fatal(err)
	}
	if r := s.Report(); len(r.Violations) > 0 || len(echo.Parts) != 5 {
		t.Errorf("the response is %+v, the report %+v", echo, r)
	}
}
