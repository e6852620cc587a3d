package storetest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/middleware"
	"github.com/looptape/looptape/loop/preset"
	"github.com/looptape/looptape/loop/store"
	"github.com/looptape/looptape/trace"
)

// responses are those of the model in the cases with runs: two lookups, and a transfer, which needs an
// approval.
func responses() []fake.Response {
	return []fake.Response{
		{Text: "First the account.", Calls: []fake.Call{{ID: "c1", Name: "lookup", Arguments: `{"name":"Ann"}`}}, Usage: llm.Usage{InputTokens: 10, OutputTokens: 5}},
		{Calls: []fake.Call{{ID: "c2", Name: "lookup", Arguments: `{"name":"Bob"}`}, {ID: "c3", Name: "transfer", Arguments: `{"amount":70}`}}, Usage: llm.Usage{InputTokens: 20, OutputTokens: 6}},
		{Text: "Done.", Usage: llm.Usage{InputTokens: 30, OutputTokens: 7}},
	}
}

// eachCall is the kind of agent that decides about one call after another. The other kinds are the names of the
// presets, and "" for an agent without one.
const eachCall = "each call"

// agentRun is a run of an agent of these cases.
type agentRun struct {
	kind     string
	input    loop.Input
	approve  middleware.ApprovalDecision
	store    *middleware.ApprovalStore
	sink     trace.Sink
	log      func(llm.Message) error // nil logs nothing
	transfer func()                  // called by the tool transfer; may be nil
}

func (r *agentRun) run(ctx context.Context) (*loop.Result, error) {
	tool := func(name string, started func()) loop.Tool {
		return loop.Tool{Name: name, Run: func(_ context.Context, c loop.Call) (loop.Output, error) {
			if started != nil {
				started()
			}
			return loop.TextOutput(name + " " + c.Arguments), nil
		}}
	}
	policy := func(_ context.Context, req middleware.PermissionRequest) (middleware.Permission, error) {
		return middleware.Permission{Allow: true, Ask: req.Tool == "transfer"}, nil
	}
	approve := func(context.Context, middleware.ApprovalRequest) (middleware.Approval, error) {
		return middleware.Approval{Decision: r.approve}, nil
	}
	known := 0 // responses in the input
	for _, m := range r.input.Messages {
		if m.Role == llm.RoleAssistant {
			known++
		}
	}
	list := []loop.Middleware{middleware.Permissions(policy, &middleware.Approvals{Approve: approve, Store: r.store})}
	if r.log != nil {
		list = append(list, middleware.LogMessagesFrom(len(r.input.Messages), r.log))
	}
	cfg := loop.Config{
		System: "You transfer money.", Tools: []loop.Tool{tool("lookup", nil), tool("transfer", r.transfer)}, Middleware: list, Sink: r.sink,
	}
	switch r.kind {
	case "":
	case eachCall:
		cfg.Concurrency, cfg.BeforeToolsEachCall = 1, true
	default:
		cfg.Concurrency, cfg.MaxSteps = 1, 5 // the order of the results is that of the calls, and deuz has one step by default
		var err error
		if cfg, err = preset.Apply(r.kind, cfg); err != nil {
			return nil, err
		}
	}
	a, err := loop.New(fake.NewModel(responses()[known:]...), &cfg)
	if err != nil {
		return nil, err
	}
	return a.Run(ctx, r.input)
}

// prompt is the input of the runs.
func prompt() loop.Input {
	in := loop.Prompt("Send Ann 70 euros.")
	in.ID = "payment"
	return in
}

// uninterrupted returns the canonical trace of a run whose call is approved immediately.
func (w *world) uninterrupted(kind string) []trace.Event {
	w.Helper()
	var events trace.Memory
	r := agentRun{kind: kind, input: prompt(), approve: middleware.Approve, sink: &events}
	if res, err := r.run(w.Context()); err != nil || res.Text != "Done." {
		w.Fatalf("the uninterrupted run of the agent %q: %+v, %v", kind, res, err)
	}
	return trace.Canonical(events.Events())
}

