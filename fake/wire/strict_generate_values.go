package wire

import (
	"cmp"
	"fmt"
)

// generateValues refuses what no rule of quirks has, and Gemini refuses all the same: a
// mode that has to call where there is nothing to call, functions of one name, a
// temperature out of range, arguments that are a text, and parts that are two things.
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
	if heat, heated := body.either("generationConfig").get("temperature").number(); heated && (heat < 0 || heat > 2) {
		return refused("", "The temperature has to be in the range from 0 to 2, and is %v.", heat)
	}
	for i, c := range contents {
		for j, p := range c.parts {
			path := fmt.Sprintf("contents[%d].parts[%d]", i, j)
			if e := cmp.Or(twofold(path, p), textForArgs(path, p)); e != nil {
				return e
			}
		}
	}
	return nil
}

// textForArgs refuses arguments that are JSON in a text, as OpenAI has them.
func textForArgs(path string, part object) *refusal {
	args := part.either("functionCall").get("args")
	if !args.is('"') {
		return nil
	}
	return refused("", "Invalid value at '%s.function_call.args' (type.googleapis.com/google.protobuf.Struct), %s", path, args)
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
