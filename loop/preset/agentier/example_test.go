package agentier_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/preset/agentier"
)

// A failed model call is retried. All attempts count as one iteration.
func ExampleRetry() {
	clock := fake.NewClock()
	model := fake.NewModel(fake.Response{Attempts: []fake.Response{{Error: &fake.Failure{Status: 503}}, {Text: "Hello."}}})
	agent, err := agentier.New(model, &loop.Config{
		Model: "gpt-4o", Clock: clock, Middleware: []loop.Middleware{agentier.Retry(loop.Retry{Max: 3})},
	})
	if err != nil {
		panic(err)
	}
	res, err := agent.Run(context.Background(), loop.Prompt("Hi."), nil)
	fmt.Println(res.Output, res.Usage.Iterations, len(model.RecordedRequests()), err)
	// Output:
	// Hello. 1 2 <nil>
}

// RunFor decodes the final answer as a Go type.
func ExampleRunFor() {
	type city struct {
		Name string `json:"name"`
	}
	for _, answer := range []string{`{"name":"Rome"}`, "Rome"} {
		agent, err := agentier.New(fake.NewModel(fake.Response{Text: answer}), &loop.Config{Model: "gpt-4o"})
		if err != nil {
			panic(err)
		}
		best, _, err := agentier.RunFor[city](context.Background(), agent, loop.Prompt("Where to go?"), 0, nil)
		if e, ok := errors.AsType[*agentier.Error](err); ok {
			fmt.Println(e.Code)
			continue
		}
		fmt.Println(best.Name, err)
	}
	// Output:
	// Rome <nil>
	// OUTPUT_PARSE_ERROR
}
