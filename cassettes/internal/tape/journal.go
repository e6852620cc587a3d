package tape

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"

	"github.com/looptape/looptape/cassettes/recording"
	"github.com/looptape/looptape/internal/atomicfile"
	"github.com/looptape/looptape/internal/lockfile"
)

// A journal holds a recording until it is closed. It has frames, each after a line
//
// \t=== frame LENGTH CRC
//
// The first frame is the metadata of the cassette. The others are the interactions in the
// order in which they ended. The recorder syncs each frame before the response ends. A
// reader uses the frames up to the first incomplete one.
const framePrefix = "=== frame "

// JournalSuffix ends the name of a journal.
const JournalSuffix = ".journal"

const newSuffix = ".new" // of the cassette that Close writes, until it replaces the old one

// JournalPath returns the path of the journal of a cassette. It follows symbolic links.
func JournalPath(path string) string { return atomicfile.Target(path) + JournalSuffix }

// ErrLocked means that another recording of the cassette is in progress.
var ErrLocked = errors.New("a recording of this cassette is in progress")

// ErrNoResponse means that a recording without any response did not replace a cassette.
var ErrNoResponse = errors.New("the new recording has no response, so the cassette is unchanged: remove it first to record it anyway")

// Journal is a recording in progress. It is safe for use by many goroutines.
type Journal struct {
	path string // of the cassette

	mu       sync.Mutex
	file     *os.File
	size     int64   // bytes written
	frames   []frame // in the order in which they ended
	kept     int     // number of frames that are not in the file
	answered bool    // at least one has a response
	// interrupted is true if the journal continues one with interactions.
	interrupted bool
	ours        bool  // the file is a journal
	err         error // of the first failed write
}

func frameLine(size int64, sum uint32) []byte {
	return fmt.Appendf(nil, "%s%d %08x\n", framePrefix, size, sum)
}

// CreateJournal starts a recording. It returns an error if an unfinished journal has
// interactions.
func CreateJournal(path string, h recording.Metadata) (*Journal, error) {
	return ContinueJournal(path, h, nil, 0)
}

// ContinueJournal starts a recording that begins with the interactions of kept; nil means none. An
// unfinished journal with interactions is an error unless their number is interrupted. Then kept
// contains what is needed of them, and they stay in the journal until it is closed.
func ContinueJournal(path string, h recording.Metadata, kept *File, interrupted int) (*Journal, error) {
	if err := atomicfile.Check(path); err != nil {
		return nil, err
	}
	folder := filepath.Dir(path)
	known := atomicfile.ExistingFolder(folder)
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return nil, err
	}
	f, err := atomicfile.Open(JournalPath(path), os.O_CREATE, 0)
	if err != nil {
		return nil, err
	}
	if err := atomicfile.SyncFolders(folder, known); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	j := &Journal{path: path, file: f}
	if lockfile.Lock(f) != nil || !isCurrent(f) {
		_ = f.Close() // nothing was written
		return nil, fmt.Errorf("%s: %w", path, ErrLocked)
	}
	err = j.begin(interrupted)
	if err == nil && j.size == 0 {
		j.write(metadataText(h))
	}
	j.keep(kept)
	err = errors.Join(err, j.err)
	switch {
	case err == nil:
		return j, nil
	case j.ours && !j.interrupted: // an incomplete first line would look like the file of a user
		return nil, errors.Join(err, j.discard())
	}
	return nil, errors.Join(err, f.Close())
}

// isJournal reports whether text is the start of a journal, or is empty. A text without the length of the
// first frame may be a file of the user.
func isJournal(text []byte) bool {
	line, rest, _ := bytes.Cut(text, []byte("\n"))
	return len(text) == 0 || frameStart.Match(line) && isCassetteStart(rest)
}

// frameStart matches the first line of a frame, or its start.
var frameStart = regexp.MustCompile("^" + framePrefix + "[0-9]+(?: [0-9a-f]{0,8})?$")

// isCassetteStart reports whether text is the start of a cassette or of a part of one.
func isCassetteStart(text []byte) bool {
	return strings.HasPrefix(magic, string(text[:min(len(text), len(magic))]))
}

