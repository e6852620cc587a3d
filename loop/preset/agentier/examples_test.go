package agentier_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/preset/agentier"
)

// sample is an example of the reference documentation with its output.
type sample struct {
	name string
	run  func(out io.Writer) error
	want string
}

// AG-58: the examples of the reference documentation, on a virtual clock.
func TestReferenceExamples(t *testing.T) {
	for _, s := range []sample{
		{"parallel tools", parallelTools, "Sunny in London; Sunny in Paris after 2000ms\n"},
		{"cancellation", cancellation, "Run was cancelled after 5s\n"},
		{"callbacks", allCallbacks, "Looking it up. Calling search {\"q\":\"go\"}\nsearch returned a language\nGo is a language.Done in 250ms\nFailed: MODEL_ERROR\n"},
		{"a tool that fails", riskyTool, "The model sees: Error: Connection refused\nI cannot reach the API.\n"},
		{"retries", retries, "done after 3s, 1 iteration\n"},
		{"codes", codes, "Model API failed: fake: status 400: no\nCould not parse structured output\nRun timed out\n"},
	} {
		var out bytes.Buffer
		if err := s.run(&out); err != nil {
			t.Errorf("%s: %v", s.name, err)
		}
		if diff := cmp.Diff(s.want, out.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", s.name, diff)
		}
	}
}

// parallelTools runs both calls of a response concurrently.
func parallelTools(out io.Writer) error {
	clock := fake.NewClock()
	type in struct {
		City string `json:"city"`
	}
	weatherTool, err := loop.NewTool("get_weather", "Get the weather.", func(ctx context.Context, in in) (string, error) {
		return "Sunny in " + in.City, clock.Sleep(ctx, 2*time.Second)
	})
	if err != nil {
		return err
	}
	agent, err := agentier.New(fake.NewModel(
		fake.Response{Calls: []fake.Call{
			{ID: "1", Name: "get_weather", Arguments: `{"city":"London"}`},
			{ID: "2", Name: "get_weather", Arguments: `{"city":"Paris"}`},
		}}, saying("done")), &loop.Config{Model: "gpt-4o", Clock: clock, Tools: []loop.Tool{weatherTool}})
	if err != nil {
		return err
	}
	res, err := agent.Run(context.Background(), loop.Prompt("London and Paris?"), nil)
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(out, "%s; %s after %dms\n", res.ToolCalls[0].Value, res.ToolCalls[1].Value, res.Duration.Milliseconds())
	return nil
}

// cancellation ends a run after five seconds.
func cancellation(out io.Writer) error {
	clock := fake.NewClock()
	agent, err := agentier.New(&fake.Model{Clock: clock, Responses: []fake.Response{{Stall: true}}}, &loop.Config{Model: "gpt-4o", Clock: clock})
	if err != nil {
		return err
	}
	begun := clock.Now()
	ctx, abort := context.WithCancel(context.Background())
	defer clock.AfterFunc(5*time.Second, abort)()
	_, err = agent.Run(ctx, loop.Prompt("Analyze this dataset..."), nil)
	if e, ok := errors.AsType[*agentier.Error](err); ok && e.Code == "ABORTED" {
		_, _ = fmt.Fprintln(out, "Run was cancelled after", clock.Now().Sub(begun))
		return nil
	}
	return err
}

