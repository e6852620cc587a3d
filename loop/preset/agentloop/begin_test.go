package agentloop_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/history"
	"github.com/looptape/looptape/loop/layers"
	"github.com/looptape/looptape/loop/middleware"
	"github.com/looptape/looptape/loop/preset/agentloop"
	"github.com/looptape/looptape/trace"
)

// AL-01, AL-02: onAgentCreate is emitted when the layers exist. The agent has the id of
// its history.
func TestAL01AL02Construction(t *testing.T) {
	bus := new(agentloop.Bus)
	var seen []string
	bus.Subscribe(func(ctx context.Context, ev agentloop.Event) error {
		l, _ := ev.Data.(*agentloop.Loop)
		seen = append(seen, ev.Name, ev.Agent, l.History().System(), fmt.Sprint(ctx.Value(ctxKey{})))
		for _, t := range l.Tools() {
			seen = append(seen, t.Name)
		}
		for _, own := range l.History().Layers().Own() {
			seen = append(seen, own.Name+" of "+own.Owner)
		}
		return nil
	})
	h := history.New("X")
	if err := h.Layers().Set(layers.Layer{Name: "note"}); err != nil { // of an earlier agent
		t.Fatal(err)
	}
	l, err := agentloop.New(context.WithValue(t.Context(), ctxKey{}, "mine"), fake.NewModel(), &agentloop.Config{
		System: "role", Context: "task", History: h, Hooks: bus, Tools: []loop.Tool{text("a", ""), text("b", "")},
	})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "onAgentCreate", []string{"onAgentCreate", "X", "role\n\ntask", "mine", "a", "b", "note of ", "agentloop.system of agent-loop", "agentloop.context of agent-loop"}, seen)
	if l.ID() != "X" || l.History() != h || l.Hooks() != bus {
		t.Errorf("the agent is %q", l.ID())
	}
	called := 0
	thunk := func(context.Context) (string, error) { called++; return "of the thunk", nil }
	l, err = agentloop.New(t.Context(), fake.NewModel(says("x")), &agentloop.Config{System: "role", SystemFunc: thunk})
	if err != nil || called != 0 || l.History().System() != "role" {
		t.Errorf("a thunk at construction: %d calls, system %q, %v", called, l.History().System(), err)
	}
	if _, err := l.Complete(t.Context(), agentloop.Input{Text: "go"}, nil); err != nil || called != 1 || l.History().System() != "of the thunk" {
		t.Errorf("a thunk in a run: %d calls, system %q, %v", called, l.History().System(), err)
	}
	if l, err := agentloop.New(t.Context(), fake.NewModel(), &agentloop.Config{ID: "Y"}); err != nil || l.ID() != "Y" {
		t.Errorf("an agent with an id: %v", err)
	}
	if l, err := agentloop.New(t.Context(), fake.NewModel(), nil); err != nil || l.ID() != "agentloop" || l.Hooks() == nil || len(l.History().Layers().Own()) != 0 {
		t.Errorf("an agent of nothing but a model: %v", err)
	}
	if _, err := agentloop.New(t.Context(), nil, nil); !errors.Is(err, agentloop.ErrNoModel) {
		t.Errorf("no model: %v", err)
	}
	fine := middleware.Guardrail{Kind: middleware.GuardInput, Check: func(context.Context, middleware.GuardrailCheck) (middleware.GuardrailResult, error) {
		return middleware.GuardrailResult{Pass: true}, nil
	}}
	blind := []middleware.Guardrail{fine, {Name: "blind", Kind: "Output"}}
	if _, err := agentloop.New(t.Context(), fake.NewModel(), &agentloop.Config{Guardrails: blind}); err == nil || err.Error() != `agentloop: middleware: the guardrail "blind" has the Kind "Output": want GuardInput or GuardOutput` {
		t.Errorf("a guardrail that never runs: %v", err)
	}
	if _, err := agentloop.New(t.Context(), fake.NewModel(), &agentloop.Config{Tools: []loop.Tool{text("not a name", "")}}); err == nil {
		t.Error("a tool whose name no provider takes: got no error")
	}
	boom := errors.New("boom")
	bus.Subscribe(func(context.Context, agentloop.Event) error { return boom })
	if _, err := agentloop.New(t.Context(), fake.NewModel(), &agentloop.Config{Hooks: bus, Tools: []loop.Tool{text("a", "")}}); !errors.Is(err, boom) {
		t.Errorf("onAgentCreate fails: %v", err)
	}
}

