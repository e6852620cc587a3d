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
	"github.com/looptape/looptape/trace/importer/internal/tree"
)

// SniffADKSession recognizes sessions.
func SniffADKSession(h *Head) (Layout, bool) {
	old := h.Has("past_events", "pending_events")
	return runsInArray, h.Has("events") && (h.Has("app_name", "appName") || h.Has("id") && old)
}

// ADKSession reads a Session, also in the form before version 0.1 of ADK, which has options of an
// event in a member of their own. It omits partial events, which a later event repeats. The runs have
// what ADK sends to a model, which is not the list of events (flows/llm_flows/contents.py): agents in
// parallel branches do not see each other, requests to the user for credentials and confirmations are
// not sent, and a result directly follows its call, also if it comes later or replaces another one.
func ADKSession(d *jsonio.Dec, run *Run) {
	raw := run.object(d)
	run.identify(raw, "id")
	run.Case = ""
	var s adkSession
	var usage llm.Usage
	rewound := adkRewound(tree.Field(raw, "events"))
	for n, event := range run.Objects("events", tree.Field(raw, "events")) {
		if tree.Field(event, "author") == nil && tree.Field(event, "content") == nil && tree.Field(event, "actions") == nil {
			run.ReportUnknown("events["+strconv.Itoa(n)+"]", "the event has no author, no content and no actions; it has the members %s", tree.Names(event))
			continue
		}
		if tree.IsTrue(tree.Field(event, "partial")) || tree.IsTrue(tree.Field(event, "options", "partial")) {
			continue
		}
		run.reportUsage(&record{path: "events[" + strconv.Itoa(n) + "]"}, "usage_metadata", tree.Field(event, "usage_metadata"))
		usage = usage.Add(adkUsage(tree.Field(event, "usage_metadata")))
		if tree.Field(event, "actions", "compaction") != nil {
			run.ReportUnknown("events["+strconv.Itoa(n)+"].actions.compaction", "the summary that replaces earlier events is not read")
		}
		if rewound[n] {
			continue
		}
		content := tree.Field(event, "content")
		if name := adkRequest(content); name != "" {
			s.other.add(name, event)
			continue
		}
		if !tree.IsNull(content) {
			s.add(event, content)
		}
		path := "events[" + strconv.Itoa(n) + "].content"
		if parts := tree.Field(content, "parts"); content != nil && (content[0] != '{' || parts != nil && parts[0] != '[') {
			run.ReportUnknown(path, "the content has no list of parts")
		} else if parts == nil && !tree.IsNull(content) && tree.Without(content, "role", "parts") != nil {
			run.ReportUnknown(path, "the content has no parts, and members that looptape does not read")
		} else {
			run.reportNextToParts(path, content)
		}
		for name, value := range tree.Members(event) {
			if parts := tree.Field(value, "parts"); name != "content" && len(parts) > len("[]") && parts[0] == '[' {
				run.ReportUnknown("events["+strconv.Itoa(n)+"]."+name, "the event has content in an unknown member")
			}
		}
	}
	for _, name := range []string{"past_events", "pending_events"} {
		if list := tree.Field(raw, name); list != nil && len(list) > len("[]") {
			run.ReportUnknown(name, "the messages of %s are not read", name)
		}
	}
	s.runs(run)
	s.other.moveTo(run)
	if usage != (llm.Usage{}) {
		run.Meta["usage"] = usage.AppendJSON(nil)
	}
}

// adkRewound returns the events that are not sent to models because the user went back to before their
// invocation, by their index (_get_contents in flows/llm_flows/contents.py).
func adkRewound(list json.RawMessage) map[int]bool {
	first := map[string]int{} // events of an invocation
	var targets []string
	for n, event := range tree.Elements(list) {
		if id := tree.Scalar(tree.Field(event, "invocation_id")); id != "" {
			if _, ok := first[id]; !ok {
				first[id] = n
			}
		}
		targets = append(targets, tree.Scalar(tree.Field(event, "actions", "rewind_before_invocation_id")))
	}
	rewound := map[int]bool{}
	for i := len(targets) - 1; i >= 0; i-- {
		if targets[i] == "" {
			continue
		}
		rewound[i] = true
		if from, ok := first[targets[i]]; ok && from < i {
			for ; i > from; i-- {
				rewound[i] = true
			}
			rewound[from] = true
		}
	}
	return rewound
}

// adkRequests are the functions whose calls and results are between ADK and the user.
var adkRequests = []string{"adk_request_credential", "adk_request_confirmation"}

// adkRequest returns the function if a content has a call of one of these or its result; else it
// returns an empty string.
func adkRequest(content json.RawMessage) string {
	for _, part := range tree.Elements(tree.Field(content, "parts")) {
		for _, member := range []string{"function_call", "function_response"} {
			if name, _ := tree.Text(tree.Field(part, member, "name")); slices.Contains(adkRequests, name) {
				return name
			}
		}
	}
	return ""
}

// adkSession has the events of a session that are sent to models.
type adkSession struct {
	events  []adkEvent
	callers map[string]string // the branch of a call, by its id
	other   lists
}

