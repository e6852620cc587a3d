package fake

import (
	"encoding/json"
	"maps"

	"github.com/looptape/looptape/fake/internal/yamlfile"
)

// buildSchema builds the JSON Schema (2020-12) of scenario files from the codecs. The
// published one is schema/scenario-v2.schema.json.
func buildSchema() ([]byte, error) {
	d := yamlfile.Defs{}
	scriptCodec().Schema(d)
	root := maps.Clone(d["scenario"])
	delete(d, "scenario")
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = "looptape scenario, version 2"
	root["required"] = []string{"version"}
	root["$defs"] = d
	out, err := json.MarshalIndent(root, "", "  ")
	return append(out, '\n'), err
}
