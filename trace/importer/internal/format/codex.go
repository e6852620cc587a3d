package format

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/openai/responses"
	"github.com/looptape/looptape/trace/importer/internal/message"
	"github.com/looptape/looptape/trace/importer/internal/tree"
)

// SniffCodex recognizes rollouts of Codex, and those of its first versions, whose lines are items
// of the Responses API after a line with the data of the session.
func SniffCodex(h *Head) (Layout, bool) {
	first := h.Has("id") && h.Has("timestamp") && h.Has("instructions", "git") && !h.Has("messages")
	return Layout{Array: true}, h.Object && (h.Has("type") && h.Has("payload") && h.Has("timestamp") || first && h.Lines)
}

// codexRecords are the types of records without items of the conversation, of RolloutItem in
// codex-rs/protocol/src/protocol.rs of github.com/openai/codex. An event_msg is for the user
// interface: it repeats items, or has counts of tokens. A world_state has what the messages to the model are made from, and
// the metadata of a communication of agents whether it begins a turn.
var codexRecords = []string{"session_meta", "turn_context", "event_msg", "compacted", "world_state", "inter_agent_communication_metadata"}

// codexEvents are the types of events, of EventMsg in the same file, in all versions.
var codexEvents = strings.Fields(`
	error warning guardian_warning stream_error deprecation_notice background_event model_reroute model_verification
	session_configured thread_name_updated thread_goal_updated thread_rolled_back context_compacted shutdown_complete
	thread_settings_applied sub_agent_activity safety_buffering
	task_started task_complete turn_started turn_complete turn_aborted turn_diff token_count plan_update plan_delta
	agent_message agent_message_delta agent_message_content_delta user_message agent_reasoning agent_reasoning_delta
	agent_reasoning_raw_content agent_reasoning_raw_content_delta agent_reasoning_section_break
	reasoning_content_delta reasoning_raw_content_delta raw_response_item item_started item_completed
	exec_command_begin exec_command_output_delta exec_command_end terminal_interaction exec_approval_request
	patch_apply_begin patch_apply_updated patch_apply_end apply_patch_approval_request guardian_assessment
	mcp_startup_update mcp_startup_complete mcp_tool_call_begin mcp_tool_call_end mcp_list_tools_response
	web_search_begin web_search_end image_generation_begin image_generation_end view_image_tool_call
	request_permissions request_user_input elicitation_request dynamic_tool_call_request dynamic_tool_call_response
	get_history_entry_response conversation_path conversation_history list_custom_prompts_response
	list_skills_response list_remote_skills_response remote_skill_downloaded skills_update_available
	undo_started undo_completed entered_review_mode exited_review_mode hook_started hook_completed
	collab_agent_spawn_begin collab_agent_spawn_end collab_agent_interaction_begin collab_agent_interaction_end
	collab_waiting_begin collab_waiting_end collab_close_begin collab_close_end collab_resume_begin collab_resume_end
	realtime_conversation_started realtime_conversation_realtime realtime_conversation_closed
	realtime_conversation_sdp realtime_conversation_list_voices_response`)

// codex reads rollouts of Codex. A rollout is a run: its session and all turns, also those before a
// compaction. Parts of a response that follow each other are one message. Run.Meta has the other
// records, by type.
type codex struct {
	run   *Run
	id    string
	names map[string]string // of tools by call
	usage llm.Usage         // of the last token_count
	ended bool              // the response is complete: the next item of the assistant is another one's
	other lists
	said  []agentText // by the agent, in events
}

// agentText is the text of an event of the agent, which an item should have as well.
type agentText struct {
	line       int
	path, text string
}

// NewCodex returns a reader of rollouts of Codex.
func NewCodex() Records { return &codex{} }

// Read implements Records.
func (c *codex) Read(raw json.RawMessage, line int) func() []Run {
	return readEach(raw, line, (*record).decodeItem, c.add)
}

// decodeItem decodes the item of a record, and the other data of the record.
func (r *record) decodeItem() {
	kind, payload := r.payload()
	r.payloadKind = strings.Clone(tree.Scalar(payload, "type"))
	if r.isObject() && kind == "response_item" && r.payloadKind != "ghost_snapshot" {
		r.messages, r.invalid = codexItem(r.payloadKind, payload)
		r.data = r.without("payload", "content", "summary", "encrypted_content", "arguments", "input", "output", "action", "tools")
	}
}

// payload returns the payload of a record, and its kind.
func (r *record) payload() (kind string, payload json.RawMessage) {
	if payload = r.members.get("payload"); payload != nil {
		return r.kind, payload
	}
	switch kind = r.kind; { // of the first versions
	case r.members.get("record_type") != nil:
		kind = "event_msg"
	case kind == "" && r.members.get("id") != nil:
		kind = "session_meta"
	case kind != "":
		kind = "response_item"
	}
	return kind, r.raw
}

// Skip implements Records.
func (c *codex) Skip() { c.begin(0).lose() }

