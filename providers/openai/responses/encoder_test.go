package responses_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/sebdah/goldie/v2"
	"pgregory.net/rapid"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/openai/responses"
	"github.com/looptape/looptape/providers/protocol"
)

var answer = protocol.ResponseMeta{ID: "resp_1", Model: "gpt-5", Created: 1700000000}

// encodeAnswer returns the non-streaming form of a response.
func encodeAnswer(t rapidOrTest, turn *llm.Response) string {
	body, err := responses.Protocol{}.EncodeResponse([]byte("x"), answer, turn)
	if err != nil {
		t.Fatal(err)
	}
	if body[0] != 'x' || !jsonio.Valid(body[1:]) {
		t.Fatalf("the response is not appended JSON: %s", body)
	}
	return string(body[1:])
}

type rapidOrTest interface {
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// events returns the events of a response whose texts have deltas of n bytes.
func turnEvents(turn *llm.Response, n int) (events []llm.Event) {
	cut := func(s string, f func(s string, last bool)) {
		for len(s) > n {
			at := n
			for at < len(s) && !utf8.RuneStart(s[at]) {
				at++
			}
			if at == len(s) {
				break
			}
			f(s[:at], false)
			s = s[at:]
		}
		f(s, true)
	}
	for i, p := range turn.Parts {
		switch p := p.(type) {
		case llm.Text:
			cut(p.Text, func(s string, last bool) {
				ev := llm.TextDelta{Text: s, Refusal: p.Refusal}
				if last {
					ev.Opaque = p.Opaque
				}
				events = append(events, ev)
			})
		case llm.Reasoning:
			cut(p.Text, func(s string, last bool) {
				ev := llm.ReasoningDelta{Text: s}
				if last {
					ev.Opaque = p.Opaque
				}
				events = append(events, ev)
			})
		case llm.ToolCall:
			if p.ProviderExecuted {
				events = append(events, llm.PartDone{Part: p})
				continue
			}
			events = append(events, llm.ToolCallStart{Index: i + 1, ID: p.ID, Name: p.Name, Opaque: p.Opaque})
			cut(p.Arguments, func(s string, _ bool) { events = append(events, llm.ToolCallDelta{Index: i + 1, Arguments: s}) })
			events = append(events, llm.ToolCallEnd{Index: i + 1})
		default:
			events = append(events, llm.PartDone{Part: p})
		}
	}
	return append(events, turn.Usage, llm.Finish{Reason: turn.FinishReason, Raw: turn.RawFinishReason, Opaque: turn.Opaque})
}

// holdEncoded checks that a response is the same after encoding and decoding, in both response modes.
func holdEncoded(t *testing.T, turn *llm.Response) {
	t.Helper()
	want := *turn
	want.ResponseID, want.Model = answer.ID, answer.Model
	got, err := readAnswer(encodeAnswer(t, turn))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&want, got); diff != "" {
		t.Errorf("non-streaming (-want +got):\n%s", diff)
	}
	for _, n := range []int{1, 1000} {
		got, err := readStream(strings.NewReader(writeStream(t, answer, turnEvents(turn, n)...)))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(&want, got); diff != "" {
			t.Errorf("in chunks of %d (-want +got):\n%s", n, diff)
		}
	}
}

