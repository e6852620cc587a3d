package loop_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/scenario"
	"github.com/looptape/looptape/trace"
)

// quirk is a row of the list of provider quirks, and the tests of the
// loop's part of it: scenarios in testdata/quirks, whose traces TestGoldens
// compares, or a test. If no loop can see the quirk, wire has the reason.
type quirk struct {
	id    string
	shown []shown
	test  func(*testing.T)
	wire  string
}

// shown is a scenario with the facts that carry it, so that a golden that was
// rewritten without a look does not take them along.
type shown struct {
	scenario string
	ran      string // the calls whose tools were called, in order
	failed   string // the calls that got an error result, in order
	requests int    // model calls; 0 means one more than the steps with tool calls
	refused  bool   // the history is, before any model call
	stop     trace.Reason
	warnings string // the codes, in order
	more     func(t *testing.T, o *scenario.Result)
}

var quirks = []quirk{
	{id: "QO-01", shown: []shown{{scenario: "QO-01", ran: "call_1 call_2", more: finishes(llm.FinishStop, llm.FinishStop)}}},
	{id: "QO-02", shown: []shown{{scenario: "QO-02", warnings: llm.WarnNoCalls, more: finishes(llm.FinishToolCalls)}}},
	{id: "QO-03", shown: []shown{{
		scenario: "QO-03", ran: "call_1", failed: "call_2 call_3 call_4",
		warnings: llm.WarnNoCallEnd + " " + llm.WarnNoCallEnd, more: skipped("truncated", "truncated", "truncated"),
	}}},
	{id: "QO-04", shown: []shown{{scenario: "QO-04", ran: "call_1 call_2"}}},
	{id: "QO-05", shown: []shown{{scenario: "QO-05", ran: "call_1 call_2", warnings: llm.WarnNoCallEnd + " " + llm.WarnNoCallEnd}}},
	{id: "QO-06", shown: []shown{{scenario: "QO-06", ran: "call_1 call_2"}}},
	{id: "QO-07", shown: []shown{{scenario: "QO-07", ran: "loop_call_1 loop_call_2 loop_call_3 call_4"}}},
	{id: "QO-08", shown: []shown{{scenario: "QO-08", ran: "loop_call_1 loop_call_2 functions.weather:1"}}},
	{id: "QO-09", shown: []shown{{scenario: "QO-09", ran: "call_0 loop_call_1"}}},
	{id: "QO-10", test: testLateName, shown: []shown{{scenario: "QO-10", ran: "call_1 call_2"}}},
	{id: "QO-11", shown: []shown{{scenario: "QO-11", ran: "call_1 call_2", more: entered(`{"x":1}`, `{"x":1}`)}}},
	{id: "QO-12", shown: []shown{{scenario: "QO-12", ran: "call_1", warnings: llm.WarnRepeatedArguments, more: entered(`{"a":1}`)}}},
	{id: "QO-13", shown: []shown{{scenario: "QO-13", ran: "call_1", failed: "call_2", warnings: llm.WarnRepeatedArguments, more: entered(`{"a":1}`)}}},
	{id: "QO-14", shown: []shown{{
		scenario: "QO-14", ran: "call_1 call_2", failed: "call_3",
		warnings: strings.Join([]string{llm.WarnNoCallEnd, llm.WarnRepeatedArguments, llm.WarnNoCallEnd, llm.WarnNoCallEnd}, " "),
		more:     entered(`{"a":1}`, "{\"b\":2} \n"),
	}}},
	{id: "QO-15", shown: []shown{{scenario: "QO-15", ran: "call_1 call_2", more: entered(`{}`, `{}`)}}},
	{id: "QO-16", wire: "a codec hands an object over as its text"},
	{id: "QO-17", wire: "a chunk that says two things becomes two events"},
	{id: "QO-18", shown: []shown{{scenario: "QO-18", ran: "call_1", more: usage(llm.Usage{InputTokens: 30, OutputTokens: 12})}}},
	{id: "QO-19", wire: "a chunk that says nothing becomes no event"},
	{id: "QO-20", shown: []shown{{scenario: "QO-20", requests: 1, stop: trace.ReasonError, more: both(apiError(200), received("I will look."))}}},
	{id: "QO-21", shown: []shown{{scenario: "QO-21", requests: 1, stop: trace.ReasonError, more: apiError(0)}}},
	{id: "QO-22", wire: "a codec ends the answer at its finish"},
	{id: "QO-23", shown: []shown{{scenario: "QO-23a", warnings: "leaked_call"}, {scenario: "QO-23b", warnings: "leaked_call"}}},
	{id: "QO-24", shown: []shown{{scenario: "QO-24", requests: 1, more: refuses}}},
	{id: "QO-25", shown: []shown{{
		scenario: "QO-25", ran: "call_1", failed: "call_2", warnings: llm.WarnNoFinish,
		more: both(skipped("truncated"), finishes(llm.FinishUnknown, llm.FinishStop)),
	}}},
	{id: "QO-26", shown: []shown{{scenario: "QO-26", ran: "call_1", more: usage(llm.Usage{InputTokens: 30, OutputTokens: 12})}}},
	{id: "QO-27", shown: []shown{{scenario: "QO-27", ran: "call_1 call_2"}}},
	{id: "QO-28", shown: []shown{{scenario: "QO-28", ran: "call_1"}}},
	{id: "QO-29", shown: []shown{{scenario: "QO-29", ran: "call_1"}}},
	{id: "QO-30", shown: []shown{{scenario: "QO-30", ran: "call_2", failed: "call_1", warnings: loop.WarnNoName}}},
	{id: "QO-31", shown: []shown{{scenario: "QO-31", ran: "call_1 call_2 call_3", more: oneByOne}}},

	{id: "QR-01", shown: []shown{{scenario: "QR-01", ran: "call_1"}}},
	{id: "QR-02", shown: []shown{{scenario: "QR-02", ran: "call_1 call_2"}}},
	{id: "QR-03", shown: []shown{{
		scenario: "QR-03", failed: "call_1 call_2",
		warnings: llm.WarnNoCallEnd + " " + llm.WarnNoCallEnd, more: skipped("truncated", "truncated"),
	}}},
	{id: "QR-04", shown: []shown{{
		scenario: "QR-04", ran: "call_1 call_2 call_3",
		warnings: llm.WarnNoCallEnd + " " + llm.WarnNoCallEnd, more: entered(`{"x":1}`, `{"x":2}`, `{"x":3}`),
	}}},
	{id: "QR-05", shown: []shown{{scenario: "QR-05", failed: "call_1", more: skipped("malformed_arguments")}}},
	{id: "QR-06", shown: []shown{{scenario: "QR-06", ran: "call_1 call_2"}}},
	{id: "QR-07", test: TestHistoryErrors, shown: []shown{
		{scenario: "QR-07a", refused: true, stop: trace.ReasonError, more: historyError(1)},
		{scenario: "QR-07b", refused: true, stop: trace.ReasonError, more: historyError(2)},
	}},
	{id: "QR-08", shown: []shown{{scenario: "QR-08", requests: 1, stop: trace.ReasonError, more: both(apiError(200), received("Let me look."))}}},
	{id: "QR-09", shown: []shown{{scenario: "QR-09", ran: "call_1 call_2", warnings: llm.WarnNoCallEnd}}},
	{id: "QR-10", wire: "a codec keeps what it streamed"},
	{id: "the tool parallel", shown: []shown{{
		scenario: "QR-parallel", ran: "call_3", failed: "call_1 call_2", more: skipped("unknown_tool", "unknown_tool"),
	}}},

	{id: "QA-01", shown: []shown{{scenario: "QA-01", ran: "toolu_1", warnings: llm.WarnRepeatedArguments, more: entered(`{"city":"Paris"}`)}}},
	{id: "QA-02", shown: []shown{{scenario: "QA-02", ran: "toolu_1", more: entered(`{"city":"Paris"}`)}}},
	{id: "QA-03", shown: []shown{{scenario: "QA-03", requests: 1, stop: trace.ReasonError, more: both(apiError(0), received("I will look."))}}},
	{id: "QA-04", shown: []shown{
		{scenario: "QA-04a", requests: 2},
		{scenario: "QA-04b", requests: 1, stop: trace.ReasonError, more: both(apiError(200), received("The"))},
	}},
	{id: "QA-05", shown: []shown{{scenario: "QA-05", ran: "toolu_1"}}},
	{id: "QA-06", shown: []shown{{
		scenario: "QA-06", ran: "toolu_1",
		more: usage(llm.Usage{InputTokens: 250, OutputTokens: 60, CacheReadInputTokens: 150, CacheCreationInputTokens: 30, ReasoningOutputTokens: 12}),
	}}},
	{id: "QA-07", shown: []shown{{scenario: "QA-07a", requests: 3}, {scenario: "QA-07b", requests: 3, stop: trace.ReasonContinuedResponse}}},
	{id: "QA-08", shown: []shown{{
		scenario: "QA-08", ran: "toolu_1", failed: "toolu_2 toolu_3", warnings: llm.WarnNoCallEnd, more: skipped("truncated", "truncated"),
	}}},
	{id: "QA-09", shown: []shown{{scenario: "QR-07a", refused: true, stop: trace.ReasonError, more: historyError(1)}}},
	{id: "QA-10", shown: []shown{{scenario: "QA-10", ran: "toolu_1", failed: "toolu_2", more: skipped("malformed_arguments")}}},
	{id: "QA-11", shown: []shown{{scenario: "QA-11", ran: "toolu_1 toolu_2", warnings: llm.WarnNoCallEnd}}},
	{id: "QA-12", shown: []shown{{scenario: "QA-12", ran: "toolu_1 toolu_2"}}},
	{id: "QA-13", shown: []shown{{scenario: "QA-13", ran: "toolu_1", warnings: "missing_message_stop"}}},
	{id: "QA-14", shown: []shown{{scenario: "QA-14", ran: "toolu_1"}}},
	{id: "a refusal without content", shown: []shown{{scenario: "QA-refusal", requests: 1, more: finishes(llm.FinishRefusal)}}},

	{id: "QG-01", shown: []shown{{scenario: "QG-01", ran: "loop_call_1", more: finishes(llm.FinishStop, llm.FinishStop)}}},
	{id: "QG-02", shown: []shown{{scenario: "QG-02", ran: "8hd01vsf", more: finishes(llm.FinishStop, llm.FinishStop)}}},
	{id: "QG-03", shown: []shown{{scenario: "QG-03", ran: "loop_call_1 loop_call_2 8hd01vsf"}}},
	{id: "QG-04", shown: []shown{{scenario: "QG-04", ran: "g1 g2 g3"}}},
	{id: "QG-05", shown: []shown{
		{scenario: "QR-07a", refused: true, stop: trace.ReasonError, more: historyError(1)},
		{scenario: "QR-07b", refused: true, stop: trace.ReasonError, more: historyError(2)},
	}},
	{id: "QG-06", shown: []shown{
		{scenario: "QG-06a", requests: 1, stop: trace.ReasonError, more: malformedCall},
		{scenario: "QG-06b", requests: 1, stop: trace.ReasonError, more: both(malformedCall, received("I will call a."))},
	}},
	{id: "QG-07", shown: []shown{{scenario: "QG-07", ran: "g1", more: addsMessages(2)}}},
	{id: "QG-08", shown: []shown{
		{scenario: "QG-08a", more: addsMessages(0)},
		{scenario: "QG-08b", requests: 1, stop: trace.ReasonError, more: apiError(200)},
	}},
	{id: "QG-09", shown: []shown{{scenario: "QG-09", more: usage(llm.Usage{InputTokens: 30, OutputTokens: 9, ReasoningOutputTokens: 2})}}},
	{id: "QG-10", wire: "a codec builds the arguments' text; a call without any is QO-15"},
	{id: "QG-11", shown: []shown{{scenario: "QG-11", requests: 1, stop: trace.ReasonError, more: malformedCall}}},
	{id: "QG-12", shown: []shown{
		{scenario: "QG-12a", requests: 2},
		{scenario: "QG-12b", requests: 1, stop: trace.ReasonError, more: both(apiError(503), received("The answer"))},
	}},

	{id: "QT-01", wire: "the ends of lines"},
	{id: "QT-02", wire: "the fields of server-sent events"},
	{id: "QT-03", wire: "the length of lines"},
	{id: "QT-04", shown: []shown{{scenario: "QT-04", ran: "call_1", more: entered(`{"s":"\u00e9\\n"}`)}}},
	{id: "QT-05", shown: []shown{{scenario: "QT-05", requests: 1, stop: trace.ReasonError, more: apiError(0)}}},
	{id: "QT-06", shown: []shown{
		{scenario: "QT-06a", requests: 6},
		{scenario: "QT-06b", requests: 2, stop: trace.ReasonError, more: apiError(429)},
		{scenario: "QT-06c", requests: 2, stop: trace.ReasonError, more: apiError(503)},
	}},
	{id: "QT-07", test: testNotRetried, shown: []shown{
		{scenario: "QT-07a", requests: 1, stop: trace.ReasonError, more: apiError(400)},
		{scenario: "QT-07b", requests: 1, stop: trace.ReasonError, more: apiError(429)},
	}},
	{id: "QT-08", wire: "what a body is; the error that it becomes is QT-07"},
	{id: "QT-09", test: testDeepArguments, shown: []shown{
		{
			scenario: "QT-09a", ran: "call_15",
			failed: "call_01 call_02 call_03 call_04 call_05 call_06 call_07 call_08 call_09 call_10 call_11 call_12 call_13 call_14",
			more:   skipped(slices.Repeat([]string{"malformed_arguments"}, 14)...),
		},
		{scenario: "QT-09b", failed: "call_1 call_2 call_3", requests: 3, stop: trace.ReasonRunawayGuard},
	}},
	{id: "QT-10", shown: []shown{
		{scenario: "QT-10a", requests: 1, stop: trace.ReasonDeadline, more: both(failsWith(loop.ErrDeadline), received("Let me"))},
		{scenario: "QT-10b", requests: 1, stop: trace.ReasonDeadline, more: failsWith(loop.ErrDeadline)},
	}},
	{id: "QT-11", wire: "a codec ends the answer at its mark"},
}

