package check_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
	"github.com/looptape/looptape/trace/check"
)

// script writes the events of one run as a correct loop would.
type script struct {
	run     string
	events  []trace.Event
	step    int
	at      time.Duration
	history []llm.Message
	sent    int // messages in the last request
	used    llm.Usage
	try     int // of the last request
}

func begin(run string, options trace.Options) *script {
	s := &script{run: run, step: trace.NoStep, history: []llm.Message{llm.User("go")}}
	s.add(trace.RunStart{
		Clock: trace.ClockVirtual, Options: options,
		Tools: []trace.ToolInfo{{Name: "f"}, {Name: "g"}, {Name: "ask", Client: true}},
	})
	return s
}

// bare begins a run that declares nothing, not even tools.
func bare(run string) *script {
	s := begin(run, nil)
	s.events[0].Body = trace.RunStart{Clock: trace.ClockVirtual}
	return s
}

var declared = trace.Options{
	{Name: "max_steps", Value: "5"}, {Name: "concurrency", Value: "2"},
	{Name: "same_tool_error_stop", Value: "2"}, {Name: "same_tool_error_reset", Value: "success"},
}

func (s *script) add(b trace.Body) *script {
	step := s.step
	if _, ok := b.(trace.RunStart); ok {
		step = trace.NoStep
	}
	s.events = append(s.events, trace.Event{Seq: len(s.events), Run: s.run, Step: step, At: s.at, Body: b})
	return s
}

func (s *script) attempt(n int, b trace.Body) *script {
	s.add(b)
	s.events[len(s.events)-1].Attempt = n
	return s
}

func (s *script) purpose(p trace.Purpose, b trace.Body) *script {
	s.add(b)
	s.events[len(s.events)-1].Purpose = p
	return s
}

// ask begins a step and sends the history.
func (s *script) ask() *script {
	s.step++
	return s.add(trace.StepStart{}).request(1)
}

func (s *script) request(attempt int) *script {
	s.attempt(attempt, trace.ModelRequest{PrefixMessages: s.sent, NewMessages: slices.Clone(s.history[s.sent:])})
	s.sent, s.try = len(s.history), attempt
	return s
}

var perTurn = llm.Usage{InputTokens: 10, OutputTokens: 5, CacheReadInputTokens: 2, ReasoningOutputTokens: 1}

// turn records a response with these parts, and decides by the calls.
func (s *script) turn(parts ...llm.Part) *script {
	m := llm.Assistant(parts...)
	s.reply(m)
	if n := len(m.Calls()); n > 0 {
		return s.decide(trace.Continue, trace.ReasonToolCalls, n)
	}
	return s.decide(trace.End, trace.ReasonEndTurn, 0)
}

func (s *script) reply(m llm.Message) *script {
	s.history = append(s.history, m)
	s.used = s.used.Add(perTurn)
	return s.attempt(s.try, trace.ModelResponse{Message: m, FinishReason: llm.FinishStop, Usage: perTurn})
}

// instead is a response that middleware returns instead of a model call or its response.
func (s *script) instead(parts ...llm.Part) *script {
	m := llm.Assistant(parts...)
	s.history = append(s.history, m)
	return s.add(trace.ModelResponse{Message: m, FinishReason: llm.FinishStop})
}

func (s *script) decide(a trace.Action, c trace.Reason, calls int) *script {
	return s.add(trace.Decision{Action: a, Reason: c, ToolCalls: calls})
}

func call(id, name string) llm.ToolCall {
	return llm.ToolCall{ID: id, Name: name, Arguments: `{"id":"` + id + `"}`}
}

func good(id string) llm.ToolResult {
	return llm.ToolResult{ID: id, Content: []llm.Part{llm.Text{Text: "ok " + id}}}
}

func bad(id string) llm.ToolResult {
	return llm.ToolResult{ID: id, Content: []llm.Part{llm.Text{Text: "bad " + id}}, IsError: true}
}

func (s *script) starts(c llm.ToolCall) *script {
	return s.add(trace.ToolStart{ToolCallID: c.ID, Name: c.Name, Arguments: c.Arguments})
}

func (s *script) ends(r llm.ToolResult) *script {
	o := trace.OutcomeOK
	if r.IsError {
		o = trace.OutcomeError
	}
	return s.add(trace.ToolEnd{ToolCallID: r.ID, Outcome: o, Result: r})
}

func (s *script) skips(c llm.ToolCall, cause string) *script {
	return s.add(trace.ToolSkip{ToolCallID: c.ID, Name: c.Name, Reason: cause, Result: bad(c.ID)})
}

// results appends the results to the history and ends the step.
func (s *script) results(rs ...llm.ToolResult) *script {
	s.history = append(s.history, llm.ToolResults(rs...))
	return s
}

func (s *script) done() *script { return s.add(trace.StepEnd{}) }

