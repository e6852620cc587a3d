package format

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/importer/internal/message"
	"github.com/looptape/looptape/trace/importer/internal/tree"
)

// SniffCodexExec recognizes the events of codex exec --json, one per line.
func SniffCodexExec(h *Head) (Layout, bool) {
	event := h.Object && h.Has("type") && (h.Has("thread_id", "item") || len(h.Keys) == 1)
	return Layout{Array: true}, event && h.Contains(`"thread.started"`, `"turn.started"`, `"item.started"`, `"item.completed"`)
}

// codexExecRecords are the types of events without items of the conversation, of ThreadEvent in
// codex-rs/exec/src/exec_events.rs of github.com/openai/codex, and earlier states of items.
var codexExecRecords = []string{
	"thread.started", "thread.resumed", "turn.started", "turn.completed", "turn.failed", "error", "item.started", "item.updated", "item.plan.delta", "request_user_input",
}

// codexExec reads the events of codex exec. A thread is a run, without its prompt, which the events
// do not have. A completed item is a text, or a call and its result. Run.Meta has the other events, by
// type.
type codexExec struct {
	run     *Run
	started []codexExecItem // not completed
	outputs int             // completed texts and reasoning
	usage   llm.Usage
	other   lists
}

// codexExecItem is an item that has begun, with the outputs before it.
type codexExecItem struct {
	record
	outputs int
}

// NewCodexExec returns a reader of the events of codex exec.
func NewCodexExec() Records { return &codexExec{} }

// Read implements Records.
func (c *codexExec) Read(raw json.RawMessage, line int) func() []Run {
	return readEach(raw, line, func(*record) {}, c.add)
}

// Skip implements Records.
func (c *codexExec) Skip() { c.begin(0).lose() }

func (c *codexExec) begin(line int) *Run {
	if c.run == nil {
		c.run = &Run{Name: "thread", Line: line, Epoch: NoEpoch}
	}
	return c.run
}

// Runs implements Records. A call that has begun and not ended has no result.
func (c *codexExec) Runs() (runs []Run) {
	if c.run == nil {
		return nil
	}
	c.endItems(false)
	c.other.moveTo(c.run)
	c.run.setUsage(c.usage)
	runs = []Run{*c.run}
	*c = codexExec{}
	return runs
}

// endItems reads the items that are not completed. It reports those whose turn has ended or whose model has responded
// since; the recording may end with the others.
func (c *codexExec) endItems(turnEnded bool) {
	for i := range c.started {
		item := &c.started[i]
		kind := tree.Scalar(item.members.get("item"), "type")
		if (turnEnded || c.outputs > item.outputs) && kind != "todo_list" && kind != "error" {
			at := item.record
			at.path = joinPath(at.path, "item")
			c.run.reportRecord(&at, "the item has begun and is not completed: its end is missing")
		}
		c.item(&item.record, false)
	}
	c.started = nil
}

func (c *codexExec) add(r *record) (ended []Run) {
	if r.kind == "thread.started" {
		if c.run != nil {
			ended = c.Runs()
		}
		c.begin(r.line).Name = cmp.Or(r.text("thread_id"), "thread")
	}
	run := c.begin(r.line)
	switch {
	case !r.isObject():
		run.reportRecord(r, "the record is not an object")
	case r.kind == "item.completed":
		c.item(r, true)
		return ended
	case !slices.Contains(codexExecRecords, r.kind):
		run.reportRecord(r, "the record has the unknown type "+strconv.Quote(r.kind))
	case r.kind == "item.started":
		c.started = append(c.started, codexExecItem{*r, c.outputs})
	case r.kind == "turn.completed": // the usage of the thread so far
		run.reportUsage(r, "usage", r.members.get("usage"))
		c.usage = codexUsage(r.members.get("usage"))
		c.endItems(true)
	case r.kind == "turn.failed":
		c.endItems(true)
	}
	c.other.add(cmp.Or(r.kind, "unknown"), r.raw)
	return ended
}

