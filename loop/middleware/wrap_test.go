package middleware_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/middleware"
)

type around = func(ctx context.Context, a *middleware.Action, next func(context.Context) error) error

// The function may replace the response of the model or the output of the tool, change it, or
// fail.
func TestWrap(t *testing.T) {
	errNo := errors.New("no")
	kind := func(k string, f around) around {
		return func(ctx context.Context, a *middleware.Action, next func(context.Context) error) error {
			if a.Kind == k {
				return f(ctx, a, next)
			}
			return next(ctx)
		}
	}
	fails := func(context.Context, *middleware.Action, func(context.Context) error) error { return errNo }
	for name, c := range map[string]struct {
		f      around
		text   string // of the run
		result string // of the tool
		err    string
	}{
		"nothing changed": {kind("", nil), "done", "A", ""},
		"the response is changed": {kind("model_call", func(ctx context.Context, a *middleware.Action, next func(context.Context) error) error {
			err := next(ctx)
			if len(a.Response.Calls()) == 0 {
				changed := *a.Response
				changed.Parts = []llm.Part{llm.Text{Text: a.Response.Text() + "!"}}
				a.Response = &changed
			}
			return err
		}), "done!", "A", ""},
		"the model is answered for": {kind("model_call", func(_ context.Context, a *middleware.Action, _ func(context.Context) error) error {
			a.Response = &llm.Response{Parts: []llm.Part{llm.Text{Text: "mine to " + a.Model.Request.Messages[0].Text()}}, FinishReason: llm.FinishStop}
			return nil
		}), "mine to go", "", ""},
		"the model is kept from": {kind("model_call", fails), "", "", "no"},
		"the tool's output is changed": {kind("tool_call", func(ctx context.Context, a *middleware.Action, next func(context.Context) error) error {
			err := next(ctx)
			a.Output = loop.TextOutput(a.Tool.ID + " " + a.Output.Content[0].(llm.Text).Text)
			return err
		}), "done", "1 A", ""},
		"the tool is kept from": {kind("tool_call", fails), "done", "no", ""},
		"the start fails":       {kind("loop_start", fails), "", "", "the middleware p: no"},
		"the end fails":         {kind("loop_end", fails), "done", "A", "the middleware p: no"},
		"the result is filled in": {kind("loop_end", func(_ context.Context, a *middleware.Action, _ func(context.Context) error) error {
			a.Result.Note = "seen"
			return nil
		}), "done", "A", ""},
	} {
		agent, err := loop.New(fake.NewModel(call("1"), fake.Response{Text: "done"}), &loop.Config{Tools: []loop.Tool{tool}, Middleware: []loop.Middleware{middleware.Wrap("p", c.f)}})
		if err != nil {
			t.Fatal(err)
		}
		res, err := agent.Run(t.Context(), loop.Prompt("go"))
		result := ""
		if len(res.Steps) > 0 && len(res.Steps[0].Results) > 0 {
			result = res.Steps[0].Results[0].Text()
		}
		if diff := cmp.Diff([]string{c.text, c.result}, []string{res.Text, result}); diff != "" {
			t.Errorf("%s: the run's text and the tool's (-want +got):\n%s", name, diff)
		}
		if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: got error %v, want one with %q", name, err, c.err)
		}
		if strings.HasPrefix(name, "the result") && res.Note != "seen" {
			t.Errorf("%s: it was not", name)
		}
	}
}

// The function may change the request of a call. It gets the error of the model and of the tool. Each
// of several gets the end of the run with its reason, also if another one fails there.
func TestWrapErrors(t *testing.T) {
	var log []string
	wrap := func(name string) loop.Middleware {
		return middleware.Wrap(name, func(ctx context.Context, a *middleware.Action, next func(context.Context) error) error {
			if a.Kind == "model_call" {
				req := *a.Model.Request
				req.Messages = append(slices.Clone(req.Messages), llm.User(name))
				a.Model.Request = &req
			}
			err := next(ctx)
			switch {
			case a.Kind == "loop_end":
				log = append(log, name+" loop_end "+string(a.Result.StopReason))
				return errors.New("no end of " + name)
			case err != nil:
				log = append(log, fmt.Sprintf("%s %s of step %d: %v", name, a.Kind, a.Model.Step+a.Tool.Step, err))
			}
			return err
		})
	}
	bad := loop.Tool{Name: "a", Run: func(context.Context, loop.Call) (loop.Output, error) { return loop.Output{}, errors.New("no luck") }}
	model := fake.NewModel(call("1"), fake.Response{Err: errors.New("gone")})
	agent, err := loop.New(model, &loop.Config{Tools: []loop.Tool{bad}, Middleware: []loop.Middleware{wrap("A"), wrap("B")}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = agent.Run(t.Context(), loop.Prompt("go"))
	want := []string{"B tool_call of step 0: no luck", "A tool_call of step 0: no luck", "B model_call of step 1: gone", "A model_call of step 1: gone", "A loop_end error", "B loop_end error"}
	if diff := cmp.Diff(want, log); diff != "" {
		t.Errorf("errors and ends (-want +got):\n%s", diff)
	}
	for _, text := range []string{"gone", "no end of A", "no end of B"} {
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("got error %v, want one with %q", err, text)
		}
	}
	sent := model.RecordedRequests()[0].Request.Messages
	if diff := cmp.Diff([]llm.Message{llm.User("go"), llm.User("A"), llm.User("B")}, sent); diff != "" {
		t.Errorf("the first request (-want +got):\n%s", diff)
	}
}

// The context that f passes to next is the context of the call.
func TestWrapContext(t *testing.T) {
	type key struct{}
	var seen []any
	spy := loop.Tool{Name: "a", Run: func(ctx context.Context, _ loop.Call) (loop.Output, error) {
		seen = append(seen, ctx.Value(key{}))
		return loop.Output{}, nil
	}}
	p := middleware.Wrap("p", func(ctx context.Context, a *middleware.Action, next func(context.Context) error) error {
		return next(context.WithValue(ctx, key{}, a.Kind))
	})
	answers := fake.NewModel(call("1"), fake.Response{Text: "done"})
	model := llm.ModelFunc(func(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
		seen = append(seen, ctx.Value(key{}))
		return answers.Stream(ctx, req)
	})
	agent, err := loop.New(model, &loop.Config{Tools: []loop.Tool{spy}, Middleware: []loop.Middleware{p}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := agent.Run(t.Context(), loop.Prompt("go")); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]any{"model_call", "tool_call", "model_call"}, seen); diff != "" {
		t.Errorf("values in the contexts (-want +got):\n%s", diff)
	}
}
