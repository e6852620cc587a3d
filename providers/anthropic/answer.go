package anthropic

import (
	"fmt"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/internal/wirejson"
	"github.com/looptape/looptape/providers/protocol"
)

// DecodeResponse implements [protocol.Protocol].
func (Messages) DecodeResponse(body []byte, emit func(llm.Event)) error {
	if !jsonio.ValidUTF8(body) {
		return wirejson.UnexpectedBody(body)
	}
	d := jsonio.NewDec(string(body))
	if d.Peek() != '{' {
		return wirejson.UnexpectedBody(body)
	}
	var s decoder
	var ev event
	s.readResponse(&d, &ev)
	switch err := d.End(); {
	case err != nil:
		return fmt.Errorf("%w: %w", wirejson.UnexpectedBody(body), err)
	case ev.kind == eventError || ev.error:
		e, _ := readError(body)
		return e
	case ev.kind != "message":
		return wirejson.UnexpectedBody(body)
	}
	for _, p := range ev.parts {
		s.a.block(p, emit)
	}
	if ev.usage {
		emit(s.counts.usage())
	}
	s.finish(emit)
	return nil
}

func (s *decoder) readResponse(d *jsonio.Dec, ev *event) {
	for key := range d.Members() {
		switch key {
		case "type":
			ev.kind = wirejson.String(d)
		case "error":
			ev.error = d.Peek() != 'n'
			d.Skip()
		default:
			s.readMember(d, key, ev)
		}
	}
}

// EncodeResponse implements [protocol.Protocol]. Arguments that are not JSON become a string.
func (Messages) EncodeResponse(dst []byte, a protocol.ResponseMeta, t *llm.Response) ([]byte, error) {
	w := newWriter(append(dst, '{'))
	w.responseHead(a)
	for i, p := range t.Parts {
		w.part = i
		if i > 0 {
			w.dst = append(w.dst, ',')
		}
		w.responseBlock(p)
	}
	w.dst = append(w.dst, "],"...)
	w.dst = appendEnding(w.dst, llm.Finish{Reason: t.FinishReason, Raw: t.RawFinishReason, Message: t.FinishMessage, Opaque: t.Opaque})
	w.dst = appendUsage(append(w.dst, `,"usage":`...), usageOf(a, t.Usage))
	w.dst = appendAnswer(w.dst, t.Opaque)
	return append(w.dst, '}'), w.err
}
