package scorers

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/looptape/looptape/evals/facts"
	"github.com/looptape/looptape/evals/scorers/internal/assign"
	"github.com/looptape/looptape/trace/importer"
)

// bfclSettings scores 1 if a run has the calls that are correct by the rules of the Berkeley
// Function-Calling Leaderboard for Python's categories of one turn: simple, multiple,
// parallel and irrelevance (ast_checker.py of bfcl_eval in github.com/ShishirPatil/gorilla,
// at v4):
//
//   - There is one call per answer, and each answer has a call of its own, in any order. The
//     leaderboard takes the first that fits, this scorer the best assignment, which never scores
//     less.
//   - A call has the name of the function, or that with _ for each dot, as providers want it;
//     all required parameters; none that the function or the answer does not have; and all that
//     the answer does not make optional with the value "".
//   - A value is of the parameter's type (float takes whole numbers, tuple is array) or of the
//     type of the accepted values, and one of those: strings without space and ,./-_*^ in lower
//     case and with " for ', also in a list or in a dict; numbers by value; of dicts, each member
//     by a list of values of its own.
type bfclSettings struct {
	// Cases are the expectations by case. Other runs are scored by the members function and
	// ground_truth of their recording.
	Cases map[string]bfclCase `json:"cases,omitempty"`
	// Irrelevance takes a case without ground_truth for one in which nothing may be called.
	Irrelevance bool `json:"irrelevance,omitempty"`
}

type bfclCase struct {
	Function []bfclFunction `json:"function,omitempty"`
	// GroundTruth are the calls in order: the accepted values by parameter, by function. Numbers are
	// json.Numbers. An empty list means no calls.
	GroundTruth []map[string]map[string][]any `json:"ground_truth,omitempty"`
}

type bfclFunction struct {
	Name       string `json:"name"`
	Parameters struct {
		Properties map[string]bfclParameter `json:"properties"`
		Required   []string                 `json:"required"`
	} `json:"parameters"`
}

type bfclParameter struct {
	Type  string `json:"type"`
	Items struct {
		Type string `json:"type"`
	} `json:"items,omitzero"`
}

func (s bfclSettings) scorer() (scoreFunc, error) {
	for name, c := range s.Cases {
		if _, err := c.answers(); err != nil {
			return nil, fmt.Errorf("the case %q: %w", name, err)
		}
	}
	return single(func(run *importer.Run) (float64, string, error) {
		answers, err := s.answers(run)
		if err != nil {
			return 0, "", err
		}
		calls := facts.Read(run).Calls
		if len(calls) != len(answers) {
			return fail("want %d calls, got %d", len(answers), len(calls))
		}
		weights, wrong := bfclWeights(answers, calls)
		pairs, err := assign.Pairs(weights, len(calls), false)
		if err != nil || pairs < float64(len(calls)) {
			return 0, wrong, err
		}
		return pass("all %d calls are accepted", len(calls))
	}), nil
}

// answers returns the accepted calls of a run.
func (s bfclSettings) answers(run *importer.Run) ([]bfclAnswer, error) {
	c, ok := s.Cases[run.Case]
	for name, to := range map[string]any{"function": &c.Function, "ground_truth": &c.GroundTruth} {
		raw := run.Meta[name]
		if ok || raw == nil {
			continue
		}
		if err := decodeInto(raw, to); err != nil {
			return nil, fmt.Errorf("%s of the recording: %w", name, err)
		}
	}
	if c.GroundTruth == nil && !s.Irrelevance {
		return nil, fmt.Errorf("accepted calls of the case %q missing: set cases, or record ground_truth", run.Case)
	}
	return c.answers()
}

// bfclAnswer is a call of a function with the accepted values by parameter.
type bfclAnswer struct {
	*bfclFunction
	accepted map[string][]any
}

// answers returns an error for a call of an unknown function.
func (c *bfclCase) answers() (all []bfclAnswer, err error) {
	for i, answer := range c.GroundTruth {
		if len(answer) != 1 {
			return nil, fmt.Errorf("ground_truth %d has %d functions: want one", i, len(answer))
		}
		for name, accepted := range answer {
			at := slices.IndexFunc(c.Function, func(f bfclFunction) bool { return f.Name == name })
			if at < 0 {
				return nil, fmt.Errorf("ground_truth %d is a call of the unknown function %q", i, name)
			}
			all = append(all, bfclAnswer{&c.Function[at], accepted})
		}
	}
	return all, nil
}

// bfclWeights returns the weight 1 for each answer and a call that it accepts, and the reason for
// the first answer without a call.
func bfclWeights(answers []bfclAnswer, calls []facts.Call) (weights [][]float64, wrong string) {
	for _, a := range answers {
		row := make([]float64, len(calls))
		var errs []string
		for j := range calls {
			if err := a.accepts(&calls[j]); err != nil {
				errs = append(errs, err.Error())
			} else {
				row[j] = 1
			}
		}
		if len(errs) == len(calls) {
			wrong = cmp.Or(wrong, strings.Join(errs, "; "))
		}
		weights = append(weights, row)
	}
	return weights, cmp.Or(wrong, "two answers accept the same call alone")
}

