package scenario_test

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/explore"
	"github.com/looptape/looptape/loop/scenario"
	"github.com/looptape/looptape/trace"
	"github.com/looptape/looptape/trace/check"
)

var update = flag.Bool("update", false, "write the file of certificates")

// parallelScript is a script with steps of parallel calls.
func parallelScript(steps, calls int) *fake.Script {
	s := &fake.Script{File: "script", Input: []llm.Message{llm.User("go")}, Tools: []fake.Tool{{Name: "t", Behavior: fake.Behavior{Text: "fine"}}}}
	var list []fake.Response
	for i := range steps {
		var r fake.Response
		for j := range calls {
			r.Calls = append(r.Calls, fake.Call{ID: fmt.Sprintf("c%d%d", i+1, j+1), Name: "t", Arguments: fmt.Sprintf(`{"n":%d}`, i*calls+j)})
		}
		list = append(list, r)
	}
	s.Models = []fake.ModelScript{{Name: "main", Responses: append(list, fake.Response{Text: "done"})}}
	return s
}

// programs returns the programs of a script, and the digests of all their runs so far with the choices of one.
func programs(t testing.TB, s *fake.Script, adjust func(*loop.Config)) (start func() explore.Program, digests func() map[uint64]string) {
	t.Helper()
	inner, err := scenario.Program(s, adjust)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	seen := map[uint64]string{}
	start = func() explore.Program { return &recording{inner(), &mu, seen} }
	return start, func() map[uint64]string { return maps.Clone(seen) }
}

type recording struct {
	explore.Program
	mu   *sync.Mutex
	seen map[uint64]string // the choices by digest
}

func (r *recording) Run(c *explore.Choices) explore.Outcome {
	o := r.Program.Run(c)
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.seen[o.Digest]; !ok {
		r.seen[o.Digest] = fmt.Sprint(c.Taken())
	}
	return o
}

// TestProgramInvalid: a script without models has no programs.
func TestProgramInvalid(t *testing.T) {
	if _, err := scenario.Program(&fake.Script{}, nil); err == nil || !strings.Contains(err.Error(), "missing models") {
		t.Errorf("got the error %v, want that models are missing", err)
	}
}

// TestExploreOrders: a step of n calls has n! orders, and each is run once. All interleavings of the goroutines give
// the same runs.
func TestExploreOrders(t *testing.T) {
	for _, tt := range []struct{ steps, calls, concurrency, want int }{
		{1, 1, -1, 1}, {3, 1, -1, 1}, {1, 2, -1, 2}, {1, 3, -1, 6}, {1, 4, -1, 24}, {2, 3, -1, 36}, {1, 4, 1, 1}, {1, 3, 2, 4},
	} {
		start, _ := programs(t, parallelScript(tt.steps, tt.calls), func(c *loop.Config) { c.Concurrency = tt.concurrency })
		r := explore.Exhaust(start, explore.Bounds{})
		if r.Runs != tt.want || r.Traces != tt.want || r.Orders != tt.want || !r.Complete || len(r.Failures)+len(r.Unstable) > 0 {
			t.Errorf("%+v: %s", tt, r.Summary())
		}
		if tt.steps > 1 || tt.calls > 3 {
			continue
		}
		all := explore.Exhaust(start, explore.Bounds{Preemptions: 99})
		if t.Logf("%+v: %d runs instead of %d", tt, r.Runs, all.Runs); all.Hash != r.Hash || !all.Complete {
			t.Errorf("%+v: all interleavings: %s; want the set %s", tt, all.Summary(), r.Hash)
		}
	}
}

// TestReduction: runs in which goroutines and answers come in any order, at any point, show nothing that the
// reduced exploration does not show, also with a fault or a cancel. LOOPTAPE_PREEMPTIONS allows others.
func TestReduction(t *testing.T) {
	for _, tt := range []struct {
		steps, calls, concurrency, preemptions int
		grace, timeout                         time.Duration
	}{
		{1, 2, -1, 99, 0, 0}, {1, 2, -1, 2, time.Second, 0}, {1, 2, -1, 2, 0, time.Second}, {2, 2, -1, 1, 0, 0}, {1, 3, 2, 1, 0, 0}, {1, 3, -1, 1, 0, 0},
	} {
		if n, err := strconv.Atoi(os.Getenv("LOOPTAPE_PREEMPTIONS")); err == nil {
			tt.preemptions = n
		} else if testing.Short() {
			tt.preemptions = min(tt.preemptions, 1)
		}
		start, digests := programs(t, parallelScript(tt.steps, tt.calls), func(c *loop.Config) {
			c.Concurrency, c.Grace, c.ToolTimeout = tt.concurrency, tt.grace, tt.timeout
		})
		reduced := explore.Exhaust(start, explore.Bounds{Faults: 1})
		set := digests()
		all := explore.Exhaust(start, explore.Bounds{Faults: 1, Preemptions: tt.preemptions})
		outside := 0
		for d, choices := range digests() {
			if _, ok := set[d]; !ok {
				outside++
				t.Log(choices)
			}
		}
		t.Logf("%+v: %d runs instead of %d, %d different", tt, reduced.Runs, all.Runs, all.Traces)
		if outside > 0 || reduced.Traces != all.Traces || reduced.Hash != all.Hash {
			t.Errorf("%+v: %d runs are outside the reduced set:\n%s\n%s", tt, outside, reduced.Summary(), all.Summary())
		}
		for _, r := range []*explore.Result{reduced, all} {
			for _, f := range r.Failures {
				t.Error(f)
			}
			if len(r.Unstable) > 0 {
				t.Error(r.Unstable[0])
			}
		}
	}
}

