package scenario

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/preset"
	"github.com/looptape/looptape/trace"
)

// FromTrace makes a scenario file of a recorded run: its models and tools say
// again what they said then, and the recorded trace is what is expected. With it
// a run that went wrong once goes wrong each time.
//
// What a scenario cannot hold (media in results, policies of the caller's own,
// other model calls than the answer's) is listed in the file's comment. The
// scenario is tried: where nothing is listed, it gives its trace. That of a run on
// a real clock is expected with the times that it has on the virtual one. The
// error says that there is no run to make one of.
func FromTrace(events []trace.Event) ([]byte, error) {
	if len(events) == 0 {
		return nil, errors.New("scenario: the trace is empty")
	}
	events = trace.Canonical(events)
	one := events[:1]
	for len(one) < len(events) && events[len(one)].Run == one[0].Run {
		one = events[:len(one)+1]
	}
	start, ok := one[0].Body.(trace.RunStart)
	if !ok {
		return nil, fmt.Errorf("scenario: the run %q does not begin with %s", one[0].Run, trace.KindRunStart)
	}
	b := builder{start: start, tools: map[string]*fake.Tool{}, results: map[string]llm.ToolResult{}, virtual: start.Clock == trace.ClockVirtual}
	if len(one) < len(events) {
		b.lose("the runs after the first")
	}
	b.options()
	for _, ev := range one {
		b.event(ev)
	}
	b.flush()
	if !b.first {
		return nil, fmt.Errorf("scenario: the run %q sent no request; there is nothing to repeat", one[0].Run)
	}
	return b.file(one)
}

// FromMessages makes a scenario file of a plain list of messages: those up to the
// last user message are its history and input, and the turns after it its script.
// Nothing is expected, since nothing but the messages is known, and no guard stops
// a tool that fails on. What keeps the script from playing, such as a call without a
// result, is listed in the comment.
func FromMessages(name string, messages []llm.Message) ([]byte, error) {
	last := -1
	for i, m := range messages {
		if m.Role == llm.RoleUser && i+1 < len(messages) {
			last = i
		}
	}
	if last < 0 {
		return nil, fmt.Errorf("scenario: the run %q has no user message with an answer", name)
	}
	b := builder{tools: map[string]*fake.Tool{}, results: map[string]llm.ToolResult{}}
	b.script.Name = name
	before := messages[:last]
	if len(before) > 0 && before[0].Role == llm.RoleSystem {
		b.script.System, before = before[0].Text(), before[1:]
	}
	b.script.History, b.script.Input = before, messages[last:last+1]
	answers := 0
	b.unanswered(messages[last+1:])
	for _, m := range messages[last+1:] {
		switch m.Role {
		case llm.RoleAssistant:
			answers++
			b.turns = append(b.turns, turnOf(m, trace.ModelResponse{Message: m}))
			for _, c := range m.Calls() {
				b.tool(c.Name)
			}
		case llm.RoleTool:
			for _, p := range m.Parts {
				if r, ok := p.(llm.ToolResult); ok {
					name := b.nameOf(r, messages)
					b.tool(name).Calls = append(b.tool(name).Calls, b.behaviour(name, trace.OutcomeOK, r))
				}
			}
		case llm.RoleUser, llm.RoleSystem:
		}
	}
	b.option("max_steps", fake.NumberValue(max(answers, 1)))
	b.option("same_tool_error_stop", fake.NumberValue(0))
	b.flush()
	return b.file(nil)
}

// unanswered notes the calls without a result: what their tools did is not known.
func (b *builder) unanswered(messages []llm.Message) {
	results := map[string]int{}
	for _, m := range messages {
		for _, p := range m.Parts {
			if r, ok := p.(llm.ToolResult); ok {
				results[r.ID]++
			}
		}
	}
	for _, m := range messages {
		for _, c := range m.Calls() {
			if results[c.ID]--; results[c.ID] < 0 {
				b.lose(fmt.Sprintf("what the call %s of the tool %s came to, which the messages do not tell", c.ID, c.Name))
			}
		}
	}
}

