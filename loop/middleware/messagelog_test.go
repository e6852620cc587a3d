package middleware_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/middleware"
	"github.com/looptape/looptape/loop/store"
	"github.com/looptape/looptape/trace"
)

// short formats messages as role and text.
func short(list []llm.Message) []string {
	var out []string
	for _, m := range list {
		s := string(m.Role) + " " + m.Text()
		for _, p := range m.Parts {
			switch p := p.(type) {
			case llm.ToolCall:
				s += p.Name
			case llm.ToolResult:
				s += p.Text()
			default:
			}
		}
		out = append(out, s)
	}
	return out
}

// RA-48, RA-51: each message is logged once, in order, including the new messages of the
// input. This also holds for automatically continued responses, skipped duplicate steps and a
// forced final response.
func TestLogMessages(t *testing.T) {
	var got []llm.Message
	log := middleware.LogMessages(func(m llm.Message) error {
		got = append(got, m)
		return nil
	})
	onward := 0
	more := loop.Middleware{Name: "more", New: func(loop.RunInfo) loop.Hooks {
		return loop.Hooks{AfterModel: func(context.Context, *loop.StepInfo, *llm.Response) (loop.Decision, error) {
			if onward++; onward > 1 {
				return loop.Decision{}, nil
			}
			return loop.Decision{Action: trace.Continue, Messages: []llm.Message{llm.User("more")}}, nil
		}}
	}}
	in := loop.Continue([]llm.Message{llm.User("before"), llm.Assistant(llm.Text{Text: "old"})}, llm.User("one"), llm.User("two"))
	in.Messages[3].Opaque = json.RawMessage(`{"n":1}`)
	cfg := loop.Config{
		Tools: []loop.Tool{tool}, Middleware: []loop.Middleware{log, more, middleware.KeepLast(2, 4)}, MaxSteps: 4, CheckLimitBeforeStep: true, OnStepLimit: loop.StepLimitForceFinal,
		OneMessagePerResult: true, DuplicateStep: loop.DuplicateSkip,
	}
	o := play(t.Context(), t, cfg, in, text("part"), call("1", "2"), call("3", "4"), text(""), text("forced"))
	if o.err != nil {
		t.Fatal(o.err)
	}
	note := "not run: the step before made the same calls with the same arguments; its results stand above"
	want := []string{"user one", "user two", "assistant part", "user more", "assistant aa", "tool A", "tool A", "assistant aa", "tool " + note, "tool " + note}
	if diff := cmp.Diff(want, short(got)); diff != "" {
		t.Errorf("logged (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(in.Messages[2:], got[:2]); diff != "" {
		t.Errorf("the logged input (-want +got):\n%s", diff)
	}
	got, onward = nil, 1
	cfg.MaxSteps = 1
	play(t.Context(), t, cfg, loop.Prompt("go"), call("1"), text("forced"))
	if diff := cmp.Diff([]string{"user go", "assistant a", "tool A", "assistant forced"}, short(got)); diff != "" {
		t.Errorf("log of a forced final answer (-want +got):\n%s", diff)
	}
}

// A resumed run logs the results of its first calls, once and in order.
func TestLogMessagesResumed(t *testing.T) {
	var got []llm.Message
	log := middleware.LogMessagesFrom(2, func(m llm.Message) error {
		got = append(got, m)
		return nil
	})
	in := loop.Input{
		Messages: []llm.Message{llm.User("one"), llm.Assistant(llm.ToolCall{ID: "1", Name: "a", Arguments: "{}"}, llm.ToolCall{ID: "2", Name: "a", Arguments: "{}"})},
		Resume:   &loop.Resume{Of: "r1", Then: []llm.Message{llm.User("then")}},
	}
	o := play(t.Context(), t, loop.Config{Tools: []loop.Tool{tool}, Middleware: []loop.Middleware{log}}, in, call("3"), text("done"))
	if o.err != nil {
		t.Fatal(o.err)
	}
	if diff := cmp.Diff(short(o.res.Messages), short(got)); diff != "" || len(got) != 5 {
		t.Errorf("logged (-want +got):\n%s", diff)
	}
}

// RA-50: a log that fails changes nothing and receives later messages.
func TestLogMessagesFails(t *testing.T) {
	n := 0
	for _, log := range []func(llm.Message) error{
		func(llm.Message) error { n++; return errors.New("full") },
		func(llm.Message) error { n++; panic("full") },
	} {
		o := with(t, middleware.LogMessages(log), nil, call("1"), text("done"))
		if o.res.Text != "done" {
			t.Errorf("got %+v", o.res)
		}
	}
	if n != 8 {
		t.Errorf("reported %d messages, want 8", n)
	}
	last := loop.Middleware{Name: "last", New: func(loop.RunInfo) loop.Hooks {
		return loop.Hooks{End: func(_ context.Context, res loop.Result) (loop.Result, error) {
			res.Messages = res.Messages[len(res.Messages)-1:]
			return res, nil
		}}
	}}
	signed := llm.Reasoning{Text: "hm", Opaque: json.RawMessage(`{"signature":"s"}`)}
	sent := func(list ...loop.Middleware) [][]llm.Message {
		in := loop.Continue([]llm.Message{llm.User("one"), llm.Assistant(signed, llm.Text{Text: "two"})}, llm.User("go"))
		o := play(t.Context(), t, loop.Config{Tools: []loop.Tool{tool}, Middleware: list}, in, call("1"), fake.Response{Reasoning: "so", Text: "done"})
		if o.err != nil || o.res.Text != "done" {
			t.Errorf("with %d middleware: got %+v, %v", len(list), o.res, o.err)
		}
		messages := [][]llm.Message{o.res.Messages}
		for _, r := range o.model.Requests() {
			messages = append(messages, r.Messages)
		}
		return messages
	}
	want, shortened := sent(), sent(last)
	for name, log := range map[string]func(llm.Message) error{
		"keeps": func(llm.Message) error { return nil },
		"changes": func(m llm.Message) error {
			for i := range m.Parts {
				m.Parts[i] = llm.Text{Text: "[removed]"}
			}
			return nil
		},
	} {
		logs := middleware.LogMessagesFrom(0, log)
		if diff := cmp.Diff([][][]llm.Message{want, shortened}, [][][]llm.Message{sent(logs), sent(last, logs)}); diff != "" {
			t.Errorf("%s: messages (-without a log +with the log):\n%s", name, diff)
		}
	}
}

// eastern is a clock in another time zone.
type eastern struct{ *fake.Clock }

func (c eastern) Now() time.Time { return c.Clock.Now().In(time.FixedZone("", 11*3600)) }

// RA-49: the file has a name based on the time and one message per line, also with concurrent
// writers.
func TestJSONLog(t *testing.T) {
	dir := t.TempDir()
	clock := eastern{fake.NewClock()}
	if err := clock.Sleep(t.Context(), 30*24*time.Hour+21*time.Hour+5*time.Minute+59*time.Second); err != nil {
		t.Fatal(err)
	}
	l, err := middleware.NewJSONLog(dir, clock)
	if err != nil {
		t.Fatal(err)
	}
	second, err := middleware.NewJSONLog(dir, clock)
	if err != nil {
		t.Fatal(err)
	}
	third, err := middleware.NewJSONLog(dir, clock)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"2000-01-31-21-05-59.jsonl", "2000-01-31-21-05-59-2.jsonl", "2000-01-31-21-05-59-3.jsonl"}
	if diff := cmp.Diff(want, []string{filepath.Base(l.Name()), filepath.Base(second.Name()), filepath.Base(third.Name())}); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	const n = 50
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			if err := l.Log(llm.User("two\nlines " + strings.Repeat("x", 5000))); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	answer := llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{llm.Text{Text: "<&>"}, llm.ToolCall{ID: "c", Name: "a", Arguments: "{}"}}, Opaque: json.RawMessage(`{"n":1.0}`)}
	if err := errors.Join(second.Log(answer), second.Log(llm.User("x"))); err != nil {
		t.Error(err)
	}
	for _, l := range []*middleware.JSONLog{l, second, third} {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
	wantLines := `{"role":"assistant","parts":[{"type":"text","text":"<&>"},{"type":"tool_call","id":"c","name":"a","arguments":"{}"}],"opaque":{"n":1.0}}
{"role":"user","parts":[{"type":"text","text":"x"}]}
`
	if data, err := os.ReadFile(second.Name()); err != nil || string(data) != wantLines {
		t.Errorf("the second log has %s%v, want %s", data, err, wantLines)
	}
	data, err := os.ReadFile(l.Name())
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	for _, line := range lines {
		var m llm.Message
		if err := json.Unmarshal([]byte(line), &m); err != nil || len(m.Text()) != 5010 {
			t.Errorf("%v in %.80s", err, line)
		}
	}
	if len(lines) != n {
		t.Errorf("got %d lines", len(lines))
	}
}

