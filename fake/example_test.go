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
