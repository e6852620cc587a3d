package looptest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/internal/jsonval"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop/internal/arguments"
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

// checkTexts checks that each result is what the tool did for its call. The calls of a message may have one id, which is
// reported elsewhere.
func (r *exploredRun) checkTexts(where string, list []llm.Message) {
	for i, m := range list {
		for _, p := range m.Parts {
			if res, is := p.(llm.ToolResult); is {
				r.checkText(where, res, list[:i+1])
			}
		}
	}
}

// checkText checks a result of one of the calls of the last message that has calls with its id.
func (r *exploredRun) checkText(where string, res llm.ToolResult, list []llm.Message) {
	var first llm.ToolCall
	calls, why, id := 0, "", ""
	for i := len(list) - 1; i >= 0 && calls == 0; i-- {
		for _, p := range list[i].Parts {
			c, is := p.(llm.ToolCall)
			if !is || c.ProviderExecuted || c.ID != res.ID {
				continue
			}
			wrong, how := r.wrong(c, res)
			if wrong == "" {
				return
			}
			if calls++; calls == 1 {
				first, id, why = c, wrong, how
			}
		}
	}
	if calls > 0 {
		r.report(id, "%s: the result of the call %q of %s with %s is %s", where, first.ID, first.Name, first.Arguments, why)
	}
}

// wrong returns the invariant that a result of a call violates, and why, or "" if it may be right: it is what one of the runs
// of an equal call gave.
func (r *exploredRun) wrong(c llm.ToolCall, res llm.ToolResult) (id, why string) {
	e, text := entry{c.Name, c.Arguments}, res.Text()
	if r.inHistory(c) {
		return "", ""
	}
	if res.Name != "" && res.Name != c.Name {
		return "INV-01", fmt.Sprintf("one of the tool %q", res.Name)
	}
	if r.denied(e) {
		if other := r.textOfAnother(&toolRun{entry: e}, text); other != "" && !res.IsError && len(r.runsOf(e)) == 0 && !r.inWrapper(other) {
			return "INV-01", fmt.Sprintf("%q, with the result %q of another call; the call was not approved", text, other)
		}
		return "", ""
	}
	for _, run := range r.entered { // as usual
		if run.entry == e && run.returned && !res.IsError && run.text == text {
			return "", ""
		}
	}
	runs := r.runsOf(e)
	if len(runs) == 0 {
		return r.wrongWithoutRun(e, res)
	}
	for _, run := range runs {
		if run.returned && !res.IsError && contains(text, strings.TrimSpace(run.text)) {
			if other := r.textOfAnother(run, text); other != "" && !r.inWrapper(other) {
				return "INV-01", fmt.Sprintf("%q, with the result %q of another call", text, other)
			}
			return "", ""
		}
	}
	unmarked := r.http != nil // most protocols have no IsError
	ran := r.callsOf(e) <= len(runs)
	excused := !ran || !r.undisturbed(runs)
	for _, run := range runs {
		switch {
		case run.returned && (res.IsError && excused || unmarked && (r.chosen || !ran)),
			!run.returned && run.failed && (res.IsError || unmarked),
			!run.returned && !run.failed && (res.IsError || unmarked) && excused:
			return "", ""
		}
	}
	run := runs[0]
	switch {
	case run.returned && res.IsError:
		return "INV-23", fmt.Sprintf("the error %q; the tool returned %q", text, run.text)
	case run.returned:
		return "INV-01", fmt.Sprintf("%q; the tool returned %q", text, run.text)
	case run.failed:
		return "INV-23", fmt.Sprintf("%q, and no error; the tool failed", text)
	case res.IsError || unmarked:
		return "INV-23", fmt.Sprintf("%q; nothing but the loop ended its tool", text)
	}
	return "INV-23", fmt.Sprintf("%q, and no error; the tool did not return", text)
}

// wrongWithoutRun is wrong for a call that did not run.
func (r *exploredRun) wrongWithoutRun(e entry, res llm.ToolResult) (id, why string) {
	switch {
	case res.IsError && r.mayRun(e) && r.callsOf(e) > 0 && r.undisturbed(nil):
		return "INV-23", fmt.Sprintf("the error %q; the tool did not run", res.Text())
	case !res.IsError && r.mayRun(e) && (r.http == nil || r.modelFault == "" && r.callsOf(e) > 0):
		return "INV-01", fmt.Sprintf("%q; the tool did not run", res.Text())
	case !res.IsError && r.http == nil && !r.chosen && !r.ranOther(e.name):
		return "INV-23", fmt.Sprintf("%q, and no error; the tool did not run", res.Text())
	}
	return "", ""
}

// ranOther reports whether a tool ran with arguments that no response has: those of a call that the loop repaired.
func (r *exploredRun) ranOther(name string) bool {
	return slices.ContainsFunc(r.entered, func(run *toolRun) bool { return run.name == name && r.callsOf(run.entry) == 0 })
}

