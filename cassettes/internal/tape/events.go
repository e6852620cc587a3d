package tape

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/looptape/looptape/cassettes/recording"
)

// linefeed replaces a newline within an event.
const linefeed = "␊"

func (f form) newline() string {
	if f == formEventsCRLF {
		return "\r\n"
	}
	return "\n"
}

func (f form) isEvents() bool { return f == formEvents || f == formEventsCRLF }

// EventChunks returns one chunk for each server-sent event of a body, without times.
func EventChunks(body []byte) (chunks []recording.Chunk) {
	for _, ev := range SplitEvents(body) {
		chunks = append(chunks, recording.Chunk{Len: len(ev)})
	}
	return chunks
}

// SplitEvents splits a stream after each empty line. Lines end in LF, CR LF or CR. The
// events share memory with body.
func SplitEvents(body []byte) (events [][]byte) {
	from, ends := 0, 0 // of consecutive line ends
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

// appendEvents appends one line per event if the chunks are the events.
func appendEvents(dst []byte, mark byte, body []byte, newline string, chunks []recording.Chunk) (out []byte, ok bool) {
	if !IsText(body) {
		return dst, false
	}
	events := SplitEvents(body)
	if len(events) != len(chunks) {
		return dst, false
	}
	var waits rounder
	for i, ev := range events {
		if len(ev) != chunks[i].Len {
			return dst, false
		}
		wait := waits.next(chunks[i])
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

func eventLine(mark byte, lines []byte) (wait time.Duration, event []byte, whole bool, rest []byte, err error) {
	line, rest, err := nextLine(mark, lines)
	if err != nil {
		return 0, nil, false, nil, err
	}
	text, cut := bytes.CutPrefix(line, []byte("…"))
	ms, event, found := cutDelay(text)
	if !found {
		return 0, nil, false, nil, fmt.Errorf("the line %q of an event does not begin with a time such as +12ms", shortened(line))
	}
	return time.Duration(ms) * time.Millisecond, event, !cut, rest, nil
}

// cutDelay removes a delay such as "+12ms " from the beginning of a line.
func cutDelay(line []byte) (ms int64, event []byte, found bool) {
	const limit = 1 << 31 // milliseconds
	if len(line) == 0 || line[0] != '+' {
		return 0, nil, false
	}
	i := 1
	for ; i < len(line) && '0' <= line[i] && line[i] <= '9' && ms < limit; i++ {
		ms = 10*ms + int64(line[i]-'0')
	}
	event, found = bytes.CutPrefix(line[i:], []byte("ms "))
	return ms, event, found && i > 1 && ms < limit
}

func restoreEvents(dst []byte, mark byte, lines []byte, newline string) (body []byte, chunks []recording.Chunk, err error) {
	chunks = slices.Grow(chunks, bytes.Count(lines, []byte("\n")))
	for len(lines) > 0 {
		wait, event, whole, rest, err := eventLine(mark, lines)
		if err != nil {
			return dst, nil, err
		}
		from := len(dst)
		dst = restoreEvent(dst, event, whole, newline)
		chunks, lines = append(chunks, recording.Chunk{After: wait, Len: len(dst) - from}), rest
	}
	return dst, chunks, nil
}

// restoreEvent appends an event. An incomplete event has no empty line at its end.
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

// cutLinefeed is bytes.Cut at a linefeed, faster for events without one.
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
