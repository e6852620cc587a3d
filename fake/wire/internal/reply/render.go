package reply

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/gemini"
	"github.com/looptape/looptape/providers/protocol"
)

// Response is a scripted response to a request. [Response.Render] encodes it.
type Response struct {
	Endpoint
	Key       Key
	Request   *llm.Request
	Script    fake.Response
	IsLast    bool   // of the script
	Array     bool   // a stream is one JSON array
	MaskedKey string // the credential, as a provider quotes it
}

// Sign adds the signatures that the provider would, if the script has none: Anthropic
// signs thinking, Gemini 3 the first call.
func (p *Response) Sign() {
	t := &p.Script
	signed := func(key, text string) []byte { return []byte(`{"` + key + `":` + Quote(Signature(text)) + `}`) }
	switch {
	case t.Events != nil:
	case p.Provider == Anthropic && t.Reasoning != "" && t.ReasoningOpaque == nil:
		t.ReasoningOpaque = signed("signature", t.Reasoning)
	case p.Provider == Gemini && gemini.SignsCalls(p.Request.Model) && len(t.Calls) > 0 && t.Calls[0].Opaque == nil:
		t.Calls = slices.Clone(t.Calls)
		c := &t.Calls[0]
		c.Opaque = signed("thoughtSignature", c.Name+c.Arguments+strings.Join(c.Chunks, ""))
	}
}

// Epoch is the creation time of all responses: the first second of 2000.
const Epoch = 946684800

// Render encodes the response as the script specifies it.
func (p *Response) Render() *Reply {
	t := &p.Script
	r := &Reply{Response: p, Status: http.StatusOK, Header: http.Header{}, Delay: t.Delay, Interval: t.EventInterval}
	r.setID("")
	events := t.StreamingEvents()
	var end *llm.APIError
	switch {
	case t.Error != nil:
		end = t.Error.APIError()
	case t.Err != nil:
		end = &llm.APIError{Message: t.Err.Error()}
	}
	switch {
	case end != nil && end.Err != nil && len(events) == 0:
		r.Status = 0
	case end != nil && len(events) == 0 && end.Status >= http.StatusBadRequest:
		r.Fail(end)
	case p.Request.ResponseMode == llm.NonStreaming:
		r.renderBody(events, end)
	default:
		r.renderStream(events, end)
	}
	return r
}

// Fail makes r an error response.
func (r *Reply) Fail(e *llm.APIError) {
	r.SetJSON(e.Status, r.Protocol.EncodeError(e))
	if e.RetryAfter > 0 {
		r.Header.Set("Retry-After", strconv.FormatInt(int64((e.RetryAfter+time.Second-1)/time.Second), 10))
	}
	r.setID(e.RequestID)
}

// setID sets the header with the request's id; empty means a generated one.
func (r *Reply) setID(id string) {
	if header := r.IDHeader(); header != "" {
		r.Header.Set(header, cmp.Or(id, "req_"+r.Key.ID()))
	}
}

func (p *Response) meta() protocol.ResponseMeta {
	t := &p.Script
	prefix := map[string]string{Chat: "chatcmpl-", Responses: "resp_", Messages: "msg_"}[p.Protocol.Name()]
	return protocol.ResponseMeta{
		ID: cmp.Or(t.ResponseID, prefix+p.Key.ID()), Model: cmp.Or(t.Model, p.Request.Model),
		Created: Epoch, Input: t.Usage.InputTokens,
	}
}

// renderBody makes r a non-streaming response.
func (r *Reply) renderBody(events []llm.Event, end *llm.APIError) {
	switch {
	case end != nil && end.Err != nil:
		r.Status = 0
		return
	case end != nil:
		r.Fail(end)
		return
	case r.Script.Stall:
		r.End = Hang
		return
	}
	var acc llm.Accumulator
	for _, ev := range events {
		acc.Add(ev)
	}
	if body, err := r.Protocol.EncodeResponse(nil, r.meta(), acc.Response()); err != nil {
		r.failEncode(err)
	} else {
		r.SetJSON(http.StatusOK, body)
	}
}

