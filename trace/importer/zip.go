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
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/klauspost/compress/zstd"

	"github.com/looptape/looptape/internal/decompress"
	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/trace/importer/internal/format"
	"github.com/looptape/looptape/trace/importer/internal/tree"
)

// A log of Inspect is a ZIP with an entry for each sample. In version 3 of the logs a sample
// may be chunked: the entries of a folder of its own
// (src/inspect_ai/log/_recorders/chunked in github.com/UKGovernmentBEIS/inspect_ai):
//
//	sample.json         the sample, which refers to its messages by number
//	metadata.json       its metadata
//	messages/N.json     a list of messages; the first has the number N
//	attachments/N.json  a list of texts, likewise, to which others refer by number
//	events/N.json       a list of events, likewise
//	calls/N.json        a list of what was sent in each model call, which is not read
//
// The other entries are indexes of the events.
const (
	samplesFolder = "samples/"
	sampleFile    = "/sample.json"
)

// headEntries are the entries about all runs. The summaries have nothing but what the samples have.
var headEntries = []string{"_journal/start.json", "start.json", "results.json", "header.json", "reductions.json"}

// maxDirectory limits the directory of a ZIP: about 100,000 entries.
const maxDirectory = 16 << 20

// randomReader can be read in any order, as a file and unlike a pipe.
type randomReader interface {
	io.ReaderAt
	io.Seeker
}

// position returns r and its offset if it is a randomReader; else nil.
func position(r io.Reader) (at randomReader, start int64) {
	at, ok := r.(randomReader)
	if !ok {
		return nil, 0
	}
	start, err := at.Seek(0, io.SeekCurrent)
	if err != nil {
		return nil, 0
	}
	return at, start
}

type archive struct {
	heads   []*zip.File // about all runs; later ones take precedence
	samples []sampleEntry
	unknown []string
}

type sampleEntry struct {
	*zip.File             // the sample, or its sample.json
	chunks    []*zip.File // the other entries of a chunked sample
}

// openZip reads the directory of a ZIP, which begins at an offset of a randomReader, or is
// read from the input and held in memory.
func (s *Source) openZip(at randomReader, start int64) error {
	fail := func(err error) error { return s.errorAt(0, "", err) }
	file, err := s.section(at, start)
	if err != nil {
		return fail(err)
	}
	limited := &limitedReaderAt{ReaderAt: file}
	limited.left.Store(maxDirectory)
	zr, err := zip.NewReader(limited, file.Size())
	if err != nil {
		return fail(fmt.Errorf("the ZIP cannot be read: %w", err))
	}
	limited.left.Store(math.MaxInt64)
	zr.RegisterDecompressor(zstd.ZipMethodWinZip, zstd.ZipDecompressor(decompress.ZstdOptions...))
	s.zip = newArchive(zr.File)
	if s.zip.heads == nil && s.zip.samples == nil {
		return fail(fmt.Errorf("a ZIP without samples/*.json is not a log of Inspect: unpack it first: %w", ErrFormat))
	}
	if err := checkDisjoint(s.zip.files(), file.Size()); err != nil {
		return fail(err)
	}
	return nil
}

func (s *Source) section(at randomReader, start int64) (*io.SectionReader, error) {
	if at != nil && s.in.compressed == nil {
		end, err := at.Seek(0, io.SeekEnd)
		return io.NewSectionReader(at, start, end-start), err
	}
	s.in.max = maxHeld
	held, err := s.in.all()
	if limit, ok := errors.AsType[memoryError](err); ok {
		err = fmt.Errorf("a ZIP from a stream is longer than %d MiB: read it from a file", int(limit)>>20)
	}
	return io.NewSectionReader(bytes.NewReader(held), 0, int64(len(held))), err
}

type limitedReaderAt struct {
	io.ReaderAt
	left atomic.Int64
}

// ReadAt implements io.ReaderAt.
func (l *limitedReaderAt) ReadAt(p []byte, off int64) (int, error) {
	if l.left.Add(-int64(len(p))) < 0 {
		return 0, fmt.Errorf("the directory of the ZIP is longer than %d MiB", maxDirectory>>20)
	}
	return l.ReaderAt.ReadAt(p, off)
}