// contains reports whether a result contains the text of a tool, also as a JSON string.
func contains(result, text string) bool {
	if strings.Contains(result, text) {
		return true
	}
	escaped, _ := json.Marshal(text) // a string has no error
	for _, quoted := range []string{string(escaped), string(jsonio.AppendString(nil, text))} {
		if strings.Contains(result, quoted[1:len(quoted)-1]) {
			return true
		}
	}
	return false
}

// textOfAnother returns the text of another run that is in the result of a run, and neither in its text nor in its call, or "".
func (r *exploredRun) textOfAnother(run *toolRun, result string) string {
	const short = 4 // a text that is shorter may be there by chance
	for _, o := range r.entered {
		if o.returned && len(o.text) >= short && !strings.Contains(run.text, o.text) && (run.text == "" || !strings.Contains(o.text, run.text)) && strings.Contains(result, o.text) &&
			!contains(run.args, o.text) && !strings.Contains(run.name, o.text) {
			return o.text
		}
	}
	return ""
}

// inWrapper reports whether a text that a tool returned is also in what the loop adds to each result: a result of this tool has it twice.
func (r *exploredRun) inWrapper(text string) bool {
	lists := [][]llm.Message{}
	for _, req := range r.requests {
		lists = append(lists, req.messages)
	}
	if r.http != nil {
		for _, req := range r.http.server.Received() {
			lists = append(lists, req.Messages)
		}
	}
	if r.result != nil {
		lists = append(lists, r.result.Messages)
	}
	return slices.ContainsFunc(slices.Concat(lists...), func(m llm.Message) bool {
		return slices.ContainsFunc(m.Parts, func(p llm.Part) bool {
			res, is := p.(llm.ToolResult)
			return is && strings.Count(res.Text(), text) > 1
		})
	})
}

// runsOf returns the runs of a call: those with the same text of arguments, or else with equal arguments.
func (r *exploredRun) runsOf(e entry) (list []*toolRun) {
	for _, run := range r.entered {
		if run.entry == e {
			list = append(list, run)
		}
	}
	if list != nil {
		return list
	}
	key := keyOf(e.name, e.args)
	for _, run := range r.entered {
		if run.name == e.name && keyOf(run.name, run.args) == key {
			list = append(list, run)
		}
	}
	return list
}

// inHistory reports whether a call is one of the script's history.
func (r *exploredRun) inHistory(c llm.ToolCall) bool {
	return slices.ContainsFunc(r.script.History, func(m llm.Message) bool {
		return slices.ContainsFunc(m.Calls(), func(h llm.ToolCall) bool { return h.ID == c.ID && h.Name == c.Name && h.Arguments == c.Arguments })
	})
}

// mayRun reports whether a tool can run a call, no response with it was cut, and nothing ended the run.
func (r *exploredRun) mayRun(e entry) bool {
	if !r.accepts(e) || r.canceled || r.mayTimeOut || r.hangs || r.chosen {
		return false
	}
	return !slices.ContainsFunc(r.responses, func(resp *llm.Response) bool {
		return resp != nil && !isComplete(resp) && slices.ContainsFunc(resp.Calls(), func(c llm.ToolCall) bool { return c.Name == e.name && c.Arguments == e.args })
	})
}

// accepts reports whether there is a tool for a call that accepts its arguments as they are.
func (r *exploredRun) accepts(e entry) bool {
	i := slices.IndexFunc(r.script.Tools, func(t fake.Tool) bool { return t.Name == e.name })
	if i < 0 || arguments.CheckObject(e.args) != nil {
		return false
	}
	if r.script.Tools[i].Parameters == nil {
		return true
	}
	schema, err := arguments.ParseSchema(r.script.Tools[i].Parameters)
	if err != nil {
		return true
	}
	_, changed, err := schema.Prepare(e.args)
	return err == nil && !changed
}

func hasContent(resp *llm.Response) bool { return resp != nil && len(resp.Parts) > 0 }

// isComplete reports whether a response has a usual end.
func isComplete(resp *llm.Response) bool {
	return resp.FinishReason == llm.FinishStop || resp.FinishReason == llm.FinishToolCalls
}

// undisturbed reports whether the run has no fault but those of other calls than these and of model calls that failed.
func (r *exploredRun) undisturbed(runs []*toolRun) bool {
	if r.canceled || r.mayTimeOut || r.hangs || r.chosen || slices.ContainsFunc(runs, func(run *toolRun) bool { return r.faulty[run.label()] }) {
		return false
	}
	failed := 0 // model calls, by faults if the script has no errors
	for _, resp := range r.responses {
		if resp == nil && !r.errors {
			failed++
		}
	}
	return r.modelFaults <= failed
}

// callsOf returns the number of calls in the responses that equal a call.
func (r *exploredRun) callsOf(e entry) (n int) {
	key := keyOf(e.name, e.args)
	for _, resp := range r.responses {
		if resp == nil {
			continue
		}
		for _, c := range resp.Calls() {
			if c.Name == e.name && (c.Arguments == e.args || keyOf(c.Name, c.Arguments) == key) {
				n++
			}
		}
	}
	return n
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
