package preset_test

import (
	"context"
	"encoding/json"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/middleware"
	"github.com/looptape/looptape/loop/preset/agentier"
	"github.com/looptape/looptape/loop/preset/agentloop"
	"github.com/looptape/looptape/loop/scenario"
	"github.com/looptape/looptape/trace"
)

// golden is a scenario of the contracts and its parts, which run with the entry points of a preset.
type golden struct {
	*scenario.File
	id       string
	parts    []string
	messages []llm.Message // the conversation at the end of the run
	mem      trace.Memory  // the trace of the run
	cancel   context.CancelFunc
	model    *fake.Model
}

// start prepares a run of the scenario: a context, the model, and the configuration without the
// defaults of the preset.
func (g *golden) start(t *testing.T) (context.Context, loop.Config) {
	t.Helper()
	script := *g.Script
	script.Loop = slices.DeleteFunc(slices.Clone(script.Loop), func(o fake.Option) bool { return o.Name == "preset" })
	cfg, err := scenario.Config(&script)
	if err != nil {
		t.Fatal(err)
	}
	clock := fake.NewClock()
	tools := &fake.Tools{Clock: clock, List: script.Tools}
	var ctx context.Context
	ctx, g.cancel = context.WithCancel(t.Context())
	t.Cleanup(g.cancel)
	if c := script.Cancel; c != nil && c.Before {
		g.cancel()
	} else if c != nil && c.At > 0 {
		clock.AfterFunc(c.At, g.cancel)
	}
	for _, tool := range script.Tools {
		cfg.Tools = append(cfg.Tools, loop.Tool{Name: tool.Name, Description: tool.Description, Parameters: tool.Parameters, Run: func(ctx context.Context, c loop.Call) (loop.Output, error) {
			if script.Cancel != nil && script.Cancel.InTool == c.Name {
				g.cancel()
			}
			parts, err := tools.Run(ctx, c.ID, c.Name, c.Arguments)
			return loop.Output{Content: parts}, err
		}})
	}
	g.mem, g.model = trace.Memory{}, script.NewModel(clock)
	cfg.Model, cfg.Clock, cfg.Sink, cfg.Deltas = "main", clock, &g.mem, true
	t.Cleanup(func() { _ = clock.Drain() }) // tools that the run abandoned
	return ctx, cfg
}

// delivery is the option of a trace without streaming.
const delivery = " delivery=buffered"

// check compares the parts and the trace of a run with those of the scenario. A run in another
// response mode has other tokens, and its trace declares another mode.
func (g *golden) check(t *testing.T, entry string, parts []any, streams bool) {
	t.Helper()
	var got []string
	for _, p := range parts {
		var line strings.Builder
		enc := json.NewEncoder(&line)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(p); err != nil {
			t.Fatal(err)
		}
		got = append(got, line.String())
	}
	isToken := func(line string) bool {
		return strings.HasPrefix(line, `{"callback":"onToken"`) || strings.HasPrefix(line, `{"type":"text"`) || strings.HasPrefix(line, `{"type":"thinking"`)
	}
	events := slices.Clone(g.mem.Events())
	for i, ev := range events {
		if b, ok := ev.Body.(trace.ModelConfig); ok { // a scenario has no name of the model
			b.Model = ""
			events[i].Body = b
		}
	}
	events = slices.DeleteFunc(events, func(ev trace.Event) bool { // of the hooks of agentloop
		b, ok := ev.Body.(trace.Warning)
		return ok && b.Code == middleware.WarnToolNotFound
	})
	want, text := g.parts, trace.FormatText(trace.Canonical(events))
	declared := strings.Replace(g.Trace, delivery, "", 1)
	if !streams {
		declared = strings.Replace(declared, " max_steps=", delivery+" max_steps=", 1)
	}
	if declared != g.Trace {
		want, got = slices.DeleteFunc(slices.Clone(want), isToken), slices.DeleteFunc(got, isToken)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s, %s: parts (-want +got):\n%s", g.id, entry, diff)
	}
	if diff := cmp.Diff(declared, text); diff != "" {
		t.Errorf("%s, %s: trace (-want +got):\n%s", g.id, entry, diff)
	}
}

