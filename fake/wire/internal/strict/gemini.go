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
		generateParts(contents),
		generateSchemas(body),
		generateTools(asArray(body.get("tools"))),
		generateContents(contents),
		generateValues(body, contents),
		generateOrder(contents),
		unsignedCall(contents, model),
	)
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

func snake(key string) string {
	var out []rune
	for _, r := range key {
		if unicode.IsUpper(r) {
			out = append(out, '_')
		}
		out = append(out, unicode.ToLower(r))
	}
	return string(out)
}

// matchesName reports whether name is key or its snake_case form.
func matchesName(name, key string) bool {
	if name == key {
		return true
	}
	for i := range len(key) {
		c := key[i]
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
			rest, found := strings.CutPrefix(name, "_")
			if !found {
				return false
			}
			name = rest
		}
		if name == "" || name[0] != c {
			return false
		}
		name = name[1:]
	}
	return name == ""
}

// either returns the value of a member by its camelCase or snake_case name.
func (o object) either(key string) value {
	if v := o.get(key); v != "" {
		return v
	}
	for _, m := range slices.Backward(o) {
		if matchesName(m.key, key) {
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
	for i, c := range contents {
		for j, p := range c.parts {
			path := fmt.Sprintf("contents[%d].parts[%d]", i, j)
			for _, m := range p {
				is := func(key string) bool { return matchesName(m.key, key) }
				if !slices.ContainsFunc(partData, is) && !slices.ContainsFunc(partNotes, is) {
					return unknownName("SG-14", m.key, path, "Cannot find field.")
				}
			}
			response := p.either("functionResponse").get("response")
			if response.isSet() && !response.is('{') {
				return reject("SG-15", "Invalid value at '%s.function_response.response' (type.googleapis.com/google.protobuf.Struct)", path)
			}
		}
	}
	return nil
}

func unknownName(id, name, path, problem string) *Error {
	return reject(id, "Invalid JSON payload received. Unknown name \"%s\" at '%s': %s", name, path, problem)
}

// functionName matches valid names of functions; newer messages of the provider allow
// colons.
var functionName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$`)

func generateTools(tools value) *Error {
	for i, t := range tools.elements() {
		for j, f := range asArray(t.object().either("functionDeclarations")).elements() {
			if !functionName.MatchString(f.text("name")) {
				return reject("SG-05", "* GenerateContentRequest.tools[%d].function_declarations[%d].name: Invalid function name. Must start with a letter or an underscore. Must be alphameric (a-z, A-Z, 0-9), underscores (_), dots (.) or dashes (-), with a maximum length of 64.\n", i, j)
			}
		}
	}
	return nil
}

func generateContents(contents []content) *Error {
	if len(contents) == 0 {
		return reject("SG-08", "* GenerateContentRequest.contents: contents is not specified\n")
	}
	for i, c := range contents {
		if len(c.parts) == 0 {
			return reject("SG-06", "* GenerateContentRequest.contents[%d].parts: contents.parts must not be empty.\n", i)
		}
		for j, p := range c.parts {
			path := fmt.Sprintf("* GenerateContentRequest.contents[%d].parts[%d].", i, j)
			if !slices.ContainsFunc(partData, func(key string) bool { return p.either(key).isSet() }) {
				return reject("SG-07", "%sdata: required oneof field 'data' must have one initialized field\n", path)
			}
			if r := p.either("functionResponse"); r.isSet() && r.text("name") == "" {
				return reject("SG-13", "%sfunction_response.name: Name cannot be empty.\n", path)
			}
		}
	}
	for _, c := range contents {
		switch c.role {
		case "user", "model", "", "function": // in the first versions
		default:
			return reject("SG-12", "Please use a valid role: user, model.")
		}
	}
	return nil
}

func generateOrder(contents []content) *Error {
	var before content
	for _, c := range contents {
		calls := len(before.calls)
		switch {
		case calls == 0 && c.results > 0:
			return reject("SG-03", "Please ensure that function response turn comes immediately after a function call turn.")
		case calls != c.results:
			return unequal()
		case len(c.calls) > 0 && (before.role == "model" || before.parts == nil):
			return reject("SG-02", "Please ensure that function call turn comes immediately after a user turn or after a function response turn.")
		}
		before = c
	}
	if len(before.calls) > 0 {
		return unequal()
	}
	return nil
}

func unequal() *Error {
	return reject("SG-01", reply.UnequalResponses)
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
