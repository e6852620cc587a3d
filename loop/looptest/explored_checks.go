package looptest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/internal/jsonval"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/check"
)

// check checks an ended run against what the world did.
func (r *exploredRun) check() {
	var prev []llm.Message
	for i, s := range r.requests {
		if !bytes.Equal(jsonOf(s.messages), s.json) {
			r.report("INV-06", "request %d was changed after it was sent", i+1)
		}
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
	for i, s := range r.steps {
		if !bytes.Equal(jsonOf(s.messages), s.json) {
			r.report("INV-06", "the messages of Input.Step call %d were changed later", i+1)
		}
	}
	r.checkEntered()
	switch last := len(r.responses) - 1; {
	case r.err != nil && !r.canceled && !r.chosen && (r.modelFault == "" || r.callFault()):
		id := "INV-11"
		if r.toolFault || r.modelFault != "" || r.someDenied() {
			id = "INV-23"
		}
		r.report(id, "the run fails: %v", r.err)
	case r.err == nil && !r.canceled && last >= 0 && r.responses[last] == nil:
		r.report("INV-11", "the run ends without an error, and model call %d failed", last+1)
	case r.err == nil && !r.canceled && last < 0:
		r.report("INV-11", "the run ends without an error, and called no model")
	case r.err == nil && !r.canceled:
		r.checkEnd(r.responses[last])
	}
	r.checkResult()
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
	complete := resp.FinishReason == llm.FinishStop || resp.FinishReason == llm.FinishToolCalls
	if len(calls) == 0 && len(added) == 1 && complete {
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

// wrong returns the invariant that a result of a call violates, and why, or "" if it may be right.
func (r *exploredRun) wrong(c llm.ToolCall, res llm.ToolResult) (id, why string) {
	e := entry{c.Name, c.Arguments}
	text, returned := r.returned[e]
	if r.denied(e) {
		return "", ""
	}
	switch {
	case returned && res.IsError && r.undisturbed(e):
		return "INV-23", fmt.Sprintf("the error %q; the tool returned %q", res.Text(), text)
	case returned && !res.IsError && !strings.Contains(res.Text(), text) && (r.http == nil || !r.chosen):
		return "INV-01", fmt.Sprintf("%q; the tool returned %q", res.Text(), text)
	case returned:
		return "", ""
	case r.failed[e] && !res.IsError && r.http == nil: // most protocols have no IsError
		return "INV-23", fmt.Sprintf("%q, and no error; the tool failed", res.Text())
	case r.failed[e]:
		return "", ""
	}
	key := keyOf(e.name, e.args)
	ran := slices.ContainsFunc(r.entered, func(o entry) bool { return keyOf(o.name, o.args) == key })
	switch {
	case ran && (res.IsError || r.http != nil) && r.undisturbed(e):
		return "INV-23", fmt.Sprintf("%q; nothing but the loop ended its tool", res.Text())
	case !ran && res.IsError && r.mayRun(e) && r.undisturbed(e):
		return "INV-23", fmt.Sprintf("the error %q; the tool did not run", res.Text())
	case !ran && !res.IsError && r.mayRun(e) && (r.http == nil || r.modelFault == ""):
		return "INV-01", fmt.Sprintf("%q; the tool did not run", res.Text())
	}
	return "", ""
}

// mayRun reports whether a tool can run a call, and nothing ended the run.
func (r *exploredRun) mayRun(e entry) bool {
	known := slices.ContainsFunc(r.script.Tools, func(t fake.Tool) bool { return t.Name == e.name })
	return known && json.Valid([]byte(e.args)) && !r.canceled && !r.mayTimeOut && !r.hangs && !r.chosen
}

// undisturbed reports whether the run has no fault but those of other tool calls, and the tool ran for each such call, or
// for none. Then its result must not be an error.
func (r *exploredRun) undisturbed(e entry) bool {
	if r.canceled || r.mayTimeOut || r.hangs || r.chosen || r.modelFault != "" || r.faulty[e.label()] {
		return false
	}
	calls := 0
	for _, resp := range r.responses {
		if resp != nil {
			for _, c := range resp.Calls() {
				if c.Name == e.name && c.Arguments == e.args {
					calls++
				}
			}
		}
	}
	for _, ran := range r.entered {
		if ran == e {
			calls--
		}
	}
	return calls <= 0 || !slices.Contains(r.entered, e)
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
	for _, e := range r.entered {
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

// repaired reports whether a call of this tool had arguments that are not JSON, and that a loop may repair.
func (r *exploredRun) repaired(name string) bool {
	for _, resp := range r.responses {
		if resp != nil && slices.ContainsFunc(resp.Calls(), func(c llm.ToolCall) bool {
			return c.Name == name && !json.Valid([]byte(c.Arguments))
		}) {
			return true
		}
	}
	return false
}

// keyOf identifies calls with equal arguments.
func keyOf(name, args string) entry {
	if args == "" {
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
	for _, c := range last.Calls() {
		if !c.ProviderExecuted && (r.result == nil || !slices.Contains(r.result.Pending, c.ID)) {
			r.report("INV-11", "the run ends after the last response, which has the call %q of %s; its finish reason is %q", c.ID, c.Name, last.FinishReason)
		}
	}
}

// checkResult checks that each call in the messages of the result has a result or is pending.
func (r *exploredRun) checkResult() {
	if r.result == nil {
		return
	}
	if u := r.result.Usage; u != nil && *u != r.usage {
		r.report("INV-18", "usage %+v, want the sum of the model calls %+v", *u, r.usage)
	}
	for _, id := range r.result.Pending {
		for _, resp := range r.responses {
			if resp != nil && slices.ContainsFunc(resp.Calls(), func(c llm.ToolCall) bool { return c.ID == id && r.returned[entry{c.Name, c.Arguments}] != "" }) {
				r.report("INV-07", "the call %q is reported as pending, and its tool returned", id)
			}
		}
	}
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
