package trace_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
)

func write(tb testing.TB, h trace.Header, evs []trace.Event) []byte {
	tb.Helper()
	var buf bytes.Buffer
	w := trace.NewWriter(&buf, h)
	for _, ev := range evs {
		if err := w.Write(ev); err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return buf.Bytes()
}

// read reads a whole file; errors of lines are returned as text.
func read(tb testing.TB, file string) (evs []trace.Event, broken []string) {
	tb.Helper()
	r, err := trace.NewReader(strings.NewReader(file))
	if err != nil {
		tb.Fatal(err)
	}
	for ev, err := range r.Events() {
		if err != nil {
			broken = append(broken, err.Error())
			continue
		}
		evs = append(evs, ev)
	}
	return evs, broken
}

const header = `{"format":"looptape-trace","version":2}` + "\n"

// chained makes the requests of the events ones that a loop could have made:
// each keeps what there is to keep.
func chained(evs []trace.Event) {
	type key struct {
		run     string
		purpose trace.Purpose
	}
	have := map[key]int{}
	for i, ev := range evs {
		switch b := ev.Body.(type) {
		case trace.ModelRequest:
			k := key{ev.Run, ev.Purpose}
			b.PrefixMessages = min(b.PrefixMessages, have[k])
			have[k] = b.PrefixMessages + len(b.NewMessages)
			evs[i].Body = b
		case trace.RunEnd:
			for k := range have {
				if k.run == ev.Run {
					delete(have, k)
				}
			}
		}
	}
}

func TestFileBothWays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := events().Draw(t, "events")
		if rapid.Bool().Draw(t, "sound") {
			chained(want)
		}
		h := trace.Header{Writer: text().Draw(t, "writer"), Declares: options().Draw(t, "declares"), Suppress: dict(name(), text()).Draw(t, "suppress")}
		var buf bytes.Buffer
		w := trace.NewWriter(&buf, h)
		for _, ev := range want {
			if err := w.Write(ev); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		r, err := trace.NewReader(iotest.OneByteReader(bytes.NewReader(buf.Bytes())))
		if err != nil {
			t.Fatal(err)
		}
		h.Format, h.Version = trace.Format, trace.Version
		if diff := cmp.Diff(h, r.Header(), equal); diff != "" {
			t.Fatalf("header (-want +got):\n%s", diff)
		}
		var got []trace.Event
		for ev, err := range r.Events() {
			if err != nil {
				t.Fatalf("%v in\n%s", err, buf.String())
			}
			got = append(got, ev)
		}
		if diff := cmp.Diff(want, got, equal); diff != "" {
			t.Fatalf("events (-want +got):\n%s", diff)
		}
		var again bytes.Buffer
		w2 := trace.NewWriter(&again, r.Header())
		for _, ev := range got {
			if err := w2.Write(ev); err != nil {
				t.Fatal(err)
			}
		}
		if err := w2.Close(); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(buf.String(), again.String()); diff != "" {
			t.Fatalf("written again (-first +again):\n%s", diff)
		}
	})
}

func request(run string, kept int, texts ...string) trace.Event {
	b := trace.ModelRequest{PrefixMessages: kept}
	for _, s := range texts {
		b.NewMessages = append(b.NewMessages, llm.User(s))
	}
	return trace.Event{Run: run, Body: b}
}

// The hash is a chain of XXH64 over the encoded messages. Another implementation computed the
// values below.
func TestHash(t *testing.T) {
	summary := request("r", 0, "z")
	summary.Purpose = trace.PurposeSummary
	end := trace.Event{Run: "r", Step: trace.NoStep, Body: trace.RunEnd{}}
	file := string(write(t, trace.Header{}, []trace.Event{
		request("r", 0), request("r", 0, "a"), request("s", 0, "b"), summary, request("r", 1, "b"), request("r", 1, "c", "d"),
		request("r", 3), request("r", 4, "x"), request("r", 1, "x"), request("r", 0, "a"), end, request("r", 1), request("r", 0, "b"),
	}))
	var got []string
	for line := range strings.Lines(file) {
		if _, hash, ok := strings.Cut(line, `"hash":"`); ok {
			got = append(got, hash[:16])
		} else {
			got = append(got, "")
		}
	}
	a, b, ab, acd := "62d1dbe0879cd284", "048b75d327b11c94", "8858b0177487d145", "2abd4e65225fa1e3"
	want := []string{"", "0000000000000000", a, b, "54e37b9a235c7c6f", ab, acd, acd, "", "", a, "", "", b}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("hashes (-want +got):\n%s", diff)
	}
	if _, broken := read(t, file); broken != nil {
		t.Errorf("reading: %v", broken)
	}
}

