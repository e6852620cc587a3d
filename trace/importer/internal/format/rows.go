package format

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/trace/importer/internal/body"
	"github.com/looptape/looptape/trace/importer/internal/message"
	"github.com/looptape/looptape/trace/importer/internal/tree"
)

// The usual names of members and columns of rows, by meaning.
var (
	PromptNames   = []string{"messages", "prompt", "question", "input"}
	ExpectedNames = []string{"expected", "target", "ideal", "reference"}
	AnswerNames   = []string{"output", "completion", "response", "answer"}
)

// SniffRows recognizes rows that have a prompt, and an answer or an expected answer, under
// usual names.
func SniffRows(h *Head) (Layout, bool) {
	return runsInArray, h.names(PromptNames) && (h.names(ExpectedNames) || h.names(AnswerNames)) || h.CSV && slices.Contains(h.Keys, "messages")
}

// mayHaveJSON reports whether a value is a string that may begin with a list or an object.
func mayHaveJSON(value json.RawMessage) bool {
	return len(value) > 1 && value[0] == '"' && strings.IndexByte(`[{ \`, value[1]) >= 0
}

// decode returns the list in a string whose whole text is a list of messages or, in a member for calls, a list or an
// object of JSON, as exports of data frames have them. It returns any other value as it is.
func decode(name string, value json.RawMessage) json.RawMessage {
	if !mayHaveJSON(value) {
		return value
	}
	text, _ := tree.Text(value)
	if text = strings.TrimSpace(text); text == "" || text[0] != '[' && text[0] != '{' || !jsonio.ValidText(text) {
		return value
	}
	list := jsonio.Bytes(text)
	if slices.Contains(callNames, name) && message.IsToolMember(name, list) {
		return list
	}
	if !isMessage(tree.Element(list, "0")) {
		return value
	}
	for _, m := range tree.Elements(list) {
		if !isMessage(m) {
			return value
		}
	}
	if _, err := readMessages(list); err != nil {
		return value
	}
	return list
}

// Value returns the value that the pointer leads to in a row. If p is nil, it returns the
// first value that is not null under one of the names; nil if there is none.
func Value(row map[string]json.RawMessage, p *tree.Pointer, names []string) json.RawMessage {
	if p != nil {
		return p.In(row)
	}
	for _, name := range names {
		if raw := row[name]; !tree.IsNull(raw) {
			return raw
		}
	}
	return nil
}

// Outcome returns the expected answer and the answer in a row, or in an object with messages. Nil pointers mean
// the usual names. The member answer is the expected answer of a row that has an answer under another name and no
// expected one, as in records of training. Outcome reports answers under other names, which are not read.
func (r *Run) Outcome(expectedAt, answerAt *tree.Pointer) (expected, answer json.RawMessage) {
	expected, answer = Value(r.Meta, expectedAt, ExpectedNames), decode("", Value(r.Meta, answerAt, AnswerNames))
	if answerAt != nil {
		return expected, answer
	}
	for _, name := range AnswerNames {
		other := decode(name, r.Meta[name])
		if other == nil {
			continue
		}
		switch text := tree.String(other); {
		case message.IsEmpty(other) || text == tree.String(answer) || text == tree.String(expected):
		case name == "answer" && expected == nil && expectedAt == nil:
			expected = other
		case isMessage(other) || isMessage(tree.Element(other, "0")): // see ReportOtherMessages
		default:
			if response, err := body.Response(other); response == nil || err != nil || response.Message().Text() != tree.String(answer) || len(response.Calls()) > 0 {
				r.ReportUnknown(name, "the row has another answer, and this one is not read")
			}
		}
	}
	return expected, answer
}
