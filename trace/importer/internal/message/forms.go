package message

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/internal/jsonval"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/anthropic"
	"github.com/looptape/looptape/providers/openai/responses"
	"github.com/looptape/looptape/providers/protocol"
	"github.com/looptape/looptape/trace/importer/internal/tree"
)

// formOf returns the form of a message that has this part, which Chat Completions does not have.
// The parts of Bedrock Converse have no type, not even the first one.
func formOf(u llm.Unknown, first bool) form {
	kind := strings.TrimPrefix(u.Kind, "openai.")
	switch {
	case slices.Contains([]string{"tool_use", "tool_result", "thinking", "redacted_thinking", "container_upload", "compaction"}, kind),
		strings.HasSuffix(kind, "_tool_use"), strings.HasSuffix(kind, "_tool_result") && kind != "server_tool_result": // the last of LangChain
		return blocks
	case strings.HasPrefix(kind, "input_") && kind != "input_audio", kind == "output_text":
		return itemParts
	case first && kind == "" && isConverse(tree.Member(u.Raw, "value")):
		return converse
	}
	return openAI
}

// IsItem reports whether a type is that of an item of Responses other than a message.
func IsItem(kind string) bool {
	return strings.HasSuffix(kind, "_call") || strings.HasSuffix(kind, "_call_output") ||
		slices.Contains([]string{toolSearch + "_output", "reasoning", "item_reference", "compaction", "mcp_list_tools", "mcp_approval_request", "mcp_approval_response"}, kind)
}

// CheckItem returns an error for an item of Responses that the codec, which is tolerant, would read
// only in part; nil if there is none.
func CheckItem(item json.RawMessage) *jsonio.SyntaxError {
	kind := tree.Scalar(item, "type")
	isReference := kind == "" && tree.Without(item, "id") == nil
	if (kind == "message" || kind == "") && !isReference && tree.IsNull(tree.Member(item, "content")) {
		return &jsonio.SyntaxError{Msg: "the item has no type or no content"}
	}
	if path := notString(item); path != "" {
		return &jsonio.SyntaxError{Msg: "expected a string", Path: path}
	}
	return nil
}

// notString returns the path of a member of an item of Responses, or of one of its parts, that is of
// another kind than the string that the API has there; empty if there is none.
func notString(item json.RawMessage) string {
	for name, value := range tree.Members(item) {
		if slices.Contains(itemStrings, name) && value[0] != '"' && !tree.IsNull(value) || name == "arguments" && !AreArguments(value[0]) {
			return "." + name
		}
		if !slices.Contains(itemLists, name) {
			continue
		}
		for n, part := range tree.Elements(value) {
			at := "." + name + "[" + strconv.Itoa(n) + "]"
			if part[0] != '{' {
				return at
			}
			if kind := tree.Scalar(part, "type"); name != "output" && (strings.HasSuffix(kind, "_text") || kind == "") && tree.Member(part, "text") == nil && !IsEmpty(part) {
				return at + ".text"
			}
			if path := notString(part); path != "" {
				return at + path
			}
		}
	}
	return ""
}

// The members of items, and of the parts of their content, with these kinds of values.
var (
	itemStrings = []string{"type", "id", "call_id", "name", "role", "status", "text", "refusal", "image_url", "filename", "file_data", "file_url"}
	itemLists   = []string{"content", "summary", "output"}
)

// Flush appends the messages of the items of Responses that Add has kept. It must be called after
// the last message of a list.
func (r *Reader) Flush(messages []llm.Message) ([]llm.Message, error) {
	if r.chat && r.Protocol == "anthropic-messages" { // by its thinking, which Mistral and Cohere have as well
		r.Protocol = ""
	}
	if len(r.items) == 0 {
		return messages, nil
	}
	req, err := responses.Protocol{}.DecodeRequest("/responses", []byte(`{"input":[`+strings.Join(r.items, ",")+`]}`))
	if err != nil {
		return messages, err
	}
	if r.Report != nil {
		for _, item := range r.items {
			MarkRejected(json.RawMessage(item), req.Messages)
		}
	}
	r.items = nil
	return append(messages, ClientCalls(req.Messages)...), nil
}

