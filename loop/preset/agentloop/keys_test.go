package agentloop_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/history"
	"github.com/looptape/looptape/loop/middleware"
	"github.com/looptape/looptape/loop/preset/agentloop"
	"github.com/looptape/looptape/trace"
)

// keyCase sets one key of the configuration. Only the observations of want have another value
// than without the key.
type keyCase struct {
	key  string
	set  func(w *world, cfg *agentloop.Config)
	want map[string]string
}

// AL-03: each of the seventeen keys alone changes exactly what it names.
func TestAL03Keys(t *testing.T) {
	cold := 0.5
	asks := middleware.PermissionPolicy(func(_ context.Context, r middleware.PermissionRequest) (middleware.Permission, error) {
		return middleware.Permission{Ask: r.Tool == "slow"}, nil
	})
	plain := func(*world, *agentloop.Config) {}
	asking := func(_ *world, cfg *agentloop.Config) { cfg.Policy = asks }
	for _, c := range []struct {
		base  func(*world, *agentloop.Config)
		cases []keyCase
	}{
		{plain, []keyCase{
			{"client", func(w *world, _ *agentloop.Config) { w.model.Responses[2].Text = "of another client" }, map[string]string{"text": "of another client"}},
			{"system", func(_ *world, cfg *agentloop.Config) { cfg.System = "S" }, map[string]string{"system": "S", "layers": "agentloop.system"}},
			{"system, a thunk", func(_ *world, cfg *agentloop.Config) {
				cfg.SystemFunc = func(context.Context) (string, error) { return "F", nil }
			}, map[string]string{"system": "F", "layers": "agentloop.system"}},
			{"context", func(_ *world, cfg *agentloop.Config) { cfg.Context = "C" }, map[string]string{"system": "C", "layers": "agentloop.context"}},
			{"tools", func(w *world, cfg *agentloop.Config) { cfg.Tools = append(w.tools(), text("ghost", "G")) }, map[string]string{
				"tools": "a slow bad ghost", "results": "S A G", "events": "start slow, start a, start ghost, complete a, complete ghost, complete slow",
			}},
			{"history", func(_ *world, cfg *agentloop.Config) {
				cfg.History = history.New("H")
				cfg.History.Append(llm.User("before"), history.Meta{})
				cfg.History.Append(llm.Assistant(llm.Text{Text: "yes"}), history.Meta{})
			}, map[string]string{"messages": "before yes go", "id": "H"}},
			{"hooks", func(_ *world, cfg *agentloop.Config) { cfg.Hooks = nil }, map[string]string{"own bus": "0", "events": ""}},
			{"maxTokens", func(_ *world, cfg *agentloop.Config) { cfg.MaxTokens = 7 }, map[string]string{"maxTokens": "7"}},
			{"temperature", func(_ *world, cfg *agentloop.Config) { cfg.Temperature = &cold }, map[string]string{"temperature": "0.5"}},
			{"thinking", func(_ *world, cfg *agentloop.Config) { cfg.Thinking = "high" }, map[string]string{"thinking": "high"}},
			{"parallelToolCalls", func(_ *world, cfg *agentloop.Config) { cfg.OneTool = true }, map[string]string{
				"events": "start slow, complete slow, start a, complete a, start ghost, error ghost",
			}},
			{"toolTimeout", func(_ *world, cfg *agentloop.Config) { cfg.ToolTimeout = 20 * time.Millisecond }, map[string]string{
				"results": "the tool took too long (20ms) A unknown", "events": "start slow, start a, start ghost, error ghost, complete a, error slow",
			}},
			{"maxSteps", func(_ *world, cfg *agentloop.Config) { cfg.MaxSteps = 1 }, map[string]string{"calls": "1", "reason": "max_steps", "text": ""}},
			{"guardrails", func(_ *world, cfg *agentloop.Config) {
				cfg.Guardrails = []middleware.Guardrail{{Name: "g", Kind: middleware.GuardOutput, Check: func(_ context.Context, c middleware.GuardrailCheck) (middleware.GuardrailResult, error) {
					return middleware.GuardrailResult{Pass: c.Step < 2, Tripwire: true, Reason: "tripped"}, nil
				}}}
			}, map[string]string{"reason": "guardrail", "text": "tripped"}},
			{"guardrails, of the input", func(_ *world, cfg *agentloop.Config) {
				cfg.Guardrails = []middleware.Guardrail{{Name: "g", Kind: middleware.GuardInput, Check: func(_ context.Context, c middleware.GuardrailCheck) (middleware.GuardrailResult, error) {
					return middleware.GuardrailResult{Pass: c.Step < 2, Tripwire: true, Reason: "tripped"}, nil
				}}}
			}, map[string]string{"reason": "guardrail", "text": "tripped", "calls": "2"}},
			{"policy", func(_ *world, cfg *agentloop.Config) {
				cfg.Policy = func(_ context.Context, r middleware.PermissionRequest) (middleware.Permission, error) {
					return middleware.Permission{Allow: r.Tool == "a", Reason: "forbidden"}, nil
				}
			}, map[string]string{"results": "forbidden A unknown", "events": "start slow, start a, start ghost, error ghost, complete a"}},
		}},
		{func(_ *world, cfg *agentloop.Config) { cfg.System, cfg.Context = "S", "C" }, []keyCase{
			{"cache", func(_ *world, cfg *agentloop.Config) { cfg.Cache = json.RawMessage(`{"type":"ephemeral"}`) }, map[string]string{"cache": "S"}},
		}},
		{asking, []keyCase{
			{"approve", func(_ *world, cfg *agentloop.Config) {
				cfg.Approve = func(context.Context, middleware.ApprovalRequest) (middleware.Approval, error) {
					return middleware.Approval{Decision: middleware.Approve}, nil
				}
			}, map[string]string{"results": "S the permission policy does not allow it unknown", "events": "start slow, start a, start ghost, error ghost, complete slow"}},
			{"checkpoint", func(w *world, cfg *agentloop.Config) {
				cfg.Checkpoint = func(_ context.Context, key string, s agentloop.Snapshot) error {
					w.saved = append(w.saved, fmt.Sprint(key, " ", s.PendingToolCalls[0].ToolName))
					return nil
				}
			}, map[string]string{"saved": "agent-loop:agentloop slow, agent-loop:agentloop slow"}},
		}},
	} {
		without := observed(t, c.base, plain)
		for _, k := range c.cases {
			got := observed(t, c.base, k.set)
			maps.DeleteFunc(got, func(name, value string) bool { return value == without[name] })
			same(t, k.key, k.want, got)
		}
	}
}

