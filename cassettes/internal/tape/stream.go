package tape

import (
	"io"
	"time"
)

// EventStream restores the events of a response one at a time.
type EventStream struct {
	file  *File
	index int // of the interaction

	lines  []byte // remaining events
	event  []byte // the last returned event
	length int    // of the returned events
	want   bodyInfo
}

// Next returns the delay of the next event and the event, which is valid until the next
// call. It returns io.EOF after the last event and a *FormatError if the events were
// changed.
func (s *EventStream) Next() (wait time.Duration, event []byte, err error) {
	if len(s.lines) == 0 {
		if s.length != s.want.length {
			return 0, nil, s.formatError()
		}
		return 0, nil, io.EOF
	}
	line, rest, err := nextLine('<', s.lines)
	if err != nil {
		return 0, nil, s.formatError()
	}
	ev, err := readEvent(line)
	if err != nil {
		return 0, nil, s.formatError()
	}
	s.lines, s.event = rest, ev.append(s.event[:0], s.want.form.newline())
	s.length += len(s.event)
	return ev.wait, s.event, nil
}

func (s *EventStream) formatError() error {
	_, err := s.file.Interaction(s.index)
	return err
}
