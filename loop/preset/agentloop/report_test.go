package agentloop_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/middleware"
	"github.com/looptape/looptape/loop/preset/agentloop"
	"github.com/looptape/looptape/trace"
)

// AL-88 to AL-90, AL-51, AL-52, AL-99: the report of a run.
func TestAL88AL89AL90Report(t *testing.T) {
	first, second := calls("", "slow", "a", "bad", "parts", "skipped", "ghost"), calls("2", "slow")
	first.Delay, first.Usage, first.Calls[1].Arguments = 20*time.Millisecond, llm.Usage{InputTokens: 10, OutputTokens: 1, CacheReadInputTokens: 2, CacheCreationInputTokens: 3, ReasoningOutputTokens: 4}, `{"x":`
	first.Calls[3].Arguments = `{"n":2}`
	second.Calls = append(second.Calls, fake.Call{ID: "3slow", Name: "slow", Arguments: "{}"}) // a report for each call, not for each tool
	second.Delay, second.Usage = 5*time.Millisecond, llm.Usage{InputTokens: 20, OutputTokens: 2}
	third := says("x")
	third.Delay = 7 * time.Millisecond
	w := newWorld(t, first, second, third)
	parts := loop.Tool{Name: "parts", Run: func(ctx context.Context, _ loop.Call) (loop.Output, error) {
		middleware.SetMetric(ctx, "host", middleware.Metric{Value: "h1", Type: "name"})
		middleware.SetMetric(ctx, "cached", middleware.Metric{Value: true, Type: "flag"})
		return loop.Output{Content: []llm.Part{llm.Text{Text: "é"}, llm.Media{MediaType: "image/png", URL: "u"}}}, w.clock.Sleep(ctx, 10*time.Millisecond)
	}}
	w.agent(agentloop.Config{Model: "m", Tools: append(w.tools(), parts, text("skipped", ""))})
	w.hook = func(ev agentloop.Event) error {
		if s, ok := ev.Data.(*middleware.ToolStarting); ok {
			s.Skip = s.Call.Name == "skipped"
		}
		return nil
	}
	w.run("go")
	warnings := slices.DeleteFunc(slices.Clone(w.log), func(line string) bool { return !strings.HasPrefix(line, "onWarning") })
	same(t, "warnings, none of them about the arguments of a", []string{"onWarning tool_not_found"}, warnings) // AL-36
	b, err := json.Marshal(w.last())
	if err != nil {
		t.Fatal(err)
	}
	call := func(id, name, rest string) string {
		return fmt.Sprintf(`{"callId":%q,"toolName":%q,"arguments":{},%s}`, id, name, rest)
	}
	ghost := `there is no tool \"ghost\"; the tools are a, slow, bad, parts, skipped`
	want := `{"id":"agentloop/1","model":"m","startedAt":946684800000,"completedAt":946684800092,"totalMs":92,"reason":"done","userMessage":"go","finalText":"x","steps":[` +
		`{"index":0,"type":"initial","llmLatencyMs":20,"usage":{"inputTokens":10,"outputTokens":1,"cachedTokens":2,"cacheWriteTokens":3,"reasoningTokens":4},"finishReason":"tool_use","toolCalls":[` +
		strings.Join([]string{
			call("slow", "slow", `"resultSizeBytes":1,"latencyMs":30,"skipped":false,"error":null,"metrics":{"rows":{"value":3,"type":"count"}}`),
			call("a", "a", `"resultSizeBytes":1,"latencyMs":0,"skipped":false,"error":null,"metrics":{}`),
			call("bad", "bad", `"resultSizeBytes":7,"latencyMs":0,"skipped":false,"error":"no luck","metrics":{}`),
			strings.Replace(call("parts", "parts", fmt.Sprintf(`"resultSizeBytes":%d,"latencyMs":10,"skipped":false,"error":null,"metrics":{"host":{"value":"h1","type":"name"},"cached":{"value":true,"type":"flag"}}`, len(`[{"type":"text","text":"é"},{"type":"media","media_type":"image/png","url":"u"}]`))), `"arguments":{}`, `"arguments":{"n":2}`, 1),
			call("skipped", "skipped", `"resultSizeBytes":29,"latencyMs":0,"skipped":true,"error":null,"metrics":{}`),
			call("ghost", "ghost", `"resultSizeBytes":68,"latencyMs":0,"skipped":false,"error":"`+ghost+`","metrics":{}`),
		}, ",") + `],"toolTotalMs":40},` +
		`{"index":1,"type":"tool_followup","llmLatencyMs":5,"usage":{"inputTokens":20,"outputTokens":2},"finishReason":"tool_use","toolCalls":[` +
		call("2slow", "slow", `"resultSizeBytes":1,"latencyMs":30,"skipped":false,"error":null,"metrics":{"rows":{"value":3,"type":"count"}}`) + "," +
		call("3slow", "slow", `"resultSizeBytes":1,"latencyMs":30,"skipped":false,"error":null,"metrics":{"rows":{"value":3,"type":"count"}}`) + `],"toolTotalMs":60},` +
		`{"index":2,"type":"tool_followup","llmLatencyMs":7,"usage":{"inputTokens":0,"outputTokens":0},"finishReason":"stop","toolCalls":[],"toolTotalMs":0}],` +
		`"stepCount":2,"toolCallCount":8,"totalUsage":{"inputTokens":30,"outputTokens":3,"cachedTokens":2,"cacheWriteTokens":3,"reasoningTokens":4},"totalLlmTimeMs":32,"totalToolTimeMs":100}`
	var got, expected any
	if err := errors.Join(json.Unmarshal(b, &got), json.Unmarshal([]byte(want), &expected)); err != nil {
		t.Fatal(err)
	}
	same(t, "the report", expected, got)
	results := w.History().Messages()[2].Parts
	same(t, "a result of parts", []llm.Part{llm.Text{Text: "é"}, llm.Media{MediaType: "image/png", URL: "u"}}, results[3].(llm.ToolResult).Content)
}

