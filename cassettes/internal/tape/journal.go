package tape

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/looptape/looptape/cassettes/recording"
	"github.com/looptape/looptape/internal/lockfile"
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

// journalSuffix stands behind the name of a cassette in that of its journal, which lies
// beside it while it is recorded, and after that if the recording was not closed.
const JournalSuffix = ".journal"

// newEnd stands behind the name of a journal in that of the cassette which is made of it,
// until that takes the place of an older one.
const newEnd = ".new"

// journalPath is where the journal of a cassette lies: a symbolic link has that of what it
// leads to.
func JournalPath(path string) string { return target(path) + JournalSuffix }

// ErrLocked means that a recording of the same cassette is going on.
var ErrLocked = errors.New("a recording of this cassette is going on")

// ErrNoResponse means that a recording which got no answer at all did not replace a
// cassette, which stays as it was.
var ErrNoResponse = errors.New("nothing was answered while it was recorded again, so it stays as it was; remove it first if that is what should be recorded")

// journal is a recording that is not closed.
type Journal struct {
	path string // of the cassette

	mu       sync.Mutex
	file     *os.File
	size     int64   // so much was written
	frames   []frame // as they ended
	answered bool    // one of them at least
	err      error   // of the first write that failed
}

// frameLine is the line before a frame.
func frameLine(text []byte) []byte {
	return fmt.Appendf(nil, "%s%d %08x\n", frameMark, len(text), Checksum(text))
}

// createJournal begins a recording of a cassette, unless the journal of one that was not
// closed is there.
func CreateJournal(path string, h recording.Metadata) (*Journal, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return nil, &fs.PathError{Op: "record", Path: path, Err: errors.New("it is a folder; name a file in it")}
	}
	folder := filepath.Dir(path)
	known := standing(folder)
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(JournalPath(path), os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	if err := syncFolders(folder, known); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	j := &Journal{path: path, file: f}
	if lockfile.Lock(f) != nil || !stands(f) {
		_ = f.Close() // nothing was written
		return nil, fmt.Errorf("%s: %w", path, ErrLocked)
	}
	if err := vacate(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if j.write(headText(h)); j.err != nil {
		return nil, errors.Join(j.err, f.Close())
	}
	return j, nil
}

// vacate empties a journal that holds no interaction, and removes what Close was writing
// when its process was killed. Other journals are not thrown away.
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
	err = errors.Join(err, f.Truncate(0))
	if failed := os.Remove(f.Name() + newEnd); !errors.Is(failed, fs.ErrNotExist) {
		err = errors.Join(err, failed)
	}
	return err
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

// write writes a frame, and syncs it.
func (j *Journal) write(text []byte) {
	line := frameLine(text)
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

// add keeps an interaction, which has this number in the order of the requests.
func (j *Journal) Add(number int, x *recording.Interaction, k Keys) error {
	text := appendInteraction(nil, number, x, keyText(k))
	j.mu.Lock()
	defer j.mu.Unlock()
	j.write(text)
	j.frames = append(j.frames, frameOf(number, text, j.file, j.size-int64(len(text))))
	j.answered = j.answered || answered(text)
	return j.err
}

// fail keeps an error, if there was none before, that close tells.
func (j *Journal) Fail(err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.err = cmp.Or(j.err, err)
}

// close makes the cassette of the journal, and removes it. The error is ErrNoResponse if
// that would be a loss.
func (j *Journal) Close(h recording.Metadata) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err != nil {
		return errors.Join(fmt.Errorf("the recording is in %s: %w", j.file.Name(), j.err), j.file.Close())
	}
	if !j.answered && holdsAnswers(j.path) {
		return errors.Join(fmt.Errorf("%s: %w", j.path, ErrNoResponse), j.gone())
	}
	naming := func(path string) (string, error) { return path + JournalSuffix + newEnd, nil }
	write := func(to io.Writer) error { return compact(to, headText(h), j.frames) }
	if err := replace(j.path, naming, write); err != nil {
		return errors.Join(fmt.Errorf("the recording is in %s: %w", j.file.Name(), err), j.file.Close())
	}
	return j.gone()
}

// answered reports whether there was an answer, by the title of an interaction.
func answered(text []byte) bool {
	title, _, _ := bytes.Cut(text, []byte("\n"))
	t, err := readTitle(title)
	return err == nil && t.status != string(recording.Failed) && t.status != string(recording.Canceled)
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
func (j *Journal) Remove() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.gone()
}

// gone removes the journal before it is unlocked: who comes next makes another one.
func (j *Journal) gone() error {
	return errors.Join(os.Remove(j.file.Name()), j.file.Close())
}

// interactions reads what was recorded so far, each with its number; what cannot be read
// is left out.
func (j *Journal) Interactions() iter.Seq2[int, *recording.Interaction] {
	return func(yield func(int, *recording.Interaction) bool) {
		for _, f := range j.frames {
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
