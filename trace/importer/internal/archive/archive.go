// Package archive reads logs of Inspect that are ZIPs, in bounded memory.
package archive

import (
	"archive/zip"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"sort"
	"strings"
	"sync/atomic"

	"github.com/klauspost/compress/zstd"

	"github.com/looptape/looptape/internal/decompress"
	"github.com/looptape/looptape/internal/jsonio"
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
	summaries     = "summaries.json"
	// SampleFile is the end of the name of a chunked sample.
	SampleFile = "/sample.json"
)

// headEntries are the entries about all runs.
var headEntries = []string{"_journal/start.json", "start.json", "results.json", "header.json", "reductions.json"}

// maxDirectory limits the directory of a ZIP: about 100,000 entries.
const maxDirectory = 16 << 20

// Archive is a log of Inspect.
type Archive struct {
	Heads     []*zip.File // about all runs; later ones take precedence
	Samples   []Sample
	Summaries []*zip.File // lists that repeat data of all samples
	Unknown   []string    // other entries
}

// Sample is an entry of the log with a sample.
type Sample struct {
	*zip.File             // the sample, or its sample.json
	Chunks    []*zip.File // the other entries of a chunked sample
}

// Open reads the directory of a ZIP. The log is empty if the ZIP is not a log of Inspect.
func Open(file *io.SectionReader) (*Archive, error) {
	limited := &limitedReaderAt{ReaderAt: file}
	limited.left.Store(maxDirectory)
	zr, err := zip.NewReader(limited, file.Size())
	if err != nil {
		return nil, fmt.Errorf("the ZIP cannot be read: %w", err)
	}
	limited.left.Store(math.MaxInt64)
	zr.RegisterDecompressor(zstd.ZipMethodWinZip, zstd.ZipDecompressor(decompress.ZstdOptions...))
	a := newArchive(zr.File)
	return a, checkDisjoint(a.files(), file.Size())
}

// newArchive selects the entries of a log. Of entries with the same name it takes the last,
// as Python does. Any path is safe, because nothing is unpacked.
func newArchive(files []*zip.File) *Archive {
	var a Archive
	byName := make(map[string]*zip.File, len(files))
	for _, f := range files {
		byName[f.Name] = f
	}
	for _, name := range headEntries {
		if f := byName[name]; f != nil {
			a.Heads = append(a.Heads, f)
		}
	}
	chunks := map[string][]*zip.File{} // by folder
	for _, f := range files {
		folder := sampleFolder(f.Name, byName)
		isSample := strings.HasPrefix(f.Name, samplesFolder) && strings.HasSuffix(f.Name, ".json") // ids may have slashes
		switch {
		case byName[f.Name] != f:
		case !isSample:
			switch {
			case !strings.HasSuffix(f.Name, ".json") || slices.Contains(headEntries, f.Name):
			case f.Name == summaries, strings.HasPrefix(f.Name, "_journal/summaries/") && byName[summaries] == nil: // it has all of the journal
				a.Summaries = append(a.Summaries, f)
			case !strings.HasPrefix(f.Name, "_journal/summaries/"):
				a.Unknown = append(a.Unknown, f.Name)
			}
		case folder == "" || f.Name == folder+SampleFile:
			a.Samples = append(a.Samples, Sample{File: f})
		default:
			chunks[folder] = append(chunks[folder], f)
		}
	}
	for i := range a.Samples {
		s := &a.Samples[i]
		s.Chunks = chunks[strings.TrimSuffix(s.Name, SampleFile)]
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
		if byName[name+SampleFile] != nil {
			return name
		}
	}
	return ""
}

// Name returns the name that Inspect gives to the entry of a sample, without its extension.
func Name(id, epoch string) string { return samplesFolder + id + "_epoch_" + epoch }

func (a *Archive) files() []*zip.File {
	files := slices.Concat(a.Heads, a.Summaries)
	for _, s := range a.Samples {
		files = append(append(files, s.File), s.Chunks...)
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
	sort.SliceStable(spans, func(i, j int) bool { return spans[i].start < spans[j].start })
	for i := 1; i < len(spans); i++ {
		if spans[i].start < spans[i-1].end {
			return fmt.Errorf("the entries %q and %q of the ZIP share bytes", spans[i-1].name, spans[i].name)
		}
	}
	return nil
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

// Read returns the text of an entry. Held bytes of the limit are in use already.
func Read(f *zip.File, held, limit int) (string, error) {
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
	return jsonio.View(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))), nil
}
