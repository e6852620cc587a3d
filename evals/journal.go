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
	"strings"
	"sync"
)

// Journal stores the rows of each scored input, so that interrupted scoring can continue: only
// the inputs that were being scored are lost. A journal identifies an input by its name, its size,
// a digest of its content and the scorers. It does not store inputs that cannot be read twice
// (such as standard input), inputs with errors and score files. It does not detect changes of other
// files that scorers read. A Journal is safe for use by many goroutines.
type Journal struct {
	program string

	mu       sync.Mutex
	file     journalFile
	writeErr error // the first of file
	entries  map[string]*entry
	inputs   map[string]bool // names of the stored inputs; "" for an entry without a name
}

// journalFile is the file of a journal: an *os.File that only this journal writes to.
type journalFile interface {
	io.ReadWriteSeeker
	Truncate(size int64) error
}

type entry struct {
	Key     string `json:"key"`
	Input   string `json:"input,omitzero"`
	Skipped bool   `json:"passed,omitzero"` // the input is not a recording
	Rows    Rows   `json:"rows"`
}

// journalHeader is the first line of a journal. Each other line is a checksum (CRC32C, eight
// digits), a space and an entry.
const journalHeader = `{"format":"looptape-eval-journal","version":1}` + "\n"

// OpenJournal reads a journal and removes an incomplete last line, or begins a journal in an empty
// file. Entries of another program, or of another version of it, are not used. OpenJournal returns
// an error and leaves the file unchanged if the file is not a journal.
func OpenJournal(f journalFile, program string) (*Journal, error) {
	j := &Journal{program: program, file: f, entries: map[string]*entry{}, inputs: map[string]bool{}}
	in := bufio.NewReader(f)
	header, err := in.ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if !strings.HasPrefix(journalHeader, header) {
		return nil, errors.New("not a journal of looptape eval score --resume: remove the file, or name another output")
	}
	var size int64
	if header == journalHeader {
		size = int64(len(header)) + j.read(in)
	}
	if err := f.Truncate(size); err != nil {
		return nil, err
	}
	if _, err := f.Seek(size, io.SeekStart); err != nil {
		return nil, err
	}
	if size == 0 {
		_, err = io.WriteString(f, journalHeader)
	}
	return j, err
}

// read reads entries up to the first incomplete one and returns their size. Inputs of unreadable
// entries are scored again.
func (j *Journal) read(in *bufio.Reader) (size int64) {
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return size
		}
		e := &entry{}
		sum, text, _ := bytes.Cut(line, []byte(" "))
		if string(sum) != checksum(text) || json.Unmarshal(text, e) != nil {
			return size
		}
		size += int64(len(line))
		j.entries[e.Key], j.inputs[e.Input] = e, true
	}
}

// checksum returns the checksum of an entry with the end of its line.
func checksum(text []byte) string {
	return fmt.Sprintf("%08x", crc32.Checksum(text, crc32.MakeTable(crc32.Castagnoli)))
}

// Kept returns the number of stored inputs.
func (j *Journal) Kept() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.entries)
}

// keyFunc reads the rest of an input and returns its key; nil for an input that is not stored.
type keyFunc func() (string, error)

// open returns the reader to score and the stored entry, if any, of an input. It digests the
// content in advance only if the journal may contain the input, or if the input is an archive;
// otherwise the digest is computed while the input is scored.
func (j *Journal) open(in *Input, f io.Reader, scorers []string) (io.Reader, keyFunc, *entry) {
	at, ok := f.(io.ReaderAt)
	if j == nil || !ok {
		return f, nil, nil
	}
	content := sha256.New()
	counted := &io.LimitedReader{R: io.TeeReader(f, content), N: math.MaxInt64}
	key := func() (string, error) {
		_, err := io.Copy(io.Discard, counted)
		size := math.MaxInt64 - counted.N
		sum := sha256.Sum256(oneLine([]any{j.program, scorers, in.Name, in.Found, size, content.Sum(nil)}))
		return hex.EncodeToString(sum[:]), err
	}
	j.mu.Lock()
	unknown := !j.inputs[in.Name] && !j.inputs[""]
	j.mu.Unlock()
	head := make([]byte, 2)
	_, _ = at.ReadAt(head, 0) // a reader of the input reports the error
	if unknown && string(head) != "PK" {
		return counted, key, nil
	}
	counted.R = io.TeeReader(io.NewSectionReader(at, 0, math.MaxInt64), content)
	name, err := key()
	if err != nil {
		return f, nil, nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	return f, func() (string, error) { return name, nil }, j.entries[name]
}

func (j *Journal) store(digest keyFunc, in *Input, p *inputResult) {
	if digest == nil || p.fromScoreFile || len(p.Unreadable) > 0 {
		return
	}
	for row := range p.Rows.All() {
		if len(row.Errors) > 0 {
			return
		}
	}
	key, err := digest()
	if err != nil {
		return
	}
	p.Rows.sort() // equal inputs are equal entries
	e := &entry{Key: key, Input: in.Name, Skipped: p.skipped, Rows: p.Rows}
	text := append(oneLine(e), '\n')
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.writeErr != nil || j.entries[key] != nil {
		return
	}
	_, j.writeErr = j.file.Write(append([]byte(checksum(text)+" "), text...))
	j.entries[key], j.inputs[in.Name] = e, true
}

// err returns the first error of writing the journal.
func (j *Journal) err() error {
	if j == nil || j.writeErr == nil {
		return nil
	}
	return fmt.Errorf("write the journal: %w", j.writeErr)
}
