package cassettes

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/looptape/looptape/cassettes/internal/tape"
	"github.com/looptape/looptape/cassettes/recording"
	"github.com/looptape/looptape/cassettes/redact"
)

// longStream records a long response in parts, if it has server-sent events.
type longStream struct {
	rec    *inFlight
	memory *redact.Memory // with all secrets of the interaction
	first  int            // number of secrets before the first part
	spool  *tape.Spool

	raw    []byte            // the last events, and the beginning of the next one
	chunks []recording.Chunk // of the events in raw, without the next one
	split  int               // bytes of these events
	done   int               // the number of these events that are written
	tail   [][]byte          // the written ones, redacted
	times  arrivals

	clean    *recording.Interaction // the last part, redacted
	suspects []redact.SuspectedSecret
	err      error // why the response is not recorded
}

// lengthen begins to record a body in parts, whose last bytes came just now.
func (rec *inFlight) lengthen(last []byte, at time.Duration) {
	s := &longStream{rec: rec, memory: rec.c.memory.Interaction()}
	rec.long = s
	if !isEvents(rec.x.Response.Header) {
		s.err = s.tooLong("response")
		return
	}
	s.times.came = slices.Clone(rec.came.came)
	s.spool, s.err = rec.c.journal.NewSpool(rec.number)
	for _, part := range append(rec.body.full, rec.body.last) {
		s.write(part)
	}
	if !rec.fits() {
		s.add(last, at, rec.size)
	}
}

func (s *longStream) parts() tape.PartSize { return s.rec.c.parts }

func (s *longStream) tooLong(what string) error {
	return fmt.Errorf("interaction %d is not recorded: its %s has more than %d bytes: set MaxBody (--max-body)", s.rec.number, what, s.rec.c.opts.maxBody())
}

func (s *longStream) add(part []byte, at time.Duration, size int) {
	s.times.add(at, size)
	s.write(part)
}

func (s *longStream) write(part []byte) {
	if s.err != nil || s.suspects != nil {
		return
	}
	s.raw = append(s.raw, part...)
	if len(s.raw) >= s.parts().Size && len(s.raw)-s.split >= s.parts().Size/4 {
		s.fail(s.flush(false))
	}
	if len(s.raw)-s.split > int(s.rec.c.opts.maxBody()) && len(s.raw) > s.parts().Size {
		s.fail(s.tooLong("event"))
	}
}

func (s *longStream) fail(err error) {
	if s.err == nil && err != nil {
		s.err, s.raw = err, nil
	}
}

// flush writes the events before the last ones, or all of them.
func (s *longStream) flush(last bool) error {
	events := tape.SplitEvents(s.raw[s.split:])
	for i, ev := range events {
		if last || i < len(events)-1 { // more bytes may belong to the last one
			s.chunks = append(s.chunks, s.times.chunk(len(ev)))
			s.split += len(ev)
		}
	}
	for {
		n := countUpTo(s.chunks, s.parts().Size)
		for n < len(s.chunks) && lengthOf(s.chunks[s.done:n]) <= s.parts().Overlap {
			n++
		}
		final := n == len(s.chunks)
		if final && !last {
			return nil
		}
		if err := s.writePart(n, final); err != nil || final || s.suspects != nil {
			return err
		}
	}
}

