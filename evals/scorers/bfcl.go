package scorers

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/looptape/looptape/evals/facts"
	"github.com/looptape/looptape/trace/importer"
)

// bfclSettings scores 1 if a run has the calls that are correct by the rules of the Berkeley
// Function-Calling Leaderboard for Python's categories of one turn: simple, multiple,
// parallel and irrelevance (ast_checker.py of bfcl_eval in github.com/ShishirPatil/gorilla,
// at v4):
//
//   - There is one call per answer, and each answer has a call of its own, in any
//     order. The first that fits is taken there, here the best assignment, which never
//     scores less.
//   - A call has the name of the function, or that with _ for each dot, as providers
//     want it; all required parameters; none that the function or the answer does not
//     have; and all that the answer does not make optional with the value "".
//   - A value is of the parameter's type (float takes whole numbers, tuple is array) or
//     of the type of the values accepted, and one of those: texts without space and
//     ,./-_*^ in lower case and with " for ', also in a list or in a dict; numbers by
//     value; of dicts, each member by a list of values of its own.
type bfclSettings struct {
	// Cases are the expectations by case. Other runs are scored by the members function and
	// ground_truth of their recording.
	Cases map[string]bfclCase `json:"cases,omitempty"`
	// Irrelevance takes a case without ground_truth for one in which nothing may be called.
	Irrelevance bool `json:"irrelevance,omitempty"`
}

// bfclCase is a case in the files of BFCL.
type bfclCase struct {
	Function []bfclFunction `json:"function,omitempty"`
	// GroundTruth are the calls in order: the accepted values by parameter, by function. Numbers are
	// json.Numbers. An empty list means no calls.
	GroundTruth []map[string]map[string][]any `json:"ground_truth,omitempty"`
}

// bfclFunction is the name and the parameters of a function.
type bfclFunction struct {
	Name       string `json:"name"`
	Parameters struct {
		Properties map[string]bfclParameter `json:"properties"`
		Required   []string                 `json:"required"`
	} `json:"parameters"`
}

// bfclParameter is the type of a parameter.
type bfclParameter struct {
	Type  string `json:"type"`
	Items struct {
		Type string `json:"type"`
	} `json:"items,omitzero"`
}

func (s bfclSettings) scorer() (scoreFunc, error) {
	for name, c := range s.Cases {
		if err := c.check(); err != nil {
			return nil, fmt.Errorf("the case %q: %w", name, err)
		}
	}
	return single(func(run *importer.Run) (float64, string, error) {
		c, err := s.of(run)
		if err != nil {
			return 0, "", err
		}
		calls := facts.Read(run).Calls
		if len(calls) != len(c.GroundTruth) {
			return 0, fmt.Sprintf("want %d calls, got %d", len(c.GroundTruth), len(calls)), nil
		}
		weights, wrong := c.pairs(calls)
		pairs, err := assign(weights)
		switch {
		case err != nil:
			return 0, "", err
		case pairs < float64(len(calls)):
			return 0, wrong, nil
		}
		return 1, fmt.Sprintf("all %d calls are accepted", len(calls)), nil
	}), nil
}

// of returns the expectations of a run.
func (s bfclSettings) of(run *importer.Run) (c bfclCase, err error) {
	c, ok := s.Cases[run.Case]
	if !ok {
		for name, to := range map[string]any{"function": &c.Function, "ground_truth": &c.GroundTruth} {
			if raw := run.Meta[name]; raw != nil {
				if err := decodeAll(json.NewDecoder(bytes.NewReader(raw)), to); err != nil {
					return c, fmt.Errorf("%s of the recording: %w", name, err)
				}
			}
		}
	}
	if c.GroundTruth == nil && !s.Irrelevance {
		return c, fmt.Errorf("accepted calls of the case %q missing: set cases, or record ground_truth", run.Case)
	}
	return c, c.check()
}