// other reads a message of Gemini, Bedrock Converse or Anthropic; nil if it is of none of them. A message
// with calls of Chat Completions may have thinking of Anthropic.
func (r *Reader) other(raw json.RawMessage, isContent, hasCalls bool) (messages []llm.Message, err *jsonio.SyntaxError) {
	switch {
	case isContent:
		messages, r.Protocol = r.Contents(raw), "gemini"
	case r.form == converse:
		messages, r.Protocol = Converse(raw), "bedrock-converse"
	case r.form == blocks && (!hasCalls || hasBlocks(tree.Member(raw, "content"), "tool_use")):
		messages, err = DecodeOne(anthropic.Messages{}, "messages", raw)
		if !hasBlocks(tree.Member(raw, "content"), "tool_use", "tool_result") {
			err = nil // such as thinking of Mistral
		}
		r.Protocol = "anthropic-messages"
	}
	if messages != nil && messages[0].Opaque == nil {
		content := "content"
		if isContent {
			content = "parts"
		}
		messages[0].Opaque = tree.Without(raw, "role", content)
	}
	return messages, err
}

// bodies are buffers for bodies of requests, which codecs copy.
var bodies = sync.Pool{New: func() any { return new([]byte) }}

// settings are the ends of requests, by the name of their list. With what looptape sends, the codec of Responses keeps nothing else.
var settings = map[string]string{"messages": "}", "input": `,"store":false,"include":["reasoning.encrypted_content"]}`}

// DecodeOne reads a message or an item with the codec of a protocol, as the only element of the
// list in a request. The path of the error is within the message or the item.
func DecodeOne(p protocol.Protocol, list string, m json.RawMessage) ([]llm.Message, *jsonio.SyntaxError) {
	body := bodies.Get().(*[]byte)
	*body = append(append(append(append((*body)[:0], `{"`+list+`":[`...), m...), ']'), settings[list]...)
	req, err := p.DecodeRequest("", *body)
	bodies.Put(body)
	if err == nil {
		return req.Messages, nil
	}
	invalid := &jsonio.SyntaxError{Msg: err.Error()}
	if at, ok := errors.AsType[*jsonio.SyntaxError](err); ok {
		invalid.Msg, invalid.Path = at.Msg, strings.TrimPrefix(at.Path, list+"[0]")
	}
	return nil, invalid
}

// NotObject is the error for a call with such arguments, for [fmt.Sprintf] with the name of the tool.
const NotObject = "the arguments of the call of %q are not an object"

// WithoutInput returns the name of the first tool that a message of Anthropic calls with another input than an
// object. The codec reads an object in a string.
func WithoutInput(m json.RawMessage) (name string, found bool) {
	for _, block := range tree.Elements(m, "content") {
		if input := tree.Member(block, "input"); tree.Scalar(block, "type") == "tool_use" && (input == nil || input[0] != '{') {
			return tree.Scalar(block, "name"), true
		}
	}
	return "", false
}

// IsToolMember reports whether a member of a message seems to have calls or results of tools: by its name, or
// because it has objects with a name and arguments.
func IsToolMember(name string, value json.RawMessage) bool {
	if len(value) <= len(`{}`) || value[0] != '[' && value[0] != '{' {
		return false
	}
	name = strings.ToLower(name)
	contains := func(words ...string) bool {
		return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(name, word) })
	}
	return contains("tool", "function") && contains("call", "use", "result", "response", "output", "invocation", "request") || isCalls(value) || len(ResultIDs(value)) > 0
}

// IsArguments reports whether a member of a message is the arguments of a call.
func IsArguments(name string, value json.RawMessage) bool {
	return slices.Contains([]string{"arguments", "args", "tool_args", "tool_input"}, tree.Snake(name)) && !IsEmpty(value)
}

