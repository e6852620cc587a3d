package loop_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/trace"
	"github.com/looptape/looptape/trace/importer"
)

// called is an assistant's response that calls tools, by id.
func called(ids ...string) llm.Message {
	m := llm.Assistant()
	for _, id := range ids {
		m.Parts = append(m.Parts, llm.ToolCall{ID: id, Name: "a", Arguments: "{}"})
	}
	return m
}

// told is a tool message with results, by id, or id=text.
func told(ids ...string) llm.Message {
	var rs []llm.ToolResult
	for _, id := range ids {
		id, text, _ := strings.Cut(id, "=")
		rs = append(rs, llm.ToolResult{ID: id, Name: "a", Content: []llm.Part{llm.Text{Text: text}}})
	}
	return llm.ToolResults(rs...)
}

// parts is a message of parts.
func parts(role llm.Role, parts ...llm.Part) llm.Message {
	return llm.Message{Role: role, Parts: parts}
}

// The loop rejects messages that providers reject, of an Input or of middleware, before any
// model call. The error contains the position and what to do.
func TestHistoryErrors(t *testing.T) {
	user := llm.User("hi")
	no := json.RawMessage("{")
	own := llm.ToolCall{ID: "s", Name: "search", Arguments: "{}", ProviderExecuted: true}
	for _, c := range []struct {
		name     string
		messages []llm.Message
		at, part int
		want     string
	}{
		{"unanswered at the end", []llm.Message{user, called("c1")}, 1, -1, `the call "c1" has no result`},
		{"unanswered before another message", []llm.Message{user, called("c1", "c2"), told("c1"), user}, 1, -1, `the call "c2" has no result`},
		{"a result of nothing", []llm.Message{user, told("c1")}, 1, 0, `the result "c1" has no unanswered call`},
		{"twice", []llm.Message{user, called("c1"), told("c1", "c1")}, 2, 1, "has no unanswered call"},
		{"of an earlier step", []llm.Message{user, called("c1"), told("c1"), called("c2"), told("c1")}, 4, 0, "has no unanswered call"},
		{"a user's call", []llm.Message{parts(llm.RoleUser, llm.Text{Text: "x"}, called("c1").Parts[0])}, 0, 1, "only an assistant message has calls"},
		{"a user's reasoning", []llm.Message{parts(llm.RoleUser, llm.Reasoning{Text: "x"})}, 0, 0, "only an assistant message has reasoning"},
		{"a user's result", []llm.Message{user, called("c1"), parts(llm.RoleUser, told("c1").Parts...)}, 1, -1, "has no result directly after it"},
		{"a user's result of nothing", []llm.Message{parts(llm.RoleUser, told("c1").Parts...)}, 0, 0, "put it into a tool message"},
		{"a system's result", []llm.Message{parts(llm.RoleSystem, told("c1").Parts...)}, 0, 0, "put it into a tool message"},
		{"an assistant's result", []llm.Message{user, llm.Assistant(told("c1").Parts...)}, 1, 0, "has no call in this message that the provider executed"},
		{"another's result", []llm.Message{user, llm.Assistant(own, told("s", "c1").Parts[1])}, 1, 1, "has no call in this message that the provider executed"},
		{"another role", []llm.Message{user, {Role: "developer", Parts: user.Parts}}, 1, -1, `unknown role "developer"`},
		{"no role", []llm.Message{{Parts: user.Parts}}, 0, -1, `unknown role ""`},
		{"an empty turn", []llm.Message{user, llm.Assistant(), user}, 1, -1, "the assistant message is empty; remove it"},
		{"a turn of nothing", []llm.Message{user, llm.Assistant(llm.Text{}, llm.Text{Refusal: true})}, 1, -1, "the assistant message is empty; remove it"},
		{"an empty tool message", []llm.Message{user, called("c1", "c2"), told("c1"), told(), told("c2")}, 3, -1, "has no result; remove it"},
		{"text in a tool message", []llm.Message{user, called("c1"), parts(llm.RoleTool, told("c1").Parts[0], llm.Text{Text: "x"})}, 2, 1, "may contain results only"},
		{"media in a tool message", []llm.Message{user, called("c1"), parts(llm.RoleTool, llm.Media{URL: "x"})}, 2, 0, "may contain results only"},
		{"something in a tool message", []llm.Message{user, called("c1"), parts(llm.RoleTool, llm.Unknown{Kind: "x", Raw: []byte("{}")})}, 2, 0, "may contain results only"},
		{"a nil part", []llm.Message{user, parts(llm.RoleUser, llm.Text{}, nil)}, 1, 1, "the part is nil"},
		{"a nil part of an assistant", []llm.Message{llm.Assistant(nil)}, 0, 0, "the part is nil"},
		{"a nil part of a result", []llm.Message{user, called("c1"), llm.ToolResults(llm.ToolResult{ID: "c1", Content: []llm.Part{nil}})}, 2, 0, "has a part that is nil"},
		{"a message's opaque", []llm.Message{{Role: llm.RoleUser, Parts: user.Parts, Opaque: no}}, 0, -1, "is not JSON"},
		{"a text's opaque", []llm.Message{parts(llm.RoleUser, llm.Text{Opaque: no})}, 0, 0, "is not JSON"},
		{"a medium's opaque", []llm.Message{parts(llm.RoleUser, llm.Media{Opaque: no})}, 0, 0, "is not JSON"},
		{"reasoning's opaque", []llm.Message{llm.Assistant(llm.Reasoning{Opaque: no})}, 0, 0, "is not JSON"},
		{"a call's opaque", []llm.Message{llm.Assistant(llm.ToolCall{ID: "c1", Opaque: no})}, 0, 0, "is not JSON"},
		{"a result's opaque", []llm.Message{called("c1"), llm.ToolResults(llm.ToolResult{ID: "c1", Opaque: no})}, 1, 0, "is not JSON"},
		{"what is unknown", []llm.Message{parts(llm.RoleUser, llm.Unknown{Kind: "x", Raw: no})}, 0, 0, "is not JSON"},
	} {
		m := model(text("x"))
		var mem trace.Memory
		_, err := newAgent(t, m, loop.Config{}).Run(t.Context(), loop.Input{Messages: c.messages, Sink: &mem})
		checkInvariants(t, c.name, mem.Events())
		var h *loop.HistoryError
		if !errors.As(err, &h) || h.Message != c.at || h.Part != c.part || !strings.Contains(err.Error(), c.want) || len(m.RecordedRequests()) != 0 {
			t.Errorf("%s: got %v after %d requests, want one of message %d, part %d, with %q", c.name, err, len(m.RecordedRequests()), c.at, c.part, c.want)
		}
		_, err = ofMiddleware(t, c.name, c.messages)
		if diff := cmp.Diff(h, historyErrorOf(err)); diff != "" {
			t.Errorf("%s, of a policy: %v (-want +got):\n%s", c.name, err, diff)
		}
	}
}

