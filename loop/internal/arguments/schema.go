package arguments

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/looptape/looptape/internal/jsonval"
)

// Schema is the resolved JSON Schema of a tool's arguments. A nil Schema accepts
// any object.
type Schema struct {
	resolved *jsonschema.Resolved
	shape    *shape // nil if the schema is not plain
	defaults bool   // the schema contains default values
}

// ParseSchema parses a JSON Schema (2020-12 or draft 7). It returns an error if
// raw is not a schema, or not that of an object.
func ParseSchema(raw json.RawMessage) (*Schema, error) {
	var s jsonschema.Schema
	if err := json.Unmarshal(raw, &s); err != nil {
		return nil, fmt.Errorf("its parameters are not a JSON Schema: %w", err)
	}
	if s.Type != "object" {
		return nil, errors.New(`its parameters must have "type": "object"`)
	}
	r, err := s.Resolve(&jsonschema.ResolveOptions{ValidateDefaults: true})
	if err != nil {
		return nil, fmt.Errorf("its parameters: %w", err)
	}
	return &Schema{r, newShape(&s), bytes.Contains(raw, []byte(`"default"`))}, nil
}

// Accepts reports whether [CheckObject] and the schema accept the arguments without any
// change. It needs one pass. A false result says nothing: use CheckObject and
// [Schema.Prepare] then.
func (s *Schema) Accepts(args string) bool {
	return s != nil && s.shape != nil && s.shape.accepts(args)
}

// Prepare validates the arguments, a JSON object, and fills in the schema's defaults.
// changed reports whether it filled in any.
func (s *Schema) Prepare(args string) (resolved string, changed bool, err error) {
	if s == nil {
		return args, false, nil
	}
	resolved = args
	if s.defaults {
		if resolved, changed, err = s.fill(args); err != nil {
			return args, false, err
		}
	}
	var v map[string]any
	if err = json.Unmarshal([]byte(resolved), &v); err == nil {
		err = s.resolved.Validate(v)
	}
	if err != nil {
		return resolved, false, fmt.Errorf("invalid arguments: %w", err)
	}
	return resolved, changed, nil
}

// fill fills in the schema's defaults. Numbers keep their digits.
func (s *Schema) fill(args string) (resolved string, changed bool, err error) {
	read := func() (v map[string]any, err error) {
		dec := json.NewDecoder(strings.NewReader(args))
		dec.UseNumber()
		err = dec.Decode(&v)
		return v, err
	}
	before, err := read()
	if err != nil {
		return args, false, fmt.Errorf("invalid arguments: %w", err)
	}
	after, _ := read()
	if err := s.resolved.ApplyDefaults(&after); err != nil {
		return args, false, fmt.Errorf("filling in defaults: %w", err)
	}
	if reflect.DeepEqual(before, after) {
		return args, false, nil
	}
	line, err := jsonval.Line(after)
	return strings.TrimSuffix(string(line), "\n"), err == nil, err
}
