package format

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/internal/jsonval"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/importer/internal/message"
	"github.com/looptape/looptape/trace/importer/internal/tree"
)

// SniffManagedAgents recognizes sessions of Anthropic's managed agents: the calls of the SDK with
// their values, one per line, or events.
func SniffManagedAgents(h *Head) (Layout, bool) {
	event := h.Has("type") && h.Has("processed_at") && h.Contains(`"agent.`, `"session.`, `"user.message"`, `"span.`)
	return Layout{Array: true}, event || !h.CSV && h.Contains(`["client.beta.sessions.`)
}

// managed reads sessions of managed agents (https://platform.claude.com/docs/en/managed-agents/events-and-streaming).
// A session is a run, and so is each other thread of it. The events of a response that follow each
// other are one message, up to the next request to the model. Events that the program sends are in the stream again. Run.Meta has the
// events without messages, by type.
type managed struct {
	threads []*managedThread // the main one is the first
	sent    []record
	seen    map[string]record // events by id
	other   lists
}

type managedThread struct {
	Run
	id    string
	names map[string]string // of tools by call
	usage llm.Usage
	next  bool // a request to the model has begun after the last message
}

// NewManagedAgents returns a reader of sessions of managed agents.
func NewManagedAgents() Records { return &managed{seen: map[string]record{}} }

// Read implements Records.
func (c *managed) Read(raw json.RawMessage, line int) func() []Run {
	method, isCall := tree.Text(tree.Element(raw, "0"))
	if !isCall {
		records, _ := decodeElements(raw, line, []string{"data", "events"}, (*record).decodeEvent)
		return func() []Run {
			for i := range records {
				c.event(&records[i])
			}
			return nil
		}
	}
	value := newRecord(tree.Element(raw, "1"), line, "[1]")
	value.decodeEvent()
	return func() []Run { return c.call(method, raw, &value) }
}

// call reads a call of the SDK, with its value.
func (c *managed) call(method string, raw json.RawMessage, value *record) (ended []Run) {
	line := value.line
	if tree.Element(raw, "2") != nil {
		c.other.add("calls", raw)
	}
	switch {
	case value.raw == nil:
		c.unknown(&record{line: line, raw: raw}, "the call has no value")
	case strings.HasSuffix(method, ".events.stream"), strings.HasSuffix(method, ".events.list"):
		c.event(value)
	case strings.HasSuffix(method, ".events.send"):
		c.send(value.raw, line)
	case strings.HasPrefix(method, "client.beta.") && !strings.Contains(method, ".events."):
		if strings.HasSuffix(method, ".sessions.create") {
			ended = c.create(value)
		}
		c.other.add(method, value.raw)
	default:
		c.unknown(&record{line: line, path: "[0]", raw: raw}, "the call has the unknown method "+strconv.Quote(method))
	}
	return ended
}

// Skip implements Records.
func (c *managed) Skip() { c.thread("", 0).lose() }

// create begins a session, with the system prompt of its agent.
func (c *managed) create(r *record) (ended []Run) {
	if c.threads != nil && len(c.threads[0].Messages) > 0 {
		ended = c.Runs()
	}
	t := c.thread("", r.line)
	t.Name = cmp.Or(r.text("id"), t.Name)
	t.reportNotObject("agent", r.members.get("agent"))
	system, ok := tree.Text(r.members.get("agent"), "system")
	if other := tree.Member(r.members.get("agent"), "system"); !ok && !message.IsEmpty(other) {
		t.ReportUnknown("agent.system", "the system prompt is not read: expected a text")
	}
	t.Messages = append(t.Messages, message.System(system)...)
	return ended
}

// thread returns the run of a thread; the main one has no id.
func (c *managed) thread(id string, line int) *managedThread {
	for _, t := range c.threads {
		if t.id == id {
			return t
		}
	}
	if id != "" && c.threads == nil {
		c.thread("", line)
	}
	t := &managedThread{Run: Run{Name: cmp.Or(id, "session"), Line: line, Epoch: NoEpoch}, id: id, names: map[string]string{}}
	c.threads = append(c.threads, t)
	return t
}

