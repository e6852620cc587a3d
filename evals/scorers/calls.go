package scorers

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/looptape/looptape/evals/facts"
	"github.com/looptape/looptape/internal/jsonval"
	"github.com/looptape/looptape/trace/importer"
)

// calledSettings scores 1 if the number of calls of each named tool is in its range.
type calledSettings struct {
	// Tools are counts by the tool's name.
	Tools map[string]callCount `json:"tools"`
}

// callCount is a range of call counts; the zero value means 1 or more.
type callCount struct {
	Min *int `json:"min,omitempty"` // nil means 1, or Max if that is less
	Max *int `json:"max,omitempty"` // nil means no limit
}

func (s calledSettings) scorer() (scoreFunc, error) {
	if len(s.Tools) == 0 {
		return nil, errors.New("missing tools: name the tools to count")
	}
	tools := slices.Sorted(maps.Keys(s.Tools))
	for _, name := range tools {
		if c := s.Tools[name]; c.least() < 0 || c.Max != nil && *c.Max < c.least() {
			return nil, fmt.Errorf("the tool %q: invalid count %s", name, c)
		}
	}
	return single(func(run *importer.Run) (float64, string, error) {
		count := counted(run)
		var wrong, right []string
		for _, name := range tools {
			c, n := s.Tools[name], count[name]
			if n < c.least() || c.Max != nil && n > *c.Max {
				wrong = append(wrong, fmt.Sprintf("want %s of %s, got %d", c, name, n))
			}
			right = append(right, fmt.Sprintf("%d of %s", n, name))
		}
		return all(wrong, right)
	}), nil
}

func (c callCount) least() int {
	switch {
	case c.Min != nil:
		return *c.Min
	case c.Max != nil:
		return min(1, *c.Max)
	}
	return 1
}

func (c callCount) String() string {
	switch {
	case c.Max == nil:
		return fmt.Sprintf("%d or more", c.least())
	case *c.Max == c.least():
		return fmt.Sprint(*c.Max)
	}
	return fmt.Sprintf("%d to %d", c.least(), *c.Max)
}

// notCalledSettings scores 1 if none of the named tools was called.
type notCalledSettings struct {
	Tools []string `json:"tools,omitempty"` // empty means all tools
}

func (s notCalledSettings) scorer() (scoreFunc, error) { //nolint:unparam // nothing can be wrong with these settings
	return single(func(run *importer.Run) (float64, string, error) {
		var wrong []string
		count := counted(run)
		for _, name := range slices.Sorted(maps.Keys(count)) {
			if len(s.Tools) == 0 || slices.Contains(s.Tools, name) {
				wrong = append(wrong, fmt.Sprintf("want 0 of %s, got %d", name, count[name]))
			}
		}
		return all(wrong, []string{"not called"})
	}), nil
}

// counted counts the calls of a run by tool.
func counted(run *importer.Run) map[string]int {
	count := map[string]int{}
	for _, c := range facts.Read(run).Calls {
		count[c.Name]++
	}
	return count
}

// all returns the score 1 if nothing is wrong, else 0.
func all(wrong, right []string) (float64, string, error) {
	if len(wrong) > 0 {
		return 0, strings.Join(wrong, "; "), nil
	}
	return 1, strings.Join(right, ", "), nil
}

// expectedCalls are the expected calls and the comparison of arguments: as JSON, numbers by value and
// members in any order.
type expectedCalls struct {
	// Expected are the calls; nil means those of the recording, and an empty list means no calls.
	Expected []expectedCall `json:"expected,omitempty"`
	// Arguments selects how arguments are compared.
	Arguments argumentMatch `json:"arguments,omitempty"`
	// Ignore are JSON pointers into the arguments, by tool, to what is not compared; the
	// tool * is every tool, and a name * in a pointer all members or elements.
	Ignore map[string][]string `json:"ignore,omitempty"`
	// Defaults are values of omitted arguments, by tool and name.
	Defaults map[string]map[string]json.RawMessage `json:"defaults,omitempty"`
}

// expectedCall is an expected call.
type expectedCall struct {
	Name string `json:"name"`
	// Arguments is a JSON object; nil accepts any arguments.
	Arguments json.RawMessage `json:"arguments,omitempty"`
}

// argumentMatch is a way to compare arguments.
type argumentMatch string

// The ways to compare arguments.
const (
	matchEqual  argumentMatch = ""       // all arguments are equal
	matchSubset argumentMatch = "subset" // the expected ones are equal; others are ignored
	matchName   argumentMatch = "ignore" // only the name counts
)

// matcher is expectedCalls with parsed pointers.
type matcher struct {
	expectedCalls
	ignore map[string][]jsonval.Pointer
}

