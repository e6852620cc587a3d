package trace

import (
	_ "embed" // for the schema
	"slices"
)

//go:embed schema/trace-v2.schema.json
var schema []byte

// Schema returns the JSON Schema (draft 2020-12) of a line of a trace file: the
// header, or an event. The caller owns what it gets.
func Schema() []byte { return slices.Clone(schema) }
