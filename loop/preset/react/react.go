// Package react is the agent of Swift's DeepAgents as a configuration of the one loop:
// createAgent (New) and createDeepAgent (NewDeep), with that document's defaults, the
// fixed order of its stack, its events, and runs that succeed or not and never throw.
//
// A run takes 24 rounds at most, all tools of a round at once, and one more model call
// without tools where that was not enough; a round that repeats the one before it is
// not run. There is no budget, no deadline and no retry, unless the loop's own options
// set one. The five groups of general-purpose tools are names that say they are not
// built yet.
package react

import (
	"cmp"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/loop"
)

// Name is the name of the preset.
const Name = "reactagent"

// DefaultMaxIterations is the document's cap.
const DefaultMaxIterations = 24

// Fill sets what the caller left at zero: the cap, looked at before each round, with a
// forced last answer; tools without a limit to how many run at once; no guard against
// a tool that fails again and again. A round that repeats the one before it is
// skipped, a turn comes into the thread behind the AfterModel hooks, each result is a
// message, and an error is told as {"error": …}.
func Fill(cfg loop.Config) loop.Config {
	cfg.Preset = Name
	cfg.StepLimitCheck, cfg.OnStepLimit = loop.CheckBeforeStep, cmp.Or(cfg.OnStepLimit, loop.StepLimitForceFinal)
	cfg.ToolMessage = loop.OnePerCall
	cfg.AppendResponse = loop.AppendAfter
	cfg.DuplicateStep = loop.DuplicateSkip
	if cfg.MaxSteps == 0 {
		cfg.MaxSteps = DefaultMaxIterations
	}
	if cfg.Concurrency == 0 {
		cfg.Concurrency = loop.Unlimited
	}
	if cfg.MaxConsecutiveToolErrors == 0 {
		cfg.MaxConsecutiveToolErrors = loop.Disabled
	}
	if cfg.ErrorText == nil {
		cfg.ErrorText = errorObject
	}
	return cfg
}

// errorObject is an error as a JSON object.
func errorObject(_ string, err error) string {
	return string(append(jsonio.AppendString([]byte(`{"error":`), err.Error()), '}'))
}
