package format

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/importer/internal/message"
	"github.com/looptape/looptape/trace/importer/internal/tree"
)

// SniffATIF recognizes trajectories in the Agent Trajectory Interchange Format.
func SniffATIF(h *Head) (Layout, bool) {
	version := h.Has("schema_version") && h.Contains(`"ATIF-`)
	return runsInArray, version || h.Has("steps") && h.Has("agent") && h.Has("session_id", "trajectory_id", "schema_version")
}

// ATIF reads a trajectory, versions 1.0 to 1.8 (docs/rfcs/0001-trajectory-format.md in
// github.com/laude-institute/harbor). A result that names no call is a user message, because the
// agent reads it as one, unless each call of the step has one, or all calls have the only one. The usage is that of the steps: the
// final metrics may include other trajectories. Embedded trajectories of subagents are more runs.
func ATIF(d *jsonio.Dec, run *Run) {
	start := *d
	raw := json.RawMessage(d.Raw())
	if d.Err() != nil {
		return
	}
	if steps := tree.Member(raw, "steps"); !isArray(steps) {
		*d = start
		d.Fail("the trajectory has no steps")
		return
	}
	if version := tree.Scalar(raw, "schema_version"); strings.HasPrefix(version, "ATIF-v") && !strings.HasPrefix(version, "ATIF-v1.") {
		*d = start
		d.Fail("unknown version " + strconv.Quote(version) + ": looptape reads ATIF-v1.0 to ATIF-v1.8")
		return
	}
	t := atif{run: run, names: map[string]string{}, refs: map[string]string{}, last: -1}
	run.Meta = elements(raw, run.Line, []string{"steps"}, func(e Element) { t.step(newRecord(e.Raw, e.Line, e.Path)) })
	run.Name = cmp.Or(run.meta("trajectory_id"), run.meta("session_id"), run.Name)
	final := run.Meta["final_metrics"]
	if total := tree.Count(final, "total_steps"); total > t.steps && tree.IsNull(run.Meta["notes"]) { // which say why
		run.ReportUnknown("final_metrics.total_steps", "the trajectory had %d steps, and has %d", total, t.steps)
	}
	if t.usage == (llm.Usage{}) {
		run.reportUsage(&record{line: run.Line}, "final_metrics", final)
		t.usage = atifUsage(final, "total_")
	}
	if t.cost == 0 {
		t.cost = run.number(&record{line: run.Line}, "final_metrics.total_cost_usd", tree.Member(final, "total_cost_usd"))
	}
	run.setUsage(t.usage)
	t.other.moveTo(run)
	run.setCost(t.cost)
	t.subagents()
}

type atif struct {
	run   *Run
	names map[string]string // of tools by call
	refs  map[string]string // calls that started subagents, by the id of the trajectory
	usage llm.Usage
	cost  float64
	steps int64
	last  int64 // the id of the last step; -1 if it has none
	other lists
}

// subagents reads the embedded trajectories.
func (t *atif) subagents() {
	for n, raw := range t.run.Objects("subagent_trajectories", t.run.Meta["subagent_trajectories"]) {
		sub := Run{Name: "subagent-" + strconv.Itoa(n+1), Line: t.run.Line, Epoch: NoEpoch}
		d := jsonio.NewDec(jsonio.View(raw))
		if ATIF(&d, &sub); d.Err() != nil {
			what := d.Err().Error()
			if invalid, ok := errors.AsType[*jsonio.SyntaxError](d.Err()); ok {
				what = invalid.Msg
			}
			t.run.ReportUnknown("subagent_trajectories["+strconv.Itoa(n)+"]", "%s", what)
			continue
		}
		call := cmp.Or(t.refs[sub.meta("trajectory_id")], t.refs[sub.meta("session_id")])
		sub.Name = t.run.Name + "/" + cmp.Or(call, sub.Name)
		more := sub.More
		sub.More = nil
		t.run.More = append(append(t.run.More, sub), more...)
	}
	if len(t.run.Unknown) == 0 {
		delete(t.run.Meta, "subagent_trajectories")
	}
}

