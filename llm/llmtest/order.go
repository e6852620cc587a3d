package llmtest

import (
	"fmt"
	"slices"

	"github.com/looptape/looptape/llm"
)

// order says what is wrong with the order of an answer's events; complete says that
// the answer came to its end. It is empty if all is well.
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
		return "the answer ended without a Finish"
	case len(s.open) > 0:
		return fmt.Sprintf("the answer ended before the call %s", s.open[0])
	}
	return ""
}

// sequence is how far an answer has come.
type sequence struct {
	open     []callKey
	finished bool
}

// callKey is what the events of a call have in common.
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
		return "something is said behind the Finish"
	}
	return ""
}

// find returns which open call an event is of, or -1: by its index, else by its id,
// else the last.
func (s *sequence) find(index int, id string) int {
	for i, k := range slices.Backward(s.open) {
		if index == k.index && (index != 0 || id == "" || id == k.id) {
			return i
		}
	}
	return -1
}

func formatEvent(ev llm.Event) string { return string(llm.AppendEvent(nil, ev)) }
