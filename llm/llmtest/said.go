package llmtest

import (
	"unicode/utf8"

	"github.com/looptape/looptape/llm"
)

// speech is what an answer says, before it is cut into events.
type speech struct {
	parts  []llm.Part
	usage  llm.Usage
	finish llm.FinishReason // "" is stop, or tool_calls if there are calls
}

// answer cuts a speech into events of so many bytes, or a few less, since a
// character stays whole; 0 leaves each part in one piece.
func (s speech) answer(size int) Response {
	var events []llm.Event
	calls := 0
	for _, p := range s.parts {
		switch p := p.(type) {
		case llm.Text:
			pieces := cut(p.Text, size)
			for i, piece := range pieces {
				ev := llm.TextDelta{Text: piece, Refusal: p.Refusal}
				if i == len(pieces)-1 {
					ev.Opaque = p.Opaque
				}
				events = append(events, ev)
			}
		case llm.Reasoning:
			pieces := cut(p.Text, size)
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
			for _, piece := range cut(p.Arguments, size) {
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
func (s speech) turn() *llm.Response { return (&answer{events: s.answer(0).Events}).turn() }

// cut returns a text in pieces.
func cut(text string, size int) (pieces []string) {
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
