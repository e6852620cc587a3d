package cassettes

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// A recording is kept in a journal beside its cassette until it is closed: frames, each
// behind a line of its own:
//
//	=== frame LENGTH CRC
//
// The first is the head of the cassette, the others are the interactions in the order in
// which they ended. Each is synced before its answer ends. Of a journal that breaks off,
// the whole frames count.
const frameMark = "=== frame "

// JournalEnd stands behind the name of a cassette in that of its journal, which lies
// beside it while it is recorded, and after that if the recording was not closed.
const JournalEnd = ".journal"

// JournalOf is where the journal of a cassette lies: a symbolic link has that of what it
// leads to.
func JournalOf(path string) string { return target(path) + JournalEnd }

// ErrBusy means that a recording of the same cassette is going on.
var ErrBusy = errors.New("a recording of this cassette is going on")

// ErrUnanswered means that a recording which got no answer at all did not replace a
// cassette, which stays as it was.
var ErrUnanswered = errors.New("nothing was answered while it was recorded again, so it stays as it was; remove it first if that is what should be recorded")

// journal is a recording that is not closed.
type journal struct {
	path string // of the cassette

	mu     sync.Mutex
	file   *os.File
	frames []frame
	err    error // of the first write that failed
}

// frame is an interaction that has ended.
type frame struct {
	number int // in the order of the requests, from 1
	text   []byte
}

func appendFrame(dst, text []byte) []byte {
	return append(fmt.Appendf(dst, "%s%d %08x\n", frameMark, len(text), checksum(text)), text...)
}

// BrokenError says that a recording was not closed: its program was killed, or its
// journal is damaged. What is whole of it is replayed.
type BrokenError struct {
	File  string // the journal
	Whole int    // how many interactions are whole
	Lost  int    // how many bytes are behind them
}

func (e *BrokenError) Error() string {
	return fmt.Sprintf("%s: the recording was not closed; interactions that are whole: %d, bytes behind them that are lost: %d", e.File, e.Whole, e.Lost)
}

// createJournal begins a recording of a cassette, unless the journal of one that was not
// closed is there.
func createJournal(path string, h Head) (*journal, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(JournalOf(path), os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	j := &journal{path: path, file: f}
	if lock(f) != nil || !stands(f) {
		_ = f.Close() // nothing was written
		return nil, fmt.Errorf("%s: %w", path, ErrBusy)
	}
	if err := vacate(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if j.write(appendFrame(nil, headText(h))); j.err != nil {
		return nil, errors.Join(j.err, f.Close())
	}
	return j, nil
}

// vacate empties a journal that holds no interaction. Others are not thrown away.
func vacate(f *os.File) error {
	text, err := io.ReadAll(f)
	if err != nil {
		return err
	}
	if begun(text) {
		left, err := parseJournal(f.Name(), text)
		if err == nil && left.Len() > 0 {
			err = left.broken
		}
		if err != nil {
			return fmt.Errorf("%w; keep it by looptape cassette convert %s -o FILE, or do without it, and remove it before the next recording", err, f.Name())
		}
	}
	_, err = f.Seek(0, io.SeekStart)
	return errors.Join(err, f.Truncate(0))
}

// stands reports whether a file is still the one of its name: the recording that it was
// of may have ended just now.
func stands(f *os.File) bool {
	open, err := f.Stat()
	if err != nil {
		return false
	}
	named, err := os.Stat(f.Name())
	return err == nil && os.SameFile(open, named)
}

// write writes and syncs.
func (j *journal) write(text []byte) {
	if j.err != nil {
		return
	}
	if _, j.err = j.file.Write(text); j.err == nil {
		j.err = j.file.Sync()
	}
}

// add keeps an interaction, which has this number in the order of the requests.
func (j *journal) add(number int, x *Interaction, k keys) error {
	text := appendInteraction(nil, number, x, keyText(k))
	j.mu.Lock()
	defer j.mu.Unlock()
	j.write(appendFrame(nil, text))
	j.frames = append(j.frames, frame{number, text})
	return j.err
}

// fail keeps an error, if there was none before, that close tells.
func (j *journal) fail(err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.err = cmp.Or(j.err, err)
}

// close makes the cassette of the journal, and removes it. The error is ErrUnanswered if
// that would be a loss.
func (j *journal) close(h Head) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err != nil {
		return errors.Join(fmt.Errorf("the recording is in %s: %w", j.file.Name(), j.err), j.file.Close())
	}
	if !slices.ContainsFunc(j.frames, func(f frame) bool { return answered(f.text) }) && holdsAnswers(j.path) {
		return errors.Join(fmt.Errorf("%s: %w", j.path, ErrUnanswered), j.gone())
	}
	if err := replace(j.path, compact(headText(h), j.frames)); err != nil {
		return errors.Join(fmt.Errorf("the recording is in %s: %w", j.file.Name(), err), j.file.Close())
	}
	return j.gone()
}

// answered reports whether there was an answer, by the title of an interaction.
func answered(text []byte) bool {
	title, _, _ := bytes.Cut(text, []byte("\n"))
	t, err := readTitle(title)
	return err == nil && t.status != string(Failed) && t.status != string(Cancelled)
}

// holdsAnswers reports whether a file is there that holds answers, or cannot be read.
func holdsAnswers(path string) bool {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return false
	}
	f, err := ReadFile(path)
	return err != nil || slices.ContainsFunc(f.entries, func(e entry) bool { return answered(f.text[e.from:e.to]) })
}

