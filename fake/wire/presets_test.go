package wire_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/fake/wire"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/preset/agentloop"
	"github.com/looptape/looptape/loop/preset/deuz"
	"github.com/looptape/looptape/providers/anthropic"
	"github.com/looptape/looptape/providers/gemini"
	"github.com/looptape/looptape/providers/openai"
	"github.com/looptape/looptape/providers/openai/chat"
	"github.com/looptape/looptape/providers/openai/responses"
	"github.com/looptape/looptape/providers/protocol"
	"github.com/looptape/looptape/trace"
)

// clientKey is the key of the clients.
const clientKey = "sk-ant-REALLY-clientKey-0123456789"

// sentBodies records the requests of an HTTP client.
type sentBodies struct {
	next http.RoundTripper
	list []string
	urls []string
}

func (b *sentBodies) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	b.list, b.urls = append(b.list, string(body)), append(b.urls, r.URL.Path)
	return b.next.RoundTrip(r)
}

// keyedClients returns a client of each protocol that calls a server with the responses.
func keyedClients(t *testing.T, turns ...fake.Response) map[string]struct {
	*protocol.Client
	sent *sentBodies
} {
	out := map[string]struct {
		*protocol.Client
		sent *sentBodies
	}{}
	for path, c := range map[string]*protocol.Client{
		"/anthropic":     {Protocol: anthropic.Messages{}, Authorize: anthropic.Key(clientKey)},
		"/openai/v1":     {Protocol: chat.Protocol{}, Authorize: openai.Key(clientKey)},
		"/openai/v1/":    {Protocol: responses.Protocol{}, Authorize: openai.Key(clientKey)},
		"/gemini/v1beta": {Protocol: gemini.GenerateContent{}, Authorize: gemini.Key(clientKey)},
	} {
		server := wire.New(wire.Config{Model: &fake.Model{Responses: turns, IsolateConversations: true}, Key: clientKey})
		client, stop := server.Pipe()
		t.Cleanup(stop)
		sent := &sentBodies{next: client.Transport}
		client.Transport = sent
		c.BaseURL, c.HTTP = "http://fake.invalid"+strings.TrimSuffix(path, "/"), client
		out[c.Protocol.Name()] = struct {
			*protocol.Client
			sent *sentBodies
		}{c, sent}
	}
	return out
}

// looked is an agent with a tool, and what its events and its trace contain.
type looked struct {
	*agentloop.Loop
	bus   *agentloop.Bus
	cfg   agentloop.Config
	seen  []string
	trace trace.Memory
}

func look(t *testing.T, client *protocol.Client) *looked {
	t.Helper()
	l := &looked{bus: new(agentloop.Bus)}
	l.bus.Subscribe(func(_ context.Context, ev agentloop.Event) error {
		l.seen = append(l.seen, fmt.Sprintf("%s %+v", ev.Name, ev.Data))
		return nil
	})
	l.cfg = agentloop.Config{Model: "m", Hooks: l.bus, Sink: &l.trace, Tools: []loop.Tool{{Name: "a", Run: func(context.Context, loop.Call) (loop.Output, error) {
		return loop.TextOutput("A"), nil
	}}}}
	var err error
	if l.Loop, err = agentloop.New(t.Context(), client, &l.cfg); err != nil {
		t.Fatal(err)
	}
	return l
}

// restore replaces the agent by one that is restored from its snapshot.
func (l *looked) restore(t *testing.T, client *protocol.Client) (snapshot string) {
	t.Helper()
	saved, err := json.Marshal(l.Dump())
	if err != nil {
		t.Fatal(err)
	}
	var s agentloop.Snapshot
	if err := json.Unmarshal(saved, &s); err != nil {
		t.Fatal(err)
	}
	if l.Loop, err = agentloop.Restore(t.Context(), client, s, &l.cfg); err != nil {
		t.Fatal(err)
	}
	return string(saved)
}

func (l *looked) run(t *testing.T, streams bool) error {
	t.Helper()
	if streams {
		for _, err := range l.Stream(t.Context(), agentloop.Input{Text: "go"}, nil) {
			if err != nil {
				t.Fatal(err)
			}
		}
	} else if _, err := l.Complete(t.Context(), agentloop.Input{Text: "go"}, nil); err != nil {
		t.Fatal(err)
	}
	reports := l.Reports()
	if last := reports[len(reports)-1]; last.Error != "" {
		return errors.New(last.Error)
	}
	return nil
}