// ResultIDs returns the ids of the calls that an object, or each object of a list, names as a result does.
func ResultIDs(value json.RawMessage) (ids []string) {
	add := func(object json.RawMessage) {
		if id := tree.Scalar(tree.First(object, "tool_call_id", "toolCallId", "tool_use_id", "toolUseId", "call_id")); id != "" {
			ids = append(ids, id)
		}
	}
	add(value)
	for _, element := range tree.Elements(value) {
		add(element)
	}
	return ids
}

// isCalls reports whether a value is an object with the name of a tool and arguments, or a list with one.
func isCalls(value json.RawMessage) bool {
	for _, element := range tree.Elements(value) {
		if isCall(element) {
			return true
		}
	}
	return isCall(value)
}

// isCall reports whether a value has the members of a call, or has them in a member function as OpenAI does.
func isCall(value json.RawMessage) bool {
	if function := tree.Member(value, "function"); len(function) > 0 && function[0] == '{' && isCall(function) {
		return true
	}
	return tree.First(value, "name", "tool", "tool_name", "toolName", "function") != nil &&
		tree.First(value, "arguments", "args", "kwargs", "input", "tool_input") != nil
}

// HasOtherCalls reports whether a list of calls, or one call, has other calls than the messages: of another tool,
// with other arguments, or more of them. Calls without arguments are compared by the name of the tool. An object with
// nothing but a name is the choice of a tool for a request.
func HasOtherCalls(list json.RawMessage, messages []llm.Message) bool {
	arguments := map[string][]string{} // of the calls of the messages, by the name of the tool
	for _, m := range messages {
		for _, call := range m.Calls() {
			arguments[call.Name] = append(arguments[call.Name], call.Arguments)
		}
	}
	if list[0] == '{' {
		list = slices.Concat([]byte("["), list, []byte("]"))
	}
	var bare []string // the tools of calls without arguments
	for _, call := range tree.Elements(list) {
		if function := tree.Member(call, "function"); len(function) > 0 && function[0] == '{' {
			call = function
		}
		if tree.Without(call, "name") == nil {
			continue
		}
		name := tree.Scalar(tree.First(call, "name", "tool", "tool_name", "toolName", "function"))
		sent := tree.First(call, ArgumentMembers...)
		if IsEmpty(sent) {
			bare = append(bare, name)
			continue
		}
		text := tree.String(sent)
		i := slices.IndexFunc(arguments[name], func(a string) bool { return jsonval.Equal(a, text) || jsonval.EqualDecoded(a, text) })
		if i < 0 {
			return true
		}
		arguments[name] = slices.Delete(arguments[name], i, i+1)
	}
	for _, name := range bare {
		if len(arguments[name]) == 0 {
			return true
		}
		arguments[name] = arguments[name][1:]
	}
	return false
}

// ArgumentMembers are names that other tools have for the arguments of a call.
var ArgumentMembers = []string{"arguments", "args", "parameters", "params", "input", "inputs", "kwargs", "tool_input"}

// IsEmpty reports whether a value is null, an empty string, list or object.
func IsEmpty(value json.RawMessage) bool {
	switch string(value) {
	case "", "null", `""`, `"{}"`:
		return true
	}
	return value[0] == '[' && tree.Element(value, "0") == nil || value[0] == '{' && !hasMember(value)
}

func hasMember(object json.RawMessage) bool {
	for range tree.Members(object) {
		return true
	}
	return false
}

// ResponseMembers are names that other tools have for the text of a response.
var ResponseMembers = []string{"text", "output", "output_text", "answer", "reply", "response", "completion"}

// contentMembers are names that other tools have for the content of a message.
var contentMembers = slices.Concat(ResponseMembers, []string{"message", "messages", "contents", "body", "value", "input", "prompt", "utterance"})

