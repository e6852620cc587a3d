package body

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/internal/jsonval"
	"github.com/looptape/looptape/trace/importer/internal/message"
	"github.com/looptape/looptape/trace/importer/internal/shape"
	"github.com/looptape/looptape/trace/importer/internal/tree"
)

// unreadEvents adds what the events of a stream have that the codec skips, and calls read with the data of the events
// of Chat Completions and Gemini, which returns false for one without an alternative.
func unreadEvents(protocol string, text []byte, read func(json.RawMessage) bool, add func(format string, args ...any)) {
	if bytes.HasPrefix(text, []byte{0}) { // a binary stream of Bedrock; one that is not valid cannot be read at all
		if events, err := ServerSentEvents(text); err == nil {
			text = events
		}
	}
	next, first := events(text)
	if protocol == "" {
		if p := ofEvent(first); p != nil {
			protocol = p.Name()
		}
	}
	n, known := 0, map[string]bool{}
	wrong := func(format string, args ...any) {
		if what := fmt.Sprintf(format, args...); !known[what] {
			known[what] = true
			add("event %d of the stream: %s", n, what)
		}
	}
	find := shape.Events(protocol, wrong)
	check := func(kind string, data json.RawMessage) {
		n++
		find(kind, data)
	}
	switch protocol {
	case "bedrock-converse":
		calls := map[string]bool{} // the indexes of their blocks
		for ev, err := range converseEvents(text) {
			if err != nil {
				return
			}
			check(ev.Name, ev.Payload)
			unreadConverse(ev.Name, ev.Payload, calls, add)
		}
	case "cohere-chat":
		block := ""
		for ev, err := next(); err == nil; ev, err = next() {
			kind := tree.Scalar(ev.Data, "type")
			check(kind, ev.Data)
			block = unreadCohere(kind, ev.Data, block, add)
		}
	case "openai-responses":
		var texts responseTexts
		for ev, err := next(); err == nil; ev, err = next() {
			kind := cmp.Or(tree.Scalar(ev.Data, "type"), ev.Name)
			check(kind, ev.Data)
			texts.add(kind, ev.Data, add)
		}
	case "ollama-chat":
		for ev, err := next(); err == nil; ev, err = next() {
			check("", ev.Data)
		}
	case "anthropic-messages":
		blocks := map[int64]string{} // the kinds of the open ones
		for ev, err := next(); err == nil; ev, err = next() {
			check(cmp.Or(tree.Scalar(ev.Data, "type"), ev.Name), ev.Data)
			unreadAnthropic(ev.Name, ev.Data, blocks, add)
		}
	case "openai-chat", "openai-completions", "gemini":
		done := false
		for ev, err := next(); err == nil; ev, err = next() {
			if string(ev.Data) == "[DONE]" {
				done = true
				continue
			}
			check("", ev.Data)
			if done && hasContent(ev.Data) {
				add("the stream has content after [DONE], which is not read")
			}
			if !read(ev.Data) {
				unreadEvent(ev.Data, add)
			}
		}
	}
}

// unreadEvent adds the content of an event that has no alternative. An error is reported as such.
func unreadEvent(data json.RawMessage, add func(format string, args ...any)) {
	if tree.First(data, "error", "code", "errorType") != nil || tree.Scalar(data, "object") == "error" {
		return
	}
	nothing := func() string { return "" }
	for name, value := range tree.Members(data) {
		isContent := (name == "content" || name == "delta") && !message.IsEmpty(value)
		if isContent || message.IsTextMember(name, value, nothing) || message.IsToolMember(name, value) {
			add("the stream has an event with data that is not read, as %q", name)
		}
	}
}

// anthropicEvents are the kinds of events of the Messages API.
var anthropicEvents = []string{"message_start", blockStart, blockDelta, blockStop, "message_delta", "message_stop", "ping", "error"}

// Events of the Messages API with blocks.
const (
	blockStart = "content_block_start"
	blockDelta = "content_block_delta"
	blockStop  = "content_block_stop"
)

