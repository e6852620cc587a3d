package scorers

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/looptape/looptape/evals/facts"
	"github.com/looptape/looptape/trace"
	"github.com/looptape/looptape/trace/importer"
)

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
			if err := follows(c.Arguments(), schema); err != nil {
				wrong = append(wrong, fmt.Sprintf("%s: %v", c.Name, err))
			}
		}
		if checked == 0 && len(calls) > 0 {
			return 0, "", errors.New("no schema for any called tool: set schemas")
		}
		return all(wrong, []string{fmt.Sprintf("%d of %d calls follow their schema", checked, len(calls))})
	}), nil
}

// declaredSchemas returns the last schema of each tool in a trace.
func declaredSchemas(run *importer.Run) map[string]json.RawMessage {
	schemas := map[string]json.RawMessage{}
	for _, ev := range run.Events {
		setup, ok := ev.Body.(trace.ModelConfig)
		if !ok {
			continue
		}
		for _, tool := range setup.Tools {
			schemas[tool.Name] = tool.Parameters
		}
	}
	return schemas
}

func resolve(tool string, raw json.RawMessage) (*jsonschema.Resolved, error) {
	schema := &jsonschema.Schema{}
	if err := json.Unmarshal(raw, schema); err != nil {
		return nil, fmt.Errorf("the schema of the tool %q: %w", tool, err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		return nil, fmt.Errorf("the schema of the tool %q: %w", tool, err)
	}
	return resolved, nil
}

func follows(args json.RawMessage, schema *jsonschema.Resolved) error {
	var v any
	if err := json.Unmarshal(args, &v); err != nil {
		return err
	}
	return schema.Validate(v)
}