func TestHashMismatch(t *testing.T) {
	file := string(write(t, trace.Header{}, []trace.Event{
		request("r", 0, "one"), request("s", 0, "other"), request("r", 1, "two"), request("r", 2, "three"), request("s", 1, "x"), request("r", 0, "one"), request("r", 1, "two"),
	}))
	lines := strings.SplitAfter(file, "\n")
	join := func(ls []string) string { return strings.Join(ls, "") }
	edited := func(i int, was, now string) string {
		ls := append([]string(nil), lines...)
		ls[i] = strings.Replace(ls[i], was, now, 1)
		return join(ls)
	}
	t.Run("a changed message", func(t *testing.T) {
		evs, broken := read(t, edited(3, "two", "2"))
		want := []string{"line 4: run r: the conversation has the hash GOT but the request has WANT: a message was changed after it was written, or a line is missing"}
		_, rest, _ := strings.Cut(lines[3], `"hash":"`)
		want[0] = strings.Replace(want[0], "WANT", rest[:16], 1)
		if len(broken) == 1 {
			_, after, _ := strings.Cut(broken[0], "the hash ")
			want[0] = strings.Replace(want[0], "GOT", after[:16], 1)
		}
		if diff := cmp.Diff(want, broken); diff != "" {
			t.Errorf("broken lines (-want +got):\n%s", diff)
		}
		if len(evs) != 6 {
			t.Errorf("got %d events, want the 6 others", len(evs))
		}
	})
	t.Run("a conversation that begins again is verified again", func(t *testing.T) {
		_, broken := read(t, strings.Replace(edited(3, "two", "2"), `"prefix_messages":1,"new_messages":[{"role":"user","parts":[{"type":"text","text":"two"`, `"prefix_messages":1,"new_messages":[{"role":"user","parts":[{"type":"text","text":"II"`, 1))
		if len(broken) != 2 || !strings.HasPrefix(broken[1], "line 8: run r") {
			t.Errorf("got %q, want line 4 and line 8", broken)
		}
	})
	t.Run("a missing line", func(t *testing.T) {
		_, broken := read(t, join(append(append([]string(nil), lines[:3]...), lines[4:]...)))
		want := []string{"line 4: run r: the request keeps 2 messages of the 1 before it: a line is missing"}
		if diff := cmp.Diff(want, broken); diff != "" {
			t.Errorf("broken lines (-want +got):\n%s", diff)
		}
	})
	t.Run("a broken line is reported once", func(t *testing.T) {
		_, broken := read(t, edited(3, "{", "{{"))
		if len(broken) != 1 || !strings.HasPrefix(broken[0], "line 4: ") {
			t.Errorf("got %q, want line 4 alone", broken)
		}
	})
	t.Run("a missing hash is not a finding", func(t *testing.T) {
		_, rest, _ := strings.Cut(lines[3], `,"hash":"`)
		_, broken := read(t, strings.Replace(edited(3, `,"hash":"`+rest[:17], ""), "two", "2", 1))
		if len(broken) != 1 || !strings.HasPrefix(broken[0], "line 5: run r") {
			t.Errorf("got %q, want line 5 alone: its hash covers the changed message", broken)
		}
	})
}