// accepts returns an error for a call that is not accepted.
func (a bfclAnswer) accepts(call *facts.Call) error {
	if call.Name != a.Name && call.Name != strings.ReplaceAll(a.Name, ".", "_") {
		return fmt.Errorf("want %s, got %s", a.Name, call.Name)
	}
	v, err := decode(call.Arguments())
	args, ok := v.(map[string]any)
	if err != nil || !ok {
		return fmt.Errorf("%s: the arguments are not a JSON object", a.Name)
	}
	required := slices.Clone(a.Parameters.Required)
	for name, values := range a.accepted {
		if !optional(values) {
			required = append(required, name)
		}
	}
	for _, name := range required {
		if _, ok := args[name]; !ok {
			return fmt.Errorf("%s: %s is missing", a.Name, name)
		}
	}
	var wrong []string
	for name, value := range args {
		p, known := a.Parameters.Properties[name]
		values, wanted := a.accepted[name]
		if !known || !wanted {
			wrong = append(wrong, "no "+name)
		} else if !p.accepts(value, values) {
			wrong = append(wrong, fmt.Sprintf("%s of %s, got %s", name, shown(values), shown(value)))
		}
	}
	if len(wrong) == 0 {
		return nil
	}
	slices.Sort(wrong)
	return errors.New(a.Name + ": want " + strings.Join(wrong, ", "))
}

func optional(values []any) bool { return slices.Contains(values, any("")) }

// pyTypes are Python's types of those that functions declare.
var pyTypes = map[string]string{
	"string": "str", "integer": "int", "float": "float", "boolean": "bool",
	"array": "list", "tuple": "list", "dict": "dict", "any": "str",
}

// typeOf returns the type that Python gives a JSON value.
func typeOf(v any) string {
	switch v := v.(type) {
	case bool:
		return "bool"
	case json.Number:
		if strings.ContainsAny(string(v), ".eE") {
			return "float"
		}
		return "int"
	case string:
		return "str"
	case []any:
		return "list"
	case map[string]any:
		return "dict"
	default:
		return "None"
	}
}

// accepts reports whether a value is one of the accepted values of a parameter.
func (p *bfclParameter) accepts(value any, accepted []any) bool {
	want, inner := pyTypes[p.Type], ""
	if want == "list" {
		inner = pyTypes[p.Items.Type]
	}
	if want == "float" && typeOf(value) == "int" {
		value = json.Number(value.(json.Number) + ".0")
	}
	ok, variable := typed(value, accepted, want, inner)
	matches := same
	switch {
	case !ok:
		return false
	case variable:
	case want == "dict":
		matches = sameDict
	case want == "str":
		matches = standardSame
	case inner == "dict":
		matches = lists(sameDict)
	case want == "list":
		matches = lists(standardSame)
	}
	return slices.ContainsFunc(accepted, func(a any) bool { return matches(value, a) })
}

// typed reports whether a value has the required type, or that of the accepted values, which BFCL
// calls a variable.
func typed(value any, accepted []any, want, inner string) (ok, variable bool) {
	other := ""
	if i := slices.IndexFunc(accepted, func(v any) bool { return v != "" }); i >= 0 {
		other = typeOf(accepted[i])
	}
	if typeOf(value) != want {
		return other == typeOf(value), true
	}
	variable = other != "" && other != want
	if inner == "" {
		return true, variable
	}
	items, _ := value.([]any)
	return slices.ContainsFunc(accepted, func(a any) bool {
		of, isList := a.([]any)
		return !isList || !slices.ContainsFunc(items, func(item any) bool {
			ok, _ := typed(item, of, inner, "")
			return !ok
		})
	}), variable
}

// same reports whether two values are equal, numbers by their value.
func same(value, accepted any) bool { return equal(copied(value), copied(accepted)) }

// standardSame is like same, with strings as BFCL compares them.
func standardSame(value, accepted any) bool { return same(standard(value), standard(accepted)) }

var standardizer = strings.NewReplacer(" ", "", ",", "", ".", "", "/", "", "-", "", "_", "", "*", "", "^", "", "'", `"`)

// standard returns a string in the form that BFCL compares, and other values unchanged.
func standard(v any) any {
	if text, ok := v.(string); ok {
		return standardizer.Replace(strings.ToLower(text))
	}
	return v
}

// lists compares lists item by item. The value "" accepts an empty list.
func lists(same func(value, accepted any) bool) func(value, accepted any) bool {
	return func(value, accepted any) bool {
		items, _ := value.([]any)
		of, _ := accepted.([]any)
		return slices.EqualFunc(items, of, same)
	}
}

// sameDict reports whether a dict has each member as accepted and all required members.
func sameDict(value, accepted any) bool {
	got, ok := value.(map[string]any)
	want, isDict := accepted.(map[string]any)
	for name, v := range got {
		values, _ := want[name].([]any)
		if !slices.ContainsFunc(values, func(a any) bool { return standardSame(v, a) }) {
			return false
		}
	}
	for name, values := range want {
		list, _ := values.([]any)
		if _, has := got[name]; !has && !optional(list) {
			return false
		}
	}
	return ok && isDict
}