// checkUnfinished returns an error if the file of a killed Close is another file.
func checkUnfinished(path string) error {
	f, err := atomicfile.Open(path, 0, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	start, err := io.ReadAll(io.LimitReader(f, int64(len(magic))))
	if err == nil && !isCassetteStart(start) {
		err = notOurs(path, "a cassette that a recording writes")
	}
	return errors.Join(err, f.Close())
}

func notOurs(path, what string) error {
	return fmt.Errorf("%s: not %s: move the file, or record to another cassette", path, what)
}

// keep adds the interactions of a file in memory, which is not written.
func (j *Journal) keep(f *File) {
	if f == nil {
		return
	}
	from := bytes.NewReader(f.text)
	for i, e := range f.entries {
		j.frames = append(j.frames, frameOf(i+1, f.text[e.from:e.to], from, int64(e.from)))
	}
	j.kept, j.answered = len(j.frames), true
}

// begin empties a journal without interactions, or moves to the end of an interrupted one. It
// removes the file of a killed Close.
func (j *Journal) begin(interrupted int) error {
	f := j.file
	text, err := io.ReadAll(f)
	if err != nil {
		return err
	}
	if !isJournal(text) {
		return notOurs(f.Name(), "the journal of a recording")
	}
	if err := checkUnfinished(f.Name() + newSuffix); err != nil {
		return err
	}
	if hasFrames(text) {
		left, err := parseJournal(f.Name(), text)
		if err == nil && left.Len() > 0 {
			err = left.incomplete
		}
		if end, ok := errors.AsType[*recording.IncompleteError](err); ok && end.Complete == interrupted {
			j.size, j.interrupted, err = int64(len(text)-end.TrailingBytes), true, nil
		}
		if err != nil {
			return fmt.Errorf("%w; keep it by looptape cassette convert %s -o FILE, or do without it, and remove it before the next recording", err, f.Name())
		}
	}
	j.ours = true
	_, err = f.Seek(j.size, io.SeekStart)
	err = errors.Join(err, f.Truncate(j.size))
	if failed := os.Remove(f.Name() + newSuffix); !errors.Is(failed, fs.ErrNotExist) {
		err = errors.Join(err, failed)
	}
	return err
}

// isCurrent reports whether the file still has its name. The other recording may have ended
// just now.
func isCurrent(f *os.File) bool {
	open, err := f.Stat()
	if err != nil {
		return false
	}
	named, err := os.Stat(f.Name())
	return err == nil && os.SameFile(open, named)
}

func (j *Journal) write(text []byte) {
	line := frameLine(int64(len(text)), Checksum(text))
	for _, part := range [][]byte{line, text} {
		if j.err == nil {
			_, j.err = j.file.Write(part)
		}
	}
	if j.err == nil {
		j.err = j.file.Sync()
	}
	j.size += int64(len(line) + len(text))
}

// Add writes an interaction with its number in the order of the requests.
func (j *Journal) Add(number int, x *recording.Interaction, k Keys) error {
	text := appendInteraction(nil, number, x, keyText(k))
	j.mu.Lock()
	defer j.mu.Unlock()
	j.write(text)
	j.frames = append(j.frames, frameOf(number, text, j.file, j.size-int64(len(text))))
	j.answered = j.answered || hasResponse(text)
	return j.err
}

// Fail keeps the first error for Close.
func (j *Journal) Fail(err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.err = cmp.Or(j.err, err)
}

// Close replaces the cassette by the recording and removes the journal. It returns
// ErrNoResponse if the recording has no response and the cassette has some.
func (j *Journal) Close(h recording.Metadata) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err != nil {
		return errors.Join(fmt.Errorf("the recording is in %s: %w", j.file.Name(), j.err), j.file.Close())
	}
	if !j.answered && hasResponses(j.path) {
		return errors.Join(fmt.Errorf("%s: %w", j.path, ErrNoResponse), j.discard())
	}
	naming := func(path string) (string, error) { return path + JournalSuffix + newSuffix, nil }
	write := func(to io.Writer) error { return compact(to, metadataText(h), j.frames) }
	if err := atomicfile.Replace(j.path, 0, naming, write); err != nil {
		return errors.Join(fmt.Errorf("the recording is in %s: %w", j.file.Name(), err), j.file.Close())
	}
	return j.discard()
}

func hasResponse(text []byte) bool {
	title, _, _ := bytes.Cut(text, []byte("\n"))
	_, status, err := readTitle(title, &recording.Interaction{})
	return err == nil && status != string(recording.Failed) && status != string(recording.Canceled)
}

// hasResponses reports whether the file has responses or cannot be read.
func hasResponses(path string) bool {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return false
	}
	f, err := ReadFile(path)
	return err != nil || slices.ContainsFunc(f.entries, func(e entry) bool { return hasResponse(f.text[e.from:e.to]) })
}

// Remove discards the recording.
func (j *Journal) Remove() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.discard()
}

// Leave closes the journal, and removes it if it has no interaction.
func (j *Journal) Leave() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.interrupted || len(j.frames) > j.kept {
		return j.file.Close()
	}
	return j.discard()
}

// discard removes the journal before unlocking it: the next recording creates another.
func (j *Journal) discard() error {
	return errors.Join(os.Remove(j.file.Name()), j.file.Close())
}