// check rejects a call of an unknown function.
func (c *bfclCase) check() error {
	for i, answer := range c.GroundTruth {
		if len(answer) != 1 {
			return fmt.Errorf("ground_truth %d has %d functions: want one", i, len(answer))
		}
		for name := range answer {
			if c.function(name) == nil {
				return fmt.Errorf("ground_truth %d is a call of the unknown function %q", i, name)
			}
		}
	}
	return nil
}

func (c *bfclCase) function(name string) *bfclFunction {
	i := slices.IndexFunc(c.Function, func(f bfclFunction) bool { return f.Name == name })
	if i < 0 {
		return nil
	}
	return &c.Function[i]
}

// pairs returns the accepted calls for each answer, and the reason for the first answer without a
// call.
func (c *bfclCase) pairs(calls []facts.Call) (weights [][]float64, wrong string) {
	for _, answer := range c.GroundTruth {
		row := make([]float64, len(calls))
		var errs []string
		for name, accepted := range answer {
			for j := range calls {
				if err := c.function(name).accepts(&calls[j], accepted); err != nil {
					errs = append(errs, err.Error())
				} else {
					row[j] = 1
				}
			}
		}
		if len(errs) == len(calls) && wrong == "" {
			wrong = strings.Join(errs, "; ")
		}
		weights = append(weights, row)
	}
	if wrong == "" {
		wrong = "two answers accept the same call alone"
	}
	return weights, wrong
}

// accepts returns an error for a call that is not accepted.
func (f *bfclFunction) accepts(call *facts.Call, accepted map[string][]any) error {
	if call.Name != f.Name && call.Name != strings.ReplaceAll(f.Name, ".", "_") {
		return fmt.Errorf("want %s, got %s", f.Name, call.Name)
	}
	v, err := decode(call.Arguments())
	args, ok := v.(map[string]any)
	if err != nil || !ok {
		return fmt.Errorf("%s: the arguments are not a JSON object", f.Name)
	}
	for _, name := range f.Parameters.Required {
		if _, ok := args[name]; !ok {
			return fmt.Errorf("%s: %s is missing", f.Name, name)
		}
	}
	for name, values := range accepted {
		if _, ok := args[name]; !ok && !optional(values) {
			return fmt.Errorf("%s: %s is missing", f.Name, name)
		}
	}
	return f.values(args, accepted)
}

