package wire_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/layers"
	"github.com/looptape/looptape/loop/preset/agentloop"
)

// ephemeral is the value of the setting Cache.
const ephemeral = `{"type":"ephemeral"}`

// cachedAgent runs an agent of two steps with a client of each protocol, and returns the bodies of
// the requests and the report, by protocol. The dynamic layer has another text in each step.
func cachedAgent(t *testing.T, cfg agentloop.Config) (bodies map[string][]string, reports map[string]*agentloop.Report) {
	t.Helper()
	bodies, reports = map[string][]string{}, map[string]*agentloop.Report{}
	turns := []fake.Response{
		{Calls: []fake.Call{{Name: "next", Arguments: "{}"}}, Usage: llm.Usage{InputTokens: 110, OutputTokens: 5, CacheCreationInputTokens: 100}},
		{Text: "Done.", Usage: llm.Usage{InputTokens: 120, OutputTokens: 7, CacheReadInputTokens: 100}},
	}
	for name, c := range keyedClients(t, turns...) {
		own := cfg
		own.Clock, own.Model = fake.NewClock(), "m"
		var agent *agentloop.Loop
		tool, err := loop.NewTool("next", "", func(context.Context, struct{}) (string, error) {
			if cfg.Context == "" {
				return "ok", nil
			}
			return "ok", agent.History().Layers().Set(layers.Fixed(layers.ContextName, "another task", ""))
		})
		if err != nil {
			t.Fatal(err)
		}
		own.Tools = []loop.Tool{tool}
		if agent, err = agentloop.New(t.Context(), c.Client, &own); err != nil {
			t.Fatal(err)
		}
		res, err := agent.Complete(t.Context(), agentloop.Input{Text: "go"}, nil)
		if err != nil || res.Err != nil || res.Text() != "Done." {
			t.Fatalf("%s: %v, %v", name, err, res)
		}
		bodies[name], reports[name] = c.sent.list, agent.Reports()[0]
	}
	return bodies, reports
}

// prompts returns the member with the system prompt of each body, as JSON.
func prompts(t *testing.T, bodies []string) (list []string) {
	t.Helper()
	for _, body := range bodies {
		var b struct {
			System, Instructions, SystemInstruction json.RawMessage
			Messages                                []json.RawMessage
		}
		if err := json.Unmarshal([]byte(body), &b); err != nil {
			t.Fatal(err)
		}
		prompt := string(b.System) + string(b.Instructions) + string(b.SystemInstruction)
		if prompt == "" && len(b.Messages) > 0 {
			prompt = string(b.Messages[0])
		}
		list = append(list, prompt)
	}
	return list
}

