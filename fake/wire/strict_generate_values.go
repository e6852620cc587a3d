package wire

import "fmt"

// generateValues refuses what no rule of quirks has, and Gemini refuses all the same: a
// mode that has to call where there is nothing to call, functions of one name, and parts
// that are two things.
func generateValues(body object, contents []content) *refusal {
	names := map[string]bool{}
	for _, t := range listed(body.get("tools")).elements() {
		for _, f := range listed(t.object().either("functionDeclarations")).elements() {
			name := f.get("name").text()
			if names[name] {
				return refused("", "Duplicate function declaration found: %s", name)
			}
			names[name] = true
		}
	}
	calling := body.either("toolConfig").object().either("functionCallingConfig")
	if calling.get("mode").text() == "ANY" && len(names) == 0 {
		return refused("", "Function calling config is set without function_declarations.")
	}
	for i, c := range contents {
		for j, p := range c.parts {
			if e := twofold(fmt.Sprintf("contents[%d].parts[%d]", i, j), p); e != nil {
				return e
			}
		}
	}
	return nil
}

// twofold refuses a part with more than one of the members of which it has one.
func twofold(path string, part object) *refusal {
	one := false
	for _, key := range partData {
		if !part.either(key).given() {
			continue
		}
		if one {
			return refused("", "Invalid value at '%s' (oneof), oneof field 'data' is already set. Cannot set '%s'", path, key)
		}
		one = true
	}
	return nil
}
