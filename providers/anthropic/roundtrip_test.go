package anthropic_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/anthropic"
	"github.com/looptape/looptape/providers/protocol"
)

// TestRequestRoundTrip writes requests that are in the form that DecodeRequest
// gives, and reads them again.
func TestRequestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := anyRequest(t)
		r, err := anthropic.Messages{}.EncodeRequest(want)
		if err != nil {
			t.Fatal(err)
		}
		if !json.Valid(r.Body) {
			t.Fatalf("not JSON: %s", r.Body)
		}
		got, err := anthropic.Messages{}.DecodeRequest(r.Path, r.Body)
		if err != nil {
			t.Fatalf("%v in %s", err, r.Body)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%s\n(-want +got):\n%s", r.Body, diff)
		}
	})
}

func pick[T any](t *rapid.T, what string, values ...T) T {
	return rapid.SampledFrom(values).Draw(t, what)
}

func words(t *rapid.T, what string) string { return "w" + rapid.String().Draw(t, what) }

var opaques = []json.RawMessage{nil, nil, raw(`{"cache_control":{"type":"ephemeral","ttl":"1h"}}`),
	raw(`{"cache_control":{"type":"ephemeral"},"anthropic":{"novel":[1]}}`)}

func anyRequest(t *rapid.T) *llm.Request {
	req := &llm.Request{
		Model:        rapid.String().Draw(t, "model"),
		System:       llm.SystemText(pick(t, "system", "", "Be brief.\n<&>\u2028")),
		ResponseMode: pick(t, "delivery", llm.Streaming, llm.NonStreaming),
		Settings: llm.Settings{
			MaxTokens:       rapid.IntRange(1, 1<<40).Draw(t, "max_tokens"),
			Temperature:     pick(t, "temperature", nil, new(0.0), new(0.3), new(1.0)),
			TopP:            pick(t, "top_p", nil, new(0.95), new(1e-9)),
			StopSequences:   pick(t, "stop", nil, []string{"END"}, []string{"a\n", "\"b"}),
			ReasoningEffort: pick(t, "effort", "", "low", "max"),
			OutputSchema:    pick(t, "schema", nil, raw(`{"type":"object","properties":{},"additionalProperties":false}`)),
		},
		Extra: pick(t, "extra", nil, map[string]json.RawMessage{"metadata": raw(`{"user_id":"u"}`), "top_k": raw(`5`)},
			map[string]json.RawMessage{"thinking": raw(`{"type":"enabled","budget_tokens":1024}`)}),
	}
	for i := range rapid.IntRange(0, 3).Draw(t, "tools") {
		req.Tools = append(req.Tools, llm.Tool{
			Name: fmt.Sprintf("tool_%d-A", i), Description: pick(t, "description", "", "Does it."),
			Parameters: pick(t, "parameters", raw(`{"type":"object"}`), raw(`{"properties":{"a":{"anyOf":[{"type":"string"}]}},"type":"object"}`)),
			Strict:     pick(t, "strict", nil, new(true), new(false)),
		})
	}
	if len(req.Tools) > 0 {
		req.ToolChoice = pick(t, "choice", llm.ToolChoice{}, llm.ToolChoice{Mode: llm.ChooseRequired}, llm.ToolChoice{Mode: llm.ChooseNone}, llm.ToolChoice{Mode: llm.ChooseTool, Name: "tool_0-A"})
		if req.ToolChoice.Mode != llm.ChooseNone {
			req.Settings.ParallelToolCalls = pick(t, "parallel", nil, new(true), new(false))
		}
	}
	req.Messages = anyMessages(t)
	if rapid.Bool().Draw(t, "parts") {
		marks := maxMarks - strings.Count(string(mustEncode(t, req)), `"cache_control"`)
		req.System = llm.System{{Text: "s", CacheMark: marks > 0}} // one without a mark is a text
		for range rapid.IntRange(0, 5).Draw(t, "more parts") {
			marks--
			req.System = append(req.System, llm.SystemPart{Text: words(t, "part"), CacheMark: marks > 0 && rapid.Bool().Draw(t, "mark")})
		}
	}
	return req
}

const maxMarks = 4

func mustEncode(t *rapid.T, req *llm.Request) []byte {
	r, err := anthropic.Messages{}.EncodeRequest(req)
	if err != nil {
		t.Fatal(err)
	}
	return r.Body
}