// item reads an item that is complete, or a call without its result.
func (c *codexExec) item(r *record, complete bool) {
	item := r.members.get("item")
	id := tree.Scalar(item, "id")
	if complete {
		c.started = slices.DeleteFunc(c.started, func(s codexExecItem) bool { return tree.Scalar(s.members.get("item"), "id") == id })
	}
	f := tree.Fields{Object: item}
	switch kind, _ := f.Text("type"); kind {
	case "agent_message", "plan", "reasoning":
		text, ok := f.Text("text")
		if complete {
			c.outputs++
		}
		switch {
		case !complete: // a delta of one that was not completed
		case !ok:
			c.unknown(r, "the item has no text")
		case kind == "reasoning":
			c.assistant(llm.Reasoning{Text: text, Opaque: f.Rest()})
		default:
			c.run.Answer = text
			c.assistant(llm.Text{Text: text, Opaque: f.Rest()})
		}
	case "todo_list", "error":
		if complete {
			c.other.add(kind, item)
		}
	case "command_execution", "file_change", "mcp_tool_call", "collab_tool_call", "web_search":
		if id == "" {
			c.unknown(r, "the call has no id")
			return
		}
		c.call(kind, id, &f, complete)
	default:
		c.unknown(r, "the item has the unknown type "+strconv.Quote(kind))
	}
}

func (c *codexExec) unknown(r *record, what string) {
	at := *r
	at.path = joinPath(r.path, "item")
	c.run.reportRecord(&at, what)
	c.other.add("unknown", r.raw)
}

// codexExecArguments are the members of calls that are their arguments; those of an MCP tool are one
// member.
var codexExecArguments = map[string][]string{
	"command_execution": {"command"}, "file_change": {"changes"}, "web_search": {"query", "action"},
	"collab_tool_call": {"prompt", "receiver_thread_ids"},
}

// call reads a call, and its result if it is complete. A web search has no result.
func (c *codexExec) call(kind, id string, f *tree.Fields, complete bool) {
	_ = f.Scalar("id")
	call := llm.ToolCall{ID: id, Name: kind, ProviderExecuted: kind == "web_search"}
	result := llm.ToolResult{ID: id}
	status := tree.Scalar(f.Object, "status")
	result.IsError = status == "failed" || status == "declined"
	var arguments tree.Object
	for _, name := range codexExecArguments[kind] {
		arguments.Add(name, f.First(name))
	}
	call.Arguments = cmp.Or(string(arguments.JSON()), "{}")
	switch kind {
	case "command_execution":
		result.Content = message.TextParts(f.First("aggregated_output"))
	case "file_change":
		result.Content = []llm.Part{llm.Text{Text: status}}
	case "collab_tool_call":
		call.Name = cmp.Or(f.Scalar("tool"), kind)
		result.Content = message.TextParts(f.First("agents_states"))
	case "mcp_tool_call":
		call.Name = tree.Scalar(f.Object, "server") + "__" + tree.Scalar(f.Object, "tool")
		if arguments := f.First("arguments"); !tree.IsNull(arguments) {
			call.Arguments = tree.String(arguments)
		}
		result.Content = mcpContent(f)
	}
	call.Opaque, result.Name = f.Rest(), call.Name
	if c.assistant(call); complete && !call.ProviderExecuted {
		c.run.Messages = append(c.run.Messages, llm.ToolResults(result))
	}
}

// mcpContent returns the content of a result of an MCP tool, or its error.
func mcpContent(f *tree.Fields) (content []llm.Part) {
	output := f.First("result")
	if failure := tree.Member(f.Object, "error"); !tree.IsNull(failure) && tree.IsNull(output) {
		if text := tree.Member(failure, "message"); tree.IsText(text) {
			failure = text
		}
		return message.TextParts(failure)
	}
	list := tree.Member(output, "content")
	if !isArray(list) || tree.Without(output, "content", "structured_content") != nil || !tree.IsNull(tree.Member(output, "structured_content")) {
		if tree.IsNull(output) {
			return nil
		}
		return message.TextParts(output)
	}
	for _, part := range tree.Elements(list) {
		if text, ok := tree.Text(part, "text"); ok && tree.Scalar(part, "type") == "text" {
			content = append(content, llm.Text{Text: text, Opaque: tree.Without(part, "type", "text")})
		} else {
			content = append(content, message.Unknown("mcp."+tree.Scalar(part, "type"), string(part)))
		}
	}
	return content
}

// assistant adds a part to the message of the assistant.
func (c *codexExec) assistant(p llm.Part) {
	last := len(c.run.Messages) - 1
	if last < 0 || c.run.Messages[last].Role != llm.RoleAssistant {
		c.run.Messages = append(c.run.Messages, llm.Message{Role: llm.RoleAssistant})
		last++
	}
	m := &c.run.Messages[last]
	m.Parts = append(m.Parts, p)
}