// builder collects a script.
type builder struct {
	script  fake.Script
	start   trace.RunStart
	virtual bool
	order   []string // of the tools
	tools   map[string]*fake.Tool
	results map[string]llm.ToolResult
	turns   []fake.Response
	tries   []fake.Response // the failed attempts of the turn that is to come
	asked   time.Duration
	running map[string]entry // the calls whose tools have not returned
	ended   []entry          // those whose tools have
	timeout time.Duration    // after which a tool's context ends
	over    bool             // the run's context has ended
	lost    []string
	first   bool        // the first request was seen
	lane    string      // the model's name
	filled  loop.Config // what the preset says
}

func (b *builder) lose(what string) {
	if !slices.Contains(b.lost, what) {
		b.lost = append(b.lost, what)
	}
}

// options takes over what the run declares, as far as a scenario knows it.
func (b *builder) options() {
	known := map[string]bool{}
	for _, o := range OptionNames() {
		known[o[0]] = true
	}
	for _, o := range b.start.Options {
		v := fake.TextValue(o.Value)
		if _, err := strconv.ParseFloat(o.Value, 64); err == nil {
			v = fake.Value{Kind: fake.Number, Text: o.Value}
		}
		sub, isRetry := strings.CutPrefix(o.Name, "retry_")
		switch {
		case isRetry:
			b.retry(fake.Option{Name: sub, Value: v})
		case o.Name == "stop_when":
			b.stopWhen(o.Value)
		case known[o.Name]:
			if o.Name == "tool_timeout" {
				b.timeout, _ = time.ParseDuration(o.Value) // what is none is reported when the scenario is tried
			}
			b.script.Loop = append(b.script.Loop, fake.Option{Name: o.Name, Value: v})
		default:
			b.lose("the option " + o.Name)
		}
	}
	b.option("same_tool_error_stop", fake.NumberValue(0)) // what is not declared stopped nothing
	if name, is := b.start.Options.Lookup("preset"); is {
		b.filled, _ = preset.Apply(name, loop.Config{})
	}
	if b.filled.ResponseMode == llm.NonStreaming { // and streamed is not declared
		b.option("delivery", fake.TextValue("streamed"))
	}
	for _, t := range b.start.Tools {
		b.tool(t.Name).Client = t.Client
	}
}

// stopWhen takes over the stop conditions that a scenario can say.
func (b *builder) stopWhen(declared string) {
	list := fake.Value{Kind: fake.List}
	for item := range strings.SplitSeq(declared, ",") {
		name, arg, _ := strings.Cut(item, ":")
		v := fake.TextValue(arg)
		switch _, err := strconv.Atoi(arg); {
		case item == "never":
			list.Items = append(list.Items, fake.TextValue(item))
			continue
		case name == "has_tool_call":
		case (name == "step_count" || name == "total_tokens") && err == nil:
			v.Kind = fake.Number
		default: // the price of a cost, or what a custom condition asks, is not in a trace
			b.lose("the stop condition " + item)
			continue
		}
		list.Items = append(list.Items, fake.Value{Kind: fake.Map, Fields: []fake.Option{{Name: name, Value: v}}})
	}
	if list.Items != nil {
		b.option("stop_when", list)
	}
}

// option sets an option, if it is not set.
func (b *builder) option(name string, v fake.Value) {
	if !slices.ContainsFunc(b.script.Loop, func(o fake.Option) bool { return o.Name == name }) {
		b.script.Loop = append(b.script.Loop, fake.Option{Name: name, Value: v})
	}
}

// retry adds a member to the option retry.
func (b *builder) retry(member fake.Option) {
	i := slices.IndexFunc(b.script.Loop, func(o fake.Option) bool { return o.Name == "retry" })
	if i < 0 {
		i = len(b.script.Loop)
		b.script.Loop = append(b.script.Loop, fake.Option{Name: "retry", Value: fake.Value{Kind: fake.Map}})
	}
	v := &b.script.Loop[i].Value
	v.Fields = append(v.Fields, member)
}

