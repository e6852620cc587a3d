package jsonio

import (
	"errors"
	"strings"
	"testing"
)

// A path in a message has a limited length and ends between characters.
func TestLongPaths(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"as long as may be", `{"` + strings.Repeat("k", 100) + `":`, strings.Repeat("k", 100)},
		{"a byte longer", `{"` + strings.Repeat("k", 101) + `":`, strings.Repeat("k", 100) + "…"},
		{"deep", strings.Repeat("[", 5000), strings.Repeat("[0]", 33) + "[…"},
		{"cut within a character", `{"` + strings.Repeat("k", 99) + `éé":`, strings.Repeat("k", 99) + "…"},
		{"cut between characters", `{"` + strings.Repeat("é", 51) + `":`, strings.Repeat("é", 50) + "…"},
		{"no characters at all", `{"` + strings.Repeat("\x80", 101) + `":`, "…"},
	} {
		d := NewDec(c.text)
		d.Skip()
		err, ok := errors.AsType[*SyntaxError](d.End())
		if !ok || err.Path != c.want {
			t.Errorf("%s: got %v, want an error at %q", c.name, err, c.want)
		}
	}
}
