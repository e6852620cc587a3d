package check_test

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/check"
)

func TestMessages(t *testing.T) {
	system := llm.Message{Role: llm.RoleSystem, Parts: []llm.Part{text("rules")}}
	for _, x := range []struct {
		name string
		list []llm.Message
		want []string // invariant, message index, and note if it is one
	}{
		{"nothing", nil, nil},
		{"a call without a name", []llm.Message{llm.Assistant(call("c1", "")), llm.ToolResults(good("c1"))}, []string{"INV-24 0"}},
		{"a call without a name at the end, which was not sent", []llm.Message{llm.User("a"), llm.Assistant(call("c1", ""))}, nil},
		{"with an id that is not new", []llm.Message{llm.Assistant(c1), llm.ToolResults(good("c1")), llm.Assistant(call("c1", ""))}, []string{"INV-04 2 note"}},
		{"a call without an id at the end, which was not sent", []llm.Message{llm.User("a"), llm.Assistant(call("", "g"), call("", "f"))}, nil},
		{"a result without an id", []llm.Message{llm.Assistant(c1), llm.ToolResults(good("")), llm.User("a")}, []string{"INV-01 1"}},
		{"a result without an id among others", []llm.Message{llm.Assistant(c1, c2, c3), llm.ToolResults(good("c1"), good(""), good("c3")), llm.User("a")}, []string{"INV-01 1"}},
		{"a result without an id, for one", []llm.Message{llm.Assistant(c1, c2), llm.ToolResults(good("")), llm.User("a")}, []string{"INV-01 1", "INV-01 0"}},
		{"a result without an id, for none", []llm.Message{llm.Assistant(c1), llm.ToolResults(good("c1"), good("")), llm.User("a")}, []string{"INV-01 1"}},
		{"a result with another id", []llm.Message{llm.Assistant(c1), llm.ToolResults(good("x")), llm.User("a")}, []string{"INV-01 1", "INV-01 0"}},
		{"a result without an id, then one in its place", []llm.Message{llm.Assistant(c1, c2), llm.ToolResults(good("c2"), good("")), llm.User("a")}, []string{"INV-01 1"}},
		{"a result without an id, then that of the first call", []llm.Message{llm.Assistant(c1, c2), llm.ToolResults(good(""), good("c1")), llm.User("a")}, []string{"INV-01 1"}},
		{"begins with a system message", []llm.Message{system, llm.User("a"), llm.Assistant(text("b"))}, nil},
		{"ends on a result", []llm.Message{llm.User("a"), llm.Assistant(c1), llm.ToolResults(good("c1"))}, nil},
		{"ends on calls", []llm.Message{llm.User("a"), llm.Assistant(c1, c2)}, nil},
		{"ends between results", []llm.Message{llm.User("a"), llm.Assistant(c1, c2), llm.ToolResults(good("c1"))}, nil},
		{"continues from calls", []llm.Message{llm.User("a"), llm.Assistant(c1, c2), llm.User("b")}, []string{"INV-01 1", "INV-01 1"}},
		{"a turn follows calls", []llm.Message{llm.User("a"), llm.Assistant(c1), llm.Assistant(c2)}, []string{"INV-01 1"}},
		{"late", []llm.Message{llm.Assistant(c1, c2), llm.ToolResults(good("c1")), llm.User("b"), llm.ToolResults(good("c2"))}, []string{"INV-02 3"}},
		{"late twice", []llm.Message{llm.Assistant(c1), llm.User("b"), llm.ToolResults(good("c1")), llm.ToolResults(good("c1"))}, []string{"INV-02 2", "INV-01 3"}},
		{"no call", []llm.Message{llm.User("a"), llm.ToolResults(good("c1"))}, []string{"INV-01 1"}},
		{"twice", []llm.Message{llm.Assistant(c1), llm.ToolResults(good("c1"), good("c1"))}, []string{"INV-01 1"}},
		{"order", []llm.Message{llm.Assistant(c1, c2, c3), llm.ToolResults(good("c2")), llm.ToolResults(good("c1"), good("c3"))}, []string{"INV-03 2 note"}},
		{"order in two turns", []llm.Message{
			llm.Assistant(c1, c2), llm.ToolResults(good("c2"), good("c1")),
			llm.Assistant(c3, c4), llm.ToolResults(good("c4"), good("c3")),
		}, []string{"INV-03 1 note", "INV-03 3 note"}},
		{"id again", []llm.Message{
			llm.Assistant(c1), llm.ToolResults(good("c1")), llm.Assistant(call("c1", "g")), llm.ToolResults(good("c1")),
			llm.Assistant(call("c1", "g")), llm.ToolResults(good("c1")),
		}, []string{"INV-04 2 note"}},
		{"same call again", []llm.Message{llm.Assistant(c1), llm.ToolResults(good("c1")), llm.Assistant(c1)}, []string{"INV-04 2 note"}},
		{"no id", []llm.Message{llm.Assistant(call("", "g"), call("", "f")), llm.ToolResults(good(""), good(""))}, []string{"INV-04 0"}},
		{"role", []llm.Message{{Role: "developer", Parts: []llm.Part{text("x")}}}, []string{"INV-24 0"}},
		{"no role", []llm.Message{{}}, []string{"INV-24 0"}},
		{"nothing of the user", []llm.Message{llm.Assistant(text("a")), {Role: llm.RoleUser}}, []string{"INV-24 1"}},
		{"nothing of the system", []llm.Message{{Role: llm.RoleSystem}, llm.User("a")}, []string{"INV-24 0"}},
		{"opaque data of the user only", []llm.Message{{Role: llm.RoleUser, Opaque: secret}}, nil},
		{"empty turn", []llm.Message{llm.Assistant(), llm.User("a")}, []string{"INV-24 0"}},
		{"empty text", []llm.Message{llm.User("a"), llm.Assistant(text(""), text("")), llm.User("b"), llm.ToolResults()}, []string{"INV-24 1 note", "INV-24 3"}},
		{"empty response at the end, which was not sent", []llm.Message{llm.User("a"), llm.Assistant()}, nil},
		{"empty response after a call, which was sent", []llm.Message{llm.User("a"), llm.Assistant(c1), llm.Assistant()}, []string{"INV-01 1"}},
		{"two of them", []llm.Message{llm.User("a"), llm.Assistant(), llm.Assistant()}, []string{"INV-24 1"}},
		{"empty text with a signature", []llm.Message{llm.Assistant(llm.Text{Opaque: secret})}, nil},
		{"nothing but opaque data of the message", []llm.Message{{Role: llm.RoleAssistant, Opaque: secret}, llm.User("a")}, nil},
		{"nothing but opaque data that is broken", []llm.Message{{Role: llm.RoleAssistant, Opaque: []byte("x")}, llm.User("a")}, []string{"INV-24 0"}},
		{"an id and a status only", []llm.Message{{Role: llm.RoleAssistant, Opaque: json.RawMessage(`{"id":"m","status":"completed","type":"message"}`)}, llm.User("a")}, []string{"INV-24 0"}},
		{"empty members only", []llm.Message{{Role: llm.RoleAssistant, Opaque: json.RawMessage(`{"annotations":[],"refusal":null,"index":1,"audio":null,"anthropic":{"id":"m"}}`)}, llm.User("a")}, []string{"INV-24 0"}},
		{"an empty text with an id", []llm.Message{llm.Assistant(llm.Text{Opaque: json.RawMessage(`{"id":"m","annotations":[ ]}`)}), llm.User("a")}, []string{"INV-24 0 note"}},
		{"an id of a codec only", []llm.Message{{Role: llm.RoleAssistant, Opaque: json.RawMessage(`{"chat:id":"m"}`)}, llm.User("a")}, []string{"INV-24 0"}},
		{"audio only", []llm.Message{{Role: llm.RoleAssistant, Opaque: json.RawMessage(`{"id":"m","audio":{"id":"a"}}`)}, llm.User("a")}, nil},
		{"function_call only", []llm.Message{{Role: llm.RoleAssistant, Opaque: json.RawMessage(`{"function_call":{"name":"f"}}`)}, llm.User("a")}, nil},
		{"a compaction only", []llm.Message{{Role: llm.RoleAssistant, Opaque: json.RawMessage(`{"anthropic":{"compaction":"c"}}`)}, llm.User("a")}, nil},
		{"a list only", []llm.Message{{Role: llm.RoleAssistant, Opaque: json.RawMessage(`["id"]`)}, llm.User("a")}, nil},
		{"empty reasoning", []llm.Message{llm.Assistant(llm.Reasoning{})}, nil},
		{"a result without content, in its own data", []llm.Message{llm.Assistant(c1), llm.ToolResults(llm.ToolResult{ID: "c1", Opaque: json.RawMessage(`{"content":null}`)})}, []string{"INV-24 1"}},
		{"a result without content, in the data of the message", []llm.Message{llm.Assistant(c1), {Role: llm.RoleTool, Parts: []llm.Part{llm.ToolResult{ID: "c1"}}, Opaque: json.RawMessage(`{"role":"function","content":null}`)}}, []string{"INV-24 1"}},
		{"a result with other content", []llm.Message{llm.Assistant(c1), llm.ToolResults(llm.ToolResult{ID: "c1", Opaque: json.RawMessage(`{"content":null,"output":"x"}`)})}, nil},
		{"an empty result", []llm.Message{llm.Assistant(c1), llm.ToolResults(llm.ToolResult{ID: "c1", Opaque: json.RawMessage(`{"id":"m"}`)}), llm.User("")}, nil},
		{"an input text of the assistant", []llm.Message{llm.Assistant(llm.Text{Text: "a", Opaque: json.RawMessage(`{"type":"input_text"}`)}), {Role: llm.RoleUser, Parts: []llm.Part{llm.Text{Text: "a", Opaque: json.RawMessage(`{"type":"input_text"}`)}}}}, []string{"INV-24 0"}},
		{"arguments that are null, in a list", []llm.Message{llm.Assistant(llm.ToolCall{ID: "c1", Name: "f", Opaque: json.RawMessage(`{"function":{"arguments":null}}`)}), llm.ToolResults(good("c1"))}, nil},
		{"no results", []llm.Message{llm.ToolResults()}, []string{"INV-24 0"}},
		{"text among results", []llm.Message{llm.Assistant(c1), {Role: llm.RoleTool, Parts: []llm.Part{good("c1"), text("x")}}}, []string{"INV-24 1"}},
		{"result of the user", []llm.Message{llm.Assistant(c1), {Role: llm.RoleUser, Parts: []llm.Part{good("c1"), text("x")}}}, []string{"INV-24 1"}},
		{"call of the user", []llm.Message{{Role: llm.RoleUser, Parts: []llm.Part{c1}}, llm.ToolResults(good("c1"))}, []string{"INV-24 0"}},
		{"reasoning of the user", []llm.Message{{Role: llm.RoleUser, Parts: []llm.Part{llm.Reasoning{Text: "x"}}}}, []string{"INV-24 0"}},
		{"media", []llm.Message{{Role: llm.RoleUser, Parts: []llm.Part{llm.Media{URL: "x"}, llm.Unknown{Kind: "y", Raw: secret}}}}, nil},
		{"what a tool of the provider's gave", []llm.Message{llm.Assistant(c1), {Role: llm.RoleTool, Parts: []llm.Part{good("c1"), llm.Unknown{Kind: "y", Raw: secret}}}}, nil},
		{"opaque of a part", []llm.Message{llm.Assistant(llm.Media{Opaque: []byte("x")})}, []string{"INV-24 0"}},
		{"opaque of a call", []llm.Message{llm.Assistant(llm.ToolCall{ID: "a", Name: "f", Opaque: []byte("x")})}, []string{"INV-24 0"}},
		{"opaque of a result", []llm.Message{llm.Assistant(c1), llm.ToolResults(llm.ToolResult{ID: "c1", Opaque: []byte("x")})}, []string{"INV-24 1"}},
		{"opaque of a message", []llm.Message{{Role: llm.RoleUser, Opaque: []byte("x")}}, []string{"INV-24 0"}},
		{"of the provider", []llm.Message{llm.Assistant(llm.ToolCall{ID: "s", ProviderExecuted: true}, llm.ToolResult{ID: "s"}, text("x")), llm.User("y")}, nil},
		{"of the provider, elsewhere", []llm.Message{llm.Assistant(llm.ToolCall{ID: "s", ProviderExecuted: true}, text("x")), llm.ToolResults(good("s"))}, []string{"INV-01 1"}},
		{"a result in the turn itself", []llm.Message{llm.Assistant(c1), llm.Assistant(good("c1"))}, []string{"INV-24 1"}},
	} {
		t.Run(x.name, func(t *testing.T) {
			var got []string
			for _, v := range check.Messages("list", x.list) {
				text := v.Invariant + " " + strconv.Itoa(v.Event)
				if v.Note {
					text += " note"
				}
				got = append(got, text)
				if v.Run != "list" {
					t.Errorf("the run is %q", v.Run)
				}
			}
			if diff := cmp.Diff(x.want, got); diff != "" {
				t.Errorf("violations (-want +got):\n%s", diff)
			}
		})
	}
}

