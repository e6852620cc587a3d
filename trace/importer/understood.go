package importer

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/importer/internal/format"
	"github.com/looptape/looptape/trace/importer/internal/message"
	"github.com/looptape/looptape/trace/importer/internal/shape"
	"github.com/looptape/looptape/trace/importer/internal/tree"
)

// unknownParts returns the parts of the messages of a run that were not understood, and those
// within results of tools.
func (s *Source) unknownParts(run string, line int, protocol string, messages []llm.Message) []*Error {
	if !slices.ContainsFunc(messages, func(m llm.Message) bool { return !isPlain(m) }) {
		return nil
	}
	var unknown []*Error
	known := kinds{format: s.Format.Name, protocol: protocol, messages: messages}
	var at int // the message
	add := func(format string, args ...any) {
		e := s.errorAt(line, "", fmt.Errorf(format, args...))
		e.Place = fmt.Sprintf("message %d of %s", at, run)
		unknown = append(unknown, e)
	}
	for i, m := range messages {
		at = i
		if !slices.Contains(knownRoles, m.Role) {
			add("the message has the unknown role %q", m.Role)
		}
		if m.Opaque != nil {
			members := known.unknown(m.Opaque)
			addMembers(members, add)
			addImages(members, add)
			addRepeated(m, members, add)
			addContent(&m, members, add)
			if len(m.Parts) == 1 {
				if result, ok := m.Parts[0].(llm.ToolResult); ok {
					addResult(result, members, true, add)
				}
			}
		}
		known.addParts(m.Parts, "content", add)
	}
	return unknown
}

// isPlain reports whether a message has only texts, and no other members.
func isPlain(m llm.Message) bool {
	return m.Opaque == nil && slices.Contains(knownRoles, m.Role) && arePlain(m.Parts)
}

func arePlain(parts []llm.Part) bool {
	return !slices.ContainsFunc(parts, func(p llm.Part) bool {
		text, ok := p.(llm.Text)
		return !ok || text.Opaque != nil
	})
}

// addParts adds the parts that are not known, and the members of other parts that are not read.
func (k *kinds) addParts(parts []llm.Part, of string, add func(format string, args ...any)) {
	for _, part := range parts {
		switch p := part.(type) {
		case llm.Unknown:
			switch kind := kindOf(p); {
			case k.isKnown(p, kind):
				k.addMedia(p, kind, add)
			case strings.HasSuffix(kind, ".") && !isObject(tree.Member(p.Raw, "value")):
				add("the %s has a part that is not an object", of)
			case strings.HasSuffix(kind, "."):
				add("the %s has a part without a type; it has the members %s", of, tree.Names(tree.Member(p.Raw, "value")))
			case slices.Contains(textKinds, kind[strings.LastIndexAny(kind, ".:")+1:]):
				add("the %s has a part of the kind %q whose text is not read", of, kind)
			case reasoningMembers[kind[strings.LastIndexAny(kind, ".:")+1:]] != nil:
				add("the %s has a part of the kind %q with data that is not read", of, kind)
			default:
				add("the %s has a part of the unknown kind %q", of, kind)
			}
		case llm.ToolCall:
			if kind := message.UnknownKind(p); kind != "" {
				add("the %s has a call of the unknown kind %q", of, kind)
			} else {
				addCall(p, k.unknown(p.Opaque), add)
				// The input of a call of Bedrock Converse, which is an object; the instrumentation keeps that of a stream as a text.
				if text, ok := tree.Text(p.Opaque, "input"); ok && text == p.Arguments && text != "" && k.format != "otel" {
					add(message.NotObject, p.Name)
				}
			}
		case llm.ToolResult:
			if p.Opaque != nil {
				addResult(p, k.unknown(p.Opaque), false, add)
			}
			if !arePlain(p.Content) {
				k.addParts(p.Content, fmt.Sprintf("result of the call %q", p.ID), add)
			}
		case llm.Text:
			addMembers(k.unknown(p.Opaque), add)
			addText(k.list, of, p.Text, true, add)
			k.addMissingText(p.Opaque, "text", of, p.Text, add)
		case llm.Reasoning: // which may have the content of Responses in addition to the summary
			addMembers(k.unknown(p.Opaque), add)
			addText(k.list, of, p.Text, false, add)
			k.addMissingText(p.Opaque, "thinking", of, p.Text, add)
		case llm.Media:
			addMembers(k.unknown(p.Opaque), add)
			addMedia(p, k.list, add)
		default:
			addMembers(k.unknown(llm.PartOpaque(p)), add)
		}
	}
}

