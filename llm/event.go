package llm

import (
	"cmp"
	"encoding/json"
)

// Event is a streamed part of a response. [Accumulator] assembles events to a [Response].
//
//sumtype:decl
type Event interface{ event() }

// TextDelta is a delta of the text of the response. Opaque ends the text part.
type TextDelta struct {
	Text    string          `json:"text"`
	Refusal bool            `json:"refusal,omitempty"`
	Opaque  json.RawMessage `json:"opaque,omitzero"`
}

// ReasoningDelta is a delta of the model's reasoning. Opaque, such as a signature, ends the
// reasoning part.
type ReasoningDelta struct {
	Text   string          `json:"text"`
	Opaque json.RawMessage `json:"opaque,omitzero"`
}

// ToolCallStart opens a call. If a call with its Index is open and has no name, the start names
// that call. Any other start opens a new call, also if its ID was used before.
type ToolCallStart struct {
	// Index identifies the call within the response, counted from 1. 0 means that the provider
	// sends no index; then ID identifies the call.
	Index  int             `json:"index,omitempty"`
	ID     string          `json:"id,omitempty"` // the provider's; may be empty or used before
	Name   string          `json:"name,omitempty"`
	Opaque json.RawMessage `json:"opaque,omitzero"`
}

// ToolCallDelta is a delta of a call's arguments. It belongs to the open call with its Index, else
// to the one with its ID, else to the call that was opened last.
type ToolCallDelta struct {
	Index     int    `json:"index,omitempty"`
	ID        string `json:"id,omitempty"`
	Arguments string `json:"arguments" v1:"args"` // a fragment of the raw text
}

// ToolCallEnd closes the open call with its Index, else the one with its ID, else the first open
// call. Some providers omit the end.
type ToolCallEnd struct {
	Index int    `json:"index,omitempty"`
	ID    string `json:"id,omitempty"`
	// Arguments, if not empty, are the complete arguments, which the provider sends at the end.
	// They replace all earlier deltas of the call (quirk QR-05).
	Arguments string          `json:"arguments,omitempty" v1:"args"`
	Opaque    json.RawMessage `json:"opaque,omitzero"`
}

// PartDone is a complete part: media, a call without deltas, a call that the provider ran, or
// opaque data.
//
//gencodec:type part
type PartDone struct {
	Part Part `json:"part" required:"an event of type part needs a part"`
}

// Warning reports an anomaly that the adapter repaired or ignored.
type Warning struct {
	Code    string `json:"code"` // a short fixed name, such as leaked_call
	Message string `json:"message"`
}

// Finish reports that the response is complete. The fields of a second Finish replace those of
// the first where they are not empty.
type Finish struct {
	Reason  FinishReason `json:"reason"`
	Raw     string       `json:"raw,omitempty"`     // the finish reason of the provider, if it differs
	Message string       `json:"message,omitempty"` // the explanation of the provider, if any
	// ResponseID and Model are the names that the provider gives the response and the model.
	ResponseID string `json:"response_id,omitempty"`
	Model      string `json:"model,omitempty"`
	// Opaque becomes the Opaque of the assistant message.
	Opaque json.RawMessage `json:"opaque,omitzero"`
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

// FinishReason is the reason why a response ended. The loop does not distinguish stop from
// tool_calls, because providers mix them up. The values begin with Finish.
type FinishReason string

// Usage counts tokens. As an [Event] it contains the counts of the response so far. A field that
// is not 0 replaces the earlier count; 0 keeps it. Providers send cumulative counts and omit
// fields.
type Usage struct {
	InputTokens              int64 `json:"input_tokens" v1:"input"`                                // all input tokens, the cached ones included
	OutputTokens             int64 `json:"output_tokens" v1:"output"`                              // all output tokens, reasoning included
	CacheReadInputTokens     int64 `json:"cache_read_input_tokens,omitempty" v1:"cached"`          // input tokens read from a cache
	CacheCreationInputTokens int64 `json:"cache_creation_input_tokens,omitempty" v1:"cache_write"` // input tokens written to a cache
	ReasoningOutputTokens    int64 `json:"reasoning_output_tokens,omitempty" v1:"reasoning"`       // output tokens for reasoning
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

// Total returns the sum of input and output tokens.
func (u Usage) Total() int64 { return u.InputTokens + u.OutputTokens }