// IsTextMember reports whether a member of a message seems to have content in a form that is not read: its
// name is one for content, and it has a text that the content as it was read does not contain.
func IsTextMember(name string, value json.RawMessage, read func() string) bool {
	return slices.Contains(contentMembers, strings.ToLower(name)) && HasOtherText(value, read())
}

// OtherText returns the first member of a part that has text which its own members do not contain; empty if
// there is none.
func OtherText(part json.RawMessage, own ...string) string {
	text := ""
	for _, name := range own {
		text += tree.String(part, name)
	}
	for name, value := range tree.Members(part) {
		if !slices.Contains(own, name) && (name == "content" || slices.Contains(contentMembers, name)) && HasOtherText(value, text) {
			return name
		}
	}
	return ""
}

// ReferenceKinds are kinds of parts that refer to a source of a text, by Mistral; they have no text of their own.
var ReferenceKinds = []string{"reference", "tool_reference"}

// IsReasoning reports whether the members of a part that have reasoning, whose names these are, are texts or lists of
// texts and of references, as in the thinking of Mistral.
func IsReasoning(part json.RawMessage, names ...string) bool {
	for _, name := range names {
		value := tree.Member(part, name)
		if !tree.IsNull(value) && !tree.IsText(value) && value[0] != '[' {
			return false
		}
		for _, element := range tree.Elements(value) {
			isReference := slices.Contains(ReferenceKinds, tree.Scalar(element, "type")) && OtherText(element) == ""
			if _, hasText := tree.Text(element, "text"); !isReference && !hasText && !tree.IsText(element) {
				return false
			}
		}
	}
	return true
}

// NextTo returns the first member of an object, except the known one, that seems to have calls, results or text that is not
// in the text that was read; empty if there is none.
func NextTo(object json.RawMessage, known, read string) string {
	for name, value := range tree.Members(object) {
		isText := name == "content" || slices.Contains(contentMembers, strings.ToLower(name))
		if name != known && (isText && HasOtherText(value, read) || IsToolMember(name, value)) {
			return name
		}
	}
	return ""
}

// HasOtherText reports whether a value is a text that another one does not contain, or has one as an
// element, or as the text or the content of an object.
func HasOtherText(value json.RawMessage, text string) bool {
	if tree.IsText(value) {
		return !strings.Contains(text, tree.Scalar(value))
	}
	for _, element := range tree.Elements(value) {
		if HasOtherText(element, text) {
			return true
		}
	}
	for name, inner := range tree.Members(value) {
		if (name == "text" || name == "content") && HasOtherText(inner, text) {
			return true
		}
	}
	return false
}

// isConverse reports whether a value is a ContentBlock of Bedrock Converse
// (https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ContentBlock.html).
func isConverse(part json.RawMessage) bool {
	for key := range tree.Members(part) {
		if slices.Contains(converseKinds, key) {
			return true
		}
	}
	return false
}

var converseKinds = []string{
	"text", "toolUse", "toolResult", "reasoningContent", "citationsContent", "image", "document", "video", "audio",
	"guardContent", "cachePoint", "searchResult",
}

// Converse reads a message of Bedrock Converse. Results of tools become a message of their own,
// before the other parts.
func Converse(raw json.RawMessage) []llm.Message {
	var parts []llm.Part
	for _, part := range tree.Elements(raw, "content") {
		parts = append(parts, conversePart(part))
	}
	others, results := Separate(parts)
	role := llm.Role(tree.Scalar(raw, "role"))
	messages := AddStep(AddStep(nil, llm.RoleTool, results), role, others)
	if messages == nil { // Bedrock refuses it
		messages = []llm.Message{{Role: role}}
	}
	messages[0].Opaque = tree.Without(raw, "role", "content")
	return messages
}

// StreamedInput is the member of a toolUse with the text of its input in a stream, which may be no JSON.
const StreamedInput = "streamed input"

