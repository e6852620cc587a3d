package loop_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/trace"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A run whose Input has a parent has the name of the parent's call, also outside a tool.
func TestNameWithParent(t *testing.T) {
	var mem trace.Memory
	in := loop.Prompt("go")
	in.Parent = &trace.Parent{Run: "other", ToolCallID: "c7"}
	if _, err := newAgent(t, model(text("x")), loop.Config{Sink: &mem}).Run(t.Context(), in); err != nil || mem.Events()[0].Run != "other/c7" {
		t.Errorf("got the name %q, %v", mem.Events()[0].Run, err)
	}
}

func TestNewErrors(t *testing.T) {
	for _, c := range []struct {
		cfg  loop.Config
		want string
	}{
		{loop.Config{BadArguments: "x"}, `Config.BadArguments: unknown value "x"`},
		{loop.Config{ClientCalls: "x"}, `Config.ClientCalls: unknown value "x"`},
		{loop.Config{MaxDuplicateSteps: 1}, `Config.MaxDuplicateSteps: invalid value 1`},
		{loop.Config{MaxDuplicateSteps: -1, DuplicateStep: loop.DuplicateSkip}, `Config.MaxDuplicateSteps: invalid value -1`},
		{loop.Config{OnStepLimit: "x"}, `Config.OnStepLimit: unknown value "x"`},
		{loop.Config{DuplicateStep: "x"}, `Config.DuplicateStep: unknown value "x"`},
		{loop.Config{ResponseMode: "x"}, `Config.ResponseMode: unknown value "x"`},
		{loop.Config{TokenBudget: -1}, "Config.TokenBudget: negative value -1"},
		{loop.Config{Deadline: -1}, "Config.Deadline: negative value -1ns"},
		{loop.Config{ToolTimeout: -1}, "Config.ToolTimeout: negative value -1ns"},
		{loop.Config{Grace: -1}, "Config.Grace: negative value -1ns"},
		{loop.Config{ToolChoice: llm.ToolChoice{Mode: llm.ChooseTool, Name: "b"}, Tools: []loop.Tool{echo("a")}}, `Config.ToolChoice: unknown tool "b"`},
		{loop.Config{Middleware: []loop.Middleware{{Name: "p"}}}, `Config.Middleware[0] ("p"): missing function`},
		{loop.Config{StopWhen: []loop.StopCondition{loop.StepCountIs(1), {Name: "x"}}}, `Config.StopWhen[1] ("x"): missing condition`},
	} {
		if _, err := loop.New(model(), &c.cfg); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got error %v, want one with %q", err, c.want)
		}
	}
	if _, err := loop.New(nil, nil); err == nil {
		t.Error("no model: got no error")
	}
	if _, err := loop.New(model(), &loop.Config{ToolChoice: llm.ToolChoice{Mode: llm.ChooseTool, Name: "a"}, Tools: []loop.Tool{echo("a")}}); err != nil {
		t.Errorf("a choice that is among the tools: %v", err)
	}
}

// A checker may verify all limits that a run declares.
func TestDeclaredOptions(t *testing.T) {
	no := false
	for _, c := range []struct {
		cfg  loop.Config
		want string
	}{
		{loop.Config{}, "max_steps=16 concurrency=5 same_tool_error_stop=3"},
		{loop.Config{MaxSteps: -3, Concurrency: loop.Unlimited, MaxConsecutiveToolErrors: loop.Disabled}, "max_steps=0 concurrency=unbounded"},
		{loop.Config{Settings: llm.Settings{ParallelToolCalls: &no}, MaxSteps: 2}, "max_steps=2 concurrency=1 same_tool_error_stop=3"},
		{loop.Config{Settings: llm.Settings{ParallelToolCalls: &no}, Concurrency: loop.Unlimited}, "max_steps=16 concurrency=1 same_tool_error_stop=3"},
		{loop.Config{
			Preset: "p", ResponseMode: llm.NonStreaming, CheckLimitBeforeStep: true, OnStepLimit: loop.StepLimitForceFinal, ResetByAbsence: true, TokenBudget: 9,
			Deadline: 1500e6, DeadlineReturns: true, ToolTimeout: 1e9, Grace: 2e9, Retry: loop.Retry{Max: 2}, OneMessagePerResult: true,
			BadArguments: loop.BadArgumentsEmpty, DuplicateStep: loop.DuplicateSkip, ToolChoice: llm.ToolChoice{Mode: llm.ChooseRequired}, Tools: []loop.Tool{echo("a")},
		}, "preset=p delivery=buffered max_steps=16 cap_at=top on_cap=force_final concurrency=5 same_tool_error_stop=3 reset=absence token_budget=9 " +
			"deadline=1.5s deadline_mode=return tool_timeout=1s grace=2s retry_max=2 tool_message=one_per_call bad_args=empty_object duplicate_round=skip tool_choice=required"},
		{loop.Config{AppendAfterHooks: true, BadArguments: loop.BadArgumentsPass, BreakOnUnknownTool: true, ClientCalls: loop.ClientRest, OmitErrorFlag: true, DuplicateStep: loop.DuplicateSkip, MaxDuplicateSteps: 2},
			"max_steps=16 concurrency=5 same_tool_error_stop=3 assistant_append=after_hooks bad_args=pass unknown_tool=break client_tools=run_rest_then_break error_flag=off duplicate_round=force_final_after 2"},
	} {
		_, events := mustRun(t, model(text("x")), c.cfg)
		var got []string
		for _, o := range of[trace.RunStart](events)[0].Options {
			got = append(got, o.Name+"="+o.Value)
		}
		if diff := cmp.Diff(c.want, strings.Join(got, " ")); diff != "" {
			t.Errorf("options (-want +got):\n%s", diff)
		}
	}
}

