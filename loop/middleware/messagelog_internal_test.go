package middleware

import (
	"errors"
	"sync"
	"testing"

	"github.com/looptape/looptape/llm"
)

// lockedFile is a file that reports a write without the lock of its log.
type lockedFile struct {
	t      *testing.T
	log    *JSONLog
	writes []string
	closed bool
}

func (*lockedFile) Name() string { return "a file" }

func (f *lockedFile) Write(data []byte) (int, error) {
	if f.log.mu.TryLock() {
		f.log.mu.Unlock()
		f.t.Errorf("the log is not locked during the write of %q", data)
	}
	if f.writes = append(f.writes, string(data)); len(f.writes) == 3 {
		return 1, errors.New("the disk is full")
	}
	return len(data), nil
}

func (f *lockedFile) Close() error {
	f.closed = true
	return nil
}

// RA-49: a message is one write, which has its whole line, under the lock of the log: lines of
// concurrent runs never interleave. No line follows an incomplete one.
func TestJSONLogWritesLines(t *testing.T) {
	f := &lockedFile{t: t}
	f.log = &JSONLog{file: f}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() { _ = f.log.Log(llm.User("two\nlines")) }) // the error is that of Close
	}
	all.Wait()
	const line = `{"role":"user","parts":[{"type":"text","text":"two\nlines"}]}` + "\n"
	if len(f.writes) != 3 {
		t.Errorf("got the writes %q, want 3", f.writes)
	}
	for _, got := range f.writes {
		if got != line {
			t.Errorf("got the write %q, want %q", got, line)
		}
	}
	if err := f.log.Close(); err == nil || err.Error() != "the disk is full" || !f.closed {
		t.Errorf("Close returned %v", err)
	}
}
