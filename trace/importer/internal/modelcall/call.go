// Package modelcall reads the messages of one call of a model, as tools for observability keep them: in
// the form of the framework that made the call.
package modelcall

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/importer/internal/body"
	"github.com/looptape/looptape/trace/importer/internal/message"
	"github.com/looptape/looptape/trace/importer/internal/tree"
)

// Call is a call of a model.
type Call struct {
	Input, Output []llm.Message
	// Read are the members, input and output, that have nothing but the messages.
	Read []string
	Errs []Error
}

// Error is the reason why a member with the messages of a call cannot be read.
type Error struct {
	Member string
	Err    error
	// Partial is true if the messages were read, except some parts of them, alternatives or other prompts.
	Partial bool
}

// Alternatives returns the error for a member with n alternative responses, of which only the first is read.
func Alternatives(member string, n int) Error {
	return Error{Member: member, Err: fmt.Errorf("the response has %d alternatives, and only the first is read", n), Partial: true}
}

// Read reads the input and the output of a call. If one of them cannot be read, that is one of the
// errors of the call, and the other one is read.
func Read(input, output json.RawMessage) Call {
	var r reader
	var call Call
	read := func(member string, value json.RawMessage, role llm.Role) []llm.Message {
		before := len(r.messages)
		r.remains, r.unread, r.alternatives, r.prompts = false, nil, 0, 0
		err := cmp.Or(r.value(value, role), r.flush())
		switch {
		case err != nil:
			r.messages, r.list, r.err = r.messages[:before], nil, nil
			call.Errs = append(call.Errs, Error{Member: member, Err: err})
		case r.prompts > 1:
			err = fmt.Errorf("the call has %d prompts, and only the first is read", r.prompts)
			call.Errs = append(call.Errs, Error{Member: member, Err: err, Partial: true})
		case r.alternatives > 1:
			call.Errs = append(call.Errs, Alternatives(member, r.alternatives))
		case len(r.unread) > 0:
			for _, what := range r.unread {
				call.Errs = append(call.Errs, Error{Member: member, Err: errors.New(what), Partial: true})
			}
		case !r.remains:
			call.Read = append(call.Read, member)
		}
		return slices.Clip(r.messages[before:])
	}
	call.Input = read("input", input, llm.RoleUser)
	call.Output = read("output", output, llm.RoleAssistant)
	return call
}

// reader reads the messages of a call: its input and then its output.
type reader struct {
	messages []llm.Message
	reader   message.Reader
	list     []json.RawMessage // messages in a form of package message that are not read yet
	// remains is true if a value has more than its messages.
	remains bool
	unread  []string // what a value has besides the messages that were read
	err     error    // the first one of flush
	// The numbers of alternative responses and of prompts that a value has; 0 if it does not show them.
	alternatives, prompts int
}

var errForm = errors.New("the messages are in an unknown form")

// value reads a value with messages, which may be a string with JSON. Other strings are a text of
// the role.
func (r *reader) value(raw json.RawMessage, role llm.Role) error {
	text, _ := tree.Text(raw)
	if inner, ok := innerJSON(text); ok {
		if err := r.flush(); err != nil {
			return err
		}
		before := *r
		err := r.value(inner, role)
		if err == nil || role == llm.RoleUser || namesTools(inner) || hasCalls(inner) {
			return err
		}
		r.messages, r.list, r.remains, r.unread, r.err = before.messages, nil, before.remains, before.unread, nil // the model returned JSON
	}
	if truncated.MatchString(text) && !jsonio.ValidText(text) {
		r.unread = append(r.unread, "the text begins as JSON with messages and is not valid: it may be truncated")
	}
	switch {
	case tree.IsNull(raw):
	case raw[0] == '[':
		return r.array(raw, role)
	case raw[0] == '{':
		return r.object(raw, role)
	default:
		r.add(textMessage(role, tree.String(raw)))
	}
	return nil
}

