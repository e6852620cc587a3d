package tape

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"iter"
	"os"
	"slices"

	"github.com/looptape/looptape/cassettes/recording"
	"github.com/looptape/looptape/internal/atomicfile"
)

// PartSize describes the parts in which a long stream is redacted and searched for secrets.
type PartSize struct {
	// Size is how many bytes of new events a part has, about.
	Size int
	// Overlap is how many bytes of events two successive parts share, at least: so that a secret that
	// is divided over events is in one part as a whole.
	Overlap int
}

const readSize = 8 << 20 // of the events that a replay reads at a time

// Spool holds the events of a response that is too long for memory, without secrets, in the form of
// the cassette, until [Journal.AddLong]. It is for use by one goroutine.
type Spool struct {
	file  *os.File
	form  form // empty before the first events
	waits rounder
	cut   bool     // the last event is incomplete
	size  int64    // of the lines
	got   bodyInfo // of the events

	start, end []byte // the lines before and after the events
}

// NewSpool creates a file next to the journal, which has no name where the system allows it. The
// caller must call Remove.
func (j *Journal) NewSpool(number int) (*Spool, error) {
	f, err := atomicfile.Open(fmt.Sprintf("%s.stream%d", j.file.Name(), number), os.O_CREATE, atomicfile.Private)
	if err != nil {
		return nil, err
	}
	_ = os.Remove(f.Name()) // Windows removes no open file; Remove tries again
	return &Spool{file: f}, f.Truncate(0)
}

// Remove removes the file. A second call does nothing.
func (s *Spool) Remove() {
	_ = s.file.Close() // what was written is not needed
	_ = os.Remove(s.file.Name())
}

// ErrEvents means that the form of events cannot restore a stream.
var ErrEvents = errors.New("its events contain control characters or ␊, or their lines end in different ways")

// Add writes whole events. Only the last event may be incomplete. It returns [ErrEvents] if the form
// of events cannot restore them.
func (s *Spool) Add(body []byte, chunks []recording.Chunk) error {
	forms := []form{formEvents, formEventsCRLF}
	if bytes.HasSuffix(body, []byte("\r\n\r\n")) { // as an incomplete event, it is also one of the other form
		slices.Reverse(forms)
	}
	for _, f := range forms {
		waits := s.waits
		lines, ok := appendEvents(nil, '<', body, f.newline(), chunks, &waits)
		if s.form != "" && s.form != f || s.cut || !ok || !IsText(body) || !f.restores('<', lines, body) {
			continue
		}
		s.form, s.waits, s.cut = f, waits, !bytes.HasSuffix(body, []byte(f.newline()+f.newline()))
		s.got = bodyInfo{f, s.got.length + len(body), crc32.Update(s.got.crc, castagnoli, body)}
		s.size += int64(len(lines))
		_, err := s.file.Write(lines)
		return err
	}
	return ErrEvents
}

// End sets the rest of the interaction. It ignores the body of its response.
func (s *Spool) End(number int, x *recording.Interaction, k Keys) {
	start, sent := appendStart(nil, number, x)
	s.start, s.end = start, appendTermination(nil, &x.Response)
	metadata := metadataSum(append(bytes.Clone(start), s.end...))
	s.end = appendFooter(s.end, &x.Response, metadata, sent, s.got, keyText(k))
}

// Parts returns the interaction in parts, each of which has some of the events, after End.
func (s *Spool) Parts(size PartSize) iter.Seq[*recording.Interaction] {
	return func(yield func(*recording.Interaction) bool) {
		parts(s.start, s.end, io.NewSectionReader(s.file, 0, s.size), size, yield)
	}
}

// AddLong is Add for an interaction in a spool.
func (j *Journal) AddLong(number int, s *Spool) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	f := frame{number: number, start: int64(len(s.start)), end: int64(len(s.end))}
	at, size := j.size, f.start+s.size+f.end
	line := frameLine(size, 0) // the checksum is not yet known
	j.size += int64(len(line)) + size
	f.lines = io.NewSectionReader(j.file, at+int64(len(line)), size)
	sum := crc32.New(castagnoli)
	w := bufio.NewWriter(io.MultiWriter(j.file, sum)) // keeps an error until Flush
	if j.err == nil {
		_, j.err = j.file.Write(line)
	}
	if j.err == nil {
		_, _ = w.Write(s.start)
		_, j.err = io.Copy(w, io.NewSectionReader(s.file, 0, s.size))
	}
	if j.err == nil {
		_, _ = w.Write(s.end)
		j.err = w.Flush()
	}
	if f.crc = sum.Sum32(); j.err == nil {
		_, j.err = j.file.WriteAt(frameLine(size, f.crc), at)
	}
	if j.err == nil {
		j.err = j.file.Sync()
	}
	j.frames = append(j.frames, f)
	j.answered = j.answered || hasResponse(s.start)
	return j.err
}

// parts yields the interaction of a long frame in parts. It returns false if yield did, or if the
// journal cannot be read.
func (f frame) parts(size PartSize, yield func(*recording.Interaction) bool) bool {
	start, end := make([]byte, f.start), make([]byte, f.end)
	_, failed := f.lines.ReadAt(start, 0)
	if _, err := f.lines.ReadAt(end, f.lines.Size()-f.end); failed != nil || err != nil && !errors.Is(err, io.EOF) {
		return false
	}
	return parts(start, end, io.NewSectionReader(f.lines, f.start, f.lines.Size()-f.start-f.end), size, yield)
}

func parts(start, end []byte, lines *io.SectionReader, size PartSize, yield func(*recording.Interaction) bool) bool {
	var shared int64 // with the part before
	for left := (gap{from: lines, to: lines.Size()}); left.size() > 0; {
		text, next, err := left.read(shared, int64(size.Size))
		if err != nil {
			return false
		}
		x := &recording.Interaction{}
		// The checksum in the footer is that of all events.
		if (&block{rest: bytes.Join([][]byte{start, text, end}, nil), edited: true}).read(x) != nil || !yield(x) {
			return false
		}
		if left = next; left.size() > 0 {
			before := text[:max(0, len(text)-max(size.Overlap, 1))] // without the overlap
			shared = int64(len(text) - bytes.LastIndexByte(before, '\n') - 1)
			left.at -= shared
		}
	}
	return true
}

// gap is a number of whole lines that are only on disk. The zero value has none.
type gap struct {
	from   io.ReaderAt
	at, to int64
}

func (g gap) size() int64 { return g.to - g.at }

// read reads about size bytes after known ones, at least one line. It returns what is left.
func (g gap) read(known, size int64) (lines []byte, left gap, err error) {
	for size += known; ; size *= 2 {
		lines = make([]byte, min(size, g.size()))
		if _, err := g.from.ReadAt(lines, g.at); err != nil && !errors.Is(err, io.EOF) {
			return nil, g, err
		}
		if n := bytes.LastIndexByte(lines, '\n') + 1; int64(n) > known {
			g.at += int64(n)
			return lines[:n], g, nil
		}
		if size >= g.size() {
			return nil, g, ErrChecksum
		}
	}
}
