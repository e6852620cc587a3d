package trace_test

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
)

// sample is a run of so many steps with two calls each, much like a real one.
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
			add(trace.ModelSetup{Model: "m-large", System: strings.Repeat("You help customers of a shop. ", 20), Tools: []llm.Tool{{Name: "get_order", Description: "looks an order up", Parameters: json.RawMessage(`{"type":"object","properties":{"id":{"type":"string"}},"required":["id"]}`)}}})
		}
		add(trace.ModelRequest{Kept: kept, New: news})
		kept += len(news)
		a, b := fmt.Sprintf("call_%04da", i), fmt.Sprintf("call_%04db", i)
		args := `{"order_id":"#W12345","reason":"a question of the customer"}`
		turn := llm.Assistant(llm.Text{Text: "Let me look that up for you."}, llm.ToolCall{ID: a, Name: "get_order", Args: args}, llm.ToolCall{ID: b, Name: "get_order", Args: args})
		add(trace.ModelTurn{Message: turn, Finish: llm.FinishToolCalls, Usage: llm.Usage{Input: 1200, Output: 80, Cached: 1000}})
		attempt = 0
		add(trace.Decision{Action: trace.GoOn, Cause: trace.CauseCalls, Calls: 2})
		out := llm.Text{Text: `{"status":"pending","items":[` + strings.Repeat(`{"sku":"1008292230","name":"Desk Lamp","price":"153.23"},`, 8) + `{}]}`}
		ra := llm.ToolResult{ID: a, Name: "get_order", Content: []llm.Part{out}}
		rb := llm.ToolResult{ID: b, Name: "get_order", Content: []llm.Part{out}}
		add(trace.ToolStart{Call: a, Name: "get_order", Args: args})
		add(trace.ToolStart{Call: b, Name: "get_order", Args: args})
		add(trace.ToolEnd{Call: a, Outcome: trace.OutcomeOK, Result: ra})
		add(trace.ToolEnd{Call: b, Outcome: trace.OutcomeOK, Result: rb})
		add(trace.StepEnd{})
		news = []llm.Message{turn, llm.ToolResults(ra, rb)}
	}
	step = trace.NoStep
	add(trace.RunEnd{Stop: trace.CauseCap, Finish: llm.FinishToolCalls, Steps: steps, Calls: steps, Usage: llm.Usage{Input: int64(1200 * steps), Output: int64(80 * steps)}, Appended: news})
	return evs
}
