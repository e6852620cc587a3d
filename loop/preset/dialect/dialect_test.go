package dialect_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/looptape/looptape/loop/preset/dialect"
)

func TestObject(t *testing.T) {
	for want, members := range map[string][]dialect.Member{
		`{}`:                    nil,
		`{"b":1}`:               {{Key: "b", Value: 1}},
		`{"b":"<&>","a":[1,2]}`: {{Key: "b", Value: "<&>"}, {Key: "a", Value: []int{1, 2}}},
		`{"\"":{"x":null}}`:     {{Key: `"`, Value: json.RawMessage(`{"x":null}`)}},
	} {
		if got, err := dialect.Object(members...); string(got) != want || err != nil {
			t.Errorf("got %s, %v; want %s", got, err, want)
		}
	}
	_, err := dialect.Object(dialect.Member{Key: "f", Value: func() {}})
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
