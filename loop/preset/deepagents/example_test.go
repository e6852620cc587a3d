package deepagents_test

import (
	"context"
	"fmt"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/middleware"
	"github.com/looptape/looptape/loop/preset/deepagents"
)

// An agent hands the conversation over to another one. The state has the active agent.
func ExampleGenerate() {
	model := fake.NewModel(
		fake.Response{Calls: []fake.Call{{Name: "transfer_to_billing", Arguments: "{}"}}},
		fake.Response{Text: "You owe nothing."},
	)
	billing := &deepagents.Agent{Name: "billing", Description: "Knows all invoices."}
	front := &deepagents.Agent{Name: "front", Model: model, Handoffs: []*deepagents.Agent{billing}}
	res, err := deepagents.Generate(context.Background(), front, loop.Prompt("What do I owe?"), nil, nil)
	active, _ := middleware.ActiveAgent.Get(res.State)
	fmt.Println(res.Text, len(res.Steps), active, err)
	// Output:
	// You owe nothing. 2 billing <nil>
}
