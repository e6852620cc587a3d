package reactagent_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/files"
	"github.com/looptape/looptape/loop/middleware"
	"github.com/looptape/looptape/loop/preset/reactagent"
	"github.com/looptape/looptape/trace"
)

func yes(context.Context, middleware.ApprovalRequest) (middleware.Approval, error) {
	return middleware.Approval{Decision: middleware.Approve}, nil
}

func answer(_ context.Context, q []middleware.Question) ([]string, error) {
	return make([]string, len(q)), nil
}

var own = []loop.Middleware{brings("mine", "x"), brings("also", "y")}

// RA-04, RA-05, RA-06, RA-07, RA-08: the middleware of a deep agent and its order.
func TestDeepAgentMiddlewareOrder(t *testing.T) {
	everything := reactagent.DeepConfig{
		Config: reactagent.Config{Config: loop.Config{Middleware: own}}, AskUser: answer, Approve: yes,
		GeneralPurpose: []loop.Middleware{brings("shell", "shell"), brings("text", "head"), brings("git", "git_log"), brings("web", "fetch"), brings("search", "grep")},
	}
	for name, c := range map[string]struct {
		change func(*reactagent.DeepConfig)
		want   string
	}{
		"all of it":       {func(*reactagent.DeepConfig) {}, "todos files subagents GROUPS mine also ask_user human_in_the_loop summarize"},
		"summaries first": {func(c *reactagent.DeepConfig) { c.SummaryFirst = true }, "summarize todos files subagents GROUPS mine also ask_user human_in_the_loop"},
		"no user to ask":  {func(c *reactagent.DeepConfig) { c.AskUser = nil }, "todos files subagents GROUPS mine also human_in_the_loop summarize"},
		"no approval":     {func(c *reactagent.DeepConfig) { c.Approve = nil }, "todos files subagents web search text git mine also ask_user summarize"},
		"shell without approval": {func(c *reactagent.DeepConfig) {
			c.InterruptOn = map[string]middleware.ApprovalRule{"x": {}}
		}, "todos files subagents web search text git mine also ask_user human_in_the_loop summarize"},
		"approval of shell": {func(c *reactagent.DeepConfig) {
			c.InterruptOn = map[string]middleware.ApprovalRule{"shell": {}}
		}, "todos files subagents GROUPS mine also ask_user human_in_the_loop summarize"},
		"some groups": {func(c *reactagent.DeepConfig) {
			c.GeneralPurpose = c.GeneralPurpose[1:3]
		}, "todos files subagents text git mine also ask_user human_in_the_loop summarize"},
		"no summaries": {func(c *reactagent.DeepConfig) { c.NoSummary = true }, "todos files subagents GROUPS mine also ask_user human_in_the_loop"},
		"none, although configured": {func(c *reactagent.DeepConfig) {
			*c = reactagent.DeepConfig{NoSummary: true, Summary: middleware.Summarizer{Window: 400}, Config: reactagent.Config{ContextWindow: 400}}
		}, "todos files subagents"},
		"none, and first": {func(c *reactagent.DeepConfig) { c.NoSummary, c.SummaryFirst = true, true }, "todos files subagents GROUPS mine also ask_user human_in_the_loop"},
		"no files":        {func(c *reactagent.DeepConfig) { c.NoFilesystem = true }, "todos subagents GROUPS mine also ask_user human_in_the_loop summarize"},
		"no groups":       {func(c *reactagent.DeepConfig) { c.NoGeneralPurpose = true }, "todos files subagents mine also ask_user human_in_the_loop summarize"},
		"as it is":        {func(c *reactagent.DeepConfig) { *c = reactagent.DeepConfig{} }, "todos files subagents summarize"},
		"with a log": {func(c *reactagent.DeepConfig) {
			*c = reactagent.DeepConfig{Config: reactagent.Config{Log: func(llm.Message) error { return nil }}}
		}, "todos files subagents summarize message_log"},
		"rules without": {func(c *reactagent.DeepConfig) {
			*c = reactagent.DeepConfig{InterruptOn: map[string]middleware.ApprovalRule{"x": {}}}
		}, "todos files subagents summarize"},
		"backend, unused": {func(c *reactagent.DeepConfig) {
			*c = reactagent.DeepConfig{Backend: &files.Memory{}, NoFilesystem: true}
		}, "todos subagents summarize"},
	} {
		cfg := everything
		c.change(&cfg)
		want := strings.Replace(c.want, "GROUPS", "web search text git shell", 1)
		if got := strings.Join(newBench(t).deep(cfg).Stack(), " "); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
	a, err := reactagent.NewDeep(fake.NewModel(), nil)
	if err != nil || len(a.Stack()) != 4 {
		t.Errorf("got %v, %v", a, err)
	}
}

// RA-04: with the zero value, a run sends the tools of the stack and has a step limit of
// 24. RA-83: it has no general-purpose tools without DeepConfig.GeneralPurpose.
func TestDeepDefaults(t *testing.T) {
	b := newBench(t, text("done"))
	b.run(b.deep(reactagent.DeepConfig{}), "", "go")
	want := strings.Fields("write_todos ls read_file write_file edit_file mkdir")
	if diff := cmp.Diff(want, b.offered(0)); diff != "" {
		t.Errorf("offered (-want +got):\n%s", diff)
	}
	if n, _ := of[trace.RunStart](b.all)[0].Options.Lookup("max_steps"); n != "24" {
		t.Errorf("the step limit is %s", n)
	}
}

// RA-07, RA-53, RA-86: each agent has its own files in memory, none on disk, and its next run has them
// too. A backend of the caller replaces them.
func TestFilesOfAnAgent(t *testing.T) {
	disk := t.TempDir()
	t.Chdir(disk)
	t.Setenv("TMPDIR", disk)
	write, read := calling("write_file", `{"path":"a","content":"text"}`), calling("read_file", `{"path":"a"}`)
	before := newBench(t, write, text("x"))
	before.run(before.deep(reactagent.DeepConfig{}), "", "go")
	shared := &files.Memory{}
	if err := shared.Write("a", "shared"); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		cfg   reactagent.DeepConfig
		turns []fake.Response
		want  string
	}{
		"the next run":   {reactagent.DeepConfig{}, []fake.Response{write, text("x"), read, text("y")}, "tool: text"},
		"another agent":  {reactagent.DeepConfig{}, []fake.Response{read, text("x")}, `tool: {"error":"cannot read \"a\": file does not exist"}`},
		"files of mine":  {reactagent.DeepConfig{Backend: shared}, []fake.Response{read, text("x")}, "tool: shared"},
		"the same again": {reactagent.DeepConfig{Backend: shared}, []fake.Response{read, text("x")}, "tool: shared"},
	} {
		b := newBench(t, c.turns...)
		a := b.deep(c.cfg)
		for n := range len(c.turns) / 2 {
			b.run(a, "", fmt.Sprint("run ", n))
		}
		got := b.asked(len(c.turns) - 1)
		if got[len(got)-1] != c.want {
			t.Errorf("%s: got %q, want %q", name, got[len(got)-1], c.want)
		}
	}
	if entries, err := os.ReadDir(disk); len(entries) > 0 || err != nil {
		t.Errorf("on disk: %v, %v", entries, err)
	}
}

