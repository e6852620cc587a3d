package scorers

import (
	"github.com/looptape/looptape/evals/facts"
	"github.com/looptape/looptape/trace/importer"
)

// Facts are what a run says, as all scorers here take it.
type Facts = facts.Facts

// Call is a tool call and what came of it.
type Call = facts.Call

// Read returns the facts of a run.
func Read(run *importer.Run) *Facts { return facts.Read(run) }
