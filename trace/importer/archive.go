package importer

import (
	"archive/zip"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/looptape/looptape/internal/jsonio"
)

// maxDirectory is how much may be read of a ZIP to know its entries: some 100,000 of them.
const maxDirectory = 16 << 20

// isZip tells a ZIP; one without entries begins in another way.
func isZip(head []byte) bool {
	return bytes.HasPrefix(head, []byte("PK\x03\x04")) || bytes.HasPrefix(head, []byte("PK\x05\x06"))
}

// random can be read in any order: a file can, but no pipe.
type random interface {
	io.ReaderAt
	io.Seeker
}

// position returns where r stands, if it is random; else nil.
func position(r io.Reader) (at random, start int64) {
	at, ok := r.(random)
	if !ok {
		return nil, 0
	}
	start, err := at.Seek(0, io.SeekCurrent)
	if err != nil {
		return nil, 0
	}
	return at, start
}

// archive is a ZIP of a log.
type archive struct {
	heads   []*zip.File // what is said of all runs; what comes later holds
	samples []sampleEntry
}

// openZip finds the entries of a log in a ZIP, which begins at a place of what is random,
// or else comes with the input and is held whole.
func (s *Source) openZip(at random, start int64) error {
	file, err := s.section(at, start)
	if err != nil {
		return &Error{File: s.name, Err: err}
	}
	bounded := &boundedAt{ReaderAt: file, left: maxDirectory}
	zr, err := zip.NewReader(bounded, file.Size())
	if err != nil {
		return &Error{File: s.name, Err: fmt.Errorf("the ZIP cannot be read: %w", err)}
	}
	bounded.left = math.MaxInt64
	zr.RegisterDecompressor(zstd.ZipMethodWinZip, zstd.ZipDecompressor(zstdOptions...))
	s.zip = archiveOf(zr.File)
	if s.zip.heads == nil && s.zip.samples == nil {
		return &Error{File: s.name, Err: fmt.Errorf("a ZIP without samples/*.json is no log of Inspect, and no other is read; unpack it first: %w", ErrFormat)}
	}
	if err := apart(s.zip.files(), file.Size()); err != nil {
		return &Error{File: s.name, Err: err}
	}
	return nil
}

// section returns the bytes of the ZIP; what is compressed once more is held.
func (s *Source) section(at random, start int64) (*io.SectionReader, error) {
	if at != nil && s.in.packed == nil {
		end, err := at.Seek(0, io.SeekEnd)
		return io.NewSectionReader(at, start, end-start), err
	}
	s.in.most = maxHeld
	held, err := s.in.all()
	if most, ok := errors.AsType[heldError](err); ok {
		err = fmt.Errorf("the ZIP comes in a stream and is longer than %d MiB; give it as a file", int(most)>>20)
	}
	return io.NewSectionReader(bytes.NewReader(held), 0, int64(len(held))), err
}

// boundedAt lets only so much be read.
type boundedAt struct {
	io.ReaderAt
	left int64
}

// ReadAt implements io.ReaderAt.
func (b *boundedAt) ReadAt(p []byte, off int64) (int, error) {
	if b.left -= int64(len(p)); b.left < 0 {
		return 0, fmt.Errorf("the directory of the ZIP is longer than %d MiB", maxDirectory>>20)
	}
	return b.ReaderAt.ReadAt(p, off)
}

// archiveOf picks the entries of a log. Of those with one name the last one holds, as in
// Python. Names that lead elsewhere are no danger, since nothing is unpacked.
func archiveOf(files []*zip.File) *archive {
	var a archive
	byName := make(map[string]*zip.File, len(files))
	for _, f := range files {
		byName[f.Name] = f
	}
	for _, name := range []string{"_journal/start.json", "start.json", "results.json", "header.json"} {
		if f := byName[name]; f != nil {
			a.heads = append(a.heads, f)
		}
	}
	pieces := map[string][]*zip.File{} // of samples, by folder
	for _, f := range files {
		folder := folderOf(f.Name, byName)
		switch {
		case byName[f.Name] != f || !isSample(f.Name):
		case folder == "" || f.Name == folder+firstPiece:
			a.samples = append(a.samples, sampleEntry{File: f})
		default:
			pieces[folder] = append(pieces[folder], f)
		}
	}
	for i := range a.samples {
		s := &a.samples[i]
		s.pieces = pieces[strings.TrimSuffix(s.Name, firstPiece)]
	}
	return &a
}

