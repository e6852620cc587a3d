package reactagent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/internal/bubble"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/files"
	"github.com/looptape/looptape/loop/middleware"
	"github.com/looptape/looptape/loop/preset/reactagent"
	"github.com/looptape/looptape/loop/store"
	"github.com/looptape/looptape/trace"
)

// checkpointer records its use, and the requests before it.
type checkpointer struct {
	requests func() int
	threads  map[string][]llm.Message
	log      []string
}

func (c *checkpointer) memory() *reactagent.Memory {
	return &reactagent.Memory{
		LoadFunc: func(_ context.Context, thread string) ([]llm.Message, error) {
			c.log = append(c.log, fmt.Sprintf("load %s after %d requests", thread, c.requests()))
			return c.threads[thread], nil
		},
		SaveFunc: func(_ context.Context, thread string, messages []llm.Message) error {
			c.log = append(c.log, fmt.Sprintf("save %s after %d requests", thread, c.requests()))
			c.threads[thread] = messages
			return nil
		},
	}
}

// RA-40, RA-41, RA-84: with either factory and any checkpointer, a run loads its thread before the
// first model call, and saves it once after the last, with all messages. Without a thread it does
// neither. A failed run does not save. RA-84: an unknown thread is empty.
func TestCheckpointer(t *testing.T) {
	for name, factory := range map[string]func(*bench, reactagent.Config) *reactagent.Agent{
		"createAgent": (*bench).agent,
		"createDeepAgent": func(b *bench, cfg reactagent.Config) *reactagent.Agent {
			return b.deep(reactagent.DeepConfig{Config: cfg})
		},
	} {
		c := &checkpointer{threads: map[string][]llm.Message{}}
		run := func(thread, message string, turns ...fake.Response) *bench {
			b := newBench(t, turns...)
			c.requests, c.log = func() int { return len(b.model.RecordedRequests()) }, nil
			b.run(factory(b, reactagent.Config{Memory: c.memory(), Config: loop.Config{Tools: []loop.Tool{tool("a")}}}), thread, message)
			return b
		}
		first, last := calling("a", `{"n":1}`), text("x")
		first.Reasoning, last.Reasoning = "hm", "so"
		ran := run("t", "one", first, last)
		if diff := cmp.Diff([]string{"load t after 0 requests", "save t after 2 requests"}, c.log); diff != "" {
			t.Errorf("%s: the first run (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff([]string{"user: one", "assistant: a", "tool: a", "assistant: x"}, short(c.threads["t"])); diff != "" {
			t.Errorf("%s: saved (-want +got):\n%s", name, diff)
		}
		whole := slices.Concat([]llm.Message{llm.User("one")}, of[trace.ModelRequest](ran.all)[1].NewMessages, of[trace.RunEnd](ran.all)[0].AppendedMessages)
		if diff := cmp.Diff(whole, c.threads["t"]); diff != "" {
			t.Errorf("%s: the saved messages (-of the run +got):\n%s", name, diff)
		}
		b := run("t", "two", text("y"), text("y"), text("y"))
		if diff := cmp.Diff(append(whole, llm.User("two")), b.model.Requests()[0].Messages); diff != "" {
			t.Errorf("%s: the messages of the next request (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff([]string{"user: one", "assistant: a", "tool: a", "assistant: x", "user: two"}, b.asked(0)); diff != "" {
			t.Errorf("%s: the next request (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff([]string{"user: one", "assistant: a", "tool: a", "assistant: x", "user: two", "assistant: y"}, short(c.threads["t"])); diff != "" {
			t.Errorf("%s: saved again (-want +got):\n%s", name, diff)
		}
		if b = run("tu", "three", text("z")); len(b.asked(0)) != 1 {
			t.Errorf("%s: another thread has %q", name, b.asked(0))
		}
		run("", "four", text("z"))
		if len(c.log) != 0 || len(c.threads) != 2 {
			t.Errorf("%s: without a thread: %q", name, c.log)
		}
		before := c.threads["t"]
		run("t", "five", fake.Response{Error: &fake.Failure{Status: 400}})
		if diff := cmp.Diff([]string{"load t after 0 requests"}, c.log); diff != "" || !cmp.Equal(before, c.threads["t"]) {
			t.Errorf("%s: a failed run (-want +got):\n%s", name, diff)
		}
	}
}

// RA-84: the functions get the context of the run. A Store is used in place of them.
func TestCheckpointerOrStore(t *testing.T) {
	type key struct{}
	var got []any
	memory := &reactagent.Memory{
		LoadFunc: func(ctx context.Context, _ string) ([]llm.Message, error) {
			got = append(got, "load", ctx.Value(key{}))
			return nil, nil
		},
		SaveFunc: func(ctx context.Context, _ string, _ []llm.Message) error {
			got = append(got, "save", ctx.Value(key{}))
			return nil
		},
	}
	for range 2 {
		a := newBench(t, text("x")).agent(reactagent.Config{Memory: memory})
		if !a.Run(context.WithValue(t.Context(), key{}, "c"), []llm.Message{llm.User("go")}, "t", nil) {
			t.Error("the run failed")
		}
		memory.Store = &store.Memory{}
	}
	if diff := cmp.Diff([]any{"load", "c", "save", "c"}, got); diff != "" {
		t.Errorf("calls of the functions (-want +got):\n%s", diff)
	}
}

// fileMemory stores each thread as a file of JSON.
func fileMemory(dir string) *reactagent.Memory {
	path := func(thread string) string { return filepath.Join(dir, thread+".json") }
	return &reactagent.Memory{
		LoadFunc: func(_ context.Context, thread string) (messages []llm.Message, err error) {
			data, err := os.ReadFile(path(thread))
			if os.IsNotExist(err) {
				return nil, nil
			} else if err != nil {
				return nil, err
			}
			return messages, json.Unmarshal(data, &messages)
		},
		SaveFunc: func(_ context.Context, thread string, messages []llm.Message) error {
			var data bytes.Buffer
			e := json.NewEncoder(&data)
			e.SetEscapeHTML(false)
			if err := e.Encode(messages); err != nil {
				return err
			}
			return os.WriteFile(path(thread), data.Bytes(), 0o600)
		},
	}
}

// processDir names the folder for the other process of TestThreadInAnotherProcess.
const processDir = "LOOPTAPE_TEST_THREADS"

// eachMember returns messages in which each member of a message and of its parts is set.
func eachMember() []llm.Message {
	opaque := json.RawMessage(`{"signature":"<&>"}`)
	media := []llm.Part{
		llm.Media{MediaType: "image/png", Name: "a<b.png", Data: []byte{0, 255}, Opaque: opaque},
		llm.Media{MediaType: "image/png", URL: "https://example.com/?a&b"},
		llm.Media{MediaType: "image/png", Digest: "sha256:00", Size: 7},
	}
	answer := llm.Assistant(
		llm.Reasoning{Text: "hm <é\u2028>", Opaque: opaque}, llm.Text{Text: "é\x00\n", Refusal: true, Opaque: opaque},
		llm.ToolCall{ID: "c1", Name: "a", Arguments: `{"n": 1.0`, IDGenerated: true, ProviderID: "p", Opaque: opaque},
		llm.ToolCall{ID: "c2", Name: "b", Arguments: "{}", ProviderExecuted: true},
		llm.Unknown{Kind: "new", Raw: json.RawMessage(`{"type":"new","n":1.0}`)},
	)
	answer.Opaque = opaque
	result := llm.ToolResult{ID: "c1", Name: "a", Content: append(media, llm.Text{Text: "A"}), IsError: true, Opaque: opaque}
	return []llm.Message{{Role: llm.RoleUser, Parts: media}, answer, llm.ToolResults(result)}
}

// RA-85: a thread that a checkpointer wrote in another process continues as one in memory does,
// with its calls and the data of the provider. Each member of a message is kept as it is.
func TestThreadInAnotherProcess(t *testing.T) {
	opaque := json.RawMessage(`{"signature":"<abc==>&"}`) // HTML escaping would change it
	responses := []fake.Response{
		{Events: []llm.Event{
			llm.PartDone{Part: llm.Reasoning{Text: "hm", Opaque: opaque}},
			llm.PartDone{Part: llm.ToolCall{ID: "c1", Name: "a", Arguments: `{"n": 1}`, Opaque: opaque}},
			llm.Finish{Reason: llm.FinishToolCalls},
		}}, text("one"),
	}
	first := fake.NewModel(slices.Concat(responses, responses)...)
	run := func(m *fake.Model, memory *reactagent.Memory, thread, message string) {
		a, err := reactagent.New(m, &reactagent.Config{Memory: memory, Config: loop.Config{Clock: fake.NewClock(), Tools: []loop.Tool{tool("a")}}})
		if err != nil {
			t.Fatal(err)
		}
		if !a.Run(t.Context(), []llm.Message{llm.User(message)}, thread, nil) {
			t.Fatalf("the run %q failed", message)
		}
	}
	onDisk := func(dir string) *reactagent.Memory { return &reactagent.Memory{Store: &store.Disk{Dir: dir}} }
	if dir := os.Getenv(processDir); dir != "" {
		run(first, fileMemory(dir), "t", "first")
		run(first, onDisk(dir), "t", "first")
		for _, memory := range []*reactagent.Memory{fileMemory(dir), onDisk(dir)} {
			if err := memory.Save(t.Context(), "each", eachMember()); err != nil {
				t.Fatal(err)
			}
		}
		return
	}
	dir := t.TempDir()
	other := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestThreadInAnotherProcess$")
	other.Env = append(os.Environ(), processDir+"="+dir)
	if out, err := other.CombinedOutput(); err != nil {
		t.Fatalf("the other process: %v\n%s", err, out)
	}
	inMemory := &reactagent.Memory{}
	run(first, inMemory, "t", "first")
	next := func(memory *reactagent.Memory) []llm.Message {
		m := fake.NewModel(text("two"), text("two"), text("two"))
		run(m, memory, "t", "second")
		return m.RecordedRequests()[0].Request.Messages
	}
	want := next(inMemory)
	for name, memory := range map[string]*reactagent.Memory{"a file": fileMemory(dir), "a store": onDisk(dir)} {
		kept, err := memory.Load(t.Context(), "each")
		if diff := cmp.Diff(eachMember(), kept); diff != "" || err != nil {
			t.Errorf("each member (-saved +from %s):\n%s%v", name, diff, err)
		}
		got := next(memory)
		if diff := cmp.Diff(want, got); diff != "" || len(got) != 5 {
			t.Errorf("the request of the next run (-in memory +from %s):\n%s", name, diff)
		}
		if line, _ := json.Marshal(got); strings.Count(string(line), "abc==") != 2 {
			t.Errorf("%s: the data of the provider is missing: %s", name, line)
		}
		other := fake.NewModel(text("three"))
		if run(other, memory, "t2", "third"); len(other.RecordedRequests()[0].Request.Messages) != 1 {
			t.Errorf("%s: another thread begins with messages: %+v", name, other.RecordedRequests()[0].Request.Messages)
		}
	}
}

// counted is a backend that records its operations.
type counted struct {
	files.Memory
	log *[]string
}

func (c *counted) note(operation, path string) { *c.log = append(*c.log, operation+" "+path) }

func (c *counted) Read(path string) (string, error) { c.note("read", path); return c.Memory.Read(path) }

func (c *counted) Write(path, text string) error {
	c.note("write", path)
	return c.Memory.Write(path, text)
}

func (c *counted) List(path string) ([]files.Entry, error) {
	c.note("list", path)
	return c.Memory.List(path)
}

func (c *counted) Edit(path string, change func(string) (string, error)) error {
	c.note("edit", path)
	return c.Memory.Edit(path, change)
}

func (c *counted) Mkdir(path string) error { c.note("mkdir", path); return c.Memory.Mkdir(path) }

// RA-86: the backend of the caller gets each operation of the file tools, also of a sub-agent.
// Agents without one have their own files.
func TestBackend(t *testing.T) {
	var log []string
	sub := fake.NewModel(calling("read_file", `{"path":"a"}`), text("read"))
	b := newBench(t,
		calling("mkdir", `{"path":"d"}`), calling("write_file", `{"path":"a","content":"one"}`), calling("edit_file", `{"path":"a","old_string":"one","new_string":"two"}`),
		calling("ls", `{"path":"/"}`), calling("task", `{"description":"read a","subagent_type":"s"}`), text("done"))
	a := b.deep(reactagent.DeepConfig{Backend: &counted{log: &log}, SubAgents: []reactagent.SubAgent{{Name: "s", Model: sub}}})
	b.run(a, "", "go")
	want := []string{"mkdir d", "write a", "edit a", "list /", "read a"}
	if diff := cmp.Diff(want, log); diff != "" {
		t.Errorf("operations (-want +got):\n%s", diff)
	}
	if got := short(sub.RecordedRequests()[1].Request.Messages); got[2] != "tool: two" {
		t.Errorf("the sub-agent reads %q", got)
	}
	var got []string
	for _, turns := range [][]fake.Response{
		{calling("write_file", `{"path":"a","content":"one"}`), text("done")},
		{calling("read_file", `{"path":"a"}`), text("done")},
	} {
		b := newBench(t, turns...)
		b.run(b.deep(reactagent.DeepConfig{}), "", "go")
		got = append(got, b.asked(1)[2])
	}
	if diff := cmp.Diff([]string{`tool: wrote 3 bytes to "a"`, `tool: {"error":"cannot read \"a\": file does not exist"}`}, got); diff != "" {
		t.Errorf("two agents (-want +got):\n%s", diff)
	}
}

// RA-43: the context window can be set. Summaries of runs, of sub-agents and of Compact use it.
func TestSetContextWindow(t *testing.T) {
	long := strings.Repeat("abc ", 300)
	for _, c := range []struct{ own, summary, model, set, want int }{
		{set: 400, want: 1}, {model: 4000, set: 400, want: 1}, {own: 4000, set: 400, want: 1}, {summary: 4000, set: 400, want: 1},
		{model: 400, set: 4000, want: 0}, {summary: 400, set: 4000, want: 0}, {model: 400, set: -1, want: 1}, {set: 0, want: 0},
	} {
		b := newBench(t, text("x"), text("y"))
		cfg := reactagent.DeepConfig{NoFilesystem: true, NoGeneralPurpose: true, Summary: middleware.Summarizer{Window: c.summary}}
		cfg.ContextWindow = c.own
		b.in(&cfg.Config.Config)
		a, err := reactagent.NewDeep(windowed{b.model, c.model}, &cfg)
		b.made(a, err)
		a.SetContextWindow(500)
		a.SetContextWindow(c.set)
		n, ok := a.ContextWindow()
		if want := max(c.set, 0); c.set > 0 && n != want || ok != (n > 0) {
			t.Errorf("%+v: the window is %d, %t", c, n, ok)
		}
		a.Run(t.Context(), []llm.Message{llm.User(long), llm.User("go")}, "", nil)
		if got := len(of[trace.HistoryRewrite](b.all)); got != c.want {
			t.Errorf("%+v: got %d summaries", c, got)
		}
	}
	// Compact keeps more of the newest messages in a larger window.
	var kept []int
	for _, window := range []int{100000, 2000} {
		memory := &reactagent.Memory{}
		var thread []llm.Message
		for range 5 {
			thread = append(thread, llm.User(long), llm.Assistant(llm.Text{Text: "x"}))
		}
		if err := memory.Save(t.Context(), "t", thread); err != nil {
			t.Fatal(err)
		}
		a := newBench(t, text("short")).deep(reactagent.DeepConfig{Config: reactagent.Config{Memory: memory}})
		a.SetContextWindow(window)
		kept = append(kept, 10-len(a.Compact(t.Context(), "t").Replaced))
	}
	if fmt.Sprint(kept) != "[6 2]" {
		t.Errorf("Compact keeps %v messages", kept)
	}
	// A window below the reserve fails the run.
	b := newBench(t, text("x"))
	a := b.deep(reactagent.DeepConfig{Summary: middleware.Summarizer{Reserve: 10}})
	a.SetContextWindow(5)
	if ok, events := b.run(a, "", "go"); ok || len(events) != 1 || !strings.Contains(events[0], "the Reserve of 10 tokens") {
		t.Errorf("got %q", events)
	}
}

// Two runs that use one thread of a store concurrently: the first to end is stored, and the other fails
// with a conflict. The next run continues the stored thread. Compact fails in the same way.
func TestThreadConflict(t *testing.T) {
	memory := &reactagent.Memory{Store: &store.Disk{Dir: t.TempDir()}}
	during := func(f func()) loop.Tool {
		return loop.Tool{Name: "a", Run: func(context.Context, loop.Call) (loop.Output, error) {
			f()
			return loop.TextOutput("A"), nil
		}}
	}
	other := newBench(t, text("x"))
	b := newBench(t, calling("a", "{}"), text("y"))
	var failed reactagent.Event
	a := b.agent(reactagent.Config{Memory: memory, Config: loop.Config{Tools: []loop.Tool{during(func() {
		other.run(other.agent(reactagent.Config{Memory: memory}), "t", "one")
	})}}})
	if a.Run(t.Context(), []llm.Message{llm.User("two")}, "t", func(e reactagent.Event) { failed = e }) || !errors.Is(failed.Err, store.ErrConflict) {
		t.Errorf("the run that ended later: %+v, want ErrConflict", failed)
	}
	if want := `reactagent: saving the thread "t": store: saving "thread:t": another writer has saved it: load it and repeat the change`; failed.Err == nil || failed.Err.Error() != want {
		t.Errorf("got %v, want %s", failed.Err, want)
	}
	kept, err := memory.Load(t.Context(), "t")
	if diff := cmp.Diff([]string{"user: one", "assistant: x"}, short(kept)); diff != "" || err != nil {
		t.Errorf("the thread (-want +got):\n%s%v", diff, err)
	}
	if b = newBench(t, text("z")); len(kept) > 0 {
		if ok, _ := b.run(b.agent(reactagent.Config{Memory: memory}), "t", "three"); !ok || len(b.asked(0)) != 3 {
			t.Errorf("the next run: %t, request %q", ok, b.asked(0))
		}
	}
	kept, _ = memory.Load(t.Context(), "t")
	writing := reactagent.DeepConfig{Config: reactagent.Config{Memory: memory}, Summary: middleware.Summarizer{KeepMessages: 1, Archive: func(context.Context, []llm.Message) error {
		return memory.Save(t.Context(), "t", kept) // another writer
	}}}
	if done := newBench(t, text("short"), text("short")).deep(writing).Compact(t.Context(), "t"); done != nil {
		t.Errorf("a conflict while summarizing: got %+v, want nil", done)
	}
	writing.Summary.Archive = nil
	if done := newBench(t, text("short"), text("short")).deep(writing).Compact(t.Context(), "t"); done == nil {
		t.Error("nothing was summarized without a conflict")
	}
	if now, _ := memory.Load(t.Context(), "t"); cmp.Equal(kept, now) {
		t.Error("the summary is not stored")
	}
}

// funcMemory stores threads in a map by LoadFunc and SaveFunc.
func funcMemory() *reactagent.Memory {
	var mu sync.Mutex
	threads := map[string][]llm.Message{}
	return &reactagent.Memory{
		LoadFunc: func(_ context.Context, thread string) ([]llm.Message, error) {
			mu.Lock()
			defer mu.Unlock()
			return threads[thread], nil
		},
		SaveFunc: func(_ context.Context, thread string, messages []llm.Message) error {
			mu.Lock()
			defer mu.Unlock()
			threads[thread] = messages
			return nil
		},
	}
}

// RA-64: of runs that use one thread concurrently, each succeeds and none loses a message: the thread has
// the messages of one run after those of another, in the order in which the runs end, after a summary, too.
func TestThreadsConcurrently(t *testing.T) {
	for name, memory := range map[string]func() *reactagent.Memory{"in memory": func() *reactagent.Memory { return new(reactagent.Memory) }, "functions": funcMemory} {
		for _, compact := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, compact: %t", name, compact), func(t *testing.T) {
				if !bubble.Run(t, func(t *testing.T) { testConcurrently(t, memory(), compact) }) {
					t.Error("a run waits for another")
				}
			})
		}
	}
}

