package storetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"pgregory.net/rapid"

	"github.com/looptape/looptape/loop/store"
)

// show returns the beginning of a value for a message.
func show(value []byte) string {
	const most = 60
	if len(value) > most {
		return fmt.Sprintf("%q… (%d bytes)", value[:most], len(value))
	}
	return fmt.Sprintf("%q", value)
}

// entry is what a store must have for a key.
type entry struct {
	value   string
	version int64
}

// keys are keys that stores may confuse.
func keys() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.SampledFrom([]string{"", "a", "A", "a/b", "a\\b", "../a", "a.value", "lock", "con", "ä", "a\u0308", "a\x00", "a\xff", "%61", "a b", "a\n", strings.Repeat("k", 300), strings.Repeat("k", 301)}),
		rapid.String(),
		rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
	)
}

// values saves and loads any values under any keys, with the stored version and with others.
func values(w *world) {
	s := w.open()
	model := map[string]entry{}
	rapid.Check(w.reporter, func(t *rapid.T) {
		w := &world{reporter: t, suite: w.suite, dir: w.dir}
		for range rapid.IntRange(1, 4).Draw(t, "saves") {
			key := keys().Draw(t, "key")
			value := string(rapid.SliceOf(rapid.Byte()).Draw(t, "value"))
			was := model[key]
			w.stored(s, key, was.value, was.version)
			other := was.version + int64(rapid.IntRange(1, 3).Draw(t, "ahead"))
			if was.version > 0 && rapid.Bool().Draw(t, "behind") {
				other = rapid.Int64Range(0, was.version-1).Draw(t, "version")
			}
			w.rejected(s, key, "wrong", other)
			w.stored(s, key, was.value, was.version)
			version := w.save(s, key, value, was.version)
			if version <= was.version {
				t.Fatalf("Save(%q, version %d) returned version %d, want a greater one", key, was.version, version)
			}
			model[key] = entry{value, version}
			w.stored(s, key, value, version)
		}
	})
	for _, key := range slices.Sorted(maps.Keys(model)) { // no save has changed another key
		w.stored(s, key, model[key].value, model[key].version)
	}
	large := strings.Repeat("0123456789abcdef", 1<<17)
	w.stored(s, "large", large, w.save(s, "large", large, 0))
	version, err := s.Save(w.Context(), "nothing", nil, 0)
	if err != nil {
		w.Fatalf("Save of no bytes: %v", err)
	}
	w.stored(s, "nothing", "", version)
}

// versions saves with versions that no store returns, and with the last one, which has no next version.
func versions(w *world) {
	s := w.open()
	for stored := int64(0); ; {
		for _, version := range []int64{-1, math.MinInt64, math.MaxInt64 - 1} {
			w.rejected(s, "k", "wrong", version)
		}
		if saved, err := s.Save(w.Context(), "k", []byte("wrong"), math.MaxInt64); err == nil || errors.Is(err, store.ErrConflict) {
			w.Errorf("Save with the largest version: got version %d and error %v, want an error other than ErrConflict", saved, err)
		}
		if stored > 0 {
			w.stored(s, "k", "value", stored)
			return
		}
		w.stored(s, "k", "", 0)
		stored = w.save(s, "k", "value", 0)
	}
}

// reopened loads values from a store that was opened again.
func reopened(w *world) {
	model := map[string]entry{}
	s := w.open()
	for _, key := range []string{"", "a", "a\xff", "B"} {
		model[key] = entry{"value of " + key, w.save(s, key, "value of "+key, 0)}
	}
	again := w.open()
	for _, key := range slices.Sorted(maps.Keys(model)) {
		w.stored(again, key, model[key].value, model[key].version)
		w.rejected(again, key, "wrong", 0)
	}
	w.stored(again, "unknown", "", 0)
}

// ownership changes values after a save and after a load.
func ownership(w *world) {
	s := w.open()
	value := []byte("value")
	version, err := s.Save(w.Context(), "k", value, 0)
	if err != nil {
		w.Fatalf("Save: %v", err)
	}
	value[0] = 'V'
	got, _ := w.load(s, "k")
	if len(got) > 0 {
		got[0] = 'W'
	}
	w.stored(s, "k", "value", version)
}

