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
//
// If runs use one thread concurrently, none of their messages is lost: the messages of a run that ends
// later follow those that were stored since it began. See Store for several processes.
type Memory struct {
	// LoadFunc and SaveFunc, if not nil, store the threads elsewhere. They must be safe for use
	// by many goroutines and must not change the messages. LoadFunc returns no messages if the
	// thread is unknown. A run that is not the only one of its thread loads the thread again before it saves.
	LoadFunc func(ctx context.Context, thread string) ([]llm.Message, error)
	SaveFunc func(ctx context.Context, thread string, messages []llm.Message) error
	// Store, if not nil, stores the threads in place of LoadFunc and SaveFunc. If runs use one
	// thread concurrently, also in several processes, the first to end is stored, and the
	// others fail with an error that wraps [store.ErrConflict].
	Store store.Store

	mu      sync.Mutex
	threads map[string]*memoryThread
}

// memoryThread is a thread of a Memory without a Store. The mutex of the Memory guards its fields.
type memoryThread struct {
	saving   sync.Mutex // held while the thread is saved
	saves    int
	messages []llm.Message // without LoadFunc or SaveFunc
}

// thread returns a thread and the number of its saves.
func (m *Memory) thread(name string) (t *memoryThread, saves int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.threads == nil {
		m.threads = map[string]*memoryThread{}
	}
	if m.threads[name] == nil {
		m.threads[name] = new(memoryThread)
	}
	return m.threads[name], m.threads[name].saves
}

// Load returns the messages of a thread, or none if the thread is unknown. The caller must not
// change the messages.
func (m *Memory) Load(ctx context.Context, thread string) (messages []llm.Message, err error) {
	defer memoryError("loading", thread, &err)
	if m.Store != nil {
		messages, _, err = m.document(thread).Load(ctx)
		return messages, err
	}
	return m.load(ctx, thread)
}

func (m *Memory) load(ctx context.Context, thread string) ([]llm.Message, error) {
	if m.LoadFunc != nil {
		return m.LoadFunc(ctx, thread)
	}
	t, _ := m.thread(thread)
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(t.messages), nil
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
	t, _ := m.thread(thread)
	t.saving.Lock()
	defer t.saving.Unlock()
	return m.save(ctx, thread, t, messages)
}

// save replaces the messages of a thread. The caller holds t.saving.
func (m *Memory) save(ctx context.Context, thread string, t *memoryThread, messages []llm.Message) error {
	defer func() { // also if SaveFunc fails: it may have stored the messages
		m.mu.Lock()
		defer m.mu.Unlock()
		t.saves++
		if m.SaveFunc == nil {
			t.messages = slices.Clone(messages)
		}
	}()
	if m.SaveFunc != nil {
		return m.SaveFunc(ctx, thread, messages)
	}
	return nil
}

// saveFunc replaces the messages that open loaded. If the thread has been stored in the meantime, it
// appends the messages of added to it, or fails if there are none or the Memory has a Store.
type saveFunc func(ctx context.Context, messages, added []llm.Message) error

// open loads a thread and returns the function that replaces the loaded messages.
func (m *Memory) open(ctx context.Context, thread string) (messages []llm.Message, save saveFunc, err error) {
	defer memoryError("loading", thread, &err)
	if m.Store != nil {
		d := m.document(thread)
		messages, _, err = d.Load(ctx)
		return messages, func(ctx context.Context, messages, _ []llm.Message) (err error) {
			defer memoryError("saving", thread, &err)
			return d.Save(ctx, messages)
		}, err
	}
	t, loaded := m.thread(thread)
	messages, err = m.load(ctx, thread)
	return messages, func(ctx context.Context, messages, added []llm.Message) (err error) {
		defer memoryError("saving", thread, &err)
		t.saving.Lock()
		defer t.saving.Unlock()
		if _, saves := m.thread(thread); saves != loaded {
			if len(added) == 0 {
				return store.ErrConflict
			}
			stored, err := m.load(ctx, thread)
			if err != nil {
				return err
			}
			messages = slices.Concat(stored, added)
		}
		return m.save(ctx, thread, t, messages)
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
