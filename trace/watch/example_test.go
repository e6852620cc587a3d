package watch_test

import (
	"fmt"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/openai/chat"
	"github.com/looptape/looptape/trace/watch"
)

// The client does not send the call of the response back.
func ExampleMonitor() {
	var m watch.Monitor
	first := &llm.Request{Messages: []llm.Message{llm.User("How is it in Bern?")}}
	c, found, _ := m.AddRequest(&watch.Request{Protocol: chat.Protocol{}, Number: 1, Session: "main", Request: first})
	fmt.Println(len(found))
	m.AddResponse(c, llm.Assistant(llm.ToolCall{ID: "c1", Name: "weather", Arguments: "{}"}))

	second := &llm.Request{Messages: append(first.Messages, llm.User("Well?"))}
	_, found, _ = m.AddRequest(&watch.Request{Protocol: chat.Protocol{}, Number: 2, Session: "main", Request: second})
	for _, v := range found {
		fmt.Println(v)
	}
	// Output:
	// 0
	// INV-05: run request 2 event 1: the response is missing, which has the call "c1"
}
