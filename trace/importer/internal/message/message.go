// Package message reads the messages of one run from JSON, in the forms of OpenAI's Chat
// Completions and Responses, Anthropic, Gemini, Bedrock Converse, Cohere, Ollama and the AI SDK.
package message

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/importer/internal/tree"
)

// Reader reads the messages of one run, in order. Its zero value is ready.
type Reader struct {
	// Part, if set, reads the content parts of another dialect: that of Inspect.
	Part func(d *jsonio.Dec) llm.Part
	// Resolve, if set, returns the text that a content string refers to.
	Resolve func(text string) string
	// Report, if set, is called for a message that was read and that its provider does not accept. Without it,
	// such a message is invalid.
	Report func(message int, what string)
	// Protocol is the name of the wire protocol that the messages so far show; empty if it is
	// unknown or Chat Completions, whose form other tools use as well.
	Protocol string

	generated int // ids
	added     int // messages
	opened    int // calls
	// open holds the ids of calls that have no result yet, by function, if the result may have none:
	// generated ids, as calls of the old function_call form have none, and those of Gemini and Ollama.
	open  map[string][]openCall
	slab  []llm.Part // memory for lists of parts; most lists are short
	calls []llm.Part // of the current message
	items []string   // of Responses, which become messages together; see Flush
	form  form       // of the content of the current message
	chat  bool       // a result is a message of its own, as in Chat Completions and in no list of Anthropic
	named bool       // results may name the functions of the current calls instead of their ids, as Ollama has it
}

// openCall is the id of a call without a result.
type openCall struct {
	id      string
	number  int // of calls
	message int // the number of its message
}

// form is a form of messages that is recognized by the kinds of the content parts.
type form int

const (
	openAI    form = iota // of Chat Completions or the AI SDK
	blocks                // of Anthropic
	converse              // of Bedrock
	itemParts             // of Responses
)

// alloc returns an empty list with capacity for n parts.
func (r *Reader) alloc(n int) []llm.Part {
	const chunk = 64
	if len(r.slab) < n {
		r.slab = make([]llm.Part, max(n, chunk))
	}
	list := r.slab[:0:n]
	r.slab = r.slab[n:]
	return list
}

// System returns a list with the system prompt as its only message; nil for an empty prompt.
func System(prompt string) []llm.Message {
	if prompt == "" {
		return nil
	}
	return []llm.Message{{Role: llm.RoleSystem, Parts: []llm.Part{llm.Text{Text: prompt}}}}
}

// List reads an array of messages, up to the first invalid one.
func (r *Reader) List(d *jsonio.Dec) (messages []llm.Message) {
	for range d.Elements() {
		messages = r.Add(messages, d)
	}
	messages, err := r.Flush(messages)
	if err != nil {
		d.Fail(err.Error())
	}
	return messages
}

// fields holds the members of a message until all are read.
type fields struct {
	kind                                   string // the type
	role, name, callID, reasoning, refusal string
	hasName, hasContent                    bool
	content                                []llm.Part
	calls                                  []llm.Part // ToolCall each; valid until the next message
	function                               *llm.ToolCall
	audio                                  string // the JSON of a spoken response
	failure                                string // the JSON of a tool's error
	uiParts, invocations                   string // the JSON of the AI SDK's lists
	isContent                              bool   // it is a Content of Gemini
	rest                                   tree.Object
}

