package runs

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/looptape/looptape/cmd/looptape/internal/cli"
	"github.com/looptape/looptape/loop/explore"
	"github.com/looptape/looptape/trace/check"
)

// TestExploreReport: the report of a failure has the choices, the difference to the passing run, and the command
// that repeats it; JSON has the same.
func TestExploreReport(t *testing.T) {
	r := explore.Exhaust(func() explore.Program {
		return explore.ProgramFunc(func(c *explore.Choices) explore.Outcome {
			text := "begin\nend\n"
			var found []check.Violation
			if c.Fault("tool call", "it's", []string{"", "fails"}) == 1 {
				text = "begin\nlost\n"
				found = []check.Violation{check.Violation{Invariant: "INV-01", Run: "r1", Event: 3, Message: "no result"}.WithHint()}
			}
			return explore.Outcome{Digest: uint64(len(found)), Violations: found, Text: func() string { return text }}
		})
	}, explore.Bounds{Faults: 1})
	var stdout, stderr bytes.Buffer
	x := explorer{w: &cli.World{Out: &stdout, Err: &stderr}, c: &cobra.Command{}}
	out := explored{File: "my file.yaml", Failures: []exploredFailure{}}
	out.take(r)
	x.print(&out, r)
	for _, want := range []string{
		"FAIL     my file.yaml: 2 runs, 2 different: all of 1 order", "INV-01", "no result", "Append one result for each call",
		"with these choices:\n  tool call it's: fails\n", "\n  begin\n- lost\n+ end\n", `looptape explore --choice 'tool call it'\''s: fails' 'my file.yaml'`,
	} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("the report has no %q:\n%s", want, stdout.String())
		}
	}
	text, err := json.Marshal(exploreJSON.Of(out))
	if want := `"choices":["tool call it's: fails"],"minimal":true,"without":"tool call it's: fails","trace":"begin\nlost\n","passing":"begin\nend\n"`; err != nil || out.OK || !strings.Contains(string(text), want) {
		t.Errorf("%v, ok %v: want %s in\n%s", err, out.OK, want, text)
	}
}