// Set takes the words of duplicate_step, and a number of steps of 1 or more.
func TestSetDuplicateStep(t *testing.T) {
	i := slices.IndexFunc(loop.Options(), func(o loop.Option) bool { return o.Name == "duplicate_step" })
	before := loop.Config{DuplicateStep: "unchanged"}
	for value, want := range map[string]loop.Config{
		"run":                 {DuplicateStep: loop.DuplicateRun},
		"skip":                {DuplicateStep: loop.DuplicateSkip},
		"force_final_after 1": {DuplicateStep: loop.DuplicateSkip, MaxDuplicateSteps: 1},
		"force_final_after 0": before, "force_final_after": before, "run 1": before, "skip 1": before, "other": before,
	} {
		got := before
		err := loop.Options()[i].Set(&got, value)
		if valid := want.DuplicateStep != before.DuplicateStep; valid != (err == nil) || got.DuplicateStep != want.DuplicateStep || got.MaxDuplicateSteps != want.MaxDuplicateSteps {
			t.Errorf("%q: got %q with the limit %d, error %v; want %q with %d", value, got.DuplicateStep, got.MaxDuplicateSteps, err, want.DuplicateStep, want.MaxDuplicateSteps)
		}
	}
}

// The events of a run have the documented order.
func TestEventOrder(t *testing.T) {
	_, events := mustRun(t, model(calls("a", "nope"), text("done")), loop.Config{Tools: []loop.Tool{echo("a")}})
	want := "run.start step.start model.config model.request model.response decision tool.skip tool.start tool.end step.end " +
		"step.start model.request model.response decision step.end run.end"
	if diff := cmp.Diff(want, kinds(events)); diff != "" {
		t.Errorf("kinds (-want +got):\n%s", diff)
	}
	for i, ev := range events {
		if ev.Seq != i || ev.Run != "r1" {
			t.Errorf("event %d: got seq %d of run %q", i, ev.Seq, ev.Run)
		}
	}
	if end := of[trace.RunEnd](events)[0]; end.Steps != 2 || end.ModelCalls != 2 || end.StopReason != trace.ReasonEndTurn || len(end.AppendedMessages) != 1 {
		t.Errorf("run.end: got %+v", end)
	}
}

func TestEventsAndWait(t *testing.T) {
	a := newAgent(t, model(calls("a"), text("done")), loop.Config{Tools: []loop.Tool{echo("a")}})
	run := a.Start(t.Context(), loop.Prompt("go"))
	var events []trace.Event
	for ev, err := range run.Events() {
		if err != nil {
			t.Error(err)
		}
		events = append(events, ev)
	}
	if got := events[len(events)-1].Body.Kind(); got != trace.KindRunEnd {
		t.Errorf("the last event is %s", got)
	}
	if n := len(of[trace.ModelDelta](events)); n != 4 {
		t.Errorf("got %d deltas, want the 3 of the call and the text's", n)
	}
	res, err := run.Wait()
	if err != nil || res.Text != "done" {
		t.Errorf("Wait: got %+v, %v", res, err)
	}
	n := 0
	for ev, err := range run.Events() {
		n++
		if err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(events[len(events)-1], ev); diff != "" {
			t.Errorf("the events read again (-want +got):\n%s", diff)
		}
	}
	if n != 1 {
		t.Errorf("the events read again: got %d, want the last alone", n)
	}
}

