package otelloop_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/sebdah/goldie/v2"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	oteltrace "go.opentelemetry.io/otel/trace"

	otelloop "github.com/looptape/looptape/contrib/otel"
	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/trace"
)

func tool(name string, run func(context.Context, loop.Call) (loop.Output, error)) loop.Tool {
	return loop.Tool{Name: name, Description: "what " + name + " does", Run: run}
}

func calls(names ...string) fake.Response {
	r := fake.Response{Usage: llm.Usage{InputTokens: 20, OutputTokens: 8}}
	for i, name := range names {
		r.Calls = append(r.Calls, fake.Call{ID: fmt.Sprintf("%s-%d", name, i), Name: name, Arguments: fmt.Sprintf(`{"n":%d}`, i)})
	}
	return r
}

func newAgent(t *testing.T, m llm.Model, cfg loop.Config) *loop.Agent {
	t.Helper()
	a, err := loop.New(m, &cfg)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// tree describes the spans by their place below others.
func tree(spans tracetest.SpanStubs) []string {
	depth := map[oteltrace.SpanID]int{}
	var list []string
	var add func(parent oteltrace.SpanID)
	add = func(parent oteltrace.SpanID) {
		for _, s := range spans {
			if s.Parent.SpanID() == parent {
				id := s.SpanContext.SpanID()
				depth[id] = depth[parent] + 1
				list = append(list, strings.Repeat("  ", depth[parent])+s.Name)
				add(id)
			}
		}
	}
	add(oteltrace.SpanID{})
	return list
}

// world is an agent with parallel tools, a sub-agent, a retry and a failing tool.
func world(t *testing.T, b *backend) (*loop.Agent, *fake.Clock) {
	t.Helper()
	clock := fake.NewClock()
	work := func(ctx context.Context, what string, d time.Duration) {
		_, span := b.tracer.Start(ctx, what, oteltrace.WithTimestamp(clock.Now()))
		defer func() { span.End(oteltrace.WithTimestamp(clock.Now())) }()
		_ = clock.Sleep(ctx, d)
	}
	inner := b.Config
	inner.Agent = "helper"
	sub := newAgent(t, script(b, clock, calls("query"), fake.Response{Text: "42", Usage: llm.Usage{InputTokens: 30, OutputTokens: 1}}), loop.Config{
		Model: "small", Clock: clock, Middleware: []loop.Middleware{otelloop.Middleware(&inner)},
		Tools: []loop.Tool{tool("query", func(ctx context.Context, _ loop.Call) (loop.Output, error) {
			work(ctx, "SELECT", 2*time.Millisecond)
			return loop.TextOutput("rows"), nil
		})},
	})
	temperature, seed := 0.5, int64(7)
	main := newAgent(t, script(b, clock,
		fake.Response{Attempts: []fake.Response{
			{Err: &llm.APIError{Status: 429, Code: "rate_limit", Message: "slow down", Retryable: true}},
			{Calls: calls("search", "ask", "broken").Calls, Usage: llm.Usage{InputTokens: 20, OutputTokens: 8, CacheReadInputTokens: 5}},
		}},
		calls("ghost"),
		fake.Response{Text: "done", Usage: llm.Usage{InputTokens: 40, OutputTokens: 6, ReasoningOutputTokens: 2}},
	), loop.Config{
		Model: "large", System: "be brief", Clock: clock, Deltas: true, Middleware: []loop.Middleware{otelloop.Middleware(&b.Config)},
		Settings: llm.Settings{MaxTokens: 100, Temperature: &temperature, TopP: &temperature, Seed: &seed, StopSequences: []string{"END"}, ReasoningEffort: "low"},
		Retry:    loop.Retry{Max: 2, Base: 10 * time.Millisecond},
		Tools: []loop.Tool{
			tool("search", func(ctx context.Context, _ loop.Call) (loop.Output, error) {
				work(ctx, "GET", 5*time.Millisecond)
				return loop.TextOutput(`{"hits":[1,2]}`), nil
			}),
			tool("ask", func(ctx context.Context, _ loop.Call) (loop.Output, error) {
				res, err := sub.Run(ctx, loop.Prompt("What is it?"))
				return loop.TextOutput(res.Text), err
			}),
			tool("broken", func(context.Context, loop.Call) (loop.Output, error) { return loop.Output{}, errors.New("no disk") }),
		},
	})
	return main, clock
}

// script returns a model that makes a span of its own for each request, 1ms before its response.
func script(b *backend, clock *fake.Clock, responses ...fake.Response) llm.Model {
	m := fake.NewModel(responses...)
	return llm.ModelFunc(func(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
		return func(yield func(llm.Event, error) bool) {
			_, span := b.tracer.Start(ctx, "POST", oteltrace.WithTimestamp(clock.Now()))
			_ = clock.Sleep(ctx, time.Millisecond)
			span.End(oteltrace.WithTimestamp(clock.Now()))
			m.Stream(ctx, req)(yield)
		}
	})
}

// TestSpansNest checks that spans of the application are below those of the model call or the tool call that they
// serve, and the run of a sub-agent below its call.
func TestSpansNest(t *testing.T) {
	b := newBackend(otelloop.ContentOff)
	agent, _ := world(t, b)
	ctx, caller := b.begin(t.Context())
	if _, err := agent.Run(ctx, loop.Prompt("Go.")); err != nil {
		t.Fatal(err)
	}
	caller.End(oteltrace.WithTimestamp(endOf(b.spans())))
	want := []string{
		"caller", "  invoke_agent tester", "    chat large", "      POST", "    chat large", "      POST", "    execute_tool search", "      GET", "    execute_tool ask",
		"      invoke_agent helper", "        chat small", "          POST", "        execute_tool query", "          SELECT", "        chat small", "          POST",
		"    execute_tool broken", "    chat large", "      POST", "    execute_tool ghost", "    chat large", "      POST",
	}
	if diff := gocmp.Diff(want, tree(b.spans())); diff != "" {
		t.Errorf("spans (-want +got):\n%s", diff)
	}
}

// Hooks around a model call have the span of the run, and not that of the call.
func TestSpanOfHooks(t *testing.T) {
	b := newBackend(otelloop.ContentOff)
	var names []string
	note := func(ctx context.Context) {
		_, span := b.tracer.Start(ctx, fmt.Sprint("hook ", len(names)))
		names = append(names, "")
		span.End()
	}
	hooks := loop.Hooks{
		BeforeStep: func(ctx context.Context, _ *loop.StepInfo) (loop.StepChange, error) {
			note(ctx)
			return loop.StepChange{}, nil
		},
		AfterModel: func(ctx context.Context, _ *loop.StepInfo, _ *llm.Response) (loop.Decision, error) {
			note(ctx)
			return loop.Decision{}, nil
		},
		AfterStep: func(ctx context.Context, _ *loop.StepInfo, _ *loop.Step) (loop.Decision, error) {
			note(ctx)
			return loop.Decision{}, nil
		},
	}
	agent := newAgent(t, fake.NewModel(calls("a"), fake.Response{Text: "done"}), loop.Config{
		Tools:      []loop.Tool{tool("a", answer)},
		Middleware: []loop.Middleware{otelloop.Middleware(&b.Config), {Name: "notes", New: func(loop.RunInfo) loop.Hooks { return hooks }}},
	})
	if _, err := agent.Run(t.Context(), loop.Prompt("Go.")); err != nil {
		t.Fatal(err)
	}
	want := []string{"invoke_agent tester", "  hook 0", "  chat", "  hook 1", "  execute_tool a", "  hook 2", "  hook 3", "  chat", "  hook 4"}
	if diff := gocmp.Diff(want, tree(b.spans())); diff != "" {
		t.Errorf("spans (-want +got):\n%s", diff)
	}
}

// TestGolden compares all spans and metrics of a run with a file, for each form of content.
func TestGolden(t *testing.T) {
	for _, content := range []otelloop.Content{otelloop.ContentOff, otelloop.ContentStructured, otelloop.ContentJSON} {
		b := newBackend(content)
		agent, _ := world(t, b)
		if _, err := agent.Run(t.Context(), loop.Prompt("Go.")); err != nil {
			t.Fatal(err)
		}
		spans := b.spans()
		lines := describe(spans, true)
		for i, s := range spans {
			id, parent := s.SpanContext.SpanID(), s.Parent.SpanID()
			lines[i] = fmt.Sprintf("%d<%d %s", id[7], parent[7], lines[i])
		}
		lines = append(lines, describeMetrics(b.metrics(t))...)
		goldie.New(t).Assert(t, "content-"+cmp.Or(string(content), "off"), []byte(strings.Join(lines, "\n")+"\n"))
	}
}

// TestParallelTools runs tools on real goroutines, each with a span and a run of its own: all at the same time, and
// so that tools start while others run.
func TestParallelTools(t *testing.T) {
	for _, concurrency := range []int{loop.Unlimited, 3} {
		t.Run(fmt.Sprint(concurrency), func(t *testing.T) { parallelTools(t, concurrency) })
	}
}

func parallelTools(t *testing.T, concurrency int) {
	t.Helper()
	b := newBackend(otelloop.ContentStructured)
	inner := b.Config
	inner.Agent = "helper"
	names := make([]string, 16)
	var tools []loop.Tool
	var started sync.WaitGroup // without a limit, all tools run at the same time
	if concurrency == loop.Unlimited {
		started.Add(len(names))
	}
	for i := range names {
		names[i] = fmt.Sprintf("tool%d", i)
		tools = append(tools, tool(names[i], func(ctx context.Context, call loop.Call) (loop.Output, error) {
			if concurrency == loop.Unlimited {
				started.Done()
			}
			started.Wait()
			sub, err := loop.New(fake.NewModel(fake.Response{Text: call.Name}), &loop.Config{Middleware: []loop.Middleware{otelloop.Middleware(&inner)}})
			if err != nil {
				return loop.Output{}, err
			}
			res, err := sub.Run(ctx, loop.Prompt("sub"))
			_, span := b.tracer.Start(ctx, "work of "+call.Name)
			span.End()
			return loop.TextOutput(res.Text), err
		}))
	}
	agent := newAgent(t, fake.NewModel(calls(names...), fake.Response{Text: "done"}), loop.Config{
		Tools: tools, Concurrency: concurrency, Middleware: []loop.Middleware{otelloop.Middleware(&b.Config)},
	})
	if _, err := agent.Run(t.Context(), loop.Prompt("Go.")); err != nil {
		t.Fatal(err)
	}
	spans := b.spans()
	byID := map[oteltrace.SpanID]*tracetest.SpanStub{}
	for i := range spans {
		byID[spans[i].SpanContext.SpanID()] = &spans[i]
	}
	nested := map[string]int{}
	for _, s := range spans {
		parent := byID[s.Parent.SpanID()]
		if name, isWork := strings.CutPrefix(s.Name, "work of "); isWork {
			if parent.Name != "execute_tool "+name {
				t.Errorf("%s is below %s", s.Name, parent.Name)
			}
			nested[name]++
		} else if s.Name == "invoke_agent helper" {
			nested[text(parent, "gen_ai.tool.name")]++
		}
	}
	for _, name := range names {
		if nested[name] != 2 {
			t.Errorf("%d spans below %s, want 2", nested[name], name)
		}
	}
	if len(b.open) > 0 {
		t.Errorf("open spans: %v", b.open)
	}
}

// One middleware serves concurrent runs, also with one name.
func TestConcurrentRuns(t *testing.T) {
	b := newBackend(otelloop.ContentStructured)
	again := fake.NewModel(slices.Repeat([]fake.Response{{Text: "hi", Usage: llm.Usage{InputTokens: 1, OutputTokens: 1}}}, 20)...)
	agent := newAgent(t, again, loop.Config{Middleware: []loop.Middleware{otelloop.Middleware(&b.Config)}})
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			in := loop.Prompt("Go.")
			in.ID = "same"
			if _, err := agent.Run(t.Context(), in); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	spans := b.spans()
	if len(spans) != 40 || len(b.open) > 0 {
		t.Errorf("%d spans, %d open; want 40", len(spans), len(b.open))
	}
	roots := map[oteltrace.TraceID]int{}
	for _, s := range spans {
		roots[s.SpanContext.TraceID()]++
	}
	for id, n := range roots {
		if n != 2 {
			t.Errorf("trace %s has %d spans, want 2", id, n)
		}
	}
}

// Without a provider, the middleware has no hooks, so that the run makes no events for it.
func TestNoProvider(t *testing.T) {
	for name, cfg := range map[string]*otelloop.Config{"nil": nil, "zero": {}, "content": {Content: otelloop.ContentJSON}} {
		hooks := otelloop.Middleware(cfg).New(loop.RunInfo{})
		if hooks.Sink != nil || hooks.Start != nil || hooks.WrapTool != nil || hooks.WrapModel != nil {
			t.Errorf("%s: hooks %+v", name, hooks)
		}
		if err := otelloop.Export(t.Context(), nil, time.Time{}, cfg); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Each provider works without the other.
func TestOneProvider(t *testing.T) {
	for _, only := range []string{"spans", "metrics"} {
		b := newBackend(otelloop.ContentOff)
		if only == "spans" {
			b.MeterProvider = nil
		} else {
			b.TracerProvider = nil
		}
		agent := newAgent(t, fake.NewModel(fake.Response{Text: "hi", Usage: llm.Usage{InputTokens: 3}}), loop.Config{Middleware: []loop.Middleware{otelloop.Middleware(&b.Config)}})
		if _, err := agent.Run(t.Context(), loop.Prompt("Go.")); err != nil {
			t.Fatal(err)
		}
		if spans, metrics := len(b.spans()), len(b.metrics(t)); spans != map[string]int{"spans": 2}[only] || metrics != map[string]int{"metrics": 5}[only] {
			t.Errorf("%s: %d spans, %d metrics", only, spans, metrics)
		}
	}
}

// TestMetrics checks the boundaries of the histograms, which the conventions specify.
func TestMetrics(t *testing.T) {
	b := newBackend(otelloop.ContentOff)
	agent, _ := world(t, b)
	if _, err := agent.Run(t.Context(), loop.Prompt("Go.")); err != nil {
		t.Fatal(err)
	}
	short := []float64{0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92}
	want := map[string][]float64{
		"gen_ai.client.token.usage":                   {1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864},
		"gen_ai.client.operation.duration":            short,
		"gen_ai.client.operation.time_to_first_chunk": short,
		"gen_ai.execute_tool.duration":                short,
		"gen_ai.invoke_agent.inference_calls":         {1, 2, 4, 8, 16, 32, 64, 128},
		"gen_ai.invoke_agent.tool_calls":              {1, 2, 4, 8, 16, 32, 64, 128},
		"gen_ai.invoke_agent.duration":                {0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2, 102.4, 204.8, 409.6},
	}
	got := map[string][]float64{}
	for name, points := range b.metrics(t) {
		for _, h := range points {
			got[name] = h.bounds
		}
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("boundaries (-want +got):\n%s", diff)
	}
}

// A run counts its own model calls, failed attempts included, and its calls that ran, once each. A call whose tool
// did not run, and the calls of a sub-agent, do not count.
func TestCallsOfRun(t *testing.T) {
	b := newBackend(otelloop.ContentOff)
	child := b.Config
	child.Agent = "child"
	sub := newAgent(t, fake.NewModel(fake.Response{Text: "here"}), loop.Config{Middleware: []loop.Middleware{otelloop.Middleware(&child)}})
	tools := []loop.Tool{
		{Name: "fails", Run: func(context.Context, loop.Call) (loop.Output, error) { return loop.Output{}, errors.New("no") }},
		{Name: "sub", Run: func(ctx context.Context, _ loop.Call) (loop.Output, error) {
			_, err := sub.Run(ctx, loop.Prompt("Where?"))
			return loop.TextOutput("here"), err
		}},
	}
	model := fake.NewModel(
		fake.Response{Attempts: []fake.Response{{Error: &fake.Failure{Status: 503}}, {Calls: []fake.Call{{ID: "a", Name: "fails", Arguments: "{}"}, {ID: "b", Name: "sub", Arguments: "{}"}, {ID: "c", Name: "unknown", Arguments: "{}"}}}}},
		fake.Response{Text: "done"})
	agent := newAgent(t, model, loop.Config{Tools: tools, Clock: fake.NewClock(), Retry: loop.Retry{Max: 1}, Middleware: []loop.Middleware{otelloop.Middleware(&b.Config)}})
	if _, err := agent.Run(t.Context(), loop.Prompt("Go.")); err != nil {
		t.Fatal(err)
	}
	all := b.metrics(t)
	got := describeMetrics(map[string]map[attribute.Set]histogram{
		"inference_calls": all["gen_ai.invoke_agent.inference_calls"], "tool_calls": all["gen_ai.invoke_agent.tool_calls"],
	})
	want := []string{
		"inference_calls gen_ai.agent.name=child sum=1 count=1", "inference_calls gen_ai.agent.name=tester sum=3 count=1",
		"tool_calls gen_ai.agent.name=child sum=0 count=1", "tool_calls gen_ai.agent.name=tester sum=2 count=1",
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

// A response that is not streaming has no first chunk.
func TestNonStreaming(t *testing.T) {
	for _, mode := range []llm.ResponseMode{llm.Streaming, llm.NonStreaming} {
		b := newBackend(otelloop.ContentOff)
		agent := newAgent(t, fake.NewModel(fake.Response{Text: "hi"}), loop.Config{ResponseMode: mode, Deltas: true, Middleware: []loop.Middleware{otelloop.Middleware(&b.Config)}})
		if _, err := agent.Run(t.Context(), loop.Prompt("Go.")); err != nil {
			t.Fatal(err)
		}
		chat := spanOf(t, b.spans(), "chat")
		_, stream := attributeOf(chat, "gen_ai.request.stream")
		_, chunk := attributeOf(chat, "gen_ai.response.time_to_first_chunk")
		_, metric := b.metrics(t)["gen_ai.client.operation.time_to_first_chunk"]
		if want := mode == llm.Streaming; stream != want || chunk != want || metric != want {
			t.Errorf("mode %q: stream %t, first chunk %t, metric %t", mode, stream, chunk, metric)
		}
	}
}

// A run that fails before it starts is below the span of its caller, too.
func TestInvalidInput(t *testing.T) {
	b := newBackend(otelloop.ContentOff)
	agent := newAgent(t, fake.NewModel(), loop.Config{Clock: fake.NewClock(), Middleware: []loop.Middleware{otelloop.Middleware(&b.Config)}})
	ctx, caller := b.begin(t.Context())
	_, err := agent.Run(ctx, loop.Input{Messages: []llm.Message{llm.ToolResults(llm.ToolResult{ID: "x"})}})
	caller.End(oteltrace.WithTimestamp(fake.NewClock().Now()))
	if err == nil {
		t.Fatal("no error")
	}
	if diff := gocmp.Diff([]string{"caller", "  invoke_agent tester"}, tree(b.spans())); diff != "" {
		t.Errorf("spans (-want +got):\n%s", diff)
	}
}

// TestCancel ends the context of a run within a tool.
func TestCancel(t *testing.T) {
	b := newBackend(otelloop.ContentOff)
	ctx, cancel := context.WithCancel(t.Context())
	clock := fake.NewClock()
	agent := newAgent(t, fake.NewModel(calls("slow", "next")), loop.Config{
		Clock: clock, Concurrency: 1, Middleware: []loop.Middleware{otelloop.Middleware(&b.Config)},
		Tools: []loop.Tool{
			tool("slow", func(ctx context.Context, _ loop.Call) (loop.Output, error) { cancel(); return loop.Output{}, ctx.Err() }),
			tool("next", answer),
		},
	})
	if _, err := agent.Run(ctx, loop.Prompt("Go.")); !errors.Is(err, context.Canceled) {
		t.Fatalf("got the error %v", err)
	}
	want := map[string]string{"invoke_agent": "cancelled cancel", "execute_tool slow": "cancelled cancelled", "execute_tool next": "cancelled skipped"}
	got := map[string]string{}
	for _, s := range b.spans() {
		switch {
		case strings.HasPrefix(s.Name, "invoke_agent"):
			got["invoke_agent"] = text(&s, "error.type") + " " + text(&s, "looptape.stop_reason")
		case strings.HasPrefix(s.Name, "execute_tool"):
			got[s.Name] = text(&s, "error.type") + " " + text(&s, "looptape.tool.outcome")
		}
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("error types (-want +got):\n%s", diff)
	}
}

func answer(context.Context, loop.Call) (loop.Output, error) { return loop.TextOutput("x"), nil }

// TestExportOfNestedRuns exports a trace with the runs of sub-agents, and one that ends too early.
func TestExportOfNestedRuns(t *testing.T) {
	recorded := func() []trace.Event {
		var memory trace.Memory
		agent, _ := world(t, newBackend(otelloop.ContentOff))
		in := loop.Prompt("Go.")
		in.Sink = &memory
		if _, err := agent.Run(t.Context(), in); err != nil {
			t.Fatal(err)
		}
		return memory.Events()
	}()
	inner := []trace.Event{
		{Run: "inner", Step: trace.NoStep, Body: trace.RunStart{Parent: &trace.Parent{Run: "r1", ToolCallID: "ask-1"}}},
		{Run: "inner", Body: trace.ModelRequest{NewMessages: []llm.Message{llm.User("x")}}},
		{Run: "inner", At: time.Millisecond, Body: trace.ModelResponse{Message: llm.Assistant(llm.Text{Text: "y"})}},
		{Run: "inner", At: time.Millisecond, Step: trace.NoStep, Body: trace.RunEnd{}},
	}
	at := slices.IndexFunc(recorded, func(ev trace.Event) bool {
		start, ok := ev.Body.(trace.ToolStart)
		return ok && start.ToolCallID == "ask-1"
	})
	events := slices.Insert(recorded, at+1, inner...)

	b := newBackend(otelloop.ContentOff)
	b.export(t.Context(), t, events)
	want := []string{
		"invoke_agent tester", "  chat large", "  chat large", "  execute_tool search", "  execute_tool ask", "    invoke_agent tester", "      chat",
		"  execute_tool broken", "  chat large", "  execute_tool ghost", "  chat large",
	}
	if diff := gocmp.Diff(want, tree(b.spans())); diff != "" {
		t.Errorf("spans (-want +got):\n%s", diff)
	}
	ask := spanOf(t, b.spans(), "execute_tool ask")
	for _, s := range b.spans() {
		if s.Parent.SpanID() == ask.SpanContext.SpanID() && (s.StartTime.Before(ask.StartTime) || s.EndTime.After(ask.EndTime)) {
			t.Errorf("the inner run has the times %v to %v, its call %v to %v", s.StartTime, s.EndTime, ask.StartTime, ask.EndTime)
		}
	}

	for n := 1; n < len(events); n++ {
		b := newBackend(otelloop.ContentStructured)
		b.export(t.Context(), t, events[:n])
		if len(b.open) > 0 {
			t.Errorf("%d events: open spans %v", n, slices.Sorted(maps.Values(b.open)))
		}
		if root := b.spans()[0]; root.Status.Code != codes.Error || text(&root, "error.type") != "incomplete" {
			t.Errorf("%d events: status %v, error.type %q", n, root.Status, text(&root, "error.type"))
		}
	}
}

// The outcome of a call is an error also if its result has no flag. A call that middleware changed while it ran has
// the arguments that its tool got.
func TestExportOfToolCalls(t *testing.T) {
	b := newBackend(otelloop.ContentJSON)
	b.export(t.Context(), t, []trace.Event{
		{Run: "r", Step: trace.NoStep, Body: trace.RunStart{}},
		{Run: "r", Body: trace.ToolStart{ToolCallID: "c", Name: "f", Arguments: `{"x":1}`}},
		{Run: "r", Body: trace.ToolArguments{ToolCallID: "c", Arguments: `{"x":2}`, Reason: "edit"}},
		{Run: "r", Body: trace.ToolEnd{ToolCallID: "c", Outcome: trace.OutcomeTimeout}},
		{Run: "r", Step: trace.NoStep, Body: trace.RunEnd{}},
	})
	s := spanOf(t, b.spans(), "execute_tool")
	if s.Status.Code != codes.Error || text(s, "error.type") != "timeout" || text(s, "gen_ai.tool.call.arguments") != `{"x":2}` {
		t.Errorf("status %v, error.type %q, arguments %s", s.Status, text(s, "error.type"), text(s, "gen_ai.tool.call.arguments"))
	}
}

// The input of a run is that of its first step, and not of a model call that middleware makes before.
func TestInputOfRun(t *testing.T) {
	b := newBackend(otelloop.ContentJSON)
	request := func(text string) trace.ModelRequest {
		return trace.ModelRequest{NewMessages: []llm.Message{llm.User(text)}}
	}
	b.export(t.Context(), t, []trace.Event{
		{Run: "r", Step: trace.NoStep, Body: trace.RunStart{}},
		{Run: "r", Purpose: trace.PurposeSummary, Body: request("first summary")},
		{Run: "r", Purpose: trace.PurposeSummary, Body: trace.ModelResponse{Message: llm.Assistant(llm.Text{Text: "short"})}},
		{Run: "r", Body: request("prompt")},
		{Run: "r", Body: trace.ModelResponse{Message: llm.Assistant(llm.Text{Text: "answer"})}},
		{Run: "r", Purpose: trace.PurposeGrade, Body: request("grade")},
		{Run: "r", Purpose: trace.PurposeGrade, Body: trace.ModelResponse{Message: llm.Assistant(llm.Text{Text: "good"})}},
		{Run: "r", Step: trace.NoStep, Body: trace.RunEnd{}},
	})
	s := spanOf(t, b.spans(), "invoke_agent")
	got := text(s, "gen_ai.input.messages") + text(s, "gen_ai.output.messages")
	want := `[{"parts":[{"content":"prompt","type":"text"}],"role":"user"}]` +
		`[{"finish_reason":"unknown","parts":[{"content":"answer","type":"text"}],"role":"assistant"}]`
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("input and output (-want +got):\n%s", diff)
	}
}

// Runs of one name that follow one another are runs of their own.
func TestExportOfNameAgain(t *testing.T) {
	b := newBackend(otelloop.ContentOff)
	one := []trace.Event{{Run: "r", Body: trace.RunStart{}}, {Run: "r", Body: trace.ModelRequest{}}, {Run: "r", Body: trace.ModelResponse{}}, {Run: "r", Body: trace.RunEnd{}}}
	b.export(t.Context(), t, slices.Concat(one, one))
	if diff := gocmp.Diff([]string{"invoke_agent tester", "  chat", "invoke_agent tester", "  chat"}, tree(b.spans())); diff != "" {
		t.Errorf("spans (-want +got):\n%s", diff)
	}
}

// Export reports what it cannot read, and exports the rest, also of a trace that lacks lines.
func TestExportErrors(t *testing.T) {
	const file = `{"format":"looptape-trace","version":2}
{"seq":3,"run":"a","step":1,"attempt":1,"kind":"model.request","prefix_messages":4,"new_messages":[{"role":"user","parts":[{"type":"text","text":"hi"}]}]}
{]
{"seq":5,"run":"a","step":1,"kind":"tool.end","tool_call_id":"c","outcome":"ok","result":{"type":"tool_result","tool_call_id":"c","content":[]}}
{"seq":6,"run":"a","kind":"run.end","stop_reason":"end_turn"}
`
	r, err := trace.NewReader(strings.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	b := newBackend(otelloop.ContentStructured)
	err = otelloop.Export(t.Context(), r.Events(), time.Unix(1, 0), &b.Config)
	if _, isLine := errors.AsType[*trace.LineError](err); !isLine || !strings.Contains(err.Error(), "line 3") {
		t.Errorf("got the error %v, want one of line 3", err)
	}
	if diff := gocmp.Diff([]string{"invoke_agent tester", "  chat"}, tree(b.spans())); diff != "" {
		t.Errorf("spans (-want +got):\n%s", diff)
	}
	if root := b.spans()[0]; !root.StartTime.Equal(time.Unix(1, 0)) {
		t.Errorf("the run starts at %v", root.StartTime)
	}
}

// A trace without events is an error, and not a panic.
func TestExportNil(t *testing.T) {
	b := newBackend(otelloop.ContentOff)
	if err := otelloop.Export(t.Context(), nil, time.Unix(1, 0), &b.Config); err == nil || !strings.Contains(err.Error(), "the events are nil: pass those of a trace") {
		t.Errorf("got the error %v", err)
	}
}

// Each call has its span with its result, also if a recorded run has several calls with one id.
func TestExportOfIDAgain(t *testing.T) {
	start := func(name string) trace.Event {
		return trace.Event{Run: "r", Body: trace.ToolStart{ToolCallID: "c", Name: name, Arguments: `{}`}}
	}
	arguments := func(text string) trace.Event {
		return trace.Event{Run: "r", Body: trace.ToolArguments{ToolCallID: "c", Arguments: text, Reason: "edit"}}
	}
	end := func(name, text string) trace.Event {
		result := llm.ToolResult{ID: "c", Name: name, Content: []llm.Part{llm.Text{Text: text}}}
		return trace.Event{Run: "r", Body: trace.ToolEnd{ToolCallID: "c", Outcome: trace.OutcomeOK, Result: result}}
	}
	skip := trace.Event{Run: "r", Body: trace.ToolSkip{ToolCallID: "c", Name: "h", Reason: "denied", Result: llm.ToolResult{IsError: true}}}
	for name, c := range map[string]struct {
		events []trace.Event
		want   []string
	}{
		"names":        {[]trace.Event{start("f"), start("g"), end("g", "of g"), end("f", "of f")}, []string{"f {} of f ", "g {} of g "}},
		"one name":     {[]trace.Event{start("f"), start("f"), end("f", "1"), end("f", "2")}, []string{"f {} 1 ", "f {} 2 "}},
		"no name":      {[]trace.Event{start("f"), start("g"), end("", "1"), end("", "2")}, []string{"f {} 1 ", "g {} 2 "}},
		"arguments":    {[]trace.Event{start("f"), arguments("1"), start("f"), arguments("2"), end("f", "x"), end("f", "y")}, []string{"f 1 x ", "f 2 y "}},
		"one end":      {[]trace.Event{start("f"), start("f"), end("f", "1")}, []string{"f {} 1 ", "f {}  incomplete"}},
		"no end":       {[]trace.Event{start("f"), start("g")}, []string{"f {}  incomplete", "g {}  incomplete"}},
		"one too many": {[]trace.Event{start("f"), end("f", "1"), end("f", "2")}, []string{"f {} 1 "}},
		"skipped":      {[]trace.Event{start("f"), skip, end("f", "1")}, []string{"f {} 1 ", "h   denied"}},
	} {
		b := newBackend(otelloop.ContentJSON)
		b.export(t.Context(), t, slices.Concat([]trace.Event{{Run: "r", Body: trace.RunStart{}}}, c.events, []trace.Event{{Run: "r", Body: trace.RunEnd{}}}))
		var got []string
		for _, s := range b.spans() {
			if of, ok := strings.CutPrefix(s.Name, "execute_tool "); ok {
				got = append(got, strings.Join([]string{of, text(&s, "gen_ai.tool.call.arguments"), text(&s, "gen_ai.tool.call.result"), text(&s, "error.type")}, " "))
			}
		}
		if diff := gocmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		for id, open := range b.open {
			t.Errorf("%s: the span %s (%s) did not end", name, open, id)
		}
	}
}