// truncated matches the beginning of a text in JSON with messages.
var truncated = regexp.MustCompile(`^\s*(\{\s*"messages"\s*:\s*)?\[\s*\{\s*"(role|content)"\s*:`)

// innerJSON returns the JSON object, array or string that a text contains.
func innerJSON(text string) (json.RawMessage, bool) {
	text = strings.TrimSpace(text)
	if text == "" || !strings.ContainsRune(`{["`, rune(text[0])) || !jsonio.ValidText(text) {
		return nil, false
	}
	return json.RawMessage(text), true
}

func textMessage(role llm.Role, text string) json.RawMessage {
	return message.OpenAI(string(role), jsonio.AppendString(nil, text), nil, nil)
}

// add appends a message in a form of package message.
func (r *reader) add(m json.RawMessage) { r.list = append(r.list, m) }

// flush reads the messages that add was given.
func (r *reader) flush() error {
	if r.list == nil || r.err != nil {
		return r.err
	}
	list := r.list
	r.list = nil
	var invalid error
	for _, m := range list {
		d := jsonio.NewDec(jsonio.View(m))
		if r.messages = r.reader.Add(r.messages, &d); d.Err() != nil {
			invalid = d.Err()
			break
		}
	}
	var err error
	if r.messages, err = r.reader.Flush(r.messages); invalid != nil || err != nil {
		r.err = cmp.Or(errorIn(list), invalid, err)
	}
	return r.err
}

// errorIn returns the error of messages that cannot be read, with its place in their list.
func errorIn(list []json.RawMessage) error {
	var text tree.List
	for _, m := range list {
		text.Add(m)
	}
	d := jsonio.NewDec(jsonio.View(text.JSON()))
	new(message.Reader).List(&d)
	return d.Err()
}

// array reads a list: of messages, of the parts of one message, of calls of the AI SDK, or of one
// list, as LangChain writes it.
func (r *reader) array(list json.RawMessage, role llm.Role) error {
	first := tree.Element(list, "0")
	switch {
	case first == nil:
		return nil
	case first[0] == '[':
		r.prompts = max(r.prompts, count(list))
		return r.array(first, role)
	case areCalls(list):
		r.add(sdkCalls(nil, list))
		return nil
	case isPart(first):
		r.add(message.OpenAI(string(role), list, nil, nil))
		return nil
	}
	for n, element := range tree.Elements(list) {
		if err := r.element(element, role); err != nil {
			return fmt.Errorf("[%d]: %w", n, err)
		}
	}
	return nil
}

func (r *reader) element(m json.RawMessage, role llm.Role) error {
	if m[0] != '{' {
		return r.value(m, role)
	}
	return r.message(m, role)
}

// areCalls reports whether all elements of a list are calls of the AI SDK.
func areCalls(list json.RawMessage) bool {
	for _, call := range tree.Elements(list) {
		kind := tree.Member(call, "type")
		if tree.Member(call, "toolCallId") == nil || tree.Member(call, "toolName") == nil || kind != nil && string(kind) != `"tool-call"` {
			return false
		}
	}
	return true
}

// isPart reports whether a value is a part of a message and not a message or an item of Responses.
func isPart(raw json.RawMessage) bool {
	kind := tree.Scalar(raw, "type")
	return tree.Member(raw, "role") == nil && (slices.Contains([]string{"text", "image_url", "image", "tool_use", "thinking", "tool-call"}, kind) ||
		kind == "reasoning" && tree.Member(raw, "text") != nil)
}

type form struct {
	name string // of the member that has the messages
	read func(r *reader, object, value json.RawMessage, role llm.Role) error
}