// testConcurrently runs agents that all load a thread before one of them stores it.
func testConcurrently(t *testing.T, memory *reactagent.Memory, compact bool) {
	before := []llm.Message{llm.User("zero"), llm.Assistant(llm.Text{Text: "w"})}
	if err := memory.Save(t.Context(), "t", before); err != nil {
		t.Fatal(err)
	}
	const n = 3
	var ready, ended sync.WaitGroup
	ready.Add(n)
	turn := make([]chan struct{}, n+1) // closed when a run may end
	for i := range turn {
		turn[i] = make(chan struct{})
	}
	for i := range n {
		wait := loop.Tool{Name: "wait", Run: func(context.Context, loop.Call) (loop.Output, error) {
			ready.Done()
			<-turn[i]
			return loop.TextOutput(fmt.Sprint("waited ", i)), nil
		}}
		b := newBench(t, calling("wait", "{}"), text(fmt.Sprint("done ", i)))
		a := b.agent(reactagent.Config{Memory: memory, Config: loop.Config{Tools: []loop.Tool{wait}}})
		ended.Go(func() {
			if !a.Run(t.Context(), []llm.Message{llm.User(fmt.Sprint("run ", i))}, "t", nil) {
				t.Errorf("run %d failed", i)
			}
			close(turn[i+1])
		})
	}
	ready.Wait() // each has loaded the thread
	want := []string{"user: zero", "assistant: w"}
	if compact {
		a := newBench(t, text("short")).deep(reactagent.DeepConfig{Config: reactagent.Config{Memory: memory}, Summary: middleware.Summarizer{KeepMessages: 1}})
		if a.Compact(t.Context(), "t") == nil {
			t.Error("nothing was summarized")
		}
		compacted, _ := memory.Load(t.Context(), "t")
		if want = short(compacted); len(want) != 2 || want[0] == "user: zero" {
			t.Errorf("the summary: %q", want)
		}
	}
	close(turn[0])
	ended.Wait()
	for i := range n {
		want = append(want, fmt.Sprint("user: run ", i), "assistant: wait", fmt.Sprint("tool: waited ", i), fmt.Sprint("assistant: done ", i))
	}
	got, err := memory.Load(t.Context(), "t")
	if diff := cmp.Diff(want, short(got)); diff != "" || err != nil {
		t.Errorf("the thread (-want +got):\n%s%v", diff, err)
	}
}

