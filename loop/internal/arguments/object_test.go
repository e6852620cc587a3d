package arguments

import (
	"strings"
	"testing"
)

func TestCheckObject(t *testing.T) {
	deep := func(n int) string {
		return strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n)
	}
	many := func(n int, last string) string {
		var b strings.Builder
		b.WriteByte('{')
		for i := range n {
			b.WriteString(`"k` + strings.Repeat("x", i) + `":1,`)
		}
		return b.String() + `"` + last + `":1}`
	}
	for _, c := range []struct {
		name, args, want string
		truncated        bool
	}{
		{name: "empty object", args: `{}`},
		{name: "object", args: ` {"a":[1,{"b":null}],"c":"é"} `},
		{name: "deep enough", args: deep(maxDepth - 1)},
		{name: "too deep", args: deep(maxDepth), want: "nested more than 1000 deep"},
		{name: "absurdly deep", args: deep(20000), want: "nested too deeply"},
		{name: "array", args: `[1]`, want: "not an object"},
		{name: "string", args: `"x"`, want: "not an object"},
		{name: "number", args: `12`, want: "not an object"},
		{name: "null", args: `null`, want: "not an object"},
		{name: "truncated in a string", args: `{"path":"a`, want: "not JSON", truncated: true},
		{name: "truncated after a colon", args: `{"path":`, want: "not JSON", truncated: true},
		{name: "truncated in a key", args: `{"pa`, want: "not JSON", truncated: true},
		{name: "not JSON", args: `{path:1}`, want: "not JSON"},
		{name: "words", args: `hello`, want: "not JSON"},
		{name: "trailing data", args: `{"a":1} x`, want: "something follows"},
		{name: "two objects", args: `{"a":1}{"a":2}`, want: "something follows"},
		{name: "twice", args: `{"a":1,"b":2,"a":3}`, want: `the member "a" twice`},
		{name: "twice within", args: `{"a":[{"x":1,"x":1}]}`, want: `the member "x" twice`},
		{name: "twice by escape", args: `{"a":1,"\u0061":2}`, want: `the member "a" twice`},
		{name: "same name elsewhere", args: `{"a":{"a":1},"b":{"a":1}}`},
		{name: "many members", args: many(40, "y")},
		{name: "many members, one of the first twice", args: many(40, "k"), want: "twice"},
		{name: "many members, one of the last twice", args: many(40, "k"+strings.Repeat("x", 39)), want: "twice"},
		{name: "nine members, the ninth twice", args: many(9, "k"+strings.Repeat("x", 8)), want: "twice"},
		{name: "high surrogate alone", args: `{"a":"\ud83d"}`, want: "surrogate"},
		{name: "high surrogate at the end", args: `{"a":"x\uD83D"}`, want: "surrogate"},
		{name: "low surrogate alone", args: `{"a":"\uDE00"}`, want: "surrogate"},
		{name: "pair", args: `{"a":"\ud83d\ude00"}`},
		{name: "pair and then half", args: `{"a":"\ud83d\ude00\ud83d"}`, want: "surrogate"},
		{name: "two highs", args: `{"a":"\ud83d\ud83d"}`, want: "surrogate"},
		{name: "an escaped backslash before u", args: `{"a":"\\ud83d"}`},
		{name: "an escaped backslash and a half", args: `{"a":"\\\ud83d"}`, want: "surrogate"},
		{name: "d but no surrogate", args: `{"a":"\ud7ff\ue000"}`},
		{name: "last low", args: `{"a":"\udbff\udfff"}`},
		{name: "not UTF-8", args: "{\"a\":\"\xff\"}", want: "UTF-8"},
	} {
		err := CheckObject(c.args)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: got %v, want no error", c.name, err)
		case c.want != "" && err == nil:
			t.Errorf("%s: got no error, want %q", c.name, c.want)
		case c.want != "" && (!strings.Contains(err.Error(), c.want) || err.Truncated != c.truncated):
			t.Errorf("%s: got %v (truncated: %v), want %q (truncated: %v)", c.name, err, err.Truncated, c.want, c.truncated)
		}
	}
}

