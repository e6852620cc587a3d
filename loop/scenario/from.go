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
	"github.com/looptape/looptape/internal/visible"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/preset"
	"github.com/looptape/looptape/trace"
)

// FromTrace returns a scenario file for a recorded run. Its models and tools repeat the
// responses and the results of the run, and the recorded trace is the expected one, with
// virtual times.
//
// The comment of the file lists what a scenario cannot contain: media in results, middleware
// of the caller, model calls with another purpose. FromTrace runs the scenario: if the comment
// lists nothing, it gives its trace. FromTrace returns an error if the events contain no run
// to repeat.
func FromTrace(events []trace.Event) ([]byte, error) {
	if len(events) == 0 {
		return nil, errors.New("scenario: empty trace: record a run")
	}
	events = trace.Canonical(events)
	one := events
	if n := slices.IndexFunc(events, func(ev trace.Event) bool { return ev.Run != events[0].Run }); n > 0 {
		one = events[:n]
	}
	start, ok := one[0].Body.(trace.RunStart)
	if !ok {
		return nil, fmt.Errorf("scenario: run %q: missing event %s", one[0].Run, trace.KindRunStart)
	}
	b := newBuilder(start)
	if len(one) < len(events) {
		b.omit("the runs after the first")
	}
	b.options()
	for _, ev := range one {
		b.event(ev)
	}
	b.flush()
	if !b.hasRequest {
		return nil, fmt.Errorf("scenario: run %q: missing request: record a run that calls a model", one[0].Run)
	}
	return b.file(one)
}

// FromMessages returns a scenario file for a list of messages. The messages up to the last
// user message with a message after it are its history and input, and the responses after it are its script. It
// expects no trace and disables the runaway guard. The comment lists what prevents a run,
// such as a call without a result. FromMessages returns an error if no message follows a
// user message.
func FromMessages(name string, messages []llm.Message) ([]byte, error) {
	last := len(messages) - 2
	for last >= 0 && messages[last].Role != llm.RoleUser {
		last--
	}
	if last < 0 {
		return nil, fmt.Errorf("scenario: run %q: missing response after a user message", name)
	}
	b := newBuilder(trace.RunStart{})
	b.script.Name = name
	before := messages[:last]
	if len(before) > 0 && before[0].Role == llm.RoleSystem {
		b.script.System, before = before[0].Text(), before[1:]
	}
	b.script.History, b.script.Input = before, messages[last:last+1]
	answers := 0
	b.reportUnanswered(messages[last+1:])
	for _, m := range messages[last+1:] {
		switch m.Role {
		case llm.RoleAssistant:
			answers++
			b.responses = append(b.responses, responseFrom(m, trace.ModelResponse{Message: m}))
			for _, c := range m.Calls() {
				b.tool(c.Name)
			}
		case llm.RoleTool:
			for _, p := range m.Parts {
				if r, ok := p.(llm.ToolResult); ok {
					t := b.tool(nameOf(r, messages))
					t.Calls = append(t.Calls, b.behavior(t.Name, trace.OutcomeOK, r))
				}
			}
		case llm.RoleUser:
			b.omit("the last user message, to which the messages contain no response")
		case llm.RoleSystem:
		}
	}
	b.option("max_steps", numberValue(strconv.Itoa(max(answers, 1))))
	b.option("max_consecutive_tool_errors", numberValue("0"))
	return b.file(nil)
}

func (b *builder) reportUnanswered(messages []llm.Message) {
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
				b.omit("the result of the call %s of the tool %s, which the messages do not contain", c.ID, c.Name)
			}
		}
	}
}

type builder struct {
	script       fake.Script
	start        trace.RunStart
	virtual      bool
	responses    []fake.Response
	attempts     []fake.Response // the failed attempts of the next response
	requestedAt  time.Duration
	running      map[string]toolCall // by call id
	ended        []toolCall          // the calls that have ended
	timeout      time.Duration       // of tools
	contextEnded bool                // of the run
	omitted      []string
	hasRequest   bool
	modelName    string
	preset       loop.Config // the options of the preset
}

func newBuilder(start trace.RunStart) *builder {
	return &builder{start: start, virtual: start.Clock == trace.ClockVirtual, running: map[string]toolCall{}}
}

func (b *builder) omit(format string, args ...any) {
	what := fmt.Sprintf(format, args...)
	if !slices.Contains(b.omitted, what) {
		b.omitted = append(b.omitted, what)
	}
}

func textValue(s string) fake.Value { return fake.Value{Kind: fake.Text, Text: s} }

func numberValue(s string) fake.Value { return fake.Value{Kind: fake.Number, Text: s} }

func boolValue(s string) fake.Value { return fake.Value{Kind: fake.Bool, Text: s} }

