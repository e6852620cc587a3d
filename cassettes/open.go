package cassettes

import (
	"errors"
	"fmt"
	"iter"
	"net/http"
	"unicode/utf8"

	"github.com/looptape/looptape/cassettes/internal/match"
	"github.com/looptape/looptape/cassettes/internal/tape"
	"github.com/looptape/looptape/cassettes/recording"
)

// File is a cassette file in memory. It is safe for use by many goroutines.
type File struct {
	recording.Metadata
	tape *tape.File
}

func fileOf(f *tape.File, err error) (*File, error) {
	if err != nil {
		return nil, err
	}
	return &File{f.Metadata, f}, nil
}

// Load reads what [Open] replays: a cassette, or the complete interactions of its
// journal if a recording was interrupted. The errors are those of [ReadFile].
func Load(path string) (*File, error) { return fileOf(tape.Load(path)) }

// ReadFile reads a cassette or a journal. It returns a [*FormatError] if the file is
// neither.
func ReadFile(path string) (*File, error) { return fileOf(tape.ReadFile(path)) }

// Parse reads a cassette or a journal from memory and keeps text. Errors call it name.
// It returns a [*FormatError] if text is neither.
func Parse(name string, text []byte) (*File, error) { return fileOf(tape.Parse(name, text)) }

// IsCassette reports whether text begins like a file that [Parse] reads.
func IsCassette(text []byte) bool { return tape.IsTape(text) }

// Len returns the number of interactions.
func (f *File) Len() int { return f.tape.Len() }

// Interaction reads the interaction with this index from 0. It returns a [*FormatError]
// if the interaction is damaged.
func (f *File) Interaction(i int) (*recording.Interaction, error) { return f.tape.Interaction(i) }

// All reads the interactions in their order up to the first error.
func (f *File) All() iter.Seq2[*recording.Interaction, error] { return f.tape.All() }

// Lines returns the lines, from 1, on which the interactions begin. It returns nil for a
// journal, whose order differs.
func (f *File) Lines() []int { return f.tape.Lines() }

// Incomplete returns an [*IncompleteError] if the file is a journal, and nil otherwise.
func (f *File) Incomplete() error { return f.tape.Incomplete() }

// JournalPath returns the path of the journal of a cassette: the file next to the cassette
// that holds a recording until [Cassette.Close]. It follows symbolic links.
func JournalPath(path string) string { return tape.JournalPath(path) }

// Replay returns a cassette that replays the file. It ignores opts.Mode. opts may be nil.
// The caller must call Close.
func (f *File) Replay(opts *Options) (*Cassette, error) {
	c := newCassette(f.tape.Path(), opts)
	c.opts.Mode = Replay
	c.metadata, c.incomplete, c.file = f.Metadata, f.Incomplete(), f.tape
	var err error
	if c.index, err = match.NewIndex(f.tape, c.opts.matching(), c.opts.Redacted); err != nil {
		return nil, err
	}
	return c, nil
}

// Decompress decodes the Content-Encoding of a body: gzip, deflate, br or zstd. It returns
// text unchanged, which a client decompressed before it was recorded. It returns an error
// for another encoding, and for a body that is not in its encoding. For a truncated body, it
// returns the content up to its end, and an error.
func Decompress(h http.Header, body []byte) ([]byte, error) {
	c := match.Decode(h, body)
	encoding := match.ContentEncoding(h)
	switch {
	case c.Complete:
		return c.Plain, nil
	case encoding == "", utf8.Valid(body):
		return body, nil
	case c.Problem != "":
		return nil, fmt.Errorf("content encoding %q: %s: record it again without compression", encoding, c.Problem)
	}
	return c.Plain, fmt.Errorf("content encoding %q: the body is truncated: record it again", encoding)
}

// Encode returns a cassette with these interactions, in the order of their requests. It
// makes the keys with the matching rules of opts, or of h.Match if opts is nil. The caller
// must redact secrets before.
func Encode(h recording.Metadata, opts *Options, list []*recording.Interaction) []byte {
	m := match.ParseMatcher(h.Match)
	if opts != nil {
		m = opts.matching()
	}
	h.Match = m.Name()
	own := make([]*recording.Interaction, len(list))
	for i, x := range list {
		own[i] = match.WithoutOwnHost(x)
	}
	return tape.Encode(h, own, func(x *recording.Interaction) tape.Keys { return m.Keys(x.Session, &x.Request) })
}

// UpdateChecksums returns a cassette that was edited by hand with new lengths, checksums
// and keys. It lists what the edit changed, as far as the file records it; the list is
// empty if the file is unchanged. It returns a [*FormatError] if a line cannot be read.
func UpdateChecksums(name string, text []byte) (updated []byte, changed []string, err error) {
	return tape.UpdateChecksums(name, text, func(h recording.Metadata, list []*recording.Interaction) []byte { return Encode(h, nil, list) })
}

// Replace atomically replaces the file with text. A file keeps its mode, a symbolic link
// keeps its place. It returns an error if path is not a regular file, and [ErrLocked] if a
// recording of the file is in progress.
func Replace(path string, text []byte) error { return tape.Replace(path, text) }

// Errors of cassette files. They are wrapped in a [*FormatError] or an error with the
// path; use errors.Is.
var (
	// ErrVersion means that this program cannot read the version of the format.
	ErrVersion = tape.ErrVersion
	// ErrTruncated means that the end of the file is missing.
	ErrTruncated = tape.ErrTruncated
	// ErrChecksum means that the file was changed after it was written.
	ErrChecksum = tape.ErrChecksum
	// ErrLocked means that another recording of the same cassette is in progress.
	ErrLocked = tape.ErrLocked
	// ErrNoResponse means that a recording without any response did not replace a
	// cassette with responses.
	ErrNoResponse = tape.ErrNoResponse
	// ErrClosed means that a cassette was used after Close.
	ErrClosed = errors.New("the cassette is closed")
)
