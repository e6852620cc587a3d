package message

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/importer/internal/tree"
)

// clientItems are the items of Responses with calls that the program runs, other than functions
// (https://platform.openai.com/docs/api-reference/responses), and the members with their arguments.
var clientItems = map[string][]string{
	"shell_call": {"action"}, "local_shell_call": {"action"}, "apply_patch_call": {"operation"}, "computer_call": {"action", "actions"},
	toolSearch + "_call": {"arguments"},
}

// toolSearch is the search for tools, by the provider or by the client, whose output is a tool_search_output.
const toolSearch = "tool_search"

// providerOutput is the kind of the output of a call that the provider runs.
const providerOutput = "server_tool_call_response"

// ClientCalls makes calls and results of the shells, of apply_patch, of the computer and of searches for
// tools by the client, which the codec of Responses keeps as unknown items, tool calls and results. It
// changes the parts of the messages. A call that the provider runs in a container has an environment or
// its output with it. A call of an unknown kind gets a name; see [UnknownKind].
func ClientCalls(messages []llm.Message) []llm.Message {
	ofProvider := map[string]bool{}
	for _, m := range messages {
		for i, p := range m.Parts {
			if call, ok := p.(llm.ToolCall); ok && call.Name == "" {
				m.Parts[i] = nameCall(call)
			}
			u, ok := p.(llm.Unknown)
			if !ok {
				continue
			}
			names := clientItems[u.Kind]
			kind := strings.TrimSuffix(u.Kind, "_output")
			id := callIDOf(u)
			isSearch := strings.HasPrefix(kind, toolSearch)
			if kind == toolSearch {
				kind += "_call"
			}
			switch {
			case isSearch && tree.Scalar(u.Raw, "execution") != "client":
			case id == "" || names == nil && clientItems[kind] == nil:
			case names != nil:
				call := clientCall(u, id, names)
				call.ProviderExecuted = strings.HasPrefix(tree.Scalar(u.Raw, "environment", "type"), "container") || hasOutput(m.Parts, id)
				ofProvider[id] = call.ProviderExecuted
				m.Parts[i] = call
			case ofProvider[id]:
				m.Parts[i] = Unknown(providerOutput, string(u.Raw))
			default:
				m.Parts[i] = clientResult(u, id)
			}
		}
	}
	return joinOutputs(messages)
}

// nameCall gives a call without a name the kind of the call as its name, if that is an unknown one.
func nameCall(call llm.ToolCall) llm.ToolCall {
	call.Name = TypeOf(call)
	for name, value := range tree.Members(call.Opaque) {
		if kind, ok := strings.CutPrefix(name, unknownMember); ok && value[0] == '{' {
			call.Name = strings.Clone(kind)
		}
	}
	return call
}

// unknownMember is the prefix of the members of a call that the codec of Chat Completions does not know.
const unknownMember = "chat:"

// UnknownKind returns the kind of a call in Chat Completions if it is neither a function nor a custom
// tool; otherwise it returns an empty string.
func UnknownKind(call llm.ToolCall) string {
	if call.Name == "" || call.Name != TypeOf(call) && tree.Member(call.Opaque, unknownMember+call.Name) == nil {
		return ""
	}
	return call.Name
}

// TypeOf returns the type of a call, except those that Chat Completions has.
func TypeOf(call llm.ToolCall) string {
	kind := tree.Scalar(call.Opaque, "type")
	if kind == "function" || kind == "custom" {
		return ""
	}
	return kind
}

// joinOutputs moves outputs of the provider's calls, which the codec reads as results, to the message of
// their response.
func joinOutputs(messages []llm.Message) (joined []llm.Message) {
	isOutput := func(p llm.Part) bool {
		u, ok := p.(llm.Unknown)
		return ok && u.Kind == providerOutput
	}
	moved := false
	joined = slices.Grow(joined, len(messages))
	for _, m := range messages {
		last := len(joined) - 1
		isOther := slices.ContainsFunc(m.Parts, func(p llm.Part) bool { return !isOutput(p) })
		switch {
		case last < 0 || joined[last].Role != llm.RoleAssistant, m.Role != llm.RoleAssistant && (isOther || m.Parts == nil || m.Opaque != nil), m.Role == llm.RoleAssistant && !moved:
			joined = append(joined, m)
			moved = false
		default:
			joined[last].Parts = slices.Concat(joined[last].Parts, m.Parts)
			moved = true
		}
	}
	return joined
}

func callIDOf(u llm.Unknown) string {
	id, _ := tree.Text(u.Raw, "call_id")
	if u.Kind == "local_shell_call_output" && id == "" {
		id, _ = tree.Text(u.Raw, "id")
	}
	return id
}

