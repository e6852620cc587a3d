package reactagent_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/internal/bubble"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/preset/reactagent"
)

// sessionsModel is a model with sessions. It logs the messages of each request by session. Session
// 0 is the model itself.
type sessionsModel struct {
	respond func(req *llm.Request) fake.Response
	fail    error
	nothing bool // no session and no error

	mu       sync.Mutex
	sessions int
	log      map[int][]string
	tools    map[int][]int // number of tools of each request
}

func (m *sessionsModel) NewSession(context.Context) (llm.Model, error) {
	if m.fail != nil || m.nothing {
		return nil, m.fail
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sessions++
	return m.session(m.sessions), nil
}

func (m *sessionsModel) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return m.session(0).Stream(ctx, req)
}

func (m *sessionsModel) session(n int) llm.ModelFunc {
	return func(_ context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
		return func(yield func(llm.Event, error) bool) {
			var texts []string
			for _, msg := range req.Messages {
				s := msg.Text()
				for _, p := range msg.Parts {
					switch p := p.(type) {
					case llm.ToolCall:
						s += p.Name + "()"
					case llm.ToolResult:
						s += "=" + p.Text()
					}
				}
				texts = append(texts, s)
			}
			m.mu.Lock()
			if m.log == nil {
				m.log, m.tools = map[int][]string{}, map[int][]int{}
			}
			m.log[n] = append(m.log[n], strings.Join(texts, " "))
			m.tools[n] = append(m.tools[n], len(req.Tools))
			m.mu.Unlock()
			r := m.respond(req)
			for _, ev := range r.StreamingEvents() {
				if !yield(ev, nil) {
					return
				}
			}
		}
	}
}

// steps rerequests a response per assistant message of the request.
func steps(list ...fake.Response) func(*llm.Request) fake.Response {
	return func(req *llm.Request) fake.Response {
		n := 0
		for _, m := range req.Messages {
			if m.Role == llm.RoleAssistant {
				n++
			}
		}
		return list[n]
	}
}

func (m *sessionsModel) want(t *testing.T, want map[int][]string) {
	t.Helper()
	if diff := cmp.Diff(want, m.log); diff != "" {
		t.Errorf("requests by session (-want +got):\n%s", diff)
	}
}

// withSessions rerequests an agent on the model. Its runs are checked at the end of the test.
func (b *bench) withSessions(m *sessionsModel, cfg reactagent.Config) *reactagent.Agent {
	b.t.Helper()
	b.in(&cfg.Config)
	a, err := reactagent.New(m, &cfg)
	return b.made(a, err)
}

// RA-12: a run has one session, which makes each of its model calls with the whole thread. Another
// run of the thread has another session.
func TestRA12OneSessionPerRun(t *testing.T) {
	m := &sessionsModel{respond: steps(calling("a", `{"n":1}`), calling("a", `{"n":2}`), text("done"), text("again"))}
	b := newBench(t)
	a := b.withSessions(m, reactagent.Config{Config: loop.Config{Tools: []loop.Tool{tool("a")}}, Memory: &reactagent.Memory{}})
	for _, message := range []string{"go", "more"} {
		if ok, events := b.run(a, "thread", message); !ok {
			t.Errorf("%s: %q", message, events)
		}
	}
	m.want(t, map[int][]string{
		1: {"go", "go a() =a", "go a() =a a() =a"},
		2: {"go a() =a a() =a done more"},
	})
	if len(a.Stack()) != 0 {
		t.Errorf("the stack is %q", a.Stack())
	}
}

// RA-12: the forced final answer is one more request of the same session.
func TestRA12FinalAnswer(t *testing.T) {
	m := &sessionsModel{respond: steps(calling("a", `{"n":1}`), calling("a", `{"n":2}`), text("done"))}
	b := newBench(t)
	a := b.withSessions(m, reactagent.Config{Config: loop.Config{Tools: []loop.Tool{tool("a")}, MaxSteps: 2}})
	if ok, events := b.run(a, "", "go"); !ok {
		t.Errorf("%q", events)
	}
	m.want(t, map[int][]string{1: {"go", "go a() =a", "go a() =a a() =a"}})
	if diff := cmp.Diff([]int{1, 1, 0}, m.tools[1]); diff != "" {
		t.Errorf("tools of the requests (-want +got):\n%s", diff)
	}
}

// RA-12: a request has the messages that middleware has rewritten. A model that middleware chooses
// makes its call without the session.
func TestRA12RewrittenHistory(t *testing.T) {
	other := fake.NewModel(calling("a", `{"n":2}`))
	var list []loop.Middleware
	list = append(list, loop.Middleware{Name: "rewrite", New: func(loop.RunInfo) loop.Hooks {
		return loop.Hooks{
			BeforeStep: func(_ context.Context, s *loop.StepInfo) (c loop.StepChange, err error) {
				switch s.Step {
				case 1:
					c.Model = other
				case 2:
					c.Messages = append([]llm.Message{llm.User("rewritten")}, s.History()[1:]...)
				}
				return c, nil
			},
			WrapModel: func(next loop.ModelFunc) loop.ModelFunc {
				return func(ctx context.Context, call loop.ModelCall) (*llm.Response, error) {
					req := *call.Request
					req.Messages = append(slices.Clone(req.Messages), llm.User("wrapped"))
					call.Request = &req
					return next(ctx, call)
				}
			},
		}
	}})
	m := &sessionsModel{respond: steps(calling("a", `{"n":1}`), text("no"), text("done"))}
	b := newBench(t)
	a := b.withSessions(m, reactagent.Config{Config: loop.Config{Tools: []loop.Tool{tool("a")}, Middleware: list}})
	if ok, events := b.run(a, "", "go"); !ok {
		t.Errorf("%q", events)
	}
	m.want(t, map[int][]string{1: {"go wrapped", "rewritten a() =a a() =a wrapped"}})
	if n := len(other.Requests()); n != 1 {
		t.Errorf("the other model got %d requests", n)
	}
}