// A part that arrives complete becomes one delta; an empty part becomes none.
func TestDeltasOfCompleteParts(t *testing.T) {
	response := calls("a")
	response.Events = []llm.Event{
		llm.PartDone{Part: llm.Reasoning{Opaque: []byte(`1`)}}, llm.PartDone{Part: llm.Reasoning{Text: "hm"}},
		llm.PartDone{Part: llm.Text{Opaque: []byte(`1`)}}, llm.PartDone{Part: llm.Text{Text: "x"}},
		llm.PartDone{Part: llm.ToolCall{ID: "c1", Name: "a"}}, llm.PartDone{Part: llm.ToolCall{ID: "c2", Name: "a", Arguments: "{}"}},
		llm.PartDone{Part: llm.ToolCall{ID: "s", Name: "search", ProviderExecuted: true}}, llm.TextDelta{}, llm.ReasoningDelta{}, llm.ToolCallDelta{Arguments: "dropped"},
	}
	response.Calls = nil
	_, events := mustRun(t, model(response, text("done")), loop.Config{Tools: []loop.Tool{echo("a")}, Deltas: true})
	var got []string
	for _, d := range of[trace.ModelDelta](events) {
		got = append(got, strings.TrimSpace(fmt.Sprint(d.Type, " ", d.ToolCallID, d.Name, d.Text)))
	}
	want := []string{"reasoning hm", "text x", "call c1a", "call_end c1", "call c2a", "arguments c2{}", "call_end c2", "text done"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("deltas (-want +got):\n%s", diff)
	}
}

// countingClock counts the calls of its methods.
type countingClock struct {
	loop.SystemClock
	asked *int
}

func (c countingClock) Now() time.Time {
	*c.asked++
	return time.Time{}
}

// A run without a consumer makes no events and does not read the clock.
func TestRunWithoutConsumer(t *testing.T) {
	asked := 0
	for _, deltas := range []bool{false, true} {
		a := newAgent(t, model(calls("a", "a"), text("x")), loop.Config{Tools: []loop.Tool{echo("a")}, Clock: countingClock{asked: &asked}, Deltas: deltas})
		if _, err := a.Run(t.Context(), loop.Prompt("go")); err != nil || asked != 0 {
			t.Errorf("deltas=%v: %d calls, %v", deltas, asked, err)
		}
	}
}

// Several goroutines may wait for one run. All get the same result.
func TestWaitConcurrent(t *testing.T) {
	run := newAgent(t, model(text("done")), loop.Config{}).Start(t.Context(), loop.Prompt("go"))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if res, err := run.Wait(); err != nil || res.Text != "done" {
				t.Errorf("got %+v, %v", res, err)
			}
		})
	}
	wg.Wait()
}

// A run without a consumer does nothing and leaves no goroutine running.
func TestStartIsLazy(t *testing.T) {
	m := model(text("x"))
	newAgent(t, m, loop.Config{}).Start(t.Context(), loop.Prompt("go"))
	if n := len(m.RecordedRequests()); n != 0 {
		t.Errorf("got %d requests", n)
	}
}

func TestErrorIsReportedOnce(t *testing.T) {
	boom := &llm.APIError{Status: 500, Message: "boom"}
	run := newAgent(t, model(calls("a"), fake.Response{Text: "half", Err: boom}), loop.Config{Tools: []loop.Tool{echo("a")}}).Start(t.Context(), loop.Prompt("go"))
	var errs []error
	var last trace.Event
	for ev, err := range run.Events() {
		last = ev
		if err != nil {
			errs = append(errs, err)
		}
	}
	if len(errs) != 1 || !errors.Is(errs[0], boom) || errs[0].Error() != "loop: step 1: status 500: boom" {
		t.Errorf("got errors %v", errs)
	}
	end := last.Body.(trace.RunEnd)
	if end.StopReason != trace.ReasonError || end.Error == nil || end.Error.Type != "api" || end.Error.Status != 500 {
		t.Errorf("run.end: got %+v, %+v", end, end.Error)
	}
	res, err := run.Wait()
	if !errors.Is(err, boom) || res.Partial == nil || res.Partial.Text() != "half" || len(res.Steps) != 1 || res.ModelCalls != 2 {
		t.Errorf("Wait: got %+v, %v", res, err)
	}
	if len(res.Messages) != 2 || res.Text != "" {
		t.Errorf("the partial response is in the result: %+v", res)
	}
}

