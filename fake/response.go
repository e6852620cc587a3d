package fake

import (
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/looptape/looptape/llm"
)

// Response is one response of a scripted model. The model sends reasoning, text and calls
// in this order, then warnings, usage and the finish. The zero value is an empty response
// with finish reason stop.
type Response struct {
	// Repeat, if above 0, makes this number of responses. {n} in Reasoning, Text, Chunks
	// and Calls is replaced by the number of the response, from 1.
	Repeat int
	// Expect is compared with the request. A difference is a [*ScriptError].
	Expect *Expect
	// Delay and Gate precede the first event: first the delay, then the gate.
	Delay time.Duration
	Gate  string
	// EventInterval is the time between two events.
	EventInterval time.Duration

	Reasoning       string
	ReasoningOpaque json.RawMessage
	Text            string
	// Chunks is the text in given chunks; Text must be empty then.
	Chunks     []string
	TextOpaque json.RawMessage
	Refusal    bool
	Calls      []Call
	// Events replaces reasoning, text and calls. A Finish among them is the only one.
	Events []llm.Event
	// ChunkSize is the maximum number of bytes of a chunk of reasoning, text or arguments.
	// A chunk ends between characters. 0 means a single chunk.
	ChunkSize int
	Warnings  []llm.Warning
	Usage     llm.Usage

	// FinishReason is tool_calls or stop if it is empty, depending on the calls.
	FinishReason    llm.FinishReason
	RawFinishReason string
	FinishMessage   string
	ResponseID      string
	Model           string
	Opaque          json.RawMessage // of the assistant message
	OmitFinish      bool

	// Error ends the response in place of a finish.
	Error *Failure
	// Err does the same with any error. A scenario file cannot contain it.
	Err error
	// Stall blocks after the events until the context ends.
	Stall bool

	// Attempts are the responses to the first, second … attempt. Only Repeat and Expect
	// may be set in addition. Empty means that all attempts get this response.
	Attempts []Response
}

// Call is a tool call of a [Response]. The model sends it as a start, chunks of arguments
// and an end.
type Call struct {
	ID        string // sent also if it is empty
	Name      string
	Arguments string // the raw arguments
	// Chunks is the arguments in given chunks; Arguments must be empty then.
	Chunks []string
	// Index is the index of the call; 0 means its position in the response, from 1.
	Index       int
	OmitIndex   bool
	SingleChunk bool // sends one event for the call
	OmitEnd     bool
	// ProviderExecuted marks a call that the provider ran. It implies SingleChunk.
	ProviderExecuted bool
	Opaque           json.RawMessage
}

// Failure is a scripted [*llm.APIError].
type Failure struct {
	Status     int
	Code       string
	Message    string
	RequestID  string
	RetryAfter time.Duration
	// Retryable is true if the loop may retry. nil means true for status 408, 409, 429, 500
	// and above, and for an interrupted connection.
	Retryable *bool
	// Connection interrupts the connection: ConnectionReset or ConnectionClosed.
	Connection string
	// After is the number of events that precede the failure; 0 means all of them.
	After int
}

// Values of [Failure.Connection].
const (
	ConnectionReset  = "reset"
	ConnectionClosed = "closed" // without an error, before the end of the response
)

var errReset = errors.New("connection reset by peer")

// FailureOf returns the Failure that produces e, except for its Provider. It returns nil
// if e is nil. A wrapped io.ErrUnexpectedEOF closes the connection, and any other wrapped
// error resets it.
func FailureOf(e *llm.APIError) *Failure {
	if e == nil {
		return nil
	}
	f := &Failure{
		Status: e.Status, Code: e.Code, Message: e.Message,
		RequestID: e.RequestID, RetryAfter: e.RetryAfter, Retryable: new(e.Retryable),
	}
	switch {
	case errors.Is(e.Err, io.ErrUnexpectedEOF):
		f.Connection = ConnectionClosed
	case e.Err != nil:
		f.Connection = ConnectionReset
	}
	return f
}

// APIError returns the error that the model sends.
func (f *Failure) APIError() *llm.APIError {
	e := &llm.APIError{
		Provider: "fake", Status: f.Status, Code: f.Code, Message: f.Message,
		RequestID: f.RequestID, RetryAfter: f.RetryAfter,
	}
	switch f.Connection {
	case ConnectionReset:
		e.Err = errReset
	case ConnectionClosed:
		e.Err = io.ErrUnexpectedEOF
	}
	if f.Retryable != nil {
		e.Retryable = *f.Retryable
	} else {
		e.Retryable = slices.Contains([]int{408, 409, 429}, f.Status) || f.Status >= 500 || e.Err != nil
	}
	return e
}

// err returns the error that ends the response in place of a finish, or nil.
func (t *Response) err() error {
	if t.Err == nil && t.Error != nil {
		return t.Error.APIError()
	}
	return t.Err
}

// StreamingEvents returns the events of a streaming response, without the error that
// ends it.
func (t *Response) StreamingEvents() []llm.Event {
	events := t.content()
	for _, w := range t.Warnings {
		events = append(events, w)
	}
	if t.Usage != (llm.Usage{}) {
		events = append(events, t.Usage)
	}
	if t.Error != nil && t.Error.After > 0 && t.Error.After < len(events) {
		events = events[:t.Error.After]
	}
	hasFinish := slices.ContainsFunc(events, func(ev llm.Event) bool { _, ok := ev.(llm.Finish); return ok })
	if t.OmitFinish || t.Stall || t.err() != nil || hasFinish {
		return events
	}
	f := llm.Finish{
		Reason: t.FinishReason, Raw: t.RawFinishReason, Message: t.FinishMessage,
		ResponseID: t.ResponseID, Model: t.Model, Opaque: t.Opaque,
	}
	if f.Reason == "" {
		f.Reason = llm.FinishStop
		if len(assemble(events).Calls()) > 0 {
			f.Reason = llm.FinishToolCalls
		}
	}
	return append(events, f)
}

