package message

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/importer/internal/tree"
)

// Contents reads a Content of the Gemini API. Results of tools become a message of their
// own, before the other parts. A result without an id belongs to the next call of its name
// that has no result. A role that Gemini does not have is no role of llm. A part may be a string, which
// is a text: Google's SDK for Python (google-generativeai) accepts it in a history.
func (r *Reader) Contents(content json.RawMessage) []llm.Message {
	r.added++
	var parts []llm.Part
	for _, part := range tree.Elements(tree.Field(content, "parts")) {
		if p := r.geminiPart(part); p != nil {
			parts = append(parts, p)
		}
	}
	others, results := Separate(parts)
	return AddStep(AddStep(nil, llm.RoleTool, results), geminiRole(tree.String(tree.Field(content, "role"))), others)
}

func geminiRole(role string) llm.Role {
	switch role {
	case "", "null", "user", "function", "tool": // function in the first versions, tool in examples of Google's SDK
		return llm.RoleUser
	case "model":
		return llm.RoleAssistant
	case "assistant", "system": // which have these meanings in llm only
		role = "gemini:" + role
	}
	return llm.Role(role)
}

// geminiPart reads a part. Its null members are ignored; it is nil if no other is left. A
// part of a kind that llm does not have is kept whole; see [Unknown].
func (r *Reader) geminiPart(part json.RawMessage) llm.Part {
	if text, ok := tree.Text(part); ok {
		return llm.Text{Text: text}
	}
	if !tree.IsNull(part) && part[0] != '{' {
		return Unknown("gemini.", string(part))
	}
	var kind string
	var value json.RawMessage
	var thought bool
	var rest tree.Object
	for key, raw := range tree.Members(part) {
		switch name := tree.Snake(key); {
		case tree.IsNull(raw):
		case name == "thought" && (raw[0] == 't' || raw[0] == 'f'):
			thought = tree.IsTrue(raw)
		case slices.Contains(geminiKinds, name) && value == nil:
			kind, value = name, raw
		default:
			rest.Add(key, raw)
		}
	}
	text, isText := tree.Text(value)
	switch {
	case kind == "text" && isText && thought:
		return llm.Reasoning{Text: text, Opaque: rest.JSON()}
	case kind == "text" && isText:
		return llm.Text{Text: text, Opaque: rest.JSON()}
	case kind == "function_call" && isFunction(value):
		return r.FunctionCall(value, rest.JSON())
	case kind == "function_response" && isFunction(value):
		return r.FunctionResponse(value, rest.JSON())
	case kind == "inline_data", kind == "file_data":
		if m, ok := blob(kind, value, rest.JSON()); ok {
			return m
		}
	case kind == "" && rest == nil:
		return nil
	}
	return Unknown("gemini."+kind, string(part))
}

// geminiKinds are the members that hold the value of a part.
var geminiKinds = []string{
	"text", "function_call", "function_response", "inline_data", "file_data",
	"executable_code", "code_execution_result",
}

// isFunction reports whether a value is an object whose id and name are strings, numbers, null or missing.
func isFunction(raw json.RawMessage) bool {
	return raw[0] == '{' && !slices.ContainsFunc([]string{"id", "name"}, func(name string) bool {
		value := tree.Field(raw, name)
		return value != nil && tree.Scalar(value) == "" && string(value) != `""`
	})
}

// isObject reports whether a value is an object, null or missing.
func isObject(value string) bool { return value == "" || value == "null" || jsonio.IsObject(value) }

// otherMembers adds the other members of a value to the opaque data of its part, under its name.
func otherMembers(opaque json.RawMessage, name string, value json.RawMessage, known ...string) json.RawMessage {
	var others tree.Object
	for key, member := range tree.Members(value) {
		if !slices.Contains(known, tree.Snake(key)) && !tree.IsNull(member) {
			others.Add(key, member)
		}
	}
	return withMember(opaque, name, others.JSON())
}

// withMember returns an object with one more member, unless that is nil.
func withMember(object json.RawMessage, name string, value json.RawMessage) json.RawMessage {
	if value == nil {
		return object
	}
	var all tree.Object
	for key, member := range tree.Members(object) {
		all.Add(key, member)
	}
	all.Add(name, value)
	return all.JSON()
}

