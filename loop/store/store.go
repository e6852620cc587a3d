// Package store keeps values beyond a process: the threads, snapshots, approval requests and message
// logs of agents. A value is bytes under a key. [Memory] and [Disk] are stores of this package;
// contrib/sqlite has one for SQLite, and [Store] is the interface for others.
//
// A [Document] is a value as JSON with the name of its format. The packages that own the formats
// use it: see reactagent.Memory, agentloop.Checkpoints, middleware.ApprovalStore and
// middleware.StoreLog. Package storetest has the contract suite of stores.
package store

import (
	"context"
	"errors"
	"fmt"
)

// Store keeps a value for each key. It is safe for use by many goroutines, and by several processes
// unless its documentation excludes them.
//
// A save is atomic: a load returns a value that was saved as a whole, whatever happens to the process
// that saves. A saved value outlives the process, unless the documentation of the store excludes it.
type Store interface {
	// Load returns the value of a key and its version. An unknown key has no value and version 0. The
	// caller owns the value.
	Load(ctx context.Context, key string) (value []byte, version int64, err error)
	// Save replaces the value of a key if its version is the given one, and returns the new version,
	// which is greater. Version 0 means that the key has no value yet. If the key has another
	// version, Save returns an error that wraps [ErrConflict] and changes nothing. After any other
	// error the key has its old value or the new one: load it. Save with the largest int64 as version
	// returns an error that does not wrap ErrConflict, and changes nothing. Save does not keep value.
	Save(ctx context.Context, key string, value []byte, version int64) (saved int64, err error)
}

// ErrConflict means that another writer saved the key after its version was loaded.
var ErrConflict = errors.New("another writer has saved it: load it and repeat the change")

// errLastVersion is the error of a save with the largest int64, which has no greater version.
var errLastVersion = errors.New("the version is the last one: save the value under another key")

const maxShown = 200 // bytes of a key in an error

// failed adds the operation and the key to an error.
func failed(operation, key string, err error) error {
	if len(key) > maxShown {
		key = key[:maxShown] + "…"
	}
	return fmt.Errorf("store: %s %q: %w", operation, key, err)
}