// AL-88: each run has one of five reasons, in its response and its report. What ends a run in a way
// that the reference loop does not name has stopped it.
func TestAL88Reasons(t *testing.T) {
	var saved []byte
	trips := middleware.Guardrail{Name: "g", Kind: middleware.GuardOutput, Check: func(context.Context, middleware.GuardrailCheck) (middleware.GuardrailResult, error) {
		return middleware.GuardrailResult{Tripwire: true}, nil
	}}
	stops := loop.Middleware{Name: "m", New: func(loop.RunInfo) loop.Hooks {
		return loop.Hooks{AfterModel: func(context.Context, *loop.StepInfo, *llm.Response) (loop.Decision, error) {
			return loop.Decision{Action: trace.Stop, Reason: "own"}, nil
		}}
	}}
	for name, c := range map[string]struct {
		cfg      agentloop.Config
		response fake.Response
		want     trace.Reason
	}{
		"the answer":       {agentloop.Config{}, says("x"), "done"},
		"a failure":        {agentloop.Config{}, fake.Response{Error: &fake.Failure{Status: 400, Message: "boom"}}, "error"},
		"a guardrail":      {agentloop.Config{Guardrails: []middleware.Guardrail{trips}}, says("x"), "guardrail"},
		"the step limit":   {agentloop.Config{MaxSteps: 1}, calls("", "a"), "max_steps"},
		"calls that wait":  {asking(&saved, suspend), calls("", "a"), "stopped"},
		"other middleware": {agentloop.Config{Middleware: []loop.Middleware{stops}}, says("x"), "stopped"},
	} {
		w := newWorld(t, c.response).agent(c.cfg)
		res := w.run("go")
		same(t, name, []trace.Reason{c.want, c.want}, []trace.Reason{res.Reason, w.last().Reason})
	}
}

// AL-42, AL-43: a start hook skips a call or gives its result. Only a skipped call counts as skipped, and
// neither completes nor fails.
func TestAL42AL43Report(t *testing.T) {
	mine := loop.TextOutput("mine")
	for _, c := range []struct {
		set  middleware.ToolStarting
		want string
	}{
		{middleware.ToolStarting{Skip: true}, `"skipped: the call was not run" skipped=true error=<nil>`},
		{middleware.ToolStarting{Skip: true, Override: &mine}, `"mine" skipped=true error=<nil>`},
		{middleware.ToolStarting{Override: &mine}, `"mine" skipped=false error=<nil>`},
	} {
		w := newWorld(t, calls("", "a", "slow"), says("x")).agent(agentloop.Config{})
		w.hook = func(ev agentloop.Event) error {
			if s, ok := ev.Data.(*middleware.ToolStarting); ok {
				s.Skip, s.Override = c.set.Skip, c.set.Override
			}
			return nil
		}
		w.run("go")
		same(t, "the call", c.want, callOf(w))
		if second := w.last().Steps[0].ToolCalls[1]; second.Skipped != c.set.Skip || second.Error != nil {
			t.Errorf("%+v: the second call: %+v", c.set, second)
		}
		same(t, "events", []string{"onToolCallStart 0 a", "onToolCallStart 0 slow"}, w.tools0())
	}
}

// AL-41, AL-48: the events of a call have its step, its index, its arguments and its outcome.
func TestAL41AL48CallEvents(t *testing.T) {
	second := calls("", "a", "slow", "bad")
	second.Calls[1].Arguments = `{"n":1}`
	w := newWorld(t, calls("0", "a"), second, says("x")).agent(agentloop.Config{})
	var got []string
	add := func(ev agentloop.Event, c loop.Call, rest ...any) {
		got = append(got, fmt.Sprintf("%s %d: %d/%d %s %s %s %v", ev.Name, ev.Step, c.Step, c.Index, c.ID, c.Name, c.Arguments, rest))
	}
	w.hook = func(ev agentloop.Event) error {
		switch d := ev.Data.(type) {
		case *middleware.ToolStarting:
			add(ev, loop.Call{ID: d.Call.ID, Name: d.Call.Name, Arguments: d.Call.Arguments, Step: d.Step, Index: d.Index})
		case middleware.ToolDone:
			add(ev, d.Call, d.Output.Content, d.Latency, d.Metrics)
		case *middleware.ToolFailed:
			add(ev, d.Call, d.Err, d.Unknown)
		}
		return nil
	}
	w.run("go")
	same(t, "events", []string{
		"onToolCallStart 0: 0/0 0a a {} []", "onToolCallComplete 0: 0/0 0a a {} [[{A false []}] 0s map[]]",
		"onToolCallStart 1: 1/0 a a {} []", `onToolCallStart 1: 1/1 slow slow {"n":1} []`, "onToolCallStart 1: 1/2 bad bad {} []",
		"onToolCallComplete 1: 1/0 a a {} [[{A false []}] 0s map[]]", "onToolCallError 1: 1/2 bad bad {} [no luck false]",
		`onToolCallComplete 1: 1/1 slow slow {"n":1} [[{S false []}] 30ms map[rows:{3 count}]]`,
	}, got)
}