// forms returns the forms of objects that have the messages of a call, other than the bodies
// of package body. It is a function because a form refers to the others.
func forms() []form {
	return []form{
		{"role", (*reader).whole},
		{"messages", (*reader).request},
		{"contents", (*reader).contents},
		{"candidates", (*reader).candidates},
		{"prompt", (*reader).request},
		{"output", (*reader).request},
		{"message", (*reader).request},
		{"generations", (*reader).generations},
		{"toolCalls", (*reader).sdkResult},
		{"tool_calls", (*reader).whole},
		{"content", (*reader).whole},
		{"text", (*reader).request},
		{"input", (*reader).request},
	}
}

// object reads an object: a message, the body of a request or a response, or what a framework
// calls its model with. An object in another form that is an output is the JSON that the model
// returned, unless it has calls: then one of its members is the response.
func (r *reader) object(object json.RawMessage, role llm.Role) error {
	var x tree.Index
	if x.Read(object); message.IsSerialized(&x) {
		return r.serialized(object, role)
	}
	if ok, err := r.body(object); ok {
		return err
	}
	for _, form := range forms() {
		if value := x.Member(form.name); !tree.IsNull(value) {
			before := len(r.messages)
			if err := form.read(r, object, value, role); err != nil {
				return err
			}
			if role != llm.RoleAssistant {
				return r.findResults(object, form.name, before)
			}
			return r.findCalls(object, form.name, before)
		}
	}
	if role == llm.RoleUser || namesTools(object) {
		return fmt.Errorf("%w: its members are %s", errForm, keysOf(object))
	}
	if hasCalls(object) {
		return r.wrapped(object, role)
	}
	r.add(textMessage(role, string(object)))
	return nil
}

// findCalls adds the members of an output, other than the one that was read, with calls that the messages do not
// have from an index on.
func (r *reader) findCalls(object json.RawMessage, read string, from int) error {
	for name, value := range tree.Members(object) {
		if name == read || !message.IsToolMember(name, value) {
			continue
		}
		if err := r.flush(); err != nil {
			return err
		}
		if messages := r.messages[from:]; message.HasOtherCalls(value, messages) && !isOpaque(name, messages) {
			r.unread = append(r.unread, fmt.Sprintf("the calls in the member %q are not read", name))
		}
	}
	return nil
}

// findResults adds the members of an input, other than the one that was read, with results that the messages do not
// have from an index on.
func (r *reader) findResults(object json.RawMessage, read string, from int) error {
	for name, value := range tree.Members(object) {
		ids := message.ResultIDs(value)
		if name == read || len(ids) == 0 {
			continue
		}
		if err := r.flush(); err != nil {
			return err
		}
		if messages := r.messages[from:]; !isOpaque(name, messages) && slices.ContainsFunc(ids, func(id string) bool { return !hasResult(messages, id) }) {
			r.unread = append(r.unread, fmt.Sprintf("the results in the member %q are not read", name))
		}
	}
	return nil
}

func hasResult(messages []llm.Message, id string) bool {
	return slices.ContainsFunc(messages, func(m llm.Message) bool {
		return slices.ContainsFunc(m.Parts, func(p llm.Part) bool {
			result, ok := p.(llm.ToolResult)
			return ok && result.ID == id
		})
	})
}

// isOpaque reports whether a message has kept a member, which is then looked at there.
func isOpaque(name string, messages []llm.Message) bool {
	return slices.ContainsFunc(messages, func(m llm.Message) bool { return tree.Member(m.Opaque, name) != nil })
}

// body reads the body of a request or of a response; ok is false if the object is neither.
func (r *reader) body(object json.RawMessage) (ok bool, err error) {
	if tree.Member(object, "contents") != nil || tree.Member(object, "candidates") != nil {
		return false, nil // as the SDKs of Gemini write them
	}
	response, err := body.Response(object)
	if response != nil && err == nil {
		r.remains, r.unread = true, append(r.unread, body.Unread(body.Name(object), object, response)...)
		r.messages = append(r.messages, response.Message())
	}
	if response != nil || err != nil {
		return true, err
	}
	req, err := body.Request(object)
	if req == nil || err != nil {
		return err != nil, err
	}
	r.remains, r.unread = true, append(r.unread, body.UnreadSystem(body.Name(object), object)...)
	r.messages = slices.Concat(r.messages, message.System(req.System.Text()), req.Messages)
	return true, nil
}

