package scorers

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

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
	// recording instead. Without both, it is that of the dataset.
	Expected   json.RawMessage `json:"expected,omitempty"`
	ExpectedAt string          `json:"expected_at,omitempty"`
	// Ignore are pointers to ignored values; the name * matches all members or elements.
	Ignore []string `json:"ignore,omitempty"`
}

func (s stateSettings) scorer() (scoreFunc, error) {
	_, left, err := s.states()
	if err != nil {
		return nil, err
	}
	expected := expectedState
	switch {
	case len(s.Expected) > 0 && s.ExpectedAt != "":
		return nil, errors.New("want at most one of expected and expected_at")
	case s.ExpectedAt != "":
		expected, err = metadata(s.ExpectedAt)
	case len(s.Expected) > 0:
		expected = func(*importer.Run) (any, error) { return parse(s.Expected) }
		if _, err = parse(s.Expected); err != nil {
			err = fmt.Errorf("expected: %w", err)
		}
	}
	ignore, invalid := parsePointers(s.Ignore)
	if err = cmp.Or(err, invalid); err != nil {
		return nil, err
	}
	return single(func(run *importer.Run) (float64, string, error) {
		got, err := left(run)
		if err != nil {
			return 0, "", err
		}
		want, err := expected(run)
		if err != nil {
			return 0, "", err
		}
		if diff := describeDifference(without(want, ignore), without(got, ignore)); diff != "" {
			return 0, diff, nil
		}
		return pass("the state expected")
	}), nil
}

// expectedState returns the state that the dataset expects.
func expectedState(run *importer.Run) (any, error) {
	if len(run.Expected.State) == 0 {
		return nil, errors.New("no state is expected: set it in the settings, or as state in a dataset")
	}
	return parse(run.Expected.State)
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

// stateFunc returns a state of a run, which the caller may change.
type stateFunc func(run *importer.Run) (any, error)

// states returns the functions for the first and the last state at the place.
func (p statePlace) states() (first, last stateFunc, err error) {
	if p.Event != "" && p.Result != "" || p == (statePlace{}) {
		return nil, nil, errors.New("want one of at, event and result: only at may be combined with the others")
	}
	if p.Event+p.Result == "" {
		first, err = metadata(p.At)
		return first, first, err
	}
	at, err := parsePointer(p.At)
	first = func(run *importer.Run) (any, error) { return p.state(at, p.texts(run)) }
	last = func(run *importer.Run) (any, error) {
		texts := p.texts(run)
		return p.state(at, texts[max(len(texts)-1, 0):])
	}
	return first, last, err
}

// texts returns the texts with states, in order.
func (p statePlace) texts(run *importer.Run) (all []json.RawMessage) {
	for _, ev := range run.Events {
		if c, ok := ev.Body.(trace.Custom); ok && p.Event != "" && c.Name == p.Event {
			all = append(all, c.Data)
		}
	}
	for _, c := range facts.Read(run).Calls {
		if p.Result != "" && c.Name == p.Result && c.Answered && !c.Failed {
			all = append(all, json.RawMessage(c.Result))
		}
	}
	return all
}

// state returns the state in the first text.
func (p statePlace) state(at jsonval.Pointer, texts []json.RawMessage) (any, error) {
	where := fmt.Sprintf("an event %q", p.Event)
	if p.Result != "" {
		where = fmt.Sprintf("a result of the tool %q", p.Result)
	}
	if len(texts) == 0 {
		return nil, fmt.Errorf("the recording has no state in %s", where)
	}
	whole, err := parse(texts[0])
	if err != nil {
		return nil, fmt.Errorf("the state in %s is not JSON: %w", where, err)
	}
	v, ok := at.In(whole)
	if !ok {
		return nil, fmt.Errorf("no value found at %s of the state in %s", p.At, where)
	}
	return v, nil
}

// metadata returns the function for a state at a pointer into the metadata of runs.
func metadata(pointer string) (stateFunc, error) {
	at, err := parsePointer(pointer)
	if err != nil {
		return nil, err
	}
	return func(run *importer.Run) (any, error) {
		if raw, ok := run.Meta[at[0]]; ok {
			v, err := parse(raw)
			if err != nil {
				return nil, fmt.Errorf("%s of the recording: %w", at[0], err)
			}
			if v, ok := at[1:].In(v); ok {
				return v, nil
			}
		}
		return nil, fmt.Errorf("the recording has nothing at %s", pointer)
	}, nil
}

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
	// the recording, and Goal, the place of the expected state (the last one). Without all, it is the
	// state of the dataset.
	Expected   []patchOperation `json:"expected,omitempty"`
	ExpectedAt string           `json:"expected_at,omitempty"`
	Goal       statePlace       `json:"goal,omitzero"`
	// Ignore are pointers to ignored values; the name * matches all members or elements.
	Ignore []string `json:"ignore,omitempty"`
	// Partial scores the share of the changes that are both expected and made.
	Partial bool `json:"partial,omitempty"`
}

func (s stateDiffSettings) scorer() (scoreFunc, error) {
	before, _, err := s.Before.states()
	if err != nil {
		return nil, fmt.Errorf("before: %w", err)
	}
	_, after, err := s.After.states()
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
		if s.Before == s.After && len(s.Before.texts(run)) == 1 {
			return 0, "", errors.New("the recording contains the state once: the state before is unknown")
		}
		was, err := before(run)
		if err != nil {
			return 0, "", fmt.Errorf("before: %w", err)
		}
		is, err := after(run)
		if err != nil {
			return 0, "", fmt.Errorf("after: %w", err)
		}
		should, err := goal(run)
		if err != nil {
			return 0, "", fmt.Errorf("what is expected: %w", err)
		}
		was = without(was, ignore)
		var want, got comparison
		want.compare("", was, without(should, ignore))
		got.compare("", was, without(is, ignore))
		return s.score(want.found, got.found)
	}), nil
}

