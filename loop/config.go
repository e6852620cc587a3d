// Package loop is an agent loop: it calls the model, runs the tools that the model
// calls, appends the results, and repeats.
//
// It guarantees, whatever the model, the tools and the middleware do: every call gets
// exactly one result or is reported as pending. Results are in the order of their
// calls. A tool runs at most once for each call, with the arguments of the model or a
// recorded replacement. The loop continues because of calls, never because of a finish
// reason. What it returned never changes. Nothing runs after a run has returned. A run
// is a function of its inputs, which include the clock and the random source. Every
// decision is an event (package trace).
//
// The kernel (kernel.go) keeps these guarantees. Options of [Config] select what loops
// do differently, and [Middleware] adds what only some loops need.
package loop

import (
	"time"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop/internal/conversation"
	"github.com/looptape/looptape/trace"
)

// Default values of zero [Config] fields and values that lift them, and names and texts in
// traces and results.
const (
	DefaultMaxSteps                 = 16
	DefaultConcurrency              = 5
	DefaultMaxConsecutiveToolErrors = 3
	DefaultContinuations            = 5
	DefaultMaxRetryWait             = 2 * time.Minute

	Disabled  = -1 // disables an option whose zero value is a default
	Unlimited = -1 // removes a limit whose zero value is a default

	// UnnamedTool is the name of a call without one: providers reject an empty name in a
	// history (quirk QO-30).
	UnnamedTool = conversation.UnnamedTool
	// ExitedText is the result of a tool that ended its goroutine (runtime.Goexit).
	ExitedText = "the tool ended its goroutine instead of returning"
	// ReasonRepair is the CallDecision.Reason of repaired Arguments. If the tool does not
	// accept them either, a refused call keeps the error result that it had.
	ReasonRepair = "repair"

	WarnNoName  = conversation.WarnNoName // the code of the warning that a call has no name
	WarnNoCall  = conversation.WarnNoCall // the code of the warning that a result has no call
	WarnHistory = "history"               // the code of the warning that the loop repaired the messages of the Input
)