// A request has at most four cache marks, and no mark is on a blank block. Marks do not change the
// text.
func TestRequestMarks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		req := anyRequest(t)
		others := min(strings.Count(string(mustEncode(t, &llm.Request{Messages: req.Messages})), `"cache_control"`), maxMarks)
		req.System = nil
		for range rapid.IntRange(0, 7).Draw(t, "parts") {
			req.System = append(req.System, llm.SystemPart{Text: pick(t, "text", "", " ", "a", "b\n"), CacheMark: rapid.Bool().Draw(t, "mark")})
		}
		var body struct{ System json.RawMessage }
		if err := json.Unmarshal(mustEncode(t, req), &body); err != nil {
			t.Fatal(err)
		}
		var text string
		var blocks []struct {
			Text string
			Mark json.RawMessage `json:"cache_control"`
		}
		if len(body.System) > 0 && json.Unmarshal(body.System, &text) != nil {
			if err := json.Unmarshal(body.System, &blocks); err != nil {
				t.Fatal(err)
			}
		}
		marks, texts := others, []string{text}
		for _, b := range blocks {
			texts = append(texts, b.Text)
			if b.Mark != nil {
				marks++
			}
			if strings.TrimSpace(b.Text) == "" {
				t.Fatalf("blank block in %s", body.System)
			}
		}
		var want []string
		for _, p := range req.System {
			if strings.TrimSpace(p.Text) != "" {
				want = append(want, p.Text)
			}
		}
		if marks > maxMarks {
			t.Fatalf("%d marks with %d in the messages: %s", marks, others, body.System)
		}
		if diff := cmp.Diff(strings.Join(want, ""), strings.Join(texts, "")); diff != "" {
			t.Fatalf("texts (-want +got):\n%s", diff)
		}
	})
}

func anyMessages(t *rapid.T) []llm.Message {
	messages := []llm.Message{llm.User(words(t, "first"))}
	var open []llm.ToolCall
	ids := 0
	for range rapid.IntRange(0, 5).Draw(t, "messages") {
		m := llm.Message{Opaque: pick(t, "message opaque", nil, nil, raw(`{"anthropic":{"name":"x"}}`))}
		switch pick(t, "role", llm.RoleUser, llm.RoleAssistant, llm.RoleTool, llm.RoleSystem) {
		case llm.RoleUser:
			m.Role = llm.RoleUser
			m.Parts = rapid.SliceOfN(rapid.Custom(anyUserPart), 1, 3).Draw(t, "parts")
		case llm.RoleSystem:
			m.Role = llm.RoleSystem
			m.Parts = []llm.Part{llm.Text{Text: words(t, "text")}}
		case llm.RoleAssistant:
			m.Role, open = llm.RoleAssistant, nil
			for range rapid.IntRange(1, 4).Draw(t, "parts") {
				p := anyAssistantPart(t, &ids)
				if c, ok := p.(llm.ToolCall); ok && !c.ProviderExecuted {
					open = append(open, c)
				}
				m.Parts = append(m.Parts, p)
			}
		case llm.RoleTool:
			if m.Role = llm.RoleTool; len(open) == 0 {
				continue
			}
			for _, c := range open {
				m.Parts = append(m.Parts, anyResult(t, c))
			}
			open = nil
		}
		messages = append(messages, m)
	}
	return messages
}

func anyUserPart(t *rapid.T) llm.Part {
	opaque := pick(t, "opaque", opaques...)
	data := rapid.SliceOfN(rapid.Byte(), 1, 9).Draw(t, "data")
	return pick[llm.Part](t, "part",
		llm.Text{Text: words(t, "text"), Opaque: opaque},
		llm.Media{MediaType: "image/png", Data: data, Opaque: opaque},
		llm.Media{MediaType: "image/*", URL: "https://example.com/a?b&c", Opaque: opaque},
		llm.Media{MediaType: "application/pdf", Name: "a \"title\"", Data: data, Opaque: opaque},
		llm.Media{MediaType: "application/pdf", URL: "https://example.com/a.pdf", Opaque: opaque},
		llm.Media{MediaType: "text/plain", Name: "notes", Data: []byte(words(t, "document")), Opaque: raw(`{"context":"c","citations":{"enabled":true}}`)},
		llm.Unknown{Kind: "search_result", Raw: raw(`{"type":"search_result","source":"s","content":[]}`)},
		llm.Unknown{Kind: "image", Raw: raw(`{"type":"image","source":{"type":"file","file_id":"file_1"}}`)},
	)
}