// Runs implements Records.
func (c *codex) Runs() (runs []Run) {
	if c.run == nil {
		return nil
	}
	c.run.Name = cmp.Or(c.id, c.run.Name)
	c.reportUnsaid()
	c.complete()
	c.other.moveTo(c.run)
	c.run.setUsage(c.usage)
	runs = []Run{*c.run}
	*c = codex{}
	return runs
}

func (c *codex) begin(line int) *Run {
	if c.run == nil {
		c.run = &Run{Name: "session", Line: line, Epoch: NoEpoch, Protocol: "openai-responses"}
		c.names = map[string]string{}
	}
	return c.run
}

func (c *codex) add(r *record) (ended []Run) {
	kind, payload := r.payload()
	if kind == "session_meta" {
		ended = c.session(payload)
	}
	c.begin(r.line)
	switch {
	case !r.isObject():
		c.run.reportRecord(r, "the record is not an object")
	case kind == "response_item":
		c.item(r)
		return ended
	case !slices.Contains(codexRecords, kind):
		c.run.reportRecord(r, "the record has the unknown type "+strconv.Quote(kind))
		kind = "unknown"
	case kind == "event_msg" && r.members.get("payload") != nil && !slices.Contains(codexEvents, r.payloadKind):
		c.run.Unknown = append(c.run.Unknown, Unknown{Line: r.line, Path: r.path, Err: fmt.Errorf("the event has the unknown type %q", r.payloadKind)})
	case kind == "event_msg" && r.payloadKind == "agent_message":
		if text := strings.TrimSpace(tree.String(payload, "message")); text != "" {
			c.said = append(c.said, agentText{r.line, r.path, text})
		}
	case kind == "event_msg" && r.payloadKind == "token_count":
		// Codex counts the tokens when a response is complete, and repeats the count with its limits.
		// Without usage, the count comes after a response, or before one with its limits.
		before := c.usage
		info := tree.Member(payload, "info")
		if !message.IsEmpty(info) && !isObject(info) {
			c.run.Unknown = append(c.run.Unknown, Unknown{Line: r.line, Path: joinPath(r.path, "payload.info"), Err: errors.New("expected an object with the usage")})
		}
		if total := tree.Member(info, "total_token_usage"); !tree.IsNull(total) {
			c.run.reportUsage(r, "payload.info.total_token_usage", total)
			c.usage = codexUsage(total)
		}
		c.ended = c.ended || c.usage != before || tree.IsNull(info)
	case kind == "event_msg" && r.payloadKind == "thread_rolled_back":
		c.rollBack(r, tree.Count(payload, "num_turns"))
	}
	c.other.add(kind, r.raw)
	return ended
}

// contextPrefixes are the beginnings of user messages that are not from the user, of is_contextual_user_fragment in
// codex-rs/core/src/contextual_user_message.rs of github.com/openai/codex.
var contextPrefixes = []string{
	"# AGENTS.md instructions", "<user_instructions", "<environment_context", "<skill>", "<user_shell_command>", "<turn_aborted>", "<subagent_notification>",
}

// rollBack removes the last turns, each from a message of the user, which Codex does not send any more. Run.Meta has
// their messages.
func (c *codex) rollBack(r *record, turns int64) {
	if turns == 0 {
		c.run.reportRecord(r, "the event has no number of turns in num_turns")
		return
	}
	c.reportUnsaid()
	c.said = nil
	from := len(c.run.Messages)
	for i := from - 1; i >= 0 && turns > 0; i-- {
		m := c.run.Messages[i]
		isContext := func(prefix string) bool { return strings.HasPrefix(strings.TrimSpace(m.Text()), prefix) }
		if m.Role == llm.RoleUser && !slices.ContainsFunc(contextPrefixes, isContext) {
			from, turns = i, turns-1
		}
	}
	for _, m := range c.run.Messages[from:] {
		c.other.add("rolled_back", m.AppendJSON(nil))
	}
	c.run.Messages, c.ended = c.run.Messages[:from], true
	if c.run.Gap > from {
		c.run.Gap = from + 1
	}
}

// complete adds the results of calls that were interrupted before a message of the user. Codex adds them to each request
// (codex-rs/core/src/context_manager/normalize.rs), and does not record them.
func (c *codex) complete() {
	results := map[string]bool{}
	for _, m := range c.run.Messages {
		for _, p := range m.Parts {
			if result, ok := p.(llm.ToolResult); ok {
				results[result.ID] = true
			}
		}
	}
	for i := 0; i < len(c.run.Messages) && (c.run.Gap == 0 || i+2 < c.run.Gap); i++ {
		var aborted []llm.Part
		for _, part := range c.run.Messages[i].Parts {
			switch p := part.(type) {
			case llm.ToolCall:
				if !results[p.ID] && !p.ProviderExecuted {
					aborted = append(aborted, llm.ToolResult{ID: p.ID, Name: p.Name, Content: []llm.Part{llm.Text{Text: "aborted"}}})
				}
			case llm.Text: // the model continued after the calls before, which were not interrupted
				aborted = nil
			case llm.Media, llm.Reasoning, llm.ToolResult, llm.Unknown:
			}
		}
		next := i + 1
		hasResults := next < len(c.run.Messages) && c.run.Messages[next].Role == llm.RoleTool
		if hasResults {
			next++
		}
		if aborted == nil || next == len(c.run.Messages) || c.run.Messages[next].Role == llm.RoleAssistant {
			continue
		}
		if hasResults {
			c.run.Messages[i+1].Parts = append(c.run.Messages[i+1].Parts, aborted...)
			continue
		}
		c.run.Messages = slices.Insert(c.run.Messages, next, llm.Message{Role: llm.RoleTool, Parts: aborted})
		if c.run.Gap > 0 {
			c.run.Gap++
		}
	}
}

