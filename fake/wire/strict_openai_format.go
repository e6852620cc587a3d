package wire

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
func badFormat(format, named value, at formatPlace) *refusal {
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
		return refused("", "Invalid value: '%s'. Supported values are: 'json_object', 'json_schema', and 'text'.", kind).at(at.path+".type", "invalid_value")
	case !named.given():
		return missingParameter("", at.named)
	case name == "":
		return missingParameter("", at.named+".name")
	case named.get("strict") != "true":
		return nil
	}
	if problem := schemaProblem(named.get("schema"), true); problem != "" {
		return refused("", "Invalid schema for response_format '%s': %s", name, problem).at(at.schema, at.code)
	}
	return nil
}