// scenariosOf yields the scenarios of a contract by their names.
func scenariosOf(t *testing.T, contract string) iter.Seq2[string, *scenario.File] {
	t.Helper()
	files, err := filepath.Glob("../../testdata/contracts/" + contract + "-*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("got %d scenarios of %s, %v", len(files), contract, err)
	}
	return func(yield func(string, *scenario.File) bool) {
		for _, path := range files {
			src, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			f, err := scenario.Parse(path, src)
			if err != nil {
				t.Fatal(err)
			}
			if !yield(strings.TrimSuffix(filepath.Base(path), ".txtar"), f) {
				return
			}
		}
	}
}

// goldens returns the scenarios of a contract, with the parts of their runs.
func goldens(t *testing.T, contract string) (list []*golden) {
	t.Helper()
	for id, f := range scenariosOf(t, contract) {
		g := &golden{File: f, id: id}
		o, err := scenario.Run(t.Context(), f.Script, nil)
		if err != nil {
			t.Fatal(err)
		}
		text := f.Parts
		if !f.HasParts {
			text = o.Parts()
		}
		g.parts, g.messages = slices.Collect(strings.Lines(text)), slices.Concat(f.Script.History, f.Script.Input, o.Run.Messages)
		list = append(list, g)
	}
	return list
}

// AG: the scenarios of the contract have the same trace, callbacks, result and error with the
// entry points of an agent.
func TestAgentierGoldens(t *testing.T) {
	for _, g := range goldens(t, "AG") {
		t.Run(g.id, func(t *testing.T) {
			in := loop.Continue(g.Script.History, g.Script.Input...)
			for _, entry := range []string{"Run", "Parts"} {
				ctx, cfg := g.start(t)
				a, err := agentier.New(g.model, &cfg)
				if err != nil {
					t.Fatal(err)
				}
				var parts []any
				if entry == "Parts" {
					for p := range a.Parts(ctx, in, nil) {
						parts = append(parts, p)
					}
					g.check(t, entry, parts, true)
					continue
				}
				var last agentier.Part
				opts := recordCallbacks(func(p agentier.Part) { last, parts = p, append(parts, p) })
				if strings.Contains(g.Trace, delivery) {
					opts.OnToken = nil
				}
				res, err := a.Run(ctx, in, opts)
				if end := g.mem.Events()[len(g.mem.Events())-1].Body.(trace.RunEnd); res != nil && res.Stop != end.StopReason {
					t.Errorf("the stop reason is %q, want %q", res.Stop, end.StopReason)
				}
				if res != last.Complete || err != last.Err {
					t.Errorf("got %+v, %v, and in the callbacks %+v, %v", res, err, last.Complete, last.Err)
				}
				g.check(t, entry, parts, !strings.Contains(g.Trace, delivery))
			}
		})
	}
}

// recordCallbacks returns options whose callbacks pass their arguments to add.
func recordCallbacks(add func(agentier.Part)) *agentier.RunOptions {
	return &agentier.RunOptions{
		OnToken: func(token string) { add(agentier.Part{Type: "onToken", Token: token}) },
		OnToolCall: func(name string, args json.RawMessage) {
			add(agentier.Part{Type: "onToolCall", Name: name, Args: args})
		},
		OnToolResult: func(name string, value any) { add(agentier.Part{Type: "onToolResult", Name: name, Value: value}) },
		OnComplete:   func(res *agentier.Result) { add(agentier.Part{Type: "onComplete", Complete: res}) },
		OnError:      func(err error) { add(agentier.Part{Type: "onError", Err: err}) },
	}
}

