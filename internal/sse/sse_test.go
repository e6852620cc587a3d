package sse_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/internal/sse"
)

type event struct{ Name, Data, ID string }

// all reads a stream to its end.
func all(r io.Reader, limit int) (events []event, err error) {
	s := sse.NewReader(r, limit)
	for {
		ev, err := s.Next()
		if err != nil {
			return events, err
		}
		events = append(events, event{ev.Name, string(ev.Data), ev.ID})
	}
}

func data(texts ...string) (events []event) {
	for _, t := range texts {
		events = append(events, event{Data: t})
	}
	return events
}

func TestReader(t *testing.T) {
	for stream, want := range map[string][]event{
		"":                                    nil,
		"\n\n\n":                              nil,
		"data: a\n\n":                         data("a"),
		"data:a\n\ndata: b\n\n":               data("a", "b"),
		"data:  a \n\n":                       data(" a "),
		"data: a\r\n\r\ndata: b\r\n\r\n":      data("a", "b"),
		"data: a\r\rdata: b\r\r":              data("a", "b"),
		"data: a\r\ndata: b\n\rdata: c\r\r":   data("a\nb", "c"),
		"data\n\n":                            data(""),
		"data\ndata\n\n":                      data("\n"),
		"data:\n\n":                           data(""),
		": a comment\n\ndata: a\n\n:\n\n":     data("a"),
		"event: x\ndata: a\n\ndata: b\n\n":    {{"x", "a", ""}, {"", "b", ""}},
		"event: lost\n\ndata: b\n\n":          data("b"),
		"data: a\nevent: x\nevent: y\n\n":     {{"y", "a", ""}},
		"id: 7\ndata: a\n\ndata: b\n\n":       {{"", "a", "7"}, {"", "b", "7"}},
		"id: 7\n\ndata: b\nid: a\x00b\n\n":    {{"", "b", "7"}},
		"id: 7\ndata: a\n\nid\ndata: b\n\n":   {{"", "a", "7"}, {"", "b", ""}},
		"retry: 10\nfoo: bar\nDATA: x\n\n":    nil,
		"\xef\xbb\xbfdata: a\n\n":             data("a"),
		"\xef\xbb\xbf\xef\xbb\xbfdata: a\n\n": nil,
		"\xef\xbbdata: a\n\n":                 nil,
		"data: a\n\n\xef\xbb\xbfdata: b\n\n":  data("a"),
		"data: 1: 2\n\n":                      data("1: 2"),
		"data: no line ends this":             data("no line ends this"),
		"data: no empty line\n":               data("no empty line"),
		"data: a\n\nevent: x\n":               data("a"),
		"data: a\nda":                         data("a"),
		"data: snow ☃\n\n":                    data("snow ☃"),
	} {
		for name, from := range map[string]io.Reader{
			"whole": strings.NewReader(stream), "by bytes": iotest.OneByteReader(strings.NewReader(stream)),
			"error with the last bytes": iotest.DataErrReader(strings.NewReader(stream)),
		} {
			got, err := all(from, 1000)
			if diff := cmp.Diff(want, got); diff != "" || !errors.Is(err, io.EOF) {
				t.Errorf("%q, %s: %v, (-want +got)\n%s", stream, name, err, diff)
			}
		}
		for cut := range stream {
			got, _ := all(io.MultiReader(strings.NewReader(stream[:cut]), strings.NewReader(stream[cut:])), 1000)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%q, cut at %d (-want +got)\n%s", stream, cut, diff)
			}
		}
	}
}

// An event that is complete is given out before more is read, in each line ending.
func TestReaderDoesNotWait(t *testing.T) {
	for _, stream := range []string{"data: a\n\n", "data: a\r\r", "data: a\r\n\r\n", "\xef\xbb\xbfdata: a\n\n"} {
		more := errors.New("read on")
		ev, err := sse.NewReader(io.MultiReader(strings.NewReader(stream), iotest.ErrReader(more)), 100).Next()
		if err != nil || string(ev.Data) != "a" {
			t.Errorf("%q: %q, %v", stream, ev.Data, err)
		}
	}
}

// An incomplete event is not returned.
func TestReaderError(t *testing.T) {
	broken := errors.New("broken")
	got, err := all(io.MultiReader(strings.NewReader("data: a\n\ndata: b\n"), iotest.ErrReader(broken)), 100)
	if diff := cmp.Diff(data("a"), got); diff != "" || !errors.Is(err, broken) {
		t.Errorf("%v, (-want +got)\n%s", err, diff)
	}
}

// endless gives the same bytes for ever, and counts them.
type endless struct {
	text string
	read int
}

func (e *endless) Read(p []byte) (int, error) {
	n := 0
	for n+len(e.text) <= len(p) {
		n += copy(p[n:], e.text)
	}
	e.read += n
	return n, nil
}

