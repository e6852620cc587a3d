package looptest_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop/explore"
	"github.com/looptape/looptape/loop/looptest"
	"github.com/looptape/looptape/trace/check"
)

// maxKnownChoices is the highest number of choices that a known bug may need after shrinking.
const maxKnownChoices = 6

// knownBug is a bug of an agent framework, rebuilt in a small loop.
type knownBug struct {
	name      string
	thread    string // owner/repository#number on GitHub
	fault     string
	invariant string                   // that the exploration must report
	opts      *looptest.ExploreOptions // nil for the default
	change    func(s *small)
}

// TestExploreKnownBugs explores each loop.
func TestExploreKnownBugs(t *testing.T) {
	var shrunk []int
	for _, b := range slices.Concat(orderBugs, []knownBug{panicBug}, cancelBugs, providerBugs, historyBugs) {
		t.Run(b.name, func(t *testing.T) {
			loop := newSmall()
			b.change(loop)
			r := looptest.Explored(t, loop, b.opts)
			if len(r.Unstable) > 0 {
				t.Errorf("the loop is not deterministic: %q", r.Unstable)
			}
			var ids []string
			for _, f := range r.Failures {
				ids = append(ids, f.Invariant)
			}
			i := slices.Index(ids, b.invariant)
			if i < 0 {
				t.Fatalf("%s: %s: got the invariants %q in %d runs, want %s", b.thread, b.fault, ids, r.Runs, b.invariant)
			}
			checkKnown(t, &b, r, r.Failures[i])
			for _, f := range r.Failures {
				checkRepeats(t, loop, b.opts, f)
				shrunk = append(shrunk, f.Shrunk)
			}
			t.Logf("| %s | %s | %s | %d | %d of %d | %v |", b.name, b.thread, b.invariant, len(r.Failures[i].Choices), r.Failures[i].Run, r.Runs, ids)
		})
	}
	if slices.Sort(shrunk); len(shrunk) > 0 {
		t.Logf("%d failures needed %d runs of shrinking as the median, and at most %d", len(shrunk), shrunk[len(shrunk)/2], shrunk[len(shrunk)-1])
	}
}

func checkKnown(t *testing.T, b *knownBug, r *explore.Result, f *explore.Failure) {
	t.Helper()
	if len(f.Choices) > maxKnownChoices || !f.Minimal {
		t.Errorf("%s: %d choices, minimal %t; want at most %d, minimal:\n%s", b.thread, len(f.Choices), f.Minimal, maxKnownChoices, f.Error())
	}
	if !r.Complete {
		t.Errorf("%s: the exploration made only %d runs", b.thread, r.Runs)
	}
}

// checkRepeats checks that the choices of a failure repeat it each time: LOOPTAPE_REPEATS times, by default twice.
func checkRepeats(t *testing.T, loop looptest.Loop, opts *looptest.ExploreOptions, f *explore.Failure) {
	t.Helper()
	repeats, repeated := 2, 0
	if n, err := strconv.Atoi(os.Getenv("LOOPTAPE_REPEATS")); err == nil {
		repeats = n
	}
	var o looptest.ExploreOptions
	if opts != nil {
		o = *opts
	}
	o.Choices = f.Choices
	for range repeats {
		if slices.ContainsFunc(looptest.Replayed(t, loop, &o), func(v check.Violation) bool { return v.Invariant == f.Invariant }) {
			repeated++
		}
	}
	if repeated < repeats {
		t.Errorf("%s with %v: %d of %d runs violate it", f.Invariant, f.Choices, repeated, repeats)
	}
}

// start runs calls concurrently and returns a channel with their results as the calls end.
func start(ctx context.Context, c *smallRun, calls []llm.ToolCall) <-chan llm.ToolResult {
	done := make(chan llm.ToolResult, len(calls))
	startOn(ctx, done, c, calls)
	return done
}

// startOn is [start] with a channel. After a cancel, calls do not wait for a tool. They run one after another then,
// since the order would be that of the Go scheduler.
func startOn(ctx context.Context, done chan<- llm.ToolResult, c *smallRun, calls []llm.ToolCall) {
	if ctx.Err() != nil {
		go func() {
			for _, call := range calls {
				done <- c.tool(ctx, c, call)
			}
		}()
		return
	}
	for _, call := range calls {
		go func() { done <- c.tool(ctx, c, call) }()
	}
}

// asTheyCome returns the results of calls in the order in which the calls end.
func asTheyCome(c *smallRun, calls []llm.ToolCall) (results []llm.ToolResult) {
	done := start(c.ctx, c, calls)
	for range calls {
		results = append(results, <-done)
	}
	return results
}

