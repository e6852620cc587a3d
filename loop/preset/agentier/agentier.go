// Package agentier is the agent loop of @agentier/core as a configuration of the
// one loop, with that document's own entry point, callbacks, result and errors.
//
// Limits are looked at before each model call, and a run that reaches one returns
// what it has; all tools of a turn run at once; a tool that fails is a text that the
// model reads; the time of a run is limited. There is no guard against a loop that
// gets nowhere, and no memory from one run to the next.
package agentier

import (
	"time"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
)

// Name is the name of the preset.
const Name = "agentier"

// The document's defaults, and Grace, of which it does not speak: how long a tool
// may ignore that its run is over.
const (
	DefaultMaxIterations = 10
	DefaultTimeout       = time.Minute
	DefaultGrace         = time.Second
)

// Fill sets what the caller left at zero: ten iterations, looked at before each; a
// minute, of which a negative Deadline is none; tools without a limit to how many
// run at once; no guard; a message a result, whose text begins with "Error: " where
// the tool failed, which nothing else tells; and retries, should there be any, after 1 s, 2 s, 4 s. Answers
// are asked for in one piece; who wants tokens has them streamed. What is filled stays as
// it is.
func Fill(cfg loop.Config) loop.Config {
	filled := cfg.Preset == Name
	cfg.Preset = Name
	cfg.ResponseMode = llm.NonStreaming
	cfg.StepLimitCheck = loop.CheckBeforeStep
	cfg.ToolMessage = loop.OnePerCall
	cfg.OmitErrorFlag = true
	orElse(&cfg.MaxSteps, DefaultMaxIterations)
	orElse(&cfg.Concurrency, loop.Unlimited)
	orElse(&cfg.MaxConsecutiveToolErrors, loop.Disabled)
	orElse(&cfg.Grace, DefaultGrace)
	orElse(&cfg.Retry.Base, time.Second)
	if !filled { // or none would become a minute
		orElse(&cfg.Deadline, DefaultTimeout)
	}
	cfg.Deadline = max(cfg.Deadline, 0)
	if cfg.ErrorText == nil {
		cfg.ErrorText = func(_ string, err error) string { return "Error: " + err.Error() }
	}
	return cfg
}

// orElse gives an option that is nought its default.
func orElse[T comparable](option *T, value T) {
	var zero T
	if *option == zero {
		*option = value
	}
}
