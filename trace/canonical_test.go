package trace_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
)

// outline returns the run, the number, the kind and the call of each event.
func outline(evs []trace.Event) string {
	var b strings.Builder
	for _, ev := range evs {
		fmt.Fprintf(&b, "%s %d %s", ev.Run, ev.Seq, ev.Body.Kind())
		switch x := ev.Body.(type) {
		case trace.ToolStart:
			b.WriteString(" " + x.ToolCallID)
		case trace.ToolEnd:
			b.WriteString(" " + x.ToolCallID)
		case trace.ToolSkip:
			b.WriteString(" " + x.ToolCallID)
		case trace.ToolArguments:
			b.WriteString(" " + x.ToolCallID)
		case trace.Abandoned:
			b.WriteString(" " + x.ToolCallID)
		case trace.Warning:
			b.WriteString(" " + x.Code + x.ToolCallID)
		case trace.RunStart:
			if x.Parent != nil {
				b.WriteString(" of " + x.Parent.Run + "/" + x.Parent.ToolCallID)
			}
		case trace.Resumed:
			b.WriteString(" of " + x.Of)
		default:
		}
		if ev.At != 0 {
			fmt.Fprintf(&b, " @%v", ev.At)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func turn(ids ...string) trace.ModelResponse {
	var parts []llm.Part
	for _, id := range ids {
		parts = append(parts, llm.ToolCall{ID: id})
	}
	return trace.ModelResponse{Message: llm.Assistant(parts...)}
}

func in(run string, bodies ...trace.Body) []trace.Event {
	var evs []trace.Event
	for i, b := range bodies {
		evs = append(evs, trace.Event{Seq: 100 + i, Run: run, At: time.Duration(i+1) * time.Second, Body: b})
	}
	return evs
}

func TestCanonicalBatches(t *testing.T) {
	start := func(id string) trace.Body { return trace.ToolStart{ToolCallID: id} }
	end := func(id string) trace.Body { return trace.ToolEnd{ToolCallID: id} }
	other := turn("b", "a")
	evs := in("x",
		trace.RunStart{}, trace.ModelDelta{}, turn("a", "b", "c", "a", "d"),
		start("b"), trace.ModelDelta{}, start("zz"), end("b"), trace.ToolSkip{ToolCallID: "c"}, trace.Warning{Code: "w", ToolCallID: "a"}, trace.ToolArguments{ToolCallID: "a"}, start("a"), trace.Abandoned{ToolCallID: "a"}, start("d"), start("yy"),
		trace.Warning{Code: "none"}, start("c"), start("b"),
		trace.StepEnd{}, start("d"), start("c"),
	)
	// A response for another purpose does not affect the order; one of the next step does.
	grade := trace.Event{Run: "x", Purpose: trace.PurposeGrade, Body: turn("d", "c", "b")}
	evs = append(evs, grade, trace.Event{Run: "x", Body: end("d")}, trace.Event{Run: "x", Body: end("b")},
		trace.Event{Run: "x", Step: 1, Body: end("a")},
		trace.Event{Run: "x", Step: 1, Body: other}, trace.Event{Run: "x", Step: 1, Body: end("a")}, trace.Event{Run: "x", Step: 1, Body: end("b")})
	want := `r1 0 run.start
r1 1 model.response
r1 2 warning wa
r1 3 tool.arguments a
r1 4 tool.start a
r1 5 abandoned a
r1 6 tool.start b
r1 7 tool.end b
r1 8 tool.skip c
r1 9 tool.start d
r1 10 tool.start zz
r1 11 tool.start yy
r1 12 warning none
r1 13 tool.start b
r1 14 tool.start c
r1 15 step.end
r1 16 tool.start c
r1 17 tool.start d
r1 18 model.response
r1 19 tool.end b
r1 20 tool.end d
r1 21 tool.end a
r1 22 model.response
r1 23 tool.end b
r1 24 tool.end a
`
	if diff := cmp.Diff(want, outline(trace.Canonical(evs))); diff != "" {
		t.Errorf("canonical (-want +got):\n%s", diff)
	}
}

func TestCanonicalRuns(t *testing.T) {
	child := func(run, call string) trace.Body {
		return trace.RunStart{Parent: &trace.Parent{Run: run, ToolCallID: call}}
	}
	var evs []trace.Event
	for _, part := range [][]trace.Event{
		in("orphan", child("gone", "c")), in("deltas", trace.ModelDelta{}),
		in("grandchild", child("late", "k")),
		in("late", child("root", "c2"), turn("k")), in("lost", child("root", "nowhere"), trace.Resumed{Of: "late"}),
		in("root", trace.RunStart{Clock: trace.ClockVirtual}, trace.ModelDelta{}, turn("c1", "c2"), turn("c3", "c1")),
		in("early", child("root", "c1"), trace.RunStart{Clock: trace.ClockVirtual, Parent: &trace.Parent{Run: "late"}}),
		in("middle", child("root", "c3")), in("early", trace.RunEnd{}), in("twin", child("root", "c1")),
		in("round", child("about", "")), in("about", child("round", ""), trace.Resumed{Of: "?gone"}), in("self", child("self", "")),
		in("root", trace.StepEnd{}),
		in("of deltas", child("deltas", "")),
	} {
		evs = append(evs, part...)
	}
	want := `r1 0 run.start of ?gone/c
r2 0 run.start @1s
r2 1 model.response @3s
r2 2 model.response @4s
r2 3 step.end @1s
r3 0 run.start of r2/c1
r3 1 run.start of r5/
r3 2 run.end
r4 0 run.start of r2/c1
r5 0 run.start of r2/c2
r5 1 model.response
r6 0 run.start of r5/k
r7 0 run.start of r2/c3
r8 0 run.start of r2/nowhere
r8 1 resumed of r5
r9 0 run.start of ?deltas/
r10 0 run.start of r11/
r11 0 run.start of r10/
r11 1 resumed of ?gone
r12 0 run.start of r12/
`
	if diff := cmp.Diff(want, outline(trace.Canonical(evs))); diff != "" {
		t.Errorf("canonical (-want +got):\n%s", diff)
	}
}

// clone copies events so that a change of what they refer to would show.
func clone(t *rapid.T, evs []trace.Event) []trace.Event {
	var out []trace.Event
	for _, ev := range evs {
		c, err := unmarshal(ev.AppendJSON(nil))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, c)
	}
	return out
}

func TestFormsAreIdempotent(t *testing.T) {
	for name, form := range map[string]func([]trace.Event) []trace.Event{"Canonical": trace.Canonical, "Project": trace.Project} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				evs := events().Draw(t, "events")
				before := clone(t, evs)
				once := form(evs)
				if diff := cmp.Diff(before, evs, equal); diff != "" {
					t.Fatalf("the input was changed (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(once, form(once), equal); diff != "" {
					t.Fatalf("the form of the form (-first +second):\n%s", diff)
				}
			})
		})
	}
}

