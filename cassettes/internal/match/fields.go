package match

import (
	"net/url"
	"slices"
	"strings"
)

// field is a pair of a query or a form.
type field struct {
	name, value string
	text        string // in its one spelling
}

// fields reads a query or a form: the fields that count, in the order of their names.
// What cannot be read, or is not read by all servers in one way, stands as it is.
func (m Matcher) fields(text string) []field {
	list := []field{}
	for pair := range strings.SplitSeq(text, "&") {
		name, value, hasValue := strings.Cut(pair, "=")
		readName, badName := url.QueryUnescape(name)
		readValue, badValue := url.QueryUnescape(value)
		f := field{name, value, pair}
		if !strings.Contains(pair, ";") && badName == nil {
			if slices.Contains(m.Ignore, "?"+readName) {
				continue
			}
			if f.name = readName; badValue == nil {
				f.value, f.text = readValue, url.QueryEscape(readName)
				if hasValue {
					f.text += "=" + url.QueryEscape(readValue)
				}
			}
		}
		if f.text != "" {
			list = append(list, f)
		}
	}
	slices.SortStableFunc(list, func(a, b field) int { return strings.Compare(a.name, b.name) })
	return list
}

// textOf is fields as they are compared.
func textOf(list []field) string {
	texts := make([]string, len(list))
	for i, f := range list {
		texts[i] = f.text
	}
	return strings.Join(texts, "&")
}

// byName are the values of fields, by their names.
func byName(list []field) url.Values {
	values := url.Values{}
	for _, f := range list {
		values.Add(f.name, f.value)
	}
	return values
}
