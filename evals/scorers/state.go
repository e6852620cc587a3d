package scorers

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/looptape/looptape/evals/facts"
	"github.com/looptape/looptape/internal/jsonval"
	"github.com/looptape/looptape/trace"
	"github.com/looptape/looptape/trace/importer"
)

// stateSettings scores 1 if the final state of the run, the last one at its place, is the expected
// JSON: numbers by value and members in any order. The explanation contains the differences.
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
		return nil, errors.New("want exactly one of expected and expected_at")
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

// expected returns the expected state; the caller may change it.
func (s stateSettings) expected(run *importer.Run, at jsonval.Pointer) (any, error) {
	if s.ExpectedAt == "" {
		return parse(s.Expected)
	}
	return metadata(run, s.ExpectedAt, at)
}

// statePlace locates the JSON of a state in a recording.
type statePlace struct {
	// Event is the name of custom events in a trace that contain a state. Result is a tool whose
	// successful results are states instead.
	Event  string `json:"event,omitempty"`
	Result string `json:"result,omitempty"`
	// At is a JSON pointer (RFC 6901) to the state in them, or else in the metadata of the
	// recording.
	At string `json:"at,omitempty"`
}

// finder finds states at a place.
type finder struct {
	statePlace

	at jsonval.Pointer
}

func (p statePlace) finder() (*finder, error) {
	if p.Event != "" && p.Result != "" || p == (statePlace{}) {
		return nil, errors.New("want one of at, event and result: only at may be combined with the others")
	}
	at, err := parsePointer(p.At)
	return &finder{p, at}, err
}

// texts returns the texts with states, in order.
func (f *finder) texts(run *importer.Run) (all []json.RawMessage) {
	for _, ev := range run.Events {
		if c, ok := ev.Body.(trace.Custom); ok && f.Event != "" && c.Name == f.Event {
			all = append(all, c.Data)
		}
	}
	for _, c := range facts.Read(run).Calls {
		if f.Result != "" && c.Name == f.Result && c.Answered && !c.Failed {
			all = append(all, json.RawMessage(c.Result))
		}
	}
	return all
}

// first returns the first state; it may be changed.
func (f *finder) first(run *importer.Run) (any, error) {
	return f.state(run, func(texts []json.RawMessage) json.RawMessage { return texts[0] })
}

// last returns the last state; it may be changed.
func (f *finder) last(run *importer.Run) (any, error) {
	return f.state(run, func(texts []json.RawMessage) json.RawMessage { return texts[len(texts)-1] })
}

func (f *finder) state(run *importer.Run, choose func([]json.RawMessage) json.RawMessage) (any, error) {
	if f.Event+f.Result == "" {
		return metadata(run, f.At, f.at)
	}
	where := fmt.Sprintf("an event %q", f.Event)
	if f.Result != "" {
		where = fmt.Sprintf("a result of the tool %q", f.Result)
	}
	texts := f.texts(run)
	if len(texts) == 0 {
		return nil, fmt.Errorf("the recording has no state in %s", where)
	}
	whole, err := parse(choose(texts))
	if err != nil {
		return nil, fmt.Errorf("the state in %s is not JSON: %w", where, err)
	}
	v, ok := f.at.In(whole)
	if !ok {
		return nil, fmt.Errorf("no value found at %s of the state in %s", f.At, where)
	}
	return v, nil
}

// metadata returns the value of a pointer into the metadata of a run; it may be changed.
func metadata(run *importer.Run, text string, at jsonval.Pointer) (any, error) {
	raw, ok := run.Meta[at[0]]
	if ok {
		v, err := parse(raw)
		if err != nil {
			return nil, fmt.Errorf("%s of the recording: %w", at[0], err)
		}
		if v, ok := at[1:].In(v); ok {
			return v, nil
		}
	}
	return nil, fmt.Errorf("the recording has nothing at %s", text)
}
