package loop_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/middleware"
	"github.com/looptape/looptape/trace"
)

// feature is an option or a policy with a script in which it acts.
type feature struct {
	name string
	// row is the row of the option matrix; of a row one value is on at a time.
	row string
	// responses are the model responses that trigger the feature. Tools and ids of calls are
	// generated for each place in the script.
	responses []fake.Response
	// on switches the feature on; its responses begin at step at.
	on func(c *loop.Config, at int)
	// acted reports whether the trace shows that it acted.
	acted func(events []trace.Event) bool
	// ends reports whether the run ends there, so that no later middleware can act.
	ends bool
}

// emitted returns a function that reports whether a trace contains such an event.
func emitted[B trace.Body](is func(B) bool) func([]trace.Event) bool {
	return func(events []trace.Event) bool { return slices.ContainsFunc(of[B](events), is) }
}

// ended returns a function that reports whether a run ended for a reason.
func ended(cause trace.Reason) func([]trace.Event) bool {
	return emitted(func(b trace.RunEnd) bool { return b.StopReason == cause })
}

func declared(name, value string) func([]trace.Event) bool {
	return emitted(func(b trace.RunStart) bool {
		v, _ := b.Options.Lookup(name)
		return v == value
	})
}

func decidedOn(action trace.Action, cause trace.Reason) func([]trace.Event) bool {
	return emitted(func(b trace.Decision) bool { return b.Action == action && b.Reason == cause })
}

func skippedFor(cause string) func([]trace.Event) bool {
	return emitted(func(b trace.ToolSkip) bool { return b.Reason == cause })
}

func customs(name string) func([]trace.Event) bool {
	return emitted(func(b trace.Custom) bool { return b.Name == name })
}

// sentTo returns a function that reports whether a request contains such a message.
func sentTo(is func(m llm.Message) bool) func([]trace.Event) bool {
	return emitted(func(b trace.ModelRequest) bool { return slices.ContainsFunc(b.NewMessages, is) })
}

// concurrent returns the maximum number of tools that ran concurrently.
func concurrent(events []trace.Event) (most int) {
	running := 0
	for _, ev := range events {
		switch ev.Body.(type) {
		case trace.ToolStart:
			running++
			most = max(most, running)
		case trace.ToolEnd:
			running--
		}
	}
	return most
}

func with(p loop.Middleware) func(*loop.Config, int) {
	return func(c *loop.Config, _ int) { c.Middleware = append(c.Middleware, p) }
}

func failed(m llm.Message) bool {
	return slices.ContainsFunc(m.Parts, func(p llm.Part) bool {
		r, ok := p.(llm.ToolResult)
		return ok && strings.Contains(r.Text(), "boom")
	})
}

