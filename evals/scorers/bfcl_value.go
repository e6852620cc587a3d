package scorers

import (
	"encoding/json"
	"slices"
	"strings"
)

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

// typeOf is the type of a value as Python reads its JSON.
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

// accepts reports whether a value is one of those accepted of a parameter.
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

// typed reports whether a value has the type wanted, or that of the values accepted; it
// then is called a variable there.
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

// standard is a text as BFCL compares it.
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

// standardized is a value, or of a text its standard.
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

// dict reports whether a dict has the members of one of those accepted.
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

// dicts reports whether a list of dicts is one of those accepted, dict by dict.
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
