package middleware_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/middleware"
	"github.com/looptape/looptape/trace"
)

// RA-55: the run waits for a person, and the result contains the replies.
func TestAskUser(t *testing.T) {
	clock := fake.NewClock()
	var seen [][]middleware.Question
	p, err := middleware.AskUser(func(ctx context.Context, questions []middleware.Question) ([]string, error) {
		seen = append(seen, questions)
		if err := clock.Sleep(ctx, time.Minute); err != nil {
			return nil, err
		}
		switch len(seen) {
		case 1:
			return []string{"Ada", "red", "a, c"}, nil
		case 2:
			return []string{"one", "two"}, nil
		case 4:
			return []string{"Ada"}, nil
		}
		return nil, errors.New("nobody is there")
	})
	if err != nil {
		t.Fatal(err)
	}
	three := `{"questions":[{"question":"Name?"},{"question":"Which?","type":"multiple_choice","options":["red","blue"]},{"question":"What?","type":"multi_select","options":["a","b","c"]}]}`
	one := `{"questions":[{"question":"And?","type":"text"}]}`
	o := play(t.Context(), t, loop.Config{Middleware: []loop.Middleware{p}, Clock: clock}, loop.Prompt("go"),
		calling("ask_user", three), calling("ask_user", one), calling("ask_user", one),
		calling("ask_user", three), calling("ask_user", `{"questions":[{"question":"Which?","type":"multiple_choice"}]}`),
		calling("ask_user", `{"questions":[{"question":"What?","type":"multi_select"}]}`), calling("ask_user", `{"questions":[]}`), text("done"))
	got := o.results()
	want := []string{
		"Q: Name?\nA: Ada\n\nQ: Which?\nA: red\n\nQ: What?\nA: a, c", "! there were 1 questions, and 2 answers came", "! nobody is there",
		"! there were 3 questions, and 1 answers came",
		"! the question \"Which?\" is of the type multiple_choice and has no options to choose from",
		"! the question \"What?\" is of the type multi_select and has no options to choose from",
	}
	if diff := cmp.Diff(want, got[:6]); diff != "" || got[6][:2] != "! " {
		t.Errorf("the last is %q; results (-want +got):\n%s", got[6], diff)
	}
	wantSeen := []middleware.Question{
		{Text: "Name?", Kind: "text"},
		{Text: "Which?", Kind: "multiple_choice", Options: []string{"red", "blue"}},
		{Text: "What?", Kind: "multi_select", Options: []string{"a", "b", "c"}},
	}
	if diff := cmp.Diff(wantSeen, seen[0]); diff != "" || len(seen) != 4 {
		t.Errorf("%d requests, the first (-want +got):\n%s", len(seen), diff)
	}
	for _, ev := range o.events {
		if _, ok := ev.Body.(trace.ToolEnd); ok && ev.Step == 0 && ev.At != time.Minute {
			t.Errorf("the first answer came at %v", ev.At)
		}
	}
}