// anthropicDeltas are the kinds of deltas of the Messages API, with the members that have their data.
var anthropicDeltas = map[string]string{
	"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature", "citations_delta": "citation", "input_json_delta": "partial_json",
}

// unreadAnthropic adds an event of a stream of Anthropic that its codec skips: one of an unknown kind, one that
// belongs to no block, and a delta of an unknown kind or without its data. Blocks are the kinds of the open blocks.
func unreadAnthropic(name string, data json.RawMessage, blocks map[int64]string, add func(format string, args ...any)) {
	kind := tree.Scalar(data, "type")
	if kind == "" {
		kind = name
	}
	switch index := number(data, "index"); kind {
	case blockStart:
		if block := tree.Member(data, "content_block"); len(block) == 0 || block[0] != '{' {
			add("the stream has a content_block_start without a block")
		}
		blocks[index] = strings.Clone(tree.Scalar(data, "content_block", "type"))
	case blockStop:
		delete(blocks, index)
	case blockDelta:
		delta := tree.Member(data, "delta")
		kind := tree.Scalar(delta, "type")
		block, isOpen := blocks[index]
		isKnown := slices.Contains([]string{"text", "thinking", "tool_use", "server_tool_use"}, block)
		value := tree.Member(delta, anthropicDeltas[kind])
		switch {
		case kind == "text_delta" || kind == "thinking_delta", anthropicDeltas[kind] != "" && isOpen:
			if isCitation := len(value) > 0 && value[0] == '{'; isCitation != (kind == "citations_delta") || !isCitation && !isString(value) {
				add("the stream has a delta of the kind %q without the member %q", kind, anthropicDeltas[kind])
			} else if kind == "input_json_delta" && isKnown && !strings.HasSuffix(block, "tool_use") {
				add("the stream has a delta of the kind %q that belongs to no call", kind)
			}
		case !isOpen:
			add("the stream has a delta of the kind %q that belongs to no block", kind)
		case isKnown:
			add("the stream has an event of the unknown kind %q", kind)
		}
	default:
		isUnknown := kind != "" && !slices.Contains(anthropicEvents, kind)
		if isUnknown || kind == "" && jsonio.ValidSyntax(data) && !message.IsEmpty(data) {
			add("the stream has an event of the unknown kind %q", kind)
		}
	}
}

// unreadConverse adds a delta without content, and one of a call that has not begun. Calls has the indexes of those that have.
func unreadConverse(name string, data json.RawMessage, calls map[string]bool, add func(format string, args ...any)) {
	index, delta := tree.String(data, "contentBlockIndex"), tree.Member(data, "delta")
	switch {
	case name == "contentBlockStart" && tree.Member(data, "start", "toolUse") != nil:
		calls[strings.Clone(index)] = true
	case name == "contentBlockDelta" && len(delta) > 0 && delta[0] == '{' && message.IsEmpty(delta):
		add("the stream has a delta without content, at the index %s", index)
	case name == "contentBlockDelta" && tree.Member(delta, "toolUse") != nil && !calls[index]:
		add("the stream has a delta of a call that belongs to no contentBlockStart, at the index %s", index)
	}
}

// unreadCohere adds a delta that is of another kind than the block that it follows, which is empty, call or the kind of
// a content. It returns the kind of the block after an event.
func unreadCohere(kind string, data json.RawMessage, block string, add func(format string, args ...any)) string {
	content := tree.Member(data, "delta", "message", "content")
	switch kind {
	case "tool-call-start":
		return "call"
	case "content-start":
		return strings.Clone(tree.Scalar(content, "type"))
	case "tool-call-delta":
		if block != "call" {
			add("the stream has a %s that belongs to no call", kind)
		}
	case "content-delta":
		if tree.Member(content, block) == nil {
			add("the stream has a %s without the member %q of its content", kind, block)
		}
	}
	return block
}

// responseTexts are the texts of the messages and the arguments of the calls in a stream of Responses, which are in it
// up to four times.
type responseTexts struct {
	parts []*responseText
	calls map[string][]byte // the arguments, by the id of the item, or by its index if the event has no id
	wrong bool              // two of them differ
}

