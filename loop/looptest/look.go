package looptest

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/check"
)

// look holds a run that has ended against all that any case can show, and then
// against what its case is about.
func (w *caseRun) checkRun() {
	if w.panicValue != nil {
		w.report("INV-23", "the loop panicked: %v", w.panicValue)
		return
	}
	w.checkUnchanged()
	w.checkRequests()
	if w.err != nil && !w.c.fails {
		w.reportFailure()
		return
	}
	w.checkResult()
	w.checkModelCalls()
	if w.c.check != nil {
		w.c.check(w)
	}
}

// unchanged is INV-06: what was handed in and out is as it was.
func (w *caseRun) checkUnchanged() {
	for _, line := range w.model.MutatedRequests() {
		w.report("INV-06", "%s", line)
	}
	for i, h := range w.steps {
		if is := jsonOf(h.messages); !bytes.Equal(h.json, is) {
			w.report("INV-06", "the messages that the loop handed out (number %d) were changed afterwards:\n%s", i, cmp.Diff(string(h.json), string(is)))
		}
	}
	all := w.input[:cap(w.input)]
	if is := jsonOf(w.input); !bytes.Equal(w.before, is) {
		w.report("INV-06", "the messages that were handed in were changed:\n%s", cmp.Diff(string(w.before), string(is)))
	}
	for _, m := range all[len(w.input):] {
		if m.Role != "" || m.Parts != nil {
			w.report("INV-06", "the loop appended to the caller's own array of messages: %s", m.AppendJSON(nil))
		}
	}
}

// wire holds the requests against what messages alone can show.
func (w *caseRun) checkRequests() {
	var prev []llm.Message
	for i, r := range w.model.RecordedRequests() {
		m := r.Request.Messages
		if n := len(prev); n > len(m) || !same(prev, m[:n]) {
			w.report("INV-05", "request %d does not begin with the messages of the request before it (-before +request):\n%s",
				i, cmp.Diff(lines(prev), lines(m)))
		}
		prev = m
		// A message behind the last shows that its calls have no results.
		w.checkMessages(fmt.Sprintf("request %d", i), append(slices.Clone(m), llm.User("end")))
	}
}

func (w *caseRun) checkMessages(where string, list []llm.Message) {
	for _, v := range check.Messages(w.c.name, list) {
		w.report(v.Invariant, "%s, message %d: %s", where, v.Event, v.Message)
	}
}

func lines(messages []llm.Message) []string {
	return strings.SplitAfter(string(jsonOf(messages)), "\n")
}

// failed reports a run that ended with an error although nothing but its tools
// went wrong.
func (w *caseRun) reportFailure() {
	if w.c.hasFailedCalls {
		w.report("INV-23", "the run fails because a call did: %v", w.err)
		return
	}
	w.report("INV-11", "the run fails although nothing went wrong: %v", w.err)
}

// whole is INV-07: with what came out, each call that the run has not gone on
// from has a result or is pending.
func (w *caseRun) checkResult() {
	if len(w.result.Messages) == 0 {
		return
	}
	list := slices.Concat(w.c.input, w.result.Messages)
	w.checkMessages("the run's messages", list)
	answered := map[string]bool{}
	for _, id := range w.result.Pending {
		answered[id] = true
	}
	for _, m := range list {
		for _, r := range resultsIn(m) {
			answered[r.ID] = true
		}
	}
	for _, m := range list[min(len(list), len(w.lastRequest())):] {
		for _, c := range m.Calls() {
			if !answered[c.ID] {
				w.report("INV-07", "the run has ended without a result of the call %q, and does not report it pending", c.ID)
			}
		}
	}
}

// turnsTaken is INV-11: the model was asked as often as there was reason to.
func (w *caseRun) checkModelCalls() {
	if !w.c.fails && w.modelCalls < len(w.c.responses) {
		w.report("INV-11", "the run stops after turn %d, though it has calls", w.modelCalls)
	}
}

// resultsIn are the results in a message.
func resultsIn(m llm.Message) []llm.ToolResult {
	var out []llm.ToolResult
	for _, p := range m.Parts {
		if r, ok := p.(llm.ToolResult); ok {
			out = append(out, r)
		}
	}
	return out
}

// sent are the messages of the last request.
func (w *caseRun) lastRequest() []llm.Message {
	all := w.model.RecordedRequests()
	if len(all) == 0 {
		return nil
	}
	return all[len(all)-1].Request.Messages
}

