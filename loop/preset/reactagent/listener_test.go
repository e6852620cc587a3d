package reactagent_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/internal/bubble"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/preset/reactagent"
)

// goroutine returns the name of the calling goroutine.
func goroutine() string {
	stack := make([]byte, 64)
	name, _, _ := bytes.Cut(stack[:runtime.Stack(stack, false)], []byte(" ["))
	return string(name)
}

// RA-39: onEvent runs on no goroutine of a tool, neither of a single call nor of concurrent calls.
func TestListenerGoroutine(t *testing.T) {
	var mu sync.Mutex
	var tools, listener []string
	record := func(list *[]string) {
		mu.Lock()
		defer mu.Unlock()
		*list = append(*list, goroutine())
	}
	run := loop.Tool{Name: "a", Run: func(context.Context, loop.Call) (loop.Output, error) {
		record(&tools)
		return loop.TextOutput("A"), nil
	}}
	model := fake.NewModel(calling("a", `{"n":1}`), calling("a", `{"n":2}`, "a", `{"n":3}`, "a", `{"n":4}`, "a", `{"n":5}`), text("done"))
	a, err := reactagent.New(model, &reactagent.Config{Config: loop.Config{Tools: []loop.Tool{run}}})
	if err != nil {
		t.Fatal(err)
	}
	events, overlap := 0, 0
	if !a.Run(t.Context(), []llm.Message{llm.User("go")}, "", func(reactagent.Event) {
		overlap++
		if overlap != 1 {
			t.Error("two calls of onEvent overlap")
		}
		record(&listener)
		events++
		overlap--
	}) {
		t.Error("the run failed")
	}
	if len(tools) != 5 || events != 15 {
		t.Errorf("got %d tools and %d events", len(tools), events)
	}
	for _, g := range tools {
		if slices.Contains(listener, g) {
			t.Errorf("%s runs a tool and the listener", g)
		}
	}
}

// ending reports the end of each goroutine of a tool.
type ending struct {
	loop.SystemClock
	ended chan struct{}
}

func (c ending) Go(f func()) {
	c.SystemClock.Go(func() {
		f()
		c.ended <- struct{}{}
	})
}

// RA-39: while onEvent blocks at the end of the first call, the second tool returns and the
// goroutines of both tools end. No other event is delivered meanwhile.
func TestListenerBlocks(t *testing.T) {
	if !bubble.Run(t, testListenerBlocks) {
		t.Error("a tool waits for the goroutine of onEvent")
	}
}

func testListenerBlocks(t *testing.T) {
	clock := ending{ended: make(chan struct{}, 2)}
	second := make(chan struct{})
	run := loop.Tool{Name: "a", Run: func(_ context.Context, c loop.Call) (loop.Output, error) {
		if c.Index == 1 {
			<-second
		}
		return loop.TextOutput("A"), nil
	}}
	model := fake.NewModel(calling("a", `{"n":1}`, "a", `{"n":2}`), text("done"))
	a, err := reactagent.New(model, &reactagent.Config{Config: loop.Config{Clock: clock, Tools: []loop.Tool{run}}})
	if err != nil {
		t.Fatal(err)
	}
	completed := 0
	var events atomic.Int64
	ok := a.Run(t.Context(), []llm.Message{llm.User("go")}, "", func(e reactagent.Event) {
		n := events.Add(1)
		if e.Type != "toolCompleted" {
			return
		}
		if completed++; completed == 1 {
			close(second)
			synctest.Wait()
			if len(clock.ended) != 2 || events.Load() != n {
				t.Errorf("%d tools have ended, want 2, and %d calls of onEvent overlap", len(clock.ended), events.Load()-n)
			}
		}
	})
	if !ok || completed != 2 || events.Load() != 8 {
		t.Errorf("got %t after %d calls and %d events", ok, completed, events.Load())
	}
}

