package scorers

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/looptape/looptape/internal/jsonval"
	"github.com/looptape/looptape/trace/importer"
)

// stateDiffSettings scores 1 if the run made exactly the expected changes of a state. The
// explanation lists missing, extra and wrong changes by path.
//
// tau-bench (Yao et al., 2024) and the multi-turn categories of the Berkeley Function-Calling
// Leaderboard score in the same way: by the database, not by the calls. Both compare whole
// states; this scorer compares changes.
type stateDiffSettings struct {
	// Before is where the first state is, and After where the last is.
	Before statePlace `json:"before"`
	After  statePlace `json:"after"`
	// Expected are the changes. Alternatives: ExpectedAt, a pointer to them in the metadata of
	// the recording, and Goal, the place of the expected state (the last one).
	Expected   []patchOperation `json:"expected,omitempty"`
	ExpectedAt string           `json:"expected_at,omitempty"`
	Goal       statePlace       `json:"goal,omitzero"`
	// Ignore are pointers to ignored values; the name * matches all members or elements.
	Ignore []string `json:"ignore,omitempty"`
	// Partial scores the share of the changes that are both expected and made.
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
	ignore, err := parsePointers(s.Ignore)
	if err != nil {
		return nil, err
	}
	return single(func(run *importer.Run) (float64, string, error) {
		if s.Before == s.After && len(before.texts(run)) == 1 {
			return 0, "", errors.New("the recording contains the state once: the state before is unknown")
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

// goal returns the function that computes the expected state, which the caller may change.
func (s stateDiffSettings) goal(before *finder) (func(run *importer.Run) (any, error), error) {
	given := 0
	for _, is := range []bool{s.Expected != nil, s.ExpectedAt != "", s.Goal != statePlace{}} {
		if is {
			given++
		}
	}
	if given != 1 {
		return nil, errors.New("want exactly one of expected, expected_at and goal")
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

// patchIn returns the patch in a recording.
func (s stateDiffSettings) patchIn(run *importer.Run, at jsonval.Pointer) ([]edit, error) {
	v, err := metadata(run, s.ExpectedAt, at)
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	var patch []patchOperation
	if err := json.Unmarshal(raw, &patch); err != nil {
		return nil, fmt.Errorf("%s is not a list of operations: %w", s.ExpectedAt, err)
	}
	return edits(patch)
}

// compare scores changes in the order of paths.
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
