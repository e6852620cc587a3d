package preset_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/preset"
	"github.com/looptape/looptape/trace"
)

// rows contains the rows of the option matrix in which presets differ. Each function
// returns the value of a configuration.
var rows = map[string]func(loop.Config) string{
	"max_steps":            func(c loop.Config) string { return fmt.Sprint(c.MaxSteps) },
	"cap_at":               func(c loop.Config) string { return fmt.Sprint(c.CheckLimitBeforeStep) },
	"on_cap":               func(c loop.Config) string { return string(c.OnStepLimit) },
	"deadline":             func(c loop.Config) string { return fmt.Sprint(c.Deadline, c.DeadlineReturns) },
	"tool_timeout":         func(c loop.Config) string { return fmt.Sprint(c.ToolTimeout) },
	"concurrency":          func(c loop.Config) string { return fmt.Sprint(c.Concurrency) },
	"tool_message":         func(c loop.Config) string { return fmt.Sprint(c.OneMessagePerResult) },
	"assistant_append":     func(c loop.Config) string { return fmt.Sprint(c.AppendAfterHooks) },
	"error_flag":           func(c loop.Config) string { return fmt.Sprint(c.OmitErrorFlag) },
	"error_text":           errorText,
	"bad_args":             repairName,
	"unknown_tool":         func(c loop.Config) string { return fmt.Sprint(c.BreakOnUnknownTool) },
	"same_tool_error_stop": func(c loop.Config) string { return fmt.Sprint(c.MaxConsecutiveToolErrors, c.ResetByAbsence) },
	"duplicate_round":      func(c loop.Config) string { return fmt.Sprint(c.DuplicateStep, c.MaxDuplicateSteps) },
	"client_tools":         func(c loop.Config) string { return string(c.ClientCalls) },
	"grace":                func(c loop.Config) string { return fmt.Sprint(c.Grace) },
}

// repairName returns repair if that middleware is enabled.
func repairName(c loop.Config) string {
	if slices.ContainsFunc(c.Middleware, func(p loop.Middleware) bool { return p.Name == "repair" }) {
		return "repair"
	}
	return string(c.BadArguments)
}

func errorText(c loop.Config) string {
	if c.ErrorText == nil {
		return "boom"
	}
	return c.ErrorText("t", errors.New("boom"))
}

// script contains the responses of a model and the rows that can change the result.
type script struct {
	name  string
	turns []fake.Response
	rows  []string
}

// shared is the suite of scripts that every preset runs. A script that does not test the
// step limit has twelve steps. A script that tests assistant_append has a hook that
// reports the number of messages.
var shared = []script{
	{"a text", []fake.Response{{Text: "x"}}, nil},
	{"one call", []fake.Response{call("ok{1}"), {Text: "x"}}, nil},
	{"reasoning, a text and a call", []fake.Response{{Reasoning: "hm", Text: "let me see", Calls: call("ok{1}").Calls}, {Text: "x"}}, nil},
	{"a lying finish", []fake.Response{{Calls: call("ok{1}").Calls, FinishReason: llm.FinishStop}, {Text: "x"}}, nil},
	{"two calls", []fake.Response{call("ok{1}", "ok{2}"), {Text: "x"}}, []string{"tool_message"}},
	{"eight slow calls", []fake.Response{call(strings.Fields(strings.Repeat("slow{} ", 8))...), {Text: "x"}}, []string{"tool_message", "concurrency"}},
	{"what hooks see", []fake.Response{call("ok{1}"), {Text: "x"}}, []string{"assistant_append"}},
	{"a failing tool", []fake.Response{call("bad{}"), {Text: "x"}}, []string{"error_flag", "error_text"}},
	{"a tool that fails on and on", turns(8, "bad{%d}"), []string{"error_flag", "error_text", "same_tool_error_stop"}},
	{"no end", turns(40, "ok{%d}"), []string{"max_steps", "cap_at", "on_cap"}},
	{"a duplicate step", []fake.Response{call("ok{1}"), call("ok{1}"), {Text: "x"}}, []string{"duplicate_round"}},
	{"broken arguments", []fake.Response{{Calls: []fake.Call{{ID: "c1", Name: "ok", Arguments: `{"n":`}}}, {Text: "x"}}, []string{"bad_args", "error_flag", "error_text"}},
	{"no such tool", []fake.Response{call("ghost{}"), {Text: "x"}}, []string{"unknown_tool", "error_flag", "error_text"}},
	{"a tool that hangs", []fake.Response{call("hang{}"), {Text: "x"}}, []string{"tool_timeout", "deadline", "error_flag", "error_text", "grace"}},
	{"a failing model", []fake.Response{{Error: &fake.Failure{Status: 500}}}, nil},
	{"a paused turn", []fake.Response{{Text: "to be", FinishReason: llm.FinishPause}, {Text: "continued"}}, nil},
}

