package trace_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
)

// The second run resumes a response with two calls, of which the first run has run one. Its later requests,
// and configurations that it sets later, are those of one run.
func TestJoinRequests(t *testing.T) {
	user := llm.User("go")
	two := llm.Assistant(llm.ToolCall{ID: "a", Name: "x"}, llm.ToolCall{ID: "b", Name: "x"})
	result := func(id string) llm.ToolResult { return llm.ToolResult{ID: id, Name: "x"} }
	toolMessage := func(parts ...llm.Part) llm.Message { return llm.Message{Role: llm.RoleTool, Parts: parts} }
	more, summary := llm.Assistant(llm.ToolCall{ID: "c", Name: "x"}), llm.User("summary")
	request := func(prefix int, list ...llm.Message) trace.Body {
		return trace.ModelRequest{PrefixMessages: prefix, NewMessages: list}
	}
	one, other := trace.ModelConfig{Model: "one"}, trace.ModelConfig{Model: "other"}
	events := func(step int, bodies ...trace.Body) (list []trace.Event) {
		for _, b := range bodies {
			list = append(list, trace.Event{Run: "run", Step: step, Body: b, Seq: len(list)})
		}
		return list
	}
	tool := func(id string, skipped bool) []trace.Body {
		if skipped {
			return []trace.Body{trace.ToolSkip{ToolCallID: id}}
		}
		return []trace.Body{trace.ToolStart{ToolCallID: id}, trace.ToolEnd{ToolCallID: id}}
	}
	later := func(from, prefix int) []trace.Event {
		return slices.Concat(
			events(from+1, trace.StepStart{}, other, request(prefix, more, toolMessage(result("c"))), trace.ModelResponse{}, trace.StepEnd{}),
			events(from+2, trace.StepStart{}, one, request(0, summary), trace.ModelResponse{}, trace.StepEnd{}),
			events(from+3, trace.StepStart{}, request(0, user), trace.ModelResponse{}, trace.StepEnd{}),
			events(from+4, trace.StepStart{}, request(1, user), trace.ModelResponse{}, trace.StepEnd{}))
	}
	for _, skipped := range []bool{false, true} {
		begin := slices.Concat(events(trace.NoStep, trace.RunStart{}),
			events(0, trace.StepStart{}, one, request(0, user), trace.ModelResponse{Message: two}, trace.Decision{Reason: trace.ReasonToolCalls, ToolCalls: 2}), events(0, tool("a", skipped)...))
		first := slices.Concat(begin, events(0, trace.Suspended{}, trace.StepEnd{}), events(trace.NoStep, trace.RunEnd{}))
		second := slices.Concat(events(trace.NoStep, trace.RunStart{}, trace.Resumed{Of: "run"}, trace.Decision{Reason: trace.ReasonToolCalls, ToolCalls: 1}),
			events(trace.NoStep, tool("b", false)...),
			events(0, trace.StepStart{}, one, request(0, user, two, toolMessage(result("a")), toolMessage(result("b"))), trace.ModelResponse{Message: more}, trace.StepEnd{}),
			later(0, 4), events(trace.NoStep, trace.RunEnd{Steps: 5, ModelCalls: 5}))
		want := slices.Concat(begin, events(0, tool("b", false)...), events(0, trace.StepEnd{}),
			events(1, trace.StepStart{}, request(1, two, toolMessage(result("a"), result("b"))), trace.ModelResponse{Message: more}, trace.StepEnd{}),
			later(1, 3), events(trace.NoStep, trace.RunEnd{Steps: 6, ModelCalls: 6}))
		got, err := trace.Join(first, second)
		if diff := cmp.Diff(trace.FormatText(trace.Canonical(want)), trace.FormatText(got)); err != nil || diff != "" {
			t.Errorf("skipped: %t: the joined trace (-want +got):\n%s%v", skipped, diff, err)
		}
	}
}

// These functions make the events of one run with the name run, except that events of the same step are in one list.
func eventsOf(run string, step int, bodies ...trace.Body) (list []trace.Event) {
	for _, b := range bodies {
		list = append(list, trace.Event{Run: run, Step: step, Body: b})
	}
	return list
}

