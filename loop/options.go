package loop

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
)

func (c *Config) fill() {
	if c.MaxSteps == 0 {
		c.MaxSteps = DefaultMaxSteps
	}
	c.MaxSteps = max(c.MaxSteps, 0)
	if c.Concurrency == 0 {
		c.Concurrency = DefaultConcurrency
	}
	if c.MaxConsecutiveToolErrors == 0 {
		c.MaxConsecutiveToolErrors = DefaultMaxConsecutiveToolErrors
	}
	if c.Continuations == 0 {
		c.Continuations = DefaultContinuations
	}
	if c.Clock == nil {
		c.Clock = SystemClock{}
	}
	c.Retry.fill()
}

func (c *Config) check() error {
	switch {
	case !slices.Contains([]StepLimitCheck{CheckAfterStep, CheckBeforeStep}, c.StepLimitCheck):
		return fmt.Errorf("the StepLimitCheck %q is neither CheckAfterStep nor CheckBeforeStep", c.StepLimitCheck)
	case !slices.Contains([]OnStepLimit{StepLimitReturn, StepLimitForceFinal, StepLimitError}, c.OnStepLimit):
		return fmt.Errorf("unknown OnStepLimit %q: use StepLimitReturn, StepLimitForceFinal or StepLimitError", c.OnStepLimit)
	case c.ToolMessage != OnePerStep && c.ToolMessage != OnePerCall:
		return fmt.Errorf("the ToolMessage %q is neither OnePerStep nor OnePerCall", c.ToolMessage)
	case c.AppendResponse != AppendBefore && c.AppendResponse != AppendAfter:
		return fmt.Errorf("the AppendResponse %q is neither AppendBefore nor AppendAfter", c.AppendResponse)
	case !slices.Contains([]BadArguments{BadArgumentsError, BadArgumentsEmpty, BadArgumentsPass}, c.BadArguments):
		return fmt.Errorf("unknown BadArguments %q: use BadArgumentsError, BadArgumentsEmpty or BadArgumentsPass", c.BadArguments)
	case c.UnknownTool != UnknownError && c.UnknownTool != UnknownBreak:
		return fmt.Errorf("the UnknownTool %q is neither UnknownError nor UnknownBreak", c.UnknownTool)
	case c.NoTools != NoToolsError && c.NoTools != NoToolsBreak:
		return fmt.Errorf("the NoTools %q is neither NoToolsError nor NoToolsBreak", c.NoTools)
	case c.ClientCalls != ClientBreak && c.ClientCalls != ClientRest:
		return fmt.Errorf("the ClientCalls %q are neither ClientBreak nor ClientRest", c.ClientCalls)
	case c.DuplicateStep != DuplicateRun && c.DuplicateStep != DuplicateSkip:
		return fmt.Errorf("the DuplicateStep %q is neither DuplicateRun nor DuplicateSkip", c.DuplicateStep)
	case c.MaxDuplicateSteps < 0 || c.MaxDuplicateSteps > 0 && c.DuplicateStep != DuplicateSkip:
		return fmt.Errorf("MaxDuplicateSteps is %d: use a positive number with DuplicateSkip", c.MaxDuplicateSteps)
	case c.ResponseMode != llm.Streaming && c.ResponseMode != llm.NonStreaming:
		return fmt.Errorf("the ResponseMode %q is neither llm.Streaming nor llm.NonStreaming", c.ResponseMode)
	case c.TokenBudget < 0:
		return fmt.Errorf("TokenBudget is %d: use 0 for no budget", c.TokenBudget)
	case c.Deadline < 0 || c.StallTimeout < 0 || c.ToolTimeout < 0 || c.Grace < 0:
		return fmt.Errorf("a negative Deadline, StallTimeout, ToolTimeout or Grace: use 0 for none")
	case c.ToolChoice.Mode == llm.ChooseTool && !slices.ContainsFunc(c.Tools, func(t Tool) bool { return t.Name == c.ToolChoice.Name }):
		return fmt.Errorf("the ToolChoice names the tool %q, which is not among Tools", c.ToolChoice.Name)
	}
	for i, p := range c.Middleware {
		if p.New == nil {
			return fmt.Errorf("Middleware[%d] (%q) has no New", i, p.Name)
		}
	}
	for i, s := range c.StopWhen {
		if s == nil {
			return fmt.Errorf("the condition StopWhen[%d] is nil", i)
		}
	}
	return nil
}

// declare returns the options for the trace, by their names in the option matrix.
func (c *Config) declare() trace.Options {
	var o trace.Options
	add := func(name, value string) { o = append(o, trace.Option{Name: name, Value: value}) }
	opt := func(name, value string) {
		if value != "" {
			add(name, value)
		}
	}
	num := func(name string, n int64) {
		if n != 0 {
			add(name, strconv.FormatInt(n, 10))
		}
	}
	span := func(name string, d time.Duration) {
		if d != 0 {
			add(name, d.String())
		}
	}
	opt("preset", c.Preset)
	opt("delivery", string(c.ResponseMode))
	add("max_steps", strconv.Itoa(c.MaxSteps))
	opt("cap_at", string(c.StepLimitCheck))
	opt("on_cap", string(c.OnStepLimit))
	opt("stop_when", stopNames(c.StopWhen))
	if limit := c.concurrency(); limit < 0 {
		add("concurrency", "unbounded")
	} else {
		add("concurrency", strconv.Itoa(limit))
	}
	num("same_tool_error_stop", int64(max(c.MaxConsecutiveToolErrors, 0)))
	if c.ResetByAbsence {
		add("reset", "absence")
	}
	num("token_budget", c.TokenBudget)
	span("deadline", c.Deadline)
	if c.DeadlineReturns {
		add("deadline_mode", "return")
	}
	span("stall_timeout", c.StallTimeout)
	span("tool_timeout", c.ToolTimeout)
	span("grace", c.Grace)
	c.Retry.declare(num, span, add)
	switch {
	case c.Continuations < 0:
		add("continuations", "0")
	case c.Continuations != DefaultContinuations:
		num("continuations", int64(c.Continuations))
	}
	opt("tool_message", string(c.ToolMessage))
	opt("assistant_append", string(c.AppendResponse))
	opt("bad_args", string(c.BadArguments))
	opt("unknown_tool", string(c.UnknownTool))
	if len(c.Tools) == 0 {
		opt("no_tools", string(c.NoTools))
	}
	opt("client_tools", string(c.ClientCalls))
	if c.OmitErrorFlag {
		add("error_flag", "off")
	}
	if c.MaxDuplicateSteps > 0 {
		add("duplicate_round", "force_final_after "+strconv.Itoa(c.MaxDuplicateSteps))
	} else {
		opt("duplicate_round", string(c.DuplicateStep))
	}
	if c.ToolChoice != (llm.ToolChoice{}) {
		add("tool_choice", c.ToolChoice.String())
	}
	return o
}

// concurrency returns the concurrency limit. It is one if Settings request one call per response.
func (c *Config) concurrency() int {
	if p := c.Settings.ParallelToolCalls; p != nil && !*p {
		return 1
	}
	return c.Concurrency
}
