package looptest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop/internal/arguments"
)

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
		if res.IsError || len(r.runsOf(e)) > 0 {
			return "", ""
		}
		if other := r.another(&toolRun{entry: e}, text); other != nil {
			return "INV-01", fmt.Sprintf("%q, with the result %q of another call; the call was not approved", text, other.text)
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
			if other := r.another(run, text); other != nil {
				return "INV-01", fmt.Sprintf("%q, with the result %q of another call", text, other.text)
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

// another returns another run whose text is in the result of a run, and neither in its text nor in its call, or nil. What the loop adds
// to each result is not the text of another run.
func (r *exploredRun) another(run *toolRun, result string) *toolRun {
	const short = 4 // a text that is shorter may be there by chance
	for _, o := range r.entered {
		if o.returned && len(o.text) >= short && !strings.Contains(run.text, o.text) && (run.text == "" || !strings.Contains(o.text, run.text)) && strings.Contains(result, o.text) &&
			!contains(run.args, o.text) && !strings.Contains(run.name, o.text) && !r.inWrapper(o) {
			return o
		}
	}
	return nil
}

// inWrapper reports whether the text of a run is also in what the loop adds to each result: the result of this run has it twice.
func (r *exploredRun) inWrapper(run *toolRun) bool {
	var all []llm.Message
	for _, req := range r.requests {
		all = append(all, req.messages...)
	}
	if r.http != nil {
		for _, req := range r.http.server.Received() {
			all = append(all, req.Messages...)
		}
	}
	if r.result != nil {
		all = append(all, r.result.Messages...)
	}
	calls := map[string]entry{}
	for _, m := range all {
		for _, c := range m.Calls() {
			calls[c.ID] = keyOf(c.Name, c.Arguments)
		}
		for _, res := range resultsIn(m) {
			if calls[res.ID] == keyOf(run.name, run.args) && strings.Count(res.Text(), run.text) > 1 {
				return true
			}
		}
	}
	return false
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
