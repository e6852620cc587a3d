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

// testcase is a script for a loop and what to look at.
type testcase struct {
	id    string // of the invariant it is about; others are looked at too
	name  string
	input []llm.Message
	turns []fake.Response
	tools []Tool
	// act is what the tools do. Without it they echo.
	act func(ctx context.Context, w *world, name, args string) (string, error)
	// stall is the number of the model call, from 1, that never ends.
	stall    int
	when     cancelled
	delivery llm.ResponseMode
	fails    bool // the run may end with an error, and early
	refuses  bool // some of its calls cannot be run, or fail

	look func(w *world) // besides what is always looked at
	// times is how often the case is run; vary changes the later runs. If same
	// is an invariant, each must come to the same as the one before it.
	times int
	vary  func(c *testcase, prev *world)
	same  string
}

// cancelled is when a run is cancelled.
type cancelled int

const (
	never   cancelled = iota
	before            // before it starts
	blocked           // once all of its goroutines wait
	within            // by a tool
)

// object is the schema of every tool.
var object = json.RawMessage(`{"type":"object"}`)

// The tools: what they do is said by each case.
func named(names ...string) []Tool {
	var out []Tool
	for _, n := range names {
		out = append(out, Tool{Name: n, Description: "The tool " + n + "."})
	}
	return out
}

func user(text string) []llm.Message { return []llm.Message{llm.User(text)} }

// done is the last turn of most.
var done = fake.Response{Text: "done"}

// asks is a turn of calls, each "id name args".
func asks(specs ...string) fake.Response {
	var t fake.Response
	for _, s := range specs {
		p := strings.SplitN(s, " ", 3)
		t.Calls = append(t.Calls, fake.Call{ID: p[0], Name: p[1], Arguments: p[2]})
	}
	return t
}

// echo returns the tool's name and arguments, so that each result tells its
// call.
func echo(_ context.Context, _ *world, name, args string) (string, error) {
	return name + " got " + args, nil
}

// slowly is echo after so many seconds as the arguments say: {"s":3}.
func slowly(ctx context.Context, w *world, name, args string) (string, error) {
	var in struct{ S int }
	if err := json.Unmarshal([]byte(args), &in); err != nil {
		return "", err
	}
	time.Sleep(time.Duration(in.S) * time.Second) //nolint:forbidigo // virtual: it is a bubble's
	return echo(ctx, w, name, args)
}

// waits waits for the end of its context.
func waits(ctx context.Context, w *world, _, _ string) (string, error) { return "", w.wait(ctx) }

var errTool = errors.New("no connection")

// cases are all cases in the order of what they are about, but for the one that
// may end the process.
func cases() []*testcase {
	all := []*testcase{
		{id: "INV-01", name: "two calls", turns: []fake.Response{asks(`c1 a {"n":1}`, `c2 a {"n":2}`), done}, look: resultsTellCalls},
		{id: "INV-01", name: "refused calls", refuses: true, turns: []fake.Response{asks(`c1 a {"n":1}`, `c2 nowhere {}`, `c3 a {"n":3`), done}},
		{id: "INV-02", name: "three steps", turns: []fake.Response{asks(`c1 a {}`, `c2 b {}`), asks(`c3 a {"n":3}`), done}},
		{id: "INV-03", name: "the last is fastest", turns: []fake.Response{asks(`c1 a {"s":3}`, `c2 a {"s":2}`, `c3 a {"s":1}`), done}, act: slowly, look: resultsTellCalls},
		{id: "INV-04", name: "ids used again", turns: []fake.Response{asks(`c1 a {"n":1}`, `c1 a {"n":2}`), asks(`c1 a {"n":3}`), done}},
		{id: "INV-04", name: "ids left out", turns: []fake.Response{asks(` a {"n":1}`, ` a {"n":2}`), done}},
		{id: "INV-05", name: "a long history", input: []llm.Message{llm.User("hello"), llm.Assistant(llm.Text{Text: "what can I do"}), llm.User("go")},
			turns: []fake.Response{asks(`c1 a {"n":1}`), asks(`c2 a {"n":2}`), asks(`c3 a {"n":3}`), done}},
		{id: "INV-06", name: "handed out", turns: []fake.Response{asks(`c1 a {"n":1}`, `c2 b {"n":2}`), asks(`c3 a {"n":3}`), done},
			times: 2, vary: spoil, same: "INV-06"},
		{id: "INV-07", name: "cancel in a batch", turns: []fake.Response{manyCalls(), done}, when: within, act: cancelInFirst, fails: true},
		{id: "INV-08", name: "once each", refuses: true, turns: []fake.Response{asks(`c1 a {"n":1}`, `c2 a {"n":2}`, `c3 nowhere {"n":3}`), asks(`c4 a {"n":4}`), done}, look: onceEach},
		{id: "INV-09", name: "exact arguments", turns: []fake.Response{asks(`c1 a { "b" : 12345678901234567890, "a" : 1.0 }`, `c2 a {"x":"\u00e9<&>"}`), done}, look: exactArgs},
		{id: "INV-09", name: "cut arguments", refuses: true, turns: []fake.Response{asks(`c1 a {"path":"/`), done}, look: notRun},
		{id: "INV-11", name: "finish reasons", turns: []fake.Response{finish(asks(`c1 a {}`), llm.FinishStop), finish(asks(`c2 a {"n":2}`), llm.FinishToolCalls), finish(done, llm.FinishToolCalls)}},
		{id: "INV-12", name: "both deliveries", turns: []fake.Response{rich(), done}, times: 2, vary: buffered, same: "INV-12"},
		{id: "INV-16", name: "a tool that does not stop", turns: []fake.Response{asks(`c1 a {}`, `c2 b {}`), done}, when: within, act: deaf, fails: true},
		{id: "INV-16", name: "a natural end", turns: []fake.Response{asks(`c1 a {"s":1}`, `c2 b {"s":2}`), done}, act: slowly},
		{id: "INV-17", name: "no call starts", turns: []fake.Response{manyCalls(), done}, when: within, act: cancelInFirst, fails: true},
		{id: "INV-17", name: "cancel before the start", turns: []fake.Response{done}, when: before, fails: true},
		{id: "INV-18", name: "usage", turns: []fake.Response{counted(asks(`c1 a {}`)), counted(done)}, look: usageIsSum},
		{id: "INV-22", name: "private data", turns: []fake.Response{signed(), done}, look: echoed},
		{id: "INV-24", name: "an empty turn", turns: []fake.Response{{}}, times: 2, vary: goOn},
		{id: "INV-26", name: "a tool waits", turns: []fake.Response{asks(`c1 a {}`, `c2 b {}`), done}, when: blocked, act: waits, fails: true},
		{id: "INV-26", name: "the model waits", turns: []fake.Response{{Text: "It", OmitFinish: true}}, stall: 1, when: blocked, fails: true},
		{id: "INV-27", name: "a repeat", turns: []fake.Response{asks(` a {"s":1}`, ` b {"s":1}`, ` a {"s":2}`), asks(` a {"s":1}`, ` b {"s":0}`), done},
			act: slowly, times: 3, same: "INV-27"},
		{id: "INV-23", name: "errors", refuses: true, turns: []fake.Response{asks(`c1 a {}`, `c2 nowhere {}`, `c3 b {}`), done}, act: failing, look: contained},
		{id: "INV-23", name: "panic", refuses: true, turns: []fake.Response{asks(`c1 a {}`, `c2 b {}`), done}, act: panicking, look: contained},
	}
	for _, c := range all {
		c.tools = named("a", "b")
		if c.input == nil {
			c.input = user("go")
		}
		if c.act == nil {
			c.act = echo
		}
	}
	return all
}