// TestReductionOfScenarios: for each scenario of the project with up to three calls, all interleavings of goroutines and
// answers show the same runs as the reduced exploration, also with each single fault for up to two calls.
// It takes each 32nd scenario, and those with a middleware around parallel tools and with calls that share a behavior.
// LOOPTAPE_SCENARIOS is another step, and allows more runs.
func TestReductionOfScenarios(t *testing.T) {
	step, limit := 32, 5000
	always := []string{"INV-26.txtar", "QO-26.txtar"}
	if n, err := strconv.Atoi(os.Getenv("LOOPTAPE_SCENARIOS")); err == nil {
		step, limit = n, 1_000_000
	}
	scripts, reducedRuns, allRuns := 0, 0, 0
	var cut []string
	for n, s := range scenarioScripts(t) {
		calls := 0
		for _, m := range s.Models {
			for _, r := range m.Responses {
				calls += max(r.Repeat, 1) * len(r.Calls)
			}
		}
		if calls > 3 || n%step != 0 && !slices.Contains(always, filepath.Base(s.File)) {
			continue
		}
		scripts++
		for faults := range 2 {
			if faults == 1 && calls > 2 {
				continue
			}
			start, digests := programs(t, s, nil)
			reduced := explore.Exhaust(start, explore.Bounds{Faults: faults, Runs: limit})
			set := digests()
			all := explore.Exhaust(start, explore.Bounds{Faults: faults, Preemptions: 99, Runs: limit})
			reducedRuns, allRuns = reducedRuns+reduced.Runs, allRuns+all.Runs
			for d, choices := range digests() {
				if _, ok := set[d]; !ok && reduced.Complete {
					t.Errorf("%s: the reduced exploration has no run like %s", s.File, choices)
					break
				}
			}
			if !all.Complete {
				cut = append(cut, fmt.Sprintf("%s with %d faults", filepath.Base(s.File), faults))
			}
		}
	}
	t.Logf("%d scenarios with up to three calls: %d runs instead of %d, %.1f times the number; not complete: %q", scripts, reducedRuns, allRuns, float64(allRuns)/float64(max(reducedRuns, 1)), cut)
}

// scenarioScripts returns the scripts of the scenario files of the project.
func scenarioScripts(t *testing.T) (list []*fake.Script) {
	t.Helper()
	files, err := filepath.Glob("../../testdata/*/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if f, err := scenario.Parse(name, src); err == nil { // others are archives of another kind
			list = append(list, f.Script)
		}
	}
	return list
}

// TestExploreSameEverywhere: an exploration does not depend on the number of processors.
func TestExploreSameEverywhere(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	var first *explore.Result
	for _, n := range []int{1, 2, 4, 7} {
		runtime.GOMAXPROCS(n)
		start, _ := programs(t, parallelScript(1, 3), nil)
		r := explore.Exhaust(start, explore.Bounds{Faults: 1})
		if first == nil {
			first = r
		}
		if r.Hash != first.Hash || r.Runs != first.Runs || r.Traces != first.Traces {
			t.Errorf("with %d processors: %s\nwith 1: %s", n, r.Summary(), first.Summary())
		}
	}
}

// TestExploreScenarios explores the scenarios of the project: no run violates an invariant. With LOOPTAPE_RUNS, which is the number of
// runs of each, it also makes random runs with up to three faults.
func TestExploreScenarios(t *testing.T) {
	runs, limit := 0, 30
	if n, err := strconv.Atoi(os.Getenv("LOOPTAPE_RUNS")); err == nil {
		limit = n
	}
	for _, s := range scenarioScripts(t) {
		start, _ := programs(t, s, nil)
		results := []*explore.Result{explore.Exhaust(start, explore.Bounds{Faults: 1, Runs: limit})}
		if limit > 30 {
			results = append(results, explore.Random(start, explore.RandomOptions{Bounds: explore.Bounds{Faults: 3, Runs: limit}, Seed: 33, Depth: 3}))
		}
		for _, r := range results {
			runs += r.Runs
			for _, f := range r.Failures {
				t.Errorf("%s: %v", s.File, f)
			}
			for _, u := range r.Unstable {
				t.Errorf("%s: %s", s.File, u)
			}
		}
	}
	if t.Logf("%d runs", runs); runs < 10_000 {
		t.Errorf("%d runs, want more", runs)
	}
}

// TestExploreDeadline explores the end of a context and the passing of time together: no time passes until a model call that was canceled has
// ended, so the loop is not late.
func TestExploreDeadline(t *testing.T) {
	start, _ := programs(t, &fake.Script{Models: []fake.ModelScript{{Responses: []fake.Response{{Text: "done"}}}}, Input: []llm.Message{llm.User("go")}}, func(c *loop.Config) { c.Deadline = time.Minute })
	if r := explore.Exhaust(start, explore.Bounds{Faults: 2}); len(r.Failures)+len(r.Unstable) > 0 || !r.Complete {
		t.Errorf("%s: failures %v, unstable %v", r.Summary(), r.Failures, r.Unstable)
	}
}

// effect is what a run shows with choices.
type effect struct{ choices, want string }

// check makes a run with choices of a program and compares it.
func (e effect) check(t *testing.T, p explore.Program) {
	t.Helper()
	var list []explore.Choice
	for s := range strings.SplitSeq(e.choices, "; ") {
		if c, err := explore.ParseChoice(s); err == nil {
			list = append(list, c)
		}
	}
	o, unused := explore.Replay(p, list)
	if text := o.Text(); !strings.Contains(text, e.want) || len(unused)+len(o.Violations) > 0 {
		t.Errorf("%q: unused %v, violations %v; want a run with %q:\n%s", e.choices, unused, o.Violations, e.want, text)
	}
}

