package middleware_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/middleware"
	"github.com/looptape/looptape/trace"
)

// RA-52: the tool replaces the whole list and accepts each form of it.
func TestTodos(t *testing.T) {
	p, err := middleware.Todos()
	o := with(t, p, err,
		calling("write_todos", `{"todos":[{"content":"plan <it>","status":"completed"},{"content":" do it "},"check it"]}`),
		calling("write_todos", `{"todos":{"content":"one","status":"in_progress"}}`),
		calling("write_todos", `{"todos":"alone"}`),
		calling("a", "{}"),
		calling("write_todos", `{"todos":[]}`),
		calling("write_todos", `{"todos":["first"]}`, "write_todos", `{"todos":["last"]}`),
		calling("write_todos", `{"todos":[{"content":"x","status":"begun"}]}`),
		calling("write_todos", `{"todos":["x"," "]}`),
		calling("write_todos", `{"todos":""}`),
		calling("write_todos", `{}`),
		text("done"),
	)
	got := o.results()
	want := []string{
		"[completed] plan <it>\n[pending] do it\n[pending] check it", "[in_progress] one", "[pending] alone", "A", "the list is empty", "[pending] first", "[pending] last",
	}
	if diff := cmp.Diff(want, got[:len(want)]); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
	for _, r := range got[len(want):] {
		if r[:2] != "! " {
			t.Errorf("got %q, want an error", r)
		}
	}
	wantEvents := []string{
		`[{"content":"plan <it>","status":"completed"},{"content":"do it","status":"pending"},{"content":"check it","status":"pending"}]`,
		`[{"content":"one","status":"in_progress"}]`, `[{"content":"alone","status":"pending"}]`, `[]`, `[{"content":"last","status":"pending"}]`,
	}
	if diff := cmp.Diff(wantEvents, o.custom(middleware.TodosEvent)); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	var last []middleware.Todo
	n := 0
	for _, ev := range o.events {
		if list, ok := middleware.TodosOf(ev); ok {
			last = list
			n++
		}
	}
	if diff := cmp.Diff([]middleware.Todo{{Content: "last", Status: middleware.TodoPending}}, last); diff != "" || n != len(wantEvents) {
		t.Errorf("%d lists, the last (-want +got):\n%s", n, diff)
	}
	for _, c := range []trace.Custom{{Name: "other", Data: []byte("[]")}, {Name: middleware.TodosEvent, Data: []byte("{}")}} {
		if list, ok := middleware.TodosOf(trace.Event{Body: c}); ok {
			t.Errorf("%+v: got %v", c, list)
		}
	}
}

// The last call of a step in call order counts, whichever ends last.
func TestTodosInCallOrder(t *testing.T) {
	clock := fake.NewClock()
	slow := loop.Middleware{Name: "slow", New: func(loop.RunInfo) loop.Hooks {
		return loop.Hooks{WrapTool: func(next loop.ToolFunc) loop.ToolFunc {
			return func(ctx context.Context, call loop.Call) (loop.Output, error) {
				if err := clock.Sleep(ctx, time.Duration(3-call.Index)*time.Second); err != nil {
					return loop.Output{}, err
				}
				return next(ctx, call)
			}
		}}
	}}
	p, err := middleware.Todos()
	if err != nil {
		t.Fatal(err)
	}
	o := play(t.Context(), t, loop.Config{Middleware: []loop.Middleware{slow, p}, Clock: clock}, loop.Prompt("go"),
		calling("write_todos", `{"todos":"first"}`, "write_todos", `{"todos":"last"}`), text("done"))
	if diff := cmp.Diff([]string{`[{"content":"last","status":"pending"}]`}, o.custom(middleware.TodosEvent)); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}