// AL-02: the id of the history is that of the agent in its events, the conversation id of model calls,
// and in the key of a checkpoint, also after a restore.
func TestAL02Identity(t *testing.T) {
	var got []string
	m := newWorld(t, calls("", "a"), says("x"), says("y"))
	model := llm.ModelFunc(func(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
		id, _ := agentloop.ConversationID(ctx)
		got = append(got, "call "+id)
		return m.model.Stream(ctx, req)
	})
	var saved []byte
	config := func(h *history.History) *agentloop.Config {
		cfg := asking(&saved, nil)
		cfg.Checkpoint = func(_ context.Context, key string, _ agentloop.Snapshot) error {
			got = append(got, key)
			return nil
		}
		cfg.ID, cfg.History, cfg.Tools, cfg.Hooks = "other", h, []loop.Tool{text("a", "A")}, new(agentloop.Bus)
		cfg.Hooks.Subscribe(func(_ context.Context, ev agentloop.Event) error {
			if ev.Agent != "X" {
				t.Errorf("%s of the agent %q", ev.Name, ev.Agent)
			}
			return nil
		})
		return &cfg
	}
	l, err := agentloop.New(t.Context(), model, config(history.New("X")))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := l.Complete(t.Context(), agentloop.Input{Text: "go"}, nil); err != nil || l.ID() != "X" {
			t.Errorf("the agent %q: %v", l.ID(), err)
		}
		if l, err = agentloop.Restore(t.Context(), model, l.Dump(), config(nil)); err != nil {
			t.Fatal(err)
		}
	}
	same(t, "ids", []string{"call X", "agent-loop:X", "call X", "call X"}, got)
}

