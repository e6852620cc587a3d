package middleware_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/middleware"
)

// RA-52: the tool replaces the whole list and accepts each form of it.
func TestTodos(t *testing.T) {
	o := with(t, middleware.Todos(), nil,
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
	if diff := cmp.Diff(wantEvents, o.custom(middleware.EventTodos)); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	var last []middleware.Todo
	if err := json.Unmarshal([]byte(wantEvents[4]), &last); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]middleware.Todo{{Content: "last", Status: "pending"}}, last); diff != "" {
		t.Errorf("the last list (-want +got):\n%s", diff)
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
	o := play(t.Context(), t, loop.Config{Middleware: []loop.Middleware{slow, middleware.Todos()}, Clock: clock}, loop.Prompt("go"),
		calling("write_todos", `{"todos":"first"}`, "write_todos", `{"todos":"last"}`), text("done"))
	if diff := cmp.Diff([]string{`[{"content":"last","status":"pending"}]`}, o.custom(middleware.EventTodos)); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}
