package body

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/internal/sse"
	"github.com/looptape/looptape/providers/protocol"
	"github.com/looptape/looptape/trace/importer/internal/tree"
)

// EventMembers are members of which each event that may begin a streaming response has one.
var EventMembers = []string{"type", "candidates", "usageMetadata", "promptFeedback", "choices", "done", converseStart}

// ofEvent returns the protocol of a stream with this event. Each such event has one of [EventMembers].
func ofEvent(data json.RawMessage) *Protocol {
	switch kind := tree.Scalar(data, "type"); {
	case strings.HasPrefix(kind, "response."):
		return byName("openai-responses")
	case kind == "message_start", kind == "ping":
		return byName("anthropic-messages")
	case kind == "message-start":
		return byName("cohere-chat")
	case tree.First(data, "candidates", "usageMetadata", "promptFeedback") != nil:
		return byName("gemini")
	case tree.Member(alternative(data), "text") != nil:
		return byName("openai-completions")
	case tree.Member(data, "choices") != nil:
		return byName("openai-chat")
	case tree.Member(data, "message") != nil && tree.Member(data, "done") != nil:
		return byName("ollama-chat")
	case tree.Member(data, converseStart) != nil:
		return byName("bedrock-converse")
	}
	return nil
}

// firstEvents are the types of the events that begin a response, in the protocols that have such types.
var firstEvents = []string{"message_start", "message-start", "response.created"}

// converseStart is the member of the first event of a stream of Bedrock Converse, whose events have no types.
const converseStart = "messageStart"

// IsEvent reports whether an object is an event that may begin a streaming response, and no whole
// response.
func IsEvent(data json.RawMessage) bool {
	p := ofEvent(data)
	return p != nil && (slices.Contains(firstEvents, tree.Scalar(data, "type")) || IsUnfinished(data, p.Name()))
}

// IsUnfinished reports whether a response in a protocol without types of events has no end: it is
// truncated, or an event of a stream.
func IsUnfinished(data json.RawMessage, protocol string) bool {
	one := alternative(data)
	switch protocol {
	case "openai-chat":
		// Perplexity sends each event with the message so far, and a whole response with an empty delta.
		isWhole := tree.Member(one, "message") != nil && tree.Scalar(one, "finish_reason") != ""
		return tree.Member(one, "delta") != nil && !isWhole || one == nil && tree.First(data, "object", "prompt_filter_results") != nil
	case "gemini":
		return one != nil && (tree.Member(one, "content") != nil || tree.Field(data, "usage_metadata") != nil) && !ends(data)
	case "ollama-chat":
		return !ends(data)
	case "bedrock-converse":
		return tree.Member(data, converseStart) != nil
	}
	return false
}

// LacksFinishReason reports whether a response of Gemini or Anthropic, as JSON, has content and no finish
// reason. Anthropic documents that it is never null outside of a stream (docs.anthropic.com, "Messages",
// stop_reason). Servers that are compatible with Chat Completions omit it; see [Unread] for null.
func LacksFinishReason(p protocol.Protocol, text []byte) bool {
	const name = "gemini"
	isAnthropic := p.Name() == "anthropic-messages"
	if !isAnthropic && p.Name() != name || !jsonio.ValidSyntax(text) {
		return false
	}
	if isAnthropic {
		return tree.Member(text, "content") != nil && tree.Scalar(text, "stop_reason") == ""
	}
	unfinished := IsUnfinished(text, name)
	for _, chunk := range tree.Elements(text) {
		if ends(chunk) {
			return false
		}
		unfinished = unfinished || IsUnfinished(chunk, name)
	}
	return unfinished
}

// IsWhole reports whether an object is a whole request or response and not an event.
func IsWhole(data json.RawMessage) bool {
	if ofEvent(data) != nil {
		return tree.Member(alternative(data), "message") != nil
	}
	return Name(data) != "" || tree.Member(data, "messages") != nil
}

// alternative returns the first choice of Chat Completions or candidate of Gemini; nil if there is none.
func alternative(data json.RawMessage) json.RawMessage {
	return tree.Element(tree.First(data, "choices", "candidates"), "0")
}

// ends reports whether an event of a protocol without types of events has the reason why the model
// stopped. Gemini's documentation states that the model has not stopped if there is no reason
// (https://ai.google.dev/api/generate-content#candidate).
func ends(data json.RawMessage) bool {
	if one := alternative(data); one != nil {
		return tree.Scalar(tree.Field(one, "finish_reason")) != ""
	}
	return tree.IsTrue(data, "done")
}

