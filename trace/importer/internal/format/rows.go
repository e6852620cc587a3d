package format

import (
	"encoding/json"

	"github.com/looptape/looptape/trace/importer/internal/tree"
)

// The usual names of members and columns of rows, by meaning.
var (
	PromptNames   = []string{"messages", "prompt", "question", "input"}
	ExpectedNames = []string{"expected", "target", "ideal", "reference"}
	AnswerNames   = []string{"answer", "output", "completion", "response"}
)

// SniffRows recognizes rows that have a prompt, and an answer or an expected answer, under
// usual names.
func SniffRows(h *Head) (Layout, bool) {
	return runsInArray, h.names(PromptNames) && (h.names(ExpectedNames) || h.names(AnswerNames))
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
