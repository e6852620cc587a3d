package spans

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/importer/internal/message"
	"github.com/looptape/looptape/trace/importer/internal/modelcall"
	"github.com/looptape/looptape/trace/importer/internal/shape"
	"github.com/looptape/looptape/trace/importer/internal/tree"
)

// The attributes with messages: those of
// https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-spans/ and those of ADK.
const (
	inputMessages      = "gen_ai.input.messages"
	outputMessages     = "gen_ai.output.messages"
	systemInstructions = "gen_ai.system_instructions"
	vertexRequest      = "gcp.vertex.agent.llm_request"
	vertexResponse     = "gcp.vertex.agent.llm_response"
)

// spanReader reads the messages of a span from its attributes or its events.
type spanReader struct {
	reader     message.Reader
	attributes map[string]json.RawMessage
	events     []spanEvent
	invalid    bool // an attribute has no name of its own
	isPart     bool // of a span, such as attributes alone, which may begin with a later message
	// embedded has the attributes that were read as JSON, by name; see value.
	embedded map[string]json.RawMessage
	unknown  []string // attributes of messages that are not known, quoted
	missing  []string // attributes of messages, by their indices
	// wrongUsage is the error for a count that is none; nil if there is none.
	wrongUsage error
}

// value returns an attribute that may be written as a string with JSON in it; nil if it is not JSON.
func (s *spanReader) value(name string) json.RawMessage {
	value, ok := s.embedded[name]
	if raw := s.attributes[name]; raw != nil && !ok {
		value = tree.Embedded(raw)
		if s.embedded == nil {
			s.embedded = map[string]json.RawMessage{}
		}
		s.embedded[name] = value
	}
	return value
}

// convention is a form of messages in spans.
type convention struct {
	read func(*spanReader) modelcall.Call
	// isMessages reports whether an attribute or an event with this name has nothing but messages.
	isMessages func(name string) bool
}

// conventions are the known conventions, the best one first.
var conventions = []convention{
	{(*spanReader).standard, isOneOf(inputMessages, outputMessages, systemInstructions)},
	{(*spanReader).byEvents, func(name string) bool { return messageEvents[name] != "" && name != choiceEvent }},
	{(*spanReader).openInference, isOpenInference},
	{(*spanReader).indexed, func(name string) bool {
		return (strings.HasPrefix(name, "gen_ai.prompt.") || strings.HasPrefix(name, "gen_ai.completion.")) && !strings.HasSuffix(name, ".finish_reason")
	}},
	{(*spanReader).vertex, isOneOf()},
}

func isOneOf(names ...string) func(string) bool {
	return func(name string) bool { return slices.Contains(names, name) }
}

// standard reads the current conventions of OpenTelemetry: attributes of the span, or of an
// event with the details of the call.
func (s *spanReader) standard() (call modelcall.Call) {
	all := []map[string]json.RawMessage{s.attributes}
	for _, e := range s.events {
		all = append(all, e.attributes)
	}
	for n, a := range all {
		list := func(name, member string) json.RawMessage {
			value := s.value(name)
			if n > 0 { // of an event
				value = tree.Embedded(a[name])
			}
			if !tree.IsNull(a[name]) && !isListOf(value, member) {
				call.Errs = append(call.Errs, modelcall.Error{Member: name, Err: errors.New("the value is not a list of messages")})
			}
			return value
		}
		if system := message.TelemetryParts(list(systemInstructions, "type")); system != nil {
			call.Input = append(call.Input, llm.Message{Role: llm.RoleSystem, Parts: system})
		}
		call.Input = append(call.Input, s.reader.Telemetry(list(inputMessages, "role"))...)
		output := list(outputMessages, "role")
		if n := choices(output); n > 1 && !agentOperations[tree.Scalar(s.attributes["gen_ai.operation.name"])] {
			call.Errs = append(call.Errs, modelcall.Alternatives(outputMessages, n))
			output = slices.Concat([]byte("["), tree.Element(output, "0"), []byte("]"))
		}
		call.Output = append(call.Output, s.reader.Telemetry(output)...)
	}
	return call
}

// choices returns the number of alternative responses in a list of output messages: by the conventions
// each of them is one, with a finish reason of its own. It returns 0 if they have other roles or no finish
// reasons: then they follow one another.
func choices(list json.RawMessage) (n int) {
	for _, m := range tree.Elements(list) {
		if tree.Scalar(m, "role") != "assistant" || tree.Scalar(m, "finish_reason") == "" {
			return 0
		}
		n++
	}
	return n
}

