package scorers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/looptape/looptape/trace"
	"github.com/looptape/looptape/trace/importer"
)

// State scores 1 if the state that the run left is the one expected: the same JSON,
// numbers by their value and members in any order. The explanation says where the two
// differ.
type State struct {
	// At is a JSON pointer (RFC 6901) to the state in what the recording says of the run
	// beside its messages.
	At string `json:"at,omitempty"`
	// Event is, in place of At, the name of the custom events of a trace, of which the
	// last has the state.
	Event string `json:"event,omitempty"`
	// Want is the state expected, and WantAt in its place a pointer to it, beside At.
	Want   json.RawMessage `json:"want,omitempty"`
	WantAt string          `json:"want_at,omitempty"`
	// Ignore are pointers into the state to what is not compared; the name * stands for
	// all members or elements.
	Ignore []string `json:"ignore,omitempty"`
}

func (s State) judge() (judge, error) {
	if (s.At == "") == (s.Event == "") {
		return nil, errors.New("give one of at and event, which says where the state is")
	}
	if (len(s.Want) == 0) == (s.WantAt == "") {
		return nil, errors.New("give one of want and want_at, which says what is expected")
	}
	all, err := pointers([]string{s.At, s.WantAt})
	if err != nil {
		return nil, err
	}
	ignore, err := pointers(s.Ignore)
	if err != nil {
		return nil, err
	}
	if _, err := parse(s.Want); s.WantAt == "" && err != nil {
		return nil, fmt.Errorf("want: %w", err)
	}
	return one(func(_ context.Context, run *importer.Run) (float64, string, error) {
		got, err := s.left(run, all[0])
		if err != nil {
			return 0, "", err
		}
		want, err := s.expected(run, all[1])
		if err != nil {
			return 0, "", err
		}
		if diff := difference(without(want, ignore), without(got, ignore)); diff != "" {
			return 0, diff, nil
		}
		return 1, "the state expected", nil
	}), nil
}

// left is the state that a run left.
func (s State) left(run *importer.Run, at pointer) (any, error) {
	if s.Event == "" {
		return beside(run, s.At, at)
	}
	var last json.RawMessage
	for _, ev := range run.Events {
		if c, ok := ev.Body.(trace.Custom); ok && c.Name == s.Event {
			last = c.Data
		}
	}
	v, err := parse(last)
	if err != nil {
		return nil, fmt.Errorf("the recording has no state in an event %q: %w", s.Event, err)
	}
	return v, nil
}

// expected is the state expected; it may be changed.
func (s State) expected(run *importer.Run, at pointer) (any, error) {
	if s.WantAt == "" {
		return parse(s.Want)
	}
	return beside(run, s.WantAt, at)
}

// beside returns what a pointer leads to in what is said beside the messages.
func beside(run *importer.Run, text string, at pointer) (any, error) {
	raw, ok := run.Meta[at[0]]
	if ok {
		v, err := parse(raw)
		if err != nil {
			return nil, fmt.Errorf("%s of the recording: %w", at[0], err)
		}
		if v, ok := at[1:].in(v); ok {
			return v, nil
		}
	}
	return nil, fmt.Errorf("the recording has nothing at %s", text)
}
