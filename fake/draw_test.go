package fake_test

import (
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"pgregory.net/rapid"
)

// The generators draw anything that a script can contain.

func drawText(r *rapid.T, label string) string {
	return rapid.OneOf(rapid.Just(""), rapid.String(), rapid.SampledFrom([]string{
		"~", "yes", "123", "a: b", "- x", "line\nline\n", " space ", "\t", "{n}", "naïve €", "\x00\r", "# no", "'\"", "|", "2001-01-01", "\u2028\ufeff",
	})).Draw(r, label)
}

func drawBytes(r *rapid.T, label string) string {
	return rapid.OneOf(rapid.Just(""), rapid.SampledFrom([]string{`{"a":1}`, "\xff\xfe", "{"}), rapid.String()).Draw(r, label)
}

func drawJSON(r *rapid.T, label string) json.RawMessage {
	v := rapid.SampledFrom([]string{
		"", "null", "1", "1.50", "1e9", "-0", "12345678901234567890123", `"x"`, `"é😀\n"`, "true", "[]", "{}", `[1,[2,{"b":1,"a":[]}],"no"]`,
		`{"z":1,"a":{"":null},"1":"~"}`, `"2001-01-01"`, `"<<"`,
	}).Draw(r, label)
	if v == "" {
		return nil
	}
	return json.RawMessage(v)
}

func drawDuration(r *rapid.T, label string) time.Duration {
	return time.Duration(rapid.SampledFrom([]int64{0, 1, 1e6, 30e6, 90e9, 1 << 50}).Draw(r, label))
}

func maybe[T any](r *rapid.T, label string, draw func() T) *T {
	if !rapid.Bool().Draw(r, label) {
		return nil
	}
	v := draw()
	return &v
}

func list[T any](r *rapid.T, label string, draw func() T) []T {
	n := rapid.IntRange(-1, 2).Draw(r, label)
	if n < 0 {
		return nil
	}
	out := make([]T, n)
	for i := range out {
		out[i] = draw()
	}
	return out
}

func flag(r *rapid.T, label string) bool {
	return rapid.SampledFrom([]bool{false, false, true}).Draw(r, label)
}

func drawChunks(r *rapid.T, label string) []string {
	return list(r, label, func() string { return drawText(r, label) })
}

func drawCall(r *rapid.T) fake.Call {
	c := fake.Call{
		ID: drawText(r, "id"), Name: drawText(r, "name"), Index: rapid.IntRange(0, 2).Draw(r, "index"), OmitIndex: flag(r, "omit_index"),
		SingleChunk: flag(r, "single_chunk"), OmitEnd: flag(r, "omit_end"), ProviderExecuted: flag(r, "provider_executed"), Opaque: drawJSON(r, "opaque"),
	}
	if c.Arguments = drawBytes(r, "arguments"); c.Arguments == "" {
		c.Chunks = drawChunks(r, "chunks")
	}
	return c
}

func drawEvent(r *rapid.T) llm.Event {
	return rapid.SampledFrom([]llm.Event{
		llm.TextDelta{Text: "a"}, llm.TextDelta{Text: "a\xff", Refusal: true, Opaque: raw(`{"a":1}`)}, llm.ReasoningDelta{Text: "r"}, llm.ReasoningDelta{Opaque: raw("1")},
		llm.ToolCallStart{Index: 1, ID: "a", Name: "f"}, llm.ToolCallStart{}, llm.ToolCallDelta{Index: 1, Arguments: "{}"}, llm.ToolCallEnd{ID: "a"},
		llm.PartDone{Part: llm.Media{MediaType: "image/png", Data: []byte{1}}}, llm.Usage{InputTokens: 1}, llm.Usage{CacheReadInputTokens: 2}, llm.Warning{Code: "c", Message: "m"},
		llm.Finish{Reason: llm.FinishStop, Raw: "x"}, llm.Finish{}, llm.Unknown{Kind: "new", Raw: raw(`{"type":"new","x":[1,{"b":2}]}`)},
	}).Draw(r, "event")
}

