package reactagent

import (
	"context"
	"slices"
	"sync"

	"github.com/looptape/looptape/llm"
)

// Memory stores conversations by name. Its methods must be safe for use by many
// goroutines. Neither the Memory nor its caller may change the messages.
type Memory interface {
	// Load returns the messages of a thread, or none if the thread is unknown.
	Load(ctx context.Context, thread string) ([]llm.Message, error)
	Save(ctx context.Context, thread string, messages []llm.Message) error
}

// Threads is a [Memory] in the memory of the process. The zero value is empty.
type Threads struct {
	mu   sync.Mutex
	kept map[string][]llm.Message
}

// Load implements [Memory].
func (t *Threads) Load(_ context.Context, thread string) ([]llm.Message, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.kept[thread]), nil
}

// Save implements [Memory].
func (t *Threads) Save(_ context.Context, thread string, messages []llm.Message) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.kept == nil {
		t.kept = map[string][]llm.Message{}
	}
	t.kept[thread] = slices.Clone(messages)
	return nil
}
