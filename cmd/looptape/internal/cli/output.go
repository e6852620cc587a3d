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

// JSONOutput is the format of a JSON output of type T.
type JSONOutput[T any] struct{ JSONFormat }

// NewJSON declares the format of an output: looptape- and a name. T is an object in JSON.
func NewJSON[T any](name string, version int, command string) JSONOutput[T] {
	return JSONOutput[T]{declare(name, version, command, reflect.TypeFor[T](), false)}
}

// NewJSONLines declares the format of JSON Lines of type T.
func NewJSONLines[T any](name string, version int, command string) JSONOutput[T] {
	return JSONOutput[T]{declare(name, version, command, reflect.TypeFor[T](), true)}
}

// NewJSONLinesOf declares the format of JSON Lines whose type is that of the elements of a list.
func NewJSONLinesOf(name string, version int, command string, list reflect.Type) JSONOutput[any] {
	return JSONOutput[any]{declare(name, version, command, list.Elem(), true)}
}

func declare(name string, version int, command string, of reflect.Type, lines bool) JSONFormat {
	f := JSONFormat{Name: "looptape-" + name, Version: version, Command: command, Type: of, Lines: lines}
	jsonFormats = append(jsonFormats, f)
	return f
}

// Of returns the output of a value: its members after those of the format.
func (o JSONOutput[T]) Of(value T) any { return formatted{o.JSONFormat, value} }

// Head returns the first of several lines.
func (o JSONOutput[T]) Head() any { return formatted{o.JSONFormat, struct{}{}} }

type formatted struct {
	JSONFormat

	value any
}

// MarshalJSON implements json.Marshaler.
func (f formatted) MarshalJSON() ([]byte, error) {
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