// remove ends the recording, of which nothing is left.
func (j *journal) remove() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.gone()
}

// gone removes the journal before it is unlocked: who comes next makes another one.
func (j *journal) gone() error {
	return errors.Join(os.Remove(j.file.Name()), j.file.Close())
}

// compact returns the cassette with a head and the interactions of frames, in the order
// of their requests.
func compact(head []byte, frames []frame) []byte {
	slices.SortStableFunc(frames, func(a, b frame) int { return a.number - b.number })
	size := len(head) + 64
	for _, f := range frames {
		size += len(f.text) + 8
	}
	text := append(make([]byte, 0, size), head...)
	for i, f := range frames {
		_, rest, _ := bytes.Cut(f.text[len("=== "):], []byte(" "))
		text = append(strconv.AppendInt(append(text, "=== "...), int64(i+1), 10), ' ')
		text = append(append(text, rest...), '\n')
	}
	return appendFoot(text, len(frames))
}

// begun reports whether anything of a journal was written: the head of one that breaks
// off before is not whole, and nothing is behind it.
func begun(text []byte) bool {
	_, _, whole := readFrame(text)
	return whole || bytes.LastIndex(text, []byte(frameMark)) > 0
}

// parseJournal reads what is whole of a journal.
func parseJournal(name string, text []byte) (*File, error) {
	head, n, whole := readFrame(text)
	if !whole {
		return nil, &FormatError{File: name, Line: 1, Err: fmt.Errorf("%w: the head of the journal, without which the rest cannot be read", ErrChanged)}
	}
	var frames []frame
	rest := text[n:]
	for len(rest) > 0 {
		text, n, whole := readFrame(rest)
		first, _, _ := bytes.Cut(text, []byte("\n"))
		t, err := readTitle(first)
		if !whole || err != nil {
			break
		}
		frames, rest = append(frames, frame{t.number, text}), rest[n:]
	}
	broken := &BrokenError{File: name, Whole: len(frames), Lost: len(rest)}
	return (&File{name: name, text: compact(head, frames), broken: broken}).parsed()
}

// readFrame reads a frame, if it is whole, and how long it is with its line.
func readFrame(from []byte) (text []byte, n int, whole bool) {
	line, rest, found := bytes.Cut(from, []byte("\n"))
	words := strings.Fields(strings.TrimPrefix(string(line), frameMark))
	if !found || !bytes.HasPrefix(line, []byte(frameMark)) || len(words) != 2 {
		return nil, 0, false
	}
	size, err := strconv.Atoi(words[0])
	if err != nil || size < 0 || size > len(rest) || words[1] != fmt.Sprintf("%08x", checksum(rest[:size])) {
		return nil, 0, false
	}
	return rest[:size], len(line) + 1 + size, true
}