func (b *builder) tool(name string) *fake.Tool {
	t := b.tools[name]
	if t == nil {
		t = &fake.Tool{Name: name}
		b.tools[name] = t
		b.order = append(b.order, name)
	}
	return t
}

func (b *builder) event(ev trace.Event) {
	if ev.Purpose != trace.PurposeAnswer {
		b.lose("the model calls for the purpose " + string(ev.Purpose))
		return
	}
	switch e := ev.Body.(type) {
	case trace.ModelConfig:
		b.setup(e)
	case trace.ModelRequest:
		if !b.first {
			b.first = true
			b.script.Input = e.NewMessages
		} else if len(e.NewMessages) == 0 && len(b.tries) == 0 {
			b.reopen()
		}
		b.asked = ev.At
	case trace.ModelResponse:
		t := turnOf(e.Message, e)
		t.Delay = b.since(ev.At, b.asked)
		b.tries = append(b.tries, t)
		b.flush()
	case trace.ModelError:
		b.tries = append(b.tries, failedTurn(e, b.since(ev.At, b.asked)))
	case trace.Warning:
		b.warning(e)
	case trace.ToolStart:
		b.enter(e, ev.At)
	case trace.Abandoned:
		b.abandon(e.ToolCallID, ev.At)
	case trace.ToolEnd:
		b.leave(e, ev.At)
	case trace.HistoryRewrite:
		b.lose("the rewrite by " + e.By)
	case trace.Decision:
		if _, told := b.start.Options.Lookup("stop_when"); e.By != "" || e.Reason == trace.ReasonStopCondition && !told {
			b.lose(fmt.Sprintf("what decided to %s (%s)", e.Action, cmp.Or(e.By, string(e.Reason))))
		}
	case trace.Custom:
		b.lose("the event " + e.Name)
	case trace.Canceled:
		b.cancelled(ev.At)
		if e.Reason == string(trace.ReasonCancel) {
			b.script.Cancel = &fake.Cancel{At: ev.At, Before: ev.At == 0}
			if ev.At == 0 && b.first {
				b.script.Cancel = nil
				b.lose("the cancel, whose time is not known")
			}
		}
	default:
	}
}

// since is the time between two events, on a virtual clock.
func (b *builder) since(at, from time.Duration) time.Duration {
	if !b.virtual {
		return 0
	}
	return at - from
}

func (b *builder) setup(e trace.ModelConfig) {
	b.script.System = e.System
	if e.Model != "" {
		b.lane = e.Model
		b.option("model", fake.TextValue(e.Model))
	}
	rest := e.Settings
	if p := rest.ParallelToolCalls; p != nil {
		b.option("parallel_calls", fake.BoolValue(*p))
		rest.ParallelToolCalls = nil
	}
	if string(rest.AppendJSON(nil)) != "{}" || len(e.Extra) > 0 {
		b.lose("the model's settings")
	}
	for _, t := range e.Tools {
		x := b.tool(t.Name)
		x.Description = t.Description
		if string(t.Parameters) != `{"type":"object"}` {
			x.Parameters = t.Parameters
		}
	}
}

// warning takes back what an Accumulator warned about, and the adapter's own
// warnings as they are.
func (b *builder) warning(w trace.Warning) {
	if len(b.turns) == 0 || w.ToolCallID != "" {
		return
	}
	t := &b.turns[len(b.turns)-1]
	if n := len(t.Attempts); n > 0 {
		t = &t.Attempts[n-1]
	}
	switch w.Code {
	case llm.WarnNoFinish:
		t.OmitFinish = true
	case llm.WarnNoCallEnd:
		found := false
		for i, c := range t.Calls {
			if strings.Contains(w.Message, "the call "+c.ID+" ") {
				t.Calls[i].OmitEnd, found = true, true
			}
		}
		if !found {
			b.lose("which call was not ended by the provider")
		}
	case llm.WarnNoCalls, loop.WarnNoName: // follow from the turn
	case llm.WarnRepeatedArguments, llm.WarnNoCallStart:
		b.lose("how the provider sent the arguments (" + w.Code + ")")
	default:
		t.Warnings = append(t.Warnings, llm.Warning{Code: w.Code, Message: w.Message})
	}
}

