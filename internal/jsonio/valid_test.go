package jsonio_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/looptape/looptape/internal/jsonio"
)

// A decoder of valid text skips the same values as one that validates, and one of any text stays in
// it.
func TestSkipValid(t *testing.T) {
	pieces := rapid.SampledFrom([]string{
		`\\`, `\"`, `\n`, `\u00e9`, "a", "é", "{", "]", ",", strings.Repeat("x", 7), strings.Repeat("y", 61), strings.Repeat(`\\`, 33), strings.Repeat(`\"`, 32),
	})
	text := rapid.Custom(func(t *rapid.T) string {
		return `"` + strings.Join(rapid.SliceOf(pieces).Draw(t, "pieces"), "") + `"`
	})
	var value *rapid.Generator[string]
	value = rapid.Custom(func(t *rapid.T) string {
		space := rapid.SampledFrom([]string{"", " ", "\n\t"}).Draw(t, "space")
		switch rapid.IntRange(0, 6).Draw(t, "kind") {
		case 0:
			return space + "[" + space + strings.Join(rapid.SliceOfN(value, 0, 3).Draw(t, "elements"), space+",") + "]"
		case 1:
			members := rapid.SliceOfN(value, 0, 3).Draw(t, "values")
			for i := range members {
				members[i] = space + text.Draw(t, "name") + space + ":" + members[i]
			}
			return space + "{" + strings.Join(members, ",") + space + "}"
		case 2:
			return space + rapid.SampledFrom([]string{"null", "true", "-1.5e+7", "0"}).Draw(t, "literal")
		default:
			return space + text.Draw(t, "text")
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		list := "[" + strings.Join(rapid.SliceOfN(value, 1, 5).Draw(t, "list"), ",") + "]"
		read := func(d jsonio.Dec) (values []string) {
			for range d.Elements() {
				values = append(values, d.Raw())
			}
			if err := d.End(); err != nil {
				t.Fatalf("%s: %v", list, err)
			}
			return values
		}
		want, got := read(jsonio.NewDec(list)), read(jsonio.NewValidDec(list))
		if a, b := strings.Join(want, "\x00"), strings.Join(got, "\x00"); a != b {
			t.Fatalf("the values of %s are %q, want %q", list, b, a)
		}
		cut := jsonio.NewValidDec(list[:rapid.IntRange(0, len(list)-1).Draw(t, "end")])
		for range cut.Elements() {
			cut.Skip()
		}
		if cut.End() == nil {
			t.Fatalf("no error for a part of %s", list)
		}
	})
}
