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
	if !d.Object() {
		return
	}
	var conv conversation
	found := false
	run.Meta = map[string]json.RawMessage{}
	for first := true; ; {
		key, ok := d.Key(&first)
		if !ok {
			break
		}
		if key == "history" {
			found = true
			run.Messages = conv.list(d)
			continue
		}
		run.Meta[key] = json.RawMessage(d.Raw())
	}
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
