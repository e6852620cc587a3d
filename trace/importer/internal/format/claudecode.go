package format

import (
	"cmp"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/importer/internal/tree"
)

// SniffClaudeCode recognizes sessions of Claude Code: one record per line, or an object with the
// records as loglines.
func SniffClaudeCode(h *Head) (Layout, bool) {
	record := h.Object && h.Has("type") && (h.Has("sessionId", "parentUuid", "leafUuid", "isSnapshotUpdate") ||
		h.Contains(`"parentUuid"`, `"isSidechain"`, `"sessionId"`))
	return Layout{Array: true}, record || h.Object && h.Has("loglines")
}

// claudeRecords are the types of records that are not messages. Claude Code has no published
// specification; these are the types of versions 1.0 to 2.1.
var claudeRecords = []string{
	"system", "summary", "progress", "attachment", "file-history-snapshot", "queue-operation", "custom-title", "ai-title",
	"agent-name", "agent-color", "agent-setting", "tag", "last-prompt", "task-summary", "mode", "permission-mode",
	"worktree-state", "pr-link", "content-replacement", "attribution-snapshot", "speculation-accept", "saved_hook_context",
	"marble-origami-commit", "marble-origami-snapshot", "marble-origami-reset", "bridge-session",
	"file-history-delta", "cost-state", "relocated", "continued-in", "fork-context-ref", "observer-ref", "frame-link", "ended-by-model",
	"atis-latch", "isolation-latch", "telemetry-latch", "memory-mode", "dev-mods", "history-suppression",
	"artifact-comment-monitor", "artifact-autoreact-ledger",
}

// claude reads sessions of Claude Code. A session is a tree of records: each names its parent. A
// conversation of the session is a run. Where the user went back to an earlier message, another
// run begins, with the messages up to that one. Each subagent is a run too; older versions have
// its records within the session, newer ones in a file of its own. A response is one message,
// although each of its blocks is a record, and its usage counts once, although each record has it.
// A record that is in the session again, with the same uuid and the same message, counts once.
// Run.Meta has the records that are not messages, by type.
type claude struct {
	kinds    []string // of records that are not messages
	lists    []string // members with a list of records
	isSDK    bool     // the records are messages of the Agent SDK
	sessions []*claudeSession
	last     *claudeSession
	places   map[string]claudePlace // by the uuid of a record
	waiting  []record               // before the first session
	ended    map[string]bool        // sessions that were idle, by id
	records  int
}

// NewClaudeCode returns a reader of sessions of Claude Code.
func NewClaudeCode() Records {
	return &claude{kinds: claudeRecords, lists: []string{"loglines"}, places: map[string]claudePlace{}, ended: map[string]bool{}}
}

// hashSeed is of the hashes of the messages of records.
var hashSeed = maphash.MakeSeed()

// maxIdleRecords is the number of records of other sessions after which a session has ended.
const maxIdleRecords = 1000

type claudeSession struct {
	id     string
	runs   []*claudeRun
	latest map[string]*claudeRun // by subagent; empty for the main conversation
	agents map[string]string     // the call that started a subagent, by the id of the subagent
	calls  map[string][]string   // the calls of subagents, by prompt
	seen   int                   // number of the last record
}

type claudeRun struct {
	Run
	session   *claudeSession
	side      string               // the subagent; empty for the main conversation
	branch    int                  // from 1, of the runs with the same side
	responses map[string]int       // message by id
	usage     map[string]llm.Usage // by the id of the response
	total     llm.Usage            // that the results of the Agent SDK state
	cost      float64              // of all records
	names     map[string]string    // of tools by call
	other     lists
}

// claudePlace is a place in a run, after n messages.
type claudePlace struct {
	run  *claudeRun
	n    int
	data uint64 // a hash of the message of the record
}

// Read implements Records.
func (c *claude) Read(raw json.RawMessage, line int) func() []Run {
	records, rest := decodeElements(raw, line, c.lists, (*record).decodeAnthropic)
	return func() []Run { return c.addAll(records, rest, line) }
}