// AL-03, AL-20: the request contains the configuration, and the options of a run override
// it.
func TestAL03AL20Settings(t *testing.T) {
	warm, cold := 0.5, 0.0
	override := &agentloop.Options{Settings: agentloop.Settings{MaxTokens: 7, Temperature: &cold, Thinking: "high", Cache: []byte(`null`)}}
	w := newWorld(t, calls("1", "a"), says("x"), calls("2", "a"), says("y"), says("z")).agent(agentloop.Config{
		Model: "m1", System: "S", Settings: agentloop.Settings{MaxTokens: 100, Temperature: &warm, Thinking: "low", Cache: []byte(`{"type":"ephemeral"}`)},
	})
	w.run("one")
	for _, streamed := range []bool{false, true} {
		if _, err := w.play(t.Context(), streamed, agentloop.Input{Text: "two"}, override); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for _, r := range w.model.Requests() {
		got = append(got, fmt.Sprint(r.Model, " ", r.Settings.MaxTokens, " ", *r.Settings.Temperature, " ", r.Settings.ReasoningEffort, " ", marked(r), " ", len(r.Tools)))
	}
	same(t, "requests", []string{`m1 100 0.5 low S 3`, `m1 100 0.5 low S 3`, `m1 7 0 high  3`, `m1 7 0 high  3`, `m1 7 0 high  3`}, got)
	w = newWorld(t, says("x")).agent(agentloop.Config{})
	w.run("one")
	if r := w.model.Requests()[0]; r.Settings.Temperature != nil || r.Extra != nil || r.Settings.MaxTokens != 0 {
		t.Errorf("the settings of a plain agent: %+v, %v", r.Settings, r.Extra)
	}
}

// AL-108: an unknown value of the cache setting is an error before a model call.
func TestAL108UnknownCache(t *testing.T) {
	for value, want := range map[string]string{
		`true`: "unknown cache setting true", `{}`: "unknown cache setting {}", `"ephemeral"`: `unknown cache setting "ephemeral"`,
		`{"type":"ephemeral","ttl":"1h"}`: `unknown cache setting {"type":"ephemeral","ttl":"1h"}: want {"type":"ephemeral"}, or null for no cache mark`,
		`{`:                               "is not JSON", ``: "is not JSON",
	} {
		settings := agentloop.Settings{Cache: json.RawMessage(value)}
		_, err := agentloop.New(t.Context(), fake.NewModel(), &agentloop.Config{Settings: settings})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("New with %q: got error %v, want %s", value, err, want)
		}
		w := newWorld(t, says("x")).agent(agentloop.Config{System: "S"})
		w.log = nil
		_, err = w.Complete(t.Context(), agentloop.Input{Text: "go"}, &agentloop.Options{Settings: settings})
		if err == nil || !strings.Contains(err.Error(), want) || len(w.model.Requests()) != 0 || len(w.log) != 0 {
			t.Errorf("a run with %q: got error %v, %d model calls, events %q; want %s alone", value, err, len(w.model.Requests()), w.log, want)
		}
		w.run("go") // the agent is not running any more
	}
	for _, value := range []string{`{ "type": "ephemeral" }`, `null`} {
		if _, err := agentloop.New(t.Context(), fake.NewModel(), &agentloop.Config{Settings: agentloop.Settings{Cache: json.RawMessage(value)}}); err != nil {
			t.Errorf("New with %s: %v", value, err)
		}
	}
	marked := agentloop.Settings{Cache: json.RawMessage(`{"type":"ephemeral"}`)}
	w := newWorld(t, says("x")).agent(agentloop.Config{System: "S", Settings: marked})
	if _, err := w.Complete(t.Context(), agentloop.Input{Text: "go"}, &agentloop.Options{Settings: agentloop.Settings{Cache: json.RawMessage("null")}}); err != nil {
		t.Fatal(err)
	}
	same(t, "the system prompt of a run with null", llm.SystemText("S"), w.model.Requests()[0].System)
}

// AL-09: a run begins in the order of the reference documentation.
func TestAL09Begin(t *testing.T) {
	for _, streamed := range []bool{false, true} {
		beginning(t, streamed)
	}
}

func beginning(t *testing.T, streamed bool) {
	t.Helper()
	w := newWorld(t, says("x"))
	cfg := agentloop.Config{SystemFunc: func(ctx context.Context) (string, error) {
		w.log = append(w.log, "system")
		return "S", w.clock.Sleep(ctx, time.Second)
	}, NewID: func() string { w.log = append(w.log, "id"); return "agentloop/1" }}
	w.agent(cfg)
	began := w.clock.Now()
	w.hook = func(ev agentloop.Event) error {
		if ev.Name == agentloop.OnRunStart {
			if _, err := w.Complete(t.Context(), agentloop.Input{Text: "meanwhile"}, nil); !errors.Is(err, agentloop.ErrRunning) {
				t.Errorf("a second run: %v", err)
			}
			w.log = append(w.log, fmt.Sprint(ev.Run, " with ", w.History().Len(), " messages, system ", w.History().System()))
		}
		return nil
	}
	if _, err := w.play(t.Context(), streamed, agentloop.Input{Text: "hi"}, nil); err != nil {
		t.Fatal(err)
	}
	same(t, "the beginning", []string{"onAgentCreate", "system", "id", `onRunStart "hi"`, "agentloop/1 with 0 messages, system S", "onStepStart 0"}, w.log[:6])
	if got := w.last(); got.ID != "agentloop/1" || got.UserMessage.Text != "hi" {
		t.Errorf("the report of the run %q has the user message %q", got.ID, got.UserMessage.Text)
	}
	if got := w.last().StartedAt - began.UnixMilli(); got != 1000 || w.last().TotalMs != 0 {
		t.Errorf("the run began after %d ms and took %v ms, want 1000 and 0: its time begins after the system prompt", got, w.last().TotalMs)
	}
}