func atifUsage(metrics json.RawMessage, prefix string) llm.Usage {
	return llm.Usage{
		InputTokens: tree.Count(metrics, prefix+"prompt_tokens"), CacheReadInputTokens: tree.Count(metrics, prefix+"cached_tokens"),
		OutputTokens: tree.Count(metrics, prefix+"completion_tokens"),
	}
}

func (t *atif) step(r record) {
	if !r.isObject() {
		t.report(&r, "", r.raw, "the step is not an object")
		return
	}
	t.steps++
	t.last = t.run.reportGap(r.path, "step_id", r.raw, t.last)
	role, ok := atifRoles[r.text("source")]
	if !ok {
		t.report(&r, "", r.raw, "the step has an unknown source: want system, user or agent")
		return
	}
	m := llm.Message{Role: role}
	if text, ok := tree.Text(r.members.get("reasoning_content")); ok && text != "" {
		m.Parts = append(m.Parts, llm.Reasoning{Text: text})
	} else if raw := r.members.get("reasoning_content"); !ok && !tree.IsNull(raw) {
		t.report(&r, "reasoning_content", raw, "expected a string")
	}
	if r.members.get("message") == nil {
		t.report(&r, "", r.raw, "the step has no message")
	}
	m.Parts = append(m.Parts, t.content(&r, "message", r.members.get("message"))...)
	calls := t.calls(&r)
	m.Parts = append(m.Parts, calls...)
	if len(m.Parts) == 0 && role != llm.RoleAssistant && r.text("message") == "" && tree.IsText(r.members.get("message")) {
		m.Parts = []llm.Part{llm.Text{}}
	}
	results, complete := t.results(&r, calls)
	m.Opaque = t.rest(&r, complete)
	if len(m.Parts) > 0 || m.Opaque != nil {
		results = append([]llm.Message{m}, results...)
	}
	nameResults(results, t.names)
	t.run.Messages = append(t.run.Messages, results...)
	if metrics := r.members.get("metrics"); !tree.IsTrue(r.members.get("is_copied_context")) {
		t.run.reportUsage(&r, "metrics", metrics)
		t.usage = t.usage.Add(atifUsage(metrics, ""))
		t.cost += t.run.number(&r, "metrics.cost_usd", tree.Member(metrics, "cost_usd"))
	}
	for _, name := range otherStepMembers {
		value := r.members.get(name)
		isListed := len(m.Parts) == 0 || slices.Contains(message.ReasoningNames, name) && !tree.IsText(value) // with its message
		if !isListed && !message.IsEmpty(value) {
			t.run.reportWithin(&r, name, "a step of ATIF has no such member, and it is not read")
		}
	}
}

// otherStepMembers are members in which steps of other tools have reasoning and results.
var otherStepMembers = []string{"thought", "thoughts", "thinking", "reasoning", "observations", "results"}

var atifRoles = map[string]llm.Role{"system": llm.RoleSystem, "user": llm.RoleUser, "agent": llm.RoleAssistant}

// rest returns the members of a step that its messages do not have.
func (t *atif) rest(r *record, complete bool) json.RawMessage {
	names := []string{"message", "tool_calls", "reasoning_content"} // the last is reported if it is not a text
	if complete {
		names = append(names, "observation")
	}
	return tree.Without(r.raw, names...)
}

// content reads a text, or a list of texts and images.
func (t *atif) content(r *record, path string, raw json.RawMessage) (parts []llm.Part) {
	if text, ok := tree.Text(raw); ok {
		if text == "" {
			return nil
		}
		return []llm.Part{llm.Text{Text: text}}
	}
	if !tree.IsNull(raw) && !isArray(raw) {
		t.report(r, path, raw, "expected a string or a list of parts")
	}
	for n, part := range tree.Elements(raw) {
		text, isText := tree.Text(part, "text")
		file, isFile := tree.Text(part, "source", "path")
		switch kind := tree.Scalar(part, "type"); {
		case kind == "text" && isText:
			parts = append(parts, llm.Text{Text: text, Opaque: tree.Without(part, "type", "text")})
		case kind == "image" && isFile && message.AreStrings(tree.Member(part, "source"), "media_type"):
			m := message.Image(file, tree.Without(part, "type"))
			m.MediaType = cmp.Or(tree.Scalar(part, "source", "media_type"), m.MediaType)
			parts = append(parts, m)
		case len(part) > 0 && part[0] == '{':
			parts = append(parts, message.Unknown("atif."+kind, string(part)))
		default:
			t.report(r, path+"["+strconv.Itoa(n)+"]", part, "expected an object")
		}
	}
	return parts
}