// ofMiddleware runs an agent whose middleware replaces the messages.
func ofMiddleware(t *testing.T, name string, messages []llm.Message) (*loop.Result, error) {
	t.Helper()
	p := named("p", loop.Hooks{BeforeStep: func(context.Context, *loop.StepInfo) (loop.StepChange, error) {
		return loop.StepChange{Decision: loop.Decision{Messages: messages}}, nil
	}})
	return runChecked(t, name, model(text("x")), loop.Config{Middleware: []loop.Middleware{p}})
}

func historyErrorOf(err error) *loop.HistoryError {
	h, _ := errors.AsType[*loop.HistoryError](err)
	return h
}

// The loop sends valid messages unchanged.
func TestHistoriesAccepted(t *testing.T) {
	user := llm.User("hi")
	own := llm.ToolCall{ID: "s", Name: "search", Arguments: "{}", ProviderExecuted: true}
	yes := json.RawMessage(`{"x":1}`)
	for name, messages := range map[string][]llm.Message{
		"nothing":                     {},
		"one message per result":      {user, called("c1", "c2"), told("c1"), told("c2"), user},
		"run by the provider":         {user, llm.Assistant(own, llm.Text{Text: "found"}), user},
		"and answered by it":          {user, llm.Assistant(own, told("s").Parts[0]), user},
		"its id in several responses": {user, llm.Assistant(own), user, llm.Assistant(own)},
		"an assistant last":           {user, llm.Assistant(llm.Text{Text: "and"})},
		"opaque data alone":           {user, llm.Assistant(llm.Text{Opaque: json.RawMessage(`{"signature":"s"}`)}), llm.Assistant(llm.Reasoning{Opaque: yes})},
		"a system message":            {parts(llm.RoleSystem, llm.Text{Text: "Be kind."}), user},
		"an empty prompt":             {parts(llm.RoleUser)},
		"anything a user sends":       {parts(llm.RoleUser, llm.Text{Opaque: yes}, llm.Media{URL: "x", Opaque: yes}, llm.Unknown{Kind: "x", Raw: yes})},
		"opaque data with a response": {{Role: llm.RoleAssistant, Parts: []llm.Part{llm.Text{Text: "x"}}, Opaque: yes}},
	} {
		m := model(text("x"))
		var mem trace.Memory
		_, err := newAgent(t, m, loop.Config{}).Run(t.Context(), loop.Input{Messages: messages, Sink: &mem})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		checkInvariants(t, name, mem.Events())
		if diff := cmp.Diff(messages, m.RecordedRequests()[0].Request.Messages); diff != "" {
			t.Errorf("%s: sent (-want +got):\n%s", name, diff)
		}
		if w := of[trace.Warning](mem.Events()); len(w) > 0 {
			t.Errorf("%s: warned %+v", name, w)
		}
	}
}