// AL-10, AL-11: an agent runs one run at a time. The next run may begin after each kind of end, also
// after an error of SystemFunc, which precedes onRunStart.
func TestAL10Running(t *testing.T) {
	w := newWorld(t, says("x"), fake.Response{Error: &fake.Failure{Status: 500}}, says("y"), says("z"))
	fail := errors.New("no prompt")
	var thunk error
	w.agent(agentloop.Config{SystemFunc: func(context.Context) (string, error) { return "S", thunk }})
	var second error
	w.hook = func(ev agentloop.Event) error {
		if ev.Name == agentloop.OnStepStart && second == nil {
			_, second = w.Complete(t.Context(), agentloop.Input{Text: "two"}, nil)
			for _, err := range w.Stream(t.Context(), agentloop.Input{Text: "three"}, nil) {
				second = errors.Join(second, err)
			}
		}
		return nil
	}
	if res := w.run("one"); res.Reason != agentloop.Done || w.roles() != "user/1 assistant/1" {
		t.Errorf("the first run: %q, history %s", res.Reason, w.roles())
	}
	if !errors.Is(second, agentloop.ErrRunning) || second.Error() != "AgentLoop is already running\nAgentLoop is already running" {
		t.Errorf("the second run: %v", second)
	}
	if res := w.run("fails"); res.Reason != agentloop.Failed {
		t.Errorf("a run that fails: %q", res.Reason)
	}
	thunk = fail
	events, messages := len(w.log), w.History().Len()
	if _, err := w.Complete(t.Context(), agentloop.Input{}, nil); !errors.Is(err, fail) || err.Error() != "agentloop: the system prompt: no prompt" {
		t.Errorf("a run that cannot begin: %v", err)
	}
	if len(w.log) != events || w.History().Len() != messages {
		t.Errorf("a run that cannot begin: events %q, history %s", w.log[events:], w.roles())
	}
	thunk = nil
	w.hook = func(ev agentloop.Event) error {
		if ev.Name == agentloop.OnRunStart {
			return fail
		}
		return nil
	}
	if _, err := w.Complete(t.Context(), agentloop.Input{}, nil); !errors.Is(err, fail) {
		t.Errorf("onRunStart fails: %v", err)
	}
	w.hook = nil
	if res := w.run("again"); res.Text() != "y" {
		t.Errorf("the run after them: %q", res.Text())
	}
	for _, err := range w.Stream(t.Context(), agentloop.Input{Text: "left"}, nil) {
		if err != nil {
			t.Error(err)
		}
		break
	}
	if got := w.last(); got.Reason != agentloop.Stopped || got.Error != "" {
		t.Errorf("a stream that was left: %q (%s)", got.Reason, got.Error)
	}
	if res := w.run("last"); res.Reason != agentloop.Done {
		t.Errorf("the last run: %q, %v", res.Reason, res.Err)
	}
	trips := middleware.Guardrail{Kind: middleware.GuardInput, Check: func(_ context.Context, c middleware.GuardrailCheck) (middleware.GuardrailResult, error) {
		return middleware.GuardrailResult{Pass: c.Messages[len(c.Messages)-1].Text() != "bad", Tripwire: true}, nil
	}}
	w = newWorld(t, calls("", "a"), says("x"), calls("2", "a")).agent(agentloop.Config{MaxSteps: 1, Guardrails: []middleware.Guardrail{trips}})
	var reasons []trace.Reason
	for _, in := range []string{"go", "bad", "go"} {
		reasons = append(reasons, w.run(in).Reason)
	}
	var early error
	w.hook = func(ev agentloop.Event) error {
		if ev.Name == agentloop.OnStepComplete {
			w.Stop()
			_, early = w.Complete(t.Context(), agentloop.Input{Text: "early"}, nil)
		}
		return nil
	}
	if w.run("stopped"); !errors.Is(early, agentloop.ErrRunning) {
		t.Errorf("a run while a stopped one ends: %v", early)
	}
	same(t, "the ends of runs", []trace.Reason{agentloop.MaxSteps, agentloop.Guardrail, agentloop.Done}, reasons)
	w = newWorld(t, calls("", "a"), says("never")).agent(agentloop.Config{})
	w.hook = func(ev agentloop.Event) error {
		if ev.Name == agentloop.OnStepComplete {
			_, early = w.Complete(t.Context(), agentloop.Input{Text: "early"}, nil)
			w.Stop()
		}
		return nil
	}
	if res := w.run("go"); res.Reason != agentloop.Stopped || !errors.Is(early, agentloop.ErrRunning) {
		t.Errorf("stopped after a second run was rejected: %q, %v", res.Reason, early)
	}
}

