package loop

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
)

// Option describes one option of a [Config]. The table of options is the source of
// the validation in [New], of the declaration in a trace, of the keys under loop in a
// scenario file and of the reference tables in the documentation.
type Option struct {
	// Name is the key in a scenario file. The keys of [Retry] begin with "retry.".
	Name string
	// Declared is the name in [trace.RunStart], and the key in a scenario file of
	// version 1.
	Declared string
	// Field is the field that the option sets, without "Config.".
	Field string
	// Type is word (one of Values), bool, integer, number, duration, string, or empty for a
	// list or a map.
	Type string
	Doc  string
	// Values are the words that the option takes, each with its name in a trace and in
	// a scenario file of version 1. The first one is the default.
	Values [][2]string
	// Min is the least value of an integer or a number.
	Min int
	// Get returns the value that a trace declares; empty means that it declares none.
	// It is nil if a trace never declares the option.
	Get func(*Config) string
	// Set sets a value of the right type. It is nil for values that are not scalars.
	Set func(c *Config, value string) error

	check func(*Config) error
}

// Options returns the options in the order in which a trace declares them, and then
// those that a trace does not declare.
func Options() []Option { return slices.Clone(options) }

var options = []Option{
	{
		Name: "preset", Declared: "preset", Field: "Preset", Doc: "the name of a preset, which sets its options first",
		Get: func(c *Config) string { return c.Preset },
	},
	wordOption("response_mode", "delivery", "ResponseMode", "the form of the responses that the loop requests", func(c *Config) *llm.ResponseMode { return &c.ResponseMode },
		optionValue[llm.ResponseMode]{llm.Streaming, "streaming", "streamed"}, optionValue[llm.ResponseMode]{llm.NonStreaming, "non_streaming", "buffered"}),
	{
		Name: "max_steps", Declared: "max_steps", Field: "MaxSteps", Type: "integer", Doc: "the step limit; 0 and negative numbers are a limit of 0", Min: math.MinInt,
		Get: func(c *Config) string {
			if c.MaxSteps == math.MaxInt {
				return ""
			}
			return strconv.Itoa(c.MaxSteps)
		},
		Set: func(c *Config, value string) error {
			n, err := strconv.Atoi(value)
			c.MaxSteps = cmp.Or(max(n, 0), Disabled)
			return err
		},
	},
	wordOption("step_limit_check", "cap_at", "CheckLimitBeforeStep", "when the loop checks the step limit", func(c *Config) *bool { return &c.CheckLimitBeforeStep },
		optionValue[bool]{false, "after_step", "bottom"}, optionValue[bool]{true, "before_step", "top"}),
	wordOption("on_step_limit", "on_cap", "OnStepLimit", "what a run does at the step limit", func(c *Config) *OnStepLimit { return &c.OnStepLimit },
		same(StepLimitReturn, "return"), same(StepLimitForceFinal, "force_final"), same(StepLimitError, "error")),
	{
		Name: "stop_when", Declared: "stop_when", Field: "StopWhen",
		Doc: "a list of `never`, `step_count: N`, `has_tool_call: NAME`, `total_tokens: N`, `cost: {limit, input, output}`",
		Get: func(c *Config) string { return stopNames(c.StopWhen) },
	},
	{
		Name: "concurrency", Declared: "concurrency", Field: "Concurrency", Type: "integer", Doc: "the maximum number of tools that run concurrently", Min: 1,
		Values: [][2]string{{"unlimited", "unbounded"}},
		Get: func(c *Config) string {
			if c.concurrency() < 0 {
				return "unbounded"
			}
			return strconv.Itoa(c.concurrency())
		},
		Set: func(c *Config, value string) (err error) {
			if c.Concurrency = Unlimited; value != "unlimited" {
				c.Concurrency, err = strconv.Atoi(value)
			}
			return err
		},
	},
	countOption("max_consecutive_tool_errors", "same_tool_error_stop", "MaxConsecutiveToolErrors", "the number of consecutive steps in which one tool may fail; 0 disables the runaway guard",
		func(c *Config) *int { return &c.MaxConsecutiveToolErrors }, 0),
	wordOption("reset_by_absence", "reset", "ResetByAbsence", "whether a step without the tool resets the runaway guard", func(c *Config) *bool { return &c.ResetByAbsence },
		optionValue[bool]{false, "false", "success"}, optionValue[bool]{true, "true", "absence"}),
	{
		Name: "token_budget", Declared: "token_budget", Field: "TokenBudget", Type: "integer", Doc: "the maximum number of tokens of a run; 0 is no limit",
		Get: func(c *Config) string { return nonZero(c.TokenBudget, strconv.FormatInt(c.TokenBudget, 10)) },
		Set: func(c *Config, value string) (err error) {
			c.TokenBudget, err = strconv.ParseInt(value, 10, 64)
			return err
		},
		check: func(c *Config) error { return notNegative("TokenBudget", c.TokenBudget) },
	},
	durationOption("deadline", "Deadline", "the maximum duration of a run", func(c *Config) *time.Duration { return &c.Deadline }),
	wordOption("deadline_returns", "deadline_mode", "DeadlineReturns", "whether a run returns without an error if its deadline passes between steps", func(c *Config) *bool { return &c.DeadlineReturns },
		optionValue[bool]{false, "false", "error"}, optionValue[bool]{true, "true", "return"}),
	durationOption("stall_timeout", "StallTimeout", "the maximum time without an event of a model call", func(c *Config) *time.Duration { return &c.StallTimeout }),
	durationOption("tool_timeout", "ToolTimeout", "the maximum duration of a tool", func(c *Config) *time.Duration { return &c.ToolTimeout }),
	durationOption("grace", "Grace", "the time between the end of a tool's context and the moment at which the loop abandons the tool", func(c *Config) *time.Duration { return &c.Grace }),
	{
		Name: "retry.max", Declared: "retry_max", Field: "Retry.Max", Type: "integer", Doc: "the maximum number of retries of a model call",
		Get: func(c *Config) string { return nonZero(c.Retry.Max, strconv.Itoa(c.Retry.Max)) },
		Set: func(c *Config, value string) (err error) { c.Retry.Max, err = strconv.Atoi(value); return err },
	},
	retryDuration("base", "Base", "the delay before the first retry", func(r *Retry) *time.Duration { return &r.Base }, defaultRetryBase),
	{
		Name: "retry.factor", Declared: "retry_factor", Field: "Retry.Factor", Type: "number", Doc: "the factor by which the delay grows with each retry",
		Get: func(c *Config) string {
			if c.Retry.Max == 0 || c.Retry.Factor == defaultRetryFactor {
				return ""
			}
			return strconv.FormatFloat(c.Retry.Factor, 'g', -1, 64)
		},
		Set: func(c *Config, value string) (err error) {
			c.Retry.Factor, err = strconv.ParseFloat(value, 64)
			return err
		},
	},
	retryDuration("max_wait", "MaxWait", "the longest delay before a retry; the model call fails if the delay would be longer", func(r *Retry) *time.Duration { return &r.MaxWait }, DefaultMaxRetryWait),
	countOption("continuations", "continuations", "Continuations", "how often the loop continues a paused response; 0 is never", func(c *Config) *int { return &c.Continuations }, DefaultContinuations),
	wordOption("tool_message", "tool_message", "OneMessagePerResult", "how many messages contain the results of a step", func(c *Config) *bool { return &c.OneMessagePerResult },
		same(false, "one_per_step"), same(true, "one_per_call")),
	wordOption("append_response", "assistant_append", "AppendAfterHooks", "when the history receives a response", func(c *Config) *bool { return &c.AppendAfterHooks },
		same(false, "before_hooks"), same(true, "after_hooks")),
	wordOption("late_results", "late_results", "KeepLateResults", "what becomes of a value that a tool returns after its timeout", func(c *Config) *bool { return &c.KeepLateResults },
		same(false, "error_result"), same(true, "keep")),
	wordOption("call_order", "call_order", "OrderCallsByEnd", "the order of the calls of a streaming response", func(c *Config) *bool { return &c.OrderCallsByEnd },
		same(false, "by_start"), same(true, "by_end")),
	wordOption("gate_mode", "gate_mode", "BeforeToolsEachCall", "whether all calls of a step pass the `BeforeTools` hooks before one runs, or with `concurrency: 1` each call before it runs",
		func(c *Config) *bool { return &c.BeforeToolsEachCall }, same(false, "per_step"), same(true, "per_call")),
	wordOption("bad_arguments", "bad_args", "BadArguments", "the treatment of invalid arguments", func(c *Config) *BadArguments { return &c.BadArguments },
		same(BadArgumentsError, "error_result"), same(BadArgumentsEmpty, "empty_object"), same(BadArgumentsPass, "pass")),
	wordOption("unknown_tool", "unknown_tool", "BreakOnUnknownTool", "the treatment of calls of unknown tools", func(c *Config) *bool { return &c.BreakOnUnknownTool },
		same(false, "error_result"), same(true, "break")),
	noToolsOption(),
	wordOption("client_calls", "client_tools", "ClientCalls", "the treatment of the other calls of a response that calls a client-side tool", func(c *Config) *ClientCalls { return &c.ClientCalls },
		same(ClientBreak, "break_batch"), same(ClientRest, "run_rest_then_break")),
	wordOption("omit_error_flag", "error_flag", "OmitErrorFlag", "whether results omit the error flag", func(c *Config) *bool { return &c.OmitErrorFlag },
		optionValue[bool]{false, "false", "on"}, optionValue[bool]{true, "true", "off"}),
	{
		Name: "duplicate_step", Declared: "duplicate_round", Field: "DuplicateStep", Type: "string", Doc: "the treatment of a step with the calls of the step before it",
		Values: [][2]string{{"run", "off"}, {"skip", "skip"}, {"force_final_after N", "force_final_after N"}},
		Get: func(c *Config) string {
			if c.MaxDuplicateSteps > 0 {
				return "force_final_after " + strconv.Itoa(c.MaxDuplicateSteps)
			}
			return string(c.DuplicateStep)
		},
		Set: setDuplicateStep, check: checkDuplicateStep,
	},
	{
		Name: "tool_choice", Declared: "tool_choice", Field: "ToolChoice", Type: "string", Doc: "`auto`, `required`, `none` or `tool:NAME`",
		Get: func(c *Config) string {
			if c.ToolChoice == (llm.ToolChoice{}) {
				return ""
			}
			return c.ToolChoice.String()
		},
		Set: func(c *Config, value string) error {
			if c.ToolChoice.UnmarshalText([]byte(value)) != nil {
				return errors.New("expected one of auto, required, none, tool:NAME")
			}
			return nil
		},
		check: func(c *Config) error {
			if c.ToolChoice.Mode == llm.ChooseTool && !slices.ContainsFunc(c.Tools, func(t Tool) bool { return t.Name == c.ToolChoice.Name }) {
				return fmt.Errorf("Config.ToolChoice: unknown tool %q: add it to Config.Tools", c.ToolChoice.Name)
			}
			return nil
		},
	},
	{
		Name: "error_text", Declared: "error_text", Field: "ErrorText", Type: "string", Doc: "the prefix of the text of each error result",
		Set: func(c *Config, value string) error {
			c.ErrorText = func(_ string, err error) string { return value + err.Error() }
			return nil
		},
	},
	{
		Name: "parallel_tool_calls", Declared: "parallel_calls", Field: "Settings.ParallelToolCalls", Type: "bool", Doc: "whether a response may contain several tool calls",
		Set: func(c *Config, value string) error {
			c.Settings.ParallelToolCalls = new(value == "true")
			return nil
		},
	},
	{
		Name: "model", Declared: "model", Field: "Model", Type: "string", Doc: "the name of the model, which is also the name of its session",
		Set: func(c *Config, value string) error { c.Model = value; return nil },
	},
	{
		Name: "middleware", Declared: "policies", Field: "Middleware", Doc: "a list of `leaked_calls`, `keep_last: {keep, limit}`, `answer_tool: NAME`, `output: {schema, max_retries}`, " +
			"`repair: {model}`, `variables: {NAME: TEXT}`, `handoff: {AGENT: {instructions, tools, handoffs, model, description}}`, `prepare_end: [TEXT]`, " +
			"`permissions: {TOOL: deny, or ask: with approve, skip, deny or suspend}`, `guardrail: {kind, match, reason, tripwire}`, `todos`, `files`, " +
			"`ask_user: the answer to each question`, `human_in_the_loop: a list of approve, edit: ARGUMENTS, reject: REASON, respond: TEXT`, " +
			"`summarize: {window, keep_messages}`, `truncate_results: a number of characters`, `retry: {max, factor}`",
	},
}