// options adds the options that the run declares and a scenario knows.
func (b *builder) options() {
	for _, o := range b.start.Options {
		if !b.declared(o) {
			b.omit("the option %s", o.Name)
		}
	}
	b.option("max_consecutive_tool_errors", numberValue("0")) // a trace declares it if it is enabled
	if name, is := b.start.Options.Lookup("preset"); is {
		b.preset, _ = preset.Apply(name, loop.Config{})
	}
	if b.preset.ResponseMode == llm.NonStreaming { // a trace does not declare streaming
		b.option("response_mode", textValue("streaming"))
	}
	for _, t := range b.start.Tools {
		b.tool(t.Name).Client = t.Client
	}
}

// declared adds an option of a trace if a scenario knows it.
func (b *builder) declared(o trace.Option) bool {
	table := loop.Options()
	i := slices.IndexFunc(table, func(x loop.Option) bool { return x.Declared == o.Name })
	if i < 0 {
		return false
	}
	known := &table[i]
	v := textValue(o.Value)
	for _, word := range known.Values {
		if word[1] == o.Value {
			v.Text = word[0]
		}
	}
	switch {
	case known.Type == "bool":
		v = boolValue(v.Text)
	case known.Type == "integer" || known.Type == "number":
		if _, err := strconv.ParseFloat(v.Text, 64); err == nil {
			v = numberValue(v.Text)
		}
	case o.Name == "stop_when":
		b.stopWhen(o.Value)
		return true
	case o.Name == "tool_timeout":
		b.timeout, _ = time.ParseDuration(o.Value) // verify reports an invalid one
	}
	name, member, isRetry := strings.Cut(known.Name, ".")
	if !isRetry {
		b.script.Loop = append(b.script.Loop, fake.Option{Name: name, Value: v})
		return true
	}
	b.option(name, fake.Value{Kind: fake.Map})
	for i := range b.script.Loop {
		if retry := &b.script.Loop[i]; retry.Name == name {
			retry.Value.Fields = append(retry.Value.Fields, fake.Option{Name: member, Value: v})
		}
	}
	return true
}