// runState is the stored state of a suspended run.
type runState struct {
	Run      string
	Messages []llm.Message
	Pending  []middleware.ApprovalRequest
}

func stateDocument(s store.Store, kind string) *store.Document[runState] {
	return &store.Document[runState]{Store: s, Key: "payment/" + kind, Format: "storetest-run", FormatVersion: 1}
}

// suspendRun runs until the approval and stores the state.
func suspendRun(ctx context.Context, s store.Store, kind string, sink trace.Sink) error {
	r := agentRun{kind: kind, input: prompt(), approve: middleware.Suspend, store: new(middleware.ApprovalStore), sink: sink}
	res, err := r.run(ctx)
	if err != nil {
		return err
	}
	return stateDocument(s, kind).Save(ctx, runState{r.input.ID, slices.Concat(r.input.Messages, res.Messages), r.store.Unresolved()})
}

// resumeRun loads the state and continues the run with an approval. It stores the new state.
func resumeRun(ctx context.Context, s store.Store, kind string, sink trace.Sink) error {
	d := stateDocument(s, kind)
	state, found, err := d.Load(ctx)
	if err != nil || !found {
		return errors.Join(err, fmt.Errorf("the stored run: found %t", found))
	}
	r := agentRun{kind: kind, input: loop.Input{ID: state.Run + "-resumed", Messages: state.Messages, Resume: &loop.Resume{Of: state.Run}}, store: new(middleware.ApprovalStore), sink: sink}
	r.store.Restore(state.Pending)
	for _, p := range state.Pending {
		r.store.Resolve(p.Call.ID, middleware.Approval{Decision: middleware.Approve})
	}
	res, err := r.run(ctx)
	if err != nil {
		return err
	}
	return d.Save(ctx, runState{Run: r.input.ID, Messages: slices.Concat(r.input.Messages, res.Messages)})
}

