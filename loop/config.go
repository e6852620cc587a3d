// Package loop is an agent loop: call the model, run the tools that it asks
// for, feed the results back, repeat.
//
// It promises, whatever the model, the tools and the policies do: every call
// gets exactly one result or is reported as pending; results stand in the order
// of their calls; a tool is run at most once a call, with the arguments that
// were sent or a recorded replacement; the loop goes on because of calls, never
// because of a finish reason; what was handed out never changes; nothing runs
// after a run has returned; and a run is a function of its inputs, the clock and
// the random source among them. Every decision is an event (package trace).
//
// The kernel (kernel.go) keeps these promises. What a loop may do differently
// is an option of Config, and what only some want is a Policy.
package loop

import (
	"time"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
)

// The values that zero fields of a Config stand for.
const (
	DefaultMaxSteps                 = 16
	DefaultConcurrency              = 5
	DefaultMaxConsecutiveToolErrors = 3
	DefaultContinuations            = 5
	DefaultMaxRetryWait             = 2 * time.Minute
)

// Off switches off an option whose zero value is a default.
const Disabled = -1

// Unbounded lifts a limit whose zero value is a default.
const Unlimited = -1

// Config is how a loop behaves. Its zero value is a loop of at most
// DefaultMaxSteps steps, five tools at a time, with a runaway guard.
type Config struct {
	Preset string // the name of the preset this is; only declared in the trace

	Model        string // the provider's name of the model
	System       string
	Settings     llm.Settings
	ResponseMode llm.ResponseMode
	ToolChoice   llm.ToolChoice // applied on every step
	Tools        []Tool

	// MaxSteps is how many model turns a run may take; 0 means
	// DefaultMaxSteps, and a negative number a cap of nought.
	MaxSteps       int
	StepLimitCheck StepLimitCheck
	OnStepLimit    OnStepLimit
	// Concurrency is how many tools of a step may run at once; 0 means
	// DefaultConcurrency, Unbounded as many as there are.
	Concurrency int
	// MaxConsecutiveToolErrors is the number of steps in a row in which a tool may fail
	// before the run is stopped; 0 means DefaultMaxConsecutiveToolErrors, Off no guard.
	MaxConsecutiveToolErrors int
	// ResetByAbsence makes a step that does not call the tool break the row as
	// well; otherwise only a success does.
	ResetByAbsence bool
	// StopWhen are conditions of which any one stops the run after a step that
	// ran tools. They are asked in order, the cap first.
	StopWhen []StopCondition
	// TokenBudget stops a run before the model call that finds this many tokens
	// (input and output) spent; 0 is no budget.
	TokenBudget int64
	// Deadline ends a run after this time; 0 is none: the context of its model
	// call or tools ends, and the run fails with ErrDeadline. With
	// DeadlineReturns, a run that finds its time over between two steps returns
	// what it has without an error, as at a cap.
	Deadline        time.Duration
	DeadlineReturns bool
	// StallTimeout gives a model call up of which nothing comes for this time: no
	// event of a stream, no answer that was asked for in one piece; 0 is none. What
	// only keeps a connection open does not count. The call fails with ErrStalled,
	// and may be tried again if nothing of the answer was passed on.
	StallTimeout time.Duration
	// ToolTimeout ends the context of each tool after this time; 0 is none.
	ToolTimeout time.Duration
	// Grace is how long a tool may go on after the run's context has ended
	// before it is abandoned; 0 waits for ever.
	Grace       time.Duration
	Retry       Retry
	ToolMessage ToolMessage
	// AppendResponse is when the history gets a turn: before the AfterModel hooks, or after
	// them.
	AppendResponse AppendResponse
	BadArguments   BadArguments
	UnknownTool    UnknownTool
	NoTools        NoTools
	ClientCalls    ClientCalls
	DuplicateStep  DuplicateStep
	// MaxDuplicateSteps is how many duplicate rounds in a row a run takes before its last
	// answer is forced; 0 is any number. It needs DuplicateSkip.
	MaxDuplicateSteps int
	// Continuations is how often a turn that the provider paused is continued;
	// 0 means DefaultContinuations, Off never.
	Continuations int
	// ErrorText words the error results that the model reads; nil is the
	// error's own text.
	ErrorText func(tool string, err error) string
	// OmitErrorFlag tells the model of a failure by the text of the result alone, and not
	// by llm.ToolResult.IsError. Step.Results have it all the same.
	OmitErrorFlag bool

	// OnStep is called after each step, in order, on the run's goroutine.
	OnStep func(Step)
	// Policies go around the kernel; the first is outermost.
	Middleware []Middleware

	// Sink gets every event of every run, deltas if Deltas is set. A Sink for
	// one run alone is in Input. For names where Agents share one see Input.ID.
	Sink   trace.Sink
	Deltas bool
	Clock  Clock          // nil is SystemClock
	Rand   func() float64 // in [0, 1), for jitter; nil is no jitter
}