// A consumer that stops the iteration cancels the run, and the trace is still complete.
func TestIterationStoppedEarly(t *testing.T) {
	_, all := mustRun(t, model(calls("a", "b"), text("done")), loop.Config{Tools: []loop.Tool{echo("a"), echo("b")}, Deltas: true})
	for n := 1; n < len(all); n++ {
		var mem trace.Memory
		var running int
		var mu sync.Mutex
		slow := func(name string) loop.Tool {
			return tool(name, func(context.Context) (string, error) {
				mu.Lock()
				running++
				mu.Unlock()
				runtime.Gosched()
				mu.Lock()
				running--
				mu.Unlock()
				return "", nil
			})
		}
		a := newAgent(t, model(calls("a", "b"), text("done")), loop.Config{Tools: []loop.Tool{slow("a"), slow("b")}, Sink: &mem})
		run := a.Start(t.Context(), loop.Prompt("go"))
		left := 0
		for _, err := range run.Events() {
			if err != nil {
				t.Errorf("left after %d: an error came: %v", n, err)
			}
			if left++; left == n {
				break
			}
		}
		if running != 0 {
			t.Errorf("left after %d: %d tools still run", n, running)
		}
		res, err := run.Wait()
		last := mem.Events()[len(mem.Events())-1]
		end, ok := last.Body.(trace.RunEnd)
		if !ok {
			t.Fatalf("left after %d: the trace ends with %s", n, last.Body.Kind())
		}
		if end.StopReason == trace.ReasonEndTurn && err == nil {
			continue // left after the last response: nothing was left to cancel
		}
		if !errors.Is(err, loop.ErrIterationStopped) || !errors.Is(err, context.Canceled) || end.StopReason != trace.ReasonCancel || res.StopReason != trace.ReasonCancel {
			t.Errorf("left after %d: got %v, stop %q", n, err, end.StopReason)
		}
		if len(of[trace.Canceled](mem.Events())) != 1 {
			t.Errorf("left after %d: events %s", n, kinds(mem.Events()))
		}
	}
}

// If a consumer panics, the run waits for its tools and completes the trace.
func TestConsumerPanics(t *testing.T) {
	var mem trace.Memory
	a := newAgent(t, model(calls("a", "b"), text("done")), loop.Config{Tools: []loop.Tool{echo("a"), echo("b")}, Sink: &mem})
	func() {
		defer func() {
			if v := recover(); v != "mine" {
				t.Errorf("recovered %v", v)
			}
		}()
		for ev, err := range a.Start(t.Context(), loop.Prompt("go")).Events() {
			if err != nil {
				t.Error(err)
			}
			if ev.Body.Kind() == trace.KindToolEnd {
				panic("mine")
			}
		}
	}()
	if got := mem.Events()[len(mem.Events())-1].Body.Kind(); got != trace.KindRunEnd {
		t.Errorf("the trace ends with %s", got)
	}
}

func TestCancelBeforeStart(t *testing.T) {
	cause := errors.New("no more")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	m := model(text("x"))
	var mem trace.Memory
	res, err := newAgent(t, m, loop.Config{Sink: &mem}).Run(ctx, loop.Prompt("go"))
	if err != cause || len(m.RecordedRequests()) != 0 || res.StopReason != trace.ReasonCancel {
		t.Errorf("got %v after %d requests, stop %q", err, len(m.RecordedRequests()), res.StopReason)
	}
	if e := of[trace.RunEnd](mem.Events())[0].Error; e.Type != "cancelled" || e.Message != "no more" {
		t.Errorf("the trace has %+v", e)
	}
	if got := kinds(mem.Events()); got != "run.start cancelled decision run.end" {
		t.Errorf("got %s", got)
	}
}

