package llmtest

import (
	"unicode/utf8"

	"github.com/looptape/looptape/llm"
)

// speech is what an answer says, before it is cut into events.
type content struct {
	parts  []llm.Part
	usage  llm.Usage
	finish llm.FinishReason // "" is stop, or tool_calls if there are calls
}

// answer cuts a speech into events of so many bytes, or a few less, since a
// character stays whole; 0 leaves each part in one piece.
func (s content) script(size int) Response {
	var events []llm.Event
	calls := 0
	for _, p := range s.parts {
		switch p := p.(type) {
		case llm.Text:
			pieces := split(p.Text, size)
			for i, piece := range pieces {
				ev := llm.TextDelta{Text: piece, Refusal: p.Refusal}
				if i == len(pieces)-1 {
					ev.Opaque = p.Opaque
				}
				events = append(events, ev)
			}
		case llm.Reasoning:
			pieces := split(p.Text, size)
			for i, piece := range pieces {
				ev := llm.ReasoningDelta{Text: piece}
				if i == len(pieces)-1 {
					ev.Opaque = p.Opaque
				}
				events = append(events, ev)
			}
		case llm.ToolCall:
			calls++
			events = append(events, llm.ToolCallStart{Index: calls, ID: p.ID, Name: p.Name, Opaque: p.Opaque})
			for _, piece := range split(p.Arguments, size) {
				events = append(events, llm.ToolCallDelta{Index: calls, ID: p.ID, Arguments: piece})
			}
			events = append(events, llm.ToolCallEnd{Index: calls, ID: p.ID})
		default:
			events = append(events, llm.PartDone{Part: p})
		}
	}
	if s.usage != (llm.Usage{}) {
		events = append(events, s.usage)
	}
	finish := s.finish
	switch {
	case finish != "":
	case calls > 0:
		finish = llm.FinishToolCalls
	default:
		finish = llm.FinishStop
	}
	return Response{Events: append(events, llm.Finish{Reason: finish})}
}

// turn is the turn that it makes.
func (s content) response() *llm.Response { return (&result{events: s.script(0).Events}).response() }

// cut returns a text in pieces.
func split(text string, size int) (pieces []string) {
	for size > 0 && len(text) > size {
		n := size
		for n > 0 && !utf8.RuneStart(text[n]) {
			n--
		}
		if n == 0 { // no character is that short
			_, n = utf8.DecodeRuneInString(text)
		}
		pieces, text = append(pieces, text[:n]), text[n:]
	}
	return append(pieces, text)
}
