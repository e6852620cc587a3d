package deepagents_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/middleware"
	"github.com/looptape/looptape/loop/preset/deepagents"
	"github.com/looptape/looptape/loop/uistream"
	"github.com/looptape/looptape/trace"
)

func execute(t *testing.T, opts *deepagents.Options, tools []loop.Tool, turns ...fake.Response) *deepagents.Stream {
	t.Helper()
	s, err := deepagents.Execute(t.Context(), agent("root", fake.NewModel(turns...), tools...), loop.Prompt("go"), nil, opts)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func kinds(s *deepagents.Stream) string {
	var out []string
	for p := range s.FullStream() {
		out = append(out, p.Type)
	}
	return strings.Join(out, " ")
}

// DA-09: the run ends when the model stops, in the first step or in a later one.
func TestModelStopsDA09(t *testing.T) {
	stop := fake.Response{Text: "done", FinishReason: llm.FinishStop}
	for _, responses := range [][]fake.Response{{stop, stop}, {calls("a"), stop, stop}} {
		model := fake.NewModel(responses...)
		res, err := deepagents.Generate(t.Context(), agent("root", model, tool("a", "A")), loop.Prompt("go"), nil, nil)
		if n := len(model.Requests()); err != nil || n != len(responses)-1 || res.Text != "done" {
			t.Errorf("got %q, %v after %d model calls, want done after %d", res.Text, err, n, len(responses)-1)
		}
	}
}

// DA-37, DA-40: each stream yields the complete run, at the first and at each later read,
// before and after Wait. The text is that of all steps.
func TestStreamsDA37DA40(t *testing.T) {
	first := calls("a")
	first.Text, first.Reasoning = "one ", "hm"
	for _, wait := range []bool{false, true} {
		model := fake.NewModel(first, fake.Response{Chunks: []string{"tw", "o"}})
		s, err := deepagents.Execute(t.Context(), agent("root", model, tool("a", "A")), loop.Prompt("go"), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if wait {
			s.Consume(nil)
			s.Consume(nil)
			if got := len(model.Requests()); got != 2 {
				t.Errorf("Consume returned after %d model calls, want 2: the end of the run", got)
			}
		}
		for range 2 {
			if got := slices.Collect(s.TextStream()); !slices.Equal(got, []string{"one ", "tw", "o"}) {
				t.Errorf("text: %q", got)
			}
			if got := kinds(s); got != "reasoning text-delta tool-call tool-result text-delta text-delta" {
				t.Errorf("parts: %s", got)
			}
			if got := types(s.UI(uistream.Options{})); got != "start start-step reasoning-start reasoning-delta reasoning-end text-start text-delta text-end tool-input-start tool-input-delta tool-input-available tool-output-available finish-step start-step text-start text-delta text-delta text-end finish-step finish" {
				t.Errorf("UI parts: %s", got)
			}
			res, err := s.Wait()
			if err != nil || res.Text != "two" || len(res.Steps) != 2 || res.State != s.State() || s.State() == nil {
				t.Errorf("got %+v, %v", res, err)
			}
		}
		for range s.TextStream() {
			break // stopping the iteration over stored events has no effect
		}
		if _, err := s.Wait(); err != nil {
			t.Error(err)
		}
	}
	failed := execute(t, nil, nil, fake.Response{Error: &fake.Failure{Status: 500, Message: "boom"}})
	for range 2 {
		if got, ui := kinds(failed), types(failed.UI(uistream.Options{})); got != "error" || !strings.HasSuffix(ui, "error finish") {
			t.Errorf("a failed run: parts %s, UI parts %s", got, ui)
		}
		var last error
		for _, last = range failed.Events() {
		}
		if _, err := failed.Wait(); last == nil || !errors.Is(err, last) {
			t.Errorf("the last event of a failed run has the error %v, want %v", last, err)
		}
	}
}

// Concurrent readers of several streams each receive all events.
func TestStreamsConcurrently(t *testing.T) {
	s := execute(t, nil, []loop.Tool{tool("a", "A")}, calls("a"), text("done"))
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if got := kinds(s); got != "tool-call tool-result text-delta" {
				t.Errorf("parts: %s", got)
			}
		})
		wg.Go(func() {
			if res, err := s.Wait(); err != nil || res.Text != "done" {
				t.Errorf("got %+v, %v", res, err)
			}
		})
	}
	wg.Wait()
}