func firstFailure(results []llm.ToolResult) error {
	for _, r := range results {
		if r.IsError {
			return errors.New(r.Text())
		}
	}
	return nil
}

// orderBugs depend on the calls of one response that run concurrently.
var orderBugs = []knownBug{
	{
		name: "results in the order of completion", thread: "anthropics/claude-code#21906", invariant: "INV-03",
		fault: "The results of parallel calls are sent back in the order in which the tools ended.",
		change: func(s *small) {
			s.batch = func(c *smallRun, calls []llm.ToolCall) ([]llm.ToolResult, error) { return asTheyCome(c, calls), nil }
		},
	},
	{
		name: "results paired by position", thread: "agentscope-ai/agentscope-java#652", invariant: "INV-01",
		fault: "The results come in the order of completion, and each is paired with the call at its index.",
		change: func(s *small) {
			s.batch = func(c *smallRun, calls []llm.ToolCall) ([]llm.ToolResult, error) {
				results := asTheyCome(c, calls)
				for i, call := range calls {
					results[i].ID, results[i].Name = call.ID, call.Name
				}
				return results, nil
			}
		},
	},
	{
		name: "the first failure discards all results", thread: "huggingface/smolagents#2457", invariant: "INV-07",
		fault: "The failure of one tool is raised while the results are collected, so the results of the others are lost.",
		change: func(s *small) {
			s.batch = func(c *smallRun, calls []llm.ToolCall) ([]llm.ToolResult, error) {
				results := asTheyCome(c, calls)
				if err := firstFailure(results); err != nil {
					return nil, err
				}
				return results, nil
			}
		},
	},
	{
		name: "a failed tool cancels the others", thread: "openai/openai-agents-python#2580", invariant: "INV-01",
		fault: "A tool that fails or is canceled ends the group of its siblings, and the results of the turn are lost.",
		change: func(s *small) {
			s.tool = unguarded // whether a call starts must not depend on the scheduler
			s.batch = func(c *smallRun, calls []llm.ToolCall) (results []llm.ToolResult, err error) {
				ctx, cancel := context.WithCancel(c.ctx)
				defer cancel()
				done := start(ctx, c, calls)
				for range calls {
					r := <-done
					if r.IsError {
						cancel()
					} else {
						results = append(results, r)
					}
				}
				return results, nil
			}
		},
	},
	{
		name: "the first error ends the run", thread: "romankurnovskii/etemaro#133", invariant: "INV-23",
		fault: "The first tool that fails rejects the whole batch and ends the run, while its siblings run on.",
		change: func(s *small) {
			s.batch = func(c *smallRun, calls []llm.ToolCall) (results []llm.ToolResult, err error) {
				done := start(c.ctx, c, calls)
				for range calls {
					r := <-done
					if r.IsError {
						return nil, errors.New(r.Text())
					}
					results = append(results, r)
				}
				return sorted(calls, results), nil
			}
		},
	},
	{
		name: "collecting stops at a failure", thread: "earendil-works/pi#3024", invariant: "INV-01",
		fault: "The results of parallel calls are awaited in order, and a failure leaves the loop before the later ones are collected.",
		change: func(s *small) {
			s.batch = func(c *smallRun, calls []llm.ToolCall) ([]llm.ToolResult, error) {
				results, err := batch(c, calls)
				for i, r := range results {
					if r.IsError {
						return results[:i+1], err
					}
				}
				return results, err
			}
		},
	},
	{
		name: "calls by tool name", thread: "generative-computing/mellea#1431", invariant: "INV-01",
		fault: "The calls of a response are kept by tool name, so only the last call of a tool is run.",
		change: func(s *small) {
			s.batch = func(c *smallRun, calls []llm.ToolCall) ([]llm.ToolResult, error) {
				byName := map[string]llm.ToolCall{}
				for _, call := range calls {
					byName[call.Name] = call
				}
				last := slices.DeleteFunc(slices.Clone(calls), func(call llm.ToolCall) bool { return byName[call.Name].ID != call.ID })
				return batch(c, last)
			}
		},
	},
	{
		name: "ids by tool name", thread: "cline/cline#8036", invariant: "INV-01",
		fault: "The id of a result is looked up by the name of the tool, so all results of a tool get the id of its last call.",
		change: func(s *small) {
			s.batch = func(c *smallRun, calls []llm.ToolCall) ([]llm.ToolResult, error) {
				ids := map[string]string{}
				for _, call := range calls {
					ids[call.Name] = call.ID
				}
				results, err := batch(c, calls)
				for i := range results {
					results[i].ID = ids[results[i].Name]
				}
				return results, err
			}
		},
	},
	{
		name: "results by tool name", thread: "Emiyaaaaa/clay-ui#42", invariant: "INV-01",
		fault: "The results of parallel calls are kept by tool name, so the last tool to end overwrites the results of the others.",
		change: func(s *small) {
			s.batch = func(c *smallRun, calls []llm.ToolCall) (results []llm.ToolResult, err error) {
				byName := map[string]llm.ToolResult{}
				for _, r := range asTheyCome(c, calls) {
					byName[r.Name] = r
				}
				for _, call := range calls {
					r := byName[call.Name]
					r.ID = call.ID
					results = append(results, r)
				}
				return results, nil
			}
		},
	},
	{
		name: "one slot for the current call", thread: "gi-dellav/zerostack#266", invariant: "INV-01",
		fault: "The call in progress is one variable, so the first result is recorded for the last call and the others for none.",
		change: func(s *small) {
			s.batch = func(c *smallRun, calls []llm.ToolCall) ([]llm.ToolResult, error) {
				current := calls[len(calls)-1]
				results := asTheyCome(c, calls)
				for i := range results {
					results[i].ID, results[i].Name = current.ID, current.Name
					current = llm.ToolCall{}
				}
				return results, nil
			}
		},
	},
	{
		name: "a timer ends the collection", thread: "cloudflare/agents#1649", invariant: "INV-01",
		fault: "The next request is sent 50 ms after a result has come, although other tools still run.",
		change: func(s *small) {
			s.batch = func(c *smallRun, calls []llm.ToolCall) (results []llm.ToolResult, err error) {
				done := start(c.ctx, c, calls)
				results = append(results, <-done)
				for range len(calls) - 1 {
					select {
					case r := <-done:
						results = append(results, r)
					case <-time.After(50 * time.Millisecond): //nolint:forbidigo // virtual: it is a bubble's
						return sorted(calls, results), nil
					}
				}
				return sorted(calls, results), nil
			}
		},
	},
	{
		name: "a result in the next step", thread: "anthropics/claude-code#63859", invariant: "INV-01",
		fault: "After a failure the loop abandons the batch, and the results of its other calls come back in a later batch.",
		change: func(s *small) {
			s.batch = func(c *smallRun, calls []llm.ToolCall) (results []llm.ToolResult, err error) {
				startOn(c.ctx, c.queue, c, calls)
				for range calls {
					r := <-c.queue
					results = append(results, r)
					if r.IsError {
						break
					}
				}
				for _, call := range calls {
					if !slices.ContainsFunc(results, func(r llm.ToolResult) bool { return r.ID == call.ID }) {
						results = append(results, failed(call, "cancelled: a parallel call failed"))
					}
				}
				return sorted(calls, results), nil
			}
		},
	},
	{
		name: "a merge that overwrites", thread: "google/adk-python#5190", invariant: "INV-01",
		fault: "Each parallel call adds to its own copy of a list, and the merge keeps the copy that comes last.",
		change: func(s *small) {
			s.batch = func(c *smallRun, calls []llm.ToolCall) ([]llm.ToolResult, error) {
				before := []llm.ToolResult{}
				merged := before
				for _, r := range asTheyCome(c, calls) {
					merged = append(slices.Clone(before), r)
				}
				return merged, nil
			}
		},
	},
	{
		name: "rejected calls first", thread: "earendil-works/pi#3468", invariant: "INV-03",
		fault: "A call that is rejected before it runs gets its result immediately, before the results of earlier calls.",
		change: func(s *small) {
			s.batch = func(c *smallRun, calls []llm.ToolCall) (results []llm.ToolResult, err error) {
				var ready []llm.ToolCall
				for _, call := range calls {
					if c.has(call.Name) {
						ready = append(ready, call)
					} else {
						results = append(results, failed(call, "rejected"))
					}
				}
				ran, err := batch(c, ready)
				return append(results, ran...), err
			}
		},
	},
	{
		name: "error results without an id", thread: "smallest-inc/smallest-python-sdk#118", invariant: "INV-01",
		fault: "The error of a parallel tool becomes a result without the id of its call.",
		change: func(s *small) {
			s.batch = func(c *smallRun, calls []llm.ToolCall) ([]llm.ToolResult, error) {
				results, err := batch(c, calls)
				for i := range results {
					if results[i].IsError {
						results[i].ID, results[i].Name = "", ""
					}
				}
				return results, err
			}
		},
	},
}

