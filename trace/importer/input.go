package importer

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/looptape/looptape/internal/jsonio"
)

const (
	headSize  = 64 << 10  // how much of a recording Open looks at
	pieceSize = 256 << 10 // how much memory is taken at once, at least
)

// byteOrderMark is what programs of Windows begin texts with.
var byteOrderMark = []byte("\xef\xbb\xbf")

// inUTF16 tells UTF-16 by its byte order mark and the zero in an ASCII character behind it.
func inUTF16(head []byte) bool {
	if len(head) < 4 {
		return false
	}
	return head[0] == 0xff && head[1] == 0xfe && head[3] == 0 || head[0] == 0xfe && head[1] == 0xff && head[2] == 0
}

// input cuts a stream of JSON into values by their brackets, without a look at
// what is in them. Texts that it returns share the memory that the stream was
// read to; nothing is written there again.
type input struct {
	r    io.Reader
	buf  []byte // what was read and not consumed
	line int    // of the start of buf, counted from 1
	long int    // how long the longest value was
	most int    // how long buf may get
	// packed counts what was read of a compressed file, which bounds the length of buf, too;
	// nil if it is none.
	packed *counter
	// keeps says that what is consumed is held on, as a run, and kept how much that is.
	keeps bool
	kept  int
	err   error  // of r, io.EOF at its end; behind buf
	file  *input // what this is a whole line of, which was consumed there; nil if it is none
}

// newInput takes off compression and a byte order mark.
func newInput(r io.Reader) (*input, error) {
	file := &counter{Reader: r}
	plain, packed, err := decompressed(bufio.NewReader(file))
	if err != nil {
		return nil, err
	}
	in := &input{r: plain, line: 1, most: math.MaxInt}
	if packed {
		in.packed = file
	}
	in.fill(3)
	in.buf = bytes.TrimPrefix(in.buf, byteOrderMark)
	return in, nil
}

// limit is how long a value may be.
func (in *input) limit() int {
	if in.packed == nil {
		return in.most
	}
	value, _ := holdable(in.packed.n)
	return value
}

// keep begins to count what is held of a run, or ends it.
func (in *input) keep(on bool) { in.keeps, in.kept = on, 0 }

// consumed counts what is held.
func (in *input) consumed(n int) {
	if !in.keeps || in.packed == nil {
		return
	}
	in.kept += n
	if _, run := holdable(in.packed.n); in.kept > run {
		in.err = heldError(run)
	}
}

// fill reads until there are n bytes or no more.
func (in *input) fill(n int) {
	for len(in.buf) < n && in.err == nil {
		in.more()
	}
}

// more reads one piece behind buf, which may move.
func (in *input) more() {
	if most := in.limit(); len(in.buf) >= most {
		in.err = heldError(most)
		return
	}
	if cap(in.buf)-len(in.buf) < pieceSize/4 {
		in.buf = append(make([]byte, 0, max(pieceSize, 2*len(in.buf), 2*in.long)), in.buf...)
	}
	var n int
	n, in.err = in.r.Read(in.buf[len(in.buf):cap(in.buf)])
	in.buf = in.buf[:len(in.buf)+n]
}

// grow reads at least as much again as there is. It reports whether it could.
func (in *input) grow() bool {
	had := len(in.buf)
	in.fill(2*had + 1)
	return len(in.buf) > had
}

// all returns what there is, without consuming it.
func (in *input) all() ([]byte, error) {
	for in.err == nil {
		in.more()
	}
	return in.buf, in.broken()
}

// wrapped returns the text of JSON that stands as a text of JSON itself, as ADK writes
// results; lines count within it. ok is false if there is none; nothing is consumed.
func (in *input) wrapped(head []byte) (text string, ok bool) {
	if !bytes.HasPrefix(bytes.TrimSpace(head), []byte(`"{`)) {
		return "", false
	}
	all, err := in.all()
	d := jsonio.NewDec(jsonio.View(all))
	text = d.String()
	return text, err == nil && d.End() == nil
}

// rest is all that was read and not consumed.
func (in *input) rest() string { return jsonio.View(in.buf) }

// head returns the beginning, without consuming it, and the error that kept it
// short.
func (in *input) head() ([]byte, error) {
	in.fill(headSize)
	head := in.buf[:min(headSize, len(in.buf))]
	if errors.Is(in.err, io.EOF) {
		return head, nil
	}
	return head, in.err
}

// take consumes n bytes and returns them.
func (in *input) take(n int) string {
	s := jsonio.View(in.buf[:n])
	in.skip(n)
	return s
}

func (in *input) skip(n int) {
	in.long = max(in.long, n)
	in.consumed(n)
	in.line += bytes.Count(in.buf[:n], []byte{'\n'})
	in.buf = in.buf[n:]
}

