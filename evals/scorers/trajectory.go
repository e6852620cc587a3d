package scorers

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/looptape/looptape/evals/facts"
	"github.com/looptape/looptape/evals/scorers/internal/assign"
	"github.com/looptape/looptape/internal/jsonval"
	"github.com/looptape/looptape/trace/importer"
)

// expectedCalls are the expected calls and the comparison of arguments: as JSON, numbers by value
// and members in any order.
type expectedCalls struct {
	// Expected are the calls; nil means those of the recording, and an empty list means no calls.
	Expected []expectedCall `json:"expected,omitempty"`
	// Arguments selects how arguments are compared: empty means that all are equal, subset that the
	// expected ones are equal and others are ignored, and ignore that only the name counts.
	Arguments string `json:"arguments,omitempty"`
	// Ignore are JSON pointers into the arguments, by tool, to what is not compared; the
	// tool * is every tool, and a name * in a pointer all members or elements.
	Ignore map[string][]string `json:"ignore,omitempty"`
	// Defaults are values of omitted arguments, by tool and name.
	Defaults map[string]map[string]json.RawMessage `json:"defaults,omitempty"`

	ignored map[string][]jsonval.Pointer // Ignore, parsed
}

type expectedCall struct {
	Name string `json:"name"`
	// Arguments is a JSON object; nil accepts any arguments.
	Arguments json.RawMessage `json:"arguments,omitempty"`
}

// check checks the settings and parses Ignore.
func (s *expectedCalls) check() error {
	if !slices.Contains([]string{"", "subset", "ignore"}, s.Arguments) {
		return fmt.Errorf(`arguments %q: want "subset", "ignore" or none`, s.Arguments)
	}
	s.ignored = map[string][]jsonval.Pointer{}
	for tool, texts := range s.Ignore {
		if slices.Contains(texts, "") {
			return fmt.Errorf("ignore of the tool %q: the JSON pointer \"\" is all arguments; omit arguments in expected", tool)
		}
		var err error
		if s.ignored[tool], err = parsePointers(texts); err != nil {
			return err
		}
	}
	for tool, args := range s.Defaults {
		for name, raw := range args {
			if _, err := parse(raw); err != nil {
				return fmt.Errorf("the default of %q of the tool %q: %w", name, tool, err)
			}
		}
	}
	_, err := s.parseAll(s.Expected)
	return err
}

// parsedCall is a call with its arguments read.
type parsedCall struct {
	name string
	any  bool           // arguments are right
	args map[string]any // nil if they are not an object
}

func (s *expectedCalls) parseAll(list []expectedCall) (calls []parsedCall, err error) {
	for _, w := range list {
		c := s.parse(w.Name, w.Arguments)
		if c.any = w.Arguments == nil; c.args == nil && !c.any {
			return nil, fmt.Errorf("the expected arguments of %q are not a JSON object: %s", w.Name, quote(string(w.Arguments)))
		}
		calls = append(calls, c)
	}
	return calls, nil
}

// wanted returns the expected calls.
func (s *expectedCalls) wanted(run *importer.Run) ([]parsedCall, error) {
	list := s.Expected
	if list == nil && run.Expected.Calls == nil {
		return nil, errors.New("expected calls missing in the recording: set expected")
	}
	if list == nil {
		for _, c := range run.Expected.Calls {
			list = append(list, expectedCall{c.Name, c.Arguments})
		}
	}
	return s.parseAll(list)
}

// parse reads the arguments of a call, with defaults and without ignored members.
func (s *expectedCalls) parse(name string, args json.RawMessage) parsedCall {
	v, _ := parse(args) // invalid arguments become nil
	object, ok := v.(map[string]any)
	if !ok {
		return parsedCall{name: name}
	}
	for arg, raw := range s.Defaults[name] {
		if _, given := object[arg]; !given {
			object[arg], _ = parse(raw) // check has checked it
		}
	}
	without(without(object, s.ignored["*"]), s.ignored[name]) // which keeps the object
	return parsedCall{name: name, args: object}
}

// byCalls returns the scoreFunc of a function that scores the expected calls and those that a run
// made, with the weights of their pairs.
func (s expectedCalls) byCalls(partial bool, score func(weights [][]float64, want, got []parsedCall) (float64, string, error)) (scoreFunc, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	return single(func(run *importer.Run) (float64, string, error) {
		want, err := s.wanted(run)
		if err != nil {
			return 0, "", err
		}
		var got []parsedCall
		for _, c := range facts.Read(run).Calls {
			got = append(got, s.parse(c.Name, c.Arguments()))
		}
		return score(s.weights(want, got, partial), want, got)
	}), nil
}