func quirkPath(name string) string { return filepath.Join(testdata, "quirks", name+".txtar") }

func TestQuirks(t *testing.T) {
	for _, q := range quirks {
		t.Run(q.id, func(t *testing.T) {
			repeatable(t)
			if len(q.shown) == 0 && q.test == nil && q.wire == "" {
				t.Fatal("no test shows this quirk, and no reason is given")
			}
			for _, s := range q.shown {
				s.hold(t, play(t, pinned(t, quirkPath(s.scenario)).Script, nil))
			}
			if q.test != nil {
				q.test(t)
			}
		})
	}
}

// hold compares the result with the facts.
func (s shown) hold(t *testing.T, o *scenario.Result) {
	t.Helper()
	if got := strings.Join(enteredCalls(o), " "); got != s.ran {
		t.Errorf("%s: tools were entered for %q, want %q", s.scenario, got, s.ran)
	}
	if got := strings.Join(failedCalls(o), " "); got != s.failed {
		t.Errorf("%s: error results for %q, want %q", s.scenario, got, s.failed)
	}
	var codes []string
	for _, w := range of[trace.Warning](o.Events) {
		codes = append(codes, w.Code)
	}
	if got := strings.Join(codes, " "); got != s.warnings {
		t.Errorf("%s: warnings %q, want %q", s.scenario, got, s.warnings)
	}
	requests := s.requests
	if requests == 0 && !s.refused {
		requests = o.Run.ToolSteps + 1
	}
	if len(o.Requests) != requests {
		t.Errorf("%s: %d requests, want %d", s.scenario, len(o.Requests), requests)
	}
	stop := s.stop
	if stop == "" {
		stop = trace.ReasonEndTurn
	}
	fails := stop == trace.ReasonError || stop == trace.ReasonDeadline
	if o.Run.StopReason != stop || fails != (o.Err != nil) {
		t.Errorf("%s: the run stopped with %q and error %v, want %q", s.scenario, o.Run.StopReason, o.Err, stop)
	}
	if s.more != nil {
		s.more(t, o)
	}
}

