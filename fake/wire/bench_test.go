package wire_test

import (
	"context"
	"strconv"
	"testing"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/fake/wire"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
)

// BenchmarkRuns measures complete runs of three steps over an in-process pipe, each in its own
// session: loop, codec, HTTP, strict server and script. With -cpu 1, runs/s is the rate of one
// core.
func BenchmarkRuns(b *testing.B) {
	turns := []fake.Response{
		{Calls: []fake.Call{{ID: "call_1", Name: "weather", Arguments: `{"city":"Bern"}`}}, ChunkSize: 6, Usage: llm.Usage{InputTokens: 20, OutputTokens: 12}},
		{Calls: []fake.Call{{ID: "call_2", Name: "weather", Arguments: `{"city":"Rome"}`}}, ChunkSize: 6, Usage: llm.Usage{InputTokens: 40, OutputTokens: 12}},
		{Text: "Rain in Bern, sun in Rome.", ChunkSize: 6, Usage: llm.Usage{InputTokens: 60, OutputTokens: 10}},
	}
	tool, err := loop.RawTool("weather", "Says how the weather is.", nil, func(context.Context, loop.Call) (loop.Output, error) {
		return loop.TextOutput("rain"), nil
	})
	if err != nil {
		b.Fatal(err)
	}
	for _, k := range protocols {
		for _, mode := range modes {
			b.Run(k.name+"/"+mode, func(b *testing.B) {
				model := fake.NewModel(turns...)
				model.DiscardRequests = true
				s := wire.New(wire.Config{Model: model})
				client, stop := s.Pipe()
				defer stop()
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					c := clientsOf(pipeURL, strconv.Itoa(i), client)[k.name]
					agent, err := loop.New(c, &loop.Config{Model: "some-model", ResponseMode: responseModes[mode], Tools: []loop.Tool{tool}})
					if err != nil {
						b.Fatal(err)
					}
					res, err := agent.Run(b.Context(), loop.Prompt("How is the weather in Bern and Rome?"))
					if err != nil || len(res.Steps) != 3 {
						b.Fatalf("%d steps, %v", len(res.Steps), err)
					}
				}
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "runs/s")
				if r := s.Report(); !r.OK() {
					b.Errorf("the report is %+v", r)
				}
			})
		}
	}
}