// goal returns the function for the expected state.
func (s stateDiffSettings) goal(before stateFunc) (stateFunc, error) {
	places := []bool{s.Expected == nil, s.ExpectedAt == "", s.Goal == statePlace{}}
	switch len(slices.DeleteFunc(places, func(empty bool) bool { return empty })) {
	case 0:
		return expectedState, nil
	case 1:
	default:
		return nil, errors.New("want at most one of expected, expected_at and goal")
	}
	if s.Goal != (statePlace{}) {
		_, goal, err := s.Goal.states()
		if err != nil {
			return nil, fmt.Errorf("goal: %w", err)
		}
		return goal, nil
	}
	patched := func(run *importer.Run, list []patchOperation) (any, error) {
		was, err := before(run)
		if err != nil {
			return nil, err
		}
		return applyPatch(list, was)
	}
	if s.ExpectedAt == "" {
		if err := checkPatch(s.Expected); err != nil {
			return nil, fmt.Errorf("expected: %w", err)
		}
		return func(run *importer.Run) (any, error) { return patched(run, s.Expected) }, nil
	}
	recorded, err := metadata(s.ExpectedAt)
	if err != nil {
		return nil, err
	}
	return func(run *importer.Run) (any, error) {
		v, err := recorded(run)
		if err != nil {
			return nil, err
		}
		raw, _ := json.Marshal(v) // what was read can be written
		var list []patchOperation
		if err := json.Unmarshal(raw, &list); err != nil {
			return nil, fmt.Errorf("%s is not a list of operations: %w", s.ExpectedAt, err)
		}
		if err := checkPatch(list); err != nil {
			return nil, err
		}
		return patched(run, list)
	}, nil
}

// score compares changes in the order of paths.
func (s stateDiffSettings) score(want, got []change) (float64, string, error) {
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
		return pass("%d changes, as expected", right)
	case s.Partial:
		return float64(right) / float64(right+len(wrong)), first(wrong), nil
	}
	return 0, first(wrong), nil
}

// String describes the change, with the operation of JSON Patch.
func (c *change) String() string {
	switch {
	case c.after == absent{}:
		return "remove " + c.path
	case c.before == absent{}:
		return "add " + c.path + " = " + shown(c.after)
	}
	return "replace " + c.path + " = " + shown(c.after)
}

// patchOperation is an operation of JSON Patch (RFC 6902): add, remove or replace.
type patchOperation struct {
	Op    string          `json:"op"`
	Path  string          `json:"path"`
	Value json.RawMessage `json:"value,omitempty"` // empty for remove

	at jsonval.Pointer
}

// checkPatch checks the operations of a patch and sets their pointers.
func checkPatch(patch []patchOperation) (err error) {
	for i := range patch {
		o := &patch[i]
		if o.at, err = parsePointer(o.Path); err != nil {
			return err
		}
		switch o.Op {
		case "add", "replace":
			if _, err = parse(o.Value); err != nil {
				return fmt.Errorf("the value of %s %q: %w", o.Op, o.Path, err)
			}
		case "remove":
			if len(o.Value) > 0 {
				return fmt.Errorf("remove %q has a value", o.Path)
			}
		default:
			return fmt.Errorf("unknown operation %q of %q: want add, remove or replace", o.Op, o.Path)
		}
	}
	return nil
}

// applyPatch applies a patch to a value, which may change.
func applyPatch(patch []patchOperation, v any) (_ any, err error) {
	for _, o := range patch {
		if v, err = o.apply(o.at, v); err != nil {
			return nil, fmt.Errorf("%s %q: %w", o.Op, o.Path, err)
		}
	}
	return v, nil
}

// value returns a new copy of the value, which later operations may change; absent{} for remove.
func (o *patchOperation) value() (any, error) {
	if o.Op == "remove" {
		return absent{}, nil
	}
	return parse(o.Value)
}

// apply applies the operation to the value at a pointer into v.
func (o *patchOperation) apply(at jsonval.Pointer, v any) (any, error) {
	if len(at) == 0 {
		if v == (absent{}) && o.Op != "add" {
			return nil, errors.New("no value exists there")
		}
		return o.value()
	}
	switch v := v.(type) {
	case map[string]any:
		next, err := o.apply(at[1:], member(v, at[0]))
		if next == (absent{}) {
			delete(v, at[0])
		} else {
			v[at[0]] = next
		}
		return v, err
	case []any:
		return o.element(at, v)
	}
	return nil, errors.New("the parent is neither an object nor an array")
}

// element changes an element of an array, or appends one.
func (o *patchOperation) element(at jsonval.Pointer, v []any) (any, error) {
	i, ok := jsonval.Index(at[0], len(v)+1)
	if at[0] == "-" {
		i, ok = len(v), true
	}
	adds := o.Op == "add" && len(at) == 1
	if !ok || i == len(v) && !adds {
		return nil, fmt.Errorf("the array has no element %s", at[0])
	}
	if adds {
		value, err := o.value()
		return slices.Insert(v, i, value), err
	}
	next, err := o.apply(at[1:], v[i])
	if next == (absent{}) {
		return slices.Delete(v, i, i+1), err
	}
	v[i] = next
	return v, err
}