func (t *Response) content() []llm.Event {
	if t.Events != nil {
		return append([]llm.Event(nil), t.Events...)
	}
	var events []llm.Event
	if t.Reasoning != "" || t.ReasoningOpaque != nil {
		chunks := t.split(nil, t.Reasoning)
		for i, s := range chunks {
			events = append(events, llm.ReasoningDelta{Text: s, Opaque: atEnd(i, chunks, t.ReasoningOpaque)})
		}
	}
	if t.Text != "" || t.Chunks != nil || t.TextOpaque != nil {
		chunks := t.split(t.Chunks, t.Text)
		for i, s := range chunks {
			events = append(events, llm.TextDelta{Text: s, Refusal: t.Refusal, Opaque: atEnd(i, chunks, t.TextOpaque)})
		}
	}
	for i := range t.Calls {
		events = t.call(events, &t.Calls[i], i+1)
	}
	return events
}

// atEnd returns the opaque data with the last chunk, and nil with the others.
func atEnd(i int, chunks []string, opaque json.RawMessage) json.RawMessage {
	if i < len(chunks)-1 {
		return nil
	}
	return opaque
}

func (t *Response) call(events []llm.Event, c *Call, place int) []llm.Event {
	if c.SingleChunk || c.ProviderExecuted {
		return append(events, llm.PartDone{Part: llm.ToolCall{
			ID: c.ID, Name: c.Name, Arguments: c.Arguments + strings.Join(c.Chunks, ""),
			ProviderExecuted: c.ProviderExecuted, Opaque: c.Opaque,
		}})
	}
	index := place
	switch {
	case c.OmitIndex:
		index = 0
	case c.Index != 0:
		index = c.Index
	}
	events = append(events, llm.ToolCallStart{Index: index, ID: c.ID, Name: c.Name, Opaque: c.Opaque})
	if c.Arguments != "" || c.Chunks != nil {
		for _, s := range t.split(c.Chunks, c.Arguments) {
			events = append(events, llm.ToolCallDelta{Index: index, ID: c.ID, Arguments: s})
		}
	}
	if c.OmitEnd {
		return events
	}
	return append(events, llm.ToolCallEnd{Index: index, ID: c.ID})
}

// split returns the chunks if there are any, or else the text in chunks of at most
// ChunkSize bytes.
func (t *Response) split(chunks []string, text string) []string {
	if chunks != nil {
		return chunks
	}
	for t.ChunkSize > 0 && len(text) > t.ChunkSize {
		n := t.ChunkSize
		for n > 0 && !utf8.RuneStart(text[n]) {
			n--
		}
		if n == 0 { // the first character is longer than a chunk
			_, n = utf8.DecodeRuneInString(text)
		}
		chunks, text = append(chunks, text[:n]), text[n:]
	}
	if text != "" || chunks == nil {
		chunks = append(chunks, text)
	}
	return chunks
}

// NonStreamingEvents returns the events of a non-streaming response: complete parts, and
// the other events as they are.
func (t *Response) NonStreamingEvents() []llm.Event {
	streaming := t.StreamingEvents()
	var events, rest []llm.Event
	for _, ev := range streaming {
		switch ev.(type) {
		case llm.Usage, llm.Warning, llm.Finish, llm.Unknown:
			rest = append(rest, ev)
		case llm.TextDelta, llm.ReasoningDelta, llm.ToolCallStart, llm.ToolCallDelta, llm.ToolCallEnd, llm.PartDone:
		}
	}
	for _, p := range assemble(streaming).Parts {
		events = append(events, llm.PartDone{Part: p})
	}
	return append(events, rest...)
}

func assemble(events []llm.Event) *llm.Response {
	var acc llm.Accumulator
	for _, ev := range events {
		acc.Add(ev)
	}
	return acc.Response()
}

// expand returns the responses with each Repeat expanded. Without a Repeat it returns
// its argument.
func expand(responses []Response) []Response {
	if !slices.ContainsFunc(responses, func(t Response) bool { return t.Repeat > 0 }) {
		return responses
	}
	out := make([]Response, 0, len(responses))
	for _, t := range responses {
		if t.Repeat <= 0 {
			out = append(out, t)
			continue
		}
		for n := range t.Repeat {
			out = append(out, t.withNumber(strconv.Itoa(n+1)))
		}
	}
	return out
}

// withNumber returns the response with n in place of {n}.
func (t Response) withNumber(n string) Response {
	put := func(s string) string { return strings.ReplaceAll(s, "{n}", n) }
	t.Reasoning, t.Text, t.Chunks = put(t.Reasoning), put(t.Text), mapAll(t.Chunks, put)
	t.Calls = mapAll(t.Calls, func(c Call) Call {
		c.ID, c.Name, c.Arguments, c.Chunks = put(c.ID), put(c.Name), put(c.Arguments), mapAll(c.Chunks, put)
		return c
	})
	t.Attempts = mapAll(t.Attempts, func(a Response) Response { return a.withNumber(n) })
	return t
}

// mapAll returns f of each element, or nil for a nil list.
func mapAll[T any](list []T, f func(T) T) []T {
	out := slices.Clone(list)
	for i, v := range out {
		out[i] = f(v)
	}
	return out
}
