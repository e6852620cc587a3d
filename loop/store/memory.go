package store

import (
	"bytes"
	"context"
	"math"
	"sync"
)

// Memory is a store in the memory of the process. Its zero value is an empty store.
type Memory struct {
	mu      sync.Mutex
	entries map[string]memoryEntry
}

type memoryEntry struct {
	value   []byte
	version int64
}

// Load implements [Store].
func (m *Memory) Load(ctx context.Context, key string) ([]byte, int64, error) {
	if err := ctx.Err(); err != nil {
		return nil, 0, failed("loading", key, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.entries[key]
	return bytes.Clone(e.value), e.version, nil
}

// Save implements [Store].
func (m *Memory) Save(ctx context.Context, key string, value []byte, version int64) (int64, error) {
	if err := ctx.Err(); err != nil {
		return 0, failed("saving", key, err)
	}
	if version == math.MaxInt64 {
		return 0, failed("saving", key, errLastVersion)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.entries[key].version != version {
		return 0, failed("saving", key, ErrConflict)
	}
	if m.entries == nil {
		m.entries = map[string]memoryEntry{}
	}
	m.entries[key] = memoryEntry{append([]byte{}, value...), version + 1}
	return version + 1, nil
}
