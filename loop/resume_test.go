package loop_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/trace"
)

// waits suspends a run while the call of a name has no decision.
func waits(name string, decided *string) loop.Middleware {
	return named("approval", loop.Hooks{BeforeTools: editCalls(func(_ context.Context, _ *loop.StepInfo, calls []*loop.PlannedCall) (loop.Decision, error) {
		for _, p := range calls {
			switch {
			case p.Call.Name != name:
			case *decided == "":
				return loop.Decision{Action: trace.Suspend}, nil
			case *decided == "deny":
				p.Output, p.Reason = &loop.Output{Content: []llm.Part{llm.Text{Text: "denied"}}, IsError: true}, "denied"
			}
		}
		return loop.Decision{}, nil
	})})
}

// A run that waits for an external result ends with pending calls, and another run resumes
// them. Each call runs once, and the messages after it follow its result.
func TestSuspendAndResume(t *testing.T) {
	for verdict, want := range map[string][]string{"approve": {"{}", `{"x":1}`}, "deny": {"{}", "denied"}} {
		var mem trace.Memory
		var decided string
		m := model(calls("a", `b{"x":1}`), text("done"))
		a := newAgent(t, m, loop.Config{Tools: []loop.Tool{echo("a"), echo("b")}, Middleware: []loop.Middleware{waits("b", &decided)}, Sink: &mem})
		first, err := a.Run(t.Context(), loop.Prompt("go"))
		if err != nil || first.StopReason != trace.ReasonApproval || len(first.Pending) != 2 || first.ToolSteps != 0 {
			t.Fatalf("%s: got %+v, %v", verdict, first, err)
		}
		said := of[trace.Suspended](mem.Events())
		if len(said) != 1 || cmp.Diff([]string{"c1", "c2"}, said[0].Pending) != "" || len(said[0].Digest) != 16 {
			t.Errorf("%s: suspended: %+v", verdict, said)
		}
		decided = verdict
		in := loop.Continue([]llm.Message{llm.User("go")}, first.Messages...)
		in.Resume = &loop.Resume{Of: "r1", Then: []llm.Message{llm.User("and then?")}}
		res, err := a.Run(t.Context(), in)
		checkInvariants(t, verdict, mem.Events())
		if err != nil || res.Text != "done" || res.Pending != nil || len(res.Steps) != 1 {
			t.Fatalf("%s: got %+v, %v", verdict, res, err)
		}
		if diff := cmp.Diff(want, resultTexts(res.Messages)); diff != "" {
			t.Errorf("%s: results (-want +got):\n%s", verdict, diff)
		}
		sent := m.RecordedRequests()[1].Request.Messages
		if len(sent) != 4 || sent[2].Role != llm.RoleTool || sent[3].Text() != "and then?" {
			t.Errorf("%s: sent %+v", verdict, sent)
		}
		if got := kinds(mem.Events()); !strings.HasPrefix(got, "run.start step.start model.config model.request model.response decision suspended step.end run.end run.start resumed decision ") {
			t.Errorf("%s: got %s", verdict, got)
		}
	}
}

