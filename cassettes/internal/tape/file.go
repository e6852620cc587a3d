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

// version is that of the format.
const version = 2

// The lines around the interactions:
//
//	looptape-cassette VERSION
//	recorded TIME
//	recorder WORDS
//	match WORDS…
//	upstream NAME URL        a server that a proxy stood before; any number
//
//	=== …                    the interactions, an empty line between them
//
//	=== end N interactions crc CRC
//
// The checksum, CRC-32C, is that of all bytes before the word crc.
const (
	magic = "looptape-cassette "
	foot  = "=== end "
	start = "\n=== "
)

// What may be wrong with a file as a whole.
var (
	// ErrVersion means that another version of the format is needed.
	ErrVersion = errors.New("the version of the format is not known")
	// ErrTruncated means that the end of the file is missing.
	ErrTruncated = errors.New("the end of the cassette is missing")
	// ErrChecksum means that the file is not as it was written.
	ErrChecksum = errors.New("the cassette is not as it was written")
)

// File is a cassette as it is on disk. It may be used by many goroutines at once.
type File struct {
	recording.Metadata
	Name    string // in errors
	path    string // of the cassette, if this is the journal beside it
	text    []byte
	entries []entry
	keys    []Keys // of the entries; shared, never changed
	broken  error
}

// entry is where an interaction stands, its answer, and its last line.
type entry struct {
	from, answer, last, to int
}

// ReadFile reads a cassette, or what is whole of a journal. The error is a *FormatError
// if it is neither.
func ReadFile(path string) (*File, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return Parse(path, text)
}

// Broken says that this is a journal, of a recording that was not closed: it is a
// *IncompleteError then, and otherwise nil.
func (f *File) Incomplete() error { return f.broken }

// IsCassette reports whether a text begins as what Parse reads does.
func IsTape(text []byte) bool {
	return bytes.HasPrefix(text, []byte(magic)) || bytes.HasPrefix(text, []byte(frameMark))
}

// Parse reads a cassette, or what is whole of a journal, from memory, which it keeps;
// name is what errors call it.
func Parse(name string, text []byte) (*File, error) {
	if bytes.HasPrefix(text, []byte(frameMark)) {
		return parseJournal(name, text)
	}
	return (&File{Name: name, text: text}).parsed()
}

// parsed returns the file when its interactions are found.
func (f *File) parsed() (*File, error) {
	line, err := f.parse()
	if err != nil {
		return nil, &recording.FormatError{File: f.Name, Line: line, Err: err}
	}
	return f, nil
}

// parse finds the interactions; the line is that of the error.
func (f *File) parse() (line int, err error) {
	line, err = f.head()
	if err != nil {
		return line, err
	}
	n, err := f.sealed()
	if err != nil {
		return f.damaged(err)
	}
	return 0, f.find(n)
}

// head reads the first lines.
func (f *File) head() (line int, err error) {
	b := &block{rest: f.text}
	first := string(b.next())
	word, found := strings.CutPrefix(first, magic)
	switch n, err := strconv.Atoi(word); {
	case found && strings.HasSuffix(word, "\r"):
		return 1, fmt.Errorf("%w: its lines end in CR LF, as git has them on some systems; say *.tape -text in .gitattributes, and check it out again", ErrChecksum)
	case !found || err != nil:
		return 1, fmt.Errorf("%q is not the first line of a cassette, such as %q", shortened([]byte(first)), magic+"2")
	case n < 1 || n > version:
		return 1, fmt.Errorf("%w: it is %d, and this program reads 1 to %d: use a newer looptape, or record again", ErrVersion, n, version)
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
			return b.line, fmt.Errorf("%q is not known in the head of a cassette", shortened(l))
		}
	}
}

// sealed checks the last line, and returns how many interactions there are by it.
func (f *File) sealed() (n int, err error) {
	n, crc, err := f.foot()
	if err != nil {
		return 0, err
	}
	if body := f.text[:len(f.text)-len("crc ")-len(crc)]; crc != fmt.Sprintf("%08x\n", Checksum(body)) {
		return 0, ErrChecksum
	}
	return n, nil
}

