package message

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/internal/jsonval"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/importer/internal/tree"
)

// LangChain (libs/core/langchain_core/messages in github.com/langchain-ai/langchain) has three forms
// of a message: as it is dumped, with a type; as a dictionary with a type and data; and serialized,
// with a class and the arguments of its constructor.

// langChainRoles are the roles of LangChain's types and classes of messages.
var langChainRoles = map[string]string{
	"human": "user", "ai": "assistant", "system": "system", "developer": "developer", "tool": "tool", "function": "function", "chat": "",
}

// IsLangChain reports whether a value is a message of LangChain in one of its forms.
func IsLangChain(m json.RawMessage) bool {
	_, kind, hasRole := unwrapLangChain(m)
	_, known := langChainRoles[kind]
	return known && !hasRole || kind == "chat"
}

// IsSerialized reports whether an object is a serialized message of LangChain.
func IsSerialized(m *tree.Index) bool {
	return tree.Scalar(m.Member("lc")) == "1" && m.Member("kwargs") != nil
}

// unwrapLangChain returns the members of a message and its type; an empty type if it is in none of
// the forms. HasRole reports whether it has a role of its own.
func unwrapLangChain(m json.RawMessage) (members json.RawMessage, kind string, hasRole bool) {
	var version, data, kwargs, id, content json.RawMessage
	for key, value := range tree.Members(m) {
		switch key {
		case "lc":
			version = value
		case "id":
			id = value
		case "kwargs":
			kwargs = value
		case "type":
			kind, _ = tree.Text(value)
		case "data":
			data = value
		case "content":
			content = value
		case "role":
			hasRole = true
		}
	}
	if class, ok := tree.Text(lastElement(id)); ok && string(version) == "1" {
		return kwargs, strings.ToLower(strings.TrimSuffix(strings.TrimSuffix(class, "Chunk"), "Message")), hasRole
	}
	kind = strings.ToLower(strings.TrimSuffix(kind, "MessageChunk"))
	if len(data) > 0 && data[0] == '{' && content == nil {
		return data, kind, hasRole
	}
	return m, kind, hasRole
}

func lastElement(list json.RawMessage) (last json.RawMessage) {
	for _, element := range tree.Elements(list) {
		last = element
	}
	return last
}

// AddLangChain reads a message that LangChain has returned and appends it.
func (r *Reader) AddLangChain(messages []llm.Message, plain json.RawMessage) ([]llm.Message, *jsonio.SyntaxError) {
	d := jsonio.NewDec(jsonio.View(plain))
	before := len(messages)
	messages = r.Add(messages, &d)
	if invalid, ok := errors.AsType[*jsonio.SyntaxError](d.Err()); ok {
		return messages[:before], invalid
	}
	for _, added := range messages[before:] {
		for i, p := range added.Parts {
			if result, ok := p.(llm.ToolResult); ok && tree.Scalar(added.Opaque, "status") == "error" {
				result.IsError = true
				added.Parts[i] = result
			}
		}
	}
	return messages, nil
}

// LangChain returns a message of LangChain in OpenAI's form or, if it has blocks of Anthropic, in
// theirs. It returns an error if the message is in an unknown form.
func LangChain(m json.RawMessage) (json.RawMessage, error) {
	members, kind, _ := unwrapLangChain(m)
	role, known := langChainRoles[kind]
	if !known || len(members) == 0 || members[0] != '{' {
		return nil, fmt.Errorf("the message has the unknown type %q", kind)
	}
	var x tree.Index
	x.Read(members)
	if !x.AreStrings("name", "tool_call_id", "role", "type") {
		return nil, errors.New("the name, the role or the tool_call_id of the message is not a string")
	}
	if kind == "chat" {
		role = tree.Scalar(members, "role")
	}
	return plain(&x, members, role, ""), nil
}