func TestHeader(t *testing.T) {
	for _, c := range []struct {
		name, file string
		want       trace.Header
		err        string
	}{
		{"all of it", "\n \n" + `{"x":[],"format":"looptape-trace","version":2,"writer":"me 1.0","declares":{"max_steps":5,"name":"x"},"suppress":{"INV-04":"known"}}`,
			trace.Header{Format: "looptape-trace", Version: 2, Writer: "me 1.0", Declares: trace.Options{{"max_steps", "5"}, {"name", "x"}}, Suppress: map[string]string{"INV-04": "known"}}, ""},
		{"empty", "", trace.Header{}, "trace: not a trace: the first line is no header with the format looptape-trace"},
		{"other JSON", `{"a":1}` + "\n", trace.Header{}, "trace: not a trace: the first line is no header with the format looptape-trace"},
		{"a list", `[{"role":"user"}]` + "\n", trace.Header{}, "trace: not a trace: the first line is no header with the format looptape-trace"},
		{"not UTF-8", "\xff\n", trace.Header{}, "trace: not a trace: the first line is no header with the format looptape-trace"},
		{"a newer version", `{"format":"looptape-trace","version":3,"declares":[]}`, trace.Header{}, "trace: the file has version 3 of the format, and this program reads up to 2: use a newer looptape"},
		{"a newer version of another tool", `{"format":"looptape-trace","version":7,"writer":"w 7"}`, trace.Header{}, "trace: the file has version 7 of the format, written by w 7, and this program reads up to 2: use a newer looptape"},
		{"no version", `{"format":"looptape-trace"}`, trace.Header{}, "trace: not a trace: the first line is no header with the format looptape-trace: its version is missing"},
		{"cut off", `{"format":"looptape-trace","version":2`, trace.Header{}, "trace: not a trace: the first line is no header with the format looptape-trace: the text ends too early at version (byte 39)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := trace.NewReader(strings.NewReader(c.file))
			if c.err != "" {
				if err == nil || err.Error() != c.err {
					t.Fatalf("got error %v, want %s", err, c.err)
				}
				if errors.Is(err, trace.ErrVersion) == errors.Is(err, trace.ErrNotTrace) {
					t.Errorf("got ErrVersion and ErrNotTrace together or neither: %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, r.Header()); diff != "" {
				t.Errorf("header (-want +got):\n%s", diff)
			}
		})
	}
}

func TestBrokenLines(t *testing.T) {
	const end = `{"seq":0,"run":"r","kind":"step.end"}`
	evs, broken := read(t, header+end+"\n{\n\n  \n\xff\n"+end+"\r\n"+`{"kind":5}`+"\n"+end)
	want := []string{
		"line 3: the text ends too early (byte 2)",
		"line 6: the line is not UTF-8 (byte 1)",
		"line 8: expected a string at kind (byte 9)",
	}
	if diff := cmp.Diff(want, broken); diff != "" {
		t.Errorf("broken lines (-want +got):\n%s", diff)
	}
	if len(evs) != 3 {
		t.Errorf("got %d events, want 3", len(evs))
	}
}

func TestTruncatedLine(t *testing.T) {
	full := string(write(t, trace.Header{}, sample(1)))
	last := strings.LastIndex(full[:len(full)-1], "\n") + 1
	whole, _ := read(t, full)
	for cut := last + 1; cut < len(full)-1; cut++ {
		evs, broken := read(t, full[:cut])
		if len(evs) != len(whole)-1 || len(broken) != 1 || !strings.Contains(broken[0], ": the file ends within the line, which is truncated: ") {
			t.Fatalf("cut at %d of %d: got %d events and %q, want %d and a truncated line", cut, len(full), len(evs), broken, len(whole)-1)
		}
	}
	if evs, broken := read(t, full[:len(full)-1]); len(evs) != len(whole) || broken != nil {
		t.Errorf("without the last line feed: got %d events and %q, want %d and none", len(evs), broken, len(whole))
	}
}

func TestLineLimit(t *testing.T) {
	ev := trace.Event{Run: "r", Body: trace.Canceled{Reason: ""}}
	pad := func(n int) string { // an event's line of n bytes
		ev.Body = trace.Canceled{Reason: "x"}
		short := len(ev.AppendJSON(nil))
		ev.Body = trace.Canceled{Reason: strings.Repeat("x", n-short+1)}
		return string(ev.AppendJSON(nil)) + "\n"
	}
	for _, limit := range []int{100, 64<<10 - 1, 64 << 10, 64<<10 + 1, 200_000} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			r, err := trace.NewReader(strings.NewReader(header + pad(limit) + pad(limit+1) + pad(3*limit) + pad(limit)))
			if err != nil {
				t.Fatal(err)
			}
			r.MaxLine = limit
			var got []string
			for _, err := range r.Events() {
				got = append(got, fmt.Sprint(r.Line(), err))
			}
			const long = "the line is too long; raise the reader's limit if it is meant to be"
			want := []string{"2 <nil>", "3 line 3: " + long, "4 line 4: " + long, "5 <nil>"}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("lines (-want +got):\n%s", diff)
			}
		})
	}
}

func TestReadErrors(t *testing.T) {
	boom := errors.New("boom")
	if _, err := trace.NewReader(iotest.ErrReader(boom)); !errors.Is(err, boom) || errors.Is(err, trace.ErrNotTrace) {
		t.Errorf("got %v, want boom", err)
	}
	r, err := trace.NewReader(io.MultiReader(strings.NewReader(header+`{"kind":"step.end"}`+"\n{"), iotest.ErrReader(boom)))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for ev, err := range r.Events() {
		got = append(got, fmt.Sprint(ev.Body, " ", err))
	}
	want := []string{"{} <nil>", "<nil> trace: reading line 3: boom"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("items (-want +got):\n%s", diff)
	}
}

