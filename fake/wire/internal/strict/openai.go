package strict

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/looptape/looptape/providers/protocol"
)

// Both protocols of OpenAI share these checks. The provider writes some params with a
// dot before the index (messages.[1]).

func unknownOpenAI(in Request, model string) *Error {
	if !in.unknownModel(model) {
		return nil
	}
	return reject("SO-16", "The model `%s` does not exist or you do not have access to it.", model)
}

func emptyArray(id, param string) *Error {
	return reject(id, "Invalid '%s': empty array. Expected an array with minimum length 1, but got an empty array instead.", param).at(param, "empty_array")
}

func missingParameter(id, param string) *Error {
	return reject(id, "Missing required parameter: '%s'.", param).at(param, "missing_required_parameter")
}

func tooLong(id, param, text string, limit int) *Error {
	n := utf8.RuneCountInString(text)
	if n <= limit {
		return nil
	}
	return reject(id, "Invalid '%s': string too long. Expected a string with maximum length %d, but got a string with length %d instead.", param, limit, n).at(param, "string_above_max_length")
}

func unknownParameter(id, path string, o object, known []string) *Error {
	return first(o, func(_ int, m member) *Error {
		if slices.Contains(known, m.key) {
			return nil
		}
		return reject(id, "Unknown parameter: '%s%s'.", path, m.key).at(path+m.key, "unknown_parameter")
	})
}

const maxNameLength = 64

func checkName(id, param, name string) *Error {
	if !protocol.IsName(name) {
		return reject(id, "Invalid '%s': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.", param).at(param, "invalid_value")
	}
	return tooLong("", param, name, maxNameLength)
}

func checkCalledName(id, param, name string) *Error {
	if name == "" {
		return emptyString(id, param)
	}
	return checkName("", param, name)
}

func emptyString(id, param string) *Error {
	return reject(id, "Invalid '%s': empty string. Expected a string with minimum length 1, but got an empty string instead.", param).at(param, "empty_string")
}

// checkWord rejects a word that is not one of the known ones.
func checkWord(id, param, word string, known ...string) *Error {
	if slices.Contains(known, word) {
		return nil
	}
	return reject(id, "Invalid value: '%s'. Supported values are: %s.", word, enumerate(known)).at(param, "invalid_value")
}

// enumerate lists words as the provider does: 'a', 'b', and 'c'.
func enumerate(words []string) string {
	n := len(words) - 1
	text := "'" + strings.Join(words[:n], "', '") + "'"
	if n > 1 {
		text += ","
	}
	return text + " and '" + words[n] + "'"
}

func onlyWithTools(id string, body object, key string) *Error {
	if body.get("tools").isSet() || !body.get(key).isSet() {
		return nil
	}
	return reject(id, "Invalid value for '%s': '%s' is only allowed when 'tools' are specified.", key, key)
}

func checkFunction(id, param, name string, schema value, strict bool) *Error {
	problem := schemaProblem(schema, strict)
	if problem == "" {
		return nil
	}
	return reject(id, "Invalid schema for function '%s': %s", name, problem).at(param, "invalid_function_parameters")
}

// schemaProblem returns the error in a schema; empty means none. The top of a schema is
// an object with properties.
func schemaProblem(schema value, strict bool) string {
	if !schema.isSet() {
		return ""
	}
	top := schema.object()
	switch kind := top.get("type"); {
	case kind.string() != "object":
		if !kind.isSet() {
			kind = `"None"`
		}
		return fmt.Sprintf(`schema must be a JSON Schema of 'type: "object"', got 'type: %s'.`, kind)
	case strict:
		return strictProblem(schema, nil)
	case !top.get("properties").isSet():
		return "In context=(), object schema missing properties."
	}
	return ""
}

// maxDepth limits how deep schemas are checked.
const maxDepth = 32

var notInStrict = strings.Fields("oneOf allOf not if then else dependentRequired dependentSchemas patternProperties")

// strictProblem returns the violation of the rules of strict: true, with its path; empty
// means none. An object must list all properties as required and allow no others
// ("Structured model outputs", OpenAI).
func strictProblem(schema value, path []string) string {
	if len(path) > maxDepth {
		return "In context=" + inContext(path[:maxDepth]) + ", the schema is nested too deeply."
	}
	o := schema.object()
	for _, m := range o {
		if slices.Contains(notInStrict, m.key) {
			return fmt.Sprintf("In context=%s, '%s' is not permitted.", inContext(path), m.key)
		}
	}
	properties := o.get("properties")
	if strings.Contains(string(o.get("type")), `"object"`) || properties.isSet() {
		if o.get("additionalProperties") != "false" {
			return "In context=" + inContext(path) + ", 'additionalProperties' is required to be supplied and to be false."
		}
		if missing, ok := unrequired(properties, o.get("required")); ok {
			return fmt.Sprintf("In context=%s, 'required' is required to be supplied and to be an array including every key in properties. Missing '%s'.", inContext(path), missing)
		}
	}
	return strictBelow(o, path)
}

