package deuz_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/preset/deuz"
	"github.com/looptape/looptape/trace"
)

// says returns a response with a text, calls one with calls of tools. The id of a call is its
// tool's name after the prefix.
func says(text string) fake.Response { return fake.Response{Text: text} }

func calls(prefix string, tools ...string) (r fake.Response) {
	for _, name := range tools {
		r.Calls = append(r.Calls, fake.Call{ID: prefix + name, Name: name, Arguments: `{"of":"` + name + `"}`})
	}
	return r
}

// tools returns the tools a and b, which return JSON, and bad, which fails.
func tools(log *[]string) []loop.Tool {
	run := func(out loop.Output, err error) func(context.Context, loop.Call) (loop.Output, error) {
		return func(_ context.Context, c loop.Call) (loop.Output, error) {
			if log != nil {
				*log = append(*log, "tool "+c.ID)
			}
			return out, err
		}
	}
	return []loop.Tool{
		{Name: "a", Run: run(loop.TextOutput(`{"city":"Paris","tempC":22}`), nil)}, {Name: "b", Run: run(loop.TextOutput("plain text"), nil)},
		{Name: "bad", Run: run(loop.Output{}, errors.New("no luck"))},
	}
}

// encoded returns a value as JSON.
func encoded(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func messages() []llm.Message { return []llm.Message{llm.User("go")} }

// DZ-01: without tools, each entry point makes one model call, and the deltas of the response pass
// through the stream.
func TestNoToolsDZ01(t *testing.T) {
	for _, none := range [][]loop.Tool{nil, {}} {
		first := calls("", "x")
		first.Chunks = []string{"some ", "text"}
		m := fake.NewModel(first, says("b"))
		res, err := deuz.GenerateText(t.Context(), deuz.Options{Model: m, Messages: messages(), Loop: loop.Config{Tools: none, MaxSteps: 5}})
		if err != nil || res.Text != "some text" || res.Steps != nil || len(m.RecordedRequests()) != 1 || strings.Contains(string(encoded(t, res)), "steps") {
			t.Errorf("GenerateText: %+v, %v after %d calls", res, err, len(m.RecordedRequests()))
		}
		if mode := m.RecordedRequests()[0].Request.ResponseMode; mode != llm.NonStreaming {
			t.Errorf("GenerateText: the response mode is %q", mode)
		}
		m = fake.NewModel(first, says("b"))
		var got []string
		for p := range deuz.StreamChat(t.Context(), deuz.Options{Model: m, Messages: messages(), Loop: loop.Config{Tools: none, MaxSteps: 5}}).Full() {
			got = append(got, strings.TrimSpace(p.Type+" "+p.Text+p.ToolCallID))
		}
		want := []string{"step-start", "text-delta some", "text-delta text", `tool-call-delta {"of":"x"}x`, "step-finish", "tool-call x", "finish"}
		if diff := cmp.Diff(want, got); diff != "" || len(m.RecordedRequests()) != 1 {
			t.Errorf("StreamChat after %d calls (-want +got):\n%s", len(m.RecordedRequests()), diff)
		}
	}
}

// DZ-01, DZ-25, DZ-28, DZ-29, DZ-31: each delta can be read when the model sends it, with and without tools.
func TestDeltasAreLive(t *testing.T) {
	first, second := calls("", "a"), says("z")
	first.Reasoning, first.Chunks, first.EventInterval, second.EventInterval = "hm", []string{"x", "y"}, time.Second, time.Second
	for _, tools := range [][]loop.Tool{nil, tools(nil)} {
		play := func(read func(s *deuz.Stream, at func(kind, delta string) bool)) (got []string) {
			clock := fake.NewClock()
			begun := clock.Now()
			opts := deuz.Options{Model: &fake.Model{Clock: clock, Responses: []fake.Response{first, second}}, Messages: messages(), Loop: loop.Config{Clock: clock, Tools: tools, MaxSteps: 5}}
			read(deuz.StreamChat(t.Context(), opts), func(kind, delta string) bool {
				got = append(got, strings.TrimSpace(fmt.Sprint(clock.Now().Sub(begun), " ", kind, " ", delta)))
				return true
			})
			return got
		}
		parts := []string{
			"0s step-start", "0s reasoning-delta hm", "1s text-delta x", "2s text-delta y", `4s tool-call-delta {"of":"a"}`, "6s step-finish", "6s tool-call",
			"6s tool-result", "6s step-start", "6s text-delta z", "7s step-finish", "7s finish",
		}
		texts := []string{"1s text x", "2s text y", "6s text z"}
		if tools == nil {
			parts, texts = append(parts[:7], "6s finish"), texts[:2]
		}
		full := play(func(s *deuz.Stream, at func(kind, delta string) bool) {
			s.Full()(func(p deuz.Part) bool { return at(p.Type, p.Text) })
		})
		if diff := cmp.Diff(parts, full); diff != "" {
			t.Errorf("Full with %d tools (-want +got):\n%s", len(tools), diff)
		}
		text := play(func(s *deuz.Stream, at func(kind, delta string) bool) {
			s.Text()(func(delta string) bool { return at("text", delta) })
		})
		if diff := cmp.Diff(texts, text); diff != "" {
			t.Errorf("Text with %d tools (-want +got):\n%s", len(tools), diff)
		}
	}
}

// DZ-53: one options value fits both entry points, is not changed, and can be used again. DZ-34: nothing is appended to its messages.
func TestOptionsDZ53(t *testing.T) {
	m := &fake.Model{Responses: []fake.Response{calls("c", "a"), says("x")}, IsolateConversations: true}
	steps := 0
	opts := deuz.Options{Model: m, Messages: slices.Grow(messages(), 4), Loop: loop.Config{
		Model: "m", Tools: tools(nil), ToolChoice: llm.ToolChoice{Mode: llm.ChooseAuto}, MaxSteps: 5,
		StopWhen: []loop.StopCondition{loop.StepCountIs(4)}, Concurrency: 2, OnStep: func(loop.Step) { steps++ },
	}}
	spare := opts.Messages[len(opts.Messages):cap(opts.Messages)]
	before := opts
	before.Messages = append([]llm.Message{}, opts.Messages...)
	before.Loop.Tools = append([]loop.Tool{}, opts.Loop.Tools...)
	before.Loop.StopWhen = append([]loop.StopCondition{}, opts.Loop.StopWhen...)
	unchanged := func() {
		t.Helper()
		if diff := cmp.Diff(before, opts, cmp.Comparer(func(a, b func(loop.Step)) bool { return true }),
			cmpopts.IgnoreUnexported(loop.Tool{}), cmpopts.IgnoreFields(loop.Tool{}, "Run"), cmpopts.IgnoreFields(loop.StopCondition{}, "Stop"), cmpopts.IgnoreFields(deuz.Options{}, "Model")); diff != "" {
			t.Errorf("the options were changed (-before +after):\n%s", diff)
		}
		if diff := cmp.Diff(make([]llm.Message, len(spare)), spare); diff != "" {
			t.Errorf("messages after those of the caller (-want +got):\n%s", diff)
		}
	}
	for range 2 {
		res, err := deuz.GenerateText(t.Context(), opts)
		unchanged()
		if err != nil || res.Text != "x" || len(res.Steps) != 2 {
			t.Fatalf("GenerateText: %+v, %v", res, err)
		}
		s := deuz.StreamChat(t.Context(), opts)
		if got := strings.Join(slices.Collect(s.Text()), ""); got != "x" {
			t.Errorf("StreamChat: got %q", got)
		}
		if reason, err := s.FinishReason(); reason != llm.FinishStop || err != nil {
			t.Errorf("the finish reason %q, %v", reason, err)
		}
	}
	if unchanged(); steps != 8 {
		t.Errorf("%d steps were reported, want 8", steps)
	}
}

// DZ-53, DZ-02: each option has its effect in both entry points: the tools and the tool choice are in each
// request, two calls of three at most run together, each step is reported, and the step limit and the
// conditions end the run. The model name, the system prompt and the settings are in each request, the middleware and the
// sink are in each run. GenerateText requests non-streaming responses, and StreamChat streaming ones.
func TestEachOptionDZ53(t *testing.T) {
	never := loop.StopCondition{Stop: func(context.Context, *loop.StepInfo) (bool, error) { return false, nil }}
	for mode, entry := range map[llm.ResponseMode]func(deuz.Options) error{
		llm.NonStreaming: func(o deuz.Options) error { _, err := deuz.GenerateText(t.Context(), o); return err },
		llm.Streaming:    func(o deuz.Options) error { _, err := deuz.StreamChat(t.Context(), o).Usage(); return err },
	} {
		for _, c := range []struct {
			max, steps int
			stop       []loop.StopCondition
		}{{2, 2, nil}, {9, 3, []loop.StopCondition{never, loop.StepCountIs(3)}}, {9, 4, []loop.StopCondition{loop.StepCountIs(5)}}} {
			clock, reported, begins, events := fake.NewClock(), 0, 0, 0
			begun := clock.Now()
			counts := loop.Middleware{Name: "counts", New: func(loop.RunInfo) loop.Hooks {
				begins++
				return loop.Hooks{}
			}}
			temperature := 0.5
			m := &fake.Model{Clock: clock, Responses: []fake.Response{calls("1", "a", "b", "bad"), calls("2", "a"), calls("3", "a"), says("x")}}
			own := tools(nil)
			for i := range own {
				own[i].Run = func(ctx context.Context, _ loop.Call) (loop.Output, error) {
					return loop.TextOutput("x"), clock.Sleep(ctx, time.Second)
				}
			}
			choice := llm.ToolChoice{Mode: llm.ChooseTool, Name: "a"}
			if err := entry(deuz.Options{Model: m, Messages: messages(), Loop: loop.Config{
				Tools: own, ToolChoice: choice, MaxSteps: c.max, StopWhen: c.stop, Concurrency: 2, Clock: clock, OnStep: func(loop.Step) { reported++ },
				Model: "m", System: "be brief", Settings: llm.Settings{Temperature: &temperature}, Middleware: []loop.Middleware{counts},
				Sink: trace.SinkFunc(func(trace.Event) error { events++; return nil }),
			}}); err != nil {
				t.Fatal(err)
			}
			if begins != 1 || events == 0 {
				t.Errorf("%s, %+v: the middleware is in %d runs, the sink has %d events", mode, c, begins, events)
			}
			want := min(c.steps+1, 4) // seconds: two for the first step
			if took := clock.Now().Sub(begun); reported != c.steps || took != time.Duration(want)*time.Second {
				t.Errorf("%s, %+v: %d steps in %v", mode, c, reported, took)
			}
			for i, r := range m.Requests() {
				if r.ResponseMode != mode || r.ToolChoice != choice || len(r.Tools) != len(own) || r.Messages[0].Text() != "go" ||
					r.Model != "m" || r.System.Text() != "be brief" || r.Settings.Temperature == nil || *r.Settings.Temperature != temperature {
					t.Errorf("%s, %+v: the request %d is %+v", mode, c, i, r)
				}
			}
		}
	}
}

// DZ-54, DZ-32: an invalid option is an error of GenerateText. StreamChat returns a stream that
// begins with step-start and ends with the error, and both awaitables fail with it. The model is
// not called.
func TestInvalidOptionsDZ54(t *testing.T) {
	m := fake.NewModel(says("never"))
	run := func(context.Context, loop.Call) (loop.Output, error) { return loop.TextOutput("x"), nil }
	for name, c := range map[string]struct {
		opts deuz.Options
		want string
	}{
		"missing model":  {deuz.Options{}, "Options.Model"},
		"invalid schema": {deuz.Options{Model: m, Loop: loop.Config{Tools: []loop.Tool{{Name: "a", Parameters: []byte(`{"type":7}`)}}}}, `"a"`},
		"same, with Run": {deuz.Options{Model: m, Loop: loop.Config{Tools: []loop.Tool{{Name: "a", Parameters: []byte(`{"type":7}`), Run: run}}}}, `"a"`},
		"same name":      {deuz.Options{Model: m, Loop: loop.Config{Tools: []loop.Tool{{Name: "a"}, {Name: "a"}}}}, `"a"`},
		"unknown tool": {deuz.Options{Model: m, Loop: loop.Config{
			Tools: []loop.Tool{{Name: "a"}}, ToolChoice: llm.ToolChoice{Mode: llm.ChooseTool, Name: "ghost"},
		}}, `unknown tool "ghost"`},
	} {
		c.opts.Messages = messages()
		if res, err := deuz.GenerateText(t.Context(), c.opts); err == nil || !strings.Contains(err.Error(), c.want) || res != nil {
			t.Errorf("%s: GenerateText: got %v, want an error with %s", name, err, c.want)
		}
		s := deuz.StreamChat(t.Context(), c.opts)
		parts := slices.Collect(s.Full())
		if len(parts) != 2 || parts[0].Type != "step-start" || parts[1].Type != "error" || !strings.Contains(parts[1].Err.Error(), c.want) {
			t.Fatalf("%s: StreamChat: %+v", name, parts)
		}
		_, err := s.Usage()
		_, err2 := s.FinishReason()
		if !errors.Is(err, parts[1].Err) || !errors.Is(err2, parts[1].Err) {
			t.Errorf("%s: the awaitables fail with %v and %v", name, err, err2)
		}
		if n := len(slices.Collect(s.Text())); n != 0 {
			t.Errorf("%s: got %d texts", name, n)
		}
	}
	if n := len(m.RecordedRequests()); n != 0 {
		t.Errorf("the model was called %d times", n)
	}
}

// DZ-32: a part of a type that the loop does not make is encoded with its type.
func TestUnknownPartDZ32(t *testing.T) {
	b, err := json.Marshal(deuz.Part{Type: "source"})
	if string(b) != `{"type":"source"}` || err != nil {
		t.Errorf("got %s, %v", b, err)
	}
}

// DZ-36: the results of a step are in the order of its calls, not in that in which the tools end.
func TestResultOrderDZ36(t *testing.T) {
	clock := fake.NewClock()
	slow := func(name string, milliseconds time.Duration) loop.Tool {
		return loop.Tool{Name: name, Run: func(ctx context.Context, _ loop.Call) (loop.Output, error) {
			return loop.TextOutput("of " + name), clock.Sleep(ctx, milliseconds*time.Millisecond)
		}}
	}
	res, err := deuz.GenerateText(t.Context(), deuz.Options{
		Model: fake.NewModel(calls("", "a", "b", "c"), says("x")), Messages: messages(),
		Loop: loop.Config{MaxSteps: 3, Clock: clock, Tools: []loop.Tool{slow("a", 30), slow("b", 10), slow("c", 20)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range res.Steps[0].Results {
		got = append(got, r.Name+" "+r.Text())
	}
	if want := []string{"a of a", "b of b", "c of c"}; !slices.Equal(got, want) {
		t.Errorf("results %q, want %q", got, want)
	}
}

// DZ-32: StreamChat returns before the model is called. If a call fails, the first or a later one, the parts end with the
// error, and both awaitables fail with it.
func TestStreamFailsDZ32(t *testing.T) {
	boom := fake.Response{Error: &fake.Failure{Status: 500, Message: "boom"}}
	for want, responses := range map[string][]fake.Response{
		"step-start error": {boom},
		"step-start tool-call-delta step-finish tool-call tool-result step-start error": {withUsage(calls("", "a"), 10, 5), boom},
	} {
		m := fake.NewModel(responses...)
		s := deuz.StreamChat(t.Context(), deuz.Options{Model: m, Messages: messages(), Loop: loop.Config{MaxSteps: 5, Tools: tools(nil)}})
		if n := len(m.RecordedRequests()); n != 0 {
			t.Fatalf("the model was called %d times before the stream is read", n)
		}
		parts := slices.Collect(s.Full())
		var types []string
		for _, p := range parts {
			types = append(types, p.Type)
		}
		_, err := s.Usage()
		_, err2 := s.FinishReason()
		last := parts[len(parts)-1]
		if api, ok := errors.AsType[*llm.APIError](last.Err); !ok || api.Status != 500 || strings.Join(types, " ") != want || !errors.Is(err, api) || !errors.Is(err2, api) {
			t.Errorf("parts %q, error %v, usage %v, finish reason %v", types, last.Err, err, err2)
		}
	}
}

// DZ-04, DZ-16, DZ-40: one step is the default also with stop conditions, the runaway guard stops also
// below a high step limit, and a step without reasoning has no reasoningText.
func TestDefaultsOfGenerateText(t *testing.T) {
	never := []loop.StopCondition{{Stop: func(context.Context, *loop.StepInfo) (bool, error) { return false, nil }}}
	for want, cfg := range map[int]loop.Config{1: {StopWhen: never}, 3: {MaxSteps: 100}} {
		m := fake.NewModel(calls("", "bad"), calls("", "bad"), calls("", "bad"), calls("", "bad"), says("never"))
		cfg.Tools = tools(nil)
		res, err := deuz.GenerateText(t.Context(), deuz.Options{Model: m, Messages: messages(), Loop: cfg})
		if err != nil {
			t.Fatal(err)
		}
		if n := len(m.RecordedRequests()); n != want {
			t.Errorf("got %d model calls, want %d", n, want)
		}
		if line, err := json.Marshal(res); err != nil || strings.Contains(string(line), "reasoningText") {
			t.Errorf("got %s, %v", line, err)
		}
	}
}

// DZ-26, DZ-49: the usage and the finish reason of a stream are those of its finish part, whether the caller
// reads the parts or not. The usage of a step-finish is that of the model call, also if
// middleware replaces the response.
func TestAwaitablesDZ49(t *testing.T) {
	replace := loop.Middleware{Name: "replace", New: func(loop.RunInfo) loop.Hooks {
		return loop.Hooks{WrapModel: func(next loop.ModelFunc) loop.ModelFunc {
			return func(ctx context.Context, c loop.ModelCall) (*llm.Response, error) {
				res, err := next(ctx, c)
				if err == nil && len(res.Calls()) == 0 {
					res = &llm.Response{Parts: []llm.Part{llm.Text{Text: "other"}}, FinishReason: res.FinishReason}
				}
				return res, err
			}
		}}
	}}
	for want, last := range map[llm.FinishReason]fake.Response{
		llm.FinishToolCalls: calls("2", "bad"), llm.FinishLength: {Text: "x", FinishReason: llm.FinishLength}, llm.FinishStop: says("x"),
	} {
		first := calls("1", "bad")
		first.Usage, last.Usage = llm.Usage{InputTokens: 10, OutputTokens: 5, CacheCreationInputTokens: 3}, llm.Usage{InputTokens: 20, OutputTokens: 7, CacheReadInputTokens: 3, ReasoningOutputTokens: 2}
		sum := llm.Usage{InputTokens: 30, OutputTokens: 12, CacheCreationInputTokens: 3, CacheReadInputTokens: 3, ReasoningOutputTokens: 2}
		opts := deuz.Options{Messages: messages(), Loop: loop.Config{MaxSteps: 2, Tools: tools(nil), Middleware: []loop.Middleware{replace}}}
		opts.Model = fake.NewModel(first, last)
		unread := deuz.StreamChat(t.Context(), opts)
		opts.Model = fake.NewModel(first, last)
		read := deuz.StreamChat(t.Context(), opts)
		var steps []llm.Usage
		for p := range read.Full() {
			switch p.Type {
			case "step-finish":
				steps = append(steps, p.Usage)
			case "finish":
				if p.Usage != sum || p.FinishReason != want {
					t.Errorf("%s: got the part %+v", want, p)
				}
			}
		}
		if diff := cmp.Diff([]llm.Usage{first.Usage, last.Usage}, steps); diff != "" {
			t.Errorf("%s: usage of the steps (-want +got):\n%s", want, diff)
		}
		for _, s := range []*deuz.Stream{read, unread} {
			usage, err := s.Usage()
			reason, err2 := s.FinishReason()
			if usage != sum || reason != want || err != nil || err2 != nil {
				t.Errorf("got %+v, %q, %v, %v, want %q", usage, reason, err, err2, want)
			}
		}
	}
}

// DZ-50: GenerateText fails if the model fails, also after a step, which the result has.
func TestGenerateTextFailsDZ50(t *testing.T) {
	m := fake.NewModel(calls("", "bad"), fake.Response{Error: &fake.Failure{Status: 400, Message: "boom"}})
	res, err := deuz.GenerateText(t.Context(), deuz.Options{Model: m, Messages: messages(), Loop: loop.Config{MaxSteps: 9, Tools: tools(nil)}})
	if api, ok := errors.AsType[*llm.APIError](err); !ok || api.Status != 400 || res == nil || len(res.Steps) != 1 {
		t.Errorf("got %+v, error %v, want a step and the error of the model", res, err)
	}
}

// DZ-20, DZ-55: the usage of a step is that of its response alone, in the result, in the callback
// and in the parts. The total is the sum, also at the step limit, after the runaway guard and after a stop condition. All have the
// sum of input and output tokens. DZ-30: one finish is the last part of each.
func TestUsageDZ20(t *testing.T) {
	one := llm.Usage{InputTokens: 10, OutputTokens: 5, CacheReadInputTokens: 4, CacheCreationInputTokens: 3, ReasoningOutputTokens: 2}
	two := llm.Usage{InputTokens: 20, OutputTokens: 7, CacheReadInputTokens: 8, CacheCreationInputTokens: 6, ReasoningOutputTokens: 5}
	sum := llm.Usage{InputTokens: 30, OutputTokens: 12, CacheReadInputTokens: 12, CacheCreationInputTokens: 9, ReasoningOutputTokens: 7}
	for name, c := range map[string]struct {
		second fake.Response
		cfg    loop.Config
	}{
		"natural end": {says("x"), loop.Config{MaxSteps: 5}},
		"step limit":  {calls("2", "bad"), loop.Config{MaxSteps: 2}},
		"guard":       {calls("2", "bad"), loop.Config{MaxSteps: 5, MaxConsecutiveToolErrors: 2}},
		"condition":   {calls("2", "bad"), loop.Config{MaxSteps: 5, StopWhen: []loop.StopCondition{loop.StepCountIs(2)}}},
	} {
		first := calls("1", "bad")
		first.Usage, c.second.Usage = one, two
		var told []llm.Usage
		c.cfg.Tools, c.cfg.OnStep = tools(nil), func(s loop.Step) { told = append(told, s.Usage) }
		opts := deuz.Options{Model: &fake.Model{Responses: []fake.Response{first, c.second}, IsolateConversations: true}, Messages: messages(), Loop: c.cfg}
		res, err := deuz.GenerateText(t.Context(), opts)
		if err != nil {
			t.Fatal(name, err)
		}
		got := []llm.Usage{res.Steps[0].Usage, res.Steps[1].Usage, told[0], told[1], res.Usage}
		var finished []llm.Usage
		var lines, record []string
		var parsed struct {
			Steps []struct{ Usage json.RawMessage }
			Usage json.RawMessage
		}
		if err := json.Unmarshal(encoded(t, res), &parsed); err != nil {
			t.Fatal(err)
		}
		for _, step := range parsed.Steps {
			record = append(record, string(step.Usage))
		}
		record = append(record, string(parsed.Usage))
		s := deuz.StreamChat(t.Context(), opts)
		for p := range s.Full() {
			if p.Type == "step-finish" || p.Type == "finish" {
				finished = append(finished, p.Usage)
				_, usage, _ := strings.Cut(string(encoded(t, p)), `"usage":`)
				lines = append(lines, usage[:strings.Index(usage, "}")+1])
			}
		}
		usage, err := s.Usage()
		if err != nil {
			t.Fatal(err)
		}
		got = append(append(got, finished...), told[2], told[3], usage)
		if diff := cmp.Diff([]llm.Usage{one, two, one, two, sum, one, two, sum, one, two, sum}, got); diff != "" {
			t.Errorf("%s: usage in the result, the callback and the parts (-want +got):\n%s", name, diff)
		}
		want := []string{
			`{"inputTokens":10,"outputTokens":5,"totalTokens":15,"cachedInputTokens":4,"reasoningTokens":2}`,
			`{"inputTokens":20,"outputTokens":7,"totalTokens":27,"cachedInputTokens":8,"reasoningTokens":5}`,
			`{"inputTokens":30,"outputTokens":12,"totalTokens":42,"cachedInputTokens":12,"reasoningTokens":7}`,
		}
		if diff := cmp.Diff(slices.Concat(want, want), append(lines, record...)); diff != "" {
			t.Errorf("%s: usage in the parts and in the result as JSON (-want +got):\n%s", name, diff)
		}
		if one.Total() != 15 || res.Steps[1].Usage.Total() != 27 || res.Usage.Total() != 42 {
			t.Errorf("%s: the totals are %d, %d and %d", name, one.Total(), res.Steps[1].Usage.Total(), res.Usage.Total())
		}
	}
}

// DZ-45, DZ-61: a client-side tool ends the run of both entry points without a result, and the result of
// GenerateText has the call. The caller appends the result, and
// the second stream continues from it.
func TestClientToolDZ61(t *testing.T) {
	client, err := loop.ClientTool("client", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	opts := deuz.Options{Model: &fake.Model{Responses: []fake.Response{calls("", "client"), says("done")}, IsolateConversations: true}, Messages: messages(), Loop: loop.Config{MaxSteps: 5, Tools: []loop.Tool{client}}}
	whole, err := deuz.GenerateText(t.Context(), opts)
	if err != nil || whole.ModelCalls != 1 || len(whole.Messages) != 1 {
		t.Fatalf("GenerateText: %+v, %v", whole, err)
	}
	var result struct{ ToolCalls json.RawMessage }
	if err := json.Unmarshal(encoded(t, whole), &result); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(`[{"toolCallId":"client","toolName":"client","args":{"of":"client"}}]`, string(result.ToolCalls)); diff != "" {
		t.Errorf("toolCalls of the result (-want +got):\n%s", diff)
	}
	var got []string
	var pending []llm.Part
	for p := range deuz.StreamChat(t.Context(), opts).Full() {
		got = append(got, p.Type)
		if p.Type == "tool-call" {
			pending = append(pending, llm.ToolCall{ID: p.ToolCallID, Name: p.ToolName, Arguments: string(p.Input)})
		}
	}
	if diff := cmp.Diff([]string{"step-start", "tool-call-delta", "step-finish", "tool-call", "finish"}, got); diff != "" {
		t.Fatalf("the parts (-want +got):\n%s", diff)
	}
	call := pending[0].(llm.ToolCall)
	if want := (llm.ToolCall{ID: "client", Name: "client", Arguments: `{"of":"client"}`}); !cmp.Equal(want, call) {
		t.Errorf("the pending call is %+v", call)
	}
	answer := llm.ToolResults(llm.ToolResult{ID: call.ID, Name: call.Name, Content: []llm.Part{llm.Text{Text: "yes"}}})
	opts.Messages = append(opts.Messages, llm.Assistant(pending...), answer)
	got = nil
	for p := range deuz.StreamChat(t.Context(), opts).Full() {
		got = append(got, strings.TrimSpace(fmt.Sprint(p.Type, " ", p.StepIndex, " ", p.Text)))
	}
	if diff := cmp.Diff([]string{"step-start 0", "text-delta 0 done", "step-finish 0", "finish 0"}, got); diff != "" {
		t.Errorf("the parts of the second stream (-want +got):\n%s", diff)
	}
}

// DZ-52: with the default limits, both entry points stop after three steps in which one tool fails, and run
// at most five tools at a time. They mark the error results, also those of calls with bad arguments.
func TestGuardOfBothEntriesDZ52(t *testing.T) {
	want := []string{"bad:error work:error work work work work work work work", "bad:error", "bad:error"}
	entries := map[string]func(deuz.Options) []string{
		"GenerateText": func(opts deuz.Options) (steps []string) {
			res, err := deuz.GenerateText(t.Context(), opts)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range res.Steps {
				line := ""
				for _, r := range s.Results {
					line += marked(r.Name, r.IsError)
				}
				steps = append(steps, strings.TrimSpace(line))
			}
			return steps
		},
		"StreamChat": func(opts deuz.Options) (steps []string) {
			for p := range deuz.StreamChat(t.Context(), opts).Full() {
				switch p.Type {
				case "step-start":
					steps = append(steps, "")
				case "tool-result":
					last := &steps[len(steps)-1]
					*last = strings.TrimSpace(*last + " " + marked(p.ToolName, p.IsError))
				}
			}
			return steps
		},
	}
	for name, run := range entries {
		clock := fake.NewClock()
		var mu sync.Mutex
		running, most := 0, 0
		count := func(n int) {
			mu.Lock()
			defer mu.Unlock()
			running += n
			most = max(most, running)
		}
		work, err := loop.RawTool("work", "", []byte(`{"type":"object","properties":{"of":{"type":"string"}}}`), func(ctx context.Context, _ loop.Call) (loop.Output, error) {
			count(1)
			defer count(-1)
			return loop.TextOutput("done"), clock.Sleep(ctx, time.Millisecond)
		})
		if err != nil {
			t.Fatal(err)
		}
		first := calls("", "bad", "work", "work", "work", "work", "work", "work", "work", "work")
		for i := range first.Calls {
			first.Calls[i].ID = fmt.Sprint(first.Calls[i].ID, ".", i)
		}
		first.Calls[1].Arguments = `{"of":1}`
		got := run(deuz.Options{Model: &fake.Model{Clock: clock, Responses: []fake.Response{first, calls("", "bad"), calls("", "bad"), says("never")}}, Messages: messages(),
			Loop: loop.Config{MaxSteps: 9, Clock: clock, Tools: append(tools(nil), work)}})
		if diff := cmp.Diff(want, got); diff != "" || most != 5 {
			t.Errorf("%s: %d tools ran at a time; results of the steps (-want +got):\n%s", name, most, diff)
		}
	}
}

// marked returns the name of a tool and whether its result is an error.
func marked(name string, isError bool) string {
	if isError {
		name += ":error"
	}
	return name + " "
}

// rebuilt returns the messages that the parts of a stream contain.
func rebuilt(parts []deuz.Part) (list []llm.Message) {
	var assistant, results []llm.Part
	add := func(text string, isReasoning bool) {
		if n := len(assistant); n > 0 {
			switch last := assistant[n-1].(type) {
			case llm.Text:
				if !isReasoning {
					assistant[n-1] = llm.Text{Text: last.Text + text}
					return
				}
			case llm.Reasoning:
				if isReasoning {
					assistant[n-1] = llm.Reasoning{Text: last.Text + text}
					return
				}
			}
		}
		if isReasoning {
			assistant = append(assistant, llm.Reasoning{Text: text})
		} else {
			assistant = append(assistant, llm.Text{Text: text})
		}
	}
	for _, p := range parts {
		switch p.Type {
		case "text-delta":
			add(p.Text, false)
		case "reasoning-delta":
			add(p.Text, true)
		case "tool-call":
			assistant = append(assistant, llm.ToolCall{ID: p.ToolCallID, Name: p.ToolName, Arguments: string(p.Input)})
		case "tool-result":
			text := string(p.Output)
			_ = json.Unmarshal(p.Output, &text) // all other JSON values are the text
			results = append(results, llm.ToolResult{ID: p.ToolCallID, Name: p.ToolName, IsError: p.IsError, Content: []llm.Part{llm.Text{Text: text}}})
		case "step-start", "finish", "error":
			if assistant != nil {
				list = append(list, llm.Assistant(assistant...))
			}
			if results != nil {
				list = append(list, llm.Message{Role: llm.RoleTool, Parts: results})
			}
			assistant, results = nil, nil
		}
	}
	return list
}

// DZ-02, DZ-48, DZ-57: for any script, both entry points make the same model requests, and call the
// callbacks, the stop conditions and the tools in the same order with the same arguments. The
// messages that are rebuilt from the parts of the stream are those of the result, and a second
// call continues from its last request.
func TestTwinsDZ02DZ57(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var turns []fake.Response
		names := rapid.SampledFrom([]string{"a", "b", "bad", "ghost"})
		for i := range rapid.IntRange(0, 4).Draw(rt, "tool steps") {
			turn := calls(fmt.Sprint("c", i), rapid.SliceOfNDistinct(names, 1, 4, rapid.ID).Draw(rt, "tools")...)
			turn.Text, turn.Reasoning = rapid.StringMatching(`[a-z]{0,3}`).Draw(rt, "text"), rapid.StringMatching(`[a-z]{0,3}`).Draw(rt, "reasoning")
			turn.ChunkSize = rapid.IntRange(0, 2).Draw(rt, "chunks")
			turn.Usage = llm.Usage{InputTokens: rapid.Int64Range(0, 9).Draw(rt, "input"), OutputTokens: 1}
			turns = append(turns, turn)
		}
		turns = append(turns, says(rapid.StringMatching(`[a-z]{1,3}`).Draw(rt, "last")), says("next"))
		limit := rapid.IntRange(0, 6).Draw(rt, "max steps")
		type side struct {
			Log      []string
			Requests []*llm.Request
			Messages []llm.Message
		}
		play := func(entry func(deuz.Options) []llm.Message) (s side) {
			m := fake.NewModel(turns...)
			line := func(what string, v any) {
				b, err := json.Marshal(v)
				if err != nil {
					rt.Fatal(err)
				}
				s.Log = append(s.Log, what+" "+string(b))
			}
			opts := deuz.Options{Model: m, Messages: messages(), Loop: loop.Config{
				Tools: tools(&s.Log), MaxSteps: limit, Concurrency: 1, OnStep: func(step loop.Step) { line("step", step) },
				StopWhen: []loop.StopCondition{{Stop: func(_ context.Context, info *loop.StepInfo) (bool, error) {
					line(fmt.Sprintf("condition %d %d", len(info.Steps), info.Usage.Total()), info.Steps)
					return false, nil
				}}},
			}}
			s.Messages = entry(opts)
			opts.Messages = append(opts.Messages, s.Messages...)
			if n := len(opts.Messages); opts.Messages[n-1].Role == llm.RoleAssistant {
				opts.Messages = append(opts.Messages, llm.User("and now?"))
			}
			entry(opts)
			for _, r := range m.Requests() {
				r.ResponseMode = ""
				s.Requests = append(s.Requests, r)
			}
			return s
		}
		whole := play(func(opts deuz.Options) []llm.Message {
			res, err := deuz.GenerateText(t.Context(), opts)
			if err != nil {
				rt.Fatal(err)
			}
			return res.Messages
		})
		streamed := play(func(opts deuz.Options) []llm.Message {
			return rebuilt(slices.Collect(deuz.StreamChat(t.Context(), opts).Full()))
		})
		if diff := cmp.Diff(whole, streamed); diff != "" {
			rt.Fatalf("the entry points differ (-GenerateText +StreamChat):\n%s", diff)
		}
		for i := 1; i < len(whole.Requests); i++ {
			before, after := whole.Requests[i-1].Messages, whole.Requests[i].Messages
			if len(after) <= len(before) || !cmp.Equal(before, after[:len(before)]) {
				rt.Fatalf("request %d does not begin with the messages of the request before it", i)
			}
		}
	})
}
