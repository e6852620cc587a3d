package jsonio

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestSyntaxErrors(t *testing.T) {
	skip := func(d *Dec) { d.Skip() }
	for _, c := range []struct {
		text string
		read func(*Dec)
		want string
	}{
		{``, skip, "the text ends too early (byte 1)"},
		{`  `, skip, "the text ends too early (byte 3)"},
		{`{"a":[1,{"b":tru}]}`, skip, "not a JSON value at a[1].b (byte 14)"},
		{`{"a":1,"b":[[],[0,x`, skip, "expected a value at b[1][1] (byte 19)"},
		{`{"a":1 "b"`, skip, "expected a comma or the end at a (byte 8)"},
		{`[1 2]`, skip, "expected a comma or the end at [0] (byte 4)"},
		{`[1,]`, skip, "a comma before the end at [1] (byte 4)"},
		{`{"a":1,}`, skip, "a comma before the end at a (byte 8)"},
		{`[`, skip, "the text ends too early at [0] (byte 2)"},
		{`[1`, skip, "the text ends too early at [0] (byte 3)"},
		{`{1:2}`, skip, "expected a member's name in double quotes (byte 2)"},
		{`{"a" 1}`, skip, "expected a colon after the member's name at a (byte 6)"},
		{`{"a":1}}`, skip, "something follows the JSON value (byte 8)"},
		{`"a`, skip, "the text ends within a string (byte 3)"},
		{`"a\`, skip, "a string has a backslash that escapes nothing (byte 3)"},
		{`"\x"`, skip, "a string has a backslash that escapes nothing (byte 2)"},
		{`"\u12g4"`, skip, "a string has a backslash that escapes nothing (byte 2)"},
		{`"\u123`, skip, "a string has a backslash that escapes nothing (byte 2)"},
		{"\"a\nb\"", skip, "a string has a control character that is not escaped (byte 3)"},
		{"\"12345678\x1f\"", skip, "a string has a control character that is not escaped (byte 10)"},
		{`-`, skip, "expected a number (byte 2)"},
		{`1.`, skip, "a number ends with its point (byte 3)"},
		{`1e+`, skip, "a number without its exponent (byte 4)"},
		{`01`, skip, "something follows the JSON value (byte 2)"},
		{`nul`, skip, "not a JSON value (byte 1)"},
		{`{"a":"\"","b\"":x`, skip, `expected a value at b\" (byte 17)`},
		{`1.5`, func(d *Dec) { d.Int() }, "expected a whole number, not 1.5 (byte 1)"},
		{`"1"`, func(d *Dec) { d.Int() }, "expected a number (byte 1)"},
		{`1e999`, func(d *Dec) { d.Float() }, "the number 1e999 is out of range (byte 1)"},
		{`x`, func(d *Dec) { d.Float() }, "expected a number (byte 1)"},
		{`1`, func(d *Dec) { d.Bool() }, "expected true or false (byte 1)"},
		{`trux`, func(d *Dec) { d.Bool() }, "not a JSON value (byte 1)"},
		{`1`, func(d *Dec) { _ = d.String() }, "expected a string (byte 1)"},
		{`1`, func(d *Dec) { d.Object() }, "expected an object (byte 1)"},
		{`1`, func(d *Dec) { d.Array() }, "expected an array (byte 1)"},
		{`"*"`, func(d *Dec) { d.Text("a_b64") }, "not base64: a_b64 (byte 4)"},
		{`{1`, func(d *Dec) { d.Object(); d.Key(new(true)) }, "expected a member's name in double quotes (byte 2)"},
		{`{"a"`, func(d *Dec) { d.Object(); d.Key(new(true)) }, "expected a colon after the member's name at a (byte 5)"},
		{`{"a"x`, func(d *Dec) { d.Object(); d.Key(new(true)) }, "expected a colon after the member's name at a (byte 5)"},
		{`{"a`, func(d *Dec) { d.Object(); d.Key(new(true)) }, "the text ends within a string (byte 4)"},
		{`[]`, func(d *Dec) { d.Skip(); d.Fail("mine") }, "mine (byte 3)"},
	} {
		d := NewDec(c.text)
		c.read(&d)
		err := d.End()
		got := fmt.Sprint(err)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.text, diff)
		}
		// The first error stays, and all that is read after it is zero.
		if d.Object() || d.Array() || d.Bool() || d.Int() != 0 || d.Float() != 0 || d.String() != "" || d.Raw() != "" || d.Peek() != 0 || d.More(new(true)) || fmt.Sprint(d.Err()) != got {
			t.Errorf("%s: something was read after the error, or it was replaced by %v", c.text, d.Err())
		}
		if _, ok := d.Key(new(true)); ok {
			t.Errorf("%s: a key was read after the error", c.text)
		}
	}
}

