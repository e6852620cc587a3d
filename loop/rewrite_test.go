package loop_test

import (
	"context"
	"testing"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/trace"
)

// A run whose history was replaced by a summary may end in any way. No result is missing for
// the calls of earlier responses.
func TestRewriteThenAnyEnd(t *testing.T) {
	summary := named("summary", loop.Hooks{BeforeStep: func(_ context.Context, s *loop.StepInfo) (loop.StepChange, error) {
		if s.Step != 1 {
			return loop.StepChange{}, nil
		}
		return loop.StepChange{Decision: loop.Decision{Messages: []llm.Message{llm.User("all so far")}, Note: "compaction"}}, nil
	}})
	cfg := loop.Config{
		Tools: []loop.Tool{echo("a")}, Middleware: []loop.Middleware{summary},
		Retry: loop.Retry{Max: 1}, Clock: fake.NewClock(),
	}
	for name, responses := range map[string][]fake.Response{
		"a failure": {calls("a"), {Error: &fake.Failure{Status: 400}}},
		"a retry":   {calls("a"), busy(0), text("z")},
		"an answer": {calls("a"), text("z")},
		"calls":     {calls("a"), calls("a#d"), text("z")},
	} {
		_, events, _ := ran(t, inTurn(responses...), cfg)
		checkInvariants(t, name, events)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var mem trace.Memory
	cfg.Sink = &mem
	run := newAgent(t, model(calls("a"), text("z")), cfg).Start(ctx, loop.Prompt("go"))
	for ev := range run.Events() { //nolint:errcheck // the run's error is the cancel
		if _, ok := ev.Body.(trace.ModelRequest); ok && ev.Step == 1 {
			cancel()
		}
	}
	checkInvariants(t, "a cancel", mem.Events())
}

// Middleware such as a cache may return a response in place of the model, after any history.
func TestCachedResponseInConversation(t *testing.T) {
	said := llm.Assistant(llm.Text{Text: "so"})
	cached := &llm.Response{Parts: []llm.Part{llm.Text{Text: "cached"}}, FinishReason: llm.FinishStop}
	call := &llm.Response{Parts: []llm.Part{llm.ToolCall{ID: "k1", Name: "a", Arguments: "{}"}}}
	for name, c := range map[string]struct {
		history []llm.Message
		first   *llm.Response
	}{
		"a response after calls": {[]llm.Message{llm.User("q"), called("c1"), told("c1"), said}, cached},
		"a response after text":  {[]llm.Message{llm.User("q"), said}, cached},
		"a call after text":      {[]llm.Message{llm.User("q"), said}, call},
		"a call after calls":     {[]llm.Message{llm.User("q"), called("c1"), told("c1"), said}, call},
	} {
		cache := around("cache", func(ctx context.Context, next loop.ModelFunc, call loop.ModelCall) (*llm.Response, error) {
			if call.Step == 0 {
				return c.first, nil
			}
			return next(ctx, call)
		})
		var mem trace.Memory
		in := loop.Continue(c.history, llm.User("go"))
		in.Sink = &mem
		if _, err := newAgent(t, model(text("z")), loop.Config{Tools: []loop.Tool{echo("a")}, Middleware: []loop.Middleware{cache}}).Run(t.Context(), in); err != nil {
			t.Errorf("%s: got %v", name, err)
		}
		checkInvariants(t, name, mem.Events())
	}
}
