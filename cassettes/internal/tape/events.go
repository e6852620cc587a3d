package tape

import (
	"bytes"
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"
	"time"

	"github.com/looptape/looptape/cassettes/recording"
	"github.com/looptape/looptape/internal/jsonio"
)

const (
	linefeed = "␊" // replaces a newline within an event
	partial  = "…" // precedes an incomplete event
)

func (f form) newline() string {
	if f == formEventsCRLF {
		return "\r\n"
	}
	return "\n"
}

func (f form) isEvents() bool { return f == formEvents || f == formEventsCRLF }

// EventChunks returns one chunk for each server-sent event of a body, without times.
func EventChunks(body []byte) (chunks []recording.Chunk) {
	events := SplitEvents(body)
	chunks = slices.Grow(chunks, len(events))
	for _, ev := range events {
		chunks = append(chunks, recording.Chunk{Len: len(ev)})
	}
	return chunks
}

// EventLines splits a stream after each line end: LF, CR LF or CR.
func EventLines(text []byte) iter.Seq[[]byte] {
	ends := "\r\n"
	if bytes.IndexByte(text, '\r') < 0 {
		ends = "\n" // it takes much less time to search for one byte
	}
	return func(yield func([]byte) bool) {
		for len(text) > 0 {
			n := bytes.IndexAny(text, ends) + 1
			switch {
			case n == 0:
				n = len(text)
			case bytes.HasPrefix(text[n-1:], []byte("\r\n")):
				n++
			}
			if !yield(text[:n]) {
				return
			}
			text = text[n:]
		}
	}
}

// SplitEvents splits a stream after each empty line. The events share memory with body.
func SplitEvents(body []byte) (events [][]byte) {
	if bytes.IndexByte(body, '\r') < 0 { // each empty line is two line feeds, which it takes much less time to find
		for len(body) > 0 {
			n := bytes.Index(body, []byte("\n\n")) + len("\n\n")
			if n < len("\n\n") {
				n = len(body)
			}
			events, body = append(events, body[:n]), body[n:]
		}
		return events
	}
	n, ends := 0, 0 // of the event and of consecutive line ends
	for line := range EventLines(body) {
		if n += len(line); line[0] != '\r' && line[0] != '\n' {
			ends = 0
		}
		if ends++; ends == 2 {
			events = append(events, body[:n])
			body, n, ends = body[n:], 0, 0
		}
	}
	if n > 0 {
		events = append(events, body)
	}
	return events
}

// rounder converts delays to milliseconds. It adds the rounding error to the next delay.
type rounder struct {
	at, reported time.Duration // since the first one
}

func (r *rounder) next(p recording.Chunk) (ms int64) {
	r.at += p.After
	wait := (r.at - r.reported).Round(time.Millisecond)
	r.reported += wait
	return wait.Milliseconds()
}

// appendEvents appends one line per event if the chunks are the events. The delays continue those of
// waits.
func appendEvents(dst []byte, mark byte, body []byte, newline string, chunks []recording.Chunk, waits *rounder) (out []byte, ok bool) {
	events := SplitEvents(body)
	if len(events) != len(chunks) {
		return dst, false
	}
	for i, ev := range events {
		line, whole := bytes.CutSuffix(ev, []byte(newline+newline))
		if len(ev) != chunks[i].Len || !whole && i < len(events)-1 {
			return dst, false
		}
		dst = append(dst, mark, ' ')
		if !whole {
			dst = append(dst, partial...)
		}
		dst = append(strconv.AppendInt(append(dst, '+'), waits.next(chunks[i]), 10), "ms "...)
		dst = append(dst, bytes.ReplaceAll(line, []byte(newline), []byte(linefeed))...)
		dst = append(dst, '\n')
	}
	return dst, true
}

// event is a line of the form events. An incomplete event has no empty line at its end.
type event struct {
	wait  time.Duration
	text  []byte
	whole bool
}

func readEvent(line []byte) (event, error) {
	text, cut := bytes.CutPrefix(line, []byte(partial))
	text, found := bytes.CutPrefix(text, []byte("+"))
	wait, text, ends := bytes.Cut(text, []byte("ms "))
	ms, err := strconv.ParseUint(jsonio.View(wait), 10, 31)
	if !found || !ends || err != nil {
		return event{}, fmt.Errorf("the line %q of an event does not begin with a time such as +12ms", shortened(line))
	}
	return event{time.Duration(ms) * time.Millisecond, text, !cut}, nil
}

func (e event) append(dst []byte, newline string) []byte {
	line, rest, found := bytes.Cut(e.text, []byte(linefeed))
	for dst = append(dst, line...); found; dst = append(dst, line...) {
		dst = append(dst, newline...)
		line, rest, found = bytes.Cut(rest, []byte(linefeed))
	}
	if e.whole {
		dst = append(append(dst, newline...), newline...)
	}
	return dst
}

// EventStream restores the events of a response one at a time.
type EventStream struct {
	file  *File
	index int // of the interaction

	lines  []byte // remaining events up to the gap
	gap    gap    // the events after them, which are only on disk
	event  []byte // the last returned event
	length int    // of the returned events
	want   bodyInfo
}

// Next returns the delay of the next event and the event, which is valid until the next
// call. It returns io.EOF after the last event and a *FormatError if the events were
// changed.
func (s *EventStream) Next() (wait time.Duration, event []byte, err error) {
	if len(s.lines) == 0 && s.gap.size() > 0 {
		if s.lines, s.gap, err = s.gap.read(0, readSize); err != nil {
			return 0, nil, err
		}
	}
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