// A run that ends while Compact summarizes its thread is not replaced by the summary. If the thread
// cannot be loaded again, the run fails with this error and saves nothing.
func TestThreadStoredMeanwhile(t *testing.T) {
	memory := &reactagent.Memory{}
	thread := []llm.Message{llm.User("one"), llm.Assistant(llm.Text{Text: "x"}), llm.User("two"), llm.Assistant(llm.Text{Text: "y"})}
	if err := memory.Save(t.Context(), "t", thread); err != nil {
		t.Fatal(err)
	}
	summary := middleware.Summarizer{KeepMessages: 1, Archive: func(ctx context.Context, _ []llm.Message) error {
		other := newBench(t, text("z"))
		if ok, _ := other.run(other.agent(reactagent.Config{Memory: memory}), "t", "three"); !ok {
			t.Error("the other run failed")
		}
		return nil
	}}
	if done := newBench(t, text("short")).deep(reactagent.DeepConfig{Config: reactagent.Config{Memory: memory}, Summary: summary}).Compact(t.Context(), "t"); done != nil {
		t.Errorf("a run ended while summarizing: got %+v, want nil", done)
	}
	got, err := memory.Load(t.Context(), "t")
	if diff := cmp.Diff(append(short(thread), "user: three", "assistant: z"), short(got)); diff != "" || err != nil {
		t.Errorf("the thread (-want +got):\n%s%v", diff, err)
	}

	loads, saves := 0, 0
	memory = &reactagent.Memory{
		LoadFunc: func(context.Context, string) ([]llm.Message, error) {
			if loads++; loads > 1 {
				return nil, errors.New("the disk is gone")
			}
			return nil, nil
		},
		SaveFunc: func(context.Context, string, []llm.Message) error { saves++; return nil },
	}
	b := newBench(t, calling("a", "{}"), text("y"))
	a := b.agent(reactagent.Config{Memory: memory, Config: loop.Config{Tools: []loop.Tool{{Name: "a", Run: func(ctx context.Context, _ loop.Call) (loop.Output, error) {
		return loop.TextOutput("A"), memory.Save(ctx, "t", thread)
	}}}}})
	var last reactagent.Event
	a.Run(t.Context(), []llm.Message{llm.User("two")}, "t", func(e reactagent.Event) { last = e })
	if want := `reactagent: saving the thread "t": the disk is gone`; last.Err == nil || last.Err.Error() != want || saves != 1 {
		t.Errorf("got %v and %d saves, want %s", last.Err, saves, want)
	}
}
