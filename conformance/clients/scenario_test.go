package clients

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/fake/wire"
	"github.com/looptape/looptape/llm"
)

// The scenario of all clients: a response with two calls, a response with three calls, and a final
// answer.
const (
	system   = "You tell the weather. Be brief ☂."
	question = "What is the weather in Bern and in Rome?"
)

// weather is the schema of the tool of all clients.
var weather = map[string]any{
	"type": "object",
	"properties": map[string]any{
		"city": map[string]any{"type": "string", "description": "the name of a city"},
		"at":   map[string]any{"type": "number", "description": "the hour"},
	},
	"required":             []any{"city", "at"},
	"additionalProperties": false,
}

// runTool returns the output of the tool.
func runTool(args string) (string, error) {
	var in struct{ City string }
	if err := json.Unmarshal([]byte(args), &in); err != nil {
		return "", fmt.Errorf("the arguments %q: %w", args, err)
	}
	return "rain in " + in.City + " ☔", nil
}

// signs are the signatures of a protocol: of the reasoning of two responses, and of their first
// calls.
type signs struct {
	reasoning [2]json.RawMessage
	call      json.RawMessage
	// single keeps only the first call of each response; unnamed omits the ids of calls.
	single, unnamed bool
}

// turns returns the script.
func (s signs) turns() []fake.Response {
	call := func(id, city string) fake.Call {
		return fake.Call{ID: id, Name: "weather", Arguments: `{"city": "` + city + `", "at": 8.50}`}
	}
	turns := []fake.Response{
		{Text: "I look at both.", Calls: []fake.Call{call("call_1", "Bern"), call("call_2", "Rome 🏛")}, Usage: llm.Usage{InputTokens: 120, OutputTokens: 40, CacheReadInputTokens: 64}},
		{Calls: []fake.Call{call("call_3", "Ostia"), call("call_4", "Thun"), call("call_5", "Köniz")}, Usage: llm.Usage{InputTokens: 180, OutputTokens: 50, CacheReadInputTokens: 128}},
		{Text: "Rain in Bern, and rain in Rome ☔.", Usage: llm.Usage{InputTokens: 240, OutputTokens: 20, CacheReadInputTokens: 128}},
	}
	for i := range turns {
		turns[i].ChunkSize = 5
		if len(turns[i].Calls) == 0 {
			continue
		}
		turns[i].Calls[0].Opaque = s.call
		if s.single {
			turns[i].Calls = turns[i].Calls[:1]
		}
		for j := range turns[i].Calls {
			if s.unnamed {
				turns[i].Calls[j].ID = ""
			}
		}
		if s.reasoning[i] != nil {
			turns[i].Reasoning, turns[i].ReasoningOpaque = "All the cities at once.", s.reasoning[i]
			turns[i].Usage.ReasoningOutputTokens = 16
		}
	}
	return turns
}

// step is a response that a client has read.
type step struct {
	Text, Reasoning string
	Calls           []call
	Finish          string // as the provider sends it
	Usage           llm.Usage
}

type call struct{ ID, Name, Args string }

// The scenarios by protocol.
var (
	chatScript      = script{provider: wire.OpenAI, finish: []string{"tool_calls", "tool_calls", "stop"}}
	responsesScript = script{provider: wire.OpenAI, finish: []string{"completed", "completed", "completed"}, signs: signs{reasoning: [2]json.RawMessage{
		json.RawMessage(`{"id":"rs_1","encrypted_content":"gAAAAc2VhbGVk"}`), json.RawMessage(`{"id":"rs_2","encrypted_content":"gAAAAYWdhaW4"}`),
	}}}
	messagesScript = script{provider: wire.Anthropic, finish: []string{"tool_use", "tool_use", "end_turn"}, signs: signs{reasoning: [2]json.RawMessage{
		json.RawMessage(`{"signature":"c2lnbmVk"}`), json.RawMessage(`{"signature":"YWdhaW4="}`),
	}}}
	geminiScript = script{provider: wire.Gemini, finish: []string{"STOP", "STOP", "STOP"}, signs: signs{call: json.RawMessage(`{"thoughtSignature":"c2lnbmVk"}`)}}
)

// steps returns the steps that a client has to read.
func (s signs) steps(finish ...string) (out []step) {
	for i, t := range s.turns() {
		st := step{Text: t.Text, Reasoning: t.Reasoning, Finish: finish[i], Usage: t.Usage}
		for _, c := range t.Calls {
			st.Calls = append(st.Calls, call{c.ID, c.Name, reencode(c.Arguments)})
		}
		out = append(out, st)
	}
	return out
}

