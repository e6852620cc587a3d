package loop_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/trace"
)

// A model.config event precedes the first request of each purpose and each request that changes
// the configuration, whatever requests of other purposes come between them.
func TestConfigEventsByPurpose(t *testing.T) {
	judge := around("judge", func(ctx context.Context, next loop.ModelFunc, call loop.ModelCall) (*llm.Response, error) {
		sub := call
		sub.Purpose = trace.PurposeGrade
		if _, err := next(ctx, sub); err != nil {
			return nil, err
		}
		return next(ctx, call)
	})
	var mem trace.Memory
	_, err := runChecked(t, "a judge before a forced answer", inTurn(text("j"), calls("a"), text("j"), calls("a#d"), text("j"), text("z")), loop.Config{
		Tools: []loop.Tool{echo("a")}, Middleware: []loop.Middleware{judge}, MaxSteps: 2, OnStepLimit: loop.StepLimitForceFinal, Sink: &mem,
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, ev := range mem.Events() {
		if b, ok := ev.Body.(trace.ModelConfig); ok {
			got = append(got, fmt.Sprintf("%d/%s %d tools", ev.Step, ev.Purpose, len(b.Tools)))
		}
	}
	if diff := cmp.Diff([]string{"0/grade 1 tools", "0/ 1 tools", "2/grade 0 tools", "2/ 0 tools"}, got); diff != "" {
		t.Errorf("setups (-want +got):\n%s", diff)
	}
}