// next consumes space and returns the byte after it, unconsumed; 0 at the end.
func (in *input) next() byte {
	const notJSON = 1 // stands for a NUL, which begins no value either
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

// broken is the error that ended the input, or nil at a clean end.
func (in *input) broken() error {
	if in.err == nil || errors.Is(in.err, io.EOF) {
		return nil
	}
	return fmt.Errorf("reading stopped: %w", in.err)
}

// cut is the error for a value that the end of the input cuts off.
func (in *input) cut() error {
	if err := in.broken(); err != nil {
		return err
	}
	if in.file != nil && in.file.next() != 0 {
		return errors.New("the line ends within a value")
	}
	return errors.New("the file ends within a value")
}

// nextLine consumes a line and returns it without its end; ok is false when there is
// none left that is whole.
func (in *input) nextLine() (text []byte, ok bool) {
	for from := 0; ; {
		if i := bytes.IndexByte(in.buf[from:], '\n'); i >= 0 {
			text = in.buf[:from+i]
			in.skip(from + i + 1)
			return text, true
		}
		from = len(in.buf)
		if in.err != nil {
			text = in.buf
			in.skip(from)
			return text, from > 0 && in.broken() == nil
		}
		in.more()
	}
}

// quickly reads the value that text begins with, if nothing is wrong with it,
// and returns its length; else 0, and whether only more of the text could tell.
type quickly func(text string, line int) (n int, short bool)

// quick consumes the value at the next byte (see next) if read can read it. What
// is read twice because more of it was needed is at most as long as the value.
func (in *input) quick(read quickly) bool {
	for {
		n, short := read(in.rest(), in.line)
		if n > 0 {
			in.skip(n)
			return true
		}
		if !short || !in.grow() {
			return false
		}
	}
}

// value consumes the value that starts at the next byte (see next) and returns its text:
// beside an error what there is of it. Its brackets are balanced; nothing else is sure.
func (in *input) value() (string, error) {
	if c := in.next(); c != '{' && c != '[' && c != '"' {
		return in.word()
	}
	var v extent
	for i := 0; ; {
		var done bool
		if i, done = v.scan(in.buf, i); done {
			return in.take(i), nil
		}
		if in.err != nil {
			err := in.cut()
			return in.take(len(in.buf)), err
		}
		in.more()
	}
}

// word consumes a number or a literal, at least one byte.
func (in *input) word() (string, error) {
	for from := 0; ; {
		if i := bytes.IndexAny(in.buf[from:], "{}[], \t\r\n\":"); i >= 0 {
			return in.take(max(from+i, 1)), nil
		}
		from = len(in.buf)
		if in.err != nil {
			return in.take(from), in.broken()
		}
		in.more()
	}
}

// extent looks for the end of a value that begins with a bracket or a quote.
type extent struct {
	depth  int
	quoted bool
}

// scan goes on from b[i]. It returns the place behind the value, or done false
// and the place from which to go on when there is more of b.
func (v *extent) scan(b []byte, i int) (end int, done bool) {
	for {
		if v.quoted {
			if i, done = endOfString(b, i); !done {
				return i, false
			}
			v.quoted = false
			if v.depth == 0 {
				return i, true
			}
		}
		for i < len(b) && !bracket[b[i]] {
			i++
		}
		if i == len(b) {
			return i, false
		}
		switch b[i] {
		case '"':
			v.quoted = true
		case '{', '[':
			v.depth++
		default:
			v.depth--
		}
		i++
		if v.depth == 0 && !v.quoted {
			return i, true
		}
	}
}

// bracket marks the bytes at which a scan outside of strings has to look.
var bracket = func() (t [256]bool) {
	for _, c := range []byte(`"{}[]`) {
		t[c] = true
	}
	return t
}()

// endOfString returns the place behind the quote that ends a string, from a
// place within it; or, if b ends before, done false and the place from which to
// go on.
func endOfString(b []byte, i int) (end int, done bool) {
	from := i
	for {
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			// A backslash at the end may escape what comes next.
			return len(b) - backslashes(b[from:])%2, false
		}
		i += n
		i++
		if backslashes(b[from:i-1])%2 == 0 {
			return i, true
		}
	}
}

// backslashes is how many b ends with.
func backslashes(b []byte) (n int) {
	for n < len(b) && b[len(b)-1-n] == '\\' {
		n++
	}
	return n
}

// Read makes the input a reader of all that was not consumed.
func (in *input) Read(p []byte) (n int, err error) {
	if len(in.buf) == 0 && in.err == nil {
		n, in.err = in.r.Read(p)
		in.consumed(n)
		return n, in.err
	}
	if len(in.buf) == 0 {
		return 0, in.err
	}
	n = copy(p, in.buf)
	in.consumed(n)
	in.buf = in.buf[n:]
	return n, nil
}
