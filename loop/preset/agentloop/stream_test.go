package agentloop_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/middleware"
	"github.com/looptape/looptape/loop/preset/agentloop"
	"github.com/looptape/looptape/trace"
)

// AL-28, AL-30, AL-31, AL-32, AL-33: the events of a run are live. No event of a step is in the next
// step, and the response of a step without usage has none.
func TestAL28AL30AL32Stream(t *testing.T) {
	first, second := calls("", "slow", "a", "ghost"), calls("2", "slow")
	first.EventInterval = time.Millisecond
	first.Text, first.Reasoning, first.Usage, first.Delay = "x", "hm", llm.Usage{InputTokens: 10, OutputTokens: 5}, 10*time.Millisecond
	second.Calls[0].Arguments = "[1]"
	w := newWorld(t, first, second, says("y")).agent(agentloop.Config{Model: "m"})
	var usages []int64
	w.hook = func(ev agentloop.Event) error {
		if r, ok := ev.Data.(*agentloop.Response); ok {
			usages = append(usages, r.Usage.Total())
		}
		return nil
	}
	var got []string
	var at []int64
	begun := w.clock.Now()
	for ev, err := range w.Stream(t.Context(), agentloop.Input{Text: "go"}, nil) {
		if err != nil {
			t.Fatal(err)
		}
		at = append(at, w.clock.Now().Sub(begun).Milliseconds())
		line, err := json.Marshal(ev)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(line))
	}
	same(t, "events", []string{
		`{"type":"step_start","step":0}`,
		`{"type":"thinking","text":"hm"}`,
		`{"type":"text","text":"x"}`,
		`{"type":"tool_call_start","step":0,"callId":"slow","toolName":"slow","arguments":{}}`,
		`{"type":"tool_call_start","step":0,"callId":"a","toolName":"a","arguments":{}}`,
		`{"type":"tool_call_start","step":0,"callId":"ghost","toolName":"ghost","arguments":{}}`,
		`{"type":"tool_call_end","step":0,"callId":"ghost","latencyMs":0}`,
		`{"type":"tool_call_end","step":0,"callId":"a","latencyMs":0}`,
		`{"type":"tool_call_end","step":0,"callId":"slow","latencyMs":30}`,
		`{"type":"step_end","step":0,"usage":{"inputTokens":10,"outputTokens":5},"latencyMs":22}`,
		`{"type":"step_start","step":1}`,
		`{"type":"tool_call_start","step":1,"callId":"2slow","toolName":"slow","arguments":{}}`,
		`{"type":"tool_call_end","step":1,"callId":"2slow","latencyMs":30}`,
		`{"type":"step_end","step":1,"usage":{"inputTokens":0,"outputTokens":0},"latencyMs":0}`,
		`{"type":"step_start","step":2}`,
		`{"type":"text","text":"y"}`,
		`{"type":"step_end","step":2,"usage":{"inputTokens":0,"outputTokens":0},"latencyMs":0}`,
		`{"type":"done","response":{"content":[{"type":"text","text":"y"}],"finishReason":"stop","usage":{"inputTokens":10,"outputTokens":5},"model":"m","reason":"done"}}`,
	}, got)
	same(t, "the milliseconds when the events are read", []int64{0, 10, 11, 22, 22, 22, 22, 22, 52, 52, 52, 52, 82, 82, 82, 82, 82, 82}, at)
	same(t, "the usage of the steps", []int64{15, 0, 0}, usages)
	failed, err := json.Marshal(agentloop.StreamEvent{Type: "done", Response: &agentloop.Response{FinishReason: "stop", Reason: agentloop.Failed, Err: errors.New("boom")}})
	same(t, "the end of a failed run", `{"type":"done","response":{"content":[],"finishReason":"stop","usage":{"inputTokens":0,"outputTokens":0},"reason":"error","error":"boom"}} <nil>`, fmt.Sprint(string(failed), " ", err))
}

