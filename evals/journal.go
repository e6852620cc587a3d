package evals

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"slices"
	"strings"
	"sync"
)

// Journal keeps what each input scored, so that scoring that was broken off, or killed at
// any moment, goes on where it was: what is lost are the inputs that were being scored. An
// input is known again by its name, its size and a digest of its content, and by the
// scorers. One that cannot be read twice, such as standard input, one of which something
// cannot be read or scored, and the file of a result are scored each time. What scorers
// read beside runs is not looked at. A journal is for any goroutines.
type Journal struct {
	by string

	mu     sync.Mutex
	file   JournalFile
	broken error // of file, the first
	kept   map[string]*entry
}

// JournalFile is what a journal stands in: an *os.File that nobody else writes to.
type JournalFile interface {
	io.ReadWriteSeeker
	Truncate(size int64) error
}

// entry is what an input scored.
type entry struct {
	Key    string `json:"key"`
	Passed bool   `json:"passed,omitzero"` // it is no recording
	Rows   []Row  `json:"rows"`
}

// The file of a journal: a line that says what it is, then an entry a line, each after its
// checksum (CRC32C, eight digits) and a space.
const journalHead = `{"format":"looptape-eval-journal","version":1}` + "\n"

// OpenJournal reads a journal, of which an end that was not written whole is cut off, or
// begins one in an empty file. By is what scores, beside the scorers: what another version
// of a program kept is not taken. The error is for a file that is no journal, which stays
// as it is, and for one that cannot be read or written.
func OpenJournal(f JournalFile, by string) (*Journal, error) {
	j := &Journal{by: by, file: f, kept: map[string]*entry{}}
	in := bufio.NewReader(f)
	head, err := in.ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if !strings.HasPrefix(journalHead, head) {
		return nil, errors.New("it is no journal of looptape eval score --resume; remove it, or name another output")
	}
	whole := int64(len(head))
	if head == journalHead {
		whole += j.read(in)
	} else {
		whole = 0
	}
	if err := f.Truncate(whole); err != nil {
		return nil, err
	}
	if _, err := f.Seek(whole, io.SeekStart); err != nil {
		return nil, err
	}
	if whole == 0 {
		_, err = io.WriteString(f, journalHead)
		return j, err
	}
	return j, nil
}

// read reads entries up to the first that is not whole, and returns the size of those
// before. What cannot be read is scored again.
func (j *Journal) read(in *bufio.Reader) (whole int64) {
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return whole
		}
		e := &entry{}
		sum, text, _ := bytes.Cut(line, []byte(" "))
		if string(sum) != checksum(text) || json.Unmarshal(text, e) != nil {
			return whole
		}
		whole += int64(len(line))
		j.kept[e.Key] = e
	}
}

// checksum is that of an entry and the end of its line.
func checksum(text []byte) string {
	return fmt.Sprintf("%08x", crc32.Checksum(text, crc32.MakeTable(crc32.Castagnoli)))
}

// Kept is how many inputs the journal knows.
func (j *Journal) Kept() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.kept)
}

// key tells an input by all that its scores depend on; "" if it is not to be kept.
func (j *Journal) key(in *Input, f io.Reader, scorers []string) string {
	at, ok := f.(io.ReaderAt)
	if j == nil || !ok {
		return ""
	}
	content := sha256.New()
	size, err := io.Copy(content, io.NewSectionReader(at, 0, math.MaxInt64))
	if err != nil {
		return ""
	}
	h := sha256.New()
	h.Write(oneLine([]any{j.by, scorers, in.Name, in.Found, size, content.Sum(nil)}))
	return hex.EncodeToString(h.Sum(nil))
}

// take gives a part what its input scored, if that is known.
func (j *Journal) take(key string, p *part) bool {
	if key == "" {
		return false
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	e := j.kept[key]
	if e != nil {
		p.Rows, p.passed = e.Rows, e.Passed
	}
	return e != nil
}

// keep keeps what an input scored.
func (j *Journal) keep(key string, p *part) {
	failed := func(r Row) bool { return len(r.Errors) > 0 }
	if key == "" || p.whole || len(p.Unreadable) > 0 || slices.ContainsFunc(p.Rows, failed) {
		return
	}
	slices.SortFunc(p.Rows, func(a, b Row) int { return a.compare(&b) }) // so that the same input is the same entry
	e := &entry{Key: key, Passed: p.passed, Rows: p.Rows}
	text := append(oneLine(e), '\n')
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.broken != nil || j.kept[key] != nil {
		return
	}
	_, j.broken = j.file.Write(append([]byte(checksum(text)+" "), text...))
	j.kept[key] = e
}

// failed is the error of writing the journal.
func (j *Journal) failed() error {
	if j == nil || j.broken == nil {
		return nil
	}
	return fmt.Errorf("what was scored cannot be kept: %w", j.broken)
}
