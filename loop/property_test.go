package loop_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/middleware"
	"github.com/looptape/looptape/loop/scenario"
	"github.com/looptape/looptape/trace"
	"github.com/looptape/looptape/trace/check"
)

// drawTools returns tools with all behaviors. Tools that wait for a cancel are included only
// if the run is canceled.
func drawTools(cancelled bool) []fake.Tool {
	tools := []fake.Tool{
		{Name: "ok", Behavior: fake.Behavior{Text: "fine"}},
		{Name: "slow", Behavior: fake.Behavior{Text: "late", Delay: 20 * time.Millisecond}},
		{Name: "slower", Behavior: fake.Behavior{Text: "later", Delay: 30 * time.Millisecond, IgnoresCancel: true}},
		{Name: "fails", Behavior: fake.Behavior{Error: "no connection", Delay: 5 * time.Millisecond}},
		{Name: "panics", Behavior: fake.Behavior{Panic: "boom"}},
		{Name: "strict", Behavior: fake.Behavior{Text: "fine"}, Parameters: []byte(`{"type":"object","properties":{"n":{"type":"integer"},"m":{"type":"integer","default":7}},"required":["n"]}`)},
		{Name: "client", Client: true},
	}
	if cancelled {
		tools = append(tools, fake.Tool{Name: "hangs", Behavior: fake.Behavior{Stall: true}})
	}
	return tools
}

func drawCall(t *rapid.T) fake.Call {
	return fake.Call{
		ID:          rapid.SampledFrom([]string{"", "c1", "c2", "c3", "loop_call_1", "x/é"}).Draw(t, "id"),
		Name:        rapid.SampledFrom([]string{"ok", "ok", "slow", "slower", "fails", "panics", "strict", "hangs", "nowhere", "client", ""}).Draw(t, "name"),
		Arguments:   rapid.SampledFrom([]string{"{}", `{"n":1}`, ` { "n" : 2 } `, `{"n":"x"}`, `{"n":`, "no", "", "[1]", `{"n":1}{"n":1}`}).Draw(t, "args"),
		OmitEnd:     rapid.Bool().Draw(t, "no end"),
		SingleChunk: rapid.Bool().Draw(t, "whole"),
	}
}

func drawTurn(t *rapid.T) fake.Response {
	response := fake.Response{
		Reasoning:    rapid.SampledFrom([]string{"", "hm, so"}).Draw(t, "reasoning"),
		Text:         rapid.SampledFrom([]string{"", "Let me  see. ", "Zoë"}).Draw(t, "text"),
		Calls:        rapid.SliceOfN(rapid.Custom(drawCall), 0, 4).Draw(t, "calls"),
		FinishReason: rapid.SampledFrom([]llm.FinishReason{"", "", llm.FinishStop, llm.FinishToolCalls, llm.FinishLength, llm.FinishPause, llm.FinishMalformedCall}).Draw(t, "finish"),
		OmitFinish:   rapid.Bool().Draw(t, "no finish"),
		Usage:        llm.Usage{InputTokens: rapid.Int64Range(0, 9).Draw(t, "input"), OutputTokens: rapid.Int64Range(0, 9).Draw(t, "output"), CacheReadInputTokens: rapid.Int64Range(0, 3).Draw(t, "cached")},
	}
	if response.Reasoning != "" && rapid.Bool().Draw(t, "signed") {
		response.ReasoningOpaque = []byte(`{"signature":"s"}`)
	}
	switch fail := (fake.Failure{Status: rapid.SampledFrom([]int{400, 429, 503}).Draw(t, "status"), RetryAfter: 700 * time.Millisecond}); rapid.IntRange(0, 7).Draw(t, "fault") {
	case 0: // in the middle of the response
		response.Error = &fail
	case 1: // before it, and the next attempt succeeds
		return fake.Response{Attempts: []fake.Response{{Error: &fail, Usage: response.Usage}, response, {Text: "once more"}, {Text: "and again"}}}
	}
	return response
}

func drawScript(t *rapid.T) *fake.Script {
	s := &fake.Script{File: "drawn", Input: []llm.Message{llm.User("go")}}
	if rapid.Bool().Draw(t, "history") {
		s.History = []llm.Message{llm.User("before"), llm.Assistant(llm.ToolCall{ID: "c1", Name: "ok", Arguments: "{}"}),
			llm.ToolResults(llm.ToolResult{ID: "c1", Name: "ok", Content: []llm.Part{llm.Text{Text: "fine"}}}), llm.Assistant(llm.Text{Text: "so"})}
	}
	if rapid.Bool().Draw(t, "cancelled") {
		s.Cancel = &fake.Cancel{At: time.Duration(rapid.IntRange(1, 90).Draw(t, "cancel at")) * time.Millisecond}
	}
	s.Tools = drawTools(s.Cancel != nil)
	responses := rapid.SliceOfN(rapid.Custom(drawTurn), 0, 5).Draw(t, "turns")
	s.Models = []fake.ModelScript{{Name: "main", Responses: append(responses, fake.Response{Text: "done"})}}
	return s
}