// Plain returns a message of a role in OpenAI's form or, if it has blocks of Anthropic, in theirs. The
// id of the call that it answers is a member of the message, unless callID is not empty.
func Plain(m json.RawMessage, role, callID string) json.RawMessage {
	var x tree.Index
	x.Read(m)
	return plain(&x, m, role, callID)
}

// plain is Plain for a message with these members.
func plain(x *tree.Index, m json.RawMessage, role, callID string) json.RawMessage {
	kwargs, content := x.Member("additional_kwargs"), x.Member("content")
	calls, used := langChainCalls(x, kwargs)
	content, calls, standard := standardBlocks(content, calls)
	legacy := tree.Member(kwargs, "function_call") // repeated by calls, if there are any
	if len(calls) > 0 || tree.Member(legacy, "name") == nil || x.Member("function_call") != nil || hasCall(content, legacy) {
		legacy = nil
	}
	blocks := hasBlocks(content, "tool_use", "thinking", "redacted_thinking")
	if callID == "" && used == nil && legacy == nil && !blocks && !standard && isPlain(x, role) {
		return m
	}
	o := make(tree.Object, 0, len(m)+len(role)+len(callID))
	o.Text("role", role)
	if callID != "" {
		o.Text("tool_call_id", callID)
	}
	for key, value := range x.All() {
		switch {
		case key == "role", key == "type", tree.IsNull(value), slices.Contains(used, key):
		case key == "content" && blocks:
			o.Add(key, withCalls(content, calls))
		case key == "content" && standard:
			o.Add(key, content)
		case key == "content" && role == "tool":
			o.Add(key, ResultContent(value))
		case key == "additional_kwargs" && slices.Contains(used, "additional_kwargs.tool_calls"):
			o.Add(key, tree.Without(value, "tool_calls"))
		case key == "additional_kwargs" && legacy != nil:
			o.Add(key, tree.Without(value, "function_call"))
			o.Add("function_call", legacy)
		default:
			o.Add(key, value)
		}
	}
	if len(calls) == 0 || blocks {
		return o.JSON()
	}
	var list tree.List
	for _, c := range calls {
		list.Add(c.openAI())
	}
	o.Add("tool_calls", list.JSON())
	return o.JSON()
}

// standardBlocks returns a content without the content blocks of LangChain 1 that are calls, and all calls:
// those that the message does not have elsewhere too. A block that is not standard becomes the block of the
// provider that it has. Found reports whether there are such blocks.
func standardBlocks(content json.RawMessage, calls []langChainCall) (rest json.RawMessage, all []langChainCall, found bool) {
	var list tree.List
	all = calls
	for _, block := range tree.Elements(content) {
		kind := tree.Scalar(block, "type")
		call, isCall := blockCall(kind, block)
		switch {
		case isCall:
			found = true
			same := func(c langChainCall) bool {
				return tree.String(c.id) == tree.String(call.id) && tree.String(c.name) == tree.String(call.name)
			}
			switch i := slices.IndexFunc(calls, same); {
			case i < 0:
				all = append(all[:len(all):len(all)], call)
			case kind != "custom_tool_call" && !sameArguments(call.args, calls[i].args):
				list.Add(block) // which is reported
			}
		case kind == "non_standard" && tree.Scalar(block, "value", "type") != "":
			found = true
			list.Add(tree.Member(block, "value"))
		default:
			list.Add(block)
		}
	}
	if !found {
		return content, calls, false
	}
	return list.JSON(), all, true
}

// blockCall returns a content block of LangChain 1, or an item of Responses among the content, as a call.
func blockCall(kind string, block json.RawMessage) (call langChainCall, ok bool) {
	id, args := "id", "args"
	switch kind {
	case "tool_call", "invalid_tool_call":
	case "function_call":
		id, args = "call_id", "arguments"
	case "custom_tool_call":
		id, args = "call_id", "input"
	default:
		return call, false
	}
	call = langChainCall{tree.Without(block, id, "name", args), tree.Member(block, id), tree.Member(block, "name"), tree.Member(block, args)}
	return call, AreStrings(block, id, "name") && call.name != nil
}