// AL-29: done is the last event and occurs once for each kind of end. Each started step
// has a step_start.
func TestAL29Done(t *testing.T) {
	trips := func(kind middleware.GuardrailKind) agentloop.Config {
		return agentloop.Config{Guardrails: []middleware.Guardrail{{Name: "g", Kind: kind, Check: func(_ context.Context, c middleware.GuardrailCheck) (middleware.GuardrailResult, error) {
			return middleware.GuardrailResult{Pass: c.Step == 0, Tripwire: true, Reason: "no more"}, nil
		}}}}
	}
	fails := fake.Response{Error: &fake.Failure{Status: 400, Message: "boom"}}
	round := []string{"step_start", "tool_call_start a", "tool_call_end a", "step_end", "step_start"}
	for name, c := range map[string]struct {
		cfg    agentloop.Config
		second fake.Response
		want   []string
		reason trace.Reason
		text   string
	}{
		"input guardrail":  {trips(middleware.GuardInput), fails, []string{"done"}, agentloop.Guardrail, "no more"},
		"output guardrail": {trips(middleware.GuardOutput), calls("2", "a"), []string{"step_end", "done"}, agentloop.Guardrail, "no more"},
		"error":            {agentloop.Config{}, fails, []string{"done"}, agentloop.Failed, ""},
		"max_steps":        {agentloop.Config{MaxSteps: 2}, calls("2", "a"), []string{"tool_call_start 2a", "tool_call_end 2a", "step_end", "done"}, agentloop.MaxSteps, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, calls("", "a"), c.second).agent(c.cfg)
			events := w.stream("go", nil)
			same(t, "events", append(round[:len(round):len(round)], c.want...), types(events))
			if res := events[len(events)-1].Response; res.Reason != c.reason || res.Text() != c.text || w.last().FinalText != c.text {
				t.Errorf("the response: %q %q, final text %q", res.Reason, res.Text(), w.last().FinalText)
			}
		})
	}
	w := newWorld(t, calls("", "a"), says("never")).agent(agentloop.Config{})
	w.hook = func(ev agentloop.Event) error {
		if ev.Name == agentloop.OnStepComplete {
			w.Stop()
		}
		return nil
	}
	same(t, "of a run that was stopped", []string{"step_start", "tool_call_start a", "tool_call_end a", "step_end", "done"}, types(w.stream("go", nil)))
	w = newWorld(t, fails).agent(agentloop.Config{Reject: true})
	var last error
	for ev, err := range w.Stream(t.Context(), agentloop.Input{Text: "go"}, nil) {
		if last = err; err != nil && ev.Type != "done" {
			t.Errorf("the error came with %q", ev.Type)
		}
	}
	if api, ok := errors.AsType[*llm.APIError](last); !ok || api.Status != 400 {
		t.Errorf("with Reject: %v", last)
	}
}

// The events of a recorded trace end as the live stream does. The caller may stop the
// iteration.
func TestEventsOfATrace(t *testing.T) {
	w := newWorld(t, calls("", "a"), says("x")).agent(agentloop.Config{Model: "m", MaxSteps: 1})
	live := w.stream("go", nil)
	var read []agentloop.StreamEvent
	events := func(yield func(trace.Event, error) bool) {
		for _, ev := range w.trace {
			if !yield(ev, nil) {
				return
			}
		}
	}
	for ev := range agentloop.Events(events) {
		read = append(read, ev)
	}
	same(t, "read", types(live), types(read))
	if got := read[len(read)-1].Response; got.Reason != agentloop.MaxSteps || got.FinishReason != "tool_use" {
		t.Errorf("the response: %+v", got)
	}
	for range agentloop.Events(events) {
		break
	}
	w = newWorld(t, fake.Response{Error: &fake.Failure{Status: 400, Message: "boom"}}).agent(agentloop.Config{})
	w.run("go")
	for ev := range agentloop.Events(events) {
		last, err := json.Marshal(ev)
		if want := `{"type":"done","response":{"content":[],"finishReason":"","usage":{"inputTokens":0,"outputTokens":0},"reason":"error","error":"loop: step 0: fake: status 400: boom"}}`; err != nil || ev.Type == "done" && string(last) != want {
			t.Errorf("of a run that failed: %s, %v", last, err)
		}
	}
	w = newWorld(t, says("x"), says("x")).agent(agentloop.Config{})
	for ev, err := range w.Stream(t.Context(), agentloop.Input{Text: "go"}, nil) {
		if ev.Type == "step_start" || err != nil {
			break
		}
	}
}

