package scenario_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/looptape/looptape/loop/scenario"
)

// Every golden scenario, recorded and made a scenario again, gives the same
// trace, but for those that a scenario made of a trace says it cannot hold.
func TestFromTrace(t *testing.T) {
	files, err := filepath.Glob("../../testdata/*/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	same := 0
	for _, path := range files {
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		f, err := scenario.Parse(path, src)
		if err != nil {
			t.Fatal(err)
		}
		o, err := scenario.Run(t.Context(), f.Script, nil)
		if err != nil {
			t.Fatal(err)
		}
		made, err := scenario.FromTrace(o.Events)
		if len(o.Requests) == 0 {
			if err == nil || !strings.Contains(err.Error(), "sent no request") {
				t.Errorf("%s: got error %v", path, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		again, err := scenario.Parse("made.txtar", made)
		if err != nil {
			t.Errorf("%s: %v\n%s", path, err, made)
			continue
		}
		if strings.Contains(again.Comment, "Not taken over") || f.Script.Cancel != nil || f.Script.Consumer != nil {
			continue
		}
		o2, err := scenario.Run(t.Context(), again.Script, nil)
		if err != nil {
			t.Errorf("%s: %v\n%s", path, err, made)
			continue
		}
		if diff := again.Compare(o2); diff != "" {
			t.Errorf("%s: %s\n%s", path, diff, made)
		}
		same++
	}
	if same < len(files)*3/4 {
		t.Errorf("only %d of %d scenarios could be made again", same, len(files))
	}
}
