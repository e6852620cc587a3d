package reply

import (
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
	r := &Reply{Status: http.StatusOK, Header: http.Header{}, Delay: t.Delay, Interval: t.EventInterval}
	p.setID(r, "")
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
		p.Fail(r, end)
	case p.Request.ResponseMode == llm.NonStreaming:
		p.renderBody(r, events, end)
	default:
		p.renderStream(r, events, end)
	}
	return r
}

// Fail makes r an error response.
func (p *Response) Fail(r *Reply, e *llm.APIError) {
	r.SetJSON(e.Status, p.Protocol.EncodeError(e))
	if e.RetryAfter > 0 {
		r.Header.Set("Retry-After", strconv.FormatInt(int64((e.RetryAfter+time.Second-1)/time.Second), 10))
	}
	p.setID(r, e.RequestID)
}

// setID sets the header with the request's id; empty means a generated one.
func (p *Response) setID(r *Reply, id string) {
	if id == "" {
		id = "req_" + p.Key.ID()
	}
	if header := p.IDHeader(); header != "" {
		r.Header.Set(header, id)
	}
}

func (p *Response) meta() protocol.ResponseMeta {
	m := protocol.ResponseMeta{ID: p.Script.ResponseID, Model: p.Script.Model, Created: Epoch, Input: p.Script.Usage.InputTokens}
	if m.Model == "" {
		m.Model = p.Request.Model
	}
	if m.ID == "" {
		m.ID = map[string]string{Chat: "chatcmpl-", Responses: "resp_", Messages: "msg_"}[p.Protocol.Name()] + p.Key.ID()
	}
	return m
}

// renderBody makes r a non-streaming response.
func (p *Response) renderBody(r *Reply, events []llm.Event, end *llm.APIError) {
	switch {
	case end != nil && end.Err != nil:
		r.Status = 0
		return
	case end != nil:
		p.Fail(r, end)
		return
	case p.Script.Stall:
		r.End = Hang
		return
	}
	var acc llm.Accumulator
	for _, ev := range events {
		acc.Add(ev)
	}
	body, err := p.Protocol.EncodeResponse(nil, p.meta(), acc.Response())
	if err != nil {
		p.failEncode(r, err)
		return
	}
	r.SetJSON(http.StatusOK, body)
}

// failEncode makes r the error of a response that the protocol cannot encode.
func (p *Response) failEncode(r *Reply, err error) {
	p.Fail(r, &llm.APIError{Status: http.StatusNotImplemented, Message: p.Protocol.Name() + " cannot encode the scripted response: " + err.Error()})
	r.Header.Set("X-Should-Retry", "false")
}

// renderStream makes r a streaming response.
func (p *Response) renderStream(r *Reply, events []llm.Event, end *llm.APIError) {
	r.Header.Set("Content-Type", "text/event-stream; charset=utf-8")
	if p.Array {
		r.Header.Set("Content-Type", "application/json; charset=UTF-8")
		r.Style.Array = true
	}
	const extra = 8 // frames, usually at most, in addition to one per event
	r.Frames = make([]Frame, 0, len(events)+extra)
	texts := jsonio.Arena{BlockSize: 4 << 10}
	write := func(name string, data []byte) { r.Frames = append(r.Frames, Frame{name, texts.Bytes(data)}) }
	enc := p.Protocol.NewEncoder(p.meta())
	for _, ev := range events {
		if err := enc.Event(ev, write); err != nil {
			p.failEncode(r, err)
			return
		}
	}
	switch {
	case end == nil && p.Script.Stall:
		r.End = Hang
	case end == nil:
		if err := enc.End(write); err != nil {
			p.failEncode(r, err)
			return
		}
		p.adaptEnd(r)
	case end.Err == nil:
		r.Frames = append(r.Frames, p.ErrorFrame(end))
	case p.Script.Error.Connection == fake.ConnectionReset:
		r.End = Reset
	default: // the connection closes too early
		r.Open = true
	}
}

// adaptEnd ends a stream as the provider does for this request: Gemini 2.5 sends the
// finish reason with the last part, Chat Completions sends usage on request.
func (p *Response) adaptEnd(r *Reply) {
	switch {
	case p.Provider == Gemini && !gemini.SignsCalls(p.Request.Model):
		const parts = "candidates.0.content.parts"
		n := len(r.Frames) - 1
		if n < 1 || r.Frames[n].At(parts).Raw != `[{"text":""}]` || !r.Frames[n-1].At(parts).Exists() {
			return
		}
		r.Frames[n].Put(parts, r.Frames[n-1].At(parts).Raw)
		r.Cut(n-1, n)
	case p.Protocol.Name() == Chat:
		// Extra does not have what the codec itself would write.
		options, other := p.Request.Extra["stream_options"]
		if at := UsageAt(r); at >= 0 && other && !gjson.GetBytes(options, "include_usage").Bool() {
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
func (p *Response) Message(r *Reply) (m llm.Message, ok bool) {
	var acc llm.Accumulator
	add := func(ev llm.Event) { acc.Add(ev) }
	if len(r.Frames) == 0 {
		if r.Status != http.StatusOK || p.Protocol.DecodeResponse(r.Body, add) != nil {
			return m, false
		}
		return acc.Response().Message(), true
	}
	dec := p.Protocol.NewDecoder()
	for _, f := range r.Frames {
		done, err := dec.Event(f.Name, f.Data, add)
		if err != nil {
			return m, false
		}
		if done {
			break
		}
	}
	if dec.End(add) != nil {
		return m, false
	}
	return acc.Response().Message(), true
}