// add adds an event. A result that the user sends, in no branch, belongs to the branch of its call.
func (s *adkSession) add(event, content json.RawMessage) {
	branch, _ := tree.Text(tree.Field(event, "branch"))
	for _, part := range tree.Elements(tree.Field(content, "parts")) {
		if id := tree.Scalar(tree.Field(part, "function_call", "id")); id != "" {
			if s.callers == nil {
				s.callers = map[string]string{}
			}
			s.callers[id] = branch
		}
		if id := tree.Scalar(tree.Field(part, "function_response", "id")); id != "" && branch == "" {
			branch = s.callers[id]
		}
	}
	s.events = append(s.events, adkEvent{branch, content})
}

type adkEvent struct {
	branch  string // of parallel agents, as agent_1.agent_2; may be empty
	content json.RawMessage
}

// runs sets the messages of a run, and adds a run for each other branch. If no agents were parallel,
// there is one run.
func (s *adkSession) runs(run *Run) {
	const maxBranches = 100 // each has the messages that it shares with others
	branches := s.branches()
	if n := len(branches); n > maxBranches {
		run.ReportUnknown("events", "the session has %d branches, and only the first %d are read", n, maxBranches)
		branches = branches[:maxBranches]
	}
	session := run.Name
	for i, branch := range branches {
		end := len(s.events)
		for len(branches) > 1 && s.events[end-1].branch != branch {
			end--
		}
		name := session
		if len(branches) > 1 && branch != "" {
			name += "/" + branch
		}
		messages := s.messages(branch, s.events[:end])
		if i == 0 {
			run.Name, run.Messages = name, messages
			continue
		}
		run.More = append(run.More, Run{Name: name, Line: run.Line, Epoch: NoEpoch, Messages: messages})
	}
}

// branches returns the branches that have events, the outer ones first; only the innermost one if each
// contains the next.
func (s *adkSession) branches() (branches []string) {
	seen := map[string]bool{}
	for _, e := range s.events {
		if !seen[e.branch] {
			seen[e.branch] = true
			branches = append(branches, e.branch)
		}
	}
	depth := func(branch string) int { return len(strings.FieldsFunc(branch, func(r rune) bool { return r == '.' })) }
	slices.SortStableFunc(branches, func(a, b string) int { return cmp.Compare(depth(a), depth(b)) })
	for i := 1; i < len(branches); i++ {
		if !isVisible(branches[i-1], branches[i]) {
			return branches
		}
	}
	return branches[max(0, len(branches)-1):]
}

// isVisible reports whether an agent in a branch sees the events of another branch: its own one or
// one that contains it.
func isVisible(other, branch string) bool {
	return other == "" || other == branch || strings.HasPrefix(branch, other+".")
}

// messages returns the messages of the events that an agent in a branch sees.
func (s *adkSession) messages(branch string, events []adkEvent) []llm.Message {
	var reader message.Reader
	var sent adkSent
	for _, e := range events {
		if isVisible(e.branch, branch) {
			for _, m := range reader.Contents(e.content) {
				sent.add(m)
			}
		}
	}
	for _, r := range sent.replaced {
		s.other.add("replaced_responses", r)
	}
	return sent.messages()
}

// adkSent are the messages that ADK sends.
type adkSent struct {
	list     []*adkMessage
	caller   *adkMessage         // the last message without results
	calls    map[string]*adkCall // the last ones with an id of the session
	replaced []json.RawMessage   // results that others have replaced
}

// adkMessage is a message with the results of its calls that come after other messages.
type adkMessage struct {
	llm.Message
	late []llm.Part
}

// adkCall is a call with an id of its own.
type adkCall struct {
	message *adkMessage
	result  *llm.Part // the last one; nil if there is none
}

// add adds the next message of the session.
func (s *adkSent) add(m llm.Message) {
	next := &adkMessage{Message: m}
	if m.Role != llm.RoleTool {
		s.caller = next
		s.list = append(s.list, next)
		for _, call := range m.Calls() {
			if s.calls == nil {
				s.calls = map[string]*adkCall{}
			}
			if !call.IDGenerated {
				s.calls[call.ID] = &adkCall{message: next}
			}
		}
		return
	}
	parts := m.Parts
	next.Parts = make([]llm.Part, 0, len(parts)) // its parts stay in place
	for _, p := range parts {
		result, _ := p.(llm.ToolResult)
		call := s.calls[result.ID]
		switch {
		case call == nil:
			next.Parts = append(next.Parts, p)
		case call.result != nil:
			s.replaced = append(s.replaced, llm.Message{Role: m.Role, Parts: []llm.Part{*call.result}}.AppendJSON(nil))
			*call.result = p
		case call.message == s.caller:
			next.Parts = append(next.Parts, p)
			call.result = &next.Parts[len(next.Parts)-1]
		default:
			caller := call.message
			if caller.late == nil {
				caller.late = make([]llm.Part, 0, len(caller.Parts)) // one for each call: they stay in place
			}
			caller.late = append(caller.late, p)
			call.result = &caller.late[len(caller.late)-1]
		}
	}
	if len(next.Parts) > 0 {
		s.list = append(s.list, next)
	}
}

// messages returns the messages, with each result after its call.
func (s *adkSent) messages() (messages []llm.Message) {
	var late []llm.Part
	flush := func() { messages = message.AddStep(messages, llm.RoleTool, late) }
	for _, m := range s.list {
		if m.Role != llm.RoleTool {
			flush()
			late = m.late
		}
		messages = append(messages, m.Message)
	}
	flush()
	return messages
}