// reportUnsaid reports the texts of the agent, in events, that begin with a line which no item has. Codex shows a text
// without its citations, so the rest may be another one. With items that were not read, the text may be in these.
func (c *codex) reportUnsaid() {
	if len(c.said) == 0 || c.run.Gap > 0 {
		return
	}
	var all strings.Builder
	for _, m := range c.run.Messages {
		if m.Role == llm.RoleAssistant {
			all.WriteString(m.Text())
			all.WriteByte('\n')
		}
	}
	for _, s := range c.said {
		if first, _, _ := strings.Cut(s.text, "\n"); !strings.Contains(all.String(), strings.TrimSpace(first)) {
			c.run.Unknown = append(c.run.Unknown, Unknown{Line: s.line, Path: s.path, Err: fmt.Errorf("the event has the text %.50q of the agent, which no item has", s.text)})
		}
	}
}

// session begins a session. A fork also has the data of the sessions that it continues, before
// its first item.
func (c *codex) session(meta json.RawMessage) (ended []Run) {
	id := tree.Scalar(meta, "id")
	if c.run != nil && len(c.run.Messages) > 0 && !strings.HasSuffix(c.id, id) {
		ended = c.Runs()
	}
	if c.id == "" {
		c.id = id
		if parent := tree.Scalar(meta, "source", "subagent", "thread_spawn", "parent_thread_id"); parent != "" {
			c.id = parent + "/" + id
		}
	}
	return ended
}

// codexUsage reads a TokenUsage, in which input_tokens includes the cached ones.
func codexUsage(raw json.RawMessage) llm.Usage {
	return llm.Usage{
		InputTokens: tree.Count(raw, "input_tokens"), CacheReadInputTokens: tree.Count(raw, "cached_input_tokens"),
		OutputTokens: tree.Count(raw, "output_tokens"), ReasoningOutputTokens: tree.Count(raw, "reasoning_output_tokens"),
	}
}

func (c *codex) item(r *record) {
	if r.payloadKind == "ghost_snapshot" { // a commit of the user's files
		c.other.add("ghost_snapshot", r.raw)
		return
	}
	if r.invalid != nil {
		at := *r
		at.path = joinPath(r.path, "payload"+r.invalid.Path)
		c.run.reportRecord(&at, r.invalid.Msg)
		c.other.add("unknown", r.raw)
		return
	}
	messages := slices.DeleteFunc(r.messages, func(m llm.Message) bool { return len(m.Parts) == 0 })
	if len(messages) == 0 {
		c.other.add("empty", r.raw)
		return
	}
	nameResults(messages, c.names)
	for _, m := range messages {
		last := len(c.run.Messages) - 1
		if last < 0 || m.Role != c.run.Messages[last].Role || m.Role != llm.RoleAssistant && m.Role != llm.RoleTool || m.Role == llm.RoleAssistant && c.ended {
			c.run.Messages = append(c.run.Messages, llm.Message{Role: m.Role, Opaque: m.Opaque})
			last++
		}
		c.ended = false
		to := &c.run.Messages[last]
		to.Parts = append(to.Parts, m.Parts...)
		to.Opaque = addRecord(to.Opaque, r.data)
	}
}

// codexItem reads an item of a kind. Codex answers some calls that the Responses API runs elsewhere.
func codexItem(kind string, item json.RawMessage) ([]llm.Message, *jsonio.SyntaxError) {
	id := ""
	if strings.HasPrefix(kind, "tool_search_") {
		id = tree.Scalar(item, "call_id")
	}
	switch {
	case kind == "tool_search_call" && id != "":
		call := llm.ToolCall{ID: id, Name: "tool_search", Arguments: tree.String(item, "arguments"), Opaque: tree.Without(item, "call_id", "arguments")}
		call.ProviderExecuted = tree.Scalar(item, "execution") == "server"
		return []llm.Message{llm.Assistant(call)}, nil
	case kind == "tool_search_output" && id != "" && tree.Scalar(item, "execution") != "server":
		content := []llm.Part{llm.Text{Text: tree.String(item, "tools")}}
		return []llm.Message{llm.ToolResults(llm.ToolResult{ID: id, Content: content, Opaque: tree.Without(item, "call_id", "tools")})}, nil
	case kind == "":
		return nil, &jsonio.SyntaxError{Msg: "the item has no type or no content"}
	}
	if err := message.CheckItem(item); err != nil {
		return nil, err
	}
	messages, err := message.DecodeOne(responses.Protocol{}, "input", item)
	return message.ClientCalls(messages), err
}