// failEncode makes r the error of a response that the protocol cannot encode.
func (r *Reply) failEncode(err error) {
	message := r.Protocol.Name() + " cannot encode the scripted response: " + err.Error()
	r.Fail(&llm.APIError{Status: http.StatusNotImplemented, Message: message})
	r.Header.Set("X-Should-Retry", "false")
}

// renderStream makes r a streaming response.
func (r *Reply) renderStream(events []llm.Event, end *llm.APIError) {
	r.Header.Set("Content-Type", "text/event-stream; charset=utf-8")
	if r.Array {
		r.Header.Set("Content-Type", "application/json; charset=UTF-8")
		r.Style.Array = true
	}
	const extra = 8 // frames, usually at most, in addition to one per event
	r.Frames = make([]Frame, 0, len(events)+extra)
	texts := jsonio.Arena{BlockSize: 4 << 10}
	write := func(name string, data []byte) { r.Frames = append(r.Frames, Frame{name, texts.Bytes(data)}) }
	enc := r.Protocol.NewEncoder(r.meta())
	for _, ev := range events {
		if err := enc.Event(ev, write); err != nil {
			r.failEncode(err)
			return
		}
	}
	switch {
	case end == nil && r.Script.Stall:
		r.End = Hang
	case end == nil:
		if err := enc.End(write); err != nil {
			r.failEncode(err)
			return
		}
		r.adaptEnd()
	case end.Err == nil:
		r.Frames = append(r.Frames, r.ErrorFrame(end))
	case r.Script.Error.Connection == fake.ConnectionReset:
		r.End = Reset
	default: // the connection closes too early
		r.Open = true
	}
}

// adaptEnd ends a stream as the provider does for this request: Gemini 2.5 sends the
// finish reason with the last part, Chat Completions sends usage on request.
func (r *Reply) adaptEnd() {
	switch {
	case r.Provider == Gemini && !gemini.SignsCalls(r.Request.Model):
		const parts = "candidates.0.content.parts"
		n := len(r.Frames) - 1
		if n < 1 || r.Frames[n].At(parts).Raw != `[{"text":""}]` || !r.Frames[n-1].At(parts).Exists() {
			return
		}
		r.Frames[n].Put(parts, r.Frames[n-1].At(parts).Raw)
		r.Cut(n-1, n)
	case r.Protocol.Name() == Chat:
		// Extra does not have what the codec itself would write.
		options, other := r.Request.Extra["stream_options"]
		if !other || gjson.GetBytes(options, "include_usage").Bool() {
			return
		}
		if at := UsageAt(r); at >= 0 {
			r.Cut(at, at+1)
		}
	}
}

// ErrorFrame returns an error as an event of a stream.
func (p *Response) ErrorFrame(e *llm.APIError) Frame {
	body := p.Protocol.EncodeError(e)
	switch {
	case p.Protocol.Name() == Responses:
		return Frame{"error", append([]byte(`{"type":"error",`), body[1:]...)}
	case p.Provider == Anthropic:
		return Frame{"error", body}
	}
	return Frame{"", body}
}

// Message returns the message that a client decodes from r; ok is false if r is an
// error or incomplete.
func (r *Reply) Message() (m llm.Message, ok bool) {
	response, ok := r.Decoded()
	if ok {
		m = response.Message()
	}
	return m, ok
}

// Decoded returns the response that a client decodes from r; ok is false if r is an
// error or incomplete.
func (r *Reply) Decoded() (response *llm.Response, ok bool) {
	var acc llm.Accumulator
	add := func(ev llm.Event) { acc.Add(ev) }
	if len(r.Frames) == 0 {
		if r.Status != http.StatusOK || r.Protocol.DecodeResponse(r.Body, add) != nil {
			return nil, false
		}
		return acc.Response(), true
	}
	dec := r.Protocol.NewDecoder()
	for _, f := range r.Frames {
		done, err := dec.Event(f.Name, f.Data, add)
		if err != nil {
			return nil, false
		}
		if done {
			break
		}
	}
	if dec.End(add) != nil {
		return nil, false
	}
	return acc.Response(), true
}
