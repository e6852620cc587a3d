package loop_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/trace/check"
)

// nilError is an error whose text cannot be asked for while it is nil.
type nilError struct{ text string }

func (e *nilError) Error() string { return e.text }

// badError panics whatever is asked of it.
type badError struct{ why []string }

func (e badError) Error() string   { return e.why[7] }
func (e badError) Is(error) bool   { return e.why[7] == "" }
func (e badError) Unwrap() []error { return []error{errors.New(e.why[7])} }

// held runs and holds the trace against the invariants.
func held(t *testing.T, name string, m llm.Model, cfg loop.Config) (*loop.Result, error) {
	t.Helper()
	res, events, err := ran(t, m, cfg)
	c := check.New(nil)
	for _, ev := range events {
		c.Add(ev)
	}
	for _, v := range c.Done() {
		t.Errorf("%s: %s: event %d: %s", name, v.Invariant, v.Event, v.Message)
	}
	return res, err
}

// An error that cannot be put into words is still an error, and nothing more.
func TestErrorsThatPanic(t *testing.T) {
	var none *nilError
	for name, bad := range map[string]error{"a nil pointer": none, "methods that panic": badError{}} {
		fails := tool("fails", func(context.Context) (string, error) { return "", bad })
		for _, specs := range [][]string{{"fails"}, {"fails", "a"}} {
			res, err := held(t, name, model(calls(specs...), text("done")), loop.Config{Tools: []loop.Tool{fails, echo("a")}})
			if err != nil || !res.Steps[0].Results[0].IsError || res.Text != "done" {
				t.Errorf("a tool's error, %s: got %+v, %v", name, res, err)
			}
		}
		p := policy("p", loop.Hooks{BeforeStep: func(context.Context, *loop.StepInfo) (loop.Decision, error) { return loop.Decision{}, bad }})
		if _, err := held(t, name, model(text("x")), loop.Config{Policies: []loop.Policy{p}}); err == nil {
			t.Errorf("a policy's error, %s: got none", name)
		}
		if _, err := held(t, name, model(fake.Turn{Text: "x", Err: bad}), loop.Config{}); err == nil {
			t.Errorf("a model's error, %s: got none", name)
		}
	}
	res, err := held(t, "ErrorText", model(calls("nope", "bad"), text("done")), loop.Config{
		Tools:     []loop.Tool{tool("bad", func(context.Context) (string, error) { return "", errors.New("no") })},
		ErrorText: func(string, error) string { panic("no words") },
	})
	want := "the tool failed, and its error cannot be put into words"
	if diff := cmp.Diff([]string{want, want}, resultTexts(res.Messages)); diff != "" || err != nil {
		t.Errorf("ErrorText panics: %v (-want +got):\n%s", err, diff)
	}
}

// A panic of the consumer comes out as it went in, wherever in the run it is.
func TestConsumerPanicsAnywhere(t *testing.T) {
	wrap := policy("p", loop.Hooks{
		WrapModel: func(next loop.ModelFunc) loop.ModelFunc { return next },
		BeforeStep: func(_ context.Context, s *loop.StepInfo) (loop.Decision, error) {
			s.Emit("mine", []byte("1"))
			return loop.Decision{}, nil
		},
	})
	for n := range 20 {
		a := newAgent(t, model(calls("a", "b"), text("done")), loop.Config{Tools: []loop.Tool{echo("a"), echo("b")}, Policies: []loop.Policy{wrap}})
		func() {
			defer func() {
				if v := recover(); v != n && n < 18 {
					t.Errorf("event %d: recovered %v", n, v)
				}
			}()
			seen := 0
			for _, err := range a.Start(t.Context(), loop.Ask("go")).Events() {
				if err != nil {
					t.Error(err)
				}
				if seen == n {
					panic(n)
				}
				seen++
			}
		}()
	}
}

// What policies do to what they are given breaks nothing.
func TestMischievousPolicies(t *testing.T) {
	batch := func(f func(calls []*loop.Planned)) loop.Policy {
		return policy("p", loop.Hooks{Batch: func(_ context.Context, _ *loop.StepInfo, calls []*loop.Planned) (loop.Decision, error) {
			f(calls)
			return loop.Decision{}, nil
		}})
	}
	for name, p := range map[string]loop.Policy{
		"a call twice":   batch(func(calls []*loop.Planned) { calls[1] = calls[0] }),
		"calls left out": batch(func(calls []*loop.Planned) { calls[0], calls[1] = nil, nil }),
		"another id":     batch(func(calls []*loop.Planned) { calls[0].Call.ID = "evil" }),
		"another tool":   batch(func(calls []*loop.Planned) { calls[0].Call.Name = "nope" }),
		"another index":  batch(func(calls []*loop.Planned) { calls[0].Index = 7 }),
		"the turn changed": policy("p", loop.Hooks{AfterModel: func(_ context.Context, _ *loop.StepInfo, turn *llm.Turn) (loop.Decision, error) {
			turn.Parts[0] = llm.Text{Text: "changed"}
			return loop.Decision{}, nil
		}}),
	} {
		res, err := held(t, name, model(calls("a", "b"), text("done")), loop.Config{Tools: []loop.Tool{echo("a"), echo("b")}, Policies: []loop.Policy{p}})
		var got []string
		for i, c := range res.Steps[0].Calls {
			got = append(got, c.ID+" "+c.Name+" "+res.Steps[0].Results[i].ID)
		}
		if diff := cmp.Diff([]string{"c1 a c1", "c2 b c2"}, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
	cut := policy("p", loop.Hooks{BeforeStep: func(_ context.Context, s *loop.StepInfo) (loop.Decision, error) {
		if h := s.History(); len(h) > 1 {
			return loop.Decision{Messages: h[:len(h)-1]}, nil
		}
		return loop.Decision{}, nil
	}})
	_, err := held(t, "a history without results", model(calls("a"), text("done")), loop.Config{Tools: []loop.Tool{echo("a")}, Policies: []loop.Policy{cut}})
	if h := (*loop.HistoryError)(nil); !errors.As(err, &h) {
		t.Errorf("a history without results: got %v", err)
	}
}

// Many calls without ids in one turn cost no more for each than few.
func TestManyIDs(t *testing.T) {
	var turn fake.Turn
	for range 300 {
		turn.Calls = append(turn.Calls, fake.Call{Name: "a", Args: "{}"}, fake.Call{ID: "same", Name: "a", Args: "{}"})
	}
	res, err := held(t, "many", model(turn, text("done")), loop.Config{Tools: []loop.Tool{echo("a")}})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, c := range res.Steps[0].Calls {
		if seen[c.ID] {
			t.Errorf("the id %s is there twice", c.ID)
		}
		seen[c.ID] = true
	}
	if !seen["same"] || len(seen) != 600 {
		t.Errorf("got %d ids", len(seen))
	}
}

// An empty result is each call's own.
func TestEmptyResultsAreNotShared(t *testing.T) {
	empty := loop.Tool{Name: "e", Run: func(context.Context, loop.Call) (loop.Output, error) { return loop.Output{}, nil }}
	first, _ := mustRun(t, model(calls("e"), text("x")), loop.Config{Tools: []loop.Tool{empty}})
	first.Steps[0].Results[0].Content[0] = llm.Text{Text: "mine"}
	second, _ := mustRun(t, model(calls("e"), text("x")), loop.Config{Tools: []loop.Tool{empty}})
	if got := second.Steps[0].Results[0].Text(); got != "" {
		t.Errorf("another run's result is %q", got)
	}
}
