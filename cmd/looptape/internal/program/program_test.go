package program_test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/looptape/looptape/cmd/looptape/internal/program"
	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/fake/wire"
	"github.com/looptape/looptape/internal/child"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/explore"
	"github.com/looptape/looptape/providers/openai"
	"github.com/looptape/looptape/providers/openai/chat"
	"github.com/looptape/looptape/providers/protocol"
	"github.com/looptape/looptape/trace/check"
)

// mode is the variable that makes the test binary a program to explore.
const mode = "LOOPTAPE_TEST_PROGRAM"

func TestMain(m *testing.M) {
	if how := os.Getenv(mode); how != "" {
		os.Exit(runProgram(how, os.Stdin, os.Stdout))
	}
	goleak.VerifyTestMain(m)
}

// runProgram is a program with an agent. how has words: keep, and the faults of the agent.
func runProgram(how string, stdin io.Reader, stdout io.Writer) (status int) {
	a := &agent{how: strings.Fields(how), url: os.Getenv("OPENAI_BASE_URL")}
	if !a.has("keep") {
		return a.status()
	}
	in := bufio.NewScanner(stdin)
	if a.has("cancelable") {
		return a.cancelable(in, stdout)
	}
	for in.Scan() {
		if strings.HasPrefix(in.Text(), "cancel") {
			continue // late
		}
		a.runs++
		end := strings.TrimSuffix(fmt.Sprintf("done %d", a.status()), " 0")
		_, _ = fmt.Fprintf(stdout, "output of the agent\n%s\n", end)
	}
	return 0
}

// cancelable makes runs that a line cancels.
func (a *agent) cancelable(in *bufio.Scanner, stdout io.Writer) (status int) {
	var runs sync.WaitGroup
	defer runs.Wait()
	cancel := func() {}
	for in.Scan() {
		if strings.HasPrefix(in.Text(), "cancel") {
			cancel()
			continue
		}
		runs.Wait()
		if a.ctx, cancel = context.WithCancel(context.Background()); a.has("patient") {
			cancel = func() {}
		}
		runs.Go(func() {
			s := a.status()
			_, _ = fmt.Fprintf(stdout, "done %d\n", s)
			if a.ctx.Err() != nil && a.has("restless") {
				a.ctx = context.Background()
				_ = a.status()
			}
		})
	}
	cancel()
	return 0
}

// agent is an agent without an SDK.
type agent struct {
	ctx context.Context //nolint:containedctx // of the run

	how []string
	url string

	runs  int
	flaky bool // the run drops a result
}

func (a *agent) has(word string) bool { return slices.Contains(a.how, word) }

func (a *agent) status() int {
	switch {
	case a.has("silent"), a.has("lazy") && a.runs == 2:
		return 0
	case a.has("hangs"):
		select {}
	case a.has("exits") && a.runs == 5:
		os.Exit(4)
	case a.has("leaves"):
		child := exec.CommandContext(context.Background(), os.Args[0])
		child.Env, child.Stdout = []string{mode + "=hangs"}, os.Stdout
		_ = child.Start() // the test sees whether it runs
	case a.has("deaf"):
		signal.Ignore(syscall.SIGTERM)
	case a.has("flaky"):
		a.flaky = a.runs%2 == 1
	}
	run := a.run
	if a.has("loop") {
		run = a.loop
	}
	if a.has("pair") {
		run = a.pair
	}
	if err := run("go"); err != nil && !a.has("careless") {
		fmt.Fprintln(os.Stderr, "agent:", err)
		return 3
	}
	return 0
}

// loop runs the loop of looptape.
func (a *agent) loop(prompt string) error {
	tool, err := loop.RawTool("weather", "", nil, func(context.Context, loop.Call) (loop.Output, error) { return loop.TextOutput("rain"), nil })
	if err != nil {
		return err
	}
	model := &protocol.Client{Protocol: chat.Protocol{}, BaseURL: a.url, Authorize: openai.Key("any-key")}
	l, err := loop.New(model, &loop.Config{Model: "some-model", Tools: []loop.Tool{tool}})
	if err != nil {
		return err
	}
	_, err = l.Run(cmp.Or(a.ctx, context.Background()), loop.Prompt(prompt))
	return err
}