// A listener that panics, or that ends its goroutine, ends the run.
func TestListenerPanics(t *testing.T) {
	b := newBench(t, calling("a", "{}"), text("done"))
	a := b.agent(reactagent.Config{Config: loop.Config{Tools: []loop.Tool{tool("a")}}})
	func() {
		defer func() {
			if v := recover(); v != "enough" {
				t.Errorf("got the panic %v", v)
			}
		}()
		a.Run(t.Context(), []llm.Message{llm.User("go")}, "", func(reactagent.Event) { panic("enough") })
	}()
	done := make(chan struct{})
	go func() {
		defer close(done)
		a.Run(t.Context(), []llm.Message{llm.User("go")}, "", func(reactagent.Event) { runtime.Goexit() })
	}()
	<-done
	if n := len(b.model.RecordedRequests()); n != 2 {
		t.Errorf("got %d requests, want one of each run", n)
	}
}

// RA-67: onEvent alone gives the costs and the time of a run, without those of the runs of
// sub-agents.
func TestCosts(t *testing.T) {
	clock := fake.NewClock()
	slow := func(name string, d time.Duration) loop.Tool {
		return loop.Tool{Name: name, Run: func(ctx context.Context, _ loop.Call) (loop.Output, error) {
			return loop.TextOutput(name), clock.Sleep(ctx, d)
		}}
	}
	first := calling("a", "{}", "b", "{}", "task", `{"description":"d","subagent_type":"s"}`)
	first.Usage, first.Delay = llm.Usage{InputTokens: 10, OutputTokens: 5, CacheCreationInputTokens: 4}, 40*time.Millisecond
	second := text("done")
	second.Usage, second.Delay = llm.Usage{InputTokens: 20, OutputTokens: 7, CacheReadInputTokens: 4, ReasoningOutputTokens: 3}, 5*time.Millisecond
	inner := text("did it")
	inner.Usage, inner.Delay = llm.Usage{InputTokens: 1000, OutputTokens: 1000}, 20*time.Millisecond
	b := newBench(t, first, second)
	b.model.Clock = clock
	a := b.deep(reactagent.DeepConfig{
		Config:    reactagent.Config{Config: loop.Config{Clock: clock, Tools: []loop.Tool{slow("a", 30*time.Millisecond), slow("b", 10*time.Millisecond)}}},
		SubAgents: []reactagent.SubAgent{{Name: "s", Model: &fake.Model{Clock: clock, Responses: []fake.Response{inner}}}},
	})
	var models, tools []time.Duration
	var sum, total llm.Usage
	var whole time.Duration
	a.Run(t.Context(), []llm.Message{llm.User("go")}, "", func(e reactagent.Event) {
		switch e.Type {
		case "modelCompleted":
			models, sum = append(models, e.Duration), sum.Add(e.Usage)
		case "toolCompleted":
			tools = append(tools, e.Duration)
		case "completed":
			total, whole = e.Usage, e.Duration
		}
	})
	ms := time.Millisecond
	if diff := cmp.Diff([][]time.Duration{{40 * ms, 5 * ms}, {10 * ms, 20 * ms, 30 * ms}}, [][]time.Duration{models, tools}); diff != "" {
		t.Errorf("the durations of model calls and tool calls (-want +got):\n%s", diff)
	}
	if want := (llm.Usage{InputTokens: 30, OutputTokens: 12, CacheReadInputTokens: 4, CacheCreationInputTokens: 4, ReasoningOutputTokens: 3}); sum != want || total != want || whole != 75*ms {
		t.Errorf("got %+v, in all %+v after %v", sum, total, whole)
	}
}