// canceled uses a context that has ended.
func canceled(w *world) {
	s := w.open()
	version := w.save(s, "k", "value", 0)
	ctx, cancel := context.WithCancel(w.Context())
	cancel()
	if _, err := s.Save(ctx, "k", []byte("other"), version); !errors.Is(err, context.Canceled) {
		w.Errorf("Save with a context that has ended: got %v, want context.Canceled", err)
	}
	if _, _, err := s.Load(ctx, "k"); !errors.Is(err, context.Canceled) {
		w.Errorf("Load with a context that has ended: got %v, want context.Canceled", err)
	}
	w.stored(s, "k", "value", version)
	w.save(s, "k", "other", version)
}

// writers is the number of concurrent writers of a case.
const writers = 6

// conflict lets several writers save with one version: one succeeds, and its value is stored.
func conflict(w *world) {
	s := w.open()
	version := int64(0)
	for range 10 {
		results := concurrently(writers, func(i int) (int64, error) {
			return s.Save(w.Context(), "k", []byte(strconv.Itoa(i)), version)
		})
		winner := -1
		for i, r := range results {
			switch {
			case r.err == nil && winner < 0:
				winner = i
			case r.err == nil:
				w.Errorf("writers %d and %d both saved after version %d", winner, i, version)
			case !errors.Is(r.err, store.ErrConflict):
				w.Errorf("a writer that was too late: got %v, want ErrConflict", r.err)
			}
		}
		if winner < 0 {
			w.Fatalf("no writer saved after version %d", version)
		}
		version = results[winner].version
		w.stored(s, "k", strconv.Itoa(winner), version)
	}
}

type saveResult struct {
	version int64
	err     error
}

// concurrently calls save for each writer on its own goroutine.
func concurrently(n int, save func(i int) (int64, error)) []saveResult {
	results := make([]saveResult, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { results[i].version, results[i].err = save(i) })
	}
	all.Wait()
	return results
}

// appends is how often each writer of a case appends to the list.
const appends = 8

// listKey has the list of the cases with several writers.
const listKey = "list"

// appendAll appends elements to the list, each by a change of the stored list. It repeats changes that
// were rejected.
func appendAll(ctx context.Context, s store.Store, writer int) error {
	for n := 0; n < appends; {
		list, version, err := s.Load(ctx, listKey)
		if err != nil {
			return err
		}
		_, err = s.Save(ctx, listKey, fmt.Appendf(list, "%d.%d ", writer, n), version)
		switch {
		case err == nil:
			n++
		case !errors.Is(err, store.ErrConflict):
			return err
		}
	}
	return nil
}

// complete reports elements of the list that are missing, that are there twice, or that are in another
// order than their writer appended them.
func (w *world) complete(s store.Store, writers ...int) {
	w.Helper()
	list, _ := w.load(s, listKey)
	next := map[int]int{}
	for _, element := range strings.Fields(string(list)) {
		var writer, n int
		if _, err := fmt.Sscanf(element, "%d.%d", &writer, &n); err != nil || n != next[writer] {
			w.Fatalf("element %q of the list: want number %d of the writer: %s", element, next[writer], list)
		}
		next[writer]++
	}
	for _, writer := range writers {
		if next[writer] != appends {
			w.Errorf("%d elements of writer %d are in the list, want %d: %s", next[writer], writer, appends, list)
		}
	}
}

// retries lets several writers repeat their changes until each is saved.
func retries(w *world) {
	s := w.open()
	for i, r := range concurrently(writers, func(i int) (int64, error) { return 0, appendAll(w.Context(), s, i) }) {
		if r.err != nil {
			w.Errorf("writer %d: %v", i, r.err)
		}
	}
	w.complete(s, 0, 1, 2, 3, 4, 5)
}

// twoStores does the same with two stores of one folder in one process.
func twoStores(w *world) {
	both := []store.Store{w.open(), w.open()}
	version := w.save(both[0], "k", "first", 0)
	w.stored(both[1], "k", "first", version)
	next := w.save(both[1], "k", "second", version)
	w.rejected(both[0], "k", "third", version)
	w.stored(both[0], "k", "second", next)
	for i, r := range concurrently(writers, func(i int) (int64, error) { return 0, appendAll(w.Context(), both[i%2], i) }) {
		if r.err != nil {
			w.Errorf("writer %d: %v", i, r.err)
		}
	}
	w.complete(both[0], 0, 1, 2, 3, 4, 5)
}