// marked returns the parts of the system prompt with a cache mark.
func marked(r *llm.Request) string {
	var texts []string
	for _, p := range r.System {
		if p.CacheMark {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, ", ")
}

// observed runs an agent and returns what the keys of its configuration may change.
func observed(t *testing.T, sets ...func(*world, *agentloop.Config)) map[string]string {
	t.Helper()
	w := newWorld(t, calls("", "slow", "a", "ghost"), calls("2", "slow"), says("text"))
	own := 0
	bus := new(agentloop.Bus)
	bus.Subscribe(func(_ context.Context, ev agentloop.Event) error {
		own++
		if what, isCall := strings.CutPrefix(ev.Name, "onToolCall"); isCall && ev.Step == 0 {
			w.log = append(w.log, strings.ToLower(what)+strings.TrimPrefix(w.line(ev), ev.Name+" 0"))
		}
		return nil
	})
	cfg := agentloop.Config{Tools: w.tools(), Hooks: bus, Clock: w.clock}
	for _, set := range sets {
		set(w, &cfg)
	}
	l, err := agentloop.New(t.Context(), w.model, &cfg)
	if err != nil {
		t.Fatal(err)
	}
	w.Loop = l
	res := w.run("go")
	first := w.model.Requests()[0]
	out := map[string]string{
		"text": res.Text(), "reason": string(res.Reason), "calls": fmt.Sprint(len(w.model.Requests())), "id": l.ID(), "system": first.System.Text(),
		"maxTokens": fmt.Sprint(first.Settings.MaxTokens), "thinking": first.Settings.ReasoningEffort, "cache": marked(first),
		"own bus": fmt.Sprint(min(own, 1)), "saved": strings.Join(w.saved, ", "),
	}
	if first.Settings.Temperature != nil {
		out["temperature"] = fmt.Sprint(*first.Settings.Temperature)
	}
	for _, tool := range first.Tools {
		out["tools"] = strings.TrimSpace(out["tools"] + " " + tool.Name)
	}
	for _, m := range first.Messages {
		out["messages"] = strings.TrimSpace(out["messages"] + " " + m.Text())
	}
	for _, layer := range l.History().Layers().Own() {
		out["layers"] = strings.TrimSpace(out["layers"] + " " + layer.Name)
	}
	var results []string
	for _, r := range w.last().Steps[0].ToolCalls {
		for _, m := range w.History().Messages() {
			for _, p := range m.Parts {
				if res, ok := p.(llm.ToolResult); ok && res.ID == r.CallID {
					text, _, _ := strings.Cut(strings.Replace(res.Text(), "there is no tool", "unknown|", 1), "|")
					results = append(results, text)
				}
			}
		}
	}
	out["results"] = strings.Join(results, " ")
	var events []string
	for _, line := range w.log {
		what, _, _ := strings.Cut(line, ":")
		events = append(events, what)
	}
	out["events"] = strings.Join(events, ", ")
	return out
}

// AL-44, AL-98: a call of an unknown tool emits onToolCallError and then onWarning, once each, before the
// next step. Its report contains the error, and no onToolCallComplete follows. Another failure causes no
// warning.
func TestAL44UnknownToolEvents(t *testing.T) {
	w := newWorld(t, calls("", "ghost"), calls("2", "a", "bad", "ghost"), says("x")).agent(agentloop.Config{})
	unknown := `there is no tool "ghost"; the tools are a, slow, bad`
	w.hook = func(ev agentloop.Event) error {
		if d, ok := ev.Data.(trace.Warning); ok && d.Message != unknown {
			t.Errorf("the warning %+v", d)
		}
		return nil
	}
	w.run("go")
	same(t, "events", []string{
		"onAgentCreate", `onRunStart "go"`, "onStepStart 0", `onStepComplete 0 "" tool_use`,
		"onToolCallStart 0 ghost", "onToolCallError 0 ghost: " + unknown, "onWarning tool_not_found",
		"onStepStart 1", `onStepComplete 1 "" tool_use`,
		"onToolCallStart 1 2a", "onToolCallStart 1 2bad", "onToolCallStart 1 2ghost", "onToolCallError 1 2ghost: " + unknown, "onWarning tool_not_found",
		"onToolCallComplete 1 2a", "onToolCallError 1 2bad: no luck",
		"onStepStart 2", `onStepComplete 2 "x" stop`, "onRunComplete done",
	}, w.log)
	call := w.last().Steps[0].ToolCalls[0]
	if len(w.model.RecordedRequests()) != 3 || call.Error == nil || *call.Error != unknown || call.Skipped || call.ToolName != "ghost" {
		t.Errorf("%d requests, the report of the call: %+v", len(w.model.RecordedRequests()), call)
	}
	if res := w.History().Messages()[2].Parts[0].(llm.ToolResult); !res.IsError || res.Text() != unknown {
		t.Errorf("the result: %+v", res)
	}
}

// AL-47, AL-111: the context of a tool has its step, its call id, a signal with the end of the
// timeout, a map for metrics, and the trace context of the run if the run is traced, also if the
// tool fails. A sub-agent that the tool starts is recorded below the call. No timer is left when the run has ended.
func TestAL47Context(t *testing.T) {
	for _, traced := range []bool{true, false} {
		w := newWorld(t, calls("1", "look"), calls("2", "look"), says("x"))
		var got []string
		clock := &timers{Clock: w.clock}
		look, err := loop.NewTool("look", "", func(ctx context.Context, _ struct{}) (loop.Output, error) {
			c, _ := loop.CallFromContext(ctx)
			metric := middleware.SetMetric(ctx, "m", middleware.Metric{Value: 1, Type: "count"})
			got = append(got, fmt.Sprint(c.Step, " ", c.ID, " timers ", clock.open, " ", ctx.Err(), " metric ", metric, " trace ", c.Trace))
			if c.Step > 0 {
				return loop.Output{}, errors.New("no luck")
			}
			if !traced {
				return loop.TextOutput(""), nil
			}
			sub := newWorld(t, says("sub"))
			agent, err := loop.New(sub.model, &loop.Config{Clock: w.clock, Sink: trace.SinkFunc(func(ev trace.Event) error {
				if b, ok := ev.Body.(trace.RunStart); ok {
					got = append(got, fmt.Sprint("the run ", ev.Run, " below ", *b.Parent))
				}
				return nil
			})})
			if err != nil {
				return loop.Output{}, err
			}
			_, err = agent.Run(context.WithoutCancel(t.Context()), loop.Input{Messages: []llm.Message{llm.User("go")}, Parent: &c.Trace})
			return loop.TextOutput(""), err
		})
		if err != nil {
			t.Fatal(err)
		}
		cfg := agentloop.Config{Tools: []loop.Tool{look}, ToolTimeout: time.Second}
		w.dress(&cfg)
		cfg.Clock = clock
		if !traced {
			cfg.Sink = nil
		}
		l, err := agentloop.New(t.Context(), w.model, &cfg)
		if err != nil {
			t.Fatal(err)
		}
		w.Loop = l
		w.run("go")
		first, second := "{agentloop/1 1look}", "{agentloop/1 2look}"
		if !traced {
			first, second = "{ }", "{ }"
		}
		want := []string{"0 1look timers 1 <nil> metric true trace " + first, "1 2look timers 1 <nil> metric true trace " + second}
		if traced {
			want = slices.Insert(want, 1, "the run agentloop/1/1look below {agentloop/1 1look}")
		}
		same(t, fmt.Sprint("contexts, traced: ", traced), want, got)
		if clock.open != 0 || clock.set != 2 {
			t.Errorf("%d timers were set, %d are left", clock.set, clock.open)
		}
		for _, step := range w.last().Steps[:2] {
			same(t, "metrics", map[string]middleware.Metric{"m": {Value: 1, Type: "count"}}, step.ToolCalls[0].Metrics)
		}
	}
}

// timers counts the timeouts of a clock that have been set and not ended.
type timers struct {
	*fake.Clock
	set, open int
}

func (c *timers) WithTimeout(ctx context.Context, d time.Duration, cause error) (context.Context, context.CancelFunc) {
	ctx, cancel := c.Clock.WithTimeout(ctx, d, cause)
	c.set++
	c.open++
	return ctx, sync.OnceFunc(func() {
		c.open--
		cancel()
	})
}

// AL-47: each tool of each step that honors the signal fails at its timeout. A tool that ignores it is
// awaited: a value that it returns late is its result, and a late error is the timeout.
func TestAL47Late(t *testing.T) {
	for _, c := range []struct {
		honors bool
		err    error
		want   string
		after  time.Duration
	}{
		{true, nil, "the tool took too long (20ms)", 20 * time.Millisecond},
		{false, nil, "late", 30 * time.Millisecond},
		{false, errors.New("late error"), "the tool took too long (20ms)", 30 * time.Millisecond},
	} {
		both := func(ids ...string) (r fake.Response) {
			for _, id := range ids {
				r.Calls = append(r.Calls, fake.Call{ID: id, Name: "wait", Arguments: "{}"})
			}
			return r
		}
		w := newWorld(t, both("1", "2"), both("3", "4"), says("x"))
		w.agent(agentloop.Config{ToolTimeout: 20 * time.Millisecond, Tools: []loop.Tool{{Name: "wait", Run: func(ctx context.Context, _ loop.Call) (loop.Output, error) {
			if !c.honors {
				ctx = context.WithoutCancel(ctx)
			}
			if err := w.clock.Sleep(ctx, 30*time.Millisecond); err != nil {
				return loop.Output{}, err
			}
			return loop.TextOutput("late"), c.err
		}}}})
		begin := w.clock.Now()
		w.run("go")
		isError := c.want != "late"
		for _, p := range slices.Concat(w.History().Messages()[2].Parts, w.History().Messages()[4].Parts) {
			if res := p.(llm.ToolResult); res.Text() != c.want || res.IsError != isError || w.clock.Now().Sub(begin) != 2*c.after {
				t.Errorf("%+v: call %s: got %q, error %v, after %v", c, res.ID, res.Text(), res.IsError, w.clock.Now().Sub(begin))
			}
		}
	}
}