// AL-48, AL-49: a call that succeeds emits onToolCallComplete, one that fails onToolCallError. The
// changes that a hook may make to a failure, and their record in the report.
func TestAL48AL49ErrorHook(t *testing.T) {
	for _, c := range []struct {
		power func(*middleware.ToolFailed)
		want  string
	}{
		{func(*middleware.ToolFailed) {}, `done: "no luck" skipped=false error=no luck`},
		{func(f *middleware.ToolFailed) { f.Fallback = []llm.Part{llm.Text{Text: "try b"}} }, `done: "try b" skipped=false error=no luck`},
		{func(f *middleware.ToolFailed) { f.Stop = true }, `error: "no luck" skipped=false error=no luck`},
	} {
		w := newWorld(t, calls("", "bad", "slow"), says("x")).agent(agentloop.Config{})
		w.hook = func(ev agentloop.Event) error {
			if f, ok := ev.Data.(*middleware.ToolFailed); ok {
				c.power(f)
			}
			return nil
		}
		res := w.run("go")
		same(t, "the call", c.want, fmt.Sprintf("%s: %s", res.Reason, callOf(w)))
		same(t, "events", []string{"onToolCallStart 0 bad", "onToolCallStart 0 slow", "onToolCallError 0 bad: no luck", "onToolCallComplete 0 slow"}, w.tools0())
		result := w.History().Messages()[2].Parts[0].(llm.ToolResult)
		if got := w.roles(); !strings.HasPrefix(got, "user/1 assistant/2 tool/2") || !result.IsError || len(w.last().Steps[0].ToolCalls) != 2 {
			t.Errorf("the history: %s, the result %+v, the report %+v", got, result, w.last().Steps[0])
		}
	}
	// The last of two failures of a later step may end the run, too.
	w := newWorld(t, calls("1", "bad"), fake.Response{Calls: append(calls("2", "bad").Calls, calls("3", "bad").Calls...)}, says("x")).agent(agentloop.Config{})
	w.hook = func(ev agentloop.Event) error {
		if f, ok := ev.Data.(*middleware.ToolFailed); ok {
			f.Stop = f.Call.ID == "3bad"
		}
		return nil
	}
	if res := w.run("go"); res.Reason != agentloop.Failed || len(w.model.RecordedRequests()) != 2 {
		t.Errorf("got %+v after %d requests", res, len(w.model.RecordedRequests()))
	}
}

// AL-93: when onRunComplete is emitted, the report is stored and the next run may begin.
func TestAL93Finalize(t *testing.T) {
	w := newWorld(t, calls("", "a"), says("x"), says("y"), says("z")).agent(agentloop.Config{})
	w.hook = func(ev agentloop.Event) error {
		if ev.Name == agentloop.OnRunComplete && len(w.Reports()) == 1 {
			if w.Reports()[0] != ev.Data {
				t.Error("the report is not the one that was kept")
			}
			if r := w.Reports()[0]; r.StepCount != 1 || r.ToolCallCount != 1 || len(r.Steps) != 2 || r.FinalText != "x" || r.Reason != agentloop.Done || r.CompletedAt == 0 {
				t.Errorf("the report is not complete: %+v", r)
			}
			_, err := w.Complete(t.Context(), agentloop.Input{Text: "at once"}, nil)
			return err
		}
		return nil
	}
	w.run("go")
	if got := len(w.Reports()); got != 2 {
		t.Errorf("got %d reports", got)
	}
	for ev, err := range w.Stream(t.Context(), agentloop.Input{Text: "on"}, nil) {
		if last := w.log[len(w.log)-1]; err != nil || ev.Type == "done" && (len(w.Reports()) != 3 || last != "onRunComplete done") {
			t.Errorf("at the last event of a stream: %d reports, the last event of the bus is %s; %v", len(w.Reports()), last, err)
		}
	}
}

// AL-93: after a cancel, onRunComplete is emitted with a context that has not ended.
func TestCancel(t *testing.T) {
	w := newWorld(t, says("x")).agent(agentloop.Config{})
	ctx, cancel := context.WithCancel(t.Context())
	w.Hooks().Subscribe(func(ctx context.Context, ev agentloop.Event) error {
		switch ev.Name {
		case agentloop.OnStepStart:
			cancel()
		case agentloop.OnRunComplete:
			return ctx.Err()
		}
		return nil
	})
	if res, err := w.Complete(ctx, agentloop.Input{Text: "go"}, nil); err != nil || res.Reason != agentloop.Failed || !errors.Is(res.Err, context.Canceled) {
		t.Errorf("got %q, %v, %v", res.Reason, res.Err, err)
	}
}