// RA-44, RA-54: the conversation of a sub-agent is summarized like that of the agent.
func TestTaskSummarized(t *testing.T) {
	long := tool("look")
	long.Run = func(context.Context, loop.Call) (loop.Output, error) {
		return loop.TextOutput(strings.Repeat("word ", 2000)), nil
	}
	sub := fake.NewModel(calling("look", `{"n":1}`), calling("look", `{"n":2}`), text("what was seen"), text("done looking"))
	b := newBench(t, calling("task", `{"description":"look","subagent_type":"looker"}`), text("done"))
	a := b.deep(reactagent.DeepConfig{
		NoGeneralPurpose: true, Summary: middleware.Summarizer{Window: 6000},
		SubAgents: []reactagent.SubAgent{{Name: "looker", Tools: []loop.Tool{long}, Model: sub}},
	})
	b.run(a, "", "go")
	if got := b.asked(1); got[len(got)-1] != "tool: done looking" {
		t.Errorf("the agent got %q", got[len(got)-1])
	}
	var summaries []string
	for _, ev := range b.all {
		if _, ok := ev.Body.(trace.ModelRequest); ok && ev.Purpose == trace.PurposeSummary {
			summaries = append(summaries, ev.Run)
		}
	}
	if len(summaries) != 1 || !strings.HasPrefix(summaries[0], "r1/") {
		t.Errorf("summaries in the runs %q", summaries)
	}
}

