package wire_test

import "strings"

// generateBody returns a request of Gemini.
func generateBody(contents string, more ...string) string {
	return `{"contents":[` + contents + `]` + strings.Join(append([]string{""}, more...), ",") + `}`
}

// Contents of Gemini.
const (
	geminiUser   = `{"role":"user","parts":[{"text":"hi"}]}`
	geminiSaid   = `{"role":"model","parts":[{"text":"hm"}]}`
	geminiCalled = `{"role":"model","parts":[{"functionCall":{"name":"f","args":{}}},{"functionCall":{"name":"g","args":{}}}]}`
	geminiResult = `{"functionResponse":{"name":"f","response":{"result":"1"}}}`
	geminiSecond = `{"functionResponse":{"name":"g","response":{"result":"2"}}}`
)

func geminiResults(parts ...string) string {
	return `{"role":"user","parts":[` + strings.Join(parts, ",") + `]}`
}

// geminiTool declares a function.
func geminiTool(name, schema string) string {
	return `"tools":[{"functionDeclarations":[{"name":"` + name + `","parameters":` + schema + `}]}]`
}

func generateRows() []strictRow {
	answered := generateBody(geminiUser + "," + geminiCalled + "," + geminiResults(geminiResult, geminiSecond))
	one := strings.Replace(geminiCalled, `,{"functionCall":{"name":"g","args":{}}}`, "", 1)
	signed := strings.Replace(one, `"functionCall"`, `"thoughtSignature":"c2ln","functionCall"`, 1)
	three, with3 := "@/lane/main/gemini/v1beta/models/gemini-3-pro:generateContent ", "/gemini/v1beta/models/gemini-3-pro:generateContent"
	taking := func(schema string) string { return generateBody(geminiUser, geminiTool("f", schema)) }
	const (
		path    = "tools[0].function_declarations[0].parameters"
		unknown = "Invalid JSON payload received. Unknown name "
	)
	badName := func(name string) string {
		return generateBody(geminiUser, geminiTool(name, `{"type":"object"}`))
	}
	return []strictRow{
		{id: "SG-01", wrong: generateBody(geminiUser + "," + geminiCalled + "," + geminiResults(geminiResult)), right: answered, said: "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn."},
		{id: "SG-01", name: "none", wrong: generateBody(geminiUser + "," + geminiCalled + "," + geminiUser), right: answered},
		{id: "SG-01", name: "nothing", wrong: generateBody(geminiUser + "," + geminiCalled), right: answered},
		{id: "SG-01", name: "more", wrong: generateBody(geminiUser + "," + one + "," + geminiResults(geminiResult, geminiResult)), right: generateBody(geminiUser + "," + one + "," + geminiResults(geminiResult, `{"text":"and"}`))},
		{id: "SG-02", wrong: generateBody(geminiUser + "," + geminiSaid + "," + one + "," + geminiResults(geminiResult)), right: generateBody(geminiUser + "," + one + "," + geminiResults(geminiResult)), said: "Please ensure that function call turn comes immediately after a user turn or after a function response turn."},
		{id: "SG-02", name: "first", wrong: generateBody(one + "," + geminiResults(geminiResult)), right: generateBody(geminiUser + "," + one + "," + geminiResults(geminiResult) + "," + one + "," + geminiResults(geminiResult))},
		{id: "SG-03", wrong: generateBody(geminiUser + "," + geminiResults(geminiResult)), right: answered},
		{id: "SG-03", name: "after words", wrong: generateBody(geminiUser + "," + geminiSaid + "," + geminiResults(geminiResult)), right: generateBody(geminiUser + "," + geminiSaid + "," + geminiUser)},
		{id: "SG-04", path: with3, wrong: three + generateBody(geminiUser+","+one+","+geminiResults(geminiResult)), right: generateBody(geminiUser + "," + signed + "," + geminiResults(geminiResult)), said: "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call `default_api:f` , position 2. Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for more details."},
		{id: "SG-04", name: "a later step", path: with3, wrong: three + generateBody(geminiUser+","+signed+","+geminiResults(geminiResult)+","+one+","+geminiResults(geminiResult)), right: generateBody(geminiUser + "," + strings.Replace(signed, "thoughtSignature", "thought_signature", 1) + "," + geminiResults(geminiResult))},
		{id: "SG-04", name: "an earlier response", path: with3, wrong: three + generateBody(geminiUser+","+one+","+geminiResults(geminiResult)), right: generateBody(geminiUser + "," + one + "," + geminiResults(geminiResult) + "," + geminiUser)},
		{id: "SG-04", name: "the second of a step", path: with3, wrong: three + generateBody(geminiUser+","+geminiCalled+","+geminiResults(geminiResult, geminiSecond)), right: generateBody(geminiUser + "," + strings.Replace(geminiCalled, `{"functionCall":{"name":"f"`, `{"thoughtSignature":"c2ln","functionCall":{"name":"f"`, 1) + "," + geminiResults(geminiResult, geminiSecond))},
		{id: "SG-04", name: "another model", wrong: three + generateBody(geminiUser+","+one+","+geminiResults(geminiResult)), right: generateBody(geminiUser + "," + one + "," + geminiResults(geminiResult))},
		{id: "SG-04", name: "an alias", path: strings.Replace(with3, "gemini-3-pro", "gemini-flash-latest", 1), wrong: strings.Replace(three, "gemini-3-pro", "gemini-flash-latest", 1) + generateBody(geminiUser+","+one+","+geminiResults(geminiResult)), right: generateBody(geminiUser + "," + signed + "," + geminiResults(geminiResult))},
		{id: "SG-04", name: "a model of images", path: strings.Replace(with3, "-pro", "-pro-image", 1), wrong: three + generateBody(geminiUser+","+one+","+geminiResults(geminiResult)), right: generateBody(geminiUser + "," + one + "," + geminiResults(geminiResult))},
		{id: "SG-05", wrong: badName("my tool"), right: badName("_my.tool-1:x"), said: "* GenerateContentRequest.tools[0].function_declarations[0].name: Invalid function name. Must start with a letter or an underscore. Must be alphameric (a-z, A-Z, 0-9), underscores (_), dots (.) or dashes (-), with a maximum length of 64.\n"},
		{id: "SG-05", name: "a digit first", wrong: badName("1f"), right: badName("f1")},
		{id: "SG-05", name: "without brackets", wrong: generateBody(geminiUser, `"tools":{"functionDeclarations":{"name":"my tool"}}`), right: generateBody(geminiUser, `"tools":{"functionDeclarations":{"name":"f"}}`)},
		{id: "SG-05", name: "too long", wrong: badName(strings.Repeat("f", 65)), right: badName(strings.Repeat("f", 64))},
		{id: "SG-05", name: "the other form", wrong: generateBody(geminiUser, `"tools":[{"function_declarations":[{"name":"my tool"}]}]`), right: generateBody(geminiUser, `"tools":[{"googleSearch":{}},{"function_declarations":[{"name":"f"}]}]`)},
		{id: "SG-06", wrong: generateBody(geminiUser + `,{"role":"model","parts":[]},` + geminiUser), right: generateBody(geminiUser + "," + geminiSaid + "," + geminiUser), said: "* GenerateContentRequest.contents[1].parts: contents.parts must not be empty.\n"},
		{id: "SG-06", name: "none", wrong: generateBody(`{"role":"user"}`), right: generateBody(geminiUser)},
		{id: "SG-07", wrong: generateBody(`{"role":"user","parts":[{"text":"hi"},{}]}`), right: generateBody(`{"role":"user","parts":[{"text":"hi"},{"text":""}]}`), said: "* GenerateContentRequest.contents[0].parts[1].data: required oneof field 'data' must have one initialized field\n"},
		{id: "SG-07", name: "without brackets", wrong: `{"contents":{"parts":{}}}`, right: `{"contents":{"parts":{"text":"hi"}}}`},
		{id: "SG-07", name: "a signature alone", wrong: generateBody(geminiUser + `,{"role":"model","parts":[{"thoughtSignature":"c2ln"}]}`), right: generateBody(geminiUser + `,{"role":"model","parts":[{"text":"","thoughtSignature":"c2ln","thought":false}]}`)},
		{id: "SG-08", wrong: generateBody(""), right: generateBody(geminiUser), said: "* GenerateContentRequest.contents: contents is not specified\n"},
		{id: "SG-08", name: "none", wrong: `{}`, right: generateBody(geminiUser)},
		{id: "SG-09", wrong: taking(`{"type":"object","additionalProperties":false}`), right: taking(`{"type":"object","properties":{}}`), said: unknown + `"additionalProperties" at '` + path + `': Cannot find field.`},
		{id: "SG-09", name: "$schema", wrong: taking(`{"$schema":"x","type":"object"}`), right: generateBody(geminiUser, `"tools":[{"functionDeclarations":[{"name":"f","parametersJsonSchema":{"$schema":"x","type":"object","additionalProperties":false}}]}]`)},
		{id: "SG-09", name: "below", wrong: taking(`{"type":"OBJECT","properties":{"a":{"type":"STRING"},"b":{"type":"ARRAY","items":{"const":1}}}}`), right: taking(`{"type":"OBJECT","properties":{"a":{"type":"STRING"},"b":{"type":"ARRAY","items":{"minLength":"1"}}},"propertyOrdering":["a"],"property_ordering":["a"]}`), said: unknown + `"const" at '` + path + `.properties[1].value.items': Cannot find field.`},
		{id: "SG-09", name: "without brackets", wrong: generateBody(geminiUser, `"tools":{"functionDeclarations":{"name":"f","parameters":{"anyOf":{"const":1}}}}`), right: generateBody(geminiUser, `"tools":{"functionDeclarations":{"name":"f","parameters":{"anyOf":{"type":"string"}}}}`)},
		{id: "SG-09", name: "in a choice", wrong: taking(`{"anyOf":[{"type":"string"},{"oneOf":[]}]}`), right: taking(`{"anyOf":[{"type":"string"},{"type":"null"}]}`), said: unknown + `"oneOf" at '` + path + `.any_of[1]': Cannot find field.`},
		{id: "SG-09", name: "far below", wrong: taking(strings.Repeat(`{"items":`, 32) + `{"const":1}` + strings.Repeat("}", 32)), right: taking(strings.Repeat(`{"items":`, 33) + `{"const":1}` + strings.Repeat("}", 33))}, // this member is not checked
		{id: "SG-09", name: "of the answer", wrong: generateBody(geminiUser, `"generationConfig":{"responseSchema":{"type":"object","additionalProperties":false}}`), right: generateBody(geminiUser, `"generationConfig":{"responseJsonSchema":{"type":"object","additionalProperties":false}}`)},
		{id: "SG-09", name: "of the response, the other form", wrong: generateBody(geminiUser, `"generation_config":{"response_schema":{"not":{}}}`), right: generateBody(geminiUser, `"generation_config":{"response_schema":{"type":"string"}}`)},
		{id: "SG-09", name: "of a result", wrong: generateBody(geminiUser, `"tools":[{"functionDeclarations":[{"name":"f","response":{"$ref":"x"}}]}]`), right: generateBody(geminiUser, `"tools":[{"functionDeclarations":[{"name":"f","response":{"type":"string"}}]}]`)},
		{id: "SG-10", wrong: taking(`{"type":"object","properties":{"a":{"type":["string","null"]}}}`), right: taking(`{"type":"object","properties":{"a":{"type":"string","nullable":true}}}`), said: unknown + `"type" at '` + path + `.properties[0].value': Proto field is not repeating, cannot start list.`},
		{id: "SG-11", wrong: taking(`{"type":"object","properties":{"a":{"type":""}}}`), right: taking(`{"type":"object","properties":{"a":{"type":"Integer"}}}`)},
		{id: "SG-11", name: "a number", wrong: taking(`{"type":5}`), right: taking(`{"type":null}`)},
		{id: "SG-12", wrong: generateBody(geminiUser + "," + strings.Replace(geminiSaid, "model", "assistant", 1)), right: generateBody(`{"parts":[{"text":"hi"}]},` + geminiSaid), said: "Please use a valid role: user, model."},
		{id: "SG-12", name: "the first versions'", wrong: generateBody(geminiUser + "," + one + "," + strings.Replace(geminiResults(geminiResult), "user", "tool", 1)), right: generateBody(geminiUser + "," + one + "," + strings.Replace(geminiResults(geminiResult), "user", "function", 1))},
		{id: "SG-13", wrong: generateBody(geminiUser + "," + one + "," + geminiResults(strings.Replace(geminiResult, `"name":"f",`, "", 1))), right: generateBody(geminiUser + "," + one + "," + geminiResults(geminiResult)), said: "* GenerateContentRequest.contents[2].parts[0].function_response.name: Name cannot be empty.\n"},
		{id: "SG-14", wrong: generateBody(geminiUser + "," + strings.Replace(one, `{"functionCall"`, `{"id":"1","functionCall"`, 1) + "," + geminiResults(geminiResult)), right: generateBody(geminiUser + "," + strings.Replace(one, `{"functionCall":{`, `{"function_call":{"id":"1",`, 1) + "," + geminiResults(strings.Replace(geminiResult, "functionResponse", "function_response", 1))), said: unknown + `"id" at 'contents[1].parts[0]': Cannot find field.`},
		{id: "SG-15", wrong: generateBody(geminiUser + "," + one + "," + geminiResults(strings.Replace(geminiResult, `{"result":"1"}`, `"1"`, 1))), right: generateBody(geminiUser + "," + one + "," + geminiResults(geminiResult))},
		{id: "SG-15", name: "a list", wrong: generateBody(geminiUser + "," + one + "," + geminiResults(strings.Replace(geminiResult, `{"result":"1"}`, `["1"]`, 1))), right: generateBody(geminiUser + "," + one + "," + geminiResults(strings.Replace(geminiResult, `{"result":"1"}`, `null`, 1)))},
		{id: "SG-16", name: "another method", wrong: "@/lane/main/gemini/v1beta/models/some-model:countTokens " + generateBody(geminiUser), right: generateBody(geminiUser), said: "models/some-model is not found for API version v1beta, or is not supported for countTokens. Call ListModels to see the list of available models and their supported methods."},
		{id: "SG-16", wrong: "@/lane/main/gemini/v1beta/models/x:generateContent " + generateBody(""), right: generateBody(geminiUser), said: "models/x is not found for API version v1beta, or is not supported for generateContent. Call ListModels to see the list of available models and their supported methods."},
		{id: "SG-17", wrong: generateBody(""), right: generateBody(geminiUser), key: "another", said: "API key not valid. Please pass a valid API key."},
		{id: "SG-17", name: "none", wrong: generateBody(geminiUser), right: generateBody(geminiUser), key: " ", said: "API key not valid. Please pass a valid API key."},
	}
}