// drawTurn draws a response that this protocol can represent.
func drawTurn(t *rapid.T) *llm.Response {
	turn := &llm.Response{ResponseID: answer.ID, Model: answer.Model, FinishReason: llm.FinishStop, RawFinishReason: "completed"}
	turn.Opaque = rapid.SampledFrom([]json.RawMessage{nil, raw(responsesKept)}).Draw(t, "opaque")
	text := rapid.SampledFrom([]string{"", "a", "Hello, wörld.\n", `"\` + "\u2028", strings.Repeat("x", 40)})
	quote := func(s string) string { return string(jsonio.AppendString(nil, s)) }
	for i := range rapid.IntRange(0, 5).Draw(t, "parts") {
		switch rapid.IntRange(0, 5).Draw(t, "kind") {
		case 0:
			turn.Parts = append(turn.Parts, llm.Text{Text: text.Draw(t, "text"), Refusal: rapid.Bool().Draw(t, "refusal"), Opaque: raw(fmt.Sprintf(`{"id":"msg_%d"}`, i))})
		case 1:
			turn.Parts = append(turn.Parts, llm.Text{Text: text.Draw(t, "text"), Opaque: raw(fmt.Sprintf(`{"id":"msg_%d","phase":"commentary","annotations":[{"type":"x"}]}`, i))})
		case 2:
			thought, summary := text.Draw(t, "thought"), "[]"
			if thought != "" {
				summary = `[{"type":"summary_text","text":` + quote(thought) + `}]`
			}
			turn.Parts = append(turn.Parts, llm.Reasoning{Text: thought, Opaque: raw(fmt.Sprintf(`{"id":"rs_%d","encrypted_content":"gAAAA","summary":%s}`, i, summary))})
		case 3:
			turn.FinishReason = llm.FinishToolCalls
			args := rapid.SampledFrom([]string{"", "{}", `{"a":[1,"é\n"]}`, "oops", `{"a`}).Draw(t, "args")
			turn.Parts = append(turn.Parts, llm.ToolCall{ID: rapid.SampledFrom([]string{"", "call_1", "call_2"}).Draw(t, "id"), Name: rapid.SampledFrom([]string{"", "f"}).Draw(t, "name"), Arguments: args, Opaque: raw(fmt.Sprintf(`{"id":"fc_%d"}`, i))})
		case 4:
			turn.Parts = append(turn.Parts, llm.ToolCall{ID: "ws_1", Name: "web_search", Arguments: `{"type":"search"}`, ProviderExecuted: true, Opaque: raw(`{"id":"ws_1","type":"web_search_call","action":{"type":"search"}}`)})
		case 5:
			turn.Parts = append(turn.Parts, llm.Unknown{Kind: "mcp_approval_request", Raw: raw(`{"id":"mcpr_1","type":"mcp_approval_request"}`)})
		}
	}
	switch rapid.IntRange(0, 4).Draw(t, "finish") {
	case 0:
		turn.FinishReason, turn.RawFinishReason = llm.FinishLength, "max_output_tokens"
	case 1:
		turn.FinishReason, turn.RawFinishReason = llm.FinishContentFilter, ""
	case 2:
		turn.FinishReason, turn.RawFinishReason = llm.FinishUnknown, "because"
	}
	turn.Usage = llm.Usage{InputTokens: rapid.Int64Range(0, 99).Draw(t, "input"), OutputTokens: rapid.Int64Range(30, 99).Draw(t, "output"), CacheReadInputTokens: rapid.Int64Range(0, 20).Draw(t, "cached"), ReasoningOutputTokens: rapid.Int64Range(0, 20).Draw(t, "reasoning"), CacheCreationInputTokens: rapid.Int64Range(0, 9).Draw(t, "written")}
	return turn
}

func TestResponsesBothWays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := drawTurn(t)
		got, err := readAnswer(encodeAnswer(t, want))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("non-streaming (-want +got):\n%s", diff)
		}
		var b strings.Builder
		enc := responses.Protocol{}.NewEncoder(answer)
		write := func(name string, data []byte) {
			if !jsonio.Valid(data) {
				t.Fatalf("not JSON: %s", data)
			}
			fmt.Fprintf(&b, "event: %s\ndata: %s\n\n", name, data)
		}
		for _, ev := range turnEvents(want, rapid.IntRange(1, 20).Draw(t, "chunk")) {
			if err := enc.Event(ev, write); err != nil {
				t.Fatal(err)
			}
		}
		if err := enc.End(write); err != nil {
			t.Fatal(err)
		}
		got, err = readStream(strings.NewReader(b.String()))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("streaming (-want +got):\n%s\n%s", diff, b.String())
		}
	})
}