// pair has two concurrent conversations, and then one that is wrong if the response to the second one came first.
func (a *agent) pair(string) error {
	var mu sync.Mutex
	var came []string
	var both sync.WaitGroup
	first := make(chan bool, 2)
	for _, prompt := range []string{"A", "B"} {
		both.Go(func() {
			defer func() { first <- true }()
			if _, err := a.ask("some-model", []message{{Role: "user", Content: prompt}}); err == nil {
				mu.Lock()
				defer mu.Unlock()
				came = append(came, prompt)
			} else if a.has("hasty") {
				os.Exit(3)
			}
		})
	}
	if a.has("early") {
		<-first // the other request is open
		return nil
	}
	both.Wait()
	last := []message{{Role: "user", Content: "both"}}
	if slices.Equal(came, []string{"B", "A"}) && a.has("faulty") {
		last = append(last, message{Role: "tool", CallID: "unknown", Content: "rain"})
	}
	_, err := a.ask("some-model", last)
	return err
}

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
	Calls   []call `json:"tool_calls,omitempty"`
	CallID  string `json:"tool_call_id,omitempty"`
}

type call struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

func (a *agent) run(prompt string) error { return a.conversation("some-model", prompt) }

func (a *agent) conversation(model, prompt string) error {
	messages := []message{{Role: "user", Content: prompt}}
	if a.has("varies") && a.runs%2 == 1 {
		messages = append(messages, message{Role: "user", Content: "Be brief."})
	}
	for {
		m, err := a.ask(model, messages)
		if err != nil {
			return err
		}
		if len(m.Calls) == 0 {
			return nil
		}
		messages = append(messages, *m)
		results := make([]message, len(m.Calls))
		var tools sync.WaitGroup
		for i, c := range m.Calls {
			results[i] = message{Role: "tool", CallID: c.ID, Content: "rain"}
			if c.Function.Name == "agent" {
				tools.Go(func() {
					if err := a.conversation("sub", "sub-agent "+c.Function.Arguments); err != nil {
						results[i].Content = err.Error()
					}
				})
			}
		}
		tools.Wait()
		if a.has("drops") || a.flaky {
			results = results[1:]
		}
		messages = append(messages, results...)
	}
}

