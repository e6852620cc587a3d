package strict

import (
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/looptape/looptape/providers/protocol"
)

// What both protocols of OpenAI have in common. Where a param has a dot before an
// index (messages.[1]), that is how the provider writes it.

// unknownOpenAI refuses a model that there is not (SO-16).
func unknownOpenAI(in Request, model string) *Error {
	if !in.unknownModel(model) {
		return nil
	}
	e := reject("SO-16", "The model `%s` does not exist or you do not have access to it.", model).at("", "model_not_found")
	e.Status = http.StatusNotFound
	return e
}

// emptyArray refuses an array without elements.
func emptyArray(id, param string) *Error {
	return reject(id, "Invalid '%s': empty array. Expected an array with minimum length 1, but got an empty array instead.", param).at(param, "empty_array")
}

// missingParameter refuses that there is no such member.
func missingParameter(id, param string) *Error {
	return reject(id, "Missing required parameter: '%s'.", param).at(param, "missing_required_parameter")
}

// tooLong refuses a text of more than so many characters.
func tooLong(id, param, text string, most int) *Error {
	n := utf8.RuneCountInString(text)
	if n <= most {
		return nil
	}
	return reject(id, "Invalid '%s': string too long. Expected a string with maximum length %d, but got a string with length %d instead.", param, most, n).at(param, "string_above_max_length")
}

// longestName is how many characters the name of a function may have.
const longestName = 64

// badName refuses the name of a function.
func badName(id, param, name string) *Error {
	if !protocol.IsName(name) {
		return reject(id, "Invalid '%s': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.", param).at(param, "invalid_value")
	}
	return tooLong("", param, name, longestName)
}

// emptyName refuses the name of an echoed call.
func emptyName(id, param, name string) *Error {
	if name == "" {
		return reject(id, "Invalid '%s': empty string. Expected a string with minimum length 1, but got an empty string instead.", param).at(param, "empty_string")
	}
	return badName("", param, name)
}

// onlyWithTools refuses a member that means nothing without tools.
func onlyWithTools(id string, body object, key string) *Error {
	if body.get("tools").given() || !body.get(key).given() {
		return nil
	}
	return reject(id, "Invalid value for '%s': '%s' is only allowed when 'tools' are specified.", key, key).at(key, "")
}

// badFunction refuses the schema of a function.
func badFunction(id, param, name string, schema value, strict bool) *Error {
	problem := schemaProblem(schema, strict)
	if problem == "" {
		return nil
	}
	return reject(id, "Invalid schema for function '%s': %s", name, problem).at(param, "invalid_function_parameters")
}

// schemaProblem is what is wrong with a schema; empty if nothing is, or there is none:
// strict or not, its top is an object that tells its properties.
func schemaProblem(schema value, strict bool) string {
	if !schema.given() {
		return ""
	}
	top := schema.object()
	switch kind := top.get("type"); {
	case kind.text() != "object":
		return fmt.Sprintf(`schema must be a JSON Schema of 'type: "object"', got 'type: %s'.`, kindOf(kind))
	case strict:
		return strictProblem(schema, nil)
	case !top.get("properties").given():
		return "In context=(), object schema missing properties."
	}
	return ""
}

func kindOf(kind value) string {
	if !kind.given() {
		return `"None"`
	}
	return string(kind)
}

// deepest is how far down schemas are looked at.
const deepest = 32

// strictProblem is what in a schema breaks the rules of strict: true, with the path
// to it; empty if nothing does. An object allows no members but its properties, and
// requires all of them ("Structured model outputs", OpenAI).
func strictProblem(schema value, path []string) string {
	if len(path) > deepest {
		return "In context=" + inContext(path[:deepest]) + ", the schema is nested too deeply."
	}
	o := schema.object()
	for _, m := range o {
		switch m.key {
		case "oneOf", "allOf", "not", "if", "then", "else", "dependentRequired", "dependentSchemas", "patternProperties":
			return fmt.Sprintf("In context=%s, '%s' is not permitted.", inContext(path), m.key)
		}
	}
	properties := o.get("properties")
	if strings.Contains(string(o.get("type")), `"object"`) || properties.given() {
		if o.get("additionalProperties") != "false" {
			return "In context=" + inContext(path) + ", 'additionalProperties' is required to be supplied and to be false."
		}
		if missing, ok := unrequired(properties, o.get("required")); !ok {
			return fmt.Sprintf("In context=%s, 'required' is required to be supplied and to be an array including every key in properties. Missing '%s'.", inContext(path), missing)
		}
	}
	return strictBelow(o, path)
}

// strictBelow is strictProblem of the schemas in one.
func strictBelow(o object, path []string) string {
	for _, m := range o {
		switch m.key {
		case "properties", "$defs", "definitions":
			for _, p := range m.object() {
				if problem := strictProblem(p.value, append(path[:len(path):len(path)], m.key, p.key)); problem != "" {
					return problem
				}
			}
		case "items":
			if problem := strictProblem(m.value, append(path[:len(path):len(path)], m.key)); problem != "" {
				return problem
			}
		case "anyOf":
			for i, s := range m.elements() {
				if problem := strictProblem(s, append(path[:len(path):len(path)], m.key, fmt.Sprint(i))); problem != "" {
					return problem
				}
			}
		}
	}
	return ""
}

// unrequired returns a property that is not required; ok says that there is none.
func unrequired(properties, required value) (name string, ok bool) {
	listed := map[string]bool{}
	for _, r := range required.elements() {
		listed[r.text()] = true
	}
	for _, p := range properties.object() {
		if !listed[p.key] {
			return p.key, false
		}
	}
	return "", true
}

// inContext writes a path as the provider does: (), ('items',), ('properties', 'a').
func inContext(path []string) string {
	quoted := make([]string, len(path))
	for i, p := range path {
		quoted[i] = "'" + p + "'"
	}
	text := strings.Join(quoted, ", ")
	if len(path) == 1 {
		text += ","
	}
	return "(" + text + ")"
}

// formatPlace is where a protocol has the form of an answer.
type formatPlace struct {
	path   string
	named  string // of the object with the name and the schema
	schema string // what is told to be wrong with a schema
	code   string
}

var (
	chatFormat      = formatPlace{"response_format", "response_format.json_schema", "response_format", ""}
	responsesFormat = formatPlace{"text.format", "text.format", "text.format.schema", "invalid_json_schema"}
)

// badFormat refuses a form of the answer that there is not, a schema without a name, and
// one that breaks the rules of strict: true. What stands in others is not looked at.
func badFormat(format, named value, at formatPlace) *Error {
	if !format.given() {
		return nil
	}
	name := named.get("name").text()
	switch kind := format.get("type").text(); {
	case kind == "":
		return missingParameter("", at.path+".type")
	case kind == "text", kind == "json_object":
		return nil
	case kind != "json_schema":
		return reject("", "Invalid value: '%s'. Supported values are: 'json_object', 'json_schema', and 'text'.", kind).at(at.path+".type", "invalid_value")
	case !named.given():
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