// What the provider itself would write, with item ids derived from the response id.
func TestResponsesGoldens(t *testing.T) {
	events := []llm.Event{
		llm.ReasoningDelta{Text: "Hm"}, llm.ReasoningDelta{Text: "m."},
		llm.TextDelta{Text: "Hel"}, llm.TextDelta{Text: "lo"}, llm.TextDelta{Text: "No", Refusal: true},
		llm.ToolCallStart{Index: 1, ID: "call_1", Name: "f"}, llm.ToolCallDelta{Index: 1, Arguments: `{"a"`},
		llm.ToolCallStart{Index: 2, ID: "call_2", Name: "g"}, llm.ToolCallDelta{Index: 2, Arguments: "{}"}, llm.ToolCallDelta{Index: 1, Arguments: `:1}`},
		llm.ToolCallEnd{Index: 2}, llm.ToolCallEnd{Index: 1},
		llm.PartDone{Part: llm.ToolCall{ID: "ws_1", Name: "web_search", Arguments: `{"query":"x"}`, ProviderExecuted: true}},
		llm.PartDone{Part: llm.ToolCall{ID: "call_3", Name: "h", Arguments: "SELECT 1", Opaque: raw(`{"type":"custom_tool_call","id":"ctc_1"}`)}},
		llm.Usage{InputTokens: 12, OutputTokens: 8, CacheReadInputTokens: 4, ReasoningOutputTokens: 3}, llm.Warning{Code: "x"}, llm.Unknown{Kind: "x"},
		llm.Finish{Reason: llm.FinishToolCalls}, llm.Finish{},
	}
	g := goldie.New(t, goldie.WithFixtureDir("testdata"), goldie.WithNameSuffix(".txt"))
	g.Assert(t, "stream", []byte(writeStream(t, answer, events...)))
	var acc llm.Accumulator
	for _, ev := range events {
		acc.Add(ev)
	}
	g.Assert(t, "answer", []byte(encodeAnswer(t, acc.Response())+"\n"))
	g.Assert(t, "incomplete", []byte(writeStream(t, answer, llm.ToolCallStart{Index: 1, ID: "call_1", Name: "f"}, llm.ToolCallDelta{Index: 1, Arguments: `{"a`}, llm.Finish{Reason: llm.FinishLength})))
	g.Assert(t, "failed", []byte(writeStream(t, answer, llm.TextDelta{Text: "Hel"}, llm.Finish{Reason: llm.FinishError, Message: "Sorry."})))
}

// However the events of calls identify their call, the stream gives the response that
// they contain.
func TestResponsesEncoderFindsCalls(t *testing.T) {
	for name, events := range map[string][]llm.Event{
		"by index":                  {start(1, "a", "f"), start(2, "b", "g"), piece(1, "", "{"), piece(2, "", "1"), piece(1, "", "}"), end(2, ""), end(1, "")},
		"by id":                     {start(0, "a", "f"), start(0, "b", "g"), piece(0, "a", "{}"), piece(0, "b", "1"), end(0, "b"), end(0, "a")},
		"by index rather than id":   {start(1, "a", "f"), start(2, "b", "g"), piece(1, "b", "1"), end(1, "b"), end(2, "a")},
		"by neither":                {start(0, "a", "f"), start(0, "b", "g"), piece(0, "", "2"), end(0, ""), piece(0, "", "3"), end(0, "")},
		"none":                      {piece(1, "a", "{}"), end(1, "a"), start(1, "a", "f"), end(1, "a"), piece(1, "a", "x")},
		"the last of an id":         {start(0, "a", "f"), start(0, "a", "g"), piece(0, "a", "1"), end(0, "a"), piece(0, "a", "2"), end(0, "a")},
		"a late name":               {start(1, "a", ""), piece(1, "", "{}"), start(1, "", "f"), end(1, "")},
		"a late name for no index":  {start(0, "a", ""), start(0, "b", "f"), end(0, ""), end(0, "")},
		"a name for a closed call":  {start(1, "a", ""), end(1, ""), start(1, "b", "f"), end(1, "")},
		"no name again":             {start(1, "a", ""), start(1, "b", ""), end(1, ""), end(1, "")},
		"a second name":             {start(1, "a", "f"), start(1, "b", "g"), piece(1, "", "1"), end(1, ""), end(1, "")},
		"a late name with its data": {llm.ToolCallStart{Index: 1, ID: "a"}, llm.ToolCallStart{Index: 1, Name: "f", Opaque: raw(`{"id":"fc_9"}`)}, end(1, "")},
		"no end":                    {start(1, "a", "f"), piece(1, "", "{}"), start(2, "b", "g"), end(2, "")},
		"arguments at the end":      {start(1, "a", "f"), piece(1, "", "{"), llm.ToolCallEnd{Index: 1, Arguments: `{"a":1}`}},
		"data at the end":           {start(1, "a", "f"), llm.ToolCallEnd{Index: 1, Opaque: raw(`{"id":"fc_9"}`)}},
		"text between":              {start(1, "a", "f"), llm.TextDelta{Text: "x"}, piece(1, "", "{}"), llm.TextDelta{Text: "y"}, end(1, ""), llm.TextDelta{}, llm.ReasoningDelta{}, llm.TextDelta{Text: "z", Refusal: true}},
	} {
		t.Run(name, func(t *testing.T) {
			events := append(events, llm.Finish{Reason: llm.FinishToolCalls})
			var acc llm.Accumulator
			for _, ev := range events {
				acc.Add(ev)
			}
			got, err := readStream(strings.NewReader(writeStream(t, answer, events...)))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(bare(acc.Response()), bare(got)); diff != "" {
				t.Errorf("(-events +stream):\n%s", diff)
			}
		})
	}
}