// RA-09, RA-54: the tool task offers each sub-agent and gives each its own tasks, whatever their order.
func TestTaskOfEachSubAgent(t *testing.T) {
	var list []reactagent.SubAgent
	models := map[string]*fake.Model{}
	for _, name := range []string{"one", "two", "three"} {
		models[name] = fake.NewModel(text("from " + name))
		list = append(list, reactagent.SubAgent{Name: name, Description: "does " + name, System: "you are " + name, Model: models[name]})
	}
	task := func(name string) string {
		return fmt.Sprintf(`{"description":"for %s","subagent_type":%q}`, name, name)
	}
	list[1].MaxSteps = 7
	b := newBench(t, calling("task", task("three"), "task", task("general-purpose"), "task", task("one"), "task", task("two")), text("general"), text("done"))
	a := b.deep(reactagent.DeepConfig{Config: reactagent.Config{Config: loop.Config{MaxSteps: 9}}, SubAgents: list, GeneralPurposeAgent: true})
	if ok, _ := b.run(a, "", "go"); !ok {
		t.Error("the run failed")
	}
	got := b.asked(2)
	if diff := cmp.Diff([]string{"tool: from three", "tool: general", "tool: from one", "tool: from two"}, got[len(got)-4:]); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
	for name, m := range models {
		if req := m.RecordedRequests()[0].Request; req.System.Text() != "you are "+name || req.Messages[0].Text() != "for "+name {
			t.Errorf("%s: got the system prompt %q, the task %q", name, req.System.Text(), req.Messages[0].Text())
		}
	}
	limits := map[string]string{}
	for _, ev := range b.all {
		if start, ok := ev.Body.(trace.RunStart); ok && start.Parent != nil {
			limits[start.Parent.ToolCallID], _ = start.Options.Lookup("max_steps")
		}
	}
	if diff := cmp.Diff(map[string]string{"loop_call_1": "24", "loop_call_2": "24", "loop_call_3": "24", "loop_call_4": "7"}, limits); diff != "" {
		t.Errorf("step limits by call (-want +got):\n%s", diff)
	}
	tools := b.model.RecordedRequests()[0].Request.Tools
	if text := tools[len(tools)-1].Description; !strings.HasSuffix(text, "\n- one: does one\n- two: does two\n- three: does three\n- general-purpose: Works on any task of several steps, with the same tools.") {
		t.Errorf("the tool says %q", text)
	}
}