func TestDepth(t *testing.T) {
	for depth, ok := range map[int]bool{MaxDepth: true, MaxDepth + 1: false} {
		for _, pair := range []string{`[]`, `{}`} {
			open := strings.Replace(pair[:1], "{", `{"a":`, 1)
			text := strings.Repeat(open, depth-1) + pair + strings.Repeat(pair[1:], depth-1)
			d := NewDec(text)
			d.Skip()
			if err := d.End(); (err == nil) != ok {
				t.Errorf("%d levels of %s: %v", depth, pair, err)
			}
			if json.Valid([]byte(text)) != ok {
				t.Errorf("encoding/json differs at %d levels", depth)
			}
		}
	}
	flat := "[" + strings.TrimSuffix(strings.Repeat("[],{},", MaxDepth), ",") + "]"
	if !Valid([]byte(flat)) {
		t.Error("many values that are not nested count as nested")
	}
}

func TestReading(t *testing.T) {
	d := NewDec(` { "a" : [ 1 , -2 ] , "\u0062" : true , "c" : null , "d" : 1.5e1 , "e" : { } , "f" : [ ] , "g" : "x" , "h_b64" : "eA==" , "i":false } `)
	var got []string
	d.Object()
	for first := true; ; {
		key, ok := d.Key(&first)
		if !ok {
			break
		}
		from := d.Offset()
		switch key {
		case "a":
			d.Array()
			for first := true; d.More(&first); {
				got = append(got, fmt.Sprint(d.Int()))
			}
		case "b", "i":
			got = append(got, fmt.Sprint(d.Bool()))
		case "c":
			got = append(got, fmt.Sprint(d.Null(), d.Null()))
		case "d":
			got = append(got, fmt.Sprint(d.Float()))
		case "e", "f":
			got = append(got, d.Raw())
		default:
			got = append(got, d.Text(key))
		}
		got = append(got, key+"="+d.Since(from))
	}
	if err := d.End(); err != nil {
		t.Fatal(err)
	}
	want := []string{"1", "-2", "a=[ 1 , -2 ]", "true", "b=true", "true false", "c=null ", "15", "d=1.5e1", "{ }", "e={ }", "[ ]", "f=[ ]", "x", `g="x"`, "x", `h_b64="eA=="`, "false", "i=false"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
}

func TestNumbers(t *testing.T) {
	for _, n := range []int64{0, 1, -1, 42, math.MaxInt64, math.MinInt64} {
		d := NewDec(strconv.FormatInt(n, 10))
		if got := d.Int(); got != n || d.End() != nil {
			t.Errorf("got %d and %v, want %d", got, d.Err(), n)
		}
	}
	for text, want := range map[string]float64{"0": 0, "-0.5": -0.5, "1e3": 1000, "1E-3": 0.001, "10.25e+1": 102.5} {
		d := NewDec(text)
		if got := d.Float(); got != want || d.End() != nil {
			t.Errorf("%s: got %v and %v", text, got, d.Err())
		}
	}
}

func TestAppendString(t *testing.T) {
	for in, want := range map[string]string{
		"":                       `""`,
		"plain <é😀&> \u2028\x7f": "\"plain <é😀&> \u2028\x7f\"",
		"\"\\/":                  `"\"\\/"`,
		"\b\f\n\r\t\x00\x1f":     `"\u0008\u000c\n\r\t\u0000\u001f"`,
		"a\xffb\xed\xa0\x80":     "\"a\ufffdb\ufffd\ufffd\ufffd\"",
		"\ufffd":                 "\"\ufffd\"",
	} {
		if got := string(AppendString([]byte("x"), in)); got != "x"+want {
			t.Errorf("%q: got %s, want x%s", in, got, want)
		}
	}
	if got := string(AppendText(nil, "k", "a\xff")); got != `"k_b64":"Yf8="` {
		t.Errorf("got %s", got)
	}
	if got := string(AppendText(nil, "k", "é")); got != `"k":"é"` {
		t.Errorf("got %s", got)
	}
}

func TestAppendStringBothWays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(rapid.String(), rapid.StringOf(rapid.SampledFrom([]rune("a\"\\/\b\n\x00\x1f\x7fé\u2028😀")))).Draw(t, "s")
		b := AppendString(nil, s)
		d := NewDec(string(b))
		if got := d.String(); got != s || d.End() != nil {
			t.Fatalf("%s: read back as %q, %v", b, got, d.Err())
		}
		var got string
		if err := json.Unmarshal(b, &got); err != nil || got != s {
			t.Fatalf("%s: encoding/json reads %q, %v", b, got, err)
		}
	})
}

