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

// Turn is one answer of a scripted model. Its parts are sent in the order
// reasoning, text, calls; then come warnings, usage and the finish. The zero
// value is an empty answer that ends with stop.
type Response struct {
	// Repeat, if above 0, makes as many turns of this one, and in each of them
	// {n} in Reasoning, Text, Pieces and Calls stands for its number, from 1.
	Repeat int
	// Expect is what the request must be like; otherwise the answer is a
	// *ScriptError.
	Expect *Expect
	// Delay and Gate come before the first event: first the delay, then the gate.
	Delay time.Duration
	Gate  string
	// Pace is the time between one event and the next.
	EventInterval time.Duration

	Reasoning       string
	ReasoningOpaque json.RawMessage
	Text            string
	// Pieces are the text, cut as they are; Text is then empty.
	Chunks     []string
	TextOpaque json.RawMessage
	Refusal    bool
	Calls      []Call
	// Events are sent as they are, in place of reasoning, text and calls. A
	// Finish among them is the only one.
	Events []llm.Event
	// Chunk cuts reasoning, text and arguments into pieces of so many bytes, or a
	// few less, since a character stays whole; 0 leaves them in one piece.
	ChunkSize int
	Warnings  []llm.Warning
	Usage     llm.Usage

	// Finish is tool_calls or stop if it is empty, by whether there are calls.
	FinishReason    llm.FinishReason
	RawFinishReason string
	FinishMessage   string
	ResponseID      string
	Model           string
	Opaque          json.RawMessage // goes on the assistant message
	// OmitFinish leaves the finish out.
	OmitFinish bool

	// Error ends the answer instead of a finish.
	Error *Failure
	// Err is the same for any error; a scenario file can not hold it.
	Err error
	// Stall ends the answer never: the model waits until its context ends.
	Stall bool

	// Attempts are what the first, the second … try of this turn is answered
	// with; only Repeat and Expect may then be set beside them. Without them all
	// tries are answered alike.
	Attempts []Response
}

// Call is a tool call of a Turn. It is sent as a start, the arguments in pieces
// and an end.
type Call struct {
	ID        string // as it is, also if it is empty
	Name      string
	Arguments string // the raw text
	// Pieces are the arguments, cut as they are; Args is then empty.
	Chunks []string
	// Index is the call's place in the turn, from 1, if it is 0.
	Index       int
	OmitIndex   bool // sends no index
	SingleChunk bool // sends the call in one piece
	OmitEnd     bool // leaves the end out
	// ProviderExecuted marks a call that the provider ran; it is sent whole.
	ProviderExecuted bool
	Opaque           json.RawMessage
}

// Failure is an *llm.APIError by script.
type Failure struct {
	Status     int
	Code       string
	Message    string
	RequestID  string
	RetryAfter time.Duration
	// Retryable is whether trying again may help; nil goes by the status: yes
	// for 408, 409, 429 and 500 and above, and for a broken connection.
	Retryable *bool
	// Connection breaks the connection: ConnectionReset or ConnectionClosed.
	Connection string
	// After is how many events are sent before; 0 means all that the turn has.
	After int
}

// The ways in which a connection breaks.
const (
	ConnectionReset  = "reset"  // torn down
	ConnectionClosed = "closed" // ended cleanly, but too early
)

var errReset = errors.New("connection reset by peer")

// FailureOf returns the Failure that is sent as e, the Provider aside; nil if e is.
// An error that lies beneath breaks the connection: io.ErrUnexpectedEOF closes it,
// any other resets it.
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

// APIError returns the error that is sent.
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
	switch s := f.Status; {
	case f.Retryable != nil:
		e.Retryable = *f.Retryable
	default:
		e.Retryable = s == 408 || s == 409 || s == 429 || s >= 500 || e.Err != nil
	}
	return e
}

// err is what ends the answer in place of a finish, or nil.
func (t *Response) err() error {
	switch {
	case t.Err != nil:
		return t.Err
	case t.Error != nil:
		return t.Error.APIError()
	}
	return nil
}