// Interactions reads the recorded interactions whose numbers want accepts. It skips damaged
// ones. It returns those of AddLong in parts.
func (j *Journal) Interactions(want func(number int) bool, size PartSize) iter.Seq2[int, *recording.Interaction] {
	return func(yield func(int, *recording.Interaction) bool) {
		for _, f := range j.frames {
			if !want(f.number) {
				continue
			}
			if f.start > 0 {
				if !f.parts(size, func(x *recording.Interaction) bool { return yield(f.number, x) }) {
					return
				}
				continue
			}
			x := &recording.Interaction{}
			if text, err := f.text(); err != nil || (&block{rest: text}).read(x) != nil {
				continue
			}
			if !yield(f.number, x) {
				return
			}
		}
	}
}

// frame is the position of an interaction in a journal.
type frame struct {
	number int // in the order of the requests, from 1
	crc    uint32
	lines  *io.SectionReader
	// start and end are the lengths of the lines before and after the events of a long stream, which do
	// not fit in memory; 0 for other interactions.
	start, end int64
}

func frameOf(number int, text []byte, journal io.ReaderAt, at int64) frame {
	return frame{number: number, crc: Checksum(text), lines: io.NewSectionReader(journal, at, int64(len(text)))}
}

func (f frame) text() ([]byte, error) {
	text := make([]byte, f.lines.Size())
	if _, err := f.lines.ReadAt(text, 0); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrChecksum, err)
	}
	if Checksum(text) != f.crc {
		return nil, ErrChecksum
	}
	return text, nil
}

// copyTo writes the lines with another number.
func (f frame) copyTo(w io.Writer, number int, buffer []byte) error {
	title := titleStart(f.number)
	sum := crc32.New(castagnoli)
	_, _ = sum.Write(title) // it returns nil
	_, _ = w.Write(titleStart(number))
	rest := io.NewSectionReader(f.lines, int64(len(title)), f.lines.Size()-int64(len(title)))
	n, err := io.CopyBuffer(io.MultiWriter(w, sum), rest, buffer)
	if err == nil && (n != rest.Size() || sum.Sum32() != f.crc) {
		err = ErrChecksum
	}
	return err
}

func titleStart(number int) []byte { return fmt.Appendf(nil, "=== %d ", number) }

// compact writes a cassette with the interactions of frames, sorted by number. It holds a part of one
// interaction in memory.
func compact(to io.Writer, head []byte, frames []frame) error {
	sort.SliceStable(frames, func(i, j int) bool { return frames[i].number < frames[j].number })
	sum := crc32.New(castagnoli)
	w := bufio.NewWriter(io.MultiWriter(to, sum)) // keeps an error until Flush
	_, _ = w.Write(head)
	buffer := make([]byte, copySize)
	for i, f := range frames {
		if err := f.copyTo(w, i+1, buffer); err != nil {
			return err
		}
		_ = w.WriteByte('\n')
	}
	_, _ = w.Write(footText(len(frames)))
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(to, "crc %08x\n", sum.Sum32())
	return err
}

const copySize = 64 << 10

// hasFrames reports whether a journal has a complete first frame or anything after it.
func hasFrames(text []byte) bool {
	_, _, whole := readFrame(text)
	return whole || bytes.LastIndex(text, []byte(framePrefix)) > 0
}

func parseJournal(name string, text []byte) (*File, error) {
	head, at, whole := readFrame(text)
	if !whole {
		return nil, &recording.FormatError{File: name, Line: 1, Err: fmt.Errorf("%w: the head of the journal, without which the rest cannot be read", ErrChecksum)}
	}
	var frames []frame
	from := bytes.NewReader(text)
	for at < len(text) {
		inside, n, whole := readFrame(text[at:])
		first, _, _ := bytes.Cut(inside, []byte("\n"))
		number, _, err := readTitle(first, &recording.Interaction{})
		if !whole || err != nil {
			break
		}
		at += n
		frames = append(frames, frameOf(number, inside, from, int64(at-len(inside))))
	}
	broken := &recording.IncompleteError{File: name, Complete: len(frames), TrailingBytes: len(text) - at}
	var cassette bytes.Buffer
	cassette.Grow(len(text))
	_ = compact(&cassette, head, frames) // frames in memory cannot fail
	return (&File{Name: name, text: cassette.Bytes(), incomplete: broken}).parsed()
}

// readFrame reads a frame if it is complete. It returns its length with its first line.
func readFrame(from []byte) (text []byte, n int, whole bool) {
	line, rest, found := bytes.Cut(from, []byte("\n"))
	words := strings.Fields(strings.TrimPrefix(string(line), framePrefix))
	if !found || !bytes.HasPrefix(line, []byte(framePrefix)) || len(words) != 2 {
		return nil, 0, false
	}
	size, err := strconv.Atoi(words[0])
	if err != nil || size < 0 || size > len(rest) || words[1] != fmt.Sprintf("%08x", Checksum(rest[:size])) {
		return nil, 0, false
	}
	return rest[:size], len(line) + 1 + size, true
}
