package importer

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/bits"
	"slices"
	"sync/atomic"

	"github.com/looptape/looptape/internal/decompress"
	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/internal/yamljson"
)

const (
	headSize   = 64 << 10  // how much of a recording Open looks at
	bufferSize = 256 << 10 // minimum of memory that is allocated
)

// maxHeld limits a value of a compressed file further. The size of an uncompressed file bounds what is held
// of it.
const maxHeld = 256 << 20

// heldLimits returns the maximum length of a value in a compressed file of a size, and of a
// run that is read value by value. The latter grows with the file without a bound.
func heldLimits(compressed int64) (value, run int) {
	run = decompress.MaxHeld(int(compressed))
	return min(maxHeld, run), run
}

// memoryError is the error of what is longer than a limit, in bytes.
type memoryError int

func (e memoryError) Error() string {
	return fmt.Sprintf("the limit of %d MiB in memory is exceeded: decompress the file first if it is not a decompression bomb", e>>20)
}

// counter counts the bytes that were read. The decoder of zstd reads on a goroutine of its own.
type counter struct {
	io.Reader
	n atomic.Int64
}

// Read implements io.Reader.
func (c *counter) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n.Add(int64(n))
	return n, err
}

// byteOrderMark is at the beginning of files of some Windows programs.
var byteOrderMark = []byte("\xef\xbb\xbf")

// isUTF32 reports whether a file begins with the byte order mark of UTF-32, or with JSON in it.
func isUTF32(head []byte) bool {
	if len(head) < 4 {
		return false
	}
	first := binary.LittleEndian.Uint32(head)
	return slices.Contains([]uint32{0xfeff, '{', '['}, first) || slices.Contains([]uint32{0xfeff, '{', '['}, bits.ReverseBytes32(first))
}

// isUTF16 reports whether a file begins with the byte order mark of UTF-16, or with JSON in it.
func isUTF16(head []byte) bool {
	if len(head) < 4 {
		return false
	}
	begins := func(c byte) bool { return c == '{' || c == '[' }
	return head[0] == 0xff && head[1] == 0xfe && head[3] == 0 || head[0] == 0xfe && head[1] == 0xff && head[2] == 0 ||
		begins(head[0]) && head[1] == 0 && head[3] == 0 || head[0] == 0 && begins(head[1]) && head[2] == 0
}

// input splits a stream of JSON into values by their brackets, without parsing them. The
// strings that it returns share the memory of its buffers, which are not written again.
type input struct {
	r       io.Reader
	text    *textReader // r of a file; nil of a line
	buf     []byte      // read and not consumed
	first   int         // size of the first buffer
	size    int         // of the rest of a file that is not compressed; 0 if it is unknown
	line    int         // of the start of buf, from 1
	longest int         // length of the longest value
	max     int         // of the length of buf
	// compressed counts the bytes of a compressed file, which limit the length of buf; nil for
	// other files.
	compressed *counter
	// measured is true while the consumed bytes are held as a run, and held is their number.
	measured bool
	held     int
	err      error  // of r after buf, io.EOF at its end
	file     *input // the file whose line this is, once the line is consumed there; else nil
	isTask   bool   // a line that is read concurrently with the next ones
	mayBlock bool   // r may wait for data
}

func newInput(r io.Reader) (*input, error) {
	size, ok := sizeOf(r)
	file := &counter{Reader: r}
	content, compressed, err := decompress.NewReader(file)
	if err != nil {
		return nil, err
	}
	text := &textReader{Reader: content}
	in := &input{r: text, text: text, line: 1, max: math.MaxInt, first: bufferSize}
	in.mayBlock = !ok
	if compressed {
		in.compressed = file
	} else if ok {
		in.first, in.size = min(bufferSize, size+1), size
	}
	in.fill(3)
	in.buf = bytes.TrimPrefix(in.buf, byteOrderMark)
	return in, nil
}

// sizeOf returns the size of a file; ok is false if it is unknown.
func sizeOf(r io.Reader) (size int, ok bool) {
	switch r := r.(type) {
	case interface{ Len() int }:
		return r.Len(), true
	case interface{ Stat() (fs.FileInfo, error) }:
		if info, err := r.Stat(); err == nil && info.Mode().IsRegular() {
			return int(info.Size()), true
		}
	}
	return 0, false
}

func (in *input) maxValue() int {
	if in.compressed == nil {
		return in.max
	}
	value, _ := heldLimits(in.compressed.n.Load())
	return value
}

// measureRun begins or ends to count what is held of a run.
func (in *input) measureRun(on bool) { in.measured, in.held = on, 0 }