// The codec of Chat Completions reads the content null as it reads "" if the message has other members. OpenAI accepts "".
func TestEmptyMessageWithAnIDInChat(t *testing.T) {
	l := check.List{Protocol: "openai-chat"}
	l.Add(llm.User("a"), llm.Message{Role: llm.RoleAssistant, Opaque: json.RawMessage(`{"chat:id":"m"}`)}, llm.User("b"))
	if found := l.Done(); len(found) != 1 || found[0].Invariant != "INV-24" || !found[0].Note {
		t.Errorf("violations %+v, want a note of INV-24", found)
	}
}

// TestRecordedRuns reads 200 recorded runs of one benchmark. Of them 49 use a
// call's id again, and nothing else is wrong with any.
func TestRecordedRuns(t *testing.T) {
	f, err := os.Open(shared(t, "data/tau-airline/gpt-4o-airline.json.gz"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var runs []struct{ Traj []openAIMessage }
	if err := json.NewDecoder(z).Decode(&runs); err != nil {
		t.Fatal(err)
	}
	flagged, counts := 0, map[string]int{}
	for i, r := range runs {
		l := check.List{Run: strconv.Itoa(i)}
		for _, m := range r.Traj {
			l.Add(m.message())
		}
		found := l.Done()
		if len(found) > 0 {
			flagged++
		}
		for _, v := range found {
			counts[v.Invariant]++
		}
	}
	if len(runs) != 200 || flagged != 49 || len(counts) != 1 || counts["INV-04"] < 49 {
		t.Errorf("of %d runs %d are flagged, with %v; want 49 of 200, with INV-04 alone", len(runs), flagged, counts)
	}
}

type openAIMessage struct {
	Role      string
	Content   *string
	ToolCalls []struct {
		ID       string
		Function struct{ Name, Arguments string }
	} `json:"tool_calls"`
	CallID string `json:"tool_call_id"`
	Name   string
}

func (m openAIMessage) message() llm.Message {
	var parts []llm.Part
	if m.Content != nil {
		parts = append(parts, text(*m.Content))
	}
	if m.Role == "tool" {
		return llm.ToolResults(llm.ToolResult{ID: m.CallID, Name: m.Name, Content: parts})
	}
	for _, c := range m.ToolCalls {
		parts = append(parts, llm.ToolCall{ID: c.ID, Name: c.Function.Name, Arguments: c.Function.Arguments})
	}
	return llm.Message{Role: llm.Role(m.Role), Parts: parts}
}

// shared returns a path in the folder of shared test data, and skips the test
// without that folder.
func shared(t *testing.T, path string) string {
	t.Helper()
	if dir := os.Getenv("LOOPTAPE_SHARED"); dir != "" {
		return filepath.Join(dir, path)
	}
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; ; dir = filepath.Dir(dir) {
		p := filepath.Join(dir, "shared", path)
		if _, err := os.Stat(p); err == nil {
			return p
		}
		if dir == filepath.Dir(dir) {
			t.Skip("no ../shared with the recorded runs; LOOPTAPE_SHARED can name it")
		}
	}
}

// A list that was sent needs results of its last calls, too; all else is the same.
func TestSent(t *testing.T) {
	for name, c := range map[string]struct {
		list []llm.Message
		want []string
	}{
		"whole":             {[]llm.Message{llm.User("a"), llm.Assistant(c1), llm.ToolResults(good("c1"))}, nil},
		"ends on words":     {[]llm.Message{llm.User("a"), llm.Assistant(text("b"))}, nil},
		"ends on nothing":   {[]llm.Message{llm.User("a"), llm.Assistant()}, nil},
		"ends on calls":     {[]llm.Message{llm.User("a"), llm.Assistant(c1, c2)}, []string{`INV-01 1 the request was sent without a result of the call "c1"`, `INV-01 1 the request was sent without a result of the call "c2"`}},
		"between results":   {[]llm.Message{llm.User("a"), llm.Assistant(c1, c2), llm.ToolResults(good("c2"))}, []string{`INV-01 1 the request was sent without a result of the call "c1"`}},
		"no messages":       {nil, []string{"INV-24 -1 the request has no messages"}},
		"continues":         {[]llm.Message{llm.User("a"), llm.Assistant(c1), llm.User("b")}, []string{`INV-01 1 the call "c1" has no result, and other messages follow`}},
		"of the provider's": {[]llm.Message{llm.User("a"), llm.Assistant(llm.ToolCall{ID: "x", Name: "web", Arguments: "{}", ProviderExecuted: true})}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, v := range sent("run", c.list) {
				got = append(got, fmt.Sprintf("%s %d %s", v.Invariant, v.Event, v.Message))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("violations (-want +got):\n%s", diff)
			}
		})
	}
}

func TestBroken(t *testing.T) {
	want := check.Violation{Invariant: "INV-27", Run: "r", Event: 3, Message: "parts", Hint: check.Catalog()[26].Hint}
	if diff := cmp.Diff(want, check.Violation{Invariant: "INV-27", Run: "r", Event: 3, Message: "parts"}.WithHint()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func sent(run string, messages []llm.Message) []check.Violation {
	l := check.List{Run: run}
	for _, m := range messages {
		l.Add(m)
	}
	return l.Sent()
}

// Items of Responses do not show where the last response ends.
func TestListEndOfResponses(t *testing.T) {
	for name, c := range map[string]struct {
		last      []llm.Part
		responses int // notes
	}{
		"a text after the call":      {[]llm.Part{c1, text("a")}, 1},
		"reasoning before that text": {[]llm.Part{c1, llm.Reasoning{Text: "r"}, text("a")}, 1},
		"a text between two calls":   {[]llm.Part{c1, text("a"), call("c2", "f")}, 1},
		"a text after two calls":     {[]llm.Part{c1, call("c2", "f"), text("a")}, 2},
		"a text before the call":     {[]llm.Part{text("a"), c1}, 0},
		"an empty text":              {[]llm.Part{c1, text("")}, 0},
		"reasoning":                  {[]llm.Part{c1, llm.Reasoning{Text: "r"}}, 0},
		"a call of the provider":     {[]llm.Part{llm.ToolCall{ID: "s", Name: "f", Arguments: "{}", ProviderExecuted: true}, text("a")}, 0},
	} {
		for protocol, want := range map[string]int{"openai-responses": c.responses, "openai-chat": 0, "": 0} {
			l := check.List{Run: "r", Protocol: protocol}
			l.Add(llm.User("q"), llm.Assistant(c.last...))
			found := l.Done()
			if len(found) != want || slices.ContainsFunc(found, func(v check.Violation) bool { return v.Invariant != "INV-01" || !v.Note || v.Event != 1 }) {
				t.Errorf("%s, protocol %q: found %v, want %d notes of INV-01", name, protocol, found, want)
			}
		}
	}
}

// Bedrock Converse, Cohere and Ollama reject different requests. An unknown protocol is a list of
// messages.
func TestListLevels(t *testing.T) {
	for name, c := range map[string]struct {
		list                           []llm.Message
		invariant                      string
		other, bedrock, cohere, ollama bool // it is an error
	}{
		"a call without a result": {[]llm.Message{llm.User("a"), llm.Assistant(c1), llm.User("b")}, "INV-01", true, true, true, false},
		"a result without a call": {[]llm.Message{llm.User("a"), llm.ToolResults(good("c1"))}, "INV-01", true, true, false, false},
		"two results":             {[]llm.Message{llm.User("a"), llm.Assistant(c1), llm.ToolResults(good("c1"), good("c1"))}, "INV-01", true, true, false, false},
		"a late result":           {[]llm.Message{llm.User("a"), llm.Assistant(c1), llm.User("b"), llm.ToolResults(good("c1"))}, "INV-02", true, true, true, false},
		"the same id twice":       {[]llm.Message{llm.User("a"), llm.Assistant(c1, c1), llm.ToolResults(good("c1"), good("c1"))}, "INV-04", true, false, false, false},
		"no id":                   {[]llm.Message{llm.User("a"), llm.Assistant(call("", "f")), llm.ToolResults(good(""))}, "INV-04", true, true, false, false},
		"no content":              {[]llm.Message{llm.User("a"), llm.Assistant(), llm.User("b")}, "INV-24", true, true, false, false},
		"empty text":              {[]llm.Message{llm.User("a"), llm.Assistant(text("")), llm.User("b")}, "INV-24", false, true, false, false},
		"an unknown role":         {[]llm.Message{{Role: "other", Parts: []llm.Part{text("x")}}}, "INV-24", true, true, true, false},
	} {
		for protocol, isError := range map[string]bool{"": c.other, "other": c.other, "bedrock-converse": c.bedrock, "cohere-chat": c.cohere, "ollama-chat": c.ollama} {
			l := check.List{Run: "r", Protocol: protocol}
			l.Add(c.list...)
			if found := l.Sent(); len(found) != 1 || found[0].Invariant != c.invariant || found[0].Note == isError {
				t.Errorf("%s, protocol %q: found %v, want one %s, an error: %v", name, protocol, found, c.invariant, isError)
			}
		}
	}
}

// Anthropic and Bedrock reject an empty text next to other parts. Nothing shows that a last message of the assistant was
// sent, and servers with the same protocol accept such texts.
func TestEmptyTextNextToOthers(t *testing.T) {
	for name, c := range map[string]struct {
		list    []llm.Message
		want    int // violations
		request bool
	}{
		"before a call":             {[]llm.Message{llm.User("a"), llm.Assistant(text(""), c1), llm.ToolResults(good("c1"))}, 1, false},
		"before a call, at the end": {[]llm.Message{llm.User("a"), llm.Assistant(text(""), c1)}, 0, false},
		"after reasoning, sent":     {[]llm.Message{llm.User("a"), llm.Assistant(llm.Reasoning{Text: "r"}, text(""))}, 1, true},
		"after a result":            {[]llm.Message{llm.Assistant(c1), llm.ToolResults(good("c1")), llm.User("")}, 1, false},
		"two of them":               {[]llm.Message{{Role: llm.RoleUser, Parts: []llm.Part{text(""), text("a"), text("")}}}, 1, true},
		"a cached one":              {[]llm.Message{{Role: llm.RoleUser, Parts: []llm.Part{text("a"), llm.Text{Opaque: json.RawMessage(`{"cache_control":{"type":"ephemeral"}}`)}}}}, 1, true},
		"in a result":               {[]llm.Message{llm.Assistant(c1), llm.ToolResults(llm.ToolResult{ID: "c1", Content: []llm.Part{text("")}})}, 0, true},
	} {
		for protocol, isReported := range map[string]bool{"": false, "openai-chat": false, "openai-responses": false, "gemini": false, "ollama-chat": false, "anthropic-messages": true, "bedrock-converse": true} {
			for _, accepted := range []bool{false, true} {
				list := check.List{Protocol: protocol, Request: c.request, Accepted: accepted}
				list.Add(c.list...)
				want := 0
				if isReported && !accepted {
					want = c.want
				}
				if found := list.Done(); len(found) != want || want > 0 && (found[0].Invariant != "INV-24" || found[0].Note) {
					t.Errorf("%s, protocol %q, accepted %v: violations %v, want %d errors of INV-24", name, protocol, accepted, found, want)
				}
			}
		}
	}
}

// A response at the end of a session shows that the provider accepted the empty text before.
func TestEmptyTextBeforeResponse(t *testing.T) {
	for response, want := range map[bool]int{false: 1, true: 0} {
		list := check.List{Protocol: "anthropic-messages", Response: response}
		list.Add(llm.User("a"), llm.Assistant(text(""), c1), llm.ToolResults(good("c1")), llm.Assistant(text("b")))
		if found := list.Done(); len(found) != want {
			t.Errorf("response %v: violations %v, want %d", response, found, want)
		}
	}
}

// Messages of the assistant that Anthropic joins begin a new order of results.
func TestOrderAfterJoinedText(t *testing.T) {
	list := check.List{Protocol: "anthropic-messages"}
	list.Add(llm.User("a"), llm.Assistant(c1), llm.ToolResults(good("c1")), llm.Assistant(text("b")), llm.Assistant(c2), llm.ToolResults(good("c2")))
	if found := list.Done(); len(found) > 0 {
		t.Errorf("violations %v", found)
	}
	list = check.List{Protocol: "anthropic-messages"}
	list.Add(llm.User("a"), llm.Assistant(text("b")), llm.Assistant(c1), llm.Assistant(c2), llm.ToolResults(good("c2"), good("c1")))
	if found := list.Done(); len(found) != 1 || found[0].Invariant != "INV-03" {
		t.Errorf("violations %v, want INV-03", found)
	}
}

// A call of Anthropic without a result is reported if a later message of the assistant is another response, and is a
// note if it may be of the same one.
func TestCallBeforeMessageOfAssistant(t *testing.T) {
	for name, c := range map[string]struct {
		list     []llm.Message
		reported bool
	}{
		"a text":                        {[]llm.Message{llm.Assistant(c1), llm.Assistant(text("b"))}, true},
		"a call":                        {[]llm.Message{llm.Assistant(c1), llm.Assistant(c2)}, true},
		"a call with a result":          {[]llm.Message{llm.Assistant(c1), llm.Assistant(c2), llm.ToolResults(good("c2"))}, true},
		"a text, and the result":        {[]llm.Message{llm.Assistant(c1), llm.Assistant(text("b")), llm.ToolResults(good("c1"))}, false},
		"nothing":                       {[]llm.Message{llm.Assistant(c1)}, false},
		"a text in the message":         {[]llm.Message{llm.Assistant(c1, text("b"))}, false},
		"a result of another call only": {[]llm.Message{llm.Assistant(c1, c2), llm.ToolResults(good("c2"))}, false},
	} {
		for _, response := range []bool{false, true} {
			list := check.List{Protocol: "anthropic-messages", Response: response}
			list.Add(append([]llm.Message{llm.User("a")}, c.list...)...)
			found := list.Done()
			if len(found) > 1 || (len(found) == 1) != c.reported || c.reported && (found[0].Invariant != "INV-01" || found[0].Note == response || found[0].Event != 1) {
				t.Errorf("%s after a call, response %v: violations %v, want INV-01 %v", name, response, found, c.reported)
			}
		}
	}
}

// A list of messages has no response to compare with, so it shows no fault of INV-05 and INV-22, which requests show.
func TestFaultsThatListsShow(t *testing.T) {
	for _, i := range check.Catalog() {
		for _, f := range i.Faults {
			needsResponse := i.ID == "INV-05" || i.ID == "INV-22" || strings.Contains(f.Description, "a response that is sent back")
			isOther := strings.Contains(f.Description, "(Responses) or") || strings.Contains(f.Description, "an empty text next to") || strings.Contains(f.Description, "Anthropic's server") || strings.HasPrefix(f.Description, "a request without messages")
			if got, want := f.IsReported(""), !needsResponse && !isOther; got != want {
				t.Errorf("%s, %s, in a list: reported %v, want %v", i.ID, f.Description, got, want)
			}
			if needsResponse && !f.IsReported("openai-chat") {
				t.Errorf("%s, %s: not reported in requests of Chat Completions", i.ID, f.Description)
			}
		}
	}
}