func enteredCalls(o *scenario.Result) (ids []string) {
	for _, ev := range o.Tools {
		if !ev.Exit {
			ids = append(ids, ev.Call)
		}
	}
	return ids
}

// failedCalls returns the calls with error results in the messages for the model.
func failedCalls(o *scenario.Result) (ids []string) {
	for _, m := range o.Run.Messages {
		for _, p := range m.Parts {
			if r, ok := p.(llm.ToolResult); ok && r.IsError {
				ids = append(ids, r.ID)
			}
		}
	}
	return ids
}

type fact = func(t *testing.T, o *scenario.Result)

func both(a, b fact) fact {
	return func(t *testing.T, o *scenario.Result) { a(t, o); b(t, o) }
}

// same returns a fact: get must return want.
func same[T any](what string, want T, get func(o *scenario.Result) T) fact {
	return func(t *testing.T, o *scenario.Result) {
		t.Helper()
		if diff := cmp.Diff(want, get(o)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
}

func finishes(want ...llm.FinishReason) fact {
	return same("finish reasons", want, func(o *scenario.Result) (got []llm.FinishReason) {
		for _, response := range of[trace.ModelResponse](o.Events) {
			got = append(got, response.FinishReason)
		}
		return got
	})
}

// skipped returns a fact: the reasons why calls were not run, in call order.
func skipped(want ...string) fact {
	return same("causes of skips", want, func(o *scenario.Result) (got []string) {
		for _, s := range of[trace.ToolSkip](o.Events) {
			got = append(got, s.Reason)
		}
		return got
	})
}

// entered returns a fact: the arguments that the tools got.
func entered(want ...string) fact {
	return same("arguments", want, func(o *scenario.Result) (got []string) {
		for _, ev := range o.Tools {
			if !ev.Exit {
				got = append(got, ev.Arguments)
			}
		}
		return got
	})
}

func usage(want llm.Usage) fact {
	return same("usage", want, func(o *scenario.Result) llm.Usage { return o.Run.Usage })
}

func addsMessages(n int) fact {
	return same("messages that the run added", n, func(o *scenario.Result) int { return len(o.Run.Messages) })
}

// received returns a fact: the text before the failure of the response.
func received(want string) fact {
	return same("text before the error", want, func(o *scenario.Result) string { return o.Run.Partial.Text() })
}

func failsWith(want error) fact {
	return func(t *testing.T, o *scenario.Result) {
		if !errors.Is(o.Err, want) {
			t.Errorf("the run failed with %v, want %v", o.Err, want)
		}
	}
}

var malformedCall = failsWith(loop.ErrMalformedCall)

func apiError(status int) fact {
	return func(t *testing.T, o *scenario.Result) {
		api, ok := errors.AsType[*llm.APIError](o.Err)
		if !ok || api.Status != status {
			t.Errorf("the run failed with %v, want an API error of status %d", o.Err, status)
		}
	}
}

func historyError(message int) fact {
	return func(t *testing.T, o *scenario.Result) {
		h, ok := errors.AsType[*loop.HistoryError](o.Err)
		if !ok || h.Message != message {
			t.Errorf("the run failed with %v, want a HistoryError of message %d", o.Err, message)
		}
	}
}

func refuses(t *testing.T, o *scenario.Result) {
	last := o.Run.Messages[len(o.Run.Messages)-1].Parts
	if x, ok := last[len(last)-1].(llm.Text); !ok || !x.Refusal {
		t.Errorf("got %v, want a refusal last", last)
	}
}

// oneByOne checks that each tool returned before the next one was entered.
func oneByOne(t *testing.T, o *scenario.Result) {
	for i, ev := range o.Tools {
		if ev.Exit != (i%2 == 1) {
			t.Fatalf("the tools overlap: %v", o.Tools)
		}
	}
}

// A call whose name comes after its id, or after its arguments, is one call.
func testLateName(t *testing.T) {
	response := fake.Response{Events: []llm.Event{
		llm.ToolCallStart{Index: 1, ID: "call_1"},
		llm.ToolCallStart{Index: 1, ID: "call_1", Name: "a"},
		llm.ToolCallDelta{Index: 1, Arguments: `{"x":1}`},
		llm.ToolCallEnd{Index: 1},
		llm.ToolCallStart{Index: 2, ID: "call_2"},
		llm.ToolCallDelta{Index: 2, Arguments: `{"y"`},
		llm.ToolCallDelta{Index: 2, Arguments: `:2}`},
		llm.ToolCallStart{Index: 2, Name: "b"},
		llm.ToolCallEnd{Index: 2},
	}}
	res, events := mustRun(t, model(response, text("done")), loop.Config{Tools: []loop.Tool{echo("a"), echo("b")}})
	want := []llm.ToolCall{{ID: "call_1", Name: "a", Arguments: `{"x":1}`}, {ID: "call_2", Name: "b", Arguments: `{"y":2}`}}
	if diff := cmp.Diff(want, res.Messages[0].Calls()); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if n := len(of[trace.ToolStart](events)); n != 2 {
		t.Errorf("%d tools were entered, want 2", n)
	}
	if diff := cmp.Diff([]string{`{"x":1}`, `{"y":2}`}, resultTexts(res.Messages)); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
}

// Arguments that are nested too deep get a short error result.
func testDeepArguments(t *testing.T) {
	for _, c := range []struct {
		deep int
		want string
	}{
		{1000, "nested more than 1000 deep"},
		{10_000, "nested too deeply"},
	} {
		args := `{"a":` + strings.Repeat("[", c.deep) + strings.Repeat("]", c.deep) + `}`
		res, events := mustRun(t, model(calls("a"+args), text("done")), loop.Config{Tools: []loop.Tool{echo("a")}})
		if n := len(of[trace.ToolStart](events)); n != 0 {
			t.Errorf("%d deep: %d tools were entered, want none", c.deep, n)
		}
		got := resultTexts(res.Messages)
		if len(got) != 1 || !strings.Contains(got[0], c.want) || len(got[0]) > 300 {
			t.Errorf("%d deep: results %.300q, want a short one that contains %s", c.deep, got, c.want)
		}
	}
}

// A request that the provider rejects finally is sent once.
func testNotRetried(t *testing.T) {
	for _, status := range []int{400, 401, 403, 404, 413} {
		m := model(fake.Response{Error: &fake.Failure{Status: status, Message: "no"}})
		_, _, err := ran(t, m, loop.Config{Retry: loop.Retry{Max: 3}})
		api, ok := errors.AsType[*llm.APIError](err)
		if !ok || api.Status != status || len(m.RecordedRequests()) != 1 {
			t.Errorf("status %d: got %v after %d requests, want it after one", status, err, len(m.RecordedRequests()))
		}
	}
}

// A non-streaming response has the same effect as a streaming one for each quirk.
func TestQuirksNonStreaming(t *testing.T) {
	each(t, quirkFiles(t), func(t *testing.T, path string) {
		s := parse(t, path).Script
		streamed, buffered := facts(t, s, nil), facts(t, s, deliver(llm.NonStreaming))
		if diff := cmp.Diff(streamed, buffered); diff != "" {
			t.Errorf("(-streaming +non-streaming):\n%s", diff)
		}
	})
}

// facts runs a script and returns the data that INV-12 compares.
func facts(t *testing.T, s *fake.Script, opts *scenario.Options) []string {
	t.Helper()
	o := play(t, s, opts)
	out := []string{fmt.Sprint(o.Run.StopReason, o.Run.Usage, o.Run.FinishReason, o.Run.ModelCalls, o.Err)}
	for _, m := range o.Run.Messages {
		out = append(out, string(m.AppendJSON(nil)))
	}
	return out
}

// The same text and arguments in deltas of one byte give the same trace.
func TestQuirksInChunks(t *testing.T) {
	each(t, quirkFiles(t), func(t *testing.T, path string) {
		if id(path) == "QT-05" {
			t.Skip("this run stops after a number of events, which depends on the chunks")
		}
		f := parse(t, path)
		if diff := f.Compare(play(t, f.Script, &scenario.Options{Chunk: 1})); diff != "" {
			t.Error(diff)
		}
	})
}

func quirkFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(quirkPath("*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios of quirks: %v", err)
	}
	return files
}

// The table contains each scenario and each quirk of the list.
func TestQuirksTableIsComplete(t *testing.T) {
	var ids, used []string
	for _, q := range quirks {
		ids = append(ids, q.id)
		for _, s := range q.shown {
			used = append(used, s.scenario)
		}
	}
	for _, f := range quirkFiles(t) {
		if !slices.Contains(used, id(f)) {
			t.Errorf("%s belongs to no row of the table", f)
		}
	}
	for _, group := range []struct {
		prefix string
		last   int
	}{{"QO", 31}, {"QR", 10}, {"QA", 14}, {"QG", 12}, {"QT", 11}} {
		for n := range group.last {
			if id := fmt.Sprintf("%s-%02d", group.prefix, n+1); !slices.Contains(ids, id) {
				t.Errorf("the quirk %s is not in the table", id)
			}
		}
	}
	shared := os.Getenv("LOOPTAPE_SHARED")
	if shared == "" {
		shared = "../../shared"
	}
	doc, err := os.ReadFile(filepath.Join(shared, "quirks.md"))
	if err != nil {
		t.Skipf("the list itself is not here to compare with: %v", err)
	}
	rows := regexp.MustCompile(`(?m)^\| (Q[A-Z]-\d+) \|`).FindAllSubmatch(doc, -1)
	for _, m := range rows {
		if !slices.Contains(ids, string(m[1])) {
			t.Errorf("the quirk %s of the list is not in the table", m[1])
		}
	}
	if n := len(slices.DeleteFunc(ids, func(id string) bool { return id[0] != 'Q' })); n != len(rows) {
		t.Errorf("%d quirks in the table, %d in the list", n, len(rows))
	}
}
