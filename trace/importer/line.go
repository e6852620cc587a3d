package importer

import (
	"bytes"
	"io"
)

// oneLine returns the next line as an input of its own, and what consumes the
// rest of the line, which must be called before anything else is read; nil when
// no line is left. A line that is long is read piece by piece.
func (in *input) oneLine() (line *input, done func()) {
	for {
		if i := bytes.IndexByte(in.buf, '\n'); i >= 0 {
			line = &input{buf: in.buf[:i:i], line: in.line, err: io.EOF, file: in}
			in.skip(i + 1)
			return line, func() {}
		}
		if in.err != nil || len(in.buf) >= pieceSize/2 {
			break
		}
		in.more()
	}
	if len(in.buf) == 0 {
		return nil, nil
	}
	rest := &lineReader{in: in}
	rest.line = &input{r: rest, line: in.line, most: in.most, packed: in.packed}
	return rest.line, func() { _, _ = io.Copy(io.Discard, rest) }
}

// lineReader reads up to the end of a line, and consumes that too. What the
// input has read so far is within the line. An error of the input ends the line;
// the input tells it.
type lineReader struct {
	in    *input
	line  *input // what reads from this
	ended bool
}

func (r *lineReader) Read(p []byte) (n int, err error) {
	in := r.in
	switch {
	case r.ended:
		return 0, io.EOF
	case len(in.buf) > 0:
		n = copy(p, in.buf)
		in.consumed(n)
		in.buf = in.buf[n:]
		return n, nil
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
	in.consumed(n)
	return n, nil
}