// AL-10: caller code that panics or ends its goroutine leaves an agent that can run
// again.
func TestAL10Panics(t *testing.T) {
	bad := ""
	w := newWorld(t, says("x"), calls("", "a"), says("y"), says("z"))
	w.agent(agentloop.Config{Tools: []loop.Tool{{Name: "a", Run: func(context.Context, loop.Call) (loop.Output, error) {
		runtime.Goexit()
		return loop.Output{}, nil
	}}}, OneTool: true, SystemFunc: func(context.Context) (string, error) {
		if bad == "system" {
			panic(bad)
		}
		return "", nil
	}})
	caught := func(f func()) (v any) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			defer func() { v = recover() }()
			f()
		}()
		<-done
		return v
	}
	bad = "system"
	if got := caught(func() { w.run("go") }); got != "system" {
		t.Errorf("the system prompt: caught %v", got)
	}
	bad = ""
	if got := caught(func() {
		for ev, err := range w.Stream(t.Context(), agentloop.Input{Text: "go"}, nil) {
			if err != nil {
				t.Error(err)
			}
			if ev.Type == "text" {
				panic("consumer")
			}
		}
	}); got != "consumer" || len(w.Reports()) != 1 {
		t.Errorf("the consumer: caught %v, %d reports", got, len(w.Reports()))
	}
	if got := caught(func() { w.run("go") }); got != nil || len(w.Reports()) != 2 {
		t.Errorf("a tool that ends its goroutine: caught %v, %d reports", got, len(w.Reports()))
	}
	w.hook = func(ev agentloop.Event) error {
		if ev.Name == agentloop.OnRunComplete {
			panic("subscriber")
		}
		return nil
	}
	if got := caught(func() { w.run("go") }); got != "subscriber" || len(w.Reports()) != 3 {
		t.Errorf("onRunComplete: caught %v, %d reports", got, len(w.Reports()))
	}
	w.hook = nil
	if res := w.run("go"); res.Reason != agentloop.Done {
		t.Errorf("the run after them: %q, %v", res.Reason, res.Err)
	}
}

// Any goroutine may call the methods of an agent during a run.
func TestManyGoroutines(t *testing.T) {
	l, err := agentloop.New(t.Context(), fake.NewModel(fake.Response{Repeat: 20, Calls: []fake.Call{{ID: "c{n}", Name: "a", Arguments: "{}"}}}, says("x")),
		&agentloop.Config{Tools: []loop.Tool{text("a", "A")}, MaxSteps: 100})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := range 20 {
				l.Dump()
				l.SetMetadata("k", i)
				if err := l.AddTool(text("b", "B")); err != nil || len(l.Tools()) != 2 || l.Metadata()["k"] == nil {
					t.Error(err)
				}
				l.Reports()
				l.Pending()
			}
		})
	}
	wg.Go(func() {
		if res, err := l.Complete(t.Context(), agentloop.Input{Text: "go"}, nil); err != nil || res.Reason != agentloop.Done {
			t.Errorf("got %v, %v", res, err)
		}
	})
	wg.Wait()
	wg.Go(func() { l.Stop() })
	if _, err := l.Complete(t.Context(), agentloop.Input{Text: "go"}, nil); err != nil {
		t.Error(err)
	}
	wg.Wait()
}

