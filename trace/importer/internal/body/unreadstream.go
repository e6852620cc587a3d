package body

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/internal/jsonval"
	"github.com/looptape/looptape/trace/importer/internal/message"
	"github.com/looptape/looptape/trace/importer/internal/shape"
	"github.com/looptape/looptape/trace/importer/internal/tree"
)

// unreadEvents adds what the events of a stream have that the codec skips, and calls read with the data of the events
// of Chat Completions and Gemini, which returns false for one that is not JSON. It skips events that differ from the one
// before only in the text of their content.
func unreadEvents(protocol string, text []byte, read func(json.RawMessage) (choices, bool), add func(format string, args ...any)) {
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
	each := func(read func(kind string, data json.RawMessage)) {
		var end json.RawMessage // the data of the event after which the codec reads no more
		for ev, err := next(); err == nil; ev, err = next() {
			kind := cmp.Or(tree.Scalar(ev.Data, "type"), ev.Name)
			isEnd := slices.Contains(lastEvents[protocol], kind) || string(ev.Data) == endMark
			switch {
			case end != nil && (kind == "ping" || kind == "message_stop" || string(ev.Data) == endMark || jsonval.Equal(string(ev.Data), string(end))):
			case end != nil && isKept(protocol, kind, ev.Data):
				add("the stream has an event of the kind %q after its end, which is not read", kind)
			default:
				check(kind, ev.Data)
				read(kind, ev.Data)
			}
			if isEnd && end == nil {
				end = bytes.Clone(ev.Data)
			}
		}
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
		block, index := "", int64(0)
		each(func(kind string, data json.RawMessage) {
			block = unreadCohere(kind, data, block, add)
			switch at := number(data, "index"); {
			case strings.HasSuffix(kind, "-start"):
				index = at
			case (kind == "content-delta" || kind == "tool-call-delta") && at != index && tree.Member(data, "index") != nil:
				add("the stream has a %s of the index %d, after the start of the index %d", kind, at, index)
			}
		})
	case "openai-responses":
		var texts responseTexts
		items := responseItems{begun: map[string]bool{}, others: map[string][]byte{}}
		each(func(kind string, data json.RawMessage) {
			texts.add(kind, data, add)
			items.add(kind, data, add)
		})
		items.end(add)
	case "ollama-chat":
		for ev, err := next(); err == nil; ev, err = next() {
			check("", ev.Data)
			unreadNextTo(protocol, ev.Data, nil, add)
		}
	case "anthropic-messages":
		blocks := anthropicBlocks{open: map[int64]*anthropicBlock{}}
		each(func(kind string, data json.RawMessage) { blocks.add(kind, data, add) })
		for _, index := range slices.Sorted(maps.Keys(blocks.open)) {
			blocks.open[index].end(add)
		}
	case "openai-chat", "openai-completions", "gemini":
		done, last := false, aroundContent{}
		for ev, err := next(); err == nil; ev, err = next() {
			switch {
			case string(ev.Data) == endMark:
				done = true
				continue
			case !done && last.equals(ev.Data):
				n++
				continue
			}
			check("", ev.Data)
			if done && (hasContent(ev.Data) || isKept(protocol, ev.Name, ev.Data) || !message.IsEmpty(usageOf(ev.Data))) {
				add("the stream has content after [DONE], which is not read")
			}
			c, ok := read(ev.Data)
			if ok && c.n == 0 {
				unreadEvent(protocol, ev.Data, add)
			}
			last.set(ev.Data, c)
		}
	}
}

// aroundContent is the data of an event of Chat Completions before and after the content of its delta; empty for an event
// that has more than the content that may be text.
type aroundContent struct{ before, after []byte }

func (a *aroundContent) set(data json.RawMessage, c choices) {
	a.before, a.after = a.before[:0], a.after[:0]
	if !c.isDelta || len(c.ofChoice)+len(c.ofBody) > 0 {
		return
	}
	var content json.RawMessage
	for name, value := range tree.Members(c.message) {
		if content = value; name != "role" && name != "content" {
			return
		}
	}
	from := c.end - len("}") - len(content)
	if from > 0 && isString(content) && bytes.HasPrefix(data[from:], content) { // it is the last member
		a.before, a.after = append(a.before, data[:from]...), append(a.after, data[from+len(content):]...)
	}
}