// The order in which parallel tools finish does not show, nor how parallel runs
// mix.
func TestCanonicalDiscardsTheOrder(t *testing.T) {
	evs := sample(3)
	mixed := append([]trace.Event(nil), evs...)
	for i := range mixed {
		mixed[i].Run = "some other name"
		a, aok := mixed[i].Body.(trace.ToolEnd)
		if i+1 < len(mixed) && aok {
			if b, ok := mixed[i+1].Body.(trace.ToolEnd); ok && a.ToolCallID < b.ToolCallID {
				mixed[i], mixed[i+1] = mixed[i+1], mixed[i]
			}
		}
	}
	for i := range mixed {
		mixed[i].Run = "some other name"
	}
	if cmp.Diff(evs, mixed) == "" {
		t.Fatal("nothing was mixed")
	}
	if diff := cmp.Diff(trace.Canonical(evs), trace.Canonical(mixed)); diff != "" {
		t.Errorf("canonical forms (-one +other):\n%s", diff)
	}
}

// The calls of a resumed run have no response in it. They are sorted as in the messages of its first
// request, and so are the runs that they start.
func TestCanonicalResumed(t *testing.T) {
	end := func(id string) trace.Body { return trace.ToolEnd{ToolCallID: id} }
	request := trace.ModelRequest{NewMessages: []llm.Message{llm.User("x"), turn("b", "a").Message}}
	child := func(run, call string) trace.Event {
		return trace.Event{Run: run, Body: trace.RunStart{Parent: &trace.Parent{Run: "x", ToolCallID: call}}}
	}
	one := in("x", trace.RunStart{}, trace.Resumed{Of: "w"}, end("b"), end("a"), trace.StepEnd{}, request, turn("c", "d"), end("c"), end("d"))
	other := in("x", trace.RunStart{}, trace.Resumed{Of: "w"}, end("a"), end("b"), trace.StepEnd{}, request, turn("c", "d"), end("d"), end("c"))
	for i := range other {
		other[i].At = one[i].At
	}
	got := trace.Canonical(append(other, child("y", "a"), child("z", "b")))
	if diff := cmp.Diff(trace.Canonical(append(one, child("z", "b"), child("y", "a"))), got); diff != "" {
		t.Errorf("canonical forms (-one +other):\n%s", diff)
	}
	if first := got[2].Body.(trace.ToolEnd).ToolCallID; first != "b" {
		t.Errorf("the first result is that of %q, want b", first)
	}
}