// decodeAnthropic decodes the message of a record, and the other data of the record.
func (r *record) decodeAnthropic() {
	if m := r.members.get("message"); r.isObject() && (r.kind == "user" || r.kind == "assistant") && tree.Member(m, "content") != nil {
		r.setAnthropic(m)
		r.data = r.without("message", "content")
	}
}

// addAll adds the records of a value, and the other members of the value.
func (c *claude) addAll(records []record, rest map[string]json.RawMessage, line int) (ended []Run) {
	for i := range records {
		c.add(records[i])
	}
	if rest != nil && c.last == nil {
		c.session("", line)
	}
	for name, value := range rest {
		c.last.run("", line).SetMeta(name, value)
	}
	c.sessions = slices.DeleteFunc(c.sessions, func(s *claudeSession) bool {
		idle := c.records-s.seen > maxIdleRecords
		if idle {
			c.ended[s.id] = true
			ended = append(ended, c.end(s)...)
		}
		return idle
	})
	return ended
}

// Skip implements Records. The record may be of any open session.
func (c *claude) Skip() {
	for _, s := range c.sessions {
		for _, r := range s.runs {
			r.lose()
		}
	}
}

// Runs implements Records.
func (c *claude) Runs() (runs []Run) {
	if c.waiting != nil {
		c.begin(&record{})
	}
	for _, s := range c.sessions {
		runs = append(runs, c.end(s)...)
	}
	c.sessions = nil
	return runs
}

func (c *claude) add(r record) {
	if c.isSDK && r.members.get("direction") != nil {
		r = c.unwrap(r)
	}
	c.records++
	if c.last == nil && r.text("sessionId") == "" && r.kind != "user" && r.kind != "assistant" {
		c.waiting = append(c.waiting, r)
		return
	}
	run := c.begin(&r)
	parent, known := c.places[r.text("parentUuid")]
	known = known && parent.run.session == run.session
	if known && parent.run.side == run.side {
		run = parent.run
	}
	id, hash := r.text("uuid"), maphash.Bytes(hashSeed, r.members.get("message"))
	if at, again := c.places[id]; again && r.members.get("message") != nil && at.data == hash && at.run.session == run.session {
		at.run.other.add("replay", r.raw)
		return
	}
	if !r.isObject() || r.kind != "user" && r.kind != "assistant" {
		run.note(&r, c.kinds)
	} else if messages := run.read(&r); messages != nil && run.repeats(&r, messages) {
		run.other.add("replay", r.raw)
	} else if messages != nil {
		response := r.responseID()
		if known && parent.run == run && run.leaves(parent.n, messages, response) {
			run = run.fork(parent.n, r.line)
		}
		run.add(&r, response, messages)
		known = false
	}
	if id != "" {
		c.places[id] = claudePlace{run, len(run.Messages), hash}
		if known {
			c.places[id] = claudePlace{run, min(parent.n, len(run.Messages)), hash}
		}
	}
}

// begin returns the latest run of the session and the subagent of a record, which it begins if
// there is none.
func (c *claude) begin(r *record) *claudeRun {
	s := c.session(r.text("sessionId"), r.line)
	s.seen = c.records
	if c.isSDK && r.kind == "system" {
		s.id = cmp.Or(r.text("session_id"), s.id)
	}
	c.last = s
	waiting := c.waiting
	c.waiting = nil
	for i := range waiting {
		s.run("", waiting[i].line).note(&waiting[i], c.kinds)
	}
	return s.run(c.side(r, s), r.line)
}

// side returns the subagent of a record: the call that started it, or its id, or its first record.
func (c *claude) side(r *record, s *claudeSession) string {
	agent, call := r.text("agentId"), r.text("parent_tool_use_id")
	p, known := c.places[r.text("parentUuid")]
	switch {
	case c.isSDK:
		s.agents[call] = call
		return call
	case !tree.IsTrue(r.members.get("isSidechain")):
		return ""
	case agent != "":
		return agentPrefix + agent
	case known && p.run.side != "":
		return p.run.side
	}
	return "#" + cmp.Or(r.text("uuid"), "subagent")
}

const agentPrefix = "agent-"

