package looptest

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing/synctest"
	"time"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
)

// testcase is a script for a loop with its checks.
type testcase struct {
	id        string // of its invariant; the case checks the others too
	name      string
	input     []llm.Message
	responses []fake.Response
	tools     []Tool
	// act is the behavior of the tools; nil means echo.
	act func(ctx context.Context, w *caseRun, name, args string) (string, error)
	// stall is the number of the model call, from 1, that never ends.
	stall          int
	when           cancelTime
	mode           llm.ResponseMode
	http           bool // the loop calls an HTTP server
	fails          bool // the run may end with an error, and early
	hasFailedCalls bool // some calls are invalid or fail

	check func(w *caseRun) // in addition to the checks of all cases
	// times is the number of runs; vary changes the later runs. If same is an invariant,
	// each run must have the same result as the one before it.
	times int
	vary  func(c *testcase, prev *caseRun)
	same  string
}

// fullName returns the name of the case's subtest.
func (c *testcase) fullName() string { return c.id + "/" + c.name }

type cancelTime int

const (
	never   cancelTime = iota
	before             // before the run starts
	blocked            // once all goroutines of the run wait
	within             // by a tool
)

var object = json.RawMessage(`{"type":"object","properties":{}}`)

func user(text string) []llm.Message { return []llm.Message{llm.User(text)} }

var done = fake.Response{Text: "done"}

// calls returns a response with calls, each "id name arguments".
func calls(specs ...string) fake.Response {
	var t fake.Response
	for _, s := range specs {
		p := strings.SplitN(s, " ", 3)
		t.Calls = append(t.Calls, fake.Call{ID: p[0], Name: p[1], Arguments: p[2]})
	}
	return t
}

// saying returns a response with a text before its calls.
func saying(text string, r fake.Response) fake.Response {
	r.Text = text
	return r
}

// script returns the responses and the last one of most cases.
func script(responses ...fake.Response) []fake.Response { return append(responses, done) }

// echo returns the name and the arguments of the tool, which identify the call.
func echo(_ context.Context, _ *caseRun, name, args string) (string, error) {
	return name + " got " + args, nil
}

// slowEcho is echo after the number of seconds in the arguments: {"s":3}.
func slowEcho(ctx context.Context, w *caseRun, name, args string) (string, error) {
	var in struct{ S int }
	if err := json.Unmarshal([]byte(args), &in); err != nil {
		return "", err
	}
	time.Sleep(time.Duration(in.S) * time.Second) //nolint:forbidigo // virtual: it is a bubble's
	return echo(ctx, w, name, args)
}

func waitForCancel(ctx context.Context, w *caseRun, _, _ string) (string, error) {
	return "", w.wait(ctx)
}

var errTool = errors.New("no connection")

// cases returns all cases by invariant. The case that may end the process is the last one.
func cases() []*testcase {
	all := []*testcase{
		{id: "INV-01", name: "two calls", responses: script(calls(`c1 a {"n":1}`, `c2 a {"n":2}`)), check: resultsMatchCalls},
		{id: "INV-01", name: "rejected calls", hasFailedCalls: true, responses: script(calls(`c1 a {"n":1}`, `c2 nowhere {}`, `c3 a {"n":3`))},
		{id: "INV-02", name: "three steps", responses: script(calls(`c1 a {}`, `c2 b {}`), calls(`c3 a {"n":3}`))},
		{id: "INV-03", name: "the last is fastest", responses: script(calls(`c1 a {"s":3}`, `c2 a {"s":2}`, `c3 a {"s":1}`)), act: slowEcho, check: resultsMatchCalls},
		{id: "INV-04", name: "duplicate ids", responses: script(calls(`c1 a {"n":1}`, `c1 a {"n":2}`), calls(`c1 a {"n":3}`))},
		{id: "INV-04", name: "missing ids", responses: script(calls(` a {"n":1}`, ` a {"n":2}`))},
		{id: "INV-05", name: "a long history", input: []llm.Message{llm.User("hello"), llm.Assistant(llm.Text{Text: "what can I do"}), llm.User("go")},
			responses: script(calls(`c1 a {"n":1}`), saying("I try 2.", calls(`c2 a {"n":2}`)), calls(`c3 a {"n":3}`)), check: textKept},
		{id: "INV-06", name: "exposed messages", responses: script(calls(`c1 a {"n":1}`, `c2 b {"n":2}`), calls(`c3 a {"n":3}`)),
			times: 2, vary: overwrite, same: "INV-06"},
		{id: "INV-07", name: "cancel during tools", responses: script(manyCalls()), when: within, act: cancelInFirst, fails: true},
		{id: "INV-08", name: "once per call", hasFailedCalls: true, responses: script(calls(`c1 a {"n":1}`, `c2 a {"n":2}`, `c3 nowhere {"n":3}`), calls(`c4 a {"n":4}`)), check: onceEach},
		{id: "INV-09", name: "exact arguments", responses: script(calls(`c1 a { "b" : 12345678901234567890, "a" : 1.0 }`, `c2 a {"x":"\u00e9<&>"}`)), check: exactArguments},
		{id: "INV-09", name: "truncated arguments", hasFailedCalls: true, responses: script(calls(`c1 a {"path":"/`)), check: noneRun},
		{id: "INV-11", name: "finish reasons", responses: wrongReasons()},
		{id: "INV-12", name: "both response modes", responses: script(rich()), times: 2, vary: func(c *testcase, _ *caseRun) { c.mode = llm.NonStreaming }, same: "INV-12"},
		{id: "INV-16", name: "a tool that ignores cancel", responses: script(calls(`c1 a {}`, `c2 b {}`)), when: within, act: ignoreCancel, fails: true},
		{id: "INV-16", name: "a natural end", responses: script(calls(`c1 a {"s":1}`, `c2 b {"s":2}`)), act: slowEcho},
		{id: "INV-17", name: "no call starts after cancel", responses: script(manyCalls()), when: within, act: cancelInFirst, fails: true},
		{id: "INV-17", name: "cancel before the start", responses: script(), when: before, fails: true},
		{id: "INV-18", name: "usage", responses: []fake.Response{withUsage(calls(`c1 a {}`)), withUsage(done)}, check: usageIsSum},
		{id: "INV-22", name: "opaque data", responses: script(opaqueResponse()), check: opaqueEchoed},
		{id: "INV-24", name: "an empty response", responses: []fake.Response{{}}, times: 2, vary: continueRun},
		{id: "INV-26", name: "a tool waits", responses: script(calls(`c1 a {}`, `c2 b {}`)), when: blocked, act: waitForCancel, fails: true},
		{id: "INV-26", name: "the model waits", responses: []fake.Response{{Text: "It", OmitFinish: true}}, stall: 1, when: blocked, fails: true},
		{id: "INV-27", name: "a repeat", responses: script(calls(` a {"s":1}`, ` b {"s":1}`, ` a {"s":2}`), calls(` a {"s":1}`, ` b {"s":0}`)),
			act: slowEcho, times: 3, same: "INV-27"},
		{id: "INV-23", name: "errors", hasFailedCalls: true, responses: script(calls(`c1 a {}`, `c2 nowhere {}`, `c3 b {}`)), act: failing, check: contained},
		{id: "INV-23", name: "panic", hasFailedCalls: true, responses: script(calls(`c1 a {}`, `c2 b {}`)), act: panicking, check: contained},
	}
	for _, c := range all {
		c.tools = []Tool{{Name: "a", Description: "The tool a."}, {Name: "b", Description: "The tool b."}}
		if c.input == nil {
			c.input = user("go")
		}
		if c.act == nil {
			c.act = echo
		}
	}
	return all
}