func start(i int, id, name string) llm.Event { return llm.ToolCallStart{Index: i, ID: id, Name: name} }
func piece(i int, id, args string) llm.Event {
	return llm.ToolCallDelta{Index: i, ID: id, Arguments: args}
}
func end(i int, id string) llm.Event { return llm.ToolCallEnd{Index: i, ID: id} }

// bare returns the parts of a response without opaque data, as strings.
func bare(turn *llm.Response) (out []string) {
	for _, p := range turn.Parts {
		switch q := p.(type) {
		case llm.Text:
			q.Opaque = nil
			p = q
		case llm.Reasoning:
			q.Opaque = nil
			p = q
		case llm.ToolCall:
			q.Opaque = nil
			p = q
		}
		out = append(out, fmt.Sprintf("%+v", p))
	}
	return append(out, codesOf(turn.Warnings, llm.WarnNoCallEnd))
}

func codesOf(warnings []llm.Warning, code string) (out string) {
	for _, w := range warnings {
		if w.Code == code {
			out += " " + code
		}
	}
	return out
}

func TestResponsesEncoderRefuses(t *testing.T) {
	for want, p := range map[string]llm.Part{
		"a response contains no media":       llm.Media{URL: "u"},
		"a response contains no tool result": llm.ToolResult{ID: "x"},
		"is not a JSON object":               llm.Unknown{Kind: "x", Raw: raw(`[]`)},
	} {
		err := responses.Protocol{}.NewEncoder(answer).Event(llm.PartDone{Part: p}, func(string, []byte) {})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
		_, err = responses.Protocol{}.EncodeResponse(nil, answer, &llm.Response{Parts: []llm.Part{llm.Text{}, p}})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "parts[1]: ") {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// A stream that has no Finish ends without a last event.
func TestResponsesEncoderWithoutFinish(t *testing.T) {
	got := writeStream(t, answer, llm.TextDelta{Text: "Hel"})
	if !strings.HasSuffix(got, "\n\ndata: [DONE]\n\n") {
		t.Errorf("got %s", got)
	}
	turn, err := readStream(strings.NewReader(got))
	if err != nil || turn.Text() != "Hel" || codes(turn.Warnings) != llm.WarnNoFinish {
		t.Errorf("got %+v, %v", turn, err)
	}
}

// Calls that the provider ran come back unchanged, also without their item.
func TestResponsesHostedCalls(t *testing.T) {
	for _, c := range []struct {
		call llm.ToolCall
		want string
	}{
		{llm.ToolCall{ID: "ws_1", Name: "web_search", Arguments: `{"q":1}`}, `{"type":"web_search_call","id":"ws_1","status":"completed","action":{"q":1}}`},
		{llm.ToolCall{ID: "ws_1", Name: "file_search", Arguments: ``}, `{"type":"file_search_call","id":"ws_1","status":"completed"}`},
		{llm.ToolCall{ID: "m1", Name: "f", Arguments: `{"q":1}`}, `{"type":"mcp_call","id":"m1","name":"f","arguments":"{\"q\":1}","server_label":"server","status":"completed"}`},
		{llm.ToolCall{ID: "m1", Name: "mcp", Arguments: ``}, `{"type":"mcp_call","id":"m1","name":"mcp","arguments":"","server_label":"server","status":"completed"}`},
	} {
		c.call.ProviderExecuted = true
		turn, err := readAnswer(encodeAnswer(t, &llm.Response{FinishReason: llm.FinishStop, Parts: []llm.Part{c.call}}))
		if err != nil {
			t.Fatal(err)
		}
		want := c.call
		want.Opaque = json.RawMessage(c.want)
		if diff := cmp.Diff([]llm.Part{want}, turn.Parts); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if turn.FinishReason != llm.FinishStop {
			t.Errorf("got finish %s", turn.FinishReason)
		}
	}
}
