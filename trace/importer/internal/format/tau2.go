package format

import (
	"bytes"
	"encoding/json"
	"strconv"
	"sync/atomic"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/importer/internal/message"
	"github.com/looptape/looptape/trace/importer/internal/tree"
)

// SniffTau2 recognizes results of tau2-bench, and single simulations.
func SniffTau2(h *Head) (Layout, bool) {
	if h.Object && h.Has("info") && h.Has("tasks", "simulations") && h.Contains(`"num_trials"`, `"user_info"`, `"agent_info"`) {
		return Layout{Path: []string{"simulations"}}, true
	}
	return runsInArray, h.Has("task_id") && h.Has("termination_reason") && h.Has("messages", "ticks", "reward_info", "duration")
}

// Tau2 returns a reader of simulations (src/tau2/data_model/simulation.py and message.py in
// github.com/sierra-research/tau2-bench). The expected calls are the agent's actions of the task,
// if the tasks come before the simulations. Calls of the simulated user, and their results, are
// parts of the user's messages. Voice runs have ticks and no messages, and are refused.
func Tau2() func(d *jsonio.Dec, run *Run) {
	var last atomic.Pointer[tau2Tasks]
	return func(d *jsonio.Dec, run *Run) {
		raw := run.object(d)
		if d.Err() != nil {
			return
		}
		messages := run.Meta["messages"]
		switch {
		case tree.IsNull(messages) && !tree.IsNull(run.Meta["ticks"]):
			d.Fail("the run is a voice run of tau2-bench: it has ticks and no messages, and is not read")
			return
		case tree.IsNull(messages) || messages[0] != '[':
			d.Fail("the run has no list of messages")
			return
		}
		list := run.Head["tasks"]
		tasks := last.Load()
		if tasks == nil || !bytes.Equal(tasks.list, list) {
			tasks = &tau2Tasks{list, tasksByID(list)}
			last.Store(tasks)
		}
		run.SetName()
		run.Describe()
		run.tau2(raw, tasks.byID[run.Case])
	}
}

// tau2Tasks are the tasks in the head of runs.
type tau2Tasks struct {
	list json.RawMessage
	byID map[string]json.RawMessage
}

// tasksByID returns the tasks of results by their ids.
func tasksByID(list json.RawMessage) map[string]json.RawMessage {
	tasks := map[string]json.RawMessage{}
	for _, task := range tree.Elements(list) {
		tasks[tree.Scalar(task, "id")] = task
	}
	return tasks
}

// tau2 sets the messages, the scores, the usage of the agent and the expected calls.
func (r *Run) tau2(raw, task json.RawMessage) {
	var usage llm.Usage
	last := int64(-1)
	for n, m := range tree.Elements(raw, "messages") {
		last = r.reportGap("messages["+strconv.Itoa(n)+"]", "turn_idx", m, last)
		if m[0] != '{' || !areObjects(tree.Member(m, "tool_calls")) || !areObjects(tree.Member(m, "tool_messages")) {
			r.ReportUnknown("messages["+strconv.Itoa(n)+"]", "the message is not an object, or its calls are not a list of objects")
		} else if tree.Member(m, "tool_messages") != nil {
			if name := message.NextTo(m, "tool_messages", ""); name != "" {
				r.ReportUnknown("messages["+strconv.Itoa(n)+"]."+name, "the message has several results, and this member is not read")
			}
		}
		r.Messages = append(r.Messages, tau2Messages(m)...)
		if tree.Scalar(m, "role") == "assistant" {
			r.reportUsage(&record{path: "messages[" + strconv.Itoa(n) + "]"}, "usage", tree.Member(m, "usage"))
			usage = usage.Add(llm.Usage{InputTokens: tree.Count(m, "usage", "prompt_tokens"), OutputTokens: tree.Count(m, "usage", "completion_tokens")})
			r.Answer = tree.Scalar(m, "content")
		}
	}
	if r.Unknown == nil { // else Meta keeps the messages
		delete(r.Meta, "messages")
	}
	if usage != (llm.Usage{}) {
		r.Meta["usage"] = usage.AppendJSON(nil)
	}
	for _, name := range [][2]string{{"agent_cost", "cost"}, {"duration", "total_time"}, {"user_cost", "user_cost"}} {
		if value := r.Meta[name[0]]; value != nil {
			r.number(&record{}, name[0], value)
			r.Meta[name[1]] = value
		}
	}
	r.reportNotObject("reward_info", tree.Member(raw, "reward_info"))
	r.reportNotObject("reward_info.reward_breakdown", tree.Member(raw, "reward_info", "reward_breakdown"))
	r.addScore("reward", tree.Member(raw, "reward_info", "reward"))
	for name, value := range tree.Members(raw, "reward_info", "reward_breakdown") {
		r.addScore("reward/"+name, value)
	}
	actions := tree.Member(task, "evaluation_criteria", "actions")
	if !tree.IsNull(actions) {
		r.Expected.Calls = []Call{}
	}
	for _, action := range tree.Elements(actions) {
		if tree.Scalar(action, "requestor") != "user" {
			r.Expected.Calls = append(r.Expected.Calls, Call{tree.Scalar(action, "name"), tree.Member(action, "arguments"), NoTurn})
		}
	}
}