// share is the part of a call's arguments that is as wanted: 1 for all of them, 0 for
// another tool.
func (s *expectedCalls) share(want, got parsedCall) float64 {
	switch {
	case want.name != got.name:
		return 0
	case want.any || s.Arguments == "ignore":
		return 1
	case got.args == nil:
		return 0
	}
	same, names := 0, len(want.args)
	for name, value := range want.args {
		if v, given := got.args[name]; given && equal(value, v) {
			same++
		}
	}
	for name := range got.args {
		if _, wanted := want.args[name]; !wanted && s.Arguments == "" {
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
func (s *expectedCalls) weights(want, got []parsedCall, partial bool) [][]float64 {
	rows := make([][]float64, len(want))
	for i, w := range want {
		rows[i] = make([]float64, len(got))
		for j, g := range got {
			if share := s.share(w, g); partial || share == 1 {
				rows[i][j] = share
			}
		}
	}
	return rows
}

func describeCalls(calls []parsedCall) string {
	if len(calls) == 0 {
		return "no calls"
	}
	const most = 8
	var texts []string
	for _, c := range calls[:min(most, len(calls))] {
		args := "(no JSON object)"
		if c.any {
			args = ""
		} else if c.args != nil {
			args = shown(c.args)
		}
		texts = append(texts, c.name+args)
	}
	if len(calls) > most {
		texts = append(texts, fmt.Sprintf("and %d more", len(calls)-most))
	}
	return strings.Join(texts, ", ")
}

// trajectorySettings scores 1 if the calls of a run are the expected ones, in the required order.
type trajectorySettings struct {
	expectedCalls
	// Order is a name of callOrders.
	Order string `json:"order,omitempty"`
}

// callOrder is a required order of calls. A call matches one expected call at most.
type callOrder struct {
	ordered bool // the calls are in the order of the expected ones
	all     bool // each expected call is made
	only    bool // each call is expected
}

// callOrders are the orders by name. ADK's EXACT, IN_ORDER and ANY_ORDER (TrajectoryEvaluator of
// google/adk-python) are exact, in_order and any_order. Of the modes of trajectory matching in
// LangChain's agentevals strict is exact, except that it also compares texts; unordered, superset
// and subset are those here.
var callOrders = map[string]callOrder{
	"":          {ordered: true, all: true, only: true},
	"exact":     {ordered: true, all: true, only: true},
	"in_order":  {ordered: true, all: true},
	"any_order": {all: true},
	"superset":  {all: true},
	"subset":    {only: true},
	"unordered": {all: true, only: true},
}

func (s trajectorySettings) scorer() (scoreFunc, error) {
	o, ok := callOrders[s.Order]
	if !ok {
		return nil, fmt.Errorf("order %q: want exact, in_order, any_order, superset, subset or unordered", s.Order)
	}
	return s.byCalls(false, func(weights [][]float64, want, got []parsedCall) (float64, string, error) {
		pairs, err := assign.Pairs(weights, len(got), o.ordered)
		switch {
		case err != nil:
			return 0, "", err
		case o.all && pairs < float64(len(want)), o.only && pairs < float64(len(got)):
			return fail("want %s; got %s", describeCalls(want), describeCalls(got))
		}
		return 1, describeCalls(got), nil
	})
}

// callMatchSettings scores the share of expected calls: 1 without expected and actual calls.
type callMatchSettings struct {
	expectedCalls
	// Measure is f1 (the default), the harmonic mean of the others; precision, the expected share of
	// the calls; or recall, the share of the expected calls that was made.
	Measure string `json:"measure,omitempty"`
	// Ordered uses the longest common subsequence; else the best assignment in any order.
	Ordered bool `json:"ordered,omitempty"`
	// Partial counts a call of the right tool by the share of matching arguments.
	Partial bool `json:"partial,omitempty"`
}

func (s callMatchSettings) scorer() (scoreFunc, error) {
	if _, ok := s.divisor(0, 0); !ok {
		return nil, fmt.Errorf("measure %q: want f1, precision or recall", s.Measure)
	}
	return s.byCalls(s.Partial, func(weights [][]float64, want, got []parsedCall) (float64, string, error) {
		right, err := assign.Pairs(weights, len(got), s.Ordered)
		if err != nil {
			return 0, "", err
		}
		text := fmt.Sprintf("%s right of %d calls, %d expected", trim(right), len(got), len(want))
		over, _ := s.divisor(float64(len(got)), float64(len(want)))
		switch {
		case len(got)+len(want) == 0:
			return 1, text, nil
		case over == 0:
			return 0, text, nil
		}
		return right / over, text, nil
	})
}

// divisor returns the number of calls of which the right ones are a share.
func (s callMatchSettings) divisor(got, want float64) (over float64, ok bool) {
	switch s.Measure {
	case "", "f1": // 2PR/(P+R) is right over the mean of both
		return (got + want) / 2, true
	case "precision":
		return got, true
	case "recall":
		return want, true
	}
	return 0, false
}

// trim formats a number with at most two decimals.
func trim(v float64) string {
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.2f", v), "0"), ".")
}
