// Package looptest tests any agent loop in Go against the invariants of package check. It
// scripts a model that reproduces the failures of real providers, tools that are slow, fail,
// panic and ignore the end of their context, and cancellations.
//
// The suite checks what is visible from outside: the requests and messages (the invariants of
// [check.Messages], and INV-05), the input of the tools (INV-07 to INV-09, INV-17, INV-23),
// the result (INV-11, INV-12, INV-18, INV-22, INV-27), and what only a live run shows (INV-06
// immutability, INV-16 no leaks, INV-26 liveness). Limits, budgets, guards and retries differ
// in each loop: check them with a trace and package check.
//
// Each case runs in a bubble of testing/synctest. Its time is virtual, so a tool of an hour
// takes no time. A run that has not ended after three hours of virtual time, or that makes more
// than 100 model calls, violates INV-26, and the suite continues with the next case. The loop
// must wait only on channels, contexts, timers, and WaitGroup and Cond of package sync, not on a
// network or a file.
// [HTTP] provides the server for a loop that calls a provider with an SDK.
//
// Virtual time does not advance while a goroutine works, waits for a locked mutex or waits for
// something outside of the bubble. A case that waits for mutexes alone violates INV-26 after two
// seconds. Another case may therefore take one minute of real time, or half of the time that the
// -timeout of go test leaves if that is less. After the first violation of
// INV-26, the rest of the suite shares one such limit. At the limit the case violates INV-26, with
// the stacks of its goroutines, and the cases after it are not run, which fails the test. The suite
// cannot end the goroutines of that case. There is no limit with -timeout 0. A run of [Explore] has the same limits, and ends
// the test.
package looptest

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/check"
)

// Loop is the loop under test. The test implements it with an adapter.
type Loop interface {
	// Run has one conversation: it calls in.Model with in.Messages, runs the tools that
	// the model calls, and continues until the model calls no tool or ctx ends. It returns
	// when all its goroutines have ended. With an error it returns the result up to the
	// error, or nil.
	//
	// The suite calls Run many times, sequentially. Run must allow at least five steps and
	// must not end a run because a tool fails once.
	Run(ctx context.Context, in *Input) (*Result, error)
}

// LoopFunc is a function that implements [Loop].
type LoopFunc func(ctx context.Context, in *Input) (*Result, error)

// Run calls f.
func (f LoopFunc) Run(ctx context.Context, in *Input) (*Result, error) { return f(ctx, in) }

// Input is the input of a run.
type Input struct {
	Model        llm.Model
	Tools        []Tool
	Messages     []llm.Message    // the conversation so far; the loop must not change it
	ResponseMode llm.ResponseMode // of each request; a loop with a single mode ignores it
	// Step receives messages that the loop exposes during the run, such as the messages of
	// a step. A loop that exposes none does not call it. It is safe for concurrent use.
	Step func(messages []llm.Message)
	// Approve is the person that a loop asks before it runs a call. It waits for an answer, and approved is false
	// with an error. A call that is not approved must not run, and its result must not affect other calls. In [Check]
	// it approves each call. It is safe for concurrent use.
	Approve func(ctx context.Context, call llm.ToolCall) (approved bool, err error)
	// Choose returns one of the options: it is what a store, a lock or a middleware of the test does. It waits for this
	// as for an answer. In [Check] it returns the first option. With another one, a run of [Explore] may fail, have another
	// answer, leave calls unrun, or give them results with errors, and all else is checked. Options differ, and only the first one may be empty.
	// The names of calls that wait at the same time must differ. It is safe for concurrent use.
	Choose func(ctx context.Context, name string, options ...string) (option string, err error)
}

// Tool is a tool of the loop.
type Tool struct {
	Name        string
	Description string
	Parameters  json.RawMessage // the JSON Schema of the arguments, an object
	// Run takes the raw arguments and returns the text of the result. It is safe for
	// concurrent use, and it may panic.
	Run func(ctx context.Context, args string) (string, error)
}