func TestCancelInTool(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	told := false
	stop := tool("stop", func(ctx context.Context) (string, error) {
		cancel()
		<-ctx.Done()
		told = true
		return "", ctx.Err()
	})
	m := model(calls("stop", "b"), text("x"))
	var mem trace.Memory
	res, err := newAgent(t, m, loop.Config{Tools: []loop.Tool{stop, echo("b")}, Concurrency: 1, Sink: &mem}).Run(ctx, loop.Prompt("go"))
	if !errors.Is(err, context.Canceled) || !told || res.StopReason != trace.ReasonCancel || res.ModelCalls != 1 {
		t.Errorf("got %v (reported: %v), %+v", err, told, res)
	}
	want := "run.start step.start model.config model.request model.response decision tool.start tool.end cancelled tool.skip decision step.end run.end"
	if got := kinds(mem.Events()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if end := of[trace.ToolEnd](mem.Events())[0]; end.Outcome != trace.OutcomeCanceled || !end.Result.IsError {
		t.Errorf("tool.end: got %+v", end)
	}
	if skip := of[trace.ToolSkip](mem.Events())[0]; skip.Reason != "cancelled" || skip.ToolCallID != "c2" {
		t.Errorf("tool.skip: got %+v", skip)
	}
	if len(res.Messages) != 2 || len(res.Messages[1].Parts) != 2 || res.Pending != nil {
		t.Errorf("a call is unanswered: %+v", res.Messages)
	}
}

// A context that ends with an error of the caller's own ends the run like any other; the
// same error of a model does not.
func TestCancelWithCauseOfCaller(t *testing.T) {
	own := errors.New("the user went away")
	for _, c := range []struct {
		cancel, model error
		stop          trace.Reason
		kind          string
	}{
		{own, nil, trace.ReasonCancel, "cancelled"},
		{context.DeadlineExceeded, nil, trace.ReasonDeadline, "deadline"},
		{nil, own, trace.ReasonError, "error"},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		leave := tool("leave", func(context.Context) (string, error) {
			if c.cancel != nil {
				cancel(c.cancel)
			}
			return "", nil
		})
		var mem trace.Memory
		res, err := newAgent(t, model(calls("leave"), fake.Response{Err: c.model}), loop.Config{Tools: []loop.Tool{leave}, Sink: &mem}).Run(ctx, loop.Prompt("go"))
		if e := of[trace.RunEnd](mem.Events())[0].Error; err == nil || res.StopReason != c.stop || e.Type != c.kind {
			t.Errorf("%v, %v: got %v, stop %q, an error of the type %q", c.cancel, c.model, err, res.StopReason, e.Type)
		}
		for _, e := range of[trace.Canceled](mem.Events()) {
			if e.Reason != string(c.stop) {
				t.Errorf("%v: canceled for %q", c.cancel, e.Reason)
			}
		}
	}
}

// The end of another context is an error, of the model as of a tool.
func TestCancelOfAnotherContext(t *testing.T) {
	other := tool("a", func(context.Context) (string, error) { return "", context.Canceled })
	res, events, err := ran(t, model(calls("a"), fake.Response{Err: context.Canceled}), loop.Config{Tools: []loop.Tool{other}})
	if err == nil || res.StopReason != trace.ReasonError {
		t.Errorf("got %v, stop %q", err, res.StopReason)
	}
	if got := of[trace.ToolEnd](events)[0].Outcome; got != trace.OutcomeError {
		t.Errorf("outcome %q of the tool", got)
	}
}

// A tool that fails after a cancel, with an error of its own, failed.
func TestErrorAfterCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var mem trace.Memory
	a := tool("a", func(context.Context) (string, error) { cancel(); return "", errors.New("disk full") })
	_, err := newAgent(t, model(calls("a")), loop.Config{Tools: []loop.Tool{a}, Sink: &mem}).Run(ctx, loop.Prompt("go"))
	if got := of[trace.ToolEnd](mem.Events())[0].Outcome; !errors.Is(err, context.Canceled) || got != trace.OutcomeError {
		t.Errorf("got %v, outcome %q of the tool", err, got)
	}
}

// A cancel within a model call ends it at its next event, whatever the model does.
func TestCancelInModel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	m := llm.ModelFunc(func(context.Context, *llm.Request) iter.Seq2[llm.Event, error] {
		return func(yield func(llm.Event, error) bool) {
			if !yield(llm.TextDelta{Text: "a"}, nil) {
				t.Error("left at the first event")
			}
			cancel()
			if yield(llm.TextDelta{Text: "b"}, nil) {
				t.Error("not left after the cancel")
			}
		}
	})
	res, err := newAgent(t, m, loop.Config{}).Run(ctx, loop.Prompt("go"))
	if !errors.Is(err, context.Canceled) || res.Partial.Text() != "ab" || res.StopReason != trace.ReasonCancel {
		t.Errorf("got %v, %+v", err, res)
	}
}

// A model that returns its own error on cancellation does not hide the reason.
func TestCancelCause(t *testing.T) {
	cause := fmt.Errorf("shutting down: %w", context.Canceled)
	ctx, cancel := context.WithCancelCause(t.Context())
	m := llm.ModelFunc(func(context.Context, *llm.Request) iter.Seq2[llm.Event, error] {
		return func(yield func(llm.Event, error) bool) {
			cancel(cause)
			yield(nil, errors.New("connection closed"))
		}
	})
	if _, err := newAgent(t, m, loop.Config{}).Run(ctx, loop.Prompt("go")); err != cause {
		t.Errorf("got %v, want the cause", err)
	}
}

