package middleware

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/looptape/looptape/loop"
)

// Todo is a task on the list of a model.
type Todo struct {
	Content string `json:"content"`
	Status  string `json:"status"` // pending, in_progress or completed
}

// Todos adds the tool write_todos, by which a model maintains a list of tasks. Each call
// replaces the whole list, and the result contains the new one. A task is an object with
// content and status, or a string for a pending task. A single task is read as a list of one.
//
// An event named [EventTodos] follows each step that changed the list. The last call of a step
// counts.
func Todos() loop.Middleware {
	tool := prepared("write_todos",
		"Replaces your list of tasks. Use it to plan work of several steps: write all tasks down first, have one in progress at a time, "+
			"and write the list again when the status of a task changes. An empty list clears it.",
		`{"type":"object","properties":{"todos":{"description":"all tasks, in order","anyOf":[`+
			`{"type":"array","items":{"anyOf":[`+todoSchema+`,{"type":"string"}]}},`+todoSchema+`,{"type":"string"}]}},"required":["todos"]}`)
	return loop.Middleware{Name: "todos", New: func(loop.RunInfo) loop.Hooks {
		l := &todoList{index: -1}
		hooks := withTools(l.write, tool)
		hooks.AfterStep = l.emit
		return hooks
	}}
}

const todoSchema = `{"type":"object","properties":{"content":{"type":"string"},"status":{"type":"string","enum":["pending","in_progress","completed"]}},"required":["content"]}`

type todoList struct {
	mu    sync.Mutex
	index int // of the call that wrote it; -1 means none
	list  []Todo
}

func (l *todoList) write(_ context.Context, call loop.Call, in struct{ Todos json.RawMessage }) (string, error) {
	list, err := readTodos(in.Todos)
	if err != nil {
		return "", err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if call.Index > l.index {
		l.index, l.list = call.Index, list
	}
	if len(list) == 0 {
		return "the list is empty", nil
	}
	var b strings.Builder
	for _, t := range list {
		fmt.Fprintf(&b, "[%s] %s\n", t.Status, t.Content)
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

func (l *todoList) emit(_ context.Context, s *loop.StepInfo, _ *loop.Step) (loop.Decision, error) {
	if l.index < 0 {
		return loop.Decision{}, nil
	}
	l.index = -1
	return loop.Decision{}, emitJSON(s, EventTodos, l.list)
}

// readTodos parses a list or a single task. The result is never nil.
func readTodos(todos json.RawMessage) ([]Todo, error) {
	items := []json.RawMessage{todos}
	if bytes.HasPrefix(todos, []byte("[")) {
		if err := json.Unmarshal(todos, &items); err != nil {
			return nil, err
		}
	}
	list := make([]Todo, 0, len(items))
	for _, item := range items {
		t := Todo{Status: "pending"}
		into := any(&t)
		if bytes.HasPrefix(item, []byte(`"`)) {
			into = &t.Content
		}
		if err := json.Unmarshal(item, into); err != nil {
			return nil, err
		}
		if t.Content = strings.TrimSpace(t.Content); t.Content == "" {
			return nil, errors.New("a task has no content; leave it out")
		}
		list = append(list, t)
	}
	return list, nil
}
