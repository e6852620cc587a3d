package rerun_test

import (
	"context"
	"fmt"
	"log"

	"github.com/looptape/looptape/evals/rerun"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/trace/importer"
)

// A changed tool runs with the recorded calls. The rerun compares its results with the recording.
func ExampleTools() {
	run := importer.Run{Name: "order", Messages: []llm.Message{
		llm.User("Where is order 7?"),
		llm.Assistant(llm.ToolCall{ID: "c1", Name: "find", Arguments: `{"id":7}`}),
		{Role: llm.RoleTool, Parts: []llm.Part{llm.ToolResult{ID: "c1", Content: []llm.Part{llm.Text{Text: `{"state":"sent"}`}}}}},
		llm.Assistant(llm.Text{Text: "It was sent."}),
	}}
	find := loop.Tool{Name: "find", Run: func(context.Context, loop.Call) (loop.Output, error) {
		return loop.TextOutput(`{"state":"lost"}`), nil
	}}
	out, err := rerun.Tools(context.Background(), &run, nil, find)
	if err != nil {
		log.Fatal(err)
	}
	for _, c := range out.Calls {
		fmt.Println(c.Tool, c.Arguments, c.Status, c.Describe())
	}
	// Output: find {"id":7} differs [/state: was "sent", is "lost"]
}