// responseText is the text of a part of a message.
type responseText struct {
	item, part int64 // the indexes
	refusal    bool
	text       []byte
}

// add adds the text of an event, or its contradiction to the deltas. Some servers omit events, or all items of the last one.
func (r *responseTexts) add(kind string, data json.RawMessage, add func(format string, args ...any)) {
	differ := func(what string) {
		if !r.wrong {
			r.wrong = true
			add("the %s of %s is not that of the deltas", what, kind)
		}
	}
	wrong := func(text string, of []byte) {
		if text != string(of) {
			differ("text")
		}
	}
	call := func(args string, keys ...string) {
		for _, key := range keys {
			if of := r.calls[key]; of != nil && args != "" && !jsonval.Equal(args, string(of)) && !jsonval.EqualDecoded(args, string(of)) {
				differ("argument text")
			}
		}
	}
	index := tree.String(data, "output_index")
	switch kind {
	case "response.function_call_arguments.delta", "response.custom_tool_call_input.delta":
		if r.calls == nil {
			r.calls = map[string][]byte{}
		}
		key := strings.Clone(cmp.Or(tree.Scalar(data, "item_id"), index))
		r.calls[key] = append(r.calls[key], tree.Scalar(data, "delta")...)
	case "response.function_call_arguments.done", "response.custom_tool_call_input.done":
		call(tree.Scalar(tree.First(data, "arguments", "input")), cmp.Or(tree.Scalar(data, "item_id"), index))
	case "response.output_text.delta", "response.refusal.delta":
		p := r.at(kind, data)
		p.text = append(p.text, tree.Scalar(data, "delta")...)
	case "response.output_text.done", "response.refusal.done":
		text := tree.Scalar(tree.First(data, "text", "refusal"))
		if p := r.at(kind, data); p.text == nil {
			p.text = []byte(text)
		} else {
			wrong(text, p.text)
		}
	case "response.output_item.done":
		if text := itemText(tree.Member(data, "item")); text != "" {
			if of := r.text(number(data, "output_index")); of != nil {
				wrong(text, of)
			}
		}
		call(itemArguments(tree.Member(data, "item")), tree.Scalar(data, "item", "id"), index)
	case "response.completed", "response.incomplete":
		var text string
		for _, item := range tree.Elements(data, "response", "output") {
			text += itemText(item)
			call(itemArguments(item), tree.Scalar(item, "id")) // the index may be another one
		}
		if of := r.text(-1); text != "" && of != nil {
			wrong(text, of)
		}
	}
}

// at returns the part that an event is of.
func (r *responseTexts) at(kind string, data json.RawMessage) *responseText {
	item, part, refusal := number(data, "output_index"), number(data, "content_index"), strings.HasPrefix(kind, "response.refusal")
	for _, p := range r.parts {
		if p.item == item && p.part == part && p.refusal == refusal {
			return p
		}
	}
	r.parts = append(r.parts, &responseText{item: item, part: part, refusal: refusal})
	return r.parts[len(r.parts)-1]
}

// text returns the text of an item, or of all if the index is -1.
func (r *responseTexts) text(item int64) (text []byte) {
	for _, p := range r.parts {
		if item == -1 || p.item == item {
			text = append(text, p.text...)
		}
	}
	return text
}

// itemText returns the text of a message among the items of Responses.
func itemText(item json.RawMessage) (text string) {
	if tree.Scalar(item, "type") != "message" {
		return ""
	}
	for _, part := range tree.Elements(item, "content") {
		text += tree.Scalar(tree.First(part, "text", "refusal"))
	}
	return text
}

// itemArguments returns the arguments of a call among the items of Responses.
func itemArguments(item json.RawMessage) string {
	switch tree.Scalar(item, "type") {
	case "function_call":
		return tree.Scalar(item, "arguments")
	case "custom_tool_call":
		return tree.Scalar(item, "input")
	}
	return ""
}

func isString(value json.RawMessage) bool { return len(value) > 0 && value[0] == '"' }