// send keeps the events that the program sends until they are in the stream.
func (c *managed) send(raw json.RawMessage, line int) {
	t := c.thread("", line)
	if id, ok := tree.Text(tree.Element(raw, "0")); ok && t.Name == "session" {
		t.Name = id
	}
	events := tree.Member(tree.Element(raw, "1"), "events")
	if !isArray(events) {
		t.reportRecord(&record{line: line, path: "[1]"}, "expected the id of a session and an object with events")
	}
	for n, event := range tree.Elements(events) {
		r := newRecord(event, line, "[1][1].events["+strconv.Itoa(n)+"]")
		c.sent = append(c.sent, r)
	}
	c.other.add("sent", raw)
}

// received removes the event of the stream from those that were sent.
func (c *managed) received(r *record) {
	if c.sent == nil {
		return
	}
	members := r.members.all()
	i := slices.IndexFunc(c.sent, func(sent record) bool {
		for _, f := range sent.members {
			if !jsonval.Equal(string(f.value), string(members[f.name])) {
				return false
			}
		}
		return true
	})
	if i >= 0 {
		c.sent = slices.Delete(c.sent, i, i+1)
	}
}

func (c *managed) unknown(r *record, what string) {
	c.thread(r.text("session_thread_id"), r.line).reportRecord(r, what)
	c.other.add("unknown", r.raw)
}

// event reads an event of the stream.
func (c *managed) event(r *record) {
	if id := r.text("id"); id != "" {
		if first, ok := c.seen[id]; ok {
			c.repeated(r, &first)
			return
		}
		c.seen[id] = record{members: r.members}
	}
	c.received(r)
	form, isMessage := managedEvents[r.kind]
	switch {
	case !r.isObject():
		c.unknown(r, "the event is not an object")
	case isMessage:
		c.message(r, form)
	case managedOther[r.kind], strings.HasPrefix(r.kind, "session."), strings.HasPrefix(r.kind, "span."):
		if usage := r.members.get("model_usage"); r.kind == "span.model_request_end" && usage != nil {
			t := c.thread(r.text("session_thread_id"), r.line)
			t.reportUsage(r, "model_usage", usage)
			t.usage = t.usage.Add(anthropicUsage(usage))
		}
		if r.kind == "span.model_request_start" || r.kind == "session.status_idle" { // the response has ended
			c.thread(r.text("session_thread_id"), r.line).next = true
		}
		c.other.add(r.kind, r.raw)
	default:
		c.unknown(r, "the event has the unknown type "+strconv.Quote(r.kind))
	}
}

// repeated reads an event with the id of an earlier one, which the list of all events has again.
func (c *managed) repeated(r, first *record) {
	same := func(a, b *record) bool {
		others := b.members.all()
		for _, f := range a.members {
			if f.name != "processed_at" && !jsonval.Equal(string(f.value), string(others[f.name])) {
				return false
			}
		}
		return true
	}
	if same(r, first) && same(first, r) {
		c.other.add("repeated", r.raw)
		return
	}
	c.unknown(r, "the event differs from an earlier event with the same id")
}

// managedForm is how an event becomes a message of the Messages API: its role, and for calls and
// results the type of its only block with the members of the event.
type managedForm struct {
	role, block string
	members     map[string]string // names in the block by those in the event
}

var (
	managedCall = managedForm{"assistant", "tool_use", map[string]string{"id": "id", "name": "name", "input": "input"}}
	managedText = managedForm{role: "assistant"}
)

func managedResult(id string) managedForm {
	return managedForm{"user", "tool_result", map[string]string{id: "tool_use_id", "content": "content", "is_error": "is_error"}}
}

// managedEvents are the types of events with messages.
var managedEvents = map[string]managedForm{
	"user.message": {role: "user"}, "agent.message": managedText,
	"agent.tool_use": managedCall, "agent.mcp_tool_use": managedCall, "agent.custom_tool_use": managedCall,
	"agent.tool_result": managedResult("tool_use_id"), "agent.mcp_tool_result": managedResult("mcp_tool_use_id"),
	"user.custom_tool_result": managedResult("custom_tool_use_id"),
}

