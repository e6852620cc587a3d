package trace_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sebdah/goldie/v2"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
)

// every is a trace with an event of every kind and most of their members,
// for review in the golden file.
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
		Model: "m-large", System: llm.SystemText("Be brief.\nBe kind."), ToolChoice: llm.ToolChoice{Mode: llm.ChooseTool, Name: "weather"}, Settings: llm.Settings{MaxTokens: 100, Temperature: new(0.0)},
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
		trace.ToolEnd{ToolCallID: "c1", Outcome: trace.OutcomeOK, Result: found}, trace.ToolSkip{ToolCallID: "c2", Name: "weather", Reason: trace.SkipMalformedArguments, Result: failed},
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
	goldie.New(t).Assert(t, "every-v1", []byte(trace.FormatTextV1(every())))
}

// Each version has its own names for settings. Settings without values are omitted.
func TestTextSettings(t *testing.T) {
	for _, c := range []struct {
		settings   llm.Settings
		want, inV1 string
	}{
		{llm.Settings{}, "model.config    r:1 model=m\n", "model.setup    r:1 model=m\n"},
		{
			llm.Settings{StopSequences: []string{"x"}, ParallelToolCalls: new(false), ReasoningEffort: "low"},
			`model.config    r:1 model=m settings={"stop_sequences":["x"],"parallel_tool_calls":false,"reasoning_effort":"low"}` + "\n",
			`model.setup    r:1 model=m settings={"stop":["x"],"parallel_calls":false,"reasoning":"low"}` + "\n",
		},
	} {
		events := []trace.Event{{Run: "r", Step: 1, Attempt: 1, Body: trace.ModelConfig{Model: "m", Settings: c.settings}}}
		if diff := cmp.Diff(c.want+c.inV1, trace.FormatText(events)+trace.FormatTextV1(events)); diff != "" {
			t.Errorf("text of both versions (-want +got):\n%s", diff)
		}
	}
}

// A system prompt without a cache mark is one text. With a mark, its parts are separate texts.
func TestTextSystem(t *testing.T) {
	for _, c := range []struct {
		system llm.System
		want   string
	}{
		{nil, ""},
		{llm.System{}, ""},
		{llm.SystemText("a"), ` system="a"`},
		{llm.System{{Text: "a"}, {Text: "b"}}, ` system="a\n\nb"`},
		{llm.System{{Text: "a", CacheMark: true}}, ` system="a"(cache_mark)`},
		{llm.System{{Text: "a", CacheMark: true}, {Text: "b\n"}}, ` system="a"(cache_mark),"b\n"`},
		{llm.System{{Text: "a"}, {Text: "", CacheMark: true}}, ` system="a",""(cache_mark)`},
	} {
		got := trace.FormatText([]trace.Event{{Run: "r", Step: 1, Attempt: 1, Body: trace.ModelConfig{Model: "m", System: c.system}}})
		if diff := cmp.Diff("model.config    r:1 model=m"+c.want+"\n", got); diff != "" {
			t.Errorf("text of %+v (-want +got):\n%s", c.system, diff)
		}
	}
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