// panicBug needs tools that panic.
var panicBug = knownBug{
	name: "the first call has no recover", thread: "cloudwego/eino#392", invariant: "INV-23", opts: &looptest.ExploreOptions{Panics: true},
	fault: "The first call is run on the goroutine of the loop, without a recover, so its panic ends the run.",
	change: func(s *small) {
		s.batch = func(c *smallRun, calls []llm.ToolCall) ([]llm.ToolResult, error) {
			if !c.has(calls[0].Name) {
				return batch(c, calls)
			}
			done := make(chan []llm.ToolResult, 1)
			go func() {
				rest, _ := batch(c, calls[1:])
				done <- rest
			}()
			i := slices.IndexFunc(c.in.Tools, func(t looptest.Tool) bool { return t.Name == calls[0].Name })
			text, err := c.in.Tools[i].Run(c.ctx, calls[0].Arguments)
			first := result(calls[0], text)
			if err != nil {
				first = failed(calls[0], err.Error())
			}
			return append([]llm.ToolResult{first}, <-done...), nil
		}
	},
}

// sorted returns results in the order of their calls.
func sorted(calls []llm.ToolCall, results []llm.ToolResult) []llm.ToolResult {
	slices.SortStableFunc(results, func(a, b llm.ToolResult) int {
		return slices.IndexFunc(calls, func(c llm.ToolCall) bool { return c.ID == a.ID }) - slices.IndexFunc(calls, func(c llm.ToolCall) bool { return c.ID == b.ID })
	})
	return results
}

