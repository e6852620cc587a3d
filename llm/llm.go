// Package llm defines the types of one model call: the request ([Request], [Message], [Part],
// [Tool]), the response ([Event], which an [Accumulator] assembles to a [Response]), the token
// counts ([Usage]), the end of a response ([FinishReason], [APIError]), and the interface of all
// models ([Model]).
//
// The types keep everything that a provider sends. Arguments remain the raw text. Private data
// of a provider is opaque JSON on the part that it belongs to. Data that this version does not
// know becomes [Unknown]. Each value has exactly one JSON encoding.
//
// The packages below providers implement the wire protocols. Package loop calls the tools and
// makes the decisions.
package llm

import (
	"context"
	"encoding/json"
	"iter"
)

// Model responds to requests. Stream sends the request when the caller first ranges over the
// result. It yields the events of the response in the order of arrival. It yields an error once,
// last, with a nil [Event]; the events before it remain usable. The caller cancels the call by
// stopping the iteration.
//
// A Model must be safe for use by many goroutines. It must not change the request or retain it
// after the range has ended.
type Model interface {
	Stream(ctx context.Context, req *Request) iter.Seq2[Event, error]
}

// ModelFunc is a function that implements [Model].
type ModelFunc func(ctx context.Context, req *Request) iter.Seq2[Event, error]

// Stream calls f.
func (f ModelFunc) Stream(ctx context.Context, req *Request) iter.Seq2[Event, error] {
	return f(ctx, req)
}

// Collect reads a complete response. The [Response] is never nil. With an error it contains the
// events before the error, and every open call is closed.
func Collect(events iter.Seq2[Event, error]) (*Response, error) {
	var acc Accumulator
	for ev, err := range events {
		if err != nil {
			return acc.Response(), err
		}
		acc.Add(ev)
	}
	return acc.Response(), nil
}

// Role is the author of a message, such as [RoleUser].
type Role string

// The values of the fields of requests and responses.
const (
	// Roles. System messages occur only in imported histories; a [Request] has its system prompt
	// in System.
	RoleSystem    Role = "system"
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"

	// Modes of a [ToolChoice].
	ChooseAuto     ToolMode = "" // the model decides
	ChooseRequired ToolMode = "required"
	ChooseNone     ToolMode = "none"
	ChooseTool     ToolMode = "tool" // the tool ToolChoice.Name

	// Response modes of a [Request].
	Streaming    ResponseMode = "" // as a stream of events
	NonStreaming ResponseMode = "buffered"

	// Finish reasons. A reason of a provider that matches none of them is FinishUnknown, with the
	// original in [Finish.Raw].
	FinishStop          FinishReason = "stop"
	FinishToolCalls     FinishReason = "tool_calls"
	FinishLength        FinishReason = "length"
	FinishContentFilter FinishReason = "content_filter"
	FinishRefusal       FinishReason = "refusal"
	FinishPause         FinishReason = "pause"          // to be continued (Anthropic's pause_turn)
	FinishMalformedCall FinishReason = "malformed_call" // Gemini's MALFORMED_FUNCTION_CALL, UNEXPECTED_TOOL_CALL
	FinishError         FinishReason = "error"
	FinishUnknown       FinishReason = "unknown"

	// Codes of the warnings of an [Accumulator].
	WarnNoFinish          = "no_finish_reason"   // the response ended without a finish reason
	WarnNoCallEnd         = "missing_call_end"   // the end of the response closed a call
	WarnRepeatedArguments = "repeated_arguments" // arguments were repeated; one copy was kept
	WarnNoCallStart       = "missing_call_start" // a delta or an end without an open call was dropped
	WarnNoCalls           = "missing_calls"      // the finish reason is tool_calls, but there is no call (quirk QO-02)
)

// Message is a message of a conversation. A published message is never changed; code that needs
// a different one makes a new message.
type Message struct {
	Role  Role   `json:"role"`
	Parts []Part `json:"parts" required:"a message has no \"parts\""`
	// Opaque is data that the provider requires back with the message (a container id, an item
	// id), as JSON; nil means none.
	Opaque json.RawMessage `json:"opaque,omitzero"`
}

// User returns a user message of one text.
func User(text string) Message { return Message{Role: RoleUser, Parts: []Part{Text{Text: text}}} }

// Assistant returns an assistant message of these parts.
func Assistant(parts ...Part) Message { return Message{Role: RoleAssistant, Parts: parts} }