// foot reads the last line, with its end behind the checksum.
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

// damaged looks for the place where a file is not as it was written.
func (f *File) damaged(because error) (line int, err error) {
	_ = f.find(0) // how many there should be is not known
	for i := range f.entries {
		if _, err := f.read(i, false); err != nil {
			return err.Line, fmt.Errorf("%w: %w", because, err.Err)
		}
		if f.headEdited(i) {
			return f.wrong(i, &block{line: 1}, nil).Line, fmt.Errorf("%w: the title, a header or the ending is not the one that was written; see looptape cassette verify --reseal, or record again", because)
		}
	}
	return bytes.Count(f.text, []byte("\n")), fmt.Errorf("%w; see looptape cassette verify --reseal, or record again", because)
}

// headEdited reports whether an interaction is not as it was written in what is not a body.
func (f *File) headEdited(i int) bool {
	text := f.lines(i)
	m, err := readMarks(lastLine(text))
	return err == nil && m.head != "" && m.head != fmt.Sprintf("%08x", headSum(text))
}

// find finds the interactions, of which there are n.
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
		to := from + len(bytes.TrimRight(text[from:at], "\n")) + 1 // without the empty line behind it
		f.entries = append(f.entries, entryOf(text, from, to))
		f.keys = append(f.keys, keysIn(lastLine(text[from:to])))
	}
	if len(f.entries) != n {
		return fmt.Errorf("there are %d interactions, and by the last line %d", len(f.entries), n)
	}
	return nil
}

// entryOf looks over an interaction.
func entryOf(text []byte, from, to int) entry {
	last := lastLine(text[from:to])
	e := entry{from: from, last: to - 1 - len(last), to: to}
	e.answer = e.last
	if at := bytes.Index(text[from:e.last], []byte("\n<")); at >= 0 {
		e.answer = from + at + 1
	}
	return e
}

// keysIn returns the keys in the last line of an interaction; those that are not there
// are 0.
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

// keyOf reads a key, or 0 if it is none.
func keyOf(word []byte) uint64 {
	key, err := strconv.ParseUint(jsonio.View(word), 16, 64)
	if err != nil {
		return 0
	}
	return key
}

// lastLine is the last line of an interaction.
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

// Len is how many interactions there are.
func (f *File) Len() int { return len(f.entries) }

// Lines are those on which the interactions begin, counted from 1; nil of a journal, in
// which they stand in another order.
func (f *File) Lines() []int {
	if f.broken != nil {
		return nil
	}
	lines := make([]int, len(f.entries))
	line, at := 1, 0
	for i, e := range f.entries {
		line += bytes.Count(f.text[at:e.from], []byte("\n"))
		lines[i], at = line, e.from
	}
	return lines
}

// Interaction reads an interaction, by its index from 0. The error is a *FormatError.
func (f *File) Interaction(i int) (*recording.Interaction, error) {
	x, err := f.read(i, false)
	if err != nil {
		return nil, err
	}
	return x, nil
}

// read reads an interaction; of edited ones the checksums do not count.
func (f *File) read(i int, edited bool) (*recording.Interaction, *recording.FormatError) {
	x, b := &recording.Interaction{}, f.block(i)
	b.edited = edited
	if err := b.read(x); err != nil {
		return nil, f.wrong(i, b, err)
	}
	return x, nil
}