func drawTurn(r *rapid.T) fake.Response {
	t := fake.Response{
		Delay: drawDuration(r, "delay"), Gate: drawText(r, "gate"), EventInterval: drawDuration(r, "pace"),
		ChunkSize: rapid.IntRange(0, 3).Draw(r, "chunk"), OmitFinish: flag(r, "omit_finish"), Stall: flag(r, "stall"),
		Usage:           llm.Usage{InputTokens: rapid.Int64Range(0, 9).Draw(r, "input"), ReasoningOutputTokens: rapid.Int64Range(0, 9).Draw(r, "reasoning")},
		FinishReason:    rapid.SampledFrom([]llm.FinishReason{"", llm.FinishStop, llm.FinishLength}).Draw(r, "finish"),
		RawFinishReason: drawText(r, "raw_finish"), FinishMessage: drawText(r, "finish_message"), ResponseID: drawText(r, "response_id"), Model: drawText(r, "model"),
		Opaque:   drawJSON(r, "opaque"),
		Warnings: list(r, "warnings", func() llm.Warning { return llm.Warning{Code: drawText(r, "code"), Message: drawText(r, "message")} }),
		Expect:   maybe(r, "expect", func() fake.Expect { return drawExpect(r) }),
		Error: maybe(r, "error", func() fake.Failure {
			return fake.Failure{
				Status: rapid.IntRange(0, 599).Draw(r, "status"), Code: drawText(r, "code"), Message: drawText(r, "message"), RequestID: drawText(r, "request_id"),
				RetryAfter: drawDuration(r, "retry_after"), Retryable: maybe(r, "retryable", func() bool { return flag(r, "retryable") }),
				Connection: rapid.SampledFrom([]string{"", fake.ConnectionReset, fake.ConnectionClosed}).Draw(r, "connection"), After: rapid.IntRange(0, 3).Draw(r, "after"),
			}
		}),
	}
	if flag(r, "events") {
		t.Events = list(r, "events", func() llm.Event { return drawEvent(r) })
	}
	if t.Events == nil {
		t.Reasoning, t.ReasoningOpaque = drawBytes(r, "reasoning"), drawJSON(r, "reasoning_opaque")
		t.TextOpaque, t.Refusal = drawJSON(r, "text_opaque"), flag(r, "refusal")
		if t.Text = drawBytes(r, "text"); t.Text == "" {
			t.Chunks = drawChunks(r, "chunks")
		}
		t.Calls = list(r, "calls", func() fake.Call { return drawCall(r) })
	}
	return t
}

func drawExpect(r *rapid.T) fake.Expect {
	return fake.Expect{
		Messages: rapid.IntRange(0, 2).Draw(r, "messages"), Role: rapid.SampledFrom([]llm.Role{"", llm.RoleUser, llm.RoleTool}).Draw(r, "role"),
		Text: drawChunks(r, "text"), System: drawChunks(r, "system"), Tools: drawChunks(r, "tools"),
		ToolChoice: rapid.SampledFrom([]string{"", "auto", "none", "tool:x"}).Draw(r, "tool_choice"), Request: drawJSON(r, "request"),
		Results: list(r, "results", func() fake.ExpectResult {
			return fake.ExpectResult{ID: drawText(r, "id"), Text: drawText(r, "text"), IsError: maybe(r, "is_error", func() bool { return flag(r, "is_error") })}
		}),
	}
}

func drawBehavior(r *rapid.T) fake.Behavior {
	b := fake.Behavior{Delay: drawDuration(r, "delay"), Gate: drawText(r, "gate"), IgnoresCancel: flag(r, "ignores_cancel")}
	switch rapid.IntRange(0, 6).Draw(r, "end") {
	case 0:
		b.Returns = drawJSON(r, "returns")
	case 1:
		b.Text = drawBytes(r, "text")
	case 2:
		b.Error = drawBytes(r, "error")
	case 3:
		b.Panic = drawText(r, "panic")
	case 4:
		b.Exit = true
	case 5:
		b.Stall = true
	}
	return b
}

func drawTool(r *rapid.T, name string) fake.Tool {
	t := fake.Tool{Name: name, Description: drawText(r, "description")}
	if flag(r, "parameters") {
		t.Parameters = raw(`{"type":"object","a":[1.50,{"b":null}]}`)
	}
	if t.Client = flag(r, "client"); t.Client {
		return t
	}
	t.Behavior = drawBehavior(r)
	if rapid.Bool().Draw(r, "by_args") {
		t.ByArguments = list(r, "by_arguments", func() fake.Behavior {
			b := drawBehavior(r)
			b.Arguments = drawBytes(r, "arguments")
			return b
		})
		return t
	}
	t.Calls = list(r, "calls", func() fake.Behavior { return drawBehavior(r) })
	return t
}

// drawGates draws an order of gates that tasks wait for.
func drawGates(r *rapid.T, s *fake.Script) []string {
	var used []string
	for _, t := range s.Tools {
		for _, b := range append([]fake.Behavior{t.Behavior}, t.Calls...) {
			used = append(used, b.Gate)
		}
	}
	for _, l := range s.Models {
		for _, t := range l.Responses {
			used = append(used, t.Gate)
		}
	}
	used = slices.DeleteFunc(used, func(g string) bool { return g == "" })
	if len(used) == 0 {
		return nil
	}
	return list(r, "gates", func() string { return rapid.SampledFrom(used).Draw(r, "gate") })
}

