package reactagent

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop/store"
)

// Memory stores conversations by name. The zero value stores them in the memory of the
// process. It is safe for use by many goroutines.
type Memory struct {
	// LoadFunc and SaveFunc, if not nil, store the threads elsewhere. They must be safe for use
	// by many goroutines and must not change the messages. LoadFunc returns no messages if the
	// thread is unknown.
	LoadFunc func(ctx context.Context, thread string) ([]llm.Message, error)
	SaveFunc func(ctx context.Context, thread string, messages []llm.Message) error
	// Store, if not nil, stores the threads in place of LoadFunc and SaveFunc. If runs use one
	// thread concurrently, also in several processes, the first to end is stored, and the
	// others fail with an error that wraps [store.ErrConflict].
	Store store.Store

	mu      sync.Mutex
	threads map[string][]llm.Message
}

// Load returns the messages of a thread, or none if the thread is unknown. The caller must not
// change the messages.
func (m *Memory) Load(ctx context.Context, thread string) (messages []llm.Message, err error) {
	defer memoryError("loading", thread, &err)
	if m.Store != nil {
		messages, _, err = m.document(thread).Load(ctx)
		return messages, err
	}
	if m.LoadFunc != nil {
		return m.LoadFunc(ctx, thread)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.threads[thread]), nil
}

// Save replaces the messages of a thread, whatever they are.
func (m *Memory) Save(ctx context.Context, thread string, messages []llm.Message) (err error) {
	defer memoryError("saving", thread, &err)
	if m.Store != nil {
		d := m.document(thread)
		if _, _, err := d.Load(ctx); err != nil {
			return err
		}
		return d.Save(ctx, messages)
	}
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

// open loads a thread and returns the function that replaces the loaded messages. With a Store, it
// fails if the thread has been stored in the meantime.
func (m *Memory) open(ctx context.Context, thread string) (messages []llm.Message, save func(context.Context, []llm.Message) error, err error) {
	if m.Store == nil {
		messages, err = m.Load(ctx, thread)
		return messages, func(ctx context.Context, messages []llm.Message) error { return m.Save(ctx, thread, messages) }, err
	}
	defer memoryError("loading", thread, &err)
	d := m.document(thread)
	messages, _, err = d.Load(ctx)
	return messages, func(ctx context.Context, messages []llm.Message) (err error) {
		defer memoryError("saving", thread, &err)
		return d.Save(ctx, messages)
	}, err
}

func (m *Memory) document(thread string) *store.Document[[]llm.Message] {
	return &store.Document[[]llm.Message]{Store: m.Store, Key: "thread:" + thread, Format: "looptape-thread", FormatVersion: 1}
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
