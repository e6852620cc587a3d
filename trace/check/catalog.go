package check

// Info describes an invariant.
type Info struct {
	ID       string // INV-01
	Name     string
	What     string // what holds
	Evidence string // what shows a violation: one of the Evidence constants
	Hint     string // the likely cause of a violation, and what to do
	// Faults are the ways in which messages violate it. They decide what is a note.
	Faults []Fault
}

// Values of [Violation.Event] and [Info.Evidence].
const (
	NoEvent = -1 // no single event shows the violation

	// What shows that an invariant is violated.
	EvidenceMessages = "messages" // the request bodies alone
	EvidenceTrace    = "trace"    // one trace
	EvidencePair     = "pair"     // two traces of the same scenario
	EvidenceLiveRun  = "live run" // a running loop that is watched
)

type invariant int

const (
	invPairing invariant = iota + 1
	invAdjacency
	invResultOrder
	invUniqueIDs
	invAppendOnly
	invImmutability
	invCompleteness
	invAtMostOnce
	invExactArguments
	invChunking
	invContinuation
	invOneBehavior
	invOneEnd
	invFraming
	invConcurrency
	invNoLeaks
	invCancellation
	invUsage
	invBudget
	invRunaway
	invRetries
	invOpaqueEcho
	invContainedTools
	invWellFormed
	invStopConditions
	invLiveness
	invReplay
)

// Catalog returns all invariants in the order of their ids. The caller owns the slice.
func Catalog() []Info {
	list := append([]Info(nil), catalog[:]...)
	for _, f := range faults {
		list[f.invariant-1].Faults = append(list[f.invariant-1].Faults, *f)
	}
	return list
}

