package agentloop_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop/middleware"
	"github.com/looptape/looptape/loop/preset/agentloop"
	"github.com/looptape/looptape/loop/store"
	"github.com/looptape/looptape/trace"
)

// storeEnv names the folder of the store of the other process of TestSnapshotInAnotherProcess.
const storeEnv = "LOOPTAPE_TEST_SNAPSHOTS"

// AL-61, AL-67: a process is killed while a call waits for a decision. Another process restores the
// agent from the store and continues. Its trace is that of an agent that was restored in the
// process that stored it. Another agent with the same id cannot replace the snapshot.
func TestSnapshotInAnotherProcess(t *testing.T) {
	document := func(s store.Store) *store.Document[agentloop.Snapshot] {
		return &store.Document[agentloop.Snapshot]{Store: s, Key: "agent-loop:agentloop", Format: "snapshot", FormatVersion: 1}
	}
	saving := func(d *store.Document[agentloop.Snapshot], approve func(context.Context, middleware.ApprovalRequest) (middleware.Approval, error)) agentloop.Config {
		cfg := asking(new([]byte), approve)
		cfg.Checkpoint = func(ctx context.Context, key string, s agentloop.Snapshot) error {
			if key != d.Key {
				return errors.New("the key is " + key)
			}
			return d.Save(ctx, s)
		}
		return cfg
	}
	begin := func(s store.Store, approve func(context.Context, middleware.ApprovalRequest) (middleware.Approval, error)) *agentloop.Response {
		return newWorld(t, calls("", "a", "slow")).agent(saving(document(s), approve)).run("go")
	}
	if dir := os.Getenv(storeEnv); dir != "" {
		begin(&store.Disk{Dir: dir}, func(ctx context.Context, r middleware.ApprovalRequest) (middleware.Approval, error) {
			_, _ = fmt.Fprintln(os.Stdout, "waits for", r.Call.ID) // the test waits for it
			<-ctx.Done()                                           // until the process is killed
			return middleware.Approval{}, ctx.Err()
		})
		return
	}
	disk := &store.Disk{Dir: t.TempDir()}
	other := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestSnapshotInAnotherProcess$")
	other.Env = append(os.Environ(), storeEnv+"="+disk.Dir)
	out, err := other.StdoutPipe()
	if err == nil {
		err = other.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil { // both requests are stored before it
		t.Fatalf("the other process ended before a call waits: %q, %v", line, err)
	}
	if err := other.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = other.Wait() // it was killed

	resume := func(s store.Store) []trace.Event {
		t.Helper()
		d := document(s)
		snapshot, found, err := d.Load(t.Context())
		if err != nil || !found {
			t.Fatalf("the snapshot: found %t, %v", found, err)
		}
		w := newWorld(t, says("went on"))
		cfg := saving(d, nil)
		w.ids = "restored"
		w.dress(&cfg)
		if w.Loop, err = agentloop.Restore(t.Context(), w.model, snapshot, &cfg); err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{"a", "slow"} {
			if err := w.ResumeWithApproval(t.Context(), id, middleware.Approval{Decision: middleware.Approve}); err != nil {
				t.Fatal(err)
			}
		}
		if res := w.run("and then"); res.Text() != "went on" || res.Reason != agentloop.Done {
			t.Errorf("the continued run: %q %q, %v", res.Reason, res.Text(), res.Err)
		}
		if results := w.History().Messages()[2].Parts; results[0].(llm.ToolResult).Text() != "A" || results[1].(llm.ToolResult).Text() != "S" {
			t.Errorf("the results of the pending calls: %+v", results)
		}
		return trace.Canonical(w.trace)
	}
	memory := new(store.Memory)
	begin(memory, suspend)
	want, got := resume(memory), resume(disk)
	if diff := gocmp.Diff(trace.FormatText(want), trace.FormatText(got)); diff != "" {
		t.Errorf("the canonical trace of the continued run (-same process +other process):\n%s", diff)
	}

	if res := begin(disk, suspend); !errors.Is(res.Err, store.ErrConflict) {
		t.Errorf("a new agent with the same id: %q, %v, want ErrConflict", res.Reason, res.Err)
	}
}
