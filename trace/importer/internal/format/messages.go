package format

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/importer/internal/message"
	"github.com/looptape/looptape/trace/importer/internal/shape"
	"github.com/looptape/looptape/trace/importer/internal/tree"
)

// SniffMessages recognizes lists of messages: one, or several, or objects with such a list
// as the member messages.
func SniffMessages(h *Head) (Layout, bool) {
	elements := h.Nested || h.HasValue("messages", `["`)
	item := h.Has("type") && h.Has("call_id", "summary", "encrypted_content") // of Responses
	return Layout{Elements: elements}, elements || h.Empty || (h.isMessage() || item) && !h.Object
}

// SniffMessageLines recognizes a run with one message per line.
func SniffMessageLines(h *Head) (Layout, bool) {
	return Layout{}, h.Object && h.isMessage()
}

// isMessage reports whether the first object has the role and the content of a message. Other objects,
// such as the records of users, have roles too. After a message with an unknown role, others may follow.
func (h *Head) isMessage() bool {
	return h.Has("content", "parts", "tool_calls", "function_call", "toolInvocations", "refusal", "audio") &&
		(slices.Contains(Roles, h.Role) || h.Has("role") && h.Contains(`"assistant"`))
}

// Roles are the roles of messages, in all protocols.
var Roles = []string{"system", "developer", "user", "assistant", "model", "tool", "function"}

// SniffTauBench recognizes results of tau-bench.
func SniffTauBench(h *Head) (Layout, bool) { return runsInArray, h.Has("traj", "task_id") }

// Messages reads a list of messages, or an object with such a list as messages or, in
// results of tau-bench, as traj.
func Messages(d *jsonio.Dec, run *Run) {
	path := ""
	from := *d
	reader := message.Reader{Report: func(n int, what string) { run.ReportUnknown(path+"["+strconv.Itoa(n)+"]", "%s", what) }}
	switch d.Peek() {
	case '[':
		run.Messages = reader.List(d)
		run.FindMissing(nil)
	case '{':
		path = "messages"
		read := func() { run.Messages = reader.List(d) }
		found := run.Members(d, read, "messages", "traj")
		run.SetName()
		run.Describe()
		if !found { // such as a response that follows its request
			if d.Err() == nil {
				readBody(jsonio.Bytes(from.Raw()), d, run)
			}
			return
		}
		if system := run.Meta["system"]; system != nil {
			var prompt tree.Object
			prompt.Add("system", system)
			run.reportSystem("", prompt.JSON())
		}
		run.reader = &reader
		run.Protocol = reader.Protocol
		expected, answer := run.Outcome(nil, nil)
		run.Expected = ExpectedOf(expected)
		run.Expected.Calls = actions(run.Meta["info"])
		switch {
		case answer == nil:
		case !isObject(answer) && !isArray(answer):
			run.Reply(answer)
		case !run.isAnswered():
			run.replyMessages(answer)
		}
		run.endMiniSWEAgent()
		run.usageOfMiniSWEAgent()
		run.ReportOtherMessages()
		run.Sent = run.isRequest("tools", "functions", "parallel_tool_calls", "system", "toolConfig")
	default:
		d.Fail("expected a list of messages or an object with one")
	}
	run.Protocol = cmp.Or(reader.Protocol, run.requestProtocol())
	if run.Protocol == "" && run.Sent && run.Meta["model"] != nil && d.Err() == nil {
		message.MarkArguments(tree.Member(json.RawMessage(from.Raw()), "messages"), run.Messages)
	}
}

// endMiniSWEAgent reads the end of a trajectory of mini-swe-agent 2 (agents/default.py in github.com/SWE-agent/mini-swe-agent):
// a message of the role exit, which no model sees. Run.Meta has it. The final answer is the submission.
func (r *Run) endMiniSWEAgent() {
	if n := len(r.Messages) - 1; n >= 0 && r.Messages[n].Role == "exit" && strings.HasPrefix(r.meta("trajectory_format"), "mini-swe-agent") {
		exit := r.Messages[n]
		r.SetMeta("exit", exit.AppendJSON(nil))
		r.Messages, r.Answer = r.Messages[:n], cmp.Or(tree.Scalar(r.Meta["info"], "submission"), exit.Text())
	}
}

// usageOfMiniSWEAgent reads the usage in the responses that a trajectory of mini-swe-agent has next to their messages.
func (r *Run) usageOfMiniSWEAgent() {
	if !strings.HasPrefix(r.meta("trajectory_format"), "mini-swe-agent") || r.Meta["usage"] != nil {
		return
	}
	var sum llm.Usage
	for n, m := range r.Messages {
		usage := tree.Member(m.Opaque, "extra", "response", "usage")
		shape.Usage("messages["+strconv.Itoa(n)+"].extra.response.usage", usage, func(format string, args ...any) { r.ReportUnknown("", format, args...) })
		u := message.LangChainCounts(usage)
		u.CacheReadInputTokens = tree.Count(tree.First(usage, "prompt_tokens_details", "input_tokens_details"), "cached_tokens")
		u.ReasoningOutputTokens = tree.Count(tree.First(usage, "completion_tokens_details", "output_tokens_details"), "reasoning_tokens")
		sum = sum.Add(u)
	}
	r.setUsage(sum)
}

// actions returns the expected calls of a task of tau-bench, from the member info of a run.
func actions(info json.RawMessage) (calls []Call) {
	list := tree.Member(info, "task", "actions")
	if !tree.IsNull(list) {
		calls = []Call{}
	}
	for _, action := range tree.Elements(list) {
		calls = append(calls, Call{tree.Scalar(action, "name"), tree.Member(action, "kwargs"), NoTurn})
	}
	return calls
}