// optionValue is a value of an option with its names in a scenario file and in a trace.
type optionValue[T any] struct {
	value          T
	name, declared string
}

// same returns a value that has one name everywhere.
func same[T any](value T, name string) optionValue[T] { return optionValue[T]{value, name, name} }

// wordOption returns an option that takes one of the words. The first one is its zero
// value.
func wordOption[T comparable](name, declared, field, doc string, place func(*Config) *T, words ...optionValue[T]) Option {
	o := Option{Name: name, Declared: declared, Field: field, Doc: doc, Type: "word"}
	var names []string
	for _, w := range words {
		o.Values = append(o.Values, [2]string{w.name, w.declared})
		names = append(names, w.name)
	}
	if names[0] == "false" {
		o.Type = "bool"
	}
	o.Get = func(c *Config) string {
		for _, w := range words[1:] {
			if *place(c) == w.value {
				return w.declared
			}
		}
		return ""
	}
	o.Set = func(c *Config, value string) error {
		i := slices.Index(names, value)
		if i < 0 {
			return fmt.Errorf("expected one of %s", strings.Join(names, ", "))
		}
		*place(c) = words[i].value
		return nil
	}
	o.check = func(c *Config) error {
		if !slices.ContainsFunc(words, func(w optionValue[T]) bool { return w.value == *place(c) }) {
			return fmt.Errorf("Config.%s: unknown value %q: use a constant of type %T", field, any(*place(c)), *place(c)) //nolint:staticcheck // the name of a Go field
		}
		return nil
	}
	return o
}