// files are all entries that may be read.
func (a *archive) files() []*zip.File {
	files := slices.Clone(a.heads)
	for _, s := range a.samples {
		files = append(append(files, s.File), s.pieces...)
	}
	return files
}

// isSample reports whether an entry is a sample or a piece of one. Ids may have slashes.
func isSample(name string) bool {
	return strings.HasPrefix(name, samplesFolder) && strings.HasSuffix(name, ".json")
}

// apart returns an error unless all entries have bytes of their own: otherwise a small
// file can say to hold anything.
func apart(files []*zip.File, size int64) error {
	type span struct {
		start, end int64
		name       string
	}
	spans := make([]span, 0, len(files))
	for _, f := range files {
		start, err := f.DataOffset()
		if err != nil {
			return fmt.Errorf("the entry %q of the ZIP cannot be read: %w", f.Name, err)
		}
		if f.CompressedSize64 > uint64(size-start) {
			return fmt.Errorf("the entry %q of the ZIP goes on behind its end", f.Name)
		}
		spans = append(spans, span{start, start + int64(f.CompressedSize64), f.Name})
	}
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.start, b.start) })
	for i := 1; i < len(spans); i++ {
		if spans[i].start < spans[i-1].end {
			return fmt.Errorf("the entries %q and %q of the ZIP share bytes", spans[i-1].name, spans[i].name)
		}
	}
	return nil
}

// entries gives the samples of a ZIP, each a run.
func (w *walker) entries() {
	w.head = map[string]json.RawMessage{}
	for _, f := range w.zip.heads {
		w.entry(f, func(text string) {
			maps.Insert(w.head, membersOf(w.sound(text, 1, "")))
		})
	}
	for _, s := range w.zip.samples {
		w.packed, w.held = 0, 0
		if s.inPieces() {
			w.scattered(s)
		} else {
			w.entry(s.File, func(text string) { w.run(text, 1, "") })
		}
	}
	if w.zip.samples == nil && !w.stopped {
		w.give(Run{}, &Error{File: w.name, Err: errors.New("there is no entry samples/*.json in the ZIP, where the runs would be")})
	}
}

// entry calls do with the text of an entry. The entry is named in all errors.
func (w *walker) entry(f *zip.File, do func(text string)) {
	if w.stopped {
		return
	}
	yield := w.yield
	w.yield = func(r Run, err error) bool {
		if e, ok := errors.AsType[*Error](err); ok {
			e.Path = strings.TrimSuffix(f.Name+": "+e.Path, ": ")
		}
		return yield(r, err)
	}
	w.packed += int64(f.CompressedSize64)
	most, _ := holdable(w.packed)
	text, err := readEntry(f, w.held, most)
	w.held += len(text)
	if err != nil {
		w.give(Run{}, &Error{File: w.name, Err: err})
	} else {
		do(text)
	}
	w.yield = yield
}

// readEntry returns the text of an entry, where so much is held and so much may be.
func readEntry(f *zip.File, held, most int) (string, error) {
	const encrypted = 1
	if f.Flags&encrypted != 0 {
		return "", errors.New("it is encrypted")
	}
	r, err := f.Open()
	if errors.Is(err, zip.ErrAlgorithm) {
		return "", fmt.Errorf("it is compressed with method %d, which is not known: stored, deflate (8) and zstd (93) are", f.Method)
	}
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(io.LimitReader(r, int64(most-held)+1))
	if err = cmp.Or(err, r.Close()); err != nil {
		return "", err
	}
	if len(text) > most-held {
		return "", fmt.Errorf("more than %d MiB would have to be held of the sample", most>>20)
	}
	return jsonio.View(bytes.TrimPrefix(text, byteOrderMark)), nil
}
