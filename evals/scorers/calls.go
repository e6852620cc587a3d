package scorers

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/looptape/looptape/evals/facts"
	"github.com/looptape/looptape/trace"
	"github.com/looptape/looptape/trace/importer"
)

// calledSettings scores 1 if the number of calls of each named tool is in its range.
type calledSettings struct {
	// Tools are counts by the tool's name.
	Tools map[string]callCount `json:"tools"`
}

// callCount is a range of call counts; the zero value means 1 or more.
type callCount struct {
	Min *int `json:"min,omitempty"` // nil means 1, or Max if that is less
	Max *int `json:"max,omitempty"` // nil means no limit
}

func (s calledSettings) scorer() (scoreFunc, error) {
	if len(s.Tools) == 0 {
		return nil, errors.New("missing tools: name the tools to count")
	}
	tools := slices.Sorted(maps.Keys(s.Tools))
	for _, name := range tools {
		if least, most := s.Tools[name].bounds(); least < 0 || most < least {
			return nil, fmt.Errorf("the tool %q: invalid count %s", name, s.Tools[name])
		}
	}
	return single(func(run *importer.Run) (float64, string, error) {
		count := countCalls(run)
		var wrong, right []string
		for _, name := range tools {
			n := count[name]
			if least, most := s.Tools[name].bounds(); n < least || n > most {
				wrong = append(wrong, fmt.Sprintf("want %s of %s, got %d", s.Tools[name], name, n))
			}
			right = append(right, fmt.Sprintf("%d of %s", n, name))
		}
		return passUnless(wrong, strings.Join(right, ", "))
	}), nil
}

func (c callCount) bounds() (least, most int) {
	most = math.MaxInt
	if c.Max != nil {
		most = *c.Max
	}
	if c.Min != nil {
		return *c.Min, most
	}
	return min(1, most), most
}

func (c callCount) String() string {
	switch least, most := c.bounds(); {
	case c.Max == nil:
		return fmt.Sprintf("%d or more", least)
	case most == least:
		return fmt.Sprint(most)
	default:
		return fmt.Sprintf("%d to %d", least, most)
	}
}

// notCalledSettings scores 1 if none of the named tools was called.
type notCalledSettings struct {
	Tools []string `json:"tools,omitempty"` // empty means all tools
}

func (s notCalledSettings) scorer() (scoreFunc, error) { //nolint:unparam // nothing can be wrong with these settings
	return single(func(run *importer.Run) (float64, string, error) {
		var wrong []string
		count := countCalls(run)
		for _, name := range slices.Sorted(maps.Keys(count)) {
			if len(s.Tools) == 0 || slices.Contains(s.Tools, name) {
				wrong = append(wrong, fmt.Sprintf("want 0 of %s, got %d", name, count[name]))
			}
		}
		return passUnless(wrong, "not called")
	}), nil
}

func countCalls(run *importer.Run) map[string]int {
	count := map[string]int{}
	for _, c := range facts.Read(run).Calls {
		count[c.Name]++
	}
	return count
}

// passUnless returns the score 1 if nothing is wrong, else 0.
func passUnless(wrong []string, right string) (float64, string, error) {
	if len(wrong) > 0 {
		return 0, strings.Join(wrong, "; "), nil
	}
	return 1, right, nil
}

// argSchemaSettings scores 1 if the arguments of all calls match the schemas of their tools. It
// skips tools without a schema. A run with calls but without any schema is an error.
type argSchemaSettings struct {
	// Schemas are JSON Schemas by tool (draft 2020-12 or 7). They take precedence over the
	// schemas in a trace.
	Schemas map[string]json.RawMessage `json:"schemas,omitempty"`
}

func (s argSchemaSettings) scorer() (scoreFunc, error) {
	given := map[string]*jsonschema.Resolved{}
	for tool, raw := range s.Schemas {
		schema, err := resolve(tool, raw)
		if err != nil {
			return nil, err
		}
		given[tool] = schema
	}
	return single(func(run *importer.Run) (float64, string, error) {
		calls := facts.Read(run).Calls
		declared := declaredSchemas(run)
		checked := 0
		var wrong []string
		for _, c := range calls {
			schema, ok := given[c.Name]
			if raw := declared[c.Name]; !ok && len(raw) > 0 {
				var err error
				if schema, err = resolve(c.Name, raw); err != nil {
					return 0, "", err
				}
			}
			if schema == nil {
				continue
			}
			checked++
			var args any
			err := json.Unmarshal(c.Arguments(), &args)
			if err == nil {
				err = schema.Validate(args)
			}
			if err != nil {
				wrong = append(wrong, fmt.Sprintf("%s: %v", c.Name, err))
			}
		}
		if checked == 0 && len(calls) > 0 {
			return 0, "", errors.New("no schema for any called tool: set schemas")
		}
		return passUnless(wrong, fmt.Sprintf("%d of %d calls follow their schema", checked, len(calls)))
	}), nil
}

// declaredSchemas returns the last schema of each tool in a trace.
func declaredSchemas(run *importer.Run) map[string]json.RawMessage {
	schemas := map[string]json.RawMessage{}
	for _, ev := range run.Events {
		config, _ := ev.Body.(trace.ModelConfig)
		for _, tool := range config.Tools {
			schemas[tool.Name] = tool.Parameters
		}
	}
	return schemas
}

func resolve(tool string, raw json.RawMessage) (resolved *jsonschema.Resolved, err error) {
	schema := &jsonschema.Schema{}
	if err = json.Unmarshal(raw, schema); err == nil {
		resolved, err = schema.Resolve(nil)
	}
	if err != nil {
		return nil, fmt.Errorf("the schema of the tool %q: %w", tool, err)
	}
	return resolved, nil
}
