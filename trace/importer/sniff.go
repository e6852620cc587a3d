package importer

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"github.com/looptape/looptape/cassettes"
	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/trace"
)

// shape is what the beginning of a recording tells of the whole.
type shape struct {
	format Format
	// lines says that each line is a value of its own, so that a broken one
	// costs no more than itself.
	lines bool
	// nested says that an array at the top holds runs, not messages, and whole that it is
	// one run.
	nested, whole bool
	// path are the names of the members that lead to the array of runs; nil if none do.
	path []string
	// http says that it is a recording of HTTP, in a format that is told when it is
	// read.
	http bool
	zip  bool // of a log
	csv  bool // of rows
}

// sniff tells the shape from the beginning of a recording, which may be cut off
// anywhere; ok is false if it is none that is known.
func sniff(head []byte) (s shape, ok bool) {
	if isZip(head) {
		return shape{format: FormatInspect, zip: true}, true
	}
	if cassettes.IsCassette(head) || isHTTP.Match(head) {
		return shape{http: true}, true
	}
	rows, first := rowsIn(head)
	if rows.csv {
		return rows, hasRows(columnsOf(head))
	}
	s.lines = rows.lines
	d := jsonio.NewDec(first)
	opening := d.Peek()
	if opening == '[' {
		first := true
		d.Array()
		if !d.More(&first) {
			s.format = FormatMessages // an empty list, or one that is cut off
			return s, d.Err() == nil
		}
		if d.Peek() == '[' {
			s.format, s.nested = FormatMessages, true
			return s, true
		}
	}
	keys, format := members(&d)
	has := func(names ...string) bool { return hasAny(keys, names) }
	switch {
	case opening == '{' && format == trace.Format:
		s.format = FormatTrace
	case s.tool(opening, keys, head):
	case has("messages"):
		s.format, s.nested = FormatMessages, true
	case has("role"):
		s.format = FormatMessages
		if opening == '{' {
			s.format = FormatMessageLines
		}
	case has("log", "interactions"): // HAR, and vcrpy's JSON
		return shape{http: true}, true
	case hasRows(keys):
		return rows, true
	case has("task_id"):
		s.format, s.nested = FormatTauBench, true
	}
	return s, s.format != ""
}

// tool tells what tools for evals write, by the first object's members and by what stands
// somewhere in the beginning, since a member may be longer than that.
func (s *shape) tool(opening byte, keys []string, head []byte) bool {
	has := func(names ...string) bool { return hasAny(keys, names) }
	within := func(texts ...string) bool {
		return slices.ContainsFunc(texts, func(text string) bool { return bytes.Contains(head, []byte(text)) })
	}
	object := opening == '{'
	switch {
	case object && has("eval") && has("version", "status", "plan", "samples"):
		s.format, s.path = FormatInspect, []string{"samples"}
	case has("traj"):
		s.format, s.nested = FormatTauBench, true
	case has("trajectory") && (has("history", "info") || within(`"observation"`)):
		s.format, s.nested = FormatSWEAgent, true
	case has("steps") && within(`"toolCalls"`, `"tool-call"`, `"finishReason"`):
		s.format, s.nested = FormatAISDK, true
	case has("finishReason") && has("text", "toolCalls") && !hasRows(keys):
		s.format, s.nested = FormatAISDK, true
	case object && has("results") && (has("evalId") || within(`"vars"`)):
		s.format, s.path = FormatPromptfoo, []string{"results", "results"}
	case has("success") && has("vars", "testCase"):
		s.format, s.nested = FormatPromptfoo, true
	case !object && has("query") && has("reference", "expected_tool_use"):
		s.format, s.whole = FormatADKSet, true
	case has("resourceSpans", "batches") || has("trace", "data") && within(`"spans"`):
		s.format, s.nested = FormatTelemetry, true
	case !object && has("data") && has("initial_session"):
		s.format, s.nested = FormatADKSet, true
	default:
		return s.adk(object, keys)
	}
	return true
}

// adk tells the formats of ADK by the first object's members.
func (s *shape) adk(object bool, keys []string) bool {
	for _, key := range keys {
		switch name := snake(key); {
		case object && name == "eval_cases":
			s.format, s.path = FormatADKSet, []string{key}
			return true
		case object && name == "eval_case_results":
			s.format, s.path = FormatADKResult, []string{key}
			return true
		case name == "app_name" && slices.Contains(keys, "events"):
			s.format, s.nested = FormatADKSession, true
			return true
		}
	}
	return false
}

// rowsIn tells the shape of rows, and returns the first value that is sound if they are
// in lines, or else all that there is.
func rowsIn(head []byte) (s shape, first string) {
	text := strings.TrimLeft(string(head), " \t\r\n")
	if text == "" || text[0] != '{' && text[0] != '[' {
		return shape{format: FormatRows, csv: true}, ""
	}
	first, lines := inLines(finite(text))
	return shape{format: FormatRows, lines: lines, nested: true}, first
}

// hasRows reports whether rows with these names can be read without a mapping.
func hasRows(names []string) bool {
	return hasAny(names, usual.prompt) && (hasAny(names, usual.want) || hasAny(names, usual.answer))
}

// hasAny reports whether any of the wanted names is there.
func hasAny(names, wanted []string) bool {
	return slices.ContainsFunc(wanted, func(n string) bool { return slices.Contains(names, n) })
}

// isHTTP tells the traces of httprr, and the YAML of go-vcr and vcrpy.
var isHTTP = regexp.MustCompile(`^httprr trace |(?m:^interactions:)`)

// members returns the names of an object's members, as far as they can be read,
// and the text of the one that is called format.
func members(d *jsonio.Dec) (keys []string, format string) {
	if d.Peek() != '{' {
		return nil, ""
	}
	d.Object()
	for first := true; ; {
		key, ok := d.Key(&first)
		if !ok {
			return keys, format
		}
		keys = append(keys, key)
		if key == "format" && d.Peek() == '"' {
			format = d.String()
			continue
		}
		d.Skip()
	}
}

// inLines reports whether the first line or, where that one is broken, the second is a
// value of its own, with more lines around it, and returns that one; else the head.
func inLines(head string) (first string, ok bool) {
	first, rest, _ := strings.Cut(head, "\n")
	rest = strings.TrimLeft(rest, " \t\r\n")
	if rest == "" {
		return head, false
	}
	if jsonio.ValidText(first) {
		return first, true
	}
	second, _, ended := strings.Cut(rest, "\n")
	lone := len(strings.TrimSpace(first)) == 1
	if ended && !lone && second[0] == head[0] && jsonio.ValidText(second) {
		return second, true
	}
	return head, false
}
