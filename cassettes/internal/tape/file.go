// Package tape reads and writes cassette files and their journals. It does not compare
// requests; see package match.
package tape

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/looptape/looptape/cassettes/recording"
	"github.com/looptape/looptape/internal/jsonio"
)

const version = 2 // of new files; readers accept older versions

// The lines around the interactions:
//
// \tlooptape-cassette VERSION
// \trecorded TIME
// \trecorder WORDS
// \tmatch WORDS…
// \tupstream NAME URL a server of a proxy; any number
//
// \t=== … the interactions, separated by empty lines
//
// \t=== end N interactions crc CRC
//
// The checksum, CRC-32C, covers all bytes before the word crc.
const (
	magic = "looptape-cassette "
	foot  = "=== end "
	start = "\n=== "
)

// Errors of a file; see package cassettes.
var (
	ErrVersion   = errors.New("unknown version of the format")
	ErrTruncated = errors.New("the end of the cassette is missing")
	ErrChecksum  = errors.New("the cassette was changed after it was written")
)

// File is a cassette file in memory, except the events of long streams. It is safe for use by many
// goroutines.
type File struct {
	recording.Metadata
	Name       string // in errors
	path       string // of the cassette, if this is its journal
	text       []byte
	omitted    []omitted // in their order
	sum        uint32    // of all bytes before the last checksum, if some are omitted
	entries    []entry
	keys       []Keys // of the entries; never changed
	incomplete error
}

// entry is the position of an interaction, its response and its last line.
type entry struct {
	from, answer, last, to int
}