// answer reads the response of an interaction without the time before it, and without
// looking at the rest. The body may be left to a stream, which is nil otherwise. The
// error is a *FormatError.
func (f *File) Answer(i int) (*recording.Response, *EventStream, error) {
	e := f.entries[i]
	r, events := &recording.Response{}, &EventStream{file: f, index: i}
	b := &block{rest: f.text[e.answer:e.last]}
	if b.answer(r, events, f.text[e.last:e.to-1]) != nil {
		x, err := f.Interaction(i) // which says what is wrong, and where
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

// wait is the time before an answer. The error is a *FormatError.
func (f *File) Wait(i int) (time.Duration, error) {
	t, err := readTitle(f.title(i))
	if err != nil {
		return 0, f.wrong(i, &block{line: 1}, err)
	}
	return t.wait, nil
}

// lines are those of an interaction.
func (f *File) lines(i int) []byte { return f.text[f.entries[i].from:f.entries[i].to] }

// title is the first line of an interaction.
func (f *File) title(i int) []byte {
	line, _, _ := bytes.Cut(f.lines(i), []byte("\n"))
	return line
}

// block reads the lines of an interaction.
func (f *File) block(i int) *block { return &block{rest: f.lines(i)} }

// wrong is the error of the line that was read last of an interaction.
func (f *File) wrong(i int, b *block, err error) *recording.FormatError {
	return &recording.FormatError{File: f.Name, Line: bytes.Count(f.text[:f.entries[i].from], []byte("\n")) + b.line, Err: err}
}

// headText is the first lines of a cassette.
func headText(h recording.Metadata) []byte {
	dst := append(strconv.AppendInt([]byte(magic), version, 10), "\nrecorded "...)
	dst = h.Recorded.UTC().AppendFormat(dst, time.RFC3339)
	if h.Recorder != "" {
		dst = append(append(dst, "\nrecorder "...), h.Recorder...)
	}
	if h.Match != "" {
		dst = append(append(dst, "\nmatch "...), h.Match...)
	}
	for _, name := range slices.Sorted(maps.Keys(h.Upstreams)) {
		dst = append(append(append(append(dst, "\nupstream "...), name...), ' '), h.Upstreams[name]...)
	}
	return append(dst, "\n\n"...)
}

// appendFoot ends a cassette with n interactions, which is all of dst.
func appendFoot(dst []byte, n int) []byte {
	dst = append(dst, footText(n)...)
	return fmt.Appendf(dst, "crc %08x\n", Checksum(dst))
}

// footText is the last line of a cassette up to its checksum.
func footText(n int) []byte {
	text := append(strconv.AppendInt([]byte(foot), int64(n), 10), " interaction"...)
	if n != 1 {
		text = append(text, 's')
	}
	return append(text, ' ')
}

// Load reads what Open replays: a cassette, or of a recording of it that broke off what
// there is, if anything. The errors are those of ReadFile.
func Load(path string) (*File, error) {
	journal := JournalPath(path)
	text, err := os.ReadFile(journal)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && !begun(text):
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

// Keys returns the keys of all interactions. The caller must not change the slice.
func (f *File) Keys() []Keys { return f.keys }

// Title returns the method, the URL, the status and the duration of an interaction as
// its first line has them.
func (f *File) Title(i int) string {
	return strings.TrimPrefix(jsonio.View(f.title(i)), "=== ")
}

// RequestBody returns the lines of the body of a request.
func (f *File) RequestBody(i int) []byte {
	e := f.entries[i]
	_, body, _ := bytes.Cut(f.text[e.from:e.answer], []byte("\n>\n"))
	return body
}

// Outline returns what the first and last lines of an interaction contain about its
// request: the method, the URL and the length of the body.
func (f *File) Outline(i int) (method, url string, length int) {
	title, _ := readTitle(f.title(i))
	marks, _ := readMarks(lastLine(f.lines(i)))
	return title.method, title.url, marks.sent.length
}

// Path is the path of the cassette, or else what errors call it.
func (f *File) Path() string { return cmp.Or(f.path, f.Name) }

// encodeTape writes a cassette with these interactions, whose keys a function makes.
func Encode(h recording.Metadata, list []*recording.Interaction, keysOf func(*recording.Interaction) Keys) []byte {
	text := headText(h)
	for i, x := range list {
		text = append(appendInteraction(text, i+1, x, keyText(keysOf(x))), '\n')
	}
	return appendFoot(text, len(list))
}
