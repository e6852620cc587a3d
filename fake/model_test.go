package fake_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/internal/jsonval"
	"github.com/looptape/looptape/llm"
)

// ask returns the text of the response to these messages, or its error.
func ask(t *testing.T, m llm.Model, lane string, messages ...llm.Message) string {
	t.Helper()
	turn, err := llm.Collect(m.Stream(t.Context(), &llm.Request{Model: lane, Messages: messages}))
	if err != nil {
		return turn.Text() + "!" + strings.Split(err.Error(), "\n")[0]
	}
	return turn.Text()
}

func check(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func said(text string) llm.Message { return llm.Assistant(llm.Text{Text: text}) }

func TestResponseByConversation(t *testing.T) {
	m := fake.NewModel(fake.Response{Text: "0"}, fake.Response{Text: "1"}, fake.Response{Text: "2"}, fake.Response{Text: "3"})
	u, u2 := llm.User("u"), llm.User("u2")
	check(t, "first", "0", ask(t, m, "", u))
	check(t, "again", "0", ask(t, m, "", llm.User("u")))
	check(t, "went on", "1", ask(t, m, "", u, said("0"), u2))
	check(t, "another went on from the first", "1", ask(t, m, "", u, said("0"), llm.User("other")))
	check(t, "went on", "2", ask(t, m, "", u, said("0"), u2, said("1")))
	check(t, "the first again", "0", ask(t, m, "", u))
	check(t, "rewritten", "3", ask(t, m, "", llm.User("summary"), u2))
	check(t, "after the rewrite", `!fake: session "", response 5, attempt 1: no response left: the script has 4 responses (-want +got):`,
		ask(t, m, "", llm.User("summary"), u2, said("3")))
	check(t, "lanes", "0", ask(t, m, "lane", said("handed in"), u2))
	check(t, "no messages", "1", ask(t, m, "lane", llm.User("new")))
}

func TestPartsDecideWhatIsTheSame(t *testing.T) {
	m := fake.NewModel(fake.Response{Text: "0"}, fake.Response{Text: "1"}, fake.Response{Text: "2"})
	a := llm.Message{Role: llm.RoleUser, Parts: []llm.Part{llm.Text{Text: "a"}, llm.Text{Text: "b"}}}
	check(t, "first", "0", ask(t, m, "", a))
	check(t, "fewer parts of the same array", "1", ask(t, m, "", llm.Message{Role: llm.RoleUser, Parts: a.Parts[:1]}))
	check(t, "another role, the same parts", "2", ask(t, m, "", llm.Message{Role: llm.RoleTool, Parts: a.Parts}))
	m = fake.NewModel(fake.Response{Text: "0"}, fake.Response{Text: "1"})
	check(t, "without parts", "0", ask(t, m, "", llm.Message{Role: llm.RoleUser}))
	check(t, "without parts, again", "0", ask(t, m, "", llm.Message{Role: llm.RoleUser}))
	check(t, "without parts, another role", "1", ask(t, m, "", llm.Message{Role: llm.RoleTool}))
}

func TestAttempts(t *testing.T) {
	m := fake.NewModel(
		fake.Response{Attempts: []fake.Response{{Text: "x", Error: &fake.Failure{Status: 429, RetryAfter: time.Second}}, {Text: "ok"}}},
		fake.Response{Text: "end"},
	)
	u := llm.User("u")
	check(t, "attempt 1", "x!fake: status 429", ask(t, m, "", u))
	check(t, "attempt 2", "ok", ask(t, m, "", u))
	check(t, "attempt 3", `!fake: session "", response 1, attempt 3: no attempt left: the response has 2 attempts (-want +got):`, ask(t, m, "", u))
	check(t, "next", "end", ask(t, m, "", u, said("ok")))
	var got []string
	for _, r := range m.RecordedRequests() {
		got = append(got, fmt.Sprintf("%s %d %d %d", r.Session, r.Response, r.Attempt, len(r.Request.Messages)))
	}
	check(t, "requests", []string{" 0 1 1", " 0 2 1", " 0 3 1", " 1 1 2"}, got)
}

func TestModelSessions(t *testing.T) {
	m := &fake.Model{
		Responses: []fake.Response{{Text: "any"}},
		Sessions:  map[string][]fake.Response{"a": {{Text: "a0"}, {Attempts: []fake.Response{{Text: "1"}, {Text: "2"}}}}, "b": nil, "c": {{}}},
	}
	u := llm.User("u")
	check(t, "unused at first", []string{`session "a": all responses`, `session "b": all responses`, `session "c": all responses`, "all responses"}, m.Unused())
	check(t, "a", "a0", ask(t, m, "a", u))
	check(t, "b", `!fake: session "b", response 1, attempt 1: no response left: the script has 0 responses (-want +got):`, ask(t, m, "b", u))
	check(t, "x", "any", ask(t, m, "x", u))
	turn, err := llm.Collect(m.Stream(fake.WithSession(t.Context(), "a"), &llm.Request{Model: "x", Messages: []llm.Message{u}}))
	if err != nil || turn.Text() != "a0" {
		t.Errorf("WithSession: got %q, %v", turn.Text(), err)
	}
	check(t, "unused", []string{`session "a": response 2`, `session "c": all responses`}, m.Unused())
	check(t, "a again", "1", ask(t, m, "a", u, u))
	check(t, "unused", []string{`session "a": response 2, attempt 2`, `session "c": all responses`}, m.Unused())
	check(t, "nothing to use", []string(nil), fake.NewModel().Unused())
}

// The responses of other sessions are unused until a request selects such a session.
func TestUnusedResponses(t *testing.T) {
	for name, want := range map[string]string{"": "all responses", "main": `session "main": all responses`} {
		m := &fake.Model{Responses: []fake.Response{{Text: "any"}}, Sessions: map[string][]fake.Response{"a": {{Text: "a0"}}}, Default: name}
		check(t, "a", "a0", ask(t, m, "a", llm.User("u")))
		check(t, "unused", []string{want}, m.Unused())
		check(t, "x", "any", ask(t, m, "x", llm.User("u")))
		check(t, "unused at last", []string(nil), m.Unused())
	}
}

func TestRepeat(t *testing.T) {
	m := fake.NewModel(fake.Response{Text: "{n}"}, fake.Response{
		Repeat: 2, Reasoning: "r{n}", Chunks: []string{"t{n}", "{n}"},
		Calls: []fake.Call{{ID: "c{n}", Name: "f{n}", Arguments: `{"n":{n}}`}, {Chunks: []string{"{n}"}, SingleChunk: true}},
	}, fake.Response{Repeat: 1, Attempts: []fake.Response{{Text: "a{n}"}}})
	u := llm.User("u")
	check(t, "not repeated", "{n}", ask(t, m, "", u))
	for n := 1; n <= 2; n++ {
		history := make([]llm.Message, n+1)
		turn, err := llm.Collect(m.Stream(t.Context(), &llm.Request{Messages: append([]llm.Message{u}, history[1:]...)}))
		check(t, "error", nil, err)
		want := []llm.Part{
			llm.Reasoning{Text: fmt.Sprintf("r%d", n)}, llm.Text{Text: fmt.Sprintf("t%d%d", n, n)},
			llm.ToolCall{ID: fmt.Sprintf("c%d", n), Name: fmt.Sprintf("f%d", n), Arguments: fmt.Sprintf(`{"n":%d}`, n)},
			llm.ToolCall{Arguments: fmt.Sprint(n)},
		}
		check(t, "parts", want, turn.Parts)
	}
	check(t, "attempts", "a1", ask(t, m, "", u, llm.Message{}, llm.Message{}, llm.Message{}))
}

func TestExpect(t *testing.T) {
	req := &llm.Request{
		System:   llm.SystemText("be brief"),
		Messages: []llm.Message{llm.User("hi"), llm.ToolResults(llm.ToolResult{ID: "a", Content: []llm.Part{llm.Text{Text: "one"}}}, llm.ToolResult{ID: "b", IsError: true})},
		Tools:    []llm.Tool{{Name: "f"}, {Name: "g"}},
	}
	good := fake.Expect{
		Messages: 2, Role: llm.RoleTool, System: []string{"brief", "be"}, Tools: []string{"f", "g"}, ToolChoice: "auto",
		Results: []fake.ExpectResult{{ID: "a", Text: "on", IsError: new(false)}, {IsError: new(true)}},
		Request: raw(`{"messages":[{"role":"user"},{"parts":[{"id":"a"},{}]}],"system":"be brief"}`),
	}
	for _, c := range []struct {
		expect fake.Expect
		want   []string
	}{
		{good, nil},
		{fake.Expect{}, nil},
		{fake.Expect{Messages: 3}, []string{"- messages: 3", "+ messages: 2"}},
		{fake.Expect{Role: llm.RoleUser}, []string{"- role of the last message: user", "+ role of the last message: tool"}},
		{fake.Expect{Text: []string{"x"}}, []string{`- text of the last message: … "x" …`, `+ text of the last message: ""`}},
		{fake.Expect{System: []string{"be", "x"}}, []string{`- system: … "x" …`, `+ system: "be brief"`}},
		{fake.Expect{Tools: []string{}}, []string{"- tools: ", "+ tools: f, g"}},
		{fake.Expect{ToolChoice: "none"}, []string{"- tool choice: none", "+ tool choice: auto"}},
		{fake.Expect{Results: []fake.ExpectResult{}}, []string{"- results in the last message: 0", "+ results in the last message: 2"}},
		{
			fake.Expect{Results: []fake.ExpectResult{{ID: "x", Text: "two"}, {IsError: new(false)}}},
			[]string{"- call id of result 0: x", "+ call id of result 0: a", `- result 0: … "two" …`, `+ result 0: "one"`, "- result 1 is an error: false", "+ result 1 is an error: true"},
		},
		{
			fake.Expect{Request: raw(`{"messages":[],"system":"x","tools":{},"zzz":{"a":1}}`)},
			[]string{
				"- request.messages: []", "+ request.messages: " + string(jsonval.Canonical(messagesJSON(req))), `- request.system: "x"`, `+ request.system: "be brief"`,
				"- request.tools: {}", `+ request.tools: [{"name":"f"},{"name":"g"}]`, `- request.zzz: {"a":1}`, "+ request.zzz: nothing",
			},
		},
		{fake.Expect{Request: raw(`{"system":["be brief"],"model":null}`)}, []string{"- request.model: null", `+ request.model: ""`, `- request.system: ["be brief"]`, `+ request.system: "be brief"`}},
		{fake.Expect{Request: raw(`no JSON`)}, []string{`- request: "no JSON"`, "+ request: " + jsonval.Canonical(string(req.AppendJSON(nil)))}},
		{fake.Expect{Request: raw(`{"tools":[{},{"name":"h"}]}`)}, []string{`- request.tools[1].name: "h"`, `+ request.tools[1].name: "g"`}},
	} {
		_, err := llm.Collect(fake.NewModel(fake.Response{Expect: &c.expect}).Stream(t.Context(), req))
		if c.want == nil {
			check(t, "error", nil, err)
			continue
		}
		script := new(fake.ScriptError)
		if !errors.As(err, &script) {
			t.Errorf("got %v, want a ScriptError", err)
			continue
		}
		check(t, "diff", c.want, strings.Split(script.Diff, "\n"))
	}
	plain := fake.Expect{Results: []fake.ExpectResult{{ID: "x"}, {IsError: new(false)}}}
	_, _, err := fake.NewModel(fake.Response{Expect: &plain}).Respond(t.Context(), req, false)
	check(t, "plain results", true, strings.HasSuffix(err.Error(), "(-want +got):\n- call id of result 0: x\n+ call id of result 0: a"))
	_, err = llm.Collect(fake.NewModel(fake.Response{Attempts: []fake.Response{{Expect: &fake.Expect{Messages: 1}}}}).Stream(t.Context(), &llm.Request{Model: "m"}))
	check(t, "message", "fake: session \"m\", response 1, attempt 1: unexpected request (-want +got):\n- messages: 1\n+ messages: 0", err.Error())
	_, err = llm.Collect(fake.NewModel(fake.Response{Expect: &fake.Expect{Role: llm.RoleTool}}).Stream(t.Context(), &llm.Request{Model: "m"}))
	check(t, "message", "fake: session \"m\", response 1, attempt 1: unexpected request (-want +got):\n- role of the last message: tool\n+ role of the last message: ", err.Error())
}

func messagesJSON(r *llm.Request) string {
	var parts []string
	for _, m := range r.Messages {
		parts = append(parts, string(m.AppendJSON(nil)))
	}
	return "[" + strings.Join(parts, ",") + "]"
}

func TestScriptRunsOut(t *testing.T) {
	_, err := llm.Collect(fake.NewModel().Stream(t.Context(), &llm.Request{}))
	check(t, "no messages", "fake: session \"\", response 1, attempt 1: no response left: the script has 0 responses (-want +got):\n- no more requests\n+ a request without messages", err.Error())
	m := fake.NewModel(fake.Response{})
	ask(t, m, "")
	_, err = llm.Collect(m.Stream(t.Context(), &llm.Request{Messages: []llm.Message{llm.User("u")}}))
	check(t, "one message", "fake: session \"\", response 2, attempt 1: no response left: the script has 1 response (-want +got):\n- no more requests\n+ a request of 1 message, the last: "+
		`{"role":"user","parts":[{"type":"text","text":"u"}]}`, err.Error())
}

func TestRequestsAreCopies(t *testing.T) {
	m := fake.NewModel(fake.Response{})
	req := fullRequest()
	want := fullRequest()
	_, _ = llm.Collect(m.Stream(t.Context(), req))
	check(t, "the copy", want, m.RecordedRequests()[0].Request)
	check(t, "changed", []string(nil), m.MutatedRequests())
	mangle(req)
	check(t, "the copy after changes", want, m.RecordedRequests()[0].Request)
	if m.RecordedRequests()[0].Original != req {
		t.Error("the original is another request")
	}
	got := m.MutatedRequests()
	if len(got) != 1 || !strings.HasPrefix(got[0], `request 0 (session "m", response 1) was changed after it was sent:`+"\n- {") {
		t.Errorf("MutatedRequests: got %q", got)
	}
	m = fake.NewModel(fake.Response{})
	m.DiscardRequests = true
	check(t, "without memory", "", ask(t, m, "", llm.User("u")))
	check(t, "requests", 0, len(m.RecordedRequests()))
}

// fullRequest has a value in each field that a copy could share.
func fullRequest() *llm.Request {
	return &llm.Request{
		Model: "m",
		Messages: []llm.Message{{Role: llm.RoleUser, Opaque: raw("1"), Parts: []llm.Part{
			llm.Text{Opaque: raw("1")}, llm.Reasoning{Opaque: raw("1")}, llm.Media{Data: []byte("1"), Opaque: raw("1")},
			llm.ToolCall{Opaque: raw("1")}, llm.ToolResult{Opaque: raw("1"), Content: []llm.Part{llm.Text{Opaque: raw("1")}}},
			llm.Unknown{Raw: raw("1")},
		}}},
		Tools: []llm.Tool{{Parameters: raw("1"), Strict: new(true)}},
		Settings: llm.Settings{
			Temperature: new(1.0), TopP: new(1.0), Seed: new(int64(1)), StopSequences: []string{"1"}, ParallelToolCalls: new(true), OutputSchema: raw("1"),
		},
		Extra: map[string]json.RawMessage{"x": raw("1")},
	}
}

func mangle(r *llm.Request) {
	var parts func([]llm.Part)
	parts = func(list []llm.Part) {
		for i, p := range list {
			switch p := p.(type) {
			case llm.Text:
				p.Opaque[0] = '2'
			case llm.Reasoning:
				p.Opaque[0] = '2'
			case llm.Media:
				p.Opaque[0], p.Data[0] = '2', '2'
			case llm.ToolCall:
				p.Opaque[0] = '2'
			case llm.ToolResult:
				p.Opaque[0] = '2'
				parts(p.Content)
			case llm.Unknown:
				p.Raw[0] = '2'
			}
			list[i] = llm.Text{Text: "changed"}
		}
	}
	parts(r.Messages[0].Parts)
	r.Messages[0].Opaque[0] = '2'
	r.Messages[0] = llm.Message{}
	r.Tools[0].Parameters[0] = '2'
	*r.Tools[0].Strict = false
	r.Tools[0] = llm.Tool{}
	*r.Settings.Temperature, *r.Settings.TopP, *r.Settings.Seed, *r.Settings.ParallelToolCalls = 2, 2, 2, false
	r.Settings.StopSequences[0], r.Settings.OutputSchema[0] = "2", '2'
	r.Extra["x"][0] = '2'
	r.Extra["y"] = nil
	r.Model = "2"
}

func TestTiming(t *testing.T) {
	for _, delivery := range []llm.ResponseMode{llm.Streaming, llm.NonStreaming} {
		c := fake.NewClock()
		c.OpenInOrder("g")
		d := newDiary(c)
		m := &fake.Model{Clock: c, Responses: []fake.Response{{Delay: 5, Gate: "g", EventInterval: 10, Reasoning: "r", Text: "t"}}}
		for ev, err := range m.Stream(t.Context(), &llm.Request{ResponseMode: delivery}) {
			d.add("%T %v", ev, err)
		}
		want := []string{"5ns llm.ReasoningDelta <nil>", "15ns llm.TextDelta <nil>", "25ns llm.Finish <nil>"}
		if delivery == llm.NonStreaming {
			want = []string{"5ns llm.PartDone <nil>", "15ns llm.PartDone <nil>", "25ns llm.Finish <nil>"}
		}
		d.check(t, want...)
	}
}

func TestStallAndCancel(t *testing.T) {
	for name, c := range map[string]struct {
		turn fake.Response
		want []string
	}{
		"stall":         {fake.Response{Text: "a", Stall: true}, []string{"0s llm.TextDelta <nil>", "1s <nil> the cause"}},
		"delay":         {fake.Response{Text: "a", Delay: time.Hour}, []string{"1s <nil> the cause"}},
		"gate":          {fake.Response{Text: "a", Gate: "shut"}, []string{"1s <nil> the cause"}},
		"delay in time": {fake.Response{Delay: time.Second - 1}, []string{"999.999999ms llm.Finish <nil>"}},
		"between":       {fake.Response{Chunks: []string{"a", "b"}, EventInterval: time.Minute}, []string{"0s llm.TextDelta <nil>", "1s <nil> the cause"}},
	} {
		t.Run(name, func(t *testing.T) {
			clock := fake.NewClock()
			d := newDiary(clock)
			ctx, cancel := clock.WithTimeout(t.Context(), time.Second, errCause)
			defer cancel()
			m := &fake.Model{Clock: clock, Responses: []fake.Response{c.turn}}
			for ev, err := range m.Stream(ctx, &llm.Request{}) {
				d.add("%T %v", ev, err)
			}
			d.check(t, c.want...)
		})
	}
}

func TestCanceledBeforeAndDuring(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	m := fake.NewModel(fake.Response{Text: "a"})
	var got []string
	for ev, err := range m.Stream(ctx, &llm.Request{}) {
		got = append(got, fmt.Sprintf("%T %v", ev, err))
		cancel(errCause)
	}
	check(t, "during", []string{"llm.TextDelta <nil>", "<nil> the cause"}, got)
	_, err := llm.Collect(m.Stream(ctx, &llm.Request{}))
	check(t, "before", true, err == errCause)
}

func TestIterationStopped(t *testing.T) {
	m := fake.NewModel(fake.Response{Chunks: []string{"a", "b"}, Err: io.EOF})
	n := 0
	for _, err := range m.Stream(t.Context(), &llm.Request{}) {
		check(t, "error", nil, err)
		n++
		break
	}
	check(t, "events", 1, n)
	turn, err := llm.Collect(m.Stream(t.Context(), &llm.Request{}))
	check(t, "text", "ab", turn.Text())
	check(t, "error", true, err == io.EOF)
}

func TestWithoutClock(t *testing.T) {
	for _, turn := range []fake.Response{{Delay: 1}, {Gate: "g"}, {Stall: true}, {Text: "x", EventInterval: 1}} {
		_, err := llm.Collect(fake.NewModel(turn).Stream(t.Context(), &llm.Request{}))
		if err == nil || !strings.Contains(err.Error(), "missing clock") {
			t.Errorf("%+v: got %v", turn, err)
		}
	}
}
