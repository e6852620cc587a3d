package check_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
	"github.com/looptape/looptape/trace/check"
)

// rewritten is a run of one step whose second request keeps k messages of the
// first one's history and continues with more, after a rewrite.
func rewritten(history []llm.Message, k int, more ...llm.Message) *script {
	s := begin("r1", nil)
	s.history = history
	s.ask().reply(llm.Assistant(text("so"))).done()
	s.history, s.sent = append(history[:k:k], more...), k
	s.add(trace.HistoryRewrite{Reason: "compaction"}).ask().reply(llm.Assistant(text("a"))).done()
	return s.end(trace.ReasonEndTurn)
}

// TestRewrites checks what is known of a history after it was cut.
func TestRewrites(t *testing.T) {
	user, asks := llm.User("go"), llm.Assistant(c1, c2)
	both := llm.ToolResults(good("c1"), good("c2"))
	for _, x := range []struct {
		name    string
		history []llm.Message
		keep    int
		more    []llm.Message
		want    []string // parts of messages, in order
	}{
		{"a call comes again", []llm.Message{user, asks, both}, 1, []llm.Message{asks, both}, nil},
		{"a call comes again at the beginning", []llm.Message{asks, both}, 0, []llm.Message{asks, both}, nil},
		{"a call is there twice", []llm.Message{user, asks, both}, 2, []llm.Message{both, asks, both}, []string{`INV-04: the id "c1"`, `INV-04: the id "c2"`}},
		{"results come again", []llm.Message{user, asks, both}, 2, []llm.Message{both}, nil},
		{"results stay", []llm.Message{user, asks, both}, 3, []llm.Message{user}, nil},
		{"results are omitted", []llm.Message{user, asks, both}, 2, []llm.Message{user}, []string{
			"INV-01: the call number 1 of message 1 has no result, and", "INV-01: the call number 2 of message 1 has no result, and",
		}},
		{"one result is omitted", []llm.Message{user, asks, both}, 2, []llm.Message{llm.ToolResults(good("c2"))}, []string{
			"INV-01: the request was sent without a result of the call number 1 of message 1",
		}},
		{"a result of the first response is omitted", []llm.Message{user, llm.Assistant(c3), llm.ToolResults(good("c3")), asks, both}, 4, []llm.Message{llm.ToolResults(good("c1"))}, []string{
			"INV-01: the request was sent without a result of the call number 2 of message 3",
		}},
		{"it had no results before, which is said once", []llm.Message{user, user, asks}, 3, []llm.Message{user}, []string{
			`INV-01: the request was sent without a result of the call "c1"`, `INV-01: the request was sent without a result of the call "c2"`,
		}},
		{"nor has it when more is cut", []llm.Message{user, asks, user}, 2, []llm.Message{user}, []string{
			`INV-01: the call "c1" has no result`, `INV-01: the call "c2" has no result`,
			"INV-01: the call number 1 of message 1 has no result", "INV-01: the call number 2 of message 1 has no result",
		}},
		{"a result without an id", []llm.Message{user, asks, both}, 2, []llm.Message{llm.ToolResults(good(""), good("c2"))}, []string{
			"INV-01: a result has neither the id of a call nor the name of a function",
		}},
		{"a result of a call that was cut", []llm.Message{user, asks, both}, 1, []llm.Message{both}, []string{
			`INV-01: a result is for the call "c1", which no`, `INV-01: a result is for the call "c2", which no`,
		}},
	} {
		t.Run(x.name, func(t *testing.T) {
			got := brief(rewritten(x.history, x.keep, x.more...).check())
			for i, want := range x.want {
				if i < len(got) && strings.HasPrefix(got[i], want) {
					got[i] = want
				}
			}
			if diff := cmp.Diff(append([]string{}, x.want...), got); diff != "" {
				t.Errorf("violations (-want +got):\n%s", diff)
			}
		})
	}
}

// TestListWords checks the messages about calls and results in a list.
func TestListWords(t *testing.T) {
	for want, list := range map[string][]llm.Message{
		`the call "c1" has more than one result`:                                                         {llm.Assistant(c1), llm.ToolResults(good("c1"), good("c1"))},
		`a result is for the call "c1", which no assistant message before it has`:                        {llm.User("a"), llm.ToolResults(good("c1"))},
		`the call "c1" has no result, and other messages follow`:                                         {llm.Assistant(c1), llm.User("a")},
		`a result without an id is for the function "f", and belongs to no call that waits for a result`: {llm.Assistant(c1), llm.ToolResults(llm.ToolResult{Name: "f"})},
		"a result has neither the id of a call nor the name of a function":                               {llm.Assistant(c1), llm.ToolResults(llm.ToolResult{})},
		`a result is for the call "c2", which no assistant message before it has`:                        {llm.Assistant(c1), llm.ToolResults(good("c1"), good("c2"))},
		`message 0 has the unknown role "x"`:                                                             {{Role: "x", Parts: []llm.Part{text("a")}}},
		`message 1 is an empty assistant message: it must not be`:                                        {llm.User("a"), llm.Assistant(), llm.User("a")},
	} {
		vs := check.Messages("r", list)
		if len(vs) != 1 || !strings.HasPrefix(vs[0].Message, want) {
			t.Errorf("got %q, want %s", brief(vs), want)
		}
	}
}