// stopWhen adds the stop conditions that a scenario knows.
func (b *builder) stopWhen(declared string) {
	list := fake.Value{Kind: fake.List}
	for item := range strings.SplitSeq(declared, ",") {
		name, arg, _ := strings.Cut(item, ":")
		v := textValue(arg)
		switch _, err := strconv.Atoi(arg); {
		case item == "never":
			list.Items = append(list.Items, textValue(item))
			continue
		case name == "has_tool_call":
		case (name == "step_count" || name == "total_tokens") && err == nil:
			v.Kind = fake.Number
		default: // a trace does not contain the price of a cost or a custom condition
			b.omit("the stop condition %s", item)
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

func (b *builder) tool(name string) *fake.Tool {
	i := slices.IndexFunc(b.script.Tools, func(t fake.Tool) bool { return t.Name == name })
	if i < 0 {
		i = len(b.script.Tools)
		b.script.Tools = append(b.script.Tools, fake.Tool{Name: name})
	}
	return &b.script.Tools[i]
}

func (b *builder) event(ev trace.Event) {
	if ev.Purpose != trace.PurposeAnswer {
		b.omit("the model calls for the purpose %s", ev.Purpose)
		return
	}
	switch e := ev.Body.(type) {
	case trace.ModelConfig:
		b.config(e)
	case trace.ModelRequest:
		if !b.hasRequest {
			b.hasRequest = true
			b.script.Input = e.NewMessages
		} else if len(e.NewMessages) == 0 && len(b.attempts) == 0 {
			b.reopen()
		}
		b.requestedAt = ev.At
	case trace.ModelResponse:
		t := responseFrom(e.Message, e)
		t.Delay = b.since(ev.At, b.requestedAt)
		b.attempts = append(b.attempts, t)
		b.flush()
	case trace.ModelError:
		b.attempts = append(b.attempts, failedResponse(e, b.since(ev.At, b.requestedAt)))
	case trace.Warning:
		b.warning(e)
	case trace.ToolStart:
		b.toolStarted(e, ev.At)
	case trace.Abandoned:
		b.abandon(e.ToolCallID, ev.At)
	case trace.ToolEnd:
		b.toolEnded(e, ev.At)
	case trace.HistoryRewrite:
		b.omit("the rewrite by %s", e.By)
	case trace.Decision:
		if _, declared := b.start.Options.Lookup("stop_when"); e.By != "" || e.Reason == trace.ReasonStopCondition && !declared {
			b.omit("the decision to %s (%s)", e.Action, cmp.Or(e.By, string(e.Reason)))
		}
	case trace.Custom:
		b.omit("the event %s", e.Name)
	case trace.Canceled:
		b.canceled(ev.At)
		if e.Reason == string(trace.ReasonCancel) {
			if ev.At == 0 && b.hasRequest {
				b.omit("the cancellation, whose time is unknown")
			} else {
				b.script.Cancel = &fake.Cancel{At: ev.At, Before: ev.At == 0}
			}
		}
	default:
	}
}

// since returns the time between two events on a virtual clock, or 0.
func (b *builder) since(at, from time.Duration) time.Duration {
	if !b.virtual {
		return 0
	}
	return at - from
}

func (b *builder) config(e trace.ModelConfig) {
	b.script.System = e.System.Text()
	if e.Model != "" {
		b.modelName = e.Model
		b.option("model", textValue(e.Model))
	}
	rest := e.Settings
	if p := rest.ParallelToolCalls; p != nil {
		b.option("parallel_tool_calls", boolValue(strconv.FormatBool(*p)))
		rest.ParallelToolCalls = nil
	}
	if string(rest.AppendJSON(nil)) != "{}" || len(e.Extra) > 0 {
		b.omit("the model's settings")
	}
	for _, t := range e.Tools {
		x := b.tool(t.Name)
		x.Description = t.Description
		if string(t.Parameters) != `{"type":"object"}` {
			x.Parameters = t.Parameters
		}
	}
}

// warning restores the anomaly that an Accumulator warned about. It adds other warnings.
func (b *builder) warning(w trace.Warning) {
	if len(b.responses) == 0 || w.ToolCallID != "" {
		return
	}
	t := &b.responses[len(b.responses)-1]
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
			b.omit("the call without an end")
		}
	case llm.WarnNoCalls, loop.WarnNoName: // follow from the response
	case llm.WarnRepeatedArguments, llm.WarnNoCallStart:
		b.omit("the chunks of the arguments (%s)", w.Code)
	default:
		t.Warnings = append(t.Warnings, llm.Warning{Code: w.Code, Message: w.Message})
	}
}

// flush ends a response with all its attempts.
func (b *builder) flush() {
	switch len(b.attempts) {
	case 0:
	case 1:
		b.responses = append(b.responses, b.attempts[0])
	default:
		b.responses = append(b.responses, fake.Response{Attempts: b.attempts})
	}
	b.attempts = nil
}

// reopen makes the last response an attempt: the run sent the same messages again.
func (b *builder) reopen() {
	n := len(b.responses) - 1
	last := b.responses[n]
	b.responses = b.responses[:n]
	b.attempts = last.Attempts
	if b.attempts == nil {
		b.attempts = []fake.Response{last}
	}
}

func nameOf(r llm.ToolResult, messages []llm.Message) string {
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

// file returns the scenario file; expected may be nil.
func (b *builder) file(expected []trace.Event) ([]byte, error) {
	b.script.Models = []fake.ModelScript{{Name: cmp.Or(b.modelName, "main"), Responses: b.responses}}
	expected = b.verify(expected)
	yaml, err := b.script.YAML()
	if err != nil {
		return nil, err
	}
	comment := "Made from a recorded run.\n"
	if len(b.omitted) > 0 {
		comment += "Omitted: " + string(visible.Text([]byte(visible.Escaped(strings.Join(b.omitted, "; "))))) + ".\n"
	}
	a := txtar.Archive{Comment: []byte(comment + "\n"), Files: []txtar.File{{Name: scriptSection, Data: yaml}}}
	if expected != nil {
		a.Files = append(a.Files, txtar.File{Name: traceSection, Data: []byte(trace.FormatText(expected))})
	}
	return txtar.Format(&a), nil
}

// verify runs the script and returns the trace to expect, if one was recorded. It reports a
// difference or a failure.
func (b *builder) verify(recorded []trace.Event) []trace.Event {
	o, err := Run(context.Background(), &b.script, nil)
	if err != nil {
		line, _, _ := strings.Cut(err.Error(), "\n")
		b.omitCause("an error: %s", strings.TrimSuffix(strings.TrimPrefix(line, ": "), " (-want +got):"))
		return recorded
	}
	if recorded == nil {
		if len(o.Unused) > 0 {
			b.omit("the cause of unused responses: %s", o.Unused[0])
		}
		return nil
	}
	got := trace.Canonical(o.Events)
	w, g := recorded, got
	if !b.virtual {
		w, g = withoutTimes(recorded), withoutTimes(got)
	}
	want, same := trace.FormatText(w), 0
	is := trace.FormatText(g)
	if want == is {
		return got
	}
	for same < min(len(want), len(is)) && want[same] == is[same] {
		same++
	}
	b.omitCause("a difference from line %d of the trace", 1+strings.Count(want[:same], "\n"))
	return recorded
}

// omitCause reports a failure of the script, unless an omission explains it.
func (b *builder) omitCause(format string, args ...any) {
	if b.omitted == nil {
		b.omit("the cause of "+format, args...)
	}
}

// withoutTimes returns the events without times and the kind of the clock.
func withoutTimes(events []trace.Event) []trace.Event {
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