// Add reads a message and appends it. A message may become several: a UIMessage with several
// steps, and results of tools that are content of the user. Items of Responses are appended by
// the next message or by Flush. After an error Add appends nothing, and
// the same message may be added again when more of it is there.
func (r *Reader) Add(messages []llm.Message, d *jsonio.Dec) []llm.Message {
	start := d.Offset()
	r.form, r.named = openAI, false
	f := r.fields(d)
	if d.Err() != nil {
		return messages
	}
	r.added++
	for i, p := range f.calls {
		switch call, ok := p.(llm.ToolCall); {
		case !ok:
		case call.IDGenerated:
			r.GenerateID(&call)
			f.calls[i] = call
		case r.named:
			r.addOpen(call)
		}
	}
	whole := d.Since(start)
	raw := json.RawMessage(jsonio.Bytes(whole)) // the messages share its memory, as the strings of d do
	if IsItem(f.kind) || r.form == itemParts || f.kind == "message" && len(r.items) > 0 {
		if err := CheckItem(raw); err != nil {
			d.Fail(strings.TrimSuffix(err.Msg+" at "+strings.TrimPrefix(err.Path, "."), " at "))
			return messages
		}
		r.items, r.Protocol = append(r.items, whole), "openai-responses"
		return messages
	}
	messages, err := r.Flush(messages)
	if err != nil {
		d.Fail(err.Error())
		return messages
	}
	if f.role == "" && f.kind != "" && f.kind != "message" {
		d.Fail("the message has no role, and its type " + strconv.Quote(f.kind) + " is not an item of Responses that looptape reads")
		return messages
	}
	if f.role == "" && (!f.isContent || tree.Without(raw, "role", "parts") != nil) { // which a Content may omit
		d.Fail("the message has no role")
		return messages
	}
	if r.form == blocks {
		if name, found := WithoutInput(raw); found {
			what := fmt.Sprintf(NotObject, name)
			if r.Report == nil {
				d.Fail(what)
				return messages
			}
			r.Report(r.added-1, what)
		}
	}
	read, invalid := r.other(raw, f.isContent, len(f.calls) > 0)
	if invalid != nil {
		d.Fail(strings.TrimSuffix(invalid.Msg+" at "+strings.TrimPrefix(invalid.Path, "."), " at "))
		return messages
	}
	if read != nil {
		return append(messages, read...)
	}
	if f.role == "tool" || f.role == "function" {
		r.chat = true
		if !f.isOfAssistant() {
			return append(messages, r.result(f))
		}
		for name, value := range tree.Members(raw) { // which a result does not have
			if slices.Contains(assistantMembers, name) && (!IsEmpty(value) || name == "audio" && !tree.IsNull(value)) && tree.Member(f.rest.JSON(), name) == nil {
				f.rest.Add(name, value)
			}
		}
		return append(messages, r.result(f))
	}
	if f.hasName {
		f.rest.Text("name", f.name)
	}
	if f.callID != "" {
		f.rest.Text("tool_call_id", f.callID)
	}
	role := llm.Role(f.role)
	if f.role == "developer" {
		role = llm.RoleSystem
		f.rest.Text("role", f.role)
	}
	if f.uiParts != "" || f.invocations != "" {
		return r.addUI(messages, role, f)
	}
	return append(messages, llm.Message{Role: role, Parts: r.parts(f), Opaque: f.rest.JSON()})
}

func (r *Reader) fields(d *jsonio.Dec) (f fields) {
	inspect := r.Part != nil
	seen := 0 // the members of onceMembers, as bits
	for key := range d.Members() {
		if d.Null() { // equal to absent, for every member
			continue
		}
		if i := slices.Index(onceMembers, key); i >= 0 {
			if seen&(1<<i) != 0 {
				d.Fail("the message has two members " + strconv.Quote(key))
				return f
			}
			seen |= 1 << i
		}
		switch {
		case key == "role":
			f.role = d.String()
			if i := slices.Index(knownRoles, f.role); i >= 0 {
				f.role = knownRoles[i]
			}
		case key == "type" && d.Peek() == '"':
			f.kind = d.String()
			f.rest.Text(key, f.kind)
		case key == "content":
			f.content, f.hasContent = r.content(d), true
		case key == "name" || key == "tool_name": // the latter of Ollama
			f.name, f.hasName = d.String(), true
		case key == "tool_call_id":
			f.callID = d.String()
		case key == "tool_call_ids": // SWE-agent
			f.callID = singleID(d, &f.rest)
		case slices.Contains(ReasoningNames, key) && f.reasoning == "" && d.Peek() == '"':
			f.reasoning = d.String()
		case key == "refusal":
			f.refusal = d.String()
		case key == "audio":
			f.audio = d.Raw()
		case key == "tool_calls":
			r.calls = r.calls[:0]
			for range d.Elements() {
				r.calls = append(r.calls, r.toolCall(d))
			}
			f.calls = r.calls
		case key == "parts" && isUI(d):
			f.uiParts = d.Raw()
		case key == "parts" && d.Peek() == '[':
			f.isContent = true
			f.rest.Raw(key, d.Raw())
		case key == "toolInvocations" && d.Peek() == '[':
			f.invocations = d.Raw()
		case inspect && key == "function" && d.Peek() == '"': // of a result
			f.name, f.hasName = d.String(), true
		case inspect && (key == "error" || key == "tool_error"): // the latter is a string
			f.failure = d.Raw()
			f.rest.Raw(key, f.failure)
		case key == "function_call":
			var call llm.ToolCall
			rest, _ := function(d, &call)
			call.Opaque = rest.JSON()
			f.function = &call
		default:
			f.rest.Raw(key, d.Raw())
		}
	}
	return f
}

// onceMembers are members that a message cannot have twice: readers of JSON take the first, the last or both.
var onceMembers = []string{"role", "content", "tool_calls", "tool_call_id", "parts", "function_call"}

// ReasoningNames are the members with the reasoning: of OpenRouter and others, of Ollama, and of Cohere.
var ReasoningNames = []string{"reasoning_content", "reasoning", "thinking", "tool_plan"}