// features returns the options and the middleware of the compositions.
func features() []feature {
	one := []fake.Response{calls("ok")}
	bad := []fake.Response{calls("bad")}
	naps := slices.Repeat([]fake.Response{calls("nap")}, 40) // half an hour and more
	guard := func(kind middleware.GuardrailKind, tripwire bool) loop.Middleware {
		return middleware.Guardrails([]middleware.Guardrail{{Name: "g", Kind: kind, Check: func(_ context.Context, c middleware.GuardrailCheck) (middleware.GuardrailResult, error) {
			if kind == middleware.GuardInput {
				r, _ := c.Messages[len(c.Messages)-1].Parts[0].(llm.ToolResult)
				return middleware.GuardrailResult{Pass: !strings.HasPrefix(r.Name, "watched"), Tripwire: tripwire, Reason: "seen"}, nil
			}
			return middleware.GuardrailResult{Pass: !strings.Contains(c.Response.Text(), "watched"), Tripwire: tripwire, Reason: "seen"}, nil
		}}}, nil)
	}
	return []feature{
		{"step limit at the bottom", "cap", one, func(c *loop.Config, at int) { c.MaxSteps = at + 1 }, ended(trace.ReasonMaxSteps), true},
		{"step limit at the top", "cap", one, func(c *loop.Config, at int) { c.MaxSteps, c.CheckLimitBeforeStep = at+1, true }, ended(trace.ReasonMaxSteps), true},
		{"step limit with a final answer", "cap", one, func(c *loop.Config, at int) { c.MaxSteps, c.OnStepLimit = at+1, loop.StepLimitForceFinal }, decidedOn(trace.ForceFinal, trace.ReasonMaxSteps), true},
		{"step limit as an error", "cap", one, func(c *loop.Config, at int) { c.MaxSteps, c.OnStepLimit = at+1, loop.StepLimitError }, ended(trace.ReasonMaxSteps), true},
		{"stop condition", "stop_when", []fake.Response{calls("finish")}, func(c *loop.Config, _ int) { c.StopWhen = []loop.StopCondition{loop.HasToolCall("finish")} }, ended(trace.ReasonStopCondition), true},
		{"token budget", "token_budget", []fake.Response{{Calls: calls("ok").Calls, Usage: llm.Usage{InputTokens: 1000}}}, func(c *loop.Config, _ int) { c.TokenBudget = 1000 }, ended(trace.ReasonBudget), true},
		{"deadline", "deadline", naps, func(c *loop.Config, _ int) { c.Deadline = 30 * time.Minute }, ended(trace.ReasonDeadline), true},
		{"deadline that returns", "deadline", naps, func(c *loop.Config, _ int) {
			c.Deadline, c.DeadlineReturns = 30*time.Minute, true
		}, ended(trace.ReasonDeadline), true},
		{"stall timeout", "stall_timeout", []fake.Response{{Stall: true}}, func(c *loop.Config, _ int) { c.StallTimeout = 2 * time.Minute },
			emitted(func(b trace.ModelError) bool { return strings.Contains(b.Error.Message, "delivered no event") }), true},
		{"tool timeout", "tool_timeout", []fake.Response{calls("hang")}, func(c *loop.Config, _ int) { c.ToolTimeout = time.Minute },
			emitted(func(b trace.ToolEnd) bool { return b.Outcome == trace.OutcomeTimeout }), false},
		{"one tool at a time", "concurrency", []fake.Response{calls("ok", "ok")}, func(c *loop.Config, _ int) { c.Concurrency = 1 },
			func(events []trace.Event) bool { return concurrent(events) == 1 }, false},
		{"any number of tools", "concurrency", []fake.Response{calls("ok", "ok", "ok", "ok", "ok", "ok", "ok")}, func(c *loop.Config, _ int) { c.Concurrency = loop.Unlimited },
			func(events []trace.Event) bool { return concurrent(events) == 7 }, false},
		{"one message a result", "tool_message", []fake.Response{calls("ok", "ok")}, func(c *loop.Config, _ int) { c.OneMessagePerResult = true },
			emitted(func(b trace.ModelRequest) bool {
				for i := 1; i < len(b.NewMessages); i++ {
					if b.NewMessages[i].Role == llm.RoleTool && b.NewMessages[i-1].Role == llm.RoleTool {
						return true
					}
				}
				return false
			}), false},
		{"response after its hooks", "assistant_append", one, func(c *loop.Config, _ int) {
			c.AppendAfterHooks = true
			c.Middleware = append(c.Middleware, named("looks", loop.Hooks{AfterModel: func(_ context.Context, s *loop.StepInfo, _ *llm.Response) (loop.Decision, error) {
				if list := s.History(); list[len(list)-1].Role == llm.RoleAssistant {
					return loop.Decision{}, nil // it has the response
				}
				return loop.Decision{}, s.Emit("before the turn", []byte("{}"))
			}}))
		}, customs("before the turn"), false},
		{"error text", "error_text", bad, func(c *loop.Config, _ int) {
			c.ErrorText = func(_ string, err error) string { return "Error: " + err.Error() }
		},
			sentTo(func(m llm.Message) bool {
				return failed(m) && strings.HasPrefix(m.Parts[0].(llm.ToolResult).Text(), "Error: ")
			}), false},
		{"errors without a mark", "error_flag", bad, func(c *loop.Config, _ int) { c.OmitErrorFlag = true },
			sentTo(func(m llm.Message) bool { return failed(m) && !m.Parts[0].(llm.ToolResult).IsError }), false},
		{"empty arguments", "bad_args", []fake.Response{calls(`ok{"x`)}, func(c *loop.Config, _ int) { c.BadArguments = loop.BadArgumentsEmpty },
			emitted(func(b trace.ToolArguments) bool { return b.Reason == "empty_object" }), false},
		{"arguments unchanged", "bad_args", []fake.Response{calls(`strict{"x":"y"}`)}, func(c *loop.Config, _ int) { c.BadArguments = loop.BadArgumentsPass },
			emitted(func(b trace.ToolStart) bool { return b.Arguments == `{"x":"y"}` }), false},
		{"unknown tools end the run", "unknown_tool", []fake.Response{calls("ghost")}, func(c *loop.Config, _ int) { c.BreakOnUnknownTool = true }, ended(trace.ReasonClientTools), true},
		{"the other calls next to a client tool", "client_tools", []fake.Response{calls("client", "rest")}, func(c *loop.Config, _ int) { c.ClientCalls = loop.ClientRest },
			emitted(func(b trace.ToolStart) bool { return strings.HasPrefix(b.Name, "rest") }), true},
		{"runaway guard", "same_tool_error_stop", []fake.Response{calls("bad"), calls("bad"), calls("bad")}, func(c *loop.Config, _ int) { c.MaxConsecutiveToolErrors, c.ResetByAbsence = 3, true }, ended(trace.ReasonRunawayGuard), true},
		{"duplicate steps", "duplicate_round", []fake.Response{calls("same"), calls("same")}, func(c *loop.Config, _ int) { c.DuplicateStep = loop.DuplicateSkip }, skippedFor("duplicate"), false},
		{"last answer after duplicates", "duplicate_round", []fake.Response{calls("same"), calls("same")}, func(c *loop.Config, _ int) {
			c.DuplicateStep, c.MaxDuplicateSteps = loop.DuplicateSkip, 1
		}, decidedOn(trace.ForceFinal, trace.ReasonMiddleware), true},
		{"retry", "retry", []fake.Response{{Error: &fake.Failure{Status: 429}}, calls("ok")}, func(c *loop.Config, _ int) { c.Retry = loop.Retry{Max: 1, Base: time.Second} },
			emitted(func(trace.ModelRetry) bool { return true }), false},
		{"continued turn", "continuations", []fake.Response{{Text: "more to come", FinishReason: llm.FinishPause}}, func(c *loop.Config, _ int) { c.Continuations = 3 }, decidedOn(trace.Continue, trace.ReasonContinuedResponse), false},
		{"input guardrail", "guardrails", []fake.Response{calls("watched")}, with(guard(middleware.GuardInput, false)), customs(middleware.EventGuardrail), false},
		{"input tripwire", "guardrails", []fake.Response{calls("watched")}, with(guard(middleware.GuardInput, true)), ended(middleware.ReasonGuardrail), true},
		{"output guardrail", "guardrails", []fake.Response{{Text: "watched", Calls: calls("ok").Calls}}, with(guard(middleware.GuardOutput, false)), customs(middleware.EventGuardrail), false},
		{"output tripwire", "guardrails", []fake.Response{{Text: "watched", Calls: calls("ok").Calls}}, with(guard(middleware.GuardOutput, true)), ended(middleware.ReasonGuardrail), true},
		{"permissions", "permissions", []fake.Response{calls("forbidden")}, with(middleware.Permissions(middleware.PermissionPolicy(func(_ context.Context, r middleware.PermissionRequest) (middleware.Permission, error) {
			return middleware.Permission{Allow: !strings.HasPrefix(r.Tool, "forbidden")}, nil
		}), nil)), skippedFor(middleware.ReasonDenied), false},
		{"approval", "approval", []fake.Response{calls("asked")}, with(middleware.Permissions(middleware.PermissionPolicy(func(_ context.Context, r middleware.PermissionRequest) (middleware.Permission, error) {
			return middleware.Permission{Allow: true, Ask: strings.HasPrefix(r.Tool, "asked")}, nil
		}), &middleware.Approvals{Approve: func(context.Context, middleware.ApprovalRequest) (middleware.Approval, error) {
			return middleware.Approval{Decision: middleware.Approve}, nil
		}})), customs(middleware.EventApprovalResolved), false},
		{"suspension", "approval", []fake.Response{calls("asked")}, with(middleware.Permissions(middleware.PermissionPolicy(func(_ context.Context, r middleware.PermissionRequest) (middleware.Permission, error) {
			return middleware.Permission{Allow: true, Ask: strings.HasPrefix(r.Tool, "asked")}, nil
		}), &middleware.Approvals{Approve: func(context.Context, middleware.ApprovalRequest) (middleware.Approval, error) {
			return middleware.Approval{Decision: middleware.Suspend}, nil
		}})), ended(trace.ReasonApproval), true},
		{"tool hooks", "gates", []fake.Response{calls("skipped")}, with(middleware.ToolHooks{Start: func(_ context.Context, s *middleware.ToolStarting) error {
			s.Skip = strings.HasPrefix(s.Call.Name, "skipped")
			return nil
		}}.Middleware()), skippedFor(middleware.ReasonSkipped), false},
		{"an error that ends the run", "gates", []fake.Response{calls("fatal")}, with(middleware.ToolHooks{Failed: func(_ context.Context, f *middleware.ToolFailed) error {
			f.Stop = strings.HasPrefix(f.Call.Name, "fatal")
			return nil
		}}.Middleware()), ended(middleware.ReasonToolError), true},
		{"short history", "compaction", []fake.Response{calls("ok"), calls("ok"), calls("ok")}, with(middleware.KeepLast(2, 5)), emitted(func(b trace.HistoryRewrite) bool { return b.Reason == "compaction" }), false},
		{"a policy's own model call", "compaction", one, with(named("summary", loop.Hooks{BeforeStep: func(ctx context.Context, s *loop.StepInfo) (loop.StepChange, error) {
			if s.Step != 1 {
				return loop.StepChange{}, nil
			}
			_, err := s.CallModel(ctx, summary(always("short")))
			if errors.Is(err, loop.ErrBudget) {
				err = nil
			}
			return loop.StepChange{}, err
		}})), func(events []trace.Event) bool {
			return slices.ContainsFunc(events, func(e trace.Event) bool { return e.Purpose == trace.PurposeSummary })
		}, false},
		{"summary", "compaction", one, with(summarizes()), func(events []trace.Event) bool {
			return slices.ContainsFunc(events, func(e trace.Event) bool { return e.Purpose == trace.PurposeSummary })
		}, false},
		{"repair", "bad_args", []fake.Response{calls(`strict{"x":"y"}`)}, with(middleware.Repair{Model: always(`{"x":1}`)}.Middleware()),
			emitted(func(b trace.ToolArguments) bool { return b.Reason == "repair" }), false},
		{"hand-off", "prepare_step", []fake.Response{calls("ok")}, func(c *loop.Config, at int) {
			vars := middleware.NewVars(nil)
			b := &middleware.HandoffAgent{Name: "b", Instructions: func(*middleware.Vars) string { return "You are b." }}
			p, err := middleware.Handoff(&middleware.HandoffAgent{Name: "a", Handoffs: []*middleware.HandoffAgent{b}}, vars)
			if err != nil {
				panic(err)
			}
			c.Middleware = append(c.Middleware, middleware.Variables(vars), p, named("set", loop.Hooks{AfterModel: func(_ context.Context, s *loop.StepInfo, _ *llm.Response) (loop.Decision, error) {
				if s.Step == at {
					middleware.ActiveAgent.Set(vars, "b")
				}
				return loop.Decision{}, nil
			}}))
		}, customs("handoff"), false},
		{"answer in a form", "output", []fake.Response{text("not JSON")}, func(c *loop.Config, _ int) {
			o, err := middleware.NewOutput([]byte(`{}`))
			if err != nil {
				panic(err)
			}
			c.Middleware = append(c.Middleware, o.Middleware(5))
		}, decidedOn(trace.Continue, middleware.ReasonOutput), false},
		{"a person's word", "approval", []fake.Response{calls("asked")}, func(c *loop.Config, at int) {
			p, err := middleware.HumanInTheLoop(func(context.Context, middleware.ApprovalRequest) (middleware.Approval, error) {
				return middleware.Approval{Decision: middleware.Reject}, nil
			}, map[string]middleware.ApprovalRule{fmt.Sprintf("asked%d", at): {}})
			if err != nil {
				panic(err)
			}
			c.Middleware = append(c.Middleware, p)
		}, customs(middleware.EventHumanDecision), false},
		{"short results", "result_size", []fake.Response{calls("long")}, with(middleware.TruncateResults(9)),
			emitted(func(b trace.ToolEnd) bool { return strings.Contains(b.Result.Text(), "(cut: ") }), false},
		{"answer by tool", "output", []fake.Response{calls("answer")}, func(c *loop.Config, at int) {
			p, err := middleware.AnswerTool(fmt.Sprintf("answer%d", at), "", nil)
			if err != nil {
				panic(err)
			}
			c.Middleware = append(c.Middleware, p)
		}, emitted(func(b trace.Decision) bool { return b.Action == trace.Stop && b.By == "answer_tool" }), true},
		{"leaked calls", "leaked", []fake.Response{{Text: "<tool_call>", FinishReason: llm.FinishPause}}, with(middleware.LeakedCalls()),
			emitted(func(b trace.Warning) bool { return b.Code == middleware.WarnLeakedCall }), false},
		{"more after the end", "end_hook", []fake.Response{{Text: `"not yet"`}}, with(named("end", loop.Hooks{AfterModel: func(_ context.Context, _ *loop.StepInfo, response *llm.Response) (loop.Decision, error) {
			if response.Text() != `"not yet"` {
				return loop.Decision{}, nil
			}
			return loop.Decision{Action: trace.Continue, Reason: trace.ReasonEndHook, Messages: []llm.Message{llm.User("go on")}}, nil
		}})), decidedOn(trace.Continue, trace.ReasonEndHook), false},
		{"other tools", "prepare_step", one, with(named("offer", loop.Hooks{BeforeStep: func(_ context.Context, s *loop.StepInfo) (loop.StepChange, error) {
			return loop.StepChange{Tools: append(s.Tools(), echo(fmt.Sprintf("more%d", s.Step)))}, nil
		}})), emitted(func(b trace.ModelConfig) bool {
			return slices.ContainsFunc(b.Tools, func(t llm.Tool) bool { return t.Name == "more1" })
		}), false},
		{"cancel", "cancel", []fake.Response{calls("leave")}, func(c *loop.Config, _ int) {
			var leave context.CancelFunc
			c.Middleware = append(c.Middleware, named("leaves", loop.Hooks{
				Start: func(ctx context.Context) (context.Context, error) {
					ctx, leave = context.WithCancel(ctx)
					return ctx, nil
				},
				WrapTool: func(next loop.ToolFunc) loop.ToolFunc {
					return func(ctx context.Context, call loop.Call) (loop.Output, error) {
						if strings.HasPrefix(call.Name, "leave") {
							leave()
						}
						return next(ctx, call)
					}
				},
				End: func(_ context.Context, res loop.Result) (loop.Result, error) { leave(); return res, nil },
			}))
		}, ended(trace.ReasonCancel), true},
		{"list of tasks", "todos", []fake.Response{calls(`write_todos{"todos":["look"]}`)}, func(c *loop.Config, _ int) {
			c.Middleware = append(c.Middleware, middleware.Todos())
		}, customs(middleware.EventTodos), false},
		{"non-streaming responses", "delivery", one, func(c *loop.Config, _ int) { c.ResponseMode = llm.NonStreaming }, declared("delivery", "buffered"), false},
	}
}

