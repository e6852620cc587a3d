package loop_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/trace"
)

type weatherInput struct {
	City string `json:"city"`
}

// weatherTool returns a typed tool.
func weatherTool() loop.Tool {
	t, err := loop.NewTool("weather", "Returns the weather of a city.", func(_ context.Context, in weatherInput) (string, error) {
		return "sunny in " + in.City, nil
	})
	if err != nil {
		panic(err)
	}
	return t
}

// weatherModel returns a scripted model that calls the tool n times, once in each step.
func weatherModel(n int) *fake.Model {
	var responses []fake.Response
	for range n {
		responses = append(responses, fake.Response{
			Calls: []fake.Call{{Name: "weather", Arguments: `{"city":"Oslo"}`}}, Usage: llm.Usage{InputTokens: 40, OutputTokens: 10},
		})
	}
	return fake.NewModel(append(responses, fake.Response{Text: "It is sunny.", Usage: llm.Usage{InputTokens: 60, OutputTokens: 5}})...)
}

// An agent runs the tools that the model calls until the model answers.
func Example() {
	agent, err := loop.New(weatherModel(1), &loop.Config{Tools: []loop.Tool{weatherTool()}})
	if err != nil {
		fmt.Println(err)
		return
	}
	res, err := agent.Run(context.Background(), loop.Prompt("How is the weather in Oslo?"))
	fmt.Println(res.Text, res.StopReason, err)
	fmt.Println(res.Steps[0].Results[0].Text(), res.Usage.Total())
	// Output:
	// It is sunny. end_turn <nil>
	// sunny in Oslo 115
}

// The consumer of the events sees each event as it happens, and the error of the run with
// the last one.
func ExampleRun_Events() {
	agent, err := loop.New(weatherModel(1), &loop.Config{Tools: []loop.Tool{weatherTool()}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for ev, err := range agent.Start(context.Background(), loop.Prompt("How is the weather?")).Events() {
		switch body := ev.Body.(type) {
		case trace.ToolStart:
			fmt.Println("step", ev.Step, body.Name, body.Arguments)
		case trace.ModelDelta:
			fmt.Print(body.Text)
		case trace.RunEnd:
			fmt.Println(" -", body.StopReason, err)
		}
	}
	// Output:
	// {"city":"Oslo"}step 0 weather {"city":"Oslo"}
	// It is sunny. - end_turn <nil>
}

// A run that middleware suspended continues with its pending calls, in this process or in
// another one.
func ExampleResume() {
	approved := false
	approval := loop.Middleware{Name: "approval", New: func(loop.RunInfo) loop.Hooks {
		return loop.Hooks{BeforeTools: func(context.Context, *loop.StepInfo, []loop.PlannedCall) (calls []loop.CallDecision, d loop.Decision, err error) {
			if !approved {
				d.Action = trace.Suspend
			}
			return calls, d, nil
		}}
	}}
	agent, err := loop.New(weatherModel(1), &loop.Config{Tools: []loop.Tool{weatherTool()}, Middleware: []loop.Middleware{approval}})
	if err != nil {
		fmt.Println(err)
		return
	}
	in := loop.Prompt("How is the weather?")
	res, err := agent.Run(context.Background(), in)
	fmt.Println(res.StopReason, len(res.Pending), err)

	approved = true
	in = loop.Continue(in.Messages, res.Messages...)
	in.Resume = &loop.Resume{Of: "r1"}
	res, err = agent.Run(context.Background(), in)
	fmt.Println(res.Text, res.StopReason, err)
	// Output:
	// approval 1 <nil>
	// It is sunny. end_turn <nil>
}

// Middleware returns what it wants to change: here the system prompt of a step and the
// arguments of a call.
func ExampleMiddleware() {
	brief := loop.Middleware{Name: "brief", New: func(loop.RunInfo) loop.Hooks {
		return loop.Hooks{
			BeforeStep: func(_ context.Context, s *loop.StepInfo) (loop.StepChange, error) {
				s.Request.System = llm.SystemText("Be brief.")
				return loop.StepChange{Request: s.Request}, nil
			},
			BeforeTools: func(_ context.Context, _ *loop.StepInfo, calls []loop.PlannedCall) (decisions []loop.CallDecision, d loop.Decision, err error) {
				for _, c := range calls {
					decisions = append(decisions, loop.CallDecision{Index: c.Index, Arguments: `{"city":"Bergen"}`})
				}
				return decisions, d, nil
			},
		}
	}}
	model := weatherModel(1)
	agent, err := loop.New(model, &loop.Config{Tools: []loop.Tool{weatherTool()}, Middleware: []loop.Middleware{brief}})
	if err != nil {
		fmt.Println(err)
		return
	}
	res, err := agent.Run(context.Background(), loop.Prompt("How is the weather?"))
	fmt.Println(model.RecordedRequests()[0].Request.System.Text(), res.Steps[0].Results[0].Text(), err)
	// Output:
	// Be brief. sunny in Bergen <nil>
}

// A run stops when any of its conditions is true after a step that ran tools.
func ExampleStopCondition() {
	agent, err := loop.New(weatherModel(5), &loop.Config{
		Tools:    []loop.Tool{weatherTool()},
		StopWhen: []loop.StopCondition{loop.HasToolCall("answer"), loop.StepCountIs(2)},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	res, err := agent.Run(context.Background(), loop.Prompt("How is the weather?"))
	fmt.Println(res.StopReason, res.Note, len(res.Steps), err)
	// Output:
	// stop_condition condition 1 2 <nil>
}

// A token budget stops a run before the next model call.
func ExampleConfig_budget() {
	agent, err := loop.New(weatherModel(5), &loop.Config{Tools: []loop.Tool{weatherTool()}, TokenBudget: 100})
	if err != nil {
		fmt.Println(err)
		return
	}
	res, err := agent.Run(context.Background(), loop.Prompt("How is the weather?"))
	fmt.Println(res.StopReason, res.Note, res.ModelCalls, err)
	// Output:
	// budget 100 of 100 tokens 2 <nil>
}

// The error of a tool is a result for the model, and the run continues.
func ExampleTool() {
	fails := loop.Tool{Name: "weather", Run: func(context.Context, loop.Call) (loop.Output, error) {
		return loop.Output{}, errors.New("the station is down")
	}}
	agent, err := loop.New(weatherModel(1), &loop.Config{Tools: []loop.Tool{fails}})
	if err != nil {
		fmt.Println(err)
		return
	}
	res, err := agent.Run(context.Background(), loop.Prompt("How is the weather?"))
	result := res.Steps[0].Results[0]
	fmt.Println(result.Text(), result.IsError, res.Text, err)
	// Output:
	// the station is down true It is sunny. <nil>
}
