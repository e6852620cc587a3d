package cassettes

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// A recording is kept in a journal beside its cassette until it is closed: the head of
// the cassette, and then the interactions in the order in which they ended, each behind
// a line of its own:
//
//	=== frame LENGTH CRC
//
// Each is synced before its answer ends. Of a journal that breaks off, the whole frames
// count.
const (
	journalEnd = ".journal"
	frameMark  = "=== frame "
)

// ErrBusy means that another recording of the same cassette is going on.
var ErrBusy = errors.New("another recording of this cassette is going on")

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

// createJournal begins a recording of a cassette.
func createJournal(path string, h Head) (*journal, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path+journalEnd, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	j := &journal{path: path, file: f}
	if lock(f) != nil || !stands(f) {
		_ = f.Close() // nothing was written
		return nil, fmt.Errorf("%s: %w", path, ErrBusy)
	}
	if err := f.Truncate(0); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	j.write(appendHead(nil, h))
	return j, j.err
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
func (j *journal) add(number int, x *Interaction, key uint64) error {
	text := appendInteraction(nil, number, x, keyText(key))
	j.mu.Lock()
	defer j.mu.Unlock()
	j.write(append(fmt.Appendf(nil, "%s%d %08x\n", frameMark, len(text), checksum(text)), text...))
	j.frames = append(j.frames, frame{number, text})
	return j.err
}

// close makes the cassette of the journal, and removes it.
func (j *journal) close(h Head) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err != nil {
		return errors.Join(fmt.Errorf("the recording is in %s: %w", j.path+journalEnd, j.err), j.file.Close())
	}
	if err := writeFile(j.path, compact(h, j.frames)); err != nil {
		return errors.Join(fmt.Errorf("the recording is in %s: %w", j.path+journalEnd, err), j.file.Close())
	}
	return j.gone()
}

// remove ends the recording, of which nothing is left.
func (j *journal) remove() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.gone()
}

// gone removes the journal before it is unlocked: who comes next makes another one.
func (j *journal) gone() error {
	return errors.Join(os.Remove(j.path+journalEnd), j.file.Close())
}

// compact returns the cassette with the interactions of frames, in the order of their
// requests.
func compact(h Head, frames []frame) []byte {
	slices.SortStableFunc(frames, func(a, b frame) int { return a.number - b.number })
	size := 256
	for _, f := range frames {
		size += len(f.text) + 8
	}
	text := appendHead(make([]byte, 0, size), h)
	for i, f := range frames {
		_, rest, _ := bytes.Cut(f.text[len("=== "):], []byte(" "))
		text = append(strconv.AppendInt(append(text, "=== "...), int64(i+1), 10), ' ')
		text = append(append(text, rest...), '\n')
	}
	return appendFoot(text, len(frames))
}

// writeFile replaces a file at once: there is the old one or the new one.
func writeFile(path string, text []byte) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name()) // the error tells what is wrong
		}
	}()
	_, err = f.Write(text)
	if err = errors.Join(err, f.Chmod(0o644), f.Sync(), f.Close()); err != nil {
		return err
	}
	if err = os.Rename(f.Name(), path); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(path))
}

// syncFolder makes the names in a folder durable.
func syncFolder(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	_ = d.Sync() // not every system can sync a folder
	return d.Close()
}

// readJournal returns what was recorded in a journal, as a cassette, and how many bytes
// at its end are not whole; no text if nothing was.
func readJournal(path string) (text []byte, lost int, err error) {
	text, err = os.ReadFile(path + journalEnd)
	if err != nil {
		return nil, 0, err
	}
	return wholeOf(path+journalEnd, text)
}

// wholeOf is what is whole in the text of a journal, as readJournal returns it.
func wholeOf(name string, text []byte) (whole []byte, lost int, err error) {
	at := bytes.Index(text, []byte("\n\n"))
	if at < 0 { // it broke off before there was anything
		return nil, len(text), nil
	}
	f := &File{text: text}
	if line, err := f.head(); err != nil {
		return nil, 0, &FormatError{File: name, Line: line, Err: err}
	}
	rest := text[at+2:]
	var frames []frame
	for len(rest) > 0 {
		fr, n, ok := readFrame(rest)
		if !ok {
			break
		}
		frames, rest = append(frames, fr), rest[n:]
	}
	return compact(f.Head, frames), len(rest), nil
}

// readFrame reads a frame, if it is whole, and how long it is.
func readFrame(text []byte) (fr frame, n int, ok bool) {
	line, rest, found := bytes.Cut(text, []byte("\n"))
	words := strings.Fields(strings.TrimPrefix(string(line), frameMark))
	if !found || !bytes.HasPrefix(line, []byte(frameMark)) || len(words) != 2 {
		return fr, 0, false
	}
	size, err := strconv.Atoi(words[0])
	if err != nil || size < 0 || size > len(rest) || words[1] != fmt.Sprintf("%08x", checksum(rest[:size])) {
		return fr, 0, false
	}
	title, _, _ := bytes.Cut(rest[:size], []byte("\n"))
	t, err := readTitle(title)
	return frame{t.number, rest[:size]}, len(line) + 1 + size, err == nil
}