// DA-42: a failure is passed only to onError, also a cancel.
func TestConsumeDA42(t *testing.T) {
	var got []error
	s := execute(t, nil, nil, fake.Response{Error: &fake.Failure{Status: 500, Message: "boom"}})
	s.Consume(func(err error) { got = append(got, err) })
	s.Consume(nil)
	s.Consume(func(err error) { got = append(got, err) }) // after another reader
	if len(got) != 2 || !strings.Contains(got[0].Error(), "boom") || !errors.Is(got[1], got[0]) {
		t.Errorf("got %v", got)
	}
	if got := kinds(s); got != "error" {
		t.Errorf("parts: %s", got)
	}
	execute(t, nil, nil, text("x")).Consume(func(err error) { t.Errorf("got %v", err) })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s, err := deepagents.Execute(ctx, agent("root", fake.NewModel(text("x"))), loop.Prompt("go"), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	s.Consume(func(got error) { err = got })
	if !isAbort(err) {
		t.Errorf("canceled: got %v", err)
	}
	got = nil
	later := execute(t, nil, []loop.Tool{tool("a", "A")}, calls("a"), fake.Response{Text: "some", Error: &fake.Failure{Status: 500, Message: "later"}})
	later.Consume(func(err error) { got = append(got, err) })
	if len(got) != 1 || !strings.Contains(got[0].Error(), "later") {
		t.Errorf("a failure after a step and a text: got %v", got)
	}
}

// DA-34, DA-43: a cancel ends the stream with an abort. A caller that stops the iteration
// cancels the run.
func TestStreamAbortDA34DA43(t *testing.T) {
	slow := text("one two three")
	slow.ChunkSize = 4
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s, err := deepagents.Execute(ctx, agent("root", fake.NewModel(slow)), loop.Prompt("go"), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for p := range s.FullStream() {
		got = append(got, p.Type)
		cancel()
	}
	if diff := cmp.Diff([]string{"text-delta", "abort"}, got); diff != "" {
		t.Errorf("parts (-want +got):\n%s", diff)
	}
	if _, err := s.Wait(); !isAbort(err) {
		t.Errorf("got %v", err)
	}

	s = execute(t, nil, nil, slow)
	for range s.TextStream() {
		break
	}
	if res, err := s.Wait(); !isAbort(err) || !errors.Is(err, loop.ErrIterationStopped) || res.Loop.StopReason != trace.ReasonCancel {
		t.Errorf("left: got %v", err)
	}
	if got := kinds(s); got != "text-delta abort" {
		t.Errorf("left: parts %s", got)
	}

	ctx, cancel = context.WithCancel(t.Context())
	defer cancel()
	parts, err := deepagents.Swarm(ctx, agent("root", fake.NewModel(slow)), loop.Prompt("go"), nil, nil, uistream.Options{})
	if err != nil {
		t.Fatal(err)
	}
	got = nil
	for p := range parts {
		if got = append(got, p.Type); p.Type == "text-delta" {
			cancel()
		}
	}
	if diff := cmp.Diff([]string{"start", "start-step", "text-start", "text-delta", "text-end", "finish-step", "abort"}, got); diff != "" {
		t.Errorf("swarm (-want +got):\n%s", diff)
	}
}

func isAbort(err error) bool {
	_, is := errors.AsType[*deepagents.AbortError](err)
	return is
}

// A panic of a reader reaches that reader, and other readers receive an error.
func TestReaderPanics(t *testing.T) {
	s := execute(t, nil, nil, text("x"))
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic is gone")
			}
		}()
		for range s.TextStream() {
			panic("oh")
		}
	}()
	if res, err := s.Wait(); res != nil || err == nil {
		t.Errorf("got %+v, %v", res, err)
	}
}