// isListOf reports whether a value is a list of objects with a member that is a string, and with
// parts that are objects.
func isListOf(list json.RawMessage, member string) bool {
	for _, element := range tree.Elements(list) {
		var x tree.Index
		x.Read(element)
		if parts := x.Member("parts"); !tree.IsText(x.Member(member)) || parts != nil && !isListOf(parts, "type") {
			return false
		}
	}
	return len(list) > 0 && list[0] == '['
}

// choiceEvent is the event with one of the alternative responses of a call.
const choiceEvent = "gen_ai.choice"

// messageEvents are the events with a message, and the role of each.
var messageEvents = map[string]string{
	"gen_ai.system.message": "system", "gen_ai.user.message": "user", "gen_ai.tool.message": "tool",
	"gen_ai.assistant.message": "assistant", choiceEvent: "assistant",
}

// byEvents reads the conventions before version 1.37: an event for each message.
func (s *spanReader) byEvents() (call modelcall.Call) {
	alternatives := 0
	for _, e := range s.events {
		role := messageEvents[e.name]
		if role == "" {
			continue
		}
		if index, _ := strconv.Atoi(tree.Scalar(e.attributes["index"])); e.name == choiceEvent && index > 0 {
			alternatives = max(alternatives, index+1)
			continue
		}
		messages, err := s.eventMessages(e, role)
		switch {
		case errors.Is(err, errSilent):
			return modelcall.Call{}
		case err != nil:
			call.Errs = append(call.Errs, modelcall.Error{Member: e.name, Err: err})
		case e.name == choiceEvent:
			call.Output = append(call.Output, messages...)
		default:
			call.Input = append(call.Input, messages...)
		}
	}
	if alternatives > 0 {
		call.Errs = append(call.Errs, modelcall.Alternatives(choiceEvent, alternatives))
	}
	return call
}

// eventMessages reads the message of an event. Its content is a text, or in the form of the provider, also
// as a string with JSON. It returns errSilent if the recorder did not capture the content.
func (s *spanReader) eventMessages(e spanEvent, role string) ([]llm.Message, error) {
	a := e.attributes
	content := a["content"]
	if m := tree.Embedded(a["message"]); len(m) > 0 && m[0] == '{' {
		a = maps.Collect(tree.Members(m))
		content = a["content"]
	} else if content == nil && e.name == choiceEvent {
		content = a["message"]
	}
	for _, name := range slices.Sorted(maps.Keys(a)) {
		if name != "tool_calls" && message.IsToolMember(name, a[name]) {
			return nil, fmt.Errorf("the message has the unknown member %q", name)
		}
	}
	if list := tree.Embedded(content); tree.First(tree.Element(list, "0"), "type", "text", "toolUse", "toolResult") != nil {
		content = list
	}
	var id json.RawMessage
	switch {
	case tree.IsNull(content) && (role == "user" || role == "system"):
		return nil, errSilent
	case tree.Field(content, "parts") != nil: // of Gemini
		messages := s.reader.Contents(content)
		for i := range messages {
			if role == "assistant" && messages[i].Role == llm.RoleUser {
				messages[i].Role = llm.RoleAssistant // without a role
			}
		}
		return messages, nil
	case role == "tool" && tree.Member(tree.Element(content, "0"), "toolResult") != nil:
		role = "user"
	case role == "tool":
		if id = a["id"]; !tree.IsNull(content) {
			content = message.ResultContent(content)
		}
	}
	calls := tree.Embedded(a["tool_calls"])
	if tree.IsNull(content) || content[0] != '[' {
		return s.openAI(role, content, id, calls)
	}
	messages, err := s.openAI(role, content, id, nil)
	if err != nil || tree.IsNull(calls) || slices.ContainsFunc(messages, func(m llm.Message) bool { return len(m.Calls()) > 0 }) {
		return messages, err
	}
	with, err := s.openAI(role, nil, nil, calls)
	if err != nil || len(messages) == 0 || len(with) == 0 {
		return with, err
	}
	last := &messages[len(messages)-1]
	last.Parts = slices.Concat(last.Parts, with[0].Parts)
	return messages, nil
}