// AL-99: the report contains the input in its original form, and decoding restores it.
func TestAL99UserMessage(t *testing.T) {
	for want, in := range map[string]agentloop.Input{
		`"a"`:                          {Text: "a"},
		`[{"type":"text","text":"b"}]`: {Parts: []llm.Part{llm.Text{Text: "b"}}},
		`[{"role":"user","parts":[{"type":"text","text":"c"}]}]`: {Messages: []llm.Message{llm.User("c")}},
	} {
		w := newWorld(t, fake.Response{Error: &fake.Failure{Status: 400, Message: "boom"}}).agent(agentloop.Config{})
		if _, err := w.Complete(t.Context(), in, nil); err != nil {
			t.Fatal(err)
		}
		rep := w.last()
		for _, err := range w.Stream(t.Context(), in, nil) {
			if err != nil {
				t.Fatal(err)
			}
		}
		same(t, "the input of a streaming run", in, w.last().UserMessage)
		got, err := json.Marshal(rep.UserMessage)
		if diff := cmp.Diff(in, rep.UserMessage); diff != "" || string(got) != want || err != nil {
			t.Errorf("got %s, want %s; %v\n%s", got, want, err, diff)
		}
		if rep.Error == "" || rep.FinalText != "" || rep.StartedAt == 0 || rep.CompletedAt == 0 {
			t.Errorf("the report: %+v", rep)
		}
		var back agentloop.Input
		if err := json.Unmarshal(got, &back); err != nil {
			t.Error(err)
		}
		same(t, "read back", in, back)
	}
	for _, bad := range []string{`1`, `[1]`, `[{"type":"text","text":1}]`, `[{"role":1}]`, `[{"role":"user","parts":1}]`} {
		var in agentloop.Input
		if err := json.Unmarshal([]byte(bad), &in); err == nil {
			t.Errorf("%s: got %+v, and no error", bad, in)
		}
	}
}

// AL-99: the report has the model that answered, also with the input in each form in a run that
// succeeds. After a failed first call it has the configured model.
func TestAL99Model(t *testing.T) {
	answers := says("x")
	answers.Model = "m1-2026"
	for _, in := range []agentloop.Input{{Text: "a"}, {Parts: []llm.Part{llm.Text{Text: "b"}, llm.Media{MediaType: "image/png", URL: "u"}}}, {Messages: []llm.Message{llm.User("c"), llm.Assistant(llm.Text{Text: "d"}), llm.User("e")}}} {
		for want, turn := range map[string]fake.Response{"m1-2026": answers, "m1": {Error: &fake.Failure{Status: 400, Message: "boom"}}} {
			w := newWorld(t, turn).agent(agentloop.Config{Model: "m1"})
			if _, err := w.Complete(t.Context(), in, nil); err != nil {
				t.Fatal(err)
			}
			rep := w.last()
			if rep.Model != want || (rep.Error == "") != (want == "m1-2026") || rep.FinalText != turn.Text {
				t.Errorf("the model %q, final text %q, error %q; want the model %q", rep.Model, rep.FinalText, rep.Error, want)
			}
			same(t, "the input", in, rep.UserMessage)
		}
	}
}

var uuid = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)

// AL-88, AL-102: the id of a run is a UUID, or that of the configured generator, and is the same in
// the hooks, the report and the trace. A restored agent does not use an id again.
func TestAL102RunID(t *testing.T) {
	generated := []string{"00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000002"}
	next := 0
	for _, newID := range []func() string{nil, func() string { next++; return generated[next-1] }} {
		w := newWorld(t, calls("1", "a", "bad", "ghost"), says("x"), says("y"))
		cfg := allEvents()
		w.dress(&cfg)
		cfg.NewID = newID
		var hooks []string
		cfg.Hooks.Subscribe(func(_ context.Context, ev agentloop.Event) error {
			if ev.Name != agentloop.OnAgentCreate {
				hooks = append(hooks, ev.Run)
			}
			return nil
		})
		l, err := agentloop.New(t.Context(), w.model, &cfg)
		if err != nil {
			t.Fatal(err)
		}
		w.Loop = l
		w.run("one")
		saved, err := json.Marshal(w.Dump())
		if err != nil {
			t.Fatal(err)
		}
		var s agentloop.Snapshot
		if err := json.Unmarshal(saved, &s); err != nil {
			t.Fatal(err)
		}
		if l, err = agentloop.Restore(t.Context(), w.model, s, &cfg); err != nil {
			t.Fatal(err)
		}
		w.Loop = l
		w.run("two")
		ids := []string{w.Reports()[0].ID, w.Reports()[1].ID}
		if ids[0] == ids[1] || !uuid.MatchString(ids[0]) || !uuid.MatchString(ids[1]) || newID != nil && !slices.Equal(ids, generated) {
			t.Errorf("the ids of two runs: %q", ids)
		}
		var traced []string
		for _, ev := range w.trace {
			traced = append(traced, ev.Run)
		}
		same(t, "the ids in the hooks", ids, slices.Compact(hooks))
		same(t, "the ids in the trace", ids, slices.Compact(traced))
	}
}