func TestPanics(t *testing.T) {
	boom := errors.New("boom")
	boomModel := llm.ModelFunc(func(context.Context, *llm.Request) iter.Seq2[llm.Event, error] { panic(boom) })
	_, events, err := ran(t, boomModel, loop.Config{})
	var p *loop.PanicError
	if !errors.As(err, &p) || p.Where != "the model" || !errors.Is(err, boom) || len(p.Stack) == 0 {
		t.Errorf("a model: got %v", err)
	}
	if e := of[trace.ModelError](events)[0].Error; e.Type != "panic" {
		t.Errorf("a model: got %+v", e)
	}
	for name, width := range map[string]int{"alone": 1, "together": 2} {
		res, events := mustRun(t, model(calls("p", "g", "a"), text("done")), loop.Config{Concurrency: width, Tools: []loop.Tool{
			tool("p", func(context.Context) (string, error) { panic("no") }),
			tool("g", func(context.Context) (string, error) { panic(boom) }),
			echo("a"),
		}})
		want := []string{"the tool p panicked: no", "the tool g panicked: boom", "{}"}
		if diff := cmp.Diff(want, resultTexts(res.Messages)); diff != "" {
			t.Errorf("%s: results (-want +got):\n%s", name, diff)
		}
		n := 0
		for _, e := range of[trace.ToolEnd](events) {
			if e.Outcome == trace.OutcomePanic {
				n++
			}
		}
		if n != 2 {
			t.Errorf("%s: %d ends with a panic, want 2", name, n)
		}
	}
}

// Ids that were used before, in the history or in the run, are not used again.
func TestIDs(t *testing.T) {
	history := []llm.Message{
		llm.User("hi"),
		llm.Assistant(llm.ToolCall{ID: "c1", Name: "a", Arguments: "{}"}, llm.ToolCall{ID: "loop_call_1", Name: "a", Arguments: "{}"}),
		llm.ToolResults(llm.ToolResult{ID: "c1"}, llm.ToolResult{ID: "loop_call_1"}),
		llm.User("again"),
	}
	m := fake.NewModel(calls("a#c1", "a#x", "a#x"), fake.Response{Calls: []fake.Call{{Name: "a", Arguments: "{}"}, {ID: "loop_call_3", Name: "a", Arguments: "{}"}}}, text("done"))
	res, err := newAgent(t, m, loop.Config{Tools: []loop.Tool{echo("a")}}).Run(t.Context(), loop.Input{Messages: history})
	if err != nil {
		t.Fatal(err)
	}
	type id struct {
		ID, Provider string
		Minted       bool
	}
	var got []id
	for _, s := range res.Steps {
		for i, c := range s.Calls {
			got = append(got, id{c.ID, c.ProviderID, c.IDGenerated})
			if s.Results[i].ID != c.ID {
				t.Errorf("the result of %s has the id %s", c.ID, s.Results[i].ID)
			}
		}
	}
	want := []id{{"loop_call_2", "c1", true}, {"x", "", false}, {"loop_call_3", "x", true}, {"loop_call_4", "", true}, {"loop_call_5", "loop_call_3", true}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ids (-want +got):\n%s", diff)
	}
}

// A failed attempt reserves no ids: the retry keeps those of the provider.
func TestIDsOfARetry(t *testing.T) {
	busy := &llm.APIError{Status: 529, Retryable: true}
	n := 0
	m := llm.ModelFunc(func(context.Context, *llm.Request) iter.Seq2[llm.Event, error] {
		n++
		response := calls("a#")
		if n == 3 {
			response = text("done")
		}
		return func(yield func(llm.Event, error) bool) {
			for _, ev := range response.StreamingEvents() {
				if !yield(ev, nil) {
					return
				}
				if n == 1 {
					yield(nil, busy)
					return
				}
			}
		}
	})
	wrap := loop.Middleware{Name: "again", New: func(loop.RunInfo) loop.Hooks {
		return loop.Hooks{WrapModel: func(next loop.ModelFunc) loop.ModelFunc {
			return func(ctx context.Context, call loop.ModelCall) (*llm.Response, error) {
				response, err := next(ctx, call)
				if err != nil {
					response, err = next(ctx, call)
				}
				return response, err
			}
		}}
	}}
	res, _ := mustRun(t, m, loop.Config{Tools: []loop.Tool{echo("a")}, Middleware: []loop.Middleware{wrap}})
	if got := res.Steps[0].Calls[0]; got.ID != "c1" || got.IDGenerated {
		t.Errorf("got %+v, want the id as it was sent", got)
	}
}