func TestReaderLimit(t *testing.T) {
	for _, line := range []string{"x", "data: 0123456789\n", ": comment\n", "event: x\n", "data\r", "\ndata:"} {
		from := &endless{text: line}
		const limit = 10_000
		events, err := all(from, limit)
		if !errors.Is(err, sse.ErrTooLong) || from.read > 4*limit {
			t.Errorf("%q for ever: %d events, %v after %d bytes", line, len(events), err, from.read)
		}
		if !strings.Contains(err.Error(), "10000 bytes") {
			t.Errorf("the error %q does not contain the limit", err)
		}
	}
	just := "data: " + strings.Repeat("x", 93)
	for limit, want := range map[int]error{101: io.EOF, 100: io.EOF, 99: sse.ErrTooLong} {
		_, err := all(strings.NewReader(just+"\n\n"), limit+1)
		if !errors.Is(err, want) {
			t.Errorf("%d bytes with a limit of %d: %v, want %v", len(just)+2, limit+1, err, want)
		}
	}
	// Many events, each within the limit, are valid.
	if got, err := all(strings.NewReader(strings.Repeat(just+"\n\n", 1000)), 110); len(got) != 1000 || !errors.Is(err, io.EOF) {
		t.Errorf("%d events, %v", len(got), err)
	}
}

// Lines that are not fields are kept, so that a caller can inspect them.
func TestUnexpectedLines(t *testing.T) {
	r := sse.NewReader(strings.NewReader("data: a\n: comment\nretry: 1\n{\n\"error\": {}\n}\n\nid: 1\n"), 1000)
	for range 2 {
		_, _ = r.Next()
	}
	if got := string(r.OtherLines()); got != "{\n\"error\": {}\n}\n" {
		t.Errorf("got %q", got)
	}
	r = sse.NewReader(strings.NewReader(strings.Repeat(strings.Repeat("x", 99)+"\n\n", 10_000)), 1000)
	_, _ = r.Next()
	if n := len(r.OtherLines()); n < 60_000 || n > 64<<10 {
		t.Errorf("%d bytes are kept", n)
	}
}

func TestAppend(t *testing.T) {
	var b []byte
	b = sse.Append(b, "", []byte("a"))
	b = sse.Append(b, "x", []byte("b\n\nc"))
	b = sse.Append(b, "", nil)
	if want := "data: a\n\nevent: x\ndata: b\ndata: \ndata: c\n\ndata: \n\n"; string(b) != want {
		t.Errorf("got %q, want %q", b, want)
	}
	got, _ := all(bytes.NewReader(b), 100)
	if diff := cmp.Diff([]event{{"", "a", ""}, {"x", "b\n\nc", ""}, {"", "", ""}}, got); diff != "" {
		t.Error(diff)
	}
}

// FuzzReader compares the reader with the steps of the standard, applied to the whole
// text.
func FuzzReader(f *testing.F) {
	f.Add("data: a\r\n\r\n", 3)
	f.Add("\xef\xbb\xbfid: 1\nevent: x\ndata\n\n", 1)
	f.Fuzz(func(t *testing.T, stream string, cut int) {
		want := reference(stream)
		cut = max(0, min(cut, len(stream)))
		for _, from := range []io.Reader{
			strings.NewReader(stream), iotest.OneByteReader(strings.NewReader(stream)),
			io.MultiReader(strings.NewReader(stream[:cut]), strings.NewReader(stream[cut:])),
		} {
			if got, err := all(from, len(stream)+2); !errors.Is(err, io.EOF) {
				t.Fatal(err)
			} else if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("%q (-want +got)\n%s", stream, diff)
			}
		}
	})
}

func reference(stream string) (events []event) {
	stream = strings.TrimPrefix(stream, "\xef\xbb\xbf")
	stream = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(stream)
	var ev event
	var lines []string
	for _, line := range append(strings.Split(stream, "\n"), "") {
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "":
			if lines != nil {
				ev.Data = strings.Join(lines, "\n")
				events = append(events, ev)
			}
			ev, lines = event{ID: ev.ID}, nil
		case name == "data":
			lines = append(lines, value)
		case name == "event":
			ev.Name = value
		case name == "id" && !strings.Contains(value, "\x00"):
			ev.ID = value
		}
	}
	return events
}

func BenchmarkReader(b *testing.B) {
	stream := []byte(strings.Repeat("data: {\"choices\":[{\"delta\":{\"content\":\"hello\"}}]}\n\n", 1000))
	b.SetBytes(int64(len(stream)))
	b.ReportAllocs()
	for b.Loop() {
		r := sse.NewReader(bytes.NewReader(stream), 1<<20)
		for {
			if _, err := r.Next(); err != nil {
				break
			}
		}
	}
}

// TestRelease: another reader uses the memory of a released one, and the data of its last event stay.
func TestRelease(t *testing.T) {
	for range 3 {
		r := sse.NewReader(strings.NewReader("event: a\ndata: one\n\ndata: two\n\n"), 100)
		ev, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		r.Release()
		other := sse.NewReader(strings.NewReader("event: b\ndata: three\n\n"), 100)
		next, err := other.Next()
		if string(ev.Data) != "one" || string(next.Data) != "three" || ev.Name != "a" || next.Name != "b" || err != nil {
			t.Errorf("got %+v and %+v, %v; want a with one, and b with three", ev, next, err)
		}
		other.Release()
	}
}
