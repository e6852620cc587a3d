package trace_test

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
)

// sample returns a realistic run with the given number of steps, with two calls in each.
func sample(steps int) []trace.Event {
	var evs []trace.Event
	step, attempt := trace.NoStep, 0
	add := func(b trace.Body) {
		evs = append(evs, trace.Event{Seq: len(evs), Run: "r1", Step: step, Attempt: attempt, Body: b})
	}
	add(trace.RunStart{Clock: trace.ClockVirtual, Options: trace.Options{{Name: "preset", Value: "deuz"}, {Name: "max_steps", Value: "50"}}, Tools: []trace.ToolInfo{{Name: "get_order"}, {Name: "ask", Client: true}}})
	news := []llm.Message{llm.User("Please tell me where my order #W12345 is, and change its address to 12 Long Street, Springfield.")}
	kept := 0
	for i := range steps {
		step, attempt = i, 0
		add(trace.StepStart{})
		attempt = 1
		if i == 0 {
			add(trace.ModelConfig{Model: "m-large", System: llm.SystemText(strings.Repeat("You help customers of a shop. ", 20)), Tools: []llm.Tool{{Name: "get_order", Description: "looks an order up", Parameters: json.RawMessage(`{"type":"object","properties":{"id":{"type":"string"}},"required":["id"]}`)}}})
		}
		add(trace.ModelRequest{PrefixMessages: kept, NewMessages: news})
		kept += len(news)
		a, b := fmt.Sprintf("call_%04da", i), fmt.Sprintf("call_%04db", i)
		args := `{"order_id":"#W12345","reason":"a question of the customer"}`
		turn := llm.Assistant(llm.Text{Text: "Let me look that up for you."}, llm.ToolCall{ID: a, Name: "get_order", Arguments: args}, llm.ToolCall{ID: b, Name: "get_order", Arguments: args})
		add(trace.ModelResponse{Message: turn, FinishReason: llm.FinishToolCalls, Usage: llm.Usage{InputTokens: 1200, OutputTokens: 80, CacheReadInputTokens: 1000}})
		attempt = 0
		add(trace.Decision{Action: trace.Continue, Reason: trace.ReasonToolCalls, ToolCalls: 2})
		out := llm.Text{Text: `{"status":"pending","items":[` + strings.Repeat(`{"sku":"1008292230","name":"Desk Lamp","price":"153.23"},`, 8) + `{}]}`}
		ra := llm.ToolResult{ID: a, Name: "get_order", Content: []llm.Part{out}}
		rb := llm.ToolResult{ID: b, Name: "get_order", Content: []llm.Part{out}}
		add(trace.ToolStart{ToolCallID: a, Name: "get_order", Arguments: args})
		add(trace.ToolStart{ToolCallID: b, Name: "get_order", Arguments: args})
		add(trace.ToolEnd{ToolCallID: a, Outcome: trace.OutcomeOK, Result: ra})
		add(trace.ToolEnd{ToolCallID: b, Outcome: trace.OutcomeOK, Result: rb})
		add(trace.StepEnd{})
		news = []llm.Message{turn, llm.ToolResults(ra, rb)}
	}
	step = trace.NoStep
	add(trace.RunEnd{StopReason: trace.ReasonMaxSteps, FinishReason: llm.FinishToolCalls, Steps: steps, ModelCalls: steps, Usage: llm.Usage{InputTokens: int64(1200 * steps), OutputTokens: int64(80 * steps)}, AppendedMessages: news})
	return evs
}
