package jsonval_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/internal/jsonval"
)

func TestParsePointer(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "/": `""`, "/a/0": `"a" "0"`, "/a~1b/~0c/~01": `"a/b" "~c" "~1"`,
		"a": "missing / at the beginning", "/a~": "invalid escape: write ~0 for ~ and ~1 for /", "/~2": "invalid escape: write ~0 for ~ and ~1 for /",
	} {
		p, err := jsonval.ParsePointer(text)
		var names []string
		for _, name := range p {
			names = append(names, `"`+name+`"`)
		}
		got := strings.Join(names, " ")
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("ParsePointer(%q) = %s, want %s", text, got, want)
		}
	}
}

func TestPointerIn(t *testing.T) {
	for text, want := range map[string]string{"": `{"a":[1,{"~/":true}]}`, "/a/1/~0~1": "true", "/a/01": "", "/a/2": "", "/b": "", "/a/0/x": ""} {
		p, err := jsonval.ParsePointer(text)
		if err != nil {
			t.Fatal(err)
		}
		v, err := jsonval.Decode([]byte(`{"a":[1,{"~/":true}]}`))
		if err != nil {
			t.Fatal(err)
		}
		got, found := p.In(v)
		raw, _ := json.Marshal(got)
		if found != (want != "") || found && string(raw) != want {
			t.Errorf("%q: got %s, %v, want %s", text, raw, found, want)
		}
	}
}

func TestPointerRemove(t *testing.T) {
	for text, want := range map[string]string{"": "null", "/a/0": `{"a":[null,2],"b":{"c":3}}`, "/*/c": `{"a":[1,2],"b":{}}`, "/x": `{"a":[1,2],"b":{"c":3}}`, "/b": `{"a":[1,2]}`} {
		p, err := jsonval.ParsePointer(text)
		if err != nil {
			t.Fatal(err)
		}
		v, err := jsonval.Decode([]byte(`{"a":[1,2],"b":{"c":3}}`))
		if err != nil {
			t.Fatal(err)
		}
		got, _ := json.Marshal(p.Remove(v))
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("Remove of %q (-want +got):\n%s", text, diff)
		}
	}
}

func TestMatches(t *testing.T) {
	path := []string{"a", "b/c", "0"}
	for pointer, want := range map[string]bool{"/a/b~1c/0": true, "/a/*/0": true, "/a/b~1c": false, "/a/b~1c/0/x": false, "a/b~1c/0": false, "": false} {
		if got := jsonval.Matches(pointer, path); got != want {
			t.Errorf("Matches(%q, %q) = %v, want %v", pointer, path, got, want)
		}
	}
	if jsonval.Matches("", nil) {
		t.Error("Matches of the whole value: got true")
	}
}

func TestEqual(t *testing.T) {
	for _, c := range []struct {
		a, b           string
		equal, decoded bool
	}{
		{`{"a":1,"b":[2]}`, ` {"b":[2],"a":1}`, true, true},
		{`1.0`, `1`, false, true},
		{`no JSON`, `no JSON`, true, false},
		{`{"a":1}`, `{"a":2}`, false, false},
		{`"\u0061"`, `"a"`, true, true},
	} {
		if got := jsonval.Equal(c.a, c.b); got != c.equal {
			t.Errorf("Equal(%s, %s) = %v, want %v", c.a, c.b, got, c.equal)
		}
		if got := jsonval.EqualDecoded(c.a, c.b); got != c.decoded {
			t.Errorf("EqualDecoded(%s, %s) = %v, want %v", c.a, c.b, got, c.decoded)
		}
	}
}
