package agentloop_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/explore"
	"github.com/looptape/looptape/loop/middleware"
	"github.com/looptape/looptape/loop/preset/agentloop"
	"github.com/looptape/looptape/trace"
	"github.com/looptape/looptape/trace/check"
)

// twoProcesses is a program in which an agent with two calls that need an approval is suspended, and continues from its last
// snapshot in another process.
type twoProcesses struct {
	script *fake.Script
	world  *fake.World
}

func newTwoProcesses() *twoProcesses {
	s := &fake.Script{
		Models: []fake.ModelScript{{Name: "main", Responses: []fake.Response{
			{Calls: []fake.Call{{ID: "c1", Name: "t", Arguments: "{}"}, {ID: "c2", Name: "t", Arguments: "{}"}}}, {Text: "done"},
		}}},
		Tools: []fake.Tool{{Name: "t", Behavior: fake.Behavior{Text: "fine"}}},
	}
	return &twoProcesses{s, fake.NewWorld(s)}
}

func (p *twoProcesses) Close() { p.world.Close() }

// exploredSnapshot is the runs of both processes. A save of a snapshot fails, or the process ends at it.
type exploredSnapshot struct {
	*twoProcesses
	c     *explore.Choices
	clock *fake.Clock

	faulty, acted, ended bool
	saves, process       int
	saved                []byte
	entered              []string
	events               [][]trace.Event // by process
	violations           []check.Violation
	text                 bytes.Buffer
}

var errNotSaved = errors.New("no connection to the store")

// save stores a snapshot.
func (x *exploredSnapshot) save(_ context.Context, _ string, s agentloop.Snapshot) error {
	if x.saves++; x.ended {
		return errNotSaved
	}
	action := ""
	if x.faulty && !x.acted {
		options := []string{"", "fails", "fails although it has saved", "ends the process before it saves", "ends the process after it has saved"}
		action = options[x.c.Order("store", "save "+strconv.Itoa(x.saves), options)]
	}
	x.acted = x.acted || action != ""
	if action == "" || strings.Contains(action, "has saved") {
		saved, err := json.Marshal(s)
		if err != nil {
			return err
		}
		x.saved = saved
	}
	if strings.HasPrefix(action, "ends the process") {
		x.ended = true
		x.world.End(context.Canceled)
	}
	if action != "" {
		return errNotSaved
	}
	return nil
}

func (x *exploredSnapshot) report(invariant, format string, args ...any) {
	x.violations = append(x.violations, check.Violation{Invariant: invariant, Event: check.NoEvent, Message: fmt.Sprintf(format, args...)}.WithHint())
}

// config returns the configuration of a process. The first one defers each decision.
func (x *exploredSnapshot) config() *agentloop.Config {
	x.process++
	process := x.process
	x.ended, x.events = false, append(x.events, nil)
	cfg := &agentloop.Config{
		Model: "main", Clock: x.clock, Checkpoint: x.save,
		Policy: middleware.PermissionPolicy(func(context.Context, middleware.PermissionRequest) (middleware.Permission, error) {
			return middleware.Permission{Allow: true, Ask: true}, nil
		}),
		Approve: func(context.Context, middleware.ApprovalRequest) (middleware.Approval, error) {
			if process == 1 {
				return middleware.Approval{Decision: middleware.Suspend}, nil
			}
			return middleware.Approval{Decision: middleware.Approve}, nil
		},
		NewID: func() string { return "run " + strconv.Itoa(process) },
		Sink: trace.SinkFunc(func(ev trace.Event) error {
			x.events[process-1] = append(x.events[process-1], ev)
			return nil
		}),
	}
	for _, t := range x.script.Tools {
		cfg.Tools = append(cfg.Tools, loop.Tool{Name: t.Name, Run: func(ctx context.Context, c loop.Call) (loop.Output, error) {
			x.entered = append(x.entered, c.ID)
			parts, err := x.world.Run(ctx, c.ID, c.Name, c.Arguments)
			return loop.Output{Content: parts}, err
		}})
	}
	return cfg
}

// complete makes a run, and checks the history of the agent after it.
func (x *exploredSnapshot) complete(ctx context.Context, l *agentloop.Loop, text string) {
	res, err := l.Complete(ctx, agentloop.Input{Text: text}, nil)
	if err != nil {
		x.report("INV-26", "process %d: the run could not begin: %v", x.process, err)
		return
	}
	messages := l.History().Messages()
	fmt.Fprintf(&x.text, "process %d: %s, %d messages, %d pending, tools %v\n", x.process, res.Reason, len(messages), len(l.Pending()), x.entered)
	for _, v := range check.Messages("", messages) {
		if v.Invariant != "INV-07" { // calls are pending
			x.report(v.Invariant, "process %d: the history: %s", x.process, v.Message)
		}
	}
}

