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

// String returns the call with its arguments.
func (c *parsedCall) String() string {
	switch {
	case c.any:
		return c.name
	case c.args == nil:
		return c.name + "(no JSON object)"
	}
	return c.name + shown(c.args)
}

func describeCalls(calls []parsedCall) string {
	if len(calls) == 0 {
		return "no calls"
	}
	const most = 30
	var texts []string
	for i := range calls[:min(most, len(calls))] {
		texts = append(texts, calls[i].String())
	}
	if len(calls) > most {
		texts = append(texts, fmt.Sprintf("and %d more", len(calls)-most))
	}
	return strings.Join(texts, ", ")
}

// describePairs describes the expected calls without a pair and, if only is set, the calls without one.
// Calls of the same tool without a pair are described by the differences of their arguments.
func (s *expectedCalls) describePairs(want, got []parsedCall, ordered, only bool) string {
	const most = 400 // pairs that may be searched
	if len(want)*len(got) > most {
		return ""
	}
	missing, extra := unpaired(s.weights(want, got, false), len(got), ordered)
	var texts []string
	for _, i := range missing {
		at := slices.IndexFunc(extra, func(j int) bool {
			return got[j].name == want[i].name && got[j].args != nil && want[i].args != nil
		})
		if at < 0 {
			texts = append(texts, "missing "+want[i].String())
			continue
		}
		if diff := describeDifference(want[i].args, s.compared(want[i], got[extra[at]])); diff != "" {
			texts = append(texts, want[i].name+" "+diff)
		} else {
			texts = append(texts, want[i].String()+" in another order")
		}
		extra = slices.Delete(extra, at, at+1)
	}
	for _, j := range extra {
		if only {
			texts = append(texts, "unexpected "+got[j].String())
		}
	}
	return first(texts)
}

// compared returns the arguments of a call without those that need not be expected.
func (s *expectedCalls) compared(want, got parsedCall) map[string]any {
	if s.Arguments == "" {
		return got.args
	}
	args := map[string]any{}
	for name, value := range got.args {
		if _, wanted := want.args[name]; wanted {
			args[name] = value
		}
	}
	return args
}

// unpaired returns the rows and the columns that a best assignment leaves without a pair.
func unpaired(weights [][]float64, columns int, ordered bool) (rows, cols []int) {
	total, err := assign.Pairs(weights, columns, ordered)
	if err != nil {
		return nil, nil
	}
	// A row or a column has no pair if the sum is the same without it.
	spared := func(without func(weights [][]float64)) bool {
		less := make([][]float64, len(weights))
		for i := range weights {
			less[i] = slices.Clone(weights[i])
		}
		without(less)
		sum, err := assign.Pairs(less, columns, ordered)
		if err != nil || sum < total {
			return false
		}
		weights = less
		return true
	}
	for i := range weights {
		if spared(func(w [][]float64) { clear(w[i]) }) {
			rows = append(rows, i)
		}
	}
	for j := range columns {
		if spared(func(w [][]float64) {
			for i := range w {
				w[i][j] = 0
			}
		}) {
			cols = append(cols, j)
		}
	}
	return rows, cols
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
			text := fmt.Sprintf("want %s; got %s", describeCalls(want), describeCalls(got))
			if pairs := s.describePairs(want, got, o.ordered, o.only); pairs != "" {
				text = pairs + "; " + text
			}
			return 0, text, nil
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
		if pairs := s.describePairs(want, got, s.Ordered, s.Measure != "recall"); right < over && pairs != "" {
			text += "; " + pairs
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
