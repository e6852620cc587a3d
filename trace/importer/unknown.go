package importer

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/looptape/looptape/trace/importer/internal/format"
)

// memberNames are names of members of the first object in a file of a format, without those that
// many formats have. They show which format an unknown file is nearest to.
var memberNames = map[string][]string{
	"trace":            {"format", "version", "run", "kind"},
	"inspect":          {"eval", "samples", "plan", "status"},
	"swe-agent":        {"trajectory", "history", "info"},
	"ai-sdk":           {"steps", "finishReason", "toolCalls"},
	"promptfoo":        {"evalId", "results", "prompts"},
	"codex":            {"timestamp", "payload"},
	"codex-exec":       {"thread_id", "item"},
	"claude-code":      {"sessionId", "uuid", "parentUuid"},
	"claude-agent-sdk": {"session_id", "parent_tool_use_id"},
	"atif":             {"schema_version", "agent", "steps"},
	"langchain":        {"additional_kwargs", "response_metadata"},
	"langsmith":        {"post", "patch", "run_type", "dotted_order"},
	"managed-agents":   {"processed_at", "session_thread_id"},
	"langfuse":         {"trace", "observations"},
	"langfuse-rows":    {"traceId", "parentObservationId"},
	"adk-set":          {"eval_set_id", "eval_cases"},
	"adk-result":       {"eval_set_result_id", "eval_case_results"},
	"adk-session":      {"events", "app_name", "user_id"},
	"otel":             {"resourceSpans", "resourceLogs", "scopeSpans", "spans"},
	"bodies":           {"choices", "candidates", "contents", "stop_reason"},
	"messages":         {"messages", "role", "content"},
	"har":              {"log", "entries"},
	"vcrpy":            {"interactions", "request", "response"},
	"rows":             {"prompt", "question", "input", "answer", "output", "expected", "target"},
	"tau-bench":        {"traj", "task_id"},
}

// unknownFormat returns the error for a file that no format recognizes.
func unknownFormat(h *format.Head) error {
	const most = 8
	var names []string
	for _, key := range h.Keys[:min(most, len(h.Keys))] {
		names = append(names, strconv.Quote(key))
	}
	if len(h.Keys) > most {
		names = append(names, "…")
	}
	known, conversation := knownForm(h)
	what := "the first object has the members "
	switch {
	case h.CSV && known != "":
		return &unknownError{fmt.Errorf("%w: %s", ErrFormat, known), conversation}
	case h.CSV && len(names) < 2:
		return fmt.Errorf("%w: the file is neither JSON nor YAML, CSV or server-sent events in a form that looptape reads; %s", ErrFormat, convertHint)
	case h.CSV:
		what = "the first line has the columns "
	case names == nil:
		what = "the first object has no members"
	}
	what += strings.Join(names, ", ")
	hasRole := !h.Has("role") || h.HasValue("role", `"`)
	if !hasRole {
		what += fmt.Sprintf("; the role is not a string: give each message its role (%s)", strings.Join(format.Roles, ", "))
	} else if h.Role != "" && !slices.Contains(format.Roles, h.Role) {
		what += fmt.Sprintf("; the role %q is not one of a message (%s)", h.Role, strings.Join(format.Roles, ", "))
	}
	if known != "" {
		what += "; " + known
	} else if near, missing := nearest(h.Keys); near != "" && hasRole {
		what += fmt.Sprintf("; the nearest format is %s, which also has %s", near, strings.Join(missing, " or "))
	}
	return &unknownError{fmt.Errorf("%w: %s; %s", ErrFormat, what, convertHint), conversation || hasMessages(h)}
}