func drawNames(r *rapid.T, label string) []string {
	return rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b c", "", "~", "<<", "5", "ü", "x.", "no"}), 0, 3, rapid.ID[string]).Draw(r, label)
}

func drawValue(r *rapid.T, depth int) fake.Value {
	kind := rapid.SampledFrom([]fake.ValueKind{fake.Null, fake.Text, fake.Number, fake.Bool, fake.List, fake.Map}).Draw(r, "kind")
	switch {
	case kind == fake.Null:
		return fake.Value{}
	case kind == fake.Number:
		return fake.Value{Kind: kind, Text: rapid.SampledFrom([]string{"0", "-1", "1.50", "1e9"}).Draw(r, "number")}
	case kind == fake.Bool:
		return fake.Value{Kind: fake.Bool, Text: strconv.FormatBool(rapid.Bool().Draw(r, "bool"))}
	case kind == fake.List && depth > 0:
		v := fake.Value{Kind: kind}
		for range rapid.IntRange(0, 2).Draw(r, "items") {
			v.Items = append(v.Items, drawValue(r, depth-1))
		}
		return v
	case kind == fake.Map && depth > 0:
		return fake.Value{Kind: kind, Fields: drawOptions(r, depth-1)}
	}
	return fake.Value{Kind: fake.Text, Text: drawText(r, "value")}
}

func drawOptions(r *rapid.T, depth int) []fake.Option {
	out := []fake.Option{}
	for _, name := range drawNames(r, "options") {
		out = append(out, fake.Option{Name: name, Value: drawValue(r, depth)})
	}
	return out
}

func drawMessages(r *rapid.T, label string) []llm.Message {
	return list(r, label, func() llm.Message {
		return rapid.SampledFrom([]llm.Message{
			llm.User("hi"), llm.User("\xff"), llm.User(""), {Role: llm.RoleUser}, {Role: llm.RoleUser, Opaque: raw("1"), Parts: []llm.Part{llm.Text{Text: "x"}}},
			{Role: llm.RoleUser, Parts: []llm.Part{llm.Text{Text: "x", Refusal: true}}}, {Role: llm.RoleUser, Parts: []llm.Part{llm.Text{Text: "x", Opaque: raw("1")}}},
			llm.Assistant(llm.Reasoning{Text: "r"}, llm.ToolCall{ID: "a", Arguments: "{"}), llm.ToolResults(llm.ToolResult{ID: "a", IsError: true}), llm.User("5"),
			{Role: llm.RoleUser, Parts: []llm.Part{llm.Text{Text: "x"}, llm.Text{Text: "y"}}}, {Role: llm.RoleSystem, Parts: []llm.Part{llm.Text{Text: "x"}}},
		}).Draw(r, label)
	})
}

func drawScript(r *rapid.T) *fake.Script {
	s := &fake.Script{
		Name: drawText(r, "name"), Doc: drawText(r, "doc"), System: drawText(r, "system"),
		History: drawMessages(r, "history"), Input: drawMessages(r, "input"),
		StopAfter: rapid.IntRange(0, 3).Draw(r, "stop_after"),
	}
	if rapid.Bool().Draw(r, "loop") {
		s.Loop = drawOptions(r, 2)
	}
	for _, name := range drawNames(r, "tools") {
		s.Tools = append(s.Tools, drawTool(r, name))
	}
	for _, name := range drawNames(r, "models") {
		turns := list(r, "turns", func() fake.Response {
			t := drawTurn(r)
			if flag(r, "attempts") {
				t = fake.Response{Expect: t.Expect, Attempts: list(r, "attempts", func() fake.Response { return drawTurn(r) })}
			}
			t.Repeat = rapid.IntRange(0, 2).Draw(r, "repeat")
			return t
		})
		s.Models = append(s.Models, fake.ModelScript{Name: name, Responses: append([]fake.Response{}, turns...)})
	}
	s.Gates = drawGates(r, s)
	cancels := []*fake.Cancel{nil, {Before: true}, {At: 5}, {AfterEvents: 2}}
	if len(s.Tools) > 0 && s.Tools[0].Name != "" {
		cancels = append(cancels, &fake.Cancel{InTool: s.Tools[0].Name})
	}
	s.Cancel = rapid.SampledFrom(cancels).Draw(r, "cancel")
	return s
}
