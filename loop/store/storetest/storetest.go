// Package storetest is a contract suite for any [store.Store]: values and keys of any bytes, two
// writers in one process and in two, processes that are killed in the middle of a save, and runs
// of an agent that another process continues.
//
// For other processes the suite starts the test binary again, with the test that called
// [Suite.Test]. There, Test does the work of the other process and ends it, so the test must call
// Test with the same Suite again.
package storetest

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"github.com/looptape/looptape/loop/store"
)

// Suite describes the store under test.
type Suite struct {
	// Open opens the store in a folder that exists. Stores of one folder have the same values. The
	// suite closes a store that is an [io.Closer].
	Open func(dir string) (store.Store, error)
	// InMemory means that a value does not outlive the store that saved it. The suite skips the
	// cases that need this.
	InMemory bool
	// Kills is the number of processes that the suite kills in the middle of a save; 0 means 5.
	Kills int
	// Seed selects the moments of the kills.
	Seed uint64
}

// testcase is a case of the suite.
type testcase struct {
	name   string
	shared bool // needs a store that is opened twice
	do     func(w *world)
}

var cases = []testcase{
	{"values", false, values},
	{"versions", false, versions},
	{"reopened", true, reopened},
	{"ownership", false, ownership},
	{"canceled", false, canceled},
	{"conflict", false, conflict},
	{"retries", false, retries},
	{"stores", true, twoStores},
	{"processes", true, twoProcesses},
	{"kills", true, kills},
	{"suspended run", false, suspended},
	{"killed run", true, killedRun},
}

// Test tests the store.
func (s Suite) Test(t *testing.T) {
	t.Helper()
	if role, arguments := childRole(); role != "" {
		s.child(t, role, arguments)
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if c.shared && s.InMemory {
				t.Skip("the store is in the memory of the process (see Suite.InMemory)")
			}
			w := &world{reporter: t, suite: s, dir: t.TempDir()}
			w.start(c)
		})
	}
}

// reporter is a *testing.T or a *rapid.T.
type reporter interface {
	rapid.TB
	Context() context.Context
	Cleanup(f func())
}

// world is the environment of a case or of a child process.
type world struct {
	reporter
	suite Suite
	dir   string // has the folder of the store, and traces of other processes
	name  string // the last argument of other processes: the store of a test with several
}

// start runs a case.
func (w *world) start(c testcase) {
	w.Helper()
	if err := os.Mkdir(w.storeDir(), 0o700); err != nil {
		w.Fatal(err)
	}
	c.do(w)
}

func (w *world) storeDir() string { return filepath.Join(w.dir, "store") }

// open opens the store of the case until the test ends.
func (w *world) open() store.Store {
	w.Helper()
	s, err := w.suite.Open(w.storeDir())
	if err != nil {
		w.Fatalf("Open: %v", err)
	}
	if c, ok := s.(io.Closer); ok {
		w.Cleanup(func() {
			if err := c.Close(); err != nil {
				w.Errorf("Close: %v", err)
			}
		})
	}
	return s
}

// load returns the value of a key.
func (w *world) load(s store.Store, key string) (value []byte, version int64) {
	w.Helper()
	value, version, err := s.Load(w.Context(), key)
	if err != nil {
		w.Fatalf("Load(%q): %v", key, err)
	}
	return value, version
}

// save saves a value, which must succeed.
func (w *world) save(s store.Store, key, value string, version int64) int64 {
	w.Helper()
	saved, err := s.Save(w.Context(), key, []byte(value), version)
	if err != nil {
		w.Fatalf("Save(%q, version %d): %v", key, version, err)
	}
	return saved
}

// rejected reports a save that is not a conflict.
func (w *world) rejected(s store.Store, key, value string, version int64) {
	w.Helper()
	if saved, err := s.Save(w.Context(), key, []byte(value), version); !errors.Is(err, store.ErrConflict) {
		w.Errorf("Save(%q) with a version that is not stored, %d: got version %d and error %v, want ErrConflict", key, version, saved, err)
	}
}

// stored reports a key with another value or version.
func (w *world) stored(s store.Store, key, value string, version int64) {
	w.Helper()
	if got, v := w.load(s, key); string(got) != value || v != version {
		w.Errorf("Load(%q) = %s, version %d, want %s, version %d", key, show(got), v, show([]byte(value)), version)
	}
}