func finish(t fake.Response, f llm.FinishReason) fake.Response {
	t.FinishReason = f
	return t
}

// manyCalls is a turn of more calls than loops run at once.
func manyCalls() fake.Response {
	return asks(`c1 a {}`, `c2 b {"n":2}`, `c3 b {"n":3}`, `c4 b {"n":4}`, `c5 b {"n":5}`, `c6 b {"n":6}`, `c7 b {"n":7}`, `c8 b {"n":8}`, `c9 b {"n":9}`)
}

// cancelInFirst cancels in the tool a, once all that can run does; b waits for
// the cancel. A call that starts later is reported.
func cancelInFirst(ctx context.Context, w *world, name, _ string) (string, error) {
	if w.ctx.Err() != nil {
		w.report("INV-17", "the tool %s starts although the run was cancelled", name)
		return "", context.Cause(w.ctx)
	}
	if name == "a" {
		synctest.Wait()
		w.cancel()
		return "cancelled", nil
	}
	return "", w.wait(ctx)
}

// deaf cancels in the tool a; b goes on for an hour, whatever its context says.
func deaf(_ context.Context, w *world, name, _ string) (string, error) {
	if name == "a" {
		synctest.Wait()
		w.cancel()
	}
	time.Sleep(time.Hour) //nolint:forbidigo // virtual: it is a bubble's
	return "late", nil
}

func failing(_ context.Context, _ *world, name, args string) (string, error) {
	if name == "a" {
		return "", errTool
	}
	return "b got " + args, nil
}

func panicking(ctx context.Context, w *world, name, args string) (string, error) {
	if name == "a" {
		panic("boom")
	}
	return echo(ctx, w, name, args)
}

// rich is a turn of all that a delivery may change.
func rich() fake.Response {
	t := counted(asks(`c1 a {"city":"Zürich"}`, `c2 b {}`))
	t.Reasoning, t.Text, t.ChunkSize = "first look, then answer", "Let me see.", 3
	t.Calls[0].OmitEnd = true
	return t
}

func counted(t fake.Response) fake.Response {
	t.Usage = llm.Usage{InputTokens: 10, OutputTokens: 5, CacheReadInputTokens: 4, CacheCreationInputTokens: 3, ReasoningOutputTokens: 2}
	return t
}

var secret = json.RawMessage(`{"signature":"c2lnbmVk","n":1.0}`)

// signed is a turn with data that is private to the provider.
func signed() fake.Response {
	t := asks(`c1 a {}`)
	t.Reasoning, t.ReasoningOpaque = "I should look.", secret
	t.Calls[0].Opaque = json.RawMessage(`{"item":"fc_1"}`)
	return t
}

func buffered(c *testcase, _ *world) { c.delivery = llm.NonStreaming }

// goOn makes the next run go on from what came of the one before it.
func goOn(c *testcase, prev *world) {
	c.input = slices.Concat(c.input, prev.out.Messages, user("and?"))
	c.turns = []fake.Response{done}
}

// spoil changes all that the run before it was given and gave away, which must
// not show in the next one.
func spoil(_ *testcase, prev *world) {
	lists := [][]llm.Message{prev.given, prev.out.Messages}
	for _, h := range prev.steps {
		lists = append(lists, h.messages)
	}
	for _, r := range prev.model.RecordedRequests() {
		lists = append(lists, r.Original.Messages)
	}
	for _, list := range lists {
		for i, m := range list {
			for j := range m.Parts {
				m.Parts[j] = llm.Text{Text: "spoilt"}
			}
			list[i] = llm.User("spoilt")
		}
	}
}