// allCallbacks monitors a run.
func allCallbacks(out io.Writer) error {
	clock := fake.NewClock()
	search := loop.Tool{Name: "search", Run: func(ctx context.Context, _ loop.Call) (loop.Output, error) {
		return loop.TextOutput("a language"), clock.Sleep(ctx, 250*time.Millisecond)
	}}
	opts := &agentier.RunOptions{
		OnToken:      func(token string) { _, _ = fmt.Fprint(out, token) },
		OnToolCall:   func(name string, args json.RawMessage) { _, _ = fmt.Fprintf(out, "Calling %s %s\n", name, args) },
		OnToolResult: func(name string, result any) { _, _ = fmt.Fprintln(out, name, "returned", result) },
		OnComplete: func(result *agentier.Result) {
			_, _ = fmt.Fprintf(out, "Done in %dms\n", result.Duration.Milliseconds())
		},
		OnError: func(err error) {
			e, _ := errors.AsType[*agentier.Error](err)
			_, _ = fmt.Fprintln(out, "Failed:", e.Code)
		},
	}
	for _, turns := range [][]fake.Response{
		{{Chunks: []string{"Looking ", "it up. "}, Calls: []fake.Call{{ID: "1", Name: "search", Arguments: `{"q":"go"}`}}}, saying("Go is a language.")},
		{{Error: &fake.Failure{Status: 401}}},
	} {
		agent, err := agentier.New(&fake.Model{Clock: clock, Responses: turns}, &loop.Config{Model: "gpt-4o", Clock: clock, Tools: []loop.Tool{search}})
		if err != nil {
			return err
		}
		_, _ = agent.Run(context.Background(), loop.Prompt("Search and summarize"), opts) // OnError gets the error
	}
	return nil
}

// riskyTool continues after a tool has failed.
func riskyTool(out io.Writer) error {
	type in struct {
		URL string `json:"url"`
	}
	risky, err := loop.NewTool("fetch_data", "Fetch data from an API", func(context.Context, in) (string, error) {
		return "", errors.New("Connection refused")
	})
	if err != nil {
		return err
	}
	model := fake.NewModel(fake.Response{Calls: []fake.Call{{ID: "1", Name: "fetch_data", Arguments: `{"url":"https://example.com"}`}}}, saying("I cannot reach the API."))
	agent, err := agentier.New(model, &loop.Config{Model: "gpt-4o", Clock: fake.NewClock(), Tools: []loop.Tool{risky}})
	if err != nil {
		return err
	}
	res, err := agent.Run(context.Background(), loop.Prompt("Fetch it."), nil)
	if err != nil {
		return err
	}
	sent := model.RecordedRequests()[1].Request.Messages
	result := sent[len(sent)-1].Parts[0].(llm.ToolResult)
	_, _ = fmt.Fprintln(out, "The model sees:", result.Text())
	_, _ = fmt.Fprintln(out, res.Output)
	return nil
}

// retries retries the failures of the provider.
func retries(out io.Writer) error {
	clock := fake.NewClock()
	agent, err := agentier.New(&fake.Model{Clock: clock, Responses: []fake.Response{busy()}}, &loop.Config{
		Model: "gpt-4o", Clock: clock, Middleware: []loop.Middleware{agentier.Retry(loop.Retry{Max: 3})},
	})
	if err != nil {
		return err
	}
	res, err := agent.Run(context.Background(), loop.Prompt("go"), nil)
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(out, "%s after %v, %d iteration\n", res.Output, res.Duration, res.Usage.Iterations)
	return nil
}

// codes distinguishes errors by their code.
func codes(out io.Writer) error {
	for _, turn := range []fake.Response{{Error: &fake.Failure{Status: 400, Message: "no"}}, {Text: "no JSON"}, {Stall: true}} {
		clock := fake.NewClock()
		agent, err := agentier.New(&fake.Model{Clock: clock, Responses: []fake.Response{turn}}, &loop.Config{Model: "gpt-4o", Clock: clock})
		if err != nil {
			return err
		}
		_, _, err = agentier.RunFor[count](context.Background(), agent, loop.Prompt("..."), 0, nil)
		e, ok := errors.AsType[*agentier.Error](err)
		if !ok {
			return err
		}
		switch e.Code {
		case "MODEL_ERROR":
			cause, _ := errors.AsType[*llm.APIError](e)
			_, _ = fmt.Fprintln(out, "Model API failed:", cause)
		case "OUTPUT_PARSE_ERROR":
			_, _ = fmt.Fprintln(out, "Could not parse structured output")
		case "TIMEOUT":
			_, _ = fmt.Fprintln(out, "Run timed out")
		}
	}
	return nil
}
