package jsonio

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// Strings that share an arena stay unchanged while others are read: by decoders
// of other texts, and by copies of a decoder.
func TestArenaKeepsTexts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		mem := Arena{BlockSize: rapid.IntRange(0, 64).Draw(t, "block size")}
		texts := rapid.SliceOf(rapid.StringOf(rapid.SampledFrom([]rune("a\"\\\n\x00é😀")))).Draw(t, "texts")
		var got []string
		for _, text := range texts {
			line := AppendString(nil, text)
			d := NewDecIn(&mem, mem.String(line))
			for i := range line {
				line[i] = 'x'
			}
			ahead := d
			got = append(got, ahead.String())
			if again := d.String(); again != text || d.End() != nil {
				t.Fatalf("read as %q, %v; want %q", again, d.Err(), text)
			}
		}
		if diff := cmp.Diff(texts, append([]string{}, got...)); diff != "" {
			t.Fatalf("texts (-want +got):\n%s", diff)
		}
	})
}

// Bytes in one arena are adjacent in memory. Changes of one value must not reach another.
func TestArenaBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		mem := Arena{BlockSize: rapid.IntRange(0, 64).Draw(t, "block size")}
		var all, got [][]byte
		for _, b := range rapid.SliceOf(rapid.SliceOfN(rapid.Byte(), 0, 40)).Draw(t, "bytes") {
			all = append(all, bytes.Clone(b))
			out := mem.Bytes(b)
			if cap(out) != len(out) {
				t.Fatalf("the capacity is %d for %d bytes", cap(out), len(out))
			}
			got = append(got, out)
			clear(b)
		}
		if diff := cmp.Diff(all, got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("bytes (-want +got):\n%s", diff)
		}
	})
}

func TestCopiesWithoutArena(t *testing.T) {
	d := NewDec(`"\u0061bc\n"`)
	ahead := d
	a, b := ahead.String(), d.String()
	if a != "abc\n" || b != a {
		t.Errorf("got %q and %q", a, b)
	}
}

func TestMember(t *testing.T) {
	for _, c := range []struct {
		text, key string
		first     bool
		want      bool
	}{
		{`"a":1`, "a", true, true},
		{`,"a":1`, "a", false, true},
		{`"a":`, "a", true, true},
		{`"a":1`, "a", false, false},
		{`,"a":1`, "a", true, false},
		{` "a":1`, "a", true, false},
		{`"a" :1`, "a", true, false},
		{`"a"`, "a", true, false},
		{`"a`, "a", true, false},
		{`"`, "a", true, false},
		{``, "a", true, false},
		{`,`, "a", false, false},
		{`,"`, "a", false, false},
		{`;"a":1`, "a", false, false},
		{`'a":1`, "a", true, false},
		{`"a':1`, "a", true, false},
		{`"ab":1`, "a", true, false},
		{`"b":1`, "a", true, false},
		{`"\u0061":1`, "a", true, false},
	} {
		d, first := NewDec(c.text), c.first
		got := d.Member(c.key, &first)
		at := 0
		if c.want {
			at = strings.IndexByte(c.text, ':') + 1
		}
		if got != c.want || d.Offset() != at || first != (c.first && !c.want) || d.Err() != nil {
			t.Errorf("Member(%q) in %s, first %v: got %v at %d, first %v, error %v", c.key, c.text, c.first, got, d.Offset(), first, d.Err())
		}
	}
}

// However the names and values of an object are read, they are the same.
func TestKeysAgree(t *testing.T) {
	pieces := rapid.SampledFrom([]string{`{`, `}`, `,`, `:`, ` `, `"a"`, `"seq"`, `"\u0061"`, `"long name of a member"`, `1`, `12`, `01`, `-0`, `999999999999999999`, `1000000000000000000`, `92233720368547758070`, `1.5`, `1e2`, `"`, `x`, `[`, `]`})
	rapid.Check(t, func(t *rapid.T) {
		text := "{" + strings.Join(rapid.SliceOf(pieces).Draw(t, "pieces"), "") + "}"
		if rapid.Bool().Draw(t, "sound") {
			keys := rapid.SliceOfN(rapid.SampledFrom([]string{`"a":`, ` "seq" : `, `"seq":`, `"\u0061":`}), 0, 4).Draw(t, "keys")
			for i := range keys {
				keys[i] += rapid.SampledFrom([]string{"0", "7", "-7", "123456789012345678", "1234567890123456789", "12345678901234567890", " 5 "}).Draw(t, "n")
			}
			text = "{" + strings.Join(keys, ",") + "}"
		}
		read := func(text string, try bool) (out []string) {
			d := NewDec(text)
			d.Object()
			for first := true; ; {
				if try && d.Member("seq", &first) {
					out = append(out, fmt.Sprint("seq ", d.Int()))
					continue
				}
				key, ok := d.Key(&first)
				if !ok {
					break
				}
				out = append(out, fmt.Sprint(key, " ", d.Int()))
			}
			if err := d.End(); err != nil {
				out = append(out, err.Error())
			}
			return out
		}
		want := read(text, false)
		if diff := cmp.Diff(want, read(text, true)); diff != "" {
			t.Fatalf("%s (-Key +Member):\n%s", text, diff)
		}
		// With space before each comma, colon and bracket nothing is usual.
		spaced := read(strings.NewReplacer(",", " ,", ":", " :", "}", " }").Replace(text), false)
		if Valid([]byte(text)) && !cmp.Equal(want, spaced) && !strings.Contains(strings.Join(want, ""), "byte") {
			t.Fatalf("%s (-usual +spaced):\n%s", text, cmp.Diff(want, spaced))
		}
	})
}

func TestValidUTF8(t *testing.T) {
	for n := range 100 {
		b := []byte(strings.Repeat("a", n))
		if !ValidUTF8(b) {
			t.Fatalf("%d times a is reported as invalid UTF-8", n)
		}
		for i := range b {
			b[i] = 0xff
			if ValidUTF8(b) {
				t.Fatalf("0xff at %d of %d is accepted as UTF-8", i, n)
			}
			b[i] = 'a'
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		b := []byte(strings.Join(rapid.SliceOf(rapid.SampledFrom([]string{strings.Repeat("a", 31), "é", "😀", "\xc3", "a"})).Draw(t, "pieces"), ""))
		if got, want := ValidUTF8(b), utf8.Valid(b); got != want {
			t.Fatalf("ValidUTF8(%q) = %v", b, got)
		}
	})
}

func TestStringBytesAreOwn(t *testing.T) {
	for text, want := range map[string]string{`["ab","c"]`: "ab", `[ "a\nb","c"]`: "a\nb", `["","c"]`: "", `["a\nb","\n"]`: "a\nb"} {
		src := []byte(text)
		d := NewDec(View(src))
		d.Array()
		got := d.StringBytes()
		if string(got) != want || got == nil {
			t.Errorf("StringBytes of %s = %q, want %q", text, got, want)
		}
		first := false
		d.More(&first)
		next := d.String()
		for i := range got {
			got[i] = 'x'
		}
		_ = append(got, "yy"...)
		if next != "c" && next != "\n" || string(src) != text {
			t.Errorf("%s is %s, and the next string is %q, after the first one was changed", text, src, next)
		}
	}
	d := NewDec(`1`)
	if got := d.StringBytes(); got != nil || d.Err() == nil {
		t.Errorf("StringBytes of a number = %q, %v", got, d.Err())
	}
}