// AL-40: any number of calls run concurrently unless OneTool is set.
func TestAL40OneTool(t *testing.T) {
	for one, want := range map[bool]time.Duration{false: 30 * time.Millisecond, true: 600 * time.Millisecond} {
		var w *world
		var names []string
		var tools []loop.Tool
		for i := range 20 {
			names = append(names, fmt.Sprint("slow", i))
			tools = append(tools, loop.Tool{Name: names[i], Run: func(ctx context.Context, _ loop.Call) (loop.Output, error) {
				return loop.TextOutput("S"), w.clock.Sleep(ctx, 30*time.Millisecond)
			}})
		}
		w = newWorld(t, calls("", names...), says("x"))
		w.agent(agentloop.Config{Tools: tools, OneTool: one})
		begin := w.clock.Now()
		w.run("go")
		if got := w.clock.Now().Sub(begin); got != want {
			t.Errorf("one at a time %v: took %v, want %v", one, got, want)
		}
	}
}

// AL-11: SystemFunc is called for each run. Its result is written if it has changed.
func TestAL11SystemFunc(t *testing.T) {
	prompts := []string{"A", "A", "B", ""}
	n := 0
	w := newWorld(t, says("1"), says("2"), says("3"), says("4")).agent(agentloop.Config{SystemFunc: func(ctx context.Context) (string, error) {
		if n++; ctx.Value(ctxKey{}) != n {
			t.Errorf("call %d has the context of another run", n)
		}
		return prompts[n-1], nil
	}})
	writes := 0
	w.History().Layers().Subscribe(func(layers.Change) { writes++ })
	var got []string
	for i := range prompts {
		if _, err := w.play(context.WithValue(t.Context(), ctxKey{}, i+1), i == 2, agentloop.Input{Text: fmt.Sprint(i)}, nil); err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprint(w.model.Requests()[i].System.Text(), " after ", writes))
	}
	same(t, "prompts and writes", []string{"A after 1", "A after 1", "B after 2", " after 3"}, got)
}

// AL-12: input in any form is appended to the history.
func TestAL12Input(t *testing.T) {
	for _, streamed := range []bool{false, true} {
		input(t, streamed)
	}
}

func input(t *testing.T, streamed bool) {
	t.Helper()
	w := newWorld(t, says("1"), says("2"), says("3"), says("4")).agent(agentloop.Config{})
	for _, in := range []agentloop.Input{
		{Text: "a"}, {Parts: []llm.Part{llm.Text{Text: "b"}, llm.Media{MediaType: "image/png", URL: "u"}}},
		{Messages: []llm.Message{llm.User("c"), llm.Assistant(llm.Text{Text: "d"}), llm.User("e")}}, {Messages: []llm.Message{}},
	} {
		if res, err := w.play(t.Context(), streamed, in, nil); err != nil || res.Err != nil {
			t.Fatal(err, res.Err)
		}
	}
	same(t, "the history", "user/1 assistant/1 user/2 assistant/1 user/1 assistant/1 user/1 assistant/1 assistant/1", w.roles())
	var texts []string
	for _, m := range w.History().Messages() {
		texts = append(texts, m.Text())
	}
	same(t, "the texts", []string{"a", "1", "b", "2", "c", "d", "e", "3", "4"}, texts)
	for i, want := range []int{1, 3, 7, 8} {
		if got := len(w.model.Requests()[i].Messages); got != want {
			t.Errorf("request %d has %d messages, want %d", i, got, want)
		}
	}
}

// keyed is a model with a secret.
type keyed struct {
	key string
	*fake.Model
}

