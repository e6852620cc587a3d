package convert

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/looptape/looptape/cassettes"
)

// Rewrite returns the file of a recording with other interactions, as many, in the place
// of its own. It is an error if its format is not written, or if anything of the file,
// which the error names, would not come back.
func (r *Recording) Rewrite(list []*cassettes.Interaction) ([]byte, error) {
	if r.Format == "" {
		return nil, errors.New("its format is not written")
	}
	if r.Format != Cassette {
		if lost, err := r.lost(); err != nil {
			return nil, err
		} else if lost != "" {
			return nil, fmt.Errorf("written anew as %s it would lose %s", r.Format, lost)
		}
	}
	text, _, err := Write(r.Format, r.Head, list)
	return text, err
}

// mostLost is how many places are named that do not come back.
const mostLost = 5

// lost names what of the file does not come back if it is written anew as it is.
func (r *Recording) lost() (string, error) {
	text, _, err := Write(r.Format, r.Head, r.Interactions)
	if err != nil {
		return "", err
	}
	unmarshal := yaml.Unmarshal
	if r.Format == HAR {
		unmarshal = json.Unmarshal
	}
	var was, now any
	if err := errors.Join(unmarshal(r.src, &was), unmarshal(text, &now)); err != nil {
		return "", err
	}
	places := map[string]bool{}
	missing(places, "", was, now)
	list := slices.Sorted(maps.Keys(places))
	if n := len(list) - mostLost; n > 0 {
		list = append(list[:mostLost], fmt.Sprintf("and %d more", n))
	}
	return strings.Join(list, ", "), nil
}

// missing notes the places of what is not the same any more, or not there: * stands for
// each element of a list.
func missing(places map[string]bool, path string, was, now any) {
	switch was := was.(type) {
	case map[string]any:
		now, _ := now.(map[string]any)
		for name, value := range was {
			missing(places, strings.TrimPrefix(path+"/"+name, "/"), value, member(now, name))
		}
		return
	case []any:
		if now, _ := now.([]any); len(now) == len(was) {
			for i := range was {
				missing(places, path+"/*", was[i], now[i])
			}
			return
		}
	}
	if !isNothing(was) && !reflect.DeepEqual(was, alone(now)) {
		places[path] = true
	}
}

// member is that of an object, whose name may be spelled in other cases, as those of
// headers are.
func member(object map[string]any, name string) any {
	if value, ok := object[name]; ok {
		return value
	}
	for key, value := range object {
		if strings.EqualFold(key, name) {
			return value
		}
	}
	return nil
}

// alone is the one element of a list that has no other.
func alone(value any) any {
	if list, ok := value.([]any); ok && len(list) == 1 {
		return list[0]
	}
	return value
}

// isNothing reports whether a value says as much as none.
func isNothing(value any) bool {
	v := reflect.ValueOf(value)
	return !v.IsValid() || v.IsZero() || (v.Kind() == reflect.Slice || v.Kind() == reflect.Map) && v.Len() == 0
}
