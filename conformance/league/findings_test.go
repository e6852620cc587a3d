package league

import (
	"regexp"
	"slices"
	"strings"
)

// The causes of a finding.
const (
	causeLoop       = "the loop"
	causeProvider   = "the response"
	causeDocumented = "documented"
)

// finding explains why a loop violates an invariant in runs with these faults. Each was read in the code of the loop.
type finding struct {
	family, invariant string
	faults            []string // parts of the faults of a run
	cause             string
	text              string
}

// anyFault is for runs with and without faults.
const anyFault = "any"

var findings = []finding{
	{"agentier", "INV-16", []string{"returns after an hour", "an hour passes"}, causeDocumented, "The run has a deadline of one minute and abandons a tool that does not end within a second after it (`Config.Deadline`, `Config.Grace`). Its trace has an event for the call."},
	{"agentier", "INV-23", []string{"hangs", "returns after an hour"}, causeDocumented, "A tool that takes longer than the deadline of one minute ends the run with TIMEOUT (requirements AG-10 and AG-13)."},
	{"agentloop", "INV-09", []string{"has arguments", "has a text after its arguments"}, causeDocumented, "Arguments that cannot be read as a JSON object become an empty object (requirement AL-36). The trace has an event with the reason."},
	{"deepagents", "INV-05", []string{"has arguments", "has a text after its arguments"}, causeDocumented, "A call with invalid arguments is repaired by a separate request to a model (requirements DA-25 to DA-28). The request after that continues the conversation."},
	{"fantasy", "INV-17", []string{"the run is canceled", "hangs"}, causeLoop, "Tools that are not `Parallel` run one after the other, and the code between them does not look at the context (`executeTools` and `processStepStream` in `agent.go`). A tool that starts after the cancel gets the canceled context, and can return at once."},
	{"fantasy", "INV-03", []string{anyFault}, causeLoop, "The result of a `Parallel` tool is appended when the tool ends (`processStepStream` in `agent.go`). Each result has its id, so Chat Completions accepts the request, but the request depends on which tool is faster. Tools that are not `Parallel`, the default, keep the order."},
	{"fantasy", "INV-04", []string{"id of", "empty id"}, causeProvider, "Ids are sent back as the provider sent them: repeated ones, and in Generate empty ones. In streams, the client replaces an empty id by `tool-call-` and the index of the call."},
	{"fantasy", "INV-09", []string{"arguments that grow"}, causeProvider, "The client joins deltas that repeat the arguments so far. The agent repairs arguments that are not JSON with `jsonrepair`, as the comment of `validateAndRepairToolCall` in `agent.go` says, and runs the tool with what results."},
	{"fantasy", "INV-24", []string{"empty name", "name after its arguments"}, causeProvider, "A call gets the name of its first delta. A call with an empty name gets an error result, and is sent back with its empty name."},
	{"eino", "INV-04", []string{"id of", "empty id"}, causeProvider, "Ids are sent back as the provider sent them, empty and repeated ones included."},
	{"eino", "INV-24", []string{"empty name"}, causeProvider, "A call with an empty name gets the result of `UnknownToolsHandler`, and is sent back with its empty name."},
	{"ADK", "INV-01", []string{"id of an earlier response"}, causeProvider, "The history is made from the events of the session, and results are joined to calls by id (`internal/llminternal/contents_processor.go`). If a response has an id of an earlier response, its results replace those of the earlier call and are repeated there. ADK generates an id for a call without one."},
	{"ADK", "INV-05", []string{"id of an earlier response"}, causeProvider, "The same: the results of the earlier step change in the next request."},
	{"ADK", "INV-24", []string{"empty name"}, causeProvider, "A call with an empty name gets an error result, and is sent back with its empty name. With SSE the call is omitted."},
}

// explained returns the index of the finding for runs that violate an invariant with a fault.
func explained(family, invariant, fault string) (int, bool) {
	i := slices.IndexFunc(findings, func(f finding) bool {
		return f.family == family && f.invariant == invariant && slices.ContainsFunc(f.faults, func(part string) bool {
			return part == anyFault || strings.Contains(fault, part)
		})
	})
	return i, i >= 0
}

// withoutNumbers omits the numbers of calls and events.
func withoutNumbers(fault string) string { return numbered.ReplaceAllString(fault, "$1 N") }

var numbered = regexp.MustCompile(`\b(call|event) [0-9]+`)