// call returns a response with calls. A spec such as ok{1} is a tool and a number for it.
func call(specs ...string) fake.Response {
	var t fake.Response
	for i, s := range specs {
		name, n, _ := strings.Cut(strings.TrimSuffix(s, "}"), "{")
		t.Calls = append(t.Calls, fake.Call{ID: fmt.Sprintf("%s%s_%d", name, n, i), Name: name, Arguments: `{"n":"` + n + `"}`})
	}
	return t
}

func turns(n int, spec string) []fake.Response {
	var list []fake.Response
	for i := range n {
		list = append(list, call(fmt.Sprintf(spec, i)))
	}
	return append(list, fake.Response{Text: "x"})
}

// looks is middleware that records the number of messages in a hook after the model call.
var looks = loop.Middleware{Name: "looks", New: func(loop.RunInfo) loop.Hooks {
	return loop.Hooks{AfterModel: func(_ context.Context, s *loop.StepInfo, _ *llm.Response) (loop.Decision, error) {
		return loop.Decision{}, s.Emit("seen", fmt.Append(nil, len(s.History())))
	}}
}}

// played returns the result of a script: the canonical trace without the declarations.
func played(t *testing.T, cfg loop.Config, s script) []trace.Event {
	t.Helper()
	if slices.Contains(s.rows, "assistant_append") {
		cfg.Middleware = append(slices.Clone(cfg.Middleware), looks)
	}
	clock := fake.NewClock()
	var mem trace.Memory
	cfg.Clock, cfg.Sink = clock, &mem
	cfg.Tools = []loop.Tool{
		tool("ok", func(context.Context) error { return nil }),
		tool("bad", func(context.Context) error { return errors.New("boom") }),
		tool("slow", func(ctx context.Context) error { return clock.Sleep(ctx, time.Second) }),
		tool("hang", func(ctx context.Context) error { return clock.Sleep(ctx, time.Hour) }),
	}
	cfg.ResponseMode = llm.Streaming // the result is the same; see the twins of the contracts
	a, err := loop.New(&fake.Model{Clock: clock, Responses: s.turns}, &cfg)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = a.Run(t.Context(), loop.Prompt("go")) // the trace records the end
	events := trace.Canonical(mem.Events())
	start := events[0].Body.(trace.RunStart)
	start.Options = nil
	events[0].Body = start
	return events
}

func tool(name string, f func(context.Context) error) loop.Tool {
	return loop.Tool{Name: name, Run: func(ctx context.Context, _ loop.Call) (loop.Output, error) {
		return loop.TextOutput("done"), f(ctx)
	}}
}

// All presets run the same scripts with the same result, except for the rows of the
// matrix that a script lists. Each listed row changes the result of some presets.
func TestSharedSuite(t *testing.T) {
	for _, s := range shared {
		t.Run(s.name, func(t *testing.T) {
			got := map[string][]trace.Event{}
			group := map[string]string{}
			for _, name := range preset.Names() {
				cfg := apply(t, name, s.rows)
				got[name], group[name] = played(t, cfg, s), values(cfg, s.rows)
			}
			for _, a := range preset.Names() {
				for _, b := range preset.Names() {
					if group[a] == group[b] {
						if diff := cmp.Diff(got[a], got[b]); diff != "" {
							t.Errorf("%s and %s are the same in %q, and differ (-%s +%s):\n%s", a, b, s.rows, a, b, diff)
						}
					}
				}
			}
		})
	}
}