// The calls of a resumed run may be suspended again, be client-side, or fail.
func TestResumeStops(t *testing.T) {
	var decided string
	client, err := loop.ClientTool("c", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	boom := errors.New("boom")
	for name, c := range map[string]struct {
		policy loop.Middleware
		call   string
		stop   trace.Reason
		err    error
	}{
		"waits again":    {waits("a", &decided), "a", trace.ReasonApproval, nil},
		"for the caller": {named("p", loop.Hooks{}), "c", trace.ReasonClientTools, nil},
		"fails": {named("p", loop.Hooks{BeforeTools: editCalls(func(context.Context, *loop.StepInfo, []*loop.PlannedCall) (loop.Decision, error) {
			return loop.Decision{}, boom
		})}), "a", trace.ReasonMiddleware, boom},
		"is stopped with an error": {named("p", loop.Hooks{BeforeTools: editCalls(func(context.Context, *loop.StepInfo, []*loop.PlannedCall) (loop.Decision, error) {
			return loop.Decision{Action: trace.Stop, Err: boom}, nil
		})}), "a", trace.ReasonMiddleware, boom},
	} {
		var mem trace.Memory
		a := newAgent(t, model(), loop.Config{Tools: []loop.Tool{echo("a"), client}, Middleware: []loop.Middleware{c.policy}, Sink: &mem})
		in := loop.Continue([]llm.Message{llm.User("go")}, llm.Assistant(llm.ToolCall{ID: "c1", Name: c.call, Arguments: "{}"}))
		in.Resume = &loop.Resume{Of: "elsewhere"}
		res, err := a.Run(t.Context(), in)
		checkInvariants(t, name, mem.Events())
		if !errors.Is(err, c.err) || res.StopReason != c.stop || len(res.Pending) != 1 || res.ModelCalls != 0 {
			t.Errorf("%s: got %+v, %v", name, res, err)
		}
	}
}

// A later call of a resumed run may have its result first. The trace has the results in the
// order of their calls, whatever ends the run.
func TestResumeOrderOfResults(t *testing.T) {
	ask := func(ids ...string) (list []llm.Part) {
		for _, id := range ids {
			list = append(list, llm.ToolCall{ID: id, Name: id, Arguments: "{}"})
		}
		return list
	}
	stop := loop.StepChange{Decision: loop.Decision{Action: trace.Stop}}
	replaced := loop.StepChange{Decision: loop.Decision{Messages: []llm.Message{llm.User("all so far")}}}
	before := func(changes ...loop.StepChange) (list []loop.Middleware) {
		for _, c := range changes {
			list = append(list, named("p", loop.Hooks{BeforeStep: func(context.Context, *loop.StepInfo) (loop.StepChange, error) { return c, nil }}))
		}
		return list
	}
	client, err := loop.ClientTool("client", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		calls, done []string
		cfg         loop.Config
		cancel      bool
		want        []string // the results in the end of the trace
	}{
		"a request":              {calls: []string{"a", "b"}, done: []string{"b"}},
		"a stop":                 {calls: []string{"a", "b"}, done: []string{"b"}, cfg: loop.Config{Middleware: before(stop)}, want: []string{"a", "b"}},
		"a rewrite and a stop":   {calls: []string{"a", "b"}, done: []string{"b"}, cfg: loop.Config{Middleware: before(replaced, stop)}, want: []string{"a", "b"}},
		"a cancel by the tool":   {calls: []string{"a", "b"}, done: []string{"b"}, cancel: true, want: []string{"a", "b"}},
		"a message per result":   {calls: []string{"a", "b"}, done: []string{"b"}, cfg: loop.Config{OneMessagePerResult: true, Middleware: before(stop)}, want: []string{"a", "b"}},
		"a call of the caller":   {calls: []string{"a", "b", "client"}, done: []string{"b"}, want: []string{"b"}},
		"the rest of a step":     {calls: []string{"a", "b", "client"}, done: []string{"b"}, cfg: loop.Config{ClientCalls: loop.ClientRest}, want: []string{"a", "b"}},
		"an order of the caller": {calls: []string{"a", "client", "b", "c"}, done: []string{"c", "b"}, want: []string{"b", "c"}},
		"a call that waits":      {calls: []string{"a", "b", "c"}, done: []string{"c", "b"}, cfg: loop.Config{Middleware: []loop.Middleware{waits("a", new(string))}}, want: []string{"b", "c"}},
	} {
		var mem trace.Memory
		ctx, cancel := context.WithCancel(t.Context())
		c.cfg.Sink, c.cfg.Tools = &mem, []loop.Tool{client, echo("b"), echo("c"), tool("a", func(context.Context) (string, error) {
			if c.cancel {
				cancel()
			}
			return "", nil
		})}
		in := loop.Continue([]llm.Message{llm.User("go")}, llm.Assistant(ask(c.calls...)...))
		for _, id := range c.done {
			in.Messages = append(in.Messages, llm.ToolResults(llm.ToolResult{ID: id, Name: id}))
		}
		in.Resume = &loop.Resume{Of: "r1"}
		_, err := newAgent(t, model(text("x")), c.cfg).Run(ctx, in)
		cancel()
		if c.cancel != errors.Is(err, context.Canceled) || !c.cancel && err != nil {
			t.Errorf("%s: got %v", name, err)
		}
		checkInvariants(t, name, mem.Events())
		var got []string
		for _, m := range of[trace.RunEnd](mem.Events())[0].AppendedMessages {
			for _, p := range m.Parts {
				if r, ok := p.(llm.ToolResult); ok {
					got = append(got, r.ID)
				}
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: results at the end (-want +got):\n%s", name, diff)
		}
	}
}

// A call of a response after a resume does not get the id of a call in the messages after the results.
func TestResumeIDs(t *testing.T) {
	var mem trace.Memory
	in := loop.Continue([]llm.Message{llm.User("go")}, called("c1"))
	in.Resume = &loop.Resume{Of: "r1", Then: []llm.Message{called("c2"), told("c2")}}
	m := model(calls("a#c2"), text("x"))
	res, err := newAgent(t, m, loop.Config{Tools: []loop.Tool{echo("a")}, Sink: &mem}).Run(t.Context(), in)
	if checkInvariants(t, "resumed", mem.Events()); err != nil || res.Steps[0].Calls[0].ID == "c2" {
		t.Errorf("got %+v, %v", res, err)
	}
}

// An id that the messages after the results use again is replaced.
func TestResumeRepeatedID(t *testing.T) {
	var mem trace.Memory
	in := loop.Continue([]llm.Message{llm.User("go")}, called("c1"))
	in.Resume = &loop.Resume{Of: "r1", Then: []llm.Message{called("c1"), told("c1")}}
	m := model(text("x"))
	_, err := newAgent(t, m, loop.Config{Tools: []loop.Tool{echo("a")}, Sink: &mem}).Run(t.Context(), in)
	if checkInvariants(t, "resumed", mem.Events()); err != nil {
		t.Fatal(err)
	}
	if sent := m.RecordedRequests()[0].Request.Messages; sent[3].Parts[0].(llm.ToolCall).ID == "c1" {
		t.Errorf("sent %+v", sent)
	}
}

// The error of a run that cannot be resumed names the action to take.
func TestResumeErrors(t *testing.T) {
	call := llm.ToolCall{ID: "c1", Name: "a", Arguments: "{}"}
	asked := llm.Assistant(call)
	for want, in := range map[string]loop.Input{
		"loop: Input.Messages[1]: no call without a result to resume; leave Input.Resume out": {
			Messages: []llm.Message{llm.User("go"), llm.Assistant(llm.Text{Text: "x"})}},
		"loop: Input.Messages[3].Parts[0]: the call id \"c1\" is empty or belongs to an earlier call; give the call an id of its own": {
			Messages: []llm.Message{llm.User("go"), asked, llm.ToolResults(llm.ToolResult{ID: "c1", Name: "a"}), asked}},
		"loop: Input.Messages[3]: the call \"c2\" has no result directly after it; append a tool message with one result for each call": {
			Messages: []llm.Message{llm.User("go"), asked}, Resume: &loop.Resume{Then: []llm.Message{llm.Assistant(llm.ToolCall{ID: "c2", Name: "a", Arguments: "{}"})}}},
	} {
		if in.Resume == nil {
			in.Resume = &loop.Resume{Of: "r1"}
		}
		var mem trace.Memory
		_, err := newAgent(t, model(), loop.Config{Tools: []loop.Tool{echo("a")}, Sink: &mem}).Run(t.Context(), in)
		checkInvariants(t, want, mem.Events())
		if err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// A run that was canceled before it resumed runs nothing.
func TestResumeCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var mem trace.Memory
	in := loop.Continue([]llm.Message{llm.User("go")}, llm.Assistant(llm.ToolCall{ID: "c1", Name: "a", Arguments: "{}"}))
	in.Resume = &loop.Resume{Of: "r1"}
	res, err := newAgent(t, model(), loop.Config{Tools: []loop.Tool{echo("a")}, Sink: &mem}).Run(ctx, in)
	checkInvariants(t, "cancelled", mem.Events())
	if !errors.Is(err, context.Canceled) || len(res.Pending) != 1 {
		t.Errorf("got %+v, %v", res, err)
	}
}

// With ClientRest the loop runs the other calls of a step with a client-side call, which is
// pending. The next run stores its result at the position of the call.
func TestClientRest(t *testing.T) {
	client, err := loop.ClientTool("c", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, form := range []bool{false, true} {
		m := model(calls("c", "a", "a"), text("done"))
		var mem trace.Memory
		a := newAgent(t, m, loop.Config{Tools: []loop.Tool{echo("a"), client}, ClientCalls: loop.ClientRest, OneMessagePerResult: form, Sink: &mem})
		first, err := a.Run(t.Context(), loop.Prompt("go"))
		if err != nil || first.StopReason != trace.ReasonClientTools || len(first.Pending) != 1 || first.Pending[0].Name != "c" || len(resultTexts(first.Messages)) != 2 {
			t.Fatalf("%v: got %+v, %v", form, first, err)
		}
		in := loop.Continue([]llm.Message{llm.User("go")}, append(first.Messages, llm.ToolResults(llm.ToolResult{ID: "c1", Name: "c", Content: []llm.Part{llm.Text{Text: "C"}}}))...)
		res, err := a.Run(t.Context(), in)
		checkInvariants(t, fmt.Sprint(form), mem.Events())
		if err != nil || res.Text != "done" {
			t.Fatalf("%v: got %+v, %v", form, res, err)
		}
		if diff := cmp.Diff([]string{"C", "{}", "{}"}, resultTexts(m.RecordedRequests()[1].Request.Messages)); diff != "" {
			t.Errorf("%v: results (-want +got):\n%s", form, diff)
		}
	}
}

// A response with results for some of its calls is resumed with the remaining calls. The results
// have the order of the calls.
func TestResumePartly(t *testing.T) {
	c1, c2 := llm.ToolCall{ID: "c1", Name: "a", Arguments: `{"x":1}`}, llm.ToolCall{ID: "c2", Name: "a", Arguments: "{}"}
	in := loop.Continue([]llm.Message{llm.User("go")}, llm.Assistant(c1, c2), llm.ToolResults(llm.ToolResult{ID: "c2", Name: "a", Content: []llm.Part{llm.Text{Text: "B"}}}))
	in.Resume = &loop.Resume{Of: "elsewhere"}
	m := model(text("done"))
	res, err := newAgent(t, m, loop.Config{Tools: []loop.Tool{echo("a")}}).Run(t.Context(), in)
	if err != nil || res.Text != "done" {
		t.Fatalf("got %+v, %v", res, err)
	}
	if diff := cmp.Diff([]string{`{"x":1}`, "B"}, resultTexts(m.RecordedRequests()[0].Request.Messages)); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
}