// report reports a value within a step, which Run.Meta has.
func (t *atif) report(r *record, path string, raw json.RawMessage, what string) {
	at := *r
	if path != "" {
		at.path = joinPath(r.path, path)
	}
	t.run.reportRecord(&at, what)
	t.other.add("unknown", raw)
}

// calls reads the tool calls of a step.
func (t *atif) calls(r *record) (calls []llm.Part) {
	list := r.members.get("tool_calls")
	if !tree.IsNull(list) && !isArray(list) {
		t.report(r, "tool_calls", list, "expected a list")
	}
	for n, call := range tree.Elements(list) {
		id, hasID := tree.Text(call, "tool_call_id")
		name, hasName := tree.Text(call, "function_name")
		if !hasID || !hasName {
			t.report(r, "tool_calls["+strconv.Itoa(n)+"]", call, "expected a call with a tool_call_id and a function_name")
			continue
		}
		calls = append(calls, llm.ToolCall{
			ID: id, Name: name, Arguments: tree.String(call, "arguments"),
			Opaque: tree.Without(call, "tool_call_id", "function_name", "arguments"),
		})
	}
	return calls
}

// results reads the observation of a step: messages with the results of calls, and user messages.
// Complete reports whether they have all of it.
func (t *atif) results(r *record, calls []llm.Part) (messages []llm.Message, complete bool) {
	observation := r.members.get("observation")
	var list []json.RawMessage
	ids := 0
	switch recorded := tree.Member(observation, "results"); {
	case !message.IsEmpty(observation) && !isObject(observation):
		t.report(r, "observation", observation, "expected an object")
	case !message.IsEmpty(recorded) && !isArray(recorded):
		t.report(r, "observation.results", recorded, "expected a list")
	case recorded == nil && tree.Without(observation, "extra") != nil:
		t.report(r, "observation", observation, "the observation has no results")
	}
	for _, result := range tree.Elements(observation, "results") {
		list = append(list, result)
		if tree.Scalar(result, "source_call_id") != "" {
			ids++
		}
	}
	for n, result := range list {
		if !isObject(result) {
			t.report(r, "observation.results["+strconv.Itoa(n)+"]", result, "expected an object")
			continue
		}
		id := tree.Scalar(result, "source_call_id")
		var same []llm.Part // calls with the same result
		if call, ok := at(calls, n).(llm.ToolCall); ok && ids == 0 && (len(list) == len(calls) || len(list) == 1) {
			id, same = call.ID, calls[len(list):]
		}
		for _, ref := range tree.Elements(result, "subagent_trajectory_ref") {
			t.refs[cmp.Or(tree.Scalar(ref, "trajectory_id"), tree.Scalar(ref, "session_id"))] = id
		}
		content := t.content(r, "observation.results["+strconv.Itoa(n)+"].content", tree.Member(result, "content"))
		rest := tree.Without(result, "source_call_id", "content")
		switch {
		case tree.Scalar(result, "source_call_id") == "" && !tree.IsNull(tree.Member(result, "source_call_id")):
			t.report(r, "observation.results["+strconv.Itoa(n)+"].source_call_id", result, "expected a string")
		case id != "":
			results := []llm.ToolResult{{ID: id, Content: content, Opaque: rest}}
			for _, call := range same {
				results = append(results, llm.ToolResult{ID: call.(llm.ToolCall).ID, Content: content})
			}
			messages = append(messages, llm.ToolResults(results...))
		case content != nil:
			messages = append(messages, llm.Message{Role: llm.RoleUser, Parts: content, Opaque: rest})
		}
	}
	return messages, len(messages) == len(list) && (observation == nil || isArray(tree.Member(observation, "results")) && tree.Without(observation, "results") == nil)
}

func at(parts []llm.Part, n int) llm.Part {
	if n < len(parts) {
		return parts[n]
	}
	return nil
}
