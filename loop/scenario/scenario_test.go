package scenario_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/looptape/looptape/loop/scenario"
	"github.com/looptape/looptape/trace"
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

// The stop conditions that a trace declares come back, as far as they are told.
func TestFromTraceStops(t *testing.T) {
	for declared, c := range map[string]struct{ want, lost string }{
		"":               {"", "what decided to stop (stop_condition)"},
		"never":          {"stop_when: [never]", ""},
		"has_tool_call:": {"stop_when: [{has_tool_call: ''}]", ""},
		"step_count:x":   {"", "the stop condition step_count:x"},
		"total_tokens:":  {"", "the stop condition total_tokens:"},
		"other:3":        {"", "the stop condition other:3"},
		"custom":         {"", "the stop condition custom"},
		"never:3":        {"", "the stop condition never:3"},
		"never,cost:0.5,has_tool_call:b,step_count:2,total_tokens:30": {
			"stop_when: [never, {has_tool_call: b}, {step_count: 2}, {total_tokens: 30}]", "the stop condition cost:0.5",
		},
	} {
		src, err := os.ReadFile("../../testdata/invariants/INV-25-condition.txtar")
		if err != nil {
			t.Fatal(err)
		}
		f, err := scenario.Parse("f", src)
		if err != nil {
			t.Fatal(err)
		}
		o, err := scenario.Run(t.Context(), f.Script, nil)
		if err != nil {
			t.Fatal(err)
		}
		start := o.Events[0].Body.(trace.RunStart)
		start.Options = start.Options.With("stop_when", declared)
		if declared == "" {
			start.Options = start.Options[:len(start.Options)-1]
		}
		o.Events[0].Body = start
		made, err := scenario.FromTrace(o.Events)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(made); !strings.Contains(got, c.want) || c.want == "" && strings.Contains(got, "stop_when:") ||
			!strings.Contains(got, c.lost) || c.lost == "" && strings.Contains(got, "Not taken over") {
			t.Errorf("%q: got\n%s\nwant %q, lost %q", declared, got, c.want, c.lost)
		}
	}
}
