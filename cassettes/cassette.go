package cassettes

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"sync"
)

// Cassette is an http.RoundTripper that records or replays. It may be used by many
// goroutines at once.
type Cassette struct {
	path string
	opts Options

	mu      sync.Mutex
	closed  bool
	tape    *tape               // of a replay
	broken  error               // of what is replayed
	journal *journal            // of a recording
	head    Metadata            // of either
	issued  int                 // requests so far
	flying  map[*recording]bool // answers that have not ended
	// suspects is what looks like a secret in answers that were not recorded.
	suspects []SuspectedSecret
	seen     *seen
}

// Open opens a cassette; opts may be nil. Close must be called in the end.
//
// For a replay, the error is that of reading the file, a *FormatError if it is not one.
// A recording that broke off is replayed as far as it came, and Broken tells of it. For a
// recording, the file need not exist; the error is ErrLocked if another one goes on, and a
// *IncompleteError if one that broke off would be lost, which can be converted or removed.
func Open(path string, opts *Options) (*Cassette, error) {
	c := &Cassette{path: path, seen: nothingSeen()}
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
		c.flying = map[*recording]bool{}
		c.head, _ = c.opts.ScrubbedMetadata(Metadata{Recorded: c.opts.now(), Recorder: c.opts.Recorder, Match: c.opts.matching().name(), Upstreams: c.opts.Upstreams})
		c.journal, err = createJournal(path, c.head)
	case Passthrough:
	default:
		err = fmt.Errorf("cassettes: %q is not a mode; there are replay, record and passthrough", c.opts.Mode)
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

// Replay returns a cassette that replays a file, which may stand in no folder. Of opts,
// which may be nil, the mode does not count. Close must be called in the end.
func (f *File) Replay(opts *Options) (*Cassette, error) {
	c := &Cassette{path: cmp.Or(f.path, f.name), seen: nothingSeen()}
	if opts != nil {
		c.opts = *opts
	}
	c.opts.Mode = Replay
	if err := c.load(f); err != nil {
		return nil, err
	}
	return c, nil
}

// load makes a file what is replayed.
func (c *Cassette) load(f *File) (err error) {
	c.head, c.broken = f.Metadata, f.broken
	c.tape, err = newTape(f, &c.opts)
	return err
}

// Load reads what Open replays: a cassette, or of a recording of it that broke off what
// there is, if anything. The errors are those of ReadFile.
func Load(path string) (*File, error) {
	journal := JournalOf(path)
	text, err := os.ReadFile(journal)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && !begun(text):
		return ReadFile(path)
	case err != nil:
		return nil, err
	}
	f, err := Parse(journal, text)
	if err != nil {
		return nil, err
	}
	if f.Len() == 0 {
		if whole, err := ReadFile(path); err == nil {
			return whole, nil
		}
	}
	f.path = path
	return f, nil
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
		out.Header.Del(SessionHeader)
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
	return c.journal.remove()
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
	var flying []*recording
	for r := range c.flying {
		flying = append(flying, r)
	}
	c.mu.Unlock()
	for _, r := range flying {
		c.journal.fail(r.end(Canceled, nil))
	}
	if c.journal != nil {
		c.suspects = append(c.suspects, c.late()...)
	}
	switch {
	case c.suspects != nil:
		return errors.Join(secretError(c.path, c.suspects), c.journal.remove())
	case c.journal != nil:
		return c.journal.close(c.head)
	case c.tape != nil && !c.opts.AllowUnused:
		return c.tape.unused(c.opts.RecordCommand)
	}
	return nil
}