// Result is the result of a run.
type Result struct {
	// Messages are the messages that the run added, in order.
	Messages []llm.Message
	Usage    *llm.Usage // of the run; nil if the loop does not count tokens
	// Pending contains the ids of the client-side calls.
	Pending []string
}

// Check runs all cases as subtests. The name of a subtest is the id of its invariant and the
// name of its case; to run it alone: go test -run 'TestName/INV-16/a_natural_end'. Check fails t
// for each violation and prints its likely cause.
//
// An exception, such as "INV-05=it summarizes its history", is an invariant that the loop may
// violate and the reason. The log of a case shows each violation that it accepts. Check fails t
// if an exception is invalid, or if no case needs it. No exception accepts that the loop does not call
// the model.
//
// If the loop does not recover the panic of a tool, the process ends: the case INV-23/panic
// is then the last one.
func Check(t *testing.T, loop Loop, exceptions ...string) {
	t.Helper()
	runSuite(t, cases(), loop, exceptions, newRealTime(t))
}

// Violations runs all cases, logs the violations and returns them in order, each invariant once
// per case. The Run of a violation is the name of its case. Violations does not fail t.
func Violations(t *testing.T, loop Loop) []check.Violation {
	t.Helper()
	return violations(t, cases(), loop, newRealTime(t))
}

func violations(t *testing.T, list []*testcase, loop Loop, limit *realTime) (found []check.Violation) {
	t.Helper()
	for i, c := range list {
		out := c.run(t, loop, limit)
		limit.after(&out)
		for _, v := range out.found {
			t.Log(v)
		}
		if out.skipped != "" {
			t.Logf("%s: skipped: %s", c.fullName(), out.skipped)
		}
		found = append(found, out.found...)
		if out.abandoned {
			t.Log(notRun(list[i:]))
			break
		}
	}
	return found
}

// runSuite runs the cases as subtests.
func runSuite(t *testing.T, list []*testcase, loop Loop, exceptions []string, limit *realTime) {
	t.Helper()
	accepted, needed, ran := parseExceptions(t, exceptions), map[string]bool{}, 0
	for i, c := range list {
		var out outcome
		t.Run(c.fullName(), func(t *testing.T) {
			ran++
			out = c.run(t, loop, limit)
			limit.after(&out)
			if out.skipped != "" {
				t.Skip(out.skipped)
			}
			for _, v := range out.found {
				if reason := accepted[v.Invariant]; reason != "" && !out.unused {
					needed[v.Invariant] = true
					t.Logf("%s\naccepted: %s", v, reason)
					continue
				}
				t.Errorf("%s\n%s", v, v.Hint)
			}
		})
		if out.abandoned {
			t.Error(notRun(list[i:]))
			return
		}
	}
	if ran == len(list) {
		checkNeeded(t, exceptions, needed)
	}
}

// checkNeeded fails t for each exception whose invariant is not in needed.
func checkNeeded[V any](t *testing.T, exceptions []string, needed map[string]V) {
	t.Helper()
	for _, e := range exceptions {
		id, _, _ := strings.Cut(e, "=")
		if _, is := needed[id]; !is {
			t.Errorf("the loop does not violate %s: remove the exception %q", id, e)
		}
	}
}

// parseExceptions returns the reasons by invariant.
func parseExceptions(t *testing.T, exceptions []string) map[string]string {
	t.Helper()
	accepted := map[string]string{}
	for _, e := range exceptions {
		id, reason, _ := strings.Cut(e, "=")
		known := slices.ContainsFunc(check.Catalog(), func(i check.Info) bool { return i.ID == id })
		if !known || reason == "" {
			t.Fatalf("looptest: exception %q: want an invariant and a reason, such as %q", e, "INV-05=it summarizes its history")
		}
		accepted[id] = reason
	}
	return accepted
}