// TestExploreEndless: a run that calls tools or models without an end violates INV-26, and is canceled.
func TestExploreEndless(t *testing.T) {
	again := func(calls string) func(next loop.ModelFunc) loop.ModelFunc {
		return func(next loop.ModelFunc) loop.ModelFunc {
			return func(ctx context.Context, call loop.ModelCall) (*llm.Response, error) {
				for calls == "models" && ctx.Err() == nil {
					_, _ = next(ctx, call) // another attempt
				}
				return &llm.Response{Parts: []llm.Part{llm.ToolCall{Name: "t", Arguments: "{}"}}, FinishReason: llm.FinishToolCalls}, nil
			}
		}
	}
	for _, calls := range []string{"tools", "models"} {
		start, _ := programs(t, parallelScript(1, 1), func(c *loop.Config) {
			c.MaxSteps = math.MaxInt
			c.Middleware = []loop.Middleware{{Name: "again", New: func(loop.RunInfo) loop.Hooks { return loop.Hooks{WrapModel: again(calls)} }}}
		})
		r := explore.Exhaust(start, explore.Bounds{Runs: 1})
		if !slices.ContainsFunc(r.Failures, func(f *explore.Failure) bool {
			return f.Invariant == "INV-26" && strings.Contains(f.Message, calls[:4])
		}) {
			t.Errorf("%s: failures %v, unstable %q; want INV-26", calls, r.Failures, r.Unstable)
		}
	}
}

// TestExploreWaits: a wait for time that does not end with the context of the run violates INV-26.
func TestExploreWaits(t *testing.T) {
	for name, forever := range map[string]bool{"ends with the context": false, "does not end": true} {
		start, _ := programs(t, parallelScript(1, 1), func(c *loop.Config) {
			c.Middleware = []loop.Middleware{{Name: "waits", New: func(r loop.RunInfo) loop.Hooks {
				return loop.Hooks{BeforeStep: func(ctx context.Context, _ *loop.StepInfo) (loop.StepChange, error) {
					if forever {
						ctx = context.Background()
					}
					return loop.StepChange{}, r.Clock.Sleep(ctx, time.Minute)
				}}
			}}}
		})
		got := ""
		for _, f := range explore.Exhaust(start, explore.Bounds{Faults: 1}).Failures {
			got += fmt.Sprintln(f.Violation, f.Choices)
		}
		want := ""
		if forever {
			want = "INV-26: run explored: the run ended 1m0s after its context had ended, although no tool ran until then [before time passes #2: the run is canceled]\n"
		}
		if got != want {
			t.Errorf("a wait that %s: got %q, want %q", name, got, want)
		}
	}
}

// TestExploreGoroutines: a goroutine that runs when the run has ended violates INV-16, and a wait that nothing ends INV-26.
func TestExploreGoroutines(t *testing.T) {
	for _, tt := range []struct {
		start func(r loop.RunInfo)
		want  []string
	}{
		{func(r loop.RunInfo) { r.Clock.Go(func() {}) }, nil},
		{func(r loop.RunInfo) { r.Clock.Go(func() { _ = r.Clock.Sleep(context.Background(), time.Hour) }) }, []string{"INV-16: 1 goroutines were running when the run had ended, and 0 calls were abandoned"}},
		{func(r loop.RunInfo) {
			wait, _ := r.Clock.Signal()
			wait()
		}, []string{"INV-26: the run does not end: "}},
	} {
		start, _ := programs(t, parallelScript(0, 0), func(c *loop.Config) {
			c.Middleware = []loop.Middleware{{Name: "starts", New: func(r loop.RunInfo) loop.Hooks {
				return loop.Hooks{Start: func(context.Context) (context.Context, error) {
					tt.start(r)
					return nil, nil
				}}
			}}}
		})
		p := start()
		o, _ := explore.Replay(p, nil)
		p.Close()
		if !slices.EqualFunc(o.Violations, tt.want, func(v check.Violation, want string) bool { return strings.HasPrefix(v.Invariant+": "+v.Message, want) }) {
			t.Errorf("got %v, want %q", o.Violations, tt.want)
		}
	}
}