// sameArguments reports whether two values are the same arguments, possibly as a text. An empty value is that of a
// streaming response whose arguments are elsewhere.
func sameArguments(a, b json.RawMessage) bool {
	return IsEmpty(a) || jsonval.Equal(tree.String(a), tree.String(b)) || jsonval.EqualDecoded(tree.String(a), tree.String(b))
}

// isPlain reports whether the members of a message are those that Plain returns for this role.
func isPlain(m *tree.Index, role string) bool {
	roles := 0
	for key, value := range m.All() {
		switch {
		case key == "role" && tree.IsText(value) && tree.Scalar(value) == role:
			roles++
		case key == "role", key == "type", tree.IsNull(value), key == "content" && role == "tool" && !isResultContent(value):
			return false
		}
	}
	return roles == 1
}

type langChainCall struct{ raw, id, name, args json.RawMessage }

// openAI returns the call with its other members, such as an error. A call without a name of its own
// is in the form of the provider.
func (c *langChainCall) openAI() json.RawMessage {
	if c.name == nil {
		return c.raw
	}
	var o tree.Object
	o.Add("id", c.id)
	o.Add("function", c.name)
	o.Add("arguments", c.args)
	for key, value := range tree.Members(c.raw) {
		if !slices.Contains([]string{"id", "name", "args"}, key) && (key != "type" || !tree.IsText(value)) {
			o.Add(key, value)
		}
	}
	return o.JSON()
}

// langChainCalls returns the calls of a message and the members that have them. Calls with invalid
// arguments are calls too: LangChain sends them back to the model. The raw calls of a provider
// repeat the others.
func langChainCalls(m *tree.Index, kwargs json.RawMessage) (calls []langChainCall, used []string) {
	valid := 0
	for _, name := range []string{"tool_calls", "invalid_tool_calls"} {
		list := m.Member(name)
		for _, c := range tree.Elements(list) {
			var x tree.Index
			if x.Read(c); !x.AreStrings("id", "name", "type") || tree.IsNull(x.Member("name")) {
				return nil, nil // the message keeps them as members, which are reported
			}
			same := func(other langChainCall) bool {
				return string(x.Member("id")) == string(other.id) && string(x.Member("name")) == string(other.name) && string(x.Member("args")) == string(other.args)
			}
			if name == "invalid_tool_calls" && slices.ContainsFunc(calls[:valid], same) {
				continue
			}
			calls = append(calls, langChainCall{c, x.Member("id"), x.Member("name"), x.Member("args")})
		}
		if len(list) > 0 && list[0] == '[' {
			used = append(used, name)
		}
		if name == "tool_calls" {
			valid = len(calls)
		}
	}
	if calls != nil {
		return calls, used
	}
	for _, c := range tree.Elements(kwargs, "tool_calls") {
		call := langChainCall{tree.Without(c, "function"), tree.Member(c, "id"), tree.Member(c, "function", "name"), tree.Member(c, "function", "arguments")}
		if !tree.IsText(call.name) || tree.Without(tree.Member(c, "function"), "name", "arguments") != nil || !AreStrings(c, "id") {
			call = langChainCall{raw: c}
		}
		calls = append(calls, call)
	}
	if calls != nil {
		used = append(used, "additional_kwargs.tool_calls")
	}
	return calls, used
}

// hasBlocks reports whether a content has a block of one of the kinds.
func hasBlocks(content json.RawMessage, kinds ...string) bool {
	for _, block := range tree.Elements(content) {
		if slices.Contains(kinds, tree.Scalar(block, "type")) {
			return true
		}
	}
	return false
}

// hasCall reports whether a content has a block of Anthropic that calls the function.
func hasCall(content, function json.RawMessage) bool {
	for _, block := range tree.Elements(content) {
		if tree.Scalar(block, "type") == "tool_use" && tree.Scalar(block, "name") == tree.Scalar(function, "name") {
			return true
		}
	}
	return false
}

