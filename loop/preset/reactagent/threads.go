package reactagent

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/looptape/looptape/llm"
)

// Memory stores conversations by name. The zero value stores them in the memory of the
// process. It is safe for use by many goroutines.
type Memory struct {
	// LoadFunc and SaveFunc, if not nil, store the threads elsewhere. They must be safe for use
	// by many goroutines and must not change the messages. LoadFunc returns no messages if the
	// thread is unknown.
	LoadFunc func(ctx context.Context, thread string) ([]llm.Message, error)
	SaveFunc func(ctx context.Context, thread string, messages []llm.Message) error

	mu      sync.Mutex
	threads map[string][]llm.Message
}

// Load returns the messages of a thread, or none if the thread is unknown. The caller must not
// change the messages.
func (m *Memory) Load(ctx context.Context, thread string) (messages []llm.Message, err error) {
	defer memoryError("loading", thread, &err)
	if m.LoadFunc != nil {
		return m.LoadFunc(ctx, thread)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.threads[thread]), nil
}

// Save stores the messages of a thread.
func (m *Memory) Save(ctx context.Context, thread string, messages []llm.Message) (err error) {
	defer memoryError("saving", thread, &err)
	if m.SaveFunc != nil {
		return m.SaveFunc(ctx, thread, messages)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.threads == nil {
		m.threads = map[string][]llm.Message{}
	}
	m.threads[thread] = slices.Clone(messages)
	return nil
}

// memoryError adds the operation to an error or a panic of a deferring method.
func memoryError(operation, thread string, err *error) {
	if v := recover(); v != nil {
		*err = fmt.Errorf("the memory panicked: %v", v)
	}
	if *err != nil {
		*err = fmt.Errorf("reactagent: %s the thread %q: %w", operation, thread, *err)
	}
}
