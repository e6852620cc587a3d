package importer_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// An invalid line that is longer than one read costs no more than itself,
// and the lines after it keep their numbers.
func TestLongLines(t *testing.T) {
	long := `{"role":"user","content":"` + strings.Repeat("x", 200_000) + `"}`
	first, last := "["+hi+"]\n", "\n["+yo+"]\n"
	for name, c := range map[string]struct {
		line string
		want []string
	}{
		"sound":                   {"[" + hi + "," + long + "," + long + "]", []string{"run-2@2 user:hi user:… user:…"}},
		"an object":               {`{"id":"a","messages":[` + long + "," + long + `]}`, []string{"a@2 user:… user:…"}},
		"space after it":          {"[" + long + "]" + strings.Repeat(" ", 300_000), []string{"run-2@2 user:…"}},
		"only space":              {strings.Repeat(" ", 300_000), nil},
		"broken at its start":     {"[" + hi + ",7," + long + "," + long + "]", []string{"run-2@2 user:hi …! file:2: [1]: expected an object"}},
		"broken brackets":         {"[" + hi + "}" + long + "," + long + "]", []string{"run-2@2 user:hi …! file:2: [1]: expected a comma or the end of the array; the rest of the file is not read"}},
		"truncated":               {"[" + hi + "," + long + "," + long[:150_000], []string{"run-2@2 user:hi user:… …! file:2: [2]: the line ends within a value"}},
		"something follows":       {"[" + hi + "," + long + "] " + long, []string{"run-2@2 user:hi user:…", "! file:2: something follows the JSON value"}},
		"an object that is wrong": {`{"messages":[` + long + "," + long + `,7]}`, []string{"run-2@2 user:… user:… …! file:2: messages[2]: expected an object"}},
	} {
		t.Run(name, func(t *testing.T) {
			want := append(append([]string{"run-1@1 user:hi"}, c.want...), "run-3@3 assistant:yo")
			if c.want == nil {
				want[1] = "run-2@3 assistant:yo"
			}
			for way, r := range map[string]io.Reader{
				"in one read": strings.NewReader(first + c.line + last),
				"by halves":   iotest.HalfReader(strings.NewReader(first + c.line + last)),
				"gzipped":     zipped(t, first+c.line+last),
			} {
				_, got := read(t, r)
				for i := range got {
					got[i] = strings.ReplaceAll(got[i], strings.Repeat("x", 200_000), "…")
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s (-want +got):\n%.3000s", way, diff)
				}
			}
		})
	}
	t.Run("the input is interrupted", func(t *testing.T) {
		_, got := read(t, io.MultiReader(strings.NewReader(first+"["+hi+","+long+","+long[:150_000]), iotest.ErrReader(errors.New("gone"))))
		for i := range got {
			got[i] = strings.ReplaceAll(got[i], strings.Repeat("x", 200_000), "…")
		}
		want := []string{"run-1@1 user:hi", "run-2@2 user:hi user:… …! file:2: [2]: the file ends within a value", "! file:2: reading stopped: gone"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%.3000s", diff)
		}
	})
}