func (s expectedCalls) matcher() (*matcher, error) {
	if !slices.Contains([]argumentMatch{matchEqual, matchSubset, matchName}, s.Arguments) {
		return nil, fmt.Errorf("arguments %q: want %q, %q or none", s.Arguments, matchSubset, matchName)
	}
	m := &matcher{s, map[string][]jsonval.Pointer{}}
	for tool, texts := range s.Ignore {
		p, err := parsePointers(texts)
		if err != nil {
			return nil, err
		}
		if slices.Contains(texts, "") {
			return nil, fmt.Errorf("ignore of the tool %q: the JSON pointer \"\" is all arguments; omit arguments in expected", tool)
		}
		m.ignore[tool] = p
	}
	for tool, args := range s.Defaults {
		for name, raw := range args {
			if _, err := parse(raw); err != nil {
				return nil, fmt.Errorf("the default of %q of the tool %q: %w", name, tool, err)
			}
		}
	}
	if s.Expected == nil {
		return m, nil
	}
	_, err := m.wanted(importer.Expected{})
	return m, err
}

// made is a call with its arguments read.
type made struct {
	name string
	any  bool // arguments are right
	args any  // nil where they are no JSON
}

// wanted returns the calls that should be made.
func (m *matcher) wanted(recorded importer.Expected) ([]made, error) {
	list := m.Expected
	if list == nil {
		if recorded.Calls == nil {
			return nil, errors.New("expected calls missing in the recording: set expected")
		}
		for _, c := range recorded.Calls {
			list = append(list, expectedCall{c.Name, c.Arguments})
		}
	}
	var calls []made
	for _, w := range list {
		if w.Arguments == nil {
			calls = append(calls, made{name: w.Name, any: true})
			continue
		}
		c := m.made(w.Name, w.Arguments)
		if c.args == nil {
			return nil, fmt.Errorf("the expected arguments of %q are not a JSON object: %s", w.Name, quote(string(w.Arguments)))
		}
		calls = append(calls, c)
	}
	return calls, nil
}

// made reads the arguments of a call, with defaults and without ignored members.
func (m *matcher) made(name string, args json.RawMessage) made {
	v, _ := parse(args) // what cannot be read is nothing, and nothing else is that
	object, ok := v.(map[string]any)
	if !ok {
		return made{name: name}
	}
	for arg, raw := range m.Defaults[name] {
		if _, given := object[arg]; !given {
			object[arg], _ = parse(raw) // which could be read
		}
	}
	return made{name: name, args: without(without(object, m.ignore["*"]), m.ignore[name])}
}

// calls returns the calls that a run made.
func (m *matcher) calls(run *importer.Run) (calls []made) {
	for _, c := range facts.Read(run).Calls {
		calls = append(calls, m.made(c.Name, c.Arguments()))
	}
	return calls
}

// read returns the calls that a run should have made, and those that it made.
func (m *matcher) read(run *importer.Run) (want, got []made, err error) {
	want, err = m.wanted(run.Expected)
	return want, m.calls(run), err
}

// share is the part of a call's arguments that is as wanted: 1 for all of them, 0 for
// another tool.
func (m *matcher) share(want, got made) float64 {
	if want.name != got.name {
		return 0
	}
	if want.any || m.Arguments == matchName {
		return 1
	}
	w, _ := want.args.(map[string]any)
	g, ok := got.args.(map[string]any)
	if !ok {
		return 0
	}
	same, names := 0, len(w)
	for name, value := range w {
		if v, given := g[name]; given && equal(value, v) {
			same++
		}
	}
	for name := range g {
		if _, wanted := w[name]; !wanted && m.Arguments == matchEqual {
			names++
		}
	}
	if names == 0 {
		return 1
	}
	return float64(same) / float64(names)
}

// weights are the shares of all pairs: a row for each call wanted, a column for each made.
// Only whole ones count if partial is false.
func (m *matcher) weights(want, got []made, partial bool) [][]float64 {
	rows := make([][]float64, len(want))
	for i, w := range want {
		rows[i] = make([]float64, len(got))
		for j, g := range got {
			if share := m.share(w, g); partial || share == 1 {
				rows[i][j] = share
			}
		}
	}
	return rows
}

// told shows calls.
func describeCalls(calls []made) string {
	if len(calls) == 0 {
		return "no calls"
	}
	const most = 8
	var texts []string
	for _, c := range calls[:min(most, len(calls))] {
		switch {
		case c.any:
			texts = append(texts, c.name)
		case c.args == nil:
			texts = append(texts, c.name+"(no JSON object)")
		default:
			texts = append(texts, c.name+shown(c.args))
		}
	}
	if len(calls) > most {
		texts = append(texts, fmt.Sprintf("and %d more", len(calls)-most))
	}
	return strings.Join(texts, ", ")
}
