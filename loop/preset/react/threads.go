package react

import (
	"context"
	"slices"
	"sync"

	"github.com/looptape/looptape/llm"
)

// Memory keeps conversations by a name. Its methods may be called by many goroutines
// at once; the messages are not to be changed by anybody.
type Memory interface {
	// Load returns the messages of a thread; those of one that was never kept are none.
	Load(ctx context.Context, thread string) ([]llm.Message, error)
	Save(ctx context.Context, thread string, messages []llm.Message) error
}

// Threads is a Memory that lasts as long as the process. Its zero value is empty.
type Threads struct {
	mu   sync.Mutex
	kept map[string][]llm.Message
}

// Load implements Memory.
func (t *Threads) Load(_ context.Context, thread string) ([]llm.Message, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.kept[thread]), nil
}

// Save implements Memory.
func (t *Threads) Save(_ context.Context, thread string, messages []llm.Message) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.kept == nil {
		t.kept = map[string][]llm.Message{}
	}
	t.kept[thread] = slices.Clone(messages)
	return nil
}