// AL-100: each run of an agent has its own counts, also after a run that failed.
func TestAL100Runs(t *testing.T) {
	last := says("x")
	last.Usage = fakeUsage(5)
	w := newWorld(t, calls("1", "slow"), last, calls("2", "slow"), fake.Response{Error: &fake.Failure{Status: 400, Message: "bad"}}, calls("3", "slow"), last).agent(agentloop.Config{})
	for _, input := range []string{"one", "two", "three"} {
		w.run(input)
	}
	var got []string
	for _, r := range w.Reports() {
		line := fmt.Sprint(r.ID, " ", r.UserMessage.Text, " ", r.Reason, " ", r.Error != "", " ", r.StepCount, " ", r.ToolCallCount, " ", r.TotalToolTimeMs, " ", r.TotalUsage.InputTokens)
		for _, s := range r.Steps {
			line += fmt.Sprint(", ", s.Index, " ", s.Type, " ", len(s.ToolCalls))
		}
		got = append(got, line)
	}
	same(t, "reports", []string{
		"agentloop/1 one done false 1 1 30 5, 0 initial 1, 1 tool_followup 0",
		"agentloop/2 two error true 1 1 30 0, 0 initial 1",
		"agentloop/3 three done false 1 1 30 5, 0 initial 1, 1 tool_followup 0",
	}, got)
	same(t, "runs of the trace", []string{"agentloop/1", "agentloop/3"}, []string{w.trace[0].Run, w.trace[len(w.trace)-1].Run})
}

// AL-58, AL-59, AL-99: a guardrail triggers before the first step.
func TestAL58InputGuardrail(t *testing.T) {
	for _, severity := range []string{"low", "medium", "high", "critical"} {
		inputGuardrail(t, severity)
	}
	image := []llm.Part{llm.Media{MediaType: "image/png", URL: "https://example.org/a.png"}}
	for _, in := range []agentloop.Input{{}, {Parts: image}, {Messages: []llm.Message{llm.User("go"), {Role: llm.RoleUser, Parts: image}}}} {
		w := newWorld(t).agent(agentloop.Config{Guardrails: []middleware.Guardrail{{Kind: middleware.GuardInput, Check: func(context.Context, middleware.GuardrailCheck) (middleware.GuardrailResult, error) {
			return middleware.GuardrailResult{Tripwire: true}, nil
		}}}})
		res, err := w.Complete(t.Context(), in, nil)
		if err != nil || res.Reason != agentloop.Guardrail || len(w.model.RecordedRequests()) != 0 || w.History().Len() != max(1, len(in.Messages)) {
			t.Errorf("input %+v: got %+v, %v after %d requests", in, res, err, len(w.model.RecordedRequests()))
		}
	}
}

func inputGuardrail(t *testing.T, severity string) {
	t.Helper()
	w := newWorld(t).agent(agentloop.Config{Guardrails: []middleware.Guardrail{{Name: "g", Kind: middleware.GuardInput, Check: func(context.Context, middleware.GuardrailCheck) (middleware.GuardrailResult, error) {
		return middleware.GuardrailResult{Tripwire: true, Reason: "not that", Severity: severity}, nil
	}}}})
	var reported []middleware.GuardrailTrigger
	w.hook = func(ev agentloop.Event) error {
		if g, ok := ev.Data.(middleware.GuardrailTrigger); ok && ev.Name == agentloop.OnGuardrailTriggered {
			reported = append(reported, g)
		}
		return nil
	}
	events := w.stream("go", nil)
	same(t, "events", []string{"step_start", "done"}, types(events))
	same(t, "reported", []middleware.GuardrailTrigger{{Guardrail: "g", Kind: middleware.GuardInput, Tripwire: true, Reason: "not that", Severity: severity}}, reported)
	same(t, "the events of the bus", []string{"onAgentCreate", `onRunStart "go"`, "onStepStart 0", "onGuardrailTriggered g", "onRunComplete guardrail"}, w.log)
	r := w.last()
	if r.Reason != agentloop.Guardrail || r.FinalText != "not that" || r.StepCount != 0 || r.Steps == nil || len(r.Steps) != 0 || r.ModelCalls != 0 || w.roles() != "user/1" {
		t.Errorf("the report: %+v, history %s", r, w.roles())
	}
}

