package cassettes

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"

	"github.com/looptape/looptape/cassettes/internal/match"
	"github.com/looptape/looptape/cassettes/internal/tape"
	"github.com/looptape/looptape/cassettes/redact"
)

// Cassette is an http.RoundTripper that records or replays. It may be used by many
// goroutines at once.
type Cassette struct {
	path string
	opts Options

	mu      sync.Mutex
	closed  bool
	file    *tape.File         // of a replay
	tape    *match.Index       // the same
	broken  error              // of what is replayed
	journal *tape.Journal      // of a recording
	head    Metadata           // of either
	issued  int                // requests so far
	flying  map[*inFlight]bool // answers that have not ended
	// suspects is what looks like a secret in answers that were not recorded.
	suspects []redact.SuspectedSecret
	memory   *redact.Memory
	known    map[int]int // secrets in memory before an interaction was redacted
}

// Open opens a cassette; opts may be nil. Close must be called in the end.
//
// For a replay, the error is that of reading the file, a *FormatError if it is not one.
// A recording that broke off is replayed as far as it came, and Broken tells of it. For a
// recording, the file need not exist; the error is ErrLocked if another one goes on, and a
// *IncompleteError if one that broke off would be lost, which can be converted or removed.
func Open(path string, opts *Options) (*Cassette, error) {
	c := &Cassette{path: path, known: map[int]int{}}
	c.memory = redact.NewMemory(&c.opts.Rules)
	if opts != nil {
		c.opts = *opts
	}
	var err error
	switch c.opts.Mode {
	case "", Replay:
		var f *File
		if f, err = Load(path); err == nil {
			err = c.load(f)
		}
	case Record:
		c.flying = map[*inFlight]bool{}
		c.head, _ = c.opts.ScrubbedMetadata(Metadata{Recorded: c.opts.now(), Recorder: c.opts.Recorder, Match: c.opts.matching().Name(), Upstreams: c.opts.Upstreams})
		c.journal, err = tape.CreateJournal(path, c.head)
	case Passthrough:
	default:
		err = fmt.Errorf("cassettes: %q is not a mode; there are replay, record and passthrough", c.opts.Mode)
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

// Broken says that what is replayed is a recording that broke off: it is a *IncompleteError
// then, and otherwise nil.
func (c *Cassette) Incomplete() error { return c.broken }

// ErrClosed means that a cassette was used after Close.
var ErrClosed = errors.New("the cassette is closed")

// RoundTrip implements http.RoundTripper. In a replay, the error is a *MissError if
// there is no recording of the request that was not used.
func (c *Cassette) RoundTrip(r *http.Request) (*http.Response, error) {
	switch c.opts.Mode {
	case Passthrough:
		out := r.Clone(r.Context())
		withoutSession(out.Header)
		return c.opts.transport().RoundTrip(out)
	case Record:
		return c.record(r)
	case Replay:
	}
	return c.replay(r)
}

// Client returns a client over the cassette.
func (c *Cassette) Client() *http.Client { return &http.Client{Transport: c} }

// UnusedError says that a replay did not ask for all that was recorded.
type UnusedError struct {
	File string
	// Unused are the titles of the interactions.
	Unused []string
	// Again is how to record again, from Options.RecordCommand.
	RecordCommand string
}

func (e *UnusedError) Error() string {
	text := fmt.Sprintf("%s: %d of the recorded interactions were not asked for:", e.File, len(e.Unused))
	for _, t := range e.Unused {
		text += "\n  " + t
	}
	return text + tellAgain(e.RecordCommand)
}

// Abandon ends a recording that is not to replace the file, which stays as it was, or a
// replay that is not to be judged.
func (c *Cassette) Abandon() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || c.journal == nil {
		c.closed = true
		return nil
	}
	c.closed = true
	return c.journal.Remove()
}

// Close ends a recording, whose cassette then replaces the file, or a replay. The error
// is a *SecretError if something in the recording looks like a secret, ErrNoResponse if it
// has no answer and the file has some, and an *UnusedError if the replay did not ask for
// all interactions. Answers that have not ended are recorded as cancelled.
func (c *Cassette) Close() error {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil
	}
	c.closed = true
	var flying []*inFlight
	for r := range c.flying {
		flying = append(flying, r)
	}
	c.mu.Unlock()
	for _, r := range flying {
		c.journal.Fail(r.end(Canceled, nil))
	}
	if c.journal != nil {
		c.suspects = append(c.suspects, c.late()...)
	}
	switch {
	case c.suspects != nil:
		return errors.Join(secretError(c.path, c.suspects), c.journal.Remove())
	case c.journal != nil:
		return c.journal.Close(c.head)
	case c.tape != nil && !c.opts.AllowUnused:
		if titles := c.tape.Unused(); titles != nil {
			return &UnusedError{c.file.Name, titles, c.opts.RecordCommand}
		}
	}
	return nil
}

// late are the places in a recording where a secret stands that was seen only later.
func (c *Cassette) late() (suspects []redact.SuspectedSecret) {
	for number, x := range c.journal.Interactions() {
		if c.known[number] == c.memory.Len() {
			continue
		}
		for _, s := range c.memory.FindSecrets(x) {
			s.Interaction = number
			suspects = append(suspects, s)
		}
	}
	return suspects
}

// secretError is the error of a recording with suspects.
func secretError(file string, suspects []redact.SuspectedSecret) *redact.SecretError {
	slices.SortStableFunc(suspects, func(a, b redact.SuspectedSecret) int { return a.Interaction - b.Interaction })
	return &redact.SecretError{File: file, Secrets: suspects}
}
