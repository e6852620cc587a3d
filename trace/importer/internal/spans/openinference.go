package spans

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/importer/internal/format"
	"github.com/looptape/looptape/trace/importer/internal/message"
	"github.com/looptape/looptape/trace/importer/internal/modelcall"
	"github.com/looptape/looptape/trace/importer/internal/tree"
)

// The attributes of OpenInference (spec/semantic_conventions.md in
// github.com/Arize-ai/openinference).
const (
	spanKind   = "openinference.span.kind"
	inputName  = "input.value"
	outputName = "output.value"
)

// openInferenceKinds are the kinds of spans. Only those of the kind LLM are calls of a model.
var openInferenceKinds = map[string]bool{
	"LLM": true, "CHAIN": true, "RETRIEVER": true, "RERANKER": true, "EMBEDDING": true, "TOOL": true, "AGENT": true,
	"GUARDRAIL": true, "EVALUATOR": true, "PROMPT": true, "UNKNOWN": true,
}

// openInferenceMessages are the prefixes of attributes with messages, and what follows their index.
var openInferenceMessages = map[string]string{
	"llm.input_messages": "message.", "llm.output_messages": "message.", "llm.prompts": "prompt.text", "llm.choices": "completion.text",
}

// isOpenInference reports whether an attribute has a part of a message.
func isOpenInference(name string) bool {
	for prefix, member := range openInferenceMessages {
		if _, rest, ok := cutIndex(name, prefix); ok && strings.HasPrefix(rest, member) {
			return true
		}
	}
	return false
}

// cutIndex returns the index after the prefix of a name, and what follows it; ok is false if the name has
// none.
func cutIndex(name, prefix string) (index int, rest string, ok bool) {
	rest, ok = strings.CutPrefix(name, prefix)
	if !ok || rest == "" || rest[0] != '.' {
		return 0, "", false
	}
	number, rest, _ := strings.Cut(rest[1:], ".")
	index, err := strconv.Atoi(number)
	return index, rest, err == nil
}

// SniffOpenInference recognizes spans that are objects of their own: their attributes alone, or with
// the attributes as a member, as Phoenix exports them.
func SniffOpenInference(h *format.Head) (format.Layout, bool) {
	named := func(prefixes ...string) bool {
		return slices.ContainsFunc(h.Keys, func(key string) bool {
			key = strings.TrimPrefix(key, "attributes.")
			return slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(key, prefix) })
		})
	}
	span := h.Has("attributes") && h.Contains(`"openinference`, `"llm.`, `"gen_ai.`)
	return format.Layout{Elements: true}, !h.CSV && (span || named("openinference.", "llm.", "gen_ai."))
}

// readSingle reads a span that is an object of its own. Its attributes are its members, or the members of
// attributes, which may be nested. A span without a trace is a trace of its own.
func (s *readSpan) readSingle(raw json.RawMessage) {
	r := spanReader{attributes: map[string]json.RawMessage{}}
	var x tree.Index
	x.Read(raw)
	member := func(path ...string) string {
		if text := tree.Scalar(x.Member(path[0]), path[1:]...); text != "" {
			return text
		}
		return tree.Scalar(x.Member(strings.Join(path, ".")))
	}
	flat := x.Member("attributes") == nil
	for name, value := range x.All() {
		switch column, ok := strings.CutPrefix(name, "attributes."); {
		case ok || flat:
			flatten(r.attributes, column, value)
		case name == "attributes":
			flatten(r.attributes, "", value)
		case name == "events":
			r.addEvents(value)
		}
	}
	var wrong error
	switch attributes := x.Member("attributes"); {
	case !isObject(raw):
		wrong = errors.New("the span is not an object")
	case !message.IsEmpty(attributes) && !isObject(attributes):
		wrong = errors.New("the attributes are not an object")
	}
	s.recordedSpan = recordedSpan{raw: raw, id: member("context", "span_id"), parent: member("parent_id")}
	s.trace, r.isPart = member("context", "trace_id"), flat && s.id == ""
	s.readCall(timeOf(member("start_time")), &r, func() json.RawMessage { return r.rest(raw, flat) })
	s.err = cmp.Or(wrong, s.err)
}

