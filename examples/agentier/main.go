// Command agentier does what the examples of the documentation of @agentier/core do. Two calls run
// concurrently, a failing tool does not end the run, callbacks report the progress, an interrupt
// cancels the run, and the code of an error is the reason of the failure.
package main

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/preset/agentier"
	"github.com/looptape/looptape/providers/openai"
)

//go:embed scenario.yaml
var script []byte

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt) // the AbortSignal
	defer stop()
	provider, clock, err := newProvider()
	if err == nil {
		err = run(ctx, provider, clock, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "agentier:", err)
		os.Exit(1)
	}
}

// newProvider returns OpenAI with the real clock if its key is set, else the scripted model with a virtual clock.
func newProvider() (llm.Model, loop.Clock, error) {
	key := os.Getenv("OPENAI_API_KEY")
	if key == "" {
		fmt.Fprintln(os.Stderr, "agentier: OPENAI_API_KEY is not set: using the scripted model")
		s, err := fake.ParseScript("scenario.yaml", script)
		if err != nil {
			return nil, nil, err
		}
		clock := fake.NewClock()
		return s.NewModel(clock), clock, nil
	}
	fmt.Fprintln(os.Stderr, "agentier: OPENAI_API_KEY is set: using OpenAI")
	client := openai.NewChat(key)
	client.BaseURL = cmp.Or(os.Getenv("OPENAI_BASE_URL"), client.BaseURL)
	return client, nil, nil
}

type place struct {
	City string `json:"city"`
}

type address struct {
	URL string `json:"url"`
}

var sky = map[string]string{"London": "rain and 15 °C", "Paris": "sunny and 20 °C"}

func getWeather(_ context.Context, in place) (string, error) {
	text, ok := sky[in.City]
	if !ok {
		return "", fmt.Errorf("no weather for %q", in.City)
	}
	return text, nil
}

// fetchData fails as without a network. The model reads "Error: connection refused".
func fetchData(context.Context, address) (string, error) {
	return "", errors.New("connection refused")
}

func run(ctx context.Context, provider llm.Model, clock loop.Clock, out io.Writer) error {
	weatherTool, err := loop.NewTool("get_weather", "Get the weather of today in a city.", getWeather)
	if err != nil {
		return err
	}
	riskyTool, err := loop.NewTool("fetch_data", "Fetch data from an API.", fetchData)
	if err != nil {
		return err
	}
	agent, err := agentier.New(provider, &loop.Config{
		Model:       "gpt-4o",
		Tools:       []loop.Tool{weatherTool, riskyTool},
		MaxSteps:    15,
		TokenBudget: 50_000,
		Deadline:    2 * time.Minute,
		Middleware:  []loop.Middleware{agentier.Retry(loop.Retry{Max: 3})},
		Clock:       clock,
	})
	if err != nil {
		return err
	}
	result, err := agent.Run(ctx, loop.Prompt("London or Paris today? Name a museum, too."), &agentier.RunOptions{
		MaxIterations: 25,
		OnToken:       func(token string) { fmt.Fprint(out, token) },
		OnToolCall:    func(name string, args json.RawMessage) { fmt.Fprintf(out, "Calling %s %s\n", name, args) },
		OnToolResult:  func(name string, result any) { fmt.Fprintln(out, name, "returned", result) },
		OnComplete:    func(result *agentier.Result) { fmt.Fprintf(out, "Done in %dms\n", result.Duration.Milliseconds()) },
		OnError:       func(err error) { fmt.Fprintln(out, "Failed:", err) },
	})
	if e, ok := errors.AsType[*agentier.Error](err); ok {
		switch e.Code {
		case "MODEL_ERROR":
			return fmt.Errorf("model API failed: %w", e.Err)
		case "TIMEOUT":
			return errors.New("run timed out")
		case "ABORTED":
			return errors.New("run was canceled")
		}
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%d messages, %d tool calls, %d tokens in %d iterations\n",
		len(result.Messages), len(result.ToolCalls), result.Usage.Total(), result.Usage.Iterations)
	return nil
}
