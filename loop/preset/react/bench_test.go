package react_test

import (
	"context"
	"fmt"
	"iter"
	"testing"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/middleware"
	"github.com/looptape/looptape/loop/preset/react"
)

// rounds is a model that makes n calls, one a turn, and then answers.
func rounds(n int) llm.Model {
	var turns [][]llm.Event
	usage := llm.Usage{Input: 100, Output: 20}
	for i := range n {
		turns = append(turns, []llm.Event{llm.PartDone{Part: llm.ToolCall{ID: fmt.Sprint("c", i), Name: "a", Args: fmt.Sprintf(`{"n":%d}`, i)}}, usage, llm.Finish{Reason: llm.FinishToolCalls}})
	}
	turns = append(turns, []llm.Event{llm.TextDelta{Text: "done"}, usage, llm.Finish{Reason: llm.FinishStop}})
	return llm.ModelFunc(func(_ context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
		return func(yield func(llm.Event, error) bool) {
			for _, ev := range turns[(len(req.Messages)-1)/2] {
				if !yield(ev, nil) {
					return
				}
			}
		}
	})
}

// BenchmarkStep measures what a step costs: in the loop as it is, unheard and with its
// events told, with the options of the preset, and, with its events, with the whole stack
// of a deep agent.
func BenchmarkStep(b *testing.B) {
	const n = 50
	cfg := loop.Config{Tools: []loop.Tool{tool("a")}, MaxSteps: n + 1}
	plain, err := loop.New(rounds(n), &cfg)
	if err != nil {
		b.Fatal(err)
	}
	filled := react.Fill(cfg)
	preset, err := loop.New(rounds(n), &filled)
	if err != nil {
		b.Fatal(err)
	}
	deep, err := react.NewDeep(rounds(n), &react.DeepConfig{
		Config: react.Config{Config: cfg}, AskUser: answer, Approve: yes, Summary: middleware.SummaryConfig{Window: 1 << 20},
		SubAgents: []react.SubAgent{{Name: "sub"}},
	})
	if err != nil {
		b.Fatal(err)
	}
	input := []llm.Message{llm.User("go")}
	run := func(a *loop.Agent) func() bool {
		return func() bool {
			res, err := a.Run(context.Background(), loop.Input{Messages: input})
			return err == nil && res.ToolRounds == n
		}
	}
	for name, do := range map[string]func() bool{
		"plain": run(plain), "preset": run(preset),
		"told": func() bool {
			n := 0
			for range react.Parts(plain.Start(context.Background(), loop.Input{Messages: input}).Events()) {
				n++
			}
			return n > 0
		},
		"deep": func() bool { return deep.Run(context.Background(), input, "", nil) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for range b.N {
				if !do() {
					b.Fatal("the run failed")
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/step")
		})
	}
}