// rest returns a span with the attributes that are left.
func (s *spanReader) rest(raw json.RawMessage, flat bool) json.RawMessage {
	var o tree.Object
	for name, value := range tree.Members(raw) {
		if !flat && name != "attributes" && !strings.HasPrefix(name, "attributes.") {
			o.Add(name, value)
		}
	}
	o.Add("attributes", objectOf(s.attributes))
	return o.JSON()
}

// addEvents adds the events of a span whose attributes are an object.
func (s *spanReader) addEvents(list json.RawMessage) {
	for _, e := range tree.Elements(list) {
		s.events = append(s.events, spanEvent{tree.Scalar(e, "name"), maps.Collect(tree.Members(e, "attributes")), e})
	}
}

// flatten adds a value under the names of its members, joined by dots: the attributes of
// OpenInference have no objects as values.
func flatten(attributes map[string]json.RawMessage, name string, value json.RawMessage) {
	isList := len(value) > 0 && value[0] == '[' && len(tree.Element(value, "0")) > 0 && tree.Element(value, "0")[0] == '{'
	switch {
	case len(value) > 0 && value[0] == '{' && !strings.HasSuffix(name, ".arguments"):
		for key, member := range tree.Members(value) {
			flatten(attributes, strings.TrimPrefix(name+"."+key, "."), member)
		}
	case isList && (openInferenceMessages[name] != "" || strings.Contains(name, ".message.")):
		for n, element := range tree.Elements(value) {
			flatten(attributes, name+"."+strconv.Itoa(n), element)
		}
	default:
		attributes[name] = value
	}
}

// openInference reads the attributes of OpenInference. A side of a model call without messages has
// its value, in the form of the framework.
func (s *spanReader) openInference() (call modelcall.Call) {
	read := func(prefix string, message func(map[string]json.RawMessage) llm.Message) (messages []llm.Message) {
		s.unknown, s.missing = nil, nil
		for _, m := range s.indexedAttributes(s.attributes, prefix) {
			messages = append(messages, message(m))
		}
		s.reportUnknown(&call, prefix)
		return messages
	}
	call.Input = append(read("llm.input_messages", s.spanMessage), read("llm.prompts", func(prompt map[string]json.RawMessage) llm.Message {
		m := llm.User(take(prompt, "prompt.text"))
		m.Opaque = s.opaque(prompt, nil)
		return m
	})...)
	call.Output = append(read("llm.output_messages", s.spanMessage), read("llm.choices", func(choice map[string]json.RawMessage) llm.Message {
		m := llm.Assistant(llm.Text{Text: take(choice, "completion.text")})
		m.Opaque = s.opaque(choice, []string{"completion.finish_reason"})
		return m
	})...)
	for prefix := range openInferenceMessages {
		if value := s.attributes[prefix]; !tree.IsNull(value) && string(value) != "[]" {
			call.Errs = append(call.Errs, modelcall.Error{Member: prefix, Err: errors.New("the value is not a list of messages")})
		}
	}
	if tree.Scalar(s.attributes[spanKind]) != "LLM" {
		return call
	}
	var input, output json.RawMessage
	if call.Input == nil {
		input = s.attributes[inputName]
	}
	if call.Output == nil {
		output = s.attributes[outputName]
	}
	values := modelcall.Read(input, output)
	call.Input, call.Output = append(call.Input, values.Input...), append(call.Output, values.Output...)
	call.Errs = append(call.Errs, values.Errs...)
	return call
}