func TestPrepare(t *testing.T) {
	schema := `{"type":"object","properties":{
		"city":{"type":"string"},
		"unit":{"type":"string","default":"C"},
		"n":{"type":"integer"}},
		"required":["city"]}`
	s := parse(t, schema)
	for _, c := range []struct{ args, want, err string }{
		{args: `{"city":"Rome","unit":"F"}`, want: `{"city":"Rome","unit":"F"}`},
		{args: `{ "city" : "Rome", "unit":"F" }`, want: `{ "city" : "Rome", "unit":"F" }`},
		{args: `{"city":"Rome"}`, want: `{"city":"Rome","unit":"C"}`},
		{args: `{"city":"<&>"}`, want: `{"city":"<&>","unit":"C"}`},
		{args: `{"city":"Rome","n":9007199254740993}`, want: `{"city":"Rome","n":9007199254740993,"unit":"C"}`},
		{args: `{"unit":"C"}`, want: `{"unit":"C"}`, err: "city"},
		{args: `{"city":5}`, want: `{"city":5}`, err: "string"},
	} {
		got, changed, err := s.Prepare(c.args)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) || !strings.HasPrefix(err.Error(), "invalid arguments: ") {
				t.Errorf("%s: got error %v, want one with %q", c.args, err, c.err)
			}
			continue
		}
		if err != nil || got != c.want || changed != (got != c.args) {
			t.Errorf("%s: got %s (changed: %v, error %v), want %s", c.args, got, changed, err, c.want)
		}
	}
}

func TestPrepareWithoutSchema(t *testing.T) {
	var s *Schema
	if got, changed, err := s.Prepare(`{"x": 1}`); got != `{"x": 1}` || changed || err != nil {
		t.Errorf("got %s, %v, %v; want the arguments as they are", got, changed, err)
	}
}

func TestPrepareNestedDefaults(t *testing.T) {
	s := parse(t, `{"type":"object","properties":{"at":{"type":"object","properties":{"hour":{"type":"integer","default":12}}}}}`)
	for args, want := range map[string]string{
		`{"at":{}}`:         `{"at":{"hour":12}}`,
		`{"at":{"hour":3}}`: `{"at":{"hour":3}}`,
	} {
		if got, changed, err := s.Prepare(args); got != want || changed != (args != want) || err != nil {
			t.Errorf("%s: got %s (changed: %v, error %v), want %s", args, got, changed, err, want)
		}
	}
	if got, _, err := s.Prepare(`{"at":5}`); err == nil {
		t.Errorf("a number in place of an object: got %s and no error", got)
	}
}

// TestPlainObject checks that the check of plain arguments accepts nothing that the decoder rejects.
func TestPlainObject(t *testing.T) {
	for args, want := range map[string]bool{
		`{"city":"Bern","day":12}`: true,
		`{"a":"","b":"{}"}`:        true,
		`{"a":1,"a":2}`:            false,
		`{"a":01}`:                 false,
		`{"a":1`:                   false,
		`{"a":1}}`:                 false,
		`{"a":1},`:                 false,
		`{"a":1,}`:                 false,
		`{"a":"\ud800"}`:           false,
		"{\"a\":\"\xff\"}":         false,
		"{\"a\":\"\n\"}":           false,
		`{"a"1}`:                   false,
		`{"a":}`:                   false,
		`{"a":1.}`:                 false,
		`{,"a":1}`:                 false,
		`,"a":1}`:                  false,
		`{"a`:                      false,
		`{"a"`:                     false,
		`{"a":`:                    false,
		`{`:                        false,
		`}`:                        false,
		``:                         false,
	} {
		if got := isPlain(args); got != want {
			t.Errorf("isPlain(%q) = %t, want %t", args, got, want)
		}
		if err := CheckObject(args); want != (err == nil) {
			t.Errorf("CheckObject(%q) = %v, want an error: %t", args, err, !want)
		}
	}
}
