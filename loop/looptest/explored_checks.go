package looptest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/looptape/looptape/internal/jsonval"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/check"
)

// check checks an ended run against what the world did.
func (r *exploredRun) check() {
	if list := r.requests; len(list) > 0 && !hasInput(list[0].messages, r.script.Input) {
		r.report("INV-05", "request 1 does not have the messages of the input")
	}
	r.checkUnchanged()
	var prev []llm.Message
	for i, s := range r.requests {
		if n := len(prev); n > len(s.messages) || !same(prev, s.messages[:n]) {
			r.report("INV-05", "request %d does not begin with the messages of the request before it", i+1)
		} else if i > 0 && r.responses[i-1] != nil {
			r.checkSentBack(fmt.Sprintf("request %d", i+1), r.responses[i-1], s.messages[len(prev):])
		}
		prev = s.messages
		where := fmt.Sprintf("request %d", i+1)
		r.checkList(where, append(slices.Clone(s.messages), llm.User("end")))
		r.checkTexts(where, s.messages)
	}
	r.checkEntered()
	if longest, again := longestOf(r.requests, func(s sent) []llm.Message { return s.messages }); again {
		r.checkRepeated(longest, r.responses[r.last()])
	}
	switch last := r.last(); {
	case r.err != nil && last >= 0 && r.responses[last] != nil && !isComplete(r.responses[last]):
		// The loop may fail because of such an end.
	case r.err != nil && !r.canceled && !r.chosen && (r.modelFault == "" || r.callFault()):
		id := "INV-11"
		if r.toolFault || r.modelFault != "" || r.someDenied() {
			id = "INV-23"
		}
		r.report(id, "the run fails: %v", r.err)
	case r.err == nil && !r.canceled && last >= 0 && r.responses[last] == nil:
		r.report("INV-11", "the run ends without an error, and model call %d failed", last+1)
	case r.err == nil && last < 0 && !r.mayStop():
		r.report("INV-11", "the run ends without an error, and called no model")
	case r.err == nil && last >= 0 && !r.canceled:
		r.checkEnd(r.responses[last])
		r.checkUnused()
	}
	r.checkResult()
}

// last returns the index of the last request that the loop did not cancel itself, or of the last one if there is none, or -1.
func (r *exploredRun) last() int {
	last := len(r.responses) - 1
	for i := last; i >= 0; i-- {
		if !slices.Contains(r.discarded, i) {
			return i
		}
	}
	return last
}

// checkUnused checks that a run in which nothing fails uses each response of the script, unless it leaves calls to its caller or has a
// response at which a loop may stop.
func (r *exploredRun) checkUnused() {
	if r.modelFault != "" || r.toolFault || r.mayStop() || r.stalls || r.errors || r.result == nil || len(r.result.Pending) > 0 ||
		slices.ContainsFunc(r.responses, func(resp *llm.Response) bool { return resp == nil || !isComplete(resp) }) {
		return
	}
	for _, u := range r.world.Unused() {
		r.report("INV-11", "the run ends early: response %d of %s was never requested", u.Response+1, u.Session)
	}
}

// checkUnchanged checks that requests and exposed messages are as they were.
func (r *exploredRun) checkUnchanged() {
	for i, s := range r.requests {
		if !bytes.Equal(jsonOf(s.messages), s.json) {
			r.report("INV-06", "request %d was changed after it was sent", i+1)
		}
	}
	for i, s := range r.steps {
		if !bytes.Equal(jsonOf(s.messages), s.json) {
			r.report("INV-06", "the messages of Input.Step call %d were changed later", i+1)
		}
	}
}

// longestOf returns the messages of the longest request. again is true if the loop began again from an earlier point.
func longestOf[T any](requests []T, messages func(T) []llm.Message) (longest []llm.Message, again bool) {
	for i, q := range requests {
		list := messages(q)
		again = again || i > 0 && len(list) <= len(messages(requests[i-1]))
		if len(list) > len(longest) {
			longest = list
		}
	}
	return longest, again
}

// checkRepeated checks a loop that began again from an earlier point of a conversation: no tool ran more often than the
// messages of the longest request and the last response have calls of it. The calls of other responses were discarded.
func (r *exploredRun) checkRepeated(messages []llm.Message, last *llm.Response) {
	if last != nil {
		messages = append(slices.Clip(messages), last.Message())
	}
	ran, calls := map[entry]int{}, map[entry]int{}
	for _, e := range r.entered {
		ran[keyOf(e.name, e.args)]++
	}
	for _, m := range messages {
		for _, c := range m.Calls() {
			calls[keyOf(c.Name, c.Arguments)]++
		}
	}
	for _, m := range messages {
		for _, c := range m.Calls() {
			if k := keyOf(c.Name, c.Arguments); ran[k] > calls[k] && !r.repaired(c.Name) {
				r.report("INV-08", "the tool %s ran %d times with %s, and the conversation has %d of these calls: others were discarded after their tools had run", c.Name, ran[k], c.Arguments, calls[k])
			}
		}
	}
}