// Config configures a loop. Its zero value is a loop of at most DefaultMaxSteps steps,
// five concurrent tools and a runaway guard.
type Config struct {
	Preset string // name of the preset, declared in the trace

	Model        string           // the provider's name of the model; empty means that of the model's ModelID method, if it has one
	System       string           // the system prompt
	Settings     llm.Settings     // the generation parameters: tokens, temperature, seed and others
	ResponseMode llm.ResponseMode // streaming or non-streaming responses; both give the same result
	ToolChoice   llm.ToolChoice   // whether the model may, must or must not call tools, in every step
	Tools        []Tool           // the tools that the model may call

	// MaxSteps is the step limit; 0 means DefaultMaxSteps, a negative number is a limit
	// of no steps, and math.MaxInt is no limit.
	MaxSteps int
	// CheckLimitBeforeStep checks the step limit before each step; otherwise the loop checks
	// it after each step that ran tools, and a run has at least one step.
	CheckLimitBeforeStep bool
	// OnStepLimit is what a run does at the step limit: return the result so far, request a
	// final answer without tools, or fail.
	OnStepLimit OnStepLimit
	// Concurrency is how many tools of a step may run concurrently; 0 is
	// DefaultConcurrency, and Unlimited is no limit.
	Concurrency int
	// MaxConsecutiveToolErrors is the runaway guard: the number of consecutive steps in
	// which one tool fails that stops the run; 0 means DefaultMaxConsecutiveToolErrors, and
	// Disabled is no guard.
	MaxConsecutiveToolErrors int
	// ResetByAbsence resets the runaway guard also in a step that does not call the tool;
	// otherwise only a success does.
	ResetByAbsence bool
	// StopWhen are conditions. Any one of them stops the run after a step that ran tools.
	// The loop evaluates them in order, after the step limit.
	StopWhen []StopCondition
	// TokenBudget stops a run before the next model call when the run has used this number
	// of input and output tokens; 0 means no budget.
	TokenBudget int64
	// Deadline ends a run after this time; 0 means no limit. The context of its model call or its
	// tools ends, and the run fails with ErrDeadline.
	Deadline time.Duration
	// DeadlineReturns lets a run whose time is over between two steps return its result without
	// an error, as at the step limit.
	DeadlineReturns bool
	// StallTimeout ends a model call that delivers no event of a stream, or no non-streaming
	// response, for this time; 0 means no limit. Bytes that only keep a connection open do not
	// count. The call fails with ErrStalled, and is retryable before the first event.
	StallTimeout time.Duration
	// ToolTimeout ends the context of each tool after this time; 0 means no limit.
	ToolTimeout time.Duration
	// KeepLateResults keeps what a tool returns without an error after its ToolTimeout; otherwise
	// its result is an error.
	KeepLateResults bool
	// Grace is how long a tool may continue after the run's context has ended before the
	// loop abandons it; 0 waits forever.
	Grace time.Duration
	Retry Retry // how failed model calls are retried
	// OneMessagePerResult makes each result of a step a message; otherwise one message has
	// all of them.
	OneMessagePerResult bool
	// AppendAfterHooks appends a response to the history after the AfterModel hooks, whatever
	// they decide; otherwise before them.
	AppendAfterHooks bool
	// OrderCallsByEnd puts the calls of a streaming response in the order in which the provider
	// ended them, and calls without an end last; otherwise they are in the order of their starts.
	OrderCallsByEnd bool
	// BeforeToolsEachCall passes the calls of a step through the BeforeTools hooks one by one if
	// Concurrency is 1: the hooks get a call when the call before it has its result. Otherwise
	// they get all calls of a step before any of them runs.
	BeforeToolsEachCall bool
	// BadArguments is what happens to a call with invalid arguments: an error result; {} if
	// they are not a JSON object; or the tool gets arguments that its schema does not allow.
	BadArguments BadArguments
	// BreakOnUnknownTool ends the run at a call of an unknown tool, and its caller answers
	// the calls of the step; otherwise the call gets an error result.
	BreakOnUnknownTool bool
	// BreakWithoutTools ends a run after one response, without Result.Steps, if neither the
	// run nor the request of the step has tools; otherwise each call is one of an unknown
	// tool.
	BreakWithoutTools bool
	// ClientCalls is whether the other calls of a response with a client-side call run.
	ClientCalls ClientCalls
	// DuplicateStep is whether a step with the same calls as the step before it runs.
	DuplicateStep DuplicateStep
	// MaxDuplicateSteps is the number of consecutive duplicate steps after which the final
	// answer is forced; 0 means no limit. It requires DuplicateSkip.
	MaxDuplicateSteps int
	// Continuations is how many responses that the provider paused are continued; 0 is
	// DefaultContinuations, and Disabled means none.
	Continuations int
	// ErrorText returns the text of error results for the model; nil is the text of the
	// error.
	ErrorText func(tool string, err error) string
	// OmitErrorFlag leaves llm.ToolResult.IsError out of messages, so that only the text of
	// a result reports a failure to the model. Step.Results have the flag.
	OmitErrorFlag bool

	// OnStep is called after each step, in order, on the run's goroutine.
	OnStep func(Step)
	// Middleware wraps the kernel; the first is outermost.
	Middleware []Middleware

	// Sink gets every event of every run, and deltas if Deltas is set. Input has a Sink for
	// one run. For the names of runs in a shared sink see Input.ID.
	Sink   trace.Sink
	Deltas bool           // whether sinks get the deltas of responses
	Clock  Clock          // the source of time; nil is SystemClock
	Rand   func() float64 // random numbers in [0, 1), for jitter; nil means no jitter
}

// OnStepLimit is what a run does when it reaches its step limit.
type OnStepLimit string

// The ways to end at the step limit.
const (
	StepLimitReturn     OnStepLimit = ""            // return the result so far
	StepLimitForceFinal OnStepLimit = "force_final" // one more model call, without tools
	StepLimitError      OnStepLimit = "error"       // fail with ErrMaxSteps
)

// BadArguments is what happens to a call of a known tool with invalid arguments.
type BadArguments string

// The ways to handle invalid arguments.
const (
	BadArgumentsError BadArguments = ""             // the call gets an error result
	BadArgumentsEmpty BadArguments = "empty_object" // arguments that are not a JSON object become {}
	BadArgumentsPass  BadArguments = "pass"         // the tool gets an object that its schema does not allow
)

// ClientCalls is what happens to the other calls of a response that calls a client tool,
// or, with BreakOnUnknownTool, an unknown tool.
type ClientCalls string

// The ways to handle a response with client-side calls.
const (
	ClientBreak ClientCalls = ""                    // nothing is run
	ClientRest  ClientCalls = "run_rest_then_break" // the others are run
)

// DuplicateStep is what happens to a step whose calls equal those of the step
// before it.
type DuplicateStep string

// The ways to handle a duplicate step.
const (
	DuplicateRun  DuplicateStep = ""     // run it like any other step
	DuplicateSkip DuplicateStep = "skip" // each call gets a note instead
)