// assistantMembers are the members with content of messages of the assistant.
var assistantMembers = slices.Concat([]string{"tool_calls", "function_call", "refusal", "audio", "parts", "toolInvocations"}, ReasoningNames)

// isOfAssistant reports whether a message has one of assistantMembers that is not in rest.
func (f *fields) isOfAssistant() bool {
	return len(f.calls) > 0 || f.function != nil || f.reasoning+f.refusal+f.audio+f.uiParts+f.invocations != ""
}

// singleID returns the first id of a list. It keeps a list of several or of other values in rest.
func singleID(d *jsonio.Dec, rest *tree.Object) string {
	raw := d.Raw()
	first := tree.Element(json.RawMessage(raw), "0")
	id := tree.Scalar(first)
	if first != nil && id == "" || tree.Element(json.RawMessage(raw), "1") != nil {
		rest.Raw("tool_call_ids", raw)
	}
	return id
}

// knownRoles are constants, so that usual roles do not keep the buffer of the file in memory.
var knownRoles = []string{"system", "user", "assistant", "tool", "function", "developer"}

// parts returns the parts of a message in order. An empty text stays only if it is alone.
func (r *Reader) parts(f fields) []llm.Part {
	if f.reasoning == "" && f.refusal == "" && f.function == nil && f.audio == "" && len(f.calls) == 0 {
		return f.content
	}
	parts := r.alloc(len(f.content) + len(f.calls))
	if f.reasoning != "" {
		parts = append(parts, llm.Reasoning{Text: f.reasoning})
	}
	if !isEmpty(f.content) {
		parts = append(parts, f.content...)
	}
	if f.refusal != "" {
		parts = append(parts, llm.Text{Text: f.refusal, Refusal: true})
	}
	if f.audio != "" {
		parts = append(parts, Unknown("openai.message.audio", f.audio))
	}
	if f.function != nil {
		r.GenerateID(f.function)
		parts = append(parts, *f.function)
	}
	return append(parts, f.calls...)
}

func isEmpty(content []llm.Part) bool {
	if len(content) != 1 {
		return len(content) == 0
	}
	t, ok := content[0].(llm.Text)
	return ok && t.Text == "" && t.Opaque == nil
}

// GenerateID gives an id to a call that has none.
func (r *Reader) GenerateID(call *llm.ToolCall) {
	r.generated++
	call.ID, call.IDGenerated = "function_call_"+strconv.Itoa(r.generated), true
	r.addOpen(*call)
}

// addOpen notes that a call has no result yet, which may name its function only.
func (r *Reader) addOpen(call llm.ToolCall) {
	if r.open == nil {
		r.open = map[string][]openCall{}
	}
	r.opened++
	r.open[call.Name] = append(r.open[call.Name], openCall{call.ID, r.opened, r.added})
}

// close notes that the call with the id of a result has it.
func (r *Reader) close(result llm.ToolResult) {
	name, at := "", -1
	for function, calls := range r.open {
		i := slices.IndexFunc(calls, func(c openCall) bool { return c.id == result.ID })
		if i >= 0 && (function == result.Name || result.Name == "" && (at < 0 || calls[i].number < r.open[name][at].number)) {
			name, at = function, i
		}
	}
	if at >= 0 {
		r.deleteOpen(name, at)
	}
}

// deleteOpen deletes the call with an index of a function.
func (r *Reader) deleteOpen(name string, i int) {
	if r.open[name] = slices.Delete(r.open[name], i, i+1); len(r.open[name]) == 0 {
		delete(r.open, name)
	}
}

// OpenCall returns the id of the call that a result of a function is for: the first one
// without a result in the last message that has any; otherwise if there is none. A result without
// a name is for a call of any function.
func (r *Reader) OpenCall(name, otherwise string) string {
	if name == "" {
		name = r.openFunction()
	}
	calls := r.open[name]
	if len(calls) == 0 {
		return otherwise
	}
	i := firstOfLast(calls)
	id := calls[i].id
	r.deleteOpen(name, i)
	return id
}

// openFunction returns the function of the first call without a result in the last message that
// has any.
func (r *Reader) openFunction() (name string) {
	var found openCall
	for function, calls := range r.open {
		c := calls[firstOfLast(calls)]
		if name == "" || c.message > found.message || c.message == found.message && c.number < found.number {
			name, found = function, c
		}
	}
	return name
}

// firstOfLast returns the index of the first of the calls in the message of the last one.
func firstOfLast(calls []openCall) int {
	last := calls[len(calls)-1].message
	return slices.IndexFunc(calls, func(c openCall) bool { return c.message == last })
}

