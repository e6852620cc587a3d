package format

import (
	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/trace/importer/internal/message"
	"github.com/looptape/looptape/trace/importer/internal/tree"
)

// SniffSWEAgent recognizes trajectories of SWE-agent.
func SniffSWEAgent(h *Head) (Layout, bool) {
	return runsInArray, h.Has("trajectory") && (h.Has("history", "info") || h.Contains(`"observation"`))
}

// SWEAgent reads the trajectory of an instance, a .traj file (docs/usage/trajectories.md and
// sweagent/types.py in github.com/SWE-agent/SWE-agent). The messages are its history.
// Demonstrations among them have a mark in their opaque data. The final answer is the
// submitted patch.
func SWEAgent(d *jsonio.Dec, run *Run) {
	var reader message.Reader
	read := func() { run.Messages = reader.List(d) }
	if !run.Members(d, read, "history") {
		d.Fail("the trajectory has no history")
	}
	run.Describe()
	config := tree.Embedded(run.Meta["replay_config"])
	if id := tree.Scalar(config, "problem_statement", "id"); id != "" {
		run.Case, run.Name = id, id
	}
	run.reportNotObject("info", run.Meta["info"])
	run.Answer = tree.Scalar(run.Meta["info"], "submission")
}