// TestExploreModes: a loop that changes responses in one response mode only violates INV-12, and one that changes those that come in many
// chunks INV-10. A response with chunks of its own, or whose model call fails, is not compared with other chunks.
func TestExploreModes(t *testing.T) {
	never := func(llm.ResponseMode, int) bool { return false }
	grows := fake.Response{Calls: []fake.Call{{ID: "c1", Name: "t", Chunks: []string{`{"n":`, `{"n":1}`}}}}
	for _, tt := range []struct {
		first  fake.Response
		option string
		change func(mode llm.ResponseMode, deltas int) bool
		want   string
	}{
		{fake.Response{Text: "done"}, "", never, "[]"},
		{fake.Response{Text: "done"}, "", func(mode llm.ResponseMode, _ int) bool { return mode == llm.NonStreaming }, "[INV-12: run explored: the run differs from the one with responses that are buffered]"},
		{fake.Response{Text: "done"}, "comes in chunks of one byte", func(_ llm.ResponseMode, deltas int) bool { return deltas > 3 }, "[INV-10: run explored: the run differs from the one in which the response comes in other chunks]"},
		{grows, "call 1 comes in one event", never, "[]"},
		{fake.Response{Attempts: []fake.Response{grows}}, "call 1 comes in one event", never, "[]"},
		{fake.Response{Attempts: []fake.Response{{Text: "some", Error: &fake.Failure{Connection: fake.ConnectionReset}}}}, "comes in chunks of one byte", never, "[]"},
	} {
		script := parallelScript(0, 0)
		script.Models[0].Responses = slices.Insert(script.Models[0].Responses, 0, tt.first)
		start, _ := programs(t, script, func(c *loop.Config) {
			deltas := 0
			c.Sink = trace.SinkFunc(func(ev trace.Event) error {
				if ev.Body.Kind() == trace.KindModelDelta {
					deltas++
				}
				return nil
			})
			change := func(next loop.ModelFunc) loop.ModelFunc {
				return func(ctx context.Context, call loop.ModelCall) (*llm.Response, error) {
					deltas = 0
					r, err := next(ctx, call)
					if r == nil || !tt.change(call.Request.ResponseMode, deltas) {
						return r, err
					}
					changed := *r
					changed.Usage.OutputTokens++
					return &changed, err
				}
			}
			c.Middleware = []loop.Middleware{{Name: "change", New: func(loop.RunInfo) loop.Hooks { return loop.Hooks{WrapModel: change} }}}
		})
		var list []explore.Choice
		if tt.option != "" {
			list = append(list, explore.Choice{At: "model call 1", Option: tt.option})
		}
		p := start()
		o, unused := explore.Replay(p, list)
		p.Close()
		if got := fmt.Sprint(o.Violations); got != tt.want || len(unused) > 0 {
			t.Errorf("%q, unused %v: got %s, want %s\n%s", tt.option, unused, got, tt.want, o.Text())
		}
	}
}

// TestExploreResults: a result in the trace that is not what the tool returned violates INV-01, and the result of a failed tool
// without the text of its error INV-23. With middleware, the result is what its outermost one returns. A result without a call in a request of
// the trace violates INV-01, too.
func TestExploreResults(t *testing.T) {
	other := trace.SinkFunc(func(ev trace.Event) error {
		if end, is := ev.Body.(trace.ToolEnd); is {
			end.Result.Content[0] = llm.Text{Text: "other"}
		}
		return nil
	})
	lost := trace.SinkFunc(func(ev trace.Event) error {
		if r, is := ev.Body.(trace.ModelRequest); is && ev.Step == 1 {
			r.NewMessages[0] = llm.User("other")
		}
		return nil
	})
	longer := func(next loop.ToolFunc) loop.ToolFunc {
		return func(ctx context.Context, c loop.Call) (loop.Output, error) {
			out, err := next(ctx, c)
			return loop.TextOutput((llm.ToolResult{Content: out.Content}).Text() + ", by the middleware"), err
		}
	}
	around := []loop.Middleware{{Name: "longer", New: func(loop.RunInfo) loop.Hooks { return loop.Hooks{WrapTool: longer} }}}
	for _, tt := range []struct {
		middleware []loop.Middleware
		sink       trace.Sink
		choices    []explore.Choice
		want       string
	}{
		{nil, nil, nil, ""},
		{nil, other, nil, `INV-01: run explored: the result of the call "c11" is "other"; the tool returned "fine"`},
		{nil, other, []explore.Choice{{At: "tool call c11", Option: "fails"}}, `INV-23: run explored: the result of the call "c11" is the error "other"; the tool failed with "the tool failed"`},
		{nil, lost, nil, `INV-01: run r1 event 13: a result is for the call "c11", which no assistant message before it has`},
		{nil, lost, []explore.Choice{{At: "store", Option: "keeps the state"}, {At: "store save 4", Option: "ends the process before it saves"}}, `INV-05: run explored: the 3 stored messages are not the first ones of the conversation, which has 4 ` +
			`INV-01: run r1 event 13: a result is for the call "c11", which no assistant message before it has`},
		{around, nil, nil, ""},
		{around, other, nil, `INV-01: run explored: the result of the call "c11" is "other"; the tool returned "fine, by the middleware"`},
	} {
		start, _ := programs(t, parallelScript(1, 1), func(c *loop.Config) { c.Middleware, c.Sink = tt.middleware, tt.sink })
		p := start()
		o, _ := explore.Replay(p, tt.choices)
		p.Close()
		if got := fmt.Sprint(o.Violations); got != "["+tt.want+"]" {
			t.Errorf("%v, middleware %v: got %s, want %q", tt.choices, tt.middleware != nil, got, tt.want)
		}
	}
}