func TestEventsContinue(t *testing.T) {
	r, err := trace.NewReader(bytes.NewReader(write(t, trace.Header{}, sample(1))))
	if err != nil {
		t.Fatal(err)
	}
	var got []int
	for range 3 {
		for ev, err := range r.Events() {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, ev.Seq)
			break
		}
	}
	if diff := cmp.Diff([]int{0, 1, 2}, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// failing accepts this number of writes.
type failing struct{ left int }

var errDisk = errors.New("disk full")

func (f *failing) Write(b []byte) (int, error) {
	if f.left--; f.left < 0 {
		return 0, errDisk
	}
	return len(b), nil
}

func TestWriterErrors(t *testing.T) {
	ev := trace.Event{Run: "r", Body: trace.StepEnd{}}
	w := trace.NewWriter(&failing{left: 1}, trace.Header{})
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := w.Write(ev); err != nil {
		t.Fatalf("write to the buffer: %v", err)
	}
	if err := w.Flush(); !errors.Is(err, errDisk) {
		t.Errorf("Flush: %v, want the disk's error", err)
	}
	for name, err := range map[string]error{"Write": w.Write(ev), "Flush": w.Flush(), "Close": w.Close(), "Close again": w.Close()} {
		if !errors.Is(err, errDisk) {
			t.Errorf("%s after it: %v, want the same", name, err)
		}
	}
	w = trace.NewWriter(io.Discard, trace.Header{})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{"Write": w.Write(ev), "Flush": w.Flush(), "Close": w.Close()} {
		if !errors.Is(err, trace.ErrClosed) {
			t.Errorf("%s after Close: %v, want ErrClosed", name, err)
		}
	}
}

// counting counts the writes that reach the file.
type counting struct{ writes, bytes int }

func (c *counting) Write(b []byte) (int, error) {
	c.writes++
	c.bytes += len(b)
	return len(b), nil
}

func TestWriterBuffers(t *testing.T) {
	var c counting
	w := trace.NewWriter(&c, trace.Header{})
	ev := trace.Event{Run: "r", Body: trace.Canceled{Reason: strings.Repeat("x", 1000)}}
	line := len(ev.AppendJSON(nil)) + 1
	n := 0
	for ; c.writes == 0; n++ {
		if err := w.Write(ev); err != nil {
			t.Fatal(err)
		}
	}
	if c.bytes < 32<<10 || c.bytes >= 32<<10+line {
		t.Errorf("the first write has %d bytes, want the first line that reaches 32 KiB", c.bytes)
	}
	if want := len(header) + n*line; c.bytes != want {
		t.Errorf("the first write has %d bytes, want all %d", c.bytes, want)
	}
}

// Buffered bytes are written once they reach 32 KiB, and not before.
func TestWriterFlushesAt(t *testing.T) {
	const full = 32 << 10
	ev := trace.Event{Run: "r", Body: trace.Canceled{Reason: "x"}}
	rest := full - len(header) - len(ev.AppendJSON(nil)) - len("\n") + len("x")
	for _, c := range []struct{ cause, want int }{{rest - 1, 0}, {rest, full}, {rest + 1, full + 1}} {
		var to counting
		w := trace.NewWriter(&to, trace.Header{})
		ev.Body = trace.Canceled{Reason: strings.Repeat("x", c.cause)}
		if err := w.Write(ev); err != nil {
			t.Fatal(err)
		}
		if to.bytes != c.want {
			t.Errorf("a cause of %d bytes: %d bytes are in the file, want %d", c.cause, to.bytes, c.want)
		}
	}
}

// A Writer allocates its whole buffer at the start. Events allocate no more memory.
func TestWriterBuffer(t *testing.T) {
	ev := trace.Event{Run: "r", Body: trace.Canceled{Reason: strings.Repeat("x", 1000)}}
	allocations := func(events int) float64 {
		return testing.AllocsPerRun(10, func() {
			w := trace.NewWriter(io.Discard, trace.Header{})
			for range events {
				if err := w.Write(ev); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
	if none, some := allocations(0), allocations(100); some != none {
		t.Errorf("a writer makes %v allocations, and %v with 100 events, want the same number", none, some)
	}
}

func TestRedact(t *testing.T) {
	var buf bytes.Buffer
	w := trace.NewWriter(&buf, trace.Header{})
	w.Redact = func(ev trace.Event) trace.Event {
		if b, ok := ev.Body.(trace.ModelRequest); ok {
			ev.Body = trace.ModelRequest{PrefixMessages: b.PrefixMessages, NewMessages: []llm.Message{llm.User("[redacted]")}}
		}
		return ev
	}
	for _, ev := range []trace.Event{request("r", 0, "secret one"), request("r", 1, "secret two")} {
		if err := w.Write(ev); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(buf.String(), "secret") {
		t.Errorf("the file has the secret:\n%s", buf.String())
	}
	if _, broken := read(t, buf.String()); broken != nil {
		t.Errorf("reading it back: %q", broken)
	}
}

func TestWriterConcurrent(t *testing.T) {
	var buf bytes.Buffer
	w := trace.NewWriter(&buf, trace.Header{})
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for _, ev := range sample(5) {
				ev.Run = fmt.Sprint("run", i)
				if err := w.Write(ev); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	evs, broken := read(t, buf.String())
	if len(evs) != 4*len(sample(5)) || broken != nil {
		t.Errorf("got %d events and %q, want %d and none", len(evs), broken, 4*len(sample(5)))
	}
}
