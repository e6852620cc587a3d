package trace_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sebdah/goldie/v2"
	"pgregory.net/rapid"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
)

// The text form loses nothing of a canonical trace, and of another trace
// nothing but Seq.
func TestTextBothWays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := events().Draw(t, "events")
		if rapid.Bool().Draw(t, "canonical") {
			want = trace.Canonical(want)
		} else {
			seqs := map[string]int{}
			for i := range want {
				want[i].Seq = seqs[want[i].Run]
				seqs[want[i].Run]++
			}
		}
		text := trace.FormatText(want)
		if n := strings.Count(text, "\n"); n != len(want) {
			t.Fatalf("%d lines for %d events:\n%s", n, len(want), text)
		}
		got, err := trace.ParseText(text)
		if err != nil {
			t.Fatalf("%v in:\n%s", err, text)
		}
		if diff := cmp.Diff(want, got, equal); diff != "" {
			t.Fatalf("read back (-want +got):\n%s\ntext:\n%s", diff, text)
		}
		if again := trace.FormatText(got); again != text {
			t.Fatalf("written again:\n%s\nfirst:\n%s", again, text)
		}
	})
}

// every is a trace with an event of every kind and most of what they can hold,
// for a person to read in the golden file.
func every() []trace.Event {
	opaque := json.RawMessage(`{"signature":"c2ln"}`)
	var evs []trace.Event
	at := func(step, attempt int, purpose trace.Purpose, bodies ...trace.Body) {
		for _, b := range bodies {
			evs = append(evs, trace.Event{Run: "r1", Step: step, Attempt: attempt, Purpose: purpose, Body: b})
		}
	}
	weather := llm.ToolCall{ID: "c1", Name: "weather", Arguments: `{"city":"Paris"}`}
	broken := llm.ToolCall{ID: "c2", Name: "weather", Arguments: `{"city":`, IDGenerated: true, ProviderID: "c1", Opaque: opaque}
	asked := llm.Assistant(llm.Reasoning{Text: "Two tools.", Opaque: opaque}, llm.Text{Text: "Let me see."}, weather, broken,
		llm.ToolCall{ID: "s1", Name: "search", Arguments: "{}", ProviderExecuted: true}, llm.Unknown{Kind: "hologram", Raw: json.RawMessage(`{"type":"hologram","depth":3}`)})
	found := llm.ToolResult{ID: "c1", Name: "weather", Content: []llm.Part{llm.Text{Text: `{"city":"Paris","tempC":22}`}}}
	failed := llm.ToolResult{ID: "c2", Name: "weather", Content: []llm.Part{llm.Text{Text: "the arguments are not JSON"}}, IsError: true}
	picture := llm.ToolResult{ID: "text", Name: "draw", Content: []llm.Part{llm.Text{Text: "a map"}, llm.Media{MediaType: "image/png", Name: "map.png", Data: []byte("png"), Size: 3}}, Opaque: opaque}
	at(trace.NoStep, 0, "", trace.RunStart{
		Clock: trace.ClockVirtual, Options: trace.Options{{Name: "preset", Value: "deuz"}, {Name: "max_steps", Value: "5"}, {Name: "clock", Value: "a b"}},
		Tools: []trace.ToolInfo{{Name: "weather"}, {Name: "ask me", Client: true}}, Suppress: map[string]string{"INV-04": "the provider repeats ids"},
	})
	at(0, 0, "", trace.StepStart{})
	at(0, 1, "", trace.ModelConfig{
		Model: "m-large", System: "Be brief.\nBe kind.", ToolChoice: llm.ToolChoice{Mode: llm.ChooseTool, Name: "weather"}, Settings: llm.Settings{MaxTokens: 100, Temperature: new(0.0)},
		Extra: map[string]json.RawMessage{"user": json.RawMessage(`"u1"`)},
		Tools: []llm.Tool{{Name: "weather", Description: "tells the weather", Parameters: json.RawMessage(`{"type":"object"}`), Strict: new(true)}, {Name: "now"}, {Name: "any", Parameters: json.RawMessage(`true`)}},
	}, trace.ModelRequest{NewMessages: []llm.Message{llm.User("What is the weather in Paris? \"Now\"")}},
		trace.ModelDelta{Type: trace.DeltaText, Text: "Let"}, trace.ModelDelta{Type: trace.DeltaCall, ToolCallID: "c1", Name: "weather"}, trace.ModelDelta{Type: trace.DeltaArguments, ToolCallID: "c1", Text: `{"ci`},
		trace.ModelError{Error: trace.Error{Type: "api", Message: "slow down", Status: 429, Code: "rate_limit_exceeded", RetryAfter: 1500 * time.Millisecond, Retryable: true}, Partial: true, PartialContent: []llm.Part{llm.Text{Text: "Let"}}, Usage: llm.Usage{InputTokens: 10}},
		trace.ModelRetry{Wait: 1500 * time.Millisecond, Reason: "rate_limit"})
	at(0, 2, "", trace.ModelRequest{PrefixMessages: 1},
		trace.ModelResponse{Message: asked, FinishReason: llm.FinishStop, RawFinishReason: "STOP", FinishMessage: "all said", ResponseID: "resp-1", Model: "m-large-2", Usage: llm.Usage{InputTokens: 10, OutputTokens: 5, CacheReadInputTokens: 3, CacheCreationInputTokens: 2, ReasoningOutputTokens: 1}})
	at(0, 1, trace.PurposeRepair, trace.ModelRequest{NewMessages: []llm.Message{llm.User("Repair this.")}}, trace.ModelResponse{Message: llm.Assistant(), FinishReason: llm.FinishStop})
	at(0, 0, "", trace.Decision{Action: trace.Continue, Reason: trace.ReasonToolCalls, ToolCalls: 1},
		trace.ToolArguments{ToolCallID: "c1", Arguments: `{"city":"Paris","unit":"C"}`, Reason: "defaults"}, trace.ToolStart{ToolCallID: "c1", Name: "weather", Arguments: `{"city": "Paris"}`},
		trace.ToolEnd{ToolCallID: "c1", Outcome: trace.OutcomeOK, Result: found}, trace.ToolSkip{ToolCallID: "c2", Name: "weather", Reason: "malformed_args", Result: failed},
		trace.ToolEnd{ToolCallID: "c3", Outcome: trace.OutcomePanic, Result: picture}, trace.Abandoned{ToolCallID: "c4"}, trace.Warning{Code: "leaked_call", Message: "a call stood in the text", ToolCallID: "c1"},
		trace.Custom{Name: "todo", Data: json.RawMessage(`{"open":2}`)}, trace.Unknown{Name: "tool.progress", Raw: json.RawMessage(`{"done":0.5}`)},
		trace.StepEnd{}, trace.HistoryRewrite{Reason: "compaction", By: "summarizer"})
	evs[len(evs)-1].At = 30 * time.Millisecond
	at(1, 1, "", trace.ModelRequest{NewMessages: []llm.Message{{Role: llm.RoleAssistant, Parts: asked.Parts, Opaque: opaque}, llm.ToolResults(found, failed), {Role: llm.RoleUser}}})
	at(1, 0, "", trace.Decision{Action: trace.Stop, Reason: trace.ReasonRunawayGuard, By: "runaway", Note: "weather failed three times"})
	at(trace.NoStep, 0, "", trace.Canceled{Reason: "the caller left"}, trace.Suspended{Pending: []string{"c1", "call 2"}, Digest: "ab12"}, trace.Resumed{Of: "r1"},
		trace.RunEnd{
			StopReason: trace.ReasonError, FinishReason: llm.FinishStop, Steps: 2, ModelCalls: 4, Usage: llm.Usage{InputTokens: 30, OutputTokens: 12}, UsageBy: map[trace.Purpose]llm.Usage{"": {InputTokens: 20, OutputTokens: 10}, trace.PurposeRepair: {InputTokens: 10, OutputTokens: 2, ReasoningOutputTokens: 1}},
			Pending: []string{"c1"}, Error: &trace.Error{Type: "api", Message: "status 500", Status: 500}, AppendedMessages: []llm.Message{llm.ToolResults(found)},
		})
	for _, b := range []trace.Body{trace.RunStart{Parent: &trace.Parent{Run: "r1", ToolCallID: "c1"}}, trace.RunEnd{StopReason: trace.ReasonEndTurn}} {
		evs = append(evs, trace.Event{Run: "r2", Step: trace.NoStep, Body: b})
	}
	return append(evs, trace.Event{Run: "r1", Step: 1, Body: trace.StepEnd{}})
}

