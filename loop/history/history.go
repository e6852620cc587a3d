// Package history is the conversation of an agent that lives longer than a run:
// messages in the order in which they were said, what each cost, the layers of the
// system prompt, and an estimate of how many tokens all of it is.
//
// It promises that a message keeps its place until a range is spliced out, that
// what was handed out never changes, and that Export and Import lose nothing. It
// does not check that providers would take the messages: a run does (package loop).
package history

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop/layers"
)

// Meta is what is known of a message beside what it says. Its zero value is nothing.
type Meta struct {
	Model   string // who said it
	Usage   llm.Usage
	Latency time.Duration // how long it took to be said
}

// Entry is a message at its place.
type Entry struct {
	Index   int // counted from 0
	Message llm.Message
	Meta    Meta
}

// History is a conversation. Make one with New or Import. It may be used by many
// goroutines at once.
type History struct {
	mu       sync.Mutex
	id       string
	layers   *layers.Registry
	entries  []Entry
	messages []llm.Message // those of the entries
	anchor   Anchor
	splices  int
	metadata map[string]any
}

// New returns an empty history of the conversation with this id.
func New(id string) *History {
	return &History{id: id, layers: new(layers.Registry), anchor: noAnchor, metadata: map[string]any{}}
}

// ID is the identity of the conversation.
func (h *History) ID() string { return h.id }

// Layers are the layers of its system prompt, to read and to change.
func (h *History) Layers() *layers.Registry { return h.layers }

// owner is who sets layers for the history.
const owner = "history"

// System is the system prompt: the layers with the tag layers.SystemTag, composed.
func (h *History) System() string { return h.layers.Flat(layers.View{Tag: layers.SystemTag}) }

// SetSystem sets the layer layers.LegacyName alone; other layers stay as they are,
// so System need not return text afterwards.
func (h *History) SetSystem(text string) { h.put(layers.Legacy(text, owner)) }

// put sets a layer that has a name, which is all that Set asks for.
func (h *History) put(l layers.Layer) { _ = h.layers.Set(l) }

// Append puts a message behind the others. An assistant's message whose Meta has
// input tokens is an anchor for EstimatedTokens: they count all that was there
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

// Len is how many messages there are.
func (h *History) Len() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.entries)
}

// Messages returns the messages, in order. They are not to be changed.
func (h *History) Messages() []llm.Message {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clip(h.messages)
}

// Open are the calls of the last turn that have no results, and the index of that turn;
// only results stand behind it. Without such calls there is no index.
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

// Entries returns the messages with what is known of them. They are not to be
// changed.
func (h *History) Entries() []Entry {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clip(h.entries)
}

// Splices is how often a range was spliced out: as long as it stays the same, messages
// were appended at most.
func (h *History) Splices() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.splices
}

// SpliceRange puts one message in the place of those from index from up to, but
// without, index to, and returns what it took out. Entries behind it get other
// indexes. The anchor of EstimatedTokens is lost, unless all of the range is behind
// it. A range that is empty or not within the history is an error, and changes
// nothing.
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

// Fork returns a history of its own with the same messages, layers, metadata and
// anchor; an empty id stands for the id of h. Nobody is subscribed to its layers.
func (h *History) Fork(id string) *History {
	h.mu.Lock()
	defer h.mu.Unlock()
	if id == "" {
		id = h.id
	}
	return &History{
		id: id, layers: h.layers.Fork(), entries: slices.Clone(h.entries), messages: slices.Clone(h.messages),
		anchor: h.anchor, metadata: copyOf(h.metadata),
	}
}
