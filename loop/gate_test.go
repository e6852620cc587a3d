package loop_test

import (
	"context"
	"errors"
	"iter"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/trace"
)

// A wrap may call next until it returns. Later calls fail, in each hook and for each purpose.
func TestNextKeptByMiddleware(t *testing.T) {
	for _, place := range []string{"start", "before", "after the model", "batch", "tool", "step", "after", "end", "later"} {
		for _, purpose := range []trace.Purpose{trace.PurposeAnswer, trace.PurposeSummary} {
			name := place + " for " + string(purpose)
			var kept loop.ModelFunc
			var errs []error
			use := func(ctx context.Context, here string) {
				if here == place {
					_, err := kept(ctx, loop.ModelCall{Request: &llm.Request{Messages: []llm.Message{llm.User("sum up")}}, Purpose: purpose})
					errs = append(errs, err)
				}
			}
			p := named("keeps", loop.Hooks{
				WrapModel: func(next loop.ModelFunc) loop.ModelFunc { kept = next; return next },
				Start:     func(ctx context.Context) (context.Context, error) { use(ctx, "start"); return ctx, nil },
				BeforeStep: func(ctx context.Context, _ *loop.StepInfo) (loop.StepChange, error) {
					use(ctx, "before")
					return loop.StepChange{}, nil
				},
				AfterModel: func(ctx context.Context, _ *loop.StepInfo, _ *llm.Response) (loop.Decision, error) {
					use(ctx, "after the model")
					return none, nil
				},
				BeforeTools: editCalls(func(ctx context.Context, _ *loop.StepInfo, _ []*loop.PlannedCall) (loop.Decision, error) {
					use(ctx, "batch")
					return none, nil
				}),
				WrapTool: func(next loop.ToolFunc) loop.ToolFunc {
					return func(ctx context.Context, c loop.Call) (loop.Output, error) {
						use(ctx, "tool")
						return next(ctx, c)
					}
				},
				AfterStep: func(ctx context.Context, _ *loop.StepInfo, _ *loop.Step) (loop.Decision, error) {
					use(ctx, "after")
					return none, nil
				},
				End: func(ctx context.Context, res loop.Result) (loop.Result, error) { use(ctx, "end"); return res, nil },
			})
			res, events := mustRun(t, model(calls("a"), text("z")), loop.Config{
				Tools: []loop.Tool{echo("a")}, Middleware: []loop.Middleware{p}, OnStep: func(loop.Step) { use(t.Context(), "step") },
			})
			use(t.Context(), "later")
			checkInvariants(t, name, events)
			if res.Text != "z" || res.ModelCalls != 2 {
				t.Errorf("%s: got %+v", name, res)
			}
			if len(errs) == 0 {
				t.Errorf("%s: it was not called", name)
			}
			for _, err := range errs {
				if p, ok := errors.AsType[*loop.MiddlewareError](err); !errors.Is(err, loop.ErrModelCallNotAllowed) || !ok || p.Middleware != "keeps" {
					t.Errorf("%s: got %v", name, err)
				}
			}
		}
	}
}

// gated is a model that signals each call and waits for permission to respond.
func gated(called func(), may <-chan struct{}) llm.Model {
	return llm.ModelFunc(func(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
		return func(yield func(llm.Event, error) bool) {
			called()
			<-may
			fake.NewModel(text("z")).Stream(ctx, req)(yield)
		}
	})
}

// Of two concurrent calls of next, one is made.
func TestNextConcurrent(t *testing.T) {
	asked, may := make(chan struct{}), make(chan struct{})
	var second error
	hedge := around("hedge", func(ctx context.Context, next loop.ModelFunc, call loop.ModelCall) (response *llm.Response, err error) {
		var both sync.WaitGroup
		both.Go(func() {
			first := call
			response, err = next(ctx, first)
		})
		<-asked
		both.Go(func() {
			other := call
			_, second = next(ctx, other)
			close(may)
		})
		both.Wait()
		return response, err
	})
	res, err := runChecked(t, "hedge", gated(func() { close(asked) }, may), loop.Config{Middleware: []loop.Middleware{hedge}})
	if err != nil || res.Text != "z" || !errors.Is(second, loop.ErrModelCallNotAllowed) {
		t.Errorf("got %+v, %v; the other call got %v", res, err, second)
	}
}

// The run waits for a call of next that the wrap does not wait for.
func TestNextNotAwaited(t *testing.T) {
	asked, may := make(chan struct{}), make(chan struct{})
	var left sync.WaitGroup
	leaves := around("leaves", func(ctx context.Context, next loop.ModelFunc, call loop.ModelCall) (*llm.Response, error) {
		defer close(may)
		left.Go(func() { _, _ = next(ctx, call) })
		<-asked
		return &llm.Response{Parts: []llm.Part{llm.Text{Text: "mine"}}, FinishReason: llm.FinishStop}, nil
	})
	var mem trace.Memory
	res, err := newAgent(t, gated(func() { close(asked) }, may), loop.Config{Middleware: []loop.Middleware{leaves}, Sink: &mem}).Run(t.Context(), loop.Prompt("go"))
	left.Wait()
	if err != nil || res.Text != "mine" {
		t.Errorf("got %+v, %v", res, err)
	}
	checkInvariants(t, "abandoned", mem.Events())
	want := "run.start step.start model.config model.request model.response model.response decision step.end run.end"
	if diff := cmp.Diff(want, kinds(mem.Events())); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}