// A failure of a sink is reported once and does not affect the run.
func TestSinkFails(t *testing.T) {
	full := errors.New("disk full")
	for name, sink := range map[string]trace.SinkFunc{
		"error": func(trace.Event) error { return full },
		"panic": func(trace.Event) error { panic(full) },
	} {
		n := 0
		var mem trace.Memory
		in := loop.Prompt("go")
		in.Sink = &mem
		a := newAgent(t, model(calls("a"), text("done")), loop.Config{Tools: []loop.Tool{echo("a")}, Sink: trace.SinkFunc(func(ev trace.Event) error {
			if n++; ev.Seq == 2 {
				return sink(ev)
			}
			return nil
		})})
		res, err := a.Run(t.Context(), in)
		var s *loop.SinkError
		if !errors.As(err, &s) || !errors.Is(err, full) || res.Text != "done" || n != 3 {
			t.Errorf("%s: got %v and %q after %d writes", name, err, res.Text, n)
		}
		if got := mem.Events()[len(mem.Events())-1].Body.Kind(); got != trace.KindRunEnd {
			t.Errorf("%s: the other sink's trace ends with %s", name, got)
		}
		for i, ev := range mem.Events() {
			if ev.Seq != i {
				t.Fatalf("%s: the other sink missed event %d", name, i)
			}
		}
	}
}

// Returned values do not change later, and the input is unchanged.
func TestReturnedValuesNeverChange(t *testing.T) {
	history := make([]llm.Message, 1, 10)
	history[0] = llm.User("go")
	var steps []loop.Step
	var lens []int
	m := model(calls("a"), calls("a#x"), text("done"))
	a := newAgent(t, m, loop.Config{Tools: []loop.Tool{echo("a")}, OnStep: func(s loop.Step) {
		steps = append(steps, s)
		lens = append(lens, len(s.Messages))
	}})
	res, err := a.Run(t.Context(), loop.Input{Messages: history})
	if err != nil {
		t.Fatal(err)
	}
	if got := m.MutatedRequests(); len(got) > 0 {
		t.Errorf("requests were changed: %q", got)
	}
	if extra := history[:2][1]; extra.Parts != nil {
		t.Errorf("the caller's array was written to: %+v", extra)
	}
	_ = append(res.Messages, llm.User("more"))
	_ = append(steps[0].Messages, llm.User("more"))
	if res.Messages[2].Role != llm.RoleAssistant || !slices.Equal(lens, []int{2, 2, 1}) {
		t.Errorf("an append to a returned slice changed it: %+v", res.Messages)
	}
	own := make([]llm.Part, 1, 4) // the tool returns this slice again
	n := 0
	same := loop.Tool{Name: "same", Run: func(context.Context, loop.Call) (loop.Output, error) {
		n++
		own[0] = llm.Text{Text: fmt.Sprint(n)}
		return loop.Output{Content: own}, nil
	}}
	m = model(calls("same"), calls("same#x"), text("done"))
	res, _ = mustRun(t, m, loop.Config{Tools: []loop.Tool{same}})
	if diff := cmp.Diff([]string{"1", "2"}, resultTexts(res.Messages)); diff != "" || len(m.MutatedRequests()) > 0 {
		t.Errorf("changed requests %q, results of a tool that returns one slice (-want +got):\n%s", m.MutatedRequests(), diff)
	}
	if c := res.Steps[0].Results[0].Content; cap(c) != len(c) {
		t.Errorf("the content of a result has %d parts and the capacity %d", len(c), cap(c))
	}
}

func TestOnStepPanics(t *testing.T) {
	_, events, err := ran(t, model(calls("a"), text("x")), loop.Config{Tools: []loop.Tool{echo("a")}, OnStep: func(loop.Step) { panic("no") }})
	var p *loop.MiddlewareError
	if !errors.As(err, &p) || p.Middleware != "OnStep" || p.Error() != "the middleware OnStep: OnStep panicked: no" {
		t.Errorf("got %v", err)
	}
	if d := of[trace.Decision](events); d[len(d)-1].Reason != trace.ReasonMiddleware || d[len(d)-1].Action != trace.Stop {
		t.Errorf("decisions: got %+v", d)
	}
}