// equals reports whether the data of an event is equal except for the content.
func (a *aroundContent) equals(data json.RawMessage) bool {
	text, ok := bytes.CutPrefix(data, a.before)
	if !ok || len(a.before) == 0 || !isString(text) {
		return false
	}
	return string(text[jsonio.ValueLength(jsonio.View(text)):]) == string(a.after)
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

// lastEvents are the types of events, by protocol, after which a codec reads no more; it also ends with the endMark.
var lastEvents = map[string][]string{
	"anthropic-messages": {"message_stop"},
	"openai-responses":   {"response.completed", "response.incomplete", "response.failed", "response.cancelled"},
}

const endMark = "[DONE]"

// isKept reports whether a codec would have read an event that comes after the end of its stream, or the event is an
// error.
func isKept(protocol, kind string, data json.RawMessage) bool {
	isKnown := protocol == "anthropic-messages" && slices.Contains(anthropicEvents, kind) || protocol == "openai-responses" && strings.HasPrefix(kind, "response.")
	return isKnown || kind == "error" || !message.IsEmpty(tree.Member(data, "error"))
}

// anthropicBlocks are the open blocks of a stream of Anthropic, by their index.
type anthropicBlocks struct {
	open  map[int64]*anthropicBlock
	begun bool  // a block has begun; some servers have deltas only
	last  int64 // the index of the last one that has begun
}

// anthropicBlock is an open block, with the arguments of a call.
type anthropicBlock struct {
	kind, name string
	input      string // in the start of the block
	args       []byte // of the deltas, which replace it
}

// add adds an event that the codec skips: one of an unknown kind, one that belongs to no block, and a delta of an
// unknown kind, without its data or with other data.
func (b *anthropicBlocks) add(kind string, data json.RawMessage, add func(format string, args ...any)) {
	switch index := number(data, "index"); kind {
	case blockStart:
		block := tree.Member(data, "content_block")
		if len(block) == 0 || block[0] != '{' {
			add("the stream has a content_block_start without a block")
		}
		one := &anthropicBlock{kind: strings.Clone(tree.Scalar(block, "type")), name: strings.Clone(tree.Scalar(block, "name"))}
		if input := tree.Member(block, "input"); !message.IsEmpty(input) {
			one.input = strings.Clone(tree.String(input))
		}
		if b.begun && index > b.last+1 {
			add("the stream has a block of the index %d after that of the index %d: what was between is missing", index, b.last)
		}
		b.open[index], b.begun, b.last = one, true, index
	case blockStop:
		if one := b.open[index]; one != nil {
			one.end(add)
		}
		delete(b.open, index)
		unreadMembers("anthropic-messages", data, add)
	case blockDelta:
		b.delta(index, tree.Member(data, "delta"), add)
	default:
		switch isUnknown := !slices.Contains(anthropicEvents, kind); {
		case isUnknown && hasOtherData(data), kind == "" && jsonio.ValidSyntax(data) && !message.IsEmpty(data):
			add("the stream has an event of the unknown kind %q", kind)
		case !isUnknown:
			unreadMembers("anthropic-messages", data, add)
		}
	}
}

func (b *anthropicBlocks) delta(index int64, delta json.RawMessage, add func(format string, args ...any)) {
	kind := tree.Scalar(delta, "type")
	block, isOpen := b.open[index]
	if !isOpen {
		block = new(anthropicBlock)
	}
	isText := kind == "text_delta" || kind == "thinking_delta"
	isKnown := slices.Contains([]string{"text", "thinking", "tool_use", "server_tool_use"}, block.kind)
	value := tree.Member(delta, anthropicDeltas[kind])
	switch {
	case isText && (isOpen || !b.begun), anthropicDeltas[kind] != "" && isOpen:
		isCitation := len(value) > 0 && value[0] == '{'
		if isCitation != (kind == "citations_delta") || !isCitation && !isString(value) {
			add("the stream has a delta of the kind %q without the member %q", kind, anthropicDeltas[kind])
			return
		}
		if kind == "input_json_delta" {
			block.args = append(block.args, tree.Scalar(value)...)
			if isKnown && !strings.HasSuffix(block.kind, "tool_use") {
				add("the stream has a delta of the kind %q that belongs to no call", kind)
			}
		}
		for name, value := range tree.Members(delta) {
			isOther := name != "type" && name != anthropicDeltas[kind]
			if isOther && len(value) > 0 && strings.ContainsRune(`"[{`, rune(value[0])) && !message.IsEmpty(value) {
				add("the stream has a delta of the kind %q that has data that is not read, as %q", kind, name)
			}
		}
	case !isOpen:
		add("the stream has a delta of the kind %q that belongs to no block", kind)
	case isKnown:
		add("the stream has an event of the unknown kind %q", kind)
	}
}

// end adds the arguments in the start of a call if its deltas have others.
func (b *anthropicBlock) end(add func(format string, args ...any)) {
	if b.input != "" && len(b.args) > 0 && !jsonval.Equal(b.input, string(b.args)) {
		add("the call of %q has other arguments in its start than in its deltas", b.name)
	}
}

// unreadConverse adds a delta without content, one of a call that has not begun, and an event with other members only.
// Calls has the indexes of the calls that have begun.
func unreadConverse(name string, data json.RawMessage, calls map[string]bool, add func(format string, args ...any)) {
	index, delta := tree.String(data, "contentBlockIndex"), tree.Member(data, "delta")
	switch {
	case name == "contentBlockStart" && tree.Member(data, "start", "toolUse") != nil:
		calls[strings.Clone(index)] = true
	case name == "contentBlockDelta" && len(delta) > 0 && delta[0] == '{' && message.IsEmpty(delta):
		add("the stream has a delta without content, at the index %s", index)
	case name == "contentBlockDelta" && tree.Member(delta, "toolUse") != nil && !calls[index]:
		add("the stream has a delta of a call that belongs to no contentBlockStart, at the index %s", index)
	case slices.Contains([]string{"messageStart", "contentBlockStop", "messageStop", "metadata"}, name):
		unreadMembers("bedrock-converse", data, add)
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
	case "message-start", "content-end", "tool-call-end", "citation-end":
		unreadMembers("cohere-chat", data, add)
	}
	return block
}

// responseItems are the items of a stream of Responses.
type responseItems struct {
	begun  map[string]bool   // by index; some servers omit the beginnings
	others map[string][]byte // the deltas of other types than those that are read, by type and index
}

// readEvents are the types of events of Responses with text that the codec reads.
var readEvents = []string{
	"response.output_text.", "response.refusal.", "response.reasoning_text.", "response.reasoning_summary_text.", "response.reasoning_summary_part.",
	"response.content_part.", "response.function_call_arguments.", "response.custom_tool_call_input.", "response.output_item.",
}

// add adds a text or a call in an unknown type of event, and a delta of an item that has not begun.
func (r *responseItems) add(kind string, data json.RawMessage, add func(format string, args ...any)) {
	index := tree.String(data, "output_index")
	key := kind + " " + index
	isRead := slices.ContainsFunc(readEvents, func(name string) bool { return strings.HasPrefix(kind, name) })
	switch delta := tree.Scalar(data, "delta"); {
	case kind == "response.output_item.added":
		r.begun[strings.Clone(index)] = true
	case kind == "response.output_item.done":
		maps.DeleteFunc(r.others, func(key string, text []byte) bool {
			return strings.HasSuffix(key, " "+index) && hasString(tree.Member(data, "item"), string(text))
		})
	case isRead && strings.HasSuffix(kind, ".delta") && len(r.begun) > 0 && !r.begun[index]:
		add("the stream has a %s of the item %s, which has not begun", kind, index)
	case isRead && strings.HasSuffix(kind, ".delta") || kind == "error": // its shape is checked
	case isRead || tree.Member(data, "response") != nil:
		unreadMembers("openai-responses", data, add)
	case delta != "":
		r.others[key] = append(r.others[key], delta...)
	case r.others[strings.TrimSuffix(kind, ".done")+".delta "+index] == nil:
		unreadEvent("openai-responses", data, add)
	}
}

// end adds the deltas whose text no item has.
func (r *responseItems) end(add func(format string, args ...any)) {
	for _, key := range slices.Sorted(maps.Keys(r.others)) {
		kind, _, _ := strings.Cut(key, " ")
		add("the stream has a text in events of the unknown kind %q", kind)
	}
}

// hasString reports whether a value has a string with a text.
func hasString(value json.RawMessage, text string) bool {
	if s, ok := tree.Text(value); ok {
		return strings.Contains(s, text)
	}
	for _, inner := range tree.Members(value) {
		if hasString(inner, text) {
			return true
		}
	}
	for _, inner := range tree.Elements(value) {
		if hasString(inner, text) {
			return true
		}
	}
	return false
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