// openAI reads a message with these members.
func (s *spanReader) openAI(role string, content, callID, calls json.RawMessage) ([]llm.Message, error) {
	d := jsonio.NewDec(jsonio.View(message.OpenAI(role, content, callID, calls)))
	messages := s.reader.Add(nil, &d)
	if invalid, ok := errors.AsType[*jsonio.SyntaxError](d.Err()); ok {
		return nil, fmt.Errorf("%s: %s", invalid.Path, invalid.Msg)
	}
	return messages, d.Err()
}

// indexedMembers are the attributes of messages of OpenLLMetry, without the indices of their calls.
var (
	indexedMembers = []string{
		"role", "content", "name", "tool_call_id", "finish_reason", "reasoning", "reasoning_content", "thinking", "refusal", "content_filter_results",
		"tool_calls.id", "tool_calls.name", "tool_calls.type", "tool_calls.arguments", "tool_calls.function",
	}
	callIndex = regexp.MustCompile(`^tool_calls\.\d+\.`)
)

// indexed reads the attributes of OpenLLMetry (github.com/traceloop/openllmetry). Each has a
// part of a message, with the index of the message in its name.
func (s *spanReader) indexed() (call modelcall.Call) {
	read := func(prefix string, most int) (messages []llm.Message) {
		s.unknown, s.missing = nil, nil
		list := s.indexedAttributes(s.attributes, prefix)
		if n := len(list); n > most {
			call.Errs = append(call.Errs, modelcall.Alternatives(prefix, n))
			list = list[:most]
		}
		for _, m := range list {
			for name := range m {
				if !slices.Contains(indexedMembers, callIndex.ReplaceAllString(name, "tool_calls.")) {
					s.unknown = append(s.unknown, strconv.Quote(name))
				}
			}
			d := jsonio.NewDec(jsonio.View(s.indexedMessage(m)))
			messages = s.reader.Add(messages, &d)
			if d.Err() != nil {
				call.Errs = append(call.Errs, modelcall.Error{Member: prefix, Err: d.Err()})
			}
		}
		s.reportUnknown(&call, prefix)
		return messages
	}
	call.Input = read("gen_ai.prompt", math.MaxInt)
	most := 1
	if s.isAnthropic() {
		most = math.MaxInt
	}
	call.Output = read("gen_ai.completion", most)
	return call
}

// isAnthropic reports whether the provider is Anthropic, which has no alternatives: the completions of a
// streaming response are its blocks (opentelemetry-instrumentation-anthropic/.../streaming.py).
func (s *spanReader) isAnthropic() bool {
	provider := tree.Scalar(s.attributes["gen_ai.provider.name"]) + tree.Scalar(s.attributes["gen_ai.system"])
	return strings.Contains(strings.ToLower(provider), "anthropic")
}

// indexedMessage returns the attributes of a message in OpenAI's form.
func (s *spanReader) indexedMessage(m map[string]json.RawMessage) json.RawMessage {
	var o tree.Object
	var calls tree.List
	for _, attributes := range s.indexedAttributes(m, "tool_calls") {
		if name := attributes["name"]; name != nil {
			attributes["function"] = name
			delete(attributes, "name")
			if attributes["arguments"] == nil {
				attributes["arguments"] = json.RawMessage(`""`)
			}
		}
		calls.Add(objectOf(attributes))
	}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if name != "finish_reason" && !strings.HasPrefix(name, "tool_calls.") {
			o.Add(name, m[name])
		}
	}
	if calls != nil {
		o.Add("tool_calls", calls.JSON())
	}
	return o.JSON()
}

// vertex reads the attributes of ADK: a request and a response of the Gemini API.
func (s *spanReader) vertex() (call modelcall.Call) {
	request, response := s.value(vertexRequest), s.value(vertexResponse)
	system := tree.Field(request, "config", "system_instruction")
	text, _ := tree.Text(system)
	call.Input = message.System(text)
	for _, content := range tree.Elements(tree.Field(request, "contents")) {
		call.Input = append(call.Input, s.reader.Contents(content)...)
	}
	call.Output = s.reader.Contents(tree.Field(response, "content"))
	return call
}

