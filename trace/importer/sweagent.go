package importer

import (
	"encoding/json"

	"github.com/looptape/looptape/internal/jsonio"
)

// trajectory reads what SWE-agent writes of an instance, a .traj file: see
// docs/usage/trajectories.md and sweagent/types.py of github.com/SWE-agent/SWE-agent. The
// messages are its history, demonstrations included, which say so in their Opaque. The
// answer is the patch that was submitted.
func trajectory(d *jsonio.Dec, run *Run) {
	var conv conversation
	found := false
	run.members(d, func(key string) bool {
		if key != "history" {
			return false
		}
		found = true
		run.Messages = conv.list(d)
		return true
	})
	if !found {
		d.Fail("the trajectory has no history")
	}
	run.tell()
	config := run.Meta["replay_config"] // as an object, or as the text of one
	if text, ok := textOf(config); ok {
		config = json.RawMessage(text)
	}
	if id := scalar(memberOf(config, "problem_statement", "id")); id != "" {
		run.Case, run.Name = id, id
	}
	run.Answer = scalar(memberOf(run.Meta["info"], "submission"))
}