// AL-82, AL-108: the client of Anthropic sends a mark after the stable layers. The prefix stays the
// same when only the context changes. The other clients send the flat text.
func TestAL82AL108CacheMark(t *testing.T) {
	stable, dynamic := `{"type":"text","text":"S","cache_control":{"type":"ephemeral"}}`, func(text string) string { return `{"type":"text","text":"` + text + `"}` }
	flat := func(format string) []string {
		return []string{fmt.Sprintf(format, `S\n\nC`), fmt.Sprintf(format, `S\n\nanother task`)}
	}
	others := map[string][]string{
		"openai-chat":      flat(`{"role":"system","content":"%s"}`),
		"openai-responses": flat(`"%s"`),
		"gemini":           flat(`{"parts":[{"text":"%s"}]}`),
	}
	set := agentloop.Settings{Cache: json.RawMessage(ephemeral)}
	bodies, _ := cachedAgent(t, agentloop.Config{System: "S", Context: "C", Settings: set})
	for name, want := range others {
		if diff := gocmp.Diff(want, prompts(t, bodies[name])); diff != "" {
			t.Errorf("%s: system prompts (-want +got):\n%s", name, diff)
		}
		if all := strings.Join(bodies[name], "\n"); strings.Contains(all, "cache_control") || strings.Contains(all, "cache_mark") {
			t.Errorf("%s: a cache mark in\n%s", name, all)
		}
	}
	const claude = "anthropic-messages"
	want := []string{"[" + stable + "," + dynamic("C") + "]", "[" + stable + "," + dynamic("another task") + "]"}
	if diff := gocmp.Diff(want, prompts(t, bodies[claude])); diff != "" {
		t.Errorf("system prompts with the setting (-want +got):\n%s", diff)
	}
	for _, body := range bodies[claude] {
		if n := strings.Count(body, "cache_control"); n != 1 {
			t.Errorf("%d marks, want 1: %s", n, body)
		}
	}
	for _, c := range []struct {
		name string
		cfg  agentloop.Config
		want string
	}{
		{"no dynamic layer", agentloop.Config{System: "S", Settings: set}, "[" + stable + "]"},
		{"no stable layer", agentloop.Config{Context: "C", Settings: set}, `"C"`},
		{"an empty stable layer", agentloop.Config{System: " ", Context: "C", Settings: set}, `"C"`},
		{"no layer", agentloop.Config{Settings: set}, `{"role":"user","content":[{"type":"text","text":"go"}]}`},
		{"no setting", agentloop.Config{System: "S", Context: "C"}, `"S\n\nC"`},
		{"null", agentloop.Config{System: "S", Context: "C", Settings: agentloop.Settings{Cache: json.RawMessage("null")}}, `"S\n\nC"`},
	} {
		bodies, _ := cachedAgent(t, c.cfg)
		if diff := gocmp.Diff(c.want, prompts(t, bodies[claude])[0]); diff != "" {
			t.Errorf("%s: system prompt (-want +got):\n%s", c.name, diff)
		}
	}
}

// AL-108: a request has at most four marks, also if the messages have marks.
func TestAL108FourMarks(t *testing.T) {
	c := keyedClients(t, fake.Response{Text: "Done."})["anthropic-messages"]
	agent, err := agentloop.New(t.Context(), c.Client, &agentloop.Config{System: "S", Context: "C", Model: "m", Settings: agentloop.Settings{Cache: json.RawMessage(ephemeral)}})
	if err != nil {
		t.Fatal(err)
	}
	text := llm.Text{Text: "go", Opaque: json.RawMessage(`{"cache_control":{"type":"ephemeral"}}`)}
	for n, want := range map[int]int{3: 4, 4: 4} {
		parts := make([]llm.Part, n)
		for i := range parts {
			parts[i] = text
		}
		fork, err := agentloop.New(t.Context(), c.Client, &agentloop.Config{System: "S", Context: "C", Model: "m", History: agent.History().Fork(""), Settings: agentloop.Settings{Cache: json.RawMessage(ephemeral)}})
		if err != nil {
			t.Fatal(err)
		}
		res, err := fork.Complete(t.Context(), agentloop.Input{Parts: parts}, nil)
		if err != nil || res.Err != nil {
			t.Errorf("%d marks in the messages: %v, %v", n, err, res.Err)
		}
		if got := strings.Count(c.sent.list[len(c.sent.list)-1], "cache_control"); got != want {
			t.Errorf("%d marks in the messages: %d in the request, want %d", n, got, want)
		}
	}
}

// The cached tokens of the responses of the server are in the report of the run and of its steps.
func TestCachedTokensFromWire(t *testing.T) {
	_, reports := cachedAgent(t, agentloop.Config{System: "S", Settings: agentloop.Settings{Cache: json.RawMessage(ephemeral)}})
	r := reports["anthropic-messages"]
	got := []agentloop.Usage{r.TotalUsage}
	for _, s := range r.Steps {
		got = append(got, s.Usage)
	}
	want := []agentloop.Usage{
		{InputTokens: 230, OutputTokens: 12, CachedTokens: 100, CacheWriteTokens: 100},
		{InputTokens: 110, OutputTokens: 5, CacheWriteTokens: 100},
		{InputTokens: 120, OutputTokens: 7, CachedTokens: 100},
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("usage of the run and of its steps (-want +got):\n%s", diff)
	}
	encoded, err := json.Marshal(r.TotalUsage)
	if diff := gocmp.Diff(`{"inputTokens":230,"outputTokens":12,"cachedTokens":100,"cacheWriteTokens":100}`, string(encoded)); err != nil || diff != "" {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
}