// AL-55, AL-56: before each model call all guardrails of the input run in list order, after each response
// all those of the output. They get the system prompt and the messages of the request, with the changes
// of middleware.
func TestAL55AL56GuardrailOrder(t *testing.T) {
	var got []string
	rail := func(name string, kind middleware.GuardrailKind) middleware.Guardrail {
		return middleware.Guardrail{Name: name, Kind: kind, Check: func(_ context.Context, c middleware.GuardrailCheck) (middleware.GuardrailResult, error) {
			got = append(got, fmt.Sprint(name, " ", c.System, " ", len(c.Messages), " ", c.Messages[0].Text()))
			return middleware.GuardrailResult{Pass: true}, nil
		}}
	}
	rewrite := loop.Middleware{Name: "rewrite", New: func(loop.RunInfo) loop.Hooks {
		return loop.Hooks{BeforeStep: func(_ context.Context, s *loop.StepInfo) (c loop.StepChange, err error) {
			c.Messages = slices.Clone(s.History())
			c.Messages[0] = llm.User("rewritten")
			return c, nil
		}}
	}}
	w := newWorld(t, calls("", "a"), says("x")).agent(agentloop.Config{System: "S", Middleware: []loop.Middleware{rewrite}, Guardrails: []middleware.Guardrail{
		rail("out 1", middleware.GuardOutput), rail("in 1", middleware.GuardInput), rail("out 2", middleware.GuardOutput), rail("in 2", middleware.GuardInput),
	}})
	w.run("go")
	same(t, "the guardrails", []string{
		"in 1 S 1 rewritten", "in 2 S 1 rewritten", "out 1 S 1 rewritten", "out 2 S 1 rewritten",
		"in 1 S 3 rewritten", "in 2 S 3 rewritten", "out 1 S 3 rewritten", "out 2 S 3 rewritten",
	}, got)
}

// AL-57: a request or a response halts the run only if it fails a guardrail with a tripwire. The first
// such guardrail ends the checks, and its reason, which may be empty, is the final text.
func TestAL57Halt(t *testing.T) {
	result := func(pass, tripwire bool, reason string) middleware.GuardrailResult {
		return middleware.GuardrailResult{Pass: pass, Tripwire: tripwire, Reason: reason}
	}
	ignored := []middleware.GuardrailResult{result(false, false, "noted"), result(true, true, "passed"), result(true, false, "")}
	for want, results := range map[string][]middleware.GuardrailResult{ // checks, and failures that are reported
		`done "x" 3 1`:           ignored,
		`guardrail "secret" 4 2`: append(slices.Clone(ignored), result(false, true, "secret"), result(false, true, "second")),
		`guardrail "" 1 1`:       {result(false, true, ""), result(false, true, "second")},
	} {
		for _, c := range []struct {
			kind        middleware.GuardrailKind
			step        int    // of the checks that may fail
			roles, done string // after a trip: the history, and the last event before that of the guardrail
		}{
			{middleware.GuardInput, 0, "user/1", "onStepStart 0"},
			{middleware.GuardInput, 1, "user/1 assistant/1 tool/1", "onStepStart 1"},
			{middleware.GuardOutput, 0, "user/1 assistant/1", `onStepComplete 0 "x" stop`},
			{middleware.GuardOutput, 1, "user/1 assistant/1 tool/1 assistant/1", `onStepComplete 1 "x" stop`},
		} {
			var rails []middleware.Guardrail
			checked := 0
			for _, r := range results {
				rails = append(rails, middleware.Guardrail{Name: "g", Kind: c.kind, Check: func(_ context.Context, check middleware.GuardrailCheck) (middleware.GuardrailResult, error) {
					if check.Step != c.step {
						return middleware.GuardrailResult{Pass: true}, nil
					}
					checked++
					return r, nil
				}})
			}
			turns := []fake.Response{calls("", "a"), says("x")}
			w := newWorld(t, turns[1-c.step:]...).agent(agentloop.Config{Guardrails: rails})
			w.hook = func(ev agentloop.Event) error {
				if g, ok := ev.Data.(middleware.GuardrailTrigger); ok && (ev.Step != c.step || g.Step != c.step || g.Kind != c.kind) {
					t.Errorf("%s guardrail of step %d: the event of step %d has %+v", c.kind, c.step, ev.Step, g)
				}
				return nil
			}
			reason := w.run("go").Reason
			if at := slices.Index(w.log, "onGuardrailTriggered g"); reason == agentloop.Guardrail && (w.roles() != c.roles || w.log[at-1] != c.done) { // AL-58, AL-60
				t.Errorf("%s guardrail of step %d: the history %s, events %q", c.kind, c.step, w.roles(), w.log)
			}
			if n, want := len(w.model.RecordedRequests()), strings.Count(c.roles, "assistant"); reason == agentloop.Guardrail && n != want {
				t.Errorf("%s guardrail of step %d: got %d model calls, want %d", c.kind, c.step, n, want)
			}
			reported := 0
			for _, line := range w.log {
				if line == "onGuardrailTriggered g" { // AL-59: also without a tripwire
					reported++
				}
			}
			same(t, fmt.Sprint("the run, guardrails of the ", c.kind, " in step ", c.step), want, fmt.Sprintf("%s %q %d %d", reason, w.last().FinalText, checked, reported))
		}
	}
}

// AL-47: a tool that exceeds its timeout is reported as failed. Stop does not reach the
// tool.
func TestAL47Timeout(t *testing.T) {
	for timeout, want := range map[time.Duration]string{
		20 * time.Millisecond: `"the tool took too long (20ms)" skipped=false error=the tool took too long (20ms)`,
		-1:                    `"S" skipped=false error=<nil>`,
	} {
		w := newWorld(t, calls("", "slow"), says("x")).agent(agentloop.Config{ToolTimeout: timeout})
		w.hook = func(ev agentloop.Event) error {
			if ev.Name == agentloop.OnToolCallStart {
				w.Stop()
			}
			return nil
		}
		w.run("go")
		same(t, "the call", want, callOf(w))
	}
}

