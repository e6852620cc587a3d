package preset_test

import (
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"maps"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/middleware"
	"github.com/looptape/looptape/loop/preset/deepagents"
	"github.com/looptape/looptape/loop/preset/deuz"
	"github.com/looptape/looptape/loop/preset/reactagent"
	"github.com/looptape/looptape/loop/scenario"
	"github.com/looptape/looptape/loop/uistream"
	"github.com/looptape/looptape/trace"
)

// playback is a run of a scenario through an entry point.
type playback struct {
	model  llm.Model
	cfg    loop.Config // without the defaults of the preset
	input  []llm.Message
	agents *deepagents.Agent // the root of a scenario of deepagents
	vars   *middleware.Vars
	enter  func(tool string)
	events []trace.Event
	result *loop.Result // of the entry point, if it is that of the loop
	parts  []any        // what the entry point yields, if it yields the parts of the preset
}

// entryPoint is an entry point that runs the scenarios of a contract.
type entryPoint struct {
	name       string
	otherParts bool // it has other deltas than a run with the options that Fill sets
	run        func(context.Context, *playback) error
}

// contractEntryPoints are the entry points by contract.
var contractEntryPoints = map[string][]entryPoint{
	"DZ": {
		{"GenerateText", true, func(ctx context.Context, p *playback) error {
			res, err := deuz.GenerateText(ctx, deuz.Options{Model: p.model, Messages: p.input, Loop: p.cfg})
			if err == nil {
				p.result = res.Result
			}
			return err
		}},
		{"StreamChat", false, func(ctx context.Context, p *playback) error {
			s := deuz.StreamChat(ctx, deuz.Options{Model: p.model, Messages: p.input, Loop: p.cfg})
			p.parts = listOf(s.Full())
			_, err := s.Usage()
			return err
		}},
	},
	"DA": {
		{"Generate", false, func(ctx context.Context, p *playback) error {
			return p.keep(deepagents.Generate(ctx, p.agents, loop.Input{Messages: p.input}, p.vars, &deepagents.Options{Loop: p.cfg}))
		}},
		{"Execute", false, func(ctx context.Context, p *playback) error {
			s, err := deepagents.Execute(ctx, p.agents, loop.Input{Messages: p.input}, p.vars, &deepagents.Options{Loop: p.cfg})
			if err != nil {
				return err
			}
			p.parts = listOf(s.FullStream())
			return p.keep(s.Wait())
		}},
		{"Swarm", false, func(ctx context.Context, p *playback) error {
			parts, err := deepagents.Swarm(ctx, p.agents, loop.Input{Messages: p.input}, p.vars, &deepagents.Options{Loop: p.cfg}, uistream.Options{})
			if err == nil {
				_ = listOf(parts)
			}
			return err
		}},
	},
	"RA": {
		{"New", false, func(ctx context.Context, p *playback) error {
			a, err := reactagent.New(p.model, &reactagent.Config{Config: p.cfg})
			return p.runAgent(ctx, a, err)
		}},
		{"NewDeep", false, func(ctx context.Context, p *playback) error {
			cfg := reactagent.DeepConfig{Config: reactagent.Config{Config: p.cfg}, NoFilesystem: true, NoSummary: true}
			cfg.Middleware = slices.DeleteFunc(slices.Clone(p.cfg.Middleware), func(m loop.Middleware) bool { return m.Name == "todos" })
			if len(cfg.Middleware) == len(p.cfg.Middleware) {
				cfg.DisabledTools = []string{"write_todos"}
			}
			a, err := reactagent.NewDeep(p.model, &cfg)
			return p.runAgent(ctx, a, err)
		}},
	},
}

func listOf[P any](parts iter.Seq[P]) (list []any) {
	for p := range parts {
		list = append(list, p)
	}
	return list
}

// keep keeps the result of a deep agent.
func (p *playback) keep(res *deepagents.Result, err error) error {
	if err == nil {
		own := *res.Loop
		own.Text, own.Steps, own.Usage, own.FinishReason, own.Messages = res.Text, nil, res.Usage, res.Finish, res.Messages
		for i := range res.Steps {
			own.Steps = append(own.Steps, &res.Steps[i])
		}
		p.result = &own
	}
	return err
}

func (p *playback) runAgent(ctx context.Context, a *reactagent.Agent, err error) error {
	if err == nil {
		a.Run(ctx, p.input, "", func(e reactagent.Event) { p.parts, err = append(p.parts, e), e.Err })
	}
	return err
}