func TestTextGolden(t *testing.T) {
	goldie.New(t).Assert(t, "every", []byte(trace.FormatText(every())))
}

// A change of one event is a change of one line.
func TestTextLines(t *testing.T) {
	evs := every()
	before := strings.Split(trace.FormatText(evs), "\n")
	evs[17].Body = trace.ToolStart{ToolCallID: "c1", Name: "weather", Arguments: "{}"}
	after := strings.Split(trace.FormatText(evs), "\n")
	var changed []int
	for i := range before {
		if before[i] != after[i] {
			changed = append(changed, i)
		}
	}
	if diff := cmp.Diff([]int{17}, changed); diff != "" {
		t.Errorf("changed lines (-want +got):\n%s", diff)
	}
}

func TestParseTextByHand(t *testing.T) {
	got, err := trace.ParseText("# a comment\n\n  \nrun.start r1 max_steps=5\r\nstep.start 0\nmodel.turn   0   finish=stop")
	if err != nil {
		t.Fatal(err)
	}
	want := []trace.Event{
		{Seq: 0, Run: "r1", Step: trace.NoStep, Body: trace.RunStart{Options: trace.Options{{Name: "max_steps", Value: "5"}}}},
		{Seq: 1, Run: "r1", Body: trace.StepStart{}},
		{Seq: 2, Run: "r1", Attempt: 1, Body: trace.ModelResponse{Message: llm.Assistant(), FinishReason: llm.FinishStop}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func TestParseTextErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"step.start 0", "1:12: expected the name of a run: the first line says which run it is of, as in r1 or r1:0"},
		{"step.start r1:0\nstep.end 0 x", "2:12: expected the end of the line"},
		{"step.end r1:x", "1:13: expected a whole number"},
		{"step.end r1:0.x", "1:15: expected a whole number"},
		{"step.end r1 @soon", "1:14: expected a duration, as in 1m30s or 20ms"},
		{"é r1", "1:1: expected a word or a string in double quotes"},
		{"\"é\" r1 [1]", "1:8: expected an object, all that is known of an event of the kind é"},
		{"step.end \"é\" \xff", "1:14: the text is not UTF-8"},
		{"tool.start r1 c1 weather {\"a\":}", "1:31: expected a value"},
		{"tool.start r1 c1 b64\"x\" {}", "1:18: not base64"},
		{"tool.start r1 c1 b64\"eA==", "1:18: not base64"},
		{"tool.start r1 c1 \"a", "1:20: the text ends within a string"},
		{"run.start r1 max_steps 5", "1:24: expected '='"},
		{"run.start r1 parent=r0,c1", "1:23: expected '/'"},
		{"run.start r1 tools=a(server)", "1:22: expected client"},
		{"run.start r1 tools=a(client", "1:28: expected ')'"},
		{"run.start r1 suppress={\"a\":1}", "1:30: suppress: expected a string at a (byte 6)"},
		{"model.setup r1:0 choice=some", `1:25: expected auto, required, none or "tool:NAME"`},
		{"model.setup r1:0 settings={\"seed\":\"x\"}", `1:27: llm: expected a number at seed (byte 9)`},
		{"model.setup r1:0 extra=[]", `1:26: extra: expected an object (byte 1)`},
		{"model.setup r1:0 colour=red", "1:18: colour= is not known here"},
		{"model.setup r1:0 tool a strict=maybe", "1:32: expected true or false"},
		{"model.setup r1:0 tool a depth=1", "1:25: depth= is not known here"},
		{"model.request r1:0 keep=1", "1:20: keep= is not known here"},
		{"model.request r1:0 kept=1 +user", "1:32: expected '('"},
		{"model.request r1:0 kept=1 +user(text \"a\" text \"b\")", "1:42: text is not known here"},
		{"model.request r1:0 kept=1 +user(text \"a\"", "1:41: expected ')'"},
		{"model.request r1:0 kept=1 +user(unknown {\"type\":\"text\",\"text\":\"a\"})", "1:40: a part of this type is spelt in words"},
		{"model.request r1:0 kept=1 +user(unknown [])", "1:40: llm: expected an object (byte 1)"},
		{"model.request r1:0 +user(media m data=\"x\")", `1:39: expected a string of base64, b64"…"`},
		{"model.turn r1:0 text \"a\" refused", "1:26: refused is not known here"},
		{"model.turn r1:0 reasoning \"a\" refusal", "1:31: refusal is not known here"},
		{"model.turn r1:0 media m depth=1", "1:25: depth= is not known here"},
		{"model.turn r1:0 call c1 w {} depth=1", "1:30: depth= is not known here"},
		{"model.turn r1:0 finish=stop because", "1:29: because is not known here"},
		{"model.turn r1:0 =stop", "1:17: expected a word or a string in double quotes"},
		{"model.turn r1:0 usage=:/1", "1:23: expected a whole number"},
		{"model.turn r1:0 usage=1/", "1:25: expected a whole number"},
		{"model.turn r1:0 usage=1", "1:24: expected '/'"},
		{"model.turn r1:0 usage=1/2(cost=3)", "1:27: cost= is not known here"},
		{"model.turn r1:0 usage=1/2(cached=3", "1:35: expected ')'"},
		{"model.error r1:0 api \"x\" lost", "1:26: lost is not known here"},
		{"model.retry r1:0 x wait=long", "1:25: expected a duration, as in 1m30s or 20ms"},
		{"model.retry r1:0 x wait=;", "1:25: expected a duration, as in 1m30s or 20ms"},
		{"model.retry r1:0 x after=1s", "1:20: after= is not known here"},
		{"decision r1:0 go_on 1 call", "1:21: expected ':'"},
		{"decision r1:0 go_on: 1 tool", "1:24: expected calls"},
		{"decision r1:0 end: none why=x", "1:25: why= is not known here"},
		{"tool.end r1:0 c1 ok {} loud", "1:24: loud is not known here"},
		{"rewrite r1:0 x of=y", "1:16: of= is not known here"},
		{"suspended r1 for=y", "1:14: for= is not known here"},
		{"run.end r1 none tokens=1", "1:17: tokens= is not known here"},
		{"run.end r1 none error(api \"x\" partial)", "1:31: partial is not known here"},
		{"run.end r1 none usage_by=(a 1/2", "1:32: expected ')'"},
		{"custom r1 x {} y", "1:16: expected the end of the line"},
	} {
		got, err := trace.ParseText("\nstep.start r1:0\n" + c.text)
		line := 2
		if strings.HasPrefix(c.want, "1:12: expected the name") || strings.HasPrefix(c.text, "step.start r1:0\n") {
			got, err = trace.ParseText(c.text)
			line = 0
		}
		te, ok := errors.AsType[*trace.TextError](err)
		if !ok {
			t.Errorf("%s: got %v and %v, want %s", c.text, got, err, c.want)
			continue
		}
		te.Line -= line
		if diff := cmp.Diff(c.want, te.Error()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.text, diff)
		}
	}
}

