package deuz_test

import (
	"context"
	"fmt"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop/preset/deuz"
)

// A stream yields the parts of all model calls, and has the usage of the run.
func ExampleStream() {
	stream := deuz.StreamChat(context.Background(), deuz.Options{
		Model:    fake.NewModel(fake.Response{Text: "Hello.", Usage: llm.Usage{InputTokens: 7, OutputTokens: 2}}),
		Messages: []llm.Message{llm.User("Hi.")},
	})
	for part := range stream.Full() {
		fmt.Printf("%s %q\n", part.Type, part.Text)
	}
	usage, err := stream.Usage()
	fmt.Println(usage.Total(), err)
	// Output:
	// step-start ""
	// text-delta "Hello."
	// step-finish ""
	// finish ""
	// 9 <nil>
}
