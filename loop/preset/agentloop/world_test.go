package agentloop_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/middleware"
	"github.com/looptape/looptape/loop/preset/agentloop"
	"github.com/looptape/looptape/trace"
	"github.com/looptape/looptape/trace/check"
)

// TestMain checks that no goroutine outlives the tests.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is an agent on a virtual clock with a record of its events.
type world struct {
	*agentloop.Loop
	t     *testing.T
	clock *fake.Clock
	model *fake.Model
	log   []string // events of the bus
	trace []trace.Event
	hook  func(agentloop.Event) error
	saved []string
	ids   string // prefix of the run ids
	runs  int
}

// newWorld returns a world without an agent.
func newWorld(t *testing.T, turns ...fake.Response) *world {
	w := &world{t: t, clock: fake.NewClock()}
	w.model = &fake.Model{Clock: w.clock, Responses: turns}
	return w
}

// agent creates the agent of a world. It has the tools a, slow and bad unless cfg has
// tools.
func (w *world) agent(cfg agentloop.Config) *world {
	w.t.Helper()
	w.dress(&cfg)
	l, err := agentloop.New(w.t.Context(), w.model, &cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	w.Loop = l
	return w
}

func (w *world) dress(cfg *agentloop.Config) {
	if cfg.Tools == nil {
		cfg.Tools = w.tools()
	}
	cfg.Clock = w.clock
	if cfg.NewID == nil {
		cfg.NewID = func() string { w.runs++; return fmt.Sprint(cmp.Or(w.ids, "agentloop"), "/", w.runs) }
	}
	cfg.Hooks = new(agentloop.Bus)
	cfg.Hooks.Subscribe(func(_ context.Context, ev agentloop.Event) error {
		if ev.Attempt > 0 {
			return nil // of the model client
		}
		w.log = append(w.log, w.line(ev))
		if w.hook != nil {
			return w.hook(ev)
		}
		return nil
	})
	cfg.Sink = trace.SinkFunc(func(ev trace.Event) error {
		w.trace = append(w.trace, ev)
		return nil
	})
	w.t.Cleanup(func() {
		c := check.New(nil)
		for _, ev := range w.trace {
			c.Add(ev)
		}
		for _, v := range c.Done() {
			w.t.Errorf("%s: run %s, event %d: %s", v.Invariant, v.Run, v.Event, v.Message)
		}
	})
}

// allEvents returns a configuration with which a run emits each event of an agent, if the model calls a,
// bad and ghost.
func allEvents() agentloop.Config {
	return agentloop.Config{
		Guardrails: []middleware.Guardrail{{Kind: middleware.GuardOutput, Check: func(context.Context, middleware.GuardrailCheck) (middleware.GuardrailResult, error) {
			return middleware.GuardrailResult{}, nil
		}}},
		Policy: middleware.PermissionPolicy(func(_ context.Context, r middleware.PermissionRequest) (middleware.Permission, error) {
			return middleware.Permission{Allow: true, Ask: r.Tool == "bad"}, nil
		}),
		Approve: func(context.Context, middleware.ApprovalRequest) (middleware.Approval, error) {
			return middleware.Approval{Decision: middleware.Approve}, nil
		},
	}
}

func (w *world) tools() []loop.Tool {
	return []loop.Tool{text("a", "A"), {Name: "slow", Run: func(ctx context.Context, _ loop.Call) (loop.Output, error) {
		middleware.SetMetric(ctx, "rows", middleware.Metric{Value: 3.0, Type: "count"})
		return loop.TextOutput("S"), w.clock.Sleep(ctx, 30*time.Millisecond)
	}}, {Name: "bad", Run: func(context.Context, loop.Call) (loop.Output, error) { return loop.Output{}, errors.New("no luck") }}}
}

// text returns a tool that returns a fixed text, as a function of [loop.NewTool] does.
func text(name, text string) loop.Tool {
	return loop.Tool{Name: name, Run: func(context.Context, loop.Call) (loop.Output, error) {
		out := loop.TextOutput(text)
		out.Value = text
		return out, nil
	}}
}

// line formats an event of the bus as one line.
func (w *world) line(ev agentloop.Event) string {
	what := ""
	switch d := ev.Data.(type) {
	case agentloop.Input:
		what = fmt.Sprintf(" %q", d.Text)
	case *agentloop.Response:
		what = fmt.Sprintf(" %d %q %s", ev.Step, d.Text(), d.FinishReason)
	case *middleware.ToolStarting:
		what = fmt.Sprintf(" %d %s", ev.Step, d.Call.ID)
	case middleware.ToolDone:
		what = fmt.Sprintf(" %d %s", ev.Step, d.Call.ID)
	case *middleware.ToolFailed:
		what = fmt.Sprintf(" %d %s: %v", ev.Step, d.Call.ID, d.Err)
	case trace.Warning:
		what = " " + d.Code
	case middleware.ApprovalRequest:
		what = " " + d.Call.ID
	case agentloop.ApprovalResolved:
		what = fmt.Sprint(" ", d.Request.Call.ID, " ", d.Decision.Decision)
	case middleware.GuardrailTrigger:
		what = " " + d.Guardrail
	case *agentloop.Report:
		what = " " + string(d.Reason)
	case nil:
		what = fmt.Sprint(" ", ev.Step)
	}
	return ev.Name + what
}

// play completes or streams a run. It returns the response and the error of its end.
func (w *world) play(ctx context.Context, streamed bool, in agentloop.Input, opts *agentloop.Options) (res *agentloop.Response, err error) {
	if !streamed {
		return w.Complete(ctx, in, opts)
	}
	for ev, failed := range w.Stream(ctx, in, opts) {
		res, err = ev.Response, failed
	}
	return res, err
}

// run completes a run. It fails the test if the run cannot begin.
func (w *world) run(input string) *agentloop.Response {
	w.t.Helper()
	res, err := w.Complete(w.t.Context(), agentloop.Input{Text: input}, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	return res
}

// stream streams a run and returns its events as JSON. It fails the test if the run
// cannot begin.
func (w *world) stream(input string, opts *agentloop.Options) (events []agentloop.StreamEvent) {
	w.t.Helper()
	for ev, err := range w.Stream(w.t.Context(), agentloop.Input{Text: input}, opts) {
		if err != nil {
			w.t.Fatal(err)
		}
		events = append(events, ev)
	}
	return events
}

// types returns the types of events, with the call or the text.
func types(events []agentloop.StreamEvent) (out []string) {
	for _, ev := range events {
		out = append(out, strings.TrimSpace(ev.Type+" "+ev.CallID+ev.Text))
	}
	return out
}

// last returns the last report.
func (w *world) last() *agentloop.Report {
	w.t.Helper()
	all := w.Reports()
	if len(all) == 0 {
		w.t.Fatal("got no report")
	}
	return all[len(all)-1]
}

// roles returns the role and the number of parts of each message in the history.
func (w *world) roles() string {
	var out []string
	for _, m := range w.History().Messages() {
		out = append(out, fmt.Sprintf("%s/%d", m.Role, len(m.Parts)))
	}
	return strings.Join(out, " ")
}

// calls returns a response that calls tools by name. The id of a call is the prefix and
// the tool name.
func calls(prefix string, names ...string) fake.Response {
	var t fake.Response
	for _, n := range names {
		t.Calls = append(t.Calls, fake.Call{ID: prefix + n, Name: n, Arguments: "{}"})
	}
	return t
}

func says(text string) fake.Response { return fake.Response{Text: text} }

func same(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}
