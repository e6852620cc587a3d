package rerun

import (
	"encoding/json"
	"fmt"

	"github.com/looptape/looptape/llm"
)

// definition is a tool in the form of the OpenAI protocols, with or without an object "function",
// or of Anthropic.
type definition struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	InputSchema json.RawMessage `json:"input_schema"`
	Strict      *bool           `json:"strict"`
	Function    *definition     `json:"function"`
}

// ReadTools sets Tools from a JSON array of tool definitions, as requests to OpenAI or Anthropic
// contain them.
func (o *ModelOptions) ReadTools(raw []byte) (err error) {
	o.Tools, err = readTools(raw)
	return err
}

func readTools(raw []byte) ([]llm.Tool, error) {
	var list []definition
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, fmt.Errorf("want an array of tool definitions: %w", err)
	}
	tools := make([]llm.Tool, 0, len(list))
	for i, d := range list {
		if d.Function != nil {
			d = *d.Function
		}
		if d.Name == "" {
			return nil, fmt.Errorf("tool %d: missing name", i)
		}
		if d.Parameters == nil {
			d.Parameters = d.InputSchema
		}
		tools = append(tools, llm.Tool{Name: d.Name, Description: d.Description, Parameters: d.Parameters, Strict: d.Strict})
	}
	return tools, nil
}
