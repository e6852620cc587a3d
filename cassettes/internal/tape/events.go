package tape

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/looptape/looptape/cassettes/recording"
)

// linefeed stands for a newline within an event.
const linefeed = "␊"

// newline is what ends a line of the events of a form.
func (f form) newline() string {
	if f == formEventsCRLF {
		return "\r\n"
	}
	return "\n"
}

// isEvents reports whether lines of a form are events.
func (f form) isEvents() bool { return f == formEvents || f == formEventsCRLF }

// EventChunks are the parts of a body that is a stream of server-sent events: one each,
// with no times known.
func EventChunks(body []byte) (pieces []recording.Chunk) {
	for _, ev := range SplitEvents(body) {
		pieces = append(pieces, recording.Chunk{Len: len(ev)})
	}
	return pieces
}

// splitEvents cuts a stream of events behind each empty line; lines end in LF, CR LF or CR.
// What is left at the end is the last one, if it is not empty. The parts share the memory
// of the stream.
func SplitEvents(body []byte) (events [][]byte) {
	from, ends := 0, 0 // of lines, one behind the other
	for i := 0; i < len(body); i++ {
		switch body[i] {
		case '\r', '\n':
			ends++
			if bytes.HasPrefix(body[i:], []byte("\r\n")) {
				i++
			}
		default:
			ends = 0
		}
		if ends == 2 {
			events = append(events, body[from:i+1])
			from, ends = i+1, 0
		}
	}
	if from < len(body) {
		events = append(events, body[from:])
	}
	return events
}

// rounded are the times of pieces in milliseconds, of which what was rounded off goes into
// the next one.
type rounded struct {
	at, told time.Duration // since the first one
}

// next is the time before a piece.
func (r *rounded) next(p recording.Chunk) (ms int64) {
	r.at += p.After
	wait := (r.at - r.told).Round(time.Millisecond)
	r.told += wait
	return wait.Milliseconds()
}

// appendEvents writes an event a line, if the pieces are the events.
func appendEvents(dst []byte, mark byte, body []byte, newline string, pieces []recording.Chunk) (out []byte, ok bool) {
	if !IsText(body) {
		return dst, false
	}
	events := SplitEvents(body)
	if len(events) != len(pieces) {
		return dst, false
	}
	var waits rounded
	for i, ev := range events {
		if len(ev) != pieces[i].Len {
			return dst, false
		}
		wait := waits.next(pieces[i])
		line, whole := bytes.CutSuffix(ev, []byte(newline+newline))
		if !whole && i < len(events)-1 {
			return dst, false
		}
		word := "+" + strconv.FormatInt(wait, 10) + "ms "
		if !whole {
			word = "…" + word
		}
		dst = append(append(dst, mark, ' '), word...)
		dst = append(dst, bytes.ReplaceAll(line, []byte(newline), []byte(linefeed))...)
		dst = append(dst, '\n')
	}
	return dst, true
}

// eventLine takes the next event from lines.
func eventLine(mark byte, lines []byte) (wait time.Duration, event []byte, whole bool, rest []byte, err error) {
	line, rest, err := nextLine(mark, lines)
	if err != nil {
		return 0, nil, false, nil, err
	}
	text, cut := bytes.CutPrefix(line, []byte("…"))
	ms, event, found := cutTime(text)
	if !found {
		return 0, nil, false, nil, fmt.Errorf("the line %q of an event does not begin with a time such as +12ms", shortened(line))
	}
	return time.Duration(ms) * time.Millisecond, event, !cut, rest, nil
}

// cutTime cuts a time such as +12ms, and the space behind it, off a line.
func cutTime(line []byte) (ms int64, event []byte, found bool) {
	const most = 1 << 31 // milliseconds
	if len(line) == 0 || line[0] != '+' {
		return 0, nil, false
	}
	i := 1
	for ; i < len(line) && '0' <= line[i] && line[i] <= '9' && ms < most; i++ {
		ms = 10*ms + int64(line[i]-'0')
	}
	event, found = bytes.CutPrefix(line[i:], []byte("ms "))
	return ms, event, found && i > 1 && ms < most
}

// restoreEvents undoes appendEvents, and returns the pieces in which the events came.
func restoreEvents(dst []byte, mark byte, lines []byte, newline string) (body []byte, pieces []recording.Chunk, err error) {
	pieces = slices.Grow(pieces, bytes.Count(lines, []byte("\n")))
	for len(lines) > 0 {
		wait, event, whole, rest, err := eventLine(mark, lines)
		if err != nil {
			return dst, nil, err
		}
		from := len(dst)
		dst = restoreEvent(dst, event, whole, newline)
		pieces, lines = append(pieces, recording.Chunk{After: wait, Len: len(dst) - from}), rest
	}
	return dst, pieces, nil
}

// restoreEvent adds an event as it was to dst; one that is not whole broke off.
func restoreEvent(dst, event []byte, whole bool, newline string) []byte {
	for found := true; found; {
		var line []byte
		line, event, found = cutLinefeed(event)
		if dst = append(dst, line...); found {
			dst = append(dst, newline...)
		}
	}
	if whole {
		dst = append(append(dst, newline...), newline...)
	}
	return dst
}

// cutLinefeed is bytes.Cut at a linefeed, faster where there is none, as in most events.
func cutLinefeed(event []byte) (before, after []byte, found bool) {
	for at := 0; ; at++ {
		next := bytes.IndexByte(event[at:], linefeed[0])
		if next < 0 {
			return event, nil, false
		}
		if at += next; bytes.HasPrefix(event[at:], []byte(linefeed)) {
			return event[:at], event[at+len(linefeed):], true
		}
	}
}
