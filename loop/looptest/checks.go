package looptest

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/check"
)

// checkRun checks an ended run with the checks of all cases, and then with those of its
// case.
func (w *caseRun) checkRun() {
	w.checkUnchanged()
	w.checkRequests()
	switch {
	case w.c.fails || w.err == nil:
	case w.c.hasFailedCalls:
		w.report("INV-23", "the run fails because a call failed: %v", w.err)
		return
	default:
		w.report("INV-11", "the run fails without a cause: %v", w.err)
		return
	}
	w.checkResult()
	if !w.c.fails && w.modelCalls < len(w.c.responses) {
		w.report("INV-11", "the run stops after response %d, which has calls", w.modelCalls)
	}
	if w.c.check != nil {
		w.c.check(w)
	}
}

// checkUnchanged checks INV-06: the input and the exposed messages are unchanged.
func (w *caseRun) checkUnchanged() {
	for _, line := range w.model.MutatedRequests() {
		w.report("INV-06", "%s", line)
	}
	for i, h := range w.steps {
		if is := jsonOf(h.messages); !bytes.Equal(h.json, is) {
			w.report("INV-06", "the messages of Input.Step call %d were changed later:\n%s", i, cmp.Diff(string(h.json), string(is)))
		}
	}
	if is := jsonOf(w.input); !bytes.Equal(w.before, is) {
		w.report("INV-06", "the input messages were changed:\n%s", cmp.Diff(string(w.before), string(is)))
	}
	for _, m := range w.input[len(w.input):cap(w.input)] {
		if m.Role != "" || m.Parts != nil {
			w.report("INV-06", "the loop appended to the array of the caller: %s", m.AppendJSON(nil))
		}
	}
}

func (w *caseRun) checkRequests() {
	var prev []llm.Message
	for i, r := range w.model.RecordedRequests() {
		m := r.Request.Messages
		if n := len(prev); n > len(m) || !same(prev, m[:n]) {
			w.report("INV-05", "request %d does not begin with the messages of the request before it (-before +request):\n%s",
				i, cmp.Diff(lines(prev), lines(m)))
		}
		prev = m
		// With a message after the last one, open calls are a violation.
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

// checkResult checks INV-07: each call in the result has a result or is pending.
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
				w.report("INV-07", "the run ended without a result of the call %q and does not report it as pending", c.ID)
			}
		}
	}
}

func resultsIn(m llm.Message) []llm.ToolResult {
	var out []llm.ToolResult
	for _, p := range m.Parts {
		if r, ok := p.(llm.ToolResult); ok {
			out = append(out, r)
		}
	}
	return out
}

func (w *caseRun) lastRequest() []llm.Message {
	all := w.model.RecordedRequests()
	if len(all) == 0 {
		return nil
	}
	return all[len(all)-1].Request.Messages
}

// results returns the calls and the results in the last request.
func (w *caseRun) results() (calls []llm.ToolCall, results []llm.ToolResult) {
	for _, m := range w.lastRequest() {
		calls = append(calls, m.Calls()...)
		results = append(results, resultsIn(m)...)
	}
	return calls, results
}

// resultsMatchCalls checks that each result contains the arguments of its call.
func resultsMatchCalls(w *caseRun) {
	calls, results := w.results()
	for _, c := range calls {
		for _, r := range results {
			if r.ID == c.ID && !strings.Contains(r.Text(), c.Arguments) {
				w.report("INV-01", "wrong result of the call %q: got %q, want one with %s", c.ID, r.Text(), c.Arguments)
			}
		}
	}
}

func onceEach(w *caseRun) {
	ran := map[entry]int{}
	for _, e := range w.started() {
		ran[e]++
	}
	for i, n := range []int{1, 1, 0, 1} {
		args := fmt.Sprintf(`{"n":%d}`, i+1)
		if got := ran[entry{"a", args}]; got != n {
			w.report("INV-08", "the tool a was run %d times with %s, want %d", got, args, n)
		}
	}
}

func exactArguments(w *caseRun) {
	calls := w.c.responses[0].Calls
	for _, e := range w.started() {
		if !slices.ContainsFunc(calls, func(c fake.Call) bool { return c.Arguments == e.args }) {
			w.report("INV-09", "the tool %s received %s, want the arguments %q", e.name, e.args, calls[0].Arguments)
		}
	}
}

func noneRun(w *caseRun) {
	for _, e := range w.started() {
		w.report("INV-09", "the tool %s ran with %q, but the arguments %q are not JSON", e.name, e.args, w.c.responses[0].Calls[0].Arguments)
	}
	if _, results := w.results(); len(w.started()) == 0 && len(results) == 1 && !results[0].IsError {
		w.report("INV-23", "the result of a call with invalid arguments is not an error")
	}
}

func usageIsSum(w *caseRun) {
	var want llm.Usage
	for _, t := range w.c.responses {
		want = want.Add(t.Usage)
	}
	if w.result.Usage != nil && *w.result.Usage != want {
		w.report("INV-18", "usage %+v, want the sum of the model calls %+v", *w.result.Usage, want)
	}
}

// opaqueEchoed checks that the second request contains the opaque data of the first response.
func opaqueEchoed(w *caseRun) {
	list := w.lastRequest()
	i := slices.IndexFunc(list, func(m llm.Message) bool { return m.Role == llm.RoleAssistant })
	if i < 0 {
		return
	}
	call := llm.ToolCall{ID: "c1", Name: "a", Arguments: "{}", Opaque: []byte(`{"item":"fc_1"}`)}
	want := llm.AppendParts(nil, []llm.Part{llm.Reasoning{Text: "I should look.", Opaque: secret}, call})
	if got := llm.AppendParts(nil, list[i].Parts); !bytes.Equal(got, want) {
		w.report("INV-22", "assistant message %s, want %s", got, want)
	}
}

// textKept checks that the last request contains the text before a call.
func textKept(w *caseRun) {
	for _, m := range w.lastRequest() {
		if calls := m.Calls(); len(calls) > 0 && calls[0].ID == "c2" && m.Text() != "I try 2." {
			w.report("INV-05", "the response with the call %q is sent back with the text %q, want %q", "c2", m.Text(), "I try 2.")
		}
	}
}

// contained checks that each call of the tool a or of an unknown tool has an error result,
// and each call of b its own result.
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
