package middleware_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/history"
	"github.com/looptape/looptape/loop/middleware"
	"github.com/looptape/looptape/trace"
)

const (
	summaryHead = "This is a summary of the conversation so far:\n\n"
	taken       = "I have read the summary and go on from there."
)

// summarizes returns the middleware of z.
func summarizes(t *testing.T, z middleware.Summarizer) loop.Middleware {
	t.Helper()
	p, err := z.Middleware()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// says returns a message of n tokens.
func says(role llm.Role, n int) llm.Message {
	return llm.Message{Role: role, Parts: []llm.Part{llm.Text{Text: strings.Repeat("abc ", n)}}}
}

// round returns a call and its result, with n tokens together.
func round(id string, n int) []llm.Message {
	return []llm.Message{
		llm.Assistant(llm.ToolCall{ID: id, Name: "a", Arguments: `{}`}),
		llm.ToolResults(llm.ToolResult{ID: id, Name: "a", Content: says("", n-1).Parts}),
	}
}

// answers returns a model with a constant response that counts its calls.
func answers(text string, n *int) func(context.Context, *llm.Request) (*llm.Response, error) {
	return func(context.Context, *llm.Request) (*llm.Response, error) {
		*n++
		return &llm.Response{Parts: []llm.Part{llm.Text{Text: text}}}, nil
	}
}

// kept returns the messages after the summary; nil means that nothing was summarized.
func kept(t *testing.T, z middleware.Summarizer, messages []llm.Message) []llm.Message {
	t.Helper()
	n := 0
	c, err := z.Compact(t.Context(), messages, answers("short", &n))
	if err != nil {
		t.Fatal(err)
	}
	if c == nil {
		return nil
	}
	out := c.Messages[1:]
	if first := c.Messages[0]; first.Role != llm.RoleUser || first.Text() != summaryHead+"short" || c.Summary != "short" {
		t.Errorf("the summary is %+v", first)
	}
	if c.Messages[1].Text() == taken {
		out = c.Messages[2:]
	}
	if (out[0].Role == llm.RoleUser) != (len(out) == len(c.Messages)-2) {
		t.Errorf("after the summary is %v", short(c.Messages[1:]))
	}
	if diff := cmp.Diff(short(messages), short(slices.Concat(c.Replaced, out))); diff != "" {
		t.Errorf("replaced and kept (-before +after):\n%s", diff)
	}
	return out
}

// RA-44: the kept messages are at most six messages and a quarter of the window, and begin
// with a user message if possible.
func TestSummarizerKeptMessages(t *testing.T) {
	z := middleware.Summarizer{Window: 400}
	u, a := says(llm.RoleUser, 1), says(llm.RoleAssistant, 1)
	wide := says(llm.RoleAssistant, 99)
	for name, c := range map[string]struct {
		messages []llm.Message
		want     int
	}{
		"six of many":                       {[]llm.Message{u, a, u, a, u, a, u, a, u, a}, 6},
		"from the next user":                {[]llm.Message{u, a, u, a, u, a, a, u, a, a}, 6},
		"an incomplete one before the user": {[]llm.Message{u, a, a, u, a, a, u, a, a}, 6},
		"not more than a quarter":           {[]llm.Message{u, a, u, a, u, wide}, 2},
		"a quarter and no more":             {[]llm.Message{u, a, u, a, a, wide}, 2},
		"the last alone is too long":        {[]llm.Message{u, a, u, says(llm.RoleAssistant, 101)}, 1},
		"few":                               {[]llm.Message{u, a, u, a}, 2},
		"the last user":                     {[]llm.Message{u, a, u}, 1},
		"one exchange":                      {[]llm.Message{u, a}, 0},
		"one message":                       {[]llm.Message{u}, 0},
		"none":                              {nil, 0},
		"one user message and steps":        {slices.Concat([]llm.Message{u}, round("1", 2), round("2", 2), round("3", 2), round("4", 2)), 6},
		"an uneven number after a step":     {slices.Concat([]llm.Message{u}, round("1", 2), round("2", 2), round("3", 2), []llm.Message{a}), 5},
		"a step that is too long":           {slices.Concat([]llm.Message{u}, round("1", 2), round("2", 200)), 2},
		"after a summary":                   {[]llm.Message{llm.User(summaryHead + "old"), llm.Assistant(llm.Text{Text: taken}), u, a}, 0},
		"after a summary without ack":       {slices.Concat([]llm.Message{llm.User(summaryHead + "old")}, round("2", 2)), 0},
		"a summary and more":                {[]llm.Message{llm.User(summaryHead + "old"), llm.Assistant(llm.Text{Text: taken}), u, a, u, a, u, a, u, a}, 6},
	} {
		if got := kept(t, z, c.messages); len(got) != c.want {
			t.Errorf("%s: kept %d messages, want %d", name, len(got), c.want)
		}
	}
}

// For any conversation, calls and results stay together, and no message is lost.
func TestSummarizerKeepsPairs(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var messages []llm.Message
		for n := range rapid.IntRange(0, 12).Draw(rt, "turns") {
			size := rapid.IntRange(2, 60).Draw(rt, "size")
			switch rapid.IntRange(0, 2).Draw(rt, "what") {
			case 0:
				messages = append(messages, says(llm.RoleUser, size))
			case 1:
				messages = append(messages, says(llm.RoleAssistant, size))
			default:
				r := round(string(rune('a'+n)), size)
				if size%2 == 0 { // a result in a separate message
					r = append(r, r[1])
				}
				messages = append(messages, r...)
			}
		}
		z := middleware.Summarizer{Window: 400, KeepMessages: rapid.IntRange(1, 8).Draw(rt, "keep")}
		out := kept(t, z, messages)
		if len(out) > 0 && out[0].Role == llm.RoleTool {
			rt.Errorf("of %v is kept %v", short(messages), short(out))
		}
		if n := len(messages); n > 0 && len(out) > 0 && len(out) == n {
			rt.Error("nothing was replaced")
		}
	})
}

