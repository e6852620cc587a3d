package cassettes

import (
	"bytes"
	"errors"
	"io"
	"slices"
)

// maxReserved limits the memory that is reserved for a body before it arrives.
const maxReserved = 1 << 20

// bodyBuffer is a body buffer. It does not copy earlier parts when it grows.
type bodyBuffer struct {
	full [][]byte
	last []byte // may have free capacity
	size int
}

// reserve returns free capacity of at least this size.
func (p *bodyBuffer) reserve(size int) []byte {
	if cap(p.last)-len(p.last) < size {
		if p.last != nil {
			p.full = append(p.full, p.last)
		}
		p.last = make([]byte, 0, max(size, min(p.size, maxReserved)))
	}
	return p.last[len(p.last):cap(p.last)]
}

// took adds n bytes that were written to the free capacity.
func (p *bodyBuffer) took(n int) {
	p.last = p.last[:len(p.last)+n]
	p.size += n
}

func (p *bodyBuffer) add(part []byte) { p.took(copy(p.reserve(len(part)), part)) }

func (p *bodyBuffer) readFrom(r io.Reader) error {
	for {
		n, err := r.Read(p.reserve(bytes.MinRead))
		p.took(n)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

// whole returns the body so far in one slice.
func (p *bodyBuffer) whole() []byte {
	if p.full != nil {
		p.last = slices.Concat(append(p.full, p.last)...)
		p.full = nil
	}
	return p.last
}