// RA-54, RA-17: approval is within the middleware of a sub-agent, which may change the arguments first.
func TestSubAgentMiddleware(t *testing.T) {
	edit := loop.Middleware{Name: "edit", New: func(loop.RunInfo) loop.Hooks {
		return loop.Hooks{WrapTool: func(next loop.ToolFunc) loop.ToolFunc {
			return func(ctx context.Context, c loop.Call) (loop.Output, error) {
				c.Arguments = `{"edited":true}`
				return next(ctx, c)
			}
		}}
	}}
	var asked []string
	sub := fake.NewModel(calling("look", "{}"), text("seen"))
	b := newBench(t, calling("task", `{"description":"look","subagent_type":"s"}`), text("done"))
	a := b.deep(reactagent.DeepConfig{
		SubAgents: []reactagent.SubAgent{{Name: "s", Tools: []loop.Tool{tool("look")}, Middleware: []loop.Middleware{edit}, Model: sub}},
		Approve: func(_ context.Context, r middleware.ApprovalRequest) (middleware.Approval, error) {
			asked = append(asked, r.Call.Name+" "+r.Arguments)
			return middleware.Approval{Decision: middleware.Approve}, nil
		},
	})
	if ok, _ := b.run(a, "", "go"); !ok {
		t.Error("the run failed")
	}
	if diff := cmp.Diff([]string{`task {"description":"look","subagent_type":"s"}`, `look {"edited":true}`}, asked); diff != "" {
		t.Errorf("approved (-want +got):\n%s", diff)
	}
}