// result returns a message of role tool or function. The latter belongs to the first open
// function_call of its name.
func (r *Reader) result(f fields) llm.Message {
	if isResults(f.content) || f.callID == "" && !f.hasName && areUnknown(f.content) {
		return llm.Message{Role: llm.RoleTool, Parts: f.content, Opaque: f.rest.JSON()}
	}
	res := llm.ToolResult{ID: f.callID, Name: f.name, Content: f.content, IsError: f.failure != ""}
	failure := json.RawMessage(f.failure) // a string, or an object
	text, _ := tree.Text(failure)
	text = cmp.Or(text, tree.Scalar(failure, "message"))
	if text != "" && isEmpty(f.content) {
		res.Content = []llm.Part{llm.Text{Text: text}}
	}
	if f.role == "function" {
		f.rest.Text("role", f.role)
	}
	if r.Report != nil && !f.hasContent && res.Content == nil { // which OpenAI rejects; "" and [] it accepts
		f.rest.Raw("content", "null")
	}
	if f.role == "function" || res.ID == "" {
		res.ID = r.OpenCall(f.name, res.ID)
	} else {
		r.close(res)
	}
	return llm.Message{Role: llm.RoleTool, Parts: append(r.alloc(1), res), Opaque: f.rest.JSON()}
}

// isResults reports whether all parts are results or approvals of calls, as the AI SDK writes them
// (packages/provider-utils/src/types/content-part.ts).
func isResults(parts []llm.Part) bool {
	return len(parts) > 0 && !slices.ContainsFunc(parts, func(p llm.Part) bool {
		_, isResult := p.(llm.ToolResult)
		u, _ := p.(llm.Unknown)
		return !isResult && u.Kind != "openai.tool-approval-response"
	})
}

// areUnknown reports whether all parts are of a kind that llm does not have: they may be the results.
func areUnknown(parts []llm.Part) bool {
	return len(parts) > 0 && !slices.ContainsFunc(parts, func(p llm.Part) bool {
		_, ok := p.(llm.Unknown)
		return !ok
	})
}

// toolCall reads a call. One of Ollama has no type, and its arguments are an object. It may have no id, and
// then needs a generated one (https://github.com/ollama/ollama/blob/main/docs/api.md).
func (r *Reader) toolCall(d *jsonio.Dec) llm.ToolCall {
	var c llm.ToolCall
	var rest tree.Object
	var isObject, hasID, hasType, hasArguments bool // the last of any type
	nameOnly := false
	for key := range d.Members() {
		switch {
		case key == "id":
			c.ID, hasID = stringOrNull(d), true
		case key == "function" && d.Peek() == '"': // Inspect; the arguments are a member of the call
			c.Name, nameOnly = d.String(), true
		case key == "arguments":
			if hasArguments = true; isArguments(d) {
				c.Arguments = arguments(d)
				continue
			}
			rest.Raw(key, d.Raw())
		case key == "function", key == "custom":
			var others tree.Object
			others, isObject = function(d, &c)
			rest.Add(key, others.JSON())
		case key == "type":
			hasType = true
			if kind := d.Raw(); kind != `"function"` {
				rest.Raw(key, kind)
			}
		default:
			rest.Raw(key, d.Raw())
		}
	}
	c.Opaque = rest.JSON()
	if c.Name == "" {
		c = nameCall(c)
	}
	if nameOnly && !hasArguments {
		d.Fail("the function of a call is a string, and the call has no arguments")
	}
	c.IDGenerated = !hasID && !hasType && strings.HasPrefix(c.Arguments, "{")
	r.named = r.named || hasID && !hasType && isObject
	return c
}

// function reads the name and the arguments of a call, or the input of a custom tool. It
// returns the other members, and whether the arguments are an object.
func function(d *jsonio.Dec, c *llm.ToolCall) (rest tree.Object, isObject bool) {
	for key := range d.Members() {
		switch {
		case key == "name":
			c.Name = stringOrNull(d)
		case key != "arguments" && key != "input" || !isArguments(d):
			rest.Raw(key, d.Raw())
		default:
			isObject = d.Peek() == '{'
			c.Arguments = arguments(d)
		}
	}
	return rest, isObject
}

// isArguments reports whether the next value is a string, an object or null. Another one stays in the opaque data
// of the call, as what is not read.
func isArguments(d *jsonio.Dec) bool { return AreArguments(d.Peek()) }

// AreArguments reports whether a value that begins with this byte is one that arguments may be.
func AreArguments(first byte) bool { return first == '"' || first == '{' || first == 'n' }

// arguments returns a string as it is, any other value as its JSON, byte for byte, and null
// as the empty string.
func arguments(d *jsonio.Dec) string {
	if d.Peek() == '"' || d.Peek() == 'n' {
		return stringOrNull(d)
	}
	return d.Raw()
}

func stringOrNull(d *jsonio.Dec) string {
	if d.Null() {
		return ""
	}
	return d.String()
}
