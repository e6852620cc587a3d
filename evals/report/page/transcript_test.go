package page

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
	"github.com/looptape/looptape/trace/importer"
)

func call(id, name, args string) llm.ToolCall {
	return llm.ToolCall{ID: id, Name: name, Arguments: args}
}

func answers(id, text string) llm.ToolResult {
	return llm.ToolResult{ID: id, Name: "look", Content: []llm.Part{llm.Text{Text: text}}}
}

func fails(id, text string) llm.ToolResult {
	r := answers(id, text)
	r.IsError = true
	return r
}

func system(text string) llm.Message {
	return llm.Message{Role: llm.RoleSystem, Parts: []llm.Part{llm.Text{Text: text}}}
}

func TestMessages(t *testing.T) {
	for name, c := range map[string]struct {
		messages []llm.Message
		want     []entry
	}{
		"what is said": {
			[]llm.Message{system("be brief"), llm.User("hello"), llm.Assistant(llm.Reasoning{Text: "so"}, llm.Text{Text: "hi"}), llm.Assistant(llm.Text{Text: "no", Refusal: true})},
			[]entry{
				{Kind: kindSystem, Text: "be brief"}, {Kind: kindUser, Text: "hello"},
				{Kind: kindReasoning, Text: "so", Step: 1}, {Kind: kindAssistant, Text: "hi"}, {Kind: kindRefusal, Text: "no", Step: 2},
			},
		},
		"a call and its result": {
			[]llm.Message{llm.Assistant(call("1", "look", "{}")), llm.ToolResults(answers("1", "found"))},
			[]entry{{Kind: kindCall, Step: 1, Name: "look", ID: "1", Text: "{}", Answered: true, Result: "found"}},
		},
		"an error": {
			[]llm.Message{llm.Assistant(call("1", "look", "{}")), llm.ToolResults(fails("1", "lost"))},
			[]entry{{Kind: kindCall, Step: 1, Name: "look", ID: "1", Text: "{}", Answered: true, Failed: true, Result: "lost"}},
		},
		"an id used again": {
			[]llm.Message{
				llm.Assistant(call("1", "look", "a")), llm.ToolResults(answers("1", "first")),
				llm.Assistant(call("1", "look", "b"), call("1", "look", "c")), llm.ToolResults(answers("1", "second"), answers("1", "third")),
			},
			[]entry{
				{Kind: kindCall, Step: 1, Name: "look", ID: "1", Text: "a", Answered: true, Result: "first"},
				{Kind: kindCall, Step: 2, Name: "look", ID: "1", Text: "b", Answered: true, Result: "second"},
				{Kind: kindCall, Name: "look", ID: "1", Text: "c", Answered: true, Result: "third"},
			},
		},
		"no result, and the result of no call": {
			[]llm.Message{llm.Assistant(call("1", "look", "{}")), llm.ToolResults(answers("2", "found"))},
			[]entry{{Kind: kindCall, Step: 1, Name: "look", ID: "1", Text: "{}"}, {Kind: kindResult, Name: "look", ID: "2", Answered: true, Result: "found"}},
		},
		"a tool message without a call": {
			[]llm.Message{{Role: llm.RoleTool, Parts: []llm.Part{llm.Text{Text: "found"}}}},
			[]entry{{Kind: kindResult, Answered: true, Result: "found"}},
		},
		"what has no text": {
			[]llm.Message{llm.Assistant(), llm.Assistant(
				llm.Reasoning{Opaque: []byte("{}")}, llm.Unknown{Kind: "hologram"}, llm.Media{MediaType: "image/png", Name: "map", Data: []byte("png")},
				llm.Media{URL: "file:map"}, llm.Text{}, llm.ToolCall{ID: "1", Name: "search", ProviderExecuted: true})},
			[]entry{
				{Kind: kindOther, Text: "a response without content", Step: 1},
				{Kind: kindOther, Text: "hidden reasoning", Step: 2}, {Kind: kindOther, Text: "a part of the kind hologram"},
				{Kind: kindOther, Text: "image/png, map, 3 bytes"}, {Kind: kindOther, Text: "a file, file:map"},
				{Kind: kindCall, Name: "search", ID: "1", Skipped: "the provider ran it"},
			},
		},
		"a file as a result": {
			[]llm.Message{llm.Assistant(call("1", "look", "")), llm.ToolResults(llm.ToolResult{ID: "1", Content: []llm.Part{
				llm.Text{Text: "a map: "}, llm.Media{MediaType: "image/png", Size: 7}, llm.Unknown{Kind: "hologram"}}})},
			[]entry{{Kind: kindCall, Step: 1, Name: "look", ID: "1", Answered: true, Result: "a map: [image/png, 7 bytes]"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := read(&importer.Run{Messages: c.messages})
			if diff := cmp.Diff(c.want, got.Entries); diff != "" {
				t.Errorf("entries (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWanted(t *testing.T) {
	hi := []llm.Message{llm.Assistant(llm.Text{Text: "hi"})}
	for name, c := range map[string]struct {
		run    importer.Run
		want   []entry
		answer *entry
	}{
		"nothing":                  {run: importer.Run{Messages: hi}},
		"an answer in a message":   {run: importer.Run{Messages: hi, Answer: "hi"}},
		"an answer in no message":  {run: importer.Run{Messages: hi, Answer: "ho"}, answer: &entry{Kind: kindAssistant, Text: "ho"}},
		"an answer as a user says": {run: importer.Run{Messages: []llm.Message{llm.User("ho")}, Answer: "ho"}, answer: &entry{Kind: kindAssistant, Text: "ho"}},
		"answers":                  {run: importer.Run{Expected: importer.Expected{Answers: []string{"a", "b"}}}, want: []entry{{Kind: kindAssistant, Text: "a"}, {Kind: kindAssistant, Text: "b"}}},
		"calls": {run: importer.Run{Expected: importer.Expected{Calls: []importer.Call{{Name: "look", Arguments: []byte("{}")}}}},
			want: []entry{{Kind: kindCall, Name: "look", Text: "{}"}}},
	} {
		t.Run(name, func(t *testing.T) {
			got := read(&c.run)
			if diff := cmp.Diff(c.want, got.Want); diff != "" {
				t.Errorf("expected (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.answer, got.Answer); diff != "" {
				t.Errorf("final answer (-want +got):\n%s", diff)
			}
		})
	}
}

// TestLongTexts checks that long texts and runs are shortened, never within a character.
func TestLongTexts(t *testing.T) {
	long := strings.Repeat("x", maxText-1) + "ä" + "more"
	cut := entry{Kind: kindUser, Text: long[:maxText-1], Cut: len("ä" + "more")}
	got := read(&importer.Run{Messages: []llm.Message{llm.User(long[:maxText-1]), llm.User(long)}})
	if diff := cmp.Diff([]entry{{Kind: kindUser, Text: long[:maxText-1]}, cut}, got.Entries); diff != "" || !got.cut {
		t.Errorf("entries, cut is %v (-want +got):\n%s", got.cut, diff)
	}

	var messages []llm.Message
	for range maxRun / maxText {
		messages = append(messages, llm.User(strings.Repeat("y", maxText)))
	}
	if got := read(&importer.Run{Messages: messages}); got.cut || got.Left != 0 || len(got.Entries) != len(messages) {
		t.Errorf("a run that fits: cut is %v, %d entries, %d omitted", got.cut, len(got.Entries), got.Left)
	}
	messages[0] = llm.Assistant(call("1", "look", "{}"))
	messages = append(messages, llm.User("all of this"+strings.Repeat("z", maxText)), llm.ToolResults(answers("1", "late")), llm.User("no more"), llm.Assistant())
	full := read(&importer.Run{Messages: messages})
	last := full.Entries[len(full.Entries)-1]
	if full.size != maxRun || full.Left != 2 || last.Cut != len("all of this{}") || !full.cut {
		t.Errorf("a run that does not fit: %d bytes, %d omitted, the last is cut by %d", full.size, full.Left, last.Cut)
	}
	if first := full.Entries[0]; !first.Answered || first.Result != "" || first.Cut != len("late") {
		t.Errorf("its call: %+v", first)
	}
}

func TestEvents(t *testing.T) {
	request := func(kept int, messages ...llm.Message) trace.ModelRequest {
		return trace.ModelRequest{PrefixMessages: kept, NewMessages: messages}
	}
	turn := func(finish llm.FinishReason, parts ...llm.Part) trace.ModelResponse {
		return trace.ModelResponse{Message: llm.Assistant(parts...), FinishReason: finish}
	}
	asked := call("1", "look", "{}")
	answered := entry{Kind: kindCall, Step: 1, Finish: llm.FinishToolCalls, Name: "look", ID: "1", Text: "{}", Answered: true, Result: "found"}
	user := entry{Kind: kindUser, Text: "hello"}
	for name, c := range map[string]struct {
		bodies []trace.Body
		want   []entry
	}{
		"steps": {
			[]trace.Body{
				trace.ModelConfig{System: llm.SystemText("be brief")}, request(0, llm.User("hello")), turn(llm.FinishToolCalls, asked),
				trace.ToolStart{ToolCallID: "1"}, trace.ToolEnd{ToolCallID: "1", Result: answers("other", "found")}, trace.ModelConfig{System: llm.SystemText("be brief")},
				request(1, llm.Assistant(asked), llm.ToolResults(answers("1", "found")), llm.User("and?"), system("now")), turn(llm.FinishStop, llm.Text{Text: "hi"}),
				trace.RunEnd{StopReason: trace.ReasonEndTurn, AppendedMessages: []llm.Message{llm.Assistant(llm.Text{Text: "hi"})}},
			},
			[]entry{
				{Kind: kindSystem, Text: "be brief"}, user, answered, {Kind: kindUser, Text: "and?"}, {Kind: kindSystem, Text: "now"},
				{Kind: kindAssistant, Step: 2, Finish: llm.FinishStop, Text: "hi"},
			},
		},
		"a history": {
			[]trace.Body{request(0, llm.User("hello"), llm.Assistant(llm.Text{Text: "hi"})), turn(llm.FinishStop, llm.Text{Text: "so"})},
			[]entry{user, {Kind: kindAssistant, Text: "hi"}, {Kind: kindAssistant, Step: 1, Finish: llm.FinishStop, Text: "so"}},
		},
		"a result only in a request": {
			[]trace.Body{request(0, llm.User("hello")), turn(llm.FinishToolCalls, asked), request(2, llm.ToolResults(answers("1", "found")))},
			[]entry{user, answered},
		},
		"a rewrite": {
			[]trace.Body{request(0, llm.User("hello")), trace.HistoryRewrite{Reason: "compaction"}, request(0, llm.Assistant(llm.Text{Text: "in short"})), request(1, llm.Assistant(llm.Text{Text: "seen"}))},
			[]entry{user, {Kind: kindNote, Text: "the messages were rewritten: compaction"}, {Kind: kindAssistant, Text: "in short"}},
		},
		"other arguments, and none": {
			[]trace.Body{turn(llm.FinishToolCalls, asked), trace.ToolArguments{ToolCallID: "1", Arguments: `{"a":1}`}, trace.ToolArguments{ToolCallID: "2", Arguments: "{}"}, trace.ToolSkip{ToolCallID: "1", Reason: "denied", Result: fails("1", "no")}},
			[]entry{{Kind: kindCall, Step: 1, Finish: llm.FinishToolCalls, Name: "look", ID: "1", Text: "{}", Ran: `{"a":1}`, Answered: true, Failed: true, Skipped: "denied", Result: "no"}},
		},
		"what happened": {
			[]trace.Body{
				trace.RunStart{}, trace.Resumed{Of: "r0"}, trace.ModelError{Error: trace.Error{Message: "busy"}}, trace.ModelRetry{Reason: "busy"}, trace.Warning{Message: "odd"},
				trace.Abandoned{ToolCallID: "1"}, trace.Canceled{Reason: "deadline"}, trace.Suspended{}, trace.RunEnd{StopReason: trace.ReasonMaxSteps},
			},
			[]entry{
				{Kind: kindNote, Text: "the run continues another run: r0"}, {Kind: kindError, Text: "a call of the model failed: busy"},
				{Kind: kindNote, Text: "the model is called again: busy"}, {Kind: kindNote, Text: "warning: odd"}, {Kind: kindError, Text: "a running tool was not waited for: 1"},
				{Kind: kindNote, Text: "the run was canceled: deadline"}, {Kind: kindNote, Text: "the run waits for an external result"}, {Kind: kindNote, Text: "the run ended: max_steps"},
			},
		},
		"a failure": {
			[]trace.Body{trace.RunEnd{StopReason: trace.ReasonError, Error: &trace.Error{Message: "broken"}}},
			[]entry{{Kind: kindError, Text: "the run failed: broken"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, read(traced("r1", c.bodies...)).Entries); diff != "" {
				t.Errorf("entries (-want +got):\n%s", diff)
			}
		})
	}
}

// TestPurpose checks that responses for another purpose are in the transcript and that their
// requests are not.
func TestPurpose(t *testing.T) {
	run := traced("r1", trace.ModelConfig{System: llm.SystemText("sum up")}, trace.ModelRequest{NewMessages: []llm.Message{llm.User("all of it")}}, trace.ModelResponse{Message: llm.Assistant(llm.Text{Text: "in short"})})
	for i := range run.Events {
		run.Events[i].Purpose = trace.PurposeSummary
	}
	want := []entry{{Kind: kindAssistant, Text: "in short", Step: 1, Purpose: trace.PurposeSummary}}
	if diff := cmp.Diff(want, read(run).Entries); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
}

// traced is a run of a trace.
func traced(name string, bodies ...trace.Body) *importer.Run {
	run := &importer.Run{Name: name}
	for _, b := range bodies {
		run.Events = append(run.Events, trace.Event{Run: name, Body: b})
	}
	return run
}
