package reactagent_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/sebdah/goldie/v2"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/middleware"
	"github.com/looptape/looptape/loop/preset/reactagent"
	"github.com/looptape/looptape/trace"
)

// RA-05, RA-09, RA-54: the trace shows the complete stack: a plan, a task for a sub-agent
// that reads a file of the agent, and a user who approves all calls except one. The run
// of the sub-agent is below its call.
func TestDeepTrace(t *testing.T) {
	clock := fake.NewClock()
	b := newBench(t,
		calling("write_todos", `{"todos":["write","read"]}`, "write_file", `{"path":"a.md","content":"hello"}`),
		calling("task", `{"description":"what does a.md say?","subagent_type":"reader"}`, "mkdir", `{"path":"x"}`),
		text("it says hello"),
	)
	reader := fake.NewModel(fake.Response{Delay: time.Second, Calls: []fake.Call{{Name: "read_file", Arguments: `{"path":"a.md"}`}}}, text("hello"))
	reader.Clock = clock
	a := b.deep(reactagent.DeepConfig{
		Config:           reactagent.Config{Config: loop.Config{Clock: clock}},
		NoGeneralPurpose: true,
		SubAgents:        []reactagent.SubAgent{{Name: "reader", Description: "reads", Model: reader}},
		Approve: func(_ context.Context, call middleware.ApprovalRequest) (middleware.Approval, error) {
			if call.Call.Name == "mkdir" {
				return middleware.Approval{Decision: middleware.Reject, Reason: "no directories"}, nil
			}
			return middleware.Approval{Decision: middleware.Approve}, nil
		},
	})
	if !a.Run(t.Context(), []llm.Message{llm.User("go")}, "", nil) {
		t.Error("the run failed")
	}
	var lines []string
	for line := range strings.Lines(trace.FormatText(trace.Canonical(b.all))) {
		if !strings.HasPrefix(line, "model.config") { // other tests cover the tools
			lines = append(lines, line)
		}
	}
	goldie.New(t, goldie.WithDiffEngine(goldie.ColoredDiff)).Assert(t, "deep", []byte(strings.Join(lines, "")))
}