// TestContractsOfEntryPoints runs the scenarios of the contracts DZ, DA and RA through the entry points of their
// presets. They have the same trace and the same parts as in loop.TestGoldens, which runs them with
// the options that Fill sets.
func TestContractsOfEntryPoints(t *testing.T) {
	for contract, entries := range contractEntryPoints {
		for id, f := range scenariosOf(t, contract) {
			t.Run(id, func(t *testing.T) {
				for _, e := range entries {
					playContract(t, f, e)
				}
			})
		}
	}
}

// playContract runs a scenario through an entry point.
func playContract(t *testing.T, f *scenario.File, e entryPoint) {
	t.Helper()
	s := *f.Script
	s.Loop = slices.DeleteFunc(slices.Clone(s.Loop), func(o fake.Option) bool { return o.Name == "preset" })
	cfg, err := scenario.Config(&s)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	clock := fake.NewClock()
	clock.OpenInOrder(s.Gates...)
	cfg.Clock, cfg.Deltas = clock, true
	p := &playback{model: s.NewModel(clock), cfg: cfg, input: slices.Concat(s.History, s.Input)}
	p.cancelAt(cmp.Or(s.Cancel, &fake.Cancel{}), clock, cancel)
	p.addTools(&s, e.name == "StreamChat")
	if p.readAgents(&s); p.agents.PrepareEnd != nil && e.name != "Swarm" {
		return // only Swarm calls the hook
	}
	err = e.run(ctx, p)
	_ = clock.Drain() // abandoned tools end here
	if len(p.events) == 0 {
		t.Fatalf("%s: no run: %v", e.name, err)
	}
	if p.agents.Handoffs != nil { // their tools are not those of the run
		start := p.events[0].Body.(trace.RunStart)
		start.Tools = nil
		for _, tool := range s.Tools {
			start.Tools = append(start.Tools, trace.ToolInfo{Name: tool.Name, Client: tool.Client})
		}
		p.events[0].Body = start
	}
	got := scenario.Result{Events: p.events}
	if diff := gocmp.Diff(withoutDelivery(f.Trace), withoutDelivery(got.Trace())); diff != "" {
		t.Errorf("%s: trace (-want +got):\n%s", e.name, diff)
	}
	if diff := gocmp.Diff(f.Parts, got.Parts()); diff != "" && f.HasParts && !e.otherParts {
		t.Errorf("%s: parts (-want +got):\n%s", e.name, diff)
	}
	if diff := gocmp.Diff(got.Parts(), linesOf(t, p.parts)); diff != "" && p.parts != nil {
		t.Errorf("%s: parts (-of the trace +of the entry point):\n%s", e.name, diff)
	}
	p.checkResult(t, e.name, err)
}

// cancelAt cancels the run as the scenario says, and keeps the events.
func (p *playback) cancelAt(stop *fake.Cancel, clock *fake.Clock, cancel func()) {
	if stop.Before {
		cancel()
	} else if stop.At > 0 {
		clock.AfterFunc(stop.At, cancel)
	}
	p.enter = func(tool string) {
		if tool == stop.InTool {
			cancel()
		}
	}
	p.cfg.Sink = trace.SinkFunc(func(ev trace.Event) error {
		if p.events = append(p.events, ev); len(p.events) == stop.AfterEvents {
			cancel()
		}
		return nil
	})
}

// addTools adds the tools of the scenario. With values, a text that is JSON has that value, as in the
// parts of a trace.
func (p *playback) addTools(s *fake.Script, values bool) {
	tools := &fake.Tools{Clock: p.cfg.Clock.(*fake.Clock), List: s.Tools}
	for _, tool := range s.Tools {
		own := loop.Tool{Name: tool.Name, Description: tool.Description, Parameters: tool.Parameters}
		if !tool.Client {
			own.Run = func(ctx context.Context, c loop.Call) (out loop.Output, err error) {
				p.enter(c.Name)
				out.Content, err = tools.Run(ctx, c.ID, c.Name, c.Arguments)
				if values && len(out.Content) == 1 && err == nil {
					if text, ok := out.Content[0].(llm.Text); ok && json.Valid([]byte(text.Text)) {
						out.Value = json.RawMessage(text.Text)
					}
				}
				return out, err
			}
		}
		p.cfg.Tools = append(p.cfg.Tools, own)
	}
}