// ReadEvents calls add with the name and the data of each server-sent event, and the line that it begins
// on; line is that of the first byte. It ends when add returns false. It returns an error for lines that are
// not of events.
func ReadEvents(r io.Reader, line int, add func(name string, data []byte, line int) bool) error {
	events := sse.NewReader(r, math.MaxInt/2)
	for ev, err := events.Next(); err == nil && add(ev.Name, ev.Data, line+events.Line()-1); {
		ev, err = events.Next()
	}
	if other, _, _ := bytes.Cut(events.OtherLines(), []byte("\n")); other != nil {
		return fmt.Errorf("the stream has lines that are not of events, such as %q", other)
	}
	return nil
}

// Events are the events of a streaming response.
type Events struct {
	// Merged is true if it is unknown whether they are of one response: each has a finish reason, as in
	// early versions of Gemini, and none has an id.
	Merged bool

	protocol *Protocol
	text     []byte
	typed    bool // the events of the protocol have types
	id       string
	model    string
	content  bool // an event has content
	ended    bool // an event has a finish reason
	open     bool // an event has none
	done     bool // [DONE] came
}

// Text returns the events as [Stream] reads them.
func (e *Events) Text() []byte { return e.text }

// AddEvent adds a server-sent event.
func (e *Events) AddEvent(name string, data []byte) {
	e.text = sse.Append(e.text, name, data)
	if string(data) == "[DONE]" {
		e.done = true
	} else if jsonio.ValidSyntax(data) {
		e.add(data)
	}
}

// AddData adds the data of an event, which is valid JSON.
func (e *Events) AddData(data json.RawMessage) {
	text := bytes.NewBuffer(e.text)
	_ = json.Compact(text, data)
	_ = text.WriteByte('\n')
	e.text = text.Bytes()
	e.add(data)
}

func (e *Events) add(data json.RawMessage) {
	if e.protocol == nil && tree.Scalar(data, "type") != "ping" {
		e.protocol = ofEvent(data)
		e.typed = e.protocol != nil && !slices.Contains([]string{"openai-chat", "openai-completions", "gemini", "ollama-chat"}, e.protocol.Name())
	}
	if e.protocol == nil || e.typed {
		return
	}
	if e.model == "" {
		e.model = strings.Clone(tree.Scalar(data, "model"))
	}
	if id := idOf(data); id != "" && id != e.id {
		e.id = strings.Clone(id)
	}
	e.Merged = e.Merged || e.ended && e.id == "" && e.protocol.Name() == "gemini" && hasContent(data)
	e.content = e.content || hasContent(data)
	end := ends(data)
	e.ended, e.open = e.ended || end, e.open || !end
}

// idOf returns the id of the response that an event of Chat Completions or Gemini is of.
func idOf(data json.RawMessage) string {
	return tree.Scalar(tree.First(data, "id", "responseId", "response_id"))
}

// Precede reports whether an event begins another response, which follows these events.
func (e *Events) Precede(data json.RawMessage) bool {
	if e.protocol == nil {
		return false
	}
	id := idOf(data)
	if !e.typed && !e.done && id != "" && id == e.id {
		return false
	}
	kind := tree.Scalar(data, "type")
	if slices.Contains(firstEvents, kind) || tree.Member(data, converseStart) != nil {
		return true
	}
	switch p := ofEvent(data); {
	case p == nil, kind == "ping":
		return false
	case p != e.protocol, e.done:
		return true
	case p.Name() == "ollama-chat" && e.model != tree.Scalar(data, "model"): // it has no ids
		return true
	case e.typed:
		return false
	}
	if id != "" && e.id != "" {
		// Some servers give the first chunk, or each, an id of its own.
		one := alternative(data)
		begins := e.ended || e.protocol.Name() == "gemini" || e.content && tree.Scalar(one, "delta", "role") != ""
		return one != nil && begins
	}
	return e.ended && hasContent(data) && (e.open || e.protocol.Name() != "gemini")
}

// hasContent reports whether an event of a protocol without types of events has content of the first
// alternative.
func hasContent(data json.RawMessage) bool {
	one := alternative(data)
	if number(one, "index") != 0 {
		return false
	}
	if tree.Member(data, "message") != nil || tree.Scalar(one, "text") != "" || tree.Element(tree.Member(one, "content", "parts"), "0") != nil {
		return true
	}
	for name, value := range tree.Members(tree.Member(one, "delta")) {
		if name != "role" && !tree.IsNull(value) && !slices.Contains([]string{`""`, `[]`, `{}`}, string(value)) {
			return true
		}
	}
	return false
}