// AL: the scenarios of the contract have the same trace, stream, response and history with the
// entry points of an agent, whose configuration has the guardrails and permissions of the scenario.
func TestAgentloopGoldens(t *testing.T) {
	for _, g := range goldens(t, "AL") {
		t.Run(g.id, func(t *testing.T) {
			for _, streams := range []bool{true, false} {
				ctx, cfg := g.start(t)
				cfg.Model = ""
				own := agentloopConfig(cfg)
				if set := checksOf[g.id]; set != nil {
					own.Middleware = nil
					set(own)
				}
				l, err := agentloop.New(ctx, g.model, own)
				if err != nil {
					t.Fatal(err)
				}
				in := agentloop.Input{Messages: g.Script.Input}
				if streams {
					var parts []any
					for p, err := range l.Stream(ctx, in, nil) {
						if parts = append(parts, p); err != nil {
							t.Fatal(err)
						}
					}
					g.check(t, "Stream", parts, true)
				} else {
					if slices.Contains([]string{"AL-34", "AL-37", "AL-37-none"}, g.id) {
						continue // calls without a stream have no ends
					}
					res, err := l.Complete(ctx, in, nil)
					if err != nil {
						t.Fatal(err)
					}
					g.parts = g.parts[len(g.parts)-1:]
					g.check(t, "Complete", []any{agentloop.StreamEvent{Type: "done", Response: res}}, false)
				}
				if diff := cmp.Diff(g.messages, l.History().Messages()); diff != "" {
					t.Errorf("%s, streaming %v: history (-want +got):\n%s", g.id, streams, diff)
				}
			}
		})
	}
}

// checksOf are the guardrails and permissions of scenarios, as settings of an agent.
var checksOf = map[string]func(*agentloop.Config){
	"AL-15":          policy("a:approve b:approve"),
	"AL-15-parallel": policy("a:approve b:approve"),
	"AL-15-steps":    policy("b:approve d:denied"),
	"AL-45":          policy("b:denied c:approve"),
	"AL-50":          policy("no:denied"),
	"AL-57":          rail(middleware.GuardOutput, "secret", "that is not for here", true),
	"AL-58":          rail(middleware.GuardInput, "password", "no passwords", true),
	"AL-59":          rail(middleware.GuardOutput, "hm", "odd", false),
	"AL-64":          policy("a:skip b:deny"),
	"AL-66":          policy("a:approve b:suspend"),
	"AL-67":          policy("b:suspend"),
}

// policy denies some tools and asks for the permission of others. It allows the rest.
func policy(rules string) func(*agentloop.Config) {
	decisions := map[string]string{}
	for _, f := range strings.Fields(rules) {
		name, decision, _ := strings.Cut(f, ":")
		decisions[name] = decision
	}
	return func(c *agentloop.Config) {
		c.Policy = func(_ context.Context, req middleware.PermissionRequest) (middleware.Permission, error) {
			d := decisions[req.Tool]
			return middleware.Permission{Allow: d == "", Ask: d != "" && d != "denied"}, nil
		}
		c.Approve = func(_ context.Context, req middleware.ApprovalRequest) (middleware.Approval, error) {
			return middleware.Approval{Decision: middleware.ApprovalDecision(decisions[req.Call.Name])}, nil
		}
	}
}

// rail searches the last message of the request, or the response, for a string.
func rail(kind middleware.GuardrailKind, match, reason string, tripwire bool) func(*agentloop.Config) {
	return func(c *agentloop.Config) {
		c.Guardrails = []middleware.Guardrail{{Name: "guardrail", Kind: kind, Check: func(_ context.Context, c middleware.GuardrailCheck) (middleware.GuardrailResult, error) {
			m := c.Messages[len(c.Messages)-1]
			if c.Response != nil {
				m = c.Response.Message()
			}
			return middleware.GuardrailResult{Pass: !strings.Contains(m.Text(), match), Tripwire: tripwire, Reason: reason}, nil
		}}}
	}
}