// TestExploreFaults: each kind of fault is among the choices, and has the effect that it names.
func TestExploreFaults(t *testing.T) {
	start, _ := programs(t, parallelScript(1, 2), func(c *loop.Config) { c.ToolTimeout, c.MaxSteps, c.Retry.Max = time.Minute, 3, 1 })
	p := start()
	defer p.Close()
	for _, tt := range []effect{
		{"", "run.end         r1  end_turn"},
		{"tool call c11: fails", `tool.end        0   c11 error "the tool failed" error`},
		{"tool call c11: panics", "tool.end        0   c11 panic"},
		{"tool call c11: ends its goroutine", "tool.end        0   c11 panic"},
		{"tool call c11: hangs until its context ends", "tool.end        0   @1m0s c11 timeout"},
		{"tool call c11: returns after an hour, whatever its context does", "tool.end        0   @1h0m0s c11"},
		{"before the answer c11: time passes up to the next timer", "tool.end        0   @1m0s c11 timeout"},
		{"before the answer c11: the run is canceled", "cancelled       0   cancel"},
		{"before the answer c11: the run is canceled; after the cancel, the answer c12: comes all the same", `tool.end        0   c12 ok "fine"`},
		{"after tool.start c11: the run is canceled", `tool.skip       0   c12 t cancelled`},
		{"before the answer c11: the deadline of the run passes", "cancelled       0   deadline"},
		{"model call 1: fails before the first event with status 429; before time passes: the run is canceled", "model.retry     0"},
		{"model call 1: fails before the first event with status 429; before time passes: the run is canceled", "run.end         r1  cancel"},
		{"model call 1: fails before the first event with status 429; before time passes: the deadline of the run passes", "run.end         r1  deadline"},
		{"after tool.start c11: the deadline of the run passes", "run.end         r1  deadline"},
		{"after tool.end c11: the consumer stops", "the iteration over the run's events was stopped"},
		{"goroutine 1: starts only after the run is canceled; before the answer c12: the run is canceled", `c11 cancelled "not run: the run was cancelled before the tool was entered"`},
		{"next answer 2: c12", "tool.end        0   c12 ok \"fine\"\ntool.end        0   c11"},
		{"model call 1: fails before the first event with status 429", `model.error     0   api "fake: status 429: rate limit" status=429`},
		{"model call 1: fails after event 3 with a reset connection", `model.error     0   `},
		{"model call 1: finishes with stop", `c12 t {"n":1}; finish_reason=stop`},
		{"model call 1: call 2 has an empty id", "tool.start      0   loop_call_1"},
		{"model call 1: call 2 has the id of call 1", "tool.start      0   loop_call_1"},
		{"model call 1: call 2 calls an unknown tool", "tool.skip       0   c12 unknown_tool unknown_tool"},
		{"model call 1: call 2 has arguments that are cut", "tool.skip       0   c12 t truncated"},
		{"model call 1: call 1 has its name after its arguments", `tool.start      0   c11 t {"n":0}`},
		{"model call 1: call 2 has {} before its arguments", `tool.start      0   c12 t {"n":1}`},
		{"model call 1: call 1 has arguments that grow", `tool.start      0   c11 t {"n":0}`},
		{"model call 1: call 1 comes as text", "+assistant(text \"<tool_call>"},
		{"model call 1: begins with a call that the provider ran", "call srvtoolu_1 web_search"},
		{"model call 1: has its usage in parts", "usage=10/5"},
		{"model call 1: ends with an error of status 200", `model.error     0   api "fake: status 200`},
		{"model call 1: fails before the first event with status 429 and 20 s to wait", `model.retry     0   "fake: status 429: rate limit" wait=20s`},
		{"model call 1: fails before the first event with status 429 and an hour to wait", "run.end         r1  error"},
		{"model call 1: fails before the first event with status 429; model call 1, attempt 2: fails before the first event with status 529", `model.error     0.2 @500ms api "fake: status 529`},
		{"model call 1: is empty", "run.end         r1  end_turn"},
		{"model call 1: stalls before its end", "model.error     0"},
		{"model call 1: comes in chunks of one byte", "run.end         r1  end_turn"},
	} {
		tt.check(t, p)
	}
	start, _ = programs(t, parallelScript(1, 2), func(c *loop.Config) { c.ToolTimeout, c.Grace = time.Minute, time.Second })
	abandons := start()
	defer abandons.Close()
	effect{"tool call c11: returns after an hour, whatever its context does; before the answer c12: the run is canceled", "abandoned       0   @1s c11"}.check(t, abandons)
}

// twoCalls is a scenario with a step of two calls. A test inserts options.
const twoCalls = `version: 2
%s
tools: {t: {text: fine}, u: {%s}}
models:
  main:
    - calls: [{id: c1, name: t, arguments: {}}, {id: c2, name: u, arguments: {}}]
    - text: done
input: go
`