// indexedAttributes returns the attributes whose names have an index after the prefix, by index,
// without the prefix and the index. It notes indices that are missing: recorders limit the attributes of a span.
func (s *spanReader) indexedAttributes(attributes map[string]json.RawMessage, prefix string) (list []map[string]json.RawMessage) {
	byIndex := map[int]map[string]json.RawMessage{}
	for name, value := range attributes {
		n, rest, ok := cutIndex(name, prefix)
		if !ok {
			continue
		}
		if byIndex[n] == nil {
			byIndex[n] = map[string]json.RawMessage{}
		}
		byIndex[n][rest] = value
	}
	next := 0
	for _, n := range slices.Sorted(maps.Keys(byIndex)) {
		if n > next && (next > 0 || !s.isPart) {
			s.missing = append(s.missing, prefix+"."+strconv.Itoa(next))
		}
		list, next = append(list, byIndex[n]), n+1
	}
	return list
}

// reportUnknown adds the unknown and the missing attributes of messages to the errors of a call.
func (s *spanReader) reportUnknown(call *modelcall.Call, prefix string) {
	if s.missing != nil {
		err := fmt.Errorf("missing attributes: %s: let the recorder keep all attributes of a span", strings.Join(s.missing, ", "))
		call.Errs = append(call.Errs, modelcall.Error{Member: prefix, Err: err, Partial: true})
	}
	if slices.Sort(s.unknown); s.unknown != nil {
		err := fmt.Errorf("unknown attributes, which are not read: %s", strings.Join(slices.Compact(s.unknown), ", "))
		call.Errs = append(call.Errs, modelcall.Error{Member: prefix, Err: err, Partial: true})
	}
}

// The attributes of messages, of parts of their content and of calls that may be left as opaque data. The
// URL of an image is in an attribute of the image.
var (
	knownOfMessage = []string{"message.content", "message.name", "message.tool_call_id", "message.function_call_arguments_json", "message.id", "message.finish_reason"}
	knownOfContent = []string{"message_content.text", "message_content.id", "message_content.signature", "message_content.data", "message_content.encrypted_content", "message_content.image.image.url"}
	knownOfCall    = []string{"tool_call.type", "tool_call.reasoning_signature", "message_content.id", "message_content.signature"}
)

// opaque returns the attributes that are left as opaque data, and notes those that are unknown.
func (s *spanReader) opaque(left map[string]json.RawMessage, known []string) json.RawMessage {
	for name, value := range left {
		if !slices.Contains(known, name) && !tree.IsNull(value) {
			s.unknown = append(s.unknown, strconv.Quote(name))
		}
	}
	return objectOf(left)
}

// take removes an attribute and returns its text: a string, or the JSON of any other value.
func take(attributes map[string]json.RawMessage, name string) string {
	value := attributes[name]
	delete(attributes, name)
	if tree.IsNull(value) {
		return ""
	}
	return tree.String(value)
}

// spanRoles are the roles of providers that have another name in llm.
var spanRoles = map[llm.Role]llm.Role{"model": llm.RoleAssistant, "developer": llm.RoleSystem}

// spanMessage reads the attributes of a message. Those that llm has no field for are opaque data.
func (s *spanReader) spanMessage(m map[string]json.RawMessage) llm.Message {
	var parts []llm.Part
	if !tree.IsNull(m["message.content"]) {
		parts = append(parts, llm.Text{Text: take(m, "message.content")})
	}
	for _, content := range s.indexedAttributes(m, "message.contents") {
		parts = append(parts, s.spanContent(content))
	}
	for _, attributes := range s.indexedAttributes(m, "message.tool_calls") {
		call := s.spanCall(attributes)
		if !slices.ContainsFunc(parts, func(p llm.Part) bool { return repeats(p, call) }) {
			parts = append(parts, call)
		}
	}
	if name := take(m, "message.function_call_name"); name != "" {
		call := llm.ToolCall{Name: name, Arguments: take(m, "message.function_call_arguments_json")}
		s.reader.GenerateID(&call)
		parts = append(parts, call)
	}
	maps.DeleteFunc(m, func(name string, value json.RawMessage) bool {
		_, _, isContent := cutIndex(name, "message.contents")
		_, _, isCall := cutIndex(name, "message.tool_calls")
		return isContent || isCall || tree.IsNull(value)
	})
	role := llm.Role(take(m, "message.role"))
	if role == llm.RoleTool || role == "function" {
		result := llm.ToolResult{ID: take(m, "message.tool_call_id"), Name: take(m, "message.name"), Content: parts}
		if result.ID == "" {
			result.ID = s.reader.OpenCall(result.Name, "")
		}
		return llm.Message{Role: llm.RoleTool, Parts: []llm.Part{result}, Opaque: s.opaque(m, knownOfMessage)}
	}
	return llm.Message{Role: cmp.Or(spanRoles[role], role), Parts: parts, Opaque: s.opaque(m, knownOfMessage)}
}

