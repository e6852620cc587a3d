package gemini

import (
	"slices"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/internal/wirejson"
	"github.com/looptape/looptape/providers/protocol"
)

// encoder writes the chunks of a response: a chunk for each part, with the usage so far, and a
// last chunk with the finish reason and empty text, as Gemini 3 does. It writes a call when it
// is complete and holds later events until then. A call that is incomplete at the end has
// willContinue, as on Vertex AI.
type encoder struct {
	meta    protocol.ResponseMeta
	usage   llm.Usage
	written llm.Usage
	held    llm.Accumulator // what came since a call was opened
	open    int             // calls in waiting that have not ended
	unnamed []int           // the indexes of those that have no name yet
	finish  *llm.Finish
	buf     []byte
}

func newEncoder(a protocol.ResponseMeta) *encoder {
	return &encoder{meta: a, usage: llm.Usage{InputTokens: a.Input}}
}

// Event implements [protocol.Encoder].
func (e *encoder) Event(ev llm.Event, write func(name string, data []byte)) error {
	switch ev := ev.(type) {
	case llm.ToolCallStart, llm.ToolCallDelta, llm.ToolCallEnd:
		return e.call(ev, write)
	case llm.Usage:
		e.usage = e.usage.Update(ev)
	case llm.Finish:
		e.finish = merged(e.finish, ev)
	case llm.TextDelta:
		return e.write(ev, llm.Text{Text: ev.Text, Opaque: ev.Opaque}, write)
	case llm.ReasoningDelta:
		return e.write(ev, llm.Reasoning(ev), write)
	case llm.PartDone:
		return e.write(ev, ev.Part, write)
	case llm.Warning, llm.Unknown:
	}
	return nil
}

// merged returns the finish f with missing members of was.
func merged(was *llm.Finish, f llm.Finish) *llm.Finish {
	if was == nil {
		return &f
	}
	if f.Reason == "" {
		f.Reason, f.Raw = was.Reason, was.Raw
	}
	if f.Message == "" {
		f.Message = was.Message
	}
	if f.Opaque == nil {
		f.Opaque = was.Opaque
	}
	return &f
}

// write writes a part, or holds it while a call is open.
func (e *encoder) write(ev llm.Event, p llm.Part, write func(name string, data []byte)) error {
	if e.open > 0 {
		e.held.Add(ev)
		return nil
	}
	return e.part(p, write)
}

// call handles an event of a call. The end of the last open call releases the held events. It
// drops events without a call.
func (e *encoder) call(ev llm.Event, write func(name string, data []byte)) error {
	start, isStart := ev.(llm.ToolCallStart)
	if !isStart && e.open == 0 {
		return nil
	}
	c := e.held.Add(ev)
	at := slices.Index(e.unnamed, c.Index)
	switch ev.(type) {
	case llm.ToolCallStart:
		switch {
		case start.Index != 0 && start.Name != "" && at >= 0:
			e.unnamed = slices.Delete(e.unnamed, at, at+1)
			return nil // it had come without its name
		case start.Name == "":
			e.unnamed = append(e.unnamed, start.Index)
		}
		e.open++
	case llm.ToolCallEnd:
		if c.Name == "" {
			e.unnamed = slices.Delete(e.unnamed, at, at+1)
		}
		if e.open--; e.open == 0 {
			return e.flush(write)
		}
	default:
	}
	return nil
}

// flush writes the held events.
func (e *encoder) flush(write func(name string, data []byte)) error {
	t := e.held.Response()
	e.held.Reset()
	e.open, e.unnamed = 0, e.unnamed[:0]
	for _, p := range t.Parts {
		if err := e.part(p, write); err != nil {
			return err
		}
	}
	return nil
}

// part writes a chunk with one part.
func (e *encoder) part(p llm.Part, write func(name string, data []byte)) error {
	content := append(e.buf[:0], `{"parts":[`...)
	from := len(content)
	content, err := appendOutput(content, p)
	if err != nil || len(content) == from {
		return err
	}
	content = append(content, `],"role":"model"}`...)
	e.buf = content
	e.written = e.usage
	write("", appendChunk(nil, e.meta, string(content), nil, e.usage))
	return nil
}