func anyAssistantPart(t *rapid.T, ids *int) llm.Part {
	*ids++
	opaque := pick(t, "opaque", opaques...)
	return pick[llm.Part](t, "part",
		llm.Text{Text: words(t, "text"), Opaque: opaque},
		llm.Text{Text: words(t, "cited"), Opaque: raw(`{"citations":[{"url":"u","x":1}]}`)},
		llm.Reasoning{Text: rapid.String().Draw(t, "thought"), Opaque: raw(`{"signature":"EqQB/+="}`)},
		llm.Reasoning{Opaque: raw(`{"type":"redacted_thinking","data":"EmwK"}`)},
		llm.ToolCall{ID: fmt.Sprintf("toolu_%d", *ids), Name: "tool_0-A", Arguments: pick(t, "args", `{}`, `{"a":"é\u00e9\n","n":1e400}`), Opaque: opaque},
		llm.ToolCall{ID: fmt.Sprintf("toolu_%d", *ids), Name: "tool_1-A", Arguments: `{}`, Opaque: raw(`{"caller":{"type":"code_execution_20260120","tool_id":"srvtoolu_1"}}`)},
		llm.ToolCall{ID: fmt.Sprintf("srvtoolu_%d", *ids), Name: "web_search", Arguments: `{"query":"x"}`, ProviderExecuted: true},
		llm.ToolCall{ID: fmt.Sprintf("mcptoolu_%d", *ids), Name: "echo", Arguments: `{}`, ProviderExecuted: true, Opaque: raw(`{"type":"mcp_tool_use","server_name":"s"}`)},
		llm.Unknown{Kind: "web_search_tool_result", Raw: raw(`{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"encrypted_content":"E"}]}`)},
	)
}

func anyResult(t *rapid.T, c llm.ToolCall) llm.ToolResult {
	r := llm.ToolResult{ID: c.ID, Name: c.Name, IsError: rapid.Bool().Draw(t, "is_error"), Opaque: pick(t, "opaque", opaques...)}
	if r.IsError {
		r.Content = []llm.Part{llm.Text{Text: words(t, "error")}}
		return r
	}
	if content := rapid.SliceOfN(rapid.Custom(anyUserPart), 0, 3).Draw(t, "content"); len(content) > 0 {
		r.Content = content
	}
	return r
}

// TestResponseRoundTrip encodes responses in both forms and decodes them again.
func TestResponseRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := anyTurn(t)
		a := protocol.ResponseMeta{ID: want.ResponseID, Model: want.Model, Input: want.Usage.InputTokens}
		body, err := anthropic.Messages{}.EncodeResponse([]byte(" "), a, want)
		if err != nil || !json.Valid(body) {
			t.Fatalf("error %v, %s", err, body)
		}
		got, err := decodeBuffered(string(body))
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Fatalf("error %v, %s\n(-want +got):\n%s", err, body, diff)
		}
		wire, err := encodeStream(a, anyEvents(t, want))
		if err != nil {
			t.Fatal(err)
		}
		got, err = decode(strings.NewReader(wire))
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" || err != nil {
			t.Fatalf("error %v, %s\n(-want +got):\n%s", err, wire, diff)
		}
	})
}

// anyTurn is a response in the form that a decoder returns.
func anyTurn(t *rapid.T) *llm.Response {
	turn := &llm.Response{ResponseID: rapid.String().Draw(t, "id"), Model: "claude", Usage: llm.Usage{InputTokens: 100, OutputTokens: 7}}
	switch rapid.IntRange(0, 2).Draw(t, "usage") {
	case 1:
		turn.Usage = llm.Usage{InputTokens: 100, OutputTokens: 7, CacheReadInputTokens: 60, CacheCreationInputTokens: 30, ReasoningOutputTokens: 3}
	case 2:
		turn.Usage = llm.Usage{InputTokens: 60, OutputTokens: 1, CacheReadInputTokens: 60}
	}
	f := pick(t, "finish", llm.Finish{Reason: llm.FinishStop, Raw: "end_turn"}, llm.Finish{Reason: llm.FinishStop, Raw: "stop_sequence"},
		llm.Finish{Reason: llm.FinishToolCalls, Raw: "tool_use"}, llm.Finish{Reason: llm.FinishLength, Raw: "max_tokens"},
		llm.Finish{Reason: llm.FinishLength, Raw: "model_context_window_exceeded"}, llm.Finish{Reason: llm.FinishPause, Raw: "pause_turn"}, llm.Finish{Reason: llm.FinishPause, Raw: "compaction"},
		llm.Finish{Reason: llm.FinishRefusal, Message: "no"}, llm.Finish{Reason: llm.FinishUnknown, Raw: "novel"})
	turn.FinishReason, turn.RawFinishReason, turn.FinishMessage = f.Reason, f.Raw, f.Message
	turn.Opaque = pick(t, "container", nil, raw(`{"container":{"id":"c"}}`))
	ids := 0
	for range rapid.IntRange(0, 5).Draw(t, "parts") {
		turn.Parts = append(turn.Parts, anyAnswerPart(t, &ids))
	}
	for i, p := range turn.Parts { // blocks of one type in a row stay two
		if i+1 == len(turn.Parts) {
			break
		}
		switch p := p.(type) {
		case llm.Text:
			if _, ok := turn.Parts[i+1].(llm.Text); ok && p.Opaque == nil {
				p.Opaque = raw(`{}`)
				turn.Parts[i] = p
			}
		case llm.Reasoning:
			if next, ok := turn.Parts[i+1].(llm.Reasoning); ok && p.Opaque == nil && !strings.Contains(string(next.Opaque), "redacted") {
				p.Opaque = raw(`{}`)
				turn.Parts[i] = p
			}
		}
	}
	if turn.FinishReason == llm.FinishToolCalls && len(turn.Calls()) == 0 {
		turn.Parts = append(turn.Parts, call("toolu_x", "f", "{}"))
	}
	return turn
}