// forms are forms of conversations that looptape does not read, by the members of the first object and by
// texts in the file, and what to do with them. A file with one of the turns is a conversation; without
// turns, or if it has none of them, it may be other data.
var forms = []struct {
	members []string
	list    string // one more member, whose value is a list
	texts   []string
	is      string
	turns   []string
}{
	{[]string{"parts", "kind"}, "", []string{`"part_kind"`}, "it has messages of pydantic-ai: convert them with jq, as docs/recordings.md shows", []string{`"part_kind"`}},
	{[]string{"mapping"}, "", []string{`"author"`}, "it is an export of ChatGPT, with the messages as members of mapping", []string{`"author"`}},
	{nil, "chat_messages", []string{`"sender"`}, "it is an export of Claude: write each of chat_messages as a message, with its sender as the role (human is user) and its text as the content", []string{`"sender"`}},
	{nil, "conversations", []string{`"from"`, `"value"`}, "it has conversations of ShareGPT: write each of them as a list of messages, with from as the role (human is user, gpt is assistant) and value as the content", []string{`"from"`}},
	{[]string{"conversations"}, "", []string{`"content"`}, "the nearest format is messages: jq -c .conversations[] writes one list per line", []string{`"role"`}},
	{[]string{"object", "data"}, "", []string{`"role"`}, "it is a list of the API of OpenAI, with items or messages as data, also in reverse order: jq -c .data writes the list", []string{`"role"`}},
	{[]string{"request", "response"}, "", []string{`"choices"`}, "the nearest format is bodies, with each request or response on its own: jq -c .request,.response", []string{`"choices"`}},
	{[]string{"message"}, "chat_history", nil, "it is a request of version 1 of the API of Cohere; looptape reads version 2, with messages", []string{`"chat_history"`}},
	{[]string{"scope", "method", "path", "response"}, "", nil, "it has requests recorded by nock: jq -c '.[] | .body, .response' writes them in the format bodies, unless the responses are compressed", escapedRole},
	{[]string{"http_interactions"}, "", nil, rubyVCR, escapedRole},
	{nil, "", []string{"http_interactions:\n"}, rubyVCR, escapedRole},
	{[]string{"speaker", "text"}, "", nil, "the nearest format is messages, which has role and content: docs/recordings.md has an example with jq", nil},
	{nil, "tool_calls", nil, "it has steps with calls, and no messages: write each step as a message of the assistant with its tool_calls, followed by a message of the role tool for each result", []string{`"tool_calls"`}},
	{[]string{"resource_spans"}, "", nil, "the nearest format is otel, with the names of OTLP in JSON, such as resourceSpans", []string{`gen_ai.`}},
	{[]string{"log"}, "", nil, "the nearest format is har, in which log has entries", nil},
	{[]string{"interactions"}, "", nil, "the nearest format is vcrpy, in which interactions is a list", nil},
	{[]string{"messages"}, "", nil, "the nearest format is messages, in which messages is a list", nil},
}

const rubyVCR = "it is a cassette of VCR for Ruby, which looptape does not read: record the requests with looptape record, or write them as a HAR file"

// escapedRole is the member role in a body, which may be a string of JSON or YAML.
var escapedRole = []string{`"role"`, `\"role\"`, `role:`}

// knownForm returns what the file is if it is in one of the forms, and whether it is a conversation.
func knownForm(h *format.Head) (is string, conversation bool) {
	for _, f := range forms {
		switch {
		case slices.ContainsFunc(f.members, func(name string) bool { return !h.Has(name) }):
		case f.list != "" && !h.HasValue(f.list, "["):
		case slices.ContainsFunc(f.texts, func(text string) bool { return !h.Contains(text) }):
		default:
			return f.is, h.Contains(f.turns...)
		}
	}
	return "", false
}

// unknownError is the error for a file that no format recognizes.
type unknownError struct {
	error

	messages bool
}

// Unwrap returns an error that is [ErrFormat].
func (e *unknownError) Unwrap() error { return e.error }

// HasMessages reports whether the file is a conversation in a known form, or JSON that may have messages of
// a model.
func (e *unknownError) HasMessages() bool { return e.messages }

// hasMessages reports whether the beginning of a JSON file has members with the names of those of a
// message or a response.
func hasMessages(h *format.Head) bool {
	return !h.CSV && (h.Contains(`"role"`) && h.Contains(`"content"`, `"parts"`) ||
		h.Contains(`"choices"`) && h.Contains(`"message"`) || h.Contains(`"candidates"`) && h.Contains(`"parts"`))
}

const convertHint = "map the members of other rows with --case and --score of looptape eval, or convert the file to a list of messages (docs/recordings.md)"

// nearest returns the format that shares most names with an object, and up to three names that the
// object does not have; empty if none shares a name.
func nearest(keys []string) (name string, missing []string) {
	best := 0
	for _, f := range formats() {
		shared := 0
		var others []string
		for _, member := range memberNames[f.Name] {
			if slices.Contains(keys, member) {
				shared++
			} else {
				others = append(others, strconv.Quote(member))
			}
		}
		if shared > best && len(others) > 0 {
			const most = 3
			best, name, missing = shared, f.Name, others[:min(most, len(others))]
		}
	}
	return name, missing
}