// countOption returns an option that 0 disables in a scenario file. A trace does not
// declare the value omitted.
func countOption(name, declared, field, doc string, place func(*Config) *int, omitted int) Option {
	return Option{
		Name: name, Declared: declared, Field: field, Doc: doc, Type: "integer",
		Get: func(c *Config) string {
			n := max(*place(c), 0)
			return nonZero(n-omitted, strconv.Itoa(n))
		},
		Set: func(c *Config, value string) error {
			n, err := strconv.Atoi(value)
			*place(c) = cmp.Or(n, Disabled)
			return err
		},
	}
}

func durationOption(name, field, doc string, place func(*Config) *time.Duration) Option {
	return Option{
		Name: name, Declared: name, Field: field, Doc: doc, Type: "duration",
		Get:   func(c *Config) string { return nonZero(*place(c), place(c).String()) },
		Set:   func(c *Config, value string) (err error) { *place(c), err = time.ParseDuration(value); return err },
		check: func(c *Config) error { return notNegative(field, *place(c)) },
	}
}

func retryDuration(name, field, doc string, place func(*Retry) *time.Duration, omitted time.Duration) Option {
	o := durationOption("retry."+name, "Retry."+field, doc, func(c *Config) *time.Duration { return place(&c.Retry) })
	o.Declared, o.check = "retry_"+name, nil
	o.Get = func(c *Config) string {
		if d := *place(&c.Retry); c.Retry.Max != 0 && d != omitted {
			return d.String()
		}
		return ""
	}
	return o
}

