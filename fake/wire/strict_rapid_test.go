package wire_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"pgregory.net/rapid"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/fake/wire"
	"github.com/looptape/looptape/llm"
)

// drawn draws valid requests of one protocol.
type drawn struct {
	*rapid.T
	protocol string
	thinks   bool // each response of the assistant begins with thinking
	calls    int
}

func (d *drawn) text() string {
	return rapid.OneOf(rapid.StringN(1, 12, -1), rapid.SampledFrom([]string{"é\u2028", `\ud83d`, "{}", " "})).Draw(d.T, "text")
}

func (d *drawn) yes(what string) bool { return rapid.Bool().Draw(d.T, what) }

// private is the opaque data of reasoning and of a call.
func (d *drawn) private() (reasoning, call json.RawMessage) {
	d.calls++
	switch d.protocol {
	case "openai-chat":
		return raw(`{"field":"reasoning_content"}`), nil
	case "openai-responses":
		return raw(fmt.Sprintf(`{"id":"rs_%d","encrypted_content":"gAAAAABo"}`, d.calls)), raw(fmt.Sprintf(`{"id":"fc_%d"}`, d.calls))
	case "anthropic-messages":
		return raw(`{"signature":"EqQBCg=="}`), raw(`{"caller":{"type":"direct"}}`)
	}
	return raw(`{"thoughtSignature":"c2ln"}`), raw(`{"thoughtSignature":"c2ln"}`)
}

// turn draws an assistant message with the results of its calls.
func (d *drawn) turn() []llm.Message {
	var m llm.Message
	m.Role = llm.RoleAssistant
	if d.thinks {
		opaque, _ := d.private()
		m.Parts = append(m.Parts, llm.Reasoning{Text: d.text(), Opaque: opaque})
	}
	if d.yes("speaks") {
		m.Parts = append(m.Parts, llm.Text{Text: d.text(), Refusal: d.protocol != "gemini" && d.yes("refuses")})
	}
	var results []llm.ToolResult
	for range rapid.IntRange(0, 3).Draw(d.T, "calls") {
		_, opaque := d.private()
		c := llm.ToolCall{ID: fmt.Sprint("call_", d.calls), Name: rapid.SampledFrom([]string{"f", "g-1_", "gone", "", "multi_tool_use.parallel"}).Draw(d.T, "name"), Arguments: rapid.SampledFrom([]string{"{}", `{"a":"\ud83d\ude00"}`, `{"a":"\ud83d"}`, "", `{"a`, "[]"}).Draw(d.T, "args")}
		if d.yes("private") {
			c.Opaque = opaque
		}
		m.Parts = append(m.Parts, c)
		r := llm.ToolResult{ID: c.ID, Name: c.Name, IsError: d.yes("fails")}
		for range rapid.IntRange(0, 2).Draw(d.T, "content") {
			r.Content = append(r.Content, llm.Text{Text: d.text()})
		}
		results = append(results, r)
	}
	if results == nil {
		return []llm.Message{m, llm.User("more" + d.text())}
	}
	return []llm.Message{m, llm.ToolResults(results...)}
}

func (d *drawn) request() *llm.Request {
	req := &llm.Request{
		Model:        rapid.SampledFrom([]string{"some-model", "gpt-4o", "gpt-5", "o4-mini", "claude-opus-4-6", "claude-sonnet-4-5", "gemini-3-pro", "gemini-2.5-flash", "mistral-large"}).Draw(d.T, "model"),
		ResponseMode: rapid.SampledFrom([]llm.ResponseMode{llm.Streaming, llm.NonStreaming}).Draw(d.T, "delivery"),
		Messages:     []llm.Message{llm.User("hi" + d.text())},
	}
	d.thinks = d.yes("thinks")
	if d.thinks && d.protocol == "anthropic-messages" {
		req.Extra = map[string]json.RawMessage{"thinking": raw(rapid.SampledFrom([]string{`{"type":"enabled","budget_tokens":1024}`, `{"type":"adaptive"}`}).Draw(d.T, "mode"))}
	}
	if d.yes("instructed") {
		for range rapid.IntRange(1, 6).Draw(d.T, "parts") {
			part := llm.SystemPart{Text: d.text(), CacheMark: rapid.Bool().Draw(d.T, "mark")}
			req.System = append(req.System, part)
		}
	}
	for range rapid.IntRange(0, 3).Draw(d.T, "turns") {
		req.Messages = append(req.Messages, d.turn()...)
	}
	if d.yes("tools") {
		d.tools(req)
	}
	s := &req.Settings
	s.MaxTokens = rapid.OneOf(rapid.Just(0), rapid.IntRange(16, 99)).Draw(d.T, "max") // Responses takes no less
	if req.Extra != nil {                                                             // thinking has its share
		s.MaxTokens += 1025
	}
	if d.yes("knobs") {
		s.Temperature, s.TopP = new(1.0), new(0.5)
		s.OutputSchema = rapid.SampledFrom([]json.RawMessage{nil, raw(`{"type":"object","properties":{"a":{"type":["string","null"]}},"additionalProperties":false}`)}).Draw(d.T, "schema")
	}
	return req
}