// StepLimitCheck is where the cap is looked at.
type StepLimitCheck string

// The places of the cap.
const (
	CheckAfterStep  StepLimitCheck = ""    // after a step that ran tools: always one step at least
	CheckBeforeStep StepLimitCheck = "top" // before each step
)

// OnStepLimit is what a run does when it reaches its cap.
type OnStepLimit string

// The ways to end at a cap.
const (
	StepLimitReturn     OnStepLimit = ""            // return what there is
	StepLimitForceFinal OnStepLimit = "force_final" // one more model call, without tools
	StepLimitError      OnStepLimit = "error"       // fail with ErrMaxSteps
)

// ToolMessage is how the results of a step become messages.
type ToolMessage string

// The forms of tool messages.
const (
	OnePerStep ToolMessage = "" // one message with all results
	OnePerCall ToolMessage = "one_per_call"
)

// AppendResponse is when the history gets a turn.
type AppendResponse string

// The places of the turn.
const (
	AppendBefore AppendResponse = ""            // before the AfterModel hooks
	AppendAfter  AppendResponse = "after_hooks" // behind them, whatever they decide
)

// BadArguments is what happens to a call of a known tool whose arguments cannot be taken.
type BadArguments string

// The ways to treat bad arguments.
const (
	BadArgumentsError BadArguments = ""             // the call gets an error result
	BadArgumentsEmpty BadArguments = "empty_object" // what is not a JSON object becomes {}
	BadArgumentsPass  BadArguments = "pass"         // an object that the schema does not allow is passed on
)

// UnknownTool is what happens to a call of a tool that the run has not.
type UnknownTool string

// The ways to treat calls of unknown tools.
const (
	UnknownError UnknownTool = ""      // the call gets an error result
	UnknownBreak UnknownTool = "break" // the run ends, and the calls of the step are its caller's
)

// NoTools is what happens to the calls of a turn where there are no tools at all, neither
// of the run nor in the step's request.
type NoTools string

// The ways to treat calls without tools.
const (
	NoToolsError NoTools = ""         // they are calls of unknown tools, each
	NoToolsBreak NoTools = "one_turn" // the run ends: without tools there is one turn, and no Result.Steps
)

// ClientCalls is what happens to the other calls of a turn that calls a client tool,
// or, with UnknownBreak, a tool that is not there.
type ClientCalls string

// The ways to treat a turn with calls that the caller answers.
const (
	ClientBreak ClientCalls = ""                    // nothing is run
	ClientRest  ClientCalls = "run_rest_then_break" // the others are run
)

// DuplicateStep is what happens to a step whose calls equal those of the step
// before it.
type DuplicateStep string

// The ways to treat a duplicate round.
const (
	DuplicateRun  DuplicateStep = ""     // like any other
	DuplicateSkip DuplicateStep = "skip" // each call gets a note instead
)