// newArchive selects the entries of a log. Of entries with the same name it takes the last,
// as Python does. Any path is safe, because nothing is unpacked.
func newArchive(files []*zip.File) *archive {
	var a archive
	byName := make(map[string]*zip.File, len(files))
	for _, f := range files {
		byName[f.Name] = f
	}
	for _, name := range headEntries {
		if f := byName[name]; f != nil {
			a.heads = append(a.heads, f)
		}
	}
	chunks := map[string][]*zip.File{} // by folder
	for _, f := range files {
		folder := sampleFolder(f.Name, byName)
		isSample := strings.HasPrefix(f.Name, samplesFolder) && strings.HasSuffix(f.Name, ".json") // ids may have slashes
		switch {
		case byName[f.Name] != f:
		case !isSample:
			known := slices.Contains(headEntries, f.Name) || strings.HasPrefix(strings.TrimPrefix(f.Name, "_journal/"), "summaries")
			if strings.HasSuffix(f.Name, ".json") && !known {
				a.unknown = append(a.unknown, f.Name)
			}
		case folder == "" || f.Name == folder+sampleFile:
			a.samples = append(a.samples, sampleEntry{File: f})
		default:
			chunks[folder] = append(chunks[folder], f)
		}
	}
	for i := range a.samples {
		s := &a.samples[i]
		s.chunks = chunks[strings.TrimSuffix(s.Name, sampleFile)]
	}
	return &a
}

// sampleFolder returns the folder of the chunked sample to which an entry belongs; empty if
// there is none. An entry is in the folder or in a folder of it.
func sampleFolder(name string, byName map[string]*zip.File) string {
	for range 2 {
		i := strings.LastIndexByte(name, '/')
		if i < len(samplesFolder) {
			return ""
		}
		name = name[:i]
		if byName[name+sampleFile] != nil {
			return name
		}
	}
	return ""
}

func (a *archive) files() []*zip.File {
	files := slices.Clone(a.heads)
	for _, s := range a.samples {
		files = append(append(files, s.File), s.chunks...)
	}
	return files
}

