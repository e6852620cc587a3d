package loop_test

import (
	"context"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/trace"
)

// calls is a response that calls tools: "weather", or "weather#id", or
// "weather#id{…}" with arguments; ids count from c1.
func calls(specs ...string) fake.Response {
	var t fake.Response
	for i, s := range specs {
		name, args, found := strings.Cut(s, "{")
		if found {
			args = "{" + args
		} else {
			args = "{}"
		}
		name, id, _ := strings.Cut(name, "#")
		if id == "" {
			id = "c" + string(rune('1'+i))
		}
		t.Calls = append(t.Calls, fake.Call{ID: id, Name: name, Arguments: args})
	}
	return t
}

func model(responses ...fake.Response) *fake.Model { return fake.NewModel(responses...) }

func text(s string) fake.Response { return fake.Response{Text: s} }

// echo is a tool that returns its arguments.
func echo(name string) loop.Tool {
	return loop.Tool{Name: name, Run: func(_ context.Context, c loop.Call) (loop.Output, error) {
		return loop.TextOutput(c.Arguments), nil
	}}
}

// tool is a tool of one function of no arguments.
func tool(name string, f func(ctx context.Context) (string, error)) loop.Tool {
	return loop.Tool{Name: name, Run: func(ctx context.Context, _ loop.Call) (loop.Output, error) {
		s, err := f(ctx)
		return loop.TextOutput(s), err
	}}
}

func newAgent(t testing.TB, m llm.Model, cfg loop.Config) *loop.Agent {
	t.Helper()
	a, err := loop.New(m, &cfg)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// ran runs an agent with the input "go". It returns the trace, in addition to a sink of the
// configuration. No goroutine may outlive the run, unless the run abandons tools.
func ran(t testing.TB, m llm.Model, cfg loop.Config) (*loop.Result, []trace.Event, error) {
	t.Helper()
	var mem trace.Memory
	in := loop.Prompt("go")
	in.Sink = &mem
	res, err := newAgent(t, m, cfg).Run(t.Context(), in)
	if cfg.Grace == 0 { // else it may abandon tools
		goleak.VerifyNone(t)
	}
	return res, mem.Events(), err
}

// mustRun is ran for a run that must succeed.
func mustRun(t testing.TB, m llm.Model, cfg loop.Config) (*loop.Result, []trace.Event) {
	t.Helper()
	res, events, err := ran(t, m, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return res, events
}

// of returns the bodies of one type.
func of[B trace.Body](events []trace.Event) []B {
	var out []B
	for _, ev := range events {
		if b, ok := ev.Body.(B); ok {
			out = append(out, b)
		}
	}
	return out
}

// kinds joins the kinds of events with spaces.
func kinds(events []trace.Event) string {
	var s []string
	for _, ev := range events {
		s = append(s, string(ev.Body.Kind()))
	}
	return strings.Join(s, " ")
}

// resultTexts are the texts of the results in a message list.
func resultTexts(messages []llm.Message) []string {
	var out []string
	for _, m := range messages {
		for _, p := range m.Parts {
			if r, ok := p.(llm.ToolResult); ok {
				out = append(out, r.Text())
			}
		}
	}
	return out
}

// editCalls returns a BeforeTools hook that returns what f changes in its calls.
func editCalls(f func(context.Context, *loop.StepInfo, []*loop.PlannedCall) (loop.Decision, error)) func(context.Context, *loop.StepInfo, []loop.PlannedCall) ([]loop.CallDecision, loop.Decision, error) {
	return func(ctx context.Context, s *loop.StepInfo, calls []loop.PlannedCall) (out []loop.CallDecision, d loop.Decision, err error) {
		edited := make([]*loop.PlannedCall, len(calls))
		for i, c := range calls {
			edited[i] = &c
		}
		d, err = f(ctx, s, edited)
		for i, was := range calls {
			c, now := loop.CallDecision{Index: i}, edited[i]
			if now.Output != was.Output {
				c.Output = now.Output
			}
			if now.Arguments != was.Arguments || now.Output == nil && was.Output != nil {
				c.Arguments = now.Arguments
			}
			if now.Reason != was.Reason {
				c.Reason = now.Reason
			}
			out = append(out, c)
		}
		return out, d, err
	}
}
