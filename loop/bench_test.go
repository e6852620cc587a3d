package loop_test

import (
	"context"
	"fmt"
	"io"
	"iter"
	"testing"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/trace"
)

// scripted returns prepared responses.
type scripted struct {
	responses [][]llm.Event
	next      int
}

func (m *scripted) Stream(context.Context, *llm.Request) iter.Seq2[llm.Event, error] {
	events := m.responses[m.next]
	m.next++
	return func(yield func(llm.Event, error) bool) {
		for _, ev := range events {
			if !yield(ev, nil) {
				return
			}
		}
	}
}

// script returns n steps with k calls each, then a final text. If it is split, the arguments of each
// call arrive in three deltas.
func script(n, k int, pieces bool) *scripted {
	usage := llm.Usage{InputTokens: 100, OutputTokens: 20}
	m := &scripted{}
	for i := range n {
		var events []llm.Event
		for j := range k {
			id, args := fmt.Sprintf("call_%d_%d", i, j), fmt.Sprintf(`{"city":"Oslo","day":%d}`, i*k+j)
			if !pieces {
				events = append(events, llm.PartDone{Part: llm.ToolCall{ID: id, Name: "weather", Arguments: args}})
				continue
			}
			events = append(events, llm.ToolCallStart{Index: j + 1, ID: id, Name: "weather"},
				llm.ToolCallDelta{Index: j + 1, Arguments: args[:5]}, llm.ToolCallDelta{Index: j + 1, Arguments: args[5:9]},
				llm.ToolCallDelta{Index: j + 1, Arguments: args[9:]}, llm.ToolCallEnd{Index: j + 1})
		}
		m.responses = append(m.responses, append(events, usage, llm.Finish{Reason: llm.FinishToolCalls}))
	}
	m.responses = append(m.responses, []llm.Event{llm.TextDelta{Text: "done"}, usage, llm.Finish{Reason: llm.FinishStop}})
	return m
}

// BenchmarkStep measures a step. The folder bench compares other loops.
func BenchmarkStep(b *testing.B) {
	raw := loop.Tool{Name: "weather", Run: func(context.Context, loop.Call) (loop.Output, error) {
		return loop.TextOutput("Sunny, 21 degrees."), nil
	}}
	type args struct {
		City string `json:"city"`
		Day  int    `json:"day"`
	}
	typed, err := loop.NewTool("weather", "", func(context.Context, args) (string, error) { return "Sunny, 21 degrees.", nil })
	if err != nil {
		b.Fatal(err)
	}
	sinks := map[string]func() trace.Sink{
		"none":   func() trace.Sink { return nil },
		"memory": func() trace.Sink { return &trace.Memory{} },
		"writer": func() trace.Sink { return trace.NewWriter(io.Discard, trace.Header{}) },
	}
	for _, tools := range []loop.Tool{raw, typed} {
		kind := "raw"
		if tools.Parameters != nil {
			kind = "typed"
		}
		for _, sink := range []string{"none", "memory", "writer"} {
			for _, pieces := range []bool{false, true} {
				for _, n := range []int{10, 100, 1000} {
					for _, k := range []int{1, 8} {
						b.Run(fmt.Sprintf("tools=%s/sink=%s/pieces=%v/N=%d/K=%d", kind, sink, pieces, n, k), func(b *testing.B) {
							measureStep(b, script(n, k, pieces), tools, sinks[sink], n)
						})
					}
				}
			}
		}
	}
}

func measureStep(b *testing.B, model *scripted, tool loop.Tool, sink func() trace.Sink, n int) {
	agent, err := loop.New(model, &loop.Config{Tools: []loop.Tool{tool}, MaxSteps: n + 1})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		model.next = 0
		in := loop.Prompt("Find out.")
		in.Sink = sink()
		res, err := agent.Run(b.Context(), in)
		if err != nil || res.Text != "done" || res.ToolSteps != n {
			b.Fatalf("the run returned %q after %d steps, %v; want done after %d", res.Text, res.ToolSteps, err, n)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/step")
}
