package store

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
)

// Document is the value of a key as JSON, with the name and the version of its format. It remembers
// the version of the value that it last loaded or saved, so that Save fails after another writer
// has saved. A Document that has loaded nothing saves only an unknown key. It is not safe
// for use by several goroutines at a time; each may have its own.
type Document[T any] struct {
	Store Store
	Key   string
	// Format and FormatVersion name the format of the value. Load returns an error for a value of
	// another format.
	Format        string
	FormatVersion int

	version int64
}

// envelope is a stored document.
type envelope[T any] struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	Value   T      `json:"value"`
}

// Load returns the value of the key and reports whether it has one.
func (d *Document[T]) Load(ctx context.Context) (value T, found bool, err error) {
	stored, version, err := d.Store.Load(ctx, d.Key)
	if err != nil {
		return value, false, err
	}
	if version > 0 {
		if value, err = d.decode(stored); err != nil {
			return value, false, failed("loading", d.Key, err)
		}
	}
	d.version = version
	return value, version > 0, nil
}

func (d *Document[T]) decode(stored []byte) (value T, err error) {
	var e envelope[json.RawMessage]
	if err := json.Unmarshal(stored, &e); err != nil {
		return value, fmt.Errorf("the value is not a document: %w", err)
	}
	if e.Format != d.Format || e.Version != d.FormatVersion {
		return value, fmt.Errorf("the format is %q version %d, want %q version %d: use another key, or the program that saved it", e.Format, e.Version, d.Format, d.FormatVersion)
	}
	return value, json.Unmarshal(e.Value, &value)
}

// Save replaces the value of the key. It returns an error that wraps [ErrConflict] if the key has
// been saved since the Document loaded or saved it.
func (d *Document[T]) Save(ctx context.Context, value T) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // opaque data of providers stays as it is
	if err := e.Encode(envelope[T]{d.Format, d.FormatVersion, value}); err != nil {
		return failed("saving", d.Key, err)
	}
	version, err := d.Store.Save(ctx, d.Key, b.Bytes(), d.version)
	if err == nil {
		d.version = version
	}
	return err
}
