package league

import (
	"regexp"
	"slices"
	"strings"
)

// The causes of a finding.
const (
	causeLoop       = "the loop"
	causeResponse   = "the response"
	causeDocumented = "documented"
	causeUnclear    = "not clear"
)

// finding explains why a loop violates an invariant in runs with these faults. Each was read in the code of the loop.
type finding struct {
	family, invariant string
	faults            []string // parts of the faults of a run
	cause             string
	text              string
}

// Parts of faults.
const (
	anyFault    = "any" // also without a fault
	quirks      = "shows"
	cutStream   = "closed connection"
	noFinish    = "has no finish"
	wrongFinish = "finishes with error"
	repeatedID  = "id of"
	emptyID     = "empty id"
	emptyName   = "empty name"
	wrongArgs   = "has arguments"
	extraText   = "has a text after its arguments"
	canceled    = "the run is canceled"
	deadline    = "the deadline of the run passes"
	hangs       = "hangs"
	late        = "returns after an hour"
)

var findings = []finding{
	{"agentier", "INV-16", []string{late, "an hour passes"}, causeDocumented, "The run has a deadline of one minute and abandons a tool that does not end within a second after it (`Config.Deadline`, `Config.Grace`). Its trace has an event for the call."},
	{"agentier", "INV-23", []string{hangs, late}, causeDocumented, "A tool that takes longer than the deadline of one minute ends the run with TIMEOUT (requirements AG-10 and AG-13)."},
	{"agentloop", "INV-09", []string{wrongArgs, extraText, quirks}, causeDocumented, "Arguments that cannot be read as a JSON object become an empty object (requirement AL-36). The trace has an event with the reason."},
	{"agentloop", "INV-08", []string{quirks}, causeDocumented, "The same: two calls of `a` run with an empty object."},
	{"deepagents", "INV-07", []string{wrongArgs, extraText, quirks}, causeDocumented, "A call with invalid arguments is repaired by a separate request to a model, which continues no response (requirements DA-25 to DA-28). The request after that continues the conversation."},

	{"fantasy", "INV-17", []string{canceled, deadline, hangs}, causeLoop, "Tools that are not `Parallel` run one after the other, and the code between them does not look at the context (`executeTools` and `processStepStream` in `agent.go`). A tool that starts after the cancel gets the canceled context, and can return at once."},
	{"fantasy", "INV-03", []string{anyFault}, causeLoop, "The result of a `Parallel` tool is appended when the tool ends (`processStepStream` in `agent.go`). Each result has its id, so Chat Completions accepts the request, but the request depends on which tool is faster. Tools that are not `Parallel`, the default, keep the order."},
	{"fantasy", "INV-09", []string{cutStream}, causeLoop, "A stream whose body ends early, without an error of the connection and without a finish reason, is retried only if it has no call. A call that has begun counts as complete, and one without arguments so far gets an empty object (`Stream` in `providers/openai/language_model.go`)."},
	{"fantasy", "INV-09", []string{wrongFinish}, causeResponse, "The finish reason `error` is read as unknown, and the calls of the response run."},
	{"fantasy", "INV-09", []string{"arguments that grow", quirks}, causeResponse, "Deltas are joined by their index. The agent repairs what is not JSON with `jsonrepair`, as the comment in `validateAndRepairToolCall` says, and runs the tool with the result."},
	{"fantasy", "INV-11", []string{wrongFinish}, causeResponse, "The finish reason `error` is read as unknown, and the run ends with the text."},
	{"fantasy", "INV-11", []string{quirks}, causeResponse, "A content that is a list of parts is read as no text."},
	{"fantasy", "INV-01", []string{quirks}, causeResponse, "Deltas are joined by their index, so calls without one become one call."},
	{"fantasy", "INV-05", []string{"arguments that grow", quirks}, causeResponse, "Deltas are joined as they come, and requests have the arguments that were repaired."},
	{"fantasy", "INV-04", []string{repeatedID, emptyID, quirks}, causeResponse, "Ids are sent back as the provider sent them: repeated ones, and in Generate empty ones. In streams, the client replaces an empty id by `tool-call-` and the index of the call."},
	{"fantasy", "INV-24", []string{emptyName, "name after its arguments", quirks}, causeResponse, "A call gets the name of its first delta. A call with an empty or invalid name gets an error result, and is sent back with its name."},

	{"eino", "INV-09", []string{cutStream}, causeLoop, "A stream whose body ends early, without an error of the connection, counts as complete: neither `[DONE]` nor a finish reason is expected (`Stream` in `libs/acl/openai` of eino-ext). The calls so far run."},
	{"eino", "INV-11", []string{cutStream}, causeLoop, "The same: the text so far is the answer."},
	{"eino", "INV-16", []string{canceled, deadline}, causeLoop, "A run that is canceled when a stream has begun returns without closing the stream (`run` in `compose/graph_run.go`). The goroutine that reads it waits for its reader (`Stream` in `libs/acl/openai` of eino-ext)."},
	{"eino", "INV-09", []string{wrongFinish, quirks}, causeResponse, "The finish reason and errors next to a choice are not read, and the calls of the response run."},
	{"eino", "INV-11", []string{wrongFinish, quirks}, causeResponse, "The finish reason and errors next to a choice are not read. Lines that are no data are skipped, and other forms of a chunk are an error."},
	{"eino", "INV-07", []string{quirks}, causeResponse, "A stream without data in lines is read as an empty response, and the run ends."},
	{"eino", "INV-05", []string{"arguments that grow", "its arguments twice", "{} before its arguments", quirks}, causeResponse, "Deltas are joined as they come, also if the server repeats arguments."},
	{"eino", "INV-04", []string{repeatedID, emptyID, quirks}, causeResponse, "Ids are sent back as the provider sent them, empty and repeated ones included."},
	{"eino", "INV-24", []string{emptyName, quirks}, causeResponse, "A call with an empty or unknown name gets the result of `UnknownToolsHandler`, and is sent back with its name."},

	{"ADK", "INV-09", []string{cutStream, noFinish}, causeLoop, "A stream that ends without a `finishReason` counts as complete, and its calls run (`Close` in `internal/llminternal/stream_aggregator.go`). The API documents that the model has not stopped without one."},
	{"ADK", "INV-11", []string{cutStream, noFinish}, causeLoop, "The same: the text so far is the answer."},
	{"ADK", "INV-09", []string{"status"}, causeUnclear, "The server sends an error within a stream as an event with `data:`. Google's SDK expects it without `data:`, and reads such an event as a response without content (`iterateResponseStream` in `api_client.go`). The documentation of the API has neither form."},
	{"ADK", "INV-11", []string{"status"}, causeUnclear, "The same."},
	{"ADK", "INV-09", []string{"arguments that are cut", quirks}, causeResponse, "Gemini's API has only arguments that are objects, in one part. The server sends others in the form of Vertex AI."},
	{"ADK", "INV-23", []string{"arguments that are cut", "arguments that are no object", quirks}, causeResponse, "The same: the SDK refuses the response."},
	{"ADK", "INV-05", []string{"arguments that are cut"}, causeResponse, "The same: the call whose arguments did not end comes last."},
	{"ADK", "INV-11", []string{quirks}, causeResponse, "Google's SDK reads each event as one line `data:` with a response. Other lines and events without a response are an error, or are skipped."},
	{"ADK", "INV-01", []string{repeatedID}, causeResponse, "The history is made from the events of the session, and results are joined to calls by id (`internal/llminternal/contents_processor.go`). If a response has an id of an earlier response, its results replace those of the earlier call and are repeated there. ADK generates an id for a call without one."},
	{"ADK", "INV-01", []string{emptyName, quirks}, causeResponse, "With SSE, a call without a name is omitted from the history."},
	{"ADK", "INV-24", []string{emptyName, quirks}, causeResponse, "A call with an empty name gets an error result, and is sent back with its empty name."},

	{"AI SDK", "INV-11", []string{wrongFinish, "name after its arguments", quirks}, causeResponse, "A chunk or a response in another form than the documented one is an error of the client. The result has another finish reason as `other`."},
	{"AI SDK", "INV-23", []string{emptyName, quirks}, causeResponse, "The client rejects a delta that begins a call without a name, and the run fails."},
	{"AI SDK", "INV-05", []string{"arguments that grow", "its arguments twice", "{} before its arguments", quirks}, causeResponse, "Deltas are joined as they come, also if the server repeats arguments."},
	{"AI SDK", "INV-04", []string{repeatedID, emptyID, quirks}, causeResponse, "Ids are sent back as the provider sent them."},
	{"AI SDK", "INV-24", []string{emptyName, quirks}, causeResponse, "A call with an empty or invalid name gets an error result, and is sent back with its name."},

	{"OpenAI Agents", "INV-11", []string{"is a refusal"}, causeDocumented, "A refusal ends the run with a `ModelRefusalError`."},
	{"OpenAI Agents", "INV-11", []string{wrongFinish, emptyID, quirks}, causeResponse, "A call without an id is a `ModelBehaviorError`. The finish reason is not read."},
	{"OpenAI Agents", "INV-23", []string{repeatedID, emptyID, emptyName, quirks}, causeResponse, "A call with an empty id, or with an id that was used before, ends the run with a `ModelBehaviorError`."},
	{"OpenAI Agents", "INV-03", []string{"unknown tool"}, causeLoop, "With `return_error_to_model`, the error result for an unknown tool comes after the results of the other calls. Each result has its id, so Chat Completions accepts the request."},
	{"OpenAI Agents", "INV-24", []string{emptyName, quirks}, causeResponse, "The name and the arguments of a call are sent back as they came."},

	{"LangGraph", "INV-01", []string{wrongArgs, "has no arguments", extraText, quirks}, causeLoop, "LangChain puts a call whose arguments are not JSON into `invalid_tool_calls`. The agent does not answer it, and the client does not send it back, so the model gets no error."},
	{"LangGraph", "INV-11", []string{wrongFinish, quirks}, causeResponse, "The finish reason is not read."},
	{"LangGraph", "INV-23", []string{quirks}, causeResponse, "A call without an id cannot be answered, and the run fails."},
	{"LangGraph", "INV-07", []string{quirks}, causeResponse, "A call whose arguments are no string is no call for LangChain, and the run ends."},
	{"LangGraph", "INV-04", []string{repeatedID, emptyID, quirks}, causeResponse, "Ids are sent back as the provider sent them."},
	{"LangGraph", "INV-24", []string{emptyName, quirks}, causeResponse, "A call with an empty or invalid name gets an error result, and is sent back with its name."},
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