func (in *input) count(n int) {
	if !in.measured || in.compressed == nil {
		return
	}
	in.held += n
	if _, run := heldLimits(in.compressed.n.Load()); in.held > run {
		in.err = memoryError(run)
	}
}

func (in *input) fill(n int) {
	for len(in.buf) < n && in.err == nil {
		in.more()
	}
}

// more reads once to the end of buf, which it may move.
func (in *input) more() {
	if limit := in.maxValue(); len(in.buf) >= limit {
		in.err = memoryError(limit)
		return
	}
	switch {
	case in.buf == nil && in.first > 0:
		in.buf = make([]byte, 0, in.first)
		in.first = 0
	case len(in.buf) == cap(in.buf), cap(in.buf) >= bufferSize && cap(in.buf)-len(in.buf) < bufferSize/4:
		in.buf = append(make([]byte, 0, max(bufferSize, 2*len(in.buf), 2*in.longest)), in.buf...)
	}
	var n int
	n, in.err = in.r.Read(in.buf[len(in.buf):cap(in.buf)])
	in.buf = in.buf[:len(in.buf)+n]
}

// all returns the whole input, without consuming it.
func (in *input) all() ([]byte, error) {
	if in.err == nil && in.size > cap(in.buf) {
		in.buf = append(make([]byte, 0, in.size+bufferSize), in.buf...)
	}
	for in.err == nil {
		in.more()
	}
	return in.buf, in.readError()
}

// openYAML replaces the input by its JSON, on the same lines.
func (s *Source) openYAML() error {
	src, err := s.in.all()
	if err != nil {
		return s.errorAt(0, "", err)
	}
	text, err := yamljson.Document(src)
	if err != nil {
		var line int
		_, _ = fmt.Sscanf(err.Error(), "yaml: line %d:", &line) // 0 if it has none
		return s.errorAt(line, "", err)
	}
	s.in = &input{buf: text, line: 1, max: math.MaxInt, err: io.EOF}
	return nil
}

// embedded returns the content of an input that is a JSON string with an object in it, as ADK
// writes results. Lines count within it. It consumes nothing.
func (in *input) embedded(head []byte) (text string, ok bool) {
	if !bytes.HasPrefix(bytes.TrimSpace(head), []byte(`"{`)) {
		return "", false
	}
	all, err := in.all()
	d := jsonio.NewDec(jsonio.View(all))
	text = d.String()
	return text, err == nil && d.End() == nil
}

// head returns the beginning, without consuming it, and the error that shortened it.
func (in *input) head() ([]byte, error) {
	in.fill(headSize)
	return in.buf[:min(headSize, len(in.buf))], in.eofIsNil()
}

func (in *input) eofIsNil() error {
	if errors.Is(in.err, io.EOF) {
		return nil
	}
	return in.err
}

func (in *input) take(n int) string {
	s := jsonio.View(in.buf[:n])
	in.skip(n)
	return s
}

func (in *input) skip(n int) {
	in.longest = max(in.longest, n)
	in.count(n)
	in.line += bytes.Count(in.buf[:n], []byte{'\n'})
	in.buf = in.buf[n:]
}

// next consumes space and returns the byte after it, unconsumed; 0 at the end.
func (in *input) next() byte {
	const notJSON = 1 // for a NUL, which begins no value either
	for {
		for i, c := range in.buf {
			if c != ' ' && c != '\n' && c != '\r' && c != '\t' {
				in.skip(i)
				if c == 0 {
					return notJSON // 0 is the end
				}
				return c
			}
		}
		in.skip(len(in.buf))
		if in.err != nil {
			return 0
		}
		in.more()
	}
}

// readError returns the error that ended the input; nil at its end.
func (in *input) readError() error {
	if err := in.eofIsNil(); err != nil {
		return fmt.Errorf("reading stopped: %w", err)
	}
	return nil
}

// Errors of truncated values. The queue replaces errLineEnds for the last line of the file.
var (
	errLineEnds = errors.New("the line ends within a value")
	errFileEnds = errors.New("the file ends within a value")
)

// endError returns the error for a value that the end of the input truncates.
func (in *input) endError() error {
	if err := in.readError(); err != nil {
		return err
	}
	if in.isTask || in.file != nil && in.file.next() != 0 {
		return errLineEnds
	}
	return errFileEnds
}