// End implements [protocol.Encoder].
func (e *encoder) End(write func(name string, data []byte)) error {
	if err := e.flush(write); err != nil {
		return err
	}
	switch {
	case e.finish != nil:
		content := ""
		if reasonOf(wordOf(e.finish.Reason, e.finish.Raw)) == llm.FinishStop {
			content = `{"parts":[{"text":""}],"role":"model"}`
		}
		write("", appendChunk(nil, e.meta, content, e.finish, e.usage))
	case e.usage != e.written:
		write("", appendChunk(nil, e.meta, "", nil, e.usage))
	}
	return nil
}

// EncodeResponse implements [protocol.Protocol].
func (GenerateContent) EncodeResponse(dst []byte, a protocol.ResponseMeta, t *llm.Response) ([]byte, error) {
	content := []byte(`{"parts":[`)
	from := len(content)
	for _, p := range t.Parts {
		var err error
		if content, err = appendOutput(content, p); err != nil {
			return dst, err
		}
	}
	if len(content) == from {
		content = content[:0]
	} else {
		content = append(content, `],"role":"model"}`...)
	}
	u := llm.Usage{InputTokens: a.Input}.Update(t.Usage)
	finish := &llm.Finish{Reason: t.FinishReason, Raw: t.RawFinishReason, Message: t.FinishMessage, Opaque: t.Opaque}
	return appendChunk(dst, a, string(content), finish, u), nil
}

// appendOutput appends a part of a response with the arguments of a call unchanged. A call with
// arguments that are not JSON becomes incomplete.
func appendOutput(dst []byte, p llm.Part) ([]byte, error) {
	c, ok := p.(llm.ToolCall)
	if !ok || c.ProviderExecuted {
		return appendPart(dst, p)
	}
	dst = append(wirejson.AppendKey(append(wirejson.AppendComma(dst), '{'), keyCall), '{')
	if id := wireID(&c); id != "" {
		dst = wirejson.AppendString(dst, "id", id)
	}
	dst = wirejson.AppendString(dst, "name", wireName(c.Name))
	switch {
	case c.Arguments == "":
	case jsonio.Valid([]byte(c.Arguments)) && c.Arguments[0] != '"':
		dst = jsonio.AppendRaw(wirejson.AppendKey(dst, "args"), []byte(c.Arguments))
	default:
		dst = append(dst, `,"willContinue":true`...)
	}
	dst = append(dst, '}')
	return append(appendMembers(dst, restOf(c.Opaque), keyCall), '}'), nil
}

// appendChunk appends a response or a chunk.
func appendChunk(dst []byte, a protocol.ResponseMeta, content string, finish *llm.Finish, u llm.Usage) []byte {
	dst = append(dst, '{')
	if content != "" || finish != nil {
		dst = append(dst, `"candidates":[{`...)
		if content != "" {
			dst = append(wirejson.AppendKey(dst, "content"), content...)
		}
		if finish != nil {
			dst = wirejson.AppendString(dst, "finishReason", wordOf(finish.Reason, finish.Raw))
		}
		dst = append(wirejson.AppendKey(dst, "index"), '0')
		if finish != nil && finish.Message != "" {
			dst = wirejson.AppendString(dst, "finishMessage", finish.Message)
		}
		if finish != nil {
			dst = appendMembers(dst, keptOf(finish.Opaque, keyCandidate))
		}
		dst = append(dst, "}]"...)
	}
	dst = appendUsage(wirejson.AppendKey(dst, "usageMetadata"), u)
	if a.Model != "" {
		dst = wirejson.AppendString(dst, "modelVersion", a.Model)
	}
	if a.ID != "" {
		dst = wirejson.AppendString(dst, "responseId", a.ID)
	}
	if finish != nil {
		dst = appendMembers(dst, keptOf(finish.Opaque, keyResponseMembers))
	}
	return append(dst, '}')
}
