package importer

import (
	"encoding/json"
	"strconv"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
)

// conversation reads the messages of one run, in order. Its zero value is
// ready.
type conversation struct {
	minted int
	// open are the ids of calls that came without one, as those of the old function_call
	// form, and that no result has answered yet, by function: such a result names it.
	open map[string][]string
	// inspect says that the messages are spelled as Inspect does: they may refer to texts
	// that are attached, by name. Until one is referred to, these stand beside them.
	inspect  bool
	attached map[string]string
	beside   map[string]json.RawMessage
	pictures map[string]llm.Media // that were decoded, by the text that is one or refers to it
	slab     []llm.Part           // memory for lists of parts; most are short
	calls    []llm.Part           // of the message that is being read
}

// room returns an empty list with room for n parts.
func (c *conversation) room(n int) []llm.Part {
	const piece = 64
	if len(c.slab) < n {
		c.slab = make([]llm.Part, max(n, piece))
	}
	list := c.slab[:0:n]
	c.slab = c.slab[n:]
	return list
}

// list reads an array of messages, up to one that is broken.
func (c *conversation) list(d *jsonio.Dec) (messages []llm.Message) {
	if !d.Array() {
		return nil
	}
	for first := true; d.More(&first); {
		messages = c.add(messages, d)
	}
	return messages
}

// fields holds the members of a message until all are known.
type fields struct {
	role, name, callID, reasoning, refusal string
	hasName                                bool
	content                                []llm.Part
	calls                                  []llm.Part // ToolCall each; good until the next message
	function                               *llm.ToolCall
	audio                                  string // the JSON of a spoken answer
	failure                                string // the JSON of a tool's error, or of its text
	shown, invocations                     string // the JSON of lists, as the AI SDK has them
	rest                                   opaque
}

// add reads a message as OpenAI's Chat Completions spells it, or the AI SDK, and appends it:
// as several, if it tells of several steps. After an error it appends nothing.
func (c *conversation) add(messages []llm.Message, d *jsonio.Dec) []llm.Message {
	f := c.readFields(d)
	if f.role == "" {
		d.Fail("the message has no role")
	}
	if d.Err() != nil {
		return messages
	}
	if f.role == "tool" || f.role == "function" {
		if f.audio != "" {
			f.rest.raw("audio", f.audio)
		}
		return append(messages, c.result(f))
	}
	if f.hasName {
		f.rest.text("name", f.name)
	}
	if f.callID != "" {
		f.rest.text("tool_call_id", f.callID)
	}
	role := llm.Role(f.role)
	if f.role == "developer" {
		role = llm.RoleSystem
		f.rest.text("role", f.role)
	}
	if f.shown != "" || f.invocations != "" {
		return c.addShown(messages, role, f)
	}
	return append(messages, llm.Message{Role: role, Parts: c.parts(f), Opaque: f.rest.json()})
}

func (c *conversation) readFields(d *jsonio.Dec) (f fields) {
	if !d.Object() {
		return f
	}
	for first := true; ; {
		key, ok := d.Key(&first)
		if !ok {
			return f
		}
		switch {
		case d.Null(): // as good as absent, in every member
		case key == "role":
			f.role = known(d.String())
		case key == "content":
			f.content = c.content(d)
		case key == "name":
			f.name, f.hasName = d.String(), true
		case key == "tool_call_id":
			f.callID = d.String()
		case key == "tool_call_ids": // as SWE-agent has it
			f.callID = onlyID(d, &f.rest)
		case (key == "reasoning_content" || key == "reasoning") && f.reasoning == "" && d.Peek() == '"':
			f.reasoning = d.String()
		case key == "refusal":
			f.refusal = d.String()
		case key == "audio":
			f.audio = d.Raw()
		case key == "tool_calls":
			f.calls = c.toolCalls(d)
		case key == "parts" && isShown(d):
			f.shown = d.Raw()
		case key == "toolInvocations" && d.Peek() == '[':
			f.invocations = d.Raw()
		case c.inspect && key == "function" && d.Peek() == '"': // of a result
			f.name, f.hasName = d.String(), true
		case c.inspect && (key == "error" || key == "tool_error"): // the latter is a text
			f.failure = d.Raw()
			f.rest.raw(key, f.failure)
		case key == "function_call":
			var call llm.ToolCall
			call.Opaque = function(d, &call).json()
			f.function = &call
		default:
			f.rest.raw(key, d.Raw())
		}
	}
}

// onlyID returns the only id of a list; of several, the whole list is kept.
func onlyID(d *jsonio.Dec, rest *opaque) string {
	raw := d.Raw()
	if elementOf(json.RawMessage(raw), "1") != nil {
		rest.raw("tool_call_ids", raw)
	}
	return scalar(elementOf(json.RawMessage(raw), "0"))
}

// known returns the constant for a usual role, so that the text it was read
// from need not be kept for it.
func known(role string) string {
	for _, r := range [...]string{"system", "user", "assistant", "tool", "function", "developer"} {
		if r == role {
			return r
		}
	}
	return role
}