// managedOther are the other types of events, in addition to those of the session and of spans. An
// agent.thinking has no text.
var managedOther = map[string]bool{
	"user.interrupt": true, "user.tool_confirmation": true, "user.define_outcome": true, "agent.thinking": true,
	"agent.thread_context_compacted": true, "agent.thread_message_sent": true, "agent.thread_message_received": true,
}

// decodeEvent decodes the message of an event, and its other data, which is nil if there is none.
func (r *record) decodeEvent() {
	form, isMessage := managedEvents[r.kind]
	if !isMessage || !r.isObject() {
		return
	}
	if form.block == "" && r.members.get("content") == nil {
		return
	}
	const around = len(`{"role":"assistant","content":[{"type":"tool_result","tool_use_id":}]}`)
	m, names := make(tree.Object, 0, len(r.raw)+around), []string{"content"}
	m.Text("role", form.role)
	if form.block == "" {
		m.Add("content", r.members.get("content"))
	} else {
		block := make(tree.Object, 0, cap(m))
		block.Text("type", form.block)
		for name, value := range tree.Members(r.raw) {
			if to := form.members[name]; to != "" && !tree.IsNull(value) {
				block.Add(to, value)
				names = append(names, name)
			}
		}
		m.Raw("content", "[")
		m = append(append(m, block.JSON()...), ']')
	}
	r.setAnthropic(m.JSON())
	r.data = tree.Without(r.raw, names...)
}

// message adds an event with a message to its thread.
func (c *managed) message(r *record, form managedForm) {
	err := r.invalid
	switch {
	case form.block == "" && r.members.get("content") == nil:
		c.unknown(r, "the event has no content")
		return
	case err == nil && len(r.messages) == 1 && len(r.messages[0].Parts) == 0:
		c.other.add("empty", r.raw)
		return
	case err == nil && form.block != "" && !hasID(r.messages):
		err = &jsonio.SyntaxError{Msg: "the event has no id of the call"}
	}
	if err != nil {
		at, path := *r, err.Path
		if form.block != "" {
			path = strings.TrimPrefix(path, ".content[0]")
		}
		at.path = joinPath(r.path, path)
		c.unknown(&at, err.Msg)
		return
	}
	thread := c.thread(r.text("session_thread_id"), r.line)
	thread.reportUnread(r, "")
	thread.add(r.messages, r.data)
}

// hasID reports whether the calls and results of messages have ids.
func hasID(messages []llm.Message) bool {
	for _, m := range messages {
		for _, p := range m.Parts {
			call, isCall := p.(llm.ToolCall)
			result, isResult := p.(llm.ToolResult)
			if isCall && call.ID == "" || isResult && result.ID == "" {
				return false
			}
		}
	}
	return true
}

func (t *managedThread) add(messages []llm.Message, data json.RawMessage) {
	nameResults(messages, t.names)
	for i, m := range messages {
		last := len(t.Messages) - 1
		if last < 0 || m.Role != llm.RoleAssistant || t.Messages[last].Role != m.Role || t.next {
			t.Messages = append(t.Messages, llm.Message{Role: m.Role})
			last++
		}
		t.next = false
		to := &t.Messages[last]
		to.Parts = append(to.Parts, m.Parts...)
		if i == 0 {
			to.Opaque = addRecord(to.Opaque, data)
		}
	}
}

// Runs implements Records.
func (c *managed) Runs() (runs []Run) {
	for i := range c.sent {
		c.thread("", c.sent[i].line).reportRecord(&c.sent[i], "the event "+strconv.Quote(c.sent[i].kind)+" was sent, but it is not in the stream")
	}
	if c.threads == nil && c.other != nil {
		c.thread("", 0)
	}
	for i, t := range c.threads {
		if i == 0 {
			c.other.moveTo(&t.Run)
		} else {
			t.Name = c.threads[0].Name + "/" + t.id
		}
		t.setUsage(t.usage)
		runs = append(runs, t.Run)
	}
	*c = managed{seen: map[string]record{}}
	return runs
}
