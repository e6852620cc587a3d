package fake

import (
	_ "embed"
	"encoding/json"
	"maps"
)

//go:embed schema/scenario-v1.schema.json
var publishedSchema []byte

// Schema returns the JSON Schema (2020-12) of scenario files.
func Schema() []byte { return append([]byte(nil), publishedSchema...) }

// buildSchema makes the schema from the tables by which files are read.
func buildSchema() ([]byte, error) {
	d := defs{}
	scriptCodec().schema(d)
	root := maps.Clone(d["scenario"])
	delete(d, "scenario")
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = "looptape scenario, version 1"
	root["required"] = []string{"version"}
	root["$defs"] = d
	out, err := json.MarshalIndent(root, "", "  ")
	return append(out, '\n'), err
}
