package scorers

import (
	"bytes"
	_ "embed" // for the schemas
	"encoding/json"
	"slices"

	"github.com/looptape/looptape/evals"
	"github.com/looptape/looptape/evals/facts"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/importer"
)

//go:embed schema/run-v2.schema.json
var runSchema []byte

//go:embed schema/answer-v1.schema.json
var answerSchema []byte

// RunSchema returns the JSON Schema (draft 2020-12) of the input of a scoring program. The caller
// owns the slice.
func RunSchema() []byte { return slices.Clone(runSchema) }

// AnswerSchema returns the JSON Schema (draft 2020-12) of the output of a scoring program. The
// caller owns the slice.
func AnswerSchema() []byte { return slices.Clone(answerSchema) }

// documented is a run as a program reads it.
type documented struct {
	Format   string                     `json:"format"`
	Version  int                        `json:"version"`
	Name     string                     `json:"name"`
	Case     string                     `json:"case"`
	Epoch    *int                       `json:"epoch"`
	Cluster  string                     `json:"cluster,omitempty"`
	Answer   string                     `json:"answer"`
	Calls    []documentedCall           `json:"calls"`
	Expected importer.Expected          `json:"expected"`
	Messages []llm.Message              `json:"messages,omitempty"`
	Events   []json.RawMessage          `json:"events,omitempty"`
	Meta     map[string]json.RawMessage `json:"meta,omitempty"`
	Head     map[string]json.RawMessage `json:"head,omitempty"`
}

type documentedCall struct {
	ID           string `json:"id"`
	Name         string `json:"name"`
	RawArguments string `json:"arguments"`
	Answered     bool   `json:"answered"`
	Failed       bool   `json:"failed"`
	Result       string `json:"result"`
}

// document is a run as a line of JSON.
func document(run *importer.Run) ([]byte, error) {
	f := facts.Read(run)
	d := documented{
		Format: "looptape-run", Version: 2, Name: run.Name, Case: evals.CaseOf(run), Cluster: run.Cluster,
		Answer: f.Answer, Calls: []documentedCall{},
		Expected: run.Expected, Messages: run.Messages, Meta: run.Meta, Head: run.Head,
	}
	if run.Epoch != importer.NoEpoch {
		d.Epoch = &run.Epoch
	}
	for _, c := range f.Calls {
		d.Calls = append(d.Calls, documentedCall(c))
	}
	for i := range run.Events {
		d.Events = append(d.Events, run.Events[i].AppendJSON(nil))
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	err := enc.Encode(d)
	return out.Bytes(), err
}
