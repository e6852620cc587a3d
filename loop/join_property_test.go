package loop_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/trace"
)

// interruptedRun is an agent of several processes. Calls of the tool b need a decision. Each process begins with the
// messages of those before it.
type interruptedRun struct {
	t         *testing.T
	responses []fake.Response
	config    loop.Config
	hooks     map[string][]string // what a hook does after a number of responses
	approval  int                 // the position of the approval among the hooks
	decided   map[string]string   // by the id of a call
	waits     []string            // the calls that need a decision, in order
}

func drawInterrupted(t *testing.T, rt *rapid.T) *interruptedRun {
	r := &interruptedRun{t: t, hooks: map[string][]string{}, decided: map[string]string{}}
	for i := range rapid.IntRange(1, 4).Draw(rt, "steps") {
		var specs []string
		for k, name := range rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "b", "child", "unknown"}), 1, 3).Draw(rt, "calls") {
			id := fmt.Sprintf("c%d-%d", i, k)
			specs = append(specs, name+"#"+id)
			if name == "b" {
				r.waits = append(r.waits, id)
				r.decided[id] = rapid.SampledFrom([]string{"approve", "deny"}).Draw(rt, "decision")
			}
		}
		r.responses = append(r.responses, calls(specs...))
	}
	r.responses = append(r.responses, text("done"))
	for i := range r.responses {
		r.responses[i].Delay, r.responses[i].Usage = 10*time.Millisecond, llm.Usage{InputTokens: int64(10 + i), OutputTokens: 1}
		for _, hook := range []string{"BeforeStep", "AfterModel", "BeforeTools"} {
			r.hooks[fmt.Sprint(hook, i)] = rapid.SliceOfN(rapid.SampledFrom([]string{"emit", "warn", "summary", "grade", "grade again"}), 0, 3).Draw(rt, hook)
		}
	}
	r.approval = rapid.IntRange(0, 1).Draw(rt, "approval")
	r.config = loop.Config{
		System: "sys", MaxSteps: 9, MaxConsecutiveToolErrors: loop.Disabled, Concurrency: rapid.IntRange(1, 3).Draw(rt, "concurrency"),
		BeforeToolsEachCall: rapid.Bool().Draw(rt, "each call"), OneMessagePerResult: rapid.Bool().Draw(rt, "one message per result"),
	}
	return r
}

