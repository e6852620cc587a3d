package tape

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/looptape/looptape/cassettes/recording"
)

// hardText are strings for bodies that are hard to write.
var hardText = []string{
	"", " ", "\n", "\r\n", "\r", "\t", "\n\n", "\r\n\r\n", "a", "☕", "😀", "\ufeff", "\u2028", "␊", "…", "=== 1 ", "--- ", "> ", "< ", "+12ms ",
	"data: ", "event: x\n", ": ping\n\n", "{", "}", "[", "]", ",", ":", ", ", ": ", `"`, `\`, `\"`, `"a"`, `"a": `, "1", "-1.50e+3", "true", "null", `"\ud83d"`, `{"a":1}`, `{"a": [1, 2]}`,
}

// noText are strings that make a body binary.
var noText = []string{"\x00", "\x7f", "\xff", "\xed\xa0\x80"}

// plain are words that are easy to write.
var plain = rapid.StringMatching(`[a-z ]{0,80}`)

// drawBody draws a body of up to 255 parts, about 20 kB. Unlike rapid's default, it draws all
// counts equally often.
func drawBody(t *rapid.T, name string) []byte {
	size := 0
	for _, bit := range rapid.SliceOfN(rapid.Bool(), 3, 3).Draw(t, name+" size") {
		size *= 2
		if bit {
			size++
		}
	}
	n := rapid.IntRange(1<<size-1, 2<<size-1).Draw(t, name+" parts")
	switch rapid.SampledFrom([]string{"json", "events", "text", "text and bytes", "bytes"}).Draw(t, name+" kind") {
	case "bytes":
		return rapid.SliceOfN(rapid.Byte(), n, 20*n).Draw(t, name)
	case "json":
		style := rapid.SampledFrom([]string{"", " ", "\n"}).Draw(t, name+" space")
		end := rapid.SampledFrom([]string{"", "\n", "\n\n", " "}).Draw(t, name+" end")
		return append(AppendSpaced(nil, drawArray(t, n, 2), style == " "), end...)
	case "events":
		return drawEvents(t, name, n)
	case "text":
		return drawText(t, name, n, hardText)
	}
	return drawText(t, name, n, slices.Concat(noText, hardText))
}

// drawText draws a concatenation of the given strings and words.
func drawText(t *rapid.T, name string, n int, chunks []string) (out []byte) {
	words := rapid.Bool().Draw(t, name+" with words")
	for range n {
		out = append(out, rapid.SampledFrom(chunks).Draw(t, name)...)
		if words {
			out = append(out, plain.Draw(t, "words")...)
		}
	}
	return out
}

func drawEvents(t *rapid.T, name string, n int) (out []byte) {
	newline := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, name+" newline")
	for range n {
		out = append(out, rapid.SampledFrom([]string{"data: ", "event: a" + newline + "data: ", ": "}).Draw(t, "field")...)
		out = append(append(out, drawJSON(t, 2)...), newline+newline...)
	}
	return append(out, rapid.SampledFrom([]string{"", "data: x", "data: x" + newline}).Draw(t, name+" end")...)
}

func drawJSON(t *rapid.T, depth int) string {
	kinds := []string{"words", "number", `"\ud83d\n☕"`, "1.50e-7", "null", `""`, `"a longer text, which with others of its kind makes a line too long to stand alone"`, "[]", "{}"}
	if depth > 0 {
		kinds = append(kinds, "array", "object", "object")
	}
	kind := rapid.SampledFrom(kinds).Draw(t, "value")
	switch kind {
	case "words":
		text, _ := json.Marshal(rapid.OneOf(plain, rapid.String()).Draw(t, "words")) // JSON can represent every string
		return string(text)
	case "number":
		return strconv.Itoa(rapid.Int().Draw(t, "number"))
	case "array":
		return drawArray(t, rapid.IntRange(0, 4).Draw(t, "members"), depth-1)
	case "object":
		text := ""
		for i := range rapid.IntRange(0, 4).Draw(t, "members") {
			text += fmt.Sprintf(`,"key \"%d": `, i) + drawJSON(t, depth-1)
		}
		return "{" + text[min(1, len(text)):] + "}"
	}
	return kind
}

