package wire_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/fake/wire"
	"github.com/looptape/looptape/llm"
)

// broke returns the invariants that requests broke, as "request invariant".
func broke(r wire.Report) []string {
	var out []string
	for _, v := range r.Violations {
		out = append(out, fmt.Sprintf("%d %s", v.Request, v.Invariant))
	}
	return out
}

// swapIDs exchanges the ids of two calls, and so their results.
func swapIDs(turn, results *llm.Message) {
	first, second := turn.Parts[2].(llm.ToolCall), turn.Parts[3].(llm.ToolCall)
	first.ID, second.ID = second.ID, first.ID
	turn.Parts[2], turn.Parts[3] = first, second
	slices.Reverse(results.Parts)
}

// A request is compared with the earlier requests and responses. Each violation is reported
// once.
func TestWatch(t *testing.T) {
	script := func() *fake.Model {
		return fake.NewModel(
			fake.Response{Reasoning: "hm", ReasoningOpaque: json.RawMessage(`{"signature":"s1"}`), Text: "I will look.", Calls: []fake.Call{{ID: "call_1", Name: "weather", Arguments: `{"city":"Bern"}`}, {ID: "call_2", Name: "weather", Arguments: `{"city":"Rome"}`}}},
			fake.Response{Text: "Rain."}, fake.Response{Text: "Bye."},
		)
	}
	result := func(id string) llm.ToolResult {
		return llm.ToolResult{ID: id, Name: "weather", Content: []llm.Part{llm.Text{Text: "rain"}}}
	}
	for name, c := range map[string]struct {
		change func(turn *llm.Message, results *llm.Message)
		want   []string
	}{
		"right":              {func(_, _ *llm.Message) {}, nil},
		"another text":       {func(turn, _ *llm.Message) { turn.Parts[1] = llm.Text{Text: "Let me see."} }, []string{"2 INV-05"}},
		"no signature":       {func(turn, _ *llm.Message) { turn.Parts = turn.Parts[1:] }, []string{"2 INV-22"}},
		"a call less":        {func(turn, results *llm.Message) { turn.Parts, results.Parts = turn.Parts[:3], results.Parts[:1] }, []string{"2 INV-01"}},
		"ids swapped":        {swapIDs, []string{"2 INV-22"}},
		"results turned":     {func(_, results *llm.Message) { slices.Reverse(results.Parts) }, []string{"2 INV-03"}},
		"a mark for caching": {func(_, results *llm.Message) { mark(results) }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s, clients := pipe(t, wire.Config{Model: script()}, "")
			client := clients["anthropic-messages"]
			history := []llm.Message{llm.User("How is the weather?")}
			first, err := ask(client, request(llm.Streaming, history...))
			if err != nil {
				t.Fatal(err)
			}
			turn, results := first.Message(), llm.ToolResults(result("call_1"), result("call_2"))
			turn.Parts = slices.Clone(turn.Parts)
			c.change(&turn, &results)
			history = append(history, turn, results)
			second, err := ask(client, request(llm.Streaming, history...))
			if err != nil {
				if diff := cmp.Diff(c.want, broke(s.Report())); diff != "" || c.want == nil { // it may be rejected, too
					t.Errorf("%v; violations (-want +got):\n%s", err, diff)
				}
				return
			}
			history = append(slices.Clone(history), second.Message(), llm.User("Thanks."))
			if name == "a mark for caching" { // continues to the last message
				history[2] = llm.ToolResults(result("call_1"), result("call_2"))
				mark(&history[4])
			}
			if third, err := ask(client, request(llm.Streaming, history...)); err != nil || third.Text() != "Bye." {
				t.Errorf("the third response is %v, %v", third, err)
			}
			r := s.Report()
			if diff := cmp.Diff(c.want, broke(r)); diff != "" {
				t.Errorf("violations (-want +got):\n%s\n%+v", diff, r.Violations)
			}
			if r.OK() != (c.want == nil) {
				t.Errorf("OK is %t", r.OK())
			}
		})
	}
}

// JSON that a client decodes and encodes again is unchanged in any encoding. Another value is
// a violation.
func TestWatchEncoding(t *testing.T) {
	for _, k := range protocols {
		for args, want := range map[string][]string{`{"a":"x","b":1.5}`: nil, `{"a":"x","b":2}`: {"2 INV-05"}} {
			t.Run(k.name+args, func(t *testing.T) {
				model := fake.NewModel(
					fake.Response{Reasoning: "hm", ReasoningOpaque: json.RawMessage(`{"signature":"s1","summary":[{"type":"summary_text","text":"hm"}]}`), Calls: []fake.Call{{ID: "call_1", Name: "weather", Arguments: `{"b": 1.50, "a": "x"}`}}},
					fake.Response{Text: "Rain."},
				)
				s, clients := pipe(t, wire.Config{Model: model}, "")
				history := []llm.Message{llm.User("How is the weather?")}
				first, err := ask(clients[k.name], request(llm.Streaming, history...))
				if err != nil {
					t.Fatal(err)
				}
				turn := first.Message()
				turn.Parts = slices.Clone(turn.Parts)
				for i, p := range turn.Parts {
					switch p := p.(type) {
					case llm.Reasoning:
						p.Opaque = json.RawMessage(strings.Replace(string(p.Opaque), `{"type":"summary_text","text":"hm"}`, `{ "text":"hm", "type":"summary_text" }`, 1))
						turn.Parts[i] = p
					case llm.ToolCall:
						p.Arguments = args
						turn.Parts[i] = p
					}
				}
				results := llm.ToolResults(llm.ToolResult{ID: "call_1", Name: "weather", Content: []llm.Part{llm.Text{Text: "rain"}}})
				if _, err := ask(clients[k.name], request(llm.Streaming, append(history, turn, results)...)); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want, broke(s.Report())); diff != "" {
					t.Errorf("violations (-want +got):\n%s", diff)
				}
			})
		}
	}
}

