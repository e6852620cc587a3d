// Package deepagents configures the loop as the agent loop of @deepagents/agent. It has the
// entry points, results, streams and errors of that reference loop.
//
// Agents build their instructions from context variables and hand over the conversation to
// each other. The result contains the variables as the state of the run. There are no retries,
// no compaction and no memory between runs. See [Fill] for the defaults.
package deepagents

import (
	"cmp"
	"math"
	"slices"

	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/middleware"
)

// Fill sets the zero fields of a configuration: 25 steps in total, checked after a step that
// ran tools, or no step limit if there are stop conditions; any number of concurrent tools; no
// runaway guard. It adds "repair" before all
// other middleware unless there is middleware with that name: the model that made a call
// repairs arguments that a tool rejects, unless the configuration has another one.
func Fill(cfg loop.Config) loop.Config {
	cfg.Preset = "deepagents"
	limit := 25
	if len(cfg.StopWhen) > 0 {
		limit = math.MaxInt
	}
	cfg.MaxSteps = cmp.Or(cfg.MaxSteps, limit)
	cfg.Concurrency = cmp.Or(cfg.Concurrency, loop.Unlimited)
	cfg.MaxConsecutiveToolErrors = cmp.Or(cfg.MaxConsecutiveToolErrors, loop.Disabled)
	cfg.Middleware = withRepair(cfg.Middleware, middleware.Repair{})
	return cfg
}

// withRepair returns the list with the repair before all others, unless it has one.
func withRepair(list []loop.Middleware, r middleware.Repair) []loop.Middleware {
	repair := r.Middleware()
	if slices.ContainsFunc(list, func(p loop.Middleware) bool { return p.Name == repair.Name }) {
		return list
	}
	return slices.Concat([]loop.Middleware{repair}, list)
}