func (a *agent) ask(model string, messages []message) (*message, error) {
	if a.has("slow") && a.runs == 1 && len(messages) == 3 && strings.Contains(messages[0].Content, `"a"`) {
		const late = 200 * time.Millisecond
		_ = loop.SystemClock{}.Sleep(context.Background(), late)
	}
	body, err := json.Marshal(map[string]any{"model": model, "messages": messages})
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(cmp.Or(a.ctx, context.Background()), http.MethodPost, a.url+"/chat/completions", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer any-key")
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if err != nil {
		return nil, err
	}
	var c struct {
		Choices []struct {
			Message *message `json:"message"`
			Finish  string   `json:"finish_reason"`
		} `json:"choices"`
	}
	if err := json.Unmarshal(text, &c); err != nil || len(c.Choices) == 0 || c.Choices[0].Message == nil || c.Choices[0].Finish == "error" {
		return nil, errors.Join(fmt.Errorf("status %d", response.StatusCode), err)
	}
	m := c.Choices[0].Message
	m.Role = "assistant"
	used := map[string]bool{}
	for _, earlier := range messages {
		for _, c := range earlier.Calls {
			used[c.ID] = true
		}
	}
	for i := range m.Calls {
		c := &m.Calls[i]
		if c.Type = "function"; c.ID == "" || used[c.ID] {
			c.ID = fmt.Sprintf("own_%d_%d", len(messages), i)
		}
		if used[c.ID] = true; c.Function.Name == "" {
			c.Function.Name = "unnamed"
		}
	}
	return m, nil
}

// script has steps of two calls of a tool.
func script(tool string, steps int) *fake.Script {
	var list []fake.Response
	for i := range steps {
		var calls []fake.Call
		for j := range 2 {
			calls = append(calls, fake.Call{ID: fmt.Sprintf("c%d%d", i, j), Name: tool, Arguments: fmt.Sprintf(`{"n":%d}`, j)})
		}
		list = append(list, fake.Response{Calls: calls})
	}
	return &fake.Script{Models: []fake.ModelScript{{Name: "main", Responses: append(list, fake.Response{Text: "done"})}}, Input: []llm.Message{llm.User("go")}}
}

func config(s *fake.Script, how string) program.Config {
	return program.Config{
		Wire: wire.Config{Script: s, Token: "token"}, Args: []string{os.Args[0]}, Keep: strings.Contains(how, "keep"),
		Timeout: 10 * time.Second, Stall: 20 * time.Millisecond, Settle: 20 * time.Millisecond, Log: log.New(io.Discard, "", 0),
		Env: func(url string) []string { return []string{"OPENAI_BASE_URL=" + url + "/openai/v1", mode + "=" + how} },
	}
}

// explored explores the agent with one fault at most.
func explored(t testing.TB, cfg program.Config, b explore.Bounds) *explore.Result {
	t.Helper()
	e, err := program.New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	b.Repeat = 3
	r := explore.Exhaust(e.Program, b)
	if err := e.Err(); err != nil {
		t.Fatal(err)
	}
	return r
}

// started returns an explorer and a program of it, which is closed at the end of the test.
func started(t *testing.T, cfg program.Config) (*program.Explorer, explore.Program) {
	t.Helper()
	e, err := program.New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	p := e.Program()
	t.Cleanup(p.Close)
	return e, p
}

func failures(r *explore.Result) (list []string) {
	for _, f := range r.Failures {
		list = append(list, fmt.Sprintf("%s %v %d/%d", f.Invariant, f.Choices, f.Shown, f.Repeated))
	}
	return append(list, r.Unstable...)
}

// TestKeep explores a correct program that is started once.
func TestKeep(t *testing.T) {
	r := explored(t, config(script("weather", 1), "keep loop"), explore.Bounds{Faults: 1})
	if got := failures(r); len(got) > 0 || !r.Complete || r.Runs < 100 || r.Orders != 1 {
		t.Errorf("%q: %s; want all runs, without a failure", got, r.Summary())
	}
}

// TestFails explores faulty programs.
func TestFails(t *testing.T) {
	for _, tt := range []struct{ how, want string }{
		{"keep drops", "INV-01 [] 3/3"},
		{"drops", "INV-01 [] 3/3"},
		{"keep careless", "INV-11 [model call 2: fails before the first event with status 400] 3/3"},
		{"keep hangs", "the program made no request"},
		{"keep silent", "the program made no request"},
		{"silent", "the program made no request"},
		{"keep exits", "INV-11 "},
		{"keep pair early", "INV-16 [] 3/3"},
		{"keep varies", "the same choices gave two runs"},
	} {
		t.Run(tt.how, func(t *testing.T) {
			cfg := config(script("weather", 1), tt.how)
			if strings.Contains(tt.how, "hangs") {
				cfg.Timeout = 200 * time.Millisecond
			}
			e, err := program.New(t.Context(), cfg)
			if err != nil {
				if !strings.Contains(err.Error(), tt.want) {
					t.Errorf("got the error %v, want %s", err, tt.want)
				}
				return
			}
			got := failures(explore.Exhaust(e.Program, explore.Bounds{Faults: 1, Runs: 30, Repeat: 3}))
			if !slices.ContainsFunc(got, func(s string) bool { return strings.Contains(s, tt.want) }) {
				t.Errorf("got %q, want %s", got, tt.want)
			}
		})
	}
}

// TestRunWithoutRequest: a later run without a request violates INV-11.
func TestRunWithoutRequest(t *testing.T) {
	_, p := started(t, config(script("weather", 1), "keep lazy"))
	explore.Replay(p, nil)
	o, _ := explore.Replay(p, nil)
	if !slices.ContainsFunc(o.Violations, func(v check.Violation) bool {
		return v.Invariant == "INV-11" && v.Message == "the program made no request"
	}) {
		t.Errorf("violations %v, want INV-11", o.Violations)
	}
}

// TestExploredProgramCanceled cancels the runs of programs, before and after each response.
func TestExploredProgramCanceled(t *testing.T) {
	if !child.CanSignal {
		t.Skip("programs cannot get signals")
	}
	for _, tt := range []struct {
		how    string
		cancel program.Cancel
		late   bool // the run does not end after a cancel
	}{
		{"loop", program.CancelSIGTERM, false},
		{"deaf loop", program.CancelSIGTERM, true},
		{"deaf loop", program.CancelSIGINT, false},
		{"keep cancelable loop", program.CancelLine, false},
		{"keep loop", program.CancelLine, true},
	} {
		t.Run(fmt.Sprint(tt.how, tt.cancel), func(t *testing.T) {
			cfg := config(script("weather", 0), tt.how)
			cfg.Cancel, cfg.CancelTimeout = tt.cancel, 5*time.Second
			if tt.late {
				cfg.CancelTimeout = 200 * time.Millisecond
			}
			e, err := program.New(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			r := explore.Exhaust(e.Program, explore.Bounds{Faults: 1, Repeat: 2})
			// Which cancel is too late depends on the time that the program takes.
			late := func(f string) bool {
				return strings.HasPrefix(f, "INV-26 [") && strings.Contains(f, "the run is canceled]")
			}
			if got := failures(r); !r.Complete || tt.late != (len(got) == 1 && late(got[0])) || !tt.late && len(got) > 0 {
				t.Errorf("%s: got %q, want INV-26: %v", r.Summary(), got, tt.late)
			}
			p := e.Program()
			defer p.Close()
			for _, point := range []string{"before the answer 1", "after the answer 1"} {
				o, unused := explore.Replay(p, []explore.Choice{{At: point, Option: "the run is canceled"}})
				if !strings.Contains(o.Text(), "the run is canceled (") || len(unused) > 0 {
					t.Errorf("%s: unused %v:\n%s", point, unused, o.Text())
				}
			}
		})
	}
}

// TestCancelInResponse cancels a run within a response. The answer that the program waits for comes all the same, or does not come.
func TestCancelInResponse(t *testing.T) {
	cfg := config(script("weather", 0), "keep cancelable loop")
	cfg.Cancel, cfg.CancelTimeout = program.CancelLine, 5*time.Second
	_, p := started(t, cfg)
	list := []explore.Choice{{At: "model call 1", Option: wire.TwoParts}, {At: "before the second part of the answer 1", Option: "the run is canceled"}}
	for _, tt := range []struct {
		more []explore.Choice
		want string
	}{
		{nil, "model call 1: comes in two parts\nthe run is canceled (the line cancel)\nthe run fails"},
		{[]explore.Choice{{At: "after the cancel, the answer 1", Option: "comes all the same"}}, "the run is canceled (the line cancel)\nsecond part of model call 1\nthe run "},
	} {
		o, unused := explore.Replay(p, slices.Concat(list, tt.more))
		if text := o.Text(); !strings.Contains(text, tt.want) || len(unused)+len(o.Violations) > 0 {
			t.Errorf("unused %v, violations %v; want a run with %q:\n%s", unused, o.Violations, tt.want, text)
		}
	}
}

// TestAnswerAfterCancel: a program that waits for its answer after a cancel ends only if the answer comes all the same.
func TestAnswerAfterCancel(t *testing.T) {
	cfg := config(script("weather", 0), "keep cancelable patient loop")
	cfg.Cancel, cfg.CancelTimeout = program.CancelLine, time.Second
	_, p := started(t, cfg)
	canceled := []explore.Choice{{At: "before the answer 1", Option: "the run is canceled"}}
	if o, unused := explore.Replay(p, canceled); len(unused) > 0 || len(o.Violations) != 1 || o.Violations[0].Invariant != "INV-26" {
		t.Errorf("unused %v, violations %v, want INV-26", unused, o.Violations)
	}
	all := append(canceled, explore.Choice{At: "after the cancel, the answer 1", Option: "comes all the same"})
	if o, unused := explore.Replay(p, all); len(unused) > 0 || len(o.Violations) > 0 {
		t.Errorf("unused %v, violations %v, want none", unused, o.Violations)
	}
}

// TestCancelThenRequest: a request after the end of a run that was canceled is reported.
func TestCancelThenRequest(t *testing.T) {
	cfg := config(script("weather", 0), "keep cancelable restless loop")
	cfg.Cancel, cfg.CancelTimeout, cfg.Settle = program.CancelLine, 5*time.Second, time.Second
	_, p := started(t, cfg)
	o, _ := explore.Replay(p, []explore.Choice{{At: "before the answer 1", Option: "the run is canceled"}})
	if len(o.Violations) != 1 || o.Violations[0].Invariant != "INV-16" {
		t.Errorf("violations %v, want INV-16:\n%s", o.Violations, o.Text())
	}
}

// TestUnstable: a program that fails in some runs with the same choices is reported with their number.
func TestUnstable(t *testing.T) {
	r := explored(t, config(script("weather", 1), "keep flaky"), explore.Bounds{})
	got := failures(r)
	if got[0] != "INV-01 [] 2/3" || !strings.Contains(r.Failures[0].Error(), "unstable: 2 of 3 runs with these choices showed it") ||
		len(got) < 2 || !strings.Contains(got[1], "the same choices gave two runs") {
		t.Errorf("got %q, want INV-01 in 2 of 3 runs, and that runs differ", got)
	}
}

// TestParallel explores a program whose sub-agents have a conversation each: their responses come in each order.
func TestParallel(t *testing.T) {
	s := script("agent", 1)
	s.Models[0].Responses[0].Calls[0].Arguments, s.Models[0].Responses[0].Calls[1].Arguments = `{"n":"a"}`, `{"n":"b"}`
	s.Models = append(s.Models, fake.ModelScript{Name: "sub", Responses: []fake.Response{{Text: "rain"}}})
	r := explored(t, config(s, "keep sub"), explore.Bounds{})
	if got := failures(r); len(got) > 0 || !r.Complete || r.Orders != 2 {
		t.Errorf("%q: %s; want the 2 orders of the sub-agents", got, r.Summary())
	}
}

// TestFirstRun: a program that is slow in its first run, as when it loads its code, has the same runs as later.
func TestFirstRun(t *testing.T) {
	s := script("agent", 1)
	s.Models[0].Responses[0].Calls[0].Arguments, s.Models[0].Responses[0].Calls[1].Arguments = `{"n":"a"}`, `{"n":"b"}`
	s.Models = append(s.Models, fake.ModelScript{Name: "sub", Responses: []fake.Response{{Calls: []fake.Call{{ID: "s1", Name: "weather", Arguments: "{}"}}}, {Text: "rain"}}})
	cfg := config(s, "keep sub slow")
	r := explored(t, cfg, explore.Bounds{})
	if got := failures(r); len(got) > 0 || !r.Complete || r.Orders != 6 {
		t.Errorf("%q: %s; want the 6 orders of the sub-agents", got, r.Summary())
	}
}

// TestPair: an error that only one order of two responses shows is found, and each run with this order shows it. The
// responses of the other conversations do not come before the program has taken this one.
func TestPair(t *testing.T) {
	s := &fake.Script{Models: []fake.ModelScript{{Name: "main", Responses: []fake.Response{{Text: "yes"}}}}, Input: []llm.Message{llm.User("go")}}
	sets := map[string]bool{}
	for range 3 {
		r := explored(t, config(s, "keep pair faulty"), explore.Bounds{})
		if got := failures(r); !slices.Equal(got, []string{`INV-01 [next answer 2: 1 of "B"] 3/3`}) || r.Orders != 2 {
			t.Errorf("%q: %s", got, r.Summary())
		}
		r = explored(t, config(s, "keep pair"), explore.Bounds{})
		if sets[r.Hash] = true; len(failures(r)) > 0 || r.Orders != 2 {
			t.Errorf("%q: %s", failures(r), r.Summary())
		}
	}
	if len(sets) != 1 {
		t.Errorf("three explorations of one program found the sets %v", sets)
	}
}

// TestStalledPair: a response that stalls ends before the next one comes.
func TestStalledPair(t *testing.T) {
	s := &fake.Script{Models: []fake.ModelScript{{Name: "main", Responses: []fake.Response{{Text: "yes"}}}}, Input: []llm.Message{llm.User("go")}}
	cfg := config(s, "pair hasty")
	cfg.Stall, cfg.Settle = time.Second, 300*time.Millisecond
	_, p := started(t, cfg)
	o, unused := explore.Replay(p, []explore.Choice{{At: `model call 1 of "A"`, Option: "stalls before the first event"}})
	if text := o.Text(); len(unused) > 0 || strings.Contains(text, "\nmodel call 1 of \"B\"") || !strings.Contains(text, "\nthe run fails: exit status 3") {
		t.Errorf("unused %v; want that the program ends before the second response:\n%s", unused, text)
	}
}

// TestLeft: a program that ends without an error and leaves a process that writes to its output violates INV-16.
func TestLeft(t *testing.T) {
	e, p := started(t, config(script("weather", 1), "leaves"))
	o, _ := explore.Replay(p, nil)
	if len(o.Violations) != 1 || o.Violations[0].Invariant != "INV-16" || !strings.HasSuffix(o.Text(), "kept its output open\n") || e.Err() != nil {
		t.Errorf("violations %v and the error %v, want INV-16:\n%s", o.Violations, e.Err(), o.Text())
	}
}

// TestInterrupted: a run that is interrupted violates nothing.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cfg := config(script("weather", 1), "loop")
	env, starts := cfg.Env, 0
	cfg.Env = func(url string) []string {
		if starts++; starts == 2 { // the run has begun
			cancel()
		}
		return env(url)
	}
	e, err := program.New(ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	p := e.Program()
	defer p.Close()
	if o, _ := explore.Replay(p, nil); len(o.Violations) > 0 || e.Err() == nil {
		t.Errorf("violations %v and the error %v, want none, and that it was interrupted", o.Violations, e.Err())
	}
}

// TestStartError returns the error of a program that cannot be started.
func TestStartError(t *testing.T) {
	for _, keep := range []bool{false, true} {
		cfg := config(script("weather", 1), "")
		cfg.Args, cfg.Keep = []string{"/no/such/program"}, keep
		if _, err := program.New(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "the program cannot be started: ") {
			t.Errorf("got %v, want that the program cannot be started", err)
		}
	}
}

func BenchmarkKeep(b *testing.B) {
	s := script("weather", 3)
	for i := range 3 {
		list := s.Models[0].Responses[i].Calls
		for j := range 2 {
			list = append(list, fake.Call{ID: fmt.Sprintf("d%d%d", i, j), Name: "weather", Arguments: "{}"})
		}
		s.Models[0].Responses[i].Calls = list
	}
	b.ReportAllocs()
	r := explored(b, config(s, "keep loop"), explore.Bounds{Faults: 2, Runs: b.N})
	if len(r.Failures)+len(r.Unstable) > 0 || r.Runs != b.N {
		b.Errorf("%q: %s", failures(r), r.Summary())
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "runs/s")
}
