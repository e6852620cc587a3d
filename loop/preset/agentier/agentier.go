// Package agentier configures the loop as the agent loop of @agentier/core. It has the
// entry point, callbacks, result and errors of that reference loop.
//
// The run checks its limits before each model call. A run that reaches a limit returns
// its partial result. All tool calls of a response run concurrently. The result of a
// failed tool is text that the model reads. The time of a run is limited. The runaway
// guard is disabled, and an agent keeps no memory between runs.
package agentier

import (
	"time"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
)

// Name is the name of the preset.
const Name = "agentier"

// Defaults of the reference loop. DefaultGrace is an exception: the reference
// documentation does not specify how long a tool may continue after its run has ended.
const (
	DefaultMaxIterations = 10
	DefaultTimeout       = time.Minute
	DefaultGrace         = time.Second
)

// Fill sets the zero fields of a configuration: ten iterations, checked before each; a
// deadline of one minute (a negative Deadline disables it); any number of concurrent
// tools; and no runaway guard. Each result is a message. The result of a failed tool has
// the prefix "Error: " and no error flag. Retries, if any, wait 1 s, 2 s, 4 s. Responses
// are non-streaming unless the caller asks for tokens. Fill does not change a filled
// configuration.
func Fill(cfg loop.Config) loop.Config {
	filled := cfg.Preset == Name
	cfg.Preset = Name
	cfg.ResponseMode = llm.NonStreaming
	cfg.CheckLimitBeforeStep = true
	cfg.OneMessagePerResult = true
	cfg.OmitErrorFlag = true
	orElse(&cfg.MaxSteps, DefaultMaxIterations)
	orElse(&cfg.Concurrency, loop.Unlimited)
	orElse(&cfg.MaxConsecutiveToolErrors, loop.Disabled)
	orElse(&cfg.Grace, DefaultGrace)
	orElse(&cfg.Retry.Base, time.Second)
	if !filled { // otherwise a disabled deadline would become one minute
		orElse(&cfg.Deadline, DefaultTimeout)
	}
	cfg.Deadline = max(cfg.Deadline, 0)
	if cfg.ErrorText == nil {
		cfg.ErrorText = func(_ string, err error) string { return "Error: " + err.Error() }
	}
	return cfg
}

// orElse sets an option to its default if it is zero.
func orElse[T comparable](option *T, value T) {
	var zero T
	if *option == zero {
		*option = value
	}
}
