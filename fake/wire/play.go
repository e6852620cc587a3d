package wire

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/tidwall/gjson"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/anthropic"
	"github.com/looptape/looptape/providers/gemini"
	openaichat "github.com/looptape/looptape/providers/openai/chat"
	openairesponses "github.com/looptape/looptape/providers/openai/responses"
	"github.com/looptape/looptape/providers/protocol"
)

// play is one answer that is being made. Quirks see it.
type play struct {
	endpoint
	place   spot
	request *llm.Request
	turn    fake.Response // as it is encoded
	last    bool          // the script has no turn after it
	array   bool          // a stream is one JSON array
	masked  string        // what may be told of the key
}

// answer plays a turn of the script.
func (x *exchange) answer(ctx context.Context, req *llm.Request, t *fake.Response) {
	p := &play{endpoint: x.endpoint, place: x.place, request: req, turn: *t, array: x.array, masked: x.masked}
	p.last = x.place.Response == len(x.server.cfg.Model.Script(x.place.Session))-1
	r, shown := p.shows(x.server.cfg.Quirks)
	x.server.show(shown)
	r.whole = func() {
		if said, ok := p.said(r); ok {
			x.server.watch.AddResponse(x.talk, said)
		}
	}
	if wait := x.server.cfg.Wait; wait != nil {
		r.pace = func(d time.Duration) error { return wait(ctx, d) }
	}
	if !x.server.cfg.Delays {
		r.delay, r.between = 0, 0
	}
	r.write(ctx, x.w)
}

// shows returns the answer with quirks, and which of them are shown.
func (p *play) shows(quirks []Quirk) (r *reply, shown []bool) {
	p.sign(&p.turn)
	shown = make([]bool, len(quirks))
	for i, q := range quirks {
		if q.applies(p) && q.form.turn != nil {
			shown[i] = q.form.turn(p, &p.turn)
		}
	}
	r = p.render()
	for i, q := range quirks {
		if q.applies(p) && q.form.reply != nil {
			shown[i] = q.form.reply(p, r) || shown[i]
		}
	}
	return r, shown
}

// show counts the quirks of an answer.
func (s *Server) show(shown []bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, yes := range shown {
		if !yes {
			continue
		}
		if s.report.Shown == nil {
			s.report.Shown = map[string]int{}
		}
		s.report.Shown[s.cfg.Quirks[i].String()]++
	}
}

// epoch is when all answers were made.
const epoch = 946684800 // the first second of 2000

// render returns the answer as the script has it.
func (p *play) render() *reply {
	t := &p.turn
	r := &reply{status: http.StatusOK, header: http.Header{}, delay: t.Delay, between: t.EventInterval}
	p.id(r, "")
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
		r.status = 0
	case end != nil && len(events) == 0 && end.Status >= http.StatusBadRequest:
		p.fail(r, end)
	case p.request.ResponseMode == llm.NonStreaming:
		p.buffered(r, events, end)
	default:
		p.streamed(r, events, end)
	}
	return r
}

// fail makes r an error.
func (p *play) fail(r *reply, e *llm.APIError) {
	r.json(e.Status, p.proto.EncodeError(e))
	if e.RetryAfter > 0 {
		r.header.Set("Retry-After", strconv.FormatInt(int64((e.RetryAfter+time.Second-1)/time.Second), 10))
	}
	p.id(r, e.RequestID)
}

// id tells the client what the request is called.
func (p *play) id(r *reply, id string) {
	if id == "" {
		id = "req_" + p.place.name()
	}
	if header := p.idHeader(); header != "" {
		r.header.Set(header, id)
	}
}

// meta is what the answer says of itself.
func (p *play) meta() protocol.ResponseMeta {
	a := protocol.ResponseMeta{ID: p.turn.ResponseID, Model: p.turn.Model, Created: epoch, Input: p.turn.Usage.InputTokens}
	if a.Model == "" {
		a.Model = p.request.Model
	}
	if a.ID != "" {
		return a
	}
	a.ID = p.place.name()
	switch p.proto.(type) {
	case openaichat.Protocol:
		a.ID = "chatcmpl-" + a.ID
	case openairesponses.Protocol:
		a.ID = "resp_" + a.ID
	case anthropic.Messages:
		a.ID = "msg_" + a.ID
	}
	return a
}