// A history with empty or duplicate ids, or with results in another order, is repaired. The
// model gets all of it, and the input is unchanged.
func TestHistoriesRepaired(t *testing.T) {
	user := llm.User("hi")
	renamed := func(id, was string, more ...llm.Part) llm.Message {
		return llm.Assistant(append([]llm.Part{llm.ToolCall{ID: id, Name: "a", Arguments: "{}", IDGenerated: true, ProviderID: was}}, more...)...)
	}
	for _, c := range []struct {
		name     string
		messages []llm.Message
		want     []llm.Message
		warnings []string
	}{
		{"an id in a later step", []llm.Message{user, called("c1"), told("c1=1"), called("c1"), told("c1=2"), user},
			[]llm.Message{user, called("c1"), told("c1=1"), renamed("loop_call_1", "c1"), told("loop_call_1=2"), user},
			[]string{`Input.Messages[3].Parts[0]: the call id "c1" is empty or belongs to an earlier call: replaced by loop_call_1`}},
		{"an id twice in a response", []llm.Message{called("c1", "c1", "c2"), told("c1=1", "c1=2", "c2=3")},
			[]llm.Message{llm.Assistant(called("c1").Parts[0], renamed("loop_call_1", "c1").Parts[0], called("c2").Parts[0]), told("c1=1", "loop_call_1=2", "c2=3")},
			[]string{`Input.Messages[0].Parts[1]: the call id "c1" is empty or belongs to an earlier call: replaced by loop_call_1`}},
		{"no ids", []llm.Message{called("", ""), told("=1", "=2")},
			[]llm.Message{renamed("loop_call_1", "", renamed("loop_call_2", "").Parts[0]), told("loop_call_1=1", "loop_call_2=2")},
			[]string{`Input.Messages[0].Parts[0]: the call id "" is empty or belongs to an earlier call: replaced by loop_call_1`,
				`Input.Messages[0].Parts[1]: the call id "" is empty or belongs to an earlier call: replaced by loop_call_2`}},
		{"an id that is used later", []llm.Message{called(""), told("=1"), called("loop_call_1"), told("loop_call_1=2")},
			[]llm.Message{renamed("loop_call_2", ""), told("loop_call_2=1"), called("loop_call_1"), told("loop_call_1=2")},
			[]string{`Input.Messages[0].Parts[0]: the call id "" is empty or belongs to an earlier call: replaced by loop_call_2`}},
		{"an id that was generated before", []llm.Message{called("c1"), told("c1"), renamed("c1", "c0"), told("c1=2")},
			[]llm.Message{called("c1"), told("c1"), renamed("loop_call_1", "c0"), told("loop_call_1=2")},
			[]string{`Input.Messages[2].Parts[0]: the call id "c1" is empty or belongs to an earlier call: replaced by loop_call_1`}},
		{"another order", []llm.Message{user, called("c1", "c2", "c3"), told("c3=3", "c1=1", "c2=2"), user},
			[]llm.Message{user, called("c1", "c2", "c3"), told("c1=1", "c2=2", "c3=3"), user},
			[]string{`Input.Messages[2].Parts[0]: the result "c3" is not in the order of the calls: replaced by the result of c1`,
				`Input.Messages[2].Parts[1]: the result "c1" is not in the order of the calls: replaced by the result of c2`,
				`Input.Messages[2].Parts[2]: the result "c2" is not in the order of the calls: replaced by the result of c3`}},
		{"another order, in messages", []llm.Message{called("c1", "c2"), told("c2=2"), told("c1=1"), called("c3"), told("c3=3")},
			[]llm.Message{called("c1", "c2"), told("c1=1"), told("c2=2"), called("c3"), told("c3=3")},
			[]string{`Input.Messages[1].Parts[0]: the result "c2" is not in the order of the calls: replaced by the result of c1`,
				`Input.Messages[2].Parts[0]: the result "c1" is not in the order of the calls: replaced by the result of c2`}},
		{"both", []llm.Message{called("c1", "c2"), told("c2=2", "c1=1"), called("c2", "c1"), told("c1=4", "c2=3")},
			[]llm.Message{called("c1", "c2"), told("c1=1", "c2=2"), renamed("loop_call_1", "c2", renamed("loop_call_2", "c1").Parts[0]), told("loop_call_1=3", "loop_call_2=4")},
			[]string{`Input.Messages[1].Parts[0]: the result "c2" is not in the order of the calls: replaced by the result of c1`,
				`Input.Messages[1].Parts[1]: the result "c1" is not in the order of the calls: replaced by the result of c2`,
				`Input.Messages[2].Parts[0]: the call id "c2" is empty or belongs to an earlier call: replaced by loop_call_1`,
				`Input.Messages[2].Parts[1]: the call id "c1" is empty or belongs to an earlier call: replaced by loop_call_2`,
				`Input.Messages[3].Parts[0]: the result "c1" is not in the order of the calls: replaced by the result of loop_call_1`,
				`Input.Messages[3].Parts[1]: the result "c2" is not in the order of the calls: replaced by the result of loop_call_2`}},
	} {
		before := make([]llm.Message, len(c.messages))
		for i, m := range c.messages {
			before[i] = llm.Message{Role: m.Role, Parts: slices.Clone(m.Parts)}
		}
		m := model(calls("a#c1", "a#new"), text("x"))
		var mem trace.Memory
		res, err := newAgent(t, m, loop.Config{Tools: []loop.Tool{echo("a")}}).Run(t.Context(), loop.Input{Messages: c.messages, Sink: &mem})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		checkInvariants(t, c.name, mem.Events())
		if diff := cmp.Diff(c.want, m.RecordedRequests()[0].Request.Messages); diff != "" {
			t.Errorf("%s: sent (-want +got):\n%s", c.name, diff)
		}
		if diff := cmp.Diff(before, c.messages); diff != "" {
			t.Errorf("%s: the input (-before +after):\n%s", c.name, diff)
		}
		var warned []string
		for _, w := range of[trace.Warning](mem.Events()) {
			warned = append(warned, w.Message)
			if w.Code != loop.WarnHistory {
				t.Errorf("%s: the warning's code is %q", c.name, w.Code)
			}
		}
		if diff := cmp.Diff(c.warnings, warned); diff != "" {
			t.Errorf("%s: warnings (-want +got):\n%s", c.name, diff)
		}
		if len(res.Messages) != 3 || len(res.Steps[0].Calls) != 2 {
			t.Errorf("%s: got %+v", c.name, res.Messages)
		}
		again := model(text("x"))
		if _, err := newAgent(t, again, loop.Config{}).Run(t.Context(), loop.Continue(c.messages, res.Messages...)); err != nil {
			t.Errorf("%s, continued: %v", c.name, err)
		} else if diff := cmp.Diff(m.RecordedRequests()[1].Request.Messages, again.RecordedRequests()[0].Request.Messages[:len(m.RecordedRequests()[1].Request.Messages)]); diff != "" {
			t.Errorf("%s: continued, it begins otherwise than before (-before +after):\n%s", c.name, diff)
		}
		if _, err := ofMiddleware(t, c.name, c.messages); historyErrorOf(err) == nil {
			t.Errorf("%s: of a policy, got %v", c.name, err)
		}
	}
}