// TestExplorePeople: approvers, users and the callers of runs with pending calls do each of what they can do.
func TestExplorePeople(t *testing.T) {
	asks := fmt.Sprintf(twoCalls, "loop: {middleware: [permissions: {t: {ask: approve}, u: {ask: deny}}]}", "text: good")
	suspends := fmt.Sprintf(twoCalls, "loop: {middleware: [permissions: {t: {ask: approve}, u: {ask: suspend}}]}", "text: good")
	review := fmt.Sprintf(twoCalls, "loop: {middleware: [human_in_the_loop: [approve, {reject: no}]]}", "text: good")
	client := fmt.Sprintf(twoCalls, "", "client: true")
	clients := strings.Replace(client, "{text: fine}", "{client: true}", 1)
	user := strings.Replace(fmt.Sprintf(twoCalls, "loop: {middleware: [ask_user: blue]}", "text: good"), "name: t, arguments: {}", `name: ask_user, arguments: {questions: [{question: "Which one?"}]}`, 1)
	for _, tt := range []struct {
		script  string
		effects []effect
	}{
		{asks, []effect{
			{"", `tool.end        0   c1 ok "fine"`},
			{"approver of c1: denies", `tool.skip       0   c1 t denied "the call was not approved, and not run" error`},
			{"approver of c1: denies with a reason", `tool.skip       0   c1 t denied "not today" error`},
			{"approver of c1: skips the call", "tool.skip       0   c1 t skipped"},
			{"approver of c1: gives the result", `tool.skip       0   c1 t override "the approver's result"`},
			{"approver of c1: makes an unknown decision", "tool.skip       0   c1 t denied"},
			{"approver of c1: fails", "the approver failed: no connection to the person"},
			{"approver of c1: panics", "the approver panicked: the function panicked"},
			{"approver of c1: ends the goroutine", "nobody was there to approve it"},
			{"approver of c1: never answers", "cancelled       0   cancel"},
			{"approver of c2: approves", `tool.end        0   c2 ok "good"`},
			{"approver of c1: suspends the run", "resumed         r2  r1"},
			{"approver of c1: suspends the run; the caller: resumes with another message", `user "Continue."`},
			{"approver of c1: suspends the run; approver of c1 #2: denies", "tool.skip       r2  c1 t denied"},
			{"before the answer approver of c1: the run is canceled", "cancelled       0   cancel"},
			{"before the answer approver of c1: the deadline of the run passes", "cancelled       0   deadline"},
			{"before the answer approver of c1: the run is canceled; after the cancel, the answer approver of c1: comes all the same", `approval.resolved {"call":"c1","verdict":"approve"}`},
		}},
		{suspends, []effect{
			{"", `tool.end        r2  c2 ok "good"`},
			{"next answer 2: approver of c2", "resumed         r2  r1"},
		}},
		{review, []effect{
			{"", `"decision":"reject"`},
			{"approver of c1: edits the arguments", `tool.arguments  0   c1 {"edited":true} edit`},
			{"approver of c1: edits the arguments into a list", "the call was not run"},
			{"approver of c1: rejects with a reason", "the user rejected the call: not today"},
			{"approver of c1: responds", `"I did it."`},
			{"approver of c1: makes an unknown decision", `the decision was \"perhaps\"`},
			{"approver of c1: never answers", "cancelled       0   cancel"},
			{"approver of c1: ends the goroutine", "tool.end        0   c1 panic"},
			{"approver of c2: approves", `tool.end        0   c2 ok "good"`},
		}},
		{client, []effect{
			{"", `+tool(c1 "the caller's result"; c2 "the caller's result")`},
			{"the caller: answers the last call with an error", `c2 "the caller's result" error)`},
			{"the caller: does not answer the last call", `the call \"c2\" has no result`},
			{"the caller: answers an unknown call, too", `the result \"unknown_call\" has no unanswered call`},
			{"the caller: answers the last call twice", `the result \"c2\" has no unanswered call`},
			{"the caller: answers in reverse order", "warning         r2  history"},
			{"the caller: resumes without results", "decision        r2  stop: client_tools"},
		}},
		{clients, []effect{{"the caller: answers in reverse order", "warning         r2"}}},
		{user, []effect{
			{"", `A: blue`},
			{"user asked Which one?: fails", `tool.end        0   c1 error "no connection to the person" error`},
			{"user asked Which one?: does not reply to the last question", "there were 1 questions, and 0 answers came"},
			{"user asked Which one?: never answers", "cancelled       0   cancel"},
			{"next answer 2: c2", "tool.end        0   c2 ok \"good\"\ntool.end        0   c1 ok"},
		}},
	} {
		script, err := fake.ParseScript("s", []byte(tt.script))
		if err != nil {
			t.Fatal(err)
		}
		start, _ := programs(t, script, nil)
		p := start()
		defer p.Close()
		for _, e := range tt.effects {
			e.check(t, p)
		}
		r := explore.Exhaust(start, explore.Bounds{Faults: 2, Runs: 600})
		if len(r.Failures)+len(r.Unstable) > 0 {
			t.Errorf("%s\n%s\n%v %v", tt.script, r.Summary(), r.Failures, r.Unstable)
		}
	}
}