// addMissingText adds a block of Anthropic, or a content of Inspect, without text that has data in a member that the format
// does not have. The codecs of the other protocols do not read such a part.
func (k *kinds) addMissingText(opaque json.RawMessage, kind, of, text string, add func(format string, args ...any)) {
	if text != "" || opaque == nil {
		return
	}
	block := tree.Member(opaque, "anthropic")
	if k.format == "inspect" && !tree.IsTrue(opaque, "redacted") {
		block = opaque
		if kind == "thinking" {
			kind = "reasoning"
		}
	}
	if hasOtherData(block) {
		add("the %s has a part of the kind %q whose text is not read", of, kind)
	}
}

// hasOtherData reports whether a block has data in a member that is not about it, except those with these names and content,
// and those which [addText] adds.
func hasOtherData(block json.RawMessage, except ...string) bool {
	nothing := func() string { return "" }
	for name, value := range tree.Members(block) {
		isOther := !aboutBlock[name] && name != "content" && !slices.Contains(except, name) && !message.IsTextMember(name, value, nothing)
		if isOther && (value[0] == '"' || value[0] == '[') && !message.IsEmpty(value) {
			return true
		}
	}
	return false
}

// aboutBlock are members of a block that are no text.
var aboutBlock = tree.Set("type", "id", "signature", "data", "citations", "start_timestamp", "stop_timestamp", "flags")

// addText adds the members of a part of text that have other text: those with names that messages have for
// text, and content if hasContent.
func addText(members []member, of, text string, hasContent bool, add func(format string, args ...any)) {
	for _, m := range members {
		name, value := m.name, m.value
		if hasContent && name == "content" && message.HasOtherText(value, text) || message.IsTextMember(name, value, func() string { return text }) {
			add("the %s has a part with text that is not read, as %q", of, name)
		}
	}
}

func isObject(value json.RawMessage) bool { return len(value) > 0 && value[0] == '{' }

// memberPrefixes are the prefixes that the codecs of OpenAI give to members.
var memberPrefixes = []string{"chat:", "responses:", "responses_content:"}

// kindOf returns the kind of a part. For a part of Gemini, whose codec names no kind, it is the
// first member that is unknown.
func kindOf(u llm.Unknown) string {
	part := tree.Member(u.Raw, "part")
	if u.Kind != "gemini_part" || part == nil {
		return u.Kind
	}
	kind := u.Kind
	for name := range tree.Members(part) {
		name = "gemini." + tree.Snake(name)
		if readers["gemini."][strings.TrimPrefix(name, "gemini.")] {
			return name
		}
		if kind == u.Kind && !slices.Contains(geminiMembers, name) {
			kind = name
		}
	}
	return kind
}

// geminiMembers are members that a part of any kind may have.
var geminiMembers = []string{"gemini.thought", "gemini.thought_signature", "gemini.video_metadata", "gemini.part_metadata", "gemini.media_resolution"}

// reported returns the parts that the reader of the format did not understand.
func (s *Source) reported(f *format.Run) (unknown []*Error) {
	for _, u := range f.Unknown {
		e := s.errorAt(cmp.Or(u.Line, f.Line), u.Path, u.Err)
		e.Place = f.Name
		unknown = append(unknown, e)
	}
	return unknown
}

var knownRoles = []llm.Role{llm.RoleSystem, llm.RoleUser, llm.RoleAssistant, llm.RoleTool}

// addMembers adds the members that may be calls or results of tools in an unknown form.
func addMembers(members []member, add func(format string, args ...any)) {
	for _, m := range members {
		name, value := m.name, m.value
		switch {
		case name == "tool_call_chunks" || !message.IsToolMember(name, value):
		case name == "toolInvocations" && value[0] == '[':
			add("the message has calls or results that are not among its parts, as %q", name)
		default:
			add("the message has the unknown member %q", name)
		}
	}
}

// addImages adds what the list of images next to a message, as in Ollama, has in another form.
func addImages(members []member, add func(format string, args ...any)) {
	for _, m := range members {
		if m.name == "images" {
			shape.Media(m.name, m.value, add)
		}
	}
}

