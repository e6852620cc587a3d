package reactagent_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop/preset/reactagent"
)

// A thread continues in the next run with the same name.
func ExampleMemory() {
	model := fake.NewModel(fake.Response{Text: "Hello Ada."}, fake.Response{Text: "Ada."})
	agent, err := reactagent.New(model, &reactagent.Config{Memory: &reactagent.Memory{}})
	if err != nil {
		panic(err)
	}
	for _, text := range []string{"I am Ada.", "Who am I?"} {
		agent.Run(context.Background(), []llm.Message{llm.User(text)}, "greetings", func(e reactagent.Event) {
			fmt.Printf("%s %q\n", e.Type, e.Text)
		})
	}
	// Output:
	// token "Hello Ada."
	// modelCompleted ""
	// completed ""
	// token "Ada."
	// modelCompleted ""
	// completed ""
}

// A deep agent has a fixed list of middleware.
func ExampleNewDeep() {
	agent, err := reactagent.NewDeep(fake.NewModel(), nil)
	if err != nil {
		panic(err)
	}
	fmt.Println(strings.Join(agent.Stack(), " "))
	// Output:
	// todos files subagents summarize
}