func drawArray(t *rapid.T, n, depth int) string {
	members := make([]string, n)
	for i := range members {
		members[i] = drawJSON(t, depth)
	}
	return "[" + strings.Join(members, ",") + "]"
}

// Every body is restored byte for byte; -rapid.checks=1000000 draws a million.
func TestBodiesRestored(t *testing.T) {
	drawn, forms, seed, longest := map[uint64]bool{}, map[form]int{}, maphash.MakeSeed(), 0
	rapid.Check(t, func(t *rapid.T) {
		body := drawBody(t, "body")
		events := rapid.Bool().Draw(t, "of events")
		chunks := drawPieces(t, body, rapid.Bool().Draw(t, "in events"))
		text, f := appendBody(nil, '<', body, events, chunks)
		b := &block{rest: append(text, "---\n"...)}
		lines := b.lines('<')
		got, came, err := f.restore(nil, '<', lines)
		if err != nil || !bytes.Equal(got, body) || string(b.rest) != "---\n" {
			t.Fatalf("%s gives %q, %v, want %q\n%s", f, got, err, body, text)
		}
		if strings.HasPrefix(string(f), string(formEvents)) && !slices.Equal(came, chunks) {
			t.Fatalf("the events came as %v, want %v\n%s", came, chunks, text)
		}
		drawn[maphash.Bytes(seed, body)] = true
		forms[f]++
		longest = max(longest, len(body))
	})
	t.Logf("bodies that differ: %d, the longest of %d bytes; forms: %v", len(drawn), longest, forms)
}

// A body has the first form that restores it.
func TestForms(t *testing.T) {
	for _, c := range []struct {
		body   string
		events bool
		form   form
		lines  string
	}{
		{`{"a":1,"b":[2]}`, false, formJSON, "< {\"a\": 1, \"b\": [2]}\n"},
		{"{\"a\":1}\n", false, formJSONLine, "< {\"a\": 1}\n"},
		{`{"a": 1, "b": 2}`, false, formSpaced, "< {\"a\": 1, \"b\": 2}\n"},
		{"{\"a\" :1}", false, formText, "< {\"a\" :1}\n"},
		{"\n\ta\r\n", false, formText, "<\n< \ta\r\n<\n"},
		{"", false, formText, ""},
		{"a\x7f", false, formBase64, "< YX8=\n"},
		{"a\x1f", false, formBase64, "< YR8=\n"},
		{"\xed\xa0\x80", false, formBase64, "< 7aCA\n"},
		{"data: 1\n\ndata: 2", true, formEvents, "< +5ms data: 1\n< …+5ms data: 2\n"},
		{"data: 1\r\n\r\ndata:\r\n", true, formEventsCRLF, "< +5ms data: 1\n< …+5ms data:␊\n"},
		{"data: ␊\n\n", true, formText, "< data: ␊\n<\n<\n"},
		{`{"a":1}`, true, formEvents, "< …+5ms {\"a\":1}\n"},
		{"data: \x00\n\n", true, formBase64, "< ZGF0YTogAAoK\n"},
	} {
		var chunks []recording.Chunk
		for _, p := range EventChunks([]byte(c.body)) {
			chunks = append(chunks, recording.Chunk{After: 5 * time.Millisecond, Len: p.Len})
		}
		lines, f := appendBody(nil, '<', []byte(c.body), c.events, chunks)
		if f != c.form || string(lines) != c.lines {
			t.Errorf("%q, events: %t: the form %s, want %s, and\n%swant\n%s", c.body, c.events, f, c.form, lines, c.lines)
		}
	}
}