// team returns a root with a hook that may hand over to b.
func team(m *fake.Model, hook func(context.Context, middleware.Ended) ([]llm.Message, error)) *deepagents.Agent {
	root, b := agent("root", m), agent("b", nil)
	root.Handoffs, b.Handoffs, root.PrepareEnd = []*deepagents.Agent{b}, []*deepagents.Agent{root}, hook
	b.PrepareEnd = func(context.Context, middleware.Ended) ([]llm.Message, error) {
		return nil, errors.New("the hook of b was called")
	}
	return root
}

// DA-03, DA-31, DA-32, DA-33: the root continues after b in the same stream. The stream
// has one start and one finish, with and without a hook, which is called again until it returns nothing, and
// at most five times. Only Swarm calls the hook.
func TestSwarmDA31DA32DA33(t *testing.T) {
	type key struct{}
	sum := func(ctx context.Context, _ middleware.Ended) ([]llm.Message, error) {
		if ctx.Value(key{}) == nil {
			t.Error("the context of the hook is not that of the run")
		}
		return []llm.Message{llm.User("Sum up."), llm.User("Be short.")}, nil
	}
	hooked := 0
	twice := func(ctx context.Context, e middleware.Ended) ([]llm.Message, error) {
		if hooked++; hooked > 2 {
			return nil, nil
		}
		return sum(ctx, e)
	}
	again := slices.Repeat([]fake.Response{calls("transfer_to_b"), text("b")}, 10)
	for name, c := range map[string]struct {
		hook  func(context.Context, middleware.Ended) ([]llm.Message, error)
		turns []fake.Response
		want  string
	}{
		"until it returns nothing": {twice, again, "b|b|b"},
		"five times at most":       {sum, again, "b|b|b|b|b|b"},
		"with a hook":              {sum, []fake.Response{calls("transfer_to_b"), text("b done"), text("summary")}, "b done|summary"},
		"without":                  {nil, []fake.Response{calls("transfer_to_b"), text("b done")}, "b done"},
		"never transferred":        {sum, []fake.Response{text("root done")}, "root done"},
	} {
		vars := middleware.NewVars(nil)
		m := fake.NewModel(c.turns...)
		parts, err := deepagents.Swarm(context.WithValue(t.Context(), key{}, true), team(m, c.hook), loop.Prompt("go"), vars, nil, uistream.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var said []string
		n := map[string]int{}
		last := ""
		for p := range parts {
			n[p.Type]++
			last = p.Type
			if p.Type == "text-delta" {
				said = append(said, p.Delta)
			}
		}
		if got := strings.Join(said, "|"); got != c.want || n["start"] != 1 || n["finish"] != 1 || last != "finish" {
			t.Errorf("%s: got %s, %v", name, got, n)
		}
		if r := m.Requests(); len(r) > 2 {
			var got []string
			for _, message := range r[2].Messages[3:] {
				got = append(got, message.Text())
			}
			if diff := cmp.Diff([]string{c.turns[1].Text, "Sum up.", "Be short."}, got); diff != "" {
				t.Errorf("%s: the messages of the root (-want +got):\n%s", name, diff)
			}
		}
	}
	m := fake.NewModel(calls("transfer_to_b"), text("b done"))
	res, err := deepagents.Generate(t.Context(), team(m, sum), loop.Prompt("go"), nil, nil)
	if err != nil || res.Text != "b done" {
		t.Errorf("generate: got %+v, %v", res, err)
	}
}

// DA-39: the members of a part have the names of the reference documentation.
func TestPartJSONDA39(t *testing.T) {
	for _, c := range []struct {
		part deepagents.Part
		want string
	}{
		{deepagents.Part{Type: "text-delta", TextDelta: "a"}, `{"type":"text-delta","textDelta":"a"}`},
		{deepagents.Part{Type: "reasoning", TextDelta: "a"}, `{"type":"reasoning","textDelta":"a"}`},
		{deepagents.Part{Type: "tool-call", ToolCallID: "c1", ToolName: "a", Args: json.RawMessage(`{}`)}, `{"type":"tool-call","toolCallId":"c1","toolName":"a","args":{}}`},
		{deepagents.Part{Type: "tool-result", ToolCallID: "c1", ToolName: "a", Args: json.RawMessage(`{}`), Result: json.RawMessage(`1`)}, `{"type":"tool-result","toolCallId":"c1","toolName":"a","args":{},"result":1}`},
		{deepagents.Part{Type: "tool-result", ToolCallID: "c1", ToolName: "a", Args: json.RawMessage(`{}`), Result: json.RawMessage(`"no"`), IsError: true}, `{"type":"tool-result","toolCallId":"c1","toolName":"a","args":{},"result":"no","isError":true}`},
		{deepagents.Part{Type: "error", Err: errors.New("boom")}, `{"type":"error","error":"boom"}`},
		{deepagents.Part{Type: "abort"}, `{"type":"abort"}`},
	} {
		if got, err := c.part.MarshalJSON(); err != nil || string(got) != c.want {
			t.Errorf("got %s, %v, want %s", got, err, c.want)
		}
	}
}

// Client-side calls have parts. Model calls for other purposes have none. The error of a
// recorded trace has a part.
func TestPartsUnusualRuns(t *testing.T) {
	ask, err := loop.ClientTool("ask", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	s := execute(t, nil, []loop.Tool{ask}, calls("ask", "ask"))
	if got := kinds(s); got != "tool-call tool-call" {
		t.Errorf("client tools: %s", got)
	}
	events := func(yield func(trace.Event, error) bool) {
		for _, ev := range []trace.Event{
			{Body: trace.ModelDelta{Type: trace.DeltaText, Text: "{}"}, Purpose: trace.PurposeRepair},
			{Body: trace.ModelDelta{Type: trace.DeltaReasoning, Text: "hm"}},
			{Body: trace.ModelDelta{Type: trace.DeltaCall}},
			{Body: trace.ModelResponse{Message: llm.Assistant(llm.ToolCall{ID: "c1", Name: "a"}, llm.ToolCall{ID: "c2", Name: "b", Arguments: "{"}, llm.ToolCall{ID: "c3", Name: "b"})}},
			{Body: trace.ToolSkip{ToolCallID: "c1", Name: "a", Result: llm.ToolResult{ID: "c1", Name: "a"}}},
			{Body: trace.ToolStart{ToolCallID: "c2", Name: "b", Arguments: `{"n":1}`}}, // repaired
			{Body: trace.ToolEnd{ToolCallID: "c2", Result: llm.ToolResult{ID: "c2", Name: "b"}}},
			{Body: trace.Decision{Action: trace.Suspend}}, // c3 waits
			{Body: trace.RunEnd{Error: &trace.Error{Message: "boom"}}},
		} {
			if !yield(ev, nil) {
				return
			}
		}
	}
	var got []string
	for p := range deepagents.Parts(events) {
		b, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(b))
	}
	want := []string{
		`{"type":"reasoning","textDelta":"hm"}`, `{"type":"tool-call","toolCallId":"c1","toolName":"a","args":{}}`,
		`{"type":"tool-result","toolCallId":"c1","toolName":"a","args":{},"result":""}`,
		`{"type":"tool-call","toolCallId":"c2","toolName":"b","args":{"n":1}}`, `{"type":"tool-result","toolCallId":"c2","toolName":"b","args":{"n":1},"result":""}`,
		`{"type":"tool-call","toolCallId":"c3","toolName":"b","args":{}}`,
		`{"type":"error","error":"boom"}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("parts (-want +got):\n%s", diff)
	}
	for range deepagents.Parts(events) {
		break
	}
	for cause, want := range map[string]string{"deadline": "error", "error": "abort", "cancel": "abort"} {
		over := func(yield func(trace.Event, error) bool) {
			_ = yield(trace.Event{Body: trace.RunStart{}}, nil) && yield(trace.Event{Body: trace.Canceled{Reason: cause}}, nil) && yield(trace.Event{Body: trace.RunEnd{}}, errors.New("over"))
		}
		for p := range deepagents.Parts(over) {
			if p.Type != want {
				t.Errorf("canceled for %s: got %s", cause, p.Type)
			}
		}
		if got := types(uistream.Parts(over, uistream.Options{})); !strings.HasPrefix(got, "start "+want) {
			t.Errorf("canceled for %s: got the UI parts %s", cause, got)
		}
	}
}

// DA-03, DA-08, DA-39, DA-54, DA-55, DA-58: each of two calls of a tool in a step has its parts, its result in the next request and
// its place in its step, in each step, in each stream.
func TestEachCall(t *testing.T) {
	var turns []fake.Response
	var wantParts, wantUI, wantResults []string
	for step := range 2 {
		turn := fake.Response{Text: fmt.Sprint("text-", step), ChunkSize: 5}
		wantParts, wantUI = append(wantParts, "text-", fmt.Sprint(step)), append(wantUI, "text-", fmt.Sprint(step))
		for n := range 2 {
			id := fmt.Sprint(step, n)
			turn.Calls = append(turn.Calls, fake.Call{ID: id, Name: "a", Arguments: "{}"})
			wantParts = append(wantParts, "tool-call "+id, "tool-result "+id)
			wantUI = append(wantUI, "tool-input-available "+id, "tool-output-available "+id)
			wantResults = append(wantResults, fmt.Sprint(step, " ", id, " ", id, "=A"))
		}
		turns = append(turns, turn)
	}
	turns = append(turns, text("x"))
	opts := &deepagents.Options{Loop: loop.Config{Concurrency: 1}}
	m := fake.NewModel(turns...)
	s, err := deepagents.Execute(t.Context(), agent("root", m, tool("a", "A")), loop.Prompt("go"), nil, opts)
	if err != nil {
		t.Fatal(err)
	}
	swarm, err := deepagents.Swarm(t.Context(), agent("root", fake.NewModel(turns...), tool("a", "A")), loop.Prompt("go"), nil, opts, uistream.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var parts, results, sent []string
	for p := range s.FullStream() {
		parts = append(parts, strings.TrimSpace(strings.TrimPrefix(p.Type, "text-delta")+p.TextDelta+" "+p.ToolCallID))
	}
	ui := func(stream iter.Seq[uistream.Part]) (got []string) {
		for p := range stream {
			switch p.Type {
			case "text-delta":
				got = append(got, p.Delta)
			case "tool-input-available", "tool-output-available":
				got = append(got, p.Type+" "+p.ToolCallID)
			}
		}
		return got
	}
	steps, err := s.Steps()
	if err != nil {
		t.Fatal(err)
	}
	for i, step := range steps {
		for j, c := range step.Calls {
			results = append(results, fmt.Sprint(i, " ", c.ID, " ", step.Results[j].ID, "=", step.Results[j].Text()))
		}
	}
	for _, message := range m.RecordedRequests()[2].Request.Messages {
		for _, p := range message.Parts {
			if r, ok := p.(llm.ToolResult); ok {
				sent = append(sent, fmt.Sprint(r.ID[:1], " ", r.ID, " ", r.ID, "=", r.Text()))
			}
		}
	}
	wantParts, wantUI = append(wantParts, "x"), append(wantUI, "x")
	for _, pair := range [][2][]string{{wantParts, parts}, {wantUI, ui(s.UI(uistream.Options{}))}, {wantUI, ui(swarm)}, {wantResults, results}, {wantResults, sent}} {
		if diff := cmp.Diff(pair[0], pair[1]); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}