// mark adds a cache mark to the last part of a message.
func mark(m *llm.Message) {
	m.Parts = slices.Clone(m.Parts)
	opaque := json.RawMessage(`{"cache_control":{"type":"ephemeral"}}`)
	switch p := m.Parts[len(m.Parts)-1].(type) {
	case llm.ToolResult:
		p.Opaque = opaque
		m.Parts[len(m.Parts)-1] = p
	case llm.Text:
		p.Opaque = opaque
		m.Parts[len(m.Parts)-1] = p
	}
}

// A retry gets another response than the first attempt. The client may continue from either.
func TestWatchAttempts(t *testing.T) {
	m := fake.NewModel(fake.Response{Attempts: []fake.Response{{Text: "one"}, {Text: "two"}}}, fake.Response{Text: "end"}, fake.Response{Text: "end"})
	s, clients := pipe(t, wire.Config{Model: m}, "")
	for range 2 {
		if _, err := ask(clients["openai-chat"], request(llm.Streaming, llm.User("hi"))); err != nil {
			t.Fatal(err)
		}
	}
	for _, mode := range []string{"one", "two"} {
		if _, err := ask(clients["openai-chat"], request(llm.Streaming, llm.User("hi"), llm.Assistant(llm.Text{Text: mode}), llm.User("and?"))); err != nil {
			t.Fatal(err)
		}
	}
	if r := s.Report(); !r.OK() {
		t.Errorf("the report is %+v", r)
	}
}

// GET / returns what the server serves.
func TestServerInfo(t *testing.T) {
	s := wire.New(wire.Config{Model: fake.NewModel(fake.Response{Text: "one"}), Models: []string{"m"}})
	client, stop := s.Pipe()
	t.Cleanup(stop)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, pipeURL+"/", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	var got wire.ServerInfo
	if err := json.NewDecoder(resp.Body).Decode(&got); err != nil {
		t.Fatal(err)
	}
	want := wire.ServerInfo{
		URL: pipeURL, Session: "/session/NAME", Models: []string{"m"}, Quirks: []string{},
		BaseURLs: map[string]string{
			wire.OpenAI: pipeURL + "/openai/v1", wire.Anthropic: pipeURL + "/anthropic", wire.Gemini: pipeURL + "/gemini",
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("server info (-want +got):\n%s", diff)
	}
	env := strings.Join((wire.ServerInfo{URL: "http://x"}).Env("a", "k"), " ")
	for _, part := range []string{"OPENAI_BASE_URL=http://x/session/a/openai/v1", "ANTHROPIC_BASE_URL=http://x/session/a/anthropic", "GOOGLE_GEMINI_BASE_URL=http://x/session/a/gemini", "GEMINI_API_KEY=k", "LOOPTAPE_URL=http://x"} {
		if !strings.Contains(env, part) {
			t.Errorf("the environment %s lacks %s", env, part)
		}
	}
}

// Messages in the encoding of JavaScript, or with the chunks in which they arrived, equal the
// response.
func TestWatchChunks(t *testing.T) {
	quirk := func(name string) []wire.Quirk {
		q, err := wire.ParseQuirk(name)
		if err != nil {
			t.Fatal(err)
		}
		return []wire.Quirk{q}
	}
	for name, c := range map[string]struct {
		quirk, path, ask, again string // again has the echo as %s
		echo                    map[string][]string
	}{
		"numbers": {
			"QA-05:block", "/anthropic/v1/messages", `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}`,
			`{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[%s,{"type":"text","text":"I will look."}]},{"role":"user","content":"well?"}]}`,
			map[string][]string{`{"type":"hologram","hue":[1,2.50]}`: nil, `{"hue":[1,2.5],"type":"hologram"}`: nil, `{"type":"hologram","hue":[1,2.51]}`: {"2 INV-22"}},
		},
		"texts": {
			"QG-04:text", "/gemini/v1beta/models/m:generateContent", `{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}`,
			`{"contents":[{"role":"user","parts":[{"text":"hi"}]},{"role":"model","parts":[%s]},{"role":"user","parts":[{"text":"well?"}]}]}`,
			map[string][]string{
				`{"text":"I will look.","thoughtSignature":"dGhvdWdodCAwMDAwMDAwMWEzNDZmMWUx"}`:                   nil,
				`{"text":"I will "},{"text":"look.","thoughtSignature":"dGhvdWdodCAwMDAwMDAwMWEzNDZmMWUx"}`:       nil,
				`{"text":"I will "},{"text":"look."}`:                                                             {"2 INV-22"},
				`{"text":"I will "},{"text":"look it up.","thoughtSignature":"dGhvdWdodCAwMDAwMDAwMWEzNDZmMWUx"}`: {"2 INV-05"},
			},
		},
	} {
		for echo, want := range c.echo {
			t.Run(name+"/"+echo, func(t *testing.T) {
				s := wire.New(wire.Config{Model: fake.NewModel(fake.Response{Text: "I will look."}, fake.Response{Text: "Rain."}), Quirks: quirk(c.quirk)})
				for _, body := range []string{c.ask, fmt.Sprintf(c.again, echo)} {
					if w := post(t, s, c.path, body); w.Code != http.StatusOK {
						t.Fatalf("status %d: %s", w.Code, w.Body)
					}
				}
				if diff := cmp.Diff(want, broke(s.Report())); diff != "" {
					t.Errorf("violations (-want +got):\n%s\n%+v", diff, s.Report().Violations)
				}
			})
		}
	}
}