// The first error of a log persists. A missing directory is an error immediately.
func TestJSONLogFails(t *testing.T) {
	dir := t.TempDir()
	l, err := middleware.NewJSONLog(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	first := l.Log(llm.User("x"))
	if again := l.Log(llm.User("y")); !errors.Is(first, fs.ErrClosed) || again != first || !errors.Is(l.Close(), first) {
		t.Errorf("got %v, then %v", first, again)
	}
	if _, err := middleware.NewJSONLog(filepath.Join(dir, "nowhere"), nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

// failsOnce is a store whose first save fails.
type failsOnce struct {
	store.Memory
	failed bool
}

func (f *failsOnce) Save(ctx context.Context, key string, value []byte, version int64) (int64, error) {
	if !f.failed {
		f.failed = true
		return 0, errors.New("the disk is full")
	}
	return f.Memory.Save(ctx, key, value, version)
}

// After an error, a log stores no later message: it would have a gap.
func TestStoreLogFails(t *testing.T) {
	log := &middleware.StoreLog{Store: new(failsOnce), Name: "l"}
	for _, text := range []string{"one", "two"} {
		if err := log.Log(llm.User(text)); err == nil || err.Error() != "middleware: StoreLog.Log: the disk is full" {
			t.Errorf("%s: got %v", text, err)
		}
	}
	if got, err := log.Load(t.Context()); len(got) != 0 || err != nil || log.Err() != nil {
		t.Errorf("the log has %v, %v", got, err)
	}
}

// A log in a store has the messages of the runs in order, and a loaded log is continued. A second writer
// gets a conflict, which it keeps until it loads; its run does not fail.
func TestStoreLog(t *testing.T) {
	s := new(store.Memory)
	logs := []*middleware.StoreLog{{Store: s, Name: "l"}, {Store: s, Name: "l"}, {Store: s, Name: "other"}}
	loaded := func(l *middleware.StoreLog) []llm.Message {
		t.Helper()
		list, err := l.Load(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	if got := loaded(logs[1]); got != nil {
		t.Errorf("a new log has %v", got)
	}
	run(t, middleware.LogMessages(logs[0].Log), call("a"), fake.Response{Text: "x"})
	first := loaded(logs[0])
	if diff := cmp.Diff([]string{"user go", "assistant a", "tool A", "assistant x"}, short(first)); diff != "" || logs[0].Err() != nil {
		t.Errorf("the log (-want +got):\n%s%v", diff, logs[0].Err())
	}
	if got := loaded(logs[2]); got != nil {
		t.Errorf("another log has %v", got)
	}
	if res, _, _ := run(t, middleware.LogMessages(logs[1].Log), fake.Response{Text: "y"}); res.Text != "y" {
		t.Errorf("the run of the second writer: %+v", res)
	}
	const conflict = `middleware: StoreLog.Log: store: saving "l/0": another writer has saved it: load it and repeat the change`
	for _, err := range []error{logs[1].Err(), logs[1].Log(llm.User("z"))} {
		if !errors.Is(err, store.ErrConflict) || err.Error() != conflict {
			t.Errorf("the second writer: got %v, want %s", err, conflict)
		}
	}
	if diff := cmp.Diff(first, loaded(logs[1])); diff != "" {
		t.Errorf("after a conflict (-want +got):\n%s", diff)
	}
	if err := logs[1].Log(llm.User("z")); err != nil || logs[1].Err() != nil {
		t.Errorf("after Load: %v, %v", err, logs[1].Err())
	}
	if got := loaded(logs[0]); len(got) != 5 || got[4].Text() != "z" {
		t.Errorf("the log of both has %q", short(got))
	}
	if _, err := s.Save(t.Context(), "other/0", []byte("half"), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := logs[2].Load(t.Context()); err == nil || !strings.HasPrefix(err.Error(), `middleware: StoreLog.Load: store: loading "other/0": the value is not a document: `) {
		t.Errorf("a damaged log: %v", err)
	}
}

// A log without Load appends to the messages that the store has: two processes that log their runs
// under one name lose no message. A log that cannot be read stores nothing.
func TestStoreLogWithoutLoad(t *testing.T) {
	s := new(store.Memory)
	for _, text := range []string{"x", "y"} {
		log := &middleware.StoreLog{Store: s, Name: "l"}
		run(t, middleware.LogMessages(log.Log), fake.Response{Text: text})
		if err := log.Err(); err != nil {
			t.Errorf("the run %s: %v", text, err)
		}
	}
	got, err := (&middleware.StoreLog{Store: s, Name: "l"}).Load(t.Context())
	if diff := cmp.Diff([]string{"user go", "assistant x", "user go", "assistant y"}, short(got)); diff != "" || err != nil {
		t.Errorf("the log (-want +got):\n%s%v", diff, err)
	}
	if _, err := s.Save(t.Context(), "damaged/0", []byte("half"), 0); err != nil {
		t.Fatal(err)
	}
	damaged := &middleware.StoreLog{Store: s, Name: "damaged"}
	for range 2 {
		if err := damaged.Log(llm.User("z")); err == nil || !strings.HasPrefix(err.Error(), `middleware: StoreLog.Log: store: loading "damaged/0": the value is not a document: `) {
			t.Errorf("a damaged log: %v", err)
		}
	}
	if value, _, err := s.Load(t.Context(), "damaged/1"); value != nil || err != nil {
		t.Errorf("the damaged log has a second message: %q, %v", value, err)
	}
}
