package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/looptape/looptape/loop/store"
)

// Two documents of one key: the later writer is rejected until it loads. The stored JSON names its
// format, and keeps the characters of the value.
func TestDocument(t *testing.T) {
	var m store.Memory
	document := func() *store.Document[map[string]json.RawMessage] {
		return &store.Document[map[string]json.RawMessage]{Store: &m, Key: "k", Format: "f", FormatVersion: 3}
	}
	first, second := document(), document()
	if _, found, err := second.Load(t.Context()); found || err != nil {
		t.Errorf("Load of an unknown key: found %t, %v", found, err)
	}
	value := map[string]json.RawMessage{"a": json.RawMessage(`"<&>"`)}
	if err := errors.Join(first.Save(t.Context(), nil), first.Save(t.Context(), value)); err != nil {
		t.Fatal(err)
	}
	if got, _, err := m.Load(t.Context(), "k"); string(got) != `{"format":"f","version":3,"value":{"a":"<&>"}}`+"\n" || err != nil {
		t.Errorf("stored: %s, %v", got, err)
	}
	for range 2 {
		if err := second.Save(t.Context(), value); !errors.Is(err, store.ErrConflict) || err.Error() != `store: saving "k": another writer has saved it: load it and repeat the change` {
			t.Errorf("Save of the second writer: %v, want ErrConflict", err)
		}
	}
	if got, found, err := second.Load(t.Context()); !found || err != nil || string(got["a"]) != `"<&>"` {
		t.Errorf("Load = %s, %t, %v", got, found, err)
	}
	if err := second.Save(t.Context(), nil); err != nil {
		t.Errorf("Save after Load: %v", err)
	}
	if err := first.Save(t.Context(), value); !errors.Is(err, store.ErrConflict) {
		t.Errorf("Save of the first writer: %v, want ErrConflict", err)
	}
}

// Errors of a document name the key and the format. A failed Load does not allow a Save.
func TestDocumentErrors(t *testing.T) {
	var m store.Memory
	for stored, want := range map[string]string{
		`{"format":"g","version":1,"value":1}`:   `store: loading "k": the format is "g" version 1, want "f" version 1: use another key, or the program that saved it`,
		`{"format":"f","version":2,"value":1}`:   `store: loading "k": the format is "f" version 2, want "f" version 1: use another key, or the program that saved it`,
		`half`:                                   `store: loading "k": the value is not a document: invalid character 'h' looking for beginning of value`,
		`{"format":"f","version":1,"value":"1"}`: `store: loading "k": json: cannot unmarshal string into Go value of type int`,
	} {
		_, version, err := m.Load(t.Context(), "k")
		if err != nil {
			t.Fatal(err)
		}
		save(t, &m, "k", stored, version)
		d := store.Document[int]{Store: &m, Key: "k", Format: "f", FormatVersion: 1}
		if _, found, err := d.Load(t.Context()); found || err == nil || err.Error() != want {
			t.Errorf("%s: got %t, %v, want %s", stored, found, err, want)
		}
		if err := d.Save(t.Context(), 1); !errors.Is(err, store.ErrConflict) {
			t.Errorf("%s: Save after it: %v, want ErrConflict", stored, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	d := store.Document[func()]{Store: &m, Key: "k"}
	if _, _, err := d.Load(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Load with a context that has ended: %v", err)
	}
	if err := d.Save(t.Context(), nil); err == nil || err.Error() != `store: saving "k": json: unsupported type: func()` {
		t.Errorf("Save of a function: %v", err)
	}
}
