package fake_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
)

// run calls a tool and returns how the call ended.
func run(ctx context.Context, ts *fake.Tools, name, args string) (out string) {
	out = "exited"
	defer func() {
		if v := recover(); v != nil {
			out = fmt.Sprint("panic: ", v)
		}
	}()
	content, err := ts.Run(ctx, "id", name, args)
	if err != nil {
		return "error: " + err.Error()
	}
	return llm.ToolResult{Content: content}.Text()
}

func TestBehaviors(t *testing.T) {
	ts := &fake.Tools{List: []fake.Tool{
		{Name: "zero"},
		{Name: "returns", Behavior: fake.Behavior{Returns: raw(`{"a":1}`), Text: "not this"}},
		{Name: "text", Behavior: fake.Behavior{Text: "t"}},
		{Name: "error", Behavior: fake.Behavior{Error: "e", Text: "not this"}},
		{Name: "panic", Behavior: fake.Behavior{Panic: "p", Error: "not this"}},
		{Name: "calls", Calls: []fake.Behavior{{Error: "first"}, {Text: "second"}}},
		{Name: "calls and then", Calls: []fake.Behavior{{Error: "first"}}, Behavior: fake.Behavior{Text: "then"}},
		{Name: "args", ByArguments: []fake.Behavior{
			{Arguments: `{"a":1,"b":2}`, Text: "by value"}, {Arguments: "no json", Text: "by text"},
		}, Calls: []fake.Behavior{{Text: "other"}}},
	}}
	for _, c := range []struct{ name, args, want string }{
		{"zero", "", ""},
		{"returns", "", `{"a":1}`},
		{"text", "", "t"},
		{"error", "", "error: e"},
		{"panic", "", "panic: p"},
		{"calls", "", "error: first"},
		{"calls", "", "second"},
		{"calls", "{}", "error: fake: tool \"calls\", call 3: no call left: the script has 2 calls (-want +got):\n- no more calls\n+ {}"},
		{"calls and then", "", "error: first"},
		{"calls and then", "", "then"},
		{"calls and then", "", "then"},
		{"args", `{ "b": 2, "a": 1}`, "by value"},
		{"args", "no json", "by text"},
		{"args", "{}", "other"},
		{"args", "{}", "error: fake: tool \"args\", call 2: no call left: the script has 1 call (-want +got):\n- no more calls\n+ {}"},
		{"what", "{}", "error: fake: tool \"what\", call 1: unknown tool (-want +got):\n- no call\n+ {}"},
	} {
		check(t, c.name, c.want, run(t.Context(), ts, c.name, c.args))
	}
	check(t, "peak", 1, ts.Peak())
	check(t, "in flight", 0, ts.InFlight())
}

func TestToolsWait(t *testing.T) {
	c := fake.NewClock()
	c.OpenInOrder("g")
	d := newDiary(c)
	ts := &fake.Tools{Clock: c, List: []fake.Tool{
		{Name: "delay", Behavior: fake.Behavior{Delay: 20}},
		{Name: "gate", Behavior: fake.Behavior{Gate: "g", Delay: 5, Text: "x"}},
		{Name: "stall", Behavior: fake.Behavior{Stall: true}},
		{Name: "deaf", Behavior: fake.Behavior{Delay: 40, Gate: "g", IgnoresCancel: true}},
		{Name: "shut", Behavior: fake.Behavior{Gate: "shut"}},
		{Name: "deaf and shut", Behavior: fake.Behavior{Gate: "shut", IgnoresCancel: true}},
		{Name: "slow", Behavior: fake.Behavior{Delay: 40}},
		{Name: "exit", Behavior: fake.Behavior{Exit: true, Delay: 1}},
	}}
	ctx, cancel := c.WithTimeout(t.Context(), 30, errCause)
	defer cancel()
	for _, tool := range ts.List {
		c.Go(func() {
			out := "exited"
			defer func() { d.add("%s: %s", tool.Name, strings.SplitN(out, ":", 3)[:1]) }()
			out = run(ctx, ts, tool.Name, "{}")
			if strings.HasPrefix(out, "error: ") {
				out = strings.Split(out, ": ")[1] + " …"
			}
		})
	}
	drain(t, c)
	d.check(t, "1ns exit: [exited]", "5ns gate: [x]", "20ns delay: []", "30ns stall: [the cause …]", "30ns shut: [the cause …]",
		"30ns slow: [the cause …]", "40ns deaf: []", "40ns deaf and shut: [fake …]")
	check(t, "peak", 8, ts.Peak())
	check(t, "in flight", 0, ts.InFlight())
}

func TestToolLog(t *testing.T) {
	c := fake.NewClock()
	ts := &fake.Tools{Clock: c, List: []fake.Tool{{Name: "a", Behavior: fake.Behavior{Delay: 2, Error: "e"}}, {Name: "b", Behavior: fake.Behavior{Delay: 1}}}}
	start := c.Now()
	c.Go(func() { _, _ = ts.Run(t.Context(), "1", "a", "x") })
	c.Go(func() { _, _ = ts.Run(t.Context(), "2", "b", "y") })
	_ = c.Sleep(t.Context(), 1)
	check(t, "in flight", 2, ts.InFlight())
	drain(t, c)
	var short []string
	for _, e := range ts.Log() {
		short = append(short, fmt.Sprintf("%v %s %s %s %v %v", e, e.Call, e.Name, e.Arguments, e.At.Sub(start), e.Err))
	}
	check(t, "log", []string{"x:a 1 a x 0s <nil>", "x:b 2 b y 0s <nil>", "r:b 2 b y 1ns <nil>", "r:a 1 a x 2ns e"}, short)
}

func TestToolsWithoutClock(t *testing.T) {
	for _, b := range []fake.Behavior{{Delay: 1}, {Gate: "g"}, {Stall: true}} {
		ts := &fake.Tools{List: []fake.Tool{{Name: "t", Behavior: b}}}
		if got := run(t.Context(), ts, "t", ""); !strings.Contains(got, "missing clock") {
			t.Errorf("%+v: got %s", b, got)
		}
	}
	ts := &fake.Tools{List: []fake.Tool{{Name: "t", Behavior: fake.Behavior{Text: "x"}}}}
	check(t, "no wait", "x", run(t.Context(), ts, "t", ""))
	check(t, "no time", time.Time{}, ts.Log()[0].At)
}

// Each field of the own behavior prevents the error after the last call.
func TestZeroBehavior(t *testing.T) {
	for i, b := range []fake.Behavior{
		{Returns: raw("1")}, {Text: "x"}, {Error: "x"}, {Panic: "x"}, {Exit: true}, {Delay: 1}, {Gate: "g"}, {Stall: true}, {IgnoresCancel: true},
	} {
		ts := &fake.Tools{List: []fake.Tool{{Name: "t", Behavior: b, Calls: []fake.Behavior{{Text: "x"}}}}}
		check(t, "the first", "x", run(t.Context(), ts, "t", ""))
		done := make(chan string)
		go func() { // one of them ends its goroutine
			out := "exited"
			defer func() { done <- out }()
			out = run(t.Context(), ts, "t", "")
		}()
		if got := <-done; strings.Contains(got, "no call left") {
			t.Errorf("behavior %d: got %s", i, got)
		}
	}
}