// The error names the invalid message of the middleware, also if a repair is possible.
func TestMiddlewareHistoryIsNotRepaired(t *testing.T) {
	for _, c := range []struct {
		messages []llm.Message
		want     string
	}{
		{[]llm.Message{called("c1"), told("c1"), called("c2", "c1"), told("c2", "c1")}, `Input.Messages[2].Parts[1]: the call id "c1" is empty or belongs to an earlier call; give the call an id of its own`},
		{[]llm.Message{called(""), told("")}, `Input.Messages[0].Parts[0]: the call id "" is empty`},
		{[]llm.Message{called("c1", "c2"), told("c2", "c1"), called("c1"), told("c1")}, `Input.Messages[1].Parts[0]: the result "c2" comes before the result of an earlier call; put results in the order of their calls`},
		{[]llm.Message{called("c1", "c2"), told("c2", "c1"), llm.Assistant()}, `Input.Messages[2]: the assistant message is empty`},
	} {
		if _, err := ofMiddleware(t, c.want, c.messages); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
}

// The loop removes parts that are nil.
func TestNilParts(t *testing.T) {
	mine := around("mine", func(ctx context.Context, next loop.ModelFunc, call loop.ModelCall) (*llm.Response, error) {
		response, err := next(ctx, call)
		if err != nil {
			return nil, err
		}
		changed := *response
		changed.Parts = append([]llm.Part{nil}, append(response.Parts, nil)...)
		return &changed, nil
	})
	holey := loop.Tool{Name: "a", Run: func(context.Context, loop.Call) (loop.Output, error) {
		return loop.Output{Content: []llm.Part{nil, llm.Text{Text: "whole"}, nil}}, nil
	}}
	none := loop.Tool{Name: "b", Run: func(context.Context, loop.Call) (loop.Output, error) {
		return loop.Output{Content: []llm.Part{nil}}, nil
	}}
	res, err := runChecked(t, "nil", model(calls("a", "b"), text("done")), loop.Config{Tools: []loop.Tool{holey, none}, Middleware: []loop.Middleware{mine}})
	if err != nil {
		t.Fatal(err)
	}
	want := []llm.Message{called("c1", "c2"), told("c1=whole", "c2"), llm.Assistant(llm.Text{Text: "done"})}
	want[0].Parts[1] = llm.ToolCall{ID: "c2", Name: "b", Arguments: "{}"}
	want[1].Parts[1] = llm.ToolResult{ID: "c2", Name: "b", Content: []llm.Part{llm.Text{}}}
	if diff := cmp.Diff(want, res.Messages); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}

// A response of empty texts is not sent.
func TestResponseOfEmptyTexts(t *testing.T) {
	mine := around("mine", func(context.Context, loop.ModelFunc, loop.ModelCall) (*llm.Response, error) {
		return &llm.Response{Parts: []llm.Part{llm.Text{}}, FinishReason: llm.FinishPause}, nil
	})
	res, err := runChecked(t, "empty", model(), loop.Config{Middleware: []loop.Middleware{mine}, Continuations: 1})
	if err != nil || len(res.Messages) != 0 || res.StopReason != trace.ReasonContinuedResponse {
		t.Errorf("got %v, %+v", err, res)
	}
}

// None of 200 recorded runs is rejected; the runs with duplicate ids are repaired.
func TestRecordedHistories(t *testing.T) {
	file := filepath.Join(sharedDir(t), "data", "tau-airline", "gpt-4o-airline.json.gz")
	f, err := os.Open(file)
	if err != nil {
		t.Skip("the data set tau-airline is not there: ", err)
	}
	t.Cleanup(func() { _ = f.Close() })
	src, err := importer.Open("tau", f)
	if err != nil {
		t.Fatal(err)
	}
	runs, repaired := 0, 0
	for run, err := range src.Runs() {
		if err != nil {
			t.Fatal(err)
		}
		runs++
		var mem trace.Memory
		in := loop.Continue(run.Messages, llm.User("and?"))
		in.Sink = &mem
		if _, err := newAgent(t, model(text("so")), loop.Config{}).Run(t.Context(), in); err != nil {
			t.Errorf("%s: %v", run.Name, err)
		}
		checkInvariants(t, run.Name, mem.Events())
		if len(of[trace.Warning](mem.Events())) > 0 {
			repaired++
		}
	}
	if runs != 200 || repaired != 49 {
		t.Errorf("%d runs, %d of them repaired; want 200 and 49", runs, repaired)
	}
}

// sharedDir returns the data folder next to the repository.
func sharedDir(t *testing.T) string {
	t.Helper()
	if dir := os.Getenv("LOOPTAPE_SHARED"); dir != "" {
		return dir
	}
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		shared := filepath.Join(dir, "..", "shared")
		if _, err := os.Stat(filepath.Join(shared, "data")); err == nil {
			return shared
		}
	}
	t.Skip("no folder ../shared with data above this package; set LOOPTAPE_SHARED to where it is")
	return ""
}