// TestExploreMiddleware: a middleware does each of what it can do, at each hook.
func TestExploreMiddleware(t *testing.T) {
	start, _ := programs(t, parallelScript(1, 2), nil)
	p := start()
	defer p.Close()
	for _, tt := range []struct {
		hook    string
		effects []effect
	}{
		{"at the start", []effect{
			{"at the start: fails", `run.end         r1  middleware error(policy "the middleware explored: the middleware failed")`},
			{"at the start: panics", "the middleware panicked"},
			{"at the start: ends the goroutine", "the goroutine of the run was ended from within"},
			{"at the start: ends the context", "run.end         r1  cancel"},
			{"at the start: returns a context within", "run.end         r1  end_turn"},
		}},
		{"before a step", []effect{
			{"before step 2: fails", "decision        r1  stop: middleware"},
			{"before step 2: stops the run", "decision        r1  stop: middleware by=explored"},
			{"before step 2: stops the run with an error", `run.end         r1  middleware finish_reason=tool_calls steps=1 model_calls=1 error(`},
			{"before step 1: forces the final answer", "decision        r1  force_final: middleware by=explored"},
			{"before step 1: removes the tools", "tool.skip       0   c11 t unknown_tool"},
			{"before step 2: adds a message", `+user "Be brief."`},
			{"before step 2: replaces the history", `+user "Begin again."`},
			{"before step 2: removes the last message", "has no result"},
			{"before step 2: calls the model", "model.request   1/summary"},
		}},
		{"around a model call", []effect{
			{"around the model call of step 1: fails", "step 0: the middleware failed"},
			{"around the model call of step 1: answers", `"the middleware's answer"`},
			{"around the model call of step 1: answers with a call", "tool.start      0   loop_call_1 t {}"},
			{"around the model call of step 1: returns nothing", "returned neither a response nor an error"},
			{"around the model call of step 1: fails after the call", "step 0: the middleware failed"},
			{"around the model call of step 1: panics after the call", "the middleware panicked"},
			{"around the model call of step 1: calls the model twice", "model.request   0/repair"},
			{"around the model call of step 1: changes the text", "By the middleware: "},
			{"around the model call of step 1: repeats the first part", "tool.start      0   loop_call_1"},
			{"around the model call of step 1: sends other messages", `+user "Begin again."`},
			{"around the model call of step 1: changes the text; model call 1: fails before the first event with status 429 and an hour to wait", "run.end         r1  error"},
			{"around the model call of step 1: repeats the first part; model call 1: fails before the first event with status 429 and an hour to wait", "run.end         r1  error"},
			{"around the model call of step 1: repeats the first part; model call 1: is empty", "run.end         r1  end_turn"},
		}},
		{"after a response", []effect{
			{"after the response of step 1: stops the run", "pending=c11,c12"},
			{"after the response of step 1: stops the run with an error", "the middleware failed"},
			{"after the response of step 2: continues", `+user "More."`},
		}},
		{"before tools", []effect{
			{"before the tools of step 1: stops the run", "pending=c11,c12"},
			{"before the tools of step 1: suspends the run", "resumed         r2  r1"},
			{"before the tools of step 1: answers the first call", "tool.skip       0   c11 t answered"},
			{"before the tools of step 1: answers all calls", "tool.skip       0   c12 t answered"},
			{"before the tools of step 1: changes the arguments of the last call", `tool.start      0   c12 t {"changed":true}`},
			{"before the tools of step 1: changes the arguments of the last call into a list", "tool.skip       0   c12 t"},
			{"before the tools of step 1: decides about an unknown call", "want the Index of one of 2 calls"},
		}},
		{"around a tool", []effect{
			{"around c11: fails", `tool.end        0   c11 error "the middleware failed" error`},
			{"around c11: panics", "tool.end        0   c11 panic"},
			{"around c11: ends the goroutine", "tool.end        0   c11 panic"},
			{"around c11: answers", `tool.end        0   c11 not_run "the middleware's result"`},
			{"around c11: runs the tool twice", "twice for one call"},
			{"around c11: changes the arguments", `tool.arguments  0   c11 {"changed":true} edit`},
			{"around c11: changes the arguments into a list", "the call was not run"},
			{"around c11: fails after the tool", `tool.end        0   c11 error "the middleware failed" error`},
			{"around c11: panics after the tool", "tool.end        0   c11 panic"},
			{"around c11: changes the result into an error", `tool.end        0   c11 error "fine" error`},
			{"around c11: answers; next answer 2: c12", `tool.end        0   c12 ok`},
			{"around c11: answers; before the answer middleware around c11: the run is canceled", "tool.end        0   c11 cancelled"},
		}},
		{"after a step", []effect{
			{"after step 1: stops the run", "decision        0   stop: middleware by=explored"},
			{"after step 1: stops the run with an error", "the middleware failed"},
			{"after step 1: forces the final answer", "decision        0   force_final: middleware by=explored"},
			{"after step 1: calls the model", "model.request   0/summary"},
		}},
		{"at the end", []effect{
			{"at the end: fails", "the middleware failed"},
			{"at the end: changes the result", "run.end         r1  end_turn"},
		}},
	} {
		for _, e := range tt.effects {
			e.choices = "middleware: acts " + tt.hook + "; middleware " + e.choices
			e.check(t, p)
		}
	}
}

// TestExploreStore: a store fails at each save and load, and the process ends at each save. Another process continues.
func TestExploreStore(t *testing.T) {
	asks, err := fake.ParseScript("s", []byte(fmt.Sprintf(twoCalls, "loop: {middleware: [permissions: {t: {ask: approve}}]}", "text: good")))
	if err != nil {
		t.Fatal(err)
	}
	counts, err := fake.ParseScript("s", []byte(strings.Replace(fmt.Sprintf(twoCalls, "", "text: good"), "{text: fine}", "{calls: [{text: first}, {text: second}]}", 1)))
	if err != nil {
		t.Fatal(err)
	}
	const continued = "run.start       continued"
	for _, tt := range []struct {
		script  *fake.Script
		effects []effect
	}{
		{parallelScript(1, 2), []effect{
			{"load 1: fails", "run.end         r1  end_turn"},
			{"save 1: fails", "run.end         r1  end_turn"},
			{"save 2: fails although it has saved", "run.end         r1  end_turn"},
			{"save 1: ends the process before it saves", continued},
			{"save 2: ends the process before it saves", continued},
			{"save 2: ends the process after it has saved", "resumed         continued r1"},
			{"save 2: ends the process after it has saved; middleware: acts before a step; middleware before step 1 #2: removes the last message", "has no result"},
			{"save 3: ends the process after it has saved", continued},
			{"save 4: ends the process after it has saved", "run.end         r1  end_turn"},
		}},
		{asks, []effect{
			{"load 2: fails", "run.end         r1  end_turn"},
			{"save 2: fails", "run.end         r1  middleware"},
			{"save 2: ends the process before it saves", continued},
			{"save 2: ends the process after it has saved", continued},
		}},
		{counts, []effect{{"save 2: ends the process after it has saved", `tool.end        continued c1 ok "second"`}}},
	} {
		start, _ := programs(t, tt.script, nil)
		p := start()
		defer p.Close()
		for _, e := range tt.effects {
			e.choices = "store: keeps the state; store " + e.choices
			e.check(t, p)
		}
	}
}