// results are those in the last request, in order, beside the calls.
func (w *caseRun) results() (calls []llm.ToolCall, results []llm.ToolResult) {
	for _, m := range w.lastRequest() {
		calls = append(calls, m.Calls()...)
		results = append(results, resultsIn(m)...)
	}
	return calls, results
}

// resultsTellCalls looks for the arguments of each call in its result.
func resultsMatchCalls(w *caseRun) {
	calls, results := w.results()
	for _, c := range calls {
		for _, r := range results {
			if r.ID == c.ID && !strings.Contains(r.Text(), c.Arguments) {
				w.report("INV-01", "the result of the call %q is not that of its tool: %q has no %s", c.ID, r.Text(), c.Arguments)
			}
		}
	}
}

// onceEach counts what ran.
func onceEach(w *caseRun) {
	ran := map[entry]int{}
	for _, e := range w.entries {
		ran[e]++
	}
	for i, n := range []int{1, 1, 0, 1} {
		e := entry{"a", fmt.Sprintf(`{"n":%d}`, i+1)}
		if ran[e] != n {
			w.report("INV-08", "the tool %s was run %d times with %s, want %d", e.name, ran[e], e.args, n)
		}
	}
}

// exactArgs compares what the tools got with what was sent.
func exactArgs(w *caseRun) {
	want := map[string]bool{}
	for _, c := range w.c.responses[0].Calls {
		want[c.Arguments] = true
	}
	for _, e := range w.entries {
		if !want[e.args] {
			w.report("INV-09", "the tool %s was run with %s, which no call has; the arguments that were sent are %q", e.name, e.args, w.c.responses[0].Calls[0].Arguments)
		}
	}
}

// notRun looks for a run of a call that could not be run.
func noneRun(w *caseRun) {
	for _, e := range w.entries {
		w.report("INV-09", "the tool %s was run with %q, though the arguments %q are no JSON", e.name, e.args, w.c.responses[0].Calls[0].Arguments)
	}
	if _, results := w.results(); len(w.entries) == 0 && len(results) == 1 && !results[0].IsError {
		w.report("INV-23", "the call with broken arguments has a result that is not marked as an error")
	}
}

// usageIsSum adds up what the model counted.
func usageIsSum(w *caseRun) {
	var want llm.Usage
	for _, t := range w.c.responses {
		want = want.Add(t.Usage)
	}
	if w.result.Usage != nil && *w.result.Usage != want {
		w.report("INV-18", "the run says %+v, but its model calls add up to %+v", *w.result.Usage, want)
	}
}

// echoed looks for the private data of the first turn in the second request.
func opaqueEchoed(w *caseRun) {
	for _, m := range w.lastRequest() {
		if m.Role != llm.RoleAssistant {
			continue
		}
		want := []llm.Part{llm.Reasoning{Text: "I should look.", Opaque: secret}, llm.ToolCall{ID: "c1", Name: "a", Arguments: "{}", Opaque: []byte(`{"item":"fc_1"}`)}}
		if got := llm.AppendParts(nil, m.Parts); !bytes.Equal(got, llm.AppendParts(nil, want)) {
			w.report("INV-22", "the assistant turn is sent back as %s, want %s", got, llm.AppendParts(nil, want))
		}
		return
	}
}

// contained looks at what became of failures: an error result for each call of
// the tool a or of no tool, and the tool b's own result.
func contained(w *caseRun) {
	calls, results := w.results()
	names := map[string]string{}
	for _, c := range calls {
		names[c.ID] = c.Name
	}
	for _, r := range results {
		if failed := names[r.ID] != "b"; failed != r.IsError {
			w.report("INV-23", "the result of the call %q of %s has IsError %v, want %v: %s", r.ID, names[r.ID], r.IsError, failed, r.Text())
		}
	}
}

// compare holds a run against the one before it.
func (w *caseRun) compare(prev *caseRun) {
	if diff := cmp.Diff(prev.transcript, w.transcript); diff != "" {
		w.report(w.c.same, "two runs that must be the same differ (-first +second):\n%s", diff)
	}
}

func (w *caseRun) summary() []string {
	var out []string
	for _, r := range w.model.RecordedRequests() {
		out = append(out, lines(r.Request.Messages)...)
	}
	out = append(append(out, "end"), lines(w.result.Messages)...)
	if w.result.Usage != nil {
		out = append(out, fmt.Sprintf("usage %+v", *w.result.Usage))
	}
	return out
}
