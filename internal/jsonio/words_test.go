package jsonio_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/looptape/looptape/internal/jsonio"
)

func TestWords(t *testing.T) {
	var to struct {
		Text   string             `json:"text"`
		Yes    bool               `json:"yes"`
		List   []string           `json:"list"`
		Pair   [2]string          `json:"pair"`
		Number float64            `json:"number"`
		Small  float32            `json:"small"`
		Count  *int               `json:"count"`
		Map    map[string]int     `json:"map"`
		Deep   struct{ A, B int } `json:"deep"`
	}
	for text, want := range map[string]string{
		`{"text":1}`:         "text: expected a text, found number",
		`{"yes":"x"}`:        "yes: expected true or false, found string",
		`{"list":{}}`:        "list: expected a list, found object",
		`{"pair":1}`:         "pair: expected a list, found number",
		`{"number":"x"}`:     "number: expected a number, found string",
		`{"small":[]}`:       "small: expected a number, found array",
		`{"count":1.5}`:      "count: expected a whole number, found number 1.5",
		`{"map":[]}`:         "map: expected an object, found array",
		`{"deep":{"A":"x"}}`: "deep.A: expected a whole number, found string",
		`{"deep":3}`:         "deep: expected an object, found number",
		`[1]`:                "expected an object, found array",
		``:                   "there is nothing",
		`{"number":1`:        "unexpected EOF",
		`{"number":NaN}`:     "invalid character 'N' looking for beginning of value",
	} {
		err := jsonio.Words(json.NewDecoder(strings.NewReader(text)).Decode(&to))
		if err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
	other := errors.New("other")
	if err := jsonio.Words(other); !errors.Is(err, other) {
		t.Errorf("got %v, want it as it is", err)
	}
}