// process runs one process, which knows the decisions about calls.
func (r *interruptedRun) process(in loop.Input, decided map[string]string) (*loop.Result, []trace.Event) {
	r.t.Helper()
	var mem trace.Memory
	cfg, clock := r.config, fake.NewClock()
	cfg.Sink, cfg.Clock = &mem, clock
	children, child := 0, newAgent(r.t, always("here"), loop.Config{Sink: &mem, Clock: clock})
	cfg.Tools = []loop.Tool{echo("a"), echo("b"), tool("child", func(ctx context.Context) (string, error) {
		children++
		in := loop.Prompt("where?")
		in.ID = fmt.Sprint("child ", children) // also in another process
		res, err := child.Run(ctx, in)
		if err != nil {
			return "", err
		}
		return res.Text, nil
	})}
	known := func(messages []llm.Message) (n int) {
		for _, m := range messages {
			if m.Role == llm.RoleAssistant {
				n++
			}
		}
		return n
	}
	does := func(ctx context.Context, hook string, n int, s *loop.StepInfo) error {
		for i, what := range r.hooks[fmt.Sprint(hook, n)] {
			err := error(nil)
			switch what {
			case "emit":
				err = s.Emit(hook, fmt.Appendf(nil, `{"n":%d}`, i))
			case "warn":
				err = s.Warn(hook, fmt.Sprint(n, i))
			default:
				m := fake.NewModel(fake.Response{Text: what, Delay: time.Millisecond, Usage: llm.Usage{InputTokens: int64(3 + n)}})
				m.Clock = clock
				call := loop.ModelCall{Purpose: trace.Purpose(what[:5]), Model: m, Request: &llm.Request{System: llm.SystemText(what), Messages: []llm.Message{llm.User("the run"), llm.User(fmt.Sprint(hook, n))}}}
				_, err = s.CallModel(ctx, call)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	list := []loop.Middleware{named("does", loop.Hooks{
		BeforeStep: func(ctx context.Context, s *loop.StepInfo) (c loop.StepChange, err error) {
			return c, does(ctx, "BeforeStep", known(s.History()), s)
		},
		AfterModel: func(ctx context.Context, s *loop.StepInfo, _ *llm.Response) (d loop.Decision, err error) {
			return d, does(ctx, "AfterModel", known(s.History())-1, s)
		},
		BeforeTools: func(ctx context.Context, s *loop.StepInfo, _ []loop.PlannedCall) (_ []loop.CallDecision, d loop.Decision, err error) {
			return nil, d, does(ctx, "BeforeTools", known(s.History())-1, s)
		},
	})}
	cfg.Middleware = slices.Insert(list, r.approval, named("approval", loop.Hooks{
		BeforeTools: func(_ context.Context, _ *loop.StepInfo, calls []loop.PlannedCall) (out []loop.CallDecision, d loop.Decision, err error) {
			for _, p := range calls {
				if p.Call.Name != "b" {
					continue
				}
				switch decided[p.Call.ID] {
				case "":
					return nil, loop.Decision{Action: trace.Suspend}, nil
				case "deny":
					out = append(out, loop.CallDecision{Index: p.Index, Output: &loop.Output{Content: []llm.Part{llm.Text{Text: "denied"}}, IsError: true}, Reason: "denied"})
				}
			}
			return out, loop.Decision{}, nil
		},
	}))
	m := fake.NewModel(r.responses[known(in.Messages):]...)
	m.Clock = clock
	res, err := newAgent(r.t, m, cfg).Run(r.t.Context(), in)
	if err != nil {
		r.t.Fatal(err)
	}
	return res, mem.Events()
}

// A run that waits for decisions and continues in other processes has the joined trace of a run that
// knew the decisions, whatever its hooks do.
func TestJoinSuspendedProperty(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := drawInterrupted(t, rt)
		_, whole := r.process(loop.Prompt("go"), r.decided)
		decided := map[string]string{}
		in := loop.Prompt("go")
		in.ID = "process 0"
		res, events := r.process(in, decided)
		traces := [][]trace.Event{events}
		for known := 0; res.StopReason == trace.ReasonApproval; {
			if known == len(r.waits) {
				rt.Fatalf("the run waits, although all decisions are known:\n%s", trace.FormatText(events))
			}
			more := rapid.IntRange(0, len(r.waits)-known).Draw(rt, "decisions")
			if len(traces) > 5 {
				more = len(r.waits) - known
			}
			for range more {
				decided[r.waits[known]] = r.decided[r.waits[known]]
				known++
			}
			in = loop.Continue(in.Messages, res.Messages...)
			in.ID = fmt.Sprint("process ", len(traces))
			in.Resume = &loop.Resume{Of: fmt.Sprint("process ", len(traces)-1)}
			res, events = r.process(in, decided)
			traces = append(traces, events)
		}
		for i, events := range traces {
			checkInvariants(t, fmt.Sprint("process ", i), events)
		}
		r.compare(rt, whole, traces)
	})
}

// A run that was killed after any event, also several times, and continued with the messages of its complete steps, has
// the joined trace of a run that was not killed.
func TestJoinKilledProperty(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := drawInterrupted(t, rt)
		_, whole := r.process(loop.Prompt("go"), r.decided)
		in := loop.Prompt("go")
		var traces [][]trace.Event
		for range rapid.IntRange(1, 3).Draw(rt, "kills") {
			in.ID = fmt.Sprint("process ", len(traces))
			res, events := r.process(in, r.decided)
			events = events[:rapid.IntRange(0, len(events)-1).Draw(rt, "killed")]
			complete := 0
			for _, ev := range events {
				if _, ok := ev.Body.(trace.StepEnd); ok && ev.Run == in.ID {
					in.Messages = append(in.Messages, res.Steps[complete].Messages...)
					complete++
				}
			}
			traces = append(traces, events)
			if complete == len(res.Steps) {
				return // there is nothing to continue
			}
		}
		in.ID = "last"
		_, events := r.process(in, r.decided)
		r.compare(rt, whole, append(traces, events))
	})
}

func (r *interruptedRun) compare(rt *rapid.T, whole []trace.Event, traces [][]trace.Event) {
	joined, err := trace.Join(traces...)
	if err != nil {
		rt.Fatal(err)
	}
	if whole = trace.Canonical(whole); cmp.Diff(whole, joined) != "" {
		rt.Fatalf("the joined trace (-uninterrupted +joined):\n%s", cmp.Diff(trace.FormatText(whole), trace.FormatText(joined)))
	}
}
