package strict

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/looptape/looptape/fake/wire/internal/reply"
	"github.com/looptape/looptape/providers/gemini"
)

// strictGenerate checks a request by the rules of Gemini (SG-01 to SG-16). Names of
// members may be camelCase or snake_case, as in JSON of protocol buffers.
func strictGenerate(in Request, body object) *Error {
	model, method := in.modelInPath()
	contents := contentsIn(asArray(body.get("contents")))
	return cmp.Or(
		unknownGemini(in, model, method),
		unknownGenerateSetting(body),
		generateTemperature(body),
		generateConversation(body, contents, model),
	)
}

// generateConversation checks the tools and the contents.
func generateConversation(body object, contents []content, model string) *Error {
	return cmp.Or(
		generateParts(contents),
		generateSchemas(body),
		generateTools(body.get("tools")),
		generateContents(contents),
		generateValues(body, contents),
		generateOrder(contents),
		unsignedCall(contents, model),
	)
}

func generateTemperature(body object) *Error {
	temperature, ok := body.either("generationConfig").get("temperature").number()
	if !ok || temperature >= 0 && temperature <= 2 {
		return nil
	}
	return reject("", "The temperature has to be in the range from 0 to 2, and is %v.", temperature)
}

func (in Request) modelInPath() (model, method string) {
	model, method, _ = strings.Cut(strings.TrimPrefix(in.Path, "/models/"), ":")
	return model, method
}

func unknownGemini(in Request, model, method string) *Error {
	if !in.unknownModel(model) && (method == "generateContent" || method == "streamGenerateContent") {
		return nil
	}
	return reject("SG-16", "models/%s is not found for API version v1beta, or is not supported for %s. Call ListModels to see the list of available models and their supported methods.", model, method)
}

