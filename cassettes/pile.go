package cassettes

import (
	"bytes"
	"errors"
	"io"
	"slices"
)

// mostReserved is how much memory is taken for a body before it comes.
const mostReserved = 1 << 20

// pile is a body that comes in parts. What has come is not copied for what comes.
type pile struct {
	full [][]byte
	last []byte // in which there may be room
	size int
}

// room is where the next bytes can stand, at least so many.
func (p *pile) room(least int) []byte {
	if cap(p.last)-len(p.last) < least {
		if p.last != nil {
			p.full = append(p.full, p.last)
		}
		p.last = make([]byte, 0, max(least, min(p.size, mostReserved)))
	}
	return p.last[len(p.last):cap(p.last)]
}

// took adds so many bytes that stand where there was room.
func (p *pile) took(n int) {
	p.last = p.last[:len(p.last)+n]
	p.size += n
}

// add adds a part, which is copied.
func (p *pile) add(part []byte) { p.took(copy(p.room(len(part)), part)) }

// readFrom adds what a reader has, up to its end.
func (p *pile) readFrom(r io.Reader) error {
	for {
		n, err := r.Read(p.room(bytes.MinRead))
		p.took(n)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

// whole is the body so far, which is in one part then.
func (p *pile) whole() []byte {
	if p.full != nil {
		p.last = slices.Concat(append(p.full, p.last)...)
		p.full = nil
	}
	return p.last
}