// AL-13: a run calls only the model, once per step. What the model contains is in no event, trace,
// snapshot or report. The package can neither open connections nor start programs.
func TestAL13OnlyTheModel(t *testing.T) {
	for _, last := range []fake.Response{says("x"), {Error: &fake.Failure{Status: 401, Message: "unknown"}}} {
		for _, streamed := range []bool{false, true} {
			w := newWorld(t, calls("", "a"), last)
			var seen strings.Builder
			cfg := agentloop.Config{Hooks: new(agentloop.Bus), Sink: trace.SinkFunc(func(ev trace.Event) error {
				fmt.Fprintf(&seen, "%+v\n", ev)
				return nil
			}), Tools: w.tools()}
			cfg.Hooks.Subscribe(func(_ context.Context, ev agentloop.Event) error {
				fmt.Fprintf(&seen, "%+v %+v\n", ev, ev.Data)
				return nil
			})
			l, err := agentloop.New(t.Context(), &keyed{"secret-key", w.model}, &cfg)
			if err != nil {
				t.Fatal(err)
			}
			w.Loop = l
			if _, err := w.play(t.Context(), streamed, agentloop.Input{Text: "go"}, nil); err != nil {
				t.Fatal(err)
			}
			b, err := json.Marshal([]any{w.Dump(), w.Reports()})
			if err != nil {
				t.Fatal(err)
			}
			if text := seen.String() + string(b); strings.Contains(text, "secret-key") || !strings.Contains(text, "onModelResponse") {
				t.Errorf("streamed: %v: the secret of the model is in the events, the trace, the snapshot or the report: %s", streamed, text)
			}
		}
	}
	w := newWorld(t, calls("", "a"), says("x")).agent(agentloop.Config{})
	w.run("go")
	if got := len(w.model.RecordedRequests()); got != 2 || w.last().ModelCalls != 2 || len(w.model.Unused()) != 0 {
		t.Errorf("got %d requests", got)
	}
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	packages := strings.Fields(string(out))
	if !slices.Contains(packages, "github.com/looptape/looptape/loop") {
		t.Errorf("the packages are %q", packages)
	}
	for _, name := range []string{"net", "os/exec"} {
		if slices.Contains(packages, name) {
			t.Errorf("the package depends on %s", name)
		}
	}
}

// AL-16, AL-17, AL-18, AL-54: the prompt is composed for each step. Each step sends the
// current tools and those of the options. The context contains the conversation id.
func TestAL16AL17AL18AL54EachStep(t *testing.T) {
	for _, streamed := range []bool{false, true} {
		eachStep(t, streamed)
	}
}