// hasInput reports whether a list has the messages of an input, one after the other.
func hasInput(list, input []llm.Message) bool {
	for i := range len(list) - len(input) + 1 {
		if same(list[i:i+len(input)], input) {
			return true
		}
	}
	return false
}

// callFault reports whether a call of a response has a fault, and no model call failed.
func (r *exploredRun) callFault() bool {
	return strings.HasPrefix(r.modelFault, "call ") && !slices.Contains(r.responses, nil)
}

// checkList reports the violations that a list of messages shows.
func (r *exploredRun) checkList(where string, list []llm.Message) {
	for _, v := range check.Messages("", list) {
		r.report(v.Invariant, "%s, message %d: %s", where, v.Event, v.Message)
	}
}

// checkSentBack checks that a response that is sent back has its calls. A call without a name may be missing. A
// complete response without calls must not be the last message.
func (r *exploredRun) checkSentBack(where string, resp *llm.Response, added []llm.Message) {
	calls := resp.Calls()
	complete := isComplete(resp)
	if len(calls) == 0 && len(added) == 1 && complete && (added[0].Role == llm.RoleAssistant || resp.Text() != "") {
		r.report("INV-11", "%s follows a response without calls; its finish reason is %q", where, resp.FinishReason)
	}
	i := slices.IndexFunc(added, func(m llm.Message) bool { return m.Role == llm.RoleAssistant })
	if i < 0 {
		return
	}
	named := 0
	for _, c := range calls {
		if c.Name != "" {
			named++
		}
	}
	sent := added[i].Calls()
	if n := len(sent); n < named || n > len(calls) {
		r.report("INV-01", "%s: the response before it is sent back with %d calls; it has %d", where, n, len(calls))
	} else if n == len(calls) {
		for i, c := range calls {
			if was, is := keyOf(c.Name, c.Arguments), keyOf(sent[i].Name, sent[i].Arguments); was != is && c.Name != "" && (was.name != is.name || json.Valid([]byte(was.args))) {
				r.report("INV-05", "%s: the response before it is sent back with the call %s of %s; it has the call %s of %s", where, is.args, is.name, was.args, was.name)
			}
		}
	}
	if was, is := strings.TrimSpace(resp.Text()), strings.TrimSpace(added[i].Text()); complete && was != is {
		r.report("INV-05", "%s: the response before it is sent back with the text %q; it has %q", where, is, was)
	}
}

func hasContent(resp *llm.Response) bool { return resp != nil && len(resp.Parts) > 0 }

// isComplete reports whether a response has a usual end.
func isComplete(resp *llm.Response) bool {
	return resp.FinishReason == llm.FinishStop || resp.FinishReason == llm.FinishToolCalls
}

// checkEntered checks that each call of a response was run at most once, and nothing else.
func (r *exploredRun) checkEntered() {
	left := map[entry]int{}
	for _, resp := range r.responses {
		if resp == nil {
			continue
		}
		for _, c := range resp.Calls() {
			left[keyOf(c.Name, c.Arguments)]++
		}
	}
	refused := map[entry]int{} // a call that was approved in the end is not
	for k, a := range r.approvals {
		refused[k] = min(a.asked, left[k]) - a.given
	}
	ran := map[entry]bool{}
	for _, run := range r.entered {
		e := run.entry
		k := keyOf(e.name, e.args)
		left[k]--
		switch {
		case left[k] >= 0 && left[k] < refused[k]:
			r.report("INV-08", "the tool %s ran with %s, and this call was not approved", e.name, e.args)
		case e.args != "" && !json.Valid([]byte(e.args)):
			r.report("INV-09", "the tool %s ran with the arguments %s, which are not JSON", e.name, e.args)
		case left[k] < 0 && ran[k]:
			r.report("INV-08", "the tool %s ran more often with %s than it was called", e.name, e.args)
		case left[k] < 0 && (!r.repaired(e.name) || k.args == "{}"):
			r.report("INV-09", "the tool %s ran with %s, and no response that was complete has this call", e.name, e.args)
		}
		ran[k] = true
	}
}

// repaired reports whether a call of this tool had arguments that a loop may repair or complete.
func (r *exploredRun) repaired(name string) bool {
	for _, resp := range r.responses {
		if resp != nil && slices.ContainsFunc(resp.Calls(), func(c llm.ToolCall) bool {
			return c.Name == name && !r.accepts(entry{c.Name, c.Arguments})
		}) {
			return true
		}
	}
	return false
}

// keyOf identifies calls with equal arguments.
func keyOf(name, args string) entry {
	if strings.TrimSpace(args) == "" {
		args = "{}"
	}
	return entry{name, jsonval.Canonical(args)}
}