// ReadFile reads a cassette or the complete frames of a journal.
func ReadFile(path string) (*File, error) {
	if f, err := readLong(path, longFile, longBody); f != nil || err != nil {
		return f, err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return Parse(path, text)
}

// Incomplete returns an error if the file is a journal.
func (f *File) Incomplete() error { return f.incomplete }

// IsTape reports whether text begins like a file that Parse reads.
func IsTape(text []byte) bool {
	return bytes.HasPrefix(text, []byte(magic)) || bytes.HasPrefix(text, []byte(framePrefix))
}

// Parse reads a cassette or a journal. It keeps text.
func Parse(name string, text []byte) (*File, error) {
	if bytes.HasPrefix(text, []byte(framePrefix)) {
		return parseJournal(name, text)
	}
	return (&File{Name: name, text: text}).parsed()
}

func (f *File) parsed() (*File, error) {
	line, err := f.parse()
	if err != nil {
		return nil, &recording.FormatError{File: f.Name, Line: line, Err: err}
	}
	return f, nil
}

// parse finds the interactions. It returns the line of an error.
func (f *File) parse() (line int, err error) {
	line, err = f.readMetadata()
	if err != nil {
		return line, err
	}
	n, err := f.verifyFoot()
	if err != nil {
		return f.damaged(err)
	}
	return 0, f.find(n)
}

func (f *File) readMetadata() (line int, err error) {
	b := &block{rest: f.text}
	first := string(b.next())
	word, found := strings.CutPrefix(first, magic)
	switch n, err := strconv.Atoi(word); {
	case found && strings.HasSuffix(word, "\r"):
		return 1, fmt.Errorf("%w: its lines end in CR LF, as git has them on some systems; say *.tape -text in .gitattributes, and check it out again", ErrChecksum)
	case !found || err != nil:
		return 1, fmt.Errorf("%q is not the first line of a cassette, such as %q", shortened([]byte(first)), magic+"2")
	case n < 1 || n > version:
		return 1, fmt.Errorf("%w: got %d, want 1 to %d: use a newer looptape, or record again", ErrVersion, n, version)
	}
	for {
		l := b.next()
		word, rest, _ := strings.Cut(string(l), " ")
		switch word {
		case "":
			return 0, nil
		case "recorded":
			at, by, _ := strings.Cut(rest, oldRecorder)
			if f.Recorded, err = time.Parse(time.RFC3339, at); err != nil {
				return b.line, fmt.Errorf("%q is not a time such as 2026-01-02T15:04:05Z", at)
			}
			f.Recorder = by
		case "recorder":
			f.Recorder = rest
		case "match":
			f.Match = rest
		case "upstream":
			name, at, _ := strings.Cut(rest, " ")
			if f.Upstreams == nil {
				f.Upstreams = map[string]string{}
			}
			f.Upstreams[name] = at
		default:
			return b.line, fmt.Errorf("%q is not known in the metadata of a cassette", shortened(l))
		}
	}
}

func (f *File) verifyFoot() (n int, err error) {
	n, crc, err := f.foot()
	if err != nil {
		return 0, err
	}
	sum := f.sum
	if f.omitted == nil {
		sum = Checksum(f.text[:len(f.text)-len("crc ")-len(crc)])
	}
	if crc != fmt.Sprintf("%08x\n", sum) {
		return 0, ErrChecksum
	}
	return n, nil
}

// foot reads the last line. It returns the checksum with its newline.
func (f *File) foot() (n int, crc string, err error) {
	i := bytes.LastIndex(f.text, []byte("\n"+foot)) + 1
	if i == 0 {
		return 0, "", ErrTruncated
	}
	words := strings.Split(string(f.text[i:]), " ")
	if len(words) != 6 || words[4] != "crc" || !strings.HasSuffix(words[5], "\n") {
		return 0, "", ErrTruncated
	}
	if n, err = strconv.Atoi(words[2]); err != nil {
		return 0, "", ErrChecksum
	}
	return n, words[5], nil
}

// damaged finds the first damaged line.
func (f *File) damaged(because error) (line int, err error) {
	_ = f.find(0) // the expected number is unknown
	for i := range f.entries {
		_, err := f.Interaction(i)
		if at, wrong := errors.AsType[*recording.FormatError](err); wrong {
			return at.Line, fmt.Errorf("%w: %w", because, at.Err)
		}
		if f.metadataEdited(i) {
			return f.lineOf(i, 1), fmt.Errorf("%w: the title, a header or the termination was changed: %s", because, repair)
		}
	}
	return f.linesBefore(len(f.text)), fmt.Errorf("%w; %s", because, repair)
}

const repair = "see looptape cassette verify --update-checksums, or record again"

func (f *File) metadataEdited(i int) bool {
	text := f.inMemory(i)
	m, err := readFooter(lastLine(text))
	return err == nil && m.metadata != "" && m.metadata != fmt.Sprintf("%08x", metadataSum(text))
}

func (f *File) find(n int) error {
	f.entries, f.keys = make([]entry, 0, n), make([]Keys, 0, n)
	text := f.text
	for at := bytes.Index(text, []byte(start)); at >= 0; {
		from := at + 1
		next := bytes.Index(text[from:], []byte(start))
		if next < 0 {
			break
		}
		at = from + next
		to := from + len(bytes.TrimRight(text[from:at], "\n")) + 1 // without the empty line after it
		f.entries = append(f.entries, entryOf(text, from, to))
		f.keys = append(f.keys, keysIn(lastLine(text[from:to])))
	}
	if len(f.entries) != n {
		return fmt.Errorf("there are %d interactions, and by the last line %d", len(f.entries), n)
	}
	return nil
}

func entryOf(text []byte, from, to int) entry {
	last := lastLine(text[from:to])
	e := entry{from: from, last: to - 1 - len(last), to: to}
	e.answer = e.last
	if at := bytes.Index(text[from:e.last], []byte("\n<")); at >= 0 {
		e.answer = from + at + 1
	}
	return e
}

func keysIn(last []byte) (k Keys) {
	_, words, _ := bytes.Cut(last, []byte(" key "))
	exact, words, _ := bytes.Cut(words, []byte(" "))
	k.Exact = keyOf(exact)
	for len(words) > 0 {
		var name, key []byte
		name, words, _ = bytes.Cut(words, []byte(" "))
		key, words, _ = bytes.Cut(words, []byte(" "))
		switch string(name) {
		case bareWord:
			k.Bare = keyOf(key)
		case sentWord:
			k.Sent = keyOf(key)
		}
	}
	return k
}

func keyOf(word []byte) uint64 {
	key, err := strconv.ParseUint(jsonio.View(word), 16, 64)
	if err != nil {
		return 0
	}
	return key
}

func lastLine(block []byte) []byte {
	block = bytes.TrimRight(block, "\n")
	return block[bytes.LastIndexByte(block, '\n')+1:]
}

// All reads the interactions in their order, up to the first error.
func (f *File) All() iter.Seq2[*recording.Interaction, error] {
	return func(yield func(*recording.Interaction, error) bool) {
		for i := range f.entries {
			if x, err := f.Interaction(i); !yield(x, err) || err != nil {
				return
			}
		}
	}
}

// Len returns the number of interactions.
func (f *File) Len() int { return len(f.entries) }

// Lines returns the first line of each interaction, from 1. It returns nil for a journal.
func (f *File) Lines() []int {
	if f.incomplete != nil {
		return nil
	}
	lines := make([]int, len(f.entries))
	line, at := 1, 0
	for i, e := range f.entries {
		line += bytes.Count(f.text[at:e.from], []byte("\n"))
		lines[i], at = line, e.from
	}
	for _, o := range f.omitted {
		for i, e := range f.entries {
			if o.at < e.from {
				lines[i] += o.lines
			}
		}
	}
	return lines
}

// Interaction reads the interaction with this index from 0.
func (f *File) Interaction(i int) (*recording.Interaction, error) { return f.read(i, false) }

// Request is Interaction without the events of the response that are only on disk.
func (f *File) Request(i int) (*recording.Interaction, error) {
	if f.omittedIn(f.entries[i]) == nil {
		return f.Interaction(i)
	}
	return f.readLines(i, f.inMemory(i), true)
}

func (f *File) read(i int, edited bool) (*recording.Interaction, error) {
	return f.readLines(i, f.lines(i), edited)
}

func (f *File) readLines(i int, lines []byte, edited bool) (*recording.Interaction, error) {
	x, b := &recording.Interaction{}, &block{rest: lines, edited: edited}
	if err := b.read(x); err != nil {
		return nil, f.formatError(i, b.line, err)
	}
	return x, nil
}

// Answer reads the response of an interaction without its delay. It leaves the body to the
// stream unless that is nil.
func (f *File) Answer(i int) (*recording.Response, *EventStream, error) {
	e := f.entries[i]
	r, events := &recording.Response{}, &EventStream{file: f, index: i}
	for _, o := range f.omittedIn(e) { // at most one, unless the body is no stream of events
		events.gap = o.gap
	}
	b := &block{rest: f.text[e.answer:e.last]}
	if b.answer(r, events, f.text[e.last:e.to-1]) != nil {
		x, err := f.Interaction(i) // returns the error and its line
		if err != nil {
			return nil, nil, err
		}
		return &x.Response, nil, nil
	}
	if events.lines == nil {
		events = nil
	}
	return r, events, nil
}

// Wait returns the delay of a response.
func (f *File) Wait(i int) (time.Duration, error) {
	var x recording.Interaction
	if _, _, err := readTitle(f.title(i), &x); err != nil {
		return 0, f.formatError(i, 1, err)
	}
	return x.Response.Wait, nil
}

// lines returns the lines of an interaction. It reads the events that are only on disk.
func (f *File) lines(i int) []byte {
	e := f.entries[i]
	list := f.omittedIn(e)
	if list == nil {
		return f.inMemory(i)
	}
	var text []byte
	for _, o := range list {
		lines := make([]byte, o.gap.size())
		_, _ = o.gap.from.ReadAt(lines, o.gap.at) // the checksum shows an error
		text = append(append(text, f.text[e.from:o.at]...), lines...)
		e.from = o.at
	}
	return append(text, f.text[e.from:e.to]...)
}

func (f *File) inMemory(i int) []byte { return f.text[f.entries[i].from:f.entries[i].to] }

func (f *File) title(i int) []byte {
	line, _, _ := bytes.Cut(f.inMemory(i), []byte("\n"))
	return line
}

func (f *File) formatError(i, line int, err error) error {
	return &recording.FormatError{File: f.Name, Line: f.lineOf(i, line), Err: err}
}

// lineOf returns the line in the file of a line of an interaction. Both are from 1.
func (f *File) lineOf(i, line int) int {
	return f.linesBefore(f.entries[i].from) + line
}

func (f *File) linesBefore(at int) int {
	n := bytes.Count(f.text[:at], []byte("\n"))
	for _, o := range f.omitted {
		if o.at < at {
			n += o.lines
		}
	}
	return n
}

func metadataText(h recording.Metadata) []byte {
	dst := fmt.Appendf(nil, "%s%d\nrecorded %s\n", magic, version, h.Recorded.UTC().Format(time.RFC3339))
	if h.Recorder != "" {
		dst = fmt.Appendf(dst, "recorder %s\n", h.Recorder)
	}
	if h.Match != "" {
		dst = fmt.Appendf(dst, "match %s\n", h.Match)
	}
	for _, name := range slices.Sorted(maps.Keys(h.Upstreams)) {
		dst = fmt.Appendf(dst, "upstream %s %s\n", name, h.Upstreams[name])
	}
	return append(dst, '\n')
}

func appendFoot(dst []byte, n int) []byte {
	dst = append(dst, footText(n)...)
	return fmt.Appendf(dst, "crc %08x\n", Checksum(dst))
}

// footText returns the last line without its checksum.
func footText(n int) []byte {
	words := "interactions"
	if n == 1 {
		words = "interaction"
	}
	return fmt.Appendf(nil, "%s%d %s ", foot, n, words)
}

// Load reads the journal of a cassette if it has complete interactions, or else the
// cassette.
func Load(path string) (*File, error) {
	journal := JournalPath(path)
	text, err := os.ReadFile(journal)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && !hasFrames(text):
		return ReadFile(path)
	case err != nil:
		return nil, err
	}
	f, err := Parse(journal, text)
	if err != nil {
		return nil, err
	}
	if f.Len() == 0 {
		if whole, err := ReadFile(path); err == nil {
			return whole, nil
		}
	}
	f.path = path
	return f, nil
}

