package cli_test

import (
	"encoding/json"
	"testing"

	"github.com/looptape/looptape/cmd/looptape/internal/cli"
)

// A value of another type than the one whose schema is published is an error.
func TestJSONFormatOtherType(t *testing.T) {
	type result struct {
		N int `json:"n"`
	}
	f := cli.NewJSON("a-test", 2, "a-test --format json", result{})
	got, err := json.Marshal(f.Of(result{3}))
	if want := `{"format":"looptape-a-test","version":2,"n":3}`; string(got) != want || err != nil {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
	if got, err := json.Marshal(f.Of(&result{3})); err == nil {
		t.Errorf("a pointer: got %s, want an error", got)
	}
}
