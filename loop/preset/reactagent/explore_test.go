package reactagent_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"iter"
	"slices"
	"strconv"
	"testing"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/explore"
	"github.com/looptape/looptape/loop/preset/reactagent"
	"github.com/looptape/looptape/loop/store"
	"github.com/looptape/looptape/trace/check"
)

// exploredThread is two runs of one thread. A load or a save of its store fails, or the process ends at a save.
type exploredThread struct {
	store.Memory
	world *fake.World
	c     *explore.Choices

	use          bool // a fault of the store
	acted, ended bool
	loads, saves int
	requests     [][]llm.Message
	violations   []check.Violation
	text         bytes.Buffer
}

var errNoStore = errors.New("no connection to the store")

func (x *exploredThread) act(at string, n *int, options ...string) string {
	*n++
	if !x.use || x.acted {
		return ""
	}
	o := options[x.c.Order("store", at+" "+strconv.Itoa(*n), options)]
	x.acted = o != ""
	return o
}

func (x *exploredThread) Load(ctx context.Context, key string) ([]byte, int64, error) {
	if x.act("load", &x.loads, "", "fails") != "" {
		return nil, 0, errNoStore
	}
	return x.Memory.Load(ctx, key)
}

func (x *exploredThread) Save(ctx context.Context, key string, value []byte, version int64) (int64, error) {
	action := x.act("save", &x.saves, "", "fails", "fails although it has saved", "ends the process before it saves", "ends the process after it has saved")
	switch {
	case x.ended || action == "fails":
		return 0, errNoStore
	case action == "ends the process before it saves":
		return 0, x.endProcess()
	}
	saved, err := x.Memory.Save(ctx, key, value, version)
	switch action {
	case "fails although it has saved":
		return 0, errNoStore
	case "ends the process after it has saved":
		return 0, x.endProcess()
	}
	return saved, err
}

func (x *exploredThread) endProcess() error {
	x.ended = true
	x.world.End(context.Canceled)
	return errNoStore
}

// Stream records the request.
func (x *exploredThread) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	x.requests = append(x.requests, slices.Clone(req.Messages))
	return x.world.Stream(ctx, req)
}

func (x *exploredThread) report(invariant, format string, args ...any) {
	x.violations = append(x.violations, check.Violation{Invariant: invariant, Event: check.NoEvent, Message: fmt.Sprintf(format, args...)}.WithHint())
}

// stored returns the thread without a fault.
func (x *exploredThread) stored() []llm.Message {
	list, err := (&reactagent.Memory{Store: &x.Memory}).Load(context.Background(), "thread")
	if err != nil {
		x.report("INV-05", "the thread cannot be loaded: %v", err)
	}
	return list
}

// run makes a run in a new agent, as another process does, and compares the thread before and after it.
func (x *exploredThread) run(ctx context.Context, clock *fake.Clock, script *fake.Script, prompt string) {
	cfg := reactagent.Config{Config: loop.Config{Clock: clock, Concurrency: -1}, Memory: &reactagent.Memory{Store: x}}
	for _, t := range script.Tools {
		cfg.Tools = append(cfg.Tools, loop.Tool{Name: t.Name, Run: func(ctx context.Context, c loop.Call) (loop.Output, error) {
			parts, err := x.world.Run(ctx, c.ID, c.Name, c.Arguments)
			return loop.Output{Content: parts}, err
		}})
	}
	agent, err := reactagent.New(x, &cfg)
	if err != nil {
		panic(err)
	}
	x.ended = false
	before, first, acted := x.stored(), len(x.requests), x.acted
	ok := agent.Run(ctx, []llm.Message{llm.User(prompt)}, "thread", nil)
	after, faulty := x.stored(), x.acted && !acted
	fmt.Fprintf(&x.text, "%s: %v, %d messages before, %d after\n", prompt, ok, len(before), len(after))
	changed := len(after) != len(before)
	input := slices.Concat(before, []llm.Message{llm.User(prompt)})
	switch {
	case ok && (faulty || !changed):
		x.report("INV-05", "%s: the run succeeds, and its messages are not stored", prompt)
	case !ok && changed && !faulty:
		x.report("INV-05", "%s: the run fails, and its messages are stored", prompt)
	case changed && (len(after) < len(input) || !equalMessages(after[:len(input)], input)):
		x.report("INV-05", "%s: the thread does not continue the one before", prompt)
	case !changed && !equalMessages(after, before):
		x.report("INV-05", "%s: the thread has changed", prompt)
	}
	for _, v := range check.Messages("", append(slices.Clone(after), llm.User("end"))) {
		x.report(v.Invariant, "%s: the thread: %s", prompt, v.Message)
	}
	if len(x.requests) > first && !equalMessages(x.requests[first], input) {
		x.report("INV-05", "%s: the first request is not the thread and the input", prompt)
	}
}

