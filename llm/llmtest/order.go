package llmtest

import (
	"fmt"
	"slices"

	"github.com/looptape/looptape/llm"
)

// checkOrder describes the first violation in the order of events, or returns an empty
// string. complete is true if the response reached its end.
func checkOrder(events []llm.Event, complete bool) string {
	var s sequence
	for i, ev := range events {
		if wrong := s.next(ev); wrong != "" {
			return fmt.Sprintf("event %d, %s: %s", i, formatEvent(ev), wrong)
		}
	}
	switch {
	case !complete:
		return ""
	case !s.finished:
		return "the response ended without a Finish"
	case len(s.open) > 0:
		return fmt.Sprintf("the response ended before the call %s", s.open[0])
	}
	return ""
}

// sequence is the state of a response.
type sequence struct {
	open     []callKey
	finished bool
}

// callKey identifies the events of a call.
type callKey struct {
	index int
	id    string
}

func (k callKey) String() string { return fmt.Sprintf("%d %q", k.index, k.id) }

func (s *sequence) next(ev llm.Event) string {
	switch ev := ev.(type) {
	case llm.Usage, llm.Warning, llm.Unknown:
		return ""
	case llm.Finish:
		if s.finished {
			return "a second Finish"
		}
		s.finished = true
		return ""
	case llm.ToolCallStart:
		s.open = append(s.open, callKey{ev.Index, ev.ID})
	case llm.ToolCallDelta:
		if s.find(ev.Index, ev.ID) < 0 {
			return "arguments of a call that is not open"
		}
	case llm.ToolCallEnd:
		i := s.find(ev.Index, ev.ID)
		if i < 0 {
			return "the end of a call that is not open"
		}
		s.open = append(s.open[:i], s.open[i+1:]...)
	case llm.TextDelta, llm.ReasoningDelta, llm.PartDone:
	}
	if s.finished {
		return "content after the Finish"
	}
	return ""
}

// find returns the index of the open call of an event, or -1. It compares the index, or
// else the id, or else takes the last call.
func (s *sequence) find(index int, id string) int {
	for i, k := range slices.Backward(s.open) {
		if index == k.index && (index != 0 || id == "" || id == k.id) {
			return i
		}
	}
	return -1
}

func formatEvent(ev llm.Event) string { return string(llm.AppendEvent(nil, ev)) }