// always is a model that returns the same text each time.
func always(said string) llm.Model {
	return llm.ModelFunc(func(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
		return fake.NewModel(text(said)).Stream(ctx, req)
	})
}

// summarizes replaces a text of more than a few words by a summary.
func summarizes() loop.Middleware {
	p, err := middleware.Summarizer{Window: 100, Reserve: 1, Trigger: 0.2, KeepMessages: 1, Model: always("it went on")}.Middleware()
	if err != nil {
		panic(err)
	}
	return p
}

// noise is the first response of each composition: a finish reason that denies its calls, a
// tool that panics, a call of an unknown tool, truncated arguments, and no usage.
func noise() fake.Response {
	t := calls("panics", `ok{"x":1`, "slow")
	t.FinishReason, t.RawFinishReason = llm.FinishStop, "stop"
	return t
}

// compose runs a script of the noise, the features in order, and a final answer.
func compose(t *testing.T, list ...feature) []trace.Event {
	t.Helper()
	clock := fake.NewClock()
	var mem trace.Memory
	cfg := loop.Config{Clock: clock, MaxSteps: 100, MaxConsecutiveToolErrors: loop.Disabled, Sink: &mem}
	responses, at := []fake.Response{noise()}, 1
	addTool := func(name string) { cfg.Tools = append(cfg.Tools, toolOf(t, name, clock)) }
	for _, name := range []string{"panics", "ok", "slow"} {
		addTool(name)
	}
	id := 0
	for _, f := range list {
		f.on(&cfg, at)
		seen := map[string]bool{}
		for _, response := range f.responses {
			response.Calls = slices.Clone(response.Calls)
			for i := range response.Calls {
				c := &response.Calls[i]
				id++
				c.ID = fmt.Sprintf("id%d", id)
				if c.Arguments == "{}" && c.Name != "same" {
					c.Arguments = fmt.Sprintf(`{"n":%d}`, id) // or steps are duplicates
				}
				if c.Name == "write_todos" { // its policy brings it
					continue
				}
				if c.Name != "ok" {
					c.Name += fmt.Sprint(at) // its own, so that features do not take each other's
				}
				if c.Name != "ok" && !strings.HasPrefix(c.Name, "ghost") && !strings.HasPrefix(c.Name, "answer") && !seen[c.Name] {
					seen[c.Name] = true
					addTool(c.Name)
				}
			}
			responses = append(responses, response)
		}
		at += steps(f)
	}
	responses = append(responses, slices.Repeat([]fake.Response{text(`"done"`)}, 9)...)
	for i := range cfg.StopWhen {
		cfg.StopWhen[i] = loop.StopCondition{Stop: func(_ context.Context, s *loop.StepInfo) (bool, error) {
			return strings.HasPrefix(s.Steps[len(s.Steps)-1].Calls[0].Name, "finish"), nil
		}}
	}
	n := 0
	inTurn := llm.ModelFunc(func(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
		n++
		return (&fake.Model{Clock: clock, Responses: responses[n-1 : n]}).Stream(ctx, req)
	})
	_, _ = newAgent(t, inTurn, cfg).Run(t.Context(), loop.Prompt("go")) // how it ends is in the trace
	return mem.Events()
}