// checkEnd checks that a run did not end after a response whose calls it should have run.
func (r *exploredRun) checkEnd(last *llm.Response) {
	switch last.FinishReason {
	case llm.FinishStop, llm.FinishToolCalls, llm.FinishUnknown, "":
	case llm.FinishLength, llm.FinishContentFilter, llm.FinishRefusal, llm.FinishPause, llm.FinishMalformedCall, llm.FinishError:
		return // a loop may stop here
	}
	for i, c := range last.Calls() {
		if !c.ProviderExecuted && (r.result == nil || !slices.Contains(r.result.Pending, r.idsOf(last)[i])) {
			r.report("INV-11", "the run ends after the last response, which has the call %q of %s; its finish reason is %q", c.ID, c.Name, last.FinishReason)
		}
	}
}

// inMessages reports whether messages have a call with an id.
func inMessages(id string, list []llm.Message) bool {
	return slices.ContainsFunc(list, func(m llm.Message) bool {
		return slices.ContainsFunc(m.Calls(), func(c llm.ToolCall) bool { return c.ID == id })
	})
}

// idsOf returns the ids that the calls of a response have in the messages of the result, or else in the response.
func (r *exploredRun) idsOf(resp *llm.Response) (ids []string) {
	calls := resp.Calls()
	for _, m := range slices.Backward(r.result.Messages) {
		if list := m.Calls(); slices.EqualFunc(list, calls, func(a, b llm.ToolCall) bool { return a.Name == b.Name || b.Name == "" }) {
			calls = list
			break
		}
	}
	for _, c := range calls {
		ids = append(ids, c.ID)
	}
	return ids
}

// checkPending checks that no call is pending whose tool returned. Equal calls are the same here: one of them may be pending.
func (r *exploredRun) checkPending() {
	for _, id := range r.result.Pending {
		calls, returned := map[entry]int{}, map[entry]int{}
		var pending *entry
		for _, resp := range r.responses {
			if resp == nil {
				continue
			}
			ids := r.idsOf(resp)
			for i, c := range resp.Calls() {
				k := keyOf(c.Name, c.Arguments)
				if calls[k]++; ids[i] == id {
					pending = &k
				}
			}
		}
		for _, run := range r.entered {
			if run.returned {
				returned[keyOf(run.name, run.args)]++
			}
		}
		if pending == nil && !inMessages(id, slices.Concat(r.script.History, r.result.Messages)) {
			r.report("INV-07", "the call %q is reported as pending, and neither a response nor the messages have it", id)
		}
		if pending != nil && returned[*pending] >= calls[*pending] {
			r.report("INV-07", "the call %q is reported as pending, and its tool returned", id)
		}
	}
}

// checkAnswerMessage checks that the messages of the result end with the last response, if that is an answer.
func (r *exploredRun) checkAnswerMessage(added []llm.Message) {
	last := r.responses[r.last()]
	if r.err != nil || r.canceled || r.chosen || last == nil || last.FinishReason != llm.FinishStop || len(last.Calls()) > 0 || last.Text() == "" {
		return
	}
	var texts []string
	for _, m := range added {
		if m.Role == llm.RoleAssistant {
			texts = append(texts, strings.TrimSpace(m.Text()))
		}
	}
	if want := strings.TrimSpace(last.Text()); len(texts) != 1 || texts[0] != want {
		r.report("INV-11", "the messages after the last request have the texts %q; the text of the last response is %q", texts, want)
	}
}

// checkResult checks that the result has the messages of the run, and that each call in them has a result or is pending.
func (r *exploredRun) checkResult() {
	if r.err == nil && !r.canceled && !r.chosen && (r.result == nil || len(r.result.Messages) == 0) && slices.ContainsFunc(r.responses, hasContent) {
		r.report("INV-11", "the run returned no messages and no error")
	}
	if r.result == nil {
		return
	}
	if u := r.result.Usage; u != nil && *u != r.usage {
		r.report("INV-18", "usage %+v, want the sum of the model calls %+v", *u, r.usage)
	}
	r.checkPending()
	if len(r.result.Messages) == 0 {
		return
	}
	list := slices.Concat(r.script.History, r.script.Input, r.result.Messages)
	r.checkList("the run's messages", list)
	r.checkTexts("the run's messages", list)
	if n := len(r.requests); n > 0 {
		last := r.requests[n-1].messages
		if len(list) < len(last) || !same(last, list[:len(last)]) {
			r.report("INV-05", "the run's messages do not begin with those of its last request")
		} else {
			r.checkAnswerMessage(list[len(last):])
		}
	}
	answered := map[string]bool{}
	for _, id := range r.result.Pending {
		answered[id] = true
	}
	for _, m := range list {
		for _, res := range resultsIn(m) {
			answered[res.ID] = true
		}
	}
	for _, m := range r.result.Messages {
		for _, c := range m.Calls() {
			if !answered[c.ID] {
				r.report("INV-07", "the run ended without a result of the call %q, and does not report it as pending", c.ID)
			}
		}
	}
}
