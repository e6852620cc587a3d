package scorers

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/looptape/looptape/trace/importer"
)

// StateDiff scores 1 if what the run changed of a state is what was expected, no less and
// no more. The explanation names what is missing, extra and wrong by its path.
//
// It is how tau-bench (Yao et al., 2024) and the multi-turn categories of the Berkeley
// Function-Calling Leaderboard judge: by the database, not by the calls that changed it,
// of which there may be several that do. Both hold the whole state against the one that
// the right calls leave; here what was there before does not hide what was changed.
type stateDiffSettings struct {
	// Before is where the first state is, and After where the last is.
	Before statePlace `json:"before"`
	After  statePlace `json:"after"`
	// Want is what should be changed; WantAt, in its place, a pointer to that in what the
	// recording says of the run beside its messages; Goal, in place of both, where the
	// state is (the last, of several) that should have come of it.
	Expected   []patchOperation `json:"expected,omitempty"`
	ExpectedAt string           `json:"expected_at,omitempty"`
	Goal       statePlace       `json:"goal,omitzero"`
	// Ignore are pointers into the state to what is not compared; the name * stands for
	// all members or elements.
	Ignore []string `json:"ignore,omitempty"`
	// Partial scores the part of the changes, expected or made, that are both.
	Partial bool `json:"partial,omitempty"`
}

func (s stateDiffSettings) scorer() (scoreFunc, error) {
	before, err := s.Before.finder()
	if err != nil {
		return nil, fmt.Errorf("before: %w", err)
	}
	after, err := s.After.finder()
	if err != nil {
		return nil, fmt.Errorf("after: %w", err)
	}
	if s.Before == s.After && s.Before.Event+s.Before.Result == "" {
		return nil, errors.New("before and after are the same")
	}
	goal, err := s.goal(before)
	if err != nil {
		return nil, err
	}
	ignore, err := pointers(s.Ignore)
	if err != nil {
		return nil, err
	}
	return single(func(run *importer.Run) (float64, string, error) {
		if s.Before == s.After && len(before.texts(run)) == 1 {
			return 0, "", errors.New("the recording tells the state once, so that nobody knows what it was before")
		}
		was, err := before.first(run)
		if err != nil {
			return 0, "", fmt.Errorf("before: %w", err)
		}
		is, err := after.last(run)
		if err != nil {
			return 0, "", fmt.Errorf("after: %w", err)
		}
		should, err := goal(run)
		if err != nil {
			return 0, "", fmt.Errorf("what is expected: %w", err)
		}
		was = without(was, ignore)
		value, text := s.compare(changes("", was, without(should, ignore), nil), changes("", was, without(is, ignore), nil))
		return value, text, nil
	}), nil
}

// goal returns what gives the state expected of a run; it may be changed.
func (s stateDiffSettings) goal(before *finder) (func(run *importer.Run) (any, error), error) {
	given := 0
	for _, is := range []bool{s.Expected != nil, s.ExpectedAt != "", s.Goal != statePlace{}} {
		if is {
			given++
		}
	}
	if given != 1 {
		return nil, errors.New("give one of expected, expected_at and goal, which says what is expected")
	}
	if s.Goal != (statePlace{}) {
		goal, err := s.Goal.finder()
		if err != nil {
			return nil, fmt.Errorf("goal: %w", err)
		}
		return goal.last, nil
	}
	patch, err := edits(s.Expected)
	if err != nil {
		return nil, fmt.Errorf("expected: %w", err)
	}
	at, err := parsePointer(s.ExpectedAt)
	if err != nil {
		return nil, err
	}
	return func(run *importer.Run) (any, error) {
		patch := patch
		if s.ExpectedAt != "" {
			var err error
			if patch, err = s.patchIn(run, at); err != nil {
				return nil, err
			}
		}
		was, err := before.first(run)
		if err != nil {
			return nil, err
		}
		return patched(was, patch)
	}, nil
}

// patchIn is the patch that a recording has.
func (s stateDiffSettings) patchIn(run *importer.Run, at pointer) ([]edit, error) {
	v, err := beside(run, s.ExpectedAt, at)
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	var patch []patchOperation
	if err := json.Unmarshal(raw, &patch); err != nil {
		return nil, fmt.Errorf("%s is no list of operations: %w", s.ExpectedAt, err)
	}
	return edits(patch)
}

// compare scores changes, in the order of their paths, by those expected.
func (s stateDiffSettings) compare(want, got []change) (float64, string) {
	made := map[string]change{}
	for _, c := range got {
		made[c.path] = c
	}
	right := 0
	var wrong []string
	for _, c := range want {
		did, ok := made[c.path]
		delete(made, c.path)
		switch {
		case !ok:
			wrong = append(wrong, "missing: "+c.String())
		case !equal(c.after, did.after):
			wrong = append(wrong, fmt.Sprintf("wrong: %s, got %s", c.String(), shown(did.after)))
		default:
			right++
		}
	}
	for _, c := range got {
		if _, left := made[c.path]; left {
			wrong = append(wrong, "extra: "+c.String())
		}
	}
	switch {
	case len(wrong) == 0:
		return 1, fmt.Sprintf("%d changes, as expected", right)
	case s.Partial:
		return float64(right) / float64(right+len(wrong)), first(wrong)
	}
	return 0, first(wrong)
}
