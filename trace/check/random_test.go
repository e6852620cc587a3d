package check_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
	"github.com/looptape/looptape/trace/check"
)

// The generators draw from few values, so that ids meet.
var (
	drawID   = rapid.SampledFrom([]string{"", "c1", "c2", "c3", "q"})
	drawName = rapid.SampledFrom([]string{"", "f", "g", "ask", "none"})
	drawArgs = rapid.SampledFrom([]string{"", "{}", "x"})
	drawRaw  = rapid.SampledFrom([]json.RawMessage{nil, []byte("{}"), []byte("x"), {}})
	drawN    = rapid.IntRange(-2, 4)
)

func drawCall(t *rapid.T) llm.ToolCall {
	return llm.ToolCall{
		ID: drawID.Draw(t, "id"), Name: drawName.Draw(t, "name"), Arguments: drawArgs.Draw(t, "args"),
		ProviderExecuted: rapid.Bool().Draw(t, "provider"), Opaque: drawRaw.Draw(t, "opaque"),
	}
}

func drawResult(t *rapid.T) llm.ToolResult {
	r := llm.ToolResult{ID: drawID.Draw(t, "id"), IsError: rapid.Bool().Draw(t, "error"), Opaque: drawRaw.Draw(t, "opaque")}
	if rapid.Bool().Draw(t, "content") {
		r.Content = []llm.Part{text(r.ID)}
	}
	return r
}

var drawPart = rapid.Custom(func(t *rapid.T) llm.Part {
	switch rapid.IntRange(0, 6).Draw(t, "part") {
	case 0:
		return llm.Text{Text: drawArgs.Draw(t, "text"), Opaque: drawRaw.Draw(t, "opaque")}
	case 1:
		return llm.Reasoning{Text: drawArgs.Draw(t, "text"), Opaque: drawRaw.Draw(t, "opaque")}
	case 2:
		return llm.Media{URL: "u", Opaque: drawRaw.Draw(t, "opaque")}
	case 3:
		return llm.Unknown{Kind: "k", Raw: drawRaw.Draw(t, "raw")}
	case 4:
		return drawResult(t)
	}
	return drawCall(t)
})

var drawMessage = rapid.Custom(func(t *rapid.T) llm.Message {
	role := rapid.SampledFrom([]llm.Role{llm.RoleSystem, llm.RoleUser, llm.RoleAssistant, llm.RoleTool, "x"}).Draw(t, "role")
	return llm.Message{Role: role, Parts: rapid.SliceOfN(drawPart, 0, 3).Draw(t, "parts"), Opaque: drawRaw.Draw(t, "opaque")}
})

var drawMessages = rapid.SliceOfN(drawMessage, 0, 3)

var drawBody = rapid.Custom(func(t *rapid.T) trace.Body {
	u := llm.Usage{InputTokens: int64(drawN.Draw(t, "input"))}
	switch rapid.IntRange(0, 22).Draw(t, "kind") {
	case 0:
		o := trace.Options{}
		for _, name := range []string{"max_steps", "concurrency", "same_tool_error_stop", "token_budget", "retry_max"} {
			o = append(o, trace.Option{Name: name, Value: rapid.SampledFrom([]string{"", "x", "-1", "0", "1", "2", "unbounded"}).Draw(t, name)})
		}
		return trace.RunStart{Options: o, Tools: []trace.ToolInfo{{Name: "f"}, {Name: "ask", Client: true}}}
	case 1:
		return trace.StepStart{}
	case 2:
		return trace.ModelConfig{Tools: []llm.Tool{{Name: drawName.Draw(t, "name"), Parameters: drawRaw.Draw(t, "schema")}}, Extra: map[string]json.RawMessage{"x": drawRaw.Draw(t, "extra")}}
	case 3, 4:
		return trace.ModelRequest{PrefixMessages: drawN.Draw(t, "kept"), NewMessages: drawMessages.Draw(t, "new")}
	case 5:
		return trace.ModelDelta{Type: rapid.SampledFrom([]string{trace.DeltaText, trace.DeltaCall, trace.DeltaArguments, trace.DeltaCallEnd, "x"}).Draw(t, "what"), ToolCallID: drawID.Draw(t, "call")}
	case 6, 7:
		return trace.ModelResponse{Message: drawMessage.Draw(t, "message"), Usage: u}
	case 8:
		return trace.ModelError{Error: trace.Error{Retryable: rapid.Bool().Draw(t, "retryable"), RetryAfter: time.Duration(drawN.Draw(t, "after"))}, Usage: u}
	case 9:
		return trace.ModelRetry{Wait: time.Duration(drawN.Draw(t, "wait"))}
	case 10:
		return trace.Decision{
			Action: rapid.SampledFrom([]trace.Action{trace.Continue, trace.End, trace.Stop, trace.ForceFinal, trace.Suspend, "x"}).Draw(t, "action"),
			Reason: rapid.SampledFrom([]trace.Reason{trace.ReasonToolCalls, trace.ReasonEndTurn, trace.ReasonMaxSteps, trace.ReasonBudget, trace.ReasonStopCondition, trace.ReasonRunawayGuard,
				trace.ReasonClientTools, trace.ReasonHandoff, trace.ReasonEndHook, trace.ReasonContinuedResponse, trace.ReasonForced, trace.ReasonMalformedCall, trace.ReasonCancel}).Draw(t, "cause"),
			ToolCalls: drawN.Draw(t, "calls"),
		}
	case 11:
		return trace.ToolArguments{ToolCallID: drawID.Draw(t, "call"), Arguments: drawArgs.Draw(t, "args")}
	case 12:
		return trace.ToolStart{ToolCallID: drawID.Draw(t, "call"), Name: drawName.Draw(t, "name"), Arguments: drawArgs.Draw(t, "args")}
	case 13:
		return trace.ToolEnd{ToolCallID: drawID.Draw(t, "call"), Outcome: rapid.SampledFrom([]trace.Outcome{trace.OutcomeOK, trace.OutcomeError, trace.OutcomeCanceled}).Draw(t, "outcome"), Result: drawResult(t)}
	case 14:
		return trace.ToolSkip{ToolCallID: drawID.Draw(t, "call"), Name: drawName.Draw(t, "name"), Reason: rapid.SampledFrom([]string{"denied", "unknown_tool", "x"}).Draw(t, "cause"), Result: drawResult(t)}
	case 15:
		return trace.StepEnd{}
	case 16:
		return trace.HistoryRewrite{}
	case 17:
		return trace.Canceled{}
	case 18:
		return trace.Abandoned{ToolCallID: drawID.Draw(t, "call")}
	case 19:
		return trace.Suspended{Pending: []string{drawID.Draw(t, "call")}}
	case 20:
		return trace.Resumed{Of: drawRun.Draw(t, "of")}
	case 21:
		return trace.RunEnd{StopReason: trace.ReasonEndTurn, Usage: u, Pending: []string{drawID.Draw(t, "pending")}, AppendedMessages: drawMessages.Draw(t, "appended")}
	}
	return nil
})

