// Package cassettes records HTTP and replays it. It does not interpret bodies; see
// packages trace/importer and trace/check for that.
//
// A cassette is one file of interactions in the order of their requests. People can
// review it, and a replay restores it byte for byte. docs/cassette-format.md describes it.
package cassettes

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sort"
	"sync"

	"github.com/looptape/looptape/cassettes/internal/match"
	"github.com/looptape/looptape/cassettes/internal/tape"
	"github.com/looptape/looptape/cassettes/recording"
	"github.com/looptape/looptape/cassettes/redact"
)

// Cassette is an [http.RoundTripper] that records or replays. It is safe for use by many
// goroutines.
type Cassette struct {
	path string
	opts Options

	mu         sync.Mutex
	closed     bool
	file       *tape.File         // of a replay, or what a recording keeps
	index      *match.Index       // of the file
	incomplete error              // of a replay
	journal    *tape.Journal      // of a recording
	metadata   recording.Metadata // of both
	issued     int                // requests so far
	open       map[*inFlight]bool // responses that have not ended
	dropped    error              // the first response that is not recorded because it is too long
	// suspected lists the secrets in interactions that were not recorded.
	suspected []redact.SuspectedSecret
	memory    *redact.Memory
	known     map[int]int   // number of secrets in memory before each interaction
	parts     tape.PartSize // of long streams
	// missing is locked while the nearest request is searched, which takes many times the memory of a
	// large body.
	missing sync.Mutex
}

// Open opens a cassette. opts may be nil. The caller must call Close.
//
// For a replay, Open returns a [*FormatError] if the file is invalid. It replays the
// complete interactions of an interrupted recording; Incomplete then returns an error. For
// a recording, the file need not exist. Open returns [ErrLocked] if another recording is in
// progress, and an [*IncompleteError] if it would overwrite an interrupted one. Convert or
// remove that first, or continue it with [Options.Keep].
func Open(path string, opts *Options) (*Cassette, error) {
	if opts == nil || opts.Mode == "" || opts.Mode == Replay {
		f, err := Load(path)
		if err != nil {
			return nil, err
		}
		return f.Replay(opts)
	}
	c := newCassette(path, opts)
	var err error
	switch o := &c.opts; o.Mode {
	case Record:
		if err := c.opts.Check(); err != nil {
			return nil, fmt.Errorf("record %s: %w", path, err)
		}
		h := recording.Metadata{Recorded: o.now(), Recorder: o.Recorder, Match: o.matching().Name(), Upstreams: o.Upstreams}
		c.metadata, _ = o.ScrubbedMetadata(h)
		err = c.startJournal()
	case Passthrough:
	default:
		err = fmt.Errorf("cassettes: unknown mode %q: want replay, record or passthrough", o.Mode)
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

func newCassette(path string, opts *Options) *Cassette {
	c := &Cassette{path: path, open: map[*inFlight]bool{}, known: map[int]int{}, parts: tape.PartSize{Size: 16 << 20, Overlap: 2 << 20}}
	if opts != nil {
		c.opts = *opts
	}
	c.memory = redact.NewMemory(&c.opts.Rules)
	return c
}

// Incomplete returns an [*IncompleteError] if the cassette replays an interrupted
// recording, and nil otherwise.
func (c *Cassette) Incomplete() error { return c.incomplete }

// RoundTrip implements [http.RoundTripper]. In a replay it returns a [*MissError] if no
// unused recording of the request is left.
func (c *Cassette) RoundTrip(r *http.Request) (*http.Response, error) {
	switch c.opts.Mode {
	case Passthrough:
		out := r.Clone(r.Context())
		withoutSession(out.Header)
		return c.opts.transport().RoundTrip(out)
	case Record:
		if c.index != nil {
			return c.replayKept(r)
		}
		return c.record(r)
	case Replay:
	}
	return c.replay(r)
}

// Client returns an HTTP client that uses the cassette.
func (c *Cassette) Client() *http.Client { return &http.Client{Transport: c} }

// UnusedError reports that a replay did not use all interactions.
type UnusedError struct {
	File string
	// Unused are the titles of the unused interactions.
	Unused []string
	// RecordCommand is the value of Options.RecordCommand.
	RecordCommand string
}

func (e *UnusedError) Error() string {
	text := fmt.Sprintf("%s: %d of the recorded interactions were not used:", e.File, len(e.Unused))
	for _, t := range e.Unused {
		text += "\n  " + t
	}
	return text + recordHint(e.RecordCommand)
}

// Abandon discards a recording and keeps the old file, or ends a replay without an error
// for unused interactions. It leaves the interactions of a recording with [Options.Keep] in its
// journal.
func (c *Cassette) Abandon() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || c.journal == nil {
		c.closed = true
		return nil
	}
	c.closed = true
	if c.opts.Keep != nil {
		return c.journal.Leave()
	}
	return c.journal.Remove()
}

// Close ends a recording and replaces the file, or ends a replay. It records open responses
// as canceled. It returns a [*redact.SecretError] if the recording has a suspected secret,
// [ErrNoResponse] if the recording has no response and the old file has some, and an
// [*UnusedError] if a replay did not use all interactions.
func (c *Cassette) Close() error {
	c.mu.Lock()
	closed, flying := c.closed, slices.Collect(maps.Keys(c.open))
	c.closed = true
	c.mu.Unlock()
	if closed {
		return nil
	}
	for _, r := range flying {
		c.journal.Fail(r.end(recording.Canceled, nil))
	}
	if c.journal != nil {
		c.suspected = append(c.suspected, c.late()...)
	}
	switch {
	case c.suspected != nil:
		sort.SliceStable(c.suspected, func(i, j int) bool { return c.suspected[i].Interaction < c.suspected[j].Interaction })
		return errors.Join(&redact.SecretError{File: c.path, Secrets: c.suspected}, c.journal.Remove())
	case c.journal != nil:
		c.journal.Fail(c.dropped)
		return c.journal.Close(c.metadata)
	case c.index != nil && !c.opts.AllowUnused:
		if titles := c.index.Unused(); titles != nil {
			return &UnusedError{c.file.Name, titles, c.opts.RecordCommand}
		}
	}
	return nil
}

// late finds secrets in interactions that were recorded before the secret was known.
func (c *Cassette) late() (suspects []redact.SuspectedSecret) {
	before := func(number int) bool { return c.known[number] != c.memory.Len() }
	for number, x := range c.journal.Interactions(before, c.parts) {
		for _, s := range c.memory.FindSecrets(x) {
			s.Interaction = number
			suspects = append(suspects, s)
		}
	}
	return suspects
}