// RA-44: if the next request would exceed the limit, the run makes a separate model call for a
// summary and continues from it.
func TestSummarize(t *testing.T) {
	var archived []llm.Message
	z := middleware.Summarizer{Window: 200, KeepMessages: 2, Archive: func(_ context.Context, m []llm.Message) error {
		archived = m
		return nil
	}}
	in := loop.Continue([]llm.Message{says(llm.RoleUser, 80), says(llm.RoleAssistant, 80)}, llm.User("and now?"))
	o := play(t.Context(), t, loop.Config{Model: "m", System: "be brief", Tools: []loop.Tool{tool}, Middleware: []loop.Middleware{summarizes(t, z)}}, in,
		call("1"), fake.Response{Text: " they talked ", Usage: llm.Usage{InputTokens: 5, OutputTokens: 2}}, text("done"))
	if o.err != nil || o.res.Text != "done" || o.res.UsageBy[trace.PurposeSummary].InputTokens != 5 {
		t.Fatalf("got %+v, %v", o.res, o.err)
	}
	requests := o.model.RecordedRequests()
	if len(requests) != 3 {
		t.Fatalf("got %d requests", len(requests))
	}
	ask, next := requests[1].Request, requests[2].Request
	if ask.Model != "m" || len(ask.Tools) != 0 || len(ask.Messages) != 1 || !strings.HasPrefix(ask.System.Text(), "You sum up") {
		t.Errorf("the summary request: %+v", ask)
	}
	wantAsked := "user: " + strings.Repeat("abc ", 80) + "\nassistant: " + strings.Repeat("abc ", 80) + "\nuser: and now?\n"
	if diff := cmp.Diff(wantAsked, ask.Messages[0].Text()); diff != "" {
		t.Errorf("transcript (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"user " + summaryHead + "they talked", "assistant a", "tool A"}, short(next.Messages)); diff != "" {
		t.Errorf("the next request (-want +got):\n%s", diff)
	}
	if len(archived) != 3 {
		t.Errorf("archived %v", short(archived))
	}
	if r := of[trace.HistoryRewrite](o.events); len(r) != 1 || r[0] != (trace.HistoryRewrite{Reason: "compaction", By: "summarize"}) {
		t.Errorf("rewrites: %+v", r)
	}
	if diff := cmp.Diff([]string{"assistant a", "tool A", "assistant done"}, short(o.res.Messages)); diff != "" {
		t.Errorf("added by the run (-want +got):\n%s", diff)
	}
	big := loop.Tool{Name: "a", Run: func(context.Context, loop.Call) (loop.Output, error) {
		return loop.Output{Content: says("", 90).Parts}, nil
	}}
	z = middleware.Summarizer{Window: 400, KeepMessages: 2, Model: fake.NewModel(fake.Response{Repeat: 20, Text: "short"})}
	rounds := fake.Response{Repeat: 12, Calls: []fake.Call{{ID: "c{n}", Name: "a", Arguments: "{}"}}}
	o = play(t.Context(), t, loop.Config{Tools: []loop.Tool{big}, MaxSteps: 20, Middleware: []loop.Middleware{summarizes(t, z)}}, loop.Prompt("go"), rounds, text("done"))
	if n := len(of[trace.HistoryRewrite](o.events)); n != 3 || o.err != nil || o.res.Text != "done" {
		t.Errorf("a run of 12 long results: %d summaries, want 3; %v", n, o.err)
	}
	for i, r := range o.model.RecordedRequests() {
		var parts []llm.Part
		for _, m := range r.Request.Messages {
			parts = append(parts, m.Parts...)
		}
		if n := history.Tokens(parts); n > 340 {
			t.Errorf("request %d has %d tokens, want at most 0.85 of the window of 400", i, n)
		}
	}
}

// The limit is the smaller of the trigger's share of the window and the window without the
// reserve. The system prompt and the tools count.
func TestSummarizerLimit(t *testing.T) {
	base := int(history.Tokens([]llm.Part{llm.Text{Text: `a{"type":"object"}`}})) // the tool
	for name, c := range map[string]struct {
		cfg   middleware.Summarizer
		limit int
	}{
		"trigger":         {middleware.Summarizer{Window: 1000, Trigger: 0.5}, 500},
		"trigger of 1":    {middleware.Summarizer{Window: 1000, Trigger: 1, Reserve: 10}, 990},
		"defaults":        {middleware.Summarizer{Window: 1000}, 850},
		"reserve":         {middleware.Summarizer{Window: 1000, Reserve: 300}, 700},
		"default reserve": {middleware.Summarizer{Window: 1000, Trigger: 1}, 875},
		"default window":  {middleware.Summarizer{}, 27852},
		"large window":    {middleware.Summarizer{Window: 100000, Trigger: 1}, 100000 - 4096},
	} {
		for _, over := range []int{0, 1} {
			z := c.cfg
			first := says(llm.RoleUser, c.limit-base-2-1+over) // the system prompt has 2 tokens, the last message 1
			in := loop.Continue([]llm.Message{first}, llm.User("go"))
			o := play(t.Context(), t, loop.Config{System: "be brief", Tools: []loop.Tool{tool}, Middleware: []loop.Middleware{summarizes(t, z)}}, in, text("x"), text("y"))
			if got := o.res.ModelCalls - 1; got != over {
				t.Errorf("%s, %d over %d tokens: %d summaries", name, over, c.limit, got)
			}
		}
	}
}

// before returns middleware that calls f before each step.
func before(f func(s *loop.StepInfo) (loop.StepChange, error)) loop.Middleware {
	return loop.Middleware{Name: "before", New: func(loop.RunInfo) loop.Hooks {
		return loop.Hooks{BeforeStep: func(_ context.Context, s *loop.StepInfo) (loop.StepChange, error) { return f(s) }}
	}}
}

// The estimate includes changes by other middleware to the history, the system prompt and the
// tools.
func TestSummarizerRecounts(t *testing.T) {
	for name, c := range map[string]struct {
		keep, limit int
		sizes       func(n int) int
		summaries   bool
	}{
		"kept short":                   {2, 8, func(int) int { return 50 }, false},
		"the same number, but longer":  {4, 6, func(n int) int { return 10 + 10*n }, true},
		"the same number, of one size": {4, 6, func(int) int { return 50 }, false},
	} {
		n := 0
		big := loop.Tool{Name: "a", Run: func(context.Context, loop.Call) (loop.Output, error) {
			n++
			return loop.Output{Content: says("", c.sizes(n)).Parts}, nil
		}}
		rounds := fake.Response{Repeat: 20, Calls: []fake.Call{{ID: "c{n}", Name: "a", Arguments: "{}"}}}
		z := middleware.Summarizer{Window: 400, Model: fake.NewModel(fake.Response{Repeat: 20, Text: "short"})}
		o := play(t.Context(), t, loop.Config{Tools: []loop.Tool{big}, MaxSteps: 30, Middleware: []loop.Middleware{middleware.KeepLast(c.keep, c.limit), summarizes(t, z)}}, loop.Prompt("go"), rounds, text("done"))
		if got := o.res.ModelCalls > 21; got != c.summaries || o.err != nil {
			t.Errorf("%s: %d model calls, %v", name, o.res.ModelCalls, o.err)
		}
	}
	long := says("", 300).Parts[0].(llm.Text).Text
	for name, change := range map[string]func(s *loop.StepInfo) (loop.StepChange, error){
		"system": func(s *loop.StepInfo) (loop.StepChange, error) {
			if s.Step == 1 {
				s.Request.System = llm.SystemText(long)
			}
			return loop.StepChange{Request: s.Request}, nil
		},
		"tools": func(s *loop.StepInfo) (loop.StepChange, error) {
			if s.Step != 1 {
				return loop.StepChange{}, nil
			}
			more := tool
			more.Description = long
			return loop.StepChange{Tools: []loop.Tool{more}}, nil
		},
		"more tools": func(s *loop.StepInfo) (loop.StepChange, error) {
			if s.Step != 1 {
				return loop.StepChange{}, nil
			}
			return loop.StepChange{Tools: []loop.Tool{tool, {Name: "b", Description: long, Run: tool.Run}}}, nil
		},
	} {
		z := middleware.Summarizer{Window: 340, KeepMessages: 1}
		o := play(t.Context(), t, loop.Config{System: "be brief", Tools: []loop.Tool{tool}, Middleware: []loop.Middleware{before(change), summarizes(t, z)}}, loop.Prompt("go"), call("1"), text("short"), text("done"))
		if r := of[trace.HistoryRewrite](o.events); len(r) != 1 || o.err != nil {
			t.Errorf("%s: got %d summaries, %v", name, len(r), o.err)
		}
	}
}

// RA-44: if a summary or its archive fails, the conversation does not change. Messages are archived
// only after a summary. A separate model may write the summary.
func TestSummarizerFails(t *testing.T) {
	in := loop.Continue([]llm.Message{says(llm.RoleUser, 100), says(llm.RoleAssistant, 100)}, llm.User("go"))
	for want, c := range map[string]struct {
		summary fake.Response
		archive error
	}{
		"the conversation was not summarized: boom":                                      {fake.Response{Err: errors.New("boom")}, nil},
		"the conversation was not summarized: the summary is empty":                      {text(" "), nil},
		"the conversation was not summarized: archiving the replaced messages: no space": {text("short"), errors.New("no space")},
	} {
		writer, archived := fake.NewModel(c.summary), 0
		z := middleware.Summarizer{Window: 200, Model: writer, ModelName: "small", Prompt: "sum up", Archive: func(context.Context, []llm.Message) error {
			archived++
			return c.archive
		}}
		o := play(t.Context(), t, loop.Config{Middleware: []loop.Middleware{summarizes(t, z)}}, in, text("done"))
		req := writer.RecordedRequests()[0].Request
		if o.err != nil || len(o.model.RecordedRequests()[0].Request.Messages) != 3 || req.Model != "small" || req.System.Text() != "sum up" {
			t.Errorf("got %v, %+v", o.err, req)
		}
		if w := of[trace.Warning](o.events); len(w) != 1 || w[0] != (trace.Warning{Code: middleware.WarnSummary, Message: want}) {
			t.Errorf("got %+v, want %s", w, want)
		}
		if summarized := c.archive != nil; summarized != (archived == 1) {
			t.Errorf("%s: archived %d times", want, archived)
		}
	}
}

// A run that is canceled during a summary ends as any other canceled run.
func TestSummarizerCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	writer := llm.ModelFunc(func(ctx context.Context, _ *llm.Request) iter.Seq2[llm.Event, error] {
		return func(yield func(llm.Event, error) bool) {
			cancel()
			yield(nil, ctx.Err())
		}
	})
	z := middleware.Summarizer{Window: 200, Model: writer}
	o := play(ctx, t, loop.Config{Middleware: []loop.Middleware{summarizes(t, z)}}, loop.Continue([]llm.Message{says(llm.RoleUser, 200)}, llm.User("go")))
	if !errors.Is(o.err, context.Canceled) || o.res.StopReason != trace.ReasonCancel || len(of[trace.Warning](o.events)) != 0 {
		t.Errorf("got %v, %+v", o.err, o.res)
	}
}