// serialized reads a message that LangChain has serialized, or an object of its with messages, such as a
// prompt or a generation.
func (r *reader) serialized(object json.RawMessage, role llm.Role) error {
	r.remains = true // the class
	if !message.IsLangChain(object) {
		return r.value(tree.Member(object, "kwargs"), role)
	}
	plain, err := message.LangChain(object)
	if err == nil {
		r.add(plain)
	}
	return err
}

// whole reads an object that is a message.
func (r *reader) whole(object, _ json.RawMessage, role llm.Role) error {
	return r.message(object, role)
}

// namesTools reports whether an object has members whose names say that they have calls of tools.
func namesTools(object json.RawMessage) bool {
	for key := range tree.Members(object) {
		if key = strings.ToLower(key); strings.Contains(key, "tool") || strings.Contains(key, "function") {
			return true
		}
	}
	return false
}

// hasCalls reports whether a value has calls or results of tools, or the choices of a response, by the
// names and the types that the protocols have for them. A value with more levels than an answer has counts
// as one that has calls, because it is not searched further.
func hasCalls(value json.RawMessage) bool { return hasCallsWithin(value, 32) }

func hasCallsWithin(value json.RawMessage, levels int) bool {
	for name, member := range tree.Members(value) {
		isType := name == "type" && slices.Contains([]string{"tool_use", "tool_call", "tool-call", "function_call"}, tree.Scalar(member))
		isChoices := name == "choices" && tree.First(tree.Element(member, "0"), "message", "delta") != nil
		if isType || isChoices || message.IsToolMember(name, member) || levels == 0 || hasCallsWithin(member, levels-1) {
			return true
		}
	}
	for _, element := range tree.Elements(value) {
		if levels == 0 || hasCallsWithin(element, levels-1) {
			return true
		}
	}
	return false
}

