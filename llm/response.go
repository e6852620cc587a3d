package llm

import "encoding/json"

// Response is a complete response of a model.
type Response struct {
	Parts []Part // in the order in which they began
	// FinishReason is [FinishUnknown] if the provider sent no reason.
	FinishReason    FinishReason
	RawFinishReason string // see [Finish.Raw]
	FinishMessage   string
	ResponseID      string
	Model           string
	Usage           Usage
	Warnings        []Warning
	Opaque          json.RawMessage // the Opaque of the assistant message
	// UnknownEvents are the events that this version does not know.
	UnknownEvents []Unknown
}

// Message returns the response as the message of the assistant.
func (r *Response) Message() Message {
	return Message{Role: RoleAssistant, Parts: r.Parts, Opaque: r.Opaque}
}

// Text joins the text parts of the response.
func (r *Response) Text() string { return joinText(r.Parts) }

// Reasoning joins the reasoning of the response; ok reports whether there was any.
func (r *Response) Reasoning() (text string, ok bool) {
	for _, p := range r.Parts {
		if x, is := p.(Reasoning); is {
			text, ok = text+x.Text, true
		}
	}
	return text, ok
}

// Calls returns the calls that the loop must run, in order.
func (r *Response) Calls() []ToolCall { return calls(r.Parts) }

// Refused reports whether the response is a refusal.
func (r *Response) Refused() bool {
	if r.FinishReason == FinishRefusal {
		return true
	}
	for _, p := range r.Parts {
		if x, ok := p.(Text); ok && x.Refusal {
			return true
		}
	}
	return false
}
