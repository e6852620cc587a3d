// Package agentier configures the loop as the agent loop of @agentier/core. It has the entry
// point, callbacks, result and errors of that reference loop.
//
// A run that reaches a limit returns its partial result, except at its time limit: that is the
// error TIMEOUT unless [loop.Config] DeadlineReturns is set. An agent keeps no memory between
// runs. See [Fill] for the defaults.
package agentier

import (
	"cmp"
	"time"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
)

const name = "agentier"

// Fill sets the zero fields of a configuration: ten iterations, checked before each model
// call; a deadline of one minute (a negative Deadline disables it); any number of concurrent
// tools, which may continue for one second after the run; and no runaway guard. Each result is
// a message. The result of a failed tool has the prefix "Error: " and no error flag. The
// loop retries no model call without [Retry]; temporary failures are retryable, including
// network failures. Responses are non-streaming unless the caller asks for tokens.
// Fill does not change a filled configuration.
func Fill(cfg loop.Config) loop.Config {
	filled := cfg.Preset == name
	cfg.Preset = name
	cfg.ResponseMode = llm.NonStreaming
	cfg.CheckLimitBeforeStep = true
	cfg.OneMessagePerResult = true
	cfg.OmitErrorFlag = true
	cfg.MaxSteps = cmp.Or(cfg.MaxSteps, 10)
	cfg.Concurrency = cmp.Or(cfg.Concurrency, loop.Unlimited)
	cfg.MaxConsecutiveToolErrors = cmp.Or(cfg.MaxConsecutiveToolErrors, loop.Disabled)
	cfg.Grace = cmp.Or(cfg.Grace, time.Second)
	cfg.Retry.Base = cmp.Or(cfg.Retry.Base, time.Second)
	if cfg.Retry.On == nil {
		cfg.Retry.On = temporary
	}
	if !filled { // otherwise a disabled deadline would become one minute
		cfg.Deadline = cmp.Or(cfg.Deadline, time.Minute)
	}
	cfg.Deadline = max(cfg.Deadline, 0)
	if cfg.ErrorText == nil {
		cfg.ErrorText = func(_ string, err error) string { return "Error: " + err.Error() }
	}
	return cfg
}