// TestExploreRetries: with two faults, each failure of a model call is followed by each failure of its retry.
func TestExploreRetries(t *testing.T) {
	start, digests := programs(t, parallelScript(0, 0), func(c *loop.Config) { c.Retry.Max = 1 })
	r := explore.Exhaust(start, explore.Bounds{Faults: 2})
	if !r.Complete || len(r.Failures)+len(r.Unstable) > 0 {
		t.Error(r.Summary(), r.Failures, r.Unstable)
	}
	first, second := map[string]bool{}, map[string]bool{}
	for _, choices := range digests() {
		_, rest, _ := strings.Cut(choices, "model call 1: ")
		failure, rest, retried := strings.Cut(rest, " model call 1, attempt 2: ")
		if retried {
			first[failure], second[strings.TrimSuffix(rest, "]")] = true, true
		}
	}
	if len(first) < 6 || len(second) < 30 {
		t.Errorf("%d failures are followed by %d faults of the retry, want at least 6 and 30: %v, %v", len(first), len(second), slices.Sorted(maps.Keys(first)), slices.Sorted(maps.Keys(second)))
	}
}

// madeRun is a run, and listing a program that lists its runs.
type madeRun struct {
	choices []explore.Choice
	digest  uint64
}

type listing struct {
	explore.Program
	mu   *sync.Mutex
	runs *[]madeRun
}

func (l *listing) Run(c *explore.Choices) explore.Outcome {
	o := l.Program.Run(c)
	l.mu.Lock()
	defer l.mu.Unlock()
	*l.runs = append(*l.runs, madeRun{c.Taken(), o.Digest})
	return o
}

// TestRunsShareNothing makes the runs of an exploration again with one program, in another order: each shows the same as before.
func TestRunsShareNothing(t *testing.T) {
	for _, grace := range []time.Duration{0, time.Second} {
		inner, err := scenario.Program(parallelScript(1, 2), func(c *loop.Config) { c.Grace = grace })
		if err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		var runs []madeRun
		explore.Exhaust(func() explore.Program { return &listing{inner(), &mu, &runs} }, explore.Bounds{Faults: 1})
		rand.New(rand.NewPCG(1, 1)).Shuffle(len(runs), func(i, j int) { runs[i], runs[j] = runs[j], runs[i] })
		p := inner()
		defer p.Close()
		for _, r := range runs {
			if o, unused := explore.Replay(p, r.choices); o.Digest != r.digest || len(unused) > 0 {
				t.Errorf("grace %v: the run with %v differs after other runs; unused choices: %v\n%s", grace, r.choices, unused, o.Text())
			}
		}
		if len(runs) < 500 {
			t.Errorf("grace %v: %d runs, want at least 500", grace, len(runs))
		}
	}
}

// FuzzExplore makes runs of three steps of four calls with up to four faults, guided by the coverage of the loop.
func FuzzExplore(f *testing.F) {
	start, err := scenario.Program(parallelScript(3, 4), func(c *loop.Config) { c.MaxSteps = 6 })
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		p := start()
		defer p.Close()
		o, choices := explore.Draw(p, data, explore.Bounds{Faults: 4, Preemptions: 4})
		for _, v := range o.Violations {
			t.Errorf("%v: %v\n%s", choices, v, o.Text())
		}
		if again, _ := explore.Replay(p, choices); again.Digest != o.Digest {
			t.Errorf("%v: the same choices gave two runs", choices)
		}
	})
}

// BenchmarkExplore makes checked runs of three steps of four calls.
func BenchmarkExplore(b *testing.B) {
	for _, faults := range []int{0, 1} {
		b.Run(fmt.Sprintf("faults=%d", faults), func(b *testing.B) {
			start, err := scenario.Program(parallelScript(3, 4), nil)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			runs := 0
			for left := b.N; left > 0; left = b.N - runs { // there are fewer orders
				runs += explore.Exhaust(start, explore.Bounds{Faults: faults, Runs: left}).Runs
			}
			b.ReportMetric(float64(runs)/b.Elapsed().Seconds(), "runs/s")
		})
	}
}

// certificates is the file of what was explored: steps, calls of each, faults, orders, runs, different runs, and their set.
const certificates = "testdata/certificates.tsv"

// TestCertificates explores scripts of equal calls, and compares the numbers of runs and the set of different ones with
// those on record: the small ones, or all with LOOPTAPE_CERTIFICATES=all. No run violates an invariant. -update writes
// the file.
func TestCertificates(t *testing.T) {
	src, err := os.ReadFile(certificates)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for line := range strings.Lines(string(src)) {
		var steps, calls, faults, orders, runs int
		if _, err := fmt.Sscanf(line, "%d\t%d\t%d\t%d\t%d", &steps, &calls, &faults, &orders, &runs); err != nil {
			t.Fatalf("%s: %q: %v", certificates, line, err)
		}
		if runs > 5000 && os.Getenv("LOOPTAPE_CERTIFICATES") != "all" {
			out.WriteString(line)
			continue
		}
		start, err := scenario.Program(parallelScript(steps, calls), func(c *loop.Config) { c.Concurrency = -1 })
		if err != nil {
			t.Fatal(err)
		}
		r := explore.Exhaust(start, explore.Bounds{Faults: faults, Runs: math.MaxInt})
		t.Logf("%d × %d: %s", steps, calls, r.Summary())
		if !r.Complete || len(r.Failures)+len(r.Unstable) > 0 {
			t.Errorf("%d × %d: complete %v, failures %v, unstable %v", steps, calls, r.Complete, r.Failures, r.Unstable)
		}
		is := fmt.Sprintf("%d\t%d\t%d\t%d\t%d\t%d\t%s\n", steps, calls, faults, r.Orders, r.Runs, r.Traces, r.Hash)
		if out.WriteString(is); is != line && !*update {
			t.Errorf("got %q, want %q", is, line)
		}
	}
	if *update {
		if err := os.WriteFile(certificates, []byte(out.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
