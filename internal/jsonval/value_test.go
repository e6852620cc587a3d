package jsonval_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/internal/jsonval"
)

func TestLeaves(t *testing.T) {
	for text, want := range map[string]string{
		`[1,{"a":[2,{}],"b":null},"x",[]]`: `[1,{"a":[1,{}],"b":1},1,[]]`,
		`"x"`:                              `1`,
		`{}`:                               `{}`,
	} {
		var v any
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			t.Fatal(err)
		}
		got, err := json.Marshal(jsonval.Leaves(v, func(any) any { return 1 }))
		if diff := cmp.Diff(want, string(got)); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", text, err, diff)
		}
	}
}