// session returns the open session with an id; for an empty id the one of the last record.
func (c *claude) session(id string, line int) *claudeSession {
	for _, s := range c.sessions {
		if s.id == id || id == "" && s == c.last || c.isSDK {
			return s
		}
	}
	again := c.ended[id]
	s := &claudeSession{id: id, latest: map[string]*claudeRun{}, agents: map[string]string{}, calls: map[string][]string{}, seen: c.records}
	c.sessions = append(c.sessions, s)
	c.last = s
	if again {
		s.run("", line).reportRecord(&record{line: line}, fmt.Sprintf("the session continues after %d records of other sessions: its beginning is another run", maxIdleRecords))
	}
	return s
}

func (s *claudeSession) run(side string, line int) *claudeRun {
	if r := s.latest[side]; r != nil {
		return r
	}
	r := &claudeRun{session: s, side: side, branch: 1, responses: map[string]int{}, usage: map[string]llm.Usage{}, names: map[string]string{}}
	r.Run = Run{Line: line, Epoch: NoEpoch, Protocol: "anthropic-messages"}
	s.runs = append(s.runs, r)
	s.latest[side] = r
	return r
}

// fork begins a run with the first n messages of another.
func (r *claudeRun) fork(n, line int) *claudeRun {
	branch := r.session.latest[r.side].branch + 1
	delete(r.session.latest, r.side)
	f := r.session.run(r.side, line)
	f.branch, f.Messages, f.names = branch, slices.Clone(r.Messages[:n]), maps.Clone(r.names)
	if r.Gap > 0 && r.Gap <= n {
		f.Gap = r.Gap
	}
	return f
}

// responseID returns the id of the response that a record is a part of; empty if it is of none.
func (r *record) responseID() string {
	if r.kind != "assistant" {
		return ""
	}
	return cmp.Or(tree.Scalar(r.members.get("message"), "id"), r.text("uuid"), "line "+strconv.Itoa(r.line)+r.path)
}

// read reads the messages of a record; nil if there are none.
func (r *claudeRun) read(rec *record) []llm.Message {
	switch {
	case rec.invalid != nil:
		at := *rec
		at.path = joinPath(rec.path, "message"+rec.invalid.Path)
		r.unknown(&at, rec.invalid.Msg)
		return nil
	case rec.data == nil:
		r.unknown(rec, "the record has no message with content")
		return nil
	}
	r.reportUnread(rec, "message")
	messages := rec.messages
	if messages = slices.DeleteFunc(messages, func(m llm.Message) bool { return len(m.Parts) == 0 }); len(messages) == 0 {
		r.other.add("empty", rec.raw)
		return nil
	}
	nameResults(messages, r.names)
	return messages
}

// leaves reports whether messages after the first n are not part of the conversation that a record
// continues. Results of parallel calls and the other blocks of a response leave none.
func (r *claudeRun) leaves(n int, messages []llm.Message, response string) bool {
	_, continued := r.responses[response]
	isOther := func(m llm.Message) bool { return m.Role != llm.RoleTool }
	return !continued && slices.ContainsFunc(messages, isOther) && slices.ContainsFunc(r.Messages[n:], isOther)
}

// add adds the messages of a record. The first one has the other data of the record.
func (r *claudeRun) add(rec *record, response string, messages []llm.Message) {
	r.link(rec, messages)
	for i := range messages {
		messages[i].Opaque = nil // the record has it
	}
	at, continued := r.responses[response]
	if continued {
		m := &r.Messages[at]
		m.Parts = slices.Concat(m.Parts, messages[0].Parts)
	} else {
		at = len(r.Messages)
		r.Messages = append(r.Messages, messages...)
	}
	r.cost += r.number(rec, "costUSD", rec.members.get("costUSD")) // of early versions
	if m := rec.members.get("message"); rec.kind == "assistant" {
		// Claude Code writes messages of its own, such as errors, as those of the model <synthetic>.
		r.IsResponse = tree.Scalar(m, "id") != "" && tree.Scalar(m, "model") != "<synthetic>"
	}
	m := &r.Messages[at]
	m.Opaque = addRecord(m.Opaque, rec.data)
	if response != "" {
		r.responses[response] = at
		usage := tree.Member(rec.members.get("message"), "usage")
		if r.usage[response] == (llm.Usage{}) {
			r.reportUsage(rec, "message.usage", usage)
		}
		r.usage[response] = anthropicUsage(usage)
	}
}

