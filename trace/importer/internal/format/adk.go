package format

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/importer/internal/message"
	"github.com/looptape/looptape/trace/importer/internal/tree"
)

// The formats of Google's Agent Development Kit for Python (github.com/google/adk-python):
// EvalSet and EvalCase of evaluation/eval_case.py, EvalSetResult of
// evaluation/eval_result.py, with members in snake case or camel case.

// SniffADKSet recognizes eval sets, in the current form and in the first one: a list of
// turns, or of objects with such lists as data.
func SniffADKSet(h *Head) (Layout, bool) {
	switch {
	case h.Object:
		return adkPath(h, "eval_cases")
	case h.Has("query") && h.Has("reference", "expected_tool_use"):
		return Layout{Array: true}, true
	}
	return runsInArray, h.Has("data") && h.Has("initial_session")
}

// SniffADKResult recognizes results of eval sets.
func SniffADKResult(h *Head) (Layout, bool) { return adkPath(h, "eval_case_results") }

func adkPath(h *Head, name string) (Layout, bool) {
	i := slices.IndexFunc(h.Keys, func(key string) bool { return tree.Snake(key) == name })
	if i < 0 || !h.Object {
		return Layout{}, false
	}
	return Layout{Path: h.Keys[i : i+1]}, true
}

// ADKCase reads an EvalCase, which has not run yet. Its run has the messages of the user,
// and the agent's messages as expected ones. The first form is a list of user messages,
// each with what is expected; objects have several such lists as data.
func ADKCase(d *jsonio.Dec, run *Run) {
	var raw, old json.RawMessage
	path := ""
	if d.Peek() == '[' {
		old = json.RawMessage(d.Raw())
		run.SetMeta("turns", old)
	} else {
		raw = run.object(d)
		run.identify(raw, "eval_id", "case_id", "name")
		path, old = "data", tree.Field(raw, "data")
	}
	t := adkTurns{run: run, expects: true}
	for n, turn := range run.Objects(path, old) {
		t.addOld(path+"["+strconv.Itoa(n)+"]", turn)
	}
	for n, invocation := range run.Objects("conversation", tree.Field(raw, "conversation")) {
		t.add("conversation["+strconv.Itoa(n)+"]", invocation)
	}
	run.Messages, run.Expected = t.prompts, t.expected()
}

// ADKResult reads an EvalCaseResult.
func ADKResult(d *jsonio.Dec, run *Run) {
	raw := run.object(d)
	run.identify(raw, "eval_id")
	actual, expected := adkTurns{run: run}, adkTurns{run: run, expects: true}
	const pairs = "eval_metric_result_per_invocation"
	for n, pair := range run.Objects(pairs, tree.Field(raw, pairs)) {
		at := pairs + "[" + strconv.Itoa(n) + "]."
		actual.add(at+"actual_invocation", tree.Field(pair, "actual_invocation"))
		expected.add(at+"expected_invocation", tree.Field(pair, "expected_invocation"))
	}
	run.Messages, run.Expected = actual.messages, expected.expected()
	if n := len(actual.replies); n > 0 {
		run.Answer = actual.replies[n-1]
	}
	for _, metric := range run.Objects("overall_eval_metric_results", tree.Field(raw, "overall_eval_metric_results")) {
		run.addScore(tree.Scalar(tree.Field(metric, "metric_name")), tree.Field(metric, "score"))
	}
}

// adkUsage reads a UsageMetadata of the Gemini API. Its candidates do not include the thoughts.
func adkUsage(raw json.RawMessage) llm.Usage {
	count := func(name string) int64 { return tree.Count(tree.Field(raw, name)) }
	thoughts := count("thoughts_token_count")
	return llm.Usage{
		InputTokens: count("prompt_token_count"), OutputTokens: count("candidates_token_count") + thoughts,
		CacheReadInputTokens: count("cached_content_token_count"), ReasoningOutputTokens: thoughts,
	}
}

// adkTurns is a conversation, by turns of the user.
type adkTurns struct {
	run     *Run
	expects bool // it is what is expected, whose messages are no messages of the run

	reader   message.Reader
	messages []llm.Message
	prompts  []llm.Message // of the user
	replies  []string
	calls    []Call
}