// TestAL13AL103Client checks that Complete of agentloop makes non-streaming calls of the client and
// Stream streaming ones, one for each step. The key of the client is in no snapshot, report, event
// or trace, also not after an error of the provider (AL-13, AL-103).
func TestAL13AL103Client(t *testing.T) {
	for _, fails := range []bool{false, true} {
		second := fake.Response{Text: "x"}
		if fails {
			second = fake.Response{Error: &fake.Failure{Status: 401, Message: "the key " + clientKey + " is wrong"}}
		}
		for name, client := range keyedClients(t, fake.Response{Calls: []fake.Call{{ID: "call_1", Name: "a", Arguments: "{}"}}}, second) {
			for _, streams := range []bool{false, true} {
				client.sent.list, client.sent.urls = nil, nil
				l := look(t, client.Client)
				if err := l.run(t, streams); fails != (err != nil) {
					t.Fatalf("%s: %v", name, err)
				}
				streamed := 0
				for i, body := range client.sent.list {
					if strings.Contains(body, `"stream":true`) || strings.Contains(client.sent.urls[i], ":streamGenerateContent") {
						streamed++
					}
				}
				if n := len(client.sent.list); n != 2 || streams && streamed != 2 || !streams && streamed != 0 {
					t.Errorf("%s, streaming %v: got %d requests, %d of them streaming", name, streams, n, streamed)
				}
				for what, text := range map[string]string{"events": strings.Join(l.seen, "\n"), "trace": trace.FormatText(l.trace.Events()), "snapshot": l.restore(t, client.Client)} {
					if strings.Contains(text, clientKey) || text == "" {
						t.Errorf("%s, streaming %v, failing %v: the key of the client is in the %s: %s", name, streams, fails, what, text)
					}
				}
			}
		}
	}
}

// TestAL105OpaqueCall checks that what the provider attached to a call is in the history of
// agentloop, in a snapshot of it, and in the next request (AL-105).
func TestAL105OpaqueCall(t *testing.T) {
	for name, member := range map[string]string{
		"gemini":      `"thoughtSignature":"%s"`,
		"openai-chat": `"extra_content":{"google":{"thought_signature":"%s"}}`, // of Gemini
	} {
		signed := func(signature string) string { return fmt.Sprintf(member, signature) }
		call := fake.Call{ID: "call_1", Name: "a", Arguments: "{}", Opaque: json.RawMessage("{" + signed("c2lnbmF0dXJl") + "}")}
		second := fake.Call{ID: "call_2", Name: "a", Arguments: "{}", Opaque: json.RawMessage("{" + signed("c2Vjb25k") + "}")}
		client := keyedClients(t, fake.Response{Calls: []fake.Call{call, second}}, fake.Response{Text: "x"}, fake.Response{Text: "y"})[name]
		l := look(t, client.Client)
		if err := l.run(t, true); err != nil {
			t.Fatal(err)
		}
		l.restore(t, client.Client)
		for i, want := range []string{"c2lnbmF0dXJl", "c2Vjb25k"} {
			if got := l.History().Messages()[1].Calls()[i].Opaque; !strings.Contains(string(got), want) {
				t.Errorf("%s: the restored call %d has %s, want %s", name, i, got, want)
			}
		}
		if err := l.run(t, false); err != nil {
			t.Fatal(err)
		}
		for i, body := range client.sent.list {
			if got := strings.Contains(body, signed("c2lnbmF0dXJl")) && strings.Contains(body, signed("c2Vjb25k")); got != (i > 0) {
				t.Errorf("%s: request %d contains the signatures: %v", name, i, got)
			}
		}
		if len(client.sent.list) != 3 {
			t.Errorf("%s: got %d requests, want 3", name, len(client.sent.list))
		}
	}
}

// member returns a member of a JSON object as it was sent.
func member(t *testing.T, body, name string) string {
	t.Helper()
	var all map[string]json.RawMessage
	if err := json.Unmarshal([]byte(body), &all); err != nil {
		t.Fatal(err)
	}
	return string(all[name])
}

// conversation is the member of a request that contains the messages, by protocol.
var conversation = map[string]string{"anthropic-messages": "messages", "openai-chat": "messages", "openai-responses": "input", "gemini": "contents"}

func deuzTool(returns string) loop.Tool {
	return loop.Tool{
		Name: "a", Description: "of a", Parameters: json.RawMessage(`{"type":"object","properties":{"z":{"type":"integer"},"b":{"type":"string"}},"additionalProperties":false}`),
		Run: func(context.Context, loop.Call) (loop.Output, error) { return loop.TextOutput(returns), nil },
	}
}

