package history

import (
	"fmt"
	"maps"
	"math"
	"time"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop/layers"
)

// Snapshot is a history as a value that JSON can represent.
type Snapshot struct {
	ID      string          `json:"id"`
	Entries []SnapshotEntry `json:"entries"`
	// Registry contains the layers of the history itself in the order in which they were first
	// set. It omits layers of parents.
	Registry []layers.Layer `json:"registry,omitempty"`
	Metadata map[string]any `json:"metadata,omitempty"`
	// Anchor is the token count that EstimatedTokens starts from; nil means none.
	Anchor *Anchor `json:"anchor,omitempty"`
	// System is the whole system prompt in snapshots of an older form, which have no Registry.
	// Export leaves it empty.
	System string `json:"system,omitempty"`
}

// SnapshotEntry is a message in a Snapshot.
type SnapshotEntry struct {
	Message llm.Message `json:"message"`
	Model   string      `json:"model,omitempty"`
	Usage   *llm.Usage  `json:"usage,omitempty"`
	// LatencyMs is in milliseconds.
	LatencyMs float64 `json:"latencyMs,omitempty"`
}

// Export returns a snapshot of the history.
func (h *History) Export() Snapshot {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := Snapshot{ID: h.id, Entries: make([]SnapshotEntry, len(h.entries)), Registry: h.layers.Own(), Metadata: copyOf(h.metadata)}
	for i, e := range h.entries {
		s.Entries[i] = SnapshotEntry{Message: e.Message, Model: e.Meta.Model, LatencyMs: float64(e.Meta.Latency) / float64(time.Millisecond)}
		if u := e.Meta.Usage; u != (llm.Usage{}) {
			s.Entries[i].Usage = &u
		}
	}
	if a := h.anchor; a.Index >= 0 {
		s.Anchor = &a
	}
	return s
}

// Import creates a history from a snapshot. If Registry is empty, System becomes the layer
// [layers.LegacyName]. Import returns an error if a layer has no name or if the anchor has no
// message.
func Import(s Snapshot) (*History, error) {
	h := New(s.ID)
	for i, l := range s.Registry {
		if err := h.layers.Set(l); err != nil {
			return nil, fmt.Errorf("history: Import: Registry[%d]: %w", i, err)
		}
	}
	if len(s.Registry) == 0 && s.System != "" {
		h.SetSystem(s.System)
	}
	for i, e := range s.Entries {
		meta := Meta{Model: e.Model, Latency: time.Duration(math.Round(e.LatencyMs * float64(time.Millisecond)))}
		if e.Usage != nil {
			meta.Usage = *e.Usage
		}
		h.entries = append(h.entries, Entry{Index: i, Message: e.Message, Meta: meta})
		h.messages = append(h.messages, e.Message)
	}
	if a := s.Anchor; a != nil {
		if a.Index < 0 || a.Index >= len(h.entries) {
			return nil, fmt.Errorf("history: Import: the anchor is at message %d of %d; take it out, and all is estimated", a.Index, len(h.entries))
		}
		h.anchor = *a
	}
	h.metadata = copyOf(s.Metadata)
	return h, nil
}

// Metadata returns a copy of the values that SetMetadata has set.
func (h *History) Metadata() map[string]any {
	h.mu.Lock()
	defer h.mu.Unlock()
	return copyOf(h.metadata)
}

// SetMetadata sets a value of the history's metadata. The value should be representable in
// JSON.
func (h *History) SetMetadata(key string, value any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.metadata[key] = value
}

// copyOf returns a copy that is never nil.
func copyOf(m map[string]any) map[string]any {
	out := make(map[string]any, len(m))
	maps.Copy(out, m)
	return out
}