// add reads an invocation, which has this path within the run.
func (t *adkTurns) add(path string, invocation json.RawMessage) {
	t.run.reportNotObject(path, invocation)
	prompt := t.content(path+".user_content", llm.RoleUser, tree.Field(invocation, "user_content"))
	steps := tree.Field(invocation, "intermediate_data")
	t.run.reportNotObject(path+".intermediate_data", steps)
	agent := t.toolUses(path+".intermediate_data", steps)
	events := path + ".intermediate_data.invocation_events"
	for n, event := range t.run.Objects(events, tree.Field(steps, "invocation_events")) {
		agent = append(agent, t.content(events+"["+strconv.Itoa(n)+"].content", "", tree.Field(event, "content"))...)
	}
	// The second member is from agentevals. It has the calls as well.
	for _, name := range []string{"final_response", "agent_content"} {
		agent = append(agent, t.content(path+"."+name, llm.RoleAssistant, tree.Field(invocation, name))...)
	}
	t.noCalls(steps)
	reply := ""
	for _, m := range agent {
		for _, call := range m.Calls() {
			t.calls = append(t.calls, Call{call.Name, json.RawMessage(call.Arguments), len(t.replies)})
		}
		if m.Role == llm.RoleAssistant && m.Text() != "" {
			reply = m.Text()
		}
	}
	t.messages = slices.Concat(t.messages, prompt, agent)
	t.prompts = append(t.prompts, prompt...)
	t.replies = append(t.replies, reply)
}

// content reads a Content of a role, which has this path within the run. An empty role is any role.
func (t *adkTurns) content(path string, role llm.Role, content json.RawMessage) []llm.Message {
	parts := tree.Field(content, "parts")
	if !message.IsEmpty(content) && (!isObject(content) || !tree.IsNull(parts) && !isArray(parts)) {
		t.run.ReportUnknown(path, "the content has no list of parts")
	}
	t.run.reportNextToParts(path, content)
	messages := t.reader.Contents(content)
	recorded := tree.Field(content, "role")
	for i, m := range messages {
		switch {
		case role == "" || m.Role == llm.RoleTool || m.Role == role:
		case message.IsEmpty(recorded):
			messages[i].Role = role
		default:
			t.run.ReportUnknown(path+".role", "the content has the role %q: want %q", tree.String(recorded), adkRoles[role])
		}
		if t.expects && slices.ContainsFunc(m.Parts, isUnknown) {
			t.run.ReportUnknown(path, "the content has a part that is not read")
		}
	}
	return messages
}

// reportNextToParts reports the members of a Content, at a path, next to its parts that may have text or calls.
func (r *Run) reportNextToParts(path string, content json.RawMessage) {
	if name := message.NextTo(content, "parts", ""); name != "" {
		r.ReportUnknown(joinPath(path, name), "the content has no such member, and it is not read")
	}
}

var adkRoles = map[llm.Role]string{llm.RoleUser: "user", llm.RoleAssistant: "model"}

func isUnknown(p llm.Part) bool {
	_, ok := p.(llm.Unknown)
	return ok
}

// noCalls makes calls an empty list, which means that none is expected, if the recording
// has a member for calls.
func (t *adkTurns) noCalls(member json.RawMessage) {
	if member != nil && t.calls == nil {
		t.calls = []Call{}
	}
}

func (t *adkTurns) toolUses(path string, steps json.RawMessage) []llm.Message {
	var parts []llm.Part
	for _, use := range t.run.Objects(path+".tool_uses", tree.Field(steps, "tool_uses")) {
		parts = append(parts, t.reader.FunctionCall(use, nil))
	}
	for _, response := range t.run.Objects(path+".tool_responses", tree.Field(steps, "tool_responses")) {
		parts = append(parts, t.reader.FunctionResponse(response, nil))
	}
	return message.AddStep(nil, llm.RoleAssistant, parts)
}

// addOld reads a turn of the first form, which has this path within the run.
func (t *adkTurns) addOld(path string, turn json.RawMessage) {
	for _, name := range []string{"query", "reference"} {
		if text := tree.Field(turn, name); !tree.IsNull(text) && !tree.IsText(text) {
			t.run.ReportUnknown(path+"."+name, "expected a string")
		}
	}
	t.prompts = append(t.prompts, llm.User(tree.Scalar(tree.Field(turn, "query"))))
	uses := tree.Field(turn, "expected_tool_use")
	t.noCalls(uses)
	for _, use := range t.run.Objects(path+".expected_tool_use", uses) {
		t.calls = append(t.calls, Call{tree.Scalar(tree.Field(use, "tool_name")), tree.Field(use, "tool_input"), len(t.replies)})
	}
	t.replies = append(t.replies, tree.Scalar(tree.Field(turn, "reference")))
}

func (t *adkTurns) expected() Expected {
	e := Expected{Replies: t.replies, Calls: t.calls}
	if n := len(t.replies); n > 0 && t.replies[n-1] != "" {
		e.Answers = t.replies[n-1:]
	}
	return e
}
