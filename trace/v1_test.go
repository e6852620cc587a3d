package trace_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
)

// recorded is the content of testdata/v1.jsonl: every kind, every member and every
// word of the format.
func recorded() []trace.Event {
	evs := append(every(), full()...)
	for i, ev := range evs {
		if config, ok := ev.Body.(trace.ModelConfig); ok {
			config.System = llm.SystemText(config.System.Text()) // without marks, which version 1 does not have
			for i := range config.Tools {
				config.Tools[i].Builtin = nil // version 1 has no such tools
			}
			evs[i].Body = config
		}
	}
	add := func(purpose trace.Purpose, bodies ...trace.Body) {
		for _, b := range bodies {
			evs = append(evs, trace.Event{Run: "words", Purpose: purpose, Body: b})
		}
	}
	for _, r := range []trace.Reason{
		trace.ReasonToolCalls, trace.ReasonEndTurn, trace.ReasonMaxSteps, trace.ReasonBudget, trace.ReasonStopCondition, trace.ReasonRunawayGuard,
		trace.ReasonClientTools, trace.ReasonHandoff, trace.ReasonEndHook, trace.ReasonContinuedResponse, trace.ReasonForced, trace.ReasonStopped,
		trace.ReasonMalformedCall, trace.ReasonCancel, trace.ReasonDeadline, trace.ReasonError, trace.ReasonApproval, trace.ReasonMiddleware, "own",
	} {
		add("", trace.Decision{Action: trace.Stop, Reason: r}, trace.RunEnd{StopReason: r}, trace.Canceled{Reason: string(r)}, trace.HistoryRewrite{Reason: "policy"})
	}
	for _, a := range []trace.Action{trace.Continue, trace.End, trace.Stop, trace.ForceFinal, trace.Suspend} {
		add("", trace.Decision{Action: a, Reason: "own"})
	}
	for _, s := range []string{
		trace.SkipUnknownTool, trace.SkipMalformedArguments, trace.SkipInvalidArguments, trace.SkipTruncated, trace.SkipDenied, trace.SkipDuplicate, trace.SkipCanceled, "own",
	} {
		add("", trace.ToolSkip{ToolCallID: "c", Name: "t", Reason: s, Result: llm.ToolResult{ID: "c"}})
	}
	for _, k := range []string{trace.DeltaText, trace.DeltaReasoning, trace.DeltaCall, trace.DeltaArguments, trace.DeltaCallEnd} {
		add("", trace.ModelDelta{Type: k})
	}
	for _, p := range []trace.Purpose{trace.PurposeAnswer, trace.PurposeRepair, trace.PurposeSummary, trace.PurposeGrade} {
		add(p, trace.ModelRequest{}, trace.RunEnd{UsageBy: map[trace.Purpose]llm.Usage{p: {InputTokens: 1}}})
	}
	add("", trace.Suspended{Pending: []string{"a", "\xff"}}, trace.ToolStart{ToolCallID: "\xff", Arguments: "\xff"})
	return evs
}

func TestReaderVersion1(t *testing.T) {
	file, err := os.ReadFile("testdata/v1.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	got, broken := read(t, string(file))
	if len(broken) > 0 {
		t.Errorf("lines with errors: %q", broken)
	}
	if diff := cmp.Diff(recorded(), got, equal); diff != "" {
		t.Errorf("events of version 1 (-want +got):\n%s", diff)
	}
	again, _ := read(t, string(write(t, trace.Header{}, got)))
	if diff := cmp.Diff(got, again, equal); diff != "" {
		t.Errorf("events written as version 2 (-want +got):\n%s", diff)
	}
}

// A line without a header has the version that its names are of.
func TestEventUnmarshalJSONVersion1(t *testing.T) {
	file, err := os.ReadFile("testdata/v1.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	want := recorded()
	for i, line := range strings.Split(strings.TrimSpace(string(file)), "\n")[1:] {
		got, err := unmarshal([]byte(line))
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		if want[i].Purpose == trace.PurposeGrade {
			got.Purpose = trace.PurposeGrade // no name in the line is of version 1 alone
		}
		if diff := cmp.Diff(want[i], got, equal); diff != "" {
			t.Errorf("%s (-want +got):\n%s", line, diff)
		}
	}
}

// In a file of version 2, kinds, names and words of version 1 mean nothing.
func TestReaderVersion2(t *testing.T) {
	const event = `{"run":"r","step":0,"kind":"decision","action":"go_on","cause":"calls","reason":"none","calls":2}` + "\n" +
		`{"run":"r","step":0,"kind":"tool.end","tool_call_id":"c","call":"d","result":{"type":"tool_result","tool_call_id":"c","id":"d","content":[]}}` + "\n" +
		`{"run":"r","step":0,"kind":"rewrite","reason":"x"}` + "\n"
	decision := trace.Decision{Action: "go_on", Reason: "none"}
	end := trace.ToolEnd{ToolCallID: "c", Result: llm.ToolResult{ID: "c"}}
	evs, _ := read(t, header+event+`{"format":"looptape-trace","version":1}`+"\n"+event)
	want := []trace.Event{
		{Run: "r", Body: decision}, {Run: "r", Body: end},
		{Run: "r", Body: trace.Unknown{Name: "rewrite", Raw: []byte(`{"reason":"x"}`)}},
		{Run: "r#2", Body: trace.Decision{Action: trace.Continue, Reason: trace.ReasonEndTurn, ToolCalls: 2}},
		{Run: "r#2", Body: trace.ToolEnd{ToolCallID: "d", Result: llm.ToolResult{ID: "d"}}},
		{Run: "r#2", Body: trace.HistoryRewrite{Reason: "x"}},
	}
	if diff := cmp.Diff(want, evs, equal); diff != "" {
		t.Errorf("events of a file of two versions (-want +got):\n%s", diff)
	}
}
