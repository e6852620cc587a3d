package dialect_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/looptape/looptape/loop/internal/dialect"
)

func TestObject(t *testing.T) {
	for want, members := range map[string][]any{
		`{}`:                    nil,
		`{"b":1}`:               {"b", 1},
		`{"b":"<&>","a":[1,2]}`: {"b", "<&>", "a", []int{1, 2}},
		`{"\"":{"x":null}}`:     {`"`, json.RawMessage(`{"x":null}`)},
		`{"c":0,"e":"x"}`:       {"a,omitzero", 0, "b,omitzero", json.RawMessage(nil), "c", 0, "d,omitzero", nil, "e,omitzero", "x"},
	} {
		if got, err := dialect.Object(members...); string(got) != want || err != nil {
			t.Errorf("got %s, %v; want %s", got, err, want)
		}
	}
	_, err := dialect.Object("f", func() {})
	if err == nil || !strings.HasPrefix(err.Error(), `the member "f": `) {
		t.Errorf("a value without JSON: got error %v", err)
	}
}

func TestValue(t *testing.T) {
	for text, want := range map[string]string{"": `{}`, `{"a":1}`: `{"a":1}`, `12`: `12`, `say "no"`: `"say \"no\""`, `{"a`: `"{\"a"`} {
		if got := string(dialect.Value(text, "{}")); got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
}