func (d *drawn) tools(req *llm.Request) {
	schemas := []json.RawMessage{nil, raw(`{}`), raw(`{"type":"object"}`), raw(`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`), raw(`{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]}},"$defs":{"x":{}}}`)}
	for _, name := range []string{"f", "g-1_"} {
		req.Tools = append(req.Tools, llm.Tool{Name: name, Description: d.text(), Parameters: rapid.SampledFrom(schemas).Draw(d.T, "parameters")})
	}
	req.ToolChoice = rapid.SampledFrom([]llm.ToolChoice{{}, {Mode: llm.ChooseRequired}, {Mode: llm.ChooseNone}, {Mode: llm.ChooseTool, Name: "f"}}).Draw(d.T, "choice")
	if d.protocol != "gemini" { // has no such setting
		req.Settings.ParallelToolCalls = rapid.SampledFrom([]*bool{nil, new(true), new(false)}).Draw(d.T, "parallel")
	}
}

// The server accepts all valid requests of this project's clients.
func TestStrictAcceptsOwnRequests(t *testing.T) {
	t.Parallel()
	for _, k := range protocols {
		t.Run(k.name, func(t *testing.T) {
			rapid.Check(t, func(r *rapid.T) {
				d := &drawn{T: r, protocol: k.name}
				req := d.request()
				out, err := k.proto.EncodeRequest(req)
				if err != nil {
					r.Fatal(err)
				}
				s := wire.New(wire.Config{Model: fake.NewModel(fake.Response{Text: "ok"})})
				base := "/" + string(k.provider)
				switch k.provider {
				case wire.OpenAI:
					base += "/v1"
				case wire.Gemini:
					base += "/v1beta"
				case wire.Anthropic:
				}
				if w := post(t, s, base+out.Path, string(out.Body)); w.Code != http.StatusOK {
					r.Fatalf("%d %s\n%s", w.Code, w.Body, out.Body)
				}
			})
		})
	}
}

// The server accepts its own responses in the next request, for any script and any number of
// attempts.
func TestStrictAcceptsEchoes(t *testing.T) {
	t.Parallel()
	for _, k := range protocols {
		t.Run(k.name, func(t *testing.T) {
			rapid.Check(t, func(r *rapid.T) {
				d := &drawn{T: r, protocol: k.name}
				s := wire.New(wire.Config{Model: fake.NewModel(d.script()...)})
				client, stop := s.Pipe()
				defer stop()
				c := clientsOf(pipeURL, "main", client)[k.name]
				req := d.request()
				req.Messages, req.Extra = req.Messages[:1], nil
				for range 4 {
					turn, err := ask(c, req)
					if d.yes("again") && err == nil {
						turn, err = ask(c, req)
					}
					if err != nil {
						r.Fatal(err)
					}
					req.Messages = append(req.Messages, turn.Message())
					var results []llm.ToolResult
					for _, call := range turn.Calls() {
						results = append(results, llm.ToolResult{ID: call.ID, Name: call.Name, Content: []llm.Part{llm.Text{Text: "1"}}})
					}
					if results != nil {
						req.Messages = append(req.Messages, llm.ToolResults(results...))
					}
					if results == nil || d.yes("asks more") {
						req.Messages = append(req.Messages, llm.User("more"))
					}
				}
				if report := s.Report(); len(report.RejectedRequests) > 0 {
					r.Fatalf("refused: %+v", report.RejectedRequests)
				}
			})
		})
	}
}

// script draws the responses of a model.
func (d *drawn) script() []fake.Response {
	turns := make([]fake.Response, 4)
	for i := range turns {
		t := &turns[i]
		opaque, _ := d.private()
		if d.yes("thinks") {
			t.Reasoning = d.text()
			if d.yes("signs") {
				t.ReasoningOpaque = opaque
			}
		}
		t.Text = rapid.SampledFrom([]string{"", "hm"}).Draw(d.T, "says")
		for range rapid.IntRange(0, 2).Draw(d.T, "calls") {
			_, opaque := d.private()
			c := fake.Call{ID: fmt.Sprint("call_", d.calls), Name: "f", Arguments: "{}", SingleChunk: d.yes("whole")}
			if d.yes("private") {
				c.Opaque = opaque
			}
			t.Calls = append(t.Calls, c)
		}
	}
	return turns
}
