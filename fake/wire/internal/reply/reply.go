// Package reply renders a scripted response in the wire protocol of a provider, as a
// [Reply] that quirks can edit before it is written. What requests are rejected is in
// package strict.
package reply

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/looptape/looptape/internal/sse"
	"github.com/looptape/looptape/providers/protocol"
)

// Provider is the name of a provider.
type Provider string

// The providers.
const (
	OpenAI    Provider = "openai"
	Anthropic Provider = "anthropic"
	Gemini    Provider = "gemini"
)

// The names of the protocols.
const (
	Chat      = "openai-chat"
	Responses = "openai-responses"
	Messages  = "anthropic-messages"
	Generate  = "gemini"
)

// The types that providers give to an invalid request.
const (
	InvalidRequest  = "invalid_request_error"
	InvalidArgument = "INVALID_ARGUMENT"
)

// Messages of providers that both a rejected request and a quirk show.
const (
	// UnansweredToolUses takes the index of the message and the ids.
	UnansweredToolUses = "messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %s. Each `tool_use` block must have a corresponding `tool_result` block in the next message."
	UnequalResponses   = "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn."
)

// Endpoint is one path of a provider.
type Endpoint struct {
	Provider Provider
	Protocol protocol.Protocol
	Path     string // for the codec
}

// IDHeader returns the header with the provider's id of a request; empty means none.
func (e Endpoint) IDHeader() string {
	switch e.Provider {
	case Anthropic:
		return "Request-Id"
	case OpenAI:
		return "X-Request-Id"
	case Gemini:
	}
	return ""
}

// InvalidType returns the type that the provider gives to an invalid request.
func (e Endpoint) InvalidType() string {
	if e.Provider == Gemini {
		return InvalidArgument
	}
	return InvalidRequest
}

// Reply is the HTTP response for a [Response] before it is written.
type Reply struct {
	*Response
	Status int // 0 means that the connection breaks before there is a response
	Header http.Header
	// Frames are the events of a stream. Body follows them unchanged.
	Frames []Frame
	Body   Data
	Style  Style
	Chunk  int // bytes per write; 0 means one frame
	End    Ending
	Open   bool // the stream is not terminated
	// Repeat is written again and again after the rest, if End is Hang.
	Repeat []byte
	// Delay is the time before the first chunk, Interval that between two. Wait waits
	// for them; nil means not to wait.
	Delay, Interval time.Duration
	Wait            func(time.Duration) error
	// Complete is called before the first chunk that no wait follows: the client may
	// have the complete response from then on.
	Complete func()
}

// Frame is one event of a stream.
type Frame struct {
	Name string
	Data
}

// NewFrame returns an event.
func NewFrame(name, data string) Frame { return Frame{name, Data(data)} }

// Ending is what follows the last byte.
type Ending int

// The endings.
const (
	EndBody Ending = iota // the end of the response
	Hang                  // nothing, until the client disconnects
	Reset                 // a connection reset
)

// Style is the layout of a stream. The zero value is the usual one.
type Style struct {
	Array       bool   // one JSON array, as Gemini streams without alt=sse
	LineEnd     string // of each line; empty means LF
	Prefix      string // before the first event
	EventPrefix string // before each event
	NoSpace     bool   // no space after "data:"
	SplitData   bool   // data in two lines
	BareLast    bool   // the last event is written without "data:"
}

// SetJSON makes r a response with a JSON body.
func (r *Reply) SetJSON(status int, body []byte) {
	r.Status, r.Body, r.Frames = status, body, nil
	r.Header.Set("Content-Type", "application/json")
}

// chunks returns what is written, with one flush each, and their number. A chunk is
// valid until the next one.
func (r *Reply) chunks() (n int, each iter.Seq[[]byte]) {
	n = len(r.Frames)
	ends := r.Style.Array && !r.Open && r.End == EndBody
	if ends {
		n++
	}
	if len(r.Body) > 0 {
		n++
	}
	each = func(yield func([]byte) bool) {
		const overhead = 64 // bytes per frame, usually at most
		size := 0
		for _, f := range r.Frames {
			size = max(size, len(f.Data)+overhead)
		}
		text := make([]byte, 0, size)
		for i, f := range r.Frames {
			if text = r.Style.append(text[:0], f, i, i == len(r.Frames)-1); !yield(text) {
				return
			}
		}
		if ends && !yield([]byte("]")) {
			return
		}
		if len(r.Body) > 0 {
			yield(r.Body)
		}
	}
	if r.Chunk == 0 {
		return n, each
	}
	var whole []byte
	for b := range each {
		whole = append(whole, b...)
	}
	return (len(whole) + r.Chunk - 1) / r.Chunk, slices.Chunk(whole, r.Chunk)
}

// Bytes returns the body, and where each chunk ends.
func (r *Reply) Bytes() (body []byte, ends []int) {
	_, chunks := r.chunks()
	for b := range chunks {
		body = append(body, b...)
		ends = append(ends, len(body))
	}
	return body, ends
}

// append appends the i-th frame.
func (s Style) append(dst []byte, f Frame, i int, last bool) []byte {
	if s.Array {
		start := ",\r\n"
		if i == 0 {
			start = "["
		}
		return append(append(dst, start...), f.Data...)
	}
	if i == 0 {
		dst = append(dst, s.Prefix...)
	}
	dst = append(dst, s.EventPrefix...)
	if s.BareLast && last {
		return append(append(dst, f.Data...), '\n')
	}
	data := f.Data
	if s.SplitData && IsObject(data) {
		data = append([]byte("{\n"), data[1:]...) // white space in JSON, a line end in the stream
	}
	begin := len(dst)
	dst = sse.Append(dst, f.Name, data)
	if s.NoSpace {
		lines := append([]byte("\n"), dst[begin:]...)
		dst = append(dst[:begin], bytes.ReplaceAll(lines, []byte("\ndata: "), []byte("\ndata:"))[1:]...)
	}
	if s.LineEnd != "" {
		dst = append(dst[:begin], bytes.ReplaceAll(dst[begin:], []byte("\n"), []byte(s.LineEnd))...)
	}
	return dst
}

// repeatInterval is the time between two writes of Repeat.
const repeatInterval = 15 * time.Second

// Write sends r. It returns when the client has all of it or has disconnected.
func (r *Reply) Write(ctx context.Context, w http.ResponseWriter) {
	if r.Status == 0 || r.wait(r.Delay) != nil {
		panic(http.ErrAbortHandler)
	}
	maps.Copy(w.Header(), r.Header)
	w.WriteHeader(r.Status)
	flush := http.NewResponseController(w)
	put := func(b []byte) bool {
		if _, err := w.Write(b); err != nil {
			return false // the client has disconnected
		}
		err := flush.Flush()
		return err == nil || errors.Is(err, http.ErrNotSupported)
	}
	n, chunks := r.chunks()
	i, rest := 0, 0
	if r.Interval > 0 {
		rest = n - 1
	}
	for b := range chunks {
		if i > 0 && r.wait(r.Interval) != nil {
			return
		}
		if i == rest {
			r.Complete()
		}
		if !put(b) {
			return
		}
		i++
	}
	if r.End == EndBody {
		return
	}
	_ = flush.Flush() // the headers, if there was no chunk
	if r.End == Reset {
		panic(http.ErrAbortHandler)
	}
	for len(r.Repeat) > 0 && ctx.Err() == nil && put(r.Repeat) && r.wait(repeatInterval) == nil {
		continue
	}
	<-ctx.Done()
}

func (r *Reply) wait(d time.Duration) error {
	if d == 0 || r.Wait == nil {
		return nil
	}
	return r.Wait(d)
}
