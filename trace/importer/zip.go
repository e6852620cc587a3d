package importer

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/trace/importer/internal/archive"
	"github.com/looptape/looptape/trace/importer/internal/format"
	"github.com/looptape/looptape/trace/importer/internal/tree"
)

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

// openZip reads the directory of a ZIP, which begins at an offset of a randomReader, or is
// read from the input and held in memory.
func (s *Source) openZip(at randomReader, start int64) error {
	fail := func(err error) error { return s.errorAt(0, "", err) }
	file, err := s.section(at, start)
	if err != nil {
		return fail(err)
	}
	s.zip, err = archive.Open(file)
	if err != nil {
		return fail(err)
	}
	if s.zip.Heads == nil && s.zip.Samples == nil {
		return fail(fmt.Errorf("a ZIP without samples/*.json is not a log of Inspect: unpack it first: %w", ErrFormat))
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

func (w *walker) entries() {
	w.head = map[string]json.RawMessage{}
	for _, f := range w.zip.Heads {
		w.entry(f, func(text string) {
			value := w.valid(element{text, 1, "", true})
			maps.Insert(w.head, tree.Members(value))
			if value[0] == '[' {
				w.head[strings.TrimSuffix(f.Name, ".json")] = value
			}
		})
	}
	w.checkVersion(0)
	for _, name := range w.zip.Unknown {
		if !w.stopped {
			w.fail(0, fmt.Errorf("the entry %q of the ZIP is unknown and is not read", name))
		}
	}
	for _, s := range w.zip.Samples {
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
		for _, f := range s.Chunks {
			size += f.UncompressedSize64
		}
		w.later(int(min(size, maxHeld)), func(w *walker) { w.sample(s) })
		w.runs++
	}
	if w.zip.Samples == nil && !w.stopped {
		w.fail(0, errors.New("the ZIP has no entry samples/*.json, and so no runs"))
		return
	}
	w.flush()
	w.checkCount(len(w.zip.Samples))
	w.checkSummaries()
}

// checkSummaries reports samples that the summaries have and the log does not.
func (w *walker) checkSummaries() {
	w.zipBytes, w.heldBytes = 0, 0
	var named []string
	for _, f := range w.zip.Summaries {
		w.entry(f, func(text string) {
			for _, sample := range tree.Elements(w.valid(element{text, 1, "", true})) {
				if name := archive.Name(tree.Scalar(sample, "id"), tree.Scalar(sample, "epoch")); !slices.Contains(named, name) {
					named = append(named, name)
				}
			}
		})
	}
	if len(named) <= len(w.zip.Samples) {
		return
	}
	for _, s := range w.zip.Samples {
		name := strings.TrimSuffix(strings.TrimSuffix(s.Name, archive.SampleFile), ".json")
		named = slices.DeleteFunc(named, func(n string) bool { return n == name })
	}
	for _, name := range named {
		if !w.stopped {
			w.fail(0, fmt.Errorf("the summaries have the sample %q, which has no entry in the ZIP", name))
		}
	}
}

func (w *walker) sample(s archive.Sample) {
	if strings.HasSuffix(s.Name, archive.SampleFile) {
		w.chunked(s)
		return
	}
	w.entry(s.File, func(text string) { w.run(element{text, 1, "", true}) })
}

// chunked gives a chunked sample. It reports each invalid entry, and the unknown ones. The run
// ends before the first message that cannot be read.
func (w *walker) chunked(s archive.Sample) {
	sample := format.NewSample()
	folder := strings.TrimSuffix(s.Name, archive.SampleFile) + "/"
	var metadata json.RawMessage
	chunks, others := chunksOf(s.Chunks, folder)
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
		sort.SliceStable(list, func(i, j int) bool { return list[i].n < list[j].n })
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
	text, err := archive.Read(f, w.heldBytes, limit)
	w.heldBytes += len(text)
	if err != nil {
		w.fail(0, err)
	} else {
		do(text)
		if wrong := checkText(jsonio.Bytes(text)); wrong != nil && !w.stopped {
			w.fail(1+wrong.line, wrong)
		}
	}
	w.yield = yield
}
