package reactagent_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/preset/reactagent"
	"github.com/looptape/looptape/trace"
	"github.com/looptape/looptape/trace/check"
)

// TestMain checks that no goroutine outlives the tests.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// tool returns a tool that returns its name.
func tool(name string) loop.Tool {
	return loop.Tool{Name: name, Run: func(context.Context, loop.Call) (loop.Output, error) { return loop.TextOutput(name), nil }}
}

func text(s string) fake.Response { return fake.Response{Text: s} }

// calling returns a response with calls, each a name and its arguments.
func calling(namesAndArgs ...string) fake.Response {
	var t fake.Response
	for i := 0; i < len(namesAndArgs); i += 2 {
		t.Calls = append(t.Calls, fake.Call{Name: namesAndArgs[i], Arguments: namesAndArgs[i+1]})
	}
	return t
}

// bench contains the parts that a test needs to create agents, and the records of their
// runs.
type bench struct {
	t     *testing.T
	model *fake.Model
	mu    sync.Mutex
	all   []trace.Event
}

func newBench(t *testing.T, turns ...fake.Response) *bench {
	return &bench{t: t, model: fake.NewModel(turns...)}
}

// Write implements a sink for several runs.
func (b *bench) Write(ev trace.Event) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all = append(b.all, ev)
	return nil
}

func (b *bench) agent(cfg reactagent.Config) *reactagent.Agent {
	b.t.Helper()
	b.in(&cfg.Config)
	a, err := reactagent.New(b.model, &cfg)
	return b.made(a, err)
}

func (b *bench) deep(cfg reactagent.DeepConfig) *reactagent.Agent {
	b.t.Helper()
	b.in(&cfg.Config.Config)
	a, err := reactagent.NewDeep(b.model, &cfg)
	return b.made(a, err)
}

// in sets the sink, and a virtual clock unless the test sets one.
func (b *bench) in(cfg *loop.Config) {
	cfg.Sink = b
	if cfg.Clock == nil {
		cfg.Clock = fake.NewClock()
	}
}

// made checks the runs of the agent against the invariants at the end of the test.
func (b *bench) made(a *reactagent.Agent, err error) *reactagent.Agent {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() {
		c := check.New(nil)
		for _, ev := range b.all {
			c.Add(ev)
		}
		for _, v := range c.Done() {
			b.t.Errorf("%s: event %d: %s", v.Invariant, v.Event, v.Message)
		}
		if changed := b.model.MutatedRequests(); changed != nil {
			b.t.Errorf("requests changed: %q", changed)
		}
	})
	return a
}

// run runs an agent on one message and returns its events as lines of JSON.
func (b *bench) run(a *reactagent.Agent, thread, message string) (ok bool, events []string) {
	b.t.Helper()
	ok = a.Run(b.t.Context(), []llm.Message{llm.User(message)}, thread, func(e reactagent.Event) {
		line, err := json.Marshal(e)
		if err != nil {
			b.t.Error(err)
		}
		events = append(events, string(line))
	})
	return ok, events
}

// asked returns the messages of request n in short form.
func (b *bench) asked(n int) []string {
	b.t.Helper()
	requests := b.model.RecordedRequests()
	if n >= len(requests) {
		b.t.Fatalf("there are %d requests", len(requests))
	}
	return short(requests[n].Request.Messages)
}

// offered returns the names of the tools of request n.
func (b *bench) offered(n int) []string {
	var names []string
	for _, t := range b.model.RecordedRequests()[n].Request.Tools {
		names = append(names, t.Name)
	}
	return names
}

// short returns the role and the text of each message.
func short(list []llm.Message) []string {
	var out []string
	for _, m := range list {
		s := string(m.Role) + ": " + m.Text()
		for _, p := range m.Parts {
			switch p := p.(type) {
			case llm.ToolCall:
				s += p.Name
			case llm.ToolResult:
				s += p.Text()
			default:
			}
		}
		out = append(out, s)
	}
	return out
}

// of returns the bodies of one type.
func of[B trace.Body](events []trace.Event) []B {
	var out []B
	for _, ev := range events {
		if b, ok := ev.Body.(B); ok {
			out = append(out, b)
		}
	}
	return out
}

// broken is a Memory with one operation that fails.
type broken struct {
	reactagent.Memory
	load, save, panics bool
}

// memory returns the Memory with the failing operation.
func (b *broken) memory() *reactagent.Memory {
	return &reactagent.Memory{LoadFunc: b.Load, SaveFunc: b.Save}
}

func (b *broken) fail() error {
	if b.panics {
		panic("disk gone")
	}
	return errBroken
}

var errBroken = errors.New("disk on fire")

func (b *broken) Load(ctx context.Context, thread string) ([]llm.Message, error) {
	if b.load {
		return nil, b.fail()
	}
	return b.Memory.Load(ctx, thread)
}

func (b *broken) Save(ctx context.Context, thread string, messages []llm.Message) error {
	if b.save {
		return b.fail()
	}
	return b.Memory.Save(ctx, thread, messages)
}