// round is a complete step with one call.
func (s *script) round(c llm.ToolCall, r llm.ToolResult) *script {
	return s.ask().turn(c).starts(c).ends(r).results(r)
}

func (s *script) end(stop trace.Reason, pending ...string) *script {
	return s.add(s.runEnd(stop, pending...))
}

func (s *script) runEnd(stop trace.Reason, pending ...string) trace.RunEnd {
	steps, calls := 0, 0
	for _, ev := range s.events {
		switch ev.Body.(type) {
		case trace.StepStart:
			steps++
		case trace.ModelRequest:
			calls++
		default:
		}
	}
	return trace.RunEnd{
		StopReason: stop, FinishReason: llm.FinishStop, Steps: steps, ModelCalls: calls, Usage: s.used,
		Pending: pending, AppendedMessages: slices.Clone(s.history[s.sent:]),
	}
}

var (
	c1, c2, c3, c4 = call("c1", "f"), call("c2", "g"), call("c3", "f"), call("c4", "g")

	secret = json.RawMessage(`{"sig":"abc"}`)
)

func text(s string) llm.Text { return llm.Text{Text: s} }

// plain is a run of three steps in which much happens.
func plain() *script {
	s := begin("r1", declared)
	s.step = 0
	s.add(trace.StepStart{}).add(trace.ModelConfig{System: llm.SystemText("be brief"), Tools: []llm.Tool{{Name: "f", Parameters: json.RawMessage(`{"type":"object"}`)}, {Name: "g"}, {Name: "ask"}}})
	s.request(1)
	s.add(trace.ModelDelta{Type: trace.DeltaText, Text: "thinking"})
	s.add(trace.ModelDelta{Type: trace.DeltaCall, ToolCallID: "c1", Name: "f"})
	s.add(trace.ModelDelta{Type: trace.DeltaArguments, ToolCallID: "c1", Text: c1.Arguments})
	s.add(trace.ModelDelta{Type: trace.DeltaCallEnd, ToolCallID: "c1"})
	s.turn(llm.Reasoning{Text: "hm", Opaque: secret}, text("thinking"), c1, c2, c3)
	s.starts(c1).starts(c2).ends(good("c2")).starts(c3).ends(good("c1")).ends(good("c3"))
	s.results(good("c1"), good("c2"), good("c3")).done()
	s.round(c4, bad("c4")).done()
	return s.ask().turn(text("done")).done().end(trace.ReasonEndTurn)
}

func (s *script) check() []check.Violation {
	c := check.New(nil)
	for _, ev := range s.events {
		c.Add(ev)
	}
	return c.Done()
}

// at returns the place of the n-th event of a kind, counted from 0.
func (s *script) index(t *testing.T, k trace.Kind, n int) int {
	t.Helper()
	for i, ev := range s.events {
		if ev.Body.Kind() == k {
			if n == 0 {
				return i
			}
			n--
		}
	}
	t.Fatalf("the script has too few events %s", k)
	return -1
}

func (s *script) remove(t *testing.T, k trace.Kind, n int) *script {
	t.Helper()
	i := s.index(t, k, n)
	s.events = slices.Delete(s.events, i, i+1)
	return s.number(i)
}

// change replaces the n-th event of B's kind.
func change[B trace.Body](t *testing.T, s *script, n int, f func(*B)) *script {
	t.Helper()
	var zero B
	i := s.index(t, zero.Kind(), n)
	b := s.events[i].Body.(B)
	f(&b)
	s.events[i].Body = b
	return s
}

func (s *script) insert(i int, b trace.Body) *script {
	ev := s.events[max(i-1, 0)]
	ev.Body = b
	s.events = slices.Insert(s.events, i, ev)
	return s.number(i)
}

// number gives the events from the i-th on the numbers of their places.
func (s *script) number(from int) *script {
	for i := from; i < len(s.events); i++ {
		s.events[i].Seq = i
	}
	return s
}

func brief(vs []check.Violation) []string {
	out := []string{}
	for _, v := range vs {
		out = append(out, v.Invariant+": "+v.Message)
	}
	return out
}

func wantNone(t *testing.T, vs []check.Violation) {
	t.Helper()
	if diff := cmp.Diff([]string{}, brief(vs)); diff != "" {
		t.Errorf("violations (-want +got):\n%s", diff)
	}
}

// wantOne wants exactly one violation, of this invariant.
func wantOne(t *testing.T, vs []check.Violation, id string) {
	t.Helper()
	if len(vs) != 1 || vs[0].Invariant != id {
		t.Fatalf("want one violation of %s, got %q", id, brief(vs))
	}
	if vs[0].Message == "" || vs[0].Hint == "" || vs[0].Run == "" {
		t.Errorf("the violation lacks words: %+v", vs[0])
	}
}