// AL-51, AL-52: the report of a failed call contains the size of its text in bytes and
// the metrics of its tool, the last of each name. The size of several texts is that of all.
func TestAL51AL52Failing(t *testing.T) {
	w := newWorld(t, calls("", "fails", "texts"), says("x"))
	w.agent(agentloop.Config{Tools: []loop.Tool{{Name: "fails", Run: func(ctx context.Context, _ loop.Call) (loop.Output, error) {
		for tries := range 3 {
			middleware.SetMetric(ctx, "tries", middleware.Metric{Value: tries, Type: "count"})
		}
		return loop.Output{}, errors.New("zu groß")
	}}, {Name: "texts", Run: func(context.Context, loop.Call) (loop.Output, error) {
		return loop.Output{Content: []llm.Part{llm.Text{Text: "ab"}, llm.Text{Text: "é"}}}, nil
	}}}})
	w.run("go")
	if got := w.last().Steps[0].ToolCalls[1].ResultSizeBytes; got != 4 {
		t.Errorf("two texts have %d bytes", got)
	}
	c := w.last().Steps[0].ToolCalls[0]
	same(t, "what it has measured", map[string]middleware.Metric{"tries": {Value: 2, Type: "count"}}, c.Metrics)
	if c.ResultSizeBytes != len("zu groß") || c.Error == nil {
		t.Errorf("the result has %d bytes, the error %v", c.ResultSizeBytes, c.Error)
	}
}

