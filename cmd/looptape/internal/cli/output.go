package cli

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"sort"
)

// JSONFormat is the format of a JSON output: a name and a version, which are its first members, or
// the only ones of the first of several lines. Each has a JSON Schema in cmd/looptape/schema.
type JSONFormat struct {
	Name    string
	Version int
	Command string // whose output it is
	// Type is that of the value, or of each line after the first.
	Type reflect.Type
	// Lines is true for JSON Lines.
	Lines bool
}

var jsonFormats []JSONFormat

// JSONFormats returns all formats of JSON outputs by name.
func JSONFormats() []JSONFormat {
	list := slices.Clone(jsonFormats)
	sort.Slice(list, func(i, j int) bool { return list[i].Name < list[j].Name })
	return list
}

// NewJSON declares the format of an output: looptape- and a name. The type is that of the value, an object in JSON.
func NewJSON(name string, version int, command string, value any) JSONFormat {
	return declare(JSONFormat{name, version, command, reflect.TypeOf(value), false})
}

// NewJSONLines declares the format of JSON Lines, whose type is that of the value.
func NewJSONLines(name string, version int, command string, value any) JSONFormat {
	return declare(JSONFormat{name, version, command, reflect.TypeOf(value), true})
}

// NewJSONLinesOf declares the format of JSON Lines whose type is that of the elements of a list.
func NewJSONLinesOf(name string, version int, command string, list any) JSONFormat {
	return declare(JSONFormat{name, version, command, reflect.TypeOf(list).Elem(), true})
}

func declare(f JSONFormat) JSONFormat {
	f.Name = "looptape-" + f.Name
	jsonFormats = append(jsonFormats, f)
	return f
}

// Of returns the output of a value of the type: its members after those of the format.
func (f *JSONFormat) Of(value any) any { return formatted{*f, value} }

// Head returns the first of several lines.
func (f *JSONFormat) Head() any { return formatted{*f, struct{}{}} }

type formatted struct {
	JSONFormat

	value any
}

// MarshalJSON implements json.Marshaler.
func (f formatted) MarshalJSON() ([]byte, error) {
	if of := reflect.TypeOf(f.value); of != f.Type && !f.Lines {
		return nil, fmt.Errorf("%s: want %s, got %s", f.Name, f.Type, of)
	}
	var line bytes.Buffer
	err := WriteJSON(&line, f.value)
	text := bytes.TrimSpace(line.Bytes())
	if err != nil || len(text) == 0 || text[0] != '{' {
		return nil, fmt.Errorf("%s: want an object, got %.20s, error %w", f.Name, text, err)
	}
	if bytes.HasPrefix(text, []byte(`{"format":`)) {
		return text, nil // the type has its own members
	}
	head := fmt.Appendf(nil, `{"format":%q,"version":%d`, f.Name, f.Version)
	if len(text) > len("{}") {
		head = append(head, ',')
	}
	return append(head, text[1:]...), nil
}