func eachStep(t *testing.T, streamed bool) {
	t.Helper()
	w := newWorld(t, calls("1", "a"), calls("2", "b", "extra", "z"), fake.Response{Attempts: []fake.Response{{Error: &fake.Failure{Status: 503}}, says("x")}}, says("y"))
	var ids []string
	model := llm.ModelFunc(func(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
		id, _ := agentloop.ConversationID(ctx)
		ids = append(ids, fmt.Sprint(id, " ", ctx.Value(ctxKey{})))
		return w.model.Stream(ctx, req)
	})
	cfg := agentloop.Config{ID: "conv", System: "role", Retry: loop.Retry{Max: 1, Base: time.Millisecond}, Tools: []loop.Tool{text("a", "A"), text("z", "old"), text("z", "Z")}}
	if streamed { // AL-18: the id is that of the history
		cfg.ID, cfg.History = "other", history.New("conv")
	}
	w.dress(&cfg)
	l, err := agentloop.New(t.Context(), model, &cfg)
	if err != nil {
		t.Fatal(err)
	}
	w.Loop = l
	w.hook = func(ev agentloop.Event) error {
		if ev.Name == agentloop.OnStepComplete && ev.Step == 1 {
			w.History().Layers().Remove("gone")
			return w.AddTool(text("later", ""))
		}
		if ev.Name != agentloop.OnStepComplete || ev.Step != 0 {
			return nil
		}
		extra := layers.Layer{Name: "note", Content: []llm.Part{llm.Text{Text: "a note"}}, Priority: 5, Tags: []string{"notes", layers.SystemTag}}
		other := layers.Layer{Name: "other", Content: []llm.Part{llm.Text{Text: "unseen"}}, Priority: 1}
		gone := layers.Layer{Name: "gone", Content: []llm.Part{llm.Text{Text: "gone"}}, Priority: 30, Tags: []string{layers.SystemTag}}
		empty := layers.Layer{Name: "empty", Priority: 7, Tags: []string{layers.SystemTag}}
		return errors.Join(w.History().Layers().Set(extra), w.History().Layers().Set(gone), w.History().Layers().Set(empty), w.History().Layers().Set(other), w.AddTool(text("b", "B")), w.AddTool(text("z", "newest")))
	}
	ctx := context.WithValue(t.Context(), ctxKey{}, "mine")
	given := []llm.Tool{{Name: "extra"}, {Name: "a", Description: "of the call"}, {Name: "search", Builtin: json.RawMessage(`{"type":"web_search"}`)}}
	res, err := w.play(ctx, streamed, agentloop.Input{Text: "go"}, &agentloop.Options{Tools: given})
	if err != nil || res.Reason != agentloop.Done || given[2].Name != "search" {
		t.Fatal(err, res.Err, given)
	}
	var got []string
	for _, r := range w.model.Requests() {
		var names []string
		for _, tool := range r.Tools {
			names = append(names, tool.Name+tool.Description)
		}
		got = append(got, strings.ReplaceAll(r.System.Text(), "\n\n", "|")+": "+strings.Join(names, " "))
	}
	same(t, "requests", []string{"role: z extra aof the call web_search", "a note|role|gone: z b extra aof the call web_search", "a note|role: z b later extra aof the call web_search", "a note|role: z b later extra aof the call web_search"}, got)
	same(t, "contexts", []string{"conv mine", "conv mine", "conv mine", "conv mine"}, ids)
	if got := w.History().Messages()[4].Parts; got[0].(llm.ToolResult).Text() != "B" || !got[1].(llm.ToolResult).IsError || got[2].(llm.ToolResult).Text() != "newest" {
		t.Errorf("the results of step 1: %+v", got)
	}
	if got := w.Tools(); len(got) != 4 || !slices.ContainsFunc(got, func(t loop.Tool) bool { return t.Name == "b" }) {
		t.Errorf("the agent's tools: %d", len(got))
	}
	if err := w.AddTool(text("between", "")); err != nil { // AL-54
		t.Fatal(err)
	}
	w.stream("again", &agentloop.Options{Settings: agentloop.Settings{Cache: json.RawMessage(`{"type":"ephemeral"}`)}})
	same(t, "the context of a stream", "conv <nil>", ids[4])
	same(t, "the prompt with a cache mark", "a note\n\nrole", w.model.Requests()[4].System.Text())
	var names []string
	for _, tool := range w.model.Requests()[4].Tools {
		names = append(names, tool.Name)
	}
	same(t, "the tools of the next run", []string{"a", "z", "b", "later", "between"}, names)
	if err := w.AddTool(loop.Tool{Name: "no name"}); err == nil {
		t.Error("a tool that no provider takes was added")
	}
	if _, ok := agentloop.ConversationID(t.Context()); ok {
		t.Error("a context without a run has a conversation")
	}
}

type ctxKey struct{}

// AL-53: the last of two tools with one name replaces the first and takes its position.
// This applies to configured and added tools.
func TestAL53DuplicateTool(t *testing.T) {
	w := newWorld(t, calls("", "a", "b"), says("x")).agent(agentloop.Config{Tools: []loop.Tool{text("a", "1"), text("b", "1"), text("a", "2")}})
	if err := w.AddTool(text("b", "2")); err != nil {
		t.Fatal(err)
	}
	w.run("go")
	var got []string
	for _, p := range w.History().Messages()[2].Parts {
		r := p.(llm.ToolResult)
		got = append(got, r.Name+r.Text())
	}
	for _, tool := range w.model.RecordedRequests()[0].Request.Tools {
		got = append(got, tool.Name)
	}
	same(t, "results and tools", []string{"a2", "b2", "a", "b"}, got)
}
