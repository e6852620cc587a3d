package importer

import (
	"encoding/json"
	"slices"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
)

// The forms are those of Google's Agent Development Kit for Python
// (github.com/google/adk-python): EvalSet and EvalCase of evaluation/eval_case.py,
// EvalSetResult of evaluation/eval_result.py and Session of sessions/session.py, their
// members in snake case or in camel case.

// evalCase reads an EvalCase. Nothing has happened yet: what the case says of the agent is
// what should come, and the messages are those of the user. The form that there was first
// is a list of what the user says, each with what should come of it; several such lists
// are the data of objects.
func evalCase(d *jsonio.Dec, run *Run) {
	var raw, old json.RawMessage
	if d.Peek() == '[' {
		old = json.RawMessage(d.Raw())
	} else {
		raw = run.object(d)
		run.identify(raw, "eval_id", "case_id", "name")
		old = field(raw, "data")
	}
	var t turns
	for _, turn := range elementsOf(old) {
		t.addOld(turn)
	}
	for _, invocation := range elementsOf(field(raw, "conversation")) {
		t.add(invocation)
	}
	run.Messages, run.Expected = t.asked, t.want()
}

// caseResult reads an EvalCaseResult.
func caseResult(d *jsonio.Dec, run *Run) {
	raw := run.object(d)
	run.identify(raw, "eval_id")
	var happened, should turns
	for _, pair := range elementsOf(field(raw, "eval_metric_result_per_invocation")) {
		happened.add(field(pair, "actual_invocation"))
		should.add(field(pair, "expected_invocation"))
	}
	run.Messages, run.Expected = happened.said, should.want()
	if n := len(happened.replies); n > 0 {
		run.Answer = happened.replies[n-1]
	}
	for _, metric := range elementsOf(field(raw, "overall_eval_metric_results")) {
		if score := field(metric, "score"); score != nil {
			run.Scores = append(run.Scores, scoreOf(scalar(field(metric, "metric_name")), score))
		}
	}
}

// session reads a Session. Events that are part of a later one are left out.
func session(d *jsonio.Dec, run *Run) {
	raw := run.object(d)
	run.identify(raw, "id")
	run.Case = ""
	var conv conversation
	for _, event := range elementsOf(field(raw, "events")) {
		if string(field(event, "partial")) != "true" {
			run.Messages = append(run.Messages, conv.contents(field(event, "content"))...)
		}
	}
}

// object reads an object, keeps what is in it as said of the run, and returns it.
func (r *Run) object(d *jsonio.Dec) json.RawMessage {
	from := *d
	r.members(d, nil)
	return json.RawMessage(from.Raw())
}

// identify names the run and its case by the first of the members that is there.
func (r *Run) identify(raw json.RawMessage, names ...string) {
	for _, name := range names {
		if id := scalar(field(raw, name)); id != "" {
			r.Case, r.Name = id, id
			return
		}
	}
}

// turns are a conversation, by what the user says.
type turns struct {
	conv    conversation
	said    []llm.Message
	asked   []llm.Message // of the user
	replies []string
	calls   []Call
}

// add reads an Invocation: what the user said, and what the agent did and answered.
func (t *turns) add(invocation json.RawMessage) {
	asked := t.conv.contents(field(invocation, "user_content"))
	steps := field(invocation, "intermediate_data")
	did := t.conv.uses(steps)
	for _, event := range elementsOf(field(steps, "invocation_events")) {
		did = append(did, t.conv.contents(field(event, "content"))...)
	}
	// The second is agentevals', and has the calls as well.
	for _, name := range []string{"final_response", "agent_content"} {
		did = append(did, t.conv.contents(field(invocation, name))...)
	}
	if steps != nil && t.calls == nil {
		t.calls = []Call{}
	}
	reply := ""
	for _, m := range did {
		for _, call := range m.Calls() {
			t.calls = append(t.calls, Call{call.Name, json.RawMessage(call.Arguments), len(t.replies)})
		}
		if m.Role == llm.RoleAssistant && m.Text() != "" {
			reply = m.Text()
		}
	}
	t.said = slices.Concat(t.said, asked, did)
	t.asked = append(t.asked, asked...)
	t.replies = append(t.replies, reply)
}

// uses reads what an IntermediateData says of calls and their results.
func (c *conversation) uses(steps json.RawMessage) (messages []llm.Message) {
	var calls, results []llm.Part
	for _, use := range elementsOf(field(steps, "tool_uses")) {
		calls = append(calls, c.functionCall(use, nil))
	}
	for _, response := range elementsOf(field(steps, "tool_responses")) {
		results = append(results, c.functionResponse(response, nil))
	}
	if calls != nil {
		messages = append(messages, llm.Message{Role: llm.RoleAssistant, Parts: calls})
	}
	if results != nil {
		messages = append(messages, llm.Message{Role: llm.RoleTool, Parts: results})
	}
	return messages
}

// addOld reads a turn of the first form.
func (t *turns) addOld(turn json.RawMessage) {
	t.asked = append(t.asked, llm.User(scalar(field(turn, "query"))))
	uses := field(turn, "expected_tool_use")
	if uses != nil && t.calls == nil {
		t.calls = []Call{}
	}
	for _, use := range elementsOf(uses) {
		t.calls = append(t.calls, Call{scalar(field(use, "tool_name")), field(use, "tool_input"), len(t.replies)})
	}
	t.replies = append(t.replies, scalar(field(turn, "reference")))
}

// want is what should come, if the turns tell that.
func (t *turns) want() Expected {
	w := Expected{Replies: t.replies, Calls: t.calls}
	if n := len(t.replies); n > 0 && t.replies[n-1] != "" {
		w.Answers = t.replies[n-1:]
	}
	return w
}
