package otelloop_test

import (
	"bytes"
	"context"
	"fmt"
	"os"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	otelloop "github.com/looptape/looptape/contrib/otel"
	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/trace"
)

func Example() {
	spans := tracetest.NewInMemoryExporter() // or an exporter that sends them
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))
	telemetry := otelloop.Config{TracerProvider: provider, Provider: "openai", Agent: "weather"}

	weather := loop.Tool{Name: "weather", Run: func(context.Context, loop.Call) (loop.Output, error) { return loop.TextOutput("22 degrees"), nil }}
	agent, err := loop.New(fake.NewModel(
		fake.Response{Calls: []fake.Call{{ID: "c1", Name: "weather", Arguments: `{}`}}},
		fake.Response{Text: "It is 22 degrees."},
	), &loop.Config{
		Model: "gpt-5", Tools: []loop.Tool{weather}, Clock: fake.NewClock(),
		Middleware: []loop.Middleware{otelloop.Middleware(&telemetry)},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := agent.Run(context.Background(), loop.Prompt("How warm is it?")); err != nil {
		fmt.Println(err)
	}
	for _, s := range spans.GetSpans() { // in the order of their ends
		set := attribute.NewSet(s.Attributes...)
		reason, _ := set.Value("gen_ai.response.finish_reasons")
		fmt.Println(s.Name, reason.AsStringSlice(), set.HasValue("gen_ai.output.messages"))
	}
	// Output:
	// chat gpt-5 [tool_call] false
	// execute_tool weather [] false
	// chat gpt-5 [stop] false
	// invoke_agent weather [stop] false
}

func ExampleExport() {
	file, err := os.ReadFile("testdata/run.jsonl")
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := trace.NewReader(bytes.NewReader(file))
	if err != nil {
		fmt.Println(err)
		return
	}
	spans := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))
	start := fake.NewClock().Now() // a trace has only times since the start of its runs
	cfg := otelloop.Config{TracerProvider: provider, Agent: "weather", Content: otelloop.ContentJSON}
	if err := otelloop.Export(context.Background(), r.Events(), start, &cfg); err != nil {
		fmt.Println(err)
	}
	for _, s := range spans.GetSpans() {
		fmt.Println(s.Name, s.EndTime.Sub(start))
		set := attribute.NewSet(s.Attributes...)
		for _, name := range []attribute.Key{"gen_ai.output.messages", "gen_ai.tool.call.result"} {
			if v, ok := set.Value(name); ok {
				fmt.Println(" ", v.AsString())
			}
		}
	}
	// Output:
	// chat gpt-5 1s
	//   [{"finish_reason":"tool_call","parts":[{"arguments":{"city":"Paris"},"id":"c2","name":"weather","type":"tool_call"}],"role":"assistant"}]
	// execute_tool weather 1.2s
	//   {"tempC":22}
	// chat gpt-5 2s
	//   [{"finish_reason":"stop","parts":[{"content":"It is 22 degrees.","type":"text"}],"role":"assistant"}]
	// invoke_agent weather 2s
	//   [{"finish_reason":"stop","parts":[{"content":"It is 22 degrees.","type":"text"}],"role":"assistant"}]
}