func TestOneEvent(t *testing.T) {
	in := loop.Prompt("go")
	in.ID, in.Parent = "child", &trace.Parent{Run: "r1", ToolCallID: "c1"}
	in.ToolChoice = &llm.ToolChoice{Mode: llm.ChooseNone}
	var mem trace.Memory
	m := model(text("x"))
	if _, err := newAgent(t, m, loop.Config{Sink: &mem, Tools: []loop.Tool{echo("a")}}).Run(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	start := mem.Events()[0].Body.(trace.RunStart)
	if mem.Events()[0].Run != "child" || start.Parent.ToolCallID != "c1" {
		t.Errorf("got %+v", mem.Events()[0])
	}
	if v, ok := start.Options.Lookup("tool_choice"); !ok || v != "none" {
		t.Errorf("declared: got %+v", start.Options)
	}
	if got := m.RecordedRequests()[0].Request.ToolChoice.Mode; got != llm.ChooseNone {
		t.Errorf("sent: got %q", got)
	}
}

// Without a sink the run wakes up only when necessary. In a step with more calls than the
// concurrency limit, that is when any call ends; otherwise when all calls have ended. The run
// misses no end in either case.
func TestManyCallsWithoutSink(t *testing.T) {
	for _, width := range []int{2, 3, 8, -1} {
		var responses []fake.Response
		for range 50 {
			responses = append(responses, calls("a", "b", "a", "b", "a", "b", "a"))
		}
		var ran atomic.Int64
		count := func(context.Context) (string, error) {
			if ran.Add(1)%3 == 0 {
				runtime.Gosched()
			}
			return "done", nil
		}
		a := newAgent(t, model(append(responses, text("end"))...), loop.Config{
			Tools: []loop.Tool{tool("a", count), tool("b", count)}, Concurrency: width, MaxSteps: 100,
		})
		res, err := a.Run(t.Context(), loop.Prompt("q"))
		if err != nil || res.Text != "end" || ran.Load() != 350 {
			t.Errorf("width %d: %q, %v; ran %d calls, want 350", width, res.Text, err, ran.Load())
		}
	}
}

// The loop ignores what a model sends after the loop has stopped it.
func TestModelContinuesAfterStop(t *testing.T) {
	boom := errors.New("boom")
	stubborn := llm.ModelFunc(func(context.Context, *llm.Request) iter.Seq2[llm.Event, error] {
		return func(yield func(llm.Event, error) bool) {
			yield(llm.TextDelta{Text: "before"}, nil)
			if yield(nil, boom) {
				t.Error("continued after an error")
			}
			if yield(llm.TextDelta{Text: "after"}, nil) || yield(nil, errors.New("another")) {
				t.Error("continued after an error")
			}
		}
	})
	var events []string
	a := newAgent(t, stubborn, loop.Config{})
	run := a.Start(t.Context(), loop.Prompt("q"))
	for ev, end := range run.Events() {
		if d, ok := ev.Body.(trace.ModelDelta); ok && end == nil {
			events = append(events, d.Text)
		}
	}
	res, err := run.Wait()
	if !errors.Is(err, boom) || strings.Contains(err.Error(), "another") || res.Partial.Text() != "before" || !slices.Equal(events, []string{"before"}) {
		t.Errorf("got %v, %q, %q", err, res.Partial.Text(), events)
	}
}

// The terminal event is available after the run, also without a consumer.
func TestTerminalEventAgain(t *testing.T) {
	a := newAgent(t, model(text("hi")), loop.Config{})
	run := a.Start(t.Context(), loop.Prompt("q"))
	if _, err := run.Wait(); err != nil {
		t.Fatal(err)
	}
	n := 0
	for ev, err := range run.Events() {
		end, ok := ev.Body.(trace.RunEnd)
		if n++; !ok || err != nil || end.Steps != 1 || end.ModelCalls != 1 || ev.Run != "r1" || ev.Step != trace.NoStep {
			t.Errorf("got %+v, %v", ev, err)
		}
	}
	if n != 1 {
		t.Errorf("%d events, want the last alone", n)
	}
}

// A call starts as soon as another one ends, also without a consumer. Here the second call
// waits for the third, and two may run concurrently.
func TestConcurrencyReachedWithoutSink(t *testing.T) {
	started := make(chan struct{})
	a := newAgent(t, model(calls("quick", "waits", "starts"), text("end")), loop.Config{Concurrency: 2, Tools: []loop.Tool{
		tool("quick", func(context.Context) (string, error) { return "", nil }),
		tool("waits", func(ctx context.Context) (string, error) {
			select {
			case <-started:
				return "", nil
			case <-ctx.Done():
				return "", context.Cause(ctx)
			}
		}),
		tool("starts", func(context.Context) (string, error) { close(started); return "", nil }),
	}})
	synctest.Test(t, func(t *testing.T) { // which reports a deadlock
		started = make(chan struct{})
		res, err := a.Run(t.Context(), loop.Prompt("q"))
		if err != nil || res.Text != "end" || res.Steps[0].Results[1].IsError {
			t.Errorf("got %q, %v", res.Text, err)
		}
	})
}