// link notes the calls that start subagents, by their prompts and by the subagents in results.
func (r *claudeRun) link(rec *record, messages []llm.Message) {
	agent := tree.Scalar(rec.members.get("toolUseResult"), "agentId")
	for _, m := range messages {
		for _, call := range m.Calls() {
			if prompt := tree.Scalar(json.RawMessage(call.Arguments), "prompt"); prompt != "" {
				r.session.calls[prompt] = append(r.session.calls[prompt], call.ID)
			}
		}
		if result, ok := m.Parts[0].(llm.ToolResult); ok && agent != "" {
			r.session.agents[agentPrefix+agent] = result.ID
		}
	}
}

// note keeps a record that is not a message.
func (r *claudeRun) note(rec *record, kinds []string) {
	switch {
	case !rec.isObject():
		r.unknown(rec, "the record is not an object")
	case !slices.Contains(kinds, rec.kind):
		r.unknown(rec, "the record has the unknown type "+strconv.Quote(rec.kind))
	case rec.kind == "result":
		r.result(rec)
		r.other.add(rec.kind, rec.raw)
	default:
		if call := rec.text("parentToolUseID"); call != "" {
			if agent := tree.Scalar(rec.members.get("data"), "agentId"); agent != "" {
				r.session.agents[agentPrefix+agent] = call
			}
		}
		r.other.add(rec.kind, rec.raw)
	}
}

// unknown reports a record that was not understood. It may have had any content.
func (r *claudeRun) unknown(rec *record, what string) {
	r.reportRecord(rec, what)
	r.other.add("unknown", rec.raw)
}

// end returns the runs of a session.
func (c *claude) end(s *claudeSession) (runs []Run) {
	maps.DeleteFunc(c.places, func(_ string, p claudePlace) bool { return p.run.session == s })
	if c.last == s {
		c.last = nil
	}
	sides := 0
	for _, r := range s.runs {
		r.Name = cmp.Or(s.id, "session")
		if r.side != "" {
			if r.branch == 1 {
				sides++
			}
			r.Name += "/" + s.sideName(r, sides)
		}
		if r.branch > 1 {
			r.Name += "/branch-" + strconv.Itoa(r.branch)
		}
		r.finish()
		runs = append(runs, r.Run)
	}
	if others := s.otherAgents(); others != nil {
		runs[0].SetMeta("subagents", others)
	}
	return runs
}

// otherAgents returns the calls that started subagents whose records are in other files, by the ids of the
// subagents; nil if there are none.
func (s *claudeSession) otherAgents() json.RawMessage {
	var o tree.Object
	for _, agent := range slices.Sorted(maps.Keys(s.agents)) {
		isHere := slices.ContainsFunc(s.runs, func(r *claudeRun) bool { return r.side == agent })
		if id, ok := strings.CutPrefix(agent, agentPrefix); ok && !isHere {
			o.Text(id, s.agents[agent])
		}
	}
	return o.JSON()
}

// sideName returns the call that started a subagent or, if that is unknown, its id or number.
func (s *claudeSession) sideName(r *claudeRun, n int) string {
	prompt := ""
	if len(r.Messages) > 0 {
		prompt = r.Messages[0].Text()
	}
	if calls := s.calls[prompt]; s.agents[r.side] == "" && len(calls) > 0 {
		s.agents[r.side], s.calls[prompt] = calls[0], calls[1:]
	}
	name := "subagent-" + strconv.Itoa(n)
	if strings.HasPrefix(r.side, agentPrefix) {
		name = r.side
	}
	return cmp.Or(s.agents[r.side], name)
}

func (r *claudeRun) finish() {
	usage := r.total
	if usage == (llm.Usage{}) {
		for _, u := range r.usage {
			usage = usage.Add(u)
		}
	}
	r.setUsage(usage)
	r.setCost(r.cost)
	r.other.moveTo(&r.Run)
}
