package fake_test

import (
	"context"
	"fmt"
	"time"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
)

// A model rejects the first attempt and sends its second response in chunks.
func ExampleModel() {
	clock := fake.NewClock()
	model := fake.NewModel(fake.Response{Attempts: []fake.Response{
		{Error: &fake.Failure{Status: 429, RetryAfter: 2 * time.Second}},
		{Text: "It is 22 degrees.", ChunkSize: 6, Delay: time.Second},
	}})
	model.Clock = clock
	start := clock.Now()
	req := &llm.Request{Messages: []llm.Message{llm.User("How warm is it in Paris?")}}
	for range 2 {
		for ev, err := range model.Stream(context.Background(), req) {
			switch ev := ev.(type) {
			case llm.TextDelta:
				fmt.Printf("%v %q\n", clock.Now().Sub(start), ev.Text)
			case llm.Finish:
				fmt.Println(clock.Now().Sub(start), ev.Reason)
			case nil:
				fmt.Println(clock.Now().Sub(start), err)
			}
		}
	}
	// Output:
	// 0s fake: status 429
	// 1s "It is "
	// 1s "22 deg"
	// 1s "rees."
	// 1s stop
}

// Three tools run concurrently in virtual time. Their order is the same in each run.
func ExampleClock() {
	clock := fake.NewClock()
	start := clock.Now()
	for i, delay := range []time.Duration{30, 10, 20} {
		clock.Go(func() {
			if err := clock.Sleep(context.Background(), delay*time.Millisecond); err == nil {
				fmt.Println(clock.Now().Sub(start), "tool", i)
			}
		})
	}
	if err := clock.Drain(); err != nil {
		fmt.Println(err)
	}
	// Output:
	// 10ms tool 1
	// 20ms tool 2
	// 30ms tool 0
}

// A tool fails in its first call and returns a value in its second one. It waits in
// virtual time.
func ExampleTools() {
	clock := fake.NewClock()
	tools := &fake.Tools{Clock: clock, List: []fake.Tool{{
		Name:  "weather",
		Calls: []fake.Behavior{{Error: "busy", Delay: time.Second}, {Returns: []byte(`{"sky":"clear"}`), Delay: time.Minute}},
	}}}
	start := clock.Now()
	for _, id := range []string{"call_1", "call_2"} {
		content, err := tools.Run(context.Background(), id, "weather", `{"city":"Bern"}`)
		fmt.Printf("%v %q %v\n", clock.Now().Sub(start), llm.Message{Parts: content}.Text(), err)
	}
	fmt.Println(tools.Log())
	// Output:
	// 1s "" busy
	// 1m1s "{\"sky\":\"clear\"}" <nil>
	// [x:weather r:weather x:weather r:weather]
}

// A scenario file contains the models, the tools and the input of a run. Errors have the
// position in the file.
func ExampleParseScript() {
	script, err := fake.ParseScript("weather.yaml", []byte(`
version: 2
input: How is the weather in Bern?
models:
  main:
    - calls: [{id: call_1, name: weather, arguments: {city: Bern}}]
    - text: It rains in Bern.
tools:
  weather: {text: rain}
`))
	if err != nil {
		panic(err)
	}
	model := script.NewModel(fake.NewClock())
	resp, err := llm.Collect(model.Stream(context.Background(), &llm.Request{Messages: script.Input}))
	if err != nil {
		panic(err)
	}
	fmt.Println(resp.FinishReason, resp.Calls()[0].Name, resp.Calls()[0].Arguments)
	fmt.Println(model.Unused())
	_, err = fake.ParseScript("broken.yaml", []byte("version: 2\ntols: {}\n"))
	fmt.Println(err)
	// Output:
	// tool_calls weather {"city":"Bern"}
	// [session "main": response 2]
	// broken.yaml:2:1: unknown key in the scenario "tols": did you mean "tools"? want one of version, name, doc, loop, tools, models, gates, system, history, input, cancel, consumer
}

// A model checks that a request continues as expected. It returns an error with the
// differences otherwise.
func ExampleExpect() {
	model := fake.NewModel(fake.Response{
		Expect: &fake.Expect{Messages: 1, Tools: []string{"weather"}, ToolChoice: "required"},
		Text:   "It rains.",
	})
	_, err := llm.Collect(model.Stream(context.Background(), &llm.Request{
		Model: "gpt-5", Messages: []llm.Message{llm.User("How is the weather?")}, Tools: []llm.Tool{{Name: "weather"}},
	}))
	fmt.Println(err)
	// Output:
	// fake: session "gpt-5", response 1, attempt 1: unexpected request (-want +got):
	// - tool choice: required
	// + tool choice: auto
}
