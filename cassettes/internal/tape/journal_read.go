package tape

import (
	"bufio"
	"bytes"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/looptape/looptape/cassettes/recording"
)

// frame is the position of an interaction in a journal.
type frame struct {
	number int // in the order of the requests, from 1
	crc    uint32
	lines  *io.SectionReader
}

func frameOf(number int, text []byte, journal io.ReaderAt, at int64) frame {
	return frame{number, Checksum(text), io.NewSectionReader(journal, at, int64(len(text)))}
}

func (f frame) text() ([]byte, error) {
	text := make([]byte, f.lines.Size())
	if _, err := f.lines.ReadAt(text, 0); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrChecksum, err)
	}
	if Checksum(text) != f.crc {
		return nil, ErrChecksum
	}
	return text, nil
}

// compact writes a cassette with the interactions of frames, sorted by number. It holds one
// interaction in memory.
func compact(to io.Writer, head []byte, frames []frame) error {
	slices.SortStableFunc(frames, func(a, b frame) int { return a.number - b.number })
	sum := crc32.New(castagnoli)
	w := bufio.NewWriter(io.MultiWriter(to, sum)) // keeps an error until Flush
	_, _ = w.Write(head)
	for i, f := range frames {
		text, err := f.text()
		if err != nil {
			return err
		}
		_, rest, _ := bytes.Cut(text[len("=== "):], []byte(" "))
		_, _ = fmt.Fprintf(w, "=== %d ", i+1)
		_, _ = w.Write(rest)
		_ = w.WriteByte('\n')
	}
	_, _ = w.Write(footText(len(frames)))
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(to, "crc %08x\n", sum.Sum32())
	return err
}

// hasFrames reports whether a journal has a complete first frame or anything after it.
func hasFrames(text []byte) bool {
	_, _, whole := readFrame(text)
	return whole || bytes.LastIndex(text, []byte(framePrefix)) > 0
}

func parseJournal(name string, text []byte) (*File, error) {
	head, at, whole := readFrame(text)
	if !whole {
		return nil, &recording.FormatError{File: name, Line: 1, Err: fmt.Errorf("%w: the head of the journal, without which the rest cannot be read", ErrChecksum)}
	}
	var frames []frame
	from := bytes.NewReader(text)
	for at < len(text) {
		inside, n, whole := readFrame(text[at:])
		first, _, _ := bytes.Cut(inside, []byte("\n"))
		t, err := readTitle(first)
		if !whole || err != nil {
			break
		}
		at += n
		frames = append(frames, frameOf(t.number, inside, from, int64(at-len(inside))))
	}
	broken := &recording.IncompleteError{File: name, Complete: len(frames), TrailingBytes: len(text) - at}
	var cassette bytes.Buffer
	cassette.Grow(len(text))
	_ = compact(&cassette, head, frames) // frames in memory cannot fail
	return (&File{Name: name, text: cassette.Bytes(), incomplete: broken}).parsed()
}

// readFrame reads a frame if it is complete. It returns its length with its first line.
func readFrame(from []byte) (text []byte, n int, whole bool) {
	line, rest, found := bytes.Cut(from, []byte("\n"))
	words := strings.Fields(strings.TrimPrefix(string(line), framePrefix))
	if !found || !bytes.HasPrefix(line, []byte(framePrefix)) || len(words) != 2 {
		return nil, 0, false
	}
	size, err := strconv.Atoi(words[0])
	if err != nil || size < 0 || size > len(rest) || words[1] != fmt.Sprintf("%08x", Checksum(rest[:size])) {
		return nil, 0, false
	}
	return rest[:size], len(line) + 1 + size, true
}