// withCalls returns blocks of Anthropic with all calls. The input of a block of a streaming response
// is incomplete, but that of the call is not.
func withCalls(content json.RawMessage, calls []langChainCall) json.RawMessage {
	var list tree.List
	done := make([]bool, len(calls))
	for _, block := range tree.Elements(content) {
		i := slices.IndexFunc(calls, func(c langChainCall) bool { return c.isBlock(block) })
		if text, ok := tree.Text(block); ok {
			block = json.RawMessage(`{"type":"text","text":` + string(jsonio.AppendString(nil, text)) + `}`)
		} else if i >= 0 && !done[i] {
			done[i] = true
			block = calls[i].block(block)
		}
		list.Add(block)
	}
	for i := range calls {
		if !done[i] {
			list.Add(calls[i].block(nil))
		}
	}
	return list.JSON()
}

// isBlock reports whether a block of Anthropic is the call.
func (c *langChainCall) isBlock(block json.RawMessage) bool {
	same := func(a, b json.RawMessage) bool { return tree.String(a) == tree.String(b) && a != nil }
	return tree.Scalar(block, "type") == "tool_use" && same(c.id, tree.Member(block, "id")) && same(c.name, tree.Member(block, "name"))
}

// block returns the call as a block of Anthropic, with the other members of its block.
func (c *langChainCall) block(other json.RawMessage) json.RawMessage {
	var o tree.Object
	o.Text("type", "tool_use")
	o.Add("id", c.id)
	o.Add("name", c.name)
	args := c.args
	if object := tree.Embedded(args); len(object) > 0 && object[0] == '{' {
		args = object
	}
	o.Add("input", args)
	for _, object := range []json.RawMessage{c.raw, other} {
		for key, value := range tree.Members(object) {
			switch {
			case slices.Contains([]string{"type", "id", "name", "args"}, key):
			case key != "input":
				o.Add(key, value)
			case !sameArguments(value, c.args):
				o.Add("block_input", value)
			}
		}
	}
	return o.JSON()
}

// ResultContent returns the content of a result: a text, parts, or the JSON that the tool returned
// as a text.
func ResultContent(value json.RawMessage) json.RawMessage {
	if isResultContent(value) {
		return value
	}
	return jsonio.AppendString(nil, string(value))
}

func isResultContent(value json.RawMessage) bool {
	return tree.IsText(value) || value[0] == '[' && tree.Scalar(tree.Element(value, "0"), "type") != ""
}

// LangChainUsage returns the usage of a message of LangChain and its place: the standard one, or that of the provider in
// the metadata of the response.
func LangChainUsage(m json.RawMessage) (place string, usage json.RawMessage) {
	members, _, _ := unwrapLangChain(m)
	if usage := tree.Member(members, "usage_metadata"); !tree.IsNull(usage) {
		return "usage_metadata", usage
	}
	f := tree.Fields{Object: tree.Member(members, "response_metadata")}
	name := f.Name("token_usage", "usage", "tokenUsage")
	return "response_metadata." + name, f.First(name)
}

// LangChainCounts returns the counts of a usage of LangChain or LangSmith.
func LangChainCounts(usage json.RawMessage) (u llm.Usage) {
	number := func(raw json.RawMessage, names ...string) (n int64) {
		for _, name := range names {
			n = max(n, tree.Count(raw, name))
		}
		return n
	}
	u.InputTokens = number(usage, "input_tokens", "prompt_tokens", "promptTokens")
	u.OutputTokens = number(usage, "output_tokens", "completion_tokens", "completionTokens")
	u.CacheReadInputTokens = number(tree.Member(usage, "input_token_details"), "cache_read")
	u.CacheCreationInputTokens = number(tree.Member(usage, "input_token_details"), "cache_creation")
	u.ReasoningOutputTokens = number(tree.Member(usage, "output_token_details"), "reasoning")
	return u
}