// flush ends a turn, with all its attempts.
func (b *builder) flush() {
	switch len(b.tries) {
	case 0:
	case 1:
		b.turns = append(b.turns, b.tries[0])
	default:
		b.turns = append(b.turns, fake.Response{Attempts: b.tries})
	}
	b.tries = nil
}

// reopen makes the last turn an attempt: the same messages are asked about again.
func (b *builder) reopen() {
	n := len(b.turns) - 1
	last := b.turns[n]
	b.turns = b.turns[:n]
	b.tries = last.Attempts
	if b.tries == nil {
		b.tries = []fake.Response{last}
	}
}

// nameOf finds the tool that a result is of, where the result does not say.
func (b *builder) nameOf(r llm.ToolResult, messages []llm.Message) string {
	if r.Name != "" {
		return r.Name
	}
	for _, m := range slices.Backward(messages) {
		for _, c := range m.Calls() {
			if c.ID == r.ID {
				return c.Name
			}
		}
	}
	return "unknown"
}

// file writes what was collected; expected may be nil.
func (b *builder) file(expected []trace.Event) ([]byte, error) {
	for _, name := range b.order {
		b.script.Tools = append(b.script.Tools, *b.tools[name])
	}
	b.script.Models = []fake.ModelScript{{Name: cmp.Or(b.lane, "main"), Responses: b.turns}}
	expected = b.try(expected)
	yaml, err := b.script.YAML()
	if err != nil {
		return nil, err
	}
	comment := "Made from a recorded run.\n"
	if len(b.lost) > 0 {
		comment += "Not taken over: " + strings.Join(b.lost, "; ") + ".\n"
	}
	a := txtar.Archive{Comment: []byte(comment + "\n"), Files: []txtar.File{{Name: ScriptSection, Data: yaml}}}
	if expected != nil {
		a.Files = append(a.Files, txtar.File{Name: TraceSection, Data: []byte(trace.FormatText(expected))})
	}
	return txtar.Format(&a), nil
}

// try runs the script and returns the trace to expect of it, if one was recorded.
// That it gives another, or does not run, is a loss, if none is known that explains
// it.
func (b *builder) try(recorded []trace.Event) []trace.Event {
	var w, g string
	o, err := Run(context.Background(), &b.script, nil)
	if err == nil && recorded == nil {
		if len(o.Unused) > 0 {
			b.lose("what makes it ask for all answers: it leaves out " + o.Unused[0])
		}
		return nil
	}
	if err == nil {
		got := trace.Canonical(o.Events)
		w, g = trace.FormatText(recorded), trace.FormatText(got)
		if !b.virtual {
			w, g = trace.FormatText(timeless(recorded)), trace.FormatText(timeless(got))
		}
		if w == g {
			return got
		}
	}
	switch {
	case len(b.lost) > 0:
	case err != nil:
		line, _, _ := strings.Cut(err.Error(), "\n")
		b.lose("what makes it run: " + strings.TrimSuffix(strings.TrimPrefix(line, ": "), " (-want +got):"))
	default:
		same := 0
		for same < min(len(w), len(g)) && w[same] == g[same] {
			same++
		}
		b.lose(fmt.Sprintf("what makes the trace differ from its line %d on", 1+strings.Count(w[:same], "\n")))
	}
	return recorded
}

// timeless returns the events without what tells the clock.
func timeless(events []trace.Event) []trace.Event {
	out := slices.Clone(events)
	for i := range out {
		out[i].At = 0
		if start, ok := out[i].Body.(trace.RunStart); ok {
			start.Clock = ""
			out[i].Body = start
		}
	}
	return out
}
