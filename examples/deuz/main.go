// Command deuz does what the examples of the documentation of @deuz-sdk/core do. It asks for the
// weather, reports each step, stops after a tool that finalizes the answer, continues the
// conversation in a second call, and prints the parts of its stream.
package main

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"io"
	"os"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/preset/deuz"
	"github.com/looptape/looptape/providers/anthropic"
)

//go:embed scenario.yaml
var script []byte

func main() {
	model, err := newModel()
	if err == nil {
		err = run(context.Background(), model, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "deuz:", err)
		os.Exit(1)
	}
}

// newModel returns the model of the document if the key of Anthropic is set, else the scripted model.
func newModel() (llm.Model, error) {
	key := os.Getenv("ANTHROPIC_API_KEY")
	if key == "" {
		fmt.Fprintln(os.Stderr, "deuz: ANTHROPIC_API_KEY is not set: using the scripted model")
		s, err := fake.ParseScript("scenario.yaml", script)
		if err != nil {
			return nil, err
		}
		return s.NewModel(nil), nil
	}
	fmt.Fprintln(os.Stderr, "deuz: ANTHROPIC_API_KEY is set: using Anthropic")
	client := anthropic.New(key)
	client.BaseURL = cmp.Or(os.Getenv("ANTHROPIC_BASE_URL"), client.BaseURL)
	return client.Model("claude-opus-4-8"), nil
}

type place struct {
	City string `json:"city"`
}

type weather struct {
	City  string `json:"city"`
	TempC int    `json:"tempC"`
	Sky   string `json:"sky"`
}

// july is the usual weather in July.
var july = map[string]weather{
	"Paris": {"Paris", 20, "sunny"}, "Berlin": {"Berlin", 19, "cloudy"}, "Madrid": {"Madrid", 26, "sunny"},
}

func getWeather(_ context.Context, in place) (weather, error) {
	w, ok := july[in.City]
	if !ok {
		return w, fmt.Errorf("no weather for %q", in.City) // the model reads the error
	}
	return w, nil
}

type answer struct {
	Summary string `json:"summary"`
}

func run(ctx context.Context, model llm.Model, out io.Writer) error {
	weatherTool, err := loop.NewTool("getWeather", "Get the usual weather in July for a city.", getWeather)
	if err != nil {
		return err
	}
	finalize, err := loop.NewTool("finalize", "Call this alone, last, with the answer.", func(_ context.Context, in answer) (answer, error) {
		fmt.Fprintln(out, "summary:", in.Summary)
		return in, nil
	})
	if err != nil {
		return err
	}
	opts := deuz.Options{
		Model:    model,
		Messages: []llm.Message{llm.User("What is the weather in Paris, Berlin and Atlantis?")},
		Loop: loop.Config{
			MaxSteps: 10,
			StopWhen: []loop.StopCondition{loop.HasToolCall("finalize"), loop.StepCountIs(5)},
			Tools:    []loop.Tool{weatherTool, finalize},
			OnStep: func(step loop.Step) {
				fmt.Fprintf(out, "[%s] %d tool call(s)\n", step.Type, len(step.Calls))
			},
		},
	}
	first, err := deuz.GenerateText(ctx, opts)
	if err != nil {
		return err
	}
	for _, step := range first.Steps {
		for i, call := range step.Calls {
			fmt.Fprintln(out, "called", call.Name, call.Arguments)
			r := step.Results[i]
			fmt.Fprintln(out, map[bool]string{false: "result", true: "error"}[r.IsError], r.Name, r.Text())
		}
	}

	opts.Messages = append(opts.Messages, first.Messages...) // the full, stable history
	opts.Messages = append(opts.Messages, llm.User("And in Madrid?"))
	opts.Loop.OnStep, opts.Loop.Tools = nil, []loop.Tool{weatherTool}
	return show(deuz.StreamChat(ctx, opts), out)
}

// show prints the parts of a stream.
func show(stream *deuz.Stream, out io.Writer) error {
	for part := range stream.Full() {
		switch part.Type {
		case "step-start":
			fmt.Fprintf(out, "--- step %d ---\n", part.StepIndex)
		case "text-delta":
			fmt.Fprint(out, part.Text)
		case "tool-call":
			fmt.Fprintf(out, "\ncalling %s %s\n", part.ToolName, part.Input)
		case "tool-result":
			fmt.Fprintf(out, "result %s %s\n", part.ToolName, part.Output)
		case "step-finish":
			fmt.Fprintf(out, "\nstep %d done (%s)\n", part.StepIndex, part.FinishReason)
		}
	}
	usage, err := stream.Usage()
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "total tokens:", usage.Total())
	return nil
}