// suspended suspends a run in one process and resumes it in another, if the store can be opened twice, for each
// kind of agent. The traces are those of one process, and, joined, that of a run that was never suspended.
func suspended(w *world) {
	s := w.open()
	for _, kind := range append(preset.Names(), "", eachCall) {
		var memory store.Memory
		var first, second trace.Memory
		if err := errors.Join(suspendRun(w.Context(), &memory, kind, &first), resumeRun(w.Context(), &memory, kind, &second)); err != nil {
			w.Fatalf("the agent %q in one process: %v", kind, err)
		}
		var begin, end []trace.Event
		if w.suite.InMemory {
			var first, second trace.Memory
			if err := errors.Join(suspendRun(w.Context(), s, kind, &first), resumeRun(w.Context(), s, kind, &second)); err != nil {
				w.Fatalf("the agent %q: %v", kind, err)
			}
			begin, end = first.Events(), second.Events()
		} else {
			w.run("suspend", kind, w.traceFile("first"))
			w.run("resume", kind, w.traceFile("second"))
			begin, end = w.readTrace("first"), w.readTrace("second")
		}
		w.compare(fmt.Sprintf("the agent %q: the traces of two processes, compared with those of one", kind),
			trace.Canonical(slices.Concat(first.Events(), second.Events())), trace.Canonical(slices.Concat(begin, end)))
		w.compare(fmt.Sprintf("the agent %q: the joined trace of a suspended run", kind), w.uninterrupted(kind), w.join(begin, end))

		var got, want runState
		got, _, err := stateDocument(s, kind).Load(w.Context())
		if err == nil {
			want, _, err = stateDocument(&memory, kind).Load(w.Context())
		}
		if err != nil {
			w.Fatalf("the final state: %v", err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			w.Errorf("the final state of the agent %q (-in memory +stored):\n%s", kind, diff)
		}
	}
}

// logName is the message log of the run that is killed.
const logName = "payment-log"

// blockedRun runs with a message log until the tool transfer, which blocks.
func blockedRun(ctx context.Context, s store.Store, sink trace.Sink) error {
	log := &middleware.StoreLog{Store: s, Name: logName}
	in := prompt()
	for _, m := range in.Messages {
		if err := log.Log(m); err != nil {
			return err
		}
	}
	var err error
	r := agentRun{input: in, approve: middleware.Approve, sink: sink, log: log.Log, transfer: func() {
		_, err = fmt.Fprintln(os.Stdout, "blocked", log.Err())
		<-ctx.Done()
	}}
	_, runErr := r.run(ctx)
	return errors.Join(err, runErr)
}

// continueRun continues the run with the messages of its log.
func continueRun(ctx context.Context, s store.Store, sink trace.Sink) error {
	log := &middleware.StoreLog{Store: s, Name: logName}
	messages, err := log.Load(ctx)
	if err != nil {
		return err
	}
	r := agentRun{input: loop.Input{ID: "continued", Messages: messages}, approve: middleware.Approve, sink: sink, log: log.Log}
	if _, err := r.run(ctx); err != nil {
		return err
	}
	return log.Err()
}

// killedRun kills a run in its second step and continues it in another process from the message log,
// which has the first step. The joined traces are that of a run that was not killed.
func killedRun(w *world) {
	cmd := w.process("block", w.traceFile("first"))
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		w.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || line != "blocked <nil>\n" {
		w.Errorf("the process that is killed reports %q, %v", line, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		w.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	w.run("continue", w.traceFile("second"))
	first, second := w.readTrace("first"), w.readTrace("second")
	want := w.uninterrupted("")
	w.compare("the joined trace of a killed run", want, w.join(first, second))
	messages, err := (&middleware.StoreLog{Store: w.open(), Name: logName}).Load(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	if diff := cmp.Diff(conversation(want), messages); diff != "" {
		w.Errorf("the message log (-uninterrupted +stored):\n%s", diff)
	}
}

// conversation returns the messages of a run.
func conversation(events []trace.Event) (all []llm.Message) {
	for _, ev := range events {
		switch b := ev.Body.(type) {
		case trace.ModelRequest:
			all = append(all[:b.PrefixMessages:b.PrefixMessages], b.NewMessages...)
		case trace.RunEnd:
			all = append(all, b.AppendedMessages...)
		default:
		}
	}
	return all
}

// join returns the trace of the run of two processes.
func (w *world) join(first, second []trace.Event) []trace.Event {
	w.Helper()
	joined, err := trace.Join(first, second)
	if err != nil {
		w.Fatal(err)
	}
	return joined
}

// compare compares two traces byte for byte, and reports the difference of their text forms.
func (w *world) compare(what string, want, got []trace.Event) {
	w.Helper()
	if !bytes.Equal(appendTrace(want), appendTrace(got)) {
		w.Errorf("%s (-want +got):\n%s", what, cmp.Diff(trace.FormatText(want), trace.FormatText(got)))
	}
}

// appendTrace returns the lines of a trace file.
func appendTrace(events []trace.Event) (lines []byte) {
	for i := range events {
		lines = append(events[i].AppendJSON(lines), '\n')
	}
	return lines
}

func (w *world) traceFile(name string) string { return filepath.Join(w.dir, name+".jsonl") }

// readTrace returns the events of a process.
func (w *world) readTrace(name string) (events []trace.Event) {
	w.Helper()
	f, err := os.Open(w.traceFile(name))
	if err != nil {
		w.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // it was only read
	r, err := trace.NewReader(f)
	if err != nil {
		w.Fatalf("%s: %v", f.Name(), err)
	}
	for ev, err := range r.Events() {
		if err != nil {
			w.Fatalf("%s: %v", f.Name(), err)
		}
		events = append(events, ev)
	}
	return events
}

// fileSink writes each event of a process immediately.
type fileSink struct{ *trace.Writer }

// Write implements [trace.Sink].
func (s fileSink) Write(ev trace.Event) error {
	return errors.Join(s.Writer.Write(ev), s.Flush())
}