// next continues with the last snapshot, or begins again if nothing was saved.
func (x *exploredSnapshot) next(ctx context.Context) {
	cfg := x.config()
	if x.saved == nil {
		l, err := agentloop.New(ctx, x.world, cfg)
		if err != nil {
			panic(err)
		}
		x.complete(ctx, l, "go")
		return
	}
	var s agentloop.Snapshot
	if err := json.Unmarshal(x.saved, &s); err != nil {
		panic(err)
	}
	l, err := agentloop.Restore(ctx, x.world, s, cfg)
	if err != nil {
		x.report("INV-05", "the snapshot cannot be restored: %v", err)
		return
	}
	before := l.History().Messages()
	x.complete(ctx, l, "and then")
	if after := l.History().Messages(); len(after) < len(before) || !slices.EqualFunc(before, after[:len(before)], sameMessage) {
		x.report("INV-05", "the history does not begin with that of the snapshot")
	}
}

func sameMessage(a, b llm.Message) bool { return bytes.Equal(a.AppendJSON(nil), b.AppendJSON(nil)) }

func (p *twoProcesses) Run(c *explore.Choices) explore.Outcome {
	ctx, clock := p.world.Begin(c)
	x := &exploredSnapshot{twoProcesses: p, c: c, clock: clock}
	x.faulty = c.Fault("store", "", []string{"", "has a fault"}) == 1
	if v := p.world.Go(func() {
		l, err := agentloop.New(ctx, p.world, x.config())
		if err != nil {
			panic(err)
		}
		x.complete(ctx, l, "go")
		x.next(p.world.Renew())
		if err := clock.Drain(); err != nil {
			x.report("INV-16", "goroutines do not end: %v", err)
		}
	}); v != nil {
		x.report("INV-26", "the runs do not end: %v", v)
	}
	h := fnv.New64a()
	for _, events := range x.events {
		checker := check.New(nil)
		for _, ev := range events {
			checker.Add(ev)
			_, _ = h.Write(ev.AppendJSON(nil)) // a hash takes all
		}
		for _, v := range checker.Done() {
			if !v.Note {
				x.violations = append(x.violations, v)
			}
		}
	}
	for i, id := range x.entered {
		if slices.Contains(x.entered[:i], id) {
			x.report("INV-08", "the tool of the call %q was entered twice", id)
		}
	}
	return explore.Outcome{Digest: h.Sum64(), Violations: x.violations, Text: x.text.String}
}

// TestExploreSnapshot explores an agent that continues from its last snapshot in another process, with each fault of the store
// of snapshots, of the models and of the tools, and with a cancel at each moment.
func TestExploreSnapshot(t *testing.T) {
	r := explore.Exhaust(func() explore.Program { return newTwoProcesses() }, explore.Bounds{Faults: 1})
	for _, f := range r.Failures {
		t.Error(f)
	}
	if len(r.Unstable) > 0 || !r.Complete || r.Runs < 300 {
		t.Errorf("%s, unstable %q; want all runs", r.Summary(), r.Unstable)
	}
	p := newTwoProcesses()
	defer p.Close()
	for choice, want := range map[string]string{ // the end of the first run, and the messages of the second
		"":                                    "stopped, 2 messages, 2 pending; 5",
		"save 1: fails":                       "error, 2 messages, 1 pending; 4", // begins again
		"save 1: fails although it has saved": "error, 2 messages, 1 pending; 5",
		"save 2: fails":                       "error, 2 messages, 2 pending; 5",
		"save 2: fails although it has saved": "error, 2 messages, 2 pending; 5",
		"save 1: ends the process before it saves":    "error, 2 messages, 1 pending; 4",
		"save 1: ends the process after it has saved": "error, 2 messages, 1 pending; 5",
		"save 2: ends the process before it saves":    "error, 2 messages, 2 pending; 5",
		"save 2: ends the process after it has saved": "error, 2 messages, 2 pending; 5",
	} {
		first, messages, _ := strings.Cut(want, "; ")
		want = fmt.Sprintf("process 1: %s, tools []\nprocess 2: done, %s messages, 0 pending, tools [c1 c2]\n", first, messages)
		list := []explore.Choice{{At: "store", Option: "has a fault"}}
		if choice != "" {
			c, err := explore.ParseChoice("store " + choice)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, c)
		}
		o, unused := explore.Replay(p, list)
		if text := o.Text(); text != want || len(unused) > 0 {
			t.Errorf("%s: unused %v, got\n%swant\n%s", choice, unused, text, want)
		}
	}
}
