package scorers

import (
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
		if diff := describeDifference(without(want, ignore), without(got, ignore)); diff != "" {
			return 0, diff, nil
		}
		return pass("the state expected")
	}), nil
}

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

// finder finds states at a place. The caller may change them.
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

func (f *finder) first(run *importer.Run) (any, error) { return f.state(run, f.texts(run)) }

func (f *finder) last(run *importer.Run) (any, error) {
	texts := f.texts(run)
	return f.state(run, texts[max(len(texts)-1, 0):])
}

// state returns the state in the first text, or in the metadata.
func (f *finder) state(run *importer.Run, texts []json.RawMessage) (any, error) {
	if f.Event+f.Result == "" {
		return metadata(run, f.At, f.at)
	}
	where := fmt.Sprintf("an event %q", f.Event)
	if f.Result != "" {
		where = fmt.Sprintf("a result of the tool %q", f.Result)
	}
	if len(texts) == 0 {
		return nil, fmt.Errorf("the recording has no state in %s", where)
	}
	whole, err := parse(texts[0])
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
	if raw, ok := run.Meta[at[0]]; ok {
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
		var want, got comparison
		want.compare("", was, without(should, ignore))
		got.compare("", was, without(is, ignore))
		return s.score(want.found, got.found)
	}), nil
}

// goal returns the function that computes the expected state, which the caller may change.
func (s stateDiffSettings) goal(before *finder) (func(run *importer.Run) (any, error), error) {
	places := []bool{s.Expected == nil, s.ExpectedAt == "", s.Goal == statePlace{}}
	if len(slices.DeleteFunc(places, func(empty bool) bool { return empty })) != 1 {
		return nil, errors.New("want exactly one of expected, expected_at and goal")
	}
	if s.Goal != (statePlace{}) {
		goal, err := s.Goal.finder()
		if err != nil {
			return nil, fmt.Errorf("goal: %w", err)
		}
		return goal.last, nil
	}
	patch, err := parsePatch(s.Expected)
	if err != nil {
		return nil, fmt.Errorf("expected: %w", err)
	}
	at, err := parsePointer(s.ExpectedAt)
	if err != nil {
		return nil, err
	}
	return func(run *importer.Run) (_ any, err error) {
		patch := patch
		if s.ExpectedAt != "" {
			if patch, err = s.patchIn(run, at); err != nil {
				return nil, err
			}
		}
		was, err := before.first(run)
		if err != nil {
			return nil, err
		}
		return patch.apply(was)
	}, nil
}

func (s stateDiffSettings) patchIn(run *importer.Run, at jsonval.Pointer) (patch, error) {
	v, err := metadata(run, s.ExpectedAt, at)
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	var list []patchOperation
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, fmt.Errorf("%s is not a list of operations: %w", s.ExpectedAt, err)
	}
	return parsePatch(list)
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

// patch is a list of valid operations.
type patch []patchOperation

func parsePatch(list []patchOperation) (patch, error) {
	for i := range list {
		o := &list[i]
		var err error
		if o.at, err = parsePointer(o.Path); err != nil {
			return nil, err
		}
		switch o.Op {
		case "add", "replace":
			if _, err = parse(o.Value); err != nil {
				return nil, fmt.Errorf("the value of %s %q: %w", o.Op, o.Path, err)
			}
		case "remove":
			if len(o.Value) > 0 {
				return nil, fmt.Errorf("remove %q has a value", o.Path)
			}
		default:
			return nil, fmt.Errorf("unknown operation %q of %q: want add, remove or replace", o.Op, o.Path)
		}
	}
	return list, nil
}

// apply applies the operations to a value, which may change.
func (p patch) apply(v any) (_ any, err error) {
	for _, o := range p {
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