// drawConfig returns a function that changes a configuration. It draws the values once.
func drawConfig(t *rapid.T) func(*loop.Config) {
	var c loop.Config
	c.MaxSteps = rapid.IntRange(-1, 5).Draw(t, "max steps")
	c.CheckLimitBeforeStep = rapid.SampledFrom([]bool{false, true}).Draw(t, "cap at")
	c.OnStepLimit = rapid.SampledFrom([]loop.OnStepLimit{loop.StepLimitReturn, loop.StepLimitForceFinal, loop.StepLimitError}).Draw(t, "on cap")
	c.Concurrency = rapid.IntRange(-1, 3).Draw(t, "concurrency")
	c.MaxConsecutiveToolErrors = rapid.IntRange(-1, 3).Draw(t, "same tool errors")
	c.ResetByAbsence = rapid.Bool().Draw(t, "by absence")
	c.TokenBudget = rapid.SampledFrom([]int64{0, 0, 10, 30}).Draw(t, "budget")
	c.ToolTimeout = rapid.SampledFrom([]time.Duration{0, 0, 10 * time.Millisecond}).Draw(t, "tool timeout")
	c.Grace = rapid.SampledFrom([]time.Duration{0, 0, 3 * time.Millisecond, time.Hour}).Draw(t, "grace")
	c.Deadline = rapid.SampledFrom([]time.Duration{0, 0, 40 * time.Millisecond}).Draw(t, "deadline")
	c.DeadlineReturns = rapid.Bool().Draw(t, "deadline returns")
	c.Retry.Max = rapid.IntRange(0, 2).Draw(t, "retries")
	c.OneMessagePerResult = rapid.SampledFrom([]bool{false, true}).Draw(t, "tool message")
	c.BadArguments = rapid.SampledFrom([]loop.BadArguments{loop.BadArgumentsError, loop.BadArgumentsEmpty, loop.BadArgumentsPass}).Draw(t, "bad args")
	c.BreakOnUnknownTool = rapid.SampledFrom([]bool{false, false, true}).Draw(t, "unknown tool")
	c.ClientCalls = rapid.SampledFrom([]loop.ClientCalls{loop.ClientBreak, loop.ClientRest}).Draw(t, "client calls")
	c.AppendAfterHooks = rapid.SampledFrom([]bool{false, true}).Draw(t, "append turn")
	c.OmitErrorFlag = rapid.Bool().Draw(t, "plain errors")
	c.DuplicateStep = rapid.SampledFrom([]loop.DuplicateStep{loop.DuplicateRun, loop.DuplicateSkip}).Draw(t, "duplicates")
	if c.DuplicateStep == loop.DuplicateSkip {
		c.MaxDuplicateSteps = rapid.IntRange(0, 2).Draw(t, "duplicate steps")
	}
	c.Continuations = rapid.IntRange(-1, 2).Draw(t, "continuations")
	if rapid.Bool().Draw(t, "stop") {
		c.StopWhen = []loop.StopCondition{loop.HasToolCall("strict"), loop.StepCountIs(3)}
	}
	if rapid.IntRange(0, 3).Draw(t, "shortened") == 0 {
		c.Middleware = []loop.Middleware{middleware.KeepLast(2, 5)}
	}
	return func(to *loop.Config) {
		c := c
		c.Clock, c.Deltas, c.Tools, c.ResponseMode = to.Clock, to.Deltas, to.Tools, to.ResponseMode
		*to = c
	}
}

// TestRunProperties runs random scripts with random options, in both response modes, in
// chunks and repeatedly. It checks all invariants.
func TestRunProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, set := drawScript(t), drawConfig(t)
		run := func(d llm.ResponseMode, chunk int) *scenario.Result {
			o, err := scenario.Run(t.Context(), s, &scenario.Options{Chunk: chunk, Adjust: func(c *loop.Config) {
				set(c)
				c.ResponseMode = d
			}})
			if o == nil {
				t.Fatal(err)
			}
			return o
		}
		first := run(llm.Streaming, 0)
		found := append(violations(first.Events), probed(first)...)
		found = append(found, check.Pair(first.Events, run(llm.Streaming, 0).Events, check.Repeat)...)
		found = append(found, check.Pair(first.Events, run(llm.Streaming, rapid.IntRange(1, 4).Draw(t, "chunk")).Events, check.Chunking)...)
		found = append(found, check.Pair(first.Events, run(llm.NonStreaming, 0).Events, check.ResponseMode)...)
		requests(t, first)
		for _, v := range found {
			t.Errorf("%s: event %d: %s", v.Invariant, v.Event, v.Message)
		}
		if t.Failed() {
			t.Logf("the trace:\n%s", first.Trace())
		}
	})
}

// requests checks the requests without package check: calls and results have the same ids in
// the same order, and each request begins with the one before it, unless the history was
// shortened.
func requests(t *rapid.T, o *scenario.Result) {
	var prev []llm.Message
	for i, r := range o.Requests {
		var asked, answered []string
		for _, m := range r.Request.Messages {
			for _, p := range m.Parts {
				switch p := p.(type) {
				case llm.ToolCall:
					asked = append(asked, p.ID)
				case llm.ToolResult:
					answered = append(answered, p.ID)
				}
			}
		}
		if diff := cmp.Diff(asked, answered); diff != "" {
			t.Errorf("request %d: ids of calls and of results (-calls +results):\n%s", i, diff)
		}
		if n := len(slices.Compact(slices.Sorted(slices.Values(asked)))); n != len(asked) {
			t.Errorf("request %d: an id is there twice: %q", i, asked)
		}
		if list := r.Request.Messages; len(list) >= len(prev) && len(of[trace.HistoryRewrite](o.Events)) == 0 && !bytes.Equal(lines(prev), lines(list[:len(prev)])) {
			t.Errorf("request %d does not begin with the one before it", i)
		}
		prev = r.Request.Messages
	}
}

func lines(messages []llm.Message) []byte {
	var out []byte
	for _, m := range messages {
		out = fmt.Appendf(out, "%s\n", m.AppendJSON(nil))
	}
	return out
}
