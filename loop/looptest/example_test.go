package looptest_test

import (
	"context"
	"testing"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop/looptest"
)

// oneAnswer is a very small loop: it asks once and runs no tools.
func oneAnswer(ctx context.Context, in *looptest.Input) (*looptest.Result, error) {
	turn, err := llm.Collect(in.Model.Stream(ctx, &llm.Request{Messages: in.Messages, ResponseMode: in.ResponseMode}))
	if err != nil {
		return nil, err
	}
	return &looptest.Result{Messages: []llm.Message{turn.Message()}, Usage: &turn.Usage}, nil
}

// A test of a loop is an adapter and one line.
func ExampleCheck() {
	_ = func(t *testing.T) { // TestLoop in a file of tests
		looptest.Check(t, looptest.LoopFunc(oneAnswer))
	}
}
