package cli_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/cmd/looptape/internal/cli"
)

// The last column wraps, with lines of similar widths, at words or within long ones. Wide characters need two columns.
func TestTable(t *testing.T) {
	var out strings.Builder
	w := &cli.World{Out: &out}
	w.Table([]string{"case", " what is wrong "}, [][]string{
		{"日本", "the tool call of the first response has no result, so that the provider rejects the next request"},
		{"a", strings.Repeat("0123456789", 8)},
		{"", ""},
		{"tab\t", "é  two   spaces"},
	})
	want := `CASE     WHAT IS WRONG
日本     the tool call of the first response has no result, so that the
         provider rejects the next request
a        01234567890123456789012345678901234567890123456789012345678901234567890
         123456789

"tab\t"  é two spaces

`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}