func hasOutput(parts []llm.Part, id string) bool {
	return slices.ContainsFunc(parts, func(p llm.Part) bool {
		u, ok := p.(llm.Unknown)
		return ok && strings.HasSuffix(u.Kind, "_output") && callIDOf(u) == id
	})
}

func clientCall(u llm.Unknown, id string, names []string) llm.ToolCall {
	f := tree.Fields{Object: u.Raw}
	_, _ = f.Text("call_id")
	name := f.Name(names...)
	arguments := f.First(name)
	if len(arguments) > 0 && arguments[0] != '{' {
		var o tree.Object
		o.Add(name, arguments)
		arguments = o.JSON()
	}
	return llm.ToolCall{ID: id, Name: strings.TrimSuffix(u.Kind, "_call"), Arguments: string(arguments), Opaque: f.Rest()}
}

func clientResult(u llm.Unknown, id string) llm.ToolResult {
	f := tree.Fields{Object: u.Raw}
	if _, ok := f.Text("call_id"); !ok {
		_, _ = f.Text("id")
	}
	r := llm.ToolResult{ID: id, Name: strings.TrimSuffix(strings.TrimSuffix(u.Kind, "_output"), "_call"), IsError: tree.Scalar(u.Raw, "status") == "failed"}
	output := f.First(f.Name("output", "tools"))
	if url, ok := tree.Text(output, "image_url"); ok {
		r.Content = []llm.Part{Image(url, tree.Without(output, "image_url"))}
	} else {
		r.Content = TextParts(output)
	}
	r.Opaque = f.Rest()
	return r
}

// MarkRejected notes what the provider rejects in an item of Responses, and what its codec reads as it reads other
// values: an output of a function that is null or missing, and a text of the assistant that is an input_text.
func MarkRejected(item json.RawMessage, messages []llm.Message) {
	id := tree.Scalar(item, "call_id")
	isOutput := tree.Scalar(item, "type") == "function_call_output" && tree.IsNull(tree.Member(item, "output"))
	inputs := map[string]bool{}
	if tree.Scalar(item, "role") == "assistant" {
		for _, part := range tree.Elements(item, "content") {
			if tree.Scalar(part, "type") == "input_text" {
				inputs[tree.Scalar(part, "text")] = true
			}
		}
	}
	if !isOutput && len(inputs) == 0 {
		return
	}
	for _, m := range messages {
		for i, p := range m.Parts {
			switch p := p.(type) {
			case llm.ToolResult:
				if isOutput && p.ID == id && len(p.Content) == 0 {
					p.Opaque = withMember(p.Opaque, "content", json.RawMessage("null"))
					m.Parts[i] = p
				}
			case llm.Text:
				if m.Role == llm.RoleAssistant && inputs[p.Text] {
					p.Opaque = withMember(p.Opaque, "type", json.RawMessage(`"input_text"`))
					m.Parts[i] = p
				}
			case llm.Media, llm.Reasoning, llm.ToolCall, llm.Unknown:
			}
		}
	}
}

// MarkArguments notes the arguments of calls in a request of Chat Completions that are not a string, which OpenAI
// rejects; the calls are in these messages.
func MarkArguments(list json.RawMessage, messages []llm.Message) {
	var ofCalls, ofFunctions []string // see rejectedArguments
	for _, m := range tree.Elements(list) {
		for _, c := range tree.Elements(m, "tool_calls") {
			rejected := ""
			if tree.Scalar(c, "type") == "function" { // a call of Ollama has no type
				rejected = rejectedArguments(tree.Member(c, "function"))
			}
			ofCalls = append(ofCalls, rejected)
		}
		if function := tree.Member(m, "function_call"); !tree.IsNull(function) {
			ofFunctions = append(ofFunctions, rejectedArguments(function))
		}
	}
	for _, m := range messages {
		for i, p := range m.Parts {
			c, ok := p.(llm.ToolCall)
			if !ok {
				continue
			}
			next := &ofCalls
			if c.IDGenerated {
				next = &ofFunctions
			}
			if len(*next) == 0 {
				continue
			}
			if rejected := (*next)[0]; rejected != "" {
				var function tree.Object
				function.Raw("arguments", rejected)
				c.Opaque = withMember(c.Opaque, "function", function.JSON())
				m.Parts[i] = c
			}
			*next = (*next)[1:]
		}
	}
}

// rejectedArguments returns the arguments of a function, as JSON, if they are null, missing or an object; else an empty string.
func rejectedArguments(function json.RawMessage) string {
	switch arguments := tree.Member(function, "arguments"); {
	case function == nil || tree.IsText(arguments):
		return ""
	case tree.IsNull(arguments):
		return "null"
	case arguments[0] == '{':
		return string(arguments)
	}
	return "" // what is not read
}