// noToolsOption is declared only by a loop without tools.
func noToolsOption() Option {
	o := wordOption("no_tools", "no_tools", "BreakWithoutTools", "the treatment of calls if the loop has no tools", func(c *Config) *bool { return &c.BreakWithoutTools },
		same(false, "error_result"), optionValue[bool]{true, "break", "one_turn"})
	get := o.Get
	o.Get = func(c *Config) string {
		if len(c.Tools) > 0 {
			return ""
		}
		return get(c)
	}
	return o
}

func setDuplicateStep(c *Config, value string) error {
	word, count, counted := strings.Cut(value, " ")
	n, err := strconv.Atoi(count)
	switch {
	case word == "force_final_after" && err == nil && n > 0:
		c.DuplicateStep, c.MaxDuplicateSteps = DuplicateSkip, n
	case word == "skip" && !counted:
		c.DuplicateStep = DuplicateSkip
	case word == "run" && !counted:
		c.DuplicateStep = DuplicateRun
	default:
		return errors.New("the N of the option must be 1 or more")
	}
	return nil
}

func checkDuplicateStep(c *Config) error {
	switch {
	case c.DuplicateStep != DuplicateRun && c.DuplicateStep != DuplicateSkip:
		return fmt.Errorf("Config.DuplicateStep: unknown value %q: use a constant of type %T", c.DuplicateStep, c.DuplicateStep)
	case c.MaxDuplicateSteps < 0 || c.MaxDuplicateSteps > 0 && c.DuplicateStep != DuplicateSkip:
		return fmt.Errorf("Config.MaxDuplicateSteps: invalid value %d: set a number of skipped steps, and DuplicateStep to DuplicateSkip", c.MaxDuplicateSteps)
	}
	return nil
}

