package middleware_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/middleware"
	"github.com/looptape/looptape/trace"
	"github.com/looptape/looptape/trace/check"
)

// member returns an agent with its name as the prompt and a tool t_NAME that returns the name.
func member(id string, to ...*middleware.HandoffAgent) *middleware.HandoffAgent {
	return &middleware.HandoffAgent{
		Name: id, Handoffs: to,
		Instructions: func(vars *middleware.Vars) string {
			n, _ := total.Get(vars)
			return fmt.Sprint("I am ", id, n)
		},
		Tools: []loop.Tool{{Name: "t_" + id, Run: func(ctx context.Context, _ loop.Call) (loop.Output, error) {
			vars, _ := middleware.VarsFromContext(ctx)
			total.Update(vars, func(n int) int { return n + 1 })
			return loop.TextOutput("by " + id), nil
		}}},
	}
}

func turn(names ...string) fake.Response {
	var t fake.Response
	for _, n := range names {
		t.Calls = append(t.Calls, fake.Call{Name: n, Arguments: "{}"})
	}
	return t
}

func mustHandoff(t *testing.T, root *middleware.HandoffAgent, vars *middleware.Vars) loop.Middleware {
	t.Helper()
	p, err := middleware.Handoff(root, vars)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// handOver runs the responses with handoffs and describes each request: the system prompt, and
// the tools without their transfer_to_.
func handOver(t *testing.T, root *middleware.HandoffAgent, vars *middleware.Vars, cfg loop.Config, turns ...fake.Response) (requests []string, res *loop.Result, events []trace.Event) {
	t.Helper()
	var mem trace.Memory
	cfg.Sink = &mem
	cfg.Middleware = append([]loop.Middleware{middleware.Variables(vars), mustHandoff(t, root, vars)}, cfg.Middleware...)
	m := fake.NewModel(turns...)
	agent, err := loop.New(m, &cfg)
	if err != nil {
		t.Fatal(err)
	}
	if res, err = agent.Run(t.Context(), loop.Prompt("go")); err != nil {
		t.Fatal(err)
	}
	c := check.New(nil)
	for _, ev := range mem.Events() {
		c.Add(ev)
	}
	for _, v := range c.Done() {
		t.Errorf("%s: event %d: %s", v.Invariant, v.Event, v.Message)
	}
	for _, r := range m.RecordedRequests() {
		requests = append(requests, r.Request.System.Text()+": "+strings.ReplaceAll(toolNames(r.Request.Tools), "transfer_to_", ">"))
	}
	return requests, res, mem.Events()
}

// activates returns a tool that sets the variable with the name of the active agent.
func activates(tool, agent string) loop.Tool {
	return loop.Tool{Name: tool, Run: func(ctx context.Context, _ loop.Call) (loop.Output, error) {
		vars, _ := middleware.VarsFromContext(ctx)
		middleware.ActiveAgent.Set(vars, agent)
		return loop.TextOutput("set"), nil
	}}
}

// circle returns root -> b -> c -> root, with the reverse edges.
func circle() *middleware.HandoffAgent {
	root, b, c := member("root"), member("b"), member("c")
	root.Handoffs, b.Handoffs, c.Handoffs = []*middleware.HandoffAgent{b}, []*middleware.HandoffAgent{c, root}, []*middleware.HandoffAgent{root, b}
	return root
}

// DA-15 to DA-23: the active agent of each step, with its instructions and tools.
func TestHandoff(t *testing.T) {
	const root, b, c = "I am root0: t_root >b", "I am b0: t_b >c >root", "I am c0: t_c >root >b"
	for name, x := range map[string]struct {
		active string
		turns  []fake.Response
		want   []string
		events []string
	}{
		"DA-15 no name":           {"", []fake.Response{turn("t_root"), {Text: "x"}}, []string{root, "I am root1: t_root >b"}, nil},
		"DA-15 from the start":    {"c", []fake.Response{{Text: "x"}}, []string{c}, nil},
		"DA-16":                   {"", []fake.Response{turn("transfer_to_b"), {Text: "x"}}, []string{root, b}, []string{`1 {"from":"root","to":"b"}`}},
		"DA-17 not in the middle": {"", []fake.Response{turn("transfer_to_b", "t_root"), turn("t_root", "t_b"), {Text: "x"}}, []string{root, "I am b1: t_b >c >root", "I am b2: t_b >c >root"}, []string{`1 {"from":"root","to":"b"}`}},
		"DA-18 the last counts":   {"b", []fake.Response{turn("transfer_to_root", "transfer_to_c"), {Text: "x"}}, []string{b, c}, []string{`1 {"from":"b","to":"c"}`}},
		"DA-19 unknown name":      {"ghost", []fake.Response{turn("transfer_to_b"), turn("t_b"), {Text: "x"}}, []string{root, b, "I am b1: t_b >c >root"}, []string{`1 {"from":"root","to":"b"}`}},
		"DA-22 deeper":            {"", []fake.Response{turn("transfer_to_b"), turn("transfer_to_c"), {Text: "x"}}, []string{root, b, c}, []string{`1 {"from":"root","to":"b"}`, `2 {"from":"b","to":"c"}`}},
		"DA-23 back":              {"b", []fake.Response{turn("transfer_to_root"), {Text: "x"}}, []string{b, root}, []string{`1 {"from":"b","to":"root"}`}},
	} {
		vars := middleware.NewVars(map[string]any{"currentActiveAgent": x.active})
		got, res, events := handOver(t, circle(), vars, loop.Config{}, x.turns...)
		if diff := cmp.Diff(x.want, got); diff != "" {
			t.Errorf("%s: requests (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(x.events, customs(events, "handoff")); diff != "" {
			t.Errorf("%s: events (-want +got):\n%s", name, diff)
		}
		if name == "DA-17 not in the middle" {
			results := res.Messages[1].Parts
			first, second := results[0].(llm.ToolResult).Text(), results[1].(llm.ToolResult).Text()
			third := res.Messages[3].Parts[0].(llm.ToolResult)
			if first != "transferred to b" || second != "by root" || !third.IsError {
				t.Errorf("results: %q, %q, %+v", first, second, third)
			}
		}
	}
}

// DA-15, DA-19: an unknown name is reported once, and the active agent continues. Without a name
// the root continues.
func TestHandoffUnknownAgent(t *testing.T) {
	root := circle()
	root.Handoffs[0].Tools = []loop.Tool{activates("lose", "ghost"), activates("haunt", "phantom"), activates("unset", "")}
	got, _, events := handOver(t, root, &middleware.Vars{}, loop.Config{}, turn("transfer_to_b"), turn("lose"), turn("lose"), turn("haunt"), turn("transfer_to_root"), turn("transfer_to_b"), turn("lose"), turn("unset"), fake.Response{Text: "x"})
	const r, b = "I am root0: t_root >b", "I am b0: lose haunt unset >c >root"
	if diff := cmp.Diff([]string{r, b, b, b, b, r, b, b, r}, got); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	var warned []string
	for _, ev := range events {
		if w, ok := ev.Body.(trace.Warning); ok {
			warned = append(warned, fmt.Sprint(ev.Step, " ", w.Code, ": ", w.Message))
		}
	}
	unknown := func(step int, agent string) string {
		return fmt.Sprintf("%d unknown_agent: the variable currentActiveAgent names the unknown agent %q; b continues", step, agent)
	}
	want := []string{unknown(2, "ghost"), unknown(4, "phantom"), unknown(7, "ghost")}
	if diff := cmp.Diff(want, warned); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

// DA-24: an agent uses its own model and model name if set, otherwise those of the run. The
// tools of the run are available.
func TestHandoffModels(t *testing.T) {
	own, named, plain := member("own"), member("named"), &middleware.HandoffAgent{Name: "plain"}
	other := fake.NewModel(turn("transfer_to_named"))
	own.Model, own.Handoffs = other, []*middleware.HandoffAgent{named}
	named.ModelName, named.Handoffs = "small", []*middleware.HandoffAgent{plain}
	main := &fake.Model{Sessions: map[string][]fake.Response{"small": {turn("transfer_to_plain")}, "big": {{Text: "done"}}}}
	vars := &middleware.Vars{}
	agent, err := loop.New(main, &loop.Config{
		Model: "big", System: "everybody", Tools: []loop.Tool{tool},
		Middleware: []loop.Middleware{middleware.Variables(vars), mustHandoff(t, own, vars)},
	})
	if err != nil {
		t.Fatal(err)
	}
	if res, err := agent.Run(t.Context(), loop.Prompt("go")); err != nil || res.Text != "done" {
		t.Fatalf("got %+v, %v", res, err)
	}
	var got []string
	for _, r := range append(other.RecordedRequests(), main.RecordedRequests()...) {
		got = append(got, fmt.Sprintf("%s/%s/%s", r.Request.Model, r.Request.System.Text(), toolNames(r.Request.Tools)))
	}
	if diff := cmp.Diff([]string{"/I am own0/t_own a transfer_to_named", "small/I am named0/t_named a transfer_to_plain", "big/everybody/a"}, got); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

// DA-20: a handoff does not restart the step count.
func TestHandoffKeepsStepLimit(t *testing.T) {
	for want, cfg := range map[trace.Reason]loop.Config{
		trace.ReasonMaxSteps: {MaxSteps: 2}, trace.ReasonStopCondition: {StopWhen: []loop.StopCondition{loop.StepCountIs(2)}},
	} {
		got, res, _ := handOver(t, circle(), &middleware.Vars{}, cfg, turn("transfer_to_b"), turn("t_b"), fake.Response{Text: "never"})
		if len(got) != 2 || res.StopReason != want {
			t.Errorf("%s: got %q, %q", want, got, res.StopReason)
		}
	}
}

// A transfer tool has no parameters, and its description is that of the agent.
func TestTransferTools(t *testing.T) {
	b := member("b")
	b.Description = "Knows the weather."
	m := fake.NewModel(fake.Response{Calls: []fake.Call{{ID: "c1", Name: "transfer_to_b", Arguments: "{}"}}}, fake.Response{Text: "x"})
	agent, err := loop.New(m, &loop.Config{Middleware: []loop.Middleware{mustHandoff(t, member("root", b, member("c")), &middleware.Vars{})}})
	if err != nil {
		t.Fatal(err)
	}
	res, err := agent.Run(t.Context(), loop.Prompt("go"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, tool := range m.RecordedRequests()[0].Request.Tools {
		got = append(got, tool.Name+": "+tool.Description+" "+string(tool.Parameters))
	}
	want := []string{
		`t_root:  {"type":"object"}`,
		`transfer_to_b: Hands the conversation over to b. Knows the weather. {"type":"object"}`,
		`transfer_to_c: Hands the conversation over to c. {"type":"object"}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
	const alone = "the run has no variables for the active agent: add middleware.Variables"
	if r := res.Steps[0].Results[0]; r.Text() != alone || !r.IsError {
		t.Errorf("without variables: %+v", r)
	}
}

func TestHandoffErrors(t *testing.T) {
	for want, root := range map[string]*middleware.HandoffAgent{
		`middleware: Handoff: the root is nil: set the agent that begins`:                                                                 nil,
		`middleware: Handoff: invalid agent name "a b": use at most 52 letters, digits, _ and -, because the name is part of a tool name`: member("a b"),
		`middleware: Handoff: invalid agent name "": use at most 52 letters, digits, _ and -, because the name is part of a tool name`:    member("x", member("")),
		`middleware: Handoff: the agent "x" has a nil agent in Handoffs: remove it`:                                                       member("x", nil),
		`middleware: Handoff: duplicate agent name "b": handoffs find agents by name`:                                                     member("a", member("b"), member("c", member("b"))),
	} {
		if _, err := middleware.Handoff(root, &middleware.Vars{}); fmt.Sprint(err) != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	longest := strings.Repeat("x", 52)
	if _, err := middleware.Handoff(member("r", member(longest)), &middleware.Vars{}); err != nil {
		t.Error(err)
	}
	if _, err := middleware.Handoff(member(longest+"x"), &middleware.Vars{}); err == nil {
		t.Error("a name that is too long for a tool was accepted")
	}
	if _, err := loop.New(fake.NewModel(), &loop.Config{Tools: []loop.Tool{{Name: "transfer_to_" + longest}}}); err != nil {
		t.Error(err)
	}
	hook := func(context.Context, middleware.Ended) ([]llm.Message, error) { return nil, nil }
	_, noHook := middleware.PrepareEnd(member("r"), &middleware.Vars{}, nil, 1)
	_, noRoot := middleware.PrepareEnd(nil, &middleware.Vars{}, hook, 1)
	_, below := middleware.PrepareEnd(member("r"), &middleware.Vars{}, hook, -1)
	for want, err := range map[string]error{
		"middleware: PrepareEnd: missing function: set hook":                                          noHook,
		"middleware: PrepareEnd: the root is nil: set the agent that begins":                          noRoot,
		"middleware: PrepareEnd: the limit is -1: want the number of returns to the root, or 0 for 5": below,
	} {
		if fmt.Sprint(err) != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// An agent and the run must not have a tool of the same name.
func TestHandoffToolsTwice(t *testing.T) {
	vars := &middleware.Vars{}
	agent, err := loop.New(fake.NewModel(), &loop.Config{Tools: []loop.Tool{tool}, Middleware: []loop.Middleware{mustHandoff(t, &middleware.HandoffAgent{Name: "r", Tools: []loop.Tool{tool}}, vars)}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := agent.Run(t.Context(), loop.Prompt("go")); err == nil || err.Error() != `the middleware handoff: its tools cannot be used: two tools have the name "a"` {
		t.Errorf("got %v", err)
	}
}

// DA-31, DA-32: the root continues after the response of another agent as often as the hook
// returns messages and the limit allows. The hook is not called for responses of the root.
func TestPrepareEnd(t *testing.T) {
	boom := errors.New("boom")
	again := func(texts ...string) func(int) ([]llm.Message, error) {
		return func(n int) ([]llm.Message, error) {
			if n >= len(texts) {
				return nil, nil
			}
			return []llm.Message{llm.User(texts[n])}, nil
		}
	}
	forever := func(int) ([]llm.Message, error) { return []llm.Message{llm.User("more")}, nil }
	there := turn("transfer_to_b")
	for name, x := range map[string]struct {
		turns []fake.Response
		hook  func(n int) ([]llm.Message, error)
		limit int
		asked []string
		text  string
		stop  trace.Reason
	}{
		"no text":           {[]fake.Response{there, {Reasoning: "hm"}, {Text: "sum"}}, again("sum up"), 0, []string{"b:  after 3"}, "sum", trace.ReasonEndTurn},
		"unknown agent":     {[]fake.Response{there, turn("lose"), {Text: "b"}, {Text: "sum"}}, again("sum up"), 0, []string{"b: b after 5"}, "sum", trace.ReasonEndTurn},
		"unknown, of root":  {[]fake.Response{turn("lose"), {Text: "r"}}, forever, 0, nil, "r", trace.ReasonEndTurn},
		"no agent":          {[]fake.Response{there, turn("unset"), {Text: "r"}}, forever, 0, nil, "r", trace.ReasonEndTurn},
		"never transferred": {[]fake.Response{{Text: "r"}}, forever, 0, nil, "r", trace.ReasonEndTurn},
		"nothing to say":    {[]fake.Response{there, {Text: "b"}}, again(), 0, []string{"b: b after 3"}, "b", trace.ReasonEndTurn},
		"back to the root":  {[]fake.Response{there, {Text: "b"}, {Text: "sum"}}, again("sum up"), 0, []string{"b: b after 3"}, "sum", trace.ReasonEndTurn},
		"deeper":            {[]fake.Response{there, turn("transfer_to_c"), {Text: "c"}, {Text: "sum"}}, again("sum up"), 0, []string{"c: c after 5"}, "sum", trace.ReasonEndTurn},
		"not with calls":    {[]fake.Response{there, turn("t_b"), {Text: "b"}, {Text: "sum"}}, again("sum up"), 0, []string{"b: b after 5"}, "sum", trace.ReasonEndTurn},
		"transferred twice": {[]fake.Response{there, {Text: "b"}, there, {Text: "b2"}}, again("on"), 0, []string{"b: b after 3", "b: b2 after 7"}, "b2", trace.ReasonEndTurn},
		"limit":             {[]fake.Response{there, {Text: "b"}, there, {Text: "b2"}}, forever, 1, []string{"b: b after 3"}, "b2", trace.ReasonEndTurn},
		"the usual limit": {[]fake.Response{there, {Text: "1"}, there, {Text: "2"}, there, {Text: "3"}, there, {Text: "4"}, there, {Text: "5"}, there, {Text: "6"}}, forever, 0,
			[]string{"b: 1 after 3", "b: 2 after 7", "b: 3 after 11", "b: 4 after 15", "b: 5 after 19"}, "6", trace.ReasonEndTurn},
		"fails": {[]fake.Response{there, {Text: "b"}}, func(int) ([]llm.Message, error) { return nil, boom }, 0, []string{"b: b after 3"}, "", trace.ReasonMiddleware},
	} {
		root, vars := circle(), &middleware.Vars{}
		for _, a := range []*middleware.HandoffAgent{root, root.Handoffs[0]} {
			a.Tools = append(a.Tools, activates("lose", "ghost"), activates("unset", ""))
		}
		var asked []string
		end, err := middleware.PrepareEnd(root, vars, func(_ context.Context, e middleware.Ended) ([]llm.Message, error) {
			asked = append(asked, fmt.Sprintf("%s: %s after %d", e.By.Name, e.Response.Text(), len(e.History)))
			if e.Vars != vars {
				t.Error("other variables")
			}
			return x.hook(len(asked) - 1)
		}, x.limit)
		if err != nil {
			t.Fatal(err)
		}
		agent, err := loop.New(fake.NewModel(x.turns...), &loop.Config{Middleware: []loop.Middleware{middleware.Variables(vars), mustHandoff(t, root, vars), end}})
		if err != nil {
			t.Fatal(err)
		}
		res, err := agent.Run(t.Context(), loop.Prompt("go"))
		if errors.Is(err, boom) != (name == "fails") || res.Text != x.text || res.StopReason != x.stop {
			t.Errorf("%s: got %q, %q, %v", name, res.Text, res.StopReason, err)
		}
		if diff := cmp.Diff(x.asked, asked); diff != "" {
			t.Errorf("%s: requests (-want +got):\n%s", name, diff)
		}
	}
}