func withPurpose(p trace.Purpose, events []trace.Event) []trace.Event {
	for i := range events {
		events[i].Purpose, events[i].Attempt = p, 1
	}
	return events
}

// The runs of two processes have hand-made traces: p begins with a call of a and one of b, and q continues it.
func TestJoinCases(t *testing.T) {
	user := llm.User("go")
	two := llm.Assistant(llm.ToolCall{ID: "a", Name: "x"}, llm.ToolCall{ID: "b", Name: "x"})
	more := llm.Assistant(llm.ToolCall{ID: "c", Name: "x"})
	result := func(ids ...string) llm.Message {
		m := llm.Message{Role: llm.RoleTool}
		for _, id := range ids {
			m.Parts = append(m.Parts, llm.ToolResult{ID: id, Name: "x"})
		}
		return m
	}
	const none = trace.NoStep
	start := eventsOf("p", none, trace.RunStart{})
	asked := eventsOf("p", 0, trace.StepStart{}, trace.ModelConfig{Model: "one"}, trace.ModelRequest{NewMessages: []llm.Message{user}}, trace.ModelResponse{Message: two, Usage: llm.Usage{InputTokens: 5}})
	calls := func(run string, step, n int) []trace.Event {
		return eventsOf(run, step, trace.Decision{Action: trace.Continue, Reason: trace.ReasonToolCalls, ToolCalls: n})
	}
	ran := func(run string, step int, id string) []trace.Event {
		return eventsOf(run, step, trace.ToolStart{ToolCallID: id}, trace.ToolEnd{ToolCallID: id})
	}
	suspended := slices.Concat(eventsOf("p", 0, trace.Decision{Action: trace.Suspend, Reason: trace.ReasonApproval}, trace.Suspended{}, trace.StepEnd{}),
		eventsOf("p", none, trace.RunEnd{StopReason: trace.ReasonApproval, Steps: 1, ModelCalls: 1, Usage: llm.Usage{InputTokens: 5}, AppendedMessages: []llm.Message{two}}))
	resumed := eventsOf("q", none, trace.RunStart{}, trace.Resumed{Of: "p"})
	both := func(run string, step int) []trace.Event {
		return slices.Concat(calls(run, step, 2), ran(run, step, "a"), ran(run, step, "b"))
	}
	closed := eventsOf("p", 0, trace.StepEnd{})
	end := func(run string, steps, modelCalls int, input int64) []trace.Event {
		return eventsOf(run, none, trace.RunEnd{StopReason: trace.ReasonMaxSteps, Steps: steps, ModelCalls: modelCalls, Usage: llm.Usage{InputTokens: input}})
	}
	call := func(run string, step int, said string, failed bool) []trace.Event {
		list := eventsOf(run, step, trace.ModelConfig{Model: "small"}, trace.ModelRequest{NewMessages: []llm.Message{user, llm.User("grade")}})
		if failed {
			list = append(list, eventsOf(run, step, trace.ModelError{Error: trace.Error{Type: "api"}, Usage: llm.Usage{InputTokens: 1}}, trace.ModelRetry{Reason: "busy"}, trace.ModelRequest{PrefixMessages: 2})...)
		}
		return withPurpose("grade", append(list, eventsOf(run, step, trace.ModelResponse{Message: llm.Assistant(llm.Text{Text: said}), Usage: llm.Usage{InputTokens: 1}})...))
	}
	again := withPurpose("grade", eventsOf("p", 0, trace.ModelRequest{PrefixMessages: 2}, trace.ModelResponse{Message: llm.Assistant(llm.Text{Text: "no"}), Usage: llm.Usage{InputTokens: 1}}))
	graded := func(list []trace.Event, calls int, tokens int64) []trace.Event {
		last := &list[len(list)-1]
		b := last.Body.(trace.RunEnd)
		b.ModelCalls += calls
		b.Usage.InputTokens += tokens
		b.UsageBy = map[trace.Purpose]llm.Usage{"": {InputTokens: 5}, "grade": {InputTokens: tokens}}
		last.Body = b
		return list
	}
	unfinished := withPurpose("grade", eventsOf("p", 0, trace.ModelConfig{Model: "small"}, trace.ModelRequest{NewMessages: []llm.Message{user}}))
	note := func(run string, step int) []trace.Event {
		return eventsOf(run, step, trace.Custom{Name: "note", Data: json.RawMessage("1")}, trace.Warning{Code: "w"}, trace.Unknown{Name: "new", Raw: json.RawMessage("{}")})
	}
	stop := func(run string, step int, reason trace.Reason) []trace.Event {
		return eventsOf(run, step, trace.Decision{Action: trace.Stop, Reason: reason})
	}
	begin := slices.Concat(start, asked)
	separate := eventsOf("p", none, trace.RunStart{Options: trace.Options{{Name: "tool_message", Value: "one_per_call"}}})
	next := func(run string, step, prefix int, messages ...llm.Message) []trace.Event {
		return eventsOf(run, step, trace.StepStart{}, trace.ModelRequest{PrefixMessages: prefix, NewMessages: messages}, trace.ModelResponse{}, trace.StepEnd{})
	}
	rewrite := eventsOf("q", 0, trace.StepStart{}, trace.HistoryRewrite{Reason: "compaction"}, trace.ModelRequest{NewMessages: []llm.Message{llm.User("short")}}, trace.ModelResponse{}, trace.StepEnd{})
	cases := map[string]struct{ first, second, third, want []trace.Event }{
		"a grade in the first run": {first: slices.Concat(begin, call("p", 0, "no", false), suspended), second: slices.Concat(resumed, both("q", none), end("q", 0, 0, 0)),
			want: graded(slices.Concat(begin, call("p", 0, "no", false), both("p", 0), closed, end("p", 1, 1, 5)), 1, 1)},
		"the same grade in both": {first: slices.Concat(begin, call("p", 0, "no", true), suspended), second: slices.Concat(resumed, call("q", none, "no", true), both("q", none), end("q", 0, 3, 3)),
			want: graded(slices.Concat(begin, call("p", 0, "no", true), both("p", 0), closed, end("p", 1, 1, 5)), 2, 2)},
		"another grade in the second": {first: slices.Concat(begin, call("p", 0, "yes", false), suspended), second: slices.Concat(resumed, call("q", none, "no", false), both("q", none), end("q", 0, 1, 1)),
			want: graded(slices.Concat(begin, call("p", 0, "yes", false), again, both("p", 0), closed, end("p", 1, 1, 5)), 2, 2)},
		"the second of two grades in both": {first: slices.Concat(begin, call("p", 0, "yes", false), again, suspended), second: slices.Concat(resumed, call("q", none, "no", false), both("q", none), end("q", 0, 1, 1)),
			want: graded(slices.Concat(begin, call("p", 0, "yes", false), again, both("p", 0), closed, end("p", 1, 1, 5)), 2, 2)},
		"a grade that was interrupted": {first: slices.Concat(begin, unfinished), second: slices.Concat(resumed, both("q", none), end("q", 0, 0, 0)), want: slices.Concat(begin, both("p", 0), closed, end("p", 1, 1, 5))},
		"notes in both and in the first": {first: slices.Concat(begin, note("p", 0), note("p", 0), suspended), second: slices.Concat(resumed, note("q", none), both("q", none), end("q", 0, 0, 0)),
			want: slices.Concat(begin, note("p", 0), note("p", 0), both("p", 0), closed, end("p", 1, 1, 5))},
		"notes of the next step": {first: slices.Concat(begin, suspended), second: slices.Concat(resumed, both("q", none), note("q", 0), next("q", 0, 0, user, two, result("a", "b")), end("q", 1, 1, 0)),
			want: slices.Concat(begin, both("p", 0), closed, note("p", 1), next("p", 1, 1, two, result("a", "b")), end("p", 2, 2, 5))},
		"a stop after the step":       {first: slices.Concat(begin, suspended), second: slices.Concat(resumed, both("q", none), stop("q", none, trace.ReasonStopped), end("q", 0, 0, 0)), want: slices.Concat(begin, both("p", 0), closed, stop("p", none, trace.ReasonStopped), end("p", 1, 1, 5))},
		"a stop in the step":          {first: slices.Concat(begin, suspended), second: slices.Concat(resumed, both("q", none), stop("q", none, trace.ReasonClientTools), end("q", 0, 0, 0)), want: slices.Concat(begin, both("p", 0), stop("p", 0, trace.ReasonClientTools), closed, end("p", 1, 1, 5))},
		"an error before the calls":   {first: slices.Concat(begin, suspended), second: slices.Concat(resumed, stop("q", none, trace.ReasonError), end("q", 0, 0, 0)), want: slices.Concat(begin, stop("p", 0, trace.ReasonError), closed, end("p", 1, 1, 5))},
		"a call under way at a kill":  {first: slices.Concat(begin, calls("p", 0, 2), eventsOf("p", 0, trace.ToolStart{ToolCallID: "b"}), ran("p", 0, "a")), second: slices.Concat(resumed, calls("q", none, 1), ran("q", none, "b"), end("q", 0, 0, 0)), want: slices.Concat(begin, both("p", 0), closed, end("p", 1, 1, 5))},
		"a second run without events": {first: slices.Concat(begin, suspended), second: resumed, third: slices.Concat(eventsOf("r", none, trace.RunStart{}, trace.Resumed{Of: "q"}), both("r", none), end("r", 0, 0, 0)), want: slices.Concat(begin, both("p", 0), closed, end("p", 1, 1, 5))},
		"a third run of the first": {first: slices.Concat(begin, suspended), second: slices.Concat(resumed, calls("q", none, 2), ran("q", none, "a")), third: slices.Concat(eventsOf("r", none, trace.RunStart{}, trace.Resumed{Of: "p"}), calls("r", none, 1), ran("r", none, "b"), end("r", 0, 0, 0)),
			want: slices.Concat(begin, both("p", 0), closed, end("p", 1, 1, 5))},
		"two messages that were joined before": {first: slices.Concat(begin, calls("p", 0, 2), ran("p", 0, "a"), suspended),
			second: slices.Concat(resumed, calls("q", none, 1), ran("q", none, "b"), eventsOf("q", 0, trace.StepStart{}, trace.ModelRequest{NewMessages: []llm.Message{user, two, result("a"), result("b")}}, trace.ModelResponse{Message: more})),
			third:  slices.Concat(eventsOf("r", none, trace.RunStart{}, trace.Resumed{Of: "q"}), calls("r", none, 1), ran("r", none, "c"), next("r", 0, 0, user, two, result("a"), result("b"), more, result("c"), result("a")), end("r", 1, 1, 0)),
			want: slices.Concat(begin, both("p", 0), closed, eventsOf("p", 1, trace.StepStart{}, trace.ModelRequest{PrefixMessages: 1, NewMessages: []llm.Message{two, result("a", "b")}}, trace.ModelResponse{Message: more}),
				calls("p", 1, 1), ran("p", 1, "c"), eventsOf("p", 1, trace.StepEnd{}), next("p", 2, 3, more, result("c"), result("a")), end("p", 3, 3, 5))},
		"a message for each result": {first: slices.Concat(separate, asked, calls("p", 0, 2), ran("p", 0, "a"), suspended), second: slices.Concat(resumed, calls("q", none, 1), ran("q", none, "b"), next("q", 0, 0, user, two, result("a"), result("b")), end("q", 1, 1, 0)),
			want: slices.Concat(separate, asked, both("p", 0), closed, next("p", 1, 1, two, result("a"), result("b")), end("p", 2, 2, 5))},
		"replaced messages": {first: slices.Concat(begin, suspended), second: slices.Concat(resumed, both("q", none), rewrite, end("q", 1, 1, 0)),
			want: slices.Concat(begin, both("p", 0), closed, eventsOf("p", 1, trace.StepStart{}, trace.HistoryRewrite{Reason: "compaction"}, trace.ModelRequest{NewMessages: []llm.Message{llm.User("short")}}, trace.ModelResponse{}, trace.StepEnd{}), end("p", 2, 2, 5))},
		"nothing complete":        {first: begin, second: slices.Concat(eventsOf("q", none, trace.RunStart{}), next("q", 0, 0, user), end("q", 1, 1, 0)), want: slices.Concat(eventsOf("q", none, trace.RunStart{}), next("q", 0, 0, user), end("q", 1, 1, 0))},
		"nothing in the first":    {second: begin, want: begin},
		"nothing but a first run": {first: begin, want: begin},
	}
	for name, c := range cases {
		got, err := trace.Join(c.first, c.second, c.third)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(trace.FormatText(trace.Canonical(c.want)), trace.FormatText(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}

	ended := slices.Concat(begin, closed, eventsOf("p", none, trace.RunEnd{StopReason: trace.ReasonEndTurn}))
	failures := map[string]struct {
		traces [][]trace.Event
		want   string
	}{
		"a run that is missing":     {[][]trace.Event{suspended, slices.Concat(eventsOf("q", none, trace.RunStart{}, trace.Resumed{Of: "z"}), both("q", none))}, `trace: join: trace 2: resumes the run "z", which no earlier trace contains`},
		"no first trace":            {[][]trace.Event{nil, resumed}, `trace: join: trace 2: resumes the run "p", which no earlier trace contains`},
		"the wrong order":           {[][]trace.Event{slices.Concat(resumed, both("q", none)), slices.Concat(begin, suspended)}, `trace: join: trace 2: contains the run "p", which an earlier trace resumes: pass the traces in the order`},
		"the wrong order of kills":  {[][]trace.Event{slices.Concat(eventsOf("q", none, trace.RunStart{}), next("q", 0, 0, user, two, result("a", "b"))), begin}, `trace: join: trace 2: has other messages than the run "q"`},
		"two runs at the same time": {[][]trace.Event{slices.Concat(begin, suspended), slices.Concat(resumed, eventsOf("q2", none, trace.Resumed{Of: "p"}))}, `trace: join: trace 2: resumes the runs of "q" and "q2"`},
		"a final answer":            {[][]trace.Event{ended, slices.Concat(eventsOf("q", none, trace.RunStart{}), next("q", 0, 0, user, two))}, `trace: join: trace 2: continues the run "p", which ended with its final answer`},
		"a forced final answer":     {[][]trace.Event{slices.Concat(begin, eventsOf("p", none, trace.RunEnd{StopReason: trace.ReasonForced})), resumed}, `trace: join: trace 2: continues the run "p", which ended with its final answer`},
		"no calls":                  {[][]trace.Event{start, resumed}, `trace: join: trace 2: resumes the run "p", whose last response has no calls`},
		"another call":              {[][]trace.Event{slices.Concat(begin, suspended), slices.Concat(resumed, both("q", none)[:1], ran("q", none, "c"))}, `trace: join: trace 2: has the call "c", which the last response of the run "p" does not have`},
		"other messages": {[][]trace.Event{slices.Concat(begin, suspended), slices.Concat(resumed, both("q", none), next("q", 0, 0, llm.User("other"), two, result("a", "b")))},
			`trace: join: trace 2: has other messages than the run "p"`},
		"other messages at the end": {[][]trace.Event{slices.Concat(begin, suspended), slices.Concat(resumed, both("q", none), eventsOf("q", none, trace.RunEnd{AppendedMessages: []llm.Message{two}}))},
			`trace: join: trace 2: has other messages than the run "p"`},
		"other messages in an interrupted step": {[][]trace.Event{begin, slices.Concat(eventsOf("q", none, trace.RunStart{}), next("q", 0, 0, llm.User("other")))},
			`trace: join: trace 2: has other messages than the run "p"`},
	}
	for name, c := range failures {
		if got, err := trace.Join(c.traces...); err == nil || !strings.HasPrefix(err.Error(), c.want) || got != nil {
			t.Errorf("%s: got %v with %d events, want the error %q", name, err, len(got), c.want)
		}
	}
}
