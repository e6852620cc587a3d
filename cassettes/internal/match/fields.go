package match

import (
	"net/url"
	"slices"
	"strings"
)

// field is a name and value of a query or form.
type field struct {
	name, value string
	text        string // canonical
}

// fields reads the fields of a query or form that count, sorted by name. It keeps a field
// unchanged if it is invalid or ambiguous.
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

func textOf(list []field) string {
	texts := make([]string, len(list))
	for i, f := range list {
		texts[i] = f.text
	}
	return strings.Join(texts, "&")
}

func byName(list []field) url.Values {
	values := url.Values{}
	for _, f := range list {
		values.Add(f.name, f.value)
	}
	return values
}