// A body of many lines has the same form as a short one. The form restores this body only.
func TestFormsOfManyLines(t *testing.T) {
	const lines = 4 * batch / 20 // each is longer than that
	list := func(spaced string) string {
		return "[" + strings.TrimSuffix(strings.Repeat(`"a line of a long list",`+spaced, lines), ","+spaced) + "]"
	}
	for want, body := range map[form]string{
		formText:       strings.Repeat("a line of a long text\n", lines),
		formJSON:       list(""),
		formJSONLine:   list("") + "\n",
		formSpaced:     list(" "),
		formEvents:     strings.Repeat("data: one of many events\n\n", lines),
		formEventsCRLF: strings.Repeat("data: one of many events\r\n\r\n", lines),
	} {
		events := strings.HasPrefix(string(want), string(formEvents))
		text, f := appendBody(nil, '<', []byte(body), events, EventChunks([]byte(body)))
		back, _, err := f.restore(nil, '<', text)
		if f != want || string(back) != body || err != nil {
			t.Errorf("the form is %s, want %s, and gives back %t, %v", f, want, string(back) == body, err)
		}
		for name, other := range map[string]string{
			"a line more": body + "\n", "less": body[:len(body)-3], "none": "\n",
			"another first": "A" + body[1:], "another last": body[:len(body)-2] + "A" + body[len(body)-1:],
			"another between": body[:len(body)/2] + strings.ToUpper(body[len(body)/2:len(body)/2+40]) + body[len(body)/2+40:],
		} {
			if f.restores('<', text, []byte(other)) {
				t.Errorf("%s: it gives back %s, too", f, name)
			}
		}
		if damaged := append(text[:len(text)-2:len(text)-2], "\n-\n"...); f.restores('<', damaged, []byte(body)) {
			t.Errorf("%s: it is given back by other lines", f)
		}
	}
}

// The text of events without known chunks is kept.
func TestEventsWithoutChunks(t *testing.T) {
	if lines, f := appendBody(nil, '<', []byte(":\n\n"), true, nil); f != formText || string(lines) != "< :\n<\n<\n" {
		t.Errorf("the form is %s:\n%s", f, lines)
	}
}

// Lines that no writer writes are rejected.
func TestRestoreRejects(t *testing.T) {
	for _, lines := range []string{"< \n", "> a\n", "<ab\n", "< a", "\n", "-\n"} {
		if body, _, err := formText.restore(nil, '<', []byte(lines)); err == nil {
			t.Errorf("%q gives %q", lines, body)
		}
	}
}

// Times are written in milliseconds. The rounding errors do not add up.
func TestTimesAddUp(t *testing.T) {
	var body []byte
	var chunks []recording.Chunk
	for range 10 {
		body = append(body, ":\n\n"...)
		chunks = append(chunks, recording.Chunk{After: 1400 * time.Microsecond, Len: 3})
	}
	lines, f := appendBody(nil, '<', body, true, chunks)
	_, came, err := f.restore(nil, '<', lines)
	var all time.Duration
	for _, p := range came {
		all += p.After
	}
	if want := 14 * time.Millisecond; all != want || err != nil {
		t.Errorf("ten events take %v, want %v: %v\n%s", all, want, err, lines)
	}
}

// A stream is split after each empty line with any line ends, and in the same way if none has a carriage return.
func TestSplitEvents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		body := rapid.StringOf(rapid.SampledFrom([]rune("\n\nab"))).Draw(t, "body")
		const last = "\r"
		var want, got []string
		for _, ev := range SplitEvents([]byte(body + last)) {
			want = append(want, strings.TrimSuffix(string(ev), last))
		}
		for _, ev := range SplitEvents([]byte(body)) {
			got = append(got, string(ev))
		}
		if n := len(want) - 1; want[n] == "" {
			want = want[:n]
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("events of %q (-with a last CR +without):\n%s", body, diff)
		}
	})
}