// StreamingEvents returns the events of the turn as they are streamed, without
// what ends it in place of a finish.
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
	if !t.finishes(events) {
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

// finishes reports whether a finish has to be added to the events.
func (t *Response) finishes(events []llm.Event) bool {
	if t.OmitFinish || t.Stall || t.err() != nil {
		return false
	}
	for _, ev := range events {
		if _, ok := ev.(llm.Finish); ok {
			return false
		}
	}
	return true
}

func (t *Response) content() []llm.Event {
	if t.Events != nil {
		return append([]llm.Event(nil), t.Events...)
	}
	var events []llm.Event
	if t.Reasoning != "" || t.ReasoningOpaque != nil {
		pieces := t.cut(nil, t.Reasoning)
		for i, s := range pieces {
			ev := llm.ReasoningDelta{Text: s}
			if i == len(pieces)-1 {
				ev.Opaque = t.ReasoningOpaque
			}
			events = append(events, ev)
		}
	}
	if t.Text != "" || t.Chunks != nil || t.TextOpaque != nil {
		pieces := t.cut(t.Chunks, t.Text)
		for i, s := range pieces {
			ev := llm.TextDelta{Text: s, Refusal: t.Refusal}
			if i == len(pieces)-1 {
				ev.Opaque = t.TextOpaque
			}
			events = append(events, ev)
		}
	}
	for i := range t.Calls {
		events = t.call(events, &t.Calls[i], i+1)
	}
	return events
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
		for _, s := range t.cut(c.Chunks, c.Arguments) {
			events = append(events, llm.ToolCallDelta{Index: index, ID: c.ID, Arguments: s})
		}
	}
	if c.OmitEnd {
		return events
	}
	return append(events, llm.ToolCallEnd{Index: index, ID: c.ID})
}

// cut returns the pieces, or else the text in pieces of Chunk bytes.
func (t *Response) cut(pieces []string, text string) []string {
	if pieces != nil {
		return pieces
	}
	for t.ChunkSize > 0 && len(text) > t.ChunkSize {
		n := t.ChunkSize
		for n > 0 && !utf8.RuneStart(text[n]) {
			n--
		}
		if n == 0 { // no character is that short
			_, n = utf8.DecodeRuneInString(text)
		}
		pieces, text = append(pieces, text[:n]), text[n:]
	}
	if text != "" || pieces == nil {
		pieces = append(pieces, text)
	}
	return pieces
}

// NonStreamingEvents returns the turn's events as they come in one piece: whole
// parts, and the rest as it is streamed.
func (t *Response) NonStreamingEvents() []llm.Event {
	streamed := t.StreamingEvents()
	var events, rest []llm.Event
	for _, ev := range streamed {
		switch ev := ev.(type) {
		case llm.Usage, llm.Warning, llm.Finish, llm.Unknown:
			rest = append(rest, ev)
		case llm.TextDelta, llm.ReasoningDelta, llm.ToolCallStart, llm.ToolCallDelta, llm.ToolCallEnd, llm.PartDone:
		}
	}
	for _, p := range assemble(streamed).Parts {
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

// expand returns the turns with every Repeat written out: these, if there is none.
func expand(turns []Response) []Response {
	if !slices.ContainsFunc(turns, func(t Response) bool { return t.Repeat > 0 }) {
		return turns
	}
	out := make([]Response, 0, len(turns))
	for _, t := range turns {
		if t.Repeat <= 0 {
			out = append(out, t)
			continue
		}
		for n := range t.Repeat {
			out = append(out, t.numbered(strconv.Itoa(n+1)))
		}
	}
	return out
}

// numbered returns the turn with n for {n}.
func (t Response) numbered(n string) Response {
	put := func(s string) string { return strings.ReplaceAll(s, "{n}", n) }
	all := func(list []string) []string {
		if list == nil {
			return nil
		}
		out := make([]string, len(list))
		for i, s := range list {
			out[i] = put(s)
		}
		return out
	}
	t.Reasoning, t.Text, t.Chunks = put(t.Reasoning), put(t.Text), all(t.Chunks)
	calls := make([]Call, len(t.Calls))
	for i, c := range t.Calls {
		c.ID, c.Name, c.Arguments, c.Chunks = put(c.ID), put(c.Name), put(c.Arguments), all(c.Chunks)
		calls[i] = c
	}
	t.Calls = calls
	attempts := make([]Response, len(t.Attempts))
	for i, a := range t.Attempts {
		attempts[i] = a.numbered(n)
	}
	t.Attempts = attempts
	return t
}
