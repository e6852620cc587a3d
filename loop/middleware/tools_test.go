package middleware_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"testing"

	"go.uber.org/goleak"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/middleware"
	"github.com/looptape/looptape/trace"
	"github.com/looptape/looptape/trace/check"
)

// outcome is the result of a run.
type outcome struct {
	res    *loop.Result
	err    error
	model  *fake.Model
	events []trace.Event
}

// play runs the responses under a configuration on a virtual clock. It checks the trace
// against the invariants.
func play(ctx context.Context, t *testing.T, cfg loop.Config, in loop.Input, turns ...fake.Response) outcome {
	t.Helper()
	clock, _ := cfg.Clock.(*fake.Clock)
	if clock == nil {
		clock = fake.NewClock()
	}
	m := &fake.Model{Responses: turns, Clock: clock}
	var mem trace.Memory
	cfg.Clock, cfg.MaxConsecutiveToolErrors = clock, cmp.Or(cfg.MaxConsecutiveToolErrors, loop.Disabled)
	agent, err := loop.New(m, &cfg)
	if err != nil {
		t.Fatal(err)
	}
	in.Sink = &mem
	res, err := agent.Run(ctx, in)
	goleak.VerifyNone(t)
	c := check.New(nil)
	for _, ev := range mem.Events() {
		c.Add(ev)
	}
	for _, v := range c.Done() {
		t.Errorf("%s: event %d: %s", v.Invariant, v.Event, v.Message)
	}
	if changed := m.MutatedRequests(); changed != nil {
		t.Errorf("requests changed: %q", changed)
	}
	return outcome{res, err, m, mem.Events()}
}

// with calls play with one middleware. It fails the test if err is not nil.
func with(t *testing.T, p loop.Middleware, err error, turns ...fake.Response) outcome {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	o := play(t.Context(), t, loop.Config{Tools: []loop.Tool{tool}, Middleware: []loop.Middleware{p}}, loop.Prompt("go"), turns...)
	if o.err != nil {
		t.Fatal(o.err)
	}
	return o
}

// calling returns a response with calls, each a name and its arguments.
func calling(namesAndArgs ...string) fake.Response {
	var t fake.Response
	for i := 0; i < len(namesAndArgs); i += 2 {
		t.Calls = append(t.Calls, fake.Call{Name: namesAndArgs[i], Arguments: namesAndArgs[i+1]})
	}
	return t
}

func text(s string) fake.Response { return fake.Response{Text: s} }

// results returns the results of all steps, with a prefix for errors.
func (o outcome) results() []string {
	var out []string
	for _, s := range o.res.Steps {
		for _, r := range s.Results {
			mark := ""
			if r.IsError {
				mark = "! "
			}
			out = append(out, mark+r.Text())
		}
	}
	return out
}

// of returns the event bodies of one kind.
func of[B trace.Body](events []trace.Event) []B {
	var out []B
	for _, ev := range events {
		if b, ok := ev.Body.(B); ok {
			out = append(out, b)
		}
	}
	return out
}

// custom returns the data of the custom events of a name.
func (o outcome) custom(name string) []string {
	var out []string
	for _, c := range of[trace.Custom](o.events) {
		if c.Name == name {
			out = append(out, string(c.Data))
		}
	}
	return out
}

// The result is a JSON object of names and values.
func args(t *testing.T, namesAndValues ...any) string {
	t.Helper()
	m := map[string]any{}
	for i := 0; i < len(namesAndValues); i += 2 {
		m[namesAndValues[i].(string)] = namesAndValues[i+1]
	}
	b, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Middleware with missing options is rejected with an error that names them.
func TestConstructorErrors(t *testing.T) {
	agent, err := loop.New(fake.NewModel(), nil)
	if err != nil {
		t.Fatal(err)
	}
	_, files := middleware.Files(nil)
	_, ask := middleware.AskUser(nil)
	_, human := middleware.HumanInTheLoop(nil, nil)
	_, unnamed := middleware.SubAgents(middleware.SubAgent{Agent: agent})
	_, unmade := middleware.SubAgents(middleware.SubAgent{Name: "a"})
	_, twice := middleware.SubAgents(middleware.SubAgent{Name: "a", Agent: agent}, middleware.SubAgent{Name: "a", Agent: agent})
	for want, err := range map[string]error{
		"middleware: Files: missing function: set open":                 files,
		"middleware: AskUser: missing function: set ask":                ask,
		"middleware: HumanInTheLoop: missing function: set approve":     human,
		"middleware: SubAgents: agent 1 has no Name: set it":            unnamed,
		"middleware: SubAgents: the agent \"a\" is nil: set Agent":      unmade,
		"middleware: SubAgents: duplicate name \"a\": rename one agent": twice,
	} {
		if err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// Long results are truncated by characters, and errors stay errors.
func TestTruncateResults(t *testing.T) {
	tools := []loop.Tool{
		{Name: "long", Run: func(context.Context, loop.Call) (loop.Output, error) {
			return loop.Output{Content: []llm.Part{llm.Text{Text: "ääää"}, llm.Media{MediaType: "image/png", Data: []byte{1}}, llm.Text{Text: "äää"}, llm.Text{Text: "ööööö"}}}, nil
		}},
		{Name: "refuses", Run: func(context.Context, loop.Call) (loop.Output, error) {
			return loop.Output{Content: []llm.Part{llm.Text{Text: "refused"}}, IsError: true}, nil
		}},
		{Name: "fails", Run: func(context.Context, loop.Call) (loop.Output, error) { return loop.Output{}, errors.New("boom boom") }},
	}
	o := play(t.Context(), t, loop.Config{Tools: tools, Middleware: []loop.Middleware{middleware.TruncateResults(3)}}, loop.Prompt("go"), calling("long", "{}", "fails", "{}", "refuses", "{}"), text("done"))
	results := o.res.Steps[0].Results
	want := "äää\n(cut: the first 3 characters of a longer text)äääööö\n(cut: the first 3 characters of a longer text)"
	if got := results[0].Text(); got != want || len(results[0].Content) != 4 || results[1].Text() != "boom boom" || !results[1].IsError {
		t.Errorf("RA-62: got %q of %d parts, and %+v", got, len(results[0].Content), results[1])
	}
	if got := results[2]; got.Text() != "ref\n(cut: the first 3 characters of a longer text)" || !got.IsError {
		t.Errorf("RA-62: a result that is an error: got %+v", got)
	}
}
