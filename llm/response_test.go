package llm_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/looptape/looptape/llm"
)

func turn(events ...llm.Event) *llm.Response {
	var acc llm.Accumulator
	for _, ev := range events {
		acc.Add(ev)
	}
	return acc.Response()
}

var (
	opaque1 = json.RawMessage(`{"sig":1}`)
	opaque2 = json.RawMessage(`{"sig":2}`)
	stop    = llm.Finish{Reason: llm.FinishStop}
)

func start(i int, id, name string) llm.Event { return llm.ToolCallStart{Index: i, ID: id, Name: name} }
func delta(i int, id, args string) llm.Event {
	return llm.ToolCallDelta{Index: i, ID: id, Arguments: args}
}
func end(i int, id string) llm.Event { return llm.ToolCallEnd{Index: i, ID: id} }

func TestAccumulatorParts(t *testing.T) {
	noEnd := func(id string) llm.Warning {
		return llm.Warning{Code: llm.WarnNoCallEnd, Message: "the call " + id + " was not ended by the provider"}
	}
	noArgs := llm.Warning{Code: llm.WarnNoCallStart, Message: "arguments came for no open call and were dropped"}
	noCall := llm.Warning{Code: llm.WarnNoCallStart, Message: "an end came for no open call and was dropped"}
	call := func(id, name, args string) llm.Part { return llm.ToolCall{ID: id, Name: name, Arguments: args} }
	for _, c := range []struct {
		name     string
		events   []llm.Event
		want     []llm.Part
		warnings []llm.Warning
	}{
		{"nothing", nil, nil, nil},
		{"text in a row", []llm.Event{llm.TextDelta{Text: "a"}, llm.TextDelta{}, llm.TextDelta{Text: "b"}, llm.TextDelta{Text: "c"}}, []llm.Part{llm.Text{Text: "abc"}}, nil},
		{"empty text says nothing", []llm.Event{llm.TextDelta{}, llm.ReasoningDelta{Text: "a"}, llm.TextDelta{}, llm.ReasoningDelta{Text: "b"}, llm.TextDelta{Refusal: true}}, []llm.Part{llm.Reasoning{Text: "ab"}}, nil},
		{"empty reasoning is a part", []llm.Event{llm.ReasoningDelta{}}, []llm.Part{llm.Reasoning{}}, nil},
		{"an opaque datum ends the text that it is on", []llm.Event{llm.TextDelta{Text: "a"}, llm.TextDelta{Text: "b", Opaque: opaque1}, llm.TextDelta{Text: "c"}, llm.TextDelta{Opaque: opaque2}}, []llm.Part{llm.Text{Text: "ab", Opaque: opaque1}, llm.Text{Text: "c", Opaque: opaque2}}, nil},
		{"an opaque datum ends the reasoning that it is on", []llm.Event{llm.ReasoningDelta{Text: "a"}, llm.ReasoningDelta{Opaque: opaque1}, llm.ReasoningDelta{Text: "b"}}, []llm.Part{llm.Reasoning{Text: "a", Opaque: opaque1}, llm.Reasoning{Text: "b"}}, nil},
		{"parts in the order in which they began", []llm.Event{llm.TextDelta{Text: "a"}, start(1, "x", "f"), llm.TextDelta{Text: "b"}, delta(1, "", "{}"), llm.ReasoningDelta{Text: "c"}, end(1, ""), llm.TextDelta{Text: "d"}},
			[]llm.Part{llm.Text{Text: "a"}, call("x", "f", "{}"), llm.Text{Text: "b"}, llm.Reasoning{Text: "c"}, llm.Text{Text: "d"}}, nil},
		{"a refusal is a part of its own", []llm.Event{llm.TextDelta{Text: "a"}, llm.TextDelta{Text: "no", Refusal: true}, llm.TextDelta{Text: "!", Refusal: true}}, []llm.Part{llm.Text{Text: "a"}, llm.Text{Text: "no!", Refusal: true}}, nil},
		{"whole parts", []llm.Event{llm.PartDone{Part: llm.Media{URL: "u"}}, llm.PartDone{Part: llm.ToolCall{ID: "s", ProviderExecuted: true}}, llm.PartDone{Part: llm.Text{Text: "a"}}, llm.TextDelta{Text: "b"}},
			[]llm.Part{llm.Media{URL: "u"}, llm.ToolCall{ID: "s", ProviderExecuted: true}, llm.Text{Text: "a"}, llm.Text{Text: "b"}}, nil},

		{"calls by index", []llm.Event{start(1, "x", "f"), start(2, "y", "g"), delta(1, "", `{"a"`), delta(2, "", `{"b"`), delta(1, "", `:1}`), delta(2, "", `:2}`), end(2, ""), end(1, "")},
			[]llm.Part{call("x", "f", `{"a":1}`), call("y", "g", `{"b":2}`)}, nil},
		{"calls by id", []llm.Event{start(0, "x", "f"), start(0, "y", "g"), delta(0, "x", "1"), delta(0, "y", "2"), end(0, "y"), end(0, "x")}, []llm.Part{call("x", "f", "1"), call("y", "g", "2")}, nil},
		{"by id where the index is unknown", []llm.Event{start(1, "x", "f"), start(2, "y", "g"), delta(9, "x", "1"), delta(9, "y", "2"), end(9, "y"), delta(9, "y", "3"), end(2, ""), end(1, "")},
			[]llm.Part{call("x", "f", "13"), call("y", "g", "2")}, []llm.Warning{noCall}},
		{"by index rather than by id", []llm.Event{start(1, "x", "f"), start(2, "y", "g"), delta(1, "y", "1"), end(1, "y"), end(2, "x")}, []llm.Part{call("x", "f", "1"), call("y", "g", "")}, nil},
		{"by neither: arguments go to the last one opened, an end to the first unfinished", []llm.Event{start(0, "x", "f"), start(0, "y", "g"), start(0, "z", "h"), delta(0, "", "3"), end(0, ""), delta(0, "", "4"), end(0, ""), end(0, "")},
			[]llm.Part{call("x", "f", ""), call("y", "g", ""), call("z", "h", "34")}, nil},
		{"an end closes the first that is not closed", []llm.Event{start(0, "x", "f"), start(0, "y", "g"), end(0, ""), delta(0, "x", "1"), end(0, "")}, []llm.Part{call("x", "f", ""), call("y", "g", "1")}, nil},
		{"the last one of an id that is repeated", []llm.Event{start(0, "x", "f"), start(0, "x", "g"), delta(0, "x", "1"), end(0, "x"), delta(0, "x", "2"), end(0, "x")}, []llm.Part{call("x", "f", "2"), call("x", "g", "1")}, nil},
		{"no call", []llm.Event{delta(1, "x", "{}"), end(1, "x"), start(1, "x", "f"), end(1, "x"), delta(1, "x", "1"), end(1, "x")}, []llm.Part{call("x", "f", "")}, []llm.Warning{noArgs, noCall, noArgs, noCall}},
		{"a missing end", []llm.Event{start(1, "x", "f"), delta(1, "", `{"a":1}`), start(2, "y", "g"), end(2, "")}, []llm.Part{call("x", "f", `{"a":1}`), call("y", "g", "")}, []llm.Warning{noEnd("x")}},

		{"a name that comes later", []llm.Event{start(1, "x", ""), delta(1, "", "{}"), start(1, "", "f"), end(1, "")}, []llm.Part{call("x", "f", "{}")}, nil},
		{"a second name opens another call", []llm.Event{start(1, "x", "f"), start(1, "y", "g"), delta(1, "", "2"), end(1, ""), end(1, "")}, []llm.Part{call("x", "f", ""), call("y", "g", "2")}, nil},
		{"no name again opens another call", []llm.Event{start(1, "x", ""), start(1, "y", ""), end(1, ""), end(1, "")}, []llm.Part{call("x", "", ""), call("y", "", "")}, nil},
		{"a name for another index opens a call", []llm.Event{start(1, "x", ""), start(2, "y", "g"), end(1, ""), end(2, "")}, []llm.Part{call("x", "", ""), call("y", "g", "")}, nil},
		{"a name without an index opens a call", []llm.Event{start(0, "x", ""), start(0, "x", "g"), end(0, ""), end(0, "")}, []llm.Part{call("x", "", ""), call("x", "g", "")}, nil},
		{"a name for a closed call opens another", []llm.Event{start(1, "x", ""), end(1, ""), start(1, "y", "g"), end(1, "")}, []llm.Part{call("x", "", ""), call("y", "g", "")}, nil},

		{"opaque data of a call: the last one", []llm.Event{llm.ToolCallStart{ID: "x", Opaque: opaque1}, llm.ToolCallEnd{}, llm.ToolCallStart{ID: "y", Opaque: opaque1}, llm.ToolCallEnd{Opaque: opaque2}},
			[]llm.Part{llm.ToolCall{ID: "x", Opaque: opaque1}, llm.ToolCall{ID: "y", Opaque: opaque2}}, nil},
		{"opaque data that comes with the name", []llm.Event{llm.ToolCallStart{Index: 1, ID: "x", Opaque: opaque1}, llm.ToolCallStart{Index: 1, Name: "f", Opaque: opaque2}, end(1, ""), llm.ToolCallStart{Index: 1, ID: "y", Opaque: opaque1}, start(1, "", "g"), end(1, "")},
			[]llm.Part{llm.ToolCall{ID: "x", Name: "f", Opaque: opaque2}, llm.ToolCall{ID: "y", Name: "g", Opaque: opaque1}}, nil},
		{"an end with the arguments", []llm.Event{start(1, "x", "f"), delta(1, "", `{"a"`), delta(1, "", `1}`), start(2, "y", "g"), delta(2, "", "2"), start(3, "z", "h"), llm.ToolCallEnd{Index: 1, Arguments: `{"a":1}`}, llm.ToolCallEnd{Index: 2}, llm.ToolCallEnd{Index: 3, Arguments: "3"}},
			[]llm.Part{call("x", "f", `{"a":1}`), call("y", "g", "2"), call("z", "h", "3")}, nil},
		{"an end with arguments that are not JSON", []llm.Event{start(1, "x", "f"), delta(1, "", "{"), delta(1, "", `{}`), llm.ToolCallEnd{Index: 1, Arguments: "oops"}}, []llm.Part{call("x", "f", "oops")}, nil},
		{"the adapter's warnings", []llm.Event{llm.Warning{Code: "a", Message: "b"}}, nil, []llm.Warning{{Code: "a", Message: "b"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := turn(append(c.events, stop)...)
			if diff := cmp.Diff(c.want, got.Parts); diff != "" {
				t.Errorf("parts (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.warnings, got.Warnings); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAccumulatorArguments(t *testing.T) {
	for _, c := range []struct {
		name   string
		pieces []string
		want   string
		merged bool
	}{
		{"none", nil, "", false},
		{"empty deltas", []string{"", ""}, "", false},
		{"valid", []string{`{"a":`, ``, `1}`}, `{"a":1}`, false},
		{"in one piece", []string{`{"a":1}`}, `{"a":1}`, false},
		{"with unusual spacing", []string{` { "a" : 1 } `}, ` { "a" : 1 } `, false},
		{"not JSON", []string{`{"a":`, `oops`}, `{"a":oops`, false},
		{"not UTF-8", []string{"{\"a\":\"\xff\"}"}, "{\"a\":\"\xff\"}", false},
		{"not UTF-8, in two deltas", []string{"[\"", "\xff\"]"}, "[\"\xff\"]", false},
		{"not JSON, with one closing bracket", []string{`{a:1}`}, `{a:1}`, false},
		{"space alone", []string{"  "}, "  ", false},
		{"no JSON at all", []string{"hello"}, "hello", false},
		{"cumulative deltas (QO-12)", []string{`{"a`, `{"a":1`, `{"a":1}`}, `{"a":1}`, true},
		{"cumulative, two deltas", []string{`{"a":`, `{"a":1}`}, `{"a":1}`, true},
		{"cumulative, the last one twice", []string{`{"a":`, `{"a":1}`, `{"a":1}`}, `{"a":1}`, true},
		{"cumulative, but never JSON", []string{`{"a`, `{"a":`}, `{"a{"a":`, false},
		{"cumulative, except one delta", []string{`{"a`, `{"b":1`, `{"b":1}`}, `{"a{"b":1{"b":1}`, false},
		{"cumulative, shrinking", []string{`{"a":1}`, `{"a":`, `{"a":1}`}, `{"a":1}{"a":{"a":1}`, false},
		{"a value again (QO-13)", []string{`{"a":1}{"a":1}`}, `{"a":1}`, true},
		{"a value again, spelt otherwise", []string{`{"a":1,"b":2}`, ` {"b":2, "a":1}`}, `{"a":1,"b":2}`, true},
		{"a value three times", []string{`[1][1][1]`}, `[1]`, true},
		{"numbers are equal by their digits", []string{`{"a":1}{"a":1.0}`}, `{"a":1}{"a":1.0}`, false},
		{"another value", []string{`{"a":1}`, `{"a":2}`}, `{"a":1}{"a":2}`, false},
		{"another value third", []string{`{"a":1}{"a":1}{"a":2}`}, `{"a":1}{"a":1}{"a":2}`, false},
		{"a value and a rest", []string{`{"a":1}{"a"`}, `{"a":1}{"a"`, false},
		{"a value again and a NUL", []string{"[1][1]\x00"}, "[1][1]\x00", false},
		{"a value again and a space", []string{"[1][1] "}, "[1]", true},
		{"a placeholder (QO-14)", []string{`{}`, `{"a":1}`}, `{"a":1}`, true},
		{"placeholders", []string{`{}{ }`, `{"a":1}{"a":1}`}, `{"a":1}`, true},
		{"placeholders alone", []string{`{}`, `{}`, `{}`}, `{}`, true},
		{"a placeholder before something else", []string{`{}`, `[1]`}, `{}[1]`, false},
		{"a placeholder and a rest", []string{`{}`, `{"a"`}, `{}{"a"`, false},
		{"a placeholder that comes after", []string{`{"a":1}`, `{}`}, `{"a":1}{}`, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			events := []llm.Event{start(1, "x", "f")}
			for _, p := range c.pieces {
				events = append(events, delta(1, "", p))
			}
			got := turn(append(events, end(1, ""), stop)...)
			var warnings []llm.Warning
			if c.merged {
				warnings = []llm.Warning{{Code: llm.WarnRepeatedArguments, Message: "the arguments of x came more than once; one was kept"}}
			}
			if diff := cmp.Diff([]llm.Part{llm.ToolCall{ID: "x", Name: "f", Arguments: c.want}}, got.Parts); diff != "" {
				t.Errorf("parts (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(warnings, got.Warnings); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAccumulatorFinish(t *testing.T) {
	unfinished := []llm.Warning{{Code: llm.WarnNoFinish, Message: "the answer ended without a finish reason"}}
	for _, c := range []struct {
		name   string
		events []llm.Event
		want   llm.Response
	}{
		{"none", nil, llm.Response{FinishReason: llm.FinishUnknown, Warnings: unfinished}},
		{"without a reason", []llm.Event{llm.Finish{ResponseID: "r"}}, llm.Response{FinishReason: llm.FinishUnknown, ResponseID: "r"}},
		{"all of it", []llm.Event{llm.Finish{Reason: llm.FinishLength, Raw: "MAX", Message: "m", ResponseID: "r", Model: "n", Opaque: opaque1}},
			llm.Response{FinishReason: llm.FinishLength, RawFinishReason: "MAX", FinishMessage: "m", ResponseID: "r", Model: "n", Opaque: opaque1}},
		{"a second that says nothing", []llm.Event{llm.Finish{Reason: llm.FinishLength, Raw: "MAX", Message: "m", ResponseID: "r", Model: "n", Opaque: opaque1}, llm.Finish{Raw: "lost"}},
			llm.Response{FinishReason: llm.FinishLength, RawFinishReason: "MAX", FinishMessage: "m", ResponseID: "r", Model: "n", Opaque: opaque1}},
		{"a second that says all", []llm.Event{llm.Finish{Reason: llm.FinishLength, Raw: "MAX", Message: "m", ResponseID: "r", Model: "n", Opaque: opaque1}, llm.Finish{Reason: llm.FinishStop, Message: "m2", ResponseID: "r2", Model: "n2", Opaque: opaque2}},
			llm.Response{FinishReason: llm.FinishStop, FinishMessage: "m2", ResponseID: "r2", Model: "n2", Opaque: opaque2}},
		{"usage so far", []llm.Event{llm.Usage{InputTokens: 5, OutputTokens: 1, CacheReadInputTokens: 2}, llm.Usage{OutputTokens: 3, ReasoningOutputTokens: 1}, stop}, llm.Response{FinishReason: llm.FinishStop, Usage: llm.Usage{InputTokens: 5, OutputTokens: 3, CacheReadInputTokens: 2, ReasoningOutputTokens: 1}}},
		{"events of newer versions", []llm.Event{llm.Unknown{Kind: "x"}, stop}, llm.Response{FinishReason: llm.FinishStop, UnknownEvents: []llm.Unknown{{Kind: "x"}}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(&c.want, turn(c.events...)); diff != "" {
				t.Errorf("response (-want +got):\n%s", diff)
			}
		})
	}
}

// Add returns the call that an event belongs to.
func TestAccumulatorAdd(t *testing.T) {
	acc := llm.Accumulator{NewID: func(id string) (string, bool) {
		if id == "" {
			return "m1", true
		}
		return id, false
	}}
	type row struct {
		ev   llm.Event
		want *llm.OpenCall
	}
	for i, r := range []row{
		{llm.TextDelta{Text: "a"}, nil}, {llm.ReasoningDelta{Text: "a"}, nil}, {llm.Usage{InputTokens: 1}, nil}, {stop, nil}, {llm.Warning{}, nil}, {llm.Unknown{}, nil},
		{start(1, "", ""), &llm.OpenCall{Index: 1, ID: "m1"}},
		{start(1, "", "f"), &llm.OpenCall{Index: 1, ID: "m1", Name: "f"}},
		{start(2, "y", "g"), &llm.OpenCall{Index: 2, ID: "y", ProviderID: "y", Name: "g"}},
		{delta(1, "", "{}"), &llm.OpenCall{Index: 1, ID: "m1", Name: "f"}},
		{end(1, ""), &llm.OpenCall{Index: 1, ID: "m1", Name: "f", Closed: true}},
		{end(2, ""), &llm.OpenCall{Index: 2, ID: "y", ProviderID: "y", Name: "g", Closed: true}},
		{delta(1, "", "{}"), nil}, {end(1, ""), nil},
		{llm.PartDone{Part: llm.ToolCall{ID: "z", Name: "h"}}, &llm.OpenCall{ID: "z", ProviderID: "z", Name: "h", Closed: true}},
		{llm.PartDone{Part: llm.ToolCall{ID: "s", ProviderExecuted: true}}, nil}, {llm.PartDone{Part: llm.Text{}}, nil},
	} {
		if diff := cmp.Diff(r.want, acc.Add(r.ev), cmpopts.IgnoreUnexported(llm.OpenCall{})); diff != "" {
			t.Errorf("Add %d (-want +got):\n%s", i, diff)
		}
	}
}

func TestAccumulatorReset(t *testing.T) {
	mint := func(id string) (string, bool) { return "m-" + id, true }
	acc := llm.Accumulator{NewID: mint}
	for _, ev := range []llm.Event{llm.TextDelta{Text: "a"}, start(1, "x", "f"), end(1, ""), llm.Warning{Code: "w"}, llm.Usage{InputTokens: 5}, llm.Finish{Reason: llm.FinishStop, Model: "m"}} {
		acc.Add(ev)
	}
	first := acc.Response()
	want := &llm.Response{
		Parts:        []llm.Part{llm.Text{Text: "a"}, llm.ToolCall{ID: "m-x", Name: "f", IDGenerated: true, ProviderID: "x"}},
		FinishReason: llm.FinishStop, Model: "m", Usage: llm.Usage{InputTokens: 5}, Warnings: []llm.Warning{{Code: "w"}},
	}
	acc.Reset()
	for _, ev := range []llm.Event{llm.ReasoningDelta{Text: "b"}, start(1, "y", "g"), end(1, ""), llm.Warning{Code: "v"}} {
		acc.Add(ev)
	}
	second := acc.Response()
	if diff := cmp.Diff(want, first); diff != "" {
		t.Errorf("the first response, later (-want +got):\n%s", diff)
	}
	want = &llm.Response{
		Parts:        []llm.Part{llm.Reasoning{Text: "b"}, llm.ToolCall{ID: "m-y", Name: "g", IDGenerated: true, ProviderID: "y"}},
		FinishReason: llm.FinishUnknown, Warnings: []llm.Warning{{Code: "v"}, {Code: llm.WarnNoFinish, Message: "the answer ended without a finish reason"}},
	}
	if diff := cmp.Diff(want, second); diff != "" {
		t.Errorf("the second response (-want +got):\n%s", diff)
	}
	ordered := llm.Accumulator{OrderByEnd: true}
	x, y := llm.ToolCall{ID: "x", Name: "f"}, llm.ToolCall{ID: "y", Name: "g"}
	for i, want := range [][]llm.Part{{y, x}, {x, y}, {llm.Text{Text: "a"}}} {
		ordered.Reset()
		events := []llm.Event{start(1, "x", "f"), start(2, "y", "g"), end(2-i, ""), end(1+i, "")}
		var warnings []llm.Warning
		if i == 2 {
			events = []llm.Event{llm.TextDelta{Text: "a"}}
			warnings = []llm.Warning{{Code: llm.WarnNoCalls, Message: "the finish reason speaks of tool calls, but none came"}}
		}
		for _, ev := range append(events, llm.Finish{Reason: llm.FinishToolCalls}) {
			ordered.Add(ev)
		}
		if diff := cmp.Diff(&llm.Response{Parts: want, FinishReason: llm.FinishToolCalls, Warnings: warnings}, ordered.Response()); diff != "" {
			t.Errorf("response %d, with the calls in the order of their ends (-want +got):\n%s", i, diff)
		}
	}
}

func TestAccumulatorResponse(t *testing.T) {
	c1, c2 := llm.ToolCall{ID: "a"}, llm.ToolCall{ID: "b", ProviderExecuted: true}
	full := llm.Response{Parts: []llm.Part{llm.Reasoning{Text: "r1"}, llm.Text{Text: "a"}, c1, llm.Reasoning{Text: "r2"}, c2, llm.Text{Text: "b"}}, Opaque: opaque1}
	reasoning, found := full.Reasoning()
	if full.Text() != "ab" || reasoning != "r1r2" || !found {
		t.Errorf("got %q, %q, %v", full.Text(), reasoning, found)
	}
	if _, found := (&llm.Response{Parts: []llm.Part{c1}}).Reasoning(); found {
		t.Error("no reasoning, but some was found")
	}
	if diff := cmp.Diff([]llm.ToolCall{c1}, full.Calls()); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(llm.Message{Role: llm.RoleAssistant, Parts: full.Parts, Opaque: opaque1}, full.Message()); diff != "" {
		t.Errorf("message (-want +got):\n%s", diff)
	}
	if full.Refused() || !(&llm.Response{FinishReason: llm.FinishRefusal}).Refused() || !(&llm.Response{Parts: []llm.Part{llm.Text{}, llm.Text{Refusal: true}}}).Refused() {
		t.Error("Refused is wrong")
	}
}

func TestCollect(t *testing.T) {
	broken := errors.New("broken")
	model := llm.ModelFunc(func(_ context.Context, _ *llm.Request) iter.Seq2[llm.Event, error] {
		return func(yield func(llm.Event, error) bool) {
			_ = yield(llm.TextDelta{Text: "a"}, nil) && yield(start(1, "x", "f"), nil) && yield(nil, broken)
		}
	})
	got, err := llm.Collect(model.Stream(t.Context(), nil))
	if !errors.Is(err, broken) {
		t.Errorf("got error %v, want broken", err)
	}
	if diff := cmp.Diff([]llm.Part{llm.Text{Text: "a"}, llm.ToolCall{ID: "x", Name: "f"}}, got.Parts); diff != "" {
		t.Errorf("parts (-want +got):\n%s", diff)
	}
	got, err = llm.Collect(func(yield func(llm.Event, error) bool) { yield(stop, nil) })
	if err != nil || got.FinishReason != llm.FinishStop {
		t.Errorf("got %+v and %v", got, err)
	}
}

func TestUsage(t *testing.T) {
	u := llm.Usage{InputTokens: 1, OutputTokens: 2, CacheReadInputTokens: 3, CacheCreationInputTokens: 4, ReasoningOutputTokens: 5}
	if diff := cmp.Diff(llm.Usage{InputTokens: 11, OutputTokens: 22, CacheReadInputTokens: 33, CacheCreationInputTokens: 44, ReasoningOutputTokens: 55}, u.Add(llm.Usage{InputTokens: 10, OutputTokens: 20, CacheReadInputTokens: 30, CacheCreationInputTokens: 40, ReasoningOutputTokens: 50})); diff != "" {
		t.Errorf("Add (-want +got):\n%s", diff)
	}
	if got := u.Update(llm.Usage{}); got != u {
		t.Errorf("Update with nothing: %+v", got)
	}
	v := llm.Usage{InputTokens: 6, OutputTokens: 7, CacheReadInputTokens: 8, CacheCreationInputTokens: 9, ReasoningOutputTokens: 10}
	if got := u.Update(v); got != v {
		t.Errorf("Update with all: %+v", got)
	}
	if u.Total() != 3 {
		t.Errorf("Total %d, want 3", u.Total())
	}
}

func TestMessages(t *testing.T) {
	r := llm.ToolResult{ID: "a", Content: []llm.Part{llm.Text{Text: "x"}, llm.Media{}, llm.Text{Text: "y"}}}
	if r.Text() != "xy" {
		t.Errorf("text %q, want xy", r.Text())
	}
	m := llm.ToolResults(r, llm.ToolResult{ID: "b"})
	if diff := cmp.Diff(llm.Message{Role: llm.RoleTool, Parts: []llm.Part{r, llm.ToolResult{ID: "b"}}}, m); diff != "" {
		t.Errorf("tool message (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(llm.Message{Role: llm.RoleUser, Parts: []llm.Part{llm.Text{Text: "hi"}}}, llm.User("hi")); diff != "" {
		t.Errorf("user message (-want +got):\n%s", diff)
	}
	a := llm.Assistant(llm.Text{Text: "t"}, llm.ToolCall{ID: "a"}, llm.ToolCall{ID: "b", ProviderExecuted: true})
	if a.Role != llm.RoleAssistant || a.Text() != "t" || len(a.Calls()) != 1 {
		t.Errorf("assistant message %+v", a)
	}
}

func TestAPIError(t *testing.T) {
	broken := errors.New("connection reset")
	for _, c := range []struct {
		err  llm.APIError
		want string
	}{
		{llm.APIError{}, "no response"},
		{llm.APIError{Provider: "openai", Err: broken}, "openai: connection: connection reset"},
		{llm.APIError{Provider: "openai", Status: 429, Code: "rate_limit_exceeded", Message: "slow down", RequestID: "req_1"}, "openai: status 429 rate_limit_exceeded: slow down (request req_1)"},
		{llm.APIError{Status: 500, Message: "oops"}, "status 500: oops"},
	} {
		if got := c.err.Error(); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
	if err := fmt.Errorf("x: %w", &llm.APIError{Err: broken}); !errors.Is(err, broken) {
		t.Error("the wrapped value is not found")
	}
}