// values returns an error that lists the wrong values.
func (f *bfclFunction) values(args map[string]any, accepted map[string][]any) error {
	var wrong []string
	for name, value := range args {
		p, known := f.Parameters.Properties[name]
		values, wanted := accepted[name]
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
	return errors.New(f.Name + ": want " + strings.Join(wrong, ", "))
}

// optional reports whether a parameter is optional.
func optional(values []any) bool { return slices.Contains(texts(values), "") }

// texts returns the values that are strings.
func texts(values []any) (all []string) {
	for _, v := range values {
		if text, ok := v.(string); ok {
			all = append(all, text)
		}
	}
	return all
}

// pyType is a type of Python, as BFCL compares them.
type pyType string

const (
	pyNone  pyType = "None"
	pyBool  pyType = "bool"
	pyInt   pyType = "int"
	pyFloat pyType = "float"
	pyStr   pyType = "str"
	pyList  pyType = "list"
	pyDict  pyType = "dict"
)

// pyTypes are the types of BFCL's functions.
var pyTypes = map[string]pyType{
	"string": pyStr, "integer": pyInt, "float": pyFloat, "boolean": pyBool,
	"array": pyList, "tuple": pyList, "dict": pyDict, "any": pyStr,
}

// typeOf returns the type that Python gives a JSON value.
func typeOf(v any) pyType {
	switch v := v.(type) {
	case bool:
		return pyBool
	case json.Number:
		if strings.ContainsAny(string(v), ".eE") {
			return pyFloat
		}
		return pyInt
	case string:
		return pyStr
	case []any:
		return pyList
	case map[string]any:
		return pyDict
	default:
		return pyNone
	}
}

// typeOfAny returns the type of the first value other than "".
func typeOfAny(values []any) pyType {
	for _, v := range values {
		if v != "" {
			return typeOf(v)
		}
	}
	return ""
}

// accepts reports whether a value is one of the accepted values of a parameter.
func (p *bfclParameter) accepts(value any, accepted []any) bool {
	want, inner := pyTypes[p.Type], pyType("")
	if want == pyList {
		inner = pyTypes[p.Items.Type]
	}
	if want == pyFloat && typeOf(value) == pyInt {
		value = json.Number(value.(json.Number) + ".0")
	}
	ok, variable := typed(value, accepted, want, inner)
	switch {
	case !ok:
		return false
	case variable:
		return among(value, accepted)
	}
	switch want {
	case pyDict:
		return dict(value, accepted)
	case pyStr:
		return slices.Contains(standards(texts(accepted)), standard(value.(string)))
	case pyList:
		if inner == pyDict {
			return dicts(value.([]any), accepted)
		}
		return list(value.([]any), accepted)
	default:
		return among(value, accepted)
	}
}

// typed reports whether a value has the required type, or that of the accepted values, which BFCL
// calls a variable.
func typed(value any, accepted []any, want, inner pyType) (ok, variable bool) {
	other := typeOfAny(accepted)
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

// standard returns a string in the form that BFCL compares.
func standard(text string) string {
	return strings.NewReplacer(" ", "", ",", "", ".", "", "/", "", "-", "", "_", "", "*", "", "^", "", "'", `"`).Replace(strings.ToLower(text))
}

func standards(texts []string) []string {
	all := make([]string, len(texts))
	for i, text := range texts {
		all[i] = standard(text)
	}
	return all
}

// standardized returns the standard form of a string, and other values unchanged.
func standardized(v any) any {
	if text, ok := v.(string); ok {
		return standard(text)
	}
	return v
}

// among reports whether a value is one of others.
func among(value any, others []any) bool {
	return slices.ContainsFunc(others, func(o any) bool { return same(value, o) })
}

// list reports whether a list is accepted. The value "" accepts an empty list.
func list(value []any, accepted []any) bool {
	return slices.ContainsFunc(accepted, func(a any) bool {
		of, _ := a.([]any)
		return slices.EqualFunc(value, of, func(v, o any) bool { return same(standardized(v), standardized(o)) })
	})
}

// dict reports whether a dict has the members of an accepted one.
func dict(value any, accepted []any) bool {
	got, ok := value.(map[string]any)
	return ok && slices.ContainsFunc(accepted, func(a any) bool {
		want, isDict := a.(map[string]any)
		return isDict && members(got, want)
	})
}

// members reports whether a dict has each member as accepted and all required members.
func members(got, want map[string]any) bool {
	for name, v := range got {
		values, _ := want[name].([]any)
		if !slices.ContainsFunc(values, func(o any) bool { return same(standardized(v), standardized(o)) }) {
			return false
		}
	}
	for name, values := range want {
		list, _ := values.([]any)
		if _, ok := got[name]; !ok && !optional(list) {
			return false
		}
	}
	return true
}

// dicts reports whether a list of dicts equals an accepted one, dict by dict.
func dicts(value []any, accepted []any) bool {
	return slices.ContainsFunc(accepted, func(a any) bool {
		of, _ := a.([]any)
		return slices.EqualFunc(value, of, func(v, o any) bool { return dict(v, []any{o}) })
	})
}

// same reports whether two values are equal, numbers by their value.
func same(a, b any) bool {
	switch a := a.(type) {
	case json.Number:
		n, ok := b.(json.Number)
		return ok && canonicalNumber(a) == canonicalNumber(n)
	case []any:
		l, ok := b.([]any)
		return ok && slices.EqualFunc(a, l, same)
	case map[string]any:
		m, ok := b.(map[string]any)
		if !ok || len(a) != len(m) {
			return false
		}
		for name, v := range a {
			if o, ok := m[name]; !ok || !same(v, o) {
				return false
			}
		}
		return true
	default:
		return a == b
	}
}
