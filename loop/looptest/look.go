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
func (w *world) look() {
	if w.panics != nil {
		w.report("INV-23", "the loop panicked: %v", w.panics)
		return
	}
	w.unchanged()
	w.wire()
	if w.err != nil && !w.c.fails {
		w.failed()
		return
	}
	w.whole()
	w.turnsTaken()
	if w.c.look != nil {
		w.c.look(w)
	}
}

// unchanged is INV-06: what was handed in and out is as it was.
func (w *world) unchanged() {
	for _, line := range w.model.MutatedRequests() {
		w.report("INV-06", "%s", line)
	}
	for i, h := range w.steps {
		if is := jsonOf(h.messages); !bytes.Equal(h.was, is) {
			w.report("INV-06", "the messages that the loop handed out (number %d) were changed afterwards:\n%s", i, cmp.Diff(string(h.was), string(is)))
		}
	}
	all := w.given[:cap(w.given)]
	if is := jsonOf(w.given); !bytes.Equal(w.before, is) {
		w.report("INV-06", "the messages that were handed in were changed:\n%s", cmp.Diff(string(w.before), string(is)))
	}
	for _, m := range all[len(w.given):] {
		if m.Role != "" || m.Parts != nil {
			w.report("INV-06", "the loop appended to the caller's own array of messages: %s", m.AppendJSON(nil))
		}
	}
}

// wire holds the requests against what messages alone can show.
func (w *world) wire() {
	var prev []llm.Message
	for i, r := range w.model.RecordedRequests() {
		m := r.Request.Messages
		if n := len(prev); n > len(m) || !same(prev, m[:n]) {
			w.report("INV-05", "request %d does not begin with the messages of the request before it (-before +request):\n%s",
				i, cmp.Diff(lines(prev), lines(m)))
		}
		prev = m
		// A message behind the last shows that its calls have no results.
		w.messages(fmt.Sprintf("request %d", i), append(slices.Clone(m), llm.User("end")))
	}
}

func (w *world) messages(where string, list []llm.Message) {
	for _, v := range check.Messages(w.c.name, list) {
		w.report(v.Invariant, "%s, message %d: %s", where, v.Event, v.Message)
	}
}

func lines(messages []llm.Message) []string {
	return strings.SplitAfter(string(jsonOf(messages)), "\n")
}

// failed reports a run that ended with an error although nothing but its tools
// went wrong.
func (w *world) failed() {
	if w.c.refuses {
		w.report("INV-23", "the run fails because a call did: %v", w.err)
		return
	}
	w.report("INV-11", "the run fails although nothing went wrong: %v", w.err)
}

// whole is INV-07: with what came out, each call that the run has not gone on
// from has a result or is pending.
func (w *world) whole() {
	if len(w.out.Messages) == 0 {
		return
	}
	list := slices.Concat(w.c.input, w.out.Messages)
	w.messages("the run's messages", list)
	answered := map[string]bool{}
	for _, id := range w.out.Pending {
		answered[id] = true
	}
	for _, m := range list {
		for _, r := range resultsIn(m) {
			answered[r.ID] = true
		}
	}
	for _, m := range list[min(len(list), len(w.sent())):] {
		for _, c := range m.Calls() {
			if !answered[c.ID] {
				w.report("INV-07", "the run has ended without a result of the call %q, and does not report it pending", c.ID)
			}
		}
	}
}

// turnsTaken is INV-11: the model was asked as often as there was reason to.
func (w *world) turnsTaken() {
	if !w.c.fails && w.asked < len(w.c.turns) {
		w.report("INV-11", "the run stops after turn %d, though it has calls", w.asked)
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
func (w *world) sent() []llm.Message {
	all := w.model.RecordedRequests()
	if len(all) == 0 {
		return nil
	}
	return all[len(all)-1].Request.Messages
}

// results are those in the last request, in order, beside the calls.
func (w *world) results() (calls []llm.ToolCall, results []llm.ToolResult) {
	for _, m := range w.sent() {
		calls = append(calls, m.Calls()...)
		results = append(results, resultsIn(m)...)
	}
	return calls, results
}

// resultsTellCalls looks for the arguments of each call in its result.
func resultsTellCalls(w *world) {
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
func onceEach(w *world) {
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
func exactArgs(w *world) {
	want := map[string]bool{}
	for _, c := range w.c.turns[0].Calls {
		want[c.Arguments] = true
	}
	for _, e := range w.entries {
		if !want[e.args] {
			w.report("INV-09", "the tool %s was run with %s, which no call has; the arguments that were sent are %q", e.name, e.args, w.c.turns[0].Calls[0].Arguments)
		}
	}
}

// notRun looks for a run of a call that could not be run.
func notRun(w *world) {
	for _, e := range w.entries {
		w.report("INV-09", "the tool %s was run with %q, though the arguments %q are no JSON", e.name, e.args, w.c.turns[0].Calls[0].Arguments)
	}
	if _, results := w.results(); len(w.entries) == 0 && len(results) == 1 && !results[0].IsError {
		w.report("INV-23", "the call with broken arguments has a result that is not marked as an error")
	}
}

// usageIsSum adds up what the model counted.
func usageIsSum(w *world) {
	var want llm.Usage
	for _, t := range w.c.turns {
		want = want.Add(t.Usage)
	}
	if w.out.Usage != nil && *w.out.Usage != want {
		w.report("INV-18", "the run says %+v, but its model calls add up to %+v", *w.out.Usage, want)
	}
}

// echoed looks for the private data of the first turn in the second request.
func echoed(w *world) {
	for _, m := range w.sent() {
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
func contained(w *world) {
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
func (w *world) compare(prev *world) {
	if diff := cmp.Diff(prev.said, w.said); diff != "" {
		w.report(w.c.same, "two runs that must be the same differ (-first +second):\n%s", diff)
	}
}

func (w *world) summary() []string {
	var out []string
	for _, r := range w.model.RecordedRequests() {
		out = append(out, lines(r.Request.Messages)...)
	}
	out = append(append(out, "end"), lines(w.out.Messages)...)
	if w.out.Usage != nil {
		out = append(out, fmt.Sprintf("usage %+v", *w.out.Usage))
	}
	return out
}