// A summary alone is not summarized again, even above the limit.
func TestSummarizerKeepsSummary(t *testing.T) {
	z := middleware.Summarizer{Window: 200, KeepMessages: 2}
	in := loop.Continue([]llm.Message{llm.User(summaryHead + strings.Repeat("abc ", 170)), llm.Assistant(llm.Text{Text: taken})}, llm.User("go"))
	o := play(t.Context(), t, loop.Config{Middleware: []loop.Middleware{summarizes(t, z)}}, in, text("done"))
	if o.res.ModelCalls != 1 || len(of[trace.Warning](o.events)) != 0 {
		t.Errorf("got %+v", o.res)
	}
}

// A transcript contains all messages and calls, truncated long texts, and a complete earlier
// summary.
func TestTranscript(t *testing.T) {
	long := strings.Repeat("x", 4001)
	old := summaryHead + strings.Repeat("y", 5000)
	messages := []llm.Message{
		llm.User(old),
		llm.Assistant(llm.Reasoning{Text: "hm"}, llm.Text{Text: "look"}, llm.ToolCall{ID: "1", Name: "see", Arguments: `{"n":1}`}),
		llm.ToolResults(llm.ToolResult{ID: "1", Name: "see", Content: []llm.Part{llm.Text{Text: long}}}),
		{Role: llm.RoleUser, Parts: []llm.Part{llm.Media{MediaType: "image/png"}}},
	}
	var asked string
	_, err := (middleware.Summarizer{}).Compact(t.Context(), messages, func(_ context.Context, req *llm.Request) (*llm.Response, error) {
		asked = req.Messages[0].Text()
		return nil, errors.New("enough")
	})
	want := "user: " + old + "\nassistant: look\nassistant calls see: {\"n\":1}\nsee returns: " + long[1:] + "\n(cut: the first 4000 characters of a longer text)\n"
	if diff := cmp.Diff(want, asked); diff != "" || err == nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// A Summarizer rejects invalid settings.
func TestSummarizerErrors(t *testing.T) {
	for want, z := range map[string]middleware.Summarizer{
		"Window, Reserve or KeepMessages is negative: use 0 for the default":     {Window: -1},
		"Window, Reserve or KeepMessages is negative: use 0 for the default ":    {Reserve: -1},
		"Window, Reserve or KeepMessages is negative: use 0 for the default  ":   {KeepMessages: -1},
		"the Reserve of 100 tokens is not less than the Window of 100":           {Window: 100, Reserve: 100},
		"the Trigger is 1.5: want a share of the window, above 0 and up to 1":    {Trigger: 1.5},
		"the Trigger is -1: want a share of the window, above 0 and up to 1":     {Trigger: -1},
		"the KeepShare is 1: want a share of the window, above 0 and below 1":    {KeepShare: 1},
		"the KeepShare is -0.1: want a share of the window, above 0 and below 1": {KeepShare: -0.1},
	} {
		_, err := z.Middleware()
		_, compactErr := z.Compact(t.Context(), nil, nil)
		if want := "middleware: Summarizer: " + strings.TrimSpace(want); err == nil || err.Error() != want || compactErr == nil || compactErr.Error() != want {
			t.Errorf("%+v: got %v and %v, want %s", z, err, compactErr, want)
		}
	}
	if _, err := (middleware.Summarizer{}).Middleware(); err != nil {
		t.Error(err)
	}
}
