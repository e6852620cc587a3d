package preset_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/preset/agentier"
	"github.com/looptape/looptape/loop/preset/agentloop"
	"github.com/looptape/looptape/loop/preset/deepagents"
	"github.com/looptape/looptape/loop/preset/deuz"
	"github.com/looptape/looptape/loop/preset/reactagent"
	"github.com/looptape/looptape/loop/uistream"
	"github.com/looptape/looptape/trace"
)

// entryPoints are the entry points of the presets: the defaults that the run declares, the number of
// model calls at the default step limit and with the step limit 40 if a tool always fails, and a run.
var entryPoints = []struct {
	name, defaults string
	calls, calls40 int
	run            func(context.Context, llm.Model, loop.Config) error
}{
	{"deuz.GenerateText", "preset=deuz delivery=buffered max_steps=1 concurrency=5 same_tool_error_stop=3", 1, 3, func(ctx context.Context, m llm.Model, cfg loop.Config) error {
		_, err := deuz.GenerateText(ctx, deuz.Options{Model: m, Messages: []llm.Message{llm.User("go")}, Loop: cfg})
		return err
	}},
	{"deuz.StreamChat", "preset=deuz max_steps=1 concurrency=5 same_tool_error_stop=3", 1, 3, func(ctx context.Context, m llm.Model, cfg loop.Config) error {
		_, err := deuz.StreamChat(ctx, deuz.Options{Model: m, Messages: []llm.Message{llm.User("go")}, Loop: cfg}).Usage()
		return err
	}},
	{"agentier.Run", agentierDefaults("delivery=buffered "), 10, 40, func(ctx context.Context, m llm.Model, cfg loop.Config) error {
		a, err := agentier.New(m, &cfg)
		if err != nil {
			return err
		}
		_, err = a.Run(ctx, loop.Prompt("go"), nil)
		return err
	}},
	{"agentier.RunFor", agentierDefaults("delivery=buffered "), 10, 40, func(ctx context.Context, m llm.Model, cfg loop.Config) error {
		a, err := agentier.New(m, &cfg)
		if err != nil {
			return err
		}
		_, _, err = agentier.RunFor[struct{}](ctx, a, loop.Prompt("go"), 0, &agentier.RunOptions{OnComplete: func(*agentier.Result) {}})
		return err
	}},
	{"agentier.Parts", agentierDefaults(""), 10, 40, func(ctx context.Context, m llm.Model, cfg loop.Config) error {
		a, err := agentier.New(m, &cfg)
		if err != nil {
			return err
		}
		for p := range a.Parts(ctx, loop.Prompt("go"), &agentier.RunOptions{}) {
			err = p.Err
		}
		return err
	}},
	{"deepagents.Generate", "preset=deepagents max_steps=25 concurrency=unbounded", 25, 40, func(ctx context.Context, m llm.Model, cfg loop.Config) error {
		_, err := deepagents.Generate(ctx, &deepagents.Agent{Name: "root", Model: m}, loop.Prompt("go"), nil, &deepagents.Options{Loop: cfg})
		return err
	}},
	{"deepagents.Execute", "preset=deepagents max_steps=25 concurrency=unbounded", 25, 40, func(ctx context.Context, m llm.Model, cfg loop.Config) error {
		s, err := deepagents.Execute(ctx, &deepagents.Agent{Name: "root", Model: m}, loop.Prompt("go"), nil, &deepagents.Options{Loop: cfg})
		if err == nil {
			_, err = s.Wait()
		}
		return err
	}},
	{"deepagents.Swarm", "preset=deepagents max_steps=25 concurrency=unbounded", 25, 40, func(ctx context.Context, m llm.Model, cfg loop.Config) error {
		parts, err := deepagents.Swarm(ctx, &deepagents.Agent{Name: "root", Model: m}, loop.Prompt("go"), nil, &deepagents.Options{Loop: cfg}, uistream.Options{})
		if err == nil {
			for range parts {
			}
		}
		return err
	}},
	{"agentloop.Complete", "preset=agentloop delivery=buffered " + agentloopDefaults, 16, 40, func(ctx context.Context, m llm.Model, cfg loop.Config) error {
		l, err := agentloop.New(ctx, m, agentloopConfig(cfg))
		if err == nil {
			_, err = l.Complete(ctx, agentloop.Input{Text: "go"}, nil)
		}
		return err
	}},
	{"agentloop.Stream", "preset=agentloop " + agentloopDefaults, 16, 40, func(ctx context.Context, m llm.Model, cfg loop.Config) error {
		l, err := agentloop.New(ctx, m, agentloopConfig(cfg))
		if err != nil {
			return err
		}
		for _, failure := range l.Stream(ctx, agentloop.Input{Text: "go"}, nil) {
			err = errors.Join(err, failure)
		}
		return err
	}},
	{"reactagent.New", reactagentDefaults, 25, 41, func(ctx context.Context, m llm.Model, cfg loop.Config) error {
		a, err := reactagent.New(m, &reactagent.Config{Config: cfg})
		if err == nil && !a.Run(ctx, []llm.Message{llm.User("go")}, "", nil) {
			err = errors.New("the run failed")
		}
		return err
	}},
	{"reactagent.NewDeep", reactagentDefaults, 25, 41, func(ctx context.Context, m llm.Model, cfg loop.Config) error {
		a, err := reactagent.NewDeep(m, &reactagent.DeepConfig{Config: reactagent.Config{Config: cfg}})
		if err == nil && !a.Run(ctx, []llm.Message{llm.User("go")}, "", func(reactagent.Event) {}) {
			err = errors.New("the run failed")
		}
		return err
	}},
}