// conversePart reads a ContentBlock. A block of a kind that llm does not have is kept whole; see
// [Unknown].
func conversePart(part json.RawMessage) llm.Part {
	var kind, unknown string
	var value json.RawMessage
	for key, raw := range tree.Members(part) {
		switch {
		case tree.IsNull(raw):
		case slices.Contains(converseKinds, key) && kind != "": // a block has one kind
			return Unknown("converse."+kind+" with "+key, string(part))
		case slices.Contains(converseKinds, key):
			kind, value = key, raw
		default:
			unknown = cmp.Or(unknown, key)
		}
	}
	rest := tree.Without(part, kind)
	switch kind {
	case "text":
		return llm.Text{Text: tree.String(value), Opaque: rest}
	case "toolUse":
		if !areScalars(value, "toolUseId", "name") {
			break
		}
		f := tree.Fields{Object: value}
		call := llm.ToolCall{ID: f.Scalar("toolUseId"), Name: f.Scalar("name"), ProviderExecuted: tree.Scalar(value, "type") == "server_tool_use"}
		switch input := tree.First(value, "input", StreamedInput); {
		case input != nil && !AreArguments(input[0]):
		case tree.IsText(input) && !jsonio.IsObject(tree.String(input)) && tree.Member(value, "input") != nil:
			call.Arguments = tree.String(input) // it stays in the opaque data, too
		default:
			call.Arguments = tree.String(f.First("input", StreamedInput))
		}
		call.Opaque = f.Rest()
		return call
	case "toolResult":
		if !areScalars(value, "toolUseId") {
			return Unknown("converse.toolResult without an id", string(part))
		}
		if tree.Scalar(value, "type") == "" { // the provider's own tools have one
			return converseResult(value)
		}
	case "reasoningContent":
		if !isReasoning(value) {
			break
		}
		return llm.Reasoning{Text: tree.Scalar(value, "reasoningText", "text"), Opaque: part}
	case "citationsContent":
		text := ""
		for _, c := range tree.Elements(value, "content") {
			text += tree.Scalar(c, "text")
		}
		return llm.Text{Text: text, Opaque: part}
	}
	return Unknown("converse."+cmp.Or(kind, strings.Clone(unknown)), string(part))
}

// areScalars reports whether an object has each of the members as a string, a number or null, or does not have it.
func areScalars(object json.RawMessage, names ...string) bool {
	return len(object) > 0 && object[0] == '{' && !slices.ContainsFunc(names, func(name string) bool {
		value := tree.Member(object, name)
		return !tree.IsNull(value) && tree.Scalar(value) == "" && string(value) != `""`
	})
}

// isReasoning reports whether a value is a ReasoningContentBlock: it has a text, which may be missing, or encrypted
// reasoning, or nothing.
func isReasoning(value json.RawMessage) bool {
	text := tree.Member(value, "reasoningText")
	if tree.IsNull(text) && tree.Member(value, "redactedContent") == nil && !IsEmpty(value) || len(text) > 0 && text[0] == '{' && tree.First(text, "text", "signature") == nil && !IsEmpty(text) {
		return false
	}
	return len(value) > 0 && value[0] == '{' && (tree.IsNull(text) || text[0] == '{' && (tree.IsNull(tree.Member(text, "text")) || tree.IsText(tree.Member(text, "text"))))
}

func converseResult(value json.RawMessage) llm.ToolResult {
	f := tree.Fields{Object: value}
	r := llm.ToolResult{ID: f.Scalar("toolUseId")}
	if status := tree.Scalar(value, "status"); status == "error" || status == "success" {
		r.IsError = status == "error"
		_ = f.First("status")
	}
	if content := tree.Member(value, "content"); len(content) > 0 && content[0] == '[' {
		_ = f.First("content")
	}
	for _, part := range tree.Elements(value, "content") {
		if j := tree.Member(part, "json"); j != nil && tree.Without(part, "json") == nil {
			r.Content = append(r.Content, llm.Text{Text: string(j)})
			continue
		}
		r.Content = append(r.Content, conversePart(part))
	}
	r.Opaque = f.Rest()
	return r
}
