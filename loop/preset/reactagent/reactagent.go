// Package reactagent configures the loop as the agent of Swift's DeepAgents. It provides
// createAgent ([New]) and createDeepAgent ([NewDeep]) with the defaults ([Fill]), the order of
// the stack and the events of that reference loop. A run reports failure in its last event and
// returns no error.
//
// There is no budget, no deadline and no retry unless the options of the loop set one. The tools
// of the general-purpose groups (web, search, text, git and shell) are those of contrib/general.
package reactagent

import (
	"cmp"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/loop"
)

// Fill sets the zero fields of a configuration. The step limit of 24 is checked before each
// step and ends the run with a final answer without tools. Any number of tools run
// concurrently, and the runaway guard is disabled. A step that repeats the step before is
// skipped. The thread gets a response after the AfterModel hooks. Each result is a
// message. An error is encoded as {"error": …}.
func Fill(cfg loop.Config) loop.Config {
	cfg.Preset = "reactagent"
	cfg.CheckLimitBeforeStep, cfg.OnStepLimit = true, cmp.Or(cfg.OnStepLimit, loop.StepLimitForceFinal)
	cfg.OneMessagePerResult = true
	cfg.AppendAfterHooks = true
	cfg.DuplicateStep = loop.DuplicateSkip
	cfg.MaxSteps = cmp.Or(cfg.MaxSteps, 24)
	cfg.Concurrency = cmp.Or(cfg.Concurrency, loop.Unlimited)
	cfg.MaxConsecutiveToolErrors = cmp.Or(cfg.MaxConsecutiveToolErrors, loop.Disabled)
	if cfg.ErrorText == nil {
		cfg.ErrorText = func(_ string, err error) string {
			return string(append(jsonio.AppendString([]byte(`{"error":`), err.Error()), '}'))
		}
	}
	return cfg
}