// steps returns the number of steps of a feature. A failed model call does not count.
func steps(f feature) (n int) {
	for _, t := range f.responses {
		if t.Error == nil {
			n++
		}
	}
	return n
}

// toolOf returns a tool whose behavior follows from its name.
func toolOf(t *testing.T, name string, clock loop.Clock) loop.Tool {
	t.Helper()
	kind := strings.TrimRight(name, "0123456789")
	switch kind {
	case "client":
		return loop.Tool{Name: name}
	case "strict":
		strict, err := loop.RawTool(name, "", []byte(`{"type":"object","properties":{"x":{"type":"integer"}}}`), echo(name).Run)
		if err != nil {
			t.Fatal(err)
		}
		return strict
	}
	return tool(name, func(ctx context.Context) (string, error) {
		switch kind {
		case "bad", "fatal":
			return "", errors.New("boom")
		case "panics":
			panic("out of order")
		case "long":
			return "a long result", nil
		case "nap":
			return "rested", clock.Sleep(ctx, 50*time.Second)
		case "slow":
			return "late", clock.Sleep(ctx, time.Second)
		case "hang":
			return "late", clock.Sleep(ctx, time.Hour)
		}
		return "fine", nil
	})
}

// Any two options work together, in either order and with the noise. The run meets the
// invariants, and the trace shows the effect of each option that can have one.
func TestOptionsCombined(t *testing.T) {
	list := features()
	for _, first := range list {
		for _, second := range list {
			if first.row == second.row {
				continue
			}
			name := first.name + ", then " + second.name
			events := compose(t, first, second)
			checkInvariants(t, name, events)
			if !first.acted(events) {
				t.Errorf("%s: the trace does not show the first", name)
			}
			if !first.ends && !second.acted(events) {
				t.Errorf("%s: the trace does not show the second", name)
			}
		}
	}
}

// An option that is disabled has no effect on the trace.
func TestOptionsDisabled(t *testing.T) {
	for _, f := range features() {
		on := f.on
		f.on = func(*loop.Config, int) {}
		if f.row == "continuations" {
			f.on = func(c *loop.Config, _ int) { c.Continuations = loop.Disabled }
		}
		events := compose(t, f)
		checkInvariants(t, f.name, events)
		if f.acted(events) {
			t.Errorf("%s: the trace shows it although it is off", f.name)
		}
		f.on = on
		if !f.acted(compose(t, f)) {
			t.Errorf("%s: the trace does not show it alone", f.name)
		}
	}
}