// apply returns the configuration of a preset for a script with these rows.
func apply(t *testing.T, name string, about []string) loop.Config {
	t.Helper()
	var cfg loop.Config
	if !slices.Contains(about, "max_steps") {
		cfg.MaxSteps = 12
	}
	cfg, err := preset.Apply(name, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// values returns the values of a configuration in these rows.
func values(c loop.Config, names []string) string {
	var list []string
	for _, name := range names {
		list = append(list, name+"="+rows[name](c))
	}
	return strings.Join(list, " ")
}

// Each preset ends at its step limit as its reference documentation specifies: with the
// current state, or with one more response without tools. A limit of zero allows the
// steps that the documentation allows.
func TestStepLimitExample(t *testing.T) {
	type end struct {
		calls, rounds int
		text          string
	}
	for _, c := range []struct {
		limit int
		want  map[string]end
	}{
		{2, map[string]end{"deuz": {2, 2, "2"}, "agentier": {2, 2, "2"}, "deepagents": {2, 2, "2"}, "agentloop": {2, 2, "2"}, "reactagent": {3, 2, "3"}}},
		{1, map[string]end{"deuz": {1, 1, "1"}, "agentier": {1, 1, "1"}, "deepagents": {1, 1, "1"}, "agentloop": {1, 1, "1"}, "reactagent": {2, 1, "2"}}},
		{-1, map[string]end{"deuz": {1, 1, "1"}, "agentier": {0, 0, ""}, "deepagents": {1, 1, "1"}, "reactagent": {1, 0, "1"}}},
	} {
		for name, want := range c.want {
			var script []fake.Response
			for i := range 4 {
				turn := call(fmt.Sprintf("ok{%d}", i+1))
				turn.Text = fmt.Sprint(i + 1)
				script = append(script, turn)
			}
			cfg, err := preset.Apply(name, loop.Config{MaxSteps: c.limit, Clock: fake.NewClock()})
			if err != nil {
				t.Fatal(err)
			}
			cfg.Tools = []loop.Tool{tool("ok", func(context.Context) error { return nil })}
			m := fake.NewModel(script...)
			a, err := loop.New(m, &cfg)
			if err != nil {
				t.Fatal(err)
			}
			res, err := a.Run(t.Context(), loop.Prompt("go"))
			got := end{res.ModelCalls, res.ToolSteps, res.Text}
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(end{})); diff != "" || err != nil {
				t.Errorf("%s, a step limit of %d: %v (-want +got):\n%s", name, c.limit, err, diff)
			}
			for i, r := range m.RecordedRequests() {
				if forced := i >= max(c.limit, 0) && name == "reactagent"; forced != (len(r.Request.Tools) == 0) {
					t.Errorf("%s, a step limit of %d: request %d has %d tools", name, c.limit, i, len(r.Request.Tools))
				}
			}
		}
	}
}

// DZ-01: without tools, deuz has one response. With each other preset, a call without
// tools is a call of an unknown tool (AL-44, DA-26, RA-23), and the run has a final answer.
func TestNoTools(t *testing.T) {
	for _, name := range preset.Names() {
		cfg, err := preset.Apply(name, loop.Config{MaxSteps: 5})
		if err != nil {
			t.Fatal(err)
		}
		a, err := loop.New(fake.NewModel(call("ghost{}"), fake.Response{Text: "x"}), &cfg)
		if err != nil {
			t.Fatal(err)
		}
		res, err := a.Run(t.Context(), loop.Prompt("go"))
		if err != nil {
			t.Fatal(err)
		}
		if name == "deuz" {
			if res.ModelCalls != 1 || len(res.Pending) != 1 || res.Steps != nil || res.StopReason != trace.ReasonClientTools {
				t.Errorf("%s: got %+v", name, res)
			}
			continue
		}
		if res.Text != "x" || len(res.Steps) != 2 || !res.Steps[0].Results[0].IsError {
			t.Errorf("%s: got %+v", name, res)
		}
	}
}

// A preset consists only of the values of its rows. Another configuration with the same
// values and another name behaves the same.
func TestPresetIsItsRows(t *testing.T) {
	for _, name := range preset.Names() {
		for _, s := range shared {
			cfg := apply(t, name, s.rows)
			other := cfg
			other.Preset = ""
			if diff := cmp.Diff(played(t, cfg, s), played(t, other, s)); diff != "" {
				t.Errorf("%s, %s (-preset +rows):\n%s", name, s.name, diff)
			}
		}
	}
}

// Each row of a script changes the result: with the value of another preset, some preset
// behaves differently.
func TestSharedRowsCount(t *testing.T) {
	set := map[string]func(to *loop.Config, from loop.Config){
		"max_steps": func(to *loop.Config, from loop.Config) { to.MaxSteps = from.MaxSteps },
		"cap_at":    func(to *loop.Config, from loop.Config) { to.CheckLimitBeforeStep = from.CheckLimitBeforeStep },
		"on_cap":    func(to *loop.Config, from loop.Config) { to.OnStepLimit = from.OnStepLimit },
		"deadline": func(to *loop.Config, from loop.Config) {
			to.Deadline, to.DeadlineReturns = from.Deadline, from.DeadlineReturns
		},
		"tool_timeout":         func(to *loop.Config, from loop.Config) { to.ToolTimeout = from.ToolTimeout },
		"concurrency":          func(to *loop.Config, from loop.Config) { to.Concurrency = from.Concurrency },
		"tool_message":         func(to *loop.Config, from loop.Config) { to.OneMessagePerResult = from.OneMessagePerResult },
		"assistant_append":     func(to *loop.Config, from loop.Config) { to.AppendAfterHooks = from.AppendAfterHooks },
		"error_flag":           func(to *loop.Config, from loop.Config) { to.OmitErrorFlag = from.OmitErrorFlag },
		"error_text":           func(to *loop.Config, from loop.Config) { to.ErrorText = from.ErrorText },
		"bad_args":             func(to *loop.Config, from loop.Config) { to.BadArguments = from.BadArguments },
		"same_tool_error_stop": func(to *loop.Config, from loop.Config) { to.MaxConsecutiveToolErrors = from.MaxConsecutiveToolErrors },
		"duplicate_round":      func(to *loop.Config, from loop.Config) { to.DuplicateStep = from.DuplicateStep },
	}
	counted := map[string]bool{}
	for _, s := range shared {
		for _, row := range s.rows {
			for _, name := range preset.Names() {
				for _, from := range preset.Names() {
					if counted[row] || set[row] == nil {
						continue
					}
					cfg := apply(t, name, s.rows)
					changed := cfg
					set[row](&changed, apply(t, from, s.rows))
					counted[row] = !cmp.Equal(played(t, cfg, s), played(t, changed, s))
				}
			}
		}
	}
	for row := range set {
		if !counted[row] && !slices.Contains(alike(t), row) {
			t.Errorf("no script of the suite is about %s", row)
		}
	}
}

// It returns the rows in which all presets have the same value.
func alike(t *testing.T) (names []string) {
	t.Helper()
	for row, value := range rows {
		seen := map[string]bool{}
		for _, name := range preset.Names() {
			seen[value(apply(t, name, []string{"max_steps"}))] = true
		}
		if len(seen) == 1 {
			names = append(names, row)
		}
	}
	return names
}

// A preset fills only the fields that the caller leaves at zero.
func TestFillKeeps(t *testing.T) {
	own := loop.Config{
		ResponseMode: llm.NonStreaming, MaxSteps: 3, CheckLimitBeforeStep: true, OnStepLimit: loop.StepLimitError, Concurrency: 2, MaxConsecutiveToolErrors: 2, ResetByAbsence: true,
		TokenBudget: 4, Deadline: 5, DeadlineReturns: true, StallTimeout: 6, ToolTimeout: 7, Grace: 8, Continuations: 9,
		OneMessagePerResult: true, AppendAfterHooks: true, BadArguments: loop.BadArgumentsPass, BreakOnUnknownTool: true,
		ClientCalls: loop.ClientRest, DuplicateStep: loop.DuplicateSkip, MaxDuplicateSteps: 2, OmitErrorFlag: true,
	}
	for _, name := range preset.Names() {
		cfg, err := preset.Apply(name, own)
		if err != nil {
			t.Fatal(err)
		}
		want, got := reflect.ValueOf(own), reflect.ValueOf(cfg)
		for i := range want.NumField() {
			if f := want.Field(i); !f.IsZero() && !reflect.DeepEqual(f.Interface(), got.Field(i).Interface()) {
				t.Errorf("%s: %s is %v, want the caller's %v", name, want.Type().Field(i).Name, got.Field(i), f)
			}
		}
	}
}
