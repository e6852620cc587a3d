package loop_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/trace"
)

// continuable runs an agent, whose model continues the messages of the input. A tool starts another run, a
// middleware makes a model call in the second step, and the call of b needs a decision.
func continuable(t *testing.T, in loop.Input, decided string) (*loop.Result, []trace.Event) {
	t.Helper()
	var mem trace.Memory
	clock := fake.NewClock()
	responses := []fake.Response{calls("a#a1", "child#a2"), calls("a#a3{\"n\":1}", "b#a4"), calls("child#a5"), text("done")}
	for i := range responses {
		responses[i].Delay, responses[i].Usage = 10*time.Millisecond, llm.Usage{InputTokens: int64(10 + i), OutputTokens: 1}
	}
	known := func(list []llm.Message) (n int) {
		for _, m := range list {
			if m.Role == llm.RoleAssistant {
				n++
			}
		}
		return n
	}
	childModel, children := always("here"), 0
	child := newAgent(t, childModel, loop.Config{Sink: &mem, Clock: clock})
	m := fake.NewModel(responses[known(in.Messages):]...)
	m.Clock = clock
	a := newAgent(t, m, loop.Config{
		Sink: &mem, Clock: clock, System: "sys",
		Tools: []loop.Tool{echo("a"), echo("b"), tool("child", func(ctx context.Context) (string, error) {
			children++
			in := loop.Prompt("where?")
			in.ID = fmt.Sprint("child ", children) // also in another process
			res, err := child.Run(ctx, in)
			if err != nil {
				return "", err
			}
			return res.Text, nil
		})},
		Middleware: []loop.Middleware{waits("b", &decided), named("sums", loop.Hooks{BeforeStep: func(ctx context.Context, s *loop.StepInfo) (c loop.StepChange, err error) {
			if known(s.History()) == 1 {
				_, err = s.CallModel(ctx, summary(model(fake.Response{Text: "short", Usage: llm.Usage{InputTokens: 3}})))
			}
			return c, err
		}})},
	})
	res, err := a.Run(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return res, mem.Events()
}

func join(t *testing.T, traces ...[]trace.Event) []trace.Event {
	t.Helper()
	joined, err := trace.Join(traces...)
	if err != nil {
		t.Fatal(err)
	}
	return joined
}

func compareJoined(t *testing.T, what string, want, got []trace.Event) {
	t.Helper()
	if diff := cmp.Diff(trace.FormatText(trace.Canonical(want)), trace.FormatText(got)); diff != "" {
		t.Errorf("%s (-uninterrupted +joined):\n%s", what, diff)
	}
	if diff := cmp.Diff(got, trace.Canonical(got)); diff != "" {
		t.Errorf("%s: the joined trace is not canonical (-got +canonical):\n%s", what, diff)
	}
}

// A run that was killed after any event, and continued with the messages of its complete steps, has the
// joined trace of a run that was not killed.
func TestJoinKilled(t *testing.T) {
	res, whole := continuable(t, loop.Prompt("go"), "approve")
	joined := 0
	for n := range len(whole) {
		in := loop.Prompt("go")
		complete := 0
		for _, ev := range whole[:n] {
			if _, ok := ev.Body.(trace.StepEnd); ok && ev.Run == whole[0].Run {
				in.Messages = append(in.Messages, res.Steps[complete].Messages...)
				complete++
			}
		}
		if complete == len(res.Steps) {
			break // there is nothing to continue
		}
		first := slices.Clone(whole[:n])
		_, second := continuable(t, in, "approve")
		compareJoined(t, fmt.Sprint("killed after ", n, " events"), whole, join(t, first, second))
		if diff := cmp.Diff(whole[:n], first); diff != "" {
			t.Errorf("Join changed its input (-want +got):\n%s", diff)
		}
		joined++
	}
	if joined < 30 {
		t.Errorf("joined %d traces, want one for each event", joined)
	}
}

// A run that is suspended, also twice, and resumed with a decision has the joined trace of a run with
// that decision. The run that suspends again has the joined trace of one that suspends.
func TestJoinSuspended(t *testing.T) {
	for _, decided := range []string{"approve", "deny"} {
		_, whole := continuable(t, loop.Prompt("go"), decided)
		res, first := continuable(t, loop.Prompt("go"), "")
		in := loop.Continue([]llm.Message{llm.User("go")}, res.Messages...)
		in.ID, in.Resume = "second", &loop.Resume{Of: first[0].Run}
		_, second := continuable(t, in, "")
		compareJoined(t, "suspended again", first, join(t, first, second))
		in.ID = "third"
		_, third := continuable(t, in, decided)
		compareJoined(t, decided, whole, join(t, first, third))
		in.Resume.Of = "second"
		_, third = continuable(t, in, decided)
		compareJoined(t, decided+" after a second suspension", whole, join(t, first, second, third))
	}
}

// The runs of two processes are found among others, of which the trace has those of both.
func TestJoinAmongOthers(t *testing.T) {
	_, whole := continuable(t, loop.Prompt("go"), "approve")
	res, first := continuable(t, loop.Prompt("go"), "")
	in := loop.Continue([]llm.Message{llm.User("go")}, res.Messages...)
	in.Resume = &loop.Resume{Of: first[0].Run}
	_, second := continuable(t, in, "approve")
	other := []trace.Event{{Run: "other", Step: trace.NoStep, Body: trace.RunStart{}}, {Run: "other", Step: trace.NoStep, Body: trace.RunEnd{}}}
	later := slices.Clone(other)
	for i := range later {
		later[i].Run = "later"
	}
	compareJoined(t, "among others", slices.Concat(other, whole, later), join(t, slices.Concat(other, first), slices.Concat(other, second)))
}

// A second run with another configuration is joined as it is.
func TestJoinOther(t *testing.T) {
	res, first, err := ran(t, model(calls("a"), text("done")), loop.Config{Tools: []loop.Tool{echo("a")}, System: "one"})
	if err != nil {
		t.Fatal(err)
	}
	killed := first[:slices.IndexFunc(first, func(ev trace.Event) bool { _, ok := ev.Body.(trace.StepEnd); return ok })+1]
	var mem trace.Memory
	if _, err := newAgent(t, model(text("other")), loop.Config{System: "two", Sink: &mem}).Run(t.Context(), loop.Input{Messages: append([]llm.Message{llm.User("go")}, res.Steps[0].Messages...)}); err != nil {
		t.Fatal(err)
	}
	second := mem.Events()
	got := join(t, killed, second)
	configs, requests, ends := of[trace.ModelConfig](got), of[trace.ModelRequest](got), of[trace.RunEnd](got)
	if len(configs) != 2 || configs[1].System.Text() != "two" || len(requests) != 2 || requests[1].PrefixMessages != 1 || len(requests[1].NewMessages) != 2 || len(ends) != 1 || ends[0].Steps != 2 || ends[0].ModelCalls != 2 {
		t.Errorf("the joined trace:\n%s", trace.FormatText(got))
	}
	for what, lists := range map[string][2][]trace.Event{"nothing first": {nil, second}, "nothing second": {second, nil}, "no complete step": {first[:2], second}} {
		if diff := cmp.Diff(trace.Canonical(second), join(t, lists[0], lists[1])); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	if got := join(t, nil, nil); len(got) != 0 {
		t.Errorf("joined nothing: %v", got)
	}
}