// RA-09, RA-54: the run of a sub-agent is below its call. It receives only the task, has
// its own tools and those for the shared files, and cannot delegate tasks. The agent
// receives its final text. The approval and the disabled names of the agent apply to it.
// Other options of the agent's runs do not.
func TestTask(t *testing.T) {
	var asked []string
	logged := 0
	sub := fake.NewModel(calling("look", "{}", "read_file", `{"path":"a"}`, "mkdir", `{"path":"m"}`), text("it says text"))
	b := newBench(t, calling("write_file", `{"path":"a","content":"text"}`), calling("task", `{"description":"look at a","subagent_type":"reader"}`), text("done"))
	a := b.deep(reactagent.DeepConfig{
		Config: reactagent.Config{
			DisabledTools: []string{"mkdir"},
			Log:           func(llm.Message) error { logged++; return nil },
			Config: loop.Config{
				Model: "big", System: "you lead", Tools: []loop.Tool{tool("lead")}, Middleware: own, ToolChoice: llm.ToolChoice{Mode: llm.ChooseTool, Name: "lead"},
				OnStep:   func(s loop.Step) { asked = append(asked, fmt.Sprint("step ", s.Index)) },
				StopWhen: []loop.StopCondition{loop.HasToolCall("look")},
			},
		},
		Approve: func(_ context.Context, call middleware.ApprovalRequest) (middleware.Approval, error) {
			asked = append(asked, call.Call.Name)
			return middleware.Approval{Decision: middleware.Approve}, nil
		},
		AskUser:          answer,
		NoGeneralPurpose: true,
		SubAgents:        []reactagent.SubAgent{{Name: "reader", Description: "reads", System: "you read", Tools: []loop.Tool{tool("look")}, Middleware: []loop.Middleware{brings("p", "more")}, Model: sub, ModelName: "small"}},
	})
	if ok, _ := b.run(a, "", "go"); !ok {
		t.Error("the run failed")
	}
	if got := b.asked(2); got[len(got)-1] != "tool: it says text" {
		t.Errorf("the agent got %q", got[len(got)-1])
	}
	if diff := cmp.Diff(strings.Fields("lead write_todos ls read_file write_file edit_file task x y ask_user"), b.offered(0)); diff != "" {
		t.Errorf("offered (-want +got):\n%s", diff)
	}
	req := sub.RecordedRequests()[0].Request
	var names []string
	for _, t := range req.Tools {
		names = append(names, t.Name)
	}
	if diff := cmp.Diff(strings.Fields("look ls read_file write_file edit_file more"), names); diff != "" {
		t.Errorf("the sub-agent is offered (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]llm.Message{llm.User("look at a")}, req.Messages); diff != "" || req.System.Text() != "you read" || req.Model != "small" {
		t.Errorf("the request has the system prompt %q and %q (-want +got):\n%s", req.Model, req.System.Text(), diff)
	}
	if got := short(sub.RecordedRequests()[1].Request.Messages); got[3] != "tool: text" || !strings.Contains(got[4], "there is no tool") {
		t.Errorf("it sees %q", got)
	}
	if diff := cmp.Diff([]string{"write_file", "step 0", "task", "look", "read_file", "step 1", "step 2"}, asked); diff != "" {
		t.Errorf("approved (-want +got):\n%s", diff)
	}
	if logged != 6 {
		t.Errorf("logged %d messages, want those of the agent: 6", logged)
	}
	var below []string
	for _, s := range of[trace.RunStart](b.all) {
		if s.Parent != nil {
			below = append(below, s.Parent.Run+" "+s.Parent.ToolCallID)
			if n, _ := s.Options.Lookup("max_steps"); n != "24" {
				t.Errorf("its step limit is %s", n)
			}
		}
	}
	if diff := cmp.Diff([]string{"r1 loop_call_2"}, below); diff != "" {
		t.Errorf("runs below (-want +got):\n%s", diff)
	}
}

// AMB-7: GeneralPurposeAgent adds a sub-agent with the agent's own model, tools and
// system prompt, and with its own step limit.
func TestGeneralPurposeAgent(t *testing.T) {
	b := newBench(t, calling("task", `{"description":"do it","subagent_type":"general-purpose"}`), text("did it"), text("done"))
	a := b.deep(reactagent.DeepConfig{
		Config:              reactagent.Config{Config: loop.Config{Model: "big", System: "be brief", Tools: []loop.Tool{tool("a")}, MaxSteps: 3}},
		GeneralPurposeAgent: true, NoFilesystem: true, NoGeneralPurpose: true,
	})
	b.run(a, "", "go")
	req := b.model.RecordedRequests()[1].Request
	if req.Model != "big" || req.System.Text() != "be brief" || req.Messages[0].Text() != "do it" || len(req.Messages) != 1 {
		t.Errorf("the request of the sub-agent is %+v", req)
	}
	if diff := cmp.Diff([][]string{{"a", "write_todos", "task"}, {"a"}}, [][]string{b.offered(0), b.offered(1)}); diff != "" {
		t.Errorf("offered (-want +got):\n%s", diff)
	}
	if got := b.asked(2); got[2] != "tool: did it" {
		t.Errorf("got %q", got)
	}
	if n, _ := of[trace.RunStart](b.all)[1].Options.Lookup("max_steps"); n != "24" {
		t.Errorf("its step limit is %s", n)
	}
}

// NewDeep returns an error for an invalid sub-agent or setting.
func TestNewDeepErrors(t *testing.T) {
	for want, cfg := range map[string]reactagent.DeepConfig{
		`reactagent: the sub-agent "a": reactagent: loop: two tools have the name "x"`:                                              {SubAgents: []reactagent.SubAgent{{Name: "a", Tools: []loop.Tool{tool("x"), tool("x")}}}},
		`reactagent: middleware: SubAgents: duplicate name "a": rename one agent`:                                                   {SubAgents: []reactagent.SubAgent{{Name: "a"}, {Name: "a"}}},
		`reactagent: middleware: Summarizer: the Reserve of 10 tokens is not less than the Window of 5`:                             {Summary: middleware.Summarizer{Window: 5, Reserve: 10}},
		`reactagent: middleware: Summarizer: the Trigger is 2: want a share of the window, above 0 and up to 1`:                     {Summary: middleware.Summarizer{Trigger: 2}},
		`reactagent: loop: Config.ToolChoice: unknown tool "nope": add it to Config.Tools`:                                          {Config: reactagent.Config{Config: loop.Config{ToolChoice: llm.ToolChoice{Mode: llm.ChooseTool, Name: "nope"}}}},
		`reactagent: DeepConfig.GeneralPurpose: unknown group "mail": use web, search, text, git, shell, and Middleware for others`: {GeneralPurpose: []loop.Middleware{brings("web", "x"), brings("mail", "y")}},
		`reactagent: DeepConfig.GeneralPurpose: duplicate group "web": remove one`:                                                  {GeneralPurpose: []loop.Middleware{brings("web", "x"), brings("text", "y"), brings("web", "z")}},
	} {
		if _, err := reactagent.NewDeep(fake.NewModel(), &cfg); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if _, err := reactagent.New(nil, nil); err == nil {
		t.Error("no model: got no error")
	}
}

// RA-06: the window of the model determines when a summary is due, unless a window is
// set.
func TestSummaryWindow(t *testing.T) {
	long := strings.Repeat("abc ", 300)
	for _, c := range []struct{ own, model, want int }{{0, 0, 0}, {0, 400, 1}, {4000, 400, 0}, {400, 4000, 1}} {
		b := newBench(t, text("x"), text("y"))
		cfg := reactagent.DeepConfig{NoFilesystem: true, NoGeneralPurpose: true, Summary: middleware.Summarizer{Window: c.own}}
		cfg.Sink = b
		a, err := reactagent.NewDeep(windowed{b.model, c.model}, &cfg)
		b.made(a, err)
		a.Run(t.Context(), []llm.Message{llm.User(long), llm.User("go")}, "", nil)
		if got := len(of[trace.HistoryRewrite](b.all)); got != c.want {
			t.Errorf("%+v: got %d summaries", c, got)
		}
	}
}

// RA-44, RA-04: each field of Summary and its default have an effect. The limit is 27852 tokens without a window.
func TestSummaryOptions(t *testing.T) {
	for name, c := range map[string]struct {
		tokens int // of each message
		z      middleware.Summarizer
		want   string
	}{
		"defaults":         {3400, middleware.Summarizer{}, ""},
		"default trigger":  {3490, middleware.Summarizer{}, "main m, sums up, keeps 2, archives 6"},
		"default messages": {100, middleware.Summarizer{Window: 800, KeepShare: 0.9}, "main m, sums up, keeps 6, archives 2"},
		"default share":    {100, middleware.Summarizer{Window: 820}, "main m, sums up, keeps 2, archives 6"},
		"window":           {100, middleware.Summarizer{Window: 2000}, ""},
		"trigger":          {100, middleware.Summarizer{Window: 2000, Trigger: 0.3}, "main m, sums up, keeps 4, archives 4"},
		"reserve":          {100, middleware.Summarizer{Window: 2000, Reserve: 1400}, "main m, sums up, keeps 4, archives 4"},
		"messages":         {100, middleware.Summarizer{Window: 800, KeepShare: 0.9, KeepMessages: 3}, "main m, sums up, keeps 2, archives 6"},
		"share":            {100, middleware.Summarizer{Window: 820, KeepShare: 0.5}, "main m, sums up, keeps 4, archives 4"},
		"prompt":           {100, middleware.Summarizer{Window: 800, Prompt: "be brief"}, "main m, be brief, keeps 2, archives 6"},
		"model name":       {100, middleware.Summarizer{Window: 800, ModelName: "small"}, "main small, sums up, keeps 2, archives 6"},
		"model":            {100, middleware.Summarizer{Window: 800, Model: fake.NewModel(text("short"))}, "other m, sums up, keeps 2, archives 6"},
	} {
		var archived []llm.Message
		c.z.Archive = func(_ context.Context, m []llm.Message) error { archived = m; return nil }
		b := newBench(t, text("short"), text("done"))
		if c.want == "" || c.z.Model != nil {
			b = newBench(t, text("done"))
		}
		a := b.deep(reactagent.DeepConfig{
			Config: reactagent.Config{DisabledTools: []string{"write_todos"}, Config: loop.Config{Model: "m"}}, NoFilesystem: true, Summary: c.z,
		})
		var input []llm.Message
		for range 4 {
			said := strings.Repeat("abcd", c.tokens)
			input = append(input, llm.User(said), llm.Assistant(llm.Text{Text: said}))
		}
		input = append(input[:7], llm.User(strings.Repeat("abcd", c.tokens)))
		if !a.Run(t.Context(), input, "", nil) {
			t.Errorf("%s: the run failed", name)
		}
		got, requests := "", b.model.RecordedRequests()
		by := "main"
		if other, ok := c.z.Model.(*fake.Model); ok {
			by, requests = "other", append(other.RecordedRequests(), requests...)
		}
		if len(requests) > 1 {
			prompt := strings.Replace(requests[0].Request.System.Text(), "You sum up", "sums up\n", 1)
			prompt, _, _ = strings.Cut(prompt, "\n")
			kept := slices.DeleteFunc(slices.Clone(requests[1].Request.Messages), func(m llm.Message) bool { return !strings.HasPrefix(m.Text(), "abcd") })
			got = fmt.Sprintf("%s %s, %s, keeps %d, archives %d", by, requests[0].Request.Model, prompt, len(kept), len(archived))
		}
		if got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

// RA-10: Approve decides about each call, in their order, including those of the stack's own
// tools. With InterruptOn, it decides only about calls of those tools.
func TestApproval(t *testing.T) {
	for _, c := range []struct {
		on   map[string]middleware.ApprovalRule
		want string
	}{{nil, "[write_todos ls mine ask_user task]"}, {map[string]middleware.ApprovalRule{"ls": {}}, "[ls]"}} {
		var asked []string
		b := newBench(t, calling("write_todos", `{"todos":["x"]}`, "ls", "{}", "mine", "{}", "ask_user", `{"questions":[{"question":"?"}]}`, "task", `{"description":"d","subagent_type":"s"}`), text("done"))
		a := b.deep(reactagent.DeepConfig{
			Config: reactagent.Config{Config: loop.Config{Tools: []loop.Tool{tool("mine")}}}, AskUser: answer,
			SubAgents: []reactagent.SubAgent{{Name: "s", Model: fake.NewModel(text("x"))}}, InterruptOn: c.on,
			Approve: func(_ context.Context, call middleware.ApprovalRequest) (middleware.Approval, error) {
				asked = append(asked, call.Call.Name)
				return middleware.Approval{}, errors.New("gone")
			},
		})
		b.run(a, "", "go")
		if fmt.Sprint(asked) != c.want {
			t.Errorf("requested approval of %v, want %s", asked, c.want)
		}
	}
}

// RA-10, RA-17: the approval is in its place around the tool, within the caller's middleware M: M,
// the approval, the tool, M, for each call. M sees rejected calls with their result, and a call
// that M answers needs no approval. RA-20: the event of the start of a call precedes all this.
func TestApprovalWithinMiddleware(t *testing.T) {
	var seen []string
	note := func(format string, args ...any) { seen = append(seen, fmt.Sprintf(format, args...)) }
	m := loop.Middleware{Name: "m", New: func(loop.RunInfo) loop.Hooks {
		return loop.Hooks{WrapTool: func(next loop.ToolFunc) loop.ToolFunc {
			return func(ctx context.Context, call loop.Call) (loop.Output, error) {
				note("M in %s", call.ID)
				if call.ID == "c3" {
					return loop.TextOutput("known"), nil
				}
				out, err := next(ctx, call)
				note("M out %s %s %t", call.ID, llm.ToolResult{Content: out.Content}.Text(), out.IsError)
				return out, err
			}
		}}
	}}
	clock := fake.NewClock()
	run := loop.Tool{Name: "a", Run: func(ctx context.Context, c loop.Call) (loop.Output, error) {
		note("exec %s", c.ID)
		return loop.TextOutput("A" + c.Arguments), clock.Sleep(ctx, time.Second)
	}}
	turn := fake.Response{}
	for i := range 4 {
		turn.Calls = append(turn.Calls, fake.Call{ID: fmt.Sprint("c", i+1), Name: "a", Arguments: fmt.Sprintf(`{"n":%d}`, i+1)})
	}
	b := newBench(t, turn, text("done"))
	a := b.deep(reactagent.DeepConfig{
		Config: reactagent.Config{Config: loop.Config{Clock: clock, Tools: []loop.Tool{run}, Middleware: []loop.Middleware{m}}}, NoFilesystem: true,
		InterruptOn: map[string]middleware.ApprovalRule{"a": {Allowed: []middleware.ApprovalDecision{middleware.Approve, middleware.Edit, middleware.Reject}}},
		Approve: func(_ context.Context, req middleware.ApprovalRequest) (middleware.Approval, error) {
			note("asked %s", req.Call.ID)
			switch req.Call.ID {
			case "c2":
				return middleware.Approval{Decision: middleware.Reject, Reason: "no"}, nil
			case "c4":
				return middleware.Approval{Decision: middleware.Edit, Arguments: `{"n":40}`}, nil
			}
			return middleware.Approval{Decision: middleware.Approve}, nil
		},
	})
	ok := a.Run(t.Context(), []llm.Message{llm.User("go")}, "", func(e reactagent.Event) {
		if strings.HasPrefix(e.Type, "tool") {
			note("%s %s", e.Type, e.ID)
		}
	})
	want := map[string][]string{
		"c1": {"toolStarted c1", "M in c1", "asked c1", "exec c1", `M out c1 A{"n":1} false`, "toolCompleted c1"},
		"c2": {"toolStarted c2", "M in c2", "asked c2", "M out c2 not run: the user rejected the call: no true", "toolCompleted c2"},
		"c3": {"toolStarted c3", "M in c3", "toolCompleted c3"},
		"c4": {"toolStarted c4", "M in c4", "asked c4", "exec c4", `M out c4 A{"n":40} false`, "toolCompleted c4"},
	}
	got := map[string][]string{}
	var asked []string
	for _, s := range seen {
		for id := range want {
			if strings.Contains(s, id) {
				got[id] = append(got[id], s)
			}
		}
		if strings.HasPrefix(s, "asked") {
			asked = append(asked, s)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" || !ok {
		t.Errorf("the order of each call (-want +got):\n%s", diff)
	}
	if fmt.Sprint(asked) != "[asked c1 asked c2 asked c4]" {
		t.Errorf("got %q, want the order of the calls", asked)
	}
	if exec, in := slices.Index(seen, "exec c1"), slices.Index(seen, "M in c4"); exec > in { // one nest after another, not gate after gate
		t.Errorf("the first call waits for the others: %q", seen)
	}
	if next, out := slices.Index(seen, "asked c2"), slices.Index(seen, want["c1"][4]); next > out {
		t.Errorf("the approval of the second call waits for the first tool: %q", seen)
	}
	results := []string{`tool: A{"n":1}`, "tool: not run: the user rejected the call: no", "tool: known", `tool: A{"n":40}`}
	if diff := cmp.Diff(results, b.asked(1)[2:]); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
	if edits := of[trace.ToolArguments](b.all); len(edits) != 1 || edits[0].Arguments != `{"n":40}` || edits[0].Reason != "edit" {
		t.Errorf("edits: %+v", edits)
	}
}

// RA-55: the model's requests for user input are passed to the caller's AskUser.
func TestAskUser(t *testing.T) {
	b := newBench(t, calling("ask_user", `{"questions":[{"question":"Who?"}]}`), text("done"))
	a := b.deep(reactagent.DeepConfig{AskUser: func(context.Context, []middleware.Question) ([]string, error) { return []string{"me"}, nil }})
	b.run(a, "", "go")
	if got := b.asked(1); got[2] != "tool: Q: Who?\nA: me" {
		t.Errorf("got %q", got)
	}
}