var catalog = [...]Info{
	{"INV-01", "pairing",
		"Every tool call in a response after which the run continued has exactly one result with its id, and every result has its call.", EvidenceMessages,
		"Code between the tools and the next request drops or repeats results, or cuts the history between a call and its result. Append one result for each call, also for a skipped or failed one.", nil},
	{"INV-02", "adjacency",
		"The results of a response come directly after the assistant message with its calls, before any other message.", EvidenceMessages,
		"The loop puts a reminder, a summary or a user message between the calls and their results. Put it after the last result.", nil},
	{"INV-03", "result order",
		"Results are in the order of their calls, whatever order the tools finished in.", EvidenceMessages,
		"Results are appended as the tools finish. Keep a slot for each call and append all when the batch is done.", nil},
	{"INV-04", "unique ids",
		"Call ids are unique within a run; a provider that repeats, omits or empties them gets run-unique ids, the same at each repetition.", EvidenceMessages,
		"The provider counts its ids from the start in each response, or sends none. Generate an id for each call whose id is empty or was used before, and use it in the assistant message and in the result.", nil},
	{"INV-05", "append only",
		"The messages of a request begin with the messages of the request before it, byte for byte, unless a rewrite event (compaction, middleware, resume) lies between; the system prompt and cache marks are outside the messages.", EvidenceMessages,
		"The loop rebuilds or trims the history between steps. Append to it only, or record a rewrite event with its reason.", nil},
	{"INV-06", "immutability",
		"Nothing returned to a caller (a step, a request, a history) changes afterwards.", EvidenceLiveRun,
		"The loop and its caller share a slice, and one of them appends to it or changes it. Return copies, or clipped slices that are never written again.", nil},
	{"INV-07", "completeness",
		"On every way out (end, step limit, budget, guard, cancel, error, panic) every call has a result or is reported pending (client tool, suspended approval, output tripwire).", EvidenceTrace,
		"The loop returns (cancel, step limit, error, panic) before the batch has its results. Give each call that did not run a result that reports this, or report them as pending.", nil},
	{"INV-08", "at most once",
		"A call is executed at most once; a skipped, denied or unknown call never, a repaired one once, with its resolved arguments.", EvidenceTrace,
		"A retry of the whole batch runs finished calls again, or a call is both denied and run. Decide once for each call.", nil},
	{"INV-09", "exact arguments",
		"A tool gets exactly the arguments that the model sent, or those of the last tool.arguments event with its reason (defaults, repair, edit by an approver, empty object), or it is not run and the call gets an error result.", EvidenceTrace,
		"The loop decodes and encodes the arguments, repairs them or adds defaults without an event. Pass the raw string to the tool, or record tool.arguments with the reason.", nil},
	{"INV-10", "chunking",
		"The same transport bytes in other chunks give the same response.", EvidencePair,
		"The decoder acts on a chunk before the value is complete, or splits a rune. Buffer up to the end of each event and of each argument string.", nil},
	{"INV-11", "continuation",
		"What the loop does after a response follows from its tool calls, never from the finish reason; each decision to continue or stop is a decision event with its reason (tool calls, end of turn, step limit, budget, stop condition, runaway guard, handoff, end hook, continued response).", EvidenceTrace,
		"The loop reads the finish reason, which providers mix up, or a path continues or stops without an event. Count the calls, and record one decision on each path.", nil},
	{"INV-12", "one behavior",
		"Streaming and non-streaming responses give the same messages, results, usage and stop reason.", EvidencePair,
		"The two response modes have separate code. Convert a non-streaming response to events, or a stream to a response, and continue in one place.", nil},
	{"INV-13", "one end",
		"A stream has exactly one terminal event, and it is the last.", EvidenceTrace,
		"An error path ends the run and its caller ends it again, code reports events after the end, or a path returns without ending the run. End the run in one place.", nil},
	{"INV-14", "framing",
		"A step starts before its deltas and ends after them; a call starts before its deltas and its end; a call comes before its result.", EvidenceTrace,
		"Several goroutines send events, or an early return skips the end. Send all events of a run from one place, in order.", nil},
	{"INV-15", "concurrency",
		"Never more tools run concurrently than the limit, and the limit is reached when there is work for it.", EvidenceTrace,
		"Too many: the limit does not count running tools. Too few: calls start in groups that wait for each other, or a slot is not released. Start the next call as soon as one ends.", nil},
	{"INV-16", "no leaks",
		"Nothing runs after the run has returned; a tool that does not stop is waited for, unless the caller chose to abandon it after a grace period, which is an event.", EvidenceLiveRun,
		"A goroutine waits on a channel without a reader. Wait for each goroutine before the run returns, or record that a tool was abandoned.", nil},
	{"INV-17", "cancellation",
		"After a cancel no new call starts, the contexts of running ones are canceled, and the run returns within one scheduling step of the last.", EvidenceTrace,
		"The loop looks at the context only once per step. Look at it before each model call and before each tool.", nil},
	{"INV-18", "usage",
		"The run's usage is the sum of its model calls, cached and reasoning tokens included; a provider's cumulative counts are not added twice.", EvidenceTrace,
		"The loop adds up the cumulative counts of a stream, or omits failed, repaired or summarized calls. Take the last count of each model call, then add those.", nil},
	{"INV-19", "budget",
		"No model call starts once a budget is used up.", EvidenceTrace,
		"The loop checks the budget before it updates it, or does not check it before retries, repairs and forced responses. Check it before every model call.", nil},
	{"INV-20", "runaway",
		"The same tool failing in N consecutive steps stops the run; one success resets the count.", EvidenceTrace,
		"The loop counts failures per call and not per step, omits the results of calls that never ran (bad arguments, unknown tool), or does not reset the count after a success.", nil},
	{"INV-21", "retries",
		"Only what may be retried is retried, only before the first event of the response, in streaming and non-streaming mode, and waits obey Retry-After.", EvidenceTrace,
		"The retry includes the whole stream, or every error. Retry only retryable errors, only before the first event was passed on, and wait at least as long as the provider asks.", nil},
	{"INV-22", "opaque echo",
		"Signatures, encrypted reasoning and item ids come back unchanged, in the same place.", EvidenceMessages,
		"The loop rebuilds the assistant message from its text and calls. Send back the received parts, in their order, with their opaque data.", nil},
	{"INV-23", "contained tools",
		"An error, a panic, a timeout or an unknown tool becomes an error result for its own call and nothing else.", EvidenceTrace,
		"The failure of a tool becomes the error of the run, or its result is not marked as an error. Return it as an error result of that one call.", nil},
	{"INV-24", "well formed",
		"Every request is valid for its protocol: JSON, roles, schema; an empty response is recorded but never sent.", EvidenceMessages,
		"The loop appends an empty response to the history, puts results in a message of another role, or sends a schema that is not a JSON object. Providers refuse such a request with status 400.", nil},
	{"INV-25", "stop conditions",
		"Stop conditions are evaluated once for each step that ran tools, after its results; more than one is OR-ed; a step budget is never extended by them.", EvidenceTrace,
		"The loop evaluates the conditions after every response, or before all results are in, or they replace the step limit instead of adding to it.", nil},
	{"INV-26", "liveness",
		"A run ends: every wait has an event or a deadline that ends it.", EvidenceLiveRun,
		"A wait does not end when the other side is gone. Wait on the context as well.", nil},
	{"INV-27", "replay",
		"The same inputs give the same canonical trace, byte for byte.", EvidencePair,
		"The loop ranges over a map, reads a clock or a random source, or writes events in the order in which goroutines finish. Pass in what varies, and sort what has no order.", nil},
}