// writePart redacts the first n events and writes those that are not yet written and not within the
// overlap.
func (s *longStream) writePart(n int, final bool) error {
	x := *s.rec.x
	x.Response.Body, x.Response.Chunks = s.raw[:lengthOf(s.chunks[:n])], s.chunks[:n:n]
	if s.tail == nil {
		s.first = s.memory.Len()
	}
	s.clean = s.memory.Redacted(&x)
	events := tape.SplitEvents(s.clean.Response.Body)
	if len(events) != n || len(s.clean.Response.Chunks) != n {
		return fmt.Errorf("interaction %d is not recorded: Redact of the options has changed the number of events of a long stream", s.rec.number)
	}
	s.suspects = s.memory.FindSecrets(s.clean)
	s.checkTail(events)
	if s.suspects != nil {
		return nil
	}
	to := n
	if !final {
		to = s.startOfOverlap(n)
	}
	if err := s.spool.Add(bytes.Join(events[s.done:to], nil), s.clean.Response.Chunks[s.done:to]); err != nil {
		if errors.Is(err, tape.ErrEvents) {
			err = fmt.Errorf("interaction %d is not recorded: its response has more than %d bytes, and %w", s.rec.number, s.rec.c.opts.maxBody(), err)
		}
		return err
	}
	from := s.startOfOverlap(to)
	size := lengthOf(s.chunks[:from])
	s.tail = nil
	for _, ev := range events[from:to] {
		s.tail = append(s.tail, bytes.Clone(ev))
	}
	s.raw, s.split = append(s.raw[:0], s.raw[size:]...), s.split-size
	s.chunks, s.done = append(s.chunks[:0], s.chunks[from:]...), to-from
	return nil
}

// checkTail compares written events with what they are redacted to now, without those at the
// beginning, which lack what is before them. They differ if a secret at the border became known later.
func (s *longStream) checkTail(events [][]byte) {
	size := 0
	for i := len(s.tail) - 1; i >= 0 && size < s.parts().Overlap/2; i-- {
		size += s.chunks[i].Len
		if !bytes.Equal(s.tail[i], events[i]) {
			s.suspects = append(s.suspects, redact.SuspectedSecret{Request: s.clean.Request.Method + " " + s.clean.Request.URL, Part: "response", Place: "body", What: "a secret that a later event names"})
			return
		}
	}
}

// startOfOverlap returns the last event from which the overlap fits before the event n.
func (s *longStream) startOfOverlap(n int) int {
	size := 0
	for n > 0 && size < s.parts().Overlap {
		n--
		size += s.chunks[n].Len
	}
	return n
}

// end writes the interaction, which is complete except for its body, unless it has a suspected secret.
func (s *longStream) end() (suspects []redact.SuspectedSecret, err error) {
	defer s.close()
	if s.err != nil || s.suspects != nil {
		return s.suspects, s.err
	}
	if err := s.flush(true); err != nil || s.suspects != nil {
		return s.suspects, err
	}
	x, c := s.clean, s.rec.c
	keys := c.opts.matching().Keys(x.Session, &x.Request)
	s.spool.End(s.rec.number, x, keys)
	if s.memory.Len() != s.first {
		for part := range s.spool.Parts(s.parts()) {
			if suspects := s.memory.FindSecrets(part); suspects != nil {
				return suspects, nil
			}
		}
	}
	return nil, c.journal.AddLong(s.rec.number, s.spool)
}

func (s *longStream) close() {
	s.raw = nil
	if s.spool != nil {
		s.spool.Remove()
	}
}

// countUpTo returns how many chunks have about this size.
func countUpTo(chunks []recording.Chunk, size int) (n int) {
	for n < len(chunks) && size > 0 {
		size -= chunks[n].Len
		n++
	}
	return n
}

func lengthOf(chunks []recording.Chunk) (n int) {
	for _, p := range chunks {
		n += p.Len
	}
	return n
}

// arrivals are the times at which the bytes of a body came.
type arrivals struct {
	came     []arrival // those of the bytes after size
	size     int       // of the chunks
	reported time.Duration
}

func (a *arrivals) add(at time.Duration, size int) {
	if n := len(a.came); n > 0 && a.came[n-1].at.Milliseconds() == at.Milliseconds() {
		a.came[n-1].size = size
		return
	}
	a.came = append(a.came, arrival{at, size})
}

// chunk returns the next n bytes as a chunk that came with its last byte.
func (a *arrivals) chunk(n int) recording.Chunk {
	for a.size += n; len(a.came) > 1 && a.came[0].size < a.size; {
		a.came = a.came[1:]
	}
	c := recording.Chunk{After: a.came[0].at - a.reported, Len: n}
	a.reported = a.came[0].at
	return c
}