// checkResult compares the result and the error of the entry point with the trace.
func (p *playback) checkResult(t *testing.T, name string, err error) {
	t.Helper()
	end := p.events[len(p.events)-1].Body.(trace.RunEnd)
	if name != "Swarm" && (end.Error != nil) != (err != nil) { // Swarm shows a failed run in its parts only
		t.Errorf("%s: got error %v, the run ended with %v", name, err, end.Error)
	}
	if p.result == nil || err != nil {
		return
	}
	var want, got loop.Result
	for _, ev := range p.events {
		if r, ok := ev.Body.(trace.ModelResponse); ok && ev.Purpose == trace.PurposeAnswer {
			want.Text, want.FinishReason = r.Message.Text(), r.FinishReason
		}
	}
	want.Usage, want.ModelCalls, want.StopReason, want.Messages = end.Usage, end.ModelCalls, end.StopReason, end.AppendedMessages
	got.Text, got.FinishReason, got.Usage, got.ModelCalls, got.StopReason = p.result.Text, p.result.FinishReason, p.result.Usage, p.result.ModelCalls, p.result.StopReason
	got.Messages = p.result.Messages[max(0, len(p.result.Messages)-len(want.Messages)):]
	if diff := gocmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.IgnoreUnexported(loop.Result{})); diff != "" {
		t.Errorf("%s: the end of the result (-of the trace +got):\n%s", name, diff)
	}
	if n := len(p.result.Steps); n != end.Steps && p.result.Steps != nil {
		t.Errorf("%s: %d steps in the result, %d in the trace", name, n, end.Steps)
	}
}

// linesOf returns values as JSON, one per line.
func linesOf(t *testing.T, values []any) string {
	t.Helper()
	var lines strings.Builder
	for _, v := range values {
		line, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		lines.Write(append(line, '\n'))
	}
	return lines.String()
}

// withoutDelivery returns a trace without the response mode, which the entry points set.
func withoutDelivery(trace string) string { return strings.Replace(trace, delivery, "", 1) }

// readAgents turns the agents and variables of a scenario, which are middleware there, into agents and
// variables of deepagents.
func (p *playback) readAgents(s *fake.Script) {
	p.agents, p.vars = &deepagents.Agent{Name: "root", Model: p.model, ModelName: p.cfg.Model}, new(middleware.Vars)
	p.cfg.Middleware = slices.DeleteFunc(slices.Clone(p.cfg.Middleware), func(m loop.Middleware) bool {
		return slices.Contains([]string{"variables", "handoff", "prepare_end"}, m.Name)
	})
	for _, o := range s.Loop {
		for _, item := range o.Value.Items {
			for _, f := range item.Fields {
				switch f.Name {
				case "variables":
					for _, v := range f.Value.Fields {
						middleware.Var[string](v.Name).Set(p.vars, v.Value.Text)
					}
				case "handoff":
					p.handoff(f.Value)
				case "prepare_end":
					p.agents.PrepareEnd = func(context.Context, middleware.Ended) ([]llm.Message, error) {
						text := f.Value.Items[0].Text
						f.Value.Items = f.Value.Items[1:]
						return []llm.Message{llm.User(text)}, nil
					}
				}
			}
		}
	}
}

// handoff makes the agents of a scenario. The first one is the root.
func (p *playback) handoff(agents fake.Value) {
	byName := map[string]*deepagents.Agent{agents.Fields[0].Name: p.agents}
	for _, f := range agents.Fields[1:] {
		byName[f.Name] = &deepagents.Agent{Name: f.Name}
	}
	for _, f := range agents.Fields {
		a := byName[f.Name]
		for _, o := range f.Value.Fields {
			switch o.Name {
			case "description":
				a.Description = o.Value.Text
			case "model":
				a.ModelName = o.Value.Text
			case "instructions":
				a.Instructions = func(vars *middleware.Vars) string {
					user, _ := middleware.Var[string]("user").Get(vars)
					return strings.ReplaceAll(o.Value.Text, "{user}", user)
				}
			case "tools":
				for _, name := range o.Value.Items {
					own := slices.IndexFunc(p.cfg.Tools, func(t loop.Tool) bool { return t.Name == name.Text })
					a.Tools = append(a.Tools, p.cfg.Tools[own])
				}
			case "handoffs":
				for _, name := range o.Value.Items {
					a.Handoffs = append(a.Handoffs, byName[name.Text])
				}
			}
		}
	}
	p.cfg.Tools = slices.DeleteFunc(p.cfg.Tools, func(t loop.Tool) bool {
		return slices.ContainsFunc(slices.Collect(maps.Values(byName)), func(a *deepagents.Agent) bool {
			return slices.ContainsFunc(a.Tools, func(own loop.Tool) bool { return own.Name == t.Name })
		})
	})
}