// AL-27: the requests, the history, the hooks, the report, the response and the error are the
// same for streaming and non-streaming runs.
func TestAL27Twins(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var turns []fake.Response
		names := rapid.SampledFrom([]string{"a", "slow", "bad", "ghost"})
		for i := range rapid.IntRange(0, 3).Draw(rt, "rounds") {
			turn := calls(fmt.Sprint(i), rapid.SliceOfNDistinct(names, 1, 3, rapid.ID).Draw(rt, "tools")...)
			turn.Reasoning, turn.Delay = rapid.StringMatching(`[a-z]{0,3}`).Draw(rt, "reasoning"), time.Duration(rapid.IntRange(0, 9).Draw(rt, "delay"))*time.Millisecond
			turn.Text, turn.Usage = rapid.StringMatching(`[a-z]{0,3}`).Draw(rt, "text"), llm.Usage{InputTokens: rapid.Int64Range(0, 9).Draw(rt, "input")}
			turns = append(turns, turn)
		}
		last := says(rapid.StringMatching(`[a-z]{0,3}`).Draw(rt, "last"))
		if rapid.Bool().Draw(rt, "fails") {
			last = fake.Response{Error: &fake.Failure{Status: 500, Message: "boom"}}
		}
		retried := rapid.Bool().Draw(rt, "retried")
		if retried {
			last = fake.Response{Attempts: []fake.Response{{Error: &fake.Failure{Status: 503, Message: "busy"}}, last}}
		}
		turns = append(turns, last)
		guarded, wrapped := rapid.SampledFrom([]string{"", "input", "output"}).Draw(rt, "guarded"), rapid.Bool().Draw(rt, "wrapped")
		limit := rapid.IntRange(0, 3).Draw(rt, "max")
		in := rapid.SampledFrom([]agentloop.Input{
			{Text: "go"}, {Parts: []llm.Part{llm.Text{Text: "go"}, llm.Media{MediaType: "image/png", URL: "u"}}}, {Messages: []llm.Message{llm.User("hi"), llm.User("go")}},
		}).Draw(rt, "input form")
		opts := &agentloop.Options{Settings: agentloop.Settings{MaxTokens: rapid.IntRange(0, 2).Draw(rt, "tokens")}}
		if rapid.Bool().Draw(rt, "more") {
			opts.Tools = []llm.Tool{{Name: "more"}}
		}
		reject := rapid.Bool().Draw(rt, "reject")
		twin := func(streamed bool) string {
			w := newWorld(t, turns...)
			cfg := agentloop.Config{MaxSteps: limit, OneTool: len(turns)%2 == 0, Reject: reject, Policy: func(_ context.Context, r middleware.PermissionRequest) (middleware.Permission, error) {
				return middleware.Permission{Allow: r.Tool != "bad" || len(turns) > 2}, nil
			}}
			if retried {
				cfg.Retry = loop.Retry{Max: 1, Base: time.Millisecond}
			}
			if guarded != "" {
				cfg.Guardrails = []middleware.Guardrail{{Name: "g", Kind: middleware.GuardrailKind(guarded), Check: func(_ context.Context, c middleware.GuardrailCheck) (middleware.GuardrailResult, error) {
					return middleware.GuardrailResult{Pass: c.Step == 0, Tripwire: limit == 3, Reason: "no"}, nil
				}}}
			}
			if wrapped {
				cfg.Middleware = []loop.Middleware{{Name: "own", New: func(loop.RunInfo) loop.Hooks {
					return loop.Hooks{AfterModel: func(_ context.Context, s *loop.StepInfo, r *llm.Response) (d loop.Decision, err error) {
						w.log = append(w.log, fmt.Sprint("response ", s.Step, " ", r.Text()))
						return d, nil
					}}
				}}}
			}
			w.agent(cfg)
			res, failed := w.play(t.Context(), streamed, in, opts)
			requests := w.model.Requests()
			for i := range requests {
				requests[i].ResponseMode = ""
			}
			b, err := json.Marshal([]any{requests, w.History().Export(), w.last(), w.log, res, fmt.Sprint(failed)})
			if err != nil {
				rt.Fatal(err)
			}
			return string(b)
		}
		if diff := cmp.Diff(twin(false), twin(true)); diff != "" {
			rt.Fatalf("both response modes (-non-streaming +streaming):\n%s", diff)
		}
	})
}

// AL-98: a subscriber of the agent's bus receives the model's events between the events
// of its step. After cancel it receives no events.
func TestAL98Bus(t *testing.T) {
	w := newWorld(t, says("x"), says("y"))
	var cfg agentloop.Config
	w.dress(&cfg)
	bus := cfg.Hooks
	model := llm.ModelFunc(func(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
		if err := bus.Emit(ctx, agentloop.Event{Name: "llm.request"}); err != nil {
			t.Error(err)
		}
		return w.model.Stream(ctx, req)
	})
	var second []string
	cancel := bus.Subscribe(func(_ context.Context, ev agentloop.Event) error {
		second = append(second, ev.Name)
		return nil
	})
	l, err := agentloop.New(t.Context(), model, &cfg)
	if err != nil {
		t.Fatal(err)
	}
	w.Loop = l
	w.run("go")
	cancel()
	cancel()
	w.run("go")
	same(t, "reported", "onAgentCreate,onRunStart,onStepStart,onModelRequest,llm.request,onModelResponse,onStepComplete,onRunComplete", strings.Join(second, ","))

	agents := map[string][]string{} // by event
	shared := new(agentloop.Bus)
	shared.Subscribe(func(_ context.Context, ev agentloop.Event) error {
		if !slices.Contains(agents[ev.Name], ev.Agent) {
			agents[ev.Name] = append(agents[ev.Name], ev.Agent)
		}
		return nil
	})
	for _, id := range []string{"one", "two"} {
		w := newWorld(t, fake.Response{Attempts: []fake.Response{{Error: &fake.Failure{Status: 503}}, calls("", "a", "bad", "ghost")}}, says("x"))
		cfg := allEvents()
		w.dress(&cfg)
		cfg.ID, cfg.Hooks, cfg.Retry.Max = id, shared, 1
		if w.Loop, err = agentloop.New(t.Context(), w.model, &cfg); err != nil {
			t.Fatal(err)
		}
		w.stream("go", nil)
		if err := w.ResumeWithApproval(t.Context(), "none", middleware.Approval{}); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string][]string{}
	for _, name := range strings.Fields("onAgentCreate onRunStart onStepStart onStepComplete onToolCallStart onToolCallComplete onToolCallError onWarning onApprovalRequested onApprovalResolved onGuardrailTriggered onRunComplete onModelRequest onModelStart onModelResponse onModelError onModelRetry") {
		want[name] = []string{"one", "two"}
	}
	same(t, "the agents of each event on a shared bus", want, agents)
}