func TestDiff(t *testing.T) {
	evs := sample(2)
	if d, found := trace.Diff(evs, sample(2)); found {
		t.Errorf("equal runs: %v", d)
	}
	changed := sample(2)
	changed[8].Body = trace.ToolStart{ToolCallID: "x", Name: "y", Arguments: "{}"}
	d, found := trace.Diff(evs, changed)
	if !found || d.Index != 8 || d.A != &evs[8] || d.B != &changed[8] {
		t.Errorf("got %+v, %v, want event 8", d, found)
	}
	shorter := func(s string) string { // the lines' beginnings
		var b strings.Builder
		for line := range strings.Lines(s) {
			b.WriteString(strings.TrimSpace(line[:min(len(line), 29)]) + "\n")
		}
		return b.String()
	}
	want := `run r1, event 8, step 0
decision       0   go_on: 2
tool.start     0   call_000
tool.start     0   call_000
- tool.end       0   call_000
- tool.end       0   call_000
- step.end       0
+ tool.start     0   x y {}
+ tool.end       0   call_000
+ step.end       0
`
	if diff := cmp.Diff(want, shorter(d.String())); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
	for _, c := range []struct {
		name string
		a, b []trace.Event
		want string
	}{
		{"a has ended", evs[:1], evs[:3], "run r1, event 1, step 0\nrun.start      r1  clock=vi\n+ step.start     0\n+ model.setup    0   model=m-\n"},
		{"b is empty", evs[1:2], nil, "run r1, event 1, step 0\n- step.start     r1:0\n"},
		{"at the start, out of steps", evs[:1], evs[1:2], "run r1, event 0\n- run.start      r1  clock=vi\n+ step.start     r1:0\n"},
	} {
		d, found := trace.Diff(c.a, c.b)
		if diff := cmp.Diff(c.want, shorter(d.String())); !found || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", c.name, found, diff)
		}
		if (d.A == nil) != (d.Index >= len(c.a)) || (d.B == nil) != (d.Index >= len(c.b)) {
			t.Errorf("%s: %+v", c.name, d)
		}
	}
}