func equalMessages(a, b []llm.Message) bool {
	return slices.EqualFunc(a, b, func(m, n llm.Message) bool { return bytes.Equal(m.AppendJSON(nil), n.AppendJSON(nil)) })
}

// threadScript is two turns: one with two calls, and one without.
func threadScript() *fake.Script {
	return &fake.Script{
		Models: []fake.ModelScript{{Name: "main", Responses: []fake.Response{
			{Calls: []fake.Call{{ID: "c1", Name: "t", Arguments: "{}"}, {ID: "c2", Name: "t", Arguments: "{}"}}}, {Text: "one"}, {Text: "two"},
		}}},
		Tools: []fake.Tool{{Name: "t", Behavior: fake.Behavior{Text: "fine"}}},
	}
}

// twoRuns is a program with two runs of a thread.
type twoRuns struct {
	script *fake.Script
	world  *fake.World
}

func newTwoRuns() *twoRuns {
	s := threadScript()
	return &twoRuns{s, fake.NewWorld(s)}
}

func (p *twoRuns) Close() { p.world.Close() }

func (p *twoRuns) Run(c *explore.Choices) explore.Outcome {
	ctx, clock := p.world.Begin(c)
	x := &exploredThread{world: p.world, c: c}
	x.use = c.Fault("store", "", []string{"", "has a fault"}) == 1
	if v := p.world.Go(func() {
		x.run(ctx, clock, p.script, "first")
		x.run(p.world.Renew(), clock, p.script, "second")
		if err := clock.Drain(); err != nil {
			x.report("INV-16", "goroutines do not end: %v", err)
		}
	}); v != nil {
		x.report("INV-26", "the runs do not end: %v", v)
	}
	h := fnv.New64a()
	_, _ = h.Write(x.text.Bytes()) // a hash takes all
	return explore.Outcome{Digest: h.Sum64(), Violations: x.violations, Text: x.text.String}
}

// TestExploreThread explores two runs of a thread, with each fault of its store, of the models and of the tools, and with a cancel at
// each moment: the thread has the messages of the runs that succeeded, and the next run continues them.
func TestExploreThread(t *testing.T) {
	r := explore.Exhaust(func() explore.Program { return newTwoRuns() }, explore.Bounds{Faults: 1})
	for _, f := range r.Failures {
		t.Error(f)
	}
	if len(r.Unstable) > 0 || !r.Complete || r.Runs < 300 {
		t.Errorf("%s, unstable %q; want all runs", r.Summary(), r.Unstable)
	}
	p := newTwoRuns()
	defer p.Close()
	for choice, want := range map[string]string{
		"load 1: fails":                               "first: false, 0 messages before, 0 after\nsecond: true, 0 messages before, ",
		"load 2: fails":                               "first: true, 0 messages before, 5 after\nsecond: false, 5 messages before, 5 after\n",
		"save 1: fails":                               "first: false, 0 messages before, 0 after\nsecond: true, 0 messages before, ",
		"save 1: fails although it has saved":         "first: false, 0 messages before, 5 after\nsecond: true, 5 messages before, 7 after\n",
		"save 1: ends the process before it saves":    "first: false, 0 messages before, 0 after\nsecond: true, 0 messages before, ",
		"save 1: ends the process after it has saved": "first: false, 0 messages before, 5 after\nsecond: true, 5 messages before, 7 after\n",
		"save 2: ends the process before it saves":    "second: false, 5 messages before, 5 after\n",
	} {
		c, err := explore.ParseChoice("store " + choice)
		if err != nil {
			t.Fatal(err)
		}
		o, unused := explore.Replay(p, []explore.Choice{{At: "store", Option: "has a fault"}, c})
		if text := o.Text(); !bytes.Contains([]byte(text), []byte(want)) || len(unused) > 0 {
			t.Errorf("%s: unused %v, got\n%swant\n%s", choice, unused, text, want)
		}
	}
}