// buffered makes r the answer in one piece.
func (p *play) buffered(r *reply, events []llm.Event, end *llm.APIError) {
	switch {
	case end != nil && end.Err != nil:
		r.status = 0
		return
	case end != nil:
		p.fail(r, end)
		return
	case p.turn.Stall:
		r.end = hang
		return
	}
	var acc llm.Accumulator
	for _, ev := range events {
		acc.Add(ev)
	}
	body, err := p.proto.EncodeResponse(nil, p.meta(), acc.Response())
	if err != nil {
		p.cannot(r, err)
		return
	}
	r.json(http.StatusOK, body)
}

// cannot makes r say that the script wants what the protocol cannot say.
func (p *play) cannot(r *reply, err error) {
	p.fail(r, &llm.APIError{Status: http.StatusNotImplemented, Message: p.proto.Name() + " cannot say what the script wants: " + err.Error()})
	r.header.Set("X-Should-Retry", "false")
}

// streamed makes r the answer piece by piece.
func (p *play) streamed(r *reply, events []llm.Event, end *llm.APIError) {
	r.header.Set("Content-Type", "text/event-stream; charset=utf-8")
	if p.array {
		r.header.Set("Content-Type", "application/json; charset=UTF-8")
		r.style.array = true
	}
	const around = 8 // frames, at most usually, beside one an event
	r.frames = make([]frame, 0, len(events)+around)
	texts := jsonio.Arena{Piece: 4 << 10}
	write := func(name string, data []byte) { r.frames = append(r.frames, frame{name, texts.Bytes(data)}) }
	enc := p.proto.NewEncoder(p.meta())
	for _, ev := range events {
		if err := enc.Event(ev, write); err != nil {
			p.cannot(r, err)
			return
		}
	}
	switch {
	case end == nil && p.turn.Stall:
		r.end = hang
	case end == nil:
		if err := enc.End(write); err != nil {
			p.cannot(r, err)
			return
		}
		p.plain(r)
	case end.Err == nil:
		r.frames = append(r.frames, p.tell(end))
	case p.turn.Error.Connection == fake.ConnectionReset:
		r.end = reset
	default: // closed too early
		r.open = true
	}
}

// plain makes a stream that came to its end as the provider has it.
func (p *play) plain(r *reply) {
	switch {
	case p.provider == Gemini && !gemini.SignsCalls(p.request.Model):
		r.frames = finishWithLast(r.frames)
	case p.proto.Name() == chat && !p.asksUsage():
		if at := usageAt(r); at >= 0 {
			r.cut(at, at+1)
		}
	}
}

// asksUsage reports whether a request of Chat Completions asks for the usage of a
// stream. What the codec itself would write is not in Extra.
func (p *play) asksUsage() bool {
	options, other := p.request.Extra["stream_options"]
	return !other || gjson.GetBytes(options, "include_usage").Bool()
}

// tell is an error in a stream.
func (p *play) tell(e *llm.APIError) frame {
	body := p.proto.EncodeError(e)
	switch {
	case p.proto.Name() == responses:
		return frame{"error", append([]byte(`{"type":"error",`), body[1:]...)}
	case p.provider == Anthropic:
		return frame{"error", body}
	}
	return frame{"", body}
}

// said is what the project's own client reads in r.
func (p *play) said(r *reply) (m llm.Message, ok bool) {
	var acc llm.Accumulator
	add := func(ev llm.Event) { acc.Add(ev) }
	if len(r.frames) == 0 {
		if r.status != 200 || p.proto.DecodeResponse(r.body, add) != nil {
			return m, false
		}
		return acc.Response().Message(), true
	}
	dec := p.proto.NewDecoder()
	for _, f := range r.frames {
		done, err := dec.Event(f.name, f.data, add)
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