// checkDisjoint returns an error if entries share bytes, so that a small file could have any
// amount of content.
func checkDisjoint(files []*zip.File, size int64) error {
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
			return fmt.Errorf("the entry %q of the ZIP is longer than the rest of the ZIP", f.Name)
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

func (w *walker) entries() {
	w.head = map[string]json.RawMessage{}
	for _, f := range w.zip.heads {
		w.entry(f, func(text string) {
			value := w.valid(element{text, 1, "", true})
			maps.Insert(w.head, tree.Members(value))
			if value[0] == '[' {
				w.head[strings.TrimSuffix(f.Name, ".json")] = value
			}
		})
	}
	w.checkVersion(0)
	for _, name := range w.zip.unknown {
		if !w.stopped {
			w.fail(0, fmt.Errorf("the entry %q of the ZIP is unknown and is not read", name))
		}
	}
	for _, s := range w.zip.samples {
		if w.stopped {
			return
		}
		w.zipBytes, w.heldBytes = 0, 0
		if w.queue == nil {
			w.sample(s)
			continue
		}
		w.limitAhead()
		size := s.UncompressedSize64
		for _, f := range s.chunks {
			size += f.UncompressedSize64
		}
		w.later(int(min(size, maxHeld)), func(w *walker) { w.sample(s) })
		w.runs++
	}
	if w.zip.samples == nil && !w.stopped {
		w.fail(0, errors.New("the ZIP has no entry samples/*.json, and so no runs"))
	}
}

func (w *walker) sample(s sampleEntry) {
	if strings.HasSuffix(s.Name, sampleFile) {
		w.chunked(s)
		return
	}
	w.entry(s.File, func(text string) { w.run(element{text, 1, "", true}) })
}

// chunked gives a chunked sample. It reports each invalid entry, and the unknown ones. The run
// ends before the first message that cannot be read.
func (w *walker) chunked(s sampleEntry) {
	sample := format.NewSample()
	folder := strings.TrimSuffix(s.Name, sampleFile) + "/"
	var metadata json.RawMessage
	chunks, others := chunksOf(s.chunks, folder)
	each := func(kind string, read func(d *jsonio.Dec, n int)) {
		for _, c := range chunks[kind] {
			w.chunk(c.File, func(d *jsonio.Dec) { read(d, c.n) })
		}
	}
	each("attachments", sample.Attachments)
	each("messages", sample.Messages)
	each("events", sample.Events)
	var unknown []string
	for _, f := range others {
		switch name := strings.TrimPrefix(f.Name, folder); {
		case name == "metadata.json":
			w.chunk(f, func(d *jsonio.Dec) { metadata = json.RawMessage(d.Raw()) })
		case !slices.Contains(sidecars, name) && !strings.HasSuffix(name, "/"):
			unknown = append(unknown, f.Name)
		}
	}
	read := w.read
	w.read = func(d *jsonio.Dec, run *format.Run) {
		sample.Chunked(d, run, metadata)
		for _, name := range unknown {
			run.ReportUnknown(name, "the entry of the sample is unknown and is not read")
		}
	}
	w.entry(s.File, func(text string) { w.run(element{text, 1, "", true}) })
	w.read = read
}

// sidecars are entries of a chunked sample with nothing but what the others have.
var sidecars = []string{"skeleton.json", "events/stats.json", "events/uuids.json"}

// chunk is an entry with a part of a list of a chunked sample.
type chunk struct {
	*zip.File
	n int // the number of its first element
}

// chunksOf returns the entries with lists, by kind and in order, and the others. The calls are what
// was sent in the form of the provider, which the messages of the events have as well.
func chunksOf(entries []*zip.File, folder string) (chunks map[string][]chunk, others []*zip.File) {
	chunks = map[string][]chunk{}
	for _, f := range entries {
		kind, number, _ := strings.Cut(strings.TrimPrefix(f.Name, folder), "/")
		n, err := strconv.Atoi(strings.TrimSuffix(number, ".json"))
		if err != nil || n < 0 || !slices.Contains([]string{"attachments", "messages", "events", "calls"}, kind) {
			others = append(others, f)
			continue
		}
		chunks[kind] = append(chunks[kind], chunk{f, n})
	}
	for _, list := range chunks {
		slices.SortStableFunc(list, func(a, b chunk) int { return cmp.Compare(a.n, b.n) })
	}
	return chunks, others
}

func (w *walker) chunk(f *zip.File, read func(d *jsonio.Dec)) {
	w.entry(f, func(text string) {
		if _, _, err := w.decode(element{text, 1, "", true}, read); err != nil {
			w.give(Run{}, err)
		}
	})
}

// entry calls do with the text of an entry. It adds the name of the entry to all errors.
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
	w.zipBytes += int64(f.CompressedSize64)
	limit, _ := heldLimits(w.zipBytes)
	text, err := readEntry(f, w.heldBytes, limit)
	w.heldBytes += len(text)
	if err != nil {
		w.fail(0, err)
	} else {
		do(text)
	}
	w.yield = yield
}

// readEntry returns the text of an entry. Held bytes of the limit are in use already.
func readEntry(f *zip.File, held, limit int) (string, error) {
	const encrypted = 1
	if f.Flags&encrypted != 0 {
		return "", errors.New("the entry is encrypted")
	}
	r, err := f.Open()
	if errors.Is(err, zip.ErrAlgorithm) {
		return "", fmt.Errorf("unknown compression method %d: want stored, deflate (8) or zstd (93)", f.Method)
	}
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(io.LimitReader(r, int64(limit-held)+1))
	if err = cmp.Or(err, r.Close()); err != nil {
		return "", err
	}
	if len(text) > limit-held {
		return "", fmt.Errorf("the limit of %d MiB for a sample is exceeded", limit>>20)
	}
	return jsonio.View(bytes.TrimPrefix(text, byteOrderMark)), nil
}
