package check

// Info tells of one invariant.
type Info struct {
	ID       string // INV-01
	Name     string
	What     string // what holds
	Evidence Evidence
	Hint     string // what usually breaks it, and what to do
}

// Sight is how a broken invariant can be seen.
type Evidence string

// The sights.
const (
	EvidenceMessages Evidence = "wire"  // request bodies alone show it
	EvidenceTrace    Evidence = "trace" // one trace shows it
	EvidencePair     Evidence = "pair"  // two traces of the same scenario show it
	EvidenceLiveRun  Evidence = "probe" // the running loop has to be watched
)

// invariant is the number of an invariant.
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
	invExactArgs
	invChunking
	invContinuation
	invOneBehaviour
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

// Catalogue returns all invariants in the order of their ids. The slice is the
// caller's.
func Catalogue() []Info { return append([]Info(nil), catalogue[:]...) }

var catalogue = [...]Info{
	{"INV-01", "pairing",
		"Every tool call in a turn that the run went on from has exactly one result with its id, and every result has its call.", EvidenceMessages,
		"Something between the tools and the next request drops or doubles results, or cuts the history between a call and its result. Append one result for each call, also for those that were skipped or failed."},
	{"INV-02", "adjacency",
		"The results of a turn come directly after the assistant turn that asked, before any other turn.", EvidenceMessages,
		"A reminder, a summary or a user message was put between the calls and their results. Put it after the last result."},
	{"INV-03", "result order",
		"Results stand in the order of their calls, whatever order the tools finished in.", EvidenceMessages,
		"Results are appended as the tools finish. Keep a slot for each call and append all when the batch is done."},
	{"INV-04", "unique ids",
		"Call ids are unique within a run; a provider that repeats, omits or empties them gets run-unique ids.", EvidenceMessages,
		"The provider counts its ids anew in each turn, or gives none. Mint an id for each call whose id is empty or was used before, and use it in the echo and in the result."},
	{"INV-05", "append only",
		"The messages of a request begin with the messages of the request before it, byte for byte, unless a rewrite event lies between.", EvidenceMessages,
		"The history is rebuilt or trimmed between steps. Append to it only, or record a rewrite event with its cause."},
	{"INV-06", "immutability",
		"Nothing that was handed out changes afterwards.", EvidenceLiveRun,
		"A slice is shared between the loop and its caller and then appended to or changed. Hand out copies, or slices that are clipped and never written again."},
	{"INV-07", "completeness",
		"On every way out every call has a result or is reported pending.", EvidenceTrace,
		"The way out (cancel, cap, error, panic) leaves before the batch is answered. Give the calls that did not run a result that says so, or name them as pending."},
	{"INV-08", "at most once",
		"A call is executed at most once; a skipped, denied or unknown one never.", EvidenceTrace,
		"A retry around the whole batch runs finished calls again, or a call is both refused and run. Decide once for each call."},
	{"INV-09", "exact arguments",
		"A tool gets exactly the arguments that the model sent, or those of the last tool.arguments event.", EvidenceTrace,
		"The arguments were decoded and encoded again, repaired or given defaults on the way, without an event. Pass the raw text on, or record tool.arguments with the cause."},
	{"INV-10", "chunking",
		"The same transport bytes cut in other places give the same turn.", EvidencePair,
		"The decoder acts on a piece before the value is whole, or a rune is cut in two. Buffer up to the end of each event, and of each argument text."},
	{"INV-11", "continuation",
		"What the loop does after a turn follows from its tool calls, never from the finish reason, and every going on and stopping is a decision event.", EvidenceTrace,
		"The loop reads the finish reason, which providers mix up, or goes on or stops on a path that records nothing. Count the calls, and record one decision on each path."},
	{"INV-12", "one behaviour",
		"Streamed and buffered delivery give the same messages, results, usage and stop reason.", EvidencePair,
		"The two deliveries have code of their own. Turn a buffered answer into events, or a stream into a turn, and go on in one place."},
	{"INV-13", "one end",
		"A stream has exactly one terminal event, and it is the last.", EvidenceTrace,
		"An error path ends the run and then its caller ends it again, something still reports after the end, or a path ends without a word. End the run in one place."},
	{"INV-14", "framing",
		"A step starts before its deltas and ends after them; a call starts before its deltas and its end; a call comes before its result.", EvidenceTrace,
		"Events are sent from several goroutines, or an early return skips the end. Send all events of a run from one place, in order."},
	{"INV-15", "concurrency",
		"Never more tools than the cap run at once, and the cap is reached when there is work for it.", EvidenceTrace,
		"Too many: the limit counts something else than running tools. Too few: calls are started in groups that wait for each other, or a slot is not given back. Start the next call as soon as one ends."},
	{"INV-16", "no leaks",
		"Nothing runs after the run has returned.", EvidenceLiveRun,
		"A goroutine waits on a channel that nobody reads any longer. Wait for each goroutine before the run returns, or record that a tool was abandoned."},
	{"INV-17", "cancellation",
		"After a cancel no new call starts, and the run returns within one scheduling step of the last.", EvidenceTrace,
		"The context is looked at once a step only. Look at it before each model call and before each tool."},
	{"INV-18", "usage",
		"The run's usage is the sum of its model calls', and a provider's cumulative counts are not added twice.", EvidenceTrace,
		"A stream's cumulative counts are added up, or the calls that failed, repaired or summarised are left out. Take the last count of each model call, then add those."},
	{"INV-19", "budget",
		"No model call starts once the budget is spent.", EvidenceTrace,
		"The budget is checked before it is updated, or not before retries, repairs and forced answers. Check it in front of every model call."},
	{"INV-20", "runaway",
		"The same tool failing in N consecutive steps stops the run; one success resets the count.", EvidenceTrace,
		"Failures are counted a call and not a step, or results that stand for calls that never ran (bad arguments, unknown tool) are left out, or a success does not reset the count."},
	{"INV-21", "retries",
		"Only what may be retried is retried, only before the first event of the answer, and waits obey Retry-After.", EvidenceTrace,
		"The retry wraps the whole stream, or retries every error. Retry only errors that say that they are retryable, only while nothing was passed on, and wait at least as long as was asked."},
	{"INV-22", "opaque echo",
		"Signatures, encrypted reasoning and item ids come back unchanged, where they stood.", EvidenceMessages,
		"The turn is rebuilt from its text and calls. Send back the parts that came, in their order, with their opaque data."},
	{"INV-23", "contained tools",
		"An error, a panic, a timeout or an unknown tool becomes an error result for its own call and nothing else.", EvidenceTrace,
		"A tool's failure escapes as the run's error, or its result is not marked as an error. Turn it into an error result of that one call."},
	{"INV-24", "well formed",
		"Every request is valid for its protocol: JSON, roles, schema; an empty turn is never sent.", EvidenceMessages,
		"An empty answer was appended to the history, results stand in a message of another role, or a schema is not a JSON object. Providers refuse such a request with status 400."},
	{"INV-25", "stop conditions",
		"Stop conditions are evaluated once a step that ran tools, after its results; a step budget is never extended by them.", EvidenceTrace,
		"The conditions are evaluated after every turn, or before the results are in, or they replace the cap instead of being added to it."},
	{"INV-26", "liveness",
		"A run ends: every wait has an event or a deadline that ends it.", EvidenceLiveRun,
		"A wait has no way out when the other side has gone. Wait on the context as well."},
	{"INV-27", "replay",
		"The same inputs give the same canonical trace, byte for byte.", EvidencePair,
		"A map is ranged over, a clock or a random source is read, or events are written in the order in which goroutines finish. Inject what varies and sort what has no order."},
}