// tau2Messages reads a message. Several results are one message of the environment.
func tau2Messages(m json.RawMessage) (messages []llm.Message) {
	role := tree.String(m, "role")
	if nested := tree.Member(m, "tool_messages"); role == "tool" && nested != nil {
		for _, result := range tree.Elements(nested) {
			messages = append(messages, tau2Messages(result)...)
		}
		return messages
	}
	user := tree.Scalar(m, "requestor") == "user"
	switch {
	case role == "tool" && user:
		return []llm.Message{{Role: llm.RoleUser, Parts: []llm.Part{message.Unknown("tau2.user_tool_result", string(m))}}}
	case role == "tool":
		return []llm.Message{{Role: llm.RoleTool, Parts: []llm.Part{llm.ToolResult{
			ID: textOrJSON(m, "id"), Content: tau2Content(m), IsError: tree.IsTrue(m, "error"), Opaque: notNull(m, "role", "id", "content"),
		}}}}
	}
	parts := tau2Content(m)
	for _, call := range tree.Elements(m, "tool_calls") {
		if role == "user" || tree.Scalar(call, "requestor") == "user" {
			parts = append(parts, message.Unknown("tau2.user_tool_call", string(call)))
			continue
		}
		parts = append(parts, llm.ToolCall{
			ID: textOrJSON(call, "id"), Name: textOrJSON(call, "name"), Arguments: textOrJSON(call, "arguments"),
			Opaque: notNull(call, "id", "name", "arguments"),
		})
	}
	return []llm.Message{{Role: llm.Role(role), Parts: parts, Opaque: notNull(m, "role", "content", "tool_calls")}}
}

// tau2Content returns the content of a message: a text, or audio in base64.
func tau2Content(m json.RawMessage) []llm.Part {
	content := tree.Member(m, "content")
	text, ok := tree.Text(content)
	switch {
	case tree.IsNull(content) || ok && text == "":
		return nil
	case !ok:
		return []llm.Part{message.Unknown("tau2.content", string(content))}
	case tree.IsTrue(m, "is_audio"):
		return []llm.Part{message.Unknown("tau2.audio", string(content))}
	}
	return []llm.Part{llm.Text{Text: text}}
}

// areObjects reports whether a value is a list of objects, null or missing.
func areObjects(list json.RawMessage) bool {
	for _, element := range tree.Elements(list) {
		if element[0] != '{' {
			return false
		}
	}
	return tree.IsNull(list) || list[0] == '['
}

// textOrJSON returns a member as a string: JSON if it is not one, and nothing for null.
func textOrJSON(object json.RawMessage, name string) string {
	raw := tree.Member(object, name)
	if tree.IsNull(raw) {
		return ""
	}
	return tree.String(raw)
}

// notNull returns an object without some members and without those that are null; nil if no other
// is left.
func notNull(object json.RawMessage, names ...string) json.RawMessage {
	var o tree.Object
	rest := tree.Without(object, names...)
	for key, value := range tree.Members(rest) {
		if !tree.IsNull(value) {
			o.Add(key, value)
		}
	}
	return o.JSON()
}
