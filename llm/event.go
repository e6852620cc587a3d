package llm

import (
	"cmp"
	"encoding/json"
)

// Event is a streamed part of a response. [Accumulator] assembles events to a [Response].
//
//sumtype:decl
type Event interface{ event() }

// TextDelta is more text of the answer. An Opaque ends the text part it is on.
type TextDelta struct {
	Text    string
	Refusal bool
	Opaque  json.RawMessage
}

// ReasoningDelta is more of the model's reasoning. An Opaque (a signature) ends
// the reasoning part it is on.
type ReasoningDelta struct {
	Text   string
	Opaque json.RawMessage
}

// ToolCallStart opens a call. A start with the index of a call that is open and
// still has no name gives it its name; any other start opens another call, also
// when its ID was seen before.
type ToolCallStart struct {
	// Index identifies the call within the response, counted from 1. 0 means that the provider
	// sends no index; then ID identifies the call.
	Index  int
	ID     string // the provider's; may be empty or used before
	Name   string
	Opaque json.RawMessage
}

// ToolCallDelta is more of a call's arguments. It goes to the open call of its
// Index, else of its ID, else to the call that was opened last.
type ToolCallDelta struct {
	Index     int
	ID        string
	Arguments string // a fragment of the raw text
}

// ToolCallEnd closes the open call of its Index, else of its ID, else the first
// that is not closed. It can be missing: providers drop it.
type ToolCallEnd struct {
	Index int
	ID    string
	// Arguments, if not empty, are the complete arguments, which the provider sends at the end.
	// They replace all earlier deltas of the call (quirk QR-05).
	Arguments string
	Opaque    json.RawMessage
}

// PartDone is a complete part: media, a call without deltas, a call that the provider ran, or
// opaque data.
type PartDone struct{ Part Part }

// Warning reports an anomaly that the adapter repaired or ignored.
type Warning struct {
	Code    string // a short fixed name, such as leaked_call
	Message string
}

// Finish reports that the response is complete. The fields of a second Finish replace those of
// the first where they are not empty.
type Finish struct {
	Reason  FinishReason
	Raw     string // the provider's own word, if it is another
	Message string // the provider's explanation, if it gave one
	// ResponseID and Model are what the provider calls the answer and itself.
	ResponseID, Model string
	// Opaque becomes the Opaque of the assistant message.
	Opaque json.RawMessage
}

func (TextDelta) event()      {}
func (ReasoningDelta) event() {}
func (ToolCallStart) event()  {}
func (ToolCallDelta) event()  {}
func (ToolCallEnd) event()    {}
func (PartDone) event()       {}
func (Usage) event()          {}
func (Warning) event()        {}
func (Finish) event()         {}
func (Unknown) event()        {}

// FinishReason is why an answer ended. The loop decides nothing by the
// difference between stop and tool_calls: providers mix them up.
type FinishReason string

// The finish reasons. A provider's word for none of them is FinishUnknown, with
// the word in Finish.Raw.
const (
	FinishStop          FinishReason = "stop"
	FinishToolCalls     FinishReason = "tool_calls"
	FinishLength        FinishReason = "length"
	FinishContentFilter FinishReason = "content_filter"
	FinishRefusal       FinishReason = "refusal"
	FinishPause         FinishReason = "pause"          // to be continued (Anthropic's pause_turn)
	FinishMalformedCall FinishReason = "malformed_call" // Gemini's MALFORMED_FUNCTION_CALL, UNEXPECTED_TOOL_CALL
	FinishError         FinishReason = "error"
	FinishUnknown       FinishReason = "unknown"
)

// Usage counts tokens. As an [Event] it contains the counts of the response so far. A field that
// is not 0 replaces the earlier count; 0 keeps it. Providers send cumulative counts and omit
// fields.
type Usage struct {
	InputTokens              int64 // all input tokens, the cached ones included
	OutputTokens             int64 // all output tokens, reasoning included
	CacheReadInputTokens     int64 // input tokens read from a cache
	CacheCreationInputTokens int64 // input tokens written to a cache
	ReasoningOutputTokens    int64 // output tokens for reasoning
}

// Add returns the sum, field by field.
func (u Usage) Add(v Usage) Usage {
	return Usage{u.InputTokens + v.InputTokens, u.OutputTokens + v.OutputTokens, u.CacheReadInputTokens + v.CacheReadInputTokens, u.CacheCreationInputTokens + v.CacheCreationInputTokens, u.ReasoningOutputTokens + v.ReasoningOutputTokens}
}

// Update returns u with each field replaced that is not 0 in v.
func (u Usage) Update(v Usage) Usage {
	return Usage{
		cmp.Or(v.InputTokens, u.InputTokens), cmp.Or(v.OutputTokens, u.OutputTokens), cmp.Or(v.CacheReadInputTokens, u.CacheReadInputTokens),
		cmp.Or(v.CacheCreationInputTokens, u.CacheCreationInputTokens), cmp.Or(v.ReasoningOutputTokens, u.ReasoningOutputTokens),
	}
}

// Total is input and output together.
func (u Usage) Total() int64 { return u.InputTokens + u.OutputTokens }
