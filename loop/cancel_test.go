package loop_test

import (
	"context"
	"fmt"
	"iter"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/trace"
)

// After the consumer ends a run, at any event and in any way, the run starts nothing more. It
// enters no tool, not even a started one, and calls no model.
func TestCancelAtEachEventStartsNothing(t *testing.T) {
	type ending struct {
		foreign bool // the run's context is not a child of the one that ends
		leaves  bool
	}
	for how, e := range map[string]ending{"cancels": {}, "cancels a context far off": {foreign: true}, "leaves": {leaves: true}} {
		for _, width := range []int{1, 3} {
			for at := 0; ; at++ {
				name := fmt.Sprintf("%s at event %d, %d at once", how, at, width)
				var late []string
				ended := false
				note := func(what string) {
					if ended {
						late = append(late, what)
					}
				}
				ctx, cancel := context.WithCancel(t.Context())
				var mem trace.Memory
				cfg := watched(t, e.foreign, note)
				cfg.Concurrency, cfg.Sink = width, &mem
				run := newAgent(t, noted(note), cfg).Start(ctx, loop.Prompt("go"))
				seen := 0
				for ev := range run.Events() { //nolint:errcheck // the run's error is the cancel
					if seen == at && ev.Body.Kind() != trace.KindRunEnd {
						ended = true
						if e.leaves {
							break
						}
						cancel()
					}
					seen++
				}
				cancel()
				checkInvariants(t, name, mem.Events())
				for _, ev := range mem.Events() {
					switch k := ev.Body.Kind(); {
					case !ended || ev.Seq <= at:
					case k == trace.KindToolStart, k == trace.KindModelRequest:
						late = append(late, string(k))
					}
				}
				if diff := cmp.Diff([]string(nil), late); diff != "" {
					t.Errorf("%s: started afterwards (-want +got):\n%s", name, diff)
				}
				if !ended {
					break
				}
			}
		}
	}
}

// noted is a model that records each call. The first call fails; the later ones return tool
// calls.
func noted(note func(string)) llm.Model {
	m := inTurn(busy(0), calls(`d#c1{"n":1}`, "a#c2", `d#c3{"n":2}`), calls("a#c4"), text("z"))
	return llm.ModelFunc(func(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
		note("the model")
		return m.Stream(ctx, req)
	})
}

// watched returns a configuration whose tools record their calls. It has events
// between the start of a step and its model call, and between a call and its tool.
func watched(t *testing.T, foreign bool, note func(string)) loop.Config {
	t.Helper()
	tools := []loop.Tool{defaulted(t, "d"), echo("a")}
	for i, x := range tools {
		tools[i].Run = func(ctx context.Context, c loop.Call) (loop.Output, error) {
			note("the tool of " + c.ID)
			return x.Run(ctx, c)
		}
	}
	hooks := loop.Hooks{WrapModel: func(next loop.ModelFunc) loop.ModelFunc {
		return func(ctx context.Context, call loop.ModelCall) (*llm.Response, error) {
			req := *call.Request
			req.Messages = append(req.Messages[:len(req.Messages):len(req.Messages)], llm.User("be brief"))
			req.System = llm.SystemText(fmt.Sprint("step ", call.Step))
			call.Request = &req
			return next(ctx, call)
		}
	}}
	if foreign {
		hooks.Start = func(context.Context) (context.Context, error) { return context.Background(), nil }
	}
	return loop.Config{Tools: tools, Middleware: []loop.Middleware{named("p", hooks)}, Clock: fake.NewClock(), Retry: loop.Retry{Max: 1, Base: time.Second}}
}