// nonZero returns the text of a value, or nothing if the value is 0.
func nonZero[T int | int64 | time.Duration](n T, text string) string {
	if n == 0 {
		return ""
	}
	return text
}

func notNegative[T int64 | time.Duration](field string, n T) error {
	if n < 0 {
		return fmt.Errorf("Config.%s: negative value %v: set 0 to disable it", field, n) //nolint:staticcheck // the name of a Go field
	}
	return nil
}

func (c *Config) fill() {
	c.MaxSteps = max(cmp.Or(c.MaxSteps, DefaultMaxSteps), 0)
	c.Concurrency = cmp.Or(c.Concurrency, DefaultConcurrency)
	c.MaxConsecutiveToolErrors = cmp.Or(c.MaxConsecutiveToolErrors, DefaultMaxConsecutiveToolErrors)
	c.Continuations = cmp.Or(c.Continuations, DefaultContinuations)
	if c.Clock == nil {
		c.Clock = SystemClock{}
	}
	c.Retry.fill()
}

func (c *Config) check() error {
	for _, o := range options {
		if o.check == nil {
			continue
		}
		if err := o.check(c); err != nil {
			return err
		}
	}
	for i, m := range c.Middleware {
		if m.New == nil {
			return fmt.Errorf("Config.Middleware[%d] (%q): missing function: set Middleware.New", i, m.Name)
		}
	}
	for i, s := range c.StopWhen {
		if s.Stop == nil {
			return fmt.Errorf("Config.StopWhen[%d] (%q): missing condition: set StopCondition.Stop", i, s.Name)
		}
	}
	return nil
}

// declare returns the options as a trace declares them.
func (c *Config) declare() (declared trace.Options) {
	for _, o := range options {
		if o.Get == nil {
			continue
		}
		if value := o.Get(c); value != "" {
			declared = append(declared, trace.Option{Name: o.Declared, Value: value})
		}
	}
	return declared
}

// concurrency returns the concurrency limit. It is 1 if the model may call one tool per
// response: such a caller expects that calls do not overlap.
func (c *Config) concurrency() int {
	if p := c.Settings.ParallelToolCalls; p != nil && !*p {
		return 1
	}
	return c.Concurrency
}