// TestDZ03ToolChoiceOnTheWire checks that each request of deuz has the tool choice in the form of
// its provider, on every step (DZ-03). Unset is auto, which providers have as their default.
func TestDZ03ToolChoiceOnTheWire(t *testing.T) {
	call := func(id string) fake.Response {
		return fake.Response{Calls: []fake.Call{{ID: id, Name: "a", Arguments: `{}`}}}
	}
	for choice, want := range map[llm.ToolChoice]map[string]string{
		{}:                         {"anthropic-messages": "", "openai-chat": "", "openai-responses": ""},
		{Mode: llm.ChooseAuto}:     {"anthropic-messages": "", "openai-chat": "", "openai-responses": ""},
		{Mode: llm.ChooseRequired}: {"anthropic-messages": `{"type":"any"}`, "openai-chat": `"required"`, "openai-responses": `"required"`},
		{Mode: llm.ChooseNone}:     {"anthropic-messages": `{"type":"none"}`, "openai-chat": `"none"`, "openai-responses": `"none"`},
		{Mode: llm.ChooseTool, Name: "a"}: {
			"anthropic-messages": `{"type":"tool","name":"a"}`, "openai-chat": `{"type":"function","function":{"name":"a"}}`, "openai-responses": `{"type":"function","name":"a"}`,
		},
	} {
		for name, client := range keyedClients(t, call("call_1"), call("call_2"), call("call_3")) {
			if name == "gemini" {
				continue
			}
			opts := deuz.Options{Model: client.Client, Messages: []llm.Message{llm.User("go")}, Loop: loop.Config{
				Model: "m", MaxSteps: 3, ToolChoice: choice, Tools: []loop.Tool{deuzTool("A")},
			}}
			_, err := deuz.GenerateText(t.Context(), opts)
			if choice.Mode == llm.ChooseNone {
				err = nil // the strict server may refuse a scripted call
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if n := len(client.sent.list); n != 3 {
				t.Errorf("%s, %v: got %d requests, want 3", name, choice, n)
			}
			for i, body := range client.sent.list {
				if got := member(t, body, "tool_choice"); got != want[name] {
					t.Errorf("%s, %v: request %d has the tool_choice %s, want %s", name, choice, i, got, want[name])
				}
			}
		}
	}
}

// TestDZ60Prefix checks that in a run of four steps all requests of deuz have the same bytes of the
// system prompt and the tools, and that the messages of each request begin with the bytes of those
// before it. A repeated run sends the same bytes (DZ-60).
func TestDZ60Prefix(t *testing.T) {
	call := func(n int) fake.Response {
		return fake.Response{Text: "step", Calls: []fake.Call{{ID: fmt.Sprint("call_", n), Name: "a", Arguments: `{"z":1,"b":"x"}`}}}
	}
	tools := []loop.Tool{deuzTool(`{"z":1,"b":[2,1]}`), deuzTool("Y"), deuzTool("Z")}
	tools[1].Name, tools[2].Name = "y", "b"
	var first map[string][]string
	for range 2 {
		sent := map[string][]string{}
		for name, client := range keyedClients(t, call(1), call(2), call(3), fake.Response{Text: "done"}) {
			res, err := deuz.GenerateText(t.Context(), deuz.Options{Model: client.Client, Messages: []llm.Message{llm.User("go")}, Loop: loop.Config{
				Model: "m", System: "You are terse.", MaxSteps: 5, Tools: tools,
			}})
			if err != nil || len(res.Steps) != 4 {
				t.Fatalf("%s: %v", name, err)
			}
			list := client.sent.list
			sent[name] = list
			for i := 1; i < len(list); i++ {
				for _, key := range []string{"system", "instructions", "systemInstruction", "tools"} {
					if member(t, list[i], key) != member(t, list[0], key) {
						t.Errorf("%s: request %d has other %s than request 0", name, i, key)
					}
				}
				before, after := member(t, list[i-1], conversation[name]), member(t, list[i], conversation[name])
				if !strings.HasPrefix(after, strings.TrimSuffix(before, "]")+",") || len(before) < 3 {
					t.Errorf("%s: the messages of request %d do not begin with those of the request before it:\n%s\n%s", name, i, before, after)
				}
			}
		}
		if first == nil {
			first = sent
			continue
		}
		if diff := gocmp.Diff(first, sent); diff != "" {
			t.Errorf("a repeated run sends other bytes (-first +second):\n%s", diff)
		}
	}
}

// TestDZ62StopWithCalls checks that deuz continues while a response has calls, in both response modes
// of each protocol, if the provider reports its word for stop (DZ-62).
func TestDZ62StopWithCalls(t *testing.T) {
	pending := fake.Response{Calls: []fake.Call{{ID: "call_1", Name: "a", Arguments: `{}`}}, FinishReason: llm.FinishStop}
	words := map[string]string{"anthropic-messages": "end_turn", "openai-chat": "stop", "openai-responses": "completed", "gemini": "STOP"}
	for name, client := range keyedClients(t, pending, fake.Response{Text: "done"}) {
		for _, streams := range []bool{false, true} {
			var events trace.Memory
			ran := 0
			tool := deuzTool("A")
			tool.Run = func(context.Context, loop.Call) (loop.Output, error) {
				ran++
				return loop.TextOutput("A"), nil
			}
			opts := deuz.Options{Model: client.Client, Messages: []llm.Message{llm.User("go")}, Loop: loop.Config{Model: "m", MaxSteps: 5, Tools: []loop.Tool{tool}, Sink: &events}}
			text := ""
			if streams {
				text = strings.Join(slices.Collect(deuz.StreamChat(t.Context(), opts).Text()), "")
			} else {
				res, err := deuz.GenerateText(t.Context(), opts)
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				text = res.Text
			}
			var reported []string
			for _, ev := range events.Events() {
				if b, ok := ev.Body.(trace.ModelResponse); ok {
					reported = append(reported, cmp.Or(b.RawFinishReason, string(b.FinishReason)))
				}
			}
			if text != "done" || ran != 1 || len(reported) != 2 || reported[0] != words[name] {
				t.Errorf("%s, streaming %v: got %q after %d tools, finish reasons %q, want %q first", name, streams, text, ran, reported, words[name])
			}
		}
	}
}

// TestAL98ModelEvents checks that a subscriber of agentloop's bus sees the events of the project's
// clients between onStepStart and onStepComplete, in both response modes and after a retry, with
// the id of the agent, and without the key (AL-98, AL-107).
func TestAL98ModelEvents(t *testing.T) {
	limited := fake.Response{Attempts: []fake.Response{{Error: &fake.Failure{Status: 429, Message: "slow down"}}, {Text: "x", Usage: llm.Usage{InputTokens: 7, OutputTokens: 2}}}}
	for name, client := range keyedClients(t, limited) {
		for _, streams := range []bool{false, true} {
			if streams {
				client = keyedClients(t, limited)[name]
			}
			bus := new(agentloop.Bus)
			var got []string
			bus.Subscribe(func(_ context.Context, ev agentloop.Event) error {
				line := fmt.Sprint(ev.Agent, " ", ev.Name)
				switch d := ev.Data.(type) {
				case *llm.Request:
					line += fmt.Sprint(" ", ev.Provider, " ", d.Model, " ", ev.Attempt)
				case error:
					api, _ := errors.AsType[*llm.APIError](d)
					line += fmt.Sprint(" ", api.Status, " ", ev.Attempt)
				case *agentloop.Response:
					line += fmt.Sprint(" ", d.Usage.InputTokens, "/", d.Usage.OutputTokens, " step ", ev.Step)
				}
				if ev.Name == agentloop.OnModelRetry {
					line += fmt.Sprint(" ", ev.Time > 0)
				}
				if got = append(got, line); strings.Contains(fmt.Sprintf("%+v", ev), clientKey) {
					t.Errorf("%s: the key is in %s", name, line)
				}
				return nil
			})
			l, err := agentloop.New(t.Context(), client.Client, &agentloop.Config{ID: "one", Model: "m", Hooks: bus, Clock: fake.NewClock(), Retry: loop.Retry{Max: 1}})
			if err != nil {
				t.Fatal(err)
			}
			other, err := agentloop.New(t.Context(), fake.NewModel(fake.Response{Text: "y"}), &agentloop.Config{ID: "two", Hooks: bus})
			if err != nil {
				t.Fatal(err)
			}
			agent := &looked{Loop: l}
			if err := agent.run(t, streams); err != nil {
				t.Fatal(name, err)
			}
			agent.Loop = other
			if err := agent.run(t, streams); err != nil {
				t.Fatal(name, err)
			}
			want := []string{
				"one onAgentCreate", "two onAgentCreate", "one onRunStart", "one onStepStart",
				"one onModelRequest " + name + " m 1", "one onModelError 429 1", "one onModelRetry true",
				"one onModelRequest " + name + " m 2", "one onModelStart", "one onModelResponse 7/2 step 0",
				"one onStepComplete 7/2 step 0", "one onRunComplete",
				"two onRunStart", "two onStepStart", "two onModelRequest   1", "two onModelStart", "two onModelResponse 0/0 step 0", "two onStepComplete 0/0 step 0", "two onRunComplete",
			}
			if !streams {
				want = slices.DeleteFunc(want, func(line string) bool { return strings.HasSuffix(line, "onModelStart") })
			}
			if diff := gocmp.Diff(want, got); diff != "" {
				t.Errorf("%s, streaming %v (-want +got):\n%s", name, streams, diff)
			}
		}
	}
}