// history returns the messages that the last request of a client must contain.
func (s signs) history() []llm.Message {
	out := []llm.Message{llm.User(question)}
	for _, t := range s.turns()[:2] {
		var parts []llm.Part
		var results []llm.ToolResult
		if t.Reasoning != "" {
			parts = append(parts, llm.Reasoning{Text: t.Reasoning, Opaque: t.ReasoningOpaque})
		}
		if t.Text != "" {
			parts = append(parts, llm.Text{Text: t.Text})
		}
		for _, c := range t.Calls {
			parts = append(parts, llm.ToolCall{ID: c.ID, Name: c.Name, Arguments: c.Arguments, Opaque: c.Opaque})
			said, _ := runTool(c.Arguments) // the arguments are those of the script
			results = append(results, llm.ToolResult{ID: c.ID, Name: c.Name, Content: []llm.Part{llm.Text{Text: said}}})
		}
		out = append(out, llm.Assistant(parts...), llm.ToolResults(results...))
	}
	return out
}

// spoken returns the content of messages and the signatures in them. It joins adjacent texts and
// adjacent messages with results, and omits the ids of parts.
func spoken(messages []llm.Message) (out []llm.Message) {
	for _, m := range messages {
		var parts []llm.Part
		for _, p := range m.Parts {
			switch p := p.(type) {
			case llm.Text:
				if n := len(parts); n > 0 {
					if last, ok := parts[n-1].(llm.Text); ok {
						parts[n-1] = llm.Text{Text: last.Text + p.Text}
						continue
					}
				}
				parts = append(parts, llm.Text{Text: p.Text})
			case llm.Reasoning:
				parts = append(parts, llm.Reasoning{Text: p.Text, Opaque: signed(p.Opaque)})
			case llm.ToolCall:
				p.Opaque, p.Arguments = signed(p.Opaque), reencode(p.Arguments)
				parts = append(parts, p)
			case llm.ToolResult:
				parts = append(parts, llm.ToolResult{ID: p.ID, Name: p.Name, IsError: p.IsError, Content: []llm.Part{llm.Text{Text: p.Text()}}})
			default:
				parts = append(parts, p)
			}
		}
		if n := len(out); n > 0 && m.Role == llm.RoleTool && out[n-1].Role == llm.RoleTool {
			out[n-1].Parts = append(out[n-1].Parts, parts...)
			continue
		}
		out = append(out, llm.Message{Role: m.Role, Parts: parts})
	}
	return out
}

// reencode encodes arguments with encoding/json, because many clients decode and encode them.
func reencode(args string) string {
	var v any
	if json.Unmarshal([]byte(args), &v) != nil {
		return args
	}
	out, err := json.Marshal(v)
	if err != nil {
		return args
	}
	return string(out)
}

// signed returns the signed and encrypted members of opaque data.
func signed(opaque json.RawMessage) (out json.RawMessage) {
	var members map[string]json.RawMessage
	_ = json.Unmarshal(opaque, &members) // other values have no signature
	for _, key := range []string{"signature", "encrypted_content", "thoughtSignature"} {
		out = append(out, members[key]...)
	}
	return out
}

// script is the scenario for one protocol.
type script struct {
	provider string
	signs    signs
	finish   []string // why the responses end, in the provider's words
}

// with returns the script with other signatures.
func (s script) with(other signs) script {
	s.signs = other
	return s
}

// playing runs a client with the scenario at a base URL, streaming or not, and returns what the
// client has read.
type playing func(t *testing.T, base string, stream bool) []step

// run runs a client with the scenario, streaming and non-streaming.
func (s script) run(t *testing.T, play playing) {
	t.Run("streaming", func(t *testing.T) { s.once(t, play, true) })
	t.Run("non-streaming", func(t *testing.T) { s.once(t, play, false) })
}

func (s script) once(t *testing.T, play playing, stream bool) {
	l := open(t, s.signs.turns()...)
	got := play(t, l.base(s.provider), stream)
	for _, st := range got {
		for i := range st.Calls {
			st.Calls[i].Args = reencode(st.Calls[i].Args)
		}
	}
	if diff := cmp.Diff(s.signs.steps(s.finish...), got); diff != "" {
		t.Errorf("what the client read (-want +got):\n%s", diff)
	}
	l.quiet(t, 3)
	requests := l.asked(t)
	last := requests[len(requests)-1]
	if diff := cmp.Diff(spoken(s.signs.history()), spoken(last.Messages)); diff != "" {
		t.Errorf("what the client sent last (-want +got):\n%s", diff)
	}
	if last.System.Text() != system || len(last.Tools) != 1 || (last.ResponseMode == llm.Streaming) != stream {
		t.Errorf("the last request has the system prompt %q, %d tools, delivery %q", last.System.Text(), len(last.Tools), last.ResponseMode)
	}
}

// marshal encodes a value that has a JSON form.
func marshal(t *testing.T, v any) json.RawMessage {
	t.Helper()
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