// A hook that fails ends the run. If it fails on the last event, Complete returns the
// error.
func TestHooksFail(t *testing.T) {
	boom := errors.New("boom")
	for _, name := range []string{agentloop.OnStepStart, agentloop.OnStepComplete, agentloop.OnToolCallStart, agentloop.OnToolCallComplete, agentloop.OnToolCallError, agentloop.OnWarning, agentloop.OnGuardrailTriggered, agentloop.OnApprovalRequested, agentloop.OnApprovalResolved} {
		w := newWorld(t, calls("", "a", "bad", "ghost"), says("x")).agent(allEvents())
		w.hook = func(ev agentloop.Event) error {
			if ev.Name == name {
				return boom
			}
			return nil
		}
		if res := w.run("go"); !errors.Is(res.Err, boom) || res.Reason != agentloop.Failed || len(w.model.RecordedRequests()) > 1 {
			t.Errorf("%s: got %v after %d requests", name, res.Err, len(w.model.RecordedRequests()))
		}
	}
	w := newWorld(t, says("x")).agent(agentloop.Config{})
	w.hook = func(ev agentloop.Event) error {
		if ev.Name == agentloop.OnRunComplete {
			return boom
		}
		return nil
	}
	if res, err := w.Complete(t.Context(), agentloop.Input{Text: "go"}, nil); !errors.Is(err, boom) || res.Text() != "x" {
		t.Errorf("onRunComplete: %v", err)
	}
}

// Added middleware runs after the agent's own, and the tools that it sets remain set.
func TestMoreMiddleware(t *testing.T) {
	seen := ""
	w := newWorld(t, calls("1", "a"), says("x")).agent(agentloop.Config{System: "role", Middleware: []loop.Middleware{{Name: "own", New: func(loop.RunInfo) loop.Hooks {
		return loop.Hooks{BeforeStep: func(_ context.Context, s *loop.StepInfo) (loop.StepChange, error) {
			seen = s.Request.System.Text()
			if s.Step > 0 {
				return loop.StepChange{}, nil
			}
			return loop.StepChange{Tools: s.Tools()[:1]}, nil
		}}
	}}}})
	w.run("go")
	if got := w.model.Requests(); seen != "role" || len(got[0].Tools) != 1 || len(got[1].Tools) != 1 {
		t.Errorf("middleware saw the system prompt %q; the requests have %d and %d tools", seen, len(got[0].Tools), len(got[1].Tools))
	}
}

// The stream omits model calls by middleware: their text, their latency and their usage.
func TestStreamOmitsMiddlewareCalls(t *testing.T) {
	const ms = time.Millisecond
	answer := func(text string) llm.Message { return llm.Assistant(llm.Text{Text: text}) }
	list := []trace.Event{
		{Step: trace.NoStep, Body: trace.RunStart{}}, {Body: trace.StepStart{}},
		{At: 10 * ms, Body: trace.ModelRequest{}},
		{At: 20 * ms, Purpose: trace.PurposeRepair, Body: trace.ModelRequest{}},
		{At: 30 * ms, Purpose: trace.PurposeRepair, Body: trace.ModelDelta{Type: trace.DeltaText, Text: "side"}},
		{At: 40 * ms, Body: trace.ModelResponse{Message: answer("x"), Usage: llm.Usage{InputTokens: 1}}},
		{At: 50 * ms, Purpose: trace.PurposeRepair, Body: trace.ModelResponse{Message: answer("side"), Usage: llm.Usage{InputTokens: 2}}},
		{At: 60 * ms, Body: trace.StepEnd{}},
	}
	var got []agentloop.StreamEvent
	for ev := range agentloop.Events(func(yield func(trace.Event, error) bool) {
		for _, ev := range list {
			if !yield(ev, nil) {
				return
			}
		}
	}) {
		got = append(got, ev)
	}
	same(t, "events", []agentloop.StreamEvent{{Type: "step_start"}, {Type: "step_end", Usage: llm.Usage{InputTokens: 1}, Latency: 30 * ms}}, got)
}
