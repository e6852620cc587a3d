package scenario

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/explore"
	"github.com/looptape/looptape/loop/middleware"
	"github.com/looptape/looptape/trace"
	"github.com/looptape/looptape/trace/check"
)

// TestExploredText: the text of a run has each violation after its event.
func TestExploredText(t *testing.T) {
	x := &exploration{events: []trace.Event{
		{Run: "r1", Seq: 0, Step: trace.NoStep, Body: trace.RunStart{}},
		{Run: "r1", Seq: 1, Step: 0, Body: trace.StepStart{}},
		{Run: "r2", Seq: 1, Step: 0, Body: trace.StepStart{}},
	}}
	found := []check.Violation{{Invariant: "INV-07", Run: "r1", Event: 1, Message: "lost\x1b[2J"}, {Invariant: "INV-26", Event: check.NoEvent, Message: "endless"}}
	const want = "run.start       r1\nstep.start      0\n^ INV-07: lost\x1b[2J\nstep.start      r2:0\n"
	if got := x.text(found); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestSentRequestChanged: a request that is changed after it was sent is reported, and one that continues another is not.
func TestSentRequestChanged(t *testing.T) {
	other := llm.Text{Text: "other"}
	for name, tt := range map[string]struct {
		change func(sent []*llm.Request)
		want   string
	}{
		"nothing":                     {func([]*llm.Request) {}, ""},
		"the messages of the first":   {func(sent []*llm.Request) { sent[0].Messages = nil }, "INV-06: request 1 was changed after it was sent"},
		"a part that all have":        {func(sent []*llm.Request) { sent[0].Messages[0].Parts[0] = other }, "INV-06: request 1 was changed after it was sent"},
		"the new one of the second":   {func(sent []*llm.Request) { sent[1].Messages[1].Parts[0] = other }, "INV-06: request 2 was changed after it was sent"},
		"fewer messages than before":  {func(sent []*llm.Request) { sent[1].Messages = sent[1].Messages[:0] }, "INV-06: request 2 was changed after it was sent"},
		"fewer messages, nothing new": {func(sent []*llm.Request) { sent[2].Messages = sent[2].Messages[:0] }, "INV-06: request 3 was changed after it was sent"},
		"two requests":                {func(sent []*llm.Request) { sent[1].Messages, sent[2].Messages = nil, nil }, "INV-06: request 2 was changed after it was sent"},
	} {
		x := &exploration{world: fake.NewWorld(&fake.Script{}), ctx: t.Context(), maxCalls: 10}
		first := []llm.Message{llm.User("go")}
		second := append(slices.Clone(first), llm.Assistant(llm.Text{Text: "yes"}))
		third := append(slices.Clone(second), llm.Message{Role: llm.RoleUser}) // without parts
		sent := []*llm.Request{{Messages: first}, {Messages: second}, {Messages: slices.Clone(second)}, {Messages: third}, {Messages: slices.Clone(third)}}
		for _, r := range sent {
			x.Stream(t.Context(), r)
		}
		tt.change(sent)
		if got := reports(x.checkSent); got != tt.want {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
}

// reports returns what a check reports.
func reports(check func(reporter)) string {
	var list []string
	check(func(invariant, format string, args ...any) {
		list = append(list, invariant+": "+fmt.Sprintf(format, args...))
	})
	return strings.Join(list, "; ")
}

// TestEnteredTools: a tool that is entered twice, late or with other arguments than the trace has is reported, and a late model call.
func TestEnteredTools(t *testing.T) {
	for name, tt := range map[string]struct {
		run  func(x *exploration, enter func(call, arguments string))
		want string
	}{
		"once": {func(x *exploration, enter func(call, arguments string)) {
			enter("c1", "{}")
			x.record(0, "c1", "{}", false)
		}, ""},
		"with edited arguments": {func(x *exploration, enter func(call, arguments string)) {
			enter("c1", "[]")
			x.record(0, "c1", "{}", false)
			x.record(0, "c1", "[]", true)
		}, ""},
		"with other arguments": {func(x *exploration, enter func(call, arguments string)) {
			enter("c1", "[]")
			x.record(0, "c1", "{}", false)
		}, `INV-09: the tool of the call "c1" got the arguments "[]", and the trace has "{}"`},
		"not in the trace": {func(_ *exploration, enter func(call, arguments string)) {
			enter("c1", "{}")
		}, `INV-09: the tool of the call "c1" got the arguments "{}", and the trace has ""`},
		"twice": {func(x *exploration, enter func(call, arguments string)) {
			enter("c1", "{}")
			enter("c1", "{}")
			x.record(0, "c1", "{}", false)
		}, `INV-08: the tool of the call "c1" was entered twice`},
		"once in each process": {func(x *exploration, enter func(call, arguments string)) {
			enter("c1", "{}")
			x.record(0, "c1", "{}", false)
			x.processes = append(x.processes, 1)
			enter("c1", "[]")
		}, `INV-09: the tool of the call "c1" got the arguments "[]", and the trace has ""`},
		"for two calls with one id": {func(x *exploration, enter func(call, arguments string)) {
			enter("c1", "{}")
			enter("c1", "[]")
			x.record(0, "c1", "{}", false)
			x.record(0, "c1", "[]", false)
		}, ""},
		"for two calls with one id, and with other arguments": {func(x *exploration, enter func(call, arguments string)) {
			enter("c1", "{}")
			enter("c1", "[1]")
			x.record(0, "c1", "{}", false)
			x.record(0, "c1", "[]", false)
		}, `INV-09: the tool of the call "c1" got the arguments "[1]", and the trace has "[]"`},
		"late": {func(x *exploration, enter func(call, arguments string)) {
			x.world.End(context.Canceled)
			enter("c1", "{}")
			x.record(0, "c1", "{}", false)
		}, `INV-17: the tool of the call "c1" was entered after the context of the run had ended`},
		"never, and the model late": {func(x *exploration, _ func(call, arguments string)) {
			x.world.End(context.Canceled)
			x.Stream(x.ctx, &llm.Request{})
			x.ctx = x.world.Renew()
			x.Stream(x.ctx, &llm.Request{})
		}, "INV-17: the model was called after the context of the run had ended"},
	} {
		x := &exploration{world: fake.NewWorld(&fake.Script{}), maxCalls: 10}
		x.ctx, _ = x.world.Begin(scripted{})
		x.world.Go(func() {
			tt.run(x, func(call, arguments string) {
				_, _ = x.runTool(x.ctx, loop.Call{ID: call, Name: "t", Arguments: arguments})
			})
		})
		x.world.Close()
		if got := reports(x.checkEntered); got != tt.want {
			t.Errorf("a tool is entered %s: got %q, want %q", name, got, tt.want)
		}
	}
}

// TestExploredResults: a result in the trace that is not what the tool of its call returned in its process is reported.
func TestExploredResults(t *testing.T) {
	failed := errors.New("no connection")
	for _, tt := range []struct {
		results []returned
		process int
		outcome trace.Outcome
		text    string
		isError bool
		cfg     loop.Config
		want    string
	}{
		{[]returned{{call: "c1", text: "fine"}}, 0, trace.OutcomeOK, "fine", false, loop.Config{}, ""},
		{[]returned{{call: "c1", text: "fine"}}, 0, trace.OutcomeError, "fine", true, loop.Config{}, `INV-23: the result of the call "c1" is the error "fine"; the tool returned "fine"`},
		{[]returned{{call: "c1", text: "bad", isError: true}}, 0, trace.OutcomeOK, "bad", false, loop.Config{}, `INV-23: the result of the call "c1" is "bad", and no error; the tool failed`},
		{[]returned{{call: "c1", err: failed}}, 0, trace.OutcomeOK, "no connection", false, loop.Config{}, `INV-23: the result of the call "c1" is "no connection", and no error; the tool failed`},
		{[]returned{{call: "c1", text: "a"}, {call: "c1", text: "b"}}, 0, trace.OutcomeOK, "c", false, loop.Config{}, `INV-01: the result of the call "c1" is "c"; the tool returned "a"`},
		{[]returned{{call: "c1", text: "a"}, {call: "c1", text: "b", process: 1}}, 1, trace.OutcomeOK, "a", false, loop.Config{}, `INV-01: the result of the call "c1" is "a"; the tool returned "b"`},
		{[]returned{{call: "c1", text: "fine"}}, 0, trace.OutcomeTimeout, "timeout", true, loop.Config{ToolTimeout: 1}, ""},
		{[]returned{{call: "c1", text: "fine"}}, 0, trace.OutcomeTimeout, "timeout", true, loop.Config{ToolTimeout: 1, Middleware: make([]loop.Middleware, 1)}, `INV-23: the result of the call "c1" is the error "timeout"; the tool returned "fine"`},
		{[]returned{{call: "c1", text: "fine"}}, 0, trace.OutcomeTimeout, "timeout", true, loop.Config{}, `INV-23: the result of the call "c1" is the error "timeout"; the tool returned "fine"`},
	} {
		x := &exploration{results: tt.results, cfg: tt.cfg, around: len(tt.cfg.Middleware) > 0}
		end := &trace.ToolEnd{ToolCallID: "c1", Outcome: tt.outcome, Result: llm.ToolResult{ID: "c1", Content: []llm.Part{llm.Text{Text: tt.text}}, IsError: tt.isError}}
		if got := reports(func(report reporter) { x.checkResult(tt.process, end, report) }); got != tt.want {
			t.Errorf("%+v, and the result %q, error %v, %s: got %q, want %q", tt.results, tt.text, tt.isError, tt.outcome, got, tt.want)
		}
	}
}

// TestExploredStore: stored messages that are damaged, missing or not those of the conversation are reported, and a conversation that
// differs when another process continues it.
func TestExploredStore(t *testing.T) {
	script := &fake.Script{
		Input: []llm.Message{llm.User("go")}, Tools: []fake.Tool{{Name: "t", Behavior: fake.Behavior{Text: "fine"}}},
		Models: []fake.ModelScript{{Name: "main", Responses: []fake.Response{{Calls: []fake.Call{{ID: "c1", Name: "t", Arguments: "{}"}}}, {Text: "done"}}}},
	}
	const ends = "ends the process after it has saved"
	other := []llm.Message{llm.User("other")}
	nothing := func(*exploration, *loop.Result) {}
	for name, tt := range map[string]struct {
		save, action string
		end          func(x *exploration, res *loop.Result) // at the end of each run
		plain        []llm.Message                          // the conversation of one process
		want         string
	}{
		"all messages": {"", "", nothing, nil, ""},
		"more than the conversation has": {"", "", func(_ *exploration, res *loop.Result) { res.Messages = res.Messages[:2] }, nil,
			"INV-05: the 4 stored messages are not the first ones of the conversation, which has 3"},
		"other messages": {"", "", func(_ *exploration, res *loop.Result) { res.Messages = slices.Concat(res.Messages[:2], other) }, nil,
			"INV-05: the 4 stored messages are not the first ones of the conversation, which has 4"},
		"one fewer": {"", "", func(_ *exploration, res *loop.Result) { res.Messages = slices.Concat(res.Messages, other) }, nil,
			"INV-05: 4 of 5 messages are stored, although no save failed"},
		"one fewer, as a save fails": {"store save 4", "fails", nothing, nil, ""},
		"a damaged one": {"", "", func(x *exploration, _ *loop.Result) {
			_, _ = x.keeper.Memory.Save(t.Context(), "log/0", []byte("{"), 1)
		}, nil,
			"INV-05: the stored messages cannot be loaded: middleware: StoreLog.Load: store: loading \"log/0\": the value is not a document: unexpected end of JSON input"},
		"a result without a call": {"store save 1", ends, func(x *exploration, _ *loop.Result) {
			if len(x.processes) == 0 {
				log := &middleware.StoreLog{Store: &x.keeper.Memory, Name: "log"}
				_ = log.Log(llm.Message{Role: llm.RoleTool, Parts: []llm.Part{llm.ToolResult{ID: "c9"}}})
			}
		}, nil, "INV-05: the 2 stored messages are not the first ones of the conversation, which has 1; INV-01: the stored messages are no history: " +
			"loop: Input.Messages[1].Parts[0]: the result \"c9\" has no unanswered call in the assistant message before it; remove the result"},
		"those of another process":                          {"store save 2", ends, nil, nil, ""},
		"those of another process, and one has others":      {"store save 2", ends, nil, other, "INV-27: the conversation of a process that ended and one that continued it has 4 messages, and differs from that without an end, which has 1"},
		"those of another process, and may differ from one": {"store save 2", ends, nothing, other, ""},
	} {
		start, err := Program(script, nil)
		if err != nil {
			t.Fatal(err)
		}
		x, _ := start().(*exploration)
		if x.plain = tt.plain; tt.end != nil {
			x.adjust = func(c *loop.Config) {
				c.Middleware = []loop.Middleware{{Name: "end", New: func(loop.RunInfo) loop.Hooks {
					return loop.Hooks{End: func(_ context.Context, res loop.Result) (loop.Result, error) {
						tt.end(x, &res)
						return res, nil
					}}
				}}}
			}
			x.configure()
		}
		choices := []explore.Choice{{At: "store", Option: "keeps the state"}}
		if tt.save != "" {
			choices = append(choices, explore.Choice{At: tt.save, Option: tt.action})
		}
		o, unused := explore.Replay(x, choices)
		x.Close()
		var got []string
		for _, v := range o.Violations {
			got = append(got, v.Invariant+": "+v.Message)
		}
		if got := strings.Join(got, "; "); got != tt.want || len(unused) > 0 {
			t.Errorf("the store has %s: got %q, unused %v; want %q\n%s", name, got, unused, tt.want, o.Text())
		}
	}
}

// TestEndlessRun ends the goroutine of a loop that calls the model again and again although the run is canceled.
func TestEndlessRun(t *testing.T) {
	x := &exploration{world: fake.NewWorld(&fake.Script{}), maxCalls: 10}
	defer x.world.Close()
	x.ctx, _ = x.world.Begin(scripted{})
	x.world.Go(func() {
		for range 100 {
			_, _ = llm.Collect(x.Stream(x.ctx, &llm.Request{}))
		}
	})
	if got := len(x.sent); got != 21 || x.ctx.Err() == nil {
		t.Errorf("the loop made %d calls, and the context of the run has the error %v; want 21 calls, and that it has ended", got, x.ctx.Err())
	}
}

// scripted chooses what the script says.
type scripted struct{}

func (scripted) Order(string, string, []string) int  { return 0 }
func (scripted) Switch(string, string, []string) int { return 0 }
func (scripted) Fault(string, string, []string) int  { return 0 }
