package scorers

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/looptape/looptape/internal/jsonval"
	"github.com/looptape/looptape/trace/importer"
)

// State scores 1 if the state that the run left, which is the last at its place, is the one
// expected: the same JSON, numbers by their value and members in any order. The explanation
// says where the two differ.
type stateSettings struct {
	statePlace
	// Expected is the expected state. ExpectedAt is a pointer to it in the metadata of the
	// recording instead.
	Expected   json.RawMessage `json:"expected,omitempty"`
	ExpectedAt string          `json:"expected_at,omitempty"`
	// Ignore are pointers to ignored values; the name * matches all members or elements.
	Ignore []string `json:"ignore,omitempty"`
}

func (s stateSettings) scorer() (scoreFunc, error) {
	left, err := s.finder()
	if err != nil {
		return nil, err
	}
	if (len(s.Expected) == 0) == (s.ExpectedAt == "") {
		return nil, errors.New("give one of expected and expected_at")
	}
	all, err := parsePointers(append([]string{s.ExpectedAt}, s.Ignore...))
	if err != nil {
		return nil, err
	}
	at, ignore := all[0], all[1:]
	if _, err := parse(s.Expected); s.ExpectedAt == "" && err != nil {
		return nil, fmt.Errorf("expected: %w", err)
	}
	return single(func(run *importer.Run) (float64, string, error) {
		got, err := left.last(run)
		if err != nil {
			return 0, "", err
		}
		want, err := s.expected(run, at)
		if err != nil {
			return 0, "", err
		}
		if diff := difference(without(want, ignore), without(got, ignore)); diff != "" {
			return 0, diff, nil
		}
		return 1, "the state expected", nil
	}), nil
}

// expected is the state expected; it may be changed.
func (s stateSettings) expected(run *importer.Run, at jsonval.Pointer) (any, error) {
	if s.ExpectedAt == "" {
		return parse(s.Expected)
	}
	return metadata(run, s.ExpectedAt, at)
}