const agentloopDefaults = "max_steps=16 concurrency=unbounded tool_timeout=30s late_results=keep call_order=by_end gate_mode=per_call bad_args=empty_object"

const reactagentDefaults = "preset=reactagent max_steps=24 cap_at=top on_cap=force_final concurrency=unbounded tool_message=one_per_call assistant_append=after_hooks duplicate_round=skip"

func agentierDefaults(delivery string) string {
	return "preset=agentier " + delivery + "max_steps=10 cap_at=top concurrency=unbounded deadline=1m0s grace=1s tool_message=one_per_call error_flag=off"
}

// agentloopConfig has the options of cfg that this preset knows.
func agentloopConfig(cfg loop.Config) *agentloop.Config {
	return &agentloop.Config{
		Model: cfg.Model, System: cfg.System, Tools: cfg.Tools, MaxSteps: cfg.MaxSteps, ToolTimeout: cfg.ToolTimeout, OneTool: cfg.Concurrency == 1,
		Middleware: cfg.Middleware, Retry: cfg.Retry, Clock: cfg.Clock, Sink: cfg.Sink,
	}
}

// AG-03, AG-04, AG-10, AG-16, AG-18, AG-24, AL-04, AL-34, AL-36, DA-10, DA-49, DZ-03, DZ-04, DZ-11, DZ-40, DZ-43, RA-01,
// RA-04, RA-18, RA-19, RA-24, RA-29, RA-32: each default of a preset applies at each of its entry points, whichever
// other options the caller sets. own names the options that a variant changes.
func TestDefaultsOfEntryPoints(t *testing.T) {
	for _, v := range []struct {
		name, own string
		set       func(*loop.Config)
	}{
		{"nothing", "", func(*loop.Config) {}},
		{"step limit", "", func(c *loop.Config) { c.MaxSteps = 40 }},
		{"stop condition", "stop_when", func(c *loop.Config) {
			c.StopWhen = []loop.StopCondition{{Stop: func(_ context.Context, s *loop.StepInfo) (bool, error) { return len(s.Steps) == 40, nil }}}
		}},
		{"request", "tool_choice retry_max retry_base", func(c *loop.Config) {
			c.ToolChoice, c.System, c.Settings, c.Retry.Max = llm.ToolChoice{Mode: llm.ChooseRequired}, "brief", llm.Settings{MaxTokens: 9, Seed: new(int64)}, 2
			c.Middleware, c.OnStep = []loop.Middleware{looks}, func(loop.Step) {}
		}},
		{"one tool at a time", "concurrency token_budget deadline", func(c *loop.Config) { c.Concurrency, c.TokenBudget, c.Deadline = 1, 1<<40, time.Hour }},
		{"limits of tools", "same_tool_error_stop tool_timeout", func(c *loop.Config) { c.MaxConsecutiveToolErrors, c.ToolTimeout = 200, time.Hour }},
	} {
		for _, e := range entryPoints {
			var mem trace.Memory
			cfg := loop.Config{Model: "m", Clock: fake.NewClock(), Sink: &mem, Tools: []loop.Tool{tool("bad", func(context.Context) error { return errors.New("boom") })}}
			v.set(&cfg)
			m := &fake.Model{Clock: cfg.Clock.(*fake.Clock), Responses: []fake.Response{{Repeat: 200, Calls: []fake.Call{{Name: "bad", Arguments: `{"n":{n}}`}}}}}
			if err := e.run(t.Context(), m, cfg); err != nil {
				t.Errorf("%s, %s: %v", e.name, v.name, err)
			}
			declared := mem.Events()[0].Body.(trace.RunStart).Options
			// Stop conditions replace only the step limit of deepagents.
			raised := v.name == "step limit" || v.name == "stop condition" && strings.HasPrefix(e.name, "deepagents.")
			own := func(o trace.Option) bool {
				return slices.Contains(strings.Fields(v.own), o.Name) || raised && o.Name == "max_steps"
			}
			if diff := cmp.Diff(slices.DeleteFunc(options(e.defaults), own), slices.DeleteFunc(slices.Clone(declared), own)); diff != "" {
				t.Errorf("%s, %s: options (-want +got):\n%s", e.name, v.name, diff)
			}
			want := e.calls
			if raised {
				want = e.calls40
			}
			if n := len(m.RecordedRequests()); n != want {
				t.Errorf("%s, %s: got %d model calls, want %d", e.name, v.name, n, want)
			}
		}
	}
}

// AG-47, AL-01, DZ-53, RA-01: each entry point needs a model, and returns an error without one.
func TestModelOfEntryPoints(t *testing.T) {
	for _, e := range entryPoints {
		if err := e.run(t.Context(), nil, loop.Config{Model: "m"}); err == nil || !strings.Contains(strings.ToLower(err.Error()), "model") && !strings.Contains(err.Error(), "provider") {
			t.Errorf("%s: got error %v, want one about the missing model", e.name, err)
		}
	}
}

// options reads options in the form of a canonical trace.
func options(text string) (list trace.Options) {
	for _, f := range strings.Fields(text) {
		name, value, _ := strings.Cut(f, "=")
		list = list.With(name, value)
	}
	return list
}
