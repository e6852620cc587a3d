// Package deepagents configures the loop as the agent loop of @deepagents/agent. It has
// the entry points, results, streams and errors of that reference loop.
//
// Agents build their instructions from context variables and hand over the conversation
// to each other. A run stops after 25 steps in total. All tool calls of a response run
// concurrently. A model repairs arguments that a tool rejects. The result contains the
// variables as the state of the run. There are no retries, no compaction and no memory
// between runs. The runaway guard is disabled.
package deepagents

import (
	"slices"

	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/middleware"
)

// Name is the name of the preset.
const Name = "deepagents"

// DefaultMaxSteps is the step limit if MaxSteps is 0.
const DefaultMaxSteps = 25

// Fill sets the zero fields of a configuration: 25 steps, checked after a step that ran
// tools; any number of concurrent tools; no runaway guard. It adds "repair" before all
// other middleware unless there is middleware with that name. The model that made a call
// repairs its arguments. Other middleware receives the repaired arguments.
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
	repair := middleware.Repair{}.Middleware()
	if !slices.ContainsFunc(cfg.Middleware, func(p loop.Middleware) bool { return p.Name == repair.Name }) {
		cfg.Middleware = slices.Concat([]loop.Middleware{repair}, cfg.Middleware)
	}
	return cfg
}