// TestPendingOfTheHistory checks which calls that the run did not make may be
// left pending: those in a message.
func TestPendingOfTheHistory(t *testing.T) {
	s := begin("r1", nil)
	wantNone(t, s.add(trace.RunEnd{Pending: []string{"c1"}, AppendedMessages: []llm.Message{llm.Assistant(c1)}}).check())
	s = begin("r1", nil)
	wantOne(t, s.add(trace.RunEnd{Pending: []string{"c2", "c1"}, AppendedMessages: []llm.Message{llm.Assistant(c1)}}).check(), "INV-07")
	s = rewritten([]llm.Message{llm.User("go"), llm.Assistant(c1), llm.ToolResults(good("c1"))}, 1, llm.User("so"))
	change(t, s, 0, func(b *trace.RunEnd) { b.Pending = []string{"c1"} })
	wantOne(t, s.check(), "INV-07")
}

// TestResumedResponses checks that the responses of a run that resumes another are compared
// with its messages like those of any other run.
func TestResumedResponses(t *testing.T) {
	first := clean["suspended"]()
	s := begin("r2", declared)
	s.add(trace.Resumed{Of: "r1"}).starts(c2).ends(good("c2"))
	s.history = append(first.history[:3:3], llm.ToolResults(good("c2")))
	s.add(trace.HistoryRewrite{Reason: "resume"}).round(c3, good("c3"))
	s.decide(trace.Stop, trace.ReasonMaxSteps, 0).done().end(trace.ReasonMaxSteps)
	wantNone(t, (&script{events: append(first.events, s.events...)}).check())
	change(t, s, 0, func(b *trace.RunEnd) { b.AppendedMessages = nil })
	wantOne(t, (&script{events: append(first.events, s.events...)}).check(), "INV-07")
}

// TestResumedGuard: the runaway guard does not see the calls that a resumed run begins with.
func TestResumedGuard(t *testing.T) {
	d := call("d", "f")
	s := begin("r2", declared)
	s.add(trace.Resumed{Of: "elsewhere"}).starts(d).ends(good("d"))
	s.history = []llm.Message{llm.User("go"), llm.Assistant(d), llm.ToolResults(good("d"))}
	s.round(c1, bad("c1")).done().round(c3, bad("c3"))
	wantNone(t, s.decide(trace.Stop, trace.ReasonRunawayGuard, 0).done().end(trace.ReasonRunawayGuard).check())
}

// TestResumedDecisions checks that a run which resumes another may decide on the
// calls that it was left with, before its first step and not later.
func TestResumedDecisions(t *testing.T) {
	first := clean["suspended"]()
	resume := func(later bool) []trace.Event {
		s := begin("r2", declared)
		s.add(trace.Resumed{Of: "r1"}).decide(trace.Continue, trace.ReasonToolCalls, 1).starts(c2).ends(good("c2"))
		s.history = append(first.history[:3:3], llm.ToolResults(good("c2")))
		s.add(trace.HistoryRewrite{Reason: "resume"}).round(c3, good("c3"))
		if later {
			s.decide(trace.Continue, trace.ReasonToolCalls, 1)
		}
		s.done().ask().turn(text("a")).done().end(trace.ReasonEndTurn)
		return append(first.events[:len(first.events):len(first.events)], s.events...)
	}
	wantNone(t, (&script{events: resume(false)}).check())
	wantOne(t, (&script{events: resume(true)}).check(), "INV-11")
}

// TestFirstIDAgain checks that a call whose id is the first of the history is
// found among others, in whatever order they run.
func TestFirstIDAgain(t *testing.T) {
	h := call("h1", "f")
	s := begin("r1", declared)
	s.history = append(s.history, llm.Assistant(h), llm.ToolResults(good("h1")), llm.User("again"))
	s.ask().turn(c1, c2, h).starts(c1).starts(h).ends(good("h1")).starts(c2).ends(good("c2")).ends(good("c1"))
	s.results(good("c1"), good("c2"), good("h1")).done().ask().turn(text("a")).done().end(trace.ReasonEndTurn)
	wantOne(t, s.check(), "INV-04")
}

// TestToolsBeforeTheFirstResponse checks that a run may not run the calls of its
// history before its first response.
func TestToolsBeforeTheFirstResponse(t *testing.T) {
	for _, b := range []trace.Body{
		trace.ToolStart{ToolCallID: "c1", Name: "f", Arguments: c1.Arguments}, trace.ToolEnd{ToolCallID: "c1", Outcome: trace.OutcomeOK, Result: good("c1")},
		trace.ToolSkip{ToolCallID: "c1"}, trace.ToolArguments{ToolCallID: "c1"}, trace.Abandoned{ToolCallID: "c1"},
	} {
		s := begin("r1", nil)
		s.history = []llm.Message{llm.User("go"), llm.Assistant(c1), llm.ToolResults(good("c1"))}
		s.ask().add(b).reply(llm.Assistant(text("a"))).done().end(trace.ReasonEndTurn)
		wantOne(t, s.check(), "INV-14")
	}
}