// manyCalls returns a response with more calls than loops run concurrently.
func manyCalls() fake.Response {
	return calls(`c1 a {}`, `c2 b {"n":2}`, `c3 b {"n":3}`, `c4 b {"n":4}`, `c5 b {"n":5}`, `c6 b {"n":6}`, `c7 b {"n":7}`, `c8 b {"n":8}`, `c9 b {"n":9}`)
}

// cancelInFirst cancels in the tool a, once all other calls wait; b waits for the
// cancellation. It reports calls that start later.
func cancelInFirst(ctx context.Context, w *caseRun, name, _ string) (string, error) {
	if w.ctx.Err() != nil {
		w.report("INV-17", "the tool %s starts after the run was canceled", name)
		return "", context.Cause(w.ctx)
	}
	if name == "a" {
		synctest.Wait()
		w.cancel()
		return "canceled", nil
	}
	return "", w.wait(ctx)
}

// ignoreCancel cancels in the tool a; b continues for an hour and ignores its context.
func ignoreCancel(_ context.Context, w *caseRun, name, _ string) (string, error) {
	if name == "a" {
		synctest.Wait()
		w.cancel()
	}
	time.Sleep(time.Hour) //nolint:forbidigo // virtual: it is a bubble's
	return "late", nil
}

func failing(_ context.Context, _ *caseRun, name, args string) (string, error) {
	if name == "a" {
		return "", errTool
	}
	return "b got " + args, nil
}

func panicking(ctx context.Context, w *caseRun, name, args string) (string, error) {
	if name == "a" {
		panic("boom")
	}
	return echo(ctx, w, name, args)
}

// rich returns a response with everything that differs between response modes.
func rich() fake.Response {
	t := withUsage(calls(`c1 a {"city":"Zürich"}`, `c2 b {}`))
	t.Reasoning, t.Text, t.ChunkSize = "first look, then answer", "Let me see.", 3
	t.Calls[0].OmitEnd = true
	return t
}

// wrongReasons returns responses with finish reasons that do not follow from their calls.
func wrongReasons() []fake.Response {
	list := script(calls(`c1 a {}`), calls(`c2 a {"n":2}`))
	for i, reason := range []llm.FinishReason{llm.FinishStop, llm.FinishToolCalls, llm.FinishToolCalls} {
		list[i].FinishReason = reason
	}
	return list
}

func withUsage(t fake.Response) fake.Response {
	t.Usage = llm.Usage{InputTokens: 10, OutputTokens: 5, CacheReadInputTokens: 4, CacheCreationInputTokens: 3, ReasoningOutputTokens: 2}
	return t
}

var secret = json.RawMessage(`{"signature":"c2lnbmVk","n":1.0}`)

// opaqueResponse returns a response with opaque provider data.
func opaqueResponse() fake.Response {
	t := calls(`c1 a {}`)
	t.Reasoning, t.ReasoningOpaque = "I should look.", secret
	t.Calls[0].Opaque = json.RawMessage(`{"item":"fc_1"}`)
	return t
}

// continueRun makes a run continue the one before it.
func continueRun(c *testcase, prev *caseRun) {
	c.input = slices.Concat(c.input, prev.result.Messages, user("and?"))
	c.responses = []fake.Response{done}
}

// overwrite changes all messages that the previous run received and exposed. The next run
// must not see it.
func overwrite(_ *testcase, prev *caseRun) {
	lists := [][]llm.Message{prev.input, prev.result.Messages}
	for _, h := range prev.steps {
		lists = append(lists, h.messages)
	}
	for _, r := range prev.model.RecordedRequests() {
		lists = append(lists, r.Original.Messages)
	}
	for _, list := range lists {
		for i, m := range list {
			for j := range m.Parts {
				m.Parts[j] = llm.Text{Text: "overwritten"}
			}
			list[i] = llm.User("overwritten")
		}
	}
}
