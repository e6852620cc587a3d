package body

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/trace/importer/internal/message"
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
	switch protocol {
	case "anthropic-messages":
		blocks := map[int64]string{} // the kinds of the open ones
		for ev, err := next(); err == nil; ev, err = next() {
			unreadAnthropic(ev.Name, ev.Data, blocks, add)
		}
	case "openai-chat", "openai-completions", "gemini":
		done := false
		for ev, err := next(); err == nil; ev, err = next() {
			if string(ev.Data) == "[DONE]" {
				done = true
				continue
			}
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

func isString(value json.RawMessage) bool { return len(value) > 0 && value[0] == '"' }