// AL-15, AL-23, AL-24, AL-28, AL-31, AL-33, AL-41 to AL-48, AL-50, AL-52, AL-59, AL-61, AL-64, AL-66, AL-89, AL-90, AL-92, AL-98,
// AL-101, AL-107, AL-111: both calls of a tool in a step have the same events, report and result, in each step. So
// do both guardrails of a kind, and the model calls of each step.
func TestAL41EachCall(t *testing.T) {
	tools := []struct {
		name, events, report, result string
	}{
		{"good", "onToolCallComplete # *", "10 false <nil> map[n:{* id}]", `# * {"id":"*"} {agentloop/1 *} false`},
		{"bad", "onToolCallError # *: no luck", "10 false no luck map[n:{* id}]", "later true"},
		{"ghost", "onToolCallError # *: GHOST\nonWarning tool_not_found", "0 false GHOST map[]", "GHOST true"},
		{"skipped", "", "0 true <nil> map[]", "skipped: the call was not run false"},
		{"mine", "", "0 false <nil> map[]", "mine false"},
		{"refused", "", "0 false no map[]", "no true"},
		{"asks", "onApprovalRequested *\ncheckpoint *\nonApprovalResolved * approve\nonToolCallComplete # *", "10 false <nil> map[n:{* id}]", `# * {"id":"*"} {agentloop/1 *} false`},
		{"passed", "onApprovalRequested *\ncheckpoint *\nonApprovalResolved * skip", "0 true <nil> map[]", "no need false"},
		{"denied", "onApprovalRequested *\ncheckpoint *\nonApprovalResolved * deny", "0 false not now map[]", "not now true"},
	}
	decisions := map[string]middleware.Approval{
		"asks": {Decision: middleware.Approve}, "passed": {Decision: middleware.Skip, Reason: "no need"}, "denied": {Decision: middleware.Deny, Reason: "not now"},
	}
	cfg := agentloop.Config{OneTool: true, Retry: loop.Retry{Max: 1}}
	for _, name := range []string{"in1", "in2", "out1", "out2"} {
		kind := middleware.GuardInput
		if name[0] == 'o' {
			kind = middleware.GuardOutput
		}
		cfg.Guardrails = append(cfg.Guardrails, middleware.Guardrail{Name: name, Kind: kind, Check: func(context.Context, middleware.GuardrailCheck) (middleware.GuardrailResult, error) {
			return middleware.GuardrailResult{}, nil
		}})
	}
	cfg.Policy = func(_ context.Context, r middleware.PermissionRequest) (middleware.Permission, error) {
		_, ask := decisions[r.Tool]
		return middleware.Permission{Allow: r.Tool != "refused", Ask: ask, Reason: "no"}, nil
	}
	cfg.Approve = func(_ context.Context, r middleware.ApprovalRequest) (middleware.Approval, error) {
		return decisions[r.Call.Name], nil
	}
	for _, streamed := range []bool{false, true} {
		var turns []fake.Response
		var wantLog, wantModel, wantStream, wantReport, wantResults, names []string
		for _, tool := range tools {
			if tool.name != "ghost" {
				names = append(names, tool.name)
			}
		}
		for step := range 3 {
			response := fake.Response{Reasoning: "hm", Delay: 5 * time.Millisecond, Usage: llm.Usage{InputTokens: 1}}
			wantLog = append(wantLog, fmt.Sprint("onStepStart ", step), "onGuardrailTriggered in1", "onGuardrailTriggered in2",
				fmt.Sprintf(`onStepComplete %d "" %s`, step, []string{"tool_use", "tool_use", "stop"}[step]), "onGuardrailTriggered out1", "onGuardrailTriggered out2")
			var ends []string
			wantStream = append(wantStream, "thinking")
			for _, tool := range tools {
				for n := range 2 {
					if step == 2 {
						continue
					}
					id := fmt.Sprint(step, tool.name, n)
					fill := strings.NewReplacer("#", fmt.Sprint(step), "*", id, "GHOST", `there is no tool "ghost"; the tools are `+strings.Join(names, ", ")).Replace
					response.Calls = append(response.Calls, fake.Call{ID: id, Name: tool.name, Arguments: fmt.Sprintf(`{"id":%q}`, id)})
					wantLog = append(wantLog, fmt.Sprint("onToolCallStart ", step, " ", id))
					if tool.events != "" {
						wantLog = append(wantLog, strings.Split(fill(tool.events), "\n")...)
					}
					wantReport = append(wantReport, fmt.Sprintf(`%d %s %s {"id":%q} %s`, step, id, tool.name, id, fill(tool.report)))
					wantResults = append(wantResults, id+" "+fill(tool.result))
					wantStream = append(wantStream, "tool_call_start "+id)
					ends = append(ends, "tool_call_end "+id+" "+map[bool]string{true: "10ms", false: "0s"}[strings.HasPrefix(tool.report, "10")])
				}
			}
			wantStream = append(wantStream, ends...)
			turns = append(turns, fake.Response{Attempts: []fake.Response{{Error: &fake.Failure{Status: 503}}, response}})
			for _, name := range []string{"Request # 1", "Error # 1", "Retry # 2", "Request # 2", "Start # 2", "Response # 2"} {
				if name[0] != 'S' || streamed {
					wantModel = append(wantModel, "onModel"+strings.Replace(name, "#", fmt.Sprint(step), 1))
				}
			}
		}
		w := newWorld(t, turns...)
		run := func(ctx context.Context, c loop.Call) (loop.Output, error) {
			middleware.SetMetric(ctx, "n", middleware.Metric{Value: c.ID, Type: "id"})
			failed := map[string]error{"bad": errors.New("no luck")}[c.Name]
			return loop.TextOutput(fmt.Sprint(c.Step, " ", c.ID, " ", c.Arguments, " ", c.Trace)), errors.Join(w.clock.Sleep(ctx, 10*time.Millisecond), failed)
		}
		cfg.Tools = nil
		for _, name := range names {
			cfg.Tools = append(cfg.Tools, loop.Tool{Name: name, Run: run})
		}
		cfg.Checkpoint = func(_ context.Context, _ string, s agentloop.Snapshot) error {
			w.log = append(w.log, "checkpoint "+s.PendingToolCalls[0].CallID)
			return nil
		}
		w.hook = func(ev agentloop.Event) error {
			switch d := ev.Data.(type) {
			case *middleware.ToolStarting:
				d.Skip = d.Call.Name == "skipped"
				if d.Call.Name == "mine" {
					d.Override = new(loop.TextOutput("mine"))
				}
			case *middleware.ToolFailed:
				if !d.Unknown {
					d.Fallback = []llm.Part{llm.Text{Text: "later"}}
				}
			}
			return nil
		}
		w.agent(cfg)
		var model, events, report, results []string
		w.Hooks().Subscribe(func(_ context.Context, ev agentloop.Event) error {
			if ev.Attempt > 0 {
				model = append(model, fmt.Sprint(ev.Name, " ", ev.Step, " ", ev.Attempt))
			}
			return nil
		})
		if !streamed {
			w.run("go")
		} else {
			for _, ev := range w.stream("go", nil) {
				switch ev.Type {
				case "tool_call_end":
					events = append(events, fmt.Sprint(ev.Type, " ", ev.CallID, " ", ev.Latency))
				case "tool_call_start", "thinking":
					events = append(events, strings.TrimSpace(ev.Type+" "+ev.CallID))
				}
			}
			same(t, "the stream", wantStream, events)
		}
		same(t, "the events of the model", wantModel, model)
		same(t, "the events", wantLog, w.log[2:len(w.log)-1])
		for _, step := range w.last().Steps {
			for _, c := range step.ToolCalls {
				failure := "<nil>"
				if c.Error != nil {
					failure = *c.Error
				}
				report = append(report, fmt.Sprint(step.Index, " ", c.CallID, " ", c.ToolName, " ", string(c.Arguments), " ", c.LatencyMs, " ", c.Skipped, " ", failure, " ", c.Metrics))
			}
		}
		same(t, "the report", wantReport, report)
		for _, entry := range w.History().Entries() {
			if entry.Message.Role == llm.RoleAssistant && entry.Meta.Latency < 5*time.Millisecond {
				t.Errorf("the entry %d has the latency %v", entry.Index, entry.Meta.Latency)
			}
			for _, p := range entry.Message.Parts {
				if r, ok := p.(llm.ToolResult); ok {
					results = append(results, fmt.Sprint(r.ID, " ", r.Text(), " ", r.IsError))
				}
			}
		}
		same(t, "the results", wantResults, results)
		same(t, "the history", "user/1 assistant/19 tool/18 assistant/19 tool/18 assistant/1", w.roles())
	}
}