// wrapped reads an object in which one member is the response, with any name.
func (r *reader) wrapped(object json.RawMessage, role llm.Role) error {
	var name string
	var response json.RawMessage
	for key, value := range tree.Members(object) {
		if !hasCalls(value) {
			continue
		}
		if response != nil || value[0] != '{' {
			return fmt.Errorf("%w: its members are %s, and %q has calls", errForm, keysOf(object), key)
		}
		name, response = strings.Clone(key), value
	}
	if response == nil {
		return fmt.Errorf("%w: its members are %s", errForm, keysOf(object))
	}
	r.remains = true
	if err := r.object(response, role); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// keysOf returns the first names of the members of an object, for an error.
func keysOf(object json.RawMessage) string {
	const most = 8
	var keys []string
	for key := range tree.Members(object) {
		if len(keys) == most {
			return strings.Join(keys, ", ") + " …"
		}
		keys = append(keys, fmt.Sprintf("%q", key))
	}
	return strings.Join(keys, ", ")
}

// request reads a member of an object that has the messages: those of the body of a request
// follow its system prompt.
func (r *reader) request(object, value json.RawMessage, role llm.Role) error {
	r.remains = true
	if system := tree.First(object, "system", "instructions"); !tree.IsNull(system) {
		r.add(message.OpenAI("system", system, nil, nil))
	}
	return r.value(value, role)
}

// contents reads a request of the Gemini API: a text, a Content or a list of these.
func (r *reader) contents(object, value json.RawMessage, _ llm.Role) error {
	r.remains = true
	system := tree.Field(object, "system_instruction")
	if system == nil {
		system = tree.Field(object, "config", "system_instruction")
	}
	if text, ok := tree.Text(system); ok {
		r.messages = append(r.messages, message.System(text)...)
	} else {
		for _, m := range r.reader.Contents(system) {
			m.Role = llm.RoleSystem
			r.messages = append(r.messages, m)
		}
	}
	if value[0] != '[' {
		value = slices.Concat([]byte("["), value, []byte("]"))
	}
	for n, content := range tree.Elements(value) {
		if text, ok := tree.Text(content); ok {
			r.messages = append(r.messages, llm.User(text))
			continue
		}
		r.findNextToParts(content)
		messages := r.reader.Contents(content)
		if messages == nil {
			return fmt.Errorf("contents[%d]: the content has no parts that can be read", n)
		}
		r.messages = append(r.messages, messages...)
	}
	return nil
}

// candidates reads a response of the Gemini API.
func (r *reader) candidates(_, value json.RawMessage, _ llm.Role) error {
	r.remains, r.alternatives = true, max(r.alternatives, count(value))
	r.unread = append(r.unread, body.UnreadCandidates(value)...)
	for _, m := range r.reader.Contents(tree.Field(tree.Element(value, "0"), "content")) {
		if m.Role == llm.RoleUser { // the role may be missing
			m.Role = llm.RoleAssistant
		}
		r.messages = append(r.messages, m)
	}
	return nil
}

// generations reads a result of LangChain: a list of alternative responses, or such a list for each prompt.
func (r *reader) generations(_, list json.RawMessage, role llm.Role) error {
	r.remains = true
	if first := tree.Element(list, "0"); len(first) > 0 && first[0] == '[' {
		r.prompts = max(r.prompts, count(list))
		list = first
	}
	r.alternatives = max(r.alternatives, count(list))
	if list[0] != '[' {
		return r.value(list, role)
	}
	if first := tree.Element(list, "0"); first != nil {
		return r.element(first, role)
	}
	return nil
}

// count returns the number of elements of a list.
func count(list json.RawMessage) (n int) {
	for range tree.Elements(list) {
		n++
	}
	return n
}

// sdkResult reads a result of the AI SDK.
func (r *reader) sdkResult(object, calls json.RawMessage, _ llm.Role) error {
	r.remains = true
	list := tree.Embedded(calls)
	if list == nil || list[0] != '[' || !areCalls(list) {
		return fmt.Errorf("%w: toolCalls is not a list of calls", errForm)
	}
	r.add(sdkCalls(tree.Member(object, "text"), list))
	return nil
}

// sdkCalls returns a message with calls of the AI SDK, which may have no type.
func sdkCalls(text, calls json.RawMessage) json.RawMessage {
	parts := []byte{'['}
	if text, ok := tree.Text(text); ok && text != "" {
		var p tree.Object
		p.Text("type", "text")
		p.Text("text", text)
		parts = append(parts, p.JSON()...)
	}
	for _, call := range tree.Elements(calls) {
		if len(parts) > 1 {
			parts = append(parts, ',')
		}
		var p tree.Object
		p.Text("type", "tool-call")
		for key, value := range tree.Members(call) {
			if key != "type" {
				p.Add(key, value)
			}
		}
		parts = append(parts, p.JSON()...)
	}
	return message.OpenAI("assistant", append(parts, ']'), nil, nil)
}

// message reads an object that is a message in the form of a framework.
func (r *reader) message(m json.RawMessage, role llm.Role) error {
	var x tree.Index
	x.Read(m)
	if inner := x.Member("message"); len(inner) > 0 && inner[0] == '{' && x.First("role", "content", "tool_calls", "parts") == nil {
		r.remains = true // a generation of LangChain
		return r.message(inner, role)
	}
	if message.IsSerialized(&x) {
		return r.serialized(m, role)
	}
	switch {
	case !x.AreStrings("role", "type", "name"):
		return fmt.Errorf("%w: the role, the type or the name of a message is not a string", errForm)
	case message.IsItem(tree.Scalar(x.Member("type"))):
		r.add(m)
		return nil
	case !tree.IsNull(x.Member("parts")):
		return r.parts(m, tree.Scalar(x.Member("role")))
	case isToolDefinition(x.Member("content")) && tree.Scalar(x.Member("role")) == "tool":
		r.remains = true // LangChain's handler adds the tools to the messages
		return nil
	}
	if x.First("role", "content", "tool_calls") == nil {
		return fmt.Errorf("%w: its members are %s", errForm, keysOf(m))
	}
	r.add(r.plain(m, tree.Scalar(x.First("role", "type")), role))
	return nil
}

// parts reads a message with parts: of OpenTelemetry, of the AI SDK or of the Gemini API.
func (r *reader) parts(m json.RawMessage, role string) error {
	telemetry, content, sdk := partForms(tree.Member(m, "parts"))
	switch {
	case telemetry || content && slices.Contains([]string{"", "user", "model", "function", "tool"}, role):
	case sdk && slices.Contains([]string{"user", "assistant", "system"}, role):
		r.add(m)
		return nil
	default:
		return fmt.Errorf("%w: the role %q with these parts", errForm, role)
	}
	if err := r.flush(); err != nil {
		return err
	}
	if telemetry { // which keeps the other members
		r.messages = append(r.messages, r.reader.Telemetry(slices.Concat([]byte("["), m, []byte("]")))...)
		return nil
	}
	r.findNextToParts(m)
	r.remains = r.remains || tree.Without(m, "role", "parts") != nil
	r.messages = append(r.messages, r.reader.Contents(m)...)
	return nil
}

// findNextToParts adds what a Content of the Gemini API has next to its parts.
func (r *reader) findNextToParts(content json.RawMessage) {
	if name := message.NextTo(content, "parts", ""); name != "" {
		r.unread = append(r.unread, fmt.Sprintf("a message has parts and the member %q, which is not read", name))
	}
}

// partForms reports whether parts are those of OpenTelemetry's conventions, of the Gemini API, which
// have no type or are texts, or of the AI SDK.
func partForms(parts json.RawMessage) (telemetry, content, sdk bool) {
	typed, object := parts[0] == '[', parts[0] == '['
	for _, part := range tree.Elements(parts) {
		kind, ok := tree.Text(part, "type")
		typed = typed && ok
		object = object && (tree.IsText(part) || part[0] == '{' && tree.Member(part, "type") == nil)
		sdk = sdk || strings.HasPrefix(kind, "tool-") || kind == "step-start" || tree.First(part, "text", "state", "url", "data") != nil
	}
	return typed && !sdk, object && !typed, typed && sdk
}

// roles are the names of roles in frameworks, and LangChain's types of messages.
var roles = map[string]string{"human": "user", "ai": "assistant", "model": "assistant", "AIMessageChunk": "assistant"}

// plain returns a message, which may name its role, in a form of package message. A result of a tool may have the name of
// its tool as its role, as LangChain's handler for Langfuse writes it in JavaScript.
func (r *reader) plain(m json.RawMessage, name string, role llm.Role) json.RawMessage {
	if known, ok := roles[name]; ok {
		name = known
	}
	if name == "" || name == "message" {
		name = string(role)
	}
	call := r.openCall(name)
	if call != "" {
		name = "tool"
	}
	return message.Plain(m, name, call)
}

// openCall returns the id of the last call without a result of the tool of this name.
func (r *reader) openCall(tool string) (id string) {
	if slices.Contains([]string{"system", "developer", "user", "assistant", "tool", "function"}, tool) || r.flush() != nil {
		return ""
	}
	for _, m := range r.messages {
		for _, p := range m.Parts {
			if call, ok := p.(llm.ToolCall); ok && call.Name == tool && id == "" {
				id = call.ID
			}
			if result, ok := p.(llm.ToolResult); ok && result.ID == id {
				id = ""
			}
		}
	}
	return id
}

// isToolDefinition reports whether a value declares a tool.
func isToolDefinition(content json.RawMessage) bool {
	return tree.Scalar(content, "type") == "function" && tree.Scalar(content, "function", "name") != ""
}