// repeats reports whether a part has all of a call.
func repeats(p llm.Part, call llm.ToolCall) bool {
	c, ok := p.(llm.ToolCall)
	return ok && c.ID == call.ID && c.Name == call.Name && (call.Arguments == "" || c.Arguments == call.Arguments) && call.Opaque == nil
}

// spanContent reads a part of the content. A part of a kind that llm does not have is kept whole; see
// [message.Unknown].
func (s *spanReader) spanContent(content map[string]json.RawMessage) llm.Part {
	whole := objectOf(content)
	kind := take(content, "message_content.type")
	text, isText := tree.Text(content["message_content.text"])
	url, isURL := tree.Text(content["message_content.image.image.url"])
	switch {
	case kind == "text" && isText:
		delete(content, "message_content.text")
		return llm.Text{Text: text, Opaque: s.opaque(content, knownOfContent)}
	case kind == "reasoning":
		if isText {
			delete(content, "message_content.text")
		}
		return llm.Reasoning{Text: text, Opaque: s.opaque(content, knownOfContent)}
	case kind == "image" && isURL:
		delete(content, "message_content.image.image.url")
		return message.Image(url, s.opaque(content, knownOfContent))
	case kind == "tool_use" && content["tool_call.function.name"] != nil:
		return s.spanCall(content)
	}
	return message.Unknown("openinference."+kind, string(whole))
}

// spanCall reads the attributes of a call. It generates a missing id.
func (s *spanReader) spanCall(attributes map[string]json.RawMessage) llm.ToolCall {
	call := llm.ToolCall{
		ID:   take(attributes, "tool_call.id"),
		Name: take(attributes, "tool_call.function.name"),
	}
	const arguments = "tool_call.function.arguments"
	if value := attributes[arguments]; value == nil || message.AreArguments(value[0]) {
		call.Arguments = take(attributes, arguments)
	} // another value is an attribute that is not read
	call.Opaque = s.opaque(attributes, knownOfCall)
	if call.ID == "" {
		s.reader.GenerateID(&call)
	}
	return call
}

// scores returns the scores of a span: annotations and evaluations of OpenInference
// (spec/annotations.md), and events of OpenTelemetry
// (https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-events/). Those without a number are no
// scores.
func (s *spanReader) scores() (scores []format.Score) {
	for _, e := range s.events {
		if value := e.attributes["gen_ai.evaluation.score.value"]; e.name == scoreEvent && !tree.IsNull(value) {
			scores = append(scores, format.ScoreOf(tree.Scalar(e.attributes["gen_ai.evaluation.name"]), value))
		}
	}
	for _, kind := range []string{"annotation", "evaluation"} {
		for _, prefix := range []string{"", "trace.", "session."} {
			for _, a := range s.indexedAttributes(s.attributes, prefix+kind+"s") {
				if value := a[kind+".score"]; !tree.IsNull(value) {
					scores = append(scores, format.ScoreOf(tree.Scalar(a[kind+".name"]), value))
				}
			}
		}
	}
	return scores
}