// addRepeated adds the calls that LangChain keeps as the provider sent them, if the message does not have them too.
func addRepeated(m llm.Message, members []member, add func(format string, args ...any)) {
	for _, other := range members {
		name, value := other.name, other.value
		for inner, calls := range tree.Members(value) {
			if name == "additional_kwargs" && (inner == "tool_calls" || inner == "function_call") && !message.IsEmpty(calls) &&
				(calls[0] != '[' && calls[0] != '{' || message.HasOtherCalls(calls, []llm.Message{m})) {
				add("the message has calls that are not read, as %q in %q", inner, name)
			}
		}
		if name == "tool_call_chunks" && message.HasOtherCalls(value, []llm.Message{m}) {
			add("the message has calls that are not read, as %q", name)
		}
	}
}

// addContent adds the members of a message that may be content in an unknown form: of a message without
// content all of them, because only a response may have nothing but data about it.
func addContent(m *llm.Message, members []member, add func(format string, args ...any)) {
	read := func() (text string) {
		for _, p := range m.Parts {
			text += textOf(p)
		}
		return text
	}
	var names []string
	for _, other := range members {
		name, value := other.name, other.value
		isAbout := m.Role == llm.RoleAssistant && (aboutResponse[strings.ToLower(name)] || strings.HasSuffix(name, "_answer"))
		isContent := name == "content" && message.HasOtherText(value, read()) // next to the member of the format
		isList := slices.Contains(contentLists, name) && value[0] != '[' && !message.IsEmpty(value)
		isReasoning := isAssistantText(name, value, read) && (m.Role != llm.RoleAssistant || !tree.IsText(value))
		isOfCall := m.Role == llm.RoleAssistant && message.IsArguments(name, value) && len(m.Calls()) == 0
		if isContent || isList || isReasoning || isOfCall || message.IsTextMember(name, value, read) || len(m.Parts) == 0 && !isAbout && !message.IsEmpty(value) {
			names = append(names, strconv.Quote(name))
		}
	}
	switch {
	case names == nil:
	case len(m.Parts) == 0:
		add("the message has no content that looptape reads; it has the members %s", strings.Join(names, ", "))
	default:
		add("the message has text that is not read, as %s", strings.Join(names, ", "))
	}
}

// isAssistantText reports whether a member is a reasoning or a refusal that was not read, which only messages of the
// assistant have.
func isAssistantText(name string, value json.RawMessage, read func() string) bool {
	isName := name == "refusal" || slices.Contains(message.ReasoningNames, name)
	return isName && !message.IsEmpty(value) && (!tree.IsText(value) || message.HasOtherText(value, read()))
}

// contentLists are members with lists of parts or calls, which are not read if they are something else.
var contentLists = []string{"parts", "toolInvocations"}

// aboutResponse are members of messages of the assistant that are not content.
var aboutResponse = tree.Set(
	"id", "uuid", "type", "name", "role", "source", "status", "phase", "index", "model", "model_name", "agent", "author", "provider", "metadata", "audio",
	"timestamp", "created", "created_at", "createdat", "date", "time", "finish_reason", "stop_reason", "stop_sequence", "usage", "usage_metadata", "metrics", "step_id", "is_copied_context",
	"response_metadata", "additional_kwargs", "example", "extra", "extra_content", "annotations", "cache_control", "prefix", "container", "records", "error",
)

func textOf(p llm.Part) (text string) {
	switch p := p.(type) {
	case llm.Text:
		return p.Text
	case llm.Reasoning:
		return p.Text
	case llm.ToolCall:
		return p.Arguments
	case llm.ToolResult:
		for _, inner := range p.Content {
			text += textOf(inner)
		}
	case llm.Unknown:
		return string(p.Raw)
	case llm.Media:
	}
	return text
}

// member is a member of opaque data that was not read.
type member struct {
	name  string
	value json.RawMessage
}

// unknownMembers returns the members of opaque data under the names that they have in the message, in the memory of
// list, which may be nil. Codecs keep them with a prefix, or below the name of the provider.
func unknownMembers(list []member, opaque json.RawMessage) []member {
	list = list[:0]
	if opaque == nil {
		return list
	}
	for name, value := range tree.Members(opaque) {
		if name != "anthropic" && name != "gemini" {
			for _, prefix := range memberPrefixes {
				name = strings.TrimPrefix(name, prefix)
			}
			list = append(list, member{name, value})
			continue
		}
		for inner, value := range tree.Members(value) {
			list = append(list, member{inner, value})
		}
	}
	return list
}
