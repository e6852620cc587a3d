package llmtest

import (
	"unicode/utf8"

	"github.com/looptape/looptape/llm"
)

// content is the content of a response.
type content struct {
	parts  []llm.Part
	usage  llm.Usage
	finish llm.FinishReason // "" is stop, or tool_calls if there are calls
}

// script returns the content as events with chunks of at most size bytes, each of which
// ends between characters; 0 means a single chunk.
func (s content) script(size int) Response {
	var events []llm.Event
	calls := 0
	for _, p := range s.parts {
		switch p := p.(type) {
		case llm.Text:
			chunks := split(p.Text, size)
			for i, chunk := range chunks {
				ev := llm.TextDelta{Text: chunk, Refusal: p.Refusal}
				if i == len(chunks)-1 {
					ev.Opaque = p.Opaque
				}
				events = append(events, ev)
			}
		case llm.Reasoning:
			chunks := split(p.Text, size)
			for i, chunk := range chunks {
				ev := llm.ReasoningDelta{Text: chunk}
				if i == len(chunks)-1 {
					ev.Opaque = p.Opaque
				}
				events = append(events, ev)
			}
		case llm.ToolCall:
			calls++
			events = append(events, llm.ToolCallStart{Index: calls, ID: p.ID, Name: p.Name, Opaque: p.Opaque})
			for _, chunk := range split(p.Arguments, size) {
				events = append(events, llm.ToolCallDelta{Index: calls, ID: p.ID, Arguments: chunk})
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

// response returns the assembled response.
func (s content) response() *llm.Response { return (&result{events: s.script(0).Events}).response() }

// split returns a string in chunks.
func split(text string, size int) (chunks []string) {
	for size > 0 && len(text) > size {
		n := size
		for n > 0 && !utf8.RuneStart(text[n]) {
			n--
		}
		if n == 0 { // the first character is longer than a chunk
			_, n = utf8.DecodeRuneInString(text)
		}
		chunks, text = append(chunks, text[:n]), text[n:]
	}
	return append(chunks, text)
}
