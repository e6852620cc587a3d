package middleware

import "github.com/looptape/looptape/trace"

// Names and codes that middleware adds to the trace.
const (
	// Names of events. Their data is JSON.
	EventApprovalRequested = "approval.requested" // the id of the call
	EventApprovalResolved  = "approval.resolved"  // the id of the call and the ApprovalDecision
	EventGuardrail         = "guardrail"          // a GuardrailTrigger
	EventHandoff           = "handoff"            // {"from": agent, "to": agent}
	EventHumanDecision     = "human_decision"     // {"call": id, "tool": name, "decision": an ApprovalDecision}
	EventTodos             = "todos"              // a list of Todo
	EventToolFallback      = "tool.fallback"      // {"call": id}
	EventVariables         = "variables"          // the values by name

	// Reasons of calls that are not run, and stop reasons of runs.
	ReasonDenied    = trace.SkipDenied           // a call: middleware or a person denied it
	ReasonSkipped   = "skipped"                  // a call: it was skipped without an error
	ReasonOverride  = "override"                 // a call: it has a substitute output
	ReasonGuardrail = trace.Reason("guardrail")  // a run: a [Guardrail] ended it for its Note
	ReasonOutput    = trace.Reason("output")     // a decision: the answer does not match its [Output]
	ReasonToolError = trace.Reason("tool_error") // a run: ToolFailed.Stop ended it

	// Codes of warnings.
	WarnLeakedCall   = "leaked_call"    // see [LeakedCalls]
	WarnRepair       = "repair_failed"  // the model did not repair the arguments of a call
	WarnSummary      = "summary"        // the conversation was not summarized
	WarnToolNotFound = "tool_not_found" // a call of an unknown tool; see [ToolHooks]
	WarnUnknownAgent = "unknown_agent"  // [ActiveAgent] names an unknown agent; the active agent continues
)