// ToolResults returns a tool message that carries these results.
func ToolResults(results ...ToolResult) Message {
	parts := make([]Part, len(results))
	for i, r := range results {
		parts[i] = r
	}
	return Message{Role: RoleTool, Parts: parts}
}

// Text joins the texts of the message.
func (m Message) Text() string { return joinText(m.Parts) }

// Calls returns the calls of the message that the loop must run, in order. It omits the calls that
// the provider ran.
func (m Message) Calls() []ToolCall { return calls(m.Parts) }

// Part is an element of a [Message].
//
//sumtype:decl
type Part interface{ part() }

// Text is the text of a message.
type Text struct {
	Text string `json:"text"`
	// Refusal is true if the text is a refusal of the model.
	Refusal bool `json:"refusal,omitempty"`
	// Opaque is data that the provider requires back with this part, as JSON.
	Opaque json.RawMessage `json:"opaque,omitzero"`
}

// Reasoning is the reasoning of a model before its output. If the provider returns only a
// signature or encrypted reasoning, Opaque contains it and Text is empty.
type Reasoning struct {
	Text   string          `json:"text"`
	Opaque json.RawMessage `json:"opaque,omitzero"`
}

// Media is an image, a sound or a document: its bytes or its location.
type Media struct {
	MediaType string `json:"media_type"`     // as in RFC 2046, for example image/png
	Name      string `json:"name,omitempty"` // a file name, may be empty
	Data      []byte `json:"data,omitzero"`  // the content; nil if it is elsewhere
	URL       string `json:"url,omitempty"`  // where the content is, if not in Data
	// Digest is "sha256:" and hexadecimal digits, for content that is stored outside the trace.
	Digest string          `json:"digest,omitempty"`
	Size   int64           `json:"size,omitempty"` // the number of bytes of that content
	Opaque json.RawMessage `json:"opaque,omitzero"`
}

// ToolCall is a request by the model to run a tool.
type ToolCall struct {
	// ID identifies the call for its result. The loop makes it unique within a run.
	ID   string `json:"id"`
	Name string `json:"name"`
	// Arguments is the raw text that the model sent, not necessarily JSON.
	Arguments string `json:"arguments" v1:"args"`
	// IDGenerated is true if the loop generated the ID, because the provider sent none or one
	// that the run had used already.
	IDGenerated bool   `json:"id_generated,omitempty" v1:"minted"`
	ProviderID  string `json:"provider_id,omitempty"` // the ID that the provider sent instead
	// ProviderExecuted is true if the provider ran the call itself, such as a web search. The
	// loop sends it back and never runs it.
	ProviderExecuted bool            `json:"provider_executed,omitempty"`
	Opaque           json.RawMessage `json:"opaque,omitzero"`
}

// ToolResult is the result of the call with the same ID.
type ToolResult struct {
	ID      string          `json:"tool_call_id" v1:"id"`
	Name    string          `json:"name,omitempty"` // the name of the tool
	Content []Part          `json:"content"`        // text and media; a value is the text of its JSON
	IsError bool            `json:"is_error,omitempty"`
	Opaque  json.RawMessage `json:"opaque,omitzero"`
}

// Text joins the texts of the result.
func (r ToolResult) Text() string { return joinText(r.Content) }

// Unknown is a part or an event of a type that this version does not know. It can be written again
// or sent back. Raw is the whole JSON object with its member type; Kind is that type.
type Unknown struct {
	Kind string
	Raw  json.RawMessage
}

// PartOpaque returns the opaque provider data of a part; for an [Unknown], the whole part.
func PartOpaque(p Part) json.RawMessage {
	switch p := p.(type) {
	case Text:
		return p.Opaque
	case Reasoning:
		return p.Opaque
	case Media:
		return p.Opaque
	case ToolCall:
		return p.Opaque
	case ToolResult:
		return p.Opaque
	case Unknown:
		return p.Raw
	}
	return nil
}

func (Text) part()       {}
func (Reasoning) part()  {}
func (Media) part()      {}
func (ToolCall) part()   {}
func (ToolResult) part() {}
func (Unknown) part()    {}

func joinText(parts []Part) string {
	var out string
	for _, p := range parts {
		if t, ok := p.(Text); ok {
			out += t.Text
		}
	}
	return out
}

func calls(parts []Part) []ToolCall {
	var out []ToolCall
	for _, p := range parts {
		if c, ok := p.(ToolCall); ok && !c.ProviderExecuted {
			if out == nil {
				out = make([]ToolCall, 0, len(parts))
			}
			out = append(out, c)
		}
	}
	return out
}