// Keys returns the keys of all interactions. The caller must not change them.
func (f *File) Keys() []Keys { return f.keys }

// Title returns the method, URL, status and delay of an interaction.
func (f *File) Title(i int) string {
	return strings.TrimPrefix(jsonio.View(f.title(i)), "=== ")
}

// RequestBody returns the lines of a request body.
func (f *File) RequestBody(i int) []byte {
	e := f.entries[i]
	_, body, _ := bytes.Cut(f.text[e.from:e.answer], []byte("\n>\n"))
	return body
}

// Outline returns the method, the URL and the body length of a request without reading the
// body.
func (f *File) Outline(i int) (method, url string, length int) {
	var x recording.Interaction
	_, _, _ = readTitle(f.title(i), &x) // an error is reported when it is read
	marks, _ := readFooter(lastLine(f.inMemory(i)))
	return x.Request.Method, x.Request.URL, marks.sent.length
}

// Path returns the path of the cassette, or else its name in errors.
func (f *File) Path() string { return cmp.Or(f.path, f.Name) }

// Encode returns a cassette. The function keysOf returns the keys of an interaction.
func Encode(h recording.Metadata, list []*recording.Interaction, keysOf func(*recording.Interaction) Keys) []byte {
	text := metadataText(h)
	for i, x := range list {
		text = append(appendInteraction(text, i+1, x, keyText(keysOf(x))), '\n')
	}
	return appendFoot(text, len(list))
}