func TestProject(t *testing.T) {
	opaque := json.RawMessage(`{"sig":1}`)
	all := []llm.Part{
		llm.Text{Text: "t", Refusal: true, Opaque: opaque}, llm.Reasoning{Text: "r", Opaque: opaque}, llm.Media{MediaType: "m", Opaque: opaque},
		llm.ToolCall{ID: "toolu_2", Name: "n", Arguments: "{}", IDGenerated: true, ProviderID: "p", ProviderExecuted: true, Opaque: opaque},
		llm.ToolResult{ID: "toolu_1", Content: []llm.Part{llm.Text{Text: "x", Opaque: opaque}}, IsError: true, Opaque: opaque},
		llm.Unknown{Kind: "k", Raw: opaque},
	}
	bare := func(call, result string) []llm.Part {
		return []llm.Part{
			llm.Text{Text: "t", Refusal: true}, llm.Reasoning{Text: "r"}, llm.Media{MediaType: "m"},
			llm.ToolCall{ID: call, Name: "n", Arguments: "{}", ProviderExecuted: true},
			llm.ToolResult{ID: result, Content: []llm.Part{llm.Text{Text: "x"}}, IsError: true},
			llm.Unknown{Kind: "k", Raw: opaque},
		}
	}
	message := func(parts []llm.Part) llm.Message {
		return llm.Message{Role: llm.RoleAssistant, Parts: parts, Opaque: opaque}
	}
	u := llm.Usage{InputTokens: 1}
	evs := in("x",
		trace.RunStart{}, trace.ModelConfig{Model: "m", System: llm.SystemText("s"), Extra: map[string]json.RawMessage{"a": opaque}},
		trace.ModelRequest{PrefixMessages: 1, NewMessages: []llm.Message{message(all)}},
		trace.ModelResponse{Message: message(all), FinishReason: llm.FinishToolCalls, RawFinishReason: "STOP", FinishMessage: "why", ResponseID: "id", Model: "m", Usage: u},
		trace.ModelError{Error: trace.Error{Code: "c"}, PartialContent: all, Usage: u},
		trace.ToolArguments{ToolCallID: "toolu_3", Arguments: "{}"}, trace.ToolStart{ToolCallID: "toolu_4"}, trace.ToolEnd{ToolCallID: "toolu_5", Result: llm.ToolResult{ID: "toolu_5", Opaque: opaque}},
		trace.ToolSkip{ToolCallID: "toolu_6", Result: llm.ToolResult{ID: "toolu_6", Opaque: opaque}}, trace.Abandoned{ToolCallID: "toolu_7"}, trace.Warning{Code: "w", ToolCallID: "toolu_8"}, trace.Warning{Code: "v"},
		trace.Suspended{Pending: []string{"toolu_9", "toolu_1"}, Digest: "d"},
		trace.RunEnd{FinishReason: llm.FinishToolCalls, Pending: []string{"toolu_10"}, AppendedMessages: []llm.Message{message(all)}},
	)
	evs = append(evs, in("y", trace.RunStart{Parent: &trace.Parent{Run: "x", ToolCallID: "toolu_4"}}, trace.ToolStart{ToolCallID: "toolu_4"})...)
	plain := func(call, result string) llm.Message {
		return llm.Message{Role: llm.RoleAssistant, Parts: bare(call, result)}
	}
	want := []trace.Body{
		trace.RunStart{}, trace.ModelConfig{System: llm.SystemText("s")},
		trace.ModelRequest{PrefixMessages: 1, NewMessages: []llm.Message{plain("c1", "c2")}},
		trace.ModelResponse{Message: plain("c1", "c2"), FinishReason: llm.FinishStop, Usage: u},
		trace.ModelError{Error: trace.Error{Code: "c"}, PartialContent: bare("c1", "c2"), Usage: u},
		trace.ToolArguments{ToolCallID: "c3", Arguments: "{}"}, trace.ToolStart{ToolCallID: "c4"}, trace.ToolEnd{ToolCallID: "c5", Result: llm.ToolResult{ID: "c5"}},
		trace.ToolSkip{ToolCallID: "c6", Result: llm.ToolResult{ID: "c6"}}, trace.Abandoned{ToolCallID: "c7"}, trace.Warning{Code: "w", ToolCallID: "c8"}, trace.Warning{Code: "v"},
		trace.Suspended{Pending: []string{"c9", "c2"}},
		trace.RunEnd{FinishReason: llm.FinishStop, Pending: []string{"c10"}, AppendedMessages: []llm.Message{plain("c1", "c2")}},
		trace.RunStart{Parent: &trace.Parent{Run: "r1", ToolCallID: "c4"}}, trace.ToolStart{ToolCallID: "c1"},
	}
	var got []trace.Body
	for _, ev := range trace.Project(evs) {
		got = append(got, ev.Body)
	}
	if diff := cmp.Diff(want, got, equal); diff != "" {
		t.Errorf("projection (-want +got):\n%s", diff)
	}
}
