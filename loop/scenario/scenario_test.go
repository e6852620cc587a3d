package scenario_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/looptape/looptape/loop/scenario"
	"github.com/looptape/looptape/trace"
)

// lossy maps the scenarios whose recorded runs a scenario cannot repeat to the omission in
// its comment.
var lossy = map[string]string{
	"AG-12-between":     "the cancellation, whose time is unknown.",
	"AG-33":             "the cause of a difference from line 6 of the trace.",
	"AG-33-exhausted":   "the cause of a difference from line 6 of the trace.",
	"AG-37":             "the model's settings.",
	"AG-38":             "the model's settings; the decision to stop (output).",
	"AG-38-asked-again": "the model's settings; the decision to continue (output).",
	"AL-15":             "the event approval.requested; the event approval.resolved.",
	"AL-15-parallel":    "the event approval.requested; the event approval.resolved.",
	"AL-15-steps":       "the event approval.requested; the event approval.resolved.",
	"AL-66":             "the event approval.requested; the event approval.resolved; the decision to suspend (permissions).",
	"AL-45":             "the event approval.requested; the event approval.resolved.",
	"AL-50":             "the cause of a difference from line 12 of the trace.",
	"AL-57":             "the event guardrail; the decision to stop (guardrails).",
	"AL-59":             "the event guardrail.",
	"AL-64":             "the event approval.requested; the event approval.resolved.",
	"AL-67":             "the event approval.requested; the decision to suspend (permissions).",
	"DA-07":             "the cause of a difference from line 1 of the trace.",
	"DA-15":             "the cause of a difference from line 1 of the trace.",
	"DA-15-named":       "the cause of a difference from line 1 of the trace.",
	"DA-16":             "the event variables; the event handoff.",
	"DA-17":             "the event variables; the event handoff.",
	"DA-18":             "the event variables; the event handoff.",
	"DA-19":             "the event variables; the event handoff.",
	"DA-20":             "the event variables; the event handoff.",
	"DA-22":             "the event variables; the event handoff.",
	"DA-23":             "the event variables; the event handoff.",
	"DA-24":             "the event variables; the event handoff.",
	"DA-25":             "the model calls for the purpose repair.",
	"DA-25-malformed":   "the model calls for the purpose repair.",
	"DA-27":             "the model calls for the purpose repair.",
	"DA-28":             "the model calls for the purpose repair.",
	"DA-29":             "the model calls for the purpose repair.",
	"DA-30":             "the model calls for the purpose repair.",
	"DA-30-again":       "the model calls for the purpose repair.",
	"DA-31":             "the event variables; the event handoff; the decision to continue (prepare_end).",
	"DA-32":             "the cause of a difference from line 1 of the trace.",
	"DA-43":             "the cancellation, whose time is unknown.",
	"DZ-10-cost":        "the stop condition cost:40.",
	"INV-05":            "the rewrite by keep_last.",
	"QA-01":             "the chunks of the arguments (repeated_arguments).",
	"QO-12":             "the chunks of the arguments (repeated_arguments).",
	"QO-13":             "the chunks of the arguments (repeated_arguments).",
	"QO-14":             "the chunks of the arguments (repeated_arguments).",
	"RA-44":             "the model calls for the purpose summary; the rewrite by summarize.",
	"RA-46":             "the cancellation, whose time is unknown.",
	"RA-52":             "the event todos.",
	"RA-56":             "the event human_decision.",
}

// A scenario made of the run of a golden scenario gives the same trace, unless its comment
// lists omissions.
func TestFromTrace(t *testing.T) {
	files, err := filepath.Glob("../../testdata/*/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	lost := map[string]string{}
	for _, path := range files {
		o := played(t, path)
		made, err := scenario.FromTrace(o.Events)
		if len(o.Requests) == 0 {
			if err == nil || !strings.Contains(err.Error(), "missing request") {
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
		if _, list, ok := strings.Cut(again.Comment, "Omitted: "); ok {
			lost[strings.TrimSuffix(filepath.Base(path), ".txtar")] = strings.TrimSpace(list)
			continue
		}
		o2, err := scenario.Run(t.Context(), again.Script, nil)
		if err != nil {
			t.Errorf("%s: %v\n%s", path, err, made)
			continue
		}
		if diff := again.Compare(o2); diff != "" || again.Trace != o.Trace() {
			t.Errorf("%s: %s\n%s", path, diff, made)
		}
	}
	if diff := cmp.Diff(lossy, lost); diff != "" {
		t.Errorf("omitted (-want +got):\n%s", diff)
	}
}

// played is the result of a scenario file.
func played(t *testing.T, path string) *scenario.Result {
	t.Helper()
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := scenario.Parse(path, src)
	if err != nil {
		t.Fatal(err)
	}
	o, err := scenario.Run(t.Context(), f.Script, nil)
	goleak.VerifyNone(t)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// A scenario has the stop conditions that the trace declares completely.
func TestFromTraceStops(t *testing.T) {
	for declared, c := range map[string]struct{ want, lost string }{
		"":               {"", "the decision to stop (stop_condition)"},
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
		o := played(t, "../../testdata/invariants/INV-25-condition.txtar")
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
			!strings.Contains(got, c.lost) || c.lost == "" && strings.Contains(got, "Omitted: the stop") {
			t.Errorf("%q: got\n%s\nwant %q, lost %q", declared, got, c.want, c.lost)
		}
	}
}

// What a trace declares are the options, whatever of it there is and in which order;
// what it does not declare stopped nothing.
func TestFromTraceOptions(t *testing.T) {
	for _, c := range []struct {
		name     string
		declared trace.Options
		want     string
	}{
		{"nothing", nil, "  max_consecutive_tool_errors: 0\n"},
		{"another", trace.Options{{Name: "max_steps", Value: "3"}}, "  max_steps: 3\n  max_consecutive_tool_errors: 0\n"},
		{"the guard", trace.Options{{Name: "same_tool_error_stop", Value: "2"}}, "  max_consecutive_tool_errors: 2\n"},
		{"retries", trace.Options{{Name: "retry_max", Value: "2"}, {Name: "retry_base", Value: "1s"}},
			"  retry: {max: 2, base: 1s}\n  max_consecutive_tool_errors: 0\n"},
		{"retries among others", trace.Options{{Name: "max_steps", Value: "3"}, {Name: "retry_max", Value: "2"}, {Name: "grace", Value: "1s"}, {Name: "retry_base", Value: "1s"}},
			"  max_steps: 3\n  retry: {max: 2, base: 1s}\n  grace: 1s\n  max_consecutive_tool_errors: 0\n"},
	} {
		o := record(t, "models: {main: [{text: done}]}")
		start := o.Events[0].Body.(trace.RunStart)
		start.Options = c.declared
		o.Events[0].Body = start
		made, err := scenario.FromTrace(o.Events)
		if err != nil {
			t.Fatal(err)
		}
		_, got, _ := strings.Cut(string(made), "loop:\n")
		got, _, _ = strings.Cut(got, "models:")
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
		if _, err := scenario.Parse("made", made); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