func anyAnswerPart(t *rapid.T, ids *int) llm.Part {
	*ids++
	id := fmt.Sprintf("toolu_%d", *ids)
	return pick[llm.Part](t, "part",
		llm.Text{Text: words(t, "text")},
		llm.Text{Text: "\n"},
		llm.Text{Text: words(t, "cited"), Opaque: raw(`{"citations":[{"url":"u"},{"url":"v"}]}`)},
		llm.Reasoning{Text: words(t, "thought")},
		llm.Reasoning{Text: words(t, "thought"), Opaque: raw(`{"signature":"EqQB"}`)},
		llm.Reasoning{Opaque: raw(`{"signature":"EqQB"}`)},
		llm.Reasoning{Opaque: raw(`{"type":"redacted_thinking","data":"EmwK"}`)},
		call(id, "f", pick(t, "args", `{}`, `{"a": "é\ud83d", "n":1}`, `[1, 2]`, `7`, `null x`, `"s"`, `{"city":`, `{"a":1} z`)),
		llm.ToolCall{ID: id, Name: "g", Arguments: `{}`, Opaque: raw(`{"caller":{"type":"code_execution_20260120"}}`)},
		llm.ToolCall{ID: "srv" + id, Name: "web_search", Arguments: `{"q": "x"}`, ProviderExecuted: true},
		llm.ToolCall{ID: "mcp" + id, Name: "echo", Arguments: `{}`, ProviderExecuted: true, Opaque: raw(`{"type":"mcp_tool_use","server_name":"s"}`)},
		llm.Unknown{Kind: "novel", Raw: raw(`{"type":"novel","x":[]}`)},
	)
}

// anyEvents returns events that make the response, in any deltas.
func anyEvents(t *rapid.T, turn *llm.Response) (events []llm.Event) {
	if rapid.Bool().Draw(t, "early usage") {
		events = append(events, llm.Usage{InputTokens: turn.Usage.InputTokens})
	}
	for i, p := range turn.Parts {
		if rapid.Bool().Draw(t, "whole") {
			events = append(events, llm.PartDone{Part: p})
			continue
		}
		switch p := p.(type) {
		case llm.Text:
			for _, piece := range splitText(t, p.Text) {
				events = append(events, llm.TextDelta{Text: piece})
			}
			if p.Opaque != nil {
				events = append(events, llm.TextDelta{Opaque: p.Opaque})
			}
		case llm.Reasoning:
			for _, piece := range splitText(t, p.Text) {
				events = append(events, llm.ReasoningDelta{Text: piece})
			}
			if p.Opaque != nil {
				events = append(events, llm.ReasoningDelta{Opaque: p.Opaque})
			}
		case llm.ToolCall:
			if p.ProviderExecuted {
				events = append(events, llm.PartDone{Part: p})
				continue
			}
			events = append(events, llm.ToolCallStart{Index: i + 1, ID: p.ID, Name: p.Name, Opaque: p.Opaque})
			for _, piece := range splitText(t, p.Arguments) {
				events = append(events, llm.ToolCallDelta{Index: i + 1, Arguments: piece})
			}
			events = append(events, llm.ToolCallEnd{Index: i + 1, Arguments: pick(t, "told", "", p.Arguments)})
		default:
			events = append(events, llm.PartDone{Part: p})
		}
	}
	finish := llm.Finish{Reason: turn.FinishReason, Raw: turn.RawFinishReason, Message: turn.FinishMessage, Opaque: turn.Opaque}
	return append(events, finish, turn.Usage)
}

// splitText splits a string anywhere except within a character.
func splitText(t *rapid.T, text string) (all []string) {
	for text != "" {
		n := rapid.IntRange(1, len([]rune(text))).Draw(t, "piece")
		piece := string([]rune(text)[:n])
		all, text = append(all, piece), text[len(piece):]
	}
	return all
}