// FunctionCall reads a FunctionCall. It generates a missing id. Arguments that are not an object stay in the
// opaque data, as what is not read.
func (r *Reader) FunctionCall(raw, rest json.RawMessage) llm.ToolCall {
	call := llm.ToolCall{ID: tree.Scalar(tree.Field(raw, "id")), Name: tree.Scalar(tree.Field(raw, "name"))}
	known := []string{"id", "name"}
	if args := tree.String(tree.Field(raw, "args")); isObject(args) { // not Google writes it as a string
		call.Arguments, known = args, append(known, "args")
	}
	call.Opaque = otherMembers(rest, "function_call", raw, known...)
	if call.ID == "" {
		r.GenerateID(&call)
	} else {
		r.addOpen(call)
	}
	return call
}

// FunctionResponse reads a FunctionResponse. Its content is the JSON that the tool returned. Gemini refuses
// one without a name, so it is for no call unless it has an id. A response that is not an object stays in the
// opaque data.
func (r *Reader) FunctionResponse(raw, rest json.RawMessage) llm.ToolResult {
	res := llm.ToolResult{ID: tree.Scalar(tree.Field(raw, "id")), Name: tree.Scalar(tree.Field(raw, "name"))}
	known := []string{"id", "name"}
	if response := tree.Field(raw, "response"); isObject(string(response)) {
		known = append(known, "response")
		if response != nil {
			res.Content = []llm.Part{llm.Text{Text: string(response)}}
		}
	}
	res.Opaque = otherMembers(rest, "function_response", raw, known...)
	switch {
	case res.ID == "" && res.Name != "":
		res.ID = r.OpenCall(res.Name, "")
	case res.ID != "":
		r.close(res)
	}
	return res
}

// blob reads a Blob or a FileData; ok is false if llm.Media cannot represent it.
func blob(name string, raw, rest json.RawMessage) (m llm.Media, ok bool) {
	known := []string{"mime_type", "display_name", "file_uri", "data"}
	for _, name := range known {
		if value := tree.Field(raw, name); !tree.IsNull(value) && !tree.IsText(value) {
			return m, false
		}
	}
	m = llm.Media{MediaType: tree.Scalar(tree.Field(raw, "mime_type")), Name: tree.Scalar(tree.Field(raw, "display_name")), URL: tree.Scalar(tree.Field(raw, "file_uri"))}
	if data := tree.Scalar(tree.Field(raw, "data")); data != "" {
		// Python writes the base64url alphabet, the API the standard one.
		b, err := base64.StdEncoding.DecodeString(strings.NewReplacer("-", "+", "_", "/").Replace(data))
		if err != nil {
			return m, false
		}
		m.Data = b
	}
	m.Opaque = otherMembers(rest, name, raw, known...)
	return m, m.URL != "" || m.Data != nil
}

// KeepIDs gives the calls and results of a request of Gemini the ids that they have in its body, if
// all of them have one. Otherwise they keep those of the codec, which are by name.
func KeepIDs(request json.RawMessage, messages []llm.Message) {
	var calls, results []string
	for _, content := range tree.Elements(tree.Field(request, "contents")) {
		for _, part := range tree.Elements(tree.Field(content, "parts")) {
			if call := tree.Field(part, "function_call"); !tree.IsNull(call) {
				calls = append(calls, tree.Scalar(tree.Field(call, "id")))
			}
			if result := tree.Field(part, "function_response"); !tree.IsNull(result) {
				results = append(results, tree.Scalar(tree.Field(result, "id")))
			}
		}
	}
	if slices.Contains(calls, "") || slices.Contains(results, "") {
		return
	}
	for _, m := range messages {
		for i, part := range m.Parts {
			switch p := part.(type) {
			case llm.ToolCall:
				if !p.ProviderExecuted && len(calls) > 0 {
					p.ID, p.IDGenerated, p.ProviderID = strings.Clone(calls[0]), false, ""
					m.Parts[i], calls = p, calls[1:]
				}
			case llm.ToolResult:
				if len(results) > 0 {
					p.ID = strings.Clone(results[0])
					m.Parts[i], results = p, results[1:]
				}
			default: // others have no ids
			}
		}
	}
}
