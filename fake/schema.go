package fake

import (
	_ "embed"
	"encoding/json"
	"maps"
)

//go:embed schema/scenario-v2.schema.json
var publishedSchema []byte

// Schema returns the JSON Schema (2020-12) of scenario files.
func Schema() []byte { return append([]byte(nil), publishedSchema...) }

// buildSchema builds the schema from the codecs.
func buildSchema() ([]byte, error) {
	d := defs{}
	scriptCodec().schema(d)
	root := maps.Clone(d["scenario"])
	delete(d, "scenario")
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = "looptape scenario, version 2"
	root["required"] = []string{"version"}
	root["$defs"] = d
	out, err := json.MarshalIndent(root, "", "  ")
	return append(out, '\n'), err
}