func TestAppendRaw(t *testing.T) {
	for in, want := range map[string]string{
		"":                                 `null`,
		`{"a b":" \" ","c":[1,2]}`:         `{"a b":" \" ","c":[1,2]}`,
		" { \"a\\\" \" :\t[ 1 ,\r\n2 ] } ": `{"a\" ":[1,2]}`,
		`[1, 2]`:                           `[1,2]`,
		"[1,\n2]":                          `[1,2]`,
		"[1,\t2]":                          `[1,2]`,
		"[1,\r2]":                          `[1,2]`,
		`"<&>"`:                            `"<&>"`,
		`{"a":`:                            `{"$not_json_b64":"eyJhIjo="}`,
		"\"\xff\"":                         `{"$not_json_b64":"Iv8i"}`,
	} {
		if got := string(AppendRaw([]byte("x"), []byte(in))); got != "x"+want {
			t.Errorf("%q: got %s, want x%s", in, got, want)
		}
	}
}

// FuzzDec compares the decoder with encoding/json: it accepts the same texts
// (of those in UTF-8), and reads the same strings.
func FuzzDec(f *testing.F) {
	for _, s := range []string{`{"a":[1,-2.5e+3,"x\u00e9\ud83d\ude00\n"],"b":null,"c":true}`, `"\ud83d"`, `[`, `01`, `{"a":1,}`, ` 1 `, "\"\x01\"", `"\u00zz"`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var want any
		err := json.Unmarshal(text, &want)
		utf8 := string([]rune(string(text))) == string(text)
		valid := json.Valid(text) && utf8
		if got := Valid(text); got != valid {
			t.Fatalf("Valid(%q) = %v, encoding/json: %v", text, got, err)
		}
		if s, ok := want.(string); ok && valid {
			d := NewDec(string(text))
			if got := d.String(); got != s || d.End() != nil {
				t.Fatalf("%q: got %q and %v, want %q", text, got, d.Err(), s)
			}
		}
		if valid {
			if raw := AppendRaw(nil, text); !json.Valid(raw) || string(AppendRaw(nil, raw)) != string(raw) {
				t.Fatalf("AppendRaw(%q) = %s", text, raw)
			}
		}
	})
}

func TestMembersAndElements(t *testing.T) {
	d := NewDec(`{"a":[1,2,{}],"b":{"c":0},"d":[]} `)
	var got []string
	for key := range d.Members() {
		got = append(got, key)
		if key == "b" {
			for key := range d.Members() {
				got = append(got, key, strconv.FormatInt(d.Int(), 10))
			}
			continue
		}
		for i := range d.Elements() {
			got = append(got, strconv.Itoa(i))
			d.Skip()
		}
	}
	if want := "a 0 1 2 b c 0 d"; d.End() != nil || strings.Join(got, " ") != want {
		t.Errorf("got %q and error %v, want %q", got, d.End(), want)
	}
	for _, text := range []string{`[`, `[1,]`, `{"a":1`, `{"a" 1}`, `1`} {
		d := NewDec(text)
		for range d.Members() {
			d.Skip()
		}
		if d.Err() == nil {
			t.Errorf("Members of %s: no error", text)
		}
		d = NewDec(text)
		for range d.Elements() {
			d.Skip()
		}
		if d.Err() == nil {
			t.Errorf("Elements of %s: no error", text)
		}
	}
	allocs := testing.AllocsPerRun(10, func() {
		d := NewDec(`{"a":[1,2],"b":3}`)
		for range d.Members() {
			d.Skip()
		}
	})
	if allocs != 0 {
		t.Errorf("Members allocates %v times, want 0", allocs)
	}
}
