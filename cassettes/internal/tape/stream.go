package tape

import (
	"io"
	"time"
)

// stream restores the events of an answer one by one, while it is read.
type EventStream struct {
	file  *File
	index int // of the interaction

	lines  []byte // of the events that are left
	event  []byte // the last one that was taken
	length int    // of all that were
	want   mark
}

// next takes the next event, and the time before it; the event may be used up to the
// next call. Behind the last one the error is io.EOF, or a *FormatError if they are not
// those that were written.
func (s *EventStream) Next() (wait time.Duration, event []byte, err error) {
	if len(s.lines) == 0 {
		if s.length != s.want.length {
			return 0, nil, s.wrong()
		}
		return 0, nil, io.EOF
	}
	wait, line, whole, rest, err := eventLine('<', s.lines)
	if err != nil {
		return 0, nil, s.wrong()
	}
	s.lines = rest
	s.event = restoreEvent(s.event[:0], line, whole, s.want.form.newline())
	s.length += len(s.event)
	return wait, s.event, nil
}

// wrong says what is wrong, and where.
func (s *EventStream) wrong() error {
	_, err := s.file.Interaction(s.index)
	return err
}