// resources returns the usage and the cost that the attributes of a span have, under the names of the conventions, of
// OpenLLMetry, OpenLIT, Logfire and OpenInference, or the usage in the response of ADK.
func (s *spanReader) resources() resources {
	response := tree.Field(s.value(vertexResponse), "usage_metadata")
	s.addWrong("usage_metadata", response, shape.Usage)
	count := func(member string, names ...string) (n int64) {
		n = tree.Count(tree.Field(response, member))
		for _, name := range names {
			s.addWrong(name, s.attributes[name], shape.Count)
			n = max(n, tree.Count(s.attributes[name]))
		}
		return n
	}
	thoughts := count("thoughts_token_count") // which the candidates do not include
	cost := func(names ...string) (sum float64) {
		for _, name := range names {
			amount, ok := tree.Amount(s.attributes[name])
			if sum += amount; !ok {
				s.wrongUsage = cmp.Or(s.wrongUsage, fmt.Errorf("%s: expected a number", name))
			}
		}
		return sum
	}
	total := max(cost("llm.cost.total"), cost("llm.cost.prompt", "llm.cost.completion"), cost("gen_ai.usage.cost"), cost("operation.cost"))
	return resources{cost: total, usage: llm.Usage{
		InputTokens:              count("prompt_token_count", "gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt"),
		OutputTokens:             thoughts + count("candidates_token_count", "gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "llm.token_count.completion"),
		CacheReadInputTokens:     count("cached_content_token_count", "gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_read_input_tokens", "llm.token_count.prompt_details.cache_read"),
		CacheCreationInputTokens: count("", "gen_ai.usage.cache_creation.input_tokens", "gen_ai.usage.cache_creation_input_tokens", "llm.token_count.prompt_details.cache_write"),
		ReasoningOutputTokens:    count("thoughts_token_count", "gen_ai.usage.reasoning.output_tokens", "llm.token_count.completion_details.reasoning"),
	}}
}

// addWrong keeps the first value in the usage of a span that is no count.
func (s *spanReader) addWrong(name string, value json.RawMessage, find func(place string, value json.RawMessage, add func(format string, args ...any))) {
	find(name, value, func(format string, args ...any) {
		if s.wrongUsage == nil {
			s.wrongUsage = fmt.Errorf(format, args...)
		}
	})
}

// unread returns the reason why the span of a model call has no messages if no convention reads any,
// and an error for a span of an unknown kind or with messages that are not JSON.
func (s *spanReader) unread() (silent, err error) {
	operation, model := tree.Scalar(s.attributes["gen_ai.operation.name"]), s.attributes["gen_ai.request.model"]
	kind := tree.Scalar(s.attributes[spanKind])
	for _, name := range []string{inputMessages, outputMessages} {
		if raw := s.attributes[name]; !tree.IsNull(raw) && s.value(name) == nil {
			return nil, fmt.Errorf("the attribute %s is not JSON", name)
		}
	}
	if kind != "" && !openInferenceKinds[kind] {
		return nil, fmt.Errorf("unknown %s %q", spanKind, kind)
	}
	for _, name := range slices.Sorted(maps.Keys(otherMessages)) {
		if value := tree.Scalar(s.attributes[name]); value != "" && (otherMessages[name] == "" || otherMessages[name] == strings.Trim(value, `"`)) {
			return fmt.Errorf("the messages of the model call are in a convention that looptape does not read, with the attribute %q", name), nil
		}
	}
	byEvents := slices.ContainsFunc(s.events, func(e spanEvent) bool { return messageEvents[e.name] != "" })
	if modelOperations[operation] || operation == "" && (model != nil || byEvents) || kind == "LLM" {
		silent = errSilent
	}
	return silent, nil
}

// otherMessages are attributes of model calls in conventions that are not read, such as those of the AI SDK, pydantic-ai
// and MLflow, with the value that shows the call; empty for any.
var otherMessages = map[string]string{
	"ai.prompt.messages": "", "all_messages_events": "", "pydantic_ai.all_messages": "", "gen_ai.prompt": "", "gen_ai.completion": "",
	"langfuse.observation.type": "generation", "langsmith.span.kind": "llm", "mlflow.spanType": "CHAT_MODEL",
}

// modelOperations are the operations that send messages to a model:
// https://opentelemetry.io/docs/specs/semconv/registry/attributes/gen-ai/
var modelOperations = map[string]bool{"chat": true, "generate_content": true, "text_completion": true}
