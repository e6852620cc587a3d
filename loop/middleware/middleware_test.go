package middleware_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/middleware"
	"github.com/looptape/looptape/trace"
	"github.com/looptape/looptape/trace/check"
)

// tool is the only tool of these tests.
var tool = loop.Tool{Name: "a", Run: func(context.Context, loop.Call) (loop.Output, error) { return loop.TextOutput("A"), nil }}

// run runs the responses under middleware and checks the trace against the invariants.
func run(t *testing.T, p loop.Middleware, turns ...fake.Response) (*loop.Result, *fake.Model, []trace.Event) {
	t.Helper()
	m := fake.NewModel(turns...)
	var mem trace.Memory
	agent, err := loop.New(m, &loop.Config{Tools: []loop.Tool{tool}, Middleware: []loop.Middleware{p}, Sink: &mem})
	if err != nil {
		t.Fatal(err)
	}
	res, err := agent.Run(t.Context(), loop.Prompt("go"))
	goleak.VerifyNone(t)
	if err != nil {
		t.Fatal(err)
	}
	c := check.New(nil)
	for _, ev := range mem.Events() {
		c.Add(ev)
	}
	for _, v := range c.Done() {
		t.Errorf("%s: event %d: %s", v.Invariant, v.Event, v.Message)
	}
	return res, m, mem.Events()
}

func call(id string, more ...string) fake.Response {
	t := fake.Response{Calls: []fake.Call{{ID: id, Name: "a", Arguments: "{}"}}}
	for _, id := range more {
		t.Calls = append(t.Calls, fake.Call{ID: id, Name: "a", Arguments: "{}"})
	}
	return t
}

func TestKeepLast(t *testing.T) {
	_, m, events := run(t, middleware.KeepLast(2, 4), call("1"), call("2"), call("3"), call("4"), fake.Response{Text: "done"})
	var got []string
	for _, r := range m.RecordedRequests() {
		var roles []string
		for _, msg := range r.Request.Messages {
			roles = append(roles, string(msg.Role[0]))
		}
		got = append(got, strings.Join(roles, ""))
	}
	// Above four messages, the first user message and the newest call with its result remain.
	if diff := cmp.Diff([]string{"u", "uat", "uat", "uat", "uat"}, got); diff != "" {
		t.Errorf("roles of the request (-want +got):\n%s", diff)
	}
	n := 0
	for _, ev := range events {
		if r, ok := ev.Body.(trace.HistoryRewrite); ok {
			n++
			if r != (trace.HistoryRewrite{Reason: "compaction", By: "keep_last"}) {
				t.Errorf("rewrite: %+v", r)
			}
		}
	}
	if n != 3 {
		t.Errorf("got %d rewrites, want 3", n)
	}
}

// A call and its results stay together, even if that keeps more messages than requested.
func TestKeepLastKeepsPairs(t *testing.T) {
	for keep, want := range map[int]string{1: "uat", 2: "uat", 3: "uatat"} {
		_, m, _ := run(t, middleware.KeepLast(keep, 0), call("1"), call("2"), fake.Response{Text: "done"})
		last := m.RecordedRequests()[2].Request.Messages
		var got string
		for _, msg := range last {
			got += string(msg.Role[0])
		}
		if got != want {
			t.Errorf("keep %d: sent %s, want %s", keep, got, want)
		}
	}
}

func TestLeakedCalls(t *testing.T) {
	for text, want := range map[string]bool{
		`<tool_call>{"name":"a","arguments":{}}</tool_call>`: true,
		`I will. <tool_call>`:                                true,
		` {"name":"a","arguments":{"x":1}}`:                  true,
		`{"name":"b","arguments":{}}`:                        false,
		`{"name":"a"`:                                        false,
		`["a"]`:                                              false,
		`Here is {"name":"a"} as you asked.`:                 false,
		``:                                                   false,
		`plain`:                                              false,
	} {
		res, _, events := run(t, middleware.LeakedCalls(), fake.Response{Text: text})
		got := false
		for _, ev := range events {
			if w, ok := ev.Body.(trace.Warning); ok && w.Code == middleware.WarnLeakedCall {
				got = true
			}
		}
		if got != want || res.Text != text || res.ToolSteps != 0 {
			t.Errorf("%q: warned %v, want %v", text, got, want)
		}
	}
	withCall := call("1")
	withCall.Text = "<tool_call>"
	_, _, events := run(t, middleware.LeakedCalls(), withCall, fake.Response{Text: "done"})
	for _, ev := range events {
		if w, ok := ev.Body.(trace.Warning); ok {
			t.Errorf("warning in addition to a real call: %+v", w)
		}
	}
}

func TestAnswerTool(t *testing.T) {
	p, err := middleware.AnswerTool("answer", "Gives the answer.", []byte(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`))
	if err != nil {
		t.Fatal(err)
	}
	answer := func(id, args string) fake.Response {
		return fake.Response{Calls: []fake.Call{{ID: id, Name: "answer", Arguments: args}}}
	}
	res, m, _ := run(t, p, call("1"), answer("2", `{"n":"x"}`), answer("3", `{"n":42}`), fake.Response{Text: "never"})
	last := res.Steps[len(res.Steps)-1].Calls[0]
	if res.StopReason != trace.ReasonMiddleware || res.Note != "the answer was given" || last.Arguments != `{"n":42}` || len(m.RecordedRequests()) != 3 {
		t.Errorf("got stop %q (%s) after %d requests, last call %+v", res.StopReason, res.Note, len(m.RecordedRequests()), last)
	}
	if got := toolNames(m.RecordedRequests()[0].Request.Tools); got != "a answer" {
		t.Errorf("offered %q", got)
	}
	if _, err := middleware.AnswerTool("answer", "", []byte(`{"type":"string"}`)); err == nil || !strings.HasPrefix(err.Error(), "middleware: AnswerTool: ") {
		t.Errorf("a schema of no object: got %v", err)
	}
}

func toolNames(tools []llm.Tool) string {
	var names []string
	for _, t := range tools {
		names = append(names, t.Name)
	}
	return strings.Join(names, " ")
}