// snake returns a name in snake_case.
func snake(key string) string {
	var b strings.Builder
	for _, r := range key {
		if unicode.IsUpper(r) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// hasName reports whether name is one of the keys, or its snake_case form.
func hasName(keys []string, name string) bool {
	return slices.Contains(keys, name) ||
		strings.Contains(name, "_") && slices.ContainsFunc(keys, func(key string) bool { return name == snake(key) })
}

// either returns the value of a member by its camelCase or snake_case name.
func (o object) either(key string) value {
	if v := o.get(key); v != "" {
		return v
	}
	for _, m := range slices.Backward(o) {
		if hasName([]string{key}, m.key) {
			return m.value
		}
	}
	return ""
}

// asArray returns an array; an object becomes its only element, as in Google's REST
// examples.
func asArray(v value) value {
	if v.is('{') {
		return "[" + v + "]"
	}
	return v
}

type content struct {
	role  string
	parts []object
	calls []object
	// results is the number of function responses.
	results int
}

func contentsIn(list value) []content {
	var out []content
	for _, v := range list.elements() {
		o := v.object()
		c := content{role: o.text("role"), parts: objects(asArray(o.get("parts")))}
		for _, p := range c.parts {
			if call := p.either("functionCall"); call.isSet() {
				c.calls = append(c.calls, p)
			}
			if p.either("functionResponse").isSet() {
				c.results++
			}
		}
		out = append(out, c)
	}
	return out
}

// partData are the members of which a part has one. Members in partNotes may be added.
var (
	partData = []string{
		"text", "inlineData", "functionCall", "functionResponse", "fileData", "executableCode", "codeExecutionResult",
		"toolCall", "toolResponse",
	}
	partNotes = []string{"thought", "thoughtSignature", "videoMetadata", "mediaResolution", "partMetadata"}
)

func generateParts(contents []content) *Error {
	return firstPart(contents, func(path string, p object) *Error {
		for _, m := range p {
			if !hasName(partData, m.key) && !hasName(partNotes, m.key) {
				return unknownName("SG-14", m.key, path, "Cannot find field.")
			}
		}
		response := p.either("functionResponse").get("response")
		if response.isSet() && !response.is('{') {
			return reject("SG-15", "Invalid value at '%s.function_response.response' (type.googleapis.com/google.protobuf.Struct)", path)
		}
		return nil
	})
}

// firstPart returns the first error of the parts.
func firstPart(contents []content, check func(path string, part object) *Error) *Error {
	return first(contents, func(i int, c content) *Error {
		return first(c.parts, func(j int, p object) *Error {
			return check(fmt.Sprintf("contents[%d].parts[%d]", i, j), p)
		})
	})
}

// firstFunction returns the first error of the declared functions.
func firstFunction(tools value, check func(path string, f value) *Error) *Error {
	return asArray(tools).first(func(i int, t value) *Error {
		list := asArray(t.object().either("functionDeclarations"))
		return list.first(func(j int, f value) *Error {
			return check(fmt.Sprintf("tools[%d].function_declarations[%d]", i, j), f)
		})
	})
}

func unknownName(id, name, path, problem string) *Error {
	return reject(id, "Invalid JSON payload received. Unknown name \"%s\" at '%s': %s", name, path, problem)
}

// functionName matches valid names of functions; newer messages of the provider allow
// colons.
var functionName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$`)

func generateTools(tools value) *Error {
	return firstFunction(tools, func(path string, f value) *Error {
		if functionName.MatchString(f.text("name")) {
			return nil
		}
		return reject("SG-05", "* GenerateContentRequest.%s.name: Invalid function name. Must start with a letter or an underscore. Must be alphameric (a-z, A-Z, 0-9), underscores (_), dots (.) or dashes (-), with a maximum length of 64.\n", path)
	})
}

func generateContents(contents []content) *Error {
	if len(contents) == 0 {
		return reject("SG-08", "* GenerateContentRequest.contents: contents is not specified\n")
	}
	e := first(contents, func(i int, c content) *Error {
		if len(c.parts) == 0 {
			return reject("SG-06", "* GenerateContentRequest.contents[%d].parts: contents.parts must not be empty.\n", i)
		}
		return first(c.parts, func(j int, p object) *Error {
			path := fmt.Sprintf("* GenerateContentRequest.contents[%d].parts[%d].", i, j)
			isSigned := j > 0 && p.either("thoughtSignature").isSet() // the end of a stream, which Gemini 3 accepts after a text
			if !isSigned && !slices.ContainsFunc(partData, func(key string) bool { return p.either(key).isSet() }) {
				return reject("SG-07", "%sdata: required oneof field 'data' must have one initialized field\n", path)
			}
			if r := p.either("functionResponse"); r.isSet() && r.text("name") == "" {
				return reject("SG-13", "%sfunction_response.name: Name cannot be empty.\n", path)
			}
			return nil
		})
	})
	if e != nil {
		return e
	}
	return first(contents, func(_ int, c content) *Error {
		if slices.Contains([]string{"user", "model", "", "function"}, c.role) { // function in the first versions
			return nil
		}
		return reject("SG-12", "Please use a valid role: user, model.")
	})
}

func generateOrder(contents []content) *Error {
	var before content
	for _, c := range append(contents[:len(contents):len(contents)], content{}) {
		calls := len(before.calls)
		switch {
		case calls == 0 && c.results > 0:
			return reject("SG-03", "Please ensure that function response turn comes immediately after a function call turn.")
		case calls != c.results:
			return reject("SG-01", reply.UnequalResponses)
		case len(c.calls) > 0 && (before.role == "model" || before.parts == nil):
			return reject("SG-02", "Please ensure that function call turn comes immediately after a user turn or after a function response turn.")
		}
		before = c
	}
	return nil
}

// unsignedCall rejects the first call of a content without signature, if it comes after
// the last text of the user ("Thought signatures", Gemini). Image models are exempt
// ("Thought signatures", Vertex AI).
func unsignedCall(contents []content, model string) *Error {
	if !gemini.SignsCalls(model) || strings.Contains(model, "-image") {
		return nil
	}
	from := 0
	for i, c := range contents {
		if c.role != "model" && c.results == 0 {
			from = i
		}
	}
	for i, c := range contents[from:] {
		if len(c.calls) > 0 && c.calls[0].either("thoughtSignature").string() == "" {
			name := c.calls[0].either("functionCall").text("name")
			return reject("SG-04", "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call `default_api:%s` , position %d. Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for more details.", name, from+i+1)
		}
	}
	return nil
}

// generateSchemas checks the schemas in Gemini's own form, not those in JSON Schema.
func generateSchemas(body object) *Error {
	e := firstFunction(body.get("tools"), func(path string, f value) *Error {
		return cmp.Or(
			checkSchema(path+".parameters", f.get("parameters"), 0),
			checkSchema(path+".response", f.get("response"), 0),
		)
	})
	config := body.either("generationConfig").object()
	return cmp.Or(e, checkSchema("generation_config.response_schema", config.either("responseSchema"), 0))
}

// schemaMembers are those of a Schema ("Schema", Gemini API).
var schemaMembers = strings.Fields(`
	type format title description nullable enum maxItems minItems properties required minProperties maxProperties
	minLength maxLength pattern example anyOf propertyOrdering default items minimum maximum`)

func checkSchema(path string, schema value, depth int) *Error {
	if depth > maxDepth {
		return nil
	}
	return first(schema.object(), func(_ int, m member) *Error {
		if !hasName(schemaMembers, m.key) {
			return unknownName("SG-09", m.key, path, "Cannot find field.")
		}
		return checkSchemaMember(path, m, depth+1)
	})
}

func checkSchemaMember(path string, m member, depth int) *Error {
	name := snake(m.key)
	at := path + "." + name
	switch name {
	case "type":
		return checkType(path, m.value)
	case "items":
		return checkSchema(at, m.value, depth)
	case "properties":
		return first(m.object(), func(i int, p member) *Error {
			return checkSchema(fmt.Sprintf("%s[%d].value", at, i), p.value, depth)
		})
	case "any_of":
		return asArray(m.value).first(func(i int, v value) *Error {
			return checkSchema(fmt.Sprintf("%s[%d]", at, i), v, depth)
		})
	}
	return nil
}

func checkType(path string, v value) *Error {
	if v.is('[') {
		return unknownName("SG-10", "type", path, "Proto field is not repeating, cannot start list.")
	}
	known := strings.Fields("STRING NUMBER INTEGER BOOLEAN ARRAY OBJECT NULL TYPE_UNSPECIFIED")
	if !v.isSet() || slices.Contains(known, strings.ToUpper(v.string())) {
		return nil
	}
	return reject("SG-11", "Invalid value at '%s.type' (type.googleapis.com/google.ai.generativelanguage.v1beta.Type), %s", path, v)
}

// generateValues rejects values that Gemini rejects although no rule of the list names
// them.
func generateValues(body object, contents []content) *Error {
	names := map[string]bool{}
	e := firstFunction(body.get("tools"), func(_ string, f value) *Error {
		name := f.text("name")
		if names[name] {
			return reject("", "Duplicate function declaration found: %s", name)
		}
		names[name] = true
		return nil
	})
	calling := body.either("toolConfig").object().either("functionCallingConfig")
	switch {
	case e != nil:
		return e
	case calling.text("mode") == "ANY" && len(names) == 0:
		return reject("", "Function calling config is set without function_declarations.")
	}
	return firstPart(contents, func(path string, p object) *Error {
		return cmp.Or(checkSingle(path, p), checkArgumentsObject(path, p))
	})
}

func checkArgumentsObject(path string, part object) *Error {
	args := part.either("functionCall").get("args")
	if !args.is('"') {
		return nil
	}
	return reject("", "Invalid value at '%s.function_call.args' (type.googleapis.com/google.protobuf.Struct), %s", path, args)
}

func checkSingle(path string, part object) *Error {
	one := false
	for _, key := range partData {
		if !part.either(key).isSet() {
			continue
		}
		if one {
			return reject("", "Invalid value at '%s' (oneof), oneof field 'data' is already set. Cannot set '%s'", path, key)
		}
		one = true
	}
	return nil
}