// nextLine consumes a line and returns it without its end; ok is false if no complete line is
// left.
func (in *input) nextLine() (text []byte, ok bool) {
	n, found := in.until(func(b []byte) int { return bytes.IndexByte(b, '\n') })
	text = in.buf[:n]
	if found {
		in.skip(n + 1)
		return text, true
	}
	in.skip(n)
	return text, n > 0 && in.readError() == nil
}

// until returns the offset that index finds in the rest of the input; if it finds none, false and
// the length of the rest.
func (in *input) until(index func([]byte) int) (n int, found bool) {
	for from := 0; ; {
		if i := index(in.buf[from:]); i >= 0 {
			return from + i, true
		}
		if from = len(in.buf); in.err != nil {
			return from, false
		}
		in.more()
	}
}

// quick consumes the value at the next byte (see next) if read can read it. It reads at most
// the length of the value twice.
func (in *input) quick(read readElement) bool {
	for {
		n, short := read(element{text: jsonio.View(in.buf), line: in.line})
		if n > 0 {
			in.skip(n)
			return true
		}
		if !short || !in.double() {
			return false
		}
	}
}

// double reads until buf has twice its length, if the limit allows, and reports whether it grew.
func (in *input) double() bool {
	length := len(in.buf)
	if in.fill(min(2*length+1, in.maxValue())); len(in.buf) == length {
		in.fill(length + 1)
	}
	return len(in.buf) > length
}

// value consumes the value at the next byte (see next) and returns its text, or its
// beginning with an error. Its brackets are balanced; it may be invalid otherwise. Value calls wait, if
// it is not nil, before it reads more of the input.
func (in *input) value(wait func()) (string, error) {
	if c := in.next(); c != '{' && c != '[' && c != '"' {
		return in.literal()
	}
	for {
		if n := jsonio.ValueLength(jsonio.View(in.buf)); n > 0 {
			return in.take(n), nil
		}
		if wait != nil {
			wait()
		}
		if !in.double() {
			err := in.endError()
			return in.take(len(in.buf)), err
		}
	}
}

// literal consumes a number or a literal, at least one byte.
func (in *input) literal() (string, error) {
	n, found := in.until(func(b []byte) int { return bytes.IndexAny(b, "{}[], \t\r\n\":") })
	if found {
		return in.take(max(n, 1)), nil
	}
	return in.take(n), in.readError()
}

// Read reads what is not consumed.
func (in *input) Read(p []byte) (n int, err error) {
	switch {
	case len(in.buf) > 0:
		n = copy(p, in.buf)
		in.buf = in.buf[n:]
	case in.err == nil:
		n, in.err = in.r.Read(p)
		err = in.err
	default:
		return 0, in.err
	}
	in.count(n)
	return n, err
}

// hasLine reports whether the input can give the next line without waiting for data.
func (in *input) hasLine() bool { return !in.mayBlock || bytes.IndexByte(in.buf, '\n') >= 0 }

// oneLine returns the next line as an input, which may be unused, and a function that consumes the rest of
// the line, which must be called before the next read; nil if no line is left. It does not hold a long line in
// memory.
func (in *input) oneLine(unused *input) (line *input, done func()) {
	*unused = input{} // the last line may be large
	for {
		if i := bytes.IndexByte(in.buf, '\n'); i >= 0 {
			*unused = input{buf: in.buf[:i:i], line: in.line, err: io.EOF, file: in}
			in.skip(i + 1)
			return unused, func() {}
		}
		if in.err != nil || len(in.buf) >= bufferSize/2 {
			break
		}
		in.more()
	}
	if len(in.buf) == 0 {
		return nil, nil
	}
	rest := &lineReader{in: in}
	rest.line = &input{r: rest, line: in.line, max: in.max, compressed: in.compressed, mayBlock: in.mayBlock}
	return rest.line, func() { _, _ = io.Copy(io.Discard, rest) }
}

// lineReader reads up to the end of a line and consumes it. The buffer of the input is within
// the line. An error of the input ends the line; the input returns it later.
type lineReader struct {
	in    *input
	line  *input // reads from the lineReader
	ended bool
}

// Read implements io.Reader.
func (r *lineReader) Read(p []byte) (n int, err error) {
	in := r.in
	switch {
	case r.ended:
		return 0, io.EOF
	case len(in.buf) > 0:
		return in.Read(p)
	case in.err != nil:
		r.ended = true
		return 0, io.EOF
	}
	n, in.err = in.r.Read(p)
	if i := bytes.IndexByte(p[:n], '\n'); i >= 0 {
		in.buf = append([]byte(nil), p[i+1:n]...)
		in.line++
		r.ended, r.line.file = true, in
		n = i
	}
	in.count(n)
	return n, nil
}
