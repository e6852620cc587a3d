package format

import (
	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/trace/importer/internal/message"
	"github.com/looptape/looptape/trace/importer/internal/tree"
)

// SniffSWEAgent recognizes trajectories of SWE-agent.
func SniffSWEAgent(h *Head) (Layout, bool) {
	return runsInArray, !h.CSV && h.Has("trajectory") && (h.Has("history", "info") || h.Contains(`"observation"`))
}

// SWEAgent reads the trajectory of an instance, a .traj file (docs/usage/trajectories.md and
// sweagent/types.py in github.com/SWE-agent/SWE-agent). The messages are its history.
// Demonstrations among them have a mark in their opaque data. The final answer is the
// submitted patch.
func SWEAgent(d *jsonio.Dec, run *Run) {
	var reader message.Reader
	found := false
	run.Members(d, func(key string) bool {
		if key != "history" {
			return false
		}
		found = true
		run.Messages = reader.List(d)
		return true
	})
	if !found {
		d.Fail("the trajectory has no history")
	}
	run.Describe()
	config := run.Meta["replay_config"] // an object, or a string with its JSON
	if text, ok := tree.Text(config); ok {
		config = []byte(text)
	}
	if id := tree.Scalar(config, "problem_statement", "id"); id != "" {
		run.Case, run.Name = id, id
	}
	run.Answer = tree.Scalar(run.Meta["info"], "submission")
}