var drawRun = rapid.SampledFrom([]string{"r1", "r2"})

var drawEvents = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) trace.Event {
	return trace.Event{
		Run: drawRun.Draw(t, "run"), Step: drawN.Draw(t, "step"), Attempt: drawN.Draw(t, "attempt"), Seq: drawN.Draw(t, "seq"),
		Purpose: rapid.SampledFrom([]trace.Purpose{trace.PurposeAnswer, trace.PurposeAnswer, trace.PurposeGrade}).Draw(t, "purpose"),
		Body:    drawBody.Draw(t, "body"),
	}
}), 0, 60)

// TestAnyEvents checks that no order of events panics, and that the same events
// give the same violations.
func TestAnyEvents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := script{events: drawEvents.Draw(t, "events")}
		if diff := cmp.Diff(s.check(), s.check()); diff != "" {
			t.Errorf("the second time (-first +second):\n%s", diff)
		}
	})
}

// TestReset checks that a Checker reports the same after Reset as a new one.
func TestReset(t *testing.T) {
	c := check.New(nil)
	add := func(c *check.Checker, events []trace.Event) []check.Violation {
		for _, ev := range events {
			c.Add(ev)
		}
		return c.Done()
	}
	first := begin("r1", declared).round(call("c1", "f"), bad("c1")).done().
		ask().turn(call("c3", "f"), call("q", "g")).end(trace.ReasonClientTools, "c3", "q").events
	second := begin("r1", declared).round(call("c4", "f"), bad("c4")).done().ask().turn(text("done")).done().end(trace.ReasonEndTurn).events
	rapid.Check(t, func(t *rapid.T) {
		events := drawEvents.Draw(t, "events")
		if rapid.Bool().Draw(t, "second") {
			events = second[:rapid.IntRange(0, len(second)).Draw(t, "to")]
		} else if rapid.Bool().Draw(t, "begins") {
			events = slices.Concat(first[:1], events)
		}
		c.Reset()
		add(c, first)
		c.Reset()
		if diff := cmp.Diff(add(check.New(nil), events), add(c, events)); diff != "" {
			t.Errorf("after Reset (-new +reset):\n%s", diff)
		}
	})
}

// TestAnyMessages does the same for lists of messages.
func TestAnyMessages(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(drawMessage, 0, 20).Draw(t, "list")
		if diff := cmp.Diff(check.Messages("r", list), check.Messages("r", list)); diff != "" {
			t.Errorf("the second time (-first +second):\n%s", diff)
		}
	})
}

// TestAnyInterleaving checks that runs in one stream do not see each other.
func TestAnyInterleaving(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events := drawEvents.Draw(t, "events")
		events = slices.DeleteFunc(events, func(ev trace.Event) bool { _, ok := ev.Body.(trace.Resumed); return ok })
		apart := slices.Clone(events)
		slices.SortStableFunc(apart, func(a, b trace.Event) int { return strings.Compare(a.Run, b.Run) })
		got, want := (&script{events: events}).check(), (&script{events: apart}).check()
		byRun := func(a, b check.Violation) int { return strings.Compare(a.Run, b.Run) }
		slices.SortStableFunc(got, byRun)
		slices.SortStableFunc(want, byRun)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("interleaved (-apart +interleaved):\n%s", diff)
		}
	})
}

// TestOneChange removes one event of a clean run, duplicates it, or swaps it with
// the next: each violation has a message, and none is reported twice.
func TestOneChange(t *testing.T) {
	for name, make := range clean {
		for i := range make().events {
			drop, twice, swap := make(), make(), make()
			drop.events = append(drop.events[:i:i], drop.events[i+1:]...)
			twice.insert(i+1, twice.events[i].Body)
			if j := i + 1; j < len(swap.events) {
				swap.events[i], swap.events[j] = swap.events[j], swap.events[i]
			}
			for _, s := range []*script{drop, twice, swap} {
				seen := map[string]bool{}
				for _, v := range s.check() {
					line := v.String()
					if seen[line] {
						t.Errorf("%s, event %d (%s): reported twice: %s", name, i, make().events[i].Body.Kind(), line)
					}
					seen[line] = true
				}
			}
		}
	}
}
