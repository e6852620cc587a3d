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
	what := "the first object has the members "
	switch {
	case h.CSV && len(names) < 2:
		return fmt.Errorf("%w: the file is neither JSON nor YAML, CSV or server-sent events in a form that looptape reads; %s", ErrFormat, convertHint)
	case h.CSV:
		what = "the first line has the columns "
	case names == nil:
		what = "the first object has no members"
	}
	what += strings.Join(names, ", ")
	if h.Role != "" && !slices.Contains(format.Roles, h.Role) {
		what += fmt.Sprintf("; the role %q is not one of a message (%s)", h.Role, strings.Join(format.Roles, ", "))
	}
	if known := knownForm(h); known != "" {
		what += "; " + known
	} else if near, missing := nearest(h.Keys); near != "" {
		what += fmt.Sprintf("; the nearest format is %s, which also has %s", near, strings.Join(missing, " or "))
	}
	return &unknownError{fmt.Errorf("%w: %s; %s", ErrFormat, what, convertHint), hasMessages(h)}
}

// forms are forms of conversations that looptape does not read, by the members of the first object and by a
// text in the file, and what to do with them.
var forms = []struct {
	members []string
	text    string
	is      string
}{
	{[]string{"parts", "kind"}, `"part_kind"`, "it has messages of pydantic-ai: convert them with jq, as docs/recordings.md shows"},
	{[]string{"mapping"}, `"author"`, "it is an export of ChatGPT, with the messages as members of mapping"},
	{[]string{"conversations"}, `"content"`, "the nearest format is messages: jq -c .conversations[] writes one list per line"},
	{[]string{"object", "data"}, `"role"`, "it is a list of the API of OpenAI, with items or messages as data, also in reverse order: jq -c .data writes the list"},
	{[]string{"request", "response"}, `"choices"`, "the nearest format is bodies, with each request or response on its own: jq -c .request,.response"},
	{[]string{"message", "chat_history"}, "", "it is a request of version 1 of the API of Cohere; looptape reads version 2, with messages"},
	{[]string{"resource_spans"}, "", "the nearest format is otel, with the names of OTLP in JSON, such as resourceSpans"},
	{[]string{"log"}, "", "the nearest format is har, in which log has entries"},
	{[]string{"interactions"}, "", "the nearest format is vcrpy, in which interactions is a list"},
	{[]string{"messages"}, "", "the nearest format is messages, in which messages is a list"},
}

// knownForm returns what the file is if it is in one of the forms.
func knownForm(h *format.Head) string {
	for _, f := range forms {
		if !slices.ContainsFunc(f.members, func(name string) bool { return !h.Has(name) }) && (f.text == "" || h.Contains(f.text)) {
			return f.is
		}
	}
	return ""
}

// unknownError is the error for a file that no format recognizes.
type unknownError struct {
	error

	messages bool
}

// Unwrap returns an error that is [ErrFormat].
func (e *unknownError) Unwrap() error { return e.error }

// HasMessages reports whether the file is JSON that may have messages of a model.
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
