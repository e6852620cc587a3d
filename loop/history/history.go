// Package history stores the conversation of an agent across runs: the messages in order,
// their metadata, the layers of the system prompt and an estimate of the total tokens.
//
// A message keeps its index until a range is spliced out. Returned values never change. Export
// and Import lose no data. The package does not check whether providers accept the messages;
// package loop does so in a run.
package history

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop/layers"
)

// Meta is metadata of a message. Its zero value means that nothing is known.
type Meta struct {
	Model   string // that generated the message
	Usage   llm.Usage
	Latency time.Duration // of the model call
}

// Entry is a message with its index and metadata.
type Entry struct {
	Index   int // counted from 0
	Message llm.Message
	Meta    Meta
}

// History is a conversation. Create it with [New] or [Import]. It is safe for use by many
// goroutines.
type History struct {
	mu       sync.Mutex
	id       string
	layers   *layers.Registry
	entries  []Entry
	messages []llm.Message // the messages of the entries
	anchor   Anchor
	splices  int
	metadata map[string]any
}

// New returns an empty history with this conversation id.
func New(id string) *History {
	return &History{id: id, layers: new(layers.Registry), anchor: noAnchor, metadata: map[string]any{}}
}

// ID returns the id of the conversation.
func (h *History) ID() string { return h.id }

// Layers returns the layers of the system prompt. The caller may change them.
func (h *History) Layers() *layers.Registry { return h.layers }

// System returns the system prompt: the text of all layers with the tag [layers.SystemTag].
func (h *History) System() string { return h.layers.Flat(layers.View{Tag: layers.SystemTag}) }

// SetSystem sets the layer [layers.LegacyName]. Other layers stay as they are, so System may
// return more than text.
func (h *History) SetSystem(text string) {
	_ = h.layers.Set(layers.Fixed(layers.LegacyName, text, "history")) // it has a name, so Set cannot fail
}

// Append adds a message at the end. An assistant message becomes the anchor of
// [History.EstimatedTokens] if its Meta has input tokens. These tokens count all messages
// before it.
func (h *History) Append(m llm.Message, meta Meta) Entry {
	h.mu.Lock()
	defer h.mu.Unlock()
	if m.Role == llm.RoleAssistant && meta.Usage.InputTokens > 0 {
		h.anchor = Anchor{Total: meta.Usage.InputTokens, Index: len(h.entries) - 1}
	}
	e := Entry{Index: len(h.entries), Message: m, Meta: meta}
	h.entries = append(h.entries, e)
	h.messages = append(h.messages, m)
	return e
}

// Len returns the number of messages.
func (h *History) Len() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.entries)
}

// Messages returns a list of the messages in order. The caller may change the list, but not the
// parts of the messages.
func (h *History) Messages() []llm.Message {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.messages)
}

// Open returns the calls of the last response that have no results, and the index of that
// response. Only results follow it. The index is meaningful only if there are such calls.
func (h *History) Open() (turn int, calls []llm.ToolCall) {
	list := h.Messages()
	answered := map[string]bool{}
	turn = len(list) - 1
	for ; turn >= 0 && list[turn].Role == llm.RoleTool; turn-- {
		for _, p := range list[turn].Parts {
			if r, ok := p.(llm.ToolResult); ok {
				answered[r.ID] = true
			}
		}
	}
	if turn >= 0 {
		calls = slices.DeleteFunc(list[turn].Calls(), func(c llm.ToolCall) bool { return answered[c.ID] })
	}
	if len(calls) == 0 {
		return -1, nil
	}
	return turn, calls
}

// Entries returns a list of the messages with their metadata, under the terms of Messages.
func (h *History) Entries() []Entry {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.entries)
}

// Splices returns how often a range was spliced out. While the number stays the same, messages
// were only appended.
func (h *History) Splices() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.splices
}

// SpliceRange replaces the messages from index from up to, but without, index to with one
// message, and returns the removed entries. Later entries get new indexes. The anchor of
// [History.EstimatedTokens] is removed unless the whole range follows it. SpliceRange returns
// an error, and changes nothing, if the range is empty or not within the history.
func (h *History) SpliceRange(from, to int, m llm.Message) ([]Entry, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if from < 0 || to > len(h.entries) || from >= to {
		return nil, fmt.Errorf("history: SpliceRange(%d, %d) of %d messages: the range must be within them and hold one at least", from, to, len(h.entries))
	}
	h.splices++
	removed := slices.Clone(h.entries[from:to])
	h.entries = slices.Concat(h.entries[:from], []Entry{{Message: m}}, h.entries[to:])
	for i := from; i < len(h.entries); i++ {
		h.entries[i].Index = i
	}
	h.messages = slices.Concat(h.messages[:from], []llm.Message{m}, h.messages[to:])
	if from <= h.anchor.Index {
		h.anchor = noAnchor
	}
	return removed, nil
}

// Fork returns an independent copy of the messages, layers, metadata and anchor. An empty id
// means the id of h. The layers of the fork have no subscribers.
func (h *History) Fork(id string) *History {
	h.mu.Lock()
	defer h.mu.Unlock()
	fork := &History{
		id: cmp.Or(id, h.id), layers: h.layers.Fork(), entries: slices.Clone(h.entries), messages: slices.Clone(h.messages),
		anchor: h.anchor, metadata: copyOf(h.metadata),
	}
	for i := range fork.entries {
		m := &fork.entries[i].Message
		m.Parts = slices.Clone(m.Parts)
		fork.messages[i] = *m
	}
	return fork
}