// RA-66: concurrent runs, and the run of a sub-agent, have one session each. No request is in the
// session of another run.
func TestRA66ConcurrentRuns(t *testing.T) {
	if !bubble.Run(t, testConcurrentRuns) {
		t.Error("a run waits for another")
	}
}

func testConcurrentRuns(t *testing.T) {
	var both sync.WaitGroup // the first requests of both runs
	both.Add(2)
	m := &sessionsModel{}
	m.respond = func(req *llm.Request) fake.Response {
		switch first, later := req.Messages[0].Text(), len(req.Messages) > 1; {
		case first == "the task":
			return text("done by the sub-agent")
		case later:
			return text("done")
		default:
			both.Done()
			both.Wait()
			if first == "delegate" {
				return calling("task", `{"description":"the task","subagent_type":"helper"}`)
			}
			return calling("write_file", `{"path":"/a","content":"b"}`)
		}
	}
	b := newBench(t)
	cfg := reactagent.DeepConfig{SubAgents: []reactagent.SubAgent{{Name: "helper"}}}
	b.in(&cfg.Config.Config)
	cfg.Clock = nil // the runs are on goroutines of their own
	a, err := reactagent.NewDeep(m, &cfg)
	b.made(a, err)
	var runs sync.WaitGroup
	for _, message := range []string{"delegate", "work"} {
		runs.Go(func() {
			if !a.Run(t.Context(), []llm.Message{llm.User(message)}, "", nil) {
				t.Errorf("%s: the run failed", message)
			}
		})
	}
	runs.Wait()
	got := slices.Sorted(func(yield func(string) bool) {
		for _, requests := range m.log {
			if !yield(strings.Join(requests, "; ")) {
				return
			}
		}
	})
	want := []string{
		"delegate; delegate task() =done by the sub-agent",
		"the task",
		`work; work write_file() =wrote 1 bytes to "/a"`,
	}
	if diff := cmp.Diff(want, got); diff != "" || m.sessions != 3 || m.log[0] != nil {
		t.Errorf("%d sessions; requests (-want +got):\n%s", m.sessions, diff)
	}
}

// RA-66: a run whose session cannot be created fails before its first request.
func TestRA66SessionFails(t *testing.T) {
	broken := errors.New("no session")
	for _, m := range []*sessionsModel{{fail: broken}, {nothing: true}} {
		b := newBench(t)
		later := loop.Middleware{Name: "later", New: func(loop.RunInfo) loop.Hooks {
			return loop.Hooks{Start: func(context.Context) (context.Context, error) {
				t.Error("the run began without a session")
				return nil, nil
			}}
		}}
		a := b.withSessions(m, reactagent.Config{Config: loop.Config{Tools: []loop.Tool{tool("a")}, Middleware: []loop.Middleware{later}}})
		var events []reactagent.Event
		ok := a.Run(t.Context(), []llm.Message{llm.User("go")}, "", func(e reactagent.Event) { events = append(events, e) })
		if ok || len(events) != 1 || events[0].Type != "failed" || m.fail != nil && !errors.Is(events[0].Err, broken) || !strings.Contains(fmt.Sprint(events[0].Err), "session") {
			t.Errorf("got %v, %+v", ok, events)
		}
		if a.Run(t.Context(), []llm.Message{llm.User("go")}, "", nil) || m.log != nil {
			t.Errorf("the run succeeded, or sent requests: %v", m.log)
		}
	}
}

// RA-66: summaries are outside of the session, during a run and with Compact.
func TestRA66Summaries(t *testing.T) {
	m := &sessionsModel{}
	m.respond = func(req *llm.Request) fake.Response {
		if len(req.Tools) == 0 {
			return text("a summary")
		}
		return text("done")
	}
	b := newBench(t)
	cfg := reactagent.DeepConfig{Config: reactagent.Config{Memory: &reactagent.Memory{}, ContextWindow: 2000}}
	b.in(&cfg.Config.Config)
	a, err := reactagent.NewDeep(m, &cfg)
	b.made(a, err)
	for i := range 4 {
		if ok, events := b.run(a, "thread", fmt.Sprint(i, strings.Repeat(" long", 400))); !ok {
			t.Fatalf("run %d: %q", i, events)
		}
	}
	during := len(m.log[0])
	if a.Compact(t.Context(), "thread") == nil {
		t.Error("nothing was summarized")
	}
	if during == 0 || len(m.log[0]) != during+1 || m.sessions != 4 {
		t.Errorf("%d summaries during the runs, %d in all, %d sessions", during, len(m.log[0]), m.sessions)
	}
	for n := 1; n <= m.sessions; n++ {
		if len(m.log[n]) != 1 {
			t.Errorf("session %d has %d requests, want 1", n, len(m.log[n]))
		}
	}
}