// parts puts the pieces of a message in order. A text that is empty stands only
// where nothing else does.
func (c *conversation) parts(f fields) []llm.Part {
	n := len(f.content) + len(f.calls)
	if f.reasoning == "" && f.refusal == "" && f.function == nil && f.audio == "" && len(f.calls) == 0 {
		return f.content
	}
	parts := c.room(n)
	if f.reasoning != "" {
		parts = append(parts, llm.Reasoning{Text: f.reasoning})
	}
	if !empty(f.content) {
		parts = append(parts, f.content...)
	}
	if f.refusal != "" {
		parts = append(parts, llm.Text{Text: f.refusal, Refusal: true})
	}
	if f.audio != "" {
		parts = append(parts, unknown("openai.message.audio", f.audio))
	}
	if f.function != nil {
		c.mint(f.function)
		parts = append(parts, *f.function)
	}
	return append(parts, f.calls...)
}

func empty(content []llm.Part) bool {
	if len(content) != 1 {
		return len(content) == 0
	}
	t, ok := content[0].(llm.Text)
	return ok && t.Text == "" && t.Opaque == nil
}

// mint gives an id to a call that has none.
func (c *conversation) mint(call *llm.ToolCall) {
	c.minted++
	call.ID, call.IDGenerated = "function_call_"+strconv.Itoa(c.minted), true
	if c.open == nil {
		c.open = map[string][]string{}
	}
	c.open[call.Name] = append(c.open[call.Name], call.ID)
}

// answered returns the id of the first call of a function that was minted and has no
// result yet; or another, if there is none.
func (c *conversation) answered(name, otherwise string) string {
	ids := c.open[name]
	if len(ids) == 0 {
		return otherwise
	}
	c.open[name] = ids[1:]
	return ids[0]
}

// result makes a message of roles tool and function. The latter answers the
// first open function_call of its name.
func (c *conversation) result(f fields) llm.Message {
	if isResults(f.content) {
		return llm.Message{Role: llm.RoleTool, Parts: f.content, Opaque: f.rest.json()}
	}
	r := llm.ToolResult{ID: f.callID, Name: f.name, Content: f.content, IsError: f.failure != ""}
	if text := failureText(json.RawMessage(f.failure)); text != "" && empty(f.content) {
		r.Content = []llm.Part{llm.Text{Text: text}}
	}
	if f.role == "function" {
		f.rest.text("role", f.role)
		r.ID = c.answered(f.name, r.ID)
	}
	return llm.Message{Role: llm.RoleTool, Parts: append(c.room(1), r), Opaque: f.rest.json()}
}

// failureText returns the text of a tool's error.
func failureText(failure json.RawMessage) string {
	if text, ok := textOf(failure); ok {
		return text
	}
	return scalar(memberOf(failure, "message"))
}

// isResults reports whether parts are results, as the AI SDK has them.
func isResults(parts []llm.Part) bool {
	for _, p := range parts {
		if _, ok := p.(llm.ToolResult); !ok {
			return false
		}
	}
	return len(parts) > 0
}

// toolCalls reads the calls of an assistant message.
func (c *conversation) toolCalls(d *jsonio.Dec) []llm.Part {
	if !d.Array() {
		return nil
	}
	c.calls = c.calls[:0]
	for first := true; d.More(&first); {
		c.calls = append(c.calls, toolCall(d))
	}
	return c.calls
}

func toolCall(d *jsonio.Dec) llm.ToolCall {
	var c llm.ToolCall
	var rest opaque
	if !d.Object() {
		return c
	}
	for first := true; ; {
		key, ok := d.Key(&first)
		if !ok {
			c.Opaque = rest.json()
			return c
		}
		switch {
		case key == "id":
			c.ID = stringOrNull(d)
		case key == "function" && d.Peek() == '"': // as Inspect has it, with the arguments beside
			c.Name = d.String()
		case key == "arguments":
			c.Arguments = arguments(d)
		case key == "function", key == "custom":
			if more := function(d, &c).json(); more != nil {
				rest.raw(key, string(more))
			}
		case key == "type":
			if kind := d.Raw(); kind != `"function"` {
				rest.raw(key, kind)
			}
		default:
			rest.raw(key, d.Raw())
		}
	}
}

// function reads a call's name and arguments, a custom tool's input among them,
// and returns what else there is.
func function(d *jsonio.Dec, c *llm.ToolCall) (rest opaque) {
	if !d.Object() {
		return nil
	}
	for first := true; ; {
		key, ok := d.Key(&first)
		if !ok {
			return rest
		}
		switch {
		case key == "name":
			c.Name = stringOrNull(d)
		case key != "arguments" && key != "input":
			rest.raw(key, d.Raw())
		default:
			c.Arguments = arguments(d)
		}
	}
}

// arguments reads those that are a text as that text, and all else as the JSON that
// stands there, byte for byte; null is none.
func arguments(d *jsonio.Dec) string {
	switch {
	case d.Peek() == '"':
		return d.String()
	case d.Null():
		return ""
	}
	return d.Raw()
}

func stringOrNull(d *jsonio.Dec) string {
	if d.Null() {
		return ""
	}
	return d.String()
}