// RA-21: a tool gets the arguments as the model sent them, and the context of the run: its values,
// its end and the call.
func TestToolContext(t *testing.T) {
	type key struct{}
	ctx, cancel := context.WithCancelCause(context.WithValue(t.Context(), key{}, "value"))
	boom := errors.New("boom")
	var got []string
	raw := loop.Tool{Name: "raw", Run: func(ctx context.Context, c loop.Call) (loop.Output, error) {
		value, _ := ctx.Value(key{}).(string)
		got = append(got, value, c.ID, c.Name, c.Arguments, fmt.Sprint(c.Step, c.Index, c.Trace))
		return loop.TextOutput("A"), ctx.Err()
	}}
	typed, err := loop.NewTool("typed", "", func(ctx context.Context, in map[string]int) (string, error) {
		c, _ := loop.CallFromContext(ctx)
		value, _ := ctx.Value(key{}).(string)
		got = append(got, value, c.ID, c.Name, c.Arguments, fmt.Sprint(c.Step, c.Index, c.Trace))
		if in["n"] != 2 || ctx.Err() != nil {
			t.Errorf("got %v, %v", in, ctx.Err())
		}
		cancel(boom)
		if !errors.Is(context.Cause(ctx), boom) {
			t.Errorf("after the end of the run: %v", context.Cause(ctx))
		}
		return "", boom
	})
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t, calling("raw", `{"b": 1, "a": [2]}`, "raw", `{"c": 3}`), calling("typed", `{"n":2}`))
	a := b.agent(reactagent.Config{Config: loop.Config{Concurrency: 1, Tools: []loop.Tool{raw, typed}}})
	var last reactagent.Event
	if a.Run(ctx, []llm.Message{llm.User("go")}, "", func(e reactagent.Event) { last = e }) || !errors.Is(last.Err, boom) {
		t.Errorf("got %+v", last)
	}
	want := []string{"value", "loop_call_1", "raw", `{"b": 1, "a": [2]}`, "0 0 {r1 loop_call_1}", "value", "loop_call_2", "raw", `{"c": 3}`, "0 1 {r1 loop_call_2}", "value", "loop_call_3", "typed", `{"n":2}`, "1 0 {r1 loop_call_3}"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the tools got (-want +got):\n%s", diff)
	}
}

// RA-87: New adds nothing that the caller does not name.
func TestNothingAdded(t *testing.T) {
	b := newBench(t, text("x"))
	a := b.agent(reactagent.Config{})
	b.run(a, "", "go")
	req := b.model.RecordedRequests()[0].Request
	if len(a.Stack()) != 0 || len(req.Tools) != 0 || req.System.Text() != "" || len(req.Messages) != 1 {
		t.Errorf("the stack is %q, the request %+v", a.Stack(), req)
	}
	b = newBench(t, text("x")) // neither a summary for the window, nor a prompt for the tools
	long := []llm.Message{llm.User(strings.Repeat("abcd", 500)), llm.Assistant(llm.Text{Text: "so"}), llm.User("go")}
	a = b.agent(reactagent.Config{ContextWindow: 400, Memory: &reactagent.Memory{}, Log: func(llm.Message) error { return nil }, Config: loop.Config{Tools: []loop.Tool{tool("a")}}})
	ok := a.Run(t.Context(), long, "t", nil)
	req = b.model.RecordedRequests()[0].Request
	if diff := cmp.Diff(long, req.Messages); diff != "" || !ok || req.System != nil || strings.Join(append(a.Stack(), b.offered(0)...), " ") != "message_log a" {
		t.Errorf("the stack is %q, the request has the tools %q and the system prompt %q, messages (-want +got):\n%s", a.Stack(), b.offered(0), req.System.Text(), diff)
	}
	b = newBench(t, text("x"))
	a = b.agent(reactagent.Config{Config: loop.Config{Middleware: own[:1]}})
	b.run(a, "", "go")
	if got := strings.Join(append(a.Stack(), b.offered(0)...), " "); got != "mine x" || b.model.RecordedRequests()[0].Request.System != nil {
		t.Errorf("with one middleware: got %s, and the system prompt %q", got, b.model.RecordedRequests()[0].Request.System.Text())
	}
}
