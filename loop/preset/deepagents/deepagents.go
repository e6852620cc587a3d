// Package deepagents is the agent loop of @deepagents/agent as a configuration of the
// one loop, with that document's entry points, results, streams and errors.
//
// Agents have instructions that are made of context variables, hand the conversation
// over to each other, and stop after 25 steps, whoever took them. All tools of a turn
// run at once, arguments that a tool does not take are mended by a model, and the
// variables come back as the state of the run. There are no retries, no guard against
// a loop that gets nowhere, no compaction and no memory from one run to the next.
package deepagents

import (
	"slices"

	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/middleware"
)

// Name is the name of the preset.
const Name = "deepagents"

// DefaultMaxSteps is how many steps a run takes, if nobody says.
const DefaultMaxSteps = 25

// Fill sets what the caller left at zero: 25 steps, looked at after a step that ran
// tools; no limit to how many tools run at once; no guard; and in front of
// all policies "repair", unless there is one, by the model that made the call: what is
// mended is what they are asked about.
func Fill(cfg loop.Config) loop.Config {
	cfg.Preset = Name
	if cfg.MaxSteps == 0 {
		cfg.MaxSteps = DefaultMaxSteps
	}
	if cfg.Concurrency == 0 {
		cfg.Concurrency = loop.Unlimited
	}
	if cfg.MaxConsecutiveToolErrors == 0 {
		cfg.MaxConsecutiveToolErrors = loop.Disabled
	}
	repair := middleware.Repair(middleware.RepairOptions{})
	if !slices.ContainsFunc(cfg.Middleware, func(p loop.Middleware) bool { return p.Name == repair.Name }) {
		cfg.Middleware = slices.Concat([]loop.Middleware{repair}, cfg.Middleware)
	}
	return cfg
}
