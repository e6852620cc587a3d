package reactagent_test

import (
	"context"
	"fmt"
	"iter"
	"testing"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/middleware"
	"github.com/looptape/looptape/loop/preset/reactagent"
)

// rounds returns a model that makes n calls, one per response, and then sends text.
func rounds(n int) llm.Model {
	var turns [][]llm.Event
	usage := llm.Usage{InputTokens: 100, OutputTokens: 20}
	for i := range n {
		turns = append(turns, []llm.Event{llm.PartDone{Part: llm.ToolCall{ID: fmt.Sprint("c", i), Name: "a", Arguments: fmt.Sprintf(`{"n":%d}`, i)}}, usage, llm.Finish{Reason: llm.FinishToolCalls}})
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

// BenchmarkStep measures the cost of a step with the default loop, with the options of
// the preset and with the stack of a deep agent. It measures each without events and with
// the preset's events.
func BenchmarkStep(b *testing.B) {
	const n = 50
	cfg := loop.Config{Tools: []loop.Tool{tool("a")}, MaxSteps: n + 1}
	plain, err := loop.New(rounds(n), &cfg)
	if err != nil {
		b.Fatal(err)
	}
	filled := reactagent.Fill(cfg)
	preset, err := loop.New(rounds(n), &filled)
	if err != nil {
		b.Fatal(err)
	}
	deep, err := reactagent.NewDeep(rounds(n), &reactagent.DeepConfig{
		Config: reactagent.Config{Config: cfg}, AskUser: answer, Approve: yes, Summary: middleware.Summarizer{Window: 1 << 20},
		SubAgents: []reactagent.SubAgent{{Name: "sub"}},
	})
	if err != nil {
		b.Fatal(err)
	}
	input := []llm.Message{llm.User("go")}
	run := func(a *loop.Agent) func(func(reactagent.Event)) bool {
		return func(hear func(reactagent.Event)) bool {
			if hear == nil {
				res, err := a.Run(b.Context(), loop.Input{Messages: input})
				return err == nil && res.ToolSteps == n
			}
			last := reactagent.Event{}
			for last = range reactagent.Parts(a.Start(b.Context(), loop.Input{Messages: input}).Events()) {
				hear(last)
			}
			return last.Type == "completed"
		}
	}
	for _, agent := range []struct {
		name string
		run  func(hear func(reactagent.Event)) bool
	}{
		{"plain", run(plain)}, {"preset", run(preset)},
		{"deep", func(hear func(reactagent.Event)) bool { return deep.Run(b.Context(), input, "", hear) }},
	} {
		for _, heard := range []struct {
			name string
			hear func(reactagent.Event)
		}{{"without a listener", nil}, {"reported", func(reactagent.Event) {}}} {
			b.Run(agent.name+"/"+heard.name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if !agent.run(heard.hear) {
						b.Fatal("the run failed")
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/step")
			})
		}
	}
}