func (c *smallRun) has(tool string) bool {
	return slices.ContainsFunc(c.in.Tools, func(t looptest.Tool) bool { return t.Name == tool })
}

// unguarded is [tool] without a look at the context.
func unguarded(ctx context.Context, c *smallRun, call llm.ToolCall) llm.ToolResult {
	i := slices.IndexFunc(c.in.Tools, func(t looptest.Tool) bool { return t.Name == call.Name })
	if i < 0 || json.Unmarshal([]byte(call.Arguments), &map[string]any{}) != nil {
		return failed(call, "not run: unknown tool or invalid arguments")
	}
	return run(ctx, c.in.Tools[i], call)
}

// produce sends the events of a response. Its goroutine cannot end if nothing receives them.
func produce(c *smallRun, events chan<- llm.Event) error {
	for ev, err := range c.in.Model.Stream(c.ctx, &llm.Request{Messages: slices.Clone(c.history)}) {
		if err != nil {
			return err
		}
		send(events, ev)
	}
	return nil
}

func send(events chan<- llm.Event, ev llm.Event) { events <- ev }

// coordinate receives events. Its goroutine cannot end if work is not closed.
func coordinate(work <-chan llm.Event) {
	for range work { // it would start tools
		continue
	}
}

// cancelBugs are about the end of the run's context.
var cancelBugs = []knownBug{
	{
		name: "the rest of the batch after a cancel", thread: "earendil-works/pi#4276", invariant: "INV-17",
		fault: "A cancel stops the current call, and the pending calls of the same response still run.",
		change: func(s *small) {
			s.tool = unguarded
			s.batch = func(c *smallRun, calls []llm.ToolCall) (results []llm.ToolResult, err error) {
				for _, call := range calls {
					results = append(results, c.tool(c.ctx, c, call))
				}
				return results, nil
			}
		},
	},
	{
		name: "a prepared call starts after a cancel", thread: "openclaw/openclaw#102252", invariant: "INV-17",
		fault: "A call that is ready to run starts after the run was canceled, since only its preparation looks at the context.",
		change: func(s *small) {
			s.tool = unguarded
			s.batch = func(c *smallRun, calls []llm.ToolCall) ([]llm.ToolResult, error) {
				results := make([]llm.ToolResult, len(calls))
				turn := make(chan bool)
				for i, call := range calls {
					before := turn
					turn = make(chan bool)
					go func(after chan bool) {
						if i > 0 {
							<-before
						}
						results[i] = c.tool(c.ctx, c, call)
						close(after)
					}(turn)
				}
				<-turn
				return results, nil
			}
		},
	},
	{
		name: "a model call after a cancel", thread: "openclaw/openclaw#94412", invariant: "INV-17",
		fault: "When the run is canceled during a tool, the loop starts another model call with the canceled context.",
		change: func(s *small) {
			s.steps = func(c *smallRun) error {
				for {
					resp, err := c.call(c)
					if err != nil {
						return err
					}
					calls := c.accept(c, resp)
					if len(calls) == 0 {
						return nil
					}
					results, err := c.batch(c, calls)
					if err != nil {
						return err
					}
					c.history = append(c.history, llm.ToolResults(results...))
				}
			}
		},
	},
	{
		name: "a cancel between response and tools", thread: "agentscope-ai/agentscope-java#2409", invariant: "INV-07",
		fault: "A cancel after the response and before its tools leaves calls without results in the history.",
		change: func(s *small) {
			s.batch = func(c *smallRun, calls []llm.ToolCall) ([]llm.ToolResult, error) {
				if err := c.ctx.Err(); err != nil {
					return nil, err
				}
				return batch(c, calls)
			}
		},
	},
	{
		name: "only the results of finished calls after a cancel", thread: "aws-samples/remote-swe-agents#420", invariant: "INV-07",
		fault: "A cancel during parallel calls saves the results of the calls that have ended, and none for the others.",
		change: func(s *small) {
			s.batch = func(c *smallRun, calls []llm.ToolCall) ([]llm.ToolResult, error) {
				results, err := batch(c, calls)
				if c.ctx.Err() != nil {
					results = slices.DeleteFunc(results, func(r llm.ToolResult) bool { return r.IsError })
				}
				return results, err
			}
		},
	},
	{
		name: "finished results are lost by a cancel", thread: "livekit/agents#3702", invariant: "INV-07",
		fault: "A cancel during or after the tools drops the results of calls that have ended.",
		change: func(s *small) {
			s.batch = func(c *smallRun, calls []llm.ToolCall) ([]llm.ToolResult, error) {
				results, err := batch(c, calls)
				if c.ctx.Err() != nil {
					return nil, c.ctx.Err()
				}
				return results, err
			}
		},
	},
	{
		name: "tools run on after a cancel", thread: "openclaw/openclaw#119222", invariant: "INV-16",
		fault: "A cancel detaches the tools in progress, which run on after the run has returned.",
		change: func(s *small) {
			s.batch = func(c *smallRun, calls []llm.ToolCall) (results []llm.ToolResult, err error) {
				done := start(c.ctx, c, calls)
				for range calls {
					select {
					case r := <-done:
						results = append(results, r)
					case <-c.ctx.Done():
						return nil, c.ctx.Err()
					}
				}
				return sorted(calls, results), nil
			}
			s.tool = func(ctx context.Context, c *smallRun, call llm.ToolCall) llm.ToolResult {
				return tool(context.WithoutCancel(ctx), c, call)
			}
		},
	},
	{
		name: "the context does not reach the tools", thread: "vercel/ai#19966", invariant: "INV-26",
		fault: "The tools do not get the signal of a cancel, so a tool that waits for it never ends.",
		change: func(s *small) {
			s.tool = func(ctx context.Context, c *smallRun, call llm.ToolCall) llm.ToolResult {
				if ctx.Err() != nil {
					return failed(call, "not run: the run was canceled")
				}
				return tool(context.WithoutCancel(ctx), c, call)
			}
		},
	},
	{
		name: "retries after a cancel", thread: "genkit-ai/genkit#5331", invariant: "INV-17",
		fault: "Each error of a model call is retried, that of a canceled context included.",
		change: func(s *small) {
			s.call = func(c *smallRun) (resp *llm.Response, err error) {
				for range 5 {
					if resp, err = call(c); err == nil {
						break
					}
				}
				return resp, err
			}
		},
	},
	{
		name: "a send without a receiver", thread: "Ingenimax/agent-sdk-go#291", invariant: "INV-16",
		fault: "The goroutine of a stream blocks forever on a send to a consumer that has stopped reading.",
		change: func(s *small) {
			s.call = func(c *smallRun) (*llm.Response, error) {
				events := make(chan llm.Event)
				var streamErr error
				go func() {
					streamErr = produce(c, events)
					close(events)
				}()
				var acc llm.Accumulator
				for ev := range events {
					if acc.Add(ev); c.ctx.Err() != nil {
						return acc.Response(), c.ctx.Err()
					}
				}
				c.usage = c.usage.Add(acc.Response().Usage)
				return acc.Response(), streamErr
			}
		},
	},
	{
		name: "an early return leaves a goroutine", thread: "charmbracelet/fantasy#191", invariant: "INV-16",
		fault: "A return on an error of the stream skips the close of the channel that the tool coordinator reads.",
		change: func(s *small) {
			s.call = func(c *smallRun) (*llm.Response, error) {
				work := make(chan llm.Event)
				go coordinate(work)
				var acc llm.Accumulator
				for ev, err := range c.in.Model.Stream(c.ctx, &llm.Request{Messages: slices.Clone(c.history)}) {
					if err != nil {
						return acc.Response(), err
					}
					acc.Add(ev)
					work <- ev
				}
				close(work)
				c.usage = c.usage.Add(acc.Response().Usage)
				return acc.Response(), nil
			}
		},
	},
}
