package agentloop_test

import (
	"context"
	"fmt"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/loop/preset/agentloop"
)

// An agent keeps its history between runs. A snapshot continues it in another process.
func ExampleRestore() {
	ctx := context.Background()
	agent, err := agentloop.New(ctx, fake.NewModel(fake.Response{Text: "Hello Ada."}), &agentloop.Config{System: "You greet people.", Clock: fake.NewClock()})
	if err != nil {
		panic(err)
	}
	res, err := agent.Complete(ctx, agentloop.Input{Text: "I am Ada."}, nil)
	fmt.Println(res.Text(), res.Reason, err)

	model := fake.NewModel(fake.Response{Text: "Ada."})
	restored, err := agentloop.Restore(ctx, model, agent.Dump(), &agentloop.Config{Clock: fake.NewClock()})
	if err != nil {
		panic(err)
	}
	res, err = restored.Complete(ctx, agentloop.Input{Text: "Who am I?"}, nil)
	fmt.Println(res.Text(), len(model.RecordedRequests()[0].Request.Messages), len(restored.Reports()), err)
	// Output:
	// Hello Ada. done <nil>
	// Ada. 3 2 <nil>
}