func strictBelow(o object, path []string) string {
	for _, m := range o {
		var below []member
		at := append(path[:len(path):len(path)], m.key)
		switch m.key {
		case "properties", "$defs", "definitions":
			below = m.object()
		case "items":
			if problem := strictProblem(m.value, at); problem != "" {
				return problem
			}
		case "anyOf":
			for i, v := range m.elements() {
				below = append(below, member{strconv.Itoa(i), v})
			}
		}
		for _, p := range below {
			if problem := strictProblem(p.value, append(at[:len(at):len(at)], p.key)); problem != "" {
				return problem
			}
		}
	}
	return ""
}

// unrequired returns a property that is not required; ok is false if there is none.
func unrequired(properties, required value) (name string, ok bool) {
	known := map[string]bool{}
	for _, r := range required.elements() {
		known[r.string()] = true
	}
	for _, p := range properties.object() {
		if !known[p.key] {
			return p.key, true
		}
	}
	return "", false
}

// inContext formats a path as the provider does: (), ('items',), ('properties', 'a').
func inContext(path []string) string {
	switch text := "'" + strings.Join(path, "', '") + "'"; len(path) {
	case 0:
		return "()"
	case 1:
		return "(" + text + ",)"
	default:
		return "(" + text + ")"
	}
}

// formatPlace contains the names that a protocol gives to the response format.
type formatPlace struct {
	path   string
	named  string // of the object with the name and the schema
	schema string // the param of an error in a schema
	code   string
}

var (
	chatFormat      = formatPlace{"response_format", "response_format.json_schema", "response_format", ""}
	responsesFormat = formatPlace{"text.format", "text.format", "text.format.schema", "invalid_json_schema"}
)

func checkFormat(format, named value, at formatPlace) *Error {
	if !format.isSet() {
		return nil
	}
	name := named.text("name")
	switch kind := format.text("type"); {
	case kind == "":
		return missingParameter("", at.path+".type")
	case kind == "text", kind == "json_object":
		return nil
	case kind != "json_schema":
		return checkWord("", at.path+".type", kind, "json_object", "json_schema", "text")
	case !named.isSet():
		return missingParameter("", at.named)
	case name == "":
		return missingParameter("", at.named+".name")
	case named.get("strict") != "true":
		return nil
	}
	if problem := schemaProblem(named.get("schema"), true); problem != "" {
		return reject("", "Invalid schema for response_format '%s': %s", name, problem).at(at.schema, at.code)
	}
	return nil
}

// OpenAI rejects the values below although no rule of the list names them. OpenAI-
// compatible servers accept wider ranges, more parts and other formats.

func checkTemperature(body object) *Error {
	temperature, hasTemperature := body.get("temperature").number()
	switch {
	case hasTemperature && temperature > 2:
		return reject("", "Invalid 'temperature': decimal above maximum value. Expected a value <= 2, but got %v instead.", temperature).at("temperature", "decimal_above_max_value")
	case hasTemperature && temperature < 0:
		return reject("", "Invalid 'temperature': decimal below minimum value. Expected a value >= 0, but got %v instead.", temperature).at("temperature", "decimal_below_min_value")
	}
	return nil
}

func atMost(key string, body object, limit int) *Error {
	n := len(objects(body.get(key)))
	if n <= limit {
		return nil
	}
	return reject("", "Invalid '%s': array too long. Expected an array with maximum length %d, but got an array with length %d instead.", key, limit, n).at(key, "array_above_max_length")
}

func atLeast(key string, body object, minimum float64) *Error {
	n, ok := body.get(key).number()
	if !ok || n >= minimum {
		return nil
	}
	return reject("", "Invalid '%s': integer below minimum value. Expected a value >= %v, but got %v instead.", key, minimum, n).at(key, "integer_below_min_value")
}

// efforts are those of all models.
var efforts = strings.Fields("none minimal low medium high xhigh max")

func checkEffort(param string, effort value) *Error {
	if !effort.isSet() || slices.Contains(efforts, effort.string()) {
		return nil
	}
	return reject("", "Invalid value: '%s'. Supported values are: '%s'.", effort.string(), strings.Join(efforts, "', '")).at(param, "invalid_value")
}
